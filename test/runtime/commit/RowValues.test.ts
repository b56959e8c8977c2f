/** Goal: a value of a row arrives in its column as it was written, whatever it is made of. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { selectRows, valueOf } from "../../../runtime/commit/RowValues.ts"
import { databaseLayer } from "../../support/Database.ts"

const columns = ["integer", "numeric(78,0)", "text", "jsonb", "json", "text[]", "boolean", "timestamp with time zone"]
  .map((type, n) => ({ name: `column "${n}"`, type }))

const large = (2n ** 200n).toString()
const rows = [
  [1, large, "a,\"b\"\\{}'✓", { a: ["NULL", null] }, [1.5], ["", "NULL", null, "\"\\,"], true, "2026-11-23T07:00:00Z"],
  [-2, "0", "", "a string", 1e21, [], false, null],
  [3, "0", "NULL", null, { z: 1, a: 2 }, undefined, null, undefined]
]

describe("values of rows", () => {
  it.effect("are read as they were written, after those of other rows", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const values = rows.flatMap((row) => columns.map(({ type }, n) => valueOf(type, row[n])))
      const select = selectRows(columns, { values: "($1::text[])", offset: "$2::integer", count: "$3::integer" })
      const read = yield* sql.unsafe<Record<string, unknown>>(
        `select r.place, to_json(r) ->> 'column "1"' as amount, to_json(r)::text as text from (${select}) r
          order by r.place`,
        [["before", null, ...values], 2, rows.length]
      )
      assert.deepStrictEqual(read.map(({ place }) => place), [1, 2, 3])
      assert.deepStrictEqual(read.map(({ amount }) => amount), [large, "0", "0"])
      assert.deepStrictEqual(
        read.map(({ text }) =>
          Object.entries(JSON.parse(text as string)).flatMap(([name, value]) => /"[02-6]"/.test(name) ? [value] : [])
        ),
        rows.map((row) => [0, 2, 3, 4, 5, 6].map((n) => row[n] ?? null))
      )
      const times = read.map(({ text }) => JSON.parse(text as string)["column \"7\""])
      assert.deepStrictEqual(times.map((time) => time && Date.parse(time)), [Date.UTC(2026, 10, 23, 7), null, null])
    }).pipe(Effect.provide(databaseLayer)))

  it("are never made of a bigint: rows are JSON, which has none", () => assert.throws(() => valueOf("bigint", 1n)))
})
