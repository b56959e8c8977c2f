/**
 * Goal: whatever a node does, a call to it ends in bounded time and memory, the next endpoint answers in its place, and
 * the operator reads which endpoint it was without its key. Method: real sockets that behave as bad nodes do, beside
 * one that is well; time passes by the test's clock.
 */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Redacted, Schema, Scope } from "effect"
import { TestClock } from "effect/testing"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { gzipSync } from "node:zlib"
import type { DriverError } from "../../../runtime/Chains.ts"
import { layer as clientLayer } from "../../../runtime/http/Client.ts"
import * as Endpoints from "../../../runtime/nodes/Endpoints.ts"
import { jsonRpcClient } from "../../../runtime/nodes/JsonRpc.ts"
import { longestPauseMillis } from "../../../runtime/nodes/NodeHttp.ts"
import { restClient } from "../../../runtime/nodes/Rest.ts"

const key = "secret-key-of-an-operator"

interface BadNode {
  readonly url: string
  /** Calls it got. */
  readonly calls: () => number
  /** Done once a call has come. */
  readonly asked: Effect.Effect<void>
  /** Done once the other side has ended the connection of the first call. */
  readonly left: Effect.Effect<void>
}

type Answer = (request: IncomingMessage, response: ServerResponse, id: unknown) => void

/** A node that answers so, until the scope closes. */
const nodeWith = Effect.fnUntraced(function*(answer: Answer) {
  const asked = yield* Deferred.make<void>()
  const left = yield* Deferred.make<void>()
  const done = (deferred: Deferred.Deferred<void>) => void Deferred.doneUnsafe(deferred, Exit.void)
  let calls = 0
  const server = yield* Effect.acquireRelease(
    Effect.callback<Server>((resume) => {
      const made = createServer((request, response) => {
        request.socket.once("close", () => done(left))
        const chunks: Array<Buffer> = []
        request.on("data", (chunk: Buffer) => chunks.push(chunk))
        request.on("end", () => {
          calls++
          const body = Buffer.concat(chunks).toString("utf8")
          answer(request, response, body === "" ? undefined : JSON.parse(body).id)
          done(asked)
        })
      })
      made.listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
    }),
    (made) =>
      Effect.sync(() => {
        made.closeAllConnections()
        made.close()
      })
  )
  const { port } = server.address() as AddressInfo
  const node: BadNode = {
    url: `http://127.0.0.1:${port}/v0/${key}?key=${key}`,
    calls: () => calls,
    asked: Deferred.await(asked),
    left: Deferred.await(left)
  }
  return node
})

const well: Answer = (_, response, id) => {
  response.end(JSON.stringify(id === undefined ? "well" : { jsonrpc: "2.0", id, result: "well" }))
}

const common = (urls: ReadonlyArray<string>) => ({
  network: "solana" as const,
  environment: "devnet" as const,
  addresses: urls.map((url) => ({ url: Redacted.make(url) })),
  limits: { lagMillis: 30_000, standstillMillis: null },
  prove: () => Effect.succeed(null)
})

/** How a word is asked for: over JSON-RPC, with numbers kept exactly and not, and over REST. */
const protocols = {
  "JSON-RPC": (urls: ReadonlyArray<string>) =>
    Effect.map(
      Endpoints.make({ ...common(urls), client: (each) => jsonRpcClient(each) }),
      ({ withFailover }) => withFailover((client) => client.call("word", [], Schema.String))
    ),
  "exact JSON-RPC": (urls: ReadonlyArray<string>) =>
    Effect.map(
      Endpoints.make({ ...common(urls), client: (each) => jsonRpcClient(each, { isExact: true }) }),
      ({ withFailover }) => withFailover((client) => client.call("word", [], Schema.String))
    ),
  REST: (urls: ReadonlyArray<string>) =>
    Effect.map(
      Endpoints.make({ ...common(urls), client: (each) => restClient(each) }),
      ({ withFailover }) => withFailover((client) => client.get("/word", Schema.String))
    )
}

const isQuiet = (error: DriverError, ...names: ReadonlyArray<string>) => {
  const shown = `${error.message} ${JSON.stringify(error)} ${String(error.stack)}`
  assert.notInclude(shown, key)
  assert.notInclude(shown, "127.0.0.1")
  for (const name of names) assert.include(error.message, name)
  return error
}

const packed = gzipSync(JSON.stringify({ jsonrpc: "2.0", id: 1, result: " ".repeat(20_000_000) }))

/** How a word fails that is asked of endpoints. */
const failureOf = <E, R>(word: Effect.Effect<Effect.Effect<string, DriverError>, E, R>) =>
  Effect.flatMap(word, Effect.flip)

const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`

/** Answers that come at once, and what each is called. */
const answers: Readonly<Record<string, { readonly answer: Answer; readonly reason: RegExp }>> = {
  "says 429 for ever": {
    answer: (_, response) => response.writeHead(429, { "retry-after": "86400" }).end(),
    reason: /HTTP status 429, too many calls: left alone for 30 s/
  },
  "answers with 50 MB": {
    answer: (_, response, id) => {
      const chunk = " ".repeat(1024 * 1024)
      response.write(`{"jsonrpc":"2.0","id":${JSON.stringify(id ?? null)},"result":"`)
      let left = 50
      const more = () => {
        while (left-- > 0) {
          if (!response.write(chunk)) return void response.once("drain", more)
        }
        response.end("\"}")
      }
      more()
    },
    reason: /more than 1048576 bytes/
  },
  "answers with JSON nested 100,000 deep": {
    answer: (_, response, id) =>
      response.end(
        id === undefined ? nested(100_000) : `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${nested(100_000)}}`
      ),
    reason: /rpc 1 of 2/
  },
  "nests an error 100,000 deep": {
    answer: (_, response, id) =>
      response.writeHead(400).end(
        `{"jsonrpc":"2.0","id":${JSON.stringify(id ?? null)},"message":${nested(100_000)},"error":${nested(100_000)}}`
      ),
    reason: /rpc 1 of 2/
  },
  "answers with 20 MB packed into some kilobytes": {
    answer: (_, response) =>
      response.writeHead(200, { "content-encoding": "gzip", "content-type": "application/json" }).end(
        packed
      ),
    reason: /rpc 1 of 2/
  },
  "ends the connection": {
    answer: (request) => void request.socket.destroy(),
    reason: /cannot be reached, or ended the connection/
  },
  "has a header without end": {
    answer: (request) => void request.socket.write(`HTTP/1.1 200 OK\r\nx: ${"x".repeat(1024 * 1024)}`),
    reason: /cannot be reached, or ended the connection/
  }
}

describe.each(Object.entries(protocols))("over %s, a node that", (_, endpointsOf) => {
  it.live.each(Object.entries(answers).map(([what, { answer, reason }]) => ({ what, answer, reason })))(
    "$what is named without its key, and the next endpoint answers",
    ({ answer, reason }) =>
      Effect.gen(function*() {
        const bad = yield* nodeWith(answer)
        const good = yield* nodeWith(well)
        const word = yield* endpointsOf([bad.url, good.url])
        assert.include(JSON.stringify(yield* word), "well")
        const alone = yield* endpointsOf([bad.url, bad.url])
        const error = isQuiet(yield* failureOf(endpointsOf([bad.url])), "rpc 1 of 1")
        assert.match(error.reason.replace("1 of 1", "1 of 2"), reason)
        // The last endpoint that was asked is named.
        isQuiet(yield* Effect.flip(alone), "rpc 2 of 2")
        assert.isAtMost(bad.calls(), 4)
      }).pipe(Effect.scoped, Effect.provide(clientLayer))
  )

  it.effect("sends a byte a second is given up after 5 s, and its connection is ended", () =>
    Effect.gen(function*() {
      const bad = yield* nodeWith((_, response) => {
        response.writeHead(200, { "content-type": "application/json" })
        response.write(" ")
      })
      const word = yield* endpointsOf([bad.url])
      const asking = yield* Effect.forkChild(Effect.flip(word))
      yield* bad.asked
      for (let second = 0; second < 5; second++) yield* TestClock.adjust("1 second")
      const error = isQuiet(yield* Fiber.join(asking), "rpc 1 of 1", "no answer in 5 s")
      assert.strictEqual(error.kind, "timeout")
      yield* bad.left
    }).pipe(Effect.scoped, Effect.provide(clientLayer)))

  it.live("holds a call does not hold up the end of the process", () =>
    Effect.gen(function*() {
      const bad = yield* nodeWith(() => undefined)
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(clientLayer, scope)
      const word = yield* Effect.provide(endpointsOf([bad.url]), context)
      const asking = yield* Effect.forkChild(word)
      yield* bad.asked
      yield* Fiber.interrupt(asking)
      yield* Scope.close(scope, Exit.void)
      yield* bad.left
    }).pipe(Effect.scoped))

  it.live("leads to another host is not followed, so that host never gets the key", () =>
    Effect.gen(function*() {
      const other = yield* nodeWith(well)
      const bad = yield* nodeWith((_, response, id) =>
        response.writeHead(307, { location: other.url }).end(JSON.stringify({ jsonrpc: "2.0", id, result: "moved" }))
      )
      const error = isQuiet(yield* failureOf(endpointsOf([bad.url])), "rpc 1 of 1", "HTTP status 307")
      assert.strictEqual(error.kind, "refused")
      assert.strictEqual(other.calls(), 0)
    }).pipe(Effect.scoped, Effect.provide(clientLayer)))

  it.live("does not speak TLS where its URL says so is named with what went wrong", () =>
    Effect.gen(function*() {
      const bad = yield* nodeWith(well)
      const error = yield* failureOf(endpointsOf([bad.url.replace("http:", "https:")]))
      isQuiet(error, "rpc 1 of 1", "cannot be reached, or ended the connection (ERR_SSL_")
    }).pipe(Effect.scoped, Effect.provide(clientLayer)))

  it.live("is not there is named with what went wrong", () =>
    Effect.gen(function*() {
      const error = yield* failureOf(endpointsOf([`http://127.0.0.1:9/${key}`]))
      isQuiet(error, "rpc 1 of 1", "(ECONNREFUSED)")
    }).pipe(Effect.scoped, Effect.provide(clientLayer)))
})

describe("a node of JSON-RPC that", () => {
  const rpc = protocols["JSON-RPC"]

  it.live.each([
    { what: "answers another call", of: (id: unknown) => ({ id: Number(id) + 1, result: "well" }) },
    { what: "does not say which call it answers", of: () => ({ result: "well" }) },
    { what: "refuses another call", of: (id: unknown) => ({ id: `${String(id)}0`, error: { code: 1, message: "no" } }) }
  ])("$what is not believed, and the next endpoint answers", ({ of }) =>
    Effect.gen(function*() {
      const bad = yield* nodeWith((_, response, id) => response.end(JSON.stringify({ jsonrpc: "2.0", ...of(id) })))
      const good = yield* nodeWith(well)
      assert.strictEqual(yield* Effect.flatten(rpc([bad.url, good.url])), "well")
      const error = isQuiet(yield* failureOf(rpc([bad.url])), "rpc 1 of 1", "another call")
      assert.strictEqual(error.kind, "contradiction")
    }).pipe(Effect.scoped, Effect.provide(clientLayer)))

  it.live("refuses a call it could not read is believed", () =>
    Effect.gen(function*() {
      const bad = yield* nodeWith((_, response) =>
        response.end(JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32_700, message: "unreadable" } }))
      )
      assert.include((yield* failureOf(rpc([bad.url]))).message, "unreadable")
    }).pipe(Effect.scoped, Effect.provide(clientLayer)))

  it.live("gives a result with a status that is none is not believed", () =>
    Effect.gen(function*() {
      const bad = yield* nodeWith((_, response, id) =>
        response.writeHead(502).end(JSON.stringify({ jsonrpc: "2.0", id, result: "from an old cache" }))
      )
      const error = yield* failureOf(rpc([bad.url]))
      assert.deepStrictEqual([error.kind, error.reason.includes("HTTP status 502")], ["unavailable", true])
    }).pipe(Effect.scoped, Effect.provide(clientLayer)))

  it.effect("says 429 for ever gets a call in half a minute at most, while the next endpoint answers each", () =>
    Effect.gen(function*() {
      const bad = yield* nodeWith((_, response) => response.writeHead(429, { "retry-after": "86400" }).end())
      const good = yield* nodeWith(well)
      const word = yield* rpc([bad.url, good.url])
      for (let second = 0; second < 120; second++) {
        assert.strictEqual(yield* word, "well")
        yield* TestClock.adjust("1 second")
      }
      assert.isAtMost(bad.calls(), 120_000 / longestPauseMillis)
    }).pipe(Effect.scoped, Effect.provide(clientLayer)))
})
