/** Receiving wallets between the wire and the actor. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import type { WalletOwner } from "../../runtime/Chains.ts"
import {
  Idempotency, jsonText, readEnvironment, replayed, requireMerchantScope, RequestInfo
} from "../../runtime/Http.ts"
import { Settings } from "../../runtime/Settings.ts"
import { publicError } from "../../schemas/Errors.ts"
import type { Environment, Family } from "../../schemas/Network.ts"
import { Wallets } from "./actor.ts"
import { WalletsApi } from "./api.ts"

const removed = JSON.stringify({ success: true })

export const handlers = HttpApiBuilder.group(WalletsApi, "wallets", Effect.fn(function*(group) {
  const wallets = yield* Wallets
  const { environments } = yield* Settings

  /** Whose wallet is written: a key writes in its own environment, a signed-in merchant in the one that is named. */
  const ownerOf = Effect.fnUntraced(function*(family: Family, asked: Environment | undefined) {
    const principal = yield* requireMerchantScope
    const environment = asked ?? principal.environment
    if (environment !== principal.environment && principal.kind === "key") {
      return yield* publicError("ENVIRONMENT_FORBIDDEN")
    }
    if (!environments.includes(environment)) {
      return yield* publicError(environment === "mainnet" ? "MAINNET_NOT_ENABLED" : "DEVNET_NOT_ENABLED")
    }
    const owner: WalletOwner = { merchantId: principal.merchantId, environment, family }
    const idempotency = yield* Idempotency
    const { requestId } = yield* RequestInfo
    return {
      owner,
      cause: { requestId, idempotencyKey: idempotency.key },
      keep: (text: string) => idempotency.reply(200, text)
    }
  })

  return group
    .handle("list", Effect.fnUntraced(function*({ query }) {
      const principal = yield* requireMerchantScope
      const environment = yield* readEnvironment(principal, query.environment)
      return jsonText(JSON.stringify({ wallets: yield* wallets.list(principal.merchantId, environment) }))
    }))
    .handle("put", Effect.fnUntraced(function*({ params, payload }) {
      const { cause, keep, owner } = yield* ownerOf(params.family, payload.environment)
      const given = { kind: payload.kind, value: payload.value, startIndex: payload.start_index }
      const shown = yield* wallets.put(owner, given, cause, (wallet) => keep(JSON.stringify(wallet))).pipe(replayed)
      return jsonText(JSON.stringify(shown))
    }))
    .handle("remove", Effect.fnUntraced(function*({ params, query }) {
      const { cause, keep, owner } = yield* ownerOf(params.family, query.environment)
      yield* wallets.remove(owner, cause, () => keep(removed)).pipe(replayed)
      return jsonText(removed)
    }))
}))
