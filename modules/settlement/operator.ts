/** Settlements that wait for operators (modules/docs/reference/operator-api.md#stuck-payments): definitions only. */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { listParameterCodes, ParameterCodes, WrappedErrors } from "../../runtime/Http.ts"
import { OperatorAuth, operatorErrors } from "../../runtime/OperatorRoutes.ts"
import { InvoiceId, MerchantId, PaymentId } from "../../schemas/Ids.ts"
import { Environment } from "../../schemas/Network.ts"
import { pageLimits } from "../../schemas/Page.ts"
import { success } from "../../schemas/Success.ts"
import { SettlementRow } from "./rpc.ts"

const example = {
  object: "stuck_settlement",
  payment_id: PaymentId.make("550e8400-e29b-41d4-a716-446655440000"),
  invoice_id: InvoiceId.make("6ba7b810-9dad-41d1-80b4-00c04fd430c8"),
  merchant_id: MerchantId.make(123),
  environment: "devnet",
  driver: "settlement/manual",
  settlement_status: "manual",
  retries: 5,
  reason: "the transfer ran out of gas",
  is_open: true,
  due_at: null,
  created_at: 1_766_320_496 as never,
  updated_at: 1_766_324_096 as never
} as const

export const StuckSettlement = Schema.Struct({
  object: Schema.tag("stuck_settlement"),
  ...SettlementRow.fields
}).annotate({ identifier: "StuckSettlement", examples: [example] })

const retriedExample = { ...example, object: "settlement", settlement_status: "pending", reason: null } as const

export class OperatorSettlementsGroup extends HttpApiGroup.make("operatorSettlements").add(
  HttpApiEndpoint.get("stuck", "/admin/v1/settlements/stuck", {
    query: {
      environment: Schema.optionalKey(Environment),
      limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween(pageLimits))),
      starting_after: Schema.optionalKey(Schema.String)
    },
    success: success(Schema.Struct({
      object: Schema.tag("list"),
      data: Schema.Array(StuckSettlement),
      has_more: Schema.Boolean
    })).annotate({
      identifier: "StuckSettlements",
      examples: [{ success: true, data: { object: "list", data: [example], has_more: false } }]
    }),
    error: operatorErrors(
      "INVALID_LIMIT",
      "INVALID_CURSOR",
      "INVALID_ENVIRONMENT",
      "MAINNET_NOT_ENABLED",
      "DEVNET_NOT_ENABLED"
    )
  }).annotateMerge(OpenApi.annotations({
    summary: "List settlements that wait for an operator",
    description:
      "Settlements that are `manual` or `failed`, the oldest first, of all merchants, each with the reason. A cursor is "
      + "the id of a payment."
  })),
  HttpApiEndpoint.post("retry", "/admin/v1/settlements/:payment_id/retry", {
    params: { payment_id: PaymentId },
    success: success(Schema.Struct({ object: Schema.tag("settlement"), ...SettlementRow.fields })).annotate({
      identifier: "OneRetriedSettlement",
      examples: [{ success: true, data: retriedExample }]
    }),
    error: operatorErrors("NOT_FOUND", "INVALID_TRANSITION")
  }).annotateMerge(OpenApi.annotations({
    summary: "Try a settlement again",
    description: "Moves the money of a payment once more, after `failed` or `manual`."
  }))
)
  .middleware(OperatorAuth)
  .middleware(WrappedErrors)
  .annotate(ParameterCodes, { ...listParameterCodes, payment_id: "NOT_FOUND" })
  .annotateMerge(OpenApi.annotations({
    title: "Operator: settlements",
    description: "Settlements that cannot go on by themselves."
  }))
{}

export class OperatorSettlementsApi extends HttpApi.make("operatorSettlements").add(OperatorSettlementsGroup) {}
