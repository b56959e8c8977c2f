/** Goal: a delivery of `tillwire listen` ends, whatever the receiver does. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { answerTimeoutMillis, forward } from "../../../modules/cli/Forward.ts"

/** A receiver that sends its answer byte by byte and never ends it; `onBegin` runs when it has begun. */
const endlessReceiver = (onBegin: () => void) =>
  Effect.acquireRelease(
    Effect.callback<Server>((resume) => {
      const server = createServer((_, response) => {
        response.writeHead(200)
        const drip = setInterval(() => response.write("a"), 50)
        response.once("close", () => clearInterval(drip))
        response.write("a")
        onBegin()
      })
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) =>
      Effect.sync(() => {
        server.closeAllConnections()
        server.close()
      })
  )

describe("a delivery to a receiver that never ends its answer", () => {
  it.effect("is given up after the time that the service waits", () =>
    Effect.gen(function*() {
      const begun = Promise.withResolvers<void>()
      const server = yield* endlessReceiver(() => begun.resolve())
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
      const fiber = yield* Effect.forkChild(forward({ url, isTlsUnchecked: false }, {}, "{}"))
      yield* Effect.promise(() => begun.promise)
      yield* TestClock.adjust(answerTimeoutMillis)
      const result = yield* Fiber.join(fiber)
      assert.strictEqual(result._tag, "TimedOut")
    }))
})
