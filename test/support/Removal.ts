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

/** What is about the money that has come in, and the record of who did what. */
const moneyModules: ReadonlyArray<string> = [
  "audit",
  "batches",
  "customers",
  "exceptions",
  "exports",
  "ledger",
  "reconciliation",
  "screening"
]

/** What tells people beside the API. */
const messageModules: ReadonlyArray<string> = ["mail", "notices", "sinks"]

/** Ways for payors to begin a payment themselves. */
const payorModules: ReadonlyArray<string> = ["links"]

/** What speaks to shops in the words of another server. */
const shopModules: ReadonlyArray<string> = ["btcpay"]

/** Who does what for a merchant, beside its one owner, and where they do it. */
const peopleModules: ReadonlyArray<string> = ["team", "dashboard"]

/** Modules that the service starts without. */
export const removableModules: ReadonlyArray<string> = [
  ...optionalModules,
  ...moneyModules,
  ...messageModules,
  ...payorModules,
  ...shopModules,
  ...peopleModules
]

/**
 * Tests that compare pages, tables of codes or lists of routes with the whole service: who deletes a module deletes
 * what the pages say of it too. The last two bundle the service, and need node_modules itself beside it, not a link.
 */
const wholeServiceTests: ReadonlyArray<string> = [
  "test/modules/docs/reference.test.ts",
  "test/journeys/errorPages.long.test.ts",
  "test/journeys/errors.test.ts",
  "test/journeys/health.long.test.ts",
  "test/journeys/attacks/credentials.long.test.ts",
  "test/runtime/http/declared.test.ts",
  "test/runtime/build.long.test.ts",
  "test/runtime/plugins.long.test.ts"
]

/** Calls that only {@link optionalModules} modules answer and that no path names in full. */
const calls = /\bdevnet\/invoices\/|\/api\/commerce\/|action: "simulate"/

/** The definitions of a module's routes: `api.ts`, and the parts of it in a folder of its name. */
const apiTextOf = (name: string): string => {
  const folder = join(root, "modules", name, "api")
  const parts = existsSync(folder) ? filesBelow(folder) : []
  return [`${folder}.ts`, ...parts].filter(existsSync).map((file) => readFileSync(file, "utf8")).join("\n")
}

/** Paths that the modules serve, as their `api.ts` writes them, up to their first parameter. */
const pathsOf = (modules: ReadonlyArray<string>): ReadonlyArray<string> =>
  modules.map(apiTextOf).flatMap((text) => {
    const [prefix = ""] = [...text.matchAll(/\.prefix\("([^"]+)"\)/g)].map(([, path]) => path!)
    const own = [...text.matchAll(/HttpApiEndpoint\.\w+\(\s*"\w+",\s*"([^"]+)"/g)].map(([, path]) =>
      path!.split(":")[0]!
    )
    return own.map((path) => `${prefix}${path}`.replace(/\/$/, ""))
  })

/** Whether a test calls one of the paths: it is about the module that serves it, whatever it imports. */
const isCalling = (text: string, paths: ReadonlyArray<string>): boolean =>
  paths.some((path) => new RegExp(`["\`]${path}(?![\\w-])`).test(text))

/** Tests that go by such a route through a part that others use without it, or through a guide. */
const through: ReadonlySet<string> = new Set([
  "test/journeys/archive.long.test.ts",
  "test/journeys/backup.long.test.ts",
  "test/journeys/crash.long.test.ts",
  "test/journeys/dashboardSums.long.test.ts",
  "test/journeys/docs.long.test.ts",
  "test/journeys/money.long.test.ts",
  "test/journeys/operatorRepairs.long.test.ts",
  "test/modules/btcpay/deliveries.long.test.ts",
  "test/modules/cli/listen.long.test.ts",
  "test/modules/sinks/journey.long.test.ts"
])

/** Files that a file of ours loads or starts. */
const reached = /(?:from|import\(|new URL\()\s*"(\.[^"]+\.ts)"/g

const filesBelow = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))

/** The typed client lists what each module serves: an import and a call for each. */
const withoutClientLines = (file: string, gone: ReadonlyArray<string>) => {
  const text = readFileSync(file, "utf8")
  const imports = [...text.matchAll(/^import \{ (\w+) \} from "\.\.\/(\w+)\/api\.ts"\n/gm)]
    .filter(([, , name]) => gone.includes(name!))
  const rest = imports.reduce(
    (kept, [line, api]) => kept.replace(line!, "").replace(`\n  .addHttpApi(${api})`, ""),
    text
  )
  writeFileSync(file, rest)
}

const withoutLines = (file: string, gone: ReadonlyArray<string>) => {
  const text = readFileSync(file, "utf8")
  const { modules }: { readonly modules: ReadonlyArray<{ readonly use: string }> } = parse(text)
  const at = modules.flatMap(({ use }, index) => gone.includes(use.split("/")[0]!) ? [index] : []).toReversed()
  writeFileSync(
    file,
    at.reduce((rest, index) => applyEdits(rest, modify(rest, ["modules", index], undefined, {})), text)
  )
}

/** Scripts of the package name the folders of modules that are built, or checked, by themselves. */
const withoutCommands = (file: string, gone: ReadonlyArray<string>) => {
  const text = readFileSync(file, "utf8")
  const { scripts }: { readonly scripts: Readonly<Record<string, string>> } = parse(text)
  const isOfGone = (command: string) => gone.some((name) => command.includes(`modules/${name}/`))
  const rest = Object.entries(scripts).reduce((kept, [name, script]) => {
    const commands = script.split(" && ").filter((command) => !isOfGone(command))
    return applyEdits(kept, modify(kept, ["scripts", name], commands.join(" && "), {}))
  }, text)
  writeFileSync(file, rest)
}

/** Removes the tests that cannot be there any more, until all the rest finds what it loads; answers which. */
const withoutTests = (copy: string, gone: ReadonlyArray<string>): ReadonlyArray<string> => {
  const removed: Array<string> = []
  const remove = (file: string) => {
    removed.push(relative(copy, file))
    rmSync(file)
  }
  const isOptionalGone = gone.some((name) => optionalModules.includes(name))
  const paths = pathsOf(gone)
  const tests = () => filesBelow(join(copy, "test")).filter((file) => file.endsWith(".ts"))
  for (const file of tests().filter((file) => file.endsWith(".test.ts"))) {
    const text = readFileSync(file, "utf8")
    const isOfOptional = through.has(relative(copy, file)) || calls.test(text)
    const isOfWhole = wholeServiceTests.includes(relative(copy, file))
    if (isOfWhole || (isOptionalGone && isOfOptional) || isCalling(text, paths)) remove(file)
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
  withoutCommands(join(directory, "package.json"), gone)
  withoutClientLines(join(directory, "modules/clients/client.ts"), gone)
  return withoutTests(directory, gone)
}

/**
 * Runs a program in the copy with nothing of our own surroundings but `environment`; dies with what it said where it
 * fails.
 */
const runProgram = (
  copy: string,
  program: string,
  words: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>> = {}
): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const { HOME, PATH, TMPDIR } = process.env
    const env = { HOME, PATH, TMPDIR, NODE_COMPILE_CACHE: compileCache, ...environment }
    const child = execFile(program, words, { cwd: copy, env, maxBuffer: 2 ** 24 }, (error, said, complained) =>
      resume(
        error === null ? Effect.void : Effect.die(new Error(`${program} ${words.join(" ")}\n${said}\n${complained}`))
      ))
    return Effect.sync(() => void child.kill())
  })

/** Runs a script of the copy's package. */
export const runIn = (
  copy: string,
  script: string,
  words: ReadonlyArray<string> = [],
  environment: Readonly<Record<string, string>> = {}
): Effect.Effect<void> => runProgram(copy, "npm", ["run", script, "--", ...words], environment)

/**
 * Checks the types of what the service is made of, without its tests: a third of the time of `check:types`. One checker
 * takes 23 s of processor time, the usual four 52 s, because each works out the types that its files share by itself;
 * on two cores they are no sooner done.
 */
export const checkServiceTypes = (copy: string): Effect.Effect<void> =>
  Effect.suspend(() => {
    const include = ["schemas", "runtime", "modules"]
    const project = join(copy, "tsconfig.service.json")
    writeFileSync(project, JSON.stringify({ extends: "./tsconfig.json", include }))
    return Effect.ensuring(
      runProgram(copy, "node_modules/.bin/tsc", ["--noEmit", "--checkers", "1", "--project", project]),
      Effect.sync(() => rmSync(project))
    )
  })
