/**
 * Goal: whatever a payor's browser asks below `/pay`, and whatever state the service is in, the answer is a page in the
 * payor's language that says what to do: never JSON, never nothing, and nothing half done behind it. Method: tables of
 * requests to a running service behind https and a path, each from an address of its own; a line to its database that
 * is cut, and a database that refuses in PostgreSQL's own words.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { connect as dial } from "node:net"
import { connect, migratedDatabase } from "../support/Database.ts"
import { generousLimits } from "../support/Limits.ts"
import { type DatabaseProxy, makeDatabaseProxy } from "../support/DatabaseProxy.ts"
import { makeReceiver } from "../support/Receiver.ts"
import {
  configOf,
  type Service,
  startService,
  temporaryDirectory,
  type TestRequest,
  type TestResponse,
  until
} from "../support/Service.ts"
import { asForm, formType, makePayor, type Payor, screenIn } from "./Payor.ts"
import { type Invoice, newInvoice, openShop, type Shop } from "./Shop.ts"

const publicUrl = "https://pay.example/shop"

/** Calls of one address in a minute: fewer than a test makes of all of its own together. */
const addressLimit = 20

/** More calls than any other test here makes with one session. */
const sessionLimit = 100

class Desk extends Context.Service<Desk, {
  readonly service: Service
  readonly shop: Shop
  readonly sql: SqlClient.SqlClient
  readonly line: DatabaseProxy
}>()("test/Desk") {
  static readonly layer = Layer.effect(
    Desk,
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const line = yield* makeDatabaseProxy(database)
      const receiver = yield* makeReceiver()
      const service = yield* startService({
        directory: yield* temporaryDirectory,
        config: configOf({
          database: line.url,
          receivers: [receiver.host],
          chains: [{ use: "simulated" }],
          http: { publicUrl, trustProxy: ["127.0.0.1"] },
          limits: {
            ...generousLimits,
            pagePerMinute: addressLimit,
            anonymousPerMinute: addressLimit,
            sessionPerMinute: sessionLimit
          }
        })
      })
      const sql = Context.get(yield* Layer.build(connect(database)), SqlClient.SqlClient)
      return { service, shop: yield* openShop(service, receiver, (yield* service.keys).merchant_key), sql, line }
    })
  )
}

/** An address that nobody called from before. */
const newAddress = () => `2001:db8:${randomUUID().slice(0, 4)}:${randomUUID().slice(0, 4)}::1`

const withHeaders = (sent: TestRequest, headers: Readonly<Record<string, string>>): TestRequest => ({
  ...sent,
  headers: { ...headers, ...sent.headers }
})

/** Asks from an address of its own, as a French browser. */
const asked = (payor: Payor, path: string, sent: TestRequest = {}) =>
  payor.ask(path, withHeaders(sent, { "x-forwarded-for": newAddress(), "accept-language": "fr" }))

const payorOf = Effect.map(Desk, ({ service }) => makePayor(service.url, publicUrl))

const invoiceFor = (fields: object = {}) =>
  Effect.flatMap(Desk, ({ shop }) => newInvoice(shop, { amount_usd: 25, ...fields }))

const pathOf = ({ id }: Pick<Invoice, "id">) => `/shop/pay/${id}`

/** A browser at the list of an invoice, and the id of a token on it. */
const opened = Effect.gen(function*() {
  const invoice = yield* invoiceFor()
  const payor = yield* payorOf
  const page = yield* payor.open(invoice.created.payment_url, { "x-forwarded-for": newAddress() })
  const token = /name="token" value="(\d+)"/.exec(page.text)?.[1]
  assert.isDefined(token, page.text)
  return { invoice, payor, token, path: pathOf(invoice) }
})

/** What an answer of the page must be, whatever it says. */
const isPage = (answer: TestResponse, status: number, what: string, part: "document" | "fragment" = "document") => {
  const { headers, text } = answer
  assert.strictEqual(answer.status, status, `${what} ${text.slice(0, 300)}`)
  assert.strictEqual(headers["content-type"], "text/html; charset=utf-8", what)
  assert.match(String(headers["content-security-policy"]), /^default-src 'none'; .*frame-ancestors 'none'/, what)
  assert.deepInclude(headers, {
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff"
  }, what)
  assert.isUndefined(headers["set-cookie"], what)
  if (part === "document") {
    assert.match(
      text,
      /^<!doctype html><html lang="fr" .*<h1 tabindex="-1">[^<]{5,}<\/h1><p class="soft">[^<]{20,}</s,
      what
    )
  } else assert.match(text, /^<section data-screen="[a-z_]+" data-title="[^"]{5,}"/, what)
}

const retryOf = ({ text }: TestResponse) =>
  /<a class="button main" href="([^"]*)"/.exec(text)?.[1]?.replaceAll("&amp;", "&")

/** Rows that a payor's orders can leave behind. */
const rows = Effect.flatMap(
  Desk,
  ({ sql }) =>
    Effect.orDie(
      sql<any>`SELECT (SELECT count(*)::int FROM quotes) AS quotes, (SELECT count(*)::int FROM invoices) AS invoices,
    (SELECT count(*)::int FROM receive_targets) AS targets, (SELECT count(*)::int FROM refund_destinations) AS refunds,
    (SELECT count(*)::int FROM invoice_payments) AS payments`
    )
)

const expire = ({ id }: Invoice) =>
  Effect.flatMap(Desk, ({ sql }) =>
    Effect.orDie(sql`UPDATE invoices SET status = 'expired', version = version + 1,
      expires_at = floor(extract(epoch FROM now()))::bigint WHERE id = ${id}::uuid`))

/**
 * What PostgreSQL says when it cannot serve: disk full, out of memory, no connection left, stopping, its files fail.
 */
const troubles = ["53100", "53200", "53300", "57P01", "58030"]

/** Sends bytes as they are, and answers what came until the service closed. */
const rawly = ({ ports }: Service, text: string) =>
  Effect.callback<string>((resume) => {
    const socket = dial(ports.http, "127.0.0.1")
    let found = ""
    socket.on("data", (bytes) => found += String(bytes)).once("close", () => resume(Effect.succeed(found)))
    socket.write(text)
  })

const receivedOf = (answer: string): TestResponse => {
  const [head = "", text = ""] = answer.split("\r\n\r\n")
  const [first = "", ...lines] = head.split("\r\n")
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)])
  )
  assert.strictEqual(String(Buffer.byteLength(text)), headers["content-length"])
  return { status: Number(first.split(" ")[1]), headers, text, json: undefined }
}

/** Everything an answer says that is not of the moment. */
const said = ({ headers, status, text }: TestResponse, id: string) => {
  const { date: _, "x-request-id": __, "content-length": ___, ...rest } = headers
  return [status, rest, text.replaceAll(id, "id")]
}

layer(Desk.layer, { excludeTestServices: true })("a refusal of the payment page", (it) => {
  it.effect("is a page whatever the address and the method, by HEAD the same without it, and tells no invoice from none", () =>
    Effect.gen(function*() {
      const stranger = yield* payorOf
      const real = (yield* invoiceFor()).id
      const long = "a".repeat(3_000)
      const cases: ReadonlyArray<readonly [methods: string, path: string, status: number, part?: "fragment"]> = [
        ["GET POST", "/pay/:id", 401],
        ["GET", "/pay/:id/", 404],
        ["GET", "/pay/:id/state", 401, "fragment"],
        ["PUT DELETE PATCH OPTIONS TRACE PROPFIND", "/pay/:id", 405],
        ["PUT POST OPTIONS", "/pay/:id/state", 405, "fragment"],
        ["GET POST PUT OPTIONS", "/pay", 404],
        ["GET", "/pay/", 404],
        ["GET POST", "/pay/:id/x", 404],
        ["GET", "/pay/:id/state/x", 404],
        ["GET", "/pay/:id;x=y", 404],
        ["GET", "/pay/:id/state;x", 404, "fragment"],
        ["GET", "//pay//:id//x", 404],
        ["GET", "/PAY/:id/x", 404],
        ["GET", "/pay/not-a-uuid", 401],
        ["GET", "/pay/not-a-uuid/state", 401, "fragment"],
        ["PUT", "/pay/%3Cb%3E", 405],
        ["PUT", "/pay/<b>", 405],
        ["GET", "/pay/%", 400],
        ["GET", "/pay/%ff/state", 400, "fragment"],
        ["GET", "/pay/:id%00", 401],
        ["GET", "/pay/:id?x=%00&lang=%ff&lang=xx&%", 401],
        ["GET", `/pay/${long}`, 401],
        ["GET", `/pay/:id?${long}`, 401]
      ]
      for (const [methods, path, status, part] of cases) {
        for (const method of methods.split(" ")) {
          const what = `${method} ${path.slice(0, 60)}`
          const ask = (id: string, as = method) => asked(stranger, `/shop${path.replace(":id", id)}`, { method: as })
          const answer = yield* ask(real)
          isPage(answer, status, what, part)
          const unknown = randomUUID()
          assert.deepStrictEqual(said(answer, real), said(yield* ask(unknown), unknown), what)
          if (status === 405) assert.match(String(answer.headers.allow), /^GET, HEAD/, what)
          if (method !== "GET") continue
          const head = yield* ask(real, "HEAD")
          assert.deepStrictEqual([head.text, head.headers], ["", {
            ...answer.headers,
            date: head.headers.date,
            "x-request-id": head.headers["x-request-id"]
          }], what)
        }
      }
    }))

  it.effect("is a page whatever stands in the request's headers", () =>
    Effect.gen(function*() {
      const { path, payor } = yield* opened
      const cases: ReadonlyArray<readonly [below: string, status: number, headers: Readonly<Record<string, string>>]> =
        [
          ["/x", 404, { accept: "application/json" }],
          ["/x", 404, { "x-service-version": "1999-01-01" }],
          ["/x", 404, { "x-request-id": "a b" }],
          ["/x", 404, { upgrade: "websocket", connection: "upgrade" }],
          ["/x", 404, { origin: "https://evil.example" }],
          ["/x", 413, { "content-length": "300000" }],
          ["", 403, { "x-api-key": "mk_test" }],
          ["", 403, { authorization: "Bearer x" }],
          ["", 401, { cookie: "till_pay=%ff.%" }]
        ]
      for (const [below, status, headers] of cases) {
        isPage(yield* asked(payor, `${path}${below}`, { headers }), status, JSON.stringify(headers))
      }
    }))

  it.effect("is a page also for what can hardly be read, and is no page elsewhere", () =>
    Effect.gen(function*() {
      const { service } = yield* Desk
      const { id } = yield* invoiceFor()
      const french = "host: x\r\naccept-language: fr\r\n"
      const long = "a".repeat(20_000)
      const cases: ReadonlyArray<readonly [status: number, text: string]> = [
        [431, `GET /pay/${id} HTTP/1.1\r\n${french}cookie: ${long}\r\n\r\n`],
        [431, `GET /pay/${id}/x HTTP/1.1\r\n${french}${"x-many: 1\r\n".repeat(3_000)}\r\n`],
        [431, `GET /pay/${id}?lang=fr&x=${long} HTTP/1.1\r\n${french}\r\n`],
        [400, `GET /pay/${id} HTTP/1.1\r\n${french}bad header: x\r\n\r\n`],
        [400, `POST /pay/${id} HTTP/1.1\r\n${french}content-length: 1\r\ncontent-length: 2\r\n\r\n`]
      ]
      for (const [status, text] of cases) {
        isPage(receivedOf(yield* rawly(service, text)), status, text.slice(0, 80))
        const elsewhere = receivedOf(yield* rawly(service, text.replace("/pay/", "/api/")))
        assert.deepStrictEqual([elsewhere.status, elsewhere.headers["content-type"], elsewhere.text], [
          status,
          undefined,
          ""
        ])
      }
      const head = yield* rawly(service, `HEAD /pay/${id} HTTP/1.1\r\n${french}cookie: ${long}\r\n\r\n`)
      assert.match(head, /^HTTP\/1.1 431 .*content-length: [1-9]\d+\r\n\r\n$/s)
      assert.match(yield* rawly(service, "\u0016\u0003\u0001"), /^HTTP\/1.1 400 .*content-length: 0\r\n\r\n$/s)
    }))

  it.effect("leads back to the page it came from, with the session where cookies do not come back, and nothing else", () =>
    Effect.gen(function*() {
      const { invoice, path, payor } = yield* opened
      const session = new URL(invoice.created.payment_url).search.slice(1)
      for (const query of ["", "lang=fr", session, `${session}&c=1&tab=address`]) {
        const refused = yield* asked(payor, `${path}?${query}&next=//evil.example`, { method: "PUT" })
        assert.deepStrictEqual(retryOf(refused), query === "" ? path : `${path}?${query}`)
      }
      for (const below of ["/x", "/state/x"]) assert.isUndefined(retryOf(yield* asked(payor, `${path}${below}`)))
      const stranger = yield* asked(yield* payorOf, path)
      assert.deepStrictEqual([screenIn(stranger), retryOf(stranger)], ["ended", undefined], "asking again is of no use")
    }))

  it.effect("of one who asks too often is a page that says to wait, and for how long", () =>
    Effect.gen(function*() {
      const { path, payor } = yield* opened
      const stranger = yield* payorOf
      const cases = [
        [payor, path, sessionLimit],
        [payor, `${path}/state`, 1],
        [stranger, path, addressLimit],
        [stranger, `${path}/state`, addressLimit],
        [stranger, "/shop/pay/x/y", addressLimit]
      ] as const
      for (const [caller, each, calls] of cases) {
        const headers = { "x-forwarded-for": newAddress(), "accept-language": "fr" }
        const answers = yield* Effect.forEach(Array.from({ length: calls + 1 }), () => caller.ask(each, { headers }))
        const last = answers.at(-1)!
        isPage(last, 429, each, each.endsWith("/state") ? "fragment" : "document")
        assert.strictEqual(screenIn(last), "too_many")
        assert.isAtLeast(Number(last.headers["retry-after"]), 1)
      }
    }))

  it.effect("of a form leaves nothing behind: no type, no form of ours, a session of another, an invoice that ended meanwhile", () =>
    Effect.gen(function*() {
      const { invoice, path, payor, token } = yield* opened
      const other = yield* opened
      const choice = asForm({ action: "choose", token })
      const before = yield* rows
      const { "content-type": _, ...untyped } = choice.headers!
      isPage(yield* asked(payor, path, { ...choice, headers: { ...untyped, "content-type": "" } }), 415, "no type")
      isPage(yield* asked(payor, path, { method: "POST" }), 415, "no body")
      isPage(yield* asked(payor, `${path}/state`, choice), 405, "the state takes no form", "fragment")
      isPage(yield* asked(payor, "/shop/pay", choice), 404, "no invoice")
      isPage(
        yield* asked(other.payor, `${path}${new URL(other.invoice.created.payment_url).search}`, choice),
        401,
        "another invoice's session"
      )
      isPage(yield* asked(payor, path, { ...choice, headers: { ...choice.headers, cookie: "" } }), 401, "no session")
      yield* expire(invoice)
      const late = yield* asked(payor, path, choice)
      assert.strictEqual(late.status, 303)
      assert.strictEqual(
        screenIn(yield* payor.open(late.headers.location!, { "x-forwarded-for": newAddress() })),
        "expired"
      )
      assert.deepStrictEqual(yield* rows, before)
    }))

  it.effect("is none where a form is sent twice: both lead to the page, and one address was given or kept", () =>
    Effect.gen(function*() {
      const { path, payor, token } = yield* opened
      const before = (yield* rows)[0]
      const twice = (fields: Readonly<Record<string, string>>) =>
        Effect.forEach([1, 2], () => asked(payor, path, asForm(fields)), { concurrency: 2 })
      for (const { headers, status } of yield* twice({ action: "choose", token })) {
        assert.deepStrictEqual([status, headers.location], [303, path])
      }
      assert.strictEqual((yield* rows)[0].targets, before.targets + 1, "one address")
      const address = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
      for (const { status } of yield* twice({ action: "refund", network: "base", address })) {
        assert.strictEqual(status, 303)
      }
      assert.strictEqual((yield* rows)[0].refunds, before.refunds + 1)
    }))

  it.effect("for want of the database says to wait and leads back, takes no form, and ends as soon as it is there again", () =>
    Effect.gen(function*() {
      const { line } = yield* Desk
      const { path, payor, token } = yield* opened
      const before = yield* rows
      yield* Effect.acquireRelease(line.set("cut"), () => line.set("through"))
      const asks: ReadonlyArray<readonly [string, TestRequest]> = [
        ["", {}],
        ["/state", {}],
        ["", asForm({ action: "choose", token })],
        ["", asForm({ action: "language", lang: "de" })]
      ]
      for (const [below, sent] of asks) {
        const answer = yield* asked(payor, `${path}${below}`, sent)
        isPage(answer, 503, `${sent.method ?? ""} ${below}`, below === "" ? "document" : "fragment")
        assert.deepStrictEqual([screenIn(answer), answer.headers["retry-after"]], ["unavailable", "1"])
        assert.deepStrictEqual(retryOf(answer), path)
      }
      isPage(yield* asked(yield* payorOf, path), 401, "a stranger is told the same")
      yield* line.set("through")
      yield* until("it is there again", asked(payor, path), ({ status }) => status === 200)
      assert.deepStrictEqual(yield* rows, before)
      assert.strictEqual((yield* asked(payor, path, asForm({ action: "choose", token }))).status, 303)
    }).pipe(Effect.scoped))

  it.effect("comes where something must be written and the database is in trouble; what was written is still shown", () =>
    Effect.gen(function*() {
      const { sql } = yield* Desk
      const say = (state: string) =>
        Effect.orDie(sql.unsafe(`CREATE OR REPLACE FUNCTION trouble() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN RAISE EXCEPTION 'trouble' USING ERRCODE = '${state}'; END $$`))
      yield* Effect.acquireRelease(say("53100"), () => Effect.orDie(sql`DROP FUNCTION trouble CASCADE`))
      yield* Effect.orDie(sql`CREATE TRIGGER trouble BEFORE INSERT ON quotes FOR EACH ROW EXECUTE FUNCTION trouble()`)
      const before = (yield* rows)[0]
      for (const state of troubles) {
        const { path, payor, token } = yield* opened
        yield* say(state)
        const refused = yield* asked(payor, path, asForm({ action: "choose", token }))
        isPage(refused, 503, state)
        assert.deepStrictEqual([screenIn(refused), refused.headers["retry-after"]], ["unavailable", "1"], state)
        assert.strictEqual(screenIn(yield* asked(payor, path)), "choose", state)
      }
      assert.strictEqual((yield* rows)[0].quotes, before.quotes)
    }).pipe(Effect.scoped))
})

layer(Desk.layer, { excludeTestServices: true })("a service that stops", (it) => {
  it.effect("finishes what the page was asked before", () =>
    Effect.gen(function*() {
      const { service } = yield* Desk
      const { path, payor, token } = yield* opened
      const body = `action=choose&token=${token}`
      const head = [
        `POST ${path.slice("/shop".length)} HTTP/1.1`,
        "host: pay.example",
        "connection: close",
        `cookie: till_pay=${payor.cookie("till_pay")!.value}`,
        `content-type: ${formType}`,
        `content-length: ${body.length}`
      ].join("\r\n") + "\r\n\r\n"
      const answer = yield* Effect.callback<string>((resume) => {
        const socket = dial(service.ports.http, "127.0.0.1")
        let text = ""
        socket.on("data", (bytes) => text += String(bytes)).once("close", () => resume(Effect.succeed(text)))
        const stopping = Effect.gen(function*() {
          yield* Effect.forkDetach(service.stop())
          yield* until(
            "it takes nobody any more",
            Effect.exit(service.call("/health")),
            ({ _tag }) => _tag === "Failure"
          )
          socket.write(body.slice(5))
        })
        socket.write(head + body.slice(0, 5), () => Effect.runFork(stopping))
      })
      assert.match(answer, new RegExp(`^HTTP/1.1 303 .*location: ${path}\r\n`, "s"))
    }))
})
