/**
 * Goal: the work of a cluster goes on when the network of an instance goes silent, when the database ends all sessions,
 * and while two builds run side by side. Method: instances in one process, each with connections of its own;
 * `npm run bench -- cluster_faults` does the same to processes, and longer.
 */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import type { Fence } from "../../../runtime/Commit.ts"
import { instanceRoles, Leases } from "../../../runtime/Leases.ts"
import { layer, lockNamespace, sessionNameOf } from "../../../runtime/leases/Cluster.ts"
import { ttlMillis } from "../../conformance/leases.ts"
import { connect, freshDatabase, type TestDatabase } from "../../support/Database.ts"
import { makeDatabaseProxy } from "../../support/DatabaseProxy.ts"
import { until } from "../../support/Service.ts"

interface Pass {
  readonly by: string
  readonly fence: Fence
}

/** Work that writes a row in each pass under its fence, as a commit would. */
const makeTrial = (database: TestDatabase) =>
  Effect.gen(function*() {
    const sql = Context.get(yield* Layer.build(connect(database)), SqlClient.SqlClient)
    const passes: Array<Pass> = []
    const start = Effect.fnUntraced(function*(by: string, names: ReadonlyArray<string>, at = database) {
      const scope = yield* Effect.acquireRelease(Scope.make(), (each) => Scope.close(each, Exit.void))
      const instanceId = randomUUID()
      const services = yield* Layer.buildWithScope(
        Layer.fresh(
          layer({ instanceId, roles: instanceRoles, takeoverMillis: ttlMillis }).pipe(
            Layer.provideMerge(connect(at, sessionNameOf(instanceId)))
          )
        ),
        scope
      )
      const own = Context.get(services, SqlClient.SqlClient)
      for (const name of names) {
        yield* Effect.forkIn(
          Context.get(services, Leases).hold(
            name,
            { role: "worker", ttlMillis, passMillis: 60_000 },
            (fence, progress) =>
              Effect.forever(
                Effect.gen(function*() {
                  const held =
                    yield* own`select 1 from leases where name = ${name} and token = ${fence.token} for share`
                  if (held.length > 0) passes.push({ by, fence })
                  yield* progress
                }).pipe(Effect.ignore, Effect.andThen(Effect.sleep(50)))
              )
          ),
          scope
        )
      }
      return { stop: Scope.close(scope, Exit.void) }
    })
    /** Which names are done after now, and by whom. */
    const doneBy = (name: string) => {
      const from = passes.length
      return Effect.sync(() => passes.slice(from).findLast(({ fence }) => fence.name === name)?.by)
    }
    /** Passes under an older term than one before it of the same name. */
    const late = () =>
      passes.filter(({ fence }, at) =>
        passes.slice(0, at).some((before) => before.fence.name === fence.name && before.fence.token > fence.token)
      )
    return { sql, start, doneBy, late }
  })

describe("a cluster", () => {
  it.live(
    "goes on with the work of an instance whose network went silent, and refuses what that one still writes",
    () =>
      Effect.gen(function*() {
        const database = yield* freshDatabase
        const { doneBy, late, start } = yield* makeTrial(database)
        const proxy = yield* makeDatabaseProxy(database)
        yield* start("behind", ["work"], { ...database, host: "127.0.0.1", port: Number(new URL(proxy.url).port) })
        yield* until("it works", doneBy("work"), (by) => by === "behind")
        yield* proxy.set("held")
        yield* start("other", ["work"])
        yield* until("the other works", doneBy("work"), (by) => by === "other")
        yield* proxy.set("through")
        yield* Effect.sleep(ttlMillis)
        assert.deepStrictEqual(late(), [])
      })
  )

  it.live(
    "goes on when the database ends all its sessions, again and again, and has all its shards",
    () =>
      Effect.gen(function*() {
        const database = yield* freshDatabase
        const { doneBy, late, sql, start } = yield* makeTrial(database)
        yield* start("one", ["work"])
        yield* until("it works", doneBy("work"), (by) => by !== undefined)
        for (let round = 0; round < 3; round++) {
          yield* sql`select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and application_name like 'tillwire-%'`
          yield* until("it works again", doneBy("work"), (by) => by !== undefined)
        }
        const locks = sql<{ shards: number }>`select count(*)::int as shards from pg_locks
        where locktype = 'advisory' and granted and classid::bigint = ${lockNamespace}::bigint
          and database = (select oid from pg_database where datname = current_database())`
        yield* until(
          "all shards",
          Effect.orDie(locks),
          ([found]) => found!.shards === 60 * instanceRoles.length
        )
        assert.deepStrictEqual(late(), [])
      })
  )

  it.live(
    "of two builds does what both know once, and what the newer one brings when the older one left",
    () =>
      Effect.gen(function*() {
        const database = yield* freshDatabase
        const { doneBy, late, start } = yield* makeTrial(database)
        const older = yield* start("older", ["first", "second"])
        yield* until("the older works", doneBy("second"), (by) => by === "older")
        yield* start("newer", ["first", "second", "third"])
        yield* Effect.sleep(ttlMillis)
        yield* older.stop
        for (const name of ["first", "second", "third"]) {
          yield* until(`the newer does ${name}`, doneBy(name), (by) => by === "newer")
        }
        assert.deepStrictEqual(late(), [])
      })
  )
})
