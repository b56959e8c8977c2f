/** What the database says of the tables that commits write to, and the functions made for them. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Rollup } from "../Rollups.ts"
import { rebuildRollups } from "./RollupRebuild.ts"
import { type Statements, statementsFor, type TableShape } from "./Statement.ts"

/** Held while functions are made, so that instances that start together do not replace each other's. */
const installLock = 0x7177_0001

/** Shapes in the order of `tables`. A table that is absent, or has no key or no `version`, is a defect. */
export const readShapes = (tables: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* sql<
      Pick<TableShape, "name" | "columns" | "keyConstraint"> & { readonly key: ReadonlyArray<string> | null }
    >`
      select wanted.name, (
        select json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod)) order by a.attnum)
        from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
      ) as columns, (
        select k.conname::text from pg_constraint k where k.conrelid = c.oid and k.contype = 'p'
      ) as "keyConstraint", (
        select array_agg(a.attname::text order by place.n) from pg_index i
        cross join lateral unnest(i.indkey::smallint[]) with ordinality as place(attnum, n)
        join pg_attribute a on a.attrelid = i.indrelid and a.attnum = place.attnum
        where i.indrelid = c.oid and i.indisprimary
      ) as key
      from unnest(${[...tables]}::text[]) with ordinality as wanted(name, n)
      join pg_class c on c.oid = to_regclass(quote_ident(wanted.name))
      order by wanted.n`
    const shapes: Array<TableShape> = []
    for (const name of tables) {
      const found = rows.find((row) => row.name === name)
      if (found?.key == null || !found.columns.some((column) => column.name === "version")) {
        return yield* Effect.die(new Error(`Table "${name}" must exist, with a primary key and a column "version"`))
      }
      shapes.push({ name, columns: found.columns, key: found.key, keyConstraint: found.keyConstraint })
    }
    return shapes
  })

/** Makes the functions unless the database has them: equal names are equal texts. */
export const install = (statements: Statements) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const countInstalled = sql<{ n: bigint }>`select count(*) as n from unnest(${[...statements.names]}::text[]) name
      where to_regproc(name) is not null`
    const isComplete = ([row]: ReadonlyArray<{ n: bigint }>) => Number(row?.n) === statements.names.length
    if (isComplete(yield* countInstalled)) return
    yield* sql.withTransaction(Effect.gen(function*() {
      yield* sql`select pg_advisory_xact_lock(${installLock})`
      if (isComplete(yield* countInstalled)) return
      for (const definition of statements.definitions) yield* sql.unsafe(definition)
    }))
  })

/** Shapes and statements, ready to be called, and the sums they keep, right by then. */
export const prepare = (tables: ReadonlyArray<string>, rollups: ReadonlyArray<Rollup>) =>
  Effect.gen(function*() {
    const shapes = yield* readShapes(tables)
    const statements = statementsFor(shapes, rollups)
    yield* install(statements)
    yield* rebuildRollups(rollups, statements.names[0])
    return { shapes, statements }
  })
