/**
 * Sends the metrics of `/metrics` to the collector, under the same names. Effect makes the snapshot; when it is made,
 * and how long a call may take, is decided here, because Effect's exporter waits and retries as long as a collector
 * likes (modules/docs/reference/operations.md#traces).
 */
import { Effect, Layer, MutableRef, Schedule, type Scope } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import { OtlpExporter, OtlpMetrics, OtlpSerialization } from "effect/observability"
import { Settings } from "../Settings.ts"
import { metricsPrefix } from "../Telemetry.ts"
import { callCollector, stopMillis } from "./SpanExporter.ts"
import { resourceOf, signalUrl } from "./Traces.ts"

/** Milliseconds between two calls with all metrics. */
export const exportMillis = 60_000

/** As `/metrics` names it: with the prefix once. */
export const exportedName = (name: string): string =>
  name.startsWith(`${metricsPrefix}_`) ? name : `${metricsPrefix}_${name}`

/** Encodes metrics under their names with the prefix. */
const serialization: Layer.Layer<OtlpSerialization.OtlpSerialization> = Layer.effect(
  OtlpSerialization.OtlpSerialization,
  Effect.map(OtlpSerialization.OtlpSerialization, (plain) => ({
    ...plain,
    metrics: ({ resourceMetrics }) =>
      plain.metrics({
        resourceMetrics: resourceMetrics.map((resource) => ({
          ...resource,
          scopeMetrics: resource.scopeMetrics.map((scope) => ({
            ...scope,
            metrics: scope.metrics.map((metric) => ({ ...metric, name: exportedName(metric.name) }))
          }))
        }))
      })
  }))
).pipe(Layer.provide(OtlpSerialization.layerProtobuf))

/** A client for Effect's exporter that asks once, within the limits of a call, and says itself what went wrong. */
const makeLimitedClient = (client: HttpClient.HttpClient): HttpClient.HttpClient => {
  const wasTaken = MutableRef.make(true)
  return HttpClient.make((request) =>
    Effect.gen(function*() {
      const outcome = yield* callCollector(client, request)
      if (outcome === "taken") MutableRef.set(wasTaken, true)
      else if (MutableRef.getAndSet(wasTaken, false)) {
        yield* Effect.logWarning(
          "The collector of telemetry.otlp.url takes no metrics; the next ones hold what these did. Check that the "
            + "collector runs, its URL and telemetry.otlp.headers",
          { outcome }
        )
      }
      return HttpClientResponse.fromWeb(request, new Response(null, { status: 200 }))
    })
  )
}

/** Sends all metrics each minute, and once more at the end; `measure` takes what is measured and not counted. */
export const exportMetrics = Effect.fnUntraced(function*(
  measure: Effect.Effect<void>
): Effect.fn.Return<void, never, HttpClient.HttpClient | Scope.Scope | Settings> {
  const { instanceId, telemetry: { otlp } } = yield* Settings
  if (otlp?.metrics !== true) return
  const client = yield* HttpClient.HttpClient
  const context = yield* Layer.build(Layer.merge(OtlpExporter.layerFlusher, serialization))
  yield* Effect.gen(function*() {
    yield* OtlpMetrics.make({
      url: signalUrl(otlp.url, "metrics"),
      headers: otlp.headers,
      resource: resourceOf(instanceId),
      // The loop below asks for it: Effect's own would not measure first.
      exportInterval: "1 day",
      shutdownTimeout: stopMillis
    })
    const { flush } = yield* OtlpExporter.Flusher
    yield* Effect.andThen(measure, flush).pipe(
      Effect.repeat(Schedule.spaced(exportMillis)),
      Effect.forkScoped
    )
  }).pipe(
    Effect.provideContext(context),
    Effect.provideService(HttpClient.HttpClient, makeLimitedClient(client))
  )
})
