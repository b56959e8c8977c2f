/**
 * Which outputs of a wallet a part of a batch spends, and what comes back: the largest first, so that the same wallet
 * and lines give the same transaction, and what is left in as few outputs as the protocol allows. Pure.
 */
import { partReference } from "../../../schemas/Batch.ts"
import type { PayoutLine, PayoutPart } from "../../../runtime/Payouts.ts"
import {
  feeOf,
  minimumLovelace,
  type NewOutput,
  type ProtocolParameters,
  signedBytes,
  type SpentOutput,
  usualParameters,
  writeOutput,
  writeTransaction,
  type WrittenTransaction
} from "./PayoutTransaction.ts"
import type { AssetAmount } from "./Transactions.ts"

/** An output that the wallet can spend. */
export interface UnspentOutput extends SpentOutput {
  readonly address: string
  readonly lovelace: bigint
  readonly assets: ReadonlyArray<AssetAmount>
}

export interface PayoutPlan {
  readonly transaction: WrittenTransaction
  readonly inputs: ReadonlyArray<UnspentOutput>
  readonly fee: bigint
  /** What lines of tokens carry beside them, because the ledger lets no output be without lovelace. */
  readonly carried: bigint
}

export type PlanRefusal =
  /** `unit` null: lovelace. */
  | { readonly _tag: "Missing"; readonly unit: string | null; readonly required: bigint; readonly available: bigint }
  /** The transaction would be larger than the protocol allows. */
  | { readonly _tag: "TooLarge"; readonly inputs: number }

/** Assets in one output of change: the protocol's `maxValueSize` is 5,000 bytes, and an asset takes 75 at most. */
const assetsPerChange = 50

/**
 * Bytes of a transaction that its lines may fill: the rest is for what it spends, about 36 bytes each, for its change
 * and for the signature. 200 lines in ADA to base addresses have 13,000.
 */
const lineBytes = 13_400

/** Bytes of one input, at least. */
const inputBytes = 36

/** What a transaction says of itself: CIP-20 lets a text have 64 bytes, and this one has 40. */
export const messageOf = (part: Pick<PayoutPart, "batchId" | "part">): string => partReference(part)

/** The output that pays a line. */
export const outputOf = (
  { amount, destination, tokenAddress }: PayoutLine,
  parameters: Pick<ProtocolParameters, "lovelacePerByte">
): NewOutput => {
  if (tokenAddress === null) return { address: destination, lovelace: amount, assets: [] }
  const assets = [{ unit: tokenAddress, quantity: amount }]
  return { address: destination, lovelace: minimumLovelace({ address: destination, assets }, parameters), assets }
}

/** See `PayoutDriver.partSizes`. */
export const partSizes = (lines: ReadonlyArray<PayoutLine>): ReadonlyArray<number> => {
  const sizes: Array<number> = []
  let bytes = Infinity
  for (const line of lines) {
    const more = writeOutput(outputOf(line, usualParameters)).length
    if (bytes + more > lineBytes) {
      sizes.push(0)
      bytes = 0
    }
    sizes[sizes.length - 1]! += 1
    bytes += more
  }
  return sizes
}

type Amounts = ReadonlyMap<string, bigint>

const amountsOf = (outputs: ReadonlyArray<{ readonly assets: ReadonlyArray<AssetAmount> }>): Amounts => {
  const sums = new Map<string, bigint>()
  for (const { quantity, unit } of outputs.flatMap(({ assets }) => assets)) {
    sums.set(unit, (sums.get(unit) ?? 0n) + quantity)
  }
  return sums
}

const lovelaceOf = (outputs: ReadonlyArray<{ readonly lovelace: bigint }>): bigint =>
  outputs.reduce((sum, { lovelace }) => sum + lovelace, 0n)

const quantityOf = ({ assets }: UnspentOutput, unit: string): bigint =>
  assets.find((asset) => asset.unit === unit)?.quantity ?? 0n

const descending = (one: bigint, other: bigint): number => one === other ? 0 : one > other ? -1 : 1

const byName = (one: SpentOutput, other: SpentOutput): number =>
  one.txHash === other.txHash ? one.index - other.index : one.txHash < other.txHash ? -1 : 1

/** Those that hold only lovelace first, so that tokens stay where they are. */
const byLovelace = (one: UnspentOutput, other: UnspentOutput): number =>
  Number(one.assets.length > 0) - Number(other.assets.length > 0) ||
  descending(one.lovelace, other.lovelace) || byName(one, other)

const byQuantity = (unit: string) => (one: UnspentOutput, other: UnspentOutput): number =>
  descending(quantityOf(one, unit), quantityOf(other, unit)) || byName(one, other)

/** The outputs that hold the tokens of the lines. */
const chooseTokens = (
  required: Amounts,
  unspent: ReadonlyArray<UnspentOutput>
): ReadonlyArray<UnspentOutput> | { readonly refusal: PlanRefusal } => {
  const chosen: Array<UnspentOutput> = []
  for (const [unit, amount] of [...required].toSorted(([one], [other]) => one < other ? -1 : 1)) {
    let sum = chosen.reduce((all, output) => all + quantityOf(output, unit), 0n)
    for (const output of unspent.toSorted(byQuantity(unit))) {
      if (sum >= amount || quantityOf(output, unit) === 0n) break
      if (chosen.includes(output)) continue
      chosen.push(output)
      sum += quantityOf(output, unit)
    }
    if (sum < amount) return { refusal: { _tag: "Missing", unit, required: amount, available: sum } }
  }
  return chosen
}

/** What is left of the tokens, in outputs that are small enough, each with what the ledger asks for. */
const changeOf = (
  from: string,
  spent: Amounts,
  paid: Amounts,
  parameters: ProtocolParameters
): ReadonlyArray<NewOutput> => {
  const rest = [...spent].map(([unit, quantity]) => ({ unit, quantity: quantity - (paid.get(unit) ?? 0n) }))
    .filter(({ quantity }) => quantity > 0n).toSorted((one, other) => one.unit < other.unit ? -1 : 1)
  const groups = Array.from(
    { length: Math.max(1, Math.ceil(rest.length / assetsPerChange)) },
    (_, place) => rest.slice(place * assetsPerChange, (place + 1) * assetsPerChange)
  )
  return groups.map((assets) => ({
    address: from,
    assets,
    lovelace: minimumLovelace({ address: from, assets }, parameters)
  }))
}

/** Keys that sign: each address has its own. */
const keysOf = (inputs: ReadonlyArray<UnspentOutput>): number => new Set(inputs.map(({ address }) => address)).size

interface PlanRequest {
  readonly from: string
  readonly lines: ReadonlyArray<PayoutLine>
  readonly unspent: ReadonlyArray<UnspentOutput>
  readonly parameters: ProtocolParameters
  readonly ttl: bigint
  readonly message: string
}

/** The transaction that spends these; lovelace that is missing where they are too few. */
const balance = (
  { from, message, parameters, ttl }: PlanRequest,
  paying: ReadonlyArray<NewOutput>,
  written: ReadonlyArray<Uint8Array>,
  inputs: ReadonlyArray<UnspentOutput>
): Omit<PayoutPlan, "carried"> | { readonly required: bigint } => {
  const change = changeOf(from, amountsOf(inputs), amountsOf(paying), parameters)
  const left = lovelaceOf(inputs) - lovelaceOf(paying) - lovelaceOf(change)
  const [first, ...others] = change as [NewOutput, ...Array<NewOutput>]
  const write = (fee: bigint) => {
    const returned = [{ ...first, lovelace: first.lovelace + left - fee }, ...others].map(writeOutput)
    return writeTransaction({ inputs, outputs: [...written, ...returned], fee, ttl, message })
  }
  // A fee that is larger takes no more bytes than one that was counted before, after one more round at most.
  let fee = feeOf(0, parameters)
  const largest = feeOf(parameters.maximumBytes, parameters)
  for (;;) {
    if (fee > left) return { required: lovelaceOf(paying) + lovelaceOf(change) + (fee > largest ? fee : largest) }
    const transaction = write(fee)
    const needed = feeOf(signedBytes(transaction, keysOf(inputs)), parameters)
    if (needed <= fee) return { transaction, inputs, fee }
    fee = needed
  }
}

/** What a part spends and leaves, or why it cannot be paid. */
export const planPayout = (request: PlanRequest): PayoutPlan | PlanRefusal => {
  const { lines, parameters, unspent } = request
  const paying = lines.map((line) => outputOf(line, parameters))
  const forTokens = chooseTokens(amountsOf(paying), unspent)
  if ("refusal" in forTokens) return forTokens.refusal
  const chosen = [...forTokens]
  const others = unspent.filter((output) => !chosen.includes(output)).toSorted(byLovelace)
  const carried = lovelaceOf(paying.filter(({ assets }) => assets.length > 0))
  const written = paying.map(writeOutput)
  const atLeast = lovelaceOf(paying) + parameters.feeFixed
  for (;;) {
    const balanced = lovelaceOf(chosen) < atLeast ? { required: atLeast } : balance(request, paying, written, chosen)
    if ("transaction" in balanced) {
      return signedBytes(balanced.transaction, keysOf(chosen)) > parameters.maximumBytes
        ? { _tag: "TooLarge", inputs: chosen.length }
        : { ...balanced, carried }
    }
    const next = others.shift()
    if (next === undefined) {
      const { required } = balance(request, paying, written, unspent) as { readonly required: bigint }
      return { _tag: "Missing", unit: null, required, available: lovelaceOf(unspent) }
    }
    if (chosen.length * inputBytes > parameters.maximumBytes) return { _tag: "TooLarge", inputs: chosen.length }
    chosen.push(next)
  }
}
