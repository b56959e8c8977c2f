/**
 * Goal: a route that hangs is refused in time, whatever it hangs on, and the next ones sooner.
 * Method: the limit on timers that the test moves; and behind a real server, routes that never answer and cannot be
 * interrupted.
 */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { afterEach, assert, beforeEach, describe, it, vi } from "@effect/vitest"
import { Deferred, Effect, Layer, Logger } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { createServer, request } from "node:http"
import type { AddressInfo } from "node:net"
import { bodyText } from "../../../runtime/http/Body.ts"
import { globalMiddleware } from "../../../runtime/http/GlobalMiddleware.ts"
import * as NodeServer from "../../../runtime/http/NodeServer.ts"
import { fromApis } from "../../../runtime/http/Routes.ts"
import { formatJson } from "../../../runtime/telemetry/Logs.ts"
import { noTraces } from "../../../runtime/telemetry/Traces.ts"
import * as TimeLimit from "../../../runtime/http/TimeLimit.ts"

/** The request came at once. */
const isWhole = () => false

describe("the limit of time", () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it("is over for a route that does not end, once, and never for one that does", () => {
    const limit = TimeLimit.make({ usualMillis: 20, suspiciousMillis: 10 })
    const onLate = vi.fn()
    limit.stop(limit.start(onLate, isWhole), 200)
    vi.advanceTimersByTime(100)
    assert.strictEqual(onLate.mock.calls.length, 0)
    limit.start(onLate, isWhole)
    vi.advanceTimersByTime(19)
    assert.strictEqual(onLate.mock.calls.length, 0)
    vi.advanceTimersByTime(1)
    vi.advanceTimersByTime(100)
    assert.strictEqual(onLate.mock.calls.length, 1)
  })

  it("goes by the timers of a simulation and by no time of the machine", () => {
    const waiting: Array<{ readonly at: number; readonly run: () => void }> = []
    let now = 0
    const limit = TimeLimit.make({
      usualMillis: 20,
      suspiciousMillis: 10,
      timers: {
        millis: () => now,
        after: (millis, run) => void waiting.push({ at: now + millis, run })
      }
    })
    const onLate = vi.fn()
    limit.start(onLate, isWhole)
    vi.advanceTimersByTime(1_000)
    assert.strictEqual(onLate.mock.calls.length, 0)
    now = waiting[0]!.at
    waiting[0]!.run()
    assert.deepStrictEqual([now, onLate.mock.calls.length], [20, 1])
  })

  it("ends for each route at its own time, whichever others ended before", () => {
    const limit = TimeLimit.make({ usualMillis: 20, suspiciousMillis: 20 })
    const late: Array<number> = []
    const deadlines = [0, 1, 2, 3].map((route) => {
      const deadline = limit.start(() => late.push(route), isWhole)
      vi.advanceTimersByTime(5)
      return deadline
    })
    limit.stop(deadlines[1]!, 200)
    assert.deepStrictEqual(late, [0])
    vi.advanceTimersByTime(9)
    assert.deepStrictEqual(late, [0])
    vi.advanceTimersByTime(1)
    assert.deepStrictEqual(late, [0, 2])
    limit.stop(deadlines[3]!, 200)
    limit.stop(deadlines[0]!, 200)
    vi.advanceTimersByTime(100)
    assert.deepStrictEqual(late, [0, 2])
  })

  it("does not run out while the request is received, and is not met by that", () => {
    const limit = TimeLimit.make({ usualMillis: 20, suspiciousMillis: 10 })
    const onLate = vi.fn()
    let isWaiting = true
    limit.start(onLate, () => isWaiting)
    vi.advanceTimersByTime(50)
    isWaiting = false
    vi.advanceTimersByTime(9)
    assert.strictEqual(onLate.mock.calls.length, 0)
    vi.advanceTimersByTime(1)
    vi.advanceTimersByTime(100)
    assert.strictEqual(onLate.mock.calls.length, 1)
  })

  it("is shorter after it was met, until a route has succeeded again", () => {
    const limit = TimeLimit.make({ usualMillis: 300, suspiciousMillis: 10 })
    const isLateAfter = (millis: number) => {
      const onLate = vi.fn()
      const deadline = limit.start(onLate, isWhole)
      vi.advanceTimersByTime(millis)
      limit.stop(deadline, null)
      return onLate.mock.calls.length === 1
    }
    assert.isFalse(isLateAfter(299))
    assert.isTrue(isLateAfter(300))
    assert.isTrue(isLateAfter(10))
    limit.stop(limit.start(() => {}, isWhole), 404)
    limit.stop(limit.start(() => {}, isWhole), null)
    assert.isTrue(isLateAfter(10))
    limit.stop(limit.start(() => {}, isWhole), 200)
    assert.isFalse(isLateAfter(299))
  })
})

/** The status and body of a GET, by a connection of its own. */
const get = (port: number, path: string) =>
  Effect.callback<{ readonly status: number | undefined; readonly body: string }>((resume) => {
    const sent = request({ port, path, agent: false }, (answer) => {
      let body = ""
      answer.setEncoding("utf8").on("data", (chunk: string) => void (body += chunk))
      answer.once("end", () => resume(Effect.succeed({ status: answer.statusCode, body })))
    })
    sent.once("error", () => resume(Effect.succeed({ status: undefined, body: "" })))
    sent.end()
    return Effect.sync(() => sent.destroy())
  })

/** The status of a POST of two bytes, the last of which comes when the time of a route is long over. */
const postSlowly = (port: number, path: string) =>
  Effect.callback<number | undefined>((resume) => {
    const options = { port, path, agent: false, method: "POST", headers: { "content-length": 2 } }
    const sent = request(options, (answer) => resume(Effect.succeed(answer.resume().statusCode)))
    sent.once("error", () => resume(Effect.undefined))
    sent.write("{")
    setTimeout(() => sent.end("}"), 1_200)
    return Effect.sync(() => sent.destroy())
  })

/** A server whose routes may take 20 ms, or as long as is said. */
const serve = Effect.fnUntraced(function*(
  route: Effect.Effect<HttpServerResponse.HttpServerResponse>,
  limitMillis = 20
) {
  const router = yield* HttpRouter.make
  yield* router.add("GET", "/route", route) as Effect.Effect<void>
  yield* router.add(
    "POST",
    "/read",
    Effect.flatMap(
      HttpServerRequest.HttpServerRequest,
      (received) => Effect.map(bodyText(received), HttpServerResponse.text)
    )
  ) as Effect.Effect<void>
  yield* router.addGlobalMiddleware(
    globalMiddleware({
      routes: fromApis([]),
      rateLimiter: { address: () => Effect.void } as never,
      errorPages: { choose: () => ({ render: undefined, dependsOnAccept: false }) } as never,
      timeLimit: TimeLimit.make({ usualMillis: limitMillis, suspiciousMillis: limitMillis }),
      logRequest: () => {},
      traces: noTraces,
      addressOf: () => null
    }) as never
  ) as Effect.Effect<void>
  const server = createServer()
  yield* NodeServer.serve(server, router.asHttpEffect())
  yield* Layer.build(NodeHttpServer.layerServer(() => server, { port: 0, host: "127.0.0.1" }))
  return (server.address() as AddressInfo).port
})

describe("a request under the limit of time", () => {
  const answer = HttpServerResponse.text("answered")

  it.live("is answered 503 while its route hangs and cannot be interrupted", () =>
    Effect.gen(function*() {
      const release = yield* Deferred.make<void>()
      const port = yield* serve(Effect.as(Effect.uninterruptible(Deferred.await(release)), answer))
      const { body, status } = yield* get(port, "/route")
      assert.strictEqual(status, 503)
      assert.strictEqual(JSON.parse(body).error.code, "SERVICE_UNAVAILABLE")
      yield* Deferred.succeed(release, undefined)
    }).pipe(Effect.scoped))

  it.live("that hangs is told of in the log, with its route and how long it took", () =>
    Effect.gen(function*() {
      const lines: Array<Record<string, unknown>> = []
      const logger = Logger.make<unknown, void>((options) => void lines.push(JSON.parse(formatJson.log(options))))
      yield* Effect.gen(function*() {
        const port = yield* serve(Effect.never)
        assert.strictEqual((yield* get(port, "/route")).status, 503)
      }).pipe(Effect.provide(Logger.layer([logger])))
      const line = lines.find(({ msg }) => String(msg).includes("not answered in time"))
      assert.deepInclude(line, { level: "warn", method: "GET", route: "/route", code: "SERVICE_UNAVAILABLE" })
      assert.isAtLeast(Number(line?.["ms"]), 20)
    }).pipe(Effect.scoped))

  it.live("is given the time of its sender, who may be slow", () =>
    Effect.gen(function*() {
      const port = yield* serve(Effect.succeed(answer), 500)
      assert.strictEqual(yield* postSlowly(port, "/read"), 200)
    }).pipe(Effect.scoped))

  it.live("interrupts its route, and the next request is answered by its own", () =>
    Effect.gen(function*() {
      const stopped = yield* Deferred.make<void>()
      let calls = 0
      const hang = Effect.onInterrupt(Effect.never, () => Deferred.succeed(stopped, undefined))
      const port = yield* serve(Effect.suspend(() => calls++ === 0 ? hang : Effect.succeed(answer)))
      assert.strictEqual((yield* get(port, "/route")).status, 503)
      yield* Deferred.await(stopped)
      assert.deepStrictEqual(yield* get(port, "/route"), { status: 200, body: "answered" })
    }).pipe(Effect.scoped))

  it.live("interrupts the route of a caller who has gone", () =>
    Effect.gen(function*() {
      const started = yield* Deferred.make<void>()
      const stopped = yield* Deferred.make<void>()
      const hang = Effect.onInterrupt(
        Effect.andThen(Deferred.succeed(started, undefined), Effect.never),
        () => Deferred.succeed(stopped, undefined)
      )
      const port = yield* serve(hang)
      yield* Effect.raceFirst(get(port, "/route"), Deferred.await(started))
      yield* Deferred.await(stopped)
    }).pipe(Effect.scoped))
})
