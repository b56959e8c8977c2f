/**
 * Goal: a shop that was built for BTCPay Server sells with Tillwire, connected by hand as its plugin connects it.
 * Method: the real program on devnet; the shop speaks by BTCPay's own client, and by plain HTTP where that knows no
 * call; its webhook receiver checks each body by an HMAC of its own.
 */
import { assert, layer } from "@effect/vitest"
import {
  ApiKeysService,
  HealthService,
  InvoicesService,
  OpenAPI,
  ServerInfoService,
  StoresService,
  WebhooksService
} from "btcpay-greenfield-node-client"
import { Context, Effect, Layer } from "effect"
import { createHmac, randomUUID } from "node:crypto"
import { storeIdOf } from "../../../schemas/Auth.ts"
import { migratedDatabase } from "../../support/Database.ts"
import { answers, answersInTurn, makeReceiver, type ReceivedRequest, type Receiver } from "../../support/Receiver.ts"
import {
  configOf,
  exchange,
  type Service,
  startService,
  temporaryDirectory,
  type TestRequest,
  until
} from "../../support/Service.ts"
import { assertStatus } from "../../journeys/Shop.ts"

interface Shop {
  readonly service: Service
  readonly receiver: Receiver
  /** The key of the shop, and its merchant's own. */
  readonly key: string
  readonly merchantKey: string
  readonly store: string
  /** A call of the shop, without a client. */
  readonly call: (path: string, sent?: TestRequest) => Effect.Effect<any>
  readonly native: (path: string, sent?: TestRequest) => Effect.Effect<any>
}

class Town extends Context.Service<Town, Shop>()("test/BtcpayTown") {
  static readonly layer = Layer.effect(
    Town,
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const receiver = yield* makeReceiver()
      const service = yield* startService({
        directory: yield* temporaryDirectory,
        config: configOf({
          database: database.url,
          receivers: [receiver.host],
          chains: [{ use: "simulated" }],
          webhooks: { retryBaseSeconds: 0.02, retryFactor: 1 }
        })
      })
      const { merchant_id: merchantId, merchant_key: merchantKey } = yield* service.keys
      const native = (path: string, sent: TestRequest = {}) =>
        service.call(path, {
          ...sent,
          headers: { "x-api-key": merchantKey, "idempotency-key": randomUUID(), ...sent.headers }
        })
      const made = assertStatus(
        200,
        yield* native("/api/v1/api-keys", { body: { name: "Web shop", scope: "merchant", use: "btcpay" } })
      )
      const key = made.data.key as string
      service.guard(key)
      const call = (path: string, sent: TestRequest = {}) =>
        exchange(service.url, `/btcpay${path}`, {
          ...sent,
          headers: { authorization: `token ${key}`, ...sent.headers }
        })
      OpenAPI.BASE = `${service.url}/btcpay`
      OpenAPI.TOKEN = key
      // The client sends its token as `token …`, as it does to BTCPay Server.
      return Town.of({ service, receiver, key, merchantKey, store: storeIdOf(merchantId, "devnet"), call, native })
    })
  )
}

/** The types of the client are those of another version of the API. */
const promised = (act: () => PromiseLike<unknown>): Effect.Effect<any> => Effect.promise(() => Promise.resolve(act()))

const events = [
  "InvoiceReceivedPayment",
  "InvoicePaymentSettled",
  "InvoiceProcessing",
  "InvoiceExpired",
  "InvoiceSettled",
  "InvoiceInvalid"
]

/** Connects as WooCommerce does: the webhook of a shop, with a secret of the shop's own. */
const connect = Effect.fnUntraced(function*(more: object = {}) {
  const { receiver, store } = yield* Town
  const path = `/${randomUUID()}`
  const secret = "The shop's own secret, no base64!"
  const webhook = yield* promised(() =>
    WebhooksService.postWebhooksService({
      storeId: store,
      requestBody: {
        url: receiver.url(path),
        enabled: true,
        automaticRedelivery: true,
        authorizedEvents: { everything: false, specificEvents: events },
        secret,
        ...more
      } as never
    })
  )
  return { path, secret: webhook.secret as string, webhook }
})

const order = (orderId: string, more: object = {}) =>
  Effect.flatMap(Town, ({ store }) =>
    promised(() =>
      InvoicesService.invoicesCreateInvoice({
        storeId: store,
        requestBody: {
          amount: "12.34",
          currency: "USD",
          metadata: { orderId, taxIncluded: 1.17, posData: "{\"a\":1}" },
          checkout: {
            speedPolicy: "MediumSpeed",
            paymentMethods: ["USDC_BASE"],
            redirectURL: "https://shop.example/order-received/1042/?key=wc_1"
          },
          ...more
        } as never
      })
    )) as Effect.Effect<any, never, Town>

const invoiceNow = (id: string) =>
  Effect.flatMap(
    Town,
    ({ store }) => promised(() => InvoicesService.invoicesGetInvoice({ storeId: store, invoiceId: id }))
  ) as Effect.Effect<any, never, Town>

/** The payor opens the link, as a browser does, and sees the payment page of the invoice. */
const openLink = Effect.fnUntraced(function*(link: string) {
  const { service } = yield* Town
  const answer = yield* exchange(service.url, link.slice(service.url.length), { headers: { accept: "text/html" } })
  assert.strictEqual(answer.status, 303)
  const session = new URL(answer.headers["location"]!)
  assert.isTrue(session.href.startsWith(`${service.url}/pay/`))
  return {
    "x-session-token": session.searchParams.get("session_token")!,
    "x-signature": session.searchParams.get("signature")!
  }
})

/** The payor chooses USDC on Base; the simulator acts on that. */
const simulate = Effect.fnUntraced(function*(id: string, action: string, more: object = {}) {
  const { native } = yield* Town
  return assertStatus(200, yield* native(`/api/v1/devnet/invoices/${id}/simulate`, { body: { action, ...more } }))
})

const pay = Effect.fnUntraced(function*(invoice: any, more: object = {}) {
  const { service } = yield* Town
  const session = yield* openLink(invoice.checkoutLink)
  const tokens = assertStatus(
    200,
    yield* service.call("/api/v1/payments/available-tokens?mode=network&network=base", { headers: session })
  )
  const token = tokens.find((each: any) => each.token_symbol === "USDC")
  assertStatus(
    200,
    yield* service.call("/api/v1/payments/payment-addresses", {
      headers: session,
      body: { network: "base", token_id: token.id }
    })
  )
  yield* simulate(invoice.id, "pay", more)
})

const bodyOf = ({ body }: ReceivedRequest): any => JSON.parse(String(body))

/** Checks a delivery as a shop does: the header is an HMAC of the bytes that came. */
const verify = ({ body, headers }: ReceivedRequest, secret: string) => {
  const expected = createHmac("sha256", secret).update(body).digest("hex")
  assert.strictEqual(headers["btcpay-sig"], `sha256=${expected}`)
  assert.deepStrictEqual(Object.keys(headers).filter((name) => /^(x-service|webhook)-/.test(name)), [])
}

layer(Town.layer, { excludeTestServices: true })("a shop of BTCPay Server", (it) => {
  it.effect("connects: its key, its server, its store and its payment methods are those that plugins compare", () =>
    Effect.gen(function*() {
      const { call, key, store } = yield* Town
      const current = yield* promised(() => ApiKeysService.getApiKeysService())
      assert.deepInclude(current, { apiKey: key, label: "Web shop" })
      assert.deepStrictEqual(
        current.permissions.slice(0, 5),
        [
          "canviewinvoices",
          "cancreateinvoice",
          "canviewstoresettings",
          "canmodifyinvoices",
          "webhooks.canmodifywebhooks"
        ]
          .map((name) => `btcpay.store.${name}:${store}`)
      )
      const server = yield* promised(() => ServerInfoService.serverInfoGetServerInfo())
      assert.match(server.version, /^1\.13\.7/)
      assert.deepInclude(server, { fullySynched: true, onion: null })
      assert.include(server.supportedPaymentMethods, "USDC-BASE")
      assert.deepStrictEqual(yield* promised(() => HealthService.healthGetHealth()), { synchronized: true })
      const [listed, ...others] = yield* promised(() => StoresService.storesGetStores())
      assert.lengthOf(others, 0)
      assert.deepStrictEqual(yield* promised(() => StoresService.storesGetStore({ storeId: store })), listed)
      assert.deepInclude(listed, { id: store, defaultCurrency: "USD", website: "", archived: false })
      assert.isTrue(Object.entries(listed).every(([name, value]) => value !== null || name === "supportUrl"))
      const methods = assertStatus(200, yield* call(`/api/v1/stores/${store}/payment-methods`))
      assert.deepStrictEqual(methods["USDC-BASE"], {
        enabled: true,
        paymentMethodId: "USDC-BASE",
        paymentMethod: "USDC-BASE",
        cryptoCode: "USDC",
        data: {}
      })
      const onChain = assertStatus(200, yield* call(`/api/v1/stores/${store}/payment-methods/OnChain`))
      assert.deepInclude(onChain, { cryptoCode: "USDC-BASE", enabled: true })
      assert.deepStrictEqual(
        assertStatus(200, yield* call(`/api/v1/stores/${store}/payment-methods/LightningNetwork`)),
        []
      )
      const rates = assertStatus(200, yield* call(`/api/v1/stores/${store}/rates/configuration/primary`))
      assert.strictEqual(rates.preferredSource, "tillwire")
    }))

  it.effect("of PrestaShop sends its key without underscores, and gets its own list of permissions", () =>
    Effect.gen(function*() {
      const { key, service, store } = yield* Town
      const short = key.replaceAll("_", "")
      const current = assertStatus(
        200,
        yield* exchange(service.url, "/btcpay/for/prestashop/api/v1/api-keys/current", {
          headers: { authorization: `Token ${short}` }
        })
      )
      assert.strictEqual(current.apiKey, short)
      assert.strictEqual(current.permissions[0], `btcpay.store.canmodifystoresettings:${store}`)
      assert.lengthOf(current.permissions, 6)
    }))

  it.effect("sells: its order is paid, and it hears of that in order, each webhook signed with its own secret", () =>
    Effect.gen(function*() {
      const { receiver, service, store } = yield* Town
      const { path, secret, webhook } = yield* connect()
      assert.strictEqual(secret, "The shop's own secret, no base64!")
      const invoice = yield* order("1042")
      assert.deepInclude(invoice, {
        storeId: store,
        amount: "12.34",
        paidAmount: "0",
        currency: "USD",
        type: "Standard",
        status: "New",
        additionalStatus: "None",
        archived: false,
        checkoutLink: `${service.url}/btcpay/i/${invoice.id}`
      })
      assert.deepStrictEqual(invoice.metadata, { orderId: "1042", taxIncluded: 1.17, posData: "{\"a\":1}" })
      assert.deepStrictEqual(invoice.checkout.paymentMethods, ["USDC-BASE"])
      assert.strictEqual(invoice.checkout.redirectURL, "https://shop.example/order-received/1042/?key=wc_1")
      assert.deepStrictEqual(invoice.availableStatusesForManualMarking, ["Invalid"])
      yield* pay(invoice)
      const arrivals = yield* receiver.seen(path, 4)
      arrivals.forEach((arrival) => verify(arrival, secret))
      const bodies = arrivals.map(bodyOf)
      assert.deepStrictEqual(bodies.map(({ type }) => type), [
        "InvoiceReceivedPayment",
        "InvoiceProcessing",
        "InvoicePaymentSettled",
        "InvoiceSettled"
      ])
      for (const body of bodies) {
        assert.deepInclude(body, { webhookId: webhook.id, storeId: store, invoiceId: invoice.id, isRedelivery: false })
        assert.strictEqual(body.deliveryId, body.originalDeliveryId)
        assert.deepInclude(body.metadata, { orderId: "1042" })
      }
      assert.deepInclude(bodies[2], { paymentMethodId: "USDC-BASE", afterExpiration: false })
      assert.deepInclude(bodies[2].payment, { value: "12.340000", fee: "0", status: "Settled" })
      assert.match(bodies[2].payment.id, /^[^-]+-0$/)
      assert.deepInclude(bodies[3], { manuallyMarked: false, overPaid: false })
      const settled = yield* invoiceNow(invoice.id)
      assert.deepInclude(settled, { status: "Settled", additionalStatus: "None", paidAmount: "12.34" })
      assert.deepStrictEqual(settled.availableStatusesForManualMarking, [])
      const [method, ...others] = yield* promised(() =>
        InvoicesService.invoicesGetInvoicePaymentMethods({ storeId: store, invoiceId: invoice.id })
      )
      assert.lengthOf(others, 0)
      assert.deepInclude(method, {
        paymentMethodId: "USDC-BASE",
        cryptoCode: "USDC",
        rate: "1",
        amount: "12.340000",
        totalPaid: "12.340000",
        due: "0",
        networkFee: "0"
      })
      assert.lengthOf(method.payments, 1)
      assert.strictEqual(method.destination, bodies[2].payment.destination)
    }))

  it.effect("hears of every webhook again until it takes it, in order, one at a time, and says which try it is", () =>
    Effect.gen(function*() {
      const { receiver } = yield* Town
      const { path, secret } = yield* connect()
      receiver.script(path, answersInTurn(500, 503, 200, 500, 200))
      const invoice = yield* order("1043")
      yield* pay(invoice)
      const arrivals = yield* receiver.seen(path, 7)
      arrivals.forEach((arrival) => verify(arrival, secret))
      const bodies = arrivals.map(bodyOf)
      assert.deepStrictEqual(bodies.map(({ isRedelivery, type }) => `${type} ${isRedelivery}`), [
        "InvoiceReceivedPayment false",
        "InvoiceReceivedPayment true",
        "InvoiceReceivedPayment true",
        "InvoiceProcessing false",
        "InvoiceProcessing true",
        "InvoicePaymentSettled false",
        "InvoiceSettled false"
      ])
      const { originalDeliveryId } = bodies[0]
      assert.deepStrictEqual(bodies.slice(0, 3).map(({ deliveryId }) => deliveryId), [
        originalDeliveryId,
        `${originalDeliveryId}.2`,
        `${originalDeliveryId}.3`
      ])
      arrivals.forEach((arrival, index) => {
        const next = arrivals[index + 1]
        if (next !== undefined) assert.isAtLeast(next.startedAt, arrival.endedAt!)
      })
    }))

  it.effect("hears that an order has expired, and that money came too late for it", () =>
    Effect.gen(function*() {
      const { receiver } = yield* Town
      const { path } = yield* connect({ authorizedEvents: { everything: true } })
      const invoice = yield* order("1044")
      const session = yield* openLink(invoice.checkoutLink)
      assert.isString(session["x-signature"])
      yield* simulate(invoice.id, "expire")
      const [created, expired] = (yield* receiver.seen(path, 2)).map(bodyOf)
      assert.strictEqual(created.type, "InvoiceCreated")
      assert.deepInclude(expired, { type: "InvoiceExpired", partiallyPaid: false })
      assert.deepInclude(yield* invoiceNow(invoice.id), { status: "Expired", additionalStatus: "None" })
    }))

  it.effect("refunds an order by a link, through which its buyer says where the money goes", () =>
    Effect.gen(function*() {
      const { call, native, service, store } = yield* Town
      const orderId = randomUUID()
      const invoice = yield* order(orderId)
      const refund = (body: object) =>
        call(`/api/v1/stores/${store}/pull-payments`, {
          body: { name: `Refund of order ${orderId}; damaged`, currency: "USD", payoutMethods: ["USDC_BASE"], ...body }
        })
      assert.strictEqual(assertStatus(422, yield* refund({ amount: "3.50" }))[0].path, "name")
      yield* pay(invoice)
      assert.strictEqual(assertStatus(422, yield* refund({ amount: "12.35" }))[0].path, "amount")
      assert.strictEqual(assertStatus(422, yield* refund({ amount: "3.50", currency: "EUR" }))[0].path, "currency")
      assert.strictEqual(assertStatus(422, yield* refund({ amount: "3.50", name: "Refund" }))[0].path, "name")
      const made = assertStatus(200, yield* refund({ amount: "3.50" }))
      const second = assertStatus(200, yield* refund({ amount: "8.8" }))
      assert.notStrictEqual(second.id, made.id)
      assert.strictEqual(assertStatus(422, yield* refund({ amount: "0.05" }))[0].path, "amount", "4 cents are left")
      assertStatus(200, yield* refund({ amount: "0.04" }))
      assert.strictEqual(assertStatus(422, yield* refund({ amount: "0.01" }))[0].path, "amount", "nothing is left")
      assert.deepInclude(made, { currency: "USD", amount: "3.5", archived: false, expiresAt: null })
      assert.isTrue(made.viewLink.startsWith(`${service.url}/claim/${made.id}#t=`), made.viewLink)
      const own = assertStatus(200, yield* native(`/api/v1/refunds/${made.id}`)).data
      assert.deepInclude(own, { invoice_id: invoice.id, amount: 3_500, reason: "requested_by_customer" })
    }))

  it.effect("is told the amount of the refund that was made, also of two that are asked for at once", () =>
    Effect.gen(function*() {
      const { call, native, store } = yield* Town
      const orderId = randomUUID()
      yield* pay(yield* order(orderId, { amount: "10" }))
      const answers = yield* Effect.forEach(
        ["4", "10", "4", "10"],
        (amount) =>
          call(`/api/v1/stores/${store}/pull-payments`, { body: { name: `Refund of order ${orderId}; x`, amount } }),
        {
          concurrency: "unbounded"
        }
      )
      const made = answers.filter(({ status }) => status === 200).map(({ json }) => json)
      assert.isNotEmpty(made)
      let sum = 0
      for (const { amount, id } of made) {
        const own = assertStatus(200, yield* native(`/api/v1/refunds/${id}`)).data
        assert.strictEqual(own.amount, Number(amount) * 1_000)
        sum += own.amount
      }
      assert.isAtMost(sum, 10_000)
      for (const { json, status } of answers) if (status !== 200) assert.strictEqual(json[0].path, "amount")
    }))

  it.effect("refunds the only paid invoice of an order however often its buyer began anew, and none of several", () =>
    Effect.gen(function*() {
      const { call, store } = yield* Town
      const orderId = randomUUID()
      const refund = (name: string) =>
        call(`/api/v1/stores/${store}/pull-payments`, { body: { name: `Refund of order ${name}; x`, amount: "1" } })
      const first = yield* order(orderId)
      yield* pay(first)
      yield* Effect.forEach(Array.from({ length: 21 }), () => order(orderId), { concurrency: 4, discard: true })
      assertStatus(200, yield* refund(orderId))
      const longer = `${randomUUID()} ${orderId}`
      yield* pay(yield* order(longer))
      assertStatus(200, yield* refund(longer))
      yield* pay(yield* order(orderId))
      assert.strictEqual(assertStatus(422, yield* refund(orderId))[0].path, "name")
    }))

  it.effect("gives out links that show and pay an order, and let nobody say where its refunds go", () =>
    Effect.gen(function*() {
      const { service } = yield* Town
      const invoice = yield* order(randomUUID())
      const session = yield* openLink(invoice.checkoutLink)
      assertStatus(200, yield* service.call("/api/v1/payments/session-details", { headers: session }))
      for (
        const [path, body] of [
          ["refund-address", { network: "base", address: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed" }],
          ["customer-email", { email: "a@b.example" }]
        ] as const
      ) {
        const refused = yield* service.call(`/api/v1/payments/${path}`, { headers: session, body })
        assert.strictEqual(assertStatus(403, refused).code, "CREDENTIAL_NOT_ALLOWED")
        const stripped = { ...session, "x-signature": session["x-signature"].replace(".view", "") }
        assert.strictEqual((yield* service.call(`/api/v1/payments/${path}`, { headers: stripped, body })).status, 401)
      }
    }))

  it.effect("marks an order invalid while nothing has come, and not once it is paid", () =>
    Effect.gen(function*() {
      const { call, receiver, store } = yield* Town
      const { path } = yield* connect()
      const invoice = yield* order("1045")
      const marked = yield* promised(() =>
        InvoicesService.invoicesMarkInvoiceStatus({
          storeId: store,
          invoiceId: invoice.id,
          requestBody: { status: "Invalid" } as never
        })
      )
      assert.deepInclude(marked, { status: "Invalid", additionalStatus: "Marked" })
      const [body] = (yield* receiver.seen(path, 1)).map(bodyOf)
      assert.deepInclude(body, { type: "InvoiceInvalid", manuallyMarked: true })
      const paid = yield* order("1046")
      yield* pay(paid)
      const refused = yield* call(`/api/v1/invoices/${paid.id}/status`, { body: { status: "Invalid" } })
      assert.deepStrictEqual(assertStatus(422, refused), [{
        path: "status",
        message: "Money is on its way or was received: this invoice can no longer be marked invalid."
      }])
    }))

  it.effect("accepts a part payment once its time is up", () =>
    Effect.gen(function*() {
      const { call, native, receiver } = yield* Town
      const { path } = yield* connect({ authorizedEvents: { everything: false, specificEvents: ["InvoiceExpired"] } })
      const unpaid = yield* order("1050")
      const invoice = yield* order("1047")
      yield* pay(invoice, { amount: 5_000 })
      assert.deepInclude(yield* invoiceNow(invoice.id), {
        status: "New",
        additionalStatus: "PaidPartial",
        paidAmount: "5"
      })
      const early = yield* call(`/api/v1/invoices/${invoice.id}/status`, { body: { status: "Settled" } })
      assert.strictEqual(assertStatus(422, early)[0].path, "status")
      assertStatus(200, yield* native("/api/v1/devnet/clock/advance", { body: { seconds: 40 * 86_400 } }))
      const town = yield* Town
      const expired = yield* until(
        "the invoice has expired",
        Effect.provideService(invoiceNow(invoice.id), Town, town),
        ({ status }) => status === "Expired"
      )
      assert.deepInclude(expired, { additionalStatus: "PaidPartial", availableStatusesForManualMarking: ["Settled"] })
      const told = Effect.sync(() => receiver.arrivals(path).map(bodyOf))
      for (const [id, partiallyPaid] of [[unpaid.id, false], [invoice.id, true]]) {
        const bodies = yield* until("the webhook", told, (all) => all.some(({ invoiceId }) => invoiceId === id))
        assert.deepInclude(bodies.find(({ invoiceId }) => invoiceId === id), { type: "InvoiceExpired", partiallyPaid })
      }
      const accepted = yield* call(`/api/v1/invoices/${invoice.id}/status`, { body: { status: "Settled" } })
      assert.deepInclude(assertStatus(200, accepted), { status: "Settled", additionalStatus: "Marked" })
    }))

  it.effect("finds its invoices by order and status, and changes their metadata", () =>
    Effect.gen(function*() {
      const { call, store } = yield* Town
      const orderId = randomUUID()
      const invoice = yield* order(orderId)
      const found = assertStatus(200, yield* call(`/api/v1/stores/${store}/invoices?orderId=${orderId}&status=New`))
      assert.deepStrictEqual(found.map(({ id }: any) => id), [invoice.id])
      for (const query of ["orderId=%00", "textSearch=%00"]) {
        const refused = assertStatus(400, yield* call(`/api/v1/stores/${store}/invoices?${query}`))
        assert.deepInclude(refused, { message: "The URL must not contain the NUL character." })
      }
      const none = assertStatus(200, yield* call(`/api/v1/stores/${store}/invoices?orderId=${orderId}&status=Settled`))
      assert.deepStrictEqual(none, [])
      const changed = assertStatus(
        200,
        yield* call(`/api/v1/invoices/${invoice.id}`, {
          method: "PUT",
          body: { metadata: { orderId: `${orderId}-b`, n: 1 } }
        })
      )
      assert.deepStrictEqual(changed.metadata, { orderId: `${orderId}-b`, n: 1 })
      for (const body of [{}, { metadata: null }]) {
        const refused = yield* call(`/api/v1/invoices/${invoice.id}`, { method: "PUT", body })
        assert.strictEqual(assertStatus(422, refused)[0].path, "metadata")
      }
      const again = assertStatus(200, yield* call(`/api/v1/stores/${store}/invoices?textSearch=${orderId}-b`))
      assert.deepStrictEqual(again.map(({ id }: any) => id), [invoice.id])
    }))

  it.effect("changes and deletes its webhooks, and keeps a secret that it does not name again", () =>
    Effect.gen(function*() {
      const { call, receiver, store } = yield* Town
      const { path, secret, webhook } = yield* connect()
      const at = `/api/v1/stores/${store}/webhooks/${webhook.id}`
      assert.deepStrictEqual(assertStatus(200, yield* call(at)), {
        id: webhook.id,
        enabled: true,
        automaticRedelivery: true,
        url: receiver.url(path),
        authorizedEvents: { everything: false, specificEvents: events }
      })
      const changed = yield* call(at, {
        method: "PUT",
        body: {
          url: receiver.url(path),
          enabled: true,
          automaticRedelivery: false,
          authorizedEvents: { everything: false, specificEvents: ["InvoiceCreated"] },
          secret: ""
        }
      })
      assert.deepInclude(assertStatus(200, changed), { automaticRedelivery: false })
      receiver.script(path, answers(500))
      yield* order("1048")
      yield* order("1049")
      const arrivals = yield* receiver.seen(path, 2)
      arrivals.forEach((arrival) => verify(arrival, secret))
      assert.isTrue(arrivals.map(bodyOf).every(({ isRedelivery }) => isRedelivery === false))
      const removed = yield* call(at, { method: "DELETE" })
      assert.deepStrictEqual([removed.status, removed.text], [200, ""])
      assert.strictEqual(assertStatus(404, yield* call(at)).code, "webhook-not-found")
    }))

  it.effect("is refused in words that its owner can act on, by status and body as plugins read them", () =>
    Effect.gen(function*() {
      const { call, key, merchantKey, native, service, store } = yield* Town
      const at = (headers: Record<string, string>) => exchange(service.url, "/btcpay/api/v1/stores", { headers })
      for (
        const headers of [{}, { authorization: `Bearer ${key}` }, { "x-api-key": key }, { authorization: "token nope" }]
      ) {
        assert.strictEqual(assertStatus(401, yield* at(headers)).code, "unauthenticated")
      }
      const { commerce_key: commerceKey } = yield* service.keys
      const commerce = assertStatus(403, yield* at({ authorization: `token ${commerceKey}` }))
      assert.deepInclude(commerce, {
        code: "missing-permission",
        missingPermission: "btcpay.store.canviewstoresettings"
      })
      assert.lengthOf(assertStatus(200, yield* at({ authorization: `token ${merchantKey}` })), 1)
      assert.strictEqual(assertStatus(403, yield* call("/api/v1/stores/999-devnet")).code, "missing-permission")
      assert.strictEqual(assertStatus(404, yield* call("/api/v1/stores/x/y/z")).code, "unsupported")
      assert.strictEqual(assertStatus(404, yield* call(`/api/v1/invoices/${randomUUID()}`)).code, "invoice-not-found")
      const foreign = yield* native("/api/v1/invoices", { body: { amount_usd: 5 } })
      const id = assertStatus(200, foreign).invoice_id
      assert.strictEqual(assertStatus(404, yield* call(`/api/v1/invoices/${id}`)).code, "invoice-not-found")
      for (const link of [`/btcpay/i/${id}`, "/btcpay/for/prestashop/i/none", "/btcpay/invoice?id="]) {
        const page = yield* exchange(service.url, link, { headers: { "accept-language": "de" } })
        assert.deepStrictEqual([page.status, page.headers["content-type"]], [404, "text/html; charset=utf-8"], link)
        assert.include(page.text, "lang=\"de\"")
      }
      const large = yield* call(`/api/v1/stores/${store}/invoices`, {
        body: { amount: 5, metadata: "x".repeat(300_000) }
      })
      assert.deepInclude(assertStatus(413, large), { code: "generic-error" })
      const wrong = yield* call(`/api/v1/stores/${store}/invoices`, { body: { amount: 5, currency: "EUR" } })
      assert.match(assertStatus(422, wrong)[0].message, /prices invoices in USD only/)
      const url = yield* call(`/api/v1/stores/${store}/webhooks`, { body: { url: "http://10.0.0.1/" } })
      assert.strictEqual(assertStatus(422, url)[0].path, "url")
    }))

  it.effect("has a key that no other route takes, and webhooks that no other route shows", () =>
    Effect.gen(function*() {
      const { key, native, service } = yield* Town
      const { webhook } = yield* connect()
      for (const path of ["/api/v1/invoices", "/api/v1/webhooks", "/api/v1/api-keys", "/api/v1/events"]) {
        const refused = yield* service.call(path, { headers: { "x-api-key": key } })
        assert.strictEqual(refused.status, 403, path)
        assert.include(refused.text, "CREDENTIAL_NOT_ALLOWED")
      }
      const listed = assertStatus(200, yield* native("/api/v1/webhooks"))
      assert.notInclude(JSON.stringify(listed), webhook.id)
      assert.strictEqual((yield* native(`/api/v1/webhooks/${webhook.id}`, { method: "DELETE" })).status, 404)
      const all = assertStatus(200, yield* native("/api/v1/events?limit=100"))
      assert.notInclude(JSON.stringify(all), "InvoiceSettled")
      assert.isTrue(all.data.data.every(({ pending_webhooks }: any) => pending_webhooks === 0))
    }))
})
