/** What other endpoints have of transactions that one of them showed: `ChainDriver.corroborate`. */
import { Clock, Effect } from "effect"
import type { ChainDriver, ChainPoint, Corroboration, PlacedTransfer, WatchSet } from "../../../runtime/Chains.ts"
import type { Endpoints } from "../../../runtime/nodes/Endpoints.ts"
import { isExpectedToAnswer, isWorthAsking, placesByPreference } from "../../../runtime/nodes/EndpointPool.ts"
import type { JsonRpcClient } from "../../../runtime/nodes/JsonRpc.ts"
import { readFinalized } from "./Node.ts"
import { concurrentCalls, showTransaction } from "./Reading.ts"

/** Transactions whose reader is remembered: more than wait for their depth at any time. */
const readersLimit = 8_192

/** At which endpoint a transaction was read, by its signature: another one is asked before it counts. */
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
 * What an endpoint has: `Whole` all of them in the slot; `Other` another slot, or its newest final slot is above theirs
 * and it does not have one; `Nothing` no answer, or it does not have them yet.
 */
type Answer =
  | { readonly _tag: "Whole"; readonly time: number; readonly transfers: ReadonlyArray<PlacedTransfer> }
  | { readonly _tag: "Other" | "Nothing" }

/** How many endpoints came to what; `own`: where they were read; `pending`: those that should tell within a moment. */
export interface AnswerCounts {
  readonly own: number
  readonly same: number
  readonly other: number
  readonly pending: number
  /** Whether anybody has shown them just now. */
  readonly isRead: boolean
}

/** See {@link Corroboration}. Silence is consent only of endpoints that are away for long or stand still. */
export const corroborationOf = ({ isRead, other, own, pending, same }: AnswerCounts): Corroboration["_tag"] => {
  if (other > 0 && other >= own + same) return "Disagreed"
  if (same > 0) return "Agreed"
  if (pending > 0) return "Disagreed"
  return isRead ? "Alone" : "Unavailable"
}

const readAgain = Effect.fnUntraced(function*(
  node: JsonRpcClient,
  point: ChainPoint,
  watch: WatchSet,
  txHashes: ReadonlyArray<string>
) {
  const shown = yield* Effect.forEach(txHashes, (txHash) => showTransaction(node, txHash, watch), {
    concurrency: concurrentCalls
  })
  const found = shown.flatMap((each) => each ?? [])
  if (found.some(({ at }) => at.height !== point.height)) return { _tag: "Other" } satisfies Answer
  if (found.length < txHashes.length) {
    return { _tag: (yield* readFinalized(node)) >= point.height ? "Other" : "Nothing" } satisfies Answer
  }
  const transfers = found.flatMap((each) => each.transfers)
  return { _tag: "Whole", time: found[0]!.at.time, transfers } satisfies Answer
})

export const makeCorroborate = (
  endpoints: Endpoints<JsonRpcClient>,
  readers: TransactionReaders
): NonNullable<ChainDriver["corroborate"]> => {
  const { endpoints: nodes, pool } = endpoints
  const ask = (place: number, ...asked: [ChainPoint, WatchSet, ReadonlyArray<string>]): Effect.Effect<Answer> =>
    endpoints.attempt(nodes[place]!, (node): Effect.Effect<Answer, any> => readAgain(node, ...asked)).pipe(
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
    // Where nobody knows who has shown them, one more has to show them than where it is known.
    const isEveryAsked = isThorough || isSingle || reader === undefined
    const readings: Array<Extract<Answer, { readonly _tag: "Whole" }>> = []
    const counts = { own: isEveryAsked ? 0 : 1, same: 0, other: 0, pending: 0 }
    for (const place of placesByPreference(pool(), yield* Clock.currentTimeMillis)) {
      if (!isEveryAsked && place === reader) continue
      const isAsked = isSingle || isWorthAsking(pool(), place)
      const answer: Answer = isAsked ? yield* ask(place, point, watch, txHashes) : { _tag: "Nothing" }
      if (answer._tag === "Whole") {
        readings.push(answer)
        counts[isEveryAsked && counts.own === 0 && (reader ?? place) === place ? "own" : "same"] += 1
      } else if (answer._tag === "Other") counts.other += 1
      else if (isExpectedToAnswer(pool(), place, yield* Clock.currentTimeMillis)) counts.pending += 1
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
