/** The payor's view between the wire and the actors: what a payment page reads, and the address it shows. */
import { Clock, Effect, Layer } from "effect"
import { createHash } from "node:crypto"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { type AllocatedTarget, Chains } from "../../runtime/Chains.ts"
import { EventBus } from "../../runtime/EventBus.ts"
import { jsonText, merchantCredentials, Throttle } from "../../runtime/Http.ts"
import { Quotes } from "../../runtime/Quotes.ts"
import * as Rpc from "../../runtime/Rpc.ts"
import { Secrets } from "../../runtime/Secrets.ts"
import { Settings } from "../../runtime/Settings.ts"
import { Sockets } from "../../runtime/Sockets.ts"
import { paymentSocketPath, paymentSocketRoute } from "../../runtime/sockets/PaymentRoute.ts"
import { PayorTickets } from "../../runtime/sockets/PayorTicket.ts"
import { TokenCatalog } from "../../runtime/TokenCatalog.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import { payorObject } from "../../schemas/Event.ts"
import { minimumInvoiceAmount, usdDecimal, usdWire } from "../../schemas/Money.ts"
import { Family, familyOf } from "../../schemas/Network.ts"
import type { Token } from "../../schemas/Token.ts"
import { Merchants, PayorSessions } from "../auth/plugin.ts"
import {
  type Aggregate,
  Invoices,
  type InvoiceState,
  lockedRoute,
  paymentObject,
  type PaymentState,
  remaining
} from "../invoices/plugin.ts"
import { QuoteRenewal, quoteEventText } from "../quotes/plugin.ts"
import { MerchantSettings } from "../settings/plugin.ts"
import { isBlocked, TokenPolicies } from "../tokens/plugin.ts"
import { Payments, PayorDetails, type Route } from "./actor.ts"
import { CurrentSession, PaymentsApi, PayorSession } from "./api.ts"
import { amounts, availabilityOf, explorerUrl, matchesEtag, nextPollSeconds, sessionEnd, usdNumber } from "./machine.ts"
import { PaymentsRpc } from "./rpc.ts"

/** Opens the session of a request, or refuses it. */
export const sessionLayer = Layer.effect(PayorSession, Effect.gen(function*() {
  const sessions = yield* PayorSessions
  const throttle = yield* Throttle
  const refused = new WeakMap<object, PublicError>()

  const openFor = Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest) {
    const { headers } = request
    yield* throttle.address(request, "payor")
    if (merchantCredentials.some((name) => headers[name] !== undefined)) {
      return yield* publicError("CREDENTIAL_NOT_ALLOWED")
    }
    const invoiceId = yield* sessions.check(headers["x-session-token"] ?? "", headers["x-signature"] ?? "").pipe(
      Effect.catch((error) => throttle.refused(request, error))
    )
    yield* throttle.session(invoiceId)
    return { invoiceId }
  })

  const opened = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
    const before = refused.get(request)
    return before !== undefined
      ? Effect.fail(before)
      : Effect.tapError(openFor(request), (error) => Effect.sync(() => refused.set(request, error)))
  })
  // Both headers are one credential: either scheme of the reference runs the same check, which judges a request once.
  const open: PayorSession["Service"]["sessionToken"] = (handler) =>
    Effect.provideServiceEffect(handler, CurrentSession, opened as Effect.Effect<CurrentSession["Service"]>)
  return PayorSession.of({ sessionToken: open, signature: open })
}))

/** The session's invoice, while the session lives. */
const current = Effect.fnUntraced(function*(): Effect.fn.Return<
  { readonly aggregate: Aggregate; readonly now: number; readonly nowMillis: number },
  PublicError,
  CurrentSession | Invoices
> {
  const { invoiceId } = yield* CurrentSession
  const invoices = yield* Invoices
  const aggregate = yield* invoices.find(invoiceId)
  if (aggregate === null) return yield* publicError("SESSION_INVALID")
  const nowMillis = yield* Clock.currentTimeMillis
  const now = Math.floor(nowMillis / 1000)
  const end = sessionEnd(aggregate.invoice)
  if (end !== null && now >= end) return yield* publicError("SESSION_EXPIRED")
  return { aggregate, now, nowMillis }
})

const shownPayment = (invoice: InvoiceState, payment: PaymentState) => ({
  ...payorObject(paymentObject(invoice, payment)),
  confirmations: payment.metadata.confirmations,
  required_confirmations: payment.metadata.required_confirmations,
  explorer_url: explorerUrl(payment.network, invoice.environment, payment.txHash)
})

const done = JSON.stringify({ success: true })

const newestPayment = ({ invoice, payments }: Aggregate) => {
  const newest = payments.at(-1)
  return newest === undefined ? null : shownPayment(invoice, newest)
}

export const handlers = HttpApiBuilder.group(PaymentsApi, "payments", Effect.fn(function*(group) {
  const chains = yield* Chains
  const invoices = yield* Invoices
  const merchants = yield* Merchants
  const merchantSettings = yield* MerchantSettings
  const payments = yield* Payments
  const details = yield* PayorDetails
  const catalog = yield* TokenCatalog
  const quotes = yield* Quotes
  const policies = yield* TokenPolicies
  const settings = yield* Settings
  const secrets = yield* Secrets
  const session = Effect.provideService(current(), Invoices, invoices)

  const sessionDetails = Effect.fnUntraced(function*() {
    const { aggregate, nowMillis } = yield* session
    const { invoice } = aggregate
    const merchant = yield* merchants.get(invoice.merchantId)
    const { branding } = yield* merchantSettings.get(invoice.merchantId, invoice.environment)
    const left = remaining(invoice)
    const locked = lockedRoute(aggregate)
    const target = locked === null ? null : yield* chains.target(invoice.id, familyOf(locked.network))
    return {
      invoice_id: invoice.id,
      invoice_status: invoice.status,
      amount: usdWire(invoice.amount),
      amount_decimal: usdDecimal(invoice.amount),
      ...amounts(invoice, left),
      currency: "usd",
      amount_usd: usdNumber(invoice.amount),
      amount_remaining_usd: usdNumber(left),
      description: invoice.details.description,
      invoice_title: invoice.details.title,
      invoice_footer: invoice.details.footer,
      expires_at: invoice.expiresAt,
      remaining_time: Math.max(0, invoice.expiresAt * 1000 - nowMillis),
      merchant_name: merchant?.name ?? "",
      merchant_email: merchant?.email ?? null,
      network_environment: invoice.environment,
      payment_return_url: invoice.details.returnUrl,
      locked_network: locked?.network ?? null,
      locked_token_id: locked?.tokenId ?? null,
      locked_payment_address: target?.address ?? null,
      branding: {
        name: branding.name,
        logo_uri: branding.logo_uri,
        accent: branding.accent,
        support_email: branding.support_email
      },
      payments: aggregate.payments.map((payment) => shownPayment(invoice, payment))
    }
  })

  /** The invoice's address in each family in which it has one, null where it can get one; other families are not there. */
  const receivingFamilies = Effect.fnUntraced(function*({ environment, id, merchantId }: InvoiceState) {
    const found = yield* Effect.forEach(Family.literals, (family) =>
      Effect.zipWith(
        chains.target(id, family),
        chains.wallet({ merchantId, environment, family }),
        (target, wallet) => target === null && wallet === null ? [] : [[family, target] as const]
      ), { concurrency: "unbounded" })
    return new Map(found.flat())
  })

  const availableToken = (
    invoice: InvoiceState,
    token: Token,
    receiving: ReadonlyMap<Family, AllocatedTarget | null>,
    now: number
  ) => {
    const driver = chains.driver(token.network, token.environment)
    const spot = quotes.latest(token)
    const status = chains.status(token.environment).find((one) => one.network === token.network)
    const availability = availabilityOf({
      environment: token.environment,
      monitored: driver !== undefined,
      hasWallet: receiving.has(familyOf(token.network)),
      healthy: status?.healthy !== false,
      priceAt: spot?.at ?? null,
      now
    })
    return {
      id: token.id,
      token_symbol: token.symbol,
      token_name: token.name,
      token_type: token.type,
      network: token.network,
      token_decimals: token.decimals,
      token_address: token.address,
      requires_memo: token.requiresMemo,
      photo_uri: token.photoUri,
      has_settlement_route: true,
      supports_stable_settlement: token.stable,
      is_monitored: driver !== undefined,
      settlement_rate: 1,
      settlement_cost_usd: usdNumber(remaining(invoice)),
      is_same_token_settlement: true,
      tier: null,
      tier_fee: null,
      availability_status: availability.status,
      rate_updated_at: spot?.at ?? null,
      unavailable_reason: availability.reason,
      min_amount: usdWire(minimumInvoiceAmount)
    }
  }

  const availableTokens = Effect.fnUntraced(function*(query: {
    readonly mode?: "monitored" | "all" | "network"
    readonly network?: string
    readonly available_only?: "true" | "false"
  }) {
    const { aggregate, now } = yield* session
    const { invoice } = aggregate
    if (query.mode === "network" && query.network === undefined) return yield* publicError("NETWORK_REQUIRED")
    const { acceptedNetworks } = invoice.policy
    const locked = lockedRoute(aggregate)
    const receiving = yield* receivingFamilies(invoice)
    const policy = yield* policies.get(invoice.merchantId, invoice.environment)
    return catalog.list(invoice.environment)
      .filter((token) => token.active)
      .filter((token) => acceptedNetworks === null || acceptedNetworks.includes(token.network))
      .filter((token) => query.network === undefined || token.network === query.network)
      // An address keeps what it is not for. Who has begun to pay may finish, whatever the merchant has blocked since.
      .filter(({ id, network }) =>
        locked === null
          ? !isBlocked(policy, id) && receiving.get(familyOf(network))?.refusedTokens.includes(id) !== true
          : id === locked.tokenId)
      .map((token) => availableToken(invoice, token, receiving, now))
      .filter((token) => query.mode === "all" || token.is_monitored)
      .filter((token) => query.available_only !== "true" || token.unavailable_reason === null)
  })

  const addressBody = Effect.fnUntraced(function*(invoice: InvoiceState, route: Route) {
    const ticket = yield* PayorTickets.mint({ invoiceId: invoice.id, merchantId: invoice.merchantId }).pipe(
      Effect.provideService(Secrets, secrets)
    )
    const { quote } = route
    return {
      success: true,
      temp_address: route.target.address,
      network: route.token.network,
      supported_token_id: route.token.id,
      memo: route.target.memo,
      requires_memo: route.token.requiresMemo,
      payment_uri: route.paymentUri,
      estimated_token_amount: quote.estimated_token_amount_remaining,
      exchange_rate: quote.exchange_rate,
      usd_amount: usdNumber(route.remaining),
      quote,
      quote_status: quote.quote_status,
      status_code: quote.status_code,
      message: quote.message,
      quote_last_updated_at: quote.quote_last_updated_at,
      quote_valid_until: quote.quote_valid_until,
      quote_expires_in_seconds: quote.quote_expires_in_seconds,
      retryable: quote.retryable,
      retry_after_seconds: quote.retry_after_seconds,
      ws_connection: {
        token: ticket.token,
        endpoint: "/ws/payment",
        format: "event_v1",
        ws_url: `${settings.publicUrl.replace(/^http/, "ws")}/ws/payment?format=event_v1`,
        expires_at: ticket.expiresAt
      }
    }
  })

  return group
    .handle("sessionDetails", () => Effect.map(sessionDetails(), (body) => jsonText(JSON.stringify(body))))
    .handle("availableTokens", ({ query }) =>
      Effect.map(availableTokens(query), (body) => jsonText(JSON.stringify(body))))
    .handle("paymentAddress", Effect.fnUntraced(function*({ payload }) {
      const tokenId = payload.token_id ?? payload.tokenId
      if (tokenId === undefined) {
        return yield* publicError("VALIDATION_ERROR", { message: "token_id: Missing key", param: "token_id" })
      }
      const { aggregate } = yield* session
      const route = yield* payments.route(aggregate, payload.network, tokenId)
      return jsonText(JSON.stringify(yield* addressBody(aggregate.invoice, route)))
    }))
    .handle("paymentStatus", Effect.fnUntraced(function*() {
      const { aggregate } = yield* session
      const { invoice } = aggregate
      const text = JSON.stringify({
        status: invoice.status,
        paid_at: invoice.paidAt,
        ...amounts(invoice, remaining(invoice)),
        latest_payment: newestPayment(aggregate),
        next_poll_seconds: nextPollSeconds
      })
      const etag = `"${createHash("sha256").update(text).digest("base64url")}"`
      const { headers } = yield* HttpServerRequest.HttpServerRequest
      const response = matchesEtag(headers["if-none-match"], etag)
        ? HttpServerResponse.empty({ status: 304 })
        : jsonText(text)
      return HttpServerResponse.setHeader(response, "etag", etag)
    }))
    .handle("customerEmail", Effect.fnUntraced(function*({ payload }) {
      const { aggregate } = yield* session
      yield* details.tellEmail(aggregate.invoice, payload.email)
      return jsonText(done)
    }))
    .handle("refundAddress", Effect.fnUntraced(function*({ payload }) {
      const { aggregate } = yield* session
      yield* details.tellRefundAddress(aggregate.invoice, { ...payload, memo: payload.memo ?? null })
      return jsonText(done)
    }))
}))

/** `/ws/payment`: greeted by the current quote of the route shown last, as an event that is told but not stored. */
export const socketRoute = HttpRouter.use(Effect.fnUntraced(function*(router) {
  const bus = yield* EventBus
  const invoices = yield* Invoices
  const renewal = yield* QuoteRenewal

  const greeting = Effect.fnUntraced(function*(invoiceId: string, merchantId: number, version: string) {
    const quote = yield* renewal.greet(invoiceId)
    const aggregate = yield* invoices.find(invoiceId)
    if (quote === null || aggregate === null) return []
    const position = yield* bus.nextPosition(merchantId)
    return [quoteEventText(position, aggregate.invoice.environment, quote, {}, version)]
  })

  const secrets = yield* Secrets
  const sockets = yield* Sockets
  const throttle = yield* Throttle
  yield* router.add(
    "GET",
    paymentSocketPath,
    paymentSocketRoute(greeting).pipe(
      Effect.provideService(Sockets, sockets),
      Effect.provideService(Secrets, secrets),
      Effect.provideService(Throttle, throttle)
    )
  )
}))

export const rpcHandlers = Rpc.handlers(PaymentsRpc, Effect.gen(function*() {
  const payments = yield* Payments
  return PaymentsRpc.of({
    "payments.retry": Effect.fnUntraced(function*({ payment_id }) {
      const { invoice, payments: all } = yield* payments.retry(payment_id)
      return { payment: paymentObject(invoice, all.find(({ id }) => id === payment_id)!) as never }
    })
  })
}))
