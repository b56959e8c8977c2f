/** Which files a real process loads: what its config does not name must not be among them. */
import { readFileSync, writeFileSync } from "node:fs"
import { join, relative } from "node:path"

/** Appends the address of each file that Node loads to the file that the environment names. */
const recorder = `
  const { appendFileSync } = require("node:fs")
  require("node:module").registerHooks({
    load: (url, context, next) => {
      appendFileSync(process.env.LOADED_FILES, url + "\\n")
      return next(url, context)
    }
  })`

export interface LoadedFiles {
  /** What the process must have in its environment. */
  readonly environment: Readonly<Record<string, string>>
  /** Files below a folder that were loaded so far. */
  readonly below: (folder: string) => ReadonlyArray<string>
}

/** `directory` holds the hook and what it writes. */
export const recordLoadedFiles = (directory: string): LoadedFiles => {
  const hook = join(directory, "recorder.cjs")
  const written = join(directory, "loaded.txt")
  writeFileSync(hook, recorder)
  writeFileSync(written, "")
  return {
    environment: { NODE_OPTIONS: `--require ${hook}`, LOADED_FILES: written },
    below: (folder) =>
      readFileSync(written, "utf8").split("\n")
        .filter((line) => line.startsWith(`file://${folder}/`))
        .map((line) => relative(folder, decodeURIComponent(new URL(line).pathname)))
  }
}
