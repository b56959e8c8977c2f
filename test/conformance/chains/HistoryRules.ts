/** What a driver reads a second time: blocks by height, transactions and ranges by account. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { ChainPoint, LocatedTransfer } from "../../../runtime/Chains.ts"
import { blockHistoryOf } from "../../support/Drivers.ts"
import { accountHistoryOf, followUntil, inOrder, isByAccount, watchOf, withoutHeight } from "./Journal.ts"
import type { DefineRule } from "./Rule.ts"

export const historyRules = (rule: DefineRule): void => {
  rule("reads again what was passed, and nothing that is not there", [], (rig, start) =>
    Effect.gen(function*() {
      const [target, unwatched] = [rig.target(0), rig.target(1)]
      const first = yield* rig.pay(target, rig.token, 3n * rig.unit)
      const other = yield* rig.pay(unwatched, rig.token, 4n * rig.unit)
      const last = yield* rig.pay(target, null, 5n * rig.unit)
      const watch = watchOf(rig, [target])
      const journal = yield* followUntil(rig.driver, start, watch, ({ transfers }) =>
        [...transfers.values()].some(({ txHash }) =>
          txHash === last.txHash
        ))
      const from = start.points[0]!.height
      const { readTransaction, readTransfers, timeOf } = accountHistoryOf(rig.driver)
      const seen = (txHash: string) =>
        inOrder(
          [...journal.transfers.values()].filter((each) =>
            each.txHash === txHash
          ).map(withoutHeight)
        )
      assert.deepStrictEqual(
        inOrder(yield* readTransaction(first.txHash, watch, from)),
        seen(first.txHash)
      )
      assert.deepStrictEqual(
        inOrder(yield* readTransaction(last.txHash, watch, from)),
        seen(last.txHash)
      )
      const toOthers = (yield* readTransaction(other.txHash, watch, from)).filter(({ matchKey }) =>
        matchKey === target.matchKey
      )
      assert.deepStrictEqual(toOthers, [])
      const range = (from: bigint, to: bigint) =>
        Effect.map(readTransfers(from, to, watch), (all: ReadonlyArray<LocatedTransfer>) =>
          inOrder(all.filter(({ matchKey }) => matchKey === target.matchKey)))
      const ofTarget = inOrder(
        [...journal.transfers.values()].map(withoutHeight).filter(({ matchKey }) =>
          matchKey === target.matchKey
        )
      )
      const [low, high] = [start.points[0]!.height, journal.points[0]!.height]
      assert.deepStrictEqual(yield* range(low, high), ofTarget)
      const place = seen(last.txHash)[0]!.at!
      assert.deepStrictEqual(yield* range(place.height, place.height), seen(last.txHash))
      assert.strictEqual(yield* timeOf(place.height), place.time)
    }), isByAccount)

  rule(
    "reads a block again by its height, and none on a branch that was left",
    ["rollback"],
    (rig, start) =>
      Effect.gen(function*() {
        const { readBlock } = blockHistoryOf(rig.driver)
        const watch = watchOf(rig, [rig.target(0)])
        yield* rig.pay(rig.target(0), rig.token, 3n * rig.unit)
        yield* rig.pay(rig.target(2), rig.token, 4n * rig.unit)
        const before = yield* followUntil(rig.driver, start, watch, ({ points }) => points.length === 3)
        const [top, middle] = before.points as [ChainPoint, ChainPoint]
        const own = yield* readBlock(middle.height, middle, watch)
        assert.deepStrictEqual(yield* readBlock(middle.height, top, watch), own)
        assert.deepStrictEqual([own.point, own.transfers.map(({ amount }) => BigInt(amount))], [
          middle,
          [3n * rig.unit]
        ])
        yield* rig.rollback.drop(1)
        yield* followUntil(
          rig.driver,
          before,
          watch,
          ({ points }) => points.length === 3 && points[0]!.hash !== top.hash
        )
        assert.strictEqual((yield* Effect.flip(readBlock(middle.height, top, watch)))._tag, "DriverError")
        assert.deepStrictEqual(yield* readBlock(middle.height, middle, watch), own)
      }),
    (driver) => !isByAccount(driver)
  )
}
