/**
 * Goal: filled tables become partitioned ones while an instance of the version before writes to them: nothing that was
 * acknowledged is lost, and nothing fails.
 * Method: the steps of 0.2.0, rows, and writers that use the statements of 0.2.0; then the steps since.
 */
import { assert, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Ref } from "effect"
import { SqlClient } from "effect/sql"
import { Commit } from "../../../../runtime/Commit.ts"
import { layer as groupCommit } from "../../../../runtime/commit/GroupCommit.ts"
import { migrate } from "../../../../runtime/Migrate.ts"
import { readPartitions } from "../../../../runtime/store/partitions/Partitions.ts"
import { partitionedTables } from "../../../../runtime/store/partitions/Tables.ts"
import { runtimeMigrations } from "../../../../runtime/Tables.ts"
import { connect, emptyDatabase } from "../../../support/Database.ts"
import { commitOf } from "../../commit/CommitFixture.ts"
import { waitForLocks } from "../../../support/Together.ts"

const rows = 20_000

const fill = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO events (merchant_id, ms, seq, environment, type, commerce, pending_webhooks, data)
    SELECT 1, 1700000000000 + n, n, 'devnet', 'invoice.paid', false, 1, '{}' FROM generate_series(1, ${rows}::integer) n`
  yield* sql`SELECT setval('event_seq', ${rows})`
  yield* sql`INSERT INTO webhook_endpoints (id, merchant_id, version, environment, commerce_only, url, status, filters,
      api_version, sealed_secret, created_at, updated_at)
    VALUES ('we_1', 2, 1, 'devnet', false, 'https://a.example', 'enabled', '{*}', '1', 'x', 1, 1)`
  yield* sql`INSERT INTO webhook_deliveries (merchant_id, endpoint_id, event_ms, event_seq, due_at, status)
    SELECT 1, 'we_0', ms, seq, NULL, 'succeeded' FROM events`
  yield* sql`INSERT INTO webhook_attempts (merchant_id, delivery_id, attempt, endpoint_id, outcome, latency_ms)
    SELECT 1, id, 1, 'we_0', 'succeeded', 1 FROM webhook_deliveries`
  yield* sql`CREATE ROLE reader NOLOGIN`.pipe(Effect.ignore)
  yield* sql`GRANT SELECT ON events TO reader`
})

it.live("filled tables become partitions while they are written to: none fails, none is lost, and 0.2 goes on", () =>
  Effect.scoped(Effect.gen(function*() {
    const database = yield* emptyDatabase
    // With what the commit of now writes to besides: the commit of 0.2.0 asks for nothing else that is partitioned.
    const before = Object.fromEntries(Object.entries(runtimeMigrations).filter(([step]) => step < "0006"))
    yield* Effect.provide(Effect.andThen(migrate("runtime", before), fill), connect(database), { local: true })
    const services = yield* Layer.build(Layer.fresh(groupCommit([]).pipe(Layer.provideMerge(connect(database)))))
    const sql = Context.get(services, SqlClient.SqlClient)
    yield* waitForLocks(sql)
    const commit = Context.get(services, Commit)
    const acknowledged = yield* Ref.make(0)
    const claimed = yield* Ref.make(0)
    const isOver = yield* Ref.make(false)
    const event = {
      type: "invoice.updated" as const,
      object: { object: "invoice", id: "a", metadata: {} },
      previousAttributes: {}
    }
    const write = Effect.andThen(
      commit.append(commitOf(2, { events: [event] })),
      Ref.update(acknowledged, (count) => count + 1)
    )
    const deliver = Effect.gen(function*() {
      const found = yield* sql<{ id: string | null }>`SELECT id FROM webhook_claim_v1('old', array[2], array['we_1'],
        array[0], '{}', array[false], '{}', 64, 256, 16, 64, 4, interval '30 s')`
      for (const { id } of found.filter(({ id }) => id !== null)) {
        const done = yield* sql`UPDATE webhook_deliveries SET due_at = NULL, status = 'succeeded'
          WHERE merchant_id = 2 AND id = ${id}::uuid RETURNING 1`
        yield* Ref.update(claimed, (count) => count + done.length)
      }
    })
    const forEver = <E>(step: Effect.Effect<void, E>) =>
      Effect.gen(function*() {
        while (!(yield* Ref.get(isOver))) yield* step
      })
    const writing = yield* Effect.forkChild(Effect.all([forEver(write), forEver(deliver)], { concurrency: 2 }))
    while ((yield* Ref.get(acknowledged)) < 20) yield* Effect.sleep(5)
    const during = yield* Ref.get(acknowledged)
    yield* Effect.provide(migrate("runtime", runtimeMigrations), connect(database), { local: true })
    assert.isAbove(yield* Ref.get(acknowledged), during)
    const after = yield* Ref.get(acknowledged)
    while ((yield* Ref.get(acknowledged)) < after + 20) yield* Effect.sleep(5)
    yield* Ref.set(isOver, true)
    yield* Fiber.join(writing)
    yield* deliver
    const written = yield* Ref.get(acknowledged)
    const [counts] = yield* sql`SELECT (SELECT count(*)::integer FROM events) AS events,
      (SELECT count(*)::integer FROM webhook_deliveries) AS deliveries,
      (SELECT count(*)::integer FROM webhook_attempts) AS attempts,
      (SELECT count(*)::integer FROM webhook_deliveries WHERE merchant_id = 2 AND status = 'pending') AS pending,
      has_table_privilege('reader', 'events', 'select') AS granted`
    const pending = written - (yield* Ref.get(claimed))
    assert.deepStrictEqual(counts, {
      events: rows + written,
      deliveries: rows + written,
      attempts: rows,
      pending,
      granted: true
    })
    // A lane that was never answered well has one delivery at a time; what is left of them is found by the next claims.
    assert.isAbove(yield* Ref.get(claimed), 0)
    for (const table of partitionedTables) {
      const [first, ...later] = yield* Effect.provide(readPartitions(table), services)
      assert.isAtLeast(later.length, 3, table)
      const [left] = yield* sql`SELECT count(*)::integer AS n FROM ${sql(table)} WHERE tableoid <> ${
        first!.name
      }::regclass`
      assert.deepStrictEqual(left, { n: 0 }, "all is in the partition that was the table")
      const [promise] = yield* sql`SELECT count(*)::integer AS n FROM pg_constraint
        WHERE contype = 'c' AND conname LIKE '%\\_before\\_%'`
      assert.deepStrictEqual(promise, { n: 0 })
    }
    // As 0.2.0 removes what is old.
    const gone = yield* sql`DELETE FROM webhook_attempts WHERE ctid = ANY (ARRAY(
      SELECT a.ctid FROM webhook_attempts a WHERE a.merchant_id = 1 LIMIT 100)) RETURNING 1`
    assert.lengthOf(gone, 100)
  })))
