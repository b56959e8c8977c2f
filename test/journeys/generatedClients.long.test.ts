/**
 * Goal: a client that someone else's tool made of our OpenAPI document just works, and so do our own. Method:
 * `@hey-api/openapi-ts` and `openapi-typescript` make their clients of the document of a running service. A typed
 * program on each is compiled and drives the same journey: create, read, walk pages, cancel, errors.
 */
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Redacted, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import * as EffectClient from "../../modules/clients/client.ts"
import { createClient, TillwireError } from "../../modules/clients/fetch.ts"
import { PublicError } from "../../schemas/Errors.ts"
import {
  driveGenerated,
  type Generator,
  heyApi as heyApiGenerator,
  openapiTypescript
} from "../support/GeneratedClients.ts"
import { DemoShop } from "./DemoShop.ts"

/** What each program tells: the same facts, whichever client found them. */
interface Told {
  readonly created: string
  readonly read: string
  readonly walked: number
  readonly distinct: number
  readonly canceled: string
  readonly refusal: string
  readonly unknownEvent: string
  readonly payor: string
}

const expected = {
  created: "unpaid",
  read: "unpaid",
  canceled: "canceled",
  refusal: "INVOICE_NOT_CANCELABLE",
  unknownEvent: "INVALID_EVENT_ID",
  payor: "unpaid"
}

/** Invoices the walk goes over, and the size of its pages. */
const walk = { invoices: 5, page: 2 }

const judge = ({ distinct, walked, ...told }: Told) => {
  assert.deepStrictEqual(told, expected)
  assert.strictEqual(distinct, walked)
  assert.isAtLeast(walked, walk.invoices)
}

const heyApi = `
import { createClient, createConfig } from './sdk/client'
import {
  eventsRetrieve, invoicesCancel, invoicesCreate, invoicesGet, invoicesList, paymentsSessionDetails, type WrappedError
} from './sdk'

const [baseUrl = "", key = ""] = process.argv.slice(2)
const client = createClient(createConfig({ baseUrl, auth: (scheme) => scheme.name === "x-api-key" ? key : undefined }))
const ids: Array<string> = []
const make = async (name: string) => {
  const { data } = await invoicesCreate({ client, throwOnError: true, body: { amount_usd: 5 }, headers: { "Idempotency-Key": name } })
  ids.push(data.invoice_id)
  return data
}
const first = await make("hey-1")
for (let index = 2; index <= ${walk.invoices}; index++) await make(\`hey-\${index}\`)
const read = await invoicesGet({ client, throwOnError: true, path: { customer_id: first.invoice_id } })
const seen: Array<string> = []
for (let after: string | undefined; ;) {
  const { data } = await invoicesList({
    client, throwOnError: true, query: { limit: ${walk.page}, ...after === undefined ? {} : { starting_after: after } }
  })
  seen.push(...data.data.map(({ id }) => id))
  after = data.data.at(-1)?.id
  if (!data.has_more) break
}
const payor = createClient(createConfig({
  baseUrl, auth: ({ name }) => name === "x-session-token" ? first.session_token : first.signature
}))
const details = await paymentsSessionDetails({ client: payor, throwOnError: true })
const canceled = await invoicesCancel({ client, throwOnError: true, path: { id: first.invoice_id } })
const refusal = await invoicesCancel({ client, path: { id: first.invoice_id } })
const unknown = await eventsRetrieve({ client, path: { eventId: "nope" } })
const wrapped: WrappedError | undefined = unknown.error
console.log(JSON.stringify({
  created: first.invoice.status, read: read.data.status, walked: seen.length, distinct: new Set(seen).size,
  canceled: canceled.data.status, refusal: refusal.error?.code, unknownEvent: wrapped?.error.code,
  payor: details.data.invoice_status
}))
`

const openapiFetch = `
import createClient from "openapi-fetch"
import type { paths } from './openapi'

const [baseUrl = "", key = ""] = process.argv.slice(2)
const client = createClient<paths>({ baseUrl, headers: { "x-api-key": key } })
const must = <T>(answer: { data?: T; error?: unknown }): T => {
  if (answer.data === undefined) throw new Error(JSON.stringify(answer.error))
  return answer.data
}
const make = async (name: string) => must(await client.POST("/api/v1/invoices", {
  params: { header: { "Idempotency-Key": name } }, body: { amount_usd: 5 }
}))
const first = await make("oaf-1")
for (let index = 2; index <= ${walk.invoices}; index++) await make(\`oaf-\${index}\`)
const read = must(await client.GET("/api/v1/invoices/{customer_id}", { params: { path: { customer_id: first.invoice_id } } }))
const seen: Array<string> = []
for (let after: string | undefined; ;) {
  const page = must(await client.GET("/api/v1/invoices", {
    params: { query: { limit: ${walk.page}, ...after === undefined ? {} : { starting_after: after } } }
  }))
  seen.push(...page.data.map(({ id }) => id))
  after = page.data.at(-1)?.id
  if (!page.has_more) break
}
const payor = createClient<paths>({ baseUrl, headers: first.payment_session_headers })
const details = must(await payor.GET("/api/v1/payments/session-details"))
const cancel = () => client.POST("/api/v1/invoices/{id}/cancel", { params: { path: { id: first.invoice_id } } })
const canceled = must(await cancel())
const refusal = await cancel()
const unknown = await client.GET("/api/v1/events/{eventId}", { params: { path: { eventId: "nope" } } })
console.log(JSON.stringify({
  created: first.invoice.status, read: read.status, walked: seen.length, distinct: new Set(seen).size,
  canceled: canceled.status, refusal: refusal.error?.code, unknownEvent: unknown.error?.error.code,
  payor: details.invoice_status
}))
`

/** Drives a program against the service and reads what it tells. */
const drive = (generator: Generator, program: string) =>
  Effect.gen(function*() {
    const { keys, service } = yield* DemoShop
    judge(JSON.parse(yield* driveGenerated(generator, service, program, [keys.merchant_key])) as Told)
  })

describe("clients", () => {
  layer(DemoShop.layer, { excludeTestServices: true })((it) => {
    it.effect("of @hey-api/openapi-ts drive the service", () => drive(heyApiGenerator, heyApi))

    it.effect(
      "of openapi-typescript and openapi-fetch drive the service",
      () => drive(openapiTypescript, openapiFetch)
    )

    it.effect("of ours without Effect drive the service", () =>
      Effect.gen(function*() {
        const { keys, service } = yield* DemoShop
        const client = createClient({ baseUrl: service.url, apiKey: keys.merchant_key })
        const told = yield* Effect.promise(async (): Promise<Told> => {
          const first = await client.post("/api/v1/invoices", { body: { amount_usd: 5 } })
          for (let index = 1; index < walk.invoices; index++) {
            await client.post("/api/v1/invoices", { body: { amount_usd: 5 } })
          }
          const read = await client.get("/api/v1/invoices/{customer_id}", { path: { customer_id: first.invoice_id } })
          const seen: Array<string> = []
          for await (const { id } of client.pages("/api/v1/invoices", { query: { limit: walk.page } })) seen.push(id)
          const payor = createClient({
            baseUrl: service.url,
            session: { token: first.session_token, signature: first.signature }
          })
          const details = await payor.get("/api/v1/payments/session-details")
          const cancel = () => client.post("/api/v1/invoices/{id}/cancel", { path: { id: first.invoice_id } })
          const canceled = await cancel()
          const codeOf = (error: unknown) => error instanceof TillwireError ? error.code : String(error)
          return {
            created: first.invoice.status,
            read: read.status,
            walked: seen.length,
            distinct: new Set(seen).size,
            canceled: canceled.status,
            refusal: await cancel().then(() => "", codeOf),
            unknownEvent: await client.get("/api/v1/events/{eventId}", { path: { eventId: "nope" } }).then(
              () => "",
              codeOf
            ),
            payor: details.invoice_status
          }
        })
        judge(told)
        const events = yield* Effect.promise(() => client.get("/api/v1/events", { query: { limit: 3 } }))
        const known = events.data.data.map(({ id }) => id)
        const since = yield* Stream.runCollect(
          Stream.fromAsyncIterable(client.events.since(known.at(-1) ?? ""), (error) => error)
        )
        assert.deepStrictEqual(since.map(({ id }) => id), known.toReversed().slice(1))
      }))

    it.effect("of ours on Effect drive the service", () =>
      Effect.gen(function*() {
        const { keys, service } = yield* DemoShop
        const client = yield* EffectClient.make({ baseUrl: service.url, apiKey: Redacted.make(keys.merchant_key) })
        const create = client.invoices.create({ query: {}, payload: { amount_usd: 5 } })
        const first = yield* Effect.provideService(create, EffectClient.IdempotencyKey, "effect-1")
        const again = yield* Effect.provideService(create, EffectClient.IdempotencyKey, "effect-1")
        assert.strictEqual(again.invoice_id, first.invoice_id)
        const read = yield* client.invoices.get({ params: { customer_id: first.invoice_id }, query: {} })
        assert.deepStrictEqual(read.status, "unpaid")
        const canceled = yield* client.invoices.cancel({ params: { id: first.invoice_id }, query: {} })
        assert.strictEqual(canceled.status, "canceled")
        const refusal = yield* Effect.flip(client.invoices.cancel({ params: { id: first.invoice_id }, query: {} }))
        assert.instanceOf(refusal, PublicError)
        assert.strictEqual(refusal instanceof PublicError && refusal.code, "INVOICE_NOT_CANCELABLE")
      }).pipe(Effect.provide(FetchHttpClient.layer)))
  })
})
