/** The only SQL of erasures. A database fault is a defect. */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Write } from "../../runtime/Commit.ts"
import { Environment } from "../../schemas/Network.ts"
import type { ErasureState } from "./rules.ts"

const nullableText = Schema.NullOr(Schema.String)

const Row = Schema.Struct({
  merchant_id: Schema.Int,
  environment: Environment,
  customer: Schema.String,
  version: Schema.BigInt,
  sealed_customer_id: nullableText,
  until: Schema.String,
  keeper: nullableText,
  after: nullableText,
  waiting_for: nullableText,
  requested_at: Schema.BigInt,
  finished_at: Schema.NullOr(Schema.BigInt),
  due_at: Schema.NullOr(Schema.BigInt)
})

const number = (value: bigint | null): number | null => value === null ? null : Number(value)

const fromRow = (row: typeof Row.Type): ErasureState => ({
  merchantId: row.merchant_id,
  environment: row.environment,
  customer: row.customer,
  version: Number(row.version),
  sealedCustomerId: row.sealed_customer_id,
  until: row.until,
  keeper: row.keeper,
  after: row.after,
  waitingFor: row.waiting_for,
  requestedAt: Number(row.requested_at),
  finishedAt: number(row.finished_at),
  dueAt: number(row.due_at)
})

export const erasureWrite = (erasure: ErasureState): Write => ({
  table: "customer_erasures",
  row: {
    merchant_id: erasure.merchantId,
    environment: erasure.environment,
    customer: erasure.customer,
    version: erasure.version,
    sealed_customer_id: erasure.sealedCustomerId,
    until: erasure.until,
    keeper: erasure.keeper,
    after: erasure.after,
    waiting_for: erasure.waitingFor,
    requested_at: erasure.requestedAt,
    finished_at: erasure.finishedAt,
    due_at: erasure.dueAt
  }
})

const decodeRows = Schema.decodeUnknownEffect(Schema.Array(Row))

export const makeRepo = Effect.map(SqlClient.SqlClient, (sql) => {
  const read = (rows: Effect.Effect<unknown, unknown>) =>
    rows.pipe(Effect.flatMap(decodeRows), Effect.map((all) => all.map(fromRow)), Effect.orDie)
  return {
    /** The one of a customer, by any of the names that may stand in place of theirs. */
    find: (
      { environment, merchantId }: { readonly merchantId: number; readonly environment: Environment },
      names: ReadonlyArray<string>
    ): Effect.Effect<ErasureState | null> =>
      Effect.map(
        read(sql`SELECT * FROM customer_erasures WHERE merchant_id = ${merchantId} AND environment = ${environment}
          AND customer = ANY (${[...names]}::text[]) ORDER BY requested_at DESC LIMIT 1`),
        ([erasure]) => erasure ?? null
      ),
    /** Longest due first. */
    due: (now: number, limit: number): Effect.Effect<ReadonlyArray<ErasureState>> =>
      read(sql`SELECT * FROM customer_erasures WHERE due_at <= ${now} ORDER BY due_at LIMIT ${limit}`),
    /** Epoch seconds at which the earliest goes on; null: none is under way. */
    nextDue: sql<{ readonly due_at: bigint | null }>`SELECT min(due_at) AS due_at FROM customer_erasures
      WHERE due_at IS NOT NULL`.pipe(Effect.orDie, Effect.map(([row]) => number(row?.due_at ?? null)))
  }
})

export type Repo = Effect.Success<typeof makeRepo>
