/**
 * Makes months ahead for as long as the service runs, and tells how far ahead they are made. One instance does it; each
 * tells it.
 */
import { Clock, Effect, Layer, Metric } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { Leases } from "../../Leases.ts"
import { runPeriodically } from "../../Retention.ts"
import { Health, initializeSeries } from "../../Telemetry.ts"
import type { Finding } from "../../telemetry/HealthReport.ts"
import { checkPromise, makeMonths, promiseLimit } from "./Steps.ts"
import { initializeDropped, type Partition, readPartitions } from "./Partitions.ts"
import { leastDaysAhead, type PartitionedTable, partitionedTables, retentionDays } from "./Tables.ts"

const pause = "1 hour"
const dayMillis = 86_400_000

/** What the tables' partitions are like is asked of the database so often, not for each probe. */
const knownFor = "1 minute"

/**
 * Makes the months of a table that are missing. Where rows lie in the open-ended partition, that becomes the partition
 * of all the time up to a month ahead, once it was read whether its rows are so; writers go on meanwhile.
 */
export const makeMissingMonths = Effect.fnUntraced(function*(
  table: PartitionedTable
): Effect.fn.Return<number, SqlError.SqlError, SqlClient.SqlClient> {
  const made = yield* makeMonths(table)
  if (made >= 0) return made
  const open = (yield* readPartitions(table)).find(({ toMillis }) => toMillis === Infinity)
  if (open === undefined) return 0
  yield* Effect.logWarning(
    `rows were written to ${open.name}, for which no months were made: it is closed, and months follow`
  )
  const sql = yield* SqlClient.SqlClient
  yield* promiseLimit(table, open.name)
  yield* sql.withTransaction(checkPromise(table, open.name))
  return yield* makeMonths(table)
})

const makeAllMonths = Effect.forEach(
  partitionedTables,
  (table) =>
    makeMissingMonths(table).pipe(
      Effect.tap((made) => made > 0 ? Effect.logInfo(`made ${made} months of ${table}`) : Effect.void),
      // One table's fault leaves the others' to be done.
      Effect.catchCause((cause) => Effect.logWarning(`no months were made of ${table}; it is tried again`, cause))
    ),
  { discard: true }
)

/** The partitions of a table, oldest first. */
export interface TablePartitions {
  readonly table: PartitionedTable
  readonly partitions: ReadonlyArray<Partition>
}

/** Milliseconds until the open-ended partition begins: until then there are months. Negative: it is written to. Pure. */
export const aheadMillis = (partitions: ReadonlyArray<Partition>, nowMillis: number): number =>
  (partitions.find(({ toMillis }) => toMillis === Infinity)?.fromMillis ?? nowMillis) - nowMillis

/** For how long everything in the oldest partition has been older than it is kept; 0: it is not. Pure. */
export const overdueMillis = ({ partitions, table }: TablePartitions, nowMillis: number): number =>
  Math.max(0, nowMillis - retentionDays[table] * dayMillis - (partitions[0]?.toMillis ?? Infinity))

/** Tables of which no months are made. Pure. */
export const monthFindings = (tables: ReadonlyArray<TablePartitions>, nowMillis: number): ReadonlyArray<Finding> =>
  tables.flatMap(({ partitions, table }): ReadonlyArray<Finding> => {
    const days = Math.floor(aheadMillis(partitions, nowMillis) / dayMillis)
    return days >= leastDaysAhead ? [] : [{
      effect: "degraded",
      message: days >= 0
        ? `No months were made of ${table}: there are some for ${days} days. Nothing fails then, but rows of many months `
          + "lie in one partition. Look in the log for \"partitions\", and give the role of the service ownership of the table."
        : `No months were made of ${table}, and rows are written to the partition that has no end. Nothing fails, but it is `
          + "kept until all of it is old. Look in the log for \"partitions\"."
    }]
  })

const aheadGauge = Metric.gauge("partition_ahead_seconds", {
  description: "Seconds until there is no month of the table: below 0 rows are written to its open-ended partition"
})
const overdueGauge = Metric.gauge("partition_overdue_seconds", {
  description: "Seconds for which all of the table's oldest partition has been older than it is kept"
})

const health = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const labels = partitionedTables.map((table) => ({ table }))
  yield* Effect.all([initializeSeries(overdueGauge, labels), initializeDropped], { discard: true })
  const [read, invalidate] = yield* Effect.cachedInvalidateWithTTL(
    Effect.provideService(
      Effect.forEach(
        partitionedTables,
        (table) => Effect.map(readPartitions(table), (partitions): TablePartitions => ({ table, partitions }))
      ),
      SqlClient.SqlClient,
      sql
    ),
    knownFor
  )
  yield* (yield* Health).register({
    name: "partitions",
    run: Effect.gen(function*() {
      const tables = yield* Effect.orDie(Effect.tapError(read, () => invalidate))
      const now = yield* Clock.currentTimeMillis
      for (const found of tables) {
        const { partitions, table } = found
        yield* Metric.update(
          Metric.withAttributes(aheadGauge, { table }),
          Math.round(aheadMillis(partitions, now) / 1000)
        )
        yield* Metric.update(
          Metric.withAttributes(overdueGauge, { table }),
          Math.round(overdueMillis(found, now) / 1000)
        )
      }
      return monthFindings(tables, now)
    })
  })
})

/** Makes months for as long as the service runs, and registers the health check. */
export const layer: Layer.Layer<never, never, SqlClient.SqlClient | Leases | Health> = Layer.effectDiscard(
  Effect.andThen(health, runPeriodically("partitions", pause, makeAllMonths))
)
