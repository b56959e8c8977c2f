/** The files of one embedded server: where they are, whose they are, and making them for the first time. */
import { Effect } from "effect"
import type { Scope } from "effect"
import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { closeSync, existsSync, fsyncSync, lstatSync, mkdirSync, mkdtempSync } from "node:fs"
import { openSync, readdirSync, realpathSync, renameSync, rmSync, statSync } from "node:fs"
import { tmpdir, userInfo } from "node:os"
import { dirname, join } from "node:path"
import { reasonOf, StoreError } from "../StoreError.ts"
import { accountName, findBinaries, findRunAs, isOpenToAll } from "./Binaries.ts"
import type { Binaries, RunAs } from "./Binaries.ts"
import { attempt, descriptorPath, giveDirectory, hasProc, openDirectory, readSmallFile, replaceFile } from "./Files.ts"

/** Role and database of the service: not a superuser, so a fault in our SQL cannot reach the system's files. */
export const role = "tillwire"

/** Role of backups: it reads the server's files through the server, and no table. */
export const backupRole = "tillwire_backup"

/** Makes the role of backups where a cluster lacks it, in one line, as a server of its own reads commands. */
const createBackupRole =
  `do $$ begin if not exists (select from pg_roles where rolname = '${backupRole}') then create role ${backupRole} `
  + "login replication; end if; end $$\n"

const unusable = "The data directory cannot be used"

/** Bytes of a unix socket's path, on the strictest platform (macOS). */
const socketPathBytes = 103
const socketName = "/.s.PGSQL.5432"

/** Everything the server is started with. Paths are absolute. */
export interface Cluster {
  /** The PostgreSQL data directory, `<data.directory>/postgres`. */
  readonly directory: string
  /** How the server is told about it: `/proc/self/cwd` where its own user may not walk there by name. */
  readonly argument: string
  /** The server's messages, `<data.directory>/postgres.log`. */
  readonly log: string
  readonly binaries: Binaries
  readonly runAs: RunAs | undefined
}

/** Environment of the server's programs: none of the service's secrets, and messages in English. */
export const plainEnvironment = { LC_ALL: "C", TZ: "UTC", PATH: "/usr/bin:/bin" }

/** A program's end: its exit code (null when a signal ended it) and the last 8 KB it wrote to stderr. */
interface ProgramResult {
  readonly code: number | null
  readonly stderr: string
}

const maximumStderr = 8_192

/** Runs a program to its end, with `input` on stdin; interruption kills it. */
const runProgram = (
  program: string,
  args: ReadonlyArray<string>,
  at: { readonly cwd: string; readonly runAs: RunAs | undefined; readonly input: string }
): Effect.Effect<ProgramResult> =>
  Effect.callback<ProgramResult>((resume) => {
    const child = spawn(program, args, {
      ...at.runAs,
      cwd: at.cwd,
      env: plainEnvironment,
      stdio: ["pipe", "ignore", "pipe"]
    })
    let stderr = ""
    child.stderr.on("data", (chunk) => {
      stderr = (stderr + String(chunk)).slice(-maximumStderr)
    })
    child.once("error", (cause) => resume(Effect.succeed({ code: null, stderr: reasonOf(cause) })))
    child.once("close", (code) => resume(Effect.succeed({ code, stderr })))
    // A program that ended early closes the pipe; its exit code tells the story.
    child.stdin.on("error", () => {})
    child.stdin.end(at.input)
    return Effect.sync(() => child.kill("SIGKILL"))
  })

/** Why PostgreSQL's programs failed, from what they wrote: the first pattern that fits, and what to do about it. */
const knownFailures: ReadonlyArray<readonly [RegExp, string]> = [
  [/No space left on device|Disk quota exceeded/, "The disk is full: free some space and start again."],
  [/could not look up effective user ID/, "This user id is not in /etc/passwd: add it, or run as a user who is."],
  [/Read-only file system/, "That file system is read-only: set data.directory to one that can be written."],
  [/Permission denied|invalid permissions|wrong ownership/, "Its files must belong to the user that runs the service."],
  [/incompatible with server|not compatible with/, "Start it with the version of this service that wrote it."],
  [/shared memory|semaphores/, "The system has too little shared memory or too few semaphores for a database server."],
  [/ENOENT|error while loading shared libraries|not found \(required by/, "These programs need glibc: Alpine has none."]
]

/** The telling line of PostgreSQL's output: its last FATAL, PANIC or error, else its last line. */
export const errorLine = (output: string): string => {
  const lines = output.split("\n").map((line) => line.trim()).filter((line) => line !== "")
  return lines.findLast((line) => /FATAL|PANIC|ERROR|error:/.test(line)) ?? lines.at(-1) ?? "no message"
}

export const programFailed = (what: string, output: string, log: string): StoreError =>
  new StoreError({
    what: `${what}: ${errorLine(output)}.`,
    hint: knownFailures.find(([pattern]) => pattern.test(output))?.[1] ?? `More may be in ${log}.`
  })

/** The directory of the server's socket: the server's argument, and the path by which this process reaches it. */
export interface SocketPaths {
  readonly argument: string
  readonly directory: string
}

const socketUnusable = "The directory of the database's socket cannot be used"

/**
 * A directory for the socket in the system's temporary one. Throws if it belongs to another user or is open to others.
 */
const temporarySockets = (cluster: string): string => {
  const name = `till-${createHash("sha256").update(realpathSync(cluster)).digest("hex").slice(0, 12)}`
  const fits = Buffer.byteLength(join(tmpdir(), name) + socketName) <= socketPathBytes
  const directory = join(fits ? tmpdir() : "/tmp", name)
  if (!existsSync(directory)) mkdirSync(directory, { mode: 0o700 })
  const found = lstatSync(directory)
  if (!found.isDirectory() || found.uid !== process.getuid?.() || (found.mode & 0o077) !== 0) {
    throw new Error(`${directory} is not a directory that only this user may enter: remove it and start again`)
  }
  return directory
}

/**
 * The cluster's own directory holds the socket, because only the server's account may enter it. The server names it as
 * its working directory: under root it may not reach the path by name. A path too long for a socket is reached through
 * the directory's descriptor, held open while the scope lives; where that is impossible (macOS), the socket is in the
 * temporary directory.
 */
export const findSocketPaths = ({ directory, runAs }: Cluster): Effect.Effect<SocketPaths, StoreError, Scope.Scope> =>
  Effect.gen(function*() {
    const isShort = Buffer.byteLength(directory + socketName) <= socketPathBytes
    if (!hasProc) {
      const sockets = isShort ? directory : yield* attempt(socketUnusable, () => temporarySockets(directory))
      return { argument: sockets, directory: sockets }
    }
    // The server's working directory is the cluster.
    const argument = "/proc/self/cwd"
    if (isShort) return { argument, directory }
    const descriptor = yield* Effect.acquireRelease(
      attempt(socketUnusable, () => openDirectory(directory, [runAs?.uid ?? process.getuid?.()])),
      (descriptor) => Effect.sync(() => closeSync(descriptor))
    )
    return { argument, directory: descriptorPath(descriptor, directory) }
  })

/** The name of this process's account; undefined where it has none: PostgreSQL itself then refuses to start. */
const ownName = (): string | undefined => {
  try {
    return userInfo().username
  } catch {
    return undefined
  }
}

/**
 * PostgreSQL's files of who may log in, by peer authentication and only as the service's roles: this service's account
 * and root, who can read all files anyway. `nobody`, which root may have chosen for the server, may not, because other
 * programs run as it; any other owner of the cluster may.
 */
const accessFiles = ({ runAs }: Cluster): Readonly<Record<string, string>> => {
  const owner = runAs === undefined ? undefined : accountName(runAs.uid)
  const names = [ownName(), accountName(0), owner === "nobody" ? undefined : owner].filter((name) => name !== undefined)
  const note = "# Written by Tillwire at each start: changes are lost.\n"
  return {
    "pg_hba.conf": `${note}local ${role} ${role} peer map=${role}\n`
      + `local replication ${backupRole} peer map=${role}\n`,
    "pg_ident.conf": note + [...new Set(names)]
      .flatMap((name) => [role, backupRole].map((each) => `${role} "${name}" ${each}\n`)).join("")
  }
}

/**
 * Writes the files of who may log in where they differ: in a new cluster, in one of an earlier version (which let in
 * every process that reached the socket), or when the service runs as another user. Answers whether it wrote; a running
 * server must then reload them.
 */
export const restrictAccess = (cluster: Cluster): Effect.Effect<boolean, StoreError> =>
  attempt("The rules of who may use the embedded database could not be written", () => {
    const files = Object.entries(accessFiles(cluster)).filter(([name, text]) => {
      try {
        return readSmallFile(join(cluster.directory, name)) !== text
      } catch {
        return true
      }
    })
    for (const [name, text] of files) replaceFile(cluster.directory, name, text, cluster.runAs)
    return files.length > 0
  })

/** Server programs and places for `dataDirectory`, which is made (mode 0700) when it is not there. */
export const locate = Effect.fn("Embedded.locate")(
  function*(dataDirectory: string): Effect.fn.Return<Cluster, StoreError> {
    const directory = join(dataDirectory, "postgres")
    yield* attempt(unusable, () => {
      mkdirSync(dataDirectory, { recursive: true, mode: 0o700 })
      statSync(directory, { throwIfNoEntry: false })
    })
    const runAs = yield* findRunAs(directory)
    const binaries = yield* findBinaries(dataDirectory, runAs)
    const byName = yield* attempt(unusable, () => runAs === undefined || isOpenToAll(dataDirectory))
    if (!byName && !hasProc) {
      return yield* new StoreError({
        what: `PostgreSQL does not run as root, and ${dataDirectory} is closed to other users.`,
        hint: "Start the service as an ordinary user, or set data.directory to one that is open to all."
      })
    }
    const argument = byName ? directory : "/proc/self/cwd"
    return { directory, argument, log: join(dataDirectory, "postgres.log"), binaries, runAs }
  }
)

/**
 * Makes the cluster if there is none: in a directory of its own, renamed when complete, so that a start killed at any
 * moment leaves either nothing or all of it. About 1 s. Fails when the files belong to someone else, or to another
 * major version of PostgreSQL.
 */
export const ensureCluster = Effect.fn("Embedded.ensureCluster")(
  function*(cluster: Cluster): Effect.fn.Return<void, StoreError> {
    const { directory } = cluster
    const exists = () => existsSync(join(directory, "PG_VERSION"))
    const found = yield* attempt(unusable, () => {
      // Under root another account owns the directory: it could be a link to anywhere.
      const itself = cluster.runAs === undefined ? statSync : lstatSync
      return itself(directory, { throwIfNoEntry: false })
    })
    if (found?.isSymbolicLink() === true) {
      return yield* new StoreError({
        what: `${directory} is a link, which root does not follow.`,
        hint: "Set data.directory to where the files are, or start the service as an ordinary user."
      })
    }
    const expected = cluster.runAs?.uid ?? process.getuid?.()
    if (found !== undefined && found.uid !== expected) {
      return yield* new StoreError({
        what: `${directory} belongs to user id ${found.uid}, but the database would run as ${expected}.`,
        hint: `Start the service as that user, or give it the files: chown -R ${expected} ${directory}`
      })
    }
    if (found === undefined) yield* createCluster(cluster)
    if (!exists()) {
      return yield* new StoreError({
        what: `${directory} exists but holds no PostgreSQL data.`,
        hint: "Move it away, or set data.directory to another directory."
      })
    }
    const version = yield* attempt(
      "The data directory cannot be read",
      () => readSmallFile(join(directory, "PG_VERSION"))?.trim()
    )
    if (version !== cluster.binaries.major) {
      return yield* new StoreError({
        what: `${directory} was written by PostgreSQL ${version}; this build brings ${cluster.binaries.major}.`,
        hint: "Start the build that wrote it and move the data by pg_dump, or set data.directory to a new directory."
      })
    }
  }
)

/** Runs statements as PostgreSQL's superuser, one a line, on a cluster that no server runs on. */
const runSingle = (
  { binaries, runAs }: Cluster,
  at: Pick<Cluster, "argument" | "directory">,
  input: string
): Effect.Effect<ProgramResult> =>
  runProgram(
    binaries.postgres,
    ["--single", "-D", at.argument, "-c", "exit_on_error=on", "postgres"],
    { cwd: at.directory, runAs, input }
  )

/**
 * Makes the role of backups in a cluster of an earlier build. Where a server runs on it nothing happens: PostgreSQL
 * refuses a second one.
 */
export const ensureBackupRole = (cluster: Cluster): Effect.Effect<void> =>
  Effect.asVoid(runSingle(cluster, cluster, createBackupRole))

const createCluster = Effect.fnUntraced(function*(cluster: Cluster): Effect.fn.Return<void, StoreError> {
  const { argument, binaries, directory, log, runAs } = cluster
  const draft = yield* attempt(unusable, () => {
    const made = mkdtempSync(`${directory}.new-`)
    if (runAs !== undefined) giveDirectory(made, runAs)
    return made
  })
  const at = argument === directory ? draft : argument
  const discard = attempt(
    "The unfinished database cannot be removed",
    () => rmSync(draft, { recursive: true, force: true })
  )
  const build = Effect.gen(function*() {
    yield* Effect.logInfo("making the embedded database", { directory })
    const initResult = yield* runProgram(binaries.initdb, [
      ...["-D", at, "-U", "postgres", "--auth=reject", "--encoding=UTF8", "--data-checksums"],
      ...["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    ], { cwd: draft, runAs, input: "" })
    if (initResult.code !== 0) {
      return yield* programFailed("The embedded database could not be made", initResult.stderr, log)
    }
    const roleResult = yield* runSingle(
      cluster,
      { directory: draft, argument: at },
      `create role ${role} login\ncreate database ${role} owner ${role}\n${createBackupRole}`
    )
    if (roleResult.code !== 0) {
      return yield* programFailed("The embedded database could not be made", roleResult.stderr, log)
    }
    yield* attempt("The embedded database could not be put in place", () => putInPlace(draft, directory))
  })
  yield* build.pipe(Effect.onError(() => Effect.catch(discard, (error) => Effect.logWarning(error.message))))
})

/** The first of two processes that make a cluster at once wins; the other drops its own and uses the winner's. */
const putInPlace = (draft: string, directory: string) => {
  if (existsSync(directory)) rmSync(draft, { recursive: true, force: true })
  else renameSync(draft, directory)
  // Without this a power cut could take the name of a database that has already acknowledged commits.
  for (const parent of [dirname(directory), dirname(dirname(directory))]) {
    const fd = openSync(parent, "r")
    fsyncSync(fd)
    closeSync(fd)
  }
  const leftover = directory.slice(dirname(directory).length + 1) + ".new-"
  for (const name of readdirSync(dirname(directory))) {
    if (name.startsWith(leftover)) rmSync(join(dirname(directory), name), { recursive: true, force: true })
  }
}
