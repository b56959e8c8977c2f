/** An invoice as it was made, whatever became of it: read from the event of its creation. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { objectTextOf } from "../../../schemas/Event.ts"

/**
 * Reads the invoice as JSON, as its first event has it; null once that is not kept any more. An invoice has one such
 * event, so no order is asked for, which an index that reads all events of a merchant would have, too.
 */
export const readCreatedObject = (sql: SqlClient.SqlClient) => (merchantId: number, id: string) =>
  sql<{ data: string }>`SELECT data FROM events
    WHERE merchant_id = ${merchantId} AND invoice_id = ${id} AND type = 'invoice.created'`.pipe(
    Effect.orDie,
    Effect.map(([event]) => (event === undefined ? null : objectTextOf(event.data)))
  )
