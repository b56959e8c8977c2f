/**
 * Reads a deployment's config: JSONC file, environment overrides, secrets by reference, the plugins it names and their
 * options. Nothing else is touched; every problem is found before anything starts, and all are told at once.
 *
 * Last wins: schema defaults, the file, `TILLWIRE__…` variables.
 */
import { Effect, FileSystem, Path, Schema } from "effect"
import { findNodeAtLocation, getNodeValue } from "jsonc-parser"
import { countHttpProcesses, maximumOnEmbedded } from "./boot/ProcessRole.ts"
import { areaProblems, check, type SelectedPlugin } from "./config/Check.ts"
import { decodeAt, isRecord } from "./config/Decode.ts"
import { type Override, overridesIn, place, placeWithoutSchema, putAt } from "./config/Overrides.ts"
import { findPlugin } from "./config/Plugins.ts"
import { configInvalid, type Problem, unreadable } from "./config/Problem.ts"
import { literalSecrets } from "./config/Literals.ts"
import { type BrokenReference, resolveReferences } from "./config/References.ts"
import {
  type JsonValue,
  type KeyPath,
  parseSource,
  positionOf,
  printPath,
  type Source,
  spanOf
} from "./config/Source.ts"
import { isLocalOrigin } from "./http/Origins.ts"
import { slots } from "./Plugin.ts"
import { SettingsSchema, type SettingsValue } from "./Settings.ts"
import { type StoreName, type StoreOptions, storeOptions } from "./Store.ts"
import { Environment } from "../schemas/Network.ts"

export type { SelectedPlugin } from "./config/Check.ts"
export { ConfigInvalid, exitCodeConfig } from "./config/Problem.ts"

/** Connections that an instance of a cluster needs: one for its locks, and three to work with. */
const minimumClusterConnections = 4

/** Bytes of a config file, at most: a large one is some other file. */
export const maximumConfigBytes = 1_048_576

export interface ConfigSource {
  /** The file as the operator names it. */
  readonly file: string
  /** The process's environment variables: overrides and `${env:…}`. */
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** The chosen store with its decoded options. */
export type SelectedStore = {
  readonly [Name in StoreName]: { readonly use: Name; readonly options: StoreOptions[Name] }
}[StoreName]

export interface LoadedConfig {
  readonly settings: SettingsValue
  readonly store: SelectedStore
  /** The chosen plugins with their decoded options, in the order they start. */
  readonly plugins: ReadonlyArray<SelectedPlugin>
}

/** What is known of a config while it is being read; problems gather in it. */
interface Draft {
  readonly source: Source
  readonly folder: string
  value: JsonValue
  readonly problems: Array<Problem>
  /** Printed path -> the variable that set it. */
  readonly variables: Map<string, string>
  /** Printed paths of strings with a reference in them. */
  readonly referencePaths: Set<string>
}

/** Loads and checks a config. Fails with the report of everything that is wrong with it. */
export const load = Effect.fn("Config.load")(function*(from: ConfigSource) {
  const { draft, entries } = yield* gather(from)
  yield* resolve(draft, from.environment)

  const decodedSettings = decodeAt(SettingsSchema, draft.value, [])
  if (decodedSettings._tag === "Refused") draft.problems.push(...decodedSettings.problems)
  const store = selectStore(draft)
  const plugins = entries.map((entry) => decodeOptions(draft, entry))
  const environments = environmentsOf(draft.value)
  draft.problems.push(...check(plugins, environments))
  if (decodedSettings._tag === "Decoded" && store !== undefined) {
    draft.problems.push(...processProblems({ settings: decodedSettings.value, store, plugins }))
    draft.problems.push(...clusterProblems({ settings: decodedSettings.value, store, plugins }))
    draft.problems.push(...areaProblems(decodedSettings.value.telemetry.levels, plugins))
    draft.problems.push(...operatorProblems(decodedSettings.value, plugins))
  }
  const literals = literalSecrets(draft.value, plugins, (path) => isReferenced(draft, path))
  if (environments.includes("mainnet")) {
    draft.problems.push(...literals.map(literalProblem))
    if (decodedSettings._tag === "Decoded") draft.problems.push(...localOrigins(decodedSettings.value))
  }

  if (decodedSettings._tag === "Refused" || store === undefined || draft.problems.length > 0) {
    return yield* configInvalid(
      draft.source,
      draft.problems.filter((problem) => !isConsequence(draft, problem)).map((problem) => withVariable(draft, problem)),
      literals.map((path) => spanOf(draft.source, path))
    )
  }
  return { settings: decodedSettings.value, store, plugins } satisfies LoadedConfig as LoadedConfig
})

/** The file with its overrides and its plugins; references stand in it as they are written. */
const gather = Effect.fnUntraced(function*(from: ConfigSource) {
  const draft = yield* read(from.file)
  const pluginOverrides = applyOverrides(draft, overridesIn(from.environment))
  const entries = yield* selectPlugins(draft)
  applyPluginOverrides(draft, pluginOverrides, entries)
  return { draft, entries }
})

/** A config as it was written: what stands where, and what put it there. */
export interface ConfigText {
  /** With overrides, with references as written, and without any secret: those that are written out are hidden. */
  readonly value: JsonValue
  /** The variable that set the value at a path or something around it; undefined: the file did, or nobody. */
  readonly variableOf: (path: KeyPath) => string | undefined
  /** The line of the file that sets the value at a path, from 1; undefined: it is not in the file. */
  readonly lineOf: (path: KeyPath) => number | undefined
  /** What is in force at a path that nobody set; undefined: nothing, or the config cannot be used. */
  readonly defaultOf: (path: KeyPath) => JsonValue | undefined
}

const hiddenSecret = "(hidden: a secret that is written out)"

/** Reads a config for people. It need not be one that can be used: only its text must be readable. */
export const readConfigText = Effect.fn("Config.readText")(function*(from: ConfigSource) {
  const { draft, entries } = yield* gather(from)
  const literals = literalSecrets(draft.value, entries, (path) => {
    const value = valueAt(draft.value, path)
    return typeof value === "string" && /^\$\{[^}]*\}$/.test(value)
  })
  const value = literals.reduce((hidden, path) => putAt(hidden, path, hiddenSecret), draft.value)
  const decoded = decodeAt(SettingsSchema, draft.value, [])
  const { root, text } = draft.source
  return {
    value,
    variableOf: (path) => variableOf(draft, path),
    lineOf: (path) => {
      const node = root === undefined ? undefined : findNodeAtLocation(root, [...path])
      return node === undefined ? undefined : positionOf(text, node.offset).line
    },
    defaultOf: (path) => decoded._tag === "Refused" ? undefined : valueAt(decoded.value as unknown as JsonValue, path)
  } satisfies ConfigText as ConfigText
})

/**
 * The settings as they are written, with overrides, for a program that only has to find the service: no plugin is
 * loaded and no reference is read. A file that is not there is an empty one.
 */
export const readSettingsText = Effect.fn("Config.readSettingsText")(function*(from: ConfigSource) {
  const fs = yield* FileSystem.FileSystem
  const isThere = yield* Effect.orElseSucceed(fs.exists(from.file), () => false)
  const draft: Draft = isThere ? yield* read(from.file) : {
    source: parseSource(from.file, "{}").source,
    folder: ".",
    value: {},
    problems: [],
    variables: new Map(),
    referencePaths: new Set()
  }
  applyOverrides(draft, overridesIn(from.environment))
  return draft.value
})

const read = (file: string) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const info = yield* Effect.mapError(fs.stat(file), (error) =>
      unreadable(
        error.reason._tag === "NotFound"
          ? `config file not found: ${file}. Name one with --config <file>.`
          : `config file cannot be read: ${file} (${error.reason._tag})`
      ))
    if (info.type !== "File") return yield* unreadable(`config is not a file: ${file}`)
    if (info.size > maximumConfigBytes) {
      return yield* unreadable(`config file has more than ${maximumConfigBytes} bytes: ${file}`)
    }
    const text = yield* Effect.mapError(
      fs.readFileString(file),
      () => unreadable(`config file cannot be read: ${file}`)
    )
    const { errors, source } = parseSource(file, text)
    if (errors.length > 0 || source.root === undefined) {
      return yield* configInvalid(
        source,
        errors.length > 0
          ? errors.map(({ message, span }) => ({ path: [], message, at: span }))
          : [{ path: [], message: "the file is empty: start with { \"environments\": [\"devnet\"] }" }]
      )
    }
    return {
      source,
      folder: path.dirname(path.resolve(file)),
      value: getNodeValue(source.root) as JsonValue,
      problems: [],
      variables: new Map(),
      referencePaths: new Set()
    } satisfies Draft as Draft
  })

/** Puts every override whose key the settings know; answers those that point into a plugin's options. */
const applyOverrides = (draft: Draft, overrides: ReadonlyArray<Override>) => {
  const ast = Schema.toEncoded(SettingsSchema).ast
  return overrides.flatMap((override) => {
    const placement = place(ast, draft.value, override, [])
    if (placement._tag === "Deferred") {
      return [{ override: { ...override, segments: placement.segments }, path: placement.path }]
    }
    if (placement._tag === "Misplaced") draft.problems.push(placement.problem)
    else put(draft, placement.path, placement.value, override.variable)
    return []
  })
}

const put = (draft: Draft, path: KeyPath, value: JsonValue, variable: string) => {
  draft.value = putAt(draft.value, path, value)
  draft.variables.set(printPath(path), variable)
}

interface PluginOverride {
  readonly override: Override
  readonly path: KeyPath
}

const applyPluginOverrides = (
  draft: Draft,
  overrides: ReadonlyArray<PluginOverride>,
  entries: ReadonlyArray<SelectedPlugin>
) => {
  for (const { override, path } of overrides) {
    const entry = entries.find((candidate) => printPath([...candidate.path, "options"]) === printPath(path))
    const schema = entry?.plugin.options ?? (path[0] === "store" ? storeSchema(draft.value) : undefined)
    const here = valueAt(draft.value, path)
    const bySchema = schema === undefined ? undefined : place(Schema.toEncoded(schema).ast, here, override, path)
    const placement = bySchema === undefined || bySchema._tag === "Deferred"
      ? placeWithoutSchema(here, override, path)
      : bySchema
    if (placement._tag === "Misplaced") draft.problems.push(placement.problem)
    else if (placement._tag === "Placed") put(draft, placement.path, placement.value, override.variable)
  }
}

const valueAt = (value: JsonValue | undefined, path: KeyPath): JsonValue | undefined =>
  path.reduce<JsonValue | undefined>(
    (at, key) => isRecord(at) ? at[key] : Array.isArray(at) ? at[Number(key)] : undefined,
    value
  )

/** Finds the plugins; an entry that names none is a problem and left out. */
const selectPlugins = (draft: Draft) =>
  Effect.gen(function*() {
    const entries = slots.flatMap((slot) => {
      const list = valueAt(draft.value, [slot])
      return !Array.isArray(list) ?
        [] :
        list.flatMap((entry: JsonValue, index) =>
          isRecord(entry) && typeof entry["use"] === "string" && entry["use"] !== ""
            ? [{ slot, use: entry["use"], path: [slot, index] }]
            : []
        )
    })
    const found = yield* Effect.forEach(entries, (entry) =>
      Effect.match(findPlugin(entry.slot, entry.use, draft.folder), {
        onSuccess: (plugin): ReadonlyArray<SelectedPlugin> => [{ ...entry, plugin, options: undefined }],
        onFailure: (message): ReadonlyArray<SelectedPlugin> => {
          draft.problems.push({ path: [...entry.path, "use"], message })
          return []
        }
      }))
    return found.flat()
  })

const resolve = (draft: Draft, environment: ConfigSource["environment"]) =>
  Effect.gen(function*() {
    const resolved = yield* resolveReferences(draft.value, { environment, folder: draft.folder })
    draft.value = resolved.value
    for (const path of resolved.referencePaths) draft.referencePaths.add(printPath(path))
    draft.problems.push(...resolved.brokenReferences.map((broken) => brokenProblem(draft.source, broken)))
  })

/** Points at the reference inside its string where the text shows it. */
const brokenProblem = (source: Source, { message, path, reference }: BrokenReference): Problem => {
  const whole = spanOf(source, path)
  const inside = source.text.slice(whole.offset, whole.offset + whole.length).indexOf(reference)
  return {
    path,
    message,
    at: inside === -1 ? whole : { offset: whole.offset + inside, length: reference.length }
  }
}

/** A value whose reference is broken stays as written, and its schema's complaint about that would only confuse. */
const isConsequence = (draft: Draft, problem: Problem): boolean =>
  typeof problem.at !== "object" &&
  draft.problems.some((other) => typeof other.at === "object" && printPath(other.path) === printPath(problem.path))

const isReferenced = (draft: Draft, path: KeyPath): boolean =>
  draft.referencePaths.has(printPath(path)) || variableOf(draft, path) !== undefined

/** The variable that set the value at `path` or something around it. */
const variableOf = (draft: Draft, path: KeyPath): string | undefined => {
  for (let length = path.length; length > 0; length--) {
    const variable = draft.variables.get(printPath(path.slice(0, length)))
    if (variable !== undefined) return variable
  }
  return undefined
}

const withVariable = (draft: Draft, problem: Problem): Problem => {
  const variable = problem.variable ?? variableOf(draft, problem.path)
  return variable === undefined ? problem : { ...problem, variable }
}

const stores: Readonly<Record<string, Schema.Codec<any, any>>> = storeOptions

const storeSchema = (value: JsonValue) => stores[String(valueAt(value, ["store", "use"]) ?? defaultStore)]

const defaultStore = "embedded"

/** The store is no plugin: it starts before them and they all stand on it. */
const selectStore = (draft: Draft): SelectedStore | undefined => {
  const use = valueAt(draft.value, ["store", "use"]) ?? defaultStore
  if (typeof use !== "string") return undefined
  const schema = stores[use]
  if (schema === undefined) {
    const known = Object.keys(stores).map((name) => `"${name}"`).join(" or ")
    draft.problems.push({ path: ["store", "use"], message: `no store "${use}": use ${known}` })
    return undefined
  }
  const decoded = decodeAt(schema, valueAt(draft.value, ["store", "options"]) ?? {}, ["store", "options"])
  if (decoded._tag === "Decoded") return { use, options: decoded.value } as SelectedStore
  draft.problems.push(...decoded.problems)
  return undefined
}

const decodeOptions = (draft: Draft, entry: SelectedPlugin): SelectedPlugin => {
  const path = [...entry.path, "options"]
  const given = valueAt(draft.value, path)
  if (entry.plugin.options === undefined) {
    if (given !== undefined && !(isRecord(given) && Object.keys(given).length === 0)) {
      draft.problems.push({ path, message: `"${entry.use}" takes no options: remove them`, at: "key" })
    }
    return entry
  }
  const decoded = decodeAt(entry.plugin.options, given ?? {}, path)
  if (decoded._tag === "Decoded") return { ...entry, options: decoded.value }
  draft.problems.push(...decoded.problems)
  return entry
}

const environmentsOf = (value: JsonValue): ReadonlyArray<Environment> => {
  const list = valueAt(value, ["environments"])
  return Array.isArray(list) ? list.filter(Schema.is(Environment)) : []
}

const literalProblem = (path: KeyPath): Problem => ({
  path,
  message: "a secret written out in a mainnet config: write \"${env:NAME}\" or \"${file:/path}\""
})

const clusterProblems = ({ settings: { cluster, http }, store }: LoadedConfig): ReadonlyArray<Problem> => {
  if (cluster === undefined) return []
  const isServing = cluster.roles.includes("api")
  return [
    ...(store.use === "embedded"
      ? [{
        path: ["cluster"],
        message: "an embedded database serves one instance only: use a PostgreSQL of your own by "
          + "\"store\": { \"use\": \"postgres\" }, or remove \"cluster\""
      }]
      : store.options.maxConnections < minimumClusterConnections
      ? [{
        path: ["store", "options", "maxConnections"],
        message:
          `an instance of a cluster holds one connection for its locks: write ${minimumClusterConnections} or more`
      }]
      : []),
    ...(isServing || http.processes === 1 ? [] : [{
      path: ["http", "processes"],
      message: "this instance has no role \"api\" and serves no public port: remove it, or add the role"
    }])
  ]
}

const processProblems = (config: LoadedConfig): ReadonlyArray<Problem> => {
  const count = countHttpProcesses(config)
  const path = ["http", "processes"]
  const alone = config.plugins.find(({ plugin }) => plugin.needsOneProcess === true)
  if (count > 1 && alone !== undefined) {
    return [{ path, message: `"${alone.use}" keeps its state in one process: write 1, or remove it` }]
  }
  return config.store.use !== "embedded" || count <= maximumOnEmbedded ? [] : [{
    path,
    message:
      `an embedded database serves ${maximumOnEmbedded} HTTP processes at most: write fewer, or use a PostgreSQL `
      + "of your own by \"store\": { \"use\": \"postgres\" }"
  }]
}

/** The operator API has a credential of its own, and leaves a trace of what it does. */
const operatorProblems = (
  { admin, ops, rpc }: SettingsValue,
  plugins: ReadonlyArray<SelectedPlugin>
): ReadonlyArray<Problem> => {
  if (admin === undefined) return []
  const path = ["admin", "token"]
  const isShared = admin.token === ops?.token || admin.token === rpc.token
  const isKept = plugins.some(({ plugin }) => plugin.name === "audit")
  return [
    ...(isShared
      ? [{ path, message: "it is another credential too: make one for operators alone (openssl rand -hex 32)" }]
      : []),
    ...(isKept ? [] : [{
      path,
      message:
        "what operators do must be kept: add { \"use\": \"audit\" } to \"modules\", or remove \"admin\" to close the "
        + "operator API"
    }])
  ]
}

/** A page on the operator's own machine, without TLS, has no place where real money is. */
const localOrigins = ({ http }: SettingsValue): ReadonlyArray<Problem> =>
  http.allowedOrigins.flatMap((origin, index) =>
    isLocalOrigin(origin)
      ? [{
        path: ["http", "allowedOrigins", index],
        message: "a page without TLS, where mainnet is served: write https, or remove it"
      }]
      : []
  )
