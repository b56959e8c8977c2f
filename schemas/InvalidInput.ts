/**
 * What a schema refused of a request, as a sentence that names the field and what may be sent in its place. The words
 * are made of the schema's own annotations, so that no route writes them again. Pure.
 */
import { type JsonSchema, Schema, SchemaAST, type SchemaIssue } from "effect"
import { type ErrorCode, type PublicError, publicError } from "./Errors.ts"

type Definitions = Readonly<Record<string, JsonSchema.JsonSchema>>

/**
 * Literals, fields or alternatives named in one sentence, at most: the longest list of the API, its networks, has 10.
 */
const maximumNames = 24

const figure = (value: number): string => value.toLocaleString("en-US", { maximumFractionDigits: 20 })

/** `a`, `a or b`, `one of a, b, c`. */
const oneOf = (names: ReadonlyArray<string>): string =>
  names.length > 2 ? `one of ${names.slice(0, maximumNames).join(", ")}` : names.join(" or ")

/** `a or b`; `a, b, or c` where commas are inside of one. */
const joinChoices = (choices: ReadonlyArray<string>): string =>
  choices.join(choices.some((one) => /,| of | with /.test(one)) ? ", or " : " or ")

/** Bounds that every integer of JSON has say nothing of a field. */
const bound = (value: unknown): number | undefined =>
  typeof value === "number" && Math.abs(value) < Number.MAX_SAFE_INTEGER ? value : undefined

/** ` from 1 to 9`, ` of 1 or more`, ` of at most 9`, or nothing. */
const range = (minimum: number | undefined, maximum: number | undefined): string => {
  if (minimum !== undefined && maximum !== undefined) return ` from ${figure(minimum)} to ${figure(maximum)}`
  if (minimum !== undefined) return ` of ${figure(minimum)} or more`
  return maximum === undefined ? "" : ` of at most ${figure(maximum)}`
}

/** ` of 1 to 9 characters`, or nothing where there is no upper limit that matters. */
const size = (minimum: unknown, maximum: unknown, unit: string): string => {
  const least = bound(minimum) ?? 0
  const most = bound(maximum)
  if (most === undefined) return least === 0 ? "" : ` of at least ${figure(least)} ${unit}`
  return least === 0 ? ` of at most ${figure(most)} ${unit}` : ` of ${figure(least)} to ${figure(most)} ${unit}`
}

const textOf = (value: unknown): string => typeof value === "string" ? value : JSON.stringify(value)

const formats: Readonly<Record<string, string>> = { uri: "a URL", email: "an e-mail address" }

/** A schema with its reference followed and the parts of its `allOf` among its own words. */
const resolveReferences = (schema: JsonSchema.JsonSchema, definitions: Definitions): JsonSchema.JsonSchema => {
  const { $ref, allOf, ...own } = schema
  const target = typeof $ref === "string" ? definitions[$ref.slice($ref.lastIndexOf("/") + 1)] : undefined
  const parts = [...target === undefined ? [] : [target], ...(allOf as Array<JsonSchema.JsonSchema> | undefined) ?? []]
  return parts.length === 0
    ? own
    : Object.assign({}, own, ...parts.map((part) => resolveReferences(part, definitions)), { ...own })
}

const fieldsOf = ({ properties, required }: JsonSchema.JsonSchema): string => {
  const names = Object.keys(properties as object | undefined ?? {})
  const requiredNames = new Set(required as ReadonlyArray<string> | undefined)
  const listed = names.slice(0, maximumNames).map((name) => requiredNames.has(name) ? `${name} (required)` : name)
  return names.length === 0 ? "" : ` with the field${names.length === 1 ? "" : "s"} ${listed.join(", ")}`
}

const textSize = ({ maxLength, minLength }: JsonSchema.JsonSchema) => size(minLength, maxLength, "characters")

const words = (schema: JsonSchema.JsonSchema, definitions: Definitions): string => {
  const own = resolveReferences(schema, definitions)
  const { anyOf, const: constant, enum: literals, examples, format, items, type } = own
  if (Array.isArray(anyOf)) return joinChoices([...new Set(anyOf.map((one) => words(one, definitions)))])
  if (Array.isArray(literals)) return oneOf(literals.map(textOf))
  if (constant !== undefined) return textOf(constant)
  switch (type) {
    case "integer":
    case "number": {
      const name = type === "integer" ? "an integer" : "a number"
      const above = bound(own["exclusiveMinimum"])
      const least = bound(own["minimum"]) ?? (type === "integer" && above !== undefined ? above + 1 : undefined)
      return `${name}${range(least, bound(own["maximum"]))}`
    }
    case "string": {
      const [example] = Array.isArray(examples) ? examples : []
      const name = typeof format === "string" ? formats[format] ?? "text" : "text"
      return `${name}${textSize(own)}${example === undefined ? "" : ` like ${textOf(example)}`}`
    }
    case "boolean":
      return "true or false"
    case "array": {
      const each = items === undefined ? "" : `, each ${words(items as JsonSchema.JsonSchema, definitions)}`
      return `a list${size(own["minItems"], own["maxItems"], "entries")}${each}`
    }
    case "object":
      return `a JSON object${fieldsOf(own)}`
    case "null":
      return "null"
    default:
      return "any JSON value, its numbers no larger than 1.8e308"
  }
}

/** What a schema allows: in words, and as its author described it. */
export interface AllowedInput {
  readonly words: string
  readonly description: string | undefined
}

const descriptionOf = (schema: JsonSchema.JsonSchema, definitions: Definitions): string | undefined => {
  const { anyOf, description } = resolveReferences(schema, definitions)
  if (typeof description === "string") return description
  if (!Array.isArray(anyOf)) return undefined
  const descriptions = anyOf.map((one) => descriptionOf(one, definitions)).filter((text) => text !== undefined)
  return descriptions.length === 1 ? descriptions[0] : undefined
}

/** A number of a query is text on the wire, in the form that JavaScript prints; its reader thinks of the number. */
const isNumberText = ({ pattern, type }: JsonSchema.JsonSchema): boolean =>
  type === "string" && typeof pattern === "string" && pattern.includes("[Ee][+-]?")

/** Schemas are few and live as long as the process. */
const allowances = new WeakMap<SchemaAST.AST, AllowedInput>()

/**
 * What may be sent where `ast` is decoded.
 *
 * @example
 * allowedBy(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100 })).ast).words // => "an integer from 1 to
 * 100"
 */
export const allowedBy = (ast: SchemaAST.AST): AllowedInput => {
  const before = allowances.get(ast)
  if (before !== undefined) return before
  const document = Schema.toJsonSchemaDocument(Schema.make(ast))
  const { definitions, schema } = isNumberText(resolveReferences(document.schema, document.definitions))
    ? Schema.toJsonSchemaDocument(Schema.make(SchemaAST.toType(ast)))
    : document
  const input = { words: words(schema, definitions), description: descriptionOf(schema, definitions) }
  allowances.set(ast, input)
  return input
}

/** The schema of what `container` holds under `key`; undefined where it does not say. */
const schemaAt = (container: SchemaAST.AST | undefined, key: PropertyKey): SchemaAST.AST | undefined => {
  if (container === undefined) return undefined
  if (SchemaAST.isObjects(container)) {
    return container.propertySignatures.find(({ name }) => name === key)?.type ?? container.indexSignatures[0]?.type
  }
  if (SchemaAST.isArrays(container)) return container.elements[Number(key)] ?? container.rest[0]
  return SchemaAST.isSuspend(container) ? schemaAt(container.thunk(), key) : undefined
}

/** The first thing that was refused: where, by which schema, and in which words of its own. */
interface Fault {
  readonly path: ReadonlyArray<PropertyKey>
  readonly ast: SchemaAST.AST | undefined
  readonly isMissing: boolean
  readonly message: string | undefined
}

const textIn = (annotations: object | undefined, key: "message" | "expected"): string | undefined => {
  const text = (annotations as Readonly<Record<string, unknown>> | undefined)?.[key]
  return typeof text === "string" ? text : undefined
}

/**
 * What the author of a check says it expects. Effect's own checks say it in terms of types: they are left to the
 * schema.
 */
const checkMessage = ({ annotations }: SchemaAST.Check<unknown>): string | undefined => {
  const isBuiltIn = (annotations as { readonly representation?: unknown } | undefined)?.representation !== undefined
  return textIn(annotations, "message") ?? (isBuiltIn ? undefined : textIn(annotations, "expected"))
}

const faultOf = (
  issue: SchemaIssue.Issue,
  fault: Omit<Fault, "isMissing">,
  container: SchemaAST.AST | undefined
): Fault => {
  switch (issue._tag) {
    case "Pointer": {
      const ast = issue.path.reduce<SchemaAST.AST | undefined>(schemaAt, container)
      return faultOf(issue.issue, { path: [...fault.path, ...issue.path], ast, message: undefined }, ast)
    }
    case "Filter":
      return faultOf(issue.issue, { ...fault, message: fault.message ?? checkMessage(issue.filter) }, container)
    case "Encoding":
      return faultOf(issue.issue, { ...fault, ast: fault.ast ?? issue.ast }, container)
    case "Composite":
    case "AnyOf": {
      const [first] = issue.issues
      const here = { ...fault, ast: fault.ast ?? issue.ast }
      return first === undefined ? { ...here, isMissing: false } : faultOf(first, here, issue.ast)
    }
    case "InvalidType":
      return {
        ...fault,
        ast: fault.ast ?? issue.ast,
        isMissing: false,
        message: fault.message ?? textIn(issue.ast.annotations, "message")
      }
    case "InvalidValue":
      return { ...fault, message: fault.message ?? textIn(issue.annotations, "message"), isMissing: false }
    default:
      return { ...fault, isMissing: issue._tag === "MissingKey" }
  }
}

/** Characters of a message, at most: descriptions of some fields are a paragraph. */
export const maximumMessageLength = 600

/** As much of `text` as there is room for, to the end of a sentence where one is near. */
export const cutMessage = (text: string): string => {
  if (text.length <= maximumMessageLength) return text
  const head = text.slice(0, maximumMessageLength - 1)
  const end = head.lastIndexOf(". ")
  return end > maximumMessageLength / 2 ? head.slice(0, end + 1) : `${head}…`
}

const sentence = (text: string): string => /[.!?…]$/.test(text) ? text : `${text}.`

/**
 * The sentence that refuses a field: `must be` and what is allowed. `param` is empty for the body itself.
 *
 * @example
 * mustBe("limit", "an integer from 1 to 100") // => "limit must be an integer from 1 to 100"
 */
export const mustBe = (param: string, allowedInput: string): string =>
  `${param === "" ? "The body" : param} must be ${allowedInput}`

/** A refused field and the sentence that says so; `path` is empty for the body itself. */
export interface InvalidInput {
  readonly path: ReadonlyArray<string>
  readonly message: string
}

/** The first thing a schema refused. The caller's value is never repeated: it may be a secret. */
export const invalidInput = (issue: SchemaIssue.Issue): InvalidInput => {
  const { ast, isMissing, message, path: keys } = faultOf(
    issue,
    { path: [], ast: undefined, message: undefined },
    undefined
  )
  const path = keys.map(String)
  const param = path.join(".")
  const { description, words } = ast === undefined ? { description: undefined, words: "another value" } : allowedBy(ast)
  const expected = message === undefined ? words : /^Expected (.*)$/s.exec(message)?.[1]
  const statement = expected === undefined
    ? `${param === "" ? "The body" : param}: ${message}`
    : isMissing
    ? `${param} is missing: it must be ${expected}`
    : mustBe(param, expected)
  return {
    path,
    message: cutMessage(description === undefined ? statement : `${sentence(statement)} ${sentence(description)}`)
  }
}

/** {@link invalidInput} as `VALIDATION_ERROR` with the dotted field in `param`. */
export const validationError = (issue: SchemaIssue.Issue): PublicError => {
  const { message, path } = invalidInput(issue)
  return publicError("VALIDATION_ERROR", { message, param: path.length === 0 ? null : path.join(".") })
}

/**
 * The refusal of a parameter whose rule no schema holds.
 *
 * @example
 * invalidParameter("types", "at most 20 event types, each exact, `prefix.*` or `*`")
 */
export const invalidParameter = (
  param: string,
  allowedInput: string,
  code: ErrorCode = "VALIDATION_ERROR"
): PublicError => publicError(code, { message: mustBe(param, allowedInput), param })

/** What is allowed where no schema says so: times of a query, and their order. */
export const momentInWords = "epoch seconds or an ISO 8601 time with a zone, like 1766320496 or 2025-12-21T12:34:56Z"
