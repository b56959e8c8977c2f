/**
 * The commit log over PostgreSQL. In each shard, commits that arrive during a flush form the next batch. A flush is one
 * call of one function, so it is one transaction, and an idle service answers in one round trip. Nothing waits on a
 * timer.
 */
import { Clock, Context, Duration, Effect, Fiber, Layer } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { MachineClock, machineMillis } from "../Clock.ts"
import { type Append, Commit, type CommitResult, type CommittedEvent, Conflict, IdempotentReplay } from "../Commit.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import {
  committedEvent,
  encode,
  type EncodedCommit,
  type EventNumberRow,
  type RejectedCommit,
  rejectionArguments,
  takeBatch,
  writeArguments
} from "./Batch.ts"
import { prepare } from "./Catalog.ts"
import { type FlushError, flushErrorOf, sqlState } from "./FlushError.ts"
import { CommitFeed, type CommittedBatch } from "./CommitFeed.ts"
import { FlushLog, noFlushes, recordFailure, recordSuccess } from "./Flushes.ts"
import { briefLockMillis } from "./Statement.ts"
import type { Rollup } from "../Rollups.ts"
import { databaseMessage } from "../store/StoreError.ts"
import { recordIn, Traces } from "../telemetry/Traces.ts"
import { groupRollups } from "./RollupDeltas.ts"

/**
 * Flushes under way at once; a merchant's commits all go through the same shard. Two gain a third over one on two
 * cores.
 */
const shardCount = 2

/** Commits that may wait in a shard; above it callers are refused at once. */
export const maximumWaiting = 10_000

/** A flush that takes longer has an unknown outcome and its callers are told `SERVICE_UNAVAILABLE`. */
export const flushLimit = Duration.seconds(5)

/**
 * Milliseconds of the search for the commits of a batch that wait for a lock. A flush that meets a lock takes 1.3 s in
 * all: 0.7 s until the first call gives up waiting for the lock, 0.4 s of this search, and one last call for each of
 * the at most 8 parts that remain.
 */
const lockSearchMillis = 400

/**
 * Milliseconds that a commit may have waited in the queue when the flush before it met a lock. One that waited longer
 * is refused together with that flush: its own flush may meet a lock too and take 1.3 s, and callers are promised an
 * answer within 3 s.
 */
const maximumQueuedMillis = 1_400

/** Calls of one batch that met a deadlock or a serialization failure. */
const maximumRetries = 3

/** Calls of one batch that lost races: each one rejects at least one of its commits. */
const maximumConflicts = 16

type Failure = Conflict | IdempotentReplay | PublicError

/** A caller and its commit. */
interface PendingCommit {
  readonly encoded: EncodedCommit
  readonly resume: (result: Effect.Effect<CommitResult, Failure>) => void
  /** By the machine's clock. */
  readonly queuedAtMillis: number
}

interface Shard {
  readonly queue: Array<PendingCommit>
  /** The writer, while there is something to write. */
  writer: Fiber.Fiber<void> | undefined
}

const unavailable = (reason: string) =>
  Effect.fail(publicError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 1, reason }))

const closedLogFailure = unavailable("the commit log is closed: the service stops")
const fullQueueFailure = unavailable(`${maximumWaiting} commits wait to be written already`)
const foreignLockFailure = unavailable("another session of the database holds a lock that the commit needs")
const longWaitFailure = unavailable(
  "a flush before the commit waited for a lock of another session of the database, and the commit waited too long for it"
)
const unansweredFlushFailure = unavailable(
  `the database did not answer a flush within ${Duration.format(flushLimit)}: the commit may or may not be stored`
)

const failAll = (batch: ReadonlyArray<PendingCommit>, failure: Effect.Effect<never, Failure>) =>
  Effect.sync(() => batch.forEach(({ resume }) => resume(failure)))

/** The events of a batch in order, and each merchant's part of them. */
const numberEvents = (batch: ReadonlyArray<PendingCommit>, rows: ReadonlyArray<EventNumberRow>) => {
  let next = 0
  let nextMessage = batch.reduce((sum, { encoded }) => sum + encoded.drafts.length, 0)
  const streams = new Map<
    number,
    { readonly previous: CommittedBatch["previous"]; readonly events: Array<CommittedEvent> }
  >()
  const endpointsOfMessages = ({ append: { messages = [] } }: EncodedCommit) => [
    ...new Set(messages.flatMap(() => rows[nextMessage++]!.endpoints))
  ]
  const answers = batch.map(({ encoded }): CommitResult => ({
    events: encoded.drafts.map((draft, index) => {
      const row = rows[next++]!
      const messageEndpoints = index === encoded.drafts.length - 1 ? endpointsOfMessages(encoded) : []
      const event = committedEvent(draft, row, messageEndpoints)
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
  return {
    answers,
    batches: Array.from(streams, ([merchantId, stream]): CommittedBatch => ({ merchantId, ...stream }))
  }
}

// oxlint-disable-next-line max-lines-per-function -- the hot path: one closure over its queues
const make = (tables: ReadonlyArray<string>, rollups: ReadonlyArray<Rollup>) =>
  // oxlint-disable-next-line max-lines-per-function -- the same
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const traces = yield* Traces
    const monotonicMillis = yield* machineMillis
    const writerContext = Context.add(yield* Effect.context<never>(), Clock.Clock, yield* MachineClock)
    const { shapes, statements } = yield* prepare(tables, rollups)
    const keyConstraints = new Set(["idempotency_pkey", ...shapes.map(({ keyConstraint }) => keyConstraint)])
    const byName = new Map(shapes.map((shape, place) => [shape.name, { ...shape, place }]))
    const rollupsByObject = groupRollups(rollups)
    const listeners = new Set<(batches: ReadonlyArray<CommittedBatch>) => void>()
    const shards = Array.from({ length: shardCount }, (): Shard => ({ queue: [], writer: undefined }))
    let isClosed = false
    let flushes = noFlushes

    /**
     * One call of the database, which is interrupted after the limit. The interruption itself is not waited for: a
     * connection that never answers must not hold a shard.
     */
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

    const publish = (batch: ReadonlyArray<PendingCommit>, rows: ReadonlyArray<EventNumberRow>) =>
      Effect.sync(() => {
        const { answers, batches } = numberEvents(batch, rows)
        flushes = recordSuccess(flushes, monotonicMillis())
        if (batches.length > 0) listeners.forEach((listener) => listener(batches))
        batch.forEach(({ resume }, index) => resume(Effect.succeed(answers[index]!)))
      })

    const abandon = (shard: Shard, batch: ReadonlyArray<PendingCommit>, error: SqlError.SqlError | "timeout") =>
      Effect.gen(function*() {
        flushes = recordFailure(flushes, monotonicMillis(), error === "timeout" ? undefined : sqlState(error))
        // The driver's error only names the operation: what the database said is what an operator can act on.
        yield* error === "timeout"
          ? Effect.logError("The database did not answer a flush in time; its commits may or may not be stored", {
            commits: batch.length
          })
          : Effect.logError("A flush failed; its commits are refused", {
            commits: batch.length,
            reason: databaseMessage(error)
          }, error)
        yield* failAll(
          batch,
          error === "timeout"
            ? unansweredFlushFailure
            : unavailable(`the database refused the flush: ${databaseMessage(error)}`)
        )
        // After a time-out those that wait fail too, because they would time out as well.
        if (error === "timeout") yield* failAll(shard.queue.splice(0), unansweredFlushFailure)
      })

    const bisect = (
      shard: Shard,
      batch: ReadonlyArray<PendingCommit>,
      lockSearchEndMillis: number | null
    ): Effect.Effect<void> => {
      const middle = Math.ceil(batch.length / 2)
      const tries = { ...noTries, lockSearchEndMillis }
      return Effect.andThen(
        flushBatch(shard, batch.slice(0, middle), tries),
        flushBatch(shard, batch.slice(middle), tries)
      )
    }

    /**
     * Refuses the commits that wait for a lock, and writes the others: the batch is halved and tried with a short lock
     * timeout until {@link lockSearchMillis} are over. Of the queue it refuses the commits for the same rows, and every
     * commit that has waited longer than {@link maximumQueuedMillis}. Nothing of a refused commit was written.
     */
    const refuseLocked = (shard: Shard, batch: ReadonlyArray<PendingCommit>, tries: Tries): Effect.Effect<void> =>
      Effect.suspend(() => {
        const lockSearchEndMillis = tries.lockSearchEndMillis ?? monotonicMillis() + lockSearchMillis
        if (batch.length > 1 && monotonicMillis() < lockSearchEndMillis) {
          return bisect(shard, batch, lockSearchEndMillis)
        }
        const keysOfBatch = new Set(batch.flatMap(({ encoded }) => encoded.conflictKeys))
        const latestQueuedAtMillis = monotonicMillis() - maximumQueuedMillis
        const isBlocked = ({ encoded }: PendingCommit) => encoded.conflictKeys.some((key) => keysOfBatch.has(key))
        const queued = shard.queue.splice(0)
        const blocked = queued.filter(isBlocked)
        const late = queued.filter((each) => !isBlocked(each) && each.queuedAtMillis < latestQueuedAtMillis)
        shard.queue.push(...queued.filter((each) => !isBlocked(each) && each.queuedAtMillis >= latestQueuedAtMillis))
        const refused = batch.length + blocked.length + late.length
        return Effect.andThen(
          Effect.logWarning(
            "Commits are refused: another session of the database holds a lock they need. Find it in pg_locks and end it",
            { refused }
          ),
          Effect.andThen(failAll([...batch, ...blocked], foreignLockFailure), failAll(late, longWaitFailure))
        )
      })

    /** Answers the rejected ones, and tries the others again. */
    const rejectConflicts = (shard: Shard, batch: ReadonlyArray<PendingCommit>, tries: Tries): Effect.Effect<void> =>
      call<RejectedCommit>(
        statements.rejections,
        rejectionArguments(batch.map(({ encoded }) => encoded), shapes.length)
      ).pipe(
        Effect.matchEffect({
          onSuccess: (rejected) => {
            // Each may be stored alone, but not all together: they take more of a balance than it holds.
            if (rejected.length === 0 && batch.length > 1) return bisect(shard, batch, tries.lockSearchEndMillis)
            const reasons = new Map<number, Failure>()
            for (const { conflict_table, fingerprint, n, reference, sealed_body, status } of rejected) {
              if (fingerprint !== null) {
                reasons.set(n, new IdempotentReplay({ fingerprint, status, sealedBody: sealed_body, reference }))
              } else if (!reasons.has(n)) {
                reasons.set(n, new Conflict({ table: conflict_table }))
              }
            }
            const rest = batch.filter(({ resume }, index) => {
              const reason = reasons.get(index)
              if (reason !== undefined) resume(Effect.fail(reason))
              return reason === undefined
            })
            return flushBatch(shard, rest, { ...tries, conflicts: tries.conflicts + 1 })
          },
          onFailure: (error) => abandon(shard, batch, error)
        })
      )

    const flushBatch = (
      shard: Shard,
      batch: ReadonlyArray<PendingCommit>,
      tries: Tries = noTries
    ): Effect.Effect<void> => {
      if (batch.length === 0) return Effect.void
      const lockMillis = tries.lockSearchEndMillis === null ? null : briefLockMillis
      const values = [...writeArguments(batch.map(({ encoded }) => encoded), shapes.length), lockMillis]
      return call<EventNumberRow>(statements.write, values).pipe(Effect.matchEffect({
        onSuccess: (rows) => publish(batch, rows),
        onFailure: (error) => {
          const flushError: FlushError = error === "timeout" ? "unavailable" : flushErrorOf(error, keyConstraints)
          if (flushError === "unavailable") return abandon(shard, batch, error)
          if (flushError === "locked") return refuseLocked(shard, batch, tries)
          if (flushError === "conflict" && tries.conflicts < maximumConflicts) {
            return rejectConflicts(shard, batch, tries)
          }
          if (flushError === "retryable" && tries.retries < maximumRetries) {
            const retry = flushBatch(shard, batch, { ...tries, retries: tries.retries + 1 })
            return Effect.andThen(Effect.logWarning("A flush met a deadlock and is repeated", error), retry)
          }
          if (batch.length > 1) return bisect(shard, batch, tries.lockSearchEndMillis)
          return flushError === "data" ? failAll(batch, Effect.die(error)) : abandon(shard, batch, error)
        }
      }))
    }

    /** The first yield lets everything that is ready to commit now share the first flush. */
    const drain = (shard: Shard): Effect.Effect<void> =>
      Effect.gen(function*() {
        yield* Effect.yieldNow
        while (shard.queue.length > 0) {
          const batch = takeBatch(shard.queue)
          yield* flushBatch(shard, batch).pipe(
            Effect.catchCause((cause) =>
              Effect.andThen(
                Effect.logError("A flush failed with a defect; its commits are refused", cause),
                failAll(batch, Effect.failCause(cause))
              )
            )
          )
        }
        shard.writer = undefined
      })

    const runFork = Effect.runForkWith(writerContext)

    const write = (commit: Append): Effect.Effect<CommitResult, Failure> =>
      Effect.suspend(() => {
        const encoded = encode(commit, byName, rollupsByObject)
        const shard = shards[commit.merchantId % shardCount]!
        if (isClosed) return closedLogFailure
        if (shard.queue.length >= maximumWaiting) return fullQueueFailure
        return Effect.callback<CommitResult, Failure>((resume) => {
          const pending: PendingCommit = { encoded, resume, queuedAtMillis: monotonicMillis() }
          shard.queue.push(pending)
          if (shard.writer === undefined) shard.writer = runFork(drain(shard))
          return Effect.sync(() => {
            const index = shard.queue.indexOf(pending)
            if (index >= 0) shard.queue.splice(index, 1)
          })
        })
      })

    const append = !traces.isOn ? write : (commit: Append) =>
      Effect.suspend(() => {
        const { cause, environment, events, merchantId, writes } = commit
        const span = traces.beginFor(cause.requestId, "commit", {
          "tillwire.merchant_id": merchantId,
          "tillwire.environment": environment,
          "tillwire.commit.rows": writes.length,
          "tillwire.commit.events": events.length
        })
        return recordIn(span, write(commit))
      })

    yield* Effect.addFinalizer(() =>
      Effect.gen(function*() {
        isClosed = true
        for (const shard of shards) {
          yield* failAll(shard.queue.splice(0), closedLogFailure)
          if (shard.writer !== undefined) yield* Fiber.await(shard.writer)
        }
      })
    )

    const listen = (listener: (batches: ReadonlyArray<CommittedBatch>) => void) =>
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
  readonly retries: number
  readonly conflicts: number
  /** When the search for commits that wait for a lock ends, by the machine's clock; null: no lock was met. */
  readonly lockSearchEndMillis: number | null
}
const noTries: Tries = { retries: 0, conflicts: 0, lockSearchEndMillis: null }

/**
 * The commit log for `tables`, the runtime's and every plugin's, which must exist by now, keeping the sums `rollups`.
 * One for each database and process is enough; several on one database are safe if they keep the same sums.
 */
export const layer = (
  tables: ReadonlyArray<string>,
  rollups: ReadonlyArray<Rollup> = []
): Layer.Layer<Commit | CommitFeed | FlushLog, SqlError.SqlError, SqlClient.SqlClient> =>
  Layer.effectContext(make(tables, rollups))
