/** How the commit log's flushes ended, kept in memory: whether this instance can write is known without asking. */
import { Context, Effect, Layer, Metric } from "effect"
import { SqlClient } from "effect/sql"
import { fromZero, Health } from "../Telemetry.ts"
import type { Finding } from "../telemetry/HealthReport.ts"

/** The newest flushes of this instance. Times are milliseconds of `performance.now()`; null: never. */
export interface Flushes {
  readonly failures: number
  readonly failedAt: number | null
  readonly storedAt: number | null
  /** Of the last failure: the server said that it cannot store anything now, as with a full disk. */
  readonly isServerFault: boolean
}

export const noFlushes: Flushes = { failures: 0, failedAt: null, storedAt: null, isServerFault: false }

/**
 * Classes of SQLSTATE in which the server says that it cannot store anything now: out of disk, memory or connections;
 * the system under it failed; its files are damaged.
 */
const serverFaults: ReadonlySet<string> = new Set(["53", "58", "XX"])

/** The flushes after one that was stored, or failed with `state`, the server's SQLSTATE; undefined: it said nothing. */
export const stored = (before: Flushes, nowMillis: number): Flushes => ({ ...before, storedAt: nowMillis })
export const failed = (before: Flushes, nowMillis: number, state: string | undefined): Flushes => ({
  ...before,
  failures: before.failures + 1,
  failedAt: nowMillis,
  isServerFault: state !== undefined && serverFaults.has(state.slice(0, 2))
})

/**
 * How long a server that said it cannot store is believed, in milliseconds: a small row may still find room where the
 * next invoice does not. Two looks of the slowest usual probe.
 */
export const serverFaultMillis = 10_000

/** Milliseconds the trial row may take: half of what a flush may, so that the answer still finds its caller. */
export const trialPatienceMillis = 1_500

/**
 * Whether a trial row has to be written to know more: the last flush failed. Nobody who is well, or idle, writes one.
 */
export const needsTrial = ({ failedAt, storedAt }: Flushes): boolean =>
  failedAt !== null && (storedAt === null || storedAt < failedAt)

const advice = "Look for \"A flush failed\" in the log; a full disk, a database that is down or a statement that holds locks are usual."

/**
 * What is wrong with writing at `nowMillis`; `isTrialStored` is how a trial ended where one was needed. Pure. A failure is
 * over once a later flush was stored, or a trial row, but for a server that said that it cannot store: it is believed for
 * {@link serverFaultMillis}.
 */
export const judgeWrites = (flushes: Flushes, isTrialStored: boolean | null, nowMillis: number): ReadonlyArray<Finding> => {
  if (flushes.failedAt === null) return []
  const ago = nowMillis - flushes.failedAt
  const isBelieved = flushes.isServerFault && ago < serverFaultMillis
  const seconds = Math.round(ago / 1000)
  if (needsTrial(flushes) && (isTrialStored !== true || isBelieved)) {
    return [{
      effect: "unavailable",
      message: `What was written ${seconds} s ago was not stored, and nothing since: calls that change something fail. ${advice}`
    }]
  }
  return isBelieved
    ? [{ effect: "degraded", message: `The database refused to store ${seconds} s ago and stores again. ${advice}` }]
    : []
}

export class FlushLog extends Context.Service<FlushLog, {
  readonly read: Effect.Effect<Flushes>
}>()("tillwire/runtime/commit/FlushLog") {}

const failures = Metric.counter("commit_flush_failures_total", {
  description: "Flushes of the commit log that were not stored",
  incremental: true
})
const sinceFailure = Metric.gauge("commit_last_failed_flush_age_seconds", {
  description: "Since the last flush that was not stored; -1: there was none"
})
const writable = Metric.gauge("commit_writable", { description: "1 while what is written is stored" })

/** Bytes of the trial row: random, so that the server has to find room for them, as for an invoice and its events. */
const trialBytes = 8_192

/** Tells health whether this instance can write. */
export const healthLayer: Layer.Layer<never, never, Health | FlushLog | SqlClient.SqlClient> = Layer.effectDiscard(
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const log = yield* FlushLog
    // Flushes are timed by the real clock, whatever clock the rest of the service runs under.
    const now = () => performance.now()
    let shown = 0
    yield* fromZero(failures)
    yield* Metric.update(sinceFailure, -1)
    yield* Metric.update(writable, 1)
    /** One row for all instances, written over: who waits for another's is waiting for the same answer. */
    const trial = sql`INSERT INTO trial_writes (id, written_at, filler)
        SELECT 1, now(), string_agg(sha256(gen_random_uuid()::text::bytea), '') FROM generate_series(1, ${trialBytes / 32})
        ON CONFLICT (id) DO UPDATE SET written_at = excluded.written_at, filler = excluded.filler`.pipe(
      Effect.timeout(trialPatienceMillis),
      Effect.as(true),
      Effect.catchCause((cause) => Effect.as(Effect.logWarning("the trial row was not stored", cause), false))
    )
    yield* (yield* Health).register({
      check: "writes",
      look: Effect.gen(function*() {
        const flushes = yield* log.read
        const isTrialStored = needsTrial(flushes) ? yield* trial : null
        const findings = judgeWrites(flushes, isTrialStored, now())
        yield* Metric.update(failures, flushes.failures - shown)
        shown = flushes.failures
        yield* Metric.update(sinceFailure, flushes.failedAt === null ? -1 : Math.round((now() - flushes.failedAt) / 1000))
        yield* Metric.update(writable, findings.some(({ effect }) => effect === "unavailable") ? 0 : 1)
        return findings
      })
    })
  })
)
