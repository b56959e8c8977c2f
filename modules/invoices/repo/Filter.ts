/** Which invoices a list or its totals are of, and the conditions in SQL that select them. */
import { SqlClient, type Statement } from "effect/sql"
import type { Environment } from "../../../schemas/Network.ts"

/** Filters of the invoice list; absent ones do not filter. */
export interface InvoiceFilter {
  readonly merchantId: number
  readonly environment: Environment
  readonly commerceOnly: boolean
  readonly statuses?: ReadonlyArray<string>
  readonly type?: string
  readonly customerId?: string
  readonly createdFrom?: number
  readonly createdTo?: number
  readonly payerWalletAddress?: string
  readonly payerWalletNetwork?: string
}

/** One page: by number, or before or after an invoice. */
export type InvoicePage =
  | { readonly _tag: "Offset"; readonly offset: number; readonly limit: number }
  | { readonly _tag: "Older" | "Newer"; readonly id: string; readonly limit: number }

/** Whether a page lies behind the first one, where rows are old. */
export const isBehindFirst = (page: InvoicePage): boolean =>
  page._tag === "Older" || (page._tag === "Offset" && page.offset > 0)

export type Fragment = Statement.Fragment

/**
 * Seconds by which an id may lie off `created_at`: both are read off one clock, the id an instant later, so this is
 * ample. It makes a range of times one of ids, which every index is in the order of.
 */
const idSlackSeconds = 60

/** The least id that can be made at `seconds`: 48 bits of milliseconds come first (RFC 9562, version 7). */
const firstIdAt = (seconds: number): string => {
  const millis = Math.min(Math.max(seconds * 1000, 0), 2 ** 48 - 1)
  const time = millis.toString(16).padStart(12, "0")
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`
}

/** The conditions of a filter, by what they select. */
export const makeConditions = (sql: SqlClient.SqlClient) => {
  const createdWithin = (from: number | undefined, to: number | undefined) => [
    ...(from === undefined ? [] : [
      sql`created_at >= ${from}`,
      sql`id >= ${firstIdAt(from - idSlackSeconds)}::uuid`
    ]),
    ...(to === undefined ? [] : [
      sql`created_at <= ${to}`,
      sql`id < ${firstIdAt(to + 1 + idSlackSeconds)}::uuid`
    ])
  ]

  const ofMerchant = ({ environment, merchantId }: InvoiceFilter) => [
    sql`merchant_id = ${merchantId}`,
    sql`environment = ${environment}`
  ]

  /** Everything that selects, but for owner, customer, payer and times. */
  const matching = (filter: InvoiceFilter) => [
    ...(filter.commerceOnly ? [sql`type = 'commerce'`] : []),
    ...(filter.statuses === undefined ? [] : [sql`status = ANY (${[...filter.statuses]}::text[])`]),
    ...(filter.type === undefined ? [] : [sql`type = ${filter.type}`]),
    ...(filter.payerWalletNetwork === undefined ? [] : [sql`payer_wallet_network = ${filter.payerWalletNetwork}`])
  ]

  const ofCustomer = ({ customerId }: InvoiceFilter) =>
    customerId === undefined ? [] : [sql`customer_id = ${customerId}`]

  const ofPayer = ({ payerWalletAddress }: InvoiceFilter) =>
    payerWalletAddress === undefined ? [] : [sql`payer_wallet_address = ${payerWalletAddress}`]

  const unionAll = (parts: ReadonlyArray<Fragment>): Fragment =>
    parts.reduce((left, right) => sql`${left} UNION ALL ${right}`)

  return { createdWithin, ofMerchant, matching, ofCustomer, ofPayer, unionAll }
}

export type Conditions = ReturnType<typeof makeConditions>
