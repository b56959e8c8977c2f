/** What a driver makes of payments: which it sees, how much each brings, and whom it came to. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { amountsOf, followUntil, watchOf } from "./Journal.ts"
import type { DefineRule } from "./Rule.ts"

export const paymentRules = (rule: DefineRule): void => {
  rule("finds transfers to watched targets once, with what they are", [], (rig, start) =>
    Effect.gen(function*() {
      const [first, second, unwatched] = [rig.target(0), rig.target(1), rig.target(2)]
      const native = yield* rig.pay(first, null, 5n * rig.unit)
      const other = yield* rig.pay(second, rig.token, 6n * rig.unit)
      yield* rig.pay(unwatched, null, 7n * rig.unit)
      const many = yield* rig.payMany?.([first, first, second], 8n * rig.unit) ?? Effect.succeed(null)
      const last = yield* rig.pay(first, null, 9n * rig.unit)
      const watch = watchOf(rig, [first, second])
      const journal = yield* followUntil(rig.driver, start, watch, ({ transfers }) =>
        [...transfers.values()].some(({ txHash }) =>
          txHash === last.txHash
        ))
      const found = (txHash: string) =>
        [...journal.transfers.values()].filter((each) =>
          each.txHash === txHash && watch.has(each.matchKey) &&
          each.matchKey !== rig.shared?.accountKey
        )
      const facts = (txHash: string) =>
        found(txHash).map(({ amount, matchKey, tokenAddress }) => ({
          amount: BigInt(amount),
          matchKey,
          tokenAddress
        }))
      assert.deepStrictEqual([facts(native.txHash), facts(other.txHash)], [
        [{ amount: 5n * rig.unit, matchKey: first.matchKey, tokenAddress: null }],
        [{ amount: 6n * rig.unit, matchKey: second.matchKey, tokenAddress: rig.token }]
      ])
      if (many === null) {
        return
      }
      const ofMany = found(many.txHash)
      const total = (matchKey: string) =>
        ofMany.filter((each) =>
          each.matchKey === matchKey
        ).reduce((sum, { amount }) => sum + amount, 0n)
      assert.deepStrictEqual([total(first.matchKey), total(second.matchKey)], [16n * rig.unit, 8n * rig.unit])
      assert.strictEqual(new Set(ofMany.map(({ index }) => index)).size, ofMany.length)
    }))

  rule(
    "tells money that names no invoice under the key of the wallet it came to",
    ["shared"],
    (rig, start) =>
      Effect.gen(function*() {
        yield* rig.shared.payWithoutMemo(null, 4n * rig.unit)
        if (rig.token !== null) yield* rig.shared.payWithoutMemo(rig.token, 5n * rig.unit)
        yield* rig.pay(rig.target(3), null, 6n * rig.unit)
        const watch = watchOf(rig, [rig.target(0)])
        const expected = rig.token === null ? 2 : 3
        const journal = yield* followUntil(rig.driver, start, watch, ({ transfers }) => transfers.size === expected)
        for (const { matchKey } of journal.transfers.values()) assert.strictEqual(matchKey, rig.shared.accountKey)
      })
  )

  rule("counts what arrived where a token keeps a fee", ["payWithFee"], (rig, start) =>
    Effect.gen(function*() {
      const { arrives } = yield* rig.payWithFee(rig.target(0), 1_000n * rig.unit)
      const watch = watchOf(rig, [rig.target(0)])
      const journal = yield* followUntil(rig.driver, start, watch, ({ transfers }) => transfers.size === 1)
      assert.deepStrictEqual(amountsOf(journal), [arrives])
    }))

  rule("counts nothing of a payment that failed", ["payInVain"], (rig, start) =>
    Effect.gen(function*() {
      yield* rig.payInVain(rig.target(0), 4n * rig.unit)
      yield* rig.pay(rig.target(0), null, 5n * rig.unit)
      const watch = watchOf(rig, [rig.target(0)])
      const journal = yield* followUntil(rig.driver, start, watch, ({ transfers }) => transfers.size > 0)
      assert.deepStrictEqual(amountsOf(journal), [5n * rig.unit])
    }))
}
