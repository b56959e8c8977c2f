/** What other endpoints have in a block that one of them showed: `ChainDriver.corroborate`. */
import { Clock, Effect } from "effect"
import { endpointsByPreference, isExpectedToAnswer, isWorthAsking } from "../../../runtime/nodes/EndpointPool.ts"
import type { Endpoints } from "../../../runtime/nodes/Endpoints.ts"
import type { ChainDriver, ChainPoint, Corroboration, DriverError, ObservedTransfer } from "../../../runtime/Chains.ts"
import { type Api, type FullBlock, readHeader, readWhole } from "./Api.ts"
import { transfersOfBlock } from "./BlockTransfers.ts"

/** Blocks whose reader is remembered: more than any payment waits for. */
const readersLimit = 8_192

/** Which endpoint a block was read from, by its hash: another one is asked before its transfers count. */
export interface BlockReaders {
  readonly get: (hash: string) => number | undefined
  readonly follow: (point: ChainPoint, place: number) => void
}

export const makeReaders = (): BlockReaders => {
  const places = new Map<string, number>()
  return {
    get: (hash) => places.get(hash),
    follow: ({ hash }, place) => {
      places.delete(hash)
      places.set(hash, place)
      if (places.size > readersLimit) places.delete(places.keys().next().value!)
    }
  }
}

/** What the endpoints that were asked for a block came to. */
export interface BlockAnswers {
  /** The endpoint that it was read from has it. */
  readonly own: number
  /** Others that have shown it whole. */
  readonly same: number
  /** Endpoints with another block in its place. */
  readonly other: number
  /** Endpoints that should answer within a moment: they have no such block yet, or failed not long ago. */
  readonly pending: number
  /** Whether anybody has shown it whole just now. */
  readonly isRead: boolean
}

/** See {@link Corroboration}. Silence is consent only of those that are away for long or stand still. */
export const corroborationOf = ({ isRead, other, own, pending, same }: BlockAnswers): Corroboration["_tag"] => {
  if (other > 0 && other >= own + same) return "Disagreed"
  if (same > 0) return "Agreed"
  if (pending > 0) return "Disagreed"
  return isRead ? "Alone" : "Unavailable"
}

type Answer =
  | { readonly _tag: "Whole"; readonly block: FullBlock; readonly transfers: ReadonlyArray<ObservedTransfer> }
  | { readonly _tag: "Other" | "Nothing" }

/** A block as an endpoint has it at the height of `point`. */
const readAgain = Effect.fnUntraced(function*(
  api: Api,
  point: ChainPoint,
  isWatched: (address: string) => boolean
): Effect.fn.Return<Answer, DriverError> {
  const header = yield* readHeader(api, point.height)
  if (header === null) return { _tag: "Nothing" }
  if (header.hash !== point.hash) return { _tag: "Other" }
  const block = yield* readWhole(api, header)
  const retry = { isExhausted: false, sources: new Map(), findSources: () => Effect.succeed(null) }
  const transfers = block === null ? null : yield* transfersOfBlock(api, block, isWatched, retry)
  return block === null || transfers === null ? { _tag: "Nothing" } : { _tag: "Whole", block, transfers }
})

/**
 * Where nobody knows whom a block was read from, as after a restart, one more has to show it than where it is known.
 */
export const makeCorroborate = (
  endpoints: Endpoints<Api>,
  readers: BlockReaders
): NonNullable<ChainDriver["corroborate"]> =>
  Effect.fnUntraced(function*(point: ChainPoint, watch, isThorough) {
    const isSingle = endpoints.endpoints.length === 1
    const reader = readers.get(point.hash)
    const isReaderAsked = isThorough || isSingle || reader === undefined
    const readings: Array<Answer & { readonly _tag: "Whole" }> = []
    const counts = { own: isReaderAsked ? 0 : 1, same: 0, other: 0, pending: 0 }
    yield* watch.refresh
    for (const place of endpointsByPreference(endpoints.pool(), yield* Clock.currentTimeMillis)) {
      if (!isReaderAsked && place === reader) continue
      const canAsk = isSingle || isWorthAsking(endpoints.pool(), place)
      const answer: Answer = canAsk
        ? yield* endpoints.attempt(endpoints.endpoints[place]!, (api) => readAgain(api, point, watch.has)).pipe(
          Effect.catch((error) =>
            Effect.as(Effect.logDebug("a block could not be read again", error.reason), { _tag: "Nothing" } as const)
          )
        )
        : { _tag: "Nothing" }
      if (answer._tag === "Whole") {
        readings.push(answer)
        counts[isReaderAsked && counts.own === 0 && (reader ?? place) === place ? "own" : "same"] += 1
      } else if (answer._tag === "Other") counts.other += 1
      else if (isExpectedToAnswer(endpoints.pool(), place, yield* Clock.currentTimeMillis)) counts.pending += 1
      if (!isThorough && counts.same > 0 && counts.own + counts.same > counts.other) break
    }
    const agreement = corroborationOf({ ...counts, isRead: readings.length > 0 })
    if (agreement === "Disagreed" || agreement === "Unavailable") return { _tag: agreement }
    return {
      _tag: agreement,
      time: readings[0]!.block.time,
      readings: readings.map(({ transfers }) => transfers),
      hasAllAnswers: readings.length === endpoints.endpoints.length
    }
  })
