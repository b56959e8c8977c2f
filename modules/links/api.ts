/** Payment links (modules/docs/reference/payment-links.md) and their public pages: definitions only. Wrapped family. */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  errors,
  Idempotent,
  listParameterCodes,
  MerchantAuth,
  ParameterCodes,
  TakesForms,
  WrappedErrors
} from "../../runtime/Http.ts"
import { RightsOf } from "../../runtime/Rights.ts"
import { EpochSeconds, MerchantId, PathId, PaymentLinkId } from "../../schemas/Ids.ts"
import { WireAmount } from "../../schemas/Invoice.ts"
import { UsdDecimal } from "../../schemas/Money.ts"
import { Environment } from "../../schemas/Network.ts"
import { pageLimits } from "../../schemas/Page.ts"
import { success } from "../../schemas/Success.ts"

const optionalNullable = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/** One line of visible text, as a page shows it. */
const line = Schema.String.check(
  Schema.isNonEmpty(),
  Schema.isMaxLength(255),
  Schema.isPattern(/^[^\p{Cc}\p{Zl}\p{Zp}]*\S[^\p{Cc}\p{Zl}\p{Zp}]*$/u, { message: "Expected one line of text" })
)

/** Times a link may be paid, at most. */
const maximumPayments = 1_000_000

/** The last second that a date of four digits has. */
const endOfTime = 253_402_300_799

/** A new payment link. The amount is read by the rules of invoices, in the handler. */
export const NewPaymentLink = Schema.Struct({
  title: line.annotate({ description: "What is paid for: the payor reads it. It is the title of each invoice." }),
  description: optionalNullable(line),
  amount: optionalNullable(Schema.Finite.annotate({
    description: "Thousandths of a dollar, $0.01 to $1,000,000. Absent with `amount_usd`: the payor says how much."
  })),
  amount_usd: optionalNullable(
    Schema.Union([Schema.Finite, Schema.String]).annotate({
      description: "Dollars, as a number or a string with at most 3 decimals. Send this or `amount`, not both."
    })
  ),
  minimum_amount: optionalNullable(Schema.Int.annotate({
    description: "Where the payor says how much: the least, in thousandths of a dollar, whole cents. Default 10, $0.01."
  })),
  maximum_amount: optionalNullable(Schema.Int.annotate({
    description: "Where the payor says how much: the most. Default 1,000,000,000, $1,000,000."
  })),
  maximum_payments: optionalNullable(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maximumPayments })).annotate({
      description: "How many times it may be paid; absent or null: any number."
    })
  ),
  expires_at: optionalNullable(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: endOfTime })).annotate({
      description: "Epoch seconds from which on nobody can begin to pay; absent or null: never."
    })
  )
}).annotate({
  identifier: "NewPaymentLink",
  examples: [{ title: "Workshop", amount_usd: "49.99", maximum_payments: 20 }]
})
export type NewPaymentLink = typeof NewPaymentLink.Type

export const PaymentLinkChange = Schema.Struct({
  active: Schema.Boolean.annotate({ description: "false: nobody can begin to pay; open invoices stay payable." })
}).annotate({ identifier: "PaymentLinkChange", examples: [{ active: false }] })

const amountFields = { amount: Schema.NullOr(WireAmount), amount_decimal: Schema.NullOr(UsdDecimal) }

export const PaymentLink = Schema.Struct({
  id: PaymentLinkId,
  object: Schema.tag("payment_link"),
  merchant_id: MerchantId,
  environment: Environment,
  url: Schema.String.annotate({ description: "The public page. Whoever has it can begin to pay." }),
  status: Schema.Literals(["active", "inactive", "expired", "completed"]).annotate({
    description: "`completed`: it was paid `maximum_payments` times. Only `active` links can be paid."
  }),
  title: Schema.String,
  description: Schema.NullOr(Schema.String),
  ...amountFields,
  amount_unit: Schema.Literal("usd_millis"),
  minimum_amount: Schema.NullOr(WireAmount),
  minimum_amount_decimal: Schema.NullOr(UsdDecimal),
  maximum_amount: Schema.NullOr(WireAmount),
  maximum_amount_decimal: Schema.NullOr(UsdDecimal),
  maximum_payments: Schema.NullOr(Schema.Int),
  payment_count: Schema.Int.annotate({ description: "Invoices of the link that are paid." }),
  open_count: Schema.Int.annotate({
    description: "Invoices of the link that can be paid still. Each keeps a place of `maximum_payments`."
  }),
  amount_paid: WireAmount.annotate({ description: "What came for all its invoices together." }),
  amount_paid_decimal: UsdDecimal,
  expires_at: Schema.NullOr(EpochSeconds),
  created_at: EpochSeconds,
  updated_at: EpochSeconds
}).annotate({ identifier: "PaymentLink" })

const exampleLink = {
  id: PaymentLinkId.make("plink_0193a5b2-7c41-7000-9d4b-6f5b1c3b2a10"),
  object: "payment_link",
  merchant_id: MerchantId.make(123),
  environment: "devnet",
  url: "https://pay.example/l/7x2mq9kd4rhw0b5t",
  status: "active",
  title: "Workshop",
  description: null,
  amount: 49_990,
  amount_decimal: "49.990",
  amount_unit: "usd_millis",
  minimum_amount: null,
  minimum_amount_decimal: null,
  maximum_amount: null,
  maximum_amount_decimal: null,
  maximum_payments: 20,
  payment_count: 3,
  open_count: 1,
  amount_paid: 149_970,
  amount_paid_decimal: "149.970",
  expires_at: null,
  created_at: 1_766_320_000,
  updated_at: 1_766_320_000
} as const

const OnePaymentLink = success(PaymentLink).annotate({
  identifier: "OnePaymentLink",
  examples: [{ success: true, data: exampleLink }]
})

const PaymentLinkList = success(
  Schema.Struct({ object: Schema.tag("list"), data: Schema.Array(PaymentLink), has_more: Schema.Boolean })
).annotate({
  identifier: "PaymentLinkList",
  examples: [{ success: true, data: { object: "list", data: [exampleLink], has_more: false } }]
})

const callerErrors = ["INVALID_ENVIRONMENT", "ENVIRONMENT_FORBIDDEN", "SCOPE_MISMATCH", "VALIDATION_ERROR"] as const
const writeErrors = [
  ...callerErrors,
  "IDEMPOTENCY_KEY_INVALID",
  "IDEMPOTENCY_REQUEST_IN_PROGRESS",
  "IDEMPOTENCY_KEY_REUSED",
  "SERVICE_UNAVAILABLE"
] as const

const readQuery = {
  environment: Schema.optionalKey(Environment.annotate({ description: "Default: the caller's own." }))
}

const writeQuery = {
  environment: Schema.optionalKey(Environment.annotate({
    description: "Where a call with a JWT acts; default: the merchant's. A key acts in its own environment only."
  }))
}

export class LinksGroup extends HttpApiGroup.make("payment-links").add(
  HttpApiEndpoint.post("create", "/", {
    query: writeQuery,
    payload: NewPaymentLink,
    success: OnePaymentLink,
    error: errors("wrapped", "INVALID_AMOUNT_FORMAT", "INVALID_AMOUNT_RANGE", ...writeErrors)
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Create a payment link",
    description:
      "A page at `url` by which anybody can pay you. Its button makes an invoice whose metadata names the link "
      + "as `payment_link`; opening the page makes none."
  })),
  HttpApiEndpoint.get("list", "/", {
    query: {
      ...readQuery,
      limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween(pageLimits))),
      starting_after: Schema.optionalKey(Schema.String),
      ending_before: Schema.optionalKey(Schema.String)
    },
    success: PaymentLinkList,
    error: errors("wrapped", "INVALID_LIMIT", "INVALID_CURSOR", ...callerErrors)
  }).annotateMerge(OpenApi.annotations({
    summary: "List payment links, newest first",
    description: "Those of one environment, with how often each was paid. A cursor is the id of a payment link."
  })),
  HttpApiEndpoint.get("retrieve", "/:id", {
    params: { id: PathId },
    query: readQuery,
    success: OnePaymentLink,
    error: errors("wrapped", "PAYMENT_LINK_NOT_FOUND", ...callerErrors)
  }).annotateMerge(OpenApi.annotations({
    summary: "Retrieve a payment link",
    description: "With how often it was paid, and how many payors are at it."
  })),
  HttpApiEndpoint.patch("change", "/:id", {
    params: { id: PathId },
    query: writeQuery,
    payload: PaymentLinkChange,
    success: OnePaymentLink,
    error: errors("wrapped", "PAYMENT_LINK_NOT_FOUND", ...writeErrors)
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Turn a payment link off or on",
    description:
      "Off, its page says that it is closed, and its open invoices stay payable. What it asks for never changes: "
      + "make another link."
  }))
)
  .middleware(MerchantAuth)
  .annotate(RightsOf, { read: "payments:read", write: "invoices:write" })
  .middleware(WrappedErrors)
  .annotate(ParameterCodes, listParameterCodes)
  .prefix("/api/v1/payment-links")
  .annotateMerge(OpenApi.annotations({
    title: "Payment links",
    description:
      "Pages by which anybody can pay you, without a program of yours: fixed or open amount, QR code, poster."
  }))
{}

/** The API alone, as clients see it. */
export const LinksApi = HttpApi.make("links").add(LinksGroup)

const html = Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/html" }))

const refusals = ["CREDENTIAL_NOT_ALLOWED", "NOT_FOUND", "RATE_LIMIT_EXCEEDED", "SERVICE_UNAVAILABLE"] as const

/** The public page of a link, its form, and its poster. */
export class LinkPagesGroup extends HttpApiGroup.make("link-pages").add(
  HttpApiEndpoint.get("page", "/l/:code", {
    params: { code: Schema.String },
    success: html,
    error: errors("wrapped", ...refusals)
  }),
  HttpApiEndpoint.post("act", "/l/:code", {
    params: { code: Schema.String },
    success: html,
    error: errors(
      "wrapped",
      ...refusals,
      ...["ORIGIN_NOT_ALLOWED", "VALIDATION_ERROR", "INVALID_JSON", "PAYLOAD_TOO_LARGE"] as const,
      "UNSUPPORTED_MEDIA_TYPE"
    )
  }),
  HttpApiEndpoint.get("poster", "/l/:code/poster", {
    params: { code: Schema.String },
    success: html,
    error: errors("wrapped", ...refusals)
  })
)
  .middleware(WrappedErrors)
  .annotate(TakesForms, true)
  .annotate(OpenApi.Exclude, true)
{}

/** Everything that the module serves. */
export const ServedLinksApi = LinksApi.add(LinkPagesGroup)
