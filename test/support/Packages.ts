/**
 * The packages as they would be published, installed in a folder of their own. Packed once for the same sources, and
 * kept beside Node's packages: making them takes 20 s of processor time, and several files of a run want them.
 */
import { execFile, execFileSync } from "node:child_process"
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { sourcesVersion } from "./BuiltService.ts"

const root = decodeURIComponent(new URL("../..", import.meta.url).pathname)
const cache = join(root, "node_modules/.cache/tillwire-packages")

/** The packages, by name, with the folder that each is packed of. Packing the first makes that of the second. */
const folders: Readonly<Record<string, string>> = { tillwire: root, "@tillwire/sdk": join(root, "dist", "sdk") }

/** What a package holds, by name of the package. */
export type PackedFiles = Readonly<Record<string, ReadonlyArray<{ readonly path: string; readonly size: number }>>>

/** Milliseconds after which whoever makes the packages is taken for dead, and between two looks at it. */
const abandonedMillis = 300_000
const lookMillis = 200

const pack = async (target: string): Promise<void> => {
  const unfinished = mkdtempSync(join(cache, "packing-"))
  const files: Record<string, PackedFiles[string]> = {}
  for (const [name, source] of Object.entries(folders)) {
    const { stdout } = await promisify(execFile)("npm", ["pack", "--json", "--pack-destination", unfinished], {
      cwd: source,
      maxBuffer: 2 ** 26
    })
    const [packed] = JSON.parse(stdout)
    files[name] = packed.files
    const installed = join(unfinished, "node_modules", name)
    mkdirSync(installed, { recursive: true })
    execFileSync("tar", ["-xzf", join(unfinished, packed.filename), "-C", installed, "--strip-components", "1"])
  }
  writeFileSync(join(unfinished, "files.json"), JSON.stringify(files))
  renameSync(unfinished, target)
  removeOlder()
}

/** Packages that stay: those of this tree, and of one before it. */
const keptPackages = 2

/** Also what a run left that was ended while it packed. */
const removeOlder = (): void => {
  const names = readdirSync(cache).filter((name) => name !== "lock").map((name) => ({
    name,
    millis: statSync(join(cache, name)).mtimeMs
  }))
  for (const { name } of names.toSorted((a, b) => b.millis - a.millis).slice(keptPackages)) {
    rmSync(join(cache, name), { recursive: true, force: true })
  }
}

/** Where the packages of these sources are unpacked; packs them if nobody has. */
const packedFolder = async (): Promise<string> => {
  const target = join(cache, sourcesVersion())
  const lock = join(cache, "lock")
  mkdirSync(cache, { recursive: true })
  while (!existsSync(target)) {
    // Both make `dist/`, so only one at a time may.
    if (mkdirSync(lock, { recursive: true }) !== undefined) {
      await pack(target).finally(() => rmSync(lock, { recursive: true, force: true }))
    } else {
      const made = statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? performance.timeOrigin + performance.now()
      if (performance.timeOrigin + performance.now() - made > abandonedMillis) rmSync(lock, { recursive: true })
      await new Promise((resolve) => setTimeout(resolve, lookMillis))
    }
  }
  return target
}

/** A project's folder that has both packages below its `node_modules`, and `effect`, which their users install. */
export const installPackages = async (folder: string): Promise<PackedFiles> => {
  const packed = await packedFolder()
  const modules = join(folder, "node_modules")
  mkdirSync(modules, { recursive: true })
  cpSync(join(packed, "node_modules"), modules, { recursive: true })
  // What somebody who writes for the service installs beside it: it brings nothing but programs.
  for (const name of ["effect", "@types/node"]) {
    mkdirSync(dirname(join(modules, name)), { recursive: true })
    symlinkSync(join(root, "node_modules", name), join(modules, name))
  }
  return JSON.parse(readFileSync(join(packed, "files.json"), "utf8")) as PackedFiles
}

/** A folder outside of the repository. */
export const outsideFolder = (name: string): string => mkdtempSync(join(tmpdir(), `till-${name}-`))
