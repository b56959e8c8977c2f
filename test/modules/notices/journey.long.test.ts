/**
 * Goal: a shop's people hear by mail of a case and of an endpoint that was switched off, as their role and their own
 * choice say, and who left hears nothing. Method: the service as it is started, a receiver that is gone, and a real
 * mail server.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { loginLink } from "../../journeys/LoginLink.ts"
import { assertStatus } from "../../journeys/Shop.ts"
import { type MailServer, makeMailServer } from "../../fixtures/mailServer.ts"
import { connect, migratedDatabase, type TestDatabase } from "../../support/Database.ts"
import { generousLimits } from "../../support/Limits.ts"
import { answers, makeReceiver, type Receiver } from "../../support/Receiver.ts"
import {
  configOf,
  type Service,
  startService,
  temporaryDirectory,
  type TestResponse,
  until
} from "../../support/Service.ts"

class Town extends Context.Service<Town, {
  readonly service: Service
  readonly server: MailServer
  readonly receiver: Receiver
  readonly key: Readonly<Record<string, string>>
  readonly home: string
  /** The owner's cookies. */
  readonly owner: string
  readonly database: TestDatabase
}>()("test/modules/notices/Town") {}

const formOf = (service: Service, fields: Readonly<Record<string, string>>, cookies = "") => ({
  method: "POST" as const,
  headers: {
    "content-type": "application/x-www-form-urlencoded",
    origin: new URL(service.url).origin,
    "sec-fetch-site": "same-origin",
    ...(cookies === "" ? {} : { cookie: cookies })
  },
  body: new URLSearchParams({ form_key: randomUUID(), ...fields }).toString()
})

const cookiesOf = ({ headers }: TestResponse): string =>
  [headers["set-cookie"] ?? []].flat().map((cookie) => cookie.split(";")[0]).join("; ")

/** Signs in by a one-time link; answers the cookies. */
const follow = Effect.fnUntraced(function*(service: Service, link: string) {
  const token = new URL(link, service.url).hash.slice(3)
  const opened = yield* service.call("/dashboard/signin/link", formOf(service, { token, next: "" }))
  assert.strictEqual(opened.status, 303)
  return cookiesOf(opened)
})

const town = Layer.effect(
  Town,
  Effect.gen(function*() {
    const directory = yield* temporaryDirectory
    const server = yield* makeMailServer({ tls: "none" })
    const receiver = yield* makeReceiver()
    const database = yield* migratedDatabase
    const base = configOf({
      database: database.url,
      chains: [{ use: "simulated" }],
      receivers: [receiver.host],
      limits: { ...generousLimits, pagePerMinute: 100 }
    })
    const smtp = { host: "localhost", port: server.port, tls: "none", from: "pay@shop.example" }
    const config = {
      ...base,
      modules: [
        ...base.modules,
        { use: "mail" },
        { use: "mail/smtp", options: smtp },
        { use: "notices", options: { operatorEmail: "ops@till.example" } }
      ]
    }
    const service = yield* startService({ directory, config })
    const { merchant_id: merchant, merchant_key: key } = yield* service.keys
    const link = yield* loginLink({ service, merchant })
    return Town.of({
      service,
      server,
      receiver,
      key: { "x-api-key": key },
      home: `/dashboard/${merchant}/devnet`,
      owner: yield* follow(service, link),
      database
    })
  })
)

const send = Effect.fnUntraced(function*(cookies: string, path: string, fields: Readonly<Record<string, string>>) {
  const { home, service } = yield* Town
  return yield* service.call(`${home}${path}`, formOf(service, fields, cookies))
})

const api = Effect.fnUntraced(function*(path: string, body: object) {
  const { key, service } = yield* Town
  return assertStatus(200, yield* service.call(path, { headers: { ...key, "idempotency-key": randomUUID() }, body }))
})

/** A member who is told of both environments. */
const newColleague = Effect.fnUntraced(function*(owner: string, role: string, choice = "all") {
  const { service } = yield* Town
  const email = `${role}.${randomUUID().slice(0, 8)}@shop.example`
  const invited = yield* send(owner, "/team", { action: "invite", role, email })
  const [, token] = /\/dashboard\/invitation#t=([\w-]+)/.exec(invited.text)!
  const joined = yield* service.call("/dashboard/invitation", formOf(service, { token: token!, name: role }))
  assert.strictEqual(joined.status, 303, joined.text)
  const cookies = cookiesOf(joined)
  const saved = yield* send(cookies, "/account", { action: "save_notices", notices: choice })
  assert.strictEqual(saved.status, 303, saved.text)
  return { email, cookies }
})

/** An invoice whose payor paid too much: a case. */
const openCase = Effect.gen(function*() {
  const { invoice_id: id } = yield* api("/api/v1/invoices", { amount_usd: 20, customer_email: "payor@mail.example" })
  yield* api(`/api/v1/devnet/invoices/${id}/simulate`, { action: "overpay" })
  return id as string
})

const arrivedAt = Effect.fnUntraced(function*(email: string, count = 1) {
  const { server } = yield* Town
  const arrived = Effect.sync(() => server.taken.filter(({ to }) => to.includes(email)))
  return yield* until("a message arrives", arrived, (found) => found.length >= count)
})

const anHourPasses = Effect.gen(function*() {
  const { database } = yield* Town
  yield* Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.andThen(
      sql`UPDATE notice_groups SET sent_at = sent_at - 3600`,
      sql`UPDATE notices SET due_at = due_at - 3600`
    )).pipe(Effect.provide(connect(database)), Effect.orDie)
})

layer(town, { excludeTestServices: true })("a shop that sends notices", (it) => {
  it.effect("tells who may decide of a case, and nobody else: not who chose nothing, who only looks, or who left", () =>
    Effect.gen(function*() {
      const { home, owner, server, service } = yield* Town
      const page = yield* service.call(`${home}/account`, { headers: { cookie: owner } })
      assert.include(page.text, "Messages by e-mail")
      assert.include(page.text, "<option value=\"mainnet\" selected>Live only</option>")
      const admin = yield* newColleague(owner, "admin")
      const support = yield* newColleague(owner, "support")
      const quiet = yield* newColleague(owner, "admin", "none")
      const live = yield* newColleague(owner, "admin", "mainnet")
      const viewer = yield* newColleague(owner, "viewer")
      const gone = yield* newColleague(owner, "admin")
      const listed = yield* service.call(`${home}/team`, { headers: { cookie: owner } })
      const row = listed.text.split("<tr").find((part) => part.includes(gone.email))!
      const [, id] = /value="(mem_[\w-]+)"/.exec(row)!
      const removed = yield* send(owner, "/team", { action: "remove", member: id! })
      assert.strictEqual(removed.status, 303)
      yield* openCase
      const [message] = yield* arrivedAt(admin.email)
      yield* arrivedAt(support.email)
      assert.match(message!.headers.get("subject")!, /^\[devnet\] .+: a case needs a decision$/)
      assert.include(message!.text, "Case: Too much")
      assert.include(message!.text, "USD")
      assert.notInclude(message!.text, "payor@mail.example")
      const [link] = /http\S+\/todo\?open=exc_\S+/.exec(message!.text)!
      const { pathname, search } = new URL(link!)
      const drawn = yield* service.call(`${pathname}${search}`, { headers: { cookie: admin.cookies } })
      assert.include(drawn.text, "What do you want to do?")
      for (const { email } of [quiet, live, viewer, gone]) {
        assert.isFalse(server.taken.some(({ to }) => to.includes(email)), email)
      }
      // A second and a third one wait for the hour, and are one message.
      yield* openCase
      yield* openCase
      yield* Effect.sleep("6 seconds")
      assert.strictEqual((yield* arrivedAt(admin.email)).length, 1)
      yield* anHourPasses
      const [, digest] = yield* arrivedAt(admin.email, 2)
      assert.include(digest!.text, "new cases that need a decision: 2")
    }))

  it.effect("tells who manages webhooks of an endpoint whose server is gone", () =>
    Effect.gen(function*() {
      const { owner, receiver, server } = yield* Town
      const developer = yield* newColleague(owner, "developer")
      const viewer = yield* newColleague(owner, "viewer")
      const path = `/${randomUUID()}`
      receiver.script(path, answers(410))
      const { data } = yield* api("/api/v1/webhooks", { url: receiver.url(path), enabled_events: ["invoice.created"] })
      yield* api("/api/v1/invoices", { amount_usd: 20 })
      const found = yield* arrivedAt(developer.email)
      const message = found.find(({ text }) => text.includes("webhook"))!
      assert.include(message.text, `/webhooks/${data.id}\n`)
      assert.notInclude(message.text, receiver.host)
      assert.isFalse(server.taken.some(({ to }) => to.includes(viewer.email)))
    }))
})
