/**
 * Goal: whatever is asked of a payment, in whatever order, in dollars or in units, all refunds together are at most the
 * payment, and exactly the payment once nothing is left. Method: properties over generated payments (18 decimals, dust,
 * tokens worth almost nothing) and generated wishes, acts and reorganisations.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import type { Aggregate, InvoiceState, PaymentState } from "../../../modules/invoices/plugin.ts"
import {
  type Approval,
  approvalBy,
  approvalsRequired,
  approversOf,
  type ChainTransfer,
  decide,
  failReverted,
  type Fees,
  isActive,
  newPaymentRefund,
  type PaymentRefund,
  peopleRequired,
  portionLeft,
  portionsOf,
  proofOf,
  type RefundCommand,
  type RefundContext,
  type RefundState,
  type RequestedAmount,
  sentUnits
} from "../../../modules/refunds/machine.ts"
import { isPublicError } from "../../../schemas/Errors.ts"
import { InvoiceId } from "../../../schemas/Ids.ts"
import { formatUnits, usdMillis } from "../../../schemas/Money.ts"
import type { Member } from "../../../runtime/Members.ts"
import { networks } from "../../../schemas/Network.ts"
import type { Role } from "../../../schemas/Roles.ts"
import type { RefundAmountMode } from "../../../schemas/Refund.ts"

const now = 1_766_320_000
const fees = Object.fromEntries(networks.map((network) => [network, usdMillis(20n)])) as unknown as Fees

const paymentOf = (
  index: number,
  units: bigint,
  amount: bigint,
  decimals: number,
  address: string | null = null
): PaymentState => ({
  id: `00000000-0000-4000-8000-00000000000${index}`,
  version: 1,
  ordinal: index + 1,
  exception: null,
  status: "confirmed",
  network: "base",
  tokenId: 1,
  tokenDecimals: decimals,
  txHash: `0x${index}`,
  sender: "0xsender",
  units,
  amount: usdMillis(amount),
  seenAt: now + index,
  createdAt: now,
  confirmedAt: now,
  settlement: null,
  refunded: usdMillis(0n),
  metadata: {
    quote: null,
    confirmations: 1,
    required_confirmations: 1,
    block_number: 1,
    exception: null,
    token: { id: 1 as never, symbol: "TOK", address, decimals }
  }
})

const aggregateOf = (payments: ReadonlyArray<PaymentState>): Aggregate => ({
  invoice: {
    id: InvoiceId.make("550e8400-e29b-41d4-a716-446655440000"),
    merchantId: 1,
    environment: "devnet",
    type: "standard",
    amount: usdMillis(10n),
    amountPaid: usdMillis(payments.reduce((sum, { amount }) => sum + amount, 0n))
  } as InvoiceState,
  payments,
  exceptions: []
})

interface Till {
  readonly invoice: Aggregate
  readonly refunds: ReadonlyArray<RefundState>
}

const contextOf = ({ invoice, refunds }: Till): RefundContext => ({ now, invoice, refunds, fees })

const wish = (mode: RefundAmountMode, more: Partial<RequestedAmount> = {}): RequestedAmount => ({
  mode,
  usd: null,
  tokenAmount: null,
  paymentId: null,
  ...more
})

const rules = { people: 1, autoApproveLimit: usdMillis(0n) }

let ids = 0
const opened = (till: Till, request: RequestedAmount): Till => {
  const portions = portionsOf(request, till.invoice, till.refunds)
  if (isPublicError(portions)) return till
  const shared = { reason: "other", feeBearer: "merchant", isClaimOnly: false, exceptionId: null, rules } as const
  const refunds = portions.map((portion) => newPaymentRefund(`re_${++ids}`, portion, shared, contextOf(till)))
  return {
    ...till,
    refunds: [...till.refunds, ...refunds.filter((each) => !isPublicError(each)) as Array<RefundState>]
  }
}

const destination = (which: number) => ({ network: "base" as const, address: `0x${which}`, memo: null })
const person = (name: string): Approval => ({ person: name, actor: name, at: now })

const approve: ReadonlyArray<RefundCommand> = [
  { _tag: "SetDestination", destination: destination(1) },
  { _tag: "Approve", approval: person("owner"), required: 1 }
]

const Steps = Schema.Array(Schema.Struct({
  kind: Schema.Literals([
    "value",
    "value",
    "units",
    "units",
    "overpaid",
    "remaining",
    "cancel",
    "approve",
    "send",
    "pay",
    "pay",
    "fail",
    "retry",
    "revert",
    "return"
  ]),
  which: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5 })),
  share: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 400 }))
})).check(Schema.isMinLength(1), Schema.isMaxLength(40))

const Paid = Schema.Array(Schema.Struct({
  /** Digits of the units beyond the first ones; mostly none, as of a token whose unit is worth dollars. */
  zeros: Schema.Literals([0, 0, 0, 3, 12, 24]),
  units: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 400 })),
  amount: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 5_000_000 })),
  /** Decimals of its token, which is another one for each number of them. */
  decimals: Schema.Literals([0, 18])
})).check(Schema.isMinLength(1), Schema.isMaxLength(3))

const acted = (till: Till, which: number, command: RefundCommand): Till => {
  const refund = till.refunds.at(-1 - which)
  const decision = refund === undefined ? null : decide(refund, command, contextOf(till), null)
  if (decision === null || isPublicError(decision)) return till
  return { ...till, refunds: till.refunds.map((each) => (each.id === refund!.id ? decision.next : each)) }
}

/** After money is gone, as the hook of an invoice's change does it. */
const reduced = (till: Till): Till => {
  const failed = new Map(failReverted(till.refunds, till.invoice, now).map((each) => [each.id, each]))
  return { ...till, refunds: till.refunds.map((each) => failed.get(each.id) ?? each) }
}

const step = (till: Till, { kind, share, which }: typeof Steps.Type[number]): Till => {
  const payment = till.invoice.payments[which % till.invoice.payments.length]!
  switch (kind) {
    case "value":
      return opened(till, wish("custom", { usd: usdMillis((payment.amount * BigInt(share)) / 1000n + 1n) }))
    case "units": {
      const units = (payment.units * BigInt(share)) / 1000n + 1n
      const tokenAmount = formatUnits(units, payment.tokenDecimals!)
      return opened(till, wish("custom", { tokenAmount, paymentId: payment.id }))
    }
    case "overpaid":
      return opened(till, wish("overpaid"))
    case "remaining":
      return opened(till, wish("remaining"))
    case "cancel":
      return acted(till, which, { _tag: "Cancel" })
    case "approve":
      return approve.reduce((next, command) => acted(next, which, command), till)
    case "send":
      return acted(till, which, { _tag: "Submit", txHash: "0x1" })
    case "pay":
      return reduced([...approve, { _tag: "Succeed", txHash: "0x1" } as const]
        .reduce((next, command) => acted(next, which, command), till))
    case "fail":
      return acted(till, which, { _tag: "Fail", code: "gas" })
    case "retry":
      return acted(till, which, { _tag: "Retry" })
    case "revert": {
      if (share % 2 !== 0) return till
      const payments = till.invoice.payments.map((each) =>
        each === payment ? { ...each, status: "reverted" as const, confirmedAt: null } : each
      )
      return reduced({ ...till, invoice: { ...till.invoice, payments } })
    }
    case "return":
      return {
        ...till,
        invoice: {
          ...till.invoice,
          payments: till.invoice.payments.map((each) =>
            each.id === payment.id ? { ...each, status: "confirmed", confirmedAt: now } : each
          )
        }
      }
  }
}

/** Base units of each payment's token that refunds stand for, and that were received. */
const ofToken = ({ invoice: { payments }, refunds }: Till, payment: PaymentState) => {
  const same = payments.filter(({ metadata }) => metadata.token!.address === payment.metadata.token!.address)
  const standing = refunds.filter((each) =>
    isActive(each) && same.some(({ id }) => id === each.paymentId) &&
    !(each.status === "failed" && each.failureCode === "payment_reverted" && each.txHash === null)
  )
  const sum = (all: ReadonlyArray<bigint>) => all.reduce((total, each) => total + each, 0n)
  const unitsOf = (all: ReadonlyArray<RefundState>) => sum(all.map(({ terms }) => terms!.units))
  return {
    standing: unitsOf(standing),
    sent: unitsOf(standing.filter(({ status, txHash }) => status !== "failed" && txHash !== null)),
    received: sum(same.map(({ status, units }) => (status === "reverted" ? 0n : units)))
  }
}

const holds = ({ invoice, refunds }: Till) => {
  for (const payment of invoice.payments) {
    const own = refunds.filter((each) => each.paymentId === payment.id && isActive(each))
    const units = own.reduce((sum, each) => sum + each.terms!.units, 0n)
    const usd = own.reduce((sum, each) => sum + each.amount, 0n)
    assert.isTrue(units <= payment.units, `${units} units of ${payment.units}`)
    assert.isTrue(usd <= payment.amount, `${usd} of ${payment.amount}`)
    const token = ofToken({ invoice, refunds }, payment)
    assert.isTrue(token.standing <= token.received || token.standing === token.sent, "only what is sent is more")
    const left = portionLeft(payment, invoice.payments, refunds)
    assert.isTrue(left.units === 0n || token.standing + left.units <= token.received, "what is left is there")
    if (payment.status === "reverted") assert.deepStrictEqual(left, { units: 0n, usd: 0n })
    else if (left.units === 0n) assert.strictEqual(left.usd, 0n, "no dollars are left without units")
    // A part too small for a thousandth of a dollar may come back from a cancel, when the rest has taken all dollars.
    else if (refunds.every(isActive) && left.units === payment.units - units) {
      assert.isTrue(left.usd > 0n, "no units are left without dollars")
    }
    for (const { terms } of own) assert.isTrue(terms!.units > 0n)
  }
}

describe("portions of payments", () => {
  it.effect.prop(
    "never come to more than was paid, and all of them to exactly that, in units and dollars",
    [Paid, Steps],
    ([paid, steps]) =>
      Effect.sync(() => {
        const payments = paid.map(({ amount, decimals, units, zeros }, index) =>
          paymentOf(index, BigInt(units) * 10n ** BigInt(zeros) + 1n, BigInt(amount), decimals, `0x${decimals}`)
        )
        let till: Till = { invoice: aggregateOf(payments), refunds: [] }
        for (const each of steps) {
          till = step(till, each)
          holds(till)
        }
        const over = till.invoice.invoice
        const active = till.refunds.filter(isActive)
        const excess = portionsOf(wish("overpaid"), till.invoice, till.refunds)
        if (!isPublicError(excess)) {
          const asked = excess.reduce((sum, { usd }) => sum + usd, 0n)
          const given = active.reduce((sum, { amount }) => sum + amount, 0n)
          assert.isTrue(asked + given <= over.amountPaid)
        }
        const rest = opened(till, wish("remaining"))
        holds(rest)
        for (const payment of rest.invoice.payments) {
          assert.deepStrictEqual(portionLeft(payment, rest.invoice.payments, rest.refunds), { units: 0n, usd: 0n })
        }
      }),
    { arbitrary: { runs: 1000 } }
  )

  it("are rounded down, and the last one takes the rest", () => {
    const payment = paymentOf(0, 1_000_000_000_000_000_003n, 3_000n, 18)
    let till: Till = { invoice: aggregateOf([payment]), refunds: [] }
    for (let each = 0; each < 3; each++) till = opened(till, wish("custom", { usd: usdMillis(1_000n) }))
    assert.deepStrictEqual(
      till.refunds.map(({ amount, terms }) => [amount, terms!.units]),
      [[1_000n, 333_333_333_333_333_334n], [1_000n, 333_333_333_333_333_334n], [1_000n, 333_333_333_333_333_335n]]
    )
  })

  it("never outrun what is left, where many parts were rounded down before", () => {
    const sumsOf = ({ refunds }: Till) => [
      refunds.reduce((sum, { terms }) => sum + terms!.units, 0n),
      refunds.reduce((sum, { amount }) => sum + amount, 0n)
    ]
    const few: Till = { invoice: aggregateOf([paymentOf(0, 30n, 1_000n, 0)]), refunds: [] }
    let till = few
    for (let each = 0; each < 15; each++) till = opened(till, wish("custom", { usd: usdMillis(66n) }))
    assert.deepStrictEqual(sumsOf(till), [15n, 990n])
    for (let each = 0; each < 15; each++) {
      till = opened(till, wish("custom", { tokenAmount: "1" }))
      holds(till)
    }
    assert.deepStrictEqual(sumsOf(till), [30n, 1_000n])

    till = { invoice: aggregateOf([paymentOf(0, 1_000n, 30n, 0)]), refunds: [] }
    for (let each = 0; each < 15; each++) till = opened(till, wish("custom", { tokenAmount: "66" }))
    assert.deepStrictEqual(sumsOf(till), [990n, 15n])
    for (let each = 0; each < 9; each++) {
      till = opened(till, wish("custom", { usd: usdMillis(1n) }))
      holds(till)
    }
    assert.deepStrictEqual(sumsOf(opened(till, wish("remaining"))), [1_000n, 30n])
  })

  it("are still given where exactly their units are left of the token, and no unit more", () => {
    const after = (missing: bigint) => {
      const gone = paymentOf(0, 666_334n + missing, 667n, 6)
      const other = paymentOf(1, 999_001n, 1_000n, 6)
      let till: Till = { invoice: aggregateOf([gone, other]), refunds: [] }
      till = opened(till, wish("remaining", { paymentId: gone.id }))
      till = opened(till, wish("custom", { paymentId: other.id, usd: usdMillis(333n) }))
      assert.strictEqual(till.refunds[1]!.terms!.units, 332_667n)
      till = step(till, { kind: "pay", which: 1, share: 1 })
      const payments = [{ ...gone, status: "reverted" as const, confirmedAt: null }, other]
      return acted(acted({ ...till, invoice: aggregateOf(payments) }, 0, approve[0]!), 0, approve[1]!).refunds[1]!
        .status
    }
    assert.strictEqual(after(0n), "processing")
    assert.strictEqual(after(1n), "pending_approval")
  })

  it("of money without a price are asked for by units, or all at once", () => {
    const priceless = { ...paymentOf(0, 1_000n, 0n, 2), status: "rejected" as const }
    const till: Till = { invoice: aggregateOf([priceless]), refunds: [] }
    const named = { paymentId: priceless.id }
    assert.isTrue(isPublicError(portionsOf(wish("custom", { ...named, usd: usdMillis(1n) }), till.invoice, [])))
    const part = opened(till, wish("custom", { ...named, tokenAmount: "2.5" }))
    assert.deepStrictEqual(part.refunds.map(({ amount, terms }) => [amount, terms!.units]), [[0n, 250n]])
    const rest = opened(part, wish("remaining", named))
    assert.deepStrictEqual(rest.refunds.map(({ terms }) => terms!.units), [250n, 750n])
  })

  it("borne by the payor are sent without the fee, which is rounded up to the last unit", () => {
    const payment = paymentOf(0, 700n, 3_000n, 2)
    const till: Till = { invoice: aggregateOf([payment]), refunds: [] }
    const [portion] = portionsOf(wish("full"), till.invoice, []) as ReadonlyArray<never>
    const shared = { reason: "other", feeBearer: "payor", isClaimOnly: false, exceptionId: null, rules } as const
    const refund = newPaymentRefund("re_1", portion!, shared, contextOf(till)) as RefundState
    assert.deepStrictEqual([refund.fee, refund.terms!.feeUnits, sentUnits(refund.terms!)], [20n, 5n, 695n])
  })
})

describe("proofs", () => {
  const refund = () => {
    const till = opened({ invoice: aggregateOf([paymentOf(0, 1_000n, 1_000n, 2)]), refunds: [] }, wish("full"))
    const withMemo = { network: "base" as const, address: "0x1", memo: "12 34" }
    return { ...till.refunds[0]!, destination: withMemo } as PaymentRefund
  }
  const shown = { index: 0, tokenAddress: null, amount: 1_000n, from: null, time: now }
  const proven = (transfer: ChainTransfer) =>
    proofOf(refund(), {
      transfers: [transfer],
      isFinal: true,
      index: null,
      used: new Set(),
      senderRefusal: () => null,
      notBefore: now
    })

  it("carry the memo of the destination, where it has one", () => {
    assert.isFalse(isPublicError(proven({ ...shown, memos: ["thank you", " 12 34 "] })))
    for (const memos of [[], ["1234"], ["12 345"]]) {
      const answer = proven({ ...shown, memos })
      assert.isTrue(isPublicError(answer) && answer.message.includes("lacks the memo"))
    }
  })
})

describe("approvals", () => {
  const members = (...names: ReadonlyArray<string>): ReadonlyArray<Member> =>
    names.map((person) => ({ person, role: "admin" }))
  const limit = { autoApproveLimit: usdMillis(500_000n) }
  const needed = (book: bigint, spot: bigint | null, people: ReadonlyArray<Member>) =>
    approvalsRequired(
      { book: usdMillis(book), spot: spot === null ? null : usdMillis(spot) },
      { ...limit, people: peopleRequired(approversOf("refund", people, "mainnet")) }
    )

  it("are by two people where two may approve, and by one up to the limit", () => {
    assert.strictEqual(needed(9_000_000n, 9_000_000n, members("ada")), 1)
    assert.strictEqual(needed(9_000_000n, 9_000_000n, [...members("ada"), { person: "bob", role: "support" }]), 1)
    assert.strictEqual(needed(9_000_000n, 9_000_000n, members("ada", "ada")), 1, "people count, not credentials")
    assert.strictEqual(needed(500_000n, 500_000n, members("ada", "bob")), 1)
    assert.strictEqual(needed(500_001n, 1n, members("ada", "bob")), 2)
    assert.strictEqual(needed(1n, 500_001n, members("ada", "bob")), 2, "the larger of the two values counts")
    assert.strictEqual(needed(1n, null, members("ada", "bob")), 2, "without a price nobody knows")
  })

  it("are given by people whose role may, and never by keys", () => {
    const by = (kind: "key" | "wallet", role: Role) =>
      approvalBy("refund", { kind, credential: "id", person: "ada", role }, "mainnet", now)
    assert.strictEqual(by("key", "owner"), null)
    assert.strictEqual(by("wallet", "support"), null)
    assert.deepStrictEqual(by("wallet", "admin"), { person: "ada", actor: "id", at: now })
  })

  it("are of one destination: another one needs all of them again", () => {
    const payment = paymentOf(0, 1_000n, 1_000n, 2)
    let till = opened({ invoice: aggregateOf([payment]), refunds: [] }, wish("full"))
    const at = () => [till.refunds[0]!.status, till.refunds[0]!.terms!.approvals.length] as const
    const act = (command: RefundCommand) => {
      till = acted(till, 0, command)
    }
    act({ _tag: "Approve", approval: person("ada"), required: 2 })
    assert.deepStrictEqual(at(), ["awaiting_destination", 0], "not before the destination is known")
    act({ _tag: "SetDestination", destination: destination(1) })
    act({ _tag: "Approve", approval: person("ada"), required: 2 })
    assert.deepStrictEqual(at(), ["pending_approval", 1])
    act({ _tag: "Approve", approval: person("ada"), required: 2 })
    assert.deepStrictEqual(at(), ["pending_approval", 1], "one person is one")
    act({ _tag: "SetDestination", destination: destination(2) })
    assert.deepStrictEqual(at(), ["pending_approval", 0])
    act({ _tag: "Approve", approval: person("bob"), required: 2 })
    act({ _tag: "Approve", approval: person("ada"), required: 2 })
    assert.deepStrictEqual(at(), ["processing", 2])
    act({ _tag: "SetDestination", destination: destination(3) })
    assert.deepStrictEqual(at(), ["processing", 2], "it may be on its way")
    act({ _tag: "Fail", code: "gas" })
    act({ _tag: "SetDestination", destination: destination(3) })
    assert.deepStrictEqual(at(), ["pending_approval", 0])
    act({ _tag: "Retry" })
    assert.deepStrictEqual(at(), ["pending_approval", 0])
  })
})
