/** Sign-ins: issues what a wallet signs, opens and ends sessions, links wallets to merchants. */
import { Context, Effect, Layer } from "effect"
import { nowSeconds } from "../../runtime/Clock.ts"
import { type AccessTokens, makeAccessTokens } from "../../runtime/http/AccessToken.ts"
import type { Write } from "../../runtime/Commit.ts"
import type { Grant } from "../../runtime/Http.ts"
import { LinkedWallets } from "../../runtime/LinkedWallets.ts"
import { Secrets } from "../../runtime/Secrets.ts"
import type { SignInProof } from "../../runtime/SignIns.ts"
import { TextSigners } from "../../runtime/TextSigners.ts"
import type { PublicError } from "../../schemas/Errors.ts"
import type { Network } from "../../schemas/Network.ts"
import { issueChallenge, type IssuedChallenge } from "./actor/Challenges.ts"
import { makeContext } from "./actor/IdentityContext.ts"
import {
  endAllSessions,
  endByAccessToken,
  endByRefreshToken,
  openSession,
  refreshSession,
  type SessionContext,
  type SignInResult,
  type Signup,
  type Tokens,
  verifyAccessToken
} from "./actor/SessionCalls.ts"
import { walletSigner } from "./actor/TextWallets.ts"
import {
  endPersonSessions,
  linkByName,
  linkByProof,
  linkedOf,
  merchantsOf,
  type NamedAccount,
  operatorCall,
  proveWallet,
  unlinkPersonWrites,
  unlinkWallet
} from "./actor/WalletLinks.ts"
import { firstOwnerHolder, type WalletHolder, type WalletState } from "./rules.ts"
import type { LinkCall } from "./rules/LinkActs.ts"

/** Sessions of wallets: opened by a proof, kept by refresh tokens, ended for good. */
export class Sessions extends Context.Service<Sessions, {
  /** Errors: `UNSUPPORTED_NETWORK`, `WALLET_ADDRESS_INVALID`. */
  readonly issue: (network: Network, address: string) => Effect.Effect<IssuedChallenge, PublicError>
  /**
   * Opens a session for who signed; of many uses of one message one succeeds. Errors: `NONCE_INVALID`,
   * `SIGNATURE_INVALID`, `SIGNUP_CLOSED`, `UNSUPPORTED_NETWORK`, `NETWORK_DEGRADED`.
   */
  readonly open: (proof: SignInProof) => Effect.Effect<SignInResult, PublicError>
  /**
   * New tokens for the current refresh token, whose use ends with this. Errors: `TOKEN_INVALID`, also for the loser of
   * two uses at the same moment; `TOKEN_EXPIRED`; `REFRESH_REUSED` for one used before, which ends the session.
   */
  readonly refresh: (refreshToken: string) => Effect.Effect<Tokens, PublicError>
  /** Ends the session of any of its refresh tokens; nothing happens for what is none. */
  readonly end: (refreshToken: string) => Effect.Effect<void, PublicError>
  /** Ends the session of an access token. Errors: `TOKEN_INVALID`, `TOKEN_EXPIRED`. */
  readonly endByAccess: (accessToken: string) => Effect.Effect<void, PublicError>
  /** What an access token entitles to now. Errors: `TOKEN_INVALID`, also once its session ended; `TOKEN_EXPIRED`. */
  readonly verify: (accessToken: string) => Effect.Effect<Grant, PublicError>
  /** Those of the sessions with these ids that have not ended. */
  readonly active: (ids: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string>>
  /** Ends every session, after the database was restored from a backup. */
  readonly endAll: Effect.Effect<void, PublicError>
  /** The keys that check access tokens. */
  readonly publishedKeys: AccessTokens["published"]
}>()("tillwire/modules/identity/Sessions") {
  static readonly layer = (signup: Signup) =>
    Layer.effect(
      Sessions,
      Effect.gen(function*() {
        const context: SessionContext = {
          ...yield* makeContext,
          accessTokens: yield* makeAccessTokens,
          peppers: (yield* Secrets).keys("pepper"),
          signup
        }
        return Sessions.of({
          issue: (network, address) => issueChallenge(context, network, address, null),
          open: (proof) => openSession(context, proof),
          refresh: (refreshToken) => refreshSession(context, refreshToken),
          end: (refreshToken) => endByRefreshToken(context, refreshToken),
          endByAccess: (accessToken) => endByAccessToken(context, accessToken),
          verify: (accessToken) => verifyAccessToken(context, accessToken),
          active: (ids) => Effect.flatMap(nowSeconds, (now) => context.repo.active(ids, now)),
          endAll: endAllSessions(context),
          publishedKeys: context.accessTokens.published
        })
      })
    )
}

/** The wallets that sign in for a merchant. Every change also touches the merchant's row, so that limits are exact. */
export class Wallets extends Context.Service<Wallets, {
  /** Oldest first, at most 20. */
  readonly list: (merchantId: number) => Effect.Effect<ReadonlyArray<WalletState>>
  /** A message whose signature links the wallet to this merchant and does nothing else. Errors as `Sessions.issue`. */
  readonly issue: (merchantId: number, network: Network, address: string) => Effect.Effect<IssuedChallenge, PublicError>
  /** Links who signed. Errors: those of a proof, `WALLET_LINKED_ELSEWHERE`, `WALLET_LIMIT_REACHED`. */
  readonly link: (
    merchantId: number,
    proof: SignInProof,
    holder?: WalletHolder,
    call?: LinkCall
  ) => Effect.Effect<WalletState, PublicError>
  /**
   * Links an account on the operator's word.
   * Errors: `NOT_FOUND` without such a merchant, `UNSUPPORTED_NETWORK`, `WALLET_ADDRESS_INVALID`,
   * `WALLET_LINKED_ELSEWHERE`, `WALLET_LIMIT_REACHED`.
   */
  readonly linkNamed: (account: NamedAccount) => Effect.Effect<WalletState, PublicError>
  /**
   * Ends the wallet's sessions with its link. Errors: `NOT_FOUND`; `INVALID_TRANSITION` for a merchant's last wallet
   * unless `evenLast`: nobody could sign in for it any more. `isTheirs`: those that the caller may see.
   */
  readonly unlink: (
    merchantId: number,
    id: string,
    evenLast: boolean,
    call?: LinkCall,
    isTheirs?: (wallet: WalletState) => boolean
  ) => Effect.Effect<WalletState, PublicError>
}>()("tillwire/modules/identity/Wallets") {
  static readonly layer = Layer.effect(
    Wallets,
    Effect.map(makeContext, (context) =>
      Wallets.of({
        list: context.repo.wallets,
        issue: (merchantId, network, address) => issueChallenge(context, network, address, merchantId),
        link: (merchantId, proof, holder = firstOwnerHolder, call = operatorCall) =>
          linkByProof(context, merchantId, proof, holder, call),
        linkNamed: (request) => linkByName(context, request),
        unlink: (merchantId, id, evenLast, call = operatorCall, isTheirs) =>
          unlinkWallet(context, merchantId, id, evenLast, call, isTheirs)
      }))
  )
}

/** Has the linked wallets answer whose address is whose. */
export const registerLinkedWallets = Effect.flatMap(
  makeContext,
  (context) =>
    Effect.flatMap(
      LinkedWallets,
      (wallets) => wallets.register({ linkedOf: linkedOf(context), merchantsOf: merchantsOf(context) })
    )
)

/** Has linked wallets sign texts of other modules. */
export const registerTextWallets = Effect.flatMap(
  makeContext,
  (context) => Effect.flatMap(TextSigners, ({ registerWallets }) => registerWallets(walletSigner(context)))
)

/** Wallets as credentials of people, for the module that knows the people and opens sessions of its own. */
export class PersonWallets extends Context.Service<PersonWallets, {
  /** As `Sessions.issue`. */
  readonly issue: (network: Network, address: string) => Effect.Effect<IssuedChallenge, PublicError>
  /**
   * The linked wallet that signed a message, and the rows that use the message up: in the commit of what follows, so
   * that of many uses one succeeds. Errors: those of `Sessions.open`; `SIGNUP_CLOSED` for a wallet of no merchant.
   */
  readonly prove: (
    proof: SignInProof
  ) => Effect.Effect<{ readonly wallet: WalletState; readonly writes: ReadonlyArray<Write> }, PublicError>
  /** The ids of the wallets by which a person signs in, or did, for a merchant; null: the first owner. */
  readonly idsOf: (merchantId: number, person: string | null) => Effect.Effect<ReadonlyArray<string>>
  /** The rows that end the sessions of those wallets: their person recovered by a code, or has another role. */
  readonly endSessionWrites: (
    merchantId: number,
    person: string | null,
    reason: "recovered" | "role_changed"
  ) => Effect.Effect<ReadonlyArray<Write>>
  /** The rows that unlink them and end their sessions. */
  readonly unlinkWrites: (merchantId: number, person: string | null) => Effect.Effect<ReadonlyArray<Write>>
}>()("tillwire/modules/identity/PersonWallets") {
  static readonly layer = Layer.effect(
    PersonWallets,
    Effect.map(makeContext, (context) =>
      PersonWallets.of({
        issue: (network, address) => issueChallenge(context, network, address, null),
        prove: (proof) => proveWallet(context, proof),
        idsOf: context.repo.walletIds,
        endSessionWrites: (merchantId, person, reason) => endPersonSessions(context, merchantId, person, reason),
        unlinkWrites: (merchantId, person) => unlinkPersonWrites(context, merchantId, person)
      }))
  )
}
