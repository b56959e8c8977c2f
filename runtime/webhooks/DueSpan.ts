/**
 * Between which times all deliveries were made that are due or will be. A statement that names the two reads the
 * partitions between them, mostly one of fourteen or more.
 */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

/** Moments as PostgreSQL writes them, `-infinity` and `infinity` among them. */
export interface DueSpan {
  readonly from: string
  /** The first moment after it. */
  readonly to: string
}

export const allTime: DueSpan = { from: "-infinity", to: "infinity" }

/**
 * What is known of it for so long is right: its end is a day ahead at least, and partitions in which nothing is due
 * only become more (`webhook_due_span_v1.sql`). It is asked anew, because a database may be set back to a backup.
 */
const knownFor = "30 seconds"

const read = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<DueSpan>`SELECT from_at::text AS "from", to_at::text AS "to" FROM webhook_due_span_v1()`
  return row ?? allTime
})

/** The span, asked of the database now and then. A failure is not kept. */
export const makeDueSpan: Effect.Effect<Effect.Effect<DueSpan, SqlError.SqlError, SqlClient.SqlClient>> = Effect.map(
  Effect.cachedInvalidateWithTTL(read, knownFor),
  ([span, invalidate]) => Effect.tapError(span, () => invalidate)
)
