/** Payments that the books do not know. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"

/** In the order of their ids. */
export const readUnbooked = (sql: SqlClient.SqlClient) => (after: string, limit: number) =>
  sql<{ id: string; invoice_id: string }>`SELECT id, invoice_id FROM invoice_payments
    WHERE balance_transaction_id IS NULL AND status <> 'reverted' AND id > ${after}::uuid
    ORDER BY id LIMIT ${limit}`.pipe(Effect.orDie)
