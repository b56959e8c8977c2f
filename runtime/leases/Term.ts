/**
 * One term of a piece of work, from its fence to its end, and the rule for work that stands still. What both drivers of
 * leases have in common.
 */
import { Cause, Effect, Exit, Fiber, Metric } from "effect"
import { monotonicMillis } from "../Clock.ts"
import type { Fence } from "../Commit.ts"
import type { LeaseOptions, LeaseStatus } from "../Leases.ts"
import { initializeSeries } from "../Telemetry.ts"

/**
 * How long work may take to stop once it is interrupted. Commits with the fence of work that does not stop are refused
 * once the next term begins.
 */
const stopMillis = 5_000

/** Pause before work that died begins anew. */
export const pauseAfterDeathMillis = 1_000

/** Stalled terms in a row after which another instance has to try. One that made progress before is the first of a row. */
const stallsBeforeMove = 2

const stalls = Metric.counter("work_stalls_total", {
  description: "Terms of the work that this instance ended because it made no progress for too long",
  incremental: true
})

/**
 * How long this instance may be without a look at the rows before what it saw last counts as old: a database that is
 * gone has a check of its own, and its return must not look as if nobody had worked.
 */
export const longestLookGapMillis = 60_000

/**
 * How much later than asked a pause may end before it means that the process was frozen, or its machine asleep: longer
 * than a loaded event loop is late.
 */
const latenessMillis = 1_000

/** A piece of work of this process. Times are monotonic. */
export interface WorkRecord extends LeaseOptions {
  readonly name: string
  isHeldHere: boolean
  /** When the lease was last looked at: its row was read or renewed. */
  lookedAtMillis: number
  /** When looks began again after they had ended for a while: nothing is known of the time before. */
  looksResumedAtMillis: number
  /** When any instance was last seen to renew the lease. */
  renewedAtMillis: number
  /** When the work was last seen to make progress, on any instance. */
  progressedAtMillis: number
  /** Whether it made progress here that its row does not show yet. */
  hasNewProgress: boolean
  /** Stalled terms in a row that ended here. One that made progress before is the first of a row. */
  stalls: number
}

/** Makes the count of the work's stalls exist before the first one. */
export const initializeStalls = (name: string): Effect.Effect<void> => initializeSeries(stalls, [{ name }])

export const newRecord = (name: string, options: LeaseOptions, nowMillis: number): WorkRecord => ({
  name,
  ...options,
  isHeldHere: false,
  lookedAtMillis: nowMillis,
  looksResumedAtMillis: nowMillis,
  renewedAtMillis: nowMillis,
  progressedAtMillis: nowMillis,
  hasNewProgress: false,
  stalls: 0
})

/** Notes a look at the lease. Looks come every `everyMillis`, but from a process that was frozen or had no database. */
export const noteLook = (record: WorkRecord, everyMillis: number, nowMillis: number): void => {
  if (nowMillis - record.lookedAtMillis > everyMillis + latenessMillis) record.looksResumedAtMillis = nowMillis
  record.lookedAtMillis = nowMillis
}

/** How old `atMillis` was at the last look, from when looks began again on. */
const ageOf = (atMillis: number, { looksResumedAtMillis, lookedAtMillis }: WorkRecord, nowMillis: number): number => {
  const seenMillis = nowMillis - lookedAtMillis > longestLookGapMillis ? nowMillis : Math.max(lookedAtMillis, atMillis)
  return Math.max(0, seenMillis - Math.max(atMillis, looksResumedAtMillis))
}

/** What other parts are shown of `records`, in order of name. */
export const statusesOf = (records: Iterable<WorkRecord>): Effect.Effect<ReadonlyArray<LeaseStatus>> =>
  Effect.map(monotonicMillis, (now) =>
    [...records]
      .map((record) => ({
        name: record.name,
        ttlMillis: record.ttlMillis,
        passMillis: record.passMillis,
        isHeldHere: record.isHeldHere,
        ageMillis: ageOf(record.renewedAtMillis, record, now),
        progressAgeMillis: ageOf(record.progressedAtMillis, record, now)
      }))
      .toSorted((a, b) => a.name.localeCompare(b.name)))

/** Milliseconds since the progress that the work's row does not show yet, or null. It counts as shown from now on. */
export const takeNewProgress = (record: WorkRecord, nowMillis: number): number | null => {
  if (!record.hasNewProgress) return null
  record.hasNewProgress = false
  return Math.max(0, nowMillis - record.progressedAtMillis)
}

/** A lease's row as this instance last read it. Each renewal changes `until`, each change of holder `token`. */
export interface LeaseObservation {
  readonly token: bigint
  /** As PostgreSQL writes it: a `Date` would lose the microseconds. */
  readonly until: string
  readonly progressedAt: string | null
  /** Monotonic milliseconds of the first read with this token and end. */
  readonly sinceMillis: number
}

/**
 * The observation after `row` was read at `nowMillis`; unchanged values keep the time of their first read. Notes in
 * `record` what another instance was seen to do: the first read proves nothing.
 */
export const observe = (
  before: LeaseObservation | undefined,
  row: Omit<LeaseObservation, "sinceMillis">,
  record: WorkRecord,
  nowMillis: number
): LeaseObservation => {
  if (before !== undefined && before.progressedAt !== row.progressedAt) record.progressedAtMillis = nowMillis
  if (before !== undefined && before.token === row.token && before.until === row.until) {
    return { ...row, sinceMillis: before.sinceMillis }
  }
  if (before !== undefined) record.renewedAtMillis = nowMillis
  return { ...row, sinceMillis: nowMillis }
}

/** Why a term ended. `mustMove`: the work is stuck here again and again. */
export type TermEnd =
  | { readonly _tag: "Superseded" }
  | { readonly _tag: "Stalled"; readonly mustMove: boolean }
  | { readonly _tag: "Died" }

/** Interrupts the work of a term and waits for its end, but not for ever. */
const stopWork = (name: string, fiber: Fiber.Fiber<unknown, unknown>) =>
  Effect.suspend(() => {
    fiber.interruptUnsafe()
    return Effect.interruptible(Fiber.await(fiber)).pipe(
      Effect.timeoutOrElse({
        duration: stopMillis,
        orElse: () => Effect.logError("Work does not stop; its commits are refused once the next term begins", { name })
      }),
      Effect.asVoid
    )
  })

/**
 * Runs `work` until `superseded` returns, until it makes no progress for `passMillis`, or until it dies; says which it
 * was in the log. On every way out the work is stopped.
 */
export const runTerm = <R>(
  record: WorkRecord,
  fence: Fence,
  work: (fence: Fence, progress: Effect.Effect<void>) => Effect.Effect<never, never, R>,
  superseded: Effect.Effect<void>
): Effect.Effect<TermEnd, never, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function*() {
      const { name, passMillis } = record
      let lastMillis = yield* monotonicMillis
      let hasProgressed = false
      const progress = Effect.map(monotonicMillis, (now) => {
        lastMillis = now
        hasProgressed = true
        record.progressedAtMillis = now
        record.hasNewProgress = true
      })
      const awaitStall = Effect.gen(function*() {
        while (true) {
          const before = yield* monotonicMillis
          const left = passMillis - (before - lastMillis)
          if (left <= 0) return
          yield* Effect.sleep(left)
          // A process that was frozen has done nothing meanwhile, and is given a pass to go on.
          const now = yield* monotonicMillis
          if (now - before > left + latenessMillis) lastMillis = Math.max(lastMillis, now)
        }
      })
      record.isHeldHere = true
      const fiber = yield* Effect.forkDetach(Effect.interruptible(work(fence, progress)))
      return yield* restore(Effect.raceAllFirst([
        Effect.flatMap(Fiber.await(fiber), (exit): Effect.Effect<TermEnd> =>
          Effect.as(
            Effect.logError("Work died and begins anew", { name }, Exit.isFailure(exit) ? exit.cause : Cause.empty),
            { _tag: "Died" }
          )),
        Effect.andThen(
          superseded,
          Effect.as(
            Effect.logWarning("A lease was lost; its work is stopped", { name }),
            { _tag: "Superseded" } satisfies TermEnd as TermEnd
          )
        ),
        Effect.flatMap(awaitStall, () => {
          record.stalls = hasProgressed ? 1 : record.stalls + 1
          const end: TermEnd = { _tag: "Stalled", mustMove: record.stalls >= stallsBeforeMove }
          return Metric.update(Metric.withAttributes(stalls, { name }), 1).pipe(
            Effect.andThen(Effect.logError("Work made no progress for too long and begins anew", {
              name,
              limitMillis: passMillis,
              inARow: record.stalls
            })),
            Effect.as(end)
          )
        })
      ])).pipe(
        Effect.ensuring(stopWork(name, fiber)),
        Effect.ensuring(Effect.sync(() => void (record.isHeldHere = false)))
      )
    })
  )
