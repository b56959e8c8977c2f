/**
 * Reading a transaction: at one endpoint, and at several where one does not show it. A transaction that is missing or
 * cannot be decoded is an answer about that transaction alone; an endpoint that does not answer says nothing about it.
 */
import { Clock, Effect } from "effect"
import {
  type BlockPoint,
  type DriverError,
  isOutage,
  type LocatedTransfer,
  type WatchSet
} from "../../../runtime/Chains.ts"
import {
  endpointsByPreference,
  isExpectedToAnswer,
  isPaused,
  isWorthAsking
} from "../../../runtime/nodes/EndpointPool.ts"
import type { Endpoints } from "../../../runtime/nodes/Endpoints.ts"
import type { JsonRpcClient } from "../../../runtime/nodes/JsonRpc.ts"
import { contradiction, readTime, readTransaction } from "./Node.ts"
import { hashOfSlot, transfersOf } from "./Transactions.ts"

/** Calls side by side, of one endpoint: within the pace of public ones, and 8 times as fast as one after another. */
export const concurrentCalls = 8

/** A transaction that an endpoint has shown, and what in it came to watched wallets. */
export interface TransactionReading {
  readonly at: BlockPoint
  readonly transfers: ReadonlyArray<LocatedTransfer>
}

/** Reads a transaction; null: the endpoint does not have it. Failed ones have no transfers. */
export const readTransfers = Effect.fnUntraced(function*(
  node: JsonRpcClient,
  signature: string,
  watch: Pick<WatchSet, "has">
): Effect.fn.Return<TransactionReading | null, DriverError> {
  const transaction = yield* readTransaction(node, signature)
  if (transaction === null) return null
  const height = BigInt(transaction.slot)
  const time = transaction.blockTime ?? (yield* readTime(node, height))
  if (time === null) return yield* contradiction(node, "getTransaction", "it does not know the time of a block it has")
  return { at: { height, hash: hashOfSlot(height), time }, transfers: transfersOf(transaction, time, watch) }
})

/**
 * What an endpoint says of a transaction: `Read` it shows it; `Absent` it says that it has none; `Unreadable` its
 * answer cannot be used; `Unanswered` it says nothing, because it failed or asked for fewer calls.
 */
export type ReadAnswer =
  | { readonly _tag: "Read"; readonly place: number; readonly reading: TransactionReading }
  | { readonly _tag: "Absent" | "Unreadable" | "Unanswered"; readonly place: number; readonly reason: string }

/** Whether a failure says nothing about the transaction asked for. One without a kind is of the endpoint's proof. */
export const isEndpointFailure = (error: DriverError): boolean => error.kind === undefined || isOutage(error)

/** Asks an endpoint for a transaction. Fails where the endpoint failed, and not where the transaction is the reason. */
export const ask = (
  node: JsonRpcClient,
  signature: string,
  watch: Pick<WatchSet, "has">
): Effect.Effect<ReadAnswer, DriverError> =>
  readTransfers(node, signature, watch).pipe(
    Effect.map((reading): ReadAnswer =>
      reading === null
        ? { _tag: "Absent", place: node.place, reason: `${node.name} does not show it` }
        : { _tag: "Read", place: node.place, reading }
    ),
    Effect.catchIf(
      (error) => !isEndpointFailure(error),
      ({ reason }) => Effect.succeed<ReadAnswer>({ _tag: "Unreadable", place: node.place, reason })
    )
  )

const unanswered = (place: number, reason: string): ReadAnswer => ({ _tag: "Unanswered", place, reason })

/** As {@link ask}, with an endpoint's failure as an answer. */
export const askServing = (
  node: JsonRpcClient,
  signature: string,
  watch: Pick<WatchSet, "has">
): Effect.Effect<ReadAnswer> =>
  Effect.catch(ask(node, signature, watch), ({ reason }) => Effect.succeed(unanswered(node.place, reason)))

/** As {@link askServing}, of an endpoint that does not serve the look: the pool learns whether it answered. */
export const askBeside = (
  endpoints: Endpoints<JsonRpcClient>,
  node: JsonRpcClient,
  signature: string,
  watch: Pick<WatchSet, "has">
): Effect.Effect<ReadAnswer> =>
  endpoints.attempt(node, (each) => ask(each, signature, watch)).pipe(
    Effect.catch(({ reason }) => Effect.succeed(unanswered(node.place, reason)))
  )

/**
 * Asks the endpoints but those in `exceptPlaces` in the pool's order until one shows the transaction. One that rests or
 * asked for fewer calls is `Unanswered` without a call.
 */
export const askOthers = Effect.fnUntraced(function*(
  endpoints: Endpoints<JsonRpcClient>,
  signature: string,
  watch: Pick<WatchSet, "has">,
  exceptPlaces: ReadonlySet<number>
): Effect.fn.Return<ReadonlyArray<ReadAnswer>> {
  const answers: Array<ReadAnswer> = []
  for (const place of endpointsByPreference(endpoints.pool(), yield* Clock.currentTimeMillis)) {
    if (exceptPlaces.has(place)) continue
    const node = endpoints.endpoints[place]!
    const canAsk = isWorthAsking(endpoints.pool(), place) &&
      !isPaused(endpoints.pool(), place, yield* Clock.currentTimeMillis)
    const answer = canAsk
      ? yield* askBeside(endpoints, node, signature, watch)
      : unanswered(place, `${node.name} was not asked: it has failed, or asked for fewer calls`)
    answers.push(answer)
    if (answer._tag === "Read") break
  }
  return answers
})

/**
 * Whether so much was said that a transaction counts as missing: `isSaid` of at least one endpoint, and of each that is
 * expected to answer. Who is away for long or stands still is not waited for.
 */
export const isSaidByAll = (
  words: ReadonlyArray<{ readonly place: number; readonly isSaid: boolean }>,
  { pool }: Pick<Endpoints<JsonRpcClient>, "pool">,
  nowMillis: number
): boolean =>
  words.some(({ isSaid }) => isSaid) &&
  words.every(({ isSaid, place }) => isSaid || !isExpectedToAnswer(pool(), place, nowMillis))
