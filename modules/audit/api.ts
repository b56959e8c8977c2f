/** The audit log (modules/docs/reference/audit.md): definitions only. Wrapped family. */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { errors, listParameterCodes, MerchantAuth, ParameterCodes, WrappedErrors } from "../../runtime/Http.ts"
import { RightsOf } from "../../runtime/Rights.ts"
import { AuditEntryId, EpochSeconds } from "../../schemas/Ids.ts"
import { Environment } from "../../schemas/Network.ts"
import { pageQuery } from "../../schemas/Page.ts"
import { success } from "../../schemas/Success.ts"

const exampleEntry = {
  id: AuditEntryId.make("aud_0193a5b2-7c41-7000-9d4b-6f5b1c3b2a10"),
  object: "audit_entry",
  environment: "devnet",
  actor: "key_5b0f7a52-3a3e-4f5e-9d4b-6f5b1c3b2a10",
  action: "exception.resolve",
  subject: { object: "exception", id: "exc_5b0f7a52-3a3e-4f5e-9d4b-6f5b1c3b2a10" },
  before: { status: "open", type: "overpaid", amount: 5_000 },
  after: { status: "resolved", action: "credit", note: "Kept by agreement", invoice_id: null },
  request_id: "req_a79618e8-f1bd-4399-9450-622d888b45e7",
  created_at: 1_766_320_496,
  place: 1,
  previous_hash: "0".repeat(64),
  hash: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
} as const

export const AuditEntryObject = Schema.Struct({
  id: AuditEntryId,
  object: Schema.tag("audit_entry"),
  environment: Environment,
  actor: Schema.String.annotate({ description: "The API key or the wallet that acted, or `service:<name>`" }),
  action: Schema.String.annotate({ description: "`exception.resolve` and others. More may be added" }),
  subject: Schema.Struct({ object: Schema.String, id: Schema.String }),
  before: Schema.Json,
  after: Schema.Json,
  request_id: Schema.NullOr(Schema.String),
  created_at: EpochSeconds,
  place: Schema.NullOr(Schema.Int).annotate({
    description: "Its place in your chain, from 1; null in its first seconds"
  }),
  previous_hash: Schema.NullOr(Schema.String),
  hash: Schema.NullOr(Schema.String)
}).annotate({
  identifier: "AuditEntry",
  description: "Something that a person or a service did about money, or about what decides where it goes.",
  examples: [exampleEntry]
})

export const AuditLogPage = success(
  Schema.Struct({ object: Schema.tag("list"), data: Schema.Array(AuditEntryObject), has_more: Schema.Boolean })
).annotate({
  identifier: "AuditLogPage",
  examples: [{ success: true, data: { object: "list", data: [exampleEntry], has_more: false } }]
})

/** The filters of the list beside those of every list. */
export const auditLogQuery = {
  action: Schema.optionalKey(Schema.String).annotate({ description: "Only this action" }),
  subject_id: Schema.optionalKey(Schema.String).annotate({ description: "Only what was done to this object" })
}

export class AuditGroup extends HttpApiGroup.make("audit").add(
  HttpApiEndpoint.get("list", "/api/v1/audit-log", {
    query: {
      ...pageQuery,
      ...auditLogQuery
    },
    success: AuditLogPage,
    error: errors(
      "wrapped",
      "SCOPE_MISMATCH",
      "VALIDATION_ERROR",
      "INVALID_LIMIT",
      "INVALID_CURSOR",
      "INVALID_ENVIRONMENT",
      "ENVIRONMENT_FORBIDDEN",
      "MAINNET_NOT_ENABLED",
      "DEVNET_NOT_ENABLED"
    )
  }).annotateMerge(OpenApi.annotations({
    summary: "List the audit log, newest first",
    description:
      "Who did what about money, and what it changed. A cursor is the id of an entry. Whose role lacks `audit:read` sees "
      + "its own entries only."
  }))
)
  .middleware(MerchantAuth)
  // Everybody reads its own entries; all of them take audit:read, which the handler asks for.
  .annotate(RightsOf, { read: "payments:read", write: "audit:read" })
  .middleware(WrappedErrors)
  .annotate(ParameterCodes, listParameterCodes)
  .annotateMerge(OpenApi.annotations({
    title: "Audit log",
    description: "Entries that are never changed, each with the hash of the one before."
  }))
{}

export class AuditApi extends HttpApi.make("audit").add(AuditGroup) {}
