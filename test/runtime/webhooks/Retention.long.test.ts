/**
 * Goal: what nobody takes fails after 72 hours and says why, attempts go after 30 days, and nothing else does.
 * Method: rows written as old as a test needs them, in numbers that take more than one batch.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { expiredError, expireOnce, pruneAttemptsOnce } from "../../../runtime/webhooks/Retention.ts"
import { databaseLayer } from "../../support/Database.ts"

const empty = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`TRUNCATE webhook_lanes, webhook_attempts, webhook_deliveries`
)

/** A lane whose breaker is open until a moment, seconds from now; null: closed. */
const lane = (endpoint: string, openUntil: number | null, heldUntil = "-infinity") =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) =>
      sql`INSERT INTO webhook_lanes (merchant_id, endpoint_id, health, open_until, held_until) VALUES (1, ${endpoint}, 'failing',
      now() + ${openUntil}::float8 * interval '1 second', ${heldUntil}::timestamptz)`
  )

/** `count` deliveries queued so many hours ago, of events as old or older. */
const waiting = (endpoint: string, hours: number, count = 1, { eventHours = hours, attempt = 0 } = {}) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) =>
      sql`INSERT INTO webhook_deliveries (merchant_id, endpoint_id, event_ms, event_seq, status, attempt, due_at, created_at,
        last_status)
      SELECT 1, ${endpoint}, floor(extract(epoch FROM now()) * 1000)::bigint - (${eventHours}::float8 * 3600000)::bigint, n,
        ${
        attempt === 0 ? "pending" : "retrying"
      }, ${attempt}::integer, now(), now() - ${hours}::float8 * interval '1 hour',
        ${attempt === 0 ? null : 503}::integer
      FROM generate_series(1, ${count}::integer) n`
  )

const statuses = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) =>
    sql<{ endpoint_id: string; status: string; count: number }>`
    SELECT endpoint_id, status, count(*)::integer AS count FROM webhook_deliveries GROUP BY 1, 2 ORDER BY 1, 2`
).pipe(
  Effect.map((rows) => rows.map(({ count, endpoint_id, status }) => `${endpoint_id} ${status} ${count}`))
)

layer(databaseLayer, { excludeTestServices: true })("retention", (it) => {
  const promise = (name: string, body: Effect.Effect<unknown, unknown, SqlClient.SqlClient>) =>
    it.effect(name, () => Effect.andThen(empty, body))

  promise(
    "fails a delivery behind a breaker 72 hours after it was queued, and says why; what is younger, or has another lane, waits on",
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* lane("open", 600)
      yield* lane("probing", -1)
      yield* lane("closed", null)
      yield* lane("held", 600, "infinity")
      yield* waiting("open", 72.1, 2_500)
      yield* waiting("open", 71.9, 3)
      // Sent again by hand an hour ago: it was queued then, however old its event is.
      yield* waiting("open", 1, 2, { eventHours: 100 })
      yield* waiting("probing", 80, 1, { attempt: 2 })
      yield* waiting("closed", 80)
      yield* waiting("held", 80)
      yield* waiting("no lane", 80)
      assert.strictEqual(yield* expireOnce, 2_501)
      assert.deepStrictEqual(yield* statuses, [
        "closed pending 1",
        "held pending 1",
        "no lane pending 1",
        "open failed 2500",
        "open pending 5",
        "probing failed 1"
      ])
      const [failed] = yield* sql`SELECT attempt, due_at, last_status, last_error, finished_at IS NOT NULL AS finished
      FROM webhook_deliveries WHERE endpoint_id = 'probing'`
      assert.deepStrictEqual(failed, {
        attempt: 2,
        due_at: null,
        last_status: 503,
        last_error: expiredError,
        finished: true
      })
      assert.strictEqual(yield* expireOnce, 0)
    })
  )

  promise(
    "finds an old delivery without the rest of its backlog",
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* lane("open", 600)
      yield* waiting("open", 10, 50_000)
      yield* waiting("open", 73)
      yield* lane("other", 600)
      yield* waiting("other", 73)
      const expire = (endpoint: string) =>
        sql.literal(
          `SELECT webhook_expire_v2(1, '${endpoint}', interval '72 hours', 1000, 'x', '-infinity', 'infinity')`
        )
      const plan = yield* Effect.andThen(
        sql`${expire("other")}`,
        sql<{ "QUERY PLAN": string }>`EXPLAIN (ANALYZE, BUFFERS, TIMING OFF) ${expire("open")}`
      ).pipe(sql.withTransaction)
      const [, pages] = /Buffers: shared hit=(\d+)/.exec(plan.map((line) => line["QUERY PLAN"]).join("\n"))!
      // 50,000 rows fill 700 pages of the table.
      assert.isBelow(Number.parseInt(pages!, 10), 100)
      assert.deepStrictEqual(yield* statuses, ["open failed 1", "open pending 50000", "other failed 1"])
    })
  )

  promise(
    "keeps attempts for 30 days, also those of endpoints that are gone",
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const tried = (merchant: number, endpoint: string, days: number, count: number) =>
        sql`INSERT INTO webhook_attempts (merchant_id, delivery_id, attempt, endpoint_id, ended_at, outcome, latency_ms)
        SELECT ${merchant}, gen_random_uuid(), 1, ${endpoint}, now() - ${days}::float8 * interval '1 day', 'failed', 1
        FROM generate_series(1, ${count}::integer)`
      yield* tried(1, "we_1", 30.1, 2_100)
      yield* tried(1, "we_1", 29.9, 10)
      yield* tried(1, "we_2", 29, 5)
      yield* tried(2, "we_1", 31, 7)
      // More endpoints than a page.
      yield* sql`INSERT INTO webhook_attempts (merchant_id, delivery_id, attempt, endpoint_id, ended_at, outcome, latency_ms)
      SELECT 3, gen_random_uuid(), 1, 'we_' || n, now() - interval '40 days', 'failed', 1 FROM generate_series(1, 1100) n`
      assert.strictEqual(yield* pruneAttemptsOnce, 2_100 + 7 + 1_100)
      const [left] = yield* sql`SELECT count(*)::integer AS count FROM webhook_attempts`
      assert.deepStrictEqual(left, { count: 15 })
      assert.strictEqual(yield* pruneAttemptsOnce, 0)
    })
  )
})
