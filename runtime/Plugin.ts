/** What a plugin is, and everything a plugin may ask the runtime for. */
import type { Context, FileSystem, Layer, Path, Schema, Scope } from "effect"
import type { Effect } from "effect"
import type { Etag, HttpClient, HttpPlatform, HttpRouter } from "effect/http"
import type { HttpApi } from "effect/http-api"
import type { RpcGroup } from "effect/rpc"
import type { SqlClient } from "effect/sql"
import type { Actors } from "./Actors.ts"
import type { AuditLog } from "./AuditLog.ts"
import type { Availability } from "./Availability.ts"
import type { Books } from "./Books.ts"
import type { Chains } from "./Chains.ts"
import type { Commit } from "./Commit.ts"
import type { EventBus } from "./EventBus.ts"
import type { Credentials, ErrorPages, RateLimiter, ReplyRenderers, Revocations } from "./Http.ts"
import type { Restores } from "./Restores.ts"
import type { Leases } from "./Leases.ts"
import type { LocalCalls } from "./LocalCalls.ts"
import type { LinkedWallets } from "./LinkedWallets.ts"
import type { Mail } from "./Mail.ts"
import type { Members } from "./Members.ts"
import type { PagePreviews } from "./PagePreviews.ts"
import type { MerchantClock } from "./MerchantClock.ts"
import type { Notices } from "./Notices.ts"
import type { Operations } from "./Operations.ts"
import type { OperatorRoutes } from "./OperatorRoutes.ts"
import type { PersonalData } from "./PersonalData.ts"
import type { Prices } from "./Prices.ts"
import type { PublicWeb } from "./PublicWeb.ts"
import type { Rollup } from "./Rollups.ts"
import type { Rpc } from "./Rpc.ts"
import type { Screening } from "./Screening.ts"
import type { SealedColumn, Secrets } from "./Secrets.ts"
import type { Settings } from "./Settings.ts"
import type { SignIns } from "./SignIns.ts"
import type { SimulatedWallets } from "./SimulatedWallets.ts"
import type { Sockets } from "./Sockets.ts"
import type { Health } from "./Telemetry.ts"
import type { TextSigners } from "./TextSigners.ts"
import type { Timers } from "./Timers.ts"
import type { TokenCatalog } from "./TokenCatalog.ts"
import type { Webhooks } from "./Webhooks.ts"
import type { Environment } from "../schemas/Network.ts"

/** Everything a plugin may ask the runtime for. A plugin that needs more does not compile. */
export type Kernel =
  | SqlClient.SqlClient
  | HttpClient.HttpClient
  | Actors
  | AuditLog
  | Availability
  | Books
  | Chains
  | Commit
  | Credentials
  | ErrorPages
  | EventBus
  | Health
  | Leases
  | LinkedWallets
  | LocalCalls
  | Mail
  | Members
  | PagePreviews
  | MerchantClock
  | Notices
  | OperatorRoutes
  | PersonalData
  | Prices
  | PublicWeb
  | ReplyRenderers
  | Restores
  | Revocations
  | Rpc
  | Screening
  | Secrets
  | Settings
  | SignIns
  | SimulatedWallets
  | Sockets
  | RateLimiter
  | TextSigners
  | Timers
  | TokenCatalog
  | Webhooks
  | Http

/** What mounting routes takes: the shared router, and what serves the operations of an `HttpApi`. */
export type Http =
  | HttpRouter.HttpRouter
  | HttpPlatform.HttpPlatform
  | Etag.Generator
  | FileSystem.FileSystem
  | Path.Path
  | Operations

/** The slots of the config file, in the order their plugins start: whoever uses a driver starts after it. */
export const slots = ["tokenSources", "prices", "chains", "transports", "signIns", "modules"] as const

/** The slot of the config file a plugin fits into. */
export type Slot = (typeof slots)[number]

/**
 * The version of `tillwire/plugin`, the names and types that plugins from outside are written with. A change that
 * breaks one of them raises it, and plugins for another version are refused at the start.
 */
export const pluginApiVersion = 1

/** Forward-only steps, numbered inside the plugin (`0001_invoices`), recorded in `migrations_<name>`. */
export type Migrations = Readonly<Record<string, Effect.Effect<void, unknown, SqlClient.SqlClient>>>

/** Names of other plugins that must be configured too, and the service, or services, each one offers. */
export type Needs = Readonly<Record<string, Context.Key<any, any> | ReadonlyArray<Context.Key<any, any>>>>

/** The services that {@link Needs} name. */
export type RequiredServices<N extends Needs> = {
  readonly [Name in keyof N]: N[Name] extends ReadonlyArray<infer Key> ? Context.Service.Identifier<Key>
    : Context.Service.Identifier<N[Name]>
}[keyof N]

/** One feature or driver. Absent fields contribute nothing. */
export interface Plugin<
  Options extends Schema.Codec<any, any> = Schema.Codec<any, any>,
  N extends Needs = {},
  Provides = never
> {
  /** Unique. Names the migrations table, the log annotation and the error "needs module X". */
  readonly name: string
  readonly slot: Slot
  /**
   * The {@link pluginApiVersion} that a plugin from outside is written for, as a number in its own text: what it
   * imports at run time is always of the service's version. Built-in plugins have none.
   */
  readonly api?: number
  /**
   * Environments it may ever serve; absent: all. What moves play money says `["devnet"]` and never starts elsewhere.
   */
  readonly environments?: ReadonlyArray<Environment>
  /**
   * Whether it keeps state in memory that every call must see: then `http.processes` may only be 1. Absent: it keeps
   * none.
   */
  readonly needsOneProcess?: boolean
  /** Decoded from the config entry before any IO; an unknown key is an error. Absent: no options. */
  readonly options?: Options
  readonly needs?: N
  /** Endpoint definitions; the runtime merges them into one OpenAPI document. */
  readonly http?: HttpApi.Constraint
  /** Endpoint definitions of the operator API, each below `/admin/v1/` and behind `OperatorAuth`. */
  readonly operator?: HttpApi.Constraint
  readonly rpc?: RpcGroup.Any
  readonly migrations?: Migrations
  /** Tables whose rows the plugin commits: each has a primary key and a `version bigint`. */
  readonly tables?: ReadonlyArray<string>
  /** Columns of its tables that hold what it sealed; each name begins with `sealed_`. */
  readonly sealedColumns?: ReadonlyArray<SealedColumn>
  /** Sums of its objects that every commit keeps; see `Rollups.ts`. */
  readonly rollups?: ReadonlyArray<Rollup>
  /**
   * Pages of its own that an operator may open, by a short label, for the lines of the start; `publicUrl` is without
   * `/`.
   */
  readonly pages?: (publicUrl: string) => Readonly<Record<string, string>>
  /**
   * What `layer` would refuse of the options, without a service: contradictions between them, keys that cannot be read.
   * The nodes that they name are asked as `NodeProof` of `runtime/nodes/Endpoints.ts` says. Absent: nothing.
   */
  readonly check?: (options: Options["Type"]) => Effect.Effect<void, Error, HttpClient.HttpClient | Scope.Scope>
  /** Handlers, actors, subscriptions, registrations. Built in config order, torn down in reverse. */
  readonly layer: (
    options: Options["Type"]
  ) => Layer.Layer<Provides, unknown, Kernel | RequiredServices<N>>
}

/** Declares a plugin; the file's `export const plugin`. Types only: the boot checks the rest. */
export const make = <
  Options extends Schema.Codec<any, any> = Schema.Codec<any, any>,
  N extends Needs = {},
  Provides = never
>(plugin: Plugin<Options, N, Provides>): Plugin<Options, N, Provides> => plugin
