/**
 * Work that one instance at a time does: leases with fencing tokens. `leases/Database.ts` gives each to whoever asks
 * first, `leases/Cluster.ts` divides them among the instances. Both pass `test/conformance/leases.ts`.
 */
import { Context, Effect, Layer } from "effect"
import type { Fence } from "./Commit.ts"
import type { Finding } from "./telemetry/HealthReport.ts"

/**
 * What an instance of a cluster does: `api` serves the public port, `follower` follows networks, `worker` sends
 * webhooks and does due work and retention. The order is part of what instances agree on; see `leases/Cluster.ts`.
 */
export const instanceRoles = ["api", "follower", "worker"] as const
export type InstanceRole = typeof instanceRoles[number]

/** What a piece of work says of itself. */
export interface LeaseOptions {
  /** Which instances of a cluster do it. */
  readonly role: Exclude<InstanceRole, "api">
  /** How long a lease lasts without being renewed. A cluster has one figure for all, `cluster.takeoverSeconds`. */
  readonly ttlMillis: number
  /**
   * How long the work may go without calling `progress`, its pauses included. Then it counts as stuck: it is
   * interrupted and begun anew, and passed to another instance when that does not help.
   */
  readonly passMillis: number
}

/** A lease that this instance holds or waits for. Ages are by this process's monotonic clock. */
export interface LeaseStatus {
  readonly name: string
  /** How long it lasts without being renewed. */
  readonly ttlMillis: number
  readonly passMillis: number
  readonly isHeldHere: boolean
  /**
   * Since any instance was last seen to renew it; where none was seen, since this instance began to wait. Above
   * `ttlMillis` nobody does the work.
   */
  readonly ageMillis: number
  /**
   * Since the work was last seen to make progress, on any instance; where it was not, since this instance began to
   * wait. Above `passMillis` the work is stuck.
   */
  readonly progressAgeMillis: number
}

/** Work that one instance does at a time. */
export class Leases extends Context.Service<Leases, {
  /**
   * Runs `work` with a fence while this instance has the lease `name`, again each time it gets it, until interrupted;
   * gives the lease up then. A term of the work ends when another instance has begun a newer one, or when the lease
   * could not be renewed for as long as it lasts. Work that dies begins anew after a second, with the next fence.
   *
   * A lease is no proof: a process that was paused may still believe in it. Commits that must not be made twice carry
   * the fence, and fail with `Conflict` once a newer term has begun.
   */
  readonly hold: <R>(
    name: string,
    options: LeaseOptions,
    work: (fence: Fence, progress: Effect.Effect<void>) => Effect.Effect<never, never, R>
  ) => Effect.Effect<never, never, R>
  /** Every lease that this instance holds or waits for, from memory, in order of name. */
  readonly statuses: Effect.Effect<ReadonlyArray<LeaseStatus>>
  /** What is wrong with how instances divide the work, from memory. */
  readonly findings: Effect.Effect<ReadonlyArray<Finding>>
}>()("tillwire/runtime/Leases") {}

/** For a process that does no such work: it waits for ever, and another process does it. */
export const waitingLayer: Layer.Layer<Leases> = Layer.succeed(
  Leases,
  Leases.of({ hold: () => Effect.never, statuses: Effect.succeed([]), findings: Effect.succeed([]) })
)
