/**
 * Refunds of money that pays no invoice (modules/docs/reference/refunds.md#refunds-of-money-without-an-invoice): all of
 * one transfer, by the decision on its exception, which holds while the refund stands. Pure.
 */
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { usdMillis } from "../../../schemas/Money.ts"
import { revertedCode } from "../../../schemas/Refund.ts"
import { type ExceptionRecord, hasLeft, unmatchedTransfer } from "../../invoices/plugin.ts"
import {
  decideTermsRefund,
  newTermsRefund,
  type PaymentRefundRequest,
  type TermsRefund,
  type TermsRefundContext
} from "./PaymentRefunds.ts"
import { whileHeld } from "./BatchHolds.ts"
import { isUnsent } from "./Received.ts"
import { type Fees, isActive, isLost, type RefundCommand, type RefundDecision, type RefundState } from "./State.ts"

/** The exception whose money is refunded, as it is now. */
export type UnmatchedMoney = Pick<ExceptionRecord, "environment" | "exception" | "merchantId">

/** A refund of money that pays no invoice. */
export type UnmatchedRefund = TermsRefund & { readonly invoiceId: null }

export const isUnmatchedRefund = (refund: RefundState): refund is UnmatchedRefund =>
  refund.invoiceId === null && refund.terms !== null

/** The refund that stands for the money of an exception, paid or not: at most one. */
export const standingRefund = (refunds: ReadonlyArray<RefundState>): RefundState | null =>
  refunds.find(isActive) ?? null

/**
 * A refund of all the money of an exception, without a destination. Errors: `REFUND_EXCEEDS_RECEIVED` while another one
 * stands for it, or where it has left its chain; `VALIDATION_ERROR` where the fee takes all of it.
 */
export const newUnmatchedRefund = (
  id: string,
  { environment, exception, merchantId }: UnmatchedMoney,
  request: PaymentRefundRequest & { readonly exceptionId: string },
  { fees, now, refunds }: { readonly now: number; readonly fees: Fees; readonly refunds: ReadonlyArray<RefundState> }
): UnmatchedRefund | PublicError => {
  const transfer = unmatchedTransfer(exception)
  const standing = standingRefund(refunds)
  if (transfer === null || hasLeft(exception)) {
    return publicError("REFUND_EXCEEDS_RECEIVED", { message: "This money is not on its chain" })
  }
  if (standing !== null) {
    return publicError("REFUND_EXCEEDS_RECEIVED", {
      message: `The refund ${standing.id} stands for this money: it is ${standing.status}`,
      details: { refund_id: standing.id }
    })
  }
  const { network, token: { address, decimals, id: tokenId, symbol }, txHash, units } = transfer
  const refund = newTermsRefund(
    id,
    {
      merchantId,
      environment,
      invoiceId: null,
      paymentId: null,
      network,
      tokenAddress: address,
      token: { id: tokenId, symbol: symbol ?? "", decimals: decimals ?? 0 },
      units,
      usd: exception.amount,
      receivedTxHash: txHash
    },
    request,
    fees,
    now
  )
  return "terms" in refund ? { ...refund, invoiceId: null } : refund
}

/** What a decision on a refund depends on, by the exception as it is now. */
const contextOf = ({ terms }: UnmatchedRefund, { exception }: UnmatchedMoney, now: number): TermsRefundContext => {
  const isReverted = hasLeft(exception)
  const units = unmatchedTransfer(exception)?.units ?? 0n
  return {
    now,
    isReverted,
    payoutObstacle: () => isReverted || units < terms.units ? "Its money has left its chain: cancel the refund" : null,
    reopenedException: () => ({ exceptionId: exception.id, otherRefundsAmount: usdMillis(0n) }),
    commandsWhenPaid: () => []
  }
}

/** `decide` of machine.ts for such a refund. */
export const decideUnmatchedRefund = (
  refund: UnmatchedRefund,
  command: RefundCommand,
  money: UnmatchedMoney,
  now: number
): RefundDecision | PublicError =>
  whileHeld(refund, command, () => decideTermsRefund(refund, command, contextOf(refund, money, now)))

/** What becomes of the refunds of money that has left its chain: those that are not sent have failed, for good. */
export const failLeft = (refunds: ReadonlyArray<RefundState>, now: number): ReadonlyArray<RefundState> =>
  refunds.filter((refund) => isUnsent(refund) && !isLost(refund)).map((refund) => ({
    ...refund,
    status: "failed",
    failureCode: revertedCode,
    txHash: null,
    dueAt: null,
    version: refund.version + 1,
    updatedAt: now
  }))
