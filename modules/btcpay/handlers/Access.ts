/** Who calls: finds the key and the store of a shop, and checks its permission. */
import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { Credentials, type Grant, RateLimiter, RequestInfo } from "../../../runtime/Http.ts"
import { callerBehind } from "../../../runtime/http/Addresses.ts"
import { Settings } from "../../../runtime/Settings.ts"
import { storeIdOf } from "../../../schemas/Auth.ts"
import { objectionToRight } from "../../../schemas/Authorization.ts"
import { publicError } from "../../../schemas/Errors.ts"
import { btcpay, fullKey, keyInHeader, rightOf, type ShopPermission } from "../rules.ts"
import { missingPermission, noCredential, type ShopRefusal } from "./Refusals.ts"

/** A shop that calls. */
export interface Shop {
  readonly caller: Grant
  readonly storeId: string
  /** The key as it was sent. */
  readonly key: string
}

/** Runs a call for a shop that has the permission. `store`: the id that the call names; null: it names none. */
export const makeAccess = (callsPerMinute: number) =>
  Effect.gen(function*() {
    const { verify } = yield* Credentials
    const rateLimiter = yield* RateLimiter
    const { environments, http } = yield* Settings
    const callerOf = callerBehind(http.trustProxy)
    const limit = { name: btcpay, perMinute: callsPerMinute }

    const shopOf = Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest) {
      const key = keyInHeader(request.headers["authorization"])
      const grant = key === null || request.headers["x-api-key"] !== undefined
        ? null
        : yield* verify(fullKey(key), rateLimiter.address(request, "anonymous"))
      // `verify` counts an unknown key for its address itself, so only a call without a key is counted here.
      if (key === null || request.headers["x-api-key"] !== undefined) yield* rateLimiter.address(request, "anonymous")
      if (key === null || grant === null || grant.kind !== "key") return yield* noCredential
      return { caller: grant, storeId: storeIdOf(grant.merchantId, grant.environment), key } satisfies Shop
    })

    const check = Effect.fnUntraced(
      function*({ caller, storeId }: Shop, permission: ShopPermission, store: string | null) {
        if (caller.scope !== "merchant" || (caller.use !== undefined && caller.use !== btcpay)) {
          return yield* missingPermission(
            permission,
            "This key is not for shops: make a key with the scope merchant and the use btcpay, and enter it in the plugin."
          )
        }
        if (!environments.includes(caller.environment)) return yield* publicError("MAINNET_NOT_ENABLED")
        if (store !== null && store !== storeId) {
          return yield* missingPermission(
            permission,
            `This key is for the store ${storeId}: enter that Store ID in the plugin.`
          )
        }
        const objection = objectionToRight(caller, rightOf[permission], caller.environment)
        if (objection !== undefined) return yield* missingPermission(permission, objection.message)
      }
    )

    return <A, E, R>(
      permission: ShopPermission,
      store: string | null,
      act: (shop: Shop) => Effect.Effect<A, E, R>
    ) =>
      Effect.gen(function*() {
        const request = yield* HttpServerRequest.HttpServerRequest
        const shop = yield* shopOf(request)
        if (shop.caller.admits?.(callerOf(request)) === false) {
          return yield* missingPermission(permission, publicError("IP_NOT_ALLOWED").message)
        }
        const facts = yield* RequestInfo
        facts.merchantId = shop.caller.merchantId
        return yield* rateLimiter.credentialWithin(
          limit,
          shop.caller,
          Effect.andThen(check(shop, permission, store), act(shop))
        )
      }) as Effect.Effect<A, E | ShopRefusal | ReturnType<typeof publicError>, R | HttpServerRequest.HttpServerRequest>
  })
