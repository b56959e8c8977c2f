/**
 * Goal: the pure rules of the journal: what a second sight, a reorg and depth make of an entry.
 * Method: each rule on hand-made entries, and random scripts of blocks and rollbacks against a recount.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import type { JournalEntry, ObservedTransfer } from "../../../runtime/Chains.ts"
import {
  canRevert,
  depthAt,
  finalHeight,
  finalityOf,
  isOlderThanTarget,
  observe,
  pushPoint,
  retryPauseMillis,
  revertEntry,
  searchHoldSeconds,
  seenUntilAfterSearch
} from "../../../runtime/chains/Confirmations.ts"
import { ringSize } from "../../../runtime/chains/Points.ts"
import type { RingPoint, TargetRow } from "../../../runtime/chains/ChainsRepo.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import { requiredDepth } from "../../../schemas/Network.ts"

const transfer: ObservedTransfer = {
  txHash: "0x1",
  index: 2,
  kind: "direct",
  matchKey: "0xa",
  tokenAddress: null,
  amount: baseUnits(5n),
  from: null
}
const target = { merchantId: 1, invoiceId: "i", matchKey: "0xa", family: "evm" } as TargetRow
const point = (height: bigint, fork = 0): RingPoint => ({ height, hash: `${height}/${fork}`, time: 1 })

const see = (known: JournalEntry | undefined, at: RingPoint, confirmations = 1, more: Partial<ObservedTransfer> = {}) =>
  observe(known, { ...transfer, ...more }, target, {
    network: "base",
    environment: "mainnet",
    point: at,
    observedAt: 9,
    confirmations
  })

const confirmedAt = (height: bigint): JournalEntry => ({ ...see(undefined, point(height))!, status: "confirmed" })

describe("journal rules", () => {
  it("lets an invoice end by blocks that were searched for what was left out, or two minutes after a search fails", () => {
    const ring = [9n, 8n, 7n].map((height) => ({ ...point(height), time: 1_000 + Number(height) }))
    const until = (seen: number | null, searchedHeight: bigint | null, stuckSeconds = 0) =>
      seenUntilAfterSearch("mainnet", seen, { searchedHeight, stuckSeconds }, ring)
    assert.strictEqual(until(1_008, 9n), 1_008)
    assert.strictEqual(until(1_008, 8n), 1_007)
    assert.strictEqual(until(1_008, null), 1_006)
    assert.strictEqual(until(null, 9n), null)
    assert.strictEqual(until(1_008 + searchHoldSeconds, 8n, searchHoldSeconds), 1_008)
    assert.strictEqual(until(1_008, 8n, searchHoldSeconds), 1_007)
    assert.strictEqual(seenUntilAfterSearch("devnet", 1_008, { searchedHeight: null, stuckSeconds: 0 }, ring), 1_008)
  })

  it("lets no invoice end by blocks that were caught up after an outage and not searched yet, however old they are", () => {
    const ring = [900n, 899n, 898n].map((height) => ({ ...point(height), time: 12 * Number(height) }))
    const until = (stuckSeconds: number) =>
      seenUntilAfterSearch("mainnet", 10_799, { searchedHeight: 500n, stuckSeconds }, ring)
    assert.strictEqual(until(0), null)
    assert.strictEqual(until(searchHoldSeconds - 1), null)
    assert.strictEqual(until(searchHoldSeconds), 10_799 - searchHoldSeconds)
  })

  it("changes nothing when a block is read twice, and moves an entry to the block it is in now", () => {
    const first = see(undefined, point(7n))!
    assert.isUndefined(see(first, point(7n)))
    const again = see(revertEntry({ ...first, handledStatus: "seen" }), point(9n))!
    assert.deepInclude(again, { id: first.id, status: "seen", height: 9n, version: 3, observedAt: 9 })
  })

  it("tells the handler again when a transfer comes back as another fact", () => {
    const first: JournalEntry = { ...see(undefined, point(7n))!, handledStatus: "seen" }
    assert.strictEqual(see(first, point(7n, 1))!.handledStatus, "seen")
    assert.strictEqual(see(first, point(7n, 1), 1, { amount: baseUnits(6n) })!.handledStatus, "none")
  })

  it("lets a report neither change what the driver saw nor stand in for it", () => {
    const seen = see(undefined, point(7n))!
    assert.isUndefined(see(seen, point(8n), 0))
    const told = see(undefined, point(7n), 0)!
    assert.strictEqual(told.confirmations, 0)
    assert.strictEqual(see(told, point(7n))!.confirmations, 1)
  })

  it("undoes no final money by itself on mainnet, and anything on devnet", () => {
    const final = finalHeight("ethereum", "mainnet", { head: 200n, finalized: 120n })
    assert.strictEqual(final, 120n)
    assert.isFalse(canRevert(confirmedAt(120n), final))
    assert.isTrue(canRevert(confirmedAt(121n), final))
    assert.isTrue(canRevert({ ...confirmedAt(120n), status: "seen" }, final))
    assert.isTrue(canRevert({ ...confirmedAt(120n), environment: "devnet" }, final))
  })

  it("calls final what no reorganisation takes back: never what is only confirmed, reported or undone after it was final", () => {
    const one = { ...confirmedAt(120n), network: "ethereum" } as const
    const at = (finalized: bigint | null, head = 200n) => ({ head, finalized })
    assert.strictEqual(finalityOf(one, at(119n)), "waiting")
    assert.strictEqual(finalityOf(one, at(120n)), "final")
    assert.strictEqual(finalityOf(one, at(null, 182n)), "waiting")
    assert.strictEqual(finalityOf(one, at(null, 183n)), "final")
    assert.strictEqual(finalityOf(one, null), "waiting")
    for (const status of ["seen", "reverted"] as const) {
      assert.strictEqual(finalityOf({ ...one, status }, at(200n)), "waiting")
    }
    assert.strictEqual(finalityOf({ ...one, confirmations: 0 }, at(200n)), "reported")
    assert.strictEqual(finalityOf({ ...one, reorgedAfterFinality: true }, at(200n)), "reorged_after_finality")
    assert.strictEqual(finalityOf({ ...one, environment: "devnet" }, null), "final")
    assert.isFalse(see(revertEntry({ ...one, reorgedAfterFinality: true }), point(130n))!.reorgedAfterFinality)
  })

  it("takes depth for finality where the node has no mark", () => {
    assert.strictEqual(finalHeight("ethereum", "mainnet", { head: 200n, finalized: null }), 137n)
    assert.strictEqual(finalHeight("ethereum", "devnet", { head: 200n, finalized: 1n }), 200n)
  })

  it("counts a transfer's own block as depth 1", () => {
    assert.deepStrictEqual([depthAt(7n, 7n), depthAt(8n, 7n), depthAt(6n, 7n)], [1, 2, 0])
  })

  it("pauses longer after each failure, at most five minutes", () => {
    assert.deepStrictEqual([1, 2, 3, 7, 60].map(retryPauseMillis), [100, 400, 1_600, 300_000, 300_000])
  })

  it.effect.prop(
    "keeps one entry per key under any script of sightings and rollbacks",
    [Schema.Array(Schema.Boolean)],
    ([script]) =>
      Effect.sync(() => {
        let entry: JournalEntry | undefined
        let ring: ReadonlyArray<RingPoint> = []
        let versions = 0
        for (const [step, forward] of script.entries()) {
          const at = point(BigInt(step), step)
          const next = forward ? see(entry, at) : entry?.status === "seen" ? revertEntry(entry) : undefined
          if (forward) ring = pushPoint(ring, at)
          if (next === undefined) continue
          versions += 1
          assert.strictEqual(next.version, versions)
          assert.strictEqual(next.id, entry?.id ?? next.id)
          entry = next
        }
        assert.isAtMost(ring.length, ringSize)
        assert.strictEqual(entry?.status ?? "none", versions === 0 ? "none" : script.at(-1) ? "seen" : "reverted")
      })
  )
})

describe("a block", () => {
  const networks = ["ethereum", "base", "bsc"] as const
  const Count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 400 }))
  /** A target given out when the follower had read up to `height`, by a clock that was `off` seconds wrong. */
  const given = (height: bigint, time: number, off: number) => ({
    createdAt: time + off,
    allocationHeads: Object.fromEntries(networks.map((network) => [`${network}:mainnet`, { height, time }]))
  })
  const finalDepth = (network: typeof networks[number]) => requiredDepth(network, "mainnet", "final", 0n).blocks

  it.effect.prop("made after an address was given out is never older, behind any lag, reorganisation and clock", [
    Count,
    Count,
    Count,
    Count,
    Schema.Int.check(Schema.isBetween({ minimum: -100_000, maximum: 100_000 }))
  ], ([lag, depth, above, seconds, off]) =>
    Effect.sync(() => {
      const chain = { height: 5_000n, time: 1_800_000_000 }
      // A follower that lags knew a lower head, with an earlier time.
      const target = given(chain.height - BigInt(lag), chain.time - lag * 2, off)
      // The block is on top of the chain's head, or of a branch that leaves it fewer blocks below than are final.
      for (const network of networks) {
        const below = BigInt(depth % finalDepth(network))
        const block = { height: chain.height - below + BigInt(above % 2), time: chain.time + seconds }
        assert.isFalse(isOlderThanTarget(target, network, "mainnet", block))
      }
    }))

  it.effect.prop("that was final when an address was given out is older, whatever the clock says", [
    Count,
    Count,
    Schema.Int.check(Schema.isBetween({ minimum: -100_000, maximum: 100_000 }))
  ], ([below, seconds, off]) =>
    Effect.sync(() => {
      const target = given(5_000n, 1_800_000_000, off)
      for (const network of networks) {
        const block = { height: 5_000n - BigInt(finalDepth(network) + below), time: 1_800_000_000 - seconds }
        assert.isTrue(isOlderThanTarget(target, network, "mainnet", block))
      }
      const recent = { height: 4_999n, time: 1_800_000_000 - 61 - seconds }
      for (const network of networks) assert.isTrue(isOlderThanTarget(target, network, "mainnet", recent))
    }))

  it("is compared by the clocks, with a quarter of an hour to spare, where no head was known", () => {
    const target = { createdAt: 1_800_000_000, allocationHeads: {} }
    const at = (time: number) => isOlderThanTarget(target, "base", "mainnet", { height: 1n, time })
    assert.deepStrictEqual([at(1_800_000_000 - 901), at(1_800_000_000 - 900), at(1_800_000_000 + 5)], [
      true,
      false,
      false
    ])
  })

  it("is compared by the clocks, too, where the head that was known lies far above the chain", () => {
    const target = given(1_000_000n, 1_800_000_000, 0)
    const block = { height: 5_000n, time: target.createdAt + 5 }
    assert.isTrue(isOlderThanTarget(target, networks[0]!, "mainnet", { ...block, time: 1_799_990_000 }, 6_000n))
    assert.isFalse(isOlderThanTarget(target, networks[0]!, "mainnet", { ...block, time: 1_800_000_000 }, 6_000n))
    assert.isTrue(isOlderThanTarget(target, networks[0]!, "mainnet", { ...block, time: 1_800_000_000 }, 999_000n))
  })
})
