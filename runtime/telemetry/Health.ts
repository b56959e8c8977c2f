/** Asks the database and the registered parts, at most once a second. */
import { Clock, Effect, Layer, Metric, Ref, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import { Health, type HealthPart } from "../Telemetry.ts"
import { lag, show } from "../webhooks/Lag.ts"
import { commitId, version } from "./Build.ts"
import { databasePatienceMillis, type Finding, type Findings, judge } from "./HealthReport.ts"

/** Probes are public and cost a few queries: answers, and the metrics of the parts, are shared for this long. */
const cacheMillis = 1_000

const build = Metric.gauge("build_info", { description: "1, with the versions of what runs" })

const monotonicMillis = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos) / 1e6)

export const layer: Layer.Layer<Health, never, SqlClient.SqlClient> = Layer.effect(
  Health,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const migrated = yield* Ref.make(false)
    const stopping = yield* Ref.make(false)
    const parts = new Set<HealthPart>()
    const turn = yield* Semaphore.make(1)
    let last: { readonly at: number; readonly found: Omit<Findings, "migrated" | "stopping"> } | undefined
    let isBuildShown = false

    const patience = Effect.timeout(databasePatienceMillis)

    /** Null while unknown: a queue that takes long to look at is no reason to turn requests away. */
    const owed = lag.pipe(
      patience,
      Effect.tap(show),
      Effect.map(({ outboxLagSeconds }): number | null => outboxLagSeconds),
      Effect.catchCause((cause) => Effect.as(Effect.logWarning("the webhook queue was not looked at", cause), null)),
      Effect.provideService(SqlClient.SqlClient, sql)
    )

    const showBuild = (postgres: string) => {
      if (isBuildShown) return Effect.void
      isBuildShown = true
      const labels = { version, commit: commitId(), node: process.versions.node, postgres }
      return Metric.update(Metric.withAttributes(build, labels), 1)
    }

    const database = sql<{ postgres: string }>`select current_setting('server_version') as postgres`.pipe(
      patience,
      Effect.tap(([row]) => showBuild(row!.postgres)),
      Effect.andThen(Effect.flatMap(Ref.get(migrated), (done) => done ? owed : Effect.succeed(null))),
      Effect.map((outboxLagSeconds) => ({ database: true, outboxLagSeconds })),
      Effect.catchCause((cause) =>
        Effect.as(Effect.logWarning("the database does not answer", cause), { database: false, outboxLagSeconds: null })
      )
    )

    const lookAt = ({ check, look }: HealthPart) =>
      look.pipe(
        patience,
        Effect.catchCause((cause) =>
          Effect.as(Effect.logWarning("a part of the service was not looked at", { check }, cause), [] as ReadonlyArray<Finding>)
        ),
        Effect.map((findings) => check === null ? [] : findings.map((finding) => ({ ...finding, check })))
      )

    /** Of many who ask at once one looks, and the others take what it found. By a clock that nobody sets back. */
    const look = turn.withPermits(1)(Effect.gen(function*() {
      const asked = yield* monotonicMillis
      if (last !== undefined && asked - last.at < cacheMillis) return last.found
      const [found, findings] = yield* Effect.all(
        [database, Effect.forEach(parts, lookAt, { concurrency: "unbounded" })],
        { concurrency: 2 }
      )
      last = { at: yield* monotonicMillis, found: { ...found, parts: findings.flat() } }
      return last.found
    }))

    return Health.of({
      report: Effect.gen(function*() {
        const found = yield* look
        return judge({ ...found, migrated: yield* Ref.get(migrated), stopping: yield* Ref.get(stopping) })
      }),
      register: (part) =>
        Effect.acquireRelease(
          Effect.sync(() => {
            parts.add(part)
            last = undefined
          }),
          () => Effect.sync(() => void parts.delete(part))
        ),
      migrated: Ref.set(migrated, true),
      stopping: Ref.set(stopping, true)
    })
  })
)
