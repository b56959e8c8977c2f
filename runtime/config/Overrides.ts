/**
 * Environment variables named after a key's path: `TILLWIRE__HTTP__PORT=8080`, and one with a name of its own. They win
 * over the file. Key names match whatever their case and underscores: `TILLWIRE__HTTP__PUBLIC_URL` and `…__PUBLICURL`
 * are `http.publicUrl`.
 */
import { Option, SchemaAST } from "effect"
import { isRecord, keysOf } from "./Decode.ts"
import { type Problem, suggestion } from "./Problem.ts"
import type { JsonValue, KeyPath } from "./Source.ts"

/** What every override's name starts with. */
export const overridePrefix = "TILLWIRE__"

export interface Override {
  /** The variable's whole name. */
  readonly variable: string
  /** The rest of its name, split: `["HTTP", "PORT"]`. */
  readonly segments: ReadonlyArray<string>
  readonly text: string
}

/** Variables with a name of their own, and the key they stand for; `TILLWIRE__…` of the same key wins over them. */
const variableAliases: Readonly<Record<string, ReadonlyArray<string>>> = {
  WEBHOOK_PROXY_URL: ["WEBHOOKS", "PROXY_URL"]
}

/** The overrides in an environment, by name; of two for one key the last wins. */
export const overridesIn = (environment: Readonly<Record<string, string | undefined>>): ReadonlyArray<Override> => [
  ...Object.entries(variableAliases).flatMap(([variable, segments]) => {
    const text = environment[variable]
    return text === undefined || text === "" ? [] : [{ variable, segments, text }]
  }),
  ...Object.entries(environment)
    .filter(([name, text]) => name.startsWith(overridePrefix) && text !== undefined)
    .toSorted(([a], [b]) => a < b ? -1 : 1)
    .map(([variable, text]) => ({
      variable,
      segments: variable.slice(overridePrefix.length).split("__"),
      text: text ?? ""
    }))
]

/** An override whose key was found, or what is wrong with it. `Deferred` points into options no schema is known for. */
export type Placement =
  | { readonly _tag: "Placed"; readonly path: KeyPath; readonly value: JsonValue }
  | { readonly _tag: "Deferred"; readonly path: KeyPath; readonly segments: ReadonlyArray<string> }
  | { readonly _tag: "Misplaced"; readonly problem: Problem }

const normal = (name: string) => name.replaceAll("_", "").toLowerCase()

/** Finds the key an override names, walking the schema (its encoded side) and the value side by side. */
export const place = (
  ast: SchemaAST.AST,
  value: JsonValue | undefined,
  override: Override,
  base: KeyPath
): Placement => {
  let at = ast
  let current = value
  const path: Array<string | number> = [...base]
  for (const [depth, segment] of override.segments.entries()) {
    const step = stepInto(at, current, segment)
    if (step === "open") return { _tag: "Deferred", path, segments: override.segments.slice(depth) }
    if (typeof step === "string") return misplacement(override, path, step)
    path.push(step.key)
    at = step.ast
    current = isRecord(current) ? current[step.key] : Array.isArray(current) ? current[Number(step.key)] : undefined
  }
  return readValue(at, override, path)
}

const misplacement = ({ variable }: Override, path: KeyPath, message: string): Placement => ({
  _tag: "Misplaced",
  problem: { path, message, variable }
})

/** One step down; a sentence where there is no such key; `open` where any key is allowed. */
const stepInto = (
  ast: SchemaAST.AST,
  value: JsonValue | undefined,
  segment: string
): { readonly key: string | number; readonly ast: SchemaAST.AST } | string => {
  if (SchemaAST.isUnion(ast)) {
    const steps = ast.types.map((member) => stepInto(member, value, segment))
    return steps.find((step) => typeof step !== "string") ?? steps[0] ?? `no key "${segment}" here`
  }
  if (SchemaAST.isObjects(ast)) {
    const known = ast.propertySignatures.find((property) => normal(String(property.name)) === normal(segment))
    if (known !== undefined) return { key: String(known.name), ast: known.type }
    if (ast.indexSignatures.length > 0) return "open"
    return `unknown key "${segment.toLowerCase()}". ${suggestion(segment, keysOf(ast))}`
  }
  if (SchemaAST.isArrays(ast)) {
    const index = /^\d{1,4}$/.test(segment) ? Number(segment) : undefined
    const length = Array.isArray(value) ? value.length : 0
    if (index === undefined || index > length) return `"${segment}" is not an index of this list of ${length}`
    const element = ast.elements[index] ?? ast.rest[0]
    return element === undefined ? `this list has no place ${index}` : { key: index, ast: element }
  }
  return `there is nothing below this key, "${segment.toLowerCase()}" included`
}

/** A string where the schema takes strings, else JSON. */
const readValue = (ast: SchemaAST.AST, override: Override, path: KeyPath): Placement => {
  if (takesText(ast, override.text)) return { _tag: "Placed", path, value: override.text }
  const parsed = parseJson(override.text)
  if (parsed === undefined && takesString(ast)) return { _tag: "Placed", path, value: override.text }
  return parsed === undefined
    ? misplacement(override, path, "expected JSON, such as 8080, true or [\"devnet\"]")
    : { _tag: "Placed", path, value: parsed }
}

/** Whether `text` itself is a value: of any string, or of a literal that it is. */
const takesText = (ast: SchemaAST.AST, text: string): boolean =>
  SchemaAST.isUnion(ast)
    ? ast.types.some((member) => takesText(member, text))
    : SchemaAST.isLiteral(ast)
    ? ast.literal === text
    : takesString(ast)

const takesString = (ast: SchemaAST.AST): boolean =>
  SchemaAST.isUnion(ast)
    ? ast.types.some(takesString)
    : SchemaAST.isString(ast) || SchemaAST.isTemplateLiteral(ast) ||
      (SchemaAST.isLiteral(ast) && typeof ast.literal === "string")

const parseJson = (text: string): JsonValue | undefined =>
  Option.getOrUndefined(Option.liftThrowable((json: string) => JSON.parse(json) as JsonValue)(text))

/** For a key no schema tells of: JSON if it is JSON, else the text; the name in camelCase, or as the file spells it. */
export const placeWithoutSchema = (value: JsonValue | undefined, override: Override, path: KeyPath): Placement => {
  let current = value
  const keyPath: Array<string | number> = [...path]
  for (const segment of override.segments) {
    const keys = isRecord(current) ? Object.keys(current) : []
    const key = Array.isArray(current) && /^\d{1,4}$/.test(segment)
      ? Number(segment)
      : keys.find((known) => normal(known) === normal(segment)) ?? camelCase(segment)
    current = isRecord(current) ? current[key] : Array.isArray(current) ? current[Number(key)] : undefined
    keyPath.push(key)
  }
  return { _tag: "Placed", path: keyPath, value: parseJson(override.text) ?? override.text }
}

const camelCase = (name: string) =>
  name.toLowerCase().replace(/_+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())

/** `value` with `item` put at `path`; objects on the way are made. */
export const putAt = (value: JsonValue | undefined, path: KeyPath, item: JsonValue): JsonValue => {
  const [key, ...rest] = path
  if (key === undefined) return item
  if (typeof key === "number") {
    const list = Array.isArray(value) ? value : []
    return [...list.slice(0, key), putAt(list[key], rest, item), ...list.slice(key + 1)]
  }
  const record = isRecord(value) ? value : {}
  return { ...record, [key]: putAt(record[key], rest, item) }
}
