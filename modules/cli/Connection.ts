/**
 * The running service as commands reach it: over its public API, with the merchant's key. The address is TILLWIRE_URL,
 * the key TILLWIRE_API_KEY; a devnet that was started in this directory needs neither, because its own files say both.
 */
import { Effect, FileSystem, Path, Schema } from "effect"
import { readSettingsText } from "../../runtime/Config.ts"
import { isRecord } from "../../runtime/config/Decode.ts"
import type { JsonValue } from "../../runtime/config/Source.ts"
import { demoKeysFile } from "../../runtime/Settings.ts"
import { type Client, createClient, TillwireError } from "../clients/fetch.ts"
import { environment } from "./Environment.ts"
import { CommandFailed, commandFailed, type FailureKind, wrongUse } from "./Failure.ts"
import { configFile } from "./Flags.ts"

/** Milliseconds that a call may take with all its tries: people wait for it. */
const callTimeoutMillis = 20_000

/** Tries of one call. */
const callAttempts = 3

/** Where the service is, as its config says. */
export interface Places {
  readonly url: string
  /** The internal port. */
  readonly internalUrl: string
  readonly dataDirectory: string
}

const textAt = (value: JsonValue, group: string, key: string): JsonValue | undefined => {
  const inside = isRecord(value) ? value[group] : undefined
  return isRecord(inside) ? inside[key] : undefined
}

/** An address that a program on the same machine reaches a listener by. Pure. */
export const localUrl = (host: unknown, port: unknown, defaultPort: number): string => {
  const name = typeof host === "string" ? host : "127.0.0.1"
  const reachable = name === "0.0.0.0" || name === "::" ? "127.0.0.1" : name.includes(":") ? `[${name}]` : name
  return `http://${reachable}:${typeof port === "number" ? port : defaultPort}`
}

/** Where the config puts the service; a config that says nothing leaves the defaults of the settings. */
export const places = Effect.gen(function*() {
  const variables = yield* environment
  const path = yield* Path.Path
  const file = yield* configFile
  const settings = yield* readSettingsText({ file, environment: variables })
  const directory = textAt(settings, "data", "directory")
  return {
    url: localUrl(textAt(settings, "http", "host"), textAt(settings, "http", "port"), 8080),
    internalUrl: localUrl(textAt(settings, "rpc", "host"), textAt(settings, "rpc", "port"), 8081),
    dataDirectory: path.resolve(typeof directory === "string" ? directory : ".tillwire")
  } satisfies Places
})

/** The keys that a first start on devnet writes. */
export const DemoKeys = Schema.Struct({ merchant_key: Schema.String, commerce_key: Schema.String })

const readDemoKey = Effect.gen(function*() {
  const { dataDirectory } = yield* places
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const text = yield* fs.readFileString(path.join(dataDirectory, demoKeysFile))
  return (yield* Schema.decodeEffect(Schema.fromJsonString(DemoKeys))(text)).merchant_key
})

const keyHint = "Set TILLWIRE_API_KEY to a key of the merchant; on a devnet of your own, run this where it was started."

/** What a command talks to. */
export interface Connection {
  readonly url: string
  readonly apiKey: string
  readonly client: Client
}

/** The service and the key in force. Fails where there is no key. */
export const connect = Effect.gen(function*() {
  const variables = yield* environment
  const given = variables["TILLWIRE_URL"]
  if (given !== undefined && !URL.canParse(given)) {
    return yield* wrongUse("TILLWIRE_URL is not a URL", "Write it as https://pay.example")
  }
  const url = given === undefined ? (yield* places).url : given.replace(/\/+$/, "")
  const ownKey = variables["TILLWIRE_API_KEY"]
  // The key of the devnet here is of no use elsewhere, and no other address is to see it.
  const apiKey = ownKey ?? (given === undefined
    ? yield* Effect.mapError(readDemoKey, () => commandFailed("unauthorized", "there is no API key", keyHint))
    : yield* commandFailed("unauthorized", "there is no API key", keyHint))
  const client = createClient({ baseUrl: url, apiKey, attempts: callAttempts, timeoutMillis: callTimeoutMillis })
  return { url, apiKey, client } satisfies Connection
})

const kindOf = (status: number): FailureKind =>
  status === 401 || status === 403 ? "unauthorized" : status === 404 ? "notFound" : "failed"

/**
 * What went wrong with a call, in words and with the exit code that it deserves. Pure. `isPublic`: the call went to the
 * public port, which has a merchant's keys and pages about errors.
 */
export const callFailure = (error: unknown, url: string, isPublic = true): CommandFailed => {
  if (!(error instanceof TillwireError)) {
    return commandFailed("failed", error instanceof Error ? error.message : String(error))
  }
  if (error.status === 0) {
    return commandFailed(
      "failed",
      `no answer from ${url}`,
      "Is the service running there? Start it with `tillwire start`, or name another address in "
        + `${isPublic ? "TILLWIRE_URL" : "TILLWIRE_ADMIN_URL"}.`
    )
  }
  return new CommandFailed({
    kind: kindOf(error.status),
    reason: `${error.message} (${error.code}${error.requestId === null ? "" : `, request ${error.requestId}`})`,
    code: error.code,
    ...(isPublic ? { hint: error.status === 401 ? keyHint : `What it means: ${url}/docs/errors/${error.code}` } : {})
  })
}

/** One call of the API by the client of the connection. */
export const call = <A>(connection: Connection, send: (client: Client, signal: AbortSignal) => Promise<A>) =>
  Effect.tryPromise({
    try: (signal) => send(connection.client, signal),
    catch: (error) => callFailure(error, connection.url)
  })
