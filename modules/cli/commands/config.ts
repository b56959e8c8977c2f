/** `tillwire config`: the config file checked, printed and explained, without a service. */
import { Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { type ConfigText, readConfigText } from "../../../runtime/Config.ts"
import { jsonSchemaText, writeJsonSchema } from "../../../runtime/config/JsonSchema.ts"
import { suggestion } from "../../../runtime/config/Problem.ts"
import type { JsonValue, KeyPath } from "../../../runtime/config/Source.ts"
import { checkConfig } from "../ConfigCheck.ts"
import { environment } from "../Environment.ts"
import { wrongUse } from "../Failure.ts"
import { configFile } from "../Flags.ts"
import { answer, facts, say } from "../Output.ts"

const readText = Effect.gen(function*() {
  const variables = yield* environment
  const file = yield* configFile
  return { file, text: yield* readConfigText({ file, environment: variables }) }
})

const check = Command.make("check", {
  connect: Flag.Boolean("connect").pipe(
    Flag.withDescription("Ask every node as well whether it is on the right network, and a replica whose it is"),
    Flag.withDefault(false)
  )
}, ({ connect }) =>
  Effect.gen(function*() {
    const file = yield* configFile
    yield* checkConfig(file, connect)
    yield* answer({ file, ok: true }, () => `${file} is fine`)
  })).pipe(Command.withDescription("Find everything that a start would refuse, and say what to do"))

const print = Command.make("print", {}, () =>
  Effect.gen(function*() {
    const { file, text } = yield* readText
    yield* say(`${file}, with the variables that override it`)
    yield* Console.log(JSON.stringify(text.value, null, 2))
  })).pipe(
    Command.withDescription("Print the config in force; references stay as they are written, secrets are hidden")
  )

const schema = Command.make("schema", {
  write: Flag.Boolean("write").pipe(
    Flag.withDescription("Write config/schema.json of this checkout, which configs name in $schema"),
    Flag.withDefault(false)
  )
}, ({ write }) => write ? writeJsonSchema : Effect.flatMap(jsonSchemaText, (text) => Console.log(text.trimEnd()))).pipe(
  Command.withDescription("Print the JSON schema of config files, for editors")
)

/** `chains[0].options.rpc` or `chains.0.options.rpc` as keys. Pure. */
export const keyPathOf = (text: string): KeyPath =>
  text.replaceAll(/\[(\d+)\]/g, ".$1").split(".").filter((key) => key !== "")
    .map((key) => /^\d{1,4}$/.test(key) ? Number(key) : key)

const at = (value: JsonValue | undefined, path: KeyPath): JsonValue | undefined =>
  path.reduce<JsonValue | undefined>(
    (here, key) =>
      typeof here === "object" && here !== null ? (here as Readonly<Record<string, JsonValue>>)[key] : undefined,
    value
  )

/** Where the value at a path comes from, in words. Pure. */
export const originOf = (text: ConfigText, file: string, path: KeyPath): string => {
  const variable = text.variableOf(path)
  const line = text.lineOf(path)
  if (variable !== undefined) return `the environment variable ${variable}`
  return line === undefined ? "the default" : `${file}, line ${line}`
}

const keysOf = (value: JsonValue | undefined): ReadonlyArray<string> =>
  typeof value === "object" && value !== null ? Object.keys(value) : []

const explain = Command.make("explain", {
  path: Argument.String("path").pipe(Argument.withDescription("Such as http.port or chains[0].options.rpc"))
}, ({ path }) =>
  Effect.gen(function*() {
    const { file, text } = yield* readText
    const keys = keyPathOf(path)
    const written = at(text.value, keys)
    const value = written ?? text.defaultOf(keys)
    if (value === undefined) {
      const above = keys.slice(0, -1)
      const known = [...new Set([...keysOf(at(text.value, above)), ...keysOf(text.defaultOf(above))])]
      return yield* wrongUse(
        `nothing is set at ${path}, and it has no default`,
        known.length === 0 ? undefined : suggestion(String(keys.at(-1)), known)
      )
    }
    const from = originOf(text, file, keys)
    yield* answer({ path, value, from }, (paint) =>
      facts([["path", path], ["value", JSON.stringify(value)], ["from", from]], paint))
  })).pipe(Command.withDescription("Say what a setting is, and which file or variable set it"))

export const command = Command.make("config").pipe(
  Command.withSubcommands([check, print, schema, explain]),
  Command.withExamples([
    { command: "tillwire config check -c config/mainnet.jsonc --connect", description: "Before a start" },
    { command: "tillwire config explain http.port", description: "Where a value comes from" }
  ])
)
