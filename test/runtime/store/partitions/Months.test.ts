/**
 * Goal: no row is ever without a place, months are there before they are needed, and an operator is told in time when
 * they are not. What is kept long enough goes with its month, and nothing else goes.
 * Method: databases whose partitions are moved through time, because nobody can move the time of a database.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import {
  aheadMillis,
  makeMissingMonths,
  monthFindings,
  overdueMillis
} from "../../../../runtime/store/partitions/Months.ts"
import {
  dropPartitions,
  type Partition,
  partitionOfOldRows,
  pastPartitions,
  readPartitions
} from "../../../../runtime/store/partitions/Partitions.ts"
import { partitionedTables } from "../../../../runtime/store/partitions/Tables.ts"
import { connect, freshDatabase } from "../../../support/Database.ts"
import { closeFirst } from "../../../support/PartitionTime.ts"

const withDatabase = (name: string, body: Effect.Effect<unknown, unknown, SqlClient.SqlClient | Scope.Scope>) =>
  it.live(
    name,
    () => Effect.scoped(Effect.flatMap(freshDatabase, (database) => Effect.provide(body, connect(database))))
  )

const day = 86_400_000
const at = (text: string) => Date.parse(`${text}T00:00:00Z`)
const part = (name: string, from: number, to: number): Partition => ({
  name,
  fromMillis: from,
  toMillis: to,
  isDetaching: false
})
const parts = [
  part("first", -Infinity, at("2027-01-01")),
  part("january", at("2027-01-01"), at("2027-02-01")),
  part("open", at("2027-02-01"), Infinity)
]

const namesOf = (found: ReadonlyArray<Partition>) => found.map(({ name }) => name)

describe("a month", () => {
  it("is past when its last moment is as old as it is kept, and not a millisecond before", () => {
    assert.deepStrictEqual(namesOf(pastPartitions(parts, at("2027-01-01") - 1)), [])
    assert.deepStrictEqual(namesOf(pastPartitions(parts, at("2027-01-01"))), ["first"])
    assert.deepStrictEqual(namesOf(pastPartitions(parts, at("2027-02-01") - 1)), ["first"])
    assert.deepStrictEqual(namesOf(pastPartitions(parts, at("2027-02-01"))), ["first", "january"])
    assert.deepStrictEqual(namesOf(pastPartitions(parts, at("2100-01-01"))), ["first", "january"])
  })

  it("loses no rows one by one; the time before there were months does, until it is past as a whole", () => {
    assert.strictEqual(partitionOfOldRows(parts, at("2026-12-31"))?.name, "first")
    assert.isUndefined(partitionOfOldRows(parts, at("2027-01-01")))
    assert.isUndefined(partitionOfOldRows(parts.slice(1), at("2026-01-01")))
  })

  it("that is missing is told 31 days before it is needed, and when rows have no month", () => {
    const findings = (now: number) => monthFindings([{ table: "events", partitions: parts }], now)
    assert.deepStrictEqual(findings(at("2027-02-01") - 31 * day), [])
    const [soon] = findings(at("2027-02-01") - 31 * day + 1)
    assert.deepStrictEqual([soon?.effect, soon?.message.includes("for 30 days")], ["degraded", true])
    const [late] = findings(at("2027-02-01") + 1)
    assert.include(late?.message, "rows are written to the partition that has no end")
    assert.strictEqual(aheadMillis(parts, at("2027-02-02")), -day)
  })

  it("is overdue from when all of it is older than it is kept", () => {
    const overdue = (now: number) => overdueMillis({ table: "webhook_attempts", partitions: parts }, now)
    assert.strictEqual(overdue(at("2027-01-31")), 0)
    assert.strictEqual(overdue(at("2027-02-01")), day)
  })
})

describe("the months of a table", () => {
  withDatabase(
    "tile all time, up to three months ahead, and each has the key and the indexes of the first",
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      for (const table of partitionedTables) {
        const found = yield* readPartitions(table)
        assert.strictEqual(found[0]!.fromMillis, -Infinity)
        assert.strictEqual(found.at(-1)!.toMillis, Infinity)
        for (const [index, each] of found.entries()) {
          if (index > 0) assert.strictEqual(each.fromMillis, found[index - 1]!.toMillis, each.name)
        }
        assert.isAbove(aheadMillis(found, Date.now()), 85 * day)
        assert.isAbove(found[0]!.toMillis, Date.now() + 30 * day, "the version before runs on for a month")
        // The first may make one, where a month has begun since the template was made.
        yield* makeMissingMonths(table)
        assert.strictEqual(yield* makeMissingMonths(table), 0)
        const indexes = yield* sql<{ name: string; n: number; keys: number }>`SELECT c.relname::text AS name,
          count(*)::integer AS n, (count(*) FILTER (WHERE x.indisprimary))::integer AS keys
          FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_index x ON x.indrelid = c.oid
          WHERE i.inhparent = ${table}::regclass GROUP BY 1`
        assert.lengthOf(new Set(indexes.map(({ keys, n }) => `${n} ${keys}`)), 1, JSON.stringify(indexes))
        assert.strictEqual(indexes[0]!.keys, 1)
      }
    })
  )

  withDatabase(
    "are made in place of the open-ended partition, and behind rows that were written to it",
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* closeFirst("webhook_attempts", at("2026-03-01"))
      const attempt = (ended: string) =>
        sql`INSERT INTO webhook_attempts (merchant_id, delivery_id, attempt, endpoint_id, ended_at, outcome, latency_ms)
          VALUES (1, gen_random_uuid(), 1, 'we_1', ${ended}::timestamptz, 'failed', 1)`
      // Nobody made months for a while: rows have a place all the same.
      yield* attempt("2026-02-28 23:59:59.999999+00")
      yield* attempt("2026-03-01 00:00:00+00")
      yield* attempt("2026-05-31 23:59:59+00")
      assert.deepStrictEqual(
        (yield* readPartitions("webhook_attempts")).map(({ toMillis }) => toMillis),
        [at("2026-03-01"), Infinity]
      )
      assert.isAtLeast(yield* makeMissingMonths("webhook_attempts"), 1)
      const found = yield* readPartitions("webhook_attempts")
      assert.isAbove(found[1]!.toMillis, Date.now() + 30 * day)
      assert.isAbove(aheadMillis(found, Date.now()), 85 * day)
      const rows = yield* sql`SELECT tableoid::regclass::text AS name, count(*)::integer AS n FROM webhook_attempts
        GROUP BY 1 ORDER BY 1`
      assert.deepStrictEqual(rows, [{ name: found[0]!.name, n: 1 }, { name: found[1]!.name, n: 2 }])
      assert.strictEqual(yield* makeMissingMonths("webhook_attempts"), 0)
    })
  )

  withDatabase(
    "hold an attempt once, however often its result is written",
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const write =
        sql`INSERT INTO webhook_attempts (merchant_id, delivery_id, attempt, endpoint_id, outcome, latency_ms)
        VALUES (1, '01a223d4-ede3-7242-9503-f15943d747e5', 1, 'we_1', 'failed', 1) ON CONFLICT DO NOTHING`
      yield* write
      yield* write
      assert.deepStrictEqual(yield* sql`SELECT count(*)::integer AS n FROM webhook_attempts`, [{ n: 1 }])
    })
  )

  withDatabase(
    "refuse a version that deletes rows by their place, where another row may be",
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* closeFirst("webhook_deliveries", at("2026-03-01"))
      const deliver = (created: string) =>
        sql`INSERT INTO webhook_deliveries (id, merchant_id, endpoint_id, event_ms, event_seq, created_at)
          VALUES (delivery_id_v1(${created}::timestamptz), 1, 'we_1', 1, 1, ${created}::timestamptz)`
      yield* deliver("2026-02-01")
      yield* deliver("2026-11-01")
      const places = yield* sql<{ place: string }>`SELECT DISTINCT ctid::text AS place FROM webhook_deliveries`
      assert.lengthOf(places, 1, "both rows have the same place")
      // As version 0.2 prunes.
      const pruned = yield* Effect.exit(sql`DELETE FROM webhook_deliveries WHERE ctid = ANY (ARRAY(
        SELECT d.ctid FROM webhook_deliveries d WHERE d.created_at < '2026-03-01'))`)
      assert.strictEqual(pruned._tag, "Failure")
      assert.deepStrictEqual(yield* sql`SELECT count(*)::integer AS n FROM webhook_deliveries`, [{ n: 2 }])
    })
  )
})

describe("a month that is taken away", () => {
  withDatabase(
    "goes without a writer waiting, and one that was left half-way goes the next time",
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* closeFirst("events", at("2026-03-01"))
      const [first, open] = yield* readPartitions("events")
      const write = (ms: number) =>
        sql`INSERT INTO events (merchant_id, ms, seq, environment, type, commerce, pending_webhooks, data)
          VALUES (1, ${String(ms)}::bigint, ${String(ms)}::bigint, 'devnet', 'invoice.paid', false, 0, '{}')`
      yield* write(at("2026-02-01"))
      yield* write(at("2026-04-01"))
      // Killed between: it was marked and taken away, and not dropped.
      yield* sql.unsafe(`COMMENT ON TABLE "${first!.name}" IS 'tillwire: taken away, and to be dropped'`)
      yield* sql.unsafe(`ALTER TABLE events DETACH PARTITION "${first!.name}"`)
      yield* sql.unsafe(`CREATE TABLE events_kept_by_the_operator (LIKE events)`)
      assert.strictEqual(yield* dropPartitions("events", []), 1)
      assert.deepStrictEqual(namesOf(yield* readPartitions("events")), [open!.name])
      assert.deepStrictEqual(
        yield* sql`SELECT count(*)::integer AS n, to_regclass('events_kept_by_the_operator') IS NOT NULL AS kept FROM events`,
        [{ n: 1, kept: true }]
      )
      // A row that comes late for it has no place, and says so.
      const late = yield* Effect.flip(write(at("2026-02-01")))
      assert.include(String(late.reason.cause), "no partition of relation")
    })
  )
})
