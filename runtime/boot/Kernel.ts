/** The kernel: every service a plugin may ask for, built from the bottom up. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, type FileSystem, Layer, type Path } from "effect"
import { type Etag, type HttpClient as EffectHttpClient, type HttpPlatform, HttpRouter } from "effect/http"
import type { HttpApi } from "effect/http-api"
import type { SqlClient } from "effect/sql"
import * as Actors from "../Actors.ts"
import * as AuditLog from "../AuditLog.ts"
import * as Availability from "../Availability.ts"
import * as BackgroundWork from "../BackgroundWork.ts"
import * as WalArchive from "../backup/WalArchive.ts"
import * as Books from "../Books.ts"
import * as ChainHealth from "../chains/Health.ts"
import * as Chains from "../chains/TransferJournal.ts"
import * as Flushes from "../commit/Flushes.ts"
import * as Commit from "../commit/GroupCommit.ts"
import * as EventRetention from "../commit/Retention.ts"
import type { LoadedConfig, SelectedPlugin } from "../Config.ts"
import type { AnyPlugin } from "../config/Plugins.ts"
import type { Migrations } from "../Plugin.ts"
import * as EventBus from "../eventbus/Tail.ts"
import { routerConfig } from "../http/Routes.ts"
import * as HttpClient from "../http/Client.ts"
import * as Http from "../http/Server.ts"
import * as Leases from "../Leases.ts"
import * as LeasesOfCluster from "../leases/Cluster.ts"
import * as LeasesOfDatabase from "../leases/Database.ts"
import * as LeaseHealth from "../leases/Health.ts"
import * as LinkedWallets from "../LinkedWallets.ts"
import * as Mail from "../Mail.ts"
import * as Notices from "../Notices.ts"
import * as Members from "../Members.ts"
import * as PagePreviews from "../PagePreviews.ts"
import * as MerchantClock from "../MerchantClock.ts"
import { migrate } from "../Migrate.ts"
import * as PriceHealth from "../prices/Health.ts"
import * as PersonalData from "../PersonalData.ts"
import * as Oracle from "../prices/Oracle.ts"
import * as PublicWeb from "../PublicWeb.ts"
import { Restores } from "../Restores.ts"
import * as RpcServer from "../rpc/Server.ts"
import * as Screening from "../Screening.ts"
import * as Secrets from "../Secrets.ts"
import { loadRetainedKeys } from "../secrets/RetainedKeys.ts"
import * as KeyUses from "../secrets/KeyUses.ts"
import { checkMaster } from "../secrets/MasterCheck.ts"
import * as Rotation from "../secrets/Rotation.ts"
import { Settings } from "../Settings.ts"
import * as SignIns from "../SignIns.ts"
import * as Sockets from "../sockets/Hub.ts"
import { type Store, type StoreError, storeLayer } from "../Store.ts"
import * as Embedded from "../store/Embedded.ts"
import * as StoreHealth from "../store/Health.ts"
import * as Partitions from "../store/partitions/Months.ts"
import * as Postgres from "../store/Postgres.ts"
import * as Replica from "../store/Replica.ts"
import { runtimeMigrations, runtimeSealedColumns, runtimeTables } from "../Tables.ts"
import { Health } from "../Telemetry.ts"
import { inArea, type KernelArea } from "../telemetry/Areas.ts"
import * as HealthCheck from "../telemetry/Health.ts"
import * as PaymentLog from "../telemetry/PaymentLog.ts"
import * as Traces from "../telemetry/Traces.ts"
import * as TextSigners from "../TextSigners.ts"
import * as TimerHealth from "../timers/Health.ts"
import * as Timers from "../Timers.ts"
import * as TokenCatalog from "../tokencatalog/Memory.ts"
import * as ClockSteps from "../webhooks/ClockSteps.ts"
import * as Webhooks from "../webhooks/Deliverer.ts"
import * as DeliveryRetention from "../webhooks/Retention.ts"
import { countHttpProcesses, poolShare, type ProcessRole } from "./ProcessRole.ts"

/** Each plugin once, in the order it starts: a driver may be picked for several networks. */
export const distinctPlugins = (entries: ReadonlyArray<SelectedPlugin>): ReadonlyArray<AnyPlugin> => [
  ...new Map(entries.map(({ plugin }) => [plugin.name, plugin])).values()
]

/** What the plugins serve over HTTP. */
export const apisOf = (plugins: ReadonlyArray<AnyPlugin>): ReadonlyArray<HttpApi.Constraint> =>
  plugins.flatMap(({ http }) => http === undefined ? [] : [http])

/**
 * The runtime's own tables, then each plugin's in the order they start; then the service may say it is ready. In a
 * database of another master key only the runtime's tables are migrated.
 */
const migrations = (plugins: ReadonlyArray<AnyPlugin>, role: ProcessRole) =>
  Layer.effectDiscard(Effect.gen(function*() {
    // The first process migrated before it started this one.
    if (role === "http") yield* loadRetainedKeys
    else {
      yield* migrate("runtime", runtimeMigrations)
      yield* checkMaster
      yield* Effect.forEach(plugins, (plugin) => migrate(plugin.name, plugin.migrations ?? {}), { discard: true })
    }
    yield* (yield* Health).markMigrated
  }))

/** The database of a deployment, as its config names it. `instanceId`: of a process that becomes an instance. */
export const storeOf = (
  config: LoadedConfig,
  dataDirectory: string,
  role: ProcessRole,
  instanceId?: string
): Layer.Layer<Store, StoreError> => {
  const { settings: { cluster, environments }, store } = config
  if (store.use === "postgres") {
    return cluster === undefined || instanceId === undefined
      ? storeLayer("postgres", store.options, dataDirectory, environments)
      : Postgres.layer(store.options, LeasesOfCluster.sessionNameOf(instanceId))
  }
  const options = {
    ...store.options,
    maxConnections: poolShare(store.options.maxConnections, countHttpProcesses(config), Embedded.maximumConnections)
  }
  return role === "http"
    ? Embedded.sharedLayer(options, dataDirectory)
    : storeLayer("embedded", options, dataDirectory, environments)
}

/** Where reads may go beside the primary. */
const replicaOf = ({ store }: LoadedConfig): Layer.Layer<never, StoreError, SqlClient.SqlClient> => {
  if (store.use !== "postgres" || store.options.replica === undefined) return Replica.noReplicaLayer
  return Replica.layer({ ...store.options, replica: store.options.replica })
}

/** Whether this instance does what the role means. Where there is no cluster each instance does everything. */
export const hasRole = ({ cluster }: Settings["Service"], role: Leases.InstanceRole): boolean =>
  cluster === undefined || cluster.roles.includes(role)

/** What a service stands on beside its config: another one in the place of the machine's makes a simulated service. */
export interface Host {
  readonly store: Layer.Layer<Store, StoreError>
  /** By which nodes, price sources and services of merchants are called. */
  readonly httpClient: Layer.Layer<EffectHttpClient.HttpClient>
  /** Files, and what HTTP routes need to serve them. */
  readonly platform: Layer.Layer<Etag.Generator | FileSystem.FileSystem | HttpPlatform.HttpPlatform | Path.Path>
}

/** The machine, and the database that the config names. */
export const hostOf = (config: LoadedConfig, settings: Settings["Service"], role: ProcessRole): Host => ({
  store: storeOf(config, settings.dataDirectory, role, settings.instanceId),
  httpClient: HttpClient.layer,
  platform: NodeHttpServer.layerHttpServices
})

/** Who does the work that one instance does at a time. */
const leasesOf = ({ cluster, instanceId }: Settings["Service"], role: ProcessRole) => {
  if (role === "http") return Leases.waitingLayer
  return cluster === undefined ? LeasesOfDatabase.layerOf(instanceId) : LeasesOfCluster.layer({
    instanceId,
    roles: cluster.roles,
    takeoverMillis: cluster.takeoverSeconds * 1_000
  })
}

/** Makes the entries of a part of the kernel known as its own. */
const partOf = (settings: Settings["Service"]) => <A, E, R>(area: KernelArea, layer: Layer.Layer<A, E, R>) =>
  inArea(settings.telemetry, area)(layer)

/** The database with its tables brought to this build, and nothing that works on it. */
export const stateOf = (
  config: LoadedConfig,
  settings: Settings["Service"],
  role: ProcessRole,
  host = hostOf(config, settings, role)
) => {
  const part = partOf(settings)
  const plugins = distinctPlugins(config.plugins)
  const sealedColumns = [...runtimeSealedColumns, ...plugins.flatMap((plugin) => plugin.sealedColumns ?? [])]
  const platform = Traces.layer.pipe(Layer.provideMerge(Layer.mergeAll(
    host.platform,
    host.httpClient,
    Layer.provide(HttpRouter.layer, routerConfig),
    part("rpc", RpcServer.layer),
    BackgroundWork.layer,
    Layer.succeed(Settings, settings)
  )))
  return Layer.merge(KeyUses.layer, Rotation.layer(sealedColumns)).pipe(
    Layer.provideMerge(migrations(plugins, role)),
    Layer.provideMerge(HealthCheck.layer),
    // Before the migrations: a replica that is refused leaves the database as it was.
    Layer.provideMerge(part("store", replicaOf(config))),
    Layer.provideMerge(part("store", host.store)),
    Layer.provideMerge(part("secrets", Secrets.layer)),
    Layer.provideMerge(platform)
  )
}

/** Every set of tables of a deployment with its migrations, in the order they run. */
export const migrationSets = (
  config: LoadedConfig
): ReadonlyArray<{ readonly name: string; readonly migrations: Migrations }> => [
  { name: "runtime", migrations: runtimeMigrations },
  ...distinctPlugins(config.plugins).flatMap(({ migrations, name }) =>
    migrations === undefined ? [] : [{ name, migrations }]
  )
]

/**
 * The kernel of a deployment. Secrets come before the store, so that a missing key is told before a database starts;
 * what reads tables comes after the migrations. Torn down in reverse. An `http` process has all of it, but does none of
 * the work that one process does for all: it holds no lease and sends no webhook.
 */
export const kernel = (
  config: LoadedConfig,
  settings: Settings["Service"],
  role: ProcessRole,
  host = hostOf(config, settings, role)
) => {
  const part = partOf(settings)
  const plugins = distinctPlugins(config.plugins)
  const tables = [...new Set([...runtimeTables, ...plugins.flatMap((plugin) => plugin.tables ?? [])])]
  const rollups = plugins.flatMap((plugin) => plugin.rollups ?? [])
  const state = stateOf(config, settings, role, host)
  const log = Layer.merge(part("eventbus", EventBus.layer), PaymentLog.layer).pipe(
    Layer.provideMerge(part("commit", Commit.layer(tables, rollups))),
    Layer.provideMerge(state)
  )
  const work = Layer.mergeAll(
    part("webhooks", Webhooks.layerWith({ sends: role !== "http" && hasRole(settings, "worker") })),
    part("webhooks", DeliveryRetention.layer),
    part("webhooks", ClockSteps.layer),
    part("commit", EventRetention.layer)
  ).pipe(
    Layer.provideMerge(part("chains", Chains.layer)),
    Layer.provideMerge(part("prices", Oracle.layerWith(settings.pricing))),
    Layer.provideMerge(part("tokencatalog", TokenCatalog.layer)),
    Layer.provideMerge(part("timers", Timers.layer)),
    Layer.provideMerge(part("leases", leasesOf(settings, role))),
    Layer.provideMerge(Availability.layer),
    Layer.provideMerge(
      Layer.mergeAll(
        Actors.layer,
        AuditLog.layer,
        Books.layer,
        LinkedWallets.layer,
        Members.layer,
        PagePreviews.layer,
        PersonalData.layer(rollups),
        PublicWeb.layer,
        Restores.layer,
        TextSigners.layer
      )
    ),
    Layer.provideMerge(SignIns.layer),
    Layer.provideMerge(Layer.mergeAll(Mail.layer, Notices.layer, Screening.layer)),
    Layer.provideMerge(MerchantClock.layer),
    Layer.provideMerge(log)
  )
  const { store } = config
  const archive = store.use === "embedded" && role !== "http" ? store.options.archive : undefined
  const health = Layer.mergeAll(
    archive === undefined ? Layer.empty : part("store", WalArchive.layer(archive, settings.dataDirectory)),
    part("store", StoreHealth.healthLayer),
    part("commit", Flushes.healthLayer),
    part("chains", ChainHealth.healthLayer),
    part("leases", LeaseHealth.healthLayer),
    part("store", Partitions.layer),
    part("timers", TimerHealth.healthLayer),
    part("prices", PriceHealth.healthLayer)
  )
  return health.pipe(
    Layer.provideMerge(part("sockets", Sockets.layer)),
    Layer.provideMerge(part("http", Http.layer(apisOf(plugins)))),
    Layer.provideMerge(work)
  )
}
