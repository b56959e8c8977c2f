/**
 * What the service says about itself. `telemetry/` holds logs without secrets, metrics by route, and the routes probes
 * and scrapers ask. A module counts with `Metric` of effect; the name gets its prefix when it is read.
 */
import { Context, Effect, Metric, type Scope } from "effect"
import type { CheckName, Finding, HealthReport } from "./telemetry/HealthReport.ts"

/** Every metric's name starts with it (modules/docs/reference/operations.md#health). */
export const metricsPrefix = "tillwire"

/**
 * Makes the series of a counter or a gauge exist at 0 before it is first counted or measured, for each of `labels`: an
 * alert on a series that does not exist never fires. A series that exists already keeps its value.
 */
export const initializeSeries = <State extends Metric.CounterState<number> | Metric.GaugeState<number>>(
  metric: Metric.Metric<number, State>,
  labels: ReadonlyArray<Readonly<Record<string, string>>> = [{}]
): Effect.Effect<void> =>
  Effect.forEach(labels, (each) => Metric.modify(Metric.withAttributes(metric, each), 0), { discard: true })

/** A check that health runs for each report and scrape. */
export interface HealthCheck {
  /** Null: it only updates metrics. */
  readonly name: CheckName | null
  /**
   * Updates its metrics and answers what is wrong. Runs once a second at most, so it must be cheap: from memory, or one
   * small query. A check that fails, or takes longer than `databaseTimeoutMillis` (`telemetry/HealthReport.ts`), counts
   * as passed and is logged.
   */
  readonly run: Effect.Effect<ReadonlyArray<Finding>>
}

/** The service's own view of its health: asked by probes, told of migrations and of a stop. */
export class Health extends Context.Service<Health, {
  /** At most a second old. */
  readonly report: Effect.Effect<HealthReport>
  /** Adds a check to every report and scrape, for as long as the scope lives. */
  readonly register: (check: HealthCheck) => Effect.Effect<void, never, Scope.Scope>
  /** Every table is at this build's version. */
  readonly markMigrated: Effect.Effect<void>
  /** A stop was asked for: from now on the report is `unavailable`. */
  readonly markStopping: Effect.Effect<void>
}>()("tillwire/runtime/Health") {}
