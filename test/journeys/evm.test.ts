/**
 * Goal: money that moves on a real chain becomes the right invoice state, and all three channels tell the same story.
 * Method: the journeys of every network on an EVM node, and those that only this family has.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { HDKey } from "@scure/bip32"
import { randomBytes } from "node:crypto"
import { getAddress, parseEther } from "viem"
import { mnemonicToAccount } from "viem/accounts"
import { devnetXpub } from "../../modules/chains/simulated.ts"
import { type Anvil, anvil, usdc } from "../support/Anvil.ts"
import { dollars, healthJourney, type JourneyNetwork, paid, paymentJourneys } from "./PaymentJourneys.ts"
import { asPayor, assertEvents, assertStatus, chooseToken } from "./Shop.ts"
import { openInvoice, openTown, paymentsOf, type Town } from "./Town.ts"

/** A token that no catalogue has. */
const unlisted = getAddress("0x00000000000000000000000000000000000abcde")

/** The words of which `devnetXpub` is made, and the accounts of every test node. */
const devnetMnemonic = "test test test test test test test test test test test junk"

/** 7.01 USD at 3500 USD, rounded up at 18 decimals. */
const weiOf701 = (701n * 10n ** 18n + 349_999n) / 350_000n

class EvmTown extends Context.Service<EvmTown, Town & { readonly node: Anvil }>()("test/EvmTown") {
  static readonly layer = Layer.effect(
    EvmTown,
    Effect.gen(function*() {
      const node = yield* anvil("base")
      yield* node.token("mint", [node.accounts[0]!, 1_000_000_000_000n])
      yield* node.setCode(unlisted)
      yield* node.token("mint", [node.accounts[0]!, 1_000_000_000_000n], { at: unlisted })
      const town = yield* openTown({
        // From index 10 on: the first addresses of this key are the node's own accounts, which do the paying.
        chains: [{
          use: "evm",
          options: {
            network: "base",
            environment: "devnet",
            rpc: [node.url],
            xpub: devnetXpub,
            startIndex: firstIndex,
            pollMillis: 25
          }
        }]
      })
      return { ...town, node }
    })
  )
}

const firstIndex = 10

/** The address that the next invoice gets, by an independent derivation. */
const addressAfter = (shown: string): string => {
  const addressAt = (addressIndex: number) => mnemonicToAccount(devnetMnemonic, { addressIndex }).address
  for (let index = firstIndex; index < firstIndex + 100; index++) {
    if (addressAt(index) === shown) return addressAt(index + 1)
  }
  return assert.fail(`${shown} is none of the first 100 addresses`)
}

const sendUsdc = (to: string, amount: bigint) =>
  Effect.flatMap(EvmTown, ({ node }) => node.token("transfer", [to, amount]))

const base: JourneyNetwork<EvmTown> = {
  name: "base",
  town: EvmTown,
  symbol: "USDC",
  tokenAmount: (usdMillis) => `${dollars(usdMillis)}000`,
  pay: (shown, usdMillis) => sendUsdc(shown.temp_address, usdMillis * 1000n),
  assertShown: ({ payment_uri: link, temp_address: address }) =>
    Effect.map(EvmTown, ({ node }) => {
      assert.strictEqual(link, `ethereum:${usdc}@${node.chainId}/transfer?address=${address}&uint256=49990000`)
    }),
  payer: Effect.map(EvmTown, ({ node }) => getAddress(node.accounts[0]!)),
  hasOwnBlocks: false,
  native: {
    symbol: "ETH",
    usdMillis: 7_010,
    assertShown: ({ estimated_token_amount: amount, payment_uri: link, temp_address: to }) =>
      Effect.map(EvmTown, ({ node }) => {
        assert.strictEqual(parseEther(amount), weiOf701)
        assert.strictEqual(link, `ethereum:${to}@${node.chainId}?value=${weiOf701}`)
      }),
    pay: ({ temp_address: to }) => Effect.flatMap(EvmTown, ({ node }) => node.send({ to, value: weiOf701 }))
  },
  expiredForSeconds: 5,
  reachExpiry: Effect.void,
  payUnlisted: ({ temp_address: to }) =>
    Effect.flatMap(
      EvmTown,
      ({ node }) =>
        Effect.map(
          node.token("transfer", [to, 5_000_000n], { at: unlisted }),
          (txHash) => ({ txHash, token: unlisted })
        )
    ),
  payWithoutInvoice: {
    type: "unmatched_payment",
    // To an address that no invoice has yet.
    pay: ({ temp_address: shown }) => sendUsdc(addressAfter(shown), 5_000_000n)
  },
  removePayment: {
    isSingle: false,
    prepare: Effect.void,
    remove: (txHash) =>
      Effect.gen(function*() {
        const { node } = yield* EvmTown
        const raw = yield* node.rpc("eth_getRawTransactionByHash", txHash)
        yield* node.reorg(1)
        return node.rpc("eth_sendRawTransaction", raw)
      })
  }
}

layer(EvmTown.layer, { excludeTestServices: true })("on a real EVM network", (it) => {
  paymentJourneys(it, base)

  it.effect("a smart wallet's payment, which no transaction and no log shows, is found by its balance", () =>
    Effect.gen(function*() {
      const town = yield* EvmTown
      const { invoice, listener, shown } = yield* openInvoice(town, "base", "ETH", { amount_usd: 5 })
      yield* town.node.token("forward", [shown.temp_address], { value: parseEther(shown.estimated_token_amount) })
      const { events, last } = yield* assertEvents(town.shop, invoice, listener, paid)
      assert.include(last.data.object, { status: "paid", amount_paid: 5_000 })
      assert.include(events[2].data.object, { payer_tx_hash: null, payer_wallet_address: null })
      assert.lengthOf(yield* paymentsOf(town, invoice.id), 1)
    }))

  it.effect("a payor is told what a transfer costs at the node's gas price, and how long it takes", () =>
    Effect.gen(function*() {
      const { node, shop, ...town } = yield* EvmTown
      const { invoice } = yield* openInvoice({ ...town, shop }, "base", "USDC", { amount_usd: 5 })
      const tokens = yield* asPayor(shop, invoice, "available-tokens")
      const gasPrice = Number(yield* node.rpc("eth_gasPrice"))
      for (const [symbol, gas] of [["USDC", 65_000], ["ETH", 21_000]] as const) {
        const found = tokens.find((each: any) => each.token_symbol === symbol)
        const exact = gasPrice * 1e-18 * gas * 3_500
        // The node's price may have fallen by an eighth a block since it was read.
        assert.isAtLeast(found.network_fee_usd, exact * 0.99)
        assert.isBelow(found.network_fee_usd, 4 * exact)
        assert.strictEqual(found.expected_seconds, 3, "a block of 2 s, and a look each second")
      }
    }))

  it.effect("a merchant's own wallet is paid from the next invoice on, and an older invoice keeps its address", () =>
    Effect.gen(function*() {
      const town = yield* EvmTown
      const { service, shop } = town
      const older = yield* openInvoice(town, "base", "USDC", { amount_usd: 3 })
      const wallet = "/api/v1/merchant/wallets/evm"
      const account = HDKey.fromMasterSeed(randomBytes(32)).derive("m/44'/60'/0'")
      const set = yield* service.call(wallet, {
        method: "PUT",
        headers: { "x-api-key": shop.key },
        body: { kind: "xpub", value: account.publicExtendedKey }
      })
      const first = assertStatus(200, set).first_addresses[0]
      const { invoice, listener, shown } = yield* openInvoice(town, "base", "USDC", { amount_usd: 4 })
      assert.strictEqual(shown.temp_address, first)
      yield* sendUsdc(first, 4_000_000n)
      yield* assertEvents(shop, invoice, listener, paid)
      assert.strictEqual((yield* chooseToken(shop, older.invoice, "USDC")).temp_address, older.shown.temp_address)
      yield* sendUsdc(older.shown.temp_address, 3_000_000n)
      yield* assertEvents(shop, older.invoice, older.listener, paid)
      const listed = yield* service.call("/api/v1/merchant/wallets", { headers: { "x-api-key": shop.key } })
      assert.include(assertStatus(200, listed).wallets[0], { next_index: 1, highest_used_index: 0 })
      assertStatus(200, yield* service.call(wallet, { method: "DELETE", headers: { "x-api-key": shop.key } }))
    }))

  healthJourney(it, base)
})
