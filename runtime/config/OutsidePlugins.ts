/**
 * Plugins from outside: files and packages that the config names, anywhere on the disk. They may have been installed
 * with an `effect` of their own, and a service tag, a schema class or a fiber of one copy is nothing to another. So
 * `effect` and `tillwire/plugin` are the service's own copies, whoever imports them, and whether or not anything of
 * that name is installed beside the plugin.
 */
import { Effect, Result } from "effect"
import { existsSync } from "node:fs"
import { registerHooks } from "node:module"
import { ImportFailed, reasonOf, sharedMissing } from "./ImportFaults.ts"

/** Seconds that the files of one plugin may take to load: one that waits for something at its top level ends here. */
export const maximumLoadSeconds = 30

const isShared = (specifier: string) => /^(?:effect|tillwire\/plugin)(?:\/|$)/.test(specifier)

/** What a name begins with that is resolved as if a file at another place imported it: the place, `#`, the name. */
const fromPlace = "tillwire-plugin-of:"

/** Where `#outside/…` leads is in `imports` of the package.json above this file: another one in a bundle. */
const share = Effect.sync(() => {
  registerHooks({
    resolve: (specifier, context, next) => {
      if (specifier.startsWith(fromPlace)) {
        const at = specifier.indexOf("#")
        return next(specifier.slice(at + 1), { ...context, parentURL: specifier.slice(fromPlace.length, at) })
      }
      if (!isShared(specifier)) return next(specifier, context)
      // Not by `next`, which looks for a `require` from where it stands, wherever it is told to look from.
      const found = Result.try(() => import.meta.resolve(`#outside/${specifier}`))
      if (Result.isSuccess(found) && existsSync(new URL(found.success))) {
        return { url: found.success, shortCircuit: true }
      }
      throw sharedMissing(specifier, context.parentURL)
    }
  })
})

/** Done before the first plugin from outside is loaded, once for the process: until then nobody pays for it. */
const shareWithPlugins: Effect.Effect<void> = Effect.runSync(Effect.cached(share))

/** The URL of a package's entry, as an import in a file at `place` finds it. */
export const resolvePackage = (name: string, place: URL): Effect.Effect<string, ImportFailed> =>
  Effect.andThen(
    shareWithPlugins,
    Effect.try({
      try: () => import.meta.resolve(`${fromPlace}${place.href}#${name}`),
      catch: (cause) => new ImportFailed({ reason: reasonOf(cause), isAbsent: isAbsent(cause, name) })
    })
  )

/** Whether a package of that name is not there at all. */
const isAbsent = (cause: unknown, name: string): boolean =>
  cause instanceof Error && "code" in cause && cause.code === "ERR_MODULE_NOT_FOUND" &&
  cause.message.startsWith(`Cannot find package '${name.split("/", name.startsWith("@") ? 2 : 1).join("/")}'`)

/** What a file exports, loaded with everything that it imports. */
export const importOutside = (url: string): Effect.Effect<unknown, ImportFailed> =>
  shareWithPlugins.pipe(
    Effect.andThen(Effect.tryPromise({
      try: () => import(/* @vite-ignore */ url) as Promise<unknown>,
      catch: (cause) => new ImportFailed({ reason: reasonOf(cause), isAbsent: false })
    })),
    Effect.timeoutOrElse({
      duration: maximumLoadSeconds * 1_000,
      orElse: () =>
        Effect.fail(
          new ImportFailed({
            reason: `is not loaded after ${maximumLoadSeconds} s: a plugin begins its work in its layer, and a wait at `
              + "the top level of a file holds up the start",
            isAbsent: false
          })
        )
    })
  )
