/** Counts and times of requests by route pattern and status: never by path, which would hold ids. */
import { type Context, Metric } from "effect"
import type { HttpRouter } from "effect/http"
import { initializeSeries } from "../Telemetry.ts"

/** Upper bounds in seconds: from a cached read to the longest a handler may take. */
const boundaries = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

const serverErrors = Metric.counter("http_server_errors_total", {
  description: "Requests answered 500 or above, by status: those of every route",
  incremental: true
})

/** Statuses there are always series for, so that an alert on them can fire at the first one. */
export const initializeErrorSeries = initializeSeries(serverErrors, ["500", "503"].map((status) => ({ status })))

/** The series of a route, made once: routes times statuses, so bounded by the code. */
interface RouteSeries {
  readonly route: string
  readonly durations: Metric.Histogram<number>
  readonly requests: Map<number, Metric.Counter<number>>
}

const seriesOfLabels = new Map<string, RouteSeries>()
/** The series of the method that a route is written for: almost every request's, found without making its label. */
const seriesOfRoutes = new WeakMap<HttpRouter.Route<unknown, unknown>, RouteSeries>()

const seriesOf = (method: string, route: HttpRouter.Route<unknown, unknown> | undefined): RouteSeries => {
  if (route === undefined || route.method !== method) return seriesOfLabel(method, route)
  const before = seriesOfRoutes.get(route)
  if (before !== undefined) return before
  const series = seriesOfLabel(method, route)
  seriesOfRoutes.set(route, series)
  return series
}

const seriesOfLabel = (method: string, route: HttpRouter.Route<unknown, unknown> | undefined): RouteSeries => {
  const label = route === undefined ? "unknown" : `${method} ${route.path}`
  const before = seriesOfLabels.get(label)
  if (before !== undefined) return before
  const series: RouteSeries = {
    route: label,
    durations: Metric.histogram("http_request_duration_seconds", {
      description: "Seconds from a request's head to its answer's",
      boundaries,
      attributes: { route: label }
    }),
    requests: new Map()
  }
  seriesOfLabels.set(label, series)
  return series
}

const requestsOf = ({ requests, route }: RouteSeries, status: number): Metric.Counter<number> => {
  const before = requests.get(status)
  if (before !== undefined) return before
  const counter = Metric.counter("http_requests_total", {
    description: "Requests answered, and those whose caller had gone before, which have the status 499",
    incremental: true,
    attributes: { route, status: String(status) }
  })
  requests.set(status, counter)
  return counter
}

/** Counts a request; `route` is undefined where the router has none. */
export const countRequest = (
  context: Context.Context<never>,
  method: string,
  route: HttpRouter.Route<unknown, unknown> | undefined,
  status: number,
  seconds: number
): void => {
  const series = seriesOf(method, route)
  requestsOf(series, status).updateUnsafe(1, context)
  series.durations.updateUnsafe(seconds, context)
  if (status >= 500) {
    Metric.withAttributes(serverErrors, { status: String(status) }).updateUnsafe(1, context)
  }
}

/** Counts an answer to what is no whole request: nobody knows how long it took. */
export const countParseError = (context: Context.Context<never>, status: number): void =>
  requestsOf(seriesOfLabel("", undefined), status).updateUnsafe(1, context)
