/** What a client missed, read from the table in pages and written as it reads, while live events go on. */
import { Clock, Effect } from "effect"
import type { CommittedEvent } from "../Commit.ts"
import type { EventBus, EventsOf } from "../EventBus.ts"
import { compareEventPositions, eventIdOf, type EventPosition } from "../../schemas/Ids.ts"
import type { Connection } from "./Connection.ts"
import { closeReasons, replayCompleteText, replayStartText, resyncText, textFrame } from "./Frames.ts"

/** Events read at once: bounds what a replay holds, whatever its length. */
const pageSize = 200

/** Frames and bytes written between two waits for the reader, so that a long replay never counts as being slow. */
const framesAtOnce = 100
const bytesAtOnce = 262_144

/** The largest sequence number: with it a position lies after every event of its millisecond. */
const lastSequence = 9_223_372_036_854_775_807n

/** What is replayed, and how much at most. */
export interface ReplayQuery {
  /** The last event the client has, as it wrote it. */
  readonly since: string
  readonly position: EventPosition
  readonly of: EventsOf
  /** Events after `since`, shown or not. */
  readonly maximumEvents: number
  /** How old the first of them may be; null: as old as the oldest that is kept. */
  readonly maximumMillis: number | null
  /** The text of an event in this stream; null where it is not shown. */
  readonly textOf: (event: CommittedEvent) => string | null
  /** Told of every event that was shown. */
  readonly onShown: (event: CommittedEvent) => void
}

type Bus = EventBus["Service"]

/** The frame that refuses a replay, if the events missed are too many or no longer all there. */
const refusal = Effect.fnUntraced(function*(bus: Bus, { maximumEvents, maximumMillis, of, position }: ReplayQuery) {
  const oldest = (from: EventPosition) =>
    Effect.map(bus.readAfter({ ...of, position: from, limit: 1 }), ([event]) => event?.id ?? null)
  const pruned = yield* bus.prunedPosition(of.merchantId)
  if (compareEventPositions(position, pruned) < 0) return resyncText("cursor_too_old", yield* oldest(pruned))
  if (maximumMillis !== null) {
    const horizon = BigInt((yield* Clock.currentTimeMillis) - maximumMillis)
    const [first] = yield* bus.readAfter({ ...of, position, limit: 1 })
    if (first !== undefined && first.position.ms < horizon) {
      return resyncText("cursor_too_old", yield* oldest({ ms: horizon - 1n, seq: lastSequence }))
    }
  }
  const missed = yield* bus.countAfter({ ...of, position, limit: maximumEvents + 1 })
  return missed > maximumEvents ? resyncText("too_many_events", null) : undefined
})

/** Waits until everything written so far has left the process, or the connection is over. */
const write = (connection: Connection, frames: ReadonlyArray<Buffer>): Effect.Effect<void> =>
  Effect.gen(function*() {
    let at = 0
    while (at < frames.length && !connection.isEnded) {
      yield* Effect.callback<void>((resume) => {
        const stop = Math.min(frames.length, at + framesAtOnce)
        let bytes = 0
        while (at < stop) {
          const frame = frames[at++]!
          bytes += frame.length
          if (at === stop || bytes >= bytesAtOnce) return connection.write(frame, () => resume(Effect.void))
          connection.write(frame)
        }
      })
    }
  })

/** Writes texts as frames, at the pace of the reader. */
export const writeTexts = (connection: Connection, texts: ReadonlyArray<string>): Effect.Effect<void> =>
  write(connection, texts.map(textFrame))

/**
 * Replays, for a connection that was made to pass live events over. Until the reader has nearly everything, the table
 * alone is read, and live events are dropped, because they are in it; then live frames are kept, what came in between
 * is read, and repeats are told by their positions. So nothing is lost or told twice, and little is ever held.
 */
export const replay = Effect.fnUntraced(function*(bus: Bus, connection: Connection, query: ReplayQuery) {
  const { maximumEvents, of, onShown, since, textOf } = query
  const refusalFrame = yield* refusal(bus, query)
  if (refusalFrame !== undefined) {
    connection.bufferLive()
    return connection.write(textFrame(refusalFrame))
  }
  let { position } = query
  let count = 0
  let eventsRead = 0
  let lastShown: EventPosition | null = null
  connection.write(textFrame(replayStartText(since)))

  /** Tells the next events of the table; false when there were no more than fit on a page. */
  const page = Effect.gen(function*() {
    const events = yield* bus.readAfter({ ...of, position, limit: pageSize })
    const texts: Array<string> = []
    for (const event of events) {
      const text = textOf(event)
      if (text === null) continue
      texts.push(text)
      onShown(event)
      lastShown = event.position
    }
    count += texts.length
    eventsRead += events.length
    position = events.at(-1)?.position ?? position
    yield* writeTexts(connection, texts)
    return events.length === pageSize && !connection.isEnded
  })

  do {
    connection.dropLive()
    while (yield* page) if (eventsRead > 2 * maximumEvents) return connection.end(closeReasons.slowConsumer)
    connection.bufferLive()
  } while ((yield* page) || connection.isOverflowing)
  connection.write(textFrame(replayCompleteText(count, lastShown === null ? null : eventIdOf(lastShown))))
  connection.markReplayed(position)
})
