/** Exceptions (modules/docs/reference/exceptions.md#calls): definitions only. Wrapped family. */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import {
  environmentErrors,
  errors,
  Idempotent,
  listErrors,
  listParameterCodes,
  MerchantAuth,
  ParameterCodes,
  PrivateReplies,
  WrappedErrors
} from "../../runtime/Http.ts"
import { RightsOf } from "../../runtime/Rights.ts"
import { exampleException, Exception, ExceptionAction, maximumNote } from "../../schemas/Exception.ts"
import { PathId } from "../../schemas/Ids.ts"
import { Environment, Network } from "../../schemas/Network.ts"
import { pageQuery } from "../../schemas/Page.ts"
import { ExceptionStatus, ExceptionType } from "../../schemas/Payment.ts"
import { FeeBearer, Refund, RefundReason } from "../../schemas/Refund.ts"
import { success } from "../../schemas/Success.ts"
import { RefundWishes } from "../refunds/api.ts"

/** How the money of an exception goes back. */
export const ExceptionRefund = Schema.Struct({
  ...RefundWishes,
  fee_bearer: Schema.optionalKey(Schema.NullOr(FeeBearer)).annotate({
    description: "`merchant` if not said: you pay the network's fee. `payor`: it is kept of the amount"
  }),
  reason: Schema.optionalKey(Schema.NullOr(RefundReason)).annotate({ description: "Absent: as the exception says" }),
  amount: Schema.optionalKey(
    Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })))
  ).annotate({ description: "usd_millis; only of underpaid_expired, where a part can go back" })
})

export const ExceptionDecision = Schema.Struct({
  action: ExceptionAction.annotate({ description: "One of the exception's `allowed_actions`" }),
  note: Schema.optionalKey(Schema.NullOr(Schema.String.check(Schema.isMaxLength(maximumNote)))).annotate({
    description:
      `Why, for people: at most ${maximumNote} characters. Needed to \`ignore\` reorged, settlement_failed and ` +
      "expiry_unseen, and for all that is decided on duplicate_payout and payout_mismatch"
  }),
  invoice_id: Schema.optionalKey(Schema.NullOr(Schema.String)).annotate({
    description: "For `assign`, and only there: your invoice that the money counts for"
  }),
  refund: Schema.optionalKey(Schema.NullOr(ExceptionRefund)).annotate({
    description: "For `refund`, and only there: how the money goes back. Absent: as the defaults of its fields say"
  })
}).annotate({ identifier: "ExceptionDecision", examples: [{ action: "accept", note: "Agreed by phone" }] })

const OneException = success(Exception).annotate({
  identifier: "OneException",
  examples: [{ success: true, data: exampleException }]
})

const ResolvedException = Schema.Struct({
  success: Schema.Literal(true),
  data: Exception,
  refunds: Schema.optionalKey(Schema.Array(Refund)).annotate({
    description: "What `refund` opened, each with its `claim_url` where it has one: shown this once"
  })
}).annotate({
  identifier: "ResolvedException",
  examples: [{ success: true, data: exampleException }]
})

const ExceptionList = success(
  Schema.Struct({ object: Schema.tag("list"), data: Schema.Array(Exception), has_more: Schema.Boolean })
).annotate({
  identifier: "ExceptionList",
  examples: [{ success: true, data: { object: "list", data: [exampleException], has_more: false } }]
})

export class ExceptionsGroup extends HttpApiGroup.make("exceptions").add(
  HttpApiEndpoint.get("list", "/", {
    query: {
      ...pageQuery,
      status: Schema.optionalKey(ExceptionStatus),
      type: Schema.optionalKey(ExceptionType),
      invoice_id: Schema.optionalKey(Schema.String).annotate({ description: "Only those of this invoice" }),
      network: Schema.optionalKey(Network).annotate({ description: "Only those about a transfer on this network" })
    },
    success: ExceptionList,
    error: errors("wrapped", ...listErrors)
  }).annotateMerge(OpenApi.annotations({
    summary: "List exceptions, newest first",
    description:
      "What needs a person's decision, or had one. `status=open` is what waits. A cursor is the id of an exception of the "
      + "same environment."
  })),
  HttpApiEndpoint.get("retrieve", "/:id", {
    params: { id: PathId },
    query: { environment: Schema.optionalKey(Environment) },
    success: OneException,
    error: errors("wrapped", "SCOPE_MISMATCH", "EXCEPTION_NOT_FOUND", ...environmentErrors)
  }).annotateMerge(OpenApi.annotations({
    summary: "Retrieve an exception",
    description: "What happened, what shows it, and which decisions it allows now."
  })),
  HttpApiEndpoint.post("resolve", "/:id/resolve", {
    params: { id: PathId },
    payload: ExceptionDecision,
    success: ResolvedException,
    error: errors(
      "wrapped",
      "SCOPE_MISMATCH",
      "CREDENTIAL_NOT_ALLOWED",
      "EXCEPTION_NOT_FOUND",
      "EXCEPTION_ALREADY_RESOLVED",
      "INVOICE_NOT_FOUND",
      "INVOICE_NOT_PAYABLE",
      "INVALID_TRANSITION",
      "REFUND_EXCEEDS_RECEIVED",
      "WALLET_ADDRESS_INVALID",
      "NETWORK_DEGRADED",
      "SERVICE_UNAVAILABLE",
      "VALIDATION_ERROR",
      ...environmentErrors
    )
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Decide on an exception",
    description:
      "Once, and for good. The invoice and its payments change in the same moment, and their usual events tell of it. An "
      + "action that is not allowed is `VALIDATION_ERROR` with `details.allowed_actions`."
  }))
)
  .prefix("/api/v1/exceptions")
  .middleware(MerchantAuth)
  .annotate(RightsOf, { read: "payments:read", write: "exceptions:resolve" })
  .annotate(PrivateReplies, true)
  .middleware(WrappedErrors)
  .annotate(ParameterCodes, listParameterCodes)
  .annotateMerge(OpenApi.annotations({
    title: "Exceptions",
    description: "Money that came otherwise than an invoice expects, and what becomes of it."
  }))
{}

export class ExceptionsApi extends HttpApi.make("exceptions").add(ExceptionsGroup) {}
