/**
 * Goal: people of a shop do their work in a browser, and nobody does what their role does not allow: pages, menus,
 * forms and the audit log say the same. Method: the service as it is started, signed in by its own `login` command;
 * pages are asked for as a browser asks, without its script.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { randomUUID } from "node:crypto"
import { existsSync } from "node:fs"
import { sections } from "../../modules/dashboard/rules.ts"
import { Role, roleHas } from "../../schemas/Roles.ts"
import { migratedDatabase } from "../support/Database.ts"
import { generousLimits } from "../support/Limits.ts"
import { configOf, type Service, startService, temporaryDirectory } from "../support/Service.ts"
import { servedPages } from "./DashboardVisits.ts"
import { loginLink, printedLoginLink } from "./LoginLink.ts"
import { assertStatus } from "./Shop.ts"

/** Somebody's cookies. */
type Cookies = string

interface Shop {
  readonly service: Service
  /** Path of the merchant's pages. */
  readonly home: string
  readonly key: string
  /** A link for a member named by e-mail, or for the first owner. */
  readonly link: (member?: string) => Effect.Effect<string>
  /** The same from the command `login`. */
  readonly printedLink: (member?: string) => Effect.Effect<string>
}

/** Whether the tree has the modules of the books: pages and exports of them are there with them. */
const keepsBooks = existsSync(new URL("../../modules/reconciliation", import.meta.url))

const ofBooks = ["journal", "balance-transactions", "lots", "koinly"]

class TheShop extends Context.Service<TheShop, Shop>()("test/journeys/dashboard/TheShop") {}

const shop = Layer.effect(
  TheShop,
  Effect.gen(function*() {
    const directory = yield* temporaryDirectory
    const config = configOf({
      database: (yield* migratedDatabase).url,
      chains: [{ use: "simulated" }],
      http: { trustProxy: ["127.0.0.1"] },
      limits: { ...generousLimits, pagePerMinute: 5, noncePerMinute: 5 }
    })
    const service = yield* startService({ directory, config })
    const { merchant_id: merchant, merchant_key: key } = yield* service.keys
    return TheShop.of({
      service,
      home: `/dashboard/${merchant}/devnet`,
      key,
      link: (member) => loginLink({ service, merchant }, member),
      printedLink: (member) => printedLoginLink({ service, directory, merchant }, member)
    })
  })
)

const form = (fields: Readonly<Record<string, string>>) => new URLSearchParams(fields).toString()

/** What a browser sends with a form; each from an address of its own, for limits count addresses. */
const formHeaders = (service: Service, cookies: Cookies = "") => ({
  "x-forwarded-for": `2001:db8:${randomUUID().slice(0, 4)}:${randomUUID().slice(0, 4)}::1`,
  "content-type": "application/x-www-form-urlencoded",
  origin: new URL(service.url).origin,
  "sec-fetch-site": "same-origin",
  ...(cookies === "" ? {} : { cookie: cookies })
})

const cookiesOf = (headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>): Cookies =>
  [headers["set-cookie"] ?? []].flat().map((cookie) => cookie.split(";")[0]).join("; ")

/** Signs in by a link: its token is behind the fragment, and a form sends it. */
const useLink = (service: Service, url: string) =>
  service.call("/dashboard/signin/link", {
    method: "POST",
    headers: formHeaders(service),
    body: form({ token: new URL(url).hash.slice("#t=".length), next: "" })
  })

const signIn = Effect.fnUntraced(function*(member?: string) {
  const { link, service } = yield* TheShop
  const opened = yield* useLink(service, yield* link(member))
  assert.strictEqual(opened.status, 303, opened.text)
  return cookiesOf(opened.headers)
})

const see = Effect.fnUntraced(function*(cookies: Cookies, path: string) {
  const { home, service } = yield* TheShop
  return yield* service.call(`${home}${path}`, { headers: { cookie: cookies } })
})

/** The form's key that a page was drawn with. */
const formKeyOf = (text: string): string => /name="form_key" value="([^"]+)"/.exec(text)?.[1] ?? ""

const send = Effect.fnUntraced(function*(cookies: Cookies, path: string, fields: Readonly<Record<string, string>>) {
  const { home, service } = yield* TheShop
  return yield* service.call(`${home}${path}`, {
    method: "POST",
    headers: formHeaders(service, cookies),
    body: form(fields)
  })
})

/** A new member with a role, invited by an owner in the dashboard. */
const joinAs = Effect.fnUntraced(function*(owner: Cookies, role: Role) {
  const { service } = yield* TheShop
  const email = `${role}@shop.example`
  const drawn = yield* see(owner, "/team")
  const invited = yield* send(owner, "/team", { action: "invite", form_key: formKeyOf(drawn.text), role, email })
  const token = /#t=([\w-]+)/.exec(invited.text)?.[1] ?? ""
  const accepted = yield* service.call("/dashboard/invitation", {
    method: "POST",
    headers: formHeaders(service),
    body: form({ token, name: `A ${role}` })
  })
  assert.strictEqual(accepted.status, 303, accepted.text)
  return cookiesOf(accepted.headers)
})

/** An invoice over 100 dollars, of which so much in usd_millis was paid; null: nothing. */
const makeInvoice = Effect.fnUntraced(function*(paidUsdMillis: number | null) {
  const { key, service } = yield* TheShop
  const { invoice_id: invoice } = assertStatus(
    200,
    yield* service.call("/api/v1/invoices", {
      headers: { "x-api-key": key, "idempotency-key": randomUUID() },
      body: { amount_usd: 100 }
    })
  )
  if (paidUsdMillis === null) return { invoice, payment: null }
  const paid = yield* service.call(`/api/v1/devnet/invoices/${invoice}/simulate`, {
    headers: { "x-api-key": key },
    body: { action: "pay", amount: paidUsdMillis }
  })
  return { invoice, payment: assertStatus(200, paid).data.invoice_payment }
})

const menuOf = (text: string): ReadonlyArray<string> =>
  [.../<nav class="side"[\s\S]*?<\/nav>/.exec(text)?.[0].matchAll(/href="\/dashboard\/\d+\/devnet\/?([^"]*)"/g) ?? []]
    .map(([, path]) => path!)

layer(shop, { excludeTestServices: true })("the dashboard", (it) => {
  it.effect(
    "lets nobody in who is not signed in, and brings them back to where they wanted to go",
    () =>
      Effect.gen(function*() {
        const { home, service } = yield* TheShop
        const away = yield* service.call(`${home}/payments?status=paid`)
        assert.strictEqual(away.status, 303)
        assert.include(away.headers.location, `next=${encodeURIComponent(`${home}/payments?status=paid`)}`)
        const forged = yield* service.call(home, { headers: { cookie: "tillwire_read=forged" } })
        assert.strictEqual(forged.status, 303)
      })
  )

  it.effect("limits who is not signed in by their address, in a page, and nobody else", () =>
    Effect.gen(function*() {
      const { home, service } = yield* TheShop
      const cookie = yield* signIn()
      const headers = { "x-forwarded-for": "2001:db8:7::1" }
      const guess = { ...headers, cookie: "tillwire_read=forged" }
      for (const path of ["/dashboard", "/dashboard/signin", home, `${home}/keys`, "/dashboard/invitation"]) {
        assert.isBelow((yield* service.call(path, { headers: guess })).status, 400, path)
      }
      for (const path of ["/dashboard", "/dashboard/signin", "/dashboard/signin/link", home]) {
        const refused = yield* service.call(path, { headers: guess })
        assert.strictEqual(refused.status, 429, path)
        assert.match(String(refused.headers["content-type"]), /^text\/html/)
        assert.match(String(refused.headers["retry-after"]), /^[1-9]\d?$/)
      }
      assert.strictEqual((yield* service.call(home, { headers: { ...headers, cookie } })).status, 200)
      const code = () =>
        service.call("/dashboard/signin/recovery", {
          method: "POST",
          headers: { ...formHeaders(service), "x-forwarded-for": "2001:db8:8::1" },
          body: form({ email: "nobody@shop.example", code: "guess" })
        })
      for (let tries = 0; tries < 5; tries++) assert.strictEqual((yield* code()).status, 401)
      assert.strictEqual((yield* code()).status, 429, "a guess of a code")
    }))

  it.effect(
    "signs in by a link once, with cookies that no other site sends and no script reads",
    () =>
      Effect.gen(function*() {
        const { home, printedLink, service } = yield* TheShop
        const url = yield* printedLink()
        assert.match(url, /\/dashboard\/signin\/link#t=[\w-]{40,}$/)
        // What reads ahead, such as a scanner of mail, asks by GET and uses nothing up.
        assert.strictEqual((yield* service.call("/dashboard/signin/link")).status, 200)
        const opened = yield* useLink(service, url)
        assert.strictEqual(opened.status, 303)
        const cookies = [opened.headers["set-cookie"] ?? []].flat()
        assert.strictEqual(cookies.length, 2)
        for (const cookie of cookies) assert.include(cookie, "HttpOnly")
        assert.match(cookies.find((cookie) => cookie.startsWith("tillwire_read"))!, /SameSite=Lax/)
        assert.match(cookies.find((cookie) => cookie.startsWith("tillwire_act"))!, /SameSite=Strict/)
        const again = yield* useLink(service, url)
        assert.strictEqual(again.status, 401)
        const page = yield* service.call(home, { headers: { cookie: cookiesOf(opened.headers) } })
        assert.strictEqual(page.status, 200)
        assert.include(page.headers["content-security-policy"], "frame-ancestors 'none'")
        assert.strictEqual(page.headers["cache-control"], "no-store")
      })
  )

  it.effect(
    "refuses every form that is not of its own page, or comes without the cookie for forms",
    () =>
      Effect.gen(function*() {
        const { home, service } = yield* TheShop
        const cookies = yield* signIn()
        const body = form({ action: "create", form_key: "k", amount_usd: "5" })
        const own = formHeaders(service, cookies)
        const { origin: _origin, ...withoutOrigin } = own
        const { "sec-fetch-site": _site, ...withoutSite } = own
        const readOnly = cookies.split("; ").find((cookie) => cookie.startsWith("tillwire_read"))!
        const refused: ReadonlyArray<readonly [string, Readonly<Record<string, string>>, number]> = [
          ["another site", { ...own, "sec-fetch-site": "cross-site" }, 403],
          ["a neighbour", { ...own, "sec-fetch-site": "same-site" }, 403],
          ["another origin", { ...own, origin: "https://evil.example" }, 403],
          ["no origin", { ...withoutSite, origin: "null" }, 403],
          ["no sign at all", { "content-type": own["content-type"], cookie: cookies }, 403],
          ["only the cookie for pages", { ...own, cookie: readOnly }, 401]
        ]
        for (const [name, headers, status] of refused) {
          const answer = yield* service.call(`${home}/payments/new`, { method: "POST", headers, body })
          assert.strictEqual(answer.status, status, name)
        }
        const good = yield* service.call(`${home}/payments/new`, { method: "POST", headers: withoutOrigin, body })
        assert.strictEqual(good.status, 303, good.text)
      })
  )

  it.effect("shows each role its pages and no others, in the menu as by the address", () =>
    Effect.gen(function*() {
      const owner = yield* signIn()
      const { service } = yield* TheShop
      const listed = (yield* servedPages(service)).filter(({ path }) => !path.includes(":") && path !== "search")
      for (const role of Role.literals) {
        const cookies = role === "owner" ? owner : yield* joinAs(owner, role)
        const menu = menuOf((yield* see(cookies, "")).text)
        for (const { path, right } of listed) {
          const may = roleHas(role, right, "devnet")
          const { status, text } = yield* see(cookies, path === "" ? "" : `/${path}`)
          assert.strictEqual(status, may ? 200 : 403, `${role} ${path}: ${text.slice(0, 400)}`)
          if (sections.some((section) => section.path === path)) {
            assert.strictEqual(menu.includes(path), may, `${role}'s menu: ${path}`)
          }
        }
      }
    }))

  it.effect(
    "opens an invoice, finds its payment by the transaction, and decides what was too much",
    () =>
      Effect.gen(function*() {
        const { key, service } = yield* TheShop
        const cookies = yield* signIn()
        const drawn = yield* see(cookies, "/payments/new")
        const fields = {
          action: "create",
          form_key: formKeyOf(drawn.text),
          amount_usd: "49.99",
          title: "Blue <b>T-shirt"
        }
        const made = yield* send(cookies, "/payments/new", fields)
        assert.strictEqual(made.status, 303, made.text)
        const again = yield* send(cookies, "/payments/new", fields)
        assert.strictEqual(again.headers.location, made.headers.location, "the same form makes one invoice")
        const id = /payments\/([0-9a-f-]{36})/.exec(made.headers.location!)![1]!
        const paid = yield* service.call(`/api/v1/devnet/invoices/${id}/simulate`, {
          headers: { "x-api-key": key },
          body: { action: "pay", amount: 60_000 }
        })
        const { invoice_payment: payment } = assertStatus(200, paid).data
        const page = yield* see(cookies, `/payments/${id}`)
        assert.include(page.text, "Blue &lt;b&gt;T-shirt")
        assert.notInclude(page.text, "<b>T-shirt")
        assert.include(page.text, "$60.00")
        const found = yield* see(cookies, `/search?q=${encodeURIComponent(payment.payer_tx_hash)}`)
        assert.strictEqual(found.status, 303, found.text)
        assert.include(found.headers.location, `/payments/${id}`)
        const todo = yield* see(cookies, "/todo")
        assert.include(todo.text, "Too much")
        const exception = /name="exception" value="(exc_[\w-]+)"/.exec(todo.text)![1]!
        const decided = yield* send(cookies, `/todo?open=${exception}`, {
          action: "resolve",
          form_key: formKeyOf(todo.text),
          exception,
          decision: "credit",
          note: "Kept for the next order"
        })
        assert.strictEqual(decided.status, 303, decided.text)
        const after = yield* see(cookies, `/payments/${id}`)
        assert.include(after.text, "Keep it for the customer")
        const audit = yield* see(cookies, "/audit?action=exception.resolve")
        assert.include(audit.text, "exception.resolve")
        const late = yield* send(cookies, "/todo", {
          action: "resolve",
          form_key: "another",
          exception,
          decision: "ignore",
          note: ""
        })
        assert.strictEqual(late.status, 409, "who comes second is told so")
      })
  )

  it.effect("leads from months to days to hours, each with the same money in its rows as in its sum", () =>
    Effect.gen(function*() {
      const { home } = yield* TheShop
      const cookies = yield* signIn()
      const today = new Date().toISOString().slice(0, 10)
      const month = today.slice(0, 7)
      const cents = (text: string) => Number(text.replaceAll(/\D/g, ""))
      for (
        const [query, next] of [["by=month", `month=${month}`], [`month=${month}`, `day=${today}`], [`day=${today}`]]
      ) {
        const { text } = yield* see(cookies, `/metrics?${query}`)
        const sum = cents(/<dt>Received<\/dt><dd>([^<]*)<\/dd>/.exec(text)![1]!)
        const [, points] = /aria-label="Over time"[\s\S]*?<tbody>([\s\S]*?)<\/tbody>/.exec(text)!
        const rows = [...points!.matchAll(/<td class="n">(\$[^<]*)<\/td>/g)].map(([, amount]) => cents(amount!))
        assert.isAbove(sum, 0, query)
        assert.strictEqual(rows.reduce((all, amount) => all + amount, 0), sum, query)
        if (next !== undefined) assert.include(points, `href="${home}/metrics?${next}"`)
      }
    }))

  it.effect(
    "gives files of lists and months to those who may export, in the words of the API where it refuses",
    () =>
      Effect.gen(function*() {
        const owner = yield* signIn()
        const today = new Date().toISOString().slice(0, 10)
        const asked = `/exports/invoices?from=${today}&until=${today}`
        const drawn = yield* see(owner, "/payments")
        assert.include(drawn.text, "exports/invoices")
        const file = yield* see(owner, asked)
        assert.strictEqual(file.status, 200, file.text)
        assert.match(String(file.headers["content-type"]), /^text\/csv/)
        assert.match(String(file.headers["content-disposition"]), /attachment; filename="invoices-v1-devnet\.csv"/)
        assert.match(file.text, /^id,environment,type,status/)
        assert.include(file.text, "49.990")
        if (keepsBooks) {
          const month = yield* see(owner, `/periods?period=${today.slice(0, 7)}`)
          assert.include(month.text, `name="from" value="${today.slice(0, 7)}-01"`)
        }
        for (const kind of [...keepsBooks ? ofBooks : [], "payments", "refunds"]) {
          const next = yield* see(owner, `/exports/${kind}?from=${today}&until=${today}`)
          assert.strictEqual(next.status, 200, `${kind}: ${next.text.slice(0, 300)}`)
        }
        for (const path of ["/exports/invoices", `/exports/nothing?from=${today}&until=${today}`]) {
          const refused = yield* see(owner, path)
          assert.isAtLeast(refused.status, 400, path)
          assert.match(String(refused.headers["content-type"]), /^text\/html/)
        }
        const viewer = yield* signIn("viewer@shop.example")
        assert.strictEqual((yield* see(viewer, asked)).status, 403)
        assert.notInclude((yield* see(viewer, "/payments")).text, "exports/invoices")
        assert.include((yield* see(owner, "/audit?action=export.read")).text, "export.read")
      })
  )

  it.effect("lets money out by two people: one who refunds it cannot pay it alone", () =>
    Effect.gen(function*() {
      const { key, service } = yield* TheShop
      const owner = yield* signIn()
      const admin = yield* signIn("admin@shop.example")
      const viewer = yield* signIn("viewer@shop.example")
      const { invoice_id: invoice } = assertStatus(
        200,
        yield* service.call("/api/v1/invoices", {
          headers: { "x-api-key": key, "idempotency-key": randomUUID() },
          body: { amount_usd: 600 }
        })
      )
      const paid = yield* service.call(`/api/v1/devnet/invoices/${invoice}/simulate`, {
        headers: { "x-api-key": key },
        body: { action: "pay" }
      })
      const { invoice_payment: payment } = assertStatus(200, paid).data
      const to = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
      const opened = yield* send(owner, `/payments/${invoice}/refund`, {
        action: "create",
        form_key: randomUUID(),
        amount_mode: "full",
        amount_usd: "",
        where: "address",
        network: payment.network,
        address: to,
        fee_bearer: "merchant",
        reason: "requested_by_customer"
      })
      assert.strictEqual(opened.status, 303, opened.text)
      const refund = /refunds\/(re_[\w-]+)/.exec(String(opened.headers.location))![1]!
      const approve = (who: Cookies, path: string) => send(who, path, { action: "approve", form_key: randomUUID() })

      const byOwner = yield* approve(owner, `/refunds/${refund}`)
      assert.include(byOwner.headers.location, "notice=approved_first")
      const again = yield* approve(owner, `/refunds/${refund}`)
      assert.include(again.headers.location, "notice=approved_first", "a person counts once")
      assert.strictEqual((yield* approve(viewer, `/refunds/${refund}`)).status, 403)
      const approveForm = "name=\"action\" value=\"approve\""
      assert.notInclude((yield* see(owner, `/refunds/${refund}`)).text, approveForm, "not offered twice to one person")
      const waiting = yield* see(admin, `/refunds/${refund}`)
      assert.include(waiting.text, approveForm)
      assert.include(waiting.text, "Waits for approval")
      assert.include(waiting.text, "Approved by")
      const byAdmin = yield* approve(admin, `/refunds/${refund}`)
      assert.match(String(byAdmin.headers.location), /notice=approved$/)
      const done = yield* see(owner, `/refunds/${refund}`)
      assert.include(done.text, "On its way")
      assert.include(done.text, "A admin", "who approved it by name")
      assert.notInclude((yield* see(viewer, `/refunds/${refund}`)).text, "A admin", "the team is not the viewer's")

      const made = yield* send(owner, "/batches", {
        action: "pay_refunds",
        form_key: randomUUID(),
        network: payment.network,
        from: "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb"
      })
      assert.strictEqual(made.status, 303, made.text)
      const batch = /batches\/(bat_[\w-]+)/.exec(String(made.headers.location))![1]!
      const page = (yield* see(owner, `/batches/${batch}`)).text
      // Two people approved the refund, so one says that this batch pays it.
      assert.include(page, "0 of 1")
      assert.include(page, to)
      assert.include(page, approveForm)
      assert.strictEqual((yield* approve(viewer, `/batches/${batch}`)).status, 403)
      assert.match(String((yield* approve(admin, `/batches/${batch}`)).headers.location), /notice=approved$/)
      const approved = (yield* see(owner, `/batches/${batch}`)).text
      assert.include(approved, "1 of 1")
      assert.notInclude(approved, approveForm)
      assert.include(approved, "A admin", "who approved it by name")
      assert.notInclude((yield* see(viewer, `/batches/${batch}`)).text, "A admin", "the team is not the viewer's")
      const log = yield* see(owner, "/audit")
      for (const act of ["refund.create", "refund.approve", "batch.create", "batch.approve"]) {
        assert.include(log.text, act)
      }
    }))

  it.effect(
    "says that a case was left alone where it was, and not that the customer sees a decision",
    () =>
      Effect.gen(function*() {
        const { key, service } = yield* TheShop
        const owner = yield* signIn()
        const { invoice } = yield* makeInvoice(120_000)
        const found = yield* service.call(`/api/v1/exceptions?invoice_id=${invoice}`, { headers: { "x-api-key": key } })
        const [{ id: exception }] = assertStatus(200, found).data.data
        const left = yield* send(owner, "/todo", {
          action: "resolve",
          form_key: randomUUID(),
          exception,
          decision: "ignore",
          note: ""
        })
        assert.include(left.headers.location, "notice=exception_left")
        const after = yield* see(owner, left.headers.location!.split("/devnet")[1]!)
        assert.include(after.text, "Left alone. Nothing changes for your customer.")
      })
  )

  it.effect("leaves out what was done before where the next form is refused", () =>
    Effect.gen(function*() {
      const owner = yield* signIn()
      const saved = yield* see(owner, "/branding?notice=saved")
      assert.include(saved.text, "Saved.")
      assert.notMatch(saved.text, /action="[^"]*notice=/)
      const refused = yield* send(owner, "/branding?notice=saved", {
        action: "save",
        form_key: randomUUID(),
        name: "Shop",
        accent: "no colour"
      })
      assert.isAtLeast(refused.status, 400)
      assert.include(refused.text, "role=\"alert\"")
      assert.notInclude(refused.text, "Saved.")
    }))

  it.effect(
    "offers a refund only where something can be refunded, and says plainly that nothing is left",
    () =>
      Effect.gen(function*() {
        const owner = yield* signIn()
        const unpaid = yield* makeInvoice(null)
        const offer = ({ invoice }: { readonly invoice: string }) => `/payments/${invoice}/refund"`
        assert.notInclude((yield* see(owner, `/payments/${unpaid.invoice}`)).text, offer(unpaid))
        const paid = yield* makeInvoice(100_000)
        assert.include((yield* see(owner, `/payments/${paid.invoice}`)).text, offer(paid))
        const fields = {
          action: "create",
          amount_mode: "full",
          amount_usd: "",
          where: "address",
          network: paid.payment.network,
          address: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
          fee_bearer: "merchant",
          reason: "requested_by_customer"
        }
        const refundAll = () => send(owner, `/payments/${paid.invoice}/refund`, { ...fields, form_key: randomUUID() })
        assert.strictEqual((yield* refundAll()).status, 303)
        assert.notInclude((yield* see(owner, `/payments/${paid.invoice}`)).text, offer(paid), "all of it is on its way")
        const refused = yield* refundAll()
        assert.strictEqual(refused.status, 409, refused.text)
        const [, message = ""] = /role="alert"><span>([^<]*)</.exec(refused.text) ?? []
        assert.include(message, "Nothing of this payment is left to refund")
        assert.notInclude(message, paid.payment.id)
        assert.notInclude(message, "of the token")
      })
  )

  it.effect(
    "shows a month in words, and offers to close only the month that is closed next",
    () =>
      Effect.gen(function*() {
        if (!keepsBooks) return
        const owner = yield* signIn()
        yield* makeInvoice(100_000)
        const month = new Date().toISOString().slice(0, 7)
        const before = yield* see(owner, "/periods?period=2020-01")
        assert.notInclude(before.text, "name=\"action\" value=\"close\"")
        assert.include(before.text, `${month} is closed next.`)
        const current = yield* see(owner, `/periods?period=${month}`)
        assert.notInclude(current.text, "is closed next.")
        assert.notMatch(current.text, /not_read_yet|chain:|\[object/)
        assert.include(current.text, "Is read once the month is over")
      })
  )

  it.effect("asks once more before it removes somebody from the team, without a script", () =>
    Effect.gen(function*() {
      const owner = yield* signIn()
      const { text } = yield* see(owner, "/team")
      assert.match(
        text,
        /<details><summary>Remove<\/summary><form [^>]*>(?:<input [^>]*>)*<p>[^<]*signed out at once[^<]*<\/p><button[^>]*>Yes, remove</
      )
      assert.notMatch(text, /<button[^>]*>Remove</)
    }))

  it.effect("says in the search field what is found", () =>
    Effect.gen(function*() {
      const { text } = yield* see(yield* signIn(), "")
      assert.include(text, "placeholder=\"Transaction, address, amount, customer\"")
    }))

  it.effect("shows no empty form to whoever may not send it", () =>
    Effect.gen(function*() {
      const viewer = yield* signIn("viewer@shop.example")
      const { invoice } = yield* makeInvoice(null)
      for (const path of ["/payments/new", `/payments/${invoice}/refund`]) {
        assert.strictEqual((yield* see(viewer, path)).status, 403, path)
      }
    }))

  it.effect(
    "makes a key that is for a shop alone, and tells the shop's number beside it",
    () =>
      Effect.gen(function*() {
        const { home, service } = yield* TheShop
        const owner = yield* signIn()
        const fields = {
          action: "create",
          name: "Web shop",
          scope: "merchant",
          permission_read: "on",
          permission_write: "on"
        }
        const storeId = /\/(\d+)\/devnet$/.exec(home)![1]!
        const made = yield* send(owner, "/keys", { ...fields, use: "btcpay", form_key: randomUUID() })
        assert.include(made.text, `The Store ID is ${storeId}-devnet.`)
        const key = /mk_dev_[0-9A-Za-z]{38}/.exec(made.text)![0]
        const refused = yield* service.call("/api/v1/invoices", { headers: { "x-api-key": key } })
        assert.strictEqual(refused.status, 403)
        assert.include(refused.text, "CREDENTIAL_NOT_ALLOWED")
        const plain = yield* send(owner, "/keys", { ...fields, use: "any", form_key: randomUUID() })
        assert.notInclude(plain.text, "Store ID")
        const other = /mk_dev_[0-9A-Za-z]{38}/.exec(plain.text)![0]
        assertStatus(200, yield* service.call("/api/v1/invoices", { headers: { "x-api-key": other } }))
      })
  )

  it.effect("leaves what a viewer tries undone, and says who may", () =>
    Effect.gen(function*() {
      const { printedLink, service } = yield* TheShop
      const viewer = cookiesOf((yield* useLink(service, yield* printedLink("viewer@shop.example"))).headers)
      for (
        const [path, fields] of [
          ["/payments/new", { action: "create", amount_usd: "5" }],
          ["/keys", { action: "create", name: "k", scope: "merchant", permission_read: "on" }],
          ["/branding", { action: "save", name: "Mine", accent: "#000000" }]
        ] as const
      ) {
        const tried = yield* send(viewer, path, { form_key: `viewer ${path}`, ...fields } as never)
        assert.strictEqual(tried.status, 403, path)
      }
      const out = yield* service.call("/dashboard/signout", { method: "POST", headers: formHeaders(service, viewer) })
      assert.strictEqual(out.status, 303)
      assert.strictEqual((yield* see(viewer, "")).status, 303, "the session has ended, not only the cookie")
    }))
})
