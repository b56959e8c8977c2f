/**
 * Goal: the rules of a shop hold for every cart, every answer of a retailer and every change of its mind.
 * Method: properties over random facts; sums are made anew here, from the lines that are shown.
 */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  customerKey,
  emptyQuotation,
  estimateFault,
  isStillOffered,
  itemKey,
  itemsObject,
  pricesOf,
  pricingObject,
  pricingOf,
  quotationOf,
  readCustomer,
  readPostalAddress,
  screenItems,
  shippingOption,
  valueFault
} from "../../../modules/storefront/rules.ts"
import {
  addItem,
  applyOverrides,
  type CartItem,
  type CartState,
  emptyCart,
  setQuantity
} from "../../../modules/storefront/rules/Carts.ts"
import { withoutAliases } from "../../../schemas/Alias.ts"
import { readPrice, usdMillis } from "../../../schemas/Money.ts"
import { ItemFault } from "../../../schemas/Order.ts"
import type { Offer } from "../../../modules/retail/plugin.ts"
import { postalAddress } from "./Storefront.ts"

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
const upTo = <S extends Schema.Top>(maximum: number, schema: S) =>
  Schema.Array(schema).check(Schema.isMaxLength(maximum))

const productId = Schema.Literals(["B1", "B2", "B3", "B4"])
const someRetailer = Schema.Literals(["amazon", "walmart", "bazaar"])
const ourRetailer = Schema.Literals(["amazon", "walmart"])
const millis = between(0, 3_000_000)

const Wanted = upTo(8, Schema.Struct({ productId, retailer: someRetailer, quantity: between(1, 120) }))

/** Whatever a retailer may answer, sense or nonsense. */
const Answered = Schema.Struct({
  items: upTo(8, Schema.Struct({ productId, retailer: ourRetailer, quantity: between(1, 99), price: millis })),
  refused: upTo(3, Schema.Struct({ productId, retailer: someRetailer, fault: ItemFault })),
  ways: between(0, 2),
  shipping: millis,
  tax: millis,
  fees: millis
})

const offerOf = ({ fees, items, refused, shipping, tax, ways }: typeof Answered.Type): Offer => ({
  items: items.map(({ price, ...item }) => ({
    ...item,
    title: "T",
    imageUrl: null,
    unitAmount: usdMillis(BigInt(price))
  })),
  refused: refused.map((item) => ({ ...item, message: "No" })),
  shipping: ["standard", "express"].slice(0, ways).map((id) => ({
    id,
    name: id,
    amount: usdMillis(BigInt(shipping)),
    estimatedDays: "1"
  })),
  tax: usdMillis(BigInt(tax)),
  fees: usdMillis(BigInt(fees))
})

describe("an offer", () => {
  it.prop("sells or refuses each wanted item once, in its wanted quantity, and sums up to its parts", [
    Wanted,
    Answered
  ], ([asked, answer]) => {
    const wish = screenItems(asked)
    const quotation = quotationOf(wish, offerOf(answer))
    const names = [...quotation.items, ...quotation.refused].map(itemKey)
    assert.deepStrictEqual(names.toSorted(), [...new Set(asked.map(itemKey))].toSorted())
    for (const item of quotation.items) {
      const pieces = asked.filter((each) => itemKey(each) === itemKey(item)).reduce(
        (sum, { quantity }) => sum + quantity,
        0
      )
      assert.strictEqual(item.quantity, pieces)
      assert.isAtMost(pieces, 99)
      assert.isTrue(item.unitAmount > 0n)
    }
    if (quotation.items.length > 0) assert.isDefined(shippingOption(quotation, null))
    const pricing = pricingObject(pricingOf(quotation, quotation.shipping[0]))
    const lines = itemsObject(quotation, new Map()).valid_items
    assert.strictEqual(
      pricing.subtotal,
      lines.reduce((sum, { quantity, unit_amount }) => sum + quantity * unit_amount, 0)
    )
    assert.strictEqual(pricing.total, pricing.subtotal + pricing.shipping + pricing.tax + pricing.fees)
    assert.strictEqual(pricing.total_decimal, (pricing.total / 1000).toFixed(3))
    const fault = valueFault(quotation, pricingOf(quotation, quotation.shipping[0]))
    assert.strictEqual(fault === null, lines.length > 0 && pricing.total >= 10 && pricing.total <= 2_500_000)
  })

  it.prop(
    "is ordered only while the retailer sells all of it for no more than was shown",
    [Wanted, Answered, Answered],
    ([asked, first, second]) => {
      const shown = quotationOf(screenItems(asked), offerOf(first))
      const [option] = shown.shipping
      if (option === undefined) return
      assert.isTrue(isStillOffered(shown, quotationOf(screenItems(shown.items), offerOf(first)), option))
      const now = quotationOf(screenItems(shown.items), offerOf(second))
      if (!isStillOffered(shown, now, option)) return
      assert.deepStrictEqual(now.items.map(itemKey), shown.items.map(itemKey))
      assert.isTrue(pricingOf(now, shippingOption(now, option.id)).total <= pricingOf(shown, option).total)
      assert.isDefined(shippingOption(now, option.id))
    }
  )

  it("holds at a lower price, and ends at a higher one", () => {
    const [cheap, dear] = [1_000n, 1_001n].map((price) =>
      quotationOf(screenItems([{ productId: "B1", retailer: "amazon", quantity: 1 }]), {
        ...emptyQuotation,
        items: [{
          productId: "B1",
          retailer: "amazon",
          quantity: 1,
          title: "T",
          imageUrl: null,
          unitAmount: usdMillis(price)
        }],
        shipping: [{ id: "standard", name: "S", amount: usdMillis(1n), estimatedDays: "1" }]
      })
    )
    assert.isTrue(isStillOffered(dear!, cheap!, dear!.shipping[0]!))
    assert.isFalse(isStillOffered(cheap!, dear!, cheap!.shipping[0]!))
    assert.isTrue(itemsObject(dear!, pricesOf(cheap!.items)).valid_items[0]!.price_changed)
  })
})

const empty: CartState = {
  merchantId: 1,
  environment: "devnet",
  version: 0,
  customer: { id: "a", wallet: null },
  items: [],
  createdAt: 0,
  updatedAt: 0
}

const newItem = (id: string, productId: string, quantity: number): CartItem => ({
  id,
  productId,
  retailer: "amazon",
  title: "T",
  unitAmount: usdMillis(10n),
  quantity,
  imageUrl: null,
  productUrl: null
})

const Changes = upTo(
  150,
  Schema.Struct({
    what: Schema.Literals(["add", "put", "resize", "empty"]),
    product: between(0, 60),
    quantity: between(0, 99)
  })
)

describe("a cart", () => {
  it.prop("keeps to its limits and loses no piece through any changes", [Changes], ([changes]) => {
    let cart = empty
    const model = new Map<string, number>()
    changes.forEach(({ product, quantity, what }, index) => {
      const name = `P${product}`
      if ((what === "add" || what === "put") && quantity > 0) {
        const next = addItem(cart, newItem(`i${index}`, name, quantity), index)
        const fits = model.has(name) ? model.get(name)! + quantity <= 99 : model.size < 50
        assert.strictEqual(next !== null, fits)
        if (next === null) return
        assert.strictEqual(next.isUpdate, model.has(name))
        model.set(name, (model.get(name) ?? 0) + quantity)
        cart = next.cart
      } else if (what === "resize") {
        const next = setQuantity(
          cart,
          cart.items.find((item) => item.productId === name)?.id ?? "none",
          quantity,
          index
        )
        assert.strictEqual(next !== null, model.has(name))
        if (next === null) return
        if (quantity === 0) model.delete(name)
        else model.set(name, quantity)
        cart = next.cart
      } else if (what === "empty" && product > 55) {
        cart = emptyCart(cart, index)
        model.clear()
      }
      assert.deepStrictEqual(cart.items.map((item) => [item.productId, item.quantity]), [...model])
      assert.lengthOf(new Set(cart.items.map(({ id }) => id)), model.size)
    })
  })

  it("takes other quantities for items it holds, and for no others", () => {
    const items = [newItem("1", "P1", 1), newItem("2", "P2", 2)]
    const quantities = (...overrides: Parameters<typeof applyOverrides>[1]) =>
      applyOverrides(items, overrides)?.map(({ productId, quantity }) => `${productId} ${quantity}`)
    assert.deepStrictEqual(quantities(), ["P1 1", "P2 2"])
    assert.deepStrictEqual(
      quantities({ productId: "P1", retailer: null, quantity: 5 }, {
        productId: "P2",
        retailer: "amazon",
        quantity: 0
      }),
      ["P1 5"]
    )
    assert.isUndefined(quantities({ productId: "P1", retailer: "ebay", quantity: 5 }))
    assert.isUndefined(quantities({ productId: "P3", retailer: null, quantity: 0 }))
  })
})

describe("reading", () => {
  it("a price is exact, or refused", () => {
    for (
      const [sent, millis] of [[9.99, 9_990n], ["9.99", 9_990n], [0, 0n], [0.1, 100n], ["1000000", 1_000_000_000n], [
        1e3,
        1_000_000n
      ]] as const
    ) {
      assert.strictEqual(readPrice(sent), usdMillis(millis))
    }
    for (
      const wrong of [
        -1,
        0.0001,
        "1.2345",
        "",
        " 1",
        "1e400",
        "0x10",
        1_000_000.001,
        Number.NaN,
        Number.POSITIVE_INFINITY,
        "٣"
      ]
    ) {
      assert.isUndefined(readPrice(wrong), String(wrong))
    }
  })

  it("a customer is one name for one customer", () => {
    const wallet = { wallet_address: "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266", wallet_network: "base" } as const
    const keys = [{ customer_id: "a" }, { customer_id: "a", ...wallet }, wallet, { ...wallet, wallet_network: "bsc" }, {
      customer_id: "wallet:base:0x"
    }]
      .map((sent) => readCustomer(sent as never, "devnet"))
      .map((customer) => typeof customer === "string" ? customer : customerKey(customer))
    assert.deepStrictEqual(keys, [
      "customer:a",
      "customer:a",
      "wallet:base:0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
      "wallet:bsc:0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
      "customer:wallet:base:0x"
    ])
  })

  it.prop("an address is every field or a fault of it, whatever is sent", [
    upTo(10, Schema.Tuple([between(0, 9), Schema.Json]))
  ], ([changes]) => {
    const names = ["address_line2", ...Object.keys(postalAddress)]
    const read = readPostalAddress({
      ...postalAddress,
      ...Object.fromEntries(changes.map(([at, value]) => [names[at]!, value]))
    })
    if ("fields" in read) assert.isNotEmpty(Object.keys(read.fields))
    else {for (const value of Object.values(read)) {
        assert.isTrue(value === null || (value === value.trim() && value !== ""))
      }}
  })

  it("an address loses the spaces around it", () => {
    assert.deepInclude(readPostalAddress({ ...postalAddress, first_name: " Ada " }), {
      firstName: "Ada",
      country: "US",
      addressLine2: null
    })
  })

  it("an alias stands for its field, and a field by its own name wins", () => {
    assert.deepStrictEqual(
      withoutAliases({
        estimateId: "a",
        estimate_id: "b",
        items: [{ productId: "P" }],
        metadata: { productId: "kept" },
        constructor: "c"
      }),
      { estimate_id: "b", items: [{ product_id: "P" }], metadata: { productId: "kept" }, constructor: "c" }
    )
  })

  it("an estimate that was used says so, also after its end", () => {
    const estimate = { expiresAt: 900, orderId: null } as never
    assert.deepStrictEqual([899, 900].map((now) => estimateFault(estimate, now)), [null, "ESTIMATE_EXPIRED"])
    assert.strictEqual(estimateFault({ expiresAt: 900, orderId: "o" } as never, 2_000), "ESTIMATE_ALREADY_USED")
  })
})
