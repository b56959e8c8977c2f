/**
 * Why the files of a plugin from outside cannot be loaded, in words for whoever installed it: which file, what it asks
 * for, and what to do. Node says it in a form for each kind of fault. Pure.
 */
import { Schema } from "effect"

/** A plugin's files cannot be loaded. `reason` is the end of a sentence that begins with what the config names. */
export class ImportFailed extends Schema.TaggedError<ImportFailed>()("ImportFailed", {
  reason: Schema.String,
  /** There is no such package at all. */
  isAbsent: Schema.Boolean
}) {
  override get message() {
    return this.reason
  }
}

/** A path as people read it. */
const pathOf = (url: string): string => decodeURIComponent(url.replace(/^file:\/\//, ""))

/** What a plugin imports of the service, and the service does not have. */
export const sharedMissing = (specifier: string, importer: string | undefined): Error => {
  const file = importer === undefined ? "a file" : pathOf(importer)
  const advice = specifier === "tillwire/plugin/testing"
    ? "that is for the tests of a plugin, and a running service has none"
    : specifier.startsWith("effect")
    ? "this service's version of effect has no such part: install a version of the plugin that is made for it"
    : "a plugin has \"tillwire/plugin\", and of features with drivers \"tillwire/plugin/mail\", \"…/retail\", \"…/screening\" "
      + "and \"…/settlement\""
  return Object.assign(new Error(`${file} imports "${specifier}": ${advice}`), { code: toldInFull })
}

/** The code of an error whose message is ready for people. */
const toldInFull = "TILLWIRE_IMPORT"

const textOf = (cause: unknown): string => cause instanceof Error ? cause.message : String(cause)

/** The first file with a line that a stack names, outside of Node itself. */
const placeOf = (cause: unknown): string | undefined => {
  const stack = cause instanceof Error ? cause.stack ?? "" : ""
  const [, file, line] = /((?:file:\/\/)?\/[^\s():]+\.[cm]?[jt]s):(\d+)/.exec(stack) ?? []
  return file === undefined ? undefined : `${pathOf(file)}:${line}`
}

/** The package of a specifier: `@acme/points/rules` is of `@acme/points`. */
const packageOf = (specifier: string): string => specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/")

const notInstalled = (name: string, importer: string) =>
  `${pathOf(importer)} imports "${name}", which is not installed: npm install ${packageOf(name)} where the plugin is, `
  + "and tell its author to name it in \"dependencies\""

const noFile = (file: string, importer: string) =>
  `${pathOf(importer)} imports ${pathOf(file)}, and there is no such file: a package must hold each file that it uses, `
  + "and compiled files import each other with the ending .js"

interface Fault {
  readonly pattern: RegExp
  readonly tell: (found: ReadonlyArray<string>, cause: unknown) => string
}

const faults: ReadonlyArray<Fault> = [
  {
    pattern: /^Cannot find package '([^']+)' imported from (.+)$/,
    tell: ([, name = "", file = ""]) => notInstalled(name, file)
  },
  {
    pattern: /^Cannot find module '([^']+)' imported from (.+)$/,
    tell: ([, name = "", file = ""]) => noFile(name, file)
  },
  {
    pattern: /^Cannot find module '([^']+)'\nRequire stack:\n- ([^\n]+)/,
    tell: ([, name = "", file = ""]) => /^[./]/.test(name) ? noFile(name, file) : notInstalled(name, file)
  },
  {
    pattern: /^The requested module '([^']+)' does not provide an export named '([^']+)'/,
    tell: ([, from = "", name = ""], cause) =>
      `${placeOf(cause) ?? "a file"} imports "${name}" of "${from}", which has no such export: the two are of versions `
      + "that do not fit, so install a version of the plugin that is made for this service"
  },
  {
    pattern: /^Stripping types is currently unsupported for files under node_modules, for "?([^"]+)"?/,
    tell: ([, file = ""]) =>
      `${pathOf(file)} is TypeScript, which Node does not read below node_modules: a package holds JavaScript, made `
      + "with tsc"
  },
  {
    pattern: /^Package subpath '([^']+)' is not defined by "exports" in (\S+)/,
    tell: ([, part = "", file = ""]) => `"exports" of ${pathOf(file)} does not name "${part}": tell its author`
  },
  {
    pattern: /^No "exports" main defined in (\S+)/,
    tell: ([, file = ""]) => `"exports" of ${pathOf(file)} does not name ".", the file with the plugin: tell its author`
  }
]

/** What went wrong, as the end of a sentence. */
export const reasonOf = (cause: unknown): string => {
  const text = textOf(cause)
  if (cause instanceof Error && "code" in cause && cause.code === toldInFull) return `cannot be loaded: ${text}`
  for (const { pattern, tell } of faults) {
    const found = pattern.exec(text)
    if (found !== null) return `cannot be loaded: ${tell(found, cause)}`
  }
  const place = placeOf(cause)
  const subject = cause instanceof SyntaxError ? "cannot be read as a program" : "threw an error while it was loaded"
  return `${subject}: ${text.split("\n")[0]}${place === undefined ? "" : ` (${place})`}`
}
