/**
 * Goal: a cart is its customer's alone, keeps to its limits, and loses nothing when it is changed twice at once.
 * Method: the real router and commit log, one merchant a test.
 */
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import {
  assertRefused,
  catalogue,
  keyOf,
  newMerchantId,
  newShop,
  resetCatalogue,
  storefront,
  walletOf
} from "./Storefront.ts"
import { waitForLocks } from "../../support/Together.ts"

const item = { product_id: "B1", retailer: "amazon", title: "Item", price: 9.99 }

const wallet = "wallet_address=0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266&wallet_network=base"

layer(storefront)("carts", (it) => {
  it.effect("put aside, change and take out items", () =>
    Effect.gen(function*() {
      const shop = newShop()
      const none = yield* shop.ok("/carts?customer_id=a")
      assert.deepStrictEqual([none.items, none.subtotal_decimal, none.item_count, none.customer_id], [
        [],
        "0.000",
        0,
        "a"
      ])
      const begun = yield* shop.ok("/carts", { body: { customer_id: "a" } })
      assert.deepStrictEqual(begun.items, [])
      const first = yield* shop.ok("/carts/items", { body: { customer_id: "a", ...item } })
      assert.deepStrictEqual([first.quantity, first.updated], [1, false])
      const again = yield* shop.ok("/carts/items?customer_id=a", {
        body: { ...item, product_id: undefined, productId: "B1", title: "Better", price: "10", quantity: 2 }
      })
      assert.deepStrictEqual(again, { item_id: first.item_id, quantity: 3, updated: true })
      const second = yield* shop.ok("/carts", { body: { customer_id: "a", item: { ...item, retailer: "ebay" } } })
      assert.strictEqual(second.item_count, 2)
      assert.deepStrictEqual(
        second.items.map(({ quantity, retailer, title, unit_amount }: any) => [retailer, title, quantity, unit_amount]),
        [["amazon", "Better", 3, 10_000], ["ebay", "Item", 1, 9_990]]
      )
      assert.strictEqual(second.subtotal_decimal, "39.990")
      const one = yield* shop.ok(`/carts/items/${first.item_id}`, {
        method: "PUT",
        body: { customer_id: "a", quantity: 5 }
      })
      assert.deepStrictEqual([one.quantity, one.amount_decimal], [5, "50.000"])
      const removed = yield* shop.ok(`/carts/items/${first.item_id}`, {
        method: "PUT",
        body: { customer_id: "a", quantity: 0 }
      })
      assert.deepStrictEqual([removed.item_id, removed.quantity], [first.item_id, 0])
      assertRefused(
        yield* shop.call(`/carts/items/${first.item_id}?customer_id=a`, { method: "DELETE" }),
        404,
        "CART_ITEM_NOT_FOUND"
      )
      const [left] = (yield* shop.ok("/carts?customer_id=a")).items
      assert.deepStrictEqual(yield* shop.ok(`/carts/items/${left.item_id}?customer_id=a`, { method: "DELETE" }), {
        items_removed: 1
      })
      yield* shop.ok("/carts/items", { body: { customer_id: "a", ...item } })
      yield* shop.ok("/carts/items", { body: { customer_id: "a", ...item, product_id: "B2", quantity: 7 } })
      assert.deepStrictEqual(yield* shop.ok("/carts?customer_id=a", { method: "DELETE" }), { items_removed: 2 })
      assert.deepStrictEqual(yield* shop.ok("/carts?customer_id=a", { method: "DELETE" }), { items_removed: 0 })
    }))

  it.effect("belong to one customer of one merchant in one environment", () =>
    Effect.gen(function*() {
      const id = newMerchantId()
      const shop = keyOf(id)
      const made = yield* shop.ok("/carts/items", { body: { customer_id: "a", ...item } })
      yield* shop.ok(`/carts/items?${wallet}`, { body: item })
      for (
        const [caller, query] of [
          [newShop(), "customer_id=a"],
          [keyOf(id, "commerce", "mainnet"), "customer_id=a"],
          [shop, "customer_id=b"],
          [shop, wallet.replace("base", "bsc")]
        ] as const
      ) {
        assert.deepStrictEqual((yield* caller.ok(`/carts?${query}`)).items, [])
        assertRefused(
          yield* caller.call(`/carts/items/${made.item_id}?${query}`, { method: "DELETE" }),
          404,
          "CART_ITEM_NOT_FOUND"
        )
      }
      assert.strictEqual((yield* shop.ok("/carts?customer_id=a")).item_count, 1)
      // Checksummed or not, it is the same wallet.
      const cart = yield* shop.ok(`/carts?${wallet.toLowerCase()}`)
      assert.deepStrictEqual([cart.item_count, cart.customer_id, cart.wallet_network], [1, null, "base"])
    }))

  it.effect("are for keys of commerce scope, and for customers that are named", () =>
    Effect.gen(function*() {
      const id = newMerchantId()
      assertRefused(yield* keyOf(id, "merchant").call("/carts?customer_id=a"), 403, "SCOPE_MISMATCH")
      assertRefused(yield* walletOf(id).call("/carts?customer_id=a"), 403, "SCOPE_MISMATCH")
      const shop = keyOf(id)
      for (const query of ["", "?wallet_network=base", "?wallet_address=0x", "?customer_id=a&wallet_network=base"]) {
        assertRefused(yield* shop.call(`/carts${query}`), 400, "CUSTOMER_IDENTITY_REQUIRED")
      }
      assertRefused(yield* shop.call(`/carts?${wallet.replace("9Fd", "9fd")}`), 400, "WALLET_ADDRESS_INVALID")
      assertRefused(
        yield* shop.call("/carts?customer_id=a&wallet_network=mars&wallet_address=0x"),
        400,
        "VALIDATION_ERROR"
      )
    }))

  it.effect("hold at most 50 items and 99 pieces of each", () =>
    Effect.gen(function*() {
      const shop = newShop()
      for (const quantity of [0, -1, 1.5, 100, "1"]) {
        const error = assertRefused(
          yield* shop.call("/carts/items", { body: { customer_id: "a", ...item, quantity } }),
          400,
          "VALIDATION_ERROR"
        )
        assert.strictEqual(error.param, "quantity")
      }
      yield* shop.ok("/carts/items", { body: { customer_id: "a", ...item, quantity: 98 } })
      yield* shop.ok("/carts/items", { body: { customer_id: "a", ...item } })
      const many = assertRefused(
        yield* shop.call("/carts/items", { body: { customer_id: "a", ...item } }),
        409,
        "CART_LIMIT_REACHED"
      )
      assert.strictEqual(many.param, "quantity")
      yield* Effect.forEach(Array.from({ length: 49 }, (_, index) => index), (index) =>
        shop.ok("/carts/items", { body: { customer_id: "a", ...item, product_id: `P${index}` } }), { concurrency: 49 })
      assertRefused(
        yield* shop.call("/carts/items", { body: { customer_id: "a", ...item, product_id: "ONE" } }),
        409,
        "CART_LIMIT_REACHED"
      )
      const cart = yield* shop.ok("/carts?customer_id=a")
      assert.deepStrictEqual([cart.item_count, cart.items[0].quantity], [50, 99])
    }))

  it.effect("lose no item when many are put in at once, and act once for one idempotency key", () =>
    Effect.gen(function*() {
      const shop = newShop()
      const put = (product: string, key: string) =>
        shop.call("/carts/items", {
          body: { customer_id: "a", ...item, product_id: product },
          headers: { "idempotency-key": key }
        })
      const twice = randomUUID()
      const answers = yield* Effect.all([
        ...Array.from({ length: 20 }, (_, index) => put(`P${index % 10}`, randomUUID())),
        ...Array.from({ length: 10 }, () => put("TWICE", twice))
      ], { concurrency: "unbounded" })
      assert.deepStrictEqual([...new Set(answers.map(({ status }) => status))], [200])
      assert.lengthOf(new Set(answers.slice(20).map(({ text }) => text)), 1)
      const { items } = yield* shop.ok("/carts?customer_id=a")
      assert.deepStrictEqual(
        items.map(({ product_id, quantity }: any) => `${product_id} ${quantity}`).sort(),
        [...Array.from({ length: 10 }, (_, index) => `P${index} 2`), "TWICE 1"].sort()
      )
    }))

  it.effect("lose no item when another process was faster", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const shop = newShop()
      yield* shop.ok("/carts/items", { body: { customer_id: "race", ...item } })
      yield* waitForLocks(sql)
      // Another instance adds two pieces, and commits once this one has read the cart and waits to write it.
      const made = yield* sql.withTransaction(Effect.gen(function*() {
        yield* sql`UPDATE carts SET version = version + 1,
          items = json_build_array(jsonb_set(items::jsonb -> 0, '{quantity}', '3')) WHERE customer = 'customer:race'`
        const waiting = yield* Effect.forkChild(shop.ok("/carts/items", { body: { customer_id: "race", ...item } }))
        while (
          (yield* sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
            .length === 0
        ) {
          yield* Effect.yieldNow
        }
        return waiting
      })).pipe(Effect.flatMap(Fiber.join))
      assert.deepStrictEqual([made.quantity, made.updated], [4, true])
      assert.strictEqual((yield* shop.ok("/carts?customer_id=race")).items[0].quantity, 4)
    }))

  it.effect("are priced and checked by the retailer, whatever the shop said", () =>
    Effect.gen(function*() {
      resetCatalogue()
      const shop = newShop()
      assert.deepStrictEqual(yield* shop.ok("/carts/validate", { body: { customer_id: "a" } }), {
        valid_items: [],
        invalid_items: []
      })
      assert.strictEqual((yield* shop.ok("/carts/totals?customer_id=a")).total, 0)
      yield* shop.ok("/carts/items", { body: { customer_id: "a", ...item, quantity: 2 } })
      yield* shop.ok("/carts/items", { body: { customer_id: "a", ...item, product_id: "B2", price: 1 } })
      yield* shop.ok("/carts/items", { body: { customer_id: "a", ...item, product_id: "GONE" } })
      const { invalid_items, valid_items } = yield* shop.ok("/carts/validate?customer_id=a", { method: "POST" })
      assert.deepStrictEqual(invalid_items, [{
        product_id: "GONE",
        retailer: "amazon",
        code: "OUT_OF_STOCK",
        message: "Not today"
      }])
      assert.deepStrictEqual(
        valid_items.map(({ amount, price_changed, title }: any) => [title, amount, price_changed]),
        [
          ["The B1", 19_980, false],
          ["The B2", 20_000, true]
        ]
      )
      assert.deepStrictEqual(yield* shop.ok("/carts/totals?customer_id=a&zip_code=33101"), {
        currency: "usd",
        amount_unit: "usd_millis",
        subtotal: 39_980,
        subtotal_decimal: "39.980",
        shipping: 1_000,
        shipping_decimal: "1.000",
        tax: 0,
        tax_decimal: "0.000",
        fees: 3_000,
        fees_decimal: "3.000",
        total: 43_980,
        total_decimal: "43.980"
      })
      catalogue.isSilent = true
      for (
        const [path, call] of [["/carts/validate", { body: { customer_id: "a" } }], [
          "/carts/totals?customer_id=a",
          {}
        ]] as const
      ) {
        const answer = yield* shop.call(path, call)
        assertRefused(answer, 503, "SERVICE_UNAVAILABLE")
        assert.strictEqual(answer.headers.get("retry-after"), "5")
      }
      resetCatalogue()
    }))
})
