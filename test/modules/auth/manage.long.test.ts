/**
 * Goal: a merchant manages its own keys and nobody else's, a key is shown once, and what was rotated, revoked or bound
 * to an address opens exactly what it should. Method: the real routes and commit log over PostgreSQL, on virtual time.
 */
import { assert, layer } from "@effect/vitest"
import { Clock, Effect, Layer, Schema } from "effect"
import { HttpApi, HttpApiBuilder, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Keys } from "../../../modules/auth/actor.ts"
import { AuthApi } from "../../../modules/auth/api.ts"
import { handlers } from "../../../modules/auth/handlers.ts"
import { maximumKeys } from "../../../modules/auth/rules.ts"
import { migrations, tables } from "../../../modules/auth/migrations.ts"
import * as Actors from "../../../runtime/Actors.ts"
import { Credentials, CurrentPrincipal, MerchantAuth, WrappedErrors } from "../../../runtime/Http.ts"
import type { Principal } from "../../../schemas/Auth.ts"
import { publicError } from "../../../schemas/Errors.ts"
import { newestVersion } from "../../../schemas/Version.ts"
import { type Answer, Api, apiLayer, kernel, settingsLayer } from "../../support/Api.ts"
import * as Operations from "../../../runtime/Operations.ts"
import { solePerson } from "../../fixtures/authorities.ts"

/** Tells who is calling, in place of every other module's routes. */
class ProbeGroup extends HttpApiGroup.make("probe").add(
  HttpApiEndpoint.get("who", "/probe", { success: Schema.Struct({ merchant: Schema.Int, version: Schema.String }) })
).middleware(MerchantAuth).middleware(WrappedErrors) {}
class ProbeApi extends HttpApi.make("probe-api").add(ProbeGroup) {}

const probe = HttpApiBuilder.layer(ProbeApi).pipe(Layer.provide(
  Operations.group(
    ProbeApi,
    "probe",
    (group) =>
      group.handle(
        "who",
        () =>
          Effect.map(CurrentPrincipal, ({ apiVersion, merchantId }) => ({ merchant: merchantId, version: apiVersion }))
      )
  )
))

/** `wallet-<merchant>` is a token of that merchant's wallet, at home on devnet. */
const owners = Layer.effectDiscard(Effect.gen(function*() {
  const { register, registerBearer } = yield* Credentials
  yield* register((yield* Keys).verify)
  yield* registerBearer((token) => {
    const merchant = /^wallet-(\d+)$/.exec(token)?.[1]
    if (merchant === undefined) return Effect.fail(publicError("TOKEN_INVALID"))
    return Effect.succeed({
      merchantId: Number.parseInt(merchant, 10),
      environment: "devnet",
      scope: "merchant",
      kind: "wallet",
      credential: token,
      apiVersion: newestVersion,
      ...solePerson
    } as Principal)
  })
}))

const served = () =>
  Layer.fresh(apiLayer(
    [AuthApi, ProbeApi],
    Layer.mergeAll(HttpApiBuilder.layer(AuthApi).pipe(Layer.provide(handlers)), probe, owners).pipe(
      Layer.provideMerge(Keys.layer),
      Layer.provideMerge(Actors.layer)
    ),
    kernel([{ name: "auth", migrations, tables }], settingsLayer({ environments: ["devnet", "mainnet"] }))
  )) as Layer.Layer<Api | Keys | SqlClient.SqlClient>

type Credential = { readonly key: string } | { readonly wallet: number }

const headersOf = (credential: Credential): Record<string, string> =>
  "key" in credential ? { "x-api-key": credential.key } : { authorization: `Bearer wallet-${credential.wallet}` }

const call = (
  credential: Credential,
  method: string,
  path = "",
  body?: unknown,
  headers: Record<string, string> = {}
) =>
  Effect.flatMap(Api, (api) =>
    api.call(`/api/v1/api-keys${path}`, {
      method,
      headers: { ...headersOf(credential), ...headers },
      ...(body === undefined ? {} : { body })
    }))

const who = (key: string) => Effect.flatMap(Api, (api) => api.call("/probe", { headers: { "x-api-key": key } }))

const codeOf = ({ json, status }: Answer) => `${status} ${json?.error?.code ?? ""}`.trim()

const newMerchant = Effect.flatMap(Keys, (keys) => Effect.map(keys.createMerchant("Acme", null), ({ id }) => id))

const wanted = { name: "Server", scope: "merchant", environment: "devnet" } as const

/** A key of a new merchant. */
const aKey = (more: object = {}) =>
  Effect.gen(function*() {
    const wallet = yield* newMerchant
    const answer = yield* call({ wallet }, "POST", "", { ...wanted, ...more })
    return { wallet, ...answer.json.data } as {
      readonly wallet: number
      readonly id: string
      readonly key: string
      readonly api_version: string
    }
  })

layer(served())("API keys", (it) => {
  it.effect("are shown whole once, to who made them, and never again", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const wallet = yield* newMerchant
      const sent = { "idempotency-key": "one" }
      const made = yield* call({ wallet }, "POST", "", wanted, sent)
      const { created_at, id, key, ...rest } = made.json.data
      assert.deepStrictEqual(rest, {
        object: "api_key",
        name: "Server",
        prefix: key.slice(0, 12),
        last4: key.slice(-4),
        scope: "merchant",
        environment: "devnet",
        status: "active",
        permissions: ["read", "write", "refund"],
        expires_at: null,
        ip_allowlist: [],
        api_version: newestVersion,
        last_used_at: null,
        replaced_by: null,
        created_by: null
      })
      assert.match(key, /^mk_dev_/)
      assert.deepStrictEqual((yield* who(key)).json, { merchant: wallet, version: newestVersion })
      const again = yield* call({ wallet }, "POST", "", wanted, sent)
      assert.strictEqual(again.text, made.text)
      assert.strictEqual(again.headers.get("idempotent-replayed"), "true")
      const [listed, ...others] = (yield* call({ wallet }, "GET")).json.data.data
      assert.deepStrictEqual([listed, others], [{ id, created_at, ...rest }, []] as never)
      for (const table of ["api_keys", "idempotency"]) {
        const rows = yield* sql.unsafe<{ text: string }>(`SELECT t::text AS text FROM ${table} t`)
        for (const { text } of rows) assert.notInclude(text, key)
      }
    }))

  it.effect("are made once however often the call is sent, in whichever environment it makes them", () =>
    Effect.gen(function*() {
      const wallet = yield* newMerchant
      for (const environment of ["devnet", "mainnet"]) {
        const make = call({ wallet }, "POST", "", { ...wanted, environment }, { "idempotency-key": environment })
        const [first, second] = [yield* make, yield* make]
        assert.deepStrictEqual([second.text, second.headers.get("idempotent-replayed")], [first.text, "true"])
        const { json } = yield* call({ wallet }, "GET", `?environment=${environment}`)
        assert.deepStrictEqual(json.data.data.map(({ id }: { id: string }) => id), [first.json.data.id])
      }
    }))

  it.effect("with a wrong field are refused, each field by its name, and nothing is made", () =>
    Effect.gen(function*() {
      const wallet = yield* newMerchant
      const wrong: ReadonlyArray<readonly [object, string, string]> = [
        [{ name: "" }, "400 VALIDATION_ERROR", "name"],
        [{ name: "n".repeat(256) }, "400 VALIDATION_ERROR", "name"],
        [{ scope: "admin" }, "400 VALIDATION_ERROR", "scope"],
        [{ environment: "testnet" }, "400 INVALID_ENVIRONMENT", "environment"],
        [{ expires_at: 0 }, "400 VALIDATION_ERROR", "expires_at"],
        [{ expires_at: "tomorrow" }, "400 VALIDATION_ERROR", "expires_at"],
        [{ expires_at: 1.5 }, "400 VALIDATION_ERROR", "expires_at"],
        [{ ip_allowlist: "10.0.0.0/8" }, "400 VALIDATION_ERROR", "ip_allowlist"],
        [{ ip_allowlist: ["10.0.0.0/8", "10.0.0.0/33"] }, "400 VALIDATION_ERROR", "ip_allowlist.1"],
        [{ ip_allowlist: Array.from({ length: 51 }, () => "10.0.0.1") }, "400 VALIDATION_ERROR", "ip_allowlist"]
      ]
      for (const [field, code, param] of wrong) {
        const answer = yield* call({ wallet }, "POST", "", { ...wanted, ...field })
        assert.deepStrictEqual([codeOf(answer), answer.json.error.param], [code, param], JSON.stringify(field))
      }
      assert.deepStrictEqual((yield* call({ wallet }, "GET")).json.data.data, [])
      const iso = yield* call({ wallet }, "POST", "", { ...wanted, expires_at: "2100-01-01T00:00:00Z" })
      assert.strictEqual(iso.json.data.expires_at, 4_102_444_800)
    }))

  it.effect("do what their permissions say, and make no key that may do more", () =>
    Effect.gen(function*() {
      const { wallet } = yield* aKey()
      const make = (credential: Credential, permissions?: ReadonlyArray<string>) =>
        call(credential, "POST", "", { ...wanted, ...(permissions === undefined ? {} : { permissions }) })
      const writer = (yield* make({ wallet }, ["read", "write"])).json.data
      const child = (yield* make(writer)).json.data
      assert.deepStrictEqual(child.permissions, ["read", "write"], "all that its maker has")
      const refused = yield* make(writer, ["read", "refund"])
      assert.deepStrictEqual(
        [codeOf(refused), refused.json.error.param, refused.json.error.details.permissions],
        ["403 PERMISSION_DENIED", "permissions", ["read", "write"]]
      )
      const reader = (yield* make({ wallet }, ["read"])).json.data
      assert.strictEqual((yield* call(reader, "GET")).status, 200)
      const denied = yield* make(reader)
      assert.deepStrictEqual([codeOf(denied), denied.json.error.details.right], [
        "403 PERMISSION_DENIED",
        "keys:write"
      ])
      const rotated = yield* call({ wallet }, "POST", `/${reader.id}/rotate`, {})
      assert.deepStrictEqual(rotated.json.data.permissions, ["read"], "a rotation changes nothing else")
      for (const permissions of [[], ["admin"], "read"]) {
        assert.strictEqual(codeOf(yield* make({ wallet }, permissions as never)), "400 VALIDATION_ERROR")
      }
    }))

  it.effect("are managed by a wallet in both environments, by a merchant key in its own, by a commerce key never", () =>
    Effect.gen(function*() {
      const { id, key, wallet } = yield* aKey()
      const live = (yield* call({ wallet }, "POST", "", { ...wanted, environment: "mainnet" })).json.data
      const commerce = (yield* call({ key }, "POST", "", { ...wanted, scope: "commerce" })).json.data
      for (
        const [method, path, body] of [
          ["GET", ""],
          ["POST", "", wanted],
          ["PATCH", `/${id}`, {}],
          ["DELETE", `/${id}`],
          ["POST", `/${id}/rotate`, {}]
        ] as const
      ) {
        assert.strictEqual(codeOf(yield* call({ key: commerce.key }, method, path, body)), "403 SCOPE_MISMATCH", method)
      }
      const idsOf = (answer: Answer) => answer.json.data.data.map((one: { id: string }) => one.id)
      assert.sameMembers(idsOf(yield* call({ wallet }, "GET")), [id, commerce.id])
      assert.sameMembers(idsOf(yield* call({ wallet }, "GET", "?environment=mainnet")), [live.id])
      assert.sameMembers(idsOf(yield* call({ key }, "GET", "?environment=devnet")), [id, commerce.id])
      assert.sameMembers(idsOf(yield* call({ key: live.key }, "GET")), [live.id])
      assert.strictEqual(codeOf(yield* call({ key }, "GET", "?environment=mainnet")), "403 ENVIRONMENT_FORBIDDEN")
      assert.strictEqual(codeOf(yield* call({ key }, "GET", "?environment=x")), "400 INVALID_ENVIRONMENT")
      assert.strictEqual(
        codeOf(yield* call({ key }, "POST", "", { ...wanted, environment: "mainnet" })),
        "403 ENVIRONMENT_FORBIDDEN"
      )
      const { environment: _, ...own } = wanted
      assert.strictEqual((yield* call({ key: live.key }, "POST", "", own)).json.data.environment, "mainnet")
      assert.strictEqual(codeOf(yield* call({ key }, "DELETE", `/${live.id}`)), "404 NOT_FOUND")
      assert.strictEqual(codeOf(yield* call({ wallet }, "DELETE", `/${live.id}`)), "404 NOT_FOUND")
      assert.strictEqual((yield* call({ wallet }, "DELETE", `/${live.id}?environment=mainnet`)).status, 200)
    }))

  it.effect("of another merchant are as unknown as those that never were", () =>
    Effect.gen(function*() {
      const mine = yield* aKey()
      const theirs = yield* aKey()
      const unknown = "key_00000000-0000-4000-8000-000000000000"
      for (
        const [method, path, body] of [
          ["PATCH", "", { name: "x" }],
          ["DELETE", ""],
          ["POST", "/rotate", {}]
        ] as const
      ) {
        const bodies = yield* Effect.forEach([theirs.id, unknown, "nonsense"], (id) =>
          Effect.map(call({ key: mine.key }, method, `/${id}${path}`, body), ({ json, status }) =>
            JSON.stringify([status, { ...json.error, request_id: "" }])))
        assert.strictEqual(new Set(bodies).size, 1, method)
        assert.include(bodies[0]!, "NOT_FOUND")
      }
      for (const cursor of ["starting_after", "ending_before"]) {
        for (const id of [theirs.id, unknown, "nonsense"]) {
          assert.strictEqual(codeOf(yield* call({ key: mine.key }, "GET", `?${cursor}=${id}`)), "400 INVALID_CURSOR")
        }
      }
      assert.strictEqual((yield* who(theirs.key)).status, 200)
    }))

  it.effect("come in pages that meet without gap or repeat, in both directions", () =>
    Effect.gen(function*() {
      const { wallet } = yield* aKey()
      for (let made = 0; made < 6; made++) {
        // Two of each second: the order is also that of ids.
        if (made % 2 === 0) yield* TestClock.adjust("1 second")
        yield* call({ wallet }, "POST", "", wanted)
      }
      const page = (query: string) => Effect.map(call({ wallet }, "GET", query), ({ json }) => json.data)
      const all = (yield* page("")).data.map((one: { id: string }) => one.id)
      assert.strictEqual(all.length, 7)
      const walk = (cursor: string, first: string) =>
        Effect.gen(function*() {
          const seen: Array<string> = []
          let query = first
          for (;;) {
            const { data, has_more } = yield* page(`?limit=2${query}`)
            const ids: Array<string> = data.map((one: { id: string }) => one.id)
            seen.splice(cursor === "starting_after" ? seen.length : 0, 0, ...ids)
            if (!has_more) return seen
            query = `&${cursor}=${cursor === "starting_after" ? ids.at(-1) : ids[0]}`
          }
        })
      assert.deepStrictEqual(yield* walk("starting_after", ""), all)
      assert.deepStrictEqual(yield* walk("ending_before", `&ending_before=${all.at(-1)}`), all.slice(0, -1))
      assert.strictEqual(
        codeOf(yield* call({ wallet }, "GET", `?starting_after=${all[0]}&ending_before=${all[1]}`)),
        "400 INVALID_CURSOR"
      )
      for (const limit of ["0", "101", "x", "1.5"]) {
        assert.strictEqual(codeOf(yield* call({ wallet }, "GET", `?limit=${limit}`)), "400 INVALID_LIMIT")
      }
    }))

  it.effect("change in name, end, addresses and version; what was not sent stays", () =>
    Effect.gen(function*() {
      const { id, key, wallet } = yield* aKey({ expires_at: 4_000_000_000, ip_allowlist: ["10.0.0.0/8"] })
      assert.strictEqual(codeOf(yield* who(key)), "403 IP_NOT_ALLOWED")
      const change = (body: object) => call({ wallet }, "PATCH", `/${id}`, body)
      const named = (yield* change({ name: "New" })).json.data
      assert.deepInclude(named, { name: "New", expires_at: 4_000_000_000, ip_allowlist: ["10.0.0.0/8"] })
      assert.notProperty(named, "key")
      const open = (yield* change({ expires_at: null, ip_allowlist: [] })).json.data
      assert.deepInclude(open, { name: "New", expires_at: null, ip_allowlist: [] })
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual((yield* who(key)).json.version, newestVersion)
      assert.strictEqual((yield* change({ api_version: "2026-01-15" })).json.data.api_version, "2026-01-15")
      yield* TestClock.adjust("2 seconds")
      const pinned = yield* who(key)
      assert.deepStrictEqual([pinned.json.version, pinned.headers.get("x-service-version")], [
        "2026-01-15",
        "2026-01-15"
      ])
      const bad = yield* change({ api_version: "2020-01-01" })
      assert.deepStrictEqual([codeOf(bad), bad.json.error.param], ["400 INVALID_VERSION", "api_version"])
      yield* call({ wallet }, "DELETE", `/${id}`)
      assert.strictEqual(codeOf(yield* change({ name: "Late" })), "409 INVALID_TRANSITION")
    }))

  it.effect("rotate: the new one at once, the old one until the overlap ends, and only one rotation of many wins", () =>
    Effect.gen(function*() {
      const old = yield* aKey({ ip_allowlist: [] })
      yield* call({ wallet: old.wallet }, "PATCH", `/${old.id}`, { api_version: "2026-01-15" })
      const rotations = yield* Effect.forEach(
        Array.from({ length: 10 }),
        () => call({ wallet: old.wallet }, "POST", `/${old.id}/rotate`, { overlap_seconds: 60 }),
        { concurrency: 10 }
      )
      const [won, ...others] = rotations.toSorted((a, b) => a.status - b.status)
      assert.deepStrictEqual(others.map(codeOf), others.map(() => "409 INVALID_TRANSITION"))
      const made = won!.json.data
      assert.deepInclude(made, {
        name: "Server",
        status: "active",
        api_version: "2026-01-15",
        previous_key_id: old.id
      })
      assert.strictEqual((yield* who(made.key)).json.merchant, old.wallet)
      assert.strictEqual((yield* who(old.key)).status, 200)
      const listed = (yield* call({ wallet: old.wallet }, "GET")).json.data.data
      const before = listed.find(({ id }: { id: string }) => id === old.id)
      assert.deepInclude(before, { status: "rotating", replaced_by: made.id, expires_at: made.previous_key_expires_at })
      yield* TestClock.adjust("59 seconds")
      assert.strictEqual((yield* who(old.key)).status, 200)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(codeOf(yield* who(old.key)), "401 API_KEY_INVALID")
      assert.strictEqual((yield* who(made.key)).status, 200)
      for (const overlap_seconds of [-1, 604_801, 0.5, "60"]) {
        const bad = yield* call({ wallet: old.wallet }, "POST", `/${made.id}/rotate`, { overlap_seconds })
        assert.strictEqual(codeOf(bad), "400 VALIDATION_ERROR")
      }
      const now = (yield* call({ wallet: old.wallet }, "POST", `/${made.id}/rotate`, { overlap_seconds: 0 })).json.data
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(codeOf(yield* who(made.key)), "401 API_KEY_INVALID")
      assert.strictEqual((yield* who(now.key)).status, 200)
    }))

  it.effect("are refused within 2 s of being revoked, and revoking twice is the same as once", () =>
    Effect.gen(function*() {
      const { id, key, wallet } = yield* aKey()
      assert.strictEqual((yield* who(key)).status, 200)
      const revoked = yield* call({ key }, "DELETE", `/${id}`)
      assert.strictEqual(revoked.json.data.status, "revoked")
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(codeOf(yield* who(key)), "401 API_KEY_INVALID")
      assert.deepStrictEqual((yield* call({ wallet }, "DELETE", `/${id}`)).json, revoked.json)
      assert.strictEqual(codeOf(yield* call({ wallet }, "POST", `/${id}/rotate`, {})), "409 INVALID_TRANSITION")
    }))

  it.effect("end at their end, to the second, however recently they were used", () =>
    Effect.gen(function*() {
      const wallet = yield* newMerchant
      const now = yield* Effect.map(call({ wallet }, "POST", "", wanted), ({ json }) => json.data.created_at as number)
      const { key } = (yield* call({ wallet }, "POST", "", { ...wanted, expires_at: now + 10 })).json.data
      yield* TestClock.adjust("9 seconds")
      assert.strictEqual((yield* who(key)).status, 200)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(codeOf(yield* who(key)), "401 API_KEY_INVALID")
      const [ended] = (yield* call({ wallet }, "GET")).json.data.data.filter((one: { expires_at: number }) =>
        one.expires_at !== null
      )
      assert.strictEqual(ended.status, "expired")
    }))

  it.effect(`in use are at most ${maximumKeys}, exactly, however many are made at once`, () =>
    Effect.gen(function*() {
      const { id, wallet } = yield* aKey()
      const some = yield* Effect.forEach(
        Array.from({ length: maximumKeys + 20 }),
        () => Effect.map(call({ wallet }, "POST", "", wanted), codeOf),
        { concurrency: 8 }
      )
      // Whoever lost its turn too often is told to come again.
      yield* Effect.forEach(some.filter((code) => code === "503 SERVICE_UNAVAILABLE"), () =>
        call({ wallet }, "POST", "", wanted))
      const sql = yield* SqlClient.SqlClient
      const [row] = yield* sql<
        { n: bigint }
      >`SELECT count(*) AS n FROM api_keys WHERE merchant_id = ${wallet} AND status = 'active'`
      assert.strictEqual(Number(row!.n), maximumKeys)
      assert.include(some, "409 API_KEY_LIMIT_REACHED")
      assert.strictEqual(codeOf(yield* call({ wallet }, "POST", "", wanted)), "409 API_KEY_LIMIT_REACHED")

      // A key that lives on beside its successor is one more: many rotations make no more keys than many calls to make
      // one.
      const second = Math.floor((yield* Clock.currentTimeMillis) / 1000)
      const live = sql<{ id: string }>`SELECT id FROM api_keys
        WHERE merchant_id = ${wallet} AND status = 'active' AND (expires_at IS NULL OR expires_at > ${second})`
      const rotations = yield* Effect.forEach(
        (yield* live).slice(0, 60),
        (key) =>
          call({ wallet }, "POST", `/${key.id}/rotate`, { overlap_seconds: 604_800 }),
        { concurrency: 8 }
      )
      assert.deepStrictEqual(new Set(rotations.map(codeOf)), new Set(["409 API_KEY_LIMIT_REACHED"]))
      assert.include(rotations[0]!.json.error.message, "overlap_seconds 0")
      // One that ends at once takes no place, so a full merchant can still replace a key that leaked.
      const replaced = yield* call({ wallet }, "POST", `/${id}/rotate`, { overlap_seconds: 0 })
      assert.strictEqual(replaced.status, 200, replaced.text)
      // With one place free, one of many rotations at once gets it.
      yield* call({ wallet }, "DELETE", `/${replaced.json.data.id}`)
      const last = yield* Effect.forEach(
        (yield* live).slice(0, 12),
        (key) => call({ wallet }, "POST", `/${key.id}/rotate`, { overlap_seconds: 60 }),
        { concurrency: 12 }
      )
      assert.strictEqual(last.filter(({ status }) => status === 200).length, 1, last.map(codeOf).join())
      assert.lengthOf(yield* live, maximumKeys)
    }))

  it.effect("that were rotated have one predecessor in use, whose promised time no later rotation shortens", () =>
    Effect.gen(function*() {
      const first = yield* aKey()
      const { wallet } = first
      const rotate = (id: string, overlap_seconds: number) =>
        call({ wallet }, "POST", `/${id}/rotate`, { overlap_seconds })
      const second = (yield* rotate(first.id, 600)).json.data
      const refused = yield* rotate(second.id, 60)
      assert.strictEqual(codeOf(refused), "409 INVALID_TRANSITION")
      assert.include(refused.json.error.message, first.id)
      assert.deepInclude(refused.json.error.details, {
        previous_key_id: first.id,
        previous_key_expires_at: second.previous_key_expires_at
      })
      // The successor leaked: it ends at once, and the servers that still use the first key notice nothing.
      const third = (yield* rotate(second.id, 0)).json.data
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual((yield* who(first.key)).status, 200)
      assert.strictEqual(codeOf(yield* who(second.key)), "401 API_KEY_INVALID")
      assert.strictEqual((yield* who(third.key)).status, 200)
      // It is still the one predecessor in use, though the key between them is gone.
      assert.include((yield* rotate(third.id, 60)).json.error.message, first.id)
      yield* call({ wallet }, "DELETE", `/${first.id}`)
      const fourth = (yield* rotate(third.id, 60)).json.data
      yield* TestClock.adjust("60 seconds")
      assert.strictEqual((yield* rotate(fourth.id, 60)).status, 200)
    }))

  it.effect("tell what made them; a revoked one shows the keys in use that it made, and takes them along where asked", () =>
    Effect.gen(function*() {
      const owner = yield* aKey()
      const { wallet } = owner
      const make = (by: Credential, name: string) =>
        Effect.map(call(by, "POST", "", { ...wanted, name }), (made) => made.json.data)
      const leaked = yield* make({ key: owner.key }, "leaked")
      assert.deepStrictEqual([leaked.created_by, (yield* make({ wallet }, "by the wallet")).created_by], [
        owner.id,
        null
      ])
      const child = yield* make({ key: leaked.key }, "child")
      const gone = yield* make({ key: leaked.key }, "gone")
      const grandchild = yield* make({ key: gone.key }, "grandchild")
      yield* call({ wallet }, "DELETE", `/${gone.id}`)
      // A key that another one rotates is known to that other one.
      const before = yield* make({ wallet }, "rotated by the leaked one")
      const taken = (yield* call({ key: leaked.key }, "POST", `/${before.id}/rotate`, { overlap_seconds: 0 })).json.data
      assert.strictEqual(taken.created_by, leaked.id)

      const childrenOf = (answer: Answer) =>
        answer.json.data.child_keys.map(({ id, status }: { id: string; status: string }) => `${id} ${status}`)
      const made = [child.id, grandchild.id, taken.id]
      const shown = yield* call({ key: owner.key }, "DELETE", `/${leaked.id}`)
      assert.strictEqual(shown.json.data.status, "revoked")
      assert.sameMembers(childrenOf(shown), made.map((id) => `${id} active`))
      for (const one of [child, grandchild, taken]) {
        assert.strictEqual((yield* who(one.key)).status, 200)
        assert.notInclude(shown.text, one.key)
      }
      assert.strictEqual(
        codeOf(yield* call({ wallet }, "DELETE", `/${leaked.id}`, { child_keys: "all" })),
        "400 VALIDATION_ERROR"
      )
      // Also after the key itself was revoked, which comes first in an emergency.
      const sent = { "idempotency-key": "take-along" }
      const along = yield* call({ wallet }, "DELETE", `/${leaked.id}`, { child_keys: "revoke" }, sent)
      assert.sameMembers(childrenOf(along), made.map((id) => `${id} revoked`))
      const again = yield* call({ wallet }, "DELETE", `/${leaked.id}`, { child_keys: "revoke" }, sent)
      assert.strictEqual(again.text, along.text)
      assert.strictEqual(
        codeOf(yield* call({ wallet }, "DELETE", `/${leaked.id}`, { child_keys: "keep" }, sent)),
        "422 IDEMPOTENCY_KEY_REUSED"
      )
      yield* TestClock.adjust("2 seconds")
      for (const one of [child, grandchild, taken]) {
        assert.strictEqual(codeOf(yield* who(one.key)), "401 API_KEY_INVALID")
      }
      assert.strictEqual((yield* who(owner.key)).status, 200)
      assert.deepStrictEqual(childrenOf(yield* call({ wallet }, "DELETE", `/${leaked.id}`)), [])
    }))

  it.effect("cannot be made or rotated by a key that was revoked a moment ago and is still remembered as good", () =>
    Effect.gen(function*() {
      const owner = yield* aKey()
      const other = (yield* call({ wallet: owner.wallet }, "POST", "", wanted)).json.data
      assert.strictEqual((yield* who(owner.key)).status, 200)
      yield* call({ wallet: owner.wallet }, "DELETE", `/${owner.id}`)
      // Its credential is remembered for 2 s; what it made then would escape the revocation.
      assert.strictEqual(codeOf(yield* call({ key: owner.key }, "GET")), "200")
      assert.strictEqual(codeOf(yield* call({ key: owner.key }, "POST", "", wanted)), "401 API_KEY_INVALID")
      assert.strictEqual(
        codeOf(yield* call({ key: owner.key }, "POST", `/${other.id}/rotate`, {})),
        "401 API_KEY_INVALID"
      )
      const { data } = (yield* call({ wallet: owner.wallet }, "GET")).json.data
      assert.lengthOf(data, 2)
    }))
})

layer(served())("the last use of a key", (it) => {
  it.effect("is noted once a minute, however often it is used, and never goes back", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const { key, wallet } = yield* aKey()
      const lastUsed = Effect.map(
        call({ wallet }, "GET"),
        ({ json }) => json.data.data[0].last_used_at as number | null
      )
      const noted = (at: number) =>
        Effect.gen(function*() {
          // The note is written on the real clock: looked for until it is there.
          for (;;) {
            const found = yield* lastUsed
            if (found === at) return
            yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
          }
        })
      for (let second = 0; second < 30; second++) {
        yield* who(key)
        yield* TestClock.adjust("1 second")
      }
      assert.isNull(yield* lastUsed)
      const [version] = yield* sql`SELECT version FROM api_keys`
      yield* TestClock.adjust("30 seconds")
      yield* noted(28)
      assert.deepStrictEqual((yield* sql`SELECT version FROM api_keys`)[0], version)
      yield* sql`UPDATE api_key_uses SET used_at = 1000`
      yield* who(key)
      yield* TestClock.adjust("60 seconds")
      yield* noted(1_000)
    }))
})
