/**
 * What modules do once after a database was restored from a backup, before anybody is served: what was taken back after
 * the backup would hold again.
 */
import { Context, Effect, Layer, type Scope } from "effect"
import type { PublicError } from "../schemas/Errors.ts"

/** Done anew when a start is killed in the middle, so it must bear that. */
export type RestoreAct = Effect.Effect<void, PublicError>

export class Restores extends Context.Service<Restores, {
  /** Does `act` at the next start after a restore, if its scope lives then. */
  readonly register: (act: RestoreAct) => Effect.Effect<void, never, Scope.Scope>
  /** Does all of them, one after the other. */
  readonly perform: Effect.Effect<void, PublicError>
}>()("tillwire/runtime/Restores") {
  static readonly layer: Layer.Layer<Restores> = Layer.sync(Restores, () => {
    const acts = new Set<RestoreAct>()
    return Restores.of({
      register: (act) =>
        Effect.asVoid(Effect.acquireRelease(
          Effect.sync(() => void acts.add(act)),
          () => Effect.sync(() => void acts.delete(act))
        )),
      perform: Effect.suspend(() => Effect.all([...acts], { discard: true }))
    })
  })
}
