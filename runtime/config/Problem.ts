/** What is wrong with a config: all problems at once, each where it stands and with what to do about it. */
import { Predicate, Schema } from "effect"
import { misspelledWord } from "../Spelling.ts"
import { codeFrame, type KeyPath, keySpanOf, positionOf, printPath, type Source, type Span, spanOf } from "./Source.ts"

/** One thing to fix. `variable` names the environment variable where the value did not come from the file. */
export interface Problem {
  readonly path: KeyPath
  readonly message: string
  /** `key`: the key is at fault; `value` (default): its value; a span: a part of the text. */
  readonly at?: "key" | "value" | Span
  readonly variable?: string
}

/** The config cannot be used; the process ends with {@link exitCodeConfig}. */
export class ConfigInvalid extends Schema.TaggedError<ConfigInvalid>()("ConfigInvalid", {
  /** Ready to print. */
  report: Schema.String,
  count: Schema.Int
}) {
  override get message() {
    return this.report
  }
}

/** Exit code of a config that cannot be used; every other failure is 1. */
export const exitCodeConfig = 2

/** Whether a start or a command failed by its config, to which its master key belongs: trying again changes nothing. */
export const isConfigFailure = (error: unknown): boolean =>
  Predicate.isTagged(error, "ConfigInvalid") ||
  Predicate.isTagged(error, "SecretsError") ||
  // A plugin may find out only at its start that a file named in the config cannot be used.
  Predicate.isTagged(error, "PluginFailed") && Predicate.hasProperty(error, "cause") &&
    Predicate.isTagged(error.cause, "ConfigInvalid")

/** A problem before there is a text to point into: the file itself cannot be read. */
export const unreadable = (message: string): ConfigInvalid => new ConfigInvalid({ report: message, count: 1 })

/**
 * The report of `problems`, in the order of the file; those of environment variables last. `secretSpans` are those of
 * secrets written out in the file, which no code frame may repeat.
 */
export const configInvalid = (
  source: Source,
  problems: ReadonlyArray<Problem>,
  secretSpans: ReadonlyArray<Span> = []
): ConfigInvalid => {
  const withSpans = problems.map((problem) => ({ problem, span: spanFor(source, problem) }))
  const sorted = withSpans.toSorted((a, b) =>
    Number(a.problem.variable !== undefined) - Number(b.problem.variable !== undefined) ||
    a.span.offset - b.span.offset
  )
  const lines = sorted.map(({ problem, span }) => {
    const subject = printPath(problem.path)
    const message = subject === "" ? problem.message : `${subject}: ${problem.message}`
    if (problem.variable !== undefined) return `  ${problem.variable}  ${message}`
    const { column, line } = positionOf(source.text, span.offset)
    return `  ${source.file}:${line}:${column}  ${message}\n${codeFrame(source.text, span, secretSpans)}`
  })
  const unique = [...new Set(lines)]
  const title = `${source.file}: ${unique.length} ${unique.length === 1 ? "problem" : "problems"}`
  return new ConfigInvalid({ report: [title, ...unique].join("\n"), count: unique.length })
}

const spanFor = (source: Source, { at, path }: Problem): Span => {
  if (typeof at === "object") return at
  return at === "key" ? keySpanOf(source, path) : spanOf(source, path)
}

/** `Did you mean "x"?`, or what there is to choose from. */
export const suggestion = (word: string, known: ReadonlyArray<string>): string => {
  const near = misspelledWord(word, known)
  if (near !== undefined) return `Did you mean "${near}"?`
  return known.length === 0 ? "There are none here." : `Known: ${known.toSorted().join(", ")}.`
}
