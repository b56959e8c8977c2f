/** The chain of a merchant's entries: each holds the hash of the one before it. Pure. */
import { type AuditEntry, type ChainLink, hashedFields } from "../rules.ts"

/** What the first entry of a chain follows. */
const firstPreviousHash = "0".repeat(64)

/** The last place and hash of a chain. */
export interface ChainEnd {
  readonly place: number
  readonly hash: string
}

/** Before the first entry. */
export const emptyChain: ChainEnd = { place: 0, hash: firstPreviousHash }

/**
 * Entries in the order in which they go on from the end of a chain, each with its link. `hashOf` gives the SHA-256,
 * hex, of the canonical JSON (RFC 8785) of the entry as the API shows it, without `hash`.
 */
export const chainEntries = <E extends AuditEntry>(
  end: ChainEnd,
  entries: ReadonlyArray<E>,
  hashOf: (fields: ReturnType<typeof hashedFields>) => string
): ReadonlyArray<{ readonly entry: E; readonly link: ChainLink }> => {
  let last = end
  return entries.map((entry) => {
    const place = last.place + 1
    const hash = hashOf(hashedFields(entry, place, last.hash))
    const link: ChainLink = { place, previousHash: last.hash, hash }
    last = link
    return { entry, link }
  })
}
