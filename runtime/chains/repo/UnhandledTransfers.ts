/** Which entries of the journal the handler is asked about first, and which invoices still wait for it. */
import type { SqlClient } from "effect/sql"
import type { Family } from "../../../schemas/Network.ts"
import type { InvoiceCoverage } from "../../Chains.ts"
import { rows } from "./Rows.ts"
import { readEntry, type TransferColumns } from "./Transfers.ts"

/** An invoice, the families of its targets, and what is left to handle. */
interface CoverageColumns {
  readonly invoice_id: string
  readonly families: ReadonlyArray<Family>
  readonly handling: InvoiceCoverage["handling"]
}

/** Queries of what is left to handle. */
export const makeUnhandledQueries = (sql: SqlClient.SqlClient) => {
  const shared = rows(({ share, ...row }: TransferColumns & { readonly share: number }) => ({
    share,
    entry: readEntry(row)
  }))
  return {
    /**
     * Entries whose status the handler has not dealt with and whose pause is over: tokens of the catalogue first, then
     * merchants in turn and their invoices in turn, with at most `turn` entries of an invoice: of each of its tokens in
     * turn the largest amounts, so that dust waits for payments in whatever block and token it came. Of the shares that
     * are asked for: all entries of an invoice are in one, 0 to 7.
     */
    unhandledEntries: (
      nowMillis: number,
      shares: ReadonlyArray<number>,
      busy: ReadonlyArray<string>,
      turn: number,
      limit: number
    ) =>
      shared(sql`SELECT t.*, hashtext(coalesce(t.invoice_id, t.match_key)) & 7 AS share FROM (
          SELECT id, unlisted,
            row_number() OVER (PARTITION BY unlisted, merchant_id ORDER BY place, retry_at, height) AS turn
          FROM (
            SELECT id, unlisted, merchant_id, retry_at, height, row_number() OVER (
              PARTITION BY coalesce(invoice_id, match_key)
              ORDER BY unlisted, rank, retry_at, height, tx_index
            ) AS place
            FROM (
              SELECT *, row_number() OVER (
                PARTITION BY coalesce(invoice_id, match_key), network, token_address
                ORDER BY amount DESC, retry_at, height, tx_index
              ) AS rank
              FROM transfers
              WHERE status <> handled AND retry_at <= ${nowMillis} AND NOT (coalesce(invoice_id, id) = ANY(${busy}))
                AND hashtext(coalesce(invoice_id, match_key)) & 7 = ANY(${[...shares]}::integer[])
            ) ranked
          ) due WHERE place <= ${turn} ORDER BY unlisted, turn LIMIT ${limit}
        ) chosen JOIN transfers t USING (id) ORDER BY chosen.unlisted, chosen.turn`),
    /**
     * Families in which these invoices have targets, and what the handler has still to do for them; not those without.
     * A token that is not listed pays nothing, so nobody can hold an invoice's end by sending many.
     */
    coverageOfInvoices: (invoices: ReadonlyArray<string>, failingAttempts: number) =>
      rows(({ families, handling, invoice_id }: CoverageColumns) => ({ invoiceId: invoice_id, families, handling }))(
        sql`SELECT t.invoice_id, array_agg(t.family) AS families, CASE
            WHEN max(j.attempts) IS NULL THEN 'done' WHEN max(j.attempts) < ${failingAttempts} THEN 'under_way'
            ELSE 'failing'
          END AS handling
        FROM receive_targets t
        LEFT JOIN transfers j ON j.invoice_id = t.invoice_id AND j.status <> j.handled AND NOT j.unlisted
        WHERE t.invoice_id = ANY(${[...invoices]}::text[]) GROUP BY t.invoice_id`
      )
  }
}
