/**
 * The invoice and its payments: every rule about when they change, and nothing else.
 * Pure: no clock, no ids, no SQL. The actor loads the state, supplies time and commits what is returned.
 *
 *   unpaid ──── confirmed funds ────> underpaid ──── enough ────> paid
 *   unpaid ──── expires_at, nothing pending, its networks seen until then ────> expired
 *   expired ─── late funds, policy accepts ────> underpaid | paid
 *   paid | underpaid ─── a payment reverted ───> underpaid | unpaid | expired
 *   unpaid | expired ─── merchant cancels ────> canceled            (nothing leaves canceled)
 *   underpaid ── all of it refunded ──> canceled
 *   unpaid | underpaid | expired ── what it stands for ends ──> canceled    (payments under way are late when they confirm)
 *   unpaid | underpaid ── devnet only: its time is over now ──> as if `expires_at` had come; a part keeps its grace
 *
 * The rules in words: modules/docs/reference/invoices.md#states and modules/docs/reference/payments.md#states. State is
 * a function of (invoice, payments, clock): the status is always computed anew from what is counted, so the order in
 * which payments arrive does not matter.
 */
import type { NetworkCoverage } from "../../runtime/Chains.ts"
import type { Rollup } from "../../runtime/Rollups.ts"
import type { EventDraft, EventType } from "../../schemas/Event.ts"
import type { WireObject } from "../../schemas/WireObject.ts"
import { previousAttributes } from "../../schemas/Event.ts"
import type { InvoiceId } from "../../schemas/Ids.ts"
import type { InvoiceStatus, InvoiceType, Metadata } from "../../schemas/Invoice.ts"
import type { InvoiceSettings, LatePaymentPolicy, PartialPaymentPolicy } from "../../schemas/MerchantSettings.ts"
import { formatUnits, usdDecimal, type UsdMillis, usdMillis, usdWire } from "../../schemas/Money.ts"
import type { ConfirmationPolicy, Environment, Network } from "../../schemas/Network.ts"
import {
  type ExceptionType,
  isCounted,
  type PaymentExceptionType,
  type PaymentMetadata,
  type PaymentStatus,
  type SettlementProgress,
  type SettlementStage,
  type SettlementStatus
} from "../../schemas/Payment.ts"

/** Merchant policy as it stood when the invoice was created: later changes of settings touch later invoices only. */
export interface InvoicePolicy {
  /** usd_millis an invoice may be short and still count as paid; see {@link toleranceOf}. */
  readonly tolerance: number
  /** usd_millis above the amount that open no exception. */
  readonly overpayTolerance: number
  readonly latePayment: LatePaymentPolicy
  readonly lateWindowSeconds: number
  readonly underpaidGraceSeconds: number
  readonly partialPayment: PartialPaymentPolicy
  readonly confirmations: ConfirmationPolicy
  /** `null`: every network. */
  readonly acceptedNetworks: ReadonlyArray<Network> | null
}

/** What the payor is shown beside the amount; never part of an event. */
export interface InvoiceDetails {
  readonly description: string | null
  readonly title: string | null
  readonly footer: string | null
  readonly customerEmail: string | null
  readonly returnUrl: string | null
  readonly locale: string | null
}

export interface InvoiceState {
  readonly id: InvoiceId
  readonly merchantId: number
  readonly environment: Environment
  readonly version: number
  readonly status: InvoiceStatus
  readonly type: InvoiceType
  readonly amount: UsdMillis
  readonly amountPaid: UsdMillis
  readonly customerId: string | null
  readonly payerWalletAddress: string | null
  readonly payerWalletNetwork: Network | null
  readonly orderId: string | null
  readonly expiresAt: number
  readonly createdAt: number
  readonly paidAt: number | null
  readonly lastPaymentAt: number | null
  readonly metadata: Metadata
  readonly policy: InvoicePolicy
  readonly details: InvoiceDetails
  /** Set once `underpaid_expired` was opened, so that it opens once. */
  readonly graceEnded: boolean
  /** Epoch seconds at which the clock may change the invoice; null: never by the clock alone. */
  readonly dueAt: number | null
}

/**
 * Where a payment's money stands on its way to the merchant. Decided by the settlement module; kept and published here.
 */
export interface PaymentSettlement {
  readonly status: SettlementStatus
  readonly stage: SettlementStage
  readonly progress: SettlementProgress
  /** usd_millis that reached the merchant, less what was refunded; null until settled. */
  readonly settledAmount: UsdMillis | null
  readonly settledAt: number | null
  /** `merchant_settlement_id`: the settlement it went with; null until it has one. */
  readonly id: number | null
  /** The transaction that brought it to the merchant; null where it came straight from the payor. */
  readonly txHash: string | null
  readonly network: Network | null
}

export interface PaymentState {
  readonly id: string
  readonly version: number
  /**
   * Place among the payments of its invoice in the order they were first recorded, from 1. Two payments of one second
   * have no other order: their ids are hashes.
   */
  readonly ordinal: number
  readonly status: PaymentStatus
  readonly network: Network
  /** Catalogue id; null for a token that is not in the catalogue. */
  readonly tokenId: number | null
  readonly tokenDecimals: number | null
  /** Null for a payment found by a difference of balances. */
  readonly txHash: string | null
  readonly sender: string | null
  /** Base units received. */
  readonly units: bigint
  readonly amount: UsdMillis
  readonly seenAt: number
  readonly createdAt: number
  readonly confirmedAt: number | null
  /**
   * Null until it counts, and where nothing settles. Of a payment that has left its chain it is what it was before; see
   * {@link wireSettlement}.
   */
  readonly settlement: PaymentSettlement | null
  /** usd_millis of it that were refunded. */
  readonly refunded: UsdMillis
  readonly metadata: PaymentMetadata
}

/** An exception waiting for someone's decision; at most one per (type, payment) is open. */
export interface ExceptionDraft {
  readonly type: ExceptionType
  readonly paymentId: string | null
  readonly amount: UsdMillis
  readonly evidence: Readonly<Record<string, string | number | null>>
}

/**
 * How far the networks of an invoice were read, so how late a payment on a chain may be that is not in its state yet.
 * Times are by the merchant's clock, as `now` is.
 */
export interface ScanProgress {
  /** The networks on which it has an address; without any nothing can have been paid. */
  readonly networks: ReadonlyArray<NetworkCoverage>
  /** Whether all its transfers in the journal were handled; `failing`: the handler fails again and again. */
  readonly handling: "done" | "under_way" | "failing"
}

/** No network to wait for: the invoice has no address, or its time is ended by the simulator. */
export const nothingToScan: ScanProgress = { networks: [], handling: "done" }

/** Everything a decision depends on, but for the clock. */
export interface Aggregate {
  readonly invoice: InvoiceState
  /** By {@link PaymentState.ordinal}, the first one first. */
  readonly payments: ReadonlyArray<PaymentState>
  /** `<type>:<payment id or empty>` of the exceptions that are open. */
  readonly openExceptions: ReadonlySet<string>
}

/** A transfer as the payments module judged it, before it has a status. */
export type IncomingTransfer = Omit<
  PaymentState,
  "version" | "ordinal" | "status" | "confirmedAt" | "createdAt" | "settlement" | "refunded"
>

export type Command =
  /** A transfer is in a block. `metadata.exception` set: it is not accepted, for that reason. */
  | { readonly _tag: "Observe"; readonly transfer: IncomingTransfer }
  /** It could be priced only now; also one that came too late, whose refund is as much as it is worth. */
  | {
    readonly _tag: "Value"
    readonly paymentId: string
    readonly amount: UsdMillis
    readonly quote: PaymentMetadata["quote"]
  }
  /** The contract of a token that is not in the catalogue says what it is. */
  | {
    readonly _tag: "NameToken"
    readonly paymentId: string
    readonly symbol: string | null
    readonly decimals: number | null
  }
  /** It is as deep as the invoice's policy asks. */
  | { readonly _tag: "Confirm"; readonly paymentId: string; readonly confirmations: number }
  /** Its block is no longer part of the chain. */
  | { readonly _tag: "Revert"; readonly paymentId: string }
  /** Our own processing gave up: an operator must act. */
  | { readonly _tag: "RequireManualRetry"; readonly paymentId: string }
  /** Time has passed. `progress`: how far its networks were read. */
  | { readonly _tag: "Tick"; readonly progress: ScanProgress }
  /** Devnet only: its time is over now. The tick that follows does the rest; a part payment keeps its grace. */
  | { readonly _tag: "End" }
  /** Its settlement has come so far; null: there is nothing to settle any more. `needsOperator`: an exception opens. */
  | {
    readonly _tag: "Settle"
    readonly paymentId: string
    readonly settlement: PaymentSettlement | null
    readonly needsOperator?: boolean
  }
  /** A refund of so many usd_millis of the payment has reached the payor. */
  | { readonly _tag: "Refund"; readonly paymentId: string; readonly amount: UsdMillis }
  /**
   * `byOrder`: the order that the invoice is for ends too, in the same commit; only then a commerce invoice can be
   * canceled.
   */
  | { readonly _tag: "Cancel"; readonly byOrder?: boolean }
  /** The merchant's own notes; what is absent stays. */
  | { readonly _tag: "Amend"; readonly metadata?: Metadata; readonly description?: string | null }

/**
 * What to commit: the changed payments and the invoice row as they will be, the events in order, exceptions to open.
 */
export interface Decision {
  readonly next: Aggregate
  readonly changedPayments: ReadonlyArray<PaymentState>
  readonly events: ReadonlyArray<EventDraft>
  readonly exceptions: ReadonlyArray<ExceptionDraft>
}

/** The command does not fit the state; only `Cancel` can be refused. */
export type Refusal = "not_cancelable"

/**
 * Longest that an expiry waits for a network that cannot be read, in seconds: 24 h, as `modules/docs/guides/states.md`
 * promises. Then the invoice expires with the exception `expiry_unseen`.
 */
export const outageWaitSeconds = 86_400

/**
 * Longest that an expiry waits for a network that is being read, in seconds: 7 days. After the service was stopped for
 * days, every waiting invoice ended more than 24 h ago, but its payments are found within minutes of reading on.
 */
export const catchUpSeconds = 604_800

/** Shortest and longest time until a waiting end is decided again, in seconds. */
const recheckSeconds = { least: 1, most: 60 }

/** Payments worth less than this many usd_millis are dust: recorded and rejected. */
export const dustThreshold = usdMillis(1n)

/**
 * How many usd_millis an invoice may be short and still be paid (modules/docs/reference/invoices.md#tolerance):
 * min(max(floor(amount * bps / 10000), fixed), floor(amount / 10), 100000).
 *
 * @example
 * toleranceOf(usdMillis(50_000n), 50, 10) // => 250
 */
export const toleranceOf = (amount: UsdMillis, basisPoints: number, fixed: number): number => {
  const share = (amount * BigInt(basisPoints)) / 10_000n
  const wanted = share > BigInt(fixed) ? share : BigInt(fixed)
  const cap = amount / 10n < 100_000n ? amount / 10n : 100_000n
  return usdWire(usdMillis(wanted < cap ? wanted : cap))
}

/**
 * The policy a new invoice is created under: the merchant's settings, and what the invoice itself asks for. A commerce
 * invoice ends with its order, so it has no grace (modules/docs/reference/orders.md#accidents).
 */
export const policyOf = (
  settings: InvoiceSettings,
  request: {
    readonly amount: UsdMillis
    readonly commerce: boolean
    readonly toleranceBasisPoints: number | null
    readonly acceptedNetworks: ReadonlyArray<Network> | null
  }
): InvoicePolicy => ({
  tolerance: toleranceOf(
    request.amount,
    request.toleranceBasisPoints ?? settings.payment_tolerance_bps,
    settings.payment_tolerance_amount
  ),
  overpayTolerance: settings.overpay_tolerance_amount,
  latePayment: settings.late_payment_policy,
  lateWindowSeconds: settings.late_window_seconds,
  underpaidGraceSeconds: request.commerce ? 0 : settings.underpaid_grace_seconds,
  partialPayment: settings.partial_payment_policy,
  confirmations: settings.confirmation_policy,
  acceptedNetworks: request.acceptedNetworks
})

/** The events of a new invoice. */
export const creationEvents = (invoice: InvoiceState): ReadonlyArray<EventDraft> => [
  { type: "invoice.created", object: invoiceObject(invoice), previousAttributes: {} }
]

/**
 * Applies commands in order and returns everything to commit at once. Total but for `Cancel`: a command that does not
 * apply changes nothing and publishes nothing.
 */
export const decide = (
  before: Aggregate,
  commands: ReadonlyArray<Command>,
  now: number
): Decision | Refusal => {
  let state = before
  const events: Array<EventDraft> = []
  const exceptions: Array<ExceptionDraft> = []
  for (const command of commands) {
    const step = apply(state, command, now)
    if (typeof step === "string") return step
    state = step.next
    exceptions.push(...step.exceptions)
    if (command._tag === "Settle") step.events.forEach((event) => coalesce(events, event))
    else if (command._tag === "Cancel") coalesceCancel(events, step.events, before.invoice)
    else events.push(...step.events)
  }
  const versions = new Map(before.payments.map((payment) => [payment.id, payment.version]))
  const previousById = new Map(before.payments.map((payment) => [payment.id, payment]))
  const payments = state.payments.map((payment) =>
    previousById.get(payment.id) === payment ? payment : { ...payment, version: (versions.get(payment.id) ?? 0) + 1 }
  )
  const progress = commands.findLast((command) => command._tag === "Tick")?.progress
  const invoice = { ...state.invoice, version: before.invoice.version + 1, dueAt: nextDue(state, now, progress) }
  return {
    next: { ...state, invoice, payments },
    changedPayments: payments.filter((payment) => previousById.get(payment.id) !== payment),
    events,
    exceptions
  }
}

/**
 * A settlement that moves in the decision that moved its payment is published with it: one event, from the state before
 * both to the state after. What changes nothing in the end is not published.
 */
const coalesce = (events: Array<EventDraft>, event: EventDraft): void => {
  const at = events.findLastIndex(({ object }) => object.object === "invoice_payment" && object.id === event.object.id)
  const earlier = events[at]
  if (earlier?.type === "invoice_payment.created") {
    events[at] = { ...earlier, object: event.object }
  } else if (earlier?.type === "invoice_payment.updated") {
    const before = { ...earlier.object, ...earlier.previousAttributes } as WireObject
    const changes = previousAttributes(before, event.object)
    const isSame = Object.keys(changes).length === 0
    events.splice(at, 1, ...(isSame ? [] : [{ ...event, previousAttributes: changes }]))
  } else {
    events.push(event)
  }
}

/**
 * A cancel in the decision that took the money away is told with it: one `invoice.updated`, from the state before both
 * to the state after, so that nobody is shown an invoice that can be paid in between. Where the decision told of more
 * than updates, as of a part that was paid, all of it is told.
 */
const coalesceCancel = (
  events: Array<EventDraft>,
  cancel: ReadonlyArray<EventDraft>,
  before: InvoiceState
): void => {
  const ofInvoice = events.filter(({ object }) => object.object === "invoice")
  if (ofInvoice.length === 0 || ofInvoice.some(({ type }) => type !== "invoice.updated")) {
    events.push(...cancel)
    return
  }
  const others = events.filter(({ object }) => object.object !== "invoice")
  const from = invoiceObject(before)
  const merged = cancel.map((event) => ({ ...event, previousAttributes: previousAttributes(from, event.object) }))
  events.splice(0, events.length, ...others, ...merged)
}

interface Step {
  readonly next: Aggregate
  readonly events: ReadonlyArray<EventDraft>
  readonly exceptions: ReadonlyArray<ExceptionDraft>
}

const noChange = (state: Aggregate): Step => ({ next: state, events: [], exceptions: [] })

const apply = (state: Aggregate, command: Command, now: number): Step | Refusal => {
  switch (command._tag) {
    case "Observe":
      return observe(state, command.transfer, now)
    case "Value":
      return value(state, command)
    case "NameToken":
      return nameToken(state, command)
    case "Confirm":
      return confirm(state, command.paymentId, command.confirmations, now)
    case "Revert":
      return revert(state, command.paymentId, now)
    case "RequireManualRetry":
      return requireManualRetry(state, command.paymentId, now)
    case "Tick":
      return tick(state, command.progress, now)
    case "End":
      return end(state, now)
    case "Settle":
      return applySettlement(state, command)
    case "Refund":
      return refund(state, command)
    case "Cancel":
      return cancel(state, command.byOrder === true)
    case "Amend":
      return amend(state, command)
  }
}

const paymentOf = (state: Aggregate, id: string): PaymentState | undefined =>
  state.payments.find((payment) => payment.id === id)

const nextOrdinal = (payments: ReadonlyArray<PaymentState>): number =>
  payments.reduce((highest, { ordinal }) => Math.max(highest, ordinal), 0) + 1

/** The order in which payments are listed: the last that was recorded first. */
export const newestFirst = (payments: ReadonlyArray<PaymentState>): ReadonlyArray<PaymentState> =>
  payments.toSorted((a, b) => b.ordinal - a.ordinal)

/** The order in which payors sent them: by the time they were seen, and as they were recorded within one second. */
export const bySeenAt = (a: PaymentState, b: PaymentState): number => a.seenAt - b.seenAt || a.ordinal - b.ordinal

const observe = (state: Aggregate, transfer: IncomingTransfer, now: number): Step => {
  const previous = paymentOf(state, transfer.id)
  if (previous !== undefined && previous.status !== "reverted") return noChange(state)
  const reason = rejectionReason(state, transfer)
  const status = reason === null ? "pending" : "rejected"
  const isAfterEnd = transfer.seenAt > state.invoice.expiresAt
  const metadata = { ...transfer.metadata, exception: reason, ...(isAfterEnd ? { late_at: transfer.seenAt } : {}) }
  const isSameTransfer = previous !== undefined && previous.units === transfer.units && previous.metadata.quote !== null
  const payment: PaymentState = !isSameTransfer
    ? {
      ...transfer,
      version: previous?.version ?? 0,
      ordinal: previous?.ordinal ?? nextOrdinal(state.payments),
      status,
      confirmedAt: null,
      settlement: settlementAfterReorg(previous),
      refunded: previous?.refunded ?? usdMillis(0n),
      createdAt: previous?.createdAt ?? now,
      metadata
    }
    : {
      ...previous,
      status,
      confirmedAt: null,
      settlement: settlementAfterReorg(previous),
      metadata: { ...metadata, quote: previous.metadata.quote }
    }
  const next = withPayment(state, payment)
  const exceptions = reason === null ? [] : openException(state, {
    type: reason,
    paymentId: payment.id,
    amount: payment.amount,
    evidence: evidenceOf(payment)
  })
  const event: EventDraft = previous === undefined
    ? { type: "invoice_payment.created", object: paymentObject(state.invoice, payment), previousAttributes: {} }
    : paymentUpdated(state.invoice, previous, payment)
  return { next: withExceptions(next, exceptions), events: [event], exceptions }
}

/** Why a transfer is recorded but not counted; null when it counts. */
const rejectionReason = (state: Aggregate, transfer: IncomingTransfer): PaymentExceptionType | null => {
  const { invoice } = state
  if (transfer.metadata.exception !== null) return transfer.metadata.exception
  const isLateRejected = invoice.type === "commerce" || invoice.policy.latePayment === "manual" ||
    transfer.seenAt > invoice.expiresAt + invoice.policy.lateWindowSeconds
  if (invoice.status === "canceled" || (isLateRejected && isLate(state, transfer))) return "late_payment"
  const isPriced = transfer.metadata.quote !== null
  return isPriced && transfer.amount < dustThreshold ? "below_dust" : null
}

/**
 * After the end, unless a part came before it and the grace to complete it is not over: those funds are what the grace
 * is for, whatever the policy on late ones.
 */
const isLate = ({ invoice, payments }: Aggregate, { seenAt }: Pick<IncomingTransfer, "seenAt">): boolean => {
  if (seenAt <= invoice.expiresAt) return false
  const hasPart = payments.some((payment) =>
    payment.seenAt <= invoice.expiresAt && payment.status !== "rejected" && payment.status !== "reverted"
  )
  return !hasPart || seenAt > invoice.expiresAt + invoice.policy.underpaidGraceSeconds
}

const value = (
  state: Aggregate,
  { paymentId, amount, quote }: { paymentId: string; amount: UsdMillis; quote: PaymentMetadata["quote"] }
): Step => {
  const payment = paymentOf(state, paymentId)
  const isUnconfirmed = payment?.status === "pending" || payment?.status === "manual_retry"
  // Money that came too late counts nowhere, but what it is worth is what can be given back.
  const isOwed = payment?.status === "rejected" && payment.metadata.exception === "late_payment"
  if (payment === undefined || !(isUnconfirmed || isOwed) || payment.metadata.quote !== null) return noChange(state)
  const isDust = isUnconfirmed && amount < dustThreshold
  const after: PaymentState = {
    ...payment,
    amount,
    status: isDust ? "rejected" : payment.status,
    metadata: { ...payment.metadata, quote, exception: isDust ? "below_dust" : payment.metadata.exception }
  }
  const exceptions = isDust
    ? openException(state, { type: "below_dust", paymentId, amount, evidence: evidenceOf(after) })
    : []
  return {
    next: withExceptions(withPayment(state, after), exceptions),
    events: [paymentUpdated(state.invoice, payment, after)],
    exceptions
  }
}

/** Once: what a contract says later may be something else. Nothing but what is shown depends on it. */
const nameToken = (
  state: Aggregate,
  { decimals, paymentId, symbol }: Extract<Command, { _tag: "NameToken" }>
): Step => {
  const payment = paymentOf(state, paymentId)
  const token = payment?.metadata.token ?? null
  const isNamed = token === null || token.id !== null || token.symbol !== null || token.decimals !== null
  if (payment === undefined || isNamed || (symbol === null && decimals === null)) return noChange(state)
  const after: PaymentState = {
    ...payment,
    tokenDecimals: decimals,
    metadata: { ...payment.metadata, token: { ...token, symbol, decimals } }
  }
  return { next: withPayment(state, after), events: [paymentUpdated(state.invoice, payment, after)], exceptions: [] }
}

const confirm = (state: Aggregate, paymentId: string, confirmations: number, now: number): Step => {
  const payment = paymentOf(state, paymentId)
  if (payment === undefined) return noChange(state)
  const confirmedPayment: PaymentState = {
    ...payment,
    confirmedAt: now,
    metadata: { ...payment.metadata, confirmations }
  }
  // Money that came too late is owed back, and not before it can no longer go away.
  if (payment.status === "rejected" && payment.metadata.exception === "late_payment" && payment.confirmedAt === null) {
    return {
      next: withPayment(state, confirmedPayment),
      events: [paymentUpdated(state.invoice, payment, confirmedPayment)],
      exceptions: []
    }
  }
  const isUnconfirmed = payment.status === "pending" || payment.status === "manual_retry"
  if (!isUnconfirmed || payment.metadata.quote === null) return noChange(state)
  // It was under way when what the invoice stands for ended.
  if (state.invoice.status === "canceled") return rejectLate(state, payment, confirmedPayment)
  return recompute(state, [{ ...confirmedPayment, status: "underpaid" }], "credit", now)
}

/** Confirmed money that can no longer count: the exception asks for a decision, and a refund may give it back. */
const rejectLate = (state: Aggregate, before: PaymentState, confirmedPayment: PaymentState): Step => {
  const payment: PaymentState = {
    ...confirmedPayment,
    status: "rejected",
    metadata: { ...confirmedPayment.metadata, exception: "late_payment" }
  }
  const exceptions = openException(state, {
    type: "late_payment",
    paymentId: payment.id,
    amount: payment.amount,
    evidence: evidenceOf(payment)
  })
  const events = [paymentUpdated(state.invoice, before, payment)]
  return { next: withExceptions(withPayment(state, payment), exceptions), events, exceptions }
}

const revert = (state: Aggregate, paymentId: string, now: number): Step => {
  const payment = paymentOf(state, paymentId)
  if (payment === undefined || payment.status === "reverted") return noChange(state)
  const revertedPayment: PaymentState = {
    ...payment,
    status: "reverted",
    confirmedAt: null,
    settlement: payment.settlement?.progress === "settled" ? payment.settlement : settlementAfterReorg(payment),
    metadata: { ...payment.metadata, confirmations: 0, block_number: null }
  }
  const exceptions = isCounted(payment.status)
    ? openException(state, { type: "reorged", paymentId, amount: payment.amount, evidence: evidenceOf(payment) })
    : []
  const step = recompute(state, [revertedPayment], "revert", now)
  return { ...step, next: withExceptions(step.next, exceptions), exceptions: [...exceptions, ...step.exceptions] }
}

const requireManualRetry = (state: Aggregate, paymentId: string, now: number): Step => {
  const payment = paymentOf(state, paymentId)
  const isActive = payment?.status === "pending" || (payment !== undefined && isCounted(payment.status))
  if (payment === undefined || !isActive) return noChange(state)
  return recompute(state, [{ ...payment, status: "manual_retry" }], "revert", now)
}

const tick = (before: Aggregate, progress: ScanProgress, now: number): Step => {
  const endNow = deadlineOf(before)
  if (endNow === null || now < endNow) return noChange(before)
  const unscanned = unscannedNetworks(before.invoice, progress, endNow)
  if (mustWaitForNetworks(unscanned, progress, endNow, now)) return noChange(before)
  const isFullyScanned = unscanned.length === 0 && progress.handling === "done"
  const unscannedException = isFullyScanned ? [] : openException(before, {
    type: "expiry_unseen",
    paymentId: null,
    amount: amountRemaining(before.invoice),
    evidence: {
      networks: unscanned.map(({ network }) => network).join(),
      seen_until: Math.min(...unscanned.map(({ seenUntil }) => seenUntil ?? 0), endNow),
      unhandled_transfers: progress.handling === "done" ? "no" : "yes"
    }
  })
  const state = withExceptions(before, unscannedException)
  const { invoice } = state
  if (invoice.status === "unpaid") {
    const step = recompute(state, [], "expire", now)
    return { ...step, exceptions: [...unscannedException, ...step.exceptions] }
  }
  const underpaidException = openException(state, {
    type: "underpaid_expired",
    paymentId: null,
    amount: invoice.amountPaid,
    evidence: { amount: usdWire(invoice.amount), amount_paid: usdWire(invoice.amountPaid) }
  })
  const next = withExceptions({ ...state, invoice: { ...invoice, graceEnded: true } }, underpaidException)
  return { next, events: [], exceptions: [...unscannedException, ...underpaidException] }
}

/**
 * When time ends the invoice's wait for funds, in epoch seconds: `expires_at` or the end of grace; null: it does not.
 */
const deadlineOf = (state: Aggregate): number | null => {
  const { expiresAt, graceEnded, policy, status } = state.invoice
  if (hasPending(state)) return null
  if (status === "unpaid") return expiresAt
  return status === "underpaid" && !graceEnded ? expiresAt + policy.underpaidGraceSeconds : null
}

/** The accepted networks that were not read up to its end; payments on other networks are rejected anyway. */
const unscannedNetworks = (
  { policy }: InvoiceState,
  { networks }: ScanProgress,
  end: number
): ReadonlyArray<NetworkCoverage> =>
  networks.filter(({ network, seenUntil }) =>
    (seenUntil === null || seenUntil < end) && (policy.acceptedNetworks?.includes(network) ?? true)
  )

/** Whether an end that has come waits: 24 h, or 7 days while its networks are being read and its transfers handled. */
const mustWaitForNetworks = (
  unscanned: ReadonlyArray<NetworkCoverage>,
  { handling }: ScanProgress,
  end: number,
  now: number
): boolean => {
  if (unscanned.length === 0 && handling === "done") return false
  const isCatchingUp = handling !== "failing" && unscanned.every(({ isAdvancing }) => isAdvancing)
  return now < end + (isCatchingUp ? catchUpSeconds : outageWaitSeconds)
}

/** Where money is real, only the clock ends an invoice. */
const end = (state: Aggregate, now: number): Step => {
  const { invoice } = state
  const isOpen = invoice.status === "unpaid" || invoice.status === "underpaid"
  if (!isOpen || invoice.environment !== "devnet") return noChange(state)
  const after: InvoiceState = { ...invoice, expiresAt: Math.min(invoice.expiresAt, now) }
  return { next: { ...state, invoice: after }, events: invoiceEvents(invoice, after, []), exceptions: [] }
}

/**
 * The settlement of a payment that comes back to its chain: money that was forwarded or refunded has gone and is not
 * moved again. What came straight from the payor must become final anew.
 */
const settlementAfterReorg = (payment: PaymentState | undefined): PaymentSettlement | null => {
  if (payment === undefined) return null
  const { refunded, settlement } = payment
  return refunded > 0n || (settlement?.progress === "settled" && settlement.txHash !== null) ? settlement : null
}

const applySettlement = (
  state: Aggregate,
  { needsOperator = false, paymentId, settlement }: Extract<Command, { _tag: "Settle" }>
): Step => {
  const payment = paymentOf(state, paymentId)
  if (payment === undefined || (settlement !== null && !isCounted(payment.status))) return noChange(state)
  const exceptions = needsOperator
    ? openException(state, {
      type: "settlement_failed",
      paymentId,
      amount: payment.amount,
      evidence: evidenceOf(payment)
    })
    : []
  const after: PaymentState = { ...payment, settlement }
  const event = paymentUpdated(state.invoice, payment, after)
  if (Object.keys(event.previousAttributes).length === 0) {
    return { next: withExceptions(state, exceptions), events: [], exceptions }
  }
  return { next: withExceptions(withPayment(state, after), exceptions), events: [event], exceptions }
}

/**
 * Tells of a refund, and ends an invoice that was never paid in full once nothing of it is left
 * (modules/docs/reference/invoices.md#canceling). Never more than what came: whoever refunds holds to that, and here it
 * is cut.
 */
const refund = (state: Aggregate, { paymentId, amount }: { paymentId: string; amount: UsdMillis }): Step => {
  const payment = paymentOf(state, paymentId)
  if (payment === undefined) return noChange(state)
  const refundable = payment.amount - payment.refunded
  const refundAmount = amount < refundable ? amount : refundable
  if (refundAmount <= 0n) return noChange(state)
  const refunded = usdMillis(payment.refunded + refundAmount)
  const settledAmount = payment.settlement?.progress === "settled" ? payment.settlement.settledAmount : null
  const rest = settledAmount === null ? payment.amount - refunded : settledAmount - refundAmount
  const net = usdMillis(rest > 0n ? rest : 0n)
  const after: PaymentState = {
    ...payment,
    refunded,
    settlement: {
      ...payment.settlement ?? refundOnlySettlement,
      status: refunded === payment.amount ? "refunded" : "partially_refunded",
      settledAmount: net
    }
  }
  const object = paymentObject(state.invoice, after)
  const event: EventDraft = {
    type: "invoice_payment.refunded",
    object,
    previousAttributes: previousAttributes(paymentObject(state.invoice, payment), object)
  }
  const next = withPayment(state, after)
  const isOver = state.invoice.status === "underpaid" && !hasPending(next) &&
    next.payments.every((each) => !isCounted(each.status) || each.refunded >= each.amount)
  if (!isOver) return { next, events: [event], exceptions: [] }
  const canceledInvoice: InvoiceState = { ...state.invoice, status: "canceled" }
  return {
    next: { ...next, invoice: canceledInvoice },
    events: [event, ...invoiceEvents(state.invoice, canceledInvoice, ["invoice.canceled"])],
    exceptions: []
  }
}

/** Where a refund was the first that anybody heard of a payment's money. */
const refundOnlySettlement: PaymentSettlement = {
  status: "refunded",
  stage: "final",
  progress: "settled",
  settledAmount: null,
  settledAt: null,
  id: null,
  txHash: null,
  network: null
}

/**
 * The invoice of an order ends with its order only, and then also where a part has come or is under way: the order's
 * refund gives back what came, and what is under way is late when it is confirmed. An invoice that a commerce key made
 * without an order ends as any other.
 */
const cancel = (state: Aggregate, byOrder: boolean): Step | Refusal => {
  const { invoice } = state
  const isOpen = invoice.status === "unpaid" || invoice.status === "expired" ||
    (byOrder && invoice.status === "underpaid")
  const isBlocked = !byOrder && (hasPending(state) || invoice.orderId !== null)
  if (!isOpen || isBlocked) return "not_cancelable"
  const after: InvoiceState = { ...invoice, status: "canceled" }
  return {
    next: { ...state, invoice: after },
    events: invoiceEvents(invoice, after, ["invoice.canceled"]),
    exceptions: []
  }
}

/** In any state: the notes are the merchant's, and no rule reads them. */
const amend = (
  state: Aggregate,
  change: { readonly metadata?: Metadata; readonly description?: string | null }
): Step => {
  const { invoice } = state
  const { description = invoice.details.description, metadata = invoice.metadata } = change
  const details = description === invoice.details.description ? invoice.details : { ...invoice.details, description }
  const after: InvoiceState = { ...invoice, metadata, details }
  return { next: { ...state, invoice: after }, events: invoiceEvents(invoice, after, []), exceptions: [] }
}

/**
 * Metadata after a change by key: null removes a key, and in place of the whole all of them; what is absent stays.
 *
 * @example
 * amendedMetadata({ a: 1, b: 2 }, { b: null, c: 3 }) // => { a: 1, c: 3 }
 */
export const mergeMetadata = (before: Metadata, change: Metadata | null): Metadata =>
  change === null
    ? {}
    : Object.fromEntries(Object.entries({ ...before, ...change }).filter(([name]) => change[name] !== null))

/** What caused the change: decides which specific event follows `invoice.updated`. */
type Trigger = "credit" | "revert" | "expire"

/**
 * Computes the invoice from its payments and the clock, moves counted payments to the status the invoice gives them,
 * and tells of everything that changed: the payments that caused it, the others, the invoice, the specific events.
 */
const recompute = (
  before: Aggregate,
  changedPayments: ReadonlyArray<PaymentState>,
  trigger: Trigger,
  now: number
): Step => {
  const withChanges = changedPayments.reduce(withPayment, before)
  const amountPaid = usdMillis(sumCounted(withChanges.payments))
  const status = statusOf(withChanges, amountPaid, trigger, now)
  const countedStatus: PaymentStatus = status === "paid" ? "confirmed" : "underpaid"
  const payments = withChanges.payments.map((payment) =>
    isCounted(payment.status) && payment.status !== countedStatus ? { ...payment, status: countedStatus } : payment
  )
  const newest = newestCountedPayment(payments)
  const invoice: InvoiceState = {
    ...before.invoice,
    status,
    amountPaid,
    payerWalletAddress: newest?.sender ?? null,
    payerWalletNetwork: newest?.network ?? null,
    lastPaymentAt: newest?.seenAt ?? null,
    paidAt: status === "paid" ? before.invoice.paidAt ?? now : null
  }
  const changedIds = new Set(changedPayments.map(({ id }) => id))
  const inOrder = [...payments].sort((a, b) => Number(changedIds.has(b.id)) - Number(changedIds.has(a.id)))
  const paymentEvents = inOrder.flatMap((payment) => {
    const previous = paymentOf(before, payment.id)
    return previous === undefined || previous === payment ? [] : [paymentUpdated(before.invoice, previous, payment)]
  })
  const excess = amountPaid - invoice.amount
  const exceptions = trigger === "credit" && excess > BigInt(invoice.policy.overpayTolerance)
    ? openException(before, {
      type: "overpaid",
      paymentId: null,
      amount: usdMillis(excess),
      evidence: { amount: usdWire(invoice.amount), amount_paid: usdWire(amountPaid) }
    })
    : []
  const specific = specificEvents(before.invoice, invoice, trigger)
  return {
    next: withExceptions({ ...before, invoice, payments }, exceptions),
    events: [...paymentEvents, ...invoiceEvents(before.invoice, invoice, specific)],
    exceptions
  }
}

const statusOf = (
  { invoice, payments }: Aggregate,
  amountPaid: UsdMillis,
  trigger: Trigger,
  now: number
): InvoiceStatus => {
  if (invoice.status === "canceled") return "canceled"
  if (amountPaid > 0n) return amountPaid >= invoice.amount - BigInt(invoice.policy.tolerance) ? "paid" : "underpaid"
  if (invoice.status === "expired" || trigger === "expire") return "expired"
  if (invoice.status === "unpaid") return "unpaid"
  return now >= invoice.expiresAt && !hasPending({ payments }) ? "expired" : "unpaid"
}

const specificEvents = (
  before: InvoiceState,
  after: InvoiceState,
  trigger: Trigger
): ReadonlyArray<EventType> => {
  if (trigger === "expire") return ["invoice.expired"]
  if (trigger === "revert") return []
  const over: ReadonlyArray<EventType> = after.amountPaid > after.amount ? ["invoice.overpaid"] : []
  if (after.status === "paid") return before.status === "paid" ? over : ["invoice.paid", ...over]
  return after.status === "underpaid" ? ["invoice.partial_payment"] : []
}

const sumCounted = (payments: ReadonlyArray<PaymentState>): bigint =>
  payments.reduce((sum, { status, amount }) => (isCounted(status) ? sum + amount : sum), 0n)

/** The last that was sent of those that count: it does not depend on the order in which they were confirmed. */
export const newestCountedPayment = (payments: ReadonlyArray<PaymentState>): PaymentState | undefined =>
  payments.filter(({ status }) => isCounted(status)).toSorted(bySeenAt).at(-1)

/** A payment under way holds back expiry and cancellation. */
export const hasPending = ({ payments }: Pick<Aggregate, "payments">): boolean =>
  payments.some(({ status }) => status === "pending" || status === "manual_retry")

/**
 * When time may next change the invoice, in epoch seconds; null while a pending payment holds its end. An end that
 * waits is decided again after as many seconds as its networks are behind, 1 to 60: by then a chain with a block every
 * 12 s has one more, and a network that is down costs one decision a minute.
 */
const nextDue = (state: Aggregate, now: number, progress: ScanProgress | undefined): number | null => {
  const end = deadlineOf(state)
  if (end === null || progress === undefined || now < end) return end
  const behind = unscannedNetworks(state.invoice, progress, end)
    .map(({ seenUntil }) => seenUntil === null ? recheckSeconds.most : now - seenUntil)
  const pause = Math.max(recheckSeconds.least, ...behind, ...(progress.handling === "done" ? [] : [now - end]))
  return now + Math.min(recheckSeconds.most, pause)
}

/**
 * The route the rest must be paid on: that of the first counted payment, while the invoice is `underpaid` under
 * `lock_route`.
 */
export const lockedRoute = (
  { invoice, payments }: Pick<Aggregate, "invoice" | "payments">
): { readonly network: Network; readonly tokenId: number } | null => {
  if (invoice.status !== "underpaid" || invoice.policy.partialPayment !== "lock_route") return null
  const [first] = payments.filter(({ status, tokenId }) => isCounted(status) && tokenId !== null)
    .toSorted(bySeenAt)
  return first === undefined ? null : { network: first.network, tokenId: first.tokenId! }
}

/**
 * Whether a payor may still be given an address: unpaid before its expiry, or underpaid in its grace
 * (modules/docs/reference/payor-sessions.md#payment-addresses). Addresses given earlier stay watched for ever.
 */
export const isPayable = (invoice: InvoiceState, now: number): boolean =>
  (invoice.status === "unpaid" && now < invoice.expiresAt) ||
  (invoice.status === "underpaid" && now < invoice.expiresAt + invoice.policy.underpaidGraceSeconds)

/** What is still to pay: 0 when paid, else max(0, amount - amount_paid). */
export const amountRemaining = ({ status, amount, amountPaid }: InvoiceState): UsdMillis =>
  status === "paid" || amountPaid >= amount ? usdMillis(0n) : usdMillis(amount - amountPaid)

const withPayment = (state: Aggregate, payment: PaymentState): Aggregate => ({
  ...state,
  payments: state.payments.some(({ id }) => id === payment.id)
    ? state.payments.map((each) => (each.id === payment.id ? payment : each))
    : [...state.payments, payment]
})

const exceptionKey = ({ type, paymentId }: Pick<ExceptionDraft, "type" | "paymentId">): string =>
  `${type}:${paymentId ?? ""}`

const openException = (state: Aggregate, draft: ExceptionDraft): ReadonlyArray<ExceptionDraft> =>
  state.openExceptions.has(exceptionKey(draft)) ? [] : [draft]

const withExceptions = (state: Aggregate, exceptions: ReadonlyArray<ExceptionDraft>): Aggregate =>
  exceptions.length === 0
    ? state
    : { ...state, openExceptions: new Set([...state.openExceptions, ...exceptions.map(exceptionKey)]) }

const evidenceOf = (payment: PaymentState): ExceptionDraft["evidence"] => ({
  network: payment.network,
  tx_hash: payment.txHash,
  token_id: payment.tokenId,
  token_amount: tokenAmount(payment)
})

const tokenAmount = ({ units, tokenDecimals }: PaymentState): string | null =>
  tokenDecimals === null ? null : formatUnits(units, tokenDecimals)

/** `invoice.updated`, then the specific events, all with the same previous attributes; nothing when nothing changed. */
const invoiceEvents = (
  before: InvoiceState,
  after: InvoiceState,
  specific: ReadonlyArray<EventType>
): ReadonlyArray<EventDraft> => {
  const object = invoiceObject(after)
  const previous = previousAttributes(invoiceObject(before), object)
  if (Object.keys(previous).length === 0) return []
  return (["invoice.updated", ...specific] as const).map((type) => ({ type, object, previousAttributes: previous }))
}

const paymentUpdated = (invoice: InvoiceState, before: PaymentState, after: PaymentState): EventDraft => {
  const object = paymentObject(invoice, after)
  return {
    type: "invoice_payment.updated",
    object,
    previousAttributes: previousAttributes(paymentObject(invoice, before), object)
  }
}

/** The invoice on the wire: exactly the fields of modules/docs/reference/invoices.md#fields, in their order. */
export const invoiceObject = (invoice: InvoiceState): WireObject => {
  const remaining = amountRemaining(invoice)
  return {
    id: invoice.id,
    object: "invoice",
    merchant_id: invoice.merchantId,
    status: invoice.status,
    invoice_type: invoice.type,
    currency: "usd",
    amount: usdWire(invoice.amount),
    amount_decimal: usdDecimal(invoice.amount),
    amount_paid: usdWire(invoice.amountPaid),
    amount_paid_decimal: usdDecimal(invoice.amountPaid),
    amount_remaining: usdWire(remaining),
    amount_remaining_decimal: usdDecimal(remaining),
    amount_unit: "usd_millis",
    customer_id: invoice.customerId,
    payer_wallet_address: invoice.payerWalletAddress,
    payer_wallet_network: invoice.payerWalletNetwork,
    commerce_order_id: invoice.orderId,
    environment: invoice.environment,
    expires_at: invoice.expiresAt,
    created_at: invoice.createdAt,
    paid_at: invoice.paidAt,
    last_payment_at: invoice.lastPaymentAt,
    metadata: invoice.metadata
  }
}

/** The payment on the wire, merchant's view (modules/docs/reference/payments.md#fields). */
export const paymentObject = (invoice: InvoiceState, payment: PaymentState): WireObject => ({
  id: payment.id,
  object: "invoice_payment",
  invoice_id: invoice.id,
  merchant_id: invoice.merchantId,
  invoice_type: invoice.type,
  environment: invoice.environment,
  customer_id: invoice.customerId,
  commerce_order_id: invoice.orderId,
  status: payment.status,
  network: payment.network,
  payer_tx_hash: payment.txHash,
  payer_wallet_address: payment.sender,
  payer_wallet_network: payment.sender === null ? null : payment.network,
  payer_amount_token: tokenAmount(payment),
  currency: "usd",
  amount: usdWire(payment.amount),
  amount_decimal: usdDecimal(payment.amount),
  amount_unit: "usd_millis",
  confirmed_at: payment.confirmedAt,
  ...settlementFields(wireSettlement(payment)),
  metadata: payment.metadata
})

/**
 * The settlement as it is published. While a payment is not on its chain, or not deep enough since it came back,
 * nothing of it is settled, also where the money was forwarded: otherwise sums of settled amounts exceed what was
 * received.
 */
export const wireSettlement = ({ settlement, status }: PaymentState): PaymentSettlement | null => {
  const isUnconfirmed = status === "reverted" || status === "pending"
  if (settlement === null || !isUnconfirmed) return settlement
  const wasRefunded = settlement.status === "partially_refunded" || settlement.status === "refunded"
  return {
    ...settlement,
    status: wasRefunded ? settlement.status : "failed",
    progress: "failed",
    settledAmount: usdMillis(0n),
    settledAt: null
  }
}

/** The six fields that only merchants see. `balance_transaction_id` is null while no ledger is loaded. */
const settlementFields = (settlement: PaymentSettlement | null) => ({
  settlement_status: settlement?.status ?? null,
  settled_amount: settlement?.settledAmount == null ? null : usdWire(settlement.settledAmount),
  settled_amount_decimal: settlement?.settledAmount == null ? null : usdDecimal(settlement.settledAmount),
  balance_transaction_id: null,
  settled_at: settlement?.settledAt ?? null,
  settlement: settlement === null ? null : {
    summary_status: settlement.status,
    stage: settlement.stage,
    merchant_settlement_id: settlement.id,
    settlement_tx_hash: settlement.txHash,
    network: settlement.network,
    status: settlement.progress
  }
})

/**
 * Invoices by how they stand and when they were created: counts, amounts and what was paid of them. Keys are
 * `<invoice_type>:<status>:<payer_wallet_network or nothing>`. For all time, by day, by hour and by quarter of an hour.
 */
export const invoiceStates: Rollup = {
  sum: "invoices.states",
  version: 1,
  object: "invoice",
  widths: [0, 86_400, 3_600, 900],
  contributions: (invoice) => [{
    at: invoice.created_at as number,
    key: `${invoice.invoice_type}:${invoice.status}:${invoice.payer_wallet_network ?? ""}`,
    count: 1,
    amount: BigInt(invoice.amount as number),
    amountPaid: BigInt(invoice.amount_paid as number)
  }]
}
