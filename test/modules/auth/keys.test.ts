import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Console, Context, Effect, Layer, Logger } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Keys } from "../../../modules/auth/actor.ts"
import { Merchants } from "../../../modules/auth/service.ts"
import { maximumKeys } from "../../../modules/auth/rules.ts"
import { demoStore } from "../../../modules/auth/handlers.ts"
import { migrations, tables } from "../../../modules/auth/migrations.ts"
import * as Actors from "../../../runtime/Actors.ts"
import { credentials } from "../../../runtime/http/Authentication.ts"
import { demoKeysFile } from "../../../runtime/Settings.ts"
import { Credentials } from "../../../runtime/Http.ts"
import { kernel, settingsLayer, type TestTables } from "../../support/Api.ts"
import { operatorKey } from "../../fixtures/authorities.ts"

const auth: TestTables = { name: "auth", migrations, tables }

const registered = Layer.effectDiscard(Effect.gen(function*() {
  yield* (yield* Credentials).register((yield* Keys).verify)
}))

const layerWith = (settings = settingsLayer({ environments: ["devnet", "mainnet"] })) =>
  registered.pipe(
    Layer.provideMerge(Layer.mergeAll(Keys.layer, Merchants.layer, credentials)),
    Layer.provideMerge(Actors.layer),
    Layer.provideMerge(kernel([auth], settings)),
    Layer.provideMerge(NodeServices.layer)
  ) as Layer.Layer<
    | Keys
    | Merchants
    | Credentials
    | SqlClient.SqlClient
    | Layer.Success<ReturnType<typeof kernel>>
    | Layer.Success<typeof NodeServices.layer>
  >

/** A second instance: locks of its own, over the same database and commit log. */
const anotherInstance = Effect.map(
  Layer.build(Layer.fresh(Keys.layer.pipe(Layer.provide(Layer.fresh(Actors.layer))))),
  Context.get(Keys)
)

const newKey = { name: "k", scope: "merchant", environment: "mainnet", expiresAt: null } as const

describe("keys", () => {
  it.effect("that a key makes on one instance while another one revokes it with all it made, do not outlive it", () =>
    Effect.gen(function*() {
      const here = yield* Keys
      const there = yield* anotherInstance
      const { id: merchantId } = yield* here.createMerchant("Acme", null)
      for (let round = 0; round < 10; round++) {
        const maker = (yield* here.create({ ...newKey, merchantId })).state
        const child = { ...newKey, merchantId, creatorKey: maker.id }
        const name = { merchantId, environment: null, id: maker.id }
        const made = Effect.forEach([1, 2, 3], () => Effect.exit(there.create(child)), { concurrency: 3 })
        const [revoked] = yield* Effect.all([
          Effect.retry(here.revoke(name, "revoke"), { while: ({ code }) => code === "SERVICE_UNAVAILABLE" }),
          made
        ], { concurrency: 2 })
        assert.strictEqual(revoked.state.status, "revoked")
        const mine = (yield* here.list(merchantId)).filter(({ creatorKey }) => creatorKey === maker.id)
        assert.deepStrictEqual(mine.filter(({ status }) => status === "active"), [])
      }
    }).pipe(Effect.provide(layerWith())))

  it.effect("rotated on two instances at once come to no more than the limit in use", () =>
    Effect.gen(function*() {
      const here = yield* Keys
      const there = yield* anotherInstance
      const { id: merchantId } = yield* here.createMerchant("Acme", null)
      const made = yield* Effect.forEach(
        Array.from({ length: maximumKeys - 1 }),
        () => here.create({ ...newKey, merchantId }),
        { concurrency: 4 }
      )
      const rotate = (keys: typeof here, at: number) =>
        keys.rotate(
          { merchantId, environment: null, id: made[at]!.state.id },
          { overlapSeconds: 60, creatorKey: null, manager: null }
        ).pipe(Effect.match({ onSuccess: () => "rotated", onFailure: ({ code }) => code }))
      for (let round = 0; round < 5; round++) {
        const outcomes = yield* Effect.all([rotate(here, 2 * round), rotate(there, 2 * round + 1)], { concurrency: 2 })
        assert.sameMembers<string>(outcomes, ["rotated", "API_KEY_LIMIT_REACHED"])
        yield* TestClock.adjust("60 seconds")
      }
    }).pipe(Effect.provide(layerWith())))

  it.effect("say whose they are, and are refused within 5 s of being revoked or at once when expired", () =>
    Effect.gen(function*() {
      const keys = yield* Keys
      const { verify } = yield* Credentials
      const merchant = yield* keys.createMerchant("Acme", null)
      const made = yield* keys.create({ ...newKey, merchantId: merchant.id })
      const principal = yield* verify(made.key)
      assert.deepStrictEqual(principal, {
        merchantId: merchant.id,
        environment: "mainnet",
        scope: "merchant",
        kind: "key",
        credential: made.state.id,
        apiVersion: made.state.apiVersion,
        keyName: "k",
        ...operatorKey
      } as never)
      const revoked = yield* keys.revoke({ merchantId: merchant.id, environment: null, id: made.state.id })
      assert.strictEqual(revoked.state.status, "revoked")
      assert.deepStrictEqual(
        yield* keys.revoke({ merchantId: merchant.id, environment: null, id: made.state.id }),
        revoked
      )
      yield* TestClock.adjust("5 seconds")
      assert.isNull(yield* verify(made.key))
      assert.isNull(yield* verify(`${made.key.slice(0, -1)}${made.key.endsWith("0") ? "1" : "0"}`))
      const brief = yield* keys.create({ ...newKey, merchantId: merchant.id, expiresAt: 10 })
      assert.isNotNull(yield* verify(brief.key))
      yield* TestClock.adjust("10 seconds")
      assert.isNull(yield* verify(brief.key))
    }).pipe(Effect.provide(layerWith())))

  it.effect("are kept as hashes only, and belong to their merchant", () =>
    Effect.gen(function*() {
      const keys = yield* Keys
      const sql = yield* SqlClient.SqlClient
      const mine = yield* keys.createMerchant("Mine", "me@example.com")
      const other = yield* keys.createMerchant("Other", null)
      const made = yield* keys.create({ ...newKey, merchantId: mine.id })
      const rows = yield* sql`SELECT * FROM api_keys`
      assert.notInclude(JSON.stringify(rows, (_, value) => typeof value === "bigint" ? String(value) : value), made.key)
      assert.strictEqual((yield* keys.list(mine.id)).length, 1)
      assert.strictEqual((yield* keys.list(other.id)).length, 0)
      const stolen = yield* Effect.flip(keys.revoke({ merchantId: other.id, environment: null, id: made.state.id }))
      assert.strictEqual(stolen.code, "NOT_FOUND")
      assert.strictEqual((yield* Effect.flip(keys.create({ ...newKey, merchantId: 999 }))).code, "NOT_FOUND")
      const merchants = yield* Merchants
      assert.strictEqual((yield* merchants.get(mine.id))?.email, "me@example.com")
      assert.isUndefined(yield* merchants.get(999))
    }).pipe(Effect.provide(layerWith())))

  it.effect("of an environment that is not served are not made", () =>
    Effect.gen(function*() {
      const keys = yield* Keys
      const { id } = yield* keys.createMerchant("Acme", null)
      const refused = yield* Effect.flip(keys.create({ ...newKey, merchantId: id }))
      assert.strictEqual(refused.code, "MAINNET_NOT_ENABLED")
    }).pipe(Effect.provide(layerWith(settingsLayer()))))
})

describe("the demo store", () => {
  const directory = mkdtempSync(join(tmpdir(), "till-demo-"))
  const lines: Array<string> = []
  const logs: Array<string> = []
  const quietly = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    effect.pipe(
      Effect.provideService(Console.Console, { ...console, log: (line: string) => void lines.push(line) } as never),
      Effect.provide(Logger.layer([Logger.make(({ message }) => void logs.push(JSON.stringify(message)))]))
    )

  it.live("is made once by two instances that start together, told once, and kept in a private file", () =>
    Effect.gen(function*() {
      yield* quietly(Effect.all([demoStore, demoStore], { concurrency: 2 }))
      yield* quietly(demoStore)
      const sql = yield* SqlClient.SqlClient
      assert.strictEqual((yield* sql`SELECT 1 FROM merchants`).length, 1)
      assert.strictEqual((yield* sql`SELECT 1 FROM api_keys`).length, 2)
      const file = join(directory, demoKeysFile)
      assert.strictEqual(statSync(file).mode & 0o777, 0o600)
      const told = JSON.parse(readFileSync(file, "utf8"))
      const { verify } = yield* Credentials
      assert.strictEqual((yield* verify(told.merchant_key))?.scope, "merchant")
      assert.strictEqual((yield* verify(told.commerce_key))?.scope, "commerce")
      assert.strictEqual(lines.length, 1)
      assert.include(lines[0]!, `curl -X POST http://till.test/api/v1/invoices`)
      assert.include(lines[0]!, told.merchant_key)
      assert.notInclude(logs.join(), told.merchant_key)
      rmSync(directory, { recursive: true })
    }).pipe(Effect.provide(layerWith(settingsLayer({ dataDirectory: directory })))))

  it.live("is never made where only mainnet is served", () =>
    Effect.gen(function*() {
      yield* quietly(demoStore)
      const sql = yield* SqlClient.SqlClient
      assert.strictEqual((yield* sql`SELECT 1 FROM merchants`).length, 0)
    }).pipe(Effect.provide(layerWith(settingsLayer({ environments: ["mainnet"], dataDirectory: directory })))))
})
