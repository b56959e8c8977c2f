/**
 * Goal: who looks at the exceptions of an invoice sees exactly what is too much of it and waits for a decision, after
 * refunds, reorganisations and decisions in any order. Method: the real router, commit log, invoices and refunds.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Invoices } from "../../../modules/invoices/plugin.ts"
import { holdWrite, Refunds } from "../../../modules/refunds/plugin.ts"
import { noCause } from "../../../runtime/Commit.ts"
import { InvoiceId } from "../../../schemas/Ids.ts"
import { usdMillis } from "../../../schemas/Money.ts"
import { usdc } from "../../fixtures/tokens.ts"
import {
  type Caller,
  callerOf,
  invoiceService,
  newInvoice,
  newMerchant,
  passDays,
  post,
  receiveTransfer,
  reportAgain,
  usualPrices,
  walletOf
} from "../invoices/InvoiceService.ts"

const dollar = 1_000_000n
const list = "/api/v1/exceptions"
const refunds = "/api/v1/refunds"

/** An invoice of ten dollars, and what came for it. */
const invoiceWith = Effect.fnUntraced(function*(...dollars: ReadonlyArray<bigint>) {
  usualPrices()
  const id = yield* newMerchant
  const caller = callerOf(id)
  const invoice = yield* newInvoice(caller, { amount: 10_000, expires_in: 60_000 })
  const entries = yield* Effect.forEach(dollars, (each) => receiveTransfer(invoice, usdc, each * dollar))
  return { caller, entries, invoice, wallet: walletOf(id) }
})

const openOf = (caller: Caller) =>
  Effect.map(
    caller.ok(`${list}?status=open`),
    ({ data }) => data.data.filter(({ type }: any) => type !== "reorged") as ReadonlyArray<any>
  )

/** Dollars that are asked about, by type. */
const asked = (caller: Caller) =>
  Effect.map(openOf(caller), (all) => Object.fromEntries(all.map(({ amount, type }) => [type, amount / 1_000])))

const decideOn = Effect.fnUntraced(function*(caller: Caller, type: string, action: string) {
  const open = (yield* openOf(caller)).find((each) => each.type === type)
  return yield* caller.ok(`${list}/${open.id}/resolve`, post({ action }))
})

const giveBack = (caller: Caller, { id }: { readonly id: string }, body: object) =>
  Effect.map(
    caller.ok(refunds, post({ invoice_id: id, reason: "other", fee_bearer: "merchant", ...body })),
    (answer) => answer.refunds as ReadonlyArray<any>
  )

const cancel = (caller: Caller, { id }: { readonly id: string }) => caller.ok(`${refunds}/${id}/cancel`, post({}))

const paymentsOf = (caller: Caller, { id }: { readonly id: string }) =>
  Effect.map(
    caller.ok(`/api/v1/invoices/${id}?expand=payments`),
    ({ payments }) => payments.data as ReadonlyArray<any>
  )

/** A refund as an order opens it: of whatever came, without a payment. */
const orderRefund = Effect.fnUntraced(function*({ id }: { readonly id: string }, amount: bigint) {
  const engine = yield* Refunds
  const { facts } = yield* (yield* Invoices).change(InvoiceId.make(id), noCause, (current, now) =>
    Effect.map(
      engine.open(current, {
        amount: usdMillis(amount),
        reason: "order_cancelled",
        destination: null,
        feeFree: true
      }, now),
      (step) => step!
    ))
  return (facts as ReadonlyArray<any>).find(({ _tag }) => _tag === "Refund").refund as { readonly id: string }
})

layer(invoiceService)("what is too much of an invoice", (it) => {
  it.effect("is asked again of new money once the payment that was decided on has left its chain", () =>
    Effect.gen(function*() {
      for (const action of ["credit", "ignore", "refund"]) {
        const { caller, entries, invoice } = yield* invoiceWith(20n)
        yield* decideOn(caller, "overpaid", action)
        assert.deepStrictEqual(yield* asked(caller), {})
        yield* reportAgain({ ...entries[0]!, status: "reverted" })
        yield* receiveTransfer(invoice, usdc, 20n * dollar)
        assert.deepStrictEqual(yield* asked(caller), { overpaid: 10 }, action)
        yield* decideOn(caller, "overpaid", "refund")
        assert.deepStrictEqual(yield* asked(caller), {}, action)

        const other = yield* invoiceWith(10n, 10n)
        yield* decideOn(other.caller, "duplicate_payment", action)
        yield* reportAgain({ ...other.entries[1]!, status: "reverted" })
        yield* receiveTransfer(other.invoice, usdc, 15n * dollar)
        assert.deepStrictEqual(yield* asked(other.caller), { duplicate_payment: 15 }, action)
      }
    }))

  it.effect("is less what an order gives back, and all of it again where that refund is canceled or expires", () =>
    Effect.gen(function*() {
      const engine = yield* Refunds
      for (const end of ["canceled", "expired"]) {
        const { caller, invoice } = yield* invoiceWith(20n)
        const [before] = yield* openOf(caller)
        const first = yield* orderRefund(invoice, 5_000n)
        const [half] = yield* openOf(caller)
        assert.deepInclude(half, { id: before.id, amount: 5_000 })
        const second = yield* orderRefund(invoice, 15_000n)
        assert.deepStrictEqual(yield* openOf(caller), [])
        if (end === "canceled") {
          for (const { id } of [first, second]) {
            yield* engine.change(id, { _tag: "Cancel" }, noCause, "service:test")
          }
        } else {
          yield* passDays(caller, 31)
        }
        assert.deepStrictEqual([(yield* engine.find(first.id))!.status, yield* asked(caller)], [end, { overpaid: 10 }])
      }
    }))

  it.effect("is decided by one refund for all exceptions that it gives back, and each is asked again with it", () =>
    Effect.gen(function*() {
      const { caller, invoice } = yield* invoiceWith(20n, 12n)
      assert.deepStrictEqual(yield* asked(caller), { duplicate_payment: 12, overpaid: 10 })
      const [large] = (yield* paymentsOf(caller, invoice)).filter(({ amount }) => amount === 20_000)
      const [refund] = yield* giveBack(caller, invoice, { amount_mode: "full", invoice_payment_id: large.id })
      assert.deepStrictEqual([refund.amount, yield* asked(caller)], [20_000, { duplicate_payment: 2 }])
      const { data } = (yield* caller.ok(`${list}?status=resolved`)).data
      assert.sameDeepMembers(data.map(({ amount, resolution, type }: any) => [type, amount, resolution.refund_id]), [
        ["overpaid", 10_000, refund.id],
        ["duplicate_payment", 10_000, refund.id]
      ])
      yield* cancel(caller, refund)
      assert.deepStrictEqual(yield* asked(caller), { duplicate_payment: 12, overpaid: 10 })
    }))

  it.effect("is decided of two whole exceptions by one refund, which opens both again when it is given up", () =>
    Effect.gen(function*() {
      const { caller, invoice } = yield* invoiceWith(25n, 10n)
      const before = yield* openOf(caller)
      const [large] = (yield* paymentsOf(caller, invoice)).filter(({ amount }) => amount === 25_000)
      const [refund] = yield* giveBack(caller, invoice, { amount_mode: "full", invoice_payment_id: large.id })
      assert.deepStrictEqual(yield* openOf(caller), [])
      const { data } = (yield* caller.ok(`${list}?status=resolved`)).data
      assert.deepStrictEqual(data.map(({ resolution }: any) => [resolution.action, resolution.refund_id]), [
        ["refund", refund.id],
        ["refund", refund.id]
      ])
      yield* cancel(caller, refund)
      assert.deepStrictEqual((yield* openOf(caller)).map(({ amount, id }) => [id, amount]), [
        [before[0].id, 10_000],
        [before[1].id, 15_000]
      ])
    }))

  it.effect("goes back of the payments that are not too much by themselves, where the exception is about the rest", () =>
    Effect.gen(function*() {
      const { caller } = yield* invoiceWith(13n, 12n)
      const { refunds: [refund] } = yield* decideOn(caller, "overpaid", "refund")
      assert.deepStrictEqual([refund.amount, yield* asked(caller)], [3_000, { duplicate_payment: 12 }])
    }))

  it.effect("goes back of money that nobody decided to keep, so that it is asked about once", () =>
    Effect.gen(function*() {
      for (const way of ["decision", "overpaid", "custom"]) {
        const { caller, invoice } = yield* invoiceWith(15n, 5n)
        const [large] = (yield* paymentsOf(caller, invoice)).filter(({ amount }) => amount === 15_000)
        const part = { amount_mode: "custom", amount: 3_000 }
        const [given] = yield* giveBack(caller, invoice, { ...part, invoice_payment_id: large.id })
        assert.deepStrictEqual(yield* asked(caller), { overpaid: 7 })
        yield* decideOn(caller, "overpaid", "credit")
        yield* cancel(caller, given)
        assert.deepStrictEqual(yield* asked(caller), { overpaid: 3 })
        const refund = way === "decision"
          ? (yield* decideOn(caller, "overpaid", "refund")).refunds[0]
          : (yield* giveBack(caller, invoice, way === "custom" ? part : { amount_mode: "overpaid" }))[0]
        assert.deepStrictEqual([refund.amount, refund.invoice_payment_id], [3_000, large.id], way)
        assert.deepStrictEqual(yield* asked(caller), {}, way)
      }
    }))

  it.effect("is less what a wallet was given to pay out, also where the payment that it is of leaves its chain", () =>
    Effect.gen(function*() {
      const { caller, entries, invoice, wallet } = yield* invoiceWith(10n, 10n)
      const [open] = yield* openOf(caller)
      const [refund] = yield* giveBack(wallet, invoice, {
        amount_mode: "full",
        invoice_payment_id: open.invoice_payment_id,
        destination: { network: "base", address: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed" },
        auto_approve: true
      })
      assert.strictEqual(refund.status, "processing")
      const engine = yield* Refunds
      const stored = (yield* engine.find(refund.id))!
      yield* (yield* Invoices).change(
        InvoiceId.make(invoice.id),
        noCause,
        () => Effect.succeed({ commands: [], writes: [holdWrite(stored, { id: "batch_1", isOut: true })] })
      )
      yield* reportAgain({ ...entries[1]!, status: "reverted" })
      assert.strictEqual((yield* engine.find(refund.id))!.status, "processing")
      yield* receiveTransfer(invoice, usdc, 10n * dollar)
      assert.deepStrictEqual(yield* asked(caller), {})
    }))

  it.effect("is nothing where somebody decided to keep it: amount_mode overpaid says so, and what to do instead", () =>
    Effect.gen(function*() {
      const { caller, invoice } = yield* invoiceWith(15n)
      yield* decideOn(caller, "overpaid", "credit")
      const wish = { invoice_id: invoice.id, amount_mode: "overpaid", reason: "other", fee_bearer: "merchant" }
      const answer = yield* caller.call(refunds, post(wish))
      assert.deepStrictEqual([answer.status, answer.json.error.code], [409, "REFUND_EXCEEDS_RECEIVED"])
      assert.include(answer.json.error.message, "Nothing is too much now")
      assert.include(answer.json.error.message, "custom or remaining: up to 15.000 dollars")
      assert.notInclude(answer.json.error.message, "At most")
      const [refund] = yield* giveBack(caller, invoice, { amount_mode: "custom", amount: 5_000 })
      yield* receiveTransfer(invoice, usdc, 5n * dollar)
      assert.deepStrictEqual(
        yield* asked(caller),
        { overpaid: 5 },
        "what was kept went back: the new money is asked of"
      )
      yield* cancel(caller, refund)
      assert.deepStrictEqual(yield* asked(caller), { overpaid: 5 })
    }))
})
