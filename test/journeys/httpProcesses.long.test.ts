/**
 * Goal: with `http.processes` the public port is served by several processes and the service is still one: nothing is
 * done twice, limits hold, health and metrics tell of all, and a process that dies is started again.
 * Method: the service with two HTTP processes on its embedded database, each call on a connection of its own, so that
 * calls go to one and the other in turn; its processes are killed by their ids.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, type Scope } from "effect"
import { randomUUID } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"
import { connect, type Socket } from "node:net"
import { devnetXpub } from "../../modules/chains/simulated.ts"
import { type Anvil, anvil } from "../support/Anvil.ts"
import { isAlive } from "../support/Process.ts"
import { generousLimits } from "../support/Limits.ts"
import { makeReceiver } from "../support/Receiver.ts"
import {
  configOf,
  exchange,
  rpcToken,
  type Service,
  startService,
  temporaryDirectory,
  until
} from "../support/Service.ts"
import {
  assertEvents,
  assertStatus,
  chooseToken,
  listen,
  newInvoice,
  openShop,
  readInvoice,
  type Shop,
  transferTypes
} from "./Shop.ts"

/** Node processes that `pid` started, oldest first. */
const childrenOf = (pid: number): ReadonlyArray<number> =>
  readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map(Number).filter((each) => {
    try {
      const stat = readFileSync(`/proc/${each}/stat`, "latin1")
      const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1])
      return parent === pid && readFileSync(`/proc/${each}/cmdline`, "latin1").includes("/main.")
    } catch {
      // It ended meanwhile.
      return false
    }
  }).toSorted((a, b) => a - b)

/**
 * A request whose body does not come before the socket is ended with its two bytes. It is under way: the service has
 * read its head, and says that it waits for the body.
 */
const beginUpload = ({ ports }: Service, key: string): Effect.Effect<Socket, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<Socket>((resume) => {
      const head =
        `POST /api/v1/invoices HTTP/1.1\r\nhost: till\r\nx-api-key: ${key}\r\nidempotency-key: ${randomUUID()}\r\n`
        + "content-type: application/json\r\ncontent-length: 2\r\nexpect: 100-continue\r\n"
        + "connection: close\r\n\r\n"
      const socket = connect(ports.http, "127.0.0.1", () => socket.write(head))
      socket.on("error", () => undefined).on("data", () => resume(Effect.succeed(socket)))
    }),
    (socket) => Effect.sync(() => void socket.destroy())
  )

class Processes extends Context.Service<Processes, {
  readonly node: Anvil
  readonly service: Service
  readonly shop: Shop
  /** The service again, in the same directory. */
  readonly restart: Effect.Effect<Service, never, Scope.Scope>
}>()("test/Processes") {
  static readonly layer = Layer.effect(
    Processes,
    Effect.gen(function*() {
      const node = yield* anvil("base")
      yield* node.token("mint", [node.accounts[0]!, 1_000_000_000_000n])
      const receiver = yield* makeReceiver()
      const directory = yield* temporaryDirectory
      const config = {
        ...configOf({
          database: "",
          receivers: [receiver.host],
          http: { processes: 2 },
          limits: { ...generousLimits, noncePerMinute: 10 },
          chains: [{
            use: "evm",
            options: {
              network: "base",
              environment: "devnet",
              rpc: [node.url],
              xpub: devnetXpub,
              // The first addresses of this key are the node's own accounts, which do the paying.
              startIndex: 10,
              pollMillis: 25
            }
          }]
        }),
        store: { use: "embedded" }
      }
      const restart = startService({ directory, config, ownProcess: true })
      const service = yield* restart
      const shop = yield* openShop(service, receiver, (yield* service.keys).merchant_key)
      return { node, service, shop, restart }
    })
  )
}

const paid = ["invoice.created", ...transferTypes("invoice.paid")]

const pids = (service: Service, count: number) =>
  until(`${count} HTTP processes`, Effect.sync(() => childrenOf(service.pid)), (found) => found.length === count)

const metrics = (service: Service) =>
  Effect.map(
    exchange(service.rpcUrl, "/metrics", { headers: { authorization: `Bearer ${rpcToken}` } }),
    ({ text }) => text
  )

layer(Processes.layer, { excludeTestServices: true })("two HTTP processes", (it) => {
  it.effect("make one service: an invoice is paid, heard on sockets of both, and delivered once", () =>
    Effect.gen(function*() {
      const { node, service, shop } = yield* Processes
      yield* pids(service, 2)
      const invoice = yield* newInvoice(shop, { amount_usd: 5 })
      const shown = yield* chooseToken(shop, invoice, "USDC")
      const listeners = [yield* listen(shown, service.url), yield* listen(shown, service.url)]
      yield* node.token("transfer", [shown.temp_address, 5_000_000n])
      for (const listener of listeners) yield* assertEvents(shop, invoice, listener, paid)
      const after = yield* newInvoice(shop, { amount_usd: 1 })
      const arrived = Effect.sync(() => shop.receiver.arrivals(shop.hooks))
      yield* until("the next webhook", arrived, (all) => all.some(({ body }) => body.includes(after.id)))
      const ids = shop.receiver.arrivals(shop.hooks).map(({ headers }) => headers["webhook-id"])
      assert.strictEqual(new Set(ids).size, ids.length)
    }))

  it.effect("answer a repeated key with one reply, whichever is asked", () =>
    Effect.gen(function*() {
      const { shop } = yield* Processes
      const create = shop.service.call("/api/v1/invoices", {
        headers: { "x-api-key": shop.key, "idempotency-key": "race" },
        body: { amount_usd: 7 }
      })
      const answers = yield* Effect.all([create, create, create, create], { concurrency: "unbounded" })
      for (const answer of answers) assertStatus(200, answer)
      assert.strictEqual(new Set(answers.map(({ text }) => text)).size, 1)
    }))

  it.effect("tell metrics and health of all, on both ports", () =>
    Effect.gen(function*() {
      const { service } = yield* Processes
      const text = yield* metrics(service)
      for (const process of ["0", "1", "2"]) {
        assert.match(text, new RegExp(`^tillwire_process_uptime_seconds\\{process="${process}"\\} \\d`, "m"))
      }
      const types = text.match(/^# TYPE .*$/gm) ?? []
      assert.strictEqual(new Set(types).size, types.length, "each family stands there once")
      const held = text.match(/^tillwire_lease_held\{.*$/gm) ?? []
      assert.isAbove(held.length, 0)
      assert.deepStrictEqual(held.filter((line) => !line.includes("process=\"0\"")), [], "one process has the leases")
      assert.strictEqual(assertStatus(200, yield* service.call("/health/ready")).status, "ok")
    }))

  it.effect("one that is killed comes back, and the other serves meanwhile", () =>
    Effect.gen(function*() {
      const { service, shop } = yield* Processes
      const [first = 0] = yield* pids(service, 2)
      process.kill(first, "SIGKILL")
      yield* until("the process ended", Effect.sync(() => isAlive(first)), (is) => !is)
      // A connection that waited at the dead process is closed, and its client asks again.
      const create = Effect.catchDefect(
        Effect.as(newInvoice(shop, { amount_usd: 3 }), true),
        () => Effect.succeed(false)
      )
      for (let at = 0; at < 5; at++) yield* until("an invoice", create, (isMade) => isMade)
      const again = yield* pids(service, 2)
      assert.notInclude(again, first)
      yield* until(
        "the process serves again",
        Effect.sync(() => service.output().split("an HTTP process serves").length - 1),
        (count) => count === 3
      )
      yield* until(
        "health is well again",
        exchange(service.url, "/health/ready"),
        ({ json }) => json.status === "ok"
      )
      assert.lengthOf(service.errors().filter((line) => line.includes("an HTTP process ended")), 1)
    }))

  it.effect("count one limit together", () =>
    Effect.gen(function*() {
      const { service } = yield* Processes
      const ask = exchange(service.url, "/api/v1/auth/nonce", { method: "POST", body: {} })
      const answers = yield* Effect.all(Array.from({ length: 14 }, () => ask))
      assert.strictEqual(answers.filter(({ status }) => status === 429).length, 4)
    }))

  it.effect("end with the first process when it is killed, and start again on the same data", () =>
    Effect.gen(function*() {
      const { restart, service, shop } = yield* Processes
      const orphans = yield* pids(service, 2)
      yield* service.stop("SIGKILL")
      yield* until("no process is left", Effect.sync(() => orphans.filter(isAlive)), (left) => left.length === 0)
      const again = yield* restart
      const invoice = yield* newInvoice({ ...shop, service: again }, { amount_usd: 5 })
      assert.strictEqual((yield* readInvoice({ ...shop, service: again }, invoice.id)).status, "unpaid")
      const running = yield* pids(again, 2)
      assert.strictEqual(yield* again.stop(), 0)
      assert.deepStrictEqual(running.filter(isAlive), [])
      assert.deepStrictEqual(again.errors(), [])
    }))

  it.effect("stop together, each with the time that requests under way may take", () =>
    Effect.scoped(Effect.gen(function*() {
      const { restart, shop } = yield* Processes
      const again = yield* restart
      const serving = Effect.sync(() => again.output().match(/an HTTP process serves/g))
      yield* until("both processes serve", serving, (lines) => lines?.length === 2)
      const uploads = yield* Effect.forEach(Array.from({ length: 16 }), () => beginUpload(again, shop.key))
      const stop = yield* Effect.forkChild(again.stop())
      const stopping = Effect.sync(() => again.output().match(/"stopping".*"http_process"|"http_process".*"stopping"/g))
      yield* until("both processes stop", stopping, (lines) => lines?.length === 2)
      assert.notInclude(again.output(), `"msg":"stopped"`)
      for (const upload of uploads) upload.end("{}")
      assert.strictEqual(yield* Fiber.join(stop), 0)
    })))
})
