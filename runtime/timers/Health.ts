/** Whether the timers' due rows are done in time, for health and metrics. */
import { Clock, Context, Effect, Layer, Metric } from "effect"
import { Health } from "../Telemetry.ts"
import type { Finding } from "../telemetry/HealthReport.ts"

/** When the earliest row of a source is due; null: it has none. */
export interface DueTime {
  readonly name: string
  readonly dueMillis: number | null
}

/** When the sources that are registered in this process are due. */
export class DueTimes extends Context.Service<DueTimes, {
  /** One small query for each source. */
  readonly read: Effect.Effect<ReadonlyArray<DueTime>>
}>()("tillwire/runtime/timers/DueTimes") {}

/**
 * Milliseconds a row may be overdue before health degrades: another instance takes over within two lease terms, 30 s.
 */
export const staleDueMillis = 60_000

const overdueGauge = Metric.gauge("timer_overdue_seconds", {
  description: "Seconds for which the oldest row of the source is overdue; 0: none is"
})

/** Sources that are late at `nowMillis`. Pure. */
export const timerFindings = (times: ReadonlyArray<DueTime>, nowMillis: number): ReadonlyArray<Finding> =>
  times.flatMap(({ dueMillis, name }): ReadonlyArray<Finding> => {
    const late = dueMillis === null ? 0 : nowMillis - dueMillis
    return late <= staleDueMillis ? [] : [{
      effect: "degraded",
      message: `Work of "${name}" is ${Math.round(late / 1000)} s overdue: look in the log for runs of it that fail.`
    }]
  })

/** Registers the health check of the timers. */
export const healthLayer: Layer.Layer<never, never, Health | DueTimes> = Layer.effectDiscard(Effect.gen(function*() {
  const dueTimes = yield* DueTimes
  yield* (yield* Health).register({
    name: "timers",
    run: Effect.gen(function*() {
      const times = yield* dueTimes.read
      const now = yield* Clock.currentTimeMillis
      yield* Effect.forEach(times, ({ dueMillis, name }) =>
        Metric.update(
          Metric.withAttributes(overdueGauge, { name }),
          dueMillis === null ? 0 : Math.max(0, Math.round((now - dueMillis) / 1000))
        ), { discard: true })
      return timerFindings(times, now)
    })
  })
}))
