/**
 * Goal: who was let in is served, also at the moment of a stop (I-33).
 * Method: clients connect and the door closes in one turn of the event loop, so that none is taken before the stop begins.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { request } from "node:http"
import { open } from "../../../runtime/boot/Doors.ts"

const clients = 20

/** The status of one request on a connection of its own, or why there is none. */
const ask = (port: number) =>
  new Promise<number | string>((resolve) => {
    const asked = request({ host: "127.0.0.1", port, agent: false }, (response) => {
      response.resume()
      response.once("close", () => resolve(response.statusCode!))
    })
    asked.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    asked.end()
  })

/** Connections are asked of the system in the next tick, and taken in the next turn of the event loop. */
const connected = Effect.promise(() => new Promise<void>((resolve) => process.nextTick(() => process.nextTick(resolve))))

describe("a door that closes", () => {
  it.live("serves the connections that the system had let in before", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const router = yield* HttpRouter.make
      yield* router.add("GET", "/", HttpServerResponse.text("here"))
      const { port } = yield* Scope.provide(open(router, { host: "127.0.0.1", port: 0 }, "http"), scope)
      const answers = Array.from({ length: clients }, () => ask(port))
      yield* connected
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(yield* Effect.promise(() => Promise.all(answers)), Array.from({ length: clients }, () => 200))
      assert.strictEqual(yield* Effect.promise(() => ask(port)), "ECONNREFUSED")
    }))
})
