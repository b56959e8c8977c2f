/** What a screen shows of a price, as one text: on the page, and of what the socket tells. */

/** The part of a quote that a payor sees (modules/docs/reference/quotes.md#fields); its seconds pass by themselves. */
interface PriceFields {
  readonly network: string
  readonly supported_token_id: number | null
  readonly estimated_token_amount_remaining: string | null
  readonly quote_valid_until: number | null
  readonly quote_status: string | null
}

/** Equal texts show the same price. */
export const priceKey = (quote: PriceFields): string =>
  [
    quote.network,
    quote.supported_token_id,
    quote.estimated_token_amount_remaining,
    quote.quote_valid_until,
    quote.quote_status
  ].join(" ")
