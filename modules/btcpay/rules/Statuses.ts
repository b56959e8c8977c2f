/**
 * The status that an invoice has for BTCPay Server's clients, and the webhooks that a change of it sends
 * (modules/docs/reference/btcpay.md#status). Pure.
 */
import { isCounted } from "../../../schemas/Payment.ts"
import { type Aggregate, hasPending, type PaymentState } from "../../invoices/plugin.ts"

export const shopStatuses = ["New", "Processing", "Settled", "Expired", "Invalid"] as const
export type ShopStatus = typeof shopStatuses[number]
export type AdditionalStatus = "None" | "Marked" | "PaidLate" | "PaidOver" | "PaidPartial"

export interface ShopState {
  readonly status: ShopStatus
  readonly additionalStatus: AdditionalStatus
}

/** What happened to the invoice before, where its status depends on that and the invoice does not say it. */
export interface ShopFlags {
  /** A webhook `InvoiceExpired` was sent. */
  readonly isExpirySent: boolean
  /** It was paid and then was not any more, because a payment left its chain. */
  readonly isReversed: boolean
  /** It is paid because the merchant accepted what had come. */
  readonly isMarked: boolean
}

export const noFlags: ShopFlags = { isExpirySent: false, isReversed: false, isMarked: false }

type Payable = Pick<Aggregate, "invoice" | "payments">

const isUnderWay = ({ status }: PaymentState): boolean => status === "pending" || status === "manual_retry"

/** usd_millis of the payments that count and of those on their way. */
const expectedAmount = ({ payments }: Payable): bigint =>
  payments.reduce((sum, { amount, status }) => isCounted(status) || status === "pending" ? sum + amount : sum, 0n)

const state = (status: ShopStatus, additionalStatus: AdditionalStatus): ShopState => ({ status, additionalStatus })

/** The first row that fits in modules/docs/reference/btcpay.md#status. */
export const stateOf = (current: Payable, { isExpirySent, isMarked, isReversed }: ShopFlags): ShopState => {
  const { amount, amountPaid, policy, status } = current.invoice
  if (status === "canceled") return state("Invalid", "Marked")
  if (status === "paid") {
    if (isMarked) return state("Settled", "Marked")
    if (isExpirySent) return state("Expired", "PaidLate")
    return state("Settled", amountPaid > amount ? "PaidOver" : "None")
  }
  if (isReversed) return state("Invalid", "None")
  if (status === "expired" || isExpirySent) return state("Expired", amountPaid > 0n ? "PaidPartial" : "None")
  const expected = expectedAmount(current)
  if (expected > 0n && expected >= amount - BigInt(policy.tolerance)) {
    return state("Processing", expected > amount ? "PaidOver" : "None")
  }
  return state("New", expected > 0n || hasPending(current) ? "PaidPartial" : "None")
}

const wasAccepted = (before: Aggregate, after: Aggregate): boolean =>
  after.exceptions.some(({ id, resolution }) =>
    resolution?.action === "accept" && before.exceptions.find((each) => each.id === id)?.resolution?.action !== "accept"
  )

/** Whether the change ends the time of the invoice. */
const endsTime = (flags: ShopFlags, before: Aggregate, after: Aggregate): boolean => {
  if (flags.isExpirySent || flags.isReversed || before.invoice.status === "paid") return false
  const isGraceOver = after.invoice.status === "underpaid" && after.invoice.graceEnded && !before.invoice.graceEnded
  return isGraceOver || (after.invoice.status === "expired" && before.invoice.status !== "expired")
}

/** The flags after a change. */
export const flagsAfter = (flags: ShopFlags, before: Aggregate, after: Aggregate): ShopFlags => {
  const isPaid = after.invoice.status === "paid"
  const wasPaid = before.invoice.status === "paid"
  return {
    isExpirySent: flags.isExpirySent || endsTime(flags, before, after),
    isReversed: flags.isReversed || (wasPaid && !isPaid && after.invoice.status !== "canceled"),
    isMarked: isPaid && (flags.isMarked || (!wasPaid && wasAccepted(before, after)))
  }
}

/** A webhook of a change: its type, and the fields that only this type has. */
export type ShopEvent =
  | { readonly type: "InvoiceCreated" }
  | {
    readonly type: "InvoiceReceivedPayment" | "InvoicePaymentSettled"
    readonly afterExpiration: boolean
    readonly payment: PaymentState
  }
  | { readonly type: "InvoiceProcessing"; readonly overPaid: boolean }
  | { readonly type: "InvoiceSettled"; readonly manuallyMarked: boolean; readonly overPaid: boolean }
  | { readonly type: "InvoicePaidAfterExpiration" }
  | { readonly type: "InvoiceExpired"; readonly partiallyPaid: boolean }
  | { readonly type: "InvoiceInvalid"; readonly manuallyMarked: boolean }

const isPaidState = ({ additionalStatus, status }: ShopState): boolean =>
  status === "Settled" || additionalStatus === "PaidLate"

/** The invoice and its flags before a change, and after it. */
export interface ShopChange {
  readonly before: Aggregate
  readonly after: Aggregate
  readonly flags: ShopFlags
}

/** The webhooks of a change, in the order in which they are sent. */
export const eventsOf = ({ after, before, flags }: ShopChange): ReadonlyArray<ShopEvent> => {
  const nextFlags = flagsAfter(flags, before, after)
  const from = stateOf(before, flags)
  const to = stateOf(after, nextFlags)
  const previousOf = ({ id }: PaymentState) => before.payments.find((each) => each.id === id)
  const isAccepted = ({ status }: PaymentState) => status !== "rejected" && status !== "reverted"
  const afterExpiration = flags.isExpirySent
  const received = after.payments.filter((payment) => {
    const previous = previousOf(payment)
    return isAccepted(payment) && (previous === undefined || previous.status === "rejected")
  })
  const settled = after.payments.filter((payment) => {
    const previous = previousOf(payment)
    return isCounted(payment.status) && (previous === undefined || isUnderWay(previous) || !isAccepted(previous))
  })
  const events: Array<ShopEvent> = []
  for (const payment of received) events.push({ type: "InvoiceReceivedPayment", afterExpiration, payment })
  const isProcessed = to.status === "Processing" ? from.status !== "Processing" : to.status === "Settled" &&
    from.status !== "Processing" && from.status !== "Settled"
  if (isProcessed) events.push({ type: "InvoiceProcessing", overPaid: to.additionalStatus === "PaidOver" })
  for (const payment of settled) events.push({ type: "InvoicePaymentSettled", afterExpiration, payment })
  if (to.status === "Settled" && from.status !== "Settled") {
    events.push({
      type: "InvoiceSettled",
      manuallyMarked: to.additionalStatus === "Marked",
      overPaid: to.additionalStatus === "PaidOver"
    })
  }
  if (to.additionalStatus === "PaidLate" && from.additionalStatus !== "PaidLate") {
    events.push({ type: "InvoicePaidAfterExpiration" })
  }
  if (endsTime(flags, before, after)) {
    events.push({ type: "InvoiceExpired", partiallyPaid: after.invoice.amountPaid > 0n })
  }
  if (after.invoice.status === "canceled" && before.invoice.status !== "canceled") {
    events.push({ type: "InvoiceInvalid", manuallyMarked: true })
  } else if (isPaidState(from) && after.invoice.status !== "paid" && after.invoice.status !== "canceled") {
    events.push({ type: "InvoiceInvalid", manuallyMarked: false })
  }
  return events
}
