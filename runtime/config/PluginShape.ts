/**
 * Whether what a file from outside exports is a plugin that this service can run. The compiler says the same to an
 * author who asks it; a plugin may also be JavaScript, or of another year. Pure.
 */
import { Effect, Predicate, Schema } from "effect"
import { HttpApi } from "effect/http-api"
import { pluginApiVersion, slots } from "../Plugin.ts"
import { Environment } from "../../schemas/Network.ts"

/** Characters of a plugin's name, at most: its tables and the record of its migrations begin with it. */
export const maximumNameLength = 40

const namePattern = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/

/** What the names of a plugin's tables begin with: `acme-points` has `acme_points_…`. */
export const tablePrefixOf = (name: string): string => `${name.replaceAll("-", "_")}_`

const shown = (value: unknown): string => {
  const text = typeof value === "function" ? "a function" : JSON.stringify(value) ?? String(value)
  return text.length <= 60 ? text : `${text.slice(0, 60)}…`
}

type Fields = Readonly<Record<string, unknown>>

/** What is wrong with a field that is there. */
const objections: Readonly<Record<string, (value: unknown, plugin: Fields) => string | undefined>> = {
  slot: (value) =>
    (slots as ReadonlyArray<unknown>).includes(value)
      ? undefined
      : `must be one of ${slots.map((slot) => `"${slot}"`).join(", ")}, not ${shown(value)}`,
  layer: (value) => typeof value === "function" ? undefined : "must be a function of the options that answers a Layer",
  options: (value) =>
    value === undefined || Schema.isSchema(value)
      ? undefined
      : "must be a Schema of \"effect\", which reads the options",
  needs: (value) =>
    value === undefined || isRecord(value) ? undefined : "must be an object: names of plugins and services",
  http: (value) =>
    value === undefined || HttpApi.isHttpApi(value) ? undefined : "must be an HttpApi of \"effect/http-api\"",
  migrations: (value) => value === undefined ? undefined : objectionToMigrations(value),
  tables: (value, { name }) => value === undefined ? undefined : objectionToTables(value, String(name)),
  environments: (value) =>
    value === undefined || Array.isArray(value) && value.length > 0 && value.every(Schema.is(Environment))
      ? undefined
      : `must be a list of "devnet" and "mainnet", not ${shown(value)}`
}

const isRecord = (value: unknown): value is Fields => Predicate.isObject(value) && !Array.isArray(value)

const objectionToMigrations = (value: unknown): string | undefined => {
  if (!isRecord(value)) return "must be an object of steps: { \"0001_initial\": Effect }"
  const wrong = Object.keys(value).find((step) => !Effect.isEffect(value[step]))
  return wrong === undefined ? undefined : `has a step "${wrong}" that is no Effect`
}

const objectionToTables = (value: unknown, name: string): string | undefined => {
  if (!Array.isArray(value)) return `must be a list of names, not ${shown(value)}`
  const prefix = tablePrefixOf(name)
  const foreign = value.find((table) => typeof table !== "string" || !table.startsWith(prefix))
  return foreign === undefined
    ? undefined
    : `names ${shown(foreign)}, and tables of this plugin begin with "${prefix}": those of others are not its to write`
}

/** Why the plugin is refused, as the end of a sentence; undefined: it is one. */
export const objectionTo = (module: unknown, reservedNames: ReadonlySet<string>): string | undefined => {
  const plugin = Predicate.hasProperty(module, "plugin") ? module.plugin : undefined
  if (!isRecord(plugin)) {
    const other = Predicate.hasProperty(module, "default") ? ", only a default export" : ""
    return `exports no \`plugin\`${other}: write \`export const plugin = make({ … })\` with \`make\` of "tillwire/plugin"`
  }
  const { api, name } = plugin
  if (typeof name !== "string" || !namePattern.test(name) || name.length > maximumNameLength) {
    return `has the name ${shown(name)}: write at most ${maximumNameLength} lower-case letters and digits, with a dash `
      + "between words, such as \"acme-points\""
  }
  if (api !== pluginApiVersion) {
    return api === undefined
      ? `does not say for which plugin API "${name}" is made: write \`api: ${pluginApiVersion}\` in its \`make\``
      : `cannot run here: "${name}" is made for plugin API ${shown(api)}, and this service has ${pluginApiVersion}. `
        + "Install the version of the plugin, or of the service, that goes with the other"
  }
  if (reservedNames.has(tablePrefixOf(name))) {
    return `has the name "${name}", which a part of the service has: rename the plugin`
  }
  for (const [field, objection] of Object.entries(objections)) {
    const found = objection(plugin[field], plugin)
    if (found !== undefined) return `has a \`${field}\` that cannot be used: it ${found}`
  }
  return undefined
}
