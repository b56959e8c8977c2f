/** Files with secrets that other accounts of the machine may read. */
import { Effect, FileSystem, Path } from "effect"
import { getNodeValue } from "jsonc-parser"
import type { LoadedConfig } from "../../../runtime/Config.ts"
import { literalSecrets } from "../../../runtime/config/Literals.ts"
import { type JsonValue, parseSource, printPath } from "../../../runtime/config/Source.ts"
import { masterFile } from "../../../runtime/Secrets.ts"
import { fail, type Finding, ok } from "./Findings.ts"

const check = "secret files"

/** Any user of the machine may read (mode bits, stat(2)). */
const readableByOthers = 0o004

/** A container mounts its secrets here for itself alone, readable by every account that it has. */
const containerSecrets = "/run/secrets/"

/** A file that holds secrets. */
export interface SecretFile {
  readonly file: string
  /** What is in it. */
  readonly holds: string
  readonly mode: number
}

/** Judges files by their modes. Windows has no such bits. Pure. */
export const secretFileFindings = (files: ReadonlyArray<SecretFile>, platform: string): ReadonlyArray<Finding> => {
  const open = platform === "win32" ?
    [] :
    files.filter(({ file, mode }) => (mode & readableByOthers) !== 0 && !file.startsWith(containerSecrets))
  return open.length === 0
    ? [ok(check, "no other account of this machine reads them")]
    : open.map(({ file, holds }) =>
      fail(check, `any user of this machine may read ${file}, which holds ${holds}`, `Close it: chmod o-r ${file}`)
    )
}

const referencePattern = /\$\{file:([^}]+)\}/gu

/** The config where it holds secrets itself, the files that it refers to, and the key file of the data directory. */
export const examineSecretFiles = Effect.fnUntraced(function*(config: LoadedConfig, file: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const text = yield* Effect.orElseSucceed(fs.readFileString(file), () => "{}")
  const { source } = parseSource(file, text)
  const value: JsonValue = source.root === undefined ? {} : getNodeValue(source.root)
  const isReference = (at: ReadonlyArray<string | number>) =>
    String(at.reduce<any>((inner, key) => inner?.[key], value)).includes("${")
  const secrets = literalSecrets(value, config.plugins, isReference)
  const named = [
    ...secrets.length === 0 ? [] : [[path.resolve(file), secrets.map(printPath).join(", ")] as const],
    ...[...text.matchAll(referencePattern)].map(([, name = ""]) =>
      [path.resolve(path.dirname(file), name), "a secret of the config"] as const
    ),
    [path.join(path.resolve(config.settings.data.directory), masterFile), "the master key"] as const
  ]
  const files = yield* Effect.forEach(named, ([name, holds]) =>
    Effect.match(fs.stat(name), {
      onSuccess: ({ mode }): ReadonlyArray<SecretFile> => [{ file: name, holds, mode }],
      onFailure: () => []
    }))
  return secretFileFindings(files.flat(), process.platform)
})
