/** The routes of an invoice: those whose address a payor was shown, and those by which a payment came. */
import { Effect } from "effect"
import { Chains } from "../../../runtime/Chains.ts"
import { familyOf } from "../../../schemas/Network.ts"
import type { Aggregate, PaymentState } from "../../invoices/plugin.ts"
import { PaymentQuotes } from "../../quotes/plugin.ts"
import { methodOfPayment, paymentMethodJson, type PaymentRoute } from "../rules/Wire.ts"
import type { ShopInvoice } from "../repo.ts"
import type { Methods } from "./Methods.ts"

/** Where money for an invoice goes on a network; empty where no address was given out. */
export const makeTargetOf = Effect.map(
  Chains,
  (chains) => (invoiceId: string, { network }: Pick<PaymentState, "network">) =>
    Effect.map(chains.target(invoiceId, familyOf(network)), (target) => target?.address ?? "")
)

export const makePaymentRoutes = Effect.fnUntraced(function*(methods: Methods) {
  const quotes = yield* PaymentQuotes
  const targetOf = yield* makeTargetOf

  return Effect.fnUntraced(function*(
    { current, row }: { readonly current: Aggregate; readonly row: ShopInvoice }
  ) {
    const { invoice } = current
    const ids = methods.idsIn(invoice.environment)
    const quoteRows = yield* quotes.routes(invoice.id)
    const byMethod = new Map<string, PaymentRoute>()
    for (const quote of quoteRows) {
      const methodId = ids.get(quote.tokenId)
      const symbol = methods.symbolOf(quote.tokenId)
      if (methodId === undefined || symbol === undefined) continue
      byMethod.set(methodId, {
        methodId,
        token: { symbol, decimals: quote.decimals },
        address: yield* targetOf(invoice.id, quote),
        link: yield* methods.linkOf(quote),
        quote,
        payments: []
      })
    }
    for (const payment of current.payments.toSorted((a, b) => a.ordinal - b.ordinal)) {
      const methodId = methodOfPayment(payment, ids)
      const route: PaymentRoute = byMethod.get(methodId) ?? {
        methodId,
        token: { symbol: payment.metadata.token?.symbol ?? "", decimals: payment.tokenDecimals ?? 0 },
        address: yield* targetOf(invoice.id, payment),
        link: "",
        quote: null,
        payments: []
      }
      byMethod.set(methodId, { ...route, payments: [...route.payments, payment] })
    }
    return [...byMethod.values()].map((route) => paymentMethodJson(current, row, route))
  })
})
