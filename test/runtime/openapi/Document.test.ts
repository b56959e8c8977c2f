/**
 * Goal: what every operation has in common stands in the document once, and stands there for every operation.
 * Method: documents of small APIs made of the real middlewares, read as a client generator reads them.
 */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiMiddleware, HttpApiSecurity } from "effect/http-api"
import {
  errors,
  FlatErrors,
  IdempotencyRequired,
  Idempotent,
  MerchantAuth,
  RequiresAllSchemes,
  WrappedErrors
} from "../../../runtime/Http.ts"
import { documentOf, documentSteps, publicScope, textSteps } from "../../../runtime/openapi/Document.ts"

class Pair extends HttpApiMiddleware.Service<Pair>()("test/Pair", {
  security: {
    left: HttpApiSecurity.apiKey({ key: "x-left", in: "header" }),
    right: HttpApiSecurity.apiKey({ key: "x-right", in: "header" })
  }
}) {}

const Thing = Schema.Struct({ name: Schema.String, note: Schema.NullOr(Schema.String) }).annotate({
  identifier: "Thing",
  examples: [{ name: "lamp", note: null }]
})

const things = HttpApiGroup.make("things").add(
  HttpApiEndpoint.get("list", "/things", {
    query: { limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100 }))) },
    success: Schema.Struct({ data: Schema.Array(Thing) })
  }),
  HttpApiEndpoint.post("create", "/things", {
    payload: Thing,
    success: Thing,
    error: errors("wrapped", "NOT_FOUND", "VALIDATION_ERROR")
  }).middleware(IdempotencyRequired),
  HttpApiEndpoint.delete("remove", "/things/:id", { params: { id: Schema.String }, success: Thing }).middleware(
    Idempotent
  ),
  HttpApiEndpoint.patch("change", "/things/:thing_id", {
    params: { thing_id: Schema.String },
    payload: Thing,
    success: Thing
  })
).middleware(MerchantAuth).middleware(WrappedErrors)

const pages = HttpApiGroup.make("pages").add(
  HttpApiEndpoint.get("read", "/page", { success: Schema.Struct({}), error: errors("flat", "INVOICE_NOT_FOUND") })
).middleware(Pair).middleware(FlatErrors).annotate(RequiresAllSchemes, true)

const document: any = documentOf(
  [HttpApi.make("things").add(things), HttpApi.make("pages").add(pages)],
  publicScope("https://till.test")
)
const { components, paths } = document

/** The response of a status, wherever it stands. */
const response = (operation: any, status: number) => {
  const found = operation.responses[status]
  return found.$ref === undefined ? found : components.responses[found.$ref.split("/").at(-1)]
}
const create = paths["/things"].post

const references = (operation: any): ReadonlyArray<string> =>
  operation.parameters.flatMap(({ $ref }: { readonly $ref?: string }) =>
    $ref === undefined ? [] : [$ref.split("/").at(-1)]
  )

describe("the document", () => {
  it("offers credentials of one middleware as alternatives, and asks for a pair together", () => {
    assert.deepStrictEqual(
      create.security.map((requirement: object) => Object.keys(requirement).length),
      create.security.map(() => 1)
    )
    assert.isAbove(create.security.length, 1)
    assert.deepStrictEqual(paths["/page"].get.security, [{ left: [], right: [] }])
  })

  it("declares the shared headers by reference, the Idempotency-Key where it is taken", () => {
    assert.deepStrictEqual(references(paths["/things"].get), ["ServiceVersion", "RequestId"])
    assert.deepStrictEqual(references(create), ["IdempotencyKeyRequired", "ServiceVersion", "RequestId"])
    assert.deepStrictEqual(references(paths["/things/{id}"].delete), ["IdempotencyKey", "ServiceVersion", "RequestId"])
    assert.isTrue(document.components.parameters.IdempotencyKeyRequired.required)
    assert.isFalse(document.components.parameters.IdempotencyKey.required)
  })

  it("lists errors of the endpoint, its middlewares and the door, each with its body in the family of the route", () => {
    const codes = (operation: any, status: number) =>
      Object.keys(response(operation, status).content["application/json"].examples).toSorted()
    assert.deepStrictEqual(codes(create, 404), ["NOT_FOUND"])
    assert.deepStrictEqual(codes(create, 409), ["IDEMPOTENCY_REQUEST_IN_PROGRESS"])
    assert.includeMembers(codes(create, 400), [
      "VALIDATION_ERROR",
      "INVALID_JSON",
      "INVALID_VERSION",
      "IDEMPOTENCY_KEY_MISSING"
    ])
    assert.includeMembers(codes(create, 401), ["UNAUTHORIZED", "API_KEY_INVALID"])
    assert.deepStrictEqual(Object.keys(paths["/page"].get.responses), ["200", "400", "404", "429", "500", "503"])
    assert.deepStrictEqual(
      response(paths["/page"].get, 404).content["application/json"].examples.INVOICE_NOT_FOUND.value,
      { error: "No such invoice", code: "INVOICE_NOT_FOUND" }
    )
    const wrapped = response(create, 404).content["application/json"].examples.NOT_FOUND.value
    assert.deepStrictEqual(Object.keys(wrapped.error), ["code", "message", "param", "details", "request_id"])
  })

  it("writes an answer that several calls share once", () => {
    assert.deepStrictEqual(create.responses[429], { $ref: "#/components/responses/Wrapped429" })
    assert.deepStrictEqual(paths["/things"].get.responses[429], create.responses[429])
    assert.isUndefined(create.responses[404].$ref)
  })

  it("has one entry for a path, whatever its parameters are called", () => {
    assert.hasAllKeys(paths["/things/{id}"], ["delete", "patch"])
    const [named] = paths["/things/{id}"].patch.parameters
    assert.deepStrictEqual([named.name, named.in], ["id", "path"])
  })

  it("says in 429 when to try again, and in every answer which limit holds", () => {
    assert.property(response(create, 429).headers, "Retry-After")
    for (const status of Object.keys(create.responses)) {
      assert.includeMembers(Object.keys(response(create, Number(status)).headers), [
        "X-Request-Id",
        "RateLimit-Remaining"
      ])
    }
  })

  it("shows a request and an answer by the schema's own example", () => {
    const example = { name: "lamp", note: null }
    assert.deepStrictEqual(create.requestBody.content["application/json"].example, example)
    assert.deepStrictEqual(paths["/things"].get.responses[200].content["application/json"].example, { data: [example] })
  })

  it("tells a number of the query as a number, and forbids no further field", () => {
    const [limit] = paths["/things"].get.parameters
    assert.deepStrictEqual(limit.schema, { type: "integer", minimum: 1, maximum: 100 })
    assert.notInclude(JSON.stringify(document), "\"additionalProperties\":false")
  })
})

/** What a generator returns, and in how many steps. */
const run = <A>(steps: Iterator<unknown, A>) => {
  let count = 0
  for (let step = steps.next();; step = steps.next()) {
    if (step.done === true) return { result: step.value, count }
    count++
  }
}

describe("the document of a running service", () => {
  const apis = [HttpApi.make("things").add(things), HttpApi.make("pages").add(pages)]

  it("is made in a step per group, schema and call, and written in a step per path, to the same text", () => {
    const made = run(documentSteps(apis, publicScope("https://till.test")))
    const { components, paths } = made.result
    assert.isAtLeast(made.count, 2 + Object.keys(components.schemas).length + 5)
    const text = run(textSteps(made.result))
    assert.strictEqual(text.count, Object.keys(paths).length)
    assert.strictEqual(text.result, JSON.stringify(document))
  })

  it("shows both of two schemas that have one name in different groups", () => {
    const named = (schema: Schema.Top) => schema.annotate({ identifier: "Box" })
    const group = (name: string, success: Schema.Top) =>
      HttpApiGroup.make(name).add(HttpApiEndpoint.get("read", `/${name}` as "/x", { success: success as never }))
        .middleware(FlatErrors)
    const both: any = documentOf([
      HttpApi.make("a").add(group("a", named(Schema.Struct({ width: Schema.String }))) as never),
      HttpApi.make("b").add(group("b", named(Schema.Struct({ weight: Schema.String }))) as never)
    ], publicScope("https://till.test"))
    const fieldOf = (path: string) => {
      const { schema } = both.paths[path].get.responses["200"].content["application/json"]
      return Object.keys(both.components.schemas[schema.$ref.split("/").at(-1)].properties)
    }
    assert.deepStrictEqual([fieldOf("/a"), fieldOf("/b")], [["width"], ["weight"]])
  })
})
