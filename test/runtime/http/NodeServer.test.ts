/**
 * Goal: our way in answers byte for byte as Effect's own server does, also what is rare or wrong, and holds nothing
 * after a client has gone. Method: one router behind both, and the same bytes written to both.
 */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Layer, Logger, Scope, Stream } from "effect"
import { Cookies, HttpEffect, HttpRouter, HttpServer, HttpServerRequest, HttpServerResponse } from "effect/http"
import { createServer, type Server } from "node:http"
import { type AddressInfo, connect } from "node:net"
import { Readable } from "node:stream"
import { serve } from "../../../runtime/http/NodeServer.ts"

type Response = HttpServerResponse.HttpServerResponse

const bytes = (text: string) => new TextEncoder().encode(text)

const routes: Readonly<Record<string, Effect.Effect<Response, unknown, HttpServerRequest.HttpServerRequest>>> = {
  text: Effect.succeed(HttpServerResponse.text("here", { headers: { "x-own": "1" } })),
  empty: Effect.succeed(HttpServerResponse.empty()),
  "reset-content": Effect.succeed(HttpServerResponse.text("none", { status: 205 })),
  unchanged: Effect.succeed(HttpServerResponse.text("none", { status: 304 })),
  named: Effect.succeed(HttpServerResponse.text("here", { statusText: "So" } as never)),
  large: Effect.succeed(HttpServerResponse.uint8Array(new Uint8Array(2_000_000).fill(97))),
  cookies: Effect.succeed(
    HttpServerResponse.text("here", {
      headers: { "set-cookie": "own=1" },
      cookies: Cookies.fromIterable([Cookies.makeCookieUnsafe("a", "1"), Cookies.makeCookieUnsafe("b", "2")])
    })
  ),
  stream: Effect.succeed(HttpServerResponse.stream(Stream.fromIterable([bytes("one"), bytes("two")]))),
  "measured-stream": Effect.succeed(
    HttpServerResponse.stream(Stream.fromIterable([bytes("one")]), { contentLength: 3, contentType: "text/plain" })
  ),
  "broken-stream": Effect.succeed(
    HttpServerResponse.stream(Stream.concat(Stream.succeed(bytes("one")), Stream.fail("broken")))
  ),
  file: Effect.suspend(() => Effect.succeed(HttpServerResponse.raw(Readable.from([Buffer.from("file")])))),
  "raw-text": Effect.succeed(HttpServerResponse.raw("raw", { contentLength: 3 })),
  "no-status": Effect.succeed(HttpServerResponse.text("here", { status: 102 })),
  "no-header": Effect.succeed(HttpServerResponse.text("here", { headers: { "x-bad": "a\nb" } })),
  "too-short": Effect.succeed(HttpServerResponse.setHeader(HttpServerResponse.text("here"), "content-length", "9")),
  "too-long": Effect.succeed(HttpServerResponse.setHeader(HttpServerResponse.text("here"), "content-length", "2")),
  failure: Effect.fail("failure"),
  defect: Effect.die(new Error("defect")),
  interrupted: Effect.interrupt,
  changed: Effect.as(
    HttpEffect.appendPreResponseHandler((_, response) =>
      Effect.succeed(HttpServerResponse.setHeader(response, "x-changed", "1"))
    ),
    HttpServerResponse.text("here")
  ),
  echo: Effect.flatMap(
    HttpServerRequest.HttpServerRequest,
    (request) =>
      Effect.map(
        request.text,
        (text) =>
          HttpServerResponse.text(JSON.stringify([text, request.method, request.url, request.headers, request.cookies]))
      )
  ),
  target: Effect.map(
    HttpServerRequest.HttpServerRequest,
    (request) =>
      HttpServerResponse.text(JSON.stringify([request.originalUrl, request.url, request.modify({ url: "/x" }).url]))
  )
}

const makeRouter = Effect.gen(function*() {
  const router = yield* HttpRouter.make
  for (const [name, route] of Object.entries(routes)) yield* router.add("*", `/${name}`, Effect.orDie(route))
  return router
})

const port = (server: Server) => (server.address() as AddressInfo).port

/** A server of ours that listens until the scope closes. */
const ours = Effect.fnUntraced(function*(router: HttpRouter.HttpRouter) {
  const server = createServer()
  yield* serve(server, router.asHttpEffect())
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () => Effect.sync(() => (server.closeAllConnections(), server.close()))
  )
  return server
})

const effects = Effect.fnUntraced(function*(router: HttpRouter.HttpRouter) {
  const server = createServer()
  const context = yield* Layer.build(
    NodeHttpServer.layerServer(() => server, { port: 0, host: "127.0.0.1", disablePreemptiveShutdown: true })
  )
  yield* Effect.provideContext(HttpServer.serveEffect(router.asHttpEffect() as Effect.Effect<Response>), context)
  return server
})

/** Calls `end` after so many milliseconds in which the event loop went on: a machine that stands still is not silent. */
const afterSilence = (millis: number, end: () => void): () => void => {
  let left = millis / 10
  const timer = setInterval(() => {
    if (left-- > 0) return
    clearInterval(timer)
    end()
  }, 10)
  return () => clearInterval(timer)
}

/** All that a server says to `parts`, written 20 ms apart, until nothing more comes for 150 ms or it closes. */
const talk = (server: Server, parts: ReadonlyArray<string>) =>
  Effect.callback<string>((resume) => {
    const socket = connect(port(server), "127.0.0.1")
    let said = ""
    let isClosed = false
    const end = () => {
      if (!isClosed) socket.destroy()
      resume(Effect.succeed(
        `${said.replaceAll(/date: [^\r]+/gi, "date: now")}${isClosed ? " (closed)" : " (open)"}`
      ))
    }
    let hear = afterSilence(1_000, end)
    socket.setEncoding("latin1").on("data", (chunk: string) => {
      said += chunk
      hear()
      hear = afterSilence(150, end)
    })
    socket.on("error", () => {}).on("close", () => {
      isClosed = true
      hear()
      end()
    })
    parts.forEach((part, index) => setTimeout(() => socket.write(part), 20 * index))
  })

const ask = (method: string, path: string, headers: ReadonlyArray<string> = [], body = "") =>
  [`${method} ${path} HTTP/1.1`, "host: till", ...headers, "", body].join("\r\n")

const conversations: Readonly<Record<string, ReadonlyArray<string>>> = {
  ...Object.fromEntries(
    Object.keys(routes).flatMap((name) => [
      [`GET ${name}`, [ask("GET", `/${name}`)]],
      [`HEAD ${name}`, [ask("HEAD", `/${name}`)]]
    ])
  ),
  "no such path": [ask("GET", "/nowhere")],
  "a body": [ask("POST", "/echo", ["content-length: 4", "cookie: a=1; b=2", "X-Two: 1", "x-two: 2"], "body")],
  "a slow body": [ask("POST", "/echo", ["content-length: 4"], "bo"), "dy"],
  "a body in chunks": [ask("POST", "/echo", ["transfer-encoding: chunked"], "2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n")],
  "a body that nobody reads": [ask("POST", "/text", ["content-length: 4"], "bo"), "dy", ask("GET", "/text")],
  "a long body that nobody reads": [ask("POST", "/text", ["content-length: 400000"], "b"), "b".repeat(399_999)],
  "a long body in chunks that nobody reads": [
    ask("POST", "/text", ["transfer-encoding: chunked"], `61a80\r\n${"b".repeat(400_000)}\r\n`)
  ],
  "a body of a caller who closes": [ask("POST", "/text", ["content-length: 9", "connection: close"], "b")],
  "a body after 100 Continue": [ask("POST", "/echo", ["content-length: 4", "expect: 100-continue"]), "body"],
  "a body that nobody lets continue": [ask("POST", "/text", ["content-length: 4", "expect: 100-continue"])],
  "pipelined requests": [
    [ask("GET", "/text"), ask("GET", "/stream"), ask("HEAD", "/text"), ask("GET", "/nowhere")].join("")
  ],
  "an absolute target": [ask("GET", "http://other.test/target?a=1")],
  "an absolute target that is none": [ask("GET", "http://[/target")],
  "a target without a slash": [ask("GET", "target")],
  "an upgrade that is none": [ask("GET", "/text", ["connection: upgrade", "upgrade: websocket"])],
  "an old client": ["GET /stream HTTP/1.0\r\n\r\n"]
}

/** What breaks while it is written, before anything was sent: the connection is cut. */
const unanswered: ReadonlySet<string> = new Set(["GET broken-stream", "GET too-short", "GET too-long"])

describe("the way in", () => {
  it.live("says byte for byte what Effect's server says", () =>
    Effect.gen(function*() {
      const router = yield* makeRouter
      const [here, there] = [yield* ours(router), yield* effects(router)]
      yield* Effect.forEach(
        Object.entries(conversations),
        ([name, parts]) =>
          Effect.gen(function*() {
            const [own, expected] = yield* Effect.all([talk(here, parts), talk(there, parts)], { concurrency: 2 })
            assert.strictEqual(own, expected, name)
            if (!unanswered.has(name)) assert.match(own, /^HTTP\/1\.1 \d{3}/, name)
          }),
        { concurrency: 8, discard: true }
      )
    }).pipe(Effect.scoped, Effect.provide(Logger.layer([]))))

  it.live("is heard by a client who sends the whole of a long body before it looks for an answer", () =>
    Effect.gen(function*() {
      const server = yield* ours(yield* makeRouter)
      // More than the buffers of both sides hold, so that somebody has to read it.
      const length = 12_000_000
      const answer = yield* Effect.callback<string>((resume) => {
        const socket = connect({ port: port(server), host: "127.0.0.1", allowHalfOpen: true })
        socket.pause()
        socket.on("error", (error) => resume(Effect.succeed(String(error))))
        socket.write(ask("POST", "/text", [`content-length: ${length}`]))
        socket.write(Buffer.alloc(length, 97), (error) => {
          if (error) return
          socket.once("data", (chunk) => {
            socket.destroy()
            resume(Effect.succeed(chunk.toString("latin1")))
          })
          socket.once("close", () => resume(Effect.succeed("closed without an answer"))).resume()
        })
      })
      assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/)
    }).pipe(Effect.scoped))

  it.live("cuts a client who sends on without an end", () =>
    Effect.gen(function*() {
      const server = yield* ours(yield* makeRouter)
      const sentBytes = yield* Effect.callback<number>((resume) => {
        const socket = connect(port(server), "127.0.0.1")
        let bytes = 0
        const chunk = Buffer.alloc(1_000_000, 97)
        const send = () => {
          bytes += chunk.length
          socket.write(chunk, (error) => error ? undefined : send())
        }
        socket.on("error", () => {}).on("close", () => resume(Effect.succeed(bytes)))
        socket.write(ask("POST", "/text", ["content-length: 1000000000"]), send)
      })
      assert.isBelow(sentBytes, 60_000_000)
    }).pipe(Effect.scoped))

  it.live("logs a failure that nobody made an answer of, and neither an answer nor a client who has gone", () => {
    const logs: Array<string> = []
    const logger = Logger.make<unknown, void>(({ message }) => void logs.push(String([message].flat()[0])))
    return Effect.gen(function*() {
      const router = yield* makeRouter
      const started = yield* Deferred.make<void>()
      const stopped = yield* Deferred.make<void>()
      const hang = Effect.andThen(Deferred.succeed(started, undefined), Effect.never)
      yield* router.add("GET", "/hang", Effect.onInterrupt(hang, () => Deferred.succeed(stopped, undefined)))
      const server = yield* ours(router)
      yield* talk(server, [ask("GET", "/text") + ask("GET", "/nowhere")])
      const socket = connect(port(server), "127.0.0.1", () => socket.write(ask("GET", "/hang")))
      yield* Deferred.await(started)
      socket.destroy()
      yield* Deferred.await(stopped)
      yield* Effect.sleep(20)
      assert.deepStrictEqual(logs, [])
      yield* talk(server, [ask("GET", "/defect")])
      yield* talk(server, [ask("GET", "/broken-stream")])
      assert.deepStrictEqual(logs, [
        "a request failed: it is answered with the status 500 alone",
        "an answer failed while it was sent: its connection is closed"
      ])
    }).pipe(Effect.scoped, Effect.provide(Logger.layer([logger])))
  })

  it.live("interrupts what a client who has gone had asked for, and closes what it had opened", () =>
    Effect.gen(function*() {
      const [started, stopped, closed] = [
        yield* Deferred.make<void>(),
        yield* Deferred.make<void>(),
        yield* Deferred.make<void>()
      ]
      const router = yield* HttpRouter.make
      yield* router.add(
        "POST",
        "/hang",
        Effect.gen(function*() {
          yield* Effect.addFinalizer(() => Deferred.succeed(closed, undefined))
          yield* Deferred.succeed(started, undefined)
          return yield* Effect.onInterrupt(Effect.never, () => Deferred.succeed(stopped, undefined))
        })
      )
      const server = yield* ours(router)
      const socket = connect(port(server), "127.0.0.1", () => socket.write(ask("POST", "/hang", ["content-length: 1"])))
      yield* Deferred.await(started)
      socket.destroy()
      yield* Deferred.await(stopped)
      yield* Deferred.await(closed)
    }).pipe(Effect.scoped))

  it.live("interrupts and awaits what is under way when its scope closes", () =>
    Effect.gen(function*() {
      const started = yield* Deferred.make<void>()
      let isCleaned = false
      const router = yield* HttpRouter.make
      yield* router.add(
        "GET",
        "/hang",
        Effect.andThen(Deferred.succeed(started, undefined), Effect.never).pipe(
          Effect.onInterrupt(() => Effect.andThen(Effect.sleep(20), Effect.sync(() => void (isCleaned = true))))
        )
      )
      const scope = yield* Scope.make()
      const server = yield* Scope.provide(ours(router), scope)
      const socket = connect(port(server), "127.0.0.1", () => socket.write(ask("GET", "/hang")))
      socket.on("error", () => {})
      yield* Deferred.await(started)
      // The request's fiber is still in the step that said so.
      yield* Effect.sleep(5)
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(isCleaned)
    }))

  it.live("closes the scope of a request after its answer, a stream's when it has ended", () =>
    Effect.gen(function*() {
      const steps: Array<string> = []
      const note = (step: string) => Effect.sync(() => void steps.push(step))
      const router = yield* HttpRouter.make
      yield* router.add(
        "GET",
        "/stream",
        Effect.as(
          Effect.addFinalizer(() => note("closed")),
          HttpServerResponse.stream(Stream.fromEffect(Effect.as(Effect.delay(note("streamed"), 10), bytes("one"))))
        )
      )
      const server = yield* ours(router)
      assert.match(yield* talk(server, [ask("GET", "/stream")]), /one/)
      assert.deepStrictEqual(steps, ["streamed", "closed"])
    }).pipe(Effect.scoped))
})
