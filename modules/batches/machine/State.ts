/** The batch as it is kept: parts that are signed, lines that are paid, people who said so. */
import type { PayoutExport, PayoutSearch, PayoutTransfer } from "../../../runtime/Payouts.ts"
import type { PersonApproval } from "../../../schemas/Approval.ts"
import type { BatchKind, BatchLineStatus, BatchPartStatus } from "../../../schemas/Batch.ts"
import type { Metadata } from "../../../schemas/Invoice.ts"
import type { BaseUnits, UsdMillis } from "../../../schemas/Money.ts"
import type { Environment, Network } from "../../../schemas/Network.ts"

/** Somebody who said that the batch may be paid. */
export type Approval = PersonApproval

/** Somebody's statement that a list will not be paid any more. */
export interface ReleaseStatement extends Approval {
  readonly note: string
}

/** What is given to a wallet, without its bytes: those are kept apart, as they are. */
export interface PartExport extends Omit<PayoutExport, "payload"> {
  /** Counts the exports of the part from 1. */
  readonly attempt: number
  readonly exportedAt: number
}

/** A transfer of a network, by its transaction and its place there. */
export interface TransferName {
  readonly txHash: string
  readonly index: number
}

export interface PartState {
  /** 1 or more. */
  readonly part: number
  readonly status: BatchPartStatus
  /** The last one; null: it was never given out. */
  readonly export: PartExport | null
  /** Blocks up to there were searched for it, and are final; null: it was never given out. */
  readonly searchedTo: bigint | null
  /** A transaction that somebody said has executed it. */
  readonly hint: string | null
  /** The transaction that executed it, the first of several. */
  readonly txHash: string | null
  /** What the network took, in base units of its coin. */
  readonly fee: BaseUnits | null
  /** Transfers that should not be there and are not final: each has an exception that closes where they go away. */
  readonly unexpected: ReadonlyArray<TransferName>
  /** Whether it can still be executed, once more too, so that the chain must be looked at. */
  readonly isWatched: boolean
  /** Epoch seconds of the merchant's clock at which the chain is searched for it next, while it is watched. */
  readonly checkAt: number | null
  /** Of people who want it released. */
  readonly releases: ReadonlyArray<ReleaseStatement>
}

/** The forwarder that a line of a collect empties. */
export interface LineSource {
  readonly address: string
  readonly salt: string
  /** Of the final block at which its balance was read. */
  readonly height: bigint
}

export interface LineState {
  /** Its place in the batch, 1 or more. */
  readonly line: number
  readonly part: number
  readonly version: number
  readonly status: BatchLineStatus
  readonly tokenId: number | null
  readonly symbol: string
  readonly decimals: number
  /** Null: the network's own coin. */
  readonly tokenAddress: string | null
  readonly units: BaseUnits
  /** What it is worth: of a refund as it was received, of a payout as it was priced when the batch was made. */
  readonly amount: UsdMillis
  readonly destination: { readonly address: string; readonly memo: string | null }
  readonly source: LineSource | null
  readonly reference: string
  readonly refundId: string | null
  readonly txHash: string | null
  /** {@link PayoutTransfer.index} of the transfer that pays it. */
  readonly transferIndex: number | null
}

export interface BatchState {
  readonly id: string
  readonly merchantId: number
  readonly environment: Environment
  readonly version: number
  readonly kind: BatchKind
  readonly network: Network
  /** Null only for a collect. */
  readonly from: string | null
  readonly validForSeconds: number
  readonly metadata: Metadata
  /** What people approve: SHA-256, hex. */
  readonly contentHash: string
  readonly approvalsRequired: number
  readonly approvals: ReadonlyArray<Approval>
  /** Nothing of it is given out any more. */
  readonly isCanceled: boolean
  /** The same, because nobody gave it out in time. */
  readonly isExpired: boolean
  readonly parts: ReadonlyArray<PartState>
  readonly lines: ReadonlyArray<LineState>
  readonly createdBy: string
  readonly createdAt: number
  readonly updatedAt: number
  readonly closedAt: number | null
  /** When the chain is looked at next; null: there is nothing to look for. */
  readonly dueAt: number | null
}

export type BatchCommand =
  /** Somebody says that it may be paid; `required`: people who must say so, but never fewer than when it was made. */
  | { readonly _tag: "Approve"; readonly approval: Approval; readonly required?: number }
  | { readonly _tag: "Cancel" }
  /** The clock may have ended it. */
  | { readonly _tag: "Expire" }
  /** A part was built, and is given out with the commit. */
  | { readonly _tag: "Export"; readonly part: number; readonly export: PayoutExport }
  /** Where somebody says that it was executed. */
  | { readonly _tag: "Hint"; readonly part: number; readonly txHash: string }
  /**
   * Somebody says that what a list still has open will not be paid; `required`: people who must say so, but never fewer
   * than had to approve the batch.
   */
  | {
    readonly _tag: "Release"
    readonly part: number
    readonly statement: ReleaseStatement
    readonly required: number
  }
  /** What the chain has of a part. `hint`: the report that the search went by; absent: the part's own. */
  | {
    readonly _tag: "Observe"
    readonly part: number
    readonly search: PayoutSearch
    readonly hint?: string | null
  }

/** A transfer that fits a line which another one pays already, or that is not what was signed. */
export interface UnexpectedTransfer {
  readonly type: "duplicate_payout" | "payout_mismatch"
  readonly part: number
  /** The line that it fits, or that its transaction left out for it; null: none. */
  readonly line: LineState | null
  readonly txHash: string
  /** usd_millis that it is worth, as the lines are; 0: it is not known. */
  readonly amount: UsdMillis
  readonly isFinal: boolean
  readonly transfer: PayoutTransfer
}

/** A line of which the chain has said for good what became of it. */
export interface FinalLine {
  readonly line: LineState
  readonly status: "paid" | "mismatch"
  /** Null: its transaction is final without it. */
  readonly transfer: PayoutTransfer | null
  readonly txHash: string
}

export interface BatchDecision {
  readonly next: BatchState
  /** To be stored one by one, each with what it pays, before `next` is. */
  readonly finalLines: ReadonlyArray<FinalLine>
  readonly unexpected: ReadonlyArray<UnexpectedTransfer>
  /** Transfers that were unexpected before, and left the chain or pay a line now. */
  readonly withdrawn: ReadonlyArray<TransferName>
}
