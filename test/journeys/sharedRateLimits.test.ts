/**
 * Goal: instances that share a database share the limits of their callers, and say so in their metrics.
 * Method: two running services that count in PostgreSQL, and one key that calls both at once.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { migratedDatabase } from "../support/Database.ts"
import { generousLimits } from "../support/Limits.ts"
import { configOf, exchange, type Service, startService, temporaryDirectory } from "../support/Service.ts"

const limit = 30

class Pair extends Context.Service<Pair, readonly [Service, Service]>()("test/Pair") {
  static readonly layer = Layer.effect(
    Pair,
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const config = configOf({
        database: database.url,
        chains: [{ use: "simulated" }],
        limits: { ...generousLimits, store: "postgres", keyPerMinute: limit }
      })
      const first = yield* startService({ directory: yield* temporaryDirectory, config })
      const second = yield* startService({ directory: yield* temporaryDirectory, config })
      return [first, second] as const
    })
  )
}

layer(Pair.layer, { excludeTestServices: true })("two instances", (it) => {
  it.effect("together accept no more of a key than one would, and another key goes on", () =>
    Effect.gen(function*() {
      const services = yield* Pair
      const { commerce_key, merchant_key } = yield* services[0].keys
      const call = (service: Service, key: string) => service.call("/api/v1/events", { headers: { "x-api-key": key } })
      const found = yield* Effect.forEach(
        Array.from({ length: 3 * limit }, (_, index) => services[index % 2]!),
        (service) => call(service, merchant_key),
        { concurrency: 12 }
      )
      const refused = found.filter(({ status }) => status === 429)
      const countedBy = (service: Service, metric: string) =>
        Effect.map(exchange(service.rpcUrl, "/metrics"), ({ text }) =>
          [...text.matchAll(new RegExp(`^tillwire_${metric}\\{?[^ ]* (\\d+)`, "gm"))]
            .filter(([line]) =>
              !line.includes("limit=") || line.includes(`limit="key"`)
            )
            .reduce((sum, [, count]) => sum + Number(count), 0))
      const countedAlone = yield* Effect.forEach(services, (service) =>
        countedBy(service, "rate_limit_store_failures_total"))
      // Where PostgreSQL answered too late once, each instance counted alone for a second, as it is to do.
      const most = countedAlone.some((count) =>
          count > 0
        )
        ? 2 * limit
        : limit
      const accepted = found.filter(({ status }) => status === 200).length
      assert.strictEqual(accepted + refused.length, 3 * limit)
      assert.isAtLeast(accepted, limit)
      assert.isAtMost(accepted, most)
      for (const { headers } of refused) {
        assert.strictEqual(headers["ratelimit-policy"], `${limit};w=60`)
        assert.strictEqual(headers["ratelimit-remaining"], "0")
        const wait = Number(headers["retry-after"])
        assert.isTrue(wait >= 1 && wait <= 60, String(wait))
      }
      for (const service of services) assert.strictEqual((yield* call(service, commerce_key)).status, 200)
      const counted = yield* Effect.forEach(services, (service) => countedBy(service, "rate_limited_total"))
      assert.strictEqual(counted[0]! + counted[1]!, refused.length)
    }))
})
