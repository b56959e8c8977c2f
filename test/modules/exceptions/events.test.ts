/**
 * Goal: whoever names `exception.*` hears of every exception once when it opens and once when it is resolved, in the
 * object that its route shows; and nobody hears of the operator's. Method: the real router, commit log, invoices and
 * payments; the events as they are stored.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Invoices } from "../../../modules/invoices/plugin.ts"
import { systemMerchant } from "../../../runtime/Commit.ts"
import { usdMillis } from "../../../schemas/Money.ts"
import { usdc } from "../../fixtures/tokens.ts"
import {
  callerOf,
  invoiceService,
  newInvoice,
  newMerchant,
  post,
  receiveTransfer,
  runDue
} from "../invoices/InvoiceService.ts"

const dollar = 1_000_000n
const ten = { amount: 10_000, expires_in: 60_000 }

/** The events of a merchant's exceptions, the first one first. */
const exceptionEventsOf = Effect.fnUntraced(function*(merchantId: number) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* Effect.orDie(sql<{
    readonly type: string
    readonly data: string
    readonly environment: string
    readonly invoice_id: string | null
    readonly customer_id: string | null
    readonly commerce: boolean
    readonly is_for_payors: boolean
  }>`SELECT type, data, environment, invoice_id, customer_id, commerce, is_for_payors FROM events
    WHERE merchant_id = ${merchantId} AND type LIKE 'exception.%' ORDER BY ms, seq`)
  return rows.map(({ data, ...row }) => ({ ...row, ...JSON.parse(data) as { object: any; previous_attributes: any } }))
})

const typesOf = (events: ReadonlyArray<{ readonly type: string }>) => events.map(({ type }) => type)

const opened = "exception.opened"
const resolved = "exception.resolved"

/** The state of an exception of money that pays no invoice. */
const unmatched = Effect.fnUntraced(function*(merchantId: number, isOpen: boolean, amount = 12_500n) {
  const id = `exc_019b40e7-dd80-4cfc-9209-${String(merchantId).padStart(12, "0")}`
  yield* Effect.orDie((yield* Invoices).recordUnmatched({
    id,
    type: "unmatched_payment",
    merchantId,
    environment: "devnet",
    isOpen,
    amount: usdMillis(amount),
    evidence: { network: "base", tx_hash: "0xab", address: "0x1", token: "0x2", token_amount: "12.5" }
  }, []))
  return id
})

layer(invoiceService)("events of exceptions", (it) => {
  it.effect("tell the object that the route shows, for the merchant alone", () =>
    Effect.gen(function*() {
      const caller = callerOf(yield* newMerchant)
      const invoice = yield* newInvoice(caller, { ...ten, customer_id: "cust_1" })
      yield* receiveTransfer(invoice, usdc, 15n * dollar)
      const { data: [exception] } = (yield* caller.ok("/api/v1/exceptions")).data
      assert.deepStrictEqual(yield* exceptionEventsOf(caller.id), [{
        type: opened,
        environment: "devnet",
        invoice_id: invoice.id as string,
        customer_id: "cust_1",
        commerce: false,
        is_for_payors: false,
        object: exception,
        previous_attributes: {}
      }])
      const { data: decided } = yield* caller.ok(
        `/api/v1/exceptions/${exception.id}/resolve`,
        post({ action: "credit", note: "a tip" })
      )
      const [, last, ...more] = yield* exceptionEventsOf(caller.id)
      assert.deepStrictEqual([last!.type, more], [resolved, []])
      assert.deepStrictEqual(last!.object, decided)
      assert.deepStrictEqual({ ...last!.object, ...last!.previous_attributes }, exception)
      assert.isFalse(last!.is_for_payors)
    }))

  it.effect("are told to everybody but payors as a change of the payment behind them, as its own route shows it", () =>
    Effect.gen(function*() {
      const caller = callerOf(yield* newMerchant)
      const invoice = yield* newInvoice(caller, ten)
      yield* receiveTransfer(invoice, usdc, 10n * dollar)
      yield* receiveTransfer(invoice, usdc, 10n * dollar)
      const { data: [exception] } = (yield* caller.ok("/api/v1/exceptions")).data
      const payment = Effect.map(
        caller.ok(`/api/v1/invoices/${invoice.id}/payments`),
        ({ data }) => data.find(({ id }: { id: string }) => id === exception.invoice_payment_id)
      )
      const before = yield* payment
      const named = { id: exception.id, type: "duplicate_payment", status: "open" }
      assert.deepStrictEqual(before.metadata.exception, named)
      yield* caller.ok(`/api/v1/exceptions/${exception.id}/resolve`, post({ action: "ignore" }))
      const after = yield* payment
      assert.deepStrictEqual(after.metadata, { ...before.metadata, exception: { ...named, status: "resolved" } })
      const [told] = yield* Effect.orDie((yield* SqlClient.SqlClient)<{ data: string; is_for_payors: boolean }>`
        SELECT data, is_for_payors FROM events WHERE merchant_id = ${caller.id} AND type = 'invoice_payment.updated'
        ORDER BY ms DESC, seq DESC LIMIT 1`)
      assert.isFalse(told!.is_for_payors)
      assert.deepStrictEqual(JSON.parse(told!.data), {
        object: after,
        previous_attributes: { metadata: before.metadata }
      })
    }))

  it.effect("come once for an opening and once for a decision, however many callers decide at once", () =>
    Effect.gen(function*() {
      const caller = callerOf(yield* newMerchant)
      yield* receiveTransfer(yield* newInvoice(caller, ten), usdc, 15n * dollar)
      yield* unmatched(caller.id, true)
      const { data: found } = (yield* caller.ok("/api/v1/exceptions?status=open")).data
      assert.lengthOf(found, 2)
      for (const { id } of found) {
        const answers = yield* Effect.forEach(
          Array.from({ length: 20 }, (_, index) => callerOf(caller.id, "merchant", "devnet", index)),
          (each) => each.call(`/api/v1/exceptions/${id}/resolve`, post({ action: "credit" })),
          { concurrency: "unbounded" }
        )
        assert.lengthOf(answers.filter(({ status }) => status === 200), 1)
        const ofOne = (yield* exceptionEventsOf(caller.id)).filter(({ object }) => object.id === id)
        assert.deepStrictEqual(typesOf(ofOne), [opened, resolved])
      }
    }))

  it.effect("tell of what goes away by itself, without a decision", () =>
    Effect.gen(function*() {
      const caller = callerOf(yield* newMerchant)
      yield* caller.ok("/api/v1/merchant/settings", {
        method: "PATCH",
        body: { underpaid_grace_seconds: 300, partial_payment_policy: "any_route" }
      })
      const part = yield* newInvoice(caller, ten)
      yield* receiveTransfer(part, usdc, 4n * dollar)
      yield* TestClock.adjust("360 seconds")
      yield* runDue
      const [over] = yield* exceptionEventsOf(caller.id)
      assert.deepInclude(over!.object, { type: "underpaid_expired", amount: 4_000, status: "open" })
      yield* caller.ok("/api/v1/merchant/settings", { method: "PATCH", body: { late_payment_policy: "spot_rate" } })
      yield* receiveTransfer(part, usdc, 6n * dollar)
      const [, gone, ...others] = yield* exceptionEventsOf(caller.id)
      assert.deepStrictEqual([gone!.type, others], [resolved, []])
      assert.deepInclude(gone!.object, { id: over!.object.id, resolution: null, allowed_actions: [] })
      assert.deepStrictEqual({ ...gone!.object, ...gone!.previous_attributes }, over!.object)
    }))

  it.effect("of a commerce invoice are the merchant's too: no commerce key reads exceptions", () =>
    Effect.gen(function*() {
      const caller = callerOf(yield* newMerchant)
      const invoice = yield* newInvoice(callerOf(caller.id, "commerce"), ten)
      yield* receiveTransfer(invoice, usdc, 15n * dollar)
      const [opening] = yield* exceptionEventsOf(caller.id)
      assert.include(opening, { type: opened, invoice_id: invoice.id as string, commerce: false })
    }))

  it.effect("of money without an invoice tell when it opens, goes, comes back and is decided on", () =>
    Effect.gen(function*() {
      const caller = callerOf(yield* newMerchant)
      const id = yield* unmatched(caller.id, true)
      yield* unmatched(caller.id, true)
      yield* TestClock.adjust("2 seconds")
      yield* unmatched(caller.id, false)
      yield* unmatched(caller.id, true, 13_000n)
      yield* caller.ok(`/api/v1/exceptions/${id}/resolve`, post({ action: "ignore", note: "ours" }))
      yield* unmatched(caller.id, false)
      const events = yield* exceptionEventsOf(caller.id)
      assert.deepStrictEqual(typesOf(events), [opened, resolved, opened, resolved])
      for (const [index, { object, previous_attributes: previous }] of events.entries()) {
        const before = index === 0 ? object : events[index - 1]!.object
        assert.deepStrictEqual({ ...object, ...previous }, before)
      }
      assert.deepInclude(events[2]!.previous_attributes, { status: "resolved", amount: 12_500 })
      assert.deepInclude(events[2]!.object, { status: "open", amount: 13_000, invoice_id: null })
      assert.deepStrictEqual((yield* caller.ok(`/api/v1/exceptions/${id}`)).data, events[3]!.object)
    }))

  it.effect("are none where the exception is the operator's: no merchant may hear of it", () =>
    Effect.gen(function*() {
      const caller = callerOf(yield* newMerchant)
      const invoice = yield* newInvoice(caller, ten)
      const invoices = yield* Invoices
      const decision = (invoiceId: string | null) => ({
        resolution: {
          action: invoiceId === null ? "ignore" as const : "assign" as const,
          note: "",
          actor: "x",
          invoiceId
        },
        cause: { requestId: null, idempotencyKey: null },
        check: () => null,
        reply: () => undefined,
        writes: () => Effect.succeed([])
      })
      const id = yield* unmatched(systemMerchant, true)
      yield* unmatched(systemMerchant, false)
      yield* unmatched(systemMerchant, true)
      yield* Effect.orDie(invoices.assignException(systemMerchant, id, {
        merchantId: null,
        environment: "devnet",
        invoiceId: invoice.id,
        plan: () => Effect.succeed({ commands: [], writes: [] })
      }, decision(invoice.id)))
      assert.strictEqual((yield* invoices.findException(systemMerchant, id))?.exception.status, "resolved")
      for (const merchantId of [systemMerchant, caller.id]) {
        assert.deepStrictEqual(yield* exceptionEventsOf(merchantId), [])
      }
    }))
})
