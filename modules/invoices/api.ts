/** The merchant's invoice endpoints: definitions only (contract §4.5; API reference, "Invoice"). */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import {
  errors,
  Flat,
  IdempotencyRequired,
  Idempotent,
  listParameterCodes,
  MerchantAuth,
  ParameterCodes
} from "../../runtime/Http.ts"
import { EpochSeconds, InvoiceId } from "../../schemas/Ids.ts"
import { Invoice, InvoiceStatus, InvoiceType, Metadata, WireAmount } from "../../schemas/Invoice.ts"
import { ExpiresIn, ToleranceBasisPoints } from "../../schemas/MerchantSettings.ts"
import { UsdDecimal } from "../../schemas/Money.ts"
import { Environment, Network, networks } from "../../schemas/Network.ts"
import { EmailAddress, HttpsUrl, Locale } from "../../schemas/Web.ts"

const shortText = Schema.String.check(Schema.isMaxLength(255))
const longText = Schema.String.check(Schema.isMaxLength(2_000))
const absent = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/** What a merchant may say about a new invoice, but for the amount, which is read first and by its own rules. */
export const InvoiceFields = Schema.Struct({
  currency: absent(Schema.Literal("usd")),
  description: absent(shortText),
  customer_id: absent(shortText.check(Schema.isNonEmpty())),
  metadata: absent(Metadata),
  expires_in: absent(ExpiresIn),
  customer_email: absent(EmailAddress),
  invoice_title: absent(shortText),
  invoice_footer: absent(longText),
  payment_return_url: absent(HttpsUrl),
  payment_return_url_enabled: absent(Schema.Boolean),
  locale: absent(Locale),
  payment_tolerance_bps: absent(ToleranceBasisPoints),
  accepted_networks: absent(Schema.NonEmptyArray(Network).check(Schema.isMaxLength(networks.length))),
  receiver_override_enable: Schema.optionalKey(Schema.Literal(false))
})
export type InvoiceFields = typeof InvoiceFields.Type

/** The answer to a new invoice: the invoice, and the session that a payor opens it with. */
export const CreatedInvoice = Schema.Struct({
  invoice_id: InvoiceId,
  payment_url: Schema.String,
  session_token: Schema.String,
  signature: Schema.String,
  expires_at: EpochSeconds,
  payment_session_headers: Schema.Struct({ "x-session-token": Schema.String, "x-signature": Schema.String }),
  invoice: Invoice
})
export type CreatedInvoice = typeof CreatedInvoice.Type

/** A page of invoices, newest first. */
export const InvoiceList = Schema.Struct({
  object: Schema.tag("list"),
  data: Schema.Array(Invoice),
  has_more: Schema.Boolean,
  page: Schema.Int,
  limit: Schema.Int,
  total: Schema.Int
})

/** Invoices counted, and their amounts added up. */
const InvoiceTotal = Schema.Struct({
  count: Schema.Int,
  amount: WireAmount,
  amount_decimal: UsdDecimal,
  amount_paid: WireAmount,
  amount_paid_decimal: UsdDecimal
}).annotate({ identifier: "InvoiceTotal", description: "A number of invoices, what they ask for and what was paid of them." })

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

/** Invoices on a page: 10 if not said, at most 100. */
const limit = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100 }))

const scopeErrors = ["UNAUTHORIZED", "API_KEY_INVALID", "SCOPE_MISMATCH", "ENVIRONMENT_FORBIDDEN"] as const

export class InvoicesGroup extends HttpApiGroup.make("invoices").add(
  HttpApiEndpoint.post("create", "/api/v1/invoices", {
    payload: Schema.Record(Schema.String, Schema.Json),
    success: CreatedInvoice,
    error: errors(
      "flat",
      "INVALID_AMOUNT_FORMAT",
      "INVALID_AMOUNT_RANGE",
      "VALIDATION_ERROR",
      "IDEMPOTENCY_KEY_MISSING",
      ...scopeErrors,
      "IDEMPOTENCY_REQUEST_IN_PROGRESS",
      "IDEMPOTENCY_KEY_REUSED",
      "INVOICE_CREATE_FAILED",
      "SERVICE_UNAVAILABLE"
    )
  })
    // A number beyond every float, like 1e400, is no JSON value any more when the fields are read.
    .annotate(ParameterCodes, { amount: "INVALID_AMOUNT_FORMAT", amount_usd: "INVALID_AMOUNT_FORMAT" })
    .middleware(IdempotencyRequired),
  HttpApiEndpoint.get("list", "/api/v1/invoices", {
    query: {
      page: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000 }))),
      limit: Schema.optionalKey(limit),
      status: Schema.optionalKey(Schema.String),
      customer_id: Schema.optionalKey(shortText),
      invoice_type: Schema.optionalKey(InvoiceType),
      environment: Schema.optionalKey(Environment),
      created_gte: Schema.optionalKey(EpochSeconds),
      created_lte: Schema.optionalKey(EpochSeconds),
      payer_wallet_address: Schema.optionalKey(shortText),
      payer_wallet_network: Schema.optionalKey(Network),
      starting_after: Schema.optionalKey(InvoiceId),
      ending_before: Schema.optionalKey(InvoiceId)
    },
    success: InvoiceList,
    error: errors("flat", "INVALID_LIMIT", "INVALID_PAGE", "INVALID_CURSOR", "VALIDATION_ERROR", ...scopeErrors)
  }),
  HttpApiEndpoint.get("totals", "/api/v1/invoices/totals", {
    query: {
      invoice_type: Schema.optionalKey(InvoiceType),
      customer_id: Schema.optionalKey(shortText),
      environment: Schema.optionalKey(Environment),
      created_gte: Schema.optionalKey(EpochSeconds),
      created_lte: Schema.optionalKey(EpochSeconds)
    },
    success: InvoiceTotals.annotate({ examples: [totalsExample] }),
    error: errors("flat", "VALIDATION_ERROR", "INVALID_ENVIRONMENT", ...scopeErrors)
  }).annotateMerge(OpenApi.annotations({
    summary: "Count invoices and add up their amounts",
    description: "Counts and amounts by status of the invoices that pass every filter given, all as of one moment. "
      + "`created_gte` and `created_lte` are inclusive."
  })),
  HttpApiEndpoint.get("get", "/api/v1/invoices/:customer_id", {
    params: { customer_id: Schema.String },
    query: { environment: Schema.optionalKey(Environment) },
    success: Invoice,
    error: errors("flat", "INVOICE_NOT_FOUND", ...scopeErrors)
  }),
  HttpApiEndpoint.post("cancel", "/api/v1/invoices/:id/cancel", {
    params: { id: Schema.String },
    success: Invoice,
    error: errors("flat", "INVOICE_NOT_FOUND", "INVOICE_NOT_CANCELABLE", ...scopeErrors, "SERVICE_UNAVAILABLE")
  }).middleware(Idempotent)
)
  .middleware(MerchantAuth)
  .middleware(Flat)
  .annotate(ParameterCodes, listParameterCodes)
  .annotateMerge(OpenApi.annotations({ title: "Invoices" }))
{}

export class InvoicesApi extends HttpApi.make("invoices").add(InvoicesGroup) {}

/** The states a `status` filter may name, or null when it names something else. `all` does not filter. */
export const readStatusFilter = (text: string | undefined): ReadonlyArray<InvoiceStatus> | "all" | null => {
  if (text === undefined) return "all"
  const names = text.split(",")
  if (names.includes("all")) return "all"
  const known: ReadonlyArray<string> = InvoiceStatus.literals
  return names.every((name) => known.includes(name)) ? names as ReadonlyArray<InvoiceStatus> : null
}
