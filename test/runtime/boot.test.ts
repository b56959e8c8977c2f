/**
 * Goal: what the operator writes is what runs: plugins, in order, with their routes and calls, behind two ports.
 * Method: whole services on databases of their own, from configs loaded as the service loads them.
 */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Fiber, FileSystem, Layer, Redacted, Scope } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { RpcClient } from "effect/rpc"
import { connect } from "node:net"
import { boot, PluginFailed, ServiceInfo } from "../../runtime/boot.ts"
import { load } from "../../runtime/Config.ts"
import * as InternalRpc from "../../runtime/rpc/Client.ts"
import { HealthRpc } from "../../runtime/rpc/HealthRpc.ts"
import { steps } from "../fixtures/plugins/due.ts"
import { GreeterRpc } from "../fixtures/plugins/greeter.ts"
import { freshDatabase } from "../support/Database.ts"
import { until } from "../support/Service.ts"
import { freePort } from "../support/Ports.ts"

const fixture = (name: string) => decodeURIComponent(new URL(`../fixtures/plugins/${name}`, import.meta.url).pathname)
const token = "0123456789abcdef0123456789abcdef"

/** A running service on a database of its own, until the scope closes. */
const service = (parts: Record<string, unknown>) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const folder = yield* fs.makeTempDirectoryScoped()
    const { url } = yield* freshDatabase
    const config = {
      environments: ["devnet"],
      http: { port: yield* freePort },
      rpc: { port: 0, token },
      ops: { token },
      data: { directory: `${folder}/data` },
      store: { use: "postgres", options: { url } },
      telemetry: { logs: "json", level: "error" },
      ...parts
    }
    yield* fs.writeFileString(`${folder}/c.jsonc`, JSON.stringify(config))
    const loaded = yield* load({ file: `${folder}/c.jsonc`, environment: {} })
    const context = yield* Layer.build(boot(loaded, crypto.randomUUID()))
    return { ...Context.get(context, ServiceInfo), folder }
  })

const get = (url: string, headers: Record<string, string> = {}) =>
  Effect.gen(function*() {
    const response = yield* HttpClient.execute(HttpClientRequest.get(url, { headers }))
    return { status: response.status, text: yield* response.text, headers: response.headers }
  })

const services = Layer.merge(NodeServices.layer, FetchHttpClient.layer)

describe("a service", () => {
  it.live("serves a plugin's routes and calls as long as its line is in the config", () =>
    Effect.gen(function*() {
      const here = yield* service({ modules: [{ use: fixture("greeter.ts") }] })
      const greeting = yield* get(`${here.url}/api/v1/greet/world`)
      assert.deepStrictEqual([greeting.status, greeting.text], [200, "\"hello world\""])
      assert.include((yield* get(`${here.url}/openapi.json`)).text, "/api/v1/greet/{name}")
      assert.strictEqual((yield* get(`${here.internalUrl}/api/v1/greet/world`)).status, 404)

      const gone = yield* service({ modules: [] })
      assert.strictEqual((yield* get(`${gone.url}/api/v1/greet/world`)).status, 404)
      assert.notInclude((yield* get(`${gone.url}/openapi.json`)).text, "greet")
    }).pipe(Effect.scoped, Effect.provide(services)))

  it.live("answers typed calls with the credential, and 401 without", () =>
    Effect.gen(function*() {
      const { internalUrl } = yield* service({ modules: [{ use: fixture("greeter.ts") }] })
      const door = (credential: string) => InternalRpc.layer({ url: internalUrl, token: Redacted.make(credential) })
      const greet = Effect.gen(function*() {
        const client = yield* RpcClient.make(GreeterRpc)
        return yield* client["greeter.greet"]({ name: "world" })
      })
      assert.strictEqual(yield* Effect.scoped(Effect.provide(greet, door(token), { local: true })), "hello world")
      const refused = yield* Effect.exit(Effect.scoped(Effect.provide(greet, door(`${token}x`), { local: true })))
      assert.strictEqual(refused._tag, "Failure")

      const health = yield* Effect.gen(function*() {
        return yield* (yield* RpcClient.make(HealthRpc))["health.check"]()
      }).pipe(Effect.scoped, Effect.provide(door(token), { local: true }))
      assert.strictEqual(health.status, "ok")

      // A defect of one call is the answer to that call, and the next one is served.
      const failed = yield* Effect.gen(function*() {
        const client = yield* RpcClient.make(GreeterRpc)
        const exit = yield* Effect.exit(client["greeter.fail"]())
        return [exit._tag, yield* client["greeter.greet"]({ name: "again" })]
      }).pipe(Effect.scoped, Effect.provide(door(token), { local: true }))
      assert.deepStrictEqual(failed, ["Failure", "hello again"])

      for (const authorization of ["", "Bearer ", `Basic ${token}`, `Bearer ${token.slice(1)}`]) {
        const answer = yield* HttpClient.execute(
          HttpClientRequest.post(`${internalUrl}/rpc`, { headers: { authorization } }).pipe(
            HttpClientRequest.bodyText("{\"_tag\":\"Request\"}")
          )
        )
        assert.strictEqual(answer.status, 401, authorization)
      }
    }).pipe(Effect.scoped, Effect.provide(services)))

  it.live("stops at both ports at once: who keeps one waiting does not hold up the other", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const { internalUrl, url } = yield* Scope.provide(service({}), scope)
      const isOpen = (base: string) =>
        Effect.map(Effect.exit(get(`${base}/health/live`)), ({ _tag }) => _tag === "Success")
      const slow = connect(Number(new URL(url).port), "127.0.0.1").on("error", () => {})
      slow.write("GET /health/live HTTP/1.1\r\n")
      assert.deepStrictEqual([yield* isOpen(url), yield* isOpen(internalUrl)], [true, true])
      const stop = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
      yield* until("the internal port is closed", Effect.provide(isOpen(internalUrl), services), (is) => !is)
      assert.deepStrictEqual([slow.closed, stop.pollUnsafe()], [false, undefined])
      slow.destroy()
      yield* Fiber.join(stop)
    }).pipe(Effect.scoped, Effect.provide(services)))

  it.live("does nothing by itself before its last plugin stands, nor once the first is torn down", () =>
    Effect.gen(function*() {
      steps.length = 0
      const due = { use: fixture("due.ts") }
      const { url } = yield* service({ modules: [due, { use: fixture("late.ts") }] })
      assert.strictEqual((yield* get(`${url}/health/ready`)).status, 200)
      yield* until("the due row is handled", Effect.sync(() => steps.includes("a row is handled")), (is) => is)
    }).pipe(
      Effect.scoped,
      Effect.tap(() =>
        Effect.sync(() => {
          const order = ["the last plugin stands", "a row is handled", "no more rows", "the last plugin is torn down"]
          assert.deepStrictEqual(steps, order)
        })
      ),
      Effect.provide(services)
    ))

  it.live("takes a plugin from outside the repository by one line of its config", () =>
    Effect.gen(function*() {
      const { url } = yield* service({ prices: [{ use: fixture("acme-prices.ts"), options: { rate: "1" } }] })
      assert.strictEqual((yield* get(`${url}/health/ready`)).status, 200)
    }).pipe(Effect.scoped, Effect.provide(services)))

  it.live("ends the start in one sentence, with the plugin's name, however the plugin fails", () =>
    Effect.gen(function*() {
      for (
        const [start, sentence] of [
          ["throws", "thrown in layer"],
          ["dies", "a defect"],
          ["fails", "no licence"],
          ["answers", "its `layer` answers something that is no Layer of \"effect\""]
        ]
      ) {
        const use = fixture("broken.ts")
        const exit = yield* Effect.exit(Effect.scoped(service({ modules: [{ use, options: { start } }] })))
        const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
        assert.instanceOf(error, PluginFailed)
        assert.strictEqual(error.message, `plugin "${use}": did not start: ${sentence}`)
      }
    }).pipe(Effect.provide(services)))

  it.live("tells its health on both ports, its metrics to the operator only, by route and never by path", () =>
    Effect.gen(function*() {
      const { internalUrl, url } = yield* service({ modules: [{ use: fixture("greeter.ts") }] })
      for (const base of [url, internalUrl]) {
        assert.strictEqual((yield* get(`${base}/health/live`)).status, 200)
        const ready = yield* get(`${base}/health/ready`)
        assert.deepStrictEqual([ready.status, JSON.parse(ready.text).status], [200, "ok"])
      }
      yield* get(`${url}/api/v1/greet/somebody`)
      yield* get(`${url}/nowhere/somebody`)
      const closed = yield* get(`${url}/metrics`)
      assert.deepStrictEqual([closed.status, closed.text.includes("tillwire_")], [401, false])
      const metrics = yield* get(`${url}/metrics`, { authorization: `Bearer ${token}` })
      assert.match(
        metrics.text,
        /^tillwire_http_requests_total{route="GET \/api\/v1\/greet\/:name",status="200"} \d+$/m
      )
      assert.match(metrics.text, /^tillwire_http_requests_total{route="unknown",status="404"} \d+$/m)
      assert.notInclude(metrics.text, "somebody")
      for (
        const gauge of [
          "outbox_lag_seconds",
          "webhook_oldest_pending_seconds",
          "webhook_endpoints_waiting",
          "webhook_endpoints_failing",
          "webhook_breakers{state=\"open\"}",
          "webhook_breakers{state=\"half_open\"}"
        ]
      ) assert.include(metrics.text, `\ntillwire_${gauge} 0\n`)
      const names = metrics.text.split("\n").filter((line) => line !== "" && !line.startsWith("#"))
      assert.deepStrictEqual(names.filter((line) => !line.startsWith("tillwire_")), [])
      assert.strictEqual((yield* get(`${internalUrl}/metrics`)).status, 200)
    }).pipe(Effect.scoped, Effect.provide(services)))

  it.live("makes its internal credential on devnet, and needs one on mainnet", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const { folder } = yield* service({ rpc: { port: 0 } })
      const file = `${folder}/data/rpc.token`
      assert.match(yield* fs.readFileString(file), /^[0-9a-f]{64}\n$/)
      assert.strictEqual((yield* fs.stat(file)).mode & 0o777, 0o600)
    }).pipe(Effect.scoped, Effect.provide(services)))
})
