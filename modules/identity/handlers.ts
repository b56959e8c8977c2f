/** Wire to actor and back. */
import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { nowSeconds } from "../../runtime/Clock.ts"
import { credentialOf } from "../../runtime/http/Authentication.ts"
import { type Grant, RequestInfo, requirePerson } from "../../runtime/Http.ts"
import { requireFreshProof, requireRight } from "../../runtime/Rights.ts"
import { objectionToRight } from "../../schemas/Authorization.ts"
import { Settings } from "../../runtime/Settings.ts"
import type { SignInProof } from "../../runtime/SignIns.ts"
import { publicError } from "../../schemas/Errors.ts"
import { MerchantId } from "../../schemas/Ids.ts"
import { firstOwnerPerson } from "../../schemas/Roles.ts"
import { Sessions, Wallets } from "./actor.ts"
import type { IssuedChallenge } from "./actor/Challenges.ts"
import type { Tokens } from "./actor/SessionCalls.ts"
import { IdentityApi, type SignInRequest, SignInWallet } from "./api.ts"
import { holderOf, type WalletState } from "./rules.ts"
import { IdentityRpc } from "./rpc.ts"
import * as Operations from "../../runtime/Operations.ts"

const ok = <A>(data: A) => ({ success: true as const, data })

const nonceOnWire = ({ expiresAt, message, nonce }: IssuedChallenge) => ok({ nonce, message, expires_at: expiresAt })

const proofOf = ({ message, proof, public_key, signature }: typeof SignInRequest.Type): SignInProof => ({
  message,
  signature,
  publicKey: public_key ?? null,
  proof: proof ?? null
})

const tokensOnWire = (tokens: Tokens) => ({
  access_token: tokens.accessToken,
  token_type: "Bearer" as const,
  expires_in: tokens.accessSeconds,
  refresh_token: tokens.refreshToken,
  refresh_expires_in: tokens.refreshSeconds
})

export const signInHandlers = Operations.group(
  IdentityApi,
  "sign-in",
  Effect.fn(function*(group) {
    const sessions = yield* Sessions

    const logOut = Effect.fnUntraced(function*(refreshToken: string | null) {
      if (refreshToken !== null) return yield* sessions.end(refreshToken)
      const credential = credentialOf((yield* HttpServerRequest.HttpServerRequest).headers)
      if (credential._tag === "Bearer") return yield* sessions.endByAccess(credential.token)
      return yield* publicError("UNAUTHORIZED", { message: "Send refresh_token, or a token as Authorization: Bearer" })
    })

    return group
      .handle("nonce", ({ payload }) => Effect.map(sessions.issue(payload.network, payload.address), nonceOnWire))
      .handle(
        "verify",
        ({ payload }) =>
          Effect.map(sessions.open(proofOf(payload)), ({ created, merchant, tokens }) =>
            ok({
              ...tokensOnWire(tokens),
              merchant: {
                id: MerchantId.make(merchant.id),
                name: merchant.name,
                environment: merchant.defaultEnvironment,
                created
              }
            }))
      )
      .handle(
        "refresh",
        ({ payload }) => Effect.map(sessions.refresh(payload.refresh_token), (tokens) => ok(tokensOnWire(tokens)))
      )
      .handle(
        "logout",
        ({ payload }) => Effect.as(logOut(payload.refresh_token ?? null), ok({ logged_out: true as const }))
      )
  })
)

/** Null stands for the first owner, whose wallets were there before anybody knew the people of merchants. */
const personOf = ({ person }: Grant): string | null => person === firstOwnerPerson ? null : person

const callOf = ({ credential }: Grant) => Effect.map(RequestInfo, ({ requestId }) => ({ actor: credential, requestId }))

const isOwn = (caller: Grant, wallet: WalletState): boolean => wallet.person === personOf(caller)

/** Everybody sees the wallets they sign in by, and who manages the team those of all. */
const isShownTo = (caller: Grant) => (wallet: WalletState): boolean =>
  isOwn(caller, wallet) || objectionToRight(caller, "team:write", caller.environment) === undefined

/** `caller`: null for an operator, who signs in by none. */
const walletOnWire = (caller: Grant | null, wallet: WalletState) =>
  SignInWallet.make({
    id: wallet.id as typeof SignInWallet.Type["id"],
    object: "sign_in_wallet",
    family: wallet.family,
    address: wallet.address,
    chain_id: wallet.chainId,
    is_own: caller !== null && isOwn(caller, wallet),
    linked_at: wallet.linkedAt,
    last_sign_in_at: wallet.signedInAt,
    money_from: Math.max(wallet.moneyFrom, wallet.linkedAt)
  })

export const walletHandlers = Operations.group(
  IdentityApi,
  "sign-in-wallets",
  Effect.fn(function*(group) {
    const wallets = yield* Wallets
    const settings = yield* Settings
    return group
      .handle(
        "list",
        Effect.fnUntraced(function*() {
          const caller = yield* requirePerson
          const found = (yield* wallets.list(caller.merchantId)).filter(isShownTo(caller))
          return ok({
            object: "list" as const,
            data: found.map((wallet) => walletOnWire(caller, wallet)),
            has_more: false as const
          })
        })
      )
      .handle(
        "nonce",
        Effect.fnUntraced(function*({ payload }) {
          const { merchantId } = yield* requirePerson
          return nonceOnWire(yield* wallets.issue(merchantId, payload.network, payload.address))
        })
      )
      .handle(
        "link",
        Effect.fnUntraced(function*({ payload }) {
          const caller = yield* requirePerson
          yield* requireFreshProof
          const servesMainnet = settings.environments.includes("mainnet")
          const holder = holderOf(personOf(caller), caller.moneyFrom ?? 0, servesMainnet, yield* nowSeconds)
          const call = yield* callOf(caller)
          return ok(walletOnWire(caller, yield* wallets.link(caller.merchantId, proofOf(payload), holder, call)))
        })
      )
      .handle(
        "unlink",
        Effect.fnUntraced(function*({ params }) {
          const caller = yield* requirePerson
          const [wallet] = (yield* wallets.list(caller.merchantId)).filter(({ id }) => id === params.id)
          // Whoever came by a link or a recovery must not shut the others out before they can react.
          if (wallet !== undefined && !isOwn(caller, wallet) && isShownTo(caller)(wallet)) {
            yield* requireRight("team:write")
          }
          const isTheirs = (found: WalletState) => isShownTo(caller)(found) && found.person === wallet?.person
          const call = yield* callOf(caller)
          return ok(walletOnWire(caller, yield* wallets.unlink(caller.merchantId, params.id, false, call, isTheirs)))
        })
      )
  })
)

/** The key set changes with the deployment's masters only; a token under a new one makes its reader look again. */
const keySetHeaders = { "cache-control": "public, max-age=300", "access-control-allow-origin": "*" }

export const keySetHandlers = Operations.group(
  IdentityApi,
  "key-set",
  Effect.fn(function*(group) {
    const keys = (yield* Sessions).publishedKeys
    return group.handle(
      "get",
      () => Effect.succeed(HttpServerResponse.jsonUnsafe({ keys }, { headers: keySetHeaders }))
    )
  })
)

/** The calls of `IdentityRpc`. */
export const rpcHandlers = Effect.gen(function*() {
  const wallets = yield* Wallets
  return IdentityRpc.of({
    "identity.wallets.list": ({ merchant_id }) =>
      Effect.map(wallets.list(merchant_id), (found) => found.map((wallet) => walletOnWire(null, wallet))),
    "identity.wallets.link": ({ address, contract, merchant_id, network }) =>
      Effect.map(
        wallets.linkNamed({ merchantId: merchant_id, network, address, isContract: contract ?? false }),
        (wallet) => walletOnWire(null, wallet)
      ),
    "identity.wallets.unlink": ({ merchant_id, wallet_id }) =>
      Effect.map(wallets.unlink(merchant_id, wallet_id, true), (wallet) => walletOnWire(null, wallet))
  })
})
