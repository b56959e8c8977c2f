/** What a cart holds, how its items change, and how it looks on the wire. Pure. */
import type { UsdMillis } from "../../../schemas/Money.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { maximumItems, maximumQuantity, type Retailer } from "../../../schemas/Order.ts"
import { amountFields, amountOf, type Customer, customerFields, itemKey, sumOf } from "../rules.ts"

/** One item that a customer put aside; `unitAmount` is what the shop said it costs, a hint and no offer. */
export interface CartItem {
  readonly id: string
  readonly productId: string
  readonly retailer: Retailer
  readonly title: string
  readonly unitAmount: UsdMillis
  readonly quantity: number
  readonly imageUrl: string | null
  readonly productUrl: string | null
}

/** What a customer put aside. `version` 0 stands for a cart nobody wrote to yet. Times are epoch seconds. */
export interface CartState {
  readonly merchantId: number
  readonly environment: Environment
  readonly version: number
  readonly customer: Customer
  readonly items: ReadonlyArray<CartItem>
  readonly createdAt: number
  readonly updatedAt: number
}

/** A cart after a change of its items. */
const withItems = (cart: CartState, items: ReadonlyArray<CartItem>, now: number): CartState => ({
  ...cart,
  version: cart.version + 1,
  items,
  createdAt: cart.version === 0 ? now : cart.createdAt,
  updatedAt: now
})

/** A cart that is written down, with nothing changed in it; the same one where it was already. */
export const createCart = (cart: CartState, now: number): CartState =>
  cart.version === 0 ? withItems(cart, cart.items, now) : cart

/**
 * Puts an item in. The same product of the same retailer adds its pieces to what is there, and what was said of it last
 * holds. Null beyond {@link maximumItems} items or {@link maximumQuantity} pieces.
 */
export const addItem = (
  cart: CartState,
  item: CartItem,
  now: number
): { readonly cart: CartState; readonly item: CartItem; readonly isUpdate: boolean } | null => {
  const before = cart.items.find((each) => itemKey(each) === itemKey(item))
  if (before === undefined) {
    return cart.items.length >= maximumItems
      ? null
      : { cart: withItems(cart, [...cart.items, item], now), item, isUpdate: false }
  }
  const after = { ...item, id: before.id, quantity: before.quantity + item.quantity }
  if (after.quantity > maximumQuantity) return null
  const items = cart.items.map((each) => each.id === before.id ? after : each)
  return { cart: withItems(cart, items, now), item: after, isUpdate: true }
}

/** Sets how many pieces of an item there are; 0 takes it out. Null for an item that is not there. */
export const setQuantity = (
  cart: CartState,
  id: string,
  quantity: number,
  now: number
): { readonly cart: CartState; readonly item: CartItem } | null => {
  const before = cart.items.find((item) => item.id === id)
  if (before === undefined) return null
  const item = { ...before, quantity }
  const items = quantity === 0
    ? cart.items.filter((each) => each.id !== id)
    : cart.items.map((each) => each.id === id ? item : each)
  return { cart: withItems(cart, items, now), item }
}

/** Takes everything out. */
export const emptyCart = (cart: CartState, now: number): CartState =>
  cart.items.length === 0 ? cart : withItems(cart, [], now)

/**
 * How many pieces are wanted instead of what the cart says; 0 leaves the item out. Without a retailer: whosever it is.
 */
export interface ItemOverride {
  readonly productId: string
  readonly retailer: string | null
  readonly quantity: number
}

/** The items of a cart under overrides, the last one for each item; null when one names what is not in the cart. */
export const applyOverrides = (
  items: ReadonlyArray<CartItem>,
  overrides: ReadonlyArray<ItemOverride>
): ReadonlyArray<CartItem> | null => {
  const isFor = (item: CartItem) => ({ productId, retailer }: ItemOverride) =>
    productId === item.productId && (retailer === null || retailer === item.retailer)
  if (!overrides.every((override) => items.some((item) => isFor(item)(override)))) return null
  return items
    .map((item) => ({ ...item, quantity: overrides.findLast(isFor(item))?.quantity ?? item.quantity }))
    .filter(({ quantity }) => quantity > 0)
}

/** An item of a cart on the wire. */
export const cartItemObject = (item: CartItem) => ({
  item_id: item.id,
  product_id: item.productId,
  retailer: item.retailer,
  title: item.title,
  quantity: item.quantity,
  ...amountFields("unit_amount", item.unitAmount),
  ...amountFields("amount", amountOf(item)),
  image_url: item.imageUrl,
  product_url: item.productUrl
})

/** A cart on the wire; `item_count` is the number of different items. */
export const cartObject = (cart: CartState) => ({
  merchant_id: cart.merchantId,
  ...customerFields(cart.customer),
  items: cart.items.map(cartItemObject),
  ...amountFields("subtotal", sumOf(cart.items)),
  amount_unit: "usd_millis" as const,
  item_count: cart.items.length,
  created_at: cart.createdAt,
  updated_at: cart.updatedAt
})
