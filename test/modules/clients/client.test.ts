/**
 * Goal: the client on Effect says what the service says, sends what it was given, and outlives the service's next
 * version. Method: an HTTP client that answers from memory and keeps what it was asked.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"
import { IdempotencyKey, make } from "../../../modules/clients/client.ts"
import { PublicError } from "../../../schemas/Errors.ts"

/** Answers everything with this error, and keeps the requests. */
const refusing = (status: number, body: unknown) => {
  const asked: Array<HttpClientRequest.HttpClientRequest> = []
  const client = HttpClient.make((request) => {
    asked.push(request)
    return Effect.succeed(HttpClientResponse.fromWeb(request, Response.json(body, { status })))
  })
  return { asked, client }
}

const options = { baseUrl: "https://pay.test", apiKey: Redacted.make("mk_dev_test"), version: "2026-01-15" }
const create = { query: {}, payload: { amount_usd: 5 } }

describe("the client on Effect", () => {
  it.effect("sends the credential, the version, and an Idempotency-Key with every write", () =>
    Effect.gen(function*() {
      const { asked, client } = refusing(409, { error: "No", code: "INVOICE_NOT_CANCELABLE" })
      const tillwire = yield* Effect.provideService(make(options), HttpClient.HttpClient, client)
      yield* Effect.flip(tillwire.invoices.create(create))
      yield* Effect.flip(tillwire.invoices.create(create))
      yield* Effect.flip(Effect.provideService(tillwire.invoices.create(create), IdempotencyKey, "mine"))
      yield* Effect.flip(tillwire.invoices.list({ query: {} }))
      const keys = asked.map(({ headers }) => headers["idempotency-key"])
      assert.match(keys[0] ?? "", /^[0-9a-f-]{36}$/)
      assert.notStrictEqual(keys[0], keys[1])
      assert.deepStrictEqual(keys.slice(2), ["mine", undefined])
      for (const { headers } of asked) {
        assert.deepStrictEqual([headers["x-api-key"], headers["x-service-version"]], ["mk_dev_test", "2026-01-15"])
      }
    }))

  it.effect("fails with the service's code, and keeps one that only a newer service knows", () =>
    Effect.gen(function*() {
      const failure = (status: number, body: unknown) =>
        Effect.gen(function*() {
          const tillwire = yield* Effect.provideService(
            make(options),
            HttpClient.HttpClient,
            refusing(status, body).client
          )
          const error = yield* Effect.flip(tillwire.invoices.create(create))
          assert.instanceOf(error, PublicError)
          return error as PublicError
        })
      const known = yield* failure(400, { error: "Too much", code: "INVALID_AMOUNT_RANGE" })
      assert.deepStrictEqual([known.code, known.message], ["INVALID_AMOUNT_RANGE", "Too much"])
      const newer = yield* failure(400, { error: "Later", code: "OF_ANOTHER_YEAR" })
      assert.deepStrictEqual([newer.message, newer.details], ["OF_ANOTHER_YEAR: Later", { code: "OF_ANOTHER_YEAR" }])
    }))
})
