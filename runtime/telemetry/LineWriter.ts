/**
 * Writes the entries of the log that each request and each payment has. They are many, so they go past Effect's
 * loggers: through those one took 120 us of processor time, a third of the request itself (`npm run bench -- create`).
 * What `Redact.ts` does for other entries is not done here: fields are numbers, ids, and words of the service's own.
 */
import { Clock, Console, DateTime, Effect, type Scope } from "effect"
import type { SettingsValue } from "../Settings.ts"
import { redactionMark, redactText } from "./Redact.ts"

type Field = string | number | null

/** Writes one entry of level info. Fields that are undefined are left out. */
export type WriteEntry = (message: string, fields: Readonly<Record<string, Field | undefined>>) => void

/** As they are written in ids, hashes and routes: nothing that JSON would escape, and nothing that breaks a line. */
const isPlain = (text: string): boolean => /^[\w/:.{}*-]*$/.test(text)

const jsonOf = (value: Field): string =>
  typeof value === "string" && isPlain(value) ? `"${value}"` : JSON.stringify(value)

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
  /^req_[0-9a-f-]{36}$/.test(id) ? id : redactText(id.replaceAll(secretInside, `$1_${redactionMark}`))

/** Writes what comes in one turn of the event loop to standard output together, and the rest when the scope closes. */
export const makeLineWriter = Effect.fnUntraced(function*(
  { level, logs }: SettingsValue["telemetry"],
  isTerminal: boolean
): Effect.fn.Return<WriteEntry, never, Scope.Scope> {
  if (level === "warn" || level === "error") return () => {}
  const format = logs === "pretty" || logs === "auto" && isTerminal ? formatPretty : formatJson
  const clock = yield* Clock.Clock
  const console = yield* Console.Console
  let waiting: Array<string> = []
  // As all entries are written, so that they keep their order.
  const flush = (): void => {
    const lines = waiting
    waiting = []
    if (lines.length > 0) console.log(lines.join("\n"))
  }
  yield* Effect.addFinalizer(() => Effect.sync(flush))
  return (message, fields) => {
    if (waiting.length === 0) setImmediate(flush)
    waiting.push(format(DateTime.formatIso(DateTime.makeUnsafe(clock.currentTimeMillisUnsafe())), message, fields))
  }
})
