/**
 * The replica of the database: what may be read from it, and what such a read promises. An operator names one by
 * `store.options.replica`; without it every read is the primary's.
 *
 * What is read here: what adds up or looks through many rows (totals, metrics, reports, exports, search), and the pages
 * of a list behind the first, whose rows are old and would displace from the primary's memory those that are in use. A
 * first page is a few rows that were written a moment ago: to ask the replica for them costs the primary about as much.
 *
 * What is never read here: whatever a decision about money is made from, what a payor is shown of an invoice, repeated
 * calls, balances, and all that a change is computed from.
 */
import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"

export interface ReadReplicaService {
  /** Statements of the replica: they run in {@link read} only. */
  readonly sql: SqlClient.SqlClient
  /**
   * Runs `onReplica` in one read-only snapshot, which has everything that was stored when the call began and nothing
   * that the primary does not show by the time the snapshot is read. So no answer shows less than an earlier one,
   * whichever instance and whichever server gave it. Where the replica cannot promise that within its limit, or fails,
   * `onPrimary` runs.
   */
  readonly read: <A, E, R>(
    onReplica: Effect.Effect<A, E, R>,
    onPrimary: Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E, R>
}

/** Null: there is none. */
export const ReadReplica = Context.Reference<ReadReplicaService | null>("tillwire/runtime/ReadReplica", {
  defaultValue: () => null
})

/** Reads by a repository of the replica, or by that of the primary. `use` may run twice, so it must only read. */
export interface ReadsOf<Repo> {
  <A, E, R>(use: (repo: Repo) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R>
  /** The same for a page of a list: a first page, and one of newer rows, are read on the primary. */
  readonly page: <A, E, R>(
    isBehindFirst: boolean,
    use: (repo: Repo) => Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E, R>
}

type Read<Repo> = <A, E, R>(use: (repo: Repo) => Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

const readPage = <Repo>(first: Read<Repo>, behindFirst: Read<Repo>): ReadsOf<Repo>["page"] => (isBehindFirst, use) =>
  isBehindFirst ? behindFirst(use) : first(use)

/** The repository that `make` builds, on each of the two servers. */
export const readsOf = <Repo, E, R>(make: Effect.Effect<Repo, E, R>): Effect.Effect<ReadsOf<Repo>, E, R> =>
  Effect.gen(function*() {
    const replica = yield* ReadReplica
    const primaryRepo = yield* make
    const onPrimary = <A, F, S>(use: (repo: Repo) => Effect.Effect<A, F, S>) => use(primaryRepo)
    if (replica === null) return Object.assign(onPrimary, { page: readPage(onPrimary, onPrimary) })
    const replicaRepo = yield* Effect.provideService(make, SqlClient.SqlClient, replica.sql) as typeof make
    const onReplica = <A, F, S>(use: (repo: Repo) => Effect.Effect<A, F, S>) =>
      replica.read(use(replicaRepo), use(primaryRepo))
    return Object.assign(onReplica, { page: readPage(onPrimary, onReplica) })
  })
