/** The module's files beside its code: the stylesheet, and the scripts that `build.ts` makes. */
import { Effect, FileSystem, type PlatformError } from "effect"
import { fileURLToPath } from "node:url"

const fileAt = (path: string): Effect.Effect<string, PlatformError.PlatformError, FileSystem.FileSystem> =>
  Effect.flatMap(
    FileSystem.FileSystem,
    (fs) => fs.readFileString(fileURLToPath(new URL(path, import.meta.url)))
  )

export const stylesheet = fileAt("style.css")

/** One classic script for browsers, minified: the text of `island.js`. */
export const island = fileAt("island.js")

/** The same of `sign.js`. */
export const sign = fileAt("sign.js")
