/** Goal: the payment page asks networks for nothing that its screen does not show. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { PayorSessions } from "../../../modules/auth/plugin.ts"
import { Receipts } from "../../../modules/checkout/service/Receipts.ts"
import { Checkout } from "../../../modules/checkout/service.ts"
import { Invoices } from "../../../modules/invoices/plugin.ts"
import {
  InvoiceTerms,
  PayorApi,
  PayorDetails,
  RefundClaims,
  SimulatedPayments
} from "../../../modules/payments/plugin.ts"
import { MerchantSettings } from "../../../modules/settings/plugin.ts"
import { Chains } from "../../../runtime/Chains.ts"
import { MerchantClock } from "../../../runtime/MerchantClock.ts"
import { Secrets } from "../../../runtime/Secrets.ts"
import { addressFor, detailsOf, manyTokenOptions, now } from "../../fixtures/paymentViews.ts"
import { catalogOf, usdc } from "../../fixtures/tokens.ts"

const details = detailsOf("unpaid")

const invoice = {
  id: details.invoice_id,
  merchantId: 1,
  environment: "devnet",
  status: "unpaid",
  type: "standard",
  createdAt: now - 60,
  expiresAt: details.expires_at
}

/** How often fees were asked for while the page of an invoice was drawn. */
const feesAskedFor = Effect.fnUntraced(function*(address: ReturnType<typeof addressFor> | null, change = false) {
  let asked = 0
  const payorApi = Layer.mock(PayorApi, {
    details: () => Effect.succeed(details),
    tokens: () => Effect.succeed(manyTokenOptions),
    withNetworkFees: (_, tokens) =>
      Effect.sync(() => {
        asked++
        return tokens
      }),
    estimates: () => new Map(),
    currentAddress: () => Effect.succeed(address),
    ticket: () => Effect.succeed(addressFor("25.000000").ws_connection)
  } as Partial<PayorApi["Service"]> as never)
  const checkout = yield* Checkout.pipe(Effect.provide(Checkout.layer.pipe(Layer.provide(Layer.mergeAll(
    payorApi,
    catalogOf(usdc),
    Layer.mock(Chains, { status: () => [] } as never),
    Layer.mock(MerchantClock, { nowSeconds: () => Effect.succeed(now), aheadSeconds: () => 0 } as never),
    Layer.mock(MerchantSettings, { get: () => Effect.succeed({ branding: { allow_restart: false } } as never) }),
    Layer.mock(Invoices, {}),
    Layer.mock(PayorDetails, {}),
    Layer.mock(PayorSessions, {} as never),
    Layer.mock(Secrets, {} as never),
    Layer.mock(Receipts, { urlOf: () => null }),
    InvoiceTerms.layer,
    RefundClaims.layer,
    SimulatedPayments.layer
  )))))
  const view = yield* checkout.view({ aggregate: { invoice, payments: [] }, lastEventId: null } as never, {
    change,
    currency: null,
    isNavigation: false,
    tab: "link",
    isPhone: false,
    refund: null,
    canSetRefundAddress: true,
    unpricedToken: null,
    lastToken: null,
    path: "/pay/1",
    query: ""
  })
  return [view.screen, asked]
})

describe("the payment page", () => {
  it.effect("has fees read for the list of ways to pay, and not for a way that is chosen", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* feesAskedFor(null), ["choose", 1])
      assert.deepStrictEqual(yield* feesAskedFor(addressFor("25.000000")), ["waiting", 0])
      assert.deepStrictEqual(yield* feesAskedFor(addressFor("25.000000"), true), ["choose", 1])
    }))
})
