/**
 * Goal: pages of a merchant show and do nothing of another one, whatever ids a visitor names; no text of a stranger
 * becomes a part of a page; nobody gives somebody else a session. Method: the service as it is started, with two
 * merchants; every page and every form that names something, with things of the other.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { randomUUID } from "node:crypto"
import { existsSync } from "node:fs"
import { pages } from "../../modules/dashboard/pages.ts"
import { migratedDatabase } from "../support/Database.ts"
import { makeMerchants } from "../support/Merchants.ts"
import { answers, makeReceiver, type Receiver } from "../support/Receiver.ts"
import { configOf, type Service, startService, temporaryDirectory, until } from "../support/Service.ts"
import { byName, findAll, type Node, readHtml, textOf } from "../support/Screens.ts"
import { unlistedPlayToken } from "../../schemas/PlayMoney.ts"
import { makeVisitor } from "./DashboardVisits.ts"
import { loginLink } from "./LoginLink.ts"
import { assertStatus } from "./Shop.ts"

/** Ends the attribute or the element it stands in, and would be an element of its own. */
const hostile = "\"'><img src=x onerror=alert(1)>"

/** Turns what follows around, and holds a space that has no width. */
const reversing = "\u202Etxt\u200Bfdp.exe"

/** Elements that stand on lines of their own. */
const blocks: ReadonlySet<string> = new Set(
  "p h1 h2 h3 td th dt dd li div section main label summary pre option title legend button a".split(" ")
)

const isIsolated = ({ name }: Node): boolean => name === "bdi" || name === "pre"

/** Blocks of a page in which something of ours stands behind a text that turns it around. A tab's title decides nothing. */
const turned = (node: Node, within: ReadonlyArray<Node> = []): ReadonlyArray<string> => {
  if (node.name === "title") return []
  if (node.name !== "") return node.children.flatMap((child) => turned(child, [...within, node]))
  if (!node.text.includes(reversing) || within.some(isIsolated)) return []
  const block = within.findLast(({ name }) => blocks.has(name)) ?? within[0]!
  return textOf(block).endsWith(reversing) ? [] : [`<${block.name}>${textOf(block)}`]
}

interface Town {
  readonly service: Service
  readonly receiver: Receiver
  readonly merchant: number
  readonly key: string
  readonly other: number
}

class TheTown extends Context.Service<TheTown, Town>()("test/journeys/dashboardSecurity/TheTown") {}

const town = Layer.effect(
  TheTown,
  Effect.gen(function*() {
    const directory = yield* temporaryDirectory
    const receiver = yield* makeReceiver()
    const database = (yield* migratedDatabase).url
    const config = configOf({ database, chains: [{ use: "simulated" }], receivers: [receiver.host] })
    const service = yield* startService({ directory, config })
    const { merchant_id: merchant, merchant_key: key } = yield* service.keys
    const [other] = yield* makeMerchants(service, 1)
    return TheTown.of({ service, receiver, merchant, key, other: other!.id })
  })
)

/** What the owner of a merchant does with its pages. */
const visitorOf = Effect.fnUntraced(function*(merchant: number) {
  const { service } = yield* TheTown
  const origin = new URL(service.url).origin
  const visitor = makeVisitor({ service, merchant, origin })
  return { ...visitor, origin, owner: yield* visitor.signIn() }
})

const call = Effect.fnUntraced(function*(path: string, body?: object) {
  const { key, service } = yield* TheTown
  const headers = { "x-api-key": key, ...(body === undefined ? {} : { "idempotency-key": randomUUID() }) }
  return assertStatus(200, yield* service.call(`/api/v1/${path}`, { headers, ...(body === undefined ? {} : { body }) }))
})

/** One thing of each kind, every text of it hostile; by what pages call it. */
const tradeWith = Effect.fnUntraced(function*(hostile: string) {
  const { merchant, receiver } = yield* TheTown
  const { owner, send } = yield* visitorOf(merchant)
  receiver.script("/hostile", answers(500, {}, hostile))
  const { data: { id: endpoint } } = yield* call("webhooks", {
    url: receiver.url("/hostile"),
    enabled_events: ["*"],
    description: hostile
  })
  const { invoice_id: invoice } = yield* call("invoices", {
    amount_usd: 50,
    customer_id: hostile,
    invoice_title: hostile,
    description: hostile,
    metadata: { [hostile]: hostile }
  })
  const { data: { invoice_payment: payment } } = yield* call(`devnet/invoices/${invoice}/simulate`, {
    action: "pay",
    amount: 100_000
  })
  const { data: { data: [{ id: exception }] } } = yield* call(`exceptions?invoice_id=${invoice}`)
  const refunded = yield* send(owner, `/payments/${invoice}/refund`, {
    action: "create",
    amount_mode: "custom",
    amount_usd: "5",
    where: "address",
    network: payment.network,
    address: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    fee_bearer: "merchant",
    reason: "requested_by_customer"
  })
  const refund = /refunds\/(re_[\w-]+)/.exec(String(refunded.headers.location))![1]!
  yield* send(owner, `/refunds/${refund}`, { action: "approve" })
  const batched = yield* send(owner, "/batches", {
    action: "pay_refunds",
    network: payment.network,
    from: "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb"
  })
  const batch = /batches\/(bat_[\w-]+)/.exec(String(batched.headers.location))![1]!
  const { data: { id: link } } = yield* call("payment-links", { title: hostile, description: hostile, amount_usd: 5 })
  yield* send(owner, "/keys", { action: "create", name: hostile, scope: "merchant", permission_read: "on" })
  yield* send(owner, "/branding", { action: "save", name: hostile, accent: "#335577" })
  const { data: { data: [{ id: event }] } } = yield* call("events?limit=1")
  const deliveries = call(`webhooks/${endpoint}/deliveries?limit=1`)
  const { data: { data: [{ id: delivery }] } } = yield* until(
    "an attempt has failed",
    deliveries,
    ({ data: { data } }) => data[0]?.attempt_count > 0
  )
  return { endpoint, invoice, exception, refund, batch, link, event, delivery }
})

const trade = tradeWith(hostile)

/** Every page of the merchant, and those that name one of its things. */
const everyAddress = (things: Effect.Success<typeof trade>, text: string): ReadonlyArray<string> =>
  [
    ...pages.filter(({ file, path }) => !path.includes(":") && file === undefined).map(({ path }) => `/${path}`),
    ...addressesOf(things).values(),
    `/todo?open=${things.exception}`,
    `/webhooks/${things.endpoint}?open=${things.delivery}`,
    `/payments?customer=${encodeURIComponent(text)}`,
    `/search?q=${encodeURIComponent(text)}`
  ].map((address) => address === "/" ? "" : address)

/** The pages that name one thing, with it. */
const addressesOf = (things: Effect.Success<typeof trade>): ReadonlyMap<string, string> =>
  new Map([
    ["payments/:id", `/payments/${things.invoice}`],
    ["payments/:id/refund", `/payments/${things.invoice}/refund`],
    ["links/:id", `/links/${things.link}`],
    ["refunds/:id", `/refunds/${things.refund}`],
    ["batches/:id", `/batches/${things.batch}`],
    ["webhooks/:id", `/webhooks/${things.endpoint}`],
    ["events/:id", `/events/${things.event}`]
  ])

layer(town, { excludeTestServices: true })("pages of two merchants", (it) => {
  it.effect(
    "show nothing of the other merchant, and do nothing to it, whatever is named",
    () =>
      Effect.gen(function*() {
        const { merchant, other, service } = yield* TheTown
        const things = yield* trade
        const mine = yield* visitorOf(merchant)
        const theirs = yield* visitorOf(other)
        const addresses = addressesOf(things)
        const named = pages.filter(({ file, path }) => path.includes(":") && file === undefined)
        assert.deepStrictEqual(named.map(({ path }) => path).toSorted(), [...addresses.keys()].toSorted())
        for (const page of named) {
          const address = addresses.get(page.path)!
          assert.strictEqual((yield* mine.see(mine.owner, address)).status, 200, address)
          const seen = yield* theirs.see(theirs.owner, address)
          // A form that is drawn without a look at what it is for.
          if (page.path === "payments/:id/refund") assert.notInclude(seen.text, "img src", address)
          else assert.strictEqual(seen.status, 404, address)
          const foreign = yield* mine.see(theirs.owner, address)
          assert.strictEqual(foreign.status, 404, `the merchant's own ${address}`)
          for (const action of Object.keys(page.actions ?? {})) {
            const acted = yield* theirs.send(theirs.owner, address, { action, amount_mode: "full", where: "claim" })
            assert.include([400, 404, 409], acted.status, `${address} ${action}: ${acted.text.slice(0, 300)}`)
            assert.strictEqual(
              (yield* mine.send(theirs.owner, address, { action })).status,
              404,
              `${address} ${action}`
            )
          }
        }
        for (const address of [`/todo?open=${things.exception}`, `/webhooks?open=${things.delivery}`]) {
          const { text } = yield* theirs.see(theirs.owner, address)
          assert.notInclude(text, "img src", address)
        }
        const resolved = yield* theirs.send(theirs.owner, "/todo", {
          action: "resolve",
          exception: things.exception,
          decision: "ignore",
          note: ""
        })
        assert.strictEqual(resolved.status, 404)
        for (const { path } of pages.filter(({ path }) => !path.includes(":"))) {
          assert.strictEqual((yield* mine.see(theirs.owner, `/${path}`)).status, 404, path)
        }
        const after = yield* service.call(`/api/v1/exceptions/${things.exception}`, {
          headers: { "x-api-key": (yield* TheTown).key }
        })
        assert.strictEqual(assertStatus(200, after).data.status, "open")
      })
  )

  it.effect(
    "show texts of strangers as texts: titles, metadata, names and answers of webhooks",
    () =>
      Effect.gen(function*() {
        const { merchant } = yield* TheTown
        const things = yield* trade
        const { owner, see } = yield* visitorOf(merchant)
        const showing: Array<string> = []
        for (const address of everyAddress(things, hostile)) {
          const { text } = yield* see(owner, address)
          assert.notInclude(text, "<img src=x", address)
          assert.notInclude(text, "\"'>", address)
          if (text.includes("&lt;img src=x")) showing.push(address)
        }
        // Where none is shown nothing is proved.
        for (
          const address of [
            "",
            "/payments",
            `/payments/${things.invoice}`,
            "/links",
            "/keys",
            "/branding",
            `/todo?open=${things.exception}`,
            `/webhooks/${things.endpoint}?open=${things.delivery}`
          ]
        ) assert.include(showing, address)
      })
  )

  it.effect(
    "keep texts that turn others around to themselves, and cut what never ends",
    () =>
      Effect.gen(function*() {
        const { merchant, receiver } = yield* TheTown
        const things = yield* tradeWith(reversing)
        const { owner, see } = yield* visitorOf(merchant)
        const found: Array<string> = []
        const showing: Array<string> = []
        for (const address of everyAddress(things, reversing)) {
          const { text } = yield* see(owner, address)
          const page = readHtml(text)
          found.push(...turned(page).map((block) => `${address}: ${block}`))
          if (text.includes(reversing)) showing.push(address)
        }
        assert.deepStrictEqual(found, [])
        for (
          const address of ["", "/payments", "/keys", `/payments/${things.invoice}`, `/todo?open=${things.exception}`]
        ) {
          assert.include(showing, address)
        }

        const endless = "&".repeat(10_000)
        for (const name of ["customer_id", "invoice_title", "description"]) {
          const { key, service } = yield* TheTown
          const headers = { "x-api-key": key, "idempotency-key": randomUUID() }
          const refused = yield* service.call("/api/v1/invoices", { headers, body: { amount_usd: 5, [name]: endless } })
          assert.strictEqual(refused.status, 400, name)
        }
        receiver.script("/endless", answers(500, {}, endless))
        const { data: { id: endpoint } } = yield* call("webhooks", {
          url: receiver.url("/endless"),
          enabled_events: ["*"]
        })
        yield* call("invoices", { amount_usd: 5 })
        const { data: { data: [{ id: delivery }] } } = yield* until(
          "an attempt has failed",
          call(`webhooks/${endpoint}/deliveries?limit=1`),
          ({ data: { data } }) => data[0]?.attempt_count > 0
        )
        const { text } = yield* see(owner, `/webhooks/${endpoint}?open=${delivery}`)
        const [answer] = findAll(readHtml(text), byName("pre"))
        assert.match(textOf(answer!), /^&{1000,4096}$/)
      })
  )

  it.effect(
    "name a token in no list by its contract, whatever it is called itself",
    () =>
      Effect.gen(function*() {
        const { merchant } = yield* TheTown
        const { owner, see, send } = yield* visitorOf(merchant)
        const { invoice_id: invoice } = yield* call("invoices", { amount_usd: 50 })
        yield* call(`devnet/invoices/${invoice}/simulate`, { action: "wrong_token", network: "base" })
        const { data: { data: [exception] } } = yield* call(`exceptions?invoice_id=${invoice}`)
        const token = unlistedPlayToken("base")!
        assert.deepInclude(exception.token, { id: null, symbol: token.symbol })
        const contract = `${token.address.slice(0, 6)}…${token.address.slice(-4)}`
        const isNamedByContract = Effect.fnUntraced(function*(...addresses: ReadonlyArray<string>) {
          for (const address of addresses) {
            const { text } = yield* see(owner, address)
            assert.notInclude(text, token.symbol, address)
            assert.include(text.toLowerCase(), `unlisted token ${contract.toLowerCase()}`, address)
          }
        })
        yield* isNamedByContract("/payments", `/payments/${invoice}`, `/todo?open=${exception.id}`)
        const resolved = yield* send(owner, "/todo", {
          action: "resolve",
          exception: exception.id,
          decision: "refund",
          note: ""
        })
        const refund = /refunds\/(re_[\w-]+)/.exec(String(resolved.headers.location))![1]!
        yield* isNamedByContract("/refunds", `/refunds/${refund}`)
        const { data } = yield* call(`refunds/${refund}`)
        assert.deepInclude(data, { token_id: null, token_symbol: token.symbol, token_address: token.address })
        const { key, service } = yield* TheTown
        const day = data.created_at - data.created_at % 86_400
        const { text } = yield* service.call(`/api/v1/exports/refunds?from=${day}&to=${day + 172_800}`, {
          headers: { "x-api-key": key }
        })
        const [head, ...rows] = text.trim().split("\r\n").map((line) => line.split(","))
        assert.deepStrictEqual(head!.slice(-2), ["token_id", "token_address"])
        assert.deepStrictEqual(rows.find(([id]) => id === refund)!.slice(-2), ["", token.address])
      })
  )

  it.effect(
    "export texts of strangers so that no spreadsheet runs them, in every field",
    () =>
      Effect.gen(function*() {
        const begins = ["=", "+", "-", "@", "\t", "\r", "\n", "\uFF1D", "\uFF0B", "\uFF0D", "\uFF20"]
        for (const first of begins) {
          const text = `${first}HYPERLINK("https://evil.example","x")`
          const { invoice_id: invoice } = yield* call("invoices", {
            amount_usd: 50,
            customer_id: /[\t\r\n]/.test(first) ? "plain" : text,
            metadata: { note: text }
          })
          yield* call(`devnet/invoices/${invoice}/simulate`, { action: "pay" })
          yield* call("refunds", { invoice_id: invoice, amount_mode: "full", reason: "other", fee_bearer: "merchant" })
        }
        const now = Math.floor(Date.now() / 1_000)
        const span = `from=${now - 86_400}&to=${now + 86_400}`
        const { key, service } = yield* TheTown
        let found = 0
        const keepsBooks = existsSync(new URL("../../modules/ledger", import.meta.url))
        const ofBooks = ["lots", "koinly", "balance-transactions", "journal"]
        const kinds = ["invoices", "payments", "refunds", ...keepsBooks ? ofBooks : []]
        for (const [place, kind] of kinds.entries()) {
          const metadata = place < 4 ? "&metadata_keys=note" : ""
          const { status, text } = yield* service.call(`/api/v1/exports/${kind}?${span}${metadata}`, {
            headers: { "x-api-key": key }
          })
          assert.strictEqual(status, 200, text)
          const cells = [...text.matchAll(/(?:^|[,\n])(?:"((?:[^"]|"")*)"|([^,\r\n]*))/g)].map(([, quoted, bare]) =>
            quoted?.replaceAll("\"\"", "\"") ?? bare ?? ""
          )
          const run = cells.filter((cell) => begins.includes(cell.slice(0, 1)) && !/^-\d+(?:\.\d+)?$/.test(cell))
          assert.deepStrictEqual(run, [], kind)
          found += cells.filter((cell) => cell.startsWith("'")).length
        }
        assert.isAbove(found, 2 * begins.length)
      })
  )

  it.effect(
    "give a new session to whoever signs in, and nothing to who laid a cookie ready",
    () =>
      Effect.gen(function*() {
        const { merchant, service } = yield* TheTown
        const { joinAs, origin, owner, see } = yield* visitorOf(merchant)
        const url = yield* loginLink({ service, merchant })
        const post = (cookie: string, token: string) =>
          service.call("/dashboard/signin/link", {
            method: "POST",
            headers: {
              "content-type": "application/x-www-form-urlencoded",
              origin,
              "sec-fetch-site": "same-origin",
              cookie
            },
            body: new URLSearchParams({ token, next: "" }).toString()
          })
        const laid = `tillwire_read=${"a".repeat(43)}; tillwire_act=${"b".repeat(43)}`
        const opened = yield* post(laid, new URL(url).hash.slice("#t=".length))
        const given = [opened.headers["set-cookie"] ?? []].flat().map((cookie) => cookie.split(";")[0]!)
        assert.lengthOf(given, 2)
        for (const cookie of given) assert.notInclude(laid, cookie)
        assert.strictEqual((yield* see(laid, "")).status, 303, "what was laid ready opens nothing")
        assert.strictEqual((yield* see(given.join("; "), "")).status, 200)
        const second = yield* post(
          owner,
          new URL(yield* loginLink({ service, merchant })).hash.slice("#t=".length)
        )
        const tokens = [second.headers["set-cookie"] ?? []].flat().map((cookie) => cookie.split(";")[0]!)
        for (const token of tokens) assert.notInclude(owner, token, "an earlier session is not raised")
        const stranger = yield* joinAs(owner, "viewer")
        const victim = yield* post(
          stranger,
          new URL(yield* loginLink({ service, merchant })).hash.slice("#t=".length)
        )
        const own = [victim.headers["set-cookie"] ?? []].flat().map((cookie) => cookie.split(";")[0]!)
        assert.lengthOf(own, 2)
        assert.strictEqual((yield* see(own.join("; "), "/keys")).status, 200)
        assert.strictEqual((yield* see(stranger, "/keys")).status, 403, "whose session was laid ready stays who it was")
        assert.include((yield* see(stranger, "/account")).text, "A viewer")
      })
  )
})
