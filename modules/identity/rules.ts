/**
 * Wallets that sign in, what they are asked to sign, and the sessions they open: rules only. Times are epoch seconds.
 */
import type { Challenge } from "../../runtime/SignIns.ts"
import { type ErrorCode, type PublicError, publicError } from "../../schemas/Errors.ts"
import type { Family } from "../../schemas/Network.ts"
import { moneyWaitSeconds } from "../../schemas/Roles.ts"

/** Seconds a message may wait for its signature (modules/docs/reference/authentication.md#signing-in-with-a-wallet). */
export const challengeSeconds = 300

/**
 * Seconds a refresh token is good for; each use gives a new one
 * (modules/docs/reference/authentication.md#refresh-tokens).
 */
export const refreshSeconds = 2_592_000

/** Wallets a merchant may have: enough for a small team, each person with a spare. */
export const maximumWallets = 20

/**
 * Sessions a wallet may have open at once; the oldest gives way to a new one. Far more than the devices of one person.
 */
export const maximumSessions = 20

/** A message that was issued, kept whole, so that nothing a caller sends is ever read for what it says. */
export interface ChallengeState {
  /** SHA-256, hex, of the message. */
  readonly id: string
  /** The merchant that a wallet is to be linked to, or null for a sign-in: a message for one never does the other. */
  readonly linkTo: number | null
  readonly message: string
  readonly challenge: Challenge
  readonly used: boolean
  readonly version: number
}

/** An account of a family that signs in for a merchant. */
export interface WalletState {
  readonly id: string
  readonly merchantId: number
  readonly family: Family
  readonly address: string
  /** Null for an account held by a key; the chain of one that is a contract. */
  readonly chainId: string | null
  readonly status: "linked" | "unlinked"
  readonly linkedAt: number
  readonly signedInAt: number | null
  /** Who signs in by it; null: the merchant's first owner. */
  readonly person: string | null
  /** From when on it may move money on mainnet. */
  readonly moneyFrom: number
  readonly version: number
}

/** Whose wallet is linked, and by whom. */
export interface WalletHolder {
  /** Null: the merchant's first owner. */
  readonly person: string | null
  /** From when on it may move money on mainnet; 0: at once. */
  readonly moneyFrom: number
}

/**
 * Whom a wallet is for that a person links who moves money on mainnet from `callerMoneyFrom` on: it waits as long, and
 * for a day, but the first owner's and where there is no mainnet.
 */
export const holderOf = (
  person: string | null,
  callerMoneyFrom: number,
  servesMainnet: boolean,
  now: number
): WalletHolder => ({
  person,
  moneyFrom: Math.max(callerMoneyFrom, person === null || !servesMainnet ? 0 : now + moneyWaitSeconds)
})

/** Of a wallet that signs a merchant up, or that the operator names. */
export const firstOwnerHolder: WalletHolder = { person: null, moneyFrom: 0 }

/** Who signed, as the drivers tell it. */
export interface Account {
  readonly family: Family
  readonly address: string
  readonly chainId: string | null
}

/** The unique name of an account: one wallet row for the whole deployment. */
export const accountName = ({ family, address, chainId }: Account): string => `${family} ${chainId ?? "-"} ${address}`

/**
 * Why a session ended: its holder asked, a refresh token used twice, its wallet unlinked, newer sessions, or its person
 * recovered by a code.
 */
export type EndReason = "logout" | "reused" | "unlinked" | "displaced" | "recovered" | "role_changed" | "restored"

/** What a sign-in opened, and all refresh tokens descended from it. */
export interface SessionState {
  readonly id: string
  readonly merchantId: number
  readonly walletId: string
  readonly status: "active" | "ended"
  readonly endReason: EndReason | null
  /** Hash of the one refresh token that was not used yet. */
  readonly refreshHash: string
  readonly createdAt: number
  /** End of that token, and of the session with it. */
  readonly expiresAt: number
  readonly version: number
}

/** What the text of a message says to the person who signs it. */
export const statementFor = (linkTo: number | null): string =>
  linkTo === null
    ? "Sign in. This costs nothing and moves no money."
    : `Link this wallet to merchant ${linkTo}. From then on it signs in for that merchant. This moves no money.`

/** The same message, used up. Its row's version lets one of many uses win. */
export const markUsed = (state: ChallengeState): ChallengeState => ({
  ...state,
  used: true,
  version: state.version + 1
})

/** Whether a message still waits for its signature, for this very purpose. */
export const isOpen = ({ challenge, linkTo, used }: ChallengeState, purpose: number | null, now: number): boolean =>
  !used && linkTo === purpose && now < challenge.expiresAt

/** What becomes of an account that signed in: its wallet with this sign-in noted, or a first wallet of `merchantId`. */
export const withSignIn = (wallet: WalletState, now: number): WalletState => ({
  ...wallet,
  signedInAt: now,
  version: wallet.version + 1
})

/** The row that links an account to a merchant; `before` is the one it had, if any. */
export const linkedWallet = (
  id: string,
  account: Account,
  merchantId: number,
  before: WalletState | undefined,
  now: number,
  holder: WalletHolder = firstOwnerHolder
): WalletState => ({
  id,
  merchantId,
  family: account.family,
  address: account.address,
  chainId: account.chainId,
  status: "linked",
  linkedAt: now,
  signedInAt: null,
  person: holder.person,
  moneyFrom: holder.moneyFrom,
  version: (before?.version ?? 0) + 1
})

/** Why an account cannot be linked to a merchant that has `wallets`, if so. One that is linked to it already can. */
export const objectionToLink = (
  merchantId: number,
  before: WalletState | undefined,
  wallets: ReadonlyArray<WalletState>
): PublicError | undefined => {
  if (before?.status === "linked") {
    return before.merchantId === merchantId ? undefined : publicError("WALLET_LINKED_ELSEWHERE")
  }
  return wallets.length < maximumWallets ? undefined : publicError("WALLET_LIMIT_REACHED")
}

/** Why a wallet cannot be unlinked, if so: nobody could sign in for its merchant any more. */
export const objectionToUnlink = (
  wallets: ReadonlyArray<WalletState>,
  evenLast: boolean
): PublicError | undefined =>
  wallets.length > 1 || evenLast ? undefined : publicError("INVALID_TRANSITION", {
    message: "This is the merchant's last wallet: link another one first"
  })

/** The wallet without its merchant's trust. */
export const unlink = (wallet: WalletState): WalletState => ({
  ...wallet,
  status: "unlinked",
  version: wallet.version + 1
})

/** A session as it begins, with its first refresh token. */
export const newSession = (
  id: string,
  { id: walletId, merchantId }: Pick<WalletState, "id" | "merchantId">,
  refreshHash: string,
  now: number
): SessionState => ({
  id,
  merchantId,
  walletId,
  status: "active",
  endReason: null,
  refreshHash,
  createdAt: now,
  expiresAt: now + refreshSeconds,
  version: 1
})

export const end = (session: SessionState, endReason: EndReason): SessionState => ({
  ...session,
  status: "ended",
  endReason,
  version: session.version + 1
})

/** Of a wallet's open sessions those that must end so that one more may open: the oldest. */
export const sessionsToDisplace = (open: ReadonlyArray<SessionState>): ReadonlyArray<SessionState> =>
  open.toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))
    .slice(0, Math.max(0, open.length - maximumSessions + 1))

/** What is to be done with a refresh token of a session: give new ones, end the session, or refuse. */
export type RefreshDecision = "rotate" | "reused" | ErrorCode

/**
 * Judges a token of `session` by its hash. One that is not the current one was used before, so someone else holds it
 * too: the whole session ends, whoever comes first.
 */
export const decideRefresh = (session: SessionState, hash: string, now: number): RefreshDecision => {
  if (session.refreshHash !== hash) return session.status === "active" ? "reused" : "REFRESH_REUSED"
  if (session.status === "ended") return "TOKEN_INVALID"
  return now < session.expiresAt ? "rotate" : "TOKEN_EXPIRED"
}

/** The session with a new current token. */
export const rotate = (session: SessionState, refreshHash: string, now: number): SessionState => ({
  ...session,
  refreshHash,
  expiresAt: now + refreshSeconds,
  version: session.version + 1
})

/** The name of a merchant that a wallet signs up: the account, shortened as wallets show it. */
export const merchantNameOf = ({ address }: Account): string =>
  address.length <= 14 ? address : `${address.slice(0, 8)}…${address.slice(-4)}`
