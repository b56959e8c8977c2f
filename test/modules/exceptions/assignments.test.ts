/**
 * Goal: money that names no invoice counts for exactly the one that a person gives it to, at the price of when it was
 * recorded, and goes away with its transfer. Method: the real router, commit log, invoices and payments; the journal
 * hands over transfers without an invoice.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import type { JournalEntry } from "../../../runtime/Chains.ts"
import { usdc } from "../../fixtures/tokens.ts"
import {
  type Caller,
  callerOf,
  ether,
  eventsOf,
  handOverTransfer,
  invoiceService,
  losePrice,
  newInvoice,
  newMerchant,
  post,
  runDue,
  setPrice,
  transferTo,
  usualPrices
} from "../invoices/InvoiceService.ts"

const ten = { amount: 10_000 }
/** What ten dollars are in ether at the usual price. */
const tenInEther = 5_000_000_000_000_000n

/** Money on a wallet of the merchant that names no invoice, and the exception of it. */
const unmatched = Effect.fnUntraced(function*(caller: Caller, token = ether, units = tenInEther) {
  const invoice = yield* newInvoice(caller, ten)
  const entry: JournalEntry = { ...yield* transferTo(invoice, token, units), invoiceId: null }
  yield* handOverTransfer(entry)
  const { data: [exception] } = (yield* caller.ok("/api/v1/exceptions?type=unmatched_payment&limit=1")).data
  return { entry, exception, invoice }
})

const resolve = (caller: Caller, { id }: { readonly id: string }, body: object, key?: string) =>
  caller.call(`/api/v1/exceptions/${id}/resolve`, post(body, key))

const assign = (caller: Caller, exception: { readonly id: string }, invoice: { readonly id: string }, key?: string) =>
  resolve(caller, exception, { action: "assign", invoice_id: invoice.id, note: "named by the customer" }, key)

/** What the events of a merchant's exceptions carry, the first one first. */
const exceptionEventsOf = ({ id }: Caller) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) =>
      sql<
        { data: string }
      >`SELECT data FROM events WHERE merchant_id = ${id} AND type LIKE 'exception.%' ORDER BY ms, seq`
  )
    .pipe(Effect.orDie, Effect.map((rows) => rows.map(({ data }) => JSON.parse(data))))

const read = (caller: Caller, { id }: { readonly id: string }) =>
  caller.ok(`/api/v1/invoices/${id}?expand=latest_payment`)

layer(invoiceService)("money that names no invoice", (it) => {
  it.effect("says what it was worth, and counts for the invoice it is assigned to, whatever the price is by then", () =>
    Effect.gen(function*() {
      usualPrices()
      const caller = callerOf(yield* newMerchant)
      const { entry, exception, invoice } = yield* unmatched(caller)
      assert.deepInclude(exception, { amount: 10_000, allowed_actions: ["refund", "credit", "assign", "ignore"] })
      setPrice("ethereum", "1000")
      const { json, status } = yield* assign(caller, exception, invoice)
      assert.strictEqual(status, 200, JSON.stringify(json))
      assert.deepInclude(json.data, { status: "resolved", invoice_id: null })
      assert.deepInclude(json.data.resolution, { action: "assign", invoice_id: invoice.id })
      const after = yield* read(caller, invoice)
      assert.include(after, { status: "paid", amount_paid: 10_000 })
      const [journalled] = yield* Effect.orDie((yield* SqlClient.SqlClient)<{ invoice_id: string }>`
        SELECT invoice_id FROM transfers WHERE id = ${entry.id}`)
      assert.strictEqual(journalled?.invoice_id, invoice.id, "whatever asks for the invoice's transfers finds it")
      assert.include(after.latest_payment, { status: "confirmed", payer_tx_hash: entry.txHash })
      assert.deepInclude(after.latest_payment.metadata.quote, { exchange_rate: "2000", pricing: "spot" })
      assert.deepStrictEqual((yield* eventsOf(invoice.id)).map(({ type }) => type), [
        "invoice.created",
        "invoice_payment.created",
        "invoice_payment.updated",
        "invoice.updated",
        "invoice.paid"
      ])
      const [opened, resolved, ...more] = yield* exceptionEventsOf(caller)
      assert.deepStrictEqual([opened?.object, resolved?.object, more], [exception, json.data, []])
      assert.deepStrictEqual({ ...resolved!.object, ...resolved!.previous_attributes }, exception)
    }))

  it.effect("counts for an invoice whose time is over, and leaves it with its transfer and comes back with it", () =>
    Effect.gen(function*() {
      usualPrices()
      const caller = callerOf(yield* newMerchant)
      yield* caller.ok("/api/v1/merchant/settings", { method: "PATCH", body: { late_payment_policy: "manual" } })
      const ended = yield* newInvoice(caller, { ...ten, expires_in: 60_000 })
      yield* TestClock.adjust("2 minutes")
      yield* runDue
      assert.include(yield* read(caller, ended), { status: "expired" })
      const { entry, exception } = yield* unmatched(caller)
      assert.strictEqual((yield* assign(caller, exception, ended)).status, 200)
      assert.include(yield* read(caller, ended), { status: "paid" })
      const assigned = { ...entry, invoiceId: ended.id as string }
      yield* handOverTransfer({ ...assigned, status: "reverted", handledStatus: "confirmed", version: 3 })
      const gone = yield* read(caller, ended)
      assert.include(gone, { amount_paid: 0 })
      assert.include(gone.latest_payment, { status: "reverted" })
      const { data: [opened] } = (yield* caller.ok(`/api/v1/exceptions?invoice_id=${ended.id}`)).data
      assert.strictEqual(opened.type, "reorged")
      yield* handOverTransfer({ ...assigned, status: "confirmed", handledStatus: "reverted", version: 4 })
      assert.include(yield* read(caller, ended), { status: "paid", amount_paid: 10_000 })
      const { data } = yield* caller.ok(`/api/v1/exceptions/${exception.id}`)
      assert.deepInclude(data, { status: "resolved", type: "unmatched_payment" })
    }))

  it.effect("is given away once, however many invoices it is assigned to at the same time", () =>
    Effect.gen(function*() {
      usualPrices()
      const caller = callerOf(yield* newMerchant)
      const { exception } = yield* unmatched(caller)
      const invoices = yield* Effect.forEach(Array.from({ length: 20 }), () => newInvoice(caller, ten))
      const answers = yield* Effect.forEach(
        invoices,
        (invoice, index) => assign(callerOf(caller.id, "merchant", "devnet", index), exception, invoice),
        { concurrency: "unbounded" }
      )
      assert.lengthOf(answers.filter(({ status }) => status === 200), 1)
      for (const { json, status } of answers) {
        if (status !== 200) assert.include(["EXCEPTION_ALREADY_RESOLVED", "SERVICE_UNAVAILABLE"], json.error.code)
      }
      assert.deepStrictEqual(
        (yield* exceptionEventsOf(caller)).map(({ object }) => object.status),
        ["open", "resolved"],
        "one event of each"
      )
      const paid = yield* Effect.forEach(invoices, (invoice) => read(caller, invoice))
      assert.strictEqual(paid.reduce((sum, { amount_paid }) => sum + amount_paid, 0), 10_000)
    }))

  it.effect("is assigned to no invoice of somebody else, of an order, or canceled, and to none that is not named", () =>
    Effect.gen(function*() {
      usualPrices()
      const caller = callerOf(yield* newMerchant)
      const { exception, invoice } = yield* unmatched(caller)
      const stranger = callerOf(yield* newMerchant)
      const foreign = yield* newInvoice(stranger, ten)
      const mainnet = yield* newInvoice(callerOf(caller.id, "merchant", "mainnet"), ten)
      const commerce = yield* newInvoice(callerOf(caller.id, "commerce"), ten)
      const canceled = yield* newInvoice(caller, ten)
      yield* caller.ok(`/api/v1/invoices/${canceled.id}/cancel`, post({}))
      const refused = Effect.fnUntraced(function*(body: object, status: number, code: string) {
        const found = yield* resolve(caller, exception, body)
        assert.deepStrictEqual([found.status, found.json.error?.code], [status, code], found.text)
      })
      for (const { id } of [foreign, mainnet, { id: "no-such-invoice" }]) {
        yield* refused({ action: "assign", invoice_id: id }, 404, "INVOICE_NOT_FOUND")
      }
      for (const { id } of [commerce, canceled]) {
        yield* refused({ action: "assign", invoice_id: id }, 409, "INVOICE_NOT_PAYABLE")
      }
      yield* refused({ action: "assign" }, 400, "VALIDATION_ERROR")
      yield* refused({ action: "credit", invoice_id: invoice.id }, 400, "VALIDATION_ERROR")
      assert.strictEqual((yield* assign(stranger, exception, foreign)).status, 404)
      const own = yield* unmatched(stranger)
      assert.strictEqual((yield* resolve(stranger, own.exception, { action: "ignore" })).status, 200)
      const other = yield* assign(stranger, own.exception, invoice)
      assert.deepStrictEqual(
        [other.status, other.json.error.code],
        [404, "INVOICE_NOT_FOUND"],
        "whose it is not is not told"
      )
      assert.deepInclude((yield* caller.ok(`/api/v1/exceptions/${exception.id}`)).data, { status: "open" })
    }))

  it.effect("without a price when it came is worth nothing that is known, and is not assigned", () =>
    Effect.gen(function*() {
      usualPrices()
      losePrice("usd-coin")
      const caller = callerOf(yield* newMerchant)
      const { exception, invoice } = yield* unmatched(caller, usdc, 10_000_000n)
      usualPrices()
      assert.deepInclude(exception, { amount: 0, allowed_actions: ["refund", "credit", "ignore"] })
      const { json } = yield* assign(caller, exception, invoice)
      assert.deepStrictEqual(json.error.details, { allowed_actions: ["refund", "credit", "ignore"] })
    }))

  it.effect("whose transfer has left its chain is not assigned any more", () =>
    Effect.gen(function*() {
      usualPrices()
      const caller = callerOf(yield* newMerchant)
      const { entry, exception, invoice } = yield* unmatched(caller)
      yield* handOverTransfer({ ...entry, status: "reverted", handledStatus: "confirmed", version: 2 })
      const { json, status } = yield* assign(caller, exception, invoice)
      assert.deepStrictEqual([status, json.error.code], [409, "EXCEPTION_ALREADY_RESOLVED"])
      assert.include(yield* read(caller, invoice), { amount_paid: 0 })
    }))
})
