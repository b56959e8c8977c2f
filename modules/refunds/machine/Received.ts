/**
 * What an invoice received of one token, over all its payments: no more of it goes out than came in, also where a
 * payment left its chain after its refund was paid. Pure.
 */
import type { PaymentState } from "../../invoices/plugin.ts"
import { isActive, isOpen, isRefundable, type RefundState } from "./State.ts"
import { revertedCode } from "../../../schemas/Refund.ts"

/** By the address where both have one: a token may have come into the catalogue between them. */
export const hasSameToken = (a: PaymentState, b: PaymentState): boolean => {
  if (a.network !== b.network) return false
  const [one, other] = [a.metadata.token, b.metadata.token]
  return one === null || other === null ? a.tokenId === b.tokenId : one.address === other.address
}

/**
 * Whether nothing of a refund was sent, nor will be before its money is checked again. What a wallet was given counts
 * as sent.
 */
export const isUnsent = (refund: RefundState): boolean =>
  isOpen(refund) && (refund.status === "failed" || (refund.txHash === null && refund.batch?.isOut !== true))

/** Base units that a refund takes from what was received; what failed with its payment is never paid. */
const unitsTaken = (refund: RefundState): bigint =>
  refund.terms === null || !isActive(refund) || (refund.failureCode === revertedCode && isUnsent(refund))
    ? 0n
    : refund.terms.units

/** Base units of a payment's token that are left over all payments of the invoice; below zero: more went out. */
export const tokenLeft = (
  payment: PaymentState,
  payments: ReadonlyArray<PaymentState>,
  refunds: ReadonlyArray<RefundState>,
  isThere: (payment: PaymentState) => boolean = isRefundable
): bigint => {
  const ofToken = payments.filter((each) => hasSameToken(each, payment))
  const ids = new Set<string | null>(ofToken.map(({ id }) => id))
  const received = ofToken.reduce((sum, each) => (isThere(each) ? sum + each.units : sum), 0n)
  return refunds.reduce((left, refund) => (ids.has(refund.paymentId) ? left - unitsTaken(refund) : left), received)
}

/**
 * The unsent refunds whose token is missing, because it was sent for a payment that was reverted later: the newest come
 * first, as many as it takes until the token suffices for the others.
 */
export const overdrawnRefunds = (
  refunds: ReadonlyArray<RefundState>,
  payments: ReadonlyArray<PaymentState>
): ReadonlyArray<RefundState> => {
  let remaining = refunds
  return refunds.toSorted((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1)).filter((refund) => {
    const payment = payments.find(({ id }) => id === refund.paymentId)
    if (payment === undefined || !isUnsent(refund) || unitsTaken(refund) === 0n) return false
    if (tokenLeft(payment, payments, remaining, ({ status }) => status !== "reverted") >= 0n) return false
    remaining = remaining.filter((each) => each !== refund)
    return true
  })
}
