/** Tokens between the operator API and the catalogue. */
import { Effect } from "effect"
import { Availability } from "../../../runtime/Availability.ts"
import * as Operations from "../../../runtime/Operations.ts"
import { requireServed } from "../../../runtime/OperatorRoutes.ts"
import { Settings } from "../../../runtime/Settings.ts"
import { TokenCatalog } from "../../../runtime/TokenCatalog.ts"
import { publicError } from "../../../schemas/Errors.ts"
import { TokenId } from "../../../schemas/Ids.ts"
import { pageLimits, unknownCursor } from "../../../schemas/Page.ts"
import type { Token } from "../../../schemas/Token.ts"
import { OperatorTokensApi } from "../operator.ts"

export const operatorHandlers = Operations.group(
  OperatorTokensApi,
  "operatorTokens",
  Effect.fn(function*(group) {
    const availability = yield* Availability
    const catalog = yield* TokenCatalog
    const settings = yield* Settings

    const stateOf = ({ environment, id }: Token) => availability.stateOf({ kind: "token", tokenId: id, environment })

    const tokenBody = (token: Token) => {
      const state = stateOf(token)
      return {
        object: "token" as const,
        token_id: TokenId.make(token.id),
        network: token.network,
        environment: token.environment,
        symbol: token.symbol,
        address: token.address,
        is_active: token.active,
        is_enabled: state.isEnabled,
        disabled_reason: state.reason,
        availability_changed_at: state.changedAt
      }
    }

    const setEnabled = Effect.fnUntraced(function*(tokenId: number, isEnabled: boolean, reason: string | null) {
      const token = catalog.get(tokenId)
      if (token === undefined) return yield* publicError("TOKEN_NOT_FOUND")
      yield* availability.set({ kind: "token", tokenId, environment: token.environment }, { isEnabled, reason })
      return { success: true as const, data: tokenBody(token) }
    })

    return group
      .handle(
        "list",
        Effect.fnUntraced(function*({ query }) {
          const { environment, is_enabled: enabled, limit = pageLimits.default, network, starting_after: after } = query
          if (environment !== undefined) yield* requireServed(settings, environment)
          const start = after === undefined ? 0 : /^\d{1,9}$/u.test(after) ? catalog.get(Number(after))?.id : undefined
          if (start === undefined) return yield* unknownCursor(query, "the id of a token")
          const environments = environment === undefined ? settings.environments : [environment]
          const found = environments.flatMap((each) => catalog.list(each))
            .filter((token) => token.id > start && (network === undefined || token.network === network))
            .filter((token) => enabled === undefined || stateOf(token).isEnabled === (enabled === "true"))
            .toSorted((a, b) => a.id - b.id)
          const data = found.slice(0, limit).map(tokenBody)
          return { success: true as const, data: { object: "list" as const, data, has_more: found.length > limit } }
        })
      )
      .handle("disable", ({ params, payload }) => setEnabled(params.token_id, false, payload.reason))
      .handle("enable", ({ params }) => setEnabled(params.token_id, true, null))
  })
)
