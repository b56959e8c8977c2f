/** What the chosen plugins must be to each other before any of them starts. Pure; each problem says what to do. */
import { HttpApi } from "effect/http-api"
import type { Environment } from "../../schemas/Network.ts"
import { ChainsRpc } from "../chains/ChainsRpc.ts"
import { OperatorNetworksApi } from "../chains/OperatorApi.ts"
import { OperatorInstancesApi } from "../leases/OperatorApi.ts"
import { operatorPrefix } from "../OperatorRoutes.ts"
import type { Slot } from "../Plugin.ts"
import { HealthRpc } from "../rpc/HealthRpc.ts"
import { runtimeTables } from "../Tables.ts"
import { areaOfPlugin, kernelAreas } from "../telemetry/Areas.ts"
import type { AnyPlugin } from "./Plugins.ts"
import type { Problem } from "./Problem.ts"
import type { KeyPath } from "./Source.ts"

/** One entry of the config with the plugin it names; `options` are decoded, or undefined where they were refused. */
export interface SelectedPlugin {
  readonly slot: Slot
  readonly use: string
  /** The entry's place: `["chains", 0]`. */
  readonly path: KeyPath
  readonly plugin: AnyPlugin
  readonly options: unknown
}

/** Every problem of the plugins together; `plugins` in the order they start. */
export const check = (
  plugins: ReadonlyArray<SelectedPlugin>,
  environments: ReadonlyArray<Environment>
): ReadonlyArray<Problem> => [
  ...plugins.flatMap(slotProblems),
  ...nameProblems(plugins),
  ...plugins.flatMap((entry, index) => needProblems(entry, index, plugins)),
  ...plugins.flatMap((entry) => environmentProblems(entry, environments)),
  ...collisions(plugins, [], groupsOf, (group) => `the HTTP group "${group}"`),
  ...collisions(plugins, ownRoutes, routesOf, (route) => route),
  ...collisions(plugins, ownOperatorRoutes, operatorRoutesOf, (route) => `the operator's route ${route}`),
  ...plugins.flatMap(placeProblems),
  ...collisions(plugins, ownCalls, tagsOf, (tag) => `the RPC "${tag}"`),
  ...collisions(plugins, runtimeTables, ({ tables = [] }) => tables, (table) => `the table "${table}"`)
]

/** Levels of the log for parts that there are not: whoever misspelt one would wait for its entries. */
export const areaProblems = (
  levels: Readonly<Record<string, unknown>>,
  plugins: ReadonlyArray<SelectedPlugin>
): ReadonlyArray<Problem> => {
  const areas = [...new Set([...kernelAreas, ...plugins.map(({ plugin }) => areaOfPlugin(plugin))])].toSorted()
  return Object.keys(levels).filter((area) => !areas.includes(area)).map((area) => ({
    path: ["telemetry", "levels", area],
    at: "key",
    message: `this deployment has no part "${area}": write one of ${areas.join(", ")}`
  }))
}

const use = (entry: SelectedPlugin): KeyPath => [...entry.path, "use"]

const slotProblems = (entry: SelectedPlugin): ReadonlyArray<Problem> =>
  entry.plugin.slot === entry.slot ? [] : [{
    path: use(entry),
    message: `"${entry.use}" belongs in "${entry.plugin.slot}", not in "${entry.slot}": move the entry there`
  }]

/** One driver may watch many networks, so chains may repeat; twice anything else would do its work twice. */
const nameProblems = (plugins: ReadonlyArray<SelectedPlugin>): ReadonlyArray<Problem> =>
  [...Map.groupBy(plugins, (entry) => entry.plugin.name)].flatMap(([name, entries]) => {
    const one = entries.every((entry) => entry.slot === "chains" && entry.plugin === entries[0]?.plugin)
    return one ? [] : entries.slice(1).map((entry) => ({
      path: use(entry),
      message: `the plugin "${name}" is here twice: remove one of the entries`
    }))
  })

const needProblems = (
  entry: SelectedPlugin,
  index: number,
  plugins: ReadonlyArray<SelectedPlugin>
): ReadonlyArray<Problem> =>
  Object.keys(entry.plugin.needs ?? {}).flatMap((name) => {
    const at = plugins.findIndex((other) => other.plugin.name === name)
    if (at === -1) {
      return [{ path: use(entry), message: `"${entry.use}" needs "${name}": add { "use": "${name}" } before it` }]
    }
    return at < index ? [] : [{
      path: use(entry),
      message: `"${entry.use}" needs "${name}", which comes after it: move "${name}" before it`
    }]
  })

const environmentProblems = (
  entry: SelectedPlugin,
  environments: ReadonlyArray<Environment>
): ReadonlyArray<Problem> => {
  const supported = entry.plugin.environments ?? ["devnet", "mainnet"]
  const environment = optionEnvironment(entry.options)
  const servedText = environments.map((name) => `"${name}"`).join(", ")
  if (environment !== undefined && !supported.some((name) => name === environment)) {
    return [{
      path: [...entry.path, "options", "environment"],
      message: `"${entry.use}" never serves ${environment}: it is made for ${supported.join(" and ")} only`
    }]
  }
  if (environment !== undefined && !environments.some((name) => name === environment)) {
    return [{
      path: [...entry.path, "options", "environment"],
      message: `this deployment serves ${servedText} only: remove the entry, or add "${environment}" to "environments"`
    }]
  }
  return environments.some((name) => supported.includes(name)) ? [] : [{
    path: use(entry),
    message: `"${entry.use}" is made for ${
      supported.join(" and ")
    } only, and this deployment serves ${servedText}: remove it`
  }]
}

/** A plugin tells the environment an entry serves by an option of that name. */
const optionEnvironment = (options: unknown): string | undefined => {
  const environment = typeof options === "object" && options !== null && "environment" in options
    ? options.environment
    : undefined
  return typeof environment === "string" ? environment : undefined
}

/** Things only one plugin may have, and the runtime's own: the second one would silently replace the first. */
const collisions = (
  plugins: ReadonlyArray<SelectedPlugin>,
  reserved: ReadonlyArray<string>,
  thingsOf: (plugin: AnyPlugin) => ReadonlyArray<string>,
  subject: (thing: string) => string
): ReadonlyArray<Problem> => {
  const owners = new Map<string, SelectedPlugin>()
  return plugins.flatMap((entry) =>
    thingsOf(entry.plugin).flatMap((thing) => {
      const problem = (end: string) => [{ path: use(entry), message: `${subject(thing)} ${end}` }]
      if (reserved.includes(thing)) return problem(`is the runtime's own: remove "${entry.use}", or tell its author`)
      const owner = owners.get(thing)
      owners.set(thing, owner ?? entry)
      // A driver that is here for several chains brings the same things each time.
      if (owner === undefined || owner.plugin === entry.plugin && owner !== entry) return []
      return owner === entry
        ? problem(`is in "${entry.use}" twice: tell its author`)
        : problem(`is in "${owner.use}" and in "${entry.use}": remove one of the two`)
    })
  )
}

/** Routes and calls the runtime serves itself; `boot.ts` mounts them. */
const ownRoutes = ["GET /health/live", "GET /health/ready", "GET /metrics", "GET /openapi.json"]
const ownCalls = [...HealthRpc.requests.keys(), ...ChainsRpc.requests.keys()]

/** What operators call is on the internal port alone, so its routes are told from the public ones by their paths. */
const placeProblems = (entry: SelectedPlugin): ReadonlyArray<Problem> => [
  ...endpointsOf(entry.plugin.http).filter(({ path }) => path.startsWith(operatorPrefix)).map(({ path }) => ({
    path: use(entry),
    message: `its public route ${path} is in the operator's place: remove "${entry.use}", or tell its author`
  })),
  ...endpointsOf(entry.plugin.operator).filter(({ path }) => !path.startsWith(`${operatorPrefix}v1/`)).map(
    ({ path }) => ({
      path: use(entry),
      message:
        `its operator's route ${path} is not below ${operatorPrefix}v1/: remove "${entry.use}", or tell its author`
    })
  )
]

interface Route {
  readonly group: string
  readonly method: string
  readonly path: string
}

const endpointsOf = (api: AnyPlugin["http"]): ReadonlyArray<Route> => {
  const routes: Array<Route> = []
  if (api !== undefined && HttpApi.isHttpApi(api)) {
    HttpApi.reflect(api, {
      onGroup: () => undefined,
      onEndpoint: ({ endpoint, group }) =>
        routes.push({ group: group.identifier, method: endpoint.method, path: endpoint.path })
    })
  }
  return routes
}

const groupsOf = (plugin: AnyPlugin): ReadonlyArray<string> => [
  ...new Set(endpointsOf(plugin.http).map((route) => route.group))
]

/** Two paths that differ in the names of their parameters only match the same requests. */
const routesIn = (api: AnyPlugin["http"]): ReadonlyArray<string> =>
  endpointsOf(api).map(({ method, path }) => `${method} ${path.replace(/:[^/]+/g, ":_")}`)

const ownOperatorRoutes = [OperatorNetworksApi, OperatorInstancesApi].flatMap((api) => routesIn(api as never))

const routesOf = (plugin: AnyPlugin): ReadonlyArray<string> => routesIn(plugin.http)
const operatorRoutesOf = (plugin: AnyPlugin): ReadonlyArray<string> => routesIn(plugin.operator)

const tagsOf = (plugin: AnyPlugin): ReadonlyArray<string> => {
  const group = plugin.rpc as { readonly requests?: ReadonlyMap<string, unknown> } | undefined
  return [...group?.requests?.keys() ?? []]
}
