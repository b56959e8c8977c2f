/** Partitions as they are, and how one is taken away while its table is written to. */
import { Effect, Metric } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { initializeSeries } from "../../Telemetry.ts"
import { type PartitionedTable, partitionedTables } from "./Tables.ts"

export interface Partition {
  readonly name: string
  /** Epoch milliseconds of the first moment of it; -Infinity: it has no beginning. */
  readonly fromMillis: number
  /** The first moment after it; Infinity: it is the open-ended one. */
  readonly toMillis: number
  /** Somebody has begun to take it away. */
  readonly isDetaching: boolean
}

interface Row {
  readonly name: string
  readonly from_ms: number
  readonly to_ms: number
  readonly is_detaching: boolean
}

/** The partitions of a table, oldest first. */
export const readPartitions = (
  table: PartitionedTable
): Effect.Effect<ReadonlyArray<Partition>, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) =>
      sql<Row>`SELECT name, extract(epoch FROM from_at)::float8 * 1000 AS from_ms,
      extract(epoch FROM to_at)::float8 * 1000 AS to_ms, is_detaching FROM partitions_v1(${table})`
  ).pipe(
    Effect.map((rows) =>
      rows.map(({ from_ms, is_detaching, name, to_ms }) => ({
        name,
        fromMillis: from_ms,
        toMillis: to_ms,
        isDetaching: is_detaching
      }))
    )
  )

/** Partitions of which everything is older than a moment. */
export const pastPartitions = (
  partitions: ReadonlyArray<Partition>,
  beforeMillis: number
): ReadonlyArray<Partition> => partitions.filter(({ toMillis }) => toMillis <= beforeMillis)

/**
 * The partition in which rows are removed one by one: the one without a beginning, which holds what there was before
 * there were months, and is too large to be kept until all of it is past. Undefined: there is none, or it is past.
 * Pure.
 */
export const partitionOfOldRows = (
  partitions: ReadonlyArray<Partition>,
  beforeMillis: number
): Partition | undefined =>
  partitions.find(({ fromMillis, toMillis }) => fromMillis === -Infinity && toMillis > beforeMillis)

/** What a partition that is taken away is marked with, so that one that was left half-way is found again. */
const mark = "tillwire: taken away, and to be dropped"

/** Time for statements that were under way when a partition was taken away; none takes longer than 30 s. */
const detachTimeout = "5min"

const dropped = Metric.counter("partitions_dropped_total", {
  description: "Months that were kept for as long as they are kept and then removed, by table",
  incremental: true
})

/** Makes the counts of all tables exist before the first month is removed. */
export const initializeDropped: Effect.Effect<void> = initializeSeries(
  dropped,
  partitionedTables.map((table) => ({ table }))
)

/** Outside of a transaction, which PostgreSQL requires, on a connection of its own. */
const alone = (statement: string) =>
  Effect.scoped(Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const connection = yield* sql.reserve
    yield* connection.executeRaw(`SET statement_timeout = '${detachTimeout}'`, [])
    yield* Effect.ensuring(
      connection.executeRaw(statement, []),
      Effect.ignore(connection.executeRaw("RESET statement_timeout", []))
    )
  }))

/** Drops what was taken away and not dropped: whoever did it was killed between. */
const dropMarked = (table: PartitionedTable) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const left = yield* sql<{ readonly name: string }>`SELECT c.relname::text AS name FROM pg_class c
      WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND NOT c.relispartition
        AND starts_with(c.relname::text, ${`${table}_`}) AND obj_description(c.oid, 'pg_class') = ${mark}`
    for (const { name } of left) {
      yield* sql`DROP TABLE IF EXISTS ${sql(name)}`
      yield* Metric.update(Metric.withAttributes(dropped, { table }), 1)
      yield* Effect.logInfo(`dropped ${name}: everything in it was older than it is kept`)
    }
    return left.length
  })

/**
 * Takes partitions away from a table and drops them; answers how many went. Nobody who reads or writes the table waits:
 * new statements do not see the partition, and it goes when those that were under way have ended. Killed at any place,
 * the next call goes on there.
 */
export const dropPartitions = (
  table: PartitionedTable,
  partitions: ReadonlyArray<Partition>
): Effect.Effect<number, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    for (const { isDetaching, name } of partitions) {
      yield* sql.unsafe(`COMMENT ON TABLE "${name}" IS '${mark}'`)
      yield* alone(`ALTER TABLE "${table}" DETACH PARTITION "${name}" ${isDetaching ? "FINALIZE" : "CONCURRENTLY"}`)
    }
    return yield* dropMarked(table)
  })
