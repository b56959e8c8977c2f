/**
 * Goal: whatever a receiver, a name or a proxy does, an attempt ends in time with one outcome, costs little, and
 * reaches nothing that it must not. Method: real sockets on this machine; names come from a name server of the test's
 * own.
 */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, type Scope } from "effect"
import { writeFileSync } from "node:fs"
import type { Socket } from "node:net"
import { join } from "node:path"
import tls from "node:tls"
import { gzipSync } from "node:zlib"
import { keptAnswerBytes, maximumAnswerBytes, storableText } from "../../../modules/transports/https/Answer.ts"
import { GuardRefused } from "../../../modules/transports/https/EgressGuard.ts"
import { refusalOf } from "../../../modules/transports/https/Proxy.ts"
import { layerWith, plugin } from "../../../modules/transports/https.ts"
import type { TransportFailed } from "../../../runtime/Webhooks.ts"
import { load } from "../../../runtime/Config.ts"
import { requestTo, transportConformance, type TransportLayer, transportOf } from "../../conformance/transports.ts"
import { settingsOf } from "../../support/WebhookSettings.ts"
import { makeDns } from "../../support/Dns.ts"
import { makeProxy } from "../../support/Proxy.ts"
import {
  answers,
  identity,
  makeRawReceiver,
  makeReceiver,
  neverAnswers,
  receiverCertificate
} from "../../support/Receiver.ts"
import { temporaryDirectory } from "../../support/Service.ts"

type Options = Parameters<typeof layerWith>[0]

/** Longer than anything takes on a busy machine, and short enough to wait for what never comes. */
const patient = 10_000
const impatient = 400

/** For a proxy that is silent: longer than this process may stand still where the proxy answers at once. */
const silentMillis = 2_000

/** For hundreds of connections at once, whose handshakes wait for each other where both ends share one process. */
const crowded = 60_000

const layerOf = (options: Options = {}, connectTimeoutMillis = patient) =>
  layerWith({ ca: receiverCertificate, ...options }, { connectTimeoutMillis }) as TransportLayer

/** A send to URLs whose hosts may be local. */
const sender = (
  receivers: ReadonlyArray<string>,
  options?: Options,
  webhooks: { readonly proxyUrl?: string } = {},
  publicUrl = "http://127.0.0.1:3000",
  connectTimeoutMillis = patient
) =>
  Effect.map(
    transportOf(layerOf(options, connectTimeoutMillis), {
      ...settingsOf(receivers),
      publicUrl,
      webhooks: { devnetReceivers: [...receivers], ...webhooks }
    }),
    ({ check, send }) => ({
      check: (url: string) =>
        Effect.map(Effect.result(check(url, requestTo(url))), (found) =>
          found._tag === "Success" ? "allowed" : found.failure.reason),
      send: (url: string) =>
        send(requestTo(url, 1, { timeoutMillis: patient })),
      fails: (url: string, timeoutMillis = patient) => Effect.flip(send(requestTo(url, 1, { timeoutMillis })))
    })
  )

const promise = (what: string, body: Effect.Effect<unknown, unknown, Scope.Scope>) =>
  it.live(what, () => Effect.scoped(body))

for (const scheme of ["http", "https"] as const) {
  transportConformance(
    `https, to ${scheme}`,
    Effect.gen(function*() {
      const receiver = yield* makeReceiver(scheme)
      receiver.script("/failing", answers(503))
      return {
        layer: layerOf({}, crowded),
        receivers: [receiver.host],
        url: receiver.url("/hook?a=%20b"),
        failing: receiver.url("/failing"),
        refused: "https://169.254.169.254/latest",
        delivered: Effect.sync(() =>
          receiver.arrivals("/hook?a=%20b").map(({ body, headers }) => ({ headers, body: body.toString() }))
        ),
        held: Effect.sync(receiver.open)
      }
    })
  )
}

describe("TLS", () => {
  /** What is said of a receiver with this identity, and that it saw no request. */
  const refusedFor = (server: Parameters<typeof makeRawReceiver>[1]) =>
    Effect.gen(function*() {
      let bytes = 0
      const receiver = yield* makeRawReceiver((socket) =>
        socket.on("data", (chunk) => {
          bytes += chunk.length
        }), server)
      const failure = yield* (yield* sender([receiver.host])).fails(`https://${receiver.host}/`)
      assert.deepInclude(failure, { isOurFault: false, timedOut: false })
      assert.deepStrictEqual([receiver.accepted(), bytes], [1, 0])
      return failure.reason
    })

  promise(
    "of no authority, past its time, or for another host is refused, without a second try",
    Effect.gen(function*() {
      assert.match(yield* refusedFor(identity("stranger")), /SELF_SIGNED/)
      assert.match(yield* refusedFor(identity("expired")), /CERT_HAS_EXPIRED/)
      assert.match(yield* refusedFor(identity("otherhost")), /ALTNAME_INVALID/)
    })
  )

  promise(
    "before 1.2 is refused, and 1.2 is not, whatever the process would allow",
    Effect.gen(function*() {
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          const ciphers = tls.DEFAULT_CIPHERS
          tls.DEFAULT_CIPHERS = "ALL:@SECLEVEL=0"
          return ciphers
        }),
        (ciphers) =>
          Effect.sync(() => {
            tls.DEFAULT_CIPHERS = ciphers
          })
      )
      // OpenSSL speaks the old versions at its lowest level of security only.
      const old = { ...identity(), minVersion: "TLSv1", ciphers: "ALL:@SECLEVEL=0" } as const
      for (const maxVersion of ["TLSv1", "TLSv1.1"] as const) {
        assert.match(yield* refusedFor({ ...old, maxVersion }), /PROTOCOL|VERSION|ALERT/i)
      }
      const receiver = yield* makeRawReceiver((socket) => {
        socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"))
      }, { ...old, maxVersion: "TLSv1.2" })
      const { send } = yield* sender([receiver.host])
      assert.strictEqual((yield* send(`https://${receiver.host}/`)).status, 200)
    })
  )

  promise(
    "that never ends its handshake is a timeout",
    Effect.gen(function*() {
      const receiver = yield* makeRawReceiver(() => {})
      const { fails } = yield* sender([receiver.host], {}, {}, undefined, impatient)
      const failure = yield* fails(`https://${receiver.host}/`)
      assert.deepInclude(failure, { isOurFault: false, timedOut: true })
      assert.include(failure.reason, "UND_ERR_CONNECT_TIMEOUT")
    })
  )
})

describe("a receiver that", () => {
  promise(
    "redirects is not followed, whatever the status",
    Effect.gen(function*() {
      const receiver = yield* makeReceiver()
      const { send } = yield* sender([receiver.host])
      for (const status of [300, 301, 302, 303, 307, 308]) {
        receiver.script(`/${status}`, answers(status, { location: receiver.url("/inside") }))
        assert.strictEqual((yield* send(receiver.url(`/${status}`))).status, status)
      }
      assert.strictEqual(receiver.arrivals("/inside").length, 0)
      assert.strictEqual(receiver.arrivals().length, 6)
    })
  )

  promise(
    "says nothing, or a byte at a time, or stops midway has until the deadline, and no longer",
    Effect.gen(function*() {
      const receiver = yield* makeReceiver()
      receiver.script("/mute", neverAnswers)
      receiver.script("/trickle", (_, __, response) => {
        const timer = setInterval(() => response.write("x"), 20)
        response.once("close", () => clearInterval(timer))
      })
      receiver.script("/half", (_, __, response) => response.writeHead(200, { "content-length": "10" }).write("12345"))
      const { fails, send } = yield* sender([receiver.host])
      for (const path of ["/mute", "/trickle", "/half"]) {
        const failure = yield* fails(receiver.url(path), impatient)
        assert.deepInclude(failure, { isOurFault: false, timedOut: true, reason: `no answer in ${impatient} ms` }, path)
      }
      assert.strictEqual((yield* send(receiver.url("/"))).status, 200)
    })
  )

  promise(
    "answers without end is cut at 64 KiB: a success is none then, a failure keeps its status",
    Effect.gen(function*() {
      const receiver = yield* makeReceiver()
      let written = 0
      for (const status of [200, 503]) {
        receiver.script(`/${status}`, (_, __, response) => {
          response.writeHead(status, { "retry-after": "7" })
          const more = () => {
            while (!response.destroyed) {
              written += 16_384
              if (!response.write("x".repeat(16_384))) return void response.once("drain", more)
            }
          }
          more()
        })
      }
      receiver.script("/most", answers(200, {}, "x".repeat(maximumAnswerBytes)))
      const { fails, send } = yield* sender([receiver.host])
      assert.include((yield* fails(receiver.url("/200"))).reason, "ANSWER_TOO_LONG")
      const { body, retryAfter, status } = yield* send(receiver.url("/503"))
      assert.deepStrictEqual([status, retryAfter, body.length], [503, "7", keptAnswerBytes])
      assert.isBelow(written, 16 * 1024 * 1024)
      assert.strictEqual((yield* send(receiver.url("/most"))).body, "x".repeat(keptAnswerBytes))
    })
  )

  promise(
    "packs its answer is not unpacked, and what is kept can be stored",
    Effect.gen(function*() {
      const receiver = yield* makeReceiver()
      // Before anything is sent: a server closes a connection that is idle for as long as this takes on a slow machine.
      const bomb = gzipSync(Buffer.alloc(20_000_000, 0x41))
      const large = gzipSync(Buffer.alloc(80_000_000, 0x41))
      receiver.script("/bomb", (_, __, response) => response.writeHead(200, { "content-encoding": "gzip" }).end(bomb))
      receiver.script("/nul", answers(500, {}, "a\u0000b"))
      const { fails, send } = yield* sender([receiver.host])
      assert.isBelow(bomb.length, maximumAnswerBytes)
      const { body, status } = yield* send(receiver.url("/bomb"))
      assert.strictEqual(status, 200)
      assert.isAtMost(Buffer.byteLength(body), keptAnswerBytes)
      assert.notInclude(body, "\u0000")
      assert.strictEqual((yield* send(receiver.url("/nul"))).body, "ab")
      receiver.script("/large", (_, __, response) => response.writeHead(200, { "content-encoding": "gzip" }).end(large))
      assert.include((yield* fails(receiver.url("/large"))).reason, "ANSWER_TOO_LONG")
    })
  )

  /** Answers of bytes, and what is said of each. */
  const broken: ReadonlyArray<readonly [what: string, serve: (socket: Socket) => void, reason: RegExp]> = [
    ["has 10 MB of headers", (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\n`)
      for (let n = 0; n < 160; n++) socket.write(`x-${n}: ${"y".repeat(65_536)}\r\n`)
    }, /HEADERS_OVERFLOW/],
    ["says 100 for ever", (socket) => void socket.write("HTTP/1.1 100 Continue\r\n\r\n".repeat(1_000)), /bad response/],
    ["says 103 for ever", (socket) => {
      socket.write("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(1_000))
    }, /TOO_MANY_INTERIM/],
    ["resets after it read", (socket) => void socket.resetAndDestroy(), /ECONNRESET|SOCKET/],
    ["closes without a word", (socket) => void socket.end(), /SOCKET/],
    ["sends less than it announced", (socket) => {
      socket.end("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n12345")
    }, /SOCKET|CONTENT_LENGTH/],
    ["announces two lengths", (socket) => {
      socket.end("HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n12")
    }, /CONTENT_LENGTH/],
    ["speaks no HTTP", (socket) => void socket.end("SSH-2.0-OpenSSH_9.2\r\n"), /does not match the HTTP/],
    ["switches protocols", (socket) => {
      socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n")
    }, /bad upgrade/]
  ]
  for (const [what, serve, reason] of broken) {
    promise(
      `${what} has failed, once`,
      Effect.gen(function*() {
        const receiver = yield* makeRawReceiver((socket) => void socket.once("data", () => serve(socket)))
        const { fails } = yield* sender([receiver.host])
        const failure = yield* fails(`http://${receiver.host}/`)
        assert.deepInclude(failure, { isOurFault: false, timedOut: false })
        assert.match(failure.reason, reason)
        assert.strictEqual(receiver.accepted(), 1)
      })
    )
  }

  promise(
    "announces less than it sends gets no later answer of its own wrong",
    Effect.gen(function*() {
      const receiver = yield* makeRawReceiver((socket) => {
        socket.on("data", () => {
          socket.write("HTTP/1.1 500 No\r\ncontent-length: 2\r\n\r\nnoHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
        })
      })
      const { send } = yield* sender([receiver.host])
      for (let n = 0; n < 3; n++) assert.strictEqual((yield* send(`http://${receiver.host}/`)).status, 500)
    })
  )

  promise(
    "is asked again on the connection it has, and holds none once interrupted",
    Effect.gen(function*() {
      const receiver = yield* makeReceiver()
      const ports = new Set<number | undefined>()
      receiver.script("/", (_, __, response) => {
        ports.add(response.socket?.remotePort)
        response.end()
      })
      receiver.script("/mute", neverAnswers)
      const { send } = yield* sender([receiver.host])
      for (let n = 0; n < 5; n++) yield* send(receiver.url("/"))
      // A socket that is not yet free again when the next request comes makes a second one.
      assert.isAtMost(ports.size, 2)
      const fiber = yield* Effect.forkChild(send(receiver.url("/mute")))
      yield* receiver.seen("/mute", 1)
      yield* Fiber.interrupt(fiber)
      assert.strictEqual((yield* send(receiver.url("/"))).status, 200)
    })
  )

  promise(
    "refuses the connection has failed at once",
    Effect.gen(function*() {
      const { host } = yield* Effect.scoped(makeReceiver())
      const { fails } = yield* sender([host])
      const failure = yield* fails(`http://${host}/`)
      assert.deepInclude(failure, { isOurFault: false, timedOut: false })
      assert.include(failure.reason, "ECONNREFUSED")
    })
  )
})

describe("a name", () => {
  promise(
    "is refused when any of its addresses is not public or is our own, and nothing connects",
    Effect.gen(function*() {
      const dns = yield* makeDns
      const receiver = yield* makeReceiver("https")
      const port = receiver.host.split(":")[1]!
      const { check, fails } = yield* sender([], { nameservers: [dns.server] }, {}, "https://pay.example.com")
      dns.set("pay.example.com", ["8.8.4.4", "2606:4700::53"])
      dns.set("inside.example", ["127.0.0.1"])
      dns.set("mixed.example", ["8.8.8.8", "10.0.0.7"])
      dns.set("six.example", ["8.8.8.8", "::1"])
      dns.set("mapped.example", ["::ffff:7f00:1"])
      dns.set("cloud.example", ["169.254.169.254"])
      dns.set("loop.example", ["8.8.4.4"])
      dns.set("loop6.example", ["2606:4700:0:0:0:0:0:53"])
      dns.set("public.example", ["8.8.8.8", "2606:4700::1111"])
      for (const name of ["inside", "mixed", "six", "mapped", "cloud"]) {
        const reason = "The host resolves to an address that is not public"
        assert.strictEqual(yield* check(`https://${name}.example:${port}/`), reason, name)
        assert.deepInclude(yield* fails(`https://${name}.example:${port}/`), {
          reason,
          isOurFault: false,
          timedOut: false
        }, name)
      }
      for (const name of ["loop", "loop6"]) {
        const reason = "The host resolves to an address of this service"
        assert.strictEqual(yield* check(`https://${name}.example/`), reason)
        assert.deepInclude(yield* fails(`https://${name}.example/`), { reason, isOurFault: false })
      }
      assert.strictEqual(yield* check("https://public.example/"), "allowed")
      assert.strictEqual(yield* check("https://8.8.4.4/"), "The URL must not point at this service")
      assert.strictEqual(receiver.open(), 0)
    })
  )

  promise(
    "that shares the addresses of a network in front of us is allowed where the operator says so",
    Effect.gen(function*() {
      const dns = yield* makeDns
      dns.set("pay.example.com", ["8.8.4.4"])
      dns.set("shop.example", ["8.8.4.4"])
      const { check } = yield* sender(
        [],
        { nameservers: [dns.server], allowSharedAddresses: true },
        {},
        "https://pay.example.com"
      )
      assert.strictEqual(yield* check("https://shop.example/"), "allowed")
      assert.strictEqual(yield* check("https://pay.example.com/"), "The URL must not point at this service")
    })
  )

  promise(
    "that changes after the check is asked once a connection, and judged by that answer",
    Effect.gen(function*() {
      const dns = yield* makeDns
      const receiver = yield* makeReceiver("https")
      const url = `https://rebound.example:${receiver.host.split(":")[1]!}/`
      dns.set("rebound.example", ["8.8.8.8"], ["127.0.0.1"])
      const { check, fails } = yield* sender([], { nameservers: [dns.server] })
      assert.strictEqual(yield* check(url), "allowed")
      assert.include((yield* fails(url)).reason, "not public")
      assert.deepStrictEqual([dns.asked("rebound.example"), receiver.open()], [2, 0])
    })
  )

  promise(
    "that does not exist is the receiver's failure; a resolver that serves nobody is ours",
    Effect.gen(function*() {
      const dns = yield* makeDns
      dns.set("servfail.example", "SERVFAIL")
      const { check, fails } = yield* sender([], { nameservers: [dns.server] })
      assert.deepInclude(yield* fails("https://servfail.example/"), {
        isOurFault: true,
        timedOut: false,
        reason: "the host name cannot be resolved (ESERVFAIL)"
      })
      assert.strictEqual(yield* check("https://servfail.example/"), "allowed")
      assert.deepInclude(yield* fails("https://none.example/"), {
        isOurFault: false,
        timedOut: false,
        reason: "the host name cannot be resolved (ENOTFOUND)"
      })
      assert.deepInclude(yield* fails("https://servfail.example/"), { isOurFault: false })
    })
  )
})

describe("a proxy", () => {
  promise(
    "is told host and port, given its credential, and resolves; the certificate is still the receiver's",
    Effect.gen(function*() {
      const dns = yield* makeDns
      const proxy = yield* makeProxy
      const receiver = yield* makeReceiver("https")
      proxy.set(receiver.host)
      const proxyUrl = `http://user:pa%3Ass@${proxy.host}`
      const { check, fails } = yield* sender([], { nameservers: [dns.server] }, { proxyUrl })
      // What the name is here says nothing of what it is there.
      dns.set("shop.example", ["10.0.0.1"])
      assert.strictEqual(yield* check("https://shop.example/"), "allowed")
      // The receiver behind the proxy has a certificate for localhost only.
      assert.include((yield* fails("https://shop.example/a")).reason, "ALTNAME_INVALID")
      assert.deepStrictEqual(proxy.asked(), [{
        target: "shop.example:443",
        authorization: `Basic ${Buffer.from("user:pa:ss").toString("base64")}`
      }])
      assert.strictEqual(dns.asked("shop.example"), 0)
      const local = yield* sender([receiver.host], {}, { proxyUrl })
      assert.strictEqual((yield* local.send(receiver.url("/"))).status, 200)
      assert.strictEqual(proxy.asked().length, 1, "local receivers are reached without it")
    })
  )

  promise(
    "changes nothing of what a URL may be",
    Effect.gen(function*() {
      const proxy = yield* makeProxy
      const { check, fails } = yield* sender([], {}, { proxyUrl: `http://${proxy.host}` })
      for (
        const url of [
          "https://127.0.0.1/",
          "https://[::1]/",
          "http://shop.example/",
          "https://localhost/",
          "https://10.0.0.1/"
        ]
      ) {
        assert.notStrictEqual(yield* check(url), "allowed")
        assert.deepInclude(yield* fails(url), { isOurFault: false })
      }
      assert.deepStrictEqual(proxy.asked(), [])
    })
  )

  promise(
    "delivers through the tunnel, one connection for many",
    Effect.gen(function*() {
      const proxy = yield* makeProxy
      const receiver = yield* makeRawReceiver((socket) => {
        socket.on("data", () => socket.write("HTTP/1.1 204 No Content\r\n\r\n"))
      }, identity("otherhost"))
      proxy.set(receiver.host)
      const { send } = yield* sender([], {}, { proxyUrl: `http://${proxy.host}` })
      for (let n = 0; n < 4; n++) assert.strictEqual((yield* send("https://other.example/hooks")).status, 204)
      assert.isAtMost(proxy.asked().length, 2)
      assert.deepInclude(proxy.asked()[0]!, { target: "other.example:443", authorization: undefined })
    })
  )

  promise(
    "that is gone, mute or refuses us is our fault; a receiver it refuses or cannot reach is not",
    Effect.gen(function*() {
      const gone = yield* Effect.map(Effect.scoped(makeReceiver()), ({ host }) => host)
      const lost = yield* sender([], {}, { proxyUrl: `http://user:secretword@${gone}` })
      const said: Array<TransportFailed> = [yield* lost.fails("https://shop.example/")]
      assert.deepInclude(said[0], {
        isOurFault: true,
        timedOut: false,
        reason: "the proxy cannot be reached (ECONNREFUSED)"
      })
      const proxy = yield* makeProxy
      const proxyUrl = `http://user:secretword@${proxy.host}`
      const { fails } = yield* sender([], {}, { proxyUrl }, undefined, silentMillis)
      for (const nothing of [null, 407, null]) {
        proxy.set(nothing)
        said.push(yield* fails("https://shop.example/"))
        assert.deepInclude(said.at(-1), { isOurFault: true, timedOut: false })
      }
      const judged: ReadonlyArray<readonly [status: number, own: boolean, timedOut: boolean]> = [
        [405, true, false],
        [403, false, false],
        [502, false, false],
        [504, false, true]
      ]
      for (const [status, isOurFault, timedOut] of judged) {
        proxy.set(status)
        said.push(yield* fails("https://shop.example/"))
        assert.deepInclude(said.at(-1), { isOurFault, timedOut }, String(status))
      }
      // It serves others, so a target it is silent about is at fault itself.
      proxy.set(null)
      said.push(yield* fails("https://shop.example/"))
      assert.deepInclude(said.at(-1), { isOurFault: false, timedOut: true })
      assert.notInclude(said.map(({ reason }) => reason).join(), "secretword")
      assert.isUndefined(refusalOf(200))
    })
  )
})

describe("a deployment", () => {
  it.live("that serves mainnet refuses to start with local receivers", () =>
    Effect.gen(function*() {
      const settings = settingsOf(["localhost:4000"], { environments: ["devnet", "mainnet"] })
      assert.instanceOf(yield* Effect.flip(transportOf(plugin.layer({}) as TransportLayer, settings)), GuardRefused)
    }).pipe(Effect.scoped))
})

describe("a private authority", () => {
  it.effect("that is named by its path is refused before a start, with the form that is read", () =>
    Effect.gen(function*() {
      const file = join(yield* temporaryDirectory, "config.json")
      const transports = [{ use: "https", options: { ca: "/etc/ssl/authority.pem" } }]
      writeFileSync(file, JSON.stringify({ environments: ["devnet"], transports }))
      const { message } = yield* Effect.flip(load({ file, environment: {} }))
      assert.include(message, "transports[0].options.ca")
      assert.include(message, "${file:/path}")
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)))
})

describe("what is kept of an answer", () => {
  it("is text that a database takes, 4 KiB at most, with no half character at its end", () => {
    assert.strictEqual(storableText(Buffer.from("a\u0000b✓")), "ab✓")
    for (const bytes of [Buffer.alloc(5_000, 0xff), Buffer.from("✓".repeat(3_000)), Buffer.alloc(9_000, 0x41)]) {
      const text = storableText(bytes)
      assert.isAtMost(Buffer.byteLength(text), keptAnswerBytes)
      assert.isAtLeast(Buffer.byteLength(text), keptAnswerBytes - 3)
      assert.isTrue(text.isWellFormed())
    }
    assert.strictEqual(storableText(Buffer.from("✓".repeat(3_000))), "✓".repeat(1_365))
    assert.strictEqual(storableText(Buffer.from("€")), "€")
  })
})
