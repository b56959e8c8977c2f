/**
 * A merchant's time. It is the system's clock everywhere but on devnet, where a simulator may move one merchant's time
 * forward: then that merchant's objects are dated by it and its due times come by it. Event ids, leases, tokens and
 * rate limits go by the system's clock alone.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { Environment } from "../schemas/Network.ts"

export class MerchantClock extends Context.Service<MerchantClock, {
  /** Epoch milliseconds for a merchant in an environment. */
  readonly nowMillis: (merchantId: number, environment: Environment) => Effect.Effect<number>
}>()("tillwire/runtime/MerchantClock") {
  static readonly layer = Layer.succeed(MerchantClock, MerchantClock.of({
    nowMillis: () => Clock.currentTimeMillis
  }))
}
