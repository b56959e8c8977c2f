/** Goal: the API's reference is drawn in a real browser by what the service itself serves, and by nothing else. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { migratedDatabase } from "../support/Database.ts"
import { configOf, startService, temporaryDirectory } from "../support/Service.ts"
import { foreignRequests, visit } from "./Page.ts"

describe("documentation in a browser", () => {
  it.live("draws the reference with no request to anyone else, no breach of its policy and no complaint", () =>
    Effect.gen(function*() {
      const config = configOf({ database: (yield* migratedDatabase).url, chains: [{ use: "simulated" }] })
      const { url } = yield* startService({
        directory: yield* temporaryDirectory,
        config: { ...config, modules: [...config.modules, { use: "docs" }] }
      })
      const opened = yield* visit(`${url}/docs`)
      yield* Effect.promise(() => opened.page.getByRole("heading", { name: "Tillwire" }).first().waitFor())
      yield* Effect.promise(() => opened.page.waitForLoadState("networkidle"))
      assert.deepStrictEqual(foreignRequests(opened, url), [])
      assert.include(opened.requests, `${url}/openapi.json`)
      // The reference tells its timings as "info".
      assert.deepStrictEqual(opened.complaints.filter((each) => !each.startsWith("info:")), [])
      assert.include(yield* Effect.promise(() => opened.page.innerText("body")), "Invoices")
    }).pipe(Effect.scoped))
})
