/**
 * A whole devnet in this process, with its simulated chains at hand: what a test asks over HTTP, it can also make
 * happen.
 */
import { NodeServices } from "@effect/platform-node"
import { assert } from "@effect/vitest"
import { Context, Effect, FileSystem, Layer, Redacted } from "effect"
import { RpcClient } from "effect/rpc"
import type { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { AuthRpc } from "../../../modules/auth/rpc.ts"
import { Batches } from "../../../modules/batches/plugin.ts"
import { SimulatedChain } from "../../../modules/chains/simulated.ts"
import { Orders } from "../../../modules/commerce/plugin.ts"
import { Invoices } from "../../../modules/invoices/plugin.ts"
import { Payments } from "../../../modules/payments/plugin.ts"
import { Refunds } from "../../../modules/refunds/plugin.ts"
import { Retailers } from "../../../modules/retail/plugin.ts"
import { Settlements } from "../../../modules/settlement/plugin.ts"
import { boot, ServiceInfo } from "../../../runtime/boot.ts"
import { Chains } from "../../../runtime/Chains.ts"
import { noCause } from "../../../runtime/Commit.ts"
import { load } from "../../../runtime/Config.ts"
import { freePort } from "../../support/Ports.ts"
import * as InternalRpc from "../../../runtime/rpc/Client.ts"
import { TimerPace, type Timers } from "../../../runtime/Timers.ts"
import { TokenCatalog } from "../../../runtime/TokenCatalog.ts"
import { uuidV7 } from "../../../runtime/Uuid.ts"
import { usdMillis } from "../../../schemas/Money.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { migratedDatabase } from "../../support/Database.ts"
import { configOf, exchange, prices, rpcToken, type TestRequest, type TestResponse } from "../../support/Service.ts"
import { shortTimerPace } from "../../support/TimerPace.ts"

/** Services that a test makes things happen with. */
type Behind =
  | Batches
  | Chains
  | Invoices
  | Orders
  | Payments
  | Refunds
  | Retailers
  | Settlements
  | SimulatedChain
  | SqlClient.SqlClient
  | Timers
  | TokenCatalog

export class DevnetService extends Context.Service<DevnetService, {
  readonly call: (path: string, sent?: TestRequest) => Effect.Effect<TestResponse>
  readonly internalUrl: string
  readonly services: Context.Context<Behind>
}>()("test/DevnetService") {
  /** Blocks come only with transfers. */
  static readonly layer = Layer.effect(
    DevnetService,
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* fs.makeTempDirectoryScoped()
      const database = yield* migratedDatabase
      const config = {
        ...configOf({
          database: database.url,
          chains: [{ use: "simulated", options: { blockMillis: 3_600_000 } }],
          prices: { ...prices, cardano: "0.5" }
        }),
        // One that is found by asking for any may be another's by the time it is listened on.
        http: { port: yield* freePort },
        rpc: { port: 0, token: rpcToken },
        data: { directory: `${folder}/data` },
        telemetry: { logs: "json", level: "error" }
      }
      const file = `${folder}/config.json`
      yield* fs.writeFileString(file, JSON.stringify(config))
      const context = yield* Layer.build(boot(yield* load({ file, environment: {} }), randomUUID())).pipe(
        Effect.provideService(TimerPace, shortTimerPace)
      )
      const { internalUrl, url: base } = Context.get(context, ServiceInfo)
      return DevnetService.of({
        internalUrl,
        call: (path, sent) => exchange(base, path, sent),
        // The boot says only that it runs; what it runs is all there.
        services: context as unknown as Context.Context<Behind>
      })
    })
  ).pipe(Layer.provide(NodeServices.layer), Layer.orDie)
}

/** A merchant with a key of each scope. */
export interface DevnetMerchant {
  readonly id: number
  readonly merchant: string
  readonly commerce: string
}

export const newDevnetMerchant = Effect.gen(function*() {
  const { internalUrl } = yield* DevnetService
  return yield* Effect.gen(function*() {
    const client = yield* RpcClient.make(AuthRpc)
    const { id } = yield* client["auth.merchants.create"]({ name: "Demo Store" })
    const key = (scope: "merchant" | "commerce") =>
      Effect.map(
        client["auth.keys.create"]({ merchant_id: id, name: scope, scope, environment: "devnet" }),
        (made) => made.key
      )
    const player: DevnetMerchant = { id, merchant: yield* key("merchant"), commerce: yield* key("commerce") }
    return player
  }).pipe(
    Effect.scoped,
    Effect.provide(InternalRpc.layer({ url: internalUrl, token: Redacted.make(rpcToken) })),
    Effect.orDie
  )
})

/** The `data` of an answer with status 200. */
export const okData = ({ json, status, text }: TestResponse): any => {
  assert.strictEqual(status, 200, text)
  return json.data ?? json
}

/** Asserts a wrapped refusal and gives its `error`. */
export const assertRefused = (found: TestResponse, status: number, code: string): any => {
  assert.deepStrictEqual([found.status, found.json?.error?.code], [status, code], found.text)
  return found.json.error
}

/** An order as checkout makes one, with its invoice. */
export const newOrder = Effect.fnUntraced(function*(
  player: DevnetMerchant,
  total = 12_990n,
  environment: Environment = "devnet"
) {
  const { services } = yield* DevnetService
  const orders = Context.get(services, Orders)
  const orderId = yield* uuidV7
  const amount = usdMillis(total)
  const zero = usdMillis(0n)
  const invoices = Context.get(services, Invoices)
  const draft = yield* invoices.draft({
    merchantId: player.id,
    environment,
    commerce: true,
    amount,
    expiresInMillis: 1_800_000,
    customerId: "cust_1",
    metadata: {},
    details: { description: null, title: null, footer: null, customerEmail: null, returnUrl: null, locale: null },
    toleranceBasisPoints: null,
    acceptedNetworks: null,
    orderId
  })
  const { extraWrites } = orders.creation({
    orderId,
    merchantId: player.id,
    environment,
    customerId: "cust_1",
    walletAddress: null,
    walletNetwork: null,
    items: [{
      retailer: "amazon",
      productId: "B08N5WRWNW",
      title: "Item",
      imageUrl: null,
      quantity: 1,
      unitAmount: amount
    }],
    shipping: { id: "standard", name: "Standard", amount: zero, estimatedDays: "5-7" },
    address: {
      firstName: "A",
      lastName: "B",
      streetAddress: "1 Main St",
      addressLine2: null,
      city: "Miami",
      state: "FL",
      zipCode: "33101",
      country: "US",
      phone: "+13055550100",
      email: "a@b.example"
    },
    amounts: { subtotal: amount, shipping: zero, tax: zero, fees: zero, total: amount },
    refundDestination: null,
    metadata: {}
  }, draft.invoice)
  yield* Effect.orDie(invoices.createWith(draft, extraWrites, noCause, undefined))
  return { orderId, invoiceId: draft.invoice.id as string }
})
