/** Which build runs. */
import { Option } from "effect"
import { existsSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** The version of package.json. Read when it is asked for: what only imports this file may have none beside it. */
export const version = (): string => {
  const manifest: { readonly version: string } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
  return manifest.version
}

/** Where a checkout keeps what `HEAD` is: its own directory, or the file that names it in a linked work tree. */
const gitDirectory = (): string => {
  const path = join(root, ".git")
  if (statSync(path).isDirectory()) return path
  return readFileSync(path, "utf8").replace(/^gitdir: /, "").trim()
}

const headOf = (directory: string): string => {
  const head = readFileSync(join(directory, "HEAD"), "utf8").trim()
  if (!head.startsWith("ref: ")) return head
  const common = join(directory, "commondir")
  const shared = existsSync(common) ? join(directory, readFileSync(common, "utf8").trim()) : directory
  return readFileSync(join(shared, head.slice("ref: ".length)), "utf8").trim()
}

/** The commit that is checked out, 12 hex digits; `unknown` where git's files are not there. Reads two small files. */
export const commitId = (): string =>
  Option.getOrElse(Option.liftThrowable(() => headOf(gitDirectory()).slice(0, 12))(), () => "unknown")
