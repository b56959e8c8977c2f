/**
 * Goal: a part of the service that calls its API for somebody gets exactly what they would get from outside. Method:
 * the real router and its routes, called from inside and as by a client.
 */
import { assert, layer } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { type Grant } from "../../../runtime/Http.ts"
import { type LocalCall, LocalCalls } from "../../../runtime/LocalCalls.ts"
import { Api, apiLayer, kernel } from "../../support/Api.ts"
import { principals, runs, things, ThingsApi, thingsLayer } from "./ThingsPlugin.ts"

const served = apiLayer([ThingsApi], thingsLayer, kernel([things]), { isDescribed: false })

const caller = principals["merchant-a"] as Grant

const locally = (call: LocalCall, as: Grant = caller) => Effect.flatMap(LocalCalls, (calls) => calls.call(as, call))

layer(served as Layer.Layer<Api | LocalCalls>)("a call from inside", (it) => {
  it.effect("acts for the caller it names, in the request it is made for", () =>
    Effect.gen(function*() {
      const answer = yield* locally({ method: "GET", path: "/api/v1/things?limit=5", requestId: "req_outer" })
      assert.deepStrictEqual([answer.status, answer.body], [
        200,
        { merchant: 1, environment: "devnet", requestId: "req_outer" }
      ])
      assert.strictEqual(answer.headers["x-request-id"], "req_outer")
    }))

  it.effect("is refused as one from outside, with the same words", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const refused: ReadonlyArray<LocalCall> = [
        { method: "GET", path: "/api/v1/things?limit=0" },
        { method: "GET", path: "/api/v1/things?limmit=5" },
        { method: "GET", path: "/api/v1/things/fail/INVOICE_NOT_FOUND" },
        { method: "GET", path: "/api/v1/things/fail/defect" },
        { method: "GET", path: "/api/v1/no-such-thing" },
        { method: "DELETE", path: "/api/v1/things" },
        { method: "POST", path: "/api/v1/things", body: { id: 5 } },
        { method: "POST", path: "/api/v1/things", body: { id: "a" } }
      ]
      for (const one of refused) {
        const inside = yield* locally(one)
        const outside = yield* call(one.path, {
          method: one.method,
          headers: { "x-api-key": "merchant-a" },
          ...(one.body === undefined ? {} : { body: one.body })
        })
        const error = (body: any) => ({ ...body.error, request_id: null })
        assert.strictEqual(inside.status, outside.status, one.path)
        assert.deepStrictEqual(error(inside.body), error(outside.json), one.path)
      }
    }))

  it.effect("with an idempotency key acts once, whichever way it comes again", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const before = runs.count
      const body = { id: "once" }
      const first = yield* locally({ method: "POST", path: "/api/v1/things", body, idempotencyKey: "k1" })
      const again = yield* locally({ method: "POST", path: "/api/v1/things", body, idempotencyKey: "k1" })
      const outside = yield* call("/api/v1/things", {
        method: "POST",
        headers: { "x-api-key": "merchant-a", "idempotency-key": "k1" },
        body
      })
      assert.deepStrictEqual([first.status, again.body, outside.json], [200, first.body, first.body])
      assert.strictEqual(runs.count, before + 1)
    }))

  it.effect("of one merchant does nothing to another's", () =>
    Effect.gen(function*() {
      const other = yield* locally({ method: "GET", path: "/api/v1/things" }, principals["merchant-b"] as Grant)
      assert.strictEqual((other.body as { merchant: number }).merchant, 2)
    }))
})
