/**
 * Goal: what addresses of Cardano held in the newest final block is read, whatever came and left since.
 * Method: a ledger that checks every transaction, and a server that calls itself mainnet's.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { FetchHttpClient } from "effect/http"
import { descriptorOf } from "../../../../schemas/Network.ts"
import { blockfrost, refusal } from "../../../support/cardano/Blockfrost.ts"
import { enterpriseAddress, Ledger } from "../../../support/cardano/Ledger.ts"
import { driverOn, rigAccount } from "../../../support/cardano/Rig.ts"
import { ed25519 } from "@noble/curves/ed25519.js"

const ada = 1_000_000n
const { finalBlocks } = descriptorOf("cardano")

describe("what addresses of Cardano hold", () => {
  it.live(
    "is what they held in the newest final block, without what came and left since",
    () =>
      Effect.gen(function*() {
        const ledger = new Ledger()
        const server = yield* blockfrost(ledger)
        server.set(({ path }, answer) => {
          const honest = answer()
          return path === "/network/eras"
            ? refusal(404, "Not Found", "")
            : path === "/genesis"
            ? { ...honest, body: { ...honest.body as object, network_magic: 764_824_073 } }
            : honest
        })
        const driver = yield* driverOn([server], { environment: "mainnet", startIndex: 0 })
        const account = yield* rigAccount
        const [first, second, other] = [0, 1, 2].map((place) => account.address(place, "devnet")) as [
          string,
          string,
          string
        ]
        ledger.pay([{ address: first, lovelace: 30n * ada }, { address: second, lovelace: 20n * ada }])
        // Of the same account, and none of the wallet's: it is not asked for.
        ledger.pay([{ address: other, lovelace: 5n * ada }])
        ledger.mine(finalBlocks)
        const asked = () => Effect.map(driver.finalBalances!([first, second], [null]), (found) => found!)
        const before = yield* asked()
        assert.deepStrictEqual([before.balances.map(BigInt), before.hasSent], [[50n * ada], false])
        ledger.pay([{ address: second, lovelace: 7n * ada }])
        ledger.mine()
        ledger.pay([{ address: other, lovelace: 9n * ada }], { from: { address: first, signer: account.signer(0) } })
        ledger.mine()
        const meanwhile = yield* asked()
        assert.deepStrictEqual([meanwhile.balances.map(BigInt), meanwhile.hasSent], [[50n * ada], true])
        assert.strictEqual(meanwhile.point.height, BigInt(ledger.tip.height - finalBlocks + 1))
        ledger.mine(finalBlocks)
        // Seven came, and nine and the fee left.
        const [after] = (yield* asked()).balances
        assert.strictEqual(BigInt(after!), 50n * ada + 7n * ada - 9n * ada - 600_000n)
      }).pipe(Effect.scoped, Effect.provide(FetchHttpClient.layer)) as Effect.Effect<void>
  )

  it.live("is read address by address where they are of no account, and not at all where no server tells", () =>
    Effect.gen(function*() {
      const ledger = new Ledger()
      const server = yield* blockfrost(ledger)
      const driver = yield* driverOn([server])
      const addresses = Array.from(
        { length: 3 },
        () => enterpriseAddress(ed25519.getPublicKey(ed25519.utils.randomSecretKey()))
      )
      ledger.pay(addresses.slice(1).map((address) => ({ address, lovelace: 4n * ada })))
      ledger.mine()
      const found = yield* driver.finalBalances!(addresses, [null])
      assert.deepStrictEqual([found?.balances.map(BigInt), found?.hasSent], [[8n * ada], false])
      server.set(({ path }, answer) => path.endsWith("/total") ? refusal(404, "Not Found", "") : answer())
      assert.isNull(yield* driver.finalBalances!(addresses, [null]))
      server.set(({ path }, answer) => path.endsWith("/transactions") ? refusal(404, "Not Found", "") : answer())
      assert.isNull(yield* driver.finalBalances!(addresses, [null]))
    }).pipe(Effect.scoped, Effect.provide(FetchHttpClient.layer)) as Effect.Effect<void>)
})
