/**
 * Goal: whichever client a merchant takes, all of it works: sell, be paid, hear of it, give the money back. Method:
 * ours and those of two generators drive one journey against a running service, each typed, and tell the same facts.
 */
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { FetchHttpClient } from "effect/http"
import * as MerchantClient from "../../modules/clients/client.ts"
import { createClient } from "../../modules/clients/fetch.ts"
import * as DevnetClient from "../../modules/simulator/client.ts"
import * as ShopClient from "../../modules/storefront/client.ts"
import { driveGenerated, heyApi, openapiTypescript } from "../support/GeneratedClients.ts"
import type { DemoKeys } from "../support/Service.ts"
import { DemoShop } from "./DemoShop.ts"

/** What a program tells of its journey. */
interface Journey {
  readonly created: string
  readonly address: string
  readonly quoted: number
  readonly paid: string
  /** Of `invoice.paid`, which the client must know as an event of an invoice. */
  readonly eventAmount: number
  /** Refund status of the order, as the order tells it and as its last event does. */
  readonly refund: string | null
  readonly eventRefund: string | null
}

const judge = ({ address, ...rest }: Journey) => {
  assert.match(address, /^0x[0-9a-fA-F]{40}$/)
  assert.deepStrictEqual(rest, {
    created: "unpaid",
    quoted: 5,
    paid: "paid",
    eventAmount: 5_000,
    refund: "REFUNDED",
    eventRefund: "REFUNDED"
  })
}

const customer = "journey"

const items = [{ product_id: "B08N5WRWNW", retailer: "amazon", title: "Item", price: 9.99 }]

const destination = {
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

/** An order that is paid, and that the retailer then refuses. */
const steps = ["payment_confirmed", "payment_settled", "failed"] as const

/** Where its money goes back to. */
const refunded = {
  transition_to: "refunded",
  wallet_network: "bsc",
  wallet_address: "0x52908400098527886E0F7030069857D2E4169EE7"
} as const

/** Values that the programs of generated clients share with ours. */
const values = `
const customer_id = ${JSON.stringify(customer)}
const items = ${JSON.stringify(items)}
const address = ${JSON.stringify(destination)}
const steps = ${JSON.stringify(steps)} as const
const refunded = ${JSON.stringify(refunded)} as const
const [baseUrl = "", merchantKey = "", commerceKey = ""] = process.argv.slice(2)
`

const heyApiProgram = `
import { createClient, createConfig } from './sdk/client'
import {
  eventsList, invoicesCreate, invoicesGet, ordersRetrieve, paymentsAvailableTokens, paymentsPaymentAddress,
  simulatorSimulateInvoice, simulatorSimulateOrder, storefrontAddress, storefrontEstimate, storefrontInvoice
} from './sdk'
${values}
const withKey = (key: string) =>
  createClient(createConfig({ baseUrl, auth: ({ name }) => name === "x-api-key" ? key : undefined }))
const client = withKey(merchantKey)
const shop = withKey(commerceKey)
const throwOnError = true as const
const { data: made } = await invoicesCreate({
  client, throwOnError, body: { amount_usd: 5 }, headers: { "Idempotency-Key": "journey-hey" }
})
const payor = createClient(createConfig({
  baseUrl, auth: ({ name }) => name === "x-session-token" ? made.session_token : made.signature
}))
const tokens = await paymentsAvailableTokens({ client: payor, throwOnError, query: { mode: "network", network: "base" } })
const usdc = tokens.data.find(({ token_symbol }) => token_symbol === "USDC")!
const shown = await paymentsPaymentAddress({ client: payor, throwOnError, body: { network: "base", token_id: usdc.id } })
await simulatorSimulateInvoice({ client, throwOnError, path: { id: made.invoice_id }, body: { action: "pay" } })
const paid = await invoicesGet({ client, throwOnError, path: { customer_id: made.invoice_id } })
const events = await eventsList({ client, throwOnError, query: { invoice_id: made.invoice_id } })
const amounts = events.data.data.data.flatMap((event) => event.type === "invoice.paid" ? [event.data.object.amount_paid] : [])
const estimate = await storefrontEstimate({ client: shop, throwOnError, body: { customer_id, items } })
const { estimate_id } = estimate.data.data
const addressed = await storefrontAddress({ client: shop, throwOnError, body: { customer_id, estimate_id, address } })
const purchase = await storefrontInvoice({
  client: shop, throwOnError, headers: { "Idempotency-Key": "journey-hey" },
  body: { customer_id, estimate_id, address_id: addressed.data.data.address_id }
})
const { order_id } = purchase.data.data
for (const transition_to of steps) {
  await simulatorSimulateOrder({ client: shop, throwOnError, path: { order_id }, body: { transition_to } })
}
await simulatorSimulateOrder({ client: shop, throwOnError, path: { order_id }, body: refunded })
const order = await ordersRetrieve({ client: shop, throwOnError, path: { order_id } })
const news = await eventsList({ client: shop, throwOnError, query: { order_id, type: "commerce.order.updated" } })
const [last] = news.data.data.data
console.log(JSON.stringify({
  created: made.invoice.status, address: shown.data.temp_address, quoted: shown.data.usd_amount, paid: paid.data.status,
  eventAmount: amounts[0], refund: order.data.data.refund_status,
  eventRefund: last?.type === "commerce.order.updated" ? last.data.object.refund_status : null
}))
`

const openapiFetchProgram = `
import createClient from "openapi-fetch"
import type { paths } from './openapi'
${values}
const client = createClient<paths>({ baseUrl, headers: { "x-api-key": merchantKey } })
const shop = createClient<paths>({ baseUrl, headers: { "x-api-key": commerceKey } })
const must = <T>(answer: { data?: T; error?: unknown }): T => {
  if (answer.data === undefined) throw new Error(JSON.stringify(answer.error))
  return answer.data
}
const made = must(await client.POST("/api/v1/invoices", {
  params: { header: { "Idempotency-Key": "journey-oaf" } }, body: { amount_usd: 5 }
}))
const payor = createClient<paths>({ baseUrl, headers: made.payment_session_headers })
const tokens = must(await payor.GET("/api/v1/payments/available-tokens", {
  params: { query: { mode: "network", network: "base" } }
}))
const usdc = tokens.find(({ token_symbol }) => token_symbol === "USDC")!
const shown = must(await payor.POST("/api/v1/payments/payment-addresses", { body: { network: "base", token_id: usdc.id } }))
must(await client.POST("/api/v1/devnet/invoices/{id}/simulate", {
  params: { path: { id: made.invoice_id } }, body: { action: "pay" }
}))
const paid = must(await client.GET("/api/v1/invoices/{customer_id}", { params: { path: { customer_id: made.invoice_id } } }))
const events = must(await client.GET("/api/v1/events", { params: { query: { invoice_id: made.invoice_id } } }))
const amounts = events.data.data.flatMap((event) => event.type === "invoice.paid" ? [event.data.object.amount_paid] : [])
const estimate = must(await shop.POST("/api/commerce/merchant/checkout/estimate", { body: { customer_id, items } }))
const { estimate_id } = estimate.data
const addressed = must(await shop.POST("/api/commerce/merchant/checkout/address", { body: { customer_id, estimate_id, address } }))
const purchase = must(await shop.POST("/api/commerce/merchant/checkout/invoice", {
  params: { header: { "Idempotency-Key": "journey-oaf" } },
  body: { customer_id, estimate_id, address_id: addressed.data.address_id }
}))
const { order_id } = purchase.data
const params = { path: { order_id } }
for (const transition_to of steps) {
  must(await shop.POST("/api/commerce/devnet/orders/{order_id}/simulate", { params, body: { transition_to } }))
}
must(await shop.POST("/api/commerce/devnet/orders/{order_id}/simulate", { params, body: refunded }))
const order = must(await shop.GET("/api/commerce/merchant/orders/{order_id}", { params }))
const news = must(await shop.GET("/api/v1/events", { params: { query: { order_id, type: "commerce.order.updated" } } }))
const [last] = news.data.data
console.log(JSON.stringify({
  created: made.invoice.status, address: shown.temp_address, quoted: shown.usd_amount, paid: paid.status,
  eventAmount: amounts[0], refund: order.data.refund_status,
  eventRefund: last?.type === "commerce.order.updated" ? last.data.object.refund_status : null
}))
`

const withoutEffect = async (baseUrl: string, keys: DemoKeys): Promise<Journey> => {
  const client = createClient({ baseUrl, apiKey: keys.merchant_key })
  const commerce = createClient({ baseUrl, apiKey: keys.commerce_key })
  const made = await client.post("/api/v1/invoices", { body: { amount_usd: 5 } })
  const payor = createClient({ baseUrl, session: { token: made.session_token, signature: made.signature } })
  const tokens = await payor.get("/api/v1/payments/available-tokens", { query: { mode: "network", network: "base" } })
  const usdc = tokens.find(({ token_symbol }) => token_symbol === "USDC")!
  const shown = await payor.post("/api/v1/payments/payment-addresses", { body: { network: "base", token_id: usdc.id } })
  await client.post("/api/v1/devnet/invoices/{id}/simulate", { path: { id: made.invoice_id }, body: { action: "pay" } })
  const paid = await client.get("/api/v1/invoices/{customer_id}", { path: { customer_id: made.invoice_id } })
  let eventAmount = 0
  for await (const event of client.pages("/api/v1/events", { query: { invoice_id: made.invoice_id } })) {
    if (event.type === "invoice.paid") eventAmount = event.data.object.amount_paid
  }
  const estimate = await commerce.post("/api/commerce/merchant/checkout/estimate", {
    body: { customer_id: customer, items }
  })
  const { estimate_id } = estimate.data
  const addressed = await commerce.post("/api/commerce/merchant/checkout/address", {
    body: { customer_id: customer, estimate_id, address: destination }
  })
  const purchase = await commerce.post("/api/commerce/merchant/checkout/invoice", {
    body: { customer_id: customer, estimate_id, address_id: addressed.data.address_id }
  })
  const path = { order_id: purchase.data.order_id }
  for (const transition_to of steps) {
    await commerce.post("/api/commerce/devnet/orders/{order_id}/simulate", { path, body: { transition_to } })
  }
  await commerce.post("/api/commerce/devnet/orders/{order_id}/simulate", { path, body: refunded })
  const order = await commerce.get("/api/commerce/merchant/orders/{order_id}", { path })
  const news = await commerce.get("/api/v1/events", { query: { ...path, type: "commerce.order.updated" } })
  const [last] = news.data.data
  return {
    created: made.invoice.status,
    address: shown.temp_address,
    quoted: shown.usd_amount,
    paid: paid.status,
    eventAmount,
    refund: order.data.refund_status,
    eventRefund: last?.type === "commerce.order.updated" ? last.data.object.refund_status : null
  }
}

const onEffect = Effect.fnUntraced(function*(baseUrl: string, keys: DemoKeys) {
  const [merchantKey, commerceKey] = [Redacted.make(keys.merchant_key), Redacted.make(keys.commerce_key)]
  const client = yield* MerchantClient.make({ baseUrl, apiKey: merchantKey })
  const devnet = yield* DevnetClient.make({ baseUrl, apiKey: merchantKey })
  const made = yield* client.invoices.create({ query: {}, payload: { amount_usd: 5 } })
  const session = { token: Redacted.make(made.session_token), signature: Redacted.make(made.signature) }
  const payor = yield* MerchantClient.make({ baseUrl, session })
  const tokens = yield* payor.payments.availableTokens({ query: { mode: "network", network: "base" } })
  const usdc = tokens.find(({ token_symbol }) => token_symbol === "USDC")!
  const shown = yield* payor.payments.paymentAddress({ payload: { network: "base", token_id: usdc.id } })
  yield* devnet.simulator.simulateInvoice({ params: { id: made.invoice_id }, payload: { action: "pay" } })
  const paid = yield* client.invoices.get({ params: { customer_id: made.invoice_id }, query: {} })
  const events = yield* client.events.list({ query: { invoice_id: made.invoice_id } })
  const amounts = events.data.data.flatMap((event) =>
    event.type === "invoice.paid" ? [event.data.object.amount_paid] : []
  )

  const shopping = yield* ShopClient.make({ baseUrl, apiKey: commerceKey })
  const estimate = yield* shopping.storefront.estimate({ payload: { customer_id: customer, items } })
  const { estimate_id } = estimate.data
  const addressed = yield* shopping.storefront.address({
    payload: { customer_id: customer, estimate_id, address: destination }
  })
  const purchase = yield* shopping.storefront.invoice({
    payload: { customer_id: customer, estimate_id, address_id: addressed.data.address_id }
  })
  const params = { order_id: purchase.data.order_id }
  const play = yield* DevnetClient.make({ baseUrl, apiKey: commerceKey })
  yield* Effect.forEach(steps, (transition_to) => play.simulator.simulateOrder({ params, payload: { transition_to } }))
  yield* play.simulator.simulateOrder({ params, payload: refunded })
  const order = yield* shopping.orders.retrieve({ params, query: {} })
  const commerce = yield* MerchantClient.make({ baseUrl, apiKey: commerceKey })
  const news = yield* commerce.events.list({ query: { ...params, type: "commerce.order.updated" } })
  const [last] = news.data.data
  const journey: Journey = {
    created: made.invoice.status,
    address: shown.temp_address,
    quoted: shown.usd_amount,
    paid: paid.status,
    eventAmount: amounts[0] ?? 0,
    refund: order.data.refund_status,
    eventRefund: last?.type === "commerce.order.updated" ? last.data.object.refund_status : null
  }
  return journey
})

describe("from an invoice to a refund", () => {
  layer(DemoShop.layer, { excludeTestServices: true })((it) => {
    it.effect("the three clients for Effect go together", () =>
      Effect.gen(function*() {
        const { keys, service } = yield* DemoShop
        judge(yield* onEffect(service.url, keys))
      }).pipe(Effect.provide(FetchHttpClient.layer)))

    it.effect("the client without Effect goes alone", () =>
      Effect.gen(function*() {
        const { keys, service } = yield* DemoShop
        judge(yield* Effect.promise(() => withoutEffect(service.url, keys)))
      }))

    for (
      const [name, generator, program] of [
        ["@hey-api/openapi-ts", heyApi, heyApiProgram],
        ["openapi-typescript", openapiTypescript, openapiFetchProgram]
      ] as const
    ) {
      it.effect(`the client that ${name} makes of the document goes alone`, () =>
        Effect.gen(function*() {
          const { keys, service } = yield* DemoShop
          judge(
            JSON.parse(
              yield* driveGenerated(generator, service, program, [keys.merchant_key, keys.commerce_key])
            ) as Journey
          )
        }))
    }
  })
})
