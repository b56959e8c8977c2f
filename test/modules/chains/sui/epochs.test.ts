/**
 * Goal: no node can make an export on Sui's mainnet valid for longer than two epochs. Method: starts of epochs that
 * others have published, and a node that names other ones.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { epochFault, epochTimesFault, latestEpoch } from "../../../../modules/chains/sui/Epochs.ts"
import { suiDriver, suiRig } from "../../../support/SuiRig.ts"

/**
 * Epochs of mainnet and their starts in milliseconds: answers of `suix_getLatestSuiSystemState` that docs.blockpi.io
 * and docs.getblock.io show, one of a public test of 2026-06-07, and the change to epoch 513 as a transaction has it.
 */
const published = [
  [418n, 1_717_435_879_365],
  [513n, 1_725_644_149_511],
  [1_001n, 1_767_807_788_838],
  [1_151n, 1_780_790_717_256]
] as const

const day = 86_400

describe("an epoch of Sui's mainnet", () => {
  it("takes a day or more, as all that were published did", () => {
    for (const [place, [epoch, start]] of published.entries()) {
      if (place === 0) continue
      const [epochBefore, startBefore] = published[place - 1]!
      assert.isAtLeast(start - startBefore, Number(epoch - epochBefore) * day * 1_000)
    }
  })

  it("is believed when it was published, and one that has not begun is not", () => {
    for (const [epoch, start] of published.slice(2)) {
      assert.isNull(epochFault("mainnet", epoch, Math.floor(start / 1_000)))
    }
    const [epoch, start] = published[2]
    const now = start / 1_000
    assert.strictEqual(latestEpoch(now), epoch)
    assert.match(epochFault("mainnet", epoch + 1n, now)!, /epoch 1002, and mainnet cannot be past epoch 1001/)
    assert.isNull(epochFault("mainnet", epoch + 1n, now + day))
    assert.isNotNull(epochFault("mainnet", epoch + 3n, now + day))
    assert.isNull(epochFault("devnet", epoch + 5_000n, now))
  })

  it("begins before now, and takes two days at most", () => {
    assert.isNull(epochTimesFault("mainnet", { start: 1_000_000, durationSeconds: day }, 1_000_000))
    assert.match(epochTimesFault("mainnet", { start: 1_100_000, durationSeconds: day }, 1_000_000)!, /not yet/)
    assert.match(epochTimesFault("mainnet", { start: 1, durationSeconds: 365 * day }, 1_000_000)!, /take a day/)
    assert.isNull(epochTimesFault("devnet", { start: 1, durationSeconds: 3_600 }, 1_000_000))
  })

  it.live("is read at the start: a node that names a later one is refused", () =>
    Effect.scoped(Effect.gen(function*() {
      const rig = yield* suiRig({ chainId: "4btiuiMPvEENsttpZC7CZ53DruC3MAgfznDbASZ7DR6S" })
      const options = { environment: "mainnet", chainId: undefined } as never
      yield* suiDriver(rig, [rig.node], options)
      rig.ledger.epoch = latestEpoch(Date.now() / 1_000) + 1n
      rig.ledger.mine(1)
      const refused = yield* Effect.flip(suiDriver(rig, [rig.node], options))
      assert.match(refused.message, /cannot be past epoch \d+\. Correct this machine's clock, or the url/)
    })))
})
