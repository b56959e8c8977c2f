/**
 * Goal: where a payment came from is known if any server tells it, is said to be unknown if none does, and never holds
 * up the chain.
 * Method: servers that show a block and not what its transactions spend, alone and beside one that does.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { blockfrost, type BlockfrostFault } from "../../../support/cardano/Blockfrost.ts"
import { driverOn, rigAccount } from "../../../support/cardano/Rig.ts"
import { ada, followUntil, pay, reaches, town } from "../../../support/cardano/Town.ts"
import { blockHistoryOf } from "../../../support/Drivers.ts"

const withoutUtxos = (status: number): BlockfrostFault => ({ path }, answer) =>
  path.endsWith("/utxos") ? { status, body: { inputs: "?" } } : answer()

const faults = [["does not have", 404], ["shows in no known form", 200]] as const

describe("where payments on Cardano came from", () => {
  for (const [what, status] of faults) {
    it.live(
      `is told by another server where the first ${what} it, so that change counts for no payment`,
      () =>
        Effect.gen(function*() {
          const made = yield* town()
          const { address, ledger, server, start, watch } = made
          const driver = yield* driverOn([server, yield* blockfrost(ledger)])
          const account = yield* rigAccount
          pay(made, 0, 50n * ada)
          server.set(withoutUtxos(status))
          ledger.pay([{ address: address(1), lovelace: 10n * ada }], {
            from: { address: address(0), signer: account.signer(0) }
          })
          ledger.mine()
          const story = yield* followUntil(driver, start, watch, reaches(ledger))
          assert.deepStrictEqual(
            [...story.transfers.values()].map(({ amount, from, matchKey }) => [BigInt(amount), from, matchKey]),
            [[50n * ada, ledger.address, address(0)], [10n * ada, address(0), address(1)]]
          )
          const [, top] = story.points
          const { readBlock } = blockHistoryOf(driver)
          const again = yield* readBlock(top!.height + 1n, story.points[0]!, watch)
          assert.deepStrictEqual(again.transfers.map(({ from }) => from), [address(0)])
        }).pipe(Effect.scoped)
    )

    it.live(
      `is said to be unknown where no server tells, and the payment counts: one that ${what} it`,
      () =>
        Effect.gen(function*() {
          const made = yield* town()
          const { driver, ledger, server, start, watch } = made
          server.set(withoutUtxos(status))
          pay(made, 0, 5n * ada)
          const story = yield* followUntil(driver, start, watch, reaches(ledger))
          assert.deepStrictEqual([...story.transfers.values()].map(({ amount, from }) => [BigInt(amount), from]), [
            [5n * ada, null]
          ])
          // Once it tells, reading the block again does too.
          server.set("right")
          const { readBlock } = blockHistoryOf(driver)
          const again = yield* readBlock(story.points[0]!.height, story.points[0]!, watch)
          assert.deepStrictEqual(again.transfers.map(({ from }) => from), [ledger.address])
        }).pipe(Effect.scoped)
    )
  }
})
