/**
 * Goal: whoever calls the internal port with a wrong payload, in whatever language, is told the field and what is
 * allowed, as a typed error. Method: calls as bytes over a real socket, and a look at every call that there is.
 */
import { NodeHttpServer } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted, Schema, Stream } from "effect"
import { HttpRouter } from "effect/http"
import { Rpc, RpcGroup, RpcSchema } from "effect/rpc"
import { globSync } from "node:fs"
import { listen } from "../../../runtime/boot/Listener.ts"
import { ChainsRpc } from "../../../runtime/chains/ChainsRpc.ts"
import { SecretsRpc } from "../../../runtime/secrets/SecretsRpc.ts"
import { Rpc as Registry } from "../../../runtime/Rpc.ts"
import * as Server from "../../../runtime/rpc/Server.ts"
import { PublicError } from "../../../schemas/Errors.ts"
import { Environment } from "../../../schemas/Network.ts"

const payload = { merchant_id: Schema.Int, environment: Environment, at: Schema.optionalKey(Schema.BigInt) }

class Desk extends RpcGroup.make(
  Rpc.make("desk.read", { payload, success: Schema.String, error: PublicError }),
  Rpc.make("desk.watch", { payload, success: Schema.Int, error: PublicError, stream: true }),
  Rpc.make("desk.ping", { success: Schema.String })
) {}

const token = Redacted.make("a-credential-of-some-length")

class Port extends Context.Service<Port, {
  readonly call: (tag: string, payload?: unknown) => Effect.Effect<any>
}>()("test/Port") {
  static readonly layer = Layer.effect(
    Port,
    Effect.gen(function*() {
      const router = yield* HttpRouter.make
      yield* (yield* Registry).serve(
        Desk,
        Desk.toLayer({
          "desk.read": ({ at, environment, merchant_id }) =>
            Effect.succeed(`${merchant_id} ${environment} ${typeof at}`),
          "desk.watch": ({ merchant_id }) => Stream.make(merchant_id),
          "desk.ping": () => Effect.succeed("here")
        })
      )
      yield* Effect.asVoid(Server.mount(router, token))
      const { url } = yield* listen(router, { host: "127.0.0.1", port: 0 }, "rpc")
      const call = (tag: string, payload?: unknown) =>
        Effect.promise(async () => {
          const response = await fetch(new URL(Server.rpcPath, url), {
            method: "POST",
            headers: { authorization: `Bearer ${Redacted.value(token)}`, "content-type": "application/ndjson" },
            body: `${JSON.stringify({ _tag: "Request", id: "1", tag, payload, headers: [] })}\n`
          })
          const lines = (await response.text()).trim().split("\n").map((line) => JSON.parse(line))
          return lines.find(({ _tag }) => _tag === "Chunk")?.values ?? lines.find(({ _tag }) => _tag === "Exit").exit
        })
      return Port.of({ call })
    })
  ).pipe(Layer.provide(Layer.mergeAll(Server.layer, NodeHttpServer.layerHttpServices)))
}

const refusalOf = ({ cause: [only] }: any) => {
  assert.deepInclude(only.error, { _tag: "PublicError", code: "VALIDATION_ERROR" })
  return [only.error.param, only.error.message]
}

const fitting = { merchant_id: 7, environment: "devnet" }

describe("a payload of the internal port", () => {
  it.live("that fits is handed on in the service's own types", () =>
    Effect.gen(function*() {
      const { call } = yield* Port
      assert.deepInclude(yield* call("desk.read", { ...fitting, at: "5" }), { value: "7 devnet bigint" })
      assert.deepStrictEqual(yield* call("desk.watch", fitting), [7])
      assert.deepInclude(yield* call("desk.ping", null), { value: "here" })
    }).pipe(Effect.provide(Port.layer)))

  it.live("that lacks a field, or has a wrong one, is a typed error that names it and what is allowed", () =>
    Effect.gen(function*() {
      const { call } = yield* Port
      for (const tag of ["desk.read", "desk.watch"]) {
        const [missing, lacks] = refusalOf(yield* call(tag, { environment: "devnet" }))
        assert.strictEqual(missing, "merchant_id")
        assert.match(lacks, /^merchant_id is missing: it must be /u)
        const [wrong, must] = refusalOf(yield* call(tag, { ...fitting, environment: "secret-value" }))
        assert.strictEqual(wrong, "environment")
        assert.include(must, "devnet")
        assert.include(must, "mainnet")
        assert.notInclude(must, "secret-value")
        for (const none of [undefined, null, 5, "text", []]) {
          const [field, message] = refusalOf(yield* call(tag, none))
          assert.isNull(field)
          assert.match(message, /^The payload must be a JSON object with the fields merchant_id /u)
        }
      }
    }).pipe(Effect.provide(Port.layer)))
})

it("every call that takes a payload can answer such an error", async () => {
  const modules = new URL("../../../modules/", import.meta.url)
  const exported = await Promise.all(
    globSync("*/rpc.ts", { cwd: modules.pathname }).map((path) => import(new URL(path, modules).href))
  )
  const groups = [ChainsRpc, SecretsRpc, ...exported.flatMap((module) => Object.values<any>(module))].filter((each) =>
    each?.requests instanceof Map
  )
  const rpcs = groups.flatMap(({ requests }): ReadonlyArray<Rpc.AnyWithProps> => [...requests.values()])
  assert.isAbove(rpcs.length, 40)
  const others = rpcs.filter(({ errorSchema, payloadSchema, successSchema }) => {
    const error = RpcSchema.isStreamSchema(successSchema) ? successSchema.error : errorSchema
    return payloadSchema !== Schema.Void && error !== PublicError
  })
  assert.deepStrictEqual(others.map(({ _tag }) => _tag), [])
})
