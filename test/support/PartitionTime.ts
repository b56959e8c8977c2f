/** Partitions as they are at another time than now: a test cannot wait for months. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { PartitionedTable } from "../../runtime/store/partitions/Tables.ts"

/**
 * Leaves a table, which must be empty, with two partitions: what is older than a moment, and the open-ended one. It is
 * as if nobody had made months since then.
 */
export const closeFirst = (table: PartitionedTable, atMillis: number) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const parts = yield* sql<{ name: string }>`SELECT name FROM partitions_v1(${table})`
    const value = table === "events" ? String(atMillis) : `'${new Date(atMillis).toISOString()}'`
    const [first] = parts
    for (const { name } of parts) yield* sql.unsafe(`ALTER TABLE ${table} DETACH PARTITION ${name}`)
    for (const { name } of parts.slice(1)) yield* sql.unsafe(`DROP TABLE ${name}`)
    const past = `${table}_before_${new Date(atMillis).toISOString().slice(0, 7).replace("-", "_")}`
    yield* sql.unsafe(`ALTER TABLE ${first!.name} RENAME TO ${past}`)
    yield* sql.unsafe(`ALTER TABLE ${table} ATTACH PARTITION ${past} FOR VALUES FROM (MINVALUE) TO (${value})`)
    const open = past.replace("_before_", "_from_")
    yield* sql`SELECT partition_create_v1(${table}, ${open})`
    yield* sql.unsafe(`ALTER TABLE ${table} ATTACH PARTITION ${open} FOR VALUES FROM (${value}) TO (MAXVALUE)`)
  })
