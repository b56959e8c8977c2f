import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { canonicalJson } from "../../../runtime/http/CanonicalJson.ts"

/** The same value with the members of every object in another order. */
const reordered = (value: Schema.Json): Schema.Json => {
  if (Array.isArray(value)) return value.map(reordered)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).reverse().map(([key, member]) => [key, reordered(member)]))
}

describe("canonical JSON", () => {
  it("spells the examples of RFC 8785", () => {
    const numbers = JSON.parse("[333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001, -0, 10.0]")
    assert.strictEqual(canonicalJson(numbers), "[333333333.3333333,1e+30,4.5,0.002,1e-27,0,10]")
    const text = JSON.parse("\"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\\"\\/\"")
    assert.strictEqual(canonicalJson(text), "\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"")
    const keys = JSON.parse(
      "{\"\\u20ac\":1,\"\\r\":2,\"\\ufb33\":3,\"1\":4,\"\\ud83d\\ude00\":5,\"\\u0080\":6,\"\\u00f6\":7}"
    )
    assert.deepStrictEqual(
      canonicalJson(keys),
      "{\"\\r\":2,\"1\":4,\"\u0080\":6,\"ö\":7,\"€\":1,\"\u{1f600}\":5,\"\ufb33\":3}"
    )
  })

  it("keeps an own __proto__ and tells numbers beyond a double from null", () => {
    assert.strictEqual(
      canonicalJson(JSON.parse("{\"__proto__\":{\"b\":1,\"a\":2}}")),
      "{\"__proto__\":{\"a\":2,\"b\":1}}"
    )
    assert.notStrictEqual(canonicalJson(JSON.parse("1e400")), canonicalJson(null))
  })

  it.prop("does not depend on the order of members, and means the same value", [Schema.Json], ([value]) => {
    const canonical = canonicalJson(value)
    assert.strictEqual(canonicalJson(reordered(value)), canonical)
    assert.strictEqual(canonicalJson(JSON.parse(canonical)), canonical)
    assert.deepStrictEqual(JSON.parse(canonical), JSON.parse(JSON.stringify(value)))
  })
})
