/** Finds the plugin an entry names: a built-in one, a package, or a file. */
import { Effect, FileSystem, Path, Predicate } from "effect"
import type { Plugin, Slot } from "../Plugin.ts"
import { shareWithPlugins } from "./OutsidePlugins.ts"
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

/** The slots of the config file, in the order their plugins start: whoever uses a driver starts after it. */
export const slots: ReadonlyArray<Slot> = ["tokenSources", "prices", "chains", "transports", "signIns", "modules"]

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
      yield* shareWithPlugins
      return yield* importPlugin(yield* Effect.orDie(path.toFileUrl(file)), use)
    }
    const builtIn = builtInFile(slot, use)
    if (builtIn !== undefined) {
      const file = path.join(builtInFolder, builtIn)
      const exists = yield* Effect.orElseSucceed(fs.exists(file), () => false)
      if (exists) return yield* importPlugin(yield* Effect.orDie(path.toFileUrl(file)), use)
      if (isDriverName(use)) {
        const newName = newNameOf(use)
        if (newName !== undefined) {
          return yield* Effect.fail(`"${use}" is called "${newName}" now: write { "use": "${newName}" }`)
        }
        return yield* Effect.fail(`no built-in plugin "${use}" in ${slot}. ${suggestion(use, yield* builtIns(slot))}`)
      }
    }
    yield* shareWithPlugins
    return yield* Effect.catch(importPlugin(use, use), (reason) =>
      Effect.gen(function*() {
        if (reason !== moduleMissing) return yield* Effect.fail(reason)
        return yield* Effect.fail(
          isBuiltInName(use)
            ? `no built-in plugin "${use}" in ${slot}, and no package of that name. ${
              suggestion(use, yield* builtIns(slot))
            }`
            : `package "${use}" is not installed: npm install ${use}`
        )
      }))
  })

const moduleMissing = "the module cannot be found"

const importPlugin = (from: URL | string, use: string): Effect.Effect<AnyPlugin, string> =>
  Effect.gen(function*() {
    const specifier = String(from)
    const module: unknown = yield* Effect.tryPromise({
      try: () => import(/* @vite-ignore */ specifier),
      catch: (cause) => reasonOf(cause, specifier)
    })
    const plugin = Predicate.hasProperty(module, "plugin") ? module.plugin : undefined
    if (!isPlugin(plugin)) return yield* Effect.fail(`${use} exports no \`plugin\` made by Plugin.make`)
    return plugin
  })

const reasonOf = (cause: unknown, specifier: string): string => {
  const message = cause instanceof Error ? cause.message : String(cause)
  // A package that is there but imports something that is not is another fault than a package that is not there.
  const absent = Predicate.hasProperty(cause, "code") && cause.code === "ERR_MODULE_NOT_FOUND" &&
    message.includes(`'${specifier}'`)
  return absent || /^(Cannot find package|Failed to load url) .*\bimported from\b|^Failed to load url/.test(message) &&
      message.includes(specifier)
    ? moduleMissing
    : `cannot be loaded: ${message}`
}

const isPlugin = (value: unknown): value is AnyPlugin =>
  Predicate.hasProperty(value, "name") && typeof value.name === "string" &&
  Predicate.hasProperty(value, "slot") && typeof value.slot === "string" &&
  Predicate.hasProperty(value, "layer") && typeof value.layer === "function"
