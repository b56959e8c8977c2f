/** Whether what is due is done, for health and metrics. */
import { Clock, Context, Effect, Layer, Metric } from "effect"
import { Health } from "../Telemetry.ts"
import type { Finding } from "../telemetry/HealthReport.ts"

/** When the earliest row of a source is due; null: it has none. */
export interface DueTime {
  readonly name: string
  readonly dueMillis: number | null
}

/** The sources that are registered in this process, and how late they are. */
export class DueTimes extends Context.Service<DueTimes, {
  /** One small query for each source. */
  readonly read: Effect.Effect<ReadonlyArray<DueTime>>
}>()("tillwire/runtime/timers/DueTimes") {}

/** Milliseconds a row may be overdue before somebody should look: another instance takes over within two terms, 30 s. */
export const staleDueMillis = 60_000

const overdue = Metric.gauge("timer_overdue_seconds", {
  description: "How long the oldest row of the source is due and not done; 0: none is"
})

/** What is wrong at `nowMillis`. Pure. */
export const judgeDue = (times: ReadonlyArray<DueTime>, nowMillis: number): ReadonlyArray<Finding> =>
  times.flatMap(({ dueMillis, name }): ReadonlyArray<Finding> => {
    const late = dueMillis === null ? 0 : nowMillis - dueMillis
    return late <= staleDueMillis ? [] : [{
      effect: "degraded",
      message: `Work of "${name}" is due for ${Math.round(late / 1000)} s and not done: look in the log for runs of it that fail.`
    }]
  })

/** Tells health how late the sources are. */
export const healthLayer: Layer.Layer<never, never, Health | DueTimes> = Layer.effectDiscard(Effect.gen(function*() {
  const due = yield* DueTimes
  yield* (yield* Health).register({
    check: "timers",
    look: Effect.gen(function*() {
      const times = yield* due.read
      const now = yield* Clock.currentTimeMillis
      yield* Effect.forEach(times, ({ dueMillis, name }) =>
        Metric.update(
          Metric.withAttributes(overdue, { name }),
          dueMillis === null ? 0 : Math.max(0, Math.round((now - dueMillis) / 1000))
        ), { discard: true })
      return judgeDue(times, now)
    })
  })
}))
