/**
 * The port's words and the protocol's: pure, both ways. An answer that is not what was asked for is a sentence instead.
 */
import { Result, Schema } from "effect"
import { bodyFault } from "../../../../runtime/http/Body.ts"
import { usdMillis, usdWire } from "../../../../schemas/Money.ts"
import type { Environment } from "../../../../schemas/Network.ts"
import {
  AddressAnswer,
  QuoteAnswer,
  type ReportsAnswer,
  ReportsAnswer as Reports,
  type RetailAddress,
  type RetailReport
} from "../../../../schemas/Retail.ts"
import type {
  AddressValidation,
  Offer,
  OrderedItem,
  PlacedOrder,
  Placement,
  PostalAddress,
  RetailerReport,
  WantedItem
} from "../../plugin.ts"

/** Reads a body as one schema has it; a sentence for the operator where it is something else. */
const makeReader = <A>(schema: Schema.Codec<A, any>) => {
  const decode = Schema.decodeUnknownResult(Schema.fromJsonString(schema))
  return (body: string): Result.Result<A, string> =>
    bodyFault(body) === null
      ? Result.mapError(decode(body), () => "it is not what the protocol asks for")
      : Result.fail("it is nested too deep, or holds text that cannot be stored")
}

const readQuote = makeReader(QuoteAnswer)
const readAddress = makeReader(AddressAnswer)
const readReports = makeReader(Reports)

/** `POST /quote`. */
export const quoteBody = (request: {
  readonly merchantId: number
  readonly environment: Environment
  readonly zipCode: string | null
  readonly items: ReadonlyArray<WantedItem>
}) => ({
  merchant_id: request.merchantId,
  environment: request.environment,
  zip_code: request.zipCode,
  items: request.items.map(({ productId, quantity, retailer }) => ({ retailer, product_id: productId, quantity }))
})

/** Takes one of each kind out of `items` for every item that was answered; false where one was not asked for. */
const removeMatches = <A>(
  items: Array<WantedItem>,
  answers: ReadonlyArray<A>,
  isMatch: (item: WantedItem, answer: A) => boolean
) =>
  answers.every((answer) => {
    const at = items.findIndex((item) => isMatch(item, answer))
    if (at === -1) return false
    items.splice(at, 1)
    return true
  })

/** What is wrong with a quote as the answer to `requestedItems`, if anything. */
const quoteFault = (requestedItems: ReadonlyArray<WantedItem>, { items, refused, shipping_options }: QuoteAnswer) => {
  const remaining = [...requestedItems]
  const isSameItem = (item: WantedItem, answer: { readonly retailer: string; readonly product_id: string }) =>
    item.retailer === answer.retailer && item.productId === answer.product_id
  const isComplete =
    removeMatches(remaining, items, (item, answer) => isSameItem(item, answer) && item.quantity === answer.quantity) &&
    removeMatches(remaining, refused, isSameItem)
  if (!isComplete) return "it holds an item that was not asked for, twice, or in another quantity"
  if (remaining.length > 0) return "it leaves out an item that was asked for"
  if (items.length > 0 && shipping_options.length === 0) return "it offers items and no way to ship them"
  const ids = new Set(shipping_options.map(({ id }) => id))
  return ids.size === shipping_options.length ? undefined : "it has two shipping options of one id"
}

/** The offer in an answer to a quote. */
export const offerOf = (requestedItems: ReadonlyArray<WantedItem>, body: string): Result.Result<Offer, string> =>
  Result.flatMap(readQuote(body), (answer) => {
    const fault = quoteFault(requestedItems, answer)
    if (fault !== undefined) return Result.fail(fault)
    return Result.succeed({
      items: answer.items.map((item) => ({
        retailer: item.retailer,
        productId: item.product_id,
        title: item.title,
        imageUrl: item.image_url,
        quantity: item.quantity,
        unitAmount: usdMillis(BigInt(item.unit_amount))
      })),
      refused: answer.refused.map(({ code, message, product_id, retailer }) => ({
        retailer,
        productId: product_id,
        fault: code,
        message
      })),
      shipping: answer.shipping_options.map(({ amount, estimated_days, id, name }) => ({
        id,
        name,
        amount: usdMillis(BigInt(amount)),
        estimatedDays: estimated_days
      })).toSorted((one, other) => one.amount < other.amount ? -1 : one.amount > other.amount ? 1 : 0),
      tax: usdMillis(BigInt(answer.tax)),
      fees: usdMillis(BigInt(answer.fees))
    })
  })

const wireAddress = (address: PostalAddress): RetailAddress => ({
  first_name: address.firstName,
  last_name: address.lastName,
  street_address: address.streetAddress,
  address_line2: address.addressLine2,
  city: address.city,
  state: address.state,
  zip_code: address.zipCode,
  country: address.country,
  phone: address.phone,
  email: address.email
})

/** `POST /address`. */
export const addressBody = (address: PostalAddress, environment: Environment) => ({
  environment,
  address: wireAddress(address)
})

/** The validation in an answer about an address. */
export const validationOf = (body: string): Result.Result<AddressValidation, string> =>
  Result.map(readAddress(body), (answer) =>
    answer.valid
      ? {
        _tag: "Valid",
        address: {
          firstName: answer.address.first_name,
          lastName: answer.address.last_name,
          streetAddress: answer.address.street_address,
          addressLine2: answer.address.address_line2,
          city: answer.address.city,
          state: answer.address.state,
          zipCode: answer.address.zip_code,
          country: answer.address.country,
          phone: answer.address.phone,
          email: answer.address.email
        }
      }
      : { _tag: "Invalid", fields: answer.fields })

/** `POST /orders`. */
export const placementBody = (placement: Placement) => ({
  order_id: placement.orderId,
  merchant_id: placement.merchantId,
  environment: placement.environment,
  customer_id: placement.customerId,
  items: placement.items.map((item) => ({
    line_item_id: item.lineItemId,
    retailer: item.retailer,
    product_id: item.productId,
    title: item.title,
    quantity: item.quantity,
    unit_amount: usdWire(item.unitAmount)
  })),
  address: wireAddress(placement.address),
  shipping_option_id: placement.shippingOptionId
})

/** `POST /orders/{order_id}/cancel`: nothing that changes with the order, for its idempotency key does not. */
export const cancelBody = ({ environment, orderId }: PlacedOrder) => ({ order_id: orderId, environment })

/** A report as the port has it. */
export const reportOf = (report: RetailReport): RetailerReport => {
  switch (report.type) {
    case "placed":
      return { _tag: "Placed", providerOrderId: report.provider_order_id }
    case "placement_failed":
      return { _tag: "PlacementFailed", reason: report.reason }
    case "shipped":
      return { _tag: "Shipped", shipment: report.shipment }
    case "delivered":
      return { _tag: "Delivered", isConfirmed: report.is_confirmed }
    case "cancellation_accepted":
      return { _tag: "CancellationAccepted" }
    case "cancellation_rejected":
      return { _tag: "CancellationRejected", reason: report.reason }
    case "canceled_by_retailer":
      return { _tag: "CanceledByRetailer", reason: report.reason }
  }
}

const reportsFault = (
  order: { readonly orderId: string; readonly items: ReadonlyArray<OrderedItem> },
  { order_id, reports }: ReportsAnswer
): string | undefined => {
  if (order_id !== order.orderId) return "it is about another order"
  const lineItemIds = new Set(order.items.map(({ lineItemId }) => lineItemId))
  return reports.every((report) =>
      report.type !== "shipped" || report.shipment.line_item_ids.every((id) => lineItemIds.has(id))
    )
    ? undefined
    : "it ships a line item that the order does not have"
}

/** The reports in an answer about an order. */
export const reportsOf = (
  order: { readonly orderId: string; readonly items: ReadonlyArray<OrderedItem> },
  body: string
): Result.Result<ReadonlyArray<RetailerReport>, string> =>
  Result.flatMap(readReports(body), (answer) => {
    const fault = reportsFault(order, answer)
    return fault === undefined ? Result.succeed(answer.reports.map(reportOf)) : Result.fail(fault)
  })
