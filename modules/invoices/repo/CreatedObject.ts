/** An invoice as it was made, whatever became of it: read from the event of its creation. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { objectTextOf } from "../../../schemas/Event.ts"

/**
 * Reads the invoice as JSON, as its first event has it; null once that is not kept any more. An invoice has one such
 * event. Without an order, and with the type as an expression, only the index of invoices serves it: to a planner
 * without statistics the index of types and the primary key look as good, and they read all events of a merchant.
 */
export const readCreatedObject = (sql: SqlClient.SqlClient) => (merchantId: number, id: string) =>
  sql<{ data: string }>`SELECT data FROM events
    WHERE merchant_id = ${merchantId} AND invoice_id = ${id} AND type || '' = 'invoice.created'`.pipe(
    Effect.orDie,
    Effect.map(([event]) => (event === undefined ? null : objectTextOf(event.data)))
  )
