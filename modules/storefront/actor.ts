/** Load, decide, commit: how carts change, and how an estimate becomes an order. */
import { Clock, Context, Effect, Layer } from "effect"
import { Actors } from "../../runtime/Actors.ts"
import { Commit, type Write } from "../../runtime/Commit.ts"
import { type Order, replayed } from "../../runtime/Http.ts"
import { MerchantClock } from "../../runtime/MerchantClock.ts"
import { counting, inBatches, prunedFromZero, rounds } from "../../runtime/Retention.ts"
import { uuidV7 } from "../../runtime/Uuid.ts"
import { isPublicError, publicError, type PublicError } from "../../schemas/Errors.ts"
import type { Metadata } from "../../schemas/Invoice.ts"
import type { Environment } from "../../schemas/Network.ts"
import { type Destination, type NewOrder, Orders, type OrderState } from "../commerce/plugin.ts"
import { Invoices, type InvoiceState, type NewInvoice } from "../invoices/plugin.ts"
import { type PostalAddress, Retailers, type RetailerUnavailable, type WantedItem } from "../retail/plugin.ts"
import {
  addressError,
  type AddressState,
  type CartState,
  consumed,
  type Customer,
  customerKey,
  emptyQuotation,
  estimateFault,
  estimateObject,
  type EstimateState,
  estimateTtlSeconds,
  holds,
  invoiceTtlMillis,
  itemsObject,
  pricesOf,
  pricingOf,
  type Quotation,
  quoted,
  screened,
  type SeenPrices,
  shippingOption,
  unserved,
  valueFault
} from "./machine.ts"
import {
  addressWrite,
  cartsKeptDays,
  cartWrite,
  estimatesKeptHours,
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
  readonly made: A
}

export class Carts extends Context.Service<Carts, {
  /** The customer's cart; an empty one, dated now, where nobody wrote to it. */
  readonly get: (shop: Shop, customer: Customer) => Effect.Effect<CartState>
  /**
   * Changes a cart by `plan`, in the cart's mailbox; a lost race is decided anew, 3 times, then `SERVICE_UNAVAILABLE`: of
   * two changes at once, neither undoes the other.
   */
  readonly change: <A>(
    shop: Shop,
    customer: Customer,
    plan: (cart: CartState, now: number) => CartChange<A> | PublicError,
    order: Order<A>
  ) => Effect.Effect<A, PublicError>
}>()("tillwire/modules/storefront/Carts") {
  static readonly layer = Layer.effect(Carts, Effect.gen(function*() {
    const actors = yield* Actors
    const clock = yield* MerchantClock
    const commit = yield* Commit
    const repo = yield* makeRepo

    const load = Effect.fnUntraced(function*({ environment, merchantId }: Shop, customer: Customer, now: number) {
      const found = yield* repo.cart(merchantId, environment, customer)
      const none: CartState = { merchantId, environment, version: 0, customer, items: [], createdAt: now, updatedAt: now }
      return found ?? none
    })

    const nowOf = ({ environment, merchantId }: Shop) => clock.nowSeconds(merchantId, environment)

    const changeOnce = Effect.fnUntraced(function*<A>(
      shop: Shop,
      customer: Customer,
      plan: (cart: CartState, now: number) => CartChange<A> | PublicError,
      order: Order<A>
    ) {
      const now = yield* nowOf(shop)
      const before = yield* load(shop, customer, now)
      const planned = plan(before, now)
      if (isPublicError(planned)) return yield* planned
      if (planned.cart === before) return planned.made
      const reply = order.reply(planned.made)
      yield* commit.append({
        ...shop,
        cause: order.cause,
        writes: [cartWrite(planned.cart)],
        events: [],
        ...(reply === undefined ? {} : { reply })
      }).pipe(replayed)
      return planned.made
    })

    return Carts.of({
      get: (shop, customer) => Effect.flatMap(nowOf(shop), (now) => load(shop, customer, now)),
      change: (shop, customer, plan, order) =>
        actors.send(
          "cart",
          `${shop.merchantId} ${shop.environment} ${customerKey(customer)}`,
          changeOnce(shop, customer, plan, order)
        ).pipe(
          Effect.retry({ while: (error) => error._tag === "Conflict", times: conflictRetries }),
          Effect.catchTag("Conflict", () => Effect.fail(publicError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 1 })))
        )
    })
  }))
}

/** A customer's wish, before anyone has priced it. */
export interface Wish {
  readonly customer: Customer
  readonly items: ReadonlyArray<WantedItem>
  /** What the shop said the items cost. */
  readonly seen: SeenPrices
  readonly zipCode: string | null
}

/** An estimate after its address: both are what the customer sees next. */
export interface Addressed {
  readonly address: AddressState
  readonly estimate: EstimateState
  readonly seen: SeenPrices
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
export interface Purchased {
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
  /** Prices a wish for 900 s. Errors: `NO_VALID_ITEMS`, `ORDER_VALUE_EXCEEDED`, `INVALID_AMOUNT_RANGE`, `quote`'s. */
  readonly estimate: (shop: Shop, wish: Wish, order: Order<EstimateState>) => Effect.Effect<EstimateState, PublicError>
  /**
   * Checks where an estimate goes and prices it anew for there. Errors: those of `estimate`, `ESTIMATE_NOT_FOUND`,
   * `ESTIMATE_ALREADY_USED`, `ESTIMATE_EXPIRED`, `ADDRESS_INVALID`.
   */
  readonly address: (
    shop: Shop,
    customer: Customer,
    estimateId: string,
    address: PostalAddress,
    order: Order<Addressed>
  ) => Effect.Effect<Addressed, PublicError>
  /**
   * Makes an order of an estimate, with its invoice, in one commit that uses the estimate up. It asks for exactly what the
   * address step showed: the items are quoted again, and where the retailer asks for more by now, or sells less,
   * `ESTIMATE_CHANGED` says what it would come to and nothing is written. Errors: those of `estimate` and `address`,
   * `ADDRESS_NOT_FOUND`, `VALIDATION_ERROR` for an unknown way of shipping.
   */
  readonly purchase: (
    shop: Shop,
    customer: Customer,
    purchase: Purchase,
    order: Order<Purchased>
  ) => Effect.Effect<Purchased, PublicError>
}>()("tillwire/modules/storefront/Checkouts") {
  static readonly layer = Layer.effect(Checkouts, Effect.gen(function*() {
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
      const wish = screened(items)
      const driver = retailers.driver(environment)
      if (driver === undefined) return unserved(wish)
      if (wish.wanted.length === 0) return quoted(wish, emptyQuotation)
      const offer = yield* driver.quote({ merchantId, environment, items: wish.wanted, zipCode }).pipe(answeredByRetailer)
      return quoted(wish, offer)
    })

    /** A new commit of rows that are written once: nobody else can have written them. */
    const append = <A>(shop: Shop, writes: ReadonlyArray<Write>, order: Order<A>, made: A) => {
      const reply = order.reply(made)
      return commit.append({ ...shop, cause: order.cause, writes, events: [], ...(reply === undefined ? {} : { reply }) }).pipe(
        Effect.catchTag("Conflict", (bug) => Effect.die(bug)),
        replayed
      )
    }

    const estimate = Effect.fnUntraced(function*(shop: Shop, wish: Wish, order: Order<EstimateState>) {
      const quotation = yield* quote(shop, wish.items, wish.zipCode)
      yield* checkValue(quotation)
      const now = yield* nowOf(shop)
      const made: EstimateState = {
        ...shop,
        id: yield* uuidV7,
        version: 1,
        customer: wish.customer,
        quotation,
        zipCode: wish.zipCode,
        createdAt: now,
        expiresAt: now + estimateTtlSeconds,
        orderId: null
      }
      yield* append(shop, [estimateWrite(made)], order, made)
      return made
    })

    /** An estimate that may go on. Another customer's is as unknown as none. */
    const living = Effect.fnUntraced(function*(shop: Shop, customer: Customer, id: string) {
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
      asked: PostalAddress,
      order: Order<Addressed>
    ) {
      const before = yield* living(shop, customer, estimateId)
      const driver = retailers.driver(shop.environment)
      if (driver === undefined) return yield* publicError("SERVICE_UNAVAILABLE", { retryAfterSeconds: retailerRetrySeconds })
      const verdict = yield* driver.validateAddress(asked, shop.environment).pipe(answeredByRetailer)
      if (verdict._tag === "Invalid") {
        return yield* addressError(verdict.fields)
      }
      const again = yield* quote(shop, before.quotation.items, verdict.address.zipCode)
      const quotation = { ...again, refused: [...before.quotation.refused, ...again.refused] }
      yield* checkValue(quotation)
      const made: AddressState = {
        ...shop,
        id: yield* uuidV7,
        version: 1,
        estimateId,
        address: verdict.address,
        quotation,
        createdAt: yield* nowOf(shop)
      }
      const addressed = {
        address: made,
        estimate: { ...before, quotation, zipCode: verdict.address.zipCode },
        seen: pricesOf(before.quotation.items)
      }
      yield* append(shop, [addressWrite(made)], order, addressed)
      return addressed
    })

    const purchase = Effect.fnUntraced(function*(
      shop: Shop,
      customer: Customer,
      { addressId, estimateId, metadata, refundDestination, shippingOptionId }: Purchase,
      order: Order<Purchased>
    ) {
      const before = yield* living(shop, customer, estimateId)
      const shown = yield* repo.address(shop.merchantId, estimateId, addressId)
      if (shown === null) return yield* publicError("ADDRESS_NOT_FOUND", { param: "address_id" })
      const shipping = shippingOption(shown.quotation, shippingOptionId)
      if (shipping === undefined) return yield* unknownShipping
      const amounts = pricingOf(shown.quotation, shipping)
      yield* checkValue(shown.quotation, amounts)
      const again = yield* quote(shop, shown.quotation.items, shown.address.zipCode)
      if (!holds(shown.quotation, again, shipping)) {
        const quotation = { ...again, refused: [...shown.quotation.refused, ...again.refused] }
        const estimate = { ...before, quotation, zipCode: shown.address.zipCode }
        return yield* publicError("ESTIMATE_CHANGED", {
          param: "estimate_id",
          details: { estimate: estimateObject(estimate, pricesOf(shown.quotation.items)) }
        })
      }
      const bought: NewOrder = {
        ...shop,
        orderId: yield* uuidV7,
        customerId: customer.id,
        walletAddress: before.customer.wallet?.address ?? null,
        walletNetwork: before.customer.wallet?.network ?? null,
        items: shown.quotation.items,
        shipping,
        address: shown.address,
        amounts,
        refundDestination,
        metadata
      }
      const made = (invoice: InvoiceState) => ({ invoice, ...orders.creation(bought, invoice) })
      const invoice = yield* invoices.createAlong(
        invoiceOf(bought),
        order.cause,
        (invoice) => order.reply(made(invoice)),
        (invoice) => {
          const { along } = made(invoice)
          return { ...along, writes: [...along.writes, estimateWrite(consumed(before, bought.orderId))] }
        }
      ).pipe(
        Effect.catchTag("Conflict", (conflict) =>
          conflict.table === estimateTable
            ? Effect.fail(publicError("ESTIMATE_ALREADY_USED", { param: "estimate_id" }))
            : Effect.die(conflict)),
        replayed
      )
      return made(invoice)
    })

    return Checkouts.of({ quote, estimate, address, purchase })
  }))
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

const answeredByRetailer = <A>(asked: Effect.Effect<A, RetailerUnavailable>): Effect.Effect<A, PublicError> =>
  Effect.catchTag(asked, "RetailerUnavailable", (error) =>
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

/** Removes estimates and addresses after {@link estimatesKeptHours}, carts {@link cartsKeptDays} after their last change. */
export const prune = Effect.gen(function*() {
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const estimatesBefore = now - estimatesKeptHours * 3_600
  yield* inBatches(counting("checkout_addresses")(pruneTable("checkout_addresses", "created_at", estimatesBefore)))
  yield* inBatches(counting("checkout_estimates")(pruneTable("checkout_estimates", "created_at", estimatesBefore)))
  yield* inBatches(counting("carts")(pruneTable("carts", "updated_at", now - cartsKeptDays * 86_400)))
})

/** {@link prune}, now and then. */
export const pruning = Effect.andThen(
  prunedFromZero(["checkout_addresses", "checkout_estimates", "carts"]),
  rounds("storefront-prune", "10 minutes", prune)
)
