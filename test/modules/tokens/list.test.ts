/** The plain token list, through the real door, with a catalogue and prices a test writes. */
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { TokenList, TokensApi } from "../../../modules/tokens/api.ts"
import { defaultPolicy, tokenList } from "../../../modules/tokens/rules.ts"
import { migrations, tables } from "../../../modules/tokens/migrations.ts"
import { plugin } from "../../../modules/tokens/plugin.ts"
import * as Actors from "../../../runtime/Actors.ts"
import { Chains } from "../../../runtime/Chains.ts"
import { Credentials } from "../../../runtime/Http.ts"
import { Prices } from "../../../runtime/Prices.ts"
import { readRate } from "../../../schemas/Money.ts"
import { catalogOf, ether, etherListing, mainnetEther, token, usdc } from "../../fixtures/tokens.ts"
import { verify } from "../../fixtures/tokenMerchants.ts"
import { Api, apiLayer, kernel, settingsLayer } from "../../support/Api.ts"

const at = 1_766_320_496
const inactive = token(4, { ...etherListing, active: false, symbol: "OLD" })

const quotes = Layer.mock(Prices, {
  latest: ({ asset }) =>
    asset === "ethereum" ? { text: "3500.250000", rate: readRate("3500.25")!, source: "median", at } : null
})

const served = apiLayer(
  [TokensApi],
  Layer.mergeAll(
    plugin.layer(undefined),
    Layer.effectDiscard(Effect.flatMap(Credentials, (credentials) => credentials.register(verify)))
  ) as never,
  Layer.mergeAll(
    kernel([{ name: "tokens", migrations, tables }], settingsLayer({ environments: ["devnet", "mainnet"] })),
    Actors.layer,
    quotes,
    Layer.succeed(Chains, {} as never),
    catalogOf(ether, usdc, mainnetEther, inactive)
  )
)

const path = "/api/v1/merchant/tokens"
const merchant = { headers: { "x-api-key": "7" } }

layer(served as unknown as Layer.Layer<Api>)("GET /api/v1/merchant/tokens", (it) => {
  it.effect("lists the active tokens of the key's environment with exactly the list columns", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const { json, status } = yield* call(path, merchant)
      assert.strictEqual(status, 200)
      Schema.decodeUnknownSync(TokenList, { onExcessProperty: "error" })(json)
      assert.deepStrictEqual(json, {
        acceptance_policy: "accept_all",
        environment: "devnet",
        tokens: [
          {
            id: 2,
            token_symbol: "ETH",
            token_name: "Ether",
            network: "base",
            network_environment: "devnet",
            is_blocked: false,
            price: { usd: 3500.25, last_updated_at: at, provider_type: "median" }
          },
          {
            id: 1,
            token_symbol: "USDC",
            token_name: "USD Coin",
            network: "base",
            network_environment: "devnet",
            is_blocked: false,
            price: null
          }
        ]
      })
    }))

  it.effect("shows the other environment only when it is named", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const { json } = yield* call(`${path}?environment=mainnet`, merchant)
      assert.deepStrictEqual([json.environment, json.tokens.map((each: { id: number }) => each.id)], ["mainnet", [3]])
      assert.deepStrictEqual((yield* call(`${path}?environment=devnet`, merchant)).json.environment, "devnet")
    }))

  it.effect("refuses a wrong environment, no key, an unknown key and a commerce key, all flat", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const refusals = [
        [`${path}?environment=testnet`, "7", 400, "VALIDATION_ERROR"],
        [`${path}?environment=`, "7", 400, "VALIDATION_ERROR"],
        [path, undefined, 401, "UNAUTHORIZED"],
        [path, "nobody", 401, "API_KEY_INVALID"],
        [path, "7c", 403, "SCOPE_MISMATCH"]
      ] as const
      for (const [url, key, status, code] of refusals) {
        const answer = yield* call(url, key === undefined ? {} : { headers: { "x-api-key": key } })
        assert.deepStrictEqual([answer.status, answer.json.code], [status, code])
        assert.sameMembers(Object.keys(answer.json), ["error", "code"])
      }
    }))
})

describe("token list", () => {
  it("keeps the catalogue's order and asks for no price of what it does not show", () => {
    const asked: Array<number> = []
    const { tokens } = tokenList(defaultPolicy(7, "devnet"), [inactive, usdc, ether], ({ id }) => {
      asked.push(id)
      return null
    })
    assert.deepStrictEqual(tokens.map(({ id }) => Number(id)), [1, 2])
    assert.deepStrictEqual(asked, [1, 2])
  })
})
