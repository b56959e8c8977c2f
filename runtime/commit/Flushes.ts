/** How the last flushes of the commit log ended, kept in memory: health reads it without a query while all is well. */
import { Context, Effect, Layer, Metric } from "effect"
import { SqlClient } from "effect/sql"
import { machineMillis } from "../Clock.ts"
import { Health, initializeSeries } from "../Telemetry.ts"
import type { Finding } from "../telemetry/HealthReport.ts"

/** The last flushes of this instance. Times are milliseconds of the machine's clock; null: never. */
export interface FlushHistory {
  readonly failures: number
  readonly failedAtMillis: number | null
  readonly storedAtMillis: number | null
  /** Whether the last failure was the server saying that it cannot store anything, for example with a full disk. */
  readonly isServerFault: boolean
}

export const noFlushes: FlushHistory = { failures: 0, failedAtMillis: null, storedAtMillis: null, isServerFault: false }

/**
 * Classes of SQLSTATE in which the server says that it cannot store anything now: out of disk, memory or connections;
 * the system under it failed; its files are damaged.
 */
const serverFaults: ReadonlySet<string> = new Set(["53", "58", "XX"])

/** The history after a flush that was stored. */
export const recordSuccess = (before: FlushHistory, nowMillis: number): FlushHistory => ({
  ...before,
  storedAtMillis: nowMillis
})
/** The history after a flush that failed with the SQLSTATE `state`; undefined: the server did not answer. */
export const recordFailure = (before: FlushHistory, nowMillis: number, state: string | undefined): FlushHistory => ({
  ...before,
  failures: before.failures + 1,
  failedAtMillis: nowMillis,
  isServerFault: state !== undefined && serverFaults.has(state.slice(0, 2))
})

/**
 * Milliseconds for which a server that said it cannot store counts as unable, even if the trial row is stored: a small
 * row may still find room where the next invoice does not. Twice the 5 s between probes of a load balancer.
 */
export const serverFaultMillis = 10_000

/** Milliseconds the trial row may take: less than a health check may, so that its outcome is in the report. */
export const trialTimeoutMillis = 1_500

/**
 * Whether a trial row must be written to find out if this instance can write: only after a failed flush without a
 * stored one since. A healthy or idle instance writes none.
 */
export const needsTrial = ({ failedAtMillis, storedAtMillis }: FlushHistory): boolean =>
  failedAtMillis !== null && (storedAtMillis === null || storedAtMillis < failedAtMillis)

const advice =
  "Look for \"A flush failed\" in the log. Usual causes: a full disk, a database that is down, a session that "
  + "holds locks."

/**
 * What is wrong with writing at `nowMillis`. `isTrialStored`: whether the trial row was stored; null: none was needed.
 * A failure is over once a later flush or a trial row was stored; after a server fault, only {@link serverFaultMillis}
 * later. Pure.
 */
export const writeFindings = (
  flushes: FlushHistory,
  isTrialStored: boolean | null,
  nowMillis: number
): ReadonlyArray<Finding> => {
  if (flushes.failedAtMillis === null) return []
  const ageMillis = nowMillis - flushes.failedAtMillis
  const isRecentServerFault = flushes.isServerFault && ageMillis < serverFaultMillis
  const seconds = Math.round(ageMillis / 1000)
  if (needsTrial(flushes) && (isTrialStored !== true || isRecentServerFault)) {
    return [{
      effect: "unavailable",
      message: `Nothing was stored since a flush failed ${seconds} s ago: calls that change something fail. ${advice}`
    }]
  }
  return isRecentServerFault
    ? [{ effect: "degraded", message: `The database refused to store ${seconds} s ago and stores again. ${advice}` }]
    : []
}

export class FlushLog extends Context.Service<FlushLog, {
  readonly read: Effect.Effect<FlushHistory>
}>()("tillwire/runtime/commit/FlushLog") {}

const failures = Metric.counter("commit_flush_failures_total", {
  description: "Flushes of the commit log that were not stored",
  incremental: true
})
const sinceFailure = Metric.gauge("commit_last_failed_flush_age_seconds", {
  description: "Seconds since the last flush that was not stored; -1: there was none"
})
const writable = Metric.gauge("commit_writable", { description: "1 while commits are stored, else 0" })

/** Bytes of the trial row: as many as an invoice with its events, and random, so that they cannot be compressed. */
const trialBytes = 8_192

/** Registers the health check that tells whether this instance can write. */
export const healthLayer: Layer.Layer<never, never, Health | FlushLog | SqlClient.SqlClient> = Layer.effectDiscard(
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const log = yield* FlushLog
    const now = yield* machineMillis
    let reportedFailures = 0
    yield* initializeSeries(failures)
    yield* Metric.update(sinceFailure, -1)
    yield* Metric.update(writable, 1)
    /** One row that all instances overwrite: an instance that waits for another's write waits for the same answer. */
    const trial = sql`INSERT INTO trial_writes (id, written_at, filler)
        SELECT 1, now(), string_agg(sha256(gen_random_uuid()::text::bytea), '') FROM generate_series(1, ${
      trialBytes / 32
    })
        ON CONFLICT (id) DO UPDATE SET written_at = excluded.written_at, filler = excluded.filler`.pipe(
      Effect.timeout(trialTimeoutMillis),
      Effect.as(true),
      Effect.catchCause((cause) =>
        Effect.as(
          Effect.logWarning("the trial row was not stored: this instance reports that it cannot write", cause),
          false
        )
      )
    )
    yield* (yield* Health).register({
      name: "writes",
      run: Effect.gen(function*() {
        const flushes = yield* log.read
        const isTrialStored = needsTrial(flushes) ? yield* trial : null
        const findings = writeFindings(flushes, isTrialStored, now())
        yield* Metric.update(failures, flushes.failures - reportedFailures)
        reportedFailures = flushes.failures
        yield* Metric.update(
          sinceFailure,
          flushes.failedAtMillis === null ? -1 : Math.round((now() - flushes.failedAtMillis) / 1000)
        )
        yield* Metric.update(writable, findings.some(({ effect }) => effect === "unavailable") ? 0 : 1)
        return findings
      })
    })
  })
)
