/**
 * Goal: money that moves on Sui becomes the right invoice state, and all three channels tell the same story.
 * Method: the journeys of every network on a chain of the test's own, behind two nodes that speak Sui's gRPC-Web, and
 * those that only this family has.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { HDKey } from "@scure/bip32"
import { randomBytes } from "node:crypto"
import { devnetXpub } from "../../modules/chains/simulated.ts"
import { addressOf } from "../../modules/chains/sui/Wallet.ts"
import { prices } from "../support/Service.ts"
import { suiCoin, usdcCoin } from "../support/sui/Ledger.ts"
import { payor, suiAddress, type SuiRig, suiRig } from "../support/SuiRig.ts"
import { dollars, healthJourney, type JourneyNetwork, paid, paymentJourneys } from "./PaymentJourneys.ts"
import { assertEvents, assertStatus } from "./Shop.ts"
import { openInvoice, openTown, type Town } from "./Town.ts"

/** The deployment's addresses, in their order of use. */
const pool = Array.from({ length: 40 }, (_, index) => suiAddress(index))

class SuiTown extends Context.Service<SuiTown, Town & { readonly rig: SuiRig }>()("test/SuiTown") {
  static readonly layer = Layer.effect(
    SuiTown,
    Effect.gen(function*() {
      const rig = yield* suiRig()
      const second = yield* rig.addNode
      const town = yield* openTown({
        prices: { ...prices, sui: "3.5" },
        chains: [{
          use: "sui",
          options: {
            environment: "devnet",
            rpc: [{ url: rig.node.url }, { url: second.url, headers: { "x-token": "of-a-provider" } }],
            chainId: rig.ledger.chainId,
            wallet: { kind: "pool", value: pool.join(" ") },
            agreementAboveUsd: 0,
            pollMillis: 25
          }
        }]
      })
      return { ...town, rig }
    })
  )
}

const send = (to: string, amount: bigint, coinType = usdcCoin) =>
  Effect.map(SuiTown, ({ rig }) => rig.pay({ to, coinType, amount }))

/** Looks like USDC, and is of another package. */
const lookAlike = `0x${"9".repeat(64)}::usdc::USDC`

const sui: JourneyNetwork<SuiTown> = {
  name: "sui",
  town: SuiTown,
  symbol: "USDC",
  tokenAmount: (usdMillis) => `${dollars(usdMillis)}000`,
  pay: (shown, usdMillis) => send(shown.temp_address, usdMillis * 1000n),
  assertShown: (shown) =>
    Effect.sync(() => {
      assert.include(shown, { temp_address: pool[0], payment_uri: `sui:${pool[0]}` })
    }),
  payer: Effect.succeed(payor),
  hasOwnBlocks: false,
  native: {
    symbol: "SUI",
    usdMillis: 7_000,
    assertShown: (shown) => Effect.sync(() => assert.strictEqual(shown.estimated_token_amount, "2.000000000")),
    pay: (shown) => send(shown.temp_address, 2_000_000_000n, suiCoin)
  },
  expiredForSeconds: 5,
  reachExpiry: Effect.map(SuiTown, ({ rig }) => void rig.ledger.mine(4)),
  payUnlisted: (shown) =>
    Effect.flatMap(SuiTown, ({ rig }) => {
      rig.ledger.mint(payor, lookAlike, 5_000_000n)
      return Effect.map(send(shown.temp_address, 5_000_000n, lookAlike), (txHash) => ({ txHash, token: lookAlike }))
    }),
  payWithoutInvoice: {
    type: "unmatched_payment",
    // To an address that no invoice has yet: such addresses are searched once an hour.
    pay: () =>
      Effect.flatMap(
        SuiTown,
        ({ rig }) => Effect.tap(send(pool[30]!, 5_000_000n), () => Effect.sync(() => rig.ledger.mine(14_400)))
      )
  },
  // A transaction that is in a checkpoint is final.
  removePayment: null
}

layer(SuiTown.layer, { excludeTestServices: true })("on Sui", (it) => {
  paymentJourneys(it, sui)

  it.effect("a failed transfer pays nothing and is not told of", () =>
    Effect.gen(function*() {
      const town = yield* SuiTown
      const { rig, shop } = town
      const { invoice, listener, shown } = yield* openInvoice(town, "sui", "USDC", { amount_usd: 5 })
      rig.ledger.transfer(payor, [{ to: shown.temp_address, coinType: usdcCoin, amount: 5_000_000n }], true)
      rig.ledger.mine(1)
      yield* send(shown.temp_address, 5_000_000n)
      const { events } = yield* assertEvents(shop, invoice, listener, paid)
      assert.strictEqual(events[1].data.object.amount, 5_000)
    }))

  it.effect("a merchant's own xpub is paid at its first address, and one of an EVM network is refused", () =>
    Effect.gen(function*() {
      const town = yield* SuiTown
      const { service, shop } = town
      const path = "/api/v1/merchant/wallets/sui"
      const headers = { "x-api-key": shop.key }
      const give = (value: string) => service.call(path, { method: "PUT", headers, body: { kind: "xpub", value } })
      const account = HDKey.fromMasterSeed(randomBytes(32)).derive("m/54'/784'/0'")
      const addresses = [0, 1, 2].map((index) => addressOf(account.deriveChild(0).deriveChild(index).publicKey!))
      for (const value of [devnetXpub, account.publicExtendedKey, `${devnetXpub} ${addresses[0]}`]) {
        const refused = yield* give(value)
        assert.deepStrictEqual([refused.status, refused.json.code], [400, "WALLET_INVALID"])
        assert.include(refused.text, "the first address that your own wallet shows")
        assert.notInclude(refused.text, value)
      }
      const set = yield* give(`${account.publicExtendedKey} ${addresses[0]}`)
      assert.deepStrictEqual(assertStatus(200, set).first_addresses, addresses)
      const { invoice, listener, shown } = yield* openInvoice(town, "sui", "USDC", { amount_usd: 4 })
      assert.strictEqual(shown.temp_address, addresses[0])
      yield* send(shown.temp_address, 4_000_000n)
      yield* assertEvents(shop, invoice, listener, paid)
      assertStatus(200, yield* service.call(path, { method: "DELETE", headers }))
    }))

  healthJourney(it, sui)
})
