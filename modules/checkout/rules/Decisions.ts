/** What the merchant has decided about money that came otherwise than asked for, as its payor is told. Pure. */
import type { Aggregate } from "../../invoices/plugin.ts"
import type { ClaimedRefund } from "../../payments/plugin.ts"

export type Decision =
  | { readonly kind: "accepted" | "kept"; /** Epoch seconds. */ readonly at: number }
  | {
    readonly kind: "refund"
    /** `awaited`: its payor is asked by a link where it goes. That link never stands on the payment page. */
    readonly state: "awaited" | "under_way" | "done"
    /** Whole tokens that are sent. */
    readonly tokenAmount: string
    readonly symbol: string
    readonly txHash: string | null
    readonly explorerUrl: string | null
  }

/** What a payor is told of a refund; null: nothing, as it is none any more. */
const refundStates: Readonly<Record<ClaimedRefund["status"], "awaited" | "under_way" | "done" | null>> = {
  awaiting_destination: "awaited",
  pending_approval: "under_way",
  processing: "under_way",
  // What failed is owed as before, and the shop tries again.
  failed: "under_way",
  succeeded: "done",
  canceled: null,
  expired: null
}

/** Decisions in the order in which they were made, refunds after the others. */
export const decisionsOf = (
  exceptions: Aggregate["exceptions"],
  refunds: ReadonlyArray<ClaimedRefund>,
  explorerUrlOf: (refund: ClaimedRefund) => string | null
): ReadonlyArray<Decision> => [
  ...exceptions.flatMap(({ resolution, resolvedAt }): ReadonlyArray<Decision> => {
    if (resolution === null || resolvedAt === null) return []
    if (resolution.action === "accept") return [{ kind: "accepted", at: resolvedAt }]
    return resolution.action === "credit" ? [{ kind: "kept", at: resolvedAt }] : []
  }),
  ...refunds.flatMap((refund): ReadonlyArray<Decision> => {
    const state = refundStates[refund.status]
    return state === null ? [] : [{
      kind: "refund",
      state,
      tokenAmount: refund.tokenAmount,
      symbol: refund.tokenSymbol,
      txHash: refund.txHash,
      explorerUrl: explorerUrlOf(refund)
    }]
  })
]
