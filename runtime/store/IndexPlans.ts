/** How statements over large tables are planned where the planner cannot know how large they are. */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

/**
 * Finds rows by the index that has their key or their order and in no other way, until the transaction ends: a plan
 * made for a small table, or without statistics, reads all of a large one.
 */
export const preferIndexScans: Effect.Effect<unknown, SqlError.SqlError, SqlClient.SqlClient> = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) =>
    sql`SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
      set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
      set_config('enable_sort', 'off', true), set_config('plan_cache_mode', 'force_custom_plan', true)`
)
