/** The replica of the `postgres` store: a standby that answers reads while it shows all that the primary does. */
import { Context, Deferred, Effect, Fiber, Layer, Metric, MutableRef, Option, Schedule, type Scope } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { ReadReplica, type ReadReplicaService } from "../ReadReplica.ts"
import { initializeSeries } from "../Telemetry.ts"
import { explainConnection, locationOf, pool, type PostgresOptions } from "./Postgres.ts"
import { bytesBehind, objectionToReplica } from "./replica/Fitness.ts"
import { type Outcome, outcomeOf } from "./replica/Outcome.ts"
import { factsOf, makeSnapshots } from "./replica/Snapshots.ts"
import { checkSessions } from "./Sessions.ts"
import { databaseMessage, reasonOf, sqlStateOf, StoreError } from "./StoreError.ts"

/** Limits of the replica, in milliseconds. */
export const replicaLimits = {
  /** How long a read waits for a snapshot that has everything, before the primary answers. */
  open: 250,
  /** How long reads may take on the replica, before they are given up there and run on the primary. */
  read: 15_000,
  /** How long a look at the replica may take, with a connection that is made for it. */
  look: 3_000,
  /** How often the replica is looked at; one that failed is not asked before the next look. */
  interval: 5_000
}
export type ReplicaLimits = typeof replicaLimits

const unused = Metric.gauge("replica_unused", {
  description: "1 while a replica is configured and reads go to the primary, else 0"
})
const lag = Metric.gauge("replica_lag_bytes", {
  description: "Bytes of the log that the replica had not replayed when it was last looked at; -1: unknown"
})
const reads = Metric.counter("replica_reads_total", {
  description: "Reads that a replica may answer, by the server that answered",
  incremental: true
})
const servers = ["replica", "primary"] as const

/** Every series is there from the start, also where no replica is configured. */
const initializeReplicaSeries = Effect.gen(function*() {
  yield* initializeSeries(reads, servers.map((server) => ({ server })))
  yield* Metric.update(unused, 0)
  yield* Metric.update(lag, -1)
})

/** Where no replica is configured. */
export const noReplicaLayer: Layer.Layer<never> = Layer.effectDiscard(initializeReplicaSeries)

const countRead = (server: (typeof servers)[number]) => Metric.update(Metric.withAttributes(reads, { server }), 1)

/** Login refused, no such database, settings refused by a pooler: waiting changes none of them. */
const isMisconfigured = (error: SqlError.SqlError): boolean => {
  const state = sqlStateOf(error)
  return state !== undefined && (state.startsWith("28") || state === "3D000" || state === "08P01")
}

/** The option that names the replica, for failures that it is the cause of. */
export const replicaOption = ["replica", "url"] as const

const atReplica = (hint: string, what: string) => new StoreError({ what, hint, option: replicaOption })

/**
 * Compares the server behind `replica` with the primary: bytes that it is behind, null: unknown. Fails with
 * `StoreError` where it is none of its replicas or its sessions do not hold, which only an operator can change.
 */
export const checkReplica = (
  primary: SqlClient.SqlClient,
  replica: SqlClient.SqlClient,
  where: string
): Effect.Effect<number | null, StoreError | SqlError.SqlError> =>
  Effect.gen(function*() {
    const shown = yield* Effect.catchIf(
      factsOf(replica),
      isMisconfigured,
      (error) => {
        const { hint, what } = explainConnection(error, where, "store.options.replica")
        return Effect.fail(atReplica(hint, what))
      }
    )
    const stored = yield* factsOf(primary)
    const objection = stored.standby ? undefined : objectionToReplica(stored, shown, where)
    if (objection !== undefined) return yield* atReplica(objection.hint, objection.what)
    yield* checkSessions(where).pipe(
      Effect.provideService(SqlClient.SqlClient, replica),
      Effect.catchTag("StoreError", ({ hint, what }) =>
        Effect.fail(atReplica(`${hint} A standby takes no changes: run statements on the primary.`, what)))
    )
    return bytesBehind(stored, shown)
  })

/** The pool of the replica. It has as many connections as its own option says. */
export const replicaPool = (
  options: NonNullable<PostgresOptions["replica"]>,
  sessionSettings: PostgresOptions["sessionSettings"],
  applicationName?: string
) => pool({ url: options.url }, locationOf(options.url), { ...options, sessionSettings }, applicationName)

/**
 * Looks at a replica once, without a service: bytes that it is behind, null: unknown. Fails with what is wrong with it,
 * and also where one of the two servers cannot be reached.
 */
export const examineReplica = (
  options: PostgresOptions,
  replica: NonNullable<PostgresOptions["replica"]>
): Effect.Effect<number | null, StoreError> =>
  Effect.scoped(Effect.gen(function*() {
    const ofPool = (layer: ReturnType<typeof pool>) =>
      Effect.map(Layer.build(layer), (services) => Context.get(services, SqlClient.SqlClient))
    const { sessionSettings } = options
    // As many connections as the check of the sessions takes.
    const primary = yield* ofPool(
      pool({ url: options.url }, locationOf(options.url), { maxConnections: 2, sessionSettings })
    )
    const other = yield* ofPool(replicaPool({ ...replica, maxConnections: 2 }, sessionSettings))
    const where = locationOf(replica.url)
    yield* factsOf(primary).pipe(Effect.mapError((error) => explainConnection(error, locationOf(options.url))))
    return yield* checkReplica(primary, other, where).pipe(
      Effect.catchTag("SqlError", (error) => {
        const { hint, what } = explainConnection(error, where, "store.options.replica")
        return Effect.fail(atReplica(`${hint} A service would start, and read from the primary.`, what))
      })
    )
  }))

const behind = (limits: ReplicaLimits) =>
  `it did not have everything that the primary had stored within ${limits.open} ms: it is behind, or its connections are `
  + "all in use"

/** Reads on the replica while it is fit, and on the primary otherwise. Fails as {@link checkReplica} does. */
export const layer = (
  options: Pick<PostgresOptions, "sessionSettings"> & { readonly replica: NonNullable<PostgresOptions["replica"]> },
  applicationName?: string,
  limits: ReplicaLimits = replicaLimits
): Layer.Layer<never, StoreError, SqlClient.SqlClient> =>
  Layer.effect(
    ReadReplica,
    Effect.gen(function*() {
      const scope = yield* Effect.scope
      const primary = yield* SqlClient.SqlClient
      const where = locationOf(options.replica.url)
      const services = yield* Layer.build(replicaPool(options.replica, options.sessionSettings, applicationName))
      const replica = Context.get(services, SqlClient.SqlClient)
      const { inSnapshot, sql } = yield* makeSnapshots(primary, replica, where)
      yield* initializeReplicaSeries

      /** Why the primary answers everything; null: it does not; undefined: nobody has looked yet. */
      const obstacle = MutableRef.make<string | null | undefined>(undefined)
      const setObstacle = (found: string | null) =>
        Effect.gen(function*() {
          const before = MutableRef.get(obstacle)
          MutableRef.set(obstacle, found)
          yield* Metric.update(unused, found === null ? 0 : 1)
          if (found === null) {
            if (before !== null) yield* Effect.logInfo("reads go to the replica", { replica: where })
          } else if (before == null) {
            yield* Effect.logWarning("the replica is not used: reads go to the primary", {
              replica: where,
              reason: found
            })
          }
        })

      /** A stop of it waits for the server, which may never answer: so it happens in a fiber that nobody waits for. */
      const abandon = (fiber: Fiber.Fiber<unknown, unknown>) => Effect.forkIn(Fiber.interrupt(fiber), scope)

      const attempt = <A, E, R>(
        work: Effect.Effect<A, E, R>
      ): Effect.Effect<Outcome<A, E | SqlError.SqlError>, never, R> =>
        Effect.gen(function*() {
          const opened = yield* Deferred.make<void>()
          return yield* Effect.acquireUseRelease(
            Effect.forkIn(inSnapshot(work, Effect.asVoid(Deferred.succeed(opened, undefined))), scope),
            (fiber) =>
              Effect.gen(function*() {
                const done = Effect.raceFirst(Effect.asVoid(Fiber.await(fiber)), Deferred.await(opened))
                if (Option.isNone(yield* Effect.timeoutOption(done, limits.open))) {
                  return { _tag: "Failed" as const, reason: behind(limits) }
                }
                const exit = yield* Effect.timeoutOption(Fiber.await(fiber), limits.read)
                return Option.isSome(exit)
                  ? outcomeOf(exit.value)
                  : { _tag: "Failed" as const, reason: `it did not answer within ${limits.read} ms` }
              }),
            abandon
          )
        })

      const read: ReadReplicaService["read"] = (onReplica, onPrimary) =>
        Effect.suspend(() =>
          MutableRef.get(obstacle) === null
            ? Effect.flatMap(attempt(onReplica), (outcome) => {
              if (outcome._tag === "Answered") {
                // Nothing of the replica itself is left in it: that has become an outcome of its own.
                return Effect.andThen(countRead("replica"), outcome.exit as typeof onPrimary)
              }
              const note = outcome.reason === null ? Effect.void : setObstacle(outcome.reason)
              return Effect.andThen(Effect.andThen(note, countRead("primary")), onPrimary)
            })
            : Effect.andThen(countRead("primary"), onPrimary)
        )

      const compare = checkReplica(primary, replica, where).pipe(
        Effect.timeoutOrElse({
          duration: limits.look,
          orElse: () => Effect.fail(new Error(`it did not answer within ${limits.look} ms`))
        })
      )

      /** A look that found a server to compare ends with a snapshot, as a read would need it. */
      const look = compare.pipe(
        Effect.tap((bytes) => Metric.update(lag, bytes ?? -1)),
        Effect.andThen(attempt(Effect.void)),
        Effect.flatMap((outcome) => setObstacle(outcome._tag === "Answered" ? null : outcome.reason ?? behind(limits)))
      )
      const recordFailure = (error: unknown) =>
        Effect.andThen(
          Metric.update(lag, -1),
          setObstacle(SqlError.isSqlError(error) ? databaseMessage(error) : reasonOf(error))
        )

      yield* look.pipe(Effect.catchIf((error) => !(error instanceof StoreError), recordFailure))
      yield* Effect.forkScoped(
        Effect.repeat(
          Effect.andThen(Effect.sleep(limits.interval), Effect.catch(look, recordFailure)),
          Schedule.forever
        )
      )
      return { sql, read }
    }) as Effect.Effect<ReadReplicaService, StoreError, SqlClient.SqlClient | Scope.Scope>
  )
