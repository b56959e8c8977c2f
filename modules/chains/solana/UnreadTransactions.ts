/**
 * Reading the transactions of a look. One that the serving endpoint does not show is asked of every other endpoint; one
 * that none shows leaves the look to the others, and an operator is told once it is given up.
 */
import { Clock, Effect, MutableRef } from "effect"
import type { Environment, Network } from "../../../schemas/Network.ts"
import type { Endpoints } from "../../../runtime/nodes/Endpoints.ts"
import type { EndpointHead } from "../../../runtime/nodes/EndpointPool.ts"
import type { JsonRpcClient } from "../../../runtime/nodes/JsonRpc.ts"
import { countUnreadable } from "../../../runtime/nodes/UnreadableTransactions.ts"
import { type FollowContext, stateOf } from "./FollowContext.ts"
import { type BatchEntry, nextBatch, onRead, roundsAfterGivingUp } from "./FollowState.ts"
import type { ListedTransaction } from "./Node.ts"
import { askOthers, askServing, concurrentCalls, isSaidByAll, type ReadAnswer } from "./TransactionReading.ts"

/** An attempt to read a listed transaction: what each endpoint said of it, up to the first that shows it. */
export interface ReadAttempt {
  readonly listed: ListedTransaction
  readonly answers: ReadonlyArray<ReadAnswer>
}

/** The answer that shows it; undefined: none does. */
export const readAnswerIn = ({ answers }: ReadAttempt) => answers.find((answer) => answer._tag === "Read")

/** In one sentence for operators. */
export const reasonsOf = ({ answers }: ReadAttempt): string =>
  answers.flatMap((answer) => answer._tag === "Read" ? [] : [answer.reason]).join("; ")

/**
 * Asks `node`, which has listed them, for transactions, and then the other endpoints for those that it does not show.
 * Never fails.
 */
export const attemptAll = Effect.fnUntraced(function*(
  endpoints: Endpoints<JsonRpcClient>,
  node: JsonRpcClient,
  wanted: ReadonlyArray<ListedTransaction>,
  watch: FollowContext["watch"]
): Effect.fn.Return<ReadonlyArray<ReadAttempt>> {
  return yield* Effect.forEach(
    wanted,
    Effect.fnUntraced(function*(listed) {
      const { signature } = listed
      const own = yield* askServing(node, signature, watch)
      if (own._tag === "Read") return { listed, answers: [own] }
      const others = yield* askOthers(endpoints, signature, watch, new Set([node.place]))
      return { listed, answers: [own, ...others] }
    }),
    { concurrency: concurrentCalls }
  )
})

/**
 * Whether each endpoint that should answer has said that it cannot show a transaction. `hasCome`: whether an endpoint
 * is so far that its word counts. An endpoint's failure counts where it has shown another one of `all`: then the
 * transaction is the reason.
 */
export const isConclusive = (
  { answers, listed: { slot } }: ReadAttempt,
  all: ReadonlyArray<ReadAttempt>,
  hasCome: (place: number, slot: bigint) => boolean,
  endpoints: Endpoints<JsonRpcClient>,
  nowMillis: number
): boolean => {
  const showing = new Set(all.flatMap((each) => readAnswerIn(each)?.place ?? []))
  const words = answers.map(({ _tag, place }) => ({
    place,
    isSaid: hasCome(place, slot) && (_tag !== "Unanswered" || showing.has(place))
  }))
  return isSaidByAll(words, endpoints, nowMillis)
}

/** Counts a transaction that is given up, and tells an operator of it. */
export const reportUnreadable = Effect.fnUntraced(function*(
  { environment, network }: { readonly network: Network; readonly environment: Environment },
  attempt: ReadAttempt,
  whatFollows: string
) {
  const { signature, slot } = attempt.listed
  yield* countUnreadable(network)
  yield* Effect.logError(
    `a transaction cannot be read at any endpoint, so nothing that it pays is credited: ${whatFollows}`,
    { network, environment, txHash: signature, height: slot, reason: reasonsOf(attempt) }
  )
})

/** Notes of a reading that came from another endpoint than the one that listed the transaction. */
const noteReading = Effect.fnUntraced(function*(context: FollowContext, node: JsonRpcClient, attempt: ReadAttempt) {
  const answer = readAnswerIn(attempt)
  if (answer === undefined) return
  const { signature } = attempt.listed
  context.onTransactionRead(signature, answer.place)
  if (answer.place !== node.place) {
    yield* Effect.logInfo("an endpoint lists a transaction and does not show it; another one does", {
      network: context.network,
      txHash: signature,
      reason: reasonsOf(attempt),
      shownBy: context.endpoints.endpoints[answer.place]!.name
    })
  }
  if (stateOf(context).unread.get(signature)?.isGivenUp === true) {
    yield* Effect.logWarning("a transaction that was given up is read now, and credited", {
      network: context.network,
      txHash: signature
    })
  }
})

/** Reads what is due at a head into the state. Never fails. */
export const readBatch = Effect.fnUntraced(function*(
  context: FollowContext,
  node: JsonRpcClient,
  head: EndpointHead
): Effect.fn.Return<ReadonlyArray<BatchEntry>> {
  const { endpoints, watch } = context
  const all = yield* attemptAll(endpoints, node, nextBatch(stateOf(context), head.height), watch)
  yield* Effect.forEach(all, (attempt) => noteReading(context, node, attempt), { discard: true })
  const nowMillis = yield* Clock.currentTimeMillis
  // The endpoint that has listed a transaction has come to its slot; of the others the heads are watched.
  const hasCome = (place: number, slot: bigint) =>
    place === node.place || (endpoints.pool().endpoints[place]!.head?.height ?? -1n) >= slot
  const batch = all.map((attempt): BatchEntry => ({
    listed: attempt.listed,
    reading: readAnswerIn(attempt)?.reading ?? null,
    isConclusive: isConclusive(attempt, all, hasCome, endpoints, nowMillis)
  }))
  const [next, givenUp] = onRead(stateOf(context), batch, head.height)
  MutableRef.set(context.state, next)
  MutableRef.set(context.unread, next.unread)
  const signatures = new Set(givenUp.map(({ signature }) => signature))
  yield* Effect.forEach(
    all.filter(({ listed }) => signatures.has(listed.signature)),
    (attempt) =>
      reportUnreadable(
        context,
        attempt,
        `it is asked for ${roundsAfterGivingUp} times more in the next three days, unless the service starts anew. ` +
          "Look at it in an explorer; add an endpoint that shows it, and report the transfer or call chains.rescan"
      ),
    { discard: true }
  )
  return batch
})
