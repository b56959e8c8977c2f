/** Which addresses a look asks for, over which checkpoints, and in how many calls. Pure. */
import type { WatchedAccount } from "../../../runtime/Chains.ts"

/** Checkpoints from one to another, both included. */
export interface CheckpointRange {
  readonly from: bigint
  readonly to: bigint
}

/** What is asked of a node: addresses in one filter, or (null) every transaction of the range. */
export interface Scan extends CheckpointRange {
  readonly addresses: ReadonlyArray<string> | null
}

/** Terms of one filter. Where a node takes fewer the call is split. */
export const addressesPerCall = 10

/** Transactions of one page, at most; nodes may give fewer. */
export const filteredPageSize = 50
export const unfilteredPageSize = 500

/** Calls of a look up to which addresses are asked for one by one, so that not the whole chain is downloaded. */
const filteredCallsPerLook = 30

/** Transactions in a checkpoint, about: it decides only which way of looking takes fewer calls. */
const transactionsPerCheckpoint = 20

/** Checkpoints that one look passes, at most: about six hours, and ten minutes where everything is downloaded. */
export const filteredSpan = 86_400n
export const unfilteredSpan = 2_400n

/**
 * Checkpoints that are asked for again: about ten seconds. A node whose index took a transaction in late is forgiven
 * so much.
 */
export const overlap = 40n

/**
 * An account that is not open any more is looked at once in so many checkpoints, about an hour, and the accounts are
 * spread over that hour in groups. Where the hour of a group ends follows from the height alone, so that a restart
 * leaves nothing out.
 */
export const closedScanPeriod = 14_400n
export const closedScanGroups = 60n

const sizeOf = ({ from, to }: CheckpointRange): number => Number(to - from + 1n)

const callsFor = (addressCount: number): number => Math.ceil(addressCount / addressesPerCall)

/** Whether asking for the addresses costs fewer calls than downloading every transaction, or few enough. */
export const isFilterWorthwhile = (addressCount: number, range: CheckpointRange): boolean =>
  callsFor(addressCount) <=
    Math.max(filteredCallsPerLook, sizeOf(range) * transactionsPerCheckpoint / unfilteredPageSize)

const inCalls = (addresses: ReadonlyArray<string>, range: CheckpointRange): ReadonlyArray<Scan> =>
  Array.from({ length: callsFor(addresses.length) }, (_, place) => ({
    ...range,
    addresses: addresses.slice(place * addressesPerCall, (place + 1) * addressesPerCall)
  }))

/** The calls that find what came to all of these addresses. */
export const scansOf = (addresses: ReadonlyArray<string>, range: CheckpointRange): ReadonlyArray<Scan> =>
  isFilterWorthwhile(addresses.length, range) ? inCalls(addresses, range) : [{ ...range, addresses: null }]

/** The group of an account that is not open, by the last digits of its address. */
const groupOf = (address: string): bigint => BigInt(Number.parseInt(address.slice(-6), 16)) % closedScanGroups

/** The newest end of a group's hour at or below a height; -1 before the first. */
const closedScanEnd = (height: bigint, group: bigint): bigint => {
  const offset = group * (closedScanPeriod / closedScanGroups)
  return height < offset ? -1n : height - (height - offset) % closedScanPeriod
}

/**
 * Accounts that are not open and whose hour ends in a range, each with where it began. Whatever was passed before the
 * range was looked at up to the end of an hour at least.
 */
export const dueClosedScans = (
  addresses: ReadonlyArray<string>,
  { from, to }: CheckpointRange
): ReadonlyArray<Scan> => {
  const passed = from - 1n
  const groups = Map.groupBy(addresses, groupOf)
  return [...groups].flatMap(([group, members]) =>
    closedScanEnd(to, group) > passed
      ? inCalls(members, { from: closedScanEnd(passed, group) + 1n, to })
      : []
  )
}

/** What a look asks for, and up to where it may pass. */
export interface LookPlan {
  readonly range: CheckpointRange
  readonly scans: ReadonlyArray<Scan>
}

/** A look at the checkpoints after `passed` (null: nothing was followed before) up to `head`, which is above it. */
export const planLook = (
  accounts: ReadonlyArray<WatchedAccount>,
  passed: bigint | null,
  head: bigint
): LookPlan => {
  const from = passed === null ? head : passed + 1n
  const upTo = (span: bigint): CheckpointRange => ({ from, to: head - from < span ? head : from + span - 1n })
  const open = accounts.filter(({ isOpen }) => isOpen).map(({ key }) => key)
  const closed = accounts.filter(({ isOpen }) => !isOpen).map(({ key }) => key)
  const range = upTo(filteredSpan)
  if (!isFilterWorthwhile(open.length, range)) {
    const whole = upTo(unfilteredSpan)
    // An hour that ends here may have begun in looks that asked for the open addresses alone.
    return {
      range: whole,
      scans: [{ ...whole, addresses: null }, ...passed === null ? [] : dueClosedScans(closed, whole)]
    }
  }
  const again = { from: from > overlap ? from - overlap : 0n, to: range.to }
  return {
    range,
    scans: [...inCalls(open, passed === null ? range : again), ...passed === null ? [] : dueClosedScans(closed, range)]
  }
}
