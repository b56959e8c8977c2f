/**
 * The migration steps that turn filled tables into partitioned ones while they are written to. Of each table:
 *
 *   limit       a promise that its rows are older than a month that begins 31 days ahead or later. Locks the table for
 *               as long as it takes to change the catalog
 *   check       reads whether the rows are so. Takes as long as it takes to read the table, and blocks nobody
 *   partitions  the table becomes the first partition of a new one of its name, and is not read for it, because of the
 *               promise. Locks it for as long as it takes to change the catalog
 *
 * then the months ahead. A step is a transaction, so one that was killed left nothing, and the next start goes on with
 * it. Between the steps everything works as before, also for an instance of the version before: until the month of the
 * promise begins, all rows lie in the one partition that was the table.
 */
import { Effect, Schedule } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { Migrations } from "../../Plugin.ts"
import { sqlStateOf } from "../StoreError.ts"
import { monthsAhead, type PartitionedTable } from "./Tables.ts"

/**
 * How long a step waits for a table: whoever comes later waits behind it for as long. A statement may take 30 s, so it
 * is tried again and again, each time as short.
 */
const lockMillis = 300
const lockPause = "1 second"
const lockTimes = 90

/** Longest time for which the rows of a table are read. Nobody waits for it. */
const checkTimeout = "12h"

const isLocked = (error: SqlError.SqlError) => sqlStateOf(error) === "55P03"

/** Runs `statement`, which locks a table, in a savepoint, again when somebody holds the table. */
export const withBriefLocks = <A>(
  statement: Effect.Effect<A, SqlError.SqlError, SqlClient.SqlClient>
): Effect.Effect<A, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    sql.withTransaction(
      Effect.andThen(sql`SELECT set_config('lock_timeout', ${String(lockMillis)}, true)`, statement)
    ).pipe(Effect.retry({ while: isLocked, schedule: Schedule.spaced(lockPause), times: lockTimes })))

/** The promise about the rows of `part`: the table itself, or its open-ended partition. */
export const promiseLimit = (table: PartitionedTable, part: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    withBriefLocks(Effect.andThen(
      // It looks for the newest row before it locks anything.
      sql`SELECT set_config('statement_timeout', ${checkTimeout}, true)`,
      sql.unsafe(`SELECT partition_limit_v1('${table}', '${part}')`)
    )))

/** Reads whether the rows are as {@link promiseLimit} said, in the transaction that is open. */
export const checkPromise = (table: PartitionedTable, part: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.andThen(
      sql`SELECT set_config('statement_timeout', ${checkTimeout}, true)`,
      sql.unsafe(`SELECT partition_check_v1('${table}', '${part}')`)
    ))

const limit = (table: PartitionedTable) => promiseLimit(table, table)
const check = (table: PartitionedTable) => checkPromise(table, table)

const partitions = (table: PartitionedTable) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => withBriefLocks(sql.unsafe(`SELECT partition_switch_v1('${table}')`))
  )

/** Makes the months of a table up to {@link monthsAhead}; answers how many, -1: see `partition_months_v1.sql`. */
export const makeMonths = (table: PartitionedTable) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    withBriefLocks(
      sql.unsafe<{ readonly made: number }>(
        `SELECT partition_months_v1('${table}', now() + interval '${monthsAhead} months') AS made`
      )
    )).pipe(Effect.map(([row]) => row!.made))

const timedIds = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => withBriefLocks(sql`ALTER TABLE webhook_deliveries ALTER id SET DEFAULT delivery_id_v1()`)
)

export const partitionSteps: Migrations = {
  "0007_events_limit": limit("events"),
  "0008_events_check": check("events"),
  "0009_events_partitions": partitions("events"),
  "0010_events_months": makeMonths("events"),
  // In this order: the limit reads the table before it locks it.
  "0011_deliveries_limit": Effect.andThen(limit("webhook_deliveries"), timedIds),
  "0012_deliveries_check": check("webhook_deliveries"),
  "0013_deliveries_partitions": partitions("webhook_deliveries"),
  "0014_deliveries_months": makeMonths("webhook_deliveries"),
  "0015_attempts_limit": limit("webhook_attempts"),
  "0016_attempts_check": check("webhook_attempts"),
  "0017_attempts_partitions": partitions("webhook_attempts"),
  "0018_attempts_months": makeMonths("webhook_attempts")
}
