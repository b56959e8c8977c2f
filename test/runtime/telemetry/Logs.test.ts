/**
 * Goal: no secret reaches a log line, in whatever part of an entry it arrives.
 * Method: canaries of every shape in messages, fields, annotations and causes, through both formats.
 */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Console, Effect, Layer, Logger } from "effect"
import { Headers } from "effect/http"
import { SqlError } from "effect/sql"
import { formatJson, formatPretty, layer } from "../../../runtime/telemetry/Logs.ts"
import { redactText, secretHeaders } from "../../../runtime/telemetry/Redact.ts"

const jwt = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJjYW5hcnkifQ.canarycanary"

const canaries: ReadonlyArray<string> = [
  "mk_live_Canary0123456789Canary0123456789Canary",
  "ck_dev_Canary0123456789Canary0123456789Canary",
  "whsec_Y2FuYXJ5Y2FuYXJ5Y2FuYXJ5/+==canary",
  "pst_canary-canary_canarycanarycanary",
  "rt_canary-canary_canarycanarycanary",
  jwt,
  "postgresql://till:canarypassword@db:5432/till",
  "https://x.test/pay?session_token=canary123&signature=canary456",
  "wss://x.test/ws?token=canary789",
  ...secretHeaders.map((name) => `${name}: canary-${name}`),
  ...secretHeaders.map((name) => JSON.stringify({ [name]: `canary-${name}` })),
  JSON.stringify(JSON.stringify({ "x-api-key": "canary-escaped" })),
  "Authorization: Bearer canary"
]

/** The lines a program logs through `format`. */
const logged = (format: Logger.Logger<unknown, string>, program: Effect.Effect<void>) =>
  Effect.gen(function*() {
    const lines: Array<string> = []
    const collect = Logger.make((options: Logger.Options<unknown>) => void lines.push(format.log(options)))
    yield* Effect.provide(program, Logger.layer([collect]))
    return lines
  })

const program = Effect.forEach(
  canaries,
  (canary) =>
    Effect.logError(
      `refused ${canary}`,
      { detail: canary, nested: { deeper: [canary] } },
      Cause.fail(new Error(canary))
    ).pipe(
      Effect.annotateLogs({ note: canary })
    ),
  { discard: true }
)

describe("logs", () => {
  for (const [name, format] of [["json", formatJson], ["pretty", formatPretty]] as const) {
    it.effect(`as ${name} hold no canary`, () =>
      Effect.gen(function*() {
        const lines = yield* logged(format, program)
        assert.strictEqual(lines.length, canaries.length)
        for (const line of lines) assert.notMatch(line, /canary(?!-?[a-z-]*["']?\s*:)/i)
      }))
  }

  it.effect("as json are one object a line, head first, fields kept", () =>
    Effect.gen(function*() {
      const [line = ""] = yield* logged(
        formatJson,
        Effect.logWarning("paid\nin full", { invoice: "i", amount: 5n, msg: "not the message" }).pipe(
          Effect.annotateLogs({ requestId: "req_1" })
        )
      )
      assert.notInclude(line, "\n")
      const entry = JSON.parse(line)
      assert.deepStrictEqual(Object.keys(entry).slice(0, 3), ["ts", "level", "msg"])
      assert.deepStrictEqual(
        { ...entry, ts: "" },
        { ts: "", level: "warn", msg: "paid\nin full", invoice: "i", amount: "5", requestId: "req_1" }
      )
    }))

  it.effect("tell what the database said of a statement that failed", () =>
    Effect.gen(function*() {
      const cause = new Error("could not extend file: No space left on device")
      const failed = new SqlError.SqlError({ reason: new SqlError.UnknownError({ cause, message: "Query failed" }) })
      const whole = "Query failed: could not extend file: No space left on device"
      const write = Effect.logWarning("the cursor was not written", failed, { error: failed })
      assert.deepInclude(JSON.parse((yield* logged(formatJson, write))[0]!), {
        msg: `the cursor was not written ${whole}`,
        error: whole
      })
      assert.include((yield* logged(formatPretty, write))[0], `error=${whole}`)
    }))

  it("stay JSON when redacted", () => {
    for (const canary of canaries) {
      const clean = redactText(JSON.stringify({ canary, list: [canary] }))
      assert.doesNotThrow(() => JSON.parse(clean), canary)
      assert.strictEqual(redactText(clean), clean, "redacting twice changes nothing")
    }
  })

  it("keep what is no secret", () => {
    const text = `{"msg":"GET /api/v1/invoices?limit=10 by key_0199 for inv token_symbol=USDC, x-request-id: req_1"}`
    assert.strictEqual(redactText(text), text)
  })

  it.effect("below the level are not written, and headers are redacted by name", () =>
    Effect.gen(function*() {
      const lines: Array<unknown> = []
      const console = { ...(yield* Console.Console), log: (line: unknown) => void lines.push(line) }
      yield* Effect.gen(function*() {
        yield* Effect.logDebug("quiet")
        yield* Effect.logInfo("loud")
        const names = yield* Headers.CurrentRedactedNames
        assert.includeMembers([...names], ["x-session-token", "idempotency-key"])
      }).pipe(
        Effect.provide(Layer.mergeAll(
          layer({ logs: "json", level: "info", levels: {}, requests: "all", payments: true }, false),
          Layer.succeed(Console.Console, console as Console.Console)
        ))
      )
      assert.strictEqual(lines.length, 1)
    }))
})
