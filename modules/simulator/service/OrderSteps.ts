/** Steps of a devnet order: what has happened to it, put into the change of its invoice that carries it on. */
import { Effect } from "effect"
import { type CommitCause, dieOnReplay } from "../../../runtime/Commit.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { type EventId, isUuid } from "../../../schemas/Ids.ts"
import { usdMillis, usdWire } from "../../../schemas/Money.ts"
import type { Destination as RefundDestination, OrderFact, Orders, OrderState } from "../../commerce/plugin.ts"
import { type Aggregate, amountRemaining, type ChangePlan } from "../../invoices/plugin.ts"
import type { Refunds } from "../../refunds/plugin.ts"
import {
  allowedTransitions,
  confirmedEntry,
  environment,
  isAwaitingSettlement,
  type OrderTransition,
  pendingEntries,
  providerOrderIdOf,
  shipmentOf
} from "../rules.ts"
import { payOutRefunds } from "./OrderRefunds.ts"
import { reportSettlements, settledReport, unsettledPayments } from "./SettlementReports.ts"
import { eventIdsOf, type SimulatorContext } from "./SimulatorContext.ts"
import { paymentEntry, requiredBlocks } from "./Transfers.ts"

/** A step of an order that a call asks for. */
export interface OrderStep {
  readonly transition: OrderTransition
  readonly tracking: { readonly carrier: string | null; readonly number: string | null } | null
  /** Where a refund goes from now on; null: where it went. */
  readonly destination: RefundDestination | null
}

/** What a step has done. */
export interface OrderStepResult {
  readonly order: OrderState
  readonly eventIds: ReadonlyArray<EventId>
}

export interface OrderSimulatorContext extends SimulatorContext {
  readonly orders: Orders["Service"]
  readonly refunds: Refunds["Service"]
}

const requireOrder = Effect.fnUntraced(function*(
  { orders }: OrderSimulatorContext,
  merchantId: number,
  orderId: string
) {
  const order = isUuid(orderId) ? yield* orders.get(merchantId, orderId) : null
  return order?.environment === environment ? order : yield* publicError("ORDER_NOT_FOUND")
})

const checkAllowed = (order: OrderState, { transition }: OrderStep) => {
  const allowed = allowedTransitions(order)
  return allowed.includes(transition) ? Effect.void : Effect.fail(publicError("INVALID_TRANSITION", {
    message: `An order that is ${order.status}, ${order.substatus}, cannot become ${transition}`,
    details: { allowed_transitions: allowed }
  }))
}

/** What was seen is deep now; a transfer of its own pays what is left then, if anything is. */
const payRemainder = Effect.fnUntraced(function*(
  context: OrderSimulatorContext,
  current: Aggregate
): Effect.fn.Return<ChangePlan, PublicError> {
  const storedEntries = pendingEntries(yield* context.chains.transfers(current.invoice.id))
  const pendingAmount = current.payments.filter(({ status }) => status === "pending")
    .reduce((sum, { amount }) => sum + amount, 0n)
  const rest = amountRemaining(current.invoice) - pendingAmount
  const newEntries = rest <= 0n ? [] : [
    yield* paymentEntry(context, current, {
      action: "pay",
      ...(pendingAmount === 0n ? {} : { amount: usdWire(usdMillis(rest)) })
    })
  ]
  const entries = [...storedEntries, ...newEntries].map((entry) =>
    confirmedEntry(entry, requiredBlocks(current.invoice, entry.network))
  )
  const credits = yield* Effect.forEach(entries, (entry) => context.payments.credit(entry, current))
  return {
    commands: credits.flatMap(({ commands }) => commands),
    writes: credits.flatMap(({ writes }) => writes)
  }
})

/** What has happened, as whoever it happens to would tell it. */
const changeFor = (
  context: OrderSimulatorContext,
  order: OrderState,
  request: OrderStep,
  current: Aggregate,
  now: number
): Effect.Effect<ChangePlan, PublicError> => {
  const changeWith = (...facts: ReadonlyArray<OrderFact>): Effect.Effect<ChangePlan> =>
    Effect.succeed({ commands: [], facts: [context.orders.asInvoiceFact(facts)] })
  const unsettled = () => unsettledPayments(current).filter(({ id }) => order.paidBy.includes(id))
  switch (request.transition) {
    case "payment_confirmed":
      return payRemainder(context, current)
    case "payment_settled":
      return reportSettlements(context, current, unsettled(), settledReport, now)
    case "placed":
      return changeWith({ _tag: "Placed", providerOrderId: providerOrderIdOf(order.id) })
    case "shipped":
      return changeWith({ _tag: "Shipped", shipment: shipmentOf(order, request.tracking, now) })
    case "delivery_confirmed":
      return changeWith({ _tag: "Delivered", isConfirmed: true })
    case "failed": {
      const reason = "The simulator says so"
      return isAwaitingSettlement(order)
        ? reportSettlements(context, current, unsettled(), () => ({ _tag: "GiveUp", reason }), now)
        : changeWith({ _tag: "PlacementFailed", reason })
    }
    case "cancelled": {
      const cancelFacts: ReadonlyArray<OrderFact> = order.substatus === "CANCELLATION_REQUESTED"
        ? []
        : [{ _tag: "CancelRequested", reason: null, destination: request.destination }]
      return changeWith(...cancelFacts, { _tag: "CancellationAccepted" })
    }
    case "cancellation_rejected":
      return changeWith({ _tag: "CancellationRejected", reason: "The simulator says so" })
    case "refunded":
      return payOutRefunds(context.refunds, order, request.destination, current, now)
  }
}

export const stepOrder = Effect.fn("OrderSimulator.step")(function*(
  context: OrderSimulatorContext,
  merchantId: number,
  orderId: string,
  request: OrderStep,
  cause: CommitCause
): Effect.fn.Return<OrderStepResult, PublicError> {
  const { invoices, orders } = context
  const orderBefore = yield* requireOrder(context, merchantId, orderId)
  yield* checkAllowed(orderBefore, request)
  const { committed, facts } = yield* invoices.change(
    orderBefore.invoiceId,
    cause,
    Effect.fnUntraced(function*(current, now) {
      const order = yield* requireOrder(context, merchantId, orderId)
      yield* checkAllowed(order, request)
      const change = yield* changeFor(context, order, request, current, now)
      const destinationFacts: ReadonlyArray<OrderFact> =
        request.destination === null || request.transition === "refunded"
          ? []
          : [{ _tag: "RefundDestinationSet", destination: request.destination }]
      return destinationFacts.length === 0
        ? change
        : { ...change, facts: [orders.asInvoiceFact(destinationFacts), ...change.facts ?? []] }
    })
  ).pipe(dieOnReplay)
  return { order: orders.orderAfter(facts) ?? orderBefore, eventIds: eventIdsOf(committed) }
})
