/**
 * Goal: every route answers every kind of caller as the published table says, and nobody learns anything of what is
 * another's. Method: the matrix holds a row for each operation of the served OpenAPI document, one status a credential.
 * Every cell is a call of its own on resources that no call was let at before it: after one that was refused they are
 * used again, because it must have changed nothing. An operation without a row, or a row without an operation, fails.
 */
import { assert, layer } from "@effect/vitest"
import { HDKey } from "@scure/bip32"
import { Context, Effect, Layer } from "effect"
import { randomBytes, randomUUID } from "node:crypto"
import { callers as columns, type Row, rows } from "./Matrix.ts"
import { type TestResponse } from "../support/Service.ts"
import { assertStatus } from "./Shop.ts"
import { ask, type Credential, makeDelivery, makeKey, makeWebhook, Tenants, tenants } from "./Tenants.ts"

/** What the simulated retailer sells. */
const goods = { product_id: "B08N5WRWNW", retailer: "amazon", title: "Item", price: 9.99 }

/** Where it is sent. */
const address = {
  first_name: "Ada",
  last_name: "Lovelace",
  street_address: "12 Analytical Way",
  city: "Miami",
  state: "FL",
  zip_code: "33101",
  country: "US",
  phone: "+1 305 555 0100",
  email: "ada@example.com"
}

/** The public part of an account nobody has. */
const newAccount = () => HDKey.fromMasterSeed(randomBytes(32)).derive("m/44'/60'/0'").publicExtendedKey

/** Makes what a placeholder names, as merchant A on devnet, anew for every cell. */
const resources = (town: Tenants["Service"]): Readonly<Record<string, () => Effect.Effect<string>>> => {
  const { a, service } = town
  const as = (credential: Credential) => (path: string, body?: unknown, method?: string) =>
    Effect.map(
      ask(service, credential, path, {
        method: method ?? (body === undefined ? "GET" : "POST"),
        ...(body === undefined ? {} : { body })
      }),
      (found) => assertStatus(200, found)
    )
  const merchant = as(a.merchant)
  const invoice = (credential: Credential) =>
    as(credential)("/api/v1/invoices", { amount_usd: 5, customer_id: `cust_${randomUUID()}` })
  const tokenId = Effect.map(
    merchant("/api/v1/merchant/tokens"),
    ({ tokens }) => String(tokens.find((each: any) => each.network === "base" && each.token_symbol === "USDC").id)
  )
  const paid = Effect.gen(function*() {
    const { invoice_id: id } = yield* invoice(a.merchant)
    const { data } = yield* merchant(`/api/v1/devnet/invoices/${id}/simulate`, { action: "pay" })
    return data
  })
  const estimate = (): Effect.Effect<string> =>
    Effect.map(
      as(a.commerce)("/api/commerce/merchant/checkout/estimate", { customer_id: "matrix", items: [goods] }),
      ({ data }) => data.estimate_id
    )
  let addressId = ""
  return {
    invoice: () => Effect.map(invoice(a.merchant), (made) => made.invoice_id),
    commerce_invoice: () => Effect.map(invoice(a.commerce), (made) => made.invoice_id),
    customer: () => Effect.map(invoice(a.merchant), (made) => made.invoice.customer_id),
    commerce_customer: () => Effect.map(invoice(a.commerce), (made) => made.invoice.customer_id),
    erased_customer: () =>
      Effect.gen(function*() {
        const { invoice: { customer_id }, invoice_id } = yield* invoice(a.merchant)
        yield* merchant(`/api/v1/invoices/${invoice_id}/cancel`, {})
        yield* as(a.jwt)(`/api/v1/customers/${customer_id}/erase`, {})
        return customer_id
      }),
    payment: () => Effect.map(paid, ({ invoice_payment }) => invoice_payment.id),
    balance_transaction: () => Effect.map(paid, ({ invoice_payment }) => invoice_payment.balance_transaction_id),
    exception: () =>
      Effect.gen(function*() {
        const { invoice_id: id } = yield* invoice(a.merchant)
        yield* merchant(`/api/v1/devnet/invoices/${id}/simulate`, { action: "pay", amount: 50_000 })
        const { data } = yield* merchant(`/api/v1/exceptions?invoice_id=${id}`)
        return data.data[0].id
      }),
    paid_invoice: () => Effect.map(paid, ({ invoice_payment }) => invoice_payment.invoice_id),
    refund: () =>
      Effect.gen(function*() {
        const { invoice_payment } = yield* paid
        const { data } = yield* merchant("/api/v1/refunds", {
          invoice_id: invoice_payment.invoice_id,
          amount_mode: "full",
          reason: "other",
          fee_bearer: "merchant",
          destination: {
            network: invoice_payment.network,
            address: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
          }
        })
        return data.id
      }),
    batch: () =>
      Effect.gen(function*() {
        // A merchant may have so many open at once.
        const { data } = yield* merchant("/api/v1/batches?status=pending_approval")
        yield* Effect.forEach(data.data, ({ id }: any) => merchant(`/api/v1/batches/${id}/cancel`, {}))
        const made = yield* merchant("/api/v1/batches", {
          kind: "payouts",
          network: "base",
          from: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
          lines: [{
            token_id: Number.parseInt(yield* tokenId, 10),
            token_amount: "1",
            destination: { address: "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359" }
          }]
        })
        return made.data.id
      }),
    payment_link: () =>
      Effect.map(merchant("/api/v1/payment-links", { title: "Workshop", amount_usd: 5 }), ({ data }) => data.id),
    event: () => Effect.map(paid, ({ event_ids: [id] }) => id),
    commerce_event: () =>
      Effect.gen(function*() {
        const { invoice_id: id } = yield* invoice(a.commerce)
        const { data } = yield* as(a.commerce)(`/api/v1/events?invoice_id=${id}`)
        return data.data[0].id
      }),
    token: () => tokenId,
    quote: () =>
      Effect.gen(function*() {
        const { invoice_id } = yield* invoice(a.merchant)
        const { data } = yield* merchant("/api/v1/quotes", {
          invoice_id,
          network: "base",
          token_id: Number.parseInt(yield* tokenId, 10)
        })
        return data.id
      }),
    webhook: () => makeWebhook(service, a, a.merchant),
    commerce_webhook: () => makeWebhook(service, a, a.commerce),
    disabled_webhook: () =>
      Effect.tap(
        makeWebhook(service, a, a.merchant),
        (id) => merchant(`/api/v1/webhooks/${id}`, { status: "disabled" }, "PATCH")
      ),
    delivery: () => makeDelivery(town, a, a.merchant),
    commerce_delivery: () => makeDelivery(town, a, a.commerce),
    estimate,
    addressed_estimate: () =>
      Effect.tap(estimate(), (estimate_id) =>
        Effect.map(
          as(a.commerce)("/api/commerce/merchant/checkout/address", { customer_id: "matrix", estimate_id, address }),
          ({ data }) => {
            addressId = data.address_id
          }
        )),
    its_address: () => Effect.sync(() => addressId),
    order: () =>
      Effect.gen(function*() {
        const estimate_id = yield* estimate()
        const addressed = yield* as(a.commerce)("/api/commerce/merchant/checkout/address", {
          customer_id: "matrix",
          estimate_id,
          address
        })
        const { address_id } = addressed.data
        const { data } = yield* as(a.commerce)("/api/commerce/merchant/checkout/invoice", {
          customer_id: "matrix",
          estimate_id,
          address_id
        })
        return data.order_id
      }),
    cart_item: () =>
      Effect.map(
        as(a.commerce)("/api/commerce/merchant/carts/items", {
          customer_id: "matrix",
          ...goods,
          product_id: `P${randomUUID()}`
        }),
        ({ data }) => data.item_id
      ),
    key: () => Effect.map(makeKey(service, a.jwt, { scope: "merchant", environment: "devnet" }), ({ id }) => id),
    wallet: () =>
      Effect.as(
        merchant("/api/v1/merchant/wallets/evm", { kind: "xpub", value: newAccount() }, "PUT"),
        "evm"
      )
  }
}

/** Replaces `{name}` in every string of a value, each name with one resource; `"{token}"` alone becomes a number. */
const filled = (value: unknown, made: ReadonlyMap<string, string>): unknown => {
  if (typeof value === "string") {
    if (value === "{token}") return Number.parseInt(made.get("token")!, 10)
    return value.replaceAll(/\{(\w+)\}/g, (whole, name: string) => made.get(name) ?? whole)
  }
  if (Array.isArray(value)) return value.map((each) => filled(each, made))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, filled(each, made)]))
}

const namesIn = (value: unknown): ReadonlyArray<string> =>
  [...JSON.stringify(value ?? "").matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)

/** The resources that a row names, in its path, its query and its body. */
const resourcesOf = ({ body, path, query, route }: Row): ReadonlySet<string> =>
  new Set([
    ...[...route.matchAll(/\{(\w+)\}/g)].flatMap(([whole, name]) => namesIn(path?.[name!] ?? whole)),
    ...namesIn(query),
    ...namesIn(body)
  ])

/** Makes the resources that a row names. */
const resourcesFor = Effect.fnUntraced(function*(row: Row, make: ReturnType<typeof resources>) {
  const made = new Map<string, string>()
  for (const name of resourcesOf(row)) made.set(name, yield* make[name]!())
  return made
})

/** The call of a row on resources of its own, if it is not given any; `more` is put to its query. */
const askRow = Effect.fnUntraced(
  function*(
    town: Tenants["Service"],
    row: Row,
    credential: Credential,
    more: ReadonlyArray<string> = [],
    make: ReturnType<typeof resources> = resources(town),
    given?: ReadonlyMap<string, string>
  ) {
    const made = given ?? (yield* resourcesFor(row, make))
    const [method, template] = row.route.split(" ") as [string, string]
    const path = template.replaceAll(
      /\{(\w+)\}/g,
      (whole, name: string) => filled(row.path?.[name] ?? whole, made) as string
    )
    const query = [...row.query === undefined ? [] : [filled(row.query, made) as string], ...more].join("&")
    return yield* ask(town.service, credential, `${path}${query === "" ? "" : `?${query}`}`, {
      method,
      ...(row.body === undefined ? {} : { body: filled(row.body, made) })
    })
  }
)

/** Objects of mainnet, as far as they are made without a payment, which is simulated on devnet only. */
const mainnetResources = ({ a, service }: Tenants["Service"]): ReturnType<typeof resources> => ({
  invoice: () =>
    Effect.map(
      ask(service, a.mainnet, "/api/v1/invoices", { method: "POST", body: { amount_usd: 5 } }),
      (made) => assertStatus(200, made).invoice_id
    ),
  key: () => Effect.map(makeKey(service, a.jwt, { scope: "merchant", environment: "mainnet" }), ({ id }) => id)
})

const onMainnet: ReadonlySet<string> = new Set(["invoice", "key"])

/** Names of resources that stand for the same in both environments, or for nothing that is there. */
const placeless: ReadonlySet<string> = new Set(["customer", "wallet"])

/**
 * What is found whichever environment is named. Events of both are read by everybody, whose right to it is the same in
 * both. Webhook endpoints are managed by the rights of their own one: test/modules/webhooks/manage.test.ts.
 */
const ofBoth = /^\S+ \/api\/v1\/(?:events|webhooks)\b/

/** Whether a row is a person's call on an object of devnet that names no environment. */
const isOnObject = (row: Row): boolean =>
  row.expect.split(" ")[columns.indexOf("jwt")] === "200"
  && !ofBoth.test(row.route) && row.query?.includes("environment=") !== true
  && [...resourcesOf(row)].some((name) => !placeless.has(name))

const callersOf = ({ a, b, service }: Tenants["Service"]) =>
  Effect.gen(function*() {
    const revoked = yield* makeKey(service, a.jwt, { scope: "merchant", environment: "devnet" })
    assertStatus(200, yield* ask(service, a.jwt, `/api/v1/api-keys/${revoked.id}`, { method: "DELETE" }))
    const made = assertStatus(
      200,
      yield* ask(service, a.merchant, "/api/v1/invoices", { method: "POST", body: { amount_usd: 5 } })
    )
    const callers: Readonly<Record<string, Credential>> = {
      none: {},
      merchant: a.merchant,
      commerce: a.commerce,
      alias: { "x-commerce-api-key": a.commerce["x-api-key"]! },
      jwt: a.jwt,
      session: made.payment_session_headers,
      revoked: { "x-api-key": revoked.key },
      other_environment: a.mainnet,
      other_merchant: b.merchant
    }
    return callers
  })

/** Credentials of every kind, the same for all rows. */
class Callers extends Context.Service<Callers, Readonly<Record<string, Credential>>>()("test/journeys/matrix/Callers") {
  static readonly layer = Layer.effect(Callers, Effect.flatMap(Tenants, callersOf))
}

/** No answer tells of our insides, whoever asks. */
const assertDiscreet = ({ status, text }: TestResponse, what: string) => {
  assert.isBelow(status, 500, `${what}: ${text}`)
  assert.notMatch(text, /\bat (?:\S+ \()?(?:file:|\/|node:)|node_modules|SqlError|postgres/i, what)
}

layer(Layer.provideMerge(Callers.layer, tenants), { excludeTestServices: true })(
  "who may do what",
  (it) => {
    it.effect("is said for every operation that is served, and for no other", () =>
      Effect.gen(function*() {
        const { service } = yield* Tenants
        const { json } = yield* service.call("/openapi.json")
        const served = Object.entries<any>(json.paths).flatMap(([path, methods]) =>
          Object.keys(methods).filter((method) => method !== "parameters").map((method) =>
            `${method.toUpperCase()} ${path}`
          )
        )
        assert.deepStrictEqual([...new Set(rows.map(({ route }) => route))].sort(), [...new Set(served)].sort())
        for (const { expect, route } of rows) assert.lengthOf(expect.split(" "), columns.length, route)
      }))

    for (const row of rows) {
      it.effect(`${row.route}${row.case === undefined ? "" : `, ${row.case}`}`, () =>
        Effect.gen(function*() {
          const town = yield* Tenants
          const callers = yield* Callers
          const make = resources(town)
          const found: Array<string> = []
          let unused: ReadonlyMap<string, string> | undefined
          for (const caller of columns) {
            const made: ReadonlyMap<string, string> = unused ?? (yield* resourcesFor(row, make))
            const answer = yield* askRow(town, row, callers[caller]!, [], make, made)
            assertDiscreet(answer, `${caller} ${row.route}`)
            found.push(String(answer.status))
            unused = answer.status < 400 ? undefined : made
          }
          assert.strictEqual(found.join(" "), row.expect, columns.join(" "))
        }))
    }

    for (const row of rows.filter(isOnObject)) {
      const title = `${row.route}${row.case === undefined ? "" : `, ${row.case}`}`
      it.effect(`${title}: reaches nothing of devnet by naming mainnet`, () =>
        Effect.gen(function*() {
          const town = yield* Tenants
          const answer = yield* askRow(town, row, town.a.jwt, ["environment=mainnet"])
          assert.isAtLeast(answer.status, 400, answer.text)
          assertDiscreet(answer, title)
        }))
    }

    for (
      const row of rows.filter((row) => isOnObject(row) && [...resourcesOf(row)].every((one) => onMainnet.has(one)))
    ) {
      const title = `${row.route}${row.case === undefined ? "" : `, ${row.case}`}`
      it.effect(`${title}: reaches nothing of mainnet by naming devnet`, () =>
        Effect.gen(function*() {
          const town = yield* Tenants
          const make = mainnetResources(town)
          const inPlace = yield* askRow(town, row, town.a.jwt, ["environment=mainnet"], make)
          const isForDevnetOnly = row.route.includes("/devnet/")
          assert.strictEqual(inPlace.status < 400, !isForDevnetOnly, inPlace.text)
          const answer = yield* askRow(town, row, town.a.jwt, ["environment=devnet"], make)
          assert.isAtLeast(answer.status, 400, answer.text)
          assertDiscreet(answer, title)
        }))
    }
  }
)
