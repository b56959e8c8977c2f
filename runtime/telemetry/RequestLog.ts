/**
 * An entry of the log for each request: the pattern of its route, never its path or query, which hold ids,
 * session tokens and sign-in tokens.
 */
import type { SettingsValue } from "../Settings.ts"
import { loggedId, type WriteEntry } from "./LineWriter.ts"

/**
 * The status of a request whose caller has gone before its answer was made: nobody was sent one. nginx and others call
 * it so.
 */
export const abandonedStatus = 499

/** What an entry tells of a request. */
export interface LoggedRequest {
  /** Null: what came does not begin with a request. */
  readonly method: string | null
  /** As `/api/v1/invoices/:id`; null: no route took the request. */
  readonly route: string | null
  /** {@link abandonedStatus}: no answer was sent. */
  readonly status: number
  /** Of the answer that nobody was there for: the work was done. Undefined: there is none. */
  readonly unsentStatus?: number | undefined
  /** From the headers of the request to those of its answer; null: its headers were never whole. */
  readonly seconds: number | null
  readonly requestId: string
  /** Null: no credential of a merchant was found good. */
  readonly merchantId: number | null
}

export type RequestLog = (request: LoggedRequest) => void

/**
 * What machines ask every few seconds. Answered well, it has no entry, which would bury the others; the metrics count
 * it.
 */
const probeRoutes: ReadonlySet<string | null> = new Set(["/health/live", "/health/ready", "/metrics"])

/** Statuses from which on a request counts as failed: below, it is its sender's fault. */
const leastFailedStatus = 500

/** Statuses from which on an answer is a refusal. */
const leastRefusedStatus = 400

/** `requests`: which of them have an entry, as in `telemetry.requests` of the config. `write` null: none has. */
export const makeRequestLog = (
  requests: SettingsValue["telemetry"]["requests"],
  write: WriteEntry | null
): RequestLog =>
  requests === "none" || write === null ?
    () => {} :
    ({ merchantId, method, requestId, route, seconds, status, unsentStatus }) => {
      const isFailed = status >= leastFailedStatus
      if (!isFailed && (requests === "failed" || status < leastRefusedStatus && probeRoutes.has(route))) return
      write("request", {
        method,
        route,
        status,
        unsent_status: unsentStatus,
        ms: seconds === null ? null : Math.round(seconds * 1_000_000) / 1_000,
        request_id: loggedId(requestId),
        merchant_id: merchantId
      })
    }
