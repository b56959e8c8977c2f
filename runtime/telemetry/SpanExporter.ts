/**
 * Sends spans to a collector over OTLP/HTTP, beside the work they tell of. Effect's own exporter is not used: it waits
 * for a collector as long as the collector likes, on as many calls as there are batches, and keeps all of them in
 * memory. Here one call is under way, everything has a limit, and a collector that is away costs the spans that do not
 * fit and nothing else (modules/docs/reference/operations.md#traces).
 */
import { Effect, Latch, Metric, Schema, type Scope } from "effect"
import { HttpBody, HttpClient, HttpClientRequest } from "effect/http"
import { readBytes } from "../http/ResponseText.ts"
import { initializeSeries } from "../Telemetry.ts"
import type { EndedSpan } from "./Spans.ts"

/** Spans that wait, at most; what comes then is dropped and counted. About 1 KiB each. */
export const maximumWaitingSpans = 4_096

/** Spans of one call, at most: writing them takes a millisecond (measured), for which nothing else is done. */
export const maximumBatch = 512

/** Milliseconds that a span waits for others to go with it, at most. */
export const gatherMillis = 2_000

/** Milliseconds that a call may take. */
export const callMillis = 10_000

/** Bytes of an answer that are read, at most. */
const maximumAnswerBytes = 65_536

/** Calls with the same spans, at most: one that the collector never takes must not hold up the others. */
export const maximumTries = 5

/** Milliseconds between calls that fail: doubled from the first to the longest, whatever `Retry-After` says. */
const firstPauseMillis = 1_000
const longestPauseMillis = 60_000

/** Milliseconds that a stop waits for the last spans to go; the whole process has 10 s. */
export const stopMillis = 1_000

const dropped = Metric.counter("otlp_spans_dropped_total", {
  description: "Spans that were not delivered, by why: no room to wait, or refused by the collector",
  incremental: true
})
const full = Metric.withAttributes(dropped, { reason: "full" })
const refused = Metric.withAttributes(dropped, { reason: "refused" })

const delivered = Metric.counter("otlp_spans_delivered_total", {
  description: "Spans that the collector took",
  incremental: true
})

/** What became of a call. */
export type CallOutcome = "taken" | "refused" | "failed"

/** What a status says: 408, 429 and 5xx pass, any other refusal comes again (OTLP specification, "Failures"). */
export const outcomeOfStatus = (status: number): CallOutcome =>
  status >= 200 && status < 300 ? "taken" : status === 408 || status === 429 || status >= 500 ? "failed" : "refused"

/** Milliseconds until the next call after `failures` that failed in a row. */
export const pauseMillis = (failures: number): number =>
  Math.min(firstPauseMillis * 2 ** Math.max(0, failures - 1), longestPauseMillis)

/** Where spans go. */
export interface Collector {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** The body of a call with these spans, in Protocol Buffers. */
  readonly encode: (spans: ReadonlyArray<EndedSpan>) => Uint8Array
}

/** Takes a span that has ended: never waits and never fails. */
export type PushSpan = (span: EndedSpan) => void

class AnswerTooLarge extends Schema.TaggedError<AnswerTooLarge>()("AnswerTooLarge", {}) {}

/** Asks a collector once to take something. What it answers is not kept, and no failure tells where it is. */
export const callCollector = (
  client: HttpClient.HttpClient,
  request: HttpClientRequest.HttpClientRequest
): Effect.Effect<CallOutcome> =>
  client.execute(request).pipe(
    Effect.flatMap((response) =>
      Effect.as(readBytes(response, maximumAnswerBytes, () => new AnswerTooLarge()), outcomeOfStatus(response.status))
    ),
    Effect.timeoutOrElse({ duration: callMillis, orElse: () => Effect.succeed<CallOutcome>("failed") }),
    Effect.catchCause(() => Effect.succeed<CallOutcome>("failed")),
    Effect.scoped
  )

/** Sends what is pushed for as long as the scope lives, and what waits at its end within {@link stopMillis}. */
export const makeSpanExporter = Effect.fnUntraced(function*(
  collector: Collector
): Effect.fn.Return<PushSpan, never, HttpClient.HttpClient | Scope.Scope> {
  const client = yield* HttpClient.HttpClient
  const services = yield* Effect.context<never>()
  const waiting: Array<EndedSpan> = []
  const isBatchFull = yield* Latch.make()
  let tries = 0
  yield* initializeSeries(dropped, [{ reason: "full" }, { reason: "refused" }])
  yield* initializeSeries(delivered)

  /** Sends the oldest spans, and forgets them unless they are to be sent again. */
  const sendBatch = Effect.gen(function*() {
    const batch = waiting.slice(0, maximumBatch)
    const request = HttpClientRequest.post(collector.url, { headers: collector.headers })
    const body = HttpBody.uint8Array(collector.encode(batch), "application/x-protobuf")
    const outcome = yield* callCollector(client, HttpClientRequest.setBody(request, body))
    if (outcome === "failed") {
      tries += 1
      if (tries === 1) {
        yield* Effect.logWarning(
          "The collector of telemetry.otlp.url takes no spans. They wait, and what finds no room is dropped: "
            + "payments are not affected. Check that the collector runs and its URL"
        )
      }
      if (tries < maximumTries) return
    } else if (outcome === "refused") {
      yield* Effect.logWarning(
        "The collector of telemetry.otlp.url refuses spans, which are dropped: check its URL, and telemetry.otlp.headers"
      )
    } else if (tries > 0) yield* Effect.logInfo("The collector of telemetry.otlp.url takes spans again")
    waiting.splice(0, batch.length)
    if (outcome === "taken") {
      tries = 0
      yield* Metric.update(delivered, batch.length)
    } else yield* Metric.update(refused, batch.length)
  })

  const work = Effect.gen(function*() {
    while (true) {
      if (tries > 0) yield* Effect.sleep(pauseMillis(tries))
      else yield* Effect.timeoutOption(isBatchFull.await, gatherMillis)
      isBatchFull.closeUnsafe()
      if (waiting.length > 0) yield* sendBatch
      if (waiting.length >= maximumBatch) isBatchFull.openUnsafe()
    }
  })

  // Runs after the worker was interrupted, which was forked later. A collector that is away is not waited for.
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() =>
      tries > 0
        ? Effect.void
        : Effect.whileLoop({ while: () => waiting.length > 0 && tries === 0, body: () => sendBatch, step: () => {} })
    ).pipe(Effect.interruptible, Effect.timeoutOption(stopMillis))
  )
  yield* Effect.forkScoped(work)

  return (span) => {
    if (waiting.length >= maximumWaitingSpans) return void full.updateUnsafe(1, services)
    waiting.push(span)
    if (waiting.length >= maximumBatch) isBatchFull.openUnsafe()
  }
})
