/**
 * Goal: money that moves on Solana becomes the right invoice state, and all three channels tell the same story.
 * Method: the service as a process, the real token programs behind JSON-RPC, a webhook receiver and a payor's
 * websocket; every step is compared over the events API, the verified webhooks and the socket (see `assertEvents`).
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { getBase58Encoder } from "@solana/kit"
import { connect, emptyDatabase } from "../support/Database.ts"
import { makeReceiver } from "../support/Receiver.ts"
import { configOf, prices, type Service, startService, temporaryDirectory, until } from "../support/Service.ts"
import { SolanaLedger } from "../support/SolanaLedger.ts"
import { newAddress, openBank, type Payment, type SolanaBank, usdc } from "../support/SolanaPayments.ts"
import { solanaNode } from "../support/SolanaRig.ts"
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

/** Slots come four times as often as they do: a look finds what was paid a moment ago. */
const slotMillis = 100

class Town extends Context.Service<Town, {
  readonly ledger: SolanaLedger
  readonly bank: SolanaBank
  readonly wallet: string
  readonly service: Service
  readonly shop: Shop
  readonly sql: SqlClient.SqlClient
}>()("test/SolanaTown") {
  static readonly layer = Layer.effect(
    Town,
    Effect.gen(function*() {
      const ledger = new SolanaLedger(() => Date.now() / 1000)
      const bank = yield* openBank(ledger)
      const node = yield* solanaNode(ledger)
      yield* Effect.forkScoped(Effect.repeat(Effect.sync(() => ledger.advance()), Schedule.spaced(slotMillis)))
      const wallet = yield* newAddress
      const database = yield* emptyDatabase
      const receiver = yield* makeReceiver()
      const service = yield* startService({
        directory: yield* temporaryDirectory,
        config: {
          ...configOf({
            database: database.url,
            receivers: [receiver.host],
            prices: { ...prices, solana: "200" },
            chains: [{
              use: "solana",
              options: {
                environment: "devnet",
                rpc: [node.url],
                address: wallet,
                genesisHash: ledger.genesisHash,
                pollMillis: 50
              }
            }]
          }),
          tokenSources: [{
            use: "bundled",
            options: {
              extra: [{
                network: "solana",
                environment: "devnet",
                symbol: "FEEUSD",
                name: "Dollar with a fee",
                address: bank.feeToken,
                decimals: 6,
                token_type: "spl",
                stable: true,
                asset: "usd-coin"
              }]
            }
          }]
        }
      })
      const sql = Context.get(yield* Layer.build(connect(database)), SqlClient.SqlClient)
      const shop = yield* openShop(service, receiver, (yield* service.keys).merchant_key)
      return { ledger, bank, wallet, service, shop, sql }
    })
  )
}

/** An open invoice, shown in one token, with the payor's page listening. */
const open = Effect.fnUntraced(function*(fields: object, symbol: string) {
  const { service, shop } = yield* Town
  const invoice = yield* newInvoice(shop, { customer_id: "cust_7", ...fields })
  const shown = yield* chooseToken(shop, invoice, symbol, "solana")
  return { invoice, shown, link: readLink(shown.payment_uri), listener: yield* listen(shown, service.url) }
})

/**
 * A payment link as a wallet reads it, by the words of the Solana Pay specification 1.1 and no code of the service:
 * `solana:<recipient>?amount=<amount>&spl-token=<mint>&reference=<key>…&label=…&message=…&memo=…`.
 */
const readLink = (text: string) => {
  const url = new URL(text)
  assert.strictEqual(url.protocol, "solana:")
  const references = url.searchParams.getAll("reference")
  for (const key of [url.pathname, ...references]) assert.lengthOf([...getBase58Encoder().encode(key)], 32)
  const amount = url.searchParams.get("amount")!
  assert.match(amount, /^(0|[1-9]\d*)(\.\d+)?$/)
  return {
    recipient: url.pathname,
    amount,
    token: url.searchParams.get("spl-token"),
    references,
    memo: url.searchParams.get("memo")
  }
}

type Link = ReturnType<typeof readLink>

const unitsOf = (amount: string, decimals: number): bigint => {
  const [whole, fraction = ""] = amount.split(".")
  return BigInt(whole! + fraction.padEnd(decimals, "0"))
}

/** Pays as a wallet that was given the link. */
const payLink = (link: Link, more: Partial<Payment> = {}) =>
  Effect.flatMap(Town, ({ bank }) =>
    bank.pay({
      to: link.recipient,
      token: link.token,
      amount: unitsOf(link.amount, link.token === null ? 9 : 6),
      references: link.references,
      ...link.memo === null ? {} : { memo: link.memo },
      ...more
    }))

const exceptionsOf = (invoiceId: string) =>
  Effect.flatMap(
    Town,
    ({ sql }) =>
      Effect.orDie(
        sql<any>`SELECT type, status, amount::text FROM exceptions WHERE invoice_id = ${invoiceId} ORDER BY id`
      )
  )

const paid = ["invoice.created", ...transferTypes("invoice.paid")]

layer(Town.layer, { excludeTestServices: true, timeout: "90 seconds" })("on Solana", (it) => {
  it.effect("an SPL transfer by the link pays an invoice, seen first as pending, then confirmed", () =>
    Effect.gen(function*() {
      const { bank, shop, wallet } = yield* Town
      const { invoice, link, listener, shown } = yield* open({ amount_usd: 49.99 }, "USDC")
      assert.deepInclude(link, { recipient: wallet, amount: "49.99", token: usdc, memo: shown.memo })
      assert.lengthOf(link.references, 1)
      assert.strictEqual(shown.temp_address, wallet)
      yield* assertEvents(shop, invoice, listener, ["invoice.created"])

      const signature = yield* payLink(link)
      const { events } = yield* assertEvents(shop, invoice, listener, paid)
      const [, created, confirmed, updated, last] = events.map(({ data }) => data)
      assert.include(created.object, {
        status: "pending",
        network: "solana",
        payer_tx_hash: signature,
        payer_wallet_address: bank.payer.address,
        amount: 49_990,
        payer_amount_token: "49.990000"
      })
      assert.include(confirmed.object, { status: "confirmed" })
      assert.deepStrictEqual(updated, last)
      assert.include(last.object, { status: "paid", amount_paid: 49_990, amount_remaining: 0 })
      assert.deepStrictEqual(yield* readInvoice(shop, invoice.id), last.object)
      assert.include(yield* asPayor(shop, invoice, "payment-status"), { status: "paid", amount_paid: 49_990 })
    }))

  it.effect("SOL pays an invoice at the quoted amount, with the reference alone", () =>
    Effect.gen(function*() {
      const { shop } = yield* Town
      const { invoice, link, listener } = yield* open({ amount_usd: "7.01" }, "SOL")
      assert.deepInclude(link, { amount: "0.03505", token: null })
      yield* payLink({ ...link, memo: null })
      const { last } = yield* assertEvents(shop, invoice, listener, paid)
      assert.include(last.data.object, { status: "paid", amount_paid: 7_010 })
      assert.lengthOf(yield* exceptionsOf(invoice.id), 0)
    }))

  it.effect("a memo that was typed by hand pays an invoice, without the link", () =>
    Effect.gen(function*() {
      const { bank, shop, wallet } = yield* Town
      const { invoice, listener, shown } = yield* open({ amount_usd: 6 }, "USDC")
      const memo = shown.memo.toLowerCase().replace(/(.{4})(?=.)/g, "$1-")
      yield* bank.pay({ to: wallet, token: usdc, amount: 6_000_000n, memo })
      const { last } = yield* assertEvents(shop, invoice, listener, paid)
      assert.include(last.data.object, { status: "paid", amount_paid: 6_000 })
    }))

  it.effect("of a Token-2022 token that keeps a fee, what arrived counts", () =>
    Effect.gen(function*() {
      const { shop } = yield* Town
      const { invoice, link, listener } = yield* open({ amount_usd: 10 }, "FEEUSD")
      yield* payLink(link)
      const first = ["invoice.created", ...transferTypes("invoice.partial_payment")]
      const partial = yield* assertEvents(shop, invoice, listener, first)
      assert.include(partial.last.data.object, { status: "underpaid", amount_paid: 9_900, amount_remaining: 100 })
      const again = yield* chooseToken(shop, invoice, "FEEUSD", "solana")
      assert.include(again, { temp_address: link.recipient, memo: link.memo })
      yield* payLink({ ...readLink(again.payment_uri), amount: "0.2" })
      const { last } = yield* assertEvents(shop, invoice, listener, [
        ...first,
        "invoice_payment.created",
        "invoice_payment.updated",
        "invoice_payment.updated",
        "invoice.updated",
        "invoice.paid",
        "invoice.overpaid"
      ])
      assert.include(last.data.object, { status: "paid", amount_paid: 10_098 })
    }))

  it.effect("an overpayment is told as paid and overpaid, and opens an exception", () =>
    Effect.gen(function*() {
      const { shop } = yield* Town
      const { invoice, link, listener } = yield* open({ amount_usd: 5 }, "USDC")
      yield* payLink({ ...link, amount: "7" })
      const { last } = yield* assertEvents(shop, invoice, listener, [...paid, "invoice.overpaid"])
      assert.include(last.data.object, { status: "paid", amount_paid: 7_000, amount_remaining: 0 })
      assert.deepStrictEqual(yield* exceptionsOf(invoice.id), [{ type: "overpaid", status: "open", amount: "2000" }])
    }))

  it.effect("a late payment still pays", () =>
    Effect.gen(function*() {
      const { shop, sql } = yield* Town
      const { invoice, link, listener, shown } = yield* open({ amount_usd: 5, expires_in: 60_000 }, "USDC")
      // Its end is moved to before the time in which a node's index may not show a payment yet.
      yield* Effect.orDie(
        sql`UPDATE invoices SET expires_at = created_at - 60, due_at = created_at - 60 WHERE id = ${invoice.id}`
      )
      const expiry = ["invoice.created", "invoice.updated", "invoice.expired"]
      yield* assertEvents(shop, invoice, listener, expiry, ["expires_at"])
      const refused = yield* requestAddress(shop, invoice, { network: "solana", token_id: shown.supported_token_id })
      assert.strictEqual(refused.json.code, "INVOICE_NOT_PAYABLE")
      yield* payLink(link)
      const types = [...expiry, ...transferTypes("invoice.paid")]
      const { last } = yield* assertEvents(shop, invoice, listener, types, ["expires_at"])
      assert.include(last.data.object, { status: "paid", amount_paid: 5_000 })
    }))

  it.effect("a token that no catalogue has is recorded as the wrong one, and does not pay", () =>
    Effect.gen(function*() {
      const { bank, shop } = yield* Town
      const { invoice, link } = yield* open({ amount_usd: 5 }, "USDC")
      yield* payLink({ ...link, token: bank.unlistedToken })
      const found = yield* until("the exception", exceptionsOf(invoice.id), (all) => all.length > 0)
      assert.deepStrictEqual(found.map(({ status, type }) => [type, status]), [["wrong_token", "open"]])
      assert.include(yield* readInvoice(shop, invoice.id), { status: "unpaid", amount_paid: 0 })
    }))

  it.effect("money without reference and memo pays no invoice, and an operator is told of it", () =>
    Effect.gen(function*() {
      const { bank, shop, sql, wallet } = yield* Town
      const { invoice } = yield* open({ amount_usd: 5 }, "USDC")
      const txHash = yield* bank.pay({ to: wallet, token: usdc, amount: 5_000_000n })
      const [entry] = yield* until(
        "the payment is in the journal",
        Effect.orDie(sql<any>`SELECT * FROM transfers WHERE tx_hash = ${txHash}`),
        (rows) => rows.length > 0
      )
      assert.isNull(entry.invoice_id)
      const exceptions = yield* until(
        "the exception",
        Effect.orDie(sql<any>`SELECT type, status FROM exceptions WHERE invoice_id IS NULL`),
        (rows) => rows.length > 0
      )
      assert.include(["missing_memo", "unmatched_payment"], exceptions[0].type)
      assert.include(yield* readInvoice(shop, invoice.id), { status: "unpaid", amount_paid: 0 })
    }))

  it.effect("one dropped transaction takes one payment back, and its return counts it once", () =>
    Effect.gen(function*() {
      const { ledger, shop } = yield* Town
      // Nothing becomes final until the transaction has left the chain, however slow this machine is.
      ledger.finalityDepth = 10_000
      const one = yield* open({ amount_usd: 5 }, "USDC")
      const other = yield* open({ amount_usd: 4 }, "USDC")
      const signature = yield* payLink(one.link)
      yield* payLink(other.link)
      const before = yield* assertEvents(shop, one.invoice, one.listener, paid)
      yield* assertEvents(shop, other.invoice, other.listener, paid)
      const dropped = ledger.drop(signature)
      ledger.finalityDepth = 31
      const gone = [...paid, "invoice_payment.updated", "invoice.updated"]
      const back = yield* assertEvents(shop, one.invoice, one.listener, gone)
      assert.include(back.last.data.object, { status: "unpaid", amount_paid: 0 })
      assert.strictEqual(back.events[5].data.object.status, "reverted")
      ledger.include(dropped)
      const { events, last } = yield* assertEvents(shop, one.invoice, one.listener, [
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
      yield* assertEvents(shop, other.invoice, other.listener, paid)
    }))

  it.effect("a token account given as a wallet is refused, and the wallet that owns it is taken", () =>
    Effect.gen(function*() {
      const { bank, service, shop } = yield* Town
      const own = yield* newAddress
      yield* bank.pay({ to: own, token: usdc, amount: 1n })
      const put = (value: string) =>
        service.call("/api/v1/merchant/wallets/solana", {
          method: "PUT",
          headers: { "x-api-key": shop.key },
          body: { kind: "address", value }
        })
      const refused = yield* put(yield* bank.tokenAccount(own, usdc))
      assert.deepStrictEqual([refused.status, refused.json.code], [400, "WALLET_INVALID"])
      assert.match(refused.text, /token account/)
      assert.deepStrictEqual(assertStatus(200, yield* put(own)).first_addresses, [own])
      const { invoice, link, listener } = yield* open({ amount_usd: 3 }, "USDC")
      assert.strictEqual(link.recipient, own)
      yield* payLink(link)
      yield* assertEvents(shop, invoice, listener, paid)
    }))
})
