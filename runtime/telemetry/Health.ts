/** Asks the database, at most once a second. */
import { Duration, Effect, Layer, Ref } from "effect"
import { SqlClient } from "effect/sql"
import { Health } from "../Telemetry.ts"
import { lag, show } from "../webhooks/Lag.ts"
import { databasePatienceMillis, judge } from "./HealthReport.ts"

/** Probes are public and cost two queries: answers, and the metrics of the queue, are shared for this long. */
const cacheDuration = Duration.seconds(1)

export const layer: Layer.Layer<Health, never, SqlClient.SqlClient> = Layer.effect(
  Health,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const migrated = yield* Ref.make(false)
    const stopping = yield* Ref.make(false)

    const patience = Effect.timeout(databasePatienceMillis)

    /** Null while unknown: a queue that takes long to look at is no reason to turn requests away. */
    const owed = lag.pipe(
      patience,
      Effect.tap(show),
      Effect.map(({ outboxLagSeconds }): number | null => outboxLagSeconds),
      Effect.catchCause((cause) => Effect.as(Effect.logWarning("the webhook queue was not looked at", cause), null)),
      Effect.provideService(SqlClient.SqlClient, sql)
    )
    const database = yield* sql`select 1`.pipe(
      patience,
      Effect.andThen(Effect.flatMap(Ref.get(migrated), (done) => done ? owed : Effect.succeed(null))),
      Effect.map((outboxLagSeconds) => ({ database: true, outboxLagSeconds })),
      Effect.catchCause((cause) =>
        Effect.as(Effect.logWarning("the database does not answer", cause), { database: false, outboxLagSeconds: null })
      ),
      Effect.cachedWithTTL(cacheDuration)
    )

    return Health.of({
      report: Effect.gen(function*() {
        const found = yield* database
        return judge({ ...found, migrated: yield* Ref.get(migrated), stopping: yield* Ref.get(stopping) })
      }),
      migrated: Ref.set(migrated, true),
      stopping: Ref.set(stopping, true)
    })
  })
)
