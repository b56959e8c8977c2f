/**
 * The `embedded` store, the default: a PostgreSQL this process starts itself, in `<data.directory>/postgres`, durable
 * like any server (fsync on), reached by a unix socket in that directory only and by the same driver and SQL as the
 * `postgres` store. Peer authentication lets only this service's account and root log in.
 *
 * One service at a time owns a data directory: it holds an advisory lock on a connection of its own for life. The
 * server outlives a service that is killed, and the next start adopts it (milliseconds). The lock cannot see through
 * containers or hosts that share a volume: give each its own data directory.
 */
import { PgConnection } from "@effect/sql-pg"
import type { PgClient } from "@effect/sql-pg"
import { Clock, Data, Deferred, Duration, Effect, Exit, Layer, Queue, Ref, Schedule, Schema, Scope } from "effect"
import type { SqlClient } from "effect/sql"
import { existsSync } from "node:fs"
import { dirname, isAbsolute } from "node:path"
import type { Environment } from "../../schemas/Network.ts"
import { ensureBackupRole, ensureCluster, findSocketPaths, locate, role } from "./embedded/Cluster.ts"
import type { Cluster, SocketPaths } from "./embedded/Cluster.ts"
import { attempt } from "./embedded/Files.ts"
import { ensureServer, type ServerStart, stopServer, wakeArchive } from "./embedded/Server.ts"
import { beginSeries, endSeries, lagLimits, readSeries } from "./embedded/Spool.ts"
import { advisoryLock, lockSpace } from "./Locks.ts"
import { maxConnectionsOption, pool } from "./Postgres.ts"
import { databaseMessage, StoreError } from "./StoreError.ts"
import { StoreGuard } from "./StoreGuard.ts"

/** The server takes 50: the pool, the lock, listeners, and an operator's tools. */
export const maximumConnections = 40

/** A recipient of age: it makes files that only its identity reads. */
export const recipientPattern = /^age1[0-9a-z]{58,}$/

/** Recipients of one archive, at most. */
const maximumRecipients = 20

/** Every change of the database, kept encrypted, so that a backup is restored to any moment after it. */
export const ArchiveOptions = Schema.Struct({
  /** An absolute path, best on another disk. It is made where it is not there. */
  directory: Schema.String.check(
    Schema.makeFilter((path) => isAbsolute(path) || "`directory` of the archive is an absolute path, such as /archive")
  ),
  /** Who reads it, `age1…`, 1 to 20, as `tillwire backup key` prints them. Never an identity. */
  recipients: Schema.Array(
    Schema.String.check(
      Schema.makeFilter((text) => recipientPattern.test(text) || "a recipient begins with age1, as `backup key` prints")
    )
  ).check(Schema.isMinLength(1), Schema.isMaxLength(maximumRecipients)),
  /** Seconds, 1 to 86400, after which what was changed is put into the archive. Default 60. */
  maximumLagSeconds: Schema.Int.check(
    Schema.isBetween({ minimum: lagLimits.atLeast, maximum: lagLimits.atMost })
  ).pipe(Schema.withDecodingDefaultKey(Effect.succeed(lagLimits.default)))
})
export type ArchiveOptions = typeof ArchiveOptions.Type

export const EmbeddedOptions = Schema.Struct({
  /** Size of the pool, 2 to 40. Default 10. */
  maxConnections: maxConnectionsOption(maximumConnections),
  /**
   * Whether root may run it where mainnet is served. PostgreSQL does not run as root, so it then runs as the account
   * `tillwire`, else `nobody`, whose other processes can read and change its files. Default false: refused. Set true
   * only on a machine or in a container that runs nothing else.
   */
  allowRoot: Schema.Boolean.pipe(Schema.withDecodingDefaultKey(Effect.succeed(false))),
  /** Where every change is kept, so that a backup can be restored to any moment (guide Backup). Default: nowhere. */
  archive: Schema.optionalKey(ArchiveOptions)
})
export type EmbeddedOptions = typeof EmbeddedOptions.Type

/** A service that was just killed still shows as connected for a moment; a living one for ever. */
const lockPatience = Duration.millis(500)
const lockRetry = Duration.millis(50)

/** How long a server that does not answer is tried, at the start and when it was lost; requests fail meanwhile. */
const answerPatience = Duration.seconds(5)
const answerRetry = Duration.millis(100)

const directoryInUse = (cluster: Cluster) =>
  new StoreError({
    what: `Another service is already using the data directory ${dirname(cluster.directory)}.`,
    hint: "Stop it first, or set data.directory to another directory for this one."
  })

/** The server is there but the connection failed: it may be stopping, or restarting after a crash. */
class ServerUnreachable extends Data.TaggedError("ServerUnreachable")<{ readonly error: StoreError }> {}

const unreachable = (cluster: Cluster, pid: number) => (cause: unknown) =>
  new ServerUnreachable({ error: unreachableError(cluster, pid, cause) })

const unreachableError = (cluster: Cluster, pid: number, cause: unknown) =>
  new StoreError({
    what: `The embedded database (process ${pid}) does not answer on its socket: ${databaseMessage(cause)}.`,
    hint: `Stop it with kill -INT ${pid}, then start again. Its messages are in ${cluster.log}.`,
    cause
  })

/** The server archives otherwise than the options say: it is stopped, and started anew. */
class ArchiveChanged extends Data.TaggedError("ArchiveChanged")<{}> {}

/** What the service wants of its server's archive; `null`: none. */
type WantedArchive = Pick<ArchiveOptions, "directory" | "maximumLagSeconds"> | null

/** Brings the spool and the server to what is wanted. Only for whoever holds the lock. */
const ensureArchive = Effect.fnUntraced(function*(cluster: Cluster, wanted: WantedArchive, pid: number, current: {
  readonly mode: string
  readonly lagSeconds: string
}) {
  const series = yield* attempt("The archive's series cannot be read", () => readSeries(cluster))
  const isRight = wanted === null
    ? series === undefined && current.mode === "off"
    : series?.directory === wanted.directory && current.mode === "on"
      && current.lagSeconds === String(wanted.maximumLagSeconds)
  if (isRight) return
  // Not while the server runs: it would archive into a folder that is not there.
  yield* stopServer(pid)
  const now = yield* Clock.currentTimeMillis
  yield* attempt("The archive's folder of the embedded database cannot be made", () => {
    if (wanted === null) endSeries(cluster)
    else if (series?.directory !== wanted.directory) beginSeries(cluster, wanted.directory, now)
  })
  return yield* new ArchiveChanged()
})

/**
 * The server of the cluster, held by this process alone until the scope closes; closing it stops the server.
 * `wanted` undefined: it archives as it did.
 */
const hold = Effect.fnUntraced(function*(cluster: Cluster, sockets: SocketPaths, wanted?: WantedArchive) {
  const start: ServerStart = { maximumLagSeconds: wanted?.maximumLagSeconds }
  const server = yield* ensureServer(cluster, sockets, start)
  const isOwner = yield* Ref.make(!server.isAdopted)
  const stop = Effect.when(stopServer(server.pid), Ref.getAndSet(isOwner, false))
  // Twice: before the connection exists, for a start that fails half-way; after the lock, so that it is held meanwhile.
  yield* Effect.addFinalizer(() => stop)
  const connection = yield* PgConnection.make({
    host: server.sockets,
    username: role,
    database: role,
    applicationName: "tillwire guard"
  }).pipe(Effect.mapError(unreachable(cluster, server.pid)))
  yield* connection.query("select pg_try_advisory_lock($1, $2) as held", [lockSpace, advisoryLock.service]).pipe(
    Effect.mapError(unreachable(cluster, server.pid)),
    Effect.filterOrFail((result) => result.rows[0]?.["held"] === true, () => directoryInUse(cluster)),
    Effect.retry({ schedule: Schedule.spaced(lockRetry).pipe(Schedule.upTo({ duration: lockPatience })) }),
    Effect.tapError(() => Ref.set(isOwner, false))
  )
  yield* Ref.set(isOwner, true)
  yield* Effect.addFinalizer(() => stop)
  if (wanted !== undefined) {
    const current = yield* connection.query(
      "select current_setting('archive_mode') as mode, setting from pg_settings where name = 'archive_timeout'",
      []
    ).pipe(Effect.mapError(unreachable(cluster, server.pid)))
    const { mode, setting } = current.rows[0] ?? {}
    yield* ensureArchive(cluster, wanted, server.pid, { mode: String(mode), lagSeconds: String(setting) })
    if (wanted !== null) yield* wakeArchive(server.pid)
  }
  // Nobody notifies this channel: waiting on it is how the driver tells that the connection broke.
  const silence = yield* connection.listen("tillwire_guard").pipe(
    Effect.mapError(unreachable(cluster, server.pid))
  )
  const awaitLoss = Effect.flip(Effect.forever(Queue.take(silence))).pipe(
    Effect.tap(() => Ref.set(isOwner, false)),
    Effect.map((cause) => unreachableError(cluster, server.pid, cause))
  )
  yield* Effect.logInfo(server.isAdopted ? "embedded database adopted" : "embedded database started", {
    pid: server.pid,
    sockets: server.sockets
  })
  return { server, awaitLoss }
})

const archiveUnsettled = () =>
  new StoreError({
    what: "The embedded database was started twice and did not archive as store.options.archive says.",
    hint: "Its messages are in postgres.log of the data directory."
  })

/** Takes the hold in a new scope, after the last one is closed. */
const renew = (
  cluster: Cluster,
  sockets: SocketPaths,
  current: Ref.Ref<Scope.Closeable>,
  wanted: WantedArchive
) =>
  Effect.gen(function*() {
    const scope = yield* Scope.make()
    const last = yield* Ref.getAndSet(current, scope)
    yield* Scope.close(last, Exit.void)
    return yield* Scope.provide(hold(cluster, sockets, wanted), scope)
  }).pipe(
    Effect.retry({ while: (error) => error._tag === "ArchiveChanged", times: 2 }),
    Effect.retry({
      while: (error) => error._tag === "ServerUnreachable",
      schedule: Schedule.spaced(answerRetry).pipe(Schedule.upTo({ duration: answerPatience }))
    }),
    Effect.mapError((error) =>
      error._tag === "ServerUnreachable" ? error.error : error._tag === "ArchiveChanged" ? archiveUnsettled() : error
    )
  )

/** Keeps the hold: a server that crashed is started again. Fails when another process took the hold meanwhile. */
const keep = Effect.fnUntraced(function*(
  cluster: Cluster,
  sockets: SocketPaths,
  first: Effect.Success<ReturnType<typeof renew>>,
  current: Ref.Ref<Scope.Closeable>,
  wanted: WantedArchive
) {
  let active = first
  while (true) {
    const error = yield* active.awaitLoss
    yield* Effect.logError("lost the embedded database, trying to get it back", error.what)
    active = yield* renew(cluster, sockets, current, wanted)
  }
})

/** Why root may not run it here; undefined if it may. */
const objectionToRoot = (
  { allowRoot }: EmbeddedOptions,
  dataDirectory: string,
  environments: ReadonlyArray<Environment>
): StoreError | undefined =>
  process.getuid?.() !== 0 || allowRoot || !environments.includes("mainnet") ? undefined : new StoreError({
    what: "Root may not run the embedded database where mainnet is served: PostgreSQL does not run as root, and other "
      + "processes of the account it would run as could read and change its files.",
    hint: `Give it an account of its own and start the service as that: useradd --system --user-group tillwire && `
      + `chown -R tillwire: ${dataDirectory}, then User=tillwire in its systemd unit, or su -s /bin/sh tillwire. Or use `
      + `"store": { "use": "postgres" }. In a container that runs nothing else, store.options.allowRoot: true permits it.`
  })

const openStore = Effect.fnUntraced(function*(
  options: EmbeddedOptions,
  dataDirectory: string,
  environments: ReadonlyArray<Environment>
) {
  const objection = objectionToRoot(options, dataDirectory, environments)
  if (objection !== undefined) return yield* objection
  const cluster = yield* locate(dataDirectory)
  yield* ensureCluster(cluster)
  const sockets = yield* findSocketPaths(cluster)
  const current = yield* Effect.acquireRelease(
    Effect.flatMap(Scope.make(), Ref.make),
    (ref) => Effect.flatMap(Ref.get(ref), (scope) => Scope.close(scope, Exit.void))
  )
  const wanted = options.archive ?? null
  const first = yield* renew(cluster, sockets, current, wanted)
  const loss = yield* Deferred.make<never, StoreError>()
  yield* keep(cluster, sockets, first, current, wanted).pipe(
    Effect.catch((error) => Effect.andThen(Effect.logFatal(error.message), Deferred.fail(loss, error))),
    Effect.forkScoped
  )
  return {
    sockets: first.server.sockets,
    guard: StoreGuard.of({ awaitLoss: Deferred.await(loss), findings: Effect.succeed([]) })
  }
})

/** A server for a short work beside the service, or without it. */
export interface UsedServer {
  /** Directory of its socket. */
  readonly sockets: string
  /** Major version. */
  readonly postgres: string
  /** Check value of the master key that the database belongs to; null: it remembers none. */
  readonly masterKey: string | null
  /** Name of the series of the archive; null: the database is not archived. */
  readonly series: string | null
}

const readMasterKey = Effect.fnUntraced(function*(sockets: string) {
  const connection = yield* PgConnection.make({
    host: sockets,
    username: role,
    database: role,
    applicationName: "tillwire backup"
  })
  const found = yield* connection.query("select to_regclass('master_keys') is not null as is_there", [])
  if (found.rows[0]?.["is_there"] !== true) return null
  const last = yield* connection.query("select check_value from master_keys order by place desc limit 1", [])
  return String(last.rows[0]?.["check_value"] ?? "") || null
})

/**
 * The server of an existing cluster: the running service's, or one that is started and held as the service would until
 * the scope closes. Fails where there is no cluster, and does not make one.
 */
export const useServer = Effect.fnUntraced(function*(
  dataDirectory: string
): Effect.fn.Return<UsedServer, StoreError, Scope.Scope> {
  const cluster = yield* locate(dataDirectory)
  if (!existsSync(cluster.directory)) {
    return yield* new StoreError({
      what: `There is no embedded database in ${dataDirectory}.`,
      hint: "Name the config of the service by --config. A database of its own (\"use\": \"postgres\") is backed up by "
        + "PostgreSQL's own tools: see the guide Backup."
    })
  }
  yield* ensureCluster(cluster)
  yield* ensureBackupRole(cluster)
  const paths = yield* findSocketPaths(cluster)
  const held = yield* Effect.result(hold(cluster, paths))
  const sockets = held._tag === "Success"
    ? held.success.server.sockets
    // The running service holds it: its server is used as it is.
    : (yield* ensureServer(cluster, paths)).sockets
  const masterKey = yield* Effect.mapError(
    Effect.scoped(readMasterKey(sockets)),
    (cause) => unreachableError(cluster, 0, cause)
  )
  const series = yield* attempt("The archive's series cannot be read", () => readSeries(cluster)?.name ?? null)
  return { sockets, postgres: cluster.binaries.major, masterKey, series }
})

/** Whether a server recovers on a cluster that was copied: starts one, asks it, and stops it. */
export const checkRecovery = (cluster: Cluster, start: ServerStart = {}): Effect.Effect<void, StoreError> =>
  Effect.scoped(Effect.gen(function*() {
    const paths = yield* findSocketPaths(cluster)
    const server = yield* Effect.acquireRelease(ensureServer(cluster, paths, start), ({ pid }) => stopServer(pid))
    yield* Effect.mapError(readMasterKey(server.sockets), (cause) => unreachableError(cluster, server.pid, cause))
  }))

/** A pool on the server that the first process of the service holds, for one of its other processes. */
export const sharedLayer = (
  options: EmbeddedOptions,
  dataDirectory: string
): Layer.Layer<SqlClient.SqlClient | PgClient.PgClient | StoreGuard, StoreError> =>
  Layer.unwrap(Effect.gen(function*() {
    const { directory } = yield* findSocketPaths(yield* locate(dataDirectory))
    return Layer.merge(
      pool({ host: directory, username: role, database: role }, directory, { maxConnections: options.maxConnections }),
      // Without the first process this one ends, whatever its database does.
      Layer.succeed(StoreGuard, { awaitLoss: Effect.never, findings: Effect.succeed([]) })
    )
  }))

/**
 * Starts or adopts the server and holds it; torn down after everything that uses it.
 *
 * Ready in under 2 s on a new directory, 0.1 s on an existing one (measured, 2 cores). Refuses within 2 s when another
 * service holds the directory. Fails with `StoreError` when the directory, the disk, the user or the version do not
 * fit, and where root would run it for mainnet without `allowRoot`.
 */
export const layer = (
  options: EmbeddedOptions,
  dataDirectory: string,
  environments: ReadonlyArray<Environment>
): Layer.Layer<SqlClient.SqlClient | PgClient.PgClient | StoreGuard, StoreError> =>
  Layer.unwrap(Effect.map(openStore(options, dataDirectory, environments), ({ guard, sockets }) =>
    Layer.merge(
      pool({ host: sockets, username: role, database: role }, sockets, { maxConnections: options.maxConnections }),
      Layer.succeed(StoreGuard, guard)
    )))
