/** Makes the tables of a database as large as years of trade do, without the trade: copies of the rows that are there. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

interface Column {
  readonly table: string
  readonly column: string
  readonly type: string
  readonly is_unique: boolean
}

/** Columns that say to whom or to what kind a row belongs, and so are the same in every copy. */
const shared: ReadonlySet<string> = new Set([
  "merchant_id",
  "environment",
  "network",
  "family",
  "object",
  "sum",
  "width"
])

/** Columns that name another row: the copy of a row names the same copy of that row. */
const isReference = (column: string) => /(^|_)(id|key|hash|address|fingerprint)$/.test(column)

/** Columns that date a row, in whatever unit: copies are older. */
const times: ReadonlySet<string> = new Set(["ms", "event_ms", "bucket", "created_at"])

/** Ten days in seconds, a whole number of the widths of sums, and more than there are rows of a table. */
const step = 864_000

/** What the copy `n` of a row has in a column of `table`. */
const copyOf = ({ column, is_unique, type }: Column, table: ReadonlyArray<Column>): string => {
  const name = `r."${column}"`
  const isShared = shared.has(column) && table.some((each) => each.is_unique && !shared.has(each.column))
  if (type === "bigint" && times.has(column)) return `${name} - g.n * ${step}`
  if (type === "bigint" && column === "event_seq") return `${name} + g.n * ${step}`
  if (isShared || !(is_unique || isReference(column))) return name
  switch (type) {
    case "uuid":
      return `md5(${name}::text || g.n)::uuid`
    case "text":
      return `case when ${name} ~ '^([a-z]+_)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
        then left(${name}, -36) || md5(right(${name}, 36) || g.n)::uuid else ${name} || '~' || g.n end`
    case "bigint":
    case "integer":
      return is_unique ? `${name} + g.n * ${step}` : name
    default:
      return name
  }
}

/**
 * Adds `copies` copies of every row of every table but `except`, with ids of their own that agree among the tables.
 * Nothing is analyzed, and nothing of it is due.
 */
export const growTables = (copies: number, except: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const columns = yield* sql<Column>`
      select c.relname::text as table, a.attname::text as column, format_type(a.atttypid, null) as type, exists (
        select from pg_index i where i.indrelid = c.oid and i.indisunique and a.attnum = any (i.indkey)
      ) as is_unique
      from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        and a.attgenerated = ''
      where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = 'public'::regnamespace
      order by c.relname, a.attnum`
    for (const [table, all] of Map.groupBy(columns, (column) => column.table)) {
      if (except.includes(table)) continue
      const names = all.map(({ column }) => `"${column}"`).join(", ")
      yield* sql.unsafe(`insert into "${table}" (${names})
        select ${
        all.map((column) => copyOf(column, all)).join(", ")
      } from "${table}" r, generate_series(1, ${copies}) g(n)`)
    }
  })

/**
 * Makes every session plan its statements anew, as PostgreSQL does by itself after many changes of any database of the
 * server. It sets what is the default already.
 */
export const endPlans = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  sql`DO $$ DECLARE v_table regclass; BEGIN
    FOR v_table IN SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace LOOP
      EXECUTE format('ALTER TABLE %s SET (fillfactor = 100)', v_table);
    END LOOP;
  END $$`)
