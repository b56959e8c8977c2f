/**
 * Goal: who was let in is served, also at the moment of a stop, and no client keeps a stop waiting. Method: clients
 * connect or ask and the door closes in one turn of the event loop, so that none is heard before the stop begins; the
 * time that a stop gives them is a test clock's.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { Agent, request } from "node:http"
import { connect } from "node:net"
import { backlogCheckMillis, backlogMillis, maximumAnswers } from "../../../runtime/boot/Connections.ts"
import {
  closeIntervalMillis,
  connectionsPerAddress,
  listen,
  type ListenerLimits
} from "../../../runtime/boot/Listener.ts"
import { loopbackRanges } from "../../../runtime/http/Addresses.ts"

const clients = 20

/** What an answer says of its connection, or why there is none; without an agent on a connection of its own. */
const ask = (port: number, agent: Agent | false = false) =>
  new Promise<string | undefined>((resolve) => {
    const asked = request({ host: "127.0.0.1", port, agent }, (response) => {
      response.resume()
      response.once("close", () =>
        resolve(response.statusCode === 200 ? response.headers.connection : String(response.statusCode)))
    })
    asked.on("error", (error: NodeJS.ErrnoException) =>
      resolve(error.code ?? error.message))
    asked.end()
  })

const all = <A>(one: (n: number) => Promise<A>) =>
  Effect.promise(() => Promise.all(Array.from({ length: clients }, (_, n) => one(n))))

/** Connections are asked of the system in the next tick, and taken in the next turn of the event loop. */
const connected = Effect.promise(() =>
  new Promise<void>((resolve) => process.nextTick(() => process.nextTick(resolve)))
)

const turn = Effect.promise(() => new Promise<void>((resolve) => void setImmediate(resolve)))

/** Of a test's clock, for each turn of the event loop; and what a stop gives requests that are under way. */
const stepMillis = 5
const graceMillis = 8_000

const opened = Effect.gen(function*() {
  const scope = yield* Scope.make()
  const router = yield* HttpRouter.make
  yield* router.add("GET", "/", HttpServerResponse.text("here"))
  const { port } = yield* Scope.provide(listen(router, { host: "127.0.0.1", port: 0 }, "http"), scope)
  return { port, close: Scope.close(scope, Exit.void) }
})

/** A listener that serves `router` with limits of the test's own. */
const listener = (limits: ListenerLimits, add: (router: HttpRouter.HttpRouter) => Effect.Effect<void>) =>
  Effect.gen(function*() {
    const scope = yield* Scope.make()
    const router = yield* HttpRouter.make
    yield* add(router)
    const { port } = yield* Scope.provide(listen(router, { host: "127.0.0.1", port: 0 }, "http", limits), scope)
    yield* Effect.addFinalizer(() => Scope.close(scope, Exit.void))
    return port
  })

/** A connection, what came over it, and when it closes. */
const talk = (port: number, text = "") => {
  const socket = connect(port, "127.0.0.1")
  const talking = { socket, text: "", isClosed: false, closed: Promise.resolve() }
  talking.closed = new Promise((resolve) => socket.once("close", () => resolve(void (talking.isClosed = true))))
  socket.on("error", () => {}).on("data", (chunk) => talking.text += String(chunk))
  if (text !== "") socket.write(text)
  return talking
}

const get = "GET / HTTP/1.1\r\nhost: x\r\n\r\n"

const statuses = ({ text }: { readonly text: string }) =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status)

/** Goes on when `wanted` is the case; a hang is found by the test's name. */
const until = (wanted: () => boolean) =>
  Effect.promise(async () => {
    while (!wanted()) await new Promise((resolve) => setTimeout(resolve, 5))
  })

const closes = Array.from({ length: clients }, () => "close")

describe("a door that closes", () => {
  it.live("serves the connections that the system had let in before", () =>
    Effect.gen(function*() {
      const { close, port } = yield* opened
      const answers = yield* Effect.forkChild(all(() => ask(port)), { startImmediately: true })
      yield* connected
      yield* close
      assert.deepStrictEqual(yield* Fiber.join(answers), closes)
      assert.strictEqual(yield* Effect.promise(() => ask(port)), "ECONNREFUSED")
    }))

  it.effect("answers who asks on a kept connection just then, says that it closes, and waits for nobody who is gone", () =>
    Effect.gen(function*() {
      const { close, port } = yield* opened
      const agents = Array.from({ length: clients }, () => new Agent({ keepAlive: true }))
      const kept = Array.from({ length: clients }, () => "keep-alive")
      assert.deepStrictEqual(yield* all((n) => ask(port, agents[n])), kept)
      assert.deepStrictEqual(yield* all((n) => ask(port, agents[n])), kept)
      const answers = yield* Effect.forkChild(all((n) => ask(port, agents[n])), { startImmediately: true })
      // No time passes on the test's clock: all of them are gone by themselves.
      yield* close
      assert.deepStrictEqual(yield* Fiber.join(answers), closes)
    }))

  it.effect("cuts whoever has not asked for a while, or never", () =>
    Effect.gen(function*() {
      const { close, port } = yield* opened
      const agent = new Agent({ keepAlive: true })
      const silent = connect(port, "127.0.0.1")
      const cut = new Promise((resolve) => silent.once("close", resolve))
      assert.strictEqual(yield* Effect.promise(() => ask(port, agent)), "keep-alive")
      const closing = yield* Effect.forkChild(close)
      let waited = 0
      for (; closing.pollUnsafe() === undefined; waited += stepMillis) {
        yield* Effect.andThen(turn, TestClock.adjust(stepMillis))
      }
      yield* Effect.promise(() => cut)
      assert.isAtLeast(waited, closeIntervalMillis)
      assert.isBelow(waited, graceMillis)
    }))
})

describe("a connection", () => {
  const served = (router: HttpRouter.HttpRouter) => router.add("GET", "/", HttpServerResponse.text("here"))

  it.live("has a few answers under way at once: the last one says that it closes, and what came after is not served", () =>
    Effect.gen(function*() {
      let calls = 0
      const port = yield* listener({}, (router) =>
        router.add(
          "GET",
          "/",
          Effect.sync(() => {
            calls += 1
            return HttpServerResponse.text("here")
          }).pipe(Effect.delay(10))
        ))
      const few = talk(port, get.repeat(maximumAnswers - 1))
      yield* until(() => statuses(few).length === maximumAnswers - 1)
      few.socket.write(get)
      yield* until(() => statuses(few).length === maximumAnswers)
      assert.deepStrictEqual([few.isClosed, few.text.includes("connection: close")], [false, false])
      few.socket.destroy()
      calls = 0
      const many = talk(port, get.repeat(maximumAnswers + 20))
      yield* Effect.promise(() => many.closed)
      assert.deepStrictEqual(statuses(many), Array.from({ length: maximumAnswers }, () => "200"))
      assert.strictEqual(many.text.indexOf("connection: close"), many.text.lastIndexOf("connection: close"))
      assert.isAbove(many.text.indexOf("connection: close"), many.text.lastIndexOf("HTTP/1.1 200"))
      assert.strictEqual(calls, maximumAnswers)
      const flood = talk(port, get.repeat(1_000))
      yield* Effect.promise(() => flood.closed)
      assert.isAtMost(calls, 2 * maximumAnswers)
    }).pipe(Effect.scoped))

  it.live("that closes ends all that is made for it, also the answers that were not its turn", () =>
    Effect.gen(function*() {
      let [running, ended] = [0, 0]
      const port = yield* listener({}, (router) =>
        router.add(
          "GET",
          "/",
          Effect.suspend(() => {
            running += 1
            return Effect.onInterrupt(Effect.never, () => Effect.sync(() => ended += 1))
          })
        ))
      const asker = talk(port, get.repeat(10))
      yield* until(() => running === 10)
      asker.socket.destroy()
      yield* until(() => ended === 10)
    }).pipe(Effect.scoped))

  it.live("whose reader takes nothing is cut, and one that is slow but reads is not", () =>
    Effect.gen(function*() {
      const body = new Uint8Array(20_000_000)
      // Many times a rest, for a machine that is late by itself.
      const idleTimeoutMillis = 1_000
      const restMillis = 100
      // Its rests are longer than two limits: of one that takes nothing, the first may end what was on its way.
      const restBytes = body.length / 30
      const port = yield* listener({ idleTimeoutMillis }, (router) =>
        router.add("GET", "/", HttpServerResponse.uint8Array(body)))
      const [still, slow] = [talk(port, get), talk(port, get)]
      still.socket.pause()
      let taken = 0
      slow.socket.on("data", (chunk: Buffer) => {
        taken += chunk.length
        if (Math.floor(taken / restBytes) === Math.floor((taken - chunk.length) / restBytes)) {
          return
        }
        slow.socket.pause()
        setTimeout(() =>
          slow.socket.resume(), restMillis)
      })
      const start = performance.now()
      yield* until(() => taken > body.length || slow.isClosed)
      assert.isAbove(taken, body.length)
      assert.isAbove(performance.now() - start, 2 * idleTimeoutMillis)
      still.socket.resume()
      yield* Effect.promise(() => still.closed)
      assert.isBelow(still.text.length, body.length)
    }).pipe(Effect.scoped))

  it.effect("that never takes all it asked for is cut in the end, however it reads; one without a backlog is not", () =>
    Effect.gen(function*() {
      const port = yield* listener({}, (router) =>
        Effect.andThen(
          router.add("GET", "/", HttpServerResponse.uint8Array(new Uint8Array(20_000_000))),
          router.add("GET", "/small", HttpServerResponse.text("small"))
        ))
      const [slow, idle] = [talk(port), talk(port)]
      slow.socket.pause()
      yield* until(() => !slow.socket.connecting && !idle.socket.connecting)
      slow.socket.write(get)
      idle.socket.write(get.replace("/", "/small"))
      yield* until(() => idle.text.includes("small"))
      slow.socket.once("data", () => slow.socket.pause())
      slow.socket.resume()
      yield* until(() => slow.text.length > 0)
      yield* TestClock.adjust(backlogMillis - backlogCheckMillis)
      slow.socket.write("x")
      yield* turn
      assert.deepStrictEqual([slow.isClosed, idle.isClosed], [false, false])
      yield* TestClock.adjust(2 * backlogCheckMillis)
      slow.socket.resume()
      yield* Effect.promise(() => slow.closed)
      assert.isBelow(slow.text.length, 20_000_000)
    }).pipe(Effect.scoped))

  it.live("beyond what its address may hold is closed at once, until another one closes; ranges that stand for many are not counted", () =>
    Effect.gen(function*() {
      const port = yield* listener({ connectionLimits: { perAddress: 3, exemptRanges: [] } }, served)
      const held = [talk(port, get), talk(port, get), talk(port, get)]
      yield* until(() => held.every(({ text }) => text.includes("here")))
      const surplus = talk(port, get)
      yield* Effect.promise(() => surplus.closed)
      assert.strictEqual(surplus.text, "")
      held[0]!.socket.destroy()
      yield* Effect.promise(() => held[0]!.closed)
      const next = talk(port, get)
      yield* until(() => next.text.includes("here") || next.isClosed)
      assert.isFalse(next.isClosed)
      const open = yield* listener({ connectionLimits: { perAddress: 3, exemptRanges: loopbackRanges } }, served)
      const many = Array.from({ length: 10 }, () => talk(open, get))
      yield* until(() => many.every(({ text }) => text.includes("here")))
    }).pipe(Effect.scoped))

  it("limit is 100 for an address where real money is served, 1,000 on devnet, or what the settings say", () => {
    const limit = (environments: ReadonlyArray<"devnet" | "mainnet">, own?: number) =>
      connectionsPerAddress({
        environments: environments as never,
        limits: (own === undefined ? {} : { connectionsPerAddress: own }) as never
      })
    assert.deepStrictEqual(
      [limit(["devnet"]), limit(["mainnet"]), limit(["devnet", "mainnet"]), limit(["mainnet"], 7)],
      [1_000, 100, 100, 7]
    )
  })
})
