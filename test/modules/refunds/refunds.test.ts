/**
 * Goal: a refund lands in its invoice's own commit or not at all, however many ask at once, and its money is paid once.
 * Method: invoices, payments and refunds over the real commit log; transfers, prices and time come when the test says
 * so.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Invoices } from "../../../modules/invoices/plugin.ts"
import { PayorDetails } from "../../../modules/payments/plugin.ts"
import { type RefundCommand, type RefundRequest, Refunds, type RefundState } from "../../../modules/refunds/plugin.ts"
import { makeRepo, unfinishedStatuses } from "../../../modules/refunds/repo.ts"
import * as Actors from "../../../runtime/Actors.ts"
import { noCause } from "../../../runtime/Commit.ts"
import { MerchantClock } from "../../../runtime/MerchantClock.ts"
import { isPublicError } from "../../../schemas/Errors.ts"
import { usdMillis } from "../../../schemas/Money.ts"
import { usdc } from "../../fixtures/tokens.ts"
import {
  callerOf,
  choose,
  ether,
  eventsOf,
  invoiceService,
  losePrice,
  newInvoice,
  newMerchant,
  receiveTransfer,
  reportAgain,
  runDue,
  setPrice,
  usualPrices
} from "../invoices/InvoiceService.ts"

/** Base units of a test dollar. */
const dollar = 1_000_000n
const address = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
const destination = { network: "base", address, memo: null } as const

const paidInvoice = Effect.fnUntraced(function*(dollars: bigint, asked = 10_000) {
  usualPrices()
  const caller = callerOf(yield* newMerchant)
  const invoice = yield* newInvoice(caller, { amount: asked, expires_in: 3_600_000 })
  yield* choose(invoice.id, usdc)
  const entry = yield* receiveTransfer(invoice, usdc, dollars * dollar)
  return { caller, invoice, entry }
})

const remaining: RefundRequest = { amount: "remaining", reason: "other", destination: null, feeFree: false }

/** Opens a refund in a change of its own, as `invoices` decides it. */
const openBy = (invoices: Context.Service.Shape<typeof Invoices>, invoiceId: string, ask: RefundRequest) =>
  Effect.gen(function*() {
    const refunds = yield* Refunds
    const { facts } = yield* invoices.change(
      invoiceId,
      noCause,
      (current, now) =>
        Effect.map(refunds.open(current, ask, now), (opened) => opened === null ? { commands: [] } : { ...opened })
    )
    return facts.flatMap((each) => each._tag === "Refund" ? [(each as { readonly refund?: RefundState }).refund!] : [])
  })

const open = (invoiceId: string, ask: RefundRequest) =>
  Effect.flatMap(Invoices, (invoices) => Effect.map(openBy(invoices, invoiceId, ask), ([refund]) => refund!))

const command = (id: string, what: RefundCommand) =>
  Effect.flatMap(Refunds, (refunds) => refunds.change(id, what, noCause, "service:test"))

const codeOf = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.match(self, { onSuccess: () => "done", onFailure: (error) => isPublicError(error) ? error.code : "other" })

const stored = (id: string) => Effect.flatMap(Refunds, (refunds) => Effect.map(refunds.find(id), (found) => found!))

/** A second instance on the same database: mailboxes of its own. */
const otherInvoices = Effect.gen(function*() {
  const here = yield* Effect.context<never>()
  const actors = yield* Layer.build(Layer.fresh(Actors.layer))
  const built = yield* Layer.build(Layer.fresh(Invoices.layer)).pipe(
    Effect.provideContext(Context.merge(here, actors) as Context.Context<any>)
  )
  return Context.get(built as Context.Context<any>, Invoices) as Context.Service.Shape<typeof Invoices>
})

layer(invoiceService)("refunds", (it) => {
  it.effect("of many calls at once, on two instances, never come to more than was received", () =>
    Effect.gen(function*() {
      const { invoice } = yield* paidInvoice(10n)
      const both = [yield* Invoices, yield* otherInvoices]
      const ask: RefundRequest = { ...remaining, amount: usdMillis(4_000n), destination }
      const codes = yield* Effect.forEach(
        Array.from({ length: 8 }, (_, index) => both[index % 2]!),
        (invoices) => codeOf(openBy(invoices, invoice.id, ask)),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(codes.filter((code) => code === "done").length, 2, codes.join())
      for (const code of codes) assert.include(["done", "REFUND_EXCEEDS_RECEIVED", "SERVICE_UNAVAILABLE"], code)
      const all = yield* (yield* Refunds).ofInvoice(invoice.merchant_id, invoice.id)
      assert.deepStrictEqual(all.map(({ amount }) => amount), [usdMillis(4_000n), usdMillis(4_000n)])
    }).pipe(Effect.scoped))

  it.effect("go where the payor said, later or before, and their payout is told as one event of each payment", () =>
    Effect.gen(function*() {
      const { caller, invoice } = yield* paidInvoice(4n)
      yield* receiveTransfer(invoice, usdc, 3n * dollar)
      const waiting = yield* open(invoice.id, remaining)
      assert.deepInclude({ ...waiting }, { status: "awaiting_destination", destination: null })
      const current = (yield* (yield* Invoices).find(invoice.id))!.invoice
      yield* (yield* PayorDetails).saveRefundAddress(current, { ...destination, address: address.toLowerCase() })
      const begun = yield* stored(waiting.id)
      assert.deepInclude({ ...begun, amount: begun.amount.toString() }, {
        status: "processing",
        amount: "7000",
        destination
      })
      assert.strictEqual(begun.tokenAmount, 6_980_000n)

      yield* command(begun.id, { _tag: "Submit", txHash: "0xpay" })
      yield* command(begun.id, { _tag: "Succeed", txHash: "0xpay" })
      yield* command(begun.id, { _tag: "Succeed", txHash: "0xpay" })
      const told = (yield* eventsOf(invoice.id)).slice(-4)
      assert.deepStrictEqual(told.map(({ type }) => type), [
        "invoice_payment.refunded",
        "invoice_payment.refunded",
        "invoice.updated",
        "invoice.canceled"
      ])
      for (const { data } of told.slice(0, 2)) {
        assert.include(data.object, { settlement_status: "refunded", settled_amount: 0 })
        assert.include(data.previous_attributes, { settlement_status: null, settled_amount: null })
      }
      assert.include(yield* caller.ok(`/api/v1/invoices/${invoice.id}`), { status: "canceled", amount_paid: 7_000 })

      const next = yield* paidInvoice(5n)
      const known = (yield* (yield* Invoices).find(next.invoice.id))!.invoice
      yield* (yield* PayorDetails).saveRefundAddress(known, destination)
      assert.deepInclude({ ...yield* open(next.invoice.id, remaining) }, { status: "processing", destination })
    }))

  it.effect("without a price wait for it, and without a destination end after 30 days", () =>
    Effect.gen(function*() {
      usualPrices()
      const caller = callerOf(yield* newMerchant)
      const invoice = yield* newInvoice(caller, { amount: 10_000, expires_in: 3_600_000 })
      yield* receiveTransfer(invoice, ether, 10n ** 15n)
      losePrice("ethereum")
      const refund = yield* open(invoice.id, { ...remaining, destination })
      assert.strictEqual(refund.status, "pending_approval")
      assert.strictEqual(yield* codeOf(command(refund.id, { _tag: "Approve" })), "QUOTE_UNAVAILABLE")
      yield* TestClock.adjust("61 seconds")
      yield* runDue
      assert.strictEqual((yield* stored(refund.id)).status, "pending_approval")
      setPrice("ethereum", "3000")
      yield* TestClock.adjust("2 minutes")
      yield* runDue
      const priced = yield* stored(refund.id)
      assert.strictEqual(priced.status, "processing")
      assert.strictEqual(priced.tokenAmount, 660_000_000_000_000n, "1.98 dollars at 3000, rounded down")

      const { caller: { id }, invoice: other } = yield* paidInvoice(5n)
      const waiting = yield* open(other.id, remaining)
      yield* (yield* MerchantClock).advance(id, 30 * 86_400)
      yield* runDue
      assert.strictEqual((yield* stored(waiting.id)).status, "expired")
      assert.strictEqual((yield* open(other.id, remaining)).amount, 5_000n, "what it was for is still owed")
    }))

  it.effect("of a payment that goes from the chain are not paid out", () =>
    Effect.gen(function*() {
      const { entry, invoice } = yield* paidInvoice(10n)
      const refund = yield* open(invoice.id, { ...remaining, destination })
      assert.strictEqual(refund.status, "processing")
      yield* reportAgain({ ...entry, status: "reverted" })
      assert.deepInclude({ ...yield* stored(refund.id) }, { status: "failed", failureCode: "payment_reverted" })
      assert.strictEqual(yield* codeOf(command(refund.id, { _tag: "Retry" })), "REFUND_EXCEEDS_RECEIVED")
    }))

  it.effect("of money that came too late are paid out once it is deep in the chain, and not before", () =>
    Effect.gen(function*() {
      usualPrices()
      const caller = callerOf(yield* newMerchant)
      const invoice = yield* newInvoice(caller, { amount: 10_000, expires_in: 60_000 })
      yield* choose(invoice.id, usdc)
      yield* caller.ok(`/api/v1/invoices/${invoice.id}/cancel`, { method: "POST" })
      const entry = yield* receiveTransfer(invoice, usdc, 10n * dollar, "seen")
      const refund = yield* open(invoice.id, { ...remaining, payments: "late", destination })
      assert.deepInclude({ ...refund }, { status: "pending_approval", source: "late" })
      assert.strictEqual(yield* codeOf(command(refund.id, { _tag: "Approve" })), "REFUND_EXCEEDS_RECEIVED")
      yield* reportAgain({ ...entry, status: "confirmed" })
      assert.strictEqual((yield* stored(refund.id)).status, "processing")
      const types = (yield* eventsOf(invoice.id)).map(({ type }) => type)
      assert.deepStrictEqual(types.slice(-3), [
        "invoice_payment.created",
        "exception.opened",
        "invoice_payment.updated"
      ])
    }))

  it.effect("are counted by status for the operator, until they are over", () =>
    Effect.gen(function*() {
      const { unfinishedCounts } = yield* makeRepo
      const countsOf = Effect.map(unfinishedCounts, (found) => unfinishedStatuses.map((each) => found.get(each) ?? 0))
      const before = yield* countsOf
      const { invoice } = yield* paidInvoice(10n)
      const refund = yield* open(invoice.id, remaining)
      const first = unfinishedStatuses.indexOf("awaiting_destination")
      assert.deepStrictEqual(yield* countsOf, before.map((count, place) => place === first ? count + 1 : count))
      yield* command(refund.id, { _tag: "Cancel" })
      assert.deepStrictEqual(yield* countsOf, before)
    }))

  it.effect("take no destination that cannot be paid to", () =>
    Effect.gen(function*() {
      const { invoice } = yield* paidInvoice(10n)
      const bad = { ...destination, address: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1Beaed" }
      assert.strictEqual(yield* codeOf(open(invoice.id, { ...remaining, destination: bad })), "WALLET_ADDRESS_INVALID")
      assert.deepStrictEqual(yield* (yield* Refunds).ofInvoice(invoice.merchant_id, invoice.id), [])
      const waiting = yield* open(invoice.id, remaining)
      for (
        const [where, code] of [
          [bad, "WALLET_ADDRESS_INVALID"],
          [{ ...destination, address: usdc.address! }, "WALLET_ADDRESS_INVALID"],
          [{ ...destination, memo: "7" }, "VALIDATION_ERROR"],
          [{ network: "sui", address: `0x${"a".repeat(64)}`, memo: null }, "UNSUPPORTED_NETWORK"]
        ] as const
      ) {
        assert.strictEqual(yield* codeOf(command(waiting.id, { _tag: "SetDestination", destination: where })), code)
      }
      assert.strictEqual((yield* stored(waiting.id)).version, 1, "nothing of it was written")
    }))
})
