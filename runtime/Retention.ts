/** What the retention of rows has in common: how often it looks, how much it does at a time, and the count of it. */
import { Duration, Effect, Metric, type Scope } from "effect"
import type { SqlError } from "effect/sql"
import { Leases } from "./Leases.ts"
import { initializeSeries } from "./Telemetry.ts"

/**
 * Rows or events that one transaction removes, at most. It takes 3 ms for attempts, 20 ms for deliveries that fail, 35
 * ms for events with two deliveries each (measured): short enough for whoever waits for a row of it.
 */
export const batchSize = 1_000

/**
 * Pause after a full batch: several times what a batch takes, so that a backlog leaves the database to others. Still
 * 3,000 events with their deliveries or 9,000 attempts go in a second (measured), several times what arrives at 500
 * events a second.
 */
const pauseWhileBehind = "100 millis"

/** Renewed while a round goes on; another instance goes on with what is left when this one dies. */
const leaseMillis = 30_000

/** A round that takes longer is stuck: it begins anew with the batch that it came to. */
const roundLimitMillis = 3_600_000

const prunedRows = Metric.counter("rows_pruned_total", {
  description: "Rows that were kept for as long as they are kept and then removed, by table",
  incremental: true
})

/** Removes a batch after the other until one is not full; answers how many rows were removed. */
export const inBatches = <E, R>(
  batch: Effect.Effect<number, E, R>,
  size = batchSize
): Effect.Effect<number, E, R> =>
  Effect.gen(function*() {
    let all = 0
    for (let rows = size; rows === size;) {
      rows = yield* batch
      all += rows
      if (rows === size) yield* Effect.sleep(pauseWhileBehind)
    }
    return all
  })

/** Makes the counts of `tables` exist before the first row of them is removed. */
export const initializePruned = (tables: ReadonlyArray<string>): Effect.Effect<void> =>
  initializeSeries(prunedRows, tables.map((table) => ({ table })))

/** Counts what `batch` removed of `table`. */
export const countPruned = (table: string) => {
  const rows = Metric.withAttributes(prunedRows, { table })
  return <E, R>(batch: Effect.Effect<number, E, R>): Effect.Effect<number, E, R> =>
    Effect.tap(batch, (count) => Metric.update(rows, count))
}

/**
 * Runs `round` now and then every `pause`, on one instance at a time, for as long as the scope lives. A failed one is
 * logged.
 */
export const runPeriodically = <R>(
  name: string,
  pause: string,
  round: Effect.Effect<unknown, SqlError.SqlError, R>
): Effect.Effect<void, never, R | Leases | Scope.Scope> =>
  Effect.gen(function*() {
    const leases = yield* Leases
    const guardedRound = round.pipe(
      Effect.catchCause((cause) => Effect.logWarning(`${name} did not come to its end; it is tried again`, cause)),
      Effect.andThen(Effect.sleep(pause as "1 hour"))
    )
    const options = {
      role: "worker",
      ttlMillis: leaseMillis,
      passMillis: Duration.toMillis(pause as "1 hour") + roundLimitMillis
    } as const
    yield* Effect.forkScoped(
      leases.hold(name, options, (_, progress) => Effect.forever(Effect.andThen(progress, guardedRound)))
    )
  })
