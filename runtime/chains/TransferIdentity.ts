/**
 * Which journal entry is a transfer's. A report may name another receiver than the chain does, and its entry then
 * belongs to the invoice that it named. The transfer itself gets an entry of its own beside that one, so that the
 * payment of one invoice never stands in the way of the other's. Pure.
 */
import type { JournalEntry, ObservedTransfer } from "../Chains.ts"

/** What makes two observations one transfer: its index in its transaction, and who receives it. */
export const transferKey = (
  { index, matchKey, txHash }: Pick<ObservedTransfer, "index" | "matchKey" | "txHash">
): string => `${txHash}:${index}:${matchKey}`

/** The id of a transfer's entry where `id` is taken by a report that was wrong about it. */
export const alternateEntryId = (id: string, matchKey: string): string => `${id}:${matchKey}`

/** Ids that a transfer's entry may have. */
export const entryIds = (
  id: string,
  matchKey: string
): readonly [string, string] => [id, alternateEntryId(id, matchKey)]

/** A transfer's entry, and the id it has or will have. */
export interface EntryMatch {
  readonly id: string
  readonly entry: JournalEntry | undefined
}

/** Chooses among `entries`, which holds what there is under {@link entryIds}. `id`: by the driver's key format. */
export const matchEntry = (entries: ReadonlyMap<string, JournalEntry>, id: string, matchKey: string): EntryMatch => {
  const first = entries.get(id)
  const alternate = entries.get(alternateEntryId(id, matchKey))
  if (alternate !== undefined) return { id: alternate.id, entry: alternate }
  return first === undefined || first.matchKey === matchKey
    ? { id, entry: first }
    : { id: alternateEntryId(id, matchKey), entry: undefined }
}

/**
 * Whether a report contradicts what is known of the transfer to another receiver: a driver here saw it, or nobody here
 * can look which of two reports is right.
 */
export const contradictsReport = (other: JournalEntry | undefined, matchKey: string, isFollowed: boolean): boolean =>
  other !== undefined && other.matchKey !== matchKey && other.status !== "reverted" &&
  (other.confirmations > 0 || other.status === "confirmed" || !isFollowed)
