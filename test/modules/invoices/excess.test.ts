/**
 * Goal: what is asked of the money beyond an invoice's amount is one sum, whatever came, left its chain, went back and
 * was decided before. Method: the pure machine: cases that people found, and random histories against a sum written
 * anew.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import {
  type Aggregate,
  type Command,
  decide,
  type Decision,
  type ExceptionState,
  excessOf,
  type IncomingTransfer
} from "../../../modules/invoices/machine.ts"
import type { ExceptionAction } from "../../../schemas/Exception.ts"
import { usdMillis } from "../../../schemas/Money.ts"
import { isCounted } from "../../../schemas/Payment.ts"
import { defaultPolicy, unpaidInvoice } from "../../fixtures/invoices.ts"

const now = 1_766_320_000

/** An invoice of 10 dollars; one dollar too much opens nothing. */
const fresh: Aggregate = {
  invoice: unpaidInvoice(now, now + 3_600, {
    amount: usdMillis(10_000n),
    policy: { ...defaultPolicy, tolerance: 0, latePayment: "manual", underpaidGraceSeconds: 600 }
  }),
  payments: [],
  exceptions: []
}

const idOf = (index: number) => `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`

const transferOf = (index: number, amount: number): IncomingTransfer => ({
  id: idOf(index),
  network: "base",
  tokenId: 1,
  tokenDecimals: 6,
  txHash: `0x${index}`,
  sender: null,
  units: BigInt(amount) * 1_000n,
  amount: usdMillis(BigInt(amount)),
  seenAt: now + index,
  metadata: {
    quote: { quote_id: null, exchange_rate: "1", rate_source: "fixed", priced_at: now, pricing: "spot" },
    confirmations: 1,
    required_confirmations: 1,
    block_number: 100 + index,
    exception: null,
    token: { id: 1 as never, symbol: "USDC", address: "0xusdc", decimals: 6 }
  }
})

const come = (index: number, amount: number): ReadonlyArray<Command> => [
  { _tag: "Observe", transfer: transferOf(index, amount) },
  { _tag: "Confirm", paymentId: idOf(index), confirmations: 1 }
]
const revert = (index: number): ReadonlyArray<Command> => [{ _tag: "Revert", paymentId: idOf(index) }]
const goBack = (id: string, index: number | null, amount: number, isSent = false): ReadonlyArray<Command> => [{
  _tag: "TrackRefund",
  refund: {
    id,
    paymentId: index === null ? null : idOf(index),
    source: "all",
    amount: usdMillis(BigInt(amount)),
    isSent
  }
}]
const paid = (id: string, index: number, amount: number): ReadonlyArray<Command> => [
  { _tag: "Refund", paymentId: idOf(index), amount: usdMillis(BigInt(amount)) },
  ...goBack(id, index, 0)
]

const after = (state: Aggregate, ...moves: ReadonlyArray<ReadonlyArray<Command>>): Aggregate =>
  moves.reduce((all, commands) => (decide(all, commands, now) as Decision).next, state)

/** Open exceptions about too much money: no late payment, which never counted, and no money that left its chain. */
const openOf = ({ exceptions }: Aggregate): ReadonlyArray<ExceptionState> =>
  exceptions.filter(({ status, type }) => status === "open" && (type === "overpaid" || type === "duplicate_payment"))

/** The same: dollars of each. */
const asked = (state: Aggregate) =>
  Object.fromEntries(openOf(state).map(({ amount, type }) => [type, Number(amount) / 1_000]))

const decideOn = (state: Aggregate, type: string, action: ExceptionAction): Aggregate => {
  const open = openOf(state).find((each) => each.type === type)!
  const resolution = { action, note: "", actor: "key_1", invoiceId: null }
  return after(state, [{ _tag: "Resolve", exceptionId: open.id, resolution }])
}

describe("what is too much", () => {
  it("and was decided on is asked of new money, once the payment that it came by has left its chain", () => {
    for (const action of ["credit", "ignore"] as const) {
      const kept = decideOn(after(fresh, come(1, 20_000)), "overpaid", action)
      assert.deepStrictEqual(asked(kept), {})
      const again = after(kept, revert(1), come(2, 20_000))
      assert.deepStrictEqual(asked(again), { overpaid: 10 }, action)
      // What comes back brings its own decision along.
      assert.deepStrictEqual(asked(after(again, come(1, 20_000))), {
        duplicate_payment: 10,
        overpaid: 10
      }, action)
      const twice = decideOn(after(fresh, come(1, 10_000), come(2, 10_000)), "duplicate_payment", action)
      assert.deepStrictEqual(asked(after(twice, revert(2), come(3, 10_000))), { duplicate_payment: 10 }, action)
    }
  })

  it("and was decided on is not asked again where another payment is sent anew", () => {
    const kept = decideOn(after(fresh, come(1, 10_000), come(2, 5_000)), "overpaid", "credit")
    assert.deepStrictEqual(asked(after(kept, revert(1))), {})
    assert.deepStrictEqual(asked(after(kept, revert(1), come(3, 10_000))), {})
    assert.deepStrictEqual(asked(after(kept, revert(1), come(3, 12_000))), { overpaid: 2 })
  })

  it("is less what is on its way back, whoever ordered it, and asked again where that is given up", () => {
    const over = after(fresh, come(1, 20_000))
    for (const payment of [null, 1]) {
      const half = after(over, goBack("re_1", payment, 5_000))
      assert.deepStrictEqual(asked(half), { overpaid: 5 })
      assert.strictEqual(openOf(half)[0]!.id, openOf(over)[0]!.id)
      const none = after(half, goBack("re_2", payment, 5_000))
      assert.deepStrictEqual(asked(none), {})
      assert.deepStrictEqual(asked(after(none, goBack("re_1", payment, 0))), { overpaid: 5 })
      assert.deepStrictEqual(asked(after(none, goBack("re_1", payment, 0), goBack("re_2", payment, 0))), {
        overpaid: 10
      })
    }
    assert.deepStrictEqual(asked(after(over, goBack("re_1", 1, 4_000), paid("re_1", 1, 4_000))), { overpaid: 6 })
    assert.deepStrictEqual(asked(after(over, goBack("re_1", 1, 9_500))), {}, "no more than the tolerance is left")
  })

  it("of a payment by itself is asked for again as such, where the order that gave it back is taken back", () => {
    const twice = after(fresh, come(1, 10_000), come(2, 10_000))
    const ordered = after(twice, goBack("re_1", null, 20_000))
    assert.deepStrictEqual(asked(ordered), {})
    assert.deepStrictEqual(asked(after(ordered, goBack("re_1", null, 0))), { duplicate_payment: 10 })
  })

  it("and was kept goes back before what pays the invoice, so that more money is asked for again", () => {
    const kept = decideOn(after(fresh, come(1, 20_000)), "overpaid", "credit")
    const back = after(kept, goBack("re_1", 1, 6_000))
    assert.deepStrictEqual(asked(back), {})
    assert.deepStrictEqual(asked(after(back, come(2, 6_000))), { overpaid: 6 })
    assert.deepStrictEqual(asked(after(back, come(2, 6_000), goBack("re_1", 1, 0))), { overpaid: 6 })
  })

  it("is what is left of both decisions, where some was kept while some was on its way back", () => {
    const part = after(fresh, come(1, 20_000), goBack("re_1", 1, 6_000))
    const kept = decideOn(part, "overpaid", "ignore")
    assert.deepStrictEqual(asked(kept), {})
    assert.deepStrictEqual(asked(after(kept, goBack("re_1", 1, 0))), { overpaid: 6 })
  })

  it("counts what was paid out for money that is gone, and not what can no longer be paid out", () => {
    const twice = after(fresh, come(1, 10_000), come(2, 10_000))
    const gone = after(twice, goBack("re_1", 2, 10_000), paid("re_1", 2, 10_000), revert(2))
    assert.deepStrictEqual(asked(after(gone, come(3, 10_000))), {})
    assert.deepStrictEqual(asked(after(gone, come(3, 13_000))), { duplicate_payment: 3 })
    const sent = after(twice, goBack("re_1", 2, 10_000, true), revert(2))
    assert.deepStrictEqual(asked(after(sent, come(3, 10_000))), {})
    const unsent = after(twice, goBack("re_1", 2, 10_000), revert(2))
    assert.deepStrictEqual(asked(after(unsent, come(3, 10_000))), { duplicate_payment: 10 })
  })

  it("takes nothing of money that never counted", () => {
    const over = after(fresh, come(1, 15_000))
    const late: Aggregate = {
      ...over,
      payments: [...over.payments, {
        ...over.payments[0]!,
        id: idOf(2),
        ordinal: 2,
        status: "rejected",
        metadata: { ...over.payments[0]!.metadata, exception: "late_payment" }
      }]
    }
    assert.deepStrictEqual(asked(after(late, goBack("re_1", 2, 15_000))), { overpaid: 5 })
  })

  const Moves = Schema.Array(Schema.Struct({
    kind: Schema.Literals([
      "come",
      "come",
      "come",
      "revert",
      "return",
      "credit",
      "ignore",
      "refund",
      "open",
      "open",
      "order",
      "pay",
      "giveUp",
      "giveUp"
    ]),
    which: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 4 })),
    amount: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 14_000 }))
  })).check(Schema.isMaxLength(24))

  /** What a shop would have written down of one payment. */
  const notesOf = (state: Aggregate) => {
    const refunds = state.invoice.openRefunds ?? []
    const back = (id: string) => refunds.reduce((sum, each) => each.paymentId === id ? sum + each.amount : sum, 0n)
    return state.payments.map((payment) => ({
      payment,
      left: payment.amount - payment.refunded - back(payment.id)
    }))
  }

  const moved = (state: Aggregate, { amount, kind, which }: typeof Moves.Type[number]): Aggregate => {
    const note = notesOf(state).find(({ payment }) => payment.id === idOf(which))
    const refunds = state.invoice.openRefunds ?? []
    const refund = refunds[which % Math.max(refunds.length, 1)]
    const place = state.exceptions.length + refunds.length + amount
    switch (kind) {
      case "come":
        return after(state, come(which, amount))
      case "return":
        return note === undefined ? state : after(state, come(which, Number(note.payment.amount)))
      case "revert":
        return after(state, revert(which))
      case "credit":
      case "ignore":
        return openOf(state).length === 0 ? state : decideOn(state, openOf(state)[0]!.type, kind)
      case "refund": {
        const open = openOf(state)[0]
        const giver = notesOf(state).find(({ left, payment }) =>
          isCounted(payment.status) && open !== undefined && left >= open.amount &&
          (open.paymentId === null || open.paymentId === payment.id)
        )
        if (open === undefined || giver === undefined) return state
        return after(decideOn(state, open.type, "refund"), [{
          _tag: "TrackRefund",
          refund: { id: `re_${place}`, paymentId: giver.payment.id, source: "all", amount: open.amount, isSent: false }
        }])
      }
      case "open": {
        if (note === undefined || note.left <= 0n || !isCounted(note.payment.status)) return state
        return after(state, goBack(`re_${place}`, which, Math.min(Number(note.left), amount)))
      }
      case "order":
        return refunds.length > 0 ? state : after(
          state,
          goBack(
            `re_${place}`,
            null,
            Math.min(
              Number(
                notesOf(state).reduce((sum, { left, payment }) => isCounted(payment.status) ? sum + left : sum, 0n)
              ),
              amount
            )
          )
        )
      case "pay":
        if (refund === undefined || refund.paymentId === null) return state
        return after(state, [
          { _tag: "Refund", paymentId: refund.paymentId, amount: refund.amount },
          { _tag: "TrackRefund", refund: { ...refund, amount: usdMillis(0n) } }
        ])
      case "giveUp":
        return refund === undefined
          ? state
          : after(state, [{ _tag: "TrackRefund", refund: { ...refund, amount: usdMillis(0n) } }])
    }
  }

  it.effect.prop(
    "is asked for to the usd_milli in any history, and never more of it than there is",
    [Moves],
    ([moves]) =>
      Effect.sync(() => {
        let state = fresh
        for (const move of moves) {
          state = moved(state, move)
          const notes = notesOf(state)
          const orders = (state.invoice.openRefunds ?? []).filter(({ paymentId }) => paymentId === null)
          const there = notes.reduce((sum, { left, payment }) => isCounted(payment.status) ? sum + left : sum, 0n)
          const most = there - state.invoice.amount
          const waiting = openOf(state).reduce((sum, { amount }) => sum + amount, 0n)
          assert.isTrue(waiting <= (most > 0n ? most : 0n), "no more waits for a decision than there is")
          const { amount: left } = excessOf(state)
          assert.isTrue(waiting <= left && left - waiting <= 1_000n, "nothing above the tolerance is left out")
          const isUndecided = state.exceptions.every(({ resolution }) => resolution === null)
          const isWhole = state.payments.every(({ refunded, status }) => isCounted(status) || refunded === 0n)
          if (isUndecided && isWhole && orders.length === 0) {
            assert.strictEqual(left, most > 0n ? most : 0n, "without a decision all of it is asked for")
          }
          // Whoever decides on all that waits is asked no more, and has decided on no cent twice.
          const kept = openOf(state).reduce((all, { type }) => decideOn(all, type, "credit"), state)
          assert.deepStrictEqual(openOf(kept), [])
          assert.isTrue(excessOf(kept).amount <= 1_000n)
        }
      }),
    { arbitrary: { runs: 500 } }
  )
})
