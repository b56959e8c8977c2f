/**
 * Windows in PostgreSQL: exact however many instances share it, in its own time, one round trip a call. While it does
 * not answer, an instance counts for itself, see {@link LocalWindows}; the calls it accepted then are recorded in the
 * database before the next call is counted there.
 */
import { Effect, Layer, Metric } from "effect"
import { SqlClient } from "effect/sql"
import { monotonicMillis } from "../Clock.ts"
import { Leases } from "../Leases.ts"
import { type RateLimitResult, RateLimits, windowMillis } from "../RateLimits.ts"
import { initializeSeries } from "../Telemetry.ts"
import { LocalWindows } from "./LocalWindows.ts"

/** A call does not wait longer for the database; then it is not asked for {@link pauseMillis}. */
const defaultTimeoutMillis = 500
const pauseMillis = 1_000

/** Callers over their limit that this instance remembers, so that their flood does not reach the database. */
const maximumRefused = 10_000

const failures = Metric.counter("rate_limit_store_failures_total", {
  description: "Calls that an instance counted alone because the database did not answer",
  incremental: true
})

/**
 * The stamps of the accepted calls, newest last, no more than the limit of them. The time is read after the row was
 * locked, so a row's stamps never go back; a stamp is later than the look that allowed it, so no window holds one call
 * too many. No row comes back where nothing was accepted.
 */
const takeSql = `
  INSERT INTO rate_windows AS w (name, who, stamps, used_at)
  VALUES ($1, $2, ARRAY[extract(epoch FROM clock_timestamp()) * 1000]::float8[], now())
  ON CONFLICT (name, who) DO UPDATE SET used_at = now(), stamps =
    w.stamps[greatest(1, cardinality(w.stamps) + 2 - $3::integer):]
      || (extract(epoch FROM clock_timestamp()) * 1000)::float8
  WHERE cardinality(w.stamps) < $3::integer
    OR w.stamps[cardinality(w.stamps) + 1 - $3::integer] < extract(epoch FROM clock_timestamp()) * 1000 - $4::float8
  RETURNING (SELECT count(*)::integer FROM unnest(w.stamps) AS s
      WHERE s >= w.stamps[cardinality(w.stamps)] - $4::float8) AS used,
    (SELECT min(s) FROM unnest(w.stamps) AS s WHERE s >= w.stamps[cardinality(w.stamps)] - $4::float8)
      + $4::float8 - w.stamps[cardinality(w.stamps)] AS reset`

/**
 * Adds calls that were accepted without the database, each $4 milliseconds ago, and keeps the newest `limit` stamps. If
 * its answer is lost it runs twice and counts them twice: then the window is too full for a while, never too empty.
 */
const recordSql = `
  INSERT INTO rate_windows AS w (name, who, stamps, used_at)
  VALUES ($1, $2, ARRAY(SELECT extract(epoch FROM clock_timestamp()) * 1000 - a FROM unnest($4::float8[]) a
    ORDER BY a DESC)::float8[], now())
  ON CONFLICT (name, who) DO UPDATE SET used_at = now(), stamps = ARRAY(
    SELECT s FROM (SELECT s FROM unnest(w.stamps || excluded.stamps) s ORDER BY s DESC LIMIT $3::integer) newest
    ORDER BY s)`

/** How long a refused caller waits: until the oldest of the last `limit` calls leaves the window. */
const waitSql = `
  SELECT stamps[cardinality(stamps) + 1 - $3::integer] + $4::float8 - extract(epoch FROM clock_timestamp()) * 1000 AS reset
  FROM rate_windows WHERE name = $1 AND who = $2`

const pruneSql = `DELETE FROM rate_windows WHERE used_at < now() - $1::float8 * interval '1 millisecond'`
/** It is done every minute; longer than ten is stuck. */
const pruneLeaseOptions = { role: "worker", ttlMillis: 30_000, passMillis: 600_000 } as const

interface Options {
  readonly span?: number
  readonly timeoutMillis?: number
}

const make = ({ timeoutMillis = defaultTimeoutMillis, span = windowMillis }: Options) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const refusedUntil = new Map<string, number>()
    const local = new LocalWindows(span)
    let pausedUntil = -Infinity

    const refuse = (key: string, now: number, resetMillis: number): RateLimitResult => {
      refusedUntil.delete(key)
      if (refusedUntil.size >= maximumRefused) refusedUntil.delete(refusedUntil.keys().next().value!)
      refusedUntil.set(key, now + resetMillis)
      return { accepted: false, remaining: 0, resetMillis }
    }

    const takeShared = Effect.fnUntraced(function*(name: string, who: string, limit: number) {
      const values = [name, who, limit, span]
      const key = `${name} ${who}`
      const startMillis = yield* monotonicMillis
      const unrecorded = local.unrecordedCalls(key, startMillis)
      if (unrecorded.length > 0) {
        yield* sql.unsafe(recordSql, [name, who, limit, unrecorded.map((at) => startMillis - at)])
        local.markRecorded(key, unrecorded, startMillis)
      }
      const [row] = yield* sql.unsafe<{ readonly used: number; readonly reset: number }>(takeSql, values)
      if (row !== undefined) {
        local.recordAnswer(key, row.used, yield* monotonicMillis)
        return { accepted: true, remaining: Math.max(0, limit - row.used), resetMillis: Number(row.reset) }
      }
      const [wait] = yield* sql.unsafe<{ readonly reset: number | null }>(waitSql, values)
      local.recordAnswer(key, limit, yield* monotonicMillis)
      // Counted from the answer: what it took to ask would else be missing from the wait that later callers are told.
      return refuse(key, yield* monotonicMillis, Math.max(0, Number(wait?.reset ?? 0)))
    })

    /** Counts a call in this instance alone. */
    const takeAlone = (key: string, limit: number) =>
      Effect.flatMap(monotonicMillis, (now) => Effect.as(Metric.update(failures, 1), local.take(key, limit, now)))

    const pause = (cause: unknown) =>
      Effect.flatMap(monotonicMillis, (now) => {
        pausedUntil = now + pauseMillis
        return Effect.logWarning("rate limits are counted by this instance alone until the database answers", cause)
      })

    const take = (name: string, who: string, limit: number): Effect.Effect<RateLimitResult> =>
      Effect.flatMap(monotonicMillis, (now) => {
        const until = refusedUntil.get(`${name} ${who}`)
        if (until !== undefined && now < until) {
          return Effect.succeed({ accepted: false, remaining: 0, resetMillis: until - now })
        }
        if (until !== undefined) refusedUntil.delete(`${name} ${who}`)
        const key = `${name} ${who}`
        if (now < pausedUntil) return takeAlone(key, limit)
        local.beginCall(key)
        return takeShared(name, who, limit).pipe(
          Effect.timeoutOrElse({ duration: timeoutMillis, orElse: () => Effect.fail("no answer in time" as const) }),
          Effect.ensuring(Effect.sync(() => local.endCall(key))),
          Effect.catch((cause) => Effect.andThen(pause(cause), takeAlone(key, limit)))
        )
      })

    const pruning = sql.unsafe(pruneSql, [2 * span]).pipe(
      Effect.catch((error) => Effect.logWarning("idle rate windows were not deleted", error)),
      Effect.andThen(Effect.sleep(span))
    )
    yield* initializeSeries(failures)
    const leases = yield* Leases
    yield* Effect.forkScoped(
      leases.hold("rate-windows-prune", pruneLeaseOptions, (_, progress) =>
        Effect.forever(Effect.andThen(progress, pruning)))
    )

    return RateLimits.of({ take })
  })

/** As {@link layer}, with a window, and a patience with the database, of a test's own. */
export const layerWith = (
  options: Options
): Layer.Layer<RateLimits, never, SqlClient.SqlClient | Leases> => Layer.effect(RateLimits, make(options))

/** For instances that share a database. */
export const layer: Layer.Layer<RateLimits, never, SqlClient.SqlClient | Leases> = layerWith({})
