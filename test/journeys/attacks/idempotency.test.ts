/** Group G: keys that make a repeat harmless, turned against us. */
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { randomUUID } from "node:crypto"
import { generousLimits } from "../../support/Limits.ts"
import { assertHarmless, AttackedService, attackedService, outcome, sendRaw, statusesIn } from "./AttackedService.ts"

const keyed = (key: string | ReadonlyArray<string>) => ({ "idempotency-key": key })

layer(attackedService(), { excludeTestServices: true })("G", (it) => {
  it.effect("69: a new invoice without a key is refused, before its body is judged", () =>
    Effect.gen(function*() {
      const { call } = yield* AttackedService
      assert.strictEqual(
        outcome(yield* call("/api/v1/invoices", { body: { amount: 1_000 } })),
        "400 IDEMPOTENCY_KEY_MISSING"
      )
      assert.strictEqual(outcome(yield* call("/api/v1/invoices", { body: "{" })), "400 IDEMPOTENCY_KEY_MISSING")
    }))

  it.effect("70: two keys are none", () =>
    Effect.gen(function*() {
      const { create } = yield* AttackedService
      assert.strictEqual(outcome(yield* create({ amount: 1_000 }, keyed(["1", "2"]))), "400 IDEMPOTENCY_KEY_INVALID")
      assert.strictEqual(outcome(yield* create({ amount: 1_000 }, keyed(["1", "1"]))), "400 IDEMPOTENCY_KEY_INVALID")
    }))

  it.effect("71: a key has 1 to 255 visible ASCII characters", () =>
    Effect.gen(function*() {
      const { create, key, service } = yield* AttackedService
      for (const bad of ["", "\"\"", "k".repeat(256), "k".repeat(10_000), "a b", "a\tb", "\u00e9"]) {
        const found = yield* create({ amount: 1_000 }, keyed(bad))
        assert.strictEqual(outcome(found), "400 IDEMPOTENCY_KEY_INVALID", JSON.stringify(bad.slice(0, 20)))
      }
      for (const bytes of ["k\x01", "k\x7f", "\u{1f600}"]) {
        const found = yield* sendRaw(
          service.url,
          `POST /api/v1/invoices HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-api-key: ${key}\r\nidempotency-key: `,
          Buffer.from(bytes),
          "\r\ncontent-type: application/json\r\ncontent-length: 15\r\n\r\n{\"amount\":1000}"
        )
        assert.deepStrictEqual(statusesIn(found), [400], JSON.stringify(bytes))
      }
      assert.strictEqual(outcome(yield* create({ amount: 1_000 }, keyed("k".repeat(255)))), "200")
    }))

  it.effect("72: order of keys and whitespace make no other body; values do", () =>
    Effect.gen(function*() {
      const { create } = yield* AttackedService
      const key = keyed(randomUUID())
      const first = assertHarmless(yield* create("{\"amount\":1000,\"metadata\":{\"a\":1,\"b\":[1,2]}}", key))
      assert.strictEqual(first.status, 200)
      for (
        const same of [
          "{ \"metadata\": { \"b\": [ 1, 2 ], \"a\": 1 },\n \"amount\": 1000 }",
          "{\"amount\":1.0e3,\"metadata\":{\"a\":1,\"b\":[1,2]}}",
          "{\"\\u0061mount\":1000,\"metadata\":{\"a\":1,\"b\":[1,2]}}"
        ]
      ) {
        const repeat = assertHarmless(yield* create(same, key))
        assert.deepStrictEqual([repeat.text, repeat.headers["idempotent-replayed"]], [first.text, "true"], same)
      }
      for (const other of ["{\"amount\":1000,\"metadata\":{\"a\":1,\"b\":[2,1]}}", "{\"amount\":1001}", "{}", "[]"]) {
        assert.strictEqual(outcome(yield* create(other, key)), "422 IDEMPOTENCY_KEY_REUSED", other)
      }
    }))

  it.effect("73: of many at once under one key one acts, and all get its reply", () =>
    Effect.gen(function*() {
      const { call, create } = yield* AttackedService
      const key = keyed(randomUUID())
      const customer = randomUUID()
      const all = yield* Effect.forEach(
        Array.from({ length: 30 }),
        () => create({ amount: 1_000, customer_id: customer }, key),
        { concurrency: 30 }
      )
      assert.strictEqual(new Set(all.map((found) => `${found.status} ${found.text}`)).size, 1)
      assert.strictEqual(outcome(all[0]!), "200")
      const list = assertHarmless(yield* call(`/api/v1/invoices?customer_id=${customer}`))
      assert.strictEqual(list.json.data.length, 1)
    }))

  it.effect("73: a first request that goes away leaves the key usable", () =>
    Effect.gen(function*() {
      const { create } = yield* AttackedService
      const key = keyed(randomUUID())
      const first = yield* Effect.forkChild(create({ amount: 1_000 }, key), { startImmediately: true })
      yield* Fiber.interrupt(first)
      assert.strictEqual(outcome(yield* create({ amount: 1_000 }, key)), "200")
    }))

  it.effect("75: a key in quotes is the key without them", () =>
    Effect.gen(function*() {
      const { create } = yield* AttackedService
      const key = randomUUID()
      const first = assertHarmless(yield* create({ amount: 1_000 }, keyed(`"${key}"`)))
      const second = assertHarmless(yield* create({ amount: 1_000 }, keyed(key)))
      assert.strictEqual(second.text, first.text)
      assert.strictEqual(second.headers["idempotent-replayed"], "true")
    }))
})

layer(attackedService({ ...generousLimits, keyPerMinute: 40 }), { excludeTestServices: true })(
  "G",
  (it) => {
    it.effect("74: a flood of new keys is limited before any is kept", () =>
      Effect.gen(function*() {
        const { call, create, sql } = yield* AttackedService
        const statuses = yield* Effect.forEach(
          Array.from({ length: 300 }),
          () => Effect.map(create({ amount: 1_000 }), ({ status }) => status),
          { concurrency: 10 }
        )
        assert.strictEqual(statuses.filter((status) => status === 200).length, 40)
        assert.strictEqual(statuses.filter((status) => status === 429).length, 260)
        assert.strictEqual(outcome(yield* call("/api/v1/invoices")), "429 RATE_LIMIT_EXCEEDED")
        const [rows] = yield* Effect.orDie(
          sql<{ kept: number; made: number }>`SELECT (SELECT count(*) FROM idempotency)::integer AS kept,
          (SELECT count(*) FROM invoices)::integer AS made`
        )
        assert.deepStrictEqual(rows, { kept: 40, made: 40 })
      }))
  }
)
