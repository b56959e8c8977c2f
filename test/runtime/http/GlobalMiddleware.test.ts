import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { maximumBodyBytes } from "../../../runtime/http/Body.ts"
import {
  errorCodes,
  ErrorFamily,
  FlatErrorBody,
  meaningOf,
  statusOf,
  WrappedErrorBody
} from "../../../schemas/Errors.ts"
import { newestVersion } from "../../../schemas/Version.ts"
import { type Answer, Api, apiLayer, kernel } from "../../support/Api.ts"
import { things, ThingsApi, thingsLayer } from "./ThingsPlugin.ts"

const served = apiLayer([ThingsApi], thingsLayer, kernel([things]))

const key = { "x-api-key": "merchant-a" }
const exact = { onExcessProperty: "error" } as const

/** Fails unless the body is exactly what its family allows. */
const expectError = (answer: Answer, family: ErrorFamily, code: string) => {
  if (family === "flat") {
    Schema.decodeUnknownSync(FlatErrorBody, exact)(answer.json)
    assert.strictEqual(answer.json.code, code)
  } else {
    Schema.decodeUnknownSync(WrappedErrorBody, exact)(answer.json)
    assert.strictEqual(answer.json.error.code, code)
    assert.strictEqual(answer.json.error.request_id, answer.headers.get("x-request-id"))
  }
  assert.strictEqual(answer.status, statusOf(code as never))
  assert.strictEqual(answer.headers.get("cache-control"), "no-store")
  assert.strictEqual(answer.headers.get("x-service-version"), newestVersion)
}

layer(served as Layer.Layer<Api>)("the door", (it) => {
  it.effect("every public error leaves through both families with its status, meaning and headers", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      for (const code of errorCodes) {
        for (const [family, group] of [["wrapped", "things"], ["flat", "flat-things"]] as const) {
          const answer = yield* call(`/api/v1/${group}/fail/${code}`, { headers: key })
          expectError(answer, family, code)
          assert.include(answer.text, JSON.stringify(meaningOf(code)).slice(1, -1))
          assert.strictEqual(answer.headers.get("retry-after"), "3")
          assert.strictEqual(answer.headers.has("www-authenticate"), answer.status === 401)
        }
      }
    }))

  it.effect("a request id is the caller's when well formed and ours otherwise, on every response", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      for (const sent of ["a", "Order_12-x", "x".repeat(64)]) {
        const answer = yield* call("/api/v1/things", { headers: { ...key, "x-request-id": sent } })
        assert.strictEqual(answer.headers.get("x-request-id"), sent)
        assert.strictEqual(answer.json.requestId, sent)
      }
      for (const sent of ["", "a b", "é", "x".repeat(65), "a;b", "a,b"]) {
        const answer = yield* call("/nowhere", { headers: sent === "é" ? {} : { "x-request-id": sent } })
        assert.match(answer.headers.get("x-request-id")!, /^req_[0-9a-f-]{36}$/)
      }
    }))

  it.effect("an unknown path is a wrapped 404, a known path with another method a 405 with Allow in its family", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      for (
        const path of [
          "/",
          "/api",
          "/api/v1",
          "/api/v1/thing",
          "/api/v1/flat-things/a/b/c/d",
          "/api/v1/things/%2e%2e%2f"
        ]
      ) {
        expectError(yield* call(path, { headers: key }), "wrapped", "NOT_FOUND")
      }
      const wrapped = yield* call("/api/v1/things", { method: "DELETE", headers: key })
      expectError(wrapped, "wrapped", "METHOD_NOT_ALLOWED")
      assert.strictEqual(wrapped.headers.get("allow"), "GET, HEAD, POST")
      const flat = yield* call("/api/v1/flat-things", { method: "GET", headers: key })
      expectError(flat, "flat", "METHOD_NOT_ALLOWED")
      assert.strictEqual(flat.headers.get("allow"), "POST")
      for (const method of ["PUT", "PATCH", "OPTIONS", "PROPFIND"]) {
        expectError(yield* call("/api/v1/flat-things", { method }), "flat", "METHOD_NOT_ALLOWED")
      }
      assert.strictEqual((yield* call("/api/v1/things", { method: "HEAD", headers: key })).status, 200)
    }))

  it.effect("a body of the wrong type, encoding or size is refused before it is read", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const refuse = (headers: Record<string, string>, code: string) =>
        Effect.gen(function*() {
          const sent = { body: "{}", headers: { ...key, ...headers } }
          expectError(yield* call("/api/v1/things/echo", sent), "wrapped", code)
          expectError(yield* call("/api/v1/flat-things", sent), "flat", code)
        })
      for (
        const type of [
          "text/plain",
          "application/x-www-form-urlencoded",
          "application/json; charset=utf-7",
          "application/json; charset=utf-16",
          "application/jsonx",
          "application/json; a=b",
          "x".repeat(5000),
          ""
        ]
      ) {
        yield* refuse({ "content-type": type }, "UNSUPPORTED_MEDIA_TYPE")
      }
      for (const encoding of ["gzip", "br", "gzip, gzip"]) {
        yield* refuse({ "content-encoding": encoding }, "UNSUPPORTED_MEDIA_TYPE")
      }
      yield* refuse({ "content-length": String(maximumBodyBytes + 1) }, "PAYLOAD_TOO_LARGE")
      for (
        const type of ["application/json", "application/json;charset=utf-8", "Application/JSON ; Charset=\"UTF-8\""]
      ) {
        const answer = yield* call("/api/v1/things/echo", { body: { a: 1 }, headers: { ...key, "content-type": type } })
        assert.strictEqual(answer.text, "{\"a\":1}")
      }
    }))

  it.effect("a body one byte over the limit is refused also when its length was not announced", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const chunked = { "transfer-encoding": "chunked", "content-length": "" }
      const body = (size: number) => JSON.stringify("x".repeat(size - 2))
      const over = yield* call("/api/v1/things/echo", {
        body: body(maximumBodyBytes + 1),
        headers: { ...key, ...chunked }
      })
      expectError(over, "wrapped", "PAYLOAD_TOO_LARGE")
      const within = yield* call("/api/v1/things/echo", { body: body(maximumBodyBytes), headers: key })
      assert.strictEqual(within.text.length, maximumBodyBytes)
    }))

  it.effect("a body that is not JSON, too deep, or not storable is the caller's fault, after credentials", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`
      const cases: ReadonlyArray<readonly [string | Uint8Array, string]> = [
        ["{", "INVALID_JSON"],
        ["\ufeff{}", "INVALID_JSON"],
        ["NaN", "INVALID_JSON"],
        [new Uint8Array([0x22, 0xc3, 0x28, 0x22]), "INVALID_JSON"],
        [Buffer.from("{\"a\":1}", "utf16le"), "INVALID_JSON"],
        [nested(33), "VALIDATION_ERROR"],
        ["[".repeat(200_000), "VALIDATION_ERROR"],
        ["\"\\u0000\"", "VALIDATION_ERROR"],
        ["{\"a\\u0000\":1}", "VALIDATION_ERROR"],
        ["\"\\ud800\"", "VALIDATION_ERROR"],
        ["\"\\udc00\\ud800\"", "VALIDATION_ERROR"],
        ["\"\\ud83d\\u0041\"", "VALIDATION_ERROR"]
      ]
      for (const [body, code] of cases) {
        expectError(yield* call("/api/v1/things/echo", { body, headers: key }), "wrapped", code)
        const headers = { ...key, "idempotency-key": "k" }
        expectError(yield* call("/api/v1/flat-things", { body, headers }), "flat", code)
        expectError(yield* call("/api/v1/flat-things", { body }), "flat", "UNAUTHORIZED")
      }
      const kept = ["\"\\ud83d\\ude00\"", "\"\\\\u0000\"", nested(32), "{\"__proto__\":{\"admin\":true}}", "\"[[{{\""]
      for (const body of kept) {
        const answer = yield* call("/api/v1/things/echo", { body, headers: key })
        assert.deepStrictEqual(JSON.stringify(answer.json), JSON.stringify(JSON.parse(body)))
      }
      assert.strictEqual(({} as { admin?: boolean }).admin, undefined)
    }))

  it.effect("a schema's refusal names the field, carries the parameter's code, and never repeats the value", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      for (const limit of ["0", "-1", "101", "1e9", "abc", "1,2", "1&limit=2", "", "1.5", "0x1z"]) {
        const answer = yield* call(`/api/v1/things?limit=${limit}`, { headers: key })
        expectError(answer, "wrapped", "INVALID_LIMIT")
        assert.strictEqual(answer.json.error.param, "limit")
      }
      const headers = { ...key, "idempotency-key": "k" }
      const body = { id: "x", amount: "hunter2" }
      const wrapped = yield* call("/api/v1/things", { body, headers })
      expectError(wrapped, "wrapped", "VALIDATION_ERROR")
      assert.strictEqual(wrapped.json.error.param, "amount")
      const flat = yield* call("/api/v1/flat-things", { body, headers })
      expectError(flat, "flat", "VALIDATION_ERROR")
      assert.notInclude(flat.text + wrapped.text, "hunter2")
    }))

  it.effect("a bug is a 500 that tells nothing of our insides", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const answer = yield* call("/api/v1/things/fail/defect", { headers: key })
      expectError(answer, "wrapped", "INTERNAL_ERROR")
      assert.notInclude(answer.text, "secret")
    }))

  it.effect("a request is answered in the version it names, else in its key's, else in the newest, and told which", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const versionOf = (path: string, headers: Record<string, string>) =>
        Effect.map(call(path, { headers }), (answer) => answer.headers.get("x-service-version"))
      const pinned = { "x-api-key": "pinned-a" }
      const old = { "x-service-version": "2026-01-15" }
      assert.strictEqual(yield* versionOf("/api/v1/things", key), newestVersion)
      assert.strictEqual(yield* versionOf("/api/v1/things", { ...key, ...old }), "2026-01-15")
      assert.strictEqual(yield* versionOf("/api/v1/things", pinned), "2026-01-15")
      assert.strictEqual(
        yield* versionOf("/api/v1/things", { ...pinned, "x-service-version": newestVersion }),
        newestVersion
      )
      assert.strictEqual(yield* versionOf("/api/v1/things?limit=0", pinned), "2026-01-15")
      assert.strictEqual(yield* versionOf("/api/v1/things", old), "2026-01-15")
      assert.strictEqual(yield* versionOf("/api/v1/things", {}), newestVersion)
      assert.strictEqual(yield* versionOf("/api/v1/open-things", old), "2026-01-15")
      assert.strictEqual(yield* versionOf("/nowhere", old), "2026-01-15")
    }))

  it.effect("only the versions of the API may be asked for, and NUL is not taken in a URL", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const at = (version: string) => call("/api/v1/things", { headers: { ...key, "x-service-version": version } })
      for (const version of ["2026-01-16", "latest", ""]) expectError(yield* at(version), "wrapped", "INVALID_VERSION")
      expectError(yield* call("/api/v1/things?q=%00", { headers: key }), "wrapped", "VALIDATION_ERROR")
      expectError(yield* call("/api/v1/flat-things/fail/%00", { headers: key }), "flat", "VALIDATION_ERROR")
    }))

  it.effect("only groups that say so may be called from pages of any origin", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const origin = { origin: "https://shop.example" }
      const open = yield* call("/api/v1/open-things", { headers: origin })
      assert.strictEqual(open.headers.get("access-control-allow-origin"), "*")
      assert.isFalse(open.headers.has("access-control-allow-credentials"))
      const asked = yield* call("/api/v1/open-things", { method: "OPTIONS", headers: origin })
      assert.strictEqual(asked.status, 204)
      assert.include(asked.headers.get("access-control-allow-headers")!, "x-session-token")
      const closed = yield* call("/api/v1/things", { headers: { ...key, ...origin } })
      assert.isFalse(closed.headers.has("access-control-allow-origin"))
    }))

  it.effect("credentials resolve as the API reference says", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const long = "k".repeat(10_000)
      const matrix: ReadonlyArray<readonly [Record<string, string>, number | string]> = [
        [{}, "UNAUTHORIZED"],
        [{ authorization: "Basic abc" }, "UNAUTHORIZED"],
        [{ authorization: "Bearer merchant-a" }, "TOKEN_INVALID"],
        [{ authorization: "bearer x.y.z" }, "TOKEN_INVALID"],
        [{ "x-api-key": "merchant-a" }, 1],
        [{ "x-api-key": "merchant-b" }, 2],
        [{ "x-api-key": "commerce-a" }, 1],
        [{ "x-api-key": "nobody" }, "API_KEY_INVALID"],
        [{ "x-api-key": "" }, "API_KEY_INVALID"],
        [{ "x-api-key": long }, "API_KEY_INVALID"],
        [{ "x-api-key": "merchant-a, merchant-b" }, "API_KEY_INVALID"],
        [{ "x-api-key": "live-a" }, "MAINNET_NOT_ENABLED"],
        [{ "x-commerce-api-key": "commerce-a" }, 1],
        [{ "x-commerce-api-key": "merchant-a" }, "SCOPE_MISMATCH"],
        [{ "x-commerce-api-key": "nobody" }, "API_KEY_INVALID"],
        [{ "x-api-key": "commerce-a", "x-commerce-api-key": "nobody" }, 1],
        [{ "x-api-key": "merchant-a", "x-commerce-api-key": "commerce-a" }, "AMBIGUOUS_CREDENTIALS"],
        [{ "x-api-key": "merchant-a", "x-commerce-api-key": "merchant-a" }, 1],
        [{ "x-api-key": "nobody", "x-commerce-api-key": "commerce-a" }, "API_KEY_INVALID"],
        [{ "x-api-key": "merchant-a", authorization: "Bearer x" }, 1],
        [{ "x-api-key": "merchant-a", authorization: "Bearer wallet-b" }, 1],
        [{ "x-commerce-api-key": "commerce-a", authorization: "Bearer wallet-b" }, 1],
        [{ authorization: "Bearer wallet-a" }, 1],
        [{ authorization: "bearer  wallet-b " }, 2],
        [{ authorization: "Bearer wallet-a wallet-b" }, "TOKEN_INVALID"],
        [{ authorization: "Bearer wallet-a, Bearer wallet-b" }, "TOKEN_INVALID"],
        [{ authorization: "Bearer wallet-expired" }, "TOKEN_EXPIRED"],
        [{ authorization: "Bearer" }, "TOKEN_INVALID"],
        [{ authorization: "Bearer " }, "TOKEN_INVALID"],
        [{ authorization: "Bearerwallet-a" }, "UNAUTHORIZED"],
        [{ authorization: `Bearer ${"a".repeat(65_536)}` }, "TOKEN_INVALID"],
        [{ "x-api-key": "bound-a" }, "IP_NOT_ALLOWED"],
        [{ "x-api-key": "bound-a", "x-forwarded-for": "192.0.2.1" }, "IP_NOT_ALLOWED"],
        [{ "x-api-key": "nobody", authorization: "Bearer x" }, "API_KEY_INVALID"]
      ]
      for (const [headers, outcome] of matrix) {
        const answer = yield* call("/api/v1/things", { headers })
        if (typeof outcome === "number") assert.strictEqual(answer.json.merchant, outcome, JSON.stringify(headers))
        else expectError(answer, "wrapped", outcome)
      }
      const inQuery = yield* call("/api/v1/things?x-api-key=merchant-a")
      expectError(inQuery, "wrapped", "UNAUTHORIZED")
    }))

  it.effect("a 401 says how to prove who one is", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const challengeOf = (headers: Record<string, string>) =>
        Effect.map(call("/api/v1/things", { headers }), (answer) => answer.headers.get("www-authenticate"))
      assert.strictEqual(
        yield* challengeOf({}),
        "ApiKey realm=\"tillwire\", header=\"x-api-key\", Bearer realm=\"tillwire\""
      )
      assert.strictEqual(
        yield* challengeOf({ "x-api-key": "nobody" }),
        "ApiKey realm=\"tillwire\", header=\"x-api-key\""
      )
      for (const token of ["x", "wallet-expired"]) {
        assert.strictEqual(
          yield* challengeOf({ authorization: `Bearer ${token}` }),
          "Bearer realm=\"tillwire\", error=\"invalid_token\""
        )
      }
    }))

  it.effect("a wallet acts in the environment its call names once, else in its merchant's default; a key in its own", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const wallet = { authorization: "Bearer wallet-a" }
      for (const query of ["", "?environment=devnet"]) {
        for (const headers of [wallet, key]) {
          const answer = yield* call(`/api/v1/things${query}`, { headers })
          assert.deepStrictEqual([answer.status, answer.json.environment], [200, "devnet"], query)
        }
      }
      for (
        const query of [
          "?environment=live",
          "?environment=devnet&environment=mainnet",
          "?environment=",
          "?environment=DEVNET"
        ]
      ) {
        for (const headers of [wallet, key]) {
          const answer = yield* call(`/api/v1/things${query}`, { headers })
          assert.deepStrictEqual([answer.status, answer.json.error.code], [400, "INVALID_ENVIRONMENT"], query)
        }
      }
      const mainnet = "/api/v1/things?environment=mainnet"
      assert.strictEqual((yield* call(mainnet, { headers: wallet })).json.error.code, "MAINNET_NOT_ENABLED")
      expectError(yield* call(mainnet, { headers: key }), "wrapped", "ENVIRONMENT_FORBIDDEN")
      expectError(yield* call("/api/v1/things?xenvironment=mainnet", { headers: key }), "wrapped", "VALIDATION_ERROR")
    }))
})
