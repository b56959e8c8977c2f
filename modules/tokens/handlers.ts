/** Wire <-> catalogue and policy. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Chains } from "../../runtime/Chains.ts"
import { Idempotency, jsonText, readEnvironment, replayed, RequestInfo, requireMerchantScope } from "../../runtime/Http.ts"
import { Quotes } from "../../runtime/Quotes.ts"
import { Settings } from "../../runtime/Settings.ts"
import { TokenCatalog } from "../../runtime/TokenCatalog.ts"
import * as Search from "../../runtime/tokencatalog/Search.ts"
import type { Principal } from "../../schemas/Auth.ts"
import { publicError } from "../../schemas/Errors.ts"
import type { Environment } from "../../schemas/Network.ts"
import { type PolicyChange, TokenPolicies } from "./actor.ts"
import { searchLimits, TokensApi } from "./api.ts"
import {
  block,
  blockedFilter,
  changes,
  choose,
  foundToken,
  isBlocked,
  policyBody,
  type PolicyState,
  tokenList
} from "./machine.ts"

const flagOf = (text: "true" | "false" | undefined): boolean | null => (text === undefined ? null : text === "true")

export const handlers = HttpApiBuilder.group(TokensApi, "tokens", Effect.fn(function*(handlers) {
  const catalog = yield* TokenCatalog
  const chains = yield* Chains
  const policies = yield* TokenPolicies
  const quotes = yield* Quotes
  const settings = yield* Settings
  const search = yield* Search.make

  const policyOf = Effect.fnUntraced(function*(asked: Environment | undefined) {
    const principal = yield* requireMerchantScope
    return yield* policies.get(principal.merchantId, yield* readEnvironment(principal, asked))
  })

  /** A key writes in its own environment; a wallet where it says, if that is served here. */
  const writtenEnvironment = ({ environment, kind }: Principal, asked: Environment | undefined) => {
    if (asked === undefined || asked === environment) return Effect.succeed(environment)
    if (kind === "key") return Effect.fail(publicError("ENVIRONMENT_FORBIDDEN", { param: "environment" }))
    return settings.environments.includes(asked)
      ? Effect.succeed(asked)
      : Effect.fail(publicError(asked === "mainnet" ? "MAINNET_NOT_ENABLED" : "DEVNET_NOT_ENABLED"))
  }

  /** Changes the policy of `environment` and answers what `body` makes of it; the reply lands in the same commit. */
  const change = Effect.fnUntraced(function*(
    { merchantId }: Principal,
    environment: Environment,
    decide: PolicyChange["decide"],
    body: (before: PolicyState, after: PolicyState) => object
  ) {
    const idempotency = yield* Idempotency
    const { requestId } = yield* RequestInfo
    let text = ""
    yield* policies.change(merchantId, environment, { requestId, idempotencyKey: idempotency.key }, {
      decide,
      reply: (before, after) => {
        text = JSON.stringify(body(before, after))
        return idempotency.reply(200, text)
      }
    }).pipe(replayed)
    return jsonText(text)
  })

  const known = ({ environment }: Principal, tokenIds: ReadonlyArray<number>) =>
    tokenIds.every((id) => catalog.get(id)?.environment === environment)
      ? Effect.void
      : Effect.fail(publicError("TOKEN_NOT_FOUND"))

  return handlers
    .handle("list", Effect.fnUntraced(function*({ query }) {
      const policy = yield* policyOf(query.environment)
      return tokenList(policy, catalog.list(policy.environment), quotes.latest)
    }))
    .handle("search", Effect.fnUntraced(function*({ query }) {
      const policy = yield* policyOf(query.environment)
      const { limit = searchLimits.byDefault, offset = 0 } = query
      const { tokens, total } = yield* search(policy.environment, {
        text: query.search ?? null,
        network: query.network ?? null,
        type: query.token_type ?? null,
        active: flagOf(query.is_active),
        stable: flagOf(query.supports_stable_settlement),
        keep: blockedFilter(policy, flagOf(query.blocked)),
        limit,
        offset
      })
      return {
        acceptance_policy: policy.policy,
        environment: policy.environment,
        total,
        limit,
        offset,
        tokens: tokens.map((token) =>
          foundToken(
            token,
            isBlocked(policy, token.id),
            quotes.latest(token),
            chains.driver(token.network, token.environment) !== undefined
          )
        )
      }
    }))
    .handle("policy", Effect.fnUntraced(function*({ query }) {
      const policy = yield* policyOf(query.environment)
      return jsonText(JSON.stringify(policyBody(policy)))
    }))
    .handle("choosePolicy", Effect.fnUntraced(function*({ payload }) {
      const principal = yield* requireMerchantScope
      const environment = yield* writtenEnvironment(principal, payload.environment)
      return yield* change(
        principal,
        environment,
        (current) => choose(current, payload.acceptance_policy),
        (_, after) => policyBody(after)
      )
    }))
    .handle("block", Effect.fnUntraced(function*({ params: { tokenId }, payload: { blocked } }) {
      const principal = yield* requireMerchantScope
      yield* known(principal, [tokenId])
      return yield* change(
        principal,
        principal.environment,
        (current) => block(current, [tokenId], blocked),
        () => ({ success: true, blocked })
      )
    }))
    .handle("blockBulk", Effect.fnUntraced(function*({ payload: { blocked, token_ids } }) {
      const principal = yield* requireMerchantScope
      yield* known(principal, token_ids)
      return yield* change(
        principal,
        principal.environment,
        (current) => block(current, token_ids, blocked),
        (before, after) => ({ success: true, updated: changes(before.blocked, after.blocked) })
      )
    }))
}))
