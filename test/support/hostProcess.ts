/**
 * A process that runs one service after another, for `ServiceHosts.ts`: each in a scope of its own, and
 * with nothing of the one before it but code that is loaded and compiled. It is one entry more of the bundle that tests
 * start. A message stops the service and leaves the process; a failure ends the process, as it ends `runtime/main.ts`.
 */
import "effect/schema/SchemaJITCompiler/enable"
// One by one: the package as a whole loads a Redis client, 650 files.
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Clock, Effect, type Fiber, Metric } from "effect"
import { randomUUID } from "node:crypto"
import { boot, ServiceInfo } from "../../runtime/boot.ts"
import { exitCodeOf, reportFailure } from "../../runtime/boot/ServiceProcess.ts"
import { load } from "../../runtime/Config.ts"
import { StoreGuard } from "../../runtime/Store.ts"
import * as Logs from "../../runtime/telemetry/Logs.ts"
import { TimerPace } from "../../runtime/Timers.ts"
import { shortTimerPace } from "./TimerPace.ts"

/** What the process is told to run. */
export interface HostedStart {
  readonly file: string
  readonly directory: string
  readonly environment: Readonly<Record<string, string>>
  /** A line that the process prints when the service has stopped, after all that the service printed. */
  readonly lastLine: string
}

/** What the process is told. */
export type HostMessage = { readonly start: HostedStart } | "stop"

const serve = ({ file }: HostedStart) =>
  Effect.gen(function*() {
    const config = yield* load({ file, environment: process.env })
    const started = yield* Clock.currentTimeMillis
    const service = Effect.gen(function*() {
      const running = yield* ServiceInfo
      const millis = (yield* Clock.currentTimeMillis) - started
      yield* Effect.annotateLogs(Effect.logInfo("ready"), { ...running, start_ms: millis })
      return yield* (yield* StoreGuard).awaitLoss
    })
    return yield* service.pipe(
      Effect.provide(boot(config, randomUUID())),
      Effect.scoped,
      Effect.provide(Logs.layer(config.settings.telemetry, false))
    )
  }).pipe(
    Effect.tapCause(reportFailure),
    Effect.provideService(TimerPace, shortTimerPace),
    // Counts of the service before would be counts of this one.
    Effect.provideService(Metric.MetricRegistry, new Map()),
    Effect.provide(NodeServices.layer)
  )

const bare = { ...process.env }
let running: Fiber.Fiber<unknown, unknown> | undefined

const begin = (start: HostedStart) => {
  process.chdir(start.directory)
  process.env = { ...bare, ...start.environment }
  running = Effect.runFork(serve(start))
  running.addObserver((exit) => {
    const code = exitCodeOf(exit)
    if (code !== 0) process.exit(code)
    process.chdir("/")
    process.env = { ...bare }
    process.stdout.write(`${start.lastLine}\n`)
  })
}

// Not by a signal: the modules of a process that runs one service for good give up a stop by signal after 20 s.
process.on("message", (message: HostMessage) => message === "stop" ? running?.interruptUnsafe() : begin(message.start))
process.once("disconnect", () => process.exit(0))
