/** Exceptions: what waits for a person's decision, when it opens, and which decisions it allows. */
import {
  baseUnits,
  maximumCredit,
  readRate,
  type UsdMillis,
  usdMillis,
  usdValueDown,
  usdWire
} from "../../../schemas/Money.ts"
import type { ExceptionAction } from "../../../schemas/Exception.ts"
import { type ExceptionType, isCounted } from "../../../schemas/Payment.ts"
import type { Aggregate, ExceptionDraft, ExceptionState, InvoiceState, PaymentState } from "./State.ts"
import { tokenAmount } from "./Wire.ts"

/** The open exception of a type, about a payment or, with null, about the whole invoice. */
export const openExceptionOf = (
  { exceptions }: Pick<Aggregate, "exceptions">,
  type: ExceptionType,
  paymentId: string | null
): ExceptionState | undefined =>
  exceptions.find((each) => each.status === "open" && each.type === type && each.paymentId === paymentId)

/** The state with an exception opened; unchanged where one of its type is open already for the same payment. */
export const openException = (state: Aggregate, draft: ExceptionDraft, now: number): Aggregate =>
  openExceptionOf(state, draft.type, draft.paymentId) !== undefined ? state : {
    ...state,
    exceptions: [...state.exceptions, {
      ...draft,
      id: null,
      version: 0,
      status: "open",
      createdAt: now,
      resolvedAt: null,
      resolution: null
    }]
  }

/** The same for one of its payments, with what shows the payment. */
export const openPaymentException = (
  state: Aggregate,
  type: ExceptionType,
  payment: PaymentState,
  now: number
): Aggregate =>
  openException(state, { type, paymentId: payment.id, amount: payment.amount, evidence: evidenceOf(payment) }, now)

const evidenceOf = (payment: PaymentState): ExceptionDraft["evidence"] => ({
  network: payment.network,
  tx_hash: payment.txHash,
  token_id: payment.tokenId,
  token_amount: tokenAmount(payment)
})

/**
 * Opens what tells of money beyond the amount: `duplicate_payment` for a payment of a paid invoice that would have paid
 * it alone, else `overpaid`. What earlier exceptions told of is not told again, and an open `overpaid` grows.
 */
export const openExcess = (
  before: Aggregate,
  after: Aggregate,
  changedPayments: ReadonlyArray<PaymentState>,
  now: number
): Aggregate => {
  const { amount, amountPaid, policy } = after.invoice
  if (amountPaid <= amount) return after
  const duplicates = before.invoice.status === "paid"
    ? changedPayments.filter((payment) => isDuplicate(after, payment))
    : []
  const state = duplicates.reduce((next, payment) =>
    openException(next, {
      type: "duplicate_payment",
      paymentId: payment.id,
      amount: usdMillis(payment.amount < amountPaid - amount ? payment.amount : amountPaid - amount),
      evidence: evidenceOf(payment)
    }, now), after)
  const open = openExceptionOf(state, "overpaid", null)
  const excess = amountPaid - amount - knownExcess(state, open)
  if (excess <= BigInt(policy.overpayTolerance)) return state
  const draft = {
    type: "overpaid",
    paymentId: null,
    amount: usdMillis(excess),
    evidence: { amount: usdWire(amount), amount_paid: usdWire(amountPaid) }
  } as const
  if (open === undefined) return openException(state, draft, now)
  if (open.amount >= excess) return state
  return { ...state, exceptions: state.exceptions.map((each) => each === open ? { ...each, ...draft } : each) }
}

/** Whether a payment would have paid its invoice alone; one that was told of before keeps the decision made then. */
const isDuplicate = ({ exceptions, invoice, payments }: Aggregate, { id }: PaymentState): boolean => {
  const payment = payments.find((each) => each.id === id)
  const isKnown = exceptions.some(({ paymentId, type }) => type === "duplicate_payment" && paymentId === id)
  return payment !== undefined && !isKnown && isCounted(payment.status) &&
    payment.amount >= invoice.amount - BigInt(invoice.policy.tolerance)
}

/** Usd_millis beyond the amount that other exceptions than `open` tell of: decided ones, and duplicates that count. */
const knownExcess = ({ exceptions, payments }: Aggregate, open: ExceptionState | undefined): bigint => {
  const counted = new Set(payments.filter(({ status }) => isCounted(status)).map(({ id }) => id))
  return exceptions.reduce((sum, each) => {
    const isKnown = each.type === "duplicate_payment" ? counted.has(each.paymentId ?? "") : each.type === "overpaid"
    return isKnown && each !== open ? sum + each.amount : sum
  }, 0n)
}

/** Types whose money the merchant may keep without any invoice: it is there, and nobody needs it counted. */
const creditable: ReadonlySet<ExceptionType> = new Set([
  "overpaid",
  "duplicate_payment",
  "late_payment",
  "wrong_token",
  "wrong_network",
  "missing_memo",
  "unmatched_payment"
])

/** Types that nothing but a person's own look can end, so that their end says what was found. */
const needsNote: ReadonlySet<ExceptionType> = new Set(["reorged", "settlement_failed", "expiry_unseen"])

/** Whether a decision must come with a note: an operator had to look into it. */
export const requiresNote = (type: ExceptionType, action: ExceptionAction): boolean =>
  action === "ignore" && needsNote.has(type)

/** What the decisions on an exception depend on; null: money that pays no invoice, or an invoice as a whole. */
export interface ExceptionSubject {
  readonly invoice: Pick<InvoiceState, "status" | "type"> | null
  readonly payment: Pick<PaymentState, "status" | "amount" | "metadata" | "units" | "tokenDecimals"> | null
}

/** Whether money that pays no invoice can be given to one: its transfer is known, and what it was worth. */
const isAssignable = ({ evidence, paymentId, type }: ExceptionState): boolean =>
  (type === "missing_memo" || type === "unmatched_payment") && paymentId === null &&
  typeof evidence.transfer_id === "string" && typeof evidence.exchange_rate === "string"

/**
 * The decisions that an exception allows now (modules/docs/reference/exceptions.md#actions); none once it is resolved.
 * Money that left its chain again can only be ignored.
 */
export const allowedActions = (
  exception: ExceptionState,
  subject: ExceptionSubject
): ReadonlyArray<ExceptionAction> => {
  const { status, type } = exception
  if (status === "resolved") return []
  const isGone = subject.payment?.status === "reverted"
  return [
    ...(isAcceptable(type, subject) ? ["accept"] as const : []),
    ...(creditable.has(type) && !isGone ? ["credit"] as const : []),
    ...(isAssignable(exception) ? ["assign"] as const : []),
    "ignore"
  ]
}

/** The invoice of an order, and a canceled one, take no more money: their money goes back. */
const isAcceptable = (type: ExceptionType, { invoice, payment }: ExceptionSubject): boolean => {
  if (invoice === null || invoice.type === "commerce" || invoice.status === "canceled") return false
  if (type === "underpaid_expired") return invoice.status === "underpaid"
  return payment?.status === "rejected" && payment.metadata.exception === type && acceptedAmount(payment) !== null
}

/**
 * The usd_millis that a refused payment counts for once it is accepted: its fixed amount; where it has none, its units
 * at the price of when it was seen, rounded down; null without a price.
 */
export const acceptedAmount = (
  { amount, metadata: { quote }, tokenDecimals, units }: Pick<
    PaymentState,
    "amount" | "metadata" | "tokenDecimals" | "units"
  >
): UsdMillis | null => {
  if (amount > 0n) return amount
  const rate = quote === null ? undefined : readRate(quote.exchange_rate)
  if (rate === undefined || tokenDecimals === null) return null
  const value = usdValueDown(baseUnits(units), rate, tokenDecimals)
  return value > maximumCredit ? maximumCredit : value
}
