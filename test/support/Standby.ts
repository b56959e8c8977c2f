/**
 * A primary and its streaming standbys, of Debian's own PostgreSQL: real replication, which the embedded binaries
 * cannot make because they have no `pg_basebackup`.
 */
import { Effect, type Scope } from "effect"
import { execFile, execFileSync } from "node:child_process"
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Client } from "pg"
import { freePort } from "./Ports.ts"
import { resumeProcess, stopProcess } from "./Process.ts"

/** Where Debian puts the programs of its servers: one folder a major version. */
const serverFolder = "/usr/lib/postgresql"

const versions = existsSync(serverFolder)
  ? readdirSync(serverFolder).toSorted((a, b) => Number(b) - Number(a))
  : []

/** The programs of the newest server that can be copied; undefined: this machine has none. */
const binaries = versions.map((version) => join(serverFolder, version, "bin")).find((folder) =>
  existsSync(join(folder, "pg_basebackup"))
)

/** Why no standby can be made here; undefined: one can. */
export const standbysMissing: string | undefined = binaries === undefined
  ? `no PostgreSQL with pg_basebackup in ${serverFolder}: apt-get install postgresql`
  : undefined

const superuser = "postgres"

/** PostgreSQL does not run as root: there its account is Debian's. */
const account = () => {
  if (process.getuid?.() !== 0) return {}
  const [, , uid, gid] = execFileSync("getent", ["passwd", superuser], { encoding: "utf8" }).split(":")
  return { uid: Number(uid), gid: Number(gid) }
}

/** Runs a program of the server; dies with what it printed. */
const run = (program: string, words: ReadonlyArray<string>): Effect.Effect<void> =>
  Effect.callback((resume) => {
    execFile(join(binaries!, program), words, { ...account(), cwd: "/" }, (error, out, complaint) =>
      resume(error === null ? Effect.void : Effect.die(new Error(`${program}: ${out}${complaint}`))))
  })

export interface Server {
  readonly port: number
  readonly folder: string
  /** Of the database `name`. */
  readonly urlOf: (name: string) => string
  readonly query: (name: string, text: string) => Effect.Effect<ReadonlyArray<Record<string, any>>>
  readonly start: Effect.Effect<void>
  /** Ends it as a lost machine does: nothing is written any more. */
  readonly kill: Effect.Effect<void>
  /** Stops all its processes. */
  readonly freeze: Effect.Effect<void>
  /** Lets them go on. */
  readonly thaw: Effect.Effect<void>
}

const queryAt = (port: number, database: string, text: string) =>
  Effect.promise(async () => {
    const client = new Client({ host: "127.0.0.1", port, user: superuser, database })
    client.on("error", () => undefined)
    await client.connect()
    try {
      return (await client.query(text)).rows as ReadonlyArray<Record<string, any>>
    } finally {
      await client.end()
    }
  })

/** An empty folder of the server's account, removed with the scope. */
const serverDirectory: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => {
    const folder = mkdtempSync(join(tmpdir(), "till-standby-"))
    const { gid, uid } = account()
    if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid)
    chmodSync(folder, 0o700)
    return folder
  }),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }))
)

/** The postmaster's process and those that it started: a frozen postmaster alone goes on serving. */
const processesOf = (folder: string): ReadonlyArray<number> => {
  const file = join(folder, "postmaster.pid")
  if (!existsSync(file)) return []
  const postmaster = Number(readFileSync(file, "utf8").split("\n")[0])
  const children = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, "utf8").trim()
  return [postmaster, ...(children === "" ? [] : children.split(" ").map(Number))]
}

const freezeAll = (folder: string) =>
  Effect.suspend(() => Effect.forEach(processesOf(folder), stopProcess, { discard: true }))

const thawAll = (folder: string) =>
  Effect.suspend(() => Effect.forEach(processesOf(folder), resumeProcess, { discard: true }))

/** The server whose files `make` puts into a folder; started, and killed with the scope. */
const serverOf = Effect.fnUntraced(function*(make: (data: string) => Effect.Effect<void>) {
  const folder = yield* serverDirectory
  const data = join(folder, "data")
  const port = yield* freePort
  yield* make(data)
  appendFileSync(
    join(data, "postgresql.conf"),
    `port=${port}\nlisten_addresses='127.0.0.1'\nunix_socket_directories='${folder}'\n`
      + "wal_receiver_status_interval=1s\nwal_retrieve_retry_interval=100ms\n"
  )
  const start = run("pg_ctl", ["-D", data, "-w", "-l", join(folder, "log"), "start"])
  const kill = Effect.andThen(
    thawAll(data),
    Effect.ignore(
      Effect.sandbox(run("pg_ctl", ["-D", data, "-w", "-m", "immediate", "stop"]))
    )
  )
  yield* Effect.acquireRelease(start, () => kill)
  return {
    port,
    folder: data,
    urlOf: (name) => `postgresql://${superuser}@127.0.0.1:${port}/${name}`,
    query: (name, text) => queryAt(port, name, text),
    start,
    kill,
    freeze: freezeAll(data),
    thaw: thawAll(data)
  } satisfies Server as Server
})

const emptyFiles = (data: string) =>
  run("initdb", [...["-D", data, "-U", superuser, "-A", "trust", "-E", "UTF8"], ...["--locale=C.UTF-8", "--no-sync"]])

/** A primary without a standby. */
export const startPrimary: Effect.Effect<Server, never, Scope.Scope> = serverOf(emptyFiles)

/** A standby of no primary at all, of a system of its own. */
export const startForeignStandby: Effect.Effect<Server, never, Scope.Scope> = serverOf((data) =>
  Effect.andThen(
    emptyFiles(data),
    Effect.sync(() => {
      const file = join(data, "standby.signal")
      writeFileSync(file, "")
      const { gid, uid } = account()
      if (uid !== undefined && gid !== undefined) chownSync(file, uid, gid)
    })
  )
)

/** A copy of `primary` that follows it. */
export const startStandby = (primary: Server): Effect.Effect<Server, never, Scope.Scope> =>
  serverOf((data) =>
    run("pg_basebackup", [
      ...["-h", "127.0.0.1", "-p", String(primary.port), "-U", superuser],
      ...["-D", data, "-R", "-c", "fast", "--no-sync"]
    ])
  )
