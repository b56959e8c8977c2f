/**
 * The check of the books, as of one moment and beside running commits: every balance against its entries, and against
 * the payments, exceptions, refunds, adjustments and settlements themselves, whose rules are written here a second
 * time. It reads every entry once, so it is an operator's call and none of the service's own.
 */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { accounts, assetOf, chainPrefix, settlementPrefix, unknownWallet } from "../rules.ts"
import { bookedRefunds, readSources } from "./CheckSources.ts"
import { readInFull } from "../../../runtime/store/IndexPlans.ts"
import { payoutExceptionTypes } from "../../../schemas/Payment.ts"
import { maximumCredit } from "../../../schemas/Money.ts"
import type { Environment, Network } from "../../../schemas/Network.ts"

/** A balance that is not what it should be. */
export interface BookDifference {
  readonly merchantId: number
  readonly environment: Environment
  readonly account: string
  readonly asset: string
  /** What it was compared with. */
  readonly against: "entries" | "objects"
  readonly units: bigint
  readonly usdMillis: bigint
  readonly expectedUnits: bigint
  readonly expectedUsdMillis: bigint
}

interface Row {
  readonly merchant_id: number
  readonly environment: Environment
  readonly account: string
  readonly asset: string
  readonly against: BookDifference["against"]
  readonly units: string
  readonly usd_millis: string
  readonly expected_units: string
  readonly expected_usd_millis: string
  readonly found: number
}

/** What a check found. */
export interface BookCheck {
  /** At most {@link maximumDifferences}. */
  readonly differences: ReadonlyArray<BookDifference>
  /** How many there are beside those. */
  readonly more: number
}

/** An answer names so many, which is one message: where there are more, something is wrong with all of them. */
const maximumDifferences = 1_000

const readCheck = (rows: ReadonlyArray<Row>): BookCheck => ({
  differences: rows.map((row) => ({
    merchantId: row.merchant_id,
    environment: row.environment,
    account: row.account,
    asset: row.asset,
    against: row.against,
    units: BigInt(row.units),
    usdMillis: BigInt(row.usd_millis),
    expectedUnits: BigInt(row.expected_units),
    expectedUsdMillis: BigInt(row.expected_usd_millis)
  })),
  more: (rows[0]?.found ?? 0) - rows.length
})

/** Tokens that the catalogue spells in another way than the books, with the asset by which the books name them. */
const otherSpellings = (sql: SqlClient.SqlClient) =>
  sql<{ readonly network: Network; readonly address: string }>`SELECT DISTINCT network, address FROM tokens
    WHERE address IS NOT NULL`.pipe(
    Effect.orDie,
    Effect.map((tokens) =>
      tokens.map(({ address, network }) => ({ network, address, asset: assetOf(network, { address }, null) }))
        .filter(({ address, asset, network }) => asset !== `${network}:${address}`)
    )
  )

/** Of one merchant, or of all and the operator. */
export const checkBooks = (sql: SqlClient.SqlClient) =>
  Effect.fnUntraced(function*(merchantId: number | null) {
    const ofMerchant = (table: string) =>
      merchantId === null ? sql`true` : sql`${sql(table)}.merchant_id = ${merchantId}`
    const sources = yield* Effect.orDie(readSources(sql, ofMerchant))
    const spellings = JSON.stringify(yield* otherSpellings(sql))
    return yield* sql<Row>`WITH spellings AS (
      SELECT * FROM json_to_recordset(${spellings}::json) AS s (network text, address text, asset text)
    ), held AS (
      SELECT merchant_id, environment, account, asset, units, usd_millis FROM account_balances b
      WHERE ${ofMerchant("b")}
    ), entries AS (
      SELECT e.merchant_id, e.environment, e.asset, e.units, e.usd_millis, e.debit, e.credit, t.type, t.source_object,
        t.source_id
      FROM ledger_entries e JOIN balance_transactions t ON t.merchant_id = e.merchant_id AND t.id = e.transaction_id
      WHERE ${ofMerchant("e")}
    ), bookings AS (
      SELECT merchant_id, environment, type, source_object, source_id, account, asset, sum(units) AS units,
        sum(usd_millis) AS usd_millis
      FROM (
        SELECT *, debit AS account FROM entries
        UNION ALL
        SELECT merchant_id, environment, asset, -units, -usd_millis, debit, credit, type, source_object, source_id,
          credit FROM entries
      ) sides
      WHERE source_object IN ('refund', 'adjustment', 'batch_line')
        OR source_object = 'invoice_payment' AND type = 'refund' OR source_object = 'exception' AND type = 'payout'
      GROUP BY merchant_id, environment, type, source_object, source_id, account, asset
    ), booked_refunds AS (
      ${bookedRefunds(sql)}
    ), all_payments AS (
      SELECT p.merchant_id, p.id, p.environment, p.balance_transaction_id IS NOT NULL AND p.status <> 'reverted'
          AS is_booked, coalesce(s.asset, p.network || ':' || CASE WHEN json_typeof(p.metadata -> 'token') = 'object'
          THEN coalesce(p.metadata -> 'token' ->> 'address', 'native')
          ELSE 'token-' || coalesce(p.token_id::text, 'unknown') END) AS asset,
        coalesce(p.wallet, ${unknownWallet}) AS wallet, p.units,
        CASE WHEN p.status <> 'rejected' OR p.amount > 0 OR p.token_decimals IS NULL
            OR p.metadata -> 'quote' ->> 'exchange_rate' IS NULL THEN p.amount
          ELSE least(${maximumCredit.toString()}::numeric, floor(p.units
            * (p.metadata -> 'quote' ->> 'exchange_rate')::numeric * 1000 / ('1e' || p.token_decimals)::numeric))
          END AS usd_millis,
        CASE WHEN p.status IN ('underpaid', 'confirmed') THEN ${accounts.available}
          WHEN p.status <> 'rejected' THEN ${accounts.pending}
          WHEN x.action = 'credit' THEN
            CASE WHEN p.confirmed_at IS NULL THEN ${accounts.pending} ELSE ${accounts.available} END
          WHEN x.action = 'ignore' THEN ${accounts.ignored} ELSE ${accounts.suspense} END AS account,
        CASE WHEN p.status IN ('underpaid', 'confirmed') AND p.settlement ->> 'progress' = 'settled'
            AND p.settlement ->> 'txHash' IS NULL AND p.settlement ->> 'settledAt' IS NOT NULL
          THEN ${settlementPrefix} || lpad(div((p.settlement ->> 'settledAt')::numeric, 86400)::text, 6, '0') || ':'
            || (p.settlement ->> 'id') || ':' || coalesce(p.wallet, ${unknownWallet}) END AS settled_account
      FROM invoice_payments p
      LEFT JOIN spellings s ON s.network = p.network AND s.address = p.metadata -> 'token' ->> 'address'
      LEFT JOIN LATERAL (
        SELECT x.resolution ->> 'action' AS action FROM exceptions x
        WHERE x.merchant_id = p.merchant_id AND x.invoice_id = p.invoice_id AND x.invoice_payment_id = p.id
          AND x.type = p.metadata ->> 'exception'
        ORDER BY x.created_at DESC, x.resolved_at DESC NULLS FIRST, x.id DESC LIMIT 1
      ) x ON p.status = 'rejected'
      WHERE ${ofMerchant("p")}
    ), payments AS (
      SELECT * FROM all_payments WHERE is_booked
    ), unmatched AS (
      SELECT x.merchant_id, x.environment,
        coalesce(s.asset, (x.evidence ->> 'network') || ':' || coalesce(x.evidence ->> 'token', 'native')) AS asset,
        coalesce(x.evidence ->> 'wallet', ${unknownWallet}) AS wallet,
        (x.evidence ->> 'token_amount')::numeric * CASE WHEN x.evidence ->> 'token_amount_unit' = 'token'
          THEN ('1e' || (x.evidence ->> 'token_decimals'))::numeric ELSE 1 END AS units, x.amount AS usd_millis,
        CASE x.resolution ->> 'action' WHEN 'credit' THEN ${accounts.available} WHEN 'ignore' THEN ${accounts.ignored}
          ELSE ${accounts.suspense} END AS account
      FROM exceptions x
      LEFT JOIN spellings s ON s.network = x.evidence ->> 'network' AND s.address = x.evidence ->> 'token'
      WHERE ${ofMerchant("x")} AND x.invoice_id IS NULL AND x.evidence ->> 'token_amount' IS NOT NULL
        AND x.type <> ALL (${[...payoutExceptionTypes]}::text[])
        AND (x.status = 'open' OR x.resolution ->> 'action' IN ('credit', 'ignore')
          OR x.resolution ->> 'action' = 'refund' AND x.resolution ->> 'isReverted' IS NULL)
        AND EXISTS (SELECT FROM balance_transactions t WHERE t.merchant_id = x.merchant_id AND t.source_id = x.id OFFSET 0)
    ), received AS (
      SELECT merchant_id, environment, asset, wallet, units, usd_millis, account FROM payments
      UNION ALL
      TABLE unmatched
    ), expected AS (
      SELECT 'entries' AS against, merchant_id, environment, debit AS account, asset, units, usd_millis FROM entries
      UNION ALL
      SELECT 'entries', merchant_id, environment, credit, asset, -units, -usd_millis FROM entries
      UNION ALL
      SELECT 'objects', s.* FROM (${sources}) s
      UNION ALL
      SELECT 'objects', merchant_id, environment, ${chainPrefix} || wallet, asset, units, usd_millis FROM received
      UNION ALL
      SELECT 'objects', merchant_id, environment, account, asset, -units, -usd_millis FROM received
    ), compared AS (
      SELECT against, merchant_id, environment, account, asset, sum(units) AS units, sum(usd_millis) AS usd_millis,
        sum(expected_units) AS expected_units, sum(expected_usd_millis) AS expected_usd_millis
      FROM (
        SELECT against, merchant_id, environment, account, asset, 0 AS units, 0 AS usd_millis, units AS expected_units,
          usd_millis AS expected_usd_millis FROM expected
        UNION ALL
        SELECT against, merchant_id, environment, account, asset, units, usd_millis, 0, 0
          FROM held, (VALUES ('entries'), ('objects')) a (against)
      ) both_sides
      GROUP BY against, merchant_id, environment, account, asset
    )
    SELECT against, merchant_id, environment, account, asset, units::text AS units, usd_millis::text AS usd_millis,
      expected_units::numeric(78, 0)::text AS expected_units, expected_usd_millis::numeric(38, 0)::text AS expected_usd_millis,
      (count(*) OVER ())::integer AS found
    FROM compared WHERE units <> expected_units OR usd_millis <> expected_usd_millis
    ORDER BY merchant_id, environment, asset, account, against LIMIT ${maximumDifferences}`.pipe(
      readInFull(sql),
      Effect.orDie,
      Effect.map(readCheck)
    )
  })
