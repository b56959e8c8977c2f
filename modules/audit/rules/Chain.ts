/** The chain of a merchant's entries: each holds the hash of the one before it. Pure. */
import { canonicalJson, sha256 } from "../../../runtime/http/CanonicalJson.ts"
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

/** SHA-256, hex, of the canonical JSON (RFC 8785) of the entry as the API shows it, without `hash`. */
const hashOf = (entry: AuditEntry, place: number, previousHash: string): string =>
  sha256(canonicalJson(hashedFields(entry, place, previousHash)))

/** Entries in the order in which they go on from the end of a chain, each with its link. */
export const chainEntries = <E extends AuditEntry>(
  end: ChainEnd,
  entries: ReadonlyArray<E>
): ReadonlyArray<{ readonly entry: E; readonly link: ChainLink }> => {
  let last = end
  return entries.map((entry) => {
    const place = last.place + 1
    const link: ChainLink = { place, previousHash: last.hash, hash: hashOf(entry, place, last.hash) }
    last = link
    return { entry, link }
  })
}
