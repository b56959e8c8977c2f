/**
 * Goal: a payor is told what to do and nothing of the merchant's wallets, the merchant is told all, and whether a
 * payment needs a memo is said alike wherever it is said. Method: a running service with all ten networks, by HTTP.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { networks } from "../../schemas/Network.ts"
import { emptyDatabase } from "../support/Database.ts"
import { generousLimits } from "../support/Limits.ts"
import { makeReceiver } from "../support/Receiver.ts"
import { configOf, type Service, startService, temporaryDirectory } from "../support/Service.ts"
import { newAddress } from "../modules/wallets/WalletService.ts"
import { asPayor, assertStatus, newInvoice, openShop, requestAddress, type Shop } from "./Shop.ts"

class Desk extends Context.Service<Desk, { readonly service: Service; readonly shop: Shop }>()("test/PayorViewDesk") {
  static readonly layer = Layer.effect(
    Desk,
    Effect.gen(function*() {
      const database = yield* emptyDatabase
      const receiver = yield* makeReceiver()
      const service = yield* startService({
        directory: yield* temporaryDirectory,
        config: configOf({
          database: database.url,
          receivers: [receiver.host],
          chains: [{ use: "simulated" }],
          limits: generousLimits
        })
      })
      return { service, shop: yield* openShop(service, receiver, (yield* service.keys).merchant_key) }
    })
  )
}

const asMerchant = (path: string, body?: object, method?: string) =>
  Effect.flatMap(Desk, ({ service, shop }) =>
    service.call(path, {
      headers: { "x-api-key": shop.key },
      ...(body === undefined ? {} : { body }),
      ...(method === undefined ? {} : { method })
    }))

const setWallet = (family: string, kind: string, value: string) =>
  Effect.flatMap(
    asMerchant(`/api/v1/merchant/wallets/${family}`, { kind, value }, "PUT"),
    // A merchant's wallet is read again after 2 s; the instance that changed it does so at once.
    (answer) => Effect.sync(() => assertStatus(200, answer))
  )

const newPayor = Effect.flatMap(Desk, ({ shop }) => newInvoice(shop, { amount_usd: 5 }))

/** Coins by network, as a payor is offered them. */
const offered = Effect.fnUntraced(function*() {
  const { shop } = yield* Desk
  const invoice = yield* newPayor
  const tokens: ReadonlyArray<any> = yield* asPayor(shop, invoice, "available-tokens")
  return {
    invoice,
    coins: new Map(tokens.filter((each) => each.token_address === null).map((each) => [each.network, each]))
  }
})

/** What the three places that tell of it say of each network's coin, in the order of their calls. */
const memoFlags = Effect.gen(function*() {
  const { shop } = yield* Desk
  const { coins, invoice } = yield* offered()
  const found: Array<readonly [network: string, boolean, boolean, boolean, boolean]> = []
  for (const network of networks) {
    const coin = coins.get(network)
    assert.isDefined(coin, network)
    const search = yield* asMerchant(
      `/api/v1/merchant/tokens/search?network=${network}&token_type=native&environment=devnet`
    )
    const shown = assertStatus(200, yield* requestAddress(shop, invoice, { network, token_id: coin.id }))
    const again = (yield* asPayor(shop, invoice, "available-tokens")).find((each: any) => each.id === coin.id)
    assert.strictEqual(shown.requires_memo, shown.memo !== null, network)
    found.push([
      network,
      coin.requires_memo,
      assertStatus(200, search).tokens[0].requires_memo,
      shown.requires_memo,
      again.requires_memo
    ])
  }
  return found
})

layer(Desk.layer, { excludeTestServices: true })("a payor", (it) => {
  it.effect("is told of a memo alike before the choice of a network, with its address, and as its merchant is", () =>
    Effect.gen(function*() {
      const withMemo = new Set(["solana", "ton"])
      assert.deepStrictEqual(
        yield* memoFlags,
        networks.map((network) => {
          const needed = withMemo.has(network)
          return [network, needed, needed, needed, needed]
        })
      )
    }))

  it.effect("needs no memo on Solana where each invoice has an address of its own, and who has one keeps it", () =>
    Effect.gen(function*() {
      const { shop } = yield* Desk
      const before = yield* offered()
      const { id } = before.coins.get("solana")
      const shown = assertStatus(200, yield* requestAddress(shop, before.invoice, { network: "solana", token_id: id }))
      yield* setWallet("solana", "pool", [newAddress.solana(), newAddress.solana()].join(" "))
      const found = (yield* memoFlags).find(([network]) => network === "solana")
      assert.deepStrictEqual(found, ["solana", false, false, false, false])
      const kept = (yield* asPayor(shop, before.invoice, "available-tokens")).find((each: any) => each.id === id)
      assert.deepStrictEqual([shown.requires_memo, kept.requires_memo], [true, true])
    }))

  for (
    const [family, network] of [["evm", "base"], ["sui", "sui"], ["cardano", "cardano"], ["solana", "solana"]] as const
  ) {
    it.effect(`of ${network} is told to choose another network where the wallet is used up, and its merchant why`, () =>
      Effect.gen(function*() {
        const { shop } = yield* Desk
        const address = newAddress[family]()
        yield* setWallet(family, "pool", address)
        const { coins, invoice } = yield* offered()
        const route = { network, token_id: coins.get(network).id }
        assert.strictEqual(assertStatus(200, yield* requestAddress(shop, invoice, route)).temp_address, address)
        const late = yield* newPayor
        const refusal = yield* requestAddress(shop, late, route)
        assert.strictEqual(refusal.status, 400, refusal.text)
        assert.deepStrictEqual(refusal.json, {
          error: "This network takes no payment of this invoice now: choose another one of available-tokens",
          code: "UNSUPPORTED_NETWORK"
        })
        const told = yield* asMerchant(`/api/v1/devnet/invoices/${late.id}/simulate`, { action: "pay", ...route })
        assert.strictEqual(told.status, 400, told.text)
        assert.include(told.text, "no address left")
        assert.include(told.text, "send a longer list")
        const [wallet] = assertStatus(200, yield* asMerchant("/api/v1/merchant/wallets")).wallets
          .filter((each: any) => each.family === family)
        assert.strictEqual(wallet.addresses_left, 0)
      }))
  }
})
