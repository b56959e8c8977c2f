/** What a driver takes back: blocks that were replaced, and single transactions that left the chain. */
import { assert } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { amountsOf, followUntil, type Journal, watchOf } from "./Journal.ts"
import type { DefineRule } from "./Rule.ts"

export const reorganisationRules = (rule: DefineRule): void => {
  rule(
    "takes back what a reorganisation dropped, also while nobody was following",
    ["rollback"],
    (rig, start) =>
      Effect.gen(function*() {
        const watch = watchOf(rig, [rig.target(0)])
        yield* rig.pay(rig.target(0), rig.token, 1n * rig.unit)
        yield* rig.pay(rig.target(0), rig.token, 2n * rig.unit)
        const before = yield* followUntil(rig.driver, start, watch, ({ transfers }) => transfers.size === 2)
        yield* rig.rollback.drop(1)
        const after = yield* followUntil(
          rig.driver,
          before,
          watch,
          ({ points, transfers }) => transfers.size === 1 && points.length === before.points.length
        )
        assert.deepStrictEqual(amountsOf(after), amountsOf(before).slice(0, 1))
        assert.notStrictEqual(after.points[0]!.hash, before.points[0]!.hash)
      })
  )

  rule(
    "takes a reorganisation of the same height, and finds the transfer under its old key",
    ["rollback"],
    (rig, start) =>
      Effect.gen(function*() {
        const watch = watchOf(rig, [rig.target(0)])
        yield* rig.pay(rig.target(0), rig.token, 4n * rig.unit)
        const before = yield* followUntil(rig.driver, start, watch, ({ transfers }) => transfers.size === 1)
        const [key, seen] = [...before.transfers][0]!
        const moved = yield* Effect.forkChild(followUntil(rig.driver, before, watch, ({ transfers }) => {
          const again = transfers.get(key)
          return again !== undefined && again.height > seen.height
        }))
        yield* rig.rollback.reinclude(1)
        const after = yield* Fiber.join(moved)
        assert.strictEqual(after.transfers.size, 1)
        assert.strictEqual(after.transfers.get(key)!.amount, seen.amount)
      })
  )

  rule("flips between forks as often as the chain does", ["rollback"], (rig, start) =>
    Effect.gen(function*() {
      const watch = watchOf(rig, [rig.target(0)])
      let journal = yield* followUntil(rig.driver, start, watch, ({ points }) => points.length > 0)
      for (let round = 0; round < 4; round++) {
        yield* rig.pay(rig.target(0), rig.token, 1n * rig.unit)
        journal = yield* followUntil(rig.driver, journal, watch, ({ transfers }) => transfers.size === 1)
        yield* rig.rollback.drop(1)
        journal = yield* followUntil(rig.driver, journal, watch, ({ transfers }) => transfers.size === 0)
      }
    }))

  for (const isAway of [false, true]) {
    rule(
      `takes back one dropped transaction and not its neighbours${isAway ? ", also after a restart" : ""}`,
      ["dropTransaction"],
      (rig, start) =>
        Effect.gen(function*() {
          const targets = [rig.target(0), rig.target(1)]
          let journal = start
          const watch = watchOf(rig, targets, {
            transfersAbove: (above) => [...journal.transfers.values()].filter(({ height }) => height > above)
          })
          yield* rig.pay(targets[0]!, null, 1n * rig.unit)
          const { txHash } = yield* rig.pay(targets[1]!, null, 2n * rig.unit)
          yield* rig.pay(targets[0]!, null, 3n * rig.unit)
          const isGone = ({ transfers }: Journal) => transfers.size === 2
          journal = yield* followUntil(rig.driver, start, watch, ({ transfers }) => transfers.size === 3)
          const following = isAway
            ? null
            : yield* Effect.forkChild(followUntil(rig.driver, journal, watch, isGone))
          yield* rig.dropTransaction(txHash)
          const after = following === null
            ? yield* followUntil(rig.driver, journal, watch, isGone)
            : yield* Fiber.join(following)
          assert.deepStrictEqual(amountsOf(after), [1n * rig.unit, 3n * rig.unit])
        })
    )
  }
}
