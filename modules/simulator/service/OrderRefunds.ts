/** The refunds of an order, paid out as an operator would pay them. */
import { Effect } from "effect"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import type { Destination, OrderState } from "../../commerce/plugin.ts"
import type { Aggregate, ChangePlan } from "../../invoices/plugin.ts"
import { isOpen, type RefundFact, type Refunds, type RefundState, type RefundStep } from "../../refunds/plugin.ts"
import { payoutStep, waitingDestination, withRefundedAmounts } from "../rules.ts"

/** Pays one refund out, by one step after the other; they are one change of it. */
const payOutRefund = Effect.fnUntraced(
  function*(
    refunds: Refunds["Service"],
    refund: RefundState,
    destination: Destination | null,
    current: Aggregate,
    now: number,
    refundFacts: ReadonlyArray<RefundFact>
  ): Effect.fn.Return<RefundStep, PublicError> {
    let step: RefundStep = { refund, writes: [], commands: [], facts: [] }
    for (let next = payoutStep(refund, destination); next !== null; next = payoutStep(step.refund, null)) {
      const at = { ...step.refund, version: refund.version }
      step = yield* refunds.decideOn(at, next, current, now, [...refundFacts, ...step.facts])
    }
    return step.refund.status === "succeeded" ? step : yield* publicError("REFUND_DESTINATION_REQUIRED")
  },
  Effect.catchIf(
    ({ code }) => code === "WALLET_ADDRESS_INVALID" || code === "UNSUPPORTED_NETWORK",
    ({ message }) => Effect.fail(publicError("REFUND_DESTINATION_REQUIRED", { message }))
  )
)

/** Every refund under way is paid out; where none is, one of all that is left. */
export const payOutRefunds = Effect.fnUntraced(function*(
  refunds: Refunds["Service"],
  order: OrderState,
  destination: Destination | null,
  current: Aggregate,
  now: number
): Effect.fn.Return<ChangePlan, PublicError> {
  const openRefunds = (yield* refunds.ofInvoice(order.merchantId, order.invoiceId)).filter(isOpen)
  const isFailed = order.status === "failed"
  const newRefund = openRefunds.length > 0 ? null : yield* refunds.open(current, {
    amount: "remaining",
    reason: isFailed ? "order_failed" : "order_cancelled",
    destination: order.refundDestination,
    feeFree: isFailed
  }, now)
  const open = newRefund === null ? openRefunds : [{ ...newRefund.refund, version: 0 }]
  let progress: { readonly at: Aggregate; readonly steps: ReadonlyArray<RefundStep> } = { at: current, steps: [] }
  for (const refund of open) {
    const refundFacts = progress.steps.flatMap(({ facts }) => facts)
    const target = destination ?? waitingDestination(refund, order)
    const step = yield* payOutRefund(refunds, refund, target, progress.at, now, refundFacts)
    progress = { at: withRefundedAmounts(progress.at, step.commands), steps: [...progress.steps, step] }
  }
  return {
    commands: progress.steps.flatMap(({ commands }) => commands),
    writes: progress.steps.flatMap(({ writes }) => writes),
    facts: progress.steps.flatMap(({ facts }) => facts)
  }
})
