/**
 * The life of the embedded server, seen from outside: real service processes on real directories, started, stopped,
 * killed and doubled. Every process acknowledges one row when it is ready, so a lost commit shows in the count.
 */
import { PgConnection } from "@effect/sql-pg"
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, References, Schedule } from "effect"
import type { Scope } from "effect"
import { SqlClient } from "effect/sql"
import { spawn, spawnSync } from "node:child_process"
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from "node:fs"
import { renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { copyNative, findNative } from "../../../runtime/store/embedded/Binaries.ts"
import { isServerOf } from "../../../runtime/store/embedded/Server.ts"
import { advisoryLock, lockSpace } from "../../../runtime/store/Locks.ts"
import { storeLayer } from "../../../runtime/Store.ts"
import { resumeProcess, stopProcess } from "../../support/Process.ts"
import { compileCache, until } from "../../support/Service.ts"
import { storeSuite } from "../../conformance/store.ts"

const root = process.getuid?.() === 0
const script = new URL("../../support/embeddedProcess.ts", import.meta.url).pathname

/** Accounts for the tests that only root can run: one with an entry in /etc/passwd, one without. */
const nobody = { uid: 65_534, gid: 65_534 }
const ordinaryUser = { uid: 65_533, gid: 65_533 }

/** A directory for one test; a server that a failed test left in it is stopped. */
const emptyDirectory: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "till-embedded-"))),
  (path) =>
    Effect.sync(() => {
      const pid = serverPid(path)
      const wait = "while kill -0 $0; do sleep 0.02; done 2>/dev/null"
      if (pid !== undefined) {
        spawnSync("sh", ["-c", `kill -QUIT $0; ${wait}`, String(pid)])
      }
      rmSync(path, { recursive: true, force: true })
    })
)

/** The store in this process; its scope is the service's life. */
const serve = (dataDirectory: string) =>
  Layer.build(storeLayer("embedded", { maxConnections: 2, allowRoot: false }, dataDirectory, ["devnet"])).pipe(
    Effect.provideService(References.MinimumLogLevel, "Fatal")
  )

/** What a start in this process fails with. */
const refusal = (dataDirectory: string) => Effect.map(Effect.flip(Effect.scoped(serve(dataDirectory))), String)

/** A stopped database without rows, copied for each test: making one takes as long as ten copies. */
let seed = ""
beforeAll(async () => {
  seed = mkdtempSync(join(tmpdir(), "till-embedded-seed-"))
  await Effect.runPromise(Effect.scoped(serve(seed)))
  return () => rmSync(seed, { recursive: true, force: true })
})

const directory = Effect.tap(
  emptyDirectory,
  (path) => Effect.sync(() => assert.strictEqual(spawnSync("cp", ["-a", `${seed}/.`, path]).status, 0))
)

const serverPid = (dataDirectory: string): number | undefined => {
  const file = join(dataDirectory, "postgres", "postmaster.pid")
  return existsSync(file) ? Number.parseInt(readFileSync(file, "utf8"), 10) : undefined
}

interface Service {
  /** The next line it prints: `{ ready: rows }` or `{ failed: message }`. */
  readonly line: Effect.Effect<{ readonly ready?: number; readonly failed?: string }>
  readonly pause: Effect.Effect<void>
  readonly resume: Effect.Effect<void>
  readonly kill: (signal: "SIGTERM" | "SIGKILL") => Effect.Effect<void>
}

const start = (
  dataDirectory: string,
  as: { readonly uid?: number; readonly gid?: number } = {}
): Effect.Effect<Service, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn(process.execPath, [script, dataDirectory], {
        ...as,
        cwd: "/",
        env: { ...process.env, NODE_COMPILE_CACHE: compileCache },
        stdio: ["ignore", "pipe", "ignore"]
      })
      const lines: Array<string> = []
      const waiting: Array<(line: string) => void> = []
      let rest = ""
      child.stdout.on("data", (chunk) => {
        const parts = (rest + String(chunk)).split("\n")
        rest = parts.pop() ?? ""
        for (const part of parts) (waiting.shift() ?? ((line: string) => lines.push(line)))(part)
      })
      const line = Effect.callback<any>((resume) => {
        const answer = (text: string) => resume(Effect.sync(() => JSON.parse(text)))
        const next = lines.shift()
        if (next === undefined) waiting.push(answer)
        else answer(next)
      })
      const kill = (signal: "SIGTERM" | "SIGKILL") =>
        Effect.callback<void>((resume) => {
          const gone = () => resume(Effect.void)
          if (child.exitCode !== null || child.signalCode !== null) return gone()
          child.once("exit", gone)
          child.kill(signal)
        })
      return { line, kill, pause: stopProcess(child.pid!), resume: resumeProcess(child.pid!) }
    }),
    (service) => service.kill("SIGTERM")
  )

storeSuite(
  "embedded",
  Layer.unwrap(
    Effect.map(directory, (path) => storeLayer("embedded", { maxConnections: 4, allowRoot: false }, path, ["devnet"]))
  )
)

describe("the embedded server", () => {
  it.live("starts on an empty directory, stops with the service, and starts again with all its rows", () =>
    Effect.gen(function*() {
      const path = yield* emptyDirectory
      const first = yield* start(path)
      assert.deepStrictEqual(yield* first.line, { ready: 1 })
      yield* first.kill("SIGTERM")
      assert.isUndefined(serverPid(path), "the server was stopped")
      assert.deepStrictEqual(readdirSync(path).toSorted(), ["postgres", "postgres.log"])
      assert.strictEqual(yield* rows(path), 1n)
    }))

  it.live("survives a killed service, and is adopted by the next one without a restart", () =>
    Effect.gen(function*() {
      const path = yield* directory
      const first = yield* start(path)
      yield* first.line
      const pid = serverPid(path)
      yield* first.kill("SIGKILL")
      const adopter = yield* Effect.scoped(Effect.andThen(serve(path), Effect.sync(() => serverPid(path))))
      assert.strictEqual(adopter, pid, "the same server")
      assert.isUndefined(serverPid(path), "the adopted server was stopped too")
      assert.strictEqual(yield* rows(path), 1n)
    }))

  it.live("refuses a second service on the directory while the first one runs, and stays with the first", () =>
    Effect.gen(function*() {
      const path = yield* directory
      yield* serve(path)
      const pid = serverPid(path)
      const refused = yield* refusal(path)
      assert.include(refused, `Another service is already using the data directory ${path}`)
      assert.strictEqual(serverPid(path), pid)
    }))

  it.live("comes back after service and server were both killed, with every acknowledged row", () =>
    Effect.gen(function*() {
      const path = yield* directory
      const first = yield* start(path)
      yield* first.line
      yield* first.kill("SIGKILL")
      process.kill(serverPid(path) ?? 0, "SIGKILL")
      assert.strictEqual(yield* rows(path), 1n)
    }))

  it.live("is started again when it crashes under a living service, which keeps its hold on the directory", () =>
    Effect.gen(function*() {
      const path = yield* directory
      const sql = Context.get(yield* serve(path), SqlClient.SqlClient)
      const pid = serverPid(path)
      process.kill(pid ?? 0, "SIGKILL")
      // The processes of the killed one may answer for a while yet.
      const next = yield* until(
        "a server is started again",
        Effect.sync(() => serverPid(path)),
        (found) => found !== undefined && !Number.isNaN(found) && found !== pid
      )
      const locks = Effect.retry(sql`select 1 from pg_locks where locktype = 'advisory'`, Schedule.spaced("20 millis"))
      yield* Effect.repeat(locks, { until: (held) => held.length > 0 })
      assert.strictEqual(serverPid(path), next)
      assert.include(yield* refusal(path), "Another service is already using")
    }))

  it.live("tells the service that it lost the directory, when another one took it", () =>
    Effect.gen(function*() {
      const path = yield* directory
      const first = yield* start(path)
      yield* first.line
      yield* stealLock(path, first)
      assert.include((yield* first.line).failed, "Another service is already using")
    }))

  it.live("names a database of another major version, and leaves it alone", () =>
    Effect.gen(function*() {
      const path = yield* emptyDirectory
      const cluster = join(path, "postgres")
      mkdirSync(cluster)
      writeFileSync(join(cluster, "PG_VERSION"), "14\n")
      if (root) chownSync(cluster, nobody.uid, nobody.gid)
      assert.include(yield* refusal(path), "was written by PostgreSQL 14")
      assert.deepStrictEqual(readdirSync(cluster), ["PG_VERSION"])
    }))

  it.live("takes a pid file that names an unrelated living process for what it is", () =>
    Effect.gen(function*() {
      const path = yield* directory
      const file = join(path, "postgres", "postmaster.pid")
      const left = yield* Effect.scoped(Effect.andThen(serve(path), Effect.sync(() => readFileSync(file, "utf8"))))
      const bystander = yield* Effect.acquireRelease(
        Effect.sync(() => spawn("sleep", ["60"], { ...(root ? nobody : {}), stdio: "ignore" })),
        (child) => Effect.sync(() => void child.kill())
      )
      writeFileSync(file, left.replace(/^\d+/, String(bystander.pid)))
      if (root) chownSync(file, nobody.uid, nobody.gid)
      yield* serve(path)
      assert.notStrictEqual(serverPid(path), bystander.pid)
    }))

  it("is known by its arguments where the system does not tell in which directory a process is", () => {
    const words = ["/opt/native/bin/postgres", "-D", "/var/lib/tillwire/postgres", "-k", "/proc/self/cwd", ""]
    assert.isTrue(isServerOf(words.join("\0"), "/var/lib/tillwire/postgres"))
    assert.isFalse(isServerOf(words.join("\0"), "/var/lib/other/postgres"))
    assert.isFalse(isServerOf(["/bin/cat", ...words.slice(1)].join("\0"), "/var/lib/tillwire/postgres"))
    assert.isFalse(isServerOf("", "/var/lib/tillwire/postgres"))
  })

  it.live("is reached in its own directory, however long the path of that is, and leaves nothing elsewhere", () =>
    Effect.gen(function*() {
      const before = readdirSync(tmpdir())
      const path = join(yield* directory, "a".repeat(100), "b".repeat(100))
      mkdirSync(path, { recursive: true, mode: 0o700 })
      assert.strictEqual(spawnSync("cp", ["-a", `${seed}/.`, path]).status, 0)
      const first = yield* start(path)
      assert.deepStrictEqual(yield* first.line, { ready: 1 })
      assert.include(readdirSync(join(path, "postgres")), ".s.PGSQL.5432")
      yield* first.kill("SIGKILL")
      assert.strictEqual(yield* rows(path), 1n, "adopted by the same path")
      assert.deepStrictEqual(
        readdirSync(tmpdir()).filter((name) => /^till-[0-9a-f]{12}$/.test(name) && !before.includes(name)),
        []
      )
    }))

  it.live.runIf(root)("lets no other process of the account that it runs as log in", () =>
    Effect.gen(function*() {
      const path = yield* directory
      yield* serve(path)
      for (const role of ["tillwire", "postgres"]) assert.match(yield* logIn(path, role, nobody), /^refused: 28000/)
      assert.strictEqual(yield* logIn(path, "tillwire", { uid: 0, gid: 0 }), "logged in")
    }))

  it.live.runIf(root)(
    "made by an earlier version, which let every process log in, is closed at the next start",
    () =>
      Effect.gen(function*() {
        const path = yield* directory
        const hba = join(path, "postgres", "pg_hba.conf")
        openToEveryone(hba)
        yield* Effect.scoped(Effect.gen(function*() {
          yield* serve(path)
          assert.match(yield* logIn(path, "postgres", nobody), /^refused: 28000/)
        }))
        // Also where the server of a service that was killed still runs, and is adopted.
        openToEveryone(hba)
        const first = yield* start(path)
        yield* first.line
        openToEveryone(hba)
        process.kill(serverPid(path) ?? 0, "SIGHUP")
        yield* Effect.repeat(logIn(path, "postgres", nobody), { until: (outcome) => outcome === "logged in" })
        const pid = serverPid(path)
        yield* first.kill("SIGKILL")
        yield* serve(path)
        assert.strictEqual(serverPid(path), pid, "the same server")
        yield* Effect.repeat(logIn(path, "postgres", nobody), {
          until: (outcome) => outcome.startsWith("refused: 28000")
        })
      })
  )

  it.live.runIf(root)(
    "follows no link that its account plants in the directory: nothing is read, written or given away",
    () =>
      Effect.gen(function*() {
        const path = yield* directory
        const cluster = join(path, "postgres")
        const secret = join(yield* emptyDirectory, "secret")
        writeFileSync(secret, "7 the password of root\n", { mode: 0o600 })
        for (const name of ["pg_hba.conf", "pg_ident.conf"]) {
          rmSync(join(cluster, name))
          symlinkSync(secret, join(cluster, name))
        }
        yield* Effect.scoped(serve(path))
        assert.strictEqual(readFileSync(secret, "utf8"), "7 the password of root\n")
        assert.strictEqual(statSync(secret).uid, 0)
        const version = readFileSync(join(cluster, "PG_VERSION"))
        rmSync(join(cluster, "PG_VERSION"))
        symlinkSync(secret, join(cluster, "PG_VERSION"))
        assert.notInclude(yield* refusal(path), "the password of root")
        rmSync(join(cluster, "PG_VERSION"))
        writeFileSync(join(cluster, "PG_VERSION"), version)
        rmSync(join(path, "postgres.log"))
        symlinkSync(secret, join(path, "postgres.log"))
        assert.include(yield* refusal(path), "postgres.log")
        assert.strictEqual(readFileSync(secret, "utf8"), "7 the password of root\n")
        rmSync(join(path, "postgres.log"))
        renameSync(cluster, join(path, "moved"))
        symlinkSync(join(path, "moved"), cluster)
        assert.include(yield* refusal(path), "is a link")
      })
  )

  it.live.runIf(root)(
    "is not run by root where mainnet is served, unless that is asked for",
    () =>
      Effect.gen(function*() {
        const path = yield* directory
        const onMainnet = (allowRoot: boolean) =>
          Layer.build(storeLayer("embedded", { maxConnections: 2, allowRoot }, path, ["devnet", "mainnet"])).pipe(
            Effect.provideService(References.MinimumLogLevel, "Fatal")
          )
        const before = readdirSync(path)
        const refused = String(yield* Effect.flip(Effect.scoped(onMainnet(false))))
        for (
          const part of ["Root may not run", `chown -R tillwire: ${path}`, "User=tillwire", "store.options.allowRoot"]
        ) {
          assert.include(refused, part)
        }
        assert.deepStrictEqual(readdirSync(path), before, "nothing was started")
        yield* Effect.scoped(onMainnet(true))
      })
  )

  it.live.runIf(root)("names a directory it cannot write to", () =>
    Effect.gen(function*() {
      const path = yield* emptyDirectory
      chmodSync(path, 0o555)
      const service = yield* start(join(path, "data"), ordinaryUser)
      const { failed } = yield* service.line
      assert.include(failed, path)
      assert.include(failed, "write permission")
    }))

  it.live.runIf(root)(
    "runs as another user than root, in a directory only root may walk to",
    () =>
      Effect.gen(function*() {
        const path = yield* directory
        yield* serve(path)
        const status = readFileSync(`/proc/${serverPid(path)}/status`, "utf8")
        assert.notMatch(status, /^Uid:\s+0\b/m)
        assert.match(status, /^Groups:\s*$/m, "no group of root is left")
      })
  )

  it.live.runIf(root)(
    "runs for an ordinary user, and names the owner when another one comes",
    () =>
      Effect.gen(function*() {
        const path = yield* directory
        spawnSync("chown", ["-R", `${nobody.uid}:${nobody.gid}`, path])
        const first = yield* start(path, nobody)
        assert.deepStrictEqual(yield* first.line, { ready: 1 })
        yield* first.kill("SIGTERM")
        chmodSync(path, 0o777)
        const other = yield* start(path, ordinaryUser)
        assert.include((yield* other.line).failed, "belongs to user id 65534")
        assert.strictEqual(yield* rows(path), 1n, "root runs it as its owner")
      })
  )

  it.live.runIf(root)(
    "copies its programs to where the server's user may go, once and complete",
    () =>
      Effect.gen(function*() {
        const path = yield* emptyDirectory
        const to = join(path, "cache", "native")
        copyNative(yield* Effect.map(findNative("linux-x64"), (native) => native.directory), to)
        chmodSync(path, 0o755)
        const ran = spawnSync(join(to, "bin", "postgres"), ["--version"], { ...nobody, cwd: "/", encoding: "utf8" })
        assert.include(ran.stdout, "(PostgreSQL) 18")
      })
  )
})

/** What a server that takes everybody looks like, as versions before 0.1 made it. */
const openToEveryone = (file: string) => writeFileSync(file, "local all all trust\n")

/**
 * Whether a process of an account can log in as `role`: it comes by the server's own working directory, which a process
 * of the same account may always walk to.
 */
const logIn = (path: string, role: string, as: { readonly uid: number; readonly gid: number }) =>
  Effect.callback<string>((resume) => {
    const child = spawn(process.execPath, ["--input-type=module", "-e", loginProgram, socketsOf(path), role], {
      ...as,
      cwd: new URL("../../..", import.meta.url).pathname,
      stdio: ["ignore", "pipe", "ignore"]
    })
    let said = ""
    child.stdout.on("data", (chunk) => said += String(chunk))
    child.once("close", () => resume(Effect.succeed(said.trim())))
  })

/** PostgreSQL's first messages: a start packet by hand; the answer begins with R (0: logged in) or E with the code. */
const loginProgram = `
  import { connect } from "node:net"
  const [directory, role] = process.argv.slice(1)
  const names = Buffer.from(["user", role, "database", "tillwire", "", ""].join("\\0").slice(0, -1) + "\\0")
  const packet = Buffer.alloc(8)
  packet.writeInt32BE(8 + names.length)
  packet.writeInt32BE(196608, 4)
  const socket = connect(directory + "/.s.PGSQL.5432")
  socket.on("error", (error) => console.log("refused: " + error.code))
  socket.on("connect", () => socket.write(Buffer.concat([packet, names])))
  socket.once("data", (answer) => {
    const code = /C([0-9A-Z]{5})/.exec(answer.toString("latin1"))?.[1]
    console.log(answer[0] === 82 && answer.readInt32BE(5) === 0 ? "logged in" : "refused: " + code)
    socket.destroy()
  })`

/** The acknowledged rows, read by a service of its own. */
const rows = (path: string) =>
  Effect.scoped(Effect.gen(function*() {
    const sql = Context.get(yield* serve(path), SqlClient.SqlClient)
    const [row] = yield* sql<{ n: bigint }>`select count(*) as n from acknowledged`
    return row?.n
  }))

/** Where the server's socket is, as other processes reach it. */
const socketsOf = (path: string) =>
  (readFileSync(join(path, "postgres", "postmaster.pid"), "utf8").split("\n")[4] ?? "")
    .replace("/proc/self/", `/proc/${serverPid(path)}/`)

/** Another service, as the server sees it: ends the holder's session and takes the lock before the holder is back. */
const stealLock = Effect.fnUntraced(function*(path: string, holder: Service) {
  const thief = yield* PgConnection.make({ host: socketsOf(path), username: "tillwire", database: "tillwire" })
  yield* holder.pause
  yield* thief.query(
    "select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = 'tillwire guard'"
  )
  const took = yield* thief.query("select pg_try_advisory_lock($1, $2) as held", [lockSpace, advisoryLock.service])
  assert.isTrue(took.rows[0]?.["held"])
  yield* holder.resume
})
