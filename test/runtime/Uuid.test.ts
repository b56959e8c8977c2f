/** Goal: ids in order of making are rows in order of making. Method: many in one millisecond, and their shape. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { uuidOf, uuidV7 } from "../../runtime/Uuid.ts"

const pattern = (version: number) =>
  new RegExp(`^[0-9a-f]{8}-[0-9a-f]{4}-${version}[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

describe("UUIDs of version 7", () => {
  it.effect("sort as they were made, in one millisecond too, and are all different", () =>
    Effect.gen(function*() {
      yield* TestClock.setTime(1_766_320_496_123)
      const made = yield* Effect.forEach(Array.from({ length: 4_000 }), () => uuidV7)
      yield* TestClock.adjust(1)
      made.push(yield* uuidV7)
      assert.deepStrictEqual(made.toSorted(), made)
      assert.strictEqual(new Set(made).size, made.length)
      for (const uuid of made) assert.match(uuid, pattern(7))
    }))
})

describe("UUIDs of names", () => {
  it("are the same for one name and of version 8", () => {
    assert.strictEqual(uuidOf("a"), uuidOf("a"))
    assert.notStrictEqual(uuidOf("a"), uuidOf("b"))
    assert.match(uuidOf("a"), pattern(8))
  })
})
