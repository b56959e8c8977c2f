/**
 * The PostgreSQL all contestants share: the embedded server's programs, durability on, a database for each contestant.
 */
import { Effect, type Scope } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Client } from "pg"
import { findBinaries, findRunAs } from "../../runtime/store/embedded/Binaries.ts"
import { cpuMicros } from "../support/Process.ts"

/** As the embedded store runs it, but for room: a checkpoint in the middle of one contestant would judge the disk. */
const settings = [
  "fsync=on",
  "synchronous_commit=on",
  "full_page_writes=on",
  "listen_addresses=",
  "max_connections=100",
  "shared_buffers=256MB",
  "max_wal_size=8GB",
  "checkpoint_timeout=30min",
  "jit=off"
].flatMap((setting) => ["-c", setting])

const lookMillis = 10
const pause = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis))

export interface DatabaseServer {
  /** Directory of its unix socket. */
  readonly host: string
  /** Ends all sessions and starts it again on the same data, as an operator's restart does. */
  readonly restart: Effect.Effect<void>
}

/** A server that is stopped and removed with the scope. */
export const databaseServer: Effect.Effect<DatabaseServer, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(async () => {
    const root = mkdtempSync(join(tmpdir(), "till-bench-"))
    const runAs = await Effect.runPromise(findRunAs(root))
    if (runAs !== undefined) chownSync(root, runAs.uid, runAs.gid)
    const programs = await Effect.runPromise(findBinaries(root, runAs))
    const data = join(root, "data")
    const made = spawnSync(programs.initdb, [
      ...["-D", data, "-U", "postgres", "--auth=trust", "--encoding=UTF8"],
      ...["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    ], { ...runAs, cwd: root, encoding: "utf8" })
    if (made.status !== 0) throw new Error(`initdb: ${made.stderr}`)
    const start = async () => {
      const child = spawn(programs.postgres, ["-D", data, "-k", root, ...settings], {
        ...runAs,
        cwd: root,
        detached: true,
        stdio: "ignore"
      })
      const pidFile = join(data, "postmaster.pid")
      while (!(existsSync(pidFile) && readFileSync(pidFile, "utf8").split("\n")[7]?.trim() === "ready")) {
        if (child.exitCode !== null) throw new Error("the bench's PostgreSQL did not start")
        await pause(lookMillis)
      }
      return child
    }
    let child = await start()
    const end = async () => {
      const gone = new Promise((resolve) => child.once("exit", resolve))
      child.kill("SIGINT")
      await gone
    }
    const restart = Effect.promise(async () => {
      await end()
      child = await start()
    })
    return { host: root, restart, end }
  }),
  ({ end, host }) =>
    Effect.promise(async () => {
      await end()
      rmSync(host, { recursive: true, force: true })
    })
)

export const urlOf = ({ host }: DatabaseServer, database: string): string =>
  `postgresql://postgres@${encodeURIComponent(host)}:5432/${database}`

/** Runs `use` on a connection of its own. */
export const onDatabase = <A>(
  { host }: DatabaseServer,
  database: string,
  use: (client: Client) => Promise<A>
): Effect.Effect<A> =>
  Effect.promise(async () => {
    const client = new Client({ host, user: "postgres", database })
    await client.connect()
    try {
      return await use(client)
    } finally {
      await client.end()
    }
  })

/** A database made of `template` (nobody may be connected to it). */
export const createDatabase = (server: DatabaseServer, name: string, template = "template0"): Effect.Effect<void> =>
  onDatabase(server, "postgres", async (client) => {
    await client.query(`create database ${name} template ${template} strategy file_copy`)
    // What was copied must not be written by the first contestant's checkpoint.
    await client.query("checkpoint")
  })

/** What the server has spent up to a moment. */
export interface DatabaseUsage {
  /** Microseconds of CPU, user and system, of each backend of one database, by its process id. */
  readonly cpuMicros: ReadonlyMap<number, number>
  /** Bytes of WAL of the whole server since it was made. */
  readonly walBytes: number
}

const cpuOfBackend = (pid: number): ReadonlyArray<readonly [number, number]> => {
  try {
    return [[pid, cpuMicros(pid)]]
  } catch {
    // It ended after it was listed.
    return []
  }
}

/** What has been spent on `database`; the WAL is that of all databases, so nobody else may work meanwhile. */
export const usageOf = (server: DatabaseServer, database: string): Effect.Effect<DatabaseUsage> =>
  onDatabase(server, "postgres", async (client) => {
    const { rows: [wal] } = await client.query("select (pg_current_wal_insert_lsn() - '0/0')::float8 as bytes")
    const { rows: backends } = await client.query(
      "select pid from pg_stat_activity where datname = $1 and backend_type = 'client backend'",
      [database]
    )
    return {
      cpuMicros: new Map(backends.flatMap(({ pid }) => cpuOfBackend(pid))),
      walBytes: wal.bytes
    }
  })

/** What was spent between two looks. A backend that ended between them is not counted: pools keep theirs. */
export const spentBetween = (from: DatabaseUsage, to: DatabaseUsage) => ({
  cpuMicros: [...to.cpuMicros].reduce((sum, [pid, micros]) => sum + micros - (from.cpuMicros.get(pid) ?? 0), 0),
  walBytes: to.walBytes - from.walBytes
})
