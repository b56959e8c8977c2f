/** Settings between the wire and the actor. */
import { dieOnReplay } from "../../runtime/Commit.ts"
import { Effect } from "effect"
import {
  Idempotency,
  jsonText,
  readEnvironment,
  RequestInfo,
  requireMerchantScope,
  requirePerson
} from "../../runtime/Http.ts"
import { requireRight } from "../../runtime/Rights.ts"
import { environmentOfBoth } from "../../schemas/Authorization.ts"
import { type AnswerToLimits, MerchantSettings } from "./actor.ts"
import { SettingsApi } from "./api.ts"
import { approvalLimitIn, canMoveApprovals, canMoveDefault, forbiddenLimit, moneyRulesIn } from "./rules.ts"
import { publicError } from "../../schemas/Errors.ts"
import * as Operations from "../../runtime/Operations.ts"

export const handlers = Operations.group(
  SettingsApi,
  "settings",
  Effect.fn(function*(group) {
    const settings = yield* MerchantSettings

    /** A person's decision on limits that wait. */
    const answerTo = Effect.fnUntraced(function*(id: string, act: AnswerToLimits) {
      const principal = yield* requirePerson
      const idempotency = yield* Idempotency
      const { requestId } = yield* RequestInfo
      const after = yield* act(principal.merchantId, principal.environment, id, {
        by: principal,
        cause: { requestId, idempotencyKey: idempotency.key },
        reply: (changed) => idempotency.reply(200, JSON.stringify(changed))
      }).pipe(dieOnReplay)
      return jsonText(JSON.stringify(after))
    })

    return group
      .handle(
        "get",
        Effect.fnUntraced(function*({ query }) {
          const principal = yield* requireMerchantScope
          const environment = yield* readEnvironment(principal, query.environment)
          return jsonText(JSON.stringify(yield* settings.read(principal.merchantId, environment)))
        })
      )
      .handle(
        "change",
        Effect.fnUntraced(function*({ payload }) {
          const principal = yield* requireMerchantScope
          const approvalLimit = approvalLimitIn(payload)
          if (approvalLimit !== null && !canMoveApprovals(principal)) {
            return yield* publicError("CREDENTIAL_NOT_ALLOWED", {
              message: `${approvalLimit}: sign in with a wallet to change it. A key could approve for itself`,
              param: approvalLimit
            })
          }
          const limit = forbiddenLimit(principal, payload)
          if (moneyRulesIn(payload).length > 0) yield* requireRight("rules:write")
          // It is one for the whole merchant, so it takes what a change of mainnet takes.
          if (payload.default_environment !== undefined) yield* requireRight("settings:write", environmentOfBoth)
          if (limit !== null) {
            return yield* publicError("CREDENTIAL_NOT_ALLOWED", {
              message: `${limit}: sign in with a wallet to change it. A stolen key could raise it`,
              param: limit
            })
          }
          const idempotency = yield* Idempotency
          const { requestId } = yield* RequestInfo
          const after = yield* settings.change(
            principal.merchantId,
            principal.environment,
            canMoveDefault(principal),
            payload,
            {
              by: principal,
              cause: { requestId, idempotencyKey: idempotency.key },
              reply: (changed) => idempotency.reply(200, JSON.stringify(changed))
            }
          ).pipe(dieOnReplay)
          return jsonText(JSON.stringify(after))
        })
      )
      .handle(
        "approve",
        Effect.fnUntraced(function*({ params }) {
          return yield* answerTo(params.id, settings.approve)
        })
      )
      .handle(
        "cancel",
        Effect.fnUntraced(function*({ params }) {
          return yield* answerTo(params.id, settings.cancel)
        })
      )
  })
)
