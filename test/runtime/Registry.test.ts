/**
 * Goal: what only one plugin may provide is provided by one, for as long as that one runs.
 * Method: the slot alone, in scopes that end.
 */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit } from "effect"
import { single } from "../../runtime/Registry.ts"

describe("a slot for one plugin", () => {
  it.effect("is free again when its plugin has ended, for the next one", () =>
    Effect.gen(function*() {
      const slot = single<string>("remove one")
      for (const name of ["first", "second"]) {
        assert.strictEqual(slot.current(), undefined)
        yield* Effect.scoped(Effect.andThen(
          slot.register(name),
          Effect.sync(() => assert.strictEqual(slot.current(), name))
        ))
      }
      assert.strictEqual(slot.current(), undefined)
    }))

  it.effect("ends the start with a sentence where two want it, and the first one keeps it", () =>
    Effect.scoped(Effect.gen(function*() {
      const slot = single<string>("two plugins do it: remove one")
      yield* slot.register("first")
      const exit = yield* Effect.exit(Effect.scoped(slot.register("second")))
      assert.isTrue(Exit.isFailure(exit) && Cause.pretty(exit.cause).includes("two plugins do it: remove one"))
      assert.strictEqual(slot.current(), "first")
    })))
})
