/**
 * Goal: money that moves on a real chain becomes the right invoice state, and all three channels tell the same story.
 * Method: the service as a process, an EVM node, a webhook receiver and a payor's websocket, all real; every step is
 * compared over the events API, the verified webhooks and the socket (see `assertEvents`).
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { HDKey } from "@scure/bip32"
import { randomBytes } from "node:crypto"
import { parseEther } from "viem"
import { devnetXpub } from "../../modules/chains/simulated.ts"
import { type Anvil, anvil, usdc } from "../support/Anvil.ts"
import { connect, emptyDatabase } from "../support/Database.ts"
import { makeReceiver } from "../support/Receiver.ts"
import { configOf, type Service, startService, temporaryDirectory, until } from "../support/Service.ts"
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

class Town extends Context.Service<Town, {
  readonly node: Anvil
  readonly service: Service
  readonly shop: Shop
  readonly sql: SqlClient.SqlClient
}>()("test/Town") {
  static readonly layer = Layer.effect(
    Town,
    Effect.gen(function*() {
      const node = yield* anvil("base")
      yield* node.token("mint", [node.accounts[0]!, 1_000_000_000_000n])
      const database = yield* emptyDatabase
      const receiver = yield* makeReceiver()
      const service = yield* startService({
        directory: yield* temporaryDirectory,
        config: configOf({
          database: database.url,
          receivers: [receiver.host],
          // From index 10 on: the first addresses of this key are the node's own accounts, which do the paying.
          chains: [{
            use: "evm",
            options: {
              network: "base",
              environment: "devnet",
              rpc: [node.url],
              xpub: devnetXpub,
              startIndex: 10,
              pollMillis: 25
            }
          }]
        })
      })
      const sql = Context.get(yield* Layer.build(connect(database)), SqlClient.SqlClient)
      const shop = yield* openShop(service, receiver, (yield* service.keys).merchant_key)
      return { node, service, shop, sql }
    })
  )
}

/** An open invoice, shown in one token, with the payor's page listening. */
const open = Effect.fnUntraced(function*(fields: object, symbol: string) {
  const { service, shop } = yield* Town
  const invoice = yield* newInvoice(shop, { customer_id: "cust_7", metadata: { order_id: "ORD-1" }, ...fields })
  const shown = yield* chooseToken(shop, invoice, symbol)
  return { invoice, shown, listener: yield* listen(shown, service.url) }
})

const sendUsdc = (to: string, amount: bigint) =>
  Effect.flatMap(
    Town,
    ({ node }) => node.token("transfer", [to, amount])
  )

const paymentsOf = (invoiceId: string) =>
  Effect.flatMap(
    Town,
    ({ sql }) =>
      Effect.orDie(sql<any>`SELECT * FROM invoice_payments WHERE invoice_id = ${invoiceId} ORDER BY created_at, id`)
  )

const exceptionsOf = (invoiceId: string) =>
  Effect.flatMap(
    Town,
    ({ sql }) =>
      Effect.orDie(
        sql<any>`SELECT type, status, amount::text FROM exceptions WHERE invoice_id = ${invoiceId} ORDER BY id`
      )
  )

const paid = ["invoice.created", ...transferTypes("invoice.paid")]

layer(Town.layer, { excludeTestServices: true, timeout: "90 seconds" })("on a real EVM network", (it) => {
  it.effect("an ERC-20 transfer pays an invoice, seen first as pending, then confirmed", () =>
    Effect.gen(function*() {
      const { node, shop } = yield* Town
      const { invoice, listener, shown } = yield* open({ amount_usd: 49.99 }, "USDC")
      assert.strictEqual(shown.estimated_token_amount, "49.990000")
      assert.strictEqual(
        shown.payment_uri,
        `ethereum:${usdc}@${node.chainId}/transfer?address=${shown.temp_address}&uint256=49990000`
      )
      yield* assertEvents(shop, invoice, listener, ["invoice.created"])

      const hash = yield* sendUsdc(shown.temp_address, 49_990_000n)
      const { events } = yield* assertEvents(shop, invoice, listener, paid)

      const [, created, confirmed, updated, last] = events.map(({ data }) => data)
      assert.include(created.object, {
        status: "pending",
        network: "base",
        payer_tx_hash: hash,
        amount: 49_990,
        amount_decimal: "49.990",
        payer_amount_token: "49.990000",
        confirmed_at: null
      })
      assert.strictEqual(created.object.payer_wallet_address.toLowerCase(), node.accounts[0]!.toLowerCase())
      assert.strictEqual(confirmed.object.status, "confirmed")
      assert.strictEqual(confirmed.previous_attributes.status, "pending")
      assert.deepStrictEqual(updated, last)
      assert.include(
        last.object,
        { status: "paid", amount_paid: 49_990, amount_remaining: 0, payer_wallet_network: "base" }
      )
      assert.include(
        last.previous_attributes,
        { status: "unpaid", amount_paid: 0, amount_remaining: 49_990, paid_at: null }
      )
      assert.deepStrictEqual(last.object.metadata, { order_id: "ORD-1" })

      assert.deepStrictEqual(yield* readInvoice(shop, invoice.id), last.object)
      const status = yield* asPayor(shop, invoice, "payment-status")
      assert.include(status, { status: "paid", amount_paid: 49_990, amount_remaining: 0 })
      assert.include(
        status.latest_payment,
        { status: "confirmed", payer_tx_hash: hash, confirmations: 1, required_confirmations: 1 }
      )
      assert.deepStrictEqual(status.latest_payment.metadata, {})
      assert.notProperty(status.latest_payment, "settlement")
      const late = yield* requestAddress(shop, invoice, { network: "base", token_id: shown.supported_token_id })
      assert.deepStrictEqual([late.status, late.json.code], [409, "INVOICE_NOT_PAYABLE"])
    }))

  it.effect("the native coin pays an invoice at the quoted amount", () =>
    Effect.gen(function*() {
      const { node, shop } = yield* Town
      const { invoice, listener, shown } = yield* open({ amount_usd: "7.01" }, "ETH")
      const wei = parseEther(shown.estimated_token_amount)
      // 7.01 / 3500, rounded up at 18 decimals.
      assert.strictEqual(wei, (701n * 10n ** 18n + 349_999n) / 350_000n)
      assert.strictEqual(shown.payment_uri, `ethereum:${shown.temp_address}@${node.chainId}?value=${wei}`)
      yield* node.send({ to: shown.temp_address, value: wei })
      const { last } = yield* assertEvents(shop, invoice, listener, paid)
      assert.include(last.data.object, { status: "paid", amount_paid: 7_010 })
      assert.lengthOf(yield* exceptionsOf(invoice.id), 0)
    }))

  it.effect("two partial payments pay an invoice, and the first one fixes token and network for the second", () =>
    Effect.gen(function*() {
      const { shop } = yield* Town
      const { invoice, listener, shown } = yield* open({ amount_usd: 5 }, "USDC")
      yield* sendUsdc(shown.temp_address, 2_000_000n)
      const first = ["invoice.created", ...transferTypes("invoice.partial_payment")]
      const partial = yield* assertEvents(shop, invoice, listener, first)
      assert.include(
        partial.last.data.object,
        { status: "underpaid", amount_paid: 2_000, amount_remaining: 3_000, paid_at: null }
      )
      assert.strictEqual(partial.events[2].data.object.status, "underpaid")

      const details = yield* asPayor(shop, invoice, "session-details")
      assert.include(details, {
        invoice_status: "underpaid",
        amount_remaining: 3_000,
        locked_network: "base",
        locked_token_id: shown.supported_token_id,
        locked_payment_address: shown.temp_address
      })
      const offered = yield* asPayor(shop, invoice, "available-tokens?mode=all")
      assert.deepStrictEqual(offered.map(({ id }: any) => id), [shown.supported_token_id])
      const other = yield* requestAddress(shop, invoice, { network: "base", token_id: yield* tokenId("ETH") })
      assert.deepStrictEqual([other.status, other.json.code], [409, "ROUTE_LOCKED"])
      const again = yield* requestAddress(shop, invoice, { network: "base", token_id: shown.supported_token_id })
      assert.include(again.json, { temp_address: shown.temp_address, estimated_token_amount: "3.000000" })

      yield* sendUsdc(shown.temp_address, 3_000_000n)
      const { events, last } = yield* assertEvents(shop, invoice, listener, [
        ...first,
        "invoice_payment.created",
        "invoice_payment.updated",
        "invoice_payment.updated",
        "invoice.updated",
        "invoice.paid"
      ])
      const moves = events.slice(6, 8).map(({ data }) => [data.previous_attributes.status, data.object.status])
      assert.deepStrictEqual(moves, [["pending", "confirmed"], ["underpaid", "confirmed"]])
      assert.strictEqual(events[7].data.object.id, events[1].data.object.id)
      assert.include(last.data.object, { status: "paid", amount_paid: 5_000, amount_remaining: 0 })
    }))

  it.effect("an overpayment is told as paid and overpaid, and opens an exception", () =>
    Effect.gen(function*() {
      const { shop } = yield* Town
      const { invoice, listener, shown } = yield* open({ amount_usd: 5 }, "USDC")
      yield* sendUsdc(shown.temp_address, 7_000_000n)
      const { last } = yield* assertEvents(shop, invoice, listener, [...paid, "invoice.overpaid"])
      assert.include(last.data.object, { status: "paid", amount: 5_000, amount_paid: 7_000, amount_remaining: 0 })
      assert.deepStrictEqual(yield* exceptionsOf(invoice.id), [{ type: "overpaid", status: "open", amount: "2000" }])

      yield* sendUsdc(shown.temp_address, 1_000_000n)
      const more = yield* assertEvents(
        shop,
        invoice,
        listener,
        [...paid, "invoice.overpaid", ...transferTypes("invoice.overpaid")]
      )
      assert.include(more.last.data.object, { status: "paid", amount_paid: 8_000 })
    }))

  it.effect("a late payment still pays, and is readable as late", () =>
    Effect.gen(function*() {
      const { shop, sql } = yield* Town
      const { invoice, listener, shown } = yield* open({ amount_usd: 5, expires_in: 60_000 }, "USDC")
      // The shortest life is a minute: its end is moved to a few seconds ago, and the timer finds it due.
      yield* Effect.orDie(
        sql`UPDATE invoices SET expires_at = created_at - 5, due_at = created_at - 5 WHERE id = ${invoice.id}`
      )
      const expiry = ["invoice.created", "invoice.updated", "invoice.expired"]
      const expired = yield* assertEvents(shop, invoice, listener, expiry, ["expires_at"])
      assert.include(expired.last.data.object, { status: "expired", amount_paid: 0 })
      const refused = yield* requestAddress(shop, invoice, { network: "base", token_id: shown.supported_token_id })
      assert.strictEqual(refused.json.code, "INVOICE_NOT_PAYABLE")

      yield* sendUsdc(shown.temp_address, 5_000_000n)
      const { last } = yield* assertEvents(
        shop,
        invoice,
        listener,
        [...expiry, ...transferTypes("invoice.paid")],
        ["expires_at"]
      )
      assert.include(last.data.object, { status: "paid", amount_paid: 5_000 })
      assert.strictEqual(last.data.previous_attributes.status, "expired")
      assert.isAbove(last.data.object.last_payment_at, last.data.object.expires_at)
    }))

  it.effect("a reorg takes a confirmed payment back, and its return counts it once, as the same payment", () =>
    Effect.gen(function*() {
      const { node, shop } = yield* Town
      const { invoice, listener, shown } = yield* open({ amount_usd: 5 }, "USDC")
      const hash = yield* sendUsdc(shown.temp_address, 5_000_000n)
      const before = yield* assertEvents(shop, invoice, listener, paid)
      const raw = yield* node.rpc("eth_getRawTransactionByHash", hash)

      yield* node.reorg(1)
      const gone = [...paid, "invoice_payment.updated", "invoice.updated"]
      const back = yield* assertEvents(shop, invoice, listener, gone)
      assert.include(back.last.data.object, { status: "unpaid", amount_paid: 0, paid_at: null, last_payment_at: null })
      assert.include(back.last.data.previous_attributes, { status: "paid", amount_paid: 5_000 })
      assert.strictEqual(back.events[5].data.object.status, "reverted")
      assert.deepStrictEqual(yield* exceptionsOf(invoice.id), [{ type: "reorged", status: "open", amount: "5000" }])

      yield* node.rpc("eth_sendRawTransaction", raw)
      const { events, last } = yield* assertEvents(shop, invoice, listener, [
        ...gone,
        "invoice_payment.updated",
        "invoice_payment.updated",
        "invoice.updated",
        "invoice.paid"
      ])
      assert.deepStrictEqual(events.slice(7, 9).map(({ data }) => data.object.status), ["pending", "confirmed"])
      assert.include(last.data.object, { status: "paid", amount_paid: 5_000 })
      const ids = new Set(
        events.filter(({ data }) => data.object.object === "invoice_payment").map(({ data }) => data.object.id)
      )
      assert.deepStrictEqual([...ids], [before.events[1].data.object.id])
      assert.lengthOf(yield* paymentsOf(invoice.id), 1)
    }))

  it.effect("a smart wallet's payment, which no transaction and no log shows, is found by its balance", () =>
    Effect.gen(function*() {
      const { node, shop } = yield* Town
      const { invoice, listener, shown } = yield* open({ amount_usd: 5 }, "ETH")
      yield* node.token("forward", [shown.temp_address], { value: parseEther(shown.estimated_token_amount) })
      const { events, last } = yield* assertEvents(shop, invoice, listener, paid)
      assert.include(last.data.object, { status: "paid", amount_paid: 5_000 })
      assert.include(events[2].data.object, { payer_tx_hash: null, payer_wallet_address: null })
      assert.lengthOf(yield* paymentsOf(invoice.id), 1)
    }))

  it.effect("a merchant's own wallet is paid from the next invoice on, and an older invoice keeps its address", () =>
    Effect.gen(function*() {
      const { service, shop } = yield* Town
      const older = yield* open({ amount_usd: 3 }, "USDC")
      const wallet = "/api/v1/merchant/wallets/evm"
      const account = HDKey.fromMasterSeed(randomBytes(32)).derive("m/44'/60'/0'")
      const set = yield* service.call(wallet, {
        method: "PUT",
        headers: { "x-api-key": shop.key },
        body: { kind: "xpub", value: account.publicExtendedKey }
      })
      const first = assertStatus(200, set).first_addresses[0]
      const { invoice, listener, shown } = yield* open({ amount_usd: 4 }, "USDC")
      assert.strictEqual(shown.temp_address, first)
      yield* sendUsdc(first, 4_000_000n)
      yield* assertEvents(shop, invoice, listener, paid)
      assert.strictEqual((yield* chooseToken(shop, older.invoice, "USDC")).temp_address, older.shown.temp_address)
      yield* sendUsdc(older.shown.temp_address, 3_000_000n)
      yield* assertEvents(shop, older.invoice, older.listener, paid)
      const listed = yield* service.call("/api/v1/merchant/wallets", { headers: { "x-api-key": shop.key } })
      assert.include(assertStatus(200, listed).wallets[0], { next_index: 1, highest_used_index: 0 })
      assertStatus(200, yield* service.call(wallet, { method: "DELETE", headers: { "x-api-key": shop.key } }))
    }))

  it.effect("nothing went wrong meanwhile that the operator would be told of", () =>
    Effect.gen(function*() {
      const { service } = yield* Town
      assert.deepStrictEqual(service.errors(), [])
      const report = yield* until(
        "a clean bill of health",
        service.call("/health/ready"),
        ({ json }) => json.status === "ok"
      )
      assert.strictEqual(report.status, 200)
    }))
})

const tokenId = Effect.fnUntraced(function*(symbol: string) {
  const { service, shop } = yield* Town
  const list = yield* service.call("/api/v1/merchant/tokens", { headers: { "x-api-key": shop.key } })
  return list.json.tokens.find((each: any) => each.network === "base" && each.token_symbol === symbol).id as number
})
