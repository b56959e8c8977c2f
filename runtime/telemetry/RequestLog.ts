/**
 * An entry of the log for each answered request: the pattern of its route, never its path or query, which hold ids,
 * session tokens and sign-in tokens.
 */
import type { SettingsValue } from "../Settings.ts"
import { loggedId, type WriteEntry } from "./LineWriter.ts"

/** What an entry tells of a request. */
export interface AnsweredRequest {
  readonly method: string
  /** As `/api/v1/invoices/:id`; null: no route took the request. */
  readonly route: string | null
  readonly status: number
  /** From the headers of the request to those of its answer. */
  readonly seconds: number
  readonly requestId: string
  /** Null: no credential of a merchant was found good. */
  readonly merchantId: number | null
}

export type RequestLog = (request: AnsweredRequest) => void

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
  requests === "none" || write === null ? () => {} : ({ merchantId, method, requestId, route, seconds, status }) => {
    const isFailed = status >= leastFailedStatus
    if (!isFailed && (requests === "failed" || status < leastRefusedStatus && probeRoutes.has(route))) return
    write("request", {
      method,
      route,
      status,
      ms: Math.round(seconds * 1_000_000) / 1_000,
      request_id: loggedId(requestId),
      merchant_id: merchantId
    })
  }
