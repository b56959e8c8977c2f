/** Positions of sinks: the only SQL about them. */
import { Effect, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { Write } from "../../runtime/Commit.ts"
import type { SinkPosition } from "./rules.ts"

const Behind = Schema.Array(Schema.Struct({ merchant_id: Schema.Int }))

interface PositionRow {
  readonly merchant_id: number
  readonly version: bigint
  readonly ms: bigint
  readonly seq: bigint
  readonly pruned_ms: bigint
  readonly pruned_seq: bigint
}

export const makeRepo = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  /** The millisecond that a sink began at; undefined: it never ran. */
  const startOf = (sink: string): Effect.Effect<bigint | undefined, SqlError.SqlError> =>
    Effect.map(
      sql<{ from_ms: bigint }>`SELECT from_ms FROM event_sinks WHERE sink = ${sink}`,
      ([row]) => row === undefined ? undefined : BigInt(row.from_ms)
    )

  /** Merchants with events that the sink has not had, by their ids, from behind `afterMerchant` on. */
  const behind = (sink: string, afterMerchant: number, limit: number) =>
    sql`SELECT s.merchant_id FROM merchant_streams s
      LEFT JOIN event_sink_positions p ON p.sink = ${sink} AND p.merchant_id = s.merchant_id
      WHERE s.merchant_id > ${afterMerchant} AND s.last_ms > 0
        AND (s.last_ms, s.last_seq) > (coalesce(p.ms, 0), coalesce(p.seq, 0))
      ORDER BY s.merchant_id LIMIT ${limit}`.pipe(
      Effect.flatMap(Schema.decodeUnknownEffect(Behind)),
      Effect.map((rows) => rows.map(({ merchant_id: id }) => id)),
      Effect.catchTag("SchemaError", Effect.die)
    )

  /** How far the sink is with each of these merchants; one without a row is at `fromMillis`. */
  const positions = (
    sink: string,
    merchantIds: ReadonlyArray<number>,
    fromMillis: bigint
  ): Effect.Effect<ReadonlyArray<SinkPosition>, SqlError.SqlError> =>
    Effect.map(
      sql<PositionRow>`SELECT s.merchant_id, coalesce(p.version, 0)::bigint AS version,
          coalesce(p.ms, ${fromMillis}::bigint) AS ms, coalesce(p.seq, 0)::bigint AS seq, s.pruned_ms, s.pruned_seq
        FROM merchant_streams s
        LEFT JOIN event_sink_positions p ON p.sink = ${sink} AND p.merchant_id = s.merchant_id
        WHERE s.merchant_id = ANY(${merchantIds}::integer[])`,
      (rows) =>
        rows.map((row) => ({
          merchantId: row.merchant_id,
          version: Number(row.version),
          position: { ms: BigInt(row.ms), seq: BigInt(row.seq) },
          pruned: { ms: BigInt(row.pruned_ms), seq: BigInt(row.pruned_seq) }
        }))
    )

  return { startOf, behind, positions }
})
export type Repo = Effect.Success<typeof makeRepo>

/** The first start of a sink. */
export const startWrite = (sink: string, fromMillis: bigint): Write => ({
  table: "event_sinks",
  row: { sink, version: 1, from_ms: String(fromMillis) }
})

/** The sink has stored all of a merchant's events up to `position`. */
export const positionWrite = (
  sink: string,
  { merchantId, position, version }: Pick<SinkPosition, "merchantId" | "position" | "version">
): Write => ({
  table: "event_sink_positions",
  row: {
    sink,
    merchant_id: merchantId,
    version: version + 1,
    ms: String(position.ms),
    seq: String(position.seq)
  }
})
