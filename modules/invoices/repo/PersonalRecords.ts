/** Which invoices are a customer's, in the order of their ids. A database fault is a defect. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Person } from "../../../runtime/PersonalData.ts"

/** Ids behind `after` and up to `until`; null: no bound. */
export interface InvoicePart {
  readonly after: string | null
  readonly until: string | null
  readonly limit: number
}

type Owner = Pick<Person, "merchantId" | "environment">

export const makePersonalQueries = Effect.map(SqlClient.SqlClient, (sql) => ({
  /** Of customers called any of `names`. */
  ofCustomer: (
    { environment, merchantId }: Owner,
    names: ReadonlyArray<string>,
    { after, limit, until }: InvoicePart
  ) =>
    sql<{ readonly id: string }>`SELECT id FROM invoices
      WHERE ${
      sql.and([
        sql`merchant_id = ${merchantId}`,
        sql`customer_id = ANY (${[...names]}::text[])`,
        sql`environment = ${environment}`,
        ...(after === null ? [] : [sql`id > ${after}::uuid`]),
        ...(until === null ? [] : [sql`id <= ${until}::uuid`])
      ])
    } ORDER BY id LIMIT ${limit}`.pipe(Effect.orDie, Effect.map((rows) => rows.map(({ id }) => id))),

  /** The first invoice of a customer that something is not over with: it is open, a payment or an exception is. */
  firstUnderWay: ({ customerId, environment, merchantId }: Person) =>
    sql<{ readonly id: string }>`SELECT i.id FROM invoices i
      WHERE i.merchant_id = ${merchantId} AND i.customer_id = ${customerId} AND i.environment = ${environment} AND (
        i.status = 'unpaid' OR (i.status = 'underpaid' AND NOT i.grace_ended)
        OR EXISTS (SELECT FROM invoice_payments p WHERE p.merchant_id = i.merchant_id AND p.invoice_id = i.id
          AND p.status IN ('pending', 'manual_retry'))
        OR EXISTS (SELECT FROM exceptions e WHERE e.merchant_id = i.merchant_id AND e.invoice_id = i.id
          AND e.status = 'open'))
      ORDER BY i.id LIMIT 1`.pipe(Effect.orDie, Effect.map(([row]) => row?.id ?? null))
}))
