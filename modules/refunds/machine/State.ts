/** The refund as it is kept, what can happen to it, and which money of an invoice is there to be given back. */
import type { PersonApproval } from "../../../schemas/Approval.ts"
import type { InvoiceId } from "../../../schemas/Ids.ts"
import type { BaseUnits, UsdMillis } from "../../../schemas/Money.ts"
import type { Environment, Network } from "../../../schemas/Network.ts"
import { isCounted } from "../../../schemas/Payment.ts"
import {
  type FeeBearer,
  type RefundQuote,
  type RefundReason,
  type RefundStatus,
  revertedCode
} from "../../../schemas/Refund.ts"
import { type Aggregate, type Command, isLate, isReceived, type PaymentState } from "../../invoices/plugin.ts"

export { isLate, isReceived }

/** Where a refund goes; the address in the form `readAddress` gives. */
export interface Destination {
  readonly network: Network
  readonly address: string
  readonly memo: string | null
}

/** What is paid out: so many base units of this token. A token that is not in the catalogue has no id. */
export interface Payout {
  readonly token: {
    readonly id: number | null
    readonly symbol: string
    readonly decimals: number
    /** Its contract; null for the network's own coin. Absent: the terms of the refund say it. */
    readonly address?: string | null
  }
  readonly units: BaseUnits
}

/** Somebody who said that a refund may be paid out. */
export type Approval = PersonApproval

/** What a merchant's rules ask of an act. They are kept with it, so that nobody loosens them for what is open. */
export interface ApprovalRules {
  /** People who must approve what is above the limit. */
  readonly people: number
  /** Up to it one approver is enough. */
  readonly autoApproveLimit: UsdMillis
}

/**
 * A refund of one payment, or of money that pays no invoice, fixed in the token that came: its merchant asked for it.
 * Refunds of orders have none of this: they are fixed in dollars.
 */
export interface RefundTerms {
  /** The money's: a refund goes back on the network on which it came. */
  readonly network: Network
  /** Null for the network's own coin. */
  readonly tokenAddress: string | null
  /** Base units of the money that are given back, the fee among them. */
  readonly units: BaseUnits
  readonly feeBearer: FeeBearer
  /** Base units of them that are kept for the payout, rounded up. */
  readonly feeUnits: BaseUnits
  /** It waits for its claim link, also where the payor said before where refunds may go. */
  readonly isClaimOnly: boolean
  /** Of (id, units, network, destination) as they are: another destination has none. */
  readonly approvals: ReadonlyArray<Approval>
  /** The merchant's rules when it was opened, which it keeps; absent: they were not kept then. */
  readonly rules?: ApprovalRules
  /** The exception that it decides; null: none. */
  readonly exceptionId: string | null
  /** Of money that pays no invoice: the transaction that brought it. Absent: a payment has it. */
  readonly receivedTxHash?: string | null
}

/** The fee a payor was told, and the last second it is honoured. */
export interface FeeQuote {
  readonly network: Network
  readonly fee: UsdMillis
  readonly validUntil: number
}

/** The link by which a payor says where a refund goes. Whoever has its token may, so only a hash of it is kept. */
export interface Claim {
  /** SHA-256 of the token, hex. */
  readonly hash: string
  /** Wrong tokens that were tried. */
  readonly wrong: number
  /** `used`: the destination is known, and the link only shows what became of the refund. `ended`: it opens nothing. */
  readonly status: "open" | "used" | "ended"
}

/** The batch that pays a refund: nothing else may. */
export interface RefundBatch {
  readonly id: string
  /** A wallet was given it, and may pay at any time. */
  readonly isOut: boolean
}

export interface RefundState {
  readonly id: string
  readonly merchantId: number
  readonly environment: Environment
  readonly version: number
  /** Null: of money that pays no invoice, which is that of the exception of its terms. */
  readonly invoiceId: InvoiceId | null
  /** Null: of whatever was received, the oldest payment first. */
  readonly paymentId: string | null
  /** Null for a refund of an order. */
  readonly terms: RefundTerms | null
  /** Null: there is no link. */
  readonly claim: Claim | null
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
  /** Base units to be sent, worked out when it was approved, or tried again. */
  readonly tokenAmount: BaseUnits | null
  readonly txHash: string | null
  /** The balance transaction that sets its money apart; null or absent: no ledger was kept then. */
  readonly balanceTransactionId?: string | null
  /** Null or absent: it is in no batch that is open. */
  readonly batch?: RefundBatch | null
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
  /** It may be paid out. `approval`: who says so, and how many people must, for a refund that a merchant asked for. */
  | { readonly _tag: "Approve"; readonly approval?: Approval; readonly required?: number }
  /** Its payout is sent. */
  | { readonly _tag: "Submit"; readonly txHash: string }
  /**
   * Its payout is final. `isProven`: its transfer was found on the chain, so it is a fact whatever was said before.
   * `batchId`: of the batch that paid it; absent: none did.
   */
  | { readonly _tag: "Succeed"; readonly txHash: string; readonly isProven?: boolean; readonly batchId?: string }
  /** Nothing was paid out, or by its batch something else than it should. */
  | { readonly _tag: "Fail"; readonly code: string; readonly batchId?: string }
  /** To be paid out once more, at the price now. */
  | { readonly _tag: "Retry" }
  | { readonly _tag: "Cancel" }
  /** The clock may have ended it. */
  | { readonly _tag: "Expire" }
  /** It has another claim link from now on. */
  | { readonly _tag: "RenewClaim"; readonly hash: string }
  /** Somebody tried its claim link with another token. */
  | { readonly _tag: "CountWrongToken" }

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
  /** The exception that it decided and that waits for a decision again; absent: none. */
  readonly reopenedException?: ReopenedException | undefined
}

/** `otherRefundsAmount`: usd_millis that other refunds of the same decision still give back. */
export interface ReopenedException {
  readonly exceptionId: string
  readonly otherRefundsAmount: UsdMillis
}

/** Seconds a refund waits for a destination (modules/docs/reference/refunds.md#states): 30 days. */
export const destinationSeconds = 30 * 86_400

/** Whether it is there to stay: what came too late is told of before it is deep in the chain. */
export const isConfirmed = (payment: PaymentState): boolean => isReceived(payment) && payment.confirmedAt !== null

/** Whether a payment's money is there to stay, whether it counts or not. */
export const isRefundable = ({ confirmedAt, status }: Pick<PaymentState, "confirmedAt" | "status">): boolean =>
  confirmedAt !== null && (isCounted(status) || status === "rejected")

/** Whether it failed for good: its payment left the chain before anything was sent. It only waits to be canceled. */
export const isLost = (
  { failureCode, status, terms }: Pick<RefundState, "failureCode" | "status" | "terms">
): boolean => terms !== null && status === "failed" && failureCode === revertedCode

/** Refunds that still stand for money, paid or to be paid. */
export const isActive = ({ status }: Pick<RefundState, "status">): boolean =>
  status !== "canceled" && status !== "expired"

/** Neither paid nor over. */
export const isOpen = (refund: RefundState): boolean => isActive(refund) && refund.status !== "succeeded"
