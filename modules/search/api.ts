/** Search (modules/docs/reference/search.md): definitions only. Wrapped family. */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { errors, MerchantAuth, ParameterCodes, WrappedErrors } from "../../runtime/Http.ts"
import { RightsOf } from "../../runtime/Rights.ts"
import { Environment } from "../../schemas/Network.ts"
import { maximumText } from "./rules.ts"

export const SearchResult = Schema.Struct({
  object: Schema.tag("search_result"),
  kind: Schema.Literals([
    "invoice",
    "event",
    "exception",
    "refund",
    "batch",
    "webhook_endpoint",
    "webhook_delivery",
    "balance_transaction"
  ]).annotate({ description: "What was found. More may be added" }),
  id: Schema.String,
  matched: Schema.Literals(["id", "transaction", "address", "amount", "customer"]).annotate({
    description: "What of it was looked for"
  })
}).annotate({ identifier: "SearchResult" })

const exampleResult = {
  object: "search_result",
  kind: "invoice",
  id: "550e8400-e29b-41d4-a716-446655440000",
  matched: "transaction"
} as const

const SearchResults = Schema.Struct({
  success: Schema.Literal(true),
  data: Schema.Struct({ object: Schema.tag("list"), data: Schema.Array(SearchResult), has_more: Schema.Boolean })
}).annotate({
  identifier: "SearchResults",
  examples: [{ success: true, data: { object: "list", data: [exampleResult], has_more: false } }]
})

export class SearchGroup extends HttpApiGroup.make("search").add(
  HttpApiEndpoint.get("search", "/api/v1/search", {
    query: {
      q: Schema.NonEmptyString.check(Schema.isMaxLength(maximumText)).annotate({
        description:
          "An id or its last eight characters, a transaction's hash, an address, an amount in dollars, or a customer"
      }),
      environment: Schema.optionalKey(Environment)
    },
    success: SearchResults,
    error: errors("wrapped", "SCOPE_MISMATCH", "VALIDATION_ERROR", "INVALID_ENVIRONMENT", "ENVIRONMENT_FORBIDDEN")
  }).annotateMerge(OpenApi.annotations({
    summary: "Find what a text names",
    description: "Newest first, at most 20. Only exact matches: nothing is guessed."
  }))
)
  .middleware(MerchantAuth)
  .annotate(RightsOf, { read: "payments:read", write: "payments:read" })
  .middleware(WrappedErrors)
  .annotate(ParameterCodes, { environment: "INVALID_ENVIRONMENT" })
  .annotateMerge(OpenApi.annotations({ title: "Search", description: "One field for whatever somebody has in hand." }))
{}

export class SearchApi extends HttpApi.make("search").add(SearchGroup) {}
