import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Schema } from "effect"
import { listings, plugin, readBundled } from "../../../modules/tokensources/bundled.ts"
import { TokenCatalog, type TokenListing } from "../../../runtime/TokenCatalog.ts"
import { descriptorOf, networks } from "../../../schemas/Network.ts"
import { tokenAddress, tokenKey } from "../../../schemas/Token.ts"

const all = Effect.map(readBundled, (bundled) => listings(bundled, {}))
const decode = Schema.decodeUnknownExit(plugin.options!, { onExcessProperty: "error" })

const extra = {
  network: "base",
  environment: "devnet",
  symbol: "TST",
  name: "Test dollar",
  address: "0x5FbDB2315678afecb367f032d93F642f64180aa3",
  decimals: 6,
  token_type: "erc20",
  stable: true,
  asset: "usd-coin"
} as const

describe("bundled tokens", () => {
  it.effect("has each token once, on every network in both environments, with the network's coin active", () =>
    Effect.gen(function*() {
      const tokens = yield* all
      assert.strictEqual(new Set(tokens.map(tokenKey)).size, tokens.length)
      for (const network of networks) {
        for (const environment of ["devnet", "mainnet"]) {
          const coins = tokens.filter((token) =>
            token.network === network && token.environment === environment && token.type === "native" && token.active
          )
          assert.deepStrictEqual(coins.map(({ address }) => address), [null], `${network} ${environment}`)
        }
      }
    }))

  it.effect("has nothing active that could not be priced, or whose type is not of its network", () =>
    Effect.gen(function*() {
      for (const token of yield* all) {
        assert.include(["native", descriptorOf(token.network).family.tokenType], token.type, token.symbol)
        if (token.active) assert.isNotNull(token.asset, token.symbol)
      }
    }))

  it.effect("has no address that could not be one of a token of its network", () =>
    Effect.gen(function*() {
      for (const { address, network, symbol } of yield* all) {
        if (address !== null) assert.isNotNull(tokenAddress(network, address), `${network} ${symbol}`)
      }
    }))

  it.effect("of Cardano has ADA active only: no public token type tells its other assets from the coin", () =>
    Effect.map(all, (tokens) =>
      assert.deepStrictEqual(
        tokens.filter(({ active, network }) => active && network === "cardano").map(({ symbol }) => symbol),
        ["ADA", "ADA"]
      )))

  it.effect("says 18 decimals for the pegged dollars of BSC, 6 elsewhere", () =>
    Effect.map(all, (tokens) => {
      for (const token of tokens.filter(({ symbol }) => symbol === "USDC")) {
        assert.strictEqual(token.decimals, token.network === "bsc" ? 18 : 6, token.network)
      }
    }))

  it.effect("keeps only the networks asked for, and adds the operator's tokens, which win", () =>
    Effect.gen(function*() {
      const options = yield* Schema.decodeUnknownEffect(plugin.options!)({
        networks: ["base"],
        extra: [extra, { ...extra, address: "0x036cbd53842c5426634e7929541ec2318f3dcf7e", name: "Mine" }]
      })
      const synced: Array<readonly [string, ReadonlyArray<TokenListing>]> = []
      const catalog = Layer.mock(TokenCatalog, {
        unverifiedTokens: () => [],
        get: () => undefined,
        find: () => undefined,
        list: () => [],
        declare: () => Effect.void,
        sync: (source, tokens) => Effect.sync(() => void synced.push([source, tokens]))
      })
      yield* Layer.build((plugin.layer(options) as Layer.Layer<never, unknown, TokenCatalog>).pipe(
        Layer.provide(catalog)
      ))
      const [[source, tokens] = ["", []]] = synced
      assert.strictEqual(source, "bundled")
      assert.deepStrictEqual([...new Set(tokens.map(({ network }) => network))], ["base"])
      assert.deepStrictEqual(tokens.at(-1), {
        network: "base",
        environment: "devnet",
        symbol: "TST",
        name: "Test dollar",
        address: extra.address,
        decimals: 6,
        type: "erc20",
        requiresMemo: false,
        asset: "usd-coin",
        stable: true,
        active: true,
        photoUri: "/assets/tokens/tst.svg"
      })
      assert.deepStrictEqual(tokens.filter(({ name }) => name === "Mine").map(tokenKey), [
        "base:devnet:0x036cbd53842c5426634e7929541ec2318f3dcf7e"
      ])
      assert.strictEqual(new Set(tokens.map(tokenKey)).size, tokens.length)
    }))

  it("refuses an extra token that cannot be: wrong address, type, network, decimals, symbol, or unknown key", () => {
    assert.isTrue(Exit.isSuccess(decode({ extra: [extra] })))
    const wrong: ReadonlyArray<Record<string, unknown>> = [
      { address: "0x5FbDB2315678afecb367f032d93F642f64180aa" },
      { address: null },
      { network: "solana", token_type: "spl", address: "1".repeat(40) },
      { network: "ton", token_type: "ton", address: "EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDt" },
      { token_type: "spl" },
      { token_type: "native" },
      { network: "solana" },
      { network: "bitcoin" },
      { decimals: 37 },
      { decimals: -1 },
      { symbol: "<b>" },
      { symbol: "" },
      { name: "" },
      { surprise: true }
    ]
    for (const change of wrong) {
      assert.isTrue(Exit.isFailure(decode({ extra: [{ ...extra, ...change }] })), JSON.stringify(change))
    }
  })
})
