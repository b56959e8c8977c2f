import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import { SqlClient } from "effect/sql"
import type { Fence } from "../../../runtime/Commit.ts"
import { Leases } from "../../../runtime/Leases.ts"
import { layer } from "../../../runtime/leases/Database.ts"
import { leasesSuite } from "../../conformance/leases.ts"
import { connect, freshDatabase, type TestDatabase } from "../../support/Database.ts"
import { withLatency } from "../chains/ChainsInstance.ts"

const ttlMillis = 60_000
/** A pass may take longer than the leaps of the other tests. */
const options = { role: "worker", ttlMillis, passMillis: 100 * ttlMillis } as const
const third = TestClock.adjust(ttlMillis / 3)

/** Lets everything that is ready have its turn, sockets included. */
const turn = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))

const instance = Effect.fnUntraced(function*(database: TestDatabase) {
  const sql = Context.get(yield* Layer.build(Layer.fresh(connect(database))), SqlClient.SqlClient)
  let unanswered = 0
  const counting = new Proxy(sql, {
    apply: (target, self, words) => {
      const statement = Reflect.apply(target, self, words) as Effect.Effect<unknown>
      return Effect.suspend(() => {
        unanswered++
        return Effect.ensuring(statement, Effect.sync(() => unanswered--))
      })
    }
  })
  const services = yield* Layer.build(Layer.fresh(Layer.provide(layer, Layer.succeed(SqlClient.SqlClient, counting))))
  return { leases: Context.get(services, Leases), sql, isAnswered: () => unanswered === 0 }
})

/** A leap, and what it made due is answered by the database: a holder that lives renews in time. */
const leap = Effect.fnUntraced(
  function*(...instances: ReadonlyArray<{ readonly isAnswered: () => boolean }>) {
    yield* third
    do yield* turn
    while (!instances.every(({ isAnswered }) => isAnswered()))
    yield* turn
  }
)

/** Work that says when it has begun, and lasts until it is interrupted. */
const holding = (leases: Leases["Service"], begun: (fence: Fence) => void) =>
  Effect.forkChild(
    leases.hold("work", options, (fence) => Effect.andThen(Effect.sync(() => begun(fence)), Effect.never))
  )

describe("a lease", () => {
  it.effect("is held by one at a time, and passes on with a higher token when it is given up", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const nodes = yield* Effect.forEach([1, 2, 3], () => instance(database))
      yield* Effect.forEach(nodes, ({ sql }) => sql`select 1`, { concurrency: "unbounded" })
      let inside = 0
      const tokens: Array<bigint> = []
      const work = (fence: Fence) =>
        Effect.gen(function*() {
          assert.strictEqual(++inside, 1)
          tokens.push(fence.token)
          yield* nodes[0]!.sql`select pg_sleep(0.001)`
          inside--
        })
      const takeTurn = ({ leases }: { readonly leases: Leases["Service"] }) =>
        Effect.flatMap(Deferred.make<void>(), (done) =>
          Effect.raceFirst(
            leases.hold("work", options, (fence) =>
              Effect.andThen(
                work(fence).pipe(Effect.orDie),
                Effect.andThen(Deferred.succeed(done, undefined), Effect.never)
              )),
            Deferred.await(done)
          ))
      const all = yield* Effect.forkChild(
        Effect.forEach([...nodes, ...nodes], takeTurn, { concurrency: "unbounded" })
      )
      while (all.pollUnsafe() === undefined) yield* leap(...nodes)
      yield* Fiber.join(all)
      assert.deepStrictEqual(tokens, [1n, 2n, 3n, 4n, 5n, 6n])
    }))

  it.effect("is renewed in time, so nobody takes it from a holder that lives", () =>
    Effect.gen(function*() {
      const { leases, sql } = yield* instance(yield* freshDatabase)
      const begun = yield* Deferred.make<void>()
      yield* holding(leases, () => Deferred.doneUnsafe(begun, Exit.void))
      yield* Deferred.await(begun)
      yield* sql`update leases set until = now()`
      const left = Effect.map(sql<{ left: boolean }>`select until > now() as left from leases`, ([row]) => row!.left)
      while (!(yield* left)) yield* third
    }))

  it.effect("that another holder has taken interrupts the work, which starts anew when it is free again", () =>
    Effect.gen(function*() {
      const { leases, sql } = yield* instance(yield* freshDatabase)
      const fences: Array<Fence> = []
      let interrupted = 0
      yield* Effect.forkChild(
        leases.hold("work", options, (fence) =>
          Effect.andThen(
            Effect.sync(() => fences.push(fence)),
            Effect.never
          ).pipe(
            Effect.onInterrupt(() => Effect.sync(() => interrupted++))
          ))
      )
      while (fences.length < 1) yield* Effect.yieldNow
      yield* sql`update leases set holder = 'thief', token = token + 1, until = now() + interval '1 hour'`
      while (interrupted < 1) yield* third
      yield* third
      assert.strictEqual(fences.length, 1)
      yield* sql`update leases set until = now()`
      while (fences.length < 2) yield* third
      assert.deepStrictEqual(fences.map(({ token }) => token), [1n, 3n])
    }))

  it.effect("that cannot be renewed for as long as it lasts interrupts the work", () =>
    Effect.gen(function*() {
      const { leases, sql } = yield* instance(yield* freshDatabase)
      const begun = yield* Deferred.make<void>()
      const stopped = yield* Deferred.make<void>()
      yield* Effect.forkChild(leases.hold("work", options, () =>
        Effect.andThen(Deferred.succeed(begun, undefined), Effect.never).pipe(
          Effect.onInterrupt(() => Deferred.succeed(stopped, undefined))
        )))
      yield* Deferred.await(begun)
      yield* sql`alter table leases rename to hidden`
      while (!Deferred.isDoneUnsafe(stopped)) {
        yield* third
      }
    }))

  it.live("of an instance that died passes on at its end", () =>
    Effect.gen(function*() {
      const { leases, sql } = yield* instance(yield* freshDatabase)
      yield* sql`insert into leases (name, holder, token, until)
        values ('work', 'dead', 7, clock_timestamp() + interval '1 second')`
      const taken = yield* Deferred.make<void>()
      yield* holding(leases, () => Deferred.doneUnsafe(taken, Exit.void))
      // A lease that is renewed would be looked at after 20 s.
      yield* Effect.timeout(Deferred.await(taken), 10_000)
    }))

  it.effect("of an instance that died passes on within its term, though the database's clock was set back an hour", () =>
    Effect.gen(function*() {
      const one = yield* instance(yield* freshDatabase)
      const { leases, sql } = one
      yield* sql`insert into leases (name, holder, token, until) values ('work', 'dead', 7, now() + interval '1 hour')`
      const fences: Array<Fence> = []
      yield* holding(leases, (fence) => fences.push(fence))
      // Four looks: the first sees the row, the fourth sees it as it was, a whole term later.
      for (let looks = 0; looks < 6 && fences.length === 0; looks++) yield* leap(one)
      assert.deepStrictEqual(fences, [{ name: "work", token: 8n }])
      const [row] = yield* sql<
        { ordinary: boolean }
      >`select until < now() + interval '2 minutes' as ordinary from leases`
      assert.isTrue(row!.ordinary)
    }))

  for (const { end, warnings } of [{ end: "1 hour", warnings: 1 }, { end: "1 second", warnings: 0 }]) {
    it.effect(`of an instance that died, with ${end} to go, warns of a clock set back ${warnings} times`, () => {
      const logs: Array<unknown> = []
      return Effect.gen(function*() {
        const { leases, sql } = yield* instance(yield* freshDatabase)
        yield* sql`insert into leases (name, holder, token, until)
          values ('work', 'dead', 7, clock_timestamp() + ${end}::interval)`
        const fences: Array<Fence> = []
        yield* holding(leases, (fence) => fences.push(fence))
        // The first look sees the row, the fourth sees it unchanged for a whole term.
        for (let looks = 0; looks < 3; looks++) {
          yield* sql`select pg_sleep(0.1)`
          if (looks < 2) yield* third
        }
        yield* sql`select pg_sleep(greatest(extract(epoch from until - clock_timestamp()), 0))
          from leases where until < clock_timestamp() + interval '1 minute' and token = 7`
        while (fences.length === 0) yield* Effect.andThen(third, sql`select pg_sleep(0.05)`)
        assert.lengthOf(logs.filter((message) => /clock of the database set back/u.test(String(message))), warnings)
      }).pipe(Effect.provide(Logger.layer([Logger.make(({ message }) => void logs.push(message))])))
    })
  }

  it.effect("stays with an instance that lives, however far in the future a clock set back leaves its end", () =>
    Effect.gen(function*() {
      const { leases, sql } = yield* instance(yield* freshDatabase)
      yield* sql`insert into leases (name, holder, token, until) values ('work', 'alive', 7, now() + interval '1 hour')`
      const fences: Array<Fence> = []
      yield* holding(leases, (fence) => fences.push(fence))
      for (let looks = 0; looks < 12; looks++) {
        yield* Effect.andThen(third, sql`select pg_sleep(0.02)`)
        yield* sql`update leases set until = until + interval '1 millisecond' where token = 7`
      }
      assert.deepStrictEqual(fences, [])
    }))

  it.effect("is given up when its holder stops, and when the work dies, which begins anew", () =>
    Effect.gen(function*() {
      const { leases, sql } = yield* instance(yield* freshDatabase)
      const free = Effect.map(sql<{ free: boolean }>`select until < now() as free from leases`, ([row]) => row!.free)
      const terms: Array<bigint> = []
      const held = yield* Effect.forkChild(leases.hold("work", options, ({ token }) =>
        Effect.andThen(
          Effect.sync(() => terms.push(token)),
          token === 1n ? Effect.die("a mistake of ours") : Effect.never
        )))
      while (terms.length < 1 || !(yield* free)) yield* sql`select pg_sleep(0.005)`
      while (terms.length < 2) yield* Effect.andThen(TestClock.adjust(1_000), sql`select pg_sleep(0.005)`)
      assert.isFalse(yield* free)
      yield* Fiber.interrupt(held)
      assert.isTrue(yield* free)
      assert.deepStrictEqual(terms, [1n, 2n])
    }))

  it.effect("of work that stands still begins anew, and the second time leaves it to another instance", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const [one, other] = yield* Effect.forEach([1, 2], () => instance(database))
      const passMillis = ttlMillis
      const terms: Array<string> = []
      const stuck = (who: string) => (fence: Fence) =>
        Effect.andThen(Effect.sync(() => terms.push(`${who} ${fence.token}`)), Effect.never)
      yield* Effect.forkChild(one!.leases.hold("work", { ...options, passMillis }, stuck("one")))
      while (terms.length < 1) yield* one!.sql`select pg_sleep(0.005)`
      while (terms.length < 2) yield* leap(one!)
      assert.deepStrictEqual(terms, ["one 1", "one 2"])
      const working = Effect.fnUntraced(function*(fence: Fence, progress: Effect.Effect<void>) {
        terms.push(`other ${fence.token}`)
        return yield* Effect.forever(Effect.andThen(progress, Effect.sleep(passMillis / 2)))
      })
      yield* Effect.forkChild(other!.leases.hold("work", { ...options, passMillis }, working))
      while (terms.length < 3) yield* leap(one!, other!)
      // It has progress, so it keeps the lease, and the row says when it was last seen.
      for (let looks = 0; looks < 12; looks++) yield* leap(one!, other!)
      assert.deepStrictEqual(terms, ["one 1", "one 2", "other 3"])
      const [row] = yield* one!.sql<{ known: boolean }>`select progressed_at is not null as known from leases`
      assert.isTrue(row!.known)
      const [waiting] = yield* one!.leases.statuses
      assert.isBelow(waiting!.progressAgeMillis, 2 * passMillis)
    }))

  it.live("that the database gave out to an asker who is interrupted meanwhile is given up too", () =>
    Effect.gen(function*() {
      const database = yield* freshDatabase
      const { sql } = yield* instance(database)
      const { leases } = yield* instance(yield* withLatency(database, 100))
      const asker = yield* Effect.forkChild(leases.hold("work", options, () => Effect.never))
      const rows = sql<{ free: boolean }>`select until < now() as free from leases`
      // The row is there before the answer has come.
      while ((yield* rows).length === 0) yield* Effect.sleep(1)
      yield* Fiber.interrupt(asker)
      assert.deepStrictEqual(yield* rows, [{ free: true }])
    }))
})

describe("leases of the database", () => leasesSuite((database) => layer.pipe(Layer.provideMerge(connect(database)))))
