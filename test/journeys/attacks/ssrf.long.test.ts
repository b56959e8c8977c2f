/**
 * Group H: getting at the inside through a webhook's URL. Each URL is tried when an endpoint
 * is made, when it is changed, and when something is sent to it: as if a rule were new, or a name had changed since.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { gzipSync } from "node:zlib"
import { keptAnswerBytes } from "../../../modules/transports/https/Answer.ts"
import { connect, migratedDatabase } from "../../support/Database.ts"
import { type Dns, makeDns } from "../../support/Dns.ts"
import {
  answers,
  identity,
  makeRawReceiver,
  makeReceiver,
  neverAnswers,
  type RawReceiver,
  type Receiver,
  receiverCertificate
} from "../../support/Receiver.ts"
import { configOf, startService, temporaryDirectory, type TestResponse, until } from "../../support/Service.ts"
import { outcome } from "./AttackedService.ts"

/** How an attempt ended, as the database keeps it for the merchant to see. */
interface Attempted {
  readonly url: string
  readonly outcome: string
  readonly status: number | null
  readonly error: string | null
  readonly response: string | null
}

class Site extends Context.Service<Site, {
  readonly dns: Dns
  readonly receiver: Receiver
  /** Any certificate that is no good, and a server without TLS 1.2. */
  readonly raw: Readonly<Record<"expired" | "otherhost" | "stranger" | "old" | "headers" | "interim", RawReceiver>>
  readonly create: (url: string, more?: object) => Effect.Effect<TestResponse>
  /** Gives an endpoint another URL. */
  readonly change: (url: string) => Effect.Effect<TestResponse>
  readonly remove: (id: string) => Effect.Effect<TestResponse>
  /**
   * One event to endpoints of these URLs, at most {@link made}, as if they had been allowed when they were made; the
   * attempts, in the same order.
   */
  readonly attempts: (urls: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<Attempted>>
}>()("test/Site") {}

/** Endpoints that the attacks share: one less than a merchant may have. */
const made = 15

/** Where the service says it lives. */
const [ownName, ownAddress] = ["pay.example.com", "8.8.4.4"]

const site = Layer.effect(
  Site,
  Effect.gen(function*() {
    const dns = yield* makeDns
    dns.set(ownName, [ownAddress])
    const receiver = yield* makeReceiver()
    const silent = () => {}
    const old = { ...identity(), minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "ALL:@SECLEVEL=0" } as const
    const raw = {
      expired: yield* makeRawReceiver(silent, identity("expired")),
      otherhost: yield* makeRawReceiver(silent, identity("otherhost")),
      stranger: yield* makeRawReceiver(silent, identity("stranger")),
      old: yield* makeRawReceiver(silent, old),
      headers: yield* makeRawReceiver((socket) => {
        socket.write("HTTP/1.1 200 OK\r\n")
        for (let n = 0; n < 160; n++) socket.write(`x-${n}: ${"y".repeat(65_536)}\r\n`)
      }),
      interim: yield* makeRawReceiver((socket) => {
        socket.once("data", () => socket.write("HTTP/1.1 100 Continue\r\n\r\n".repeat(10_000)))
      })
    }
    const database = yield* migratedDatabase
    const config = configOf({
      database: database.url,
      chains: [{ use: "simulated" }],
      receivers: [receiver.host, ...Object.values(raw).map(({ host }) => host)],
      // One attempt each: what a retry does is told elsewhere.
      webhooks: { retryBaseSeconds: 3_600 }
    })
    const service = yield* startService({
      directory: yield* temporaryDirectory,
      config: {
        ...config,
        http: { publicUrl: `https://${ownName}` },
        transports: [{ use: "https", options: { ca: receiverCertificate, nameservers: [dns.server] } }]
      }
    })
    yield* Effect.addFinalizer(() => Effect.sync(() => assert.deepStrictEqual(service.errors(), [])))
    const sql = Context.get(yield* Layer.build(connect(database)), SqlClient.SqlClient)
    const { merchant_key: key } = yield* service.keys
    const call = (path: string, method: string, body: unknown) =>
      service.call(path, { method, body, headers: { "x-api-key": key, "idempotency-key": randomUUID() } })
    const create = (url: string, more: object = {}) =>
      call("/api/v1/webhooks", "POST", { url, enabled_events: ["invoice.created"], ...more })

    const ids = yield* Effect.forEach(
      Array.from({ length: made }, (_, n) => n),
      (n) => Effect.map(create(receiver.url(`/${n}`)), ({ json, text }): string => json?.data?.id ?? assert.fail(text))
    )

    const attempts = (urls: ReadonlyArray<string>) =>
      Effect.gen(function*() {
        // What was tried before opens no breaker on what comes now.
        yield* sql`DELETE FROM webhook_attempts`
        yield* sql`UPDATE webhook_endpoints SET status = 'disabled'`
        for (const [index, url] of urls.entries()) {
          yield* sql`UPDATE webhook_endpoints SET status = 'enabled', url = ${url} WHERE id = ${ids[index]!}`
          yield* sql`DELETE FROM webhook_lanes WHERE endpoint_id = ${ids[index]!}`
        }
        const invoice = yield* call("/api/v1/invoices", "POST", { amount: 1_000 })
        const found = yield* until(
          "every attempt is written down",
          Effect.orDie(sql<Attempted & { readonly id: string }>`
          SELECT w.id, w.url, a.outcome, a.status, a.error, a.response FROM webhook_attempts a
          JOIN webhook_endpoints w ON w.merchant_id = a.merchant_id AND w.id = a.endpoint_id
          JOIN webhook_deliveries d ON d.merchant_id = a.merchant_id AND d.id = a.delivery_id
          JOIN events e ON e.merchant_id = d.merchant_id AND e.ms = d.event_ms AND e.seq = d.event_seq
          WHERE strpos(e.data, ${String(invoice.json?.invoice_id)}) > 0`),
          (each) => each.length === urls.length
        )
        return urls.map((_, index) => found.find(({ id }) => id === ids[index])!)
      }).pipe(Effect.orDie)

    return Site.of({
      dns,
      receiver,
      raw,
      create,
      attempts,
      change: (url) => call(`/api/v1/webhooks/${ids[0]}`, "PATCH", { url }),
      remove: (id) => call(`/api/v1/webhooks/${id}`, "DELETE", undefined)
    })
  })
)

const ipv4 = (...hosts: ReadonlyArray<string>) => hosts.map((host) => `https://${host}/`)
const ipv6 = (...hosts: ReadonlyArray<string>) => hosts.map((host) => `https://[${host}]/`)

/** What is refused as written, by number. */
const refusedAsWritten: Readonly<Record<string, ReadonlyArray<string>>> = {
  "76: plain http": ["http://shop.example/", "http://8.8.8.8/", "HTTP://shop.example/"],
  "77: 127.0.0.1 in other spellings": ipv4(
    "127.0.0.1",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "127.1",
    "0",
    "①②⑦.⓪.⓪.①",
    "127。0。0。1"
  ),
  "78: IPv6 that is not the internet's, or hides IPv4": ipv6(
    "::1",
    "::",
    "::ffff:127.0.0.1",
    "::ffff:a9fe:a9fe",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
    "fe80::1",
    "fc00::1",
    "fd00:ec2::254",
    "::127.0.0.1",
    "::ffff:0:127.0.0.1",
    "64:ff9b:1::a00:1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2"
  ),
  "79: private, shared and metadata addresses": ipv4(
    "169.254.169.254",
    "100.100.100.200",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.0.1",
    "100.64.0.1",
    "198.18.0.1",
    "0.0.0.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255"
  ),
  "80: names that stay inside": ipv4(
    "localhost",
    "localhost.",
    "foo.localhost",
    "metadata.google.internal",
    "redis",
    "x.onion",
    "postgres.svc.cluster.local"
  ),
  "84: what else can stand in a URL": [
    "https://user:pass@shop.example/",
    "https://shop.example/#x",
    "https://shop.example\\@evil.example/",
    "https://shop.example/\t",
    "https://shop.example/a\nb",
    "https://sh\top.example/",
    "https://shop.example:22/",
    "https://shop.example:25/",
    "https://shop.example:5432/",
    "https://shop.example:6379/",
    "https://shop.example:80/"
  ],
  "85: ourselves": [
    `https://${ownName}/api/v1/webhooks`,
    `https://${ownName}./`,
    `https://${ownName}:8443/`,
    `https://${ownAddress}/`
  ]
}

/** Fails unless nothing came of an attempt but a reason. */
const refusedAtSending = (found: Attempted, reason: RegExp) => {
  assert.deepInclude(found, { outcome: "failed", status: null, response: null }, found.url)
  assert.match(found.error ?? "", reason, found.url)
}

layer(site, { excludeTestServices: true })("H", (it) => {
  for (const [what, urls] of Object.entries(refusedAsWritten)) {
    it.effect(`${what}: refused when made, when changed, and when sent to`, () =>
      Effect.gen(function*() {
        const { attempts, change, create } = yield* Site
        for (const url of urls) {
          assert.strictEqual(outcome(yield* create(url)), "400 WEBHOOK_URL_INVALID", url)
          assert.strictEqual(outcome(yield* change(url)), "400 WEBHOOK_URL_INVALID", url)
        }
        for (const found of yield* attempts(urls)) refusedAtSending(found, /^The /)
      }))
  }

  it.effect("76: other schemes are refused when made and when changed", () =>
    Effect.gen(function*() {
      const { change, create } = yield* Site
      for (
        const url of [
          "ftp://shop.example/",
          "file:///etc/passwd",
          "ndjson://audit",
          "gopher://127.0.0.1:6379/",
          "shop.example",
          ""
        ]
      ) {
        assert.strictEqual(outcome(yield* create(url)), "400 WEBHOOK_URL_INVALID", url)
        assert.strictEqual(outcome(yield* change(url)), "400 WEBHOOK_URL_INVALID", url)
      }
    }))

  it.effect("81, 85: a name with one address inside, or ours, is refused when made, and at the connection", () =>
    Effect.gen(function*() {
      const { attempts, change, create, dns, receiver } = yield* Site
      const [, port] = receiver.host.split(":")
      const names: Readonly<Record<string, ReadonlyArray<string>>> = {
        inside: ["127.0.0.1"],
        mixed: ["8.8.8.8", "10.0.0.7"],
        six: ["8.8.8.8", "::1"],
        loop: ["8.8.8.8", ownAddress]
      }
      const urls = Object.entries(names).map(([name, addresses]) => {
        dns.set(`${name}.example`, addresses)
        return `https://${name}.example:${port}/81`
      })
      for (const url of urls) {
        assert.strictEqual(outcome(yield* create(url)), "400 WEBHOOK_URL_INVALID", url)
        assert.strictEqual(outcome(yield* change(url)), "400 WEBHOOK_URL_INVALID", url)
      }
      for (const found of yield* attempts(urls)) refusedAtSending(found, /^The host resolves to an address/)
      assert.strictEqual(receiver.arrivals("/81").length, 0)
    }))

  it.effect("82, 89: a name that turned inwards is not connected to, and nothing of its answer is kept", () =>
    Effect.gen(function*() {
      const { attempts, change, dns, receiver } = yield* Site
      const url = `https://rebound.example:${receiver.host.split(":")[1]}/82`
      dns.set("rebound.example", ["8.8.8.8"], ["127.0.0.1"])
      assert.strictEqual(outcome(yield* change(url)), "200")
      const [found] = yield* attempts([url])
      refusedAtSending(found!, /^The host resolves to an address that is not public$/)
      // Asked once for the change and once for the connection: what was checked is what is connected to.
      assert.strictEqual(dns.asked("rebound.example"), 2)
      assert.strictEqual(receiver.arrivals("/82").length, 0)
    }))

  it.effect("83: no redirect is followed, inwards or outwards", () =>
    Effect.gen(function*() {
      const { attempts, receiver } = yield* Site
      const statuses = [301, 302, 303, 307, 308]
      const targets = [receiver.url("/83"), "https://169.254.169.254/latest", "https://shop.example/"]
      const urls = statuses.flatMap((status) =>
        targets.map((location, n) => {
          receiver.script(`/${status}/${n}`, answers(status, { location }, "moved"))
          return receiver.url(`/${status}/${n}`)
        })
      )
      for (const [index, found] of (yield* attempts(urls)).entries()) {
        const status = statuses[Math.floor(index / targets.length)]!
        assert.deepInclude(found, { outcome: "failed", status, error: null, response: "moved" }, found.url)
      }
      assert.strictEqual(receiver.arrivals("/83").length, 0)
    }))

  it.effect("86: answers that never end, or are too large, are cut, and count as failures", () =>
    Effect.gen(function*() {
      const { attempts, raw, receiver } = yield* Site
      receiver.script("/endless", (_, __, response) => {
        const more = () => {
          while (!response.destroyed) if (!response.write("x".repeat(65_536))) return void response.once("drain", more)
        }
        more()
      })
      const bomb = gzipSync(Buffer.alloc(100_000_000, 0x41))
      receiver.script("/bomb", answers(200, { "content-encoding": "gzip" }, bomb))
      receiver.script("/small-bomb", answers(200, { "content-encoding": "gzip" }, gzipSync(Buffer.alloc(10_000_000))))
      receiver.script("/trickle", (_, __, response) => {
        const timer = setInterval(() => response.write("x"), 1_000)
        response.once("close", () => clearInterval(timer))
      })
      receiver.script("/mute", neverAnswers)
      const [endless, large, small, trickle, mute, headers, interim] = yield* attempts([
        ...["/endless", "/bomb", "/small-bomb", "/trickle", "/mute"].map(receiver.url),
        `http://${raw.headers.host}/`,
        `http://${raw.interim.host}/`
      ])
      refusedAtSending(endless!, /ANSWER_TOO_LONG/)
      refusedAtSending(large!, /ANSWER_TOO_LONG/)
      refusedAtSending(headers!, /HEADERS_OVERFLOW/)
      refusedAtSending(interim!, /bad response/)
      assert.deepInclude(small, { outcome: "succeeded", status: 200 })
      assert.isAtMost(Buffer.byteLength(small!.response ?? ""), keptAnswerBytes)
      for (const slow of [trickle, mute]) {
        assert.deepInclude(slow, { outcome: "timed_out", status: null, response: null })
      }
    }))

  it.effect("87: TLS that is expired, for another host, of no authority, or old is a failure, with no second try", () =>
    Effect.gen(function*() {
      const { attempts, raw } = yield* Site
      const bad = {
        expired: /CERT_HAS_EXPIRED/,
        otherhost: /ALTNAME/,
        stranger: /SELF_SIGNED/,
        old: /PROTOCOL|VERSION|ALERT/i
      }
      const names = Object.keys(bad) as ReadonlyArray<keyof typeof bad>
      for (const [index, found] of (yield* attempts(names.map((name) => `https://${raw[name].host}/`))).entries()) {
        refusedAtSending(found, bad[names[index]!])
        assert.strictEqual(raw[names[index]!].accepted(), 1)
      }
    }))

  it.effect("88: there are no headers of the merchant's: such fields are ignored, and none is sent", () =>
    Effect.gen(function*() {
      const { attempts, create, receiver, remove } = yield* Site
      const headers = {
        Host: "evil.example",
        "Content-Length": "1",
        "Transfer-Encoding": "chunked",
        "webhook-signature": "v1,x",
        "X-Service-Signature": "x",
        "X-Evil": "a\r\nX-Evil-Too: b"
      }
      const made = yield* create(receiver.url("/88"), { headers, custom_headers: headers })
      assert.strictEqual(outcome(made), "200")
      assert.notInclude(made.text, "evil")
      yield* remove(made.json.data.id)
      const [found] = yield* attempts([receiver.url("/88")])
      assert.deepInclude(found, { outcome: "succeeded", status: 200 })
      const [arrival] = receiver.arrivals("/88")
      assert.notMatch(arrival!.rawHeaders.join("\n"), /evil/i)
      assert.deepStrictEqual(Object.keys(arrival!.headers).toSorted(), [
        "connection",
        "content-length",
        "content-type",
        "host",
        "user-agent",
        "webhook-id",
        "webhook-signature",
        "webhook-timestamp",
        "x-service-attempt",
        "x-service-delivery-id",
        "x-service-event",
        "x-service-event-id",
        "x-service-network-environment",
        "x-service-signature",
        "x-service-timestamp"
      ])
      assert.strictEqual(arrival!.headers["host"], receiver.host)
    }))
})
