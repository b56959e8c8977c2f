/**
 * `node runtime/main.ts [check | schema | openapi | login | secrets] [--config <file>]`: start the service, only check
 * its config, write the config's JSON schema, print the OpenAPI document, print a link that signs somebody in to the
 * dashboard of the running service, or replace its master key. Exit codes: 0 stopped by a signal or done, 2 the config
 * cannot be used, 1 anything else.
 */
import "effect/schema/SchemaJITCompiler/enable"
// One by one: the package as a whole loads a Redis client, 650 files.
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, Clock, Console, Effect, Exit, identity, Predicate } from "effect"
import { randomUUID } from "node:crypto"
import { boot, resolveSettings, ServiceInfo } from "./boot.ts"
import { processNumberVariable } from "./boot/HttpProcesses.ts"
import { apisOf, distinctPlugins } from "./boot/Kernel.ts"
import { loginLink, type LoginRequest, mayPrintLink } from "./boot/LoginLink.ts"
import { countHttpProcesses, type ProcessRole } from "./boot/ProcessRole.ts"
import { type StopReason, watchStops } from "./boot/Stops.ts"
import { monotonicMillis } from "./Clock.ts"
import { ConfigInvalid, exitCodeConfig, load, type LoadedConfig } from "./Config.ts"
import { writeJsonSchema } from "./config/JsonSchema.ts"
import { documentOf, textOf } from "./openapi/Document.ts"
import { type RotationCall, rotationCommand } from "./secrets/RotationCommand.ts"
import { Settings } from "./Settings.ts"
import { StoreGuard } from "./Store.ts"
import * as Logs from "./telemetry/Logs.ts"

const defaultConfig = "config/devnet.jsonc"

const usage = `usage: node runtime/main.ts [check | schema | openapi | login | secrets] [--config <file>]

  (no command)   start the service
  check          read and check the config, start nothing
  schema         write config/schema.json for editors, with the options of every built-in plugin
  openapi        print the OpenAPI document of what the config serves
  backup, restore   write the embedded database to a file, and put it back: \`backup\` and \`restore\` alone tell more
  login          print a link that signs in to the dashboard of the running service, once, within 10 minutes
  secrets status print which master keys the running service needs, and how many values are sealed under older ones
  secrets rotate seal them anew under the first key of secrets.master

  --config       the config file, default ${defaultConfig}
  --merchant     of login: the merchant's number, default 1
  --member       of login: a member's id or e-mail address, default the merchant's first owner
  --finish       of secrets rotate: then retire the older keys, so that they can be removed from secrets.master
  --compromised  with --finish: others know an older key, so refuse sessions and receipt links that it signed`

/** Milliseconds after which a stop that hangs is given up: the 10 s that it may take, and as long again. */
const stopTimeoutMillis = 20_000

interface Command {
  readonly name: "start" | "check" | "schema" | "openapi" | "login" | "secrets" | "help"
  readonly file: string
  readonly login: LoginRequest
  readonly rotation: RotationCall
}

/** The first owner of the merchant that a first start makes. */
const demoMerchant: LoginRequest = { merchantId: 1, member: undefined }

const commands = ["check", "schema", "openapi", "login", "secrets", "help"] as const

/** The words of the flags that take one, and what is left. */
const readFlags = (words: ReadonlyArray<string>) => {
  const values = new Map<string, string>()
  const rest: Array<string> = []
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? ""
    const [, name = "", value] = /^--(config|merchant|member)(?:=(.*))?$/.exec(word) ?? []
    const given = value ?? words[at + 1]
    if (name === "" || given === undefined) rest.push(word)
    else {
      values.set(name, given)
      if (value === undefined) at++
    }
  }
  return { values, rest }
}

/** What follows `secrets`, or what is wrong with it. */
const parseRotation = ([action, ...flags]: ReadonlyArray<string>): RotationCall | string => {
  if (action === "status" && flags.length === 0) return { action }
  const unknown = flags.find((flag) => flag !== "--finish" && flag !== "--compromised")
  if (action !== "rotate" || unknown !== undefined) return "write secrets status, or secrets rotate [--finish]"
  const isCompromised = flags.includes("--compromised")
  const finish = flags.includes("--finish")
  if (isCompromised && !finish) return "--compromised is of secrets rotate --finish"
  return { action, finish, isCompromised }
}

/** The command line, or what is wrong with it. */
const parse = (commandArguments: ReadonlyArray<string>): Command | string => {
  const [first, ...rest] = commandArguments
  const named = commands.find((name) => name === first)
  const { rest: others, values } = readFlags(named === undefined ? commandArguments : rest)
  const merchant = values.get("merchant") ?? "1"
  const isLogin = named === "login"
  const file = values.get("config") ?? defaultConfig
  const login = { merchantId: Number.parseInt(merchant, 10), member: values.get("member") }
  const [other] = others
  const rotation: RotationCall = { action: "status" }
  if (others.includes("--help") || others.includes("-h")) return { name: "help", file, login, rotation }
  if (named === "secrets" && values.size === Number(values.has("config"))) {
    const given = parseRotation(others)
    return typeof given === "string" ? given : { name: named, file, login, rotation: given }
  }
  if (other !== undefined) return `cannot read "${other}"`
  if (!isLogin && (values.has("merchant") || values.has("member"))) return "--merchant and --member are of login"
  if (!/^[1-9]\d{0,8}$/.test(merchant)) return `--merchant takes a merchant's number, not "${merchant}"`
  return { name: named ?? "start", file, login, rotation }
}

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

const printDocument = (config: LoadedConfig) =>
  Effect.map(
    resolveSettings(config, "none"),
    ({ publicUrl }) => textOf(documentOf(apisOf(distinctPlugins(config.plugins)), publicUrl))
  )

const makeLink = (config: LoadedConfig, request: LoginRequest, internalUrl?: string) =>
  Effect.flatMap(
    resolveSettings(config, "none"),
    (settings) => Effect.provideService(loginLink(request, internalUrl), Settings, settings)
  )

const rotate = (config: LoadedConfig, call: RotationCall) =>
  Effect.flatMap(
    resolveSettings(config, "none"),
    (settings) => Effect.provideService(rotationCommand(call), Settings, settings)
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

const run = (command: Command) =>
  Effect.gen(function*() {
    if (command.name === "help") return yield* Console.log(usage)
    if (command.name === "schema") return yield* writeJsonSchema
    const config = yield* load({ file: command.file, environment: process.env })
    if (command.name === "check") return yield* Console.log(`${command.file} is fine`)
    if (command.name === "openapi") return yield* Console.log(yield* printDocument(config))
    if (command.name === "login") return yield* Console.log(yield* makeLink(config, command.login))
    if (command.name === "secrets") return yield* Console.log(yield* rotate(config, command.rotation))
    return yield* start(config)
  })

/** The one place where a failure becomes words for a person and an exit code for a machine. */
const report = (cause: Cause.Cause<unknown>) =>
  Effect.gen(function*() {
    const error = Cause.squash(cause)
    if (Cause.hasInterruptsOnly(cause)) return
    if (Predicate.hasProperty(error, "_tag") && error instanceof Error) {
      return yield* Console.error(error.message)
    }
    yield* Console.error(Cause.pretty(cause))
  })

const exitCodeOf = (exit: Exit.Exit<unknown, unknown>): number => {
  if (Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)) return 0
  const error = Cause.squash(exit.cause)
  // A plugin may find out only at its start that a file named in the config cannot be used.
  const reason = Predicate.isTagged(error, "PluginFailed") && Predicate.hasProperty(error, "cause")
    ? error.cause
    : error
  return reason instanceof ConfigInvalid ? exitCodeConfig : 1
}

const [firstWord, ...restOfWords] = process.argv.slice(2)

/** Loaded when it is asked for: the start needs none of it. */
const backup = (name: "backup" | "restore") =>
  Effect.flatMap(
    Effect.promise(() => import("./boot/BackupCommand.ts")),
    ({ runBackupCommand }) => runBackupCommand(name, restOfWords)
  ).pipe(Effect.provide(Logs.quietLayer), Effect.tapCause(report))

const command = parse(process.argv.slice(2))

const serviceProgram = typeof command === "string"
  ? Effect.andThen(
    Console.error(`${command}\n\n${usage}`),
    Effect.fail(new ConfigInvalid({ report: command, count: 1 }))
  )
  : Effect.tapCause(run(command), report)

const program: Effect.Effect<void, unknown, NodeServices.NodeServices> =
  firstWord === "backup" || firstWord === "restore" ? backup(firstWord) : serviceProgram

const giveUp = () => {
  process.stderr.write(
    `the stop took longer than ${stopTimeoutMillis / 1000} s and was given up: the process ends now\n`
  )
  process.exit(1)
}

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => setTimeout(giveUp, stopTimeoutMillis).unref())
}

NodeRuntime.runMain(Effect.provide(program, NodeServices.layer), {
  disableErrorReporting: true,
  teardown: (exit, onExit) => onExit(exitCodeOf(exit))
})
