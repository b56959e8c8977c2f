/**
 * The rules of quotes: what a route costs, how long that holds, and what a transfer is worth. Pure.
 */
import type { ErrorCode } from "../../schemas/Errors.ts"
import { dataText, payorEventText } from "../../schemas/Event.ts"
import type { WireObject } from "../../schemas/WireObject.ts"
import { eventIdOf, type EventPosition, type InvoiceId, type QuoteId, type TokenId } from "../../schemas/Ids.ts"
import {
  type BaseUnits,
  formatUnits,
  maximumCredit,
  type Rate,
  tokenAmountUp,
  usdDecimal,
  type UsdMillis,
  usdValueDown,
  usdWire
} from "../../schemas/Money.ts"
import { type Environment, type Network, networks } from "../../schemas/Network.ts"
import type { PaymentMetadata } from "../../schemas/Payment.ts"
import { type Quote, quoteTtlSeconds } from "../../schemas/Quote.ts"
import type { Token } from "../../schemas/Token.ts"

/**
 * A quote that has no more than this left is replaced rather than shown again
 * (modules/docs/reference/quotes.md#how-long-a-quote-holds).
 */
export const renewSeconds = 30

/** A price as the sources agreed on it; `rate` is what `text` reads as. */
export interface SpotPrice {
  readonly rate: Rate
  readonly text: string
  readonly source: string
  /** Epoch seconds. */
  readonly at: number
}

/** What is quoted, for whom. */
export interface QuoteRequest {
  readonly merchantId: number
  readonly invoiceId: InvoiceId
  readonly environment: Environment
  readonly token: { readonly id: TokenId; readonly network: Network; readonly decimals: number }
  readonly amountRemaining: UsdMillis
  /** See {@link QuoteRow.isShown}. */
  readonly isShown: boolean
}

/** A quote as it is kept. Times are epoch seconds. */
export interface QuoteRow {
  readonly id: QuoteId
  readonly merchantId: number
  readonly invoiceId: InvoiceId
  readonly network: Network
  readonly tokenId: TokenId
  /** Of the token when it was quoted: `tokenAmount` is in these units. */
  readonly decimals: number
  readonly environment: Environment
  readonly exchangeRate: string
  /** `exchangeRate`, read. */
  readonly rate: Rate
  readonly rateSource: string
  readonly pricedAt: number
  readonly tokenAmount: BaseUnits
  readonly amountRemaining: UsdMillis
  readonly createdAt: number
  readonly validUntil: number
  /** Given to the payor together with an address; a merchant's own question is not. */
  readonly isShown: boolean
}

/** A new quote at `spot`, holding for {@link quoteTtlSeconds} from `nowSeconds`. The token amount is rounded up. */
export const newQuote = (id: QuoteId, request: QuoteRequest, spot: SpotPrice, nowSeconds: number): QuoteRow => ({
  id,
  merchantId: request.merchantId,
  invoiceId: request.invoiceId,
  network: request.token.network,
  tokenId: request.token.id,
  decimals: request.token.decimals,
  environment: request.environment,
  exchangeRate: spot.text,
  rate: spot.rate,
  rateSource: spot.source,
  pricedAt: spot.at,
  tokenAmount: tokenAmountUp(request.amountRemaining, spot.rate, request.token.decimals),
  amountRemaining: request.amountRemaining,
  createdAt: nowSeconds,
  validUntil: nowSeconds + quoteTtlSeconds,
  isShown: request.isShown
})

/** The same promise shown to the payor now, so that it is the one shown last: price, amount and end stay. */
export const showAgain = (id: QuoteId, row: QuoteRow, nowSeconds: number): QuoteRow => ({
  ...row,
  id,
  createdAt: nowSeconds,
  isShown: true
})

/** Whether `row` answers `request` still: same route, same amount, more than {@link renewSeconds} left. */
export const isReusable = (row: QuoteRow, request: QuoteRequest, nowSeconds: number): boolean =>
  row.network === request.token.network && row.tokenId === request.token.id &&
  row.decimals === request.token.decimals && row.amountRemaining === request.amountRemaining &&
  row.createdAt <= nowSeconds && row.validUntil - nowSeconds > renewSeconds

const quoteFields = (route: {
  readonly invoiceId: InvoiceId
  readonly network: Network
  readonly tokenId: TokenId
  readonly amountRemaining: UsdMillis
}) => ({
  object: "payment_quote" as const,
  invoice_id: route.invoiceId,
  network: route.network,
  supported_token_id: route.tokenId,
  settlement_token_id: route.tokenId,
  currency: "usd" as const,
  amount_remaining: usdWire(route.amountRemaining),
  amount_remaining_decimal: usdDecimal(route.amountRemaining),
  amount_unit: "usd_millis" as const
})

/** The wire object of a quote at `nowSeconds`: available until its end, expired from then on. */
export const quoteObject = (row: QuoteRow, nowSeconds: number): Quote => {
  const secondsLeft = Math.max(0, row.validUntil - nowSeconds)
  return {
    ...quoteFields(row),
    estimated_token_amount_remaining: formatUnits(row.tokenAmount, row.decimals),
    exchange_rate: row.exchangeRate,
    quote_last_updated_at: row.pricedAt,
    quote_valid_until: row.validUntil,
    quote_expires_in_seconds: secondsLeft,
    ...(secondsLeft > 0
      ? { quote_status: "available", status_code: "ok", message: null, retryable: null, retry_after_seconds: null }
      : {
        quote_status: "expired",
        status_code: "quote_expired",
        message: "This quote has ended: ask for a new one",
        retryable: true,
        retry_after_seconds: null
      })
  }
}

/** Why a route has no quote now, and whether asking again helps. */
export interface UnavailableReason {
  readonly code: "quote_unavailable" | "settlement_unavailable" | "network_degraded"
  readonly message: string
  /** Null: asking again does not help. */
  readonly retryAfterSeconds: number | null
}

/** There is no price to quote by; `message` says why. */
export const noPrice = (message: string, retryAfterSeconds: number): UnavailableReason => ({
  code: "quote_unavailable",
  message,
  retryAfterSeconds
})

/**
 * What was paid is settled as it is until there are settlement preferences (modules/docs/reference/quotes.md#calls).
 */
export const noSettlement: UnavailableReason = {
  code: "settlement_unavailable",
  message: "A payment is settled in the token it was made in",
  retryAfterSeconds: null
}

/** Nobody would see a payment arrive: no price is promised meanwhile. */
export const networkDegraded: UnavailableReason = {
  code: "network_degraded",
  message: "This network cannot be watched right now",
  retryAfterSeconds: 15
}

/** The wire object where there is no quote: what is owed stands, what it costs is unknown, and when to ask again. */
export const unavailableObject = (
  request: Omit<QuoteRequest, "isShown">,
  { code, message, retryAfterSeconds }: UnavailableReason,
  settlementTokenId: TokenId = request.token.id
): Quote => ({
  ...quoteFields({ ...request, network: request.token.network, tokenId: request.token.id }),
  settlement_token_id: settlementTokenId,
  estimated_token_amount_remaining: null,
  exchange_rate: null,
  quote_last_updated_at: null,
  quote_valid_until: null,
  quote_expires_in_seconds: null,
  quote_status: "unavailable",
  status_code: code,
  message,
  retryable: retryAfterSeconds !== null,
  retry_after_seconds: retryAfterSeconds
})

/**
 * The text of a `payment_quote.updated` event: numbered like every event, told to payors only and never stored.
 *
 * `previous` holds the fields that changed with their old values, `version` is the listener's version of the API.
 */
export const quoteEventText = (
  position: EventPosition,
  environment: Environment,
  quote: Quote,
  previous: Readonly<Record<string, unknown>>,
  version: string
): string => {
  const event = {
    id: eventIdOf(position),
    type: "payment_quote.updated",
    environment,
    created: Number(position.ms / 1000n),
    requestId: null,
    idempotencyKey: null,
    data: dataText(quote as WireObject, previous)
  }
  return payorEventText(event, event.data, version)
}

/** What decides whether an invoice can be paid by a route at all. */
export interface RouteFacts {
  readonly network: string
  readonly token: Token | undefined
  readonly environment: Environment
  /** Networks the invoice takes; null: every one. */
  readonly acceptedNetworks: ReadonlyArray<Network> | null
}

/** The code that refuses a route, and the parameter at fault; null when it can be priced. */
export const routeFault = (
  { acceptedNetworks, environment, network, token }: RouteFacts
): { readonly code: ErrorCode; readonly param: string } | null => {
  const knownNetwork = networks.find((name) => name === network)
  if (knownNetwork === undefined || (acceptedNetworks !== null && !acceptedNetworks.includes(knownNetwork))) {
    return { code: "UNSUPPORTED_NETWORK", param: "network" }
  }
  if (token === undefined || !token.active || token.environment !== environment) {
    return { code: "TOKEN_NOT_ACCEPTED", param: "token_id" }
  }
  return token.network === knownNetwork ? null : { code: "TOKEN_NETWORK_MISMATCH", param: "token_id" }
}

export interface Valuation {
  readonly amount: UsdMillis
  readonly quote: NonNullable<PaymentMetadata["quote"]>
}

/**
 * What a transfer of `tokenAmount` is worth (modules/docs/reference/payments.md#what-it-is-worth): at the newest
 * candidate whose token amount it covers, else at the newest candidate, else at `spot`, else unknown yet.
 *
 * `candidates` are the quotes of the transfer's route that held when it was seen, newest first. The amount is rounded
 * down, and never above {@link maximumCredit}. A transfer that covers a quote is worth at least what that quote asked
 * for.
 */
export const valuation = (
  candidates: ReadonlyArray<QuoteRow>,
  tokenAmount: BaseUnits,
  spot: SpotPrice | null,
  decimals: number
): Valuation | null => {
  const matchingQuote = candidates.find((candidate) => tokenAmount >= candidate.tokenAmount) ?? candidates[0]
  if (matchingQuote !== undefined) {
    return {
      amount: creditedValue(tokenAmount, matchingQuote.rate, decimals),
      quote: {
        quote_id: matchingQuote.id,
        exchange_rate: matchingQuote.exchangeRate,
        rate_source: matchingQuote.rateSource,
        priced_at: matchingQuote.pricedAt,
        pricing: "locked"
      }
    }
  }
  return spot === null ? null : {
    amount: creditedValue(tokenAmount, spot.rate, decimals),
    quote: {
      quote_id: null,
      exchange_rate: spot.text,
      rate_source: spot.source,
      priced_at: spot.at,
      pricing: "spot"
    }
  }
}

const creditedValue = (tokenAmount: BaseUnits, rate: Rate, decimals: number): UsdMillis => {
  const value = usdValueDown(tokenAmount, rate, decimals)
  return value > maximumCredit ? maximumCredit : value
}
