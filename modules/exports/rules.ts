/** What an export is asked for, and how its rows are written (modules/docs/reference/exports.md). Pure. */
import { DateTime } from "effect"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import { invalidParameter, momentInWords } from "../../schemas/InvalidInput.ts"
import { type Cell, text } from "../../schemas/Csv.ts"
import { readTime } from "../../schemas/Time.ts"

/** The longest span of one export: a leap year in seconds. */
export const maximumSpanSeconds = 31_622_400

/** Metadata keys that one export may have as columns. */
export const maximumMetadataKeys = 20

/** Longest name of a metadata key. */
const maximumKeyLength = 64

/** Rows that one statement reads: the most that an export holds in memory, with the page being written. */
export const pageRows = 500

/** An export that takes longer is ended without its trailer, in milliseconds. */
export const maximumExportMillis = 3_600_000

/** Epoch seconds as ISO 8601 in UTC. */
export const time = (seconds: bigint | null): Cell =>
  text(seconds === null ? null : DateTime.formatIso(DateTime.makeUnsafe(Number(seconds) * 1000)).replace(".000Z", "Z"))

/** Epoch seconds as Koinly reads them: "2026-11-24 08:30:15 UTC". */
export const koinlyTime = (seconds: bigint): Cell =>
  text(`${DateTime.formatIso(DateTime.makeUnsafe(Number(seconds) * 1000)).slice(0, 19).replace("T", " ")} UTC`)

/** A row as a JSON object of strings and nulls: text is as it was stored, and no decimal loses a digit. */
export const jsonRow = (columns: ReadonlyArray<string>, cells: ReadonlyArray<Cell>): string =>
  JSON.stringify(Object.fromEntries(columns.map((name, place) => [name, cells[place]!.value])))

/** A metadata value as text: strings as they are, everything else as JSON. */
export const metadataCell = (metadata: Readonly<Record<string, unknown>>, key: string): Cell => {
  const value = Object.hasOwn(metadata, key) ? metadata[key] : undefined
  if (value === undefined || value === null) return text(null)
  return text(typeof value === "string" ? value : JSON.stringify(value))
}

/** Moments of rows, in epoch seconds: `from` is part of it, `to` is not. */
export interface ExportRange {
  readonly from: number
  readonly to: number
}

/** The span of an export, or what is wrong with it. Bounds between two seconds mean the next one. */
export const readRange = (query: { readonly from: string; readonly to: string }): ExportRange | PublicError => {
  const from = readTime(query.from)
  if (from === undefined) return invalidParameter("from", momentInWords)
  const to = readTime(query.to)
  if (to === undefined) return invalidParameter("to", momentInWords)
  if (from >= to) return invalidParameter("from", "a time before `to`")
  if (to - from > maximumSpanSeconds) {
    return invalidParameter("to", "at most 366 days (31,622,400 seconds) after `from`: export longer spans in parts")
  }
  return { from: Math.ceil(from), to: Math.ceil(to) }
}

/** The metadata keys that become columns, in the order of the query, or what is wrong with them. */
export const readMetadataKeys = (sent: string | undefined): ReadonlyArray<string> | PublicError => {
  if (sent === undefined) return []
  const keys = sent.split(",")
  const isValid = keys.length <= maximumMetadataKeys && new Set(keys).size === keys.length &&
    keys.every((key) => key.length > 0 && key.length <= maximumKeyLength)
  return isValid
    ? keys
    : invalidParameter("metadata_keys", "1 to 20 different names of 1 to 64 characters, separated by commas")
}

/** The module that keeps the books, and the name of its hook of invoices. */
const booksModule = "ledger"

/** Whether somebody books what happens: the books that a module left behind when it was taken out lack the rest. */
export const keepsBooks = (hooks: ReadonlyArray<{ readonly name: string }>): boolean =>
  hooks.some(({ name }) => name === booksModule)

/** What is wrong with an export of the books; undefined: nothing. */
export const refuseBooks = (
  kind: string,
  hasBooks: boolean,
  keys: ReadonlyArray<string>
): PublicError | undefined => {
  if (!hasBooks) {
    return publicError("VALIDATION_ERROR", {
      message: `kind: ${kind} is made from the books, which this service does not keep: its operator has left the `
        + `module ${booksModule} out of the config file`,
      param: "kind"
    })
  }
  return keys.length === 0
    ? undefined
    : invalidParameter("metadata_keys", `left out: no row of ${kind} is an invoice's`)
}

/** Nothing is wrong with the request: another export of the same merchant has not ended yet. */
export const exportUnderWay = publicError("RATE_LIMIT_EXCEEDED", {
  message: "An export of this merchant is under way, and one runs at a time: wait until it has ended, or close its "
    + "connection; after a crash of the service it ends within 60 seconds",
  retryAfterSeconds: 5
})
