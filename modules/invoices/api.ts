/** The merchant's invoice endpoints: definitions only (modules/docs/reference/invoices.md#creating). */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import {
  ActsByOneCommit,
  errors,
  FlatErrors,
  IdempotencyRequired,
  Idempotent,
  listParameterCodes,
  MerchantAuth,
  ParameterCodes,
  UnknownParameters
} from "../../runtime/Http.ts"
import { RightsOf } from "../../runtime/Rights.ts"
import { EpochSeconds, InvoiceId, PathId, pathId, PaymentId } from "../../schemas/Ids.ts"
import { exampleInvoice, Invoice, InvoiceStatus, InvoiceType, Metadata, WireAmount } from "../../schemas/Invoice.ts"
import { ExpiresIn, ToleranceBasisPoints } from "../../schemas/MerchantSettings.ts"
import { UsdDecimal } from "../../schemas/Money.ts"
import { Environment, Network, networks } from "../../schemas/Network.ts"
import { Payment } from "../../schemas/Payment.ts"
import { TimeFrom, TimeTo } from "../../schemas/Time.ts"
import { EmailAddress, Locale, ReturnUrl } from "../../schemas/Web.ts"

const shortText = Schema.String.check(Schema.isMaxLength(255))
const customerId = shortText.check(Schema.isNonEmpty())
const longText = Schema.String.check(Schema.isMaxLength(2_000))
const optionalNullable = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/** What a merchant may say about a new invoice, but for the amount, which is read first and by its own rules. */
export const InvoiceFields = Schema.Struct({
  currency: optionalNullable(Schema.Literal("usd")),
  description: optionalNullable(shortText),
  customer_id: optionalNullable(customerId),
  metadata: optionalNullable(Metadata),
  expires_in: optionalNullable(ExpiresIn),
  customer_email: optionalNullable(EmailAddress),
  invoice_title: optionalNullable(shortText),
  invoice_footer: optionalNullable(longText),
  payment_return_url: optionalNullable(ReturnUrl),
  payment_return_url_enabled: optionalNullable(Schema.Boolean),
  locale: optionalNullable(Locale),
  payment_tolerance_bps: optionalNullable(ToleranceBasisPoints),
  accepted_networks: optionalNullable(Schema.Array(Network).check(Schema.isMaxLength(networks.length))),
  receiver_override_enable: Schema.optionalKey(Schema.Literal(false))
})
export type InvoiceFields = typeof InvoiceFields.Type

/** A new invoice as the reference shows it: every field with its range, of which only the amount is needed. */
const DocumentedInvoice = Schema.Struct({
  amount: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 10, maximum: 1_000_000_000 })).annotate({
      description: "Thousandths of a dollar, $0.01 to $1,000,000. Send this or `amount_usd`, not both."
    })
  ),
  amount_usd: Schema.optionalKey(
    Schema.Union([
      Schema.Finite,
      Schema.String.check(Schema.isPattern(/^\d+(\.\d{1,3})?$/))
    ]).annotate({
      description: "Dollars, as a number or a string with at most 3 decimals. Send this or `amount`, not both."
    })
  ),
  ...InvoiceFields.fields
})

/**
 * The body of a new invoice. Documented and typed field by field, but accepted as any object: its checks have an order
 * of their own, the amount before everything else, so the handler makes them
 * (modules/docs/reference/invoices.md#creating). A number like `1e400`, which JavaScript reads as infinite, is refused
 * there as well, in the words of its field.
 */
export const NewInvoiceBody = Schema.Record(Schema.String, Schema.Any).check(
  Schema.makeFilter(() => true, { toJsonSchema: () => Schema.toJsonSchemaDocument(DocumentedInvoice).schema })
).annotate({
  identifier: "NewInvoice",
  examples: [{
    amount_usd: 49.99,
    description: "Starter plan",
    customer_id: "cust_123",
    metadata: { order_id: "ORD-1" }
  }]
}) as unknown as Schema.Codec<typeof DocumentedInvoice.Type>

/** What may change of an invoice; what is absent stays. */
export const InvoiceChange = Schema.Struct({
  metadata: optionalNullable(Metadata).annotate({
    description: "Keys to set; a key that is null is removed, the others stay. `null` removes all."
  }),
  description: optionalNullable(shortText)
}).annotate({
  identifier: "InvoiceChange",
  description: "What is absent stays; other fields are ignored.",
  examples: [{ metadata: { order_id: "ORD-2", draft: null }, description: "Starter plan, yearly" }]
})

/** The answer to a new invoice: the invoice, and the session that a payor opens it with. */
export const CreatedInvoice = Schema.Struct({
  invoice_id: InvoiceId,
  payment_url: Schema.String,
  session_token: Schema.String,
  signature: Schema.String,
  expires_at: EpochSeconds,
  payment_session_headers: Schema.Struct({ "x-session-token": Schema.String, "x-signature": Schema.String }),
  invoice: Invoice
}).annotate({
  identifier: "CreatedInvoice",
  examples: [{
    invoice_id: exampleInvoice.id,
    payment_url: `https://pay.example/pay/${exampleInvoice.id}?session_token=pst_Zk3…&signature=9f2c….1766278800000`,
    session_token: "pst_Zk3…",
    signature: "9f2c….1766278800000",
    expires_at: exampleInvoice.expires_at,
    payment_session_headers: { "x-session-token": "pst_Zk3…", "x-signature": "9f2c….1766278800000" },
    invoice: {
      ...exampleInvoice,
      status: "unpaid",
      amount_paid: 0,
      amount_paid_decimal: "0.000",
      amount_remaining: exampleInvoice.amount,
      amount_remaining_decimal: exampleInvoice.amount_decimal,
      payer_wallet_address: null,
      payer_wallet_network: null,
      paid_at: null,
      last_payment_at: null
    }
  }]
})
export type CreatedInvoice = typeof CreatedInvoice.Type

/** Payments of an invoice, newest first. */
export const PaymentList = Schema.Struct({
  object: Schema.tag("list"),
  data: Schema.Array(Payment),
  has_more: Schema.Boolean
}).annotate({ identifier: "InvoicePaymentList" })

/** What the merchant wrote into an invoice that is no field of the invoice object; null: nothing. */
export const InvoiceDetails = Schema.Struct({
  description: Schema.NullOr(Schema.String),
  title: Schema.NullOr(Schema.String).annotate({ description: "`invoice_title` of its creation" }),
  footer: Schema.NullOr(Schema.String).annotate({ description: "`invoice_footer` of its creation" }),
  customer_email: Schema.NullOr(Schema.String).annotate({
    description: "As you sent it; what the payor told is in `payor`"
  }),
  payment_return_url: Schema.NullOr(Schema.String),
  locale: Schema.NullOr(Schema.String)
}).annotate({ identifier: "InvoiceDetails" })

/** What the payor of an invoice told of themselves. */
export const InvoicePayor = Schema.Struct({
  email: Schema.NullOr(Schema.String),
  refund_destinations: Schema.Array(Schema.Struct({
    network: Network,
    address: Schema.String,
    memo: Schema.NullOr(Schema.String)
  })).annotate({ description: "At most one for each network" })
}).annotate({ identifier: "InvoicePayor" })

/** An invoice, and beside its own fields what `expand` asked for. */
export const ExpandedInvoice = Schema.Struct({
  ...Invoice.fields,
  latest_payment: Schema.optionalKey(Schema.NullOr(Payment)),
  payments: Schema.optionalKey(PaymentList),
  payment_url: Schema.optionalKey(Schema.String),
  details: Schema.optionalKey(InvoiceDetails),
  payor: Schema.optionalKey(InvoicePayor)
}).annotate({
  identifier: "ExpandedInvoice",
  description:
    "An invoice, with `latest_payment`, `payments`, `payment_url`, `details` and `payor` where `expand` names them.",
  examples: [exampleInvoice]
})

/** An invoice as it stands, with its newest payment. */
export const InvoiceStatusView = Schema.Struct({
  object: Schema.tag("invoice_status"),
  invoice: Invoice,
  latest_payment: Schema.NullOr(Payment)
}).annotate({ identifier: "InvoiceStatus" })

/** A page of invoices, newest first. */
export const InvoiceList = Schema.Struct({
  object: Schema.tag("list"),
  data: Schema.Array(ExpandedInvoice),
  has_more: Schema.Boolean,
  page: Schema.Int,
  limit: Schema.Int,
  total: Schema.Int
}).annotate({ identifier: "InvoiceList" })

/** What `expand` may name. */
export const expansions = ["latest_payment", "payments", "payment_url", "details", "payor"] as const
export type Expansion = typeof expansions[number]

/** Entries of a list: 10 if not said. */
const upTo = (maximum: number) =>
  Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum })).annotate({
      description: `Entries at most, 1 to ${maximum}; 10 if not said.`
    })
  )

const environment = Schema.optionalKey(Environment.annotate({ description: "Default: the caller's own." }))

/** Of a write: a wallet names where it acts, a key's environment is its own. */
const writeQuery = {
  environment: Schema.optionalKey(Environment.annotate({
    description: "Where a call with a JWT acts; default: the merchant's. A key acts in its own environment only."
  }))
}

const expand = Schema.optionalKey(
  Schema.String.check(Schema.isMaxLength(255)).annotate({
    description:
      `Comma list of ${expansions.join(", ")}: each is added to the invoice. payment_url opens a session that `
      + "can set the refund address, so a key gets it only in its own environment. details is what you wrote into the invoice, "
      + "payor what its payor told (e-mail, refund addresses): both for merchant scope in its own environment only."
  })
)

/** Filters and pages of a list of invoices. Payments of each are fewer there, so that a page stays below a megabyte. */
const ListQuery = Schema.Struct({
  page: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000 })).annotate({
      description: "Counted from 1; not together with a cursor."
    })
  ),
  limit: upTo(100),
  status: Schema.optionalKey(Schema.String.annotate({ description: "Comma list of states, or `all`." })),
  invoice_type: Schema.optionalKey(InvoiceType),
  environment,
  created_gte: Schema.optionalKey(TimeFrom),
  created_lte: Schema.optionalKey(TimeTo),
  payer_wallet_address: Schema.optionalKey(shortText),
  payer_wallet_network: Schema.optionalKey(Network),
  starting_after: Schema.optionalKey(InvoiceId.annotate({ description: "Invoices older than this one." })),
  ending_before: Schema.optionalKey(InvoiceId.annotate({ description: "Invoices newer than this one." })),
  expand,
  payments_limit: upTo(10)
})
export type ListQuery = typeof ListQuery.Type

/** Invoices counted, and their amounts added up. */
const InvoiceTotal = Schema.Struct({
  count: Schema.Int,
  amount: WireAmount,
  amount_decimal: UsdDecimal,
  amount_paid: WireAmount,
  amount_paid_decimal: UsdDecimal
}).annotate({
  identifier: "InvoiceTotal",
  description: "A number of invoices, what they ask for and what was paid of them."
})

/** Every status, and all of them together; a status without invoices is all zeros. */
export const InvoiceTotals = Schema.Struct({
  object: Schema.tag("invoice_totals"),
  currency: Schema.Literal("usd"),
  amount_unit: Schema.Literal("usd_millis"),
  totals: Schema.Struct({
    all: InvoiceTotal,
    paid: InvoiceTotal,
    unpaid: InvoiceTotal,
    underpaid: InvoiceTotal,
    expired: InvoiceTotal,
    canceled: InvoiceTotal
  })
}).annotate({ identifier: "InvoiceTotals", description: "Invoices by status, all figures as of one moment." })

const noInvoices = { count: 0, amount: 0, amount_decimal: "0.000", amount_paid: 0, amount_paid_decimal: "0.000" }
const totalsExample: typeof InvoiceTotals.Type = {
  object: "invoice_totals",
  currency: "usd",
  amount_unit: "usd_millis",
  totals: {
    all: { count: 3, amount: 129_900, amount_decimal: "129.900", amount_paid: 99_900, amount_paid_decimal: "99.900" },
    paid: { count: 2, amount: 99_900, amount_decimal: "99.900", amount_paid: 99_900, amount_paid_decimal: "99.900" },
    unpaid: { ...noInvoices, count: 1, amount: 30_000, amount_decimal: "30.000" },
    underpaid: noInvoices,
    expired: noInvoices,
    canceled: noInvoices
  }
}

/** Invoices that a page number may skip; further on, a cursor takes over. */
export const maximumSkipped = 10_000

const scopeErrors = [
  "UNAUTHORIZED",
  "API_KEY_INVALID",
  "SCOPE_MISMATCH",
  "ENVIRONMENT_FORBIDDEN",
  "SERVICE_UNAVAILABLE"
] as const

const readErrors = ["INVOICE_NOT_FOUND", "INVALID_ENVIRONMENT", ...scopeErrors] as const

const listErrors = errors(
  "flat",
  "INVALID_LIMIT",
  "INVALID_PAGE",
  "INVALID_CURSOR",
  "INVALID_ENVIRONMENT",
  "VALIDATION_ERROR",
  ...scopeErrors
)

const writeErrors = [
  "INVALID_ENVIRONMENT",
  "IDEMPOTENCY_KEY_INVALID",
  "IDEMPOTENCY_REQUEST_IN_PROGRESS",
  "IDEMPOTENCY_KEY_REUSED",
  ...scopeErrors
] as const

export class InvoicesGroup extends HttpApiGroup.make("invoices").add(
  HttpApiEndpoint.post("create", "/api/v1/invoices", {
    query: writeQuery,
    payload: NewInvoiceBody,
    success: CreatedInvoice,
    error: errors(
      "flat",
      "IDEMPOTENCY_KEY_MISSING",
      "INVALID_JSON",
      "INVALID_AMOUNT_FORMAT",
      "INVALID_AMOUNT_RANGE",
      "VALIDATION_ERROR",
      "UNSUPPORTED_NETWORK",
      "INVOICE_CREATE_FAILED",
      ...writeErrors
    )
  })
    .middleware(IdempotencyRequired)
    .annotate(ActsByOneCommit, true)
    .annotate(UnknownParameters, "warned").annotateMerge(OpenApi.annotations({
      summary: "Create an invoice",
      description: "Asks for `amount` (integer usd_millis) or `amount_usd` (dollars, at most 3 decimals), $0.01 to " +
        "$1,000,000, and answers with the page where a payor pays it. The merchant's settings are copied into the " +
        "invoice, so that later changes of them leave it as it is. A key of commerce scope makes a commerce invoice."
    })),
  HttpApiEndpoint.get("list", "/api/v1/invoices", {
    query: { ...ListQuery.fields, customer_id: Schema.optionalKey(shortText) },
    success: InvoiceList,
    error: listErrors
  }).annotate(UnknownParameters, "warned").annotateMerge(OpenApi.annotations({
    summary: "List invoices",
    description: "Newest first, by `page` or by cursor. A walk by cursor shows every invoice that was there when it " +
      "began exactly once, whoever creates others meanwhile; so does a walk by page within a `created_lte` in the past."
  })),
  HttpApiEndpoint.get("totals", "/api/v1/invoices/totals", {
    query: {
      invoice_type: Schema.optionalKey(InvoiceType),
      customer_id: Schema.optionalKey(shortText),
      environment,
      created_gte: Schema.optionalKey(TimeFrom),
      created_lte: Schema.optionalKey(TimeTo)
    },
    success: InvoiceTotals.annotate({ examples: [totalsExample] }),
    error: errors("flat", "VALIDATION_ERROR", "INVALID_ENVIRONMENT", ...scopeErrors)
  }).annotate(UnknownParameters, "warned").annotateMerge(OpenApi.annotations({
    summary: "Count invoices and add up their amounts",
    description: "Counts and amounts by status of the invoices that pass every filter given, all as of one moment. "
      + "`created_gte` and `created_lte` are inclusive."
  })),
  HttpApiEndpoint.get("listByCustomer", "/api/v1/invoices/customer/:customer_id", {
    params: { customer_id: shortText },
    query: ListQuery.fields,
    success: InvoiceList,
    error: listErrors
  }).annotateMerge(OpenApi.annotations({
    summary: "List a customer's invoices",
    description: "The list of invoices with this `customer_id`; empty for a customer nobody has heard of."
  })),
  HttpApiEndpoint.get("get", "/api/v1/invoices/:customer_id", {
    params: {
      customer_id: Schema.String.annotate({
        description:
          "Id of an invoice; else your own id of a customer, whose newest invoice is meant. An id of an invoice wins.",
        examples: [exampleInvoice.id, exampleInvoice.customer_id]
      })
    },
    query: { environment, expand, payments_limit: upTo(100) },
    success: ExpandedInvoice,
    error: errors("flat", "INVALID_LIMIT", "VALIDATION_ERROR", ...readErrors)
  }).annotate(UnknownParameters, "warned").annotateMerge(OpenApi.annotations({
    summary: "Get an invoice",
    description: "By its id, or by a customer id: then the newest invoice of that customer. An id of an invoice wins."
  })),
  HttpApiEndpoint.get("status", "/api/v1/invoices/:id/status", {
    params: { id: PathId },
    query: { environment },
    success: InvoiceStatusView,
    error: errors("flat", ...readErrors)
  }).annotateMerge(OpenApi.annotations({
    summary: "Get an invoice's status",
    description: "The invoice with its newest payment, whatever that payment's status; null without one."
  })),
  HttpApiEndpoint.get("payments", "/api/v1/invoices/:id/payments", {
    params: { id: PathId },
    query: {
      environment,
      limit: upTo(100),
      starting_after: Schema.optionalKey(PaymentId.annotate({ description: "Payments older than this one." })),
      ending_before: Schema.optionalKey(PaymentId.annotate({ description: "Payments newer than this one." }))
    },
    success: PaymentList,
    error: errors("flat", "INVALID_LIMIT", "INVALID_CURSOR", ...readErrors)
  }).annotateMerge(OpenApi.annotations({
    summary: "List an invoice's payments",
    description: "Every transfer that reached the invoice, rejected and reverted ones included, newest first."
  })),
  HttpApiEndpoint.get("payment", "/api/v1/invoice-payments/:payment_id", {
    params: { payment_id: PathId },
    query: { environment },
    success: Payment,
    error: errors("flat", "NOT_FOUND", "INVALID_ENVIRONMENT", ...scopeErrors)
  }).annotateMerge(OpenApi.annotations({
    summary: "Get an invoice payment",
    description: "The merchant's view of one payment, by its id."
  })),
  // One path, one name for its segment: GET calls it so (modules/docs/reference/invoices.md#reading).
  HttpApiEndpoint.patch("amend", "/api/v1/invoices/:customer_id", {
    params: { customer_id: pathId("Id of an invoice; a customer id is not taken here.") },
    query: writeQuery,
    payload: InvoiceChange,
    success: Invoice,
    error: errors("flat", "VALIDATION_ERROR", "INVOICE_NOT_FOUND", ...writeErrors)
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Change an invoice",
    description: "Changes the merchant's own notes, in any state: `metadata` by key, and `description`. A change of " +
      "metadata is told as `invoice.updated`; `description` is no field of the invoice object, so a change of it alone " +
      "is told by no event."
  })),
  HttpApiEndpoint.post("cancel", "/api/v1/invoices/:id/cancel", {
    params: { id: PathId },
    query: writeQuery,
    success: Invoice,
    error: errors("flat", "INVOICE_NOT_FOUND", "INVOICE_NOT_CANCELABLE", ...writeErrors)
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Cancel an invoice",
    description: "Ends an unpaid or expired invoice that no payment is under way for. Funds that still come open an " +
      "exception and change nothing."
  }))
)
  .middleware(MerchantAuth)
  .annotate(RightsOf, { read: "payments:read", write: "invoices:write" })
  .middleware(FlatErrors)
  .annotate(ParameterCodes, { ...listParameterCodes, payments_limit: "INVALID_LIMIT" })
  .annotateMerge(OpenApi.annotations({
    title: "Invoices",
    description: "What is owed and what was paid of it. The states and events of an invoice are in the guides."
  }))
{}

export class InvoicesApi extends HttpApi.make("invoices").add(InvoicesGroup) {}

/** The states a `status` filter may name, each once, or null when it names something else. `all` does not filter. */
export const readStatusFilter = (text: string | undefined): ReadonlyArray<InvoiceStatus> | "all" | null => {
  if (text === undefined) return "all"
  const names = text.split(",")
  if (names.includes("all")) return "all"
  const known: ReadonlyArray<string> = InvoiceStatus.literals
  return names.every((name) => known.includes(name)) ? [...new Set(names as ReadonlyArray<InvoiceStatus>)] : null
}
