/**
 * Goal: the service calls itself unwell for its own faults only, and a queue that is hard to look at turns nobody away.
 * Method: rows of the queue, moved in time, over the layer that probes ask.
 */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { layer as healthLayer } from "../../../runtime/telemetry/Health.ts"
import { staleDeliverySeconds } from "../../../runtime/telemetry/HealthReport.ts"
import { Health } from "../../../runtime/Telemetry.ts"
import { databaseLayer } from "../../support/Database.ts"

/** An endpoint with one delivery that became due so many seconds ago; its breaker open or closed. */
const waiting = Effect.fnUntraced(function*(id: string, seconds: number, isOpen: boolean) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO webhook_endpoints (id, merchant_id, version, commerce_only, url, status, filters, api_version,
      sealed_secret, created_at, updated_at)
    VALUES (${id}, 1, 1, false, 'https://x.example', 'enabled', '{*}', '1', '', 1, 1)`
  yield* sql`INSERT INTO webhook_lanes (merchant_id, endpoint_id, health, open_until)
    VALUES (1, ${id}, 'failing', ${isOpen ? sql`now() + interval '1 hour'` : null})`
  yield* sql`INSERT INTO webhook_deliveries (merchant_id, endpoint_id, event_ms, event_seq, due_at)
    VALUES (1, ${id}, 1, 1, now() - ${seconds}::float8 * interval '1 second')`
})

/** The report of a service that just started: it remembers nothing of an earlier look. */
const report = Effect.gen(function*() {
  const health = yield* Health
  yield* health.markMigrated
  const { checks, status } = yield* health.report
  return { status, database: checks.database.ok, ...checks.deliveries }
}).pipe(Effect.provide(Layer.fresh(healthLayer), { local: true }))

layer(databaseLayer, { excludeTestServices: true })("the service", (it) => {
  it.effect("is well while receivers are dead, degraded when its own queue stands, and never unavailable for it", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* waiting("we_dead", 200_000, true)
      assert.deepStrictEqual(yield* report, { status: "ok", database: true, ok: true, oldest_due_seconds: 0 })
      yield* waiting("we_late", staleDeliverySeconds + 5, false)
      const late = yield* report
      assert.deepInclude(late, { status: "degraded", database: true, ok: false })
      assert.isAtLeast(late.oldest_due_seconds!, staleDeliverySeconds + 5)
      assert.isBelow(late.oldest_due_seconds!, 2 * staleDeliverySeconds)
      yield* sql`DROP FUNCTION webhook_lag_v2`
      assert.deepStrictEqual(yield* report, { status: "ok", database: true, ok: true, oldest_due_seconds: null })
    }))
})
