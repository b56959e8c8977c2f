/**
 * Goal: a payor is told what to do and nothing of the merchant's wallets, the merchant is told all, and whether a
 * payment needs a memo is said alike wherever it is said. Method: a running service with all ten networks, by HTTP.
 */
import { ed25519 } from "@noble/curves/ed25519.js"
import { assert, layer } from "@effect/vitest"
import { base58, bech32 } from "@scure/base"
import { Context, Effect, Layer } from "effect"
import { randomBytes } from "node:crypto"
import { associatedTokenAccount, tokenProgram } from "../../modules/chains/solana/Addresses.ts"
import { cardanoTestAddress } from "../../schemas/PlayMoney.ts"
import { readTonAddress, tonAddressText, tonRawAddressText } from "../../schemas/TonAddress.ts"
import { networks } from "../../schemas/Network.ts"
import { migratedDatabase } from "../support/Database.ts"
import { generousLimits } from "../support/Limits.ts"
import { makeReceiver } from "../support/Receiver.ts"
import { configOf, type Service, startService, temporaryDirectory } from "../support/Service.ts"
import { newAddress, newAddresses } from "../modules/wallets/WalletService.ts"
import { asPayor, assertStatus, newInvoice, openShop, requestAddress, type Shop } from "./Shop.ts"

class Desk extends Context.Service<Desk, { readonly service: Service; readonly shop: Shop }>()("test/PayorViewDesk") {
  static readonly layer = Layer.effect(
    Desk,
    Effect.gen(function*() {
      const database = yield* migratedDatabase
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

/** An address of the test network with a payment part alone (CIP-19, type 6). */
const enterpriseAddress = (payment: ArrayLike<number>): string =>
  bech32.encode("addr_test", bech32.toWords(Uint8Array.of(0x60, ...Array.from(payment))), 128)

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

  it.effect("has no refund sent to an address of ours, in whatever form, nor to a token or a token account", () =>
    Effect.gen(function*() {
      const { shop, service } = yield* Desk
      // Lists of which only the first addresses are watched yet.
      const lists = { evm: newAddresses("evm", 60), sui: newAddresses("sui", 60), cardano: newAddresses("cardano", 60) }
      for (const [family, list] of Object.entries(lists)) yield* setWallet(family, "pool", list.join(" "))
      yield* setWallet("solana", "address", base58.encode(ed25519.getPublicKey(randomBytes(32))))
      const { coins, invoice } = yield* offered()
      const addressOf = (network: string) =>
        Effect.map(
          requestAddress(shop, invoice, { network, token_id: coins.get(network).id }),
          (shown): string => assertStatus(200, shown).temp_address
        )
      const tokensOf = (network: string) =>
        Effect.map(
          asMerchant(`/api/v1/merchant/tokens/search?network=${network}&environment=devnet`),
          (found): ReadonlyArray<string> =>
            assertStatus(200, found).tokens.map((each: any) => each.token_address)
              .filter((address: string) => address !== "native")
        )
      const tell = (network: string, address: string) =>
        Effect.map(
          service.call("/api/v1/payments/refund-address", { headers: invoice.session, body: { network, address } }),
          ({ json, status }) => status === 200 ? "kept" : json.code
        )
      const [evm, solana, ton, sui, cardano] = yield* Effect.all(
        [addressOf("base"), addressOf("solana"), addressOf("ton"), addressOf("sui"), addressOf("cardano")]
      )
      const [usdc = ""] = yield* tokensOf("base")
      const [mint = ""] = yield* tokensOf("solana")
      const [jetton = ""] = yield* tokensOf("ton")
      const [coinType = ""] = yield* tokensOf("sui")
      const account = readTonAddress(ton)!
      const payment = bech32.fromWords(bech32.decode(cardano as `addr1${string}`, 128).words).slice(1, 29)
      const ours: ReadonlyArray<readonly [network: string, address: string]> = [
        ["base", evm.toLowerCase()],
        ["bsc", `0x${evm.slice(2).toUpperCase()}`],
        ["base", lists.evm[59]!],
        ["base", usdc.toLowerCase()],
        ["ethereum", usdc.toLowerCase()],
        ["solana", solana],
        ["solana", mint],
        ["solana", associatedTokenAccount(solana, mint, tokenProgram)],
        ["ton", tonRawAddressText(account)],
        ["ton", tonAddressText(account, { bounceable: true, testOnly: false })],
        ["ton", tonAddressText(account, { bounceable: false, testOnly: true })],
        ["ton", jetton],
        ["sui", `0x${sui.slice(2).toUpperCase()}`],
        ["sui", `0x${sui.slice(2).replace(/^0+/, "")}`.slice(0, -1)],
        ["sui", lists.sui[59]!],
        ["sui", coinType.split("::")[0]!],
        ["sui", coinType],
        ["cardano", cardano],
        ["cardano", cardanoTestAddress(Uint8Array.from(payment), randomBytes(28))],
        ["cardano", enterpriseAddress(payment)],
        ["cardano", lists.cardano[59]!]
      ]
      const answers = yield* Effect.forEach(ours, ([network, address]) => tell(network, address))
      assert.deepStrictEqual(
        ours.map((each, place) => [...each, answers[place]]),
        ours.map((each) => [
          ...each,
          "WALLET_ADDRESS_INVALID"
        ])
      )
      const others: ReadonlyArray<readonly [network: string, address: string]> = [
        ["base", newAddress.evm()],
        ["solana", base58.encode(ed25519.getPublicKey(randomBytes(32)))],
        ["ton", newAddress.ton()],
        ["sui", newAddress.sui()],
        ["cardano", newAddress.cardano()]
      ]
      assert.deepStrictEqual(
        yield* Effect.forEach(others, ([network, address]) => tell(network, address)),
        others.map(() => "kept")
      )
    }))
})
