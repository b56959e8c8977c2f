/**
 * The commit log over PostgreSQL: while one flush is on its way the next batch gathers, and a flush is one call of one
 * function, so it is one transaction, and an idle service answers in one round trip. Nothing waits on a timer.
 */
import { Clock, Context, Duration, Effect, Fiber, Layer } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { Commit, type Append, type Committed, type CommittedEvent, Conflict, Replayed } from "../Commit.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import {
  committed,
  encode,
  type Encoded,
  type Loser,
  losersArguments,
  type Numbered,
  takeBatch,
  writeArguments
} from "./Batch.ts"
import { prepare } from "./Catalog.ts"
import { type Fault, faultOf, sqlState } from "./Fault.ts"
import { CommitFeed, type Landed } from "./Feed.ts"
import { recordFailure, FlushLog, noFlushes, recordSuccess } from "./Flushes.ts"
import { briefLockMillis } from "./Statement.ts"
import type { Rollup } from "../Rollups.ts"
import { saidBy } from "../store/StoreError.ts"
import { keptOf } from "./Sums.ts"

/** Flushes under way at once; a merchant's commits all take the same lane. Two gain a third over one on two cores. */
const laneCount = 2

/** Commits that may wait in a lane; above it callers are refused at once. */
export const maximumWaiting = 10_000

/** A flush that takes longer has an unknown outcome and its callers are told `SERVICE_UNAVAILABLE`. */
export const flushLimit = Duration.seconds(5)

/**
 * Milliseconds spent on finding which commits of a batch wait for a lock. A flush that meets a lock takes 1.3 s in all:
 * 0.7 s until the lock times out, this search, and a last try of each of the at most 8 parts that are left then.
 */
const lockSearchMillis = 400

/**
 * Milliseconds a commit may have been queued when the flush before it met a lock; a commit that was queued longer is
 * refused with it. One such flush takes as long: a later commit may meet a lock itself and is still answered within the
 * 3 s that callers are promised.
 */
const maximumQueuedMillis = 1_400

/** Calls of one batch that met a deadlock or a serialization failure. */
const maximumAgain = 3

/** Calls of one batch that lost races: each one settles at least one of them. */
const maximumLost = 16

type Failure = Conflict | Replayed | PublicError

/** A caller and its commit. */
interface Pending {
  readonly encoded: Encoded
  readonly resume: (result: Effect.Effect<Committed, Failure>) => void
  /** By {@link monotonicMillis}. */
  readonly queuedAtMillis: number
}

/** Real time, also in tests that replace the service's clock. */
const monotonicMillis = () => performance.now()

interface Lane {
  readonly waiting: Array<Pending>
  /** The writer, while there is something to write. */
  writer: Fiber.Fiber<void> | undefined
}

const unavailable = Effect.fail(publicError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 1 }))

const failAll = (batch: ReadonlyArray<Pending>, failure: Effect.Effect<never, Failure>) =>
  Effect.sync(() => batch.forEach(({ resume }) => resume(failure)))

/** The events of a batch in order, and each merchant's part of them. */
const numberEvents = (batch: ReadonlyArray<Pending>, rows: ReadonlyArray<Numbered>) => {
  let next = 0
  const streams = new Map<number, { readonly previous: Landed["previous"]; readonly events: Array<CommittedEvent> }>()
  const answers = batch.map(({ encoded }): Committed => ({
    events: encoded.drafts.map((draft) => {
      const row = rows[next++]!
      const event = committed(draft, row)
      const stream = streams.get(event.merchantId)
      if (stream === undefined) {
        const previous = { ms: row.previous_ms, seq: row.previous_seq }
        streams.set(event.merchantId, { previous, events: [event] })
      } else {
        stream.events.push(event)
      }
      return event
    })
  }))
  return { answers, landed: Array.from(streams, ([merchantId, stream]): Landed => ({ merchantId, ...stream })) }
}

const make = (tables: ReadonlyArray<string>, rollups: ReadonlyArray<Rollup>) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    // The limit on a real database is in real time, whatever clock the rest of the service runs under.
    const writerContext = Context.add(yield* Effect.context<never>(), Clock.Clock, Clock.Clock.defaultValue())
    const { shapes, statements } = yield* prepare(tables, rollups)
    const byName = new Map(shapes.map((shape, place) => [shape.name, { ...shape, place }]))
    const kept = keptOf(rollups)
    const listeners = new Set<(landed: ReadonlyArray<Landed>) => void>()
    const lanes = Array.from({ length: laneCount }, (): Lane => ({ waiting: [], writer: undefined }))
    let closed = false
    let flushes = noFlushes

    /** Not waited for past the limit, interruption included: a connection that never answers must not hold a lane. */
    const call = <A extends object>(text: string, values: ReadonlyArray<unknown>) =>
      Effect.gen(function*() {
        const fiber = yield* Effect.forkDetach(sql.unsafe<A>(text, values))
        return yield* Effect.timeoutOrElse(Fiber.join(fiber), {
          duration: flushLimit,
          orElse: () => {
            fiber.interruptUnsafe()
            return Effect.fail("timeout" as const)
          }
        })
      })

    const land = (batch: ReadonlyArray<Pending>, rows: ReadonlyArray<Numbered>) =>
      Effect.sync(() => {
        const { answers, landed } = numberEvents(batch, rows)
        flushes = recordSuccess(flushes, monotonicMillis())
        if (landed.length > 0) listeners.forEach((listener) => listener(landed))
        batch.forEach(({ resume }, index) => resume(Effect.succeed(answers[index]!)))
      })

    const abandon = (lane: Lane, batch: ReadonlyArray<Pending>, error: SqlError.SqlError | "timeout") =>
      Effect.gen(function*() {
        flushes = recordFailure(flushes, monotonicMillis(), error === "timeout" ? undefined : sqlState(error))
        // The driver's error only names the operation: what the database said is what an operator can act on.
        const reason = error === "timeout" ? "no answer in time" : saidBy(error)
        yield* Effect.logError("A flush failed; its commits are refused", { commits: batch.length, reason }, error)
        yield* failAll(batch, unavailable)
        // Who waits behind a database that does not answer would wait the same limit again for the same answer.
        if (error === "timeout") yield* failAll(lane.waiting.splice(0), unavailable)
      })

    const inHalves = (lane: Lane, batch: ReadonlyArray<Pending>, tries = noTries): Effect.Effect<void> => {
      const middle = Math.ceil(batch.length / 2)
      return Effect.andThen(settle(lane, batch.slice(0, middle), tries), settle(lane, batch.slice(middle), tries))
    }

    /**
     * Refuses the commits that wait for a lock, and those queued behind them for the same rows, and writes the others: the
     * batch is halved and tried with a short lock timeout until {@link lockSearchMillis} are over. Nothing of a refused
     * commit was written.
     */
    const refuseLocked = (lane: Lane, batch: ReadonlyArray<Pending>, tries: Tries): Effect.Effect<void> =>
      Effect.suspend(() => {
        const lockSearchUntil = tries.lockSearchUntil ?? monotonicMillis() + lockSearchMillis
        if (batch.length > 1 && monotonicMillis() < lockSearchUntil) {
          return inHalves(lane, batch, { ...noTries, lockSearchUntil })
        }
        const claims = new Set(batch.flatMap(({ encoded }) => encoded.claims))
        const latestQueuedAtMillis = monotonicMillis() - maximumQueuedMillis
        const isBlocked = ({ encoded, queuedAtMillis }: Pending) =>
          queuedAtMillis < latestQueuedAtMillis || encoded.claims.some((claim) => claims.has(claim))
        const blocked = lane.waiting.filter(isBlocked)
        lane.waiting.splice(0, lane.waiting.length, ...lane.waiting.filter((each) => !blocked.includes(each)))
        const refused = batch.length + blocked.length
        return Effect.andThen(
          Effect.logWarning("Commits are refused: another session of the database holds a lock they need. Find it in pg_locks and end it", { refused }),
          failAll([...batch, ...blocked], unavailable)
        )
      })

    /** Answers those that lost for good, and tries the others again. */
    const dismiss = (lane: Lane, batch: ReadonlyArray<Pending>, tries: Tries): Effect.Effect<void> =>
      call<Loser>(statements.losers, losersArguments(batch.map(({ encoded }) => encoded), shapes.length)).pipe(
        Effect.matchEffect({
          onSuccess: (losers) => {
            const reasons = new Map<number, Failure>()
            for (const { cause, fingerprint, n, sealed_body, status } of losers) {
              if (cause === "idempotency") {
                reasons.set(n, new Replayed({ fingerprint, status, sealedBody: sealed_body }))
              } else if (!reasons.has(n)) {
                reasons.set(n, new Conflict({ table: cause }))
              }
            }
            const rest = batch.filter(({ resume }, index) => {
              const reason = reasons.get(index)
              if (reason !== undefined) resume(Effect.fail(reason))
              return reason === undefined
            })
            return settle(lane, rest, { ...tries, lost: tries.lost + 1 })
          },
          onFailure: (error) => abandon(lane, batch, error)
        })
      )

    const settle = (lane: Lane, batch: ReadonlyArray<Pending>, tries: Tries = noTries): Effect.Effect<void> => {
      if (batch.length === 0) return Effect.void
      const lockMillis = tries.lockSearchUntil === null ? null : briefLockMillis
      const values = [...writeArguments(batch.map(({ encoded }) => encoded), shapes.length), lockMillis]
      return call<Numbered>(statements.write, values).pipe(Effect.matchEffect({
        onSuccess: (rows) => land(batch, rows),
        onFailure: (error) => {
          const fault: Fault = error === "timeout" ? "gone" : faultOf(error)
          if (fault === "gone") return abandon(lane, batch, error)
          if (fault === "locked") return refuseLocked(lane, batch, tries)
          if (fault === "lost" && tries.lost < maximumLost) return dismiss(lane, batch, tries)
          if (fault === "again" && tries.again < maximumAgain) {
            const repeated = settle(lane, batch, { ...tries, again: tries.again + 1 })
            return Effect.andThen(Effect.logWarning("A flush met a deadlock and is repeated", error), repeated)
          }
          if (batch.length > 1) return inHalves(lane, batch, { ...noTries, lockSearchUntil: tries.lockSearchUntil })
          return fault === "data" ? failAll(batch, Effect.die(error)) : abandon(lane, batch, error)
        }
      }))
    }

    /** The first yield lets everything that is ready to commit now share the first flush. */
    const drain = (lane: Lane): Effect.Effect<void> =>
      Effect.gen(function*() {
        yield* Effect.yieldNow
        while (lane.waiting.length > 0) {
          const batch = takeBatch(lane.waiting)
          yield* settle(lane, batch).pipe(
            Effect.catchCause((cause) =>
              Effect.andThen(Effect.logError("A flush died", cause), failAll(batch, Effect.failCause(cause)))
            )
          )
        }
        lane.writer = undefined
      })

    const runFork = Effect.runForkWith(writerContext)

    const append = (commit: Append): Effect.Effect<Committed, Failure> =>
      Effect.suspend(() => {
        const encoded = encode(commit, byName, kept)
        const lane = lanes[commit.merchantId % laneCount]!
        if (closed || lane.waiting.length >= maximumWaiting) return unavailable
        return Effect.callback<Committed, Failure>((resume) => {
          const pending: Pending = { encoded, resume, queuedAtMillis: monotonicMillis() }
          lane.waiting.push(pending)
          if (lane.writer === undefined) lane.writer = runFork(drain(lane))
          return Effect.sync(() => {
            const index = lane.waiting.indexOf(pending)
            if (index >= 0) lane.waiting.splice(index, 1)
          })
        })
      })

    yield* Effect.addFinalizer(() =>
      Effect.gen(function*() {
        closed = true
        for (const lane of lanes) {
          yield* failAll(lane.waiting.splice(0), unavailable)
          if (lane.writer !== undefined) yield* Fiber.await(lane.writer)
        }
      })
    )

    const listen = (listener: (landed: ReadonlyArray<Landed>) => void) =>
      Effect.acquireRelease(
        Effect.sync(() => void listeners.add(listener)),
        () => Effect.sync(() => void listeners.delete(listener))
      )

    return Context.make(Commit, { append }).pipe(
      Context.add(CommitFeed, { listen }),
      Context.add(FlushLog, { read: Effect.sync(() => flushes) })
    )
  })

/** Calls of a batch so far, by why they failed. */
interface Tries {
  readonly again: number
  readonly lost: number
  /** When the search for commits that wait for a lock ends, by {@link monotonicMillis}; null: no lock was met. */
  readonly lockSearchUntil: number | null
}
const noTries: Tries = { again: 0, lost: 0, lockSearchUntil: null }

/**
 * The commit log for `tables`, the runtime's and every plugin's, which must exist by now, keeping the sums `rollups`.
 * One for each database and process is enough; several on one database are safe if they keep the same sums.
 */
export const layer = (
  tables: ReadonlyArray<string>,
  rollups: ReadonlyArray<Rollup> = []
): Layer.Layer<Commit | CommitFeed | FlushLog, SqlError.SqlError, SqlClient.SqlClient> =>
  Layer.effectContext(make(tables, rollups))
