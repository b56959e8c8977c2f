/**
 * Goal: anybody pays by a link as often as it says and no more; opening its page costs nothing; nobody learns or
 * changes what is another's; and whoever floods it is stopped.
 * Method: a running service behind https and a path, by forms as browsers without a script send them, each browser from
 * an address of its own.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, type Scope } from "effect"
import { randomUUID } from "node:crypto"
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts"
import { languages } from "../../../modules/checkout/pages/Languages.ts"
import { linkTextsOf } from "../../../modules/links/pages/Texts.ts"
import { qr } from "../../../runtime/pages/Qr.ts"
import { makeKey, signIn } from "../../journeys/Tenants.ts"
import { asForm } from "../../journeys/Payor.ts"
import { assertStatus } from "../../journeys/Shop.ts"
import { migratedDatabase } from "../../support/Database.ts"
import { generousLimits } from "../../support/Limits.ts"
import {
  configOf,
  masterKey,
  type Service,
  startService,
  temporaryDirectory,
  type TestRequest
} from "../../support/Service.ts"

const publicUrl = "https://pay.example/shop"
const en = linkTextsOf({ locale: "en" })

/** More than an address may begin payments in an hour, so that both limits are met. */
const pagesPerMinute = 40

type Headers = Readonly<Record<string, string>>

class Deployed extends Context.Service<Deployed, {
  readonly service: Service
  /** One more instance on the same database. */
  readonly twin: Service
  /** Starts another one, which was given a new master key before the one of these. */
  readonly startRotated: Effect.Effect<Service, never, Scope.Scope>
  readonly jwt: Headers
  readonly key: Headers
  readonly commerceKey: Headers
  /** Of another merchant. */
  readonly stranger: Headers
}>()("test/links/Deployed") {
  static readonly layer = Layer.effect(
    Deployed,
    Effect.gen(function*() {
      const config = configOf({
        database: (yield* migratedDatabase).url,
        chains: [{ use: "simulated" }],
        http: { publicUrl, trustProxy: ["127.0.0.1"] },
        limits: { ...generousLimits, linkPerMinute: pagesPerMinute }
      })
      const modules = config.modules.map((entry: { readonly use: string }) =>
        entry.use === "identity" ? { ...entry, options: { signup: "open" } } : entry
      )
      const startWith = (master: ReadonlyArray<string>) =>
        Effect.flatMap(
          temporaryDirectory,
          (directory) => startService({ directory, config: { ...config, modules, secrets: { master } } })
        )
      const service = yield* startWith([masterKey])
      const twin = yield* startWith([masterKey])
      const startRotated = startWith(["7b".repeat(32), masterKey])
      const merchant = Effect.gen(function*() {
        const session = yield* signIn(service, privateKeyToAccount(generatePrivateKey()))
        const jwt = { authorization: `Bearer ${session.access_token}` }
        const keyOf = (scope: string) =>
          Effect.map(
            makeKey(service, jwt, { scope, environment: "devnet" }),
            ({ key }) => scope === "merchant" ? { "x-api-key": key } : { "x-commerce-api-key": key }
          )
        return { jwt, key: yield* keyOf("merchant"), commerceKey: yield* keyOf("commerce") }
      })
      const one = yield* merchant
      const branding = { name: "Blue Bottle Store", accent: "#0a7a4b", support_email: "help@shop.example" }
      const settings = { method: "PATCH", headers: one.key, body: { branding } }
      assertStatus(200, yield* service.call("/api/v1/merchant/settings", settings))
      return { ...one, service, twin, startRotated, stranger: (yield* merchant).key }
    })
  )
}

const newAddress = () => `2001:db8:${randomUUID().slice(0, 4)}:${randomUUID().slice(0, 4)}::1`

const call = Effect.fnUntraced(function*(path: string, sent: TestRequest = {}) {
  const { key, service } = yield* Deployed
  return yield* service.call(path, {
    ...sent,
    headers: { ...key, "idempotency-key": randomUUID(), ...sent.headers }
  })
})

const api = "/api/v1/payment-links"

interface Link {
  readonly id: string
  readonly url: string
  /** Path of its page at the service. */
  readonly path: string
}

const makeLink = (fields: object = {}) =>
  Effect.map(
    call(api, { body: { title: "Workshop", ...("minimum_amount" in fields ? {} : { amount_usd: 25 }), ...fields } }),
    (answer): Link => {
      const { data } = assertStatus(200, answer)
      return { id: data.id, url: data.url, path: data.url.slice(publicUrl.length) }
    }
  )

const readLink = ({ id }: Link) => Effect.map(call(`${api}/${id}`), (answer) => assertStatus(200, answer).data)

const setActive = ({ id }: Link, active: boolean) => call(`${api}/${id}`, { method: "PATCH", body: { active } })

const invoicesOf = ({ id }: Link) =>
  Effect.map(
    call("/api/v1/invoices?limit=100"),
    (answer) => assertStatus(200, answer).data.filter(({ metadata }: any) => metadata.payment_link === id)
  )

/** A browser without a script: its address, its cookie, and what it sends. */
const newBrowser = (
  more: { readonly address?: string; readonly refusesCookies?: boolean; readonly asksTwin?: boolean } = {}
) => {
  const { address = newAddress(), asksTwin = false, refusesCookies = false } = more
  let cookie = ""
  const ask = Effect.fnUntraced(function*(path: string, sent: TestRequest = {}) {
    const { service, twin } = yield* Deployed
    const answer = yield* (asksTwin ? twin : service).call(path, {
      ...sent,
      headers: { "x-forwarded-for": address, ...(cookie === "" ? {} : { cookie }), ...sent.headers }
    })
    const [set] = [answer.headers["set-cookie"] ?? []].flat()
    if (set !== undefined && !refusesCookies) cookie = set.split(";")[0]!
    return answer
  })
  const press = Effect.fnUntraced(function*({ path }: Link, amount?: string) {
    const { text } = yield* ask(path)
    const visit = /name="visit" value="([^"]+)"/.exec(text)?.[1] ?? ""
    return yield* ask(path, asForm({ action: "pay", visit, ...(amount === undefined ? {} : { amount }) }))
  })
  return { address, ask, press, hasCookie: () => cookie !== "" }
}

/** The invoice that an answer leads to. */
const invoiceIn = (answer: { readonly status: number; readonly headers: any; readonly text: string }): string => {
  assert.strictEqual(answer.status, 303, answer.text)
  const found = /^\/shop\/pay\/([0-9a-f-]{36})\?session_token=/.exec(answer.headers.location)
  assert.isNotNull(found, answer.headers.location)
  return found[1]!
}

const pay = (invoice: string) =>
  Effect.map(
    call(`/api/v1/devnet/invoices/${invoice}/simulate`, { body: { action: "pay" } }),
    (answer) => assertStatus(200, answer)
  )

layer(Deployed.layer, { excludeTestServices: true })("a payment link", (it) => {
  it.effect("makes an invoice by its button, none by its page, and counts what was paid", () =>
    Effect.gen(function*() {
      const link = yield* makeLink({ description: "Two hours, tea included" })
      const browser = newBrowser()
      const opened = yield* browser.ask(link.path)
      assert.strictEqual(opened.status, 200)
      for (const text of ["Workshop", "Two hours, tea included", "$25.00", "Blue Bottle Store", en.pay]) {
        assert.include(opened.text, text)
      }
      assert.notInclude(opened.text, "<script")
      assert.isBelow(opened.text.length, 30_000)
      assert.deepStrictEqual(yield* invoicesOf(link), [])
      const id = invoiceIn(yield* browser.press(link))
      const [invoice] = yield* invoicesOf(link)
      assert.deepInclude(invoice, { id, amount: 25_000, status: "unpaid", metadata: { payment_link: link.id } })
      assert.deepInclude(yield* readLink(link), { payment_count: 0, open_count: 1, amount_paid: 0, status: "active" })
      yield* pay(id)
      assert.deepInclude(yield* readLink(link), { payment_count: 1, open_count: 0, amount_paid: 25_000 })
    }))

  it.effect("leads to the payment page, in the language in which it was read", () =>
    Effect.gen(function*() {
      const { service } = yield* Deployed
      const link = yield* makeLink()
      const browser = newBrowser()
      const { text } = yield* browser.ask(`${link.path}?lang=de`)
      const visit = /name="visit" value="([^"]+)"/.exec(text)![1]!
      const answer = yield* browser.ask(`${link.path}?lang=de`, asForm({ action: "pay", visit }))
      const location = new URL(answer.headers.location!, publicUrl)
      const page = yield* service.call(`${location.pathname.slice("/shop".length)}${location.search}&c=1`)
      assert.strictEqual(page.status, 200, page.text)
      assert.include(page.text, "lang=\"de\"")
      assert.include(page.text, "Workshop")
      const { data: [details] } = assertStatus(200, yield* call("/api/v1/invoices?expand=details&limit=1"))
      assert.deepInclude(details.details, { title: "Workshop", locale: "de" })
    }))

  it.effect("finds a browser's open invoice again, with cookies, without them, and for two presses at once", () =>
    Effect.gen(function*() {
      const link = yield* makeLink({ maximum_payments: 1 })
      const browser = newBrowser()
      const first = invoiceIn(yield* browser.press(link))
      assert.isTrue(browser.hasCookie())
      assert.strictEqual(invoiceIn(yield* browser.press(link)), first)
      const others = yield* newBrowser().ask(link.path)
      assert.include(others.text, en.takenTitle)
      assert.include((yield* browser.ask(link.path)).text, en.pay, "who began can go on")

      const wide = yield* makeLink()
      const cookieless = newBrowser({ refusesCookies: true })
      const { text } = yield* cookieless.ask(wide.path)
      const visit = /name="visit" value="([^"]+)"/.exec(text)![1]!
      const form = asForm({ action: "pay", visit })
      const pressed = yield* Effect.all(Array.from({ length: 5 }, () => cookieless.ask(wide.path, form)), {
        concurrency: "unbounded"
      })
      assert.strictEqual(new Set(pressed.map(invoiceIn)).size, 1)
      assert.lengthOf(yield* invoicesOf(wide), 1)
      yield* pay(invoiceIn(pressed[0]!))
      assert.notStrictEqual(invoiceIn(yield* cookieless.ask(wide.path, form)), invoiceIn(pressed[0]!))
    }))

  it.effect("gives 50 payors at two instances no more places than it has, and an invoice that ends gives its own back", () =>
    Effect.gen(function*() {
      const link = yield* makeLink({ maximum_payments: 5 })
      const pressed = yield* Effect.all(
        Array.from({ length: 50 }, (_, index) => newBrowser({ asksTwin: index % 2 === 1 }).press(link)),
        { concurrency: "unbounded" }
      )
      const invoices = yield* invoicesOf(link)
      assert.lengthOf(invoices, 5)
      const led = pressed.filter(({ headers }) => headers.location?.startsWith("/shop/pay/") === true)
      assert.deepStrictEqual(led.map(invoiceIn).toSorted(), invoices.map(({ id }: any) => id).toSorted())
      const rest = pressed.filter((answer) => !led.includes(answer))
      for (const { headers, status } of rest) {
        assert.strictEqual(status, 303)
        assert.match(headers.location!, /^\/shop\/l\//)
      }
      assert.isAtMost(invoices[0].expires_at - invoices[0].created_at, 3_600, "a place is kept for an hour at most")
      const [canceled, ...others] = invoices.map(({ id }: any) => id)
      assertStatus(200, yield* call(`/api/v1/invoices/${canceled}/cancel`, { body: {} }))
      const late = invoiceIn(yield* newBrowser().press(link))
      yield* Effect.forEach([...others, late], pay)
      assert.deepInclude(yield* readLink(link), {
        status: "completed",
        payment_count: 5,
        open_count: 0,
        amount_paid: 125_000
      })
      const closed = yield* newBrowser().ask(link.path)
      assert.include(closed.text, en.completedTitle)
      assert.match((yield* newBrowser().press(link)).headers.location!, /^\/shop\/l\//)
    }))

  it.effect("takes what the payor says within its bounds, in whole cents, and says what is wrong", () =>
    Effect.gen(function*() {
      const link = yield* makeLink({ minimum_amount: 1_000, maximum_amount: 500_000 })
      const browser = newBrowser()
      for (const amount of ["12.505", "0.99", "500.01", "1,000", "-5", "1e2", "NaN", "", "<b>"]) {
        const refused = yield* browser.press(link, amount)
        assert.strictEqual(refused.status, 200, amount)
        assert.include(refused.text, "aria-invalid=\"true\"", amount)
        assert.notInclude(refused.text, "value=\"<b>\"")
      }
      assert.deepStrictEqual(yield* invoicesOf(link), [])
      const other = newBrowser()
      const id = invoiceIn(yield* other.press(link, "12,50"))
      assert.deepInclude((yield* invoicesOf(link))[0], { id, amount: 12_500 })
      assert.include((yield* other.ask(link.path)).text, "value=\"12.50\"")
      assert.notStrictEqual(invoiceIn(yield* other.press(link, "13")), id)
      assert.lengthOf(yield* invoicesOf(link), 2)
    }))

  it.effect("stops an address that begins payments without end, and nobody else", () =>
    Effect.gen(function*() {
      const links = yield* Effect.all(Array.from({ length: 3 }, () => makeLink()))
      const network = `2001:db8:${randomUUID().slice(0, 4)}:7`
      // Each from another address of the same /64 and without a cookie, as an attacker would.
      const begin = (index: number) =>
        newBrowser({ address: `${network}::${index + 1}` }).ask(
          links[index % links.length]!.path,
          asForm({ action: "pay", visit: randomUUID().replaceAll("-", "").slice(0, 22) })
        )
      const began = yield* Effect.forEach(Array.from({ length: 20 }, (_, index) => index), begin)
      assert.lengthOf(new Set(began.map(invoiceIn)), 20)
      const refused = yield* begin(20)
      assert.strictEqual(refused.status, 429)
      assert.include(refused.text, "Too many attempts")
      assert.match(refused.headers["content-type"]!, /^text\/html/)
      assert.isAtLeast(Number(refused.headers["retry-after"]), 3_500, "by the hour")
      const made = yield* Effect.forEach(links, invoicesOf)
      assert.lengthOf(made.flat(), 20)
      const { startRotated } = yield* Deployed
      const form = asForm({ action: "pay", visit: randomUUID().replaceAll("-", "").slice(0, 22) })
      const afterRotation = yield* (yield* startRotated).call(links[0]!.path, {
        ...form,
        headers: { ...form.headers, "x-forwarded-for": `${network}::99` }
      })
      assert.strictEqual(afterRotation.status, 429, "a new master key forgets nobody")
      const looked = yield* Effect.forEach(
        Array.from({ length: pagesPerMinute - 20 }, (_, index) => index),
        () => newBrowser({ address: `${network}::99` }).ask(links[0]!.path)
      )
      assert.deepStrictEqual(looked.map(({ status }) => status), [...looked.slice(1).map(() => 200), 429])
      invoiceIn(yield* newBrowser().press(links[0]!))
    }))

  it.effect("stops a range of IPv6 addresses that begins payments from one home after another", () =>
    Effect.gen(function*() {
      const link = yield* makeLink()
      const home = `2001:db8:${randomUUID().slice(0, 4)}:5`
      // Each from a /64 of its own, all in one /56.
      const begin = (index: number) =>
        newBrowser({ address: `${home}${index.toString(16).padStart(2, "0")}::1` }).ask(
          link.path,
          asForm({ action: "pay", visit: randomUUID().replaceAll("-", "").slice(0, 22) })
        )
      const began = yield* Effect.forEach(Array.from({ length: 80 }, (_, index) => index), begin)
      assert.lengthOf(new Set(began.map(invoiceIn)), 80)
      assert.strictEqual((yield* begin(80)).status, 429)
      invoiceIn(yield* newBrowser().press(link))
    }))

  it.effect("is turned off and on: what was begun stays payable, and nothing new begins", () =>
    Effect.gen(function*() {
      const link = yield* makeLink()
      const browser = newBrowser()
      const id = invoiceIn(yield* browser.press(link))
      const both = yield* Effect.all([setActive(link, false), setActive(link, false)], { concurrency: 2 })
      for (const answer of both) assert.strictEqual(assertStatus(200, answer).data.status, "inactive")
      const closed = yield* newBrowser().ask(link.path)
      assert.strictEqual(closed.status, 200)
      assert.include(closed.text, en.closedTitle)
      assert.include(closed.text, "mailto:help@shop.example")
      assert.match((yield* newBrowser().press(link)).headers.location!, /^\/shop\/l\//)
      assert.strictEqual(invoiceIn(yield* browser.press(link)), id)
      assert.lengthOf(yield* invoicesOf(link), 1)
      yield* pay(id)
      assertStatus(200, yield* setActive(link, true))
      invoiceIn(yield* newBrowser().press(link))
      const { data } = assertStatus(200, yield* call("/api/v1/audit-log?limit=50", { headers: (yield* Deployed).jwt }))
      const acts = data.data.filter(({ subject }: any) => subject.id === link.id)
      assert.deepStrictEqual(acts.map(({ action, after }: any) => [action, after.active]), [
        ["payment_link.update", true],
        ["payment_link.update", false],
        ["payment_link.create", true]
      ])
    }))

  it.effect("is its merchant's alone, in its environment alone", () =>
    Effect.gen(function*() {
      const { commerceKey, service, stranger } = yield* Deployed
      const link = yield* makeLink()
      const body = { active: false }
      for (
        const [headers, query, status] of [
          [stranger, "", 404],
          [yield* Effect.map(Deployed, ({ key }) => key), "?environment=mainnet", 404],
          [commerceKey, "", 403]
        ] as const
      ) {
        const refused = yield* service.call(`${api}/${link.id}${query}`, { headers })
        const { error } = assertStatus(status, refused)
        assert.strictEqual(error.code, status === 404 ? "PAYMENT_LINK_NOT_FOUND" : "SCOPE_MISMATCH")
        if (query === "") {
          const change = { method: "PATCH", headers: { ...headers, "idempotency-key": randomUUID() }, body }
          assert.strictEqual((yield* service.call(`${api}/${link.id}`, change)).status, status)
        }
      }
      const listed = assertStatus(200, yield* service.call(`${api}?limit=100`, { headers: stranger }))
      assert.deepStrictEqual(listed.data.data, [])
      const cursor = yield* service.call(`${api}?starting_after=${link.id}`, { headers: stranger })
      assert.strictEqual(assertStatus(400, cursor).error.code, "INVALID_CURSOR")
      assert.strictEqual((yield* readLink(link)).status, "active")
    }))

  it.effect("is listed newest first, a page at a time", () =>
    Effect.gen(function*() {
      const made = yield* Effect.all(Array.from({ length: 3 }, () => makeLink()))
      const [oldest, middle, newest] = made.map(({ id }) => id)
      const idsOf = (query: string) =>
        Effect.map(call(`${api}?${query}`), (answer) => {
          const { data } = assertStatus(200, answer)
          return { ids: data.data.map(({ id }: any) => id), more: data.has_more }
        })
      assert.deepStrictEqual(yield* idsOf("limit=2"), { ids: [newest, middle], more: true })
      assert.strictEqual((yield* idsOf(`limit=1&starting_after=${middle}`)).ids[0], oldest)
      assert.deepStrictEqual(yield* idsOf(`limit=5&ending_before=${middle}`), { ids: [newest], more: false })
    }))

  it.effect("refuses what makes no sense, and says which field", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [object, string, string | null]> = [
        [{ title: "", amount: 5_000 }, "VALIDATION_ERROR", "title"],
        [{ title: "  ", amount: 5_000 }, "VALIDATION_ERROR", "title"],
        [{ title: "a\nb", amount: 5_000 }, "VALIDATION_ERROR", "title"],
        [{ title: "x", amount: 5 }, "INVALID_AMOUNT_RANGE", "amount"],
        [{ title: "x", amount: 50.5 }, "INVALID_AMOUNT_FORMAT", "amount"],
        [{ title: "x", amount: 5_000, amount_usd: 5 }, "INVALID_AMOUNT_FORMAT", null],
        [{ title: "x", amount: 5_000, minimum_amount: 10 }, "VALIDATION_ERROR", "minimum_amount"],
        [{ title: "x", minimum_amount: 15 }, "VALIDATION_ERROR", "minimum_amount"],
        [{ title: "x", minimum_amount: 2_000, maximum_amount: 1_000 }, "VALIDATION_ERROR", "minimum_amount"],
        [{ title: "x", amount: 5_000, maximum_payments: 0 }, "VALIDATION_ERROR", "maximum_payments"],
        [{ title: "x", amount: 5_000, expires_at: 1_000 }, "VALIDATION_ERROR", "expires_at"]
      ]
      for (const [body, code, param] of cases) {
        const { error } = assertStatus(400, yield* call(api, { body }))
        assert.deepInclude(error, { code, ...(param === null ? {} : { param }) }, JSON.stringify(body))
      }
      const key = randomUUID()
      const sent = { headers: { "idempotency-key": key }, body: { title: "Once", amount_usd: 5 } }
      const [first, second] = [yield* call(api, sent), yield* call(api, sent)]
      assert.strictEqual(first.text, second.text)
    }))

  it.effect("shows markup in words as words, in all languages, and speaks of itself to nobody", () =>
    Effect.gen(function*() {
      const link = yield* makeLink({ title: "<script>alert(1)</script>", description: "\"><img src=x>" })
      for (const { direction, locale } of languages) {
        const { headers, text } = yield* newBrowser().ask(link.path, { headers: { "accept-language": locale } })
        assert.include(text, `<html lang="${locale}" dir="${direction}">`)
        assert.include(text, linkTextsOf({ locale }).pay)
        assert.notInclude(text, "<script")
        assert.notInclude(text, "<img")
        assert.strictEqual(headers["referrer-policy"], "no-referrer")
        assert.strictEqual(headers["cache-control"], "no-store")
        assert.include(headers["content-security-policy"], "frame-ancestors 'none'")
      }
    }))

  it.effect("has a poster, with its address as a code and in words", () =>
    Effect.gen(function*() {
      const link = yield* makeLink()
      for (const size of ["", "?size=a6"]) {
        const { headers, status, text } = yield* newBrowser().ask(`${link.path}/poster${size}`)
        assert.strictEqual(status, 200)
        assert.include(text, qr(link.url, "M", en.qrName("Workshop")).toString())
        assert.include(text, link.url)
        assert.include(text, size === "" ? "@page{size:A4" : "@page{size:A6")
        assert.notInclude(text, "<script")
        assert.isUndefined(headers["set-cookie"])
      }
    }))

  it.effect("answers strangers, forged forms and wrong addresses with a page that tells nothing", () =>
    Effect.gen(function*() {
      const { key, service } = yield* Deployed
      const link = yield* makeLink()
      const visit = "A".repeat(22)
      const refused = (sent: TestRequest) => newBrowser().ask(link.path, sent)
      const form = asForm({ action: "pay", visit })
      const forged: ReadonlyArray<readonly [TestRequest, number]> = [
        [{ ...form, headers: { ...form.headers, "sec-fetch-site": "cross-site" } }, 403],
        [{ ...form, headers: { ...form.headers, origin: "https://evil.example" } }, 403],
        [{ ...form, headers: { ...form.headers, ...key } }, 403],
        [asForm({ action: "refund", visit }), 400],
        [asForm(`action=pay&action=pay&visit=${visit}`), 400],
        [asForm({ action: "language", lang: "xx" }), 400]
      ]
      for (const [sent, status] of forged) {
        const answer = yield* refused(sent)
        assert.strictEqual(answer.status, status, answer.text)
        assert.match(answer.headers["content-type"]!, /^text\/html/)
      }
      assert.deepStrictEqual(yield* invoicesOf(link), [])
      for (const path of ["/l/0000000000000000", "/l/nothing", "/l/0000000000000000/poster", "/l/%00", "/l/a/b/c"]) {
        const answer = yield* newBrowser().ask(path)
        assert.strictEqual(answer.status, 404, path)
        assert.include(answer.text, en.notFoundTitle, path)
      }
      const capitals = yield* newBrowser().ask(link.path.toUpperCase().replace("/L/", "/l/"))
      assert.strictEqual(capitals.status, 200)
      const spoken = yield* newBrowser().ask(link.path, asForm({ action: "language", lang: "ja" }))
      assert.strictEqual(spoken.headers.location, `/shop${link.path}?lang=ja`)
      assert.deepStrictEqual(service.errors(), [])
    }))
})
