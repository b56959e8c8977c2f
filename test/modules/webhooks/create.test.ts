/** `POST /api/v1/webhooks` through the real router, middlewares and commit log. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as Actors from "../../../runtime/Actors.ts"
import { Credentials } from "../../../runtime/Http.ts"
import { Secrets } from "../../../runtime/Secrets.ts"
import { WebhooksApi } from "../../../modules/webhooks/api.ts"
import { migrations, tables } from "../../../modules/webhooks/migrations.ts"
import { plugin } from "../../../modules/webhooks/plugin.ts"
import type { Principal } from "../../../schemas/Auth.ts"
import { newestVersion } from "../../../schemas/Version.ts"
import { type Answer, Api, apiLayer, kernel } from "../../support/Api.ts"
import { deliverer } from "../../runtime/webhooks/Delivery.ts"
import { settingsOf } from "../../support/WebhookSettings.ts"
import { Settings } from "../../../runtime/Settings.ts"
import { operatorKey, solePerson } from "../../fixtures/authorities.ts"

/** `<merchant>`, or `<merchant>c` for its commerce key. */
const verify = (key: string) => {
  const [, merchant, commerce] = /^(\d+)(c?)$/.exec(key) ?? []
  return Effect.succeed(
    merchant === undefined
      ? null
      : {
        merchantId: Number.parseInt(merchant, 10),
        environment: "devnet",
        scope: commerce === "c" ? "commerce" : "merchant",
        kind: "key",
        credential: "key_1",
        apiVersion: newestVersion,
        ...operatorKey
      } as Principal
  )
}

const routes = Layer.mergeAll(
  plugin.layer(undefined as never),
  Layer.effectDiscard(Effect.flatMap(Credentials, (credentials) => credentials.register(verify))),
  Layer.effectDiscard(
    Effect.flatMap(
      Credentials,
      (credentials) =>
        credentials.registerBearer((token) =>
          Effect.map(verify(token), (principal) => ({ ...principal!, ...solePerson, kind: "wallet" as const }))
        )
    )
  )
)

const served = apiLayer(
  [WebhooksApi],
  routes as never,
  Layer.mergeAll(deliverer(settingsOf(["localhost:4000"])), Actors.layer).pipe(
    Layer.provideMerge(kernel(
      [{ name: "webhooks", migrations, tables }],
      Layer.succeed(Settings, settingsOf(["localhost:4000"]))
    ))
  )
) as unknown as Layer.Layer<Api | SqlClient.SqlClient | Secrets>

const create = (merchant: string, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  Effect.flatMap(Api, ({ call }) => call("/api/v1/webhooks", { headers: { "x-api-key": merchant, ...headers }, body }))

const wanted = { url: "http://localhost:4000/hooks", enabled_events: ["invoice.*"] }

const refused = (answer: Answer, status: number, code: string, param: string | null = null) => {
  assert.deepStrictEqual([answer.status, answer.json.success, answer.json.error.code], [status, false, code])
  assert.strictEqual(answer.json.error.param, param)
}

layer(served)("creating a webhook endpoint", (it) => {
  it.effect("answers with the endpoint as published, and the secret that only the database has sealed", () =>
    Effect.gen(function*() {
      const answer = yield* create("1", {
        ...wanted,
        enabled_events: ["invoice.*", "invoice.*", "*"],
        description: "d"
      })
      assert.strictEqual(answer.status, 200)
      assert.deepStrictEqual(Object.keys(answer.json.data), [
        "id",
        "object",
        "url",
        "status",
        "enabled_events",
        "environment",
        "api_version",
        "description",
        "secret",
        "ordered",
        "previous_secret_expires_at",
        "consecutive_failures",
        "disabled_reason",
        "created_at",
        "updated_at"
      ])
      const { created_at, id, secret, updated_at, ...rest } = answer.json.data
      assert.deepStrictEqual(rest, {
        object: "webhook_endpoint",
        url: wanted.url,
        status: "enabled",
        enabled_events: ["invoice.*", "*"],
        environment: "devnet",
        api_version: newestVersion,
        description: "d",
        ordered: false,
        previous_secret_expires_at: null,
        consecutive_failures: 0,
        disabled_reason: null
      })
      assert.match(id, /^we_[0-9a-f-]{36}$/)
      assert.strictEqual(created_at, updated_at)
      assert.strictEqual(Buffer.from(secret.slice("whsec_".length), "base64").length, 32)
      const sql = yield* SqlClient.SqlClient
      const [row] = yield* sql<any>`SELECT * FROM webhook_endpoints WHERE id = ${id}`
      assert.notInclude(JSON.stringify(row, (_, value) => typeof value === "bigint" ? String(value) : value), secret)
      assert.strictEqual((yield* Secrets).open("webhook", row.sealed_secret), secret)
    }))

  it.effect("pins the version asked for, else the caller's", () =>
    Effect.gen(function*() {
      const pinned = (body: object, headers?: Record<string, string>) =>
        Effect.map(create("9", { ...wanted, ...body }, headers), (answer) => answer.json.data.api_version)
      const old = { "x-service-version": "2026-01-15" }
      assert.strictEqual(yield* pinned({}), newestVersion)
      assert.strictEqual(yield* pinned({}, old), "2026-01-15")
      assert.strictEqual(yield* pinned({ api_version: "2026-01-15" }), "2026-01-15")
      assert.strictEqual(yield* pinned({ api_version: newestVersion }, old), newestVersion)
    }))

  it.effect("repeats the same answer, secret included, for the same idempotency key, and makes one endpoint", () =>
    Effect.gen(function*() {
      const answers = yield* Effect.all(
        Array.from({ length: 5 }, () => create("2", wanted, { "idempotency-key": "k" })),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(new Set(answers.map(({ text }) => text)).size, 1)
      refused(
        yield* create("2", { ...wanted, description: "x" }, { "idempotency-key": "k" }),
        422,
        "IDEMPOTENCY_KEY_REUSED"
      )
      const sql = yield* SqlClient.SqlClient
      const [count] = yield* sql<any>`SELECT count(*) AS n FROM webhook_endpoints WHERE merchant_id = 2`
      assert.strictEqual(count.n, 1n)
    }))

  it.effect("stops at sixteen, whoever asks at the same time", () =>
    Effect.gen(function*() {
      const answers = yield* Effect.all(Array.from({ length: 30 }, () => create("3", wanted)), {
        concurrency: "unbounded"
      })
      assert.strictEqual(answers.filter(({ status }) => status === 200).length, 16)
      for (const answer of answers) if (answer.status !== 200) refused(answer, 409, "WEBHOOK_LIMIT_REACHED")
    }))

  it.effect("binds the endpoint to the key's environment and scope", () =>
    Effect.gen(function*() {
      refused(yield* create("4", { ...wanted, environment: "mainnet" }), 403, "ENVIRONMENT_FORBIDDEN", "environment")
      refused(yield* create("4", { ...wanted, environment: "testnet" }), 400, "INVALID_ENVIRONMENT", "environment")
      for (const environment of ["devnet", null]) {
        assert.strictEqual((yield* create("4", { ...wanted, environment })).json.data.environment, "devnet")
      }
      const { json } = yield* create("4c", wanted)
      const sql = yield* SqlClient.SqlClient
      const rows = yield* sql<any>`SELECT id FROM webhook_endpoints WHERE merchant_id = 4 AND commerce_only`
      assert.deepStrictEqual(rows.map(({ id }) => id), [json.data.id])
    }))

  it.effect("lets a wallet, and nobody else, listen to both environments, or name another that is served", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const byWallet = (body: object) =>
        call("/api/v1/webhooks", { headers: { authorization: "Bearer 6" }, body: { ...wanted, ...body } })
      assert.isNull((yield* byWallet({ environment: null })).json.data.environment)
      assert.strictEqual((yield* byWallet({})).json.data.environment, "devnet")
      assert.strictEqual((yield* byWallet({ environment: "devnet" })).json.data.environment, "devnet")
      refused(yield* byWallet({ environment: "mainnet" }), 403, "MAINNET_NOT_ENABLED", "environment")
      refused(yield* byWallet({ environment: "both" }), 400, "INVALID_ENVIRONMENT", "environment")
      const sql = yield* SqlClient.SqlClient
      const rows = yield* sql<any>`SELECT environment FROM webhook_endpoints WHERE merchant_id = 6 ORDER BY environment`
      assert.deepStrictEqual(rows.map(({ environment }) => environment), ["devnet", "devnet", null])
    }))

  it.effect("refuses events that do not exist, other versions, bad URLs and missing fields", () =>
    Effect.gen(function*() {
      const never = [
        "invoice",
        "invoice.pa*",
        "order.*",
        "**",
        "invoice.paid ",
        "test.*",
        "payment_quote.*",
        "payment_quote.updated"
      ]
      for (const filter of never) {
        refused(
          yield* create("5", { ...wanted, enabled_events: ["*", filter] }),
          400,
          "VALIDATION_ERROR",
          "enabled_events.1"
        )
      }
      for (const filter of ["*", "invoice.paid", "invoice_payment.*", "commerce.order.*", "commerce.*", "test.ping"]) {
        assert.strictEqual((yield* create("5", { ...wanted, enabled_events: [filter] })).status, 200)
      }
      refused(yield* create("5", { ...wanted, api_version: "2020-01-01" }), 400, "INVALID_VERSION", "api_version")
      for (const url of ["http://shop.example/", "https://127.0.0.1/", "https://redis/", "nonsense"]) {
        refused(yield* create("5", { ...wanted, url }), 400, "WEBHOOK_URL_INVALID", "url")
      }
      refused(yield* create("5", { url: wanted.url }), 400, "VALIDATION_ERROR", "enabled_events")
      refused(yield* create("5", { ...wanted, enabled_events: [] }), 400, "VALIDATION_ERROR", "enabled_events")
      refused(yield* create("nobody", wanted), 401, "API_KEY_INVALID")
    }))
})
