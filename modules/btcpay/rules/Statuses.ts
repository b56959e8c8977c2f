/**
 * What BTCPay Server would call an invoice, and which webhooks a change of it sends: by what was told of it before.
 * Pure.
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

/** What the state depends on beside the invoice as it is. */
export interface ShopFlags {
  /** The shop was told that its time is over. */
  readonly toldExpired: boolean
  /** It was paid, and then no more: a payment has left its chain. */
  readonly reversed: boolean
  /** It is paid because the merchant accepted what had come. */
  readonly marked: boolean
}

export const noFlags: ShopFlags = { toldExpired: false, reversed: false, marked: false }

type Payable = Pick<Aggregate, "invoice" | "payments">

const isUnderWay = ({ status }: PaymentState): boolean => status === "pending" || status === "manual_retry"

/** usd_millis of what counts and of what is on its way. */
const expectedAmount = ({ payments }: Payable): bigint =>
  payments.reduce((sum, { amount, status }) => isCounted(status) || status === "pending" ? sum + amount : sum, 0n)

const state = (status: ShopStatus, additionalStatus: AdditionalStatus): ShopState => ({ status, additionalStatus })

/** The first line that fits. */
export const stateOf = (current: Payable, { marked, reversed, toldExpired }: ShopFlags): ShopState => {
  const { amount, amountPaid, policy, status } = current.invoice
  if (status === "canceled") return state("Invalid", "Marked")
  if (status === "paid") {
    if (marked) return state("Settled", "Marked")
    if (toldExpired) return state("Expired", "PaidLate")
    return state("Settled", amountPaid > amount ? "PaidOver" : "None")
  }
  if (reversed) return state("Invalid", "None")
  if (status === "expired" || toldExpired) return state("Expired", amountPaid > 0n ? "PaidPartial" : "None")
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
  if (flags.toldExpired || flags.reversed || before.invoice.status === "paid") return false
  const isGraceOver = after.invoice.status === "underpaid" && after.invoice.graceEnded && !before.invoice.graceEnded
  return isGraceOver || (after.invoice.status === "expired" && before.invoice.status !== "expired")
}

/** The flags after a change. */
export const flagsAfter = (flags: ShopFlags, before: Aggregate, after: Aggregate): ShopFlags => {
  const isPaid = after.invoice.status === "paid"
  const wasPaid = before.invoice.status === "paid"
  return {
    toldExpired: flags.toldExpired || endsTime(flags, before, after),
    reversed: flags.reversed || (wasPaid && !isPaid && after.invoice.status !== "canceled"),
    marked: isPaid && (flags.marked || (!wasPaid && wasAccepted(before, after)))
  }
}

/** A webhook of a change: its type, and what stands beside the fields that all have. */
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

/** Names of all webhooks, as endpoints select them. */
export const shopEventTypes = [
  "InvoiceCreated",
  "InvoiceReceivedPayment",
  "InvoiceProcessing",
  "InvoicePaymentSettled",
  "InvoiceSettled",
  "InvoicePaidAfterExpiration",
  "InvoiceExpired",
  "InvoiceInvalid"
] as const

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
  const afterExpiration = flags.toldExpired
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
