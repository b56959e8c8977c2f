/** Asks the database, at most once a second. */
import { Duration, Effect, Layer, Ref } from "effect"
import { SqlClient } from "effect/sql"
import { Health } from "../Telemetry.ts"
import { databasePatienceMillis, judge } from "./HealthReport.ts"

/** Probes are public and cost a query: answers are shared for this long. */
const cacheDuration = Duration.seconds(1)

export const layer: Layer.Layer<Health, never, SqlClient.SqlClient> = Layer.effect(
  Health,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const migrated = yield* Ref.make(false)
    const stopping = yield* Ref.make(false)

    const oldestDue = sql<{ readonly age: number | null }>`
      select floor(extract(epoch from now() - min(due_at)))::float8 as age from webhook_deliveries where due_at <= now()`

    const patience = Effect.timeout(databasePatienceMillis)
    const database = yield* Effect.gen(function*() {
      if (!(yield* Ref.get(migrated))) {
        return yield* sql`select 1`.pipe(patience, Effect.as({ database: true, oldestDueSeconds: null }))
      }
      const [row] = yield* patience(oldestDue)
      return { database: true, oldestDueSeconds: row?.age ?? null }
    }).pipe(
      Effect.catchCause((cause) =>
        Effect.as(Effect.logWarning("the database does not answer", cause), { database: false, oldestDueSeconds: null })
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
