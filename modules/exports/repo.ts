/** The only SQL of exports: who exports, and one page of rows. */
import { Effect } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import type { Environment, Network } from "../../schemas/Network.ts"
import type { PaymentMetadata } from "../../schemas/Payment.ts"
import { nativeAddress } from "../../schemas/Token.ts"
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
  readonly token: { readonly id: number | null; readonly symbol: string; readonly decimals: number } | null
  /** Null: the network's own coin, or no token is known yet. */
  readonly token_address: string | null
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

/** What a wallet paid a network for the transaction of a batch's part. */
export interface NetworkFee {
  readonly batch_id: string
  readonly fee_network: Network
  /** Base units of the network's coin. */
  readonly network_fee: string
  readonly fee_tx_hash: string
}

/** The fee stands with the first line that its transaction paid. All null: none is known, or another line has it. */
type FeeColumns = NetworkFee | { readonly [Column in keyof NetworkFee]: null }

/** What moved of a wallet's money without an invoice: a balance transaction of the type `payout` or `adjustment`. */
export interface SentRow {
  /** The balance transaction's. */
  readonly id: string
  /** Whether it is such a transaction, and of the environment that is asked for. */
  readonly is_exported: boolean
  readonly asset_network: string
  /** Null: the network's coin. */
  readonly token_address: string | null
  /** Of the line or the exception; null: they do not know it. */
  readonly token: { readonly symbol: string; readonly decimals: number } | null
  /** Base units, below zero where they went out. */
  readonly units: string
  /** What the line or the transfer was worth when it was sent; null: nobody has said. */
  readonly amount: bigint | null
  readonly tx_hash: string | null
  readonly source_object: string
  readonly source_id: string
  readonly reference: string | null
  readonly created_at: bigint
}

/** Money that came in or went out. */
export type MovementRow =
  & { readonly metadata: Readonly<Record<string, unknown>> }
  & (
    | (PaymentRow & { readonly kind: "payment" })
    | (RefundRow & { readonly kind: "refund" })
    | (SentRow & { readonly kind: "sent" })
    | (NetworkFee & {
      readonly kind: "fee"
      /** Of the movement that it was paid for. */
      readonly id: string
      readonly paid_at: bigint
    })
  )

/** A balance transaction. */
export interface BookingRow {
  readonly id: string
  readonly environment: string
  /** Whether it is of the environment that is asked for. */
  readonly is_exported: boolean
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
  readonly is_exported: boolean
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

/** The statements of what came in or went out, over those of payments and refunds. */
const makeMovements = (
  sql: SqlClient.SqlClient,
  { payments, refundRows }: {
    readonly payments: (query: PageQuery) => Effect.Effect<ReadonlyArray<PaymentRow>>
    readonly refundRows: <Row extends RefundRow>(
      query: PageQuery,
      more: { readonly columns: Statement.Fragment; readonly join: Statement.Fragment }
    ) => Effect.Effect<ReadonlyArray<Row>>
  }
) => {
  /** Whether this database has tables of batches: a config file may leave that module out. */
  const hasBatches = Effect.map(
    Effect.orDie(sql<{ batches: boolean }>`SELECT to_regclass('batch_lines') IS NOT NULL AS batches`),
    ([found]) => found!.batches
  )

  /**
   * The fee of the transaction that paid the line `l` of a batch. Each line of a `csv` is paid by a transaction of its
   * own, whose fee nobody keeps, so nothing is told of it.
   */
  const feeColumns = sql`f.batch_id, f.fee_network, f.network_fee, f.fee_tx_hash`
  const feeOfLine = sql`LATERAL (
      SELECT b.id AS batch_id, b.network AS fee_network, p ->> 'fee' AS network_fee, p ->> 'txHash' AS fee_tx_hash
      FROM batches b, json_array_elements(b.parts) p
      WHERE b.merchant_id = l.merchant_id AND b.id = l.batch_id AND (p ->> 'part')::integer = l.part
        AND l.status = 'paid' AND p ->> 'txHash' = l.tx_hash AND (p ->> 'fee')::numeric > 0
        AND p -> 'export' ->> 'format' <> 'csv'
        AND NOT EXISTS (SELECT FROM batch_lines o WHERE o.merchant_id = l.merchant_id AND o.batch_id = l.batch_id
          AND o.tx_hash = l.tx_hash AND o.status = 'paid' AND o.line < l.line)
    ) f`

  /** Refunds with what the transaction that paid them cost. */
  const paidRefunds = (query: PageQuery, isBatched: boolean) =>
    refundRows<RefundRow & FeeColumns>(query, {
      columns: isBatched ? sql`, ${feeColumns}` : sql``,
      join: isBatched
        ? sql`LEFT JOIN batch_lines l ON l.refund_id = r.id AND l.merchant_id = r.merchant_id AND l.status = 'paid'
          LEFT JOIN ${feeOfLine} ON true`
        : sql``
    })

  /** As {@link bookings}: every balance transaction, of which few are such movements. */
  const sentRows = ({ after, environment, merchantId }: PageQuery, isBatched: boolean) =>
    sql<SentRow & FeeColumns>`SELECT t.id, t.environment = ${environment} AND t.type IN ('payout', 'adjustment')
          AS is_exported,
        split_part(t.asset, ':', 1) AS asset_network,
        nullif(substr(t.asset, strpos(t.asset, ':') + 1), ${nativeAddress}) AS token_address,
        t.units::text AS units, t.source_object, t.source_id, t.booked_micros / 1000000 AS created_at,
        ${
      isBatched
        ? sql`CASE WHEN l.line IS NOT NULL THEN json_build_object('symbol', l.symbol, 'decimals', l.decimals)
            WHEN x.evidence ->> 'token_decimals' IS NOT NULL AND x.evidence ->> 'token_symbol' IS NOT NULL
            THEN json_build_object('symbol', x.evidence -> 'token_symbol', 'decimals', x.evidence -> 'token_decimals')
          END AS token, coalesce(l.amount, x.amount) AS amount,
          coalesce(l.tx_hash, x.evidence ->> 'tx_hash') AS tx_hash,
          l.reference, ${feeColumns}`
        : sql`NULL AS token, NULL::bigint AS amount, NULL AS tx_hash, NULL AS reference`
    }
      FROM (SELECT * FROM balance_transactions
        WHERE merchant_id = ${merchantId} AND id > ${bookingIdOf(after)} ORDER BY id LIMIT ${pageRows}) t
      ${
      isBatched
        ? sql`LEFT JOIN batch_lines l ON t.source_object = 'batch_line' AND l.merchant_id = t.merchant_id
            AND l.batch_id = split_part(t.source_id, '/', 1) AND l.line::text = split_part(t.source_id, '/', 2)
          LEFT JOIN exceptions x ON t.source_object = 'exception' AND x.merchant_id = t.merchant_id
            AND x.id = t.source_id
          LEFT JOIN ${feeOfLine} ON true`
        : sql``
    }
      ORDER BY t.id`.pipe(Effect.orDie)

  /** All of these in the order of their UUIDs, each fee behind what it was for. Only the books have what was sent. */
  const movements = Effect.fnUntraced(function*(query: PageQuery, hasBooks: boolean) {
    const isBatched = yield* hasBatches
    const [received, refunded, sent] = yield* Effect.all([
      payments(query),
      paidRefunds(query, isBatched),
      hasBooks ? sentRows(query, isBatched) : Effect.succeed([])
    ])
    const rows: ReadonlyArray<ReadonlyArray<MovementRow>> = [
      ...received.map((row) => [{ ...row, kind: "payment" as const }]),
      ...refunded.map((row) => [
        { ...row, kind: "refund" as const },
        ...(row.status === "succeeded" ? feeRows(row, row.updated_at) : [])
      ]),
      ...sent.map((row) => [
        { ...row, kind: "sent" as const, metadata: {} },
        ...(row.is_exported ? feeRows({ ...row, metadata: {} }, row.created_at) : [])
      ])
    ]
    return rows.toSorted(([a], [b]) => (uuidPartOf(a!.id) < uuidPartOf(b!.id) ? -1 : 1)).slice(0, pageRows).flat()
  })

  return movements
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
  const refundRows = <Row extends RefundRow>(
    { after, environment, merchantId }: PageQuery,
    more: { readonly columns: Statement.Fragment; readonly join: Statement.Fragment }
  ) =>
    sql<Row>`SELECT r.id, r.invoice_id, r.environment, r.status, r.amount, r.fee, r.destination, r.token,
        r.token_amount::text AS token_amount, r.tx_hash, r.reason, r.failure_code, r.created_at, r.updated_at,
        r.terms ->> 'exceptionId' AS exception_id,
        coalesce(r.terms ->> 'tokenAddress', r.token ->> 'address') AS token_address, i.customer_id, coalesce(i.metadata, '{}'::json) AS metadata
        ${more.columns}
      FROM (SELECT * FROM refunds
        WHERE merchant_id = ${merchantId} AND environment = ${environment} AND id > ${refundIdOf(after)}
        ORDER BY id LIMIT ${pageRows}) r
      LEFT JOIN invoices i ON i.id = r.invoice_id AND i.merchant_id = r.merchant_id ${more.join}
      ORDER BY r.id`.pipe(Effect.orDie)

  const refunds = (query: PageQuery) => refundRows<RefundRow>(query, { columns: sql``, join: sql`` })

  const movements = makeMovements(sql, { payments, refundRows })

  /**
   * Rows of both environments: the key knows none, and an index more would be one more to write for each payment. So
   * the cost of a statement has a limit here as well.
   */
  const bookings = ({ after, environment, merchantId }: PageQuery) =>
    sql<BookingRow>`SELECT t.id, t.environment, t.environment = ${environment} AS is_exported, t.type, t.is_pending,
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
        e.environment = ${environment} AS is_exported, e.kind, e.debit, e.credit, e.asset, e.units::text AS units,
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
const bookingPrefix = "bt_"

const uuidPartOf = (id: string): string => id.replace(/^(?:re|bt)_/u, "")

const refundIdOf = (id: string): string => refundPrefix + uuidPartOf(id)

const bookingIdOf = (id: string): string => bookingPrefix + uuidPartOf(id)

const feeRows = (
  { batch_id, fee_network, fee_tx_hash, id, metadata, network_fee }: FeeColumns & Pick<RefundRow, "id" | "metadata">,
  paidAt: bigint
): ReadonlyArray<MovementRow> =>
  // Where there are no batches, there are no columns of theirs.
  network_fee == null
    ? []
    : [{ kind: "fee", id, metadata, batch_id, fee_network, network_fee, fee_tx_hash, paid_at: paidAt }]

const sidesOf = (entry: EntryRow): ReadonlyArray<JournalRow> => {
  const id = `${entry.transaction_id}/${entry.step}/${entry.line}`
  return (["debit", "credit"] as const).map((side) => ({ ...entry, id, side, metadata: {} }))
}

/** The key of an entry, without the merchant. {@link firstId} is before every other. */
const entryPlaceOf = (id: string): readonly [transactionId: string, step: number, line: number] => {
  const [transactionId, step = 0, line = 0] = id.split("/")
  return [transactionId!, Number(step), Number(line)]
}
