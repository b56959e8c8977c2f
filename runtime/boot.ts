/** Turns a checked config into a running service: kernel, plugins in config order, then the two ports. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import {
  Cause,
  Context,
  Effect,
  Layer,
  MutableRef,
  Option,
  Path,
  type PlatformError,
  Redacted,
  Schema,
  Scope
} from "effect"
import { HttpRouter } from "effect/http"
import type { SqlError } from "effect/sql"
import { createServer } from "node:net"
import { handlers as chainsHandlers } from "./chains/ChainsRpcHandlers.ts"
import { ChainsRpc } from "./chains/ChainsRpc.ts"
import { OperatorNetworksApi } from "./chains/OperatorApi.ts"
import { handlers as operatorNetworks } from "./chains/OperatorHandlers.ts"
import { type HttpProcesses, type HttpProcessFailed, startHttpProcesses } from "./boot/HttpProcesses.ts"
import {
  type Address,
  checkAddress,
  connectionsPerAddress,
  idleTimeoutMillis,
  listen,
  type ListenFailed,
  maximumRpcBytes,
  printHost
} from "./boot/Listener.ts"
import { declareRestored } from "./backup/Declaration.ts"
import { checkDataDirectory, type DataDirectoryUnusable } from "./boot/DataDirectory.ts"
import { BackgroundWork } from "./BackgroundWork.ts"
import { apisOf, distinctPlugins, hasRole, hostOf, kernel } from "./boot/Kernel.ts"
import { makeProcessLink, type Peer } from "./boot/ProcessLink.ts"
import { countHttpProcesses, type ProcessRole } from "./boot/ProcessRole.ts"
import type { LoadedConfig, SelectedPlugin } from "./Config.ts"
import * as OutsideCommits from "./commit/OutsideCommits.ts"
import type { AnyPlugin } from "./config/Plugins.ts"
import { loopbackRanges } from "./http/Addresses.ts"
import { ErrorPages } from "./Http.ts"
import { OperatorInstancesApi } from "./leases/OperatorApi.ts"
import { handlers as operatorInstances } from "./leases/OperatorHandlers.ts"
import { OperatorDocumentApi } from "./openapi/OperatorApi.ts"
import { handlers as operatorDocument } from "./openapi/OperatorHandlers.ts"
import * as Reference from "./openapi/Route.ts"
import { operatorRoutes } from "./OperatorRoutes.ts"
import type { Kernel } from "./Plugin.ts"
import * as Rpc from "./Rpc.ts"
import { rpcToken } from "./rpc/Credential.ts"
import { guard } from "./rpc/Guard.ts"
import { HealthRpc } from "./rpc/HealthRpc.ts"
import * as OperatorServer from "./rpc/OperatorServer.ts"
import * as RpcServer from "./rpc/Server.ts"
import type { SecretsError } from "./Secrets.ts"
import { Rotation } from "./secrets/Rotation.ts"
import { SecretsRpc } from "./secrets/SecretsRpc.ts"
import { handlers as secretsHandlers } from "./secrets/SecretsRpcHandlers.ts"
import { Settings, type SettingsValue } from "./Settings.ts"
import { Sockets } from "./Sockets.ts"
import type { StoreError, StoreGuard } from "./Store.ts"
import { Health } from "./Telemetry.ts"
import { areaOfPlugin, inArea } from "./telemetry/Areas.ts"
import { HealthReport, mergeReports } from "./telemetry/HealthReport.ts"
import { mergeMetrics } from "./telemetry/MergedMetrics.ts"
import { countParseError } from "./telemetry/HttpMetrics.ts"
import { makeLineWriter } from "./telemetry/LineWriter.ts"
import { exportMetrics } from "./telemetry/MetricExporter.ts"
import { makeRequestLog } from "./telemetry/RequestLog.ts"
import * as OpsRoutes from "./telemetry/Routes.ts"
import { Traces } from "./telemetry/Traces.ts"
import { Webhooks } from "./Webhooks.ts"

/** Where the service can be reached, once it can. */
export class ServiceInfo extends Context.Service<ServiceInfo, {
  /** The public port, as merchants reach it. */
  readonly url: string
  /** The internal port. */
  readonly internalUrl: string
  readonly dataDirectory: string
}>()("tillwire/runtime/ServiceInfo") {}

/** A plugin did not start, or does not do what it declares. */
export class PluginFailed extends Schema.TaggedError<PluginFailed>()("PluginFailed", {
  plugin: Schema.String,
  reason: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {
  override get message() {
    return `plugin "${this.plugin}": ${this.reason}`
  }
}

export type BootError =
  | StoreError
  | DataDirectoryUnusable
  | SecretsError
  | HttpProcessFailed
  | ListenFailed
  | PluginFailed
  | SqlError.SqlError
  | PlatformError.PlatformError

/** The service of a config, or one process's part of it. `instanceId` is new for each process. */
export const boot = (
  config: LoadedConfig,
  instanceId: string,
  role: ProcessRole = "single"
): Layer.Layer<ServiceInfo | StoreGuard, BootError> =>
  Layer.unwrap(
    Effect.gen(function*() {
      const settings = yield* resolveSettings(config, instanceId)
      yield* checkDataDirectory(settings.dataDirectory, settings.environments)
      const inHttp = inArea(settings.telemetry, "http")
      return inHttp(listeners(distinctPlugins(config.plugins), role, countHttpProcesses(config))).pipe(
        Layer.provideMerge(serviceOf(config, settings, role))
      ) as Layer.Layer<ServiceInfo | StoreGuard, BootError>
    }).pipe(Effect.provide([Path.layer, NodeFileSystem.layer]))
  )

/** The kernel and the plugins of a config, before any work has begun and any port is open. */
export const serviceOf = (
  config: LoadedConfig,
  settings: Settings["Service"],
  role: ProcessRole,
  host = hostOf(config, settings, role)
) => Layer.provideMerge(plugins(config.plugins, settings.telemetry), kernel(config, settings, role, host))

/** Begins the work of a service that needs no port: every plugin has had its turn. */
export const beginWork = Effect.fnUntraced(function*(plugins: ReadonlyArray<AnyPlugin>, role: ProcessRole) {
  yield* serveOwnCalls
  yield* checkDeclaredCalls(plugins)
  yield* (yield* BackgroundWork).begin
  if (role !== "http") yield* declareRestored
})

/** The settings in force: what the file leaves to be computed. */
export const resolveSettings = Effect.fnUntraced(function*(config: LoadedConfig, instanceId: string) {
  const { settings } = config
  const path = yield* Path.Path
  const http = settings.http.port === 0
    ? { ...settings.http, port: yield* freePort(settings.http.host) }
    : settings.http
  return Settings.of({
    ...settings,
    http,
    // Processes of one service share its limits, as it promises.
    limits: countHttpProcesses(config) === 1 ? settings.limits : { ...settings.limits, store: "postgres" },
    publicUrl: (http.publicUrl ?? `http://${printHost(http.host)}:${http.port}`).replace(/\/+$/, ""),
    dataDirectory: path.resolve(settings.data.directory),
    instanceId
  })
})

/** A port nobody listens on: payment links name it before the port is open. */
const freePort = (host: string): Effect.Effect<number> =>
  Effect.callback((resume) => {
    const server = createServer()
    // Whatever is wrong with the host is told when the port is opened.
    server.once("error", () => resume(Effect.succeed(0)))
    server.listen({ host, port: 0 }, () => {
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      server.close(() => resume(Effect.succeed(port)))
    })
  })

type AnyLayer = Layer.Layer<never, PluginFailed, Kernel>

/** Each plugin stands on the ones before it: `Layer.mergeAll` would keep no order. */
const plugins = (entries: ReadonlyArray<SelectedPlugin>, telemetry: SettingsValue["telemetry"]): AnyLayer =>
  entries.reduce<AnyLayer>(
    (before, entry) =>
      Layer.provideMerge(inArea(telemetry, areaOfPlugin(entry.plugin))(startPlugin(entry)), before) as AnyLayer,
    Layer.empty
  )

/** Whatever ends the start of a plugin is told with the plugin's name, a defect of the plugin too. */
const startPlugin = ({ options, plugin, use }: SelectedPlugin): AnyLayer =>
  Layer.suspend(() => layerOf(plugin, options)).pipe(
    Layer.catchCause((cause) => Layer.effectDiscard(Effect.failCause(Cause.map(asFailure(cause), failedStart(use)))))
  )

const failedStart = (use: string) => (cause: unknown) =>
  new PluginFailed({ plugin: use, reason: `did not start: ${messageOf(cause)}`, cause })

/** A cause whose defect is a failure; one that is only an interrupt stays one. */
const asFailure = (cause: Cause.Cause<unknown>): Cause.Cause<unknown> =>
  Cause.hasInterruptsOnly(cause) ? cause : Cause.fail(Cause.squash(cause))

const layerOf = (plugin: AnyPlugin, options: unknown): Layer.Layer<never, unknown, Kernel> => {
  const layer: unknown = plugin.layer(options)
  if (!Layer.isLayer(layer)) {
    return Layer.effectDiscard(Effect.die("its `layer` answers something that is no Layer of \"effect\""))
  }
  const own = layer as Layer.Layer<never, unknown, Kernel>
  return plugin.api === undefined ? own : Layer.provide(own, OutsideCommits.layer(plugin))
}

const messageOf = (cause: unknown) => cause instanceof Error ? cause.message : String(cause)

/**
 * Opens the ports when every plugin has had its turn. Before any of it is torn down a stop closes both and ends the
 * deliveries, all at once: each may take 8 s, and `docker stop` kills after 10 s.
 */
const listeners = (plugins: ReadonlyArray<AnyPlugin>, role: ProcessRole, httpCount: number) =>
  Layer.effect(
    ServiceInfo,
    Effect.gen(function*() {
      const settings = yield* Settings
      const health = yield* Health
      const router = yield* HttpRouter.HttpRouter
      yield* beginWork(plugins, role)
      const processes = MutableRef.make<HttpProcesses | null>(null)
      const { onServing, ...operations } = yield* operationsOf(role, processes)
      yield* OpsRoutes.mount(
        router,
        settings.ops === undefined ? "closed" : Redacted.make(settings.ops.token),
        operations
      )
      yield* Reference.mount(router, apisOf(plugins), settings.publicUrl)
      const stops = yield* Scope.fork(yield* Effect.scope, "parallel")
      const withOwnScope = <A, E, R>(part: Effect.Effect<A, E, R>) =>
        Effect.flatMap(Scope.fork(stops), (scope) => Scope.provide(part, scope))
      const internal = role === "http" ? undefined : yield* withOwnScope(openInternal(settings.rpc, operations))
      if (role === "first") {
        yield* checkAddress(settings.http, "http")
        // The port as it was resolved: where the config says 0, all must have the same.
        const environment = { TILLWIRE__HTTP__PORT: String(settings.http.port) }
        const answers = { metrics: operations.metrics, health: operations.report }
        MutableRef.set(processes, yield* withOwnScope(startHttpProcesses(httpCount, environment, answers)))
      } else if (hasRole(settings, "api")) {
        yield* withOwnScope(listen(router, settings.http, "http", {
          connectionLimits: {
            perAddress: connectionsPerAddress(settings),
            exemptRanges: [...loopbackRanges, ...settings.http.trustProxy]
          },
          idleTimeoutMillis,
          isPortShared: role === "http"
        }, yield* parseErrors))
        yield* onServing
      }
      yield* Scope.addFinalizer(stops, (yield* Webhooks).drain)
      const sockets = yield* Sockets
      // First of all on the way down: probes turn away, and neither a websocket nor a stream keeps its port open.
      yield* Effect.addFinalizer(() =>
        Effect.all([health.markStopping, internal?.endStreams ?? Effect.void, sockets.close])
      )
      return ServiceInfo.of({
        url: settings.publicUrl,
        internalUrl: internal?.url ?? "",
        dataDirectory: settings.dataDirectory
      })
    })
  )

/**
 * Health and metrics of the whole service, whichever process is asked: the first one asks the others for their metrics,
 * and they ask the first one for everything.
 */
const operationsOf = Effect.fnUntraced(
  function*(role: ProcessRole, processes: MutableRef.MutableRef<HttpProcesses | null>) {
    const own = yield* OpsRoutes.ownAnswers
    yield* exportMetrics(own.measure)
    if (role === "single") return { ...own, onServing: Effect.void }
    if (role === "http") {
      const link = yield* makeProcessLink(process as Peer, { metrics: own.metrics })
      const report = Effect.zipWith(
        own.report,
        link.ask("health"),
        (report, first) =>
          mergeReports(report, Option.getOrNull(Option.flatMap(first, Schema.decodeUnknownOption(HealthReport))))
      )
      const metrics = Effect.flatMap(
        link.ask("metrics"),
        (text) => Option.isSome(text) ? Effect.succeed(String(text.value)) : own.metrics
      )
      return { report, metrics, onServing: link.announceServing }
    }
    const others = Effect.suspend(() => MutableRef.get(processes)?.ask("metrics") ?? Effect.succeed([]))
    const metrics = Effect.zipWith(own.metrics, others, (text, rest) =>
      mergeMetrics([
        ["0", text],
        ...rest.map(([processNumber, answer]) => [String(processNumber), String(answer)] as const)
      ]))
    return { report: own.report, metrics, onServing: Effect.void }
  }
)

/** What the public port does with what is no request. */
const parseErrors = Effect.gen(function*() {
  const { telemetry } = yield* Settings
  const services = yield* Effect.context<never>()
  return {
    errorPages: yield* ErrorPages,
    logRequest: makeRequestLog(telemetry.requests, yield* makeLineWriter(telemetry, process.stdout.isTTY)),
    count: (status: number) => countParseError(services, status)
  }
})

/** RPC, metrics and health on a router of their own: none of the public port's routes are there. */
const openInternal = (
  address: Address & { readonly allowedHosts: ReadonlyArray<string> },
  operations: OpsRoutes.OpsAnswers
) =>
  Effect.gen(function*() {
    const router = yield* HttpRouter.make
    yield* router.addGlobalMiddleware(guard([address.host, ...address.allowedHosts], yield* Traces) as never)
    yield* OpsRoutes.mount(router, isLoopback(address.host) ? "open" : yield* rpcToken, operations)
    yield* OperatorServer.mount(router)
    const endStreams = yield* RpcServer.mount(router, yield* rpcToken)
    return { ...yield* listen(router, address, "rpc", { maximumBodyBytes: maximumRpcBytes }), endStreams }
  })

const isLoopback = (host: string) => host === "localhost" || host === "::1" || host.startsWith("127.")

const serveOwnCalls = Effect.gen(function*() {
  const health = yield* Health
  const rpc = yield* Rpc.Rpc
  const own = yield* Effect.context<Kernel>()
  yield* rpc.serve(HealthRpc, HealthRpc.toLayer({ "health.check": () => health.report }))
  yield* rpc.serve(SecretsRpc, Layer.provide(secretsHandlers, Layer.succeed(Rotation, yield* Rotation)))
  yield* rpc.serve(ChainsRpc, Layer.provide(chainsHandlers, Layer.succeedContext(own)))
  yield* Layer.build(Layer.provide(
    Layer.mergeAll(
      operatorRoutes(OperatorNetworksApi, operatorNetworks),
      operatorRoutes(OperatorInstancesApi, operatorInstances),
      operatorRoutes(OperatorDocumentApi, operatorDocument)
    ),
    Layer.succeedContext(own)
  ))
})

/** A call that is declared and not served would fail at its first use, perhaps weeks later. */
const checkDeclaredCalls = (plugins: ReadonlyArray<AnyPlugin>) =>
  Effect.gen(function*() {
    const { groups } = yield* RpcServer.RpcRegistry
    const tags = new Set(groups().flatMap(({ group }) => [...group.requests.keys()]))
    yield* Effect.forEach(plugins, ({ name, rpc }) => {
      const declared = (rpc as { readonly requests?: ReadonlyMap<string, unknown> } | undefined)?.requests
      const unserved = [...declared?.keys() ?? []].filter((tag) => !tags.has(tag))
      return unserved.length === 0 ? Effect.void : Effect.fail(
        new PluginFailed({
          plugin: name,
          reason: `declares ${unserved.join(", ")} but serves no such call: use Rpc.handlers`
        })
      )
    }, { discard: true })
  })
