/** The module's one file beside its code: the script of the page, made by `build.ts`. */
import { Effect, FileSystem, type PlatformError } from "effect"
import { fileURLToPath } from "node:url"

/** One classic script for browsers, minified: the text of `island.js`. */
export const island: Effect.Effect<string, PlatformError.PlatformError, FileSystem.FileSystem> = Effect.flatMap(
  FileSystem.FileSystem,
  (fs) => fs.readFileString(fileURLToPath(new URL("island.js", import.meta.url)))
)
