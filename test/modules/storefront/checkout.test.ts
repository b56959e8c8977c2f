/**
 * Goal: what a customer is shown is what the retailer asks, at every step, and nobody gets at another's estimate.
 * Method: the real router and commit log; a retailer that changes its mind when the test says so.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { prune } from "../../../modules/storefront/service/Pruning.ts"
import {
  assertRefused,
  catalogue,
  keyOf,
  newMerchantId,
  newShop,
  postalAddress,
  resetCatalogue,
  storefront,
  walletOf
} from "./Storefront.ts"

const b1 = { product_id: "B1", retailer: "amazon", title: "Item", quantity: 1, price: 9.99 }

const ask = (more: object) => ({ body: { customer_id: "a", ...more } })
const estimateOf = (...items: ReadonlyArray<object>) => ask({ items, zip_code: "33101" })
const addressFor = (estimate_id: string, more: object = {}) =>
  ask({ estimate_id, address: { ...postalAddress, ...more } })

const rowsOf = (table: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => Effect.map(sql<{ n: number }>`SELECT count(*)::integer AS n FROM ${sql(table)}`, ([row]) => row!.n)
  )

layer(storefront)("checkout", (it) => {
  it.effect("prices what a customer wants, and says which items cannot be bought", () =>
    Effect.gen(function*() {
      resetCatalogue()
      const merchant_id = newMerchantId()
      const { created_at, estimate_id, expires_at, ...estimate } = yield* keyOf(merchant_id).ok(
        "/checkout/estimate",
        estimateOf(
          b1,
          { ...b1, product_id: "B2", price: "19.5", quantity: 2 },
          { productId: "GONE", retailer: "amazon" },
          { ...b1, retailer: "bazaar" },
          { ...b1, product_id: "MANY", quantity: 100 },
          { ...b1, product_id: "NONE" }
        )
      )
      assert.match(estimate_id, /^[0-9a-f-]{36}$/)
      assert.deepStrictEqual(estimate, {
        merchant_id,
        environment: "devnet",
        customer_id: "a",
        wallet_address: null,
        wallet_network: null,
        valid_items: [
          {
            product_id: "B1",
            retailer: "amazon",
            title: "The B1",
            quantity: 1,
            unit_amount: 9_990,
            unit_amount_decimal: "9.990",
            amount: 9_990,
            amount_decimal: "9.990",
            price_changed: false,
            image_url: null
          },
          {
            product_id: "B2",
            retailer: "amazon",
            title: "The B2",
            quantity: 2,
            unit_amount: 20_000,
            unit_amount_decimal: "20.000",
            amount: 40_000,
            amount_decimal: "40.000",
            price_changed: true,
            image_url: null
          }
        ],
        invalid_items: [
          {
            product_id: "B1",
            retailer: "bazaar",
            code: "UNSUPPORTED_RETAILER",
            message: "Goods of this retailer cannot be ordered"
          },
          {
            product_id: "MANY",
            retailer: "amazon",
            code: "QUANTITY_LIMIT",
            message: "At most 99 pieces of one item can be ordered"
          },
          { product_id: "GONE", retailer: "amazon", code: "OUT_OF_STOCK", message: "Not today" },
          { product_id: "NONE", retailer: "amazon", code: "NO_ELIGIBLE_OFFER", message: "Nobody sells this item now" }
        ],
        pricing: {
          currency: "usd",
          amount_unit: "usd_millis",
          subtotal: 49_990,
          subtotal_decimal: "49.990",
          shipping: 1_000,
          shipping_decimal: "1.000",
          tax: 0,
          tax_decimal: "0.000",
          fees: 3_000,
          fees_decimal: "3.000",
          total: 53_990,
          total_decimal: "53.990"
        }
      })
      assert.strictEqual(expires_at - created_at, 900)
    }))

  it.effect("prices a cart, with other quantities where the customer says so, and leaves it alone", () =>
    Effect.gen(function*() {
      resetCatalogue()
      const shop = newShop()
      const error = assertRefused(
        yield* shop.call("/checkout/estimate", ask({ use_cart: true })),
        400,
        "NO_VALID_ITEMS"
      )
      assert.deepStrictEqual(error.details, { invalid_items: [] })
      yield* shop.ok("/carts/items", ask({ ...b1, price: 8 }))
      yield* shop.ok("/carts/items", ask({ ...b1, product_id: "B2", price: 20 }))
      const before = yield* shop.ok("/carts?customer_id=a")
      const whole = yield* shop.ok("/checkout/estimate", ask({ useCart: true }))
      assert.deepStrictEqual(whole.valid_items.map(({ price_changed, quantity }: any) => [quantity, price_changed]), [[
        1,
        true
      ], [1, false]])
      const part = yield* shop.ok(
        "/checkout/estimate",
        ask({
          useCart: true,
          itemOverrides: [{ productId: "B1", quantity: 0 }, { product_id: "B2", retailer: "amazon", quantity: 3 }]
        })
      )
      assert.deepStrictEqual(part.valid_items.map(({ product_id, quantity }: any) => [product_id, quantity]), [[
        "B2",
        3
      ]])
      assert.deepStrictEqual(yield* shop.ok("/carts?customer_id=a"), before)
      for (
        const [more, param] of [
          [{ use_cart: true, item_overrides: [{ product_id: "B9", quantity: 1 }] }, "item_overrides"],
          [{ items: [b1], item_overrides: [] }, "item_overrides"],
          [{ items: [b1], use_cart: true }, "items"],
          [{}, "items"],
          [{ use_cart: false }, "items"]
        ] as const
      ) {
        assert.strictEqual(
          assertRefused(yield* shop.call("/checkout/estimate", ask(more)), 400, "VALIDATION_ERROR").param,
          param
        )
      }
    }))

  it.effect("refuses what cannot become an order, and writes nothing then", () =>
    Effect.gen(function*() {
      resetCatalogue()
      const shop = newShop()
      const before = yield* rowsOf("checkout_estimates")
      const none = assertRefused(
        yield* shop.call("/checkout/estimate", estimateOf({ ...b1, product_id: "GONE" })),
        400,
        "NO_VALID_ITEMS"
      )
      assert.deepStrictEqual(none.details, {
        invalid_items: [{ product_id: "GONE", retailer: "amazon", code: "OUT_OF_STOCK", message: "Not today" }]
      })
      assertRefused(yield* shop.call("/checkout/estimate", estimateOf()), 400, "NO_VALID_ITEMS")
      assertRefused(
        yield* shop.call("/checkout/estimate", estimateOf({ ...b1, product_id: "B3", quantity: 2 })),
        400,
        "ORDER_VALUE_EXCEEDED"
      )
      catalogue.products.set("B1", 2_496_000n)
      assert.strictEqual((yield* shop.ok("/checkout/estimate", estimateOf(b1))).pricing.total, 2_500_000)
      catalogue.products.set("B1", 2_496_001n)
      assertRefused(yield* shop.call("/checkout/estimate", estimateOf(b1)), 400, "ORDER_VALUE_EXCEEDED")
      resetCatalogue()
      for (
        const item of [
          { ...b1, quantity: 0 },
          { ...b1, quantity: 1.5 },
          { ...b1, price: -1 },
          { ...b1, price: 1.0001 },
          { ...b1, price: "1e400" },
          { ...b1, product_id: "" },
          { ...b1, product_id: "x".repeat(129) },
          { ...b1, retailer: 1 },
          { ...b1, title: "a\nb" },
          null
        ]
      ) {
        assert.match(
          assertRefused(yield* shop.call("/checkout/estimate", estimateOf(item as never)), 400, "VALIDATION_ERROR")
            .param,
          /^items\.0/
        )
      }
      assertRefused(
        yield* shop.call("/checkout/estimate", estimateOf(...Array.from({ length: 51 }, () => b1))),
        400,
        "VALIDATION_ERROR"
      )
      assertRefused(
        yield* shop.call("/checkout/estimate", { body: { items: [b1] } }),
        400,
        "CUSTOMER_IDENTITY_REQUIRED"
      )
      catalogue.isSilent = true
      const down = yield* shop.call("/checkout/estimate", estimateOf(b1))
      assertRefused(down, 503, "SERVICE_UNAVAILABLE")
      assert.strictEqual(down.headers.get("retry-after"), "5")
      resetCatalogue()
      assert.strictEqual(yield* rowsOf("checkout_estimates"), before + 1)
      // No retailer serves mainnet here.
      const elsewhere = assertRefused(
        yield* keyOf(newMerchantId(), "commerce", "mainnet").call("/checkout/estimate", estimateOf(b1)),
        400,
        "NO_VALID_ITEMS"
      )
      assert.strictEqual(elsewhere.details.invalid_items[0].code, "UNSUPPORTED_RETAILER")
      const id = newMerchantId()
      assertRefused(yield* keyOf(id, "merchant").call("/checkout/estimate", estimateOf(b1)), 403, "SCOPE_MISMATCH")
      assertRefused(yield* walletOf(id).call("/checkout/estimate", estimateOf(b1)), 403, "SCOPE_MISMATCH")
    }))

  it.effect("checks where it goes, and reports every price that changed since", () =>
    Effect.gen(function*() {
      resetCatalogue()
      const shop = newShop()
      const made = yield* shop.ok(
        "/checkout/estimate",
        estimateOf(b1, { ...b1, product_id: "B2", price: 20 }, { ...b1, product_id: "NONE" })
      )
      const same = yield* shop.ok("/checkout/address", addressFor(made.estimate_id))
      assert.deepStrictEqual([same.validated, same.standardized], [true, {
        ...postalAddress,
        address_line2: null,
        city: "MIAMI",
        country: "US"
      }])
      assert.deepStrictEqual(same.shipping_options, [
        { id: "standard", name: "standard", amount: 1_000, amount_decimal: "1.000", estimated_days: "5-7" },
        { id: "express", name: "express", amount: 5_000, amount_decimal: "5.000", estimated_days: "5-7" }
      ])
      assert.deepStrictEqual(same.estimate, made)
      catalogue.products.set("B1", 12_000n)
      catalogue.products.set("B2", "OUT_OF_STOCK")
      catalogue.tax = 500n
      const { estimate } = yield* shop.ok(
        "/checkout/address",
        addressFor(made.estimate_id, { address_line2: "Flat 3" })
      )
      assert.deepStrictEqual(
        estimate.valid_items.map(({ price_changed, product_id }: any) => [product_id, price_changed]),
        [["B1", true]]
      )
      assert.deepStrictEqual(estimate.invalid_items.map(({ code, product_id }: any) => [product_id, code]), [[
        "NONE",
        "NO_ELIGIBLE_OFFER"
      ], ["B2", "OUT_OF_STOCK"]])
      assert.deepStrictEqual([estimate.pricing.total, estimate.expires_at], [16_500, made.expires_at])
      catalogue.products.set("B1", "NOT_DELIVERABLE")
      const nothing = assertRefused(
        yield* shop.call("/checkout/address", addressFor(made.estimate_id)),
        400,
        "NO_VALID_ITEMS"
      )
      assert.lengthOf(nothing.details.invalid_items, 3)
      resetCatalogue()
      catalogue.products.set("B1", 2_500_000n)
      assertRefused(yield* shop.call("/checkout/address", addressFor(made.estimate_id)), 400, "ORDER_VALUE_EXCEEDED")
      resetCatalogue()
    }))

  it.effect("says of every field of an address what is wrong with it", () =>
    Effect.gen(function*() {
      resetCatalogue()
      const shop = newShop()
      const { estimate_id } = yield* shop.ok("/checkout/estimate", estimateOf(b1))
      const before = yield* rowsOf("checkout_addresses")
      const wrong = (more: object) =>
        Effect.map(shop.call("/checkout/address", addressFor(estimate_id, more)), (answer) =>
          assertRefused(answer, 400, "ADDRESS_INVALID").details)
      const all = yield* wrong(Object.fromEntries(Object.keys(postalAddress).map((name) => [name, undefined])))
      assert.deepStrictEqual(all, {
        fields: Object.fromEntries(Object.keys(postalAddress).map((name) => [name, "Is missing"]))
      })
      for (
        const [name, value] of [
          ["first_name", " "],
          ["last_name", 1],
          ["street_address", "x".repeat(201)],
          ["address_line2", "a\u202eb"],
          ["city", ["a"]],
          ["state", "\n"],
          ["zip_code", "'; DROP"],
          ["zip_code", "00000"],
          ["country", "USA"],
          ["phone", "call me"],
          ["phone", "1234"],
          ["email", "ada@"]
        ] as const
      ) {
        assert.deepStrictEqual(Object.keys((yield* wrong({ [name]: value })).fields), [name])
      }
      for (const address of [null, "12 Analytical Way", []]) {
        assert.strictEqual(
          assertRefused(yield* shop.call("/checkout/address", ask({ estimate_id, address })), 400, "VALIDATION_ERROR")
            .param,
          "address"
        )
      }
      catalogue.isSilent = true
      assertRefused(yield* shop.call("/checkout/address", addressFor(estimate_id)), 503, "SERVICE_UNAVAILABLE")
      resetCatalogue()
      assert.strictEqual(yield* rowsOf("checkout_addresses"), before)
    }))

  it.effect("knows an estimate of its customer, merchant and environment only, and only for 900 seconds", () =>
    Effect.gen(function*() {
      resetCatalogue()
      const id = newMerchantId()
      const shop = keyOf(id)
      const { estimate_id } = yield* shop.ok("/checkout/estimate", estimateOf(b1))
      const of = { estimate_id, address: postalAddress }
      const wallet = { wallet_address: "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266", wallet_network: "base" }
      for (
        const [caller, body] of [
          [newShop(), { customer_id: "a", ...of }],
          [keyOf(id, "commerce", "mainnet"), { customer_id: "a", ...of }],
          [shop, { customer_id: "b", ...of }],
          [shop, { ...wallet, ...of }],
          [shop, { customer_id: "a", ...of, estimate_id: "no-estimate" }]
        ] as const
      ) {
        assertRefused(yield* caller.call("/checkout/address", { body }), 404, "ESTIMATE_NOT_FOUND")
      }
      const byWallet = yield* shop.ok("/checkout/estimate", { body: { ...wallet, items: [b1] } })
      assert.deepStrictEqual([byWallet.customer_id, byWallet.wallet_network], [null, "base"])
      yield* shop.ok("/checkout/address", {
        body: {
          walletAddress: wallet.wallet_address,
          walletNetwork: "base",
          estimateId: byWallet.estimate_id,
          address: postalAddress
        }
      })
      yield* TestClock.adjust("899 seconds")
      yield* shop.ok("/checkout/address", addressFor(estimate_id))
      yield* TestClock.adjust("1 second")
      assertRefused(yield* shop.call("/checkout/address", addressFor(estimate_id)), 410, "ESTIMATE_EXPIRED")
    }))

  it.effect("forgets estimates and addresses after a day, and carts ninety days after their last change", () =>
    Effect.gen(function*() {
      resetCatalogue()
      const sql = yield* SqlClient.SqlClient
      const id = newMerchantId()
      const shop = keyOf(id)
      const { estimate_id } = yield* shop.ok("/checkout/estimate", estimateOf(b1))
      yield* shop.ok("/checkout/address", addressFor(estimate_id))
      yield* shop.ok("/carts/items", ask(b1))
      /** What is left of them once they are so many seconds older. */
      const leftAfter = Effect.fnUntraced(function*(seconds: number) {
        const tables = [["checkout_estimates", "created_at"], ["checkout_addresses", "created_at"], [
          "carts",
          "updated_at"
        ]] as const
        for (const [table, column] of tables) {
          yield* sql`UPDATE ${sql(table)} SET ${sql(column)} = ${
            sql(column)
          } - ${seconds}::bigint WHERE merchant_id = ${id}`
        }
        yield* prune
        return yield* Effect.forEach(
          tables,
          ([table]) => Effect.map(sql`SELECT 1 FROM ${sql(table)} WHERE merchant_id = ${id}`, (rows) => rows.length)
        )
      })
      assert.deepStrictEqual(yield* leftAfter(86_400), [1, 1, 1])
      assert.deepStrictEqual(yield* leftAfter(1), [0, 0, 1])
      assertRefused(yield* shop.call("/checkout/address", addressFor(estimate_id)), 404, "ESTIMATE_NOT_FOUND")
      yield* shop.ok("/carts/items", ask(b1))
      assert.deepStrictEqual(yield* leftAfter(90 * 86_400), [0, 0, 1])
      assert.deepStrictEqual(yield* leftAfter(1), [0, 0, 0])
      assert.deepStrictEqual((yield* shop.ok("/carts?customer_id=a")).items, [])
    }))
})
