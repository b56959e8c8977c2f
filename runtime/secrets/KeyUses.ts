/**
 * Which master key each running process makes new values with. While one of them makes values with the old key, the old
 * key cannot be retired.
 */
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type CheckValue, MasterKeys } from "../Secrets.ts"
import { Settings } from "../Settings.ts"

/** How often a process says which key it makes values with. */
const renewal = "10 seconds"

/** A process that has said nothing for so long has ended: six renewals. */
export const usedSeconds = 60

export interface KeyUse {
  /** `Settings.instanceId` of the process. */
  readonly processId: string
  readonly value: CheckValue
}

/** What the processes that run now make values with. */
export const currentUses = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  return yield* sql<KeyUse>`select process_id as "processId", check_value as value from master_key_uses
    where seen_at > now() - ${usedSeconds}::float8 * interval '1 second' order by process_id`
})

/** Says it at the start, again and again, and takes it back at the end. Removes what ended processes left. */
export const layer: Layer.Layer<never, never, SqlClient.SqlClient | MasterKeys | Settings> = Layer.effectDiscard(
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const { instanceId } = yield* Settings
    const [newest] = (yield* MasterKeys).values
    const sayIt = sql`with ended as (
        delete from master_key_uses
        where process_id <> ${instanceId} and seen_at < now() - ${usedSeconds}::float8 * interval '1 second'
      )
      insert into master_key_uses (process_id, check_value) values (${instanceId}, ${newest!})
      on conflict (process_id) do update set check_value = excluded.check_value, seen_at = now()`
    yield* Effect.acquireRelease(
      Effect.orDie(sayIt),
      () => Effect.ignore(sql`delete from master_key_uses where process_id = ${instanceId}`)
    )
    yield* sayIt.pipe(
      Effect.catch((error) => Effect.logDebug("which master key this process uses was not stored", error)),
      Effect.delay(renewal),
      Effect.forever,
      Effect.forkScoped
    )
  })
)
