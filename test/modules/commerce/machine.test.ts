/**
 * Goal: no order is ever submitted, or submitted again, for money that has not settled, whatever happens in whatever
 * order; and every step is told once, in a way that inverts.
 * Method: a property over random facts of chain, settlement, retailer, merchant and clock through the invoice's own
 * machine, judged by rules written here anew; then the documented accidents one by one.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import {
  decide,
  maximumTries,
  type NewOrder,
  newOrder,
  orderCreatedEvent,
  type OrderFact,
  orderObject,
  type OrderState,
  orderUpdate,
  type RefundView,
  taskOf
} from "../../../modules/commerce/machine.ts"
import {
  type Aggregate,
  type Command,
  decide as decideInvoice,
  type Decision,
  type IncomingTransfer,
  invoiceObject,
  type InvoiceState,
  isPayable,
  nothingToScan,
  type PaymentSettlement,
  type ScanProgress
} from "../../../modules/invoices/machine.ts"
import { isPublicError, type PublicError } from "../../../schemas/Errors.ts"
import type { EventDraft } from "../../../schemas/Event.ts"
import { usdMillis } from "../../../schemas/Money.ts"
import { Order, type Shipment } from "../../../schemas/Order.ts"
import { isCounted, type PaymentMetadata, type SettlementStatus } from "../../../schemas/Payment.ts"
import { openExceptionKeys } from "../../support/OpenExceptions.ts"
import { defaultPolicy, unpaidInvoice } from "../../fixtures/invoices.ts"

const start = 1_766_320_000
const expiresAt = start + 1_800
const orderId = "6f1c2d3e-4a5b-4c6d-8e7f-9a0b1c2d3e4f"

const invoice: InvoiceState = unpaidInvoice(start, expiresAt, {
  type: "commerce",
  amount: usdMillis(13_990n),
  customerId: "cust_1",
  orderId,
  policy: { ...defaultPolicy, underpaidGraceSeconds: 0 }
})

const item = { retailer: "amazon", title: "Item", imageUrl: null, quantity: 1, unitAmount: usdMillis(4_995n) } as const

const input: NewOrder = {
  orderId,
  merchantId: 123,
  environment: "devnet",
  customerId: "cust_1",
  walletAddress: null,
  walletNetwork: null,
  items: [{ ...item, productId: "B08N5WRWNW" }, { ...item, productId: "B07XJ8C8F5" }],
  shipping: { id: "standard", name: "Standard", amount: usdMillis(1_000n), estimatedDays: "5-7" },
  address: {
    firstName: "Ada",
    lastName: "Byron",
    streetAddress: "1 Main St",
    addressLine2: null,
    city: "Miami",
    state: "FL",
    zipCode: "33101",
    country: "US",
    phone: "+13055550100",
    email: "ada@example.com"
  },
  amounts: {
    subtotal: usdMillis(9_990n),
    shipping: usdMillis(1_000n),
    tax: usdMillis(0n),
    fees: usdMillis(3_000n),
    total: usdMillis(13_990n)
  },
  refundDestination: null,
  metadata: {}
}

/** An order with its invoice: what one commit moves. */
interface World {
  readonly order: OrderState
  readonly invoice: Aggregate
}

const world: World = {
  order: newOrder(input, invoice.id, start),
  invoice: { invoice, payments: [], exceptions: [] }
}

const priced: PaymentMetadata["quote"] = {
  quote_id: null,
  exchange_rate: "1.000000",
  rate_source: "fixed",
  priced_at: start,
  pricing: "spot"
}

const paymentId = (index: number) => `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`

const arrival = (index: number, amount: bigint, seenAt: number): IncomingTransfer => ({
  id: paymentId(index),
  network: "bsc",
  tokenId: 1,
  tokenDecimals: 6,
  txHash: `0x${index}`,
  sender: "0xpayor",
  units: amount * 1_000n,
  amount: usdMillis(amount),
  seenAt,
  metadata: {
    quote: priced,
    confirmations: 1,
    required_confirmations: 1,
    block_number: 100,
    exception: null,
    token: null
  }
})

const settlement = (status: SettlementStatus, at: number): PaymentSettlement => ({
  status,
  stage: status === "settled" ? "final" : "sweep",
  progress: status === "settled" ? "settled" : status === "failed" || status === "manual" ? "failed" : "submitted",
  settledAmount: status === "settled" ? usdMillis(1n) : null,
  settledAt: status === "settled" ? at : null,
  id: null,
  txHash: null,
  network: null
})

/** A world after a commit, and what the commit told of the order and of the invoice. */
interface Committed extends World {
  readonly events: ReadonlyArray<EventDraft>
  readonly invoiceEvents: ReadonlyArray<EventDraft>
  readonly decided: Exclude<ReturnType<typeof decide>, PublicError>
}

/** As the companion commits it: commands of the change, the order's facts, and what the order commands. */
const commit = (
  before: World,
  commands: ReadonlyArray<Command>,
  facts: ReadonlyArray<OrderFact>,
  now: number
): Committed | PublicError => {
  const first = decideInvoice(before.invoice, commands, now) as Decision
  const decided = decide(before.order, facts, first.next, now)
  if (isPublicError(decided)) return decided
  const last = decideInvoice(before.invoice, [...commands, ...decided.commands], now)
  assert.isObject(last, "what an order commands of its invoice is never refused")
  const { events: invoiceEvents, next } = last as Decision
  const done = orderUpdate(before.order, decided.next, now)
  return { order: done?.order ?? before.order, invoice: next, events: done?.events ?? [], invoiceEvents, decided }
}

const committed = (
  before: World,
  commands: ReadonlyArray<Command>,
  facts: ReadonlyArray<OrderFact> = [],
  now = start + 60
) => {
  const after = commit(before, commands, facts, now)
  if (isPublicError(after)) throw after
  return after
}

const codeOf = (before: World, facts: ReadonlyArray<OrderFact>, now = start + 60) => {
  const after = commit(before, [], facts, now)
  return isPublicError(after) ? after.code : null
}

const pay = (index: number, amount: bigint, seenAt = start + 30): ReadonlyArray<Command> => [
  { _tag: "Observe", transfer: arrival(index, amount, seenAt) },
  { _tag: "Confirm", paymentId: paymentId(index), confirmations: 1 }
]

const settle = (index: number, status: SettlementStatus = "settled"): Command => ({
  _tag: "Settle",
  paymentId: paymentId(index),
  settlement: settlement(status, start + 40)
})

const shipment = (id: string, more: Partial<Shipment> = {}): Shipment => ({
  shipment_id: id,
  carrier: "UPS",
  tracking_number: "1Z",
  carrier_tracking_url: null,
  delivery_status: "in_transit",
  retailer_tracking_number: null,
  retailer_tracking_url: null,
  obtained_at: start,
  line_item_ids: [],
  ...more
})

const placedFact: OrderFact = { _tag: "Placed", providerOrderId: "p1" }
const begun: OrderFact = { _tag: "PlacementBegun" }
const cancelFact: OrderFact = { _tag: "CancelRequested", reason: null, destination: null }

const paid = committed(world, pay(1, 13_990n))
const submitted = committed(paid, [settle(1)])
const placed = committed(committed(submitted, [], [begun]), [], [placedFact])

/** Where histories begin, so that many of them go far. */
const starts = {
  fresh: world,
  paid,
  paidTwice: committed(committed(world, pay(1, 8_000n)), pay(2, 6_000n)),
  submitted,
  called: committed(submitted, [], [begun]),
  placed
} as const

const Start = Schema.Literals(["fresh", "paid", "paidTwice", "submitted", "called", "placed"])

const countedOf = ({ invoice }: World): ReadonlySet<string> =>
  new Set(invoice.payments.filter(({ status }) => isCounted(status)).map(({ id }) => id))

const stateOf = ({ order }: World) => `${order.status}/${order.substatus}`

const Moves = Schema.Array(Schema.Struct({
  kind: Schema.Literals([
    "observe",
    "confirm",
    "confirm",
    "revert",
    "giveUp",
    "tick",
    "refund",
    "settle",
    "settle",
    "settle",
    "abandon",
    "begun",
    "begun",
    "answered",
    "silent",
    "withdrawn",
    "cancelBegun",
    "placed",
    "placed",
    "refused",
    "shipped",
    "delivered",
    "accepted",
    "rejected",
    "canceled",
    "cancel",
    "destination",
    "refundTold"
  ]),
  payment: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 })),
  amount: Schema.Literals([3, 6_000, 8_000, 13_985, 13_990, 20_000]),
  status: Schema.Literals(["pending", "processing", "manual", "failed", "settled", "settled", "settled"]),
  more: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 })),
  seconds: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 400 }))
})).check(Schema.isMinLength(10), Schema.isMaxLength(40))

type Move = typeof Moves.Type[number]

const refundStatuses = ["awaiting_destination", "processing", "succeeded", "failed"] as const

/** What a move is: commands of the invoice, or facts of the order. */
const meaning = ({ amount, kind, more, payment, status }: Move, now: number): {
  readonly commands?: ReadonlyArray<Command>
  readonly facts?: ReadonlyArray<OrderFact>
} => {
  const id = paymentId(payment)
  switch (kind) {
    case "observe":
      return { commands: [{ _tag: "Observe", transfer: arrival(payment, BigInt(amount), now) }] }
    case "confirm":
      return {
        commands: [
          { _tag: "Observe", transfer: arrival(payment, BigInt(amount), now) },
          { _tag: "Confirm", paymentId: id, confirmations: 1 }
        ]
      }
    case "revert":
      return { commands: [{ _tag: "Revert", paymentId: id }] }
    case "giveUp":
      return { commands: [{ _tag: "RequireManualRetry", paymentId: id }] }
    case "tick":
      return { commands: [{ _tag: "Tick", progress: nothingToScan }] }
    case "refund":
      return { commands: [{ _tag: "Refund", paymentId: id, amount: usdMillis(BigInt(amount)) }] }
    case "settle":
      return {
        commands: [{
          _tag: "Settle",
          paymentId: id,
          settlement: more === 0 && status === "pending" ? null : settlement(status, now)
        }]
      }
    case "abandon":
      return { facts: [{ _tag: "SettlementAbandoned", paymentId: id }] }
    case "begun":
      return { facts: [begun] }
    case "answered":
      return { facts: [{ _tag: "RetailerAnswered" }] }
    case "silent":
      return { facts: [{ _tag: "RetailerSilent" }] }
    case "withdrawn":
      return { facts: [{ _tag: "Withdrawn" }] }
    case "cancelBegun":
      return { facts: [{ _tag: "CancellationBegun" }] }
    case "placed":
      return { facts: [{ _tag: "Placed", providerOrderId: more === 3 ? "p2" : "p1" }] }
    case "refused":
      return { facts: [{ _tag: "PlacementFailed", reason: "Out of stock" }] }
    case "shipped":
      return {
        facts: [{
          _tag: "Shipped",
          shipment: shipment(`ship_${payment}`, {
            delivery_status: (["in_transit", "out_for_delivery", "exception", "delivered"] as const)[more]!,
            line_item_ids: payment === 0 ? [] : [`li_${payment}`]
          })
        }]
      }
    case "delivered":
      return { facts: [{ _tag: "Delivered", isConfirmed: more > 1 }] }
    case "accepted":
      return { facts: [{ _tag: "CancellationAccepted" }] }
    case "rejected":
      return { facts: [{ _tag: "CancellationRejected", reason: "Packed already" }] }
    case "canceled":
      return { facts: [{ _tag: "CanceledByRetailer", reason: "Sold out" }] }
    case "cancel":
      return { facts: [cancelFact] }
    case "destination":
      return {
        facts: [{ _tag: "RefundDestinationSet", destination: { network: "bsc", address: `0x${more}`, memo: null } }]
      }
    case "refundTold":
      return { facts: [{ _tag: "Refund", refund: refundView(refundStatuses[more]!) }] }
  }
}

const refundView = (status: RefundView["status"]): RefundView => ({
  id: "re_1",
  status,
  amount: usdMillis(6_000n),
  fee: usdMillis(0n),
  destination: null,
  txHash: null,
  reason: "order_failed"
})

const isForPlacement = ({ substatus }: OrderState) => substatus.startsWith("PROVIDER_PLACEMENT_")

/**
 * The gate, said anew: the invoice is paid by what is settled and was not given back, and nothing it was paid by waits.
 */
const isGateOpen = ({ invoice: { invoice, payments } }: World, paidBy: ReadonlySet<string>): boolean => {
  const settled = payments.filter((payment) =>
    isCounted(payment.status) && payment.settlement !== null && payment.settlement.settledAt !== null
  )
  const waiting = payments.filter((payment) =>
    isCounted(payment.status) && paidBy.has(payment.id) && !settled.includes(payment)
  )
  const sum = settled.reduce((total, { amount, refunded }) => total + amount - refunded, 0n)
  return invoice.status === "paid" && waiting.length === 0 && sum >= invoice.amount - BigInt(invoice.policy.tolerance)
}

/** Money it was paid by is gone and nothing makes up for it; money that waits for an operator may yet count. */
const isLost = ({ invoice: { invoice, payments }, order }: World): boolean =>
  order.status === "processing" && invoice.status !== "paid" &&
  !payments.some(({ id, status }) => status === "manual_retry" && order.paidBy.includes(id))

/** From each status to those the table of the reference names. */
const followers: Readonly<Record<string, ReadonlyArray<string>>> = {
  pending_payment: ["pending_payment", "processing", "cancelled", "failed"],
  processing: ["processing", "placed", "failed"],
  placed: ["placed", "shipped", "delivered", "cancelled"],
  shipped: ["shipped", "delivered", "cancelled"],
  delivered: ["delivered"],
  cancelled: ["cancelled"],
  failed: ["failed"]
}

const decodeOrder = Schema.decodeUnknownSync(Order)

describe("an order, whatever happens", () => {
  it.effect.prop(
    "is submitted only when all it was paid by is settled, and told once and invertibly",
    [Start, Moves],
    ([from, moves]) =>
      Effect.sync(() => {
        let current: World = starts[from]
        let now = start + 100
        let paidBy = countedOf(current)
        let wasSubmitted = current.order.timeline.some(({ substatus }) => substatus === "PROVIDER_PLACEMENT_SUBMITTED")
        for (const move of moves) {
          now += move.seconds
          const { commands = [], facts = [] } = meaning(move, now)
          const before = current
          const after = commit(before, commands, facts, now)
          if (isPublicError(after)) {
            assert.include(["INVALID_TRANSITION", "ORDER_NOT_CANCELABLE"], after.code)
            continue
          }
          current = { order: after.order, invoice: after.invoice }
          const became = before.invoice.invoice.status !== "paid" && current.invoice.invoice.status === "paid"
          // Where all that it was paid by counts again, nothing that came beside is waited for.
          const counted = countedOf(current)
          if (became && (paidBy.size === 0 || ![...paidBy].every((id) => counted.has(id)))) paidBy = counted
          const newlySubmitted = isForPlacement(current.order) && !isForPlacement(before.order)
          const isCalled = facts.includes(begun)
          if (newlySubmitted || isCalled) assert.isTrue(isGateOpen(current, paidBy), `${move.kind} ${stateOf(current)}`)
          wasSubmitted ||= isForPlacement(current.order)
          if (["placed", "shipped", "delivered"].includes(current.order.status)) assert.isTrue(wasSubmitted)
          assert.include(followers[before.order.status]!, current.order.status, `${move.kind} ${stateOf(before)}`)
          assert.deepStrictEqual(current.order.timeline.slice(0, before.order.timeline.length), before.order.timeline)
          const last = current.order.timeline.at(-1)!
          assert.strictEqual(`${last.status}/${last.substatus}`, stateOf(current))
          assert.isAtMost(after.events.length, 1)
          const was = orderObject(before.order)
          const is = orderObject(current.order)
          const [event] = after.events
          if (event === undefined) assert.deepStrictEqual(is, was)
          else {
            assert.deepStrictEqual({ ...event.object, ...event.previousAttributes }, was)
            assert.deepStrictEqual(event.object, is)
            assert.isNotEmpty(event.previousAttributes)
          }
          decodeOrder(is)
          if (after.decided.refund !== null && !after.decided.refund.lateOnly) {
            assert.include(["cancelled", "failed"], current.order.status)
            assert.strictEqual(after.decided.refund.feeFree, current.order.status === "failed")
          }
          if (before.order.status === "processing" && isLost(current)) {
            assert.isFalse(isPayable(current.invoice.invoice, now), `${move.kind} ${stateOf(current)}`)
          }
          const hasEnded = current.order.status === "cancelled" || current.order.status === "failed"
          assert.isFalse(hasEnded && isPayable(current.invoice.invoice, now), `${move.kind} ${stateOf(current)}`)
        }
      })
  )

  it("is what its created event says, in the shape of the contract", () => {
    const { object, previousAttributes, type } = orderCreatedEvent(world.order)
    assert.strictEqual(type, "commerce.order.created")
    assert.deepStrictEqual(previousAttributes, {})
    assert.strictEqual(decodeOrder(object).line_items.length, 2)
  })
})

describe("an order, by the documented accidents", () => {
  it("goes the happy way, with every step of one commit in the timeline and one event", () => {
    const direct = committed(world, [...pay(1, 13_990n), settle(1)])
    assert.strictEqual(stateOf(direct), "processing/PROVIDER_PLACEMENT_SUBMITTED")
    assert.deepStrictEqual(direct.order.timeline.map(({ substatus }) => substatus), [
      "AWAITING_PAYMENT",
      "AWAITING_SETTLEMENT",
      "PROVIDER_PLACEMENT_SUBMITTED"
    ])
    assert.lengthOf(direct.events, 1)
    const shipped = committed(placed, [], [{ _tag: "Shipped", shipment: shipment("s1", { line_item_ids: ["li_1"] }) }])
    assert.strictEqual(stateOf(shipped), "shipped/IN_TRANSIT")
    assert.deepStrictEqual((orderObject(shipped.order).line_items as ReadonlyArray<any>).map(({ status }) => status), [
      "shipped",
      "placed"
    ])
    const delivered = committed(shipped, [], [{ _tag: "Delivered", isConfirmed: true }])
    assert.strictEqual(stateOf(delivered), "delivered/DELIVERY_CONFIRMED")
    assert.isNull(codeOf(delivered, [{ _tag: "Delivered", isConfirmed: true }]))
    assert.strictEqual(codeOf(delivered, [cancelFact]), "ORDER_NOT_CANCELABLE")
  })

  it("is refused as placed where it was never submitted, and where the retailer names it otherwise", () => {
    assert.strictEqual(codeOf(world, [placedFact]), "INVALID_TRANSITION")
    assert.strictEqual(codeOf(paid, [placedFact]), "INVALID_TRANSITION")
    assert.strictEqual(codeOf(paid, [begun]), "INVALID_TRANSITION")
    assert.isNull(codeOf(placed, [placedFact]))
    assert.strictEqual(codeOf(placed, [{ _tag: "Placed", providerOrderId: "p2" }]), "INVALID_TRANSITION")
  })

  it("waits for every payment it was paid by, and not for what came beside", () => {
    const two = committed(committed(world, pay(1, 7_000n)), pay(2, 6_990n))
    assert.strictEqual(stateOf(committed(two, [settle(1)])), "processing/AWAITING_SETTLEMENT")
    assert.strictEqual(
      stateOf(committed(committed(two, [settle(1)]), [settle(2)])),
      "processing/PROVIDER_PLACEMENT_SUBMITTED"
    )
    const more = committed(paid, pay(2, 5_000n))
    assert.strictEqual(stateOf(committed(more, [settle(1)])), "processing/PROVIDER_PLACEMENT_SUBMITTED")
    const stuck = committed(more, [{ _tag: "RequireManualRetry", paymentId: paymentId(1) }])
    assert.strictEqual(stateOf(stuck), "processing/SETTLEMENT_REVIEW")
    const again = committed(stuck, [{ _tag: "Confirm", paymentId: paymentId(1), confirmations: 1 }])
    assert.strictEqual(stateOf(committed(again, [settle(1)])), "processing/PROVIDER_PLACEMENT_SUBMITTED")
    const givenBack = committed(paid, [{ _tag: "Refund", paymentId: paymentId(1), amount: usdMillis(6_000n) }])
    assert.strictEqual(stateOf(givenBack), "failed/PAYMENT_REVERSED")
  })

  it("ends with its invoice: expired, short at its end, and with a refund of what arrived", () => {
    const tick: ReadonlyArray<Command> = [{ _tag: "Tick", progress: nothingToScan }]
    const expired = committed(world, tick, [], expiresAt)
    assert.strictEqual(stateOf(expired), "cancelled/PAYMENT_EXPIRED")
    assert.isNull(expired.decided.refund)
    const part = committed(world, pay(1, 6_000n))
    assert.strictEqual(stateOf(part), "pending_payment/PARTIALLY_PAID")
    const short = committed(part, tick, [], expiresAt)
    assert.strictEqual(stateOf(short), "cancelled/PAYMENT_EXPIRED")
    assert.strictEqual(short.decided.refund?.reason, "underpayment")
    const waiting = committed(part, [{ _tag: "Observe", transfer: arrival(2, 8_000n, expiresAt - 1) }])
    assert.strictEqual(stateOf(committed(waiting, tick, [], expiresAt)), "pending_payment/PAYMENT_CONFIRMING")
  })

  it("is not canceled while the networks it may have been paid on were not seen up to its end", () => {
    const down: ScanProgress = {
      networks: [{ network: "base", seenUntil: expiresAt - 1, isAdvancing: false }],
      handling: "done"
    }
    const unseen: ReadonlyArray<Command> = [{ _tag: "Tick", progress: down }]
    const held = committed(world, unseen, [], expiresAt + 50)
    assert.strictEqual(stateOf(held), stateOf(world))
    assert.strictEqual(
      stateOf(committed(held, pay(1, 14_000n, expiresAt - 1), [], expiresAt + 60)),
      "processing/AWAITING_SETTLEMENT"
    )
    const part = committed(world, pay(1, 6_000n))
    assert.strictEqual(stateOf(committed(part, unseen, [], expiresAt + 50)), "pending_payment/PARTIALLY_PAID")
    assert.strictEqual(stateOf(committed(part, unseen, [], expiresAt + 86_400)), "cancelled/PAYMENT_EXPIRED")
  })

  it("gives late funds back, whether it ended or goes on", () => {
    const late = pay(2, 5_000n, expiresAt + 10)
    const expired = committed(world, [{ _tag: "Tick", progress: nothingToScan }], [], expiresAt)
    const after = committed(expired, late, [], expiresAt + 20)
    assert.strictEqual(after.invoice.payments[0]?.metadata.exception, "late_payment")
    assert.deepInclude(after.decided.refund, { reason: "late_payment", lateOnly: false })
    assert.deepInclude(committed(placed, late, [], expiresAt + 20).decided.refund, {
      reason: "late_payment",
      lateOnly: true
    })
  })

  it("fails where the payment reverts before placement, and stays where it reverts after", () => {
    const revert: ReadonlyArray<Command> = [{ _tag: "Revert", paymentId: paymentId(1) }]
    assert.strictEqual(stateOf(committed(paid, revert)), "failed/PAYMENT_REVERSED")
    assert.strictEqual(stateOf(committed(submitted, revert)), "failed/PAYMENT_REVERSED")
    assert.strictEqual(stateOf(committed(placed, revert)), "placed/AWAITING_TRACKING")
  })

  it("that fails for a payment that went takes its invoice with it, and what comes later is given back as late", () => {
    const revert: Command = { _tag: "Revert", paymentId: paymentId(1) }
    const failed = committed(paid, [revert])
    assert.strictEqual(failed.invoice.invoice.status, "canceled")
    assert.strictEqual(failed.order.payment.status, "canceled", "the order shows its invoice as it is")
    assert.isFalse(isPayable(failed.invoice.invoice, start + 60))
    for (const index of [1, 2]) {
      const later = committed(failed, pay(index, 13_990n, start + 70), [], start + 70)
      assert.deepInclude(later.invoice.invoice, { status: "canceled", amountPaid: usdMillis(0n) })
      assert.deepInclude(later.invoice.payments.find(({ id }) => id === paymentId(index)), { status: "rejected" })
      assert.include(openExceptionKeys(later.invoice), `late_payment:${paymentId(index)}`)
      assert.deepInclude(later.decided.refund, { reason: "late_payment", lateOnly: false, feeFree: true })
    }
  })

  it("whose payment goes is never told to be payable again, whether its retailer was called or not", () => {
    const revert: Command = { _tag: "Revert", paymentId: paymentId(1) }
    const called = committed(submitted, [], [begun])
    const answered = committed(called, [], [{ _tag: "RetailerAnswered" }])
    for (const before of [paid, submitted, called, answered]) {
      const after = committed(before, [revert])
      assert.strictEqual(after.invoice.invoice.status, "canceled", stateOf(before))
      assert.strictEqual(after.order.payment.status, "canceled", "the order shows its invoice as it is")
      const told = after.invoiceEvents.filter(({ object }) => object.object === "invoice")
      assert.deepStrictEqual(told.map(({ object, type }) => [type, object.status]), [
        ["invoice.updated", "canceled"],
        ["invoice.canceled", "canceled"]
      ])
      for (const { object, previousAttributes } of told) {
        assert.deepStrictEqual({ ...object, ...previousAttributes }, invoiceObject(before.invoice.invoice))
      }
    }
  })

  it("gives money that comes while it is taken back from its retailer back once it fails, and holds it where it is placed", () => {
    const called = committed(submitted, [], [begun])
    const reverted = committed(called, [{ _tag: "Revert", paymentId: paymentId(1) }])
    const later = committed(reverted, pay(1, 13_990n), [], start + 70)
    assert.deepInclude(later.invoice.invoice, { status: "canceled", amountPaid: usdMillis(0n) })
    assert.include(openExceptionKeys(later.invoice), `late_payment:${paymentId(1)}`)
    assert.strictEqual(stateOf(later), "processing/PROVIDER_PLACEMENT_SUBMITTED")
    assert.isNull(later.decided.refund, "whether it is owed back is known when the retailer has answered")
    const failed = committed(later, [], [{ _tag: "Withdrawn" }], start + 80)
    assert.strictEqual(stateOf(failed), "failed/PAYMENT_REVERSED")
    assert.deepInclude(failed.decided.refund, { reason: "order_failed", lateOnly: false, feeFree: true })
    const kept = committed(later, [], [placedFact], start + 80)
    assert.strictEqual(stateOf(kept), "placed/AWAITING_TRACKING")
    assert.isNull(kept.decided.refund, "the goods are on their way: the exception asks a person")
  })

  it("that fails while another payment is under way gives that one back too, once it is confirmed", () => {
    const [seen, confirmed] = pay(2, 5_000n) as [Command, Command]
    const waiting = committed(paid, [seen])
    const failed = committed(waiting, [{ _tag: "Revert", paymentId: paymentId(1) }])
    assert.strictEqual(stateOf(failed), "failed/PAYMENT_REVERSED")
    assert.strictEqual(failed.invoice.invoice.status, "canceled")
    assert.isNull(failed.decided.refund, "nothing is there to be given back yet")
    const later = committed(failed, [confirmed])
    assert.deepInclude(later.invoice.invoice, { status: "canceled", amountPaid: usdMillis(0n) })
    assert.deepInclude(later.invoice.payments[1], {
      status: "rejected",
      amount: usdMillis(5_000n),
      confirmedAt: start + 60
    })
    assert.deepStrictEqual(openExceptionKeys(later.invoice).toSorted(), [
      `late_payment:${paymentId(2)}`,
      `reorged:${paymentId(1)}`
    ])
    assert.deepInclude(later.decided.refund, { reason: "late_payment" })
  })

  it("that failed for another reason keeps no invoice open when its payment reverts afterwards", () => {
    const failed = committed(paid, [], [{ _tag: "SettlementAbandoned", paymentId: paymentId(1) }])
    assert.deepStrictEqual([stateOf(failed), failed.invoice.invoice.status], ["failed/SETTLEMENT_FAILED", "paid"])
    const reverted = committed(failed, [{ _tag: "Revert", paymentId: paymentId(1) }])
    assert.strictEqual(reverted.invoice.invoice.status, "canceled")
  })

  it("is taken back from a retailer that may have it, before it fails for a payment that reverted meanwhile", () => {
    const called = committed(submitted, [], [begun])
    const reverted = committed(called, [{ _tag: "Revert", paymentId: paymentId(1) }])
    assert.strictEqual(stateOf(reverted), "processing/PROVIDER_PLACEMENT_SUBMITTED")
    assert.strictEqual(taskOf(reverted.order, reverted.invoice), "withdraw")
    assert.strictEqual(codeOf(reverted, [begun]), "INVALID_TRANSITION")
    assert.strictEqual(reverted.order.dueAt, called.order.dueAt, "not while the call is under way")
    const answered = committed(reverted, [], [{ _tag: "RetailerAnswered" }], start + 70)
    assert.deepInclude(answered.order, { isAcknowledged: false, dueAt: start + 70 }, "at once when it is over")
    assert.strictEqual(stateOf(committed(reverted, [], [{ _tag: "Withdrawn" }])), "failed/PAYMENT_REVERSED")
    let silent = reverted
    for (let tries = 1; tries < 2 * maximumTries; tries++) {
      assert.strictEqual(silent.order.status, "processing")
      silent = committed(silent, [], [{ _tag: "CancellationBegun" }, { _tag: "RetailerSilent" }])
    }
    assert.strictEqual(stateOf(silent), "failed/PAYMENT_REVERSED", "it never answers")
    assert.strictEqual(stateOf(committed(reverted, [], [placedFact])), "placed/AWAITING_TRACKING")
  })

  it("is looked at by someone while a settlement is manual, goes on with it, and fails when it is given up", () => {
    const manual = committed(paid, [settle(1, "manual")])
    assert.strictEqual(stateOf(manual), "processing/SETTLEMENT_REVIEW")
    assert.strictEqual(stateOf(committed(paid, [settle(1, "failed")])), "processing/AWAITING_SETTLEMENT")
    assert.strictEqual(stateOf(committed(manual, [settle(1)])), "processing/PROVIDER_PLACEMENT_SUBMITTED")
    const abandoned = committed(manual, [], [{ _tag: "SettlementAbandoned", paymentId: paymentId(1) }])
    assert.strictEqual(stateOf(abandoned), "failed/SETTLEMENT_FAILED")
    assert.deepInclude(abandoned.decided.refund, { reason: "order_failed", feeFree: true })
  })

  it("is placed again and again by a silent retailer, at longer and longer times, then taken back and failed", () => {
    let state: World = submitted
    let now = start + 60
    let waited = 0
    for (let tries = 1; tries <= maximumTries; tries++) {
      assert.strictEqual(taskOf(state.order, state.invoice), "place")
      state = committed(committed(state, [], [begun], now), [], [{ _tag: "RetailerSilent" }], now)
      assert.strictEqual(stateOf(state), "processing/PROVIDER_PLACEMENT_RETRYING")
      assert.isAtLeast(state.order.dueAt! - now, Math.min(waited, 30))
      waited = state.order.dueAt! - now
      now = state.order.dueAt!
    }
    assert.lengthOf(state.order.timeline, 4)
    assert.strictEqual(taskOf(state.order, state.invoice), "withdraw")
    const failed = committed(state, [], [{ _tag: "Withdrawn" }])
    assert.strictEqual(stateOf(failed), "failed/PLACEMENT_FAILED")
    assert.isTrue(failed.decided.refund?.feeFree)
    const refused = committed(submitted, [], [{ _tag: "PlacementFailed", reason: "Out of stock" }])
    assert.strictEqual(stateOf(refused), "failed/PLACEMENT_FAILED")
    assert.strictEqual(refused.order.timeline.at(-1)?.message, "Out of stock")
  })

  it("is canceled before it is paid together with its invoice, not while a payment is seen, not in processing", () => {
    const canceled = committed(world, [], [cancelFact])
    assert.strictEqual(stateOf(canceled), "cancelled/CANCELLED_BY_MERCHANT")
    assert.strictEqual(canceled.invoice.invoice.status, "canceled")
    assert.strictEqual((orderObject(canceled.order).payment as any).status, "canceled")
    const part = committed(committed(world, pay(1, 6_000n)), [], [cancelFact])
    assert.strictEqual(part.invoice.invoice.status, "canceled")
    assert.deepInclude(part.decided.refund, { reason: "order_cancelled", feeFree: false })
    const seen = committed(world, [{ _tag: "Observe", transfer: arrival(1, 13_990n, start + 30) }])
    assert.strictEqual(codeOf(seen, [cancelFact]), "ORDER_NOT_CANCELABLE")
    for (const state of [paid, submitted, canceled]) {
      assert.strictEqual(codeOf(state, [cancelFact]), "ORDER_NOT_CANCELABLE")
    }
  })

  it("asks the retailer to cancel what is placed, and does as it says", () => {
    const asked = committed(placed, [], [cancelFact])
    assert.strictEqual(stateOf(asked), "placed/CANCELLATION_REQUESTED")
    assert.strictEqual(taskOf(asked.order, asked.invoice), "cancel")
    const accepted = committed(asked, [], [{ _tag: "CancellationAccepted" }])
    assert.strictEqual(stateOf(accepted), "cancelled/CANCELLED_BY_MERCHANT")
    assert.strictEqual(accepted.order.cancellation, "accepted")
    assert.isFalse(accepted.decided.refund?.feeFree)
    const rejected = committed(asked, [], [{ _tag: "CancellationRejected", reason: "Packed already" }])
    assert.strictEqual(stateOf(rejected), "placed/AWAITING_TRACKING")
    assert.strictEqual(rejected.order.cancellation, "rejected")
    const shipped = committed(asked, [], [{ _tag: "Shipped", shipment: shipment("s1") }])
    assert.strictEqual(shipped.order.cancellation, "rejected")
    const retailer = committed(shipped, [], [{ _tag: "CanceledByRetailer", reason: "Lost" }])
    assert.strictEqual(stateOf(retailer), "cancelled/CANCELLED_BY_RETAILER")
    assert.deepInclude(retailer.decided.refund, { reason: "order_cancelled" })
  })

  it("shows the refund engine's refund, and takes a destination until it is on its way", () => {
    const failed = committed(submitted, [], [{ _tag: "PlacementFailed", reason: "Out of stock" }])
    const told = (status: RefundView["status"]) =>
      committed(failed, [], [{ _tag: "Refund", refund: refundView(status) }])
    const shown = (status: RefundView["status"]) => orderObject(told(status).order).refund_status
    assert.deepStrictEqual(
      (["awaiting_destination", "pending_approval", "processing", "failed", "succeeded", "canceled"] as const).map(
        shown
      ),
      ["AWAITING_DESTINATION", "PENDING", "PROCESSING", "FAILED", "PARTIALLY_REFUNDED", "NONE"]
    )
    const all = committed(failed, [{ _tag: "Refund", paymentId: paymentId(1), amount: usdMillis(13_990n) }], [
      { _tag: "Refund", refund: refundView("succeeded") }
    ])
    assert.strictEqual(orderObject(all.order).refund_status, "REFUNDED")
    assert.deepStrictEqual((orderObject(all.order).line_items as ReadonlyArray<any>).map(({ status }) => status), [
      "refunded",
      "refunded"
    ])
    const set: OrderFact = { _tag: "RefundDestinationSet", destination: { network: "bsc", address: "0x1", memo: null } }
    assert.isNull(codeOf(told("awaiting_destination"), [set]))
    assert.strictEqual(codeOf(told("processing"), [set]), "INVALID_TRANSITION")
  })
})
