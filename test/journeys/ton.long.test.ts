/**
 * Goal: money that moves on TON becomes the right invoice state, and all three channels tell the same story.
 * Method: the journeys of every network on the real virtual machine of TON, behind the API that providers offer, and
 * those that only this family has.
 */
import { assert, layer } from "@effect/vitest"
import { Address, toNano } from "@ton/core"
import { Context, Effect, Layer } from "effect"
import { prices } from "../support/Service.ts"
import { onChainContent } from "../support/ton/Jetton.ts"
import { type TonJetton, TonRig } from "../support/TonRig.ts"
import { dollars, healthJourney, type JourneyNetwork, paid, paymentJourneys } from "./PaymentJourneys.ts"
import { assertEvents, assertStatus } from "./Shop.ts"
import { openInvoice, openTown, type Town } from "./Town.ts"

/** The devnet catalogue's USDT. */
const usdt = "kQD0GKBM8ZbryVk2aESmzfU6b9b_8era_IkvBSELujFZPsyy"

/** A merchant's wallet that was never on the chain. */
const wallet = Address.parseRaw(`0:${"5c".repeat(32)}`).toString({ bounceable: false, testOnly: true })

class TonTown extends Context.Service<
  TonTown,
  Town & {
    readonly rig: TonRig
    readonly jetton: TonJetton
  }
>()("test/TonTown") {
  static readonly layer = Layer.effect(
    TonTown,
    Effect.gen(function*() {
      const rig = yield* Effect.promise(() => TonRig.make())
      const content = onChainContent({ symbol: "USDT", decimals: "6" })
      const jetton = yield* Effect.promise(() => rig.deployJetton(content, rig.payer, Address.parse(usdt)))
      const { url } = yield* rig.serve()
      // A chain's blocks come by themselves: seconds of a block pass before the next has them.
      yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(200), Effect.sync(() => rig.mine()))))
      const town = yield* openTown({
        prices: { ...prices, "the-open-network": "2.5" },
        chains: [{
          use: "ton",
          options: {
            environment: "devnet",
            api: [{ url, apiKey: "key-of-the-journey" }],
            wallet: { kind: "address", value: wallet },
            pollMillis: 50
          }
        }]
      })
      return { ...town, rig, jetton }
    })
  )
}

const sendUsdt = Effect.fnUntraced(function*(shown: any, amount: bigint, text: string | null = shown.memo) {
  const { jetton, rig } = yield* TonTown
  return yield* Effect.promise(() => rig.payJetton(jetton, Address.parse(shown.temp_address), amount, { text }))
})

const ton: JourneyNetwork<TonTown> = {
  name: "ton",
  town: TonTown,
  symbol: "USDT",
  tokenAmount: (usdMillis) => `${dollars(usdMillis)}000`,
  pay: (shown, usdMillis) => sendUsdt(shown, usdMillis * 1000n),
  assertShown: ({ memo, payment_uri: link, temp_address: address }) =>
    Effect.sync(() => {
      assert.strictEqual(address, wallet)
      assert.match(memo, /^[0-9A-HJKMNP-TV-Z]{12}$/)
      assert.strictEqual(link, `ton://transfer/${wallet}?jetton=${usdt}&amount=49990000&text=${memo}`)
    }),
  payer: Effect.map(TonTown, ({ rig }) => rig.payer.address.toString({ bounceable: false, testOnly: true })),
  hasOwnBlocks: true,
  native: {
    symbol: "GRAM",
    usdMillis: 7_000,
    assertShown: (shown) => Effect.sync(() => assert.strictEqual(shown.estimated_token_amount, "2.800000000")),
    // The memo as a person may type it, to a wallet that has no code yet.
    pay: ({ memo, temp_address: to }) =>
      Effect.flatMap(TonTown, ({ rig }) => {
        const text = ` ${memo.toLowerCase().replace(/(.{4})/g, "$1 ")}`
        return Effect.promise(() => rig.pay(Address.parse(to), toNano("2.8"), { text }))
      })
  },
  expiredForSeconds: 90,
  reachExpiry: Effect.void,
  payUnlisted: null,
  payWithoutInvoice: { type: "missing_memo", pay: (shown) => sendUsdt(shown, 5_000_000n, null) },
  // What a masterchain block holds is final.
  removePayment: null
}

layer(TonTown.layer, { excludeTestServices: true })("on TON", (it) => {
  paymentJourneys(it, ton)

  it.effect("a merchant's own list of addresses is paid without a memo, and a jetton's account is refused", () =>
    Effect.gen(function*() {
      const town = yield* TonTown
      const { jetton, rig, service, shop } = town
      const path = "/api/v1/merchant/wallets/ton"
      const headers = { "x-api-key": shop.key }
      const jettonAccount = yield* Effect.promise(() => jetton.walletOf(rig.payer.address))
      const wrong = yield* service.call(path, {
        method: "PUT",
        headers,
        body: { kind: "address", value: jettonAccount.toString() }
      })
      assert.deepStrictEqual([wrong.status, wrong.json.code], [400, "WALLET_INVALID"])
      const addresses = ["61", "62"].map((byte) =>
        Address.parseRaw(`0:${byte.repeat(32)}`).toString({ bounceable: false, testOnly: true })
      )
      const set = yield* service.call(path, {
        method: "PUT",
        headers,
        body: { kind: "pool", value: addresses.join(" ") }
      })
      assert.deepStrictEqual(assertStatus(200, set).first_addresses, addresses)
      const { invoice, listener, shown } = yield* openInvoice(town, "ton", "USDT", { amount_usd: 4 })
      assert.deepStrictEqual([shown.temp_address, shown.memo], [addresses[0], null])
      yield* sendUsdt(shown, 4_000_000n)
      yield* assertEvents(shop, invoice, listener, paid)
      assertStatus(200, yield* service.call(path, { method: "DELETE", headers }))
    }))

  healthJourney(it, ton)
})
