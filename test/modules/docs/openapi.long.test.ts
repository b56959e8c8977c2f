/**
 * Goal: the committed document is what the program serves, complete for a reader and valid for everyone's tools.
 * Method: it is made again and compared; every operation is looked at; Redocly and Spectral judge it by their own
 * rules.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { HttpApi } from "effect/http-api"
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { resolveSettings } from "../../../runtime/boot.ts"
import { apisOf, distinctPlugins } from "../../../runtime/boot/Kernel.ts"
import { load } from "../../../runtime/Config.ts"
import { endpointsOf } from "../../../runtime/http/Routes.ts"
import { documentOf, publicScope, textOf } from "../../../runtime/openapi/Document.ts"
import { deliveryHeaders, signingKey } from "../../../runtime/webhooks/Signature.ts"
import { errorCodes } from "../../../schemas/Errors.ts"
import { deliveredTypes, eventObjects, eventTypes } from "../../../schemas/Event.ts"
import { lintWithRedocly, lintWithSpectral } from "../../support/OpenApiLinters.ts"

const root = decodeURIComponent(new URL("../../..", import.meta.url).pathname)
const file = join(root, "modules/docs/openapi.json")
const committed = readFileSync(file, "utf8")
const document = JSON.parse(committed)

interface Found {
  readonly name: string
  readonly operation: any
}

const operations: ReadonlyArray<Found> = Object.entries<any>(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ name: `${method} ${path}`, operation }))
)

const resolve = (value: any) =>
  value.$ref === undefined ? value : value.$ref.split("/").slice(1).reduce((at: any, key: string) => at[key], document)

const none = (breaches: ReadonlyArray<string>) => assert.strictEqual(breaches.join("\n"), "")

const faults = (found: (one: Found) => ReadonlyArray<string>) =>
  operations.flatMap((one) => found(one).map((fault) => `${one.name}: ${fault}`))

describe("modules/docs/openapi.json", () => {
  it.effect("is what config/devnet.jsonc serves: after a change of the API run `npm run openapi`", () =>
    Effect.gen(function*() {
      const loaded = yield* load({ file: join(root, "config/devnet.jsonc"), environment: {} })
      const { publicUrl } = yield* resolveSettings(loaded, "none")
      const made = textOf(documentOf(apisOf(distinctPlugins(loaded.plugins)), publicScope(publicUrl)))
      const [was, is] = [committed.trimEnd().split("\n"), made.split("\n")]
      const line = is.findIndex((text, index) => text !== was[index])
      assert.isTrue(
        made === committed.trimEnd(),
        `run \`npm run openapi\`: line ${line + 1} is\n${was[line]}\nand would be\n${is[line]}`
      )
    }).pipe(Effect.provide(NodeServices.layer)))

  it("tells of every operation what it does, in a line and in a paragraph", () => {
    none(faults(({ operation: { description = "", operationId, summary = "", tags } }) => [
      ...summary === "" ? ["no summary"] : [],
      ...summary.length > 80 || summary.endsWith(".") ? [`summary is no headline: ${summary}`] : [],
      ...description === "" ? ["no description"] : [],
      ...tags.length === 1 ? [] : ["not one tag"],
      ...(/^[a-z][\w-]*\.[a-z]\w*$/i.test(operationId) ? [] : [`operationId ${operationId} is not group.operation`])
    ]))
    none(
      document.tags.filter(({ description = "" }) => description === "").map(({ name }: { name: string }) =>
        `tag ${name} has no description`
      )
    )
    const ids = operations.map(({ operation }) => operation.operationId)
    assert.strictEqual(new Set(ids).size, ids.length)
  })

  it("shows an example of every request, every answer, and every error by its code", () => {
    none(faults(({ operation: { requestBody, responses } }) => [
      ...requestBody === undefined || requestBody.content["application/json"].example !== undefined
        ? []
        : ["no example of a request"],
      ...Object.entries<any>(responses).flatMap(([status, given]) => {
        const { content, description } = resolve(given)
        const media = content?.["application/json"]
        // A probe answers its report under 503 too.
        if (Number(status) < 400 || media?.example !== undefined) {
          return media !== undefined && media.example === undefined ? [`no example of ${status}`] : []
        }
        const codes = Object.keys(media?.examples ?? {})
        return [
          ...codes.length === 0 ? [`no example of ${status}`] : [],
          ...codes.filter((code) => !(errorCodes as ReadonlyArray<string>).includes(code)).map((code) =>
            `${code} is no code`
          ),
          ...codes.filter((code) => !description.includes(code)).map((code) => `${status} does not explain ${code}`)
        ]
      })
    ]))
  })

  it("holds no placeholder in an example", () => {
    none(faults(({ operation: { requestBody, responses } }) => {
      const bodies = [requestBody, ...Object.values<any>(responses).map(resolve)]
      return bodies.map((body) => JSON.stringify(body?.content?.["application/json"]?.example) ?? "")
        .filter((example) => example.includes("\"string\"")).map((example) => `give the schema examples: ${example}`)
    }))
  })

  it("explains every parameter, and asks for credentials by schemes it describes", () => {
    none(faults(({ operation: { parameters, security } }) => [
      ...parameters.map(resolve).flatMap(({ description = "", name }: any) =>
        description === "" || description === name ? [`parameter ${name} is not explained`] : []
      ),
      ...security.flatMap((requirement: object) => Object.keys(requirement))
        .filter((name: string) => (document.components.securitySchemes[name]?.description ?? name) === name)
        .map((name: string) => `scheme ${name} is not described`)
    ]))
  })

  it("holds every operation that the clients have, and no other", async () => {
    const clients = await Promise.all(
      globSync("modules/*/client.ts", { cwd: root }).map((path) => import(join(root, path)))
    )
    const known = clients.flatMap((client) => Object.values(client).filter(HttpApi.isHttpApi)).flatMap((api) =>
      endpointsOf(api).map(([group, endpoint]) => `${group.identifier}.${endpoint.identifier}`)
    )
    const probes = ["operations.live", "operations.ready", "operations.metrics"]
    assert.deepStrictEqual(
      [...known, ...probes].toSorted(),
      operations.map(({ operation }) => operation.operationId).toSorted()
    )
  })

  it("tells events apart by their type, so that a generated client knows the object of each", () => {
    const { discriminator, oneOf } = document.components.schemas.Event
    assert.strictEqual(discriminator.propertyName, "type")
    assert.deepStrictEqual(Object.keys(discriminator.mapping), [...eventTypes])
    assert.deepStrictEqual(
      oneOf.map(({ $ref }: { readonly $ref: string }) => $ref),
      Object.values(discriminator.mapping)
    )
    const names = {
      invoice: "Invoice",
      invoice_payment: "InvoicePayment",
      commerce_order: "CommerceOrder",
      payment_quote: "PaymentQuote",
      exception: "Exception",
      balance_transaction: "BalanceTransaction",
      batch: "Batch",
      test_ping: "TestPing"
    }
    for (const [type, $ref] of Object.entries<string>(discriminator.mapping)) {
      const { properties } = resolve({ $ref })
      assert.strictEqual(properties.type.const, type)
      assert.deepStrictEqual(properties.data.properties.object, {
        $ref: `#/components/schemas/${names[eventObjects[type as keyof typeof eventObjects]]}`
      })
    }
  })

  it("describes the delivery of every event type, with the headers that a receiver verifies it by", () => {
    assert.deepStrictEqual(Object.keys(document.webhooks), [...deliveredTypes])
    const key = signingKey(`whsec_${Buffer.alloc(32).toString("base64")}`)
    const attempt = {
      deliveryId: "whd_1",
      eventId: "evt_1-1",
      eventType: "test.ping",
      environment: "devnet",
      attempt: 1,
      millis: 1_000,
      body: "{}",
      key
    } as const
    const sent = [null, key].map((previousKey) => Object.keys(deliveryHeaders({ ...attempt, previousKey })))
    for (const [type, { post }] of Object.entries<any>(document.webhooks)) {
      const parameters = post.parameters.map(resolve)
      const names = parameters.map(({ name }: { readonly name: string }) => name)
      // OpenAPI ignores a parameter of this name: the content type is that of the body.
      assert.sameMembers(names, sent[1]!.filter((name) => name !== "Content-Type"), type)
      assert.isTrue(
        parameters.every((parameter: any) => parameter.in === "header" && parameter.description.length > 10)
      )
      assert.sameMembers(
        parameters.filter(({ required }: { readonly required: boolean }) => required).map((
          { name }: { readonly name: string }
        ) => name),
        sent[0]!.filter((name) => name !== "Content-Type")
      )
      const body = post.requestBody.content["application/json"]
      assert.deepStrictEqual(body.schema, { $ref: document.components.schemas.Event.discriminator.mapping[type] })
      assert.strictEqual(body.example.type, type)
      assert.strictEqual(body.example.data.object.object, eventObjects[type as keyof typeof eventObjects])
      assert.includeMembers(Object.keys(post.responses), ["2XX", "410"])
    }
  })

  it("says that payment-status answers 304 to who has the newest, and how to ask so", () => {
    const { parameters, responses } = document.paths["/api/v1/payments/payment-status"].get
    assert.include(parameters.map(resolve).map(({ name }: { readonly name: string }) => name), "If-None-Match")
    assert.isUndefined(responses[304].content)
    assert.isTrue(resolve(responses[304].headers.ETag).required)
    assert.isTrue(resolve(responses[200].headers.ETag).required)
    const others = operations.filter(({ operation }) => operation.responses[304] !== undefined).map(({ name }) => name)
    assert.deepStrictEqual(others, ["get /api/v1/payments/payment-status"])
  })

  it("says of each customer_id in a path whether an invoice's id is taken there", () => {
    const of = (path: string, method: string) =>
      document.paths[path][method].parameters.find(({ name }: { readonly name: string }) => name === "customer_id")
    const either = of("/api/v1/invoices/{customer_id}", "get")
    assert.match(either.description, /invoice/i)
    assert.match(either.description, /customer/i)
    assert.strictEqual(either.schema.examples.length, 2)
    assert.match(of("/api/v1/invoices/{customer_id}", "patch").description, /^Id of an invoice; a customer id is not/)
    assert.notMatch(of("/api/v1/invoices/customer/{customer_id}", "get").description, /invoice id|id of an invoice/i)
  })

  it("holds what an operator's probes and scrapes ask", () => {
    const { paths } = document
    for (const status of [200, 503]) {
      const { schema } = paths["/health/ready"].get.responses[status].content["application/json"]
      assert.deepStrictEqual(schema, { $ref: "#/components/schemas/HealthReport" })
    }
    assert.deepStrictEqual(Object.keys(paths["/health/live"].get.responses), ["200"])
    assert.deepStrictEqual(paths["/health/live"].get.security, [])
    const { responses, security } = paths["/metrics"].get
    assert.hasAllKeys(responses[200].content, ["text/plain"])
    assert.deepStrictEqual(Object.keys(responses), ["200", "401"])
    assert.deepStrictEqual(security, [{ opsToken: [] }])
  })

  it("passes Redocly's recommended rules", () => lintWithRedocly(file))

  it("passes Spectral's rules for OpenAPI, warnings included", () => lintWithSpectral(file))
})
