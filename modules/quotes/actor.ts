/** Quotes of invoices: load, decide, and hand the row to the caller, who commits it with its own. */
import { Clock, Context, Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import type { Write } from "../../runtime/Commit.ts"
import { Quotes } from "../../runtime/Quotes.ts"
import { uuidV7 } from "../../runtime/Uuid.ts"
import { type InvoiceId, QuoteId } from "../../schemas/Ids.ts"
import type { UsdMillis } from "../../schemas/Money.ts"
import type { Environment, Network } from "../../schemas/Network.ts"
import type { Quote } from "../../schemas/Quote.ts"
import type { Token } from "../../schemas/Token.ts"
import { isReusable, priced, quoteObject, type QuoteRow, unavailableObject } from "./machine.ts"
import { makeRepo, writeOf } from "./repo.ts"

export class PaymentQuotes extends Context.Service<PaymentQuotes, {
  /**
   * What `amountRemaining` costs in `token` now: a wire object of exactly the contract's fields, for 300 s.
   *
   * A quote of the same route and amount with more than 30 s left is given again, with `write: null`. Otherwise
   * `write` is the new quote's row: it holds once the caller has committed it. Without a fresh price the object says
   * `unavailable`, and `write` and `id` are null. Errors: none.
   */
  readonly issue: (request: {
    readonly merchantId: number
    readonly invoiceId: InvoiceId
    readonly environment: Environment
    readonly token: Token
    readonly amountRemaining: UsdMillis
  }) => Effect.Effect<{ readonly quote: Quote; readonly write: Write | null; readonly id: QuoteId | null }>
  /**
   * Quotes of a route that hold for a transfer seen at `seenAt` (epoch seconds), grace included, newest first: what
   * `valuation` of machine.ts chooses from. `lapsed`: where none holds any more, the last one that was given by then.
   */
  readonly candidates: (
    invoiceId: string,
    network: Network,
    tokenId: number,
    seenAt: number,
    lapsed?: boolean
  ) => Effect.Effect<ReadonlyArray<QuoteRow>>
  /**
   * The newest quote of a route, of any route if none is named, with the seconds it has left now; `expired` past its
   * end; null when the invoice has none. Name the route where a quote may have been given again.
   */
  readonly current: (
    invoiceId: string,
    route?: { readonly network: Network; readonly tokenId: number }
  ) => Effect.Effect<Quote | null>
}>()("tillwire/modules/quotes/PaymentQuotes") {}

const nowSeconds = Effect.map(Clock.currentTimeMillis, (millis) => Math.floor(millis / 1000))

/** Sorts by time, so that of two quotes of one second the later one is the newer. */
const newId = Effect.map(uuidV7, (uuid) => QuoteId.make(`quo_${uuid}`))

const make = Effect.gen(function*() {
  const quotes = yield* Quotes
  const repo = yield* makeRepo

  const issue: PaymentQuotes["Service"]["issue"] = Effect.fn("PaymentQuotes.issue")(function*(request) {
    const { invoiceId, token } = request
    const [last] = yield* repo.newest(invoiceId, { network: token.network, tokenId: token.id }, 1)
    const askedAt = yield* nowSeconds
    if (last !== undefined && isReusable(last, request, askedAt)) {
      return { quote: quoteObject(last, askedAt), write: null, id: last.id }
    }
    return yield* quotes.spot(token).pipe(
      Effect.flatMap(Effect.fnUntraced(function*(spot) {
        const now = yield* nowSeconds
        const row = priced(yield* newId, request, spot, now)
        return { quote: quoteObject(row, now), write: writeOf(row), id: row.id }
      })),
      Effect.catchTag("PriceUnavailable", ({ reason, retryAfterSeconds }) =>
        Effect.succeed({ quote: unavailableObject(request, reason, retryAfterSeconds), write: null, id: null }))
    )
  })

  const current: PaymentQuotes["Service"]["current"] = Effect.fn("PaymentQuotes.current")(
    function*(invoiceId, route) {
      const [last] = yield* repo.newest(invoiceId, route ?? null, 1)
      return last === undefined ? null : quoteObject(last, yield* nowSeconds)
    }
  )

  const candidates: PaymentQuotes["Service"]["candidates"] = Effect.fn("PaymentQuotes.candidates")(
    function*(invoiceId, network, tokenId, seenAt, lapsed = false) {
      const holding = yield* repo.holdingAt(invoiceId, network, tokenId, seenAt)
      return holding.length > 0 || !lapsed ? holding : yield* repo.lastGivenBy(invoiceId, network, tokenId, seenAt)
    }
  )

  return PaymentQuotes.of({ issue, candidates, current })
})

export const layer: Layer.Layer<PaymentQuotes, never, Quotes | SqlClient.SqlClient> = Layer.effect(
  PaymentQuotes,
  make
)
