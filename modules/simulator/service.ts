/**
 * Play money: every action puts facts, as a chain or a settlement would tell them, into changes of the invoice, and the
 * rules that mainnet runs decide what becomes of it.
 */
import { Context, Effect, Layer } from "effect"
import { Availability } from "../../runtime/Availability.ts"
import { Chains } from "../../runtime/Chains.ts"
import { type CommitCause, noCause } from "../../runtime/Commit.ts"
import { MerchantClock } from "../../runtime/MerchantClock.ts"
import { TokenCatalog } from "../../runtime/TokenCatalog.ts"
import type { PublicError } from "../../schemas/Errors.ts"
import type { EventId } from "../../schemas/Ids.ts"
import { Orders } from "../commerce/plugin.ts"
import { type Aggregate, type ChangeResult, Invoices, type PaymentState } from "../invoices/plugin.ts"
import { Payments, SimulatedPayments } from "../payments/plugin.ts"
import { PaymentQuotes } from "../quotes/plugin.ts"
import { Refunds } from "../refunds/plugin.ts"
import { Settlements } from "../settlement/plugin.ts"
import { confirm, drop, reorg } from "./service/ChainActions.ts"
import { NetworkFaults } from "./service/NetworkFaults.ts"
import { type OrderStep, type OrderStepResult, stepOrder } from "./service/OrderSteps.ts"
import { reportUnsettled, settledReport } from "./service/SettlementReports.ts"
import { simulatedPayment } from "./service/SimulationFact.ts"
import { eventIdsOf, type Request, type SimulatorContext } from "./service/SimulatorContext.ts"
import {
  duplicate,
  dust,
  expire,
  late,
  missingMemo,
  pay,
  unmatchedTransfer,
  wrongNetwork,
  wrongToken
} from "./service/TransferActions.ts"

export { NetworkFaults } from "./service/NetworkFaults.ts"

/** What a call has done. */
export interface SimulationResult {
  readonly aggregate: Aggregate
  /** The payment it was about. */
  readonly payment: PaymentState | undefined
  readonly eventIds: ReadonlyArray<EventId>
}

export class Simulator extends Context.Service<Simulator, {
  /**
   * Does what is asked. Errors: those of a payment address, `QUOTE_UNAVAILABLE`, `VALIDATION_ERROR` for a memo that the
   * network does not have, `INVOICE_NOT_PAYABLE` for what has ended already, and `INVALID_TRANSITION` where there is
   * nothing the action could be about.
   */
  readonly simulate: (
    current: Aggregate,
    request: Request,
    cause: CommitCause
  ) => Effect.Effect<SimulationResult, PublicError>
}>()("tillwire/modules/simulator/Simulator") {
  static readonly layer = Layer.effect(Simulator, Effect.suspend(() => makeSimulator))
}

const makeContext = Effect.gen(function*() {
  const context: SimulatorContext = {
    faults: yield* NetworkFaults,
    availability: yield* Availability,
    catalog: yield* TokenCatalog,
    chains: yield* Chains,
    clock: yield* MerchantClock,
    invoices: yield* Invoices,
    payments: yield* Payments,
    quotes: yield* PaymentQuotes,
    settlements: yield* Settlements
  }
  return context
})

const act = (
  context: SimulatorContext,
  current: Aggregate,
  request: Request,
  cause: CommitCause
): Effect.Effect<ChangeResult | ReadonlyArray<ChangeResult>, PublicError> => {
  switch (request.action) {
    case "pay":
    case "partial":
    case "overpay":
      return pay(context, current, request, cause)
    case "late":
      return late(context, current, request, cause)
    case "expire":
      return expire(context, current, cause)
    case "wrong_token":
      return wrongToken(context, current, request, cause)
    case "wrong_network":
      return wrongNetwork(context, current, request, cause)
    case "missing_memo":
      return missingMemo(context, current, request)
    case "unmatched":
      return unmatchedTransfer(context, current, request)
    case "duplicate":
      return duplicate(context, current, request, cause)
    case "dust":
      return dust(context, current, request, cause)
    case "confirm":
      return confirm(context, current, request, cause)
    case "reorg":
      return reorg(context, current, request, cause)
    case "drop":
      return drop(context, current, cause)
    case "settle":
      return reportUnsettled(context, current, cause, settledReport)
    case "fail_settlement":
      return reportUnsettled(context, current, cause, () => ({ _tag: "Failed", reason: "The simulator says so" }))
  }
}

const makeSimulator = Effect.gen(function*() {
  const context = yield* makeContext
  const simulate = Effect.fnUntraced(function*(current: Aggregate, request: Request, cause: CommitCause) {
    const changes = [yield* act(context, current, request, cause)].flat()
    const aggregate = changes.at(-1)?.aggregate ?? current
    const paymentId = simulatedPayment(changes)
    return {
      aggregate,
      payment: aggregate.payments.find(({ id }) => id === paymentId),
      eventIds: changes.flatMap(({ committed }) => eventIdsOf(committed))
    }
  })
  yield* (yield* SimulatedPayments).register((current, action) => Effect.asVoid(simulate(current, { action }, noCause)))
  return Simulator.of({ simulate })
})

export class OrderSimulator extends Context.Service<OrderSimulator, {
  /**
   * Takes a merchant's devnet order a step further, in one commit with its invoice. Errors: `ORDER_NOT_FOUND`;
   * `INVALID_TRANSITION` with `allowed_transitions`; for a payment those of its address, and `QUOTE_UNAVAILABLE`.
   */
  readonly step: (
    merchantId: number,
    orderId: string,
    request: OrderStep,
    cause: CommitCause
  ) => Effect.Effect<OrderStepResult, PublicError>
}>()("tillwire/modules/simulator/OrderSimulator") {
  static readonly layer = Layer.effect(OrderSimulator, Effect.suspend(() => makeOrderSimulator))
}

const makeOrderSimulator = Effect.gen(function*() {
  const context = { ...yield* makeContext, orders: yield* Orders, refunds: yield* Refunds }
  return OrderSimulator.of({
    step: (merchantId, orderId, request, cause) => stepOrder(context, merchantId, orderId, request, cause)
  })
})
