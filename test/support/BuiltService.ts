/**
 * The service as a bundle, as users get it: it starts in half the processor time that the sources take. Kept beside
 * Node's packages under a hash of what it is made of, so that only a change of the service builds it again.
 */
import { execFile } from "node:child_process"
import { createHash, randomBytes } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"

const root = decodeURIComponent(new URL("../..", import.meta.url).pathname)
const cache = join(root, "node_modules/.cache/tillwire-bundles")

/** What runs several services one after another: an entry that only tests have. */
const host = "test/support/hostProcess.ts"

/** Everything that is in the bundle, by its place in the tree; packages by their versions. */
const ingredients = ["config", "modules", "runtime", "schemas", "package.json", "package-lock.json", host]

/** Bundles that stay: of other branches, and of a run that goes on beside this one. */
const keptBundles = 4

const filesOf = (path: string): ReadonlyArray<string> =>
  statSync(join(root, path)).isFile()
    ? [path]
    : readdirSync(join(root, path), { recursive: true, withFileTypes: true })
      .flatMap((entry) => entry.isFile() ? [join(entry.parentPath, entry.name).slice(root.length)] : [])

/** Changes with every change of the service. */
export const sourcesVersion = (): string => {
  const hash = createHash("sha256").update(process.version)
  for (const file of ingredients.filter((path) => existsSync(join(root, path))).flatMap(filesOf).toSorted()) {
    hash.update(file).update("\0").update(readFileSync(join(root, file))).update("\0")
  }
  return hash.digest("hex").slice(0, 16)
}

const removeOlder = (): void => {
  const names = readdirSync(cache).map((name) => ({ name, millis: statSync(join(cache, name)).mtimeMs }))
  for (const { name } of names.toSorted((a, b) => b.millis - a.millis).slice(keptBundles)) {
    rmSync(join(cache, name), { recursive: true, force: true })
  }
}

/** The entry of the bundle of these sources, if it was built. */
export const findBundle = (): string | undefined => {
  const entry = join(cache, sourcesVersion(), "main.js")
  return existsSync(entry) ? entry : undefined
}

/** The entry of the bundle of these sources, built if need be: 5 s of processor time. */
export const buildBundle = async (): Promise<string> => {
  const found = findBundle()
  if (found !== undefined) return found
  const folder = join(cache, sourcesVersion())
  const unfinished = `${folder}.${randomBytes(4).toString("hex")}`
  mkdirSync(cache, { recursive: true })
  await promisify(execFile)(process.execPath, [join(root, "runtime/build.ts"), unfinished, host])
  // Another run may have finished the same one meanwhile.
  if (existsSync(folder)) rmSync(unfinished, { recursive: true })
  else renameSync(unfinished, folder)
  removeOlder()
  return join(folder, "main.js")
}
