import { assert, describe, it } from "@effect/vitest"
import { NodeHttpClient } from "@effect/platform-node"
import { Effect, Layer, Schema } from "effect"
import type * as Plugin from "../../../runtime/Plugin.ts"
import { Prices } from "../../../runtime/Prices.ts"
import { layer as median } from "../../../runtime/prices/Oracle.ts"
import { type PriceLayer, priceSourceConformance } from "../../conformance/prices.ts"
import { plugin } from "../../fixtures/acme-price.ts"
import { httpServer } from "../../fixtures/httpServer.ts"
import { catalogOf, ether } from "../../fixtures/tokens.ts"

const known: Readonly<Record<string, string>> = { "ethereum": "3333.123456789012345678", "usd-coin": "1.0001" }

const acmeServer = (fault: boolean) =>
  httpServer((request, response) => {
    const ids = new URL(request.url ?? "/", "http://acme").searchParams.get("ids")?.split(",") ?? []
    response.writeHead(fault ? 503 : 200, { "content-type": "application/json" })
    response.end(JSON.stringify(
      ids.filter((id) => id in known).map((id) => ({ id, usd: known[id], at: Math.floor(Date.now() / 1000) }))
    ))
  })

const subject = (fault: boolean) =>
  Effect.map(acmeServer(fault), (baseUrl) => ({
    name: "acme",
    layer: plugin.layer({ baseUrl }) as PriceLayer,
    known
  }))

priceSourceConformance("acme (a file outside the modules)", subject(false), subject(true))

describe("a price source is one config line", () => {
  /** What the boot does with a `{ use, options }` line of the slot `prices`. */
  const priceOfEther = (entry: { readonly use: string; readonly options: unknown }) =>
    Effect.gen(function*() {
      const { plugin } = yield* Effect.promise(() => import(entry.use) as Promise<{ readonly plugin: Plugin.Plugin }>)
      const options = yield* Schema.decodeUnknownEffect(plugin.options!)(entry.options)
      return yield* Effect.flatMap(Prices, (quotes) => quotes.spot(ether)).pipe(Effect.provide(
        (plugin.layer(options) as PriceLayer).pipe(
          Layer.provideMerge(median.pipe(Layer.provide(catalogOf(ether)))),
          Layer.provide(NodeHttpClient.layerUndici)
        )
      ))
    })

  it.live("and swapping it swaps where the price comes from, with no other change", () =>
    Effect.gen(function*() {
      const baseUrl = yield* acmeServer(false)
      const builtIn = yield* priceOfEther({
        use: new URL("../../../modules/prices/fixed.ts", import.meta.url).href,
        options: { prices: { ethereum: "3500" } }
      })
      const swapped = yield* priceOfEther({
        use: new URL("../../fixtures/acme-price.ts", import.meta.url).href,
        options: { baseUrl }
      })
      assert.deepStrictEqual([builtIn.source, builtIn.text], ["fixed", "3500.000000"])
      // 22 digits given, 18 kept, rounded down.
      assert.deepStrictEqual([swapped.source, swapped.text], ["acme", "3333.12345678901234"])
    }))
})
