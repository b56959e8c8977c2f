/**
 * What Tillwire and a merchant's own fulfilment service say to each other (modules/docs/guides/fulfilment.md): JSON,
 * `snake_case`, money as integers of usd_millis. Every limit is in modules/docs/reference/retailers.md#the-protocol;
 * what breaks one is refused whole, never cut. Unknown fields are ignored.
 */
import { Schema } from "effect"
import { EpochSeconds, MerchantId } from "./Ids.ts"
import { maximumInvoiceAmount, usdWire } from "./Money.ts"
import { Environment } from "./Network.ts"
import { DeliveryStatus, ItemFault, OrderId, Retailer } from "./Order.ts"
import { HttpsUrl } from "./Web.ts"

/** Items of a quote or an order, at most (modules/docs/reference/retailers.md#the-protocol). */
export const maximumItems = 50

/** Units of an item, at most (modules/docs/reference/retailers.md#the-protocol). */
export const maximumQuantity = 99

/** Ways to ship that a quote offers, at most. */
export const maximumShippingOptions = 20

/** Reports in an answer, at most: more than an order of {@link maximumItems} parcels has. */
export const maximumReports = 100

/** Text without control characters, which no label and no log has use for. */
const text = (maximum: number) =>
  Schema.String.check(
    Schema.isMinLength(1),
    Schema.isMaxLength(maximum),
    Schema.isPattern(/^[^\p{Cc}\p{Cs}]*$/u, { message: "Expected text without control characters" })
  )

/** Ids that others make: products, shipments, line items, orders at the retailer. */
const Label = text(128)

/** Titles, reasons and messages. */
const Sentence = text(500)

/** An amount from 0 to $1,000,000, the most an invoice may ask for. */
const Amount = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: usdWire(maximumInvoiceAmount) })).annotate({
  description: "Thousandths of a US dollar.",
  examples: [9_990]
})

const Quantity = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maximumQuantity }))

/** The last second of the year 2099: a later one is a time in milliseconds. */
const latestSecond = 4_102_444_799

const Moment = EpochSeconds.check(Schema.isLessThanOrEqualTo(latestSecond))

/** An address on the wire. */
export const RetailAddress = Schema.Struct({
  first_name: text(100),
  last_name: text(100),
  street_address: text(200),
  address_line2: Schema.NullOr(text(200)),
  city: text(100),
  state: Schema.String.check(Schema.isMaxLength(100)),
  zip_code: text(20),
  country: Schema.String.check(Schema.isPattern(/^[A-Z]{2}$/u)).annotate({ description: "ISO 3166-1 alpha-2" }),
  phone: Schema.String.check(Schema.isMaxLength(40)),
  email: Schema.String.check(Schema.isMaxLength(254))
})
export type RetailAddress = typeof RetailAddress.Type

/** The names of an address's fields. */
export const addressFields: ReadonlyArray<string> = Object.keys(RetailAddress.fields)

/** `POST /quote`: what do these items cost now? */
export const QuoteRequest = Schema.Struct({
  merchant_id: MerchantId,
  environment: Environment,
  zip_code: Schema.NullOr(Schema.String).annotate({ description: "null while it is not known" }),
  items: Schema.Array(Schema.Struct({ retailer: Schema.String, product_id: Schema.String, quantity: Quantity }))
    .check(Schema.isMaxLength(maximumItems))
})

/** Its answer: every item asked for is in `items` or in `refused`, once, and nothing else is. */
export const QuoteAnswer = Schema.Struct({
  items: Schema.Array(Schema.Struct({
    retailer: Retailer,
    product_id: Label,
    title: Sentence,
    image_url: Schema.NullOr(HttpsUrl),
    quantity: Quantity,
    unit_amount: Amount
  })).check(Schema.isMaxLength(maximumItems)),
  refused: Schema.Array(Schema.Struct({
    retailer: Schema.String,
    product_id: Schema.String,
    code: ItemFault,
    message: Sentence
  })).check(Schema.isMaxLength(maximumItems)),
  shipping_options: Schema.Array(Schema.Struct({
    id: Schema.String.check(Schema.isPattern(/^[\w.-]{1,64}$/u)),
    name: text(100),
    amount: Amount,
    estimated_days: Schema.String.check(Schema.isPattern(/^\d{1,3}(?:-\d{1,3})?$/u)).annotate({ examples: ["5-7"] })
  })).check(Schema.isMaxLength(maximumShippingOptions)),
  tax: Amount,
  fees: Amount
})
export type QuoteAnswer = typeof QuoteAnswer.Type

/** `POST /address`: can this address be delivered to? */
export const AddressRequest = Schema.Struct({ environment: Environment, address: RetailAddress })

/** Its answer: the address as the retailer writes it, or what is wrong by field name. */
export const AddressAnswer = Schema.Union([
  Schema.Struct({ valid: Schema.Literal(true), address: RetailAddress }),
  Schema.Struct({
    valid: Schema.Literal(false),
    fields: Schema.Record(Schema.String, Sentence).check(
      Schema.makeFilter((fields: Readonly<Record<string, string>>) =>
        Object.keys(fields).length > 0 && Object.keys(fields).every((field) => addressFields.includes(field)) ||
        "Expected names of an address's fields"
      )
    )
  })
])
export type AddressAnswer = typeof AddressAnswer.Type

/** `POST /orders`: deliver this, once however often it is asked. */
export const PlacementRequest = Schema.Struct({
  order_id: OrderId,
  merchant_id: MerchantId,
  environment: Environment,
  customer_id: Schema.NullOr(Schema.String),
  items: Schema.Array(Schema.Struct({
    line_item_id: Schema.String,
    retailer: Retailer,
    product_id: Schema.String,
    title: Schema.String,
    quantity: Quantity,
    unit_amount: Amount
  })),
  address: RetailAddress,
  shipping_option_id: Schema.String
})

/** `POST /orders/{order_id}/cancel`: do not deliver this, if that can still be. The same each time, as its key is. */
export const CancelRequest = Schema.Struct({ order_id: OrderId, environment: Environment })

/** A parcel, new or changed, known by its `shipment_id`. */
export const RetailShipment = Schema.Struct({
  shipment_id: Label,
  carrier: Schema.NullOr(Label),
  tracking_number: Schema.NullOr(Label),
  carrier_tracking_url: Schema.NullOr(HttpsUrl),
  delivery_status: DeliveryStatus,
  retailer_tracking_number: Schema.NullOr(Label),
  retailer_tracking_url: Schema.NullOr(HttpsUrl),
  obtained_at: Moment,
  line_item_ids: Schema.Array(Label).check(Schema.isMinLength(1), Schema.isMaxLength(maximumItems), Schema.isUnique())
})

const report = <T extends string, F extends Schema.Struct.Fields>(type: T, fields: F) =>
  Schema.Struct({ type: Schema.Literal(type), ...fields })

/** A fact about an order, told as often as one likes, in an answer or in a callback. */
export const RetailReport = Schema.Union([
  report("placed", { provider_order_id: Label }),
  report("placement_failed", { reason: Sentence }),
  report("shipped", { shipment: RetailShipment }),
  report("delivered", { is_confirmed: Schema.Boolean }),
  report("cancellation_accepted", {}),
  report("cancellation_rejected", { reason: Sentence }),
  report("canceled_by_retailer", { reason: Sentence })
]).annotate({
  identifier: "RetailReport",
  description: "A fact about an order, told by whoever delivers it.",
  examples: [{ type: "placed", provider_order_id: "W-10442" }]
})
export type RetailReport = typeof RetailReport.Type

/**
 * The answer to placing, to `GET /orders/{order_id}` and to canceling: everything that is true by now, perhaps nothing.
 */
export const ReportsAnswer = Schema.Struct({
  order_id: OrderId,
  reports: Schema.Array(RetailReport).check(Schema.isMaxLength(maximumReports))
})
export type ReportsAnswer = typeof ReportsAnswer.Type
