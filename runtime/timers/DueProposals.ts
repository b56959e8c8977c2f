/** Changes that have waited long enough (schemas/Proposals.ts) come into force: the timer of whoever keeps such changes. */
import { Effect, type Scope } from "effect"
import { Timers } from "../Timers.ts"

/** Changes that come into force in one run. */
const batchSize = 100

/** What keeps changes that wait. */
export interface ProposalSource<Owner, E> {
  /** Of the timer: unique. */
  readonly name: string
  /** Whose change is due at `now`, epoch seconds, those that waited the longest first. */
  readonly due: (now: number, limit: number) => Effect.Effect<ReadonlyArray<Owner>>
  /** Epoch seconds; null: none waits. */
  readonly nextDue: Effect.Effect<number | null>
  /** Brings the change into force, or ends it where those who agreed may not any more. */
  readonly applyDueChange: (owner: Owner) => Effect.Effect<void, E>
}

/** Applies what is due for as long as the scope lives; what fails is tried again. */
export const registerDueProposals = <Owner, E>(
  { due, name, nextDue, applyDueChange }: ProposalSource<Owner, E>
): Effect.Effect<void, never, Scope.Scope | Timers> =>
  Effect.flatMap(Timers, ({ register }) =>
    register({
      name,
      batchSize,
      run: Effect.fnUntraced(function*(nowMillis: number, limit: number) {
        const owners = yield* due(Math.floor(nowMillis / 1000), limit)
        const counts = yield* Effect.forEach(owners, (owner) =>
          applyDueChange(owner).pipe(
            Effect.as(1),
            Effect.catch((error) =>
              Effect.as(Effect.logWarning("a change still waits, and is tried again", { name, owner, error }), 0)
            )
          ))
        return counts.reduce((sum, each) => sum + each, 0)
      }),
      nextDueMillis: Effect.map(nextDue, (seconds) => seconds === null ? null : seconds * 1000)
    }))
