/**
 * What the service says about itself. `telemetry/` holds logs without secrets, metrics by route, and the routes probes
 * and scrapers ask. A module counts with `Metric` of effect; the name gets its prefix when it is read.
 */
import { Context, Effect, Metric, type Scope } from "effect"
import type { Finding, HealthReport, PartName } from "./telemetry/HealthReport.ts"

/** Every metric's name starts with it (API reference, "Operations"). */
export const metricsPrefix = "tillwire"

/**
 * Makes series exist before anything happens: an alert on a series that is not there never fires. One call for all label
 * sets; each stays what it is where it was counted already. A gauge is set to what it is.
 */
export const fromZero = (
  metric: Metric.Counter<number>,
  labels: ReadonlyArray<Readonly<Record<string, string>>> = [{}]
): Effect.Effect<void> =>
  Effect.forEach(labels, (each) => Metric.modify(Metric.withAttributes(metric, each), 0), { discard: true })

/** Something whose state is asked for, not counted. */
export interface HealthPart {
  /** Null: it only measures. */
  readonly check: PartName | null
  /**
   * Updates its metrics and says what is wrong. Asked once a second at most, however many ask; cheap: from memory, or one
   * small query. Longer than {@link databasePatienceMillis} or a failure counts as nothing found, and is logged.
   */
  readonly look: Effect.Effect<ReadonlyArray<Finding>>
}

/** The service's own view of its health: asked by probes, told of migrations and of a stop. */
export class Health extends Context.Service<Health, {
  /** At most a second old. */
  readonly report: Effect.Effect<HealthReport>
  /** Adds a part to every report and scrape, for as long as the scope lives. */
  readonly register: (part: HealthPart) => Effect.Effect<void, never, Scope.Scope>
  /** Every table is at this build's version. */
  readonly migrated: Effect.Effect<void>
  /** A stop was asked for: from now on the report is `unavailable`. */
  readonly stopping: Effect.Effect<void>
}>()("tillwire/runtime/Health") {}
