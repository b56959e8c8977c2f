/** The module's files beside its code: the scripts of the pages, made by `build.ts`. */
import { Effect, FileSystem, type PlatformError } from "effect"
import { fileURLToPath } from "node:url"

type Script = Effect.Effect<string, PlatformError.PlatformError, FileSystem.FileSystem>

const scriptAt = (path: string): Script =>
  Effect.flatMap(
    FileSystem.FileSystem,
    (fs) => fs.readFileString(fileURLToPath(new URL(path, import.meta.url)))
  )

/** The payment page's: one classic script for browsers, minified, the text of `island.js`. */
export const island: Script = scriptAt("island.js")

/** The claim page's, in the same way: the text of `claim.js`. */
export const claimScript: Script = scriptAt("claim.js")
