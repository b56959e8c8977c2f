/**
 * Goal: the committed document is what the program serves, complete for a reader and valid for everyone's tools.
 * Method: it is made again and compared; every operation is looked at; Redocly and Spectral judge it by their own rules.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { HttpApi } from "effect/http-api"
import { execFile } from "node:child_process"
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { settle } from "../../../runtime/boot.ts"
import { apisOf, distinct } from "../../../runtime/boot/Kernel.ts"
import { load } from "../../../runtime/Config.ts"
import { endpointsOf } from "../../../runtime/http/Routes.ts"
import { documentOf, textOf } from "../../../runtime/openapi/Document.ts"
import { errorCodes } from "../../../schemas/Errors.ts"

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

/** A tool's own judgement: it ends with 0, or its complaints are the failure. */
const judged = (words: ReadonlyArray<string>) =>
  Effect.callback<void>((resume) => {
    const environment = { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" }
    execFile(process.execPath, [...words], { cwd: root, env: environment, maxBuffer: 2 ** 24 }, (error, said, complained) =>
      resume(error === null ? Effect.void : Effect.die(new Error(`${said}\n${complained}`))))
  })

describe("modules/docs/openapi.json", () => {
  it.effect("is what config/devnet.jsonc serves: after a change of the API run `npm run openapi`", () =>
    Effect.gen(function*() {
      const loaded = yield* load({ file: join(root, "config/devnet.jsonc"), environment: {} })
      const { publicUrl } = yield* settle(loaded, "none")
      const made = textOf(documentOf(apisOf(distinct(loaded.picked)), publicUrl))
      const [was, is] = [committed.trimEnd().split("\n"), made.split("\n")]
      const line = is.findIndex((text, index) => text !== was[index])
      assert.isTrue(made === committed.trimEnd(), `run \`npm run openapi\`: line ${line + 1} is\n${was[line]}\nand would be\n${is[line]}`)
    }).pipe(Effect.provide(NodeServices.layer)))

  it("tells of every operation what it does, in a line and in a paragraph", () => {
    none(faults(({ operation: { description = "", operationId, summary = "", tags } }) => [
      ...summary === "" ? ["no summary"] : [],
      ...summary.length > 80 || summary.endsWith(".") ? [`summary is no headline: ${summary}`] : [],
      ...description === "" ? ["no description"] : [],
      ...tags.length === 1 ? [] : ["not one tag"],
      ...(/^[a-z][\w-]*\.[a-z]\w*$/i.test(operationId) ? [] : [`operationId ${operationId} is not group.operation`])
    ]))
    none(document.tags.filter(({ description = "" }) => description === "").map(({ name }: { name: string }) => `tag ${name} has no description`))
    const ids = operations.map(({ operation }) => operation.operationId)
    assert.strictEqual(new Set(ids).size, ids.length)
  })

  it("shows an example of every request, every answer, and every error by its code", () => {
    none(faults(({ operation: { requestBody, responses } }) => [
      ...requestBody === undefined || requestBody.content["application/json"].example !== undefined ? [] : ["no example of a request"],
      ...Object.entries<any>(responses).flatMap(([status, given]) => {
        const { content, description } = resolve(given)
        const media = content?.["application/json"]
        if (Number(status) < 400) return media !== undefined && media.example === undefined ? [`no example of ${status}`] : []
        const codes = Object.keys(media?.examples ?? {})
        return [
          ...codes.length === 0 ? [`no example of ${status}`] : [],
          ...codes.filter((code) => !(errorCodes as ReadonlyArray<string>).includes(code)).map((code) => `${code} is no code`),
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
        description === "" || description === name ? [`parameter ${name} is not explained`] : []),
      ...security.flatMap((requirement: object) => Object.keys(requirement))
        .filter((name: string) => (document.components.securitySchemes[name]?.description ?? name) === name)
        .map((name: string) => `scheme ${name} is not described`)
    ]))
  })

  it("holds every operation that the clients have, and no other", async () => {
    const clients = await Promise.all(globSync("modules/*/client.ts", { cwd: root }).map((path) => import(join(root, path))))
    const known = clients.flatMap((client) => Object.values(client).filter(HttpApi.isHttpApi)).flatMap((api) =>
      endpointsOf(api).map(([group, endpoint]) => `${group.identifier}.${endpoint.identifier}`))
    assert.deepStrictEqual(known.toSorted(), operations.map(({ operation }) => operation.operationId).toSorted())
  })

  it.effect("passes Redocly's recommended rules", () =>
    judged([join(root, "node_modules/@redocly/cli/bin/cli.js"), "lint", "--config", ".redocly.yaml", file]), 60_000)

  it.effect("passes Spectral's rules for OpenAPI, warnings included", () =>
    judged([
      join(root, "node_modules/@stoplight/spectral-cli/dist/index.js"), "lint", "--ruleset", ".spectral.yaml",
      "--fail-severity", "warn", file
    ]), 60_000)
})
