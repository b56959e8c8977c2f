/**
 * A shop as its merchant sees it, without a socket: the real router, commit log, carts and checkout as far as the
 * address; what the retailer sells, and whether it answers, is up to the test.
 */
import { assert } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { PayorSessions } from "../../../modules/auth/plugin.ts"
import { Orders } from "../../../modules/commerce/plugin.ts"
import { Invoices } from "../../../modules/invoices/plugin.ts"
import { Refunds } from "../../../modules/refunds/plugin.ts"
import { plugin as retail, type PostalAddress, Retailers, RetailerUnavailable } from "../../../modules/retail/plugin.ts"
import { StorefrontApi } from "../../../modules/storefront/api.ts"
import { migrations, tables } from "../../../modules/storefront/migrations.ts"
import { plugin } from "../../../modules/storefront/plugin.ts"
import * as Actors from "../../../runtime/Actors.ts"
import { Credentials } from "../../../runtime/Http.ts"
import type { KeyScope } from "../../../schemas/Auth.ts"
import { usdMillis } from "../../../schemas/Money.ts"
import type { Environment } from "../../../schemas/Network.ts"
import type { ItemFault } from "../../../schemas/Order.ts"
import { type Answer, Api, apiLayer, type Call, kernel, settingsLayer } from "../../support/Api.ts"
import { operatorKey, solePerson } from "../../fixtures/authorities.ts"

/** What the retailer of the tests does, as a test last said. */
export const catalogue = {
  /** usd_millis by product id, or why it is not sold. */
  products: new Map<string, bigint | ItemFault>(),
  isSilent: false,
  /** Zip code for which every address is refused. */
  unknownZip: "00000",
  tax: 0n,
  fees: 3_000n,
  shipping: [["standard", 1_000n], ["express", 5_000n]] as ReadonlyArray<readonly [string, bigint]>
}

export const resetCatalogue = () => {
  catalogue.products.clear()
  catalogue.products.set("B1", 9_990n).set("B2", 20_000n).set("B3", 2_000_000n).set("GONE", "OUT_OF_STOCK")
  catalogue.isSilent = false
  catalogue.tax = 0n
}
resetCatalogue()

const answered = <A>(make: () => A) =>
  Effect.suspend(() =>
    catalogue.isSilent ? Effect.fail(new RetailerUnavailable({ reason: "down" })) : Effect.succeed(make())
  )

const retailer = Layer.effectDiscard(Effect.gen(function*() {
  yield* (yield* Retailers).register({
    name: "retail/test",
    environments: ["devnet"],
    quote: ({ items }) =>
      answered(() => ({
        items: items.flatMap((item) => {
          const price = catalogue.products.get(item.productId)
          return typeof price === "bigint"
            ? [{
              ...item,
              retailer: "amazon" as const,
              title: `The ${item.productId}`,
              imageUrl: null,
              unitAmount: usdMillis(price)
            }]
            : []
        }),
        refused: items.flatMap((item) => {
          const fault = catalogue.products.get(item.productId)
          return typeof fault === "string"
            ? [{ retailer: item.retailer, productId: item.productId, fault, message: "Not today" }]
            : []
        }),
        shipping: catalogue.shipping.map(([id, amount]) => ({
          id,
          name: id,
          amount: usdMillis(amount),
          estimatedDays: "5-7"
        })),
        tax: usdMillis(catalogue.tax),
        fees: usdMillis(catalogue.fees)
      })),
    validateAddress: (address: PostalAddress) =>
      answered(() =>
        address.zipCode === catalogue.unknownZip
          ? { _tag: "Invalid", fields: { zip_code: "Nobody lives there" } }
          : { _tag: "Valid", address: { ...address, city: address.city.toUpperCase() } }
      ),
    place: () => Effect.succeed([]),
    track: () => Effect.succeed([]),
    cancel: () => Effect.succeed([])
  })
}))

/** Keys of the tests: `<merchant id> <scope> <environment> <which of them>`. */
const callers = Layer.effectDiscard(Effect.gen(function*() {
  const { register, registerBearer } = yield* Credentials
  yield* register((key) => {
    const [merchant, scope, environment] = key.split(" ")
    return Effect.succeed(
      scope === undefined ? null : {
        merchantId: Number.parseInt(merchant!, 10),
        scope,
        environment,
        kind: "key",
        credential: key,
        apiVersion: "2026-11-01",
        ...operatorKey
      } as never
    )
  })
  yield* registerBearer((token) =>
    Effect.succeed({
      merchantId: Number.parseInt(token, 10),
      scope: "merchant",
      environment: "devnet",
      kind: "wallet",
      credential: token,
      apiVersion: "2026-11-01",
      ...solePerson
    } as never)
  )
}))

export const storefront = apiLayer(
  [StorefrontApi],
  Layer.mergeAll(callers, retailer, plugin.layer(undefined as never)).pipe(
    Layer.provideMerge(retail.layer(undefined as never))
  ) as never,
  Layer.mergeAll(
    Actors.layer,
    PayorSessions.layer,
    Layer.mock(Orders, {} as never),
    Layer.mock(Invoices, {}),
    Layer.mock(Refunds, {})
  ).pipe(Layer.provideMerge(kernel(
    [{ name: "storefront", migrations, tables }],
    settingsLayer({ environments: ["devnet", "mainnet"] })
  )))
) as unknown as Layer.Layer<Api | SqlClient.SqlClient>

const base = "/api/commerce/merchant"

/** A merchant that calls the API. */
export interface Caller {
  readonly call: (path: string, call?: Call) => Effect.Effect<Answer, never, Api>
  /** `data` of an answer with status 200. */
  readonly ok: (path: string, call?: Call) => Effect.Effect<any, never, Api>
}

const calling = (headers: Readonly<Record<string, string>>): Caller => {
  const call: Caller["call"] = (path, more = {}) =>
    Effect.flatMap(Api, (api) => api.call(`${base}${path}`, { ...more, headers: { ...headers, ...more.headers } }))
  return {
    call,
    ok: (path, more) =>
      Effect.map(call(path, more), (answer) => {
        assert.strictEqual(answer.status, 200, answer.text)
        assert.deepStrictEqual(Object.keys(answer.json), ["success", "data"])
        return answer.json.data
      })
  }
}

export const keyOf = (merchantId: number, scope: KeyScope = "commerce", environment: Environment = "devnet"): Caller =>
  calling({ "x-api-key": `${merchantId} ${scope} ${environment} 0` })

export const walletOf = (merchantId: number): Caller => calling({ authorization: `Bearer ${merchantId}` })

let merchants = 0

/** A merchant nobody used before. */
export const newMerchantId = (): number => ++merchants

export const newShop = (): Caller => keyOf(newMerchantId())

/** The error of a refusal in the wrapped family. */
export const assertRefused = (answer: Answer, status: number, code: string) => {
  assert.deepStrictEqual([answer.status, answer.json?.error?.code], [status, code], answer.text)
  assert.deepStrictEqual(Object.keys(answer.json.error), ["code", "message", "param", "details", "request_id"])
  return answer.json.error
}

export const withIdempotencyKey = (body: unknown, key: string = randomUUID()): Call => ({
  body,
  headers: { "idempotency-key": key }
})

export const postalAddress = {
  first_name: "Ada",
  last_name: "Lovelace",
  street_address: "12 Analytical Way",
  city: "Miami",
  state: "FL",
  zip_code: "33101",
  country: "us",
  phone: "+1 305 555 0100",
  email: "ada@example.com"
}
