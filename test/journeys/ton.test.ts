/**
 * Goal: money that moves on TON becomes the right invoice state, and all three channels tell the same story.
 * Method: the service as a process, the real virtual machine of TON behind the API that providers offer, a webhook
 * receiver and a payor's websocket; every step is compared over the events API, the verified webhooks and the socket
 * (see `assertEvents`).
 */
import { assert, layer } from "@effect/vitest"
import { Address, toNano } from "@ton/core"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { connect, emptyDatabase } from "../support/Database.ts"
import { makeReceiver } from "../support/Receiver.ts"
import { configOf, prices, type Service, startService, temporaryDirectory, until } from "../support/Service.ts"
import { onChainContent } from "../support/ton/Jetton.ts"
import { type TonJetton, TonRig } from "../support/TonRig.ts"
import {
  asPayor,
  assertEvents,
  assertStatus,
  chooseToken,
  listen,
  newInvoice,
  openShop,
  readInvoice,
  requestAddress,
  type Shop,
  transferTypes
} from "./Shop.ts"

/** The devnet catalogue's USDT. */
const usdt = "kQD0GKBM8ZbryVk2aESmzfU6b9b_8era_IkvBSELujFZPsyy"

/** A merchant's wallet that was never on the chain. */
const wallet = Address.parseRaw(`0:${"5c".repeat(32)}`).toString({ bounceable: false, testOnly: true })

class Town extends Context.Service<Town, {
  readonly rig: TonRig
  readonly jetton: TonJetton
  readonly service: Service
  readonly shop: Shop
  readonly sql: SqlClient.SqlClient
}>()("test/TonTown") {
  static readonly layer = Layer.effect(
    Town,
    Effect.gen(function*() {
      const rig = yield* Effect.promise(() => TonRig.make())
      const content = onChainContent({ symbol: "USDT", decimals: "6" })
      const jetton = yield* Effect.promise(() => rig.deployJetton(content, rig.payer, Address.parse(usdt)))
      const { url } = yield* rig.serve()
      // A chain's blocks come by themselves: seconds of a block pass before the next has them.
      yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(200), Effect.sync(() => rig.mine()))))
      const database = yield* emptyDatabase
      const receiver = yield* makeReceiver()
      const service = yield* startService({
        directory: yield* temporaryDirectory,
        config: configOf({
          database: database.url,
          receivers: [receiver.host],
          prices: { ...prices, "the-open-network": "2.5" },
          chains: [{
            use: "ton",
            options: {
              environment: "devnet",
              api: [{ url, apiKey: "key-of-the-journey" }],
              wallet: { kind: "address", value: wallet },
              pollMillis: 50
            }
          }]
        })
      })
      const sql = Context.get(yield* Layer.build(connect(database)), SqlClient.SqlClient)
      const shop = yield* openShop(service, receiver, (yield* service.keys).merchant_key)
      return { rig, jetton, service, shop, sql }
    })
  )
}

/** An open invoice, shown in one token, with the payor's page listening. */
const open = Effect.fnUntraced(function*(fields: object, symbol: string) {
  const { service, shop } = yield* Town
  const invoice = yield* newInvoice(shop, { customer_id: "cust_7", metadata: { order_id: "ORD-1" }, ...fields })
  const offered = yield* until(
    "the token is offered",
    asPayor(shop, invoice, "available-tokens?mode=network&network=ton"),
    (tokens) => tokens.some((each: any) => each.token_symbol === symbol)
  )
  assert.isAbove(offered.length, 0)
  const shown = yield* chooseToken(shop, invoice, symbol, "ton")
  return { invoice, shown, listener: yield* listen(shown, service.url) }
})

const sendUsdt = Effect.fnUntraced(function*(shown: any, amount: bigint, text: string | null = shown.memo) {
  const { jetton, rig } = yield* Town
  return yield* Effect.promise(() => rig.payJetton(jetton, Address.parse(shown.temp_address), amount, { text }))
})

const exceptionsOf = Effect.fnUntraced(function*(invoiceId: string) {
  const { sql } = yield* Town
  return yield* Effect.orDie(
    sql<any>`SELECT type, status, amount::text FROM exceptions WHERE invoice_id = ${invoiceId} ORDER BY id`
  )
})

const paid = ["invoice.created", ...transferTypes("invoice.paid")]

layer(Town.layer, { excludeTestServices: true, timeout: "120 seconds" })("on TON", (it) => {
  it.effect("USDT with the memo pays an invoice, seen first as pending, then confirmed", () =>
    Effect.gen(function*() {
      const { shop } = yield* Town
      const { invoice, listener, shown } = yield* open({ amount_usd: 49.99 }, "USDT")
      assert.strictEqual(shown.temp_address, wallet)
      assert.match(shown.memo, /^[0-9A-HJKMNP-TV-Z]{12}$/)
      assert.strictEqual(
        shown.payment_uri,
        `ton://transfer/${wallet}?jetton=${usdt}&amount=49990000&text=${shown.memo}`
      )
      const hash = yield* sendUsdt(shown, 49_990_000n)
      const { events, last } = yield* assertEvents(shop, invoice, listener, paid)
      assert.include(events[1].data.object, {
        status: "pending",
        network: "ton",
        payer_tx_hash: hash,
        amount: 49_990,
        payer_amount_token: "49.990000"
      })
      assert.include(last.data.object, { status: "paid", amount_paid: 49_990, payer_wallet_network: "ton" })
      assert.deepStrictEqual(yield* readInvoice(shop, invoice.id), last.data.object)
    }))

  it.effect("Gram to a wallet without code pays an invoice, with the memo in small letters and spaces", () =>
    Effect.gen(function*() {
      const { rig, shop } = yield* Town
      const { invoice, listener, shown } = yield* open({ amount_usd: 7 }, "GRAM")
      assert.strictEqual(shown.estimated_token_amount, "2.800000000")
      const text = ` ${shown.memo.toLowerCase().replace(/(.{4})/g, "$1 ")}`
      yield* Effect.promise(() =>
        rig.pay(Address.parse(shown.temp_address), toNano(shown.estimated_token_amount), { text })
      )
      const { last } = yield* assertEvents(shop, invoice, listener, paid)
      assert.include(last.data.object, { status: "paid", amount_paid: 7_000 })
      assert.lengthOf(yield* exceptionsOf(invoice.id), 0)
    }))

  it.effect("two payments pay an invoice, and one that is too large opens an exception", () =>
    Effect.gen(function*() {
      const { shop } = yield* Town
      const { invoice, listener, shown } = yield* open({ amount_usd: 5 }, "USDT")
      yield* sendUsdt(shown, 2_000_000n)
      const first = ["invoice.created", ...transferTypes("invoice.partial_payment")]
      const partial = yield* assertEvents(shop, invoice, listener, first)
      assert.include(partial.last.data.object, { status: "underpaid", amount_paid: 2_000, amount_remaining: 3_000 })
      yield* sendUsdt(shown, 3_000_000n)
      yield* until("it is paid", readInvoice(shop, invoice.id), ({ status }) => status === "paid")

      const over = yield* open({ amount_usd: 5 }, "USDT")
      yield* sendUsdt(over.shown, 7_000_000n)
      yield* assertEvents(shop, over.invoice, over.listener, [...paid, "invoice.overpaid"])
      assert.deepStrictEqual(yield* exceptionsOf(over.invoice.id), [
        { type: "overpaid", status: "open", amount: "2000" }
      ])
    }))

  it.effect("a late payment still pays", () =>
    Effect.gen(function*() {
      const { shop, sql } = yield* Town
      const { invoice, listener, shown } = yield* open({ amount_usd: 5, expires_in: 60_000 }, "USDT")
      yield* Effect.orDie(
        sql`UPDATE invoices SET expires_at = created_at - 90, due_at = created_at - 90 WHERE id = ${invoice.id}`
      )
      const expiry = ["invoice.created", "invoice.updated", "invoice.expired"]
      yield* assertEvents(shop, invoice, listener, expiry, ["expires_at"])
      const refused = yield* requestAddress(shop, invoice, { network: "ton", token_id: shown.supported_token_id })
      assert.strictEqual(refused.json.code, "INVOICE_NOT_PAYABLE")
      yield* sendUsdt(shown, 5_000_000n)
      const { last } = yield* assertEvents(
        shop,
        invoice,
        listener,
        [...expiry, ...transferTypes("invoice.paid")],
        ["expires_at"]
      )
      assert.include(last.data.object, { status: "paid", amount_paid: 5_000 })
    }))

  it.effect("money in a token that the merchant refuses credits nothing, and waits for a person", () =>
    Effect.gen(function*() {
      const { rig, service, shop } = yield* Town
      const merchant = (path: string, body: object, method = "POST") =>
        service.call(`/api/v1/merchant/tokens${path}`, { method, headers: { "x-api-key": shop.key }, body })
      const list = yield* service.call("/api/v1/merchant/tokens", { headers: { "x-api-key": shop.key } })
      const gram = list.json.tokens.find(({ token_symbol }: any) => token_symbol === "GRAM").id
      assertStatus(200, yield* merchant("/policy", { acceptance_policy: "selective" }, "PUT"))
      assertStatus(200, yield* merchant(`/${gram}/block`, { blocked: true }))
      const { invoice, shown } = yield* open({ amount_usd: 5 }, "USDT")
      yield* Effect.promise(() => rig.pay(Address.parse(shown.temp_address), toNano("2"), { text: shown.memo }))
      const found = yield* until(
        "an exception",
        Effect.provideContext(exceptionsOf(invoice.id), yield* Effect.context<Town>()),
        (exceptions) => exceptions.length > 0
      )
      assert.strictEqual(found[0].type, "wrong_token")
      assert.include(yield* readInvoice(shop, invoice.id), { status: "unpaid", amount_paid: 0 })
      assertStatus(200, yield* merchant("/policy", { acceptance_policy: "accept_all" }, "PUT"))
    }))

  it.effect("money without a memo changes no invoice, and waits as a payment that names none", () =>
    Effect.gen(function*() {
      const { shop, sql } = yield* Town
      const { invoice, shown } = yield* open({ amount_usd: 5 }, "USDT")
      const hash = yield* sendUsdt(shown, 5_000_000n, null)
      const found = yield* until(
        "the payment is recorded",
        Effect.orDie(sql<any>`SELECT * FROM exceptions WHERE type = 'missing_memo'`),
        (rows) => rows.length > 0
      )
      assert.lengthOf(found, 1)
      assert.include(JSON.stringify(found[0], (_key, value) => typeof value === "bigint" ? `${value}` : value), hash)
      assert.include(yield* readInvoice(shop, invoice.id), { status: "unpaid", amount_paid: 0 })
    }))

  it.effect("a merchant's own list of addresses is paid without a memo, and a jetton's account is refused", () =>
    Effect.gen(function*() {
      const { jetton, rig, service, shop } = yield* Town
      const path = "/api/v1/merchant/wallets/ton"
      const headers = { "x-api-key": shop.key }
      const jettonAccount = yield* Effect.promise(() => jetton.walletOf(rig.payer.address))
      const wrong = yield* service.call(path, {
        method: "PUT",
        headers,
        body: { kind: "address", value: jettonAccount.toString() }
      })
      assert.deepStrictEqual([wrong.status, wrong.json.code], [400, "WALLET_INVALID"])
      const addresses = ["61", "62"].map((byte) =>
        Address.parseRaw(`0:${byte.repeat(32)}`).toString({ bounceable: false, testOnly: true })
      )
      const set = yield* service.call(path, {
        method: "PUT",
        headers,
        body: { kind: "pool", value: addresses.join(" ") }
      })
      assert.deepStrictEqual(assertStatus(200, set).first_addresses, addresses)
      const { invoice, listener, shown } = yield* open({ amount_usd: 4 }, "USDT")
      assert.deepStrictEqual([shown.temp_address, shown.memo], [addresses[0], null])
      yield* sendUsdt(shown, 4_000_000n)
      yield* assertEvents(shop, invoice, listener, paid)
      assertStatus(200, yield* service.call(path, { method: "DELETE", headers }))
    }))

  it.effect("nothing went wrong meanwhile that the operator would be told of", () =>
    Effect.gen(function*() {
      const { service } = yield* Town
      const messages = service.errors().map((line) => JSON.parse(line).msg)
      // The payment without a memo is told to the operator, and is the only thing that is.
      assert.lengthOf(messages, 1)
      assert.match(messages[0], /^money arrived that belongs to no invoice/)
      const report = yield* until(
        "a clean bill of health",
        service.call("/health/ready"),
        ({ json }) => json.status === "ok"
      )
      assert.strictEqual(report.status, 200)
    }))
})
