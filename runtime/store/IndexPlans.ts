/**
 * How statements are planned: by indexes, and the same way over an empty table as over a large one.
 *
 * A connection keeps the plan of a statement from its first executions on, and those are often made on tables that are
 * empty or were never analyzed. To the planner every way of reading a few rows costs the same, so it may choose one
 * whose cost grows with the table: `GET /invoices/{id}` read all of 15,000 rows, a claim of webhooks 46,000 pages
 * (measured). New statistics would correct it, but they come when autovacuum has time, and only then.
 */
import { Effect } from "effect"
import { SqlClient, type SqlError, type Statement } from "effect/sql"

/**
 * Planner settings of every session of the service, whatever the operator's server has. Each takes away one way whose
 * cost grows with the table: whole tables, all that an index has for one key, and joins that read one side in full.
 * Where there is no other way they are still used, as for tables that are read as a whole. What is left are index
 * scans in nested loops, so a statement must have an index that serves it, and it must be the only one that does. For
 * those that have several there are {@link preferIndexScans}, {@link inIndexOrder}, and `+ 0` or `|| ''` beside a
 * column, which hides it from indexes. Sorts stay: without them a grouping of three rows took its order from an index
 * and read all of it.
 *
 * Plans are made once for each connection and do not depend on the values, so they cost no time and cannot change with
 * them. `jit` is off because servers before version 18 take a way that was taken away for an expensive one, and
 * compile it, which takes longer than any statement here.
 */
export const planSettings = {
  enable_seqscan: "off",
  enable_bitmapscan: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
  enable_material: "off",
  jit: "off",
  plan_cache_mode: "force_generic_plan"
} as const

/**
 * Takes an order from the index that has it and in no other way, and plans for the values, until the transaction ends:
 * for statements that several indexes serve, of which only one has the order.
 */
export const preferIndexScans: Effect.Effect<unknown, SqlError.SqlError, SqlClient.SqlClient> = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`SELECT ${indexScanSettings(sql)}`
)

/** The same as columns of another statement that comes first in the transaction, and answers a row. */
export const indexScanSettings = (sql: SqlClient.SqlClient) =>
  sql`set_config('enable_sort', 'off', true), set_config('plan_cache_mode', 'force_custom_plan', true)`

/**
 * Reads an order from the index that has it and in no other way, by a plan that is kept: for a statement that is sent
 * in no other way. In a transaction of its own, or to the end of the one that it is called in.
 */
export const inIndexOrder =
  (sql: SqlClient.SqlClient) =>
  <A, E, R>(statement: Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError.SqlError, R> =>
    sql.withTransaction(Effect.andThen(sql`SELECT set_config('enable_sort', 'off', true)`, statement))

/**
 * Conditions that a column has a value. Unlike equality they leave it in the order of the statement, so that of several
 * indexes only one has that order: the one that begins with the column. With {@link inIndexOrder}.
 */
export const hasInOrder = (sql: SqlClient.SqlClient, column: Statement.Fragment, value: string) => [
  sql`${column} >= ${value}`,
  sql`${column} <= ${value}`
]

/**
 * Reads in a transaction of its own that knows every way there is, and plans for the values: for the few statements
 * that read most of what a merchant has. 10,000 payments took 4.3 s to compare by indexes and nested loops (measured).
 */
export const readInFull =
  (sql: SqlClient.SqlClient) =>
  <A, E, R>(statement: Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError.SqlError, R> =>
    sql.withTransaction(Effect.andThen(
      sql`SELECT set_config('enable_seqscan', 'on', true), set_config('enable_bitmapscan', 'on', true),
        set_config('enable_hashjoin', 'on', true), set_config('enable_mergejoin', 'on', true),
        set_config('enable_material', 'on', true), set_config('plan_cache_mode', 'force_custom_plan', true),
        set_config('work_mem', '64MB', true)`,
      statement
    ))
