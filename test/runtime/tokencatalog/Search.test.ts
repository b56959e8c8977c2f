/**
 * Goal: the index finds exactly what reading every token would find.
 * Method: random catalogues and queries, against a scan that lower-cases and compares field by field.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { TokenCatalog } from "../../../runtime/TokenCatalog.ts"
import { buildIndex, make, search, type TokenQuery } from "../../../runtime/tokencatalog/Search.ts"
import { listings, readBundled } from "../../../modules/tokensources/bundled.ts"
import { Network } from "../../../schemas/Network.ts"
import { nativeAddress, type Token, TokenType } from "../../../schemas/Token.ts"
import { etherListing, token, usdcListing } from "../../fixtures/tokens.ts"

/**
 * Few characters, so that texts share runs; case, wildcards, separators and letters that change length in lower case.
 */
const Text = Schema.Array(Schema.Literals(["a", "A", "b", "%", "_", "\\", "'", " ", "İ", "ß", "😀", "0", "x"]))
const Facts = Schema.Struct({
  symbol: Text,
  name: Text,
  address: Schema.NullOr(Text),
  network: Schema.Literals(["base", "sui", "ethereum"]),
  type: TokenType,
  active: Schema.Boolean,
  stable: Schema.Boolean
})
const Query = Schema.Struct({
  text: Schema.NullOr(Text),
  network: Schema.NullOr(Schema.Literals(["base", "sui", "ethereum"])),
  type: Schema.NullOr(TokenType),
  active: Schema.NullOr(Schema.Boolean),
  stable: Schema.NullOr(Schema.Boolean),
  odd: Schema.NullOr(Schema.Boolean),
  offset: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5 })),
  limit: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 5 }))
})

const everything: TokenQuery = {
  text: null,
  network: null,
  type: null,
  active: null,
  stable: null,
  accepts: null,
  offset: 0,
  limit: 200
}

/** Those that come with the service, of mainnet. */
const bundledTokens = Effect.map(
  readBundled,
  (bundled) =>
    listings(bundled, {}).filter(({ environment }) => environment === "mainnet").map((each, place) =>
      token(place + 1, each)
    )
)

const holds = (token: Token, text: string) =>
  [token.symbol, token.name, token.address ?? nativeAddress].some((field) =>
    field.toLowerCase().includes(text.toLowerCase())
  )

const scan = (tokens: ReadonlyArray<Token>, query: TokenQuery) =>
  tokens
    .filter((token) => query.text === null || holds(token, query.text))
    .filter((token) => query.network === null || token.network === query.network)
    .filter((token) => query.type === null || token.type === query.type)
    .filter((token) => query.active === null || token.active === query.active)
    .filter((token) => query.stable === null || token.stable === query.stable)
    .filter((token) => query.accepts === null || query.accepts(token.id))

describe("token search", () => {
  it.effect("finds a token by any spelling of its whole address, and by a part of the one it is listed with", () =>
    Effect.gen(function*() {
      const index = yield* buildIndex(yield* bundledTokens)
      const found = (text: string) => search(index, { ...everything, text }).tokens.map(({ symbol }) => symbol)
      assert.deepStrictEqual(found("EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDs"), ["USDT"])
      assert.deepStrictEqual(found("0:B113A994B5024A16719F69139328EB759596C38A25F59028B146FECDC3621DFE"), ["USDT"])
      assert.deepStrictEqual(found("EQAvlWFDxGF2lXm67y4yzC17wYKD9A0guwPkMs1gOsM__NOT"), ["NOT"])
      assert.deepStrictEqual(found("e6muTQjkf"), ["USDT"])
      assert.deepStrictEqual(found("0xDBA34672E30CB065B1F93E3AB55318768FD6FEF66C15942C9F7CB846E2F900E7::usdc::USDC"), [
        "USDC"
      ])
      assert.deepStrictEqual(found("0XA0B86991C6218B36C1D19D4A2E9EB0CE3606EB48"), ["USDC"])
    }))

  it.effect.prop(
    "finds what a scan finds, for random catalogues, queries and filters",
    [Schema.Array(Facts), Schema.Array(Query)],
    ([catalogue, queries]) =>
      Effect.gen(function*() {
        const tokens = catalogue.map((facts, place) =>
          token(place + 1, {
            ...usdcListing,
            ...facts,
            symbol: facts.symbol.join(""),
            name: facts.name.join(""),
            address: facts.address === null ? null : facts.address.join("")
          })
        )
        const made = yield* buildIndex(tokens)
        for (const { odd, text, ...rest } of queries) {
          const query: TokenQuery = {
            ...rest,
            text: text === null ? null : text.join(""),
            accepts: odd === null ? null : (id) => (id % 2 === 1) === odd
          }
          const all = scan(tokens, query)
          const found = search(made, query)
          assert.strictEqual(found.total, all.length)
          assert.deepStrictEqual(found.tokens, all.slice(query.offset, query.offset + query.limit))
        }
      }),
    { arbitrary: { runs: 300 } }
  )

  it.effect("finds every part of every field, and nothing across two fields", () =>
    Effect.gen(function*() {
      const tokens = [token(1, usdcListing), token(2, etherListing), token(3, { ...usdcListing, network: "sui" })]
      const made = yield* buildIndex(tokens)
      for (const field of [usdcListing.symbol, usdcListing.name, usdcListing.address!]) {
        for (let from = 0; from < field.length; from++) {
          for (let to = from + 1; to <= field.length; to++) {
            assert.include(search(made, { ...everything, text: field.slice(from, to) }).tokens, tokens[0])
          }
        }
      }
      assert.strictEqual(search(made, { ...everything, text: "usdcusd" }).total, 0)
      assert.deepStrictEqual(search(made, { ...everything, text: "NATIVE" }).tokens, [tokens[1]!])
    }))

  it.effect("tells every network and every type apart", () =>
    Effect.gen(function*() {
      const tokens = Network.literals.flatMap((network, n) =>
        TokenType.literals.map((type, t) => token(1 + n * 10 + t, { ...usdcListing, network, type }))
      )
      const made = yield* buildIndex(tokens)
      for (const network of Network.literals) {
        for (const type of TokenType.literals) {
          const { tokens: [only], total } = search(made, { ...everything, network, type })
          assert.deepStrictEqual([total, only?.network, only?.type], [1, network, type])
        }
      }
    }))

  it.effect("sees a changed catalogue in the next search", () =>
    Effect.gen(function*() {
      let tokens = [token(1, usdcListing)]
      const find = yield* Effect.provideService(make, TokenCatalog, { list: () => tokens } as never)
      const totals = () => Effect.map(find("devnet", { ...everything, text: "us" }), ({ total }) => total)
      assert.strictEqual(yield* totals(), 1)
      tokens = [token(1, usdcListing), token(2, { ...usdcListing, name: "Other" })]
      assert.deepStrictEqual(yield* Effect.all([totals(), totals()], { concurrency: 2 }), [2, 2])
    }))
})
