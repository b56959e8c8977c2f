/**
 * Goal: the log tells a request that was answered from one whose caller had gone, and whether its work was done.
 * Method: the real server and global middleware, and callers that leave at a moment of the test's choice.
 */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { createServer } from "node:http"
import { type AddressInfo, connect } from "node:net"
import { bodyText } from "../../../runtime/http/Body.ts"
import { globalMiddleware } from "../../../runtime/http/GlobalMiddleware.ts"
import * as NodeServer from "../../../runtime/http/NodeServer.ts"
import { answerParseErrors } from "../../../runtime/http/ParseErrors.ts"
import { fromApis } from "../../../runtime/http/Routes.ts"
import * as TimeLimit from "../../../runtime/http/TimeLimit.ts"
import type { LoggedRequest } from "../../../runtime/telemetry/RequestLog.ts"
import { noTraces } from "../../../runtime/telemetry/Traces.ts"

/** A server whose `/change` waits for `release`, and does its work whoever leaves. */
const makeRig = Effect.gen(function*() {
  const started = yield* Deferred.make<void>()
  const release = yield* Deferred.make<void>()
  const entries: Array<LoggedRequest> = []
  const logged = yield* Deferred.make<void>()
  const counted: Array<number> = []
  const logRequest = (entry: LoggedRequest) => {
    entries.push(entry)
    Effect.runSync(Deferred.succeed(logged, undefined))
  }
  const router = yield* HttpRouter.make
  const change = Effect.andThen(
    Deferred.succeed(started, undefined),
    Effect.as(Deferred.await(release), HttpServerResponse.text("changed"))
  )
  yield* router.add("GET", "/change", Effect.uninterruptible(change)) as Effect.Effect<void>
  const read = Effect.flatMap(
    HttpServerRequest.HttpServerRequest,
    (request) =>
      Effect.andThen(Deferred.succeed(started, undefined), Effect.map(bodyText(request), HttpServerResponse.text))
  )
  yield* router.add("POST", "/read", read) as Effect.Effect<void>
  const errorPages = { choose: () => ({ render: undefined, dependsOnAccept: false }) } as never
  yield* router.addGlobalMiddleware(
    globalMiddleware({
      routes: fromApis([]),
      rateLimiter: { address: () => Effect.void } as never,
      errorPages,
      timeLimit: TimeLimit.make(),
      logRequest,
      traces: noTraces,
      addressOf: () => null
    }) as never
  ) as Effect.Effect<void>
  const server = yield* Effect.acquireRelease(
    Effect.sync(() => createServer()),
    (server) =>
      Effect.sync(() => {
        server.closeAllConnections()
        server.close()
      })
  )
  answerParseErrors(server, { errorPages, logRequest, count: (status) => void counted.push(status) })
  yield* NodeServer.serve(server, router.asHttpEffect())
  yield* Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void)))
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1").on("error", () => {})
  yield* Effect.addFinalizer(() => Effect.sync(() => socket.destroy()))
  /** The caller leaves, and the server has noticed it. */
  const leave = Effect.callback<void>((resume) => {
    socket.once("close", () => {
      const look = () =>
        server.getConnections((_, count) => count === 0 ? resume(Effect.void) : void setImmediate(look))
      look()
    })
    socket.destroy()
  })
  return { socket, started: Deferred.await(started), release, leave, entries, logged: Deferred.await(logged), counted }
})

describe("a request whose caller leaves", () => {
  it.live("while it is worked on is logged with the status 499, and with that of the answer nobody read", () =>
    Effect.scoped(Effect.gen(function*() {
      const { entries, leave, logged, release, socket, started } = yield* makeRig
      socket.write("GET /change HTTP/1.1\r\nhost: a\r\n\r\n")
      yield* started
      yield* leave
      yield* Deferred.succeed(release, undefined)
      yield* logged
      assert.lengthOf(entries, 1)
      assert.deepInclude(entries[0], { method: "GET", route: "/change", status: 499, unsentStatus: 200 })
    })))

  it.live("before all of it came is logged with the status 499 alone", () =>
    Effect.scoped(Effect.gen(function*() {
      const { entries, leave, logged, socket, started } = yield* makeRig
      socket.write("POST /read HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{")
      yield* started
      yield* leave
      yield* logged
      assert.lengthOf(entries, 1)
      const { unsentStatus, ...entry } = entries[0]!
      assert.deepInclude(entry, { method: "POST", route: "/read", status: 499 })
      assert.isUndefined(unsentStatus)
    })))

  it.live("after its answer is logged as answered", () =>
    Effect.scoped(Effect.gen(function*() {
      const { entries, leave, logged, release, socket } = yield* makeRig
      yield* Deferred.succeed(release, undefined)
      socket.write("GET /change HTTP/1.1\r\nhost: a\r\n\r\n")
      yield* logged
      yield* leave
      assert.deepStrictEqual(entries.map(({ status, unsentStatus }) => [status, unsentStatus]), [[200, undefined]])
    })))
})

describe("what the parser refuses", () => {
  const refused = [
    ["no HTTP", "GARBAGE\r\n\r\n", null, 400],
    ["too many headers", `GET / HTTP/1.1\r\nhost: a\r\nx: ${"y".repeat(20_000)}\r\n\r\n`, "GET", 431]
  ] as const
  for (const [name, bytes, method, status] of refused) {
    it.live(`${name}: is counted, and logged by the id of its answer`, () =>
      Effect.scoped(Effect.gen(function*() {
        const { counted, entries, socket } = yield* makeRig
        const answer = yield* Effect.callback<string>((resume) => {
          let text = ""
          socket.setEncoding("latin1").on("data", (chunk: string) => void (text += chunk))
          socket.once("close", () => resume(Effect.succeed(text)))
          socket.write(bytes)
        })
        assert.match(answer, new RegExp(`^HTTP/1.1 ${status} `))
        const requestId = /x-request-id: (\S+)/.exec(answer)?.[1]
        assert.match(String(requestId), /^req_[0-9a-f-]{36}$/)
        assert.deepStrictEqual(entries, [
          { method, route: null, status, seconds: null, requestId: requestId!, merchantId: null }
        ])
        assert.deepStrictEqual(counted, [status])
      })))
  }
})
