/** Asks the database and runs the registered checks, at most once a second. */
import { Effect, Layer, Metric, Ref, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import { monotonicMillis } from "../Clock.ts"
import { Health, type HealthCheck } from "../Telemetry.ts"
import { makeDueSpan } from "../webhooks/DueSpan.ts"
import { lag, recordLag } from "../webhooks/Lag.ts"
import { commitId, version } from "./Build.ts"
import { databaseTimeoutMillis, type Finding, type Findings, makeReport } from "./HealthReport.ts"

/** Probes are public and cost a few queries: answers, and the metrics of the checks, are shared for this long. */
const cacheMillis = 1_000

const build = Metric.gauge("build_info", {
  description: "1, with the versions of this build, Node and PostgreSQL as labels"
})

export const layer: Layer.Layer<Health, never, SqlClient.SqlClient> = Layer.effect(
  Health,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const migrated = yield* Ref.make(false)
    const stopping = yield* Ref.make(false)
    const checks = new Set<HealthCheck>()
    const dueSpan = yield* makeDueSpan
    const turn = yield* Semaphore.make(1)
    let last: { readonly atMillis: number; readonly found: Omit<Findings, "isMigrated" | "isStopping"> } | undefined
    let isBuildShown = false

    const withTimeout = Effect.timeout(databaseTimeoutMillis)

    /** Null while unknown: a queue that takes long to look at is no reason to turn requests away. */
    const queueLag = Effect.flatMap(dueSpan, lag).pipe(
      withTimeout,
      Effect.tap(recordLag),
      Effect.map(({ outboxLagSeconds }): number | null => outboxLagSeconds),
      Effect.catchCause((cause) => Effect.as(Effect.logWarning("the webhook queue was not looked at", cause), null)),
      Effect.provideService(SqlClient.SqlClient, sql)
    )

    const showBuild = (postgres: string) => {
      if (isBuildShown) return Effect.void
      isBuildShown = true
      const labels = { version: version(), commit: commitId(), node: process.versions.node, postgres }
      return Metric.update(Metric.withAttributes(build, labels), 1)
    }

    const database = sql<{ postgres: string }>`select current_setting('server_version') as postgres`.pipe(
      withTimeout,
      Effect.tap(([row]) => showBuild(row!.postgres)),
      Effect.andThen(Effect.flatMap(Ref.get(migrated), (done) => done ? queueLag : Effect.succeed(null))),
      Effect.map((outboxLagSeconds) => ({ database: true, outboxLagSeconds })),
      Effect.catchCause((cause) =>
        Effect.as(Effect.logWarning("the database does not answer", cause), { database: false, outboxLagSeconds: null })
      )
    )

    const runCheck = ({ name, run }: HealthCheck) =>
      run.pipe(
        withTimeout,
        Effect.catchCause((cause) =>
          Effect.as(
            Effect.logWarning(
              "a health check failed and counts as passed until it answers again",
              { check: name },
              cause
            ),
            [] as ReadonlyArray<Finding>
          )
        ),
        Effect.map((findings) => name === null ? [] : findings.map((finding) => ({ ...finding, check: name })))
      )

    /** Of concurrent callers one runs the checks and the others share its result. By a monotonic clock. */
    const findings = turn.withPermits(1)(Effect.gen(function*() {
      const nowMillis = yield* monotonicMillis
      if (last !== undefined && nowMillis - last.atMillis < cacheMillis) return last.found
      const [found, checkFindings] = yield* Effect.all(
        [database, Effect.forEach(checks, runCheck, { concurrency: "unbounded" })],
        { concurrency: 2 }
      )
      last = { atMillis: yield* monotonicMillis, found: { ...found, checkFindings: checkFindings.flat() } }
      return last.found
    }))

    return Health.of({
      report: Effect.gen(function*() {
        const found = yield* findings
        return makeReport({ ...found, isMigrated: yield* Ref.get(migrated), isStopping: yield* Ref.get(stopping) })
      }),
      register: (check) =>
        Effect.acquireRelease(
          Effect.sync(() => {
            checks.add(check)
            last = undefined
          }),
          () => Effect.sync(() => void checks.delete(check))
        ),
      markMigrated: Ref.set(migrated, true),
      markStopping: Ref.set(stopping, true)
    })
  })
)
