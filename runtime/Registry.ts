/** Registrations that last as long as whoever made them. */
import { Effect, MutableRef, type Scope } from "effect"

/** A place that one part of the deployment may take, for as long as its scope lives. */
export interface Slot<A> {
  /** Who has it now; undefined: nobody. */
  readonly current: () => A | undefined
  /** Takes it. A second taker is a fault of the config, so the start ends with {@link single}'s sentence. */
  readonly register: (value: A) => Effect.Effect<void, never, Scope.Scope>
}

/** An empty slot. `taken`: what a second taker's operator reads, and what to do. */
export const single = <A>(taken: string): Slot<A> => {
  const slot = MutableRef.make<A | undefined>(undefined)
  return {
    current: () => MutableRef.get(slot),
    register: (value) =>
      Effect.asVoid(Effect.acquireRelease(
        Effect.suspend(() =>
          MutableRef.get(slot) === undefined
            ? Effect.sync(() => void MutableRef.set(slot, value))
            : Effect.die(new Error(taken))
        ),
        () => Effect.sync(() => void MutableRef.set(slot, undefined))
      ))
  }
}
