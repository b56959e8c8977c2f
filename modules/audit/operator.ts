/** The audit log for operators (modules/docs/reference/operator-api.md#what-operators-did): definitions only. */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { listParameterCodes, ParameterCodes, WrappedErrors } from "../../runtime/Http.ts"
import { OperatorAuth, operatorErrors } from "../../runtime/OperatorRoutes.ts"
import { Environment } from "../../schemas/Network.ts"
import { pageQuery } from "../../schemas/Page.ts"
import { AuditLogPage, auditLogQuery } from "./api.ts"

export class OperatorAuditGroup extends HttpApiGroup.make("operatorAudit").add(
  HttpApiEndpoint.get("list", "/admin/v1/audit-log", {
    query: {
      ...pageQuery,
      ...auditLogQuery,
      environment: Environment,
      merchant_id: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2_147_483_647 })))
        .annotate({ description: "Whose log; absent or 0: what operators did that is about no merchant" })
    },
    success: AuditLogPage,
    error: operatorErrors(
      "INVALID_LIMIT",
      "INVALID_CURSOR",
      "INVALID_ENVIRONMENT",
      "MAINNET_NOT_ENABLED",
      "DEVNET_NOT_ENABLED"
    )
  }).annotateMerge(OpenApi.annotations({
    summary: "List what was done, newest first",
    description:
      "What operators did to networks and tokens; with `merchant_id` the log of a merchant, in which what operators did "
      + "for it is too. A cursor is the id of an entry."
  }))
)
  .middleware(OperatorAuth)
  .middleware(WrappedErrors)
  .annotate(ParameterCodes, listParameterCodes)
  .annotateMerge(OpenApi.annotations({
    title: "Operator: audit log",
    description: "Who did what."
  }))
{}

export class OperatorAuditApi extends HttpApi.make("operatorAudit").add(OperatorAuditGroup) {}
