/** Finds the plugin an entry names: a built-in one, a package, or a file. */
import { Effect, FileSystem, Path, Predicate } from "effect"
import { type Plugin, type Slot, slots } from "../Plugin.ts"
import { importOutside, resolvePackage } from "./OutsidePlugins.ts"
import { objectionTo, tablePrefixOf } from "./PluginShape.ts"
import { suggestion } from "./Problem.ts"

/** Any plugin, whatever its options, needs and services. */
export type AnyPlugin = Plugin<any, any, any>

/**
 * Where the built-in plugins of a slot are, below `modules/`. A feature is a folder with `plugin.ts`, a driver a file.
 * Drivers of a feature's own port are files in its folder `drivers/`; an entry of `modules` names one
 * `<feature>/<driver>`.
 */
export const folderOf: Readonly<Record<Slot, string>> = {
  chains: "chains",
  prices: "prices",
  tokenSources: "tokensources",
  transports: "transports",
  signIns: "signins",
  modules: "."
}

/** Folder of the built-in plugins. */
export const builtInFolder: string = decodeURIComponent(new URL("../../modules", import.meta.url).pathname)

/** What files of plugins end with: as this one does, `.ts` in the sources and `.js` in a bundle. */
const extension = import.meta.url.slice(import.meta.url.lastIndexOf("."))

/** The names of the built-in plugins of a slot, sorted. */
export const builtIns = (slot: Slot): Effect.Effect<ReadonlyArray<string>, never, FileSystem.FileSystem | Path.Path> =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const folder = path.join(builtInFolder, folderOf[slot])
    const filesIn = (below: string) => Effect.orElseSucceed(fs.readDirectory(below), (): Array<string> => [])
    const names = yield* filesIn(folder)
    if (slot !== "modules") return driverFiles(names).toSorted()
    const slotFolders = new Set(Object.values(folderOf))
    const pluginNames = yield* Effect.forEach(
      names.filter((name) => !slotFolders.has(name)),
      (name) =>
        Effect.gen(function*() {
          const files = yield* filesIn(path.join(folder, name))
          if (!files.includes(`plugin${extension}`)) return []
          const drivers = driverFiles(yield* filesIn(path.join(folder, name, "drivers")))
          return [name, ...drivers.map((driver) => `${name}/${driver}`)]
        })
    )
    return pluginNames.flat().toSorted()
  })

const driverFiles = (names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names.filter((name) => name.endsWith(extension)).map((name) => name.slice(0, -extension.length))

/** The file of a built-in plugin of that name, whether there is one or not; undefined where the name cannot be one. */
const builtInFile = (slot: Slot, use: string): string | undefined => {
  if (isBuiltInName(use)) {
    return slot === "modules"
      ? `${use}/plugin${extension}`
      : `${folderOf[slot]}/${use}${extension}`
  }
  if (slot !== "modules" || !isDriverName(use)) return undefined
  const [feature, driver] = use.split("/")
  return `${feature}/drivers/${driver}${extension}`
}

/** Folders that drivers had before they moved to the feature whose port they serve, and these features. */
const renamedFolders: ReadonlyMap<string, string> = new Map([["settlements", "settlement"], ["retailers", "retail"]])

/** What a driver of an older config file is called today; undefined: it was not renamed. */
const newNameOf = (use: string): string | undefined => {
  const [folder = "", driver] = use.split("/")
  const feature = renamedFolders.get(folder)
  return feature === undefined ? undefined : `${feature}/${driver}`
}

const isBuiltInName = (use: string) => /^[a-z][a-z0-9-]*$/.test(use)
const isDriverName = (use: string) => /^[a-z][a-z0-9-]*\/[a-z][a-z0-9-]*$/.test(use)
const isPath = (use: string) => /^\.{0,2}\//.test(use)

/** What an entry's file exports as `plugin`. The failure is a sentence for the operator. */
export const findPlugin = (
  slot: Slot,
  use: string,
  configFolder: string
): Effect.Effect<AnyPlugin, string, FileSystem.FileSystem | Path.Path> =>
  Effect.gen(function*() {
    const path = yield* Path.Path
    const fs = yield* FileSystem.FileSystem
    if (isPath(use)) {
      const file = path.resolve(configFolder, use)
      const exists = yield* Effect.orElseSucceed(fs.exists(file), () => false)
      if (!exists) return yield* Effect.fail(`file not found: ${file}`)
      return yield* loadOutside((yield* Effect.orDie(path.toFileUrl(file))).href, use)
    }
    const builtIn = builtInFile(slot, use)
    if (builtIn !== undefined) {
      const file = path.join(builtInFolder, builtIn)
      const exists = yield* Effect.orElseSucceed(fs.exists(file), () => false)
      if (exists) return yield* importBuiltIn(yield* Effect.orDie(path.toFileUrl(file)), use)
      if (isDriverName(use)) {
        const newName = newNameOf(use)
        if (newName !== undefined) {
          return yield* Effect.fail(`"${use}" is called "${newName}" now: write { "use": "${newName}" }`)
        }
        return yield* Effect.fail(`no built-in plugin "${use}" in ${slot}. ${suggestion(use, yield* builtIns(slot))}`)
      }
    }
    const entry = yield* findPackage(use, path.resolve(configFolder))
    if (entry !== null) return yield* loadOutside(entry, use)
    return yield* Effect.fail(
      isBuiltInName(use)
        ? `no built-in plugin "${use}" in ${slot}, and no package of that name. ${
          suggestion(use, yield* builtIns(slot))
        }`
        : `package "${use}" is not installed: npm install ${use}`
    )
  })

/**
 * The URL of a package's entry; null: it is not installed. It is looked for as from the config's folder, where an
 * operator installs it, and then as from the service's own.
 */
const findPackage = (use: string, configFolder: string): Effect.Effect<string | null, string, Path.Path> =>
  Effect.gen(function*() {
    const path = yield* Path.Path
    for (const folder of [configFolder, builtInFolder]) {
      const place = yield* Effect.orDie(path.toFileUrl(path.join(folder, "config")))
      const entry = yield* resolvePackage(use, place).pipe(
        Effect.catch((error) => error.isAbsent ? Effect.succeed(null) : Effect.fail(`"${use}" ${error.reason}`))
      )
      if (entry !== null) return entry
    }
    return null
  })

const importBuiltIn = (file: URL, use: string): Effect.Effect<AnyPlugin, string> =>
  Effect.gen(function*() {
    const module: unknown = yield* Effect.tryPromise({
      try: () => import(/* @vite-ignore */ file.href) as Promise<unknown>,
      catch: (cause) => `cannot be loaded: ${cause instanceof Error ? cause.message : String(cause)}`
    })
    const plugin = Predicate.hasProperty(module, "plugin") ? module.plugin : undefined
    return plugin === undefined ? yield* Effect.fail(`${use} exports no \`plugin\``) : plugin as AnyPlugin
  })

/** The plugin that a file from outside exports, if it is one for this service. */
const loadOutside = (
  url: string,
  use: string
): Effect.Effect<AnyPlugin, string, FileSystem.FileSystem | Path.Path> =>
  Effect.gen(function*() {
    const module = yield* Effect.mapError(importOutside(url), ({ reason }) => `"${use}" ${reason}`)
    const objection = objectionTo(module, yield* reservedPrefixes)
    return objection === undefined
      ? (module as { readonly plugin: AnyPlugin }).plugin
      : yield* Effect.fail(`"${use}" ${objection}`)
  })

/** What the tables of a built-in plugin, or of the runtime, may begin with: no name from outside may lead to it. */
const reservedPrefixes = Effect.gen(function*() {
  const names = yield* Effect.forEach(slots, builtIns)
  return new Set(["runtime", ...names.flat()].map((name) => tablePrefixOf(name.replaceAll("/", "-"))))
})
