/** Searches one node, and all nodes, for the transactions that executed a part: `PayoutDriver.search`. */
import { Effect, Schema } from "effect"
import { DriverError } from "../../../runtime/Chains.ts"
import type { Endpoints } from "../../../runtime/nodes/Endpoints.ts"
import type { JsonRpcClient } from "../../../runtime/nodes/JsonRpc.ts"
import { agreeOnSearch, askEach, type EndpointSearch } from "../../../runtime/payouts/Agreement.ts"
import type { PayoutExecution, PayoutPart, PayoutSearch, PayoutSearchRequest } from "../../../runtime/Payouts.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import { indexLagSlots } from "./AccountBook.ts"
import { contradiction, type ListedTransaction, readTime, readTransaction } from "./Node.ts"
import { readHeight } from "./PayoutNode.ts"
import { memoOf } from "./PayoutTransaction.ts"
import { transfersOfPart } from "./PayoutTransfers.ts"
import { listSince } from "./Signatures.ts"
import { concurrentCalls, isEndpointFailure } from "./TransactionReading.ts"
import { hashOfSlot, Signature } from "./Transactions.ts"

/** What is stored of an export of format `solana`. */
const Trace = Schema.Struct({ memo: Schema.String, lastValidBlockHeight: Schema.String })
const decodeTrace = Schema.decodeUnknownEffect(Trace)

const isSignature = Schema.is(Signature)

/** One search. `lastValidBlockHeight` null: the part is a list, whose validity never ends. */
interface SearchContext {
  readonly part: PayoutPart
  readonly isList: boolean
  readonly from: bigint
  readonly hint: string | null
  readonly lastValidBlockHeight: bigint | null
  readonly unrelated: UnrelatedTransactions
}

/** Transactions that are remembered, at most: the oldest are forgotten first, and only cost a second reading. */
const maximumUnrelated = 20_000

/**
 * Remembers final transactions of a wallet that do not execute a part, by node. The wallet may have many other
 * transactions while a part is open, and every search would read all of them again.
 */
export interface UnrelatedTransactions {
  readonly has: (node: JsonRpcClient, context: SearchedPart, signature: string) => boolean
  readonly add: (node: JsonRpcClient, context: SearchedPart, signature: string) => void
}

type SearchedPart = Pick<SearchContext, "isList" | "part">

export const makeUnrelatedTransactions = (): UnrelatedTransactions => {
  const keys = new Set<string>()
  const keyOf = ({ place }: JsonRpcClient, { isList, part }: SearchedPart, signature: string) =>
    `${place} ${isList} ${memoOf(part)} ${signature}`
  return {
    has: (...each) => keys.has(keyOf(...each)),
    add: (...each) => {
      keys.add(keyOf(...each))
      if (keys.size > maximumUnrelated) keys.delete(keys.keys().next().value!)
    }
  }
}

/** A transaction to look at; `listed` null: the node does not list it, and somebody says that it is an execution. */
interface Candidate {
  readonly signature: string
  readonly listed: ListedTransaction | null
}

/**
 * Reads a candidate; null: it does not execute the part, or the node does not have it. A transaction that the node
 * lists and cannot show is a failure only where its listed memo is the part's. Anybody can make a transaction that
 * names the wallet and that no node can show, and such a one must not stop the search.
 */
const readCandidate = (node: JsonRpcClient, { isList, part }: SearchContext, { listed, signature }: Candidate) => {
  const mayBeOurs = listed !== null && (isList || listed.memo?.includes(memoOf(part)) === true)
  const read = readTransaction(node, signature)
  return mayBeOurs
    ? Effect.flatMap(read, (transaction) =>
      transaction === null
        ? Effect.fail(contradiction(node, "getTransaction", `it lists transaction ${signature} and does not show it`))
        : Effect.succeed(transaction))
    : Effect.catchIf(read, (error) => !isEndpointFailure(error), () => Effect.succeed(null))
}

/** The execution that a transaction is; null: none. `finalSlot`: the node's newest final one. */
const readExecution = Effect.fnUntraced(function*(
  node: JsonRpcClient,
  context: SearchContext,
  candidate: Candidate,
  finalSlot: bigint
): Effect.fn.Return<PayoutExecution | null, DriverError> {
  const { isList, part, unrelated } = context
  if (unrelated.has(node, context, candidate.signature)) return null
  const transaction = yield* readCandidate(node, context, candidate)
  if (transaction === null) return null
  const transfers = transfersOfPart(part, isList, transaction)
  const height = BigInt(transaction.slot)
  if (transfers.length === 0) {
    if (height <= finalSlot) unrelated.add(node, context, candidate.signature)
    return null
  }
  const time = transaction.blockTime ?? (yield* readTime(node, height))
  if (time === null) return yield* contradiction(node, "getTransaction", "it does not know the time of a block it has")
  const { fee } = transaction.meta
  return {
    txHash: transaction.transaction.signatures[0],
    block: { height, hash: hashOfSlot(height), time },
    isFinal: height <= finalSlot,
    transfers,
    fee: fee === undefined ? null : baseUnits(BigInt(fee))
  }
})

/** The wallet's transactions, the oldest first and each once, and the transaction that somebody reported. */
const listCandidates = Effect.fnUntraced(function*(node: JsonRpcClient, { from, hint, part }: SearchContext) {
  const all = yield* listSince(node, part.from, from)
  const listed = new Map(all.toReversed().map((each) => [each.signature, each]))
  const candidates = [...listed.values()]
    .filter(({ hasFailed }) => !hasFailed)
    .map((each): Candidate => ({ signature: each.signature, listed: each }))
  return hint !== null && isSignature(hint) && !listed.has(hint)
    ? [...candidates, { signature: hint, listed: null }]
    : candidates
})

const searchNode = (context: SearchContext) =>
  Effect.fnUntraced(function*(node: JsonRpcClient): Effect.fn.Return<EndpointSearch, DriverError> {
    // Before the transactions: what it does not list after that is not in blocks up to there, but for the index's lag.
    const final = yield* readHeight(node, "finalized")
    const { from, lastValidBlockHeight } = context
    if (final.slot >= from && (yield* readTime(node, from)) === null) {
      const reason = `${node.name}: it has no transactions so old as slot ${from}`
      return yield* new DriverError({ network: node.network, reason, kind: "pruned" })
    }
    const found = yield* Effect.forEach(
      yield* listCandidates(node, context),
      (candidate) => readExecution(node, context, candidate, final.slot),
      { concurrency: concurrentCalls }
    )
    return {
      executions: found.filter((each) => each !== null).filter(({ block }) => block.height >= from),
      searchedTo: final.slot - indexLagSlots,
      isOver: lastValidBlockHeight !== null && final.blockHeight > lastValidBlockHeight + indexLagSlots
    }
  })

/** `PayoutDriver.search`. */
export const searchPayout = Effect.fnUntraced(function*(
  nodes: Endpoints<JsonRpcClient>,
  unrelated: UnrelatedTransactions,
  { export: { builtAt, format, trace }, from, hint, part }: PayoutSearchRequest
): Effect.fn.Return<PayoutSearch, DriverError> {
  const { network } = nodes.endpoints[0]!
  if (part._tag === "Collect") {
    return yield* new DriverError({ network, reason: "nothing has to be collected on this network", kind: "refused" })
  }
  const isList = format === "csv"
  const start = from > builtAt ? from : builtAt
  const lastValidBlockHeight = isList ? null : yield* decodeTrace(trace).pipe(
    Effect.map((read) => BigInt(read.lastValidBlockHeight)),
    Effect.mapError(({ message }) => new DriverError({ network, reason: `the trace of an export: ${message}` }))
  )
  const context: SearchContext = { part, isList, from: start, hint, lastValidBlockHeight, unrelated }
  return yield* Effect.fromResult(agreeOnSearch(network, start, yield* askEach(nodes, searchNode(context))))
})
