/**
 * Goal: no middleware that a definition names is passed over, whatever stands beside it.
 * Method: a group with the kernel's middlewares and one of a plugin, over the real pass.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import { Context, Effect, Layer, Schema } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApi, HttpApiBuilder, HttpApiEndpoint, HttpApiGroup, HttpApiMiddleware } from "effect/http-api"
import {
  Anonymous,
  Credentials,
  IdempotencyRequired,
  Idempotent,
  jsonText,
  MerchantAuth,
  WrappedErrors
} from "../../../runtime/Http.ts"
import { readOperation } from "../../../runtime/http/Operation.ts"
import * as Operations from "../../../runtime/Operations.ts"
import { publicError } from "../../../schemas/Errors.ts"
import { newestVersion } from "../../../schemas/Version.ts"
import { Api, apiLayer, kernel } from "../../support/Api.ts"
import { things } from "./ThingsPlugin.ts"
import { operatorKey } from "../../fixtures/authorities.ts"

class Gate extends HttpApiMiddleware.Service<Gate>()("test/Gate") {}

const success = Schema.Struct({ opened: Schema.Boolean })

class GatesApi extends HttpApi.make("gates").add(
  HttpApiGroup.make("merchants").add(
    HttpApiEndpoint.get("read", "/api/v1/gates", { success }),
    HttpApiEndpoint.post("open", "/api/v1/gates", { success }).middleware(Idempotent)
  ).middleware(Gate).middleware(MerchantAuth).middleware(WrappedErrors),
  HttpApiGroup.make("anybody").add(
    HttpApiEndpoint.get("read", "/api/v1/open-gates", { success })
  ).middleware(Gate).middleware(Anonymous).middleware(WrappedErrors)
) {}

const opened = () => Effect.succeed(jsonText(JSON.stringify({ opened: true })))

/** Refuses whoever does not send `x-gate: open`. */
const gate = Layer.succeed(
  Gate,
  ((app: Effect.Effect<never>) =>
    Effect.flatMap(
      HttpServerRequest.HttpServerRequest,
      ({ headers }) => headers["x-gate"] === "open" ? app : Effect.fail(publicError("SIGNATURE_INVALID"))
    )) as never
)

const handlers = Layer.merge(
  Operations.group(GatesApi, "merchants", (group) => group.handle("read", opened).handle("open", opened)),
  Operations.group(GatesApi, "anybody", (group) => group.handle("read", opened))
).pipe(Layer.provide(gate))

const key = Layer.effectDiscard(Effect.flatMap(Credentials, ({ register }) =>
  register((text) =>
    Effect.succeed(
      text !== "merchant-a" ? null : {
        merchantId: 1,
        environment: "devnet",
        scope: "merchant",
        kind: "key",
        credential: "key_1",
        apiVersion: newestVersion,
        ...operatorKey
      } as never
    )
  )))

const served = apiLayer(
  [GatesApi],
  Layer.merge(HttpApiBuilder.layer(GatesApi).pipe(Layer.provide(handlers)), key),
  kernel([things]),
  { isDescribed: false }
)

layer(served as Layer.Layer<Api>)("a plugin's middleware", (it) => {
  it.effect("is asked beside the kernel's, of merchants and of anybody", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const merchant = { "x-api-key": "merchant-a" }
      for (const [path, headers] of [["/api/v1/gates", merchant], ["/api/v1/open-gates", {}]] as const) {
        const refused = yield* call(path, { headers })
        assert.strictEqual(refused.json.error.code, "SIGNATURE_INVALID", path)
        assert.strictEqual((yield* call(path, { headers: { ...headers, "x-gate": "open" } })).status, 200, path)
      }
      assert.strictEqual((yield* call("/api/v1/gates", { headers: { "x-gate": "open" } })).status, 401)
    }))

  it.effect("keeps an answer from whoever it refuses, though the answer is kept", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const headers = { "x-api-key": "merchant-a", "idempotency-key": "one" }
      const post = (more: Readonly<Record<string, string>>) =>
        call("/api/v1/gates", { method: "POST", headers: { ...headers, ...more } })
      assert.strictEqual((yield* post({ "x-gate": "open" })).status, 200)
      assert.strictEqual((yield* post({})).json.error.code, "SIGNATURE_INVALID")
    }))
})

describe("a definition", () => {
  it("that takes idempotency keys of nobody in particular is refused at the start", () => {
    for (const middleware of [Idempotent, IdempotencyRequired]) {
      const group = HttpApiGroup.make("lost").add(
        HttpApiEndpoint.post("act", "/api/v1/lost", { success }).middleware(middleware as typeof Idempotent)
      ).middleware(WrappedErrors)
      const endpoint = group.endpoints["act"]
      assert.throws(() => readOperation({ endpoint, group } as never, Context.empty()), /needs MerchantAuth/)
    }
  })
})
