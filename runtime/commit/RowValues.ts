/**
 * Rows on their way to the functions of `Statement.ts`: the values of all rows in one array of text, row by row, each
 * row in the order of its columns. Inside PL/pgSQL, and only there, reading an element of an array is one step, so a
 * row costs no more than its casts; the same rows as JSON cost more than twice as much, because JSON is read character
 * by character.
 */

import { PgTypes } from "@effect/sql-pg"

/** A column, and its type as SQL writes it. */
export interface Column {
  readonly name: string
  readonly type: string
}

/** A value as text that can be cast to its column's type; null: none. */
export type Value = string | null

/** Values as one argument of a function. Without a type of its own the driver looks for one in every value. */
export const textArray = (value: ReadonlyArray<Value>): PgTypes.Parameter => ({
  [PgTypes.ParameterTypeId]: PgTypes.ParameterTypeId,
  oid: PgTypes.OID.textArray,
  value
})

export const quote = (name: string): string => `"${name.replaceAll("\"", "\"\"")}"`

/**
 * The statement that reads rows out of the array `values`: `count` of them, the first of which begins after `offset`
 * values. `place` numbers them from 1.
 */
export const selectRows = (
  columns: ReadonlyArray<Column>,
  { count, offset = "0", values }: { readonly values: string; readonly offset?: string; readonly count: string }
): string =>
  `select ${
    columns.map(({ name, type }, n) => `${values}[v.at + ${n + 1}]::${type} as ${quote(name)}`).join(", ")
  }, v.place
        from (select n as place, ${offset} + (n - 1) * ${columns.length} as at from generate_series(1, ${count}) n) v`

const isJson = (type: string): boolean => type === "json" || type === "jsonb"

/** Text between the quotes of an element. Most has nothing to escape, and looking for it costs less than replacing. */
const escapeElement = (text: string): string =>
  text.includes("\"") || text.includes("\\") ? text.replaceAll(/["\\]/g, String.raw`\$&`) : text

/**
 * The elements as a literal of an array; every one is quoted, so that none is taken for the word NULL. As text an array
 * may hold nulls alone: of such a one a driver cannot tell the type.
 */
export const arrayText = (elements: ReadonlyArray<unknown>): string =>
  `{${elements.map((element) => element === null ? "NULL" : `"${escapeElement(String(element))}"`).join(",")}}`

/** A value of a {@link Write}, which is JSON: bigint and numeric are decimal strings, timestamps ISO text. */
export const valueOf = (type: string, value: unknown): Value => {
  if (value === null || value === undefined) return null
  if (typeof value === "string" && !isJson(type)) return value
  return Array.isArray(value) && !isJson(type) ? arrayText(value) : JSON.stringify(value)
}
