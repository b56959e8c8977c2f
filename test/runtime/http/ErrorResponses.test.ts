/**
 * Goal: a database that cannot serve is no bug of ours: its callers are told to come back, and nobody is woken for it.
 * An operator can tell from the log why somebody was told so. Method: PostgreSQL itself says each state; what is logged
 * is read as it is written.
 */
import { assert, it, layer } from "@effect/vitest"
import { Cause, Effect, Exit, Logger } from "effect"
import { SqlClient } from "effect/sql"
import { plainErrors } from "../../../runtime/Http.ts"
import { errorResponse, failureResponse, publicErrorOf } from "../../../runtime/http/ErrorResponses.ts"
import { formatJson } from "../../../runtime/telemetry/Logs.ts"
import { publicError } from "../../../schemas/Errors.ts"
import { databaseLayer } from "../../support/Database.ts"

/** The error of a query that PostgreSQL refuses with `state`, as a handler meets it. */
const refusedWith = Effect.fnUntraced(function*(state: string) {
  const sql = yield* SqlClient.SqlClient
  const raise = `DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '${state}'; END $$`
  const exit = yield* Effect.exit(Effect.orDie(sql.unsafe(raise)))
  return publicErrorOf(Exit.isFailure(exit) ? exit.cause : Cause.empty)
})

it.effect("a request that the service cannot answer now is logged with the reason, which its caller is not told", () =>
  Effect.gen(function*() {
    const lines: Array<Record<string, unknown>> = []
    const logger = Logger.make<unknown, void>((options) => void lines.push(JSON.parse(formatJson.log(options))))
    const error = publicError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 1, reason: "the disk is full" })
    const response = yield* failureResponse(Cause.fail(error), plainErrors, errorResponse).pipe(
      Effect.provide(Logger.layer([logger]))
    )
    assert.deepInclude(lines[0], {
      level: "warn",
      msg: "request refused",
      code: "SERVICE_UNAVAILABLE",
      reason: "the disk is full"
    })
    assert.strictEqual(response.status, 503)
    assert.notInclude(JSON.stringify(response.body), "disk")
  }))

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
