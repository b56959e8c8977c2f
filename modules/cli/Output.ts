/**
 * What a command writes: data on stdout, so that it can be piped on, and everything else that it says on stderr. With
 * `--json` data is one document, and a stream one document a line.
 */
import { Console, Effect } from "effect"
import { environment, type Variables } from "./Environment.ts"
import { JsonFlag } from "./Flags.ts"

/** A colour or weight of a terminal, by what it says. */
export type Tone = "good" | "bad" | "warning" | "quiet" | "strong"

const codes: Readonly<Record<Tone, readonly [on: number, off: number]>> = {
  good: [32, 39],
  bad: [31, 39],
  warning: [33, 39],
  quiet: [2, 22],
  strong: [1, 22]
}

/** Whether text has colours: on a terminal, unless NO_COLOR is set; everywhere with FORCE_COLOR (force-color.org). */
export const hasColours = (variables: Variables, isTerminal: boolean): boolean => {
  const forced = variables["FORCE_COLOR"]
  if (forced !== undefined && forced !== "") return forced !== "0"
  if ((variables["NO_COLOR"] ?? "") !== "") return false
  return isTerminal && variables["TERM"] !== "dumb"
}

/** Puts a tone on a text, or leaves it as it is. */
export type Paint = (tone: Tone, text: string) => string

const painter = (colours: boolean): Paint => (tone, text) =>
  colours && text !== "" ? `\u001b[${codes[tone][0]}m${text}\u001b[${codes[tone][1]}m` : text

/** The {@link Paint} of an output of this process. */
export const paintFor = (output: "stdout" | "stderr") =>
  Effect.map(environment, (variables) => painter(hasColours(variables, process[output].isTTY)))

/** A line of talk. */
export const say = (text: string) => Console.error(text)

/** The answer of a command: `value` itself with `--json`, else the text that people read. */
export const answer = (value: unknown, text: (paint: Paint) => string) =>
  Effect.gen(function*() {
    if (yield* JsonFlag) return yield* Console.log(JSON.stringify(value, null, 2))
    return yield* Console.log(text(yield* paintFor("stdout")))
  })

/** One line of a command that goes on: a document on a line of its own with `--json`. */
export const streamLine = (value: unknown, text: (paint: Paint) => string) =>
  Effect.gen(function*() {
    if (yield* JsonFlag) return yield* Console.log(JSON.stringify(value))
    return yield* Console.log(text(yield* paintFor("stdout")))
  })

/** Control characters and marks that turn the direction of text: whoever wrote a description must not move the cursor. */
const unprintable = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu

/** A text of others as it is safe on a terminal: one line, nothing that controls it. */
export const printable = (text: unknown): string =>
  text === null || text === undefined ? "" : String(text).replace(unprintable, " ")

/** Columns with a heading, as wide as their widest cell; the last one is not padded. */
export const table = (
  headings: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<unknown>>,
  paint: Paint
): string => {
  const cells = rows.map((row) => row.map(printable))
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...cells.map((row) => (row[column] ?? "").length))
  )
  const line = (row: ReadonlyArray<string>) =>
    row.map((cell, column) => column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)).join("  ").trimEnd()
  return [paint("quiet", line(headings)), ...cells.map(line)].join("\n")
}

/** Names and values below each other; a value that is missing leaves its line out. */
export const facts = (pairs: ReadonlyArray<readonly [name: string, value: unknown]>, paint: Paint): string => {
  const present = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "")
  const width = Math.max(0, ...present.map(([name]) => name.length))
  return present.map(([name, value]) => `${paint("quiet", name.padEnd(width))}  ${printable(value)}`).join("\n")
}
