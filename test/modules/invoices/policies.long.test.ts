/**
 * Goal: every setting of a merchant changes what becomes of its later invoices, and of no earlier one.
 * Method: whole paths, from `PATCH` of the settings over the transfer to the invoice that is read back.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { usdc } from "../../fixtures/tokens.ts"
import {
  type Caller,
  callerOf,
  choose,
  ether,
  invoiceService,
  mainnetUsdc,
  newInvoice,
  newMerchant,
  openExceptions,
  receiveTransfer,
  runDue,
  setPrice,
  usualPrices
} from "./InvoiceService.ts"

const change = (caller: Caller, settings: object) =>
  caller.ok("/api/v1/merchant/settings", { method: "PATCH", body: settings })

/** A merchant with these settings, on its key of an environment. */
const merchantWith = Effect.fnUntraced(function*(settings: object, environment: "devnet" | "mainnet" = "devnet") {
  usualPrices()
  const caller = callerOf(yield* newMerchant, "merchant", environment)
  yield* change(caller, settings)
  return caller
})

const read = (caller: Caller, { id }: { readonly id: string }) =>
  caller.ok(`/api/v1/invoices/${id}?expand=latest_payment`)

/** Base units of a test dollar's cent. */
const cent = 10_000n

/** $10 for a minute. */
const ten = { amount: 10_000, expires_in: 60_000 }

/** An invoice whose payor was shown 0.005 ETH when one was worth $2,000, and lets it end; one is worth $1,000 since. */
const lapsed = Effect.fnUntraced(function*(latePaymentPolicy: string, secondsAfterEnd = 540) {
  const caller = yield* merchantWith({ late_payment_policy: latePaymentPolicy })
  const invoice = yield* newInvoice(caller, ten)
  const { tokenAmount } = yield* choose(invoice.id, ether)
  yield* TestClock.adjust(`${60 + secondsAfterEnd} seconds`)
  yield* runDue
  assert.include(yield* read(caller, invoice), { status: "expired" })
  setPrice("ethereum", "1000")
  yield* receiveTransfer(invoice, ether, tokenAmount!)
  return { invoice, after: yield* read(caller, invoice) }
})

layer(invoiceService)("a merchant's settings decide", (it) => {
  it.effect("payment_tolerance_*: how much may be missing, unless the invoice says its own", () =>
    Effect.gen(function*() {
      const caller = yield* merchantWith({ payment_tolerance_amount: 300, payment_tolerance_bps: 500 })
      const paidWith = Effect.fnUntraced(function*(cents: bigint, more: object = {}) {
        const invoice = yield* newInvoice(caller, { ...ten, ...more })
        yield* receiveTransfer(invoice, usdc, cents * cent)
        return (yield* read(caller, invoice)).status
      })
      assert.strictEqual(yield* paidWith(950n), "paid")
      assert.strictEqual(yield* paidWith(949n), "underpaid")
      assert.strictEqual(yield* paidWith(940n, { payment_tolerance_bps: 600 }), "paid")
      assert.strictEqual(yield* paidWith(970n, { payment_tolerance_bps: 0 }), "paid")
      assert.strictEqual(yield* paidWith(969n, { payment_tolerance_bps: 0 }), "underpaid")
    }))

  it.effect("overpay_tolerance_amount: how much more opens an exception", () =>
    Effect.gen(function*() {
      for (const [tolerance, expected] of [[500, ["overpaid"]], [510, []]] as const) {
        const caller = yield* merchantWith({ overpay_tolerance_amount: tolerance })
        const invoice = yield* newInvoice(caller, ten)
        yield* receiveTransfer(invoice, usdc, 1_051n * cent)
        assert.include(yield* read(caller, invoice), { status: "paid", amount_paid: 10_510 })
        assert.deepStrictEqual<ReadonlyArray<string>>(yield* openExceptions(invoice.id), expected)
      }
    }))

  it.effect("late_payment_policy spot_rate: late funds are worth what they are worth then", () =>
    Effect.gen(function*() {
      const { after } = yield* lapsed("spot_rate")
      assert.include(after, { status: "underpaid", amount_paid: 5_000 })
      assert.include(after.latest_payment.metadata.quote, { pricing: "spot", exchange_rate: "1000" })
    }))

  it.effect("late_payment_policy locked_rate: late funds are worth what the payor was shown last", () =>
    Effect.gen(function*() {
      const { after } = yield* lapsed("locked_rate")
      assert.include(after, { status: "paid", amount_paid: 10_000 })
      assert.include(after.latest_payment.metadata.quote, { pricing: "locked", exchange_rate: "2000" })
    }))

  it.effect("late_payment_policy locked_rate: ends a day after the invoice, and the payment says so", () =>
    Effect.gen(function*() {
      const day = 86_400
      const { after: inTime } = yield* lapsed("locked_rate", day)
      assert.include(inTime, { status: "paid", amount_paid: 10_000 })
      assert.notProperty(inTime.latest_payment.metadata.quote, "pricing_reason")
      // The payor waited until the price had halved: what was sent counts, at what it is worth.
      const { after } = yield* lapsed("locked_rate", day + 1)
      assert.include(after, { status: "underpaid", amount_paid: 5_000 })
      assert.include(after.latest_payment.metadata.quote, {
        pricing: "spot",
        exchange_rate: "1000",
        quote_id: null,
        pricing_reason: "locked_rate_ended"
      })
      const { after: atSpot } = yield* lapsed("spot_rate", day + 1)
      assert.notProperty(atSpot.latest_payment.metadata.quote, "pricing_reason")
    }))

  it.effect("late_payment_policy locked_rate: a route that was never shown is worth the spot price all the same", () =>
    Effect.gen(function*() {
      const caller = yield* merchantWith({ late_payment_policy: "locked_rate" })
      const invoice = yield* newInvoice(caller, ten)
      yield* choose(invoice.id, usdc)
      yield* TestClock.adjust("10 minutes")
      yield* runDue
      setPrice("ethereum", "1000")
      yield* receiveTransfer(invoice, ether, 5_000_000_000_000_000n)
      const after = yield* read(caller, invoice)
      assert.include(after, { status: "underpaid", amount_paid: 5_000 })
      assert.strictEqual(after.latest_payment.metadata.quote.pricing, "spot")
      assert.notProperty(after.latest_payment.metadata.quote, "pricing_reason")
    }))

  it.effect("late_payment_policy manual: late funds wait for a person", () =>
    Effect.gen(function*() {
      const { after, invoice } = yield* lapsed("manual")
      assert.include(after, { status: "expired", amount_paid: 0 })
      assert.include(after.latest_payment, { status: "rejected" })
      assert.deepStrictEqual(yield* openExceptions(invoice.id), ["late_payment"])
    }))

  it.effect("late_window_seconds: until when late funds count", () =>
    Effect.gen(function*() {
      for (const [seconds, status, exceptions] of [[120, "paid", []], [121, "expired", ["late_payment"]]] as const) {
        const caller = yield* merchantWith({ late_window_seconds: 120 })
        const invoice = yield* newInvoice(caller, ten)
        yield* TestClock.adjust(`${60 + seconds} seconds`)
        yield* runDue
        yield* receiveTransfer(invoice, usdc, 1_000n * cent)
        assert.strictEqual((yield* read(caller, invoice)).status, status)
        assert.deepStrictEqual<ReadonlyArray<string>>(yield* openExceptions(invoice.id), exceptions)
      }
    }))

  it.effect("underpaid_grace_seconds: how long a part may be completed before an exception opens", () =>
    Effect.gen(function*() {
      const caller = yield* merchantWith({ underpaid_grace_seconds: 300, late_payment_policy: "manual" })
      const [open, completed] = [yield* newInvoice(caller, ten), yield* newInvoice(caller, ten)]
      yield* receiveTransfer(open, usdc, 400n * cent)
      yield* receiveTransfer(completed, usdc, 400n * cent)
      yield* TestClock.adjust("359 seconds")
      yield* runDue
      assert.deepStrictEqual(yield* openExceptions(open.id), [])
      yield* receiveTransfer(completed, usdc, 600n * cent)
      assert.include(yield* read(caller, completed), { status: "paid" })
      yield* TestClock.adjust("1 second")
      yield* runDue
      assert.deepStrictEqual(yield* openExceptions(open.id), ["underpaid_expired"])
      assert.include(yield* read(caller, open), { status: "underpaid" })
      assert.strictEqual((yield* Effect.flip(choose(open.id, usdc))).code, "INVOICE_NOT_PAYABLE")
    }))

  it.effect("partial_payment_policy: whether the rest may come by another route", () =>
    Effect.gen(function*() {
      for (const policy of ["lock_route", "any_route"]) {
        const caller = yield* merchantWith({ partial_payment_policy: policy })
        const invoice = yield* newInvoice(caller, ten)
        yield* receiveTransfer(invoice, usdc, 400n * cent)
        const other = yield* Effect.result(choose(invoice.id, ether))
        assert.strictEqual(
          other._tag === "Failure" ? other.failure.code : "shown",
          policy === "lock_route" ? "ROUTE_LOCKED" : "shown"
        )
        yield* choose(invoice.id, usdc)
        // What is offered is locked, not what is credited.
        yield* receiveTransfer(invoice, ether, 3_000_000_000_000_000n)
        assert.include(yield* read(caller, invoice), { status: "paid" })
      }
    }))

  it.effect("confirmation_policy: how deep a payment must be", () =>
    Effect.gen(function*() {
      const cases = [["fast", 99_999, 1], ["fast", 100_000, 10], ["standard", 10, 10], ["final", 10, 900]] as const
      for (const [policy, amount, blocks] of cases) {
        const caller = yield* merchantWith({ confirmation_policy: policy }, "mainnet")
        const invoice = yield* newInvoice(caller, { amount })
        yield* receiveTransfer(invoice, mainnetUsdc, cent, "seen")
        const { latest_payment: payment, status } = yield* read(caller, invoice)
        assert.deepStrictEqual([status, payment.status], ["unpaid", "pending"])
        assert.strictEqual(payment.metadata.required_confirmations, blocks, `${policy} ${amount}`)
      }
    }))

  it.effect("invoice_default_expires_in: how long an invoice lives that says nothing", () =>
    Effect.gen(function*() {
      const caller = yield* merchantWith({ invoice_default_expires_in: 120_000 })
      const said = yield* newInvoice(caller, ten)
      const unsaid = yield* newInvoice(caller, { amount: 10_000 })
      assert.deepStrictEqual([said.expires_at - said.created_at, unsaid.expires_at - unsaid.created_at], [60, 120])
    }))

  it.effect("about later invoices only: what is there keeps the settings it was created under", () =>
    Effect.gen(function*() {
      const caller = yield* merchantWith({ payment_tolerance_amount: 500, late_payment_policy: "manual" })
      const before = yield* newInvoice(caller, ten)
      yield* change(caller, { payment_tolerance_amount: 0, late_payment_policy: "spot_rate" })
      const after = yield* newInvoice(caller, ten)
      yield* receiveTransfer(before, usdc, 950n * cent)
      yield* receiveTransfer(after, usdc, 950n * cent)
      assert.include(yield* read(caller, before), { status: "paid" })
      assert.include(yield* read(caller, after), { status: "underpaid" })
      const other = yield* newInvoice(callerOf(caller.id, "merchant", "mainnet"), ten)
      yield* receiveTransfer(other, mainnetUsdc, 999n * cent)
      assert.include(yield* read(callerOf(caller.id, "merchant", "mainnet"), other), { status: "paid" })
    }))
})
