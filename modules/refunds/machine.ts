/**
 * Money of an invoice on its way back: every rule about when a refund changes and what it may come to. Pure: no clock,
 * no ids, no SQL, no prices.
 *
 *   awaiting_destination ──> pending_approval ──> processing ──> succeeded
 *   awaiting_destination ──── 30 days ────> expired               (what it was for stays owed)
 *   awaiting_destination | pending_approval ───> canceled
 *   processing ───> failed ───> processing
 *   pending_approval ─── a cut left no more than the fee ────> awaiting_destination
 *
 * The rules in words: modules/docs/reference/refunds.md#states. What can be given back is a function of (payments,
 * refunds): all refunds together never come to more than was received. Every decision is stored in the commit of a
 * change of its invoice, so that no two can both be made of the same money.
 */
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import { usdDecimal, type UsdMillis, usdMillis } from "../../schemas/Money.ts"
import type { RefundQuote, RefundReason, RefundStatus } from "../../schemas/Refund.ts"
import { allocateRefund } from "./machine/Allocation.ts"
import { feeOf, feeQuoteOf, refundableAmount } from "./machine/Amounts.ts"
import { whileHeld } from "./machine/BatchHolds.ts"
import { decidePaymentRefund, isPaymentRefund } from "./machine/PaymentRefunds.ts"
import {
  destinationSeconds,
  isConfirmed,
  type Payout,
  type RefundCommand,
  type RefundContext,
  type RefundDecision,
  type RefundSource,
  type RefundState
} from "./machine/State.ts"

export { allocateRefund, reduceRefunds } from "./machine/Allocation.ts"
export { feeOf, feeQuoteOf, net, quoteOf, quoteSeconds, refundableAmount, sortDestinations } from "./machine/Amounts.ts"
export {
  type ActValue,
  afterSoleApproval,
  approvalBy,
  approvalsRequired,
  type Approver,
  approversOf,
  isApproved,
  peopleRequired,
  type SoleApprovals,
  stricterRules,
  valueOf,
  withApproval
} from "./machine/Approvals.ts"
export {
  approvalSeconds,
  type ApprovalTerms,
  approvalText,
  type ApprovedContent,
  approvedRefund
} from "./machine/ApprovalText.ts"
export { canClaim, claimHash, fixedDestination, newClaim, wrongTokensAllowed } from "./machine/Claims.ts"
export { type CoveredException, coveredExceptions } from "./machine/Coverage.ts"
export {
  failReverted,
  hasTerms,
  isPaymentRefund,
  newPaymentRefund,
  type PaymentRefund,
  type PaymentRefundRequest,
  refundsAfterLostMoney,
  sentUnits,
  type TermsRefund
} from "./machine/PaymentRefunds.ts"
export { type PayoutWallet, senderRefusal } from "./machine/PayoutSenders.ts"
export {
  amountOfException,
  creditedValue,
  type ExceptionMoney,
  maximumPortions,
  type PaymentPortion,
  portionLeft,
  portionsOf,
  type RequestedAmount,
  undecidedException
} from "./machine/Portions.ts"
export { type ChainTransfer, proofOf, type ReportedTransaction } from "./machine/Proofs.ts"
export { tokenLeft } from "./machine/Received.ts"
export {
  type Approval,
  type ApprovalRules,
  type Claim,
  type Destination,
  destinationSeconds,
  type FeeQuote,
  type Fees,
  isActive,
  isConfirmed,
  isLate,
  isLost,
  isOpen,
  isReceived,
  isRefundable,
  type Payout,
  type RefundBatch,
  type RefundCommand,
  type RefundContext,
  type RefundDecision,
  type RefundSource,
  type RefundState,
  type RefundTerms,
  type ReopenedException
} from "./machine/State.ts"
export { trackCommands, untrackedRefunds, withRefunds } from "./machine/Tracking.ts"
export {
  decideUnmatchedRefund,
  failLeft,
  isUnmatchedRefund,
  newUnmatchedRefund,
  type UnmatchedMoney,
  type UnmatchedRefund
} from "./machine/UnmatchedRefunds.ts"
export { claimedRefund, linkedRefundObject, refundObject } from "./machine/Wire.ts"

/**
 * Seconds until a payout without a price is tried again: as old as the refund is, within these. A price is back within
 * minutes, or not for hours.
 */
const minimumRetrySeconds = 60
const maximumRetrySeconds = 3_600

export const retrySeconds = ({ createdAt }: Pick<RefundState, "createdAt">, now: number): number =>
  Math.min(Math.max(now - createdAt, minimumRetrySeconds), maximumRetrySeconds)

/** Refunds on one page: the default and the maximum. */
export const defaultPageSize = 20
export const maximumPageSize = 100

/** A refund as it is asked for. */
export interface NewRefund {
  /** `remaining`: all that can be given back now. */
  readonly amount: UsdMillis | "remaining"
  readonly reason: RefundReason
  readonly feeFree: boolean
  readonly source: RefundSource
  readonly quote: RefundQuote | null
}

/** A new refund, without a destination; null where nothing remains. Errors: `REFUND_EXCEEDS_RECEIVED`. */
export const newRefund = (
  id: string,
  request: NewRefund,
  { invoice, now, refunds }: RefundContext
): RefundState | null | PublicError => {
  const left = refundableAmount(invoice, refunds, request.source)
  const amount = request.amount === "remaining" ? left : request.amount
  if (amount > left) return publicError("REFUND_EXCEEDS_RECEIVED")
  if (amount === 0n) return null
  const { environment, id: invoiceId, merchantId } = invoice.invoice
  return {
    id,
    merchantId,
    environment,
    version: 1,
    invoiceId,
    paymentId: null,
    terms: null,
    claim: null,
    source: request.source,
    status: "awaiting_destination",
    amount,
    fee: usdMillis(0n),
    feeFree: request.feeFree,
    feeQuote: request.quote === null ? null : feeQuoteOf(request.quote),
    destination: null,
    token: null,
    tokenAmount: null,
    txHash: null,
    reason: request.reason,
    failureCode: null,
    createdAt: now,
    updatedAt: now,
    dueAt: now + destinationSeconds
  }
}

/**
 * Applies one command. `next` is the refund itself where it changes nothing; a change raises its version by one.
 * Errors: `REFUND_IN_BATCH`, `INVALID_TRANSITION`, `REFUND_NOT_CANCELABLE`, `REFUND_EXCEEDS_RECEIVED`, `QUOTE_UNAVAILABLE` where there is
 * no `payout` to approve, `VALIDATION_ERROR` where the fee leaves nothing.
 */
export const decide = (
  refund: RefundState,
  command: RefundCommand,
  context: RefundContext,
  payout: Payout | null
): RefundDecision | PublicError => {
  return whileHeld(
    refund,
    command,
    () =>
      isPaymentRefund(refund)
        ? decidePaymentRefund(refund, command, context)
        : decideOrderRefund(refund, command, context, payout)
  )
}

const decideOrderRefund = (
  refund: RefundState,
  command: RefundCommand,
  context: RefundContext,
  payout: Payout | null
): RefundDecision | PublicError => {
  const { now } = context
  const unchanged: RefundDecision = { next: refund, commands: [] }
  const transition = (status: RefundStatus, more: Partial<RefundState> = {}): RefundDecision => ({
    next: { ...refund, dueAt: null, ...more, status, version: refund.version + 1, updatedAt: now },
    commands: []
  })
  const invalid = () => publicError("INVALID_TRANSITION")
  switch (command._tag) {
    case "SetDestination":
      return setDestination(refund, command, context)
    case "Approve":
      return refund.status === "pending_approval" ? startPayout(refund, context, payout) : invalid()
    case "Retry":
      return refund.status === "failed" ? startPayout(refund, context, payout) : invalid()
    case "Submit":
      if (refund.status !== "processing") return invalid()
      return refund.txHash === command.txHash ? unchanged : transition("processing", { txHash: command.txHash })
    case "Succeed": {
      if (refund.status === "succeeded" && refund.txHash === command.txHash) return unchanged
      if (refund.status !== "processing") return invalid()
      const paid = transition("succeeded", { txHash: command.txHash })
      return { ...paid, commands: allocateRefund(refund, context.invoice.payments, context.refunds) }
    }
    case "Fail":
      if (refund.status === "failed" && refund.failureCode === command.code) return unchanged
      return refund.status === "processing" ? transition("failed", { failureCode: command.code }) : invalid()
    case "Cancel":
      if (refund.status === "canceled") return unchanged
      return refund.status === "awaiting_destination" || refund.status === "pending_approval"
        ? transition("canceled")
        : publicError("REFUND_NOT_CANCELABLE")
    case "Expire":
      return refund.status === "awaiting_destination" && now >= refund.createdAt + destinationSeconds
        ? transition("expired")
        : unchanged
    case "RenewClaim":
      return invalid()
    case "CountWrongToken":
      return unchanged
  }
}

/** Until it is being paid out, and again once that failed. */
const setDestination = (
  refund: RefundState,
  { destination, quote }: RefundCommand & { readonly _tag: "SetDestination" },
  { fees, now }: RefundContext
): RefundDecision | PublicError => {
  const { status } = refund
  if (status !== "awaiting_destination" && status !== "pending_approval" && status !== "failed") {
    return publicError("INVALID_TRANSITION")
  }
  const previous = refund.destination
  const isSameDestination = previous?.network === destination.network && previous.address === destination.address &&
    previous.memo === destination.memo
  if (isSameDestination) return { next: refund, commands: [] }
  const feeQuote = quote == null ? refund.feeQuote : feeQuoteOf(quote)
  const fee = feeOf({ feeFree: refund.feeFree, feeQuote }, destination.network, fees, now)
  if (fee >= refund.amount) {
    return publicError("VALIDATION_ERROR", {
      message: `network: a payout on ${destination.network} costs ${usdDecimal(fee)} dollars, and only ${
        usdDecimal(refund.amount)
      } are to be refunded`,
      param: "network"
    })
  }
  return {
    next: {
      ...refund,
      status: status === "awaiting_destination" ? "pending_approval" : status,
      destination,
      feeQuote,
      fee,
      dueAt: null,
      version: refund.version + 1,
      updatedAt: now
    },
    commands: []
  }
}

/** To be paid out from now on, if the money for it is still there. */
const startPayout = (
  refund: RefundState,
  { invoice, now, refunds }: RefundContext,
  payout: Payout | null
): RefundDecision | PublicError => {
  const others = refunds.filter(({ id }) => id !== refund.id)
  if (refund.amount > refundableAmount(invoice, others, refund.source, isConfirmed)) {
    return publicError("REFUND_EXCEEDS_RECEIVED", {
      message: "More than the confirmed money that is not refunded yet: lower the amount, or wait for confirmations"
    })
  }
  if (refund.destination === null || refund.fee >= refund.amount) return publicError("INVALID_TRANSITION")
  if (payout === null) return publicError("QUOTE_UNAVAILABLE", { retryAfterSeconds: minimumRetrySeconds })
  return {
    next: {
      ...refund,
      status: "processing",
      token: payout.token,
      tokenAmount: payout.units,
      txHash: null,
      failureCode: null,
      dueAt: null,
      version: refund.version + 1,
      updatedAt: now
    },
    commands: []
  }
}
