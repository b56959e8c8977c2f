/**
 * Goal: a database that cannot serve is no bug of ours: its callers are told to come back, and nobody is woken for it.
 * Method: PostgreSQL itself says each state.
 */
import { assert, layer } from "@effect/vitest"
import { Cause, Effect, Exit } from "effect"
import { SqlClient } from "effect/sql"
import { publicErrorOf } from "../../../runtime/http/ErrorResponses.ts"
import { databaseLayer } from "../../support/Database.ts"

/** The error of a query that PostgreSQL refuses with `state`, as a handler meets it. */
const refusedWith = Effect.fnUntraced(function*(state: string) {
  const sql = yield* SqlClient.SqlClient
  const raise = `DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '${state}'; END $$`
  const exit = yield* Effect.exit(Effect.orDie(sql.unsafe(raise)))
  return publicErrorOf(Exit.isFailure(exit) ? exit.cause : Cause.empty)
})

layer(databaseLayer)("a database", (it) => {
  it.effect("that has no connection, memory or disk left, stops, starts, or lost its files is waited for", () =>
    Effect.gen(function*() {
      const states = [
        "53000",
        "53100",
        "53200",
        "53300",
        "57P01",
        "57P02",
        "57P03",
        "58000",
        "58030",
        "57014",
        "40001",
        "40P01",
        "55P03",
        "08006"
      ]
      for (const state of states) {
        const error = yield* refusedWith(state)
        assert.deepStrictEqual([error?.code, error?.retryAfterSeconds], ["SERVICE_UNAVAILABLE", 1], state)
      }
    }))

  it.effect("that refuses the statement itself is a bug", () =>
    Effect.gen(function*() {
      for (const state of ["42601", "42P01", "22012", "23514", "XX000"]) {
        assert.isUndefined(yield* refusedWith(state), state)
      }
    }))
})
