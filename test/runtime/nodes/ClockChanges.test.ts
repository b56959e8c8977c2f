/**
 * Goal: whoever sets the machine's clock forward or back leaves no endpoint alone for longer than it asked, and has no
 * endpoint count as away, or as standing still, that was there a moment ago: others would decide about money without
 * it. Method: a clock whose date leaps while its monotonic time goes on, and a node over a real socket.
 */
import { NodeHttpClient } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Redacted, Schema } from "effect"
import { TestClock } from "effect/testing"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { absenceMillis, isAway, isFrozen, isPaused } from "../../../runtime/nodes/EndpointPool.ts"
import * as Endpoints from "../../../runtime/nodes/Endpoints.ts"
import { jsonRpcClient } from "../../../runtime/nodes/JsonRpc.ts"

const hour = 3_600_000

/** A clock that can be set, over that of the test. */
const makeSettableClock = Effect.gen(function*() {
  const clock = yield* Clock.Clock
  let ahead = 0
  const millis = () => clock.currentTimeMillisUnsafe() + ahead
  const nanos = () => clock.currentTimeNanosUnsafe() + BigInt(ahead) * 1_000_000n
  const settable: Clock.Clock = {
    currentTimeMillisUnsafe: millis,
    currentTimeMillis: Effect.sync(millis),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
    monotonicTimeNanos: clock.monotonicTimeNanos,
    sleep: (duration) => clock.sleep(duration)
  }
  return { clock: settable, set: (by: number) => Effect.sync(() => void (ahead += by)) }
})

/** A node that says 429 with a pause of 30 s. */
const busyNode = Effect.acquireRelease(
  Effect.callback<Server>((resume) => {
    const server = createServer((_, response) => response.writeHead(429, { "retry-after": "30" }).end())
    server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
  }),
  (server) =>
    Effect.sync(() => {
      server.closeAllConnections()
      server.close()
    })
)

const setUp = Effect.gen(function*() {
  const server = yield* busyNode
  const { clock, set } = yield* makeSettableClock
  const { port } = server.address() as AddressInfo
  const made = yield* Effect.provideService(
    Endpoints.make({
      network: "solana",
      environment: "devnet",
      addresses: [{ url: Redacted.make(`http://127.0.0.1:${port}`) }],
      limits: { lagMillis: 30_000, standstillMillis: 60_000 },
      client: (connection) => jsonRpcClient(connection),
      prove: () => Effect.succeed(null)
    }),
    Clock.Clock,
    clock
  )
  const word = Effect.exit(made.withFailover((client) => client.call("word", [], Schema.String)))
  return { ...made, set, word: Effect.provideService(word, Clock.Clock, clock), now: clock.currentTimeMillisUnsafe }
})

describe.each([{ what: "forward", by: hour }, { what: "back", by: -hour }])("a clock set $what an hour", ({ by }) => {
  it.effect("leaves a node alone for as long as it asked, no longer and no shorter", () =>
    Effect.gen(function*() {
      const { now, pool, set, word } = yield* setUp
      yield* word
      yield* set(by)
      yield* TestClock.adjust("29 seconds")
      assert.isTrue(isPaused(pool(), 0, now()))
      yield* TestClock.adjust("1 second")
      assert.isFalse(isPaused(pool(), 0, now()))
    }).pipe(Effect.scoped, Effect.provide(NodeHttpClient.layerUndici)))

  it.effect("makes no endpoint count as away, or as standing still, before its time or after it", () =>
    Effect.gen(function*() {
      const { now, observe, pool, set, word } = yield* setUp
      yield* word
      observe({ _tag: "Head", place: 0, head: { height: 1n, hash: "a", time: 0 }, at: now() })
      yield* set(by)
      yield* TestClock.adjust(absenceMillis - 1)
      assert.isFalse(isAway(pool(), 0, now()))
      yield* TestClock.adjust(1)
      assert.isTrue(isAway(pool(), 0, now()))
      yield* TestClock.adjust(60_000 - absenceMillis - 1)
      assert.isFalse(isFrozen(pool(), 0, now()))
      yield* TestClock.adjust(1)
      assert.isTrue(isFrozen(pool(), 0, now()))
    }).pipe(Effect.scoped, Effect.provide(NodeHttpClient.layerUndici)))
})
