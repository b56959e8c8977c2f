/** Goes through sealed columns a page at a time, and seals anew what is not sealed under the newest master key. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { MasterKeys, type SealedColumn, sealedPattern, Secrets } from "../Secrets.ts"

/**
 * Rows that one page reads, at most: a page of stored replies is a few hundred KB, and its one statement holds the
 * locks of its rows for a few milliseconds.
 */
export const pageRows = 500

/** Where a page begins: behind the row with this key, in the column of this place in the list. */
export interface Position {
  readonly place: number
  /** The values of the primary key as text; null: at the first row. */
  readonly after: ReadonlyArray<string> | null
}

export const firstPosition: Position = { place: 0, after: null }

/** What a page came to, counted in values. */
export interface PageCounts {
  /** Rows read. */
  readonly rows: number
  /** Sealed anew. */
  readonly resealed: number
  /** Still sealed under an older key that is configured: not sealed anew, or somebody had the row. */
  readonly older: number
  /** Sealed under a key that is not configured: a lost one. */
  readonly closed: number
}

export const noCounts: PageCounts = { rows: 0, resealed: 0, older: 0, closed: 0 }

export const addCounts = (one: PageCounts, other: PageCounts): PageCounts => ({
  rows: one.rows + other.rows,
  resealed: one.resealed + other.resealed,
  older: one.older + other.older,
  closed: one.closed + other.closed
})

interface KeyColumn {
  readonly name: string
  /** As PostgreSQL writes it. */
  readonly type: string
}

/** A column with what statements about it need. */
interface ColumnShape extends SealedColumn {
  readonly key: ReadonlyArray<KeyColumn>
  readonly hasVersion: boolean
}

/** A table of the list that is absent, or has no primary key, is a defect. */
const readShape = Effect.fnUntraced(function*(column: SealedColumn) {
  const sql = yield* SqlClient.SqlClient
  const key = yield* sql<KeyColumn>`
    select a.attname::text as name, format_type(a.atttypid, null) as type from pg_index i
    cross join lateral unnest(i.indkey::smallint[]) with ordinality as place(attnum, n)
    join pg_attribute a on a.attrelid = i.indrelid and a.attnum = place.attnum
    where i.indrelid = to_regclass(${column.table}) and i.indisprimary order by place.n`
  const versions = yield* sql`select 1 from pg_attribute
    where attrelid = to_regclass(${column.table}) and attname = 'version' and not attisdropped`
  if (key.length === 0) return yield* Effect.die(new Error(`Table "${column.table}" must exist, with a primary key`))
  const shape: ColumnShape = { ...column, key, hasVersion: versions.length === 1 }
  return shape
})

interface PageRow {
  readonly key: ReadonlyArray<string>
  /** Null: it is sealed under the newest key, or the column is null. */
  readonly sealed: string | null
}

const readPage = Effect.fnUntraced(function*(
  { column, key, table }: ColumnShape,
  after: ReadonlyArray<string> | null,
  newestId: number
) {
  const sql = yield* SqlClient.SqlClient
  const names = key.map(({ name }) => name).join(", ")
  const from = after === null
    ? ""
    : `where (${names}) > (${key.map(({ type }, place) => `($${place + 2}::text)::${type}`).join(", ")})`
  return yield* sql.unsafe<PageRow>(
    `select array[${key.map(({ name }) => `${name}::text`).join(", ")}] as key,
      case when ${column} !~ $1::text then ${column} end as sealed
    from ${table} ${from} order by ${names} limit ${pageRows}`,
    [sealedPattern(newestId), ...after ?? []]
  )
})

/** A value and the one that takes its place. */
interface Replacement {
  readonly key: ReadonlyArray<string>
  readonly sealed: string
  readonly resealed: string
}

/**
 * Replaces the values that are still what was read; answers how many. A row that somebody else has is passed over and
 * found by the next pass, so that this never waits for a commit, and no two of these for each other.
 */
const replaceValues = Effect.fnUntraced(function*(
  { column, hasVersion, key, table }: ColumnShape,
  replacements: ReadonlyArray<Replacement>
) {
  if (replacements.length === 0) return 0
  const sql = yield* SqlClient.SqlClient
  const keys = key.map(({ type }, place) => `k${place} ${type}`).join(", ")
  const isRow = key.map(({ name }, place) => `t.${name} = v.k${place}`).join(" and ")
  const rows = replacements.map(({ key: values, resealed, sealed }) => ({
    ...Object.fromEntries(values.map((value, place) => [`k${place}`, value])),
    sealed,
    resealed
  }))
  const written = yield* sql.unsafe(
    `with locked as (
      select found.place, v.resealed from json_to_recordset($1::json) as v(${keys}, sealed text, resealed text)
      cross join lateral (
        select t.ctid as place from ${table} t where ${isRow} and t.${column} = v.sealed for update skip locked
      ) found
    )
    update ${table} t set ${column} = locked.resealed${hasVersion ? ", version = t.version + 1" : ""}
    from locked where t.ctid = locked.place returning 1`,
    [JSON.stringify(rows)]
  )
  return written.length
})

/** One page; `reseals` false: it is only counted. The position of the next page is null at the end of all columns. */
export const page = Effect.fnUntraced(
  function*(columns: ReadonlyArray<SealedColumn>, position: Position, reseals: boolean) {
    const secrets = yield* Secrets
    const { ids } = yield* MasterKeys
    const column = columns[position.place]
    if (column === undefined) return { counts: noCounts, next: null }
    const shape = yield* readShape(column)
    const rows = yield* readPage(shape, position.after, ids[0]!)
    const others = rows.filter((row): row is PageRow & { readonly sealed: string } => row.sealed !== null)
    const openable = others.flatMap(({ key, sealed }): ReadonlyArray<Replacement> => {
      const plain = secrets.open(column.label, sealed)
      return plain === undefined ? [] : [{ key, sealed, resealed: secrets.seal(column.label, plain) }]
    })
    const resealed = reseals ? yield* replaceValues(shape, openable) : 0
    const counts: PageCounts = {
      rows: rows.length,
      resealed,
      older: openable.length - resealed,
      closed: others.length - openable.length
    }
    const next: Position | null = rows.length === pageRows
      ? { place: position.place, after: rows.at(-1)!.key }
      : position.place + 1 < columns.length
      ? { place: position.place + 1, after: null }
      : null
    return { counts, next }
  }
)
