/**
 * Goal: a driver hears of every kind of bad answer as what it is, no key leaves in a message, and one node's pause or
 * failure costs another node's answer nothing. Method: real HTTP servers that answer what a test tells them.
 */
import { NodeHttpClient } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Redacted, Result, Schema } from "effect"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import type { DriverError } from "../../../runtime/Chains.ts"
import * as Endpoints from "../../../runtime/nodes/Endpoints.ts"
import { headLimits, look, standstillLimits, watchOthers } from "../../../runtime/nodes/Heads.ts"
import { jsonRpcClient } from "../../../runtime/nodes/JsonRpc.ts"
import { callUrl, longestPauseMillis, pauseMillisOf } from "../../../runtime/nodes/NodeHttp.ts"
import { parseJson } from "../../../runtime/nodes/NodeJson.ts"
import { restClient } from "../../../runtime/nodes/Rest.ts"

const key = "secret-key-of-an-operator"

type Answer = (request: IncomingMessage, body: string, response: ServerResponse) => void

interface Node {
  readonly url: string
  /** Paths and queries as they came. */
  readonly paths: Array<string>
  readonly requests: Array<IncomingMessage>
  answer: Answer
}

const node = (answer: Answer) =>
  Effect.acquireRelease(
    Effect.callback<Node & { readonly close: () => void }>((resume) => {
      const server = createServer((request, response) => {
        const chunks: Array<Buffer> = []
        request.on("data", (chunk: Buffer) => chunks.push(chunk))
        request.on("end", () => {
          made.paths.push(request.url!)
          made.requests.push(request)
          made.answer(request, Buffer.concat(chunks).toString("utf8"), response)
        })
      })
      const made: Node = { url: "", paths: [], requests: [], answer }
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as AddressInfo
        resume(Effect.succeed(Object.assign(made, {
          url: `http://127.0.0.1:${port}/v0?key=${key}`,
          close: () => {
            server.closeAllConnections()
            server.close()
          }
        })))
      })
    }),
    ({ close }) => Effect.sync(close)
  )

const json =
  (value: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Answer => (_, __, response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers })
    response.end(JSON.stringify(value))
  }

/** A JSON-RPC node: results by method. */
const rpcNode = (results: Readonly<Record<string, unknown>>): Answer => (request, body, response) => {
  const { id, method } = JSON.parse(body) as { id: number; method: string }
  json({ jsonrpc: "2.0", id, result: results[method] })(request, body, response)
}

const limits = { lagMillis: 30_000, standstillMillis: null }

const overRpc = (...nodes: ReadonlyArray<Node>) =>
  Endpoints.make({
    network: "solana",
    environment: "devnet",
    addresses: nodes.map(({ url }) => ({ url: Redacted.make(url) })),
    limits,
    client: (connection) =>
      jsonRpcClient(connection, { isExact: true, kindOf: ({ code }) => code === -32_005 ? "too_large" : "refused" }),
    prove: (client) =>
      Effect.map(
        client.call("genesis", [], Schema.String),
        (found) => found === "ours" ? null : `has the genesis ${found}`
      )
  })

const overRest = (headers: Readonly<Record<string, Redacted.Redacted>>, ...nodes: ReadonlyArray<Node>) =>
  Endpoints.make({
    network: "cardano",
    environment: "devnet",
    addresses: nodes.map(({ url }) => ({ url: Redacted.make(url), headers })),
    label: "api",
    limits,
    client: (connection) => restClient(connection),
    prove: () => Effect.succeed(null)
  })

const failureOf = <A, R>(effect: Effect.Effect<A, DriverError, R>) =>
  Effect.map(Effect.flip(effect), (error) => {
    assert.notInclude(JSON.stringify(error), key)
    assert.notInclude(error.message, "127.0.0.1")
    return error
  })

describe("the chain of an endpoint", () => {
  it.effect("is proven before the first call, once; on another chain nothing is asked", () =>
    Effect.gen(function*() {
      const right = yield* node(rpcNode({ genesis: "ours", slot: 7 }))
      const endpoints = yield* overRpc(right)
      const slot = endpoints.withFailover((client) => client.call("slot", [], Schema.Int))
      assert.strictEqual(yield* slot, 7)
      assert.strictEqual(yield* slot, 7)
      assert.strictEqual(right.paths.length, 3)

      const wrong = yield* node(rpcNode({ genesis: "theirs", slot: 9 }))
      const others = yield* overRpc(wrong, right)
      assert.include((yield* failureOf(others.verify)).reason, "rpc 1 of 2 has the genesis theirs")
      assert.strictEqual(yield* others.withFailover((client) => client.call("slot", [], Schema.Int)), 7)
      assert.isTrue(wrong.requests.length === 2)
    }).pipe(Effect.scoped, Effect.provide(NodeHttpClient.layerUndici)))

  it.effect("is asked again later where it does not answer at the start", () =>
    Effect.gen(function*() {
      const late = yield* node(json({}, 502))
      const endpoints = yield* overRpc(late)
      yield* endpoints.verify
      late.answer = rpcNode({ genesis: "theirs" })
      assert.include(
        (yield* failureOf(endpoints.withFailover((client) => client.call("slot", [], Schema.Int)))).reason,
        "genesis theirs"
      )
    }).pipe(Effect.scoped, Effect.provide(NodeHttpClient.layerUndici)))
})

describe("answers of a node", () => {
  it.effect("over JSON-RPC keep whole numbers exact, and fail with their kind", () =>
    Effect.gen(function*() {
      const one = yield* node(rpcNode({ genesis: "ours" }))
      const endpoints = yield* overRpc(one)
      const [client] = endpoints.endpoints
      const ask = () => client!.call("balance", [], Schema.Union([Schema.Int, Schema.BigInt]))
      one.answer = (request, body, response) =>
        body.includes("genesis")
          ? rpcNode({ genesis: "ours" })(request, body, response)
          : void response.end(`{"id":${JSON.parse(body).id},"result":18446744073709551615}`)
      assert.strictEqual(yield* ask(), 18446744073709551615n)
      const kinds: ReadonlyArray<readonly [Answer, DriverError["kind"]]> = [
        [json({ error: { code: -32_005, message: "limit exceeded" } }), "too_large"],
        [json({ error: { code: -32_000, message: "no" } }, 400), "refused"],
        [json("gateway", 502), "unavailable"],
        [json("forbidden", 403), "refused"],
        [json("hello"), "unanswered"],
        [rpcNode({ balance: "a text" }), "contradiction"],
        [(_, __, response) => void response.destroy(), "unanswered"],
        [json({ result: "x".repeat(2 ** 20) }), "too_large"]
      ]
      for (const [answer, kind] of kinds) {
        one.answer = answer
        assert.strictEqual((yield* failureOf(ask())).kind, kind)
      }
    }).pipe(Effect.scoped, Effect.provide(NodeHttpClient.layerUndici)))

  it.effect("over REST: 404 is null where it may be, a refusal keeps its words, and the key goes with every call", () =>
    Effect.gen(function*() {
      const one = yield* node(json({ height: 5 }))
      const endpoints = yield* overRest({ project_id: Redacted.make(key) }, one)
      const Block = Schema.Struct({ height: Schema.Int })
      const get = endpoints.withFailover((client) => client.get("/blocks/latest?count=1", Block))
      assert.deepStrictEqual(yield* get, { height: 5 })
      assert.deepStrictEqual(one.paths, [`/v0/blocks/latest?key=${key}&count=1`])
      assert.strictEqual(one.requests[0]!.headers["project_id"], key)

      one.answer = json({ status_code: 404, error: "Not Found" }, 404)
      assert.isNull(yield* endpoints.withFailover((client) => client.find("/blocks/x", Block)))
      assert.strictEqual((yield* failureOf(get)).kind, "not_found")
      assert.strictEqual(endpoints.pool().endpoints[0]!.failures, 0)

      one.answer = json({ message: "project over limit" }, 402)
      const refused = yield* failureOf(get)
      assert.strictEqual(refused.kind, "refused")
      assert.include(refused.reason, "api 1 of 1, GET /blocks/latest: HTTP status 402: project over limit")

      one.answer = (_, body, response) => response.end(body)
      assert.deepStrictEqual(
        yield* endpoints.withFailover((client) => client.post("/echo", { height: 9 }, Block)),
        { height: 9 }
      )
    }).pipe(Effect.scoped, Effect.provide(NodeHttpClient.layerUndici)))

  it.effect("may be bytes with headers of their own", () =>
    Effect.gen(function*() {
      const one = yield* node((request, body, response) => {
        response.writeHead(200, { "grpc-status": "0", "content-type": request.headers["content-type"]! })
        response.end(Buffer.from([0, 255, Buffer.from(body, "latin1").length]))
      })
      const endpoints = yield* Endpoints.make({
        network: "sui",
        environment: "devnet",
        addresses: [{ url: Redacted.make(one.url) }],
        limits,
        client: (connection) => connection,
        prove: () => Effect.succeed(null)
      })
      const answer = yield* endpoints.withFailover((connection) =>
        connection.send({
          subject: "GetCoinInfo",
          method: "POST",
          path: "/sui.rpc.v2.StateService/GetCoinInfo",
          body: { content: new Uint8Array([0, 0, 0, 0, 1]), type: "application/grpc-web+proto" },
          limits: { maximumBytes: 100, timeoutMillis: 5_000 }
        })
      )
      assert.deepStrictEqual([...answer.bytes], [0, 255, 5])
      assert.strictEqual(answer.headers["grpc-status"], "0")
      assert.strictEqual(answer.headers["content-type"], "application/grpc-web+proto")
    }).pipe(Effect.scoped, Effect.provide(NodeHttpClient.layerUndici)))
})

describe("a node that asks for fewer calls", () => {
  it.effect("gets none until its time is over, and the next endpoint answers meanwhile", () =>
    Effect.gen(function*() {
      const busy = yield* node(json("slow down", 429, { "retry-after": "7" }))
      const free = yield* node(json({ height: 2 }))
      const endpoints = yield* overRest({}, busy, free)
      const Block = Schema.Struct({ height: Schema.Int })
      const get = endpoints.withFailover((client) => client.get("/blocks/latest", Block))
      const startMillis = yield* Clock.currentTimeMillis
      for (let round = 0; round < 5; round++) assert.deepStrictEqual(yield* get, { height: 2 })
      assert.strictEqual(busy.paths.length, 1)
      const alone = yield* failureOf(endpoints.endpoints[0]!.get("/blocks/latest", Block))
      assert.strictEqual(alone.kind, "rate_limited")
      assert.strictEqual(busy.paths.length, 1)
      assert.strictEqual(endpoints.pool().endpoints[0]!.pausedUntil, startMillis + 7_000)
    }).pipe(Effect.scoped, Effect.provide(NodeHttpClient.layerUndici)))

  it("is left alone as long as it says, one second at least and thirty at most", () => {
    assert.isNull(pauseMillisOf(200, "7", 0))
    assert.isNull(pauseMillisOf(503, undefined, 0))
    assert.strictEqual(pauseMillisOf(503, "7", 0), 7_000)
    assert.strictEqual(pauseMillisOf(429, undefined, 0), 5_000)
    assert.strictEqual(pauseMillisOf(429, "0", 0), 1_000)
    assert.strictEqual(pauseMillisOf(429, "86400", 0), longestPauseMillis)
    assert.strictEqual(pauseMillisOf(429, "Thu, 01 Jan 1970 00:00:09 GMT", 0), 9_000)
  })
})

describe("heads of endpoints", () => {
  const Head = Schema.Struct({ height: Schema.Int, time: Schema.Int })
  const readHead = (client: ReturnType<typeof restClient>) =>
    Effect.map(
      client.get("/head", Head),
      ({ height, time }) => ({ height: BigInt(height), hash: String(height), time })
    )
  const overMainnet = (...nodes: ReadonlyArray<Node>) =>
    Endpoints.make({
      network: "cardano",
      environment: "mainnet",
      addresses: nodes.map(({ url }) => ({ url: Redacted.make(url) })),
      limits: headLimits({ network: "cardano", environment: "mainnet" }),
      client: (connection) => restClient(connection),
      prove: () => Effect.succeed(null)
    })

  it.live("that are old are passed over while another endpoint moves, and make the network frozen where none does", () =>
    Effect.gen(function*() {
      const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
      const old = yield* node(json({ height: 3, time: now - 400 }))
      const fresh = yield* node(json({ height: 20, time: now - 10 }))
      const two = yield* overMainnet(old, fresh)
      const seen = yield* look(two, readHead, (client, head) => Effect.succeed(`${client.place}:${head.height}`))
      assert.strictEqual(seen.result, "1:20")
      assert.strictEqual(seen.condition, "ok")
      yield* watchOthers(two, seen.place, readHead)
      assert.strictEqual(two.pool().endpoints[0]!.head!.height, 3n)

      const one = yield* overMainnet(old)
      const halted = yield* look(one, readHead, () => Effect.void)
      assert.strictEqual(halted.condition, "frozen")
      old.answer = json({ height: 4, time: now })
      assert.strictEqual((yield* look(one, readHead, () => Effect.void)).condition, "ok")
    }).pipe(Effect.scoped, Effect.provide(NodeHttpClient.layerUndici)))

  it.live("far above what was read are believed where another endpoint is near them, and only there", () =>
    Effect.gen(function*() {
      const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
      const wrong = yield* node(json({ height: 1_000_100, time: now }))
      const right = yield* node(json({ height: 105, time: now }))
      const two = yield* overMainnet(wrong, right)
      const lookFrom = (told: bigint) =>
        Effect.map(
          look(two, readHead, (client, head) => Effect.succeed(`${client.place}:${head.height}`), told),
          ({ result }) => result
        )
      assert.strictEqual(yield* lookFrom(100n), "1:105")
      assert.strictEqual(two.pool().endpoints[0]!.branch, "other")
      wrong.answer = json({ height: 106, time: now + 3_600 })
      assert.strictEqual(yield* lookFrom(105n), "1:105")

      wrong.answer = json({ height: 106, time: now })
      yield* watchOthers(two, 1, readHead)
      assert.strictEqual(two.pool().endpoints[0]!.branch, "followed")
      assert.strictEqual(yield* lookFrom(105n), "0:106")

      // After a day away both are far above what was read.
      wrong.answer = json({ height: 200_000, time: now })
      right.answer = json({ height: 199_995, time: now })
      assert.strictEqual(yield* lookFrom(106n), "0:200000")
      // One that is behind says nothing against the other.
      right.answer = json({ height: 150, time: now - 3_600 })
      assert.strictEqual(yield* lookFrom(106n), "0:200000")
    }).pipe(Effect.scoped, Effect.provide(NodeHttpClient.layerUndici)))

  it.live("far above what was read wait for an endpoint that failed a moment ago, and for none that is away", () =>
    Effect.gen(function*() {
      const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
      const ahead = yield* node(json({ height: 1_000_100, time: now }))
      const dead = yield* node(json("no", 500))
      const lookFrom = (endpoints: Effect.Success<ReturnType<typeof overMainnet>>, told: bigint | null) =>
        look(endpoints, readHead, (client, head) => Effect.succeed(`${client.place}:${head.height}`), told)
      const two = yield* overMainnet(ahead, dead)
      assert.include((yield* failureOf(lookFrom(two, 100n))).reason, "far above 100")
      assert.strictEqual((yield* lookFrom(two, null)).result, "0:1000100")
      two.observe({ _tag: "Answered", place: 1, at: 0 })
      two.observe({ _tag: "Failed", place: 1, isTimeout: false, at: 0 })
      assert.strictEqual((yield* lookFrom(two, 100n)).result, "0:1000100")
      assert.strictEqual((yield* lookFrom(yield* overMainnet(ahead), 100n)).result, "0:1000100")
    }).pipe(Effect.scoped, Effect.provide(NodeHttpClient.layerUndici)))

  it.live("far below what was read, of all endpoints that answer and for 30 s, say that it is not on the chain", () =>
    Effect.gen(function*() {
      const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
      const lookAt = (endpoints: Effect.Success<ReturnType<typeof overMainnet>>) =>
        look(
          endpoints,
          readHead,
          (client, head) => Effect.succeed(`${client.place}:${head.height}`),
          1_000_100n
        )
      const below = yield* node(json({ height: 105, time: now }))
      const other = yield* node(json({ height: 110, time: now }))
      const one = yield* overMainnet(below)
      assert.strictEqual((yield* lookAt(one)).result, "0:105")

      const two = yield* overMainnet(below, other)
      two.observe({ _tag: "Below", place: 0, at: 0 })
      assert.strictEqual((yield* lookAt(two)).result, "0:105")
      // The other one was there, and is not far below.
      other.answer = json({ height: 1_000_000, time: now })
      assert.strictEqual((yield* lookAt(two)).result, "1:1000000")

      const both = yield* overMainnet(below, other)
      other.answer = json({ height: 110, time: now })
      for (const place of [0, 1]) both.observe({ _tag: "Below", place, at: 0 })
      const error = yield* failureOf(lookAt(both))
      assert.strictEqual(error.condition, "no_common_block")
      assert.include(error.reason, "1000100")
      // One that does not answer is waited for, and no longer than any.
      const half = yield* overMainnet(below, other)
      other.answer = json("no", 500)
      half.observe({ _tag: "Below", place: 0, at: 0 })
      assert.strictEqual((yield* lookAt(half)).result, "0:105")
      half.observe({ _tag: "Answered", place: 1, at: 0 })
      half.observe({ _tag: "Failed", place: 1, isTimeout: false, at: 0 })
      assert.strictEqual((yield* failureOf(lookAt(half))).condition, "no_common_block")

      below.answer = json({ height: 1_000_100, time: now })
      assert.strictEqual((yield* lookAt(both)).result, "0:1000100")
      below.answer = json({ height: 105, time: now })
      assert.strictEqual((yield* lookAt(both)).result, "0:105")
    }).pipe(Effect.scoped, Effect.provide(NodeHttpClient.layerUndici)))

  it("may be of any age on devnet, unless an operator says how old", () => {
    assert.isNull(headLimits({ network: "sui", environment: "devnet" }).headAgeMillis)
    assert.strictEqual(headLimits({ network: "sui", environment: "devnet", frozenSeconds: 9 }).headAgeMillis, 9_000)
    assert.strictEqual(standstillLimits({ network: "base", environment: "mainnet" }).standstillMillis, 30_000)
  })
})

describe("the URL and the body of a call", () => {
  it("keep a key in the endpoint's query, and whole numbers as they were written", () => {
    assert.strictEqual(callUrl("https://node.example/v3/?key=a", "/x?y=1"), "https://node.example/v3/x?key=a&y=1")
    assert.strictEqual(callUrl("https://node.example/v3?key=a", undefined), "https://node.example/v3?key=a")
    assert.deepStrictEqual(
      Result.getOrThrow(parseJson("[9007199254740993,-9007199254740993,5,1e30,0.1]", true)),
      [9007199254740993n, -9007199254740993n, 5, 1e30, 0.1]
    )
    assert.isTrue(Result.isFailure(parseJson("{", true)))
  })

  it.effect("a URL that is none is refused before anything is asked, and is not repeated", () =>
    Effect.gen(function*() {
      const refused = yield* Effect.flip(overRpc({ url: key } as Node))
      assert.include(refused.reason, "rpc 1 of 1: it is no http or https URL")
      assert.notInclude(refused.message, key)
    }).pipe(Effect.provide(NodeHttpClient.layerUndici)))
})
