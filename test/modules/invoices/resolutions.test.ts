/**
 * Goal: a person's decision on an exception changes exactly what it says, once, and no dollar beyond an invoice's amount
 * is told of twice or left out. Method: the pure machine, its documented decisions one by one and random histories.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import {
  type Aggregate,
  allowedActions,
  type Command,
  decide,
  type Decision,
  type ExceptionState,
  type IncomingTransfer,
  nothingToScan,
  paymentOf
} from "../../../modules/invoices/machine.ts"
import type { ExceptionAction } from "../../../schemas/Exception.ts"
import { InvoiceId } from "../../../schemas/Ids.ts"
import { usdMillis } from "../../../schemas/Money.ts"
import { isCounted } from "../../../schemas/Payment.ts"

const createdAt = 1_766_320_000
const expiresAt = createdAt + 3_600

const fresh = (more: Partial<Aggregate["invoice"]> = {}): Aggregate => ({
  invoice: {
    id: InvoiceId.make("550e8400-e29b-41d4-a716-446655440000"),
    merchantId: 123,
    environment: "devnet",
    version: 1,
    status: "unpaid",
    type: "standard",
    amount: usdMillis(50_000n),
    amountPaid: usdMillis(0n),
    customerId: null,
    payerWalletAddress: null,
    payerWalletNetwork: null,
    orderId: null,
    expiresAt,
    createdAt,
    paidAt: null,
    lastPaymentAt: null,
    metadata: {},
    policy: {
      tolerance: 10,
      overpayTolerance: 1_000,
      latePayment: "manual",
      lateWindowSeconds: 604_800,
      underpaidGraceSeconds: 600,
      partialPayment: "lock_route",
      confirmations: "standard",
      acceptedNetworks: null
    },
    details: { description: null, title: null, footer: null, customerEmail: null, returnUrl: null, locale: null },
    acceptedShortfall: usdMillis(0n),
    graceEnded: false,
    dueAt: expiresAt,
    ...more
  },
  payments: [],
  exceptions: []
})

const arrival = (index: number, amount: bigint, more: Partial<IncomingTransfer> = {}): IncomingTransfer => ({
  id: `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`,
  network: "base",
  tokenId: 1,
  tokenDecimals: 6,
  txHash: `0x${index}`,
  sender: `0xpayer${index}`,
  units: amount * 1_000n,
  amount: usdMillis(amount),
  seenAt: createdAt + index,
  metadata: {
    quote: { quote_id: null, exchange_rate: "1", rate_source: "fixed", priced_at: createdAt, pricing: "spot" },
    confirmations: 1,
    required_confirmations: 1,
    block_number: 100 + index,
    exception: null,
    token: null
  },
  ...more
})

/** Ids as the commit gives them: the machine knows none. */
const withIds = (state: Aggregate): Aggregate => ({
  ...state,
  exceptions: state.exceptions.map((each, index) => ({ ...each, id: each.id ?? `exc_${index}` }))
})

const decided = (state: Aggregate, commands: ReadonlyArray<Command>, now = createdAt): Decision => {
  const decision = decide(state, commands, now) as Decision
  return { ...decision, next: withIds(decision.next) }
}

const observe = (transfer: IncomingTransfer): Command => ({ _tag: "Observe", transfer })
const confirm = ({ id }: IncomingTransfer): Command => ({ _tag: "Confirm", paymentId: id, confirmations: 1 })
const revert = ({ id }: IncomingTransfer): Command => ({ _tag: "Revert", paymentId: id })
const tick: Command = { _tag: "Tick", progress: nothingToScan }
const come = (...transfers: ReadonlyArray<IncomingTransfer>) => transfers.flatMap((one) => [observe(one), confirm(one)])
const resolve = ({ id }: Pick<ExceptionState, "id">, action: ExceptionAction): Command => ({
  _tag: "Resolve",
  exceptionId: id!,
  resolution: { action, note: "", actor: "key_1", invoiceId: null }
})

const exceptionOf = (state: Aggregate, type: string): ExceptionState => {
  const found = state.exceptions.findLast((each) => each.type === type)
  assert.isDefined(found, `${type} is open`)
  return found!
}

const actionsOf = (state: Aggregate, exception: ExceptionState) =>
  allowedActions(exception, {
    invoice: state.invoice,
    payment: exception.paymentId === null ? null : paymentOf(state, exception.paymentId) ?? null
  })

const late = arrival(7, 50_000n, { seenAt: expiresAt + 10 })
const expired = () => decided(fresh(), [tick], expiresAt).next

describe("accepting", () => {
  it("a part after its grace pays the invoice with what came, and tells of it as of any paid invoice", () => {
    const part = decided(fresh(), come(arrival(1, 20_000n))).next
    const over = decided(part, [tick], expiresAt + 600).next
    const exception = exceptionOf(over, "underpaid_expired")
    assert.deepStrictEqual(actionsOf(over, exception), ["accept", "ignore"])
    const { changedExceptions, events, next } = decided(over, [resolve(exception, "accept")], expiresAt + 700)
    assert.include(next.invoice, { status: "paid", paidAt: expiresAt + 700 })
    assert.deepStrictEqual([next.invoice.amountPaid, next.invoice.acceptedShortfall], [20_000n, 30_000n])
    assert.strictEqual(next.payments[0]!.status, "confirmed")
    assert.deepStrictEqual(events.map(({ type }) => type), [
      "invoice_payment.updated",
      "invoice.updated",
      "invoice.paid"
    ])
    assert.deepInclude(changedExceptions[0], { status: "resolved", resolvedAt: expiresAt + 700, version: 2 })
    assert.deepStrictEqual(actionsOf(next, next.exceptions[0]!), [])
  })

  it("a part does not make the invoice paid once that part is gone", () => {
    const part = arrival(1, 20_000n)
    const over = decided(decided(fresh(), come(part, arrival(2, 5_000n))).next, [tick], expiresAt + 600).next
    const accepted = decided(over, [resolve(exceptionOf(over, "underpaid_expired"), "accept")], expiresAt + 700).next
    assert.strictEqual(accepted.invoice.status, "paid")
    assert.strictEqual(decided(accepted, [revert(part)], expiresAt + 800).next.invoice.status, "underpaid")
  })

  it("late money counts it at once where it is deep enough, and else as soon as it is", () => {
    for (const isDeep of [true, false]) {
      const seen = decided(expired(), isDeep ? come(late) : [observe(late)], expiresAt + 20).next
      const exception = exceptionOf(seen, "late_payment")
      assert.deepStrictEqual(actionsOf(seen, exception), ["accept", "credit", "ignore"])
      const accepted = decided(seen, [resolve(exception, "accept")], expiresAt + 30)
      assert.strictEqual(accepted.next.payments[0]!.status, isDeep ? "confirmed" : "pending")
      assert.strictEqual(accepted.next.payments[0]!.metadata.exception, null)
      assert.include(accepted.events[0], { type: "invoice_payment.updated" })
      const { invoice } = decided(accepted.next, [confirm(late)], expiresAt + 40).next
      assert.deepInclude(invoice, { status: "paid", amountPaid: usdMillis(50_000n) })
    }
  })

  it("holds for a payment that its chain drops and brings back, but not for one of another amount", () => {
    const seen = decided(expired(), come(late), expiresAt + 20).next
    const accepted = decided(seen, [resolve(exceptionOf(seen, "late_payment"), "accept")], expiresAt + 30).next
    const gone = decided(accepted, [revert(late)], expiresAt + 40).next
    assert.strictEqual(gone.invoice.status, "expired")
    assert.strictEqual(decided(gone, come(late), expiresAt + 50).next.invoice.status, "paid")
    const other = { ...late, units: late.units * 2n, amount: usdMillis(late.amount * 2n) }
    const { next } = decided(gone, come(other), expiresAt + 50)
    assert.strictEqual(next.payments[0]!.status, "rejected")
    assert.strictEqual(exceptionOf(next, "late_payment").status, "open")
  })

  it("money on a network that the invoice does not take counts by its price of then, rounded down, and not without one", () => {
    const { metadata, ...rest } = arrival(1, 0n, { units: 12_345_999n })
    const wrong = { ...rest, metadata: { ...metadata, exception: "wrong_network" as const } }
    const priced = decided(fresh(), come(wrong)).next
    const accepted = decided(priced, [resolve(exceptionOf(priced, "wrong_network"), "accept")]).next
    assert.strictEqual(accepted.invoice.amountPaid, 12_345n)
    const unpriced = decided(fresh(), come({ ...wrong, metadata: { ...wrong.metadata, quote: null } })).next
    assert.deepStrictEqual(actionsOf(unpriced, exceptionOf(unpriced, "wrong_network")), ["credit", "ignore"])
  })

  it("is refused for orders, canceled invoices and money that is gone again", () => {
    const seen = decided(expired(), come(late), expiresAt + 20).next
    const exception = exceptionOf(seen, "late_payment")
    const gone = decided(seen, [revert(late)], expiresAt + 30).next
    assert.deepStrictEqual(actionsOf(gone, exceptionOf(gone, "late_payment")), ["ignore"])
    for (const more of [{ type: "commerce" }, { status: "canceled" }] as const) {
      const other = { ...seen, invoice: { ...seen.invoice, ...more } }
      assert.deepStrictEqual(actionsOf(other, exception), ["credit", "ignore"])
      const { changedExceptions, events } = decided(other, [resolve(exception, "accept")], expiresAt + 30)
      assert.deepStrictEqual([changedExceptions, events], [[], []])
    }
  })
})

describe("money beyond the amount", () => {
  const paid = decided(fresh(), come(arrival(1, 50_000n))).next

  it("that would have paid the invoice again is a duplicate payment, and nothing else tells of it", () => {
    const { changedExceptions, next } = decided(paid, come(arrival(2, 49_995n)))
    assert.lengthOf(changedExceptions, 1)
    assert.deepInclude(changedExceptions[0], {
      type: "duplicate_payment",
      paymentId: arrival(2, 0n).id,
      amount: usdMillis(49_995n)
    })
    assert.deepStrictEqual(actionsOf(next, changedExceptions[0]!), ["credit", "ignore"])
  })

  it("grows the exception that is open, and opens another one once that is decided", () => {
    const once = decided(paid, come(arrival(2, 2_000n))).next
    const twice = decided(once, come(arrival(3, 3_000n)))
    assert.deepStrictEqual(twice.changedExceptions.map(({ amount, type, version }) => [type, amount, version]), [
      ["overpaid", 5_000n, 2]
    ])
    const credited = decided(twice.next, [resolve(exceptionOf(twice.next, "overpaid"), "credit")]).next
    const { changedExceptions } = decided(credited, come(arrival(4, 4_000n)))
    assert.deepStrictEqual(changedExceptions.map(({ amount, type, version }) => [type, amount, version]), [
      ["overpaid", 4_000n, 1]
    ])
  })

  const Arrivals = Schema.Array(Schema.Struct({
    amount: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 90_000 })),
    isDecided: Schema.Boolean
  })).check(Schema.isMaxLength(8))

  it.effect.prop(
    "is told of to the usd_milli in any history, once it is more than the tolerance",
    [Arrivals],
    ([all]) =>
      Effect.sync(() => {
        let state = fresh()
        for (const [index, { amount, isDecided }] of all.entries()) {
          state = decided(state, come(arrival(index + 1, BigInt(amount)))).next
          const { invoice, payments } = state
          const paidTotal = payments.reduce((sum, each) => isCounted(each.status) ? sum + each.amount : sum, 0n)
          assert.strictEqual(invoice.amountPaid, paidTotal)
          const excess = paidTotal > invoice.amount ? paidTotal - invoice.amount : 0n
          const known = state.exceptions.reduce((sum, each) => sum + each.amount, 0n)
          assert.isTrue(known <= excess, "nothing is told of twice")
          assert.isTrue(excess - known <= 1_000n, "nothing above the tolerance is left out")
          const open = state.exceptions.find(({ status }) => status === "open")
          if (isDecided && open !== undefined) state = decided(state, [resolve(open, "credit")]).next
        }
      })
  )
})

describe("a decision", () => {
  it("is made once: a second one changes nothing", () => {
    const seen = decided(expired(), come(late), expiresAt + 20).next
    const exception = exceptionOf(seen, "late_payment")
    const first = decided(seen, [resolve(exception, "ignore")], expiresAt + 30).next
    for (const action of ["accept", "credit", "ignore"] as const) {
      const { changedExceptions, changedPayments, events } = decided(
        first,
        [resolve(exception, action)],
        expiresAt + 40
      )
      assert.deepStrictEqual([changedExceptions, changedPayments, events], [[], [], []])
    }
  })
})
