/**
 * One request and its answer, by undici's dispatch: its promises and streams carry what an answer of a few bytes never
 * needs.
 */
import { Effect } from "effect"
import type { Dispatcher, Pool } from "undici"
import { type DeliveryAnswer, type DeliveryRequest, TransportFailed } from "../../../runtime/Webhooks.ts"
import {
  AnswerTooLong,
  failureOf,
  keptAnswerBytes,
  maximumAnswerBytes,
  maximumInterimAnswers,
  storableText,
  TooManyInterimAnswers
} from "./Answer.ts"

const retryAfterOf = (headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>): string | null => {
  const value = headers["retry-after"]
  return typeof value === "string" ? value : null
}

/** The pool of an origin, and how many requests it carries. */
export interface PoolEntry {
  readonly pool: Pool
  usedAt: number
  activeRequests: number
}

/** A request: of a delivery where it has a body, of a page where it has none. */
export interface ExchangeRequest extends Pick<DeliveryRequest, "headers" | "timeoutMillis"> {
  readonly body: string | null
}

/**
 * Posts, or gets where there is no body, and reads the answer to its end, or to the limit: then a success is none, and
 * any other answer is cut. All of it has `timeoutMillis`, from the wait for a connection to the last byte. Interrupted,
 * the connection is cut.
 */
export const exchange = (
  entry: PoolEntry,
  url: URL,
  request: ExchangeRequest
): Effect.Effect<DeliveryAnswer, TransportFailed> =>
  Effect.callback<DeliveryAnswer, TransportFailed>((resume) => {
    let controller: Dispatcher.DispatchController | undefined
    let isDone = false
    let interim = 0
    let status = 0
    let retryAfter: string | null = null
    let bytes = 0
    const bodyChunks: Array<Buffer> = []

    const end = (): void => {
      isDone = true
      clearTimeout(deadline)
      entry.activeRequests--
    }
    const stop = (reason: Error): void => {
      if (!isDone) end()
      controller?.abort(reason)
    }
    const fail = (failure: TransportFailed): void => {
      if (isDone) return
      stop(failure)
      resume(Effect.fail(failure))
    }
    const answer = (): void => {
      if (isDone) return
      end()
      resume(Effect.succeed({ status, retryAfter, body: bytes === 0 ? "" : storableText(Buffer.concat(bodyChunks)) }))
    }
    const deadline = setTimeout(
      () =>
        fail(
          new TransportFailed({ reason: `no answer in ${request.timeoutMillis} ms`, isOurFault: false, timedOut: true })
        ),
      request.timeoutMillis
    )

    entry.activeRequests++
    entry.pool.dispatch({
      method: request.body === null ? "GET" : "POST",
      path: `${url.pathname}${url.search}`,
      headers: request.headers,
      body: request.body,
      // The deadline above holds for both.
      headersTimeout: 0,
      bodyTimeout: 0
    }, {
      onRequestStart: (requestController) => {
        controller = requestController
        if (isDone) requestController.abort(new Error("too late"))
      },
      onResponseStart: (_, code, headers) => {
        if (code < 200) {
          interim++
          if (interim > maximumInterimAnswers) fail(failureOf(new TooManyInterimAnswers()))
          return
        }
        status = code
        retryAfter = retryAfterOf(headers)
      },
      onResponseData: (_, chunk) => {
        if (bytes < keptAnswerBytes) bodyChunks.push(chunk.subarray(0, keptAnswerBytes - bytes))
        bytes += chunk.length
        if (bytes <= maximumAnswerBytes || isDone) return
        if (status < 300) return fail(failureOf(new AnswerTooLong()))
        answer()
        controller?.abort(new AnswerTooLong())
      },
      onResponseEnd: answer,
      onResponseError: (_, error) => fail(failureOf(error))
    })
    return Effect.sync(() => stop(new Error("interrupted")))
  })
