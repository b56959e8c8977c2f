/**
 * Goal: adding a network to an existing driver is one descriptor with its line in `schemas/networks/all.ts`, and one
 * entry of the config: CONTRIBUTING.md says so.
 * Method: the sources are copied and Polygon is added so. The copy runs as a process on a real EVM node that says it is
 * Polygon's test network, and its merchant, its payor and its operator use the network as any other. The types of the
 * copy are checked by `npm run test:network`, which takes longer.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { parseEther } from "viem"
import { devnetXpub } from "../../modules/chains/simulated.ts"
import { addPolygon, copyProgram, polygon } from "../support/AddedNetwork.ts"
import { type Anvil, anvil } from "../support/Anvil.ts"
import { emptyDatabase } from "../support/Database.ts"
import { makeReceiver } from "../support/Receiver.ts"
import { configOf, exchange, type Service, startService, temporaryDirectory, until } from "../support/Service.ts"
import { asPayor, assertStatus, chooseToken, newInvoice, openShop, readInvoice, type Shop } from "./Shop.ts"

class PolygonTown extends Context.Service<PolygonTown, {
  readonly node: Anvil
  readonly service: Service
  readonly shop: Shop
}>()("test/PolygonTown") {
  static readonly layer = Layer.effect(
    PolygonTown,
    Effect.gen(function*() {
      const node = yield* anvil("base", "devnet", undefined, polygon.devnetChainId)
      const copy = yield* temporaryDirectory
      const program = copyProgram(copy)
      addPolygon(copy)
      const receiver = yield* makeReceiver()
      const started = yield* startService({
        directory: yield* temporaryDirectory,
        program,
        config: configOf({
          database: (yield* emptyDatabase).url,
          receivers: [receiver.host],
          prices: { [polygon.coin.asset]: "0.5", "usd-coin": "1" },
          // The one entry that the operator adds.
          chains: [{
            use: "evm",
            options: {
              network: polygon.name,
              environment: "devnet",
              rpc: [node.url],
              xpub: devnetXpub,
              startIndex: 10,
              pollMillis: 25
            }
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

layer(PolygonTown.layer, { excludeTestServices: true })("a network that was added", (it) => {
  it.effect("is followed, and anybody can read its state", () =>
    Effect.gen(function*() {
      const { service } = yield* PolygonTown
      const states = yield* until(
        "the network is read",
        service.call("/api/v1/networks/status"),
        ({ json }) => json.data.data.every(({ head_height: height }: any) => height !== null)
      )
      const { data } = assertStatus(200, states)
      assert.deepInclude(data.data[0], { network: polygon.name, environment: "devnet", healthy: true, condition: "ok" })
    }))

  it.effect("is paid on in its coin, and the payor reads its name and finds the transaction in its explorer", () =>
    Effect.gen(function*() {
      const { node, service, shop } = yield* PolygonTown
      const invoice = yield* newInvoice(shop, { amount_usd: 5, accepted_networks: [polygon.name] })
      const { network, payment_uri, temp_address } = yield* chooseToken(
        shop,
        invoice,
        polygon.coin.symbol,
        polygon.name
      )
      assert.strictEqual(network, polygon.name)
      const units = parseEther("10")
      assert.strictEqual(payment_uri, `ethereum:${temp_address}@${polygon.devnetChainId}?value=${units}`)

      const link = new URL(invoice.created.payment_url)
      const opened = yield* service.call(`${link.pathname}${link.search}`)
      const cookie = opened.headers["set-cookie"]!.map((each) => each.split(";")[0]).join("; ")
      const page = yield* service.call(new URL(opened.headers.location!, link).pathname, { headers: { cookie } })
      assert.strictEqual(page.status, 200, page.text)
      assert.include(page.text, polygon.label)
      assert.include(page.text, `href="${payment_uri}"`)

      const txHash = yield* node.send({ to: temp_address, value: units })
      yield* until("the invoice is paid", readInvoice(shop, invoice.id), ({ status }) => status === "paid")
      const { payments: [payment] } = yield* asPayor(shop, invoice, "session-details")
      assert.deepInclude(payment, {
        network: polygon.name,
        status: "confirmed",
        payer_tx_hash: txHash,
        required_confirmations: 1,
        explorer_url: `${polygon.explorer}${txHash}`
      })
    }))

  it.effect("takes a merchant's wallet of its family, and a refund goes there", () =>
    Effect.gen(function*() {
      const { service, shop } = yield* PolygonTown
      const address = "0x52908400098527886E0F7030069857D2E4169EE7"
      const wallet = yield* service.call("/api/v1/merchant/wallets/evm", {
        method: "PUT",
        headers: { "x-api-key": shop.key, "idempotency-key": "wallet" },
        body: { kind: "pool", value: address }
      })
      assertStatus(200, wallet)
      const invoice = yield* newInvoice(shop, { amount_usd: 5 })
      const destination = yield* service.call("/api/v1/payments/refund-address", {
        headers: invoice.session,
        body: { network: polygon.name, address: "0x8ba1f109551bD432803012645Ac136ddd64DBA72" }
      })
      assertStatus(200, destination)
      assert.deepStrictEqual(service.errors(), [])
    }))
})
