/**
 * Goal: a stop is not held up by a client that listens.
 * Method: a stream without an end over a real socket, and the end that the server gives it.
 */
import { NodeHttpServer } from "@effect/platform-node"
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Redacted, Schema, Stream } from "effect"
import { HttpRouter } from "effect/http"
import { Rpc, RpcClient, RpcGroup } from "effect/rpc"
import { listen } from "../../../runtime/boot/Listener.ts"
import { Rpc as Door } from "../../../runtime/Rpc.ts"
import * as Client from "../../../runtime/rpc/Client.ts"
import * as Server from "../../../runtime/rpc/Server.ts"

class Clocks extends RpcGroup.make(Rpc.make("clocks.ticks", { success: Schema.Int, stream: true })) {}

const token = Redacted.make("a-credential-of-some-length")

it.live("a stream under way ends when the door begins to close", () =>
  Effect.gen(function*() {
    const router = yield* HttpRouter.make
    const ticks = Stream.concat(Stream.succeed(1), Stream.never)
    yield* (yield* Door).serve(Clocks, Clocks.toLayer({ "clocks.ticks": () => ticks }))
    const endStreams = yield* Server.mount(router, token)
    const { url } = yield* listen(router, { host: "127.0.0.1", port: 0 }, "rpc")
    const heard = yield* Deferred.make<void>()
    const listening = yield* Effect.gen(function*() {
      const client = yield* RpcClient.make(Clocks)
      yield* Stream.runForEach(client["clocks.ticks"](), () => Deferred.succeed(heard, undefined))
    }).pipe(Effect.scoped, Effect.provide(Client.layer({ url, token })), Effect.exit, Effect.forkChild)
    yield* Deferred.await(heard)
    yield* endStreams
    const exit = yield* Fiber.join(listening)
    assert.isTrue(Exit.isExit(exit))
  }).pipe(Effect.scoped, Effect.provide(Layer.mergeAll(Server.layer, NodeHttpServer.layerHttpServices))))
