/**
 * Searches for the execution of a part on Cardano: the exported transaction, by its id, or another one of the wallet,
 * or a reported one, that spends an output of the export. A wallet may build a transaction of its own. Of two that
 * spend the same output only one gets on the chain, so the other one takes the place of the export. A transaction that
 * spends something else can be executed beside the exported one. It counts only where its message names the part,
 * because the same amounts may be owed to the same receivers twice.
 */
import { Effect, Schema } from "effect"
import { type BlockPoint, DriverError } from "../../../runtime/Chains.ts"
import type { Endpoints } from "../../../runtime/nodes/Endpoints.ts"
import { transactionContent } from "../../../runtime/payouts/Agreement.ts"
import {
  type EndpointReport,
  searchTransaction,
  type ShownTransaction
} from "../../../runtime/payouts/TransactionSearch.ts"
import type { PayoutDriver, PayoutPart, PayoutSearch, PayoutTransfer } from "../../../runtime/Payouts.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import { type Environment, requiredDepth } from "../../../schemas/Network.ts"
import { type Api, readOutputs } from "./Api.ts"
import { readInputs, readMessages, readPlace, readSlot, readTip, readTransactionsOf, readUnspent } from "./PayoutApi.ts"
import { messageOf } from "./PayoutPlan.ts"
import { accountOf, inputName } from "./PayoutTransaction.ts"
import { assetPlaces, isCarrier, type TransactionOutput } from "./Transactions.ts"

const network = "cardano"

/** What is stored of an export: the hash of its body, the first slot of which no block takes it, and what it spends. */
const Trace = Schema.Struct({
  id: Schema.String,
  ttl: Schema.Int,
  inputs: Schema.Array(Schema.String),
  /** What it spends from. */
  addresses: Schema.Array(Schema.String)
})
type Trace = typeof Trace.Type
const decodeTrace = Schema.decodeUnknownEffect(Trace)

/** An execution as an endpoint shows it. */
interface Execution {
  readonly txHash: string
  readonly fee: bigint
  readonly transfers: ReadonlyArray<PayoutTransfer>
}

/** One search. */
interface SearchContext {
  readonly environment: Environment
  readonly part: PayoutPart
  readonly trace: Trace
  readonly builtAt: bigint
  /** Blocks below were searched before. */
  readonly from: bigint
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

/** Every amount that an output brings to somebody else than the payer, or to the receiver of a line. */
const transfersOfOutput = (
  { from, lines }: PayoutPart,
  output: TransactionOutput
): ReadonlyArray<PayoutTransfer> => {
  const { address, assets, index, lovelace } = output
  // What comes back to another address of the account is change: a wallet that writes anew has it where it likes.
  const account = address === null ? null : accountOf(address)
  const isOwn = address === from || (account !== null && account === accountOf(from))
  if (address === null || (isOwn && lines.every(({ destination }) => destination !== address))) return []
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

/** The transfers of outputs, each with the first line that asks for just that. */
export const matchOutputs = (
  part: PayoutPart,
  outputs: ReadonlyArray<TransactionOutput>
): ReadonlyArray<PayoutTransfer> => {
  const { lines } = part
  const open = new Set(lines.keys())
  return outputs.flatMap((output) => transfersOfOutput(part, output)).map((transfer) => {
    const line = [...open].find((place) => {
      const { amount, destination, tokenAddress } = lines[place]!
      return amount === transfer.amount && destination === transfer.destination &&
        tokenAddress === transfer.tokenAddress
    })
    if (line === undefined) return transfer
    open.delete(line)
    return { ...transfer, line }
  })
}

/** What a transaction is to a part: the exported one written anew, or one that names the part. */
type OtherTransaction = ShownTransaction<Execution> & {
  /** Of it and the exported transaction only one can be on the chain. */
  readonly isRival: boolean
}

/** A transaction where a server has it, with what it pays. */
const shownAt = (
  { block, fee }: { readonly block: BlockPoint; readonly fee: bigint },
  txHash: string,
  transfers: ReadonlyArray<PayoutTransfer>
): ShownTransaction<Execution> => ({
  block,
  facts: { txHash, fee, transfers },
  content: transactionContent({ txHash, transfers })
})

/** A transaction of the wallet, or one that somebody names; null: it is nothing to the part. */
const readOther = Effect.fnUntraced(function*(
  api: Api,
  txHash: string,
  { part, trace }: SearchContext
): Effect.fn.Return<OtherTransaction | null, DriverError> {
  const inputs = yield* readInputs(api, txHash)
  if (inputs?.some(({ address }) => trace.addresses.includes(address)) !== true) return null
  const isRival = inputs.some(({ name }) => trace.inputs.includes(name))
  const outputs = isRival ? yield* readOutputs(api, txHash) : null
  const paying = outputs === null ? [] : matchOutputs(part, outputs.outputs)
  const isKnown = paying.some(({ line }) => line !== null)
  // The wallet may have spent the outputs for something else: then nothing of the part will ever be paid by them.
  if (!isKnown && !(yield* readMessages(api, txHash)).includes(messageOf(part))) return null
  const named = isRival ? null : yield* readOutputs(api, txHash)
  const transfers = named === null ? paying : matchOutputs(part, named.outputs)
  const place = transfers.length === 0 ? null : yield* readPlace(api, txHash)
  return place === null ? null : { isRival, ...shownAt(place, txHash, transfers) }
})

/** The export's own transaction, or the one that stands in its place; and what else pays its lines. */
const readShown = Effect.fnUntraced(function*(
  api: Api,
  context: SearchContext
): Effect.fn.Return<
  Pick<EndpointReport<Execution>, "others" | "shown"> & {
    /** Whether the server lists the transactions of an address. */
    readonly isListed: boolean
  },
  DriverError
> {
  const { from, hint, part, trace } = context
  const place = yield* readPlace(api, trace.id)
  const own = place === null
    ? null
    : shownAt(place, trace.id, exportedTransfers(part))
  const listed = yield* Effect.forEach(
    new Set([part.from, ...trace.addresses]),
    (address) => readTransactionsOf(api, address, from)
  )
  const hashes = new Set([...listed.flatMap((each) => each ?? []), ...hint === null ? [] : [hint]])
  hashes.delete(trace.id)
  const found = yield* Effect.forEach(hashes, (txHash) => readOther(api, txHash, context))
  const others = found.filter((each) => each !== null)
  return {
    shown: own ?? others.find(({ isRival }) => isRival) ?? null,
    others: new Map(others.filter(({ isRival }) => !isRival).map((each) => [each.facts.txHash, each])),
    isListed: listed.every((each) => each !== null)
  }
})

/**
 * What the export would spend and something unknown has spent. A server that lists no transactions of an address does
 * not show what did: it may be the part, which the wallet has built anew. A transaction that somebody named was read.
 */
const readUnexplained = Effect.fnUntraced(function*(
  api: Api,
  { hint, trace }: SearchContext
): Effect.fn.Return<ReadonlyArray<string>, DriverError> {
  const unspent = yield* Effect.forEach(trace.addresses, (address) => readUnspent(api, address))
  const named = hint === null ? null : yield* readInputs(api, hint)
  const explained = new Set([...unspent.flat().map(inputName), ...(named ?? []).map(({ name }) => name)])
  return trace.inputs.filter((name) => !explained.has(name))
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
  // Most searches are before the end of validity: then the slot of the final block need not be read.
  const finalSlot = tip.slot < ttl || final < 0n
    ? null
    : final === tip.height
    ? tip.slot
    : (yield* readSlot(api, final))?.slot ?? null
  const isOver = finalSlot !== null && finalSlot >= BigInt(ttl)
  const { isListed, others, shown } = yield* readShown(api, context)
  if (isOver && shown === null && (yield* readSlot(api, builtAt)) === null) {
    const reason = `${api.name} does not have block ${builtAt} any more: add an endpoint with older blocks`
    return yield* new DriverError({ network, reason, kind: "pruned" })
  }
  const unexplained = isOver && shown === null && !isListed ? yield* readUnexplained(api, context) : []
  if (unexplained.length > 0) {
    const reason =
      `${api.name} lists no transactions of an address, and something has spent ${unexplained.join(", ")}: ` +
      "name the transaction by POST /api/v1/batches/{id}/sent, or add an endpoint that lists them"
    return yield* new DriverError({ network, reason })
  }
  return { head: tip.height, final, isOver, shown, others: others ?? new Map() }
})

/** See `PayoutDriver.search`. */
export const search = (endpoints: Endpoints<Api>, environment: Environment): PayoutDriver["search"] =>
  Effect.fnUntraced(function*({ export: exported, from, hint, part }): Effect.fn.Return<PayoutSearch, DriverError> {
    if (part._tag !== "Payout") return yield* new DriverError({ network, reason: "it collects nothing" })
    const trace = yield* Effect.mapError(
      decodeTrace(exported.trace),
      () => new DriverError({ network, reason: "what was stored of an export is of no form of this driver" })
    )
    const context = { environment, part, trace, builtAt: exported.builtAt, from, hint }
    const { final, isOver, others, shown } = yield* searchTransaction(
      network,
      endpoints,
      (api) => readReport(api, context)
    )
    return {
      executions: [...shown === null ? [] : [shown], ...others]
        .map(({ block, facts: { fee, ...facts }, isFinal }) => ({ ...facts, fee: baseUnits(fee), block, isFinal }))
        .toSorted((one, other) => Number(one.block.height - other.block.height)),
      searchedTo: final < 0n ? 0n : final,
      isOver
    }
  })
