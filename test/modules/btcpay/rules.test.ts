/** Goal: what shops send and are told has exactly the forms that plugins compare. Method: the pure rules, case by case. */
import { assert, describe, it } from "@effect/vitest"
import { createHmac, createSecretKey } from "node:crypto"
import { fullKey, keyInHeader, permissionsFor } from "../../../modules/btcpay/rules.ts"
import {
  invoiceUsd,
  paidAmountOf,
  readDecimal,
  shopAmountRoundedDown,
  tokenRate
} from "../../../modules/btcpay/rules/Amounts.ts"
import { methodIds, readMethodId } from "../../../modules/btcpay/rules/Methods.ts"
import { ordersIn, readRefundRequest } from "../../../modules/btcpay/rules/Refunds.ts"
import { orderIdOf, readInvoiceRequest, readWebhookRequest } from "../../../modules/btcpay/rules/Requests.ts"
import { webhookFormat } from "../../../modules/btcpay/service/Webhooks.ts"
import { storeIdOf } from "../../../schemas/Auth.ts"
import { usdMillis } from "../../../schemas/Money.ts"
import { testWebhookFormat } from "../../conformance/webhookFormats.ts"

const dollars = { code: "USD", rate: null }
const euros = { code: "EUR", rate: { numerator: 11n, denominator: 10n } }
const yen = { code: "JPY", rate: { numerator: 66n, denominator: 10_000n } }

describe("a key", () => {
  it("is found also without its underscores, and echoed to nobody else", () => {
    const rest = "a".repeat(38)
    assert.strictEqual(fullKey(`mkdev${rest}`), `mk_dev_${rest}`)
    assert.strictEqual(fullKey(`mklive${rest}`), `mk_live_${rest}`)
    assert.strictEqual(fullKey(`mk_dev_${rest}`), `mk_dev_${rest}`)
    assert.strictEqual(fullKey(`mkdev${rest}x`), `mkdev${rest}x`)
  })

  it("comes by the scheme token alone, in any case", () => {
    assert.strictEqual(keyInHeader("token abc"), "abc")
    assert.strictEqual(keyInHeader("TOKEN abc"), "abc")
    for (const header of ["Bearer abc", "Basic abc", "abc", "token", "token a b", undefined]) {
      assert.isNull(keyInHeader(header), header)
    }
  })
})

describe("the permissions of a key", () => {
  const store = storeIdOf(123, "devnet")
  it("are exactly those that the plugin of WooCommerce compares, refunds only where they are made", () => {
    const five = [
      "btcpay.store.canviewinvoices:123-devnet",
      "btcpay.store.cancreateinvoice:123-devnet",
      "btcpay.store.canviewstoresettings:123-devnet",
      "btcpay.store.canmodifyinvoices:123-devnet",
      "btcpay.store.webhooks.canmodifywebhooks:123-devnet"
    ]
    assert.deepStrictEqual(permissionsFor("woocommerce", store, false), five)
    assert.deepStrictEqual(permissionsFor("woocommerce", store, true), [
      ...five,
      "btcpay.store.cancreatenonapprovedpullpayments:123-devnet"
    ])
  })

  it("are exactly those that the module of PrestaShop compares, whatever else is served", () => {
    for (const canRefund of [true, false]) {
      assert.deepStrictEqual(permissionsFor("prestashop", store, canRefund), [
        "btcpay.store.canmodifystoresettings:123-devnet",
        "btcpay.store.webhooks.canmodifywebhooks:123-devnet",
        "btcpay.store.canviewstoresettings:123-devnet",
        "btcpay.store.cancreateinvoice:123-devnet",
        "btcpay.store.canviewinvoices:123-devnet",
        "btcpay.store.canmodifyinvoices:123-devnet"
      ])
    }
  })
})

describe("payment methods", () => {
  it("have ids of letters and digits, and of two alike the later token has its number", () => {
    const ids = methodIds([
      { id: 9, symbol: "USDCe", network: "arbitrum" },
      { id: 3, symbol: "USDC.e", network: "arbitrum" },
      { id: 4, symbol: "USDC", network: "base" }
    ])
    assert.deepStrictEqual([...ids], [[3, "USDCE-ARBITRUM"], [4, "USDC-BASE"], [9, "USDCE-ARBITRUM-9"]])
  })

  it("are taken with underscores too", () => assert.strictEqual(readMethodId("usdc_base"), "USDC-BASE"))
})

describe("an amount of a shop", () => {
  it("is dollars half up, and other currencies up", () => {
    assert.strictEqual(invoiceUsd("12.34", dollars), 12_340n)
    assert.strictEqual(invoiceUsd("12.3445", dollars), 12_345n)
    assert.strictEqual(invoiceUsd("12.3444", dollars), 12_344n)
    assert.strictEqual(invoiceUsd("10", euros), 11_000n)
    assert.strictEqual(invoiceUsd("0.01", euros), 11n)
    assert.strictEqual(invoiceUsd("1000", yen), 6_600n)
    assert.strictEqual(invoiceUsd("1.0001", euros), 1_101n)
    assert.strictEqual(invoiceUsd("10.0000000000000001", euros), 11_001n)
  })

  it("outside of what an invoice may be is none", () => {
    for (const amount of ["0", "0.004", "1000000.01"]) assert.isNull(invoiceUsd(amount, dollars), amount)
    assert.strictEqual(invoiceUsd("1000000", dollars), 1_000_000_000n)
  })

  it("is read from numbers and texts, and answered as it was given without idle zeros", () => {
    assert.strictEqual(readDecimal("012.340"), "12.34")
    assert.strictEqual(readDecimal(12.5), "12.5")
    assert.strictEqual(readDecimal(1e-7), "0.0000001")
    for (const value of ["", "-1", "1,5", "NaN", null, {}, "1e999"]) {
      assert.isUndefined(readDecimal(value), String(value))
    }
  })

  it("that was paid is the shop's own where it is equal, else rounded down to the currency's minor unit", () => {
    const of = (paid: bigint) => ({ amount: usdMillis(11_000n), amountPaid: usdMillis(paid) })
    assert.strictEqual(paidAmountOf(of(11_000n), "9.999", euros), "9.999")
    assert.strictEqual(paidAmountOf(of(10_999n), "10", euros), "9.99")
    assert.strictEqual(paidAmountOf(of(0n), "10", euros), "0")
    assert.strictEqual(shopAmountRoundedDown(6_599n, yen), "999")
    assert.strictEqual(shopAmountRoundedDown(12_345n, dollars), "12.34")
  })

  it("has its rate in the shop's currency", () => {
    assert.strictEqual(tokenRate({ numerator: 3_500n, denominator: 1n }, dollars), "3500")
    assert.strictEqual(tokenRate({ numerator: 1n, denominator: 1n }, euros), "0.90909090909090909")
  })
})

describe("a new invoice", () => {
  const read = (body: object, more: object = {}) =>
    readInvoiceRequest(body as never, {
      environment: "devnet",
      methods: new Set(["USDC-BASE", "ETH-BASE"]),
      currency: dollars,
      ...more
    })

  it("is what WooCommerce sends", () => {
    const request = read({
      amount: "12.34",
      currency: "USD",
      metadata: {
        orderId: "1042",
        taxIncluded: 1.17,
        posData: "{\"WooCommerce\":{\"Order ID\":1042}}",
        buyerEmail: "a@b.example"
      },
      checkout: {
        speedPolicy: "MediumSpeed",
        paymentMethods: ["USDC_BASE"],
        expirationMinutes: null,
        redirectURL: "https://shop.example/order-received/1042/?key=wc_1",
        redirectAutomatically: null,
        defaultLanguage: null
      }
    })
    assert.deepInclude(request, {
      amount: "12.34",
      usd: usdMillis(12_340n),
      title: null,
      description: "Order 1042",
      email: "a@b.example",
      confirmations: "standard",
      expiresInMillis: null
    })
    assert.deepInclude((request as any).metadata, { taxIncluded: 1.17, orderId: "1042" })
    assert.deepStrictEqual((request as any).checkout.paymentMethods, ["USDC-BASE"])
  })

  it("becomes what each field of it says", () => {
    const rows: ReadonlyArray<readonly [object, object]> = [
      [{ currency: null }, { currency: dollars, amount: "5" }],
      [{ amount: "007.500" }, { amount: "7.5", usd: usdMillis(7_500n) }],
      [{ metadata: null }, { metadata: {}, description: null, email: null }],
      [{ metadata: { itemDesc: "Tea", orderId: 7 } }, { description: "Tea" }],
      [{ metadata: { orderId: 7 } }, { description: "Order 7" }],
      [{ metadata: { itemDesc: "x".repeat(300) } }, { description: "x".repeat(255) }],
      [{ metadata: { buyerEmail: "nobody" } }, { email: null }],
      [{ checkout: { speedPolicy: "HighSpeed" } }, { confirmations: "fast" }],
      [{ checkout: { speedPolicy: "MediumSpeed" } }, { confirmations: "standard" }],
      [{ checkout: { speedPolicy: "LowMediumSpeed" } }, { confirmations: "standard" }],
      [{ checkout: { speedPolicy: "LowSpeed" } }, { confirmations: "final" }],
      [{ checkout: { speedPolicy: null } }, { confirmations: null }],
      [{ checkout: { expirationMinutes: "90" } }, { expiresInMillis: 5_400_000 }],
      [{ checkout: { expirationMinutes: 43_200 } }, { expiresInMillis: 2_592_000_000 }],
      [{ checkout: { paymentTolerance: 1.25 } }, { toleranceBasisPoints: 125 }],
      [{ checkout: { paymentTolerance: 100 } }, { toleranceBasisPoints: 10_000 }],
      [{ monitoringMinutes: -1, receipt: 7, additionalSearchTerms: {} }, { amount: "5" }]
    ]
    for (const [fields, expected] of rows) {
      assert.deepInclude(read({ amount: 5, ...fields }), expected, JSON.stringify(fields))
    }
    const echoed = read({ amount: 5, checkout: { redirectAutomatically: true, defaultLanguage: "tlh" } }) as any
    assert.deepInclude(echoed.checkout, { redirectAutomatically: true, defaultLanguage: "tlh" })
  })

  it("offers what it names, once, however often that is named", () => {
    const { checkout } = read({ amount: 5, checkout: { paymentMethods: ["USDC_BASE", "usdc-base"] } }) as any
    assert.deepStrictEqual(checkout.paymentMethods, ["USDC-BASE"])
  })

  it("of another currency names its own price before what it is for, because the payment page counts dollars", () => {
    const body = { amount: "10", currency: "EUR", metadata: { orderId: "7" } }
    assert.deepInclude(read(body, { currency: euros }), {
      title: "Order 7",
      description: "10 EUR · Order 7",
      usd: usdMillis(11_000n)
    })
  })

  it("is refused with all that is wrong with it", () => {
    const errors = read({
      metadata: { ["k".repeat(65)]: 1 },
      checkout: {
        speedPolicy: "Now",
        paymentMethods: ["BTC"],
        expirationMinutes: 0,
        paymentTolerance: 101,
        redirectURL: "ftp://shop.example"
      }
    })
    assert.deepStrictEqual((errors as ReadonlyArray<any>).map(({ path }) => path), [
      "amount",
      "metadata",
      "checkout.speedPolicy",
      "checkout.paymentMethods[0]",
      "checkout.expirationMinutes",
      "checkout.paymentTolerance",
      "checkout.redirectURL"
    ])
    assert.strictEqual((errors as any)[0].message, "Top-up invoices are not supported: send an amount.")
    assert.strictEqual((errors as any)[3].message, "Unknown payment method: BTC.")
  })

  it("returns to a page of the own machine on devnet only, and its words are filled in", () => {
    const of = (redirectURL: string, environment: string) =>
      read({ amount: 5, checkout: { redirectURL } }, { environment })
    assert.property(of("http://localhost:8000/thanks?i={InvoiceId}&o={OrderId}", "devnet"), "usd")
    assert.isArray(of("http://localhost:8000/thanks", "mainnet"))
    assert.property(of("https://shop.example/thanks?i={InvoiceId}", "mainnet"), "usd")
  })

  it("returns to no page that is none once its order is filled in", () => {
    const of = (redirectURL: string, orderId: string) =>
      read({ amount: 5, metadata: { orderId }, checkout: { redirectURL } })
    assert.property(of("https://{OrderId}.example/", "1042"), "usd")
    assert.isArray(of("https://{OrderId}/", "a b/\"c"))
    assert.isArray(of(`https://shop.example/${"x".repeat(1_000)}?o={OrderId}`, "ä".repeat(255)), "too long then")
  })

  it("cuts no character of its order in half", () => {
    const orderId = `${"a".repeat(254)}😀`
    const request = read({ amount: 5, metadata: { orderId }, checkout: { redirectURL: "https://s.example/{OrderId}" } })
    assert.strictEqual(orderIdOf({ orderId }), "a".repeat(254))
    assert.property(request, "usd")
  })

  it("offers every way to pay where none is named", () => {
    for (const paymentMethods of [null, [], ["USDC-BASE", "ETH-BASE"]]) {
      assert.deepStrictEqual((read({ amount: 5, checkout: { paymentMethods } }) as any).checkout.paymentMethods, [])
    }
  })
})

describe("a refund of a shop", () => {
  const nameError = (name: string) => {
    const request = readRefundRequest({ name, amount: "1" })
    return "name" in request ? null : request.map(({ path }) => path)
  }
  /** 46 bytes before the number. */
  const inRussian = "Возврат средств за заказ "

  it("is of the longest end of its name that is an order, before what it is for", () => {
    assert.deepStrictEqual(ordersIn("Refund of order 1042; damaged"), [
      "Refund of order 1042",
      "of order 1042",
      "order 1042",
      "1042"
    ])
    assert.strictEqual(ordersIn("Refund of order 1042;").at(-1), "1042")
    assert.strictEqual(ordersIn("Refund of order 1042; damaged;").at(-1), "1042")
  })

  it("is refused where the plugin may have cut its name in the number of the order, by bytes or by characters", () => {
    assert.deepStrictEqual(nameError(`${inRussian}1042`), ["name"])
    assert.deepStrictEqual(nameError("ä".repeat(46) + "1042"), ["name"])
    assert.isNull(nameError(`${inRussian}104`))
    assert.deepStrictEqual(nameError(`${"a".repeat(96)} 1042`), ["name"], "an order that is cut is another one")
    assert.isNull(nameError(`${"a".repeat(95)} 1042; ${"d".repeat(100)}`))
    assert.isNull(nameError(`${"a".repeat(43)}1042; d`), "its order is whole")
    assert.isNull(nameError(`${"a".repeat(45)}1042;`), "its order is whole")
  })
})

describe("a webhook of a shop", () => {
  it("keeps a secret as it was brought, and has none where none was", () => {
    const of = (secret: unknown) => readWebhookRequest({ url: "https://shop.example/", secret })
    assert.deepInclude(of("not base64 !"), { secret: "not base64 !", types: null, automaticRedelivery: true })
    for (const secret of [undefined, null, ""]) assert.deepInclude(of(secret), { secret: null })
    for (const secret of ["short", "x".repeat(256)]) assert.isArray(of(secret))
  })

  it("takes the events that it names, unknown ones too", () => {
    const authorizedEvents = { everything: false, specificEvents: ["InvoiceSettled", "InvoiceMagic"] }
    assert.deepInclude(readWebhookRequest({ url: "https://shop.example/", authorizedEvents }), {
      types: ["InvoiceSettled", "InvoiceMagic"]
    })
  })

  it("is signed over its body alone, with the whole secret as it was given", () => {
    const sign = (secret: string, body: string) => createHmac("sha256", secret).update(body).digest("hex")
    assert.strictEqual(
      sign("wh-secret-1", "{\"type\":\"InvoiceSettled\"}"),
      "c8963847cf308bcf5742228d0b2a3f0ded96c96772197a775ec9f4bdb9d25c10"
    )
    const attempt = {
      deliveryId: "whd_x",
      endpointId: "we_1",
      attempt: 2,
      environment: "devnet" as const,
      type: "InvoiceSettled",
      data: "{\"type\":\"InvoiceSettled\",\"timestamp\":1}",
      created: 1,
      key: createSecretKey(Buffer.from("wh-secret-1"))
    }
    const { body, headers } = webhookFormat.render(attempt)
    assert.strictEqual(headers["BTCPay-Sig"], `sha256=${sign("wh-secret-1", body)}`)
    assert.strictEqual(
      body,
      "{\"deliveryId\":\"whd_x.2\",\"webhookId\":\"we_1\",\"originalDeliveryId\":\"whd_x\",\"isRedelivery\":true,"
        + "\"type\":\"InvoiceSettled\",\"timestamp\":1}"
    )
  })
})

testWebhookFormat(webhookFormat, ["{\"type\":\"InvoiceCreated\",\"timestamp\":1}", "{\"type\":\"é✓\",\"metadata\":{}}"])
