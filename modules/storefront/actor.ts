/** Load, decide, commit: how carts change, and how an estimate becomes an order. */
import { Context, Effect, Layer } from "effect"
import { nowSeconds } from "../../runtime/Clock.ts"
import { Actors } from "../../runtime/Actors.ts"
import { Commit, retryConflicts, type Write } from "../../runtime/Commit.ts"
import { dieOnReplay, type IdempotentCall } from "../../runtime/Http.ts"
import { MerchantClock } from "../../runtime/MerchantClock.ts"
import { countPruned, inBatches, initializePruned, runPeriodically } from "../../runtime/Retention.ts"
import { uuidV7 } from "../../runtime/Uuid.ts"
import { isPublicError, type PublicError, publicError } from "../../schemas/Errors.ts"
import type { Metadata } from "../../schemas/Invoice.ts"
import type { Environment } from "../../schemas/Network.ts"
import { type Destination, type NewOrder, Orders, type OrderState } from "../commerce/plugin.ts"
import { Invoices, type InvoiceState, type NewInvoice } from "../invoices/plugin.ts"
import { type PostalAddress, Retailers, type RetailerUnavailable, type WantedItem } from "../retail/plugin.ts"
import {
  addressError,
  type AddressState,
  type CartState,
  consumeEstimate,
  type Customer,
  customerKey,
  emptyQuotation,
  estimateFault,
  estimateObject,
  type EstimateState,
  estimateTtlSeconds,
  invoiceTtlMillis,
  isStillOffered,
  itemsObject,
  pricesOf,
  pricingOf,
  type Quotation,
  quotationOf,
  screenItems,
  type SeenPrices,
  shippingOption,
  unservedQuotation,
  valueFault
} from "./rules.ts"
import {
  addressWrite,
  cartRetentionDays,
  cartWrite,
  estimateRetentionHours,
  estimateTable,
  estimateWrite,
  makeRepo,
  pruneTable
} from "./repo.ts"

/** How often a lost race for a cart is decided anew before the caller is told to try again. */
const conflictRetries = 3

/** Seconds after which a retailer that gave no answer may be asked again: the caller waits for the answer. */
const retailerRetrySeconds = 5

/** Whose shop it is, and with which money. */
export interface Shop {
  readonly merchantId: number
  readonly environment: Environment
}

/** A cart after a change, and what the caller is told of it; an unchanged cart is not written. */
export interface CartChange<A> {
  readonly cart: CartState
  readonly result: A
}

export class Carts extends Context.Service<Carts, {
  /** The customer's cart; an empty one, dated now, where nobody wrote to it. */
  readonly get: (shop: Shop, customer: Customer) => Effect.Effect<CartState>
  /**
   * Changes a cart by `plan`, in the cart's mailbox; a lost race is decided anew, 3 times, then `SERVICE_UNAVAILABLE`:
   * of two changes at once, neither undoes the other.
   */
  readonly change: <A>(
    shop: Shop,
    customer: Customer,
    plan: (cart: CartState, now: number) => CartChange<A> | PublicError,
    call: IdempotentCall<A>
  ) => Effect.Effect<A, PublicError>
}>()("tillwire/modules/storefront/Carts") {
  static readonly layer = Layer.effect(
    Carts,
    Effect.gen(function*() {
      const actors = yield* Actors
      const clock = yield* MerchantClock
      const commit = yield* Commit
      const repo = yield* makeRepo

      const load = Effect.fnUntraced(function*({ environment, merchantId }: Shop, customer: Customer, now: number) {
        const found = yield* repo.cart(merchantId, environment, customer)
        const newCart: CartState = {
          merchantId,
          environment,
          version: 0,
          customer,
          items: [],
          createdAt: now,
          updatedAt: now
        }
        return found ?? newCart
      })

      const nowOf = ({ environment, merchantId }: Shop) => clock.nowSeconds(merchantId, environment)

      const changeOnce = Effect.fnUntraced(function*<A>(
        shop: Shop,
        customer: Customer,
        plan: (cart: CartState, now: number) => CartChange<A> | PublicError,
        call: IdempotentCall<A>
      ) {
        const now = yield* nowOf(shop)
        const before = yield* load(shop, customer, now)
        const change = plan(before, now)
        if (isPublicError(change)) return yield* change
        if (change.cart === before) return change.result
        const reply = call.reply(change.result)
        yield* commit.append({
          ...shop,
          cause: call.cause,
          writes: [cartWrite(change.cart)],
          events: [],
          ...(reply === undefined ? {} : { reply })
        }).pipe(dieOnReplay)
        return change.result
      })

      return Carts.of({
        get: (shop, customer) => Effect.flatMap(nowOf(shop), (now) => load(shop, customer, now)),
        change: (shop, customer, plan, call) =>
          actors.send(
            "cart",
            `${shop.merchantId} ${shop.environment} ${customerKey(customer)}`,
            changeOnce(shop, customer, plan, call)
          ).pipe(
            retryConflicts(conflictRetries),
            Effect.catchTag("Conflict", () => Effect.fail(publicError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 1 })))
          )
      })
    })
  )
}

/** What a customer wants an estimate of, before anyone has priced it. */
export interface EstimateRequest {
  readonly customer: Customer
  readonly items: ReadonlyArray<WantedItem>
  /** What the shop said the items cost. */
  readonly seenPrices: SeenPrices
  readonly zipCode: string | null
}

/** An estimate after its address: both are what the customer sees next. */
export interface AddressResult {
  readonly address: AddressState
  readonly estimate: EstimateState
  readonly seenPrices: SeenPrices
}

/** What an order is made of, beside its estimate. */
export interface Purchase {
  readonly estimateId: string
  readonly addressId: string
  /** Null: the cheapest. */
  readonly shippingOptionId: string | null
  readonly refundDestination: Destination | null
  readonly metadata: Metadata
}

/** A new order and the invoice that pays it. */
export interface PurchaseResult {
  readonly order: OrderState
  readonly invoice: InvoiceState
}

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
      const clock = yield* MerchantClock
      const commit = yield* Commit
      const invoices = yield* Invoices
      const orders = yield* Orders
      const retailers = yield* Retailers
      const repo = yield* makeRepo

      const nowOf = ({ environment, merchantId }: Shop) => clock.nowSeconds(merchantId, environment)

      const quote = Effect.fnUntraced(function*(
        { environment, merchantId }: Shop,
        items: ReadonlyArray<WantedItem>,
        zipCode: string | null
      ): Effect.fn.Return<Quotation, PublicError> {
        const screening = screenItems(items)
        const driver = retailers.driver(environment)
        if (driver === undefined) return unservedQuotation(screening)
        if (screening.wantedItems.length === 0) return quotationOf(screening, emptyQuotation)
        const offer = yield* driver.quote({ merchantId, environment, items: screening.wantedItems, zipCode }).pipe(
          orServiceUnavailable
        )
        return quotationOf(screening, offer)
      })

      /** A new commit of rows that are written once: nobody else can have written them. */
      const append = <A>(shop: Shop, writes: ReadonlyArray<Write>, call: IdempotentCall<A>, result: A) => {
        const reply = call.reply(result)
        return commit.append({
          ...shop,
          cause: call.cause,
          writes,
          events: [],
          ...(reply === undefined ? {} : { reply })
        }).pipe(
          Effect.catchTag("Conflict", (bug) => Effect.die(bug)),
          dieOnReplay
        )
      }

      const estimate = Effect.fnUntraced(
        function*(shop: Shop, request: EstimateRequest, call: IdempotentCall<EstimateState>) {
          const quotation = yield* quote(shop, request.items, request.zipCode)
          yield* checkValue(quotation)
          const now = yield* nowOf(shop)
          const newEstimate: EstimateState = {
            ...shop,
            id: yield* uuidV7,
            version: 1,
            customer: request.customer,
            quotation,
            zipCode: request.zipCode,
            createdAt: now,
            expiresAt: now + estimateTtlSeconds,
            orderId: null
          }
          yield* append(shop, [estimateWrite(newEstimate)], call, newEstimate)
          return newEstimate
        }
      )

      /** An estimate that may go on. Another customer's is as unknown as none. */
      const usableEstimate = Effect.fnUntraced(function*(shop: Shop, customer: Customer, id: string) {
        const found = yield* repo.estimate(shop.merchantId, shop.environment, id)
        if (found === null || customerKey(found.customer) !== customerKey(customer)) {
          return yield* publicError("ESTIMATE_NOT_FOUND", { param: "estimate_id" })
        }
        const fault = estimateFault(found, yield* nowOf(shop))
        return fault === null ? found : yield* publicError(fault, { param: "estimate_id" })
      })

      const address = Effect.fnUntraced(function*(
        shop: Shop,
        customer: Customer,
        estimateId: string,
        postalAddress: PostalAddress,
        call: IdempotentCall<AddressResult>
      ) {
        const before = yield* usableEstimate(shop, customer, estimateId)
        const driver = retailers.driver(shop.environment)
        if (driver === undefined) {
          return yield* publicError("SERVICE_UNAVAILABLE", { retryAfterSeconds: retailerRetrySeconds })
        }
        const validation = yield* driver.validateAddress(postalAddress, shop.environment).pipe(orServiceUnavailable)
        if (validation._tag === "Invalid") {
          return yield* addressError(validation.fields)
        }
        const currentQuotation = yield* quote(shop, before.quotation.items, validation.address.zipCode)
        const quotation = { ...currentQuotation, refused: [...before.quotation.refused, ...currentQuotation.refused] }
        yield* checkValue(quotation)
        const newAddress: AddressState = {
          ...shop,
          id: yield* uuidV7,
          version: 1,
          estimateId,
          address: validation.address,
          quotation,
          createdAt: yield* nowOf(shop)
        }
        const result = {
          address: newAddress,
          estimate: { ...before, quotation, zipCode: validation.address.zipCode },
          seenPrices: pricesOf(before.quotation.items)
        }
        yield* append(shop, [addressWrite(newAddress)], call, result)
        return result
      })

      const purchase = Effect.fnUntraced(function*(
        shop: Shop,
        customer: Customer,
        { addressId, estimateId, metadata, refundDestination, shippingOptionId }: Purchase,
        call: IdempotentCall<PurchaseResult>
      ) {
        const before = yield* usableEstimate(shop, customer, estimateId)
        const savedAddress = yield* repo.address(shop.merchantId, estimateId, addressId)
        if (savedAddress === null) return yield* publicError("ADDRESS_NOT_FOUND", { param: "address_id" })
        const shipping = shippingOption(savedAddress.quotation, shippingOptionId)
        if (shipping === undefined) return yield* unknownShipping
        const amounts = pricingOf(savedAddress.quotation, shipping)
        yield* checkValue(savedAddress.quotation, amounts)
        const currentQuotation = yield* quote(shop, savedAddress.quotation.items, savedAddress.address.zipCode)
        if (!isStillOffered(savedAddress.quotation, currentQuotation, shipping)) {
          const quotation = {
            ...currentQuotation,
            refused: [...savedAddress.quotation.refused, ...currentQuotation.refused]
          }
          const estimate = { ...before, quotation, zipCode: savedAddress.address.zipCode }
          return yield* publicError("ESTIMATE_CHANGED", {
            param: "estimate_id",
            details: { estimate: estimateObject(estimate, pricesOf(savedAddress.quotation.items)) }
          })
        }
        const newOrder: NewOrder = {
          ...shop,
          orderId: yield* uuidV7,
          customerId: customer.id,
          walletAddress: before.customer.wallet?.address ?? null,
          walletNetwork: before.customer.wallet?.network ?? null,
          items: savedAddress.quotation.items,
          shipping,
          address: savedAddress.address,
          amounts,
          refundDestination,
          metadata
        }
        const draft = yield* invoices.draft(invoiceOf(newOrder))
        const { extraWrites, order } = orders.creation(newOrder, draft.invoice)
        const result = { invoice: draft.invoice, order }
        const consumed = estimateWrite(consumeEstimate(before, newOrder.orderId))
        yield* invoices.createWith(
          draft,
          { ...extraWrites, writes: [...extraWrites.writes, consumed] },
          call.cause,
          call.reply(result)
        ).pipe(
          Effect.catchTag("Conflict", (conflict) =>
            conflict.table === estimateTable
              ? Effect.fail(publicError("ESTIMATE_ALREADY_USED", { param: "estimate_id" }))
              : Effect.die(conflict)),
          dieOnReplay
        )
        return result
      })

      return Checkouts.of({ quote, estimate, address, purchase })
    })
  )
}

/** The invoice of a new order: it asks for its total within 1,800 s, and says nothing of who gets what where. */
const invoiceOf = ({ amounts, customerId, environment, merchantId, metadata, orderId }: NewOrder): NewInvoice => ({
  merchantId,
  environment,
  commerce: true,
  amount: amounts.total,
  expiresInMillis: invoiceTtlMillis,
  customerId,
  metadata,
  details: { description: null, title: null, footer: null, customerEmail: null, returnUrl: null, locale: null },
  toleranceBasisPoints: null,
  acceptedNetworks: null,
  orderId
})

const unknownShipping = publicError("VALIDATION_ERROR", {
  message: "shipping_option_id: The address has no such way of shipping",
  param: "shipping_option_id"
})

const orServiceUnavailable = <A>(effect: Effect.Effect<A, RetailerUnavailable>): Effect.Effect<A, PublicError> =>
  Effect.catchTag(effect, "RetailerUnavailable", (error) =>
    Effect.andThen(
      Effect.logWarning("the retailer gave no answer", error),
      Effect.fail(publicError("SERVICE_UNAVAILABLE", { retryAfterSeconds: retailerRetrySeconds }))
    ))

/** Refuses what cannot become an order, and says of every item why. */
const checkValue = (
  quotation: Quotation,
  pricing = pricingOf(quotation, quotation.shipping[0])
): Effect.Effect<void, PublicError> => {
  const fault = valueFault(quotation, pricing)
  if (fault === null) return Effect.void
  const { invalid_items } = itemsObject(quotation, new Map())
  return Effect.fail(publicError(fault, fault === "NO_VALID_ITEMS" ? { details: { invalid_items } } : {}))
}

/**
 * Removes estimates and addresses after {@link estimateRetentionHours}, carts {@link cartRetentionDays} after their
 * last change.
 */
export const prune = Effect.gen(function*() {
  const now = yield* nowSeconds
  const estimatesBefore = now - estimateRetentionHours * 3_600
  yield* inBatches(countPruned("checkout_addresses")(pruneTable("checkout_addresses", "created_at", estimatesBefore)))
  yield* inBatches(countPruned("checkout_estimates")(pruneTable("checkout_estimates", "created_at", estimatesBefore)))
  yield* inBatches(countPruned("carts")(pruneTable("carts", "updated_at", now - cartRetentionDays * 86_400)))
})

/** {@link prune}, now and then. */
export const pruneRegularly = Effect.andThen(
  initializePruned(["checkout_addresses", "checkout_estimates", "carts"]),
  runPeriodically("storefront-prune", "10 minutes", prune)
)
