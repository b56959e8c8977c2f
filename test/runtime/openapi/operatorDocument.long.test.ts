/**
 * Goal: the document of the operator API is complete for a reader and valid for everyone's tools.
 * Method: it is made of the calls of all modules and of the runtime; Redocly and Spectral judge it by their own rules.
 * Real answers are held against it in `test/journeys/operator.long.test.ts`.
 */
import { assert, describe, it } from "@effect/vitest"
import type { HttpApi } from "effect/http-api"
import { globSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { OperatorNetworksApi } from "../../../runtime/chains/OperatorApi.ts"
import { OperatorInstancesApi } from "../../../runtime/leases/OperatorApi.ts"
import { documentOf, operatorScope } from "../../../runtime/openapi/Document.ts"
import { OperatorDocumentApi } from "../../../runtime/openapi/OperatorApi.ts"
import { lintWithRedocly, lintWithSpectral } from "../../support/OpenApiLinters.ts"

const root = decodeURIComponent(new URL("../../..", import.meta.url).pathname)

const apis: ReadonlyArray<HttpApi.Constraint> = await Promise.all(
  globSync("modules/*/plugin.ts", { cwd: root }).map(async (path) => (await import(join(root, path))).plugin?.operator)
).then((found) => [
  ...found.filter((api) => api !== undefined),
  OperatorNetworksApi as unknown as HttpApi.Constraint,
  OperatorInstancesApi as unknown as HttpApi.Constraint,
  OperatorDocumentApi as unknown as HttpApi.Constraint
])

const document: any = documentOf(apis, operatorScope("https://till.test"))

const operations: ReadonlyArray<any> = Object.values<any>(document.paths).flatMap((item) => Object.values(item))

describe("the document of the operator API", () => {
  it("tells of every call what it does, what it takes, and what it answers", () => {
    assert.isAbove(operations.length, 15)
    for (const { description = "", operationId, parameters, requestBody, responses, summary = "" } of operations) {
      assert.match(operationId, /^operator\w+\.\w+$/)
      assert.match(summary, /^[A-Z].{3,78}[^.]$/, operationId)
      assert.isAbove(description.length, 10, operationId)
      for (const parameter of parameters.filter(({ $ref }: any) => $ref === undefined)) {
        assert.isAbove(parameter.description.length, parameter.name.length, `${operationId}: ${parameter.name}`)
      }
      const bodies = [requestBody, responses[200]].filter((body) => body !== undefined)
      for (const { content } of bodies) assert.isDefined(content["application/json"].example, operationId)
      assert.notInclude(JSON.stringify(bodies), "\"string\"}", operationId)
    }
  })

  it("has no component, scheme or tag that belongs to merchants' calls", () => {
    assert.deepStrictEqual(Object.keys(document.components.securitySchemes), ["adminToken"])
    assert.sameMembers(Object.keys(document.components.parameters), ["Operator", "RequestId", "ServiceVersion"])
    assert.notProperty(document.components.schemas, "FlatError")
    assert.notProperty(document, "webhooks")
  })

  it("passes Redocly's recommended rules, and Spectral's for OpenAPI", async () => {
    const folder = mkdtempSync(join(tmpdir(), "tillwire-openapi-"))
    try {
      const file = join(folder, "openapi.json")
      writeFileSync(file, JSON.stringify(document, null, 2))
      await lintWithRedocly(file)
      await lintWithSpectral(file)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
