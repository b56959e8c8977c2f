/** Quotes of invoices: load, decide, and hand the row to the caller, who commits it with its own. */
import { Context, Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import { Chains } from "../../runtime/Chains.ts"
import type { Write } from "../../runtime/Commit.ts"
import { MerchantClock } from "../../runtime/MerchantClock.ts"
import { Prices } from "../../runtime/Prices.ts"
import { uuidV7 } from "../../runtime/Uuid.ts"
import { type InvoiceId, QuoteId } from "../../schemas/Ids.ts"
import type { UsdMillis } from "../../schemas/Money.ts"
import type { Environment, Network } from "../../schemas/Network.ts"
import type { Quote } from "../../schemas/Quote.ts"
import type { Token } from "../../schemas/Token.ts"
import {
  isReusable,
  networkDegraded,
  newQuote,
  noPrice,
  quoteObject,
  type QuoteRow,
  showAgain,
  unavailableObject
} from "./rules.ts"
import { makeRepo, writeOf } from "./repo.ts"

/** A quote, and the row behind it: null while there is no quote. `write` is what is still to be committed. */
export interface IssuedQuote {
  readonly quote: Quote
  readonly row: QuoteRow | null
  readonly write: Write | null
}

export class PaymentQuotes extends Context.Service<PaymentQuotes, {
  /**
   * What `amountRemaining` costs in `token` now: a wire object of exactly the contract's fields, for 300 s.
   *
   * A quote of the same route and amount with more than 30 s left is given again, with `write: null`; only a quote that
   * the payor sees again, after one of another route, is written once more, so that {@link current} finds it. Otherwise
   * `write` is the new quote's row: it holds once the caller has committed it. Without a fresh price, or while the
   * network cannot be watched, the object says `unavailable`, and `row` and `write` are null. Errors: none.
   */
  readonly issue: (request: {
    readonly merchantId: number
    readonly invoiceId: InvoiceId
    readonly environment: Environment
    readonly token: Token
    readonly amountRemaining: UsdMillis
    /** Given to the payor together with an address, rather than asked for by the merchant. */
    readonly isShown: boolean
  }) => Effect.Effect<IssuedQuote>
  /**
   * Quotes of a route that hold for a transfer seen at `seenAt` (epoch seconds), grace included, newest first: what
   * `valuation` of rules.ts chooses from. `includeExpired`: where none holds any more, the last one that was given by
   * then.
   */
  readonly candidates: (
    invoiceId: string,
    network: Network,
    tokenId: number,
    seenAt: number,
    includeExpired?: boolean
  ) => Effect.Effect<ReadonlyArray<QuoteRow>>
  /**
   * The quote the payor was shown last, with the seconds it has left now; `expired` past its end; null when the payor
   * was shown none.
   */
  readonly current: (invoiceId: string) => Effect.Effect<Quote | null>
  /** The newest quote that the payor was shown of each route, by the route's token: at most as many as there are tokens. */
  readonly routes: (invoiceId: string) => Effect.Effect<ReadonlyArray<QuoteRow>>
  /** A merchant's quote in one environment; null for every other id. */
  readonly get: (merchantId: number, environment: Environment, id: string) => Effect.Effect<QuoteRow | null>
}>()("tillwire/modules/quotes/PaymentQuotes") {}

/** Sorts by time, so that of two quotes of one second the later one is the newer. */
const newId = Effect.map(uuidV7, (uuid) => QuoteId.make(`quo_${uuid}`))

const make = Effect.gen(function*() {
  const clock = yield* MerchantClock
  const prices = yield* Prices
  const chains = yield* Chains
  const repo = yield* makeRepo

  const isShownLast = (row: QuoteRow) =>
    Effect.map(repo.newestShown([row.invoiceId]), ([shown]) => shown?.id === row.id)

  const issue: PaymentQuotes["Service"]["issue"] = Effect.fn("PaymentQuotes.issue")(function*(request) {
    const { environment, invoiceId, merchantId, isShown, token } = request
    const issued = (row: QuoteRow, now: number) => ({ quote: quoteObject(row, now), row, write: writeOf(row) })
    const status = chains.status(environment, merchantId).find(({ network }) => network === token.network)
    if (status?.healthy === false) return { quote: unavailableObject(request, networkDegraded), row: null, write: null }
    const last = yield* repo.newest(invoiceId, token.network, token.id)
    const requestedAt = yield* clock.nowSeconds(merchantId, environment)
    if (last !== null && isReusable(last, request, requestedAt)) {
      return isShown && !(yield* isShownLast(last))
        ? issued(showAgain(yield* newId, last, requestedAt), requestedAt)
        : { quote: quoteObject(last, requestedAt), row: last, write: null }
    }
    return yield* prices.spot(token).pipe(
      Effect.flatMap(Effect.fnUntraced(function*(spot) {
        const now = yield* clock.nowSeconds(merchantId, environment)
        const at = spot.at + clock.aheadSeconds(merchantId, environment)
        return issued(newQuote(yield* newId, request, { ...spot, at }, now), now)
      })),
      Effect.catchTag("PriceUnavailable", ({ reason, retryAfterSeconds }) =>
        Effect.succeed({
          quote: unavailableObject(request, noPrice(reason, retryAfterSeconds)),
          row: null,
          write: null
        }))
    )
  })

  const current: PaymentQuotes["Service"]["current"] = Effect.fn("PaymentQuotes.current")(
    function*(invoiceId) {
      const [last] = yield* repo.newestShown([invoiceId])
      return last === undefined ? null : quoteObject(last, yield* clock.nowSeconds(last.merchantId, last.environment))
    }
  )

  const candidates: PaymentQuotes["Service"]["candidates"] = Effect.fn("PaymentQuotes.candidates")(
    function*(invoiceId, network, tokenId, seenAt, includeExpired = false) {
      const validQuotes = yield* repo.validAt(invoiceId, network, tokenId, seenAt)
      return validQuotes.length > 0 || !includeExpired
        ? validQuotes
        : yield* repo.lastIssuedBy(invoiceId, network, tokenId, seenAt)
    }
  )

  return PaymentQuotes.of({ issue, candidates, current, routes: repo.newestOfRoutes, get: repo.get })
})

export const layer: Layer.Layer<PaymentQuotes, never, MerchantClock | Prices | Chains | SqlClient.SqlClient> = Layer
  .effect(PaymentQuotes, make)
