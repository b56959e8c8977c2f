/** What health says of the store, beside whether it answers. */
import { Effect, Layer } from "effect"
import { Health } from "../Telemetry.ts"
import { StoreGuard } from "./StoreGuard.ts"

/** Registers the health check of the store. */
export const healthLayer: Layer.Layer<never, never, Health | StoreGuard> = Layer.effectDiscard(Effect.gen(function*() {
  const { findings } = yield* StoreGuard
  yield* (yield* Health).register({ name: "database", run: findings })
}))
