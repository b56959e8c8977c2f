/** The invoice and its payments as they are kept, what can happen to them, and the facts that every rule asks for. */
import type { NetworkCoverage } from "../../../runtime/Chains.ts"
import type { EventDraft } from "../../../schemas/Event.ts"
import type { InvoiceId } from "../../../schemas/Ids.ts"
import type { InvoiceStatus, InvoiceType, Metadata } from "../../../schemas/Invoice.ts"
import type { ExceptionResolution } from "../../../schemas/Exception.ts"
import type { LatePaymentPolicy, PartialPaymentPolicy } from "../../../schemas/MerchantSettings.ts"
import { type UsdMillis, usdMillis } from "../../../schemas/Money.ts"
import type { ConfirmationPolicy, Environment, Network } from "../../../schemas/Network.ts"
import type { HashOf } from "../../../schemas/PersonalData.ts"
import {
  type ExceptionStatus,
  type ExceptionType,
  isCounted,
  type PaymentException,
  type PaymentExceptionType,
  type PaymentMetadata,
  type PaymentStatus,
  type SettlementProgress,
  type SettlementStage,
  type SettlementStatus
} from "../../../schemas/Payment.ts"

/** Merchant policy as it stood when the invoice was created: later changes of settings touch later invoices only. */
export interface InvoicePolicy {
  /** usd_millis an invoice may be short and still count as paid; see `toleranceOf`. */
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
  /** usd_millis that the merchant waived when they accepted what had come; 0: nothing. */
  readonly acceptedShortfall: UsdMillis
  /** Refunds that are neither paid nor over; absent: none. */
  readonly openRefunds?: ReadonlyArray<OpenRefund>
  /** Set once `underpaid_expired` was opened, so that it opens once. */
  readonly graceEnded: boolean
  /** Epoch seconds at which the clock may change the invoice; null: never by the clock alone. */
  readonly dueAt: number | null
}

/** Money of an invoice on its way back. Refunds are another module's: this is what their amounts depend on here. */
export interface OpenRefund {
  readonly id: string
  /** Null: of whatever was received, as `divideRefund` divides it. */
  readonly paymentId: string | null
  readonly source: "all" | "late"
  /** usd_millis */
  readonly amount: UsdMillis
  /** Its payout is under way, so the money goes also where its payment leaves the chain. */
  readonly isSent: boolean
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

/** System-owned metadata as it is kept: `exception` is why the payment is refused, whatever became of its exception. */
export type KeptMetadata = Omit<PaymentMetadata, "exception"> & { readonly exception: PaymentExceptionType | null }

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
   * `wireSettlement`.
   */
  readonly settlement: PaymentSettlement | null
  /** usd_millis of it that were refunded. */
  readonly refunded: UsdMillis
  /** Fingerprint of the wallet that received it (`runtime/Chains.ts`); null or absent: not known. */
  readonly wallet?: string | null
  /**
   * The balance transaction that has its money where it is now; it is told once the payment is deep enough. Null or
   * absent: no ledger is kept.
   */
  readonly balanceTransactionId?: string | null
  readonly metadata: KeptMetadata
  /** What its metadata publishes of its exceptions: one that is open, else the last that was resolved; null: none. */
  readonly exception: PaymentException | null
}

/** Why an exception opens: what waits for someone's decision, and what shows it. */
export interface ExceptionDraft {
  readonly type: ExceptionType
  readonly paymentId: string | null
  readonly amount: UsdMillis
  readonly evidence: Readonly<Record<string, string | number | null>>
}

/** An exception as it is kept; at most one per (type, payment) is open. */
export interface ExceptionState extends ExceptionDraft {
  /** `exc_<uuid>` */
  readonly id: string
  readonly version: number
  readonly status: ExceptionStatus
  readonly createdAt: number
  /** Epoch seconds; null while it is open. */
  readonly resolvedAt: number | null
  /** Who decided what; null while it is open, and where what it was about went away by itself. */
  readonly resolution: ExceptionResolution | null
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
  /** All of the invoice, open and resolved, the first one first. */
  readonly exceptions: ReadonlyArray<ExceptionState>
}

/** A transfer as the payments module judged it, before it has a status. */
export type IncomingTransfer = Omit<
  PaymentState,
  | "version"
  | "ordinal"
  | "status"
  | "confirmedAt"
  | "createdAt"
  | "settlement"
  | "refunded"
  | "balanceTransactionId"
  | "exception"
>

export type Command =
  /**
   * A transfer is in a block. `metadata.exception` set: it is not accepted, for that reason. `isAssigned`: a person
   * gave it to this invoice, so it counts whatever the rules say.
   */
  | { readonly _tag: "Observe"; readonly transfer: IncomingTransfer; readonly isAssigned?: boolean }
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
    /** It is only noted in which settlement it was before, so nothing is published. */
    readonly isSilent?: boolean
  }
  /**
   * The ledger has booked where its money is now; null: nowhere. `isSilent`: it is only noted what was there before, so
   * nothing is published.
   */
  | {
    readonly _tag: "Book"
    readonly paymentId: string
    readonly balanceTransactionId: string | null
    readonly isSilent?: boolean
  }
  /**
   * A person's decision on one of its exceptions. `part`: on so much of what is too much, less than all of it; that is
   * an exception of its own then, with this id, and the rest waits on.
   */
  | {
    readonly _tag: "Resolve"
    readonly exceptionId: string
    readonly resolution: ExceptionResolution
    readonly part?: { readonly id: string; readonly amount: UsdMillis }
  }
  /**
   * So much of the invoice is on its way back by this refund; with the amount 0 nothing is any more, because it is paid
   * or given up. `reopenedException`: the exception that it decided waits for a decision again. `otherRefundsAmount`:
   * usd_millis that other refunds of the same decision still give back, so that only the rest waits.
   */
  | {
    readonly _tag: "TrackRefund"
    readonly refund: OpenRefund
    readonly reopenedException?: { readonly exceptionId: string; readonly otherRefundsAmount: UsdMillis }
  }
  /**
   * A refund of so many usd_millis of the payment has reached the payor. `isWhole`, where its units are known: whether
   * all of them have now; absent: the dollars tell, and without any nothing happened.
   */
  | { readonly _tag: "Refund"; readonly paymentId: string; readonly amount: UsdMillis; readonly isWhole?: boolean }
  /**
   * `byOrder`: the order that the invoice is for ends too, in the same commit; only then a commerce invoice can be
   * canceled.
   */
  | { readonly _tag: "Cancel"; readonly byOrder?: boolean }
  /** The merchant's own notes; what is absent stays. */
  | { readonly _tag: "Amend"; readonly metadata?: Metadata; readonly description?: string | null }
  /** The customer's personal data goes; `hashOf` gives what stands in its place. */
  | { readonly _tag: "Erase"; readonly hashOf: HashOf }

/** What to commit: the invoice row, the changed payments and exceptions as they will be, and the events in order. */
export interface Decision {
  readonly next: Aggregate
  readonly changedPayments: ReadonlyArray<PaymentState>
  readonly changedExceptions: ReadonlyArray<ExceptionState>
  readonly events: ReadonlyArray<EventDraft>
}

/** The command does not fit the state; only `Cancel` can be refused. */
export type Refusal = "not_cancelable"

export interface Step {
  readonly next: Aggregate
  readonly events: ReadonlyArray<EventDraft>
}

export const noChange = (state: Aggregate): Step => ({ next: state, events: [] })

export const paymentOf = (state: Pick<Aggregate, "payments">, id: string): PaymentState | undefined =>
  state.payments.find((payment) => payment.id === id)

export const withPayment = (state: Aggregate, payment: PaymentState): Aggregate => ({
  ...state,
  payments: state.payments.some(({ id }) => id === payment.id)
    ? state.payments.map((each) => (each.id === payment.id ? payment : each))
    : [...state.payments, payment]
})

/** The order in which payments are listed: the last that was recorded first. */
export const newestFirst = (payments: ReadonlyArray<PaymentState>): ReadonlyArray<PaymentState> =>
  payments.toSorted((a, b) => b.ordinal - a.ordinal)

/** The order in which payors sent them: by the time they were seen, and as they were recorded within one second. */
export const bySeenAt = (a: PaymentState, b: PaymentState): number => a.seenAt - b.seenAt || a.ordinal - b.ordinal

/** The last that was sent of those that count: it does not depend on the order in which they were confirmed. */
export const newestCountedPayment = (payments: ReadonlyArray<PaymentState>): PaymentState | undefined =>
  payments.filter(({ status }) => isCounted(status)).toSorted(bySeenAt).at(-1)

/** A payment under way holds back expiry and cancellation. */
export const hasPending = ({ payments }: Pick<Aggregate, "payments">): boolean =>
  payments.some(({ status }) => status === "pending" || status === "manual_retry")

/**
 * The route the rest must be paid on: that of the first counted payment, while the invoice is `underpaid` under
 * `lock_route`.
 */
export const lockedRoute = (
  { exceptions, invoice, payments }: Pick<Aggregate, "exceptions" | "invoice" | "payments">
): { readonly network: Network; readonly tokenId: number } | null => {
  if (invoice.status !== "underpaid" || invoice.policy.partialPayment !== "lock_route") return null
  const accepted = new Set(
    exceptions.flatMap(({ paymentId, resolution }) =>
      resolution?.action === "accept" && paymentId !== null ? [paymentId] : []
    )
  )
  const { acceptedNetworks } = invoice.policy
  // What a person accepted may have come by a route that the invoice refuses: nobody could complete it there.
  const [first] = payments.filter(({ id, network, status, tokenId }) =>
    isCounted(status) && tokenId !== null && !accepted.has(id) && (acceptedNetworks?.includes(network) ?? true)
  ).toSorted(bySeenAt)
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
