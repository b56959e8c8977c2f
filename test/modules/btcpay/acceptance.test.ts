/**
 * Goal: a shop's mark decides about money only where its key's maker could decide so by the API. Method: the service
 * over an API of the test that says who asked for what.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { makeAcceptance } from "../../../modules/btcpay/service/Acceptance.ts"
import type { Grant } from "../../../runtime/Http.ts"
import { type LocalCall, LocalCalls } from "../../../runtime/LocalCalls.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { allPermissions, type Role } from "../../../schemas/Roles.ts"

const callerOf = (role: Role, environment: Environment) =>
  ({ role, environment, merchantId: 1, permissions: allPermissions, kind: "key" }) as unknown as Grant

const withException = {
  invoice: { status: "underpaid", type: "standard", environment: "mainnet", amount: 10_000n, amountPaid: 5_000n },
  payments: [],
  exceptions: [{ id: "exc_1", status: "open", type: "underpaid_expired", paymentId: null, resolution: null }]
} as never

const cause = { requestId: "req_1", idempotencyKey: null }

const overApi = (status: number, isServed = true) => {
  const calls: Array<LocalCall> = []
  const api = Layer.mock(LocalCalls, {
    serves: () => isServed,
    call: (_, call) =>
      Effect.sync(() => {
        calls.push(call)
        return { status, headers: {}, body: status < 300 ? { data: {} } : { error: { message: "Not you." } } }
      })
  })
  return { calls, acceptance: Effect.provide(makeAcceptance, api, { local: true }) }
}

describe("the mark of a shop that settles an invoice", () => {
  it.effect("is for whom the API lets decide: on mainnet for no developer", () =>
    Effect.gen(function*() {
      const { mayAccept } = yield* overApi(200).acceptance
      for (const role of ["owner", "admin", "support"] as const) {
        assert.isTrue(mayAccept(callerOf(role, "mainnet")), role)
      }
      assert.isFalse(mayAccept(callerOf("developer", "mainnet")))
      assert.isFalse(
        (yield* overApi(200, false).acceptance).mayAccept(callerOf("owner", "mainnet")),
        "no module decides"
      )
    }))

  it.effect("is a decision of the API, which says no to whoever may not", () =>
    Effect.gen(function*() {
      const good = overApi(200)
      assert.isTrue(yield* (yield* good.acceptance).accept(callerOf("owner", "mainnet"), withException, cause))
      assert.deepInclude(good.calls[0], {
        method: "POST",
        path: "/api/v1/exceptions/exc_1/resolve",
        requestId: "req_1"
      })
      assert.deepInclude(good.calls[0]!.body, { action: "accept" })
      const denied = yield* Effect.flip(
        (yield* overApi(403).acceptance).accept(callerOf("developer", "mainnet"), withException, cause)
      )
      assert.deepInclude(denied, { _tag: "ShopRefusal", status: 403 })
      assert.deepInclude(denied.body, { code: "missing-permission", message: "Not you." })
      // Somebody else has decided meanwhile.
      assert.isFalse(yield* (yield* overApi(409).acceptance).accept(callerOf("owner", "mainnet"), withException, cause))
      const failed = yield* Effect.flip(
        (yield* overApi(503).acceptance).accept(callerOf("owner", "mainnet"), withException, cause)
      )
      assert.deepInclude(failed.body, { code: "internal-error" })
    }))
})
