/**
 * Goal: a network of a new family is the folder of its driver, one descriptor with its line in
 * `schemas/networks/all.ts`, and one entry of the config: CONTRIBUTING.md says so.
 * Method: the sources are copied and Bitcoin is added so, which is unlike any family of this project: unspent outputs,
 * no tokens, no memos. The copy runs as a process on a ledger of its own.
 */
import { assert, layer } from "@effect/vitest"
import { networks, payments } from "bitcoinjs-lib"
import { HDKey } from "@scure/bip32"
import { Context, Effect, Layer } from "effect"
import { addBitcoin, copyProgram } from "../support/AddedNetwork.ts"
import { type BitcoinNode, bitcoinNode } from "../support/BitcoinNode.ts"
import { emptyDatabase } from "../support/Database.ts"
import { makeReceiver } from "../support/Receiver.ts"
import { configOf, exchange, type Service, startService, temporaryDirectory, until } from "../support/Service.ts"
import { asPayor, assertStatus, chooseToken, newInvoice, openShop, readInvoice, type Shop } from "./Shop.ts"

/** Account 0 of the phrase "abandon ... about" on test networks (BIP-84's example with the version of SLIP-132). */
const vpub =
  "vpub5YvMuJNjRSYon44z9QmCfdf8SqJRVNvz6m55Qy5iVjZQxDfUgtiQjnc7CC1fAbED2tAGCZRERUfvtn2DstZGU6HMns6dXXH2wujSc2wfi2x"

/** Another account, m/84'/1'/0' of a seed of 64 nines, for a merchant with a wallet of his own. */
const merchantVpub =
  "vpub5YxvF7HGLVKsiZTh6in2o6r9UDt8XGE21uLApFL75gEHdG8NhC6qsztk2JbdxDHaJw3eaZnCvsCqtsxxw1s5yZ45kNcDH5qVQA8h9f4iPos"

class BitcoinTown extends Context.Service<BitcoinTown, {
  readonly node: BitcoinNode
  readonly service: Service
  readonly shop: Shop
}>()("test/BitcoinTown") {
  static readonly layer = Layer.effect(
    BitcoinTown,
    Effect.gen(function*() {
      const node = yield* bitcoinNode
      const copy = yield* temporaryDirectory
      const program = copyProgram(copy)
      addBitcoin(copy)
      const receiver = yield* makeReceiver()
      const started = yield* startService({
        directory: yield* temporaryDirectory,
        program,
        config: configOf({
          database: (yield* emptyDatabase).url,
          receivers: [receiver.host],
          prices: { bitcoin: "50000", "usd-coin": "1" },
          // The one entry that the operator adds.
          chains: [{
            use: "bitcoin",
            options: { network: "bitcoin", environment: "devnet", api: node.url, xpub: vpub, pollMillis: 25 }
          }]
        })
      })
      // The committed OpenAPI document does not have the network of this copy.
      const service: Service = { ...started, call: (path, sent) => exchange(started.url, path, sent) }
      const { merchant_key: key } = yield* service.keys
      return { node, service, shop: yield* openShop(service, receiver, key) }
    })
  )
}

/** The address that bitcoinjs-lib makes of an account's key. */
const addressOf = (account: string, index: number): string | undefined => {
  const key = HDKey.fromExtendedKey(account, { public: 0x045f_1cf6, private: 0x045f_18bc })
  const pubkey = key.deriveChild(0).deriveChild(index).publicKey!
  return payments.p2wpkh({ pubkey, network: networks.testnet }).address
}

layer(BitcoinTown.layer, { excludeTestServices: true })("a family that was added", (it) => {
  it.effect("is followed, and anybody can read its state", () =>
    Effect.gen(function*() {
      const { service } = yield* BitcoinTown
      const states = yield* until(
        "the network is read",
        service.call("/api/v1/networks/status"),
        ({ json }) => json.data.data.every(({ head_height: height }: any) => height !== null)
      )
      const { data } = assertStatus(200, states)
      assert.deepInclude(data.data[0], { network: "bitcoin", environment: "devnet", healthy: true, condition: "ok" })
    }))

  it.effect("is paid on, the payor reads its name and its link, and a rollback takes the payment back", () =>
    Effect.gen(function*() {
      const { node, service, shop } = yield* BitcoinTown
      const invoice = yield* newInvoice(shop, { amount_usd: 5, accepted_networks: ["bitcoin"] })
      const shown = yield* chooseToken(shop, invoice, "BTC", "bitcoin")
      const { network, payment_uri, temp_address: address } = shown
      assert.strictEqual(network, "bitcoin")
      assert.match(address, /^tb1q/)
      assert.strictEqual(addressOf(vpub, 0), address)
      assert.match(payment_uri, new RegExp(`^bitcoin:${address}\\?amount=0\\.0001(?:&|$)`))

      const link = new URL(invoice.created.payment_url)
      const opened = yield* service.call(`${link.pathname}${link.search}`)
      const cookie = opened.headers["set-cookie"]!.map((each) => each.split(";")[0]).join("; ")
      const page = yield* service.call(new URL(opened.headers.location!, link).pathname, { headers: { cookie } })
      assert.strictEqual(page.status, 200, page.text)
      assert.include(page.text, "Bitcoin")
      assert.include(page.text, `href="${payment_uri.replaceAll("&", "&amp;")}"`)

      const { txHash } = yield* node.pay([{ address, amount: 10_000n }])
      yield* until("the invoice is paid", readInvoice(shop, invoice.id), ({ status }) => status === "paid")
      const { payments: [payment] } = yield* asPayor(shop, invoice, "session-details")
      assert.deepInclude(payment, {
        network: "bitcoin",
        status: "confirmed",
        payer_tx_hash: txHash,
        explorer_url: `https://mempool.space/testnet4/tx/${txHash}`
      })

      yield* node.drop(1)
      const unpaid = yield* until(
        "the payment is taken back",
        readInvoice(shop, invoice.id),
        ({ status }) => status === "unpaid"
      )
      assert.strictEqual(unpaid.amount_paid, 0)
      yield* node.reinclude(1)
      const again = yield* until("it is paid again", readInvoice(shop, invoice.id), ({ status }) => status === "paid")
      assert.strictEqual(again.amount_paid, 5_000)
    }))

  it.effect("takes a merchant's wallet, shows its first addresses, and pays refunds to an address of its form only", () =>
    Effect.gen(function*() {
      const { node, service, shop } = yield* BitcoinTown
      const put = (value: string) =>
        service.call("/api/v1/merchant/wallets/bitcoin", {
          method: "PUT",
          headers: { "x-api-key": shop.key, "idempotency-key": value.slice(-20) },
          body: { kind: "xpub", value }
        })
      assertStatus(400, yield* put(`${merchantVpub.slice(0, -1)}t`))
      const wallet = assertStatus(200, yield* put(merchantVpub))
      assert.deepStrictEqual(wallet.first_addresses, [0, 1, 2].map((index) => addressOf(merchantVpub, index)))

      const invoice = yield* newInvoice(shop, { amount_usd: 5 })
      const { temp_address: address } = yield* chooseToken(shop, invoice, "BTC", "bitcoin")
      assert.strictEqual(address, wallet.first_addresses[0])
      yield* node.pay([{ address, amount: 10_000n }])
      yield* until("the invoice is paid", readInvoice(shop, invoice.id), ({ status }) => status === "paid")

      const other = yield* newInvoice(shop, { amount_usd: 5 })
      const refundTo = (text: string) =>
        service.call("/api/v1/payments/refund-address", {
          headers: other.session,
          body: { network: "bitcoin", address: text }
        })
      assertStatus(200, yield* refundTo("tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx"))
      assertStatus(400, yield* refundTo("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"))
      assert.deepStrictEqual(service.errors(), [])
    }))
})
