/** What payors of a customer's invoices entered, and what of it is older than it is kept. A database fault is a defect. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Person } from "../../../runtime/PersonalData.ts"
import { batchSize } from "../../../runtime/Retention.ts"

interface PayorRow {
  readonly invoice_id: string
  readonly email: string | null
  readonly refund_destinations: ReadonlyArray<unknown>
}

export const makePersonalQueries = Effect.map(SqlClient.SqlClient, (sql) => ({
  /** Of one part of the customer's invoices, those whose payor entered something; `next`: the last invoice of the part. */
  ofCustomer: ({ customerId, environment, merchantId }: Person, after: string | null, limit: number) =>
    sql<PayorRow>`SELECT i.id AS invoice_id,
        (SELECT email FROM payor_contacts WHERE merchant_id = ${merchantId} AND invoice_id = i.id::text) AS email,
        (SELECT coalesce(json_agg(json_build_object('network', network, 'address', address, 'memo', memo)), '[]')
          FROM refund_destinations WHERE merchant_id = ${merchantId} AND invoice_id = i.id::text
            AND address IS NOT NULL) AS refund_destinations
      FROM invoices i WHERE ${
      sql.and([
        sql`merchant_id = ${merchantId}`,
        sql`customer_id = ${customerId}`,
        sql`environment = ${environment}`,
        ...(after === null ? [] : [sql`id > ${after}::uuid`])
      ])
    } ORDER BY i.id LIMIT ${limit}`.pipe(
      Effect.orDie,
      Effect.map((rows) => ({
        payors: rows.filter(({ email, refund_destinations }) => email !== null || refund_destinations.length > 0),
        next: rows.length < limit ? null : rows.at(-1)!.invoice_id
      }))
    )
}))

/**
 * Deletes a batch of what payors entered before a moment, epoch seconds, for invoices that are over since before it;
 * answers how many rows went. An invoice that was paid is over by its last payment, any other by its end.
 */
export const prunePayors = (table: "payor_contacts" | "refund_destinations", beforeSeconds: number) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(
      sql`DELETE FROM ${sql(table)} WHERE ctid = ANY (ARRAY(
        SELECT p.ctid FROM ${sql(table)} p
        JOIN invoices i ON i.id = p.invoice_id::uuid AND i.merchant_id = p.merchant_id
        WHERE p.updated_at < ${beforeSeconds} AND i.status <> 'unpaid'
          AND (i.status <> 'underpaid' OR i.grace_ended)
          AND greatest(coalesce(i.paid_at, i.expires_at), i.last_payment_at) < ${beforeSeconds}
          AND NOT EXISTS (SELECT FROM exceptions e WHERE e.merchant_id = i.merchant_id AND e.invoice_id = i.id
            AND e.status = 'open')
        ORDER BY p.updated_at LIMIT ${batchSize} FOR UPDATE OF p SKIP LOCKED)) RETURNING 1`,
      (rows) => rows.length
    ))
