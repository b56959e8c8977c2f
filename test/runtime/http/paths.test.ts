/**
 * Goal: one URL is one resource however it is spelled, and no other spelling reaches it. Method: the door over two
 * groups, one of each error family; calls that differ in nothing but the spelling of the path.
 */
import { assert, describe, it as test, layer } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { canonicalUrl, hasEmptySegment } from "../../../runtime/http/Paths.ts"
import { type Answer, Api, apiLayer, kernel } from "../../support/Api.ts"
import { runs, things, ThingsApi, thingsLayer } from "./ThingsPlugin.ts"

const served = apiLayer([ThingsApi], thingsLayer, kernel([things]))

const key = { "x-api-key": "merchant-a" }

const wrappedCode = ({ json, status }: Answer) => `${status} ${json.error?.code}`
const flatCode = ({ json, status }: Answer) => `${status} ${json.code}`

describe("the canonical spelling of a URL", () => {
  test("decodes what needs no escape, escapes what does, and leaves the query alone", () => {
    const cases = [
      ["/api/v1/invoices", "/api/v1/invoices"],
      ["/api/v1/invoices?status=%70aid&a=/%2f", "/api/v1/invoices?status=%70aid&a=/%2f"],
      ["/api/v1/%69nvoices", "/api/v1/invoices"],
      ["/api/v1/invoices/%41%2d%5F%7e", "/api/v1/invoices/A-_~"],
      ["/api/v1/invoices/a%2fb", "/api/v1/invoices/a%2Fb"],
      ["/api/v1/invoices/a@b:c", "/api/v1/invoices/a%40b%3Ac"],
      ["/api/v1/invoices/a%40b%3ac", "/api/v1/invoices/a%40b%3Ac"],
      ["/api/v1/invoices/<b>", "/api/v1/invoices/%3Cb%3E"],
      ["/api/v1/invoices/%c3%a9", "/api/v1/invoices/%C3%A9"],
      ["/api/v1/invoices/%2561", "/api/v1/invoices/%2561"],
      ["//api/%2e%2e/", "//api/../"],
      ["*", "*"]
    ] as const
    for (const [written, canonical] of cases) {
      assert.strictEqual(canonicalUrl(written), canonical, written)
      assert.strictEqual(canonicalUrl(canonical), canonical, "again")
    }
    for (const malformed of ["/a/%", "/a/%zz", "/a/%f", "/%ff", "/a/%c3", "/a/%ed%a0%80"]) {
      assert.strictEqual(canonicalUrl(malformed), undefined, malformed)
    }
    for (const path of ["/a/", "//a", "/a//b", "/a/?b=c", "//", "/%61/"]) assert.isTrue(hasEmptySegment(path), path)
    for (const path of ["/", "/?a", "/a", "/a/b?c=//d/", "/a?/"]) assert.isFalse(hasEmptySegment(path), path)
  })
})

layer(served as Layer.Layer<Api>)("the path of a request", (it) => {
  it.effect("is the same to an idempotency key however it is escaped: four spellings make one thing", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const before = runs.count
      const headers = { ...key, "idempotency-key": "spelled" }
      const answers = yield* Effect.forEach(
        ["/api/v1/things", "/api/v1/%74hings", "/%61pi/v1/things", "/api/v1/thing%73?"],
        (path) => call(path, { body: { id: "spelled" }, headers })
      )
      assert.deepStrictEqual(answers.map(({ status }) => status), [200, 200, 200, 200])
      assert.strictEqual(new Set(answers.map(({ text }) => text)).size, 1)
      assert.strictEqual(runs.count - before, 1)
    }))

  it.effect("names an id in either case to an idempotency key, and other parameters as they are", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const headers = { ...key, "idempotency-key": "cased" }
      const id = "550e8400-e29b-41d4-a716-446655440abc"
      const before = runs.count
      for (const each of [id, id.toUpperCase(), `we_${id.toUpperCase()}`, `we_${id}`]) {
        yield* call(`/api/v1/things/${each}/ok`, { method: "POST", headers })
      }
      assert.strictEqual(runs.count - before, 2)
      for (const each of ["a", "A", "a%2Fb", "a%2fb"]) {
        yield* call(`/api/v1/things/${each}/ok`, { method: "POST", headers })
      }
      assert.strictEqual(runs.count - before, 5)
    }))

  it.effect("is told from any other: case, doubled slashes and a slash at the end are 404 in the route's own family", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const before = runs.count
      const spellings = (
        path: string
      ) => [`${path}/`, path.replace("/v1/", "//v1/"), path.toUpperCase(), `/${path}`, path.replace("v1", "V1")]
      for (const path of spellings("/api/v1/things")) {
        const headers = { ...key, "idempotency-key": path }
        assert.strictEqual(wrappedCode(yield* call(path, { headers: key })), "404 NOT_FOUND", path)
        assert.strictEqual(wrappedCode(yield* call(path, { body: { id: "x" }, headers })), "404 NOT_FOUND", path)
      }
      for (const path of spellings("/api/v1/flat-things")) {
        const answer = yield* call(path, { body: { id: "x" }, headers: { ...key, "idempotency-key": path } })
        assert.strictEqual(flatCode(answer), "404 NOT_FOUND", path)
        assert.include(answer.json.error, "/api/v1/flat-things")
      }
      const empty = yield* call("/api/v1/things//ok", { method: "POST", headers: key })
      assert.strictEqual(wrappedCode(empty), "404 NOT_FOUND")
      assert.strictEqual((yield* call("/api/v1/flat-things/fail/?a=b", { headers: key })).status, 404)
      assert.strictEqual(runs.count, before)
    }))

  it.effect("may hold an escaped slash in a parameter, which stays in it", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const answer = yield* call("/api/v1/things/a%2Fb/c%2Fd", { method: "POST", headers: key })
      assert.deepStrictEqual([answer.status, answer.json.id], [200, "c/d"])
    }))

  it.effect("that is no percent-encoding of UTF-8 is refused in the route's own family, and says so", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      for (const part of ["%", "%zz", "%ff", "a%2", "%c3%28"]) {
        const flat = yield* call(`/api/v1/flat-things/fail/${part}`, { headers: key })
        assert.strictEqual(flatCode(flat), "400 VALIDATION_ERROR", part)
        assert.include(flat.json.error, "percent-encod")
        assert.strictEqual(
          wrappedCode(yield* call(`/api/v1/things/fail/${part}`, { headers: key })),
          "400 VALIDATION_ERROR"
        )
        assert.strictEqual(wrappedCode(yield* call(`/nowhere/${part}`, { headers: key })), "400 VALIDATION_ERROR")
      }
    }))

  it.effect("has a query that is percent-encoded as well, or is refused in the route's own family", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const before = runs.count
      for (const part of ["%", "%zz", "%ff", "a%2", "%c3%28", "%c3&limit=%a9"]) {
        const flat = yield* call(`/api/v1/flat-things?a=${part}`, { headers: key, body: {} })
        assert.strictEqual(flatCode(flat), "400 VALIDATION_ERROR", part)
        assert.include(flat.json.error, "query is not percent-encoded")
        assert.strictEqual(
          wrappedCode(yield* call(`/api/v1/things?limit=5&${part}=1`, { headers: key })),
          "400 VALIDATION_ERROR",
          part
        )
      }
      assert.strictEqual(runs.count, before)
      // What is well formed is read as before, and pages take whatever their links carry.
      assert.strictEqual((yield* call("/api/v1/things?%6cimit=5", { headers: key })).status, 200)
      assert.strictEqual((yield* call("/nowhere?a=%zz", { headers: key })).status, 404)
    }))

  it.effect("may have a parameter as long as any id of a merchant's customer", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const answer = yield* call(`/api/v1/things/${"x".repeat(255)}/ok`, { method: "POST", headers: key })
      assert.strictEqual(answer.status, 200)
    }))
})
