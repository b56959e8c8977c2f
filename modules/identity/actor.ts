/** Sign-ins: issues what a wallet signs, opens and ends sessions, links wallets to merchants. */
import { Context, Effect, Layer } from "effect"
import { createHash, createHmac, randomBytes } from "node:crypto"
import { nowSeconds } from "../../runtime/Clock.ts"
import { Actors } from "../../runtime/Actors.ts"
import { Commit, type Conflict, noCause, retryConflicts, systemMerchant, type Write } from "../../runtime/Commit.ts"
import { accessSeconds, type AccessTokens, makeAccessTokens } from "../../runtime/http/AccessToken.ts"
import type { Grant } from "../../runtime/Http.ts"
import { Leases } from "../../runtime/Leases.ts"
import { Secrets } from "../../runtime/Secrets.ts"
import { Settings } from "../../runtime/Settings.ts"
import { type SignInDriver, type SignInProof, SignIns } from "../../runtime/SignIns.ts"
import { uuidOf, uuidV4 } from "../../runtime/Uuid.ts"
import { PublicError, publicError } from "../../schemas/Errors.ts"
import type { MerchantId } from "../../schemas/Ids.ts"
import { familyOf, type Network } from "../../schemas/Network.ts"
import { newestVersion } from "../../schemas/Version.ts"
import { Merchants, type MerchantState } from "../auth/plugin.ts"
import {
  type Account,
  accountName,
  challengeSeconds,
  type ChallengeState,
  decideRefresh,
  end,
  isOpen,
  linkedWallet,
  markUsed,
  merchantNameOf,
  objectionToLink,
  refreshSeconds,
  rotate,
  type SessionState,
  sessionsToDisplace,
  statementFor,
  unlink,
  type WalletState,
  withSignIn
} from "./rules.ts"
import * as Repo from "./repo.ts"

/**
 * Random bytes of a nonce and of a refresh token (modules/docs/reference/authentication.md#signing-in-with-a-wallet).
 */
const nonceBytes = 16
const refreshBytes = 32

const refreshPattern = /^rt_[A-Za-z0-9_-]{43}$/

/** How often a decision is made anew when another commit was faster. */
const conflictRetries = 3

/** A driver answers within 3 s; one that does not is given up a little later. */
const verifyTimeout = "4 seconds"

const walletIdOf = (account: Account): string => `siw_${uuidOf(`sign-in ${accountName(account)}`)}`

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

/** A message to sign. */
export interface IssuedChallenge {
  readonly nonce: string
  readonly message: string
  /** Epoch seconds. */
  readonly expiresAt: number
}

/** Whether a wallet that belongs to no merchant may sign in, and so make one. */
export type Signup = "open" | "closed"

const unavailable = publicError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 1 })

/** Loads and decides anew while other commits are faster. */
const retryOnConflict = <A, E extends { readonly _tag: string }>(
  attempt: Effect.Effect<A, E | Conflict>
): Effect.Effect<A, Exclude<E, Conflict> | PublicError> =>
  attempt.pipe(
    retryConflicts(conflictRetries),
    Effect.mapError((error) => error._tag === "Conflict" ? unavailable : error as Exclude<E, Conflict>)
  )

/** As {@link retryOnConflict}, one change of a wallet or of a merchant's wallets at a time on this instance. */
const makeInTurn = Effect.map(Actors, ({ send }) =>
<A, E extends { readonly _tag: string }>(
  kind: "wallet" | "merchant",
  id: string | number,
  attempt: Effect.Effect<A, E | Conflict>
) => retryOnConflict(send(`identity-${kind}`, String(id), attempt)))

/** What sign-ins and links share: the drivers, the messages, and the commit. */
const makeChallenges = Effect.gen(function*() {
  const commit = yield* Commit
  const signIns = yield* SignIns
  const settings = yield* Settings
  const repo = yield* Repo.make
  const domain = new URL(settings.publicUrl).host
  // A message names a chain: the real one wherever real money is served.
  const environment = settings.environments.includes("mainnet") ? "mainnet" : "devnet"

  const append = (merchantId: number, writes: ReadonlyArray<Write>) =>
    Effect.catchTag(
      commit.append({ merchantId, environment: settings.environments[0], cause: noCause, writes, events: [] }),
      "IdempotentReplay",
      (error) => Effect.die(error)
    )

  const unsupportedNetwork = publicError("UNSUPPORTED_NETWORK", {
    message: "Wallets of this network cannot sign in here",
    param: "network"
  })

  const driverOf = (network: Network) => {
    const driver = signIns.driver(familyOf(network))
    const chainId = driver?.chainId(network, environment) ?? null
    return driver === undefined || chainId === null ? undefined : { driver, chainId }
  }

  /** The account that an address of a network names, as an operator spells it. */
  const accountOf = (network: Network, text: string, isContract: boolean): Effect.Effect<Account, PublicError> => {
    const found = driverOf(network)
    if (found === undefined) return Effect.fail(unsupportedNetwork)
    const address = found.driver.canonicalAddress(text)
    return address === null
      ? Effect.fail(publicError("WALLET_ADDRESS_INVALID", { param: "address" }))
      : Effect.succeed({ family: familyOf(network), address, chainId: isContract ? found.chainId : null })
  }

  /** Issues a message for one use within {@link challengeSeconds}. */
  const issue = Effect.fnUntraced(function*(network: Network, text: string, linkTo: number | null) {
    const found = driverOf(network)
    if (found === undefined) return yield* unsupportedNetwork
    const { address } = yield* accountOf(network, text, false)
    const now = yield* nowSeconds
    const nonce = yield* Effect.sync(() => randomBytes(nonceBytes).toString("hex"))
    const challenge = {
      address,
      network,
      chainId: found.chainId,
      domain,
      uri: settings.publicUrl,
      statement: statementFor(linkTo),
      nonce,
      issuedAt: now,
      expiresAt: now + challengeSeconds
    }
    const message = found.driver.message(challenge)
    const state: ChallengeState = { id: idOf(message), linkTo, message, challenge, used: false, version: 1 }
    yield* Effect.catchTag(
      append(linkTo ?? systemMerchant, [Repo.challengeWrite(state)]),
      "Conflict",
      (error) => Effect.die(error)
    )
    const issued: IssuedChallenge = { nonce, message, expiresAt: challenge.expiresAt }
    return issued
  })

  const idOf = (message: string): string => createHash("sha256").update(message).digest("hex")

  /** The open challenge that is this message, byte for byte. */
  const open = Effect.fnUntraced(function*(message: string, linkTo: number | null) {
    const state = yield* repo.challenge(idOf(message))
    const now = yield* nowSeconds
    return state !== undefined && state.message === message && isOpen(state, linkTo, now)
      ? state
      : yield* publicError("NONCE_INVALID")
  })

  /** The account that signed, once: the caller commits the challenge's use with what follows from it. */
  const verifyProof = Effect.fnUntraced(function*(proof: SignInProof, linkTo: number | null) {
    const { challenge } = yield* open(proof.message, linkTo)
    const driver: SignInDriver | undefined = signIns.driver(familyOf(challenge.network))
    if (driver === undefined) return yield* unsupportedNetwork
    const account = yield* driver.verify(challenge, proof).pipe(
      Effect.timeoutOrElse({ duration: verifyTimeout, orElse: () => Effect.fail(unavailable) }),
      Effect.catchTags({
        SignInUnavailable: (error) =>
          Effect.andThen(
            Effect.logWarning("a sign-in could not be checked", error),
            Effect.fail(publicError("NETWORK_DEGRADED", { message: error.reason, retryAfterSeconds: 1 }))
          ),
        SignInRefused: ({ reason }) => Effect.fail(publicError("SIGNATURE_INVALID", { message: reason }))
      })
    )
    // The port promises as much; whoever breaks the promise lets nobody in.
    if (account === null || account.family !== driver.family || account.address !== challenge.address) {
      return yield* publicError("SIGNATURE_INVALID")
    }
    return account
  })

  return { accountOf, append, inTurn: yield* makeInTurn, issue, open, verifyProof, repo }
})

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
  /** The keys that check access tokens. */
  readonly publishedKeys: AccessTokens["published"]
}>()("tillwire/modules/identity/Sessions") {
  static readonly layer = (signup: Signup) =>
    Layer.effect(
      Sessions,
      Effect.gen(function*() {
        const { append, inTurn, issue, open: openChallenge, verifyProof, repo } = yield* makeChallenges
        const merchants = yield* Merchants
        const accessTokens = yield* makeAccessTokens
        const peppers = (yield* Secrets).keys("pepper")

        const hashesOf = (token: string) =>
          peppers.map(({ key }) => createHmac("sha256", key).update(token).digest("hex"))

        const newRefreshToken = Effect.sync(() => {
          const token = `rt_${randomBytes(refreshBytes).toString("base64url")}`
          return { token, hash: hashesOf(token)[0]! }
        })

        const tokensOf = (session: SessionState, refreshToken: string): Effect.Effect<Tokens> =>
          Effect.map(accessTokens.mint({ ...session, sessionId: session.id }), (accessToken) => ({
            accessToken,
            accessSeconds,
            refreshToken,
            refreshSeconds
          }))

        /** Whose wallet an account is; a new merchant's where it is nobody's and sign-up is open. */
        const ownerOf = Effect.fnUntraced(function*(account: Account, now: number) {
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

        const open = Effect.fnUntraced(function*(proof: SignInProof) {
          const account = yield* verifyProof(proof, null)
          return yield* inTurn(
            "wallet",
            walletIdOf(account),
            Effect.gen(function*() {
              const challenge = yield* openChallenge(proof.message, null)
              const now = yield* nowSeconds
              const { created, merchant, wallet, writes } = yield* ownerOf(account, now)
              const displaced = sessionsToDisplace(yield* repo.openSessions(wallet.id))
              const refresh = yield* newRefreshToken
              const session: SessionState = {
                id: `ses_${yield* uuidV4}`,
                merchantId: merchant.id,
                walletId: wallet.id,
                status: "active",
                endReason: null,
                refreshHash: refresh.hash,
                createdAt: now,
                expiresAt: now + refreshSeconds,
                version: 1
              }
              yield* append(merchant.id, [
                ...writes,
                Repo.challengeWrite(markUsed(challenge)),
                Repo.walletWrite(wallet),
                Repo.sessionWrite(session),
                Repo.refreshTokenWrite(session),
                ...displaced.map((one) => Repo.sessionWrite(end(one, "displaced")))
              ])
              const answer: SignInResult = { tokens: yield* tokensOf(session, refresh.token), merchant, created }
              return answer
            })
          )
        })

        const sessionOf = (refreshToken: string) =>
          refreshPattern.test(refreshToken) ? repo.sessionByToken(hashesOf(refreshToken)) : Effect.succeed(undefined)

        const endSession = (session: SessionState, reason: "logout" | "reused") =>
          append(session.merchantId, [Repo.sessionWrite(end(session, reason))])

        const rotateTokens = Effect.fnUntraced(function*(session: SessionState, now: number) {
          const refresh = yield* newRefreshToken
          const next = rotate(session, refresh.hash, now)
          // Whoever was faster by a moment has the new tokens: this is the loser of a race, not a token used before.
          yield* append(session.merchantId, [Repo.sessionWrite(next), Repo.refreshTokenWrite(next)]).pipe(
            Effect.catchTag("Conflict", () =>
              Effect.fail(publicError("TOKEN_INVALID", { message: "This refresh token is in use by another call" })))
          )
          return yield* tokensOf(next, refresh.token)
        })

        const refresh = (refreshToken: string) =>
          retryOnConflict(Effect.gen(function*() {
            const found = yield* sessionOf(refreshToken)
            if (found === undefined) {
              return yield* publicError("TOKEN_INVALID")
            }
            const now = yield* nowSeconds
            const decision = decideRefresh(found.session, found.hash, now)
            if (decision === "rotate") {
              return yield* rotateTokens(found.session, now)
            }
            if (decision !== "reused") {
              return yield* publicError(decision)
            }
            yield* endSession(found.session, "reused")
            return yield* publicError("REFRESH_REUSED")
          }))

        /** Ends what is still active of what `find` finds. */
        const endFound = (find: Effect.Effect<SessionState | undefined>) =>
          retryOnConflict(Effect.flatMap(find, (session) =>
            session?.status === "active" ? Effect.asVoid(endSession(session, "logout")) : Effect.void))

        const verify = Effect.fnUntraced(function*(accessToken: string) {
          const claims = yield* accessTokens.check(accessToken)
          const session = yield* repo.session(claims.sessionId)
          if (session?.status !== "active" || session.merchantId !== claims.merchantId) {
            return yield* publicError("TOKEN_INVALID")
          }
          // Not out of a memory: the answer is remembered for as long as a change of the merchant may take to be
          // heeded.
          const merchant = yield* merchants.read(session.merchantId)
          if (merchant === undefined) {
            return yield* publicError("TOKEN_INVALID")
          }
          const grant: Grant = {
            merchantId: merchant.id as MerchantId,
            environment: merchant.defaultEnvironment,
            scope: "merchant",
            kind: "wallet",
            credential: session.walletId,
            session: session.id,
            apiVersion: newestVersion,
            endsAtMillis: claims.expiresAt * 1000
          }
          return grant
        })

        return Sessions.of({
          issue: (network, address) =>
            issue(network, address, null),
          open,
          refresh,
          end: (token) =>
            endFound(Effect.map(sessionOf(token), (found) =>
              found?.session)),
          endByAccess: (token) =>
            Effect.flatMap(accessTokens.check(token), ({ sessionId }) => endFound(repo.session(sessionId))),
          verify,
          active: (ids) => Effect.flatMap(nowSeconds, (now) => repo.active(ids, now)),
          publishedKeys: accessTokens.published
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
  readonly link: (merchantId: number, proof: SignInProof) => Effect.Effect<WalletState, PublicError>
  /**
   * Links an account on the operator's word. `isContract`: an account that is a contract on that network (EIP-1271).
   * Errors: `NOT_FOUND` without such a merchant, `UNSUPPORTED_NETWORK`, `WALLET_ADDRESS_INVALID`,
   * `WALLET_LINKED_ELSEWHERE`, `WALLET_LIMIT_REACHED`.
   */
  readonly linkNamed: (request: {
    readonly merchantId: number
    readonly network: Network
    readonly address: string
    readonly isContract: boolean
  }) => Effect.Effect<WalletState, PublicError>
  /**
   * Ends the wallet's sessions with its link. Errors: `NOT_FOUND`; `INVALID_TRANSITION` for a merchant's last wallet
   * unless `evenLast`: nobody could sign in for it any more.
   */
  readonly unlink: (merchantId: number, id: string, evenLast: boolean) => Effect.Effect<WalletState, PublicError>
}>()("tillwire/modules/identity/Wallets") {
  static readonly layer = Layer.effect(
    Wallets,
    Effect.gen(function*() {
      const { accountOf, append, inTurn, issue, open, verifyProof, repo } = yield* makeChallenges
      const merchants = yield* Merchants

      const merchantOf = (id: number) =>
        Effect.flatMap(merchants.read(id), (merchant) =>
          merchant === undefined
            ? Effect.fail(publicError("NOT_FOUND", { message: "No such merchant" }))
            : Effect.succeed(merchant))

      /** Links `account`, with `more` in the same commit; nothing but `more` where it is linked already. */
      const linkAccount = Effect.fnUntraced(
        function*(merchantId: number, account: Account, more: ReadonlyArray<Write>) {
          const merchant = yield* merchantOf(merchantId)
          const id = walletIdOf(account)
          const before = yield* repo.wallet(id)
          const objection = objectionToLink(merchantId, before, yield* repo.wallets(merchantId))
          if (objection !== undefined) return yield* objection
          const isLinked = before?.status === "linked"
          const wallet = isLinked ? before : linkedWallet(id, account, merchantId, before, yield* nowSeconds)
          const writes = isLinked ? more : [...more, Repo.walletWrite(wallet), merchants.touch(merchant)]
          if (writes.length > 0) yield* append(merchantId, writes)
          return wallet
        }
      )

      const link = Effect.fnUntraced(function*(merchantId: number, proof: SignInProof) {
        const account = yield* verifyProof(proof, merchantId)
        return yield* inTurn(
          "merchant",
          merchantId,
          Effect.gen(function*() {
            const challenge = yield* open(proof.message, merchantId)
            return yield* linkAccount(merchantId, account, [Repo.challengeWrite(markUsed(challenge))])
          })
        )
      })

      const unlinkOnce = Effect.fnUntraced(function*(merchantId: number, id: string, evenLast: boolean) {
        const merchant = yield* merchantOf(merchantId)
        const wallets = yield* repo.wallets(merchantId)
        const wallet = wallets.find((one) => one.id === id)
        if (wallet === undefined) return yield* publicError("NOT_FOUND", { message: "No such wallet" })
        if (wallets.length === 1 && !evenLast) {
          return yield* publicError("INVALID_TRANSITION", {
            message: "This is the merchant's last wallet: link another one first"
          })
        }
        const sessions = yield* repo.openSessions(id)
        const unlinked = unlink(wallet)
        yield* append(merchantId, [
          merchants.touch(merchant),
          Repo.walletWrite(unlinked),
          ...sessions.map((session) => Repo.sessionWrite(end(session, "unlinked")))
        ])
        return unlinked
      })

      return Wallets.of({
        list: repo.wallets,
        issue: (merchantId, network, address) => issue(network, address, merchantId),
        link,
        linkNamed: ({ address, isContract, merchantId, network }) =>
          Effect.flatMap(
            accountOf(network, address, isContract),
            (account) => inTurn("merchant", merchantId, linkAccount(merchantId, account, []))
          ),
        unlink: (merchantId, id, evenLast) => inTurn("merchant", merchantId, unlinkOnce(merchantId, id, evenLast))
      })
    })
  )
}

/** What has ended is kept for a day more, so that whoever comes late is told why it is refused. */
const retentionSeconds = 86_400

const pauseWhileBehind = "100 millis"
const pauseWhenDone = "10 minutes"
const leaseMillis = 30_000

/** Deletes messages, tokens and sessions that ended, in small batches, on one instance at a time. */
export const pruneSignIns = Effect.gen(function*() {
  const repo = yield* Repo.make
  const leases = yield* Leases
  const round = Effect.gen(function*() {
    const deleted = yield* repo.prune((yield* nowSeconds) - retentionSeconds)
    yield* Effect.sleep(deleted < Repo.pruneBatch ? pauseWhenDone : pauseWhileBehind)
  }).pipe(
    Effect.catchCause((cause) =>
      Effect.andThen(Effect.logWarning("sign-ins were not pruned", cause), Effect.sleep(pauseWhenDone))
    )
  )
  yield* Effect.forkScoped(leases.hold("identity-prune", leaseMillis, () => Effect.forever(round)))
})
