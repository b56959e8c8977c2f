/**
 * Work that one instance at a time may do: leases with fencing tokens. `leases/Database.ts` gives them to whoever asks
 * first. A port of one contract: every driver passes the same tests.
 */
import { Context, Effect, Layer } from "effect"
import type { Fence } from "./Commit.ts"

/** A lease that this instance holds or waits for. */
export interface LeaseStatus {
  readonly name: string
  /** How long it lasts without being renewed. */
  readonly ttlMillis: number
  readonly isHeldHere: boolean
  /**
   * Since any instance was last seen to renew it, by this process's monotonic clock; where none was seen, since this
   * instance began to wait. Above `ttlMillis` nobody does the work.
   */
  readonly ageMillis: number
}

/** Work that one instance does at a time. */
export class Leases extends Context.Service<Leases, {
  /**
   * Waits until this instance holds `name`, runs `work` with its fence, renews every third of `ttlMillis`, and
   * interrupts `work` and waits anew when the lease is lost. Returns when `work` does; gives the lease up then, and on
   * interruption. A lease that does not change for `ttlMillis` by this process's monotonic clock is free whatever the
   * database's clock says, because that clock may have been set back.
   */
  readonly hold: <A, E, R>(
    name: string,
    ttlMillis: number,
    work: (fence: Fence) => Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E, R>
  /** Every lease that this instance holds or waits for, from memory, in order of name. */
  readonly statuses: Effect.Effect<ReadonlyArray<LeaseStatus>>
}>()("tillwire/runtime/Leases") {}

/** For a process that does no such work: it waits for ever, and another process does it. */
export const waitingLayer: Layer.Layer<Leases> = Layer.succeed(
  Leases,
  Leases.of({ hold: () => Effect.never, statuses: Effect.succeed([]) })
)
