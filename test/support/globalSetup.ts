/**
 * Starts the one PostgreSQL of a test run, makes the templates that test databases are copied from, and says what tests
 * start as the service. The default is the embedded server's programs with durability off (1.5 s);
 * `TEST_STORE=container` starts the image named by `POSTGRES_IMAGE` (default postgres:18) instead, so that the same
 * suites run against another server.
 */
import { Effect, References } from "effect"
import { SqlClient } from "effect/sql"
import { spawn, spawnSync } from "node:child_process"
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { TestProject } from "vitest/node"
import { migrate } from "../../runtime/Migrate.ts"
import { findBinaries, findRunAs } from "../../runtime/store/embedded/Binaries.ts"
import { runtimeMigrations } from "../../runtime/Tables.ts"
import { buildBundle, findBundle } from "./BuiltService.ts"
import { connect, fullTemplate, template } from "./Database.ts"
import type { TestServer } from "./Database.ts"
import { allMigrations } from "./Migrations.ts"

export interface Started {
  readonly server: TestServer
  readonly stop: () => Promise<void>
}

/** Durability off: a test run that loses its machine loses nothing. */
const settings = [
  "fsync=off",
  "synchronous_commit=off",
  "full_page_writes=off",
  "autovacuum=off",
  "max_connections=300",
  "shared_buffers=128MB"
].flatMap((setting) => ["-c", setting])

const startPollMillis = 10

export const startEmbedded = async (): Promise<Started> => {
  const root = mkdtempSync(join(tmpdir(), "till-"))
  const runAs = await Effect.runPromise(findRunAs(root))
  if (runAs !== undefined) chownSync(root, runAs.uid, runAs.gid)
  const programs = await Effect.runPromise(findBinaries(root, runAs))
  const data = join(root, "data")
  const made = spawnSync(programs.initdb, [
    ...["-D", data, "-U", "postgres", "--no-sync", "--auth=trust", "--encoding=UTF8"],
    ...["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
  ], { ...runAs, cwd: root, encoding: "utf8" })
  if (made.status !== 0) throw new Error(`initdb: ${made.stderr}${made.error ?? ""}`)
  const child = spawn(programs.postgres, ["-D", data, "-k", root, "-c", "listen_addresses=", ...settings], {
    ...runAs,
    cwd: root,
    detached: true,
    stdio: ["ignore", "ignore", "pipe"]
  })
  let log = ""
  child.stderr.on("data", (chunk) => {
    log = (log + String(chunk)).slice(-4096)
  })
  const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()))
  const pidFile = join(data, "postmaster.pid")
  while (!(existsSync(pidFile) && readFileSync(pidFile, "utf8").split("\n")[7]?.trim() === "ready")) {
    if (child.exitCode !== null) throw new Error(`postgres: ${log}`)
    await new Promise((resolve) => setTimeout(resolve, startPollMillis))
  }
  const stop = async () => {
    child.kill("SIGINT")
    await gone
    rmSync(root, { recursive: true, force: true })
  }
  return { server: { host: root, port: 5432, username: "postgres" }, stop }
}

const startContainer = async (): Promise<Started> => {
  const { GenericContainer, Wait } = await import("testcontainers")
  const password = "test"
  const container = await new GenericContainer(process.env["POSTGRES_IMAGE"] ?? "postgres:18")
    .withEnvironment({ POSTGRES_PASSWORD: password })
    .withCommand(["postgres", ...settings])
    .withExposedPorts(5432)
    // The image starts the server twice: the first time only to initialise it.
    .withWaitStrategy(Wait.forLogMessage(/ready to accept connections/, 2))
    .start()
  const server = { host: container.getHost(), port: container.getMappedPort(5432), username: "postgres", password }
  return { server, stop: async () => void await container.stop() }
}

/** The runtime's tables, and a copy with those of every module. */
export const makeTemplates = (server: TestServer) =>
  Effect.gen(function*() {
    const onServer = connect({ ...server, database: "postgres" })
    const make = (name: string, from: string) =>
      Effect.flatMap(SqlClient.SqlClient, (sql) => sql`create database ${sql(name)} template ${sql(from)}`).pipe(
        Effect.provide(onServer)
      )
    yield* make(template, "template1")
    yield* Effect.provide(migrate("runtime", runtimeMigrations), connect({ ...server, database: template }))
    yield* make(fullTemplate, template)
    const all = yield* Effect.promise(allMigrations)
    yield* Effect.forEach(all, ({ migrations, name }) => migrate(name, migrations), { discard: true }).pipe(
      Effect.provide(connect({ ...server, database: fullTemplate }))
    )
  })

/**
 * What tests start as the service. A whole run builds the bundle; a run of a few files takes it where it is there, and
 * else the sources, because a build costs as much as some starts. `TEST_SERVICE=sources` takes the sources, and the
 * path of a bundle's entry takes that bundle.
 */
const chooseProgram = async (project: TestProject): Promise<string | undefined> => {
  const named = process.env["TEST_SERVICE"]
  if (named !== undefined) return named === "sources" ? undefined : named
  // vitest keeps what the command line names, and has it in no type: without it, each run builds the bundle.
  const { filenamePattern } = project.vitest as { readonly filenamePattern?: ReadonlyArray<string> }
  return filenamePattern === undefined ? buildBundle() : findBundle()
}

export default async function setup(project: TestProject) {
  const [{ server, stop }, program] = await Promise.all([
    process.env["TEST_STORE"] === "container" ? startContainer() : startEmbedded(),
    chooseProgram(project)
  ])
  const quiet = Effect.provideService(makeTemplates(server), References.MinimumLogLevel, "Warn")
  await Effect.runPromise(quiet).catch(async (cause) => {
    await stop()
    throw cause
  })
  project.provide("testServer", server)
  project.provide("serviceProgram", program)
  return stop
}
