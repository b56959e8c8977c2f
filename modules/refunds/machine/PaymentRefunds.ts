/**
 * Refunds of one payment each, that a merchant asked for: fixed in the token that was paid, approved by people, paid on
 * the payment's own network (modules/docs/reference/refunds.md#refunds-of-invoices).
 */
import { isPublicError, type PublicError, publicError } from "../../../schemas/Errors.ts"
import { baseUnits, usdDecimal, type UsdMillis, usdMillis } from "../../../schemas/Money.ts"
import type { Network } from "../../../schemas/Network.ts"
import { type FeeBearer, type RefundReason, type RefundStatus, revertedCode } from "../../../schemas/Refund.ts"
import type { Aggregate, Command } from "../../invoices/plugin.ts"
import { reduceRefunds } from "./Allocation.ts"
import { withApproval } from "./Approvals.ts"
import { afterWrongToken, canBeClaimed, canClaim, fixedDestination, newClaim } from "./Claims.ts"
import { fitsPortion, type PaymentPortion } from "./Portions.ts"
import { isUnsent, overdrawnRefunds } from "./Received.ts"
import {
  type ApprovalRules,
  destinationSeconds,
  type Fees,
  isActive,
  isLost,
  type RefundCommand,
  type RefundContext,
  type RefundDecision,
  type RefundState,
  type RefundTerms,
  type ReopenedException
} from "./State.ts"

/** A refund that its merchant asked for, fixed in the token that came. */
export type TermsRefund = RefundState & { readonly terms: RefundTerms }

export const hasTerms = (refund: RefundState): refund is TermsRefund => refund.terms !== null

/** A refund of one payment. */
export type PaymentRefund = TermsRefund & { readonly paymentId: string }

export const isPaymentRefund = (refund: RefundState): refund is PaymentRefund =>
  refund.terms !== null && refund.paymentId !== null

/** What all refunds of one call share. */
export interface PaymentRefundRequest {
  readonly reason: RefundReason
  readonly feeBearer: FeeBearer
  readonly isClaimOnly: boolean
  readonly exceptionId: string | null
  readonly rules: ApprovalRules
}

/** Money that came by one transfer, and how much of it is refunded. */
export interface RefundOrigin
  extends Pick<RefundState, "merchantId" | "environment" | "invoiceId" | "paymentId" | "token">
{
  readonly network: Network
  /** Null for the network's own coin. */
  readonly tokenAddress: string | null
  readonly units: bigint
  readonly usd: UsdMillis
  /** Absent: a payment has it. */
  readonly receivedTxHash?: string | null
}

/**
 * usd_millis and base units that are kept for the payout; money without a price has no fee that could be worked out.
 */
const feeOfPortion = ({ network, units, usd }: RefundOrigin, feeBearer: FeeBearer, fees: Fees) => {
  const fee = feeBearer === "merchant" || usd === 0n ? usdMillis(0n) : fees[network]
  return { fee, feeUnits: baseUnits(usd === 0n ? 0n : (fee * units + usd - 1n) / usd) }
}

/** A refund of a part of a payment, without a destination. Errors: `VALIDATION_ERROR` where the fee takes all of it. */
export const newPaymentRefund = (
  id: string,
  { payment, units, usd }: PaymentPortion,
  request: PaymentRefundRequest,
  { fees, invoice, now }: RefundContext
): PaymentRefund | PublicError => {
  const { environment, id: invoiceId, merchantId } = invoice.invoice
  const { token } = payment.metadata
  const refund = newTermsRefund(
    id,
    {
      merchantId,
      environment,
      invoiceId,
      paymentId: payment.id,
      network: payment.network,
      tokenAddress: token?.address ?? null,
      token: { id: payment.tokenId, symbol: token?.symbol ?? "", decimals: payment.tokenDecimals ?? 0 },
      units,
      usd
    },
    request,
    fees,
    now
  )
  return isPublicError(refund) ? refund : { ...refund, paymentId: payment.id }
}

/** A refund that is fixed in the token that came, without a destination. Errors: as {@link newPaymentRefund}. */
export const newTermsRefund = (
  id: string,
  origin: RefundOrigin,
  { exceptionId, feeBearer, isClaimOnly, reason, rules }: PaymentRefundRequest,
  fees: Fees,
  now: number
): TermsRefund | PublicError => {
  const { environment, invoiceId, merchantId, network, paymentId, receivedTxHash, token, tokenAddress, units, usd } =
    origin
  const { fee, feeUnits } = feeOfPortion(origin, feeBearer, fees)
  if (fee > 0n && (fee >= usd || feeUnits >= units)) {
    return publicError("VALIDATION_ERROR", {
      message: `fee_bearer: a payout on ${network} costs ${usdDecimal(fee)} dollars, and only ` +
        `${usdDecimal(usd)} are to be refunded: send merchant, or refund more`,
      param: "fee_bearer"
    })
  }
  return {
    id,
    merchantId,
    environment,
    version: 1,
    invoiceId,
    paymentId,
    terms: {
      network,
      tokenAddress,
      units: baseUnits(units),
      feeBearer,
      feeUnits,
      isClaimOnly,
      approvals: [],
      rules,
      exceptionId,
      ...(receivedTxHash === undefined ? {} : { receivedTxHash })
    },
    claim: null,
    source: "all",
    status: "awaiting_destination",
    amount: usd,
    fee,
    feeFree: feeBearer === "merchant",
    feeQuote: null,
    destination: null,
    token,
    tokenAmount: null,
    txHash: null,
    reason,
    failureCode: null,
    createdAt: now,
    updatedAt: now,
    dueAt: now + destinationSeconds
  }
}

/** What is sent: the fee stays where the payor bears it. */
export const sentUnits = ({ feeUnits, units }: Pick<RefundTerms, "feeUnits" | "units">) => baseUnits(units - feeUnits)

const invalid = (message: string) => publicError("INVALID_TRANSITION", { message })

/** What a decision on a refund depends on beside the refund: the money that it gives back, as it is now. */
export interface TermsRefundContext {
  readonly now: number
  /** Why the money cannot be sent, and what to do; null: it is there. Called where the refund moves to `processing`. */
  readonly payoutObstacle: () => string | null
  /** Whether the money has left its chain. */
  readonly isReverted: boolean
  /** The exception that waits for a decision again once the refund is canceled or has expired. */
  readonly reopenedException: () => ReopenedException | undefined
  /** What changes in the invoice once the refund is paid. */
  readonly commandsWhenPaid: () => ReadonlyArray<Command>
}

/** `decide` of machine.ts for a refund of one payment. */
export const decidePaymentRefund = (
  refund: PaymentRefund,
  command: RefundCommand,
  { invoice, now, refunds }: RefundContext
): RefundDecision | PublicError => {
  const { exceptionId } = refund.terms
  const payment = invoice.payments.find(({ id }) => id === refund.paymentId)
  return decideTermsRefund(refund, command, {
    now,
    payoutObstacle: () => {
      const others = refunds.filter(({ id }) => id !== refund.id)
      const portion = { units: refund.terms.units, usd: refund.amount }
      return payment !== undefined && fitsPortion(portion, payment, invoice.payments, others)
        ? null
        : missingMoney(refund, payment)
    },
    isReverted: payment?.status === "reverted",
    reopenedException: () => (exceptionId === null
      ? undefined
      : { exceptionId, otherRefundsAmount: otherRefundsAmount(refund, refunds) }),
    commandsWhenPaid: () => [refundCommandOf(refund, invoice, refunds)]
  })
}

/** The same for any refund that is fixed in the token that came, of a payment or of money without an invoice. */
export const decideTermsRefund = (
  refund: TermsRefund,
  command: RefundCommand,
  context: TermsRefundContext
): RefundDecision | PublicError => {
  const { now } = context
  const { failureCode, status } = refund
  const unchanged: RefundDecision = { next: refund, commands: [] }
  const transition = (next: RefundStatus, more: Partial<RefundState> = {}): RefundDecision => ({
    next: { ...refund, dueAt: null, ...more, status: next, version: refund.version + 1, updatedAt: now },
    commands: []
  })
  const withReopening = (decision: RefundDecision): RefundDecision => ({
    ...decision,
    reopenedException: context.reopenedException()
  })
  switch (command._tag) {
    case "SetDestination":
      return setDestination(refund, command, context)
    case "Approve":
      return approve(refund, command, context)
    case "Retry":
      if (status !== "failed") return invalid(`Only a refund that failed is tried again: this one is ${status}`)
      if (isLost(refund)) {
        return invalid("Its payment left the chain, so it cannot be tried again: cancel it")
      }
      return startPayout(refund, context)
    case "Submit":
      if (status !== "processing") return invalid(`Only a refund in processing is sent: this one is ${status}`)
      return refund.txHash === command.txHash ? unchanged : transition("processing", { txHash: command.txHash })
    case "Succeed":
      return succeed(refund, command, context)
    case "Fail":
      // Only the chain may set this code, because a refund with it can be canceled, and its money may have been sent.
      if (command.code === revertedCode) return invalid(`Only the chain says ${revertedCode}: report another code`)
      if (status === "failed" && failureCode === command.code) return unchanged
      return status === "processing"
        ? transition(
          "failed",
          context.isReverted ? { failureCode: revertedCode, txHash: null } : { failureCode: command.code }
        )
        : invalid(`Only a refund in processing can fail: this one is ${status}`)
    case "Cancel":
      if (status === "canceled") return unchanged
      return isCancelable(refund)
        ? withReopening(transition("canceled"))
        : publicError("REFUND_NOT_CANCELABLE", { message: notCancelable(refund) })
    case "Expire":
      return status === "awaiting_destination" && now >= refund.createdAt + destinationSeconds
        ? withReopening(transition("expired"))
        : unchanged
    case "RenewClaim":
      return canBeClaimed(refund)
        ? transition(status, { dueAt: refund.dueAt, claim: newClaim(command.hash) })
        : invalid(`${fixedDestination(refund)}, so there is no claim link for it`)
    case "CountWrongToken":
      return refund.claim === null || refund.claim.status === "ended"
        ? unchanged
        : transition(status, { dueAt: refund.dueAt, claim: afterWrongToken(refund.claim) })
  }
}

/** usd_millis that other refunds for the same exception give back. */
const otherRefundsAmount = (
  { id, terms: { exceptionId } }: PaymentRefund,
  refunds: ReadonlyArray<RefundState>
): UsdMillis =>
  usdMillis(refunds.reduce(
    (sum, each) =>
      each.id !== id && each.terms?.exceptionId === exceptionId && isActive(each) ? sum + each.amount : sum,
    0n
  ))

/** Before it is approved. What failed with its payment is never paid, so it need not hold a payment that came back. */
const isCancelable = ({ failureCode, status, txHash }: RefundState): boolean =>
  status === "awaiting_destination" || status === "pending_approval" ||
  (status === "failed" && failureCode === revertedCode && txHash === null)

/** Why a refund cannot be canceled, and what to do. */
const notCancelable = ({ status }: RefundState): string => {
  switch (status) {
    case "failed":
      return "A refund that failed may have been sent all the same, so it keeps its money: try it again by /retry until " +
        "it is paid, also to another address by a new claim link. Only where its payment left the chain it can be canceled"
    case "processing":
      return "A refund in processing is on its way: wait until it is paid, or has failed"
    case "expired":
      return "A refund that has expired is over: its money can be refunded again already"
    default:
      return `A refund that is ${status} cannot be canceled`
  }
}

/** Until it is approved, and again once its payout failed; nobody has approved another destination. */
const setDestination = (
  refund: TermsRefund,
  { destination }: RefundCommand & { readonly _tag: "SetDestination" },
  { now }: TermsRefundContext
): RefundDecision | PublicError => {
  const { claim, terms } = refund
  if (!canBeClaimed(refund)) return invalid(fixedDestination(refund))
  if (destination.network !== terms.network) {
    return publicError("VALIDATION_ERROR", {
      message: `network: the payment came on ${terms.network}, and is refunded there`,
      param: "network"
    })
  }
  const { destination: previous } = refund
  if (previous?.address === destination.address && previous.memo === destination.memo) {
    return { next: refund, commands: [] }
  }
  return {
    next: {
      ...refund,
      status: "pending_approval",
      destination,
      terms: { ...terms, approvals: [] },
      // A link sets the destination once. It still shows the refund; another destination needs a new link.
      claim: claim?.status === "open" ? { ...claim, status: "used" } : claim,
      tokenAmount: null,
      txHash: null,
      failureCode: null,
      dueAt: null,
      version: refund.version + 1,
      updatedAt: now
    },
    commands: []
  }
}

const approve = (
  refund: TermsRefund,
  { approval, required = 1 }: RefundCommand & { readonly _tag: "Approve" },
  context: TermsRefundContext
): RefundDecision | PublicError => {
  if (approval === undefined) {
    return publicError("CREDENTIAL_NOT_ALLOWED", {
      message:
        "Only a person of the merchant may approve a refund: sign in with a wallet and approve with that token. " +
        "API keys and internal services never approve"
    })
  }
  if (refund.status !== "pending_approval") {
    return invalid(`Only a refund that is pending_approval is approved: this one is ${refund.status}`)
  }
  const { terms } = refund
  const approvals = withApproval(terms.approvals, approval)
  if (approvals.length >= required) return startPayout({ ...refund, terms: { ...terms, approvals } }, context)
  return approvals === terms.approvals ? { next: refund, commands: [] } : {
    next: { ...refund, terms: { ...terms, approvals }, version: refund.version + 1, updatedAt: context.now },
    commands: []
  }
}

/** Why the money of a refund cannot be sent, and what to do. */
const missingMoney = (
  { paymentId }: PaymentRefund,
  payment: Aggregate["payments"][number] | undefined
): string => {
  if (payment?.status === "reverted") return `Its payment ${paymentId} has left the chain: cancel the refund`
  if (payment?.confirmedAt !== null) {
    return `The money of its payment ${paymentId} is not there any more: cancel the refund, and ask for what is left ` +
      "with amount_mode remaining"
  }
  const { confirmations, required_confirmations: required } = payment.metadata
  return `Its payment ${paymentId} has ${confirmations} of ${required} confirmations: wait for it`
}

/** The refund is paid out from now on, if the money for it is still there. */
const startPayout = (
  refund: TermsRefund,
  { now, payoutObstacle }: TermsRefundContext
): RefundDecision | PublicError => {
  const message = payoutObstacle()
  if (message !== null) return publicError("REFUND_EXCEEDS_RECEIVED", { message })
  if (refund.destination === null) return invalid("It has no destination yet")
  if (canClaim(refund)) {
    return invalid(
      "A claim link of it is open, so its address may not be the right one: wait until your customer has said where it " +
        "goes, or cancel the refund"
    )
  }
  return {
    next: {
      ...refund,
      status: "processing",
      tokenAmount: sentUnits(refund.terms),
      txHash: null,
      failureCode: null,
      dueAt: null,
      version: refund.version + 1,
      updatedAt: now
    },
    commands: []
  }
}

/** Its transfer is on the chain: a fact, also where somebody said before that it failed. */
const succeed = (
  refund: TermsRefund,
  { isProven = false, txHash }: RefundCommand & { readonly _tag: "Succeed" },
  { commandsWhenPaid, now }: TermsRefundContext
): RefundDecision | PublicError => {
  const { status } = refund
  if (isLost(refund) && !isProven) return invalid(`${fixedDestination(refund)}: cancel it`)
  if (status === "succeeded" && refund.txHash === txHash) return { next: refund, commands: [] }
  if (status !== "processing" && status !== "failed") {
    return invalid(`Only a refund in processing is paid: this one is ${status}`)
  }
  if (refund.destination === null || refund.terms.approvals.length === 0) {
    return invalid("Nobody approved it, so nothing can have been sent for it")
  }
  const next: RefundState = {
    ...refund,
    status: "succeeded",
    tokenAmount: sentUnits(refund.terms),
    txHash,
    failureCode: null,
    dueAt: null,
    version: refund.version + 1,
    updatedAt: now
  }
  return { next, commands: commandsWhenPaid() }
}

/**
 * The command that counts the refund at its payment. Units say whether all of the payment was refunded, because money
 * without a price has no dollars to count.
 */
const refundCommandOf = (
  { amount, id, paymentId, terms }: PaymentRefund,
  { payments }: Aggregate,
  refunds: ReadonlyArray<RefundState>
): Command => {
  const refundedUnits = refunds.reduce(
    (sum, each) =>
      each.paymentId === paymentId && each.status === "succeeded" && each.id !== id
        ? sum + (each.terms?.units ?? 0n)
        : sum,
    terms.units as bigint
  )
  const payment = payments.find((each) => each.id === paymentId)
  return { _tag: "Refund", paymentId, amount, isWhole: payment !== undefined && refundedUnits >= payment.units }
}

/**
 * The refunds that fail for good because money has left its chain. One fails where its own payment was reverted and
 * nothing was sent for it. Another fails where its token is missing: it was already sent for the refund of a payment
 * that was reverted later.
 */
export const failReverted = (
  refunds: ReadonlyArray<RefundState>,
  { payments }: Aggregate,
  now: number
): ReadonlyArray<RefundState> => {
  const fail = (refund: RefundState): RefundState => ({
    ...refund,
    status: "failed",
    failureCode: revertedCode,
    txHash: null,
    dueAt: null,
    version: refund.version + 1,
    updatedAt: now
  })
  const isOfRevertedPayment = (refund: RefundState) =>
    isPaymentRefund(refund) && isUnsent(refund) && refund.failureCode !== revertedCode &&
    payments.find(({ id }) => id === refund.paymentId)?.status === "reverted"
  const ofReverted = refunds.filter(isOfRevertedPayment).map(fail)
  const after = new Map(ofReverted.map((refund) => [refund.id, refund]))
  const others = refunds.map((refund) => after.get(refund.id) ?? refund)
  return [...ofReverted, ...overdrawnRefunds(others, payments).map(fail)]
}

/** The refunds of an invoice that are cut or fail because money has left its chain, as they will be. */
export const refundsAfterLostMoney = (
  refunds: ReadonlyArray<RefundState>,
  invoice: Aggregate,
  now: number
): ReadonlyArray<RefundState> => [
  ...reduceRefunds(refunds.filter(({ terms }) => terms === null), invoice, now),
  ...failReverted(refunds, invoice, now)
]
