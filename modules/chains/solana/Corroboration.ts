/** What other endpoints say of transactions that one of them has shown: `ChainDriver.corroborate`. */
import { Clock, Effect } from "effect"
import type {
  ChainDriver,
  ChainPoint,
  Corroboration,
  DriverError,
  LocatedTransfer,
  WatchSet
} from "../../../runtime/Chains.ts"
import type { Endpoints } from "../../../runtime/nodes/Endpoints.ts"
import { endpointsByPreference, isExpectedToAnswer, isWorthAsking } from "../../../runtime/nodes/EndpointPool.ts"
import type { JsonRpcClient } from "../../../runtime/nodes/JsonRpc.ts"
import { readSlot, readStatuses, type SignatureStatus, statusesPerCall } from "./Node.ts"
import { ask, concurrentCalls } from "./TransactionReading.ts"

/** Transactions whose endpoint is remembered: more than wait for their depth at any time. */
const readersLimit = 8_192

/** At which endpoint each transaction was read, by its signature: another one is asked before its payment counts. */
export interface TransactionReaders {
  readonly get: (signature: string) => number | undefined
  readonly set: (signature: string, place: number) => void
}

export const makeReaders = (): TransactionReaders => {
  const places = new Map<string, number>()
  return {
    get: (signature) => places.get(signature),
    set: (signature, place) => {
      places.delete(signature)
      places.set(signature, place)
      if (places.size > readersLimit) places.delete(places.keys().next().value!)
    }
  }
}

/**
 * What an endpoint has: `Whole` all of them in the slot; `Hidden` it cannot show one of them and says that it is there,
 * in the slot, not failed and final; `Other` another slot, or its newest final slot is not below theirs and it does not
 * have one; `Nothing` no answer, or it does not have them yet.
 */
type Answer =
  | { readonly _tag: "Whole"; readonly time: number; readonly transfers: ReadonlyArray<LocatedTransfer> }
  | { readonly _tag: "Hidden" | "Nothing" | "Other" }

/** How many endpoints came to what; `own`: where they were read; `pending`: those that should tell within a moment. */
export interface AnswerCounts {
  readonly own: number
  readonly same: number
  readonly other: number
  readonly pending: number
  /** Whether an endpoint has shown them just now. */
  readonly isRead: boolean
}

/** See {@link Corroboration}. Silence is consent only of endpoints that are away for long or stand still. */
export const corroborationOf = ({ isRead, other, own, pending, same }: AnswerCounts): Corroboration["_tag"] => {
  if (other > 0 && other >= own + same) return "Disagreed"
  if (same > 0) return "Agreed"
  if (pending > 0) return "Disagreed"
  return isRead ? "Alone" : "Unavailable"
}

/** What a node says of transactions in a slot that it does not show. */
const answerByStatuses = Effect.fnUntraced(function*(
  node: JsonRpcClient,
  height: bigint,
  signatures: ReadonlyArray<string>
): Effect.fn.Return<Answer, DriverError> {
  // The slot first: what the node has not got after it, it does not have up to that slot.
  const finalized = yield* readSlot(node, "finalized")
  const statuses: Array<SignatureStatus | null> = []
  for (let from = 0; from < signatures.length; from += statusesPerCall) {
    statuses.push(...yield* readStatuses(node, signatures.slice(from, from + statusesPerCall)))
  }
  if (statuses.some((status) => status !== null && (status.hasFailed || status.slot !== height))) {
    return { _tag: "Other" }
  }
  // Until the slot is final it may only be a moment behind.
  if (finalized < height) return { _tag: "Nothing" }
  return { _tag: statuses.includes(null) ? "Other" : "Hidden" }
})

const readAgain = Effect.fnUntraced(function*(
  node: JsonRpcClient,
  point: ChainPoint,
  watch: WatchSet,
  txHashes: ReadonlyArray<string>
): Effect.fn.Return<Answer, DriverError> {
  const answers = yield* Effect.forEach(
    txHashes,
    (txHash) => Effect.map(ask(node, txHash, watch), (answer) => ({ txHash, answer })),
    { concurrency: concurrentCalls }
  )
  const readings = answers.flatMap(({ answer }) => answer._tag === "Read" ? [answer.reading] : [])
  if (readings.some(({ at }) => at.height !== point.height)) return { _tag: "Other" }
  const hidden = answers.filter(({ answer }) => answer._tag !== "Read").map(({ txHash }) => txHash)
  return hidden.length > 0
    ? yield* answerByStatuses(node, point.height, hidden)
    : { _tag: "Whole", time: readings[0]!.at.time, transfers: readings.flatMap(({ transfers }) => transfers) }
})

export const makeCorroborate = (
  endpoints: Endpoints<JsonRpcClient>,
  readers: TransactionReaders
): NonNullable<ChainDriver["corroborate"]> => {
  const { endpoints: nodes, pool } = endpoints
  const readAt = (
    place: number,
    point: ChainPoint,
    watch: WatchSet,
    txHashes: ReadonlyArray<string>
  ): Effect.Effect<Answer> =>
    endpoints.attempt(nodes[place]!, (node) => readAgain(node, point, watch, txHashes)).pipe(
      Effect.catch((error) =>
        Effect.as(Effect.logDebug("transactions could not be read again", error.reason), { _tag: "Nothing" } as const)
      )
    )

  return Effect.fnUntraced(function*(point, watch, isThorough, txHashes) {
    if (txHashes.length === 0) return { _tag: "Unavailable" }
    yield* watch.refresh
    const isSingle = nodes.length === 1
    const places = new Set(txHashes.map((txHash) => readers.get(txHash)))
    const reader = places.size === 1 ? [...places][0] : undefined
    // After a restart it is not known which endpoint has shown them, and then one more has to.
    const isReaderAsked = isThorough || isSingle || reader === undefined
    const readings: Array<Extract<Answer, { readonly _tag: "Whole" }>> = []
    const counts = { own: isReaderAsked ? 0 : 1, same: 0, other: 0, pending: 0 }
    for (const place of endpointsByPreference(pool(), yield* Clock.currentTimeMillis)) {
      if (!isReaderAsked && place === reader) continue
      const canAsk = isSingle || isWorthAsking(pool(), place)
      const answer: Answer = canAsk ? yield* readAt(place, point, watch, txHashes) : { _tag: "Nothing" }
      if (answer._tag === "Whole") {
        readings.push(answer)
        counts[isReaderAsked && counts.own === 0 && (reader ?? place) === place ? "own" : "same"] += 1
      } else if (answer._tag === "Other") counts.other += 1
      else if (answer._tag === "Nothing" && isExpectedToAnswer(pool(), place, yield* Clock.currentTimeMillis)) {
        counts.pending += 1
      }
      if (!isThorough && counts.same > 0 && counts.own + counts.same > counts.other) break
    }
    const agreement = corroborationOf({ ...counts, isRead: readings.length > 0 })
    if (agreement === "Disagreed" || agreement === "Unavailable") return { _tag: agreement }
    return {
      _tag: agreement,
      time: readings[0]!.time,
      readings: readings.map(({ transfers }) => transfers),
      hasAllAnswers: readings.length === nodes.length
    }
  })
}
