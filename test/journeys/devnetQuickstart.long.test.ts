/**
 * Goal: what the README promises: one command, and a first invoice is created, paid and told of.
 * Method: the shipped devnet config as it is, on its embedded database, stopped and started again in between.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { networks } from "../../schemas/Network.ts"
import { statSync } from "node:fs"
import { join } from "node:path"
import { makeReceiver, type Receiver } from "../support/Receiver.ts"
import { leakedSecrets, type Service, startService, temporaryDirectory, until } from "../support/Service.ts"
import {
  asPayor,
  assertEvents,
  assertStatus,
  chooseToken,
  eventsOf,
  listen,
  newInvoice,
  openShop,
  readInvoice,
  requestAddress,
  type Shop,
  transferTypes
} from "./Shop.ts"

const config = new URL("../../config/devnet.jsonc", import.meta.url).pathname

class Desk extends Context.Service<Desk, {
  readonly directory: string
  readonly receiver: Receiver
  /** The running service and its shop. */
  readonly now: () => { readonly service: Service; readonly shop: Shop }
  /** Stops the service and starts it on the same directory and ports. */
  readonly restart: (signal: "SIGTERM" | "SIGKILL") => Effect.Effect<number | null>
}>()("test/Desk") {
  static readonly layer = Layer.effect(
    Desk,
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const receiver = yield* makeReceiver()
      const owner = yield* Effect.scope
      const start = (ports?: Service["ports"]) =>
        Effect.gen(function*() {
          const scope = yield* Scope.fork(owner)
          const service = yield* startService({
            directory,
            config,
            environment: {
              TILLWIRE__WEBHOOKS__DEVNET_RECEIVERS: JSON.stringify([receiver.host]),
              // The test looks far more often than a shop does.
              TILLWIRE__LIMITS__KEY_PER_MINUTE: "100000",
              TILLWIRE__LIMITS__ANONYMOUS_PER_MINUTE: "100000"
            },
            ...(ports === undefined ? {} : { ports })
          }).pipe(Scope.provide(scope))
          return { scope, service }
        })
      let running = yield* start()
      let shop = yield* openShop(running.service, receiver, (yield* running.service.keys).merchant_key)
      return Desk.of({
        directory,
        receiver,
        now: () => ({ service: running.service, shop }),
        restart: (signal) =>
          Effect.gen(function*() {
            const code = yield* running.service.stop(signal)
            yield* Scope.close(running.scope, Exit.void)
            running = yield* start(running.service.ports)
            yield* running.service.keys
            shop = { ...shop, service: running.service }
            return code
          })
      })
    })
  )
}

/** Between two looks at the state of the networks, whose callers are limited by their address. */
const lookPause = "500 millis"

const paid = ["invoice.created", ...transferTypes("invoice.paid")]

const simulate = (shop: Shop, id: string, body: object) =>
  shop.service.call(`/api/v1/devnet/invoices/${id}/simulate`, { headers: { "x-api-key": shop.key }, body })

layer(Desk.layer, { excludeTestServices: true })("a new devnet", (it) => {
  it.effect("tells the demo keys once, and keeps them where only its own user reads", () =>
    Effect.gen(function*() {
      const { directory, now } = yield* Desk
      const { service } = now()
      const { commerce_key, merchant_key } = yield* service.keys
      assert.match(merchant_key, /^mk_dev_[0-9A-Za-z]{38}$/)
      assert.match(commerce_key, /^ck_dev_[0-9A-Za-z]{38}$/)
      assert.include(service.output(), `merchant key   ${merchant_key}`)
      assert.lengthOf(service.output().match(/Demo Store is ready/g) ?? [], 1)
      assert.deepStrictEqual(leakedSecrets(service.output(), [merchant_key, commerce_key]), [])
      for (const file of ["demo-keys.json", "master.key", "rpc.token"]) {
        assert.strictEqual(statSync(join(directory, "data", file)).mode & 0o777, 0o600, file)
      }
    }))

  it.effect("takes an invoice, a simulated payment, and tells of it by webhook and socket", () =>
    Effect.gen(function*() {
      const { now } = yield* Desk
      const { service, shop } = now()
      const invoice = yield* newInvoice(
        shop,
        { amount_usd: 5, description: "Starter plan", metadata: { order_id: "A-1" } }
      )
      const { "x-session-token": token, "x-signature": signature } = invoice.session
      assert.strictEqual(
        invoice.created.payment_url,
        `${service.url}/pay/${invoice.id}?session_token=${token}&signature=${signature}`
      )
      const shown = yield* chooseToken(shop, invoice, "USDC")
      const listener = yield* listen(shown, service.url)
      const { data } = assertStatus(200, yield* simulate(shop, invoice.id, { action: "pay" }))
      assert.include(data.invoice, { status: "paid", amount_paid: 5_000, amount_remaining: 0 })
      assert.include(data.invoice_payment, { status: "confirmed", amount: 5_000, network: "base" })
      const { events, last } = yield* assertEvents(shop, invoice, listener, paid)
      assert.deepStrictEqual(data.event_ids, events.slice(1).map(({ id }) => id))
      assert.deepStrictEqual(last.data.object, data.invoice)
    }))

  it.effect("pays without a chosen token, in parts, on the network that is asked for", () =>
    Effect.gen(function*() {
      const { shop } = (yield* Desk).now()
      const invoice = yield* newInvoice(shop, { amount_usd: 9 })
      const part = assertStatus(
        200,
        yield* simulate(shop, invoice.id, { action: "pay", network: "optimism", amount: 4_000 })
      )
      assert.include(part.data.invoice, { status: "underpaid", amount_paid: 4_000 })
      const rest = assertStatus(200, yield* simulate(shop, invoice.id, { action: "pay" }))
      assert.include(rest.data.invoice, { status: "paid", amount_paid: 9_000 })
      assert.strictEqual(rest.data.invoice_payment.network, "optimism")
      const again = yield* simulate(shop, invoice.id, { action: "pay" })
      assert.deepStrictEqual([again.status, again.json.error.code], [409, "INVOICE_NOT_PAYABLE"])
    }))

  it.effect("simulates a part, too much, an early end and money after it, by the rules that mainnet runs", () =>
    Effect.gen(function*() {
      const { shop } = (yield* Desk).now()
      const simulated = (id: string, action: string) =>
        Effect.map(simulate(shop, id, { action }), (found) => assertStatus(200, found).data)
      const refused = (id: string, action: string) =>
        Effect.map(simulate(shop, id, { action }), ({ json, status }) => [status, json.error.code])
      const types = (id: string) => Effect.map(eventsOf(shop, id), (events) => events.map(({ type }) => type))

      const part = yield* newInvoice(shop, { amount_usd: 10 })
      assert.include((yield* simulated(part.id, "partial")).invoice, { status: "underpaid", amount_paid: 5_000 })
      const cut = yield* simulated(part.id, "expire")
      assert.include(cut.invoice, { status: "underpaid", amount_paid: 5_000 })
      assert.isAtMost(cut.invoice.expires_at, Math.floor(Date.now() / 1000))
      assert.isNull(cut.invoice_payment)
      assert.deepStrictEqual(yield* refused(part.id, "expire"), [409, "INVALID_TRANSITION"])
      assert.include((yield* simulated(part.id, "pay")).invoice, { status: "paid", amount_paid: 10_000 })

      const over = yield* newInvoice(shop, { amount_usd: 10 })
      assert.include((yield* simulated(over.id, "overpay")).invoice, { status: "paid", amount_paid: 11_000 })
      assert.include(yield* types(over.id), "invoice.overpaid")
      assert.deepStrictEqual(yield* refused(over.id, "expire"), [409, "INVOICE_NOT_PAYABLE"])

      const ended = yield* newInvoice(shop, { amount_usd: 10 })
      const { expires_at: before } = yield* readInvoice(shop, ended.id)
      const { event_ids, invoice: after } = yield* simulated(ended.id, "expire")
      assert.strictEqual(after.status, "expired")
      const [, moved, ...rest] = yield* eventsOf(shop, ended.id)
      assert.include(moved, { id: event_ids[0], type: "invoice.updated" })
      assert.deepStrictEqual(moved.data.previous_attributes, { expires_at: before })
      assert.deepStrictEqual(rest.map(({ type }: any) => type), ["invoice.updated", "invoice.expired"])
      assert.deepStrictEqual(yield* refused(ended.id, "late"), [409, "INVOICE_NOT_PAYABLE"])

      const late = yield* newInvoice(shop, { amount_usd: 10 })
      yield* chooseToken(shop, late, "USDC")
      yield* simulated(late.id, "expire")
      const tardy = yield* newInvoice(shop, { amount_usd: 10 })
      for (
        const { invoice, invoice_payment: payment } of yield* Effect.forEach(
          [late, tardy],
          ({ id }) => simulated(id, "late"),
          { concurrency: "unbounded" }
        )
      ) {
        assert.include(invoice, { status: "paid", amount_paid: 10_000 })
        assert.isAbove(invoice.last_payment_at, invoice.expires_at)
        assert.include(payment, { status: "confirmed", amount: 10_000 })
      }
      assert.includeMembers(yield* types(tardy.id), ["invoice.expired", "invoice.paid"])
    }))

  it.effect("shows a payor nothing of the merchant's, and a play payment with its block and without an explorer's link", () =>
    Effect.gen(function*() {
      const { service, shop } = (yield* Desk).now()
      const invoice = yield* newInvoice(shop, { amount_usd: 5, customer_id: "cust_secret" })
      const listener = yield* listen(yield* chooseToken(shop, invoice, "USDC"), service.url)
      const first = assertStatus(200, yield* simulate(shop, invoice.id, { action: "partial" })).data.invoice_payment
      assert.include(first, { customer_id: "cust_secret" })
      const again = assertStatus(200, yield* simulate(shop, invoice.id, { action: "reorg" })).data.invoice_payment
      const heights = [first, again].map(({ metadata }) => metadata.block_number)
      assert.isAbove(heights[0], 0)
      assert.isAbove(heights[1], heights[0], "the block that has it now")
      assertStatus(200, yield* simulate(shop, invoice.id, { action: "pay" }))
      const details = yield* asPayor(shop, invoice, "session-details")
      assert.lengthOf(details.payments, 2)
      const { latest_payment: latest } = yield* asPayor(shop, invoice, "payment-status")
      for (const payment of [...details.payments, latest]) {
        assert.include(payment, { customer_id: null, explorer_url: null })
        assert.match(payment.payer_tx_hash, /^0x[0-9a-f]{64}$/)
      }
      const isPaid = (frames: ReadonlyArray<any>) => frames.some(({ type }) => type === "invoice.paid")
      const frames = yield* until("the payor is told", Effect.sync(listener.frames), isPaid)
      assert.notInclude(JSON.stringify(frames), "cust_secret")
    }))

  it.effect("lets a payor send no refund to an address that the service itself gives out", () =>
    Effect.gen(function*() {
      const { service, shop } = (yield* Desk).now()
      const own = yield* newInvoice(shop, { amount_usd: 5 })
      const other = yield* newInvoice(shop, { amount_usd: 5 })
      const addresses = yield* Effect.forEach(
        [own, other],
        (each) => Effect.map(chooseToken(shop, each, "USDC"), ({ temp_address }): string => temp_address)
      )
      const tell = (address: string, network = "base") =>
        Effect.map(
          service.call("/api/v1/payments/refund-address", { headers: own.session, body: { network, address } }),
          ({ json, status }) => [status, json.code ?? null]
        )
      for (const address of addresses) {
        for (const form of [address, address.toLowerCase()]) {
          assert.deepStrictEqual(yield* tell(form), [400, "WALLET_ADDRESS_INVALID"])
          assert.deepStrictEqual(yield* tell(form, "bsc"), [400, "WALLET_ADDRESS_INVALID"], "its family shares it")
        }
      }
      assert.deepStrictEqual(yield* tell("0x52908400098527886E0F7030069857D2E4169EE7"), [200, null])
    }))

  it.effect("follows the merchant's settings at the next invoice, and lets the merchant read and note what became of it", () =>
    Effect.gen(function*() {
      const { service, shop } = (yield* Desk).now()
      const headers = { "x-api-key": shop.key }
      const settings = (body: object) =>
        Effect.map(
          service.call("/api/v1/merchant/settings", { method: "PATCH", headers, body }),
          (found) => assertStatus(200, found)
        )
      const before = yield* newInvoice(shop, { amount_usd: 10 })
      yield* settings({ payment_tolerance_amount: 500, partial_payment_policy: "any_route" })
      const after = yield* newInvoice(shop, { amount_usd: 10 })
      const part = (id: string, network: string, amount: number) =>
        Effect.map(
          simulate(shop, id, { action: "pay", network, amount }),
          (found) => assertStatus(200, found).data.invoice
        )
      assert.include(yield* part(before.id, "base", 9_500), { status: "underpaid" })
      assert.include(yield* part(after.id, "base", 4_000), { status: "underpaid" })
      assert.include(yield* part(after.id, "optimism", 5_500), {
        status: "paid",
        amount_paid: 9_500,
        amount_remaining: 0
      })
      yield* settings({ payment_tolerance_amount: null, partial_payment_policy: null })

      const read = (path: string) => Effect.map(service.call(path, { headers }), (found) => assertStatus(200, found))
      const status = yield* read(`/api/v1/invoices/${after.id}/status`)
      // Both were seen in one second, or not: which one is the latest is not what is tried here.
      assert.strictEqual(status.invoice.status, "paid")
      const { data: payments } = yield* read(`/api/v1/invoices/${after.id}/payments`)
      assert.deepStrictEqual(payments.map(({ amount }: any) => amount).toSorted(), [4_000, 5_500])
      assert.deepInclude(payments, status.latest_payment)
      assert.deepStrictEqual(yield* read(`/api/v1/invoice-payments/${payments[0].id}`), payments[0])
      const noted = yield* service.call(`/api/v1/invoices/${after.id}`, {
        method: "PATCH",
        headers,
        body: { metadata: { seen: true } }
      })
      assert.deepStrictEqual(assertStatus(200, noted).metadata, { seen: true })
      const told = (yield* eventsOf(shop, after.id)).at(-1)
      assert.deepStrictEqual([told.type, told.data.previous_attributes], ["invoice.updated", { metadata: {} }])
    }))

  it.effect("shows a commerce key the commerce invoices and their events, and the merchant's key all of them", () =>
    Effect.gen(function*() {
      const { service, shop } = (yield* Desk).now()
      const { commerce_key } = yield* service.keys
      const standard = yield* newInvoice(shop, { amount_usd: 2 })
      const commerce = yield* newInvoice({ ...shop, key: commerce_key }, { amount_usd: 3, customer_id: "cust_c" })
      assert.strictEqual(commerce.created.invoice.invoice_type, "commerce")
      assertStatus(200, yield* simulate(shop, commerce.id, { action: "pay" }))
      const list = yield* service.call("/api/v1/events?limit=100", { headers: { "x-commerce-api-key": commerce_key } })
      const seen: ReadonlyArray<any> = assertStatus(200, list).data.data
      assert.deepStrictEqual(seen.map(({ type }) => type), paid.toReversed())
      assert.deepStrictEqual([...new Set(seen.map(({ data }) => data.object.invoice_type))], ["commerce"])
      const mine = yield* service.call("/api/v1/invoices", { headers: { "x-api-key": commerce_key } })
      assert.deepStrictEqual(assertStatus(200, mine).data.map(({ id }: any) => id), [commerce.id])
      const hidden = yield* service.call(`/api/v1/invoices/${standard.id}`, { headers: { "x-api-key": commerce_key } })
      assert.deepStrictEqual([hidden.status, hidden.json.code], [404, "INVOICE_NOT_FOUND"])
      assert.lengthOf(yield* eventsOf(shop, commerce.id), paid.length)
      assert.include(yield* readInvoice(shop, commerce.id), { status: "paid", invoice_type: "commerce" })
    }))

  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    it.effect(`keeps everything when it is stopped by ${signal} and started again`, () =>
      Effect.gen(function*() {
        const { now, restart } = yield* Desk
        const { shop: before } = now()
        const open = yield* newInvoice(before, { amount_usd: 6, customer_id: `cust-${signal}` })
        const key = { "x-api-key": before.key, "idempotency-key": `kept-${signal}` }
        const first = yield* before.service.call("/api/v1/invoices", { headers: key, body: { amount_usd: 3 } })
        const shown = yield* chooseToken(before, open, "USDC")
        const delivered = (all: ReadonlyArray<any>) => all.every(({ pending_webhooks: count }) => count === 0)
        const events = yield* until("its webhooks are delivered", eventsOf(before, open.id), delivered)

        const code = yield* restart(signal)
        assert.strictEqual(code, signal === "SIGTERM" ? 0 : null)
        const { service, shop } = now()
        assert.notInclude(service.output(), "Demo Store is ready")

        assert.deepStrictEqual(yield* eventsOf(shop, open.id), events)
        const replay = yield* service.call("/api/v1/invoices", { headers: key, body: { amount_usd: 3 } })
        assert.strictEqual(replay.text, first.text)
        assert.strictEqual(replay.headers["idempotent-replayed"], "true")
        assert.include(yield* asPayor(shop, open, "payment-status"), { status: "unpaid" })
        const again = yield* requestAddress(shop, open, { network: "base", token_id: shown.supported_token_id })
        assert.strictEqual(again.json.temp_address, shown.temp_address)

        const listener = yield* listen(again.json, service.url)
        assertStatus(200, yield* simulate(shop, open.id, { action: "pay" }))
        yield* assertEvents(shop, open, listener, paid)
        assert.include(yield* readInvoice(shop, `cust-${signal}`), { id: open.id, status: "paid" })
        assert.deepStrictEqual(service.errors(), [])
      }))
  }

  it.effect(
    "keeps payments that wait waiting when it is killed, on every network, and confirms them afterwards",
    () =>
      Effect.gen(function*() {
        const { now, restart } = yield* Desk
        const { shop: before } = now()
        const invoices = yield* Effect.forEach(networks, (network) =>
          Effect.gen(function*() {
            const { id } = yield* newInvoice(before, { amount_usd: 8 })
            const sent = yield* simulate(before, id, { action: "pay", network, confirmations: 0 })
            const { invoice_payment: payment } = assertStatus(200, sent).data
            assert.include(payment, { status: "pending", network })
            return { id, network, payment }
          }))
        yield* restart("SIGKILL")
        const { service, shop } = now()
        // Blocks that came since show that each network is followed again.
        const heads = Effect.map(
          Effect.delay(service.call("/api/v1/networks/status"), lookPause),
          (found) =>
            new Map<string, number>(
              assertStatus(200, found).data.data.map((each: any) => [each.network, each.head_height])
            )
        )
        const first = yield* heads
        yield* until(
          "every network goes on",
          heads,
          (later) => networks.every((network) => (later.get(network) ?? 0) > (first.get(network) ?? 0) + 1)
        )
        for (const { id, network, payment } of invoices) {
          const { data } = assertStatus(
            200,
            yield* service.call(`/api/v1/invoices/${id}/payments`, { headers: { "x-api-key": shop.key } })
          )
          assert.deepStrictEqual(data, [payment], network)
          const confirmed = assertStatus(200, yield* simulate(shop, id, { action: "confirm" })).data
          assert.include(confirmed.invoice, { status: "paid" }, network)
          assert.include(confirmed.invoice_payment, { id: payment.id, status: "confirmed" }, network)
        }
        const warnings = service.output().split("\n").filter((line) => /"level":"(?:warn|error|fatal)"/.test(line))
        assert.deepStrictEqual(warnings, [], "nothing of it needs anybody's care")
      })
  )
})
