/**
 * Goal: whatever tells the service to end, it ends in order and leaves no database server behind.
 * Method: the real entry point with an embedded database, in a process of its own; its server is found by its pid file.
 */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"

const entry = decodeURIComponent(new URL("../../runtime/main.ts", import.meta.url).pathname)

/** A process loads all its sources and makes a database first: two seconds on an idle machine, many on a busy one. */
const patience = 120_000

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** The process number of the database server of a data directory; undefined where none is written down. */
const serverOf = (directory: string): number | undefined => {
  const file = `${directory}/postgres/postmaster.pid`
  return existsSync(file) ? Number.parseInt(readFileSync(file, "utf8"), 10) : undefined
}

const until = (isSo: () => boolean) => Effect.repeat(Effect.as(Effect.sleep(5), undefined), { until: isSo })

/** A service on a database of its own; `onOutput` gets what it wrote to stdout so far, and the number of its server. */
const stoppedBy = (onOutput: (child: ChildProcess, written: string, server: number) => void) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const directory = yield* fs.makeTempDirectoryScoped()
    const file = `${directory}/config.jsonc`
    yield* fs.writeFileString(file, JSON.stringify({
      environments: ["devnet"],
      http: { port: 0 },
      rpc: { port: 0, token: "0123456789abcdef0123456789abcdef" },
      data: { directory: `${directory}/data` },
      store: { use: "embedded" },
      modules: []
    }))
    const child = yield* Effect.acquireRelease(
      Effect.sync(() => spawn(process.execPath, [entry, "--config", file], { stdio: ["ignore", "pipe", "pipe"], env: { PATH: "" } })),
      (running) => Effect.sync(() => running.kill("SIGKILL"))
    )
    let written = ""
    let complaints = ""
    let server: number | undefined
    child.stderr.on("data", (chunk) => { complaints += String(chunk) })
    child.stdout.on("data", (chunk) => {
      written += String(chunk)
      server ??= serverOf(`${directory}/data`)
      if (server !== undefined) onOutput(child, written, server)
    })
    yield* until(() => child.exitCode !== null || child.signalCode !== null)
    const left = server !== undefined && isAlive(server)
    // What a failing build leaves must not stay with the machine.
    if (left) process.kill(server!, "SIGINT")
    assert.isDefined(server, `no database was started: ${complaints}`)
    return { code: child.exitCode, signal: child.signalCode, left, complaints }
  }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))

const inOrder = { code: 0, signal: null, left: false, complaints: "" }

describe("the service stops in order, its database with it,", () => {
  it.live("when its terminal is closed: SIGHUP", () =>
    Effect.gen(function*() {
      const end = yield* stoppedBy((child, written) => {
        if (written.includes("\"msg\":\"ready\"")) child.kill("SIGHUP")
      })
      assert.deepStrictEqual(end, inOrder)
    }), patience)

  it.live("when nobody reads what it writes any more: a broken pipe, even while it starts", () =>
    Effect.gen(function*() {
      const end = yield* stoppedBy((child) => { child.stdout!.destroy() })
      assert.deepStrictEqual(end, inOrder)
    }), patience)
})
