/** One subscriber's backlog: bounded, and what does not fit is read again from the table when its turn comes. */
import { Cause, Effect, Latch } from "effect"
import type { CommittedEvent } from "../Commit.ts"
import type { EventHandler } from "../EventBus.ts"
import { compareEventPositions, type EventPosition } from "../../schemas/Ids.ts"

/** Events a subscriber may have waiting in memory. Past it, a merchant's events stay in the table. */
export const maximumBacklog = 10_000

/** Events read from the table at once. */
export const pageSize = 500

/** Where the bus stands with each merchant, and how to read what it has passed. */
export interface Source {
  readonly positionOf: (merchantId: number) => EventPosition
  /** Never fails: waits until the database answers. */
  readonly after: (merchantId: number, position: EventPosition, limit: number) => Effect.Effect<
    ReadonlyArray<CommittedEvent>
  >
}

export const makeSubscriber = (name: string, handler: EventHandler, source: Source) => {
  const latch = Latch.makeUnsafe(false)
  let backlog: Array<CommittedEvent> = []
  /** Merchants whose events are left in the table, and the position they are left from. */
  const catchUpFrom = new Map<number, EventPosition>()

  /** Takes the events of one merchant, which follow `previous` in its stream. */
  const offer = (merchantId: number, previous: EventPosition, events: ReadonlyArray<CommittedEvent>): void => {
    if (!catchUpFrom.has(merchantId)) {
      if (backlog.length + events.length > maximumBacklog) catchUpFrom.set(merchantId, previous)
      else for (const event of events) backlog.push(event)
    }
    latch.openUnsafe()
  }

  const call = (events: ReadonlyArray<CommittedEvent>) =>
    Effect.suspend(() => handler(events)).pipe(
      Effect.catchCause((cause) =>
        Cause.hasInterruptsOnly(cause)
          ? Effect.failCause(cause)
          : Effect.logError("An event handler failed; its events are passed over", { name }, cause)
      )
    )

  /** Reads no further than the bus has told: the rest will be offered. */
  const catchUp = (merchantId: number, from: EventPosition) =>
    Effect.gen(function*() {
      let position = from
      while (compareEventPositions(position, source.positionOf(merchantId)) < 0) {
        const busPosition = source.positionOf(merchantId)
        const page = yield* source.after(merchantId, position, pageSize)
        const events = page.filter((event) => compareEventPositions(event.position, busPosition) <= 0)
        const last = events.at(-1)
        if (last === undefined) break
        yield* call(events)
        position = last.position
        catchUpFrom.set(merchantId, position)
      }
      catchUpFrom.delete(merchantId)
    })

  const run = Effect.gen(function*() {
    while (true) {
      yield* latch.await
      latch.closeUnsafe()
      while (backlog.length > 0 || catchUpFrom.size > 0) {
        const events = backlog
        backlog = []
        // Chosen before the call: whoever is behind now has nothing in the backlog but what is being told.
        const [next] = catchUpFrom
        if (events.length > 0) yield* call(events)
        if (next !== undefined) yield* catchUp(next[0], next[1])
      }
    }
  })

  return { offer, run }
}
export type Subscriber = ReturnType<typeof makeSubscriber>
