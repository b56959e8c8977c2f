/**
 * Goal: whatever a fulfilment service answers, what comes of it is an offer, a verdict or reports that are sound, or a
 * plain refusal; and whatever is signed proves exactly what was signed.
 * Method: pure functions, tables of lies, and good answers with one part replaced at random.
 */
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { readFileSync } from "node:fs"
import type { OrderedItem, WantedItem } from "../../../../modules/retail/plugin.ts"
import {
  isFresh,
  isSignedBy,
  signatureOf,
  type SignedMessage,
  signingKey,
  toleranceMillis
} from "../../../../modules/retail/drivers/http/Signature.ts"
import { offerOf, quoteBody, reportsOf, validationOf } from "../../../../modules/retail/drivers/http/Wire.ts"
import { trials, zipCodes } from "../../../../modules/retail/drivers/simulated/Shop.ts"
import {
  AddressAnswer,
  AddressRequest,
  CancelRequest,
  PlacementRequest,
  QuoteAnswer,
  QuoteRequest,
  ReportsAnswer,
  RetailReport
} from "../../../../schemas/Retail.ts"
import { addressIn } from "../../../conformance/retailers.ts"

const guide = readFileSync(new URL("../../../../modules/docs/guides/fulfilment.md", import.meta.url), "utf8")

/** The JSON blocks below a heading, up to the next one. */
const examplesOf = (heading: string): ReadonlyArray<string> => {
  const start = guide.indexOf(`\n### ${heading}\n`)
  assert.isAbove(start, 0, heading)
  const section = guide.slice(start + 1, guide.indexOf("\n##", start + 5))
  return [...section.matchAll(/```json\n([\s\S]*?)```/g)].map(([, json]) => json!)
}

/** The first cells of the table whose header starts so, without their backticks. */
const firstCells = (header: string): Array<string> => {
  const lines = guide.slice(guide.indexOf(`| ${header} |`)).split("\n")
  return lines.slice(2, lines.findIndex((line) => !line.startsWith("|"))).map((line) =>
    line.split("|")[1]!.replaceAll("`", "").trim()
  )
}

describe("the guide", () => {
  const examples = [
    ["`POST /quote`", [QuoteRequest, QuoteAnswer]],
    ["`POST /address`", [AddressRequest, AddressAnswer]],
    ["`POST /orders`", [PlacementRequest, ReportsAnswer]],
    ["`GET /orders/{order_id}`", [ReportsAnswer]],
    ["`POST /orders/{order_id}/cancel`", [CancelRequest, ReportsAnswer]]
  ] as const
  for (const [heading, schemas] of examples) {
    it(`shows ${heading} as it is`, () => {
      const texts = examplesOf(heading)
      assert.lengthOf(texts, schemas.length)
      texts.forEach((text, at) => {
        const schema: Schema.Codec<unknown, unknown> = schemas[at]!
        assert.deepStrictEqual(Schema.decodeUnknownSync(schema)(JSON.parse(text)), JSON.parse(text))
      })
    })
  }

  it("shows what the driver sends and takes", () => {
    const [asked, answered] = examplesOf("`POST /quote`")
    const body = JSON.parse(asked!)
    const items = body.items.map(({ product_id, quantity, retailer }: any): WantedItem => ({
      retailer,
      productId: product_id,
      quantity
    }))
    assert.deepStrictEqual(
      quoteBody({ merchantId: body.merchant_id, environment: body.environment, zipCode: body.zip_code, items }),
      body
    )
    assert.isTrue(Result.isSuccess(offerOf(items, answered!)))
  })

  it("lists every report, every trial and every zip code there is", () => {
    assert.sameMembers(firstCells("`type`"), RetailReport.members.map(({ fields }): string => fields.type.literal))
    assert.sameMembers(
      firstCells("Product id").map((id) => id.replace(/-\d$/, "-")),
      Object.values<string>(trials)
    )
    assert.sameMembers(firstCells("Zip code"), Object.values<string>(zipCodes))
  })
})

const wanted: ReadonlyArray<WantedItem> = [
  { retailer: "amazon", productId: "widget", quantity: 2 },
  { retailer: "amazon", productId: "gone", quantity: 1 }
]

const item = {
  retailer: "amazon",
  product_id: "widget",
  title: "Widget",
  image_url: null,
  quantity: 2,
  unit_amount: 9_990
}
const refused = { retailer: "amazon", product_id: "gone", code: "NO_ELIGIBLE_OFFER", message: "Gone" }
const shipping = { id: "standard", name: "Standard", amount: 1_000, estimated_days: "5-7" }
const quote = { items: [item], refused: [refused], shipping_options: [shipping], tax: 0, fees: 3_000 }

const orderId = "6f1c2d3e-4a5b-4c6d-8e7f-9a0b1c2d3e4f"
const order = {
  orderId,
  items: [{ lineItemId: "li_1" }, { lineItemId: "li_2" }] as unknown as ReadonlyArray<OrderedItem>
}
const shipment = {
  shipment_id: "p1",
  carrier: "UPS",
  tracking_number: null,
  carrier_tracking_url: "https://carrier.example/1",
  delivery_status: "in_transit",
  retailer_tracking_number: null,
  retailer_tracking_url: null,
  obtained_at: 1_766_320_500,
  line_item_ids: ["li_1"]
}
const shipped = { type: "shipped", shipment }
const answer = (...reports: ReadonlyArray<unknown>) => JSON.stringify({ order_id: orderId, reports })

const bad: ReadonlyArray<unknown> = [9.99, -1, 1_000_000_001, 1e21, "9990", "9.99", null, true, [], {}]

const refuses = (read: Result.Result<unknown, string>, what: string) => {
  assert.isTrue(Result.isFailure(read), what)
  assert.isBelow(Result.isFailure(read) ? read.failure.length : 1_000, 200)
}

describe("an answer to a quote", () => {
  it("is an offer where it is one, with more fields than are known too", () => {
    const offer = Result.getOrThrow(
      offerOf(wanted, JSON.stringify({ ...quote, items: [{ ...item, colour: "red" }], note: 1 }))
    )
    assert.deepStrictEqual(offer.items, [
      {
        retailer: "amazon",
        productId: "widget",
        title: "Widget",
        imageUrl: null,
        quantity: 2,
        unitAmount: 9_990n as never
      }
    ])
    assert.deepStrictEqual([offer.tax, offer.fees, offer.shipping[0]!.amount] as ReadonlyArray<bigint>, [
      0n,
      3_000n,
      1_000n
    ])
  })

  const lies: Readonly<Record<string, unknown>> = {
    "an item left out": { ...quote, refused: [] },
    "an item that nobody asked for": { ...quote, items: [item, { ...item, product_id: "extra" }] },
    "an item twice": { ...quote, items: [item, item] },
    "an item in both lists": { ...quote, refused: [refused, { ...refused, product_id: "widget" }] },
    "another quantity": { ...quote, items: [{ ...item, quantity: 1 }] },
    "another retailer": { ...quote, items: [{ ...item, retailer: "ebay" }] },
    "an unknown retailer": { ...quote, items: [{ ...item, retailer: "etsy" }] },
    "an unknown reason": { ...quote, refused: [{ ...refused, code: "NO_MOOD" }] },
    "no way to ship": { ...quote, shipping_options: [] },
    "two ways to ship of one id": { ...quote, shipping_options: [shipping, { ...shipping, amount: 2_000 }] },
    "half of it": { items: [item], refused: [refused] },
    "a title that cannot be stored": { ...quote, items: [{ ...item, title: "a\u0000b" }] },
    "a title of half a letter": { ...quote, items: [{ ...item, title: "a\ud800" }] },
    "a title of lines": { ...quote, items: [{ ...item, title: "a\nb" }] },
    "a title without end": { ...quote, items: [{ ...item, title: "x".repeat(501) }] },
    "a picture that is a script": { ...quote, items: [{ ...item, image_url: "javascript:alert(1)" }] },
    "days that are none": { ...quote, shipping_options: [{ ...shipping, estimated_days: "soon" }] },
    "a list": [quote],
    "nothing": null,
    ...Object.fromEntries(
      bad.map((
        amount
      ) => [`a price of ${JSON.stringify(amount)}`, { ...quote, items: [{ ...item, unit_amount: amount }] }])
    ),
    ...Object.fromEntries(bad.map((amount) => [`a tax of ${JSON.stringify(amount)}`, { ...quote, tax: amount }])),
    ...Object.fromEntries(
      bad.map((
        amount
      ) => [`shipping for ${JSON.stringify(amount)}`, { ...quote, shipping_options: [{ ...shipping, amount }] }])
    )
  }
  for (const [what, lie] of Object.entries(lies)) {
    it(`is refused with ${what}`, () => refuses(offerOf(wanted, JSON.stringify(lie)), what))
  }

  it("is refused where it is no JSON, cut off, or too deep", () => {
    const text = JSON.stringify(quote)
    for (
      const body of [
        "",
        "hello",
        text.slice(0, -1),
        `\ufeff${text}`,
        "[".repeat(100_000),
        text.replace("9990", "9990e400"),
        text.replace("9990", "09990")
      ]
    ) {
      refuses(offerOf(wanted, body), body.slice(0, 20))
    }
  })

  const paths: ReadonlyArray<ReadonlyArray<string | number>> = [
    ["items"],
    ["refused"],
    ["shipping_options"],
    ["tax"],
    ["fees"],
    ...Object.keys(item).map((key) => ["items", 0, key]),
    ...Object.keys(refused).map((key) => ["refused", 0, key]),
    ...Object.keys(shipping).map((key) => ["shipping_options", 0, key])
  ]
  const strange: ReadonlyArray<unknown> = [
    ...bad,
    0,
    1,
    2,
    "widget",
    "gone",
    "amazon",
    "",
    "\u202e",
    [item],
    [refused],
    [shipping]
  ]
  const index = (length: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: length - 1 }))

  it.prop(
    "is an offer of all that was asked for, in whole amounts, or nothing, whatever is put into it",
    [index(paths.length), index(strange.length), Schema.Json, Schema.Boolean],
    ([pathAt, strangeAt, json, isStrange]) => {
      const path = paths[pathAt]!
      const copy = structuredClone(quote) as any
      path.slice(0, -1).reduce((at: any, key) => at[key], copy)[path.at(-1)!] = isStrange ? strange[strangeAt] : json
      const read = offerOf(wanted, JSON.stringify(copy))
      if (Result.isFailure(read)) return
      const { fees, items, refused, shipping, tax } = read.success
      const key = (one: { readonly retailer: string; readonly productId: string }) => `${one.retailer} ${one.productId}`
      assert.deepStrictEqual([...items, ...refused].map(key).sort(), wanted.map(key).sort())
      const amounts: ReadonlyArray<unknown> = [
        tax,
        fees,
        ...items.map(({ unitAmount }) => unitAmount),
        ...shipping.map(({ amount }) => amount)
      ]
      assert.isTrue(amounts.every((amount) => typeof amount === "bigint" && amount >= 0n && amount <= 1_000_000_000n))
    }
  )
})

describe("an answer about an address", () => {
  const address = {
    first_name: "Ada",
    last_name: "Lovelace",
    street_address: "1 Ocean Drive",
    address_line2: null,
    city: "Miami",
    state: "FL",
    zip_code: "33101",
    country: "US",
    phone: "+1",
    email: "ada@shop.example"
  }

  it("is a verdict where it is one", () => {
    assert.deepStrictEqual(Result.getOrThrow(validationOf(JSON.stringify({ valid: true, address }))), {
      _tag: "Valid",
      address: { ...addressIn("33101"), city: "Miami", phone: "+1" }
    })
    assert.deepStrictEqual(
      Result.getOrThrow(validationOf(JSON.stringify({ valid: false, fields: { zip_code: "No" } }))),
      {
        _tag: "Invalid",
        fields: { zip_code: "No" }
      }
    )
  })

  const lies: Readonly<Record<string, unknown>> = {
    "no verdict": { address },
    "a verdict of text": { valid: "true", address },
    "half an address": { valid: true, address: { ...address, city: undefined } },
    "a country in words": { valid: true, address: { ...address, country: "usa" } },
    "nothing wrong in it": { valid: false, fields: {} },
    "a field that there is not": { valid: false, fields: { planet: "No" } },
    "a fault that is no text": { valid: false, fields: { city: 1 } }
  }
  for (const [what, lie] of Object.entries(lies)) {
    it(`is refused with ${what}`, () => refuses(validationOf(JSON.stringify(lie)), what))
  }
})

describe("an answer about an order", () => {
  it("is a list of reports, of every kind", () => {
    const kinds = [
      { type: "placed", provider_order_id: "W-1" },
      { type: "placement_failed", reason: "No" },
      shipped,
      { type: "delivered", is_confirmed: true },
      { type: "cancellation_accepted" },
      { type: "cancellation_rejected", reason: "No" },
      { type: "canceled_by_retailer", reason: "No" }
    ]
    assert.deepStrictEqual(Result.getOrThrow(reportsOf(order, answer(...kinds))).map(({ _tag }) => _tag), [
      "Placed",
      "PlacementFailed",
      "Shipped",
      "Delivered",
      "CancellationAccepted",
      "CancellationRejected",
      "CanceledByRetailer"
    ])
    assert.deepStrictEqual(Result.getOrThrow(reportsOf(order, answer())), [])
  })

  const lies: Readonly<Record<string, string>> = {
    "another order": JSON.stringify({ order_id: orderId.replace("6", "7"), reports: [] }),
    "no order": JSON.stringify({ reports: [] }),
    "an unknown fact": answer({ type: "paid" }),
    "no fact": answer({}),
    "half a fact": answer({ type: "placed" }),
    "one good and one bad fact": answer({ type: "placed", provider_order_id: "W-1" }, { type: "delivered" }),
    "a line item of another order": answer({ type: "shipped", shipment: { ...shipment, line_item_ids: ["li_3"] } }),
    "a line item twice": answer({ type: "shipped", shipment: { ...shipment, line_item_ids: ["li_1", "li_1"] } }),
    "a parcel with nothing in it": answer({ type: "shipped", shipment: { ...shipment, line_item_ids: [] } }),
    "an unknown delivery status": answer({ type: "shipped", shipment: { ...shipment, delivery_status: "lost" } }),
    "a link that is a script": answer({
      type: "shipped",
      shipment: { ...shipment, carrier_tracking_url: "javascript:alert(1)" }
    }),
    "a time in milliseconds": answer({ type: "shipped", shipment: { ...shipment, obtained_at: 1_766_320_500_000 } }),
    "a time before all times": answer({ type: "shipped", shipment: { ...shipment, obtained_at: -1 } }),
    "too many facts": answer(...Array.from({ length: 101 }, () => ({ type: "cancellation_accepted" })))
  }
  for (const [what, lie] of Object.entries(lies)) {
    it(`is refused with ${what}`, () => refuses(reportsOf(order, lie), what))
  }
})

describe("a signature", () => {
  const secrets = ["new-secret-0123456789abcdef0123456789ab", "old-secret-0123456789abcdef0123456789ab"]
  const keys = secrets.map(signingKey)
  const signed: SignedMessage = {
    timestamp: "1766320500000",
    method: "POST",
    target: `/callbacks/${orderId}`,
    body: "{\"type\":\"placed\"}"
  }

  it("is what the guide says, by any implementation of HMAC", () => {
    const [, secret, timestamp, method, target, body, signature] =
      /secret\n`([^`]+)`, the text `(\d+)\.(\w+)\.([^.`]+)\.([^`]*)` has the signature\n\n```text\n([0-9a-f]+)\n/.exec(
        guide
      )!
    assert.strictEqual(
      signatureOf(signingKey(secret!), { timestamp: timestamp!, method: method!, target: target!, body: body! }),
      signature
    )
  })

  it("is taken of every secret there is, and of no other", () => {
    for (const key of keys) assert.isTrue(isSignedBy(keys, signatureOf(key, signed), signed))
    assert.isFalse(isSignedBy(keys, signatureOf(signingKey("x".repeat(40)), signed), signed))
    assert.isFalse(isSignedBy([], signatureOf(keys[0]!, signed), signed))
  })

  const part = Schema.Literals(["timestamp", "method", "target", "body"])
  it.prop("is no good for anything else, whatever part of it is another", [part, Schema.String], ([name, value]) => {
    const signature = signatureOf(keys[0]!, signed)
    assert.strictEqual(isSignedBy(keys, signature, { ...signed, [name]: value }), value === signed[name])
  })

  it("is 64 lower-case hexadecimal digits and nothing else", () => {
    const signature = signatureOf(keys[0]!, signed)
    for (
      const odd of [
        "",
        signature.toUpperCase(),
        signature.slice(2),
        `${signature}00`,
        `0x${signature}`,
        "0".repeat(64),
        `${signature},${signature}`
      ]
    ) {
      assert.isFalse(isSignedBy(keys, odd, signed), odd)
    }
  })

  it("is fresh for five minutes to both sides", () => {
    const now = 1_766_320_500_000
    for (
      const [away, fresh] of [[0, true], [toleranceMillis, true], [-toleranceMillis, true], [
        toleranceMillis + 1,
        false
      ], [-toleranceMillis - 1, false]] as const
    ) {
      assert.strictEqual(isFresh(String(now + away), now), fresh, String(away))
    }
    for (
      const odd of ["", "1766320500", "NaN", "1766320500000.0", " 1766320500000", "0x19b0f4d1b20", "17663205000000"]
    ) assert.isFalse(isFresh(odd, now), odd)
  })
})
