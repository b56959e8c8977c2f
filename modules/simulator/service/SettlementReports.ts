/** What a settlement reports of payments, put into a change of their invoice. */
import { Effect } from "effect"
import type { CommitCause } from "../../../runtime/Commit.ts"
import { isPublicError, type PublicError } from "../../../schemas/Errors.ts"
import { isCounted } from "../../../schemas/Payment.ts"
import type { Aggregate, ChangePlan, PaymentState } from "../../invoices/plugin.ts"
import { isSettled, type SettlementReport } from "../../settlement/plugin.ts"
import { payoutTxHash } from "../rules.ts"
import { simulationFact } from "./SimulationFact.ts"
import { changeInvoice, refuse, type SimulatorContext } from "./SimulatorContext.ts"

/** Payments whose money is on its way to the merchant. */
export const unsettledPayments = ({ payments }: Aggregate): ReadonlyArray<PaymentState> =>
  payments.filter((payment) => isCounted(payment.status) && !isSettled(payment))

/** All of it arrived. */
export const settledReport = ({ id, network }: PaymentState): SettlementReport => ({
  _tag: "Settled",
  txHash: payoutTxHash(id),
  network,
  amount: null
})

/** Reports of payments for a change of their invoice. */
export const reportSettlements = (
  { settlements }: SimulatorContext,
  current: Aggregate,
  payments: ReadonlyArray<PaymentState>,
  reportOf: (payment: PaymentState) => SettlementReport,
  now: number
): Effect.Effect<ChangePlan, PublicError> => {
  const reports = payments.map((payment) => ({ paymentId: payment.id, report: reportOf(payment) }))
  const plan = settlements.reports(current, reports, now)
  return isPublicError(plan) ? Effect.fail(plan) : Effect.succeed(plan)
}

/** Of every payment that counts and is not settled; the newest of them is answered. */
export const reportUnsettled = (
  context: SimulatorContext,
  current: Aggregate,
  cause: CommitCause,
  reportOf: (payment: PaymentState) => SettlementReport
) =>
  changeInvoice(
    context,
    current,
    cause,
    Effect.fnUntraced(function*(latest, now) {
      const open = unsettledPayments(latest)
      const last = open.at(-1)
      if (last === undefined) return yield* refuse("No payment waits for its settlement")
      const plan = yield* reportSettlements(context, latest, open, reportOf, now)
      return { ...plan, facts: [...plan.facts ?? [], simulationFact(last.id)] }
    })
  )
