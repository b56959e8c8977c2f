/**
 * Gives a sink every event once it is committed, on the one instance that holds its lease. A position is written behind
 * the sink's own promise that it has the events, so a crash in between gives it some of them twice, and none never.
 */
import { Cause, Clock, Effect, Latch, Metric, type Scope } from "effect"
import type { SqlError } from "effect/sql"
import { BackgroundWork } from "../../../runtime/BackgroundWork.ts"
import {
  type Commit,
  type Conflict,
  dieOnReplay,
  type Fence,
  noCause,
  systemMerchant,
  type Write
} from "../../../runtime/Commit.ts"
import type { EventBus } from "../../../runtime/EventBus.ts"
import type { Leases } from "../../../runtime/Leases.ts"
import { type Health, initializeSeries } from "../../../runtime/Telemetry.ts"
import type { PublicError } from "../../../schemas/Errors.ts"
import { positionWrite, type Repo, startWrite } from "../repo.ts"
import {
  hasMissed,
  merchantEvents,
  type MerchantReading,
  merchantsWithMore,
  oldestMillis,
  pauseAfter,
  roundEvents,
  roundMerchants,
  sinkEventsOf,
  sinkFindings,
  type SinkPosition
} from "../rules.ts"
import { type EventSink, SinkUnavailable } from "./EventSink.ts"

/** Milliseconds that a lease lasts without being renewed. */
const leaseMillis = 15_000

/** Milliseconds that a sink may take to store a round. */
const storeTimeoutMillis = 60_000

/** Milliseconds after which the work says that it goes on, where nothing is to be stored. */
const idleMillis = 10_000

/** A pass with its pause takes less: the time of a store, the longest pause, and what the database takes. */
const passMillis = 120_000

const stored = Metric.counter("sink_events_total", {
  description: "Events that a sink has stored, those that came twice counted twice",
  incremental: true
})
const failures = Metric.counter("sink_failures_total", {
  description: "Rounds that a sink did not store and is given again",
  incremental: true
})
const waiting = Metric.gauge("sink_waiting_seconds", {
  description: "Age of the oldest event that the sink did not take when it was last tried; 0: it takes them"
})

export interface ExportContext {
  readonly sink: EventSink
  readonly repo: Repo
  readonly commit: Commit["Service"]
  readonly bus: EventBus["Service"]
  readonly leases: Leases["Service"]
  readonly health: Health["Service"]
}

/** What may end a round: it is done again, or the lease is lost. */
type RoundError = SinkUnavailable | SqlError.SqlError | Conflict | PublicError

/** Merchants that may have events for the sink. */
interface Backlog {
  readonly merchants: Set<number>
  readonly latch: Latch.Latch
  /**
   * When the oldest event was committed that the sink did not take when it was last tried, in epoch milliseconds;
   * undefined: it took them. By the event and not by the first failure: a new holder knows nothing of earlier ones.
   */
  refusedMillis: number | undefined
}

const append = ({ commit }: ExportContext, fence: Fence, writes: ReadonlyArray<Write>) =>
  commit.append({ merchantId: systemMerchant, environment: "mainnet", cause: noCause, writes, events: [], fence }).pipe(
    dieOnReplay
  )

/** The millisecond that the sink begins at, which its first start decides. */
const startMillis = (context: ExportContext, fence: Fence): Effect.Effect<bigint, RoundError> =>
  Effect.gen(function*() {
    const { repo, sink: { from, name } } = context
    const known = yield* repo.startOf(name)
    if (known !== undefined) return known
    const fromMillis = from === "start" ? 0n : BigInt(yield* Clock.currentTimeMillis)
    yield* append(context, fence, [startWrite(name, fromMillis)])
    return fromMillis
  })

/** Every merchant that is behind, as at the start of a term: what was committed before the bus told of it. */
const addAllBehind = ({ repo, sink }: ExportContext, backlog: Backlog) =>
  Effect.gen(function*() {
    let after = 0
    for (;;) {
      const found = yield* repo.behind(sink.name, after, roundMerchants)
      found.forEach((id) => backlog.merchants.add(id))
      if (found.length < roundMerchants) return
      after = found.at(-1)!
    }
  })

/** Reads events of one merchant after the other, until the round is full. */
const readRound = ({ bus }: ExportContext, positions: ReadonlyArray<SinkPosition>) =>
  Effect.gen(function*() {
    const readings: Array<MerchantReading> = []
    let count = 0
    for (const at of positions) {
      const { merchantId, position } = at
      const events = yield* bus.readAfter({ merchantId, position, limit: merchantEvents })
      readings.push({ at, events })
      count += events.length
      if (count >= roundEvents) break
    }
    return readings
  })

const warnOfMissed = (sink: EventSink, { merchantId, position, pruned }: SinkPosition) =>
  Effect.logError(
    "events were deleted before a sink had them: it was away for longer than events are kept. A backup from before has them"
  ).pipe(
    Effect.annotateLogs({
      sink: sink.name,
      merchantId,
      after: `${position.ms}-${position.seq}`,
      until: `${pruned.ms}-${pruned.seq}`
    })
  )

/** Stores what the next merchants have, and remembers it. Who has more stays in the backlog. */
const round = (
  context: ExportContext,
  fence: Fence,
  fromMillis: bigint,
  backlog: Backlog
): Effect.Effect<void, RoundError> =>
  Effect.gen(function*() {
    const { repo, sink } = context
    const ids = [...backlog.merchants].slice(0, roundMerchants)
    // Taken out before the read: one that commits meanwhile is added again.
    ids.forEach((id) => backlog.merchants.delete(id))
    yield* Effect.gen(function*() {
      const positions = yield* repo.positions(sink.name, ids, fromMillis)
      const readings = yield* readRound(context, positions)
      yield* Effect.forEach(readings.filter(({ at }) => hasMissed(at)), ({ at }) => warnOfMissed(sink, at))
      const events = sinkEventsOf(readings.flatMap((reading) => reading.events))
      if (events.length > 0) {
        yield* sink.store(events).pipe(
          Effect.timeoutOrElse({ duration: storeTimeoutMillis, orElse: () => Effect.fail(tookTooLong) }),
          Effect.tapError(() => Effect.sync(() => void (backlog.refusedMillis = oldestMillis(readings))))
        )
        backlog.refusedMillis = undefined
        yield* Metric.update(Metric.withAttributes(stored, { sink: sink.name }), events.length)
      }
      const writes = readings.flatMap(({ at, events: read }) =>
        read.length === 0 ? [] : [positionWrite(sink.name, { ...at, position: read.at(-1)!.position })]
      )
      if (writes.length > 0) yield* append(context, fence, writes)
      merchantsWithMore(positions, readings).forEach((id) => backlog.merchants.add(id))
    }).pipe(
      Effect.onError(() => Effect.sync(() => ids.forEach((id) => backlog.merchants.add(id))))
    )
  })

const tookTooLong = new SinkUnavailable({
  reason: `it did not store a round within ${storeTimeoutMillis / 1_000} s: look whether its place is overloaded`
})

/** Rounds without end; one that fails is done again, later each time. */
const exportForever = (
  context: ExportContext,
  backlog: Backlog,
  fence: Fence,
  progress: Effect.Effect<void>
): Effect.Effect<never> =>
  Effect.scoped(Effect.gen(function*() {
    const { bus, sink } = context
    yield* bus.subscribe(`sink:${sink.name}`, (events) =>
      Effect.sync(() => {
        for (const { merchantId } of events) backlog.merchants.add(merchantId)
        backlog.latch.openUnsafe()
      }))
    let failureCount = 0
    const again = <A, E extends RoundError>(work: Effect.Effect<A, E>): Effect.Effect<A> =>
      Effect.catchCause(Effect.andThen(progress, work), (cause) => {
        if (Cause.hasInterruptsOnly(cause)) return Effect.interrupt
        const pauseMillis = pauseAfter(++failureCount)
        return Effect.logWarning("a sink did not store events and is given them again", cause).pipe(
          Effect.annotateLogs({ sink: sink.name, pauseMillis }),
          Effect.andThen(Metric.update(Metric.withAttributes(failures, { sink: sink.name }), 1)),
          Effect.andThen(Effect.sleep(pauseMillis)),
          Effect.andThen(Effect.suspend(() => again(work)))
        )
      }).pipe(Effect.tap(() => Effect.sync(() => void (failureCount = 0))))
    const fromMillis = yield* again(startMillis(context, fence))
    yield* again(addAllBehind(context, backlog))
    while (true) {
      if (backlog.merchants.size === 0) {
        backlog.latch.closeUnsafe()
        yield* Effect.raceFirst(backlog.latch.await, Effect.sleep(idleMillis))
      }
      yield* again(backlog.merchants.size === 0 ? Effect.void : round(context, fence, fromMillis, backlog))
    }
  })).pipe(
    Effect.ensuring(Effect.sync(() => {
      backlog.merchants.clear()
      backlog.refusedMillis = undefined
    }))
  )

/** Gives the sink its events for as long as the scope lives. */
export const exportTo = (context: ExportContext): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function*() {
    const { health, leases, sink } = context
    const labels = [{ sink: sink.name }]
    yield* initializeSeries(stored, labels)
    yield* initializeSeries(failures, labels)
    const backlog: Backlog = { merchants: new Set(), latch: Latch.makeUnsafe(false), refusedMillis: undefined }
    yield* health.register({
      // Events that wait are due work that is late.
      name: "timers",
      run: Effect.gen(function*() {
        const { refusedMillis } = backlog
        const millis = refusedMillis === undefined ? 0 : Math.max(0, (yield* Clock.currentTimeMillis) - refusedMillis)
        yield* Metric.update(Metric.withAttributes(waiting, { sink: sink.name }), Math.round(millis / 1_000))
        return sinkFindings(sink.name, millis)
      })
    })
    const options = { role: "worker", ttlMillis: leaseMillis, passMillis } as const
    yield* (yield* BackgroundWork).run(
      leases.hold(`sink:${sink.name}`, options, (fence, progress) => exportForever(context, backlog, fence, progress))
    )
  })
