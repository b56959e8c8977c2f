/**
 * Sums kept beside what they sum: every commit that tells of a change moves the sums in its own transaction, so that
 * counts and totals are read from a few rows and never by scanning.
 *
 * A sum is a function of snapshots: what an object as it stands contributes. An event carries the snapshot and, by its
 * previous attributes, the one before; the commit adds the first and takes away the second. So a sum always equals the
 * one counted anew over all objects, whatever order the changes came in.
 */
import type { WireObject } from "../schemas/Event.ts"

/** What one snapshot adds to one sum. Rows are kept per (merchant, environment, sum, bucket, key). */
export interface Contribution {
  /** Name of the sum, `<plugin>.<sum>`. */
  readonly sum: string
  /** Epoch seconds at which the hour begins that it belongs to; 0: of all time. */
  readonly bucket: number
  /** What it is told apart by within the bucket, such as a status or a network; "" for nothing. */
  readonly key: string
  readonly count: number
  /** Two amounts in usd_millis; what they are is the sum's own affair. */
  readonly amount: bigint
  readonly amountPaid: bigint
}

/** How objects of one kind are summed. A plugin lists its own. */
export interface Rollup {
  /** `object` of the snapshots: `invoice`, `invoice_payment`. */
  readonly object: string
  /** What a snapshot contributes: at most 8. Pure, and the same for equal snapshots for ever. */
  readonly contributions: (snapshot: WireObject) => ReadonlyArray<Contribution>
}

/** Seconds of a bucket. */
export const bucketSeconds = 3_600

/** The bucket of a time in epoch seconds. */
export const bucketOf = (seconds: number): number => seconds - (seconds % bucketSeconds)
