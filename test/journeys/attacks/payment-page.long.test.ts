/**
 * Goal: the payment page shows a payor its own invoice and nothing else, runs nothing of anybody's, tells no secret,
 * and takes orders only from its own forms. Method: attack group K, each case by its number, and the page's walks
 * without a script, against a running service that stands behind https and a path, as a proxy would show it. No
 * browser: `test/browser` has what needs one.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { createHash } from "node:crypto"
import { connect, migratedDatabase } from "../../support/Database.ts"
import { makeReceiver } from "../../support/Receiver.ts"
import {
  configOf,
  type Service,
  startService,
  temporaryDirectory,
  type TestRequest,
  type TestResponse
} from "../../support/Service.ts"
import { asForm, formType, makePayor, type Payor, screenIn } from "../Payor.ts"
import { assertStatus, type Invoice, newInvoice, openShop, requestAddress, type Shop } from "../Shop.ts"
import { assertHarmless } from "./Assertions.ts"

const publicUrl = "https://pay.example/shop"

class Desk extends Context.Service<Desk, {
  readonly service: Service
  readonly shop: Shop
  readonly sql: SqlClient.SqlClient
}>()("test/Desk") {
  static readonly layer = Layer.effect(
    Desk,
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const receiver = yield* makeReceiver()
      const service = yield* startService({
        directory: yield* temporaryDirectory,
        config: configOf({
          database: database.url,
          receivers: [receiver.host],
          chains: [{ use: "simulated" }],
          http: { publicUrl }
        })
      })
      const sql = Context.get(yield* Layer.build(connect(database)), SqlClient.SqlClient)
      const shop = yield* openShop(service, receiver, (yield* service.keys).merchant_key)
      return { service, shop, sql }
    })
  )
}

const invoiceFor = (fields: object = {}) =>
  Effect.flatMap(Desk, ({ shop }) => newInvoice(shop, { amount_usd: 25, ...fields }))

const payorOf = (refuses = false) => Effect.map(Desk, ({ service }) => makePayor(service.url, publicUrl, refuses))

const urlOf = ({ created }: Invoice): string => created.payment_url
const queryOf = (invoice: Invoice): string => new URL(urlOf(invoice)).search
const pathOf = ({ id }: Invoice): string => `/shop/pay/${id}`

/** An invoice on the screen of a new browser. */
const opened = Effect.fnUntraced(function*(fields: object = {}) {
  const invoice = yield* invoiceFor(fields)
  const payor = yield* payorOf()
  const page = yield* payor.open(urlOf(invoice))
  assert.strictEqual(page.status, 200, page.text)
  return { invoice, payor, page, path: pathOf(invoice) }
})

const merchant = (path: string, body?: unknown, method?: string) =>
  Effect.flatMap(Desk, ({ service, shop }) =>
    Effect.map(
      service.call(path, {
        headers: { "x-api-key": shop.key },
        ...(body === undefined ? {} : { body }),
        ...(method === undefined ? {} : { method })
      }),
      (answer) => assertStatus(200, answer)
    ))

const brand = (branding: object | null) => merchant("/api/v1/merchant/settings", { branding }, "PATCH")

/** Id of a token of the currency whose networks the page shows, as its radio button names it. */
const offeredId = ({ text }: TestResponse, symbol: string, network = "base"): string => {
  const rows = [
    ...text.matchAll(
      /<input type="\w+" name="token" value="(\d+)"(?:[^>]* data-go="([^"]*)"|>.*?<button[^>]*>([^<]*))/g
    )
  ]
  const row = rows.find(([, , way, only = way]) => new RegExp(`\\b${symbol}\\b.*${network}`, "i").test(only ?? ""))
  assert.isDefined(row, `${symbol} on ${network} is offered`)
  return row[1]!
}

/** Chooses dollars on Base; answers the page with the address. */
const chosen = Effect.fnUntraced(function*(fields: object = {}) {
  const made = yield* opened(fields)
  const page = yield* made.payor.send(made.path, { action: "choose", token: offeredId(made.page, "USDC") })
  return { ...made, page }
})

const simulate = (payor: Payor, path: string, what: string) => payor.send(path, { action: "simulate", what })

const directivesOf = ({ headers }: TestResponse) =>
  new Map(
    String(headers["content-security-policy"]).split("; ").map((directive) => {
      const [name = "", ...sources] = directive.split(" ")
      return [name, sources] as const
    })
  )

const decoded = (text: string) =>
  text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", "\"").replaceAll("&#39;", "'").replaceAll(
    "&amp;",
    "&"
  )

/** An amount without the zeros at its end. */
const plain = (amount: string) => amount.includes(".") ? amount.replace(/0+$/, "").replace(/\.$/, "") : amount

/** What the payor would copy, in the order of the fields: the amount, then the address. */
const copies = ({ text }: TestResponse) =>
  [...text.matchAll(/data-copy="([^"]*)"/g)].map(([, value = ""]) => decoded(value))

const isPage = (answer: TestResponse, status: number, what = "") => {
  assertHarmless(answer, what)
  assert.strictEqual(answer.status, status, `${what} ${answer.text.slice(0, 300)}`)
  assert.strictEqual(answer.headers["content-type"], "text/html; charset=utf-8", what)
  assert.match(answer.text, /^<(?:!doctype html|section data-screen=)/, what)
  assert.strictEqual(answer.headers["cache-control"], "no-store", what)
}

/** Rows that a payor's orders leave of an invoice. */
const rowsOf = Effect.fnUntraced(function*({ id }: Invoice) {
  const { sql } = yield* Desk
  const [row] = yield* Effect.orDie(sql<any>`
    SELECT (SELECT count(*)::int FROM quotes WHERE invoice_id::text = ${id}) AS quotes,
      (SELECT count(*)::int FROM receive_targets WHERE invoice_id::text = ${id}) AS targets,
      (SELECT count(*)::int FROM refund_destinations WHERE invoice_id::text = ${id}) AS refunds,
      (SELECT count(*)::int FROM invoices) AS invoices`)
  return row
})

const expire = ({ id }: Invoice, ago: number) =>
  Effect.flatMap(Desk, ({ sql }) =>
    Effect.orDie(sql`UPDATE invoices SET status = 'expired', version = version + 1,
      expires_at = floor(extract(epoch FROM now()))::bigint - ${ago} WHERE id = ${id}::uuid`))

const hostile = "'\"><b-a-d data-canary=\"1\" onclick='x'></b-a-d></style></script>"

const assertText = ({ text }: TestResponse, what: string) => {
  assert.notInclude(text, "<b-a-d", what)
  assert.notInclude(text, "\" data-canary", what)
}

layer(Desk.layer, { excludeTestServices: true })("K. the payment page", (it) => {
  it.effect("107. is in nobody's frame, but of the origins that its merchant names", () =>
    Effect.gen(function*() {
      const { page, path, payor } = yield* opened()
      assert.deepStrictEqual(directivesOf(page).get("frame-ancestors"), ["'none'"])
      yield* brand({ frame_ancestors: ["https://shop.example", "https://other.example:8443"] })
      for (const each of [path, `${path}/state`]) {
        assert.deepStrictEqual(
          directivesOf(yield* payor.ask(each)).get("frame-ancestors"),
          ["https://shop.example", "https://other.example:8443"]
        )
      }
      yield* brand(null)
      assert.deepStrictEqual(directivesOf(yield* payor.ask("/shop/pay/x")).get("frame-ancestors"), ["'none'"])
    }))

  it.effect("108. names what it runs and loads, and runs and loads nothing else", () =>
    Effect.gen(function*() {
      const { page, payor } = yield* chosen({ description: "Plan", invoice_footer: "Thanks" })
      const styles = [...page.text.matchAll(/<style>(.*?)<\/style>/gs)].map(([, css = ""]) =>
        `'sha256-${createHash("sha256").update(css).digest("base64")}'`
      )
      assert.strictEqual(styles.length, 2)
      assert.deepStrictEqual([...directivesOf(page)], [
        ["default-src", ["'none'"]],
        ["script-src", ["'self'"]],
        ["style-src", styles],
        ["img-src", ["'self'", "data:"]],
        ["connect-src", ["'self'", "wss://pay.example"]],
        ["form-action", ["'self'"]],
        ["base-uri", ["'none'"]],
        ["frame-ancestors", ["'none'"]],
        ["require-trusted-types-for", ["'script'"]],
        ["trusted-types", ["pay"]]
      ])
      assert.notMatch(page.text, /\s(?:style|on[a-z]+)=/)
      const [script, ...others] = [...page.text.matchAll(/<script\b([^>]*)>([^<]*)/g)]
      assert.deepStrictEqual([others, script?.[2]], [[], ""])
      const name = /src="(\/shop\/assets\/pay\.[0-9a-f]{12}\.js)"/.exec(script?.[1] ?? "")?.[1] ?? ""
      const loaded = yield* payor.ask(name)
      assert.strictEqual(loaded.status, 200)
      assert.strictEqual(loaded.headers["content-type"], "text/javascript; charset=utf-8")
      assert.strictEqual(loaded.headers["cache-control"], "public, max-age=31536000, immutable")
      assert.strictEqual((yield* payor.ask("/shop/assets/pay.000000000000.js")).status, 404)
      assert.deepStrictEqual([...page.text.matchAll(/(?:src|href)="(https?:[^"]*)"/g)], [])
    }))

  it.effect("109. keeps out of caches, referrers, other windows and plain http, whatever it answers", () =>
    Effect.gen(function*() {
      const { invoice, path, payor } = yield* opened()
      const answers = [
        yield* payor.ask(path),
        yield* payor.ask(`${path}/state`),
        yield* payor.ask(`${path}${queryOf(invoice)}`),
        yield* payor.ask("/shop/pay/nothing"),
        yield* payor.ask(path, asForm({ action: "refresh" })),
        yield* payor.ask(path, asForm("")),
        yield* payor.ask(path, { method: "HEAD" })
      ]
      assert.deepStrictEqual(answers.map(({ status }) => status), [200, 200, 303, 401, 303, 400, 200])
      for (const { headers, status } of answers) {
        assert.deepInclude(headers, {
          "cache-control": "no-store",
          "referrer-policy": "no-referrer",
          "x-content-type-options": "nosniff",
          "strict-transport-security": "max-age=31536000",
          "cross-origin-opener-policy": "same-origin",
          "cross-origin-resource-policy": "same-origin"
        }, String(status))
        assert.match(String(headers["permissions-policy"]), /^camera=\(\), geolocation=\(\), microphone=\(\)/)
      }
      const { attributes } = payor.cookie("till_pay")!
      assert.strictEqual(attributes, `Max-Age=2592000; Path=${path}; HttpOnly; Secure; SameSite=Lax`)
    }))

  it.effect("110. may be read by no other origin, while the payor's API may, without credentials", () =>
    Effect.gen(function*() {
      const { service, shop } = yield* Desk
      const { invoice, path, payor } = yield* opened()
      for (const origin of ["https://evil.example", "null"]) {
        for (const each of [path, `${path}/state`]) {
          const { headers } = yield* payor.ask(each, { headers: { origin } })
          assert.isUndefined(headers["access-control-allow-origin"])
          const asked = { method: "OPTIONS", headers: { origin, "access-control-request-method": "GET" } }
          assert.strictEqual((yield* payor.ask(each, asked)).status, 405)
        }
        const read = yield* service.call("/api/v1/payments/payment-status", { headers: { origin, ...invoice.session } })
        assert.deepStrictEqual(
          [read.headers["access-control-allow-origin"], read.headers["access-control-allow-credentials"]],
          ["*", undefined]
        )
        const list = yield* service.call("/api/v1/invoices", { headers: { origin, "x-api-key": shop.key } })
        assert.isUndefined(list.headers["access-control-allow-origin"])
      }
    }))

  it.effect("111. leads back to the merchant's own address only, with the invoice and its status and no session", () =>
    Effect.gen(function*() {
      const { shop, service } = yield* Desk
      for (
        const payment_return_url of [
          "//evil.example",
          "http://evil.example",
          "javascript:alert(1)",
          "https://a:b@evil.example"
        ]
      ) {
        const made = yield* service.call("/api/v1/invoices", {
          headers: { "x-api-key": shop.key, "idempotency-key": crypto.randomUUID() },
          body: { amount_usd: 5, payment_return_url }
        })
        assert.strictEqual(made.status, 400, payment_return_url)
      }
      const { invoice, path, payor } = yield* chosen({
        payment_return_url: "https://shop.example/done?order=a%20b&x=%2F#top"
      })
      yield* simulate(payor, path, "pay")
      const evil = "?return_url=https://evil.example&payment_return_url=//evil.example&next=//evil.example"
      const paid = yield* payor.open(`${path}${evil}`)
      assert.strictEqual(screenIn(paid), "paid")
      assert.notInclude(paid.text, "evil.example")
      const links = [...paid.text.matchAll(/href="(https:[^"]*)"/g)].map(([, link = ""]) => decoded(link))
        .filter((link) => !link.includes("/tx/") && !link.includes("/receipt?t="))
      assert.deepStrictEqual(links, [
        `https://shop.example/done?order=a%20b&x=%2F&invoice_id=${invoice.id}&status=paid#top`
      ])

      const plain = yield* chosen()
      assert.notInclude((yield* simulate(plain.payor, plain.path, "pay")).text, "shop.example")
    }))

  it.effect("112. shows the address and the amount that the API tells for the same quote, also of what remains", () =>
    Effect.gen(function*() {
      const { shop } = yield* Desk
      const { invoice, page, path, payor } = yield* chosen()
      const token_id = Number(offeredId(yield* payor.open(`${path}?change=1`), "USDC"))
      const asked = Effect.map(
        requestAddress(shop, invoice, { network: "base", token_id }),
        (answer) => assertStatus(200, answer)
      )
      const shows = (shown: TestResponse, told: any) => {
        const [amount = "", address] = copies(shown)
        assert.deepStrictEqual([plain(amount), address], [plain(told.estimated_token_amount), told.temp_address])
        assert.include(decoded(shown.text), `href="${told.payment_uri}"`)
      }
      const before = yield* asked
      shows(page, before)
      const partial = yield* simulate(payor, path, "partial")
      assert.strictEqual(screenIn(partial), "partial")
      const after = yield* asked
      assert.notStrictEqual(after.estimated_token_amount, before.estimated_token_amount)
      assert.strictEqual(after.temp_address, before.temp_address)
      shows(yield* payor.open(path), after)
    }))

  it.effect("shows what merchants send as text", () =>
    Effect.gen(function*() {
      yield* brand({ name: hostile.slice(0, 60), support_email: "x'&quot;onclick=x@shop.example" })
      const fields = {
        description: hostile,
        invoice_title: hostile,
        invoice_footer: hostile,
        customer_id: hostile,
        metadata: { [hostile.slice(0, 40)]: hostile },
        payment_return_url: "https://shop.example/'onclick=x?a=%22%3E%3Cb-a-d"
      }
      const { service, shop } = yield* Desk
      const refused = yield* service.call("/api/v1/invoices", {
        headers: { "x-api-key": shop.key, "idempotency-key": crypto.randomUUID() },
        body: { amount_usd: 5, ...fields }
      })
      assert.strictEqual(refused.status, 400, "a return address with a quote")
      const usual = { ...fields, payment_return_url: "https://shop.example/?a=%22%3E%3Cb-a-d%20data-canary=1" }
      const { page, path, payor } = yield* opened(usual)
      const screens = [
        page,
        yield* payor.open(`${path}/state`),
        yield* payor.send(path, { action: "choose", token: offeredId(page, "USDC") }),
        yield* simulate(payor, path, "partial"),
        yield* simulate(payor, path, "overpay")
      ]
      assert.deepStrictEqual(screens.map(screenIn), ["choose", "choose", "waiting", "partial", "overpaid"])
      for (const shown of screens) assertText(shown, String(screenIn(shown)))
      assert.include(decoded(page.text), hostile)
      assert.notInclude(page.text, JSON.stringify(usual.metadata), "metadata is the merchant's own")
      const ended = yield* opened({ ...usual, invoice_title: undefined })
      yield* expire(ended.invoice, 60)
      assertText(yield* ended.payor.open(ended.path), "expired")
      yield* brand(null)
    }))

  it.effect("shows what payors and strangers send as text, or not at all", () =>
    Effect.gen(function*() {
      const { invoice, path, payor } = yield* chosen()
      const evil = encodeURIComponent(hostile)
      for (const name of ["lang", "tab", "change", "refund", "c", "x", "session_token", "signature"]) {
        for (const each of [path, `${path}/state`]) {
          const answer = assertHarmless(yield* payor.ask(`${each}?${name}=${evil}`), name)
          assertText(answer, name)
          assert.notInclude(JSON.stringify(answer.headers), "b-a-d", name)
        }
      }
      assertText(assertHarmless(yield* payor.ask(`/shop/pay/${evil}`), "id"), "id")
      for (const cookie of ["till_lang", "till_tab", `till_last_${invoice.created.invoice.merchant_id}`, "till_pay"]) {
        const kept = payor.cookie("till_pay")!.value
        const sent = `${cookie === "till_pay" ? "" : `till_pay=${kept}; `}${cookie}=${evil}`
        assertText(assertHarmless(yield* payor.ask(path, { headers: { cookie: sent } }), cookie), cookie)
      }
      const forms = [
        { action: "choose", token: hostile },
        { action: "language", lang: hostile },
        { action: hostile },
        { action: "refund", network: hostile, address: hostile },
        { action: "refund", network: "base", address: hostile },
        { action: "simulate", what: hostile }
      ]
      for (const fields of forms) {
        const answer = yield* payor.ask(path, asForm(fields))
        const shown = answer.status === 303 ? yield* payor.open(answer.headers.location!) : answer
        assertText(assertHarmless(shown, JSON.stringify(fields)), JSON.stringify(fields))
      }
      assert.strictEqual((yield* rowsOf(invoice)).refunds, 0)
    }))

  it.effect("is walked without a script: chosen, paid in part, checked, changed in language, paid, told where refunds go", () =>
    Effect.gen(function*() {
      const { sql } = yield* Desk
      const { invoice, page, path, payor } = yield* opened({ locale: "de" })
      assert.strictEqual(payor.at(), path)
      assert.include(page.text, "<html lang=\"de\"")
      const english = yield* payor.send(path, { action: "language", lang: "en" })
      assert.include(english.text, "<html lang=\"en\"")
      const waiting = yield* payor.send(path, { action: "choose", token: offeredId(page, "USDC") })
      assert.strictEqual(screenIn(waiting), "waiting")
      assert.include(waiting.text, "<noscript><form method=\"get\"")
      const [, link] = copies(waiting)
      const tab = yield* payor.open(`${path}?tab=address`)
      assert.deepStrictEqual([copies(tab)[1], payor.cookie("till_tab")?.value], [link, "address"])
      assert.strictEqual(screenIn(yield* payor.send(path, { action: "refresh" })), "waiting")
      const list = yield* payor.open(`${path}?change=1&currency=ETH`)
      assert.strictEqual(screenIn(list), "choose")
      const ether = offeredId(list, "ETH")
      yield* simulate(payor, path, "partial")
      assert.strictEqual(screenIn(yield* payor.open(path)), "partial")
      const other = yield* payor.ask(path, asForm({ action: "choose", token: ether }))
      assert.deepStrictEqual([other.status, screenIn(yield* payor.open(path))], [303, "partial"], "the route is locked")
      assert.strictEqual(screenIn(yield* simulate(payor, path, "overpay")), "overpaid")
      const refused = yield* payor.send(path, { action: "refund", network: "base", address: "0x12" })
      assert.include(refused.text, "aria-invalid=\"true\"")
      const address = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
      assert.notInclude(
        (yield* payor.send(path, { action: "refund", network: "base", address })).text,
        "aria-invalid=\"true\""
      )
      const kept = yield* Effect.orDie(
        sql<any>`SELECT address FROM refund_destinations WHERE invoice_id = ${invoice.id}`
      )
      assert.deepStrictEqual(kept.map((row) => row.address), [address])
    }))

  it.effect("is walked where cookies do not come back: every link and form carries the session", () =>
    Effect.gen(function*() {
      const invoice = yield* invoiceFor()
      const payor = yield* payorOf(true)
      const page = yield* payor.open(urlOf(invoice))
      assert.deepStrictEqual([page.status, screenIn(page)], [200, "choose"])
      const targets = ({ text }: TestResponse) =>
        [...text.matchAll(/(?:action|href|data-state)="(\/shop\/pay\/[^"]*)"/g)].map(([, target = ""]) =>
          decoded(target)
        )
      const german = yield* payor.send(payor.at(), { action: "language", lang: "de" })
      assert.include(german.text, "<html lang=\"de\"")
      const waiting = yield* payor.send(targets(german).find((target) => !target.includes("/state"))!, {
        action: "choose",
        token: offeredId(german, "USDC")
      })
      assert.deepStrictEqual([screenIn(waiting), waiting.text.includes("<html lang=\"de\"")], ["waiting", true])
      for (const target of [...targets(page), ...targets(waiting)].filter((each) => !each.endsWith(invoice.id))) {
        const { session_token, signature } = invoice.created
        const carried = new URL(target, publicUrl).searchParams
        assert.deepStrictEqual(
          [carried.get("session_token"), carried.get("signature")],
          [session_token, signature],
          target
        )
      }
      const state = targets(waiting).find((target) => target.includes("/state"))!
      assert.strictEqual(screenIn(yield* payor.ask(state)), "waiting")
      assert.strictEqual(screenIn(yield* simulate(payor, payor.at().replace("/state", ""), "pay")), "paid")
      isPage(yield* payor.ask(pathOf(invoice)), 401)
    }))

  it.effect("opens for its own session only, and says the same to every other", () =>
    Effect.gen(function*() {
      const { shop } = yield* Desk
      const invoice = yield* invoiceFor()
      const other = yield* invoiceFor()
      const before = yield* rowsOf(invoice)
      const { session_token: token, signature } = invoice.created
      const stranger = yield* payorOf(true)
      const queries = [
        "",
        "?session_token=",
        `?session_token=${token}`,
        `?signature=${signature}`,
        queryOf(other),
        `${queryOf(other)}&c=1`,
        `?session_token=${token}&signature=${other.created.signature}`,
        `${queryOf(invoice)}0`,
        "?session_token=%00&signature=%00"
      ]
      const form = asForm({ action: "choose", token: "1" })
      const asks: ReadonlyArray<readonly [string, TestRequest]> = [["", {}], ["/state", {}], ["", form], ["", {
        method: "HEAD"
      }]]
      for (const query of queries) {
        for (const [below, sent] of asks) {
          const answer = yield* stranger.ask(`${pathOf(invoice)}${below}${query}`, sent)
          if (sent.method === "HEAD") assert.strictEqual(answer.status, 401)
          else isPage(answer, 401, `${below}${query}`)
          assert.isUndefined(answer.headers["set-cookie"])
        }
      }
      for (const [below, sent] of asks) {
        const headers = {
          ...sent.headers,
          cookie: `till_pay=${other.created.session_token}.${other.created.signature}`
        }
        assert.strictEqual((yield* stranger.ask(`${pathOf(invoice)}${below}`, { ...sent, headers })).status, 401)
        for (
          const credential of [{ "x-api-key": shop.key }, { authorization: "Bearer x" }, { "x-commerce-api-key": "" }]
        ) {
          const query = `${queryOf(invoice)}&c=1`
          const answer = yield* stranger.ask(`${pathOf(invoice)}${below}${query}`, {
            ...sent,
            headers: { ...sent.headers, ...credential }
          })
          assert.strictEqual(answer.status, 403, JSON.stringify(credential))
        }
      }
      assert.deepStrictEqual(yield* rowsOf(invoice), before)
      yield* expire(invoice, 2_592_000 - 60)
      const payor = yield* payorOf()
      assert.strictEqual(screenIn(yield* payor.open(urlOf(invoice))), "expired")
      yield* expire(invoice, 2_592_000)
      for (const query of ["", queryOf(invoice)]) isPage(yield* payor.ask(`${pathOf(invoice)}${query}`), 401)
    }))

  it.effect("keeps two tabs apart: of two invoices by their cookies, of one by what was chosen last", () =>
    Effect.gen(function*() {
      const { payor, path, page } = yield* chosen()
      const second = yield* invoiceFor({ amount_usd: 7 })
      const beside = yield* payor.open(urlOf(second))
      assert.deepStrictEqual([screenIn(beside), screenIn(yield* payor.open(path))], ["choose", "waiting"])
      assert.match(
        beside.text,
        new RegExp(`value="${offeredId(beside, "USDC")}" required checked`),
        "as at this merchant before"
      )
      const list = yield* payor.open(`${path}?change=1&currency=ETH`)
      const ether = yield* payor.send(path, { action: "choose", token: offeredId(list, "ETH") })
      assert.notStrictEqual(copies(ether)[0], copies(page)[0])
      assert.strictEqual(copies(ether)[1], copies(page)[1], "one address in a family")
      assert.deepStrictEqual(copies(yield* payor.open(path)), copies(ether))
    }))

  it.effect("takes its own forms only, whole ones, and leaves nothing behind of any other", () =>
    Effect.gen(function*() {
      const { invoice, page, path, payor } = yield* opened()
      const before = yield* rowsOf(invoice)
      const choice = `action=choose&token=${offeredId(page, "USDC")}`
      const sent = (body: string, more: Record<string, string> = {}, chunked = false): TestRequest => {
        const form = asForm(body)
        return { ...form, headers: { ...form.headers, ...more } as Record<string, string>, chunked }
      }
      const large = `${choice}&x=${"y".repeat(16_384)}`
      const refusals: ReadonlyArray<readonly [number, TestRequest]> = [
        [415, sent(choice, { "content-type": "text/plain" })],
        [415, sent(choice, { "content-type": "multipart/form-data; boundary=x" })],
        [415, sent(choice, { "content-type": `${formType}; charset=utf-7` })],
        [415, sent(JSON.stringify({ action: "choose" }), { "content-type": "application/json" })],
        [415, sent(choice, { "content-encoding": "gzip" })],
        [413, sent(large)],
        [413, sent(large, {}, true)],
        [413, sent("x".repeat(300_000))],
        [403, sent(choice, { "sec-fetch-site": "cross-site" })],
        [403, sent(choice, { "sec-fetch-site": "same-site" })],
        [403, sent(choice, { origin: "https://evil.example" })],
        [403, sent(choice, { origin: "http://pay.example" })],
        [400, sent(`${choice}&x=%00`)],
        [400, sent(`${choice}&x=%ff`)],
        [400, sent(`${choice}&x=ü`)],
        [400, sent(`${choice}&token=1`)],
        [400, sent(`${choice}&action=choose`)],
        [400, sent("")],
        [400, sent("action=nothing")],
        [400, sent("action=__proto__")],
        [400, sent("action=simulate&what=constructor")],
        [400, sent("action=simulate")],
        [400, sent("action=language&lang=xx")],
        [400, sent("action=choose")],
        ...["0", "-1", "1e3", "1.0", "9999999999", "0x1", " 1", "999999"].map((token) =>
          [400, sent(`action=choose&token=${encodeURIComponent(token)}`)] as const
        ),
        [409, sent("action=restart")]
      ]
      for (const [status, form] of refusals) {
        isPage(
          yield* payor.ask(path, form),
          status,
          `${JSON.stringify(form.headers)} ${String(form.body).slice(0, 80)}`
        )
      }
      for (const method of ["PUT", "DELETE", "PATCH"]) {
        assert.strictEqual((yield* payor.ask(path, { ...sent(choice), method })).status, 405)
      }
      assert.deepStrictEqual(yield* rowsOf(invoice), before)
      assert.strictEqual((yield* payor.ask(path, sent(choice, { origin: "https://pay.example" }))).status, 303)
      assert.deepInclude(yield* rowsOf(invoice), { quotes: 1, targets: 1 })
    }))

  it.effect("begins an ended invoice anew once, however often it is asked for, where the merchant allows it", () =>
    Effect.gen(function*() {
      const { service, shop, sql } = yield* Desk
      const asked = {
        amount_usd: 12.5,
        description: "Plan",
        invoice_title: "Order 1",
        invoice_footer: "Thanks",
        customer_id: "cust-again",
        metadata: { order: "7" },
        payment_return_url: "https://shop.example/done",
        locale: "fr",
        expires_in: 120_000,
        accepted_networks: ["base", "ethereum"],
        payment_tolerance_bps: 70
      }
      const { invoice, path, payor } = yield* opened(asked)
      yield* expire(invoice, 0)
      isPage(yield* payor.ask(path, asForm({ action: "restart" })), 409, "not allowed")
      yield* brand({ allow_restart: true })
      assert.include((yield* payor.open(path)).text, "value=\"restart\"")
      const answers = yield* Effect.forEach(
        Array.from({ length: 8 }),
        () => payor.ask(path, asForm({ action: "restart" })),
        { concurrency: 8 }
      )
      assert.deepStrictEqual([...new Set(answers.map(({ status }) => status))], [303])
      const [target, ...others] = new Set(answers.map(({ headers }) => headers.location))
      assert.deepStrictEqual(others, [])
      const again = yield* payor.open(target!)
      assert.deepStrictEqual([screenIn(again), again.text.includes("<html lang=\"fr\"")], ["choose", true])
      const rows = yield* Effect.orDie(sql<any>`
        SELECT to_jsonb(i) - 'id' - 'version' - 'status' - 'created_at' - 'expires_at' - 'due_at' AS same,
          i.expires_at - i.created_at AS life, i.status, i.id
        FROM invoices i WHERE customer_id = 'cust-again' ORDER BY id`)
      assert.strictEqual(rows.length, 2)
      assert.deepStrictEqual(rows[1].same, rows[0].same)
      assert.deepStrictEqual([rows[1].status, target!.includes(rows[1].id)], ["unpaid", true])
      const { data } = assertStatus(
        200,
        yield* service.call(`/api/v1/events?invoice_id=${rows[1].id}`, { headers: { "x-api-key": shop.key } })
      ).data
      assert.deepStrictEqual(data.map(({ type }: any) => type), ["invoice.created"])

      const late = yield* chosen()
      yield* simulate(late.payor, late.path, "late")
      isPage(yield* late.payor.ask(late.path, asForm({ action: "restart" })), 409, "something was received")
      yield* brand(null)
    }))

  it.effect("skips the list of one when a person opens the page, and not for what only reads ahead", () =>
    Effect.gen(function*() {
      const list = yield* opened({ accepted_networks: ["base"] })
      const ids: Array<string> = []
      for (const [, symbol = ""] of list.page.text.matchAll(/currency=(\w+)"/g)) {
        const { text } = yield* list.payor.open(`${list.path}?currency=${symbol}`)
        ids.push(...[...text.matchAll(/name="token" value="(\d+)"/g)].map(([, id = ""]) => id))
      }
      const usdc = offeredId(yield* list.payor.open(`${list.path}?currency=USDC`), "USDC")
      assert.isAbove(ids.length, 1)
      yield* merchant("/api/v1/merchant/tokens/policy", { acceptance_policy: "selective" }, "PUT")
      for (const id of ids) {
        if (id !== usdc) yield* merchant(`/api/v1/merchant/tokens/${id}/block`, { blocked: true })
      }
      const { invoice, page, path, payor } = yield* opened({ accepted_networks: ["base"] })
      assert.strictEqual(screenIn(page), "choose")
      const navigate = { "sec-fetch-mode": "navigate" }
      for (const headers of [{}, { ...navigate, "sec-purpose": "prefetch" }, { "sec-fetch-mode": "cors" }]) {
        assert.strictEqual(screenIn(yield* payor.open(path, headers)), "choose")
      }
      yield* payor.ask(path, { method: "HEAD", headers: navigate })
      assert.deepInclude(yield* rowsOf(invoice), { quotes: 0, targets: 0 })
      assert.strictEqual(screenIn(yield* payor.open(path, navigate)), "waiting")
      yield* payor.open(path, navigate)
      assert.deepInclude(yield* rowsOf(invoice), { quotes: 1, targets: 1 })
      yield* merchant("/api/v1/merchant/tokens/policy", { acceptance_policy: "accept_all" }, "PUT")
    }))

  it.effect("answers a state that has not changed with 304, in whatever encoding the browser takes, and HEAD alike", () =>
    Effect.gen(function*() {
      const { service } = yield* Desk
      const { path, payor } = yield* chosen()
      const state = yield* payor.ask(`${path}/state`)
      const known = { "if-none-match": String(state.headers.etag) }
      const same = yield* payor.ask(`${path}/state`, { headers: known })
      assert.deepStrictEqual([same.status, same.text, same.headers.etag], [304, "", state.headers.etag])
      assert.strictEqual(
        (yield* payor.ask(`${path}/state`, { headers: { ...known, "accept-language": "fr" } })).status,
        200
      )
      const cookie = `till_pay=${payor.cookie("till_pay")!.value}`
      for (const coding of ["br", "gzip", "identity"]) {
        const answer = yield* Effect.promise(() =>
          fetch(`${service.url}${path.slice("/shop".length)}`, { headers: { cookie, "accept-encoding": coding } })
        )
        const text = yield* Effect.promise(() => answer.text())
        assert.deepStrictEqual([answer.headers.get("content-encoding") ?? "identity", text.slice(0, 15)], [
          coding,
          "<!doctype html>"
        ])
      }
      const head = yield* payor.ask(path, { method: "HEAD", headers: { "accept-encoding": "br" } })
      assert.deepStrictEqual([head.status, head.text, head.headers["content-encoding"]], [200, "", "br"])
      yield* simulate(payor, path, "pay")
      const changed = yield* payor.ask(`${path}/state`, { headers: known })
      assert.deepStrictEqual([changed.status, screenIn(changed)], [200, "paid"])
    }))

  it.effect("writes what a payor's wallet has sent to the log, five times at most for an invoice, and changes nothing by it", () =>
    Effect.gen(function*() {
      const { service, sql } = yield* Desk
      const { invoice, path, payor } = yield* opened()
      const other = yield* opened()
      const hashes = Array.from({ length: 6 }, (_, index) => `0x${String(index).repeat(64)}`)
      const before = yield* payor.ask(`${path}/state`)
      for (const hash of hashes) {
        const answer = yield* payor.ask(path, asForm({ action: "sent", hash }))
        assert.deepStrictEqual([answer.status, answer.headers.location], [303, path])
      }
      yield* other.payor.send(other.path, { action: "sent", hash: hashes[5]! })
      const lines = service.output().split("\n").filter((line) => line.includes("says that it has sent a payment"))
      const linesOf = (id: string) => lines.filter((line) => line.includes(id))
      assert.lengthOf(linesOf(invoice.id), 5)
      for (const [index, line] of linesOf(invoice.id).entries()) assert.include(line, hashes[index]!)
      assert.lengthOf(linesOf(other.invoice.id), 1)
      const after = yield* payor.ask(`${path}/state`)
      assert.strictEqual(after.headers.etag, before.headers.etag)
      assert.deepStrictEqual(yield* sql`SELECT 1 FROM invoice_payments WHERE invoice_id = ${invoice.id}`, [])
      for (const hash of ["", "0x", `0x${"g".repeat(64)}`, `0x${"0".repeat(64)}\n`, "0".repeat(64)]) {
        assert.strictEqual((yield* payor.ask(path, asForm({ action: "sent", hash }))).status, 400, hash)
      }
    }))

  it.effect("is counted by its route, and leaves no session and no invoice in logs and measures", () =>
    Effect.gen(function*() {
      const { service } = yield* Desk
      const { invoice, path, payor } = yield* opened()
      yield* payor.ask(`${path}/state`)
      yield* payor.ask(`${path}${queryOf(invoice)}x`)
      const measures = yield* Effect.promise(() => fetch(`${service.rpcUrl}/metrics`).then((answer) => answer.text()))
      for (const route of ["GET /pay/:id", "GET /pay/:id/state"]) assert.include(measures, `route="${route}"`)
      for (const secret of [invoice.id, invoice.created.session_token, invoice.created.signature]) {
        assert.notInclude(measures, secret)
        assert.notInclude(service.output(), secret)
      }
      assert.notInclude(service.output(), "ExperimentalWarning")
      assert.deepStrictEqual(service.errors(), [])
    }))
})
