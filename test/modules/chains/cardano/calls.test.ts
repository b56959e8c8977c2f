/**
 * Goal: what following Cardano costs is known, and does not grow with the addresses that are watched.
 * Method: calls are counted where the API serves them; a block holds one transaction, as most do on the test networks.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import type { ChainPoint } from "../../../../runtime/Chains.ts"
import { type Blockfrost, blockfrost } from "../../../support/cardano/Blockfrost.ts"
import { Ledger } from "../../../support/cardano/Ledger.ts"
import { driverOn } from "../../../support/cardano/Rig.ts"
import { indexedWalletOf, watching } from "../../../support/Drivers.ts"

/** Blocks that come while the service is away; 4,320 is a day of them. */
const missedBlocks = 300

const totalOf = (server: Blockfrost) => Object.values(server.calls()).reduce((sum, each) => sum + each, 0)

const pointOf = ({ tip }: Ledger): ChainPoint => ({ height: BigInt(tip.height), hash: tip.hash })

describe("calls of the API", () => {
  for (const watchedAddresses of [1, 10_000]) {
    it.live(`are as many for ${watchedAddresses} addresses as for any other number`, () =>
      Effect.gen(function*() {
        const ledger = new Ledger()
        const server = yield* blockfrost(ledger)
        const driver = yield* driverOn([server])
        const { address } = indexedWalletOf(driver).derive(0)
        const others = Array.from({ length: watchedAddresses - 1 }, (_, place) => `addr_test1other${place}`)
        const watch = watching([address, ...others])
        /** Calls from `from` until a look found nothing more at the tip. */
        const count = (from: ChainPoint, looks: number) =>
          Effect.gen(function*() {
            server.reset()
            yield* driver.follow([from], watch).pipe(
              Stream.filter(({ _tag }) => _tag === "Finality"),
              Stream.take(looks),
              Stream.runDrain
            )
            return totalOf(server)
          })

        // The first look after a start asks for the time of the newest block too.
        assert.deepStrictEqual([yield* count(pointOf(ledger), 1), yield* count(pointOf(ledger), 11)], [2, 12])

        const before = pointOf(ledger)
        const filler = ledger.pay([{ address: ledger.address, lovelace: 5_000_000n }])
        ledger.mine()
        assert.strictEqual(yield* count(before, 1), 1 + 1)

        const unpaid = pointOf(ledger)
        const { txHash } = ledger.pay([{ address, lovelace: 5_000_000n }])
        ledger.mine()
        assert.strictEqual(yield* count(unpaid, 1), 1 + 1 + 1)
        server.reset()
        yield* driver.corroborate!(pointOf(ledger), watch, false, [txHash])
        assert.strictEqual(totalOf(server), 3)

        const away = pointOf(ledger)
        for (let block = 0; block < missedBlocks; block++) {
          ledger.insert(filler)
          ledger.mine()
        }
        const looks = Math.ceil(missedBlocks / 50) + (missedBlocks % 50 === 0 ? 1 : 0)
        const calls = yield* count(away, looks)
        assert.strictEqual(calls, missedBlocks + looks)
      }).pipe(Effect.scoped))
  }
})
