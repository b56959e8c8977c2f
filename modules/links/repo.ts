/** The only SQL of payment links. A database fault is a defect. */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Write } from "../../runtime/Commit.ts"
import { batchSize } from "../../runtime/Retention.ts"
import { type UsdMillis, usdMillis } from "../../schemas/Money.ts"
import { Environment } from "../../schemas/Network.ts"
import type { PageCursor } from "../../schemas/Page.ts"
import { countsByLink, type LinkAmount, type LinkCounts, linkInvoices, type LinkState, rollupKeysOf } from "./rules.ts"

/**
 * Days for which it is kept which browser and which address an invoice was made for: a browser that comes back within a
 * week finds its invoice. Then the hashes are deleted.
 */
export const visitRetentionDays = 7

const nullableInteger = Schema.NullOr(Schema.BigInt)

const Row = Schema.Struct({
  merchant_id: Schema.Int,
  id: Schema.String,
  version: Schema.BigInt,
  environment: Environment,
  code: Schema.String,
  title: Schema.String,
  description: Schema.NullOr(Schema.String),
  amount: nullableInteger,
  minimum_amount: nullableInteger,
  maximum_amount: nullableInteger,
  maximum_payments: Schema.NullOr(Schema.Int),
  expires_at: nullableInteger,
  is_active: Schema.Boolean,
  created_at: Schema.BigInt,
  updated_at: Schema.BigInt
})

const amountOf = ({ amount, maximum_amount, minimum_amount }: typeof Row.Type): LinkAmount =>
  amount === null
    ? { kind: "open", minimum: usdMillis(minimum_amount ?? 0n), maximum: usdMillis(maximum_amount ?? 0n) }
    : { kind: "fixed", amount: usdMillis(amount) }

const fromRow = (row: typeof Row.Type): LinkState => ({
  id: row.id,
  merchantId: row.merchant_id,
  environment: row.environment,
  version: Number(row.version),
  code: row.code,
  title: row.title,
  description: row.description,
  amount: amountOf(row),
  maximumPayments: row.maximum_payments,
  expiresAt: row.expires_at === null ? null : Number(row.expires_at),
  isActive: row.is_active,
  createdAt: Number(row.created_at),
  updatedAt: Number(row.updated_at)
})

const text = (amount: UsdMillis): string => amount.toString()

export const linkWrite = (link: LinkState): Write => ({
  table: "payment_links",
  row: {
    merchant_id: link.merchantId,
    id: link.id,
    version: link.version,
    environment: link.environment,
    code: link.code,
    title: link.title,
    description: link.description,
    amount: link.amount.kind === "fixed" ? text(link.amount.amount) : null,
    minimum_amount: link.amount.kind === "open" ? text(link.amount.minimum) : null,
    maximum_amount: link.amount.kind === "open" ? text(link.amount.maximum) : null,
    maximum_payments: link.maximumPayments,
    expires_at: link.expiresAt,
    is_active: link.isActive,
    created_at: link.createdAt,
    updated_at: link.updatedAt
  }
})

/** Where hashes of the ranges of an address are kept (`prefixesOf` of runtime/http/Addresses.ts), the narrowest first. */
const sourceColumns = ["source", "source_56", "source_48"] as const

/** An invoice of a link, and for whom it was made. */
export interface LinkInvoice {
  readonly merchantId: number
  readonly invoiceId: string
  readonly linkId: string
  /** Hashes: no browser and no address can be found by them. */
  readonly visit: string
  /** Of the ranges of the address, in the order of {@link sourceColumns}. */
  readonly sources: ReadonlyArray<string>
  /** Epoch seconds of the system's clock. */
  readonly createdAt: number
}

export const linkInvoiceWrite = (invoice: LinkInvoice): Write => ({
  table: "payment_link_invoices",
  row: {
    merchant_id: invoice.merchantId,
    invoice_id: invoice.invoiceId,
    version: 1,
    link_id: invoice.linkId,
    visit: invoice.visit,
    ...Object.fromEntries(sourceColumns.map((column, place) => [column, invoice.sources[place] ?? null])),
    created_at: invoice.createdAt
  }
})

const decodeRows = Schema.decodeUnknownEffect(Schema.Array(Row))

interface RollupRow {
  readonly key: string
  readonly count: bigint
  readonly amount_paid: bigint
}

export const makeRepo = Effect.map(SqlClient.SqlClient, (sql) => {
  const read = (rows: Effect.Effect<unknown, unknown>): Effect.Effect<ReadonlyArray<LinkState>> =>
    rows.pipe(Effect.flatMap(decodeRows), Effect.map((found) => found.map(fromRow)), Effect.orDie)

  const first = (rows: Effect.Effect<unknown, unknown>): Effect.Effect<LinkState | null> =>
    Effect.map(read(rows), ([link]) => link ?? null)

  /** By id within a merchant: another merchant's is as unknown as none. */
  const find = (merchantId: number, id: string) =>
    first(sql`SELECT * FROM payment_links WHERE merchant_id = ${merchantId} AND id = ${id}`)

  return {
    find,

    byCode: (code: string) => first(sql`SELECT * FROM payment_links WHERE code = ${code}`),

    /**
     * Newest first; `hasMore` is in the direction of paging. Null where the cursor is no link of this merchant and
     * environment.
     */
    list: Effect.fnUntraced(function*(
      merchantId: number,
      environment: Environment,
      { cursor, limit }: { readonly cursor: PageCursor | null; readonly limit: number }
    ) {
      const start = cursor === null ? null : yield* find(merchantId, cursor.id)
      if (cursor !== null && start?.environment !== environment) return null
      const isNewer = cursor?.direction === "newer"
      const links = yield* read(
        sql`SELECT * FROM payment_links
          WHERE ${
          sql.and([
            sql`merchant_id = ${merchantId}`,
            sql`environment = ${environment}`,
            ...(start === null ? [] : [isNewer ? sql`id > ${start.id}` : sql`id < ${start.id}`])
          ])
        } ORDER BY id ${isNewer ? sql`ASC` : sql`DESC`} LIMIT ${limit + 1}`
      )
      const page = links.slice(0, limit)
      return { links: isNewer ? page.toReversed() : page, hasMore: links.length > limit }
    }),

    /** Of links of one merchant and environment, by id; a link without invoices is not among them. */
    counts: (
      merchantId: number,
      environment: Environment,
      ids: ReadonlyArray<string>
    ): Effect.Effect<ReadonlyMap<string, LinkCounts>> =>
      sql<RollupRow>`SELECT key, count, amount_paid FROM rollups
        WHERE merchant_id = ${merchantId} AND environment = ${environment} AND sum = ${linkInvoices.sum}
          AND width = 0 AND bucket = 0 AND key = ANY (${ids.flatMap(rollupKeysOf)}::text[])`.pipe(
        Effect.map((rows) =>
          countsByLink(rows.map(({ amount_paid, count, key }) => ({
            key,
            count: Number(count),
            amountPaid: amount_paid
          })))
        ),
        Effect.orDie
      ),

    /** The newest invoice of a link that a browser began; null: none that is known still. */
    invoiceOfVisit: (merchantId: number, linkId: string, visit: string): Effect.Effect<string | null> =>
      sql<{ readonly id: string }>`SELECT invoice_id::text AS id FROM payment_link_invoices
        WHERE merchant_id = ${merchantId} AND link_id = ${linkId} AND visit = ${visit}
        ORDER BY invoice_id DESC LIMIT 1`.pipe(Effect.map(([row]) => row?.id ?? null), Effect.orDie),

    /**
     * When the oldest of the last `count` invoices since `from` was made of an address's range; null: it had fewer.
     * `place`: of the range, among those of the address.
     */
    nthInvoiceOfSource: (
      place: number,
      sources: ReadonlyArray<string>,
      from: number,
      count: number
    ): Effect.Effect<number | null> =>
      sql<{ readonly created_at: bigint }>`SELECT created_at FROM payment_link_invoices
        WHERE ${sql(sourceColumns[place]!)} = ANY(${[...sources]}::text[]) AND created_at > ${from}
        ORDER BY created_at DESC OFFSET ${count - 1} LIMIT 1`.pipe(
        Effect.map(([row]) => row === undefined ? null : Number(row.created_at)),
        Effect.orDie
      )
  }
})

export type Repo = Effect.Success<typeof makeRepo>

/** Deletes a batch of rows that are older than they are kept; answers how many went. */
export const pruneInvoices = (beforeSeconds: number) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(
      sql`DELETE FROM payment_link_invoices WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM payment_link_invoices WHERE created_at < ${beforeSeconds}
        ORDER BY created_at LIMIT ${batchSize} FOR UPDATE SKIP LOCKED)) RETURNING 1`,
      (rows) => rows.length
    ))
