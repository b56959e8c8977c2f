/** What became of a part of a batch: `PayoutDriver.search`, of one node and of all. */
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

/** What a search looks for. `lastValidBlockHeight` null: of a list, which is never over. */
interface Wanted {
  readonly part: PayoutPart
  readonly isList: boolean
  readonly from: bigint
  readonly hint: string | null
  readonly lastValidBlockHeight: bigint | null
  readonly strangers: Strangers
}

/** Transactions that are remembered to be none of a part's, at most. */
const maximumStrangers = 20_000

/**
 * Final transactions of a wallet that are none of a part's, by node: the wallet may be paid often while a part is open,
 * and every look would read all of it again.
 */
export interface Strangers {
  readonly has: (node: JsonRpcClient, wanted: StrangersPart, signature: string) => boolean
  readonly add: (node: JsonRpcClient, wanted: StrangersPart, signature: string) => void
}

type StrangersPart = Pick<Wanted, "isList" | "part">

export const makeStrangers = (): Strangers => {
  const keys = new Set<string>()
  const keyOf = ({ place }: JsonRpcClient, { isList, part }: StrangersPart, signature: string) =>
    `${place} ${isList} ${memoOf(part)} ${signature}`
  return {
    has: (...each) => keys.has(keyOf(...each)),
    add: (...each) => {
      keys.add(keyOf(...each))
      if (keys.size > maximumStrangers) keys.delete(keys.keys().next().value!)
    }
  }
}

/** A transaction to look at; `listed` null: the node does not list it, and somebody says that it is an execution. */
interface Candidate {
  readonly signature: string
  readonly listed: ListedTransaction | null
}

/**
 * Reads a candidate; null: it is none, or the node does not have it. One that it lists and cannot show is none where
 * its memos, which nodes list beside it, are not the part's: anybody may name the wallet in what no node can show.
 */
const readCandidate = (node: JsonRpcClient, { isList, part }: Wanted, { listed, signature }: Candidate) => {
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
  wanted: Wanted,
  candidate: Candidate,
  finalSlot: bigint
): Effect.fn.Return<PayoutExecution | null, DriverError> {
  const { isList, part, strangers } = wanted
  if (strangers.has(node, wanted, candidate.signature)) return null
  const transaction = yield* readCandidate(node, wanted, candidate)
  if (transaction === null) return null
  const transfers = transfersOfPart(part, isList, transaction)
  const height = BigInt(transaction.slot)
  if (transfers.length === 0) {
    if (height <= finalSlot) strangers.add(node, wanted, candidate.signature)
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

/** What may be an execution: the wallet's transactions, the oldest first and each once, and what somebody named. */
const listCandidates = Effect.fnUntraced(function*(node: JsonRpcClient, { from, hint, part }: Wanted) {
  const all = yield* listSince(node, part.from, from)
  const listed = new Map(all.toReversed().map((each) => [each.signature, each]))
  const candidates = [...listed.values()]
    .filter(({ hasFailed }) => !hasFailed)
    .map((each): Candidate => ({ signature: each.signature, listed: each }))
  return hint !== null && isSignature(hint) && !listed.has(hint)
    ? [...candidates, { signature: hint, listed: null }]
    : candidates
})

const searchNode = (wanted: Wanted) =>
  Effect.fnUntraced(function*(node: JsonRpcClient): Effect.fn.Return<EndpointSearch, DriverError> {
    // Before the transactions: what it does not list after that is not in blocks up to there, but for the index's lag.
    const final = yield* readHeight(node, "finalized")
    const { from, lastValidBlockHeight } = wanted
    if (final.slot >= from && (yield* readTime(node, from)) === null) {
      const reason = `${node.name}: it has no transactions so old as slot ${from}`
      return yield* new DriverError({ network: node.network, reason, kind: "pruned" })
    }
    const found = yield* Effect.forEach(
      yield* listCandidates(node, wanted),
      (candidate) => readExecution(node, wanted, candidate, final.slot),
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
  strangers: Strangers,
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
  const wanted: Wanted = { part, isList, from: start, hint, lastValidBlockHeight, strangers }
  return yield* Effect.fromResult(agreeOnSearch(network, start, yield* askEach(nodes, searchNode(wanted))))
})
