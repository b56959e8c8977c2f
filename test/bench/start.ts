/** From the command to the first `200` of the readiness probe, and what an idle process holds in memory. */
import { Effect, type Scope } from "effect"
import { execFileSync, spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { freePort } from "../support/Ports.ts"
import { exchange, temporaryDirectory } from "../support/Service.ts"
import type { Bench } from "./Bench.ts"
import { residentMegabytes } from "../support/Process.ts"
import { median, type ReportLine } from "./Report.ts"

const root = new URL("../..", import.meta.url).pathname
const lookMillis = 10
const idleSeconds = 10

/** The words of `npm start`, `node` left out. */
const [, ...words] = (JSON.parse(readFileSync(`${root}package.json`, "utf8")).scripts.start as string).split(" ")

/** The bundle by its command, and a Node that only answers: the least that a start and an idle process can take. */
const bundle = [`${root}dist/service/main.js`, "--config", "config/devnet.jsonc"]
const rawNode = [
  "--eval",
  "require('node:http').createServer((_, answer) => answer.end('{}')).listen(+process.env.TILLWIRE__HTTP__PORT)"
]

/** A process of `command`, once it is ready; but for the ports and the data directory as an operator starts it. */
const started = (
  directory: string,
  command: ReadonlyArray<string>
): Effect.Effect<{ readonly seconds: number; readonly pid: number }, never, Scope.Scope> =>
  Effect.gen(function*() {
    const port = yield* freePort
    const began = performance.now()
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(process.execPath, command, {
          cwd: root,
          stdio: "ignore",
          env: {
            PATH: process.env["PATH"],
            TILLWIRE__DATA__DIRECTORY: directory,
            TILLWIRE__HTTP__PORT: String(port),
            TILLWIRE__RPC__PORT: "0"
          }
        })
      ),
      (child) =>
        Effect.promise(async () => {
          const gone = new Promise((resolve) => child.once("exit", resolve))
          if (child.exitCode === null) child.kill("SIGTERM")
          if (child.exitCode === null) await gone
        })
    )
    const ready = Effect.catchDefect(
      Effect.map(exchange(`http://127.0.0.1:${port}`, "/health/ready"), ({ status }) => status === 200),
      () => Effect.succeed(false)
    )
    while (!(yield* ready)) {
      if (child.exitCode !== null) return yield* Effect.die(new Error("the service did not start"))
      yield* Effect.sleep(lookMillis)
    }
    return { seconds: (performance.now() - began) / 1_000, pid: child.pid! }
  })

/** A start of `command` on what is in `directory`, and what the process holds when it was idle. */
const startAgain = (directory: string, command: ReadonlyArray<string>) =>
  Effect.scoped(Effect.gen(function*() {
    const { pid, seconds } = yield* started(directory, command)
    yield* Effect.sleep(idleSeconds * 1_000)
    return { seconds, megabytes: residentMegabytes(pid) }
  }))

const round = Effect.scoped(Effect.gen(function*() {
  const directory = `${yield* temporaryDirectory}/data`
  const first = yield* Effect.scoped(started(directory, words))
  const again = yield* startAgain(directory, words)
  // Fills its compile cache, as the first start filled that of the sources.
  yield* Effect.scoped(started(directory, bundle))
  const bundled = yield* startAgain(directory, bundle)
  const raw = yield* startAgain(directory, rawNode)
  return {
    first: first.seconds,
    again: again.seconds,
    megabytes: again.megabytes,
    bundleSeconds: bundled.seconds,
    bundleMegabytes: bundled.megabytes,
    startRatio: bundled.seconds / raw.seconds,
    memoryRatio: bundled.megabytes / raw.megabytes
  }
}))

export const start = ({ progress, rounds }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.gen(function*() {
    execFileSync(process.execPath, [`${root}runtime/build.ts`])
    const seen: Array<Effect.Success<typeof round>> = []
    for (let at = 1; at <= rounds; at++) {
      seen.push(yield* round)
      const { again, first, megabytes } = seen.at(-1)!
      progress(
        `start ${at}/${rounds}: first ${first.toFixed(1)} s, again ${again.toFixed(1)} s, ${megabytes.toFixed(0)} MB`
      )
    }
    const section = "start"
    return [
      {
        section,
        what: "very first start",
        value: median(seen.map(({ first }) => first)),
        unit: "s",
        goal: { atMost: 8 }
      },
      {
        section,
        what: "start on existing data",
        value: median(seen.map(({ again }) => again)),
        unit: "s",
        goal: { atMost: 3 }
      },
      {
        section,
        what: `resident after ${idleSeconds} s idle`,
        value: median(seen.map(({ megabytes }) => megabytes)),
        unit: "MB",
        goal: { atMost: 150 }
      },
      {
        section,
        what: "start of the bundle on existing data",
        value: median(seen.map(({ bundleSeconds }) => bundleSeconds)),
        unit: "s"
      },
      {
        section,
        what: "start of the bundle on existing data, with its database / a Node that only answers",
        value: median(seen.map(({ startRatio }) => startRatio)),
        unit: "x",
        goal: { atMost: 1.5 }
      },
      {
        section,
        what: `resident after ${idleSeconds} s idle, bundle`,
        value: median(seen.map(({ bundleMegabytes }) => bundleMegabytes)),
        unit: "MB"
      },
      {
        section,
        what: `resident after ${idleSeconds} s idle, bundle / a Node that only answers`,
        value: median(seen.map(({ memoryRatio }) => memoryRatio)),
        unit: "x",
        goal: { atMost: 1.8 }
      }
    ]
  })
