/** The terms of a shop's invoice for its payors: the price, the tokens that are offered, the return to the shop. */
import { Cache, Effect } from "effect"
import { keepSuccess } from "../../../runtime/Cache.ts"
import { InvoiceTerms, type PayorTerms } from "../../payments/plugin.ts"
import type { Repo } from "../repo.ts"
import { shopPriceOf } from "../rules/Amounts.ts"
import { tokensNamedBy } from "../rules/Methods.ts"
import type { Methods } from "./Methods.ts"

/** Invoices whose terms are cached: an open payment page asks for them each time it is rendered. */
const cachedInvoices = 10_000

/** Milliseconds for which they are cached. Neither the terms nor the answer "no shop made it" ever change. */
const cacheMillis = 3_600_000

export const registerTerms = Effect.fnUntraced(function*(methods: Methods, repo: Repo) {
  const cache = yield* Cache.makeWith(
    (invoiceId: string) =>
      Effect.map(
        repo.find(invoiceId),
        (row) => row === null ? null : { checkout: row.checkout, price: shopPriceOf(row.amount, row.currency) }
      ),
    { capacity: cachedInvoices, timeToLive: keepSuccess(cacheMillis) }
  )
  yield* (yield* InvoiceTerms).register(Effect.fnUntraced(function*({ environment, id }) {
    const found = yield* Cache.get(cache, id)
    if (found === null) return null
    const { paymentMethods, redirectAutomatically } = found.checkout
    return {
      price: found.price,
      offeredTokens: paymentMethods.length === 0 ? null : tokensNamedBy(paymentMethods, methods.idsIn(environment)),
      returnsAutomatically: redirectAutomatically,
      // The shop gets no webhooks of a replacement invoice, so it would never learn that its order was paid.
      canRestart: false
    } satisfies PayorTerms
  }))
})
