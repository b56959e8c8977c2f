/**
 * Goal: a feature is a plugin: who deletes commerce, its ports and the simulator has a service that lacks nothing else.
 * Method: the short form of `npm run test:without`, which also checks the types of the tests and pages and runs all
 * other tests: the sources are copied without them, checked by the compiler, bundled, started, and tested by a few of
 * their other tests, among them one that is paid on a chain.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { join } from "node:path"
import { emptyDatabase } from "../support/Database.ts"
import { checkServiceTypes, copyWithout, optionalModules, runIn } from "../support/Removal.ts"
import { configOf, exchange, startService, temporaryDirectory } from "../support/Service.ts"
import { assertStatus } from "./Shop.ts"

/** The rules of the tree, and payments on a real node. */
const chosen = ["test/tidy.test.ts", "test/journeys/evm.test.ts"]

class Copy extends Context.Service<Copy, {
  readonly root: string
  readonly gone: ReadonlyArray<string>
  /** The entry of its bundle, built when it is first asked for. */
  readonly bundle: Effect.Effect<string>
}>()("test/Copy") {
  static readonly layer = Layer.effect(
    Copy,
    Effect.gen(function*() {
      const root = yield* temporaryDirectory
      const gone = copyWithout(optionalModules, root)
      const bundle = yield* Effect.cached(
        Effect.as(runIn(root, "build"), join(root, "dist/service/main.js"))
      )
      return { root, gone, bundle }
    })
  )
}

layer(Copy.layer, { excludeTestServices: true })("without commerce, its ports and the simulator", (it) => {
  it.effect(
    "the sources of the service fit their types",
    () => Effect.flatMap(Copy, ({ root }) => checkServiceTypes(root)),
    300_000
  )

  // Its packages are a link, as those of a deployment may be.
  it.effect("the service starts as its bundle and takes an invoice, and knows no route of what is gone", () =>
    Effect.gen(function*() {
      const { bundle } = yield* Copy
      const program = yield* bundle
      const { url } = yield* emptyDatabase
      const { modules, ...config } = configOf({ database: url, chains: [{ use: "simulated" }] })
      const kept = modules.filter(({ use }) => !optionalModules.includes(use.split("/")[0]!))
      const service = yield* startService({
        directory: yield* temporaryDirectory,
        config: { ...config, modules: kept },
        program
      })
      const { merchant_key: key } = yield* service.keys
      const headers = { "x-api-key": key, "idempotency-key": "first" }
      const made = assertStatus(200, yield* service.call("/api/v1/invoices", { headers, body: { amount_usd: 5 } }))
      assert.deepInclude(made.invoice, { amount: 5_000, status: "unpaid" })
      const { pathname, search } = new URL(made.payment_url)
      const page = yield* service.call(`${pathname}${search}`)
      assert.strictEqual(page.status, 303, "a link opens the page with a session of its own")
      for (const path of [`/api/v1/devnet/invoices/${made.invoice_id}/simulate`, "/api/commerce/merchant/carts"]) {
        // Not by `call`: the committed document still has what is gone from this copy.
        const found = yield* exchange(service.url, path, { method: "POST", headers, body: {} })
        assert.deepStrictEqual([found.status, found.json.error.code], [404, "NOT_FOUND"], path)
      }
      assert.deepStrictEqual(service.errors(), [])
    }).pipe(Effect.scoped))

  it.effect("other tests pass", () =>
    Effect.gen(function*() {
      const { bundle, gone, root } = yield* Copy
      for (const file of chosen) assert.notInclude(gone, file)
      yield* runIn(root, "test", chosen, { TEST_SERVICE: yield* bundle })
    }))
})
