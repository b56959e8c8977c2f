/** Examples for the OpenAPI document, made of the examples that the schemas carry. */
import type { JsonSchema } from "effect"

type Schemas = Readonly<Record<string, JsonSchema.JsonSchema>>

const list = (value: unknown): ReadonlyArray<JsonSchema.JsonSchema> =>
  Array.isArray(value) ? value as ReadonlyArray<JsonSchema.JsonSchema> : []

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** How deep references are followed: a schema that holds itself ends here. */
const maximumDepth = 24

const ofObject = (schema: JsonSchema.JsonSchema, schemas: Schemas, depth: number): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries((schema["properties"] ?? {}) as Schemas)
      .map(([name, property]) => [name, make(property, schemas, depth)])
  )

const ofUnion = (options: ReadonlyArray<JsonSchema.JsonSchema>, schemas: Schemas, depth: number): unknown =>
  make(options.find(({ type }) => type !== "null") ?? options[0] ?? {}, schemas, depth)

const ofScalar = (schema: JsonSchema.JsonSchema): unknown => {
  switch (schema["type"]) {
    case "string":
      return "string"
    case "boolean":
      return true
    case "integer":
    case "number":
      return typeof schema["exclusiveMinimum"] === "number" ? schema["exclusiveMinimum"] + 1 : schema["minimum"] ?? 0
    default:
      return null
  }
}

const make = (schema: JsonSchema.JsonSchema, schemas: Schemas, depth: number): unknown => {
  const [example] = list(schema["examples"])
  if (example !== undefined) return example
  if (depth === 0) return null
  const below = depth - 1
  if (typeof schema["$ref"] === "string") {
    return make(schemas[schema["$ref"].replace("#/components/schemas/", "")] ?? {}, schemas, below)
  }
  if ("const" in schema) return schema["const"]
  const [first] = list(schema["enum"])
  if (first !== undefined) return first
  const options = [...list(schema["anyOf"]), ...list(schema["oneOf"])]
  if (options.length > 0) return ofUnion(options, schemas, below)
  const parts = list(schema["allOf"]).map((part) => make(part, schemas, below)).filter(isObject)
  if (schema["type"] === "object" || parts.length > 0) return Object.assign(ofObject(schema, schemas, below), ...parts)
  if (schema["type"] === "array") {
    const fixed = list(schema["prefixItems"])
    if (fixed.length > 0) return fixed.map((item) => make(item, schemas, below))
    return isObject(schema["items"]) ? [make(schema["items"], schemas, below)] : []
  }
  return ofScalar(schema)
}

/** A value of `schema`: its own first example, else one made from its parts, so that every operation shows one. */
export const exampleOf = (schema: JsonSchema.JsonSchema, schemas: Schemas): unknown =>
  make(schema, schemas, maximumDepth)
