/**
 * Goal: no history of payments and refunds gives back more than was received, or the same money twice.
 * Method: properties over generated payments, late ones, reverts and commands, decided by both machines as one commit
 * decides them; the documented steps word by word.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import {
  type Aggregate,
  type Command,
  decide as decideInvoice,
  type Decision,
  exceptionObject,
  exceptionRecord,
  invoiceObject,
  type InvoiceState,
  nothingToScan,
  paymentObject
} from "../../../modules/invoices/machine.ts"
import {
  allocateRefund,
  decide,
  destinationSeconds,
  type Fees,
  isActive,
  isOpen,
  isReceived,
  net,
  newRefund,
  type Payout,
  quoteOf,
  quoteSeconds,
  reduceRefunds,
  refundableAmount,
  type RefundCommand,
  type RefundContext,
  refundObject,
  type RefundState,
  sortDestinations
} from "../../../modules/refunds/machine.ts"
import { isPublicError } from "../../../schemas/Errors.ts"
import { baseUnits, tokenAmountDown, type UsdMillis, usdMillis } from "../../../schemas/Money.ts"
import { descriptorOf, Network, networks } from "../../../schemas/Network.ts"
import { Refund, RefundQuote } from "../../../schemas/Refund.ts"
import { defaultPolicy, unpaidInvoice } from "../../fixtures/invoices.ts"

const now = 1_766_320_000
const expiresAt = now + 1_800

const invoice = (more: Partial<InvoiceState> = {}): InvoiceState =>
  unpaidInvoice(now, expiresAt, {
    type: "commerce",
    policy: { ...defaultPolicy, tolerance: 0, latePayment: "manual", underpaidGraceSeconds: 0 },
    ...more
  })

const fees = Object.fromEntries(
  networks.map((network) => [network, usdMillis(BigInt(descriptorOf(network).refundFeeUsdMillis))])
) as Record<Network, UsdMillis> satisfies Fees

const paymentIds = [0, 1, 2, 3].map((index) => `00000000-0000-4000-8000-00000000000${index}`)

/** The same transfer always brings the same amount; every other one comes too late. */
const observe = (index: number): Command => ({
  _tag: "Observe",
  transfer: {
    id: paymentIds[index]!,
    network: "base",
    tokenId: 1,
    tokenDecimals: 6,
    txHash: `0x${index}`,
    sender: null,
    units: BigInt(index + 1) * 7_000_000n,
    amount: usdMillis(BigInt(index + 1) * 7_000n),
    seenAt: index % 2 === 0 ? now + index : expiresAt + index,
    metadata: {
      quote: { quote_id: null, exchange_rate: "1.000000", rate_source: "fixed", priced_at: now, pricing: "spot" },
      confirmations: 1,
      required_confirmations: 1,
      block_number: 100,
      exception: null,
      token: null
    }
  }
})

const payout = (refund: RefundState): Payout => ({
  token: { id: 1, symbol: "USDC", decimals: 6, address: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913" },
  units: tokenAmountDown(net(refund), { numerator: 1n, denominator: 1n }, 6)
})

/** An invoice with its refunds, as commits leave them. */
interface Till {
  readonly invoice: Aggregate
  readonly refunds: ReadonlyArray<RefundState>
}

const empty: Till = { invoice: { invoice: invoice(), payments: [], exceptions: [] }, refunds: [] }

const about = ({ invoice, refunds }: Till, at = now): RefundContext => ({ now: at, invoice, refunds, fees })

const sum = <A>(all: ReadonlyArray<A>, of: (each: A) => bigint) => all.reduce((total, each) => total + of(each), 0n)
const received = ({ invoice }: Till) => sum(invoice.payments, (each) => (isReceived(each) ? each.amount : 0n))
const given = ({ invoice }: Till) => sum(invoice.payments, ({ refunded }) => refunded)
const promised = ({ refunds }: Till) => sum(refunds, (each) => (isOpen(each) ? each.amount : 0n))
const paidOut = ({ refunds }: Till) => sum(refunds, ({ amount, status }) => (status === "succeeded" ? amount : 0n))

/** Whatever an event tells of, its previous attributes give the snapshot before. */
const inverts = (before: Aggregate, { events }: Decision) => {
  const known = new Map<unknown, object>([
    [before.invoice.id, invoiceObject(before.invoice)],
    ...before.payments.map((payment) => [payment.id, paymentObject(before.invoice, payment)] as const),
    ...before.exceptions.map((each) => [each.id, exceptionObject(exceptionRecord(before, each))] as const)
  ])
  const told = new Map(known)
  for (const { object, previousAttributes, type } of events) {
    const previous = type.startsWith("invoice.") ? known.get(object.id) : told.get(object.id)
    const isNew = type === "invoice_payment.created" || type === "exception.opened"
    if (!isNew) assert.deepStrictEqual({ ...object, ...previousAttributes }, previous)
    told.set(object.id, object)
  }
}

const onInvoice = (till: Till, commands: ReadonlyArray<Command>, at = now): Till => {
  const decision = decideInvoice(till.invoice, commands, at) as Decision
  assert.isObject(decision)
  inverts(till.invoice, decision)
  const isGone = decision.changedPayments.some(({ status }) => status === "reverted")
  const left = isGone ? reduceRefunds(till.refunds, decision.next, at) : []
  for (const refund of left) {
    assert.strictEqual(
      refund.version,
      till.refunds.find(({ id }) => id === refund.id)!.version + 1
    )
  }
  return {
    invoice: decision.next,
    refunds: till.refunds.map((refund) => left.find(({ id }) => id === refund.id) ?? refund)
  }
}

const Moves = Schema.Array(Schema.Struct({
  kind: Schema.Literals([
    "observe",
    "observe",
    "confirm",
    "confirm",
    "revert",
    "settle",
    "tick",
    "open",
    "open",
    "late",
    "custom",
    "direct",
    "approve",
    "submit",
    "succeed",
    "fail",
    "retry",
    "cancel",
    "expire",
    "begin",
    "pay",
    "pay"
  ]),
  which: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 })),
  amount: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 30_000 }))
})).check(Schema.isMinLength(20), Schema.isMaxLength(80))
type Move = typeof Moves.Type[number]

const commandOf = ({ kind, which }: Move): RefundCommand | null => {
  switch (kind) {
    case "direct":
      return {
        _tag: "SetDestination",
        destination: { network: which === 0 ? "ethereum" : "base", address: `0x${which}`, memo: null }
      }
    case "approve":
      return { _tag: "Approve" }
    case "submit":
      return { _tag: "Submit", txHash: `0xpayout${which}` }
    case "succeed":
      return { _tag: "Succeed", txHash: `0xpayout${which}` }
    case "fail":
      return { _tag: "Fail", code: "insufficient_funds" }
    case "retry":
      return { _tag: "Retry" }
    case "cancel":
      return { _tag: "Cancel" }
    case "expire":
      return { _tag: "Expire" }
    default:
      return null
  }
}

/** Moves that only do something one after the other. */
const inARow: Readonly<Record<string, ReadonlyArray<Move["kind"]>>> = {
  begin: ["direct", "approve"],
  pay: ["direct", "approve", "succeed"]
}

const oneByOne = (moves: ReadonlyArray<Move>): ReadonlyArray<Move> =>
  moves.flatMap((move) => (inARow[move.kind] ?? [move.kind]).map((kind) => ({ ...move, kind })))

const moved = (till: Till, move: Move, index: number): Till => {
  const paymentId = paymentIds[move.which]!
  switch (move.kind) {
    case "observe":
      return onInvoice(till, [observe(move.which)], expiresAt + index)
    case "confirm":
      return onInvoice(till, [{ _tag: "Confirm", paymentId, confirmations: 1 }])
    case "revert":
      return onInvoice(till, [{ _tag: "Revert", paymentId }])
    case "tick":
      return onInvoice(till, [{ _tag: "Tick", progress: nothingToScan }], expiresAt + index)
    case "settle": {
      const payment = till.invoice.payments.find(({ id }) => id === paymentId)
      if (payment === undefined || payment.refunded > 0n) return till
      return onInvoice(till, [{
        _tag: "Settle",
        paymentId,
        settlement: {
          status: "settled",
          stage: "final",
          progress: "settled",
          settledAmount: payment.amount,
          settledAt: now,
          id: null,
          txHash: null,
          network: "base"
        }
      }])
    }
    case "open":
    case "late":
    case "custom": {
      const fresh = newRefund(`re_${index}`, {
        amount: move.kind === "custom" ? usdMillis(BigInt(move.amount)) : "remaining",
        reason: "other",
        feeFree: move.which === 1,
        source: move.kind === "late" ? "late" : "all",
        quote: null
      }, about(till, now + index))
      if (fresh === null || isPublicError(fresh)) return till
      const after = { ...till, refunds: [...till.refunds, fresh] }
      assert.isAtMost(
        Number(given(after) + promised(after)),
        Number(received(after)),
        "opened beyond what was received"
      )
      return after
    }
    default: {
      const refund = till.refunds.at(-1 - move.which)
      const command = commandOf(move)
      if (refund === undefined || command === null) return till
      const at = move.kind === "expire" ? now + destinationSeconds + index : now + index
      const decision = decide(refund, command, about(till, at), payout(refund))
      if (isPublicError(decision)) return till
      const { commands, next } = decision
      if (next === refund) {
        assert.deepStrictEqual(commands, [])
        return till
      }
      assert.strictEqual(next.version, refund.version + 1)
      const after = { ...till, refunds: till.refunds.map((each) => (each.id === next.id ? next : each)) }
      if (next.status === "processing" && refund.status !== "processing") {
        assert.isAtMost(
          Number(given(after) + promised(after)),
          Number(received(after)),
          "to be paid beyond what was received"
        )
      }
      return commands.length === 0 ? after : onInvoice(after, commands, at)
    }
  }
}

/** From where a refund can go where (modules/docs/reference/refunds.md#states); what a cut does besides. */
const steps: Readonly<Record<RefundState["status"], ReadonlyArray<RefundState["status"]>>> = {
  awaiting_destination: ["pending_approval", "canceled", "expired"],
  pending_approval: ["processing", "canceled", "awaiting_destination"],
  processing: ["succeeded", "failed"],
  failed: ["processing"],
  succeeded: [],
  canceled: [],
  expired: []
}

describe("refunds, any history", () => {
  it.effect.prop(
    "never come to more than was received, and no amount is given back twice or lost",
    [Moves],
    ([moves]) =>
      Effect.sync(() => {
        let till = empty
        for (const [index, move] of oneByOne(moves).entries()) {
          const before = till
          till = moved(till, move, index)
          assert.strictEqual(given(till), paidOut(till), "what payments gave is what was paid out")
          for (const payment of till.invoice.payments) assert.isTrue(payment.refunded <= payment.amount)
          if (paidOut(till) > paidOut(before) && !till.invoice.payments.some(({ status }) => status === "reverted")) {
            assert.isAtMost(
              Number(given(till) + promised(till)),
              Number(received(till)),
              "paid beyond what was received"
            )
          }
          for (const refund of before.refunds) {
            const after = till.refunds.find(({ id }) => id === refund.id)!
            if (after.status !== refund.status) assert.include(steps[refund.status], after.status)
            if (!isOpen(refund)) assert.strictEqual(after, refund)
            assert.isTrue(after.amount <= refund.amount && after.fee < after.amount)
            assert.isTrue(isActive(after) || after.txHash === null)
          }
        }
      }),
    { arbitrary: { runs: 400 } }
  )

  it.effect.prop(
    "a payment that goes takes with it what was promised of it, unless that is sent",
    [Moves],
    ([moves]) =>
      Effect.sync(() => {
        let till = empty
        for (const [index, move] of oneByOne(moves).entries()) {
          till = moved(till, move, index)
          const waits = till.refunds.every((refund) =>
            !isOpen(refund) || (refund.txHash === null && refund.status !== "failed")
          )
          if (waits) assert.isTrue(promised(till) === 0n || given(till) + promised(till) <= received(till))
        }
      }),
    { arbitrary: { runs: 400 } }
  )

  it.effect.prop("are spread over payments the oldest first, to the last thousandth", [
    Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 30_000 }))).check(Schema.isMaxLength(6)),
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 60_000 }))
  ], ([amounts, wanted]) =>
    Effect.sync(() => {
      const payments = [0, 2, 1, 3].slice(0, amounts.length).reduce(
        (till, index) =>
          onInvoice(till, [observe(index), { _tag: "Confirm", paymentId: paymentIds[index]!, confirmations: 1 }]),
        empty
      ).invoice.payments
      const all = sum(payments, ({ amount }) => amount)
      const amount = usdMillis(BigInt(wanted) > all ? all : BigInt(wanted))
      const commands = allocateRefund({ id: "re_1", amount, source: "all" }, payments, [])
      assert.strictEqual(sum(commands, (command) => (command._tag === "Refund" ? command.amount : 0n)), amount)
      const bySight = payments.toSorted((a, b) => a.seenAt - b.seenAt)
      assert.deepStrictEqual(
        commands.map((command) => command._tag === "Refund" && command.paymentId),
        bySight.slice(0, commands.length).map(({ id }) => id)
      )
    }))
})

const paid = (...indexes: ReadonlyArray<number>): Till =>
  indexes.reduce(
    (till, index) =>
      onInvoice(
        till,
        [observe(index), { _tag: "Confirm", paymentId: paymentIds[index]!, confirmations: 1 }],
        now + index
      ),
    empty
  )

const refundOf = (till: Till, more: Partial<Parameters<typeof newRefund>[1]> = {}): RefundState => {
  const fresh = newRefund("re_1", {
    amount: "remaining",
    reason: "other",
    feeFree: false,
    source: "all",
    quote: null,
    ...more
  }, about(till))
  assert.isFalse(isPublicError(fresh) || fresh === null)
  return fresh as RefundState
}

const after = (till: Till, refund: RefundState, command: RefundCommand, at = now): RefundState => {
  const decision = decide(refund, command, about({ ...till, refunds: [refund] }, at), payout(refund))
  if (isPublicError(decision)) return assert.fail(decision.code)
  return decision.next
}

const codeOf = (till: Till, refund: RefundState, command: RefundCommand, pay: Payout | null = payout(refund)) => {
  const decision = decide(refund, command, about({ ...till, refunds: [refund] }), pay)
  return isPublicError(decision) ? decision.code : "done"
}

/** Amounts are compared by value, whatever they are branded. */
const has = (refund: object, wanted: object) => assert.deepInclude(refund, wanted)

const base = { network: "base", address: "0x1", memo: null } as const
const ethereum = { network: "ethereum", address: "0x1", memo: null } as const

describe("a refund", () => {
  it("goes from a destination over an approval to its payout", () => {
    const till = paid(0)
    const fresh = refundOf(till)
    has(fresh, { status: "awaiting_destination", amount: 7_000n, fee: 0n, dueAt: now + destinationSeconds })
    const waiting = after(till, fresh, { _tag: "SetDestination", destination: base })
    has(waiting, { status: "pending_approval", fee: 20n, dueAt: null })
    const begun = after(till, waiting, { _tag: "Approve" })
    has(begun, { status: "processing", tokenAmount: baseUnits(6_980_000n) })
    const sent = after(till, begun, { _tag: "Submit", txHash: "0xa" })
    has(sent, { status: "processing", txHash: "0xa" })
    const done = after(till, sent, { _tag: "Succeed", txHash: "0xa" })
    has(done, { status: "succeeded", txHash: "0xa", version: 5 })
    assert.strictEqual(after(till, done, { _tag: "Succeed", txHash: "0xa" }), done, "told again, it is the same")
    assert.strictEqual(
      codeOf(till, done, { _tag: "Succeed", txHash: "0xb" }),
      "INVALID_TRANSITION",
      "one payout is enough"
    )
  })

  it("that failed is worked out anew, may go elsewhere, and is not canceled any more", () => {
    const till = paid(0)
    const begun = after(till, after(till, refundOf(till), { _tag: "SetDestination", destination: base }), {
      _tag: "Approve"
    })
    const failed = after(till, after(till, begun, { _tag: "Submit", txHash: "0xa" }), {
      _tag: "Fail",
      code: "out_of_gas"
    })
    has(failed, { status: "failed", failureCode: "out_of_gas" })
    assert.strictEqual(codeOf(till, failed, { _tag: "Cancel" }), "REFUND_NOT_CANCELABLE")
    const elsewhere = after(till, failed, { _tag: "SetDestination", destination: ethereum })
    has(elsewhere, { status: "failed", fee: 2_000n })
    assert.strictEqual(codeOf(till, elsewhere, { _tag: "Retry" }, null), "QUOTE_UNAVAILABLE")
    has(after(till, elsewhere, { _tag: "Retry" }), {
      status: "processing",
      txHash: null,
      failureCode: null,
      tokenAmount: baseUnits(5_000_000n)
    })
  })

  it("ends when nobody says for 30 days where it goes, and then stands for nothing", () => {
    const till = paid(0)
    const fresh = refundOf(till)
    assert.strictEqual(after(till, fresh, { _tag: "Expire" }, now + destinationSeconds - 1), fresh)
    const ended = after(till, fresh, { _tag: "Expire" }, now + destinationSeconds)
    has(ended, { status: "expired", dueAt: null })
    assert.strictEqual(refundableAmount(till.invoice, [ended]), 7_000n)
  })

  it("is refused beyond what was received, and null where nothing remains", () => {
    const till = paid(0)
    const ask = { amount: usdMillis(7_001n), reason: "other", feeFree: false, source: "all", quote: null } as const
    const beyond = newRefund("re_2", ask, about(till))
    assert.isTrue(isPublicError(beyond) && beyond.code === "REFUND_EXCEEDS_RECEIVED")
    assert.isNull(newRefund("re_2", { ...ask, amount: "remaining" }, about({ ...till, refunds: [refundOf(till)] })))
  })

  it("of late money is for that alone, and waits until it is deep", () => {
    const seen = onInvoice(paid(0), [observe(1)], expiresAt + 5)
    const late = refundOf(seen, { source: "late" })
    assert.strictEqual(late.amount, 14_000n)
    const waiting = after(seen, late, { _tag: "SetDestination", destination: base })
    assert.strictEqual(codeOf(seen, waiting, { _tag: "Approve" }), "REFUND_EXCEEDS_RECEIVED")
    const deep = onInvoice(seen, [{ _tag: "Confirm", paymentId: paymentIds[1]!, confirmations: 1 }])
    const begun = after(deep, waiting, { _tag: "Approve" })
    const decision = decide(begun, { _tag: "Succeed", txHash: "0xa" }, about({ ...deep, refunds: [begun] }), null)
    has(decision, { commands: [{ _tag: "Refund", paymentId: paymentIds[1]!, amount: 14_000n }] })
  })

  it("takes none of what another one that was opened before it will pay out", () => {
    const till = paid(0, 2)
    const first = refundOf(till, { amount: usdMillis(7_000n) })
    const waiting = { ...refundOf(till, { amount: usdMillis(5_000n) }), id: "re_2" }
    const begun = after(till, after(till, waiting, { _tag: "SetDestination", destination: base }), { _tag: "Approve" })
    const succeed: RefundCommand = { _tag: "Succeed", txHash: "0xa" }
    const paying = (refunds: ReadonlyArray<RefundState>) => decide(begun, succeed, about({ ...till, refunds }), null)
    has(paying([first, begun]), { commands: [{ _tag: "Refund", paymentId: paymentIds[2]!, amount: 5_000n }] })
    has(paying([begun, first]), { commands: [{ _tag: "Refund", paymentId: paymentIds[0]!, amount: 5_000n }] })
  })

  it("costs what was quoted while that holds, and nothing where it is free", () => {
    const till = paid(0)
    const ask = {
      amount: usdMillis(7_000n),
      feeFree: false,
      fees: { ...fees, base: usdMillis(5n) },
      network: "base",
      symbol: "USDC"
    } as const
    const quote = quoteOf(ask, now)!
    Schema.decodeUnknownSync(RefundQuote)(quote)
    has(quote, { fee: 5, net_amount: 6_995, valid_until: now + quoteSeconds })
    const set = { _tag: "SetDestination", destination: base, quote } as const
    assert.strictEqual(after(till, refundOf(till), set, now + quoteSeconds).fee, 5n)
    assert.strictEqual(after(till, refundOf(till), set, now + quoteSeconds + 1).fee, 20n)
    assert.strictEqual(after(till, refundOf(till, { quote }), { _tag: "SetDestination", destination: base }).fee, 5n)
    assert.strictEqual(
      after(till, refundOf(till, { quote }), { _tag: "SetDestination", destination: ethereum }).fee,
      2_000n
    )
    assert.strictEqual(
      after(till, refundOf(till, { feeFree: true }), { _tag: "SetDestination", destination: ethereum }).fee,
      0n
    )
    assert.isNull(quoteOf({ ...ask, amount: usdMillis(5n) }, now))
  })

  it("does not go where the fee takes all of it", () => {
    const till = paid(0)
    const small = refundOf(till, { amount: usdMillis(2_000n) })
    assert.strictEqual(codeOf(till, small, { _tag: "SetDestination", destination: ethereum }), "VALIDATION_ERROR")
    assert.strictEqual(codeOf(till, small, { _tag: "SetDestination", destination: base }), "done")
  })

  it("gives way when its money is gone: cut while it waits, failed before it is sent, a fact after", () => {
    const till = paid(0, 2)
    const waiting = after(till, refundOf(till), { _tag: "SetDestination", destination: base })
    const begun = after(till, waiting, { _tag: "Approve" })
    const sent = after(till, begun, { _tag: "Submit", txHash: "0xa" })
    const gone = (refund: RefundState) =>
      onInvoice({ ...till, refunds: [refund] }, [{ _tag: "Revert", paymentId: paymentIds[2]! }]).refunds[0]!
    has(gone(waiting), { status: "pending_approval", amount: 7_000n })
    has(gone(begun), { status: "failed", failureCode: "payment_reverted", amount: 7_000n })
    assert.strictEqual(gone(sent), sent)
    const only = paid(2)
    const lost = onInvoice({ ...only, refunds: [refundOf(only)] }, [{ _tag: "Revert", paymentId: paymentIds[2]! }])
    has(lost.refunds[0]!, { status: "canceled", dueAt: null })
  })

  it("on the wire has the contract's fields", () => {
    const till = paid(0)
    const begun = after(till, after(till, refundOf(till), { _tag: "SetDestination", destination: base }), {
      _tag: "Approve"
    })
    const object = refundObject({ ...begun, id: "re_550e8400-e29b-41d4-a716-446655440000" }, till.invoice.invoice)
    assert.deepStrictEqual(Object.keys(Schema.decodeUnknownSync(Refund)(object)), Object.keys(object))
    has(object, {
      amount: 7_000,
      fee: 20,
      net_amount: 6_980,
      net_amount_decimal: "6.980",
      token_amount: "6.980000",
      token_symbol: "USDC",
      token_id: 1,
      token_address: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
      network: "base"
    })
  })

  it("of a payor who named several networks goes to one that was paid on, else where it costs least", () => {
    const all = [ethereum, { network: "sui", address: "0x1", memo: null } as const, base]
    assert.deepStrictEqual(sortDestinations(all, paid(0).invoice.payments, fees).map(({ network }) => network), [
      "base",
      "sui",
      "ethereum"
    ])
    assert.deepStrictEqual(sortDestinations(all, [], fees).map(({ network }) => network), ["base", "sui", "ethereum"])
  })
})

describe("an invoice", () => {
  it("that was never paid in full is canceled once all that came is given back", () => {
    const till = paid(0, 2)
    assert.strictEqual(till.invoice.invoice.status, "underpaid")
    const part = onInvoice(till, [{ _tag: "Refund", paymentId: paymentIds[0]!, amount: usdMillis(7_000n) }])
    assert.strictEqual(part.invoice.invoice.status, "underpaid")
    const whole = decideInvoice(part.invoice, [{
      _tag: "Refund",
      paymentId: paymentIds[2]!,
      amount: usdMillis(21_000n)
    }], now) as Decision
    inverts(part.invoice, whole)
    assert.deepStrictEqual(whole.events.map(({ type }) => type), [
      "invoice_payment.refunded",
      "invoice.updated",
      "invoice.canceled"
    ])
    assert.strictEqual(whole.next.invoice.status, "canceled")
  })
})
