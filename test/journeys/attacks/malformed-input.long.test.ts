/** Group E: input that is wrong, huge or malicious in form. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { gzipSync } from "node:zlib"
import {
  assertHarmless,
  AttackedService,
  attackedService,
  codeOf,
  outcome,
  sendRaw,
  sendUnanswered,
  sendUnfinished,
  statusesIn
} from "./AttackedService.ts"

const format = "400 INVALID_AMOUNT_FORMAT"
const range = "400 INVALID_AMOUNT_RANGE"

/** Bytes of a body, at most. */
const maximum = 256 * 1024

/** JSON texts of an amount and what becomes of them; the text matters, not what a parser here makes of it. */
const amounts: ReadonlyArray<readonly [amount: string, amountUsd: string]> = [
  ["1e3", "200 200"],
  ["\"1000\"", `${format} 200`],
  ["1.5", `${format} 200`],
  ["-1", `${range} ${range}`],
  ["0", `${range} ${range}`],
  ["-0", `${range} ${range}`],
  ["9007199254740993", `${range} ${range}`],
  ["1e400", `${format} ${format}`],
  ["-1e400", `${format} ${format}`],
  ["\"NaN\"", `${format} ${format}`],
  ["\"Infinity\"", `${format} ${format}`],
  ["\"0x10\"", `${format} ${format}`],
  ["\"١٠\"", `${format} ${format}`],
  ["\" 10\"", `${format} ${format}`],
  ["\"10 \"", `${format} ${format}`],
  ["\"1e3\"", `${format} ${format}`],
  ["\"\"", `${format} ${format}`],
  ["null", `${format} ${format}`],
  ["true", `${format} ${format}`],
  ["[10]", `${format} ${format}`],
  ["{\"$gt\":0}", `${format} ${format}`],
  ["1.0001", `${format} ${format}`],
  ["1000000001", `${range} ${range}`],
  ["1e-400", `${range} ${range}`]
]

layer(attackedService(), { excludeTestServices: true })("E", (it) => {
  it.effect("48: an amount in any odd spelling is read exactly or refused as what it is", () =>
    Effect.gen(function*() {
      const { create } = yield* AttackedService
      for (const [text, expected] of amounts) {
        const inMillis = outcome(yield* create(`{"amount":${text}}`))
        const inDollars = outcome(yield* create(`{"amount_usd":${text}}`))
        assert.strictEqual(`${inMillis} ${inDollars}`, expected, text)
      }
      for (const bare of ["NaN", "0x10", "01", ".5", "1.", "+1"]) {
        assert.strictEqual(outcome(yield* create(`{"amount":${bare}}`)), "400 INVALID_JSON", bare)
      }
    }))

  it.effect("49: of two equal keys the last one counts, in the fingerprint too", () =>
    Effect.gen(function*() {
      const { create } = yield* AttackedService
      const key = { "idempotency-key": randomUUID() }
      const first = assertHarmless(yield* create("{\"amount\":1000,\"amount\":2000}", key))
      assert.strictEqual(first.json.invoice.amount, 2_000)
      assert.strictEqual((yield* create("{\"amount\":2000}", key)).text, first.text)
      assert.strictEqual(outcome(yield* create("{\"amount\":1000}", key)), "422 IDEMPOTENCY_KEY_REUSED")
    }))

  it.effect("50: __proto__ and constructor are data", () =>
    Effect.gen(function*() {
      const { call, create } = yield* AttackedService
      const metadata = "{\"__proto__\":{\"admin\":true},\"constructor\":{\"prototype\":{\"admin\":true}},\"a\":1}"
      const made = assertHarmless(
        yield* create(
          `{"amount":1000,"__proto__":{"amount":5},"constructor":{"prototype":{"amount":5}},"metadata":${metadata}}`
        )
      )
      if (made.status === 200) {
        assert.strictEqual(made.json.invoice.amount, 1_000)
        assert.strictEqual(JSON.stringify(made.json.invoice.metadata), JSON.stringify(JSON.parse(metadata)))
      } else {
        assert.strictEqual(codeOf(made), "VALIDATION_ERROR")
      }
      for (const query of ["metadata[__proto__][x]=1", "__proto__=1", "constructor[prototype][limit]=1"]) {
        assert.strictEqual(outcome(yield* call(`/api/v1/invoices?${query}`)), "200", query)
      }
      assert.isUndefined((yield* create({ amount: 1_000 })).json.invoice.metadata.admin)
    }))

  it.effect("51: nesting is bounded at 32, wherever it stands", () =>
    Effect.gen(function*() {
      const { create } = yield* AttackedService
      const nested = (depth: number) => `{"amount":1000,"metadata":{"a":${"[".repeat(depth)}${"]".repeat(depth)}}}`
      assert.strictEqual(outcome(yield* create(nested(30))), "200")
      for (const body of [nested(31), nested(5_000), "[".repeat(100_000), `${"{\"a\":".repeat(40_000)}1`]) {
        assert.strictEqual(outcome(yield* create(body)), "400 VALIDATION_ERROR")
      }
      // 200,000 of them are over the size already.
      assert.strictEqual(outcome(yield* create("[".repeat(200_000))), "400 VALIDATION_ERROR")
      assert.strictEqual(outcome(yield* create("[".repeat(maximum + 1))), "413 PAYLOAD_TOO_LARGE")
    }))

  it.effect("52: NUL and half surrogates are refused in any string, and good pairs come back as they were", () =>
    Effect.gen(function*() {
      const { call, create } = yield* AttackedService
      for (const bad of ["\\u0000", "\\ud800", "\\udc00", "\\ud83d\\u0041", "\\udc00\\ud800", "a\\u0000b"]) {
        for (
          const field of [
            "\"description\":",
            "\"customer_id\":",
            "\"metadata\":{\"k\":",
            "\"metadata\":{\"nested\":{\"k\":"
          ]
        ) {
          const body = `{"amount":1000,${field}"${bad}"${"}".repeat((field.match(/\{/g) ?? []).length)}}`
          assert.strictEqual(outcome(yield* create(body)), "400 VALIDATION_ERROR", body)
        }
        assert.strictEqual(outcome(yield* create(`{"amount":1000,"metadata":{"${bad}":1}}`)), "400 VALIDATION_ERROR")
      }
      const kept = assertHarmless(yield* create("{\"amount\":1000,\"metadata\":{\"k\":\"\\ud83d\\ude00\\\\u0000\"}}"))
      assert.strictEqual(kept.json.invoice.metadata.k, "\u{1f600}\\u0000")
      for (const path of ["/api/v1/invoices?customer_id=%00", "/api/v1/invoices/%00", "/api/v1/events?type=%00"]) {
        assert.strictEqual(outcome(yield* call(path)), "400 VALIDATION_ERROR", path)
      }
      for (
        const path of [
          "/api/v1/invoices?customer_id=%ed%a0%80",
          "/api/v1/invoices/%ff",
          "/api/v1/events?invoice_id=%ff"
        ]
      ) {
        assert.include([200, 400, 404], assertHarmless(yield* call(path)).status, path)
      }
    }))

  it.effect("53: invalid UTF-8, UTF-16 and a byte order mark are no JSON", () =>
    Effect.gen(function*() {
      const { create } = yield* AttackedService
      const body = "{\"amount\":1000,\"description\":\"é\"}"
      for (
        const bytes of [
          Buffer.from(body, "latin1"),
          Buffer.from(body, "utf16le"),
          Buffer.from(`\ufeff${body}`),
          Buffer.from([0xff, 0xfe, 0x7b, 0x00]),
          Buffer.from([0x22, 0xc0, 0x80, 0x22]),
          Buffer.from([0xed, 0xa0, 0x80])
        ]
      ) assert.strictEqual(outcome(yield* create(bytes)), "400 INVALID_JSON")
      assert.strictEqual(outcome(yield* create(Buffer.from(body))), "200")
    }))

  it.effect("54: only application/json in UTF-8 is taken", () =>
    Effect.gen(function*() {
      const { create, service } = yield* AttackedService
      for (
        const type of [
          "text/plain",
          "application/x-www-form-urlencoded",
          "multipart/form-data; boundary=x",
          "",
          "application/xml",
          "application/json; charset=utf-7",
          "application/json; charset=utf-16",
          "application/jsonp",
          "text/json"
        ]
      ) {
        assert.strictEqual(
          outcome(yield* create({ amount: 1_000 }, { "content-type": type })),
          "415 UNSUPPORTED_MEDIA_TYPE",
          type
        )
      }
      const untyped = yield* sendRaw(
        service.url,
        "POST /api/v1/invoices HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}"
      )
      assert.deepStrictEqual(statusesIn(untyped), [415])
      assert.strictEqual(
        outcome(yield* create({ amount: 1_000 }, { "content-type": "application/json;charset=UTF-8" })),
        "200"
      )
    }))

  it.effect("55: metadata has bounds in keys, their length, and bytes", () =>
    Effect.gen(function*() {
      const { create } = yield* AttackedService
      const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 1]))
      assert.strictEqual(outcome(yield* create({ amount: 1_000, metadata: keys(50) })), "200")
      for (
        const metadata of [keys(51), keys(10_000), { ["k".repeat(65)]: 1 }, { k: "v".repeat(16 * 1024) }, [], "x", 7]
      ) {
        assert.strictEqual(outcome(yield* create({ amount: 1_000, metadata })), "400 VALIDATION_ERROR")
      }
      assert.strictEqual(
        outcome(yield* create({ amount: 1_000, metadata: { k: "v".repeat(1_048_576) } })),
        "413 PAYLOAD_TOO_LARGE"
      )
    }))

  it.effect("56: what is too large is refused before it is held: announced, chunked, lying, packed", () =>
    Effect.gen(function*() {
      const { call, create, key, service } = yield* AttackedService
      const head =
        `POST /api/v1/invoices HTTP/1.1\r\nhost: x\r\nx-api-key: ${key}\r\nidempotency-key: ${randomUUID()}\r\n` +
        "content-type: application/json\r\n"
      const within = `{"amount":1000,"description":"${"x".repeat(maximum - 32)}"}`
      assert.strictEqual(Buffer.byteLength(within), maximum)
      assert.strictEqual(outcome(yield* create(within)), "400 VALIDATION_ERROR")
      assert.strictEqual(outcome(yield* create(`${within} `)), "413 PAYLOAD_TOO_LARGE")
      const chunked = yield* call("/api/v1/invoices", {
        body: `${within} `,
        chunked: true,
        headers: { "idempotency-key": randomUUID() }
      })
      assert.strictEqual(outcome(chunked), "413 PAYLOAD_TOO_LARGE")
      // 50 MB announced: refused by the announcement, none of it is waited for.
      assert.deepStrictEqual(
        statusesIn(yield* sendUnfinished(service.url, `${head}content-length: 52428800\r\n\r\n{`)),
        [413]
      )
      // Chunks without end: cut off past the limit.
      const chunk = `10000\r\n${"[".repeat(65_536)}\r\n`
      const endless = yield* sendRaw(
        service.url,
        `${head}transfer-encoding: chunked\r\n\r\n`,
        ...Array.from({ length: 8 }, () => chunk)
      )
      assert.deepStrictEqual(statusesIn(endless), [413])
      // A body shorter than announced is waited for and never acted on; a longer one is a second, malformed request.
      assert.deepStrictEqual(
        statusesIn(yield* sendUnanswered(service.url, `${head}content-length: 100\r\n\r\n{"amount":1000}`)),
        []
      )
      const longer = yield* sendRaw(service.url, `${head}content-length: 15\r\n\r\n{"amount":1000}}}}}`)
      assert.deepStrictEqual([statusesIn(longer).at(-1), longer.closed], [400, true])
      const bomb = gzipSync(Buffer.alloc(50_000_000, 0x20))
      assert.strictEqual(
        outcome(yield* create(bomb, { "content-encoding": "gzip" })),
        "415 UNSUPPORTED_MEDIA_TYPE"
      )
    }))

  it.effect("57: unknown fields are named and ignored; an owner or an environment in the body gives no rights", () =>
    Effect.gen(function*() {
      const { call, create } = yield* AttackedService
      const made = assertHarmless(yield* create({ amount: 1_000, merchant_id: 999, status: "paid", x: {} }))
      assert.include(made.headers["x-service-warning"], "\"merchant_id\"")
      assert.strictEqual(outcome(yield* create({ amount: 1_000, environment: "mainnet" })), "403 ENVIRONMENT_FORBIDDEN")
      assert.deepInclude(made.json.invoice, { environment: "devnet", status: "unpaid" })
      assert.notStrictEqual(made.json.invoice.merchant_id, 999)
      const hook = yield* call("/api/v1/webhooks", {
        body: { url: "http://nowhere.example", enabled_events: ["*"], x: 1 }
      })
      assert.strictEqual(outcome(hook), "400 WEBHOOK_URL_INVALID")
      assert.strictEqual(outcome(yield* call("/api/v1/invoices?x=1&limit=1")), "200")
      assert.strictEqual(outcome(yield* call("/api/v1/events?x=1&limit=1")), "200")
    }))

  it.effect("58: pages and limits out of range are refused by name", () =>
    Effect.gen(function*() {
      const { call } = yield* AttackedService
      for (const limit of ["0", "-1", "101", "1e9", "abc", "1,2", "", "1.5", "0x10", "%20", "9".repeat(400)]) {
        for (const list of ["events", "invoices"]) {
          assert.strictEqual(
            outcome(yield* call(`/api/v1/${list}?limit=${limit}`)),
            "400 INVALID_LIMIT",
            `${list} ${limit}`
          )
        }
      }
      for (const twice of ["limit=1&limit=2", "limit[]=1&limit[]=2"]) {
        assert.include([200, 400], assertHarmless(yield* call(`/api/v1/invoices?${twice}`)).status, twice)
      }
      for (const page of ["0", "-1", "1e15", "1000000000000000", "abc", "1.5", "9223372036854775808"]) {
        assert.strictEqual(outcome(yield* call(`/api/v1/invoices?page=${page}`)), "400 INVALID_PAGE", page)
      }
      for (const offset of ["-1", "9223372036854775808", "1e3x"]) {
        const found = yield* call(`/api/v1/merchant/tokens/search?offset=${offset}`)
        assert.strictEqual(outcome(found), "400 INVALID_OFFSET", offset)
      }
    }))

  it.effect("59: bounds of time that are no time, repeated or nested are refused; an empty range is empty", () =>
    Effect.gen(function*() {
      const { call } = yield* AttackedService
      for (
        const query of [
          "created[gte]=abc",
          "created[gte]=1&created[gte]=2",
          "created[gte]=1e30",
          "created[lte]=-1",
          "created[gte]=",
          "created[gte]=1e400",
          "created%5Bgte%5D=x"
        ]
      ) assert.strictEqual(assertHarmless(yield* call(`/api/v1/events?${query}`)).status, 400, query)
      for (const query of ["created[gte][x]=1", "created=1", "created[eq]=1"]) {
        const { headers, status } = assertHarmless(yield* call(`/api/v1/events?${query}`))
        assert.strictEqual(status, 200, query)
        assert.include(headers["x-service-warning"], "unknown query parameter \"created", query)
      }
      const empty = assertHarmless(yield* call("/api/v1/events?created[gte]=2&created[lte]=1"))
      assert.deepStrictEqual(empty.json.data.data, [])
    }))

  it.effect("60: paths that climb, end early, repeat slashes or have no end lead nowhere", () =>
    Effect.gen(function*() {
      const { call, service } = yield* AttackedService
      for (
        const path of [
          "/api/v1/events/%2e%2e%2f%2e%2e%2fhealth",
          "/api/v1/invoices/..%2f..%2fevents",
          "/api/v1/events/evt_1.2-3",
          "/api/v1/events/evt_1-2%0a",
          "/api/v1/events/evt_1-2;x=y",
          "/api/v1/invoices;x=y",
          "/api/v1/invoices%3bx=y",
          "/api/v1/%2e%2e/events",
          "/api/v1/events/%00",
          "/api/v1/events/evt_1-2%00",
          "/api/v1/events/%",
          "/api/v1/events/%zz",
          `/api/v1/events/${"a".repeat(8_000)}`,
          `/${"a/".repeat(4_000)}`,
          "/api/v1/events/evt_1-2/",
          "//api//v1//nothing"
        ]
      ) assert.include([400, 404], assertHarmless(yield* call(path)).status, path.slice(0, 60))
      const climbing = yield* sendRaw(
        service.url,
        "GET /../../etc/passwd HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
      )
      assert.deepStrictEqual(statusesIn(climbing), [404])
      const fragment = yield* sendRaw(
        service.url,
        "GET /health/live#x HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
      )
      assert.deepStrictEqual(statusesIn(fragment), [404])
      const spaced = yield* sendRaw(
        service.url,
        "GET /api/v1/events/a b HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
      )
      assert.deepStrictEqual(statusesIn(spaced), [400])
    }))

  it.effect("61: a method is what the request line says; others are 405 with Allow in the route's family", () =>
    Effect.gen(function*() {
      const { call, create, key, service } = yield* AttackedService
      for (const name of ["x-http-method-override", "x-http-method", "x-method-override"]) {
        const found = yield* call("/api/v1/invoices", { headers: { [name]: "DELETE" } })
        assert.strictEqual(outcome(found), "200", name)
        assert.strictEqual(outcome(yield* create({ amount: 1_000 }, { [name]: "GET" })), "200", name)
      }
      const allowed = [
        ["/api/v1/invoices", "GET, HEAD, POST"],
        ["/api/v1/events", "GET, HEAD"],
        ["/api/v1/payments/session-details", "GET, HEAD, OPTIONS"]
      ] as const
      for (const [path, allow] of allowed) {
        for (const method of ["PUT", "PATCH", "DELETE", "TRACE", "PROPFIND", "MKCOL", "PURGE"]) {
          const found = yield* call(path, { method })
          assert.strictEqual(outcome(found), "405 METHOD_NOT_ALLOWED", `${method} ${path}`)
          assert.strictEqual(found.headers.allow, allow, `${method} ${path}`)
          // TRACE must not echo what was sent.
          assert.notInclude(found.text, key)
        }
      }
      const asked = yield* call("/api/v1/events", { method: "OPTIONS" })
      assert.deepStrictEqual([asked.status, asked.headers.allow], [405, "GET, HEAD"])
      assert.isUndefined(asked.headers["access-control-allow-origin"])
      const head = assertHarmless(yield* call("/api/v1/events", { method: "HEAD" }))
      assert.deepStrictEqual([head.status, head.text], [200, ""])
      const tunnel = yield* sendRaw(service.url, "CONNECT evil.example:443 HTTP/1.1\r\nhost: evil.example\r\n\r\n")
      assert.isTrue(tunnel.closed)
      assert.notInclude(tunnel.text, " 200 ")
      const unknown = yield* sendRaw(
        service.url,
        "HACK /api/v1/events HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
      )
      assert.deepStrictEqual(statusesIn(unknown), [400])
    }))
})
