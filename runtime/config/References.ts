/** `${env:NAME}` and `${file:/path}` inside strings: how a secret reaches the service without being in its config. */
import { Effect, FileSystem, Path } from "effect"
import type { JsonValue, KeyPath } from "./Source.ts"

/** Bytes of a file given by `${file:…}`, at most; a key or a password is far smaller. */
export const maximumReferenceBytes = 65_536

/** What resolving needs besides the file system. */
export interface ReferenceContext {
  /** The process's environment variables. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Folder that a relative `${file:…}` starts from: the config file's own. */
  readonly folder: string
}

/** A reference that leads nowhere, and its place in the string as written. */
export interface BrokenReference {
  readonly path: KeyPath
  readonly reference: string
  readonly message: string
}

export interface ResolvedReferences {
  readonly value: JsonValue
  readonly brokenReferences: ReadonlyArray<BrokenReference>
  /** Paths of the strings that hold at least one reference. */
  readonly referencePaths: ReadonlyArray<KeyPath>
}

const pattern = /\$\{([^}]*)\}?/g

/** Resolves every reference in `value`; nothing is thrown, what is broken is listed and stays as written. */
export const resolveReferences = (
  value: JsonValue,
  context: ReferenceContext,
  path: KeyPath = []
): Effect.Effect<ResolvedReferences, never, FileSystem.FileSystem | Path.Path> =>
  Effect.gen(function*() {
    if (typeof value === "string") return yield* resolveString(value, context, path)
    if (Array.isArray(value)) {
      const items = yield* Effect.forEach(value, (item, index) => resolveReferences(item, context, [...path, index]))
      return combine(items, items.map((item) => item.value))
    }
    if (typeof value === "object" && value !== null) {
      const entries = yield* Effect.forEach(Object.entries(value), ([key, item]) =>
        Effect.map(resolveReferences(item, context, [...path, key]), (resolved) =>
          [key, resolved] as const))
      return combine(
        entries.map(([, resolved]) =>
          resolved
        ),
        Object.fromEntries(entries.map(([key, resolved]) => [key, resolved.value]))
      )
    }
    return { value, brokenReferences: [], referencePaths: [] }
  })

const combine = (parts: ReadonlyArray<ResolvedReferences>, value: JsonValue): ResolvedReferences => ({
  value,
  brokenReferences: parts.flatMap((part) => part.brokenReferences),
  referencePaths: parts.flatMap((part) => part.referencePaths)
})

const resolveString = (text: string, context: ReferenceContext, path: KeyPath) =>
  Effect.gen(function*() {
    const parts: Array<string> = []
    const broken: Array<BrokenReference> = []
    let end = 0
    for (const match of text.matchAll(pattern)) {
      const reference = match[0]
      parts.push(text.slice(end, match.index))
      end = match.index + reference.length
      const found = yield* Effect.result(lookup(reference, match[1] ?? "", context))
      if (found._tag === "Success") parts.push(found.success)
      else broken.push({ path, reference, message: found.failure })
    }
    const value = broken.length > 0 ? text : parts.join("") + text.slice(end)
    return { value, brokenReferences: broken, referencePaths: end > 0 ? [path] : [] }
  })

const lookup = (
  reference: string,
  inside: string,
  { environment, folder }: ReferenceContext
): Effect.Effect<string, string, FileSystem.FileSystem | Path.Path> =>
  Effect.gen(function*() {
    if (inside.startsWith("env:") && reference.endsWith("}")) {
      const name = inside.slice("env:".length)
      const found = environment[name]
      if (found === undefined) return yield* Effect.fail(`environment variable ${name} is not set`)
      return found === "" ? yield* Effect.fail(`environment variable ${name} is empty`) : found
    }
    if (inside.startsWith("file:") && reference.endsWith("}")) {
      const path = yield* Path.Path
      return yield* readReferenced(path.resolve(folder, inside.slice("file:".length)))
    }
    return yield* Effect.fail(`${reference} is not a reference: write \${env:NAME} or \${file:/path}`)
  })

const readReferenced = (file: string) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const info = yield* Effect.mapError(fs.stat(file), (error) =>
      error.reason._tag === "NotFound" ? `file not found: ${file}` : `file cannot be read: ${file}`)
    if (info.type !== "File" && info.type !== "FIFO") {
      return yield* Effect.fail(`not a file: ${file}`)
    }
    if (info.size > maximumReferenceBytes) {
      return yield* Effect.fail(`file has more than ${maximumReferenceBytes} bytes: ${file}`)
    }
    const text = yield* Effect.mapError(fs.readFileString(file), () =>
      `file cannot be read: ${file}`)
    // Editors and `echo` end a file with a newline that no secret has.
    const trimmed = text.replace(/\r?\n$/, "")
    return trimmed === "" ? yield* Effect.fail(`file is empty: ${file}`) : trimmed
  })
