/**
 * Goal: who was let in is served, also at the moment of a stop (I-33), and no client keeps a stop waiting.
 * Method: clients connect or ask and the door closes in one turn of the event loop, so that none is heard before the stop
 * begins; the time that a stop gives them is a test clock's.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { Agent, request } from "node:http"
import { connect } from "node:net"
import { open, quietMillis } from "../../../runtime/boot/Doors.ts"

const clients = 20

/** What an answer says of its connection, or why there is none; without an agent on a connection of its own. */
const ask = (port: number, agent: Agent | false = false) =>
  new Promise<string | undefined>((resolve) => {
    const asked = request({ host: "127.0.0.1", port, agent }, (response) => {
      response.resume()
      response.once("close", () => resolve(response.statusCode === 200 ? response.headers.connection : String(response.statusCode)))
    })
    asked.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    asked.end()
  })

const all = <A>(one: (n: number) => Promise<A>) => Effect.promise(() => Promise.all(Array.from({ length: clients }, (_, n) => one(n))))

/** Connections are asked of the system in the next tick, and taken in the next turn of the event loop. */
const connected = Effect.promise(() => new Promise<void>((resolve) => process.nextTick(() => process.nextTick(resolve))))

const turn = Effect.promise(() => new Promise<void>((resolve) => void setImmediate(resolve)))

/** Of a test's clock, for each turn of the event loop; and what a stop gives requests that are under way. */
const stepMillis = 5
const graceMillis = 8_000

const opened = Effect.gen(function*() {
  const scope = yield* Scope.make()
  const router = yield* HttpRouter.make
  yield* router.add("GET", "/", HttpServerResponse.text("here"))
  const { port } = yield* Scope.provide(open(router, { host: "127.0.0.1", port: 0 }, "http"), scope)
  return { port, close: Scope.close(scope, Exit.void) }
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
      for (; closing.pollUnsafe() === undefined; waited += stepMillis) yield* Effect.andThen(turn, TestClock.adjust(stepMillis))
      yield* Effect.promise(() => cut)
      assert.isAtLeast(waited, quietMillis)
      assert.isBelow(waited, graceMillis)
    }))
})
