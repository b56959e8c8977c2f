/**
 * What was passed, read again: for reports, rescans and restored backups. That something is not there is never one
 * endpoint's word: it may lag, or have lost a part of its history.
 */
import { Clock, Effect } from "effect"
import { type AccountHistory, DriverError, type WatchSet } from "../../../runtime/Chains.ts"
import { findAtAny, readUnlessPruned } from "../../../runtime/nodes/Absence.ts"
import { endpointsByPreference } from "../../../runtime/nodes/EndpointPool.ts"
import type { Endpoints } from "../../../runtime/nodes/Endpoints.ts"
import type { JsonRpcClient } from "../../../runtime/nodes/JsonRpc.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { makeReceivingAccounts } from "./Accounts.ts"
import { type ListedTransaction, readSlot, readTime } from "./Node.ts"
import { listSince } from "./Signatures.ts"
import { askBeside, concurrentCalls, isSaidByAll } from "./TransactionReading.ts"
import {
  attemptAll,
  isConclusive,
  readAnswerIn,
  type ReadAttempt,
  reasonsOf,
  reportUnreadable
} from "./UnreadTransactions.ts"

/** Readings of a range in which no endpoint shows a transaction, before the range is read without it. */
export const readingsToGiveUp = 3

/** Transactions whose missing readings are counted side by side, at most. */
const countedLimit = 1_000

const isSignature = (text: string): boolean => /^[1-9A-HJ-NP-Za-km-z]{64,88}$/.test(text)

/** An endpoint's newest final slot; null: it does not answer. */
const finalizedOf = (endpoints: Endpoints<JsonRpcClient>, node: JsonRpcClient): Effect.Effect<bigint | null> =>
  endpoints.attempt(node, (each) => readSlot(each, "finalized")).pipe(
    Effect.catch(({ reason }) => Effect.as(Effect.logDebug("an endpoint does not say how far it is", reason), null))
  )

/**
 * See `AccountHistory.readTransaction`. Endpoints are asked in turn until one shows a transfer. That there is none is
 * said by each of them that should answer: by one that shows the transaction without a transfer, and by one that does
 * not have it though its finalized slot is at or above `height`.
 */
const readOne = Effect.fnUntraced(function*(
  endpoints: Endpoints<JsonRpcClient>,
  txHash: string,
  watch: WatchSet,
  height: bigint
) {
  const words: Array<{ readonly place: number; readonly isSaid: boolean; readonly reason: string }> = []
  for (const place of endpointsByPreference(endpoints.pool(), yield* Clock.currentTimeMillis)) {
    const node = endpoints.endpoints[place]!
    // How far it has come is asked first: what it does not have after that, it does not have up to there.
    const finalized = yield* finalizedOf(endpoints, node)
    if (finalized === null) {
      words.push({ place, isSaid: false, reason: `${node.name} does not answer` })
      continue
    }
    const answer = yield* askBeside(endpoints, node, txHash, watch)
    if (answer._tag === "Read") {
      if (answer.reading.transfers.length > 0) return answer.reading.transfers
      words.push({ place, isSaid: true, reason: `${node.name} shows no transfer in it` })
    } else if (answer._tag === "Absent" && finalized < height) {
      words.push({ place, isSaid: false, reason: `${node.name} has not come to slot ${height}` })
    } else words.push({ place, isSaid: answer._tag === "Absent", reason: answer.reason })
  }
  if (isSaidByAll(words, endpoints, yield* Clock.currentTimeMillis)) return []
  return yield* new DriverError({
    network: endpoints.endpoints[0]!.network,
    reason: `not every endpoint says that there is no such transfer: ${words.map(({ reason }) => reason).join("; ")}`,
    kind: "unavailable"
  })
})

/** What every watched account was named in between two slots, at one endpoint. */
const listRange = (receiving: ReturnType<typeof makeReceivingAccounts>) =>
  Effect.fnUntraced(function*(node: JsonRpcClient, from: bigint, to: bigint, watch: WatchSet) {
    const { name, network } = node
    if ((yield* readTime(node, from)) === null) {
      const reason = `${name}: it has no transactions so old as slot ${from}`
      return yield* new DriverError({ network, reason, kind: "pruned" })
    }
    const newest = yield* readSlot(node, "confirmed")
    if (newest < to) {
      const reason = `${name} has come to slot ${newest} and was asked for slot ${to}: it is behind`
      return yield* new DriverError({ network, reason, kind: "unavailable" })
    }
    const keys = yield* receiving.keys(node, watch, true)
    const lists = yield* Effect.forEach(keys, (key) => listSince(node, key, from), { concurrency: concurrentCalls })
    const wanted = new Map(
      lists.flat().filter(({ hasFailed, slot }) => !hasFailed && slot <= to).map((each) => [each.signature, each])
    )
    return { node, wanted: [...wanted.values()] }
  })

/** Counts the readings in which transactions were missing. */
const makeMissing = () => {
  const counts = new Map<string, number>()
  return {
    /** Answers how often it was missing, this time included. */
    count: ({ signature }: ListedTransaction): number => {
      const count = (counts.get(signature) ?? 0) + 1
      counts.delete(signature)
      counts.set(signature, count)
      if (counts.size > countedLimit) counts.delete(counts.keys().next().value!)
      return count
    },
    forget: ({ signature }: ListedTransaction): void => void counts.delete(signature)
  }
}

export const makeHistory = (endpoints: Endpoints<JsonRpcClient>, environment: Environment): AccountHistory => {
  const list = listRange(makeReceivingAccounts())
  const missing = makeMissing()
  const { network } = endpoints.endpoints[0]!

  /** Fails while one of them may still be shown; then an operator is told of each, and the range goes on without. */
  const giveUpUnread = Effect.fnUntraced(function*(node: JsonRpcClient, all: ReadonlyArray<ReadAttempt>) {
    const unread = all.filter((attempt) => readAnswerIn(attempt) === undefined)
    if (unread.length === 0) return
    const slots = yield* Effect.forEach(endpoints.endpoints, (each) => finalizedOf(endpoints, each), {
      concurrency: "unbounded"
    })
    const hasCome = (place: number, slot: bigint) => place === node.place || (slots[place] ?? -1n) >= slot
    const nowMillis = yield* Clock.currentTimeMillis
    const isOver = (attempt: ReadAttempt) =>
      isConclusive(attempt, all, hasCome, endpoints, nowMillis) && missing.count(attempt.listed) >= readingsToGiveUp
    // Every one of them is counted before one that is not over ends this reading.
    const open = unread.map((attempt) => ({ attempt, isOver: isOver(attempt) })).find((each) => !each.isOver)?.attempt
    if (open !== undefined) {
      const reason = `a transaction that is listed cannot be read: ${reasonsOf(open)}`
      return yield* new DriverError({ network, reason, kind: "contradiction" })
    }
    yield* Effect.forEach(unread, (attempt) => {
      missing.forget(attempt.listed)
      return reportUnreadable(
        { network, environment },
        attempt,
        "the range that was read again goes on without it. Look at it in an explorer; add an endpoint that shows it, " +
          "and report the transfer or call chains.rescan"
      )
    }, { discard: true })
  })

  return {
    _tag: "AccountHistory",
    readTransaction: (txHash, watch, height) =>
      isSignature(txHash)
        ? Effect.andThen(watch.refresh, readOne(endpoints, txHash, watch, height))
        : Effect.succeed([]),
    readTransfers: Effect.fnUntraced(function*(from, to, watch) {
      yield* watch.refresh
      const { node, wanted } = yield* readUnlessPruned(
        endpoints,
        `slot ${from}`,
        (each) => list(each, from, to, watch)
      )
      const all = yield* attemptAll(endpoints, node, wanted, watch)
      yield* giveUpUnread(node, all)
      return all.flatMap((attempt) => readAnswerIn(attempt)?.reading.transfers ?? [])
        .filter(({ at: { height } }) => height >= from && height <= to)
    }),
    timeOf: (height) => findAtAny(endpoints, `a block as old as slot ${height}`, (node) => readTime(node, height))
  }
}
