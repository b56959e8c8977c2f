/** The interactive reference, the rules behind it, the guides and the error catalogue: definitions only. Public. */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { AddressLimitOf, Anonymous, errors, WrappedErrors } from "../../runtime/Http.ts"

const html = Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/html" }))
const plain = Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/plain" }))
const notFound = errors("wrapped", "NOT_FOUND")

/** Pages, not calls: they are not in the OpenAPI document. */
export class DocsGroup extends HttpApiGroup.make("docs").add(
  HttpApiEndpoint.get("reference", "/docs", { success: html }),
  HttpApiEndpoint.get("asset", "/docs/assets/:name", {
    params: { name: Schema.String },
    success: plain,
    error: notFound
  }),
  HttpApiEndpoint.get("guides", "/docs/guides", { success: html }),
  HttpApiEndpoint.get("guide", "/docs/guides/:name", {
    params: { name: Schema.String },
    success: html,
    error: notFound
  }),
  HttpApiEndpoint.get("rules", "/docs/reference", { success: html }),
  HttpApiEndpoint.get("rule", "/docs/reference/:name", {
    params: { name: Schema.String },
    success: html,
    error: notFound
  }),
  HttpApiEndpoint.get("errors", "/docs/errors", { success: html }),
  HttpApiEndpoint.get("error", "/docs/errors/:code", {
    params: { code: Schema.String },
    success: html,
    error: notFound
  }),
  HttpApiEndpoint.get("recovery", "/docs/recovery", { success: html }),
  HttpApiEndpoint.get("home", "/", { success: html, error: notFound }),
  HttpApiEndpoint.get("icon", "/favicon.svg", { success: plain }),
  // Browsers ask here where a page names no icon, as with a refusal in JSON.
  HttpApiEndpoint.get("defaultIcon", "/favicon.ico", { success: plain }),
  HttpApiEndpoint.get("llms", "/llms.txt", { success: plain }),
  HttpApiEndpoint.get("llmsFull", "/llms-full.txt", { success: plain })
)
  .middleware(Anonymous)
  .middleware(WrappedErrors)
  .annotate(AddressLimitOf, "document")
  .annotate(OpenApi.Exclude, true)
{}

export class DocsApi extends HttpApi.make("docs").add(DocsGroup) {}
