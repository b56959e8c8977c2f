/** Snapshots of the replica that may answer in place of the primary. */
import { makeCompiler } from "@effect/sql-pg/PgClient"
import { Effect, type Scope } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, type SqlConnection, SqlError } from "effect/sql"
import { factsStatement, fitnessOf, type ServerFacts } from "./Fitness.ts"

/** Milliseconds between two looks at a replica that lacks what it must show: streaming takes about as long. */
const pauseMillis = 3

/** The replica cannot answer: as a failure of the database, because that is what statements fail with. */
const unfit = (reason: string) =>
  new SqlError.SqlError({
    reason: new SqlError.ConnectionError({ cause: new Error(reason), message: reason, operation: "replica" })
  })

type Rows = Effect.Effect<ReadonlyArray<any>, SqlError.SqlError>

/** What the server behind a pool, or one connection, says of itself. */
export const factsOf = (sql: SqlClient.SqlClient): Effect.Effect<ServerFacts, SqlError.SqlError> =>
  Effect.map(sql.unsafe<ServerFacts>(factsStatement), ([facts]) => facts!)

const factsAt = (connection: SqlConnection.Connection): Effect.Effect<ServerFacts, SqlError.SqlError> =>
  Effect.map(connection.execute(factsStatement, [], undefined) as Rows, ([facts]) => facts)

/** Repeats a look until nothing is missing; whoever calls sets the limit of time. */
const untilComplete = <E, R>(isMissing: Effect.Effect<boolean, E, R>): Effect.Effect<void, E, R> =>
  Effect.flatMap(isMissing, (missing) =>
    missing
      ? Effect.andThen(Effect.sleep(pauseMillis), Effect.suspend(() => untilComplete(isMissing)))
      : Effect.void)

/** Transactions that the primary does not show, at most, that are looked up; while it has more, it is asked again. */
const maximumUnfinished = 1_000

/**
 * Whether the snapshot shows a transaction that the primary does not show yet. A primary that waits for a synchronous
 * standby has sent the commit to every standby before it shows it itself, and it may die before it does. Of a standby's
 * snapshot only the number is told from which on it shows no transaction, so each one below that the primary does not
 * show is looked up: what the replica has not committed now, later than the snapshot, is not in it.
 */
const showsUnfinished = (primary: SqlClient.SqlClient, replica: SqlClient.SqlClient, horizon: string) =>
  Effect.gen(function*() {
    const unfinished = yield* primary<{ id: string }>`
      select id::text from pg_current_snapshot() s, lateral (
        select x::text::bigint as id from pg_snapshot_xip(s) x
        union all
        select generate_series(pg_snapshot_xmax(s)::text::bigint, ${horizon}::text::bigint - 1)
      ) unfinished where id < ${horizon}::text::bigint limit ${maximumUnfinished}`
    if (unfinished.length === 0) return false
    if (unfinished.length === maximumUnfinished) return true
    const [row] = yield* replica<{ n: number }>`select count(*)::int as n
      from unnest(${unfinished.map(({ id }) => id)}::text[]) id
      where coalesce(pg_xact_status(id::xid8), 'committed') = 'committed'`
    return row!.n > 0
  })

/**
 * A connection to a standby that has replayed everything the primary had stored when it was asked for. The two are
 * compared in the very connection, because an address may lead to several standbys. Waits while the standby is behind.
 */
const connectionUpToDate = (
  primary: SqlClient.SqlClient,
  replica: SqlClient.SqlClient,
  where: string
): Effect.Effect<SqlConnection.Connection, SqlError.SqlError, Scope.Scope> =>
  Effect.gen(function*() {
    const connection = yield* replica.reserve
    const stored = yield* factsOf(primary)
    yield* untilComplete(Effect.flatMap(factsAt(connection), (shown) => {
      const fitness = fitnessOf(stored, shown, where)
      return fitness._tag === "Unfit" ? Effect.fail(unfit(fitness.reason)) : Effect.succeed(fitness._tag === "Behind")
    }))
    return connection
  })

export interface Snapshots {
  /** Its statements run in {@link inSnapshot} only; outside they are a defect, because they would promise nothing. */
  readonly sql: SqlClient.SqlClient
  /** Runs `reads` in a snapshot. `onOpen` runs before the first of them. */
  readonly inSnapshot: <A, E, R>(
    reads: Effect.Effect<A, E, R>,
    onOpen: Effect.Effect<void>
  ) => Effect.Effect<A, E | SqlError.SqlError, R>
}

/** `primary`, `replica`: the pools of both servers. */
export const makeSnapshots = (
  primary: SqlClient.SqlClient,
  replica: SqlClient.SqlClient,
  where: string
): Effect.Effect<Snapshots> =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.make({
      driver: "pg",
      compiler: makeCompiler(),
      spanAttributes: [["db.system.name", "postgresql"]],
      acquirer: Effect.die(new Error("a statement for the replica ran outside of a snapshot")),
      transactionAcquirer: connectionUpToDate(primary, replica, where),
      beginTransaction: "begin isolation level repeatable read read only",
      releaseSavepoint: (name) => `release savepoint ${name}`,
      prepareTransactionControls: true
    }).pipe(Effect.provide(Reactivity.layer))
    return {
      sql,
      inSnapshot: (reads, onOpen) =>
        sql.withTransaction(Effect.gen(function*() {
          // The first statement of the transaction takes its snapshot.
          const [row] = yield* sql<{ horizon: string }>`select pg_snapshot_xmax(pg_current_snapshot())::text as horizon`
          yield* untilComplete(showsUnfinished(primary, sql, row!.horizon))
          yield* onOpen
          return yield* reads
        }))
    }
  })
