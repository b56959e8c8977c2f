/**
 * CPU of the server per request, against raw node:http with the same duties and headers (`rawServer.ts`). The database
 * is a stub that answers at once, so what is measured is the way in, the middlewares, the schemas and nothing else. The
 * client is a process of its own that keeps a fixed number of connections busy with prepared bytes.
 */
import { NodeHttpServer } from "@effect/platform-node"
import { Context, Effect, Layer, Schema, Scope } from "effect"
import { HttpRouter } from "effect/http"
import { HttpApi, HttpApiBuilder, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { SqlClient } from "effect/sql"
import { fork } from "node:child_process"
import { createServer, type Server as NodeServer } from "node:http"
import { connect } from "node:net"
import type { AddressInfo } from "node:net"
import "effect/schema/SchemaJITCompiler/enable"
import { Commit } from "../../runtime/Commit.ts"
import {
  Credentials,
  CurrentPrincipal,
  Idempotency,
  IdempotencyRequired,
  jsonText,
  MerchantAuth,
  RequestInfo,
  WrappedErrors
} from "../../runtime/Http.ts"
import { serve } from "../../runtime/http/NodeServer.ts"
import { routerConfig } from "../../runtime/http/Routes.ts"
import * as Server from "../../runtime/http/Server.ts"
import { Leases } from "../../runtime/Leases.ts"
import { secretsLayer, settingsLayer } from "../support/Api.ts"
import type { Bench } from "./Bench.ts"
import { rawServer } from "./rawServer.ts"
import { median, type ReportLine } from "./Report.ts"
import { newestVersion } from "../../schemas/Version.ts"
import * as Operations from "../../runtime/Operations.ts"
import { operatorKey } from "../fixtures/authorities.ts"

const connections = 32
/** Requests of a window of the warm-up, which ends when two windows differ by less than the share. */
const windowRequests = 5_000
const steadyShare = 0.05
const maximumWindows = 8
const measuredRequests = 20_000

/** As `generousLimits` has them. */
const keyPerMinute = 10_000_000
const apiKey = `mk_dev_${"a".repeat(38)}`

const body = JSON.stringify({
  amount: 49_990,
  description: "Starter plan",
  customer_id: "cust_123",
  metadata: { order_id: "ORD-1" },
  expires_in: 43_200_000,
  customer_email: "a@example.com",
  locale: "en"
})

const Payload = Schema.Struct({
  amount: Schema.Int.check(Schema.isBetween({ minimum: 10, maximum: 1_000_000_000 })),
  description: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(255))),
  customer_id: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(255))),
  metadata: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json)),
  expires_in: Schema.optionalKey(Schema.Int),
  customer_email: Schema.optionalKey(Schema.String),
  locale: Schema.optionalKey(Schema.String)
})

class Group extends HttpApiGroup.make("bench")
  .add(
    HttpApiEndpoint.get("read", "/:id", {
      params: { id: Schema.String },
      success: Schema.Struct({ id: Schema.String })
    }),
    HttpApiEndpoint.post("post", "/", { payload: Payload, success: Schema.Struct({ id: Schema.String }) }),
    HttpApiEndpoint.post("create", "/keyed", { payload: Payload, success: Schema.Struct({ id: Schema.String }) })
      .middleware(IdempotencyRequired)
  )
  .middleware(MerchantAuth)
  .middleware(WrappedErrors)
  .prefix("/api/v1/bench")
{}
class BenchApi extends HttpApi.make("bench-api").add(Group) {}

const reply = JSON.stringify({ id: "550e8400-e29b-41d4-a716-446655440000", amount: 49_990, padding: "x".repeat(600) })

const handlers = Operations.group(
  BenchApi,
  "bench",
  Effect.fnUntraced(function*(group) {
    const commit = yield* Commit
    return group
      .handle("read", () => Effect.as(CurrentPrincipal, jsonText(reply)))
      .handle("post", () => Effect.as(CurrentPrincipal, jsonText(reply)))
      .handle(
        "create",
        Effect.fnUntraced(function*() {
          const { merchantId, environment } = yield* CurrentPrincipal
          const idempotency = yield* Idempotency
          const { requestId } = yield* RequestInfo
          const cause = { requestId, idempotencyKey: idempotency.key }
          const kept = idempotency.reply(200, reply)
          yield* Effect.orDie(commit.append({
            merchantId,
            environment,
            cause,
            writes: [],
            events: [],
            ...(kept === undefined ? {} : { reply: kept })
          }))
          return jsonText(reply)
        })
      )
  })
)

const stubs = Layer.mergeAll(
  Layer.succeed(SqlClient.SqlClient, { unsafe: () => Effect.succeed([]) } as never),
  Layer.succeed(Commit, { append: () => Effect.succeed({ events: [] }) }),
  Layer.succeed(Leases, { hold: () => Effect.never, statuses: Effect.succeed([]), findings: Effect.succeed([]) }),
  settingsLayer(),
  secretsLayer
)

const key = Layer.effectDiscard(
  Effect.flatMap(Credentials, ({ register }) =>
    register((text) =>
      Effect.succeed(
        text !== apiKey ? null : {
          merchantId: 1,
          environment: "devnet",
          scope: "merchant",
          kind: "key",
          credential: "key_1",
          apiVersion: newestVersion,
          ...operatorKey
        } as never
      )
    ))
)

const application = (server: NodeServer) =>
  Layer.effectDiscard(Effect.flatMap(HttpRouter.HttpRouter, (router) => serve(server, router.asHttpEffect()))).pipe(
    Layer.provide(Layer.merge(HttpApiBuilder.layer(BenchApi).pipe(Layer.provide(handlers)), key)),
    Layer.provide(Server.layer([BenchApi])),
    Layer.provide(Layer.provide(HttpRouter.layer, routerConfig)),
    Layer.provide(NodeHttpServer.layerHttpServices),
    Layer.provide(stubs)
  )

const raw = rawServer({ key: apiKey, reply, version: newestVersion, limit: keyPerMinute })

const requestBytes = (method: string, path: string, index: number, keyed: boolean): string => {
  const head = `${method} ${path} HTTP/1.1\r\nhost: till\r\nx-api-key: ${apiKey}\r\n`
  if (method === "GET") return `${head}\r\n`
  const idempotency = keyed ? `idempotency-key: bench-${process.pid}-${index}\r\n` : ""
  return `${head}${idempotency}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}

/** The client process: sends `count` requests over {@link connections} sockets, one at a time on each. */
const client = (port: number, method: string, path: string, count: number, keyed: boolean) => {
  let sent = 0
  let done = 0
  for (let index = 0; index < connections; index++) {
    const socket = connect(port, "127.0.0.1")
    let received = ""
    const next = () => {
      if (sent < count) socket.write(requestBytes(method, path, sent++, keyed))
    }
    socket.setEncoding("latin1")
    socket.on("data", (chunk: string) => {
      received += chunk
      const end = received.indexOf("\r\n\r\n")
      if (end < 0) return
      if (!received.startsWith("HTTP/1.1 200")) throw new Error(received.slice(0, 600))
      const length = Number(/content-length: (\d+)/i.exec(received)?.[1])
      if (received.length < end + 4 + length) return
      received = ""
      if (++done === count) process.exit(0)
      next()
    })
    next()
  }
}

const drive = (port: number, method: string, path: string, count: number, keyed: boolean) =>
  new Promise<void>((resolve) => {
    const child = fork(import.meta.filename, ["client", String(port), method, path, String(count), String(keyed)])
    child.once("exit", () => resolve())
  })

/** Microseconds of this process's CPU for each of so many requests, and how many there were a second. */
const run = async (port: number, method: string, path: string, count: number, keyed: boolean): Promise<Figures> => {
  const before = process.cpuUsage()
  const start = performance.now()
  await drive(port, method, path, count, keyed)
  const { user, system } = process.cpuUsage(before)
  return { micros: (user + system) / count, perSecond: count / ((performance.now() - start) / 1000) }
}

/** The figures once the CPU of two windows in a row is about the same. */
const measure = async (server: NodeServer, method: string, path: string, keyed = false): Promise<Figures> => {
  const { port } = server.address() as AddressInfo
  let last = Infinity
  for (let window = 0; window < maximumWindows; window++) {
    const { micros } = await run(port, method, path, windowRequests, keyed)
    if (Math.abs(micros / last - 1) < steadyShare) break
    last = micros
  }
  return run(port, method, path, measuredRequests, keyed)
}

/** Headers that no two answers of a server share. */
const ownHeaders: ReadonlySet<string> = new Set(["date", "x-request-id", "ratelimit-remaining", "ratelimit-reset"])

/** What both servers must answer alike, so that the comparison is of the same work. */
const probe = async (server: NodeServer): Promise<string> => {
  const { port } = server.address() as AddressInfo
  const post = (headers: Readonly<Record<string, string>>, text: string) =>
    fetch(`http://127.0.0.1:${port}/api/v1/bench`, {
      method: "POST",
      headers: { "x-api-key": apiKey, "content-type": "application/json", ...headers },
      body: text
    })
  const good = await post({}, body)
  const head = [...good.headers].map(([name, value]) => ownHeaders.has(name) ? name : `${name}: ${value}`)
  const refused = [
    await post({ "x-api-key": `mk_dev_${"b".repeat(38)}` }, body),
    await post({ "content-type": "text/plain" }, body),
    await post({ "x-service-version": "never" }, body),
    await post({}, "{"),
    await post({}, JSON.stringify({ ...JSON.parse(body), amount: 1 })),
    await post({}, JSON.stringify({ ...JSON.parse(body), description: "d".repeat(256) })),
    await post({}, " ".repeat(300_000))
  ]
  return JSON.stringify([good.status, head, await good.text(), refused.map(({ status }) => status)])
}

/** Microseconds of CPU and requests a second, by what was asked. */
interface Figures {
  readonly micros: number
  readonly perSecond: number
}

interface Side {
  /** {@link probe} */
  readonly answers: string
  readonly get: Figures
  readonly post: Figures
  /** With an idempotency key, whose reply is sealed and stored; the bare server has no such thing. */
  readonly keyed: Figures | null
}

/** One server in a process of its own. */
const contest = async (name: "raw" | "api"): Promise<Side> => {
  const server = name === "raw" ? raw : createServer()
  if (name === "api") {
    const scope = Scope.makeUnsafe()
    await Effect.runPromise(Layer.buildWithScope(application(server) as Layer.Layer<Context.Context<never>>, scope))
  }
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    answers: await probe(server),
    get: await measure(server, "GET", "/api/v1/bench/x"),
    post: await measure(server, "POST", "/api/v1/bench"),
    keyed: name === "raw" ? null : await measure(server, "POST", "/api/v1/bench/keyed", true)
  }
}

const side = (name: "raw" | "api"): Effect.Effect<Side> =>
  Effect.callback((resume) => {
    const child = fork(import.meta.filename, ["contest", name], { stdio: ["ignore", "inherit", "inherit", "ipc"] })
    child.once("message", (said) => resume(Effect.succeed(said as Side)))
    return Effect.sync(() => void child.kill("SIGKILL"))
  })

/** The section of the bench: rounds of both, each in a fresh process. */
export const http = ({ progress, rounds }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.gen(function*() {
    const bare: Array<Side> = []
    const ours: Array<Side> = []
    for (let round = 1; round <= rounds; round++) {
      bare.push(yield* side("raw"))
      ours.push(yield* side("api"))
      if (ours.at(-1)!.answers !== bare.at(-1)!.answers) {
        return yield* Effect.die(new Error(`not the same work: ${bare.at(-1)!.answers} and ${ours.at(-1)!.answers}`))
      }
      const [a, b] = [ours.at(-1)!.post.micros, bare.at(-1)!.post.micros]
      progress(`http ${round}/${rounds}: validated POST ${a.toFixed(0)} us CPU, raw ${b.toFixed(0)}`)
    }
    const line = (what: string, figures: ReadonlyArray<Figures>): ReportLine => ({
      section: "http",
      what,
      value: median(figures.map(({ perSecond }) => perSecond)),
      unit: "/s",
      cpuEach: median(figures.map(({ micros }) => micros))
    })
    return [
      line("raw node:http, GET, same duties and headers", bare.map(({ get }) => get)),
      line("tillwire, authenticated GET", ours.map(({ get }) => get)),
      line("raw node:http, POST, same duties and headers", bare.map(({ post }) => post)),
      line("tillwire, validated POST", ours.map(({ post }) => post)),
      line("tillwire, idempotent POST", ours.flatMap(({ keyed }) => keyed ?? [])),
      {
        section: "http",
        what: "CPU of a validated POST / raw with the same duties and headers",
        value: median(ours.map(({ post }, at) => post.micros / bare[at]!.post.micros)),
        unit: "x",
        goal: { atMost: 1.5 }
      }
    ]
  })

const [role, ...words] = process.argv.slice(2)
if (import.meta.main && role === "client") {
  const [port, method, path, count, keyed] = words
  client(Number(port), method!, path!, Number(count), keyed === "true")
} else if (import.meta.main && role === "contest") {
  process.send!(await contest(words[0] === "raw" ? "raw" : "api"), () => process.exit(0))
}
