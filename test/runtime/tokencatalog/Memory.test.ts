/**
 * Goal: a token keeps its id for good, whoever lists it, and every instance knows every token.
 * Method: real PostgreSQL; instances are layers of their own over one database.
 */
import { assert, describe, it } from "@effect/vitest"
import { Address } from "@ton/core"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { listings, readBundled } from "../../../modules/tokensources/bundled.ts"
import { TokenCatalog, type TokenListing } from "../../../runtime/TokenCatalog.ts"
import { followMillis, layer } from "../../../runtime/tokencatalog/Memory.ts"
import type { Environment, Network } from "../../../schemas/Network.ts"
import { tokenKey } from "../../../schemas/Token.ts"
import { etherListing, usdcListing } from "../../fixtures/tokens.ts"
import { connect, databaseLayer, freshDatabase } from "../../support/Database.ts"

/** One more instance over the database in scope: its own memory, its own follower. */
const instance = Effect.map(Layer.build(Layer.fresh(layer)), (services) => Context.get(services, TokenCatalog))

const listing = (address: string, changes: Partial<TokenListing> = {}): TokenListing => ({
  ...usdcListing,
  address: `0x${address.padStart(40, "0")}`,
  symbol: `T${address}`,
  ...changes
})

const ids = (catalog: TokenCatalog["Service"]) =>
  Object.fromEntries(catalog.list("devnet").map((token) => [tokenKey(token), Number(token.id)]))

describe("token catalogue", () => {
  it.live("gives ids in the order of the listing, and finds a token by id, address and list", () =>
    Effect.gen(function*() {
      const catalog = yield* instance
      const listings = [listing("C"), etherListing, listing("a"), listing("b", { environment: "mainnet" })]
      yield* catalog.sync("one", listings)
      assert.deepStrictEqual([1, 2, 3, 4].map((id) => catalog.get(id)?.symbol), ["TC", "ETH", "Ta", "Tb"])
      assert.deepStrictEqual(catalog.list("devnet").map(({ symbol }) => symbol), ["ETH", "TC", "Ta"])
      assert.strictEqual(catalog.find("base", "devnet", null)?.symbol, "ETH")
      assert.strictEqual(catalog.find("base", "devnet", `0x${"c".padStart(40, "0")}`)?.symbol, "TC", "any EVM case")
      assert.isUndefined(catalog.find("base", "mainnet", null))
      assert.isUndefined(catalog.get(5))
      const { id: _, ...ether } = catalog.get(2)!
      assert.deepStrictEqual(ether, etherListing)
    }).pipe(Effect.provide(databaseLayer)))

  it.live("finds the bundled tokens of TON and Sui by any spelling of their addresses", () =>
    Effect.gen(function*() {
      const catalog = yield* instance
      yield* catalog.sync("bundled", listings(yield* readBundled, {}))
      const symbolOf = (network: Network, environment: Environment, address: string) =>
        catalog.find(network, environment, address)?.symbol
      const usdt = Address.parse("EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDs")
      for (const text of [usdt.toString(), usdt.toString({ bounceable: false }), usdt.toRawString()]) {
        assert.strictEqual(symbolOf("ton", "mainnet", text), "USDT", text)
        assert.isUndefined(symbolOf("ton", "devnet", text), text)
      }
      const notcoin = Address.parse("0:2f956143c461769579baef2e32cc2d7bc18283f40d20bb03e432cd603ac33ffc")
      assert.strictEqual(symbolOf("ton", "mainnet", notcoin.toString({ urlSafe: false })), "NOT")
      const devnetUsdt = Address.parse("kQD0GKBM8ZbryVk2aESmzfU6b9b_8era_IkvBSELujFZPsyy")
      assert.strictEqual(symbolOf("ton", "devnet", devnetUsdt.toRawString().toUpperCase()), "USDT")
      const coinType = "0xdba34672e30cb065b1f93e3ab55318768fd6fef66c15942c9f7cb846e2f900e7::usdc::USDC"
      assert.strictEqual(
        symbolOf("sui", "mainnet", coinType.replace(/[0-9a-f]{64}/, (text) => text.toUpperCase())),
        "USDC"
      )
      assert.isUndefined(symbolOf("sui", "mainnet", coinType.replace("USDC", "usdc")), "another type")
    }).pipe(Effect.provide(databaseLayer)))

  it.live("keeps the id of a token whose key an earlier version wrote as the address was listed", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const jetton = listing("", {
        network: "ton",
        address: "EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDs",
        type: "ton",
        symbol: "USDT"
      })
      const [id] = yield* Effect.scoped(
        Effect.flatMap(
          instance,
          (catalog) =>
            Effect.map(
              catalog.sync("one", [listing("1"), jetton]),
              () => catalog.list("devnet").filter(({ symbol }) => symbol === "USDT").map((each) => each.id)
            )
        )
      )
      yield* sql`UPDATE tokens SET key = 'ton:devnet:' || address WHERE network = 'ton'`
      const catalog = yield* instance
      assert.strictEqual(catalog.find("ton", "devnet", jetton.address)?.id, id)
      yield* catalog.sync("one", [listing("1"), jetton])
      assert.deepStrictEqual(catalog.list("devnet").map((each) => [each.symbol, each.active]), [
        ["T1", true],
        ["USDT", true]
      ])
      assert.strictEqual(catalog.find("ton", "devnet", jetton.address)?.id, id)
    }).pipe(Effect.provide(databaseLayer)))

  it.live("keeps ids over restarts, updates, removal and return", () =>
    Effect.gen(function*() {
      const before = yield* Effect.scoped(Effect.flatMap(instance, (catalog) =>
        Effect.map(catalog.sync("one", [listing("1"), listing("2"), listing("3")]), () =>
          ids(catalog))))
      const catalog = yield* instance
      assert.deepStrictEqual(ids(catalog), before, "known from the table before any source has spoken")
      yield* catalog.sync("one", [listing("4"), listing("3", { name: "Renamed" }), listing("1")])
      assert.strictEqual(catalog.find("base", "devnet", listing("3").address)?.name, "Renamed")
      assert.isFalse(catalog.find("base", "devnet", listing("2").address)?.active)
      yield* catalog.sync("one", [listing("2"), listing("4")])
      assert.isTrue(catalog.find("base", "devnet", listing("2").address)?.active)
      assert.isFalse(catalog.find("base", "devnet", listing("1").address)?.active)
      const fourth = tokenKey(listing("4"))
      assert.deepStrictEqual(ids(catalog), { ...before, [fourth]: 4 })
    }).pipe(Effect.provide(databaseLayer)))

  it.live("leaves the tokens of other sources alone, and takes over what two sources list", () =>
    Effect.gen(function*() {
      const catalog = yield* instance
      yield* catalog.sync("one", [listing("1"), listing("2")])
      yield* catalog.sync("two", [listing("2"), listing("3")])
      yield* catalog.sync("one", [])
      const active = catalog.list("devnet").filter((token) => token.active).map(({ symbol }) => symbol)
      assert.deepStrictEqual(active, ["T2", "T3"])
    }).pipe(Effect.provide(databaseLayer)))

  it.live("believes the source declared first, before it is heard of and until it lists the token no more", () =>
    Effect.gen(function*() {
      const catalog = yield* instance
      const nameOf = () => catalog.find("base", "devnet", listing("1").address)?.name
      yield* catalog.sync("first", [listing("1", { name: "Right" })])
      yield* catalog.sync("second", [listing("1", { name: "Lie", decimals: 0 }), listing("2")])
      assert.strictEqual(nameOf(), "Right")
      assert.isTrue(catalog.find("base", "devnet", listing("2").address)?.active)

      const after = yield* instance
      const nameAfter = () => after.find("base", "devnet", listing("1").address)?.name
      yield* after.declare("first")
      yield* after.sync("second", [listing("1", { name: "Lie" }), listing("2")])
      assert.strictEqual(nameAfter(), "Right", "a source that is out of reach at the start keeps its tokens")
      yield* after.sync("first", [])
      assert.strictEqual(nameAfter(), "Lie")
      yield* after.sync("first", [listing("1", { name: "Right again" })])
      assert.strictEqual(nameAfter(), "Right again")
      yield* after.sync("second", [listing("1", { name: "Lie" })])
      assert.strictEqual(nameAfter(), "Right again")
    }).pipe(Effect.provide(databaseLayer)))

  it.live("of two listings of one token in one sync the last one holds", () =>
    Effect.gen(function*() {
      const catalog = yield* instance
      yield* catalog.sync("one", [listing("1"), listing("1", { name: "Second" })])
      assert.deepStrictEqual(catalog.list("devnet").map(({ name }) => name), ["Second"])
    }).pipe(Effect.provide(databaseLayer)))

  it.live("gives one id each when instances sync at the same time, and takes no id in vain", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const listings = Array.from({ length: 60 }, (_, index) => listing(index.toString(16)))
      // Different orders, so that a missing lock would deadlock or double.
      const orders = [listings, listings.toReversed(), listings.slice(20), listings.slice(0, 40).toReversed()]
      const catalogs = yield* Effect.forEach(orders, (order) =>
        Effect.gen(function*() {
          const catalog = yield* instance
          for (let round = 0; round < 3; round++) yield* catalog.sync("one", order)
          yield* catalog.sync("one", listings)
          return catalog
        }).pipe(Effect.provide(Layer.fresh(connect(database)))), { concurrency: "unbounded" })
      const all = catalogs.map(ids)
      for (const each of all) assert.deepStrictEqual(each, all[0])
      assert.deepStrictEqual(Object.values(all[0]!).toSorted((a, b) => a - b), listings.map((_, index) => index + 1))
    }))

  it.effect("hears of another instance's tokens at its next look", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const one = yield* instance
      const two = yield* instance
      /** Looks until `seen`, with time for each look, however busy the machine is. */
      const until = Effect.fnUntraced(function*(seen: () => boolean) {
        while (!seen()) {
          yield* TestClock.adjust(followMillis)
          yield* sql`SELECT pg_sleep(0.01)`
        }
      })
      yield* one.sync("one", [listing("1")])
      yield* until(() => two.get(1) !== undefined)
      yield* one.sync("one", [listing("1", { name: "Renamed" })])
      yield* until(() => two.get(1)?.name === "Renamed")
    }).pipe(Effect.provide(databaseLayer)))

  it.live("writes nothing when nothing has changed", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const catalog = yield* instance
      yield* catalog.sync("one", [listing("1"), etherListing])
      const rows = sql`SELECT xmin::text, id FROM tokens ORDER BY id`
      const before = yield* rows
      yield* catalog.sync("one", [etherListing, listing("1")])
      assert.deepStrictEqual(yield* rows, before)
    }).pipe(Effect.provide(databaseLayer)))
})
