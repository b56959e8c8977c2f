/** `/health/live`, `/health/ready` and `/metrics`, on both ports (modules/docs/reference/operations.md#health). */
import { Clock, Effect, Metric, Redacted } from "effect"
import { type HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { PrometheusMetrics } from "effect/observability"
import { publicError } from "../../schemas/Errors.ts"
import { RequestInfo } from "../Http.ts"
import { errorResponse } from "../http/ErrorResponses.ts"
import { bearerMatches } from "../rpc/Credential.ts"
import { Settings } from "../Settings.ts"
import { Health, metricsPrefix } from "../Telemetry.ts"
import type { HealthReport } from "./HealthReport.ts"
import { initializeErrorSeries } from "./HttpMetrics.ts"
import { makeProcessMetrics } from "./ProcessMetrics.ts"

const ready = Metric.gauge("ready", { description: "1 while the service accepts requests" })
const memory = Metric.gauge("process_resident_memory_bytes", { description: "Memory of the process" })
const uptime = Metric.gauge("process_uptime_seconds", { description: "Seconds since the service was ready" })

const noStore = { "cache-control": "no-store" }

/** What the routes answer with. */
export interface OpsAnswers {
  readonly report: Effect.Effect<HealthReport>
  /** Prometheus text of all metrics. */
  readonly metrics: Effect.Effect<string>
}

/** What a process answers by itself. */
export interface OwnAnswers extends OpsAnswers {
  /** Measures what is not counted, for whoever reads the metrics next. */
  readonly measure: Effect.Effect<void>
}

/** Report and metrics of this process alone. What is measured and not counted is measured when it is asked for. */
export const ownAnswers: Effect.Effect<OwnAnswers, never, Health | Settings> = Effect.gen(function*() {
  const { report } = yield* Health
  const measureProcess = makeProcessMetrics((yield* Settings).dataDirectory)
  yield* initializeErrorSeries
  const startedMillis = yield* Clock.currentTimeMillis
  const measure = Effect.gen(function*() {
    // The report takes the measures of the queue, once a second at most however many ask.
    const { status } = yield* report
    yield* Metric.update(ready, status === "unavailable" ? 0 : 1)
    yield* Metric.update(memory, process.memoryUsage.rss())
    yield* measureProcess
    yield* Metric.update(uptime, Math.round(((yield* Clock.currentTimeMillis) - startedMillis) / 1000))
  })
  const metrics = Effect.andThen(
    measure,
    PrometheusMetrics.format({ prefix: metricsPrefix, metricNameMapper: withoutPrefix })
  )
  return { report, metrics, measure }
})

const scrape = (metrics: Effect.Effect<string>) =>
  Effect.map(metrics, (body) =>
    HttpServerResponse.text(body, {
      contentType: "text/plain; version=0.0.4; charset=utf-8",
      headers: noStore
    }))

/** A module that writes the prefix itself does not get it twice. */
const withoutPrefix = (name: string) =>
  name.startsWith(`${metricsPrefix}_`) ? name.slice(metricsPrefix.length + 1) : name

const live = HttpServerResponse.jsonUnsafe({ status: "ok" }, { headers: noStore })

const readinessOf = (report: HealthReport) =>
  HttpServerResponse.jsonUnsafe(report, {
    status: report.status === "unavailable" ? 503 : 200,
    headers: report.status === "unavailable" ? { ...noStore, "retry-after": "1" } : noStore
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
 * Mounts the three routes. Metrics are open (the internal port, on loopback) or behind a bearer credential; with
 * `"closed"` it answers 401 to everyone.
 */
export const mount = Effect.fnUntraced(function*(
  router: HttpRouter.HttpRouter,
  metricsAccess: "open" | "closed" | Redacted.Redacted,
  { metrics, report }: OpsAnswers
) {
  const isAllowed = (header: string | undefined) =>
    metricsAccess === "open" || metricsAccess !== "closed" && bearerMatches(header, metricsAccess)
  yield* router.add("GET", "/health/live", live)
  yield* router.add("GET", "/health/ready", Effect.map(report, readinessOf))
  yield* router.add(
    "GET",
    "/metrics",
    Effect.flatMap(
      HttpServerRequest.HttpServerRequest,
      ({ headers }) => isAllowed(headers["authorization"]) ? scrape(metrics) : unauthorized
    )
  )
})
