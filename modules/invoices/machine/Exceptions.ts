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
import type { Environment } from "../../../schemas/Network.ts"
import { uuidOf } from "../../../schemas/NamedUuid.ts"
import { type ExceptionType, isCounted, isPayoutException } from "../../../schemas/Payment.ts"
import { excessOf } from "./Excess.ts"
import { isFullyRefunded } from "./RefundedInvoice.ts"
import {
  type Aggregate,
  type ExceptionDraft,
  type ExceptionState,
  type InvoiceState,
  type OpenRefund,
  paymentOf,
  type PaymentState
} from "./State.ts"
import { unmatchedTransfer } from "./Unmatched.ts"
import { tokenAmount } from "./Wire.ts"

/** The open exception of a type, about a payment or, with null, about the whole invoice. */
export const openExceptionOf = (
  { exceptions }: Pick<Aggregate, "exceptions">,
  type: ExceptionType,
  paymentId: string | null
): ExceptionState | undefined =>
  exceptions.find((each) => each.status === "open" && each.type === type && each.paymentId === paymentId)

/**
 * The id of the exception that an invoice opens next. It follows from how many exceptions the invoice has, so it is
 * known before the exception is stored, and a decision that is repeated after a conflict gets the same id.
 */
const nextExceptionId = ({ exceptions: { length }, invoice }: Aggregate): string => {
  const uuid = uuidOf(`exception ${length} of invoice ${invoice.id}`)
  // Of two exceptions that are opened and resolved in the same second, the later one has the greater id.
  return `exc_${length.toString(16).padStart(placeDigits, "0").slice(-placeDigits)}${uuid.slice(placeDigits)}`
}

/** Hex digits of an exception's id that are its place among those of its invoice. */
const placeDigits = 4

/** The state with an exception opened; unchanged where one of its type is open already for the same payment. */
export const openException = (state: Aggregate, draft: ExceptionDraft, now: number): Aggregate =>
  openExceptionOf(state, draft.type, draft.paymentId) !== undefined ? state : {
    ...state,
    exceptions: [...state.exceptions, {
      ...draft,
      id: nextExceptionId(state),
      version: 0,
      status: "open",
      createdAt: now,
      resolvedAt: null,
      resolution: null
    }]
  }

/**
 * The same for one of its payments, with evidence of the payment and what it is worth. One that is open already is
 * brought up to date: a transfer that comes back to its chain may carry another amount.
 */
export const openPaymentException = (
  state: Aggregate,
  type: ExceptionType,
  payment: PaymentState,
  now: number
): Aggregate => openException(refreshPaymentException(state, type, payment), draftOf(type, payment), now)

const draftOf = (type: ExceptionType, payment: PaymentState): ExceptionDraft => ({
  type,
  paymentId: payment.id,
  amount: amountIfAccepted(payment) ?? payment.amount,
  evidence: evidenceOf(payment)
})

/** Brings the open exception of a type about a payment up to date with the payment; opens none. */
export const refreshPaymentException = (state: Aggregate, type: ExceptionType, payment: PaymentState): Aggregate => {
  const open = openExceptionOf(state, type, payment.id)
  return open === undefined ? state : replaceException(state, open, { ...open, ...draftOf(type, payment) })
}

const evidenceOf = (payment: PaymentState): ExceptionDraft["evidence"] => ({
  network: payment.network,
  tx_hash: payment.txHash,
  token_id: payment.tokenId,
  token_amount: tokenAmount(payment)
})

/**
 * Brings the exceptions about the invoice as a whole up to date with its payments: money beyond its amount, and an
 * amount that was not completed in time. One whose reason is gone is resolved without a decision.
 */
export const updateExceptions = (
  before: Aggregate,
  after: Aggregate,
  changedPayments: ReadonlyArray<PaymentState>,
  now: number
): Aggregate => updateShortfall(updateExcess(before, after, changedPayments, now), now)

/**
 * A forecast: the exceptions that an invoice would have if these refunds, and no others, were open. Nothing of it is
 * stored and only amounts and statuses are read, so its times may be wrong: they are the invoice's creation.
 */
export const forecastExceptions = (
  state: Aggregate,
  openRefunds: ReadonlyArray<OpenRefund>
): ReadonlyArray<ExceptionState> =>
  updateExceptions(state, { ...state, invoice: { ...state.invoice, openRefunds } }, [], state.invoice.createdAt)
    .exceptions

/**
 * Money beyond the amount: `duplicate_payment` for a payment of a paid invoice that would have paid it alone,
 * `overpaid` for the rest. All of them together are what is left of one sum (`Excess.ts`).
 */
const updateExcess = (
  before: Aggregate,
  after: Aggregate,
  changedPayments: ReadonlyArray<PaymentState>,
  now: number
): Aggregate => {
  const { amount, amountPaid, policy } = after.invoice
  const excess = excessOf(after)
  let rest: bigint = excess.amount
  const take = (wanted: bigint): UsdMillis => {
    const taken = wanted < rest ? wanted : rest
    rest -= taken
    return usdMillis(taken)
  }
  const exceptions = after.exceptions.map((each) =>
    each.type === "duplicate_payment" && each.status === "open" && each.paymentId !== null
      ? withAmount(each, take(excess.ofPayment(each.paymentId)), now)
      : each
  )
  const state = duplicatesToOpen(before, after, changedPayments).reduce<Aggregate>((next, payment) => {
    const amount = take(excess.ofPayment(payment.id))
    const draft = { type: "duplicate_payment", paymentId: payment.id, amount, evidence: evidenceOf(payment) } as const
    return amount === 0n ? next : openException(next, draft, now)
  }, { ...after, exceptions })
  const draft = {
    type: "overpaid",
    paymentId: null,
    amount: take(rest > BigInt(policy.overpayTolerance) ? rest : 0n),
    evidence: { amount: usdWire(amount), amount_paid: usdWire(amountPaid) }
  } as const
  const open = openExceptionOf(state, "overpaid", null)
  if (open === undefined) return draft.amount === 0n ? state : openException(state, draft, now)
  return replaceException(state, open, { ...withAmount(open, draft.amount, now), evidence: draft.evidence })
}

/**
 * Payments for which `duplicate_payment` is to be opened, because each is too much by itself and has no open exception
 * of the type: payments that had one before and are too much again, and payments of this change that come to a paid
 * invoice.
 */
const duplicatesToOpen = (
  before: Aggregate,
  { exceptions, invoice, payments }: Aggregate,
  changedPayments: ReadonlyArray<PaymentState>
): ReadonlyArray<PaymentState> => {
  const enough = invoice.amount - BigInt(invoice.policy.tolerance)
  const ofDuplicate = (id: string) =>
    exceptions.filter(({ paymentId, type }) => type === "duplicate_payment" && paymentId === id)
  const closed = payments.filter(({ id, status }) =>
    isCounted(status) && ofDuplicate(id).every((each) => each.status !== "open")
  )
  const reported = closed.filter(({ amount, id }) =>
    ofDuplicate(id).length > 0 && invoice.amountPaid - amount >= enough
  )
  const isNew = ({ amount, id }: PaymentState) =>
    before.invoice.status === "paid" && amount >= enough && changedPayments.some((each) => each.id === id)
  return [...reported, ...closed.filter((each) => !reported.includes(each) && isNew(each))]
}

/**
 * `underpaid_expired`: what was paid is not enough, and the time to complete it is over. Where less is paid than the
 * exception says, it is resolved and another one opens, so that a decision on the old one is refused and nobody waives
 * more than they saw. After a decision another one opens only for another paid amount.
 */
const updateShortfall = (state: Aggregate, now: number): Aggregate => {
  const { amount, amountPaid, graceEnded, status } = state.invoice
  const open = openExceptionOf(state, "underpaid_expired", null)
  const evidence = { amount: usdWire(amount), amount_paid: usdWire(amountPaid) }
  if (open !== undefined && status === "underpaid" && amountPaid >= open.amount) {
    return amountPaid === open.amount ? state : replaceException(state, open, { ...open, amount: amountPaid, evidence })
  }
  const withoutOld = open === undefined ? state : replaceException(state, open, withdraw(open, now))
  const last = state.exceptions.findLast(({ type }) => type === "underpaid_expired")
  // What was refunded cannot be accepted as enough.
  if (status !== "underpaid" || !graceEnded || isFullyRefunded(state)) return withoutOld
  if (open === undefined && last?.amount === amountPaid) return withoutOld
  return openException(withoutOld, { type: "underpaid_expired", paymentId: null, amount: amountPaid, evidence }, now)
}

/** An open exception with another amount; with 0 there is nothing left to decide. */
const withAmount = (exception: ExceptionState, amount: UsdMillis, now: number): ExceptionState =>
  amount === 0n ? withdraw(exception, now) : amount === exception.amount ? exception : { ...exception, amount }

const withdraw = (exception: ExceptionState, now: number): ExceptionState => ({
  ...exception,
  status: "resolved",
  resolvedAt: now
})

const replaceException = (state: Aggregate, before: ExceptionState, after: ExceptionState): Aggregate => {
  const hasSameEvidence = JSON.stringify(before.evidence) === JSON.stringify(after.evidence)
  const isSame = before.status === after.status && before.amount === after.amount && hasSameEvidence
  return isSame
    ? state
    : { ...state, exceptions: state.exceptions.map((each) => (each === before ? after : each)) }
}

/** Types whose money the merchant may keep: it has arrived, and no invoice needs it. */
const creditableTypes: ReadonlySet<ExceptionType> = new Set([
  "overpaid",
  "duplicate_payment",
  "late_payment",
  "wrong_token",
  "wrong_network",
  "missing_memo",
  "unmatched_payment"
])

/** Types whose money can be refunded, whether it counts for an invoice, does not count, or belongs to no invoice. */
const refundableTypes: ReadonlySet<ExceptionType> = new Set([
  "underpaid_expired",
  "overpaid",
  "duplicate_payment",
  "late_payment",
  "wrong_token",
  "wrong_network",
  "below_dust",
  "screened",
  "missing_memo",
  "unmatched_payment"
])

/** Types whose outcome this service cannot know, so that the person who decides must write it in a note. */
const typesWithNote: ReadonlySet<ExceptionType> = new Set(["reorged", "settlement_failed", "expiry_unseen"])

/** Whether a decision must come with a note. */
export const requiresNote = (type: ExceptionType, action: ExceptionAction): boolean =>
  isPayoutException(type) || (action === "ignore" && typesWithNote.has(type))

/** An exception with its owner, and the invoice and the payment that it is about. */
export interface ExceptionRecord extends ExceptionSubject {
  readonly exception: ExceptionState
  readonly merchantId: number
  readonly environment: Environment
  readonly invoice: Pick<InvoiceState, "id" | "status" | "type" | "customerId"> | null
  readonly payment: PaymentState | null
}

/** An exception of an invoice, with what it is about. */
export const exceptionRecord = ({ invoice, payments }: Aggregate, exception: ExceptionState): ExceptionRecord => ({
  exception,
  merchantId: invoice.merchantId,
  environment: invoice.environment,
  belongsToMerchant: true,
  invoice,
  payment: exception.paymentId === null ? null : paymentOf({ payments }, exception.paymentId) ?? null
})

/**
 * What the decisions on an exception depend on. `invoice` is null for money that pays none, `payment` is too, and where
 * the exception is about an invoice as a whole.
 */
export interface ExceptionSubject {
  readonly invoice: Pick<InvoiceState, "status" | "type"> | null
  readonly payment: Pick<PaymentState, "status" | "amount" | "metadata" | "units" | "tokenDecimals"> | null
  /** Absent: no. Only the operator decides on money that pays no invoice and belongs to no single merchant. */
  readonly belongsToMerchant?: boolean
}

/** Whether money that pays no invoice can be given to one: its transfer is known, and what it was worth. */
const isAssignable = ({ amount, evidence, paymentId, type }: ExceptionState): boolean =>
  (type === "missing_memo" || type === "unmatched_payment") && paymentId === null && amount > 0n &&
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
  // A payout cannot be taken back: a person decides who bears the loss.
  if (isPayoutException(type)) return ["accept", "ignore"]
  const isReverted = subject.payment?.status === "reverted"
  // A payment that comes too late for an order is refunded by the order's own refund.
  const isRefundedByOrder = type === "late_payment" && subject.invoice?.type === "commerce"
  return [
    ...(isAcceptable(type, subject) ? ["accept"] as const : []),
    ...(isRefundable(exception, subject) ? ["refund"] as const : []),
    ...(creditableTypes.has(type) && !isReverted && !isRefundedByOrder ? ["credit"] as const : []),
    ...(isAssignable(exception) ? ["assign"] as const : []),
    "ignore"
  ]
}

/**
 * What an order received is refunded by the order's own refund. Only a token with a symbol and decimals can be sent.
 */
const isRefundable = (
  exception: ExceptionState,
  { belongsToMerchant = false, invoice, payment }: ExceptionSubject
): boolean => {
  const { type } = exception
  if (!refundableTypes.has(type)) return false
  if (invoice === null) {
    const token = unmatchedTransfer(exception)?.token
    return belongsToMerchant && token?.symbol != null && token.decimals !== null
  }
  return invoice.type !== "commerce" && (type !== "underpaid_expired" || invoice.status === "underpaid") &&
    (payment === null || (payment.status !== "reverted" && payment.tokenDecimals !== null &&
      payment.metadata.token?.symbol != null))
}

/**
 * A commerce invoice and a canceled one take no more money. Money worth less than a usd_milli would count for nothing.
 */
const isAcceptable = (type: ExceptionType, { invoice, payment }: ExceptionSubject): boolean => {
  if (invoice === null || invoice.type === "commerce" || invoice.status === "canceled") return false
  if (type === "underpaid_expired") return invoice.status === "underpaid"
  return payment?.status === "rejected" && payment.metadata.exception === type && (amountIfAccepted(payment) ?? 0n) > 0n
}

/**
 * The usd_millis that a refused payment counts for once it is accepted: its fixed amount; where it has none, its units
 * at the price of when it was seen, rounded down; null without a price.
 */
export const amountIfAccepted = (
  { amount, metadata: { quote }, tokenDecimals, units }:
    & Pick<PaymentState, "amount" | "tokenDecimals" | "units">
    & { readonly metadata: Pick<PaymentState["metadata"], "quote"> }
): UsdMillis | null => {
  if (amount > 0n) return amount
  const rate = quote === null ? undefined : readRate(quote.exchange_rate)
  if (rate === undefined || tokenDecimals === null) return null
  const value = usdValueDown(baseUnits(units), rate, tokenDecimals)
  return value > maximumCredit ? maximumCredit : value
}
