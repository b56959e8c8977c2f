/** Loyalty points: each customer of a merchant earns a point for each dollar paid, and redeems them. */
import { Effect, Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { answerIdempotently, handlersOf, jsonText, make, type PublicError, requireMerchantScope } from "tillwire/plugin"
import { LoyaltyApi } from "./api.ts"
import { migrations, tables } from "./repo.ts"
import type { Account } from "./rules.ts"
import { Loyalty } from "./service.ts"

const accountObject = ({ customerId, points }: Account) => ({
  object: "acme_loyalty_account",
  customer_id: customerId,
  points
})

const handlers = handlersOf(
  LoyaltyApi,
  "acme-loyalty",
  Effect.fn(function*(group) {
    const loyalty = yield* Loyalty
    return group
      .handle(
        "account",
        Effect.fnUntraced(function*({ params: { customerId } }) {
          const { environment, merchantId } = yield* requireMerchantScope
          const account = yield* loyalty.account({ merchantId, environment, customerId })
          return jsonText(JSON.stringify({ success: true, data: accountObject(account) }))
        })
      )
      .handle(
        "redeem",
        Effect.fnUntraced(function*({ params: { customerId }, payload: { points } }) {
          const { environment, merchantId } = yield* requireMerchantScope
          return yield* answerIdempotently<Account, PublicError>(
            (call) => loyalty.redeem({ merchantId, environment, customerId }, points, call),
            accountObject
          )
        })
      )
  })
)

export const plugin = make({
  api: 1,
  name: "acme-loyalty",
  slot: "modules",
  http: LoyaltyApi,
  migrations,
  tables,
  layer: () => HttpApiBuilder.layer(LoyaltyApi).pipe(Layer.provide(handlers), Layer.provide(Loyalty.layer))
})
