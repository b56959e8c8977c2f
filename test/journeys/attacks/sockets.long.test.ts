/** Group J: websockets, by clients of ours and by raw frames (a browser's part: `test/browser/`). */
import { assert, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { AttackedService, attackedService, outcome, sendRaw, statusesIn } from "./AttackedService.ts"
import { generousLimits } from "../../support/Limits.ts"
import { until } from "../../support/Service.ts"
import {
  closeFrame,
  type ConnectOptions,
  connectTo,
  endOf,
  frame,
  rawSocket,
  refusalOf
} from "../../support/Sockets.ts"
import { timed } from "../../support/Stopwatch.ts"

const merchantPath = "/ws/merchant/events"
const commercePath = "/ws/commerce/events"

/** Whether a connection is closed at all, told from a busy machine. */
const closeMillis = 60_000

const make = Effect.gen(function*() {
  const { call, commerceKey, create, key, service, sql } = yield* AttackedService
  const base = service.url.replace("http", "ws")
  const headers = { "x-api-key": key }
  const commerce = { "x-api-key": commerceKey }
  const dial = (path: string, options?: ConnectOptions) => connectTo(`${base}${path}`, options)
  const refused = (path: string, options?: ConnectOptions) => refusalOf(dial(path, options))
  const ticketOf = (body: object, as: Record<string, string> = headers) =>
    Effect.map(service.call("/api/v1/ws/token", { body, headers: as }), (found) => {
      assert.strictEqual(found.status, 200, found.text)
      return found.json.data.token as string
    })
  /** An invoice, and the token of its payor's socket. */
  const payor = Effect.gen(function*() {
    const { json } = yield* create({ amount_usd: 5 })
    const tokens = (yield* call("/api/v1/merchant/tokens")).json.tokens
    const tokenId = tokens.find((each: any) => each.network === "base" && each.token_symbol === "USDC").id
    const { json: address } = yield* service.call("/api/v1/payments/payment-addresses", {
      body: { network: "base", token_id: tokenId },
      headers: json.payment_session_headers
    })
    const token: string = address.ws_connection.token
    service.guard(token)
    return { invoiceId: json.invoice_id as string, token }
  })
  return { base, call, commerce, commerceKey, create, dial, headers, key, payor, refused, service, sql, ticketOf }
})

layer(attackedService(generousLimits, { allowedOrigins: ["https://dash.example"] }), {
  excludeTestServices: true
})("J", (it) => {
  it.effect("98: no ticket, a wrong, used or ended one, or another invoice's opens nothing", () =>
    Effect.gen(function*() {
      const { commerce, dial, headers, payor, refused, sql, ticketOf } = yield* make
      assert.strictEqual(yield* refused(merchantPath), "401 UNAUTHORIZED")
      assert.strictEqual(yield* refused(merchantPath, { headers: { authorization: "Bearer x" } }), "401 UNAUTHORIZED")
      for (
        const token of [
          "",
          "x",
          "wst_",
          `wst_${"A".repeat(43)}`,
          `wst_${"A".repeat(20_000)}`.slice(0, 4_000),
          "..%2f",
          "%00"
        ]
      ) {
        assert.strictEqual(yield* refused(`${merchantPath}?token=${token}`), "401 TOKEN_INVALID", token)
      }
      assert.strictEqual(yield* refused(merchantPath, { headers: { "x-api-key": "mk_dev_x" } }), "401 API_KEY_INVALID")
      const ticket = yield* ticketOf({ scope: "merchant" })
      // A mistake in the address uses nothing up.
      assert.strictEqual(yield* refused(`${merchantPath}?token=${ticket}&types=in*`), "400 INVALID_EVENT_TYPE")
      const client = yield* dial(`${merchantPath}?token=${ticket}`)
      assert.deepInclude(yield* client.next, { type: "ready", stream: "merchant", environment: "devnet" })
      assert.strictEqual(yield* refused(`${merchantPath}?token=${ticket}`), "401 TOKEN_INVALID")
      const raced = yield* ticketOf({ scope: "commerce" }, commerce)
      const results = yield* Effect.forEach(
        Array.from({ length: 10 }),
        () =>
          Effect.match(dial(`${commercePath}?token=${raced}`), { onSuccess: () => "open", onFailure: () => "refused" }),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(results.filter((each) => each === "open").length, 1)
      const late = yield* ticketOf({ scope: "merchant", ttl_seconds: 60 })
      yield* sql`UPDATE stream_tickets SET expires_at = now() - interval '1 second'`
      assert.strictEqual(yield* refused(`${merchantPath}?token=${late}`), "401 TOKEN_EXPIRED")
      // A ticket of one stream opens no other, and neither does a key.
      assert.strictEqual(
        yield* refused(`${commercePath}?token=${yield* ticketOf({ scope: "merchant" })}`),
        "403 SCOPE_MISMATCH"
      )
      assert.strictEqual(yield* refused(commercePath, { headers }), "403 SCOPE_MISMATCH")
      assert.strictEqual(yield* refused(merchantPath, { headers: commerce }), "403 SCOPE_MISMATCH")
      const alias = { "x-commerce-api-key": commerce["x-api-key"] }
      assert.deepInclude(yield* (yield* dial(commercePath, { headers: alias })).next, {
        type: "ready",
        stream: "commerce"
      })
      assert.strictEqual(
        yield* refused(merchantPath, { headers: { "x-commerce-api-key": headers["x-api-key"] } }),
        "403 SCOPE_MISMATCH"
      )
      assert.strictEqual(
        yield* refused(`${commercePath}?environment=mainnet`, { headers: commerce }),
        "403 ENVIRONMENT_FORBIDDEN"
      )
      const [one, other] = [yield* payor, yield* payor]
      const [head, claims, signature] = one.token.split(".") as [string, string, string]
      const forged = Buffer.from(Buffer.from(claims, "base64url").toString().replace(one.invoiceId, other.invoiceId))
        .toString("base64url")
      for (
        const token of [`${head}.${forged}.${signature}`, `${head}.${claims}.`, yield* ticketOf({ scope: "merchant" })]
      ) {
        assert.strictEqual(yield* refused(`/ws/payment?token=${token}`), "401 TOKEN_INVALID")
      }
      // A payor's token opens no merchant's stream.
      assert.strictEqual(yield* refused(`${merchantPath}?token=${one.token}`), "401 TOKEN_INVALID")
    }))

  it.effect("99: a page of an origin that is not listed opens no merchant's stream", () =>
    Effect.gen(function*() {
      const { dial, headers, payor, refused, service, ticketOf } = yield* make
      for (const path of [merchantPath, commercePath]) {
        for (
          const origin of [
            "https://evil.example",
            "null",
            "https://dash.example.evil.example",
            "http://dash.example",
            "https://dash.example:444"
          ]
        ) {
          assert.strictEqual(
            yield* refused(path, { headers: { ...headers, origin } }),
            "403 ORIGIN_NOT_ALLOWED",
            origin
          )
        }
      }
      const ticket = yield* ticketOf({ scope: "merchant" })
      assert.strictEqual(
        yield* refused(`${merchantPath}?token=${ticket}`, { headers: { origin: "https://evil.example" } }),
        "403 ORIGIN_NOT_ALLOWED"
      )
      yield* dial(`${merchantPath}?token=${ticket}`, { headers: { origin: "https://dash.example" } })
      yield* dial(merchantPath, { headers: { ...headers, origin: service.url } })
      const { token } = yield* payor
      yield* dial(`/ws/payment?token=${token}`, { headers: { origin: "https://evil.example" } })
    }))

  it.effect("100: frames that break the protocol, or a bound, close the connection and nothing else", () =>
    Effect.gen(function*() {
      const { base, dial, headers, service } = yield* make
      const good = yield* dial(merchantPath, { headers })
      const open = rawSocket(`${base}${merchantPath}`, headers)
      const after = (what: string, ...bytes: ReadonlyArray<Buffer>) =>
        Effect.scoped(Effect.gen(function*() {
          const { closed, tcp } = yield* open
          for (const each of bytes) tcp.write(each)
          return yield* Effect.timeoutOrElse(closed, {
            duration: closeMillis,
            orElse: () => Effect.die(new Error(`not closed: ${what}`))
          })
        }))
      const huge = "x".repeat(4_097)
      const cases: ReadonlyArray<readonly [string, ReadonlyArray<number | undefined>, ...ReadonlyArray<Buffer>]> = [
        ["an unmasked text", [1002], frame(0x1, "{}", { masked: false })],
        ["an unmasked ping", [1002], frame(0x9, "", { masked: false })],
        ...[1, 2, 3, 4, 5, 6, 7].map((reserved) =>
          [`reserved bits ${reserved}`, [1002], frame(0x1, "{}", { reserved })] as const
        ),
        ...[3, 4, 5, 6, 7, 11, 12, 13, 14, 15].map((opcode) =>
          [`opcode ${opcode}`, [1002], frame(opcode, "x")] as const
        ),
        ["a fragmented ping", [1002], frame(0x9, "x", { fin: false })],
        ["a fragmented pong", [1002], frame(0xa, "x", { fin: false })],
        ["a fragmented close", [1002], frame(0x8, Buffer.of(3, 232), { fin: false })],
        ["a ping of 126 bytes", [1002], frame(0x9, "x".repeat(126))],
        ["a close of 126 bytes", [1002], closeFrame(1000, "x".repeat(124))],
        ["a text that is not UTF-8", [1007], frame(0x1, Buffer.of(0xc3, 0x28))],
        ["a surrogate in UTF-8", [1007], frame(0x1, Buffer.of(0xed, 0xa0, 0x80))],
        ["a text that stops within a character", [1007], frame(0x1, Buffer.of(0xe2, 0x82))],
        [
          "a character split by frames and never ended",
          [1007],
          frame(0x1, Buffer.of(0xe2), { fin: false }),
          frame(0x0, Buffer.of(0x82))
        ],
        ["a close reason that is not UTF-8", [1007], closeFrame(1000, Buffer.of(0xff))],
        ["a close of one byte", [1002], frame(0x8, Buffer.of(3))],
        ...[0, 999, 1004, 1005, 1006, 1015, 2999, 5000, 65535].map((code) =>
          [`close code ${code}`, [1002], closeFrame(code)] as const
        ),
        ["a continuation of nothing", [1002], frame(0x0, "x")],
        ["a last continuation of nothing", [1002], frame(0x0, "x", { fin: false })],
        ["a text within a text", [1002], frame(0x1, "{", { fin: false }), frame(0x1, "}")],
        ["a length of 64 bits with the highest set", [1009, 1002], frame(0x1, "", { claims: 1n << 63n })],
        ["a length of 2^53", [1009], frame(0x1, "", { claims: 1n << 53n })],
        ["a length of 4 GiB", [1009], frame(0x2, "", { claims: 1n << 32n })],
        ["64 kB", [1009], frame(0x1, "x".repeat(65_000))],
        ["4,097 bytes", [1009], frame(0x1, huge)],
        [
          "4,097 bytes in fragments",
          [1009],
          frame(0x1, huge.slice(0, 4_000), { fin: false }),
          frame(0x0, huge.slice(4_000))
        ],
        [
          "empty fragments without end",
          [1008],
          frame(0x1, "", { fin: false }),
          ...Array.from({ length: 200 }, () => frame(0x0, "", { fin: false }))
        ],
        ["a flood of pings", [4400], ...Array.from({ length: 50 }, () => frame(0x9, "x"))],
        ["a flood of pongs", [4400], ...Array.from({ length: 50 }, () => frame(0xa, "x"))],
        ["a flood of messages", [4400], ...Array.from({ length: 50 }, () => frame(0x1, "{}"))]
      ]
      const wrong: Array<string> = []
      for (const [what, codes, ...bytes] of cases) {
        const code = yield* after(what, ...bytes)
        if (!codes.includes(code)) wrong.push(`${what}: ${code}`)
      }
      assert.deepStrictEqual(wrong, [])
      // What is allowed: a message in fragments around a ping, and a close that is answered in kind.
      const polite = yield* open
      polite.tcp.write(Buffer.concat([
        frame(0x1, "{\"object\":", { fin: false }),
        frame(0x9, "hi"),
        frame(0x0, "\"ws_ping\"}"),
        closeFrame(3000, "bye")
      ]))
      assert.strictEqual(yield* polite.closed, 3000)
      const told = polite.frames()
      assert.deepStrictEqual(told.find(({ opcode }) => opcode === 0xa)?.payload.toString(), "hi")
      assert.include(told.filter(({ opcode }) => opcode === 0x1)[1]?.payload.toString(), "heartbeat")
      good.socket.send("{\"object\":\"ws_ping\"}")
      assert.strictEqual((yield* good.take(2))[1].type, "heartbeat")
      assert.strictEqual((yield* service.call("/health/live")).status, 200)
    }))

  it.effect("101: a client that never reads is dropped, and the others hear everything", () =>
    Effect.gen(function*() {
      const { base, create, dial, headers } = yield* make
      const dead = yield* rawSocket(`${base}${merchantPath}?types=invoice.created`, headers)
      dead.tcp.pause()
      const quick = yield* dial(`${merchantPath}?types=invoice.created`, { headers })
      const metadata = { pad: "x".repeat(15_000) }
      let made = 0
      const gone = Effect.suspend(() => {
        made += 20
        return Effect.as(
          Effect.forEach(Array.from({ length: 20 }), () => create({ amount_usd: 5, metadata }), { concurrency: 20 }),
          dead.tcp.destroyed
        )
      })
      // The kernel's own buffers take some megabytes first; a reader that wakes up late finds its connection ended.
      while (made < 800 && !(yield* gone)) if (made >= 600) dead.tcp.resume()
      const code = yield* Effect.timeoutOrElse(dead.closed, { duration: closeMillis, orElse: () => Effect.succeed(0) })
      assert.oneOf(code, [4409, undefined])
      assert.lengthOf(yield* quick.take(made + 1), made + 1)
    }))

  it.effect("102: one session has 5 connections and one key 20, whatever it asks for", () =>
    Effect.gen(function*() {
      const { call, dial, payor, service } = yield* make
      const { token } = yield* payor
      const clients = yield* Effect.forEach(Array.from({ length: 60 }), () => dial(`/ws/payment?token=${token}`), {
        concurrency: 20
      })
      yield* until(
        "the rest is ended",
        Effect.sync(() => clients.filter(({ socket }) => socket.readyState === 1).length),
        (open) => open === 5
      )
      const ended = clients.filter(({ socket }) => socket.readyState !== 1)
      assert.deepStrictEqual(yield* endOf(ended[0]!), [4429, "TOO_MANY_CONNECTIONS"])
      const { json } = yield* call("/api/v1/api-keys", {
        body: { name: "busy", scope: "merchant", environment: "devnet" }
      })
      const own = { "x-api-key": json.data.key as string }
      const many = yield* Effect.forEach(Array.from({ length: 20 }), () => dial(merchantPath, { headers: own }), {
        concurrency: 20
      })
      const { json: made } = yield* service.call("/api/v1/ws/token", { body: { scope: "commerce" }, headers: own })
      // A ticket counts for the key that made it.
      const last = yield* dial(`${commercePath}?token=${made.data.token}`)
      assert.deepStrictEqual(yield* endOf(last), [4429, "TOO_MANY_CONNECTIONS"])
      assert.strictEqual(many.filter(({ socket }) => socket.readyState === 1).length, 20)
    }))

  it.effect("103: what a client says selects nothing", () =>
    Effect.gen(function*() {
      const { call, dial, headers, payor } = yield* make
      const [mine, other] = [yield* payor, yield* payor]
      const client = yield* dial(`/ws/payment?token=${mine.token}&invoice_id=${other.invoiceId}`)
      const filtered = yield* dial(`${merchantPath}?invoice_id=${mine.invoiceId}`, { headers })
      for (const { socket } of [client, filtered]) {
        for (
          const text of [
            `{"object":"subscribe","invoice_id":"${other.invoiceId}"}`,
            `{"object":"ws_ping","invoice_id":"${other.invoiceId}","type":"subscribe"}`,
            "{\"filters\":{}}",
            "[".repeat(2_000),
            "\u0000"
          ]
        ) socket.send(text)
      }
      yield* call(`/api/v1/invoices/${other.invoiceId}/cancel`, { method: "POST" })
      yield* call(`/api/v1/invoices/${mine.invoiceId}/cancel`, { method: "POST" })
      for (const { frames, texts } of [client, filtered]) {
        yield* until(
          "the own invoice is told",
          Effect.sync(() => frames),
          (all) => all.some(({ type }) => type === "invoice.canceled")
        )
        assert.notInclude(texts.join(), other.invoiceId)
      }
    }))

  it.effect("104: a key that is revoked ends its streams and those of its tickets within 5 s, and opens no more", () =>
    Effect.gen(function*() {
      const { call, dial, refused, service } = yield* make
      const { json } = yield* call("/api/v1/api-keys", {
        body: { name: "short", scope: "merchant", environment: "devnet" }
      })
      const own = { "x-api-key": json.data.key as string }
      const ticket = Effect.map(
        service.call("/api/v1/ws/token", { body: { scope: "merchant" }, headers: own }),
        (found) => found.json.data.token
      )
      const byKey = yield* dial(merchantPath, { headers: own })
      const byTicket = yield* dial(`${merchantPath}?token=${yield* ticket}`)
      const unused = yield* ticket
      const revoke = Effect.gen(function*() {
        assert.strictEqual(outcome(yield* call(`/api/v1/api-keys/${json.data.id}`, { method: "DELETE" })), "200")
        for (const client of [byKey, byTicket]) assert.deepStrictEqual(yield* endOf(client), [4401, "API_KEY_INVALID"])
      })
      assert.isBelow((yield* timed(revoke)).millis, 5_000)
      assert.strictEqual(yield* refused(`${merchantPath}?token=${unused}`), "401 API_KEY_INVALID")
      assert.strictEqual(yield* refused(merchantPath, { headers: own }), "401 API_KEY_INVALID")
      // Nor does one open any from an address that is not its own.
      const away = yield* call("/api/v1/api-keys", {
        body: { name: "away", scope: "merchant", environment: "devnet", ip_allowlist: ["203.0.113.0/24"] }
      })
      assert.strictEqual(
        yield* refused(merchantPath, { headers: { "x-api-key": away.json.data.key } }),
        "403 IP_NOT_ALLOWED"
      )
    }))

  it.effect("105: an upgrade elsewhere, to something else, or of another version is answered like any request", () =>
    Effect.gen(function*() {
      const { base, headers, service } = yield* make
      const statusOf = (path: string, more: Readonly<Record<string, string>>) =>
        Effect.map(rawSocket(`${base}${path}`, { ...headers, ...more }), ({ status }) => status)
      assert.strictEqual(yield* statusOf("/ws/other", {}), 404)
      assert.strictEqual(yield* statusOf("/api/v1/invoices", {}), 200)
      assert.strictEqual(yield* statusOf(merchantPath, { "sec-websocket-version": "12" }), 400)
      assert.strictEqual(yield* statusOf(merchantPath, { "sec-websocket-version": "8" }), 400)
      assert.strictEqual(yield* statusOf(merchantPath, { "sec-websocket-key": "short" }), 400)
      assert.strictEqual(yield* statusOf(merchantPath, { upgrade: "h2c" }), 400)
      assert.strictEqual(yield* statusOf("/ws/payment", { upgrade: "h2c", "x-api-key": "" }), 403)
      assert.strictEqual(yield* statusOf(merchantPath, { "x-service-version": "2020-01-01" }), 400)
      const many = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`x-many-${at}`, "x"]))
      assert.oneOf(yield* statusOf(merchantPath, many), [101, 400, 431])
      const head = `GET ${merchantPath} HTTP/1.1\r\nhost: x\r\nx-api-key: ${headers["x-api-key"]}\r\n`
      assert.deepStrictEqual(statusesIn(yield* sendRaw(service.url, `${head}connection: close\r\n\r\n`)), [400])
      const post = `${
        head.replace("GET", "POST")
      }connection: upgrade\r\nupgrade: websocket\r\ncontent-length: 0\r\n\r\n`
      assert.deepStrictEqual(statusesIn(yield* sendRaw(service.url, post)), [404])
    }))

  it.effect("106: credentials that last are refused in an address, even beside a good one", () =>
    Effect.gen(function*() {
      const { commerceKey, headers, key, refused, ticketOf } = yield* make
      for (const name of ["x-api-key", "x-commerce-api-key", "api_key", "access_token", "authorization"]) {
        assert.strictEqual(yield* refused(`${merchantPath}?${name}=${key}`), "401 UNAUTHORIZED", name)
        assert.strictEqual(yield* refused(`${merchantPath}?${name}=${key}`, { headers }), "401 UNAUTHORIZED", name)
      }
      assert.strictEqual(yield* refused(`${commercePath}?token=${commerceKey}`), "401 TOKEN_INVALID")
      const jwt = ["{\"alg\":\"EdDSA\"}", "{\"sub\":\"merchant:1\"}", "x"].map((part) =>
        Buffer.from(part).toString("base64url")
      ).join(".")
      assert.strictEqual(yield* refused(`${merchantPath}?token=${jwt}`), "401 TOKEN_INVALID")
      assert.strictEqual(
        yield* refused(`${merchantPath}?token=${yield* ticketOf({ scope: "merchant" })}`, { headers }),
        "400 AMBIGUOUS_CREDENTIALS"
      )
    }))

  it.effect("a ticket is given for the caller's own streams only, and 100 unused ones at most", () =>
    Effect.gen(function*() {
      const { call, commerce, headers, service } = yield* make
      const ask = (body: unknown, as: Record<string, string> = headers, path = "") =>
        Effect.map(service.call(`/api/v1/ws/token${path}`, { body, headers: as }), outcome)
      assert.strictEqual(yield* ask({ scope: "merchant" }, commerce), "403 SCOPE_MISMATCH")
      assert.strictEqual(
        yield* ask({ scope: "merchant" }, headers, "?environment=mainnet"),
        "403 ENVIRONMENT_FORBIDDEN"
      )
      for (
        const body of [{}, { scope: "payment" }, { scope: "merchant", ttl_seconds: 0 }, {
          scope: "merchant",
          ttl_seconds: 61
        }, { scope: "merchant", ttl_seconds: 1.5 }]
      ) {
        assert.strictEqual(yield* ask(body), "400 VALIDATION_ERROR", JSON.stringify(body))
      }
      const { json } = yield* call("/api/v1/api-keys", {
        body: { name: "hoarder", scope: "commerce", environment: "devnet" }
      })
      const own = { "x-api-key": Redacted.value(Redacted.make(json.data.key as string)) }
      const found = yield* Effect.forEach(Array.from({ length: 101 }), () => ask({ scope: "commerce" }, own))
      assert.deepStrictEqual([found.filter((each) => each === "200").length, found.at(-1)], [
        100,
        "429 RATE_LIMIT_EXCEEDED"
      ])
    }))
})
