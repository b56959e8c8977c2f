/** From items to an order: what they cost, where they go, and the purchase that makes an order of an estimate. */
import { Context, Effect, Layer } from "effect"
import { Commit, type IdempotentCall } from "../../runtime/Commit.ts"
import { MerchantClock } from "../../runtime/MerchantClock.ts"
import type { PublicError } from "../../schemas/Errors.ts"
import { Orders } from "../commerce/plugin.ts"
import { Invoices } from "../invoices/plugin.ts"
import { type PostalAddress, Retailers, type WantedItem } from "../retail/plugin.ts"
import { makeRepo } from "./repo.ts"
import type { Customer, EstimateState, Quotation, Shop } from "./rules.ts"
import type { CheckoutContext } from "./service/CheckoutContext.ts"
import {
  type AddressResult,
  checkAddress,
  type EstimateRequest,
  makeEstimate,
  quoteItems
} from "./service/Estimates.ts"
import { type Purchase, purchaseEstimate, type PurchaseResult } from "./service/Purchases.ts"

export class Checkouts extends Context.Service<Checkouts, {
  /**
   * Items as they are sold now: the same validation at every step. An environment no retailer serves sells nothing.
   * Errors: `SERVICE_UNAVAILABLE` while the retailer does not answer.
   */
  readonly quote: (
    shop: Shop,
    items: ReadonlyArray<WantedItem>,
    zipCode: string | null
  ) => Effect.Effect<Quotation, PublicError>
  /**
   * Prices the items of a request; the estimate holds for 900 s. Errors: `NO_VALID_ITEMS`, `ORDER_VALUE_EXCEEDED`,
   * `INVALID_AMOUNT_RANGE`, `quote`'s.
   */
  readonly estimate: (
    shop: Shop,
    request: EstimateRequest,
    call: IdempotentCall<EstimateState>
  ) => Effect.Effect<EstimateState, PublicError>
  /**
   * Checks where an estimate goes and prices it anew for there. Errors: those of `estimate`, `ESTIMATE_NOT_FOUND`,
   * `ESTIMATE_ALREADY_USED`, `ESTIMATE_EXPIRED`, `ADDRESS_INVALID`.
   */
  readonly address: (
    shop: Shop,
    customer: Customer,
    estimateId: string,
    address: PostalAddress,
    call: IdempotentCall<AddressResult>
  ) => Effect.Effect<AddressResult, PublicError>
  /**
   * Makes an order of an estimate, with its invoice, in one commit that uses the estimate up. It asks for exactly what
   * the address step showed: the items are quoted again, and where the retailer asks for more by now, or sells less,
   * `ESTIMATE_CHANGED` says what it would come to and nothing is written. Errors: those of `estimate` and `address`,
   * `ADDRESS_NOT_FOUND`, `VALIDATION_ERROR` for an unknown way of shipping.
   */
  readonly purchase: (
    shop: Shop,
    customer: Customer,
    purchase: Purchase,
    call: IdempotentCall<PurchaseResult>
  ) => Effect.Effect<PurchaseResult, PublicError>
}>()("tillwire/modules/storefront/Checkouts") {
  static readonly layer = Layer.effect(
    Checkouts,
    Effect.gen(function*() {
      const context: CheckoutContext = {
        clock: yield* MerchantClock,
        commit: yield* Commit,
        invoices: yield* Invoices,
        orders: yield* Orders,
        retailers: yield* Retailers,
        repo: yield* makeRepo
      }
      return Checkouts.of({
        quote: (shop, items, zipCode) => quoteItems(context, shop, items, zipCode),
        estimate: (shop, request, call) => makeEstimate(context, shop, request, call),
        address: (shop, customer, estimateId, address, call) =>
          checkAddress(context, shop, customer, estimateId, address, call),
        purchase: (shop, customer, purchase, call) => purchaseEstimate(context, shop, customer, purchase, call)
      })
    })
  )
}
