/**
 * Goal: whoever calls too often is told so, in time to do better, and nobody else notices.
 * Method: the real door and middlewares with small limits on a clock that the test moves.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Option } from "effect"
import { HttpServerRequest } from "effect/http"
import { TestClock } from "effect/testing"
import { type Caller, plainErrors, RateLimiter, type RequestFacts, RequestInfo } from "../../../runtime/Http.ts"
import * as Throttling from "../../../runtime/http/RateLimiter.ts"
import * as LeasesOfDatabase from "../../../runtime/leases/Database.ts"
import * as Database from "../../../runtime/ratelimits/Database.ts"
import * as Memory from "../../../runtime/ratelimits/Memory.ts"
import { PublicError, publicError } from "../../../schemas/Errors.ts"
import { newestVersion } from "../../../schemas/Version.ts"
import { type Answer, Api, apiLayer, kernel, settingsLayer } from "../../support/Api.ts"
import { databaseLayer } from "../../support/Database.ts"
import { runs, things, ThingsApi, thingsLayer } from "./ThingsPlugin.ts"

const limits = { keyPerMinute: 3, keyInFlight: 2, anonymousPerMinute: 4, noncePerMinute: 2 }

const served = apiLayer([ThingsApi], thingsLayer, kernel([things], settingsLayer({ limits })))

const told = ({ headers }: Answer) =>
  ["limit", "remaining", "reset", "policy"].map((name) => headers.get(`ratelimit-${name}`))

const as = (key: string, path = "/api/v1/things") =>
  Effect.flatMap(Api, ({ call }) => call(path, { headers: { "x-api-key": key } }))

/** Nobody has called for long. */
const later = TestClock.adjust("10 minutes")

layer(served as Layer.Layer<Api>)("a caller", (it) => {
  it.effect("is never told to wait longer than a window, and after the wait it is told it is accepted again", () =>
    Effect.gen(function*() {
      yield* later
      const answers = yield* Effect.forEach(Array.from({ length: 5 }), () => as("merchant-b"))
      assert.deepStrictEqual(answers.map(({ status }) => status), [200, 200, 200, 429, 429])
      for (const answer of answers) assert.isAtMost(Number(answer.headers.get("ratelimit-reset")), 60)
      for (const { headers, json } of answers.slice(3)) {
        assert.strictEqual(headers.get("retry-after"), "60")
        assert.strictEqual(json.error.details.retry_after_seconds, 60)
      }
      // The answer takes a moment to arrive.
      yield* TestClock.adjust(60_001)
      assert.strictEqual((yield* as("merchant-b")).status, 200)
      yield* later
    }))

  it.effect("is told its limit with every answer, and refused in the route's family beyond it", () =>
    Effect.gen(function*() {
      yield* later
      const { call } = yield* Api
      assert.deepStrictEqual(told(yield* as("merchant-a")), ["3", "2", "60", "3;w=60"])
      yield* TestClock.adjust(20_500)
      assert.deepStrictEqual(told(yield* as("merchant-a")), ["3", "1", "40", "3;w=60"])
      // Errors of the request count as well, and are told the same.
      const bad = yield* as("merchant-a", "/api/v1/things?limit=0")
      assert.deepStrictEqual([bad.status, ...told(bad)], [400, "3", "0", "40", "3;w=60"])
      const wrapped = yield* as("merchant-a")
      assert.strictEqual(wrapped.status, 429)
      assert.deepStrictEqual([wrapped.headers.get("retry-after"), ...told(wrapped)], ["40", "3", "0", "40", "3;w=60"])
      assert.deepStrictEqual(wrapped.json, {
        success: false,
        error: {
          code: "RATE_LIMIT_EXCEEDED",
          message: "Too many requests",
          param: null,
          details: { retry_after_seconds: 40 },
          request_id: wrapped.headers.get("x-request-id")
        }
      })
      const flat = yield* call("/api/v1/flat-things", { headers: { "x-api-key": "merchant-a" }, body: "{" })
      assert.strictEqual(flat.text, "{\"error\":\"Too many requests\",\"code\":\"RATE_LIMIT_EXCEEDED\"}")
      assert.strictEqual(flat.headers.get("retry-after"), "40")
      assert.strictEqual((yield* as("merchant-b")).status, 200)
      yield* TestClock.adjust(39_000)
      assert.strictEqual((yield* as("merchant-a")).status, 429)
      yield* TestClock.adjust(1_000)
      assert.strictEqual((yield* as("merchant-a")).status, 200)
    }))

  it.effect("is limited after its credential was checked and before its idempotency key and body are", () =>
    Effect.gen(function*() {
      yield* later
      const { call } = yield* Api
      const statuses = yield* Effect.forEach(
        [1, 2, 3, 4],
        () =>
          Effect.map(
            call("/api/v1/things", { headers: { "x-api-key": "merchant-a" }, body: "{" }),
            ({ status }) => status
          )
      )
      assert.deepStrictEqual(statuses, [400, 400, 400, 429])
      assert.strictEqual((yield* as("nobody")).status, 401)
    }))

  it.effect("without a good credential counts for its address, once a call; good keys of the address go on", () =>
    Effect.gen(function*() {
      yield* later
      const { call } = yield* Api
      assert.deepStrictEqual(told(yield* as("nobody")), ["4", "3", "60", "4;w=60"])
      assert.deepStrictEqual(told(yield* call("/api/v1/things")), ["4", "2", "60", "4;w=60"])
      const lost = yield* call("/nowhere")
      assert.deepStrictEqual([lost.status, ...told(lost)], [404, "4", "1", "60", "4;w=60"])
      const wrong = yield* call("/api/v1/things", { method: "DELETE" })
      assert.deepStrictEqual([wrong.status, ...told(wrong)], [405, "4", "0", "60", "4;w=60"])
      for (const path of ["/api/v1/things", "/api/v1/flat-things/fail/NOT_FOUND", "/nowhere"]) {
        const refused = yield* call(path)
        assert.deepStrictEqual([refused.status, refused.headers.get("retry-after")], [429, "60"])
      }
      assert.strictEqual((yield* as("nobody")).status, 429)
      assert.strictEqual((yield* as("merchant-a")).status, 200)
    }))

  it.effect("refused before anybody asks who it is counts for its address", () =>
    Effect.gen(function*() {
      yield* later
      const { call } = yield* Api
      const post = (headers: Readonly<Record<string, string>>, path = "/api/v1/things") =>
        Effect.map(call(path, { method: "POST", body: "{}", headers }), ({ status }) => status)
      const answers = yield* Effect.all([
        post({ "content-type": "text/plain" }),
        post({ "x-service-version": "never" }),
        post({}, "/api/v1/things/%zz"),
        post({}, "/api/v1/things?name=%zz"),
        post({ "content-type": "text/plain" })
      ])
      assert.deepStrictEqual(answers, [415, 400, 400, 400, 429])
      assert.strictEqual((yield* as("merchant-a")).status, 200)
    }))

  it.effect("of a route that asks for no credential is held to the limit that route names", () =>
    Effect.gen(function*() {
      yield* later
      const { call } = yield* Api
      const open = call("/api/v1/open-things", { headers: { origin: "https://shop.example" } })
      assert.deepStrictEqual(told(yield* open), ["2", "1", "60", "2;w=60"])
      yield* open
      const refused = yield* open
      assert.deepStrictEqual([refused.status, refused.json.code, ...told(refused)], [
        429,
        "RATE_LIMIT_EXCEEDED",
        "2",
        "0",
        "60",
        "2;w=60"
      ])
      assert.include(refused.headers.get("access-control-expose-headers")!, "retry-after")
      assert.deepStrictEqual(told(yield* as("nobody")), ["4", "3", "60", "4;w=60"])
    }))

  it.effect("has a few calls under way at once; one more waits a second, and others do not", () =>
    Effect.gen(function*() {
      yield* later
      const gate = yield* Deferred.make<void>()
      runs.gate = Deferred.await(gate)
      const before = runs.count
      const { call } = yield* Api
      const act = call("/api/v1/things/a/b", { method: "POST", headers: { "x-api-key": "merchant-a" } })
      const running = yield* Effect.forkChild(Effect.all([act, act], { concurrency: 2 }))
      while (runs.count < before + 2) yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      const third = yield* as("merchant-a")
      assert.deepStrictEqual([third.status, third.headers.get("retry-after"), ...told(third)], [
        429,
        "1",
        "3",
        "0",
        "1",
        "3;w=60"
      ])
      assert.deepStrictEqual(third.json.error.details, { retry_after_seconds: 1 })
      assert.strictEqual((yield* as("merchant-b")).status, 200)
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual((yield* Fiber.join(running)).map(({ status }) => status), [200, 200])
      runs.gate = Effect.void
      // It was not counted: the third of three is free.
      assert.strictEqual((yield* as("merchant-a")).status, 200)
      assert.strictEqual((yield* as("merchant-a")).status, 429)
    }))
})

/** A request from `address`, as a server hands it on. */
const from = (address: string, headers: Record<string, string> = {}) =>
  HttpServerRequest.fromWeb(new Request("http://till.test/", { headers })).modify({
    remoteAddress: Option.some(address)
  })

const throttle = (more: Partial<typeof limits> = {}, trustProxy: ReadonlyArray<string> = []) =>
  Throttling.layerOver(Memory.layer).pipe(
    Layer.provide(settingsLayer({
      limits: { ...limits, ...more },
      ...{ http: { host: "127.0.0.1", port: 0, trustProxy } }
    } as never))
  )

/** A call by a key, or otherwise by a wallet, of a merchant. */
const key = (credential: string, merchantId = 1): Caller => ({ credential, merchantId, kind: "key" })

const facts = (): RequestFacts => ({
  requestId: "req_1",
  apiVersion: newestVersion,
  answerHeaders: {},
  errorForm: plainErrors,
  merchantId: null
})

describe("addresses", () => {
  const accepted = (request: HttpServerRequest.HttpServerRequest) =>
    Effect.flatMap(RateLimiter, (limits) => limits.address(request.modify({}), "anonymous")).pipe(
      Effect.match({ onSuccess: () => true, onFailure: () => false }),
      Effect.provideService(RequestInfo, facts())
    )
  const exhausted = (request: HttpServerRequest.HttpServerRequest) =>
    Effect.gen(function*() {
      for (let index = 0; index < limits.anonymousPerMinute; index++) assert.isTrue(yield* accepted(request))
      assert.isFalse(yield* accepted(request))
    })

  it.effect("are counted apart; what a caller forwards about itself is ignored", () =>
    Effect.gen(function*() {
      yield* exhausted(from("192.0.2.1"))
      assert.isFalse(yield* accepted(from("192.0.2.1", { "x-forwarded-for": "198.51.100.7" })))
      assert.isFalse(yield* accepted(from("::ffff:192.0.2.1")))
      assert.isTrue(yield* accepted(from("192.0.2.2")))
    }).pipe(Effect.provide(throttle())))

  it.effect("behind a trusted proxy are those it names", () =>
    Effect.gen(function*() {
      const behind = (address: string) => from("10.0.0.1", { "x-forwarded-for": address })
      yield* exhausted(behind("192.0.2.1"))
      assert.isFalse(yield* accepted(behind("203.0.113.9, 192.0.2.1")))
      assert.isTrue(yield* accepted(behind("192.0.2.2")))
    }).pipe(Effect.provide(throttle({}, ["10.0.0.0/8"]))))

  it.effect("of IPv6 are counted by the 64 bits that a subscriber has, however they are written", () =>
    Effect.gen(function*() {
      yield* exhausted(from("2001:db8:1:2::1"))
      for (const same of ["2001:db8:1:2:ffff::", "2001:DB8:1:2:0:0:0:9"]) {
        assert.isFalse(yield* accepted(from(same)), same)
      }
      // A refused call takes nothing from the networks around it.
      for (let index = 0; index < 100; index++) assert.isFalse(yield* accepted(from("2001:db8:1:2::1")))
      for (const other of ["2001:db8:1:3::1", "2001:db8::1", "::1"]) assert.isTrue(yield* accepted(from(other)), other)
    }).pipe(Effect.provide(throttle())))

  it.effect("of IPv6 have limits for the /56 and the /48 as well: who has many links gets 4 and 16 times as much, not as many times", () =>
    Effect.gen(function*() {
      const acceptedOf = (addresses: ReadonlyArray<string>) =>
        Effect.map(Effect.forEach(addresses, (address) => accepted(from(address))), (all) => all.filter(Boolean).length)
      const links = (start: number) =>
        Array.from({ length: 200 }, (_, link) => `2001:db8:1:${(start + link).toString(16)}::1`)
      assert.strictEqual(yield* acceptedOf(links(0x100)), 4 * limits.anonymousPerMinute)
      const site = Array.from({ length: 200 }, (_, home) => `2001:db8:1:${(home << 8).toString(16)}::1`)
      assert.strictEqual(yield* acceptedOf(site), 12 * limits.anonymousPerMinute)
      assert.strictEqual(yield* acceptedOf(["2001:db8:2::1"]), 1)
    }).pipe(Effect.provide(throttle())))

  it.effect("are counted once for a call, whatever refuses it in the end", () =>
    Effect.gen(function*() {
      const limits = yield* RateLimiter
      const request = from("192.0.2.1")
      const info = facts()
      const why = publicError("API_KEY_INVALID")
      const act = Effect.andThen(limits.address(request, "anonymous"), Effect.flip(limits.refuse(request, why)))
      assert.strictEqual((yield* Effect.provideService(act, RequestInfo, info)).code, "API_KEY_INVALID")
      assert.strictEqual(info.answerHeaders["ratelimit-remaining"], "3")
    }).pipe(Effect.provide(throttle())))

  it.effect("of bad credentials do not lock anybody out elsewhere: 1,000 from one address are refused by it alone", () =>
    Effect.gen(function*() {
      const limits = yield* RateLimiter
      const refused = (address: string) =>
        Effect.flip(limits.refuse(from(address), publicError("API_KEY_INVALID"))).pipe(
          Effect.provideService(RequestInfo, facts()),
          Effect.map(({ code }) => code)
        )
      const codes = yield* Effect.forEach(Array.from({ length: 1_000 }), () => refused("192.0.2.1"))
      assert.deepStrictEqual(codes.filter((code) => code === "API_KEY_INVALID").length, 4)
      assert.strictEqual(codes.at(-1), "RATE_LIMIT_EXCEEDED")
      assert.strictEqual(yield* refused("192.0.2.2"), "API_KEY_INVALID")
      yield* limits.credential(key("key_1"), Effect.void)
    }).pipe(Effect.provide(throttle())))
})

describe("calls under way", () => {
  it.effect("leave their place however they end", () =>
    Effect.gen(function*() {
      const { credential } = yield* RateLimiter
      const k = key("k")
      const hanging = yield* Effect.forkChild(credential(k, Effect.never), { startImmediately: true })
      assert.isTrue(Exit.isFailure(yield* Effect.exit(credential(k, Effect.fail("fault")))))
      assert.isTrue(Exit.isFailure(yield* Effect.exit(credential(k, Effect.die("bug")))))
      const full = yield* Effect.forkChild(credential(k, Effect.never), { startImmediately: true })
      assert.instanceOf(yield* Effect.flip(credential(k, Effect.void)), PublicError)
      yield* credential(key("other"), Effect.void)
      yield* Fiber.interrupt(full)
      yield* credential(k, Effect.void)
      yield* Fiber.interrupt(hanging)
    }).pipe(Effect.provide(throttle({ keyPerMinute: 100 }))))
})

/** What the limits answer to one call: accepted, or the message of the refusal, and what its headers tell. */
const called = (caller: Caller) =>
  Effect.gen(function*() {
    const told = facts()
    const outcome = yield* Effect.flatMap(RateLimiter, (limits) => limits.credential(caller, Effect.void)).pipe(
      Effect.match({ onSuccess: () => "accepted", onFailure: (error) => (error as PublicError).message }),
      Effect.provideService(RequestInfo, told)
    )
    const { "ratelimit-limit": limit, "ratelimit-remaining": remaining } = told.answerHeaders
    return [outcome, `${remaining} of ${limit}`]
  })

const tooMany = "Too many requests"
const tooManyOfAll = "Too many requests by all keys of this merchant together: wait as long as Retry-After says"

const limitedMerchants = settingsLayer({
  limits: { ...limits, keyPerMinute: 4, keyInFlight: 10, merchantPerMinute: 6 }
} as never)

for (
  const [store, windows] of [
    ["memory", Memory.layer],
    // A call that PostgreSQL is late with would be counted by this process alone.
    [
      "postgres",
      Database.layerWith({ timeoutMillis: 30_000 }).pipe(
        Layer.provide(LeasesOfDatabase.layer),
        Layer.provide(databaseLayer)
      )
    ]
  ] as const
) {
  describe(`a merchant's limit over all its keys, counted in ${store}`, () => {
    it.live("ends the calls of its keys together, and of nobody else", () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* called(key("a")), ["accepted", "3 of 4"])
        yield* called(key("a"))
        yield* called(key("a"))
        assert.deepStrictEqual(yield* called(key("a")), ["accepted", "0 of 4"])
        // A key over its own limit takes nothing from the merchant's others.
        for (let flood = 0; flood < 20; flood++) assert.deepStrictEqual(yield* called(key("a")), [tooMany, "0 of 4"])
        assert.deepStrictEqual(yield* called(key("b")), ["accepted", "1 of 6"])
        assert.deepStrictEqual(yield* called(key("b")), ["accepted", "0 of 6"])
        assert.deepStrictEqual(yield* called(key("b")), [tooManyOfAll, "0 of 6"])
        assert.deepStrictEqual(yield* called(key("fresh")), [tooManyOfAll, "0 of 6"])
        assert.deepStrictEqual(yield* called({ ...key("wallet"), kind: "wallet" }), ["accepted", "3 of 4"])
        assert.deepStrictEqual(yield* called(key("c", 2)), ["accepted", "3 of 4"])
      }).pipe(Effect.provide(Throttling.layerOver(windows).pipe(Layer.provide(limitedMerchants)))))
  })
}

describe("a merchant's limit", () => {
  it.effect("is none where the deployment sets none: only its keys are limited", () =>
    Effect.gen(function*() {
      for (let each = 0; each < 200; each++) {
        assert.deepStrictEqual(yield* called(key(`key_${each}`)), ["accepted", "2 of 3"])
      }
    }).pipe(Effect.provide(throttle())))
})
