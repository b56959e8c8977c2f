/**
 * Leases divided among the instances of a cluster by effect/cluster: its hash ring says which instance has a name, and
 * advisory locks keep two from having it. When an instance ends, another one has its names within about a second.
 * Instances meet in the database alone: there are no messages between them and no port.
 *
 * A lock is no proof: a process that was paused may still act as if it had it. So each term takes the next token of the
 * table `leases`, commits carry it, and a term ends once a newer one has begun.
 *
 * Two versions of the service must agree on the names of the groups and their order, on the number of shards and on the
 * prefix: a lock's number is made of them. `test/runtime/leases/Cluster.long.test.ts` holds them. Nothing else imports
 * effect/cluster.
 */
import { Deferred, Duration, Effect, Layer, Option, Schedule } from "effect"
import {
  ClusterError,
  MessageStorage,
  Runner,
  RunnerAddress,
  RunnerHealth,
  Runners,
  RunnerStorage,
  Sharding,
  ShardingConfig,
  SqlRunnerStorage
} from "effect/cluster"
import { SqlClient } from "effect/sql"
import { monotonicMillis } from "../Clock.ts"
import type { Fence } from "../Commit.ts"
import { type InstanceRole, instanceRoles, type LeaseOptions, Leases } from "../Leases.ts"
import { StoreError } from "../store/StoreError.ts"
import { watchDivision } from "./Division.ts"
import {
  initializeStalls,
  type LeaseObservation,
  newRecord,
  noteLook,
  observe,
  pauseAfterDeathMillis,
  runTerm,
  statusesOf,
  takeNewProgress,
  type TermEnd,
  type WorkRecord
} from "./Term.ts"

export interface ClusterOptions {
  /** New for each process. */
  readonly instanceId: string
  /** What this instance does. */
  readonly roles: ReadonlyArray<InstanceRole>
  /** How long a frozen instance keeps its work. Others have that of a killed one within about a second. */
  readonly takeoverMillis: number
}

/** Of each role: three times as many as there are names, so that a ring of a few instances is even enough. */
const shardsPerRole = 60

/** Names the engine's tables, and its locks. */
const prefix = "cluster"

/** First key of all locks, which the engine makes of the prefix: FNV-1a of `effect-cluster:cluster`. */
export const lockNamespace = 2_839_596_291

/** How often locks and leases are renewed within the time that a frozen instance keeps its work. */
const renewalsPerTakeover = 3

/** How often an instance looks for those that came and went. */
const memberMillis = 1_000

/** Instances that come within this time are given work together. */
const joinMillis = 2 * memberMillis

/** Pause before a fence is asked for again that the database did not give, or that another instance took. */
const retryMillis = 200

/** How long a lease may take to be given up: nobody waits for it, because the next term takes its name anyway. */
const releaseTimeoutMillis = 200

/** How long an instance on which work is stuck has no work, so that others try. */
const handoverMillis = 30_000

/** The least time between two handovers of an instance: work that is stuck again sooner is stuck everywhere. */
const betweenHandoversMillis = 600_000

/**
 * What the sessions of an instance are named by: it is a member while it has one. PostgreSQL keeps 63 bytes; this is
 * 47.
 */
export const sessionNameOf = (instanceId: string): string => `${hostOf(instanceId)}:0`

/** The engine wants an address. Nobody connects to this one: it only tells instances apart. */
const hostOf = (instanceId: string) => `tillwire-${instanceId}`

const addressOf = (instanceId: string) => RunnerAddress.make(hostOf(instanceId), 0)

/** The group of a role's shards. */
const groupOf = (role: InstanceRole): string => role

/**
 * The engine's storage, with members that prove it: a heartbeat near now on both sides, because a clock that is set
 * back leaves heartbeats in the future, and an open session, because those of a killed process are gone with it.
 */
const storage = ({ takeoverMillis }: ClusterOptions) =>
  Layer.effect(
    RunnerStorage.RunnerStorage,
    Effect.gen(function*() {
      const base = yield* RunnerStorage.RunnerStorage
      const sql = (yield* SqlClient.SqlClient).withoutTransforms()
      const members = sql<{ readonly runner: string; readonly healthy: boolean }>`
        SELECT r.runner, r.healthy FROM cluster_runners r
        WHERE r.last_heartbeat BETWEEN now() - ${takeoverMillis}::float8 * interval '1 millisecond'
            AND now() + ${takeoverMillis}::float8 * interval '1 millisecond'
          AND EXISTS (SELECT 1 FROM pg_stat_activity a
            WHERE a.datname = current_database() AND a.application_name = r.address)`
      return RunnerStorage.RunnerStorage.of({
        ...base,
        getRunners: members.pipe(
          Effect.map((rows) =>
            rows.map(({ healthy, runner }): [Runner.Runner, boolean] => [Runner.Runner.decodeSync(runner), healthy])
          ),
          ClusterError.PersistenceError.refail,
          Effect.withTracerEnabled(false)
        )
      })
    })
  ).pipe(Layer.provide(SqlRunnerStorage.layerStorage({ prefix })))

const engine = (options: ClusterOptions) => {
  const config = ShardingConfig.layer({
    runnerAddress: Option.some(addressOf(options.instanceId)),
    availableShardGroups: instanceRoles.map(groupOf),
    assignedShardGroups: options.roles.map(groupOf),
    shardsPerGroup: shardsPerRole,
    shardLockExpiration: Duration.millis(options.takeoverMillis),
    shardLockRefreshInterval: Duration.millis(options.takeoverMillis / renewalsPerTakeover),
    refreshAssignmentsInterval: Duration.millis(memberMillis),
    // It also paces how often shards are asked for.
    entityMessagePollInterval: Duration.millis(memberMillis),
    runnerJoinDebounce: Duration.millis(joinMillis)
  })
  return Sharding.layer.pipe(
    Layer.provide(Runners.layerNoop),
    Layer.provide([MessageStorage.layerNoop, RunnerHealth.layerNoop]),
    Layer.provideMerge(storage(options)),
    Layer.provide(config)
  )
}

/** Refuses sessions that do not carry the instance's name. That each connection keeps its own is the store's check. */
const checkSessionName = ({ instanceId }: ClusterOptions) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* sql<{ name: string }>`SELECT current_setting('application_name') AS name`
    if (row?.name === sessionNameOf(instanceId)) return
    return yield* new StoreError({
      what: `The sessions of this instance are named "${row?.name}" and not "${sessionNameOf(instanceId)}".`,
      hint: "Instances of a cluster know each other by it: let the pooler in between pass application_name on."
    })
  }).pipe(Effect.catchTag("SqlError", (cause) =>
    Effect.fail(
      new StoreError({
        what: "The name of a cluster's sessions could not be read.",
        hint: "See what PostgreSQL said; store.options.maxConnections must be 4 or more.",
        cause
      })
    )))

/** Stands for null in an array of numbers: the driver sends no array of nulls alone. */
const noProgress = -1

/** What is read of each name. */
interface LeaseRow {
  readonly name: string
  readonly token: bigint
  readonly until: string
  readonly progressedAt: string | null
}

/** A term that this instance is in. */
interface CurrentTerm {
  readonly fence: Fence
  readonly superseded: Deferred.Deferred<void>
}

interface Work {
  readonly record: WorkRecord
  observation: LeaseObservation | undefined
  term: CurrentTerm | undefined
}

/** The statements of terms, over the rows of `leases`. */
const makeTermRows = (sql: SqlClient.SqlClient, { instanceId, takeoverMillis }: ClusterOptions) => ({
  /** Begins a term: whoever had the name before is refused from now on. */
  take: (name: string): Effect.Effect<Fence> =>
    sql<{ token: bigint }>`INSERT INTO leases AS l (name, holder, token, until)
      VALUES (${name}, ${`${instanceId}:0`}, 1,
        clock_timestamp() + ${takeoverMillis}::float8 * interval '1 millisecond')
      ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, token = l.token + 1, until = excluded.until
      RETURNING token`.pipe(
      Effect.map(([row]): Fence => ({ name, token: row!.token })),
      Effect.tapError((error) => Effect.logWarning("A term was not begun; it is tried again", { name }, error)),
      Effect.retry(Schedule.spaced(retryMillis)),
      Effect.orDie
    ),

  /** The row stays; that nobody has the name is seen at once. */
  release: ({ name, token }: Fence) =>
    sql`UPDATE leases SET until = '-infinity' WHERE name = ${name} AND token = ${token}`.pipe(
      Effect.timeout(releaseTimeoutMillis),
      Effect.catchCause(() => Effect.void)
    ),

  /**
   * One statement for all names: renews those of this instance, in the order in which commits lock them, and reads what
   * became of all. Locks decide who works. The rows are renewed so that operators and instances without `cluster` can
   * read them.
   */
  renewAndRead: (works: ReadonlyMap<string, Work>) =>
    Effect.gen(function*() {
      const now = yield* monotonicMillis
      const own = [...works.values()].flatMap(({ record, term }) =>
        term === undefined ? [] : [{ record, term, sinceProgress: takeNewProgress(record, now) }]
      )
      const rows = yield* sql<LeaseRow>`
        WITH own AS (
          SELECT l.name, o.since FROM leases l JOIN unnest(
              ${own.map(({ record }) => record.name)}::text[],
              ${own.map(({ term }) => String(term.fence.token))}::bigint[],
              ${own.map(({ sinceProgress }) => String(sinceProgress ?? noProgress))}::float8[]
            ) AS o(name, token, since) ON l.name = o.name AND l.token = o.token
          ORDER BY l.name FOR NO KEY UPDATE OF l
        ), renewed AS (
          UPDATE leases l SET until = clock_timestamp() + ${takeoverMillis}::float8 * interval '1 millisecond',
            progressed_at = coalesce(
              clock_timestamp() - nullif(own.since, ${noProgress}) * interval '1 millisecond', l.progressed_at)
          FROM own WHERE l.name = own.name
        )
        SELECT name, token, until::text, progressed_at::text AS "progressedAt" FROM leases
        WHERE name = ANY(${[...works.keys()]}::text[])`.pipe(
        Effect.onError(() =>
          Effect.sync(() => {
            for (const { record, sinceProgress } of own) record.hasNewProgress ||= sinceProgress !== null
          })
        )
      )
      for (const { record } of works.values()) noteLook(record, takeoverMillis / renewalsPerTakeover, now)
      for (const { name, progressedAt, token, until } of rows) {
        const work = works.get(name)
        if (work === undefined) continue
        work.observation = observe(work.observation, { token, until, progressedAt }, work.record, now)
        if (work.term === undefined) continue
        if (token > work.term.fence.token) yield* Deferred.succeed(work.term.superseded, undefined)
        else work.record.renewedAtMillis = now
      }
    })
})

/**
 * Gives all work of this instance to the others for a while, because some of it is stuck here; not where there is
 * nobody else to do it, and not again and again: then it is stuck everywhere.
 */
const makeHandover = ({ instanceId }: ClusterOptions) =>
  Effect.gen(function*() {
    const members = yield* RunnerStorage.RunnerStorage
    const scope = yield* Effect.scope
    const self = addressOf(instanceId)
    let handedOverAtMillis = -Infinity
    return ({ name, role }: WorkRecord) =>
      Effect.gen(function*() {
        const now = yield* monotonicMillis
        if (now - handedOverAtMillis < betweenHandoversMillis) return
        const others = (yield* members.getRunners).filter(([runner, isHealthy]) =>
          isHealthy && runner.address.host !== self.host && runner.groups.includes(groupOf(role))
        )
        if (others.length === 0) return
        handedOverAtMillis = now
        yield* Effect.logError("Work is stuck on this instance, which leaves its work to the others for a while", {
          name,
          seconds: handoverMillis / 1_000
        })
        yield* members.setRunnerHealth(self, false)
        yield* Effect.forkIn(
          Effect.andThen(
            Effect.sleep(handoverMillis),
            Effect.retry(members.setRunnerHealth(self, true), Schedule.spaced(memberMillis))
          ).pipe(Effect.ignore),
          scope
        )
      }).pipe(Effect.catchCause((cause) => Effect.logWarning("Work that is stuck could not be given away", cause)))
  })

const make = (options: ClusterOptions) =>
  Effect.gen(function*() {
    const { roles, takeoverMillis } = options
    const sharding = yield* Sharding.Sharding
    const rows = makeTermRows(yield* SqlClient.SqlClient, options)
    const handOver = yield* makeHandover(options)
    const works = new Map<string, Work>()

    const termOf = <R>(
      work: Work,
      run: (fence: Fence, progress: Effect.Effect<void>) => Effect.Effect<never, never, R>
    ): Effect.Effect<TermEnd, never, R> =>
      Effect.gen(function*() {
        const fence = yield* rows.take(work.record.name)
        const superseded = yield* Deferred.make<void>()
        work.term = { fence, superseded }
        return yield* runTerm(work.record, fence, run, Deferred.await(superseded)).pipe(
          Effect.ensuring(Effect.sync(() => void (work.term = undefined))),
          Effect.ensuring(rows.release(fence))
        )
      })

    const hold = <R>(
      name: string,
      leaseOptions: LeaseOptions,
      run: (fence: Fence, progress: Effect.Effect<void>) => Effect.Effect<never, never, R>
    ): Effect.Effect<never, never, R> =>
      Effect.scoped(Effect.gen(function*() {
        yield* initializeStalls(name)
        const record = newRecord(name, { ...leaseOptions, ttlMillis: takeoverMillis }, yield* monotonicMillis)
        const work: Work = { record, observation: undefined, term: undefined }
        yield* Effect.acquireRelease(
          Effect.sync(() => works.set(name, work)),
          () => Effect.sync(() => works.delete(name))
        )
        if (!roles.includes(leaseOptions.role)) return yield* Effect.never
        const rounds = Effect.flatMap(termOf(work, run), (end) => {
          // Another instance may believe that the name is its own, for a moment.
          if (end._tag === "Superseded") return Effect.sleep(retryMillis)
          if (end._tag === "Died") return Effect.sleep(pauseAfterDeathMillis)
          return end.mustMove ? handOver(record) : Effect.void
        }).pipe(Effect.forever)
        yield* sharding.registerSingleton(name, rounds, { shardGroup: groupOf(leaseOptions.role) })
        return yield* Effect.never
      })) as Effect.Effect<never, never, R>

    yield* Effect.forkScoped(
      rows.renewAndRead(works).pipe(
        Effect.catchCause((cause) => Effect.logWarning("Leases were not renewed", cause)),
        Effect.andThen(Effect.sleep(takeoverMillis / renewalsPerTakeover)),
        Effect.forever
      )
    )

    const findings = yield* watchDivision(
      yield* SqlClient.SqlClient,
      { address: sessionNameOf(options.instanceId), roles, takeoverMillis, shardsPerRole, lockNamespace },
      (role) => [...works.values()].flatMap(({ record }) => record.role === role ? [record.name] : [])
    )

    return Leases.of({
      hold,
      findings,
      statuses: Effect.suspend(() => statusesOf([...works.values()].map(({ record }) => record)))
    })
  })

/** Leases of a cluster. Fails where the connection cannot carry one. */
export const layer = (options: ClusterOptions): Layer.Layer<Leases, StoreError, SqlClient.SqlClient> =>
  Layer.effect(Leases, make(options)).pipe(
    Layer.provide(engine(options)),
    Layer.provide(Layer.effectDiscard(checkSessionName(options)))
  )
