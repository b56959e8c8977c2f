/**
 * Goal: every call of a shop answers every kind of key, and every wrong body, as the published tables say, in the types
 * that typed clients read. Method: `shopMatrix.json` holds a row for each call that is served, one status a key. Below
 * are the refusals with their sentences, and what the getters of BTCPay's PHP client 2.9.0 declare.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { randomUUID } from "node:crypto"
import { callsOf } from "../../../modules/btcpay/handlers.ts"
import { prefixes } from "../../../modules/btcpay/rules.ts"
import { migratedDatabase } from "../../support/Database.ts"
import { makeMerchants } from "../../support/Merchants.ts"
import {
  configOf,
  exchange,
  type Service,
  startService,
  temporaryDirectory,
  type TestRequest,
  type TestResponse
} from "../../support/Service.ts"
import matrix from "./shopMatrix.json" with { type: "json" }

/** Calls of a key in a minute where the config says nothing. */
const defaultLimit = 600

/** A public address that is never called: the endpoints want webhooks that no invoice of these tests has. */
const unusedHook = {
  url: "https://93.184.215.14/hooks",
  authorizedEvents: { everything: false, specificEvents: ["InvoiceMagic"] }
}

interface ShopTown {
  readonly service: Service
  readonly store: string
  /**
   * The headers of each caller of the matrix. `address`: a key for other addresses. `store`: a good key that names
   * another store. `stranger`: another merchant's key for its own store. `merchant`: a key without a sole use, at
   * PrestaShop's URL. `short`: the key without underscores.
   */
  readonly callers: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly strangerStore: string
  readonly newKey: (fields: object) => Effect.Effect<string>
  readonly shop: (path: string, sent?: TestRequest) => Effect.Effect<TestResponse>
  readonly native: (path: string, sent?: TestRequest) => Effect.Effect<TestResponse>
}

const answered = ({ json, status, text }: TestResponse): any => {
  assert.strictEqual(status, 200, text)
  return json
}

const token = (key: string) => ({ authorization: `token ${key}` })

const townWith = (options: object) =>
  Effect.gen(function*() {
    const database = yield* migratedDatabase
    const config = configOf({ database: database.url, chains: [{ use: "simulated", options: { networks: ["base"] } }] })
    const service = yield* startService({
      directory: yield* temporaryDirectory,
      config: {
        ...config,
        modules: config.modules.map((each) => each.use === "btcpay" ? { ...each, options } : each)
      }
    })
    const [own, other] = yield* makeMerchants(service, 2)
    const native = (path: string, sent: TestRequest = {}) =>
      service.call(path, {
        ...sent,
        headers: { "x-api-key": own!.key, "idempotency-key": randomUUID(), ...sent.headers }
      })
    const made = (fields: object) =>
      Effect.map(native("/api/v1/api-keys", { body: { name: "Shop", ...fields } }), (answer) => answered(answer).data)
    const newKey = (fields: object) => Effect.map(made({ scope: "merchant", ...fields }), ({ key }) => key as string)
    const revoked = yield* made({ scope: "merchant", use: "btcpay" })
    answered(yield* native(`/api/v1/api-keys/${revoked.id}`, { method: "DELETE" }))
    const key = yield* newKey({ use: "btcpay" })
    service.guard(key)
    const shop = (path: string, sent: TestRequest = {}) =>
      exchange(service.url, `/btcpay/api/v1${path}`, { ...sent, headers: { ...token(key), ...sent.headers } })
    const callers = {
      none: {},
      bearer: { authorization: `Bearer ${key}` },
      unknown: token(`mk_dev_${"x".repeat(38)}`),
      revoked: token(revoked.key),
      address: token(yield* newKey({ use: "btcpay", ip_allowlist: ["203.0.113.0/24"] })),
      commerce: token(yield* newKey({ scope: "commerce" })),
      reader: token(yield* newKey({ use: "btcpay", permissions: ["read"] })),
      store: token(key),
      stranger: token(other!.key),
      merchant: token(own!.key),
      shop: token(key),
      short: { authorization: `Token ${key.replaceAll("_", "")}` }
    }
    const town: ShopTown = {
      service,
      store: `${own!.id}-devnet`,
      strangerStore: `${other!.id}-devnet`,
      callers,
      newKey,
      shop,
      native
    }
    return town
  })

class Town extends Context.Service<Town, ShopTown>()("test/btcpay/ContractTown") {
  static readonly layer = Layer.effect(Town, townWith({}))
}

const newInvoice = (more: object = {}) =>
  Effect.flatMap(Town, ({ shop, store }) =>
    Effect.map(
      shop(`/stores/${store}/invoices`, { body: { amount: "5", metadata: { orderId: randomUUID() }, ...more } }),
      answered
    ))

const newWebhook = Effect.flatMap(
  Town,
  ({ shop, store }) => Effect.map(shop(`/stores/${store}/webhooks`, { body: unusedHook }), answered)
)

const removeWebhook = (id: string) => Effect.flatMap(Town, ({ shop }) => shop(`/webhooks/${id}`, { method: "DELETE" }))

/** Bodies that the rows of the matrix name. */
const bodies: Readonly<Record<string, object>> = {
  webhook: unusedHook,
  invoice: { amount: 5 },
  refund: { name: "Refund of order nobody-made", amount: "1" },
  metadata: { metadata: { orderId: "1" } },
  status: { status: "Invalid" }
}

/** What clients find in the body of a refusal. */
const assertRefusal = ({ json, status, text }: TestResponse, permission: string) => {
  if (status === 401) assert.strictEqual(json.code, "unauthenticated")
  if (status === 403) {
    assert.deepInclude(json, { code: "missing-permission", missingPermission: `btcpay.store.${permission}` })
  }
  if (status === 404) assert.include(["invoice-not-found", "webhook-not-found"], json.code)
  if (status === 422) assert.isString(json[0].path)
  else assert.match(json.message, /^[A-Z].{10,}[.!]?$/s, text)
}

/** A wrong call, and what it is answered: the whole body, or the beginning of the message that its code has. */
interface Refusal {
  readonly what: string
  readonly method?: string
  readonly path: string
  readonly body?: unknown
  readonly status: number
  readonly errors?: ReadonlyArray<readonly [path: string, message: string]>
  readonly code?: string
}

const invoices = "/stores/{s}/invoices"
const webhooks = "/stores/{s}/webhooks"
const refunds = "/stores/{s}/pull-payments"

const usdOnly =
  "This server prices invoices in USD only. Set the shop's currency to USD, or ask the operator to load a "
  + "source of exchange rates."
const amountRange = "Must be between 0.01 and 1000000 USD."
const noSchedule = "Refunds have no schedule here: leave this out."

/** An invoice that is refused for one field of it. */
const create = (what: string, body: object, path: string, message: string): Refusal => ({
  what,
  path: invoices,
  body: { amount: "5", ...body },
  status: 422,
  errors: [[path, message]]
})

const checkout = (what: string, fields: object, field: string, message: string): Refusal =>
  create(what, { checkout: fields }, `checkout.${field}`, message)

const refusals: ReadonlyArray<Refusal> = [
  create(
    "an invoice without an amount",
    { amount: null },
    "amount",
    "Top-up invoices are not supported: send an amount."
  ),
  create("an amount that is no number", { amount: "five" }, "amount", amountRange),
  create("an amount below a cent", { amount: "0.004" }, "amount", amountRange),
  create("an amount above a million", { amount: 1_000_000.01 }, "amount", amountRange),
  create("another currency", { currency: "eur" }, "currency", usdOnly),
  create("a coin as the currency", { currency: "BTC" }, "currency", usdOnly),
  create("metadata that is no object", { metadata: [] }, "metadata", "Must be an object."),
  create(
    "metadata of 51 fields",
    { metadata: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`k${n}`, n])) },
    "metadata",
    "May have at most 50 fields."
  ),
  create(
    "metadata with a name of 65 characters",
    { metadata: { ["k".repeat(65)]: 1 } },
    "metadata",
    "The name of a field may have at most 64 characters."
  ),
  create(
    "metadata above 16 KiB",
    { metadata: { posData: "x".repeat(16_384) } },
    "metadata",
    "May have at most 16384 bytes as JSON."
  ),
  checkout(
    "a speed that nobody knows",
    { speedPolicy: "constructor" },
    "speedPolicy",
    "Must be one of HighSpeed, MediumSpeed, LowMediumSpeed, LowSpeed."
  ),
  checkout(
    "a payment method that nobody accepts",
    { paymentMethods: ["USDC_BASE", "BTC"] },
    "paymentMethods[1]",
    "Unknown payment method: BTC."
  ),
  ...[0, 43_201, "x"].map((minutes) =>
    checkout(
      `a life of ${minutes} minutes`,
      { expirationMinutes: minutes },
      "expirationMinutes",
      "Must be a whole number of minutes between 1 and 43200."
    )
  ),
  ...[-1, 101].map((paymentTolerance) =>
    checkout(
      `a tolerance of ${paymentTolerance} %`,
      { paymentTolerance },
      "paymentTolerance",
      "Must be a percentage between 0 and 100."
    )
  ),
  checkout(
    "a page to return to that is none",
    { redirectURL: "the shop" },
    "redirectURL",
    "Must be an https URL, or an http URL of this machine such as http://localhost/shop."
  ),
  {
    what: "all that is wrong with an invoice at once",
    path: invoices,
    body: { currency: "EUR", checkout: { expirationMinutes: 0 } },
    status: 422,
    errors: [
      ["amount", "Top-up invoices are not supported: send an amount."],
      ["currency", usdOnly],
      ["checkout.expirationMinutes", "Must be a whole number of minutes between 1 and 43200."]
    ]
  },
  {
    what: "a list of 101",
    path: `${invoices}?take=101`,
    status: 422,
    errors: [
      ["take", "Must be a whole number between 1 and 100."]
    ]
  },
  {
    what: "a list of a status that is none",
    path: `${invoices}?status=Paid`,
    status: 422,
    errors: [
      ["status", "Must be one of New, Processing, Settled, Expired, Invalid."]
    ]
  },
  {
    what: "a list from a time that is none",
    path: `${invoices}?startDate=soon`,
    status: 422,
    errors: [
      ["startDate", "Must be a time: seconds since 1970, or ISO 8601."]
    ]
  },
  {
    what: "metadata in place of which something else comes",
    method: "PUT",
    path: `${invoices}/{i}`,
    body: {
      metadata: "x"
    },
    status: 422,
    errors: [["metadata", "Must be an object."]]
  },
  {
    what: "a mark that is none",
    path: `${invoices}/{i}/status`,
    body: { status: "Expired" },
    status: 422,
    errors: [
      ["status", "Must be Invalid or Settled."]
    ]
  },
  {
    what: "settled without money",
    path: `${invoices}/{i}/status`,
    body: { status: "Settled" },
    status: 422,
    errors: [[
      "status",
      "An invoice without a received payment cannot be marked settled. Part payments can be accepted once their time is up."
    ]]
  },
  {
    what: "invalid with money",
    path: `${invoices}/{paid}/status`,
    body: { status: "Invalid" },
    status: 422,
    errors: [[
      "status",
      "Money is on its way or was received: this invoice can no longer be marked invalid."
    ]]
  },
  {
    what: "a webhook without a URL",
    path: webhooks,
    body: {},
    status: 422,
    errors: [
      ["url", "Send the URL of your shop that takes webhooks."]
    ]
  },
  {
    what: "a secret of seven characters",
    path: webhooks,
    body: { ...unusedHook, secret: "1234567" },
    status: 422,
    errors: [
      ["secret", "Must have 8 to 255 characters."]
    ]
  },
  {
    what: "webhooks whose names are none",
    path: webhooks,
    body: {
      ...unusedHook,
      authorizedEvents: { specificEvents: [7] }
    },
    status: 422,
    errors: [
      ["authorizedEvents.specificEvents", "Must be at most 64 names of webhooks, such as InvoiceSettled."]
    ]
  },
  {
    what: "a refund of no order",
    path: refunds,
    body: { name: "Refund; damaged", amount: "1" },
    status: 422,
    errors: [
      ["name", "No single paid invoice belongs to this refund. Make it in Tillwire."]
    ]
  },
  {
    what: "a refund of more than came",
    path: refunds,
    body: { name: "Refund of order {order}", amount: "5.01" },
    status: 422,
    errors: [[
      "amount",
      "More than one payment of the order holds, less what was refunded: lower the amount, or refund it in Tillwire."
    ]]
  },
  {
    what: "a refund in another currency",
    path: refunds,
    body: {
      name: "Refund of order {order}",
      amount: "1",
      currency: "EUR"
    },
    status: 422,
    errors: [["currency", "The order was paid in USD: refund it in that currency."]]
  },
  ...["period", "startsAt", "expiresAt", "BOLT11Expiration"].map((field): Refusal => ({
    what: `a refund with ${field}`,
    path: refunds,
    body: { name: "Refund of order {order}", amount: "1", [field]: 60 },
    status: 422,
    errors: [[field, noSchedule]]
  })),
  {
    what: "a refund of nothing",
    path: refunds,
    body: { amount: "0" },
    status: 422,
    errors: [
      ["name", "Send a name with the number of the order."],
      ["amount", "Must be an amount above 0."]
    ]
  },
  { what: "an invoice that nobody made", path: `/invoices/${randomUUID()}`, status: 404, code: "invoice-not-found" },
  { what: "an invoice whose id is none", path: "/invoices/1042", status: 404, code: "invoice-not-found" },
  { what: "a webhook that nobody made", path: `${webhooks}/we_x`, status: 404, code: "webhook-not-found" },
  { what: "a call that is not served", path: "/stores/{s}/payouts", status: 404, code: "unsupported" },
  { what: "a body that is no JSON", path: invoices, body: "{", status: 400, code: "invalid-json" }
]

type PhpType = "string" | "decimal" | "int" | "bool" | "array"

const isOfType: Readonly<Record<PhpType, (value: unknown) => boolean>> = {
  string: (value) => typeof value === "string",
  decimal: (value) => typeof value === "string" && /^\d+(\.\d+)?$/.test(value),
  int: (value) => Number.isSafeInteger(value),
  bool: (value) => typeof value === "boolean",
  array: (value) => typeof value === "object" && value !== null
}

/**
 * What the getters of `btcpayserver-greenfield-php` declare to return, and the fields that the plugins of WooCommerce
 * and PrestaShop read themselves. A null where a getter returns a text ends the request of a shop.
 */
const getters: Readonly<Record<string, Readonly<Record<string, PhpType>>>> = {
  server: { version: "string", fullySynched: "bool", supportedPaymentMethods: "array", syncStatus: "array" },
  apiKey: { apiKey: "string", label: "string", permissions: "array" },
  store: {
    id: "string",
    name: "string",
    website: "string",
    defaultCurrency: "string",
    invoiceExpiration: "int",
    monitoringExpiration: "int",
    displayExpirationTimer: "int",
    speedPolicy: "string",
    lightningDescriptionTemplate: "string",
    paymentTolerance: "int",
    anyoneCanCreateInvoice: "bool",
    requiresRefundEmail: "bool",
    lightningAmountInSatoshi: "bool",
    lightningPrivateRouteHints: "bool",
    onChainWithLnInvoiceFallback: "bool",
    redirectAutomatically: "bool",
    showRecommendedFee: "bool",
    recommendedFeeBlockTarget: "int",
    defaultLang: "string",
    networkFeeMode: "string",
    payJoinEnabled: "bool",
    lazyPaymentMethods: "bool",
    defaultPaymentMethod: "string"
  },
  method: { enabled: "bool", paymentMethodId: "string", paymentMethod: "string", cryptoCode: "string", data: "array" },
  onChain: { cryptoCode: "string", enabled: "bool" },
  webhook: { id: "string", enabled: "bool", automaticRedelivery: "bool", url: "string", authorizedEvents: "array" },
  invoice: {
    id: "string",
    storeId: "string",
    amount: "decimal",
    paidAmount: "decimal",
    currency: "string",
    type: "string",
    checkoutLink: "string",
    createdTime: "int",
    expirationTime: "int",
    monitoringExpiration: "int",
    status: "string",
    additionalStatus: "string",
    availableStatusesForManualMarking: "array",
    archived: "bool",
    metadata: "array",
    checkout: "array"
  },
  checkout: {
    speedPolicy: "string",
    paymentMethods: "array",
    expirationMinutes: "int",
    monitoringMinutes: "int",
    paymentTolerance: "int",
    redirectAutomatically: "bool"
  },
  invoiceMethod: {
    paymentMethodId: "string",
    paymentMethod: "string",
    currency: "string",
    cryptoCode: "string",
    activated: "bool",
    destination: "string",
    paymentLink: "string",
    rate: "decimal",
    amount: "decimal",
    totalPaid: "decimal",
    paymentMethodPaid: "decimal",
    due: "decimal",
    networkFee: "decimal",
    paymentMethodFee: "decimal",
    payments: "array",
    additionalData: "array"
  },
  payment: {
    id: "string",
    receivedDate: "int",
    value: "decimal",
    fee: "decimal",
    status: "string",
    destination: "string"
  },
  refund: { id: "string", name: "string", amount: "decimal", currency: "string", startsAt: "int", viewLink: "string" }
}

const assertTypes = (what: string, found: any) => {
  for (const [field, type] of Object.entries(getters[what]!)) {
    assert.isTrue(isOfType[type](found[field]), `${what}.${field} is ${JSON.stringify(found[field])}, not ${type}`)
  }
}

layer(Town.layer, { excludeTestServices: true })("the API for shops of BTCPay Server", (it) => {
  it.effect("has a row in its matrix for every call that is served, on both addresses", () =>
    Effect.sync(() => {
      const rows = matrix.rows.map(({ permission, route }) => `${route} ${permission}`)
      for (const plugin of ["woocommerce", "prestashop"] as const) {
        // Only acts look at their context.
        const served = callsOf({} as never, plugin)
          .map(({ method, path, permission }) => `${method} ${path} ${permission.replace("btcpay.store.", "")}`)
        assert.deepStrictEqual(rows.toSorted(), served.toSorted())
      }
      for (const { expect, route } of matrix.rows) assert.lengthOf(expect.split(" "), matrix.callers.length, route)
    }))

  for (const { body, expect, permission, route } of matrix.rows) {
    it.effect(`${route} answers each kind of key as its row says`, () =>
      Effect.gen(function*() {
        const { callers, service, store, strangerStore } = yield* Town
        const [method, template] = route.split(" ") as [string, string]
        const found: Array<string> = []
        let invoice: string | undefined
        let webhook: string | undefined
        for (const caller of matrix.callers) {
          if (template.includes(":i")) invoice ??= (yield* newInvoice()).id as string
          if (template.includes(":w")) webhook ??= (yield* newWebhook).id as string
          const own = caller === "stranger" ? strangerStore : caller === "store" ? strangerStore : store
          const path = template.replace(":source", "primary").replace(":s", own)
            .replace(":i", invoice ?? "").replace(":w", webhook ?? "")
          const prefix = caller === "merchant" ? prefixes.prestashop : prefixes.woocommerce
          const answer = yield* exchange(service.url, `/btcpay${prefix}/api/v1${path}`, {
            method,
            headers: callers[caller]!,
            ...(body === undefined ? {} : { body: bodies[body] })
          })
          found.push(String(answer.status))
          assert.isString(answer.headers["x-request-id"])
          if (answer.status !== 200) assertRefusal(answer, permission)
          // What was let in may have used it up.
          else {
            if (route === "POST /stores/:s/webhooks" && caller !== "stranger") yield* removeWebhook(answer.json.id)
            invoice = undefined
            if (webhook !== undefined) yield* removeWebhook(webhook)
            webhook = undefined
          }
        }
        if (webhook !== undefined) yield* removeWebhook(webhook)
        assert.strictEqual(found.join(" "), expect, matrix.callers.join(" "))
      }))
  }

  it.effect("says of everything that is wrong which field it is and what to do, in the words of its reference", () =>
    Effect.gen(function*() {
      const { native, shop, store } = yield* Town
      const { id } = yield* newInvoice()
      const order = randomUUID()
      const paid = (yield* newInvoice({ metadata: { orderId: order } })).id as string
      answered(yield* native(`/api/v1/devnet/invoices/${paid}/simulate`, { body: { action: "pay" } }))
      const fill = (text: string) =>
        text.replace("{s}", store).replace("{i}", id).replace("{paid}", paid).replace("{order}", order)
      for (const { body, code, errors, method, path, status, what } of refusals) {
        const sent = body === undefined ? {} : { body: typeof body === "string" ? body : fill(JSON.stringify(body)) }
        const answer = yield* shop(fill(path), { ...sent, ...(method === undefined ? {} : { method }) })
        assert.strictEqual(answer.status, status, `${what}: ${answer.text}`)
        if (errors !== undefined) {
          assert.deepStrictEqual(answer.json, errors.map(([path, message]) => ({ path, message })), what)
        }
        if (code !== undefined) assert.strictEqual(answer.json.code, code, what)
      }
    }))

  it.effect("gives a webhook a secret of 64 hex characters where the shop brings none, and at most 16 webhooks", () =>
    Effect.gen(function*() {
      const { shop, store } = yield* Town
      const made = [yield* newWebhook]
      assert.match(made[0].secret, /^[0-9a-f]{64}$/)
      const listed = answered(yield* shop(`/stores/${store}/webhooks`))
      assert.isTrue(listed.every((each: object) => !("secret" in each)))
      while (made.length < 17 - (listed.length - 1)) {
        const answer = yield* shop(`/stores/${store}/webhooks`, { body: unusedHook })
        if (answer.status !== 200) {
          assert.strictEqual(answer.status, 400)
          assert.strictEqual(answer.json.code, "webhook-limit-reached")
          break
        }
        made.push(answer.json)
      }
      assert.lengthOf(answered(yield* shop(`/stores/${store}/webhooks`)), 16)
      for (const { id } of made) yield* removeWebhook(id)
    }))

  it.effect("answers in the types that the getters of the PHP client declare, for an invoice in every state", () =>
    Effect.gen(function*() {
      const { native, shop, store } = yield* Town
      const read = (path: string) => Effect.map(shop(path), answered)
      assertTypes("server", yield* read("/server/info"))
      assertTypes("apiKey", yield* read("/api-keys/current"))
      for (const each of yield* read("/stores")) assertTypes("store", each)
      for (const each of Object.values(yield* read(`/stores/${store}/payment-methods`))) assertTypes("method", each)
      for (const each of yield* read(`/stores/${store}/payment-methods/OnChain`)) assertTypes("onChain", each)
      const webhook = yield* newWebhook
      assert.isString(webhook.secret)
      for (const each of yield* read(`/stores/${store}/webhooks`)) assertTypes("webhook", each)
      yield* removeWebhook(webhook.id)
      const ethereum = (yield* Effect.map(native("/api/v1/merchant/tokens"), answered)).tokens
        .find(({ network, token_symbol: symbol }: any) => network === "base" && symbol === "ETH")
      const order = randomUUID()
      const acts: ReadonlyArray<readonly [string, ReadonlyArray<object>, string]> = [
        [(yield* newInvoice()).id, [], "New"],
        [(yield* newInvoice()).id, [{ action: "pay", confirmations: 0 }], "Processing"],
        // A millionth of a coin with 18 decimals is where careless code writes an exponent.
        [
          (yield* newInvoice({ amount: "0.01" })).id,
          [{ action: "pay", network: "base", token_id: ethereum.id }],
          "Settled"
        ],
        [(yield* newInvoice({ metadata: { orderId: order } })).id, [{ action: "pay" }], "Settled"],
        [(yield* newInvoice()).id, [{ action: "overpay" }], "Settled"],
        [(yield* newInvoice()).id, [{ action: "partial" }], "New"],
        [(yield* newInvoice()).id, [{ action: "expire" }], "Expired"],
        [(yield* newInvoice()).id, [{ action: "late" }], "Expired"],
        [(yield* newInvoice()).id, [{ action: "pay", confirmations: 0 }, { action: "drop" }], "New"]
      ]
      for (const [id, steps, status] of acts) {
        for (const body of steps) answered(yield* native(`/api/v1/devnet/invoices/${id}/simulate`, { body }))
        const invoice = yield* read(`/invoices/${id}`)
        assert.strictEqual(invoice.status, status, JSON.stringify(steps))
        assertTypes("invoice", invoice)
        assertTypes("checkout", invoice.checkout)
        const methods = yield* read(`/invoices/${id}/payment-methods`)
        if (steps.length === 0) assert.deepStrictEqual(methods, [])
        for (const method of methods) {
          assertTypes("invoiceMethod", method)
          for (const payment of method.payments) {
            assertTypes("payment", payment)
            assert.include(["Processing", "Settled", "Invalid"], payment.status)
            assert.match(payment.id, /^[^-]+(-\d+)?$/)
          }
        }
      }
      const refunded = yield* shop(`/stores/${store}/pull-payments`, {
        body: { name: `Refund of order ${order}; damaged`, amount: 1.5 }
      })
      assertTypes("refund", answered(refunded))
    }))

  it.effect("lists invoices newest first, by order, as each of them reads alone", () =>
    Effect.gen(function*() {
      const { native, shop, store } = yield* Town
      const orders = [randomUUID(), randomUUID(), randomUUID()]
      const made: Array<string> = []
      for (const orderId of orders) made.push((yield* newInvoice({ metadata: { orderId } })).id)
      answered(yield* native(`/api/v1/devnet/invoices/${made[1]}/simulate`, { body: { action: "pay" } }))
      const query = orders.map((orderId) => `orderId=${orderId}`).join("&")
      const listed = answered(yield* shop(`/stores/${store}/invoices?${query}`))
      const alone = yield* Effect.forEach(
        made.toReversed(),
        (id) => Effect.map(shop(`/invoices/${id}`), answered)
      )
      assert.deepStrictEqual(listed, alone)
      const page = answered(yield* shop(`/stores/${store}/invoices?${query}&take=1&skip=1`))
      assert.deepStrictEqual(page.map(({ id, status }: any) => [id, status]), [[made[1], "Settled"]])
    }))

  it.effect("lets a key make 600 calls a minute, counted apart from the native ones", () =>
    Effect.gen(function*() {
      const { newKey, service } = yield* Town
      const headers = token(yield* newKey({ use: "btcpay" }))
      const answer = yield* exchange(service.url, "/btcpay/api/v1/stores", { headers })
      assert.strictEqual(answer.headers["ratelimit-limit"], String(defaultLimit))
      assert.strictEqual(answer.headers["ratelimit-remaining"], String(defaultLimit - 1))
    }))
})

layer(Layer.effect(Town, townWith({ path: "/shops/btcpay", callsPerMinute: 3 })), { excludeTestServices: true })(
  "the API for shops with a path and a limit of the operator's",
  (it) => {
    it.effect("refuses a key's fourth call with when to try again, and no other key", () =>
      Effect.gen(function*() {
        const { newKey, service } = yield* Town
        const call = (headers: Record<string, string>) =>
          exchange(service.url, "/shops/btcpay/api/v1/stores", { headers })
        const headers = token(yield* newKey({ use: "btcpay" }))
        for (let n = 0; n < 3; n++) answered(yield* call(headers))
        const refused = yield* call(headers)
        assert.strictEqual(refused.status, 429)
        assert.strictEqual(refused.json.code, "rate-limited")
        assert.isAtLeast(Number(refused.headers["retry-after"]), 1)
        answered(yield* call(token(yield* newKey({ use: "btcpay" }))))
        assert.strictEqual((yield* exchange(service.url, "/btcpay/api/v1/stores", { headers })).status, 404)
      }))
  }
)
