/** Committed events, told to subscribers in commit order, whichever instance committed them. */
import { Context, type Effect, type Scope } from "effect"
import type { CommittedEvent } from "./Commit.ts"
import type { EventType } from "../schemas/Event.ts"
import type { EventPosition } from "../schemas/Ids.ts"

/** A subscriber's work for events of one flush, in order. It must not fail: what can fail is retried from rows. */
export type EventHandler = (events: ReadonlyArray<CommittedEvent>) => Effect.Effect<void>

/** A merchant's events, or those of one of its invoices, customers or orders. */
export interface EventsOf {
  readonly merchantId: number
  readonly invoiceId?: string
  readonly customerId?: string
  readonly orderId?: string
  /** Types that are neither read nor counted; absent: none. */
  readonly hiddenTypes?: ReadonlyArray<EventType>
}

/** A bounded part of events, behind a position. */
export interface EventsAfter extends EventsOf {
  readonly position: EventPosition
  readonly limit: number
}

/** Committed events, live and stored. */
export class EventBus extends Context.Service<EventBus, {
  /**
   * Calls `handler` for every event committed from now on, on any instance: per merchant in id order, none skipped,
   * none twice, one call at a time. Live only: after a restart, what must not be missed is found from rows.
   */
  readonly subscribe: (name: string, handler: EventHandler) => Effect.Effect<void, never, Scope.Scope>
  /** Stored events after a position, oldest first, at most `limit`. */
  readonly readAfter: (query: EventsAfter) => Effect.Effect<ReadonlyArray<CommittedEvent>>
  /** How many stored events there are after a position, counted to `limit` at most. */
  readonly countAfter: (query: EventsAfter) => Effect.Effect<number>
  /** The position up to which a merchant's events have been removed: a cursor before it may have missed some. */
  readonly prunedPosition: (merchantId: number) => Effect.Effect<EventPosition>
  /**
   * A position after everything the merchant has committed and before everything it will: the number of an event that
   * is told but not stored, and a mark to read on from.
   */
  readonly nextPosition: (merchantId: number) => Effect.Effect<EventPosition>
  /**
   * For how many milliseconds this instance has asked the database in vain what others committed; 0 while it is
   * answered. Subscribers may know nothing of what happened since.
   */
  readonly staleMillis: () => number
}>()("tillwire/runtime/EventBus") {}
