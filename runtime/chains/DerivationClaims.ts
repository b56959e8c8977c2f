/**
 * Which instance derives which addresses of a wallet that several of them give out at once. An address of a key takes
 * twice the processor time of everything else about it, so two that derive the same ones are no faster than one: each
 * says first which indices it derives, and takes the next ones that nobody has said (`claimDerivation` of
 * `repo/Derivations.ts`).
 *
 * That is all a claim is. Addresses are given out in order, whoever derived them; an instance that has derived its own
 * waits for those before them, and derives them as well when their instance does not come up with them. Pure.
 */

/** Indices behind the one to be given out next that may be claimed; claims further on are of instances that failed. */
export const maximumClaimedAhead = 1_000

/** Indices that one claim is of, at most. */
const maximumClaim = 400

/**
 * How many indices an allocation claims that lacks `missing` addresses and claimed `claims` times before. Others may
 * have given out what it derived while it waited for theirs: each time it derives as many more, until there are enough
 * for all.
 */
export const claimSize = (missing: number, claims: number): number =>
  Math.max(missing, Math.min(maximumClaim, missing * (claims + 1)))

/** Milliseconds between two looks whether another instance has derived what it claimed. */
export const claimPollMillis = 10

/** Milliseconds after which what another instance claimed and did not derive is derived here: a busy one takes 200. */
export const claimPatienceMillis = 500

/** Milliseconds after which the addresses watched ahead are looked at again that another instance claimed. */
export const claimRecheckMillis = 5_000

/** What one allocation has derived, and what it waits for. */
export interface DerivationState {
  /** Behind the last index that was derived here. */
  readonly derivedTo: number
  /** The index that another instance claimed, and since when it is waited for; null: none is. */
  readonly awaited: { readonly index: number; readonly sinceMillis: number } | null
}

export const nothingDerived: DerivationState = { derivedTo: 0, awaited: null }

/** What an allocation does whose next address is not derived. */
export type DerivationStep =
  /** Claim the next indices and derive them. */
  | { readonly _tag: "Claim" }
  /** Look again after {@link claimPollMillis}. */
  | { readonly _tag: "Wait"; readonly state: DerivationState }
  /** Derive what others claimed: all from `from` on, below `to`. */
  | { readonly _tag: "Takeover"; readonly from: number; readonly to: number }

/** What to do when nobody has derived the address of index `next`, which is to be given out now. */
export const nextDerivation = (state: DerivationState, next: number, nowMillis: number): DerivationStep => {
  if (next >= state.derivedTo) return { _tag: "Claim" }
  const { awaited } = state
  if (awaited?.index !== next) {
    return { _tag: "Wait", state: { ...state, awaited: { index: next, sinceMillis: nowMillis } } }
  }
  return nowMillis - awaited.sinceMillis < claimPatienceMillis
    ? { _tag: "Wait", state }
    : { _tag: "Takeover", from: next, to: state.derivedTo }
}
