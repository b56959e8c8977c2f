/**
 * Goal: a list that others publish can add tokens and nothing else: not break a start, not lie about what we know.
 * Method: the conformance suite over a real socket, and lists, honest and hostile, from a client in memory.
 */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Schema } from "effect"
import { HttpClient, type HttpClientRequest, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { plugin as bundled } from "../../../modules/tokensources/bundled.ts"
import { plugin, readList } from "../../../modules/tokensources/http.ts"
import { TokenCatalog, type TokenListing } from "../../../runtime/TokenCatalog.ts"
import { layer as memory } from "../../../runtime/tokencatalog/Memory.ts"
import { type SourceLayer, tokenSourceConformance } from "../../conformance/tokensources.ts"
import { httpServer } from "../../fixtures/httpServer.ts"
import { migratedLayer } from "../../support/Database.ts"
import { until } from "../../support/Service.ts"

const usdc = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
const entry = {
  chainId: 1,
  address: "0x6B175474E89094C44Da98b954EedeAC495271d0F",
  symbol: "DAI",
  name: "Dai Stablecoin",
  decimals: 18,
  logoURI: "https://evil.example/track.png"
}
const document = (...tokens: ReadonlyArray<unknown>) =>
  JSON.stringify({ name: "List", timestamp: "2026-01-01T00:00:00Z", version: { major: 1, minor: 0, patch: 0 }, tokens })

const listUrl = "https://lists.example/all.json"
const options = { name: "test", url: listUrl }
const decode = Schema.decodeUnknownExit(plugin.options!)
const layerOf = (url: string) => plugin.layer({ lists: [{ ...options, url }] } as never) as SourceLayer

tokenSourceConformance(
  "bundled",
  Effect.succeed({
    layer: bundled.layer({}) as SourceLayer,
    known: [
      { network: "ethereum", environment: "mainnet", address: null, decimals: 18 },
      { network: "base", environment: "devnet", address: "0x036CbD53842c5426634e7929541eC2318f3dCF7e", decimals: 6 }
    ]
  })
)

tokenSourceConformance(
  "http",
  Effect.map(
    httpServer((_, response) =>
      response.end(document(entry, { ...entry, chainId: 8453 }, { ...entry, symbol: "\u202eX" }))
    ),
    (url) => ({
      layer: layerOf(`${url}/list.json`),
      known: [
        { network: "ethereum", environment: "mainnet", address: entry.address, decimals: 18 },
        { network: "base", environment: "mainnet", address: entry.address, decimals: 18 }
      ]
    })
  )
)

const read = (...tokens: ReadonlyArray<unknown>) => {
  const list = readList(document(...tokens), options)
  return typeof list === "string" ? assert.fail(list) : list
}

describe("a published token list", () => {
  it("becomes inactive tokens without price, links or say over pictures", () => {
    const wanted: TokenListing = {
      network: "ethereum",
      environment: "mainnet",
      symbol: "DAI",
      name: "Dai Stablecoin",
      address: entry.address,
      decimals: 18,
      type: "erc20",
      requiresMemo: false,
      asset: null,
      stable: false,
      active: false,
      photoUri: "/assets/tokens/dai.svg"
    }
    assert.deepStrictEqual(read({ ...entry, address: entry.address.toLowerCase() }), {
      listings: [wanted],
      skippedCount: 0
    })
    const priced = readList(document(entry), {
      ...options,
      active: true,
      assets: { [`1:${entry.address.toLowerCase()}`]: "dai" }
    })
    assert.deepStrictEqual(priced, { listings: [{ ...wanted, active: true, asset: "dai" }], skippedCount: 0 })
  })

  it("loses the entries that cannot be believed, counts them, and keeps the others", () => {
    const bad: ReadonlyArray<unknown> = [
      null,
      7,
      [],
      {},
      { ...entry, chainId: "1" },
      { ...entry, decimals: 255 },
      { ...entry, decimals: -1 },
      { ...entry, decimals: 1.5 },
      { ...entry, address: `${entry.address.slice(0, -1)}f` },
      { ...entry, address: `0x${"0".repeat(40)}` },
      { ...entry, address: "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE" },
      { ...entry, symbol: "USDС" },
      { ...entry, symbol: "US\u200bDC" },
      { ...entry, symbol: "\u202eCDSU" },
      { ...entry, symbol: "" },
      { ...entry, symbol: "A".repeat(33) },
      { ...entry, symbol: "A\u0000" },
      { ...entry, symbol: "../../etc" },
      { ...entry, name: "Dаi" },
      { ...entry, name: "Dai\n" },
      { ...entry, name: " Dai" },
      { ...entry, name: "D".repeat(101) },
      { ...entry, symbol: "TWICE" }
    ]
    const { listings, skippedCount } = read(entry, ...bad)
    assert.deepStrictEqual(listings.map(({ symbol }) => symbol), ["DAI"])
    assert.strictEqual(skippedCount, bad.length)
    assert.deepStrictEqual(
      read({ ...entry, chainId: 999_999_999 }),
      { listings: [], skippedCount: 0 },
      "another chain is no fault"
    )
  })

  it("keeps to the networks and environments asked for", () => {
    const all = document(entry, { ...entry, chainId: 8453 }, { ...entry, chainId: 84532 })
    const networksOf = (more: object) => {
      const list = readList(all, { ...options, ...more })
      return typeof list === "string"
        ? list
        : list.listings.map(({ environment, network }) => `${network} ${environment}`)
    }
    assert.deepStrictEqual(networksOf({ networks: ["base"] }), ["base mainnet", "base devnet"])
    assert.deepStrictEqual(networksOf({ environments: ["devnet"] }), ["base devnet"])
  })

  it("is refused whole when it is none, or too long", () => {
    const texts = [
      "",
      "[]",
      "{}",
      "<html>",
      document().replace("tokens", "token"),
      document().replace("\"List\"", "7"),
      JSON.stringify({ ...JSON.parse(document()), version: "1.0.0" }),
      document(...Array.from({ length: 10_001 }, () => entry))
    ]
    for (const text of texts) assert.isString(readList(text, options), text.slice(0, 60))
  })

  it("comes over https, or from this machine, under names of their own", () => {
    const accepted = (...lists: ReadonlyArray<object>) => Exit.isSuccess(decode({ lists }))
    assert.isTrue(accepted(options, { ...options, name: "other", url: "http://127.0.0.1:8000/x" }))
    const wrong = [
      { url: "http://lists.example/x" },
      { url: "https://user:pass@lists.example/x" },
      { url: "file:///etc/passwd" },
      { url: "https://lists.example/x#y" },
      { url: "lists.example" },
      { name: "Upper" },
      { refreshSeconds: 59 },
      { assets: { dai: "dai" } },
      { networks: [] }
    ]
    for (const change of wrong) assert.isFalse(accepted({ ...options, ...change }), JSON.stringify(change))
    assert.isFalse(accepted(options, options))
    assert.isFalse(accepted())
  })
})

/** A provider in memory: what it was asked, and what it answers. */
const provider = (answer: (request: HttpClientRequest.HttpClientRequest) => Response) => {
  const asked: Array<HttpClientRequest.HttpClientRequest> = []
  const client = HttpClient.make((request) =>
    Effect.sync(() => {
      asked.push(request)
      return HttpClientResponse.fromWeb(request, answer(request))
    })
  )
  return { asked, client: Layer.succeed(HttpClient.HttpClient, client) }
}

const heard = Effect.fnUntraced(function*(answer: (request: HttpClientRequest.HttpClientRequest) => Response) {
  const synced: Array<ReadonlyArray<string>> = []
  const { asked, client } = provider(answer)
  const catalog = Layer.succeed(TokenCatalog, {
    declare: () => Effect.void,
    sync: (_: string, listings: ReadonlyArray<TokenListing>) =>
      Effect.sync(() => void synced.push(listings.map(({ symbol }) => symbol)))
  } as never)
  yield* Layer.build(Layer.provide(layerOf(listUrl), [catalog, client]))
  yield* TestClock.adjust(0)
  return { asked, synced, next: TestClock.adjust("1 hour") }
})

describe("the http token source", () => {
  it.effect("asks again every hour for what has changed, and takes over nothing else", () =>
    Effect.gen(function*() {
      let symbol = "ONE"
      const { asked, next, synced } = yield* heard(({ headers }) => {
        const etag = `"${symbol}"`
        return headers["if-none-match"] === etag
          ? new Response(null, { status: 304 })
          : new Response(document({ ...entry, symbol }), { headers: { etag } })
      })
      yield* next
      symbol = "TWO"
      yield* next
      assert.deepStrictEqual(synced, [["ONE"], ["TWO"]])
      assert.deepStrictEqual(asked.map(({ headers }) => headers["if-none-match"]), [undefined, "\"ONE\"", "\"ONE\""])
    }))

  it.effect("keeps the last good list through every kind of bad answer, and recovers", () =>
    Effect.gen(function*() {
      const answers: Array<() => Response> = [
        () => new Response(document(entry), { headers: { etag: "\"a\"" } }),
        () => new Response("gone", { status: 404 }),
        () => new Response(null, { status: 301, headers: { location: "https://evil.example/" } }),
        () => new Response("<html>"),
        () => new Response(`${" ".repeat(9 * 1024 * 1024)}${document()}`),
        () => {
          throw new Error("cut")
        },
        () => new Response(document({ ...entry, symbol: "NEW" }))
      ]
      const left = [...answers]
      const { asked, next, synced } = yield* heard(() => left.shift()!())
      for (let hour = 1; hour < answers.length; hour++) yield* next
      assert.lengthOf(asked, answers.length)
      assert.deepStrictEqual(synced, [["DAI"], ["NEW"]])
    }))

  it.live("cannot change a token that a source before it lists, whenever it comes", () =>
    Effect.gen(function*() {
      const lie = { ...entry, address: usdc, chainId: 1, symbol: "SCAM", name: "Not USDC", decimals: 0 }
      const { client } = provider(() => new Response(document(lie, entry)))
      const catalog = Context.get(yield* Layer.build(Layer.fresh(memory)), TokenCatalog)
      const known = Layer.succeed(TokenCatalog, catalog)
      const honest = bundled.layer({}) as SourceLayer
      yield* Layer.build(Layer.provide(honest, [known, client]))
      const before = catalog.find("ethereum", "mainnet", usdc)
      yield* Layer.build(
        Layer.provide(plugin.layer({ lists: [{ ...options, active: true }] } as never) as SourceLayer, [known, client])
      )
      yield* until(
        "the list",
        Effect.sync(() => catalog.list("mainnet")),
        (all) => all.some(({ symbol }) => symbol === "DAI")
      )
      assert.deepStrictEqual(catalog.find("ethereum", "mainnet", usdc), before)
      assert.strictEqual(before?.symbol, "USDC")
    }).pipe(Effect.provide(migratedLayer)))
})
