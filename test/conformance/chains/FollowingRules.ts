/** How a driver follows: it starts at the head, leaves nothing out, and says what is final. */
import { assert } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import type { WatchSet } from "../../../runtime/Chains.ts"
import { amountsOf, followUntil, isByAccount, watchOf } from "./Journal.ts"
import type { DefineRule } from "./Rule.ts"

export const followingRules = (rule: DefineRule): void => {
  rule(
    "starts at the head, and yields what came after a cursor in order",
    [],
    (rig, start) =>
      Effect.gen(function*() {
        yield* rig.mine(30)
        const head = start.points[0]!.height + 30n
        const journal = yield* followUntil(
          rig.driver,
          start,
          watchOf(rig, []),
          ({ points }) => points[0]!.height >= head
        )
        if (!isByAccount(rig.driver)) assert.lengthOf(journal.points, 31)
      })
  )

  rule("ends every look with a mark of finality that never goes back", [], (rig, start) =>
    Effect.gen(function*() {
      const marks = rig.driver.follow(start.points, watchOf(rig, [])).pipe(
        Stream.filter((event) => event._tag === "Finality"),
        Stream.take(3),
        Stream.runCollect
      )
      const fiber = yield* Effect.forkChild(marks)
      yield* rig.mine(5)
      const heights = (yield* Fiber.join(fiber)).flatMap(({ finalized }) => finalized === null ? [] : [finalized])
      assert.deepStrictEqual(heights, heights.toSorted((one, other) => Number(one - other)))
    }))

  rule(
    "finds a payment to a target that it learns of only while it looks",
    [],
    (rig, start) =>
      Effect.gen(function*() {
        const target = rig.target(0)
        yield* rig.pay(target, null, 3n * rig.unit)
        const all = watchOf(rig, [target])
        const none = watchOf(rig, [])
        let current = none
        const watch: WatchSet = {
          ...all,
          has: (key) => current.has(key),
          accounts: () => current.accounts(),
          refresh: Effect.sync(() => {
            current = all
          })
        }
        const journal = yield* followUntil(rig.driver, start, watch, ({ transfers }) => transfers.size === 1)
        assert.deepStrictEqual(amountsOf(journal), [3n * rig.unit])
      })
  )

  rule("gives the same journal from any cursor", [], (rig, start) =>
    Effect.gen(function*() {
      const target = rig.target(0)
      yield* rig.pay(target, rig.token, 1n * rig.unit)
      yield* rig.mine(2)
      yield* rig.pay(target, null, 2n * rig.unit)
      yield* rig.pay(target, rig.token, 3n * rig.unit)
      const watch = watchOf(rig, [target])
      const whole = yield* followUntil(rig.driver, start, watch, ({ transfers }) => transfers.size === 3)
      yield* rig.mine(1)
      for (const [skip] of whole.points.entries()) {
        const points = whole.points.slice(skip)
        const known = [...whole.transfers].filter(([, { height }]) => height <= points[0]!.height)
        const resumed = yield* followUntil(rig.driver, { points, transfers: new Map(known) }, watch, (journal) =>
          journal.points[0]!.height > whole.points[0]!.height)
        assert.deepStrictEqual([...resumed.transfers].sort(), [...whole.transfers].sort())
      }
    }))
}
