/**
 * The bus over the events table. What this instance commits is told at once where it follows what was told before; what
 * others commit is found by polling, the truth, and sooner by a notification, which may be lost.
 *
 * Memory: one position for each merchant, and a bounded backlog for each subscriber.
 */
import { PgClient } from "@effect/sql-pg"
import { Clock, Effect, Latch, Layer, Queue, Schedule } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { CommitFeed, type CommittedBatch } from "../commit/CommitFeed.ts"
import type { CommittedEvent } from "../Commit.ts"
import { EventBus, type EventHandler } from "../EventBus.ts"
import { compareEventPositions, type EventPosition } from "../../schemas/Ids.ts"
import { makeEventRepo } from "./EventRepo.ts"
import { makeSubscriber, type Subscriber } from "./Subscriber.ts"
import { uuidV4 } from "../Uuid.ts"

/** Milliseconds between looks at the streams that moved. */
const pollMillis = 1_000

/** Milliseconds between notifications of one instance: at most 20 a second, each in a transaction of its own. */
const notifyMillis = 50

/** One for the deployment; PostgreSQL takes a payload of less than 8,000 bytes. */
const channel = "tillwire_events"
const maximumPayload = 7_900

/** Streams read at once after a gap, and events of each: bounds the answer to about 10 MB. */
const gapStreams = 50
const gapEvents = 100

/** Pauses between tries of a read that failed, up to the poll's own. */
const retryPauses = Schedule.min([Schedule.exponential("50 millis"), Schedule.spaced(pollMillis)])

const start: EventPosition = { ms: 0n, seq: 0n }

const retryForever = <A>(what: string, read: Effect.Effect<A, SqlError.SqlError>): Effect.Effect<A> =>
  read.pipe(
    Effect.tapError((error) => Effect.logWarning(`${what} failed and is tried again`, error)),
    Effect.retry(retryPauses),
    Effect.orDie
  )

// oxlint-disable-next-line max-lines-per-function -- position, gaps and subscribers change together
const make = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const pg = yield* PgClient.PgClient
  const feed = yield* CommitFeed
  const repo = yield* makeEventRepo
  const sender = yield* uuidV4

  const positions = new Map<number, EventPosition>()
  const subscribers = new Set<Subscriber>()
  /** Merchants with events in the table that were not told. */
  const gaps = new Set<number>()
  const gapLatch = Latch.makeUnsafe(false)
  /** Merchants the other instances have not been told of. */
  const toNotify = new Set<number>()
  const notifyLatch = Latch.makeUnsafe(false)
  const pollNow = Latch.makeUnsafe(false)
  let ready = false
  const clock = yield* Clock.Clock
  const monotonicMillis = () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
  /** When the look began that has no answer yet. */
  let readSinceMillis: number | undefined

  const positionOf = (merchantId: number): EventPosition => positions.get(merchantId) ?? start

  /** Tells what is news of `events`, which are all there is of the stream from some known position on. */
  const publish = (merchantId: number, events: ReadonlyArray<CommittedEvent>): void => {
    const previous = positionOf(merchantId)
    const newEvents = events.filter(({ position }) => compareEventPositions(position, previous) > 0)
    const last = newEvents.at(-1)
    if (last === undefined) return
    positions.set(merchantId, last.position)
    for (const subscriber of subscribers) subscriber.offer(merchantId, previous, newEvents)
  }

  const markGap = (merchantId: number): void => {
    gaps.add(merchantId)
    gapLatch.openUnsafe()
  }

  const onCommitted = (batches: ReadonlyArray<CommittedBatch>): void => {
    for (const { events, merchantId, previous } of batches) {
      toNotify.add(merchantId)
      if (ready && compareEventPositions(previous, positionOf(merchantId)) <= 0) publish(merchantId, events)
      else markGap(merchantId)
    }
    notifyLatch.openUnsafe()
  }

  const fillGaps = Effect.gen(function*() {
    while (true) {
      yield* gapLatch.await
      const merchants = [...gaps].slice(0, gapStreams)
      for (const merchantId of merchants) gaps.delete(merchantId)
      if (gaps.size === 0) gapLatch.closeUnsafe()
      const streams = merchants.map((merchantId) => ({ merchantId, position: positionOf(merchantId) }))
      const found = yield* retryForever("Reading events", repo.afterEach(streams, gapEvents))
      for (const [merchantId, events] of found) {
        publish(merchantId, events)
        if (events.length === gapEvents) markGap(merchantId)
      }
    }
  })

  const readPositions = (horizon: string | null) =>
    Effect.suspend(() => {
      readSinceMillis = monotonicMillis()
      return retryForever("Reading the streams' positions", repo.positionsSince(horizon))
    }).pipe(Effect.tap(() =>
      Effect.sync(() => {
        readSinceMillis = undefined
      })
    ))

  const poll = (first: string) =>
    Effect.gen(function*() {
      let horizon = first
      while (true) {
        yield* Effect.raceFirst(Effect.sleep(pollMillis), pollNow.await)
        pollNow.closeUnsafe()
        const positions = yield* readPositions(horizon)
        horizon = positions.horizon
        for (const { merchantId, position } of positions.streams) {
          if (compareEventPositions(position, positionOf(merchantId)) > 0) markGap(merchantId)
        }
      }
    })

  const notifyOthers = Effect.gen(function*() {
    while (true) {
      yield* notifyLatch.await
      notifyLatch.closeUnsafe()
      const ids = [...toNotify].join(",")
      toNotify.clear()
      const payload = `${sender} ${ids.length > maximumPayload - sender.length ? "*" : ids}`
      yield* sql`select pg_notify(${channel}, ${payload})`.pipe(
        Effect.catch((error) => Effect.logWarning("Other instances were not notified; they poll", error))
      )
      yield* Effect.sleep(notifyMillis)
    }
  })

  const onNotification = (payload: string): void => {
    const [from, ids] = payload.split(" ")
    if (from === sender || ids === undefined) return
    if (ids === "*") pollNow.openUnsafe()
    else for (const id of ids.split(",")) markGap(Number(id))
  }

  const receiveNotifications = Effect.scoped(
    Effect.flatMap(
      pg.listen(channel),
      (notifications) => Effect.forever(Effect.map(Queue.take(notifications), ({ payload }) => onNotification(payload)))
    )
  )

  const subscribe = (name: string, handler: EventHandler) =>
    Effect.gen(function*() {
      const subscriber = makeSubscriber(name, handler, {
        positionOf,
        after: (merchantId, position, limit) =>
          retryForever("Reading events", repo.after({ merchantId, position, limit }))
      })
      yield* Effect.acquireRelease(
        Effect.sync(() => void subscribers.add(subscriber)),
        () => Effect.sync(() => void subscribers.delete(subscriber))
      )
      yield* Effect.forkScoped(subscriber.run)
    })

  yield* feed.listen(onCommitted)
  const first = yield* repo.positionsSince(null)
  for (const { merchantId, position } of first.streams) positions.set(merchantId, position)
  ready = true
  yield* Effect.forkScoped(fillGaps)
  yield* Effect.forkScoped(poll(first.horizon))
  yield* Effect.forkScoped(notifyOthers)
  yield* Effect.forkScoped(retryForever("Listening for notifications", receiveNotifications))

  return EventBus.of({
    subscribe,
    readAfter: (query) => Effect.orDie(repo.after(query)),
    countAfter: (query) => Effect.orDie(repo.count(query)),
    prunedPosition: (merchantId) => Effect.orDie(repo.prunedTo(merchantId)),
    nextPosition: (merchantId) => Effect.orDie(repo.nextPosition(merchantId)),
    staleMillis: () => readSinceMillis === undefined ? 0 : monotonicMillis() - readSinceMillis
  })
})

/** The bus of one instance. Build it once for each commit log, over the same database. */
export const layer: Layer.Layer<
  EventBus,
  SqlError.SqlError,
  CommitFeed | SqlClient.SqlClient | PgClient.PgClient
> = Layer.effect(EventBus, make)
