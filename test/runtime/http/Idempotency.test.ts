import { assert, describe, it as test, layer } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { canonicalJson, sha256 } from "../../../runtime/http/CanonicalJson.ts"
import { readKey } from "../../../runtime/http/Idempotency.ts"
import { boundPath } from "../../../runtime/http/Paths.ts"
import { pruneOnce } from "../../../runtime/http/Replies.ts"
import { fromMasters, Secrets } from "../../../runtime/Secrets.ts"
import { uuidOf } from "../../../runtime/Uuid.ts"
import { type Answer, Api, apiLayer, kernel, settingsLayer } from "../../support/Api.ts"
import { connect, databaseLayer, migratedDatabase } from "../../support/Database.ts"
import { runs, things, ThingsApi, thingsLayer } from "./ThingsPlugin.ts"

const served = apiLayer([ThingsApi], thingsLayer, kernel([things]))

const headers = (key: string, caller = "merchant-a") => ({ "x-api-key": caller, "idempotency-key": key })

const codeOf = (answer: Answer) => answer.json.error.code as string

/** Lets everything that is ready have its turn, sockets included. */
const turn = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))

/** Runs `work` and says how often a handler ran meanwhile. */
const countingRuns = <A, E, R>(work: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const before = runs.count
    return Effect.map(work, (value) => [value, runs.count - before] as const)
  })

describe("idempotency keys", () => {
  test("take 1 to 255 visible ASCII characters, quoted or not, and nothing else", () => {
    for (const key of ["a", "x".repeat(255), "0b4c4f6e-7f38-4a8e-9d55-3d2f9d1f0a11", "!~", "a,b", "\""]) {
      assert.strictEqual(readKey(key), key)
    }
    assert.strictEqual(readKey("\"abc\""), "abc")
    for (const key of ["", "x".repeat(256), "a b", "1, 2", "\ttab", "é", "\u{1f600}", "\"\"", "a\u0000"]) {
      assert.strictEqual(readKey(key), undefined)
    }
  })

  test("belong to a path as it is routed", () => {
    assert.strictEqual(boundPath("/a/b?c=d"), "/a/b")
    assert.strictEqual(boundPath("//a///b"), "//a///b")
  })
})

layer(served as Layer.Layer<Api | SqlClient.SqlClient | Secrets>)("idempotent requests", (it) => {
  it.effect("100 concurrent posts of one key have one effect and one reply, byte for byte", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const sql = yield* SqlClient.SqlClient
      for (const [group, key] of [["things", "race-1"], ["flat-things", "race-2"]] as const) {
        const [answers, ran] = yield* countingRuns(Effect.forEach(
          Array.from({ length: 100 }),
          () => call(`/api/v1/${group}`, { body: { id: key }, headers: headers(key) }),
          { concurrency: "unbounded" }
        ))
        assert.strictEqual(ran, 1)
        assert.deepStrictEqual([...new Set(answers.map(({ status }) => status))], [200])
        assert.strictEqual(new Set(answers.map(({ text }) => text)).size, 1)
        assert.strictEqual(answers.filter((answer) => !answer.headers.has("idempotent-replayed")).length, 1)
        assert.strictEqual((yield* sql`SELECT 1 FROM things WHERE id = ${key}`).length, 1)
      }
    }))

  it.effect("a repeat gets the same bytes, also with other white space and key order, and says that it is one", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const first = yield* call("/api/v1/things", { body: "{\"id\":\"r1\",\"amount\":10}", headers: headers("r1") })
      for (const body of ["{\"id\":\"r1\",\"amount\":10}", " { \"amount\" : 1e1 , \"id\":\"\\u0072\\u0031\"} "]) {
        const again = yield* call("/api/v1/things", { body, headers: headers("r1") })
        assert.strictEqual(again.text, first.text)
        assert.strictEqual(again.status, first.status)
        assert.strictEqual(again.headers.get("idempotent-replayed"), "true")
      }
      assert.isNull(first.headers.get("idempotent-replayed"))
    }))

  it.effect("another body under the same key is refused, in both families", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      yield* call("/api/v1/things", { body: { id: "b1" }, headers: headers("b1") })
      const wrapped = yield* call("/api/v1/things", { body: { id: "b2" }, headers: headers("b1") })
      assert.deepStrictEqual([wrapped.status, codeOf(wrapped)], [422, "IDEMPOTENCY_KEY_REUSED"])
      yield* call("/api/v1/flat-things", { body: { id: "b3" }, headers: headers("b1") })
      const flat = yield* call("/api/v1/flat-things", { body: {}, headers: headers("b1") })
      assert.deepStrictEqual([flat.status, flat.json.code], [422, "IDEMPOTENCY_KEY_REUSED"])
    }))

  it.effect("a key belongs to one merchant, environment, method and path", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const send = (path: string, caller: string, id: string) =>
        call(path, { body: { id }, headers: headers("scoped", caller) })
      const [, ran] = yield* countingRuns(Effect.all([
        send("/api/v1/things", "merchant-a", "s1"),
        send("/api/v1/things", "merchant-b", "s2"),
        send("/api/v1/flat-things", "merchant-a", "s3"),
        send("/api/v1/things/x/ok", "merchant-a", "s4"),
        send("/api/v1/things/y/ok", "merchant-a", "s5")
      ]))
      assert.strictEqual(ran, 5)
      const [answer, again] = yield* countingRuns(send("/api/v1/%74hings", "merchant-a", "s1"))
      assert.strictEqual(again, 0)
      assert.strictEqual(answer.status, 200)
    }))

  it.effect("a key of commerce scope is never given what a merchant's was answered, nor the other way round", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const send = (path: string, caller: string, key: string, body?: object) =>
        call(path, { method: "POST", headers: headers(key, caller), ...(body === undefined ? {} : { body }) })
      for (const [first, second] of [["merchant-a", "commerce-a"], ["commerce-a", "merchant-a"]] as const) {
        const key = `shared-${first}`
        const requests = [["/api/v1/things", { id: key }], [`/api/v1/things/${key}/ok`]] as const
        for (const [path, body] of requests) {
          const own = yield* send(path, first, key, body)
          const [other, ran] = yield* countingRuns(send(path, second, key, body))
          assert.deepStrictEqual([own.status, other.status, ran], [200, 422, 0])
          assert.strictEqual(codeOf(other), "IDEMPOTENCY_KEY_REUSED")
          assert.strictEqual((yield* send(path, first, key, body)).text, own.text)
        }
      }
    }))

  it.effect("a missing key is refused where one is required, a malformed one everywhere, before the body is judged", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const missing = yield* call("/api/v1/things", { body: "{", headers: { "x-api-key": "merchant-a" } })
      assert.deepStrictEqual([missing.status, codeOf(missing)], [400, "IDEMPOTENCY_KEY_MISSING"])
      const none = yield* call("/api/v1/things/x/ok", { method: "POST", headers: { "x-api-key": "merchant-a" } })
      assert.strictEqual(none.status, 200)
      for (const path of ["/api/v1/things", "/api/v1/things/x/ok"]) {
        for (const key of ["1, 2", "x".repeat(256), ""]) {
          const answer = yield* call(path, { body: "{", headers: headers(key) })
          assert.deepStrictEqual([answer.status, codeOf(answer)], [400, "IDEMPOTENCY_KEY_INVALID"])
        }
      }
    }))

  it.effect("what running decided is kept (2xx, 409, 422), what it did not is not (400, 403, 404, 5xx)", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const post = (ending: string) =>
        call(`/api/v1/things/x/${ending}`, { body: {}, headers: headers(`ending-${ending}`) })
      for (const ending of ["ok", "INVALID_TRANSITION", "ROUTE_LOCKED", "IDEMPOTENCY_KEY_REUSED"]) {
        const [[first, second], ran] = yield* countingRuns(Effect.all([post(ending), post(ending)]))
        assert.strictEqual(ran, 1, ending)
        assert.strictEqual(second.text, first.text)
        assert.strictEqual(second.status, first.status)
        assert.strictEqual(second.headers.get("idempotent-replayed"), "true")
      }
      for (const ending of ["VALIDATION_ERROR", "SCOPE_MISMATCH", "NOT_FOUND", "SERVICE_UNAVAILABLE", "defect"]) {
        const [[first, second], ran] = yield* countingRuns(Effect.all([post(ending), post(ending)]))
        assert.strictEqual(ran, 2, ending)
        assert.strictEqual(second.status, first.status)
      }
      const invalid = yield* call("/api/v1/things", { body: { id: 1 }, headers: headers("mended") })
      assert.strictEqual(codeOf(invalid), "VALIDATION_ERROR")
      const mended = yield* call("/api/v1/things", { body: { id: "mended" }, headers: headers("mended") })
      assert.strictEqual(mended.status, 200)
    }))

  it.effect("a second request waits 5 s for the first, then is told to try again", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const open = yield* Deferred.make<void>()
      runs.gate = Deferred.await(open)
      const post = call("/api/v1/things/x/slow", { body: {}, headers: headers("slow") })
      const before = runs.count
      const first = yield* Effect.forkChild(post)
      while (runs.count === before) yield* turn
      const waiting = yield* Effect.forkChild(post)
      let waited = 0
      for (; waiting.pollUnsafe() === undefined; waited++) yield* Effect.andThen(turn, TestClock.adjust("1 second"))
      assert.isAtLeast(waited, 5)
      const second = yield* Fiber.join(waiting)
      assert.deepStrictEqual([second.status, codeOf(second)], [409, "IDEMPOTENCY_REQUEST_IN_PROGRESS"])
      assert.strictEqual(second.headers.get("retry-after"), "1")
      const third = yield* Effect.forkChild(post)
      yield* Deferred.succeed(open, undefined)
      runs.gate = Effect.void
      const [one, other] = [yield* Fiber.join(first), yield* Fiber.join(third)]
      assert.strictEqual(one.status, 200)
      assert.strictEqual(other.text, one.text)
      assert.strictEqual(runs.count, before + 1)
    }))

  it.effect("a race lost to another process answers the winner's reply, and writes nothing of the loser", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const sql = yield* SqlClient.SqlClient
      const secrets = yield* Secrets
      const open = yield* Deferred.make<void>()
      runs.gate = Deferred.await(open)
      const before = runs.count
      const post = call("/api/v1/things", { body: { id: "lost" }, headers: headers("lost") })
      const slow = yield* Effect.forkChild(post)
      while (runs.count === before) yield* turn
      const winner = "{\"id\":\"lost\",\"run\":\"elsewhere\"}"
      yield* sql`INSERT INTO idempotency ${
        sql.insert({
          merchant_id: 1,
          environment: "devnet",
          scope: "POST /api/v1/things lost",
          fingerprint: sha256(canonicalJson({ id: "lost" })),
          status: 200,
          sealed_body: secrets.seal("reply", winner)
        })
      }`
      yield* Deferred.succeed(open, undefined)
      runs.gate = Effect.void
      const answer = yield* Fiber.join(slow)
      assert.strictEqual(answer.text, winner)
      assert.strictEqual(answer.headers.get("idempotent-replayed"), "true")
      assert.strictEqual((yield* sql`SELECT 1 FROM things WHERE id = 'lost'`).length, 0)
    }))

  it.effect("a conflict of the handler's own commit is kept as the reply", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      yield* call("/api/v1/things", { body: { id: "taken" }, headers: headers("taken-1") })
      const [[first, second], ran] = yield* countingRuns(Effect.all([
        call("/api/v1/things", { body: { id: "taken" }, headers: headers("taken-2") }),
        call("/api/v1/things", { body: { id: "taken" }, headers: headers("taken-2") })
      ]))
      assert.strictEqual(ran, 1)
      assert.deepStrictEqual([first.status, codeOf(first)], [409, "INVALID_TRANSITION"])
      assert.strictEqual(second.text, first.text)
    }))

  it.effect("replies are sealed in the table", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const sql = yield* SqlClient.SqlClient
      yield* call("/api/v1/things", { body: { id: "sealed-thing" }, headers: headers("sealed") })
      const rows = yield* sql<{ sealed_body: string }>`SELECT sealed_body FROM idempotency WHERE reference IS NULL`
      assert.isAbove(rows.length, 0)
      for (const { sealed_body } of rows) {
        assert.notInclude(Buffer.from(sealed_body, "base64").toString("latin1"), "sealed-thing")
      }
    }))
})

// On a database of its own: the service above prunes by itself.
layer(databaseLayer)("stored replies", (it) => {
  it.effect("older than 7 days are pruned, all of them, and no other", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const insert = (scope: string, age: string, count: number) =>
        sql`INSERT INTO idempotency SELECT 1, 'devnet', ${scope}::text || n, ${uuidOf("x")}, 200, '', NULL,
          now() - ${age}::text::interval FROM generate_series(1, ${count}::integer) n`
      yield* insert("old ", "8 days", 1_500)
      yield* insert("young ", "6 days", 2)
      const pruning = yield* Effect.forkChild(pruneOnce)
      while ((yield* sql`SELECT 1 FROM idempotency WHERE scope LIKE 'old %' LIMIT 1`).length > 0) {
        yield* TestClock.adjust("1 second")
      }
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* Fiber.join(pruning), 1_500)
      assert.strictEqual((yield* sql`SELECT 1 FROM idempotency`).length, 2)
    }))
})

describe("a repeat after the master key was replaced", () => {
  test.live("is found also where the place of the reply depends on the key, by instances old and new", () =>
    Effect.gen(function*() {
      const database = Layer.fresh(connect(yield* migratedDatabase))
      const under = Effect.fnUntraced(function*(...fills: ReadonlyArray<number>) {
        const [newest, ...older] = fills.map((fill) => Buffer.alloc(32, fill))
        const secrets = Layer.effect(Secrets, Effect.orDie(fromMasters([newest!, ...older])))
        const api = apiLayer([ThingsApi], thingsLayer, kernel([things], settingsLayer(), database, secrets))
        const context = yield* Layer.build(Layer.fresh(api as Layer.Layer<Api>))
        return Context.get(context, Api).call
      })
      const before = yield* under(1, 2)
      const after = yield* under(2, 1)
      const send = (call: typeof before, key: string, id = key) =>
        call(`/api/v1/person-things/${id}`, { method: "POST", headers: headers(key) })
      const [[first, second, third], ran] = yield* countingRuns(
        Effect.all([send(before, "p1"), send(after, "p1"), send(before, "p1")])
      )
      assert.strictEqual(ran, 1)
      assert.deepStrictEqual([second.text, third.text], [first.text, first.text])
      const [[fourth, fifth], ranAgain] = yield* countingRuns(Effect.all([send(after, "p2"), send(before, "p2")]))
      assert.strictEqual(ranAgain, 1)
      assert.strictEqual(fifth.text, fourth.text)
    }).pipe(Effect.scoped))
})
