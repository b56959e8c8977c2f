/**
 * Who may join a stream, how much of the past it is sent, and when it ends by what happened elsewhere: the invoice
 * reached its end, the credential was revoked, the database does not answer. Pure.
 */
import type { Audience } from "./Connection.ts"
import type { FilterInput } from "./Filters.ts"
import { type CloseReason, closeReasons } from "./Frames.ts"

/** Sockets per payment session and per key, on one instance (modules/docs/reference/websockets.md#limits). */
export const maximumPerSession = 5
export const maximumPerKey = 20

/**
 * Events a replay on the payor's stream holds at most, and how old they may be
 * (modules/docs/reference/websockets.md#replay).
 */
export const maximumReplay = 1_000
export const maximumReplayMillis = 86_400_000

/**
 * Events a replay on a merchant's stream passes over at most, shown or filtered out
 * (modules/docs/reference/websockets.md#replay).
 */
export const maximumEventReplay = 10_000

/** How long listeners stay after the invoice reached its end (modules/docs/reference/websockets.md#endings). */
export const terminalMillis = 60_000

/**
 * How long the database may be asked in vain before payors' streams end: with a second between looks, well below the 10
 * s of modules/docs/reference/websockets.md#endings.
 */
export const maximumStaleMillis = 5_000

/**
 * Of them, so many in a second: each asks for the state at once, and the database may only be slow
 * (modules/docs/reference/websockets.md#endings).
 */
export const maximumStaleEnds = 1_000

/** Why a listener may not join when its holder has `openCount` streams already; undefined: it may. */
export const joinRefusal = ({ stream }: Pick<Audience, "stream">, openCount: number): CloseReason | undefined => {
  if (stream === "payment") return openCount >= maximumPerSession ? closeReasons.tooManyOfSession : undefined
  return openCount >= maximumPerKey ? closeReasons.tooManyOfKey : undefined
}

/** Statuses that end the payor's part; late money on an expired invoice is seen by whoever asks again. */
const terminalStatuses: ReadonlySet<string> = new Set(["paid", "expired", "canceled"])

/** Whether the event leaves the invoice at its end; undefined when it does not tell. */
export const isTerminal = ({ event, object }: Pick<FilterInput, "event" | "object">): boolean | undefined =>
  event.type.startsWith("invoice.") ? terminalStatuses.has(String(object()["status"])) : undefined

/**
 * When a payor's stream ends by its invoice, after an event that leaves the invoice at its end or not: the first end
 * counts, and an invoice that goes on takes it back.
 */
export const closeTimeAfter = (
  closeAtMillis: number | null,
  terminal: boolean | undefined,
  nowMillis: number
): number | null => {
  if (terminal === undefined) return closeAtMillis
  return terminal ? closeAtMillis ?? nowMillis + terminalMillis : null
}

/** How the streams of a key or session end with it: after an end that is not certain, the client may come back. */
export const credentialEnding = (credentialId: string, how: "ended" | "unknown"): CloseReason => {
  if (how === "unknown") return closeReasons.restart
  return credentialId.startsWith("key_") ? closeReasons.keyEnded : closeReasons.sessionEnded
}
