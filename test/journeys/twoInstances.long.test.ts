/**
 * Goal: two instances of the service on one database are one service: nothing is done twice, and nothing is told to
 * only half of those who listen.
 * Method: two processes started at the same moment on an empty PostgreSQL database, sharing its secrets; the webhook
 * receiver and the payor's sockets are real.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, type Scope } from "effect"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { SqlClient } from "effect/sql"
import { devnetXpub } from "../../modules/chains/simulated.ts"
import { type Anvil, anvil } from "../support/Anvil.ts"
import { connect, emptyDatabase } from "../support/Database.ts"
import { makeReceiver } from "../support/Receiver.ts"
import { configOf, type Service, startService, temporaryDirectory, until } from "../support/Service.ts"
import {
  asPayor,
  assertEvents,
  assertStatus,
  chooseToken,
  listen,
  newInvoice,
  openShop,
  readInvoice,
  requestAddress,
  type Shop,
  transferTypes
} from "./Shop.ts"

class Pair extends Context.Service<Pair, {
  readonly node: Anvil
  readonly services: readonly [Service, Service]
  /** One merchant, seen through each of them. */
  readonly shops: readonly [Shop, Shop]
  readonly sql: SqlClient.SqlClient
  /** One more instance. */
  readonly start: Effect.Effect<Service, never, Scope.Scope>
}>()("test/Pair") {
  static readonly layer = Layer.effect(
    Pair,
    Effect.gen(function*() {
      const node = yield* anvil("base")
      yield* node.token("mint", [node.accounts[0]!, 1_000_000_000_000n])
      const database = yield* emptyDatabase
      const receiver = yield* makeReceiver()
      const config = configOf({
        database: database.url,
        receivers: [receiver.host],
        // From index 10 on: the first addresses of this key are the node's own accounts, which do the paying.
        chains: [
          {
            use: "evm",
            options: {
              network: "base",
              environment: "devnet",
              rpc: [node.url],
              xpub: devnetXpub,
              startIndex: 10,
              pollMillis: 25
            }
          }
        ]
      })
      const start = Effect.flatMap(temporaryDirectory, (directory) => startService({ directory, config }))
      const services = yield* Effect.all([start, start], { concurrency: 2 })
      const sql = Context.get(yield* Layer.build(connect(database)), SqlClient.SqlClient)
      const owner = services.find(({ dataDirectory }) => existsSync(join(dataDirectory, "demo-keys.json")))!
      const { merchant_key: key } = yield* owner.keys
      for (const { guard } of services) guard(key)
      const shop = yield* openShop(services[0], receiver, key)
      return { node, services, shops: [shop, { ...shop, service: services[1] }], sql, start }
    })
  )
}

const paid = ["invoice.created", ...transferTypes("invoice.paid")]

layer(Pair.layer, { excludeTestServices: true })("two instances on one database", (it) => {
  it.effect("started at once on an empty database, they make one demo merchant and both serve it", () =>
    Effect.gen(function*() {
      const { services, shops, sql } = yield* Pair
      const printed = services.filter(({ output }) => output().includes("Demo Store is ready"))
      assert.lengthOf(printed, 1)
      assert.lengthOf(yield* Effect.orDie(sql`SELECT id FROM merchants`), 1)
      const lists = yield* Effect.forEach(
        shops,
        (shop) => shop.service.call("/api/v1/merchant/tokens", { headers: { "x-api-key": shop.key } })
      )
      assert.strictEqual(assertStatus(200, lists[0]!).tokens.length, assertStatus(200, lists[1]!).tokens.length)
      const ids = lists.map(({ json }) => json.tokens.map(({ id }: any) => id))
      assert.deepStrictEqual(ids[0], ids[1])
    }))

  it.effect("a part that was paid renews the quote of the payors on both, who never asked", () =>
    Effect.gen(function*() {
      const { node, services, shops } = yield* Pair
      const [a, b] = shops
      const invoice = yield* newInvoice(a, { amount_usd: 5 })
      const shown = yield* chooseToken(a, invoice, "USDC")
      const again = yield* requestAddress(b, invoice, { network: "base", token_id: shown.supported_token_id })
      const listeners = [yield* listen(shown, services[0].url), yield* listen(again.json, services[1].url)]
      yield* node.token("transfer", [shown.temp_address, 2_000_000n])
      for (const { frames } of listeners) {
        const quotes = Effect.sync(() => frames().filter(({ type }) => type === "payment_quote.updated"))
        const [greeting, renewed] = yield* until("the new quote", quotes, (seen) => seen.length >= 2)
        const { quote_expires_in_seconds: left } = greeting.data.object
        assert.deepStrictEqual(greeting.data, {
          object: { ...shown.quote, quote_expires_in_seconds: left },
          previous_attributes: {}
        })
        const { object, previous_attributes: previous } = renewed.data
        assert.deepStrictEqual(
          [
            object.amount_remaining,
            object.estimated_token_amount_remaining,
            object.quote_status,
            previous.amount_remaining
          ],
          [3_000, "3.000000", "available", 5_000]
        )
        const isLater = renewed.id.split(/[_-]/)[1]! >= greeting.id.split(/[_-]/)[1]!
        assert.isTrue(isLater, "numbered like every event")
        const stored = yield* a.service.call(`/api/v1/events/${renewed.id}`, { headers: { "x-api-key": a.key } })
        assert.strictEqual(assertStatus(404, stored).error.code, "EVENT_NOT_FOUND", "told, never stored")
      }
    }))

  it.effect("what happens on one is heard on the sockets of both, and delivered by webhook exactly once", () =>
    Effect.gen(function*() {
      const { node, services, shops } = yield* Pair
      const [a, b] = shops
      const invoice = yield* newInvoice(a, { amount_usd: 5 })
      const shown = yield* chooseToken(b, invoice, "USDC")
      const again = yield* requestAddress(a, invoice, { network: "base", token_id: shown.supported_token_id })
      assert.strictEqual(again.json.temp_address, shown.temp_address)
      const onB = yield* listen(shown, services[1].url)
      const onA = yield* listen(again.json, services[0].url)
      yield* node.token("transfer", [shown.temp_address, 5_000_000n])
      const { events } = yield* assertEvents(a, invoice, onB, paid)
      yield* assertEvents(b, invoice, onA, paid)

      // A second delivery would come from the other instance's next look at the queue: waits for one that comes after.
      const after = yield* newInvoice(b, { amount_usd: 1 })
      const arrived = Effect.sync(() => a.receiver.arrivals(a.hooks))
      yield* until("the next webhook", arrived, (all) => all.some(({ body }) => body.includes(after.id)))
      const ids = a.receiver.arrivals(a.hooks).map(({ headers }) => headers["webhook-id"])
      assert.strictEqual(new Set(ids).size, ids.length)
      for (const { id } of events) assert.lengthOf(ids.filter((each) => each === id), 1)
    }))

  it.effect("one idempotency key used on both at once makes one invoice, and both answer with it", () =>
    Effect.gen(function*() {
      const { shops, sql } = yield* Pair
      for (let round = 0; round < 5; round++) {
        const create = (shop: Shop) =>
          shop.service.call("/api/v1/invoices", {
            headers: { "x-api-key": shop.key, "idempotency-key": `race-${round}` },
            body: { amount: 2_000 + round, customer_id: `race-${round}` }
          })
        const answers = yield* Effect.all([...shops, ...shops].map(create), { concurrency: "unbounded" })
        for (const answer of answers) assertStatus(200, answer)
        assert.strictEqual(new Set(answers.map(({ text }) => text)).size, 1)
        assert.lengthOf(yield* Effect.orDie(sql`SELECT id FROM invoices WHERE customer_id = ${`race-${round}`}`), 1)
      }
    }))

  it.effect("a session and an address given by one are good on the other", () =>
    Effect.gen(function*() {
      const { shops } = yield* Pair
      const invoice = yield* newInvoice(shops[0], { amount_usd: 5 })
      assert.include(
        yield* asPayor(shops[1], invoice, "session-details"),
        { invoice_id: invoice.id, invoice_status: "unpaid" }
      )
      const canceled = yield* shops[1].service.call(`/api/v1/invoices/${invoice.id}/cancel`, {
        method: "POST",
        headers: { "x-api-key": shops[1].key }
      })
      assert.strictEqual(assertStatus(200, canceled).status, "canceled")
      assert.include(yield* readInvoice(shops[0], invoice.id), { status: "canceled" })
    }))

  it.effect("when the one that follows the chain is killed, another goes on: chain, webhooks and sockets", () =>
    Effect.gen(function*() {
      const { node, services, shops, start } = yield* Pair
      yield* services[0].stop()
      const pay = Effect.fnUntraced(function*(shop: Shop, meanwhile: Effect.Effect<unknown>) {
        const invoice = yield* newInvoice(shop, { amount_usd: 5 })
        const shown = yield* chooseToken(shop, invoice, "USDC")
        const listener = yield* listen(shown, shop.service.url)
        yield* meanwhile
        yield* node.token("transfer", [shown.temp_address, 5_000_000n])
        yield* until("the invoice is paid", readInvoice(shop, invoice.id), ({ status }) => status === "paid")
        yield* assertEvents(shop, invoice, listener, paid)
      })
      // After this the second instance holds the chain and everything else; the third one only waits.
      yield* pay(shops[1], Effect.void)
      const third = yield* start
      yield* pay({ ...shops[1], service: third }, services[1].stop("SIGKILL"))
      assert.deepStrictEqual(third.errors(), [])
    }))
})
