/**
 * Goal: a person's decision on an exception changes exactly what it says, once. Method: the pure machine, its
 * documented decisions one by one and random histories; `excess.test.ts` has the sum of what is too much.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import {
  type Aggregate,
  allowedActions,
  type Command,
  decide,
  type Decision,
  exceptionObject,
  exceptionRecord,
  type ExceptionState,
  type IncomingTransfer,
  lockedRoute,
  nothingToScan,
  paymentObject,
  paymentOf
} from "../../../modules/invoices/machine.ts"
import type { ExceptionAction } from "../../../schemas/Exception.ts"
import { TokenId } from "../../../schemas/Ids.ts"
import { usdMillis } from "../../../schemas/Money.ts"
import { defaultPolicy, unpaidInvoice } from "../../fixtures/invoices.ts"

const createdAt = 1_766_320_000
const expiresAt = createdAt + 3_600

const fresh = (more: Partial<Aggregate["invoice"]> = {}): Aggregate => ({
  invoice: unpaidInvoice(createdAt, expiresAt, {
    policy: { ...defaultPolicy, latePayment: "manual", underpaidGraceSeconds: 600 },
    ...more
  }),
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

const decided = (state: Aggregate, commands: ReadonlyArray<Command>, now = createdAt): Decision =>
  decide(state, commands, now) as Decision

const observe = (transfer: IncomingTransfer): Command => ({ _tag: "Observe", transfer })
const confirm = ({ id }: IncomingTransfer): Command => ({ _tag: "Confirm", paymentId: id, confirmations: 1 })
const revert = ({ id }: IncomingTransfer): Command => ({ _tag: "Revert", paymentId: id })
const tick: Command = { _tag: "Tick", progress: nothingToScan }
const come = (...transfers: ReadonlyArray<IncomingTransfer>) => transfers.flatMap((one) => [observe(one), confirm(one)])
const resolve = ({ id }: Pick<ExceptionState, "id">, action: ExceptionAction): Command => ({
  _tag: "Resolve",
  exceptionId: id,
  resolution: { action, note: "", actor: "key_1", invoiceId: null }
})

/** The refund by which an exception was decided is given up. */
const giveUp = (exceptionId: string, refundId = "re_1"): Command => ({
  _tag: "TrackRefund",
  refund: { id: refundId, paymentId: null, source: "all", amount: usdMillis(0n), isSent: false },
  reopenedException: { exceptionId, otherRefundsAmount: usdMillis(0n) }
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

/** Open exceptions by type and amount, in the order of their types. */
const openAmounts = ({ exceptions }: Aggregate) =>
  exceptions.filter(({ status }) => status === "open").map(({ amount, type }) => [type, BigInt(amount)] as const)
    .toSorted(([a], [b]) => a < b ? -1 : 1)

const late = arrival(7, 50_000n, { seenAt: expiresAt + 10 })
const expired = () => decided(fresh(), [tick], expiresAt).next

describe("an invoice of which all that came was refunded", () => {
  const first = arrival(1, 20_000n)
  const second = arrival(2, 10_000n)
  const giveBack = ({ id }: IncomingTransfer, amount: bigint): Command => ({
    _tag: "Refund",
    paymentId: id,
    amount: usdMillis(amount)
  })

  it("is canceled where more was under way a day after that was seen: until then it may come back", () => {
    const waiting = decided(fresh(), [...come(first), observe(second), giveBack(first, 20_000n)]).next
    assert.strictEqual(waiting.invoice.status, "underpaid", "the rest may come")
    const gone = decided(waiting, [revert(second)]).next
    const end = second.seenAt + 86_400
    assert.include(gone.invoice, { status: "underpaid", dueAt: end })
    assert.deepStrictEqual(decided(gone, [tick], expiresAt + 600).next.exceptions, [], "nobody accepts what went back")
    assert.strictEqual(decided(gone, come(second)).next.invoice.amountPaid, 30_000n)
    const { events, next } = decided(gone, [tick], end)
    assert.include(next.invoice, { status: "canceled", dueAt: null })
    assert.deepStrictEqual(events.map(({ type }) => type), ["invoice.updated", "invoice.canceled"])
    assert.deepStrictEqual(next.exceptions, [])
  })

  it("is canceled where the last money that was not refunded leaves its chain after its end", () => {
    const over = decided(decided(fresh(), come(first, second)).next, [tick], expiresAt + 600).next
    const exception = exceptionOf(over, "underpaid_expired")
    const partly = decided(
      over,
      [resolve(exception, "refund"), giveBack(first, 20_000n), revert(second)],
      expiresAt + 700
    )
    assert.strictEqual(partly.next.invoice.status, "underpaid")
    const { next } = decided(partly.next, [tick], second.seenAt + 86_400)
    assert.strictEqual(next.invoice.status, "canceled")
    assert.deepStrictEqual(openAmounts(next).filter(([type]) => type === "underpaid_expired"), [])
  })

  it("waits for its end where nothing counts any more", () => {
    const paid = decided(fresh(), [...come(first), giveBack(first, 5_000n)]).next
    assert.strictEqual(decided(paid, [revert(first)]).next.invoice.status, "unpaid")
  })
})

describe("the amount of a refused payment's exception", () => {
  const quote = late.metadata.quote!

  it("is what the payment is worth, also where that is known only later", () => {
    const unpriced: IncomingTransfer = { ...late, amount: usdMillis(0n), metadata: { ...late.metadata, quote: null } }
    const seen = decided(expired(), come(unpriced), expiresAt + 20).next
    assert.deepStrictEqual(openAmounts(seen), [["late_payment", 0n]])
    const value: Command = { _tag: "Value", paymentId: late.id, amount: usdMillis(50_000n), quote }
    const priced = decided(seen, [value], expiresAt + 30)
    assert.deepStrictEqual(openAmounts(priced.next), [["late_payment", 50_000n]])
    assert.lengthOf(priced.changedExceptions, 1)
    assert.deepStrictEqual(priced.events.map(({ type }) => type), ["invoice_payment.updated"])
    const kept = decided(seen, [resolve(exceptionOf(seen, "late_payment"), "credit"), value], expiresAt + 30).next
    assert.deepStrictEqual(openAmounts(kept), [], "what was decided is not asked again")
  })

  it("is that of the transfer as it came back to its chain", () => {
    const seen = decided(expired(), come(late), expiresAt + 20).next
    const less: IncomingTransfer = { ...late, units: 30_000_000n, amount: usdMillis(30_000n) }
    const back = decided(seen, [revert(late), observe(less)], expiresAt + 30).next
    const exception = exceptionOf(back, "late_payment")
    assert.deepStrictEqual(openAmounts(back), [["late_payment", 30_000n]])
    assert.strictEqual(exception.evidence["token_amount"], "30.000000")
  })
})

describe("accepting", () => {
  it("a part after its grace pays the invoice with what came, and tells of it as of any paid invoice", () => {
    const part = decided(fresh(), come(arrival(1, 20_000n))).next
    const over = decided(part, [tick], expiresAt + 600).next
    const exception = exceptionOf(over, "underpaid_expired")
    assert.deepStrictEqual(actionsOf(over, exception), ["accept", "refund", "ignore"])
    const { changedExceptions, events, next } = decided(over, [resolve(exception, "accept")], expiresAt + 700)
    assert.include(next.invoice, { status: "paid", paidAt: expiresAt + 700 })
    assert.deepStrictEqual([next.invoice.amountPaid, next.invoice.acceptedShortfall], [20_000n, 30_000n])
    assert.strictEqual(next.payments[0]!.status, "confirmed")
    assert.deepStrictEqual(events.map(({ type }) => type), [
      "invoice_payment.updated",
      "invoice.updated",
      "invoice.paid",
      "exception.resolved"
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
    const others = [[{ type: "commerce" }, ["ignore"]], [{ status: "canceled" }, ["credit", "ignore"]]] as const
    for (const [more, allowed] of others) {
      const other = { ...seen, invoice: { ...seen.invoice, ...more } }
      assert.deepStrictEqual<ReadonlyArray<string>>(actionsOf(other, exception), allowed)
      const { changedExceptions, events } = decided(other, [resolve(exception, "accept")], expiresAt + 30)
      assert.deepStrictEqual([changedExceptions, events], [[], []])
    }
  })
})

describe("what a person has not seen", () => {
  it("is not waived: once a part is smaller, the old question is closed and another one is open", () => {
    const [first, second] = [arrival(1, 20_000n), arrival(2, 5_000n)]
    const over = decided(decided(fresh(), come(first, second)).next, [tick], expiresAt + 600).next
    const old = exceptionOf(over, "underpaid_expired")
    assert.strictEqual(old.amount, 25_000n)
    const less = decided(over, [revert(first)], expiresAt + 700).next
    const { changedPayments, events } = decided(less, [resolve(old, "accept")], expiresAt + 800)
    assert.deepStrictEqual([changedPayments, events], [[], []])
    const now = exceptionOf(less, "underpaid_expired")
    assert.notStrictEqual(now.id, old.id)
    assert.deepInclude(now, { status: "open", amount: usdMillis(5_000n) })
  })

  it("is asked again once some of the money that was accepted is gone, and all of it asks for the whole amount", () => {
    const [first, second] = [arrival(1, 20_000n), arrival(2, 5_000n)]
    const over = decided(decided(fresh(), come(first, second)).next, [tick], expiresAt + 600).next
    const paid = decided(over, [resolve(exceptionOf(over, "underpaid_expired"), "accept")], expiresAt + 700).next
    const less = decided(paid, [revert(first)], expiresAt + 800).next
    assert.deepInclude(exceptionOf(less, "underpaid_expired"), { status: "open", amount: usdMillis(5_000n) })
    const none = decided(less, [revert(second)], expiresAt + 900).next
    assert.deepInclude(none.invoice, { acceptedShortfall: usdMillis(0n), amountPaid: usdMillis(0n) })
    assert.deepStrictEqual(
      none.exceptions.filter(({ status, type }) => status === "open" && type === "underpaid_expired"),
      []
    )
  })

  it("closes by itself once the rest has come", () => {
    const over = decided(decided(fresh(), come(arrival(1, 20_000n))).next, [tick], expiresAt + 600).next
    const { metadata } = arrival(2, 0n)
    const rest = decided(over, [
      { _tag: "Observe", transfer: { ...arrival(2, 30_000n), metadata }, isAssigned: true },
      confirm(arrival(2, 30_000n))
    ], expiresAt + 700).next
    assert.strictEqual(rest.invoice.status, "paid")
    assert.deepInclude(exceptionOf(rest, "underpaid_expired"), { status: "resolved", resolution: null })
  })

  it("is not accepted with what was: after another amount only the last decision on a payment holds", () => {
    const seen = decided(expired(), come(late), expiresAt + 20).next
    const accepted = decided(seen, [resolve(exceptionOf(seen, "late_payment"), "accept")], expiresAt + 30).next
    const double = { ...late, units: late.units * 2n, amount: usdMillis(late.amount * 2n) }
    const again = decided(decided(accepted, [revert(late)]).next, come(double), expiresAt + 50).next
    const ignored = decided(again, [resolve(exceptionOf(again, "late_payment"), "ignore")], expiresAt + 60).next
    for (const state of [again, ignored]) {
      const back = decided(decided(state, [revert(double)]).next, come(double), expiresAt + 70).next
      assert.strictEqual(back.payments[0]!.status, "rejected")
    }
  })

  it("locks no payor to the network that only an accepted payment came by", () => {
    const only = fresh({ policy: { ...fresh().invoice.policy, acceptedNetworks: ["base"] } })
    const base = arrival(1, 0n, { network: "ethereum", units: 20_000_000n })
    const wrong = { ...base, metadata: { ...base.metadata, exception: "wrong_network" as const } }
    const seen = decided(only, come(wrong)).next
    const part = decided(seen, [resolve(exceptionOf(seen, "wrong_network"), "accept")]).next
    assert.strictEqual(part.invoice.status, "underpaid")
    assert.isNull(lockedRoute(part))
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

  it("of a payment that comes back is not reported twice", () => {
    const [one, other] = [arrival(1, 50_000n), arrival(2, 50_000n)]
    const twice = decided(paid, come(other)).next
    const alone = decided(twice, [revert(one)]).next
    assert.deepStrictEqual(openAmounts(alone), [["reorged", 50_000n]])
    const back = decided(alone, come(one)).next
    assert.deepStrictEqual(openAmounts(back), [["duplicate_payment", 50_000n], ["reorged", 50_000n]])
    assert.deepStrictEqual(openAmounts(decided(back, [revert(other)]).next).map(([type]) => type), [
      "reorged",
      "reorged"
    ])
  })

  it("shrinks with what leaves its chain", () => {
    const more = decided(paid, come(arrival(2, 5_000n), arrival(3, 2_000n))).next
    assert.deepStrictEqual(openAmounts(more), [["overpaid", 7_000n]])
    const less = decided(more, [revert(arrival(2, 5_000n))]).next
    assert.deepStrictEqual(openAmounts(less), [["overpaid", 2_000n], ["reorged", 5_000n]])
  })
})

describe("the exception behind a payment", () => {
  const told = ({ events }: Decision) =>
    events.filter(({ object }) => object.object === "invoice_payment").map(({ object, type }) => [
      type,
      (object as any).metadata.exception
    ])

  it("is named by it from its first event, and everybody is told what becomes of it", () => {
    const seen = decided(expired(), [observe(late)], expiresAt + 20)
    const exception = exceptionOf(seen.next, "late_payment")
    const open = { id: exception.id, type: "late_payment", status: "open" }
    assert.deepStrictEqual(told(seen), [["invoice_payment.created", open]])
    for (const action of ["credit", "ignore"] as const) {
      const { events } = decided(seen.next, [resolve(exception, action)], expiresAt + 30)
      assert.deepStrictEqual(events.map(({ type }) => type), ["invoice_payment.updated", "exception.resolved"])
      const { object, previousAttributes } = events[0]!
      assert.deepStrictEqual((object as any).metadata.exception, { ...open, status: "resolved" })
      assert.deepStrictEqual(previousAttributes, { metadata: { ...(object as any).metadata, exception: open } })
    }
    const accepted = decided(decided(seen.next, [confirm(late)]).next, [resolve(exception, "accept")], expiresAt + 30)
    assert.deepStrictEqual(told(accepted), [["invoice_payment.updated", { ...open, status: "resolved" }]])
    assert.strictEqual((accepted.events[0]!.object as any).status, "confirmed")
  })

  it("is told of before the invoice, where another payment takes it away", () => {
    const [one, two] = [arrival(1, 50_000n), arrival(2, 50_000n)]
    const twice = decided(decided(fresh(), come(one)).next, come(two)).next
    const { events } = decided(twice, [revert(one)])
    assert.deepStrictEqual(events.map(({ object, type }) => [type, object.id]).slice(0, 2), [
      ["invoice_payment.updated", one.id],
      ["invoice_payment.updated", two.id]
    ])
    assert.deepInclude((events[1]!.object as any).metadata.exception, { type: "duplicate_payment", status: "resolved" })
  })

  /** Only a token that is known can be sent back. */
  const inUsdc = (transfer: IncomingTransfer): IncomingTransfer => ({
    ...transfer,
    metadata: { ...transfer.metadata, token: { id: TokenId.make(1), symbol: "USDC", address: "0xusdc", decimals: 6 } }
  })

  it("is open again where its refund is given up, and both are told from the state that was told last", () => {
    const seen = decided(expired(), come(inUsdc(late)), expiresAt + 20).next
    const refunded = decided(seen, [resolve(exceptionOf(seen, "late_payment"), "refund")], expiresAt + 30)
    const givenUp = giveUp(exceptionOf(seen, "late_payment").id)
    const { events } = decided(refunded.next, [givenUp], expiresAt + 40)
    assert.deepStrictEqual(events.map(({ type }) => type), ["invoice_payment.updated", "exception.opened"])
    for (const [index, { object, previousAttributes }] of events.entries()) {
      assert.deepStrictEqual({ ...object, ...previousAttributes }, refunded.events[index]!.object)
    }
    assert.deepInclude((events[0]!.object as any).metadata.exception, { status: "open" })
  })

  it("is not asked again where its payment left its chain, came back and was decided on since", () => {
    const seen = decided(expired(), come(inUsdc(late)), expiresAt + 20).next
    const first = exceptionOf(seen, "late_payment")
    const refunded = decided(seen, [resolve(first, "refund")], expiresAt + 30).next
    const gone = decided(refunded, [revert(late)], expiresAt + 40).next
    const back = decided(gone, come(inUsdc(late)), expiresAt + 50).next
    const second = back.exceptions.find(({ status, type }) => status === "open" && type === "late_payment")!
    assert.notStrictEqual(second.id, first.id)
    const credited = decided(back, [resolve(second, "credit")], expiresAt + 60).next
    const { next } = decided(credited, [giveUp(first.id)], expiresAt + 70)
    assert.deepStrictEqual(next.exceptions, credited.exceptions)
  })

  it("has a greater id than the one before it, which orders those of one second", () => {
    const opened = [1, 2, 3, 4].map((n) => arrival(n, 50_000n)).reduce(
      (state, one) => decided(decided(state, come(one)).next, [revert(one)]).next,
      fresh()
    )
    const ids = opened.exceptions.map(({ id }) => id)
    assert.lengthOf(ids, 4)
    assert.deepStrictEqual(ids, ids.toSorted())
  })

  const Step = Schema.Struct({
    kind: Schema.Literals([
      "observe",
      "confirm",
      "revert",
      "fail",
      "tick",
      "accept",
      "credit",
      "ignore",
      "refund",
      "reopen"
    ]),
    payment: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3 })),
    amount: Schema.Literals([0, 20_000, 50_000, 80_000]),
    at: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4_000 }))
  })

  const commandsOf = (state: Aggregate, { amount, kind, payment }: typeof Step.Type): ReadonlyArray<Command> => {
    const one = inUsdc(arrival(payment, BigInt(amount), { seenAt: createdAt + payment * 2_000 }))
    const open = state.exceptions.filter(({ status }) => status === "open").at(payment - 1)
    if (kind === "tick") return [tick]
    if (kind === "observe") return [observe(one)]
    if (kind === "confirm") return come(one)
    if (kind === "revert") return [revert(one)]
    const { settlement = null } = paymentOf(state, one.id) ?? {}
    if (kind === "fail") return [{ _tag: "Settle", paymentId: one.id, settlement, needsOperator: true }]
    if (kind === "reopen") return state.exceptions.map(({ id }) => giveUp(id))
    return open === undefined ? [] : [resolve(open, kind)]
  }

  it.effect.prop("is told of, and each exception when it opens and when it is resolved, in any history", [
    Schema.Array(Step)
  ], ([steps]) =>
    Effect.sync(() => {
      let state = fresh()
      const last = new Map<unknown, object>()
      const count = new Map<string, number>()
      for (const step of steps) {
        const now = createdAt + step.at
        const { events, next } = decided(state, commandsOf(state, step), now)
        for (const { object, previousAttributes, type } of events) {
          if (object.object === "invoice") continue
          const key = `${type} ${String(object.id)}`
          count.set(key, (count.get(key) ?? 0) + 1)
          const isNew = type === "invoice_payment.created" ||
            (type === "exception.opened" && !state.exceptions.some(({ id }) => id === object.id))
          const before = object.object === "exception"
            ? exceptionObject(exceptionRecord(
              state,
              state.exceptions.find(({ id }) => id === object.id) ?? {
                ...next.exceptions.find(({ id }) => id === object.id)!,
                status: "open"
              }
            ))
            : last.get(object.id)
          if (isNew) assert.deepStrictEqual(previousAttributes, {})
          else if (object.object === "invoice_payment" || last.has(object.id)) {
            assert.deepStrictEqual({ ...object, ...previousAttributes }, before)
          }
          last.set(object.id, object)
        }
        state = next
        for (const payment of state.payments) {
          assert.deepStrictEqual(last.get(payment.id), paymentObject(state.invoice, payment))
          const own = state.exceptions.filter(({ paymentId }) => paymentId === payment.id)
          const named = own.find(({ id }) => id === payment.exception?.id)
          assert.strictEqual(payment.exception?.status, named?.status)
          const isOpen = own.some(({ status }) => status === "open")
          assert.strictEqual(payment.exception?.status, isOpen ? "open" : own.length > 0 ? "resolved" : undefined)
        }
        for (const { id, status } of state.exceptions) {
          const [opened = 0, resolved = 0] = [
            count.get(`exception.opened ${id}`),
            count.get(`exception.resolved ${id}`)
          ]
          assert.strictEqual(opened - resolved, status === "open" ? 1 : 0)
        }
      }
    }))
})

describe("a decision", () => {
  it("is made once: a second one changes nothing", () => {
    const seen = decided(expired(), come(late), expiresAt + 20).next
    const exception = exceptionOf(seen, "late_payment")
    const first = decided(seen, [resolve(exception, "ignore")], expiresAt + 30).next
    for (const action of ["accept", "refund", "credit", "ignore"] as const) {
      const { changedExceptions, changedPayments, events } = decided(
        first,
        [resolve(exception, action)],
        expiresAt + 40
      )
      assert.deepStrictEqual([changedExceptions, changedPayments, events], [[], [], []])
    }
  })
})
