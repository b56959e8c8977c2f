/** Goal: the configs and the schema that come with the service fit the service they come with. */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import { load } from "../../../runtime/Config.ts"
import { jsonSchemaText, schemaFile } from "../../../runtime/config/JsonSchema.ts"

const config = (name: string) => decodeURIComponent(new URL(`../../../config/${name}`, import.meta.url).pathname)

/** What a deployment of mainnet.jsonc sets: its secrets by variables here, by files there. */
const deployment = {
  PUBLIC_URL: "https://pay.example.com",
  TILLWIRE__STORE__OPTIONS__URL: "postgresql://till:pw@db/till",
  TILLWIRE__CHAINS__0__OPTIONS__RPC: "[\"https://a.example\",\"https://b.example\"]",
  TILLWIRE__CHAINS__1__OPTIONS__RPC: "[\"https://a.example\",\"https://b.example\"]",
  TILLWIRE__CHAINS__2__OPTIONS__RPC: "[\"https://a.example\",\"https://b.example\"]",
  TILLWIRE__RPC__TOKEN: "0123456789abcdef",
  TILLWIRE__OPS__TOKEN: "0123456789abcdef",
  TILLWIRE__SECRETS__MASTER__0: "00".repeat(32),
  TILLWIRE__CHAINS__0__OPTIONS__XPUB: "xpub",
  TILLWIRE__CHAINS__1__OPTIONS__XPUB: "xpub",
  TILLWIRE__CHAINS__2__OPTIONS__XPUB: "xpub"
}

describe("config/", () => {
  it.effect("devnet.jsonc starts as it is", () =>
    Effect.gen(function*() {
      const { settings } = yield* load({ file: config("devnet.jsonc"), environment: {} })
      assert.deepStrictEqual([...settings.environments], ["devnet"])
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("mainnet.jsonc starts where its secrets are, and simulates nothing", () =>
    Effect.gen(function*() {
      const { plugins, settings } = yield* load({ file: config("mainnet.jsonc"), environment: deployment })
      assert.deepStrictEqual([...settings.environments], ["mainnet"])
      assert.notIncludeMembers(plugins.map(({ plugin }) => plugin.name), ["simulator", "simulated", "fixed"])
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("schema.json is what `npm run schema` writes", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      assert.strictEqual(yield* fs.readFileString(schemaFile), yield* jsonSchemaText)
    }).pipe(Effect.provide(NodeServices.layer)))
})
