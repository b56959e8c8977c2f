/** One delivery to a receiver on this machine, as the service would send it: to the exact URL, following nothing. */
import { Effect } from "effect"
import { request as requestHttp } from "node:http"
import { request as requestHttps } from "node:https"

/** How a delivery ended: with a status, or without one because nobody could be reached or no answer came in time. */
export type ForwardResult =
  | { readonly _tag: "Answered"; readonly status: number; readonly millis: number }
  | { readonly _tag: "Unreachable"; readonly reason: string; readonly millis: number }
  | { readonly _tag: "TimedOut"; readonly reason: string; readonly millis: number }

/** Milliseconds that a receiver may take: as long as the service waits. */
export const answerTimeoutMillis = 10_000

export interface Receiver {
  readonly url: string
  /** Whether a certificate that nobody vouches for is taken. */
  readonly isTlsUnchecked: boolean
}

/** Sends `body` with `headers`. Never fails: what went wrong is the result. */
export const forward = (
  { isTlsUnchecked, url }: Receiver,
  headers: Readonly<Record<string, string>>,
  body: string
): Effect.Effect<ForwardResult> =>
  Effect.callback<ForwardResult>((resume, signal) => {
    const start = performance.now()
    const millis = () => Math.round(performance.now() - start)
    const send = url.startsWith("https:") ? requestHttps : requestHttp
    const request = send(url, {
      method: "POST",
      agent: false,
      signal,
      headers: { ...headers, "content-length": String(Buffer.byteLength(body)) },
      ...(url.startsWith("https:") ? { rejectUnauthorized: !isTlsUnchecked } : {})
    }, (response) => {
      response.resume()
      response.once("close", () =>
        resume(Effect.succeed({ _tag: "Answered", status: response.statusCode ?? 0, millis: millis() })))
    })
    request.on("error", (error: NodeJS.ErrnoException) =>
      resume(Effect.succeed({ _tag: "Unreachable", reason: error.code ?? error.message, millis: millis() })))
    request.end(body)
  }).pipe(
    // Not the socket's own timeout, which a receiver that sends a byte now and then never reaches.
    Effect.timeoutOrElse({
      duration: answerTimeoutMillis,
      orElse: () =>
        Effect.succeed<ForwardResult>({
          _tag: "TimedOut",
          reason: `no answer in ${answerTimeoutMillis / 1000} s`,
          millis: answerTimeoutMillis
        })
    })
  )
