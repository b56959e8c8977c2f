/**
 * The settings of one deployment after the config file, the environment and the secrets were read and checked.
 * `Config.ts` makes them; everything else only reads them.
 */
import { Context, Schema } from "effect"
import { Environment } from "../schemas/Network.ts"

const Port = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 65_535 }))
const Seconds = Schema.Finite.check(Schema.isGreaterThan(0))

/** One plugin the operator picked: a built-in name, a package, or a path, and its options. */
export const PluginEntry = Schema.Struct({
  use: Schema.NonEmptyString,
  options: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json))
})
export type PluginEntry = typeof PluginEntry.Type

/** The config file's own keys; plugin options are decoded by each plugin's schema. */
export const SettingsSchema = Schema.Struct({
  $schema: Schema.optionalKey(Schema.String),
  /** Which environments this deployment serves. */
  environments: Schema.NonEmptyArray(Environment),
  /** The public door: merchants, payors, websockets. Port 0 picks a free one. */
  http: Schema.Struct({
    host: Schema.String,
    port: Port,
    /** Base of `payment_url` and the socket's address; default `http://<host>:<port>`. */
    publicUrl: Schema.optionalKey(Schema.String)
  }),
  /** The internal door: typed RPC, metrics, health. `token` is its bearer credential; made on devnet if absent. */
  rpc: Schema.Struct({ host: Schema.String, port: Port, token: Schema.optionalKey(Schema.String) }),
  /** Credential for `/metrics` on the public door; the route answers 401 there while it is absent. */
  ops: Schema.optionalKey(Schema.Struct({ token: Schema.String })),
  /** The one directory that holds all local state. */
  data: Schema.Struct({ directory: Schema.NonEmptyString }),
  /** 32 bytes each, hex or base64, newest first. Devnet makes one in the data directory; mainnet needs one. */
  secrets: Schema.optionalKey(Schema.Struct({ master: Schema.NonEmptyArray(Schema.String) })),
  store: PluginEntry,
  chains: Schema.Array(PluginEntry),
  prices: Schema.Array(PluginEntry),
  tokenSources: Schema.Array(PluginEntry),
  transports: Schema.Array(PluginEntry),
  modules: Schema.Array(PluginEntry),
  webhooks: Schema.Struct({
    /** Seconds before the first retry; default 2 on devnet, 60 on mainnet. */
    retryBaseSeconds: Schema.optionalKey(Seconds),
    /** What each further retry multiplies the delay by; default 8. */
    retryFactor: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThanOrEqualTo(1))),
    /** `host:port` of receivers that may be local and plain http. Devnet only. */
    devnetReceivers: Schema.optionalKey(Schema.Array(Schema.NonEmptyString))
  }),
  telemetry: Schema.Struct({
    /** `json`: one line per entry; `pretty`: for people; `auto`: pretty on a terminal. */
    logs: Schema.Literals(["json", "pretty", "auto"]),
    level: Schema.Literals(["debug", "info", "warn", "error"])
  })
})
export type SettingsValue = typeof SettingsSchema.Type

/** The settings in force. Secrets inside are plain strings: never log the whole value. */
export class Settings extends Context.Service<Settings, SettingsValue & {
  /** `http.publicUrl`, or the default made of host and port; without a trailing slash. */
  readonly publicUrl: string
  /** Absolute path of `data.directory`. */
  readonly dataDirectory: string
  /** This process among those that share the database: a random UUID. */
  readonly instanceId: string
}>()("tillwire/runtime/Settings") {}
