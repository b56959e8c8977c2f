/** Whole instances of the service in a world: the kernel and its plugins, on a host that is a model. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { Context, Effect, Layer, Path, Scope } from "effect"
import { HttpClient, HttpRouter, HttpServer, HttpServerRequest, type HttpServerResponse } from "effect/http"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { beginWork, serviceOf } from "../../../runtime/boot.ts"
import { distinctPlugins } from "../../../runtime/boot/Kernel.ts"
import { load, type LoadedConfig, type SelectedPlugin } from "../../../runtime/Config.ts"
import { responseText } from "../../../runtime/http/Body.ts"
import type { Settings } from "../../../runtime/Settings.ts"
import { StoreGuard } from "../../../runtime/Store.ts"
import type { SimulatedDatabase } from "../SimulatedDatabase.ts"
import type { Instance, World } from "../World.ts"

/** The config of a deployment, read as the service reads it. `files`: by name, beside it. */
export const loadConfig = async (config: object, environment: Readonly<Record<string, string>>) => {
  const folder = mkdtempSync(join(tmpdir(), "till-simulation-"))
  try {
    const file = join(folder, "config.json")
    writeFileSync(file, JSON.stringify(config))
    return await Effect.runPromise(
      load({ file, environment }).pipe(Effect.provide([NodeFileSystem.layer, Path.layer]))
    )
  } finally {
    rmSync(folder, { recursive: true })
  }
}

export interface ServiceOptions {
  readonly config: LoadedConfig
  /** Plugins that are models, in their place before the modules. */
  readonly drivers: ReadonlyArray<SelectedPlugin>
  readonly httpClient: HttpClient.HttpClient
}

/** An instance of the service, begun. */
export const serviceLayer = (
  world: World,
  database: SimulatedDatabase,
  instance: Instance,
  { config, drivers, httpClient }: ServiceOptions
): Layer.Layer<HttpRouter.HttpRouter, unknown> => {
  const settings: Settings["Service"] = {
    ...config.settings,
    publicUrl: config.settings.http.publicUrl ?? "",
    dataDirectory: "/nowhere",
    instanceId: `instance-${instance.name}`
  }
  const isModule = ({ slot }: SelectedPlugin) => slot === "modules"
  const plugins = [
    ...config.plugins.filter((each) => !isModule(each)),
    ...drivers,
    ...config.plugins.filter(isModule)
  ]
  const all = { ...config, plugins }
  const service = serviceOf(all, settings, "single", {
    store: Layer.merge(
      database.layer(world, instance),
      Layer.succeed(StoreGuard, { awaitLoss: Effect.never, findings: Effect.succeed([]) })
    ),
    httpClient: Layer.succeed(HttpClient.HttpClient, httpClient),
    platform: HttpServer.layerServices
  })
  const begun = Layer.effectDiscard(beginWork(distinctPlugins(plugins), "single"))
  return Layer.provideMerge(begun, service) as unknown as Layer.Layer<HttpRouter.HttpRouter, unknown>
}

export interface ServiceRequest {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

export interface ServiceResponse {
  readonly status: number
  readonly text: string
  readonly json: any
}

/** A request that a router answers, without a socket. */
export const requestTo = (
  router: HttpRouter.HttpRouter,
  { body, headers = {}, method, path }: ServiceRequest
): Effect.Effect<ServiceResponse> => {
  const text = body === undefined ? undefined : JSON.stringify(body)
  const request = new Request(`https://pay.example${path}`, {
    method: method ?? (text === undefined ? "GET" : "POST"),
    headers: {
      ...(text === undefined
        ? {}
        : { "content-type": "application/json", "content-length": String(Buffer.byteLength(text)) }),
      ...headers
    },
    ...(text === undefined ? {} : { body: text })
  })
  const serve = Effect.scoped(
    Effect.flatMap(Effect.scope, (scope) =>
      Effect.provideContext(
        router.asHttpEffect(),
        Context.make(HttpServerRequest.HttpServerRequest, HttpServerRequest.fromWeb(request)).pipe(
          Context.add(Scope.Scope, scope)
        )
      ))
  ) as Effect.Effect<HttpServerResponse.HttpServerResponse, unknown>
  return Effect.map(Effect.orDie(serve), (response) => {
    const found = responseText(response) ?? ""
    return {
      status: response.status,
      text: found,
      json: found.startsWith("{") || found.startsWith("[") ? JSON.parse(found) : undefined
    }
  })
}
