/**
 * How much of a payment is given back: in the base units that were paid, and in the dollars that they were credited
 * with. Whatever the parts, all of them together are exactly the payment, in both.
 */
import { isPublicError, type PublicError, publicError } from "../../../schemas/Errors.ts"
import { formatUnits, parseUnits, usdDecimal, type UsdMillis, usdMillis, usdWire } from "../../../schemas/Money.ts"
import { type ExceptionType, isCounted } from "../../../schemas/Payment.ts"
import type { RefundAmountMode } from "../../../schemas/Refund.ts"
import {
  type Aggregate,
  amountIfAccepted,
  type Excess,
  overpaidPayments,
  type PaymentState
} from "../../invoices/plugin.ts"
import { hasSameToken, tokenLeft } from "./Received.ts"
import { isActive, isLost, isRefundable, type RefundState } from "./State.ts"
import { excessWith } from "./Tracking.ts"

/** Some of a payment. */
export interface Portion {
  readonly units: bigint
  readonly usd: UsdMillis
}

/** Some of one payment of an invoice. */
export interface PaymentPortion extends Portion {
  readonly payment: PaymentState
}

/** How much a refund is asked for. */
export interface RequestedAmount {
  readonly mode: RefundAmountMode
  /** For `custom`: one of the two. */
  readonly usd: UsdMillis | null
  /** A decimal number of whole tokens. */
  readonly tokenAmount: string | null
  /** Null: of every payment that counts. */
  readonly paymentId: string | null
  /** Payments that are too much by themselves give last: their money is asked for by exceptions of their own. */
  readonly isOverpaid?: boolean
}

/** Payments that a message names, at most. */
const maximumNamed = 3

/** Payments that one call gives back, at most: each is a refund, and all of them are one commit. */
export const maximumPortions = 100

/** What a payment was credited with, or would be if it were accepted; 0 where it has no price. */
export const creditedValue = (payment: PaymentState): UsdMillis =>
  isCounted(payment.status) ? payment.amount : amountIfAccepted(payment) ?? usdMillis(0n)

/**
 * What is left of a payment alone: nothing before it is deep enough. Only what is canceled or expired leaves the cap:
 * what failed may have been sent all the same, and keeps its part until it is paid or canceled.
 */
const ownLeft = (payment: PaymentState, refunds: ReadonlyArray<RefundState>): Portion => {
  if (!isRefundable(payment)) return { units: 0n, usd: usdMillis(0n) }
  let units = payment.units
  let usd: bigint = creditedValue(payment)
  for (const refund of refunds) {
    if (refund.paymentId !== payment.id || refund.terms === null || !isActive(refund)) continue
    units -= refund.terms.units
    usd -= refund.amount
  }
  return { units: units > 0n ? units : 0n, usd: usdMillis(usd > 0n ? usd : 0n) }
}

const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b)

/**
 * What is left of each of these payments, in their order, and no more of a token than is left of it over all payments
 * of the invoice: what was paid out for a payment that is gone is not there any more.
 */
export const portionsLeft = (
  wanted: ReadonlyArray<PaymentState>,
  payments: ReadonlyArray<PaymentState>,
  refunds: ReadonlyArray<RefundState>
): ReadonlyArray<PaymentPortion> => {
  const taken: Array<PaymentPortion> = []
  for (const payment of wanted) {
    const own = ownLeft(payment, refunds)
    const others = taken.reduce((sum, each) => (hasSameToken(each.payment, payment) ? sum + each.units : sum), 0n)
    const left = tokenLeft(payment, payments, refunds) - others
    taken.push({ payment, ...(left >= own.units ? own : portionOfUnits(left > 0n ? left : 0n, payment, own)) })
  }
  return taken
}

/** What is left of one payment of an invoice: see {@link portionsLeft}. */
export const portionLeft = (
  payment: PaymentState,
  payments: ReadonlyArray<PaymentState>,
  refunds: ReadonlyArray<RefundState>
): Portion => {
  const { units, usd } = portionsLeft([payment], payments, refunds)[0]!
  return { units, usd }
}

/**
 * Whether a refund that was worked out before can still be given. Its dollars are of its payment alone; its units must
 * also be there of the token, over all payments. Dollars of those would be rounded down anew, and refuse what fits.
 */
export const fitsPortion = (
  { units, usd }: Portion,
  payment: PaymentState,
  payments: ReadonlyArray<PaymentState>,
  refunds: ReadonlyArray<RefundState>
): boolean => {
  const own = ownLeft(payment, refunds)
  return usd <= own.usd && units <= own.units && units <= tokenLeft(payment, payments, refunds)
}

/**
 * The part of a payment that is worth so much, rounded down; the rest to the last unit where it is worth all that is
 * left. Parts that were given back by units before may have left less than the rate says: then it is in proportion to
 * what is left, so that no part takes the last unit and leaves dollars behind, or the other way round.
 */
export const portionOfValue = (usd: UsdMillis, payment: PaymentState, left: Portion): Portion => {
  if (usd >= left.usd) return left
  const atRate = (usd * payment.units) / creditedValue(payment)
  return { units: smaller(atRate, (usd * left.units) / left.usd), usd }
}

/** So many units of a payment, and what they were credited with, rounded down; see {@link portionOfValue}. */
export const portionOfUnits = (units: bigint, payment: PaymentState, left: Portion): Portion => {
  if (units >= left.units) return left
  const atRate = (units * creditedValue(payment)) / payment.units
  return { units, usd: usdMillis(smaller(atRate, (units * left.usd) / left.units)) }
}

/** What is said where not a unit is left, without the ids and amounts that help where something is. */
const nothingLeft = (payment: PaymentState | null, why: ReadonlyArray<string>): string => {
  const money = `Nothing of this ${payment === null ? "invoice" : "payment"}`
  return why.length > 0
    ? `${money} can be refunded now`
    : `${money} is left to refund: what is final, if anything, was given back or is on its way`
}

/** `left` is of `payment`, or of several payments: null. */
const exceeds = (left: Portion, why: ReadonlyArray<string>, payment: PaymentState | null = null) => {
  const decimals = payment?.tokenDecimals ?? null
  const tokens = decimals === null ? null : formatUnits(left.units, decimals)
  const most =
    `At most ${usdDecimal(left.usd)} dollars${tokens === null ? "" : ` (${tokens} of the token)`}${
      payment === null ? "" : ` of the payment ${payment.id}`
    } can be given back now: what was received and is as deep in the chain as the invoice asks, less what was given back ` +
    "or is on its way"
  return publicError("REFUND_EXCEEDS_RECEIVED", {
    message: [
      left.usd === 0n && left.units === 0n ? nothingLeft(payment, why) : most,
      ...why,
      ...(left.usd === 0n ? [] : ["To give back all of that, ask with amount_mode remaining"])
    ].join(". "),
    details: {
      refundable: usdWire(left.usd),
      refundable_decimal: usdDecimal(left.usd),
      refundable_token_amount: tokens
    }
  })
}

const invalid = (param: string, message: string) =>
  publicError("VALIDATION_ERROR", { message: `${param}: ${message}`, param })

/**
 * What keeps money of payments from being given back, and what to do: those that are not deep enough yet, and refunds
 * that failed for good with a payment which has come back.
 */
const obstaclesOf = (
  payments: ReadonlyArray<PaymentState>,
  refunds: ReadonlyArray<RefundState>
): ReadonlyArray<string> => {
  const shallow = payments.filter(({ confirmedAt, status }) => confirmedAt === null && status !== "reverted")
  const lost = refunds.filter((refund) =>
    isLost(refund) && payments.some(({ id, status }) => id === refund.paymentId && status !== "reverted")
  )
  return [
    ...shallow.slice(0, maximumNamed).map(({ id, metadata: { confirmations, required_confirmations: required } }) =>
      `The payment ${id} has ${confirmations} of ${required} confirmations: wait for it`
    ),
    ...lost.slice(0, maximumNamed).map(({ id }) =>
      `The refund ${id} failed for good and keeps its part until it is canceled: cancel it`
    )
  ]
}

/** What is refused of one payment: more than is left of it. */
const exceedsPayment = (payment: PaymentState, left: Portion, obstacles: ReadonlyArray<string>) =>
  exceeds(left, payment.status === "reverted" ? [`The payment ${payment.id} has left the chain`] : obstacles, payment)

/** What is refused where nothing is too much: `left` is what another mode can give back. */
const nothingOverpaid = (left: UsdMillis, obstacles: ReadonlyArray<string>) =>
  publicError("REFUND_EXCEEDS_RECEIVED", {
    message: [
      "Nothing is too much now: what counts is no more than the invoice's amount, is on its way back, or somebody " +
      "decided to keep it",
      ...obstacles,
      ...(left === 0n ? [] : [
        `To give money back all the same, ask with amount_mode custom or remaining: up to ${usdDecimal(left)} dollars`
      ])
    ].join(". "),
    details: { refundable: usdWire(left), refundable_decimal: usdDecimal(left), refundable_token_amount: null }
  })

/**
 * The open exception by whose decision money that is to be given back could be accepted: of a payment that does not
 * count, or of an invoice that ended with a part; null: there is none. So that nothing goes back and counts as well,
 * that decision comes first.
 */
export const undecidedException = (
  portions: ReadonlyArray<PaymentPortion>,
  { exceptions }: Pick<Aggregate, "exceptions">
): string | null => {
  const refused = new Set(portions.flatMap(({ payment }) => payment.status === "rejected" ? [payment.id] : []))
  const open = exceptions.find(({ paymentId, status, type }) =>
    status === "open" && (type === "underpaid_expired" || paymentId !== null && refused.has(paymentId))
  )
  return open?.id ?? null
}

/** Money that an exception is about. */
export interface ExceptionMoney {
  readonly type: ExceptionType
  readonly paymentId: string | null
  readonly amount: UsdMillis
}

/**
 * What a decision to refund gives back: of a payment that does not count all that is left of it; of one or more that do
 * what the exception is about, of which nothing is on its way back. `part`: for a part that nobody completed, so much
 * of it; null: all of it.
 */
export const amountOfException = (
  { amount, paymentId, type }: ExceptionMoney,
  part: Pick<RequestedAmount, "usd" | "tokenAmount"> | null
): RequestedAmount => {
  const whole: RequestedAmount = { mode: "remaining", usd: null, tokenAmount: null, paymentId }
  switch (type) {
    case "underpaid_expired":
      return part === null ? whole : { ...whole, ...part, mode: "custom" }
    case "overpaid":
    case "duplicate_payment":
      return { ...whole, mode: "custom", usd: amount, isOverpaid: true }
    default:
      return whole
  }
}

/** The dollars that a call asks for, and the most it can have; null: in units. */
const requestedValue = (
  { mode, usd }: RequestedAmount,
  excess: UsdMillis,
  payments: ReadonlyArray<PaymentState>,
  left: UsdMillis
): UsdMillis | null => {
  switch (mode) {
    case "full":
      return usdMillis(payments.reduce((sum, each) => sum + (isRefundable(each) ? creditedValue(each) : 0n), 0n))
    case "remaining":
      return left
    case "overpaid":
      return usdMillis(smaller(excess, left))
    case "custom":
      return usd
  }
}

/** One payment, named or the only one there is, by its units. */
const unitsOfOne = (
  text: string,
  available: ReadonlyArray<PaymentPortion>,
  obstacles: ReadonlyArray<string>
): ReadonlyArray<PaymentPortion> | PublicError => {
  const [only, ...others] = available
  if (only === undefined) return exceeds({ units: 0n, usd: usdMillis(0n) }, obstacles)
  const { payment, ...left } = only
  if (others.length > 0) {
    const ids = available.slice(0, maximumNamed).map((each) => each.payment.id).join(", ")
    const more = available.length > maximumNamed ? ", and more" : ""
    return invalid("invoice_payment_id", `name the payment that token_amount is of: ${ids}${more}`)
  }
  const units = parseUnits(text, payment.tokenDecimals!)
  if (units === undefined || units === 0n) {
    return invalid(
      "token_amount",
      `a number of whole tokens above 0 with at most ${payment.tokenDecimals} decimals, as text like "1.5"`
    )
  }
  if (units > left.units) return exceedsPayment(payment, left, obstacles)
  return [{ payment, ...portionOfUnits(units, payment, left) }]
}

/** Payments that a call is about, the newest first. */
const requestedPayments = (
  { isOverpaid = false, paymentId }: RequestedAmount,
  { exceptions, payments }: Aggregate
): ReadonlyArray<PaymentState> | PublicError => {
  if (paymentId === null) return overpaidPayments({ exceptions: isOverpaid ? exceptions : [], payments })
  const payment = payments.find(({ id }) => id === paymentId)
  if (payment === undefined) {
    return invalid("invoice_payment_id", `${paymentId} is no payment of this invoice: send the id of one that is`)
  }
  return payment.tokenDecimals === null || payment.metadata.token?.symbol == null
    ? invalid(
      "invoice_payment_id",
      `the token of ${paymentId} has not said its symbol and decimals, so it cannot be sent back from here`
    )
    : [payment]
}

/**
 * Dollars of each payment, in their order, each as far as it goes: what is too much goes back of money that nobody
 * decided to keep, as long as there is some.
 */
const divideAmount = (
  wanted: UsdMillis,
  available: ReadonlyArray<PaymentPortion>,
  excess: Excess
): ReadonlyArray<UsdMillis> => {
  const shares = available.map(() => 0n)
  const take = (most: bigint, limitOf: (portion: PaymentPortion) => bigint) => {
    let rest = most
    available.forEach((portion, place) => {
      const share = smaller(rest, smaller(limitOf(portion), portion.usd - shares[place]!))
      shares[place]! += share
      rest -= share
    })
    return most - rest
  }
  const undecided = take(smaller(wanted, excess.amount), ({ payment }) => excess.ofPayment(payment.id))
  take(wanted - undecided, ({ usd }) => usd)
  return shares.map(usdMillis)
}

/**
 * What each payment gives of a refund, the newest payment first. Errors: `REFUND_EXCEEDS_RECEIVED` with what is left,
 * `VALIDATION_ERROR`.
 */
export const portionsOf = (
  request: RequestedAmount,
  invoice: Aggregate,
  refunds: ReadonlyArray<RefundState>
): ReadonlyArray<PaymentPortion> | PublicError => {
  const payments = requestedPayments(request, invoice)
  if (isPublicError(payments)) return payments
  const available = portionsLeft(payments, invoice.payments, refunds)
  // What came since may not be deep enough to count; what is refused is given back only where it is named.
  const concerned = request.paymentId === null
    ? invoice.payments.filter(({ status }) => status !== "rejected")
    : payments
  const obstacles = obstaclesOf(concerned, refunds)
  if (request.mode === "custom" && request.tokenAmount !== null) {
    return unitsOfOne(request.tokenAmount, available, obstacles)
  }
  const left = usdMillis(available.reduce((sum, each) => sum + each.usd, 0n))
  const excess = excessWith(invoice, refunds)
  const wanted = requestedValue(request, excess.amount, payments, left)
  if (wanted === null) return invalid("amount", "send amount, in usd_millis, or token_amount with amount_mode custom")
  const [only] = available
  const refusal = request.mode === "overpaid" && excess.amount === 0n
    ? nothingOverpaid(left, obstacles)
    : available.length === 1
    ? exceedsPayment(only!.payment, only!, obstacles)
    : exceeds({ units: available.reduce((sum, each) => sum + each.units, 0n), usd: left }, obstacles)
  if (wanted > left) return refusal
  const isAll = request.mode === "full" || request.mode === "remaining"
  const shares = divideAmount(wanted, available, excess)
  const portions = available.flatMap(({ payment, ...left }, place): ReadonlyArray<PaymentPortion> => {
    const usd = shares[place]!
    // What has no price is given back by its units alone.
    if (left.units === 0n || (usd === 0n && !(isAll && left.usd === 0n))) return []
    return [{ payment, ...portionOfValue(usd, payment, left) }]
  })
  if (portions.length === 0) return refusal
  if (portions.some(({ units }) => units === 0n)) {
    return invalid("amount", "less than the smallest unit of the token that was paid: ask for more")
  }
  return portions.length > maximumPortions
    ? invalid("invoice_payment_id", `more than ${maximumPortions} payments would be given back: name one at a time`)
    : portions
}
