/**
 * Goal: what is another merchant's is as unknown as what never was.
 * Method: attack group B, each case by its number: merchant B asks for everything of merchant A, and each answer is
 * compared with the one to an id that nobody has.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { randomBytes, randomUUID } from "node:crypto"
import type { TestRequest, TestResponse } from "../../support/Service.ts"
import { assertStatus } from "../Shop.ts"
import { ask, makeDelivery, makeKey, makeWebhook, Tenants, tenants } from "../Tenants.ts"
import { assertHarmless, attack } from "./Assertions.ts"

/** What an answer says, without what differs by chance and without the id that was asked for. */
const said = ({ status, text }: TestResponse, id: string) =>
  `${status} ${text.replaceAll(/req_[0-9a-f-]+/g, "req").replaceAll(id, "<id>")}`

/** B's answers to `theirs` and to an unknown id are one and the same 404. */
const asUnknown = Effect.fnUntraced(
  function*(path: (id: string) => string, theirs: string, unknown: string, sent: TestRequest = {}) {
    const { b, service } = yield* Tenants
    for (const credential of [b.merchant, b.commerce, b.mainnet, b.jwt]) {
      const answers = yield* Effect.forEach([theirs, unknown], (id) => ask(service, credential, path(id), sent))
      answers.forEach((answer) => assertHarmless(answer, path(theirs)))
      assert.include([403, 404], answers[0]!.status, answers[0]!.text)
      assert.strictEqual(said(answers[0]!, theirs), said(answers[1]!, unknown))
    }
  }
)

const asA = Effect.fnUntraced(function*(path: string, body?: object, method?: string) {
  const { a, service } = yield* Tenants
  return assertStatus(
    200,
    yield* ask(service, a.merchant, path, {
      method: method ?? (body === undefined ? "GET" : "POST"),
      ...(body === undefined ? {} : { body })
    })
  )
})

const asB = Effect.fnUntraced(function*(path: string) {
  const { b, service } = yield* Tenants
  return assertStatus(200, yield* attack(service, path, { headers: b.merchant }))
})

const customer = "cust_of_a"

/** A paid invoice of A with everything that hangs on it. */
const estate = Effect.gen(function*() {
  const made = yield* asA("/api/v1/invoices", { amount_usd: 5, customer_id: customer })
  const { data } = yield* asA(`/api/v1/devnet/invoices/${made.invoice_id}/simulate`, { action: "pay" })
  return {
    invoiceId: made.invoice_id as string,
    paymentId: data.invoice_payment.id as string,
    eventIds: data.event_ids
  }
})

const unknownEvent = "evt_1700000000000-1"

layer(tenants, { excludeTestServices: true })("attack group B, isolation", (it) => {
  it.effect("B13 B14 an event of another merchant, and its neighbours, are unknown", () =>
    Effect.gen(function*() {
      const { eventIds } = yield* estate
      const path = (id: string) => `/api/v1/events/${id}`
      yield* asUnknown(path, eventIds[0], unknownEvent)
      const [ms, seq] = /^evt_(\d+)-(\d+)$/.exec(eventIds[0])!.slice(1).map(BigInt) as [bigint, bigint]
      const { b, service } = yield* Tenants
      const known = new Set((yield* asB("/api/v1/events?limit=100")).data.data.map(({ id }: any) => id))
      for (let step = -100n; step <= 100n; step++) {
        const id = `evt_${ms}-${seq + step < 1n ? 1n : seq + step}`
        const answer = yield* attack(service, path(id), { headers: b.merchant })
        assert.strictEqual(answer.status, known.has(id) ? 200 : 404, id)
      }
    }))

  it.effect("B15 another's event as a cursor is a position like any other", () =>
    Effect.gen(function*() {
      const { eventIds } = yield* estate
      const [position] = eventIds[0].split("-")
      const theirs = yield* asB(`/api/v1/events?limit=5&starting_after=${eventIds[0]}`)
      const never = yield* asB(`/api/v1/events?limit=5&starting_after=${position}-1`)
      assert.deepStrictEqual(theirs.data.data.map(({ id }: any) => id), never.data.data.map(({ id }: any) => id))
    }))

  it.effect("B16 filters by another's ids find nothing", () =>
    Effect.gen(function*() {
      const { invoiceId } = yield* estate
      for (const filter of [`invoice_id=${invoiceId}`, `customer_id=${customer}`, `order_id=${invoiceId}`]) {
        assert.deepStrictEqual((yield* asB(`/api/v1/events?${filter}`)).data.data, [])
      }
      assert.deepStrictEqual((yield* asB(`/api/v1/invoices?customer_id=${customer}`)).data, [])
      assert.deepStrictEqual((yield* asB(`/api/v1/invoices/customer/${customer}`)).data, [])
      const cursor = yield* asB(`/api/v1/invoices?starting_after=${invoiceId}`)
      assert.isTrue(cursor.data.every(({ customer_id }: any) => customer_id !== customer))
    }))

  it.effect("B17 invoices, payments and quotes of another are unknown, to read and to change", () =>
    Effect.gen(function*() {
      const { invoiceId, paymentId } = yield* estate
      const invoice = (rest: string) => (id: string) => `/api/v1/invoices/${id}${rest}`
      yield* asUnknown(invoice(""), invoiceId, randomUUID())
      yield* asUnknown(invoice(""), customer, "cust_of_nobody")
      yield* asUnknown(invoice("?environment=devnet"), invoiceId, randomUUID())
      yield* asUnknown(invoice("/status"), invoiceId, randomUUID())
      yield* asUnknown(invoice("/payments"), invoiceId, randomUUID())
      yield* asUnknown(invoice("/cancel"), invoiceId, randomUUID(), { method: "POST" })
      yield* asUnknown(invoice(""), invoiceId, randomUUID(), { method: "PATCH", body: { metadata: { stolen: true } } })
      yield* asUnknown((id) => `/api/v1/invoice-payments/${id}`, paymentId, randomUUID())
      const open = yield* asA("/api/v1/invoices", { amount_usd: 5 })
      const { tokens } = yield* asA("/api/v1/merchant/tokens")
      const token = tokens.find((each: any) => each.network === "base" && each.token_symbol === "USDC")
      const route = { network: "base", token_id: token.id }
      const { data } = yield* asA("/api/v1/quotes", { invoice_id: open.invoice_id, ...route })
      yield* asUnknown((id) => `/api/v1/quotes/${id}`, data.id, `quo_${randomUUID()}`)
      const { b, service } = yield* Tenants
      const quoted = yield* Effect.forEach([open.invoice_id, randomUUID()], (id) =>
        Effect.map(
          ask(service, b.merchant, "/api/v1/quotes", { method: "POST", body: { invoice_id: id, ...route } }),
          (answer) => said(answer, id)
        ))
      assert.strictEqual(quoted[0], quoted[1])
    }))

  it.effect("B18 a merchant named in a body is not heard", () =>
    Effect.gen(function*() {
      const { a, b, service } = yield* Tenants
      const body = { amount_usd: 5, merchant_id: a.merchantId, merchantId: a.merchantId }
      const made = assertStatus(200, yield* ask(service, b.merchant, "/api/v1/invoices", { method: "POST", body }))
      assert.strictEqual(made.invoice.merchant_id, b.merchantId)
    }))

  it.effect("B19 keys, wallets and settings of another are unknown, to read and to change", () =>
    Effect.gen(function*() {
      const { a, b, service } = yield* Tenants
      const { id } = yield* makeKey(service, a.jwt, { scope: "merchant", environment: "devnet" })
      const key = (rest: string) => (each: string) => `/api/v1/api-keys/${each}${rest}`
      yield* asUnknown(key(""), id, `key_${randomUUID()}`, { method: "DELETE" })
      yield* asUnknown(key(""), id, `key_${randomUUID()}`, { method: "PATCH", body: { name: "mine" } })
      yield* asUnknown(key("/rotate"), id, `key_${randomUUID()}`, { method: "POST", body: { overlap_seconds: 0 } })
      const value = `0x${randomBytes(20).toString("hex")}`
      yield* asA("/api/v1/merchant/wallets/evm", { kind: "pool", value }, "PUT")
      assert.deepStrictEqual((yield* asB("/api/v1/merchant/wallets")).wallets, [])
      yield* asA("/api/v1/merchant/wallets/evm", undefined, "DELETE")
      const signedIn =
        assertStatus(200, yield* attack(service, "/api/v1/auth/wallets", { headers: a.jwt })).data.data[0]
      const unlinked = yield* ask(service, b.jwt, `/api/v1/auth/wallets/${signedIn.id}`, { method: "DELETE" })
      assert.strictEqual(unlinked.status, 404)
      yield* asA("/api/v1/merchant/settings", { branding: { name: "Only A" } }, "PATCH")
      assert.notStrictEqual((yield* asB("/api/v1/merchant/settings")).branding.name, "Only A")
    }))

  it.effect("B19 webhook endpoints and deliveries of another are unknown, to read, to change and to send again", () =>
    Effect.gen(function*() {
      const town = yield* Tenants
      const { a, service } = town
      const delivery = yield* makeDelivery(town, a, a.merchant)
      const endpoint = (yield* asA("/api/v1/webhooks")).data.data[0].id as string
      const unknown = `we_${randomUUID()}`
      const of = (rest: string) => (id: string) => `/api/v1/webhooks/${id}${rest}`
      yield* asUnknown(of(""), endpoint, unknown)
      yield* asUnknown(of(""), endpoint, unknown, { method: "PATCH", body: { url: "https://93.184.215.15/stolen" } })
      yield* asUnknown(of(""), endpoint, unknown, { method: "DELETE" })
      yield* asUnknown(of("/rotate-secret"), endpoint, unknown, { method: "POST", body: {} })
      yield* asUnknown(of("/test"), endpoint, unknown, { method: "POST" })
      yield* asUnknown(of("/replay"), endpoint, unknown, { method: "POST", body: { only_failed: false } })
      yield* asUnknown(of("/deliveries"), endpoint, unknown)
      yield* asUnknown(of(`/deliveries?starting_after=${delivery}`), endpoint, unknown)
      const one = (rest: string) => (id: string) => `/api/v1/webhooks/deliveries/${id}${rest}`
      yield* asUnknown(one(""), delivery, `whd_${randomUUID()}`)
      yield* asUnknown(one("/redeliver"), delivery, `whd_${randomUUID()}`, { method: "POST" })
      const mine = yield* makeWebhook(service, town.b, town.b.merchant)
      const cursor = yield* Effect.forEach([delivery, `whd_${randomUUID()}`], (id) =>
        Effect.map(
          attack(service, `/api/v1/webhooks/${mine}/deliveries?starting_after=${id}`, { headers: town.b.merchant }),
          (answer) => said(answer, id)
        ))
      assert.strictEqual(cursor[0], cursor[1])
      assert.isFalse((yield* asB("/api/v1/webhooks")).data.data.some(({ id }: any) => id === endpoint))
      const after = (yield* asA(`/api/v1/webhooks/${endpoint}`)).data
      assert.deepStrictEqual([after.url, after.status], ["https://93.184.215.14/hooks", "disabled"])
    }))

  it.effect("B22 totals, metrics and lists count nothing of another", () =>
    Effect.gen(function*() {
      const { service } = yield* Tenants
      const { b } = yield* Tenants
      const totals = asB("/api/v1/invoices/totals")
      const metrics = asB("/api/v1/metrics")
      const before = [yield* totals, (yield* metrics).data.totals, (yield* asB("/api/v1/invoices")).total]
      yield* estate
      assert.deepStrictEqual(
        [yield* totals, (yield* metrics).data.totals, (yield* asB("/api/v1/invoices")).total],
        before
      )
      assertStatus(
        200,
        yield* ask(service, b.merchant, "/api/v1/invoices", { method: "POST", body: { amount_usd: 1 } })
      )
      assert.strictEqual((yield* totals).totals.all.count, before[0].totals.all.count + 1)
    }))

  it.effect("B23 an idempotency key of another merchant is a new one here", () =>
    Effect.gen(function*() {
      const { a, b, service } = yield* Tenants
      const headers = { "idempotency-key": randomUUID() }
      const send = (credential: Readonly<Record<string, string>>) =>
        service.call("/api/v1/invoices", { headers: { ...credential, ...headers }, body: { amount_usd: 5 } })
      const first = assertStatus(200, yield* send(a.merchant))
      const second = yield* send(b.merchant)
      assert.isUndefined(second.headers["idempotent-replayed"])
      assert.notStrictEqual(assertStatus(200, second).invoice_id, first.invoice_id)
      assert.strictEqual(second.json.invoice.merchant_id, b.merchantId)
    }))

  it.effect("B24 what one merchant blocks, another does not see blocked", () =>
    Effect.gen(function*() {
      const { tokens } = yield* asA("/api/v1/merchant/tokens")
      yield* asA("/api/v1/merchant/tokens/policy", { acceptance_policy: "selective" }, "PUT")
      yield* asA(`/api/v1/merchant/tokens/${tokens[0].id}/block`, { blocked: true })
      const seen = yield* asB("/api/v1/merchant/tokens/search?blocked=true")
      assert.deepStrictEqual([seen.total, seen.tokens], [0, []])
      assert.isTrue((yield* asB("/api/v1/merchant/tokens")).tokens.some(({ id }: any) => id === tokens[0].id))
    }))
})
