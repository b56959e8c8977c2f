/** Sessions of people, one-time links, and how long both last. Pure. Times are epoch seconds. */
import { freshProofSeconds, moneyWaitSeconds } from "../../../schemas/Roles.ts"
import type { PasskeyState } from "./People.ts"

/** Seconds without a use after which a session has ended. */
export const idleSeconds = 28_800

/** Seconds that a session lasts, at most. */
export const maximumSessionSeconds = 604_800

/** Sessions that a person may have open at once; the oldest gives way to a new one. */
export const maximumSessions = 20

/** Seconds between two writes of when a session was used. */
export const useSeconds = 60

export type SignInMethod = "passkey" | "wallet" | "link" | "recovery"

/** Why a session ended. */
export type SessionEnd =
  | "signed_out"
  | "displaced"
  | "role_changed"
  | "removed"
  | "recovered"
  | "passkey_removed"
  /** The database was restored from a backup: it may have ended since. */
  | "restored"

export interface SessionState {
  readonly id: string
  readonly person: string
  readonly method: SignInMethod
  /** The passkey that proved it last: the session ends with it; null: none did. */
  readonly passkey: string | null
  readonly readHash: string
  readonly actHash: string
  readonly status: "active" | "ended"
  readonly endReason: SessionEnd | null
  readonly signedInAt: number
  readonly lastUsedAt: number
  readonly freshUntil: number
  readonly moneyFrom: number
  readonly version: number
}

/** When a session ends that nobody uses any more. */
export const endOf = ({ lastUsedAt, signedInAt }: SessionState): number =>
  Math.min(signedInAt + maximumSessionSeconds, lastUsedAt + idleSeconds)

export const isOpen = (session: SessionState, now: number): boolean =>
  session.status === "active" && now < endOf(session)

/** Hashes of the two tokens of a session: one to read with, one to act with. */
export interface TokenHashes {
  readonly readHash: string
  readonly actHash: string
}

export const newSession = (
  session: Pick<SessionState, "id" | "person" | "method" | "passkey" | "moneyFrom"> & TokenHashes,
  now: number
): SessionState => ({
  ...session,
  status: "active",
  endReason: null,
  signedInAt: now,
  lastUsedAt: now,
  freshUntil: now + freshProofSeconds,
  version: 1
})

export const endSession = (session: SessionState, endReason: SessionEnd): SessionState => ({
  ...session,
  status: "ended",
  endReason,
  version: session.version + 1
})

/**
 * The session after a fresh authentication: with new tokens, and as free with money as the passkey that proved it; it
 * lasts no longer than before.
 */
export const refreshSession = (
  session: SessionState,
  { actHash, readHash }: TokenHashes,
  passkey: Pick<PasskeyState, "id" | "moneyFrom">,
  now: number
): SessionState => ({
  ...session,
  passkey: passkey.id,
  readHash,
  actHash,
  lastUsedAt: now,
  freshUntil: now + freshProofSeconds,
  moneyFrom: Math.min(session.moneyFrom, Math.max(passkey.moneyFrom, now)),
  version: session.version + 1
})

/** Of a person's open sessions those that must end so that one more may open: the oldest. */
export const sessionsToDisplace = (open: ReadonlyArray<SessionState>): ReadonlyArray<SessionState> =>
  open.toSorted((a, b) => a.signedInAt - b.signedInAt || (a.id < b.id ? -1 : 1))
    .slice(0, Math.max(0, open.length - maximumSessions + 1))

/** Who waits before money moves on mainnet. */
export interface WaitFacts {
  /** Whether all of the person's merchants began with it: their first owner need not wait for itself. */
  readonly isFirstOwner: boolean
  readonly servesMainnet: boolean
}

/** From when on somebody may move money on mainnet who came by a one-time link. */
export const moneyFromAfterLink = ({ isFirstOwner, servesMainnet }: WaitFacts, now: number): number =>
  isFirstOwner || !servesMainnet ? now : now + moneyWaitSeconds

/** The same by a recovery code: whoever finds one must not have the money before its owner can react. */
export const moneyFromAfterRecovery = ({ servesMainnet }: Pick<WaitFacts, "servesMainnet">, now: number): number =>
  servesMainnet ? now + moneyWaitSeconds : now

/** From when on a credential may that is added in a session which itself may from `sessionMoneyFrom` on. */
export const moneyFromOfCredential = (facts: WaitFacts, sessionMoneyFrom: number, now: number): number =>
  Math.max(sessionMoneyFrom, moneyFromAfterLink(facts, now))

/** Seconds for which a one-time link may be used. */
export const linkSeconds = 600

/** A link that signs its person in, once. */
export interface LinkState {
  /** Hash of its token. */
  readonly id: string
  readonly merchantId: number
  readonly person: string
  readonly used: boolean
  readonly expiresAt: number
  readonly version: number
}

export const isLinkOpen = (link: LinkState, now: number): boolean => !link.used && now < link.expiresAt

export const useLink = (link: LinkState): LinkState => ({ ...link, used: true, version: link.version + 1 })
