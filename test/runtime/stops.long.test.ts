/**
 * Goal: whatever tells the service to end, it ends in order and leaves no database server behind.
 * Method: the real entry point with an embedded database, in a process of its own; its server is found by its pid file.
 */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { freePort } from "../support/Ports.ts"
import { compileCache, program } from "../support/Service.ts"

interface LogEntry {
  readonly msg: string
  readonly reason?: string
  readonly stop_ms?: number
}

const fixture = (name: string) => decodeURIComponent(new URL(`../fixtures/plugins/${name}`, import.meta.url).pathname)

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** The process number of the database server of a data directory; undefined where none is written down yet. */
const serverOf = (directory: string): number | undefined => {
  const file = `${directory}/postgres/postmaster.pid`
  const pid = existsSync(file) ? Number.parseInt(readFileSync(file, "utf8"), 10) : Number.NaN
  return Number.isNaN(pid) ? undefined : pid
}

const until = (isSo: () => boolean) => Effect.repeat(Effect.as(Effect.sleep(5), undefined), { until: isSo })

/** A service on a database of its own; `onOutput` gets what it wrote to stdout so far, and the number of its server. */
const stoppedBy = (
  onOutput: (child: ChildProcess, written: string, server: number) => void,
  /** The program that runs the service, and its first words. */
  under: ReadonlyArray<string> = [],
  modules: ReadonlyArray<{ readonly use: string }> = []
) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const directory = yield* fs.makeTempDirectoryScoped()
    const file = `${directory}/config.jsonc`
    yield* fs.writeFileString(
      file,
      JSON.stringify({
        environments: ["devnet"],
        http: { port: yield* freePort },
        rpc: { port: 0, token: "0123456789abcdef0123456789abcdef" },
        data: { directory: `${directory}/data` },
        store: { use: "embedded" },
        modules
      })
    )
    const child = yield* Effect.acquireRelease(
      Effect.sync(() => {
        const [first, ...words] = [...under, process.execPath, program(), "--config", file]
        // In a session of its own: whoever started the tests may ignore SIGHUP.
        const env = { PATH: "", NODE_COMPILE_CACHE: compileCache }
        return spawn(first!, words, { stdio: ["ignore", "pipe", "pipe"], env, detached: true })
      }),
      (running) => Effect.sync(() => running.kill("SIGKILL"))
    )
    let written = ""
    let complaints = ""
    let server: number | undefined
    child.stderr.on("data", (chunk) => {
      complaints += String(chunk)
    })
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
    const entries = written.split("\n").flatMap((line) => line.startsWith("{") ? [JSON.parse(line) as LogEntry] : [])
    const stopLines = entries.filter(({ msg }) => msg === "stopping" || msg === "stopped")
    return { end: { code: child.exitCode, signal: child.signalCode, left, complaints }, entries, stopLines }
  }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))

const inOrder = { code: 0, signal: null, left: false, complaints: "" }

const isReady = (written: string) => written.includes("\"msg\":\"ready\"")

describe("the service stops in order, its database with it,", () => {
  for (const signal of ["SIGHUP", "SIGTERM"] as const) {
    it.live(
      `when it gets ${signal}, and logs that at the beginning and how long it took at the end`,
      () =>
        Effect.gen(function*() {
          let sentMillis = 0
          const { end, entries, stopLines } = yield* stoppedBy((child, written) => {
            if (isReady(written) && sentMillis === 0) {
              sentMillis = performance.now()
              child.kill(signal)
            }
          })
          const tookMillis = performance.now() - sentMillis
          assert.deepStrictEqual(end, inOrder)
          assert.deepStrictEqual(stopLines.map(({ msg, reason }) => [msg, reason]), [["stopping", signal], [
            "stopped",
            signal
          ]])
          assert.strictEqual(entries.at(-1)?.msg, "stopped")
          const stopMillis = stopLines[1]!.stop_ms!
          assert.isTrue(Number.isInteger(stopMillis) && stopMillis >= 0 && stopMillis <= tookMillis, String(stopMillis))
        })
    )
  }

  it.live("when it gets a signal while it starts, and logs that as well", () =>
    Effect.gen(function*() {
      const { end, entries, stopLines } = yield* stoppedBy((child) => void child.kill("SIGTERM"), [], [
        { use: fixture("starting.ts") }
      ])
      assert.isFalse(entries.some(({ msg }) => msg === "ready"))
      assert.deepStrictEqual(end, inOrder)
      assert.deepStrictEqual(stopLines.map(({ msg }) => msg), ["stopping", "stopped"])
    }))

  it.live(
    "when nobody reads what it writes any more: a broken pipe, even while it starts",
    () =>
      Effect.gen(function*() {
        const { end } = yield* stoppedBy((child) => {
          child.stdout!.destroy()
        })
        assert.deepStrictEqual(end, inOrder)
      })
  )
})

/** Sends SIGHUP to the service and all that started it, as a terminal does; SIGTERM once it has answered after that. */
const hungUp = (under: ReadonlyArray<string>) => {
  let step: "starts" | "hung up" | "answered" = "starts"
  return stoppedBy((child, written) => {
    const url = /"msg":"ready".*"url":"([^"]+)"/.exec(written)?.[1]
    if (url === undefined || step !== "starts") return
    step = "hung up"
    process.kill(-child.pid!, "SIGHUP")
    void fetch(`${url}/health/live`)
      .then(({ status }) => status === 200 ? step = "answered" : step, () => step)
      .finally(() => process.kill(-child.pid!, "SIGTERM"))
  }, under).pipe(Effect.map((result) => ({ ...result, isAnswered: step === "answered" })))
}

describe("the service outlives its terminal", () => {
  const ways: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
    ["nohup", ["/bin/bash", "-c", "/usr/bin/nohup \"$@\"", "bash"]],
    // It waits for the service, as npm does, so it must not end before it.
    ["a shell that ignores SIGHUP", ["/bin/sh", "-c", "trap '' HUP TERM; \"$@\"; exit $?", "sh"]]
  ]
  for (const [name, under] of ways) {
    it.live(`when ${name} started it, and stops at SIGTERM`, () =>
      Effect.gen(function*() {
        const { end, entries, isAnswered, stopLines } = yield* hungUp(under)
        assert.isTrue(isAnswered)
        assert.deepStrictEqual(end, inOrder)
        assert.deepStrictEqual(stopLines.map(({ msg, reason }) => [msg, reason]), [["stopping", "SIGTERM"], [
          "stopped",
          "SIGTERM"
        ]])
        assert.isDefined(entries.find(({ msg }) => msg.startsWith("SIGHUP is ignored")))
      }))
  }
})
