/** Exports of a merchant's objects as files: definitions only (modules/docs/reference/exports.md). */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { authenticationErrors, errors, MerchantAuth, ParameterCodes, WrappedErrors } from "../../runtime/Http.ts"
import { RightsOf } from "../../runtime/Rights.ts"
import { Environment } from "../../schemas/Network.ts"

/** What can be exported. */
export const ExportKind = Schema.Literals([
  "invoices",
  "payments",
  "refunds",
  "lots",
  "koinly",
  "balance-transactions",
  "journal"
])
export type ExportKind = typeof ExportKind.Type

const time = Schema.String.check(Schema.isMaxLength(40))

const header = (description: string) => ({ description, schema: { type: "string" } })

/** What a schema of the answer cannot say: its other media type, and the headers of a file. */
const documentFile = (operation: Readonly<Record<string, any>>): Record<string, any> => {
  const answer = operation["responses"][200]
  const content = {
    ...answer.content,
    "application/json": {
      schema: {
        type: "array",
        items: { type: "object", additionalProperties: { type: ["string", "null"] } }
      }
    }
  }
  const headers = {
    "content-disposition": header("The name of the file."),
    "x-export-version": header("The version of the columns."),
    trailer: header("`x-row-count`, which follows a complete file.")
  }
  return { ...operation, responses: { ...operation["responses"], 200: { ...answer, content, headers } } }
}

export class ExportsGroup extends HttpApiGroup.make("exports").add(
  HttpApiEndpoint.get("read", "/api/v1/exports/:kind", {
    params: { kind: ExportKind.annotate({ description: "What the rows of the file are." }) },
    query: {
      format: Schema.optionalKey(Schema.Literals(["csv", "json"])).annotate({
        description: "`csv` (default, RFC 4180), or `json`: one array of objects."
      }),
      from: time.annotate({ description: "Rows of this moment or later: epoch seconds, or ISO 8601 with a zone." }),
      to: time.annotate({ description: "Rows before this moment, at most 366 days after `from`." }),
      environment: Schema.optionalKey(Environment),
      metadata_keys: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(2000))).annotate({
        description:
          "Keys of the invoices' metadata that become columns, separated by commas: at most 20; none of the books."
      })
    },
    success: Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/csv" })),
    error: errors(
      "wrapped",
      ...authenticationErrors,
      "SCOPE_MISMATCH",
      "VALIDATION_ERROR",
      "INVALID_ENVIRONMENT",
      "ENVIRONMENT_FORBIDDEN",
      "INTERNAL_ERROR",
      "SERVICE_UNAVAILABLE"
    )
  }).annotateMerge(OpenApi.annotations({
    summary: "Export rows as a file",
    description:
      "Streams the rows from `from` up to, and without, `to`, as `text/csv` or `application/json`, in the order of the "
      + "ids: invoices, payments and refunds by their creation, lots and Koinly's rows by when their money was final, "
      + "balance transactions and lines of the journal by when they were booked. The "
      + "trailer `x-row-count` tells the rows of a complete file; without it the file is incomplete. One export of a merchant runs at a time, else 429.",
    transform: documentFile
  }))
)
  .middleware(MerchantAuth)
  .annotate(RightsOf, { read: "exports:read", write: "exports:read" })
  .middleware(WrappedErrors)
  .annotate(ParameterCodes, { environment: "INVALID_ENVIRONMENT" })
  .annotateMerge(
    OpenApi.annotations({ title: "Exports", description: "Files for bookkeepers: every row of a span of time." })
  )
{}

export class ExportsApi extends HttpApi.make("exports").add(ExportsGroup) {}
