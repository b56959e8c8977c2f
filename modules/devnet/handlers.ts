/** Simulated payments between the wire and the simulated chain: the transfer takes the road of every other. */
import { Duration, Effect, Option } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { EventBus } from "../../runtime/EventBus.ts"
import { CurrentPrincipal, inVersion, jsonText, requireMerchantScope } from "../../runtime/Http.ts"
import { TokenCatalog } from "../../runtime/TokenCatalog.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import { isUuid } from "../../schemas/Ids.ts"
import { type BaseUnits, readRate, tokenAmountUp, usdMillis } from "../../schemas/Money.ts"
import type { Network } from "../../schemas/Network.ts"
import { SimulatedChain } from "../chains/simulated.ts"
import { type Aggregate, invoiceObject, Invoices, lockedRoute, paymentObject } from "../invoices/plugin.ts"
import { Payments, type Route } from "../payments/plugin.ts"
import { PaymentQuotes } from "../quotes/plugin.ts"
import { DevnetApi, type SimulateRequest } from "./api.ts"

/** How long a simulated transfer may take to be counted before the answer shows it as it is. */
const countedWithin = Duration.seconds(5)

/** Pause between two looks at the invoice while the transfer is on its way. */
const lookEvery = Duration.millis(10)

/** Events of one call, at most: far above those of one payment. */
const maximumEvents = 200

/** The token of a first payment when neither the caller nor an earlier address names one. */
const defaultSymbol = "USDC"

const devnetKey = Effect.gen(function*() {
  const principal = yield* CurrentPrincipal
  if (principal.environment !== "devnet") return yield* publicError("DEVNET_ONLY")
  return yield* requireMerchantScope
})

/** What `amount` usd_millis are at the route's quote; what remains is exactly the quoted amount. */
const unitsFor = (route: Route, amount: number | undefined): Effect.Effect<BaseUnits, PublicError> => {
  const rate = route.quote.exchange_rate === null ? undefined : readRate(route.quote.exchange_rate)
  if (route.tokenAmount === null || rate === undefined) {
    return Effect.fail(publicError("QUOTE_UNAVAILABLE", { retryAfterSeconds: 15 }))
  }
  return Effect.succeed(
    amount === undefined ? route.tokenAmount : tokenAmountUp(usdMillis(BigInt(amount)), rate, route.token.decimals)
  )
}

export const handlers = HttpApiBuilder.group(DevnetApi, "devnet", Effect.fn(function*(group) {
  const bus = yield* EventBus
  const catalog = yield* TokenCatalog
  const chain = yield* SimulatedChain
  const invoices = yield* Invoices
  const payments = yield* Payments
  const quotes = yield* PaymentQuotes

  /** The route asked for, else the locked one, else the one shown last, else the first stablecoin there is. */
  const chooseRoute = Effect.fnUntraced(function*(
    current: Aggregate,
    asked: typeof SimulateRequest.Type
  ): Effect.fn.Return<{ readonly network: Network; readonly tokenId: number }, PublicError> {
    if (asked.token_id !== undefined) {
      const network = asked.network ?? catalog.get(asked.token_id)?.network
      if (network === undefined) return yield* publicError("TOKEN_NOT_ACCEPTED", { param: "token_id" })
      return { network, tokenId: asked.token_id }
    }
    const locked = lockedRoute(current)
    const shown = yield* quotes.current(current.invoice.id)
    const known = locked ??
      (shown?.supported_token_id == null ? null : { network: shown.network, tokenId: shown.supported_token_id })
    if (known !== null && (asked.network ?? known.network) === known.network) return known
    const network = asked.network ?? chain.networks.find((one) => one === "base") ?? chain.networks[0]!
    const tokens = catalog.list("devnet").filter((token) => token.network === network && token.active)
    const token = tokens.find(({ symbol }) => symbol === defaultSymbol) ?? tokens[0]
    if (token === undefined) return yield* publicError("UNSUPPORTED_NETWORK", { param: "network" })
    return { network, tokenId: token.id }
  })

  /** The invoice once the transfer is counted, or as it is after {@link countedWithin}. */
  const afterwards = (invoiceId: string, txHash: string) => {
    const look = Effect.map(invoices.find(invoiceId), (aggregate) => {
      const payment = aggregate?.payments.find((one) => one.txHash === txHash)
      return { aggregate: aggregate!, payment }
    })
    const counted = look.pipe(
      Effect.flatMap((seen) =>
        seen.payment === undefined || seen.payment.status === "pending" ? Effect.fail("on its way") : Effect.succeed(seen)
      ),
      Effect.tapError(() => Effect.sleep(lookEvery)),
      Effect.eventually,
      Effect.timeoutOption(countedWithin)
    )
    return Effect.flatMap(counted, Option.match({ onNone: () => look, onSome: Effect.succeed }))
  }

  const pay = Effect.fnUntraced(function*(current: Aggregate, asked: typeof SimulateRequest.Type) {
    const { network, tokenId } = yield* chooseRoute(current, asked)
    if (!chain.networks.includes(network)) return yield* publicError("UNSUPPORTED_NETWORK", { param: "network" })
    const { invoice } = current
    const route = yield* payments.route(current, network, tokenId)
    const amount = yield* unitsFor(route, asked.amount)
    const position = yield* bus.nextPosition(invoice.merchantId)
    const { txHash } = yield* chain.transfer({
      network,
      to: route.target.matchKey,
      tokenAddress: route.token.address,
      amount
    })
    const { aggregate, payment } = yield* afterwards(invoice.id, txHash)
    const events = yield* bus.after({
      merchantId: invoice.merchantId,
      invoiceId: invoice.id,
      position,
      limit: maximumEvents
    })
    return {
      invoice: invoiceObject(aggregate.invoice),
      invoice_payment: payment === undefined ? null : yield* inVersion(paymentObject(aggregate.invoice, payment)),
      event_ids: events.map(({ id }) => id)
    }
  })

  return group.handle("simulate", Effect.fnUntraced(function*({ params, payload }) {
    const { merchantId } = yield* devnetKey
    const found = isUuid(params.id) ? yield* invoices.get(merchantId, params.id) : null
    if (found === null || found.invoice.environment !== "devnet") return yield* publicError("INVOICE_NOT_FOUND")
    return jsonText(JSON.stringify({ success: true, data: yield* pay(found, payload) }))
  }))
}))
