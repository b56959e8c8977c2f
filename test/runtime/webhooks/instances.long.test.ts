/**
 * Goal: whichever instance has an endpoint, it sends within the limits, as the endpoint is now, and nothing of what it
 * may have lost; each delivery is sent once while nobody dies. Method: real instances, database and receivers; time is
 * moved on the rows and on an instance's own monotonic clock.
 */
import { assert, describe } from "@effect/vitest"
import { Clock, Effect, Exit, Fiber, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { Commit, noCause } from "../../../runtime/Commit.ts"
import { Secrets } from "../../../runtime/Secrets.ts"
import { attemptTimeoutMillis } from "../../../runtime/webhooks/Deliverer.ts"
import { extendLeases } from "../../../runtime/webhooks/DeliveryRepo.ts"
import { type EndpointRow, endpointWrite } from "../../../runtime/webhooks/Endpoints.ts"
import { secretOf, serviceSignature, signingKey } from "../../../runtime/webhooks/Signature.ts"
import { makeReceiver, type Receiver } from "../../support/Receiver.ts"
import {
  allAre,
  attemptsOf,
  claimable,
  deliverer,
  deliveries,
  emit,
  endpoint,
  endpointHealthOf,
  promise,
  start,
  until,
  untilEndpointHealth,
  wake
} from "./Delivery.ts"
import { settingsOf } from "../../support/WebhookSettings.ts"

const numbers = (amount: number) => Array.from({ length: amount }, (_, n) => n)

/** Answers of `path` wait until they are let go, each with 200; then all do at once. */
const hold = (receiver: Receiver, path: string) => {
  const held: Array<() => void> = []
  let free = false
  receiver.script(path, (_, __, response) => {
    if (free) response.writeHead(200).end()
    else held.push(() => response.writeHead(200).end())
  })
  return {
    held,
    release: () => {
      free = true
      for (const each of held.splice(0)) each()
    }
  }
}

/** Lanes as they are once an endpoint answered so. */
const known = (health: "healthy" | "failing") =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    sql`
    INSERT INTO webhook_lanes (merchant_id, endpoint_id, health) SELECT merchant_id, id, ${health} FROM webhook_endpoints
    ON CONFLICT (merchant_id, endpoint_id) DO UPDATE SET health = excluded.health`)

/** The endpoint as a merchant changed it in another process: nobody is woken. */
const change = (row: EndpointRow, more: Partial<EndpointRow>) =>
  Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    const changed = { ...row, version: row.version + 1, updatedAt: Math.floor(now / 1_000), ...more }
    yield* (yield* Commit).append({
      merchantId: row.merchantId,
      environment: "devnet",
      cause: noCause,
      writes: [endpointWrite(changed)],
      events: []
    })
    return changed
  })

/** A monotonic clock that a test moves. */
const movedClock = Effect.map(Clock.Clock, (clock) => {
  let millis = 0
  const nanos = () => clock.monotonicTimeNanosUnsafe() + BigInt(millis) * 1_000_000n
  const moved: Clock.Clock = Object.assign(Object.create(clock) as Clock.Clock, {
    monotonicTimeNanosUnsafe: nanos,
    monotonicTimeNanos: Effect.sync(nanos)
  })
  return {
    clock: moved,
    move: (more: number) => {
      millis += more
    }
  }
})

/** A monotonic clock that runs at a tenth of its speed until it is let go: nothing takes long by it. */
const heldClock = Effect.map(Clock.Clock, (clock) => {
  const start = clock.monotonicTimeNanosUnsafe()
  let isHeld = true
  const nanos = () => {
    const passed = clock.monotonicTimeNanosUnsafe() - start
    return start + (isHeld ? passed / 10n : passed)
  }
  const held: Clock.Clock = Object.assign(Object.create(clock) as Clock.Clock, {
    monotonicTimeNanosUnsafe: nanos,
    monotonicTimeNanos: Effect.sync(nanos)
  })
  return {
    clock: held,
    release: () => {
      isHeld = false
    }
  }
})

describe("an instance", () => {
  promise(
    "has at most 64 deliveries in flight to quick endpoints, four of each, and 16 to failing ones in places of their own",
    Effect.gen(function*() {
      const receiver = yield* makeReceiver()
      const some = [...numbers(20).map((n) => `/${n}`), ...numbers(30).map((n) => `/bad/${n}`), "/other"]
      const paths = new Map(some.map((path) => [path, hold(receiver, path)]))
      for (const n of numbers(30)) yield* endpoint(receiver.url(`/bad/${n}`))
      yield* known("failing")
      yield* emit(0)
      yield* emit(1)
      const { clock, release: releaseClock } = yield* heldClock
      yield* Effect.provideService(start(deliverer(settingsOf([receiver.host]))), Clock.Clock, clock)
      const open = (under: string) =>
        [...paths].filter(([path]) => path.startsWith(under)).map(([, { held }]) => held.length)
      const sum = (all: ReadonlyArray<number>) => all.reduce((a, b) => a + b, 0)
      yield* Effect.repeat(Effect.sleep(5), { while: () => sum(open("/bad")) < 16 })
      yield* endpoint(receiver.url("/other"), { merchantId: 2 })
      yield* emit(0, 2)
      yield* receiver.seen("/other", 1)
      assert.deepStrictEqual([sum(open("/bad")), Math.max(...open("/bad"))], [16, 1])
      for (const n of numbers(20)) yield* endpoint(receiver.url(`/${n}`), { merchantId: 3 })
      const sql = yield* SqlClient.SqlClient
      yield* sql`INSERT INTO webhook_lanes (merchant_id, endpoint_id, health) SELECT 3, id, 'healthy' FROM webhook_endpoints WHERE merchant_id = 3`
      yield* Effect.forEach(numbers(8), (n) => emit(n, 3), { concurrency: 8 })
      // 16 to failing ones, one to a new one.
      yield* Effect.repeat(Effect.sleep(5), { while: () => sum(open("/")) < 64 + 17 })
      // Time for more to arrive, were there more.
      yield* Effect.sleep(200)
      assert.strictEqual(sum(open("/")), 64 + 17)
      assert.isAtMost(Math.max(...open("/")), 4)
      for (const { release } of paths.values()) release()
      releaseClock()
      yield* until(allAre("succeeded"))
      assert.lengthOf(receiver.arrivals(), 60 + 1 + 160)
    })
  )

  promise(
    "sends what it claimed ahead to the endpoint as it is after a change, signed with its new secret, and nothing once it is disabled",
    Effect.gen(function*() {
      const receiver = yield* makeReceiver()
      const context = yield* start(deliverer(settingsOf([receiver.host])))
      const row = yield* endpoint(receiver.url("/old"))
      yield* known("healthy")
      const old = hold(receiver, "/old")
      const fresh = hold(receiver, "/new")
      yield* Effect.forEach(numbers(14), (n) => emit(n), { concurrency: 14 })
      yield* receiver.seen("/old", 4)
      const secret = secretOf(Buffer.alloc(32, 5))
      const changed = yield* change(row, {
        url: receiver.url("/new"),
        sealedSecret: (yield* Secrets).seal("webhook", secret)
      })
      yield* wake(1, context)
      old.held.splice(0, 2).forEach((each) => each())
      const arrivals = yield* receiver.seen("/new", 2)
      for (const { body, headers } of arrivals) {
        assert.strictEqual(
          headers["x-service-signature"],
          serviceSignature(signingKey(secret), Number(headers["x-service-timestamp"]), body.toString())
        )
      }
      yield* change(changed, { status: "disabled", disabledReason: "merchant" })
      yield* wake(1, context)
      old.release()
      fresh.release()
      // What was on its way when the claim canceled the rest ends as it ended.
      const count = (rows: ReadonlyArray<{ readonly status: string }>, status: string) =>
        rows.filter((row) => row.status === status).length
      yield* until((found) => count(found, "succeeded") === 6 && count(found, "canceled") === 8)
      assert.deepStrictEqual([receiver.arrivals("/old").length, receiver.arrivals("/new").length], [4, 2])
    })
  )
})

describe("a lane", () => {
  promise(
    "is kept by an instance whose endpoint is slow, for as long as it has rows of it, and sent once by it alone",
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const receiver = yield* makeReceiver()
      const { clock, move } = yield* movedClock
      const first = yield* Effect.provideService(start(deliverer(settingsOf([receiver.host]))), Clock.Clock, clock)
      const { id } = yield* endpoint(receiver.url("/"))
      yield* known("healthy")
      const { held, release } = hold(receiver, "/")
      yield* Effect.forEach(numbers(12), (n) => emit(n), { concurrency: 12 })
      yield* receiver.seen("/", 4)
      const second = yield* start(deliverer(settingsOf([receiver.host])))
      for (const turn of [1, 2]) {
        // 8 s passed.
        move(8_000)
        yield* sql`UPDATE webhook_lanes SET held_until = held_until - interval '8 s'`
        yield* untilEndpointHealth(id, (lane) => lane.held > 25_000)
        held.shift()!()
        yield* receiver.seen("/", 4 + turn)
        yield* wake(1, second)
        assert.deepStrictEqual(yield* claimable, [])
      }
      release()
      yield* until(allAre("succeeded"))
      assert.lengthOf(receiver.arrivals(), 12)
      void first
    })
  )

  promise(
    "is not kept with what was claimed for an endpoint that somebody changed since, in the same second even",
    Effect.gen(function*() {
      const receiver = yield* makeReceiver()
      const { clock, move } = yield* movedClock
      yield* Effect.provideService(start(deliverer(settingsOf([receiver.host]))), Clock.Clock, clock)
      const row = yield* endpoint(receiver.url("/old"))
      yield* known("healthy")
      const old = hold(receiver, "/old")
      yield* Effect.forEach(numbers(12), (n) => emit(n), { concurrency: 12 })
      yield* receiver.seen("/old", 4)
      // Seconds are all that is kept of the change: of the claim's own second, of which it may be either side.
      const [claim] = yield* Effect.flatMap(SqlClient.SqlClient, (sql) =>
        sql<{ second: number }>`
      SELECT floor(extract(epoch FROM held_until - interval '30 s'))::float8 AS second FROM webhook_lanes`)
      yield* change(row, { url: receiver.url("/new"), updatedAt: claim!.second })
      const [lease] = yield* Effect.flatMap(
        SqlClient.SqlClient,
        (sql) => sql<{ holder: string; token: bigint; claims: bigint }>`SELECT holder, token, claims FROM webhook_lanes`
      )
      assert.deepStrictEqual(yield* extendLeases(lease!.holder, [{ ...row, ...lease!, endpointId: row.id }]), new Set())
      // What waits is given back, and claimed anew once the first four are over.
      move(8_000)
      old.release()
      yield* until(allAre("succeeded"))
      assert.deepStrictEqual([receiver.arrivals("/old").length, receiver.arrivals("/new").length], [4, 8])
    })
  )

  promise(
    "passes on when its lease is over: who stood still sends nothing of what it had, and its late result changes nothing",
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const receiver = yield* makeReceiver()
      const { clock, move } = yield* movedClock
      const first = yield* Effect.provideService(start(deliverer(settingsOf([receiver.host]))), Clock.Clock, clock)
      const { id } = yield* endpoint(receiver.url("/"))
      yield* known("healthy")
      const held: Array<(status: number) => void> = []
      receiver.script("/", (n, _, response) => {
        // The 17th is the event that comes when it has the lane again: it is answered after the late results.
        if (n <= 4 || n === 17) held.push((status) => response.writeHead(status).end())
        else response.writeHead(200).end()
      })
      yield* Effect.forEach(numbers(12), (n) => emit(n), { concurrency: 12 })
      yield* receiver.seen("/", 4)
      // The process is stopped past its lease; another one has the lane and everything in it, then it goes on.
      yield* sql`UPDATE webhook_lanes SET held_until = now()`
      const other = yield* Scope.make()
      yield* Scope.provide(start(deliverer(settingsOf([receiver.host]))), other)
      yield* until(allAre("succeeded"))
      move(31_000)
      assert.lengthOf(receiver.arrivals(), 16)
      const before = [yield* deliveries, yield* attemptsOf(id), yield* sql`SELECT sum(count) FROM rollups`]
      yield* Scope.close(other, Exit.void)
      // It has the lane again with a new event, and what it held before as well.
      const event = yield* emit(99)
      yield* untilEndpointHealth(id, (lane) => lane.held > 25_000)
      held.shift()!(200)
      yield* receiver.seen("/", 17)
      for (const answer of held.splice(0, 3)) answer(500)
      held.shift()!(200)
      yield* until(allAre("succeeded"))
      yield* wake(1, first)
      yield* emit(100)
      yield* until((rows) => rows.length === 14 && allAre("succeeded")(rows))
      assert.lengthOf(receiver.arrivals(), 18)
      assert.strictEqual(receiver.arrivals()[16]!.headers["x-service-event-id"], event.id)
      assert.deepStrictEqual((yield* deliveries).slice(0, 12), before[0])
      assert.deepStrictEqual((yield* attemptsOf(id)).slice(0, 12), before[1])
      assert.deepInclude(yield* endpointHealthOf(id), { failures: 0, health: "healthy" })
    })
  )
})

describe("a lane of an instance that died", () => {
  promise(
    "passes on though the database's clock was set back an hour since",
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const receiver = yield* makeReceiver()
      const { id } = yield* endpoint(receiver.url("/"))
      yield* known("healthy")
      yield* sql`UPDATE webhook_lanes SET holder = 'dead', token = 7, held_until = now() + interval '1 hour'`
      yield* emit(0)
      yield* start(deliverer(settingsOf([receiver.host])))
      yield* receiver.seen("/", 1)
      yield* until(allAre("succeeded"))
      assert.isBelow((yield* endpointHealthOf(id)).held, 30_001)
    })
  )
})

describe("a late result", () => {
  promise(
    "of a lane that is another instance's by now changes nothing, whether good or bad, and counts nothing",
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const receiver = yield* makeReceiver()
      yield* start(deliverer(settingsOf([receiver.host])))
      const { id } = yield* endpoint(receiver.url("/"))
      yield* known("healthy")
      const held: Array<(status: number) => void> = []
      receiver.script("/", (_, __, response) => void held.push((status) => response.writeHead(status).end()))
      yield* Effect.forEach(numbers(4), (n) => emit(n), { concurrency: 4 })
      yield* receiver.seen("/", 4)
      yield* sql`UPDATE webhook_lanes SET holder = 'another', token = token + 1, held_until = now() + interval '30 s'`
      // But for the status: what is on its way for long is shown so at some time.
      const rows =
        sql`SELECT array_agg(to_jsonb(d) - 'status' ORDER BY d.id)::text AS rows FROM webhook_deliveries d WHERE merchant_id = 1`
      const [before] = yield* rows
      held[0]!(200)
      held[1]!(500)
      held[2]!(404)
      yield* Effect.repeat(Effect.sleep(5), {
        while: () => receiver.arrivals().filter(({ endedAt }) => endedAt === null).length > 1
      })
      // Written together with what comes after them: another merchant's, which is seen.
      yield* endpoint(receiver.url("/other"), { merchantId: 2 })
      yield* emit(9, 2)
      yield* until((rows) => rows.some(({ status }) => status === "succeeded"))
      const [after] = yield* rows
      assert.deepStrictEqual(after, before)
      assert.deepStrictEqual(yield* attemptsOf(id), [])
      assert.deepInclude(yield* endpointHealthOf(id), { health: "healthy", failures: 0 })
      const spent = yield* sql`SELECT 1 FROM rollups WHERE merchant_id = 1 AND sum = 'webhooks.attempts'`
      assert.deepStrictEqual(spent, [])
    })
  )
})

describe("two instances", () => {
  promise(
    "send 2,000 deliveries of 16 endpoints once each, though one is stopped in the middle and another one started",
    Effect.gen(function*() {
      const receiver = yield* makeReceiver()
      for (const n of numbers(16)) yield* endpoint(receiver.url(`/${n}`), { ordered: n % 4 === 0 })
      // A stop that gives an attempt up has it sent again by the next instance: this one waits for all of them.
      const instance = start(deliverer(settingsOf([receiver.host]), undefined, attemptTimeoutMillis))
      const first = yield* Scope.make()
      yield* Scope.provide(instance, first)
      yield* instance
      const commits = yield* Effect.forkChild(Effect.forEach(numbers(125), (n) => emit(n), { concurrency: 4 }))
      yield* Effect.repeat(Effect.sleep(5), { while: () => receiver.arrivals().length < 600 })
      yield* Scope.close(first, Exit.void)
      // Nothing went wrong by the stop, to be sent later for it.
      assert.deepStrictEqual((yield* deliveries).map((row) => row.last_error).filter((error) => error !== null), [])
      yield* instance
      yield* Fiber.join(commits)
      yield* Effect.repeat(Effect.sleep(5), { while: () => receiver.arrivals().length < 2_000 })
      const rows = yield* until((found) => found.length === 2_000 && allAre("succeeded")(found))
      const sent = receiver.arrivals().map(({ headers }) => headers["x-service-delivery-id"]!)
      assert.strictEqual(sent.length, 2_000)
      assert.sameMembers(sent, rows.map(({ id }) => `whd_${id}`))
      for (const n of [0, 4, 8, 12]) {
        const got = receiver.arrivals(`/${n}`).map(({ headers }) => headers["x-service-event-id"]!)
        assert.deepStrictEqual(got, [...new Set(rows.map(({ event }) => event))])
      }
    })
  )
})

describe("results", () => {
  promise(
    "that the database does not take for a while are written then, and nothing is sent again meanwhile",
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const receiver = yield* makeReceiver()
      yield* endpoint(receiver.url("/"))
      yield* start(deliverer(settingsOf([receiver.host])))
      const named =
        sql`SELECT oid::regprocedure::text AS name FROM pg_proc WHERE proname IN ('webhook_mark_v2', 'mark_away')`
      const rename = (to: string) =>
        Effect.flatMap(
          named,
          ([row]) => sql.unsafe(`ALTER FUNCTION ${(row as { readonly name: string }).name} RENAME TO ${to}`)
        )
      yield* rename("mark_away")
      yield* emit(1)
      yield* receiver.seen("/", 1)
      yield* Effect.sleep(250)
      yield* rename("webhook_mark_v2")
      yield* until(allAre("succeeded"))
      assert.strictEqual(receiver.arrivals().length, 1)
    })
  )
})
