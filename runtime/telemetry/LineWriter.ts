/**
 * Writes one entry of the log per request and per change of money. They are many, so they go past Effect's loggers:
 * through those an invoice took 416 to 423 us of processor time, and without the entry 278 to 312 (`npm run bench --
 * create`, a loaded machine). Fields are numbers, ids and words of the service's own, so only ids that others choose are
 * redacted: {@link loggedId}.
 */
import { Clock, Console, DateTime, Effect, type Scope } from "effect"
import type { SettingsValue } from "../Settings.ts"
import { isForPeople } from "./Logs.ts"
import { redactionMark, redactText } from "./Redact.ts"

type Field = string | number | null

/** Writes one entry of level info. Fields that are undefined are left out. */
export type WriteEntry = (message: string, fields: Readonly<Record<string, Field | undefined>>) => void

/** Whether a text holds nothing that JSON escapes, as ids, hashes and routes. */
const needsNoEscape = (text: string): boolean => /^[\w/:.{}*-]*$/.test(text)

const jsonOf = (value: Field): string =>
  typeof value === "string" && needsNoEscape(value) ? `"${value}"` : JSON.stringify(value)

const formatJson = (ts: string, message: string, fields: Readonly<Record<string, Field | undefined>>): string => {
  let line = `{"ts":"${ts}","level":"info","msg":"${message}"`
  for (const name in fields) {
    const value = fields[name]
    if (value !== undefined) line += `,"${name}":${jsonOf(value)}`
  }
  return `${line}}`
}

const formatPretty = (ts: string, message: string, fields: Readonly<Record<string, Field | undefined>>): string => {
  let line = `${ts.slice(11, 23)} ${message}`
  for (const name in fields) {
    const value = fields[name]
    if (value !== undefined && value !== null) line += ` ${name}=${value}`
  }
  return line
}

/** What keys, secrets and tokens begin with, also in the middle of a text: `req_mk_live_…`. */
const secretInside = /(mk|ck|whsec|pst|rt)_[A-Za-z0-9_+/=.-]{8,}/g

/**
 * An id as its sender chose it, safe to write: somebody may have put a key there. Ids that the service makes have a
 * form that needs no look.
 */
export const loggedId = (id: string): string =>
  /^req_[0-9a-f-]{36,52}$/.test(id) ? id : redactText(id.replaceAll(secretInside, `$1_${redactionMark}`))

/**
 * Writes what comes in one turn of the event loop to standard output together, and the rest when the scope closes.
 * Null: by its level the log has no entries of level info.
 */
export const makeLineWriter = Effect.fnUntraced(function*(
  telemetry: SettingsValue["telemetry"],
  isTerminal: boolean
): Effect.fn.Return<WriteEntry | null, never, Scope.Scope> {
  if (telemetry.level === "warn" || telemetry.level === "error") return null
  const format = isForPeople(telemetry, isTerminal) ? formatPretty : formatJson
  const clock = yield* Clock.Clock
  const console = yield* Console.Console
  let buffer: Array<string> = []
  // As all entries are written, so that they keep their order.
  const flush = (): void => {
    const lines = buffer
    buffer = []
    if (lines.length > 0) console.log(lines.join("\n"))
  }
  yield* Effect.addFinalizer(() => Effect.sync(flush))
  return (message, fields) => {
    if (buffer.length === 0) setImmediate(flush)
    buffer.push(format(DateTime.formatIso(DateTime.makeUnsafe(clock.currentTimeMillisUnsafe())), message, fields))
  }
})
