/**
 * Goal: what waits in the webhook queue waits no longer because the clock of the database was set back.
 * Method: rows as a clock that was set back by an hour leaves them; a server's clock cannot be set in a test.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { moveWaiting, stepBackOf } from "../../../runtime/webhooks/ClockSteps.ts"
import { databaseLayer } from "../../support/Database.ts"

const hourMillis = 3_600_000

describe("a step of the database's clock", () => {
  it("is what the clock is behind the time that has passed, and nothing where clocks only drift", () => {
    const before = { databaseMillis: 1_000_000_000, ownMillis: 50 }
    const after = (databaseMillis: number) => stepBackOf(before, { databaseMillis, ownMillis: 5_050 })
    assert.strictEqual(after(1_000_005_000), 0)
    assert.strictEqual(after(1_000_003_500), 0)
    assert.strictEqual(after(1_000_005_000 + hourMillis), 0, "set ahead: what waits is due early")
    assert.strictEqual(after(1_000_005_000 - hourMillis), hourMillis)
  })
})

layer(databaseLayer, { excludeTestServices: true })("what waits when the clock was set back by an hour", (it) => {
  it.effect("is due when it was due before, in batches; what is due stays so, and breakers are not open for longer", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* sql`INSERT INTO webhook_endpoints (id, merchant_id, version, commerce_only, url, status, filters, api_version,
          sealed_secret, created_at, updated_at)
        SELECT 'we_' || n, 1, 0, false, 'https://shop.example', 'enabled', '{}', '2026-01-15', 'sealed', 0, 0
        FROM generate_series(1, 2) n`
      const wait = (endpoint: string, count: number, seconds: number | null) =>
        sql`INSERT INTO webhook_deliveries (merchant_id, endpoint_id, event_ms, event_seq, status, due_at)
          SELECT 1, ${endpoint}, 1, n, 'retrying', now() + ${seconds}::float8 * interval '1 second'
          FROM generate_series(1, ${count}::integer) n`
      // Queued in the hour that comes again, a retry in eight minutes, what was due before the step, what is over.
      yield* wait("we_1", 2_500, 3_000)
      yield* wait("we_1", 3, 3_600 + 480)
      yield* wait("we_2", 2, -10)
      yield* wait("we_2", 2, null)
      yield* sql`INSERT INTO webhook_lanes (merchant_id, endpoint_id, health, open_until, judged_from)
        VALUES (1, 'we_1', 'failing', now() + interval '3630 seconds', now() + interval '3500 seconds'),
          (1, 'we_2', 'failing', now() - interval '1 second', '-infinity')`
      assert.strictEqual(yield* moveWaiting(hourMillis), 2_503)
      const rows = yield* sql`SELECT endpoint_id, round(extract(epoch FROM due_at - now()) / 60)::int AS minutes,
        count(*)::int AS count FROM webhook_deliveries GROUP BY 1, 2 ORDER BY 1, 2`
      assert.deepStrictEqual(rows, [
        { endpoint_id: "we_1", minutes: 0, count: 2_500 },
        { endpoint_id: "we_1", minutes: 8, count: 3 },
        { endpoint_id: "we_2", minutes: 0, count: 2 },
        { endpoint_id: "we_2", minutes: null, count: 2 }
      ])
      const lanes = yield* sql`SELECT open_until > now() AS open, open_until < now() + interval '35 seconds' AS soon,
        judged_from <= now() AS judged FROM webhook_lanes ORDER BY endpoint_id`
      assert.deepStrictEqual(lanes, [{ open: true, soon: true, judged: true }, {
        open: false,
        soon: true,
        judged: true
      }])
    }))
})
