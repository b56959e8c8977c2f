/** Checkout and carts: definitions only (modules/docs/reference/checkout.md#estimates). Wrapped family. */
// oxlint-disable max-lines -- the routes and examples of one API, as the document lists them
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { errors, IdempotencyRequired, Idempotent, MerchantAuth, WrappedErrors } from "../../runtime/Http.ts"
import { RightsOf } from "../../runtime/Rights.ts"
import { withAliases } from "../../schemas/Alias.ts"
import { EpochSeconds, InvoiceId, MerchantId, pathId, Uuid } from "../../schemas/Ids.ts"
import { InvoiceStatus, Metadata, WireAmount } from "../../schemas/Invoice.ts"
import { readPrice, UsdDecimal } from "../../schemas/Money.ts"
import { Environment, Network } from "../../schemas/Network.ts"
import {
  exampleOrder,
  ItemFault,
  maximumItems,
  maximumQuantity,
  Order,
  OrderId,
  Retailer
} from "../../schemas/Order.ts"
import { success } from "../../schemas/Success.ts"
import { HttpsUrl } from "../../schemas/Web.ts"

const optionalNullable = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))
const nullableText = Schema.NullOr(Schema.String)

/** One line of visible text. Its length is what pages and labels show. */
const line = (maximum: number) =>
  Schema.String.check(
    Schema.isNonEmpty(),
    Schema.isMaxLength(maximum),
    Schema.isPattern(/^[^\p{Cc}\p{Zl}\p{Zp}]+$/u, { message: "Expected one line of text" })
  )

const customerId = Schema.String.check(Schema.isNonEmpty(), Schema.isMaxLength(255)).annotate({
  description: "Your own name for the customer; it wins where a wallet is sent too."
})
const walletAddress = Schema.String.check(Schema.isMaxLength(255)).annotate({
  description: "With `wallet_network`: the customer's wallet, where you have no name for the customer."
})
const walletNetwork = Network.annotate({ description: "The network of `wallet_address`." })

const customerFields = {
  customer_id: optionalNullable(customerId),
  wallet_address: optionalNullable(walletAddress),
  wallet_network: optionalNullable(walletNetwork)
}

const customerQuery = {
  customer_id: Schema.optionalKey(customerId),
  wallet_address: Schema.optionalKey(walletAddress),
  wallet_network: Schema.optionalKey(walletNetwork)
}

/** Who is meant, as it stands in a body or a query. */
export const CustomerFields = Schema.Struct(customerFields)
export type CustomerFields = typeof CustomerFields.Type

const productId = line(128).annotate({ description: "The retailer's id of the product." })

const Price = Schema.Union([Schema.Finite, Schema.String]).annotate({
  description: "Dollars, with at most 3 decimals: what your shop says it costs. A hint, never what is charged."
}).check(
  Schema.makeFilter((price: number | string) =>
    readPrice(price) !== undefined || "Expected dollars with at most 3 decimals, 0 to 1000000"
  )
)

const quantityOf = (minimum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum: maximumQuantity }))

const zipCode = Schema.String.check(
  Schema.isMaxLength(20),
  Schema.isPattern(/^[\p{L}\d][\p{L}\d -]*$/u, { message: "Expected letters, digits, spaces and dashes" })
).annotate({ description: "Where it goes, as far as that is known: shipping and tax may depend on it." })

const exampleEstimateId = "7b1c0192-e4a0-7c3d-8e4f-5a6b7c8d9e0f"
const exampleAddressId = "7b1c0193-1a2b-7c3d-8e4f-5a6b7c8d9e0f"
const exampleItemId = "7b1c0194-5e6f-7c3d-8e4f-5a6b7c8d9e0f"

const exampleItem = { product_id: "B08N5WRWNW", retailer: "amazon", title: "Item", quantity: 1, price: 9.99 } as const

/** What to price: items, or the customer's cart. */
export const NewEstimate = withAliases(
  Schema.Struct({
    ...customerFields,
    items: optionalNullable(
      Schema.Array(Schema.Struct({
        product_id: productId,
        retailer: line(64),
        title: optionalNullable(line(255)),
        quantity: Schema.optionalKey(
          Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000 })).annotate({
            description: `1 to ${maximumQuantity}, 1 if not said; with more the item is invalid.`
          })
        ),
        price: optionalNullable(Price)
      })).check(Schema.isMaxLength(maximumItems))
    ).annotate({ description: `At most ${maximumItems}. Exactly one of this and \`use_cart\`.` }),
    use_cart: optionalNullable(Schema.Boolean).annotate({
      description: "Prices what is in the customer's cart, and leaves it there."
    }),
    item_overrides: optionalNullable(
      Schema.Array(
        Schema.Struct({ product_id: productId, retailer: optionalNullable(line(64)), quantity: quantityOf(0) })
      )
        .check(Schema.isMaxLength(maximumItems))
    ).annotate({ description: "With `use_cart`: other quantities than the cart's, 0 to leave an item out." }),
    zip_code: optionalNullable(zipCode)
  }),
  { identifier: "NewEstimate", examples: [{ customer_id: "cust_1", items: [exampleItem], zip_code: "33101" }] }
)

/** So many pieces of a product, and what they cost. */
const pricedFields = {
  product_id: Schema.String,
  retailer: Retailer,
  title: Schema.String,
  quantity: Schema.Int,
  unit_amount: WireAmount,
  unit_amount_decimal: UsdDecimal,
  amount: WireAmount,
  amount_decimal: UsdDecimal
}

const ValidItem = Schema.Struct({
  ...pricedFields,
  price_changed: Schema.Boolean.annotate({
    description: "Whether the price differs from the one the customer saw before."
  }),
  image_url: nullableText
})

const InvalidItem = Schema.Struct({
  product_id: Schema.String,
  retailer: Schema.String,
  code: ItemFault,
  message: Schema.String
})

const itemLists = { valid_items: Schema.Array(ValidItem), invalid_items: Schema.Array(InvalidItem) }

const Pricing = Schema.Struct({
  currency: Schema.Literal("usd"),
  amount_unit: Schema.Literal("usd_millis"),
  subtotal: WireAmount,
  subtotal_decimal: UsdDecimal,
  shipping: WireAmount,
  shipping_decimal: UsdDecimal,
  tax: WireAmount,
  tax_decimal: UsdDecimal,
  fees: WireAmount,
  fees_decimal: UsdDecimal,
  total: WireAmount,
  total_decimal: UsdDecimal
}).annotate({ identifier: "Pricing", description: "What the items come to, with the cheapest way of shipping." })

const examplePricing = {
  currency: "usd",
  amount_unit: "usd_millis",
  subtotal: 9_990,
  subtotal_decimal: "9.990",
  shipping: 1_000,
  shipping_decimal: "1.000",
  tax: 0,
  tax_decimal: "0.000",
  fees: 3_000,
  fees_decimal: "3.000",
  total: 13_990,
  total_decimal: "13.990"
} as const

const exampleValidItem = {
  product_id: "B08N5WRWNW",
  retailer: "amazon",
  title: "Item",
  quantity: 1,
  unit_amount: 9_990,
  unit_amount_decimal: "9.990",
  amount: 9_990,
  amount_decimal: "9.990",
  price_changed: false,
  image_url: null
} as const

const exampleItems = {
  valid_items: [exampleValidItem],
  invalid_items: [{
    product_id: "B000",
    retailer: "amazon",
    code: "NO_ELIGIBLE_OFFER",
    message: "Nobody sells this item now"
  }]
} as const

const exampleEstimate = {
  estimate_id: exampleEstimateId,
  merchant_id: MerchantId.make(123),
  environment: "devnet",
  customer_id: "cust_1",
  wallet_address: null,
  wallet_network: null,
  ...exampleItems,
  pricing: examplePricing,
  created_at: 1_766_320_000,
  expires_at: 1_766_320_900
} as const

export const Estimate = Schema.Struct({
  estimate_id: Uuid,
  merchant_id: MerchantId,
  environment: Environment,
  customer_id: nullableText,
  wallet_address: nullableText,
  wallet_network: Schema.NullOr(Network),
  ...itemLists,
  pricing: Pricing,
  created_at: EpochSeconds,
  expires_at: EpochSeconds
}).annotate({
  identifier: "Estimate",
  description: "What a customer's items cost now; it holds until `expires_at`, 900 seconds.",
  examples: [exampleEstimate]
})

const exampleAddress = {
  first_name: "Ada",
  last_name: "Lovelace",
  street_address: "12 Analytical Way",
  address_line2: null,
  city: "Miami",
  state: "FL",
  zip_code: "33101",
  country: "US",
  phone: "+1 305 555 0100",
  email: "ada@example.com"
} as const

/** An address as the reference shows it: only `address_line2` may be left out. */
const DocumentedAddress = Schema.Struct({
  first_name: Schema.String,
  last_name: Schema.String,
  street_address: Schema.String,
  address_line2: optionalNullable(Schema.String),
  city: Schema.String,
  state: Schema.String,
  zip_code: Schema.String,
  country: Schema.String.annotate({ description: "Two letters (ISO 3166-1 alpha-2)." }),
  phone: Schema.String,
  email: Schema.String
})

/** Where an estimate goes. The address is accepted as any object: what is wrong with it is said field by field. */
export const NewAddress = withAliases(
  Schema.Struct({
    ...customerFields,
    estimate_id: Schema.String,
    address: Schema.Record(Schema.String, Schema.Json).check(
      Schema.makeFilter(() => true, { toJsonSchema: () => Schema.toJsonSchemaDocument(DocumentedAddress).schema })
    )
  }),
  {
    identifier: "NewAddress",
    examples: [{ customer_id: "cust_1", estimate_id: exampleEstimateId, address: exampleAddress }]
  }
)

export const AddressedEstimate = Schema.Struct({
  address_id: Uuid,
  validated: Schema.Literal(true),
  standardized: Schema.Struct({
    first_name: Schema.String,
    last_name: Schema.String,
    street_address: Schema.String,
    address_line2: nullableText,
    city: Schema.String,
    state: Schema.String,
    zip_code: Schema.String,
    country: Schema.String,
    phone: Schema.String,
    email: Schema.String
  }),
  shipping_options: Schema.Array(Schema.Struct({
    id: Schema.String,
    name: Schema.String,
    amount: WireAmount,
    amount_decimal: UsdDecimal,
    estimated_days: Schema.String
  })),
  estimate: Estimate
}).annotate({
  identifier: "AddressedEstimate",
  description: "The address as the retailer writes it, and what the estimate comes to there.",
  examples: [{
    address_id: exampleAddressId,
    validated: true,
    standardized: exampleAddress,
    shipping_options: [
      { id: "standard", name: "Standard", amount: 1_000, amount_decimal: "1.000", estimated_days: "5-7" }
    ],
    estimate: exampleEstimate
  }]
})

/** What an order is made of. */
export const NewPurchase = withAliases(
  Schema.Struct({
    ...customerFields,
    estimate_id: Schema.String,
    address_id: Schema.String,
    shipping_option_id: optionalNullable(Schema.String).annotate({ description: "The cheapest if not said." }),
    refund_destination_wallet_address_bsc: optionalNullable(Schema.String).annotate({
      description:
        "Where a refund would go: an address of BNB Chain that is the customer's own, not one that payments are " +
        "received at. It can be set later too."
    }),
    metadata: optionalNullable(Metadata).annotate({
      description: "Your own data, kept in the invoice and shown there."
    })
  }),
  {
    identifier: "NewPurchase",
    examples: [{
      customer_id: "cust_1",
      estimate_id: exampleEstimateId,
      address_id: exampleAddressId,
      shipping_option_id: "standard",
      metadata: { basket: "B-7" }
    }]
  }
)

const exampleUnpaid = {
  ...exampleOrder,
  status: "pending_payment",
  substatus: "AWAITING_PAYMENT",
  actions: { can_cancel: true, can_set_refund_destination: true, cancel_reason_code: null },
  timeline: [exampleOrder.timeline[0]],
  payment: {
    status: "unpaid",
    amount_paid: 0,
    amount_paid_decimal: "0.000",
    tx_hash: null,
    network: null,
    paid_at: null,
    settlement: { status: null, tx_hash: null, network: null, settled_at: null }
  },
  line_items: [{ ...exampleOrder.line_items[0], status: "pending" }],
  updated_at: exampleOrder.created_at
} as const

/** The answer to a purchase: the order, and the session that a payor opens its invoice with. */
export const Purchase = Schema.Struct({
  order_id: OrderId,
  invoice_id: InvoiceId,
  payment_url: Schema.String,
  session_token: Schema.String,
  signature: Schema.String,
  payment_session_headers: Schema.Struct({ "x-session-token": Schema.String, "x-signature": Schema.String }),
  merchant_id: MerchantId,
  environment: Environment,
  customer_id: nullableText,
  amount: WireAmount,
  amount_decimal: UsdDecimal,
  amount_unit: Schema.Literal("usd_millis"),
  status: InvoiceStatus,
  expires_at: EpochSeconds,
  order: Order,
  endpoints: Schema.Struct({ check_order: Schema.String, check_payment: Schema.String, cancel_order: Schema.String })
}).annotate({
  identifier: "Purchase",
  description: "A new order with the invoice that pays it.",
  examples: [{
    order_id: exampleOrder.id,
    invoice_id: exampleOrder.invoice_id,
    payment_url:
      `https://pay.example/pay/${exampleOrder.invoice_id}?session_token=pst_Zk3…&signature=9f2c….1766278800000`,
    session_token: "pst_Zk3…",
    signature: "9f2c….1766278800000",
    payment_session_headers: { "x-session-token": "pst_Zk3…", "x-signature": "9f2c….1766278800000" },
    merchant_id: exampleOrder.merchant_id,
    environment: "devnet",
    customer_id: "cust_1",
    amount: 13_990,
    amount_decimal: "13.990",
    amount_unit: "usd_millis",
    status: "unpaid",
    expires_at: 1_766_321_800,
    order: exampleUnpaid,
    endpoints: {
      check_order: `/api/commerce/merchant/orders/${exampleOrder.id}`,
      check_payment: `/api/commerce/merchant/payments/${exampleOrder.id}/status`,
      cancel_order: `/api/commerce/merchant/orders/${exampleOrder.id}/cancel`
    }
  }]
})

const cartItemFields = {
  product_id: productId,
  retailer: Retailer,
  title: line(255),
  price: Price,
  quantity: Schema.optionalKey(quantityOf(1)).annotate({ description: "1 if not said." }),
  image_url: optionalNullable(HttpsUrl),
  product_url: optionalNullable(HttpsUrl)
}

/** A cart to begin, with a first item perhaps. */
export const NewCart = withAliases(
  Schema.Struct({ ...customerFields, item: optionalNullable(Schema.Struct(cartItemFields)) }),
  { identifier: "NewCart", examples: [{ customer_id: "cust_1", item: exampleItem }] }
)

export const NewCartItem = withAliases(
  Schema.Struct({ ...customerFields, ...cartItemFields }),
  { identifier: "NewCartItem", examples: [{ customer_id: "cust_1", ...exampleItem }] }
)
export type NewCartItem = typeof NewCartItem.Type

export const CartItemChange = withAliases(
  Schema.Struct({ ...customerFields, quantity: quantityOf(0).annotate({ description: "0 takes the item out." }) }),
  { identifier: "CartItemChange", examples: [{ customer_id: "cust_1", quantity: 2 }] }
)

/** Just who is meant; no body at all where the query says it. */
const MaybeCustomer = [
  withAliases(CustomerFields, { identifier: "CustomerIdentity", examples: [{ customer_id: "cust_1" }] }),
  Schema.Void
] as const

const exampleCartItem = {
  item_id: exampleItemId,
  product_id: "B08N5WRWNW",
  retailer: "amazon",
  title: "Item",
  quantity: 1,
  unit_amount: 9_990,
  unit_amount_decimal: "9.990",
  amount: 9_990,
  amount_decimal: "9.990",
  image_url: null,
  product_url: null
} as const

export const CartItem = Schema.Struct({
  item_id: Uuid,
  ...pricedFields,
  image_url: nullableText,
  product_url: nullableText
}).annotate({
  identifier: "CartItem",
  description:
    "An item put aside, at the price your shop said. What it costs is asked of the retailer by `validate` and `totals`.",
  examples: [exampleCartItem]
})

export const Cart = Schema.Struct({
  merchant_id: MerchantId,
  customer_id: nullableText,
  wallet_address: nullableText,
  wallet_network: Schema.NullOr(Network),
  items: Schema.Array(CartItem),
  subtotal: WireAmount,
  subtotal_decimal: UsdDecimal,
  amount_unit: Schema.Literal("usd_millis"),
  item_count: Schema.Int,
  created_at: EpochSeconds,
  updated_at: EpochSeconds
}).annotate({
  identifier: "Cart",
  description: "What a customer put aside. It is kept for 90 days after its last change.",
  examples: [{
    merchant_id: MerchantId.make(123),
    customer_id: "cust_1",
    wallet_address: null,
    wallet_network: null,
    items: [exampleCartItem],
    subtotal: 9_990,
    subtotal_decimal: "9.990",
    amount_unit: "usd_millis",
    item_count: 1,
    created_at: 1_766_320_000,
    updated_at: 1_766_320_496
  }]
})

const RemovedItems = success(Schema.Struct({ items_removed: Schema.Int })).annotate({
  identifier: "RemovedItems",
  examples: [{ success: true, data: { items_removed: 1 } }]
})

const callerErrors = [
  "VALIDATION_ERROR",
  "CUSTOMER_IDENTITY_REQUIRED",
  "WALLET_ADDRESS_INVALID",
  "UNAUTHORIZED",
  "API_KEY_INVALID",
  "SCOPE_MISMATCH",
  "SERVICE_UNAVAILABLE"
] as const

const writeErrors = [
  "IDEMPOTENCY_KEY_INVALID",
  "IDEMPOTENCY_REQUEST_IN_PROGRESS",
  "IDEMPOTENCY_KEY_REUSED",
  ...callerErrors
] as const

const priceErrors = ["NO_VALID_ITEMS", "ORDER_VALUE_EXCEEDED", "INVALID_AMOUNT_RANGE"] as const

const checkout = "/api/commerce/merchant/checkout"
const carts = "/api/commerce/merchant/carts"

const ownerNote = "Whose cart it is stands in the query or in the body; a field of the body wins."

export class StorefrontGroup extends HttpApiGroup.make("storefront").add(
  HttpApiEndpoint.post("estimate", `${checkout}/estimate`, {
    payload: NewEstimate,
    success: success(Estimate),
    error: errors("wrapped", ...priceErrors, ...writeErrors)
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Price items, or a cart",
    description:
      "Asks the retailer what the items cost now and keeps the answer for 900 seconds. The retailer's price " +
      "counts: where your `price` is another, `price_changed` is true. Items that cannot be bought are in `invalid_items` " +
      "and not in the sum; if none can, the answer is `NO_VALID_ITEMS` with the same list in `details`."
  })),
  HttpApiEndpoint.post("address", `${checkout}/address`, {
    payload: NewAddress,
    success: success(AddressedEstimate),
    error: errors(
      "wrapped",
      "ADDRESS_INVALID",
      "ESTIMATE_NOT_FOUND",
      "ESTIMATE_ALREADY_USED",
      "ESTIMATE_EXPIRED",
      ...priceErrors,
      ...writeErrors
    )
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Say where an estimate goes",
    description:
      "Checks the address, prices the items anew for there, and answers what the customer now has to be shown: " +
      "`estimate.pricing`, and each item with `price_changed` against the estimate. Call it again for another address, or " +
      "for new prices; the estimate ends when it was going to. Addresses are removed after 24 hours, and never logged."
  })),
  HttpApiEndpoint.post("invoice", `${checkout}/invoice`, {
    payload: NewPurchase,
    success: success(Purchase),
    error: errors(
      "wrapped",
      "IDEMPOTENCY_KEY_MISSING",
      "ESTIMATE_NOT_FOUND",
      "ADDRESS_NOT_FOUND",
      "ESTIMATE_ALREADY_USED",
      "ESTIMATE_CHANGED",
      "ESTIMATE_EXPIRED",
      "UNSUPPORTED_NETWORK",
      ...priceErrors,
      ...writeErrors
    )
  }).middleware(IdempotencyRequired).annotateMerge(OpenApi.annotations({
    summary: "Order an estimate",
    description:
      "Makes the order and the invoice that pays it, payable for 1,800 seconds, and uses the estimate up. The " +
      "invoice asks for exactly what the address step showed, with the way of shipping chosen here. The retailer is asked " +
      "once more: where it wants more by now, or does not sell all of it, the answer is `ESTIMATE_CHANGED` with the new " +
      "prices in `details.estimate`, and nothing was made; show them, and go on from the address step. A cart is not touched."
  })),
  HttpApiEndpoint.get("cart", carts, {
    query: customerQuery,
    success: success(Cart),
    error: errors("wrapped", ...callerErrors)
  }).annotateMerge(OpenApi.annotations({
    summary: "Get a customer's cart",
    description: "The cart of the customer that the query names, empty where there is none."
  })),
  HttpApiEndpoint.post("beginCart", carts, {
    query: customerQuery,
    payload: NewCart,
    success: success(Cart),
    error: errors("wrapped", "CART_LIMIT_REACHED", ...writeErrors)
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Begin a cart",
    description: `Makes the customer's cart unless there is one, and puts \`item\` in if it is sent. ${ownerNote}`
  })),
  HttpApiEndpoint.delete("emptyCart", carts, {
    query: customerQuery,
    payload: MaybeCustomer,
    success: RemovedItems,
    error: errors("wrapped", ...writeErrors)
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Empty a cart",
    description: "Takes every item out; `items_removed` is how many different items that were."
  })),
  HttpApiEndpoint.post("addItem", `${carts}/items`, {
    query: customerQuery,
    payload: NewCartItem,
    success: success(Schema.Struct({ item_id: Uuid, quantity: Schema.Int, updated: Schema.Boolean })).annotate({
      identifier: "AddedCartItem",
      examples: [{ success: true, data: { item_id: exampleItemId, quantity: 1, updated: false } }]
    }),
    error: errors("wrapped", "CART_LIMIT_REACHED", ...writeErrors)
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Put an item into a cart",
    description:
      "The same product of the same retailer adds its quantity to what is there (`updated`), and its new title, " +
      `price and links replace the old. At most ${maximumItems} items, and ${maximumQuantity} pieces of each. ${ownerNote}`
  })),
  HttpApiEndpoint.put("resizeItem", `${carts}/items/:item_id`, {
    params: { item_id: pathId("Id of an item of the cart.") },
    query: customerQuery,
    payload: CartItemChange,
    success: success(CartItem),
    error: errors("wrapped", "CART_ITEM_NOT_FOUND", ...writeErrors)
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Set an item's quantity",
    description: `Answers the item as it is then; with quantity 0 it is taken out. ${ownerNote}`
  })),
  HttpApiEndpoint.delete("removeItem", `${carts}/items/:item_id`, {
    params: { item_id: pathId("Id of an item of the cart.") },
    query: customerQuery,
    payload: MaybeCustomer,
    success: RemovedItems,
    error: errors("wrapped", "CART_ITEM_NOT_FOUND", ...writeErrors)
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Take an item out of a cart",
    description: "Whatever its quantity is: `items_removed` is 1."
  })),
  HttpApiEndpoint.post("validateCart", `${carts}/validate`, {
    query: customerQuery,
    payload: MaybeCustomer,
    success: success(Schema.Struct(itemLists)).annotate({
      identifier: "ValidatedCart",
      examples: [{ success: true, data: exampleItems }]
    }),
    error: errors("wrapped", ...writeErrors)
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Check a cart",
    description: `Asks the retailer for every item of the cart, as an estimate does, and changes nothing. ${ownerNote}`
  })),
  HttpApiEndpoint.get("cartTotals", `${carts}/totals`, {
    query: { ...customerQuery, zip_code: Schema.optionalKey(zipCode) },
    success: success(Pricing).annotate({
      identifier: "CartTotals",
      examples: [{ success: true, data: examplePricing }]
    }),
    error: errors("wrapped", ...callerErrors)
  }).annotateMerge(OpenApi.annotations({
    summary: "Price a cart",
    description:
      "What the items of the cart that can be bought come to now, delivered to `zip_code` where it is sent. It " +
      "promises nothing: an estimate does."
  }))
)
  .middleware(MerchantAuth)
  .annotate(RightsOf, { read: "payments:read", write: "invoices:write" })
  .middleware(WrappedErrors)
  .annotateMerge(OpenApi.annotations({
    title: "Checkout and carts",
    description:
      "A customer's way to an order: cart, estimate, address, invoice. All of it takes a key of commerce scope."
  }))
{}

export class StorefrontApi extends HttpApi.make("storefront").add(StorefrontGroup) {}
