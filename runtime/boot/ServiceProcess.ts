/**
 * The service as a process: its config, its banner, its logs, and how it stops. `runtime/command.ts` runs it by itself,
 * `tillwire start` as one command of several.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { Cause, Clock, Console, Effect, Exit, identity, Predicate } from "effect"
import { randomUUID } from "node:crypto"
import { boot, resolveSettings, ServiceInfo } from "../boot.ts"
import { processNumberVariable } from "./HttpProcesses.ts"
import { distinctPlugins } from "./Kernel.ts"
import { loginLink, type LoginRequest, mayPrintLink } from "./LoginLink.ts"
import { countHttpProcesses, type ProcessRole } from "./ProcessRole.ts"
import { type StopReason, watchStops } from "./Stops.ts"
import { monotonicMillis } from "../Clock.ts"
import { exitCodeConfig, load, type LoadedConfig } from "../Config.ts"
import { isConfigFailure } from "../config/Problem.ts"
import { reportOf, storeProblem } from "../config/StartCheck.ts"
import { Settings } from "../Settings.ts"
import { StoreError, StoreGuard } from "../Store.ts"
import * as Logs from "../telemetry/Logs.ts"

/** Milliseconds after which a stop that hangs is given up: the 10 s that it may take, and as long again. */
const stopTimeoutMillis = 20_000

/** The first owner of the merchant that a first start makes. */
const demoMerchant: LoginRequest = { merchantId: 1, member: undefined }

/** The pages that the plugins name, by label. */
const pagesOf = ({ plugins }: LoadedConfig, url: string): Readonly<Record<string, string>> =>
  Object.assign({}, ...distinctPlugins(plugins).map(({ pages }) => pages?.(url) ?? {}))

const line = (label: string, text: string): string => `  ${label.padEnd(10)} ${text}`

const banner = (
  config: LoadedConfig,
  { dataDirectory, internalUrl, url }: ServiceInfo["Service"],
  millis: number,
  signInLink: string | null
): string =>
  [
    "",
    `  Tillwire · ${config.settings.environments.join(" and ")} · ready in ${(millis / 1000).toFixed(1)} s`,
    line("API", `${url}/api/v1`),
    ...Object.entries(pagesOf(config, url)).map(([label, page]) =>
      line(label.replace(/^./, (first) => first.toUpperCase()), page)
    ),
    line("Internal", `${internalUrl}   (RPC, metrics, health)`),
    line("Data", dataDirectory),
    ...(signInLink === null ? [] : [line("Sign in", `${signInLink}   (once, within 10 minutes)`)]),
    ""
  ].join("\n")

/** A link that signs somebody in to the dashboard of the running service, once. */
export const makeLink = (config: LoadedConfig, request: LoginRequest, internalUrl?: string) =>
  Effect.flatMap(
    resolveSettings(config, "none"),
    (settings) => Effect.provideService(loginLink(request, internalUrl), Settings, settings)
  )

/**
 * The link by which whoever started a devnet in a terminal opens the dashboard as the demo merchant's first owner. It
 * signs in, so it stands on the terminal and in no log of the service. Null: there is no dashboard or no such merchant,
 * others reach the service, or it moves real money.
 */
const linkForBanner = (config: LoadedConfig, { internalUrl, url }: ServiceInfo["Service"]) =>
  mayPrintLink({ environments: config.settings.environments, publicUrl: url }) && "dashboard" in pagesOf(config, url)
    ? Effect.orElseSucceed(makeLink(config, demoMerchant, internalUrl), () => null)
    : Effect.succeed(null)

/** From here to the end of the process: the first cause counts. */
const stops = watchStops(process.env["_"])

/**
 * Logs what stops the service at once, and when everything is torn down how long that took. It must be built before the
 * service, so that it ends after it.
 */
const logStop = Effect.gen(function*() {
  const services = yield* Effect.context<never>()
  let stop: { readonly reason: StopReason; readonly atMillis: number } | undefined
  // In the listener itself: while the loop is busy a fiber would write it late, or after the end.
  const logSync = Effect.runSyncWith(services)
  stops.onFirst((reason) => {
    stop = { reason, atMillis: logSync(monotonicMillis) }
    logSync(Effect.annotateLogs(Effect.logInfo("stopping"), { reason }))
  })
  if (stops.isHangUpIgnored) {
    yield* Effect.logInfo("SIGHUP is ignored, because the service was started with nohup: stop it with SIGTERM")
  }
  yield* Effect.addFinalizer(() =>
    Effect.gen(function*() {
      if (stop === undefined) return
      const stopMillis = Math.round((yield* monotonicMillis) - stop.atMillis)
      yield* Effect.annotateLogs(Effect.logInfo("stopped"), { reason: stop.reason, stop_ms: stopMillis })
    })
  )
})

/** Which of the HTTP processes this one is; undefined: it is none of them. */
const processNumber = process.env[processNumberVariable]

/**
 * The first process has ended without a stop: with it its database and all other work, so this one ends at once. It may
 * have ended before this one came here.
 */
if (processNumber !== undefined) {
  if (process.connected) process.once("disconnect", () => process.exit(1))
  else process.exit(1)
}

const roleOf = (config: LoadedConfig): ProcessRole => {
  if (processNumber !== undefined) return "http"
  return countHttpProcesses(config) === 1 ? "single" : "first"
}

const start = (config: LoadedConfig) =>
  Effect.gen(function*() {
    yield* logStop
    const started = yield* Clock.currentTimeMillis
    const service = Effect.gen(function*() {
      const running = yield* ServiceInfo
      const millis = (yield* Clock.currentTimeMillis) - started
      if (processNumber !== undefined) yield* Effect.logInfo("an HTTP process serves", { start_ms: millis })
      else if (process.stdout.isTTY) {
        yield* Console.log(banner(config, running, millis, yield* linkForBanner(config, running)))
      } else {
        yield* Effect.logInfo("ready").pipe(
          Effect.annotateLogs({ ...running, ...pagesOf(config, running.url), start_ms: millis })
        )
      }
      const guard = yield* StoreGuard
      return yield* guard.awaitLoss
    })
    return yield* Effect.provide(service, boot(config, randomUUID(), roleOf(config)))
  }).pipe(
    Effect.scoped,
    processNumber === undefined ? identity : Effect.annotateLogs({ http_process: Number(processNumber) }),
    Effect.provide(Logs.layer(config.settings.telemetry, process.stdout.isTTY))
  )

/** The service of a config file until a signal stops it. Fails with the report of what is wrong with the file. */
export const serve = Effect.fnUntraced(function*(file: string) {
  const config = yield* load({ file, environment: process.env })
  return yield* start(config).pipe(Effect.catchIf(
    (error) => error instanceof StoreError,
    Effect.fnUntraced(function*(error) {
      const problem = storeProblem(error)
      return yield* problem === null ? error : yield* reportOf(file, config, [problem])
    })
  ))
})

/** The one place where the failure of the service becomes words for a person. */
export const reportFailure = (cause: Cause.Cause<unknown>) =>
  Effect.gen(function*() {
    const error = Cause.squash(cause)
    if (Cause.hasInterruptsOnly(cause)) return
    if (Predicate.hasProperty(error, "_tag") && error instanceof Error) {
      return yield* Console.error(error.message)
    }
    yield* Console.error(Cause.pretty(cause))
  })

/** 0: it was stopped. 2: the config cannot be used. */
export const exitCodeOf = (exit: Exit.Exit<unknown, unknown>): number => {
  if (Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)) return 0
  return isConfigFailure(Cause.squash(exit.cause)) ? exitCodeConfig : 1
}

const giveUp = () => {
  process.stderr.write(
    `the stop took longer than ${stopTimeoutMillis / 1000} s and was given up: the process ends now\n`
  )
  process.exit(1)
}

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => setTimeout(giveUp, stopTimeoutMillis).unref())
}
