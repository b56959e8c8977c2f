/**
 * What waits in the webhook queue waits in the database's time: retries, breakers, and what was queued and not sent.
 * Where that clock is set back by an hour, all of it would wait an hour more. One instance compares the clock with its
 * own monotonic one, and moves what waits by as much as the clock was moved.
 */
import { Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { monotonicMillis } from "../Clock.ts"
import { Leases } from "../Leases.ts"
import { inBatches } from "../Retention.ts"

/** How often the clocks are compared: so late a step is found. */
const comparePauseMillis = 5_000

/** Milliseconds that the database's clock may be behind: the answer was on its way, and clocks are slewed. */
const toleranceMillis = 2_000

const leaseMillis = 30_000

/** Longer than the rows of a large queue take to move. */
const passMillis = 600_000

/** Rows that one statement moves. */
const rowsPerStatement = 1_000

/** Both clocks at one moment. */
export interface ClockReading {
  readonly databaseMillis: number
  readonly ownMillis: number
}

/** By how many milliseconds the database's clock was set back between two readings; 0 where it was not. Pure. */
export const stepBackOf = (before: ClockReading, now: ClockReading): number => {
  const behindMillis = before.databaseMillis + now.ownMillis - before.ownMillis - now.databaseMillis
  return behindMillis > toleranceMillis ? Math.round(behindMillis) : 0
}

/**
 * Makes everything that waits for a time due earlier by so much, but not before now; answers how many rows. Rows are
 * locked in the order in which results are written. Pages of the rows of an endpoint follow its due times, and what was
 * moved is behind them.
 */
export const moveWaiting = (stepMillis: number): Effect.Effect<number, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const step = sql`${stepMillis}::float8 * interval '1 millisecond'`
    const endpoints = yield* sql<{ readonly m: number; readonly e: string }>`
      SELECT merchant_id AS m, id AS e FROM webhook_endpoints ORDER BY merchant_id, id`
    let moved = 0
    for (const { e, m } of endpoints) {
      let after = "-infinity"
      moved += yield* inBatches(
        sql<{ readonly last: string | null; readonly rows: number }>`
          WITH page AS MATERIALIZED (
            SELECT d.id, d.due_at FROM webhook_deliveries d
            WHERE d.merchant_id = ${m}::integer AND d.endpoint_id = ${e}
              AND d.due_at > greatest(now(), ${after}::timestamptz)
            ORDER BY d.due_at LIMIT ${rowsPerStatement}
          ), locked AS MATERIALIZED (
            SELECT d.id FROM webhook_deliveries d
            WHERE d.merchant_id = ${m}::integer AND d.id IN (SELECT id FROM page) ORDER BY d.id FOR UPDATE
          ), moved AS (
            UPDATE webhook_deliveries d SET due_at = greatest(now(), d.due_at - ${step})
            FROM locked l WHERE d.merchant_id = ${m}::integer AND d.id = l.id AND d.due_at IS NOT NULL RETURNING 1
          )
          SELECT (SELECT max(due_at)::text FROM page) AS last, (SELECT count(*)::int FROM page) AS rows`.pipe(
          Effect.map(([page]) => {
            after = page!.last ?? after
            return page!.rows
          })
        ),
        rowsPerStatement
      )
    }
    yield* sql`
      WITH c AS MATERIALIZED (
        SELECT merchant_id, endpoint_id FROM webhook_lanes WHERE open_until > now() OR judged_from > now()
        ORDER BY merchant_id, endpoint_id FOR UPDATE
      )
      UPDATE webhook_lanes l SET open_until = CASE WHEN l.open_until > now() THEN greatest(now(), l.open_until - ${step})
          ELSE l.open_until END,
        judged_from = least(l.judged_from, now())
      FROM c WHERE l.merchant_id = c.merchant_id AND l.endpoint_id = c.endpoint_id`
    return moved
  })

/** Compares for ever. */
const compareClocks = (progress: Effect.Effect<void>) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const read = Effect.gen(function*() {
      const [row] = yield* sql<{ readonly millis: number }>`
        SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS millis`
      return { databaseMillis: row!.millis, ownMillis: yield* monotonicMillis }
    })
    let before: ClockReading | undefined
    return yield* Effect.forever(
      Effect.gen(function*() {
        yield* progress
        const now = yield* read
        const stepMillis = before === undefined ? 0 : stepBackOf(before, now)
        if (stepMillis > 0) {
          yield* Effect.logWarning("The clock of the database was set back: what waits in the webhook queue is moved", {
            seconds: Math.round(stepMillis / 1_000)
          })
          const deliveries = yield* moveWaiting(stepMillis)
          yield* Effect.logInfo("What waited in the webhook queue was moved", { deliveries })
        }
        // A step that could not be handled is found again.
        before = now
      }).pipe(
        Effect.catchCause((cause) => Effect.logWarning("The clock of the database was not compared", cause)),
        Effect.andThen(Effect.sleep(comparePauseMillis))
      )
    )
  })

/** On one instance at a time, for as long as the service runs. */
export const layer: Layer.Layer<never, never, SqlClient.SqlClient | Leases> = Layer.effectDiscard(
  Effect.gen(function*() {
    const leases = yield* Leases
    yield* Effect.forkScoped(
      leases.hold(
        "webhooks-clock",
        { role: "worker", ttlMillis: leaseMillis, passMillis },
        (_, progress) => compareClocks(progress)
      )
    )
  })
)
