/** Sessions of wallets: opened by a proof, kept by refresh tokens, ended, and asked what they entitle to. */
import { Effect } from "effect"
import { createHmac, randomBytes } from "node:crypto"
import { nowSeconds } from "../../../runtime/Clock.ts"
import { decideAnew } from "../../../runtime/Commit.ts"
import { accessSeconds, type AccessTokens } from "../../../runtime/http/AccessToken.ts"
import type { Grant } from "../../../runtime/Http.ts"
import type { DerivedKey } from "../../../runtime/Secrets.ts"
import type { SignInProof } from "../../../runtime/SignIns.ts"
import { uuidV4 } from "../../../runtime/Uuid.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import type { MerchantId } from "../../../schemas/Ids.ts"
import { allPermissions, freshProofSeconds } from "../../../schemas/Roles.ts"
import { newestVersion } from "../../../schemas/Version.ts"
import type { MerchantState } from "../../auth/plugin.ts"
import * as Repo from "../repo.ts"
import {
  type Account,
  decideRefresh,
  end,
  linkedWallet,
  markUsed,
  merchantNameOf,
  newSession,
  refreshSeconds,
  rotate,
  type SessionState,
  sessionsToDisplace,
  type WalletState,
  withSignIn
} from "../rules.ts"
import { requireChallenge, verifyProof } from "./Challenges.ts"
import { append, decideInTurn, type IdentityContext, walletIdOf } from "./IdentityContext.ts"

/** Whether a wallet that belongs to no merchant may sign in, and so make one. */
export type Signup = "open" | "closed"

export interface SessionContext extends IdentityContext {
  readonly accessTokens: AccessTokens
  /** The newest first: hashes under the others are still found. */
  readonly peppers: readonly [DerivedKey, ...ReadonlyArray<DerivedKey>]
  readonly signup: Signup
}

/** What a session gives its holder. */
export interface Tokens {
  readonly accessToken: string
  readonly accessSeconds: number
  readonly refreshToken: string
  readonly refreshSeconds: number
}

/** A sign-in that succeeded; `created` where it made the merchant. */
export interface SignInResult {
  readonly tokens: Tokens
  readonly merchant: MerchantState
  readonly created: boolean
}

/** Random bytes of a refresh token (modules/docs/reference/authentication.md#signing-in-with-a-wallet). */
const refreshBytes = 32

const refreshPattern = /^rt_[A-Za-z0-9_-]{43}$/

const hashUnder = (token: string) => ({ key }: DerivedKey): string =>
  createHmac("sha256", key).update(token).digest("hex")

const newRefreshToken = ({ peppers }: SessionContext) =>
  Effect.sync(() => {
    const token = `rt_${randomBytes(refreshBytes).toString("base64url")}`
    return { token, hash: hashUnder(token)(peppers[0]) }
  })

const tokensOf = (
  { accessTokens }: SessionContext,
  session: SessionState,
  refreshToken: string
): Effect.Effect<Tokens> =>
  Effect.map(accessTokens.mint({ ...session, sessionId: session.id }), (accessToken) => ({
    accessToken,
    accessSeconds,
    refreshToken,
    refreshSeconds
  }))

/** Whose wallet an account is; a new merchant's where it is nobody's and sign-up is open. */
const ownerOf = Effect.fnUntraced(function*(
  { merchants, repo, signup }: SessionContext,
  account: Account,
  now: number
) {
  const id = walletIdOf(account)
  const before = yield* repo.wallet(id)
  const merchant = before?.status === "linked" ? yield* merchants.read(before.merchantId) : undefined
  if (before !== undefined && merchant !== undefined) {
    return { merchant, wallet: withSignIn(before, now), writes: [], created: false }
  }
  if (signup === "closed") return yield* publicError("SIGNUP_CLOSED")
  const draft = yield* merchants.draft(merchantNameOf(account))
  const wallet: WalletState = { ...linkedWallet(id, account, draft.merchant.id, before, now), signedInAt: now }
  return { merchant: draft.merchant, wallet, writes: [draft.write], created: true }
})

/** One commit of a new session; runs again after a lost race. */
const openFor = Effect.fnUntraced(function*(context: SessionContext, account: Account, message: string) {
  const challenge = yield* requireChallenge(context, message, null)
  const now = yield* nowSeconds
  const { created, merchant, wallet, writes } = yield* ownerOf(context, account, now)
  const displaced = sessionsToDisplace(yield* context.repo.openSessions(wallet.id))
  const refresh = yield* newRefreshToken(context)
  const session = newSession(`ses_${yield* uuidV4}`, wallet, refresh.hash, now)
  yield* append(context, merchant.id, [
    ...writes,
    Repo.challengeWrite(markUsed(challenge)),
    Repo.walletWrite(wallet),
    Repo.sessionWrite(session),
    Repo.refreshTokenWrite(session),
    ...displaced.map((one) => Repo.sessionWrite(end(one, "displaced")))
  ])
  const result: SignInResult = { tokens: yield* tokensOf(context, session, refresh.token), merchant, created }
  return result
})

export const openSession = Effect.fnUntraced(function*(context: SessionContext, proof: SignInProof) {
  const account = yield* verifyProof(context, proof, null)
  return yield* decideInTurn(context, "wallet", walletIdOf(account), openFor(context, account, proof.message))
})

const findByToken = ({ peppers, repo }: SessionContext, refreshToken: string) =>
  refreshPattern.test(refreshToken)
    ? repo.sessionByToken(peppers.map(hashUnder(refreshToken)))
    : Effect.succeed(undefined)

const endSession = (context: SessionContext, session: SessionState, reason: "logout" | "reused") =>
  append(context, session.merchantId, [Repo.sessionWrite(end(session, reason))])

/** Ends every session, after the database was restored from a backup. */
export const endAllSessions = (context: SessionContext): Effect.Effect<void, PublicError> =>
  Effect.flatMap(context.repo.signedIn, (wallets) =>
    wallets.length === 0
      ? Effect.void
      : Effect.andThen(
        Effect.forEach(wallets, (wallet) =>
          decideInTurn(
            context,
            "wallet",
            wallet,
            Effect.gen(function*() {
              const open = yield* context.repo.openSessions(wallet)
              if (open.length === 0) return
              yield* append(
                context,
                open[0]!.merchantId,
                open.map((session) => Repo.sessionWrite(end(session, "restored")))
              )
            })
          ), { discard: true }),
        endAllSessions(context)
      ))

const rotateTokens = Effect.fnUntraced(function*(context: SessionContext, session: SessionState, now: number) {
  const refresh = yield* newRefreshToken(context)
  const next = rotate(session, refresh.hash, now)
  // Whoever was faster by a moment has the new tokens: this is the loser of a race, not a token used before.
  yield* append(context, session.merchantId, [Repo.sessionWrite(next), Repo.refreshTokenWrite(next)]).pipe(
    Effect.catchTag(
      "Conflict",
      () => Effect.fail(publicError("TOKEN_INVALID", { message: "This refresh token is in use by another call" }))
    )
  )
  return yield* tokensOf(context, next, refresh.token)
})

export const refreshSession = (context: SessionContext, refreshToken: string) =>
  decideAnew()(Effect.gen(function*() {
    const found = yield* findByToken(context, refreshToken)
    if (found === undefined) return yield* publicError("TOKEN_INVALID")
    const now = yield* nowSeconds
    const decision = decideRefresh(found.session, found.hash, now)
    if (decision === "rotate") return yield* rotateTokens(context, found.session, now)
    if (decision !== "reused") return yield* publicError(decision)
    yield* endSession(context, found.session, "reused")
    return yield* publicError("REFRESH_REUSED")
  }))

/** Ends what is still active of what `find` finds. */
const endFound = (context: SessionContext, find: Effect.Effect<SessionState | undefined>) =>
  decideAnew()(
    Effect.flatMap(find, (session) =>
      session?.status === "active" ? Effect.asVoid(endSession(context, session, "logout")) : Effect.void)
  )

export const endByRefreshToken = (context: SessionContext, refreshToken: string) =>
  endFound(context, Effect.map(findByToken(context, refreshToken), (found) => found?.session))

export const endByAccessToken = (context: SessionContext, accessToken: string) =>
  Effect.flatMap(
    context.accessTokens.check(accessToken),
    ({ sessionId }) => endFound(context, context.repo.session(sessionId))
  )

export const verifyAccessToken = Effect.fnUntraced(function*(context: SessionContext, accessToken: string) {
  const { accessTokens, members, merchants, repo, settings } = context
  const claims = yield* accessTokens.check(accessToken)
  const session = yield* repo.session(claims.sessionId)
  if (session?.status !== "active" || session.merchantId !== claims.merchantId) {
    return yield* publicError("TOKEN_INVALID")
  }
  // Read from the database: authentication keeps the answer for as long as a change of the merchant may take to hold.
  const merchant = yield* merchants.read(session.merchantId)
  const wallet = yield* repo.wallet(session.walletId)
  const member = wallet === undefined ? null : yield* members.find(session.merchantId, wallet.person)
  if (merchant === undefined || wallet === undefined || member === null) return yield* publicError("TOKEN_INVALID")
  const grant: Grant = {
    merchantId: merchant.id as MerchantId,
    environment: merchant.defaultEnvironment,
    scope: "merchant",
    kind: "wallet",
    credential: session.walletId,
    session: session.id,
    apiVersion: newestVersion,
    endsAtMillis: claims.expiresAt * 1000,
    moneyFrom: Math.max(wallet.moneyFrom, member.moneyFrom ?? 0),
    // Of the sign-in: to refresh a token proves nothing of the wallet.
    ...(settings.environments.includes("mainnet") ? { freshUntil: session.createdAt + freshProofSeconds } : {}),
    role: member.role,
    permissions: allPermissions,
    person: member.person
  }
  return grant
})
