/** The JSON schema of a config file, for completion in editors: the settings and every built-in plugin's options. */
import { Effect, FileSystem, JsonSchema, Path, Schema } from "effect"
import { type Slot, slots } from "../Plugin.ts"
import { SettingsSchema } from "../Settings.ts"
import { storeOptions } from "../Store.ts"
import { type AnyPlugin, builtIns, findPlugin } from "./Plugins.ts"
import { unreadable } from "./Problem.ts"

/** Where the schema is kept: beside the configs that name it in `$schema`. */
export const schemaFile: string = decodeURIComponent(new URL("../../config/schema.json", import.meta.url).pathname)

type Json = { readonly [key: string]: unknown }

/** An entry of a list: a built-in plugin with its options, or anything else by package or path. */
const entriesOf = (plugins: ReadonlyArray<readonly [string, Json | undefined]>): Json => ({
  type: "object",
  required: ["use"],
  properties: {
    use: {
      description: "A built-in plugin, an npm package, or the path of a file that exports `plugin`.",
      anyOf: [...plugins.length === 0 ? [] : [{ enum: plugins.map(([use]) => use) }], { type: "string", minLength: 1 }]
    },
    options: { type: "object" }
  },
  additionalProperties: false,
  allOf: plugins.map(([use, options]) => ({
    if: { properties: { use: { const: use } }, required: ["use"] },
    then: { properties: { options: options ?? { type: "object", maxProperties: 0 } } }
  }))
})

/** A value may be given by reference wherever it is a string; the reference is not what the schema's pattern wants. */
const optionsOf = (schema: Schema.Constraint): Json => withReferences(documentOf(schema))

const documentOf = (schema: Schema.Constraint): Json => {
  const { definitions, schema: root } = Schema.toJsonSchemaDocument(Schema.toEncoded(schema as Schema.Top))
  return inline(root, definitions) as Json
}

/** Definitions written where they are used: a file that is merged from many documents has no common place for them. */
const inline = (node: unknown, definitions: JsonSchema.Definitions): unknown => {
  if (Array.isArray(node)) return node.map((item) => inline(item, definitions))
  if (typeof node !== "object" || node === null) return node
  const reference = (node as Json)["$ref"]
  const name = typeof reference === "string" ? /^#\/(?:\$defs|definitions)\/(.+)$/.exec(reference)?.[1] : undefined
  const target = name === undefined ? undefined : definitions[name]
  if (target !== undefined) return inline(target, definitions)
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, inline(value, definitions)]))
}

const withReferences = (node: unknown): Json => relax(node) as Json

const relax = (node: unknown): unknown => {
  if (Array.isArray(node)) return node.map(relax)
  if (typeof node !== "object" || node === null) return node
  const schema = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, relax(value)]))
  if (schema["type"] === "object" && schema["properties"] !== undefined) schema["additionalProperties"] = false
  const isConstrained = schema["type"] === "string" &&
    Object.keys(schema).some((key) => key !== "type" && key !== "description")
  return isConstrained ? { anyOf: [schema, { type: "string", pattern: "\\$\\{(env|file):[^}]+\\}" }] } : schema
}

const pluginsOf = (slot: Slot) =>
  Effect.gen(function*() {
    const names = yield* builtIns(slot)
    return yield* Effect.forEach(names, (use) =>
      findPlugin(slot, use, ".").pipe(
        Effect.mapError((reason) => unreadable(`${slot}/${use}: ${reason}`)),
        Effect.map((plugin: AnyPlugin): readonly [string, Json | undefined] => [
          use,
          plugin.options === undefined ? undefined : optionsOf(plugin.options)
        ])
      ))
  })

/** The whole schema as text, ending in a newline. */
export const jsonSchemaText = Effect.gen(function*() {
  const settings = optionsOf(SettingsSchema)
  const lists = yield* Effect.forEach(
    slots,
    (slot) => Effect.map(pluginsOf(slot), (plugins) => [slot, { type: "array", items: entriesOf(plugins) }] as const)
  )
  const stores = Object.entries(storeOptions).map(([use, schema]): readonly [string, Json] => [use, optionsOf(schema)])
  const document = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Tillwire config",
    ...settings,
    properties: {
      ...settings["properties"] as Json,
      store: entriesOf(stores),
      ...Object.fromEntries(lists)
    }
  }
  return `${JSON.stringify(document, null, 2)}\n`
})

/** Writes {@link schemaFile}. */
export const writeJsonSchema = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const text = yield* jsonSchemaText
  yield* fs.makeDirectory(path.dirname(schemaFile), { recursive: true })
  yield* fs.writeFileString(schemaFile, text)
  yield* Effect.logInfo(`wrote ${path.relative(".", schemaFile)}`)
})
