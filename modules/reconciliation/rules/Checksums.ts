/**
 * Payments fall into slices by the first bits of their ids. Where chain, books and payments of a slice have the same
 * checksums they agree, payment for payment, and nothing of it is looked at one by one. Pure.
 */
import type { SourceCount } from "./Report.ts"

/**
 * Of a million payments each slice has 122, so few are compared where one is wrong; and the sums of all slices are few
 * enough to be held in memory.
 */
export const sliceCount = 8_192

/** What one source says of the money of a slice in one asset, in the period or in the margins around it. */
export interface SliceSum extends SourceCount {
  readonly slice: number
  readonly isInPeriod: boolean
  /** Sum of a hash of the payment and its units: of equal sums each payment has the same units. */
  readonly checksum: bigint
  /** A payment in it must be compared by itself even where the sums agree. */
  readonly needsComparison: boolean
}

/** The same of the books, with what they say that payments are worth. */
export interface BookedSliceSum extends SliceSum {
  /** Sum of a hash of the payment and its usd_millis, of what did not wait for a decision. */
  readonly usdChecksum: bigint
}

/** What the payments of a slice count for. */
export interface CountedSlice {
  readonly slice: number
  readonly usdChecksum: bigint
  readonly needsComparison: boolean
}

export interface SliceSums {
  readonly chain: ReadonlyArray<SliceSum>
  readonly ledger: ReadonlyArray<BookedSliceSum>
  readonly payments: ReadonlyArray<CountedSlice>
}

/** The slices whose sources do not agree, or that must be compared anyway, in ascending order. */
export const differingSlices = ({ chain, ledger, payments }: SliceSums): ReadonlyArray<number> => {
  const differences = new Map<string, { readonly slice: number; sum: bigint }>()
  const add = (name: string, slice: number, value: bigint) => {
    const key = `${slice} ${name}`
    const found = differences.get(key)
    if (found === undefined) differences.set(key, { slice, sum: value })
    else found.sum += value
  }
  for (const { asset, checksum, isInPeriod, slice } of chain) add(`${isInPeriod} ${asset}`, slice, checksum)
  for (const { asset, checksum, isInPeriod, slice, usdChecksum } of ledger) {
    add(`${isInPeriod} ${asset}`, slice, -checksum)
    add("usd", slice, usdChecksum)
  }
  for (const { slice, usdChecksum } of payments) add("usd", slice, -usdChecksum)
  const differing = new Set<number>()
  for (const { slice, sum } of differences.values()) if (sum !== 0n) differing.add(slice)
  for (const { needsComparison, slice } of [...chain, ...ledger, ...payments]) if (needsComparison) differing.add(slice)
  return [...differing].toSorted((one, other) => one - other)
}

/** Counts and sums of the period by asset, in order of their names. */
export const sumByAsset = (rows: ReadonlyArray<SourceCount>): ReadonlyArray<SourceCount> => {
  const sums = new Map<string, SourceCount>()
  for (const { asset, count, units } of rows) {
    const before = sums.get(asset) ?? { asset, count: 0, units: 0n }
    sums.set(asset, { asset, count: before.count + count, units: before.units + units })
  }
  return [...sums.values()].toSorted((one, other) => (one.asset < other.asset ? -1 : 1))
}
