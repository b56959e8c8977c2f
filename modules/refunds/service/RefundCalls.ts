/** What is asked of refunds, what they answer, and how a deployment refunds. */
import type { Write } from "../../../runtime/Commit.ts"
import type { UsdMillis } from "../../../schemas/Money.ts"
import type { Network } from "../../../schemas/Network.ts"
import type { RefundQuote, RefundReason } from "../../../schemas/Refund.ts"
import type { Command } from "../../invoices/plugin.ts"
import type { Destination, Fees, RefundState } from "../machine.ts"
import type { RefundFact } from "../rules.ts"

/** A refund to be quoted. */
export interface RefundQuoteRequest {
  readonly amount: UsdMillis | "remaining"
  readonly network: Network
  readonly feeFree: boolean
}

/** A refund to be opened. */
export interface RefundRequest {
  readonly amount: UsdMillis | "remaining"
  readonly reason: RefundReason
  /** Null: where the payor said, or nowhere yet. */
  readonly destination: Destination | null
  readonly feeFree: boolean
  /** Only what came too late to count. */
  readonly payments?: "late"
  /** What the payor was told it would cost; the fee of one that has not ended is honoured. */
  readonly quote?: RefundQuote | null
}

/** A refund as it will be, and what must be stored in the commit that makes it so. */
export interface RefundStep {
  readonly refund: RefundState
  readonly writes: ReadonlyArray<Write>
  readonly commands: ReadonlyArray<Command>
  readonly facts: ReadonlyArray<RefundFact>
}

/** To whom a claim link is sent, in place of being shown to the merchant. */
export interface ClaimRecipient {
  readonly email: string
  /** A language tag; null: the invoice's, else that of the merchant's pages. */
  readonly locale: string | null
}

/** How a deployment refunds. */
export interface RefundOptions {
  readonly fees: Fees
  /** Whether a refund may be paid out as soon as it has a destination, or waits for an operator. */
  readonly autoApprove: boolean
  /** The address that pages are opened at. */
  readonly publicUrl: string
}
