/**
 * Goal: work that one instance does at a time is done by some instance, by one at a time, and what a paused one still
 * writes is refused. Method: instances with connections of their own on one database, in real time.
 */
import { assert, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import type { Fence } from "../../runtime/Commit.ts"
import { type LeaseOptions, Leases } from "../../runtime/Leases.ts"
import { freshDatabase, type TestDatabase } from "../support/Database.ts"
import { until } from "../support/Service.ts"

/** Short, so that a test sees several terms. */
export const ttlMillis = 1_500

const options: LeaseOptions = { role: "worker", ttlMillis, passMillis: 60_000 }

type Driver = (database: TestDatabase, instanceId: string) => Layer.Layer<Leases | SqlClient.SqlClient, unknown>

interface Instance {
  readonly leases: Leases["Service"]
  readonly sql: SqlClient.SqlClient
  readonly scope: Scope.Closeable
}

/** The promises of {@link Leases} over `driver`. */
export const leasesSuite = (driver: Driver) => {
  /** An instance; its scope may be closed before the test ends. */
  const start = (database: TestDatabase): Effect.Effect<Instance, unknown, Scope.Scope> =>
    Effect.gen(function*() {
      const scope = yield* Effect.acquireRelease(Scope.make(), (each) => Scope.close(each, Exit.void))
      const services = yield* Layer.buildWithScope(Layer.fresh(driver(database, randomUUID())), scope)
      return { leases: Context.get(services, Leases), sql: Context.get(services, SqlClient.SqlClient), scope }
    })

  /** Terms of a name, in the order in which they began; `write` is what the current ones are doing. */
  const follow = ({ leases, scope }: Instance, name: string, more: Partial<LeaseOptions> = {}) => {
    const terms: Array<Fence> = []
    let running = 0
    const work = (fence: Fence, progress: Effect.Effect<void>) =>
      Effect.gen(function*() {
        terms.push(fence)
        running++
        yield* Effect.addFinalizer(() => Effect.sync(() => running--))
        return yield* Effect.forever(Effect.andThen(progress, Effect.sleep(20)))
      }).pipe(Effect.scoped)
    return Effect.as(
      Effect.forkIn(leases.hold(name, { ...options, ...more }, work), scope),
      { terms, isRunning: () => running > 0 }
    )
  }

  const holds = (each: { readonly isRunning: () => boolean }) => Effect.sync(() => each.isRunning())
  const promise = (what: string, body: Effect.Effect<unknown, unknown, Scope.Scope>) => it.live(what, () => body)

  promise(
    "a name is held by one of several instances, and by another, with a higher token, when that one stops",
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const instances = yield* Effect.forEach([1, 2], () => start(database))
      const both = yield* Effect.forEach(instances, (each) => follow(each, "work"))
      yield* until("somebody holds it", Effect.forEach(both, holds), (all) => all.includes(true))
      assert.lengthOf(both.filter(({ isRunning }) => isRunning()), 1)
      const first = both[0]!.isRunning() ? 0 : 1
      const token = both[first]!.terms.at(-1)!.token
      yield* Scope.close(instances[first]!.scope, Exit.void)
      assert.isFalse(both[first]!.isRunning())
      yield* until("the other has it", holds(both[1 - first]!), (is) => is)
      assert.isTrue(both[1 - first]!.terms.at(-1)!.token > token)
    })
  )

  promise(
    "a term ends once a newer one has begun, and the work goes on with a newer fence",
    Effect.gen(function*() {
      const one = yield* start(yield* freshDatabase)
      const { isRunning, terms } = yield* follow(one, "work")
      yield* until("it is held", holds({ isRunning }), (is) => is)
      const { token } = terms.at(-1)!
      yield* one.sql`update leases set token = token + 1, holder = 'another', until = now() + interval '1 second'`
      yield* until("a newer term", Effect.sync(() => terms.at(-1)!.token), (newer) => newer > token + 1n)
    })
  )

  promise(
    "an end of the lease that lies an hour ahead, as after a clock was set back, keeps nobody from a free name",
    Effect.gen(function*() {
      const one = yield* start(yield* freshDatabase)
      yield* one
        .sql`insert into leases (name, holder, token, until) values ('work', 'dead', 7, now() + interval '1 hour')`
      const { terms } = yield* follow(one, "work")
      yield* until("it is taken", Effect.sync(() => terms.length), (count) => count > 0)
      assert.isTrue(terms[0]!.token > 7n)
    })
  )

  promise(
    "each instance knows whether the name is held, and when its work last made progress",
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const instances = yield* Effect.forEach([1, 2], () => start(database))
      const both = yield* Effect.forEach(instances, (each) => follow(each, "work"))
      yield* until("somebody holds it", Effect.forEach(both, holds), (all) => all.includes(true))
      yield* Effect.sleep(2 * ttlMillis)
      for (const [index, { leases }] of instances.entries()) {
        // A busy machine looks late now and then.
        const [status] = yield* until(
          "it was seen a moment ago",
          leases.statuses,
          ([found]) => found!.ageMillis < 2 * ttlMillis && found!.progressAgeMillis < 2 * ttlMillis
        )
        assert.strictEqual(status!.name, "work")
        assert.strictEqual(status!.isHeldHere, both[index]!.isRunning())
      }
      const [row] = yield* instances[0]!.sql<{ fresh: boolean }>`
        select progressed_at > now() - interval '10 seconds' as fresh from leases where name = 'work'`
      assert.isTrue(row!.fresh)
    })
  )

  promise(
    "work that dies begins anew, and work that stands still is interrupted and begun anew",
    Effect.gen(function*() {
      const one = yield* start(yield* freshDatabase)
      const terms: Array<bigint> = []
      let interrupted = 0
      yield* Effect.forkIn(
        one.leases.hold("work", { ...options, passMillis: 500 }, ({ token }) =>
          Effect.suspend(() => {
            terms.push(token)
            return terms.length === 1 ? Effect.die("a mistake of ours") : Effect.never
          }).pipe(Effect.onInterrupt(() => Effect.sync(() => interrupted++)))),
        one.scope
      )
      yield* until("a third term", Effect.sync(() => terms.length), (count) => count >= 3)
      assert.isAtLeast(interrupted, 1)
      assert.deepStrictEqual(terms.toSorted(), terms)
    })
  )

  promise(
    "different names are held side by side, each with a row of its own",
    Effect.gen(function*() {
      const one = yield* start(yield* freshDatabase)
      const all = yield* Effect.forEach(["a", "b", "c"], (name) => follow(one, name))
      yield* until("all are held", Effect.forEach(all, holds), (each) => !each.includes(false))
      const rows = yield* one.sql<{ name: string }>`select name from leases where until > now() order by name`
      assert.deepStrictEqual(rows.map(({ name }) => name), ["a", "b", "c"])
    })
  )
}
