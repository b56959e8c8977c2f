import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as LeasesOfDatabase from "../../../runtime/leases/Database.ts"
import { Leases } from "../../../runtime/Leases.ts"
import { RateLimits, windowMillis } from "../../../runtime/RateLimits.ts"
import * as Database from "../../../runtime/ratelimits/Database.ts"
import { assertFullUse, rateLimitsSuite, span } from "../../conformance/rateLimits.ts"
import { connect, databaseLayer, freshDatabase, type TestDatabase } from "../../support/Database.ts"

/** A database that is slow is asked all the same: here windows are judged, not who is let in without one. */
const patienceMillis = 30_000

/** An instance: a pool, leases and memory of its own over a database. */
const instance = (database: TestDatabase) =>
  Effect.map(
    Layer.build(Layer.fresh(
      Database.layerWith({ span, timeoutMillis: patienceMillis }).pipe(
        Layer.provide(LeasesOfDatabase.layer),
        Layer.provide(connect(database))
      )
    )),
    Context.get(RateLimits)
  )

describe("windows in the database", () => {
  rateLimitsSuite("postgres", (options) =>
    Database.layerWith({ ...options, timeoutMillis: patienceMillis }).pipe(
      Layer.provide(LeasesOfDatabase.layer),
      Layer.provide(databaseLayer)
    ))

  it.live("are one for two instances: no window holds more than the limit, and full use is possible", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const instances = [yield* instance(database), yield* instance(database)]
      const callers = [...instances, ...instances, ...instances]
      yield* assertFullUse(callers.map((limits) => limits.take("key", "shared", 10)), 10)
    }).pipe(Effect.scoped))

  it.live("of those over their limit are not asked for again until their wait is over", () =>
    Effect.gen(function*() {
      let asked = 0
      const sql = yield* SqlClient.SqlClient
      const counting = new Proxy(sql, {
        get: (target, name) =>
          name === "unsafe"
            ? (...values: Parameters<typeof sql.unsafe>) => {
              if (String(values[0]).includes("INSERT INTO rate_windows")) asked++
              return sql.unsafe(...values)
            }
            : Reflect.get(target, name)
      })
      yield* Effect.gen(function*() {
        const limits = yield* RateLimits
        for (let call = 0; call < 100; call++) yield* limits.take("key", "flood", 3)
        assert.strictEqual(asked, 4)
      }).pipe(
        Effect.provide(
          Database.layerWith({ timeoutMillis: patienceMillis }).pipe(
            Layer.provide(Layer.succeed(SqlClient.SqlClient, counting)),
            Layer.provide(Layer.succeed(Leases, {
              hold: () => Effect.never,
              statuses: Effect.succeed([]),
              findings: Effect.succeed([])
            }))
          )
        )
      )
    }).pipe(Effect.provide(databaseLayer)))

  it.live("that nobody uses are deleted", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const rows = Effect.map(sql<{ n: number }>`SELECT count(*)::integer AS n FROM rate_windows`, ([row]) => row!.n)
      const mayDelete = yield* Deferred.make<void>()
      const leases = Layer.effect(
        Leases,
        Effect.map(Leases, (real) =>
          Leases.of({
            ...real,
            hold: (name, options, work) => Effect.andThen(Deferred.await(mayDelete), real.hold(name, options, work))
          }))
      ).pipe(Layer.provide(LeasesOfDatabase.layer))
      yield* Effect.gen(function*() {
        yield* (yield* RateLimits).take("key", "gone", 3)
        assert.strictEqual(yield* rows, 1)
        yield* Deferred.succeed(mayDelete, undefined)
        while ((yield* rows) > 0) yield* Effect.sleep(50)
      }).pipe(
        Effect.provide(Database.layerWith({ span, timeoutMillis: patienceMillis }).pipe(Layer.provide(leases)))
      )
    }).pipe(Effect.provide(databaseLayer)))

  it.live("are kept by the instance itself while the database is away, and nobody is refused without need", () =>
    Effect.gen(function*() {
      const limits = yield* RateLimits
      const verdicts = yield* Effect.forEach([1, 2, 3], () => limits.take("key", "k", 2))
      assert.deepStrictEqual(verdicts.map(({ accepted, remaining }) => [accepted, remaining]), [
        [true, 1],
        [true, 0],
        [false, 0]
      ])
      for (const { resetMillis } of verdicts) {
        assert.isTrue(resetMillis > 0 && resetMillis <= windowMillis, String(resetMillis))
      }
      assert.isTrue((yield* limits.take("key", "other", 2)).accepted)
    }).pipe(Effect.provide(
      Database.layer.pipe(
        Layer.provide(Layer.succeed(SqlClient.SqlClient, { unsafe: () => Effect.fail("gone") } as never)),
        Layer.provide(
          Layer.succeed(Leases, {
            hold: () => Effect.never,
            statuses: Effect.succeed([]),
            findings: Effect.succeed([])
          })
        )
      )
    )))
})
