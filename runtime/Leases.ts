/** Work that one instance at a time may do: leases in database time, with fencing tokens. */
import { Context, type Effect } from "effect"
import type { Fence } from "./Commit.ts"

export class Leases extends Context.Service<Leases, {
  /**
   * Waits until this instance holds `name`, runs `work` with its fence, renews every third of `ttlMillis`, and
   * interrupts `work` and waits anew when the lease is lost. Returns when `work` does; gives the lease up then, and on
   * interruption.
   */
  readonly hold: <A, E, R>(
    name: string,
    ttlMillis: number,
    work: (fence: Fence) => Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E, R>
}>()("tillwire/runtime/Leases") {}
