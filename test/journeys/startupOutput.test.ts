/**
 * Goal: whoever starts the service reads where its documentation and its payment page are, and where the demo
 * merchant's keys are kept; the keys themselves are printed at the first start only.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { join } from "node:path"
import { migratedDatabase } from "../support/Database.ts"
import { configOf, startService, temporaryDirectory } from "../support/Service.ts"

describe("a start", () => {
  it.live("names the documentation, the payment page, and later on the file with the demo keys", () =>
    Effect.gen(function*() {
      const { url } = yield* migratedDatabase
      const config = configOf({ database: url, chains: [{ use: "simulated" }] })
      const start = {
        directory: yield* temporaryDirectory,
        config: { ...config, modules: [...config.modules, { use: "docs" }] }
      }
      const first = yield* startService(start)
      const keys = yield* first.keys
      assert.include(first.output(), keys.merchant_key)
      for (const page of [`${first.url}/docs`, `${first.url}/pay/{invoice_id}`]) {
        assert.include(first.output(), `"${page}"`)
      }
      yield* first.stop()

      const again = yield* startService(start)
      assert.include(again.output(), `"${join(again.dataDirectory, "demo-keys.json")}"`)
      for (const secret of [keys.merchant_key, keys.commerce_key]) assert.notInclude(again.output(), secret)

      const page = yield* again.call("/", { headers: { accept: "text/html" } })
      assert.strictEqual(page.status, 200)
      assert.include(page.text, "Running")
      assert.strictEqual((yield* again.call("/")).json.error.code, "NOT_FOUND")
    }).pipe(Effect.scoped))
})
