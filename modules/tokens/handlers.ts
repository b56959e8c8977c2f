/** Wire <-> catalogue and policy. */
import { dieOnReplay } from "../../runtime/Commit.ts"
import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { createHash } from "node:crypto"
import { Chains } from "../../runtime/Chains.ts"
import { Idempotency, jsonText, readEnvironment, RequestInfo, requireMerchantScope } from "../../runtime/Http.ts"
import { matchesEtag } from "../../runtime/http/Etags.ts"
import { Prices } from "../../runtime/Prices.ts"
import { TokenCatalog } from "../../runtime/TokenCatalog.ts"
import * as Search from "../../runtime/tokencatalog/Search.ts"
import type { Principal } from "../../schemas/Auth.ts"
import { publicError } from "../../schemas/Errors.ts"
import { type Environment, type Family, familyOf } from "../../schemas/Network.ts"
import { tokenBadge } from "../../schemas/TokenBadge.ts"
import { type PolicyChange, TokenPolicies } from "./actor.ts"
import { searchLimits, ServedTokensApi } from "./api.ts"
import {
  block,
  blockedFilter,
  choosePolicy,
  countDifferences,
  isBlocked,
  policyBody,
  type PolicyState,
  searchResult,
  tokenList
} from "./rules.ts"
import * as Operations from "../../runtime/Operations.ts"

/** `<symbol>.svg`; a symbol has at most 64 characters. */
const badgeName = /^(.{1,64})\.svg$/su

/** How long who has a badge shows it without asking again: a week. It changes with the generator only. */
const badgeSeconds = 604_800

const badgeHeaders = {
  "content-security-policy": "default-src 'none'",
  "cache-control": `public, max-age=${badgeSeconds}`,
  "x-content-type-options": "nosniff",
  // Merchants show them on pages of their own.
  "cross-origin-resource-policy": "cross-origin",
  "access-control-allow-origin": "*"
}

export const badgeHandlers = Operations.group(
  ServedTokensApi,
  "tokenBadges",
  (handlers) =>
    handlers.handle(
      "badge",
      Effect.fnUntraced(function*({ params }) {
        const symbol = badgeName.exec(params.name)?.[1]
        if (symbol === undefined) return yield* publicError("NOT_FOUND")
        const { headers: requestHeaders } = yield* HttpServerRequest.HttpServerRequest
        const svg = tokenBadge(symbol)
        const etag = `"${createHash("sha256").update(svg).digest("hex").slice(0, 16)}"`
        const headers = { ...badgeHeaders, etag }
        return matchesEtag(requestHeaders["if-none-match"], etag)
          ? HttpServerResponse.empty({ status: 304, headers })
          : HttpServerResponse.text(svg, { contentType: "image/svg+xml", headers })
      })
    )
)

const flagOf = (text: "true" | "false" | undefined): boolean | null => (text === undefined ? null : text === "true")

export const handlers = Operations.group(
  ServedTokensApi,
  "tokens",
  // oxlint-disable-next-line max-lines-per-function -- the routes of one group, each a few lines
  Effect.fn(function*(handlers) {
    const catalog = yield* TokenCatalog
    const chains = yield* Chains
    const policies = yield* TokenPolicies
    const prices = yield* Prices
    const search = yield* Search.make

    const policyOf = Effect.fnUntraced(function*(requestedEnvironment: Environment | undefined) {
      const principal = yield* requireMerchantScope
      return yield* policies.get(principal.merchantId, yield* readEnvironment(principal, requestedEnvironment))
    })

    /** Where the merchant's payments of these families arrive. */
    const walletsOf = ({ environment, merchantId }: PolicyState, families: ReadonlySet<Family>) =>
      Effect.map(
        Effect.forEach(families, (family) =>
          Effect.map(chains.wallet({ merchantId, environment, family }), (wallet) =>
            [family, wallet] as const)),
        (found) =>
          new Map(found)
      )

    /**
     * Changes the policy of `environment` and answers what `body` makes of it; the reply is stored in the same commit.
     */
    const change = Effect.fnUntraced(function*(
      { credential, environment, merchantId }: Principal,
      decide: PolicyChange["decide"],
      body: (before: PolicyState, after: PolicyState) => object
    ) {
      const idempotency = yield* Idempotency
      const { requestId } = yield* RequestInfo
      let text = ""
      yield* policies.change(merchantId, environment, { requestId, idempotencyKey: idempotency.key }, {
        actor: credential,
        decide,
        reply: (before, after) => {
          text = JSON.stringify(body(before, after))
          return idempotency.reply(200, text)
        }
      }).pipe(dieOnReplay)
      return jsonText(text)
    })

    const requireTokens = ({ environment }: Principal, tokenIds: ReadonlyArray<number>) =>
      tokenIds.every((id) => catalog.get(id)?.environment === environment)
        ? Effect.void
        : Effect.fail(publicError("TOKEN_NOT_FOUND"))

    return handlers
      .handle(
        "list",
        Effect.fnUntraced(function*({ query }) {
          const policy = yield* policyOf(query.environment)
          return tokenList(policy, catalog.list(policy.environment), prices.latest)
        })
      )
      .handle(
        "search",
        Effect.fnUntraced(function*({ query }) {
          const policy = yield* policyOf(query.environment)
          const { limit = searchLimits.byDefault, offset = 0 } = query
          const { tokens, total } = yield* search(policy.environment, {
            text: query.search ?? null,
            network: query.network ?? null,
            type: query.token_type ?? null,
            active: flagOf(query.is_active),
            stable: flagOf(query.supports_stable_settlement),
            accepts: blockedFilter(policy, flagOf(query.blocked)),
            limit,
            offset
          })
          const wallets = yield* walletsOf(policy, new Set(tokens.map(({ network }) => familyOf(network))))
          return {
            acceptance_policy: policy.policy,
            environment: policy.environment,
            total,
            limit,
            offset,
            tokens: tokens.map((token) =>
              searchResult(
                token,
                isBlocked(policy, token.id),
                prices.latest(token),
                chains.driver(token.network, token.environment) !== undefined,
                wallets.get(familyOf(token.network)) ?? null
              )
            )
          }
        })
      )
      .handle(
        "policy",
        Effect.fnUntraced(function*({ query }) {
          const policy = yield* policyOf(query.environment)
          return jsonText(JSON.stringify(policyBody(policy)))
        })
      )
      .handle(
        "choosePolicy",
        Effect.fnUntraced(function*({ payload }) {
          const principal = yield* requireMerchantScope
          return yield* change(
            principal,
            (current) => choosePolicy(current, payload.acceptance_policy),
            (_, after) => policyBody(after)
          )
        })
      )
      .handle(
        "block",
        Effect.fnUntraced(function*({ params: { tokenId }, payload: { blocked } }) {
          const principal = yield* requireMerchantScope
          yield* requireTokens(principal, [tokenId])
          return yield* change(
            principal,
            (current) => block(current, [tokenId], blocked),
            () => ({ success: true, blocked })
          )
        })
      )
      .handle(
        "blockBulk",
        Effect.fnUntraced(function*({ payload: { blocked, token_ids } }) {
          const principal = yield* requireMerchantScope
          yield* requireTokens(principal, token_ids)
          return yield* change(
            principal,
            (current) => block(current, token_ids, blocked),
            (before, after) => ({ success: true, updated: countDifferences(before.blockedTokens, after.blockedTokens) })
          )
        })
      )
  })
)
