/**
 * Goal: an endpoint that asks for order gets its events one at a time, in their order, whoever delivers and whatever
 * fails. Method: two instances over one database and a real receiver; time is moved on the rows.
 */
import { assert, describe } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { answers, answersInTurn, makeReceiver, type Receiver } from "../../support/Receiver.ts"
import { allAre, claimable, deliverer, deliveries, emit, endpoint, promise, start, until, wake } from "./Delivery.ts"
import { settingsOf } from "../../support/WebhookSettings.ts"

const numbers = (amount: number) => Array.from({ length: amount }, (_, n) => n)
const idsAt = (receiver: Receiver) => receiver.arrivals().map(({ headers }) => headers["x-service-event-id"]!)

/** A monotonic clock that stands still: nothing that comes after a time comes. */
const stillClock = Effect.map(Clock.Clock, (clock) => {
  const nanos = clock.monotonicTimeNanosUnsafe()
  const still: Clock.Clock = Object.assign(Object.create(clock) as Clock.Clock, {
    monotonicTimeNanosUnsafe: () => nanos,
    monotonicTimeNanos: Effect.succeed(nanos)
  })
  return still
})

describe("an endpoint in order", () => {
  promise(
    "gets 200 events of concurrent commits one at a time and in order, from two instances",
    Effect.gen(function*() {
      const receiver = yield* makeReceiver()
      let open = 0
      let most = 0
      receiver.script("/", (_, __, response) => {
        most = Math.max(most, ++open)
        setImmediate(() => {
          open--
          response.writeHead(200).end()
        })
      })
      yield* Effect.all([1, 2].map(() => start(deliverer(settingsOf([receiver.host])))), { concurrency: 2 })
      yield* endpoint(receiver.url("/"), { ordered: true })
      yield* Effect.forEach(numbers(200), (n) => emit(n), { concurrency: 16 })
      const rows = yield* until((found) => found.length === 200 && allAre("succeeded")(found))
      assert.deepStrictEqual(idsAt(receiver), rows.map(({ event }) => event))
      assert.strictEqual(most, 1)
    })
  )

  promise(
    "waits for its head to be retried, and goes on when that succeeded or was given up",
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const receiver = yield* makeReceiver()
      receiver.script("/", answersInTurn(200, 500, 500, 200, 500, 500, 500, 500, 200))
      const both = yield* Effect.all(
        [1, 2].map(() => start(deliverer(settingsOf([receiver.host], { retryBaseSeconds: 3_600 }))))
      )
      yield* endpoint(receiver.url("/"), { ordered: true })
      const events = yield* Effect.forEach(numbers(4), (n) => emit(n))
      const isSo = (...states: ReadonlyArray<string>) =>
        until((rows) => rows.map(({ attempt, status }) => `${status} ${attempt}`).join() === states.join())
      const rest = ["pending 0", "pending 0"] as const
      const timeIsUp = Effect.andThen(
        sql`UPDATE webhook_deliveries SET due_at = now() WHERE due_at IS NOT NULL`,
        wake(1, ...both)
      )
      yield* isSo("succeeded 1", "retrying 1", ...rest)
      yield* wake(1, ...both)
      assert.deepStrictEqual(yield* claimable, [])
      yield* timeIsUp
      yield* isSo("succeeded 1", "retrying 2", ...rest)
      yield* timeIsUp
      yield* isSo("succeeded 1", "succeeded 3", "retrying 1", "pending 0")
      for (const spent of [2, 3]) {
        yield* timeIsUp
        yield* isSo("succeeded 1", "succeeded 3", `retrying ${spent}`, "pending 0")
      }
      yield* timeIsUp
      yield* isSo("succeeded 1", "succeeded 3", "failed 4", "succeeded 1")
      assert.deepStrictEqual(idsAt(receiver), [0, 1, 1, 1, 2, 2, 2, 2, 3].map((n) => events[n]!.id))

      // Sent again by hand: a row of its own, for an event that is behind.
      yield* sql`INSERT INTO webhook_deliveries (merchant_id, endpoint_id, event_ms, event_seq)
      SELECT merchant_id, endpoint_id, event_ms, event_seq FROM webhook_deliveries WHERE status = 'failed'`
      yield* wake(1, ...both)
      yield* until((rows) => rows.filter(({ status }) => status === "succeeded").length === 4)
      assert.strictEqual(idsAt(receiver).at(-1), events[2]!.id)
    })
  )

  promise(
    "gets what is committed while one is in flight right after it, not at the next scan",
    Effect.gen(function*() {
      const receiver = yield* makeReceiver()
      // Its next scan never comes.
      yield* Effect.provideService(start(deliverer(settingsOf([receiver.host]))), Clock.Clock, yield* stillClock)
      yield* endpoint(receiver.url("/"), { ordered: true })
      let release = () => {}
      receiver.script("/", (n, arrival, response) => {
        if (n % 2 === 1) answers(200)(n, arrival, response)
        else release = () => response.writeHead(200).end()
      })
      yield* emit(0)
      yield* receiver.seen("/", 1)
      for (const n of numbers(5)) {
        yield* emit(1)
        yield* receiver.seen("/", 2 * n + 2)
        yield* emit(2)
        // The claim that this commit wakes is over.
        yield* Effect.sleep(30)
        release()
        yield* receiver.seen("/", 2 * n + 3)
      }
      yield* until(allAre("succeeded"))
      assert.deepStrictEqual(idsAt(receiver), (yield* deliveries).map(({ event }) => event))
    })
  )
})
