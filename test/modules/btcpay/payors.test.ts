/**
 * Goal: a payor of a shop that was built for BTCPay Server sees what the shop asked for: its price in its currency, the
 * currencies that it takes, the way back. Method: the real program on devnet with a rate of the euro in its config; the
 * shop and the browser speak plain HTTP.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { randomUUID } from "node:crypto"
import { storeIdOf } from "../../../schemas/Auth.ts"
import { migratedDatabase } from "../../support/Database.ts"
import {
  configOf,
  exchange,
  type Service,
  startService,
  temporaryDirectory,
  type TestRequest
} from "../../support/Service.ts"
import { assertStatus } from "../../journeys/Shop.ts"

/** One euro is 1.11 dollars. */
const rates = { use: "btcpay/fixed", options: { usdPer: { EUR: "1.11" } } }

class Shop extends Context.Service<Shop, {
  readonly service: Service
  readonly order: (fields: object) => Effect.Effect<any>
  readonly native: (path: string, sent?: TestRequest) => Effect.Effect<any>
}>()("test/ShopOfPayors") {
  static readonly layer = Layer.effect(
    Shop,
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const config = configOf({ database: database.url, chains: [{ use: "simulated" }] })
      const service = yield* startService({
        directory: yield* temporaryDirectory,
        config: { ...config, modules: [...config.modules, rates] }
      })
      const { merchant_id: merchantId, merchant_key: key } = yield* service.keys
      return Shop.of({
        service,
        order: (fields) =>
          Effect.map(
            exchange(service.url, `/btcpay/api/v1/stores/${storeIdOf(merchantId, "devnet")}/invoices`, {
              headers: { authorization: `token ${key}` },
              body: { amount: "22.50", currency: "EUR", metadata: { orderId: "1042" }, ...fields }
            }),
            (made) => assertStatus(200, made)
          ),
        native: (path, sent = {}) =>
          Effect.map(
            service.call(path, { ...sent, headers: { "x-api-key": key, "idempotency-key": randomUUID() } }),
            (answer) => assertStatus(200, answer)
          )
      })
    })
  )
}

const newOrder = (fields: object) => Effect.flatMap(Shop, ({ order }) => order(fields))

/** What the link of a shop opens, as a browser without JavaScript sees it. */
const open = Effect.fnUntraced(function*(order: any) {
  const { service } = yield* Shop
  const link = yield* exchange(service.url, order.checkoutLink.slice(service.url.length))
  const { pathname, searchParams } = new URL(link.headers["location"]!)
  const session = {
    "x-session-token": searchParams.get("session_token")!,
    "x-signature": searchParams.get("signature")!
  }
  const page = (query = "") =>
    Effect.map(
      exchange(service.url, `${pathname}?${searchParams}&c=1${query}`, { headers: { accept: "text/html" } }),
      (shown) => {
        assert.strictEqual(shown.status, 200, shown.text)
        return shown.text
      }
    )
  return { page, session }
})

const tokensOf = (session: Record<string, string>) =>
  Effect.flatMap(Shop, ({ service }) =>
    Effect.map(
      service.call("/api/v1/payments/available-tokens", { headers: session }),
      (found) => assertStatus(200, found) as ReadonlyArray<any>
    ))

const addressOf = (session: Record<string, string>, token: any) =>
  Effect.flatMap(Shop, ({ service }) =>
    service.call("/api/v1/payments/payment-addresses", {
      headers: session,
      body: { network: token.network, token_id: token.id }
    }))

const pay = (id: string, more: object = {}) =>
  Effect.flatMap(
    Shop,
    ({ native }) => native(`/api/v1/devnet/invoices/${id}/simulate`, { body: { action: "pay", ...more } })
  )

const only = { paymentMethods: ["USDC-BASE"] }

layer(Shop.layer, { excludeTestServices: true })("a payor of a shop", (it) => {
  it.effect("reads its price first, what came and what is left in it, and the whole of it once it is paid", () =>
    Effect.gen(function*() {
      const order = yield* newOrder({ checkout: only })
      const { page, session } = yield* open(order)
      const chosen = yield* page()
      assert.match(chosen, /<bdi>€22\.50<\/bdi>\s*<small><span[^>]*>In US dollars <\/span><bdi>\$24\.975<\/bdi>/)
      assert.include(chosen, "Order 1042")
      assert.notInclude(chosen, "22.5 EUR")
      const [token] = yield* tokensOf(session)
      assertStatus(200, yield* addressOf(session, token))
      yield* pay(order.id, { amount: 10_000 })
      assert.include(yield* page(), "€9.00 ($10.00)")
      yield* pay(order.id)
      const paid = yield* page()
      assert.include(paid, "Payment complete")
      assert.match(paid, /€22\.50 \(\$24\.975\)/)
      const receipt = /href="([^"]*\/receipt\?t=[^"]*)"/.exec(paid)![1]!
      const { service } = yield* Shop
      const shown = yield* exchange(service.url, receipt.replaceAll("&amp;", "&").slice(service.url.length))
      assert.include(shown.text, "€22.50 ($24.975)")
    }))

  it.effect("is offered the currencies that the shop names, on the page and by the API, and no other is given an address", () =>
    Effect.gen(function*() {
      const free = yield* open(yield* newOrder({}))
      const all = yield* tokensOf(free.session)
      const order = yield* newOrder({ checkout: only })
      const { page, session } = yield* open(order)
      const offered = yield* tokensOf(session)
      assert.deepStrictEqual(offered.map((each) => [each.token_symbol, each.network]), [["USDC", "base"]])
      assert.notInclude(yield* page("&change=1"), "data-tile data-find=\"eth")
      const other = all.find(({ id }) => id !== offered[0].id)
      const refused = assertStatus(400, yield* addressOf(session, other))
      assert.strictEqual(refused.code, "TOKEN_NOT_ACCEPTED")
      assert.match(refused.error ?? refused.message, /does not offer this token/)
    }))

  it.effect("who pays with another token that the merchant accepts has paid, and may finish with it", () =>
    Effect.gen(function*() {
      const free = yield* open(yield* newOrder({}))
      const other = (yield* tokensOf(free.session)).find((each) =>
        each.network === "base" && each.token_symbol !== "USDC"
      )
      const order = yield* newOrder({ checkout: only })
      const { session } = yield* open(order)
      yield* pay(order.id, { amount: 10_000, token_id: other.id, network: "base" })
      assert.deepStrictEqual((yield* tokensOf(session)).map(({ id }) => id), [other.id])
      assertStatus(200, yield* addressOf(session, other))
    }))

  it.effect("reads a sentence where nothing that the shop names can be used any more", () =>
    Effect.gen(function*() {
      const { native } = yield* Shop
      const order = yield* newOrder({ checkout: { paymentMethods: ["USDC-ARBITRUM"] } })
      const { page, session } = yield* open(order)
      const [token] = yield* tokensOf(session)
      yield* native("/api/v1/merchant/tokens/policy", { method: "PUT", body: { acceptance_policy: "selective" } })
      yield* native(`/api/v1/merchant/tokens/${token.id}/block`, { body: { blocked: true } })
      assert.include(yield* page(), "none of the currencies that this shop takes for your order can be used")
    }))

  it.effect("is led back by the page where the shop asked for it, and asked for no refund address", () =>
    Effect.gen(function*() {
      const checkout = { redirectURL: "https://shop.example/done?key=1", redirectAutomatically: true }
      const asked = yield* newOrder({ checkout })
      yield* pay(asked.id)
      assert.include(yield* (yield* open(asked)).page(), "data-return=\"20\"")
      const quiet = yield* newOrder({ checkout: { ...checkout, redirectAutomatically: false } })
      yield* pay(quiet.id, { amount: 40_000 })
      const { page } = yield* open(quiet)
      const overpaid = yield* page()
      assert.include(overpaid, "data-screen=\"overpaid\"")
      assert.notInclude(overpaid, "data-return")
      assert.notInclude(overpaid, "name=\"address\"")
    }))

  it.effect("begins nothing anew of which the shop would never hear", () =>
    Effect.gen(function*() {
      const { native } = yield* Shop
      yield* native("/api/v1/merchant/settings", { method: "PATCH", body: { branding: { allow_restart: true } } })
      const order = yield* newOrder({})
      yield* native("/api/v1/devnet/clock/advance", { body: { seconds: 86_400 } })
      const { page } = yield* open(order)
      const ended = yield* page()
      assert.include(ended, "data-screen=\"expired\"")
      assert.notInclude(ended, "value=\"restart\"")
    }))
})
