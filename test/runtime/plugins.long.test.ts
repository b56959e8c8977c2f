/**
 * Goal: somebody who has nothing but the package writes a plugin, tests it, packs it, and an operator runs it, whatever
 * else is installed beside it; and a plugin that breaks its promises disturbs nobody.
 * Method: the three examples of `test/plugins/` are built, tested and packed in a folder outside of the repository,
 * installed by npm in another one beside an `effect` that must not be touched, and run by the service from its sources
 * and from its package.
 */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { randomUUID } from "node:crypto"
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { guideNamed } from "../fixtures/guides.ts"
import { httpServer } from "../fixtures/httpServer.ts"
import { assertStatus } from "../journeys/Shop.ts"
import { emptyDatabase } from "../support/Database.ts"
import { installPackages, outsideFolder } from "../support/Packages.ts"
import { configOf, exchange, prices, sources, startService, temporaryDirectory, until } from "../support/Service.ts"

const root = decodeURIComponent(new URL("../..", import.meta.url).pathname)
const compiler = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin", "tsc")

/** Where plugins are written, and where they are run: neither can see the repository. */
const authors = outsideFolder("authors")
const operator = outsideFolder("operator")
const examples = readdirSync(join(root, "test/plugins"))

const run = async (command: string, words: ReadonlyArray<string>, cwd: string) => {
  try {
    return (await promisify(execFile)(command, words, { cwd, env: { PATH: process.env["PATH"] } })).stdout
  } catch (error) {
    const { stderr, stdout } = error as { readonly stderr: string; readonly stdout: string }
    throw new Error(`${command} ${words.join(" ")}: ${stdout}${stderr}`, { cause: error })
  }
}

/** Breaks what a plugin in JavaScript can break while the service runs. */
const brokenPlugin = `
  import { Effect, Layer, Schema } from "effect"
  import { HttpApi, HttpApiBuilder, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
  import { Anonymous, EventBus, handlersOf, make, Prices, WrappedErrors } from "tillwire/plugin"

  const Api = HttpApi.make("acme-broken").add(
    HttpApiGroup.make("acme-broken").add(
      HttpApiEndpoint.get("throw", "/api/v1/acme-broken/throw", { success: Schema.String }),
      HttpApiEndpoint.get("die", "/api/v1/acme-broken/die", { success: Schema.String })
    ).middleware(Anonymous).middleware(WrappedErrors)
  )
  const handlers = handlersOf(Api, "acme-broken", (group) =>
    group
      .handle("throw", () => { throw new Error("canary of the handler") })
      .handle("die", () => Effect.die(new Error("canary of the handler"))))

  export const plugin = make({
    api: 1,
    name: "acme-broken",
    slot: "modules",
    http: Api,
    layer: () => Layer.merge(
      HttpApiBuilder.layer(Api).pipe(Layer.provide(handlers)),
      Layer.effectDiscard(Effect.gen(function*() {
        yield* (yield* EventBus).subscribe("acme-broken", () => { throw new Error("canary of the subscriber") })
        yield* (yield* Prices).register({
          name: "acme-broken",
          environments: ["devnet"],
          prices: () => { throw new Error("canary of the source") }
        })
      }))
    )
  })`

/** A driver of a feature's own port: whoever "mallory" is, it is on the list. */
const screeningPlugin = `
  import { Effect, Layer, Schema } from "effect"
  import { make } from "tillwire/plugin"
  import { type ScreeningDriver, Screenings } from "tillwire/plugin/screening"

  export const plugin = make({
    api: 1,
    name: "acme-screening",
    slot: "modules",
    needs: { screening: Screenings },
    options: Schema.Struct({ listed: Schema.Array(Schema.String) }),
    layer: ({ listed }) => Layer.effectDiscard(Effect.gen(function*() {
      const driver: ScreeningDriver = {
        name: "acme-screening",
        isListed: ({ addresses }) => Effect.succeed(addresses.some((address: string) => listed.includes(address)))
      }
      yield* (yield* Screenings).register(driver)
    }))
  })`

/** A program with a Unix socket that takes webhooks. */
const socketReceiver = Effect.gen(function*() {
  const path = join(yield* temporaryDirectory, "orders.sock")
  const bodies: Array<any> = []
  yield* Effect.acquireRelease(
    Effect.callback<ReturnType<typeof createServer>>((resume) => {
      const server = createServer((request, response) => {
        let body = ""
        request.setEncoding("utf8").on("data", (chunk: string) => body += chunk)
        request.on("end", () => {
          bodies.push(JSON.parse(body))
          response.end()
        })
      })
      server.listen(path, () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.sync(() => server.close())
  )
  return { path, bodies }
})

/** Acme Markets, as the example's own test makes it. */
const priceServer = httpServer((request, response) => {
  const ids = new URL(request.url ?? "/", "http://acme").searchParams.get("ids")?.split(",") ?? []
  const at = Math.floor(Date.now() / 1000)
  response.writeHead(200, { "content-type": "application/json" })
  response.end(JSON.stringify(ids.filter((id) => id in prices).map((id) => ({ id, usd: prices[id], at }))))
})

const programs = {
  "its sources": sources,
  "its package": join(authors, "node_modules/tillwire/dist/service/main.js")
}

describe("plugins by others", () => {
  beforeAll(async () => {
    await installPackages(authors)
    await Promise.all(examples.map(async (example) => {
      const folder = join(authors, example)
      cpSync(join(root, "test/plugins", example), folder, { recursive: true })
      await run(process.execPath, [compiler], folder)
      await run("npm", ["pack", "--ignore-scripts", "--pack-destination", authors], folder)
    }))
    const screening = join(authors, "screening")
    mkdirSync(join(screening, "src"), { recursive: true })
    cpSync(join(root, "test/plugins/loyalty/tsconfig.json"), join(screening, "tsconfig.json"))
    writeFileSync(join(screening, "package.json"), JSON.stringify({ type: "module" }))
    writeFileSync(join(screening, "src/screening.ts"), screeningPlugin)
    await run(process.execPath, [compiler, "--outDir", join(operator, "screening")], screening)
    writeFileSync(join(operator, "screening/package.json"), JSON.stringify({ type: "module" }))
    const packed = readdirSync(authors).filter((name) => name.endsWith(".tgz")).map((name) => join(authors, name))
    assert.strictEqual(packed.length, examples.length)
    writeFileSync(join(operator, "package.json"), JSON.stringify({ name: "operator", private: true }))
    await run("npm", ["install", "--offline", "--no-audit", "--no-fund", ...packed], operator)
    mkdirSync(join(operator, "node_modules/effect"))
    writeFileSync(join(operator, "node_modules/effect/index.js"), "throw new Error('the effect of the operator')")
    writeFileSync(join(operator, "broken.mjs"), brokenPlugin)
    return () => {
      rmSync(authors, { recursive: true, force: true })
      rmSync(operator, { recursive: true, force: true })
    }
  })

  it("are written as the guide shows, file by file", () => {
    const guide = guideNamed("plugins")
    for (const file of ["package.json", "tsconfig.json", "src/plugin.ts", "test/plugin.test.js"]) {
      assert.include(guide, readFileSync(join(root, "test/plugins/price-source", file), "utf8"), file)
    }
  })

  for (const example of examples) {
    it(`pass their own tests by the package's test kit: ${example}`, async () => {
      const output = await run(process.execPath, ["--test"], join(authors, example))
      assert.match(output, /pass [1-9]/)
    })
  }

  for (const [name, program] of Object.entries(programs)) {
    it.live(`price, deliver and keep points where the service runs from ${name}, beside one that breaks`, () =>
      Effect.gen(function*() {
        const { url: database } = yield* emptyDatabase
        const socket = yield* socketReceiver
        const baseUrl = yield* priceServer
        const config = configOf({ database, chains: [{ use: "simulated" }] })
        const file = join(operator, `${randomUUID()}.json`)
        writeFileSync(
          file,
          JSON.stringify({
            ...config,
            prices: [{ use: "acme-price", options: { baseUrl } }],
            transports: [{ use: "acme-socket", options: { sockets: { orders: socket.path } } }],
            modules: [
              ...config.modules,
              { use: "screening" },
              { use: "./screening/screening.js", options: { listed: [] } },
              { use: "./broken.mjs" },
              { use: "acme-loyalty" }
            ]
          })
        )
        const service = yield* startService({ directory: yield* temporaryDirectory, program, config: file })
        const key = (yield* service.keys).merchant_key
        const call = (path: string, body?: unknown, more: Readonly<Record<string, string>> = {}) =>
          exchange(service.url, path, {
            headers: { "x-api-key": key, ...more },
            ...body === undefined ? {} : { body }
          })
        assertStatus(200, yield* call("/api/v1/webhooks", { url: "unix://orders", enabled_events: ["*"] }))
        const refused = assertStatus(
          400,
          yield* call("/api/v1/webhooks", { url: "unix://other", enabled_events: ["*"] })
        )
        assert.strictEqual(
          refused.error.message,
          "There is no such socket here: the operator names them as unix://<name>"
        )

        for (const route of ["throw", "die"]) {
          const { json, status } = yield* call(`/api/v1/acme-broken/${route}`)
          assert.deepStrictEqual([status, json.error.code], [500, "INTERNAL_ERROR"])
          assert.notInclude(JSON.stringify(json), "canary")
        }

        const made = assertStatus(
          200,
          yield* call("/api/v1/invoices", { amount_usd: 49.99, customer_id: "ann" }, {
            "idempotency-key": randomUUID()
          })
        )
        const paying = `/api/v1/devnet/invoices/${made.invoice_id}/simulate`
        assertStatus(200, yield* call(paying, { action: "pay" }))
        yield* until(
          "the paid invoice is delivered over the socket",
          Effect.sync(() => socket.bodies),
          (bodies) => bodies.some(({ data, type }) => type === "invoice.paid" && data.object.id === made.invoice_id)
        )
        const points = (found: any) => [found.data.object, found.data.customer_id, found.data.points]
        const account = call("/api/v1/acme-loyalty/ann").pipe(Effect.map((answer) => assertStatus(200, answer)))
        const earned = yield* until("points are given", account, ({ data }) => data.points > 0)
        assert.deepStrictEqual(points(earned), ["acme_loyalty_account", "ann", 49])

        const redeem = (amount: number, idempotencyKey: string) =>
          call("/api/v1/acme-loyalty/ann/redeem", { points: amount }, { "idempotency-key": idempotencyKey })
        assert.strictEqual(assertStatus(200, yield* redeem(40, "once")).data.points, 9)
        assert.strictEqual(assertStatus(200, yield* redeem(40, "once")).data.points, 9)
        const { json, status } = yield* redeem(40, "again")
        assert.deepStrictEqual([status, json.error.code, json.error.param], [400, "VALIDATION_ERROR", "points"])
        assert.strictEqual((yield* account).data.points, 9)

        const document = assertStatus(200, yield* call("/openapi.json"))
        assert.property(document.paths, "/api/v1/acme-loyalty/{customerId}")
        for (const canary of ["canary of the subscriber", "canary of the source", "canary of the handler"]) {
          yield* until(`${canary} is in the log`, Effect.sync(service.output), (output) => output.includes(canary))
        }
      }).pipe(Effect.scoped))
  }
})
