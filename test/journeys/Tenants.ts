/**
 * Two merchants on one deployment of both environments, with a credential of every kind: who may do what is tried from
 * outside, by code that knows nothing of the service but its reference.
 */
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts"
import { connect, migratedDatabase } from "../support/Database.ts"
import { generousLimits } from "../support/Limits.ts"
import {
  configOf,
  masterKey,
  rpcToken,
  type Service,
  startService,
  temporaryDirectory,
  type TestRequest,
  type TestResponse
} from "../support/Service.ts"
import { assertStatus } from "./Shop.ts"

/** Headers that prove who is calling. */
export type Credential = Readonly<Record<string, string>>

export interface Tenant {
  readonly merchantId: number
  readonly account: ReturnType<typeof privateKeyToAccount>
  readonly jwt: Credential
  readonly refreshToken: string
  /** Keys by scope and environment. */
  readonly merchant: Credential
  readonly commerce: Credential
  readonly mainnet: Credential
}

/** Signs a wallet in; the first time it makes a merchant. Answers the body of `auth/verify`. */
export const signIn = (service: Service, account: Tenant["account"]) =>
  Effect.gen(function*() {
    const asked = yield* service.call("/api/v1/auth/nonce", { body: { address: account.address, network: "base" } })
    const { message } = assertStatus(200, asked).data
    const signature = yield* Effect.promise(() => account.signMessage({ message }))
    return assertStatus(200, yield* service.call("/api/v1/auth/verify", { body: { message, signature } })).data
  })

/** A new key, made by the signed-in merchant. */
export const makeKey = (service: Service, jwt: Credential, fields: object) =>
  Effect.map(
    service.call("/api/v1/api-keys", { headers: jwt, body: { name: "matrix", ...fields } }),
    (made) => assertStatus(200, made).data as { readonly id: string; readonly key: string }
  )

const settle = (service: Service) =>
  Effect.gen(function*() {
    const account = privateKeyToAccount(generatePrivateKey())
    const session = yield* signIn(service, account)
    const jwt = { authorization: `Bearer ${session.access_token}` }
    const key = (scope: string, environment: string) =>
      Effect.map(makeKey(service, jwt, { scope, environment }), (made) => ({ "x-api-key": made.key }))
    const tenant: Tenant = {
      merchantId: session.merchant.id,
      account,
      jwt,
      refreshToken: session.refresh_token,
      merchant: yield* key("merchant", "devnet"),
      commerce: yield* key("commerce", "devnet"),
      mainnet: yield* key("merchant", "mainnet")
    }
    return tenant
  })

export class Tenants extends Context.Service<Tenants, {
  readonly service: Service
  /** The deployment's database, for what a merchant only gets from the world outside. */
  readonly sql: SqlClient.SqlClient
  readonly a: Tenant
  readonly b: Tenant
}>()("test/Tenants") {}

/** Tenants of a deployment with these limits. */
const tenantsUnder = (limits: Readonly<Record<string, unknown>>) =>
  Layer.effect(
    Tenants,
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const config = configOf({ database: database.url, chains: [{ use: "simulated" }], limits })
      const service = yield* startService({
        directory: yield* temporaryDirectory,
        config: {
          ...config,
          environments: ["devnet", "mainnet"],
          modules: config.modules.map((entry) =>
            entry.use === "identity" ? { ...entry, options: { signup: "open" } } : entry
          ),
          // A config that serves mainnet names its secrets and never holds one.
          rpc: { token: "${env:RPC_TOKEN}" },
          secrets: { master: ["${env:MASTER}"] }
        },
        environment: { RPC_TOKEN: rpcToken, MASTER: masterKey }
      })
      const context = yield* Layer.build(Layer.orDie(connect(database)))
      return {
        service,
        sql: Context.get(context, SqlClient.SqlClient),
        a: yield* settle(service),
        b: yield* settle(service)
      }
    })
  )

/** Tenants of a deployment whose limits nobody meets. */
export const tenants = tenantsUnder(generousLimits)

/** Tenants where strangers have the documented limits and nobody else meets any. */
export const strictTenants = tenantsUnder({ ...generousLimits, anonymousPerMinute: 30 })

/** A call with a fresh idempotency key, so that no two calls of a test are one. */
export const ask = (
  service: Service,
  credential: Credential,
  path: string,
  sent: TestRequest = {}
): Effect.Effect<TestResponse> =>
  service.call(path, {
    ...sent,
    headers: {
      ...credential,
      ...((sent.method ?? "GET") === "GET" ? {} : { "idempotency-key": randomUUID() }),
      ...sent.headers
    }
  })

/** A public address that is never called: no event that matches is ever made, or its endpoint is disabled. */
const unusedUrl = "https://93.184.215.14/hooks"

/** A new webhook endpoint of `tenant`, in the place of all it had before: a merchant may have sixteen. */
export const makeWebhook = Effect.fnUntraced(function*(service: Service, tenant: Tenant, credential: Credential) {
  const { data } = assertStatus(200, yield* ask(service, tenant.jwt, "/api/v1/webhooks"))
  for (const { id } of data.data) {
    assertStatus(200, yield* ask(service, tenant.jwt, `/api/v1/webhooks/${id}`, { method: "DELETE" }))
  }
  const body = { url: unusedUrl, enabled_events: ["commerce.order.created"] }
  return assertStatus(200, yield* ask(service, credential, "/api/v1/webhooks", { method: "POST", body })).data
    .id as string
})

/**
 * The id of a delivery that was given up, of an endpoint that is then disabled: whatever may be done with it sends
 * nothing.
 */
export const makeDelivery = Effect.fnUntraced(
  function*({ service, sql }: Tenants["Service"], tenant: Tenant, credential: Credential) {
    const endpoint = yield* makeWebhook(service, tenant, credential)
    assertStatus(200, yield* ask(service, credential, "/api/v1/invoices", { method: "POST", body: { amount_usd: 5 } }))
    assertStatus(
      200,
      yield* ask(service, credential, `/api/v1/webhooks/${endpoint}`, { method: "PATCH", body: { status: "disabled" } })
    )
    const [made] = yield* Effect.orDie(sql<{ id: string }>`
    INSERT INTO webhook_deliveries (merchant_id, endpoint_id, event_ms, event_seq, status, attempt, due_at, finished_at)
    SELECT merchant_id, ${endpoint}, ms, seq, 'failed', 4, NULL, now() FROM events
    WHERE merchant_id = ${tenant.merchantId} AND environment = 'devnet' ORDER BY ms DESC, seq DESC LIMIT 1 RETURNING id`)
    return `whd_${made!.id}`
  }
)
