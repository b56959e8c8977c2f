/** What payors are shown of a shop's invoice: its price, the tokens that it names, the way back to the shop. */
import { Cache, Effect } from "effect"
import { keepSuccess } from "../../../runtime/Cache.ts"
import { InvoiceTerms, type PayorTerms } from "../../payments/plugin.ts"
import type { Repo } from "../repo.ts"
import { shopPriceOf } from "../rules/Amounts.ts"
import { tokensNamedBy } from "../rules/Methods.ts"
import type { Methods } from "./Methods.ts"

/** Invoices whose terms are remembered: a page that is open asks for them with every look. */
const rememberedInvoices = 10_000

/** Milliseconds for which they are. They never change; that an invoice is of no shop never does either. */
const rememberedMillis = 3_600_000

export const registerTerms = Effect.fnUntraced(function*(methods: Methods, repo: Repo) {
  const asked = yield* Cache.makeWith(
    (invoiceId: string) =>
      Effect.map(
        repo.find(invoiceId),
        (row) => row === null ? null : { checkout: row.checkout, price: shopPriceOf(row.amount, row.currency) }
      ),
    { capacity: rememberedInvoices, timeToLive: keepSuccess(rememberedMillis) }
  )
  yield* (yield* InvoiceTerms).register(Effect.fnUntraced(function*({ environment, id }) {
    const found = yield* Cache.get(asked, id)
    if (found === null) return null
    const { paymentMethods, redirectAutomatically } = found.checkout
    return {
      price: found.price,
      offeredTokens: paymentMethods.length === 0 ? null : tokensNamedBy(paymentMethods, methods.idsIn(environment)),
      returnsAutomatically: redirectAutomatically,
      // An invoice of the service's own is none of the shop's: it would never hear that its order was paid.
      canRestart: false
    } satisfies PayorTerms
  }))
})
