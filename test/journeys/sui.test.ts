/**
 * Goal: money that moves on Sui becomes the right invoice state, and all three channels tell the same story.
 * Method: the service as a process, a ledger of our own behind two nodes that speak Sui's gRPC-Web, a webhook receiver
 * and a payor's websocket; every step is compared over the events API, the verified webhooks and the socket.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { HDKey } from "@scure/bip32"
import { randomBytes } from "node:crypto"
import { devnetXpub } from "../../modules/chains/simulated.ts"
import { addressOf } from "../../modules/chains/sui/Wallet.ts"
import { connect, emptyDatabase } from "../support/Database.ts"
import { makeReceiver } from "../support/Receiver.ts"
import { configOf, prices, type Service, startService, temporaryDirectory, until } from "../support/Service.ts"
import { suiCoin, usdcCoin } from "../support/sui/Ledger.ts"
import { payor, suiAddress, type SuiRig, suiRig } from "../support/SuiRig.ts"
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

/** The deployment's addresses, in their order of use. */
const pool = Array.from({ length: 40 }, (_, place) => suiAddress(place))

class Town extends Context.Service<Town, {
  readonly rig: SuiRig
  readonly service: Service
  readonly shop: Shop
  readonly sql: SqlClient.SqlClient
}>()("test/SuiTown") {
  static readonly layer = Layer.effect(
    Town,
    Effect.gen(function*() {
      const rig = yield* suiRig()
      const second = yield* rig.addNode
      const database = yield* emptyDatabase
      const receiver = yield* makeReceiver()
      const service = yield* startService({
        directory: yield* temporaryDirectory,
        config: configOf({
          database: database.url,
          receivers: [receiver.host],
          prices: { ...prices, sui: "3.5" },
          chains: [{
            use: "sui",
            options: {
              environment: "devnet",
              rpc: [{ url: rig.node.url }, { url: second.url, headers: { "x-token": "of-a-provider" } }],
              chainId: rig.ledger.chainId,
              wallet: { kind: "pool", value: pool.join(" ") },
              agreementAboveUsd: 0,
              pollMillis: 25
            }
          }]
        })
      })
      const sql = Context.get(yield* Layer.build(connect(database)), SqlClient.SqlClient)
      const shop = yield* openShop(service, receiver, (yield* service.keys).merchant_key)
      return { rig, service, shop, sql }
    })
  )
}

/** An open invoice, shown in one token, with the payor's page listening. */
const open = Effect.fnUntraced(function*(fields: object, symbol: string) {
  const { service, shop } = yield* Town
  const invoice = yield* newInvoice(shop, { customer_id: "cust_7", metadata: { order_id: "ORD-1" }, ...fields })
  const shown = yield* chooseToken(shop, invoice, symbol, "sui")
  return { invoice, shown, listener: yield* listen(shown, service.url) }
})

const send = (to: string, amount: bigint, coinType = usdcCoin) =>
  Effect.map(Town, ({ rig }) => rig.pay({ to, coinType, amount }))

const exceptionsOf = (invoiceId: string) =>
  Effect.flatMap(Town, ({ sql }) =>
    Effect.orDie(
      sql<any>`SELECT type, status, amount::text FROM exceptions WHERE invoice_id = ${invoiceId} ORDER BY id`
    ))

const paid = ["invoice.created", ...transferTypes("invoice.paid")]

layer(Town.layer, { excludeTestServices: true, timeout: "120 seconds" })("on Sui", (it) => {
  it.effect("a transfer of USDC pays an invoice, seen first as pending, then confirmed by another node", () =>
    Effect.gen(function*() {
      const { rig, shop } = yield* Town
      const { invoice, listener, shown } = yield* open({ amount_usd: 49.99 }, "USDC")
      assert.include(shown, { temp_address: pool[0], estimated_token_amount: "49.990000" })
      assert.strictEqual(shown.payment_uri, `sui:${pool[0]}`)
      yield* assertEvents(shop, invoice, listener, ["invoice.created"])
      const digest = yield* send(shown.temp_address, 49_990_000n)
      const { events, last } = yield* assertEvents(shop, invoice, listener, paid)
      assert.include(events[1].data.object, {
        status: "pending",
        network: "sui",
        payer_tx_hash: digest,
        payer_wallet_address: payor,
        amount: 49_990,
        payer_amount_token: "49.990000",
        confirmed_at: null
      })
      assert.strictEqual(events[2].data.object.status, "confirmed")
      assert.include(last.data.object, { status: "paid", amount_paid: 49_990, payer_wallet_network: "sui" })
      assert.deepStrictEqual(yield* readInvoice(shop, invoice.id), last.data.object)
      const status = yield* asPayor(shop, invoice, "payment-status")
      assert.include(status.latest_payment, { confirmations: 1, required_confirmations: 1 })
      assert.strictEqual(rig.ledger.balanceOf(shown.temp_address, usdcCoin), 49_990_000n)
    }))

  it.effect("the native coin pays an invoice at the quoted amount", () =>
    Effect.gen(function*() {
      const { shop } = yield* Town
      const { invoice, listener, shown } = yield* open({ amount_usd: "7.00" }, "SUI")
      assert.strictEqual(shown.estimated_token_amount, "2.000000000")
      yield* send(shown.temp_address, 2_000_000_000n, suiCoin)
      const { last } = yield* assertEvents(shop, invoice, listener, paid)
      assert.include(last.data.object, { status: "paid", amount_paid: 7_000 })
      assert.lengthOf(yield* exceptionsOf(invoice.id), 0)
    }))

  it.effect("two partial payments pay an invoice, and an overpayment opens an exception", () =>
    Effect.gen(function*() {
      const { shop } = yield* Town
      const { invoice, listener, shown } = yield* open({ amount_usd: 5 }, "USDC")
      yield* send(shown.temp_address, 2_000_000n)
      const first = ["invoice.created", ...transferTypes("invoice.partial_payment")]
      const partial = yield* assertEvents(shop, invoice, listener, first)
      assert.include(partial.last.data.object, { status: "underpaid", amount_paid: 2_000, amount_remaining: 3_000 })
      yield* send(shown.temp_address, 5_000_000n)
      yield* until("it is paid", readInvoice(shop, invoice.id), ({ status }) => status === "paid")
      const context = yield* Effect.context<Town>()
      const found = yield* until(
        "an exception",
        Effect.provideContext(exceptionsOf(invoice.id), context),
        ({ length }) => length > 0
      )
      assert.deepStrictEqual(found, [{ type: "overpaid", status: "open", amount: "2000" }])
    }))

  it.effect("a late payment still pays", () =>
    Effect.gen(function*() {
      const { rig, shop, sql } = yield* Town
      const { invoice, listener, shown } = yield* open({ amount_usd: 5, expires_in: 60_000 }, "USDC")
      yield* Effect.orDie(
        sql`UPDATE invoices SET expires_at = created_at - 5, due_at = created_at - 5 WHERE id = ${invoice.id}`
      )
      rig.ledger.mine(4)
      const expiry = ["invoice.created", "invoice.updated", "invoice.expired"]
      const expired = yield* assertEvents(shop, invoice, listener, expiry, ["expires_at"])
      assert.include(expired.last.data.object, { status: "expired", amount_paid: 0 })
      const refused = yield* requestAddress(shop, invoice, { network: "sui", token_id: shown.supported_token_id })
      assert.strictEqual(refused.json.code, "INVOICE_NOT_PAYABLE")
      yield* send(shown.temp_address, 5_000_000n)
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
      const { service, shop } = yield* Town
      const merchant = (path: string, body: object, method = "POST") =>
        service.call(`/api/v1/merchant/tokens${path}`, { method, headers: { "x-api-key": shop.key }, body })
      const list = yield* service.call("/api/v1/merchant/tokens", { headers: { "x-api-key": shop.key } })
      const sui = list.json.tokens.find(({ token_symbol }: any) => token_symbol === "SUI").id
      assertStatus(200, yield* merchant("/policy", { acceptance_policy: "selective" }, "PUT"))
      assertStatus(200, yield* merchant(`/${sui}/block`, { blocked: true }))
      const { invoice, shown } = yield* open({ amount_usd: 5 }, "USDC")
      yield* send(shown.temp_address, 2_000_000_000n, suiCoin)
      const context = yield* Effect.context<Town>()
      const found = yield* until(
        "an exception",
        Effect.provideContext(exceptionsOf(invoice.id), context),
        ({ length }) => length > 0
      )
      assert.strictEqual(found[0].type, "wrong_token")
      assert.include(yield* readInvoice(shop, invoice.id), { status: "unpaid", amount_paid: 0 })
      assertStatus(200, yield* merchant("/policy", { acceptance_policy: "accept_all" }, "PUT"))
    }))

  it.effect("a failed transfer pays nothing and is not told of", () =>
    Effect.gen(function*() {
      const { rig, shop } = yield* Town
      const { invoice, listener, shown } = yield* open({ amount_usd: 5 }, "USDC")
      rig.ledger.transfer(payor, [{ to: shown.temp_address, coinType: usdcCoin, amount: 5_000_000n }], true)
      rig.ledger.mine(1)
      yield* send(shown.temp_address, 5_000_000n)
      const { events } = yield* assertEvents(shop, invoice, listener, paid)
      assert.strictEqual(events[1].data.object.amount, 5_000)
    }))

  it.effect("a look-alike of USDC credits nothing, and waits for a person", () =>
    Effect.gen(function*() {
      const { rig, shop } = yield* Town
      const { invoice, shown } = yield* open({ amount_usd: 5 }, "USDC")
      const alike = `0x${"9".repeat(64)}::usdc::USDC`
      rig.ledger.mint(payor, alike, 5_000_000n)
      yield* send(shown.temp_address, 5_000_000n, alike)
      const context = yield* Effect.context<Town>()
      const found = yield* until(
        "an exception",
        Effect.provideContext(exceptionsOf(invoice.id), context),
        ({ length }) => length > 0
      )
      assert.strictEqual(found[0].type, "wrong_token")
      assert.include(yield* readInvoice(shop, invoice.id), { status: "unpaid", amount_paid: 0 })
    }))

  it.effect("money on an address that no invoice has is found within the hour, and pays none", () =>
    Effect.gen(function*() {
      const { rig, sql } = yield* Town
      const digest = yield* send(pool.at(-1)!, 5_000_000n)
      rig.ledger.mine(14_400)
      const found = yield* until(
        "the payment is recorded",
        Effect.orDie(sql<any>`SELECT * FROM exceptions WHERE type = 'unmatched_payment'`),
        (rows) => rows.length > 0
      )
      assert.lengthOf(found, 1)
      const text = JSON.stringify(found[0], (_key, value) => typeof value === "bigint" ? `${value}` : value)
      assert.include(text, digest)
    }))

  it.effect("a merchant's own xpub is paid at its first address, and one of an EVM network is refused", () =>
    Effect.gen(function*() {
      const { service, shop } = yield* Town
      const path = "/api/v1/merchant/wallets/sui"
      const headers = { "x-api-key": shop.key }
      const give = (value: string) => service.call(path, { method: "PUT", headers, body: { kind: "xpub", value } })
      const account = HDKey.fromMasterSeed(randomBytes(32)).derive("m/54'/784'/0'")
      const addresses = [0, 1, 2].map((index) => addressOf(account.deriveChild(0).deriveChild(index).publicKey!))
      for (const value of [devnetXpub, account.publicExtendedKey, `${devnetXpub} ${addresses[0]}`]) {
        const refused = yield* give(value)
        assert.deepStrictEqual([refused.status, refused.json.code], [400, "WALLET_INVALID"])
        assert.include(refused.text, "the first address that your own wallet shows")
        assert.notInclude(refused.text, value)
      }
      const set = yield* give(`${account.publicExtendedKey} ${addresses[0]}`)
      assert.deepStrictEqual(assertStatus(200, set).first_addresses, addresses)
      const { invoice, listener, shown } = yield* open({ amount_usd: 4 }, "USDC")
      assert.strictEqual(shown.temp_address, addresses[0])
      yield* send(shown.temp_address, 4_000_000n)
      yield* assertEvents(shop, invoice, listener, paid)
      assertStatus(200, yield* service.call(path, { method: "DELETE", headers }))
    }))

  it.effect("nothing went wrong meanwhile that the operator would be told of", () =>
    Effect.gen(function*() {
      const { service } = yield* Town
      const messages = service.errors().map((line) => JSON.parse(line).msg)
      // The payment that belongs to no invoice is told to the operator, and is the only thing that is.
      assert.lengthOf(messages, 1, messages.join("\n"))
      assert.match(messages[0], /^money arrived that belongs to no invoice/)
      const report = yield* until(
        "a clean bill of health",
        service.call("/health/ready"),
        ({ json }) => json.status === "ok"
      )
      assert.strictEqual(report.status, 200)
    }))
})
