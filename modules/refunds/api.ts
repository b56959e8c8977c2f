/** Refunds of invoices (modules/docs/reference/refunds.md#calls): definitions only. Wrapped family. */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import {
  environmentErrors,
  errors,
  IdempotencyRequired,
  Idempotent,
  listErrors,
  listParameterCodes,
  MerchantAuth,
  ParameterCodes,
  WrappedErrors
} from "../../runtime/Http.ts"
import { HasOwnProof, RightOf, RightsOf } from "../../runtime/Rights.ts"
import { ApprovalBody, approvalErrors, ApprovalList, OneApprovalChallenge } from "../../schemas/Approval.ts"
import { PathId } from "../../schemas/Ids.ts"
import { Environment, Network } from "../../schemas/Network.ts"
import { cursorQuery, pageLimits } from "../../schemas/Page.ts"
import { exampleRefund, FeeBearer, Refund, RefundAmountMode, RefundReason, RefundStatus } from "../../schemas/Refund.ts"
import { success } from "../../schemas/Success.ts"
import { MomentFrom, MomentTo } from "../../schemas/Time.ts"
import { EmailAddress, Locale } from "../../schemas/Web.ts"

const optional = <S extends Schema.Top>(schema: S, description: string) =>
  Schema.optionalKey(Schema.NullOr(schema)).annotate({ description })

const RefundDestination = Schema.Struct({
  network: Network.annotate({ description: "The payment's: what came on a network goes back on it" }),
  address: Schema.String.check(Schema.isMaxLength(128)).annotate({
    examples: ["0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"]
  }),
  memo: Schema.optionalKey(Schema.NullOr(Schema.String.check(Schema.isMaxLength(120))))
})

/** How much, of what, why, and to where: also a part of the decision on an exception. */
export const RefundWishes = {
  destination: optional(
    Schema.Union([Schema.Literal("claim"), RefundDestination]),
    "An address of the payor's own wallet; `claim`: the payor says it by a link. Absent: where the payor said on the " +
      "payment page, and a link where they did not. Never the address that paid"
  ),
  fee_bearer: FeeBearer.annotate({
    description: "`payor`: the network's fee is kept of the amount. `merchant`: you pay it on top"
  }),
  auto_approve: optional(
    Schema.Boolean,
    "True: on devnet approved at once, where a signed-in wallet calls and the destination is known. A key never approves; "
      + "with real money a person signs what it approves"
  )
}

export const NewRefundBody = Schema.Struct({
  invoice_id: Schema.String.annotate({ examples: [exampleRefund.invoice_id] }),
  invoice_payment_id: optional(
    Schema.String.annotate({ examples: [exampleRefund.invoice_payment_id] }),
    "Only of this payment. Absent: of all that count, the newest first"
  ),
  amount_mode: RefundAmountMode.annotate({
    description: "`full`: all that was received. `remaining`: what is left of it. `overpaid`: what is beyond the "
      + "invoice's amount, not on its way back, and not kept by a decision. `custom`: `amount` or `token_amount`"
  }),
  amount: optional(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
    "usd_millis, for `custom`"
  ),
  token_amount: optional(
    Schema.String.check(Schema.isMaxLength(80)).annotate({ examples: ["1.5"] }),
    "Whole tokens as a decimal number, for `custom` in place of `amount`"
  ),
  reason: RefundReason,
  ...RefundWishes
}).annotate({
  identifier: "NewRefund",
  examples: [{
    invoice_id: exampleRefund.invoice_id,
    amount_mode: "overpaid",
    reason: "overpayment",
    fee_bearer: "payor",
    auto_approve: true
  }]
})

const ClaimLinkEmail = Schema.Struct({
  email: EmailAddress.annotate({
    description: "The payor's: whoever reads mail there says where the refund goes"
  }),
  locale: optional(
    Locale,
    "Language of the message. Absent: that of the invoice, else `default_locale` of your branding, else English"
  )
}).annotate({ identifier: "ClaimLinkEmail", examples: [{ email: "jane@shop.example", locale: "de" }] })

const OneRefund = success(Refund).annotate({
  identifier: "OneRefund",
  examples: [{ success: true, data: exampleRefund }]
})

const CreatedRefunds = Schema.Struct({
  success: Schema.Literal(true),
  data: Refund.annotate({ description: "The first of `refunds`" }),
  refunds: Schema.Array(Refund).annotate({
    description: "All that the call opened: one for each payment that gives some of it, the newest payment first"
  })
}).annotate({
  identifier: "CreatedRefunds",
  examples: [{ success: true, data: exampleRefund, refunds: [exampleRefund] }]
})

const RefundList = success(
  Schema.Struct({ object: Schema.tag("list"), data: Schema.Array(Refund), has_more: Schema.Boolean })
).annotate({
  identifier: "RefundList",
  examples: [{ success: true, data: { object: "list", data: [exampleRefund], has_more: false } }]
})

const act = <const Name extends string>(
  name: Name,
  path: `/:id/${string}`,
  codes: ReadonlyArray<Parameters<typeof errors>[1]>,
  summary: string,
  description: string
) =>
  HttpApiEndpoint.post(name, path, {
    params: { id: PathId },
    success: OneRefund,
    error: errors("wrapped", "SCOPE_MISMATCH", "REFUND_NOT_FOUND", ...codes as [], ...environmentErrors)
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({ summary, description }))

export class RefundsGroup extends HttpApiGroup.make("refunds").add(
  HttpApiEndpoint.post("create", "/", {
    payload: NewRefundBody,
    success: CreatedRefunds,
    error: errors(
      "wrapped",
      "SCOPE_MISMATCH",
      "INVOICE_NOT_FOUND",
      "VALIDATION_ERROR",
      "WALLET_ADDRESS_INVALID",
      "REFUND_EXCEEDS_RECEIVED",
      "NETWORK_DEGRADED",
      "SERVICE_UNAVAILABLE",
      ...environmentErrors
    )
  }).middleware(IdempotencyRequired).annotateMerge(OpenApi.annotations({
    summary: "Refund an invoice",
    description:
      "Money that was received goes back in the token and on the network it came in. Each payment that gives " +
      "some of it is a refund of its own. It is paid out once a person approved it."
  })),
  HttpApiEndpoint.get("list", "/", {
    query: {
      environment: Schema.optionalKey(Environment),
      status: Schema.optionalKey(RefundStatus),
      invoice_id: Schema.optionalKey(Schema.String).annotate({ description: "Only those of this invoice" }),
      exception_id: Schema.optionalKey(Schema.String).annotate({
        description: "Only those that decide this exception, and those that did until they were given up"
      }),
      created_gte: Schema.optionalKey(MomentFrom),
      created_lte: Schema.optionalKey(MomentTo),
      limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween(pageLimits))),
      starting_after: Schema.optionalKey(Schema.String),
      ending_before: Schema.optionalKey(Schema.String)
    },
    success: RefundList,
    error: errors("wrapped", ...listErrors)
  }).annotateMerge(OpenApi.annotations({
    summary: "List refunds, newest first",
    description: "Those of invoices and of orders. A cursor is the id of a refund of the same environment."
  })),
  HttpApiEndpoint.get("retrieve", "/:id", {
    params: { id: PathId },
    query: { environment: Schema.optionalKey(Environment) },
    success: OneRefund,
    error: errors("wrapped", "SCOPE_MISMATCH", "REFUND_NOT_FOUND", ...environmentErrors)
  }).annotateMerge(OpenApi.annotations({
    summary: "Retrieve a refund",
    description: "How much goes back, to where, and how far it is."
  })),
  HttpApiEndpoint.post("challengeApproval", "/:id/approve/challenge", {
    params: { id: PathId },
    success: OneApprovalChallenge,
    error: errors(
      "wrapped",
      "SCOPE_MISMATCH",
      "REFUND_NOT_FOUND",
      "CREDENTIAL_NOT_ALLOWED",
      "INVALID_TRANSITION",
      ...environmentErrors
    )
  }).annotate(RightOf, "refunds:approve").annotate(HasOwnProof, true).annotateMerge(OpenApi.annotations({
    summary: "Ask what to sign to approve a refund",
    description: "What is paid, and to where, in words, for you alone and for 5 minutes. Nothing is stored."
  })),
  HttpApiEndpoint.post("approve", "/:id/approve", {
    params: { id: PathId },
    payload: [ApprovalBody, Schema.Void],
    success: OneRefund,
    error: errors(
      "wrapped",
      "SCOPE_MISMATCH",
      "REFUND_NOT_FOUND",
      "CREDENTIAL_NOT_ALLOWED",
      "INVALID_TRANSITION",
      "REFUND_EXCEEDS_RECEIVED",
      ...approvalErrors,
      ...environmentErrors
    )
  }).middleware(Idempotent).annotate(RightOf, "refunds:approve").annotate(HasOwnProof, true).annotateMerge(
    OpenApi.annotations({
      summary: "Approve a refund",
      description:
        "It may be paid out, in this amount and to this destination: another destination needs another approval. Only a "
        + "person approves, and signs what it approves: always with real money, on devnet where it wants to."
    })
  ),
  HttpApiEndpoint.get("approvals", "/:id/approvals", {
    params: { id: PathId },
    query: { environment: Schema.optionalKey(Environment), ...cursorQuery },
    success: ApprovalList,
    error: errors(
      "wrapped",
      "SCOPE_MISMATCH",
      "REFUND_NOT_FOUND",
      "INVALID_LIMIT",
      "INVALID_CURSOR",
      ...environmentErrors
    )
  }).annotateMerge(OpenApi.annotations({
    summary: "List what people signed to approve a refund, newest first",
    description: "Everything that it takes to check anywhere who approved what. A cursor is the id of an approval."
  })),
  act(
    "cancel",
    "/:id/cancel",
    ["REFUND_NOT_CANCELABLE"],
    "Cancel a refund",
    "Before it is approved. Its money can be refunded again."
  ),
  act(
    "claimLink",
    "/:id/claim-link",
    ["INVALID_TRANSITION"],
    "Make a claim link",
    "`claim_url`, by which the payor says where the refund goes: shown this once. The link before it ends. An address that "
      + "is said by it needs a new approval."
  ),
  HttpApiEndpoint.post("emailClaimLink", "/:id/claim-link/email", {
    params: { id: PathId },
    payload: ClaimLinkEmail,
    success: OneRefund,
    error: errors(
      "wrapped",
      "SCOPE_MISMATCH",
      "REFUND_NOT_FOUND",
      "NOT_FOUND",
      "VALIDATION_ERROR",
      "INVALID_TRANSITION",
      "SERVICE_UNAVAILABLE",
      ...environmentErrors
    )
  }).middleware(IdempotencyRequired).annotateMerge(OpenApi.annotations({
    summary: "E-mail a claim link",
    description:
      "Makes a new claim link, which ends the one before, and sends it to the payor: the answer does not have "
      + "it. 404 `NOT_FOUND` where the deployment sends no mail. An address gets 5 messages of a merchant an hour."
  })),
  act(
    "retry",
    "/:id/retry",
    ["INVALID_TRANSITION", "REFUND_EXCEEDS_RECEIVED"],
    "Try a refund again",
    "One that failed is to be paid out once more, to the same destination. Not where its payment left the chain."
  )
)
  .prefix("/api/v1/refunds")
  .middleware(MerchantAuth)
  .annotate(RightsOf, { read: "payments:read", write: "refunds:create" })
  .middleware(WrappedErrors)
  .annotate(ParameterCodes, listParameterCodes)
  .annotateMerge(OpenApi.annotations({
    title: "Refunds",
    description: "Money of an invoice on its way back to the payor."
  }))
{}

export class RefundsApi extends HttpApi.make("refunds").add(RefundsGroup) {}
