/**
 * Goal: what a schema refuses is told in words of the API, made of the schema itself, and repeats nothing that was
 * sent.
 */
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { invalidInput, maximumMessageLength, validationError } from "../../schemas/InvalidInput.ts"

const body = Schema.Struct({
  limit: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 2_500 })).annotate({ description: "Entries." })
  ),
  network: Schema.optionalKey(Schema.Literals(["base", "solana", "ton"])),
  colour: Schema.optionalKey(Schema.NullOr(
    Schema.String.check(Schema.isPattern(/^#[0-9a-f]{6}$/, { message: "Expected a colour like #2a4fd8" }))
  )),
  shade: Schema.optionalKey(
    Schema.String.check(Schema.makeFilter((text) => text === "" || "White text on it cannot be read"))
  ),
  items: Schema.optionalKey(
    Schema.Array(Schema.Struct({ id: Schema.String.annotate({ examples: ["B0"] }), count: Schema.Int }))
  )
}).annotate({ identifier: "InternalName" })

const refusalOf = (schema: Schema.Top, value: unknown) => {
  const result = Schema.decodeUnknownResult(schema as Schema.Codec<unknown>)(value)
  assert.isTrue(Result.isFailure(result))
  return Result.isFailure(result) ? invalidInput(result.failure.issue) : { path: [], message: "" }
}

describe("a refused value", () => {
  it("is told by its place and what may be sent there", () => {
    for (
      const [value, path, message] of [
        [{ limit: 0 }, "limit", "limit must be an integer from 1 to 2,500. Entries."],
        [{ limit: "7" }, "limit", "limit must be an integer from 1 to 2,500. Entries."],
        [{ network: "sol" }, "network", "network must be one of base, solana, ton"],
        [{ colour: "red" }, "colour", "colour must be a colour like #2a4fd8"],
        [{ colour: 7 }, "colour", "colour must be text or null"],
        [{ shade: "black" }, "shade", "shade: White text on it cannot be read"],
        [
          { items: {} },
          "items",
          "items must be a list, each a JSON object with the fields id (required), count (required)"
        ],
        [{ items: [{ count: 1 }] }, "items.0.id", "items.0.id is missing: it must be text like B0"],
        [{ items: [{ id: "B0", count: 1.5 }] }, "items.0.count", "items.0.count must be an integer"],
        [[], "", "The body must be a JSON object with the fields limit, network, colour, shade, items"]
      ] as const
    ) {
      const refusal = refusalOf(body, value)
      assert.deepStrictEqual([refusal.path.join("."), refusal.message], [path, message])
    }
  })

  it("of a query is told as the number it spells", () => {
    const query = Schema.toCodecStringTree(body)
    assert.strictEqual(refusalOf(query, { limit: "abc" }).message, "limit must be an integer from 1 to 2,500. Entries.")
    assert.strictEqual(
      refusalOf(query, { limit: "2501" }).message,
      "limit must be an integer from 1 to 2,500. Entries."
    )
  })

  it("is never repeated: it may be a secret", () => {
    assert.notInclude(refusalOf(body, { network: "mk_live_secret" }).message, "secret")
  })

  it("is told in a limited length, to the end of a sentence", () => {
    const wordy = Schema.Struct({
      a: Schema.Int.annotate({ description: "Sixty characters of a description that says very little. ".repeat(30) })
    })
    const { message } = refusalOf(wordy, { a: "x" })
    assert.isAtMost(message.length, maximumMessageLength)
    assert.isTrue(message.endsWith("."))
  })

  it("is a validation error whose param is the dotted field, or null for the body", () => {
    const paramOf = (value: unknown) => {
      const result = Schema.decodeUnknownResult(body)(value)
      return Result.isFailure(result) ? validationError(result.failure.issue).param : undefined
    }
    assert.strictEqual(paramOf({ items: [{ id: 1 }] }), "items.0.id")
    assert.isNull(paramOf(7))
  })
})
