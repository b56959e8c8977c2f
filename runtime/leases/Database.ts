/**
 * Leases as rows, in the database's time: instances need not agree on a clock. That clock may be set back, so an instance
 * that waits also measures by its own monotonic clock how long a row has not changed.
 */
import { Effect, type Exit, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { randomUUID } from "node:crypto"
import { monotonicMillis } from "../Clock.ts"
import type { Fence } from "../Commit.ts"
import { Leases } from "../Leases.ts"

/** How often a lease is renewed within its time, and asked for while another holds it. */
const renewalsPerTerm = 3

/**
 * Another holder's row as a waiting instance last read it. Each renewal changes `until`, each change of holder `token`.
 */
interface LeaseObservation {
  readonly token: bigint
  /** As PostgreSQL writes it: a `Date` would lose the microseconds. */
  readonly until: string
  /** Monotonic milliseconds of the first read with these values. */
  readonly sinceMillis: number
}

/** The observation after `row` was read at `nowMillis`: unchanged values keep the time of their first read. */
const observationAfter = (
  before: LeaseObservation | undefined,
  row: Omit<LeaseObservation, "sinceMillis">,
  nowMillis: number
): LeaseObservation =>
  before !== undefined && before.token === row.token && before.until === row.until
    ? before
    : { token: row.token, until: row.until, sinceMillis: nowMillis }

/** A lease that this instance holds or waits for. */
interface LeaseRecord {
  readonly name: string
  readonly ttlMillis: number
  isHeldHere: boolean
  /** Monotonic milliseconds of the last renewal that was seen, by any instance. */
  renewedAtMillis: number
}

// oxlint-disable-next-line max-lines-per-function -- one protocol over the same records
const make = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const instance = randomUUID()
  const records = new Map<string, LeaseRecord>()
  let holds = 0

  /**
   * The token, or the row of the other holder whose lease has not ended. Each change of holder takes the next token. A
   * row that still equals `expiredObservation` is taken before its end (`isBeforeEnd`): nobody has renewed it for its
   * whole duration, so the clock of the database was set back and the stored end lies too far ahead.
   */
  const acquire = (name: string, holder: string, ttlMillis: number, expiredObservation: LeaseObservation | undefined) =>
    Effect.map(
      sql<{ token: bigint; until: string | null; isBeforeEnd: boolean }>`with taken as (
          insert into leases as l (name, holder, token, until)
          values (${name}, ${holder}, 1, clock_timestamp() + ${ttlMillis}::float8 * interval '1 millisecond')
          on conflict (name) do update set holder = excluded.holder, token = l.token + 1, until = excluded.until
            where l.until <= clock_timestamp()
              or l.token = ${expiredObservation?.token ?? null}::bigint and l.until = ${
        expiredObservation?.until ?? null
      }::timestamptz
          returning token)
        select token, null as until,
          coalesce(${expiredObservation?.until ?? null}::timestamptz > clock_timestamp(), false) as "isBeforeEnd"
          from taken
        union all select l.token, l.until::text, false from leases l
          where l.name = ${name} and not exists (select from taken)`,
      ([row]) => row
    )

  /** False when the lease has passed to another. One that ran out untaken is still ours: nobody else has acted. */
  const renew = ({ name, token }: Fence, ttlMillis: number) =>
    Effect.map(
      sql`update leases set until = clock_timestamp() + ${ttlMillis}::float8 * interval '1 millisecond'
        where name = ${name} and token = ${token} returning 1 as held`,
      (rows) => rows.length === 1
    )

  /** The row stays, so that tokens never repeat; the next holder need not wait for the time to run out. */
  const release = ({ name, token }: Fence) =>
    sql`update leases set until = '-infinity' where name = ${name} and token = ${token}`.pipe(
      Effect.catch((error) => Effect.logWarning("A lease was not given up; it runs out", { name }, error))
    )

  /** Returns when the lease is lost: taken by another, or not renewed for as long as it lasts. */
  const renewUntilLost = (fence: Fence, ttlMillis: number, record: LeaseRecord): Effect.Effect<void> =>
    Effect.gen(function*() {
      while (true) {
        yield* Effect.sleep(ttlMillis / renewalsPerTerm)
        const askedAtMillis = yield* monotonicMillis
        const isHeld = yield* renew(fence, ttlMillis).pipe(
          Effect.timeoutOrElse({ duration: ttlMillis / renewalsPerTerm, orElse: () => Effect.succeed(undefined) }),
          Effect.catch((error: SqlError.SqlError) =>
            Effect.as(Effect.logWarning("A lease was not renewed", { name: fence.name }, error), undefined)
          )
        )
        if (isHeld === true) record.renewedAtMillis = askedAtMillis
        const now = yield* monotonicMillis
        if (isHeld === false || now - record.renewedAtMillis >= ttlMillis) return
      }
    })

  /**
   * Only its pauses are interrupted, by `restore`: a lease that the database gave out while its asker was interrupted
   * would be held by nobody until its end.
   */
  const awaitLease = (
    name: string,
    holder: string,
    ttlMillis: number,
    record: LeaseRecord,
    restore: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  ): Effect.Effect<Fence> =>
    Effect.gen(function*() {
      let observation: LeaseObservation | undefined
      while (true) {
        const askedAtMillis = yield* monotonicMillis
        const isExpired = observation !== undefined && askedAtMillis - observation.sinceMillis >= ttlMillis
        const row = yield* acquire(name, holder, ttlMillis, isExpired ? observation : undefined).pipe(
          Effect.catch((error) => Effect.as(Effect.logWarning("A lease was not asked for", { name }, error), undefined))
        )
        if (row !== undefined && row.until === null) {
          if (row.isBeforeEnd) {
            yield* Effect.logWarning(
              "A lease was not renewed in time and was taken over: was the clock of the database set back?",
              { name }
            )
          }
          record.isHeldHere = true
          record.renewedAtMillis = askedAtMillis
          return { name, token: row.token }
        }
        if (row !== undefined && row.until !== null) {
          const before = observation
          observation = observationAfter(before, { token: row.token, until: row.until }, yield* monotonicMillis)
          if (before !== undefined && before !== observation) record.renewedAtMillis = observation.sinceMillis
        }
        yield* restore(Effect.sleep(ttlMillis / renewalsPerTerm))
      }
    })

  const hold = <A, E, R>(
    name: string,
    ttlMillis: number,
    work: (fence: Fence) => Effect.Effect<A, E, R>
  ): Effect.Effect<A, E, R> =>
    Effect.gen(function*() {
      const holder = `${instance}:${holds++}`
      const record: LeaseRecord = { name, ttlMillis, isHeldHere: false, renewedAtMillis: yield* monotonicMillis }
      records.set(holder, record)
      const term = Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(awaitLease(name, holder, ttlMillis, record, restore), (fence) =>
          restore(
            Effect.raceFirst(
              Effect.map(Effect.exit(work(fence)), (exit): Exit.Exit<A, E> | undefined => exit),
              Effect.as(renewUntilLost(fence, ttlMillis, record), undefined)
            )
          ).pipe(
            Effect.ensuring(Effect.sync(() => void (record.isHeldHere = false))),
            Effect.ensuring(release(fence))
          ))
      )
      const rounds: Effect.Effect<A, E, R> = Effect.flatMap(term, (exit) =>
        exit ?? Effect.andThen(Effect.logWarning("A lease was lost; its work is stopped", { name }), rounds))
      return yield* Effect.ensuring(
        rounds,
        Effect.sync(() =>
          void records.delete(holder)
        )
      )
    })

  const statuses = Effect.map(monotonicMillis, (now) =>
    [...records.values()]
      .map(({ isHeldHere, name, renewedAtMillis, ttlMillis }) => ({
        name,
        ttlMillis,
        isHeldHere,
        ageMillis: Math.max(0, now - renewedAtMillis)
      }))
      .toSorted((a, b) => a.name.localeCompare(b.name)))

  return Leases.of({ hold, statuses })
})

/** Leases of the table `leases`. */
export const layer: Layer.Layer<Leases, never, SqlClient.SqlClient> = Layer.effect(Leases, make)
