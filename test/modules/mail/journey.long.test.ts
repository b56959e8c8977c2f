/**
 * Goal: a shop has claim links and invitations sent from its dashboard, and whoever gets one can use it; while the mail
 * server is away everything else goes on as ever. Method: the service as it is started, and a real mail server.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { loginLink } from "../../journeys/LoginLink.ts"
import { assertStatus } from "../../journeys/Shop.ts"
import { account, type MailServer, makeMailServer } from "../../fixtures/mailServer.ts"
import { connect, migratedDatabase, type TestDatabase } from "../../support/Database.ts"
import { generousLimits } from "../../support/Limits.ts"
import { configOf, type Service, startService, temporaryDirectory, until } from "../../support/Service.ts"

class Town extends Context.Service<Town, {
  readonly service: Service
  readonly server: MailServer
  readonly key: Readonly<Record<string, string>>
  readonly home: string
  readonly cookies: string
  readonly database: TestDatabase
}>()("test/modules/mail/Town") {}

const caFile = decodeURIComponent(new URL("../../support/tls/cert.pem", import.meta.url).pathname)

const formOf = (service: Service, fields: Readonly<Record<string, string>>, cookies = "") => ({
  method: "POST" as const,
  headers: {
    "content-type": "application/x-www-form-urlencoded",
    origin: new URL(service.url).origin,
    "sec-fetch-site": "same-origin",
    ...(cookies === "" ? {} : { cookie: cookies })
  },
  body: new URLSearchParams(fields).toString()
})

const town = Layer.effect(
  Town,
  Effect.gen(function*() {
    const directory = yield* temporaryDirectory
    const server = yield* makeMailServer({ needsAccount: true })
    const database = yield* migratedDatabase
    const base = configOf({
      database: database.url,
      chains: [{ use: "simulated" }],
      limits: { ...generousLimits, pagePerMinute: 100 }
    })
    const options = {
      host: "localhost",
      port: server.port,
      caFile,
      user: account.user,
      password: "${env:MAIL_PASSWORD}",
      from: "pay@shop.example",
      fromName: "Payments"
    }
    const config = {
      ...base,
      modules: [...base.modules, { use: "mail" }, { use: "mail/smtp", options }]
    }
    const environment = { MAIL_PASSWORD: account.password }
    const service = yield* startService({ directory, config, environment })
    const { merchant_id: merchant, merchant_key: key } = yield* service.keys
    const link = yield* loginLink({ service, merchant })
    const opened = yield* service.call(
      "/dashboard/signin/link",
      formOf(service, { token: new URL(link).hash.slice(3), next: "" })
    )
    assert.strictEqual(opened.status, 303, opened.text)
    const cookies = [opened.headers["set-cookie"] ?? []].flat().map((cookie) => cookie.split(";")[0]).join("; ")
    return Town.of({
      service,
      server,
      key: { "x-api-key": key },
      home: `/dashboard/${merchant}/devnet`,
      cookies,
      database
    })
  })
)

/** Looks at the rows, or lets time pass for them. */
const asDatabase = <A>(statement: (sql: SqlClient.SqlClient) => Effect.Effect<A, unknown>) =>
  Effect.gen(function*() {
    const { database } = yield* Town
    return yield* Effect.flatMap(SqlClient.SqlClient, statement).pipe(Effect.provide(connect(database)), Effect.orDie)
  })

const see = Effect.fnUntraced(function*(path: string) {
  const { cookies, home, service } = yield* Town
  return yield* service.call(`${home}${path}`, { headers: { cookie: cookies } })
})

const send = Effect.fnUntraced(function*(path: string, fields: Readonly<Record<string, string>>) {
  const { cookies, home, service } = yield* Town
  return yield* service.call(`${home}${path}`, formOf(service, { form_key: randomUUID(), ...fields }, cookies))
})

const api = Effect.fnUntraced(function*(path: string, body: object) {
  const { key, service } = yield* Town
  return assertStatus(200, yield* service.call(path, { headers: { ...key, "idempotency-key": randomUUID() }, body }))
})

/** An invoice that was paid. */
const payInvoice = Effect.fnUntraced(function*(fields: object = {}) {
  const { invoice_id: id } = yield* api("/api/v1/invoices", { amount_usd: 20, ...fields })
  yield* api(`/api/v1/devnet/invoices/${id}/simulate`, { action: "pay" })
  return id as string
})

/** A refund that waits for its payor. */
const openRefund = Effect.fnUntraced(function*(invoiceId: string) {
  const body = { invoice_id: invoiceId, amount_mode: "full", reason: "other", fee_bearer: "merchant" }
  return (yield* api("/api/v1/refunds", { ...body, destination: "claim" })).data as { readonly id: string }
})

/** What has arrived at an address, once anything has. */
const arrivedAt = Effect.fnUntraced(function*(email: string) {
  const { server } = yield* Town
  const arrived = Effect.sync(() => server.taken.filter(({ to }) => to.includes(email)))
  return yield* until("a message arrives", arrived, (found) => found.length > 0)
})

layer(town, { excludeTestServices: true })("a shop that sends mail", (it) => {
  it.effect("has a claim link sent to the customer, whose address is filled in, and who opens it", () =>
    Effect.gen(function*() {
      const { service } = yield* Town
      const email = `jane.${randomUUID().slice(0, 8)}@mail.example`
      const refund = yield* openRefund(yield* payInvoice({ customer_email: email }))
      const drawn = yield* see(`/refunds/${refund.id}`)
      assert.include(drawn.text, "E-mail the link")
      assert.include(drawn.text, email)
      const sent = yield* send(`/refunds/${refund.id}`, { action: "email_claim_link", email })
      assert.strictEqual(sent.status, 303, sent.text)
      assert.include(sent.headers.location, "notice=claim_link_sent")
      assert.include((yield* see(`/refunds/${refund.id}?notice=claim_link_sent`)).text, "on its way to the address")
      const [message] = yield* arrivedAt(email)
      assert.include(message, { from: "pay@shop.example", isEncrypted: true, user: account.user })
      assert.include(message!.headers.get("from"), "Payments")
      const [link] = /http:\S+\/claim\/re_\S+/.exec(message!.text)!
      assert.include(link, refund.id)
      const page = yield* service.call(new URL(link!).pathname)
      assert.strictEqual(page.status, 200)
    }))

  it.effect("gets a fault beside the field for an address that cannot be used, and nothing is sent", () =>
    Effect.gen(function*() {
      const refund = yield* openRefund(yield* payInvoice())
      const refused = yield* send(`/refunds/${refund.id}`, { action: "email_claim_link", email: "a,b@mail.example" })
      assert.strictEqual(refused.status, 400)
      assert.include(refused.text, "no mail can be sent to this address")
      assert.include(refused.text, "a,b@mail.example", "nothing is typed twice")
    }))

  it.effect("acts on a refund also from the page that has just opened it", () =>
    Effect.gen(function*() {
      const invoice = yield* payInvoice()
      const fields = { amount_mode: "full", amount_usd: "", where: "claim", fee_bearer: "merchant", reason: "other" }
      const opened = yield* send(`/payments/${invoice}/refund`, { action: "create", ...fields })
      assert.strictEqual(opened.status, 200, opened.text)
      const actions = [...opened.text.matchAll(/action="([^"]+)"><input type="hidden" name="action" value="(\w+)"/g)]
      const { home } = yield* Town
      const to = (act: string) => actions.find(([, , name]) => name === act)?.[1]
      for (const act of ["claim_link", "cancel", "email_claim_link"]) {
        assert.match(String(to(act)), new RegExp(`^${home}/refunds/re_[0-9a-f-]+$`), act)
      }
    }))

  it.effect("has an invitation sent, by which the person joins", () =>
    Effect.gen(function*() {
      const { service } = yield* Town
      const email = `ines.${randomUUID().slice(0, 8)}@shop.example`
      assert.include((yield* see("/team")).text, "E-mail the link to this address")
      const invited = yield* send("/team", { action: "invite", role: "viewer", email, send_email: "true" })
      assert.strictEqual(invited.status, 200, invited.text)
      assert.include(invited.text, "on its way to the person")
      const [message, ...others] = yield* arrivedAt(email)
      assert.strictEqual(others.length, 0)
      const [link, token] = /\S+\/dashboard\/invitation#t=([\w-]+)/.exec(message!.text)!
      assert.include(invited.text, link)
      const joined = yield* service.call("/dashboard/invitation", formOf(service, { token: token!, name: "Ines" }))
      assert.strictEqual(joined.status, 303, joined.text)
    }))

  it.effect("sends a receipt once, to the address that the payor left, before the payment or after it", () =>
    Effect.gen(function*() {
      const { server, service } = yield* Town
      const left = (session: Readonly<Record<string, string>>, email: string) =>
        service.call("/api/v1/payments/customer-email", {
          headers: { ...session, "content-type": "application/json" },
          method: "POST",
          body: { email }
        })
      const merchants = `shop.${randomUUID().slice(0, 8)}@shop.example`
      for (const isBefore of [true, false]) {
        const [email, later] = [1, 2].map((n) => `payor${n}.${randomUUID().slice(0, 8)}@mail.example`) as [
          string,
          string
        ]
        const { invoice_id: id, payment_session_headers: session } = yield* api("/api/v1/invoices", {
          amount_usd: 20,
          invoice_title: "A lamp from https://evil.example",
          customer_email: merchants,
          locale: "fr"
        })
        if (isBefore) assert.strictEqual((yield* left(session, email)).status, 200)
        yield* api(`/api/v1/devnet/invoices/${id}/simulate`, { action: "pay" })
        assert.strictEqual((yield* left(session, email)).status, 200)
        const [message, ...others] = yield* arrivedAt(email)
        assert.strictEqual(others.length, 0)
        assert.match(message!.headers.get("subject")!, /^\[devnet\] Votre reçu de /)
        for (const part of ["20.00 USD", id, "A lamp from https: evil. example", "Transaction: 0x"]) {
          assert.include(message!.text, part)
        }
        assert.notInclude(message!.text, "://")
        assert.strictEqual((yield* left(session, later)).status, 200)
        yield* api(`/api/v1/devnet/invoices/${id}/simulate`, { action: "duplicate" })
        yield* Effect.sleep("6 seconds")
        assert.strictEqual((yield* arrivedAt(email)).length, 1)
        for (const other of [later, merchants]) assert.isFalse(server.taken.some(({ to }) => to.includes(other)))
      }
    }))

  it.effect("sends nothing to an invited person unless it is asked to", () =>
    Effect.gen(function*() {
      const invitations = asDatabase((sql) => sql`SELECT id FROM mail_messages WHERE kind = 'invitation' ORDER BY id`)
      const before = yield* invitations
      const email = `quiet.${randomUUID().slice(0, 8)}@shop.example`
      const invited = yield* send("/team", { action: "invite", role: "viewer", email })
      assert.include(invited.text, "Give this link to the person yourself")
      const without = yield* send("/team", { action: "invite", role: "viewer", email: "", send_email: "true" })
      assert.strictEqual(without.status, 400)
      assert.deepStrictEqual(yield* invitations, before)
    }))

  it.effect("works as ever while the mail server is away, and its messages go when it is back", () =>
    Effect.gen(function*() {
      const { server } = yield* Town
      const email = `later.${randomUUID().slice(0, 8)}@mail.example`
      server.answer("refuse message later")
      const refund = yield* openRefund(yield* payInvoice())
      const sent = yield* send(`/refunds/${refund.id}`, { action: "email_claim_link", email })
      assert.strictEqual(sent.status, 303, sent.text)
      yield* payInvoice()
      const attempts = yield* asDatabase((sql) =>
        sql<{ attempts: number }>`SELECT attempts FROM mail_messages WHERE status = 'waiting'`
      ).pipe((look) => until("it is tried", look, (rows) => rows.some(({ attempts }) => attempts > 0)))
      assert.strictEqual(attempts.length, 1)
      assert.isFalse(server.taken.some(({ to }) => to.includes(email)))
      server.answer("take")
      yield* asDatabase((sql) => sql`UPDATE mail_messages SET due_at = 0 WHERE status = 'waiting'`)
      assert.strictEqual((yield* arrivedAt(email)).length, 1)
    }))
})
