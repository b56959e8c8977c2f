/**
 * Money beyond the amount of an invoice, as one sum: what counts, less the amount, less what was given back or is on
 * its way back, less what people decided to keep. The open exceptions `overpaid` and `duplicate_payment` are nothing
 * but what is left of it, so whatever changes a part of it changes them. Pure.
 */
import { type UsdMillis, usdMillis, usdWire } from "../../../schemas/Money.ts"
import type { ExcessShare } from "../../../schemas/Exception.ts"
import { isCounted } from "../../../schemas/Payment.ts"
import { divideRefund } from "./RefundShares.ts"
import { type Aggregate, bySeenAt, type ExceptionState, type OpenRefund, type PaymentState } from "./State.ts"

type Money = Pick<Aggregate, "payments"> & {
  readonly invoice: Pick<Aggregate["invoice"], "amount" | "openRefunds">
  readonly exceptions: Aggregate["exceptions"]
}

/** Whether it is about money beyond the amount of the invoice. */
export const isExcess = ({ type }: Pick<ExceptionState, "type">): boolean =>
  type === "duplicate_payment" || type === "overpaid"

/** The payments with all that goes back of them: what was paid out, and what these refunds will take. */
export const withOpenRefunds = (
  payments: ReadonlyArray<PaymentState>,
  refunds: ReadonlyArray<OpenRefund>
): ReadonlyArray<PaymentState> =>
  refunds.reduce((all, refund) => {
    const shares = refund.paymentId === null
      ? new Map(divideRefund(refund, all).map(({ amount, payment }) => [payment.id, amount]))
      : new Map([[refund.paymentId, refund.amount]])
    return all.map((payment) => {
      const share = shares.get(payment.id)
      return share === undefined ? payment : { ...payment, refunded: usdMillis(payment.refunded + share) }
    })
  }, payments)

/** usd_millis of each payment that counts, less what goes back of it. */
const netAmounts = ({ invoice: { openRefunds = [] }, payments }: Money): ReadonlyMap<string, bigint> =>
  new Map(
    withOpenRefunds(payments, openRefunds).filter(({ status }) => isCounted(status))
      .map(({ amount, id, refunded }) => [id, amount - refunded])
  )

/**
 * usd_millis that went back of payments which left their chain afterwards: the money of other payments. What was not
 * sent is never sent.
 */
const lostAmount = ({ invoice: { openRefunds = [] }, payments }: Money): bigint => {
  const sent = withOpenRefunds(payments, openRefunds.filter(({ isSent }) => isSent))
  return sent.reduce(
    (sum, { metadata, refunded, status }) =>
      isCounted(status) || status === "rejected" || metadata.exception !== null ? sum : sum + refunded,
    0n
  )
}

const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b)

const notBelowZero = (value: bigint): bigint => (value > 0n ? value : 0n)

/** What a decision was about, for one that was made before this was kept: all of its payment, or of the invoice. */
const sharesOf = ({ amount, paymentId, resolution }: ExceptionState): ReadonlyArray<ExcessShare> =>
  resolution?.shares ?? [{ payment_id: paymentId, amount: usdWire(amount), below: 0 }]

/**
 * usd_millis of each payment that somebody decided to keep. A decision is about the top of its payments: what goes back
 * of them later is taken of that first. It holds while the payment counts, so also where it comes back to its chain.
 */
const keptAmounts = (
  { exceptions }: Money,
  nets: ReadonlyMap<string, bigint>
): { readonly byPayment: ReadonlyMap<string, bigint>; readonly sum: bigint } => {
  const byPayment = new Map<string, bigint>()
  let sum = 0n
  for (const exception of exceptions) {
    if (!isExcess(exception) || exception.resolution === null || exception.resolution.action === "refund") continue
    for (const { amount, below, payment_id: id } of sharesOf(exception)) {
      const kept = id === null
        ? BigInt(amount)
        : smaller(BigInt(amount), notBelowZero((nets.get(id) ?? 0n) - BigInt(below)))
      sum += kept
      if (id !== null) byPayment.set(id, (byPayment.get(id) ?? 0n) + kept)
    }
  }
  return { byPayment, sum }
}

/** What is too much of an invoice and waits for a decision, and the most that each payment has of it. */
export interface Excess {
  readonly amount: UsdMillis
  readonly ofPayment: (id: string) => bigint
}

export const excessOf = (state: Money): Excess => {
  const nets = netAmounts(state)
  const kept = keptAmounts(state, nets)
  const received = [...nets.values()].reduce((sum, net) => sum + net, 0n)
  return {
    amount: usdMillis(notBelowZero(received - state.invoice.amount - lostAmount(state) - kept.sum)),
    ofPayment: (id) => notBelowZero((nets.get(id) ?? 0n) - (kept.byPayment.get(id) ?? 0n))
  }
}

const isOpenDuplicate = ({ exceptions }: Pick<Money, "exceptions">, id: string): boolean =>
  exceptions.some(({ paymentId, status, type }) =>
    type === "duplicate_payment" && status === "open" && paymentId === id
  )

/**
 * Payments that count, in the order in which `overpaid` is theirs: the newest first, and those at the end that are too
 * much by themselves, as their money is asked for by an exception of their own.
 */
export const overpaidPayments = (
  { exceptions, payments }: Pick<Aggregate, "exceptions" | "payments">
): ReadonlyArray<PaymentState> =>
  payments.filter(({ status }) => isCounted(status)).toSorted((a, b) =>
    Number(isOpenDuplicate({ exceptions }, a.id)) - Number(isOpenDuplicate({ exceptions }, b.id)) || bySeenAt(b, a)
  )

/** Which payments a decision to keep the money of an exception is about, and how much of each lies below it. */
export const decidedShares = (state: Aggregate, { amount, paymentId }: ExceptionState): ReadonlyArray<ExcessShare> => {
  const nets = netAmounts(state)
  const { ofPayment } = excessOf(state)
  let left: bigint = amount
  return (paymentId === null ? overpaidPayments(state).map(({ id }) => id) : [paymentId]).flatMap((id) => {
    const share = smaller(left, ofPayment(id))
    if (share === 0n) return []
    left -= share
    return [{ payment_id: id, amount: Number(share), below: Number((nets.get(id) ?? 0n) - share) }]
  })
}
