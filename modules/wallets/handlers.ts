/** Receiving wallets between the wire and the actor. */
import { dieOnReplay } from "../../runtime/Commit.ts"
import { Effect } from "effect"
import type { WalletOwner } from "../../runtime/Chains.ts"
import {
  Idempotency,
  jsonText,
  readEnvironment,
  RequestInfo,
  requireMerchantScope,
  requirePerson
} from "../../runtime/Http.ts"
import type { Family } from "../../schemas/Network.ts"
import { Wallets } from "./actor.ts"
import { WalletsApi } from "./api.ts"
import * as Operations from "../../runtime/Operations.ts"

const removedBody = JSON.stringify({ success: true })

export const handlers = Operations.group(
  WalletsApi,
  "wallets",
  Effect.fn(function*(group) {
    const wallets = yield* Wallets

    /** Whose wallet is written, and why. */
    const ownerOf = Effect.fnUntraced(function*(family: Family) {
      const by = yield* requireMerchantScope
      const { environment, merchantId } = by
      const owner: WalletOwner = { merchantId, environment, family }
      const idempotency = yield* Idempotency
      const { requestId } = yield* RequestInfo
      return {
        owner,
        by,
        cause: { requestId, idempotencyKey: idempotency.key },
        replyOf: (text: string) => idempotency.reply(200, text)
      }
    })

    return group
      .handle(
        "list",
        Effect.fnUntraced(function*({ query }) {
          const principal = yield* requireMerchantScope
          const environment = yield* readEnvironment(principal, query.environment)
          return jsonText(JSON.stringify(yield* wallets.list(principal.merchantId, environment)))
        })
      )
      .handle(
        "put",
        Effect.fnUntraced(function*({ params, payload }) {
          const { by, cause, owner, replyOf } = yield* ownerOf(params.family)
          const newWallet = { kind: payload.kind, value: payload.value, startIndex: payload.start_index }
          // Where real money goes is a person's to say, and what a forwarder pays to everywhere.
          if (payload.kind === "forwarder" || owner.environment === "mainnet") yield* requirePerson
          const shown = yield* wallets.put(owner, newWallet, {
            by,
            cause,
            reply: (wallet) => replyOf(JSON.stringify(wallet))
          }).pipe(dieOnReplay)
          return jsonText(JSON.stringify(shown))
        })
      )
      .handle(
        "recovery",
        Effect.fnUntraced(function*({ params, query }) {
          const principal = yield* requirePerson
          const environment = yield* readEnvironment(principal, query.environment)
          const owner = { merchantId: principal.merchantId, environment, family: params.family }
          return jsonText(JSON.stringify({ wallets: yield* wallets.recoveries(owner) }))
        })
      )
      .handle(
        "proof",
        Effect.fnUntraced(function*({ params, query }) {
          const principal = yield* requireMerchantScope
          const environment = yield* readEnvironment(principal, query.environment)
          const owner = { merchantId: principal.merchantId, environment, family: params.family }
          return jsonText(JSON.stringify(yield* wallets.proof(owner, query.address)))
        })
      )
      .handle(
        "confirmRecovery",
        Effect.fnUntraced(function*({ params, payload }) {
          const { by, cause, owner, replyOf } = yield* ownerOf(params.family)
          yield* requirePerson
          const confirmed = yield* wallets.confirmRecovery(owner, payload.checksum, {
            by,
            cause,
            reply: (answer) => replyOf(JSON.stringify(answer))
          }).pipe(dieOnReplay)
          return jsonText(JSON.stringify(confirmed))
        })
      )
      .handle(
        "approve",
        Effect.fnUntraced(function*({ params }) {
          const { by, cause, owner, replyOf } = yield* ownerOf(params.family)
          yield* requirePerson
          const approved = yield* wallets.approve(owner, params.id, {
            by,
            cause,
            reply: (wallet) => replyOf(JSON.stringify(wallet))
          }).pipe(dieOnReplay)
          return jsonText(JSON.stringify(approved))
        })
      )
      .handle(
        "cancel",
        Effect.fnUntraced(function*({ params }) {
          const { by, cause, owner, replyOf } = yield* ownerOf(params.family)
          yield* requirePerson
          yield* wallets.cancel(owner, params.id, { by, cause, reply: () => replyOf(removedBody) }).pipe(dieOnReplay)
          return jsonText(removedBody)
        })
      )
      .handle(
        "remove",
        Effect.fnUntraced(function*({ params }) {
          const { by, cause, owner, replyOf } = yield* ownerOf(params.family)
          if (owner.environment === "mainnet") yield* requirePerson
          yield* wallets.remove(owner, { by, cause, reply: () => replyOf(removedBody) }).pipe(dieOnReplay)
          return jsonText(removedBody)
        })
      )
  })
)
