/**
 * Asking endpoints for what another one has shown, before it counts: which of them are asked, and what their answers
 * come to. A driver gives how one endpoint is asked, and makes transfers of what they show:
 *
 * ```ts
 * const ask = (node) => attemptAnswer(endpoints, node, (each) => readAgain(each, point))
 * toCorroboration(yield* askAgain(endpoints, readers.placeOf(point.hash), isThorough, ask))
 * ```
 */
import { Clock, Effect } from "effect"
import type { Corroboration, DriverError, ObservedTransfer } from "../Chains.ts"
import { endpointsByPreference, isExpectedToAnswer, isWorthAsking } from "./EndpointPool.ts"
import type { Endpoints, NodeEndpoint } from "./Endpoints.ts"

/** Keys whose reader is remembered: more than wait for confirmation at any time. */
const readersLimit = 8_192

/** At which endpoint something was read: a block or a transaction, by whatever names it. */
export interface Readers<Key> {
  /** Undefined: not known, as after a restart. */
  readonly placeOf: (key: Key) => number | undefined
  readonly remember: (key: Key, place: number) => void
}

export const makeReaders = <Key = string>(): Readers<Key> => {
  const places = new Map<Key, number>()
  return {
    placeOf: (key) => places.get(key),
    remember: (key, place) => {
      places.delete(key)
      places.set(key, place)
      if (places.size > readersLimit) places.delete(places.keys().next().value!)
    }
  }
}

/**
 * What an endpoint has: `Whole` all of it; `Branch` its block, of which it cannot show all; `Other` something else in
 * its place, or not it though it should; `Nothing` no answer, or it does not have it yet.
 */
export type Answer<Reading> =
  | { readonly _tag: "Whole"; readonly reading: Reading }
  | { readonly _tag: "Branch" | "Other" | "Nothing" }

export const noAnswer: Answer<never> = { _tag: "Nothing" }

/** An endpoint's answer; a failure is none. */
export const attemptAnswer = <Client extends NodeEndpoint, Reading>(
  { attempt }: Pick<Endpoints<Client>, "attempt">,
  endpoint: Client,
  ask: (endpoint: Client) => Effect.Effect<Answer<Reading>, DriverError>
): Effect.Effect<Answer<Reading>> =>
  Effect.catch(
    attempt(endpoint, ask),
    ({ reason }) => Effect.as(Effect.logDebug("what was read could not be read again", { reason }), noAnswer)
  )

/** How many endpoints came to what. */
export interface AnswerCounts {
  /** The endpoint that it was read from has it, or was not asked again. */
  readonly own: number
  /** Others that have shown it whole. */
  readonly same: number
  /** Others that have its block, and could not show all of it. */
  readonly branch: number
  /** Endpoints that have something else in its place. */
  readonly other: number
  /** Endpoints that should answer within a moment: they do not have it yet, or failed not long ago. */
  readonly pending: number
  /** Whether anybody has shown it whole just now. */
  readonly isRead: boolean
}

/** See `Corroboration`. Silence is consent only of endpoints that are away for long or stand still. */
export const corroborationOf = (
  { branch, isRead, other, own, pending, same }: AnswerCounts
): Corroboration["_tag"] => {
  if (other > 0 && other >= own + same + branch) return "Disagreed"
  if (same > 0) return "Agreed"
  if (branch === 0 && pending > 0) return "Disagreed"
  return isRead ? "Alone" : "Unavailable"
}

/** What the endpoints that were asked came to. */
export interface AskedAgain<Reading> {
  readonly agreement: Corroboration["_tag"]
  readonly readings: ReadonlyArray<{ readonly place: number; readonly reading: Reading }>
  /** Every configured endpoint has answered. */
  readonly hasAllAnswers: boolean
}

/**
 * Asks endpoints beside the one at `reader`, in the pool's order, until one has it that was not the reader, or where
 * `isThorough` all of them. Where nobody knows who the reader was, one more has to have it than where it is known.
 */
export const askAgain = Effect.fnUntraced(function*<Client extends NodeEndpoint, Reading>(
  { endpoints, pool }: Pick<Endpoints<Client>, "endpoints" | "pool">,
  reader: number | undefined,
  isThorough: boolean,
  ask: (endpoint: Client) => Effect.Effect<Answer<Reading>>
) {
  const isSingle = endpoints.length === 1
  const isReaderAsked = isThorough || isSingle || reader === undefined
  const readings: Array<{ readonly place: number; readonly reading: Reading }> = []
  const counts = { own: isReaderAsked ? 0 : 1, same: 0, branch: 0, other: 0, pending: 0 }
  for (const place of endpointsByPreference(pool(), yield* Clock.currentTimeMillis)) {
    if (!isReaderAsked && place === reader) continue
    const canAsk = isSingle || isWorthAsking(pool(), place)
    const answer = canAsk ? yield* ask(endpoints[place]!) : noAnswer
    switch (answer._tag) {
      case "Whole":
        readings.push({ place, reading: answer.reading })
        counts[isReaderAsked && counts.own === 0 && (reader ?? place) === place ? "own" : "same"] += 1
        break
      case "Branch":
        counts.branch += 1
        break
      case "Other":
        counts.other += 1
        break
      case "Nothing":
        if (isExpectedToAnswer(pool(), place, yield* Clock.currentTimeMillis)) counts.pending += 1
    }
    if (!isThorough && counts.same > 0 && counts.own + counts.same + counts.branch > counts.other) break
  }
  return {
    agreement: corroborationOf({ ...counts, isRead: readings.length > 0 }),
    readings,
    hasAllAnswers: readings.length === endpoints.length
  } satisfies AskedAgain<Reading>
})

/** Transfers as one endpoint shows them. */
export interface ShownTransfers {
  /** Epoch seconds of their block. */
  readonly time: number
  readonly transfers: ReadonlyArray<ObservedTransfer>
}

/** What `ChainDriver.corroborate` answers where each reading is the transfers that an endpoint shows. */
export const toCorroboration = (
  { agreement, hasAllAnswers, readings }: AskedAgain<ShownTransfers>
): Corroboration =>
  agreement === "Disagreed" || agreement === "Unavailable" ? { _tag: agreement } : {
    _tag: agreement,
    time: readings[0]!.reading.time,
    readings: readings.map(({ reading }) => reading.transfers),
    hasAllAnswers
  }
