/** What the events of payments add up to: the third source beside chain and books. Pure. */
import type { Rollup } from "../../../runtime/Rollups.ts"
import { isCounted, type PaymentStatus } from "../../../schemas/Payment.ts"
import type { WireObject } from "../../../schemas/WireObject.ts"

interface PaymentSnapshot extends WireObject {
  readonly status: PaymentStatus
  readonly amount: number
  readonly confirmed_at: number | null
  readonly network: string
  readonly metadata: { readonly token?: { readonly id: number } | null }
}

/** Seconds of a bucket: months of UTC begin with one. */
const bucketSeconds = 21_600

/**
 * Counted payments by when they were confirmed, apart by network and token.
 */
export const confirmedPayments: Rollup = {
  sum: "reconciliation.payments",
  version: 1,
  object: "invoice_payment",
  widths: [bucketSeconds],
  contributions: (object) => {
    const { amount, confirmed_at: at, metadata, network, status } = object as PaymentSnapshot
    return at === null || !isCounted(status)
      ? []
      : [{ at, key: `${network}:${metadata.token?.id ?? ""}`, count: 1, amount: BigInt(amount), amountPaid: 0n }]
  }
}

/** Whether events are counted for exactly this span: it begins and ends with a bucket. */
export const isCountedSpan = ({ from, to }: { readonly from: number; readonly to: number }): boolean =>
  from % bucketSeconds === 0 && to % bucketSeconds === 0
