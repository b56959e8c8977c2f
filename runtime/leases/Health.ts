/** Whether some instance holds each lease, for health and metrics. */
import { Effect, Layer, Metric } from "effect"
import { Leases, type LeaseStatus } from "../Leases.ts"
import { Health } from "../Telemetry.ts"
import type { Finding } from "../telemetry/HealthReport.ts"

/** Terms without a renewal after which health degrades: another instance takes over within two. */
export const staleTerms = 3

const ageGauge = Metric.gauge("lease_age_seconds", {
  description: "Seconds since any instance was seen to renew the lease; above lease_term_seconds nobody does its work"
})
const termGauge = Metric.gauge("lease_term_seconds", { description: "Seconds the lease lasts without being renewed" })
const heldGauge = Metric.gauge("lease_held", { description: "1 where this instance holds the lease, else 0" })

/** Leases that nobody renews. Pure. */
export const leaseFindings = (statuses: ReadonlyArray<LeaseStatus>): ReadonlyArray<Finding> =>
  statuses.filter(({ ageMillis, ttlMillis }) => ageMillis > staleTerms * ttlMillis).map((
    { ageMillis, name }
  ): Finding => ({
    effect: "degraded",
    message: `No instance was seen to do "${name}" for ${Math.round(ageMillis / 1000)} s: look in the log for that `
      + "name, and check that the database answers."
  }))

/** Registers the health check of the leases. */
export const healthLayer: Layer.Layer<never, never, Health | Leases> = Layer.effectDiscard(Effect.gen(function*() {
  const leases = yield* Leases
  yield* (yield* Health).register({
    name: "leases",
    run: Effect.gen(function*() {
      const statuses = yield* leases.statuses
      yield* Effect.forEach(statuses, ({ ageMillis, isHeldHere, name, ttlMillis }) =>
        Effect.all([
          Metric.update(Metric.withAttributes(ageGauge, { name }), Math.round(ageMillis) / 1000),
          Metric.update(Metric.withAttributes(termGauge, { name }), ttlMillis / 1000),
          Metric.update(Metric.withAttributes(heldGauge, { name }), isHeldHere ? 1 : 0)
        ], { discard: true }), { discard: true })
      return leaseFindings(statuses)
    })
  })
}))
