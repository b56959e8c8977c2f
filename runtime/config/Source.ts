/** The text of a config file as a tree that knows where each value stands, for errors people can act on. */
import { findNodeAtLocation, type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser"

/** Keys and indices from the root: `["chains", 0, "use"]`. */
export type KeyPath = ReadonlyArray<string | number>

/** JSON as the parser gives it, before any schema. */
export type JsonValue = null | boolean | number | string | ReadonlyArray<JsonValue> | {
  readonly [key: string]: JsonValue
}

/** A stretch of the text. Offsets count UTF-16 units from 0. */
export interface Span {
  readonly offset: number
  readonly length: number
}

export interface Source {
  /** As the operator named it. */
  readonly file: string
  readonly text: string
  readonly root: Node | undefined
}

/** `chains[0].options.network`: how a path is written in messages. */
export const printPath = (path: KeyPath): string =>
  path.reduce<string>((text, key) => {
    if (typeof key === "number") return `${text}[${key}]`
    return text === "" ? key : `${text}.${key}`
  }, "")

/** The line and column of an offset, both from 1. */
export const positionOf = (text: string, offset: number): { readonly line: number; readonly column: number } => {
  const before = text.slice(0, offset)
  return { line: before.split("\n").length, column: offset - before.lastIndexOf("\n") }
}

/** Parses JSON with comments and trailing commas. Syntax errors come with their spans, duplicate keys included. */
export const parseSource = (file: string, text: string): {
  readonly source: Source
  readonly errors: ReadonlyArray<{ readonly span: Span; readonly message: string }>
} => {
  const parseErrors: Array<ParseError> = []
  const root = parseTree(text, parseErrors, { allowTrailingComma: true })
  // What follows the first one is mostly its consequence.
  const syntax = parseErrors.slice(0, 1).map(({ error, length, offset }) => ({
    span: { offset, length },
    message: `not valid JSONC: ${words(printParseErrorCode(error))}`
  }))
  return { source: { file, text, root }, errors: [...syntax, ...root === undefined ? [] : duplicateKeys(root)] }
}

const words = (code: string): string => code.replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase()

const duplicateKeys = (node: Node): Array<{ readonly span: Span; readonly message: string }> => {
  const children = node.children ?? []
  const below = children.flatMap(duplicateKeys)
  if (node.type !== "object") return below
  const seen = new Set<string>()
  const duplicates = children.flatMap((property) => {
    const key = property.children?.[0]
    if (key === undefined || !seen.has(key.value)) {
      if (key !== undefined) seen.add(key.value)
      return []
    }
    return [{ span: key, message: `the key "${key.value}" is written twice: keep one` }]
  })
  return [...duplicates, ...below]
}

/** Where the value at `path` stands: itself, or the nearest thing around it that is in the text. */
export const spanOf = (source: Source, path: KeyPath): Span => {
  for (let length = path.length; length >= 0; length--) {
    const node = source.root === undefined ? undefined : findNodeAtLocation(source.root, path.slice(0, length))
    // A missing key is shown at the brace of the object it is missing from, not over the whole object.
    if (node !== undefined) return isContainer(node) ? { offset: node.offset, length: 1 } : node
  }
  return { offset: 0, length: 1 }
}

const isContainer = (node: Node) => node.type === "object" || node.type === "array"

/** Where the key at the end of `path` stands, for errors about the key and not its value. */
export const keySpanOf = (source: Source, path: KeyPath): Span => {
  const node = source.root === undefined ? undefined : findNodeAtLocation(source.root, [...path])
  return node?.parent?.type === "property" ? node.parent.children?.[0] ?? node : spanOf(source, path)
}

/** Columns of a code frame; a longer line is cut round the mark. */
const frameColumns = 100

/**
 * The line of a span with a mark below it. Text inside `secretSpans` (secrets written out) shows as asterisks.
 *
 * @example
 *     3 |   "environment": "testnet",
 *       |                  ^^^^^^^^^
 */
export const codeFrame = (text: string, span: Span, secretSpans: ReadonlyArray<Span>): string => {
  const maskedText = secretSpans.reduce(
    (before, { length, offset }) => before.slice(0, offset) + "*".repeat(length) + before.slice(offset + length),
    text
  )
  const { column, line } = positionOf(text, span.offset)
  const whole = maskedText.split("\n")[line - 1]?.replace(/\r$/, "") ?? ""
  const cut = Math.max(0, Math.min(column - 20, whole.length - frameColumns))
  const code = whole.slice(cut, cut + frameColumns)
  const start = column - 1 - cut
  const marks = "^".repeat(Math.max(1, Math.min(span.length, code.length - start)))
  const number = String(line).padStart(5)
  return `${number} | ${code}\n${" ".repeat(5)} | ${" ".repeat(start)}${marks}`
}
