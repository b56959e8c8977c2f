/** Group I: the wire and floods. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { connect, type Socket } from "node:net"
import { formKey } from "../../../modules/auth/rules.ts"
import {
  assertHarmless,
  AttackedService,
  attackedService,
  codeOf,
  outcome,
  sendRaw,
  statusesIn
} from "./AttackedService.ts"
import { generousLimits } from "../../support/Limits.ts"
import { until } from "../../support/Service.ts"
import { timed } from "../../support/Stopwatch.ts"

/** More than headers may take, 10 s and 2 s until that is looked at, and less than the 30 s of a whole request. */
const cutMillis = 25_000

const perAddress = 200

/** Connections that are held open and send what they are told to, slowly. */
const hold = (url: string, count: number, first: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const { hostname, port } = new URL(url)
      return Array.from({ length: count }, () => {
        const held = { socket: connect(Number(port), hostname), closed: false, text: "" }
        held.socket.on("error", () => {})
        held.socket.on("close", () => held.closed = true)
        held.socket.on("data", (chunk) => held.text += String(chunk))
        if (first !== "") held.socket.write(first)
        return held
      })
    }),
    (all) => Effect.sync(() => all.forEach(({ socket }: { socket: Socket }) => socket.destroy()))
  )

/** The answers of a connection that asks with `request` and then closes; every one is a refusal. */
const refusedWith = (url: string, request: string, statuses: ReadonlyArray<number>) =>
  Effect.gen(function*() {
    const found = yield* sendRaw(url, request)
    for (const status of statusesIn(found)) assert.include(statuses, status, request)
    assert.isTrue(found.closed || statusesIn(found).length > 0, request)
    assert.notMatch(found.text, /\n\s+at |node:internal|\.ts:\d/)
  })

layer(attackedService({ ...generousLimits, keyInFlight: 20, connectionsPerAddress: perAddress }), {
  excludeTestServices: true
})("I", (it) => {
  it.effect("90: slow senders of headers and bodies are cut, and nobody waits for them meanwhile", () =>
    Effect.gen(function*() {
      const { call, create, key, service } = yield* AttackedService
      // A first call waits for code that is loaded and compiled.
      for (const first of [service.call("/health/live"), create({ amount: 1_000 })]) {
        assert.strictEqual((yield* first).status, 200)
      }
      const heads = yield* hold(service.url, 60, "GET /health/live HTTP/1.1\r\nhost: x\r\n")
      const bodies = yield* hold(
        service.url,
        60,
        `POST /api/v1/invoices HTTP/1.1\r\nhost: x\r\nx-api-key: ${key}\r\nidempotency-key: k\r\n` +
          "content-type: application/json\r\ncontent-length: 1000\r\n\r\n{"
      )
      const drip = Effect.sync(() => {
        for (const { closed, socket } of heads) if (!closed) socket.write("x-slow: 1\r\n")
        for (const { closed, socket } of bodies) if (!closed) socket.write(" ")
      })
      const isCut = ({ closed }: { readonly closed: boolean }) => closed
      let answered = 0
      const look = Effect.gen(function*() {
        yield* drip
        assert.strictEqual((yield* service.call("/health/live")).status, 200)
        if (!heads.some(isCut)) answered++
        yield* Effect.sleep(500)
      })
      const cut = timed(until("all are cut", Effect.sync(() => heads.every(isCut)), (all) => all))
      const { millis } = yield* Effect.raceFirst(cut, Effect.forever(look))
      assert.isBelow(millis, cutMillis)
      // Not a limit of time, which a busy machine breaks: who waited for a slow sender would wait until it is cut.
      assert.isAtLeast(answered, 2)
      for (const { text } of heads) assert.match(text, /^HTTP\/1\.1 408 |^$/)
      // Those that send bodies hold 20 calls of the key at most, and then no other call of it is let in.
      assert.include([200, 429], (yield* call("/api/v1/invoices")).status)
    }))

  it.effect("91: two lengths, two framings, bare line feeds and folded lines are refused; the rest is never a request", () =>
    Effect.gen(function*() {
      const { key, service } = yield* AttackedService
      const auth =
        `host: x\r\nx-api-key: ${key}\r\nidempotency-key: ${randomUUID()}\r\ncontent-type: application/json\r\n`
      const smuggled = "GET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n"
      const post = "POST /api/v1/invoices HTTP/1.1\r\n"
      for (
        const request of [
          `${post}${auth}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
          `${post}${auth}transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n${smuggled}`,
          `${post}${auth}content-length: 5\r\ncontent-length: 6\r\n\r\n{"a":${smuggled}`,
          `${post}${auth}content-length: 5, 5\r\n\r\n{"a":${smuggled}`,
          `${post}${auth}content-length: +5\r\n\r\n{"a":${smuggled}`,
          `${post}${auth}content-length: 0x5\r\n\r\n{"a":${smuggled}`,
          `${post}${auth}content-length: -1\r\n\r\n${smuggled}`,
          `${post}${auth}transfer-encoding: xchunked\r\n\r\n0\r\n\r\n${smuggled}`,
          `${post}${auth}transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n${smuggled}`,
          `${post}${auth}transfer-encoding:\x0bchunked\r\n\r\n0\r\n\r\n${smuggled}`,
          `${post}${auth}transfer-encoding : chunked\r\n\r\n0\r\n\r\n${smuggled}`,
          `${post}${auth}transfer-encoding: chunked\r\n\r\nZ\r\n\r\n${smuggled}`,
          `${post}${auth}transfer-encoding: chunked\r\n\r\n1\n{\n0\n\n${smuggled}`,
          `${post}${auth}x-folded: a\r\n b: c\r\ncontent-length: 0\r\n\r\n`,
          `${post.replace("\r\n", "\n")}${auth.replaceAll("\r\n", "\n")}content-length: 0\n\n${smuggled}`
        ]
      ) {
        const found = yield* sendRaw(service.url, request)
        const statuses = statusesIn(found)
        assert.isAtMost(statuses.length, 1, request)
        assert.include([400, 501], statuses[0], request)
        assert.isTrue(found.closed, request)
        assert.notInclude(found.text, "NOT_FOUND")
      }
    }))

  it.effect("92: the host that a request names decides nothing", () =>
    Effect.gen(function*() {
      const { key, service } = yield* AttackedService
      const body = "{\"amount\":1000}"
      const made = (head: string) =>
        sendRaw(
          service.url,
          `${head}x-api-key: ${key}\r\nidempotency-key: ${randomUUID()}\r\ncontent-type: application/json\r\n` +
            `content-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`
        )
      for (
        const head of [
          "POST /api/v1/invoices HTTP/1.1\r\nhost: evil.example\r\n",
          "POST /api/v1/invoices HTTP/1.1\r\nhost: a\r\nhost: evil.example\r\n",
          "POST /api/v1/invoices HTTP/1.1\r\nhost: a\r\nx-forwarded-host: evil.example\r\nforwarded: host=evil.example\r\n",
          "POST /api/v1/invoices HTTP/1.1\r\nhost: a\r\nx-forwarded-proto: https\r\nx-original-url: /evil\r\nx-rewrite-url: /evil\r\n",
          "POST http://evil.example/api/v1/invoices HTTP/1.1\r\nhost: evil.example\r\n"
        ]
      ) {
        const { text } = yield* made(head)
        assert.notInclude(text, "evil", head)
        const url = /"payment_url":"([^"]*)"/.exec(text)?.[1]
        if (url !== undefined) assert.isTrue(url.startsWith(`${service.url}/pay/`), head)
        else assert.match(text, /^HTTP\/1\.1 (400|404) /)
      }
      yield* refusedWith(service.url, "GET /health/live HTTP/1.1\r\nconnection: close\r\n\r\n", [400])
    }))

  it.effect("headers without end are refused: one long line, very many, and a credential of 10 kB", () =>
    Effect.gen(function*() {
      const { service } = yield* AttackedService
      const get = "GET /api/v1/events HTTP/1.1\r\nhost: x\r\n"
      yield* refusedWith(service.url, `${get}x-long: ${"a".repeat(20_000)}\r\n\r\n`, [431])
      yield* refusedWith(service.url, `${get}${"x-many: 1\r\n".repeat(3_000)}\r\n`, [431])
      yield* refusedWith(service.url, `GET /${"a".repeat(70_000)} HTTP/1.1\r\nhost: x\r\n\r\n`, [431, 414])
      const long = yield* service.call("/api/v1/events", { headers: { "x-api-key": "k".repeat(10_000) } })
      assert.strictEqual(outcome(long), "401 API_KEY_INVALID")
      for (const name of ["x-api-key", "x-commerce-api-key"]) {
        const twice = yield* service.call("/api/v1/events", { headers: { [name]: ["a", "b"] } })
        assert.strictEqual(outcome(twice), "401 API_KEY_INVALID", name)
      }
    }))

  it.effect("the same key twice is refused, never read as the first one", () =>
    Effect.gen(function*() {
      const { key, service } = yield* AttackedService
      const found = yield* service.call("/api/v1/events", { headers: { "x-api-key": [key, key] } })
      assert.strictEqual(outcome(found), "401 API_KEY_INVALID")
      const good = yield* service.call("/api/v1/events", { headers: { "x-api-key": [key, "nobody"] } })
      assert.strictEqual(outcome(good), "401 API_KEY_INVALID")
    }))

  it.effect("94: 100 at once by one key are limited by what is under way, and another key goes on", () =>
    Effect.gen(function*() {
      const { call, commerceKey, create, service } = yield* AttackedService
      yield* Effect.forEach(Array.from({ length: 30 }), () => create({ amount: 1_000 }), { concurrency: 5 })
      const burst = Effect.forEach(
        Array.from({ length: 100 }),
        (_, index) => call(index % 2 === 0 ? "/api/v1/invoices/totals" : "/api/v1/invoices?limit=100"),
        { concurrency: 100 }
      )
      const other = service.call("/api/v1/events?limit=1", { headers: { "x-api-key": commerceKey } })
      const [all, one] = yield* Effect.all([burst, other], { concurrency: 2 })
      assert.strictEqual(outcome(one), "200")
      for (const found of all) {
        if (assertHarmless(found).status === 200) continue
        assert.strictEqual(outcome(found), "429 RATE_LIMIT_EXCEEDED")
        assert.strictEqual(found.headers["retry-after"], "1")
      }
      assert.isAtLeast(all.filter(({ status }) => status === 200).length, 20)
      assert.strictEqual(outcome(yield* call("/api/v1/invoices/totals")), "200")
    }))

  it.effect("95: idle connections of this machine are not counted for an address: a proxy beside the service holds many", () =>
    Effect.gen(function*() {
      const { service } = yield* AttackedService
      const idle = yield* hold(service.url, perAddress + 100, "")
      yield* until(
        "all are connected",
        Effect.sync(() => idle.filter(({ socket }) => !socket.connecting).length),
        (n) => n === idle.length
      )
      assert.strictEqual((yield* service.call("/health/live")).status, 200)
      assert.strictEqual(idle.filter(({ closed }) => closed).length, 0)
    }))

  it.effect("a request target that is no address is refused as a mistake of its sender, on both ports", () =>
    Effect.gen(function*() {
      const { service } = yield* AttackedService
      const paths = ["/ws/payment", "/ws/merchant/events", "/api/v1/events", "/pay/x", "/openapi.json", "/health/live"]
      const targets = paths.flatMap((
        path
      ) => [`http://%zz${path}`, `http://[${path}`, `http://a:b${path}`, `ftp://a${path}`])
      for (const url of [service.url, service.rpcUrl]) {
        for (const target of targets) {
          const found = yield* sendRaw(url, `GET ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
          assert.deepStrictEqual(statusesIn(found), [400], target)
          assert.include(found.text, "VALIDATION_ERROR", target)
        }
      }
      // Two slashes begin a path here: never an address of another host, and no spelling of a route.
      const slashes = [
        ["//%zz/ws/payment", 400],
        ["//evil.example/ws/payment?token=x", 404],
        ["//[/ws/merchant/events", 404],
        ["//ws//payment", 404]
      ] as const
      for (const [path, status] of slashes) {
        const found = yield* sendRaw(service.url, `GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
        assert.deepStrictEqual(statusesIn(found), [status], path)
      }
      assert.deepStrictEqual(service.errors(), [])
    }))

  it.effect("96: HTTP/2 is not spoken", () =>
    Effect.gen(function*() {
      const { service } = yield* AttackedService
      const found = yield* sendRaw(service.url, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
      assert.isTrue(found.closed)
      for (const status of statusesIn(found)) assert.include([400, 505], status)
      const upgrade = yield* sendRaw(
        service.url,
        "GET /health/live HTTP/1.1\r\nhost: x\r\nconnection: upgrade, http2-settings, close\r\nupgrade: h2c\r\n" +
          "http2-settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n"
      )
      assert.notInclude(statusesIn(upgrade), 101)
    }))

  it.effect("97: private answers are kept by nobody, whatever a client says of ranges and validators", () =>
    Effect.gen(function*() {
      const { call, create } = yield* AttackedService
      const invoice = assertHarmless(yield* create({ amount: 1_000 }))
      for (
        const headers of [
          { range: "bytes=0-10" },
          { "if-none-match": "*" },
          { "if-modified-since": "Thu, 01 Jan 2099 00:00:00 GMT" },
          { "if-range": "\"x\"", range: "bytes=0-" }
        ]
      ) {
        for (const path of ["/api/v1/invoices", `/api/v1/invoices/${invoice.json.invoice_id}`, "/api/v1/events"]) {
          const found = assertHarmless(yield* call(path, { headers }))
          assert.deepStrictEqual([found.status, found.headers["cache-control"]], [200, "no-store"], path)
          assert.strictEqual(found.headers["x-content-type-options"], "nosniff")
        }
      }
      for (const path of ["/api/v1/events/evt_1-1", "/nowhere", "/api/v1/invoices/none"]) {
        const found = yield* call(path)
        assert.isString(codeOf(found))
        assert.strictEqual(found.headers["cache-control"], "no-store", path)
      }
    }))

  it.effect("pages of other origins may not read a merchant's answers; payor routes allow any, without credentials", () =>
    Effect.gen(function*() {
      const { call, service } = yield* AttackedService
      for (const origin of ["https://evil.example", "null", service.url]) {
        const merchant = yield* call("/api/v1/events", { headers: { origin } })
        const preflight = yield* service.call("/api/v1/events", {
          method: "OPTIONS",
          headers: { origin, "access-control-request-method": "GET", "access-control-request-headers": "x-api-key" }
        })
        for (const { headers } of [merchant, preflight]) {
          assert.deepStrictEqual(Object.keys(headers).filter((name) => name.startsWith("access-control")), [], origin)
        }
        assert.strictEqual(preflight.status, 405)
        const payor = yield* service.call("/api/v1/payments/session-details", { headers: { origin } })
        assert.deepStrictEqual([payor.status, payor.headers["access-control-allow-origin"]], [401, "*"])
        assert.isUndefined(payor.headers["access-control-allow-credentials"])
        const asked = yield* service.call("/api/v1/payments/session-details", {
          method: "OPTIONS",
          headers: { origin, "access-control-request-method": "GET" }
        })
        assert.strictEqual(asked.status, 204)
        assert.isUndefined(asked.headers["access-control-allow-credentials"])
        assert.notInclude(String(asked.headers["access-control-allow-headers"]), "x-api-key")
        assert.notInclude(String(asked.headers["access-control-allow-headers"]), "authorization")
      }
    }))
})

layer(attackedService({ ...generousLimits, anonymousPerMinute: 20, sessionPerMinute: 8, payorPerMinute: 40 }), {
  excludeTestServices: true
})("I", (it) => {
  it.effect("93: an address cannot be dodged by X-Forwarded-For, and good keys of the address go on", () =>
    Effect.gen(function*() {
      const { call, service } = yield* AttackedService
      const bad = (index: number) =>
        service.call("/api/v1/events", {
          headers: {
            "x-api-key": `mk_dev_${String(index).padStart(38, "0")}`,
            "x-forwarded-for": `198.51.100.${index % 250}`,
            forwarded: `for=198.51.100.${index % 250}`,
            "x-real-ip": `198.51.100.${index % 250}`
          }
        })
      const all = yield* Effect.forEach(Array.from({ length: 60 }, (_, index) => index), bad, { concurrency: 5 })
      assert.deepStrictEqual(
        [401, 429].map((status) => all.filter((found) => assertHarmless(found).status === status).length),
        [20, 40]
      )
      assert.strictEqual(outcome(yield* call("/api/v1/events")), "200")
    }))

  it.effect("29: one session asks for 1,000 addresses: it gets one, then 429, and other sessions go on", () =>
    Effect.gen(function*() {
      const { create, service } = yield* AttackedService
      const sessionOf = Effect.map(
        create({ amount: 1_000 }),
        (made) => assertHarmless(made).json.payment_session_headers
      )
      const session = yield* sessionOf
      const tokens = yield* service.call("/api/v1/payments/available-tokens", { headers: session })
      const { id, network } = tokens.json[0]
      const asked = yield* Effect.forEach(
        Array.from({ length: 20 }),
        () => service.call("/api/v1/payments/payment-addresses", { headers: session, body: { network, token_id: id } }),
        { concurrency: 4 }
      )
      const given = asked.filter(({ status }) => status === 200)
      assert.strictEqual(given.length, 7)
      assert.strictEqual(new Set(given.map(({ json }) => json.temp_address)).size, 1)
      for (const refused of asked.filter(({ status }) => status !== 200)) {
        assert.strictEqual(refused.text, "{\"error\":\"Too many requests\",\"code\":\"RATE_LIMIT_EXCEEDED\"}")
        assert.strictEqual(refused.headers["ratelimit-policy"], "8;w=60")
        assert.isAtLeast(Number(refused.headers["retry-after"]), 1)
      }
      const other = yield* sessionOf
      const free = yield* service.call("/api/v1/payments/payment-status", { headers: other })
      assert.deepStrictEqual([free.status, free.headers["ratelimit-policy"]], [200, "8;w=60"])
      // The address has a limit over all its bad sessions, and good ones go on: many payors may share it.
      const rest = yield* Effect.forEach(
        Array.from({ length: 60 }),
        () => service.call("/api/v1/payments/payment-status", { headers: { "x-session-token": "pst_x" } })
      )
      assert.strictEqual(outcome(rest.at(-1)!), "429 RATE_LIMIT_EXCEEDED")
      const last = yield* service.call("/api/v1/payments/payment-status", { headers: yield* sessionOf })
      assert.deepStrictEqual([last.status, last.headers["ratelimit-policy"]], [200, "8;w=60"])
      const page = new URL((yield* create({ amount: 1_000 })).json.payment_url)
      const opened = yield* service.call(`${page.pathname}${page.search}`)
      assert.include([200, 303], opened.status)
    }))

  it.effect("a key that was never used before is served from an address that has used up its calls", () =>
    Effect.gen(function*() {
      const { call, service } = yield* AttackedService
      const made = yield* call("/api/v1/api-keys", {
        body: { name: "fresh", scope: "merchant" },
        headers: { "idempotency-key": randomUUID() }
      })
      const fresh: string = assertHarmless(made).json.data.key
      const guesses = Array.from(
        { length: 40 },
        (_, index) => formKey("merchant", "devnet", String(index).padStart(32, "0"))
      )
      const found = yield* Effect.forEach(
        guesses,
        (guess) => service.call("/api/v1/events", { headers: { "x-api-key": guess } })
      )
      assert.strictEqual(outcome(found.at(-1)!), "429 RATE_LIMIT_EXCEEDED")
      assert.strictEqual(outcome(yield* service.call("/api/v1/events", { headers: { "x-api-key": fresh } })), "200")
    }))
})
