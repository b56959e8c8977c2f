/**
 * Searches for the execution of a part on Sui: the exported transaction, by its digest, or another one of the wallet,
 * or a reported one, that spends a coin of the export. A wallet may build a transaction of its own. Of two that spend
 * the same version of a coin the network executes only one, so the other one takes the place of the export.
 */
import { Effect, Schema } from "effect"
import { DriverError } from "../../../runtime/Chains.ts"
import { transactionContent } from "../../../runtime/payouts/Agreement.ts"
import {
  type EndpointReport,
  searchTransaction,
  type ShownTransaction
} from "../../../runtime/payouts/TransactionSearch.ts"
import type { PayoutDriver, PayoutPart, PayoutSearch, PayoutTransfer } from "../../../runtime/Payouts.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import { isDigest } from "./Identifiers.ts"
import type { CheckpointedTransaction } from "./Messages.ts"
import type { SuiNode } from "./Nodes.ts"
import type { CheckpointedExecution, GasUsed } from "./PayoutMessages.ts"
import { readExported, readReported } from "./PayoutNode.ts"
import { coinTypeOf, coinTypesOf } from "./PayoutPlan.ts"
import { listTransactionsOf } from "./Scans.ts"
import type { SuiChain } from "./SuiChain.ts"
import { checkpointName, transfersOf } from "./Transfers.ts"

const network = "sui"

/** What is stored of an export: its digest, its last epoch, and the versions of coins that it spends. */
const Trace = Schema.Struct({ digest: Schema.String, lastEpoch: Schema.Int, spent: Schema.Array(Schema.String) })
type Trace = typeof Trace.Type
const decodeTrace = Schema.decodeUnknownEffect(Trace)

/** What an endpoint shows: a transaction that failed has spent its coins all the same. */
interface Execution {
  readonly txHash: string
  readonly gas: GasUsed
  readonly isSuccess: boolean
  readonly transfers: ReadonlyArray<PayoutTransfer>
}

interface SearchContext {
  readonly part: PayoutPart
  readonly trace: Trace
  readonly builtAt: bigint
  /** Checkpoints below were searched before. */
  readonly from: bigint
  readonly hint: string | null
}

/** More than the addresses and coins of a transaction of 200 lines: what tells alike lines apart is above it. */
const indexesOfTransaction = 4_096

const keyOf = (address: string, coinType: string): string => `${address} ${coinType}`
const lineKey = (line: PayoutPart["lines"][number]): string => keyOf(line.destination, coinTypeOf(line))

/** A transfer for each of the lines, of which those with one receiver and coin are one change on the chain. */
const transfersOfLines = (
  { from, lines }: PayoutPart,
  places: ReadonlyArray<number>,
  indexOf: (key: string) => number
): ReadonlyArray<PayoutTransfer> => {
  const seen = new Map<string, number>()
  return places.map((line) => {
    const { amount, destination, tokenAddress } = lines[line]!
    const key = lineKey(lines[line]!)
    const repeats = seen.get(key) ?? 0
    seen.set(key, repeats + 1)
    return { index: indexOf(key) + repeats * indexesOfTransaction, line, destination, tokenAddress, amount, from }
  })
}

/**
 * What the transaction with the export's very digest pays, if it succeeds. An index is the one that a follower of the
 * receiver tells: the place of its address and coin among all that changed. Of more lines with the same it is higher.
 */
const exportedTransfers = (part: PayoutPart): ReadonlyArray<PayoutTransfer> => {
  const { from, lines } = part
  const keys = [
    ...new Set([...lines.map(lineKey), ...coinTypesOf(lines).map((coinType) => keyOf(from, coinType))])
  ].toSorted((one, other) => one < other ? -1 : 1)
  return transfersOfLines(part, [...lines.keys()], (key) => keys.indexOf(key))
}

/**
 * Whether others have got, of each token, what the lines come to, whoever they are: so it looks where malware has put
 * its own address in the place of every receiver. What the wallet buys with the same coins comes to the same only by
 * chance.
 */
const bringsSumsOf = ({ lines }: PayoutPart, transfers: ReadonlyArray<PayoutTransfer>): boolean => {
  const sumOf = (
    tokenAddress: string | null,
    amounts: ReadonlyArray<Pick<PayoutTransfer, "amount" | "tokenAddress">>
  ) => amounts.reduce((sum, each) => each.tokenAddress === tokenAddress ? sum + each.amount : sum, 0n)
  return lines.every(({ tokenAddress }) => sumOf(tokenAddress, lines) === sumOf(tokenAddress, transfers))
}

/**
 * What another transaction brought to somebody, with the lines that ask for just that; empty: it pays no line, and not
 * the sums of the lines to others either, so the wallet has spent its coins for something else.
 */
const matchTransaction = (
  part: PayoutPart,
  transaction: CheckpointedTransaction
): ReadonlyArray<PayoutTransfer> => {
  const { from, lines } = part
  const byKey = Map.groupBy(lines.keys(), (place) => lineKey(lines[place]!))
  const transfers = transfersOf(transaction, () => true).map((transfer): ReadonlyArray<PayoutTransfer> => {
    const { amount, index, matchKey: destination, tokenAddress } = transfer
    const places = byKey.get(keyOf(destination, coinTypeOf({ tokenAddress }))) ?? []
    const asked = places.reduce((sum, place) => sum + lines[place]!.amount, 0n)
    return places.length > 0 && asked === amount
      ? transfersOfLines(part, places, () => index)
      : [{ index, line: null, destination, tokenAddress, amount, from }]
  }).flat()
  return transfers.some(({ line }) => line !== null) || bringsSumsOf(part, transfers) ? transfers : []
}

const shownAs = (
  { checkpoint, failure, gas, time }: CheckpointedExecution,
  txHash: string,
  transfers: ReadonlyArray<PayoutTransfer>
): ShownTransaction<Execution> => {
  const name = checkpointName(checkpoint)
  const isSuccess = failure === null
  // A failure has another hash than a success, so that endpoints which differ about it do not agree.
  const hash = isSuccess ? name : `failed in ${name}`
  return {
    block: { height: checkpoint, hash, time },
    facts: { txHash, gas, isSuccess, transfers },
    content: JSON.stringify([isSuccess, transactionContent({ txHash, transfers })])
  }
}

/**
 * A transaction of the wallet, or one that somebody names; null where it does not spend what the export spends, or
 * spends it for something else than the lines.
 */
const readOther = Effect.fnUntraced(function*(
  node: SuiNode,
  digest: string,
  { part, trace }: SearchContext
): Effect.fn.Return<ShownTransaction<Execution> | null, DriverError> {
  const found = yield* readReported(node, digest)
  if (found === "missing" || !found.spent.some((name) => trace.spent.includes(name))) return null
  const transfers = matchTransaction(part, found.transaction)
  return transfers.length === 0 ? null : shownAs(found.execution, digest, transfers)
})

/** What an endpoint has of a part, and the checkpoint up to which that is everything. */
interface Shown {
  readonly shown: ShownTransaction<Execution> | null
  readonly searchedTo: bigint
}

/** The export's own transaction, or the one that stands in its place. `head`: the endpoint's newest checkpoint. */
const readShown = Effect.fnUntraced(function*(
  node: SuiNode,
  context: SearchContext,
  head: bigint
): Effect.fn.Return<Shown, DriverError> {
  const { builtAt, from, hint, part, trace: { digest } } = context
  const own = yield* readExported(node, digest)
  if (own !== "missing") return { shown: shownAs(own, digest, exportedTransfers(part)), searchedTo: head }
  const named = hint === null || hint === digest || !isDigest(hint) ? null : yield* readOther(node, hint, context)
  if (named !== null) return { shown: named, searchedTo: head }
  const range = { from: from > builtAt ? from : builtAt, to: head }
  if (range.from > head) return { shown: null, searchedTo: head }
  const { found, scannedTo } = yield* listTransactionsOf(node, part.from, range)
  for (const transaction of found) {
    const isOwn = transaction.sender === part.from && transaction.isSuccess && transaction.digest !== hint
    const other = isOwn ? yield* readOther(node, transaction.digest, context) : null
    if (other !== null) return { shown: other, searchedTo: head }
  }
  return { shown: null, searchedTo: scannedTo }
})

/**
 * What an endpoint says; its newest checkpoint first, see {@link EndpointReport}. One that has forgotten the time in
 * which a transaction may have been executed cannot say that it was not.
 */
const readReport = Effect.fnUntraced(function*(
  chain: SuiChain,
  node: SuiNode,
  context: SearchContext
): Effect.fn.Return<EndpointReport<Execution>, DriverError> {
  const { builtAt, trace: { lastEpoch } } = context
  const { epoch, height, lowestHeight } = yield* chain.readInfo(node)
  if ((lowestHeight ?? 0n) > builtAt && (yield* readExported(node, context.trace.digest)) === "missing") {
    const reason = `it does not have checkpoint ${builtAt} any more: add an endpoint with older transactions`
    return yield* node.fail("BatchGetTransactions", reason, "pruned")
  }
  const { searchedTo, shown } = yield* readShown(node, context, height)
  // Where its index is behind, what the wallet has done instead may still come to light.
  const isOver = epoch !== null && epoch > BigInt(lastEpoch) && searchedTo >= height
  // A node may show a checkpoint that it has made since it was asked for its newest.
  const head = shown !== null && shown.block.height > searchedTo ? shown.block.height : searchedTo
  return { head, final: head, isOver, shown }
})

const feeOf = ({ computation, rebate, storage }: GasUsed): bigint => {
  const fee = computation + storage - rebate
  return fee < 0n ? 0n : fee
}

/** See `PayoutDriver.search`. */
export const search = (chain: SuiChain): PayoutDriver["search"] =>
  Effect.fnUntraced(function*({ export: exported, from, hint, part }): Effect.fn.Return<PayoutSearch, DriverError> {
    if (part._tag !== "Payout") return yield* new DriverError({ network, reason: "it collects nothing" })
    const trace = yield* Effect.mapError(
      decodeTrace(exported.trace),
      () => new DriverError({ network, reason: "what was stored of an export is of no form of this driver" })
    )
    const context = { part, trace, builtAt: exported.builtAt, from, hint }
    const { final, isOver, shown } = yield* searchTransaction(
      network,
      chain.endpoints,
      (node) => readReport(chain, node, context)
    )
    // A failed transaction has spent its coins for gas: it paid nobody, and can never be executed again.
    if (shown === null || !shown.facts.isSuccess) return { executions: [], searchedTo: final, isOver }
    const { block, facts: { gas, transfers, txHash }, isFinal } = shown
    return {
      executions: [{ txHash, block, isFinal, transfers, fee: baseUnits(feeOf(gas)) }],
      searchedTo: final,
      isOver
    }
  })
