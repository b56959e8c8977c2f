/**
 * What became of a part on Cardano: the transaction that was given out, by its id; or another one that somebody names,
 * where it spends what that one spends. Wallets may write a transaction anew, and of two that spend one output only one
 * is ever on the chain.
 */
import { Effect, Schema } from "effect"
import { DriverError } from "../../../runtime/Chains.ts"
import type { Endpoints } from "../../../runtime/nodes/Endpoints.ts"
import {
  type EndpointReport,
  searchTransaction,
  type ShownTransaction
} from "../../../runtime/payouts/TransactionSearch.ts"
import type { PayoutDriver, PayoutPart, PayoutSearch, PayoutTransfer } from "../../../runtime/Payouts.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import { type Environment, requiredDepth } from "../../../schemas/Network.ts"
import { type Api, readOutputs } from "./Api.ts"
import { readInputs, readPlace, readSlot, readTip } from "./PayoutApi.ts"
import { assetPlaces, isCarrier, type TransactionOutput } from "./Transactions.ts"

const network = "cardano"

/** What is stored of an export: the hash of its body, the first slot of which no block takes it, and what it spends. */
const Trace = Schema.Struct({ id: Schema.String, ttl: Schema.Int, inputs: Schema.Array(Schema.String) })
type Trace = typeof Trace.Type
const decodeTrace = Schema.decodeUnknownEffect(Trace)

/** An execution as an endpoint shows it. */
interface Execution {
  readonly txHash: string
  readonly fee: bigint
  readonly transfers: ReadonlyArray<PayoutTransfer>
}

/** What is looked for. */
interface SearchContext {
  readonly environment: Environment
  readonly part: PayoutPart
  readonly trace: Trace
  readonly builtAt: bigint
  readonly hint: string | null
}

/** What the transaction with the export's very id pays, which no node can change. */
const exportedTransfers = ({ from, lines }: PayoutPart): ReadonlyArray<PayoutTransfer> =>
  lines.map(({ amount, destination, tokenAddress }, line) => ({
    index: line * assetPlaces + (tokenAddress === null ? 0 : 1),
    line,
    destination,
    tokenAddress,
    amount,
    from
  }))

/** Every amount that an output brings to somebody else than the payer. */
const transfersOfOutput = (from: string, output: TransactionOutput): ReadonlyArray<PayoutTransfer> => {
  const { address, assets, index, lovelace } = output
  if (address === null || address === from) return []
  const transfer = (place: number, tokenAddress: string | null, quantity: bigint): PayoutTransfer => ({
    index: index * assetPlaces + place,
    line: null,
    destination: address,
    tokenAddress,
    amount: baseUnits(quantity),
    from
  })
  return [
    ...isCarrier(output) ? [] : [transfer(0, null, lovelace)],
    ...assets.map(({ quantity, unit }, place) => transfer(place + 1, unit, quantity))
  ]
}

/** The transfers of outputs, each with the first line that asks for just that; empty: none of them does. */
export const matchOutputs = (
  { from, lines }: PayoutPart,
  outputs: ReadonlyArray<TransactionOutput>
): ReadonlyArray<PayoutTransfer> => {
  const open = new Set(lines.keys())
  const transfers = outputs.flatMap((output) => transfersOfOutput(from, output)).map((transfer) => {
    const line = [...open].find((place) => {
      const { amount, destination, tokenAddress } = lines[place]!
      return amount === transfer.amount && destination === transfer.destination &&
        tokenAddress === transfer.tokenAddress
    })
    if (line === undefined) return transfer
    open.delete(line)
    return { ...transfer, line }
  })
  return open.size === lines.length ? [] : transfers
}

/** A transaction that somebody names; null where it does not spend what the export spends, or pays no line of it. */
const readOther = Effect.fnUntraced(function*(
  api: Api,
  txHash: string,
  { part, trace }: SearchContext
): Effect.fn.Return<ShownTransaction<Execution> | null, DriverError> {
  const place = yield* readPlace(api, txHash)
  const inputs = place === null ? null : yield* readInputs(api, txHash)
  if (place === null || inputs?.some((input) => trace.inputs.includes(input)) !== true) return null
  const outputs = yield* readOutputs(api, txHash)
  const transfers = outputs === null ? [] : matchOutputs(part, outputs.outputs)
  return transfers.length === 0 ? null : { block: place.block, facts: { txHash, fee: place.fee, transfers } }
})

/** The export's own transaction, or the one that is named in its place. */
const readShown = Effect.fnUntraced(function*(
  api: Api,
  context: SearchContext
): Effect.fn.Return<ShownTransaction<Execution> | null, DriverError> {
  const { hint, part, trace } = context
  const place = yield* readPlace(api, trace.id)
  if (place !== null) {
    return { block: place.block, facts: { txHash: trace.id, fee: place.fee, transfers: exportedTransfers(part) } }
  }
  return hint === null || hint === trace.id ? null : yield* readOther(api, hint, context)
})

/**
 * What an endpoint says; its blocks first, see {@link EndpointReport}. One that has forgotten the time in which a
 * transaction may have been executed cannot say that it was not.
 */
const readReport = Effect.fnUntraced(function*(
  api: Api,
  context: SearchContext
): Effect.fn.Return<EndpointReport<Execution>, DriverError> {
  const { builtAt, environment, trace: { ttl } } = context
  const tip = yield* readTip(api)
  const final = tip.height - BigInt(requiredDepth(network, environment, "final", 0n).blocks) + 1n
  // Most looks are before its time, and then the final block's slot says nothing.
  const finalSlot = tip.slot < ttl || final < 0n
    ? null
    : final === tip.height
    ? tip.slot
    : (yield* readSlot(api, final))?.slot ?? null
  const isOver = finalSlot !== null && finalSlot >= BigInt(ttl)
  const shown = yield* readShown(api, context)
  if (isOver && shown === null && (yield* readSlot(api, builtAt)) === null) {
    const reason = `${api.name} does not have block ${builtAt} any more: add an endpoint with older blocks`
    return yield* new DriverError({ network, reason, kind: "pruned" })
  }
  return { head: tip.height, final, isOver, shown }
})

/** See `PayoutDriver.search`. */
export const search = (endpoints: Endpoints<Api>, environment: Environment): PayoutDriver["search"] =>
  Effect.fnUntraced(function*({ export: exported, hint, part }): Effect.fn.Return<PayoutSearch, DriverError> {
    if (part._tag !== "Payout") return yield* new DriverError({ network, reason: "it collects nothing" })
    const trace = yield* Effect.mapError(
      decodeTrace(exported.trace),
      () => new DriverError({ network, reason: "what was stored of an export is of no form of this driver" })
    )
    const context = { environment, part, trace, builtAt: exported.builtAt, hint }
    const { final, isOver, shown } = yield* searchTransaction(network, endpoints, (api) => readReport(api, context))
    const searchedTo = final < 0n ? 0n : final
    if (shown === null) return { executions: [], searchedTo, isOver }
    const { block, facts: { fee, ...facts }, isFinal } = shown
    return { executions: [{ ...facts, fee: baseUnits(fee), block, isFinal }], searchedTo, isOver }
  })
