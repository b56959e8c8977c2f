/**
 * The rules of a shop before there is an order: what items cost, addresses, and what an estimate promises. Pure. The
 * rules of carts are in rules/Carts.ts.
 */
import { Schema } from "effect"
import { readAddress } from "../../schemas/Address.ts"
import { type ErrorCode, meaningOf, type PublicError, publicError } from "../../schemas/Errors.ts"
import { cutMessage } from "../../schemas/InvalidInput.ts"
import { minimumInvoiceAmount, usdDecimal, type UsdMillis, usdMillis, usdWire } from "../../schemas/Money.ts"
import type { Environment, Network } from "../../schemas/Network.ts"
import { type ItemFault, maximumQuantity, Retailer } from "../../schemas/Order.ts"
import { EmailAddress } from "../../schemas/Web.ts"
import type { Offer, OfferedItem, PostalAddress, RefusedItem, ShippingOption, WantedItem } from "../retail/plugin.ts"

/** Seconds an estimate lives (modules/docs/reference/checkout.md#estimates). */
export const estimateTtlSeconds = 900

/** Milliseconds that an order's invoice can be paid in: 1,800 s (modules/docs/reference/checkout.md#the-invoice). */
export const invoiceTtlMillis = 1_800_000

/** The most an order may come to, in usd_millis: $2,500 (modules/docs/reference/checkout.md#estimates). */
export const maximumOrder = usdMillis(2_500_000n)

/** Whose shop it is, and with which money. */
export interface Shop {
  readonly merchantId: number
  readonly environment: Environment
}

/** Who a cart, an estimate or an address belongs to: the merchant's name for the customer wins over a wallet. */
export interface Customer {
  readonly id: string | null
  readonly wallet: { readonly address: string; readonly network: Network } | null
}

/** One text for each customer of a merchant in an environment. */
export const customerKey = ({ id, wallet }: Customer): string =>
  id === null ? `wallet:${wallet?.network}:${wallet?.address}` : `customer:${id}`

/** Who is meant by what was sent, or why that is nobody. */
export const readCustomer = (
  input: {
    readonly customer_id?: string | null
    readonly wallet_address?: string | null
    readonly wallet_network?: Network | null
  },
  environment: Environment
): Customer | ErrorCode => {
  const { customer_id: id = null, wallet_address: text = null, wallet_network: network = null } = input
  if ((text === null) !== (network === null)) return "CUSTOMER_IDENTITY_REQUIRED"
  if (text === null || network === null) return id === null ? "CUSTOMER_IDENTITY_REQUIRED" : { id, wallet: null }
  const address = readAddress(network, environment, text)
  return address === null ? "WALLET_ADDRESS_INVALID" : { id, wallet: { address, network } }
}

/** Both names of an item together: one retailer may sell under another's product id. */
export const itemKey = ({ productId, retailer }: { readonly productId: string; readonly retailer: string }): string =>
  `${retailer} ${productId}`

const isRetailer = (name: string): name is Retailer => (Retailer.literals as ReadonlyArray<string>).includes(name)

const faultMessages: Readonly<Record<ItemFault, string>> = {
  NO_ELIGIBLE_OFFER: "Nobody sells this item now",
  UNSUPPORTED_RETAILER: "Goods of this retailer cannot be ordered",
  OUT_OF_STOCK: "This item is sold out",
  NOT_DELIVERABLE: "This item is not delivered there",
  QUANTITY_LIMIT: `At most ${maximumQuantity} pieces of one item can be ordered`
}

const refusal = ({ productId, retailer }: WantedItem, fault: ItemFault): RefusedItem => ({
  retailer,
  productId,
  fault,
  message: faultMessages[fault]
})

/** What a customer wants, before a retailer is asked. */
export interface ItemScreening {
  readonly wantedItems: ReadonlyArray<WantedItem>
  readonly refusedItems: ReadonlyArray<RefusedItem>
}

/**
 * Wanted items, each once with all its pieces, in the order they came in; refused are those no retailer need be asked
 * of.
 */
export const screenItems = (items: ReadonlyArray<WantedItem>): ItemScreening => {
  const byKey = new Map<string, WantedItem>()
  for (const item of items) {
    const before = byKey.get(itemKey(item))
    byKey.set(itemKey(item), before === undefined ? item : { ...before, quantity: before.quantity + item.quantity })
  }
  const faultOf = ({ quantity, retailer }: WantedItem): ItemFault | null =>
    !isRetailer(retailer) ? "UNSUPPORTED_RETAILER" : quantity > maximumQuantity ? "QUANTITY_LIMIT" : null
  const results = [...byKey.values()].map((item) => ({ item, fault: faultOf(item) }))
  return {
    wantedItems: results.flatMap(({ fault, item }) => fault === null ? [item] : []),
    refusedItems: results.flatMap(({ fault, item }) => fault === null ? [] : [refusal(item, fault)])
  }
}

/** Items as they can be bought, and at what price: what an estimate is made of. */
export type Quotation = Offer

/** Nothing can be bought. */
export const emptyQuotation: Quotation = {
  items: [],
  refused: [],
  shipping: [],
  tax: usdMillis(0n),
  fees: usdMillis(0n)
}

/** No retailer serves the environment: every item is refused. */
export const unservedQuotation = ({ refusedItems, wantedItems }: ItemScreening): Quotation => ({
  ...emptyQuotation,
  refused: [...refusedItems, ...wantedItems.map((item) => refusal(item, "UNSUPPORTED_RETAILER"))]
})

/**
 * A retailer's answer held against what was wanted: each item once, with the pieces that were asked for, in that order.
 * An item that was not answered, or is offered for nothing, is not sold; nothing is where there is no way to ship it.
 * Where nothing is sold, nothing is taxed either.
 */
export const quotationOf = ({ refusedItems, wantedItems }: ItemScreening, offer: Offer): Quotation => {
  const offers = new Map(offer.items.map((item) => [itemKey(item), item]))
  const refusals = new Map(offer.refused.map((item) => [itemKey(item), item]))
  const items: Array<OfferedItem> = []
  const unsold: Array<RefusedItem> = [...refusedItems]
  for (const item of wantedItems) {
    const offeredItem = offers.get(itemKey(item))
    const isSold = offeredItem !== undefined && offeredItem.unitAmount > 0n && !refusals.has(itemKey(item))
    if (isSold && offer.shipping.length > 0) items.push({ ...offeredItem, quantity: item.quantity })
    else unsold.push(refusals.get(itemKey(item)) ?? refusal(item, isSold ? "NOT_DELIVERABLE" : "NO_ELIGIBLE_OFFER"))
  }
  return items.length === 0
    ? { ...emptyQuotation, refused: unsold }
    : { items, refused: unsold, shipping: offer.shipping, tax: offer.tax, fees: offer.fees }
}

/** What is bought comes to, part by part. */
export interface Pricing {
  readonly subtotal: UsdMillis
  readonly shipping: UsdMillis
  readonly tax: UsdMillis
  readonly fees: UsdMillis
  readonly total: UsdMillis
}

export const amountOf = (
  { quantity, unitAmount }: { readonly quantity: number; readonly unitAmount: UsdMillis }
): UsdMillis => usdMillis(unitAmount * BigInt(quantity))

export const sumOf = (items: ReadonlyArray<{ readonly quantity: number; readonly unitAmount: UsdMillis }>): UsdMillis =>
  usdMillis(items.reduce((sum, item) => sum + amountOf(item), 0n))

/** The way of shipping called `id`, or the cheapest where none is called; undefined where it is not offered. */
export const shippingOption = ({ shipping }: Quotation, id: string | null): ShippingOption | undefined =>
  id === null ? shipping[0] : shipping.find((option) => option.id === id)

/** What a quotation comes to when it is shipped that way. */
export const pricingOf = ({ fees, items, tax }: Quotation, shipping: ShippingOption | undefined): Pricing => {
  const subtotal = sumOf(items)
  const shippingAmount = shipping?.amount ?? usdMillis(0n)
  return { subtotal, shipping: shippingAmount, tax, fees, total: usdMillis(subtotal + shippingAmount + tax + fees) }
}

/** Why a quotation cannot become an order, if so. */
export const valueFault = ({ items }: Quotation, { total }: Pricing): ErrorCode | null =>
  items.length === 0
    ? "NO_VALID_ITEMS"
    : total > maximumOrder
    ? "ORDER_VALUE_EXCEEDED"
    : total < minimumInvoiceAmount
    ? "INVALID_AMOUNT_RANGE"
    : null

/** Prices a customer saw before, by {@link itemKey}. */
export type SeenPrices = ReadonlyMap<string, UsdMillis>

export const pricesOf = (
  items: ReadonlyArray<{ readonly productId: string; readonly retailer: string; readonly unitAmount: UsdMillis }>
): SeenPrices => new Map(items.map((item) => [itemKey(item), item.unitAmount]))

/** A newer quotation that still says which items an earlier one refused: those were not asked for again. */
export const withEarlierRefusals = (current: Quotation, earlier: Quotation): Quotation => ({
  ...current,
  refused: [...earlier.refused, ...current.refused]
})

/**
 * Whether an order may still be made of what was shown: everything in it is sold, shipped in the same way, and the
 * retailer asks for no more. The customer pays what was shown either way, so a lower price breaks nothing.
 */
export const isStillOffered = (shownQuotation: Quotation, current: Quotation, option: ShippingOption): boolean => {
  const currentOption = shippingOption(current, option.id)
  return current.items.length === shownQuotation.items.length && currentOption !== undefined &&
    pricingOf(current, currentOption).total <= pricingOf(shownQuotation, option).total
}

/** What a customer was shown, and for how long that holds. Times are epoch seconds. */
export interface EstimateState {
  readonly id: string
  readonly merchantId: number
  readonly environment: Environment
  readonly version: number
  readonly customer: Customer
  readonly quotation: Quotation
  readonly zipCode: string | null
  readonly createdAt: number
  readonly expiresAt: number
  /** The order it has become; null while it may. */
  readonly orderId: string | null
}

/** Where an estimate is delivered to, and what it costs there: what the customer saw last. */
export interface AddressState {
  readonly id: string
  readonly merchantId: number
  readonly environment: Environment
  readonly version: number
  readonly estimateId: string
  readonly address: PostalAddress
  readonly quotation: Quotation
  readonly createdAt: number
}

/** Why an estimate can go no further at `now`, if so. */
export const estimateFault = (
  { expiresAt, orderId }: EstimateState,
  now: number
): "ESTIMATE_ALREADY_USED" | "ESTIMATE_EXPIRED" | null =>
  orderId !== null ? "ESTIMATE_ALREADY_USED" : now >= expiresAt ? "ESTIMATE_EXPIRED" : null

/** Used up by an order: the write that lets only one be made of it. */
export const consumeEstimate = (estimate: EstimateState, orderId: string): EstimateState => ({
  ...estimate,
  version: estimate.version + 1,
  orderId
})

/**
 * How an address is written: wire name, characters at most, and what else must hold
 * (modules/docs/reference/checkout.md#addresses).
 */
const addressFields = [
  ["first_name", "firstName", 100],
  ["last_name", "lastName", 100],
  ["street_address", "streetAddress", 200],
  ["address_line2", "addressLine2", 200],
  ["city", "city", 100],
  ["state", "state", 100],
  ["zip_code", "zipCode", 20],
  ["country", "country", 2],
  ["phone", "phone", 32],
  ["email", "email", 254]
] as const

type AddressField = (typeof addressFields)[number][0]

const isEmail = Schema.is(EmailAddress)

const isPhone = (text: string): boolean => /^\+?[\d ().-]+$/.test(text) && text.replaceAll(/\D/g, "").length >= 5

const addressForms: Readonly<Partial<Record<AddressField, readonly [(text: string) => boolean, expected: string]>>> = {
  zip_code: [(text) => /^[\p{L}\d][\p{L}\d -]*$/u.test(text), "Must be letters, digits, spaces and dashes"],
  country: [(text) => /^[A-Z]{2}$/.test(text), "Must be two letters, like US (ISO 3166-1 alpha-2)"],
  phone: [isPhone, "Must be a phone number of at least 5 digits"],
  email: [isEmail, "Must be an e-mail address"]
}

/** A line of text: something visible, and nothing that is invisible or turns the writing direction. */
const line = /^[^\p{C}\u2028\u2029]+$/u

const addressFault = (name: AddressField, value: string, maximum: number): string | null => {
  if (value === "") return "Is missing"
  if (value.length > maximum) return `Must be at most ${maximum} characters`
  if (!line.test(value)) return "Must be one line of visible text"
  const [isRight, expected] = addressForms[name] ?? []
  return isRight === undefined || isRight(value) ? null : expected ?? null
}

/** Reads an address field by field, without spaces around it; else what is wrong, by wire name. */
export const readPostalAddress = (
  input: Readonly<Record<string, unknown>>
): PostalAddress | { readonly fields: Readonly<Record<string, string>> } => {
  const entries = addressFields.map(([name, key, maximum]) => {
    const value = input[name]
    const isAbsent = value === undefined || value === null || value === ""
    if (name === "address_line2" && isAbsent) return { name, key, value: null, fault: null }
    if (!isAbsent && typeof value !== "string") return { name, key, value: null, fault: "Must be text" }
    const text = isAbsent ? "" : value.trim()
    const written = name === "country" ? text.toUpperCase() : text
    return { name, key, value: written, fault: addressFault(name, written, maximum) }
  })
  const faults = entries.flatMap(({ fault, name }) => fault === null ? [] : [[name, fault] as const])
  return faults.length > 0
    ? { fields: Object.fromEntries(faults) }
    : Object.fromEntries(entries.map(({ key, value }) => [key, value])) as unknown as PostalAddress
}

/** The refusal of an address, with what is wrong with each of its fields by wire name. */
export const addressError = (fields: Readonly<Record<string, string>>): PublicError =>
  publicError("ADDRESS_INVALID", {
    message: cutMessage(
      `${meaningOf("ADDRESS_INVALID")}. ${
        Object.entries(fields).map(([name, fault]) => `${name}: ${fault}`).join("; ")
      }`
    ),
    param: "address",
    details: { fields }
  })

/** An address under its wire names. */
export const addressObject = (address: PostalAddress): Readonly<Record<AddressField, string | null>> =>
  Object.fromEntries(addressFields.map(([name, key]) => [name, address[key]])) as Record<AddressField, string | null>

export const amountFields = <Name extends string>(name: Name, amount: UsdMillis) =>
  ({
    [name]: usdWire(amount),
    [`${name}_decimal`]: usdDecimal(amount)
  }) as { readonly [K in Name]: number } & { readonly [K in `${Name}_decimal`]: string }

/** `pricing` on the wire. */
export const pricingObject = ({ fees, shipping, subtotal, tax, total }: Pricing) => ({
  currency: "usd" as const,
  amount_unit: "usd_millis" as const,
  ...amountFields("subtotal", subtotal),
  ...amountFields("shipping", shipping),
  ...amountFields("tax", tax),
  ...amountFields("fees", fees),
  ...amountFields("total", total)
})

/** `valid_items` and `invalid_items` on the wire; a price is changed where the customer saw another one before. */
export const itemsObject = ({ items, refused }: Quotation, seenPrices: SeenPrices) => ({
  valid_items: items.map((item) => ({
    product_id: item.productId,
    retailer: item.retailer,
    title: item.title,
    quantity: item.quantity,
    ...amountFields("unit_amount", item.unitAmount),
    ...amountFields("amount", amountOf(item)),
    price_changed: (seenPrices.get(itemKey(item)) ?? item.unitAmount) !== item.unitAmount,
    image_url: item.imageUrl
  })),
  invalid_items: refused.map(({ fault, message, productId, retailer }) => ({
    product_id: productId,
    retailer,
    code: fault,
    message
  }))
})

export const customerFields = ({ id, wallet }: Customer) => ({
  customer_id: id,
  wallet_address: wallet?.address ?? null,
  wallet_network: wallet?.network ?? null
})

/** An estimate on the wire, priced by the cheapest way of shipping. */
export const estimateObject = (estimate: EstimateState, seenPrices: SeenPrices) => ({
  estimate_id: estimate.id,
  merchant_id: estimate.merchantId,
  environment: estimate.environment,
  ...customerFields(estimate.customer),
  ...itemsObject(estimate.quotation, seenPrices),
  pricing: pricingObject(pricingOf(estimate.quotation, estimate.quotation.shipping[0])),
  created_at: estimate.createdAt,
  expires_at: estimate.expiresAt
})

/** `shipping_options` on the wire. */
export const shippingObjects = ({ shipping }: Quotation) =>
  shipping.map(({ amount, estimatedDays, id, name }) => ({
    id,
    name,
    ...amountFields("amount", amount),
    estimated_days: estimatedDays
  }))
