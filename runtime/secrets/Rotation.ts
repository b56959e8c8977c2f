/** The rotation of the master key: which keys are needed, what is still sealed under older ones, and its end. */
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import { type CheckValue, MasterKeys, type SealedColumn, Secrets } from "../Secrets.ts"
import { Settings } from "../Settings.ts"
import { retainKeysOf } from "./RetainedKeys.ts"
import { currentUses, type KeyUse, usedSeconds } from "./KeyUses.ts"
import { fingerprintOf, type RememberedKey, rememberedKeys, retireKeys, underMasterLock } from "./MasterCheck.ts"
import { addCounts, firstPosition, noCounts, page, type PageCounts, type Position } from "./Reseal.ts"

/** A master key that the database was used with. */
export interface KeyStatus {
  /** Its fingerprint. */
  readonly name: string
  readonly keptIn: string
  /** `YYYY-MM-DD`, UTC. */
  readonly since: string
  /** `YYYY-MM-DD`, UTC; null: it is needed. */
  readonly retired: string | null
  /** Whether the instance that answers has it. */
  readonly isConfigured: boolean
  /** Running processes that make new values with it. */
  readonly processes: ReadonlyArray<string>
}

/** A page of a pass. */
export interface PassPage {
  /** `table.column`. */
  readonly column: string
  readonly counts: PageCounts
  /** Where the next page begins; null: the pass is over. */
  readonly next: Position | null
}

export class Rotation extends Context.Service<Rotation, {
  /** The oldest first, each once. */
  readonly keys: Effect.Effect<ReadonlyArray<KeyStatus>>
  /**
   * Seals one page of values anew, or only counts them. Any number of processes may do it at once, and a pass that
   * ended anywhere is begun again: what was sealed anew is only read. Errors: `VALIDATION_ERROR` for a position of
   * other columns.
   */
  readonly page: (position: Position, reseals: boolean) => Effect.Effect<PassPage, PublicError>
  /**
   * Retires all keys but the one that makes new values: seals anew what is left, and keeps the derived keys that check
   * what cannot be sealed anew. Again it does nothing. Errors: `INVALID_TRANSITION` while a process makes values with
   * another key, where this instance's first key is not the one adopted last, or where values would be left behind.
   */
  readonly finish: (isCompromised: boolean) => Effect.Effect<ReadonlyArray<KeyStatus>, PublicError>
  /** Sealed columns of the database that no module of the config seals anew, as `table.column`. */
  readonly unattended: Effect.Effect<ReadonlyArray<string>>
}>()("tillwire/runtime/secrets/Rotation") {}

/** Passes of {@link Rotation.finish}: rows that a commit had at the first one are free at the next. */
const finishPasses = 3

/** Each key once, with what the last of its rows says. Pure. */
export const keyStatuses = (
  remembered: ReadonlyArray<RememberedKey>,
  configured: ReadonlyArray<CheckValue>,
  uses: ReadonlyArray<KeyUse>
): ReadonlyArray<KeyStatus> => {
  const byValue = new Map(remembered.map((key) => [key.value, key]))
  return [...byValue.values()].map(({ keptIn, retired, since, value }) => ({
    name: fingerprintOf(value),
    keptIn,
    since,
    retired,
    isConfigured: configured.includes(value),
    processes: uses.filter((use) => use.value === value).map(({ processId }) => processId)
  }))
}

/** What stands against retiring all keys but `newest`; null: nothing. Pure. */
export const obstacleToFinish = (
  newest: CheckValue,
  remembered: ReadonlyArray<RememberedKey>,
  uses: ReadonlyArray<KeyUse>
): string | null => {
  const last = remembered.at(-1)
  if (last !== undefined && last.value !== newest) {
    return `this instance makes new values with the master key ${fingerprintOf(newest)}, and another was started later `
      + `with ${fingerprintOf(last.value)} first: put the same key first in secrets.master of every instance, restart `
      + "them, and finish again"
  }
  const other = uses.find(({ value }) => value !== newest)
  if (other === undefined) return null
  return `the process ${other.processId} still makes new values with the master key ${fingerprintOf(other.value)}: put `
    + `${fingerprintOf(newest)} first in its secrets.master and restart it. One that was killed counts for `
    + `${usedSeconds} s. Then finish again`
}

const make = Effect.fnUntraced(function*(columns: ReadonlyArray<SealedColumn>) {
  const context = yield* Effect.context<SqlClient.SqlClient | Secrets | MasterKeys>()
  const sql = yield* SqlClient.SqlClient
  const { ids, values } = yield* MasterKeys
  const { instanceId } = yield* Settings
  const newest = values[0]!
  const columnNames = columns.map(({ column, table }) => `${table}.${column}`)

  const keys = Effect.zipWith(
    rememberedKeys,
    currentUses,
    (remembered, uses) => keyStatuses(remembered, values, uses)
  )

  const checkObstacle = Effect.gen(function*() {
    const obstacle = obstacleToFinish(newest, yield* rememberedKeys, yield* currentUses)
    if (obstacle !== null) return yield* publicError("INVALID_TRANSITION", { message: obstacle })
  })

  const pass = Effect.gen(function*() {
    let counts = noCounts
    for (let at: Position | null = firstPosition; at !== null;) {
      const found: { readonly counts: PageCounts; readonly next: Position | null } = yield* page(columns, at, true)
      counts = addCounts(counts, found.counts)
      at = found.next
    }
    return counts
  })

  const resealAll = Effect.gen(function*() {
    let counts = yield* pass
    for (let done = 1; counts.older > 0 && done < finishPasses; done++) counts = yield* pass
    if (counts.older === 0) return
    return yield* publicError("INVALID_TRANSITION", {
      message: `${counts.older} values are still sealed under an older master key, because others were changing them: `
        + "finish again"
    })
  })

  /** The second look at the obstacle is under the lock that every start takes. */
  const retireOthers = (isCompromised: boolean) =>
    underMasterLock(Effect.gen(function*() {
      yield* checkObstacle
      const needed = (yield* rememberedKeys).filter(({ retired }) => retired === null)
      const former = [...new Set(needed.map(({ value }) => value))].filter((value) => value !== newest)
      for (const value of former) {
        const id = ids[values.indexOf(value)]
        // The start saw to it that every needed key is configured, but another instance may have adopted one since.
        if (id === undefined) {
          return yield* publicError("INVALID_TRANSITION", {
            message: `the master key ${fingerprintOf(value)} is needed and this instance does not have it: put it into `
              + "secrets.master behind the new one and restart"
          })
        }
        yield* retainKeysOf(id, isCompromised)
      }
      yield* retireKeys(former)
      if (former.length > 0) {
        yield* Effect.logInfo("master keys are retired: nothing needs them any more", {
          retired: former.map(fingerprintOf),
          newest: fingerprintOf(newest)
        })
      }
    }))

  return Rotation.of({
    keys: Effect.orDie(Effect.provideContext(keys, context)),
    page: (position, reseals) => {
      const column = columnNames[position.place]
      if (column === undefined) {
        return Effect.fail(publicError("VALIDATION_ERROR", {
          message: `place: 0 to ${columns.length - 1}, as the page before answered`,
          param: "place"
        }))
      }
      return Effect.map(
        Effect.orDie(page(columns, position, reseals)),
        ({ counts, next }): PassPage => ({ column, counts, next })
      ).pipe(Effect.provideContext(context))
    },
    finish: (isCompromised) =>
      checkObstacle.pipe(
        Effect.andThen(resealAll),
        Effect.andThen(retireOthers(isCompromised)),
        Effect.andThen(keys),
        Effect.catchTag("SqlError", Effect.die),
        Effect.annotateLogs({ instanceId }),
        Effect.provideContext(context)
      ),
    unattended: sql<{ name: string }>`
      select c.relname || '.' || a.attname as name from pg_attribute a join pg_class c on c.oid = a.attrelid
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and a.attnum > 0
        and not a.attisdropped and a.attname ~ '^sealed_'
        and c.relname || '.' || a.attname <> all (${columnNames}::text[])
      order by name`.pipe(Effect.map((rows) => rows.map(({ name }) => name)), Effect.orDie)
  })
})

/** `columns`: of the runtime and of every module. */
export const layer = (
  columns: ReadonlyArray<SealedColumn>
): Layer.Layer<Rotation, never, SqlClient.SqlClient | Secrets | MasterKeys | Settings> =>
  Layer.effect(Rotation, make(columns))
