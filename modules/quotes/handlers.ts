/** Quotes between the wire and the service. */
import { Effect, Result, Schema } from "effect"
import { Availability } from "../../runtime/Availability.ts"
import { Commit, dieOnReplay } from "../../runtime/Commit.ts"
import { CurrentPrincipal, Idempotency, jsonText, readEnvironment, RequestInfo } from "../../runtime/Http.ts"
import { MerchantClock } from "../../runtime/MerchantClock.ts"
import { Prices } from "../../runtime/Prices.ts"
import { TokenCatalog } from "../../runtime/TokenCatalog.ts"
import { amountError } from "../../schemas/AmountError.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import { isUuid, QuoteId } from "../../schemas/Ids.ts"
import { formatUnits, readInvoiceAmount, tokenAmountUp, usdDecimal, usdWire } from "../../schemas/Money.ts"
import type { Quote } from "../../schemas/Quote.ts"
import { type Aggregate, amountRemaining, Invoices, isPayable } from "../invoices/plugin.ts"
import { type IssuedQuote, PaymentQuotes } from "./service.ts"
import { isActiveToken, listedToken, makePriceableToken } from "./service/Routes.ts"
import { type NewQuote, QuotesApi, type RouteResult } from "./api.ts"
import { networkDegraded, noSettlement, quoteObject, routeFault, unavailableObject } from "./rules.ts"
import * as Operations from "../../runtime/Operations.ts"

/** Routes of a batch that are priced at once. */
const routeConcurrency = 4

const isQuoteId = Schema.is(QuoteId)

const withId = (id: string | null, quote: Quote) => ({ id, ...quote })

const text = (data: unknown): string => JSON.stringify({ success: true, data })

/** An invoice the caller may write about; every other one is as unknown as none. */
const ownInvoice = Effect.fnUntraced(function*(id: string) {
  const invoices = yield* Invoices
  const { environment, merchantId, scope } = yield* CurrentPrincipal
  const found = isUuid(id) ? yield* invoices.get(merchantId, id) : null
  if (
    found === null || found.invoice.environment !== environment ||
    scope === "commerce" && found.invoice.type !== "commerce"
  ) return yield* publicError("INVOICE_NOT_FOUND", { param: "invoice_id" })
  return found
})

/** Prices one route of an invoice for its merchant. */
const makePrice = Effect.gen(function*() {
  const catalog = yield* TokenCatalog
  const quotes = yield* PaymentQuotes
  const priceableToken = yield* makePriceableToken

  return Effect.fnUntraced(function*(
    current: Aggregate,
    route: Pick<NewQuote, "network" | "token_id" | "settlement_token_id">
  ): Effect.fn.Return<IssuedQuote, PublicError> {
    const { invoice } = current
    const token = yield* priceableToken(current, route.network, route.token_id)
    const request = {
      merchantId: invoice.merchantId,
      invoiceId: invoice.id,
      environment: invoice.environment,
      token,
      amountRemaining: amountRemaining(invoice),
      isShown: false
    }
    const settlementToken = route.settlement_token_id ?? token.id
    const unavailable = settlementToken !== token.id
      ? noSettlement
      : isActiveToken(catalog, token.id)
      ? null
      : networkDegraded
    return unavailable === null
      ? yield* quotes.issue(request)
      : { quote: unavailableObject(request, unavailable, settlementToken), row: null, write: null }
  })
})

/** Commits what is new of `issued` together with the answer, which is given back. */
const makeCommitReply = Effect.gen(function*() {
  const commit = yield* Commit

  return Effect.fnUntraced(function*({ invoice }: Aggregate, issued: ReadonlyArray<IssuedQuote>, body: string) {
    const idempotency = yield* Idempotency
    const { requestId } = yield* RequestInfo
    const writes = issued.flatMap(({ write }) => (write === null ? [] : [write]))
    const reply = idempotency.reply(200, body)
    if (writes.length > 0) {
      yield* commit.append({
        merchantId: invoice.merchantId,
        environment: invoice.environment,
        cause: { requestId, idempotencyKey: idempotency.key },
        writes,
        events: [],
        reply
      }).pipe(Effect.catchTag("Conflict", (bug) => Effect.die(bug)), dieOnReplay)
    }
    return jsonText(body)
  })
})

const refusal = ({ code, message, param }: PublicError) => ({ code, message, param })

export const handlers = Operations.group(
  QuotesApi,
  "quotes",
  Effect.fn(function*(group) {
    const availability = yield* Availability
    const catalog = yield* TokenCatalog
    const clock = yield* MerchantClock
    const invoices = yield* Invoices
    const prices = yield* Prices
    const quotes = yield* PaymentQuotes
    const price = yield* makePrice
    const commitReply = yield* makeCommitReply
    const own = (id: string) => Effect.provideService(ownInvoice(id), Invoices, invoices)

    return group
      .handle(
        "create",
        Effect.fnUntraced(function*({ payload }) {
          const current = yield* own(payload.invoice_id)
          const issued = yield* price(current, payload)
          return yield* commitReply(current, [issued], text(withId(issued.row?.id ?? null, issued.quote)))
        })
      )
      .handle(
        "createBatch",
        Effect.fnUntraced(function*({ payload }) {
          const current = yield* own(payload.invoice_id)
          const now = yield* clock.nowSeconds(current.invoice.merchantId, current.invoice.environment)
          if (!isPayable(current.invoice, now)) return yield* publicError("INVOICE_NOT_PAYABLE")
          // A route asked for twice is priced once: its two results are one quote.
          const keyOf = (route: { readonly network: string; readonly token_id: number }) =>
            `${route.network}:${route.token_id}`
          const distinctRoutes = new Map(payload.routes.map((route) => [keyOf(route), route]))
          const resultByKey = new Map(
            yield* Effect.forEach(
              distinctRoutes,
              ([key, route]) => Effect.map(Effect.result(price(current, route)), (result) => [key, result] as const),
              {
                concurrency: routeConcurrency
              }
            )
          )
          const results = payload.routes.map((route): RouteResult => {
            const result = resultByKey.get(keyOf(route))!
            const { network, token_id } = route
            return Result.isSuccess(result)
              ? {
                network,
                token_id,
                quote: { id: result.success.row?.id ?? null, ...result.success.quote },
                error: null
              }
              : { network, token_id, quote: null, error: refusal(result.failure) }
          })
          const issued = [...resultByKey.values()].flatMap((
            result
          ) => (Result.isSuccess(result) ? [result.success] : []))
          return yield* commitReply(current, issued, text({ object: "list", data: results }))
        })
      )
      .handle(
        "get",
        Effect.fnUntraced(function*({ params, query }) {
          const principal = yield* CurrentPrincipal
          const environment = yield* readEnvironment(principal, query.environment)
          const row = isQuoteId(params.quote_id)
            ? yield* quotes.get(principal.merchantId, environment, params.quote_id)
            : null
          if (row === null) return yield* publicError("QUOTE_NOT_FOUND")
          if (principal.scope === "commerce") {
            const found = yield* invoices.get(principal.merchantId, row.invoiceId)
            if (found?.invoice.type !== "commerce") return yield* publicError("QUOTE_NOT_FOUND")
          }
          const now = yield* clock.nowSeconds(row.merchantId, row.environment)
          return jsonText(text(withId(row.id, quoteObject(row, now))))
        })
      )
      .handle(
        "estimate",
        Effect.fnUntraced(function*({ query }) {
          const principal = yield* CurrentPrincipal
          const environment = yield* readEnvironment(principal, query.environment)
          const amount = readInvoiceAmount(query)
          if (typeof amount === "string") return yield* amountError(amount, query)
          const token = listedToken(catalog, query.token_id)
          const fault = routeFault({ network: query.network, token, environment, acceptedNetworks: null })
          if (token === undefined || fault?.code === "TOKEN_NOT_ACCEPTED") return yield* publicError("TOKEN_NOT_FOUND")
          if (fault !== null) return yield* publicError(fault.code, { param: fault.param })
          const objection = availability.objectionTo(token)
          if (objection !== null) {
            return yield* objection.code === "TOKEN_NOT_ACCEPTED" ? publicError("TOKEN_NOT_FOUND") : objection
          }
          const spot = yield* prices.spot(token).pipe(
            Effect.catchTag(
              "PriceUnavailable",
              ({ reason, retryAfterSeconds }) =>
                Effect.fail(publicError("QUOTE_UNAVAILABLE", { message: reason, retryAfterSeconds }))
            )
          )
          return jsonText(text({
            object: "quote_estimate",
            network: token.network,
            supported_token_id: token.id,
            settlement_token_id: token.id,
            currency: "usd",
            amount: usdWire(amount),
            amount_decimal: usdDecimal(amount),
            amount_unit: "usd_millis",
            estimated_token_amount: formatUnits(tokenAmountUp(amount, spot.rate, token.decimals), token.decimals),
            exchange_rate: spot.text,
            quote_last_updated_at: spot.at
          }))
        })
      )
  })
)
