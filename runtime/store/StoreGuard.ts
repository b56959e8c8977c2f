/** The promise that the store stays this process's own, as long as the process lives. */
import { Context } from "effect"
import type { Effect } from "effect"
import type { StoreError } from "./StoreError.ts"

/**
 * `awaitLoss` waits for ever while the store is held, and fails when this process has lost its hold on it for good. The
 * entry point races the whole service with it, so that losing the store stops the service instead of leaving two
 * processes on one data directory.
 */
export class StoreGuard extends Context.Service<StoreGuard, {
  readonly awaitLoss: Effect.Effect<never, StoreError>
}>()("tillwire/runtime/StoreGuard") {}
