/**
 * Goal: instances of a cluster divide work, and an upgrade of the engine changes nothing that two versions must agree
 * on. Method: instances in one process, each with connections of its own; what kills and freezes processes is in
 * `npm run bench -- cluster`.
 */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlRunnerStorage } from "effect/cluster"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { globSync, readFileSync } from "node:fs"
import { type InstanceRole, instanceRoles, Leases } from "../../../runtime/Leases.ts"
import { layer, lockNamespace, sessionNameOf } from "../../../runtime/leases/Cluster.ts"
import { leasesSuite, ttlMillis } from "../../conformance/leases.ts"
import { connect, freshDatabase, type TestDatabase } from "../../support/Database.ts"
import { until } from "../../support/Service.ts"

const root = new URL("../../../", import.meta.url).pathname

const member = (
  database: TestDatabase,
  instanceId: string,
  roles: ReadonlyArray<InstanceRole> = instanceRoles
) =>
  Layer.fresh(
    layer({ instanceId, roles, takeoverMillis: ttlMillis }).pipe(
      Layer.provideMerge(connect(database, sessionNameOf(instanceId)))
    )
  )

describe("leases of a cluster", () => leasesSuite((database, instanceId) => member(database, instanceId)))

describe("a cluster", () => {
  it.live("gives each name to an instance whose role it is, and says in health what nobody does", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const start = (roles: ReadonlyArray<InstanceRole>) =>
        Effect.map(Layer.build(member(database, randomUUID(), roles)), (services) => Context.get(services, Leases))
      const api = yield* start(["api"])
      const worker = yield* start(["worker"])
      const held: Array<string> = []
      for (const [who, leases] of [["api", api], ["worker", worker]] as const) {
        for (const role of ["follower", "worker"] as const) {
          yield* Effect.forkChild(
            leases.hold(`${role}-work`, { role, ttlMillis, passMillis: 60_000 }, () =>
              Effect.andThen(
                Effect.sync(() => held.push(`${who} ${role}`)),
                Effect.never
              ))
          )
        }
      }
      yield* until("the worker has its work", Effect.sync(() => held.length), (count) => count > 0)
      // Both by one look: a busy machine renews late now and then.
      yield* until(
        "health says what nobody does, and of what the worker does that it is done",
        api.statuses,
        ([followerWork, workerWork]) =>
          followerWork !== undefined && followerWork.ageMillis > 3 * ttlMillis &&
          workerWork !== undefined && workerWork.ageMillis < 2 * ttlMillis
      )
      assert.deepStrictEqual([...new Set(held)], ["worker worker"])
    }))

  it.live("of which one instance is stuck with some work leaves it to another instance", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const start = Effect.suspend(() =>
        Effect.map(Layer.build(member(database, randomUUID())), (services) => Context.get(services, Leases))
      )
      const passMillis = 400
      const terms: Array<string> = []
      const one = yield* start
      yield* Effect.forkChild(one.hold("work", { role: "worker", ttlMillis, passMillis }, () =>
        Effect.andThen(
          Effect.sync(() => terms.push("stuck")),
          Effect.never
        )))
      yield* until(
        "it is held",
        Effect.sync(() => terms.length),
        (count) => count > 0
      )
      const other = yield* start
      yield* Effect.forkChild(
        other.hold("work", { role: "worker", ttlMillis, passMillis: 60_000 }, (_, progress) =>
          Effect.sync(() =>
            terms.push("works")
          ).pipe(
            Effect.andThen(Effect.forever(Effect.andThen(progress, Effect.sleep(50))))
          ))
      )
      yield* until(
        "the other has it",
        Effect.sync(() =>
          terms.at(-1)
        ),
        (last) => last === "works"
      )
      yield* Effect.sleep(2 * ttlMillis)
      assert.strictEqual(terms.at(-1), "works")
    }))

  it.live("refuses sessions that do not carry the instance's name, by which the others know it", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const refused = yield* Effect.flip(Effect.scoped(Layer.build(
        layer({ instanceId: randomUUID(), roles: instanceRoles, takeoverMillis: ttlMillis }).pipe(
          Layer.provide(connect(database))
        )
      )))
      assert.include(String(refused.message), "are named \"tillwire test\"")
    }))

  it.live("keeps the lock numbers that two versions must agree on", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const services = yield* Layer.build(member(database, randomUUID()))
      const leases = Context.get(services, Leases)
      const sql = Context.get(services, SqlClient.SqlClient)
      const started: Array<string> = []
      for (const name of ["chain:base:mainnet", "timer:invoices", "chain:handler:3"]) {
        const role = name.startsWith("chain:base") ? "follower" as const : "worker" as const
        yield* Effect.forkChild(leases.hold(name, { role, ttlMillis, passMillis: 60_000 }, () =>
          Effect.andThen(
            Effect.sync(() => started.push(name)),
            Effect.never
          )))
      }
      const locks = sql<{ namespace: number; number: number }>`
        SELECT classid::bigint::float8 AS namespace, objid::bigint::float8 AS number FROM pg_locks
        WHERE locktype = 'advisory' AND objsubid = 2 AND granted
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) ORDER BY number`
      const found = yield* until("all locks", Effect.orDie(locks), (all) => all.length === 180)
      assert.deepStrictEqual(new Set(found.map(({ namespace }) => namespace)), new Set([lockNamespace]))
      // The groups `api`, `follower` and `worker`, in this order, 60 shards each.
      const numbers = [1, 2, 3].flatMap((group) =>
        Array.from({ length: 60 }, (_, index) => group * 1_000_000 + index + 1)
      )
      assert.deepStrictEqual(found.map(({ number }) => number), numbers)
      yield* until("all names", Effect.sync(() => started.length), (count) => count === 3)
    }))

  it("has one file that knows the engine, which is not stable yet", () => {
    const files = globSync("{runtime,modules,schemas}/**/*.ts", { cwd: root })
    const importing = files.filter((file) => /from "effect\/cluster/u.test(readFileSync(`${root}${file}`, "utf8")))
    assert.deepStrictEqual(importing, ["runtime/leases/Cluster.ts"])
  })

  it.live("has the table of the engine's own migrations", () =>
    Effect.gen(function*() {
      const columnsOf = (table: string) =>
        Effect.map(
          SqlClient.SqlClient,
          (sql) =>
            sql`SELECT column_name, data_type, is_nullable, character_maximum_length FROM information_schema.columns
              WHERE table_name = ${table} ORDER BY column_name`
        ).pipe(Effect.flatten)
      yield* Effect.gen(function*() {
        yield* Layer.build(SqlRunnerStorage.layerMigrations({ prefix: "engine" }))
        assert.deepStrictEqual(yield* columnsOf("cluster_runners"), yield* columnsOf("engine_runners"))
      }).pipe(Effect.provide(connect(yield* freshDatabase)))
    }))
})
