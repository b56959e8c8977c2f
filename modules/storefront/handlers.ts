/** Checkout and carts between the wire and the actors. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { answering, CurrentPrincipal, jsonText, RequestInfo } from "../../runtime/Http.ts"
import { uuidV7 } from "../../runtime/Uuid.ts"
import { publicError, type PublicError } from "../../schemas/Errors.ts"
import { readPrice, usdDecimal, usdMillis, usdWire } from "../../schemas/Money.ts"
import type { Environment } from "../../schemas/Network.ts"
import { maximumQuantity } from "../../schemas/Order.ts"
import { turnDown } from "../../schemas/Version.ts"
import { type Destination, orderObject } from "../commerce/plugin.ts"
import { checkMetadata, makeSession } from "../invoices/plugin.ts"
import { Refunds } from "../refunds/plugin.ts"
import { type Addressed, Carts, Checkouts, type Purchased, type Wish } from "./actor.ts"
import { type CustomerFields, type NewCartItem, type NewEstimate, StorefrontApi } from "./api.ts"
import {
  addressError,
  added,
  addressObject,
  begun,
  type CartItem,
  cartItemObject,
  cartObject,
  type CartState,
  emptied,
  estimateObject,
  type EstimateState,
  itemKey,
  itemsObject,
  overridden,
  pricesOf,
  pricingObject,
  pricingOf,
  readCustomer,
  readPostalAddress,
  resized,
  shippingObjects
} from "./machine.ts"

const wrapped = (data: object) => jsonText(JSON.stringify({ success: true, data }))

/** The shop of a commerce key. A wallet's token and a merchant's key are of merchant scope: neither sells goods. */
const ownShop = Effect.gen(function*() {
  const { environment, merchantId, scope } = yield* CurrentPrincipal
  return scope === "commerce" ? { merchantId, environment } : yield* publicError("SCOPE_MISMATCH")
})

/** The shop, and the customer that the query or the body names; what the body says wins. */
const whoAsks = Effect.fnUntraced(function*(query: CustomerFields, body: CustomerFields | void) {
  const shop = yield* ownShop
  const sent = {
    customer_id: body?.customer_id ?? query.customer_id ?? null,
    wallet_address: body?.wallet_address ?? query.wallet_address ?? null,
    wallet_network: body?.wallet_network ?? query.wallet_network ?? null
  }
  const customer = readCustomer(sent, shop.environment)
  return typeof customer === "string"
    ? yield* publicError(customer, customer === "WALLET_ADDRESS_INVALID" ? { param: "wallet_address" } : {})
    : { shop, customer }
})

const priceOf = (price: number | string) => readPrice(price) ?? usdMillis(0n)

const invalid = (param: string, message: string): PublicError => publicError("VALIDATION_ERROR", { param, message: `${param}: ${message}` })

/** A wish as a body or the customer's cart says it. */
const readWish = (
  { customer }: Pick<Wish, "customer">,
  sent: typeof NewEstimate.Type,
  cart: CartState | null
): Wish | PublicError => {
  const zipCode = sent.zip_code ?? null
  if (cart === null) {
    const items = (sent.items ?? []).map((item) => ({
      productId: item.product_id,
      retailer: item.retailer,
      quantity: item.quantity ?? 1,
      price: item.price ?? null
    }))
    const priced = items.flatMap(({ price, ...item }) => price === null ? [] : [[itemKey(item), priceOf(price)] as const])
    return { customer, items, seen: new Map(priced), zipCode }
  }
  const items = overridden(cart.items, (sent.item_overrides ?? []).map((override) => ({
    productId: override.product_id,
    retailer: override.retailer ?? null,
    quantity: override.quantity
  })))
  return items === null
    ? invalid("item_overrides", "One of them is for no item of the cart")
    : { customer, items, seen: pricesOf(items), zipCode }
}

/**
 * Where a refund goes, if it is said. Errors: `WALLET_ADDRESS_INVALID` for what is no address of BNB Chain, for a token's
 * contract and for an address that payments are received at; `UNSUPPORTED_NETWORK` where no token of BNB Chain is known.
 */
const readDestination = (
  refunds: Refunds["Service"],
  address: string | null | undefined,
  environment: Environment
): Effect.Effect<Destination | null, PublicError> =>
  address === undefined || address === null
    ? Effect.succeed(null)
    : refunds.check({ network: "bsc", address, memo: null }, environment).pipe(
      Effect.mapError(({ code, message }) =>
        publicError(code, { message, param: "refund_destination_wallet_address_bsc" }))
    )

/** A new order and the session its payor opens the invoice with, as `data` of the answer. */
const makePurchased = Effect.map(makeSession, (sessionOf) => ({ invoice, order }: Purchased, apiVersion: string) => {
  const { sessionToken, signature, url } = sessionOf(invoice)
  return {
    order_id: order.id,
    invoice_id: invoice.id,
    payment_url: url,
    session_token: sessionToken,
    signature,
    payment_session_headers: { "x-session-token": sessionToken, "x-signature": signature },
    merchant_id: invoice.merchantId,
    environment: invoice.environment,
    customer_id: invoice.customerId,
    amount: usdWire(invoice.amount),
    amount_decimal: usdDecimal(invoice.amount),
    amount_unit: "usd_millis",
    status: invoice.status,
    expires_at: invoice.expiresAt,
    order: turnDown(orderObject(order), apiVersion),
    endpoints: {
      check_order: `/api/commerce/merchant/orders/${order.id}`,
      check_payment: `/api/commerce/merchant/payments/${order.id}/status`,
      cancel_order: `/api/commerce/merchant/orders/${order.id}/cancel`
    }
  }
})

const newItem = (id: string, sent: Omit<NewCartItem, keyof CustomerFields>): CartItem => ({
  id,
  productId: sent.product_id,
  retailer: sent.retailer,
  title: sent.title,
  unitAmount: priceOf(sent.price),
  quantity: sent.quantity ?? 1,
  imageUrl: sent.image_url ?? null,
  productUrl: sent.product_url ?? null
})

const full = (item: CartItem, cart: CartState): PublicError =>
  cart.items.some((each) => itemKey(each) === itemKey(item))
    ? publicError("CART_LIMIT_REACHED", { message: `A cart holds at most ${maximumQuantity} pieces of one item`, param: "quantity" })
    : publicError("CART_LIMIT_REACHED")

const itemUnknown = publicError("CART_ITEM_NOT_FOUND", { param: "item_id" })

export const handlers = HttpApiBuilder.group(StorefrontApi, "storefront", Effect.fn(function*(group) {
  const carts = yield* Carts
  const checkouts = yield* Checkouts
  const purchasedObject = yield* makePurchased
  const refunds = yield* Refunds

  return group
    .handle("estimate", Effect.fnUntraced(function*({ payload }) {
      const { customer, shop } = yield* whoAsks(payload)
      const usesCart = payload.use_cart === true
      const hasItems = payload.items !== undefined && payload.items !== null
      if (usesCart === hasItems) return yield* invalid("items", "Send exactly one of `items` and `use_cart: true`")
      if (!usesCart && (payload.item_overrides ?? null) !== null) {
        return yield* invalid("item_overrides", "They go with `use_cart: true`")
      }
      const wish = readWish({ customer }, payload, usesCart ? yield* carts.get(shop, customer) : null)
      if (!("items" in wish)) return yield* wish
      return yield* answering<EstimateState, PublicError>(
        (order) => checkouts.estimate(shop, wish, order),
        (estimate) => estimateObject(estimate, wish.seen)
      )
    }))
    .handle("address", Effect.fnUntraced(function*({ payload }) {
      const { customer, shop } = yield* whoAsks(payload)
      const address = readPostalAddress(payload.address)
      if ("fields" in address) {
        return yield* addressError(address.fields)
      }
      return yield* answering<Addressed, PublicError>(
        (order) => checkouts.address(shop, customer, payload.estimate_id, address, order),
        ({ address, estimate, seen }) => ({
          address_id: address.id,
          validated: true,
          standardized: addressObject(address.address),
          shipping_options: shippingObjects(address.quotation),
          estimate: estimateObject(estimate, seen)
        })
      )
    }))
    .handle("invoice", Effect.fnUntraced(function*({ payload }) {
      const { customer, shop } = yield* whoAsks(payload)
      const metadata = payload.metadata ?? {}
      yield* checkMetadata(metadata)
      const purchase = {
        estimateId: payload.estimate_id,
        addressId: payload.address_id,
        shippingOptionId: payload.shipping_option_id ?? null,
        refundDestination: yield* readDestination(
          refunds,
          payload.refund_destination_wallet_address_bsc,
          shop.environment
        ),
        metadata
      }
      const { apiVersion } = yield* RequestInfo
      return yield* answering<Purchased, PublicError>(
        (order) => checkouts.purchase(shop, customer, purchase, order),
        (purchased) => purchasedObject(purchased, apiVersion)
      )
    }))
    .handle("cart", Effect.fnUntraced(function*({ query }) {
      const { customer, shop } = yield* whoAsks(query)
      return wrapped(cartObject(yield* carts.get(shop, customer)))
    }))
    .handle("beginCart", Effect.fnUntraced(function*({ payload, query }) {
      const { customer, shop } = yield* whoAsks(query, payload)
      const id = yield* uuidV7
      return yield* answering<CartState, PublicError>(
        (order) =>
          carts.change(shop, customer, (cart, now) => {
            if (payload.item === undefined || payload.item === null) {
              const made = begun(cart, now)
              return { cart: made, made }
            }
            const item = newItem(id, payload.item)
            const change = added(cart, item, now)
            return change === null ? full(item, cart) : { cart: change.cart, made: change.cart }
          }, order),
        cartObject
      )
    }))
    .handle("emptyCart", Effect.fnUntraced(function*({ payload, query }) {
      const { customer, shop } = yield* whoAsks(query, payload)
      return yield* answering<number, PublicError>(
        (order) => carts.change(shop, customer, (cart, now) => ({ cart: emptied(cart, now), made: cart.items.length }), order),
        (items_removed) => ({ items_removed })
      )
    }))
    .handle("addItem", Effect.fnUntraced(function*({ payload, query }) {
      const { customer, shop } = yield* whoAsks(query, payload)
      const item = newItem(yield* uuidV7, payload)
      return yield* answering<{ readonly item: CartItem; readonly isUpdate: boolean }, PublicError>(
        (order) =>
          carts.change(shop, customer, (cart, now) => {
            const change = added(cart, item, now)
            return change === null ? full(item, cart) : { cart: change.cart, made: change }
          }, order),
        ({ isUpdate, item }) => ({ item_id: item.id, quantity: item.quantity, updated: isUpdate })
      )
    }))
    .handle("resizeItem", Effect.fnUntraced(function*({ params, payload, query }) {
      const { customer, shop } = yield* whoAsks(query, payload)
      return yield* answering<CartItem, PublicError>(
        (order) =>
          carts.change(shop, customer, (cart, now) => {
            const change = resized(cart, params.item_id, payload.quantity, now)
            return change === null ? itemUnknown : { cart: change.cart, made: change.item }
          }, order),
        cartItemObject
      )
    }))
    .handle("removeItem", Effect.fnUntraced(function*({ params, payload, query }) {
      const { customer, shop } = yield* whoAsks(query, payload)
      return yield* answering<number, PublicError>(
        (order) =>
          carts.change(shop, customer, (cart, now) => {
            const change = resized(cart, params.item_id, 0, now)
            return change === null ? itemUnknown : { cart: change.cart, made: 1 }
          }, order),
        (items_removed) => ({ items_removed })
      )
    }))
    .handle("validateCart", Effect.fnUntraced(function*({ payload, query }) {
      const { customer, shop } = yield* whoAsks(query, payload)
      const { items } = yield* carts.get(shop, customer)
      return wrapped(itemsObject(yield* checkouts.quote(shop, items, null), pricesOf(items)))
    }))
    .handle("cartTotals", Effect.fnUntraced(function*({ query }) {
      const { customer, shop } = yield* whoAsks(query)
      const { items } = yield* carts.get(shop, customer)
      const quotation = yield* checkouts.quote(shop, items, query.zip_code ?? null)
      return wrapped(pricingObject(pricingOf(quotation, quotation.shipping[0])))
    }))
}))
