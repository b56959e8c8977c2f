/**
 * Goal: endpoints that never answered, that are slow or that fail keep no quick one waiting, however many there are
 * (modules/docs/reference/webhooks.md#in-flight).
 * Method: real instances, database and receivers; receivers hang until the test lets them answer, and no attempt times
 * out before, so that only the order counts.
 */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { exchange, findWaiting } from "../../../runtime/webhooks/DeliveryExchange.ts"
import type { FreeSlots } from "../../../runtime/webhooks/Places.ts"
import { makeReceiver } from "../../support/Receiver.ts"
import { allAre, deliverer, emit, endpoint, patientTransport, promise, start, until } from "./Delivery.ts"
import { settingsOf } from "../../support/WebhookSettings.ts"

const numbers = (amount: number) => Array.from({ length: amount }, (_, n) => n)

/** Lanes of a merchant's endpoints as they are once each answered well, and slowly or not. */
const answeredWell = (merchantId: number, isSlow = false) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    sql`INSERT INTO webhook_lanes (merchant_id, endpoint_id, health, is_slow)
      SELECT merchant_id, id, 'healthy', ${isSlow} FROM webhook_endpoints WHERE merchant_id = ${merchantId}`)

const isSlow = (endpointId: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(
      sql<{ readonly is_slow: boolean }>`SELECT is_slow FROM webhook_lanes WHERE endpoint_id = ${endpointId}`,
      ([lane]) => lane!.is_slow
    ))

describe("a quick endpoint", () => {
  promise(
    "gets its 50 events while 16 endpoints of another merchant and 80 new ones of a third keep their first attempts open",
    Effect.gen(function*() {
      const receiver = yield* makeReceiver()
      const open = new Map<string, Array<() => void>>()
      let isReleased = false
      let most = 0
      const hang = (path: string) => {
        const answers: Array<() => void> = []
        open.set(path, answers)
        receiver.script(path, (_, __, response) => {
          if (isReleased) response.writeHead(200).end()
          else answers.push(() => response.writeHead(200).end())
          most = Math.max(most, answers.length)
        })
      }
      const opened = (under: string) =>
        [...open].filter(([path]) => path.startsWith(under)).reduce((sum, [, { length }]) => sum + length, 0)
      const slow = yield* Effect.forEach(numbers(16), (n) => {
        hang(`/slow/${n}`)
        return endpoint(receiver.url(`/slow/${n}`))
      })
      yield* answeredWell(1)
      yield* endpoint(receiver.url("/quick"), { merchantId: 2 })
      yield* answeredWell(2)
      for (const n of numbers(80)) {
        hang(`/new/${n}`)
        yield* endpoint(receiver.url(`/new/${n}`), { merchantId: 3 })
      }
      yield* start(deliverer(settingsOf([receiver.host]), patientTransport))
      yield* Effect.forEach(numbers(25), (n) => emit(n), { concurrency: 8 })
      yield* emit(0, 3)
      yield* Effect.repeat(Effect.sleep(10), { while: () => opened("/slow") < 16 * 4 || opened("/new") < 80 })
      yield* Effect.forEach(numbers(50), (n) => emit(n, 2), { concurrency: 8 })
      yield* receiver.seen("/quick", 50)
      assert.deepStrictEqual([opened("/slow"), opened("/new"), most], [16 * 4, 80, 4])

      // A late answer is remembered where other instances and the next start see it, until one comes in time.
      open.get("/slow/0")!.splice(0, 1)[0]!()
      yield* Effect.repeat(Effect.tap(isSlow(slow[0]!.id), Effect.sleep(10)), { until: (is) => is })
      isReleased = true
      for (const answers of open.values()) answers.forEach((answer) => answer())
      yield* until(allAre("succeeded"))
      assert.lengthOf(receiver.arrivals(), 16 * 25 + 80 + 50)
      // The last of so many answers may be late themselves on a busy machine.
      while (yield* isSlow(slow[0]!.id)) yield* Effect.andThen(emit(25), until(allAre("succeeded")))
    })
  )
})

describe("a claim", () => {
  promise(
    "is of each kind of endpoint within its own slots, and touches no endpoint of a kind that has none",
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const kinds = ["quick", "slow", "new", "failing"] as const
      for (const [at, kind] of kinds.entries()) {
        for (const n of numbers(3)) yield* endpoint(`http://${kind}/${n}`, { merchantId: at + 1 })
        for (const n of numbers(6)) yield* emit(n, at + 1)
      }
      yield* answeredWell(1)
      yield* answeredWell(2, true)
      yield* answeredWell(4)
      yield* sql`UPDATE webhook_lanes SET health = 'failing' WHERE merchant_id = 4`
      const kindOf = ({ merchantId }: { readonly merchantId: number }) => kinds[merchantId - 1]!
      const look = (free: FreeSlots) =>
        Effect.map(
          findWaiting({ holder: "a", merchants: null, after: null, free, full: [] }),
          ({ endpoints }) => kinds.map((kind) => endpoints.filter((each) => kindOf(each) === kind).length)
        )
      const take = (free: FreeSlots, slow: ReadonlyArray<string> = []) =>
        Effect.gen(function*() {
          const all = yield* sql<{ readonly merchant_id: number; readonly id: string }>`
            SELECT merchant_id, id FROM webhook_endpoints ORDER BY merchant_id DESC, id`
          const endpoints = all.map(({ id, merchant_id }) => ({
            merchantId: merchant_id,
            endpointId: id,
            held: [],
            isSlow: slow.includes(id)
          }))
          const { deliveries } = yield* exchange({ results: [], released: [], claim: { holder: "a", endpoints, free } })
          return kinds.map((kind) => deliveries.filter((each) => kindOf(each.endpoint) === kind))
        })
      /** And everything released, so that the next claim finds the same. */
      const claim = (...request: Parameters<typeof take>) =>
        Effect.tap(take(...request), sql`UPDATE webhook_lanes SET held_until = '-infinity'`)
      const count = (claimed: ReadonlyArray<ReadonlyArray<unknown>>) => claimed.map(({ length }) => length)

      assert.deepStrictEqual(yield* look({ slots: 100, otherSlots: 100, failingSlots: 2 }), [3, 3, 3, 2])
      assert.deepStrictEqual(yield* look({ slots: 2, otherSlots: 1, failingSlots: 16 }), [2, 1, 1, 1])
      assert.deepStrictEqual(yield* look({ slots: 2, otherSlots: 0, failingSlots: 16 }), [2, 0, 0, 0])

      const first = yield* claim({ slots: 100, otherSlots: 100, failingSlots: 2 })
      assert.deepStrictEqual(count(first), [18, 12, 3, 2])
      const [quick, slow, fresh, failing] = first.map(([row]) => row!.endpoint)
      assert.deepInclude(quick, { health: "healthy", isSlow: false, single: false, hasMore: false })
      assert.deepInclude(slow, { health: "healthy", isSlow: true, single: false, hasMore: true })
      assert.deepInclude(fresh, { health: "unknown", isSlow: false, single: true })
      assert.deepInclude(failing, { health: "failing", isSlow: false, single: true })
      assert.deepStrictEqual(count(yield* claim({ slots: 100, otherSlots: 4, failingSlots: 2 })), [18, 0, 2, 2])
      assert.deepStrictEqual(count(yield* claim({ slots: 0, otherSlots: 100, failingSlots: 16 })), [0, 12, 3, 3])
      const known = first[0]!.map(({ endpoint: { endpointId } }) => endpointId)
      assert.deepStrictEqual(count(yield* claim({ slots: 100, otherSlots: 16, failingSlots: 0 }, known)), [1, 12, 3, 0])

      // A lock is a write: it would show as the row's `xmax`.
      assert.deepStrictEqual(count(yield* take({ slots: 100, otherSlots: 0, failingSlots: 16 })), [18, 0, 0, 0])
      assert.deepStrictEqual(
        yield* sql`SELECT merchant_id FROM webhook_lanes WHERE merchant_id > 1 AND xmax <> '0'`,
        []
      )
    })
  )
})
