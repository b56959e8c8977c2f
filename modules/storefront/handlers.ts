/** Checkout and carts between the wire and the actors. */
import { Effect } from "effect"
import { answerIdempotently, CurrentPrincipal, jsonText, RequestInfo } from "../../runtime/Http.ts"
import { uuidV7 } from "../../runtime/Uuid.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import { readPrice, usdDecimal, usdMillis, usdWire } from "../../schemas/Money.ts"
import type { Environment } from "../../schemas/Network.ts"
import { maximumQuantity } from "../../schemas/Order.ts"
import { downgrade } from "../../schemas/Version.ts"
import { type Destination, orderObject } from "../commerce/plugin.ts"
import { checkMetadata, makeSession } from "../invoices/plugin.ts"
import { Refunds } from "../refunds/plugin.ts"
import { Carts } from "./actor.ts"
import { Checkouts } from "./service.ts"
import type { AddressResult, EstimateRequest } from "./service/Estimates.ts"
import type { PurchaseResult } from "./service/Purchases.ts"
import { type CustomerFields, type NewCartItem, type NewEstimate, StorefrontApi } from "./api.ts"
import {
  addressError,
  addressObject,
  estimateObject,
  type EstimateState,
  itemKey,
  itemsObject,
  pricesOf,
  pricingObject,
  pricingOf,
  readCustomer,
  readPostalAddress,
  shippingObjects
} from "./rules.ts"
import {
  addItem,
  applyOverrides,
  type CartItem,
  cartItemObject,
  cartObject,
  type CartState,
  createCart,
  emptyCart,
  setQuantity
} from "./rules/Carts.ts"
import * as Operations from "../../runtime/Operations.ts"

const successResponse = (data: object) => jsonText(JSON.stringify({ success: true, data }))

/** The shop of a commerce key. A wallet's token and a merchant's key are of merchant scope: neither sells goods. */
const ownShop = Effect.gen(function*() {
  const { environment, merchantId, scope } = yield* CurrentPrincipal
  return scope === "commerce" ? { merchantId, environment } : yield* publicError("SCOPE_MISMATCH")
})

/** The shop, and the customer that the query or the body names; what the body says wins. */
const readCaller = Effect.fnUntraced(function*(query: CustomerFields, body: CustomerFields | void) {
  const shop = yield* ownShop
  const identity = {
    customer_id: body?.customer_id ?? query.customer_id ?? null,
    wallet_address: body?.wallet_address ?? query.wallet_address ?? null,
    wallet_network: body?.wallet_network ?? query.wallet_network ?? null
  }
  const customer = readCustomer(identity, shop.environment)
  return typeof customer === "string"
    ? yield* publicError(customer, customer === "WALLET_ADDRESS_INVALID" ? { param: "wallet_address" } : {})
    : { shop, customer }
})

const priceOf = (price: number | string) => readPrice(price) ?? usdMillis(0n)

const invalidField = (param: string, message: string): PublicError =>
  publicError("VALIDATION_ERROR", { param, message: `${param}: ${message}` })

/** The request for an estimate, read from a body or from the customer's cart. */
const readEstimateRequest = (
  { customer }: Pick<EstimateRequest, "customer">,
  body: typeof NewEstimate.Type,
  cart: CartState | null
): EstimateRequest | PublicError => {
  const zipCode = body.zip_code ?? null
  if (cart === null) {
    const items = (body.items ?? []).map((item) => ({
      productId: item.product_id,
      retailer: item.retailer,
      quantity: item.quantity ?? 1,
      price: item.price ?? null
    }))
    const prices = items.flatMap(({ price, ...item }) =>
      price === null ? [] : [[itemKey(item), priceOf(price)] as const]
    )
    return { customer, items, seenPrices: new Map(prices), zipCode }
  }
  const items = applyOverrides(
    cart.items,
    (body.item_overrides ?? []).map((override) => ({
      productId: override.product_id,
      retailer: override.retailer ?? null,
      quantity: override.quantity
    }))
  )
  return items === null
    ? invalidField("item_overrides", "One of them is for no item of the cart")
    : { customer, items, seenPrices: pricesOf(items), zipCode }
}

/**
 * Where a refund goes, if it is said. Errors: `WALLET_ADDRESS_INVALID` for what is no address of BNB Chain, for a
 * token's contract and for an address that payments are received at; `UNSUPPORTED_NETWORK` where no token of BNB Chain
 * is known.
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
        publicError(code, { message, param: "refund_destination_wallet_address_bsc" })
      )
    )

/** A new order and the session its payor opens the invoice with, as `data` of the answer. */
const makePurchaseObject = Effect.map(
  makeSession,
  (sessionOf) => ({ invoice, order }: PurchaseResult, apiVersion: string) => {
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
      order: downgrade(orderObject(order), apiVersion),
      endpoints: {
        check_order: `/api/commerce/merchant/orders/${order.id}`,
        check_payment: `/api/commerce/merchant/payments/${order.id}/status`,
        cancel_order: `/api/commerce/merchant/orders/${order.id}/cancel`
      }
    }
  }
)

const newItem = (id: string, body: Omit<NewCartItem, keyof CustomerFields>): CartItem => ({
  id,
  productId: body.product_id,
  retailer: body.retailer,
  title: body.title,
  unitAmount: priceOf(body.price),
  quantity: body.quantity ?? 1,
  imageUrl: body.image_url ?? null,
  productUrl: body.product_url ?? null
})

const cartFullError = (item: CartItem, cart: CartState): PublicError =>
  cart.items.some((each) => itemKey(each) === itemKey(item))
    ? publicError("CART_LIMIT_REACHED", {
      message: `A cart holds at most ${maximumQuantity} pieces of one item`,
      param: "quantity"
    })
    : publicError("CART_LIMIT_REACHED")

const itemNotFound = publicError("CART_ITEM_NOT_FOUND", { param: "item_id" })

export const handlers = Operations.group(
  StorefrontApi,
  "storefront",
  // oxlint-disable-next-line max-lines-per-function -- the routes of one group, each a few lines
  Effect.fn(function*(group) {
    const carts = yield* Carts
    const checkouts = yield* Checkouts
    const purchaseObject = yield* makePurchaseObject
    const refunds = yield* Refunds

    return group
      .handle(
        "estimate",
        Effect.fnUntraced(function*({ payload }) {
          const { customer, shop } = yield* readCaller(payload)
          const usesCart = payload.use_cart === true
          const hasItems = payload.items !== undefined && payload.items !== null
          if (usesCart === hasItems) {
            return yield* invalidField("items", "Send exactly one of `items` and `use_cart: true`")
          }
          if (!usesCart && (payload.item_overrides ?? null) !== null) {
            return yield* invalidField("item_overrides", "They go with `use_cart: true`")
          }
          const request = readEstimateRequest({ customer }, payload, usesCart ? yield* carts.get(shop, customer) : null)
          if (!("items" in request)) {
            return yield* request
          }
          return yield* answerIdempotently<EstimateState, PublicError>(
            (call) => checkouts.estimate(shop, request, call),
            (estimate) => estimateObject(estimate, request.seenPrices)
          )
        })
      )
      .handle(
        "address",
        Effect.fnUntraced(function*({ payload }) {
          const { customer, shop } = yield* readCaller(payload)
          const address = readPostalAddress(payload.address)
          if ("fields" in address) {
            return yield* addressError(address.fields)
          }
          return yield* answerIdempotently<AddressResult, PublicError>(
            (call) => checkouts.address(shop, customer, payload.estimate_id, address, call),
            ({ address, estimate, seenPrices }) => ({
              address_id: address.id,
              validated: true,
              standardized: addressObject(address.address),
              shipping_options: shippingObjects(address.quotation),
              estimate: estimateObject(estimate, seenPrices)
            })
          )
        })
      )
      .handle(
        "invoice",
        Effect.fnUntraced(function*({ payload }) {
          const { customer, shop } = yield* readCaller(payload)
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
          return yield* answerIdempotently<PurchaseResult, PublicError>(
            (call) => checkouts.purchase(shop, customer, purchase, call),
            (result) => purchaseObject(result, apiVersion)
          )
        })
      )
      .handle(
        "cart",
        Effect.fnUntraced(function*({ query }) {
          const { customer, shop } = yield* readCaller(query)
          return successResponse(cartObject(yield* carts.get(shop, customer)))
        })
      )
      .handle(
        "beginCart",
        Effect.fnUntraced(function*({ payload, query }) {
          const { customer, shop } = yield* readCaller(query, payload)
          const id = yield* uuidV7
          return yield* answerIdempotently<CartState, PublicError>(
            (call) =>
              carts.change(shop, customer, (cart, now) => {
                if (payload.item === undefined || payload.item === null) {
                  const result = createCart(cart, now)
                  return { cart: result, result }
                }
                const item = newItem(id, payload.item)
                const change = addItem(cart, item, now)
                return change === null ? cartFullError(item, cart) : { cart: change.cart, result: change.cart }
              }, call),
            cartObject
          )
        })
      )
      .handle(
        "emptyCart",
        Effect.fnUntraced(function*({ payload, query }) {
          const { customer, shop } = yield* readCaller(query, payload)
          return yield* answerIdempotently<number, PublicError>(
            (call) =>
              carts.change(
                shop,
                customer,
                (cart, now) => ({ cart: emptyCart(cart, now), result: cart.items.length }),
                call
              ),
            (items_removed) => ({ items_removed })
          )
        })
      )
      .handle(
        "addItem",
        Effect.fnUntraced(function*({ payload, query }) {
          const { customer, shop } = yield* readCaller(query, payload)
          const item = newItem(yield* uuidV7, payload)
          return yield* answerIdempotently<{ readonly item: CartItem; readonly isUpdate: boolean }, PublicError>(
            (call) =>
              carts.change(shop, customer, (cart, now) => {
                const change = addItem(cart, item, now)
                return change === null ? cartFullError(item, cart) : { cart: change.cart, result: change }
              }, call),
            ({ isUpdate, item }) => ({ item_id: item.id, quantity: item.quantity, updated: isUpdate })
          )
        })
      )
      .handle(
        "resizeItem",
        Effect.fnUntraced(function*({ params, payload, query }) {
          const { customer, shop } = yield* readCaller(query, payload)
          return yield* answerIdempotently<CartItem, PublicError>(
            (call) =>
              carts.change(shop, customer, (cart, now) => {
                const change = setQuantity(cart, params.item_id, payload.quantity, now)
                return change === null ? itemNotFound : { cart: change.cart, result: change.item }
              }, call),
            cartItemObject
          )
        })
      )
      .handle(
        "removeItem",
        Effect.fnUntraced(function*({ params, payload, query }) {
          const { customer, shop } = yield* readCaller(query, payload)
          return yield* answerIdempotently<number, PublicError>(
            (call) =>
              carts.change(shop, customer, (cart, now) => {
                const change = setQuantity(cart, params.item_id, 0, now)
                return change === null ? itemNotFound : { cart: change.cart, result: 1 }
              }, call),
            (items_removed) => ({ items_removed })
          )
        })
      )
      .handle(
        "validateCart",
        Effect.fnUntraced(function*({ payload, query }) {
          const { customer, shop } = yield* readCaller(query, payload)
          const { items } = yield* carts.get(shop, customer)
          return successResponse(itemsObject(yield* checkouts.quote(shop, items, null), pricesOf(items)))
        })
      )
      .handle(
        "cartTotals",
        Effect.fnUntraced(function*({ query }) {
          const { customer, shop } = yield* readCaller(query)
          const { items } = yield* carts.get(shop, customer)
          const quotation = yield* checkouts.quote(shop, items, query.zip_code ?? null)
          return successResponse(pricingObject(pricingOf(quotation, quotation.shipping[0])))
        })
      )
  })
)
