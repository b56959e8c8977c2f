/** What a merchant accepts, and the search that shows it: through the real door and commit log. */
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { TokensApi, TokenSearchPage } from "../../../modules/tokens/api.ts"
import { TokenPolicies } from "../../../modules/tokens/actor.ts"
import { block, blockedFilter, choosePolicy, defaultPolicy, isBlocked } from "../../../modules/tokens/rules.ts"
import { migrations, tables } from "../../../modules/tokens/migrations.ts"
import { plugin } from "../../../modules/tokens/plugin.ts"
import * as Actors from "../../../runtime/Actors.ts"
import { Chains } from "../../../runtime/Chains.ts"
import { Credentials } from "../../../runtime/Http.ts"
import { Prices } from "../../../runtime/Prices.ts"
import { AcceptancePolicy } from "../../../schemas/Token.ts"
import { catalogOf, ether, etherListing, mainnetEther, token, usdc } from "../../fixtures/tokens.ts"
import { verify } from "../../fixtures/tokenMerchants.ts"
import { type Answer, Api, apiLayer, kernel, settingsLayer } from "../../support/Api.ts"

const inactive = token(4, { ...etherListing, active: false, symbol: "OLD" })
const path = "/api/v1/merchant/tokens"

const served = apiLayer(
  [TokensApi],
  Layer.mergeAll(
    plugin.layer(undefined),
    Layer.effectDiscard(Effect.flatMap(Credentials, (credentials) => credentials.register(verify)))
  ) as never,
  Layer.mergeAll(
    kernel([{ name: "tokens", migrations, tables }], settingsLayer({ environments: ["devnet", "mainnet"] })),
    Actors.layer,
    Layer.mock(Prices, { latest: () => null }),
    Layer.succeed(
      Chains,
      {
        driver: (_: string, environment: string) => environment === "devnet" ? {} : undefined,
        wallet: () => Effect.succeed(null)
      } as never
    ),
    catalogOf(ether, inactive, usdc, mainnetEther)
  )
) as unknown as Layer.Layer<Api | TokenPolicies>

const ask = (key: string, what = "", body?: object, method?: string, headers: Readonly<Record<string, string>> = {}) =>
  Effect.flatMap(Api, ({ call }) =>
    call(`${path}${what}`, {
      headers: { "x-api-key": key, ...headers },
      ...(body === undefined ? {} : { body }),
      ...(method === undefined ? {} : { method })
    }))

const put = (key: string, body: object, headers = {}) => ask(key, "/policy", body, "PUT", headers)

const ok = ({ json, status, text }: Answer) => {
  assert.strictEqual(status, 200, text)
  return json
}

const refused = (answer: Answer, status: number, code: string) => {
  assert.deepStrictEqual([answer.status, answer.json.code], [status, code], answer.text)
  assert.sameMembers(Object.keys(answer.json), ["error", "code"])
}

const idsOf = ({ tokens }: any): ReadonlyArray<number> => tokens.map(({ id }: any) => id)
const blockedOf = ({ tokens }: any): ReadonlyArray<boolean> => tokens.map(({ is_blocked }: any) => is_blocked)

layer(served)("a merchant's acceptance policy", (it) => {
  it.effect("is accept_all until chosen, and kept per merchant and environment", () =>
    Effect.gen(function*() {
      const empty = { acceptance_policy: "accept_all", environment: "devnet", blocked_token_ids: [] }
      assert.deepStrictEqual(ok(yield* ask("1", "/policy")), empty)
      const chosen = { ...empty, acceptance_policy: "accept_none" }
      assert.deepStrictEqual(ok(yield* put("1", { acceptance_policy: "accept_none" })), chosen)
      assert.deepStrictEqual(ok(yield* ask("1", "/policy")), chosen)
      assert.deepStrictEqual(ok(yield* ask("1m", "/policy")), { ...empty, environment: "mainnet" })
      assert.deepStrictEqual(ok(yield* ask("1m", "/policy?environment=devnet")), chosen)
      assert.deepStrictEqual(ok(yield* ask("2", "/policy")), empty)
    }))

  it.effect("keeps the blocked list when it leaves selective, and heeds it again when it comes back", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(ok(yield* ask("3", "/1/block", { blocked: true })), { success: true, blocked: true })
      assert.deepStrictEqual(blockedOf(ok(yield* ask("3"))), [false, false], "not heeded under accept_all")
      assert.deepStrictEqual(ok(yield* put("3", { acceptance_policy: "selective" })).blocked_token_ids, [1])
      assert.deepStrictEqual(idsOf(ok(yield* ask("3"))), [2], "the plain list leaves it out")
      assert.deepStrictEqual(ok(yield* put("3", { acceptance_policy: "accept_none" })).blocked_token_ids, [1])
      assert.deepStrictEqual(blockedOf(ok(yield* ask("3"))), [true, true], "the plain list shows all as blocked")
      ok(yield* put("3", { acceptance_policy: "selective" }))
      assert.deepStrictEqual(ok(yield* ask("3", "/1/block", { blocked: false })), { success: true, blocked: false })
      assert.deepStrictEqual(idsOf(ok(yield* ask("3"))), [2, 1])
    }))

  it.effect("blocks many in one step or none, and says how many moved", () =>
    Effect.gen(function*() {
      const bulk = (token_ids: ReadonlyArray<unknown>, blocked: unknown = true) =>
        ask("4", "/block-bulk", { token_ids, blocked })
      refused(yield* bulk([1, 2, 99]), 404, "TOKEN_NOT_FOUND")
      refused(yield* bulk([1, 3]), 404, "TOKEN_NOT_FOUND")
      assert.deepStrictEqual(ok(yield* ask("4", "/policy")).blocked_token_ids, [])
      assert.deepStrictEqual(ok(yield* bulk([2, 1, 2])), { success: true, updated: 2 })
      assert.deepStrictEqual(ok(yield* bulk([4, 1])), { success: true, updated: 1 })
      assert.deepStrictEqual(ok(yield* ask("4", "/policy")).blocked_token_ids, [1, 2, 4])
      assert.deepStrictEqual(ok(yield* bulk([1, 2], false)), { success: true, updated: 2 })
      for (const wrong of [[], ["1"], [1.5], Array.from({ length: 1_001 }, () => 1)]) {
        refused(yield* bulk(wrong), 400, "VALIDATION_ERROR")
      }
      refused(yield* bulk([1], "yes"), 400, "VALIDATION_ERROR")
    }))

  it.effect("loses no change that others make at the same time", () =>
    Effect.gen(function*() {
      const changes = Array.from({ length: 30 }, (_, n) => [1, 2, 4][n % 3]!)
      yield* Effect.forEach(changes, (id) => Effect.map(ask("5", `/${id}/block`, { blocked: true }), ok), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(ok(yield* ask("5", "/policy")).blocked_token_ids, [1, 2, 4])
    }))

  it.effect("answers a repeat under one key with the first reply, and acts once", () =>
    Effect.gen(function*() {
      const key = { "idempotency-key": "policy-1" }
      const first = yield* put("6", { acceptance_policy: "selective" }, key)
      ok(yield* put("6", { acceptance_policy: "accept_none" }))
      const again = yield* put("6", { acceptance_policy: "selective" }, key)
      assert.deepStrictEqual([again.text, again.headers.get("idempotent-replayed")], [first.text, "true"])
      assert.strictEqual(ok(yield* ask("6", "/policy")).acceptance_policy, "accept_none")
      refused(yield* put("6", { acceptance_policy: "accept_all" }, key), 422, "IDEMPOTENCY_KEY_REUSED")
    }))

  it.effect("answers a wallet's repeat too where the call acts in another environment than the wallet's own", () =>
    Effect.gen(function*() {
      const key = { "idempotency-key": "policy-1" }
      const body = { acceptance_policy: "selective", environment: "mainnet" }
      const first = yield* put("16w", body, key)
      for (const between of [{}, { acceptance_policy: "accept_none" }]) {
        ok(yield* put("16w", { ...body, ...between }))
        const again = yield* put("16w", body, key)
        assert.deepStrictEqual([again.text, again.headers.get("idempotent-replayed")], [first.text, "true"])
      }
      assert.strictEqual(ok(yield* ask("16m", "/policy")).acceptance_policy, "accept_none")
    }))

  it.effect("is written by a key in its own environment only, by a wallet where it says, by a commerce key nowhere", () =>
    Effect.gen(function*() {
      refused(yield* put("7", { acceptance_policy: "selective", environment: "mainnet" }), 403, "ENVIRONMENT_FORBIDDEN")
      assert.strictEqual(
        ok(yield* put("7w", { acceptance_policy: "selective", environment: "mainnet" })).environment,
        "mainnet"
      )
      assert.strictEqual(ok(yield* ask("7m", "/policy")).acceptance_policy, "selective")
      for (const what of ["", "/search", "/policy"]) refused(yield* ask("7c", what), 403, "SCOPE_MISMATCH")
      refused(yield* put("7c", { acceptance_policy: "selective" }), 403, "SCOPE_MISMATCH")
      refused(yield* ask("7c", "/1/block", { blocked: true }), 403, "SCOPE_MISMATCH")
    }))

  it.effect("refuses unknown tokens, the other environment's and ids that are none, all alike", () =>
    Effect.gen(function*() {
      const answers = yield* Effect.forEach(
        ["99", "3", "0", "-1", "abc", "1.5", "9007199254740993"],
        (id) => ask("8", `/${id}/block`, { blocked: true })
      )
      for (const answer of answers) refused(answer, 404, "TOKEN_NOT_FOUND")
      refused(yield* put("8", { acceptance_policy: "accept_some" }), 400, "VALIDATION_ERROR")
      refused(yield* put("8", {}), 400, "VALIDATION_ERROR")
      refused(yield* ask("8", "/1/block", {}), 400, "VALIDATION_ERROR")
    }))
})

layer(served)("GET /api/v1/merchant/tokens/search", (it) => {
  it.effect("answers exactly the search columns, the echoed page and the whole count", () =>
    Effect.gen(function*() {
      const page = ok(yield* ask("1", "/search?search=usd"))
      Schema.decodeUnknownSync(TokenSearchPage, { onExcessProperty: "error" })(page)
      assert.deepStrictEqual(page, {
        acceptance_policy: "accept_all",
        environment: "devnet",
        total: 1,
        limit: 50,
        offset: 0,
        tokens: [{
          id: 1,
          token_symbol: "USDC",
          token_name: "USD Coin",
          network: "base",
          network_environment: "devnet",
          is_blocked: false,
          price: null,
          token_address: usdc.address,
          token_decimals: 6,
          token_type: "erc20",
          requires_memo: false,
          photo_uri: "/assets/tokens/usdc.svg",
          supports_stable_settlement: true,
          is_active: true,
          is_monitored: true
        }]
      })
      const second = ok(yield* ask("1", "/search?limit=1&offset=1"))
      assert.deepStrictEqual([second.total, second.limit, second.offset, idsOf(second)], [3, 1, 1, [4]])
      assert.deepStrictEqual(idsOf(ok(yield* ask("1", "/search?offset=3"))), [])
      const [mainnet] = ok(yield* ask("1", "/search?environment=mainnet")).tokens
      assert.deepStrictEqual([mainnet.id, mainnet.token_address, mainnet.is_monitored], [3, "native", false])
    }))

  it.effect("filters by each input, alone and together", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [string, ReadonlyArray<number>]> = [
        ["is_active=false", [4]],
        ["is_active=true", [2, 1]],
        ["supports_stable_settlement=true", [1]],
        ["supports_stable_settlement=false&is_active=true", [2]],
        ["token_type=native", [2, 4]],
        ["token_type=spl", []],
        ["network=base", [2, 4, 1]],
        ["network=sui", []],
        ["search=ETHER&is_active=true", [2]],
        ["search=", [2, 4, 1]],
        ["search=0x036cbd", [1]],
        ["search=%25", []],
        ["search=_", []],
        ["search=%5C", []],
        ["search=%27%20UNION%20SELECT", []]
      ]
      for (const [query, ids] of cases) {
        assert.deepStrictEqual(idsOf(ok(yield* ask("1", `/search?${query}`))), ids, query)
      }
    }))

  it.effect("heeds blocked under selective only", () =>
    Effect.gen(function*() {
      ok(yield* ask("9", "/1/block", { blocked: true }))
      const table: Record<string, ReadonlyArray<ReadonlyArray<number>>> = {
        accept_all: [[2, 4, 1], [], [2, 4, 1]],
        selective: [[2, 4, 1], [1], [2, 4]],
        accept_none: [[2, 4, 1], [2, 4, 1], []]
      }
      for (const [policy, wanted] of Object.entries(table)) {
        ok(yield* put("9", { acceptance_policy: policy }))
        for (const [at, query] of ["", "?blocked=true", "?blocked=false"].entries()) {
          const page = ok(yield* ask("9", `/search${query}`))
          assert.deepStrictEqual(idsOf(page), wanted[at], `${policy} ${query}`)
          assert.strictEqual(page.total, wanted[at]!.length)
        }
      }
    }))

  it.effect("refuses each wrong value with its code, flat", () =>
    Effect.gen(function*() {
      const refusals: Readonly<Record<string, ReadonlyArray<string>>> = {
        INVALID_LIMIT: ["limit=0", "limit=201", "limit=-1", "limit=abc", "limit=1.5", "limit=", "limit=1&limit=2"],
        INVALID_OFFSET: ["offset=-1", "offset=abc", "offset=9223372036854775808", "offset=", "offset=0&offset=1"],
        VALIDATION_ERROR: [
          "environment=testnet",
          "network=bitcoin",
          "token_type=erc721",
          "is_active=1",
          "is_active=TRUE",
          "blocked=",
          "supports_stable_settlement=yes",
          `search=${"a".repeat(257)}`,
          "search=%00"
        ]
      }
      for (const [code, queries] of Object.entries(refusals)) {
        for (const query of queries) refused(yield* ask("1", `/search?${query}`), 400, code)
      }
    }))
})

describe("blocked", () => {
  const Ids = Schema.Array(Schema.Literals([1, 2, 3, 4, 5]))

  it.prop(
    "follows the policy's table for every policy, list, token and filter",
    [AcceptancePolicy, Ids],
    ([policy, ids]) => {
      const state = choosePolicy(block(defaultPolicy(1, "devnet"), ids, true), policy)
      for (const id of [1, 2, 3, 4, 5]) {
        const blocked =
          { accept_all: false, accept_none: true, selective: (ids as ReadonlyArray<number>).includes(id) }[policy]
        assert.strictEqual(isBlocked(state, id), blocked)
        assert.isNull(blockedFilter(state, null))
        for (const asked of [true, false]) {
          const keep = blockedFilter(state, asked)
          assert.strictEqual(keep === null || keep(id), blocked === asked, `${policy} ${id} ${asked}`)
        }
      }
    }
  )

  it.prop("is undone by releasing what was blocked, and what changes nothing is the same state", [Ids], ([ids]) => {
    const before = defaultPolicy(1, "devnet")
    const after = block(before, ids, true)
    assert.strictEqual(after === before, ids.length === 0)
    assert.strictEqual(block(after, ids, true), after)
    assert.strictEqual(block(after, ids, false).blockedTokens.size, 0)
    assert.strictEqual(choosePolicy(after, "accept_all"), after)
  })
})
