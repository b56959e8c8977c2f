/**
 * Goal: every screen says the right thing and the exact amount, safely, in every language, and fits a slow line.
 * Method: the pages of the fixtures as text: what is on them, what can never be, how large they are; QR codes are drawn
 * as a bitmap and read by a decoder of others.
 */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import jsqr from "jsqr"
import { createHash } from "node:crypto"
import { brotliCompressSync, constants, gzipSync } from "node:zlib"
import type { Screen, View } from "../../../modules/checkout/rules.ts"
import { backgrounds } from "../../../modules/checkout/pages/Accent.ts"
import {
  approximateTokens,
  calendarDay,
  clock,
  dollars,
  moment,
  plainTokens,
  tokens
} from "../../../runtime/pages/Amounts.ts"
import { languages } from "../../../modules/checkout/pages/Languages.ts"
import { qr } from "../../../runtime/pages/Qr.ts"
import { ar } from "../../../modules/checkout/pages/texts/ar.ts"
import { en } from "../../../modules/checkout/pages/texts/en.ts"
import { InvoiceId } from "../../../schemas/Ids.ts"
import type { Network } from "../../../schemas/Network.ts"
import { css, fragment, page, type Texts } from "../../../modules/checkout/pages.ts"
import { problemFragment, problemPage, shopHeader } from "../../../modules/checkout/pages/Page.ts"
import {
  addressFor,
  detailsOf,
  linkOf,
  manyTokenOptions,
  now,
  paymentOf,
  receiver,
  type TokenOption,
  tokenOptionOf,
  viewOf,
  views
} from "../../fixtures/paymentViews.ts"

/** Hashes are random: they compress worst. */
const hash = (of: string) => `0x${createHash("sha256").update(of).digest("hex")}`
const proof = {
  address: receiver,
  payee: "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
  salt: hash("salt"),
  collector: "0x7A8c3658258FE04EE067A7D8FC74CE54DA169dAC",
  init_code_hash: hash("code")
}

const assets = { script: "/assets/pay.0123456789abcdef.js", style: { css }, languages }
const pageOf = (view: View, texts: Texts = en) => page(view, texts, assets)
const screens = Object.keys(views) as ReadonlyArray<Screen>

const unescaped = (text: string) =>
  text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", "\"").replaceAll("&#39;", "'").replaceAll(
    "&amp;",
    "&"
  )

/** What a person reads of it. */
const textOf = (markup: string) =>
  unescaped(markup.replaceAll(/<style>.*?<\/style>/g, "").replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " "))

/** Values of an attribute, in order. */
const valuesOf = (markup: string, name: string) =>
  [...markup.matchAll(new RegExp(` ${name}="([^"]*)"`, "g"))].map(([, value = ""]) => unescaped(value))

/** Reads the first QR code of a page as a camera would: from its dark and white dots. */
const scanned = (markup: string): string | undefined => {
  const svg = /<svg class="qr".*?<\/svg>/s.exec(markup)?.[0] ?? ""
  const side = Number(/viewBox="-4 -4 (\d+) /.exec(svg)?.[1])
  const scale = 4
  const pixels = new Uint8ClampedArray((side * scale) ** 2 * 4).fill(255)
  let x = 0
  let y = 0
  for (
    const [, kind, first, second] of (/stroke="#000" d="([^"]*)"/.exec(svg)?.[1] ?? "").matchAll(
      /([Mmh])(-?[\d.]+)(?: ?(-?[\d.]+))?/g
    )
  ) {
    if (kind === "M") [x, y] = [Number(first), Math.floor(Number(second))]
    else if (kind === "m") [x, y] = [x + Number(first), y + Number(second)]
    else {
      for (let row = (y + 4) * scale; row < (y + 5) * scale; row++) {
        for (let column = (x + 4) * scale; column < (x + Number(first) + 4) * scale; column++) {
          pixels.fill(0, (row * side * scale + column) * 4, (row * side * scale + column) * 4 + 3)
        }
      }
      x += Number(first)
    }
  }
  return (jsqr as unknown as typeof jsqr.default)(pixels, side * scale, side * scale)?.data
}

describe("the part that remains", () => {
  it("is what QR code, link, amount and clipboard carry, and no other currency is on offer", () => {
    const text = fragment(views.partial, en)
    assert.strictEqual(scanned(text), linkOf("10000000"))
    assert.include(valuesOf(text, "href"), linkOf("10000000"))
    assert.include(valuesOf(text, "data-copy"), "10.00")
    assert.include(textOf(text), "We received $15.00. Send the remaining 10.00 USDC to the same address.")
    assert.include(textOf(text), "Remaining to send 10.00 USDC")
    assert.notInclude(text, "25.00")
    assert.notInclude(textOf(text), en.useAnother)
  })

  it("can still be paid in the grace after the end, and says so", () => {
    const view = viewOf({
      details: detailsOf("underpaid", 15_000, [paymentOf("underpaid", 15_000)], { expires_at: now - 1 }),
      address: addressFor("10.000000"),
      payable: true
    })
    assert.include(textOf(fragment(view, en)), en.stillPayable)
    assert.strictEqual(scanned(fragment(view, en)), linkOf("10000000"))
  })
})

describe("a screen", () => {
  const main: Readonly<Record<Screen, ReadonlyArray<string>>> = {
    choose: [
      "Choose how to pay",
      "1. Currency 25.00 USDC to send",
      "USDC 2 networks",
      "ETH Ethereum",
      "2. Network for USDC your wallet pays the network fee",
      "Base",
      "Continue",
      "Choose the network on which your wallet holds USDC."
    ],
    waiting: [
      "Pay 25.00 USDC on Base",
      "25.00 USDC",
      "Send only USDC on Base. Anything sent as another token",
      "Open in wallet",
      "QR code for a wallet on another device",
      "Pay by Dec 21, 2025",
      "Simulate payment",
      "Pay half"
    ],
    quote_ended: ["Price needs a refresh", "the address stays the same", "Get new price", "Use another currency"],
    no_price: ["No price right now", "Try again", "Use another currency"],
    confirming: [
      "Payment seen, confirming",
      "You can close this page. Blue Bottle Store will be notified",
      "3 of 12 confirmations",
      "Received $25.00",
      "0x9f2c…41be"
    ],
    partial: ["Part of the payment arrived", "Open in wallet"],
    paid: [
      "Payment complete",
      "Blue Bottle Store has your payment.",
      "Total $25.00",
      "Return to Blue Bottle Store",
      "0x9f2c…41be"
    ],
    overpaid: [
      "Paid, with $5.00 extra",
      "You sent $5.00 more than was due",
      "Where should a refund go?",
      "Your address on Base"
    ],
    expired: [
      "This payment has expired",
      "Nothing was received. Do not send to the old address. If you have already sent your payment, do not pay again",
      "Start again"
    ],
    late: [
      "Your payment arrived late",
      "We received $25.00 after the deadline",
      "return it. Do not pay again.",
      "Contact Blue Bottle Store",
      "0x9f2c…41be",
      "Save address"
    ],
    expired_partial: [
      "Time ran out, part of the payment arrived",
      "We received $15.00",
      "Do not pay again.",
      "Contact Blue Bottle Store"
    ],
    canceled: ["This invoice was canceled", "Do not send anything.", "Where should a refund go?"],
    reversed: ["Your payment was reversed by the network", "you can pay again.", "Open in wallet"],
    rejected: ["We received something else", "does not accept", "Open in wallet", "Contact Blue Bottle Store"]
  }

  for (const screen of screens) {
    it(`${screen} says what happened and what to do`, () => {
      const text = textOf(fragment(views[screen], en))
      for (const part of main[screen]) assert.include(text, part)
    })
  }

  it("has one heading, one main action, and what the script needs", () => {
    for (const screen of screens) {
      const text = fragment(views[screen], en)
      assert.lengthOf(text.match(/<h1 /g) ?? [], 1, screen)
      // Without a script the "Check payment" button comes beside it.
      const acts = text.replaceAll(/<noscript>.*?<\/noscript>/g, "").match(/class="(?:button )?main[" ]/g) ?? []
      assert.isAtMost(acts.length, 1, screen)
      const section = /^<section ([^>]*)>/.exec(text)?.[1] ?? ""
      assert.match(
        section,
        new RegExp(`^data-screen="${screen}" data-title="[^"]+ · Blue Bottle Store" data-say="[^"]+"`)
      )
      assert.match(section, new RegExp(` data-poll="3" data-now="${now}"( data-price="[^"]*")?$`))
    }
  })

  it("tells the script from which event on to follow, and the price it shows, if any", () => {
    const told = (view: View) => /data-now="\d+"([^>]*)>/.exec(fragment(view, en))?.[1]
    assert.strictEqual(told({ ...views.choose, since: "evt_1-2" }), ` data-since="evt_1-2"`)
    assert.strictEqual(told(views.waiting), ` data-price="base 123 49.990000 1766320796 available"`)
    assert.strictEqual(told(views.paid), ` data-price=""`)
  })

  it("is that of a paid invoice where a little less came than was due, within the merchant's tolerance", () => {
    const view = viewOf({ details: detailsOf("paid", 24_900, [paymentOf("confirmed", 24_900)]), address: null })
    assert.strictEqual(view.screen, "paid")
    assert.include(textOf(fragment(view, en)), "Payment complete")
    assert.include(textOf(fragment(view, en)), "Total $25.00 Received $24.90")
    assert.notInclude(textOf(fragment(view, en)), "remaining")
  })

  it("has on paper what it shortens: the invoice id and every transaction", () => {
    const { invoice_id, payments } = views.paid.details
    const whole = valuesOf(fragment(views.paid, en), "data-whole")
    assert.deepStrictEqual(whole, [invoice_id, ...payments.map(({ payer_tx_hash }) => payer_tx_hash)])
  })

  it("calls two invoices that were made in one minute by different names", () => {
    const names = ["01a20102-1d1f-7000-a4b4-20d3bc392168", "01a20102-de15-7000-95f6-44f7130d594a"].map((id) => {
      const details = { ...views.paid.details, invoice_id: InvoiceId.make(id) }
      return /#[0-9a-f]{8}/.exec(fragment({ ...views.paid, details }, en))?.[0]
    })
    assert.deepStrictEqual(names, ["#bc392168", "#130d594a"])
  })

  it("shows the whole address, in pieces that are copied as one", () => {
    const text = fragment(views.waiting, en)
    assert.include(text.replaceAll(/<\/?span>/g, ""), `dir="ltr">${receiver}</bdi>`)
    assert.include(valuesOf(text, "data-copy"), receiver)
    assert.lengthOf(textOf(text).match(/\bBase\b/g) ?? [], 3)
    const pieces = [...text.matchAll(/<span>(\w+)<\/span>/g)].map(([, piece]) => piece!)
    assert.deepStrictEqual(pieces.map(({ length }) => length), [6, ...Array.from({ length: 9 }, () => 4)])
  })

  it("names buttons and codes for who cannot see them", () => {
    const names = valuesOf(fragment(views.waiting, en), "aria-label")
    for (
      const name of [
        "Copy: Amount to send",
        "Copy: Address on Base",
        "QR code to pay 25.00 USDC to 0x8c9D…781D on Base"
      ]
    ) {
      assert.include(names, name)
    }
  })

  it("carries the address alone under its tab, and where there is no link", () => {
    assert.strictEqual(scanned(fragment({ ...views.waiting, tab: "address" }, en)), receiver)
    const plain = fragment(
      viewOf({ details: detailsOf("unpaid"), address: addressFor("25.000000", { payment_uri: null }) }),
      en
    )
    assert.strictEqual(scanned(plain), receiver)
    assert.notInclude(plain, en.paymentLink)
    assert.notInclude(plain, en.openInWallet)
  })

  it("has the memo as a value of its own", () => {
    const address = addressFor("25.000000", { network: "ton", memo: "T-4711", requires_memo: true })
    const text = fragment(viewOf({ details: detailsOf("unpaid"), address }), en)
    assert.include(valuesOf(text, "data-copy"), "T-4711")
    assert.include(textOf(text), en.memoNeeded)
    assert.include(textOf(text), en.memoFromExchange)
    const explained = valuesOf(text, "aria-describedby")
    assert.lengthOf(explained, 1, "the copy button is explained by the note")
    assert.include(valuesOf(text, "id"), explained[0])
  })

  /** The networks of a currency: their ids, which is chosen, which cannot be, and what is said beside each. */
  const networksOf = (more: Partial<View>) => {
    const text = fragment({ ...views.choose, ...more }, en)
    const radios = [
      ...text.matchAll(/<input type="radio" name="token" value="(\d+)" required( checked)?( disabled)?/g)
    ]
    return {
      text: textOf(text),
      tiles: [...text.matchAll(/<a href="([^"]*)" data-tile data-find="[^"]*"( aria-current="true")?/g)],
      ids: radios.map(([, id]) => id),
      chosen: radios.filter(([, , checked]) => checked).map(([, id]) => id),
      closed: radios.filter(([, , , disabled]) => disabled).map(([, id]) => id)
    }
  }

  it("has a link for each currency, and below it the networks of one: of the one asked for, else chosen before", () => {
    const { chosen, ids, tiles } = networksOf({})
    assert.deepStrictEqual(
      tiles.map(([, link = ""]) => unescaped(link)),
      ["USDC", "ETH", "USDT", "AVAX", "TON", "ADA", "SUI"].map((symbol) => `${views.choose.path}?currency=${symbol}`)
    )
    assert.deepStrictEqual(tiles.map(([, , current]) => current !== undefined), tiles.map((_, index) => index === 0))
    assert.deepStrictEqual([ids, chosen], [["1", "2"], ["1"]])
    assert.deepStrictEqual(networksOf({ preselectedToken: 2 }).chosen, ["2"])
    assert.include(networksOf({ preselectedToken: 3 }).text, "Continue with ETH on Ethereum")
    assert.include(networksOf({ preselectedToken: 2, currency: "ETH" }).text, "Continue with ETH on Ethereum")
    assert.deepStrictEqual(networksOf({ currency: "no such coin" }).ids, ["1", "2"])
  })

  it("lists networks by what their transfer costs, unknown ones last, and says what it costs and how long it takes", () => {
    const usdc = (id: number, network: Network, more: Partial<TokenOption>) =>
      tokenOptionOf(id, "USDC", "USD Coin", network, more)
    const tokens = [
      usdc(1, "base", { network_fee_usd: 0.02, expected_seconds: 20 }),
      usdc(2, "solana", {}),
      usdc(3, "ethereum", { network_fee_usd: 0.4, expected_seconds: 144 }),
      usdc(4, "arbitrum", { network_fee_usd: 0.003, expected_seconds: 10 }),
      usdc(5, "avalanche", { network_fee_usd: 0.001, unavailable_reason: "NETWORK_DEGRADED" })
    ]
    const found = networksOf({ tokens, estimates: new Map(tokens.map(({ id }) => [id, "25.000000"])) })
    assert.deepStrictEqual([found.ids, found.chosen], [["4", "1", "3", "2", "5"], ["4"]])
    for (
      const words of [
        "Arbitrum about 10 s fee under $0.01 lowest fee",
        "Base about 20 s fee about $0.02",
        "Ethereum about 3 min fee about $0.40",
        "Solana about 2 s",
        "Avalanche network problems"
      ]
    ) assert.include(found.text, words)
    assert.lengthOf(found.text.match(/lowest fee/g) ?? [], 1)
    const alike = tokens.slice(0, 3).map((method) => ({ ...method, network_fee_usd: 0.02 }))
    assert.notInclude(networksOf({ tokens: alike }).text, "lowest fee")
  })

  it("keeps what cannot be paid with, and says why", () => {
    for (
      const [currency, id, reason] of [
        ["TON", "5", "network problems"],
        ["ADA", "6", "minimum $30.00"],
        ["SUI", "7", "no price right now"]
      ] as const
    ) {
      const found = networksOf({ currency })
      assert.deepStrictEqual([found.ids, found.closed, found.chosen], [[id], [id], []])
      assert.include(found.text, reason)
      assert.notInclude(found.text, "Continue")
    }
  })

  it("keeps more than eight currencies behind a word, with a search that tells how many are found", () => {
    const coins = (count: number) => ({
      tokens: Array.from({ length: count }, (_, index) => tokenOptionOf(index + 1, `TK${index}`, "Token", "base"))
    })
    const text = (more: Partial<View>) => fragment({ ...views.choose, ...more }, en)
    assert.notMatch(text(coins(8)), /data-filter|<details/)
    const many = text(coins(9))
    assert.match(many, /<details id="more" class="box"><summary>More currencies<\/summary><ul[^>]*><li><a [^>]*TK8"/)
    assert.match(text({ ...coins(9), currency: "TK8" }), /<details id="more" class="box" open>/)
    const found = JSON.parse(valuesOf(many, "data-found")[0]!)
    assert.deepStrictEqual(found.slice(0, 3), ["Nothing found", "1 currency", "2 currencies"])
    assert.lengthOf(found, 10)
  })

  it("names two tokens of one symbol on one network apart", () => {
    const tokens = [tokenOptionOf(1, "USDC", "USD Coin", "base"), tokenOptionOf(2, "USDC", "Bridged USDC", "base")]
    assert.include(networksOf({ tokens }).text, "Base USD Coin")
    assert.include(networksOf({ tokens }).text, "Base Bridged USDC")
  })

  it("asks the payor to turn to the merchant where nothing can be paid with", () => {
    const closed = tokenOptionOf(1, "USDC", "USD Coin", "base", { unavailable_reason: "NO_WALLET" })
    for (const ways of [[], [closed]]) {
      const text = fragment({ ...views.choose, tokens: ways }, en)
      assert.include(textOf(text), "or contact Blue Bottle Store.")
      assert.notInclude(text, "class=\"main\"")
    }
  })

  it("does not ask for the rest of a part payment where nothing can be paid with", () => {
    const { details } = views.partial
    const told = (tokens: View["tokens"]) => textOf(fragment({ ...views.choose, details, tokens }, en))
    assert.include(
      told([tokenOptionOf(1, "USDC", "USD Coin", "base")]),
      "Send the remaining $10.00 to the same address."
    )
    const disabled = told([])
    assert.include(disabled, "We received $15.00.")
    assert.notInclude(disabled, "Send the remaining")
  })

  it("pays with play money only what can be paid, and late once it has ended", () => {
    const offered = (screen: Screen) =>
      [...fragment({ ...views[screen], simulator: true }, en).matchAll(/name="what" value="(\w+)"/g)].map(([, what]) =>
        what
      )
    assert.deepStrictEqual(offered("choose"), ["pay", "partial", "overpay", "late"])
    assert.deepStrictEqual(offered("partial"), ["pay", "partial", "overpay", "late"])
    assert.deepStrictEqual(offered("expired"), ["late"])
    for (const screen of ["paid", "canceled", "expired_partial"] as const) assert.deepStrictEqual(offered(screen), [])
    assert.notInclude(fragment(views.choose, en), en.simulateTitle)
  })

  it("tells with the list what happened before, also to who cannot see it", () => {
    const said = (status: "reverted" | "rejected" | null) => {
      const payments = status === null ? [] : [paymentOf(status, 0)]
      const text = fragment(viewOf({ details: detailsOf("unpaid", 0, payments), address: null }), en)
      assert.strictEqual(text.includes("class=\"note warn\""), status !== null)
      return valuesOf(text, "data-say")[0]
    }
    assert.strictEqual(said(null), "Choose how to pay")
    assert.strictEqual(said("reverted"), `Choose how to pay. ${en.reversedTitle}. ${en.payAgain}`)
    assert.strictEqual(said("rejected"), `Choose how to pay. ${en.rejected("Blue Bottle Store")}`)
  })

  it("calls the amount the same before and after it was paid", () => {
    for (const screen of ["waiting", "paid"] as const) assert.include(textOf(pageOf(views[screen])), "Total $25.00")
  })

  it("says which network has trouble", () => {
    assert.include(
      textOf(fragment({ ...views.confirming, degradedNetwork: "solana" }, en)),
      "Solana has problems right now."
    )
  })

  it("tells of a refund address that was kept, or was none", () => {
    assert.include(textOf(fragment({ ...views.late, refund: "saved" }, en)), en.refundSaved)
    const refused = fragment({ ...views.late, refund: "refused" }, en)
    assert.include(textOf(refused), "That is not an address on Base.")
    assert.include(refused, " aria-invalid=\"true\" aria-describedby=\"refused\"")
  })

  it("keeps the session in every link and form where the cookie did not come back", () => {
    const text = pageOf({ ...views.waiting, query: "?session_token=pst_a&signature=b.1&c=1" })
    const own = [...valuesOf(text, "href"), ...valuesOf(text, "action"), ...valuesOf(text, "data-state")].filter((
      url
    ) => url.startsWith("/pay/"))
    assert.isAbove(own.length, 5)
    const bare = own.filter((url) => !url.includes("session_token=pst_a&signature=b.1&c=1"))
    assert.deepStrictEqual(bare, [views.waiting.path])
    assert.include(text, "<input type=\"hidden\" name=\"session_token\" value=\"pst_a\">")
  })

  it("names a failure that is no payment, as a page and as a fragment", () => {
    assert.include(textOf(problemPage("session_ended", en, assets)), en.sessionEndedTitle)
    assert.include(problemPage("failed", en, assets, "/pay/1"), "href=\"/pay/1\"")
    assert.match(problemFragment("session_ended", en).toString(), /^<section data-screen="ended" /)
    assert.match(problemFragment("not_found", en).toString(), /^<section data-screen="not_found" /)
  })
})

const attacks = [
  "<script>alert(1)</script>",
  "\"><img src=x onerror=alert(1)>",
  "' onmouseover='alert(1)",
  "</title><script>x</script>",
  "</style><script>x</script>",
  "javascript:alert(1)",
  "{{7*7}}",
  "${7*7}",
  "<!--",
  "\u202Egnp.exe",
  "&lt;script&gt;"
]

/** A view with `text` wherever a merchant, a payor, a chain or a plugin writes one. */
const poisoned = (view: View, text: string): View => ({
  ...view,
  details: {
    ...view.details,
    description: text,
    invoice_title: text,
    invoice_footer: text,
    merchant_name: text,
    merchant_email: text,
    branding: {
      name: text,
      logo_uri: text,
      accent: text,
      support_email: text,
      domain: text,
      domain_verified_at: view.createdAt
    },
    payment_return_url: text,
    payments: view.details.payments.map((payment) => ({ ...payment, payer_tx_hash: text, explorer_url: text }))
  },
  tokens: view.tokens.map((way) => ({ ...way, token_symbol: text, token_name: text })),
  token: view.token === null ? null : { ...view.token, symbol: text },
  address: view.address === null ? null : { ...view.address, temp_address: text, memo: text, payment_uri: text },
  returnUrl: text,
  socketUrl: text,
  query: `?session_token=${encodeURIComponent(text)}`
})

describe("text of others", () => {
  const tagsOf = (markup: string) =>
    [...markup.replaceAll(/<style>.*?<\/style>/g, "").matchAll(/<([a-z!/][^\s>]*)/g)].map(([, tag]) => tag)

  it("adds no element, no handler, no style and no address to any screen", () => {
    for (const screen of screens) {
      const clean = tagsOf(pageOf(poisoned(views[screen], "x")))
      for (const attack of attacks) {
        const made = pageOf(poisoned(views[screen], attack))
        // An address is cut into pieces by its length.
        const withoutPieces = (tags: ReadonlyArray<string | undefined>) =>
          tags.filter((tag) => tag !== "span" && tag !== "/span")
        assert.deepStrictEqual(withoutPieces(tagsOf(made)), withoutPieces(clean), `${screen}: ${attack}`)
        const inTags = made.replaceAll(/<style>.*?<\/style>/g, "").replaceAll(/"[^"]*"/g, "\"\"")
        for (const [tag] of inTags.matchAll(/<[^>]*>/g)) assert.notMatch(tag, /\s(?:on[a-z]+|style)\s*=/i)
        for (const url of [...valuesOf(made, "href"), ...valuesOf(made, "src"), ...valuesOf(made, "action")]) {
          assert.match(url, /^(?:\/pay\/|\/assets\/|data:image\/png;base64,)/, attack)
        }
      }
    }
  })

  it.prop("stays the same text for the reader, whatever it is", [Schema.NonEmptyString], ([text]) => {
    const clean = text.replaceAll("\0", "\uFFFD")
    const made = pageOf({ ...views.waiting, details: { ...views.waiting.details, invoice_title: text } })
    assert.include(unescaped(made), `<bdi>${clean}</bdi>`)
    assert.strictEqual(tagsOf(made).join(), tagsOf(pageOf(views.waiting)).join())
  })

  it("asks no other site for a logo, and shows one that is in the page", () => {
    const withLogo = (logo_uri: string) => ({
      ...views.waiting,
      details: { ...views.waiting.details, branding: { ...views.waiting.details.branding, logo_uri } }
    })
    assert.notInclude(pageOf(withLogo("https://shop.example/logo.png")), "logo.png")
    assert.include(pageOf(withLogo("data:image/png;base64,iVBORw0KGgo=")), "src=\"data:image/png;base64,iVBORw0KGgo=\"")
  })

  it("leads to explorers without telling them where from", () => {
    assert.include(fragment(views.paid, en), "target=\"_blank\" rel=\"noreferrer noopener\"")
  })
})

describe("QR codes", () => {
  it("say exactly what they were made of", () => {
    const texts = [
      "0x8c9D3F0b1a2E4C5d6f708192A3b4c5D6E7f8781D",
      linkOf("123456789123456"),
      "solana:7Np41oeYqPefeNQEHSv1UDhYrehxin3NStELsSKCT4K2?amount=25.000001&spl-token=EPjF&reference=82ZJ&label=Caf%C3%A9",
      "ton://transfer/UQAA?jetton=EQBB&amount=25000000&text=T-4711",
      "web+cardano:addr1qx2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzer3?amount=61.3"
    ]
    for (const text of texts) {
      assert.strictEqual(scanned(qr(text, "L", "").toString()), text)
      assert.strictEqual(scanned(qr(text, "M", "").toString()), text)
    }
  })

  it("of every address can be read, whatever its digits are", () => {
    for (let n = 0; n < 24; n++) {
      const digits = createHash("sha256").update(String(n)).digest("hex")
      const address = `0x${digits.slice(0, 40)}`
      const link = `ethereum:${address}@8453/transfer?address=0x${digits.slice(24)}&uint256=${n}0000000`
      assert.strictEqual(scanned(qr(address, "M", "").toString()), address)
      assert.strictEqual(scanned(qr(link, "L", "").toString()), link)
    }
  })

  it("of a token's link on an EVM network have 41 modules, and of an address 29", () => {
    assert.include(qr(linkOf("25000000"), "L", "").toString(), "viewBox=\"-4 -4 49 49\"")
    assert.include(qr(receiver, "M", "").toString(), "viewBox=\"-4 -4 37 37\"")
  })
})

describe("amounts", () => {
  it("of tokens are exact to the last digit, in every language", () => {
    assert.strictEqual(tokens("en", "0.000000000000000001"), "0.000000000000000001")
    assert.strictEqual(tokens("en", "123456789.123456"), "123,456,789.123456")
    assert.strictEqual(tokens("de", "123456789.123456"), "123.456.789,123456")
    assert.strictEqual(tokens("ar", "123456789.123456"), "123,456,789.123456")
    assert.strictEqual(tokens("en", "25.000000"), "25.00")
    assert.strictEqual(tokens("en", "7"), "7.00")
    assert.strictEqual(tokens("en", "123456789012345678901234567890.5"), "123,456,789,012,345,678,901,234,567,890.50")
    assert.strictEqual(plainTokens("123456789.1234560"), "123456789.123456")
  })

  it("of dollars have a third digit only where it is not zero", () => {
    assert.strictEqual(dollars("en", "49.990"), "$49.99")
    assert.strictEqual(dollars("en", "49.999"), "$49.999")
    assert.strictEqual(dollars("en", "1000000.000"), "$1,000,000.00")
    assert.strictEqual(dollars("de", "1234.500"), "1.234,50\u00A0$")
    assert.strictEqual(dollars("ar", "25.000"), "25.00\u00A0US$")
  })

  it("that are about right say so, and never round a payment away", () => {
    assert.strictEqual(approximateTokens("en", "0.007134567891234567"), "0.0071345")
    assert.strictEqual(approximateTokens("en", "25.000000"), "25.00")
    assert.strictEqual(approximateTokens("en", "1234567.891234"), "1,234,567.89")
    assert.strictEqual(approximateTokens("en", "0.000000000000000001"), "0.000000000000000001")
  })

  it("of time are clocks and moments", () => {
    assert.deepStrictEqual([0, 9, 272, 3_600, 43_199].map(clock), ["0:00", "0:09", "4:32", "1:00:00", "11:59:59"])
    assert.strictEqual(calendarDay("de", now), "21. Dez.")
    assert.match(calendarDay("ar", now), /^21 \S+$/u)
    assert.match(moment("en", now), /^Dec 21, 2025, 12:35\sPM UTC$/u)
  })
})

describe("languages", () => {
  it("have every screen, with the page's language and direction named", () => {
    for (const texts of languages) {
      for (const screen of screens) {
        const text = pageOf(views[screen], texts)
        assert.include(text, `<html lang="${texts.locale}" dir="${texts.direction}">`)
        assert.notMatch(text, /undefined|NaN|\[object|function/)
        assert.include(text, `<option value="${texts.locale}" lang="${texts.locale}" selected>`)
      }
    }
  })

  it("from right to left keep names and amounts in their own order", () => {
    const text = fragment(views.partial, ar)
    assert.include(text, "\u206810.00 USDC\u2069")
    assert.include(text, "\u2068Base\u2069")
    assert.include(text, "<bdi class=\"value\" dir=\"ltr\">10.00 USDC</bdi>")
  })

  it("from left to right keep their order around a name from right to left", () => {
    const named = (name: string) =>
      textOf(
        fragment({
          ...views.paid,
          details: { ...views.paid.details, branding: { ...views.paid.details.branding, name } }
        }, en)
      )
    assert.include(named("מתבשל"), "\u2068מתבשל\u2069 has your payment.")
    assert.include(named("Bottle"), " Bottle has your payment.")
  })

  it("count by their own rules", () => {
    assert.deepStrictEqual([1, 2].map(en.minutesLeft), [
      "The price holds for 1 more minute",
      "The price holds for 2 more minutes"
    ])
    assert.lengthOf(new Set([1, 2, 3, 11].map((count) => ar.found(count).replaceAll(/\d+/g, ""))), 4)
  })
})

describe("a decision of the merchant", () => {
  const refundOf = (state: "awaited" | "under_way" | "done", txHash: string | null = null) =>
    ({ kind: "refund", state, tokenAmount: "4.99", symbol: "USDC", txHash, explorerUrl: null }) as const
  const hash = `0x${"ab".repeat(32)}`

  it("stands on the page of what came late, in part or to a canceled invoice, in every language", () => {
    for (const texts of languages) {
      for (const screen of ["late", "expired_partial", "canceled", "paid"] as const) {
        const decisions = [{ kind: "accepted", at: 1_766_320_500 } as const, refundOf("under_way", hash)]
        const drawn = pageOf({ ...views[screen], decisions }, texts)
        assert.include(drawn, moment(texts.locale, 1_766_320_500), `${screen} ${texts.locale}`)
        assert.include(drawn, tokens(texts.locale, "4.99"))
        assert.include(drawn, hash)
        assert.isAtMost(brotliCompressSync(drawn).byteLength, 8_192)
      }
    }
  })

  it("is asked for no address again where a refund is under way, and never shows a link that claims it", () => {
    const before = pageOf(views.late)
    assert.include(before, "name=\"address\"")
    for (const state of ["awaited", "under_way", "done"] as const) {
      const drawn = pageOf({ ...views.late, decisions: [refundOf(state)] })
      assert.notInclude(drawn, "name=\"address\"", state)
      assert.notInclude(drawn, "/claim/")
    }
  })
})

describe("the shop's domain", () => {
  const withDomain = (branding: object, payment_return_url: string | null): string =>
    String(shopHeader({
      shopPrice: null,
      details: {
        ...views.waiting.details,
        payment_return_url,
        branding: { ...views.waiting.details.branding, ...branding }
      }
    }, en))

  it("is named with what was checked and when, while it is verified, without a script", () => {
    const header = withDomain(
      { domain: "xn--pple-43d.example", domain_verified_at: 1_766_320_500 },
      "https://shop.example/"
    )
    assert.include(header, "<bdi dir=\"ltr\">xn--pple-43d.example</bdi></summary>")
    const text = textOf(header)
    assert.include(text, "takes payments for this shop on this page. Checked")
    assert.include(text, "Dec 21, 2025, 12:35 PM UTC")
    assert.notInclude(text, "Returns to")
  })

  it("is the one that the payor returns to, without a sign, where none is verified", () => {
    const none = { domain: null, domain_verified_at: null }
    for (const branding of [none, { ...none, domain: "evil.example" }]) {
      const header = withDomain(branding, "https://shop.example:8443/done?domain=%E2%9C%93")
      assert.include(textOf(header), "Returns to shop.example:8443")
      assert.notInclude(header, "class=\"trust\"")
      assert.notInclude(header, "evil.example")
    }
    assert.include(textOf(withDomain(none, "https://аррӏе.example/")), "xn--")
    for (const nowhere of [null, "no address"]) assert.notInclude(withDomain(none, nowhere), "Returns to")
  })
})

describe("the accent", () => {
  it("is made for the grounds that the stylesheet has", () => {
    for (const [page, card, field] of [backgrounds.light, backgrounds.dark]) {
      assert.include(css, `--page:${page};--card:${card};--field:${field};`)
    }
  })
})

describe("the first view", () => {
  const brotli = (text: string) =>
    brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }).byteLength

  it("fits its budget on every screen and in every language: 8 KB of HTML with at most 4 KB of style", () => {
    assert.isAtMost(gzipSync(css).byteLength, 4_096)
    for (const texts of languages) {
      for (const screen of screens) {
        assert.isAtMost(brotli(pageOf(views[screen], texts)), 8_192, `${screen} ${texts.locale}`)
      }
    }
  })

  it("fits with the proof of the payee", () => {
    for (const texts of languages) {
      for (const isPhone of [false, true]) {
        assert.isAtMost(brotli(pageOf({ ...views.waiting, payeeProof: proof, isPhone }, texts)), 8_192, texts.locale)
      }
    }
  })

  it("fits with fifty ways to pay", () => {
    const fifty = Array.from(
      { length: 50 },
      (_, index) =>
        tokenOptionOf(index + 1, `TK${index}`, `Token number ${index}`, manyTokenOptions[index % 8]!.network)
    )
    assert.isAtMost(brotli(pageOf({ ...views.choose, tokens: fifty })), 8_192)
  })

  it("holds nothing that its Content-Security-Policy forbids", () => {
    for (const screen of screens) {
      const text = pageOf(views[screen])
      assert.lengthOf(text.match(/<style>/g) ?? [], 2)
      assert.lengthOf(text.match(/<script/g) ?? [], 1)
      assert.notMatch(text.replaceAll(/<style>.*?<\/style>/g, ""), /\s(?:style|on[a-z]+)=/)
      assert.notMatch(css, /url\(|@import|expression/)
    }
  })
})
