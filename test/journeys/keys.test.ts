/**
 * Goal: keys and sign-ins are one thing over all processes: what is revoked on one is refused on the others within 5 s
 * under load, and a key bound to addresses is judged by the real one, whatever a caller claims.
 * Method: two processes on one database, of which one stands behind a proxy it trusts; real sockets, real time.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { RpcClient } from "effect/rpc"
import { privateKeyToAccount } from "viem/accounts"
import { AuthRpc } from "../../modules/auth/rpc.ts"
import { IdentityRpc } from "../../modules/identity/rpc.ts"
import * as InternalRpc from "../../runtime/rpc/Client.ts"
import { migratedDatabase } from "../support/Database.ts"
import {
  configOf,
  exchange,
  rpcToken,
  type Service,
  startService,
  temporaryDirectory,
  type TestRequest,
  type TestResponse
} from "../support/Service.ts"
import { timed } from "../support/Stopwatch.ts"

/** The promise of the contract's operator: what was revoked is refused everywhere by then. */
const revokedWithinMillis = 5_000

class Pair extends Context.Service<Pair, {
  readonly direct: Service
  readonly behindProxy: Service
  readonly key: string
}>()("test/Pair") {
  static readonly layer = Layer.effect(
    Pair,
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const config = configOf({
        database: database.url,
        chains: [{ use: "simulated", options: { networks: ["base"] } }]
      })
      // One deployment, so one name: tokens and messages are issued under it, whichever process serves them.
      const http = { publicUrl: "https://pay.example" }
      const start = (more: object) =>
        Effect.flatMap(
          temporaryDirectory,
          (directory) => startService({ directory, config: { ...config, http: { ...http, ...more } } })
        )
      const direct = yield* start({})
      const behindProxy = yield* start({ trustProxy: ["127.0.0.0/8", "::1"] })
      const { merchant_key: key } = yield* direct.keys
      behindProxy.guard(key)
      return { direct, behindProxy, key }
    })
  )
}

const codeOf = ({ json, status }: TestResponse) => `${status} ${json?.error?.code ?? ""}`.trim()

const events = (service: Service, headers: TestRequest["headers"]) =>
  service.call("/api/v1/events", { headers: headers! })

const post = (service: Service, key: string, path: string, body: object) =>
  service.call(path, { headers: { "x-api-key": key }, body })

/** Calls again and again until it is refused; answers after how many milliseconds. */
const refusedAfter = (call: Effect.Effect<TestResponse>, code: string) =>
  Effect.map(
    timed(Effect.repeat(call, {
      while: (answer) => {
        if (answer.status !== 200) assert.strictEqual(codeOf(answer), code)
        return answer.status === 200
      }
    })),
    ({ millis }) => millis
  )

const signIn = (service: Service, seed: number) =>
  Effect.gen(function*() {
    const account = privateKeyToAccount(`0x${seed.toString(16).padStart(64, "0")}`)
    const issued = yield* service.call("/api/v1/auth/nonce", { body: { address: account.address, network: "base" } })
    const { message } = issued.json.data
    assert.include(message, "pay.example wants you to sign in with your Ethereum account:")
    const signature = yield* Effect.promise(() => account.signMessage({ message }))
    const answer = yield* service.call("/api/v1/auth/verify", { body: { message, signature } })
    assert.strictEqual(answer.status, 200, answer.text)
    return answer.json.data
  })

layer(Pair.layer, { excludeTestServices: true })("two processes", (it) => {
  it.effect("judge a key's addresses by the caller's own, and believe a proxy only where it is trusted", () =>
    Effect.gen(function*() {
      const { behindProxy, direct, key } = yield* Pair
      const make = (ranges: ReadonlyArray<string>) =>
        Effect.map(
          post(direct, key, "/api/v1/api-keys", { name: "k", scope: "merchant", ip_allowlist: ranges }),
          ({ json }) => json.data.key as string
        )
      const office = yield* make(["203.0.113.0/24", "2001:db8::/32"])
      const local = yield* make(["127.0.0.1"])
      const from = (service: Service, key: string, forwarded?: string) =>
        Effect.map(
          events(service, { "x-api-key": key, ...(forwarded === undefined ? {} : { "x-forwarded-for": forwarded }) }),
          codeOf
        )
      assert.strictEqual(yield* from(direct, local), "200")
      assert.strictEqual(yield* from(direct, office), "403 IP_NOT_ALLOWED")
      assert.strictEqual(yield* from(direct, office, "203.0.113.9"), "403 IP_NOT_ALLOWED")
      assert.strictEqual(yield* from(behindProxy, office, "203.0.113.9"), "200")
      assert.strictEqual(yield* from(behindProxy, office, "2001:db8::1"), "200")
      assert.strictEqual(yield* from(behindProxy, office, "198.51.100.1"), "403 IP_NOT_ALLOWED")
      assert.strictEqual(yield* from(behindProxy, office, "203.0.113.9, 198.51.100.1"), "403 IP_NOT_ALLOWED")
      assert.strictEqual(yield* from(behindProxy, local, "198.51.100.1"), "403 IP_NOT_ALLOWED")
    }))

  it.effect("refuse what the other one revoked within 5 s, under calls that never pause: a key, a session, a wallet", () =>
    Effect.gen(function*() {
      const { behindProxy, direct, key } = yield* Pair
      const made = (yield* post(direct, key, "/api/v1/api-keys", { name: "k", scope: "merchant" })).json.data
      const out = yield* signIn(direct, 1)
      const unlinked = yield* signIn(behindProxy, 2)
      assert.notStrictEqual(out.merchant.id, unlinked.merchant.id)
      const bearer = ({ access_token }: { readonly access_token: string }) => ({
        authorization: `Bearer ${access_token}`
      })
      const calls = [{ "x-api-key": made.key }, bearer(out), bearer(unlinked)].map((headers) =>
        events(behindProxy, headers)
      )
      for (const call of calls) assert.strictEqual((yield* call).status, 200)
      yield* direct.call(`/api/v1/api-keys/${made.id}`, { method: "DELETE", headers: { "x-api-key": key } })
      yield* direct.call("/api/v1/auth/logout", { body: { refresh_token: out.refresh_token } })
      const client = yield* RpcClient.make(IdentityRpc)
      const [wallet] = yield* client["identity.wallets.list"]({ merchant_id: unlinked.merchant.id })
      yield* client["identity.wallets.unlink"]({ merchant_id: unlinked.merchant.id, wallet_id: wallet!.id })
      const times = yield* Effect.forEach(
        calls,
        (call, at) => refusedAfter(call, at === 0 ? "401 API_KEY_INVALID" : "401 TOKEN_INVALID"),
        { concurrency: 3 }
      )
      for (const time of times) assert.isBelow(time, revokedWithinMillis)
    }).pipe(
      Effect.provide(
        Layer.unwrap(
          Effect.map(Pair, ({ direct }) => InternalRpc.layer({ url: direct.rpcUrl, token: Redacted.make(rpcToken) }))
        )
      )
    ))

  it.effect("manage keys for internal services as for merchants", () =>
    Effect.gen(function*() {
      const { direct } = yield* Pair
      const client = yield* RpcClient.make(AuthRpc)
      const { id: merchant_id } = yield* client["auth.merchants.create"]({ name: "Inside" })
      const made = yield* client["auth.keys.create"]({
        merchant_id,
        name: "one",
        scope: "merchant",
        environment: "devnet",
        ip_allowlist: ["127.0.0.1"]
      })
      direct.guard(made.key)
      const changed = yield* client["auth.keys.change"]({ merchant_id, key_id: made.id, name: "two", ip_allowlist: [] })
      assert.deepInclude(changed, { name: "two", ip_allowlist: [], status: "active" })
      const rotated = yield* client["auth.keys.rotate"]({ merchant_id, key_id: made.id, overlap_seconds: 60 })
      direct.guard(rotated.key)
      const listed = yield* client["auth.keys.list"]({ merchant_id })
      assert.sameDeepMembers(
        listed.map(({ id, replaced_by, status }) => [id as string, status, replaced_by as string | null]),
        [
          [made.id as string, "rotating", rotated.id as string],
          [rotated.id as string, "active", null]
        ]
      )
      for (const key of [made.key, rotated.key]) {
        assert.strictEqual((yield* events(direct, { "x-api-key": key })).status, 200)
      }
    }).pipe(Effect.provide(Layer.unwrap(Effect.map(Pair, ({ direct }) =>
      InternalRpc.layer({ url: direct.rpcUrl, token: Redacted.make(rpcToken) }))))))

  it.effect("publish the same keys, with which anyone checks a token of either", () =>
    Effect.gen(function*() {
      const { behindProxy, direct } = yield* Pair
      const sets = yield* Effect.forEach([direct, behindProxy], ({ url }) => exchange(url, "/.well-known/jwks.json"))
      assert.deepStrictEqual(sets[0]!.json, sets[1]!.json)
      assert.notInclude(sets[0]!.text, "\"d\"")
    }))
})
