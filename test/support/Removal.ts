/**
 * The service without some of its plugins, as whoever deletes them would have it: a copy of the tree without their
 * folders in `modules/`, their lines in the config files, and the tests that are about them.
 */
import { Effect } from "effect"
import { applyEdits, modify, parse } from "jsonc-parser"
import { execFile } from "node:child_process"
import { chmodSync, cpSync, existsSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { compileCache } from "./Service.ts"

const root = decodeURIComponent(new URL("../..", import.meta.url).pathname)

/** What a deployment that only takes payments needs nothing of. */
export const optionalModules: ReadonlyArray<string> = [
  "commerce",
  "storefront",
  "retail",
  "settlement",
  "simulator"
]

/** Made by tools, or linked. */
const left: ReadonlySet<string> = new Set(["node_modules", "dist"])

/** Routes that only {@link optionalModules} modules serve: a test that calls one is about it, whatever it imports. */
const routes = /\bdevnet\/invoices\/|\/api\/commerce\/|action: "simulate"/

/** Tests that go by such a route through a part that others use without it, or through a guide. */
const through: ReadonlySet<string> = new Set(["test/journeys/crash.test.ts", "test/journeys/docs.test.ts"])

/** Files that a file of ours loads or starts. */
const reached = /(?:from|import\(|new URL\()\s*"(\.[^"]+\.ts)"/g

const filesBelow = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))

const withoutLines = (file: string, gone: ReadonlyArray<string>) => {
  const text = readFileSync(file, "utf8")
  const { modules }: { readonly modules: ReadonlyArray<{ readonly use: string }> } = parse(text)
  const at = modules.flatMap(({ use }, index) => gone.includes(use.split("/")[0]!) ? [index] : []).toReversed()
  writeFileSync(
    file,
    at.reduce((rest, index) => applyEdits(rest, modify(rest, ["modules", index], undefined, {})), text)
  )
}

/** Removes the tests that cannot be there any more, until all the rest finds what it loads; answers which. */
const withoutTests = (copy: string): ReadonlyArray<string> => {
  const removed: Array<string> = []
  const remove = (file: string) => {
    removed.push(relative(copy, file))
    rmSync(file)
  }
  const tests = () => filesBelow(join(copy, "test")).filter((file) => file.endsWith(".ts"))
  for (const file of tests().filter((file) => file.endsWith(".test.ts"))) {
    if (through.has(relative(copy, file)) || routes.test(readFileSync(file, "utf8"))) remove(file)
  }
  const lost = (file: string) =>
    [...readFileSync(file, "utf8").matchAll(reached)].some(([, to]) => !existsSync(join(dirname(file), to!)))
  for (let found = tests().filter(lost); found.length > 0; found = tests().filter(lost)) found.forEach(remove)
  return removed.toSorted()
}

/** Makes the copy in `directory`, which is empty; answers the files of tests that went with `gone`. */
export const copyWithout = (gone: ReadonlyArray<string>, directory: string): ReadonlyArray<string> => {
  // Some of its tests run as an ordinary user.
  chmodSync(directory, 0o755)
  const folders = new Set(["modules", "test/modules"].flatMap((above) => gone.map((name) => `${above}/${name}`)))
  for (
    const name of readdirSync(root).filter((name) =>
      !left.has(name) && (!name.startsWith(".") || /\.(?:ya?ml|json)$/.test(name))
    )
  ) {
    cpSync(join(root, name), join(directory, name), {
      recursive: true,
      filter: (from) => !folders.has(relative(root, from))
    })
  }
  symlinkSync(join(root, "node_modules"), join(directory, "node_modules"))
  for (const name of ["devnet", "mainnet"]) withoutLines(join(directory, "config", `${name}.jsonc`), gone)
  return withoutTests(directory)
}

/** Runs a script of the copy's package with nothing of our own surroundings; dies with what it said where it fails. */
export const runIn = (copy: string, script: string, ...words: ReadonlyArray<string>): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const { HOME, PATH, TMPDIR } = process.env
    const env = { HOME, PATH, TMPDIR, NODE_COMPILE_CACHE: compileCache }
    const child = execFile(
      "npm",
      ["run", script, "--", ...words],
      { cwd: copy, env, maxBuffer: 2 ** 24 },
      (error, said, complained) =>
        resume(error === null ? Effect.void : Effect.die(new Error(`npm run ${script}\n${said}\n${complained}`)))
    )
    return Effect.sync(() => void child.kill())
  })
