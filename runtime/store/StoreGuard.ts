/** What the store promises as long as the process lives, and how a broken promise is told. */
import { Context } from "effect"
import type { Effect } from "effect"
import type { Finding } from "../telemetry/HealthReport.ts"
import type { StoreError } from "./StoreError.ts"

/**
 * `awaitLoss` waits for ever while the store is held, and fails when this process has lost its hold on it for good. The
 * entry point races the whole service with it, so that losing the store stops the service instead of leaving two
 * processes on one data directory. `findings` says what else is wrong with it, for health.
 */
export class StoreGuard extends Context.Service<StoreGuard, {
  readonly awaitLoss: Effect.Effect<never, StoreError>
  readonly findings: Effect.Effect<ReadonlyArray<Finding>>
}>()("tillwire/runtime/StoreGuard") {}
