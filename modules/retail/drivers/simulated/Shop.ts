/**
 * What the simulated retailer sells, and on which terms: pure, so that the same question at the same time has the same
 * answer on every instance. The numbers are made up; those of the examples are in
 * modules/docs/reference/retailers.md#the-simulated-retailer.
 */
import { createHash } from "node:crypto"
import { Schema } from "effect"
import { UsdMillis, usdMillis } from "../../../../schemas/Money.ts"
import { ItemFault, Retailer } from "../../../../schemas/Order.ts"
import type { Offer, OfferedItem, RefusedItem, ShippingOption, WantedItem } from "../../plugin.ts"

/** A line of `catalogue.json`. */
export const Product = Schema.Struct({
  retailer: Retailer,
  product_id: Schema.String,
  title: Schema.String,
  unit_amount: UsdMillis,
  /** Why it cannot be bought, wherever it should go. */
  fault: Schema.optionalKey(ItemFault),
  /** Units per quote, at most. */
  limit: Schema.optionalKey(Schema.Int),
  /**
   * What the price rises by every {@link priceStepMillis} of the merchant's time, {@link priceSteps} times, then it
   * falls back.
   */
  price_rises: Schema.optionalKey(UsdMillis),
  /** It is not delivered where the zip code starts so. */
  undeliverable_zip_prefixes: Schema.optionalKey(Schema.Array(Schema.String))
})
export type Product = typeof Product.Type

/** How long a rising price stays: one minute, so that it changes within an estimate's 900 s. */
export const priceStepMillis = 60_000

/** Steps of a rising price before it begins anew. */
export const priceSteps = 30

/** Units of any product, at most (modules/docs/reference/checkout.md#carts). */
export const maximumQuantity = 99

/** Fees of every order: $3.000 (modules/docs/reference/retailers.md#the-simulated-retailer). */
export const fees = usdMillis(3_000n)

/** Cheapest first; the standard one is that of modules/docs/reference/retailers.md#the-simulated-retailer. */
export const shippingOptions: ReadonlyArray<ShippingOption> = [
  { id: "standard", name: "Standard", amount: usdMillis(1_000n), estimatedDays: "5-7" },
  { id: "expedited", name: "Expedited", amount: usdMillis(6_500n), estimatedDays: "2-3" },
  { id: "overnight", name: "Overnight", amount: usdMillis(19_900n), estimatedDays: "1" }
]

/** Tax of each unit where it is taxed, $0.800, so that a tax can be seen; a real one is a share of the price. */
export const taxPerUnit = usdMillis(800n)

/** Zip codes of New York, where the simulated retailer asks for tax; nowhere else. */
export const taxedZipPrefix = "100"

/** Zip codes that try a fault. */
export const zipCodes = {
  /** The retailer gives no answer. */
  unavailable: "00000",
  /** No item can be delivered. */
  undeliverable: "99999",
  /** The address is refused. */
  invalid: "00001"
} as const

/** Product ids that try a fault, of any retailer; each costs {@link trialAmount}. */
export const trials = {
  noOffer: "SIM-NO-OFFER",
  outOfStock: "SIM-OUT-OF-STOCK",
  notDeliverable: "SIM-NOT-DELIVERABLE",
  /** One unit at most. */
  quantityLimit: "SIM-QUANTITY-LIMIT",
  /** Its price rises every minute. */
  priceRises: "SIM-PRICE-RISES",
  /** The retailer gives no answer to a quote. */
  quoteUnavailable: "SIM-QUOTE-UNAVAILABLE",
  /** Placed only after so many tries that found the retailer unavailable: `SIM-PLACE-UNAVAILABLE-3`; 1 to 9. */
  placeUnavailable: "SIM-PLACE-UNAVAILABLE-",
  placeRefused: "SIM-PLACE-REFUSED",
  cancelRefused: "SIM-CANCEL-REFUSED",
  /** With `auto`: the retailer cancels the order instead of shipping it. */
  canceledByRetailer: "SIM-CANCELED-BY-RETAILER",
  /** With `auto`: the delivery meets an exception and never arrives. */
  deliveryException: "SIM-DELIVERY-EXCEPTION"
} as const

/** Price of a trial. */
export const trialAmount = usdMillis(10_000n)

const trialFaults: Readonly<Record<string, ItemFault>> = {
  [trials.noOffer]: "NO_ELIGIBLE_OFFER",
  [trials.outOfStock]: "OUT_OF_STOCK",
  [trials.notDeliverable]: "NOT_DELIVERABLE"
}

const isPlaceUnavailable = new RegExp(`^${trials.placeUnavailable}[1-9]$`)

/** How many tries to place it fail, by the product ids of an order. */
export const unavailableTries = (productIds: ReadonlyArray<string>): number =>
  Math.max(0, ...productIds.filter((id) => isPlaceUnavailable.test(id)).map((id) => Number.parseInt(id.slice(-1), 10)))

const isTrial = (productId: string): boolean =>
  isPlaceUnavailable.test(productId) || Object.values(trials).some((id) => id === productId)

const trialOf = (retailer: Retailer, productId: string): Product => ({
  retailer,
  product_id: productId,
  title: `Trial ${productId}`,
  unit_amount: trialAmount,
  ...(trialFaults[productId] === undefined ? {} : { fault: trialFaults[productId] }),
  ...(productId === trials.quantityLimit ? { limit: 1 } : {}),
  ...(productId === trials.priceRises ? { price_rises: usdMillis(100n) } : {})
})

/** What ids of real shops look like. */
const isProductId = (text: string): boolean => /^[\w.:-]{1,64}$/.test(text)

/** The least and most that a product costs which is in no catalogue: $5.000 to $99.990. */
const inventedMinimum = 5_000n
const inventedSpan = 9_500n

/**
 * Products that are not in the catalogue are sold too, so that a developer can try the ids of a real shop: the price
 * follows from the id, and is the same every time.
 */
const inventProduct = (retailer: Retailer, productId: string): Product | undefined => {
  if (!isProductId(productId)) return undefined
  const number = createHash("sha256").update(`${retailer} ${productId}`).digest().readUInt32BE(0)
  return {
    retailer,
    product_id: productId,
    title: `Simulated product ${productId}`,
    unit_amount: usdMillis(inventedMinimum + BigInt(number) % inventedSpan * 10n)
  }
}

/** What a catalogue says to a product of a retailer. */
export type Catalogue = (retailer: Retailer, productId: string) => Product | undefined

/** A catalogue of `products`, of trials, and of everything else that looks like a product id. */
export const catalogueOf = (products: ReadonlyArray<Product>): Catalogue => {
  const byKey = new Map(products.map((product) => [`${product.retailer} ${product.product_id}`, product]))
  return (retailer, productId) =>
    isTrial(productId)
      ? trialOf(retailer, productId)
      : byKey.get(`${retailer} ${productId}`) ?? inventProduct(retailer, productId)
}

const isRetailer = (text: string): text is Retailer => (Retailer.literals as ReadonlyArray<string>).includes(text)

const messages: Readonly<Record<ItemFault, string>> = {
  NO_ELIGIBLE_OFFER: "Nobody sells this product now.",
  UNSUPPORTED_RETAILER: "This retailer cannot be bought from here.",
  OUT_OF_STOCK: "This product is out of stock.",
  NOT_DELIVERABLE: "This product is not delivered to this address.",
  QUANTITY_LIMIT: "So many units of this product are not sold at once."
}

const faultOf = (product: Product, quantity: number, zipCode: string | null): ItemFault | undefined => {
  if (product.fault !== undefined) return product.fault
  const prefixes = product.undeliverable_zip_prefixes ?? []
  if (zipCode === zipCodes.undeliverable || prefixes.some((prefix) => zipCode?.startsWith(prefix) === true)) {
    return "NOT_DELIVERABLE"
  }
  return quantity > (product.limit ?? maximumQuantity) ? "QUANTITY_LIMIT" : undefined
}

const priceOf = ({ price_rises = usdMillis(0n), unit_amount }: Product, nowMillis: number): UsdMillis =>
  usdMillis(unit_amount + price_rises * BigInt(Math.floor(nowMillis / priceStepMillis) % priceSteps))

/**
 * The offer for `wantedItems` at `nowMillis` of the merchant's time. A quantity limit counts all lines of a product
 * together.
 *
 * @example
 * offer(catalogueOf([]), [{ retailer: "ebay2", productId: "1", quantity: 1 }], null, 0).refused[0].fault
 * // => "UNSUPPORTED_RETAILER"
 */
export const offer = (
  catalogue: Catalogue,
  wantedItems: ReadonlyArray<WantedItem>,
  zipCode: string | null,
  nowMillis: number
): Offer => {
  const units = (item: WantedItem) =>
    wantedItems.filter(({ productId, retailer }) => productId === item.productId && retailer === item.retailer)
      .reduce((sum, { quantity }) => sum + quantity, 0)
  const items: Array<OfferedItem> = []
  const refused: Array<RefusedItem> = []
  for (const item of wantedItems) {
    const { productId, quantity, retailer } = item
    const product = isRetailer(retailer) ? catalogue(retailer, productId) : undefined
    const fault = !isRetailer(retailer)
      ? "UNSUPPORTED_RETAILER"
      : product === undefined
      ? "NO_ELIGIBLE_OFFER"
      : faultOf(product, units(item), zipCode)
    if (fault !== undefined || product === undefined) {
      refused.push({
        retailer,
        productId,
        fault: fault ?? "NO_ELIGIBLE_OFFER",
        message: messages[fault ?? "NO_ELIGIBLE_OFFER"]
      })
      continue
    }
    items.push({
      retailer: product.retailer,
      productId,
      title: product.title,
      imageUrl: null,
      quantity,
      unitAmount: priceOf(product, nowMillis)
    })
  }
  const taxAmount = zipCode?.startsWith(taxedZipPrefix) === true
    ? items.reduce((sum, { quantity }) => sum + taxPerUnit * BigInt(quantity), 0n)
    : 0n
  return {
    items,
    refused,
    shipping: items.length === 0 ? [] : shippingOptions,
    tax: usdMillis(taxAmount),
    fees: items.length === 0 ? usdMillis(0n) : fees
  }
}
