/** What a payor is shown and how a transfer is judged: pure rules over invoice, token and time. */
import type { AllocatedTarget, ReceivingObstacle } from "../../runtime/Chains.ts"
import type { Spot } from "../../runtime/Prices.ts"
import { type ErrorCode, meaningOf, type PublicError, publicError } from "../../schemas/Errors.ts"
import { payorObject } from "../../schemas/Event.ts"
import { TokenId } from "../../schemas/Ids.ts"
import {
  formatUnits,
  minimumInvoiceAmount,
  type Rate,
  tokenAmountUp,
  usdDecimal,
  type UsdMillis,
  usdWire
} from "../../schemas/Money.ts"
import {
  descriptorOf,
  type Environment,
  type Family,
  familyOf,
  type Network,
  networks,
  requiredDepth
} from "../../schemas/Network.ts"
import { nextPollSeconds, type PaymentExceptionType } from "../../schemas/Payment.ts"
import { playMoneySender } from "../../schemas/PlayMoney.ts"
import { type Branding, lockedRateSeconds } from "../../schemas/MerchantSettings.ts"
import type { Token } from "../../schemas/Token.ts"
import {
  type Aggregate,
  amountRemaining,
  catchUpSeconds,
  dustThreshold,
  type InvoiceState,
  lockedRoute,
  newestFirst,
  paymentObject,
  type PaymentState
} from "../invoices/plugin.ts"
import { requiresMemo } from "../tokens/plugin.ts"
import type { Route } from "./service/PaymentRoutes.ts"
import type { AvailableToken, PaymentAddress, PaymentStatusReport, SessionDetails, SessionPayment } from "./api.ts"

/**
 * A session ends this many seconds after its invoice did: 30 d
 * (modules/docs/reference/payor-sessions.md#life-of-a-session).
 */
export const sessionGraceSeconds = 2_592_000

/**
 * How many seconds a block's time may lie before the transfer was first observed: as long as an expiry waits for a
 * network that is being read, so that no payment it has waited for counts as late.
 */
const maximumTransferAgeSeconds = catchUpSeconds

/**
 * Transfers too small to count that an invoice tells of: a thousand of them cost a stranger a few cents, and each would
 * be an exception and several webhooks of the merchant's. The journal keeps those beyond.
 */
export const maximumDustPayments = 20

/** Whether a transfer is too small to count, and the invoice has told of enough of them. */
export const isDustBeyondLimit = (
  { amount, metadata }: Pick<PaymentState, "amount" | "metadata">,
  payments: ReadonlyArray<PaymentState>
): boolean =>
  metadata.quote !== null && metadata.exception === null && amount < dustThreshold &&
  payments.filter((payment) => payment.metadata.exception === "below_dust").length >= maximumDustPayments

/**
 * Whether a payment has no price yet and needs one: to be counted, or to be given back where it came too late. What is
 * not accepted for another reason counts nowhere, and nothing gives it back by itself.
 */
export const needsPrice = ({ metadata: { exception, quote } }: Pick<PaymentState, "metadata">): boolean =>
  quote === null && (exception === null || exception === "late_payment")

/** Seconds after which a rate is shown as stale (modules/docs/reference/payor-sessions.md#available-tokens). */
const staleRateSeconds = 300

/**
 * When a transfer counts as seen: its block's time, but never after we saw it and at most 7 days before. Decides
 * expiry, lateness and the quote (modules/docs/reference/payments.md#when-it-was-seen).
 */
export const seenAtOf = (blockTime: number, observedAt: number): number =>
  Math.min(observedAt, Math.max(blockTime, observedAt - maximumTransferAgeSeconds))

/**
 * Whether the policy `locked_rate` decides the value of a transfer seen at `seenAt`, epoch seconds. `none`: another
 * policy, or not late; `holds`: up to and including {@link lockedRateSeconds} after the invoice's end; `ended`: later.
 */
export const lockedRateAt = (
  { expiresAt, policy }: { readonly expiresAt: number; readonly policy: Pick<InvoiceState["policy"], "latePayment"> },
  seenAt: number
): "none" | "holds" | "ended" => {
  if (policy.latePayment !== "locked_rate" || seenAt <= expiresAt) return "none"
  return seenAt <= expiresAt + lockedRateSeconds ? "holds" : "ended"
}

/**
 * Why a transfer of `token` (undefined: not in the catalogue) on `network` is not accepted; null when it is.
 * `refusedTokens` are those that were blocked when the address was given out: what was blocked since is accepted. A
 * listed sender weighs most, because that exception is not everybody's to accept, and the network more than the token.
 */
export const rejectionReason = (
  token: Token | undefined,
  network: Network,
  acceptedNetworks: ReadonlyArray<Network> | null,
  refusedTokens: ReadonlyArray<number>,
  isSenderListed: boolean
): PaymentExceptionType | null => {
  if (isSenderListed) return "screened"
  if (acceptedNetworks !== null && !acceptedNetworks.includes(network)) return "wrong_network"
  return token === undefined || !token.active || refusedTokens.includes(token.id) ? "wrong_token" : null
}

/** Epoch seconds at which the payor's session ends; null while the invoice is open. */
export const sessionEnd = (invoice: {
  readonly status: string
  readonly paidAt: number | null
  readonly expiresAt: number
}): number | null => {
  switch (invoice.status) {
    case "paid":
      return (invoice.paidAt ?? invoice.expiresAt) + sessionGraceSeconds
    case "expired":
    case "canceled":
      return invoice.expiresAt + sessionGraceSeconds
    default:
      return null
  }
}

/** US dollars as a JSON number, for display beside the integer and its decimal; nothing is computed from it. */
export const usdNumber = (amount: UsdMillis): number => usdWire(amount) / 1000

export const isNetwork = (text: string): text is Network => (networks as ReadonlyArray<string>).includes(text)

/** What a route can do now. */
export type Availability =
  | "DEVNET"
  | "AVAILABLE"
  | "STALE"
  | "NO_LIQUIDITY"
  | "QUOTE_REQUIRED"
  | "NETWORK_DEGRADED"

/** Facts a token's availability follows from. */
export interface RouteFacts {
  readonly environment: Environment
  /** A driver runs for the network. */
  readonly isMonitored: boolean
  /** A wallet can receive there. */
  readonly hasWallet: boolean
  /** What stands against receiving in it there; null: nothing. */
  readonly obstacle: ReceivingObstacle | null
  readonly healthy: boolean
  /** Epoch seconds of the last price; null: none. */
  readonly priceAt: number | null
  readonly now: number
}

/** The state shown for a token, and why it cannot be paid if it cannot. */
export const availabilityOf = (facts: RouteFacts): { status: Availability; reason: string | null } => {
  if (!facts.isMonitored) return { status: "NO_LIQUIDITY", reason: "NOT_MONITORED" }
  if (!facts.hasWallet) return { status: "NO_LIQUIDITY", reason: "NO_WALLET" }
  if (!facts.healthy || facts.obstacle === "NETWORK_DEGRADED") {
    return { status: "NETWORK_DEGRADED", reason: "NETWORK_DEGRADED" }
  }
  if (facts.obstacle !== null) return { status: "NO_LIQUIDITY", reason: facts.obstacle }
  if (facts.priceAt === null) return { status: "QUOTE_REQUIRED", reason: null }
  if (facts.now - facts.priceAt > staleRateSeconds) return { status: "STALE", reason: "RATE_STALE" }
  return { status: facts.environment === "devnet" ? "DEVNET" : "AVAILABLE", reason: null }
}

/** Where anybody can look a payment's transaction up; null where nobody can, as for play money. */
export const explorerUrl = (
  environment: Environment,
  { network, sender, txHash }: Pick<PaymentState, "network" | "sender" | "txHash">
): string | null => {
  const transactionUrl = descriptorOf(network).transactionUrl[environment]
  const isPlayMoney = sender !== null && sender === playMoneySender(network)
  return transactionUrl === null || txHash === null || isPlayMoney ? null : transactionUrl(txHash)
}

/** Visible ASCII: what is copied by hand must not look like something else. 120 fit into one TON comment. */
const memoPattern = /^[\x20-\x7e]{1,120}$/

/** Whether `memo` can go with a transfer on `network`. */
export const isMemo = (network: Network, memo: string): boolean =>
  descriptorOf(network).family.hasMemo && memoPattern.test(memo)

/** Amounts as every payor body carries them. */
export const amounts = (invoice: { amount: UsdMillis; amountPaid: UsdMillis }, remaining: UsdMillis) => ({
  amount_paid: usdWire(invoice.amountPaid),
  amount_paid_decimal: usdDecimal(invoice.amountPaid),
  amount_remaining: usdWire(remaining),
  amount_remaining_decimal: usdDecimal(remaining),
  amount_unit: "usd_millis" as const
})

const paymentBody = (invoice: InvoiceState, payment: PaymentState) =>
  ({
    ...payorObject(paymentObject(invoice, payment)),
    confirmations: payment.metadata.confirmations,
    required_confirmations: payment.metadata.required_confirmations,
    explorer_url: explorerUrl(invoice.environment, payment)
  }) as unknown as typeof SessionPayment.Type

/** The part of a merchant's branding that payors see: of a domain nothing but that it is verified. */
export const brandingBody = (
  { accent, domain, domain_verified_at, logo_uri, name, support_email }: Branding
): typeof SessionDetails.Type["branding"] => ({
  name,
  logo_uri,
  accent,
  support_email,
  domain: domain_verified_at === null ? null : domain,
  domain_verified_at
})

/** The body of `session-details`. `lockedAddress` is the invoice's on the locked route, if there is such a route. */
export const detailsBody = (
  aggregate: Aggregate,
  merchant: { readonly name: string; readonly email: string | null } | undefined,
  branding: Branding,
  lockedAddress: string | null,
  nowMillis: number
): typeof SessionDetails.Type => {
  const { invoice, payments } = aggregate
  const remaining = amountRemaining(invoice)
  const routeLock = lockedRoute(aggregate)
  return {
    invoice_id: invoice.id,
    invoice_status: invoice.status,
    amount: usdWire(invoice.amount),
    amount_decimal: usdDecimal(invoice.amount),
    ...amounts(invoice, remaining),
    currency: "usd",
    amount_usd: usdNumber(invoice.amount),
    amount_remaining_usd: usdNumber(remaining),
    description: invoice.details.description,
    invoice_title: invoice.details.title,
    invoice_footer: invoice.details.footer,
    expires_at: invoice.expiresAt,
    remaining_time: Math.max(0, invoice.expiresAt * 1000 - nowMillis),
    merchant_name: merchant?.name ?? "",
    merchant_email: merchant?.email ?? null,
    network_environment: invoice.environment,
    payment_return_url: invoice.details.returnUrl,
    locked_network: routeLock?.network ?? null,
    locked_token_id: routeLock === null ? null : TokenId.make(routeLock.tokenId),
    locked_payment_address: lockedAddress,
    branding: brandingBody(branding),
    payments: newestFirst(payments).map((payment) => paymentBody(invoice, payment))
  }
}

/** What the list of ways to pay needs to know about a token beside the token itself. */
export interface TokenFacts {
  readonly isMonitored: boolean
  readonly hasWallet: boolean
  readonly obstacle: ReceivingObstacle | null
  readonly needsMemo: boolean
  readonly healthy: boolean
  readonly spot: Spot | null
  readonly now: number
}

/** Seconds after which a gas price, and a coin's price, say nothing of today's fee (`available-tokens`). */
export const staleFeeSeconds = 600

/** Decimal places of the smallest fee that is shown: a hundred-thousandth of a dollar. */
const feeDecimals = 5

/**
 * What a transfer takes in US dollars, rounded up to one significant digit, at least {@link feeDecimals} places after
 * the point. `units`: base units of the network's coin, of which a whole one is worth `rate`.
 *
 * @example
 * networkFeeOf(105_000_000_000_000n, { numerator: 3500n, denominator: 1n }, 18) // => 0.4
 */
export const networkFeeOf = (units: bigint, { denominator, numerator }: Rate, decimals: number): number => {
  const divisor = denominator * 10n ** BigInt(decimals)
  const least = (units * numerator * 10n ** BigInt(feeDecimals) + divisor - 1n) / divisor
  const step = 10n ** BigInt(String(least).length - 1)
  return Number(formatUnits((least + step - 1n) / step * step, feeDecimals))
}

/**
 * About how many seconds a payment of an invoice takes from its block until the service sees it at the depth at which
 * it counts, where the driver's options leave the time between two looks as it is.
 */
export const expectedSeconds = (
  { amount, environment, policy }: Pick<InvoiceState, "amount" | "environment" | "policy">,
  network: Network
): number => {
  const { blocks } = requiredDepth(network, environment, policy.confirmations, amount)
  const { blockMillis, pollMillis } = descriptorOf(network)
  return Math.ceil((blocks * blockMillis + pollMillis) / 1000)
}

/** One token of `available-tokens`; its fee is added where the list is shown ({@link networkFeeOf}). */
export const tokenBody = (
  invoice: InvoiceState,
  token: Token,
  { needsMemo, spot, ...facts }: TokenFacts
): typeof AvailableToken.Type => {
  const availability = availabilityOf({ ...facts, environment: token.environment, priceAt: spot?.at ?? null })
  return {
    id: token.id,
    token_symbol: token.symbol,
    token_name: token.name,
    token_type: token.type,
    network: token.network,
    token_decimals: token.decimals,
    token_address: token.address,
    requires_memo: needsMemo,
    photo_uri: token.photoUri,
    has_settlement_route: true,
    supports_stable_settlement: token.stable,
    is_monitored: facts.isMonitored,
    settlement_rate: 1,
    settlement_cost_usd: usdNumber(amountRemaining(invoice)),
    is_same_token_settlement: true,
    tier: null,
    tier_fee: null,
    availability_status: availability.status,
    rate_updated_at: spot?.at ?? null,
    unavailable_reason: availability.reason,
    min_amount: usdWire(minimumInvoiceAmount),
    network_fee_usd: null,
    expected_seconds: expectedSeconds(invoice, token.network)
  }
}

/** What is left of an invoice in whole tokens at a price, rounded up as a quote of it would be. */
export const estimateOf = (invoice: InvoiceState, spot: Spot, decimals: number): string =>
  formatUnits(tokenAmountUp(amountRemaining(invoice), spot.rate, decimals), decimals)

/** What payors read in place of a message that may tell of the merchant's wallets, by code; else the code's meaning. */
const payorMessages: { readonly [Code in ErrorCode]?: string } = {
  UNSUPPORTED_NETWORK: "This network takes no payment of this invoice now: choose another one of available-tokens"
}

/**
 * A refusal of a route as its payor may read it: what happened and what to do, nothing of the merchant's wallets, and
 * no word of what only the operator can mend. Its merchant reads the original.
 */
export const errorForPayors = ({ code, param, reason, retryAfterSeconds }: PublicError): PublicError =>
  publicError(code, { message: payorMessages[code] ?? meaningOf(code), param, retryAfterSeconds, reason })

/** The socket that a page of an invoice follows. */
export type PayorSocket = (typeof PaymentAddress.Type)["ws_connection"]

/** The body of `payment-addresses`. */
export const addressBody = (route: Route, socket: PayorSocket): typeof PaymentAddress.Type => {
  const { quote } = route
  return {
    success: true,
    temp_address: route.target.address,
    network: route.token.network,
    supported_token_id: route.token.id,
    memo: route.target.memo,
    requires_memo: requiresMemo(route.token, route.target),
    payment_uri: route.paymentUri,
    estimated_token_amount: quote.estimated_token_amount_remaining,
    exchange_rate: quote.exchange_rate,
    usd_amount: usdNumber(route.amountRemaining),
    quote,
    quote_status: quote.quote_status,
    status_code: quote.status_code,
    message: quote.message,
    quote_last_updated_at: quote.quote_last_updated_at,
    quote_valid_until: quote.quote_valid_until,
    quote_expires_in_seconds: quote.quote_expires_in_seconds,
    retryable: quote.retryable,
    retry_after_seconds: quote.retry_after_seconds,
    ws_connection: socket
  }
}

/** The body of `payment-status`. */
export const statusBody = ({ invoice, payments }: Aggregate): typeof PaymentStatusReport.Type => {
  const [newest] = newestFirst(payments)
  return {
    status: invoice.status,
    paid_at: invoice.paidAt,
    ...amounts(invoice, amountRemaining(invoice)),
    latest_payment: newest === undefined ? null : paymentBody(invoice, newest),
    next_poll_seconds: nextPollSeconds
  }
}

/** What play money can do to an invoice: pay what remains, a part of it, more than it, or after the end. */
export type SimulatedPayment = "pay" | "partial" | "overpay" | "late"

/** What `available-tokens` can be asked for. */
export interface TokenQuery {
  readonly mode?: "monitored" | "all" | "network"
  readonly network?: string
  readonly available_only?: "true" | "false"
}

/** Whether the rules of the invoice, its addresses and its merchant let it be paid by a token. */
export const isOffered = (
  token: Token,
  aggregate: Aggregate,
  targets: ReadonlyMap<Family, AllocatedTarget>,
  { isBlocked, offeredTokens }: {
    readonly isBlocked: (tokenId: number) => boolean
    /** {@link PayorTerms.offeredTokens} */
    readonly offeredTokens: ReadonlySet<number> | null
  }
): boolean => {
  const { acceptedNetworks } = aggregate.invoice.policy
  const routeLock = lockedRoute(aggregate)
  if (!token.active || (acceptedNetworks !== null && !acceptedNetworks.includes(token.network))) return false
  // An address keeps what it is not for. Who has begun to pay may finish, whatever the merchant has blocked since, and
  // by whatever token: what is not offered counts all the same.
  return routeLock === null
    ? offeredTokens?.has(token.id) !== false && !isBlocked(token.id) &&
      targets.get(familyOf(token.network))?.refusedTokens.includes(token.id) !== true
    : token.id === routeLock.tokenId
}

/**
 * Whether a payment is confirmed only after two endpoints of its network showed its block: when its own value or its
 * invoice's amount reaches `threshold`, so that paying a large invoice in small parts does not avoid it. A payment
 * without a price may be worth anything, so it needs agreement too.
 *
 * @example
 * needsAgreement(usdMillis(1_000_000n), usdMillis(999_999n), usdMillis(5_000n)) // => false
 */
export const needsAgreement = (
  threshold: UsdMillis | null,
  invoiceAmount: UsdMillis,
  value: UsdMillis | null
): boolean => threshold !== null && (value === null || invoiceAmount >= threshold || value >= threshold)
