/** The only SQL of quotes. */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Write } from "../../runtime/Commit.ts"
import { InvoiceId, QuoteId, TokenId } from "../../schemas/Ids.ts"
import { baseUnits, readRate, usdMillis } from "../../schemas/Money.ts"
import { Environment, type Network, Network as NetworkSchema } from "../../schemas/Network.ts"
import { quoteGraceSeconds } from "../../schemas/Quote.ts"
import type { QuoteRow } from "./rules.ts"

/** Quotes of one route that are looked at when a transfer is valued; one lives 420 s, so this is one every 4 s. */
export const maximumCandidates = 100

const Row = Schema.Struct({
  id: QuoteId,
  merchant_id: Schema.Int,
  invoice_id: InvoiceId,
  network: NetworkSchema,
  token_id: TokenId,
  decimals: Schema.Int,
  environment: Environment,
  exchange_rate: Schema.String,
  rate_source: Schema.String,
  priced_at: Schema.BigInt,
  token_amount: Schema.String,
  amount_remaining: Schema.BigInt,
  created_at: Schema.BigInt,
  valid_until: Schema.BigInt,
  shown: Schema.Boolean
})

const decodeRows = Schema.decodeUnknownEffect(Schema.Array(Row))

const fromRow = (row: typeof Row.Type): Effect.Effect<QuoteRow> => {
  const rate = readRate(row.exchange_rate)
  return rate === undefined ? Effect.die(new Error(`Quote ${row.id} has an unreadable rate`)) : Effect.succeed({
    id: row.id,
    merchantId: row.merchant_id,
    invoiceId: row.invoice_id,
    network: row.network,
    tokenId: row.token_id,
    decimals: row.decimals,
    environment: row.environment,
    exchangeRate: row.exchange_rate,
    rate,
    rateSource: row.rate_source,
    pricedAt: Number(row.priced_at),
    tokenAmount: baseUnits(BigInt(row.token_amount)),
    amountRemaining: usdMillis(row.amount_remaining),
    createdAt: Number(row.created_at),
    validUntil: Number(row.valid_until),
    isShown: row.shown
  })
}

/** A quote is written once and never changed. */
export const writeOf = (quote: QuoteRow): Write => ({
  table: "quotes",
  row: {
    id: quote.id,
    merchant_id: quote.merchantId,
    version: 1,
    invoice_id: quote.invoiceId,
    network: quote.network,
    token_id: quote.tokenId,
    decimals: quote.decimals,
    environment: quote.environment,
    exchange_rate: quote.exchangeRate,
    rate_source: quote.rateSource,
    priced_at: quote.pricedAt,
    token_amount: quote.tokenAmount.toString(),
    amount_remaining: quote.amountRemaining.toString(),
    created_at: quote.createdAt,
    valid_until: quote.validUntil,
    shown: quote.isShown
  }
})

export const makeRepo = Effect.map(SqlClient.SqlClient, (sql) => {
  const read = (rows: Effect.Effect<unknown, unknown>) =>
    rows.pipe(
      Effect.flatMap(decodeRows),
      Effect.flatMap(Effect.forEach(fromRow)),
      Effect.orDie
    )
  const first = ([row]: ReadonlyArray<QuoteRow>): QuoteRow | null => row ?? null

  return {
    /** A merchant's quote in one environment: another's is as unknown as none. */
    get: (merchantId: number, environment: Environment, id: string): Effect.Effect<QuoteRow | null> =>
      read(sql`
        SELECT * FROM quotes
        WHERE id = ${id} AND merchant_id = ${merchantId} AND environment = ${environment}`).pipe(Effect.map(first)),

    /** The newest quote of a route. */
    newest: (invoiceId: string, network: Network, tokenId: number): Effect.Effect<QuoteRow | null> =>
      read(sql`
        SELECT * FROM quotes
        WHERE invoice_id = ${invoiceId} AND network = ${network} AND token_id = ${tokenId}
        ORDER BY created_at DESC, id DESC
        LIMIT 1`).pipe(Effect.map(first)),

    /** The quote shown last to the payor of each invoice that has one. */
    newestShown: (invoiceIds: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<QuoteRow>> =>
      read(sql`
        SELECT newest.* FROM unnest(${[...invoiceIds]}::text[]) AS asked(invoice_id)
        CROSS JOIN LATERAL (
          SELECT * FROM quotes
          WHERE quotes.invoice_id = asked.invoice_id AND shown
          ORDER BY created_at DESC, id DESC
          LIMIT 1
        ) AS newest`),

    /** The newest quote of each route that was shown. */
    newestOfRoutes: (invoiceId: string): Effect.Effect<ReadonlyArray<QuoteRow>> =>
      read(sql`
        SELECT DISTINCT ON (network, token_id) * FROM quotes WHERE invoice_id = ${invoiceId} AND shown
        ORDER BY network, token_id, created_at DESC, id DESC`),

    /** Quotes of a route that hold for a transfer seen at `seenAt` epoch seconds, grace included, newest first. */
    validAt: (
      invoiceId: string,
      network: Network,
      tokenId: number,
      seenAt: number
    ): Effect.Effect<ReadonlyArray<QuoteRow>> =>
      read(sql`
        SELECT * FROM quotes
        WHERE invoice_id = ${invoiceId} AND network = ${network} AND token_id = ${tokenId}
          AND created_at <= ${seenAt} AND valid_until >= ${seenAt - quoteGraceSeconds}
        ORDER BY created_at DESC, id DESC
        LIMIT ${maximumCandidates}`),

    /** The newest quote of a route that was given by `seenAt` epoch seconds, ended or not; none or one. */
    lastIssuedBy: (
      invoiceId: string,
      network: Network,
      tokenId: number,
      seenAt: number
    ): Effect.Effect<ReadonlyArray<QuoteRow>> =>
      read(sql`
        SELECT * FROM quotes
        WHERE invoice_id = ${invoiceId} AND network = ${network} AND token_id = ${tokenId} AND created_at <= ${seenAt}
        ORDER BY created_at DESC, id DESC
        LIMIT 1`)
  }
})
