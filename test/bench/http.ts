/**
 * CPU of the server per request, against raw node:http. The database is a stub that answers at once, so what is
 * measured is the door, the middlewares, the schemas and nothing else. The client is a process of its own that keeps a
 * fixed number of connections busy with prepared bytes.
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
import * as Server from "../../runtime/http/Server.ts"
import { Leases } from "../../runtime/Leases.ts"
import { secretsLayer, settingsLayer } from "../support/Api.ts"
import type { Bench } from "./Bench.ts"
import { median, type ReportLine } from "./Report.ts"
import { newestVersion } from "../../schemas/Version.ts"
import * as Operations from "../../runtime/Operations.ts"

const connections = 32
const warmUp = 6_000
const measured = 30_000

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
  Layer.succeed(Leases, { hold: () => Effect.never, statuses: Effect.succeed([]) }),
  settingsLayer(),
  secretsLayer
)

const key = Layer.effectDiscard(
  Effect.flatMap(Credentials, ({ register }) =>
    register(() =>
      Effect.succeed(
        {
          merchantId: 1,
          environment: "devnet",
          scope: "merchant",
          kind: "key",
          credential: "key_1",
          apiVersion: newestVersion
        } as never
      )
    ))
)

const application = (server: NodeServer) =>
  HttpRouter.serve(
    Layer.merge(HttpApiBuilder.layer(BenchApi).pipe(Layer.provide(handlers)), key).pipe(
      Layer.provide(Server.layer([BenchApi]))
    ),
    { disableLogger: true, disableListenLog: true }
  ).pipe(
    Layer.provide(NodeHttpServer.layer(() => server, { port: 0, host: "127.0.0.1" })),
    Layer.provide(stubs)
  )

/** What a careful hand-written server does: one header looked at, body collected, parsed and checked, reply written. */
const raw = createServer((request, response) => {
  const answer = () => {
    response.writeHead(200, {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(reply),
      "x-request-id": "req_x"
    })
    response.end(reply)
  }
  if (request.headers["x-api-key"] === undefined) return void response.writeHead(401).end()
  if (request.method === "GET") return answer()
  const chunks: Array<Buffer> = []
  request.on("data", (chunk: Buffer) => chunks.push(chunk))
  request.on("end", () => {
    const sent = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>
    if (typeof sent.amount !== "number" || typeof sent.customer_id !== "string") response.writeHead(400).end()
    else answer()
  })
})

const requestBytes = (method: string, path: string, index: number, keyed: boolean): string => {
  const head = `${method} ${path} HTTP/1.1\r\nhost: till\r\nx-api-key: mk_dev_${"a".repeat(38)}\r\n`
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

/** Microseconds of this process's CPU per request. */
const measure = async (server: NodeServer, method: string, path: string, keyed = false) => {
  const { port } = server.address() as AddressInfo
  await drive(port, method, path, warmUp, keyed)
  const before = process.cpuUsage()
  const start = performance.now()
  await drive(port, method, path, measured, keyed)
  const { user, system } = process.cpuUsage(before)
  return { micros: (user + system) / measured, perSecond: measured / ((performance.now() - start) / 1000) }
}

/** Microseconds of CPU and requests a second, by what was asked. */
interface Figures {
  readonly micros: number
  readonly perSecond: number
}

interface Side {
  readonly get: Figures
  readonly post: Figures
  /** With an idempotency key, whose reply is sealed and stored; the bare server has no such thing. */
  readonly keyed: Figures | null
}

/** One server in a process of its own. */
const contest = async (name: "raw" | "api"): Promise<Side> => {
  const server = name === "raw" ? raw : createServer()
  if (name === "raw") await new Promise<void>((resolve) => raw.listen(0, "127.0.0.1", resolve))
  else {
    const scope = Scope.makeUnsafe()
    await Effect.runPromise(Layer.buildWithScope(application(server) as Layer.Layer<Context.Context<never>>, scope))
  }
  return {
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
      line("raw node:http, GET", bare.map(({ get }) => get)),
      line("door, authenticated GET", ours.map(({ get }) => get)),
      line("raw node:http, POST parsed", bare.map(({ post }) => post)),
      line("door, validated POST", ours.map(({ post }) => post)),
      line("door, idempotent POST, reply sealed", ours.flatMap(({ keyed }) => keyed ?? [])),
      {
        section: "http",
        what: "CPU of a validated POST against raw",
        value: median(ours.map(({ post }, at) => post.micros / bare[at]!.post.micros)),
        unit: "x",
        goal: { atMost: 2.5 }
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
