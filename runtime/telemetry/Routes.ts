/** `/health/live`, `/health/ready` and `/metrics`, on both ports (modules/docs/reference/operations.md#health). */
import { Clock, Effect, Metric, Redacted } from "effect"
import { type HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { PrometheusMetrics } from "effect/observability"
import { publicError } from "../../schemas/Errors.ts"
import { RequestInfo } from "../Http.ts"
import { errorResponse } from "../http/ErrorResponses.ts"
import { bearerMatches } from "../rpc/Credential.ts"
import { Health, metricsPrefix } from "../Telemetry.ts"
import { initializeErrorSeries } from "./HttpMetrics.ts"

const ready = Metric.gauge("ready", { description: "1 while the service accepts requests" })
const memory = Metric.gauge("process_resident_memory_bytes", { description: "Memory of the process" })
const uptime = Metric.gauge("process_uptime_seconds", { description: "Seconds since the service was ready" })

const noStore = { "cache-control": "no-store" }

/** Prometheus text of all metrics; the ones that are measured and not counted are measured now. */
const scrape = (startedMillis: number) =>
  Effect.gen(function*() {
    // The report takes the measures of the queue, once a second at most however many ask.
    const report = yield* (yield* Health).report
    yield* Metric.update(ready, report.status === "unavailable" ? 0 : 1)
    yield* Metric.update(memory, process.memoryUsage.rss())
    yield* Metric.update(uptime, Math.round(((yield* Clock.currentTimeMillis) - startedMillis) / 1000))
    const body = yield* PrometheusMetrics.format({ prefix: metricsPrefix, metricNameMapper: withoutPrefix })
    return HttpServerResponse.text(body, {
      contentType: "text/plain; version=0.0.4; charset=utf-8",
      headers: noStore
    })
  })

/** A module that writes the prefix itself does not get it twice. */
const withoutPrefix = (name: string) =>
  name.startsWith(`${metricsPrefix}_`) ? name.slice(metricsPrefix.length + 1) : name

const live = HttpServerResponse.jsonUnsafe({ status: "ok" }, { headers: noStore })

const readiness = Effect.gen(function*() {
  const report = yield* (yield* Health).report
  return HttpServerResponse.jsonUnsafe(report, {
    status: report.status === "unavailable" ? 503 : 200,
    headers: report.status === "unavailable" ? { ...noStore, "retry-after": "1" } : noStore
  })
})

/** Told to whoever asks for metrics without the operator's credential. */
const refusal = publicError("UNAUTHORIZED", {
  message: "Send the operator's credential: Authorization: Bearer <ops.token>"
})

const unauthorized = Effect.map(
  RequestInfo,
  ({ requestId }) =>
    HttpServerResponse.setHeaders(errorResponse(refusal, "wrapped", requestId), {
      ...noStore,
      "www-authenticate": "Bearer realm=\"tillwire-ops\""
    })
)

/**
 * Mounts the three routes. `metrics` is open (the internal port, on loopback) or behind a bearer credential; with
 * `"closed"` it answers 401 to everyone.
 */
export const mount = Effect.fnUntraced(function*(
  router: HttpRouter.HttpRouter,
  metrics: "open" | "closed" | Redacted.Redacted
) {
  const health = yield* Health
  yield* initializeErrorSeries
  const started = yield* Clock.currentTimeMillis
  const isAllowed = (header: string | undefined) =>
    metrics === "open" || metrics !== "closed" && bearerMatches(header, metrics)
  const provide = Effect.provideService(Health, health)
  yield* router.add("GET", "/health/live", live)
  yield* router.add("GET", "/health/ready", provide(readiness))
  yield* router.add(
    "GET",
    "/metrics",
    Effect.flatMap(
      HttpServerRequest.HttpServerRequest,
      ({ headers }) => isAllowed(headers["authorization"]) ? provide(scrape(started)) : unauthorized
    )
  )
})
