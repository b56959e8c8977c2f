/**
 * Goal: what we owe is told apart from what waits for a receiver, however much of the latter there is.
 * Method: lanes and deliveries written as rows, moved in time; the plan of the query for what it reads.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { allTime } from "../../../runtime/webhooks/DueSpan.ts"
import { lag } from "../../../runtime/webhooks/Lag.ts"
import { databaseLayer } from "../../support/Database.ts"

interface Row {
  readonly status?: "enabled" | "disabled"
  readonly ordered?: boolean
  readonly health?: "healthy" | "failing"
  /** Seconds from now, as all that follows. */
  readonly openUntil?: number
  readonly heldUntil?: number
  readonly lastAttempt?: number
  /** When its deliveries are due, in the order of their events. */
  readonly due: ReadonlyArray<number>
}

const write = Effect.fnUntraced(function*(id: string, row: Row) {
  const sql = yield* SqlClient.SqlClient
  const at = (seconds: number | undefined) => seconds ?? null
  yield* sql`INSERT INTO webhook_endpoints (id, merchant_id, version, commerce_only, url, status, filters, api_version,
      sealed_secret, ordered, created_at, updated_at)
    VALUES (${id}, 1, 1, false, 'https://x.example', ${row.status ?? "enabled"}, '{*}', '1', '', ${
    row.ordered ?? false
  }, 1, 1)`
  yield* sql`INSERT INTO webhook_lanes (merchant_id, endpoint_id, health, open_until, held_until)
    VALUES (1, ${id}, ${row.health ?? "healthy"}, now() + ${at(row.openUntil)}::float8 * interval '1 second',
      coalesce(now() + ${at(row.heldUntil)}::float8 * interval '1 second', '-infinity'))`
  if (row.lastAttempt !== undefined) {
    yield* sql`
    INSERT INTO webhook_attempts (merchant_id, delivery_id, attempt, endpoint_id, ended_at, outcome, latency_ms)
    VALUES (1, gen_random_uuid(), 1, ${id}, now() + ${row.lastAttempt}::float8 * interval '1 second', 'failed', 1)`
  }
  yield* Effect.forEach(
    row.due,
    (due, n) =>
      sql`INSERT INTO webhook_deliveries (merchant_id, endpoint_id, event_ms, event_seq, due_at)
      VALUES (1, ${id}, ${n + 1}, ${n + 1}, now() + ${due}::float8 * interval '1 second')`
  )
})

const empty = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`TRUNCATE webhook_endpoints, webhook_lanes, webhook_attempts, webhook_deliveries`
)

/** Pages of the database that a statement touches the second time a connection runs it. */
const pagesOf = Effect.fnUntraced(function*(statement: string) {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe(statement)
  const plan = yield* sql.unsafe<{ "QUERY PLAN": string }>(`EXPLAIN (ANALYZE, BUFFERS, TIMING OFF) ${statement}`)
  return Number.parseInt(/Buffers: shared hit=(\d+)/.exec(plan.map((line) => line["QUERY PLAN"]).join("\n"))![1]!, 10)
}, (pages) => Effect.flatMap(SqlClient.SqlClient, (sql) => sql.withTransaction(pages)))

/** A busy machine takes seconds to write 100,000 rows. */
const lateSeconds = 60

layer(databaseLayer, { excludeTestServices: true })("the queue", (it) => {
  const promise = (name: string, body: Effect.Effect<unknown, unknown, SqlClient.SqlClient>) =>
    it.effect(name, () => Effect.andThen(empty, body))

  /** What was so many seconds ago when it was written, as it is told later. */
  const isAgo = (told: number, seconds: number) => {
    if (seconds === 0) return assert.strictEqual(told, 0)
    assert.isAtLeast(told, seconds)
    assert.isBelow(told, seconds + lateSeconds)
  }

  /** What is owed for endpoints. */
  const owes = (what: string, rows: ReadonlyArray<Row>, seconds: number) =>
    promise(
      `owes ${what}`,
      Effect.gen(function*() {
        yield* Effect.forEach(rows, (row, n) => write(`we_${n}`, row))
        isAgo((yield* lag(allTime)).outboxLagSeconds, seconds)
      })
    )

  promise(
    "that is empty owes nothing",
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* lag(allTime), {
        outboxLagSeconds: 0,
        oldestPendingSeconds: 0,
        endpointsWaiting: 0,
        endpointsFailing: 0,
        breakersOpen: 0,
        breakersHalfOpen: 0
      })
    })
  )

  owes("the oldest delivery that could be sent", [{ due: [-40, -500] }, { due: [-700] }], 700)
  owes("not what waits for its retry", [{ due: [500] }], 0)
  owes("not what waits behind an open breaker", [{ health: "failing", openUntil: 10, due: [-9_000] }], 0)
  owes("a probe, since its breaker waits for one", [{ health: "failing", openUntil: -20, due: [-9_000] }], 20)
  owes("not what an instance holds", [{ heldUntil: 20, due: [-9_000] }], 0)
  owes("what a dead instance held", [{ heldUntil: -5, due: [-900] }], 900)
  owes("what a dead instance held before the clock was set back an hour", [{ heldUntil: 3_600, due: [-900] }], 900)
  owes("the next of a row, since the one before it ended", [{ health: "failing", lastAttempt: -7, due: [-9_000] }], 7)
  owes("nothing to a disabled endpoint", [{ status: "disabled", due: [-9_000] }], 0)
  owes("not what has to wait for the one before it in order", [{ ordered: true, due: [500, -9_000] }], 0)
  owes("the first where order is wanted", [{ ordered: true, due: [-30, -9_000] }], 30)

  promise(
    "tells what waits anywhere, and endpoints by their breaker",
    Effect.gen(function*() {
      yield* write("we_1", { due: [-10] })
      yield* write("we_2", { health: "failing", openUntil: 60, due: [-9_000, -8_000] })
      yield* write("we_3", { health: "failing", openUntil: -1, due: [-100] })
      yield* write("we_4", { health: "failing", due: [600] })
      yield* write("we_5", { health: "failing", openUntil: 60, status: "disabled", due: [] })
      const { oldestPendingSeconds, ...counts } = yield* lag(allTime)
      isAgo(oldestPendingSeconds, 9_000)
      assert.deepInclude(counts, { endpointsWaiting: 3, endpointsFailing: 3, breakersOpen: 1, breakersHalfOpen: 1 })
    })
  )

  promise(
    "is looked at in a few pages, though 100,000 deliveries wait for a dead endpoint",
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* write("we_dead", { health: "failing", openUntil: 60, due: [] })
      yield* write("we_live", { due: [-3] })
      yield* sql`INSERT INTO webhook_deliveries (merchant_id, endpoint_id, event_ms, event_seq, due_at)
      SELECT 1, 'we_dead', n, n, now() - n * interval '1 second' FROM generate_series(1, 100000) n`
      // 100,000 rows fill 1,500 pages of the table, and 400 of an index.
      assert.isBelow(yield* pagesOf("SELECT * FROM webhook_lag_v2('30 seconds', '-infinity', 'infinity')"), 100)
      isAgo((yield* lag(allTime)).oldestPendingSeconds, 100_000)
    })
  )
})
