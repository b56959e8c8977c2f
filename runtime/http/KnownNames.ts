/**
 * Names in a request that its route does not know. What a route knows is read from the schemas that the reference is
 * made of, so nothing is listed by hand. Pure.
 */
import { type JsonSchema, Schema } from "effect"
import { aliasesOf } from "../../schemas/Alias.ts"
import { misspelledWord } from "../Spelling.ts"

/** The names that may stand in a value, and what may stand in theirs. */
export interface Shape {
  readonly fields: ReadonlyMap<string, Shape>
  /** What the entries of an array may hold; undefined: nothing is known of them. */
  readonly items: Shape | undefined
  /** Any name is good here: `metadata`. */
  readonly isOpen: boolean
}

const anything: Shape = { fields: new Map(), items: undefined, isOpen: true }
/** A value without names: a text, a number. */
export const leaf: Shape = { fields: new Map(), items: undefined, isOpen: false }

const listOf = (value: unknown): ReadonlyArray<JsonSchema.JsonSchema> =>
  Array.isArray(value) ? value as ReadonlyArray<JsonSchema.JsonSchema> : []

const joined = (shapes: ReadonlyArray<Shape>, isOpen: boolean): Shape => {
  const named = Map.groupBy(shapes.flatMap(({ fields }) => [...fields]), ([name]) => name)
  const items = shapes.flatMap(({ items }) => items === undefined ? [] : [items])
  return {
    fields: new Map([...named].map(([name, found]) => [name, anyOf(found.map(([, shape]) => shape))])),
    items: items.length === 0 ? undefined : anyOf(items),
    isOpen
  }
}

/** One of several: what any of them knows. */
const anyOf = (shapes: ReadonlyArray<Shape>): Shape =>
  shapes.length === 1 ? shapes[0]! : joined(shapes, shapes.some(({ isOpen }) => isOpen))

/** All of several: open only where none of them names anything. */
const allOf = (shapes: ReadonlyArray<Shape>): Shape =>
  shapes.length === 1 ? shapes[0]! : joined(shapes, shapes.every(({ isOpen }) => isOpen))

type Definitions = Readonly<Record<string, JsonSchema.JsonSchema>>

const ownShape = (schema: JsonSchema.JsonSchema, definitions: Definitions, within: ReadonlySet<string>): Shape => {
  const { $ref, items, properties, type } = schema
  if (typeof $ref === "string") {
    const name = $ref.slice($ref.lastIndexOf("/") + 1)
    const found = definitions[name]
    // A schema that holds itself: what is further down is not looked at.
    if (found === undefined || within.has(name)) return anything
    return shapeOf(found, definitions, new Set([...within, name]))
  }
  if (properties !== undefined) {
    const fields = Object.entries(properties as Definitions)
    return {
      fields: new Map(fields.map(([name, field]) => [name, shapeOf(field, definitions, within)])),
      items: undefined,
      isOpen: false
    }
  }
  if (items !== undefined) {
    return { ...leaf, items: shapeOf(items as JsonSchema.JsonSchema, definitions, within) }
  }
  return type === undefined || type === "object" ? anything : leaf
}

const shapeOf = (schema: JsonSchema.JsonSchema, definitions: Definitions, within: ReadonlySet<string>): Shape => {
  const { allOf: parts, anyOf: choices, oneOf, ...own } = schema
  const below = (each: JsonSchema.JsonSchema) => shapeOf(each, definitions, within)
  const alternatives = [...listOf(choices), ...listOf(oneOf)].map(below)
  const others = [...listOf(parts).map(below), ...alternatives.length === 0 ? [] : [anyOf(alternatives)]]
  const isJustAChoice = others.length > 0 && own["type"] === undefined && own["$ref"] === undefined
    && own["properties"] === undefined
  return allOf([...isJustAChoice ? [] : [ownShape(own, definitions, within)], ...others])
}

/** Every alias beside the name it stands for, in all objects. */
const withAliases = (shape: Shape, aliases: Readonly<Record<string, string>>): Shape => {
  const own = [...shape.fields].map(([name, field]) => [name, withAliases(field, aliases)] as const)
  const fields = new Map(own)
  for (const [alias, name] of Object.entries(aliases)) {
    const field = fields.get(name)
    if (field !== undefined) fields.set(alias, field)
  }
  return { ...shape, fields, items: shape.items === undefined ? undefined : withAliases(shape.items, aliases) }
}

/** What the schemas of a request's body, one of which it follows, have names for. */
export const shapeOfSchemas = (schemas: ReadonlyArray<Schema.Top>): Shape =>
  schemas.length === 0 ? leaf : anyOf(schemas.map((each) => {
    const { definitions, schema } = Schema.toJsonSchemaDocument(each)
    const shape = shapeOf(schema, definitions, new Set())
    const aliases = aliasesOf(each)
    return aliases === undefined ? shape : withAliases(shape, aliases)
  }))

/** A name that a route does not know, where it stood, and what would have been good there. */
export interface UnknownName {
  /** `address.strete` for a field inside of another. */
  readonly name: string
  /** The name that it is plausibly a misspelling of. */
  readonly nearest: string | undefined
  /** All names that are good there, where there is no nearest one and they make a short list; empty otherwise. */
  readonly known: ReadonlyArray<string>
}

/** Unknown names that an answer speaks of; of others it says that there are more. */
export const maximumUnknown = 5

/** Characters of a list of known names, at most: a longer one is read in the reference, not in a header. */
const maximumListLength = 240

/** Characters of an unknown name that an answer repeats. */
const maximumNameLength = 64

const unknownName = (within: string, name: string, known: ReadonlyArray<string>): UnknownName => {
  const nearest = misspelledWord(name.slice(0, maximumNameLength), known)
  const names = nearest === undefined ? known.map((one) => `${within}${one}`) : []
  return {
    name: `${within}${name}`.slice(0, maximumNameLength),
    nearest: nearest === undefined ? undefined : `${within}${nearest}`,
    known: names.join(", ").length > maximumListLength ? [] : names
  }
}

/** The query parameters that are not `known`, at most {@link maximumUnknown} and one more. */
export const unknownParameters = (
  query: Readonly<Record<string, unknown>>,
  known: ReadonlySet<string>
): ReadonlyArray<UnknownName> => {
  let found: Array<UnknownName> | undefined
  for (const name in query) {
    if (known.has(name)) continue
    found ??= []
    if (found.push(unknownName("", name, [...known])) > maximumUnknown) break
  }
  return found ?? none
}

const none: ReadonlyArray<UnknownName> = []

/** The fields of a body that `shape` has no names for, each once, at most {@link maximumUnknown} and one more. */
export const unknownFields = (body: unknown, shape: Shape): ReadonlyArray<UnknownName> => {
  let found: Map<string, UnknownName> | undefined
  const look = (value: object, { fields, isOpen, items }: Shape, within: string): void => {
    if (Array.isArray(value)) {
      if (items === undefined) return
      for (const each of value) if (typeof each === "object" && each !== null) look(each, items, within)
      return
    }
    if (isOpen && fields.size === 0) return
    for (const name of Object.keys(value)) {
      const field = fields.get(name)
      if (field !== undefined) {
        const inner = (value as Readonly<Record<string, unknown>>)[name]
        if (typeof inner === "object" && inner !== null) look(inner, field, `${within}${name}.`)
      } else if (!isOpen && (found === undefined || (found.size <= maximumUnknown && !found.has(`${within}${name}`)))) {
        found ??= new Map()
        found.set(`${within}${name}`, unknownName(within, name, [...fields.keys()]))
      }
    }
  }
  if (typeof body === "object" && body !== null) look(body, shape, "")
  return found === undefined ? none : [...found.values()]
}

/** A name as it may stand in a header: visible ASCII, in quotes; everything else as JSON escapes it. */
const quoted = (name: string): string =>
  JSON.stringify(name).replaceAll(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)

/** What there is to say of some unknown names; what would have been good is said once for each place. */
const sentencesOf = (kind: string, unknown: ReadonlyArray<UnknownName>): ReadonlyArray<string> =>
  unknown.slice(0, maximumUnknown).map(({ known, name, nearest }, index) => {
    const names = known.join(", ")
    const isSaidLater = unknown.slice(index + 1, maximumUnknown).some((other) => other.known.join(", ") === names)
    return `unknown ${kind} ${quoted(name)}`
      + (nearest === undefined ? "" : `, nearest is ${quoted(nearest)}`)
      + (names === "" || isSaidLater ? "" : `; known are ${names}`)
  })

/**
 * What the header `X-Service-Warning` says: visible ASCII, at most {@link maximumUnknown} names of some 64 characters,
 * each with the name that was meant or, where none is near, with all that are good there if they make a short list.
 *
 * @example
 * warningOf([{ name: "statsu", nearest: "status", known: [] }], [])
 * // => unknown query parameter "statsu", nearest is "status"
 * warningOf([{ name: "tx_hash", nearest: undefined, known: ["status", "limit"] }], [])
 * // => unknown query parameter "tx_hash"; known are status, limit
 */
export const warningOf = (parameters: ReadonlyArray<UnknownName>, fields: ReadonlyArray<UnknownName>): string => {
  const all = [...sentencesOf("query parameter", parameters), ...sentencesOf("body field", fields)]
  const shown = all.slice(0, maximumUnknown)
  return [...shown, ...parameters.length + fields.length > shown.length ? ["and more"] : []].join("; ")
}
