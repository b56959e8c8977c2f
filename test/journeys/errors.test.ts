/**
 * Goal: every error of modules/docs/reference/errors.md#codes that this release can give is given, with its status, its
 * code and the body of its family, and nothing else ever leaves the service. Method: one table against one running
 * service over real sockets; every code in the schema is in the table or in a short list that says why not.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Redacted } from "effect"
import { RpcClient } from "effect/rpc"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import { AuthRpc } from "../../modules/auth/rpc.ts"
import { PaymentsRpc } from "../../modules/payments/rpc.ts"
import * as InternalRpc from "../../runtime/rpc/Client.ts"
import { fromMasters, Secrets } from "../../runtime/Secrets.ts"
import { PayorTickets } from "../../runtime/sockets/PayorTicket.ts"
import { errorCodes, statusOf } from "../../schemas/Errors.ts"
import { evmNetworks } from "../../schemas/Network.ts"
import { newestVersion } from "../../schemas/Version.ts"
import { connect, migratedDatabase } from "../support/Database.ts"
import { makeReceiver } from "../support/Receiver.ts"
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
import { assertStatus, type Invoice, newInvoice, openShop, type Shop } from "./Shop.ts"

/** The statuses of modules/docs/reference/errors.md#codes, written down again. */
const documented: Readonly<Record<number, string>> = {
  400: `INVALID_AMOUNT_FORMAT INVALID_AMOUNT_RANGE IDEMPOTENCY_KEY_MISSING IDEMPOTENCY_KEY_INVALID VALIDATION_ERROR
    INVALID_JSON INVALID_LIMIT INVALID_OFFSET INVALID_PAGE INVALID_CURSOR INVALID_EVENT_ID INVALID_EVENT_TYPE
    INVALID_ENVIRONMENT INVALID_VERSION INVALID_FORMAT AMBIGUOUS_CREDENTIALS WEBHOOK_URL_INVALID TOKEN_NOT_ACCEPTED
    TOKEN_NETWORK_MISMATCH UNSUPPORTED_NETWORK NETWORK_REQUIRED WALLET_ADDRESS_INVALID WALLET_INVALID
    ADDRESS_INVALID NO_VALID_ITEMS ORDER_VALUE_EXCEEDED CUSTOMER_IDENTITY_REQUIRED REFUND_DESTINATION_REQUIRED
    BATCH_EMPTY BATCH_TOO_LARGE AMOUNT_BELOW_MINIMUM`,
  401: `UNAUTHORIZED API_KEY_INVALID TOKEN_INVALID TOKEN_EXPIRED SESSION_INVALID SESSION_EXPIRED NONCE_INVALID
    SIGNATURE_INVALID REFRESH_REUSED`,
  403: `SCOPE_MISMATCH PERMISSION_DENIED FRESH_PROOF_REQUIRED APPROVAL_PROOF_REQUIRED CREDENTIAL_NOT_ALLOWED
    ENVIRONMENT_FORBIDDEN DEVNET_ONLY MAINNET_NOT_ENABLED
    DEVNET_NOT_ENABLED SIGNUP_CLOSED IP_NOT_ALLOWED ORIGIN_NOT_ALLOWED
    APPROVAL_REQUIRED APPROVER_MUST_DIFFER`,
  404: `NOT_FOUND INVOICE_NOT_FOUND EVENT_NOT_FOUND TOKEN_NOT_FOUND QUOTE_NOT_FOUND WEBHOOK_NOT_FOUND DELIVERY_NOT_FOUND
    ESTIMATE_NOT_FOUND ADDRESS_NOT_FOUND CART_ITEM_NOT_FOUND ORDER_NOT_FOUND REFUND_NOT_FOUND PAYMENT_LINK_NOT_FOUND
    EXCEPTION_NOT_FOUND BATCH_NOT_FOUND`,
  405: "METHOD_NOT_ALLOWED",
  409: `IDEMPOTENCY_REQUEST_IN_PROGRESS INVOICE_NOT_CANCELABLE INVOICE_NOT_PAYABLE ROUTE_LOCKED INVALID_TRANSITION
    WEBHOOK_LIMIT_REACHED WEBHOOK_DISABLED API_KEY_LIMIT_REACHED WALLET_LINKED_ELSEWHERE WALLET_LIMIT_REACHED
    ESTIMATE_ALREADY_USED ESTIMATE_CHANGED CART_LIMIT_REACHED ORDER_NOT_CANCELABLE REFUND_EXCEEDS_RECEIVED
    REFUND_NOT_CANCELABLE EXCEPTION_ALREADY_RESOLVED
    REFUND_IN_BATCH EXPORT_LIVE LINES_AMBIGUOUS BATCH_NOT_CANCELABLE BATCH_LIMIT_REACHED BATCH_PAID
    PAYOUT_LIMIT_EXCEEDED PAYOUT_LINE_REFUSED NOTHING_TO_COLLECT COLLECTOR_MISSING PAYER_MISSING INSUFFICIENT_FUNDS
    WALLET_NOT_SPENDABLE WALLET_NOT_LINKED`,
  410: "QUOTE_EXPIRED ESTIMATE_EXPIRED",
  413: "PAYLOAD_TOO_LARGE",
  415: "UNSUPPORTED_MEDIA_TYPE",
  421: "HOST_NOT_ALLOWED",
  422: "IDEMPOTENCY_KEY_REUSED",
  429: "RATE_LIMIT_EXCEEDED",
  500: "INVOICE_CREATE_FAILED INTERNAL_ERROR",
  503: "NETWORK_DEGRADED QUOTE_UNAVAILABLE SERVICE_UNAVAILABLE"
}

const statusOfCode = new Map(
  Object.entries(documented).flatMap(
    ([status, codes]) => codes.split(/\s+/).map((code) => [code, Number(status)] as const)
  )
)

/** Codes that no request to a sound deployment of this release can bring about. */
const unreachable: Readonly<Record<string, string>> = {
  PAYOUT_LINE_REFUSED: "needs a real chain: the tests of the drivers' payouts tell it",
  NOTHING_TO_COLLECT: "needs a real chain: the tests of the drivers' payouts tell it",
  COLLECTOR_MISSING: "needs a real chain: the tests of the drivers' payouts tell it",
  PAYER_MISSING: "needs a real chain: the tests of the drivers' payouts tell it",
  INSUFFICIENT_FUNDS: "needs a real chain: the tests of the drivers' payouts tell it",
  WALLET_NOT_SPENDABLE: "needs a real chain: the tests of the drivers' payouts tell it",
  WALLET_NOT_LINKED: "needs a real chain: modules/batches/lists.long.test.ts tells it",
  AMOUNT_BELOW_MINIMUM: "needs a real chain: the tests of the drivers' payouts tell it",
  BATCH_PAID: "needs an execution that the service has not read yet: the tests of the drivers' payouts tell it",
  QUOTE_EXPIRED: "no route of this release takes a quote that can have ended",
  DEVNET_NOT_ENABLED: "needs a deployment without devnet; the rule is the one of MAINNET_NOT_ENABLED",
  INVOICE_CREATE_FAILED: "needs a bug",
  INTERNAL_ERROR: "needs a bug",
  NETWORK_DEGRADED: "needs a chain that is silent for a minute",
  SERVICE_UNAVAILABLE: "needs a database that is gone"
}

/** Codes that take a story of their own, and the test that tells it. */
const elsewhere: Readonly<Record<string, string>> = {
  INVALID_OFFSET: "modules/tokens/policy.test.ts",
  ADDRESS_INVALID: "modules/storefront/checkout.test.ts",
  NO_VALID_ITEMS: "modules/storefront/checkout.test.ts",
  ORDER_VALUE_EXCEEDED: "modules/storefront/checkout.test.ts",
  CUSTOMER_IDENTITY_REQUIRED: "modules/storefront/carts.test.ts",
  ESTIMATE_NOT_FOUND: "modules/storefront/checkout.test.ts",
  ESTIMATE_EXPIRED: "modules/storefront/checkout.test.ts",
  ADDRESS_NOT_FOUND: "journeys/storefront.test.ts",
  ESTIMATE_ALREADY_USED: "journeys/storefront.test.ts",
  ESTIMATE_CHANGED: "journeys/storefront.test.ts",
  CART_ITEM_NOT_FOUND: "modules/storefront/carts.test.ts",
  CART_LIMIT_REACHED: "modules/storefront/carts.test.ts",
  ORDER_NOT_FOUND: "modules/simulator/simulator.long.test.ts",
  ORDER_NOT_CANCELABLE: "journeys/commerce.long.test.ts",
  EXCEPTION_NOT_FOUND: "modules/exceptions/exceptions.test.ts",
  EXCEPTION_ALREADY_RESOLVED: "modules/exceptions/exceptions.test.ts",
  REFUND_NOT_FOUND: "modules/refunds/invoiceRefunds.test.ts",
  PAYMENT_LINK_NOT_FOUND: "modules/links/journey.long.test.ts",
  REFUND_EXCEEDS_RECEIVED: "modules/refunds/refunds.test.ts",
  REFUND_NOT_CANCELABLE: "modules/refunds/machine.test.ts",
  REFUND_DESTINATION_REQUIRED: "modules/simulator/simulator.long.test.ts",
  TOKEN_NOT_FOUND: "modules/tokens/policy.test.ts",
  WALLET_ADDRESS_INVALID: "modules/identity/signin.test.ts",
  WALLET_INVALID: "modules/wallets/wallets.test.ts",
  NONCE_INVALID: "modules/identity/signin.test.ts",
  SIGNATURE_INVALID: "modules/identity/signin.test.ts",
  REFRESH_REUSED: "modules/identity/signin.test.ts",
  SIGNUP_CLOSED: "modules/identity/signin.test.ts",
  WALLET_LINKED_ELSEWHERE: "modules/identity/signin.test.ts",
  WALLET_LIMIT_REACHED: "modules/identity/signin.test.ts",
  WEBHOOK_DISABLED: "modules/webhooks/deliveries.test.ts",
  IP_NOT_ALLOWED: "modules/auth/manage.long.test.ts",
  PERMISSION_DENIED: "modules/auth/manage.long.test.ts",
  ORIGIN_NOT_ALLOWED: "journeys/attacks/sockets.long.test.ts",
  HOST_NOT_ALLOWED: "runtime/rpc/hosts.test.ts",
  API_KEY_LIMIT_REACHED: "modules/auth/manage.long.test.ts",
  BATCH_EMPTY: "modules/batches/batches.test.ts",
  BATCH_TOO_LARGE: "modules/batches/batches.test.ts",
  APPROVAL_REQUIRED: "modules/batches/batches.test.ts",
  APPROVER_MUST_DIFFER: "modules/batches/machine.test.ts",
  APPROVAL_PROOF_REQUIRED: "modules/refunds/approvals.test.ts",
  FRESH_PROOF_REQUIRED: "modules/team/freshProof.test.ts",
  BATCH_NOT_FOUND: "modules/batches/batches.test.ts",
  REFUND_IN_BATCH: "modules/batches/batches.test.ts",
  EXPORT_LIVE: "modules/batches/batches.test.ts",
  LINES_AMBIGUOUS: "modules/batches/batches.test.ts",
  BATCH_NOT_CANCELABLE: "modules/batches/batches.test.ts",
  BATCH_LIMIT_REACHED: "modules/batches/batches.test.ts",

  PAYOUT_LIMIT_EXCEEDED: "modules/batches/limits.test.ts",
  RATE_LIMIT_EXCEEDED: "runtime/http/RateLimiter.test.ts"
}

type Keys = Readonly<Record<"merchant" | "commerce" | "other" | "mainnet" | "revoked", string>>

class Desk extends Context.Service<Desk, {
  readonly service: Service
  /** The same deployment, serving both environments. */
  readonly both: Service
  readonly sql: SqlClient.SqlClient
  readonly shop: Shop
  readonly keys: Keys
  /** Invoices of the first merchant, by what became of them. */
  readonly open: Invoice
  readonly paid: Invoice
  readonly partial: Invoice
  readonly ended: Invoice
  readonly tokens: ReadonlyMap<string, number>
  readonly eventId: string
}>()("test/Desk") {
  static readonly layer = Layer.effect(
    Desk,
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const receiver = yield* makeReceiver()
      const { weth: _unpriced, ...prices } = { "usd-coin": "1", ethereum: "3500", weth: "3500" }
      // The others are followed by nobody here.
      const chains = [{ use: "simulated", options: { networks: evmNetworks } }]
      const config = configOf({ database: database.url, receivers: [receiver.host], chains, prices })
      const service = yield* startService({ directory: yield* temporaryDirectory, config })
      const both = yield* startService({
        directory: yield* temporaryDirectory,
        config: {
          ...config,
          environments: ["devnet", "mainnet"],
          webhooks: {},
          rpc: { token: "${env:RPC_TOKEN}" },
          secrets: { master: ["${env:MASTER_KEY}"] },
          store: { use: "postgres", options: { url: "${env:DATABASE_URL}" } }
        },
        environment: { RPC_TOKEN: rpcToken, MASTER_KEY: masterKey, DATABASE_URL: database.url }
      })
      const sql = Context.get(yield* Layer.build(connect(database)), SqlClient.SqlClient)
      const demo = yield* service.keys

      const door = yield* Layer.build(InternalRpc.layer({ url: both.rpcUrl, token: Redacted.make(rpcToken) }))
      const auth = yield* Effect.provide(RpcClient.make(AuthRpc), door)
      const makeKey = Effect.fnUntraced(function*(merchant_id: number, environment: "devnet" | "mainnet" = "devnet") {
        const made = yield* Effect.orDie(
          auth["auth.keys.create"]({ merchant_id: merchant_id as never, name: "k", scope: "merchant", environment })
        )
        service.guard(made.key)
        both.guard(made.key)
        return made
      })
      const rival = yield* Effect.orDie(auth["auth.merchants.create"]({ name: "Rival" }))
      const revoked = yield* makeKey(demo.merchant_id)
      yield* Effect.orDie(auth["auth.keys.revoke"]({ merchant_id: revoked.merchant_id, key_id: revoked.id }))
      const keys: Keys = {
        merchant: demo.merchant_key,
        commerce: demo.commerce_key,
        other: (yield* makeKey(rival.id)).key,
        mainnet: (yield* makeKey(demo.merchant_id, "mainnet")).key,
        revoked: revoked.key
      }

      const shop = yield* openShop(service, receiver, keys.merchant)
      const list = yield* service.call("/api/v1/merchant/tokens", { headers: { "x-api-key": keys.merchant } })
      const tokens = new Map<string, number>(
        assertStatus(200, list).tokens.map((each: any) => [`${each.network} ${each.token_symbol}`, each.id])
      )
      const simulate = (invoice: Invoice, body: object) =>
        Effect.map(
          service.call(
            `/api/v1/devnet/invoices/${invoice.id}/simulate`,
            { headers: { "x-api-key": keys.merchant }, body }
          ),
          (found) => assertStatus(200, found)
        )
      const [open, paid, partial, ended] = yield* Effect.all(
        [1, 2, 3, 4].map(() =>
          newInvoice(shop, { amount_usd: 20, customer_id: "cust_a", metadata: { canary: "of-merchant-a" } })
        )
      )
      const simulated = yield* simulate(paid!, { action: "pay" })
      yield* simulate(partial!, { action: "pay", amount: 5_000, network: "base", token_id: tokens.get("base USDC") })
      yield* Effect.orDie(
        sql`UPDATE invoices SET status = 'expired', expires_at = 1000, due_at = NULL WHERE id = ${ended!.id}`
      )
      return Desk.of({
        service,
        both,
        sql,
        shop,
        keys,
        tokens,
        open: open!,
        paid: paid!,
        partial: partial!,
        ended: ended!,
        eventId: simulated.data.event_ids[0]
      })
    })
  )
}

type World = typeof Desk.Service

/** One request and the error it gets. */
interface Row {
  readonly code: string
  readonly name: string
  readonly family: "flat" | "wrapped"
  readonly path: (world: World) => string
  readonly sent?: (world: World) => TestRequest
  /** Headers the answer must have. */
  readonly headers?: Readonly<Record<string, RegExp>>
  /** Which of the two services is asked. */
  readonly of?: "both"
}

const merchant = ({ keys }: World) => ({ "x-api-key": keys.merchant })

const rows: Array<Row> = []

/** `name` tells what is wrong with a new invoice whose body or headers are these. */
const badInvoice = (code: string, name: string, sent: (world: World) => TestRequest) =>
  rows.push({
    code,
    name: `new invoice: ${name}`,
    family: "flat",
    path: () => "/api/v1/invoices",
    sent: (world) => {
      const { headers, ...rest } = sent(world)
      return { method: "POST", ...rest, headers: { ...merchant(world), "idempotency-key": randomUUID(), ...headers } }
    }
  })

const badBody = (code: string, name: string, body: unknown) => badInvoice(code, name, () => ({ body }))

const badGet = (code: string, family: Row["family"], path: string, credentials = merchant) =>
  rows.push({ code, name: `GET ${path}`, family, path: () => path, sent: (world) => ({ headers: credentials(world) }) })

/** What the payor asks with an open session. */
const badPayor = (
  code: string,
  name: string,
  path: string,
  sent: (world: World) => TestRequest = () => ({}),
  invoice: (world: World) => Invoice = ({ open }) => open
) =>
  rows.push({
    code,
    name: `payor: ${name}`,
    family: "flat",
    path: () => `/api/v1/payments/${path}`,
    sent: (world) => {
      const { headers, ...rest } = sent(world)
      return { ...rest, headers: { ...invoice(world).session, ...headers } }
    }
  })

const badAddress = (
  code: string,
  name: string,
  body: (tokens: ReadonlyMap<string, number>) => unknown,
  invoice?: (world: World) => Invoice
) =>
  badPayor(code, `payment-addresses: ${name}`, "payment-addresses", ({ tokens }) => ({ body: body(tokens) }), invoice)

const badWebhook = (code: string, name: string, body: unknown, credentials = merchant) =>
  rows.push({
    code,
    name: `new webhook: ${name}`,
    family: "wrapped",
    path: () => "/api/v1/webhooks",
    sent: (world) => ({ method: "POST", headers: credentials(world), body })
  })

// Amounts are judged by value, before every other field (E48).
for (
  const body of [
    "{}",
    "{\"amount\":null}",
    "{\"amount\":\"1000\"}",
    "{\"amount\":1.5}",
    "{\"amount\":1e400}",
    "{\"amount\":true}",
    "{\"amount\":[1000]}",
    "{\"amount\":{}}",
    "{\"amount\":1000,\"amount_usd\":1}",
    "{\"amount_usd\":\"\"}",
    "{\"amount_usd\":\" 10\"}",
    "{\"amount_usd\":\"0x10\"}",
    "{\"amount_usd\":\"١٠\"}",
    "{\"amount_usd\":\"NaN\"}",
    "{\"amount_usd\":\"Infinity\"}",
    "{\"amount_usd\":1e400}",
    "{\"amount_usd\":1.0001}",
    "{\"amount_usd\":\"1.0001\"}",
    "{\"amount_usd\":\"1,000\"}",
    "{\"amount_usd\":true}",
    "{\"amount_usd\":\"ten\",\"metadata\":7}"
  ]
) badBody("INVALID_AMOUNT_FORMAT", body, body)
for (
  const body of [
    "{\"amount\":0}",
    "{\"amount\":-0}",
    "{\"amount\":-1}",
    "{\"amount\":9}",
    "{\"amount\":1000000001}",
    "{\"amount\":9007199254740993}",
    "{\"amount_usd\":0}",
    "{\"amount_usd\":\"-5\"}",
    "{\"amount_usd\":0.009}",
    "{\"amount_usd\":1000000.001}",
    "{\"amount\":1000,\"amount\":5}",
    "{\"amount\":5,\"metadata\":7}"
  ]
) badBody("INVALID_AMOUNT_RANGE", body, body)

for (
  const body of [
    "{",
    "nonsense",
    "{\"amount\":0x10}",
    "{\"amount\":NaN}",
    "{\"amount\":1000,}",
    "\ufeff{\"amount\":1000}"
  ]
) {
  badBody("INVALID_JSON", `the text ${JSON.stringify(body)}`, body)
}
badBody(
  "INVALID_JSON",
  "invalid UTF-8",
  Buffer.concat([Buffer.from("{\"description\":\""), Buffer.of(0xc3, 0x28), Buffer.from("\"}")])
)
badBody("INVALID_JSON", "UTF-16", Buffer.from("{\"amount\":1000}", "utf16le"))

for (
  const [name, body] of Object.entries({
    "no body": "",
    "an array": "[]",
    "a number": "7",
    "null": "null",
    "another currency": { amount: 1_000, currency: "eur" },
    "a life below a minute": { amount: 1_000, expires_in: 59_999 },
    "a life above thirty days": { amount: 1_000, expires_in: 2_592_000_001 },
    "a life of text": { amount: 1_000, expires_in: "60000" },
    "a long description": { amount: 1_000, description: "x".repeat(256) },
    "a customer that is a number": { amount: 1_000, customer_id: 7 },
    "a receiver of the caller's choice": { amount: 1_000, receiver_override_enable: true },
    "an unknown network": { amount: 1_000, accepted_networks: ["dogechain"] },
    "an unsafe return address": { amount: 1_000, payment_return_url: "javascript:alert(1)" },
    "metadata that is a list": { amount: 1_000, metadata: [] },
    "51 keys of metadata": {
      amount: 1_000,
      metadata: Object.fromEntries(Array.from({ length: 51 }, (_, place) => [`k${place}`, 1]))
    },
    "a metadata key of 65 characters": { amount: 1_000, metadata: { ["k".repeat(65)]: 1 } },
    "17 KiB of metadata": { amount: 1_000, metadata: { note: "x".repeat(17_000) } },
    "the NUL character": "{\"amount\":1000,\"description\":\"a\\u0000b\"}",
    "half a surrogate pair": "{\"amount\":1000,\"description\":\"\\ud800\"}",
    "33 nested lists": `{"amount":1000,"metadata":{"x":${"[".repeat(32)}${"]".repeat(32)}}}`,
    "200,000 nested lists": `{"amount":1000,"metadata":{"x":${"[".repeat(100_000)}${"]".repeat(100_000)}}}`
  })
) badBody("VALIDATION_ERROR", name, body)

// Conventions of every request with a body.
badBody("PAYLOAD_TOO_LARGE", "257 KiB", `{"amount":1000,"description":"${"x".repeat(263_168)}"}`)
badInvoice("PAYLOAD_TOO_LARGE", "257 KiB in chunks", () => ({ body: `{"x":"${"x".repeat(263_168)}"}`, chunked: true }))
rows.push({
  code: "PAYLOAD_TOO_LARGE",
  name: "a length of 50 MB is refused before a byte is sent",
  family: "flat",
  path: () => "/api/v1/invoices",
  sent: (world) => (
    {
      method: "POST",
      headers: { ...merchant(world), "content-type": "application/json", "content-length": "52428800" }
    }
  )
})
for (
  const type of [
    "text/plain",
    "application/x-www-form-urlencoded",
    "application/json; charset=utf-7",
    "application/jsonp",
    ""
  ]
) {
  badInvoice(
    "UNSUPPORTED_MEDIA_TYPE",
    `a body of type "${type}"`,
    () => ({ body: { amount: 1_000 }, headers: { "content-type": type } })
  )
}
badInvoice(
  "UNSUPPORTED_MEDIA_TYPE",
  "a compressed body",
  () => ({ body: { amount: 1_000 }, headers: { "content-encoding": "gzip" } })
)
badInvoice(
  "INVALID_VERSION",
  "an unknown version",
  () => ({ body: { amount: 1_000 }, headers: { "x-service-version": "2020-01-01" } })
)

// Idempotency keys.
rows.push({
  code: "IDEMPOTENCY_KEY_MISSING",
  name: "new invoice: no key, before anything is wrong with the body",
  family: "flat",
  path: () => "/api/v1/invoices",
  sent: (world) => ({ headers: merchant(world), body: { amount: 0 } })
})
for (
  const [name, key] of Object.entries({
    "an empty one": "",
    "256 characters": "k".repeat(256),
    "a space": "a b",
    "an umlaut": "schl\u00fcssel"
  })
) {
  badInvoice("IDEMPOTENCY_KEY_INVALID", `the key ${name}`, () => ({
    body: { amount: 1_000 },
    headers: { "idempotency-key": key }
  }))
}
badInvoice(
  "IDEMPOTENCY_KEY_INVALID",
  "two keys",
  () => ({ body: { amount: 1_000 }, headers: { "idempotency-key": ["a", "b"] } })
)

// Credentials.
const credentials: ReadonlyArray<readonly [string, string, (world: World) => TestRequest["headers"]]> = [
  ["UNAUTHORIZED", "none", () => ({})],
  ["UNAUTHORIZED", "Basic", () => ({ authorization: "Basic bWtfZGV2Og==" })],
  ["API_KEY_INVALID", "an empty key", () => ({ "x-api-key": "" })],
  ["API_KEY_INVALID", "10 kB of key", () => ({ "x-api-key": "k".repeat(10_000) })],
  ["API_KEY_INVALID", "a key that is not ASCII", () => ({ "x-api-key": "mk_dev_\u00fc" })],
  ["API_KEY_INVALID", "two keys", ({ keys }) => ({ "x-api-key": [keys.merchant, keys.merchant] })],
  [
    "API_KEY_INVALID",
    "one changed character",
    ({ keys }) => ({ "x-api-key": keys.merchant.replace(/.$/, (last) => last === "0" ? "1" : "0") })
  ],
  ["API_KEY_INVALID", "a revoked key", ({ keys }) => ({ "x-api-key": keys.revoked })],
  ["TOKEN_INVALID", "a key as bearer token", ({ keys }) => ({ authorization: `Bearer ${keys.merchant}` })],
  [
    "AMBIGUOUS_CREDENTIALS",
    "two keys of different headers",
    ({ keys }) => ({ "x-api-key": keys.merchant, "x-commerce-api-key": keys.commerce })
  ],
  [
    "SCOPE_MISMATCH",
    "a merchant key under the commerce header",
    ({ keys }) => ({ "x-commerce-api-key": keys.merchant })
  ],
  ["MAINNET_NOT_ENABLED", "a mainnet key", ({ keys }) => ({ "x-api-key": keys.mainnet })],
  ["UNAUTHORIZED", "a payor's session", ({ open }) => open.session]
]
for (const [code, name, headers] of credentials) {
  const challenge = statusOfCode.get(code) === 401 ? { headers: { "www-authenticate": /realm=/ } } : {}
  for (const [family, path] of [["wrapped", "/api/v1/events"], ["flat", "/api/v1/invoices"]] as const) {
    rows.push({
      code,
      name: `${path}: ${name}`,
      family,
      path: () => path,
      sent: (world) => ({ headers: headers(world)! }),
      ...challenge
    })
  }
}
rows.push({
  code: "UNAUTHORIZED",
  name: "a key in the query",
  family: "wrapped",
  path: ({ keys }) => `/api/v1/events?x-api-key=${keys.merchant}`
})

// Unknown things.
badGet("NOT_FOUND", "wrapped", "/api/v1/nothing")
badGet("NOT_FOUND", "wrapped", "/")
badGet("NOT_FOUND", "wrapped", "/api/v1/../../etc/passwd")
badGet("INVOICE_NOT_FOUND", "flat", `/api/v1/invoices/${randomUUID()}`)
badGet("INVOICE_NOT_FOUND", "flat", "/api/v1/invoices/cust_nobody")
badGet("INVOICE_NOT_FOUND", "flat", "/api/v1/invoices/%27%20OR%20%271%27=%271")
badGet("EVENT_NOT_FOUND", "wrapped", "/api/v1/events/evt_1700000000000-1")
for (const id of ["nonsense", "evt_1", "evt_1-", "evt_1-2.3", "evt_1-2%0A", "evt_-1-2"]) {
  badGet(
    "INVALID_EVENT_ID",
    "wrapped",
    `/api/v1/events/${id}`
  )
}
rows.push({
  code: "INVOICE_NOT_FOUND",
  name: "cancel an unknown invoice",
  family: "flat",
  path: () => `/api/v1/invoices/${randomUUID()}/cancel`,
  sent: (world) => ({ method: "POST", headers: merchant(world) })
})

// Lists.
for (const limit of ["0", "-1", "101", "1e9", "abc", "1,2", "", "1.5"]) {
  badGet("INVALID_LIMIT", "wrapped", `/api/v1/events?limit=${limit}`)
  badGet("INVALID_LIMIT", "flat", `/api/v1/invoices?limit=${limit}`)
}
for (const page of ["0", "-1", "1e15", "abc"]) badGet("INVALID_PAGE", "flat", `/api/v1/invoices?page=${page}`)
for (const query of ["starting_after=x", "ending_before=evt_1", "starting_after=evt_1-1&ending_before=evt_1-1"]) {
  badGet("INVALID_CURSOR", "wrapped", `/api/v1/events?${query}`)
}
badGet("INVALID_CURSOR", "flat", "/api/v1/invoices?starting_after=x")
badGet("INVALID_CURSOR", "flat", `/api/v1/invoices?page=1&starting_after=${randomUUID()}`)
for (const type of ["invoice.", "a.*.b", "in*", "%27);--", Array.from({ length: 21 }, () => "a").join(",")]) {
  badGet("INVALID_EVENT_TYPE", "wrapped", `/api/v1/events?type=${type}`)
}
badGet("INVALID_ENVIRONMENT", "wrapped", "/api/v1/events?environment=testnet")
badGet("VALIDATION_ERROR", "flat", "/api/v1/merchant/tokens?environment=testnet")
badGet(
  "ENVIRONMENT_FORBIDDEN",
  "wrapped",
  "/api/v1/events?environment=mainnet",
  ({ keys }) => ({ "x-api-key": keys.commerce })
)
for (const query of ["created[gte]=abc", "created[gte]=1&created[gte]=2", "created[gte]=1e30", "type=a&b=%zz"]) {
  badGet("VALIDATION_ERROR", "wrapped", `/api/v1/events?${query}`)
}
badGet("VALIDATION_ERROR", "flat", "/api/v1/invoices?status=open")

// Methods.
for (
  const [family, path, allow] of [
    ["flat", "/api/v1/invoices", /^GET, HEAD, POST$/],
    ["wrapped", "/api/v1/events", /^GET, HEAD$/],
    ["wrapped", "/api/v1/webhooks", /^GET, HEAD, POST$/],
    ["flat", "/api/v1/payments/session-details", /^GET, HEAD, OPTIONS$/]
  ] as const
) {
  for (const method of ["PUT", "DELETE", "PROPFIND"]) {
    rows.push({
      code: "METHOD_NOT_ALLOWED",
      name: `${method} ${path}`,
      family,
      path: () => path,
      sent: (world) => ({ method, headers: merchant(world) }),
      headers: { allow }
    })
  }
}

// The payor.
for (const header of ["x-api-key", "x-commerce-api-key", "authorization"]) {
  badPayor(
    "CREDENTIAL_NOT_ALLOWED",
    `${header} beside the session`,
    "session-details",
    ({ keys }) => ({ headers: { [header]: keys.merchant } })
  )
}
const sessions: ReadonlyArray<readonly [string, (world: World) => Readonly<Record<string, string>>]> = [
  ["no session", () => ({})],
  ["no signature", ({ open }) => ({ "x-session-token": open.session["x-session-token"] })],
  ["no token", ({ open }) => ({ "x-signature": open.session["x-signature"] })],
  [
    "the signature of another invoice",
    ({ open, paid }) => ({ ...open.session, "x-signature": paid.session["x-signature"] })
  ],
  ["flipped case", ({ open }) => ({ ...open.session, "x-signature": open.session["x-signature"].toUpperCase() })],
  ["a shortened signature", ({ open }) => ({ ...open.session, "x-signature": open.session["x-signature"].slice(1) })]
]
for (const [name, headers] of sessions) {
  rows.push({
    code: "SESSION_INVALID",
    name: `payor: ${name}`,
    family: "flat",
    path: () => "/api/v1/payments/payment-status",
    sent: (world) => ({ headers: headers(world) }),
    headers: { "www-authenticate": /PayorSession/ }
  })
}
badPayor("SESSION_EXPIRED", "thirty days after the end", "payment-status", undefined, ({ ended }) => ended)
badPayor("NETWORK_REQUIRED", "mode=network alone", "available-tokens?mode=network")
badPayor("VALIDATION_ERROR", "an unknown mode", "available-tokens?mode=some")
badPayor("VALIDATION_ERROR", "an unknown network", "available-tokens?network=dogechain")
badAddress("VALIDATION_ERROR", "no token", () => ({ network: "base" }))
badAddress("VALIDATION_ERROR", "a token of text", () => ({ network: "base", token_id: "1" }))
badAddress("INVALID_JSON", "no JSON", () => "nonsense")
badAddress(
  "UNSUPPORTED_NETWORK",
  "no such network",
  (tokens) => ({ network: "dogechain", token_id: tokens.get("base USDC") })
)
badAddress(
  "UNSUPPORTED_NETWORK",
  "a network without a driver",
  (tokens) => ({ network: "solana", token_id: tokens.get("solana USDC") })
)
badAddress("TOKEN_NOT_ACCEPTED", "no such token", () => ({ network: "base", token_id: 2_000_000_000 }))
badAddress(
  "TOKEN_NETWORK_MISMATCH",
  "a token of another network",
  (tokens) => ({ network: "base", token_id: tokens.get("optimism USDC") })
)
badAddress(
  "INVOICE_NOT_PAYABLE",
  "a paid invoice",
  (tokens) => ({ network: "base", token_id: tokens.get("base USDC") }),
  ({ paid }) => paid
)
badAddress(
  "ROUTE_LOCKED",
  "another token after a part was paid",
  (tokens) => ({ network: "base", token_id: tokens.get("base ETH") }),
  ({ partial }) => partial
)

rows.push({
  code: "INVOICE_NOT_CANCELABLE",
  name: "cancel a paid invoice",
  family: "flat",
  path: ({ paid }) => `/api/v1/invoices/${paid.id}/cancel`,
  sent: (world) => ({ method: "POST", headers: merchant(world) })
})

// Webhook endpoints, as written (H76 to H84).
const someEvents = { enabled_events: ["invoice.*"] }
for (
  const url of [
    "http://shop.example/hooks",
    "ftp://shop.example/",
    "https://2130706433/",
    "https://0x7f000001/",
    "https://0177.0.0.1/",
    "https://127.1/",
    "https://0/",
    "https://①②⑦.⓪.⓪.①/",
    "https://127。0。0。1/",
    "https://[::1]/",
    "https://[::]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:a9fe:a9fe]/",
    "https://[64:ff9b::7f00:1]/",
    "https://[2002:7f00:1::]/",
    "https://[fe80::1]/",
    "https://[fd00:ec2::254]/",
    "https://[::127.0.0.1]/",
    "https://169.254.169.254/",
    "https://10.0.0.1/",
    "https://172.16.0.1/",
    "https://192.168.1.1/",
    "https://100.64.0.1/",
    "https://198.18.0.1/",
    "https://224.0.0.1/",
    "https://localhost/",
    "https://localhost./",
    "https://foo.localhost/",
    "https://db.internal/",
    "https://intranet/",
    "https://abc.onion/",
    "https://user:pass@shop.example/",
    "https://shop.example/#part",
    "https://shop.example\\@evil/",
    "https://shop.example/\t",
    "https://shop.example:22/",
    "https://shop.example:5432/",
    "https://shop.example:6379/",
    "",
    "nonsense"
  ]
) badWebhook("WEBHOOK_URL_INVALID", JSON.stringify(url), { url, ...someEvents })
const goodUrl = "https://93.184.215.14/hooks"
badWebhook("INVALID_ENVIRONMENT", "an unknown environment", { url: goodUrl, ...someEvents, environment: "testnet" })
badWebhook(
  "ENVIRONMENT_FORBIDDEN",
  "another environment than the key's",
  { url: goodUrl, ...someEvents, environment: "mainnet" }
)
badWebhook("VALIDATION_ERROR", "no events", { url: goodUrl, enabled_events: [] })
badWebhook("VALIDATION_ERROR", "an unknown event", { url: goodUrl, enabled_events: ["invoice.lost"] })
badWebhook("VALIDATION_ERROR", "no address", { enabled_events: ["*"] })
badWebhook("UNAUTHORIZED", "no credentials", { url: goodUrl, ...someEvents }, () => ({}) as never)

for (const path of ["", "/deliveries", "/deliveries?starting_after=nonsense"]) {
  badGet("WEBHOOK_NOT_FOUND", "wrapped", `/api/v1/webhooks/we_${randomUUID()}${path}`)
}
badGet("DELIVERY_NOT_FOUND", "wrapped", `/api/v1/webhooks/deliveries/whd_${randomUUID()}`)
badGet("DELIVERY_NOT_FOUND", "wrapped", "/api/v1/webhooks/deliveries/nonsense")

// Simulated payments.
const badSimulate = (
  code: string,
  name: string,
  key: keyof Keys,
  invoice: (world: World) => string,
  body: (world: World) => unknown,
  of?: "both"
) =>
  rows.push({
    code,
    name: `simulate: ${name}`,
    family: "wrapped",
    path: (world) => `/api/v1/devnet/invoices/${invoice(world)}/simulate`,
    sent: (world) => ({ headers: { "x-api-key": world.keys[key] }, body: body(world) }),
    ...(of === undefined ? {} : { of })
  })
const pay = () => ({ action: "pay" })
badSimulate("SCOPE_MISMATCH", "a commerce key", "commerce", ({ open }) => open.id, pay)
badSimulate("DEVNET_ONLY", "a mainnet key", "mainnet", ({ open }) => open.id, pay, "both")
badSimulate("INVOICE_NOT_FOUND", "another merchant's invoice", "other", ({ open }) => open.id, pay)
badSimulate("INVOICE_NOT_FOUND", "no such invoice", "merchant", () => "nonsense", pay)
badSimulate("VALIDATION_ERROR", "no such action", "merchant", ({ open }) => open.id, () => ({ action: "win" }))
badSimulate("INVOICE_NOT_PAYABLE", "a paid invoice", "merchant", ({ paid }) => paid.id, pay)
badSimulate(
  "UNSUPPORTED_NETWORK",
  "a network that is not simulated",
  "merchant",
  ({ open }) => open.id,
  ({ tokens }) => ({ action: "pay", token_id: tokens.get("solana USDC") })
)
badSimulate(
  "QUOTE_UNAVAILABLE",
  "a token without a price",
  "merchant",
  ({ open }) => open.id,
  ({ tokens }) => ({ action: "pay", token_id: tokens.get("base WETH") })
)
badSimulate("INVALID_TRANSITION", "nothing to drop", "merchant", ({ open }) => open.id, () => ({ action: "drop" }))
badSimulate(
  "INVALID_TRANSITION",
  "nothing to confirm",
  "merchant",
  ({ open }) => open.id,
  () => ({ action: "confirm" })
)
badSimulate(
  "INVALID_TRANSITION",
  "no wrong network",
  "merchant",
  ({ open }) => open.id,
  () => ({ action: "wrong_network" })
)
badSimulate("VALIDATION_ERROR", "no memo there", "merchant", ({ open }) => open.id, () => ({ action: "missing_memo" }))
badSimulate(
  "VALIDATION_ERROR",
  "less than nothing",
  "merchant",
  ({ open }) => open.id,
  () => ({ action: "pay", confirmations: -1 })
)

rows.push({
  code: "DEVNET_ONLY",
  name: "a step of an order: a mainnet key",
  family: "wrapped",
  path: () => "/api/commerce/devnet/orders/6f9619ff-8b86-4011-b42d-00c04fc964ff/simulate",
  sent: (world) => ({ headers: { "x-api-key": world.keys.mainnet }, body: { transition_to: "placed" } }),
  of: "both"
})

// The merchant's clock.
const badAdvance = (code: string, name: string, key: keyof Keys, body: unknown, of?: "both") =>
  rows.push({
    code,
    name: `clock: ${name}`,
    family: "wrapped",
    path: () => "/api/v1/devnet/clock/advance",
    sent: (world) => ({ headers: { "x-api-key": world.keys[key] }, body }),
    ...(of === undefined ? {} : { of })
  })
const badFault = (code: string, name: string, key: keyof Keys, network: string, body: unknown, of?: "both") =>
  rows.push({
    code,
    name: `fault: ${name}`,
    family: "wrapped",
    path: () => `/api/v1/devnet/networks/${network}/fault`,
    sent: (world) => ({ headers: { "x-api-key": world.keys[key] }, body }),
    ...(of === undefined ? {} : { of })
  })
badFault("SCOPE_MISMATCH", "a commerce key", "commerce", "base", { mode: "down" })
badFault("DEVNET_ONLY", "a mainnet key", "mainnet", "base", { mode: "down" }, "both")
badFault("UNSUPPORTED_NETWORK", "a network that nobody follows", "merchant", "solana", { mode: "down" })
badFault("VALIDATION_ERROR", "no such mode", "merchant", "base", { mode: "slow" })
badAdvance("SCOPE_MISMATCH", "a commerce key", "commerce", { seconds: 1 })
badAdvance("DEVNET_ONLY", "a mainnet key", "mainnet", { seconds: 1 }, "both")
for (const seconds of [0, -1, 1.5, 31_536_001, "60", null, undefined]) {
  badAdvance("VALIDATION_ERROR", `seconds ${JSON.stringify(seconds)}`, "merchant", { seconds })
}

// The payor's socket, refused before the upgrade.
const upgrade = {
  connection: "Upgrade",
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ=="
}
rows.push(
  {
    code: "INVALID_FORMAT",
    name: "socket: another format",
    family: "wrapped",
    path: () => "/ws/payment?format=event_v2&token=x",
    sent: () => ({ headers: upgrade })
  },
  {
    code: "TOKEN_INVALID",
    name: "socket: no token",
    family: "wrapped",
    path: () => "/ws/payment",
    sent: () => ({ headers: upgrade })
  },
  {
    code: "TOKEN_INVALID",
    name: "socket: a wrong token",
    family: "wrapped",
    path: () => "/ws/payment?token=a.b.c",
    sent: () => ({ headers: upgrade })
  },
  {
    code: "CREDENTIAL_NOT_ALLOWED",
    name: "socket: a merchant's key",
    family: "wrapped",
    path: () => "/ws/payment?token=a.b.c",
    sent: (world) => ({ headers: { ...upgrade, ...merchant(world) } })
  }
)

badGet("QUOTE_NOT_FOUND", "wrapped", `/api/v1/quotes/quo_${randomUUID()}`)

const covered = new Set(rows.map(({ code }) => code))

/** The exact body of a family, its headers, and nothing of our insides. */
const assertError = (row: Pick<Row, "code" | "family" | "headers">, found: TestResponse) => {
  const { headers, json, status, text } = found
  assert.deepStrictEqual([status, json?.code ?? json?.error?.code], [statusOfCode.get(row.code), row.code], text)
  if (row.family === "flat") {
    assert.deepStrictEqual(Object.keys(json), ["error", "code"])
    assert.isString(json.error)
  } else {
    assert.deepStrictEqual(Object.keys(json), ["success", "error"])
    assert.deepStrictEqual(Object.keys(json.error), ["code", "message", "param", "details", "request_id"])
    assert.isFalse(json.success)
    assert.strictEqual(json.error.request_id, headers["x-request-id"])
  }
  assert.match(headers["x-request-id"] as string, /^req_[0-9a-f-]{36}$/)
  assert.strictEqual(headers["x-service-version"], newestVersion)
  assert.notMatch(text, /\n\s+at |node:|\.ts\b|node_modules|postgres|SqlError|select /i)
  for (const [name, pattern] of Object.entries(row.headers ?? {})) assert.match(String(headers[name]), pattern)
}

layer(Desk.layer, { excludeTestServices: true })("every error of the reference", (it) => {
  for (const row of rows) {
    it.effect(`${row.code}: ${row.name}`.slice(0, 160), () =>
      Effect.gen(function*() {
        const world = yield* Desk
        const found = yield* world[row.of ?? "service"].call(row.path(world), row.sent?.(world))
        assertError(row, found)
      }))
  }

  it.effect("INVALID_VERSION, UNAUTHORIZED and SESSION_INVALID guard every route there is", () =>
    Effect.gen(function*() {
      const { service } = yield* Desk
      const document = (yield* service.call("/openapi.json")).json
      const bodies = new Map<string, string>()
      for (const [path, item] of Object.entries<any>(document.paths)) {
        for (const method of ["get", "post", "put", "patch", "delete"].filter((name) => item[name] !== undefined)) {
          // Probes and metrics are the operator's: they have no versions, and a token of their own.
          if (item[method].tags.includes("operations")) continue
          const isPayor = path.startsWith("/api/v1/payments/")
          const isFlat = isPayor || /^\/api\/v1\/(invoices|invoice-payments|merchant)\b/.test(path)
          const family = isFlat ? "flat" : "wrapped"
          const concrete = path.replaceAll(/\{\w+\}/g, "x")
          const versioned = yield* service.call(
            concrete,
            { method: method.toUpperCase(), headers: { "x-service-version": "1" } }
          )
          assertError({ code: "INVALID_VERSION", family }, versioned)
          // Sign-in and documents ask for no credential.
          if ((item[method].security ?? []).length === 0) continue
          const bare = yield* service.call(concrete, { method: method.toUpperCase() })
          const code = isPayor ? "SESSION_INVALID" : "UNAUTHORIZED"
          assertError({ code, family, headers: { "www-authenticate": /realm/ } }, bare)
          const body = bare.text.replace(/req_[0-9a-f-]{36}/, "")
          assert.strictEqual(body, bodies.get(code + family) ?? body, "the same body everywhere")
          bodies.set(code + family, body)
        }
      }
      assert.strictEqual(bodies.size, 3)
    }))

  it.effect("another merchant's things are as unknown as those that never were", () =>
    Effect.gen(function*() {
      const { eventId, keys, open, service } = yield* Desk
      const other = { "x-api-key": keys.other }
      const masked = ({ text }: TestResponse) => text.replaceAll(/req_[0-9a-f-]{36}/g, "")
      const alike = Effect.fnUntraced(function*(real: string, unknown: string, sent: TestRequest) {
        const [found, never] = [yield* service.call(real, sent), yield* service.call(unknown, sent)]
        assert.deepStrictEqual([found.status, masked(found)], [never.status, masked(never)], real)
        return found
      })
      const [ms, seq] = eventId.slice(4).split("-").map(BigInt) as [bigint, bigint]
      for (
        const [real, unknown] of [
          [`/api/v1/events/${eventId}`, "/api/v1/events/evt_1700000000000-1"],
          [`/api/v1/events/evt_${ms}-${seq + 1n}`, "/api/v1/events/evt_1700000000000-1"],
          [`/api/v1/invoices/${open.id}`, `/api/v1/invoices/${randomUUID()}`],
          ["/api/v1/invoices/cust_a", "/api/v1/invoices/cust_nobody"]
        ] as const
      ) assert.strictEqual((yield* alike(real, unknown, { headers: other })).status, 404)
      yield* alike(
        `/api/v1/invoices/${open.id}/cancel`,
        `/api/v1/invoices/${randomUUID()}/cancel`,
        { method: "POST", headers: other }
      )
      yield* alike(
        `/api/v1/devnet/invoices/${open.id}/simulate`,
        `/api/v1/devnet/invoices/${randomUUID()}/simulate`,
        { headers: other, body: { action: "pay" } }
      )
      const byId = [`invoice_id=${open.id}`, "customer_id=cust_a"]
      for (const query of [...byId, `starting_after=${eventId}`, `ending_before=${eventId}`]) {
        const { data } = assertStatus(200, yield* service.call(`/api/v1/events?${query}`, { headers: other })).data
        assert.deepStrictEqual(data, [], query)
      }
      const list = assertStatus(200, yield* service.call("/api/v1/invoices?customer_id=cust_a", { headers: other }))
      assert.deepStrictEqual([list.data, list.total], [[], 0])
    }))

  it.effect("an owner named in the body is not believed, and a commerce key reads no standard invoice", () =>
    Effect.gen(function*() {
      const { keys, open, service } = yield* Desk
      const { merchant_id } = yield* service.keys
      const made = yield* service.call("/api/v1/invoices", {
        headers: { "x-api-key": keys.other, "idempotency-key": randomUUID() },
        body: { amount: 1_000, merchant_id }
      })
      assert.notStrictEqual(assertStatus(200, made).invoice.merchant_id, merchant_id)
      const read = yield* service.call(`/api/v1/invoices/${open.id}`, { headers: { "x-api-key": keys.commerce } })
      assertError({ code: "INVOICE_NOT_FOUND", family: "flat" }, read)
      const events = yield* service.call("/api/v1/events", { headers: { "x-commerce-api-key": keys.commerce } })
      assert.deepStrictEqual(assertStatus(200, events).data.data, [])
    }))

  it.effect("a prototype in the body is data", () =>
    Effect.gen(function*() {
      const world = yield* Desk
      const metadata = "\"metadata\":{\"__proto__\":{\"admin\":true},\"constructor\":{\"prototype\":1}}"
      const made = yield* world.service.call("/api/v1/invoices", {
        headers: { ...merchant(world), "idempotency-key": randomUUID() },
        body: `{"amount":1e3,"__proto__":{"admin":true},${metadata}}`
      })
      assert.include(
        assertStatus(200, made).text ?? made.text,
        "\"metadata\":{\"__proto__\":{\"admin\":true},\"constructor\":{\"prototype\":1}}"
      )
    }))

  it.effect("a key is one request: reordered the same, changed IDEMPOTENCY_KEY_REUSED, another merchant's free", () =>
    Effect.gen(function*() {
      const { keys, service } = yield* Desk
      const create = (key: string, apiKey: string, body: unknown) =>
        service.call("/api/v1/invoices", { headers: { "x-api-key": apiKey, "idempotency-key": key }, body })
      const first = yield* create("same", keys.merchant, "{\"amount\":1000,\"metadata\":{\"a\":1,\"b\":2}}")
      const again = yield* create("\"same\"", keys.merchant, "{ \"metadata\": {\"b\":2,\"a\":1.0}, \"amount\": 1e3 }")
      assert.strictEqual(again.text, first.text)
      assert.strictEqual(again.headers["idempotent-replayed"], "true")
      assertError(
        { code: "IDEMPOTENCY_KEY_REUSED", family: "flat" },
        yield* create("same", keys.merchant, { amount: 1_001 })
      )
      const rival = yield* create("same", keys.other, "{\"amount\":1000,\"metadata\":{\"a\":1,\"b\":2}}")
      assert.notStrictEqual(assertStatus(200, rival).invoice_id, first.json.invoice_id)
      covered.add("IDEMPOTENCY_KEY_REUSED")
    }))

  it.effect("a repeat of a request that is still running waits, then is told IDEMPOTENCY_REQUEST_IN_PROGRESS", () =>
    Effect.gen(function*() {
      const { keys, service, sql } = yield* Desk
      const create = service.call("/api/v1/webhooks", {
        headers: { "x-api-key": keys.merchant, "idempotency-key": "stalled" },
        body: { url: goodUrl, ...someEvents }
      })
      const first = yield* sql.withTransaction(Effect.gen(function*() {
        yield* sql`LOCK TABLE webhook_counts IN ACCESS EXCLUSIVE MODE`
        const running = yield* Effect.forkChild(create)
        yield* Effect.sleep(200)
        assertError(
          { code: "IDEMPOTENCY_REQUEST_IN_PROGRESS", family: "wrapped", headers: { "retry-after": /^1$/ } },
          yield* create
        )
        covered.add("IDEMPOTENCY_REQUEST_IN_PROGRESS")
        return running
      })).pipe(Effect.orDie)
      const made = yield* Fiber.join(first)
      assertStatus(200, made)
      assert.strictEqual((yield* create).text, made.text)
    }))

  it.effect("TOKEN_EXPIRED: a payor's token of long ago", () =>
    Effect.gen(function*() {
      const { open, service } = yield* Desk
      const secrets = yield* Effect.orDie(fromMasters([Buffer.from(masterKey, "hex")]))
      // The test clock stands at the epoch.
      const { token } = yield* PayorTickets.mint({ invoiceId: open.id, merchantId: 1 }).pipe(
        Effect.provideService(Secrets, secrets),
        Effect.provide(TestClock.layer())
      )
      const found = yield* service.call(`/ws/payment?token=${token}`, { headers: upgrade })
      assertError({ code: "TOKEN_EXPIRED", family: "wrapped" }, found)
      covered.add("TOKEN_EXPIRED")
    }))

  it.effect("WEBHOOK_LIMIT_REACHED: the seventeenth endpoint, whatever raced for the sixteenth", () =>
    Effect.gen(function*() {
      const { keys, service } = yield* Desk
      const add = service.call(
        "/api/v1/webhooks",
        { headers: { "x-api-key": keys.other }, body: { url: goodUrl, ...someEvents } }
      )
      const found = yield* Effect.all(Array.from({ length: 20 }, () => add), { concurrency: 20 })
      assert.lengthOf(found.filter(({ status }) => status === 200), 16)
      for (const one of found.filter(({ status }) => status !== 200)) {
        assertError(
          { code: "WEBHOOK_LIMIT_REACHED", family: "wrapped" },
          one
        )
      }
      covered.add("WEBHOOK_LIMIT_REACHED")
    }))

  it.effect("INVALID_TRANSITION: an operator retries a payment that needs none", () =>
    Effect.gen(function*() {
      const { paid, service, sql } = yield* Desk
      const [payment] = yield* Effect.orDie(
        sql<{ id: string }>`SELECT id FROM invoice_payments WHERE invoice_id = ${paid.id}`
      )
      const retried = yield* Effect.flatMap(RpcClient.make(PaymentsRpc), (client) =>
        client["payments.retry"]({ payment_id: payment!.id as never })).pipe(
          Effect.flip,
          Effect.scoped,
          Effect.provide(InternalRpc.layer({ url: service.rpcUrl, token: Redacted.make(rpcToken) }))
        )
      assert.include(retried, { _tag: "PublicError", code: "INVALID_TRANSITION" })
      covered.add("INVALID_TRANSITION")
    }))

  it.effect("no request of this file was a fault of ours: nothing above a warning was logged", () =>
    Effect.gen(function*() {
      const { both, service } = yield* Desk
      assert.deepStrictEqual([...service.errors(), ...both.errors()], [])
    }))

  it.effect("every code is tested here, or the list says why it cannot be", () =>
    Effect.sync(() => {
      const known = errorCodes as ReadonlyArray<string>
      const excused = { ...unreachable, ...elsewhere }
      assert.deepStrictEqual(known.filter((code) => !covered.has(code) && !(code in excused)), [])
      assert.deepStrictEqual(Object.keys(excused).filter((code) => covered.has(code) || !known.includes(code)), [])
      for (const [code, file] of Object.entries(elsewhere)) {
        assert.include(readFileSync(new URL(`../${file}`, import.meta.url), "utf8"), code, file)
      }
      for (const code of errorCodes) assert.strictEqual(statusOf(code), statusOfCode.get(code), code)
    }))
})
