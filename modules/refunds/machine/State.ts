/** The refund as it is kept, what can happen to it, and which money of an invoice is there to be given back. */
import type { InvoiceId } from "../../../schemas/Ids.ts"
import type { BaseUnits, UsdMillis } from "../../../schemas/Money.ts"
import type { Environment, Network } from "../../../schemas/Network.ts"
import { isCounted } from "../../../schemas/Payment.ts"
import type { RefundQuote, RefundReason, RefundStatus } from "../../../schemas/Refund.ts"
import type { Aggregate, Command, PaymentState } from "../../invoices/plugin.ts"

/** Where a refund goes; the address in the form `readAddress` gives. */
export interface Destination {
  readonly network: Network
  readonly address: string
  readonly memo: string | null
}

/** What is paid out: so many base units of this token. */
export interface Payout {
  readonly token: { readonly id: number; readonly symbol: string; readonly decimals: number }
  readonly units: BaseUnits
}

/** The fee a payor was told, and the last second it is honoured. */
export interface FeeQuote {
  readonly network: Network
  readonly fee: UsdMillis
  readonly validUntil: number
}

export interface RefundState {
  readonly id: string
  readonly merchantId: number
  readonly environment: Environment
  readonly version: number
  readonly invoiceId: InvoiceId
  /** Null: of whatever was received, the oldest payment first. */
  readonly paymentId: string | null
  /** `late`: of payments that came too late to count; `all`: of every payment. */
  readonly source: RefundSource
  readonly status: RefundStatus
  readonly amount: UsdMillis
  /** usd_millis kept of the amount for the payout; 0 until the network is known. */
  readonly fee: UsdMillis
  /** It costs the payor nothing. */
  readonly feeFree: boolean
  /** The last one that the payor was given; it may have ended. */
  readonly feeQuote: FeeQuote | null
  readonly destination: Destination | null
  readonly token: Payout["token"] | null
  /** Base units, worked out when it was approved, or tried again. */
  readonly tokenAmount: BaseUnits | null
  readonly txHash: string | null
  readonly reason: RefundReason
  readonly failureCode: string | null
  /** Epoch seconds, as all times here. */
  readonly createdAt: number
  readonly updatedAt: number
  /** When the clock may change it; null: never by the clock alone. */
  readonly dueAt: number | null
}

export type RefundSource = "all" | "late"

export type RefundCommand =
  /** `quote`: what the payor was told it would cost; the fee of one that has not ended is honoured. */
  | { readonly _tag: "SetDestination"; readonly destination: Destination; readonly quote?: RefundQuote | null }
  /** It may be paid out. */
  | { readonly _tag: "Approve" }
  /** Its payout is sent. */
  | { readonly _tag: "Submit"; readonly txHash: string }
  /** Its payout is final. */
  | { readonly _tag: "Succeed"; readonly txHash: string }
  /** Nothing was paid out. */
  | { readonly _tag: "Fail"; readonly code: string }
  /** To be paid out once more, at the price now. */
  | { readonly _tag: "Retry" }
  | { readonly _tag: "Cancel" }
  /** The clock may have ended it. */
  | { readonly _tag: "Expire" }

/** What a decision depends on beside the refund and the command. */
export interface RefundContext {
  readonly now: number
  readonly invoice: Aggregate
  /** All refunds of the invoice, this one among them or not. */
  readonly refunds: ReadonlyArray<RefundState>
  /** What paying out on a network costs, where nothing was quoted. */
  readonly fees: Fees
}

export type Fees = Readonly<Record<Network, UsdMillis>>

/** A refund as it will be, and what must be stored with it. */
export interface RefundDecision {
  readonly next: RefundState
  /** For the invoice: which payment gives how much. */
  readonly commands: ReadonlyArray<Command>
}

/** Seconds a refund waits for a destination (modules/docs/reference/refunds.md#states): 30 days. */
export const destinationSeconds = 30 * 86_400

/** Came too late to count, but is there: it can be given back. */
export const isLate = ({ metadata, status }: PaymentState): boolean =>
  status === "rejected" && metadata.exception === "late_payment"

/** Whether a payment's money is there. */
export const isReceived = (payment: PaymentState): boolean => isCounted(payment.status) || isLate(payment)

/** Whether it is there to stay: what came too late is told of before it is deep in the chain. */
export const isConfirmed = (payment: PaymentState): boolean => isReceived(payment) && payment.confirmedAt !== null

/** Refunds that still stand for money, paid or to be paid. */
export const isActive = ({ status }: Pick<RefundState, "status">): boolean =>
  status !== "canceled" && status !== "expired"

/** Neither paid nor over. */
export const isOpen = (refund: RefundState): boolean => isActive(refund) && refund.status !== "succeeded"
