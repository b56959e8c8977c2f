/**
 * The rows of a database as one small file, and back. A row is the text that PostgreSQL writes for it as a whole and
 * reads again, so that nothing of it is lost on the way, whatever its types.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { gunzipSync, gzipSync } from "node:zlib"

interface DumpedTable {
  readonly table: string
  readonly columns: ReadonlyArray<string>
  readonly rows: ReadonlyArray<string>
}

interface Dump {
  readonly tables: ReadonlyArray<DumpedTable>
  /** Last values; null: it was never asked. */
  readonly sequences: Readonly<Record<string, string | null>>
}

/** Rows that one statement brings back. */
const restoredRows = 200

const quoted = (name: string) => `"${name}"`

/** All rows of the connected database but those about migrations, which whoever runs them writes. */
export const dumpRows = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const tables = yield* sql<{ name: string; columns: ReadonlyArray<string> }>`
    SELECT c.relname::text AS name, (
      SELECT array_agg(a.attname::text ORDER BY a.attnum) FROM pg_attribute a
      WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
    ) AS columns
    FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
      AND NOT c.relispartition
      AND c.relname NOT LIKE 'migrations\\_%' ORDER BY c.relname`
  const sequences = yield* sql<{ name: string; value: string | null }>`
    SELECT sequencename::text AS name, last_value::text AS value FROM pg_sequences ORDER BY sequencename`
  const dumped: Array<DumpedTable> = []
  for (const { columns, name } of tables) {
    const row = `row(${columns.map(quoted).join(", ")})::text`
    const rows = yield* sql.unsafe<{ row: string }>(`SELECT ${row} AS row FROM ${quoted(name)} ORDER BY 1`)
    if (rows.length > 0) dumped.push({ table: name, columns, rows: rows.map(({ row }) => row) })
  }
  const dump: Dump = {
    tables: dumped,
    sequences: Object.fromEntries(sequences.map(({ name, value }) => [name, value]))
  }
  return gzipSync(JSON.stringify(dump), { level: 9 })
})

/** Brings the rows back into the connected database, which has the tables as they were then, and no rows. */
export const restoreRows = Effect.fnUntraced(function*(file: Uint8Array) {
  const sql = yield* SqlClient.SqlClient
  const { sequences, tables }: Dump = JSON.parse(gunzipSync(file).toString("utf8"))
  yield* sql.withTransaction(Effect.gen(function*() {
    // Triggers have done their work when the rows were written first.
    yield* sql`SET LOCAL session_replication_role = replica`
    for (const { columns, rows, table } of tables) {
      const types = yield* sql<{ name: string; type: string }>`SELECT attname::text AS name,
        format_type(atttypid, atttypmod) AS type FROM pg_attribute WHERE attrelid = to_regclass(${quoted(table)})`
      const typeOf = new Map(types.map(({ name, type }) => [name, type]))
      yield* sql.unsafe(
        `CREATE TYPE restored AS (${columns.map((name) => `${quoted(name)} ${typeOf.get(name) ?? "text"}`).join(", ")})`
      )
      for (let at = 0; at < rows.length; at += restoredRows) {
        yield* sql.unsafe(
          `INSERT INTO ${quoted(table)} (${columns.map(quoted).join(", ")})
            SELECT (line::restored).* FROM json_array_elements_text($1::json) AS line`,
          [JSON.stringify(rows.slice(at, at + restoredRows))]
        )
      }
      yield* sql.unsafe("DROP TYPE restored")
    }
    for (const [name, value] of Object.entries(sequences)) {
      if (value !== null) {
        yield* sql.unsafe("SELECT setval($1::text::regclass, $2::text::bigint)", [quoted(name), value])
      }
    }
  }))
})
