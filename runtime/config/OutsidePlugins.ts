/**
 * What plugins from outside share with the service. A package or a file that the config names may have been installed
 * with an `effect` of its own, and a service tag, a schema class or a fiber of one copy is nothing to another. So
 * `effect` and the service's own ports and schemas (`tillwire/runtime/…`, `tillwire/schemas/…`) are the service's,
 * whoever imports them.
 */
import { Effect } from "effect"
import { registerHooks } from "node:module"

const isShared = (specifier: string) => /^(?:effect(?:\/|$)|tillwire\/(?:runtime|schemas)\/)/.test(specifier)

/** Where `#outside/…` leads is in `imports` of the package.json above this file: another one in a bundle. */
const share = Effect.sync(() => {
  registerHooks({
    resolve: (specifier, context, next) =>
      isShared(specifier)
        ? next(`#outside/${specifier}`, { ...context, parentURL: import.meta.url })
        : next(specifier, context)
  })
})

/** Done before the first plugin from outside is loaded, once for the process: until then nobody pays for it. */
export const shareWithPlugins: Effect.Effect<void> = Effect.runSync(Effect.cached(share))
