/** `tillwire doctor`: what is wrong with this deployment, and what to do about each thing. */
import { Clock, Effect, Path, Redacted, type Result } from "effect"
import { Command } from "effect/cli"
import { FetchHttpClient } from "effect/http"
import { load, type LoadedConfig } from "../../../runtime/Config.ts"
import { settingProblems } from "../../../runtime/config/StartCheck.ts"
import { call, connect, localUrl } from "../Connection.ts"
import { examineWallets } from "../doctor/ConfiguredWallets.ts"
import { examineDatabase } from "../doctor/DatabaseFacts.ts"
import * as Findings from "../doctor/Findings.ts"
import { fail, type Finding, ok, warn } from "../doctor/Findings.ts"
import { examineNodes } from "../doctor/NodeHeads.ts"
import { examinePrices } from "../doctor/PriceSources.ts"
import * as Probes from "../doctor/Probes.ts"
import { examineSecretFiles } from "../doctor/SecretFiles.ts"
import { environment } from "../Environment.ts"
import { commandFailed } from "../Failure.ts"
import { CommandFailed } from "../Failure.ts"
import { configFile } from "../Flags.ts"
import { answer, type Paint, printable } from "../Output.ts"

/** The config itself: every line of its report is a finding. */
const configFindings = (file: string, loaded: Result.Result<LoadedConfig, Error>): ReadonlyArray<Finding> => {
  if (loaded._tag === "Failure") {
    return [fail("config", loaded.failure.message, "Correct the file, then: tillwire config check")]
  }
  const problems = settingProblems(loaded.success)
  return problems.length === 0
    ? [ok("config", file)]
    : problems.map(({ message, path }) => fail("config", `${path.join(".")}: ${message}`, "Correct the file"))
}

/** The proxy that https webhooks leave by, where there is one. */
const proxyFindings = Effect.fnUntraced(function*({ settings }: LoadedConfig) {
  const { proxyUrl } = settings.webhooks
  if (proxyUrl === undefined) return []
  const { hostname, port, protocol } = new URL(proxyUrl)
  const host = hostname.replace(/^\[|\]$/g, "")
  const at = port === "" ? (protocol === "https:" ? 443 : 80) : Number(port)
  return [Findings.proxyFinding(yield* Probes.connectionError(host, at), `${host}:${at}`)]
})

/** Where the public is told that the service is. */
const publicFindings = Effect.fnUntraced(function*({ settings }: LoadedConfig, isRunning: boolean) {
  const url = settings.http.publicUrl
  const isMainnet = settings.environments.includes("mainnet")
  if (url === undefined || !URL.canParse(url)) return []
  const now = yield* Clock.currentTimeMillis
  const certificate = Findings.certificateFinding(yield* Probes.certificateAt(url, now), new URL(url).host, isMainnet)
  if (certificate.verdict === "fail" || !isRunning) return [certificate]
  const health = yield* Probes.healthAt(url.replace(/\/+$/, ""))
  return [
    certificate,
    health === undefined
      ? fail("public url", `${url} does not lead to this service`, "Point the proxy or the DNS name at http.port")
      : ok("public url", `${url} leads to the service`)
  ]
})

/** Servers that are asked for the time, at most. */
const maximumClocks = 4

/** Addresses of nodes in the options of a driver; a path may hold a key, so only their hosts are ever printed. */
const nodeUrls = ({ options }: LoadedConfig["plugins"][number]): ReadonlyArray<string> => {
  const { rpc } = (options ?? {}) as { readonly rpc?: unknown }
  return !Array.isArray(rpc) ? [] : rpc.flatMap((url: unknown) => {
    const text = Redacted.isRedacted(url) ? Redacted.value(url) : url
    return typeof text === "string" ? [text] : []
  })
}

/** The clock against the first server that tells the time. */
const clockFinding = Effect.fnUntraced(function*({ plugins, settings }: LoadedConfig) {
  const candidates = [...plugins.flatMap(nodeUrls), settings.http.publicUrl ?? ""].filter((url) => URL.canParse(url))
  for (const url of candidates.slice(0, maximumClocks)) {
    const date = (yield* Probes.get(url))?.date
    const skew = Probes.clockSkew(date, yield* Clock.currentTimeMillis)
    if (skew !== null) return Findings.clockFinding(skew, new URL(url).host)
  }
  return Findings.clockFinding(null, "")
})

const webhookFindings = Effect.gen(function*() {
  const connection = yield* connect
  const { data } = yield* call(
    connection,
    (client, signal) => client.get("/api/v1/webhooks", { query: { limit: 100 }, signal })
  )
  return Findings.webhookFindings(data.data)
}).pipe(
  Effect.catch((error) =>
    Effect.succeed([
      warn(
        "webhooks",
        `not looked at: ${error.message}`,
        error instanceof CommandFailed && error.hint !== undefined
          ? error.hint
          : "The log of the service has the cause."
      )
    ])
  )
)

const examine = Effect.gen(function*() {
  const variables = yield* environment
  const path = yield* Path.Path
  const file = yield* configFile
  const findings: Array<Finding> = [Findings.nodeFinding(process.versions.node)]
  const loaded = yield* Effect.result(load({ file, environment: variables }))
  findings.push(...configFindings(file, loaded))
  if (loaded._tag === "Failure") return findings
  const config = loaded.success
  const { data, http, rpc } = config.settings
  const directory = path.resolve(data.directory)
  findings.push(Findings.directoryFinding(yield* Probes.directoryState(directory), directory))
  findings.push(...(yield* examineSecretFiles(config, file)))
  const free = yield* Probes.freeBytes(directory)
  if (free !== undefined) findings.push(Findings.diskFinding(free, directory))
  const health = yield* Probes.healthAt(localUrl(http.host, http.port, http.port))
  const internal = yield* Probes.healthAt(localUrl(rpc.host, rpc.port, rpc.port))
  findings.push(
    Findings.portFinding(
      "public port",
      yield* Probes.portState(http.host, http.port, health !== undefined),
      `${http.host}:${http.port}`,
      "http.port"
    ),
    Findings.portFinding(
      "internal port",
      yield* Probes.portState(rpc.host, rpc.port, internal !== undefined),
      `${rpc.host}:${rpc.port}`,
      "rpc.port"
    ),
    ...(yield* Effect.all([
      examineDatabase(config),
      Effect.provide(examineNodes(config.plugins), FetchHttpClient.layer),
      Effect.provide(examineWallets(config.plugins), FetchHttpClient.layer),
      Effect.provide(examinePrices(config), FetchHttpClient.layer),
      proxyFindings(config)
    ], { concurrency: "unbounded" })).flat(),
    ...(yield* publicFindings(config, health !== undefined)),
    yield* clockFinding(config)
  )
  if (health !== undefined) findings.push(...Findings.healthFindings(health), ...(yield* webhookFindings))
  return findings
})

const tones = { ok: "good", warn: "warning", fail: "bad" } as const

/** One line for a finding, and one below it for what to do. */
export const findingText = ({ check, fix, verdict, what }: Finding, width: number, paint: Paint): string =>
  [
    `${paint(tones[verdict], verdict.padEnd(4))}  ${check.padEnd(width)}  ${
      what.split("\n").map(printable).join(`\n${" ".repeat(width + 8)}`)
    }`,
    ...(fix === undefined ? [] : [`${" ".repeat(width + 8)}${paint("strong", printable(fix))}`])
  ].join("\n")

export const command = Command.make("doctor", {}, () =>
  Effect.gen(function*() {
    const findings = yield* examine
    const width = Math.max(...findings.map(({ check }) => check.length))
    yield* answer({ object: "list", data: findings }, (paint) =>
      findings.map((finding) => findingText(finding, width, paint)).join("\n"))
    if (Findings.hasFailed(findings)) {
      const count = findings.filter(({ verdict }) =>
        verdict === "fail"
      ).length
      return yield* commandFailed("failed", `${count} ${count === 1 ? "thing keeps" : "things keep"} this from working`)
    }
  }))
