/** The only SQL of search: invoices by what is known of them. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { hasInOrder, inIndexOrder } from "../../runtime/store/IndexPlans.ts"
import type { Environment } from "../../schemas/Network.ts"
import { comparedInvoices } from "./rules.ts"

/** Whose invoices, and how many at most. */
export interface SearchScope {
  readonly merchantId: number
  readonly environment: Environment
  readonly limit: number
}

export const makeRepo = Effect.map(SqlClient.SqlClient, (sql) => {
  const ids = (rows: Effect.Effect<ReadonlyArray<{ readonly id: string }>, unknown>) =>
    Effect.orDie(Effect.map(rows, (found) => found.map(({ id }) => id)))
  return {
    byId: ({ environment, merchantId }: SearchScope, id: string) =>
      ids(sql`SELECT id::text AS id FROM invoices
        WHERE id = ${id}::uuid AND merchant_id = ${merchantId} AND environment = ${environment}`),
    /** The first condition finds the newest by an index alone; the rest compares those. */
    byEnd: ({ environment, limit, merchantId }: SearchScope, end: string) =>
      ids(sql`SELECT id::text AS id FROM (
          SELECT id FROM invoices WHERE merchant_id = ${merchantId} AND environment = ${environment}
          ORDER BY id DESC LIMIT ${comparedInvoices}
        ) newest WHERE right(id::text, 8) = ${end} ORDER BY id DESC LIMIT ${limit}`),
    byAmount: ({ environment, limit, merchantId }: SearchScope, amount: bigint) =>
      ids(sql`SELECT id::text AS id FROM (
          SELECT id, amount FROM invoices WHERE merchant_id = ${merchantId} AND environment = ${environment}
          ORDER BY id DESC LIMIT ${comparedInvoices}
        ) newest WHERE amount = ${amount} ORDER BY id DESC LIMIT ${limit}`),
    byTransaction: ({ environment, limit, merchantId }: SearchScope, hashes: ReadonlyArray<string>) =>
      ids(sql`SELECT DISTINCT invoice_id::text AS id FROM invoice_payments
        WHERE merchant_id = ${merchantId} AND tx_hash = ANY(${[...hashes]}::text[]) AND environment = ${environment}
        ORDER BY 1 DESC LIMIT ${limit}`),
    byTarget: ({ environment, limit, merchantId }: SearchScope, targets: ReadonlyArray<string>) =>
      ids(sql`SELECT invoice_id AS id FROM receive_targets
        WHERE id = ANY(${[...targets]}::text[]) AND merchant_id = ${merchantId} AND environment = ${environment}
        LIMIT ${limit}`),
    /** By the index of customers: to a planner without statistics `invoices_newest` looks as good. */
    byCustomer: ({ environment, limit, merchantId }: SearchScope, customer: string) =>
      ids(
        inIndexOrder(sql)(sql<{ readonly id: string }>`SELECT id::text AS id FROM invoices
        WHERE ${
          sql.and([
            sql`merchant_id = ${merchantId}`,
            sql`environment = ${environment}`,
            ...hasInOrder(sql, sql`customer_id`, customer)
          ])
        } ORDER BY customer_id DESC, invoices.id DESC LIMIT ${limit}`)
      )
  }
})

export type Repo = Effect.Success<typeof makeRepo>
