/** The document of the operator API (modules/docs/reference/operator-api.md#the-openapi-document): definitions only. */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { WrappedErrors } from "../Http.ts"
import { OperatorAuth, operatorErrors } from "../OperatorRoutes.ts"

const Document = Schema.Record(Schema.String, Schema.Unknown).annotate({
  identifier: "OpenApiDocument",
  examples: [{ openapi: "3.1.0", info: { title: "Tillwire for operators", version: "2026-11-01" }, paths: {} }]
})

export class OperatorDocumentGroup extends HttpApiGroup.make("operatorDocument").add(
  HttpApiEndpoint.get("read", "/admin/v1/openapi.json", { success: Document, error: operatorErrors() }).annotateMerge(
    OpenApi.annotations({
      summary: "Read this document",
      description: "The OpenAPI 3.1 document of every call that the modules of this deployment serve to operators."
    })
  )
)
  .middleware(OperatorAuth)
  .middleware(WrappedErrors)
  .annotateMerge(OpenApi.annotations({
    title: "Operator: this document",
    description: "What the operator API says of itself."
  }))
{}

export class OperatorDocumentApi extends HttpApi.make("operatorDocument").add(OperatorDocumentGroup) {}
