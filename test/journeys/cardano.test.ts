/**
 * Goal: ADA that moves on a Cardano chain becomes the right invoice state, and all three channels tell the same story.
 * Method: the service as a process; a chain whose ledger checks every transaction, behind Blockfrost's REST paths; a
 * webhook receiver and a payor's websocket; every step is compared over the events API, the verified webhooks and the
 * socket (see `assertEvents`).
 */
import { assert, layer } from "@effect/vitest"
import { bech32 } from "@scure/base"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { randomBytes } from "node:crypto"
import { type Blockfrost, blockfrost, projectId } from "../support/cardano/Blockfrost.ts"
import { accountOf, type TestAccount } from "../support/cardano/Keys.ts"
import { Ledger, type RigOutput, type RigTransaction } from "../support/cardano/Ledger.ts"
import { rigAccount, rigXpub } from "../support/cardano/Rig.ts"
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
  type Shop,
  transferTypes
} from "./Shop.ts"

class Town extends Context.Service<Town, {
  readonly ledger: Ledger
  readonly server: Blockfrost
  readonly account: TestAccount
  readonly service: Service
  readonly shop: Shop
  readonly sql: SqlClient.SqlClient
}>()("test/CardanoTown") {
  static readonly layer = Layer.effect(
    Town,
    Effect.gen(function*() {
      const ledger = new Ledger(() => Math.floor(Date.now() / 1000))
      const server = yield* blockfrost(ledger)
      const database = yield* emptyDatabase
      const receiver = yield* makeReceiver()
      const service = yield* startService({
        directory: yield* temporaryDirectory,
        config: configOf({
          database: database.url,
          receivers: [receiver.host],
          prices: { cardano: "0.5" },
          chains: [{
            use: "cardano",
            options: {
              environment: "devnet",
              api: [{ url: server.url, projectId }],
              xpub: yield* rigXpub,
              pollMillis: 50
            }
          }]
        })
      })
      service.guard(projectId)
      const sql = Context.get(yield* Layer.build(connect(database)), SqlClient.SqlClient)
      const shop = yield* openShop(service, receiver, (yield* service.keys).merchant_key)
      return { ledger, server, account: yield* rigAccount, service, shop, sql }
    })
  )
}

const ada = 1_000_000n

/** An open invoice, shown in ADA, with the payor's page listening. */
const open = Effect.fnUntraced(function*(fields: object) {
  const { service, shop } = yield* Town
  const invoice = yield* newInvoice(shop, { customer_id: "cust_7", metadata: { order_id: "ORD-1" }, ...fields })
  const shown = yield* chooseToken(shop, invoice, "ADA", "cardano")
  return { invoice, shown, listener: yield* listen(shown, service.url) }
})

/** A payment in a block of its own. */
const pay = (...outputs: ReadonlyArray<RigOutput>) =>
  Effect.map(Town, ({ ledger }): RigTransaction => {
    const transaction = ledger.pay(outputs)
    ledger.mine()
    return transaction
  })

const exceptionsOf = (invoiceId: string) =>
  Effect.flatMap(
    Town,
    ({ sql }) =>
      Effect.orDie(
        sql<any>`SELECT type, status, amount::text FROM exceptions WHERE invoice_id = ${invoiceId} ORDER BY id`
      )
  )

const paid = ["invoice.created", ...transferTypes("invoice.paid")]

layer(Town.layer, { excludeTestServices: true, timeout: "90 seconds" })("on a Cardano chain", (it) => {
  it.effect("ADA pays an invoice at the quoted amount, over the link of CIP-13, at an address of the owner's wallet", () =>
    Effect.gen(function*() {
      const { account, ledger, shop } = yield* Town
      const { invoice, listener, shown } = yield* open({ amount_usd: "7.01" })
      assert.strictEqual(shown.temp_address, account.address(0, "devnet"))
      assert.strictEqual(shown.estimated_token_amount, "14.020000")
      assert.strictEqual(shown.payment_uri, `web+cardano:${shown.temp_address}?amount=14.02`)
      const link = new URL(shown.payment_uri)
      assert.deepStrictEqual([link.protocol, link.pathname, [...link.searchParams]], [
        "web+cardano:",
        shown.temp_address,
        [["amount", "14.02"]]
      ])
      yield* assertEvents(shop, invoice, listener, ["invoice.created"])

      const { txHash } = yield* pay({ address: shown.temp_address, lovelace: 14_020_000n })
      const { events, last } = yield* assertEvents(shop, invoice, listener, paid)
      const [, created, confirmed] = events.map(({ data }) => data)
      assert.include(created.object, {
        status: "pending",
        network: "cardano",
        payer_tx_hash: txHash,
        payer_wallet_address: ledger.address,
        amount: 7_010,
        payer_amount_token: "14.020000"
      })
      assert.strictEqual(confirmed.object.status, "confirmed")
      assert.include(last.data.object, { status: "paid", amount_paid: 7_010, payer_wallet_network: "cardano" })
      assert.deepStrictEqual(yield* readInvoice(shop, invoice.id), last.data.object)
      const status = yield* asPayor(shop, invoice, "payment-status")
      assert.include(status, { status: "paid", amount_paid: 7_010, amount_remaining: 0 })
    }))

  it.effect("two partial payments, even in one transaction's outputs or in two, pay an invoice", () =>
    Effect.gen(function*() {
      const { shop } = yield* Town
      const { invoice, listener, shown } = yield* open({ amount_usd: 5 })
      const address = shown.temp_address
      yield* pay({ address, lovelace: 4n * ada })
      const first = ["invoice.created", ...transferTypes("invoice.partial_payment")]
      const partial = yield* assertEvents(shop, invoice, listener, first)
      assert.include(partial.last.data.object, { status: "underpaid", amount_paid: 2_000, amount_remaining: 3_000 })
      yield* pay({ address, lovelace: 6n * ada })
      const { last } = yield* assertEvents(shop, invoice, listener, [
        ...first,
        "invoice_payment.created",
        "invoice_payment.updated",
        "invoice_payment.updated",
        "invoice.updated",
        "invoice.paid"
      ])
      assert.include(last.data.object, { status: "paid", amount_paid: 5_000, amount_remaining: 0 })
      const other = yield* open({ amount_usd: 5 })
      const twice = { address: other.shown.temp_address, lovelace: 5n * ada }
      yield* pay(twice, twice)
      const both = yield* until("both outputs", readInvoice(shop, other.invoice.id), ({ status }) => status === "paid")
      assert.include(both, { amount_paid: 5_000, amount_remaining: 0 })
    }))

  it.effect("an overpayment is told as paid and overpaid, and opens an exception", () =>
    Effect.gen(function*() {
      const { shop } = yield* Town
      const { invoice, listener, shown } = yield* open({ amount_usd: 5 })
      yield* pay({ address: shown.temp_address, lovelace: 14n * ada })
      const { last } = yield* assertEvents(shop, invoice, listener, [...paid, "invoice.overpaid"])
      assert.include(last.data.object, { status: "paid", amount: 5_000, amount_paid: 7_000, amount_remaining: 0 })
      assert.deepStrictEqual(yield* exceptionsOf(invoice.id), [{ type: "overpaid", status: "open", amount: "2000" }])
    }))

  it.effect("a late payment still pays, and is readable as late", () =>
    Effect.gen(function*() {
      const { shop, sql } = yield* Town
      const { invoice, listener, shown } = yield* open({ amount_usd: 5, expires_in: 60_000 })
      // The shortest life is a minute: its end is moved to a few seconds ago, and the timer finds it due.
      yield* Effect.orDie(
        sql`UPDATE invoices SET expires_at = created_at - 5, due_at = created_at - 5 WHERE id = ${invoice.id}`
      )
      // An invoice expires once a block of a later time was read.
      const { ledger } = yield* Town
      yield* Effect.sleep(1_100)
      ledger.mine()
      const expiry = ["invoice.created", "invoice.updated", "invoice.expired"]
      const expired = yield* assertEvents(shop, invoice, listener, expiry, ["expires_at"])
      assert.include(expired.last.data.object, { status: "expired", amount_paid: 0 })
      yield* pay({ address: shown.temp_address, lovelace: 10n * ada })
      const all = [...expiry, ...transferTypes("invoice.paid")]
      const { last } = yield* assertEvents(shop, invoice, listener, all, ["expires_at"])
      assert.include(last.data.object, { status: "paid", amount_paid: 5_000 })
      assert.isAbove(last.data.object.last_payment_at, last.data.object.expires_at)
    }))

  it.effect("another asset is recorded as a wrong token, and the ADA that carries it pays nothing", () =>
    Effect.gen(function*() {
      const { ledger, shop, service } = yield* Town
      const { invoice, shown } = yield* open({ amount_usd: 5 })
      const names = new Map([["tUSD", 5_000_000n]])
      const output = { address: shown.temp_address, lovelace: 1_500_000n, assets: new Map([[ledger.policy, names]]) }
      const { txHash } = ledger.pay([output], { mint: names })
      ledger.mine()
      const read = Effect.map(
        service.call(`/api/v1/invoices/${invoice.id}/payments`, { headers: { "x-api-key": shop.key } }),
        (found): ReadonlyArray<any> => assertStatus(200, found).data
      )
      const payments = yield* until("the payment", read, (found) => found.length > 0)
      assert.lengthOf(payments, 1)
      assert.include(payments[0], { status: "rejected", amount: 0, payer_tx_hash: txHash })
      const address = `${ledger.policy}${Buffer.from("tUSD").toString("hex")}`
      assert.include(payments[0].metadata.token, { id: null, address })
      assert.deepStrictEqual((yield* exceptionsOf(invoice.id)).map(({ type }) => type), ["wrong_token"])
      assert.include(yield* readInvoice(shop, invoice.id), { status: "unpaid", amount_paid: 0 })
      yield* pay({ address: shown.temp_address, lovelace: 10n * ada })
      yield* until("the invoice is paid", readInvoice(shop, invoice.id), ({ status }) => status === "paid")
    }))

  it.effect("money on an address that no invoice has yet is recorded as an unmatched payment", () =>
    Effect.gen(function*() {
      const { account, sql } = yield* Town
      const { txHash } = yield* pay({ address: account.address(20, "devnet"), lovelace: 9n * ada })
      const read = Effect.orDie(sql<any>`SELECT type, status FROM exceptions WHERE invoice_id IS NULL`)
      assert.deepStrictEqual(yield* until("the exception", read, (found) => found.length > 0), [
        { type: "unmatched_payment", status: "open" }
      ])
      const [entry] = yield* Effect.orDie(sql<any>`SELECT invoice_id FROM transfers WHERE tx_hash = ${txHash}`)
      assert.isNull(entry.invoice_id)
    }))

  it.effect("a rollback of two blocks takes a confirmed payment back, and its return counts it once, as the same payment", () =>
    Effect.gen(function*() {
      const { ledger, shop } = yield* Town
      const { invoice, listener, shown } = yield* open({ amount_usd: 5 })
      const transaction = yield* pay({ address: shown.temp_address, lovelace: 10n * ada })
      ledger.mine()
      const before = yield* assertEvents(shop, invoice, listener, paid)
      ledger.rollback(2)
      ledger.mine(3)
      const gone = [...paid, "invoice_payment.updated", "invoice.updated"]
      const back = yield* assertEvents(shop, invoice, listener, gone)
      assert.include(back.last.data.object, { status: "unpaid", amount_paid: 0 })
      assert.deepStrictEqual(yield* exceptionsOf(invoice.id), [{ type: "reorged", status: "open", amount: "5000" }])
      ledger.resubmit(transaction)
      ledger.mine()
      const { events, last } = yield* assertEvents(shop, invoice, listener, [
        ...gone,
        "invoice_payment.updated",
        "invoice_payment.updated",
        "invoice.updated",
        "invoice.paid"
      ])
      assert.include(last.data.object, { status: "paid", amount_paid: 5_000 })
      const ids = new Set(
        events.filter(({ data }) => data.object.object === "invoice_payment").map(({ data }) => data.object.id)
      )
      assert.deepStrictEqual([...ids], [before.events[1].data.object.id])
    }))

  it.effect("a merchant's own account shows the addresses that its wallet shows, and is paid from the next invoice on", () =>
    Effect.gen(function*() {
      const { service, shop } = yield* Town
      const account = yield* Effect.promise(() => accountOf(randomBytes(16)))
      const put = (value: string) =>
        service.call("/api/v1/merchant/wallets/cardano", {
          method: "PUT",
          headers: { "x-api-key": shop.key },
          body: { kind: "xpub", value }
        })
      const secret = bech32.encode("acct_xsk", bech32.toWords(account.privateBytes), 1_000)
      const refused = yield* put(secret)
      assert.strictEqual(refused.status, 400)
      assert.include(refused.text, "PRIVATE")
      assert.notInclude(refused.text, secret.slice(9, 30))
      const written = yield* put(bech32.encode("acct_xvk", bech32.toWords(account.publicBytes), 1_000))
      assert.deepStrictEqual(
        assertStatus(200, written).first_addresses,
        [0, 1, 2].map((index) => account.address(index, "devnet"))
      )
      const { invoice, listener, shown } = yield* open({ amount_usd: 4 })
      assert.strictEqual(shown.temp_address, account.address(0, "devnet"))
      yield* pay({ address: shown.temp_address, lovelace: 8n * ada })
      yield* assertEvents(shop, invoice, listener, paid)
    }))

  it.effect("nothing else went wrong meanwhile that the operator would be told of", () =>
    Effect.gen(function*() {
      const { service } = yield* Town
      const errors = service.errors().filter((line) => !line.includes("money arrived that belongs to no invoice"))
      assert.deepStrictEqual(errors, [])
      const report = yield* until(
        "a clean bill of health",
        service.call("/health/ready"),
        ({ json }) => json.status === "ok"
      )
      assert.strictEqual(report.status, 200)
      assert.notInclude(service.output(), projectId)
    }))
})
