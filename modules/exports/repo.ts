/** The only SQL of exports: who exports, and one page of rows. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Environment } from "../../schemas/Network.ts"
import type { PaymentMetadata } from "../../schemas/Payment.ts"
import { pageRows } from "./rules.ts"

/** Seconds that an export keeps its place without reading a page; a slower one may lose it to another export. */
export const leaseSeconds = 60

/** Whose rows, and behind which: pages are in the order of the ids. */
export interface PageQuery {
  readonly merchantId: number
  readonly environment: Environment
  /** The id of the last row of the page before. */
  readonly after: string
}

/** The id before every other. */
export const firstId = "00000000-0000-0000-0000-000000000000"

export interface InvoiceRow {
  readonly id: string
  readonly environment: string
  readonly type: string
  readonly status: string
  readonly amount: bigint
  readonly amount_paid: bigint
  readonly customer_id: string | null
  readonly order_id: string | null
  readonly payer_wallet_network: string | null
  readonly payer_wallet_address: string | null
  readonly created_at: bigint
  readonly expires_at: bigint
  readonly paid_at: bigint | null
  readonly metadata: Readonly<Record<string, unknown>>
}

export interface PaymentRow {
  readonly id: string
  readonly invoice_id: string
  readonly environment: string
  readonly status: string
  readonly network: string
  readonly token_id: number | null
  readonly token_decimals: number | null
  readonly units: string
  readonly amount: bigint
  readonly tx_hash: string | null
  readonly sender: string | null
  readonly seen_at: bigint
  readonly created_at: bigint
  readonly confirmed_at: bigint | null
  readonly token: PaymentMetadata["token"]
  readonly quote: PaymentMetadata["quote"]
  readonly customer_id: string | null
  /** The invoice's. */
  readonly metadata: Readonly<Record<string, unknown>>
}

export interface RefundRow {
  readonly id: string
  /** Null: of money that pays no invoice. */
  readonly invoice_id: string | null
  readonly environment: string
  readonly status: string
  readonly amount: bigint
  readonly fee: bigint
  readonly destination: { readonly network: string; readonly address: string } | null
  readonly token: { readonly symbol: string; readonly decimals: number } | null
  /** Base units. */
  readonly token_amount: string | null
  readonly tx_hash: string | null
  readonly reason: string
  readonly failure_code: string | null
  readonly created_at: bigint
  readonly updated_at: bigint
  readonly exception_id: string | null
  readonly customer_id: string | null
  readonly metadata: Readonly<Record<string, unknown>>
}

/** Money that came in or went out. */
export type MovementRow =
  | (PaymentRow & { readonly kind: "payment" })
  | (RefundRow & { readonly kind: "refund" })

/** A balance transaction. */
export interface BookingRow {
  readonly id: string
  readonly environment: string
  /** Whether it is of the environment that is asked for. */
  readonly is_asked_for: boolean
  readonly type: string
  readonly is_pending: boolean
  /** How a pending one ended; null: it has not. */
  readonly end: "posted" | "voided" | null
  readonly amount: bigint
  readonly net: bigint
  readonly asset: string | null
  /** Base units. */
  readonly units: string
  readonly source_object: string
  readonly source_id: string
  readonly reverses: string | null
  readonly created_at: bigint
  /** Nothing of it is an invoice's. */
  readonly metadata: Readonly<Record<string, unknown>>
}

interface EntryRow {
  readonly transaction_id: string
  readonly step: number
  readonly line: number
  readonly environment: string
  /** As {@link BookingRow}'s. */
  readonly is_asked_for: boolean
  readonly kind: string
  readonly debit: string
  readonly credit: string
  readonly asset: string
  /** Base units. */
  readonly units: string
  readonly usd_millis: bigint
  readonly created_at: bigint
  readonly type: string
  readonly source_object: string
  readonly source_id: string
}

/** One of the two sides of an entry. */
export interface JournalRow extends EntryRow {
  /** Its entry's place. */
  readonly id: string
  readonly side: "debit" | "credit"
  readonly metadata: Readonly<Record<string, unknown>>
}

/** Statements over one SqlClient; a failing one is a defect. */
export const make = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const until = sql`clock_timestamp() + ${leaseSeconds}::integer * interval '1 second'`

  /** False where another export of the merchant is under way, in any process. */
  const acquire = (merchantId: number, holder: string) =>
    sql`INSERT INTO export_leases AS l (merchant_id, holder, until) VALUES (${merchantId}, ${holder}, ${until})
      ON CONFLICT (merchant_id) DO UPDATE SET holder = excluded.holder, until = excluded.until
        WHERE l.until <= clock_timestamp() RETURNING 1`.pipe(Effect.orDie, Effect.map((rows) => rows.length === 1))

  /** False where the time ran out and another export took the place. */
  const renew = (merchantId: number, holder: string) =>
    sql`UPDATE export_leases SET until = ${until} WHERE merchant_id = ${merchantId} AND holder = ${holder}
      RETURNING 1`.pipe(Effect.orDie, Effect.map((rows) => rows.length === 1))

  const release = (merchantId: number, holder: string) =>
    sql`DELETE FROM export_leases WHERE merchant_id = ${merchantId} AND holder = ${holder}`.pipe(
      Effect.catch((error) => Effect.logWarning("The place of an export was not given up; it runs out", error))
    )

  /** Every row behind `after`, whatever its moment: so the cost of a statement has a limit. */
  const invoices = ({ after, environment, merchantId }: PageQuery) =>
    sql<InvoiceRow>`SELECT id, environment, type, status, amount, amount_paid, customer_id, order_id,
        payer_wallet_network, payer_wallet_address, created_at, expires_at, paid_at, metadata
      FROM invoices WHERE merchant_id = ${merchantId} AND environment = ${environment} AND id > ${after}::uuid
      ORDER BY id LIMIT ${pageRows}`.pipe(Effect.orDie)

  /** As {@link invoices}; the customer and the metadata are those of the invoice. */
  const payments = ({ after, environment, merchantId }: PageQuery) =>
    sql<PaymentRow>`SELECT p.id, p.invoice_id, p.environment, p.status, p.network, p.token_id, p.token_decimals,
        p.units::text AS units, p.amount, p.tx_hash, p.sender, p.seen_at, p.created_at, p.confirmed_at,
        p.metadata -> 'token' AS token, p.metadata -> 'quote' AS quote, i.customer_id, i.metadata
      FROM (SELECT * FROM invoice_payments
        WHERE merchant_id = ${merchantId} AND environment = ${environment} AND id > ${uuidPartOf(after)}::uuid
        ORDER BY id LIMIT ${pageRows}) p
      JOIN invoices i ON i.id = p.invoice_id AND i.merchant_id = p.merchant_id ORDER BY p.id`.pipe(Effect.orDie)

  /** As {@link payments}. The ids are `re_` and a UUID; `after` is one, or the UUID alone. */
  const refunds = ({ after, environment, merchantId }: PageQuery) =>
    sql<RefundRow>`SELECT r.id, r.invoice_id, r.environment, r.status, r.amount, r.fee, r.destination, r.token,
        r.token_amount::text AS token_amount, r.tx_hash, r.reason, r.failure_code, r.created_at, r.updated_at,
        r.terms ->> 'exceptionId' AS exception_id, i.customer_id, coalesce(i.metadata, '{}'::json) AS metadata
      FROM (SELECT * FROM refunds
        WHERE merchant_id = ${merchantId} AND environment = ${environment} AND id > ${refundIdOf(after)}
        ORDER BY id LIMIT ${pageRows}) r
      LEFT JOIN invoices i ON i.id = r.invoice_id AND i.merchant_id = r.merchant_id ORDER BY r.id`.pipe(Effect.orDie)

  /** Both, in the order of their UUIDs. */
  const movements = (query: PageQuery) =>
    Effect.map(Effect.all([payments(query), refunds(query)]), ([received, refunded]) => {
      const rows: ReadonlyArray<MovementRow> = [
        ...received.map((row) => ({ ...row, kind: "payment" as const })),
        ...refunded.map((row) => ({ ...row, kind: "refund" as const }))
      ]
      return rows.toSorted((a, b) => (uuidPartOf(a.id) < uuidPartOf(b.id) ? -1 : 1)).slice(0, pageRows)
    })

  /**
   * Rows of both environments: the key knows none, and an index more would be one more to write for each payment. So
   * the cost of a statement has a limit here as well.
   */
  const bookings = ({ after, environment, merchantId }: PageQuery) =>
    sql<BookingRow>`SELECT t.id, t.environment, t.environment = ${environment} AS is_asked_for, t.type, t.is_pending,
        (SELECT e.kind FROM ledger_entries e
          WHERE e.merchant_id = t.merchant_id AND e.transaction_id = t.id AND e.step = 2 LIMIT 1) AS end,
        t.amount, t.net, t.asset, t.units::text AS units, t.source_object, t.source_id, t.reverses,
        t.booked_micros / 1000000 AS created_at, '{}'::json AS metadata
      FROM balance_transactions t WHERE t.merchant_id = ${merchantId} AND t.id > ${after}
      ORDER BY t.id LIMIT ${pageRows}`.pipe(Effect.orDie)

  /** As {@link bookings}, in the order of the entries' key; each is two rows. */
  const journal = ({ after, environment, merchantId }: PageQuery) => {
    const [transactionId, step, line] = entryPlaceOf(after)
    return sql<EntryRow>`SELECT e.transaction_id, e.step, e.line, e.environment,
        e.environment = ${environment} AS is_asked_for, e.kind, e.debit, e.credit, e.asset, e.units::text AS units,
        e.usd_millis, e.created_at, t.type, t.source_object, t.source_id
      FROM (SELECT * FROM ledger_entries WHERE merchant_id = ${merchantId}
          AND (transaction_id, step, line) > (${transactionId}, ${step}::smallint, ${line}::smallint)
        ORDER BY transaction_id, step, line LIMIT ${pageRows / 2}) e
      JOIN balance_transactions t ON t.merchant_id = e.merchant_id AND t.id = e.transaction_id
      ORDER BY e.transaction_id, e.step, e.line`.pipe(Effect.orDie, Effect.map((rows) => rows.flatMap(sidesOf)))
  }

  return { acquire, renew, release, invoices, payments, refunds, movements, bookings, journal }
})

const refundPrefix = "re_"

const uuidPartOf = (id: string): string => (id.startsWith(refundPrefix) ? id.slice(refundPrefix.length) : id)

const refundIdOf = (id: string): string => refundPrefix + uuidPartOf(id)

const sidesOf = (entry: EntryRow): ReadonlyArray<JournalRow> => {
  const id = `${entry.transaction_id}/${entry.step}/${entry.line}`
  return (["debit", "credit"] as const).map((side) => ({ ...entry, id, side, metadata: {} }))
}

/** The key of an entry, without the merchant. {@link firstId} is before every other. */
const entryPlaceOf = (id: string): readonly [transactionId: string, step: number, line: number] => {
  const [transactionId, step = 0, line = 0] = id.split("/")
  return [transactionId!, Number(step), Number(line)]
}
