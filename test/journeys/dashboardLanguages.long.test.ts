/**
 * Goal: every page of the dashboard is in the language that its reader chose, in their time zone, within its budget; a
 * refusal too. Method: the service as it is started, with something in every list; pages are asked for as a browser
 * does, without its script.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { randomUUID } from "node:crypto"
import { brotliCompressSync } from "node:zlib"
import { languages } from "../../modules/dashboard/pages/Languages.ts"
import { migratedDatabase } from "../support/Database.ts"
import { generousLimits } from "../support/Limits.ts"
import { configOf, type Service, startService, temporaryDirectory } from "../support/Service.ts"
import { servedPages } from "./DashboardVisits.ts"
import { loginLink } from "./LoginLink.ts"
import { assertStatus } from "./Shop.ts"

interface Shop {
  readonly service: Service
  readonly home: string
  readonly cookie: string
  /** Of the pages with a parameter: what there is. */
  readonly ids: Readonly<Record<string, string>>
}

class TheShop extends Context.Service<TheShop, Shop>()("test/journeys/dashboardLanguages/TheShop") {}

const form = (fields: Readonly<Record<string, string>>) => new URLSearchParams(fields).toString()

const headersOf = (service: Service, cookie: string) => ({
  "content-type": "application/x-www-form-urlencoded",
  origin: new URL(service.url).origin,
  "sec-fetch-site": "same-origin",
  ...(cookie === "" ? {} : { cookie })
})

const shop = Layer.effect(
  TheShop,
  Effect.gen(function*() {
    const directory = yield* temporaryDirectory
    const config = configOf({
      database: (yield* migratedDatabase).url,
      chains: [{ use: "simulated" }],
      limits: generousLimits
    })
    const service = yield* startService({ directory, config })
    const { merchant_id: merchant, merchant_key: key } = yield* service.keys
    const call = (path: string, body: unknown) =>
      Effect.map(
        service.call(`/api/v1${path}`, { headers: { "x-api-key": key, "idempotency-key": randomUUID() }, body }),
        (answer) => assertStatus(200, answer)
      )
    const { invoice_id: invoice } = yield* call("/invoices", { amount_usd: 600 })
    yield* call(`/devnet/invoices/${invoice}/simulate`, { action: "pay", amount: 601_000 })
    const { data: refund } = yield* call("/refunds", {
      invoice_id: invoice,
      amount_mode: "overpaid",
      reason: "overpayment",
      fee_bearer: "merchant",
      destination: "claim"
    })
    const { data: link } = yield* call("/payment-links", { title: "Tea", amount_usd: 3 })
    const { tokens } = assertStatus(
      200,
      yield* service.call("/api/v1/merchant/tokens/search?limit=200", { headers: { "x-api-key": key } })
    )
    const { id: token } = tokens.find((one: any) => one.network === "base" && one.token_symbol === "USDC")
    const { data: batch } = yield* call("/batches", {
      kind: "payouts",
      network: "base",
      from: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
      lines: [{
        token_id: token,
        token_amount: "12.75",
        destination: { address: "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359", memo: null },
        reference: "supplier"
      }]
    })
    const { data: webhook } = yield* call("/webhooks", { url: "https://shop.example/hook", enabled_events: ["*"] })
    const { data: events } = assertStatus(
      200,
      yield* service.call("/api/v1/events?limit=1", { headers: { "x-api-key": key } })
    )
    const url = yield* loginLink({ service, merchant })
    const opened = yield* service.call("/dashboard/signin/link", {
      method: "POST",
      headers: headersOf(service, ""),
      body: form({ token: new URL(url).hash.slice("#t=".length), next: "" })
    })
    assert.strictEqual(opened.status, 303, opened.text)
    const cookie = [opened.headers["set-cookie"] ?? []].flat().map((one) => one.split(";")[0]).join("; ")
    return TheShop.of({
      service,
      home: `/dashboard/${merchant}/devnet`,
      cookie,
      ids: {
        "payments/:id": invoice,
        "payments/:id/refund": invoice,
        "refunds/:id": refund.id,
        "links/:id": link.id,
        "batches/:id": batch.id,
        "webhooks/:id": webhook.id,
        "events/:id": (events.data ?? events)[0].id
      }
    })
  })
)

const see = Effect.fnUntraced(function*(path: string, headers: Readonly<Record<string, string>> = {}) {
  const { cookie, home, service } = yield* TheShop
  return yield* service.call(`${home}${path}`, { headers: { cookie, ...headers } })
})

const send = Effect.fnUntraced(function*(path: string, fields: Readonly<Record<string, string>>) {
  const { cookie, home, service } = yield* TheShop
  return yield* service.call(`${home}${path}`, {
    method: "POST",
    headers: headersOf(service, cookie),
    body: form({ form_key: randomUUID(), ...fields })
  })
})

const choose = (language: string, zone = "UTC") =>
  Effect.map(
    send("/account", { action: "save_pages", language, time_zone: zone }),
    (sent) => assert.strictEqual(sent.status, 303, sent.text)
  )

/** The sentences of a catalogue, which no page of another language shows. */
const sentencesOf = (node: object): ReadonlyArray<string> =>
  Object.values(node).flatMap((value) =>
    typeof value === "string"
      ? value.includes(" ") && value.length > 12 && !/^(?:Safe|TON|Solana|Sui|Cardano)/.test(value) ? [value] : []
      : typeof value === "object"
      ? sentencesOf(value)
      : []
  )

/** As `html` writes a text. */
const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("\"", "&quot;").replaceAll("'", "&#39;")

/** Bytes of a page over the wire, as the dashboard's budgets have it. */
const mostBytes = 8 * 1_024

const langOf = (text: string) => /<html lang="([\w-]+)" dir="(\w+)">/.exec(text)?.slice(1)

layer(shop, { excludeTestServices: true })("the dashboard in its languages", (it) => {
  it.effect("has every page in the language that its reader chose, within 8 KB", () =>
    Effect.gen(function*() {
      const { home, ids, service } = yield* TheShop
      const english = sentencesOf(languages.en)
      // A document in a frame is the customer's page, in the customer's language.
      const shown = (yield* servedPages(service)).filter(({ document, file }) =>
        document === undefined && file === undefined
      )
      assert.deepStrictEqual(shown.filter(({ path }) => path.includes(":") && !(path in ids)), [], "each has an id")
      const paths = shown.map(({ path }) => path === "" ? "" : `/${path.replace(":id", ids[path] ?? "")}`)
      assert.isAbove(paths.length, 25)
      for (const texts of Object.values(languages)) {
        yield* choose(texts.locale)
        for (const path of paths) {
          const where = `${texts.locale} ${path}`
          const page = yield* see(path, { "accept-language": "tlh" })
          assert.strictEqual(page.status, 200, where)
          assert.deepStrictEqual(langOf(page.text), [texts.locale, texts.direction], where)
          assert.include(page.text, escaped(texts.testStrip), where)
          const bytes = brotliCompressSync(page.text).length
          assert.isAtMost(bytes, mostBytes, `${where}: ${bytes} bytes`)
          if (texts.locale === "en") continue
          for (const sentence of english) assert.notInclude(page.text, `>${escaped(sentence)}<`, where)
        }
      }
      assert.include((yield* see("/account")).text, home)
    }))

  it.effect(
    "follows the browser where nobody chose, at the sign-in and in what is refused too",
    () =>
      Effect.gen(function*() {
        const { service } = yield* TheShop
        yield* choose("")
        for (const texts of Object.values(languages)) {
          const headers = { "accept-language": `${texts.locale},en;q=0.5` }
          assert.deepStrictEqual(langOf((yield* see("", headers)).text), [texts.locale, texts.direction])
          for (
            const [path, said] of [["/signin", texts.signIn.title], ["/invitation", texts.team.joinTitle]] as const
          ) {
            const page = yield* service.call(`/dashboard${path}`, { headers })
            assert.deepStrictEqual(langOf(page.text), [texts.locale, texts.direction])
            assert.include(page.text, escaped(said))
          }
          const nowhere = yield* service.call("/dashboard/nowhere", { headers })
          assert.strictEqual(nowhere.status, 404)
          assert.deepStrictEqual(langOf(nowhere.text), [texts.locale, texts.direction])
        }
      })
  )

  it.effect("refuses in the reader's own words, and marks as English what the API says", () =>
    Effect.gen(function*() {
      yield* choose("ar")
      const { ar } = languages
      const missing = yield* see(`/payments/${randomUUID()}`, { "accept-language": "fr" })
      assert.strictEqual(missing.status, 404)
      assert.deepStrictEqual(langOf(missing.text), ["ar", "rtl"])
      assert.include(missing.text, ar.refusals!.notFound)
      assert.match(missing.text, /<bdi lang="en" dir="ltr">[^<]+<\/bdi>/)
      const unknown = yield* send("/account", { action: "nothing" })
      assert.strictEqual(unknown.status, 400)
      assert.include(unknown.text, ar.faults.unknownForm)
      const zone = yield* send("/account", { action: "save_pages", language: "de", time_zone: "Mars/Olympus" })
      assert.strictEqual(zone.status, 400)
      assert.include(zone.text, ar.refusals!.wrongField)
      assert.deepStrictEqual(langOf((yield* see("/account")).text), ["ar", "rtl"])
    }))

  it.effect(
    "shows times in the reader's time zone, and money the same in every language",
    () =>
      Effect.gen(function*() {
        const { ids } = yield* TheShop
        const path = `/payments/${ids["payments/:id"]}`
        yield* choose("de", "Asia/Kathmandu")
        const german = (yield* see(path)).text
        assert.match(german, />\d{2}\.\d{2}\.\d{4}, \d{2}:\d{2} GMT\+5:45<\/time>/)
        assert.include(german, "$600.00")
        const account = (yield* see("/account")).text
        assert.include(account, "<option selected>Asia/Kathmandu</option>")
        assert.include(account, "<option value=\"de\" lang=\"de\" selected>Deutsch</option>")
        yield* choose("ar")
        const arabic = (yield* see(path)).text
        assert.include(arabic, "\u2066$600.00\u2069")
        assert.match(arabic, /UTC<\/time>/)
        yield* choose("en")
      })
  )

  it.effect("takes no dollars that a language could mean as thousands", () =>
    Effect.gen(function*() {
      yield* choose("de")
      for (const amount of ["1.000", "12,50", "1,000", "1.000.000", "12.345"]) {
        const refused = yield* send("/payments/new", { action: "create", amount_usd: amount })
        assert.strictEqual(refused.status, 400, amount)
        assert.include(refused.text, languages.de.faults.dollars)
        assert.notInclude(refused.text, "lang=\"en\"")
        const limit = yield* send("/limits", { action: "save", auto_approve_limit: amount })
        assert.strictEqual(limit.status, 400, amount)
      }
      const made = yield* send("/payments/new", { action: "create", amount_usd: "$12.50" })
      assert.strictEqual(made.status, 303, made.text)
      yield* choose("en")
    }))
})
