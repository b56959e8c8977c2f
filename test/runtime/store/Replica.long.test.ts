/**
 * Goal: no answer of the replica shows less than an earlier answer did, or what may never have happened, and whatever
 * becomes of the replica, somebody answers. Method: Debian's PostgreSQL with streaming standbys that are held back,
 * promoted, killed, frozen and started again.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Fiber, Layer, Redacted, type Scope } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { readsOf } from "../../../runtime/ReadReplica.ts"
import { bytesBehind, fitnessOf, objectionToReplica, positionOf } from "../../../runtime/store/replica/Fitness.ts"
import { outcomeOf } from "../../../runtime/store/replica/Outcome.ts"
import * as Replica from "../../../runtime/store/Replica.ts"
import * as Postgres from "../../../runtime/store/Postgres.ts"
import type { StoreError } from "../../../runtime/store/StoreError.ts"
import { until } from "../../support/Service.ts"
import { type Server, standbysMissing, startForeignStandby, startPrimary, startStandby } from "../../support/Standby.ts"

const facts = {
  standby: true,
  system: "1",
  database: "5",
  schemas: "{public}",
  timeline: 1,
  position: "0/1000"
}

describe("whether a replica is fit", () => {
  it("is decided by what it has replayed, in bytes of the log", () => {
    const primary = { ...facts, standby: false, position: "1/00000010" }
    assert.strictEqual(positionOf("1/00000010"), 4_294_967_312n)
    assert.strictEqual(bytesBehind(primary, { ...facts, position: "0/FFFFFFF0" }), 32)
    assert.deepStrictEqual(fitnessOf(primary, { ...facts, position: "1/10" }, "x"), { _tag: "Ready" })
    assert.deepStrictEqual(fitnessOf(primary, { ...facts, position: "1/20" }, "x"), { _tag: "Ready" })
    assert.deepStrictEqual(fitnessOf(primary, { ...facts, position: null }, "x"), { _tag: "Behind", bytes: null })
  })

  it("is told by name where the server is none of this primary", () => {
    const primary = { ...facts, standby: false }
    assert.isUndefined(objectionToReplica(primary, facts, "x"))
    assert.include(objectionToReplica(primary, { ...facts, standby: false }, "x")?.what, "no standby")
    assert.include(objectionToReplica(primary, { ...facts, system: "2" }, "x")?.what, "another system")
    assert.include(objectionToReplica(primary, { ...facts, database: "6" }, "x")?.what, "another database")
    assert.include(objectionToReplica(primary, { ...facts, schemas: "{}" }, "x")?.what, "find tables in")
    assert.include(JSON.stringify(fitnessOf(primary, { ...facts, timeline: 2 }, "x")), "timeline 2")
    assert.include(JSON.stringify(fitnessOf(facts, facts, "x")), "is a standby itself")
  })
})

describe("reads that failed on the replica", () => {
  const failed = (code: string | undefined) =>
    new SqlError.SqlError({
      reason: new SqlError.UnknownError({ cause: Object.assign(new Error("it said so"), { code }), operation: "read" })
    })
  const outcome = (cause: Cause.Cause<unknown>) => {
    const found = outcomeOf(Exit.failCause(cause))
    return found._tag === "Answered" ? "answered" : found.reason
  }

  it("run on the primary where the server or its snapshot was lost, which alone is no reason to leave it", () => {
    assert.strictEqual(outcome(Cause.die(failed("57P01"))), "it said so")
    assert.strictEqual(outcome(Cause.fail(failed(undefined))), "it said so")
    assert.isNull(outcome(Cause.die(failed("40001"))))
    assert.isNull(outcome(Cause.die(failed("42501"))))
    assert.isNull(outcome(Cause.interrupt(1)))
  })

  it("have failed where the primary would say the same, or take as long", () => {
    assert.strictEqual(outcome(Cause.fail(new Error("no such invoice"))), "answered")
    assert.strictEqual(outcome(Cause.die(failed("57014"))), "answered")
  })
})

const hour = 3_600_000

/** Looks that come soon, so that a test need not wait for the next one, and reads that only their server can end. */
const limits = { ...Replica.replicaLimits, interval: 100, read: hour }

/** Of which server an answer is, and how many rows it shows. */
interface Answer {
  readonly standby: boolean
  readonly rows: number
}

const database = "payments"

/** Writers at once, and rows that each of them stores one after the other. */
const writers = 3
const burst = 150

const optionsOf = (primary: Server, replica: Server, name = database) => ({
  url: Redacted.make(primary.urlOf(name)),
  maxConnections: 4,
  sessionSettings: "connection" as const,
  replica: { url: Redacted.make(replica.urlOf(name)), maxConnections: 4 }
})

/** A store with its replica, and what its statements say. */
const openStore = Effect.fnUntraced(function*(primary: Server, replica: Server) {
  const options = optionsOf(primary, replica)
  const store = yield* Layer.build(
    Layer.provideMerge(Replica.layer(options, undefined, limits), Postgres.layer(options))
  )
  const sql = Context.get(store, SqlClient.SqlClient)
  const reads = yield* Effect.provideContext(
    readsOf(Effect.map(SqlClient.SqlClient, (client) => (statement: string) => client.unsafe<Answer>(statement))),
    store
  )
  const ask = (statement: string): Effect.Effect<Answer> =>
    Effect.orDie(Effect.map(reads((query) => query(statement)), ([row]) => row!))
  return {
    insert: Effect.orDie(sql`insert into payments default values`),
    rows: ask("select pg_is_in_recovery() as standby, count(*)::int as rows from payments"),
    /** Does not end on a standby, so that it can be lost meanwhile. */
    slowRows: ask(
      "select pg_is_in_recovery() as standby, count(*)::int as rows from payments, "
        + "lateral (select case when pg_is_in_recovery() then pg_sleep(3600) end) pause"
    )
  }
})
type Store = Effect.Success<ReturnType<typeof openStore>>

class Rig extends Context.Service<Rig, Server>()("test/Rig") {}

const rig = Layer.effect(
  Rig,
  Effect.gen(function*() {
    const primary = yield* startPrimary
    yield* primary.query("postgres", `create database ${database}`)
    yield* primary.query(database, "create table payments (id bigint generated always as identity primary key)")
    return primary
  })
)

const isOfReplica = (store: Store) => until("the replica answers", store.rows, ({ standby }) => standby)

/** A standby of its own, and a store that reads from it. */
const withReplica = <A, E>(
  use: (parts: { readonly primary: Server; readonly replica: Server; readonly store: Store }) => Effect.Effect<A, E>
): Effect.Effect<A, E | StoreError, Rig> =>
  Effect.scoped(Effect.gen(function*() {
    const primary = yield* Rig
    const replica = yield* startStandby(primary)
    return yield* use({ primary, replica, store: yield* openStore(primary, replica) })
  }))

const refusalOf = (primary: Server, replica: Server, name?: string): Effect.Effect<StoreError, never, Scope.Scope> => {
  const options = optionsOf(primary, replica)
  const other = name === undefined ? options : { ...options, replica: optionsOf(primary, replica, name).replica }
  return Effect.orDie(
    Effect.flip(Layer.build(Layer.provide(Replica.layer(other, undefined, limits), Postgres.layer(options))))
  )
}

if (standbysMissing !== undefined) {
  describe("a replica", () => it.skip(`needs a standby: ${standbysMissing}`, () => undefined))
} else {
  layer(rig, { excludeTestServices: true })("a replica", (it) => {
    it.effect("shows what was stored right before, whichever of two stores stored it", () =>
      withReplica(({ primary, replica, store }) =>
        Effect.scoped(Effect.gen(function*() {
          const other = yield* openStore(primary, replica)
          const before = yield* isOfReplica(store)
          let ofReplica = 0
          for (let stored = 1; stored <= 40; stored++) {
            yield* other.insert
            const { rows, standby } = yield* store.rows
            assert.strictEqual(rows, before.rows + stored)
            if (standby) ofReplica += 1
          }
          // On a busy machine some of them are late.
          assert.isAbove(ofReplica, 0)
        }))
      ))

    it.effect("never answers with less than before while its replay is held, and goes on by itself afterwards", () =>
      withReplica(({ replica, store }) =>
        Effect.gen(function*() {
          const before = yield* isOfReplica(store)
          yield* replica.query("postgres", "select pg_wal_replay_pause()")
          yield* store.insert
          const held = yield* store.rows
          assert.deepStrictEqual(held, { standby: false, rows: before.rows + 1 })
          yield* replica.query("postgres", "select pg_wal_replay_resume()")
          assert.deepStrictEqual(yield* isOfReplica(store), { standby: true, rows: before.rows + 1 })
        })
      ))

    it.effect("never goes back for callers who write and read at once, while its replay is held now and then", () =>
      withReplica(({ primary, replica, store }) =>
        Effect.scoped(Effect.gen(function*() {
          const stores = [store, yield* openStore(primary, replica)]
          yield* Effect.forEach(stores, isOfReplica)
          const start = (yield* store.rows).rows
          let stored = start
          let shown = start
          let ofReplica = 0
          const writer = Effect.repeat(
            Effect.tap(store.insert, () => Effect.sync(() => void (stored += 1))),
            { times: burst - 1 }
          )
          const reader = ({ rows }: Store) =>
            Effect.gen(function*() {
              while (stored < start + writers * burst) {
                const least = Math.max(stored, shown)
                const answer = yield* rows
                assert.isAtLeast(answer.rows, least)
                shown = Math.max(shown, answer.rows)
                if (answer.standby) ofReplica += 1
              }
            })
          const hold = Effect.gen(function*() {
            while (stored < start + writers * burst) {
              yield* replica.query("postgres", "select pg_wal_replay_pause()")
              yield* replica.query("postgres", "select pg_wal_replay_resume()")
              yield* Effect.sleep(limits.interval)
            }
          })
          yield* Effect.all([
            ...Array.from({ length: writers }, () => writer),
            ...stores.flatMap((one) => [reader(one), reader(one)]),
            hold
          ], { concurrency: "unbounded" })
          assert.isAbove(ofReplica, 0)
          assert.deepStrictEqual((yield* store.rows).rows, start + writers * burst)
        }))
      ))

    it.effect("shows no row that the primary does not show yet, because a synchronous standby has not confirmed it", () =>
      withReplica(({ primary, replica, store }) =>
        Effect.gen(function*() {
          const before = yield* isOfReplica(store)
          const setNames = (names: string) =>
            Effect.andThen(
              primary.query("postgres", `alter system set synchronous_standby_names = '${names}'`),
              primary.query("postgres", "select pg_reload_conf()")
            )
          const countAt = (server: Server) =>
            Effect.map(server.query(database, "select count(*)::int as rows from payments"), ([row]) => row!["rows"])
          yield* Effect.gen(function*() {
            yield* setNames("nobody")
            const inserts = yield* Effect.forkChild(Effect.repeat(store.insert, { until: () => isOver }))
            let isOver = false
            yield* until(
              "a commit waits",
              primary.query("postgres", "select 1 from pg_stat_activity where wait_event = 'SyncRep'"),
              (rows) => rows.length > 0
            )
            const rows: number = yield* countAt(primary)
            yield* until("the standby has the row", countAt(replica), (found) => found === rows + 1)
            assert.deepStrictEqual(yield* store.rows, { standby: false, rows })
            isOver = true
            yield* setNames("")
            yield* Fiber.join(inserts)
            assert.deepStrictEqual(yield* isOfReplica(store), { standby: true, rows: rows + 1 })
            assert.isAbove(rows + 1, before.rows)
          }).pipe(Effect.ensuring(setNames("")))
        })
      ))

    it.effect("answers nothing once it was promoted, whatever it was written since", () =>
      withReplica(({ replica, store }) =>
        Effect.gen(function*() {
          const before = yield* isOfReplica(store)
          yield* replica.query("postgres", "select pg_promote()")
          yield* replica.query(database, "insert into payments default values")
          assert.deepStrictEqual(yield* store.rows, { standby: false, rows: before.rows })
        })
      ))

    it.effect("is left for the primary when it is killed between reads and in one, and used again after a restart", () =>
      withReplica(({ replica, store }) =>
        Effect.gen(function*() {
          const before = yield* isOfReplica(store)
          let fiber = yield* Effect.forkChild(store.slowRows)
          yield* until(
            "the read runs",
            Effect.gen(function*() {
              // On a busy machine the replica may be late for it, and the primary has answered.
              if (fiber.pollUnsafe() !== undefined) fiber = yield* Effect.forkChild(store.slowRows)
              return yield* replica.query(
                "postgres",
                "select 1 from pg_stat_activity where query like '%pg_sleep(3600)%' and pid <> pg_backend_pid()"
              )
            }),
            (rows) => rows.length > 0
          )
          yield* replica.kill
          assert.deepStrictEqual(yield* Fiber.join(fiber), { standby: false, rows: before.rows })
          assert.deepStrictEqual(yield* store.rows, { standby: false, rows: before.rows })
          yield* store.insert
          yield* replica.start
          assert.deepStrictEqual(yield* isOfReplica(store), { standby: true, rows: before.rows + 1 })
        })
      ))

    it.effect("keeps nobody waiting when it is frozen, and is used again when it thaws", () =>
      withReplica(({ replica, store }) =>
        Effect.gen(function*() {
          const before = yield* isOfReplica(store)
          yield* replica.freeze
          assert.deepStrictEqual(yield* store.rows, { standby: false, rows: before.rows })
          yield* replica.thaw
          assert.deepStrictEqual(yield* isOfReplica(store), { standby: true, rows: before.rows })
        })
      ))

    it.effect("answers nothing of a history that the primary left, however long that is", () =>
      Effect.scoped(Effect.gen(function*() {
        const old = yield* Rig
        const promoted = yield* startStandby(old)
        const left = yield* startStandby(old)
        yield* promoted.query("postgres", "select pg_promote()")
        // The old primary lives on and stores what the new one never had.
        yield* old.query(database, "insert into payments select from generate_series(1, 1000)")
        const [written] = yield* old.query(database, "select count(*)::int as rows from payments")
        yield* until(
          "the standby has it",
          left.query(database, "select count(*)::int as rows from payments"),
          ([row]) => row!["rows"] === written!["rows"]
        )
        // More transactions than the other history has, in less of the log: neither can be told by its numbers.
        yield* promoted.query(database, "insert into payments default values")
        yield* promoted.query(database, "insert into payments default values")
        const store = yield* openStore(promoted, left)
        assert.deepStrictEqual(yield* store.rows, { standby: false, rows: written!["rows"] - 998 })
      })))

    it.effect("answers again when it has followed the primary's successor", () =>
      Effect.scoped(Effect.gen(function*() {
        const promoted = yield* startStandby(yield* Rig)
        const replica = yield* startStandby(yield* Rig)
        yield* promoted.query("postgres", "select pg_promote()")
        const store = yield* openStore(promoted, replica)
        yield* store.insert
        assert.isFalse((yield* store.rows).standby)
        const connection = `host=127.0.0.1 port=${promoted.port} user=postgres`
        yield* replica.query("postgres", `alter system set primary_conninfo = '${connection}'`)
        yield* replica.query("postgres", "select pg_reload_conf()")
        const { rows } = yield* isOfReplica(store)
        assert.strictEqual((yield* store.rows).rows, rows)
      })))

    it.effect("is refused at the start where it is a primary, of another system, or of another database", () =>
      Effect.scoped(Effect.gen(function*() {
        const primary = yield* Rig
        const replica = yield* startStandby(primary)
        const itself = yield* refusalOf(primary, primary)
        assert.include(itself.what, "is no standby")
        assert.deepStrictEqual(itself.option, ["replica", "url"])
        assert.include((yield* refusalOf(primary, replica, "postgres")).what, "another database")
        assert.include((yield* refusalOf(primary, replica, "nowhere")).what, "no such database")
        const foreign = yield* startForeignStandby
        assert.include((yield* refusalOf(primary, foreign, "postgres")).what, "another system")
      })))
  })
}
