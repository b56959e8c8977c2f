/** The server process of one cluster: start it or adopt it, and stop it. */
import { Duration, Effect, Schedule, Schema } from "effect"
import { spawn } from "node:child_process"
import { closeSync, lstatSync, readFileSync, readlinkSync, realpathSync, renameSync } from "node:fs"
import { join } from "node:path"
import { reasonOf, StoreError } from "../StoreError.ts"
import { errorLine, plainEnvironment, programFailed, restrictAccess } from "./Cluster.ts"
import type { Cluster, SocketPaths } from "./Cluster.ts"
import { attempt, hasProc, openToAppend, readSmallFile } from "./Files.ts"
import { archiveSettings } from "./Spool.ts"

/**
 * Settings for a small machine: about 80 MB in all. Durable: an answered commit survives a power cut. On a unix socket
 * only. The log holds the server's own life, never statements: they carry customers' data.
 */
const settings: Readonly<Record<string, string>> = {
  fsync: "on",
  synchronous_commit: "on",
  full_page_writes: "on",
  listen_addresses: "",
  unix_socket_permissions: "0700",
  max_connections: "50",
  shared_buffers: "64MB",
  work_mem: "4MB",
  maintenance_work_mem: "32MB",
  max_wal_size: "512MB",
  max_worker_processes: "4",
  max_parallel_workers_per_gather: "0",
  autovacuum_max_workers: "2",
  io_method: "sync",
  jit: "off",
  timezone: "UTC",
  log_timezone: "UTC",
  log_min_messages: "log",
  log_min_error_statement: "panic",
  log_checkpoints: "off",
  log_autovacuum_min_duration: "-1",
  cluster_name: "tillwire"
}

const poll = Duration.millis(10)

/** Recovery after a crash replays at most `max_wal_size`; a server that needs longer has a sick disk. */
const startPatience = Duration.minutes(5)

/** After kill -9 of service and server, the server's last processes hold its shared memory for a moment. */
const busyPatience = Duration.seconds(5)
const busyRetry = Duration.millis(100)

/** A fast shutdown writes one checkpoint; after this an immediate one, which the next start recovers from. */
const stopPatience = Duration.seconds(20)

/** The log is set aside when it is larger at a start; one older file is kept. */
const logBytes = 10 * 1024 * 1024

/** What one start has of its own. */
export interface ServerStart {
  /** Seconds after which a server that archives finishes a segment. */
  readonly maximumLagSeconds?: number | undefined
  /** Settings beside those of every server. */
  readonly settings?: Readonly<Record<string, string>>
  /** How long it may take. */
  readonly patience?: Duration.Duration
}

/** A server that takes connections. */
export interface Server {
  readonly pid: number
  readonly sockets: string
  /** Whether this process started it, or found it running. */
  readonly isAdopted: boolean
}

/** The directory is not free yet; may be over in a moment. */
class Busy extends Schema.TaggedError<Busy>()("Busy", { detail: Schema.String }) {}

interface PidFile {
  readonly pid: number
  readonly sockets: string
  readonly status: string
}

/** `postmaster.pid`: line 1 the pid, 5 the socket's directory, 8 the state. Source: PostgreSQL, utils/pidfile.h. */
const readPidFile = (cluster: Cluster): PidFile | undefined => {
  const text = readSmallFile(join(cluster.directory, "postmaster.pid"))
  if (text === undefined) return undefined
  const lines = text.split("\n")
  const pid = Number.parseInt(lines[0] ?? "", 10)
  return pid > 0 ? { pid, sockets: lines[4]?.trim() ?? "", status: lines[7]?.trim() ?? "" } : undefined
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (cause) {
    return (cause as { readonly code?: string }).code === "EPERM"
  }
}

/** Whether the arguments of a process, as `/proc/<pid>/cmdline` has them, are of a server of `directory`. Pure. */
export const isServerOf = (commandLine: string, directory: string): boolean => {
  const words = commandLine.split("\0")
  return /(?:^|\/)postgres$/.test(words[0] ?? "") && words[words.indexOf("-D") + 1] === directory
}

/**
 * Whether `pid` is the server of this cluster. Process ids are used again, in containers at once, so where /proc can
 * tell, the process must also stand in the cluster's directory, as every postmaster does. Where it stands is told to
 * its own account and to those who may trace it, which root of a container may not; its arguments are told to
 * everybody.
 */
const isServer = (cluster: Cluster, pid: number): boolean => {
  if (!hasProc) return isAlive(pid)
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === realpathSync(cluster.directory)
  } catch (cause) {
    if ((cause as { readonly code?: string }).code !== "EACCES") return false
  }
  try {
    return isServerOf(readSmallFile(`/proc/${pid}/cmdline`) ?? "", cluster.directory)
  } catch {
    return false
  }
}

const openLog = (path: string): { readonly fd: number; readonly from: number } => {
  const size = lstatSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size > logBytes) renameSync(path, `${path}.1`)
  return { fd: openToAppend(path), from: size > logBytes ? 0 : size }
}

/** Messages that mean another server, its remains or the cleaning up after it still hold the directory. */
const busyPattern =
  /lock file .*(already exists|No such file)|pre-existing shared memory block|could not bind Unix address/

const startServer = Effect.fnUntraced(function*(
  cluster: Cluster,
  sockets: SocketPaths,
  stale: number | undefined,
  start: ServerStart
): Effect.fn.Return<Server, StoreError | Busy> {
  yield* restrictAccess(cluster)
  const log = yield* attempt("The database's log cannot be written", () => openLog(cluster.log))
  const child = yield* Effect.sync(() => {
    const all = { ...settings, ...archiveSettings(cluster, start.maximumLagSeconds), ...start.settings }
    const options = Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`])
    const serverProcess = spawn(
      cluster.binaries.postgres,
      ["-D", cluster.argument, "-k", sockets.argument, ...options],
      {
        ...cluster.runAs,
        cwd: cluster.directory,
        // PostgreSQL takes this id for its own family: a pid file that names an unrelated process is stale to it.
        env: { ...plainEnvironment, ...(stale === undefined ? {} : { PG_GRANDPARENT_PID: String(stale) }) },
        // A Ctrl-C in the terminal must reach the service only, which then stops the server in order.
        detached: true,
        stdio: ["ignore", "ignore", log.fd]
      }
    )
    closeSync(log.fd)
    serverProcess.unref()
    return serverProcess
  })
  const failure = { text: "" }
  child.once("error", (cause) => {
    failure.text = reasonOf(cause)
  })
  const outcome = Effect.suspend((): Effect.Effect<Server | undefined, StoreError | Busy> => {
    const hasEnded = child.exitCode !== null || child.signalCode !== null || failure.text !== ""
    if (hasEnded) {
      const output = failure.text || readFileSync(cluster.log, "utf8").slice(log.from)
      return busyPattern.test(output)
        ? Effect.fail(new Busy({ detail: errorLine(output) }))
        : Effect.fail(programFailed("The embedded database did not start", output, cluster.log))
    }
    const file = readPidFile(cluster)
    return Effect.succeed(
      file !== undefined && file.pid === child.pid && file.status === "ready"
        ? { pid: file.pid, sockets: sockets.directory, isAdopted: false }
        : undefined
    )
  })
  return yield* awaitServer(outcome, cluster, start).pipe(
    Effect.onInterrupt(() => child.pid === undefined ? Effect.void : stopServer(child.pid))
  )
})

/** Asks again until there is a server; a start that takes longer than `startPatience` has failed. */
const awaitServer = <E>(
  ask: Effect.Effect<Server | undefined, E>,
  cluster: Cluster,
  { patience = startPatience }: ServerStart
): Effect.Effect<Server, E | StoreError> =>
  Effect.gen(function*() {
    while (true) {
      const server = yield* ask
      if (server !== undefined) return server
      yield* Effect.sleep(poll)
    }
  }).pipe(Effect.timeoutOrElse({
    duration: patience,
    orElse: () =>
      Effect.fail(
        new StoreError({
          what: `The embedded database was not ready after ${Duration.format(patience)}.`,
          hint: `See ${cluster.log}: it may still be recovering from a crash.`
        })
      )
  }))

/** The running server, once its own start or stop is over; else a new one. */
const adoptOrStart = (
  cluster: Cluster,
  sockets: SocketPaths,
  start: ServerStart
): Effect.Effect<Server, StoreError | Busy> =>
  awaitServer(
    Effect.gen(function*() {
      const found = yield* attempt("The data directory cannot be read", () => readPidFile(cluster))
      if (found === undefined || !isServer(cluster, found.pid)) {
        return yield* startServer(cluster, sockets, found?.pid, start)
      }
      if (found.status !== "ready") return undefined
      if (yield* restrictAccess(cluster)) yield* signal(found.pid, "SIGHUP")
      // A server that an earlier version started has its socket elsewhere until its next start.
      const isHere = found.sockets === sockets.argument || found.sockets === cluster.directory
      return { pid: found.pid, sockets: isHere ? sockets.directory : found.sockets, isAdopted: true }
    }),
    cluster,
    start
  )

/**
 * A server on the cluster that takes connections: the one that runs (left by a service that was killed, or another
 * service's: the caller's lock tells them apart), or a new one. Never deletes `postmaster.pid`: PostgreSQL itself
 * judges whether it is stale. A directory that is still held is tried for 5 s.
 */
export const ensureServer = (
  cluster: Cluster,
  sockets: SocketPaths,
  start: ServerStart = {}
): Effect.Effect<Server, StoreError> =>
  adoptOrStart(cluster, sockets, start).pipe(
    Effect.retry({
      while: (error) => error._tag === "Busy",
      schedule: Schedule.spaced(busyRetry).pipe(Schedule.upTo({ duration: busyPatience }))
    }),
    Effect.catchTag("Busy", ({ detail }) =>
      Effect.fail(
        new StoreError({
          what: `Another PostgreSQL still holds ${cluster.directory}: ${detail}.`,
          hint: "Stop the process named in its postmaster.pid, then start again. Do not delete that file."
        })
      ))
  )

const signal = (pid: number, name: "SIGHUP" | "SIGINT" | "SIGQUIT") =>
  Effect.sync(() => {
    if (isAlive(pid)) process.kill(pid, name)
  })

/**
 * Has the server look at `archive_timeout`. Its checkpointer begins while it recovers, and then sleeps for the five
 * minutes of `checkpoint_timeout` unless it is woken. Source: PostgreSQL 18, postmaster/checkpointer.c.
 */
export const wakeArchive = (pid: number): Effect.Effect<void> => signal(pid, "SIGHUP")

const awaitExit = (pid: number) =>
  Effect.sync(() => isAlive(pid)).pipe(
    Effect.tap((lives) => lives ? Effect.sleep(poll) : Effect.void),
    Effect.repeat({ while: (lives) => lives })
  )

/** Stops the server in order (fast shutdown: ends its connections, writes a checkpoint), and waits for its end. */
export const stopServer = (pid: number): Effect.Effect<void> =>
  Effect.gen(function*() {
    yield* signal(pid, "SIGINT")
    const exit = yield* awaitExit(pid).pipe(Effect.timeoutOption(stopPatience))
    if (exit._tag === "None") {
      yield* Effect.logError(`the embedded database (process ${pid}) did not stop: ending it; the next start recovers`)
      yield* signal(pid, "SIGQUIT")
      yield* awaitExit(pid).pipe(Effect.timeoutOption(stopPatience))
    }
  })
