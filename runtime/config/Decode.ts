/** Decodes a part of the config by its schema, and says each thing that is wrong in the operator's words. */
import { Exit, Schema, SchemaAST, SchemaIssue } from "effect"
import { type Problem, suggestion } from "./Problem.ts"
import type { JsonValue, KeyPath } from "./Source.ts"

export type DecodeResult<A> =
  | { readonly _tag: "Decoded"; readonly value: A }
  | { readonly _tag: "Refused"; readonly problems: ReadonlyArray<Problem> }

/** Unknown keys are errors; every problem is reported, not the first one only. Values are never repeated back. */
const strict = { errors: "all", onExcessProperty: "error", reportInput: false } as const

/** Decodes `value`, which stands at `path` in the config. */
export const decodeAt = <A, I>(schema: Schema.Codec<A, I>, value: JsonValue, path: KeyPath): DecodeResult<A> => {
  const exit = Schema.decodeUnknownExit(schema)(value, strict)
  if (Exit.isSuccess(exit)) return { _tag: "Decoded", value: exit.value }
  const problems = exit.cause.reasons.flatMap((reason): ReadonlyArray<Problem> =>
    reason._tag === "Fail"
      ? explain(reason.error.issue, path)
      : [{ path, message: "its schema needs what is not there before the start" }]
  )
  return { _tag: "Refused", problems }
}

/** The problems of an issue, depth first. */
const explain = (issue: SchemaIssue.Issue, path: KeyPath): ReadonlyArray<Problem> => {
  switch (issue._tag) {
    case "Pointer":
      return explain(issue.issue, [...path, ...issue.path.map((key) => typeof key === "symbol" ? String(key) : key)])
    case "Composite":
      return issue.issues.flatMap((part) => explain(part, path))
    case "AnyOf":
      return issue.issues.length > 0
        ? issue.issues.flatMap((part) => explain(part, path))
        : [{ path, message: messageOf(issue) }]
    case "Encoding":
      return explain(issue.issue, path)
    case "UnexpectedKey":
      return [{ path, message: unknownKey(String(path.at(-1)), issue.ast), at: "key" }]
    case "MissingKey":
      return [{ path: path.slice(0, -1), message: `"${String(path.at(-1))}" is missing` }]
    default:
      return [{ path, message: messageOf(issue) }]
  }
}

const unknownKey = (key: string, parent: SchemaAST.AST) => `unknown key "${key}". ${suggestion(key, keysOf(parent))}`

/** The keys a struct knows; empty for anything else. */
export const keysOf = (ast: SchemaAST.AST): ReadonlyArray<string> =>
  SchemaAST.isObjects(ast) ? ast.propertySignatures.map((property) => String(property.name)) : []

const formatter = SchemaIssue.makeFormatterStandardSchemaV1()

/** The formatter's own sentence, as the end of one. */
const messageOf = (issue: SchemaIssue.Issue): string => {
  const message = formatter(issue).issues[0]?.message ?? "not valid"
  return message.charAt(0).toLowerCase() + message.slice(1)
}

/** Whether a schema keeps part of its value out of logs: then a literal in a mainnet config is refused. */
export const redactedPaths = (ast: SchemaAST.AST, value: JsonValue, path: KeyPath): ReadonlyArray<KeyPath> => {
  if (SchemaAST.isDeclaration(ast) && isRedacted(ast)) return [path]
  if (SchemaAST.isUnion(ast)) return ast.types.flatMap((member) => redactedPaths(member, value, path))
  if (SchemaAST.isArrays(ast) && Array.isArray(value)) {
    return value.flatMap((item, index) => {
      const element = ast.elements[index] ?? ast.rest[0]
      return element === undefined ? [] : redactedPaths(element, item, [...path, index])
    })
  }
  if (SchemaAST.isObjects(ast) && isRecord(value)) {
    return Object.entries(value).flatMap(([key, item]) => {
      const known = ast.propertySignatures.find((property) => property.name === key)?.type ??
        ast.indexSignatures[0]?.type
      return known === undefined ? [] : redactedPaths(known, item, [...path, key])
    })
  }
  return []
}

const isRedacted = (ast: SchemaAST.Declaration): boolean => {
  const representation = ast.annotations?.["representation"]
  return typeof representation === "object" && representation !== null &&
    (representation as { readonly id?: unknown }).id === "effect/schema/Redacted"
}

export const isRecord = (value: unknown): value is { readonly [key: string]: JsonValue } =>
  typeof value === "object" && value !== null && !Array.isArray(value)
