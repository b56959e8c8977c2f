/** Calls of which each has decided before any of them writes: what a race may come to, every time. */
import { Context, Effect, Fiber, Latch } from "effect"
import { SqlClient } from "effect/sql"

/**
 * Lets commits wait for a lock for as long as the test holds it. A commit is refused after 0.7 s of it
 * (`runtime/commit/Statement.ts`), and a machine that stands still takes longer to bring all calls there.
 */
export const waitForLocks = (sql: SqlClient.SqlClient) =>
  sql`DO $$ DECLARE v_function regprocedure; BEGIN
    FOR v_function IN SELECT oid FROM pg_proc WHERE proname LIKE 'tillwire_commit_%' LOOP
      EXECUTE format('ALTER FUNCTION %s SET lock_timeout = 60000', v_function);
    END LOOP;
  END $$`

/**
 * Runs `calls` at once, with the rows of `table` locked until every one of them waits for a lock: each has read what it
 * decides by, and none has written.
 */
export const together = <A>(
  instance: Context.Context<SqlClient.SqlClient>,
  table: string,
  calls: ReadonlyArray<Effect.Effect<A>>
): Effect.Effect<ReadonlyArray<A>> =>
  Effect.gen(function*() {
    const sql = Context.get(instance, SqlClient.SqlClient)
    yield* waitForLocks(sql)
    const held = yield* Latch.make()
    const locked = yield* Latch.make()
    const holder = yield* sql.withTransaction(Effect.gen(function*() {
      yield* sql.unsafe(`SELECT 1 FROM ${table} FOR UPDATE`)
      yield* locked.open
      yield* held.await
    })).pipe(Effect.forkChild({ startImmediately: true }))
    yield* locked.await
    const running = yield* Effect.forkChild(
      Effect.forEach(calls, (call) => call, { concurrency: calls.length }),
      { startImmediately: true }
    )
    for (let waiting = 0; waiting < calls.length;) {
      const [row] = yield* sql<{ n: bigint }>`SELECT count(*) AS n FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`
      waiting = Number(row!.n)
    }
    yield* held.open
    yield* Fiber.join(holder)
    return yield* Fiber.join(running)
  }).pipe(Effect.orDie)
