/**
 * Goal: what a payor's request says is read as it is meant, and nothing that is not ours is taken for ours.
 * Method: tables over the pure rules.
 */
import { assert, describe, it } from "@effect/vitest"
import { canRestart, replacementFor, restartWindowSeconds } from "../../../modules/checkout/rules.ts"
import {
  cookieOfCredentials,
  credentialsOfCookie,
  credentialsOfQuery,
  isCrossSite,
  isNavigation,
  languageFor,
  pageHeaders,
  readFormAction,
  returnUrlOf,
  sessionQuery,
  stateTag
} from "../../../modules/checkout/pages/PageRequest.ts"
import { addressFor, detailsOf, now, viewOf } from "../../fixtures/paymentViews.ts"

const pair = { sessionToken: "pst_Zk-3_x", signature: `${"9f".repeat(32)}.1766278800000` }

describe("a hash that a wallet names", () => {
  it("is taken where it is one, in lower case, and once", () => {
    const read = (text: string) => readFormAction(new URLSearchParams(text))
    const hash = `0x${"aB".repeat(32)}`
    assert.deepStrictEqual(read(`action=sent&hash=${hash}`), { _tag: "Sent", txHash: hash.toLowerCase() })
    for (const other of ["", "0x12", `${hash}00`, hash.slice(2), "javascript:alert(1)"]) {
      assert.isNull(read(`action=sent&hash=${other}`), other)
    }
    assert.isNull(read(`action=sent&hash=${hash}&hash=${hash}`))
  })
})

describe("a visit to the payment page", () => {
  it("carries its session in a cookie or in the address, and nothing is lost on the way", () => {
    assert.deepStrictEqual(credentialsOfCookie(cookieOfCredentials(pair)), pair)
    assert.deepStrictEqual(
      credentialsOfQuery(new URLSearchParams(sessionQuery(pair, { lang: "pt-BR", tab: null }))),
      pair
    )
    assert.strictEqual(
      sessionQuery(pair, { lang: "de", tab: "address" }),
      `?session_token=${pair.sessionToken}&signature=${pair.signature}&c=1&lang=de&tab=address`
    )
    for (const none of [undefined, "", "pst_"]) assert.isNull(credentialsOfCookie(none))
    assert.isNull(credentialsOfQuery(new URLSearchParams("lang=de&c=1")))
    assert.deepStrictEqual(credentialsOfQuery(new URLSearchParams("signature=x")), { sessionToken: "", signature: "x" })
  })

  it("gets its language from the address, the cookie, the invoice, the browser, the merchant, in this order", () => {
    const wishes = { query: "de", cookie: "fr", invoice: "es", browser: "ja;q=0.5, pt-PT", merchant: "ar" }
    assert.strictEqual(languageFor(wishes).locale, "de")
    assert.strictEqual(languageFor({ ...wishes, query: "xx" }).locale, "fr")
    assert.strictEqual(languageFor({ ...wishes, query: null, cookie: undefined }).locale, "es")
    const stranger = { ...wishes, query: null, cookie: undefined, invoice: null }
    assert.strictEqual(languageFor(stranger).locale, "pt-BR")
    assert.strictEqual(languageFor({ ...stranger, browser: "*" }).locale, "ar")
    assert.strictEqual(languageFor({ ...stranger, browser: undefined, merchant: null }).locale, "en")
  })

  it("asks by forms for what there is to ask for, and by nothing else", () => {
    const read = (text: string) => readFormAction(new URLSearchParams(text))
    assert.deepStrictEqual(read("action=choose&token=123"), { _tag: "Choose", tokenId: 123 })
    assert.deepStrictEqual(read("action=simulate&what=late&x=y"), { _tag: "Simulate", what: "late" })
    assert.deepStrictEqual(read("action=language&lang=zh-Hans"), { _tag: "Language", locale: "zh-Hans" })
    assert.deepStrictEqual(read("action=refund&network=base&address=+0x1+"), {
      _tag: "Refund",
      network: "base",
      address: "0x1"
    })
    assert.deepStrictEqual([read("action=refresh"), read("action=restart")], [{ _tag: "Refresh" }, { _tag: "Restart" }])
    const refused = [
      "",
      "action=",
      "action=toString",
      "action=choose",
      "action=choose&token=0",
      "action=choose&token=01",
      "action=choose&token=1&token=1",
      "action=language&lang=zh",
      "action=simulate&what=hasOwnProperty",
      `action=refund&address=${"x".repeat(201)}`
    ]
    for (const text of refused) assert.isNull(read(text), text)
  })

  it("is foreign where another site's page sends it, and a person's where a browser opens it", () => {
    const own = "https://pay.example"
    const ours = [{}, { origin: own }, { origin: "null" }, { origin: "null", "sec-fetch-site": "same-origin" }, {
      "sec-fetch-site": "none"
    }]
    for (const headers of ours) assert.isFalse(isCrossSite(headers, own), JSON.stringify(headers))
    const others = [
      { origin: "https://evil.example" },
      { origin: "http://pay.example" },
      { origin: `${own}.evil.example` },
      { origin: "" },
      { "sec-fetch-site": "cross-site" },
      { origin: "null", "sec-fetch-site": "cross-site" },
      { origin: own, "sec-fetch-site": "same-site" }
    ]
    for (const headers of others) assert.isTrue(isCrossSite(headers, own), JSON.stringify(headers))
    assert.isTrue(isNavigation({ "sec-fetch-mode": "navigate" }))
    assert.isFalse(isNavigation({}))
    assert.isFalse(isNavigation({ "sec-fetch-mode": "navigate", "sec-purpose": "prefetch;prerender" }))
  })

  it("sees the same state while only the clock and the ticket for the socket are others", () => {
    const address = addressFor("25.00")
    const view = viewOf({ details: detailsOf("unpaid"), address })
    const tag = stateTag(view, "en")
    const later = {
      ...view,
      now: now + 1,
      socketUrl: "wss://pay.example/ws/payment?token=other",
      details: { ...view.details, remaining_time: 1 },
      address: {
        ...address,
        quote_expires_in_seconds: 1,
        quote: { ...address.quote, quote_expires_in_seconds: 1 },
        ws_connection: { ...address.ws_connection, token: "other" }
      }
    }
    assert.strictEqual(stateTag(later, "en"), tag)
    const others = [
      stateTag(view, "de"),
      stateTag({ ...view, tab: "address" }, "en"),
      stateTag({ ...view, estimates: new Map([[1, "2"]]) }, "en"),
      stateTag({ ...view, address: { ...address, temp_address: "0x0" } }, "en"),
      stateTag({ ...view, now: now + 1_800 }, "en"),
      stateTag(viewOf({ details: detailsOf("underpaid", 10_000), address }), "en")
    ]
    assert.strictEqual(new Set([tag, ...others]).size, others.length + 1)
  })

  it("ends at the merchant's own address with two fields more, its own query and fragment as they were", () => {
    const to = (url: string | null) => returnUrlOf(url, "ID", "paid")
    assert.strictEqual(to("https://shop.example/done"), "https://shop.example/done?invoice_id=ID&status=paid")
    assert.strictEqual(
      to("https://shop.example/?a=b%20c+d&e#f"),
      "https://shop.example/?a=b%20c+d&e&invoice_id=ID&status=paid#f"
    )
    for (const url of [null, "", "//evil.example", "javascript:alert(1)", "http://shop.example"]) assert.isNull(to(url))
  })

  it("is told by its headers to come by https again, only where the public URL is https", () => {
    const headers = (publicUrl: string) => pageHeaders({ publicUrl, styles: [], frameAncestors: [] })
    assert.strictEqual(headers("https://pay.example/shop")["strict-transport-security"], "max-age=31536000")
    const plain = headers("http://127.0.0.1:8080")
    assert.isUndefined(plain["strict-transport-security"])
    assert.include(plain["content-security-policy"], "connect-src 'self' ws://127.0.0.1:8080;")
  })

  it("may begin anew what ended with nothing received, for seven days, where the merchant lets it", () => {
    const invoice = { status: "expired", type: "standard", expiresAt: 1_000, createdAt: 400, metadata: {} } as never
    const ended = { invoice, payments: [], exceptions: [] }
    assert.isTrue(canRestart(ended, true, 1_000 + restartWindowSeconds - 1))
    assert.isFalse(canRestart(ended, true, 1_000 + restartWindowSeconds))
    assert.isFalse(canRestart(ended, false, 1_000))
    const ofLink = { payment_link: "plink_0193a5b2-7c41-7000-9d4b-6f5b1c3b2a10" }
    assert.isFalse(
      canRestart({ ...ended, invoice: { ...ended.invoice as object, metadata: ofLink } as never }, true, 1_000),
      "a payment link counts its invoices, so it makes them itself"
    )
    assert.isFalse(canRestart({ ...ended, payments: [{} as never] }, true, 1_000))
    for (const change of [{ status: "unpaid" }, { status: "canceled" }, { type: "commerce" }]) {
      assert.isFalse(canRestart({ ...ended, invoice: { ...invoice as object, ...change } as never }, true, 1_000))
    }
    const state = (expiresAt: number) => ({ createdAt: 400, expiresAt, policy: {} }) as never
    assert.strictEqual(replacementFor(state(1_000)).expiresInMillis, 600_000)
    assert.strictEqual(replacementFor(state(401)).expiresInMillis, 60_000)
  })
})
