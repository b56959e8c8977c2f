/**
 * Goal: whoever's commit waits for a lock that another session holds is told within 3 s, with nothing written of it,
 * and nobody else is refused for it. Method: real PostgreSQL; a session of the test's own holds a row or a table while
 * many commits share batches. The log's clock is the time that its calls waited for locks, so that a machine of any
 * speed shows the same.
 */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Deferred, Effect, Exit, Fiber, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { MachineClock } from "../../../runtime/Clock.ts"
import { type Append, Commit } from "../../../runtime/Commit.ts"
import { sqlState } from "../../../runtime/commit/FlushError.ts"
import { layer as groupCommit } from "../../../runtime/commit/GroupCommit.ts"
import { lockTimeoutMillis } from "../../../runtime/commit/Statement.ts"
import { PublicError } from "../../../schemas/Errors.ts"
import { connect, type TestDatabase } from "../../support/Database.ts"
import { commitDatabase, commitOf, eventDraft, instance, part, tables, thing } from "./CommitFixture.ts"

/** What callers are promised, in milliseconds. */
const promisedMillis = 3_000

const range = (n: number) => Array.from({ length: n }, (_, index) => index)
const together = { concurrency: "unbounded" } as const
const reply = (scope: string) =>
  ({ environment: "devnet", scope, fingerprint: "f", status: 200, sealedBody: "sealed" }) as const

/** A log of one shard at a time, for whose clock time passes only while one of its calls waits for a lock. */
const makeLog = Effect.fnUntraced(function*(database: TestDatabase) {
  const sql = Context.get(yield* Layer.build(Layer.fresh(connect(database))), SqlClient.SqlClient)
  let waitedMillis = 0
  const noteWait = (values: ReadonlyArray<unknown> = []) => (error: SqlError.SqlError) =>
    Effect.sync(() => {
      // The last value of a flush is its time limit for locks, if it has one of its own.
      if (sqlState(error) === "55P03") waitedMillis += Number(values.at(-1) ?? lockTimeoutMillis)
    })
  const noting = new Proxy(sql, {
    get: (target, name) =>
      name === "unsafe"
        ? (text: string, values?: ReadonlyArray<unknown>) => Effect.tapError(sql.unsafe(text, values), noteWait(values))
        : Reflect.get(target, name)
  })
  const clock: Clock.Clock = Object.assign(Object.create(Clock.Clock.defaultValue()) as Clock.Clock, {
    monotonicTimeNanosUnsafe: () => BigInt(waitedMillis) * 1_000_000n,
    sleep: () => Effect.never
  })
  const services = yield* Effect.provideService(
    Layer.build(Layer.fresh(Layer.provide(groupCommit(tables), Layer.succeed(SqlClient.SqlClient, noting)))),
    MachineClock,
    clock
  )
  return { append: Context.get(services, Commit).append, sql, millis: () => waitedMillis }
})

/** A log, and another session that can hold what `statement` locks until told to let go. */
const town = Effect.gen(function*() {
  const database = yield* commitDatabase
  const log = yield* makeLog(database)
  const other = yield* instance(database)
  const hold = Effect.fnUntraced(function*(statement: string) {
    const holds = yield* Deferred.make<void>()
    const free = yield* Deferred.make<void>()
    const session = yield* Effect.forkScoped(other.sql.withTransaction(Effect.gen(function*() {
      yield* other.sql.unsafe(statement)
      yield* Deferred.succeed(holds, undefined)
      yield* Deferred.await(free)
    })))
    yield* Deferred.await(holds)
    return Effect.andThen(Deferred.succeed(free, undefined), Fiber.await(session))
  })
  /** How a commit ended, and after how many milliseconds of the log's clock. */
  const timed = (commit: Append) =>
    Effect.gen(function*() {
      const start = log.millis()
      const exit = yield* Effect.exit(log.append(commit))
      return { exit, millis: log.millis() - start }
    })
  return { ...log, hold, timed }
})

const isRefused = ({ exit }: { readonly exit: Exit.Exit<unknown, unknown> }) =>
  Exit.isFailure(exit) &&
  exit.cause.reasons.every((reason) =>
    reason._tag === "Fail" && reason.error instanceof PublicError && reason.error.code === "SERVICE_UNAVAILABLE" &&
    reason.error.retryAfterSeconds !== undefined
  )

describe("a commit that meets a lock", () => {
  it.effect(
    "on a row is refused within 3 s, leaves nothing, and lands when it is sent again; its batch lands",
    () =>
      Effect.gen(function*() {
        const { append, hold, sql, timed } = yield* town
        yield* append(commitOf(1, { writes: [thing(1, "held", 1)] }))
        const release = yield* hold("select * from things where id = 'held' for update")
        const blocked = commitOf(1, {
          writes: [part(1, "beside", 1), thing(1, "held", 2)],
          events: [eventDraft("held")],
          reply: reply("POST /held k")
        })
        const [refused, ...others] = yield* Effect.all([
          timed(blocked),
          ...range(200).map((n) =>
            timed(commitOf(1, { writes: [thing(1, `free ${n}`, 1)], events: [eventDraft(`${n}`)] }))
          )
        ], together)
        assert.isTrue(isRefused(refused!), String(refused!.exit))
        assert.isBelow(refused!.millis, promisedMillis)
        assert.deepStrictEqual(others.filter(({ exit }) => Exit.isFailure(exit)), [])
        assert.isBelow(Math.max(...others.map(({ millis }) => millis)), promisedMillis)
        const left =
          yield* sql`select (select count(*) from parts)::int as parts, (select count(*) from idempotency)::int as keys,
        (select count(*) from events where invoice_id = 'held')::int as events`
        assert.deepStrictEqual(left[0], { parts: 0, keys: 0, events: 0 })
        yield* release
        assert.lengthOf((yield* append(blocked)).events, 1)
        assert.strictEqual((yield* Effect.flip(append(blocked)))._tag, "IdempotentReplay")
      }).pipe(Effect.scoped)
  )

  it.effect(
    "on a table is refused within 3 s, and so is what waited behind it; other tables are written meanwhile",
    () =>
      Effect.gen(function*() {
        const { hold, sql, timed } = yield* town
        const release = yield* hold("lock table things in access exclusive mode")
        const blocked =
          sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
        const waiting = Effect.repeat(blocked, { until: (found) => found.length > 0 })
        const mixed = (from: number) =>
          range(400).map((n) => timed(commitOf(1, { writes: [(n % 4 === 0 ? part : thing)(1, `row ${from + n}`, 1)] })))
        const [first, second] = yield* Effect.all([
          Effect.all(mixed(0), together),
          Effect.andThen(waiting, Effect.all(mixed(400), together))
        ], together)
        const all = [...first, ...second]
        assert.isBelow(Math.max(...all.map(({ millis }) => millis)), promisedMillis)
        assert.deepStrictEqual(all.filter((one) => Exit.isFailure(one.exit) && !isRefused(one)), [])
        const landed = all.filter(({ exit }) => Exit.isSuccess(exit)).length
        yield* release
        const [rows] = yield* sql<
          { things: number; parts: number }
        >`select (select count(*) from things)::int as things,
        (select count(*) from parts)::int as parts`
        assert.deepStrictEqual(rows, { things: 0, parts: landed }, "what was refused is not there, what was not is")
      }).pipe(Effect.scoped)
  )

  it.effect(
    "is not waited for by those behind it that want the same row: all are told within 3 s",
    () =>
      Effect.gen(function*() {
        const { append, hold, timed } = yield* town
        yield* append(commitOf(1, { writes: [thing(1, "held", 1)] }))
        const release = yield* hold("select * from things where id = 'held' for update")
        const [, ...free] = yield* Effect.all([
          Effect.forEach(range(20), () => timed(commitOf(1, { writes: [thing(1, "held", 2)] })), together).pipe(
            Effect.tap((all) =>
              Effect.sync(() => {
                assert.deepStrictEqual(all.filter((one) => !isRefused(one)), [])
                assert.isBelow(Math.max(...all.map(({ millis }) => millis)), promisedMillis)
              })
            )
          ),
          ...range(20).map((n) => timed(commitOf(1, { writes: [part(1, `free ${n}`, 1)] })))
        ], together)
        assert.isTrue(free.every(({ exit }) => Exit.isSuccess(exit)))
        yield* release
        yield* append(commitOf(1, { writes: [thing(1, "held", 2)] }))
      }).pipe(Effect.scoped)
  )
})
