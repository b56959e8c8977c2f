/**
 * The settings of one deployment after the config file, the environment and the secrets were read and checked.
 * `Config.ts` makes them; everything else only reads them.
 */
import { Context, Effect, Schema } from "effect"
import { Environment } from "../schemas/Network.ts"
import { isAddressRange } from "./http/Addresses.ts"
import { isOrigin } from "./http/Origins.ts"
import { instanceRoles } from "./Leases.ts"
import { isHostName } from "./rpc/Hosts.ts"

const Port = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 65_535 }))
/** The largest is as good as none: an instance serves fewer. */
const CallLimit = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 10_000_000 }))
const Seconds = Schema.Finite.check(Schema.isGreaterThan(0))

/** Processes that serve the public port, at most. */
export const maximumHttpProcesses = 64

/** The key may be left out of the file; the decoded value always has it. */
const byDefault = <S extends Schema.Constraint>(schema: S, value: S["Encoded"]) =>
  Schema.withDecodingDefaultKey<S>(Effect.succeed(value))(schema)

/** A bearer credential: long enough not to be guessed, and sendable in a header. */
const Credential = Schema.String.check(
  Schema.isPattern(/^[\x21-\x7e]{16,256}$/, { expected: "16 to 256 visible ASCII characters" })
)

const AddressRange = Schema.String.check(
  Schema.makeFilter(isAddressRange, { expected: "an IP address or a range such as 10.0.0.0/8" })
)

const HeaderName = Schema.String.check(
  Schema.isPattern(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/, { expected: "the name of an HTTP header" })
)

const HeaderValue = Schema.String.check(
  Schema.isPattern(/^[\x20-\x7e]{1,4096}$/, { expected: "1 to 4,096 visible ASCII characters" })
)

const ProxyUrl = Schema.String.check(
  Schema.makeFilter(
    (text) => /^https?:\/\/[^\s/?#]+\/?$/.test(text) && URL.canParse(text),
    { expected: "http://host:port or https://host:port, with user:password@ before the host where it asks for them" }
  )
)

const HostName = Schema.String.check(
  Schema.makeFilter(isHostName, { expected: "a host name without port, such as tillwire or payments.internal" })
)

/** As a browser writes it in `Origin`: no path, no default port. */
const Origin = Schema.String.check(
  Schema.makeFilter(isOrigin, { expected: "an https origin such as https://shop.example" })
)

/** One plugin the operator picked: a built-in name, a package, or a path, and its options. */
export const PluginEntry = Schema.Struct({
  use: Schema.NonEmptyString,
  options: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json))
})
export type PluginEntry = typeof PluginEntry.Type

const Entries = byDefault(Schema.Array(PluginEntry), [])

const LogLevelName = Schema.Literals(["debug", "info", "warn", "error"])

/** The collector of traces and metrics (modules/docs/reference/operations.md#traces). */
const Otlp = Schema.Struct({
  /** The collector's base: `http://localhost:4318`. `/v1/traces` and `/v1/metrics` are added. */
  url: Schema.String.check(
    Schema.makeFilter(
      (text) => /^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/.test(text) && URL.canParse(text),
      { expected: "an http or https URL such as http://localhost:4318, with credentials in headers and not in it" }
    )
  ),
  /** Sent with each call: `{ "authorization": "Bearer ${env:OTLP_TOKEN}" }`. Default none. */
  headers: byDefault(Schema.Record(HeaderName, HeaderValue), {}),
  /** The share of requests, and of other work, that is traced: 0 to 1. Default 0.01. */
  traces: byDefault(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 })), 0.01),
  /** Whether the metrics of `/metrics` are sent as well, each minute. Default true. */
  metrics: byDefault(Schema.Boolean, true),
  /**
   * Addresses and CIDR ranges of your own services, whose `traceparent` is gone on with on the public port: they decide
   * whether their calls are traced. Default none: the traces of others are only linked to. The internal port trusts
   * every caller.
   */
  trustedCallers: byDefault(Schema.Array(AddressRange), [])
})

/** The name that `runtime/secrets/MasterCheck.ts` gives a key. */
const LostKey = Schema.String.check(
  Schema.isPattern(/^([0-9a-f]{8}|unknown)$/, {
    expected: "8 hex digits or unknown: the key's name from the message with which the service refused to start"
  })
)

/** The config file's own keys, with their defaults; plugin options are decoded by each plugin's schema. */
export const SettingsSchema = Schema.Struct({
  $schema: Schema.optionalKey(Schema.String),
  /** Which environments this deployment serves. */
  environments: Schema.NonEmptyArray(Environment),
  /** The public port: merchants, payors, websockets. Port 0 picks a free one. Default 127.0.0.1:8080. */
  http: byDefault(
    Schema.Struct({
      host: byDefault(Schema.NonEmptyString, "127.0.0.1"),
      port: byDefault(Port, 8080),
      /** Base of `payment_url` and the socket's address; default `http://<host>:<port>`. */
      publicUrl: Schema.optionalKey(
        Schema.String.check(Schema.isPattern(/^https?:\/\/[^\s/?#]+[^\s?#]*$/, { expected: "an http or https URL" }))
      ),
      /**
       * Addresses and CIDR ranges of proxies in front, whose `X-Forwarded-For` names the caller. Default none: then the
       * header is ignored, whoever sends it.
       */
      trustProxy: byDefault(Schema.Array(AddressRange), []),
      /**
       * Origins of pages, beside this service's own, that may open the merchants' websockets: `https://shop.example`.
       * Default none. Only a deployment without mainnet may list `http://localhost:<port>`.
       */
      allowedOrigins: byDefault(Schema.Array(Origin), []),
      /**
       * How many processes serve this port, 1 to 64; `auto`: one for each processor that this process may use. From 2
       * on the first process does everything else, and rate limits are counted in the database. Default 1: one process
       * does all.
       */
      processes: byDefault(
        Schema.Union([
          Schema.Literal("auto"),
          Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maximumHttpProcesses }))
        ]),
        1
      )
    }),
    {}
  ),
  /**
   * The internal port: typed RPC, metrics, health. `token` is its bearer credential; made on devnet if absent. Default
   * 127.0.0.1:8081.
   */
  rpc: byDefault(
    Schema.Struct({
      host: byDefault(Schema.NonEmptyString, "127.0.0.1"),
      port: byDefault(Port, 8081),
      /**
       * Host names without port by which other machines and containers call this port, such as `tillwire` or
       * `payments.internal`; `host` itself is always one. Calls by an IP address or `localhost` always pass; any other
       * `Host` is answered 421, so that no web page reaches the port through a name that resolves here. Default none.
       */
      allowedHosts: byDefault(Schema.Array(HostName), []),
      token: Schema.optionalKey(Credential)
    }),
    {}
  ),
  /** Credential for `/metrics` on the public port; the route answers 401 there while it is absent. */
  ops: Schema.optionalKey(Schema.Struct({ token: Credential })),
  /**
   * Credential of the operator API, `/admin/v1/` on the internal port; its routes do not exist while it is absent. It
   * is none of the other credentials, and needs the module `audit`, which keeps what operators do.
   */
  admin: Schema.optionalKey(Schema.Struct({ token: Credential })),
  /** The one directory that holds all local state; relative to the current directory. Default `.tillwire`. */
  data: byDefault(Schema.Struct({ directory: byDefault(Schema.NonEmptyString, ".tillwire") }), {}),
  /**
   * `master`: 32 bytes each, hex or base64, newest first. Devnet makes one in the data directory; mainnet needs one.
   * The first makes new values; `secrets status` of the command line says which others are needed.
   * `lostKeys`: names of keys that are lost for good, from the message with which the service refused to start (8 hex
   * digits, or `unknown`). It then starts without them; secrets sealed with them stay unreadable. Default none.
   */
  secrets: Schema.optionalKey(Schema.Struct({
    master: Schema.NonEmptyArray(Schema.String),
    lostKeys: byDefault(Schema.Array(LostKey), [])
  })),
  /** Default: the embedded server. */
  store: byDefault(PluginEntry, { use: "embedded" }),
  /**
   * Instances over one PostgreSQL divide the background work among them; `{}` is enough. Absent: an instance that starts
   * first does all of it, others take over when it ends. The same for all instances but for `roles`.
   */
  cluster: Schema.optionalKey(Schema.Struct({
    /**
     * What this instance does: `api` serves the public port, `follower` follows networks, `worker` sends webhooks and does
     * due work and retention. Some instance must have each. Default all.
     */
    roles: byDefault(Schema.Array(Schema.Literals(instanceRoles)).check(Schema.isMinLength(1)), [
      "api",
      "follower",
      "worker"
    ]),
    /**
     * Seconds after which the work of an instance that is frozen or cut off passes on, 6 to 60; that of one that ends
     * passes on within about a second. Default 6.
     */
    takeoverSeconds: byDefault(Schema.Finite.check(Schema.isBetween({ minimum: 6, maximum: 60 })), 6)
  })),
  chains: Entries,
  prices: Entries,
  tokenSources: Entries,
  transports: Entries,
  signIns: Entries,
  modules: Entries,
  pricing: byDefault(
    Schema.Struct({
      /** Price sources that must agree before anything is quoted or valued; default 1 on devnet, 2 on mainnet. */
      quorum: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 10 }))),
      /**
       * A dollar stablecoin that the market prices outside 0.99 to 1.01: taken at its market price (default), or not
       * quoted at all until it is back.
       */
      depeg: byDefault(Schema.Literals(["market", "block"]), "market")
    }),
    {}
  ),
  webhooks: byDefault(
    Schema.Struct({
      /** Seconds before the first retry; default 2 on devnet, 60 on mainnet. */
      retryBaseSeconds: Schema.optionalKey(Seconds),
      /** What each further retry multiplies the delay by; default 8. */
      retryFactor: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThanOrEqualTo(1))),
      /**
       * `host:port` of receivers that may be local and plain http; `localhost:*`, `127.0.0.1:*` and `[::1]:*` are every
       * port of this machine but the service's own, as long as nobody else reaches the service. Devnet only.
       */
      devnetReceivers: Schema.optionalKey(Schema.Array(Schema.NonEmptyString)),
      /**
       * `http(s)://[user:password@]host:port` of the proxy that https webhooks leave by; it resolves their names and
       * must refuse what is not public. Also by the variable `WEBHOOK_PROXY_URL`. Default: none.
       */
      proxyUrl: Schema.optionalKey(ProxyUrl)
    }),
    {}
  ),
  /**
   * How many calls are served, each in any 60 s wherever they begin (modules/docs/reference/rate-limits.md#the-limits).
   */
  limits: byDefault(
    Schema.Struct({
      /**
       * Where calls are counted. `memory` (default): each instance counts for itself. `postgres`: for instances that
       * share a database and should share the limits; costs one round trip a call, three for a call without a
       * credential over IPv6. While the database does not answer, each instance counts for itself, so n instances
       * accept at most n times a limit in a minute with such a fault.
       */
      store: byDefault(Schema.Literals(["memory", "postgres"]), "memory"),
      /** Of one API key, or one wallet of one merchant. Default 100. */
      keyPerMinute: byDefault(CallLimit, 100),
      /**
       * Of all API keys of one merchant together, so that more keys do not mean more calls. A signed-in wallet is not
       * counted, so that its owner can always revoke a key. Default: no limit. With `store: postgres` each call of a
       * key costs a second round trip, and the merchant a row of 8 bytes for each call that the limit allows.
       */
      merchantPerMinute: Schema.optionalKey(CallLimit),
      /** Calls of one key under way at once, on one instance. Default 20. */
      keyInFlight: byDefault(CallLimit, 20),
      /** Of one payment session. Default 120. */
      sessionPerMinute: byDefault(CallLimit, 120),
      /** On the payor's routes without a valid session, from one address. Default 300. */
      payorPerMinute: byDefault(CallLimit, 300),
      /**
       * From one address without a valid credential, including failed ones. Default 30. In this and the next limits per
       * address, an IPv6 address counts as its /64; the /56 and /48 around it may use 4 and 16 times the limit.
       */
      anonymousPerMinute: byDefault(CallLimit, 30),
      /** For sign-in nonces from one address. Default 10. */
      noncePerMinute: byDefault(CallLimit, 10),
      /** For payment pages without a valid session, from one address. Default 300. */
      pagePerMinute: byDefault(CallLimit, 300),
      /**
       * For claim pages of refunds from one address, with or without a token. Default 20: a payor needs four, and who
       * needs more tries tokens.
       */
      claimPerMinute: byDefault(CallLimit, 20),
      /**
       * For public pages of payment links from one address. Default 20: a payor needs two, and who needs more tries
       * codes.
       */
      linkPerMinute: byDefault(CallLimit, 20),
      /** For the reference, the guides and `/openapi.json` from one address. Default 120. */
      documentPerMinute: byDefault(CallLimit, 120),
      /**
       * For token badges from one address. Default 1,000: a page that lists every token asks for each one, once a week.
       */
      badgePerMinute: byDefault(CallLimit, 1_000),
      /**
       * Connections that one address (IPv6: a /64) holds at once on the public port. Trusted proxies
       * (`http.trustProxy`) and this machine are not counted. Default 100 where mainnet is served, else 1,000.
       */
      connectionsPerAddress: Schema.optionalKey(CallLimit)
    }),
    {}
  ),
  telemetry: byDefault(
    Schema.Struct({
      /** `json`: one line per entry; `pretty`: for people; `auto` (default): pretty on a terminal. */
      logs: byDefault(Schema.Literals(["json", "pretty", "auto"]), "auto"),
      level: byDefault(LogLevelName, "info"),
      /**
       * Levels of parts of the service, in place of `level`: `{ "webhooks": "debug" }`. Parts are the folders of
       * `runtime/` and the names of modules; an entry's is its field `area`. Default none.
       */
      levels: byDefault(Schema.Record(Schema.String, LogLevelName), {}),
      /** Which answered requests have an entry: `all` (default), `failed` (status 500 and above), or `none`. */
      requests: byDefault(Schema.Literals(["all", "failed", "none"]), "all"),
      /** Whether each change of a merchant's money has an entry. Default true. */
      payments: byDefault(Schema.Boolean, true),
      /** Where traces and metrics are sent over OTLP/HTTP, as protobuf. Default: nowhere. */
      otlp: Schema.optionalKey(Otlp)
    }),
    {}
  )
})
export type SettingsValue = typeof SettingsSchema.Type

/** Where the demo keys are written, in the data directory, readable by the service's own user only. */
export const demoKeysFile = "demo-keys.json"

/** The settings in force. Secrets inside are plain strings: never log the whole value. */
export class Settings extends Context.Service<
  Settings,
  SettingsValue & {
    /** `http.publicUrl`, or the default made of host and port; without a trailing slash. */
    readonly publicUrl: string
    /** Absolute path of `data.directory`. */
    readonly dataDirectory: string
    /** This process among those that share the database: a random UUID. */
    readonly instanceId: string
  }
>()("tillwire/runtime/Settings") {}
