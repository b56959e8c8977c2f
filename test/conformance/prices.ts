/**
 * What every price source promises, whoever wrote it: a driver's test calls {@link priceSourceConformance}. One that
 * asks a provider over HTTP promises more, and calls {@link providerConformance}.
 */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, type Layer, type Scope } from "effect"
import type { HttpClient } from "effect/http"
import { TestClock } from "effect/testing"
import {
  devnetPriceOf as priceOf,
  priceSourceChecks,
  priceSourceOf as sourceOf,
  type PriceSourceSubject
} from "../../runtime/plugintesting/PriceSources.ts"
import { type Prices, PriceSourceError } from "../../runtime/Prices.ts"
import { type PriceFault, type ProviderServer, transportFaults } from "../fixtures/priceSources/Server.ts"

export { priceSourceOf as sourceOf } from "../../runtime/plugintesting/PriceSources.ts"

/** A plugin's layer as far as a price source may need the runtime. */
export type PriceLayer = Layer.Layer<never, unknown, Prices | HttpClient.HttpClient>

/**
 * Runs the suite, which plugins from outside have as `tillwire/plugin/testing`. `start` makes the driver and whatever
 * it talks to; `broken` makes one whose provider is out of order, null where there is no provider.
 */
export const priceSourceConformance = (
  name: string,
  start: Effect.Effect<PriceSourceSubject, never, Scope.Scope>,
  broken: Effect.Effect<PriceSourceSubject, never, Scope.Scope> | null
) =>
  describe(`price source ${name}`, () => {
    for (const check of priceSourceChecks(start, broken)) it.live(check.name, () => check.effect)
  })

/** A driver of a provider that speaks HTTP, and a server that speaks as the provider does. */
export interface ProviderSubject {
  readonly server: Effect.Effect<ProviderServer, never, Scope.Scope>
  readonly layer: (baseUrl: string) => PriceLayer
  readonly known: Readonly<Record<string, string>>
  readonly peers?: Readonly<Record<string, string>>
  /** Faults of its prices that its protocol can show. */
  readonly faults: ReadonlyArray<PriceFault>
}

/** Runs {@link priceSourceConformance}, and what holds for everyone who is asked over HTTP. */
export const providerConformance = (name: string, provider: ProviderSubject) => {
  const { faults, known, layer, peers = {} } = provider
  const [asset = ""] = Object.keys(known)
  const started = Effect.map(provider.server, (server) => ({
    server,
    subject: { name, layer: layer(server.url), known, peers }
  }))
  const start = Effect.map(started, ({ subject }) => subject)
  const broken = Effect.map(started, ({ server, subject }) => {
    server.fault = "status 500"
    return subject
  })
  const source = Effect.flatMap(
    started,
    ({ server, subject }) => Effect.map(Effect.orDie(sourceOf(subject.layer, peers)), (source) => ({ server, source }))
  )

  priceSourceConformance(name, start, broken)

  describe(`price provider ${name}`, () => {
    for (const fault of transportFaults.filter((each) => each !== "status 429" && each !== "status 451")) {
      it.live(`fails at once on ${fault}, and recovers`, () =>
        Effect.gen(function*() {
          const { server, source: asked } = yield* source
          server.fault = fault
          const error = yield* Effect.flip(asked.prices([asset]))
          assert.instanceOf(error, PriceSourceError)
          assert.isBelow(error.message.length, 400)
          assert.notInclude(error.message, "no answer in", "it does not wait for the time limit")
          server.fault = null
          assert.strictEqual((yield* asked.prices([asset])).length, 1)
        }))
    }

    it.effect("fails after 5 s when it gets no answer", () =>
      Effect.gen(function*() {
        const { server, source: asked } = yield* source
        server.fault = "hang"
        const asking = yield* Effect.forkChild(Effect.flip(asked.prices([asset])))
        yield* Deferred.await(server.asked)
        yield* TestClock.adjust("5 seconds")
        assert.include((yield* Fiber.join(asking)).message, "no answer in 5000 ms")
      }))

    const pauses = [
      ["status 429", "7", 7],
      ["status 429", undefined, 60],
      ["status 429", "999999", 3_600],
      ["status 429", "Thu, 01 Jan 1970 00:00:30 GMT", 30],
      ["status 503", "20", 20],
      ["status 451", undefined, 3_600]
    ] as const
    for (const [fault, retryAfter, seconds] of pauses) {
      it.effect(`leaves a provider alone for ${seconds} s after ${fault} with Retry-After ${retryAfter}`, () =>
        Effect.gen(function*() {
          const { server, source: asked } = yield* source
          server.fault = fault
          server.retryAfter = retryAfter
          yield* Effect.flip(asked.prices([asset]))
          server.fault = null
          yield* TestClock.adjust((seconds - 1) * 1_000)
          const error = yield* Effect.flip(asked.prices([asset]))
          assert.include(error.message, "left alone")
          assert.strictEqual(server.requests.length, 1)
          yield* TestClock.adjust("1 second")
          assert.strictEqual((yield* asked.prices([asset])).length, 1)
        }))
    }

    for (const fault of faults) {
      it.live(`gives no price to quote by when the answer is ${fault}`, () =>
        Effect.gen(function*() {
          const { server, subject } = yield* started
          server.fault = fault
          const error = yield* Effect.flip(priceOf(subject, asset))
          assert.strictEqual((error as { readonly _tag?: string })._tag, "PriceUnavailable")
        }))
    }
  })
}
