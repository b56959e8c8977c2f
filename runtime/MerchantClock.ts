/**
 * A merchant's time. It is the system's clock everywhere but on devnet, where a simulator may move one merchant's time
 * forward: then that merchant's objects are dated by it and its due times come by it. Event ids, leases, tokens,
 * sessions, idempotency keys and rate limits go by the system's clock alone.
 */
import { Clock, Context, Effect, Layer, type Scope } from "effect"
import { nowSeconds } from "./Clock.ts"
import type { IdempotentReplay } from "./Commit.ts"
import type { IdempotentCall } from "./Http.ts"
import type { PublicError } from "../schemas/Errors.ts"
import type { Environment } from "../schemas/Network.ts"

/**
 * Seconds a merchant's clock can be ahead, all its steps together: 10 years of 365 days
 * (modules/docs/reference/simulator.md#time).
 */
export const maximumAheadSeconds = 315_360_000

export class MerchantClock extends Context.Service<MerchantClock, {
  /** Epoch milliseconds for a merchant in an environment. */
  readonly nowMillis: (merchantId: number, environment: Environment) => Effect.Effect<number>
  /** The same in whole epoch seconds, rounded down. */
  readonly nowSeconds: (merchantId: number, environment: Environment) => Effect.Effect<number>
  /** Seconds by which a merchant's time is ahead of the system's now; 0 on mainnet. */
  readonly aheadSeconds: (merchantId: number, environment: Environment) => number
  /** Those whose devnet time is ahead, and by how many seconds. */
  readonly aheadByMerchant: () => ReadonlyMap<number, number>
  /**
   * Moves a merchant's devnet time forward by whole seconds, at least 1, and answers how many it is ahead now; a reply
   * is made of that number too. What waits to be delivered again of its devnet events is due earlier by as much. The
   * other instances know within 2 s. Errors: `VALIDATION_ERROR` beyond {@link maximumAheadSeconds};
   * `SERVICE_UNAVAILABLE`; `IdempotentReplay` only with a reply.
   */
  readonly advance: (
    merchantId: number,
    seconds: number,
    call?: IdempotentCall<number>
  ) => Effect.Effect<number, PublicError | IdempotentReplay>
  /** Runs on this instance each time it learns that a merchant's clock has moved, for as long as the scope lives. */
  readonly onAdvance: (listener: (merchantId: number) => Effect.Effect<void>) => Effect.Effect<void, never, Scope.Scope>
}>()("tillwire/runtime/MerchantClock") {
  /** Nobody's clock is ahead, or can be: a deployment without devnet. */
  static readonly system = Layer.succeed(
    MerchantClock,
    MerchantClock.of({
      nowMillis: () => Clock.currentTimeMillis,
      nowSeconds: () => nowSeconds,
      aheadSeconds: () => 0,
      aheadByMerchant: () => new Map(),
      advance: () => Effect.die(new Error("Nobody's clock can be moved without devnet")),
      onAdvance: () => Effect.void
    })
  )
}
