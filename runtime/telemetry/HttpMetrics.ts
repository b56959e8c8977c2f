/** Counts and times of requests by route pattern and status: never by path, which would hold ids. */
import { Clock, Context, Effect, Metric } from "effect"
import { HttpRouter, HttpServerRequest, type HttpServerResponse } from "effect/http"
import { initializeSeries } from "../Telemetry.ts"

/** Upper bounds in seconds: from a cached read to the longest a handler may take. */
const boundaries = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

const requests = Metric.counter("http_requests_total", { description: "Requests answered", incremental: true })

const durations = Metric.histogram("http_request_duration_seconds", {
  description: "Seconds from a request's head to its answer's",
  boundaries
})

const serverErrors = Metric.counter("http_server_errors_total", {
  description: "Requests answered 500 or above, by status: those of every route",
  incremental: true
})

/** Statuses there are always series for, so that an alert on them can fire at the first one. */
export const initializeErrorSeries = initializeSeries(serverErrors, ["500", "503"].map((status) => ({ status })))

/** The route pattern of the request being served, found by {@link recordRoute}, read by {@link measure}. */
class MatchedRoute extends Context.Reference<{ pattern: string | undefined }>(
  "tillwire/runtime/telemetry/MatchedRoute",
  { defaultValue: () => ({ pattern: undefined }) }
) {}

type App = Effect.Effect<HttpServerResponse.HttpServerResponse, unknown, never>

/** One series each, made once: routes times statuses, so bounded by the code. */
const counters = new Map<string, Metric.Counter<number>>()
const histograms = new Map<string, Metric.Histogram<number>>()

const seriesOf = <A>(known: Map<string, A>, key: string, make: () => A): A => {
  const found = known.get(key) ?? make()
  known.set(key, found)
  return found
}

const observe = (route: string, status: string, seconds: number) => {
  const counter = seriesOf(counters, `${status} ${route}`, () => Metric.withAttributes(requests, { route, status }))
  const histogram = seriesOf(histograms, route, () => Metric.withAttributes(durations, { route }))
  const counted = Effect.andThen(Metric.update(counter, 1), Metric.update(histogram, seconds))
  if (status < "500") return counted
  return Effect.andThen(counted, Metric.update(Metric.withAttributes(serverErrors, { status }), 1))
}

/** The outermost global middleware: add it first. */
export const measure = (app: App): App =>
  Effect.gen(function*() {
    const matchedRoute: { pattern: string | undefined } = { pattern: undefined }
    const startNanos = yield* Clock.currentTimeNanos
    const response = yield* Effect.provideService(app, MatchedRoute, matchedRoute)
    const seconds = Number(yield* Clock.currentTimeNanos) / 1e9 - Number(startNanos) / 1e9
    const { method } = yield* Effect.service(HttpServerRequest.HttpServerRequest) as unknown as Effect.Effect<
      HttpServerRequest.HttpServerRequest
    >
    const route = matchedRoute.pattern === undefined ? "unknown" : `${method} ${matchedRoute.pattern}`
    yield* observe(route, String(response.status), seconds)
    return response
  })

/** The innermost global middleware: add it last. The router leaves its match in the fiber's context. */
export const recordRoute = (app: App): App =>
  Effect.onExit(app, () =>
    Effect.withFiber((fiber) => {
      const match = Context.getOrUndefined(fiber.context, HttpRouter.RouteContext)
      if (match !== undefined) fiber.getRef(MatchedRoute).pattern = match.route.path
      return Effect.void
    }))
