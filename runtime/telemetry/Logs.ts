/** Structured logs: one JSON line per entry for machines, one readable line for people; both without secrets. */
import { Cause, Layer, Logger, References } from "effect"
import { Headers, UrlParams } from "effect/http"
import type { SettingsValue } from "../Settings.ts"
import { logLevelOf } from "./Areas.ts"
import { redactText, secretHeaders, secretQueryFields } from "./Redact.ts"

/** Characters of one entry, at most: a cause may hold a whole response body. */
export const maximumEntryLength = 16_384

interface Entry {
  readonly ts: string
  readonly level: string
  readonly msg: string
  readonly annotations: Readonly<Record<string, unknown>>
  readonly cause: string | undefined
}

const entryOf = ({ cause, date, fiber, logLevel, message }: Logger.Options<unknown>): Entry => {
  const parts = Array.isArray(message) ? message : [message]
  // `Effect.log("paid", { invoice })`: the object's fields are fields of the entry.
  const fields = parts.filter(isPlain)
  const causes = [cause, ...parts.filter(Cause.isCause)].filter((each) => each.reasons.length > 0)
  return {
    ts: date.toISOString(),
    level: logLevel.toLowerCase(),
    msg: parts.filter((part) => !isPlain(part) && !Cause.isCause(part)).map(textOf).join(" "),
    annotations: Object.assign({}, fiber.getRef(References.CurrentLogAnnotations), ...fields),
    cause: causes.length > 0 ? causes.map((each) => Cause.pretty(each)).join("\n") : undefined
  }
}

const isPlain = (part: unknown): part is Readonly<Record<string, unknown>> =>
  typeof part === "object" && part !== null && Object.getPrototypeOf(part) === Object.prototype

const textOf = (part: unknown): string => {
  if (typeof part === "string") return part
  return part instanceof Error ? messageOf(part) : jsonOf(part)
}

/** Causes of an error that are told, at most: one that names itself as its cause has no end. */
const maximumCauses = 5

/** What an error says, and what its causes add: a database's own reason stands in a cause of "Query failed". */
const messageOf = (error: Error): string => {
  let text = error.message
  let cause = error.cause
  for (let count = 0; cause instanceof Error && count < maximumCauses; count++) {
    if (cause.message !== "" && !text.includes(cause.message)) text = `${text}: ${cause.message}`
    cause = cause.cause
  }
  return text
}

/** JSON of anything: what JSON cannot hold is written as text, what cannot be written is named. */
const jsonOf = (value: unknown): string => {
  const seen = new Set<unknown>()
  const text = JSON.stringify(value, function(this: Readonly<Record<string, unknown>>, key, item: unknown) {
    if (typeof item === "bigint") return String(item)
    // As it is held: an error with a `toJSON` of its own arrives as what that made of it.
    const original = this[key]
    if (original instanceof Error) return messageOf(original)
    if (typeof item === "object" && item !== null) {
      if (seen.has(item)) return "<repeated>"
      seen.add(item)
    }
    return item
  })
  return text ?? String(value)
}

/** The entry as one line of JSON: `ts, level, msg`, then its annotations, then `cause`. */
export const formatJson: Logger.Logger<unknown, string> = Logger.make((options) => {
  const { annotations, cause, ...entry } = entryOf(options)
  const head = { ...entry, msg: truncate(entry.msg) }
  const tail = cause === undefined ? {} : { cause: truncate(cause) }
  // The head comes first for whoever reads, and last so that no annotation replaces it.
  return redactText(jsonOf(Object.assign({}, head, annotations, head, tail)))
})

const truncate = (text: string) => text.length > maximumEntryLength ? `${text.slice(0, maximumEntryLength)}…` : text

/** The entry for people: time, level where it is not the usual one, message, `name=value` pairs, cause below. */
export const formatPretty: Logger.Logger<unknown, string> = Logger.make((options) => {
  const { annotations, cause, level, msg, ts } = entryOf(options)
  const pairs = Object.entries(annotations).map(([name, value]) => ` ${name}=${textOf(value)}`).join("")
  const below = cause === undefined ? "" : `\n  ${cause.replaceAll("\n", "\n  ")}`
  return redactText(
    truncate(`${ts.slice(11, 23)} ${level === "info" ? "" : `${level.toUpperCase()} `}${msg}${pairs}${below}`)
  )
})

/** Whether entries are written for people. `isTerminal` decides for `auto`. */
export const isForPeople = ({ logs }: Pick<SettingsValue["telemetry"], "logs">, isTerminal: boolean): boolean =>
  logs === "pretty" || logs === "auto" && isTerminal

/** Logs as the settings say. */
export const layer = (telemetry: SettingsValue["telemetry"], isTerminal: boolean): Layer.Layer<never> =>
  Layer.mergeAll(
    Logger.layer([Logger.withConsoleLog(isForPeople(telemetry, isTerminal) ? formatPretty : formatJson)]),
    Layer.succeed(References.MinimumLogLevel, logLevelOf(telemetry.level)),
    // Effect's own spans hold SQL and URLs of nodes, and cost every request; `Traces.ts` makes the service's.
    Layer.succeed(References.TracerEnabled, false),
    Layer.succeed(Headers.CurrentRedactedNames, secretHeaders),
    Layer.succeed(UrlParams.CurrentRedactedNames, secretQueryFields)
  )

/** Logs of a short command: its output is what it prints, and only what went wrong is added to it. */
export const quietLayer: Layer.Layer<never> = Layer.succeed(References.MinimumLogLevel, "Error")
