/**
 * Goal: what Sui costs at its provider is known, and does not grow with what nobody pays any more.
 * Method: the driver on a rig that counts calls, with 0 to 10,000 addresses. The counts are those of
 * modules/docs/guides/network-sui.md.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import type { ChainPoint, WatchSet } from "../../../../runtime/Chains.ts"
import { watching } from "../../../support/Drivers.ts"
import { payor, suiAddress, suiDriver, suiRig } from "../../../support/SuiRig.ts"
import { suiCoin } from "../../../support/sui/Ledger.ts"

const addresses = (count: number): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, place) => suiAddress(place))

const busyChain = Effect.gen(function*() {
  const rig = yield* suiRig()
  return { ...rig, driver: yield* suiDriver(rig, [rig.node], { pollMillis: 10 }) }
})

/** Follows from `start` until a look has ended at the head; answers the calls of that. */
const costOf = Effect.fnUntraced(function*(
  rig: Effect.Success<typeof busyChain>,
  start: ChainPoint,
  watch: WatchSet
) {
  rig.node.resetCounts()
  const head = rig.ledger.head.height
  const found = yield* rig.driver.follow([start], watch).pipe(
    Stream.takeUntil((event) => event._tag === "Finality" && event.finalized === head),
    Stream.runCollect
  )
  const transfers = found.flatMap((event) => event._tag === "Forward" ? event.transfers : [])
  return { calls: rig.node.calls(), transfers: transfers.length }
})

const pointOf = ({ ledger }: Effect.Success<typeof busyChain>): ChainPoint => {
  const { height } = ledger.head
  return { height, hash: height.toString() }
}

/** Eight checkpoints, as many as come in two seconds, with 160 transactions of strangers. */
const twoSeconds = ({ ledger }: Effect.Success<typeof busyChain>): void => {
  for (let made = 0; made < 8; made++) {
    for (let place = 0; place < 20; place++) {
      ledger.transfer(payor, [{ to: `0x${"e".repeat(64)}`, coinType: suiCoin, amount: 1n }])
    }
    ledger.mine(1)
  }
}

const idleLooks = [
  { count: 0, calls: { GetServiceInfo: 1 } },
  { count: 1, calls: { GetServiceInfo: 1, ListTransactions: 1 } },
  { count: 300, calls: { GetServiceInfo: 1, ListTransactions: 30 } },
  { count: 10_000, calls: { GetServiceInfo: 1, ListTransactions: 1 } }
]

describe("costs of sui", () => {
  for (const { calls, count } of idleLooks) {
    it.live(`a look at ${count} open addresses to which nothing came takes ${JSON.stringify(calls)}`, () =>
      Effect.gen(function*() {
        const rig = yield* busyChain
        rig.ledger.mine(100)
        const start = pointOf(rig)
        twoSeconds(rig)
        const cost = yield* costOf(rig, start, watching(addresses(count)))
        assert.deepStrictEqual(cost.calls, calls)
      }).pipe(Effect.scoped))
  }

  it.live("a payment takes one more call, which reads it again", () =>
    Effect.gen(function*() {
      const rig = yield* busyChain
      const start = pointOf(rig)
      const digest = rig.pay({ to: suiAddress(0), coinType: suiCoin, amount: 5n })
      const watch = watching(addresses(1))
      const cost = yield* costOf(rig, start, watch)
      assert.deepStrictEqual([cost.calls, cost.transfers], [{ GetServiceInfo: 1, ListTransactions: 1 }, 1])
      rig.node.resetCounts()
      const answer = yield* rig.driver.corroborate!(pointOf(rig), watch, false, [digest])
      assert.strictEqual(answer._tag, "Alone")
      assert.deepStrictEqual(rig.node.calls(), { BatchGetTransactions: 1 })
    }).pipe(Effect.scoped))

  const days = [
    { count: 0, calls: { GetServiceInfo: 5, GetCheckpoint: 4 } },
    { count: 1, calls: { GetServiceInfo: 5, ListTransactions: 5, GetCheckpoint: 4 } },
    { count: 300, calls: { GetServiceInfo: 5, ListTransactions: 150, GetCheckpoint: 4 } },
    { count: 400, calls: { GetServiceInfo: 5, ListTransactions: 161, GetCheckpoint: 4 } }
  ]
  for (const { calls, count } of days) {
    it.live(`24 hours are caught up for ${count} addresses in ${JSON.stringify(calls)}`, () =>
      Effect.gen(function*() {
        const rig = yield* busyChain
        rig.ledger.mine(100)
        const start = pointOf(rig)
        const watched = addresses(count)
        const amounts = Array.from({ length: 24 }, (_, hour) => BigInt(hour + 1))
        for (const amount of amounts) {
          const to = watched[Number(amount * 7n) % count] ?? suiAddress(0)
          rig.ledger.transfer(payor, [{ to, coinType: suiCoin, amount }])
          rig.ledger.mine(14_400)
        }
        rig.ledger.mine(8)
        const cost = yield* costOf(rig, start, watching(watched))
        assert.strictEqual(cost.transfers, count === 0 ? 0 : 24)
        assert.deepStrictEqual(cost.calls, calls)
      }).pipe(Effect.scoped))
  }
})
