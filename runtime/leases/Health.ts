/** Whether the work that one instance at a time does is done by any, for health and metrics. */
import { Effect, Layer, Metric } from "effect"
import { Leases, type LeaseTerm } from "../Leases.ts"
import { Health } from "../Telemetry.ts"
import type { Finding } from "../telemetry/HealthReport.ts"

/** Terms without a renewal after which somebody should look: another instance takes over within two. */
export const staleTerms = 3

const age = Metric.gauge("lease_age_seconds", {
  description: "Since a holder was last seen to renew the lease, here or elsewhere; its work stands once this is past its term"
})
const term = Metric.gauge("lease_term_seconds", { description: "How long the lease lasts without being renewed" })
const held = Metric.gauge("lease_held", { description: "1 where this instance does the work" })

/** What is wrong with leases. Pure. */
export const judgeLeases = (terms: ReadonlyArray<LeaseTerm>): ReadonlyArray<Finding> =>
  terms.filter(({ ageMillis, ttlMillis }) => ageMillis > staleTerms * ttlMillis).map(({ ageMillis, name }): Finding => ({
    effect: "degraded",
    message: `No instance was seen to do "${name}" for ${Math.round(ageMillis / 1000)} s: look in the log for the lease `
      + "of that name, and whether the database answers."
  }))

/** Tells health how the leases are. */
export const healthLayer: Layer.Layer<never, never, Health | Leases> = Layer.effectDiscard(Effect.gen(function*() {
  const leases = yield* Leases
  yield* (yield* Health).register({
    check: "leases",
    look: Effect.gen(function*() {
      const terms = yield* leases.terms
      yield* Effect.forEach(terms, ({ ageMillis, isHeldHere, name, ttlMillis }) =>
        Effect.all([
          Metric.update(Metric.withAttributes(age, { name }), Math.round(ageMillis) / 1000),
          Metric.update(Metric.withAttributes(term, { name }), ttlMillis / 1000),
          Metric.update(Metric.withAttributes(held, { name }), isHeldHere ? 1 : 0)
        ], { discard: true }), { discard: true })
      return judgeLeases(terms)
    })
  })
}))
