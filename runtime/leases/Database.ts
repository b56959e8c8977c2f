/**
 * Leases as rows, in the database's time: instances need not agree on a clock. That clock may be set back, so an
 * instance that waits also measures by its own monotonic clock how long a row has not changed: a lease that does not
 * change for as long as it lasts is free, whatever the database's clock says.
 */
import { Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { monotonicMillis } from "../Clock.ts"
import type { Fence } from "../Commit.ts"
import { uuidV4 } from "../Uuid.ts"
import { type LeaseOptions, Leases } from "../Leases.ts"
import {
  initializeStalls,
  type LeaseObservation,
  newRecord,
  noteLook,
  observe,
  pauseAfterDeathMillis,
  runTerm,
  statusesOf,
  takeNewProgress,
  type TermEnd,
  type WorkRecord
} from "./Term.ts"

/**
 * How often an instance renews its lease within the lease's time, and tries to take one that another holds. A lease
 * that ends sooner is tried at its end, so that the work of an instance that died waits no longer than its lease lasts.
 */
const renewalsPerTerm = 3

/** Milliseconds after the end of a lease at which an instance tries to take it. */
const afterEndMillis = 10

/**
 * How long an instance does not try to take a lease whose work was stuck on it, in times of the lease: in these each
 * other instance tries several times.
 */
const stuckPauseTtls = 3

// oxlint-disable-next-line max-lines-per-function -- one protocol over the same records
const make = Effect.fnUntraced(function*(instance: string) {
  const sql = yield* SqlClient.SqlClient
  const records = new Map<string, WorkRecord>()
  let nextHolderNumber = 0

  /**
   * The token, or the row of the other holder whose lease has not ended. Each change of holder takes the next token. A
   * row that still equals `expiredObservation` is taken before its end (`isBeforeEnd`): nobody has renewed it for its
   * whole duration, so the clock of the database was set back and the stored end lies too far ahead.
   */
  const acquire = (name: string, holder: string, ttlMillis: number, expiredObservation: LeaseObservation | undefined) =>
    Effect.map(
      sql<
        {
          token: bigint
          until: string | null
          remainingMillis: number | null
          progressedAt: string | null
          isBeforeEnd: boolean
        }
      >`with taken as (
          insert into leases as l (name, holder, token, until)
          values (${name}, ${holder}, 1, clock_timestamp() + ${ttlMillis}::float8 * interval '1 millisecond')
          on conflict (name) do update set holder = excluded.holder, token = l.token + 1, until = excluded.until
            where l.until <= clock_timestamp()
              or l.token = ${expiredObservation?.token ?? null}::bigint and l.until = ${
        expiredObservation?.until ?? null
      }::timestamptz
          returning token)
        select token, null as until, null::float8 as "remainingMillis", null as "progressedAt",
          coalesce(${expiredObservation?.until ?? null}::timestamptz > clock_timestamp(), false) as "isBeforeEnd"
          from taken
        union all select l.token, l.until::text,
            extract(epoch from l.until - clock_timestamp())::float8 * 1000, l.progressed_at::text, false from leases l
          where l.name = ${name} and not exists (select from taken)`,
      ([row]) => row
    )

  /**
   * False when another instance has taken the lease. One that ended and was not taken is still held: nobody else acts.
   */
  const renew = ({ name, token }: Fence, record: WorkRecord) =>
    Effect.flatMap(monotonicMillis, (now) => {
      const sinceProgress = takeNewProgress(record, now)
      return sql`update leases set until = clock_timestamp() + ${record.ttlMillis}::float8 * interval '1 millisecond',
          progressed_at = coalesce(
            clock_timestamp() - ${sinceProgress}::float8 * interval '1 millisecond', progressed_at)
        where name = ${name} and token = ${token} returning 1 as held`.pipe(
        Effect.map((rows) => rows.length === 1),
        Effect.onError(() => Effect.sync(() => void (record.hasNewProgress ||= sinceProgress !== null)))
      )
    })

  /** The row stays, so that tokens never repeat; the next holder need not wait for the time to run out. */
  const release = ({ name, token }: Fence) =>
    sql`update leases set until = '-infinity' where name = ${name} and token = ${token}`.pipe(
      Effect.catch((error) => Effect.logWarning("Could not release a lease; it ends after its time", { name }, error))
    )

  /** Returns when the lease is lost: taken by another, or not renewed for as long as it lasts. */
  const renewUntilLost = (fence: Fence, record: WorkRecord): Effect.Effect<void> =>
    Effect.gen(function*() {
      const pause = record.ttlMillis / renewalsPerTerm
      while (true) {
        yield* Effect.sleep(pause)
        const askedAtMillis = yield* monotonicMillis
        const isHeld = yield* renew(fence, record).pipe(
          Effect.timeoutOrElse({ duration: pause, orElse: () => Effect.succeed(undefined) }),
          Effect.catch((error: SqlError.SqlError) =>
            Effect.as(Effect.logWarning("A lease was not renewed", { name: fence.name }, error), undefined)
          )
        )
        const now = yield* monotonicMillis
        if (isHeld !== undefined) noteLook(record, pause, now)
        if (isHeld === true) record.renewedAtMillis = askedAtMillis
        if (isHeld === false || now - record.renewedAtMillis >= record.ttlMillis) return
      }
    })

  /**
   * Only its pauses can be interrupted, by `restore`: a lease that the database gives to an interrupted instance would
   * be held by nobody until its end.
   */
  const awaitLease = (
    holder: string,
    record: WorkRecord,
    restore: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  ): Effect.Effect<Fence> =>
    Effect.gen(function*() {
      const { name, ttlMillis } = record
      let observation: LeaseObservation | undefined
      while (true) {
        const askedAtMillis = yield* monotonicMillis
        const isExpired = observation !== undefined && askedAtMillis - observation.sinceMillis >= ttlMillis
        const row = yield* acquire(name, holder, ttlMillis, isExpired ? observation : undefined).pipe(
          Effect.catch((error) =>
            Effect.as(
              Effect.logWarning("Could not read or take a lease; it is tried again", { name }, error),
              undefined
            )
          )
        )
        if (row !== undefined) noteLook(record, ttlMillis / renewalsPerTerm, yield* monotonicMillis)
        if (row !== undefined && row.until === null) {
          if (row.isBeforeEnd) {
            yield* Effect.logWarning(
              "A lease was not renewed in time and was taken over: was the clock of the database set back?",
              { name }
            )
          }
          record.renewedAtMillis = askedAtMillis
          return { name, token: row.token }
        }
        if (row !== undefined && row.until !== null) {
          const { progressedAt, token, until } = row
          observation = observe(observation, { token, until, progressedAt }, record, yield* monotonicMillis)
        }
        const remainingMillis = Math.max(0, row?.remainingMillis ?? Infinity) + afterEndMillis
        yield* restore(Effect.sleep(Math.min(ttlMillis / renewalsPerTerm, remainingMillis)))
      }
    })

  const hold = <R>(
    name: string,
    options: LeaseOptions,
    work: (fence: Fence, progress: Effect.Effect<void>) => Effect.Effect<never, never, R>
  ): Effect.Effect<never, never, R> =>
    Effect.gen(function*() {
      const holder = `${instance}:${nextHolderNumber++}`
      yield* initializeStalls(name)
      const record = newRecord(name, options, yield* monotonicMillis)
      records.set(holder, record)
      const term: Effect.Effect<TermEnd, never, R> = Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(awaitLease(holder, record, restore), (fence) =>
          restore(runTerm(record, fence, work, renewUntilLost(fence, record))).pipe(Effect.ensuring(release(fence))))
      )
      const rounds = Effect.flatMap(term, (end) => {
        if (end._tag === "Died") {
          return Effect.sleep(pauseAfterDeathMillis)
        }
        if (end._tag === "Stalled" && end.mustMove) {
          return Effect.sleep(stuckPauseTtls * options.ttlMillis)
        }
        return Effect.void
      }).pipe(Effect.forever)
      return yield* Effect.ensuring(
        rounds,
        Effect.sync(() =>
          void records.delete(holder)
        )
      )
    })

  return Leases.of({
    hold,
    statuses: Effect.suspend(() => statusesOf(records.values())),
    // An instance takes a lease only for work that it does itself, so there is nothing to find.
    findings: Effect.succeed([])
  })
})

/** Leases of the table `leases`, held in the name of an instance. */
export const layerOf = (instanceId: string): Layer.Layer<Leases, never, SqlClient.SqlClient> =>
  Layer.effect(Leases, make(instanceId))

/** The same, held in the name of a new random instance id. */
export const layer: Layer.Layer<Leases, never, SqlClient.SqlClient> = Layer.unwrap(Effect.map(uuidV4, layerOf))
