/**
 * Goal: a developer meets every turn an order can take, on demand, and the same one every time.
 * Method: the conformance suite, the reference's example to the digit, and each documented id and zip code.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { plugin, readCatalogue } from "../../../../modules/retail/drivers/simulated.ts"
import {
  catalogueOf,
  offer,
  priceStepMillis,
  priceSteps,
  trials
} from "../../../../modules/retail/drivers/simulated/Shop.ts"
import type { PlacedOrder, WantedItem } from "../../../../modules/retail/plugin.ts"
import { ItemFault, Retailer } from "../../../../schemas/Order.ts"
import {
  driverOf,
  placedOrderOf,
  placementOf,
  retailerConformance,
  type RetailerLayer,
  RetailerSubject
} from "../../../conformance/retailers.ts"

const layerOf = (options: (typeof plugin.options & {})["Type"]) => plugin.layer(options) as RetailerLayer

const want = (retailer: string, productId: string, quantity = 1): WantedItem => ({ retailer, productId, quantity })
const trial = (productId: string) => want("amazon", productId)

const subject = Layer.succeed(RetailerSubject, {
  layer: layerOf({ auto: true }),
  sold: [[want("amazon", "B08N5WRWNW"), 9_990n], [want("bestbuy", "6505727", 3), 329_990n]],
  refused: {
    NO_ELIGIBLE_OFFER: { item: want("amazon", "B000"), zipCode: null },
    UNSUPPORTED_RETAILER: { item: want("etsy", "1"), zipCode: null },
    OUT_OF_STOCK: { item: want("ebay", "304958271645"), zipCode: null },
    NOT_DELIVERABLE: { item: want("target", "A-79397321"), zipCode: "96701" },
    QUANTITY_LIMIT: { item: want("target", "A-88062926", 3), zipCode: null }
  },
  outage: Effect.succeed({ item: want("amazon", "B08N5WRWNW"), zipCode: "00000" }),
  trials: {
    refused: trial(trials.placeRefused),
    busy: trial(`${trials.placeUnavailable}2`),
    kept: trial(trials.cancelRefused)
  },
  goodZip: "33101",
  badZip: "00001"
})

layer(subject, { excludeTestServices: true })("the simulated retailer", (it) => retailerConformance(it))

const quoteOf = (zipCode: string | null, ...items: ReadonlyArray<WantedItem>) =>
  Effect.flatMap(
    driverOf(layerOf({})),
    (driver) => driver.quote({ merchantId: 1, environment: "devnet", items, zipCode })
  )

describe("the simulated catalogue", () => {
  it.live("sells the reference's example at the reference's prices", () =>
    Effect.gen(function*() {
      const found = yield* quoteOf("33101", want("amazon", "B08N5WRWNW"), want("amazon", "B000"))
      assert.deepStrictEqual(found.items.map(({ title, unitAmount }) => [title, unitAmount]), [[
        "Item",
        9_990n as never
      ]])
      assert.deepStrictEqual(found.refused.map(({ fault, productId }) => [productId, fault]), [[
        "B000",
        "NO_ELIGIBLE_OFFER"
      ]])
      assert.deepStrictEqual([found.shipping[0]!.id, found.shipping[0]!.estimatedDays], ["standard", "5-7"])
      assert.strictEqual(found.items[0]!.unitAmount + found.shipping[0]!.amount + found.tax + found.fees, 13_990n)
    }))

  it.live("holds some thirty products, each once, of all six retailers and with every kind of trouble", () =>
    Effect.gen(function*() {
      const products = yield* readCatalogue
      assert.isAtLeast(products.length, 30)
      assert.strictEqual(
        new Set(products.map(({ product_id, retailer }) => `${retailer} ${product_id}`)).size,
        products.length
      )
      assert.sameMembers([...new Set(products.map(({ retailer }) => retailer))], [...Retailer.literals])
      const troubles = [
        products.some(({ fault }) => fault === "OUT_OF_STOCK"),
        products.some(({ fault }) => fault === "NOT_DELIVERABLE"),
        products.some(({ limit }) => limit !== undefined),
        products.some(({ price_rises }) => price_rises !== undefined),
        products.some(({ undeliverable_zip_prefixes }) => undeliverable_zip_prefixes !== undefined)
      ]
      assert.isTrue(troubles.every((there) => there))
    }))

  it("lets a price rise with the merchant's time, and fall back", () => {
    const catalogue = catalogueOf([])
    const priceAt = (millis: number) => offer(catalogue, [trial(trials.priceRises)], null, millis).items[0]!.unitAmount
    assert.deepStrictEqual(
      [0, 1, priceSteps - 1, priceSteps].map((step) => priceAt(step * priceStepMillis)),
      [10_000n, 10_100n, 12_900n, 10_000n] as never
    )
    assert.strictEqual(priceAt(priceStepMillis - 1), priceAt(0))
  })

  it("sells whatever looks like a product of a known retailer, at one price for ever", () => {
    const catalogue = catalogueOf([])
    const ask = (item: WantedItem) => offer(catalogue, [item], null, 0)
    const price = ask(want("walmart", "my-first-try")).items[0]!.unitAmount
    assert.isTrue(price >= 5_000n && price <= 100_000n && price % 10n === 0n)
    assert.strictEqual(ask(want("walmart", "my-first-try")).items[0]!.unitAmount, price)
    for (const odd of ["", " ", "a b", "\u202e", "x".repeat(65), "../etc"]) {
      assert.strictEqual(ask(want("walmart", odd)).refused[0]!.fault, "NO_ELIGIBLE_OFFER", odd)
    }
  })

  it("counts all lines of a product against its limit, and asks for tax where there is one", () => {
    const catalogue = catalogueOf([])
    const twice = offer(catalogue, [trial(trials.quantityLimit), trial(trials.quantityLimit)], null, 0)
    assert.deepStrictEqual(twice.refused.map(({ fault }) => fault), ["QUANTITY_LIMIT", "QUANTITY_LIMIT"])
    assert.strictEqual(offer(catalogue, [want("other", "x", 3)], "10001", 0).tax, 2_400n)
    assert.strictEqual(offer(catalogue, [want("other", "x", 3)], "33101", 0).tax, 0n)
  })

  it("has a trial for every reason to refuse an item but an unknown retailer", () => {
    const catalogue = catalogueOf([])
    const faultOf = (id: string) => offer(catalogue, [want("ebay", id, 2)], null, 0).refused[0]?.fault
    const found = [trials.noOffer, trials.outOfStock, trials.notDeliverable, trials.quantityLimit].map(faultOf)
    assert.sameMembers([...found, "UNSUPPORTED_RETAILER"], [...ItemFault.literals])
  })
})

describe("orders at the simulated retailer", () => {
  it.live("wait for the simulator unless it works by itself, whatever is asked of them", () =>
    Effect.gen(function*() {
      const driver = yield* driverOf(layerOf({}))
      const placement = placementOf(driver, "33101", [want("amazon", "B08N5WRWNW")])
      const order: PlacedOrder = placedOrderOf(placement, [], 86_400)
      assert.deepStrictEqual(
        [yield* driver.place(placement), yield* driver.track(order), yield* driver.cancel(order)],
        [[], [], []]
      )
    }))

  it.live("ship and arrive by the merchant's time, are canceled by the retailer, or meet an exception", () =>
    Effect.gen(function*() {
      const driver = yield* driverOf(layerOf({ auto: true, shipAfterSeconds: 100, deliverAfterSeconds: 200 }))
      const seen = (id: string, secondsAgo: number) =>
        Effect.map(
          driver.track(placedOrderOf(placementOf(driver, "33101", [trial(id)]), [], secondsAgo)),
          (reports) =>
            reports.map((report) => report._tag === "Shipped" ? report.shipment.delivery_status : report._tag)
        )
      assert.deepStrictEqual(yield* seen("any", 50), [])
      assert.deepStrictEqual(yield* seen("any", 150), ["in_transit"])
      assert.deepStrictEqual(yield* seen("any", 250), ["delivered", "Delivered"])
      assert.deepStrictEqual(yield* seen(trials.canceledByRetailer, 150), ["CanceledByRetailer"])
      assert.deepStrictEqual(yield* seen(trials.deliveryException, 250), ["exception"])
    }))

  it.live("fail to be placed as often as their product id says", () =>
    Effect.gen(function*() {
      const driver = yield* driverOf(layerOf({ auto: true }))
      const placement = placementOf(driver, "33101", [trial(`${trials.placeUnavailable}3`)])
      const tries = yield* Effect.forEach([1, 2, 3, 4, 5], () => Effect.exit(driver.place(placement)))
      assert.deepStrictEqual(tries.map(({ _tag }) => _tag), ["Failure", "Failure", "Failure", "Success", "Success"])
    }))

  it("cannot be delivered before they are shipped", () => {
    const decode = Schema.decodeUnknownExit(plugin.options!)
    assert.strictEqual(decode({ auto: true, shipAfterSeconds: 20 })._tag, "Failure")
    assert.strictEqual(decode({ auto: true, shipAfterSeconds: 20, deliverAfterSeconds: 20 })._tag, "Success")
  })
})
