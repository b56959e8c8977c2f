/** What every retailer promises, whoever wrote it: a driver's test calls {@link retailerConformance}. */
import { NodeHttpClient } from "@effect/platform-node"
import { assert, type Vitest } from "@effect/vitest"
import { Context, Effect, Exit, Layer, type Scope } from "effect"
import type { HttpClient } from "effect/http"
import { randomUUID } from "node:crypto"
import {
  type OrderedItem,
  type PlacedOrder,
  type Placement,
  type PostalAddress,
  type RetailerDriver,
  type RetailerReport,
  Retailers,
  RetailerUnavailable,
  type WantedItem
} from "../../modules/retail/plugin.ts"
import { MerchantClock } from "../../runtime/MerchantClock.ts"
import type { ItemFault } from "../../schemas/Order.ts"
import { addressFields } from "../../schemas/Retail.ts"

/** A driver's registration as far as it may need the runtime. */
export type RetailerLayer = Layer.Layer<never, unknown, Retailers | MerchantClock | HttpClient.HttpClient>

/** Something to ask for, and where it should go. */
export interface ItemRequest {
  readonly item: WantedItem
  readonly zipCode: string | null
}

/** A driver ready to be tried: it ships by itself. */
export class RetailerSubject extends Context.Service<RetailerSubject, {
  readonly layer: RetailerLayer
  /** Sold, each with its price. */
  readonly sold: ReadonlyArray<readonly [WantedItem, bigint]>
  /** Refused, each for its reason. */
  readonly refused: Readonly<Record<ItemFault, ItemRequest>>
  /** Makes the next quote, and the next look at an address, fail: what to ask for. */
  readonly outage: Effect.Effect<{ readonly item: WantedItem; readonly zipCode: string }>
  /** Product ids of orders that are refused for good, placed after some tries, and never canceled. */
  readonly trials: Readonly<Record<"refused" | "busy" | "kept", WantedItem>>
  readonly goodZip: string
  readonly badZip: string
}>()("test/RetailerSubject") {}

type Subject = RetailerSubject["Service"]

/** The driver a layer registers, for as long as the scope lives. */
export const driverOf = (layer: RetailerLayer): Effect.Effect<RetailerDriver, unknown, Scope.Scope> =>
  Effect.gen(function*() {
    const registered: Array<RetailerDriver> = []
    const retailers = Layer.mock(Retailers, {
      driver: () => undefined,
      register: (driver) =>
        Effect.asVoid(Effect.acquireRelease(
          Effect.sync(() => registered.push(driver)),
          () => Effect.sync(() => registered.splice(registered.indexOf(driver), 1))
        ))
    })
    yield* Layer.build(Layer.provide(layer, [retailers, MerchantClock.system, NodeHttpClient.layerUndici]))
    const [driver, ...others] = registered
    assert.strictEqual(others.length, 0, "one plugin registers one retailer")
    return driver ?? (yield* Effect.die(new Error("the plugin registers no retailer")))
  })

const merchantId = 123

export const addressIn = (zipCode: string): PostalAddress => ({
  firstName: "Ada",
  lastName: "Lovelace",
  streetAddress: "1 Ocean Drive",
  addressLine2: null,
  city: " Miami ",
  state: "FL",
  zipCode,
  country: "US",
  phone: "+13055550100",
  email: "ada@shop.example"
})

const orderedOf = (items: ReadonlyArray<WantedItem>): ReadonlyArray<OrderedItem> =>
  items.map(({ productId, quantity, retailer }, index) => ({
    retailer: retailer as OrderedItem["retailer"],
    productId,
    quantity,
    title: productId,
    imageUrl: null,
    unitAmount: 1_000n as OrderedItem["unitAmount"],
    lineItemId: `li_${index + 1}`
  }))

/** A placement of `items`, never seen before. */
export const placementOf = (driver: RetailerDriver, zipCode: string, items: ReadonlyArray<WantedItem>): Placement => ({
  orderId: randomUUID(),
  merchantId,
  environment: driver.environments[0]!,
  customerId: "cust_1",
  items: orderedOf(items),
  address: addressIn(zipCode),
  shippingOptionId: "standard"
})

/** The order of a placement that was placed `secondsAgo`. */
export const placedOrderOf = (
  placement: Placement,
  reports: ReadonlyArray<RetailerReport>,
  secondsAgo: number
): PlacedOrder => ({
  orderId: placement.orderId,
  merchantId: placement.merchantId,
  environment: placement.environment,
  items: placement.items,
  placedAt: Math.floor(Date.now() / 1000) - secondsAgo,
  providerOrderId: reports.flatMap((report) => report._tag === "Placed" ? [report.providerOrderId] : [])[0] ?? null
})

/** Asserts that a call says that the retailer is not there, and says it as that. */
export const assertUnavailable = <A>(exit: Exit.Exit<A, RetailerUnavailable>, what = ""): string => {
  if (Exit.isSuccess(exit)) {
    return assert.fail(
      `${what}: ${JSON.stringify(exit.value, (_, value) => typeof value === "bigint" ? String(value) : value)}`
    )
  }
  const [reason] = exit.cause.reasons
  if (reason?._tag !== "Fail") return assert.fail(`${what}: ${String(exit.cause)}`)
  assert.instanceOf(reason.error, RetailerUnavailable, what)
  return reason.error.reason
}

/** Long after everything that ships by itself has arrived, a day. */
const longAgo = 86_400

/** Calls a driver may need until a busy retailer takes an order. */
const patience = 10

/** Runs the suite inside a `layer(…)` that provides the {@link RetailerSubject}. */
export const retailerConformance = (it: Vitest.MethodsNonLive<RetailerSubject>) => {
  const promise = (
    what: string,
    test: (subject: Subject, driver: RetailerDriver) => Effect.Effect<void, unknown, Scope.Scope>
  ) =>
    it.effect(what, () =>
      Effect.gen(function*() {
        const subject = yield* RetailerSubject
        yield* test(subject, yield* driverOf(subject.layer))
      }))

  const quoteOf = (driver: RetailerDriver, items: ReadonlyArray<WantedItem>, zipCode: string | null) =>
    driver.quote({ merchantId, environment: driver.environments[0]!, items, zipCode })

  promise(
    "prices what it sells, in integers, the cheapest way to ship first",
    (subject, driver) =>
      Effect.gen(function*() {
        const wanted = subject.sold.map(([item]) => item)
        const offer = yield* quoteOf(driver, wanted, null)
        assert.deepStrictEqual(offer.refused, [])
        assert.deepStrictEqual(
          offer.items.map(({ unitAmount }) => unitAmount),
          subject.sold.map(([, price]) => price as never)
        )
        assert.deepStrictEqual(
          offer.items.map(({ productId, quantity, retailer }) => ({ retailer, productId, quantity })) as ReadonlyArray<
            WantedItem
          >,
          wanted
        )
        const amounts = [
          ...offer.items.map(({ unitAmount }) => unitAmount),
          ...offer.shipping.map(({ amount }) => amount),
          offer.tax,
          offer.fees
        ]
        assert.isTrue(amounts.every((amount) => typeof amount === "bigint" && amount >= 0n))
        assert.isAbove(offer.shipping.length, 0)
        const prices = offer.shipping.map(({ amount }) => amount)
        assert.deepStrictEqual(prices, prices.toSorted((one, other) => Number(one - other)))
      })
  )

  promise(
    "names a reason for every item it does not sell, and sells the others all the same",
    (subject, driver) =>
      Effect.gen(function*() {
        const [good] = subject.sold[0]!
        for (const [fault, { item, zipCode }] of Object.entries(subject.refused)) {
          const offer = yield* quoteOf(driver, [item, ...zipCode === null ? [good] : []], zipCode)
          assert.deepStrictEqual(offer.refused.map((one) => [one.productId, one.retailer, one.fault]), [[
            item.productId,
            item.retailer,
            fault
          ]])
          assert.isNotEmpty(offer.refused[0]!.message)
          assert.strictEqual(offer.items.length, zipCode === null ? 1 : 0)
        }
      })
  )

  promise("quotes 50 items at once, each in one of the two lists", (subject, driver) =>
    Effect.gen(function*() {
      const kinds = [
        ...subject.sold.map(([item]) => item),
        subject.refused.OUT_OF_STOCK.item,
        subject.refused.UNSUPPORTED_RETAILER.item
      ]
      const wanted = Array.from({ length: 50 }, (_, index) => kinds[index % kinds.length]!)
      const offer = yield* quoteOf(driver, wanted, null)
      const key = ({ productId, retailer }: { readonly productId: string; readonly retailer: string }) =>
        `${retailer} ${productId}`
      assert.deepStrictEqual([...offer.items, ...offer.refused].map(key).sort(), wanted.map(key).sort())
    }))

  promise(
    "writes an address in its own form, and leaves that form as it is",
    (subject, driver) =>
      Effect.gen(function*() {
        const verdict = yield* driver.validateAddress(addressIn(subject.goodZip), driver.environments[0]!)
        if (verdict._tag !== "Valid") return assert.fail(JSON.stringify(verdict))
        assert.strictEqual(verdict.address.city, "Miami")
        assert.deepStrictEqual(yield* driver.validateAddress(verdict.address, driver.environments[0]!), verdict)
      })
  )

  promise("says by field name what is wrong with an address", (subject, driver) =>
    Effect.gen(function*() {
      const verdict = yield* driver.validateAddress(addressIn(subject.badZip), driver.environments[0]!)
      if (verdict._tag !== "Invalid") return assert.fail(JSON.stringify(verdict))
      assert.deepStrictEqual(Object.keys(verdict.fields), ["zip_code"])
      assert.isTrue(Object.keys(verdict.fields).every((field) => addressFields.includes(field)))
    }))

  promise("says that it is not there when it is not there", (subject, driver) =>
    Effect.gen(function*() {
      const { item, zipCode } = yield* subject.outage
      assertUnavailable(yield* Effect.exit(quoteOf(driver, [item], zipCode)))
      assertUnavailable(yield* Effect.exit(driver.validateAddress(addressIn(zipCode), driver.environments[0]!)))
    }))

  promise(
    "places an order once, however often and however many at a time it is asked",
    (subject, driver) =>
      Effect.gen(function*() {
        const placement = placementOf(driver, subject.goodZip, [subject.sold[0]![0]])
        const answers = yield* Effect.all(Array.from({ length: 5 }, () => driver.place(placement)), {
          concurrency: "unbounded"
        })
        const again = yield* driver.place(placement)
        for (const answer of answers) assert.deepStrictEqual(answer, again)
        assert.deepStrictEqual(again.map(({ _tag }) => _tag), ["Placed"])
        const other = yield* driver.place(placementOf(driver, subject.goodZip, [subject.sold[0]![0]]))
        assert.notDeepEqual(other, again)
      })
  )

  promise(
    "tells a placement that failed for good from one that may succeed later",
    (subject, driver) =>
      Effect.gen(function*() {
        const refused = yield* driver.place(
          placementOf(driver, subject.goodZip, [subject.sold[0]![0], subject.trials.refused])
        )
        assert.deepStrictEqual(refused.map(({ _tag }) => _tag), ["PlacementFailed"])

        const placement = placementOf(driver, subject.goodZip, [subject.trials.busy])
        assertUnavailable(yield* Effect.exit(driver.place(placement)))
        const placed = yield* Effect.retry(driver.place(placement), { times: patience })
        assert.deepStrictEqual(placed.map(({ _tag }) => _tag), ["Placed"])
      })
  )

  promise(
    "tells of the shipment, with line items of the order, until it is delivered; then again and again",
    (subject, driver) =>
      Effect.gen(function*() {
        const placement = placementOf(driver, subject.goodZip, subject.sold.map(([item]) => item))
        const order = placedOrderOf(placement, yield* driver.place(placement), longAgo)
        const looks = yield* Effect.forEach([1, 2, 3], () => driver.track(order))
        const last = looks.at(-1)!
        assert.deepStrictEqual(last, looks.at(-2))
        const shipped = last.filter((report) => report._tag === "Shipped")
        assert.sameMembers(
          shipped.flatMap(({ shipment }) => [...shipment.line_item_ids]),
          order.items.map(({ lineItemId }) => lineItemId)
        )
        assert.isTrue(last.some(({ _tag }) => _tag === "Delivered"))
      })
  )

  promise(
    "cancels what it has not shipped, as often as it is asked, and nothing else",
    (subject, driver) =>
      Effect.gen(function*() {
        const tagsOf = (reports: ReadonlyArray<RetailerReport>) => reports.map(({ _tag }) => _tag)
        const placement = placementOf(driver, subject.goodZip, [subject.sold[0]![0]])
        const order = placedOrderOf(placement, yield* driver.place(placement), 0)
        assert.deepStrictEqual(tagsOf(yield* driver.cancel(order)), ["CancellationAccepted"])
        assert.deepStrictEqual(tagsOf(yield* driver.cancel(order)), ["CancellationAccepted"])

        const kept = placementOf(driver, subject.goodZip, [subject.trials.kept])
        assert.deepStrictEqual(tagsOf(yield* driver.cancel(placedOrderOf(kept, yield* driver.place(kept), 0))), [
          "CancellationRejected"
        ])

        const gone = placementOf(driver, subject.goodZip, [subject.sold[0]![0]])
        const shipped = placedOrderOf(gone, yield* driver.place(gone), longAgo)
        yield* driver.track(shipped)
        assert.deepStrictEqual(tagsOf(yield* driver.cancel(shipped)), ["CancellationRejected"])
      })
  )
}
