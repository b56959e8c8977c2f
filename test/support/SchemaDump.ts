/** What a set of migrations makes of an empty database, as one text that a reviewer can read and a test can compare. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

interface Dumped {
  readonly name: string
  readonly text: string
}

/**
 * Sequences that no column owns, tables with their columns and constraints but not their partitions, indexes that no
 * constraint owns, the heads of functions, whose bodies are files of their own, and triggers.
 */
const objects = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  return yield* sql<Dumped>`
    WITH relations AS (
      SELECT c.* FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND NOT c.relispartition AND c.relname NOT LIKE 'migrations\\_%'
    )
    SELECT 1 AS place, c.relname AS name, format('CREATE SEQUENCE %I AS %s INCREMENT %s START %s CACHE %s', c.relname,
        format_type(s.seqtypid, NULL), s.seqincrement, s.seqstart, s.seqcache) AS text
      FROM relations c JOIN pg_sequence s ON s.seqrelid = c.oid
      WHERE NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype IN ('a', 'i'))
    UNION ALL
    SELECT 2, c.relname, format(E'CREATE%s TABLE %I (\\n%s\\n)%s', CASE c.relpersistence WHEN 'u' THEN ' UNLOGGED' ELSE '' END,
        c.relname, concat_ws(E',\\n', (
          SELECT string_agg(concat_ws(' ', '  ' || quote_ident(a.attname), format_type(a.atttypid, a.atttypmod),
              CASE WHEN a.attnotnull THEN 'NOT NULL' END, 
              CASE a.attgenerated WHEN '' THEN 'DEFAULT ' || pg_get_expr(d.adbin, d.adrelid)
                ELSE format('GENERATED ALWAYS AS (%s) STORED', pg_get_expr(d.adbin, d.adrelid)) END,
              CASE WHEN a.attstorage <> t.typstorage THEN 'STORAGE ' || a.attstorage::text END), E',\\n' ORDER BY a.attnum)
          FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
          LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
          WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        ), (
          SELECT string_agg(format('  CONSTRAINT %I %s', k.conname, pg_get_constraintdef(k.oid)), E',\\n' ORDER BY k.conname)
          FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype <> 'n'
        )), coalesce(' PARTITION BY ' || pg_get_partkeydef(c.oid), ' WITH (' || array_to_string(c.reloptions, ', ') || ')'))
      FROM relations c WHERE c.relkind IN ('r', 'p')
    UNION ALL
    SELECT 3, i.relname, pg_get_indexdef(i.oid) FROM relations i JOIN pg_index x ON x.indexrelid = i.oid
      WHERE NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.oid)
    UNION ALL
    SELECT 4, p.proname, format(E'-- FUNCTION %I(%s) RETURNS %s', p.proname, pg_get_function_identity_arguments(p.oid),
        pg_get_function_result(p.oid))
      FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace
    UNION ALL
    SELECT 5, c.relname || ' ' || t.tgname, pg_get_triggerdef(t.oid)
      FROM pg_trigger t JOIN relations c ON c.oid = t.tgrelid WHERE NOT t.tgisinternal
    ORDER BY place, name`
})

/**
 * Runs each owner's migrations in turn, and answers what it added, ordered by kind and name. The connected database
 * must be empty.
 */
export const dumpSchema = Effect.fnUntraced(function*<E, R>(
  owners: ReadonlyArray<{ readonly name: string; readonly migrate: Effect.Effect<void, E, R> }>
) {
  const sections: Array<{ readonly owner: string; readonly text: string }> = []
  const known = new Set<string>()
  for (const { migrate, name: owner } of owners) {
    yield* migrate
    const added = (yield* objects).filter(({ text }) => !known.has(text))
    for (const { text } of added) known.add(text)
    if (added.length > 0) sections.push({ owner, text: added.map(({ text }) => `${text};\n`).join("\n") })
  }
  return sections
})
