/** The service's own view of its health: asked by probes, told of migrations and of a stop. */
import { Context, Duration, Effect, Layer, Ref } from "effect"
import { SqlClient } from "effect/sql"
import { databasePatienceMillis, type HealthReport, judge } from "./HealthReport.ts"

/** Probes are public and cost a query: answers are shared for this long. */
const cacheDuration = Duration.seconds(1)

export class Health extends Context.Service<Health, {
  /** At most a second old. */
  readonly report: Effect.Effect<HealthReport>
  /** Every table is at this build's version. */
  readonly migrated: Effect.Effect<void>
  /** A stop was asked for: from now on the report is `unavailable`. */
  readonly stopping: Effect.Effect<void>
}>()("tillwire/runtime/telemetry/Health") {}

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
