/** Receiving wallets between the wire and the actor. */
import { dieOnReplay } from "../../runtime/Commit.ts"
import { Effect } from "effect"
import type { WalletOwner } from "../../runtime/Chains.ts"
import { Idempotency, jsonText, readEnvironment, RequestInfo, requireMerchantScope } from "../../runtime/Http.ts"
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
      const { credential, environment, merchantId } = yield* requireMerchantScope
      const owner: WalletOwner = { merchantId, environment, family }
      const idempotency = yield* Idempotency
      const { requestId } = yield* RequestInfo
      return {
        owner,
        actor: credential,
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
          return jsonText(JSON.stringify({ wallets: yield* wallets.list(principal.merchantId, environment) }))
        })
      )
      .handle(
        "put",
        Effect.fnUntraced(function*({ params, payload }) {
          const { actor, cause, owner, replyOf } = yield* ownerOf(params.family)
          const newWallet = { kind: payload.kind, value: payload.value, startIndex: payload.start_index }
          const shown = yield* wallets.put(owner, newWallet, {
            actor,
            cause,
            reply: (wallet) => replyOf(JSON.stringify(wallet))
          }).pipe(dieOnReplay)
          return jsonText(JSON.stringify(shown))
        })
      )
      .handle(
        "remove",
        Effect.fnUntraced(function*({ params }) {
          const { actor, cause, owner, replyOf } = yield* ownerOf(params.family)
          yield* wallets.remove(owner, { actor, cause, reply: () => replyOf(removedBody) }).pipe(dieOnReplay)
          return jsonText(removedBody)
        })
      )
  })
)
