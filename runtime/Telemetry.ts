/**
 * What the service says about itself. `telemetry/` holds logs without secrets, metrics by route, and the routes probes
 * and scrapers ask. A module counts with `Metric` of effect; the name gets its prefix when it is read.
 */
import { Context, type Effect } from "effect"
import type { HealthReport } from "./telemetry/HealthReport.ts"

/** Every metric's name starts with it (API reference, "Operations"). */
export const metricsPrefix = "tillwire"

/** The service's own view of its health: asked by probes, told of migrations and of a stop. */
export class Health extends Context.Service<Health, {
  /** At most a second old. */
  readonly report: Effect.Effect<HealthReport>
  /** Every table is at this build's version. */
  readonly migrated: Effect.Effect<void>
  /** A stop was asked for: from now on the report is `unavailable`. */
  readonly stopping: Effect.Effect<void>
}>()("tillwire/runtime/Health") {}
