/** Batches that wait because endpoints contradict each other about what paid them, for health. */
import { Cause, Clock, Effect } from "effect"
import { DriverError } from "../../../runtime/Chains.ts"
import type { HealthCheck } from "../../../runtime/Telemetry.ts"
import type { DueBatch } from "../repo.ts"

/** Batches kept, at most: whoever corrects an endpoint for some of them does so for all. */
const maximumBatches = 100

/**
 * Milliseconds for which a contradiction is reported. A batch that waits is searched for every 15 s by any instance, so
 * another one may have searched since: an old result expires.
 */
const reportMillis = 150_000

/** What this instance has found when it last looked for each batch. */
export interface Contradictions {
  /** After a look: the reason of its failure, or null where it went well. */
  readonly record: (batch: DueBatch, failure: Cause.Cause<unknown> | null) => Effect.Effect<void>
  readonly check: HealthCheck
}

const reasonOf = (failure: Cause.Cause<unknown> | null): string | null => {
  const error = failure === null ? null : Cause.squash(failure)
  return error instanceof DriverError && error.kind === "contradiction" ? error.reason : null
}

export const makeContradictions = (): Contradictions => {
  const reasons = new Map<string, { readonly network: string; readonly reason: string; readonly at: number }>()
  return {
    record: ({ id, network }, failure) =>
      Effect.map(Clock.currentTimeMillis, (at) => {
        const reason = reasonOf(failure)
        reasons.delete(id)
        if (reason !== null && reasons.size < maximumBatches) reasons.set(id, { network, reason, at })
      }),
    check: {
      name: "networks",
      run: Effect.map(Clock.currentTimeMillis, (now) => {
        for (const [id, { at }] of reasons) if (now - at > reportMillis) reasons.delete(id)
        // Health is public, so it does not say whose batch waits: the log does.
        return [...new Set([...reasons.values()].map(({ network, reason }) => `on ${network} ${reason}`))].map((
          found
        ) => ({
          effect: "degraded" as const,
          message: `A batch waits, and nothing of it counts as paid or as unpaid: ${found}.`
        }))
      })
    }
  }
}
