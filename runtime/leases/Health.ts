/** Whether some instance holds each lease, for health and metrics. */
import { Effect, Layer, Metric } from "effect"
import { Leases, type LeaseStatus } from "../Leases.ts"
import { Health } from "../Telemetry.ts"
import type { Finding } from "../telemetry/HealthReport.ts"
import { unownedGauge } from "./Division.ts"

/** Terms without a renewal after which health degrades: another instance takes over within two. */
export const staleTerms = 3

/** Limits of a pass without progress after which health degrades: meanwhile the work was begun anew and passed on. */
export const stalePasses = 3

const ageGauge = Metric.gauge("lease_age_seconds", {
  description: "Seconds since any instance was seen to renew the lease; above lease_term_seconds nobody does its work"
})
const termGauge = Metric.gauge("lease_term_seconds", { description: "Seconds the lease lasts without being renewed" })
const progressGauge = Metric.gauge("work_progress_seconds", {
  description: "Seconds since the work was seen to make progress, on any instance; above work_limit_seconds it is stuck"
})
const limitGauge = Metric.gauge("work_limit_seconds", { description: "Seconds that a pass of the work may take" })
const heldGauge = Metric.gauge("lease_held", { description: "1 where this instance holds the lease, else 0" })

/** Leases that nobody renews, and work that somebody holds and that makes no progress. Pure. */
export const leaseFindings = (statuses: ReadonlyArray<LeaseStatus>): ReadonlyArray<Finding> =>
  statuses.flatMap(({ ageMillis, name, passMillis, progressAgeMillis, ttlMillis }): ReadonlyArray<Finding> => {
    if (ageMillis > staleTerms * ttlMillis) {
      return [{
        effect: "degraded",
        message: `No instance was seen to do "${name}" for ${Math.round(ageMillis / 1000)} s: look in the log for that `
          + "name, check that the database answers, and in a cluster that some instance has the role."
      }]
    }
    return progressAgeMillis <= stalePasses * passMillis ? [] : [{
      effect: "degraded",
      message: `"${name}" made no progress for ${Math.round(progressAgeMillis / 1000)} s, although it was begun anew: `
        + "look in the log for that name."
    }]
  })

/** Registers the health check of the leases. */
export const healthLayer: Layer.Layer<never, never, Health | Leases> = Layer.effectDiscard(Effect.gen(function*() {
  const leases = yield* Leases
  // Without a cluster it stays at 0, so that its alert has a series to look at.
  yield* Metric.update(unownedGauge, 0)
  yield* (yield* Health).register({
    name: "leases",
    run: Effect.gen(function*() {
      const statuses = yield* leases.statuses
      yield* Effect.forEach(
        statuses,
        ({ ageMillis, isHeldHere, name, passMillis, progressAgeMillis, ttlMillis }) =>
          Effect.all([
            Metric.update(Metric.withAttributes(ageGauge, { name }), Math.round(ageMillis) / 1000),
            Metric.update(Metric.withAttributes(termGauge, { name }), ttlMillis / 1000),
            Metric.update(Metric.withAttributes(progressGauge, { name }), Math.round(progressAgeMillis) / 1000),
            Metric.update(Metric.withAttributes(limitGauge, { name }), passMillis / 1000),
            Metric.update(Metric.withAttributes(heldGauge, { name }), isHeldHere ? 1 : 0)
          ], { discard: true }),
        { discard: true }
      )
      return [...leaseFindings(statuses), ...(yield* leases.findings)]
    })
  })
}))
