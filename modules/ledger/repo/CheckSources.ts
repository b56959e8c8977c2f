/**
 * What refunds, adjustments, payouts and settlements should have brought to the accounts, by their own tables: parts of
 * the statement of the check. A module that is left out has no table; then its part is as it was booked.
 *
 * Each part reads what that statement has by the names `bookings`, `booked_refunds` and `payments`, and answers rows of
 * (merchant_id, environment, account, asset, units, usd_millis).
 */
import { Effect } from "effect"
import { revertedCode } from "../../../schemas/Refund.ts"
import { accounts, chainAccount, chainPrefix, settledAccount, unknownWallet } from "../rules.ts"
import type { SqlClient, Statement } from "effect/sql"

type Fragment = Statement.Fragment

/** All accounts of wallets, as LIKE takes them. */
const chainAccounts = `${chainPrefix}%`

/** As it was booked of such an object. */
const asBooked = (sql: SqlClient.SqlClient, sourceObject: string) =>
  sql`SELECT merchant_id, environment, account, asset, units, usd_millis FROM bookings
    WHERE source_object = ${sourceObject}`

/**
 * Refunds. One of a payment, or of money that pays no invoice, is fixed in its units: what is held for it and what has
 * left its wallet follow from it and that money. One of an order is fixed in dollars: its sums must be right, however
 * it was divided among payments. From where its money was taken was decided when it was opened, so that account is as
 * it was booked.
 */
const refunds = (sql: SqlClient.SqlClient) =>
  sql`SELECT merchant_id, environment, account, asset, units, usd_millis FROM (
      SELECT b.merchant_id, b.environment, b.source_id, b.account, b.asset, b.units, b.usd_millis
      FROM bookings b JOIN refunds r ON r.merchant_id = b.merchant_id AND r.id = b.source_id
      WHERE b.source_object = 'refund' AND b.account <> ${accounts.refundPayable} AND b.account NOT LIKE ${chainAccounts}
      UNION ALL
      SELECT r.merchant_id, r.environment, r.source_id,
        CASE r.status WHEN 'succeeded' THEN ${chainPrefix} || coalesce(s.wallet, r.wallet)
          ELSE ${accounts.refundPayable} END, r.asset,
        -((r.terms ->> 'units')::numeric
          - CASE r.status WHEN 'succeeded' THEN (r.terms ->> 'feeUnits')::numeric ELSE 0 END),
        -(r.amount - CASE r.status WHEN 'succeeded' THEN r.fee ELSE 0 END)
      FROM (
        SELECT k.merchant_id, k.environment, k.source_id, r.status, r.failure_code, r.terms, r.amount, r.fee, p.asset,
          p.wallet
        FROM booked_refunds k JOIN refunds r ON r.merchant_id = k.merchant_id AND r.id = k.source_id
          JOIN all_payments p ON p.merchant_id = r.merchant_id AND p.id = r.payment_id
        UNION ALL
        SELECT k.merchant_id, k.environment, k.source_id, r.status, r.failure_code, r.terms, r.amount, r.fee,
          (x.evidence ->> 'network') || ':' || coalesce(x.evidence ->> 'token', 'native'),
          coalesce(x.evidence ->> 'wallet', ${unknownWallet})
        FROM booked_refunds k JOIN refunds r ON r.merchant_id = k.merchant_id AND r.id = k.source_id
          JOIN exceptions x ON x.merchant_id = r.merchant_id AND x.id = r.terms ->> 'exceptionId'
        WHERE r.invoice_id IS NULL
      ) r LEFT JOIN payout_proofs s ON s.merchant_id = r.merchant_id AND s.refund_id = r.source_id
      WHERE r.terms IS NOT NULL AND r.status NOT IN ('canceled', 'expired')
        AND (r.status = 'failed' AND r.failure_code = ${revertedCode}) IS NOT TRUE
      UNION ALL
      SELECT k.merchant_id, k.environment, k.source_id, b.account, b.asset, b.units, b.usd_millis
      FROM booked_refunds k JOIN refunds r ON r.merchant_id = k.merchant_id AND r.id = k.source_id
        JOIN bookings b ON b.merchant_id = k.merchant_id AND b.source_object = 'refund' AND b.source_id = k.source_id
      WHERE r.terms IS NULL AND CASE r.status WHEN 'succeeded' THEN b.account LIKE ${chainAccounts}
        WHEN 'canceled' THEN false WHEN 'expired' THEN false ELSE b.account = ${accounts.refundPayable} END
      UNION ALL
      SELECT k.merchant_id, k.environment, k.source_id,
        CASE r.status WHEN 'succeeded' THEN coalesce(k.wallet, ${
    chainAccount(null)
  }) ELSE ${accounts.refundPayable} END,
        coalesce(CASE r.status WHEN 'succeeded' THEN k.sent_asset END, k.asset),
        CASE r.status WHEN 'succeeded' THEN -r.token_amount - k.sent_units ELSE 0 END,
        CASE r.status WHEN 'succeeded' THEN -(r.amount - r.fee) - k.sent ELSE -r.amount - k.held END
      FROM booked_refunds k JOIN refunds r ON r.merchant_id = k.merchant_id AND r.id = k.source_id
      WHERE r.terms IS NULL AND r.status NOT IN ('canceled', 'expired')
    ) of_refunds`

const adjustments = (sql: SqlClient.SqlClient, ofMerchant: Fragment) =>
  sql`SELECT a.merchant_id, a.environment, s.account, a.asset, s.units, s.usd_millis
    FROM reconciliation_adjustments a, LATERAL (VALUES
      (a.account, a.units, a.usd_millis),
      (${accounts.available}, a.ignored_units - a.units, a.ignored_usd_millis - a.usd_millis),
      (${accounts.ignored}, -a.ignored_units, -a.ignored_usd_millis)) s (account, units, usd_millis)
    WHERE ${ofMerchant}`

/**
 * Payouts of the merchant's own: the units of their lines. What they were worth was decided when they were booked.
 */
const payouts = (sql: SqlClient.SqlClient) =>
  sql`SELECT k.merchant_id, k.environment, s.account, b.network || ':' || coalesce(l.token_address, 'native'),
      s.sign * -l.units, s.sign * k.usd_millis
    FROM bookings k
      JOIN batch_lines l ON l.merchant_id = k.merchant_id AND l.batch_id = split_part(k.source_id, '/', 1)
        AND l.line = split_part(k.source_id, '/', 2)::integer
      JOIN batches b ON b.merchant_id = l.merchant_id AND b.id = l.batch_id, LATERAL
      (VALUES (k.account, 1), (${accounts.available}, -1)) s (account, sign)
    WHERE k.source_object = 'batch_line' AND k.account LIKE ${chainAccounts} AND b.kind = 'payouts' AND l.status = 'paid'`

/** Money that left although nothing owed it: missing in suspense until a decision says who bears it. */
const sentMoney = (sql: SqlClient.SqlClient) =>
  sql`SELECT k.merchant_id, k.environment, s.account,
      (x.evidence ->> 'network') || ':' || coalesce(x.evidence ->> 'token', 'native'),
      s.sign * -(x.evidence ->> 'token_amount')::numeric * CASE WHEN x.evidence ->> 'token_amount_unit' = 'token'
        THEN ('1e' || (x.evidence ->> 'token_decimals'))::numeric ELSE 1 END, s.sign * k.usd_millis
    FROM bookings k JOIN exceptions x ON x.merchant_id = k.merchant_id AND x.id = k.source_id, LATERAL
      (VALUES (${chainPrefix} || coalesce(x.evidence ->> 'wallet', ${unknownWallet}), 1),
        (CASE x.resolution ->> 'action' WHEN 'accept' THEN ${accounts.available} WHEN 'ignore' THEN ${accounts.ignored}
          ELSE ${accounts.suspense} END, -1)) s (account, sign)
    WHERE k.source_object = 'exception' AND k.account LIKE ${chainAccounts} AND x.evidence ->> 'final' = 'yes'`

/** The final payments of a day, asset and wallet, as each names its settlement. */
const settlements = (sql: SqlClient.SqlClient) =>
  sql`SELECT p.merchant_id, p.environment, s.account, p.asset, s.sign * p.units, s.sign * p.usd_millis
    FROM payments p, LATERAL (VALUES (p.settled_account, 1), (${settledAccount}, -1)) s (account, sign)
    WHERE p.settled_account IS NOT NULL`

/** What the check knows of each refund that is booked: what is held for it, and what was sent. */
export const bookedRefunds = (sql: SqlClient.SqlClient) =>
  sql`SELECT merchant_id, environment, source_id, min(asset) AS asset,
      coalesce(sum(usd_millis) FILTER (WHERE account = ${accounts.refundPayable}), 0) AS held,
      coalesce(sum(usd_millis) FILTER (WHERE account LIKE ${chainAccounts}), 0) AS sent,
      coalesce(sum(units) FILTER (WHERE account LIKE ${chainAccounts}), 0) AS sent_units,
      min(account) FILTER (WHERE account LIKE ${chainAccounts}) AS wallet,
      min(asset) FILTER (WHERE account LIKE ${chainAccounts}) AS sent_asset
    FROM bookings WHERE source_object = 'refund' GROUP BY merchant_id, environment, source_id`

/** The parts that this database has tables for. */
export const readSources = Effect.fnUntraced(function*(
  sql: SqlClient.SqlClient,
  ofMerchant: (table: string) => Fragment
) {
  const [tables] = yield* sql<{ refunds: boolean; adjustments: boolean; batches: boolean }>`
    SELECT to_regclass('refunds') IS NOT NULL AS refunds, to_regclass('batch_lines') IS NOT NULL AS batches,
      to_regclass('reconciliation_adjustments') IS NOT NULL AS adjustments`
  return sql`${tables!.refunds ? refunds(sql) : asBooked(sql, "refund")}
    UNION ALL ${tables!.adjustments ? adjustments(sql, ofMerchant("a")) : asBooked(sql, "adjustment")}
    UNION ALL ${tables!.batches ? payouts(sql) : asBooked(sql, "batch_line")}
    UNION ALL ${sentMoney(sql)}
    UNION ALL ${settlements(sql)}
    -- Money that was refunded before the books were kept has no refund of its own.
    UNION ALL SELECT merchant_id, environment, account, asset, units, usd_millis FROM bookings
      WHERE source_object = 'invoice_payment' AND type = 'refund'`
})
