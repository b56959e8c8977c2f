/**
 * The real service as a child process: its own config file, ports and data directory. What it prints is kept, and no
 * secret that passed through a test may ever be found in it. What it answers to a `call` is held against the published
 * OpenAPI document.
 */
import { Effect, type Scope } from "effect"
import { parse } from "jsonc-parser"
import { spawn } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { type IncomingHttpHeaders, request } from "node:http"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { inject } from "vitest"
import { generousLimits } from "./Limits.ts"
import { violations } from "./OpenApi.ts"
import { freePort } from "./Ports.ts"
import { runHosted } from "./ServiceHosts.ts"

/** The entry of the sources. */
export const sources = new URL("../../runtime/main.ts", import.meta.url).pathname

declare module "vitest" {
  interface ProvidedContext {
    /** The entry of the bundle, where there is one. */
    readonly serviceProgram: string | undefined
  }
}

/** The bundle of the run, if it has one; measurements, which are no tests, name what they start. */
const builtProgram = (): string | undefined => "__vitest_worker__" in globalThis ? inject("serviceProgram") : undefined

/** What tests start as the service: the bundle of the run, or else the sources. */
export const program = (): string => builtProgram() ?? sources

/** The entry of the command `tillwire`, of the bundle of the run, or else the sources. */
export const commandLine = (): string => {
  const built = builtProgram()
  return built === undefined
    ? new URL("../../modules/cli/main.ts", import.meta.url).pathname
    : join(dirname(built), "modules/cli/main.js")
}

/** For every Node process that a test starts: compiled code is kept between starts, a third of their processor time. */
export const compileCache = new URL("../../node_modules/.cache/tillwire-tests", import.meta.url).pathname

/** Pause between two looks at something that another process is about to do. */
const lookMillis = 20

/** How long a start and a stop may take: a hang is told from a busy machine. */
const startPatienceMillis = 120_000
const stopPatienceMillis = 25_000

/** A request as a test writes it; a body that is not text or bytes is sent as JSON. */
export interface TestRequest {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string | ReadonlyArray<string>>>
  readonly body?: unknown
  /** Sends the body in chunks, without `Content-Length`. */
  readonly chunked?: boolean
}

export interface TestResponse {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** The parsed text, or undefined where it is not JSON or is compressed. */
  readonly json: any
}

const parsed = (text: string, type: string | undefined): unknown => {
  if (text === "" || type?.includes("json") !== true) return undefined
  return JSON.parse(text)
}

const bytesOf = (body: unknown): Buffer =>
  body instanceof Uint8Array ? Buffer.from(body) : Buffer.from(typeof body === "string" ? body : JSON.stringify(body))

/** One request on a connection of its own. */
export const exchange = (base: string, path: string, sent: TestRequest = {}): Effect.Effect<TestResponse> =>
  Effect.callback<TestResponse>((resume) => {
    const bytes = sent.body === undefined ? undefined : bytesOf(sent.body)
    const { hostname, port } = new URL(base)
    let answered = false
    const asked = request({
      hostname,
      port,
      path,
      method: sent.method ?? (bytes === undefined ? "GET" : "POST"),
      agent: false,
      headers: {
        ...(bytes === undefined ? {} : { "content-type": "application/json" }),
        // Without either, Node counts the bytes by itself.
        ...(bytes === undefined
          ? {}
          : sent.chunked === true
          ? { "transfer-encoding": "chunked" }
          : { "content-length": String(bytes.length) }),
        ...sent.headers as Record<string, string>
      }
    }, (response) => {
      const chunks: Array<Buffer> = []
      answered = true
      response.on("data", (chunk: Buffer) => chunks.push(chunk))
      response.once("close", () => {
        const text = Buffer.concat(chunks).toString("utf8")
        const packed = response.headers["content-encoding"] !== undefined
        const json = packed ? undefined : parsed(text, response.headers["content-type"])
        resume(Effect.succeed({ status: response.statusCode ?? 0, headers: response.headers, text, json }))
      })
    })
    // A server that answers before it read everything may cut the connection while we still write.
    asked.on("error", (error) => answered ? undefined : resume(Effect.die(error)))
    asked.end(bytes)
  })

/**
 * Looks again and again until `wanted` accepts what `look` finds; dies with the last find after `patienceMillis`, which
 * tells what never comes from what comes late on a slow machine.
 */
export const until = <A, R>(
  what: string,
  look: Effect.Effect<A, never, R>,
  wanted: (found: A) => boolean,
  patienceMillis = 120_000
): Effect.Effect<A, never, R> =>
  Effect.suspend(() => {
    const end = performance.now() + patienceMillis
    const again: Effect.Effect<A, never, R> = Effect.flatMap(look, (found) => {
      if (wanted(found)) return Effect.succeed(found)
      if (performance.now() < end) return Effect.andThen(Effect.sleep(lookMillis), again)
      return Effect.die(
        new Error(`${what}: not within ${patienceMillis} ms; last: ${JSON.stringify(found)?.slice(0, 4_000)}`)
      )
    })
    return again
  })

/** An empty directory, removed with the scope. */
export const temporaryDirectory: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "till-journey-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }))
)

/** The bearer credential of every test deployment's internal port. */
export const rpcToken = "journey-rpc-credential-0123456789abcdef"

/** Shared by all instances of a test deployment, as secrets are. */
export const masterKey = "6a".repeat(32)

/** Dollars per token of the devnet catalogue, by asset id. */
export const prices: Readonly<Record<string, string>> = { "usd-coin": "1", tether: "1", ethereum: "3500", weth: "3500" }

/** What a journey's deployment differs in from the others. */
export interface Deployment {
  /** Connection string of its database. */
  readonly database: string
  readonly chains: ReadonlyArray<{ readonly use: string; readonly options?: Readonly<Record<string, unknown>> }>
  /** `host:port` of webhook receivers on this machine. */
  readonly receivers?: ReadonlyArray<string>
  readonly prices?: Readonly<Record<string, string>>
  readonly webhooks?: Readonly<Record<string, unknown>>
  readonly http?: Readonly<Record<string, unknown>>
  /** Default: limits that no journey meets. */
  readonly limits?: Readonly<Record<string, unknown>>
}

const signIns = ["siwe", "siws", "tonproof", "suimessage", "cip8"]

const devnet: { readonly modules: ReadonlyArray<{ readonly use: string }> } = parse(
  readFileSync(new URL("../../config/devnet.jsonc", import.meta.url), "utf8")
)

/** What `npm start` runs, but for the pages of documentation, and for play money where the chain is a real one. */
const modulesOn = (chains: Deployment["chains"]) =>
  devnet.modules.filter(({ use }) =>
    use !== "docs" && (use !== "simulator" || chains.some(({ use }) => use === "simulated"))
  )

/** The config file of a deployment on the suite's PostgreSQL; logs everything, so that a leak has every chance. */
export const configOf = (deployment: Deployment) => ({
  environments: ["devnet"],
  http: deployment.http ?? {},
  rpc: { token: rpcToken },
  secrets: { master: [masterKey] },
  store: { use: "postgres", options: { url: deployment.database } },
  chains: deployment.chains,
  prices: [{ use: "fixed", options: { prices: deployment.prices ?? prices } }],
  tokenSources: [{ use: "bundled" }],
  transports: [{ use: "https" }],
  signIns: signIns.map((use) => ({ use })),
  webhooks: { devnetReceivers: deployment.receivers ?? [], ...deployment.webhooks },
  limits: deployment.limits ?? generousLimits,
  telemetry: { logs: "json", level: "debug" },
  modules: modulesOn(deployment.chains)
})

export interface Start {
  /** Holds the config file and the data directory; a second start on it is a restart. */
  readonly directory: string
  /** A config, or the path of a config file. */
  readonly config: object | string
  readonly environment?: Readonly<Record<string, string>>
  /** The entry point; default: the bundle of this tree, or its {@link sources}. */
  readonly program?: string
  /**
   * That it runs in a process of its own, for tests of what a process is: what it loads, prints, holds in memory and
   * takes of the processor. Default: in one that may have run another service before (`ServiceHosts.ts`), which saves a
   * second of processor time.
   */
  readonly ownProcess?: boolean
  /** Default: free ones. */
  readonly ports?: { readonly http: number; readonly rpc: number }
}

/** The demo merchant's file, as the service writes it. */
export interface DemoKeys {
  readonly merchant_id: number
  readonly merchant_key: string
  readonly commerce_key: string
}

export interface Service {
  readonly url: string
  readonly rpcUrl: string
  readonly ports: { readonly http: number; readonly rpc: number }
  readonly dataDirectory: string
  readonly pid: number
  readonly call: (path: string, sent?: TestRequest) => Effect.Effect<TestResponse>
  /** Keys of the demo merchant, where this data directory has them. */
  readonly keys: Effect.Effect<DemoKeys>
  /** Everything printed so far, standard output and error together. */
  readonly output: () => string
  /** Entries of level error and above, as lines. */
  readonly errors: () => ReadonlyArray<string>
  /** Remembers a secret that must never be printed. */
  readonly guard: (secret: string) => void
  /** Asks it to stop, or kills it; answers the exit code (null: by the signal). */
  readonly stop: (signal?: "SIGTERM" | "SIGKILL") => Effect.Effect<number | null>
}

/** Fields of answers whose values are secrets. */
const secretFields: ReadonlySet<string> = new Set([
  "session_token",
  "signature",
  "secret",
  "token",
  "key",
  "access_token",
  "refresh_token"
])

/** Shorter strings are no secrets, and would be found anywhere. */
const shortestSecret = 16

const secretsIn = (value: unknown): ReadonlyArray<string> => {
  if (Array.isArray(value)) return value.flatMap(secretsIn)
  if (typeof value !== "object" || value === null) return []
  // What an exception shows calls a token's contract `token`.
  return Object.entries(value).filter(([name]) => name !== "evidence").flatMap(([name, inner]) =>
    typeof inner === "string"
      ? secretFields.has(name) && inner.length >= shortestSecret ? [inner] : []
      : secretsIn(inner)
  )
}

/** What the first start tells its operator on purpose, once. */
const demoBlock = /\n {2}Demo Store is ready[\s\S]*?-d '[^\n]*\n/

/**
 * The secrets that stand in `output`, as they are or as a URL spells them, but for the one announcement of the demo
 * keys.
 */
export const leakedSecrets = (output: string, secrets: Iterable<string>): ReadonlyArray<string> => {
  const rest = output.replace(demoBlock, "\n")
  return [...new Set(secrets)].filter((secret) => rest.includes(secret) || rest.includes(encodeURIComponent(secret)))
}

const fileOf = ({ config, directory }: Start): string => {
  if (typeof config === "string") return config
  const file = join(directory, "config.json")
  writeFileSync(file, JSON.stringify(config))
  return file
}

/** The entry of what runs services one after another: of the bundle of the run, if it has one, or of the sources. */
const hostEntry = (): string | undefined => {
  const built = builtProgram()
  if (built === undefined) return new URL("hostProcess.ts", import.meta.url).pathname
  const entry = join(dirname(built), "test/support/hostProcess.js")
  return existsSync(entry) ? entry : undefined
}

/** Variables that only a new process heeds. */
const isForNewProcess = (name: string) => name.startsWith("NODE_")

/** The entry of a process that is shared; undefined: the service needs one of its own. */
const sharedEntry = ({ environment = {}, ownProcess, program }: Start): string | undefined => {
  const isOwn = ownProcess === true || program !== undefined || !("__vitest_worker__" in globalThis)
  return isOwn || Object.keys(environment).some(isForNewProcess) ? undefined : hostEntry()
}

/** Starts the service and waits until it is ready; it is stopped, and its output searched, when the scope closes. */
export const startService = (start: Start): Effect.Effect<Service, never, Scope.Scope> =>
  Effect.gen(function*() {
    const ports = start.ports ?? { http: yield* freePort, rpc: yield* freePort }
    const dataDirectory = join(start.directory, "data")
    const secrets = new Set<string>([masterKey, rpcToken])
    let output = ""
    let exited: number | null | undefined
    const hear = (text: unknown) => void (output += String(text))
    const end = (code: number | null) => void (exited = code)
    const file = fileOf(start)
    const bare = { PATH: process.env["PATH"], NODE_COMPILE_CACHE: compileCache }
    const environment = {
      TILLWIRE__DATA__DIRECTORY: dataDirectory,
      TILLWIRE__HTTP__PORT: String(ports.http),
      TILLWIRE__RPC__PORT: String(ports.rpc),
      ...start.environment
    }
    const startOwn = () => {
      const child = spawn(process.execPath, [start.program ?? program(), "--config", file], {
        cwd: start.directory,
        stdio: ["ignore", "pipe", "pipe"],
        env: { ...bare, ...environment }
      })
      child.stdout.on("data", hear)
      child.stderr.on("data", hear)
      return child.once("close", end)
    }
    const shared = sharedEntry(start)
    const child = shared === undefined
      ? startOwn()
      : runHosted(shared, bare, { file, directory: start.directory, environment, onOutput: hear, onEnd: end })

    const gone = (signal: string) =>
      until(
        `the service stops by ${signal}`,
        Effect.sync(() => exited),
        (code) => code !== undefined,
        stopPatienceMillis
      )
    const stop: Service["stop"] = (signal = "SIGTERM") =>
      Effect.suspend(() => {
        if (exited === undefined) child.kill(signal)
        return Effect.map(gone(signal), (code) => code ?? null)
      })
    const call: Service["call"] = (path, sent = {}) =>
      Effect.tap(exchange(url, path, sent), ({ headers, json, status, text }) => {
        secretsIn(json).forEach((one) => secrets.add(one))
        const method = sent.method ?? (sent.body === undefined ? "GET" : "POST")
        const found = violations({ method, path, status, headers, text })
        return found.length === 0
          ? Effect.void
          : Effect.die(new Error(`${method} ${path} is not as the OpenAPI document says: ${found.join("; ")}`))
      })
    const url = `http://127.0.0.1:${ports.http}`

    yield* Effect.addFinalizer(() =>
      Effect.gen(function*() {
        yield* Effect.onError(stop(), () => Effect.sync(() => child.kill("SIGKILL")))
        const found = leakedSecrets(output, secrets)
        if (found.length > 0) return yield* Effect.die(new Error(`secrets in the logs: ${found.join(", ")}`))
      })
    )
    const ready = exchange(url, "/health/ready").pipe(
      Effect.map(({ status }) => status === 200),
      Effect.catchDefect(() => Effect.succeed(false)),
      Effect.flatMap((is) =>
        exited === undefined
          ? Effect.succeed(is)
          : Effect.die(new Error(`the service did not start, code ${exited}:\n${output}`))
      )
    )
    yield* until("the service is ready", ready, (is) => is, startPatienceMillis).pipe(
      Effect.tapDefect(() => Effect.sync(() => process.stderr.write(output.slice(-8_000))))
    )

    return {
      url,
      rpcUrl: `http://127.0.0.1:${ports.rpc}`,
      ports,
      dataDirectory,
      pid: child.pid ?? 0,
      call,
      stop,
      output: () => output,
      errors: () => output.split("\n").filter((line) => /"level":"(error|fatal)"/.test(line)),
      guard: (secret) => void secrets.add(secret),
      keys: Effect.sync(() => {
        const keys: DemoKeys = JSON.parse(readFileSync(join(dataDirectory, "demo-keys.json"), "utf8"))
        secrets.add(keys.merchant_key).add(keys.commerce_key)
        return keys
      })
    }
  })
