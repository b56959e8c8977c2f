/** What this instance's flushes put into the merchants' streams, told in the same tick as the callers are answered. */
import { Context, type Effect, type Scope } from "effect"
import type { CommittedEvent } from "../Commit.ts"
import type { EventPosition } from "../../schemas/Ids.ts"

/** One merchant's part of a stored flush. */
export interface CommittedBatch {
  readonly merchantId: number
  /** The stream's position before the flush: whoever knows less has a gap. (0, 0) for a merchant's first event. */
  readonly previous: EventPosition
  /** Never empty; in id order. */
  readonly events: ReadonlyArray<CommittedEvent>
}

export class CommitFeed extends Context.Service<CommitFeed, {
  /**
   * Calls `listener` after each flush of this instance that holds events, per merchant in commit order. It must return
   * at once and never throw: callers wait for it.
   */
  readonly listen: (
    listener: (batches: ReadonlyArray<CommittedBatch>) => void
  ) => Effect.Effect<void, never, Scope.Scope>
}>()("tillwire/runtime/commit/CommitFeed") {}
