/**
 * Goal: the bundle is the service: it runs anywhere without node_modules, loads what its config names and nothing else,
 * and gives plugins from outside the same `effect` and ports that it uses itself.
 * Method: built into an empty directory, started there as a user would, with a hook that writes down what Node loads; a
 * plugin in plain JavaScript, beside a broken `effect`, has the only price source.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { execFileSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type MailServer, makeMailServer } from "../fixtures/mailServer.ts"
import { emptyDatabase } from "../support/Database.ts"
import { recordLoadedFiles } from "../support/LoadedFiles.ts"
import { makeReceiver } from "../support/Receiver.ts"
import {
  configOf,
  exchange,
  prices,
  type Service,
  startService,
  temporaryDirectory,
  until
} from "../support/Service.ts"
import {
  assertEvents,
  assertStatus,
  chooseToken,
  listen,
  newInvoice,
  openShop,
  readInvoice,
  transferTypes
} from "../journeys/Shop.ts"

const root = decodeURIComponent(new URL("../..", import.meta.url).pathname)

/** A price source as an operator would write one, without a compiler. */
const outsidePlugin = `
  import { Effect, Layer, Schema } from "effect"
  import { map } from "effect/Effect"
  import { HttpClient } from "effect/http"
  import { make, Prices } from "tillwire/plugin"

  export const plugin = make({
    api: 1,
    name: "outside",
    slot: "prices",
    options: Schema.Struct({ url: Schema.String, prices: Schema.Record(Schema.String, Schema.String) }),
    layer: ({ prices, url }) => Layer.effectDiscard(Effect.gen(function*() {
      const client = yield* HttpClient.HttpClient
      const port = yield* Prices
      yield* port.register({
        name: "outside",
        environments: ["devnet"],
        prices: (assets) => map(
          Effect.andThen(Effect.orDie(client.get(url)), Effect.clockWith((clock) => clock.currentTimeMillis)),
          (millis) =>
          assets.filter((asset) => asset in prices)
            .map((asset) => ({ asset, rate: prices[asset], at: Math.floor(millis / 1000) })))
      })
    }))
  })`

class Bundle extends Context.Service<Bundle, {
  readonly service: Service
  readonly receiver: Effect.Success<ReturnType<typeof makeReceiver>>
  readonly mailServer: MailServer
  /** Files of the bundle that were loaded so far, below its folder. */
  readonly loadedFiles: () => ReadonlyArray<string>
}>()("test/Bundle") {
  static readonly layer = Layer.effect(
    Bundle,
    Effect.gen(function*() {
      const folder = join(yield* temporaryDirectory, "service")
      execFileSync(process.execPath, [join(root, "runtime/build.ts"), folder])
      const directory = yield* temporaryDirectory
      const loaded = recordLoadedFiles(directory)
      writeFileSync(join(directory, "outside.mjs"), outsidePlugin)
      mkdirSync(join(directory, "node_modules/effect"), { recursive: true })
      writeFileSync(join(directory, "node_modules/effect/index.js"), "throw new Error('the effect of the plugin')")
      const database = yield* emptyDatabase
      const receiver = yield* makeReceiver()
      const mailServer = yield* makeMailServer({ tls: "none" })
      const config = configOf({
        database: database.url,
        receivers: [receiver.host],
        chains: [{ use: "simulated" }]
      })
      const service = yield* startService({
        directory,
        program: join(folder, "main.js"),
        config: {
          ...config,
          modules: [
            ...config.modules,
            { use: "docs" },
            { use: "mail" },
            {
              use: "mail/smtp",
              options: { host: "localhost", port: mailServer.port, tls: "none", from: "pay@shop.example" }
            }
          ],
          prices: [{ use: "./outside.mjs", options: { url: receiver.url("/prices"), prices } }]
        },
        environment: loaded.environment
      })
      return { service, receiver, mailServer, loadedFiles: () => loaded.below(folder) }
    })
  )
}

layer(Bundle.layer, { excludeTestServices: true })("the bundle", (it) => {
  it.effect("loads the plugins that its config names, and no other driver, family or library", () =>
    Effect.gen(function*() {
      const { loadedFiles } = yield* Bundle
      const loaded = new Set(loadedFiles())
      for (
        const file of [
          "modules/invoices/plugin.js",
          "modules/chains/simulated.js",
          "chunks/effect.js",
          "chunks/kernel.js"
        ]
      ) assert.isTrue(loaded.has(file), `${file} is loaded`)
      const others = [...loaded].filter((file) =>
        /^modules\/(?:chains\/(?!simulated)|prices\/|transports\/(?!https)|tokensources\/(?!bundled))/.test(file) ||
        /^modules\/.*\/drivers\/(?!simulated|smtp)/.test(file) ||
        /^chunks\/(?:ton-|marked|cborg|httpApi|nodemailer)/.test(file)
      )
      assert.deepStrictEqual(others, [])
    }))

  it.effect("takes an invoice from its creation to its payment, at a price of a plugin from outside", () =>
    Effect.gen(function*() {
      const { receiver, service } = yield* Bundle
      const { merchant_key: key } = yield* service.keys
      const shop = yield* openShop(service, receiver, key)
      const invoice = yield* newInvoice(shop, { amount_usd: 5 })
      assert.strictEqual((yield* readInvoice(shop, invoice.id)).status, "unpaid")
      const shown = yield* chooseToken(shop, invoice, "USDC")
      const heard = yield* listen(shown, service.url)
      assertStatus(
        200,
        yield* service.call(`/api/v1/devnet/invoices/${invoice.id}/simulate`, {
          headers: { "x-api-key": key },
          body: { action: "pay" }
        })
      )
      yield* assertEvents(shop, invoice, heard, ["invoice.created", ...transferTypes("invoice.paid")])
    }))

  it.effect("sends a message by its own copy of the library, which is loaded at the first one", () =>
    Effect.gen(function*() {
      const { loadedFiles, mailServer, service } = yield* Bundle
      const { merchant_key: key } = yield* service.keys
      const headers = { "x-api-key": key, "idempotency-key": "message" }
      const made = assertStatus(200, yield* service.call("/api/v1/invoices", { headers, body: { amount_usd: 5 } }))
      const session = { "x-session-token": made.session_token, "x-signature": made.signature }
      const body = { email: "jane@mail.example" }
      assertStatus(200, yield* service.call("/api/v1/payments/customer-email", { headers: session, body }))
      const path = `/api/v1/devnet/invoices/${made.invoice_id}/simulate`
      assertStatus(200, yield* service.call(path, { headers: { "x-api-key": key }, body: { action: "pay" } }))
      const taken = yield* until("a receipt arrives", Effect.sync(() => mailServer.taken), (all) => all.length > 0)
      assert.deepStrictEqual(taken.map(({ to }) => to), [["jane@mail.example"]])
      assert.include(taken[0]!.text, made.invoice_id)
      assert.include(loadedFiles(), "chunks/nodemailer.js")
    }))

  it.effect("serves the files that came with it", () =>
    Effect.gen(function*() {
      const { service } = yield* Bundle
      const reference = yield* exchange(service.url, "/docs")
      const script = /<script[^>]* src="([^"]+)"/.exec(reference.text)?.[1]
      assert.isDefined(script)
      for (const path of [script!, "/docs/guides/going-live", "/docs/reference/amounts", "/openapi.json"]) {
        assert.strictEqual((yield* exchange(service.url, path)).status, 200, path)
      }
    }))
})
