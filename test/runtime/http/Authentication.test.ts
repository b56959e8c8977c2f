/**
 * Goal: guessing keys costs the database nothing beyond the limit of an address, and no good key is refused for what
 * its neighbours at an address do. Method: the real check of keys and limits over an owner of keys that notes each
 * look-up, on a clock that the test moves.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { HttpServerRequest } from "effect/http"
import { TestClock } from "effect/testing"
import { Credentials, plainErrors, RateLimiter, RequestInfo } from "../../../runtime/Http.ts"
import { credentials, makeKeyCheck } from "../../../runtime/http/Authentication.ts"
import * as Throttling from "../../../runtime/http/RateLimiter.ts"
import * as Memory from "../../../runtime/ratelimits/Memory.ts"
import { PublicError } from "../../../schemas/Errors.ts"
import { newestVersion } from "../../../schemas/Version.ts"
import { settingsLayer } from "../../support/Api.ts"
import { operatorKey } from "../../fixtures/authorities.ts"

const limit = 5

/** Keys are `own-…` where they prove themselves, `old-…` where they do not, until they are among `ended`. */
const makeDesk = Effect.gen(function*() {
  const { register } = yield* Credentials
  const check = yield* makeKeyCheck
  const throttle = yield* RateLimiter
  const lookUps: Array<string> = []
  const ended = new Set<string>()
  yield* register(
    (key) =>
      Effect.sync(() => {
        lookUps.push(key)
        return /^(own|old)-/.test(key) && !ended.has(key)
          ? {
            merchantId: 1,
            environment: "devnet",
            scope: "merchant",
            kind: "key",
            credential: key,
            apiVersion: newestVersion,
            ...operatorKey
          } as never
          : null
      }),
    (key) => key.startsWith("own-")
  )
  const call = (key: string, address = "192.0.2.1") =>
    Effect.suspend(() => {
      const request = HttpServerRequest.fromWeb(new Request("http://till.test/")).modify({
        remoteAddress: Option.some(address)
      })
      return check(request, { _tag: "Key", key, alias: undefined, viaAlias: false }).pipe(
        Effect.catch((error) => throttle.refuse(request, error)),
        Effect.match({
          onSuccess: () => "served",
          onFailure: (error) => error instanceof PublicError ? error.code : "other"
        }),
        Effect.provideService(RequestInfo, {
          requestId: "req_1",
          apiVersion: newestVersion,
          answerHeaders: {},
          errorForm: plainErrors,
          merchantId: null
        })
      )
    })
  return { call, lookUps, ended }
})

const deployment = () => {
  const settings = settingsLayer({ limits: { anonymousPerMinute: limit } })
  return Layer.merge(credentials, Throttling.layerOver(Memory.layer)).pipe(Layer.provideMerge(settings))
}

/** Longer than a good key is not looked up again. */
const later = TestClock.adjust("3 seconds")

describe("a key", () => {
  it.effect("that nothing speaks for counts for its address before it is looked up", () =>
    Effect.gen(function*() {
      const { call, lookUps } = yield* makeDesk
      const codes = yield* Effect.forEach(Array.from({ length: 200 }, (_, index) => `guess-${index}`), (key) =>
        call(key), {
        concurrency: 50
      })
      assert.strictEqual(
        codes.filter((code) =>
          code === "API_KEY_INVALID"
        ).length,
        limit
      )
      assert.strictEqual(codes.filter((code) => code === "RATE_LIMIT_EXCEEDED").length, 200 - limit)
      assert.strictEqual(lookUps.length, limit)
      assert.strictEqual(yield* call("guess-x", "192.0.2.2"), "API_KEY_INVALID")
    }).pipe(Effect.provide(deployment())))

  it.effect("that is good is served from an address that has used up its calls: if it proves itself, or was good before", () =>
    Effect.gen(function*() {
      const { call } = yield* makeDesk
      assert.strictEqual(yield* call("old-1"), "served")
      yield* Effect.forEach(Array.from({ length: 2 * limit }, (_, index) => `guess-${index}`), (key) => call(key))
      assert.strictEqual(yield* call("guess-x"), "RATE_LIMIT_EXCEEDED")
      for (let round = 0; round < 3; round++) {
        assert.deepStrictEqual(yield* Effect.forEach(["own-1", "own-2", "old-1"], (key) => call(key)), [
          "served",
          "served",
          "served"
        ])
        yield* later
      }
      // Nothing is known of it, and its address has no call left: it is served again when the minute is over.
      assert.strictEqual(yield* call("old-2"), "RATE_LIMIT_EXCEEDED")
      yield* TestClock.adjust("61 seconds")
      assert.strictEqual(yield* call("old-2"), "served")
    }).pipe(Effect.provide(deployment())))

  it.effect("that ended is not looked up again and again, although it was ours", () =>
    Effect.gen(function*() {
      const { call, ended, lookUps } = yield* makeDesk
      assert.strictEqual(yield* call("own-1"), "served")
      ended.add("own-1")
      yield* later
      lookUps.length = 0
      const codes = yield* Effect.forEach(Array.from({ length: 20 }), () => call("own-1"))
      assert.strictEqual(codes[0], "API_KEY_INVALID")
      assert.strictEqual(codes.at(-1), "RATE_LIMIT_EXCEEDED")
      assert.isAtMost(lookUps.length, limit + 1)
    }).pipe(Effect.provide(deployment())))
})
