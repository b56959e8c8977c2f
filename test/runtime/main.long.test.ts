/**
 * Goal: the process tells an operator what happened by its words and its exit code, and stops without hurting anyone.
 * Method: the real entry point in processes of its own, on the pinned Node; the bundle of the run, and once the sources
 * as they are.
 */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, FileSystem, Redacted } from "effect"
import { RpcClient } from "effect/rpc"
import { spawn } from "node:child_process"
import { createServer } from "node:net"
import * as InternalRpc from "../../runtime/rpc/Client.ts"
import { GreeterRpc } from "../fixtures/plugins/greeter.ts"
import { migratedDatabase } from "../support/Database.ts"
import { freePort } from "../support/Ports.ts"
import { compileCache, program, sources } from "../support/Service.ts"

const rootFolder = decodeURIComponent(new URL("../..", import.meta.url).pathname)
const fixture = (name: string) => `${rootFolder}test/fixtures/plugins/${name}`
const token = "0123456789abcdef0123456789abcdef"

interface Ended {
  readonly code: number | null
  readonly output: string
}

/** The entry point with `words`; killed when the scope closes. */
const run = (words: ReadonlyArray<string>, entry = program()) =>
  Effect.gen(function*() {
    const ended = yield* Deferred.make<Ended>()
    const watchers: Array<() => void> = []
    let output = ""
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(process.execPath, [entry, ...words], { env: { PATH: "", NODE_COMPILE_CACHE: compileCache } })
      ),
      (running) => Effect.sync(() => running.kill("SIGKILL"))
    )
    const heard = (chunk: Buffer) => {
      output += String(chunk)
      for (const watcher of watchers) watcher()
    }
    child.stdout.on("data", heard)
    child.stderr.on("data", heard)
    child.once("close", (code) => {
      Deferred.doneUnsafe(ended, Effect.succeed({ code, output }))
      for (const watcher of watchers) watcher()
    })
    /** The text after `pattern` matched; fails when the process ends before. */
    const said = (pattern: RegExp) =>
      Effect.callback<RegExpExecArray, string>((resume) => {
        const look = () => {
          const match = pattern.exec(output)
          if (match !== null) resume(Effect.succeed(match))
          else if (child.exitCode !== null) resume(Effect.fail(`ended with ${child.exitCode}: ${output}`))
        }
        watchers.push(look)
        look()
      })
    return { child, said, ended: Deferred.await(ended) }
  })

const written = (text: string) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const folder = yield* fs.makeTempDirectoryScoped()
    yield* fs.writeFileString(`${folder}/c.jsonc`, text)
    return `${folder}/c.jsonc`
  })

/** A config of a service on a database of its own. */
const config = (more: Record<string, unknown>) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const { url } = yield* migratedDatabase
    return yield* written(JSON.stringify({
      environments: ["devnet"],
      http: { port: yield* freePort },
      rpc: { port: 0, token },
      data: { directory: yield* fs.makeTempDirectoryScoped() },
      store: { use: "postgres", options: { url } },
      ...more
    }))
  })

const ready = /"msg":"ready".*"url":"([^"]+)","internalUrl":"([^"]+)"/

describe("the entry point", () => {
  it.live("ends with 2 and the report when the config cannot be used", () =>
    Effect.gen(function*() {
      const file = yield* written(`{ "environments": ["devnet"], "htpp": {} }`)
      const cases = [
        [["--config", file], `unknown key "htpp". Did you mean "http"?`],
        [["--config=/nowhere.jsonc"], "config file not found: /nowhere.jsonc"],
        [["--confg", file], `cannot read "--confg"`]
      ] as const
      yield* Effect.forEach(cases, ([words, expected]) =>
        Effect.gen(function*() {
          const { code, output } = yield* (yield* run(words)).ended
          assert.strictEqual(code, 2)
          assert.include(output, expected)
        }), { concurrency: "unbounded", discard: true })
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)))

  it.live("says which port is taken and how to choose another, and ends with 1", () =>
    Effect.gen(function*() {
      const port = yield* Effect.acquireRelease(
        Effect.callback<{ readonly port: number; readonly close: () => void }>((resume) => {
          const server = createServer()
          server.listen(0, "127.0.0.1", () => {
            const address = server.address()
            const bound = typeof address === "object" && address !== null ? address.port : 0
            resume(Effect.succeed({ port: bound, close: () => server.close() }))
          })
        }),
        ({ close }) => Effect.sync(close)
      )
      const file = yield* config({ http: { port: port.port } })
      const { code, output } = yield* (yield* run(["--config", file])).ended
      assert.strictEqual(code, 1)
      assert.include(output, `cannot listen on 127.0.0.1:${port.port} (EADDRINUSE): another process listens there`)
      assert.notInclude(output, "at Server.")
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)))

  it.live("refuses mainnet without a master key, before it touches a database", () =>
    Effect.gen(function*() {
      const file = yield* written(JSON.stringify({ environments: ["mainnet"] }))
      const { code, output } = yield* (yield* run(["--config", file])).ended
      assert.strictEqual(code, 2)
      assert.include(output, "mainnet needs a master key")
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)))

  it.live(
    "refuses a data directory that is a file or stands below one, before it writes anything, and says what to do",
    () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const folder = yield* fs.makeTempDirectoryScoped()
        yield* fs.writeFileString(`${folder}/file`, "")
        for (
          const [directory, message] of [
            [
              "file",
              `${folder}/file is a file, and data.directory must be a directory: set data.directory to a directory`
            ],
            ["file/data", `${folder}/file/data cannot be used as the data directory: `]
          ] as const
        ) {
          for (
            const store of [{ use: "embedded" }, { use: "postgres", options: { url: "postgres://127.0.0.1:1/none" } }]
          ) {
            const file = yield* config({ store, data: { directory: `${folder}/${directory}` } })
            const { code, output } = yield* (yield* run(["--config", file])).ended
            assert.strictEqual(code, 1)
            assert.include(output, message)
            assert.include(output, "et data.directory to a directory")
            assert.notInclude(output, "    at ")
          }
        }
      }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.live(
    "refuses a data directory that anybody may write to on mainnet, and warns of it on devnet",
    () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const directory = yield* fs.makeTempDirectoryScoped()
        const warning = `Any user of this machine may write to the data directory ${directory} (mode 0777)`
        const advice = `Close it: chmod o-w ${directory}`
        const secret = yield* written(Buffer.alloc(32, 1).toString("hex"))
        yield* fs.chmod(directory, 0o777)
        const mainnet = yield* config({
          environments: ["mainnet"],
          secrets: { master: [`\${file:${secret}}`] },
          rpc: { port: 0, token: `\${file:${secret}}` },
          data: { directory }
        })
        const { code, output } = yield* (yield* run(["--config", mainnet])).ended
        assert.strictEqual(code, 1, output)
        assert.include(output, warning)
        assert.include(output, advice)
        assert.deepStrictEqual(yield* fs.readDirectory(directory), [])

        const started = [[0o777, true], [0o770, false]] as const
        yield* Effect.forEach(started, ([mode, isWarned]) =>
          Effect.gen(function*() {
            const own = yield* fs.makeTempDirectoryScoped()
            yield* fs.chmod(own, mode)
            const service = yield* run(["--config", yield* config({ data: { directory: own } })])
            yield* service.said(ready)
            service.child.kill("SIGTERM")
            const { output } = yield* service.ended
            const warnings = output.split("\n").filter((line) => line.includes(`data directory ${own} (mode 0777)`))
            assert.lengthOf(warnings, isWarned ? 1 : 0)
            if (isWarned) assert.include(warnings[0]!, "\"level\":\"warn\"")
          }), { discard: true })
      }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.live(
    "refuses a database whose keys it cannot read, and says what to do, where it would start and all keys be dead",
    () =>
      Effect.gen(function*() {
        const { url } = yield* migratedDatabase
        const on = (fill: number) =>
          config({
            store: { use: "postgres", options: { url } },
            secrets: { master: [Buffer.alloc(32, fill).toString("hex")] }
          })
        const first = yield* run(["--config", yield* on(1)])
        yield* first.said(ready)
        first.child.kill("SIGTERM")
        assert.strictEqual((yield* first.ended).code, 0)
        const { code, output } = yield* (yield* run(["--config", yield* on(2)])).ended
        assert.strictEqual(code, 2, "a service manager does not start it again")
        assert.match(
          output,
          /The master key is not the right one: this database belongs to the master key [0-9a-f]{8}, in use since/
        )
        assert.notInclude(output, "    at ")
      }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.live(
    "answers other processes, and stops on SIGTERM with 0 after the requests under way",
    () =>
      Effect.gen(function*() {
        const file = yield* config({ modules: [{ use: fixture("greeter.ts") }, { use: fixture("slow.ts") }] })
        const service = yield* run(["--config", file], sources)
        const [, url = "", internalUrl = ""] = yield* service.said(ready)
        const greeting = yield* Effect.gen(function*() {
          return yield* (yield* RpcClient.make(GreeterRpc))["greeter.greet"]({ name: "there" })
        }).pipe(
          Effect.scoped,
          Effect.provide(InternalRpc.layer({ url: internalUrl, token: Redacted.make(token) }), { local: true })
        )
        assert.strictEqual(greeting, "hello there")

        const slow = yield* Effect.forkChild(Effect.promise(() => fetch(`${url}/slow`).then((answer) => answer.text())))
        yield* service.said(/slow request under way/)
        service.child.kill("SIGTERM")
        assert.strictEqual(yield* Fiber.join(slow), "done")
        const { code, output } = yield* service.ended
        assert.strictEqual(code, 0, output)
        const after = yield* Effect.exit(Effect.tryPromise(() => fetch(`${url}/health/live`)))
        assert.strictEqual(after._tag, "Failure")
      }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
