/**
 * Loaded with `--import` before a generator: what its package calls `typescript` is the compiler that this package names,
 * wherever npm put the generator. The project's own compiler has no programming interface any more.
 */
import { createRequire, registerHooks } from "node:module"
import { pathToFileURL } from "node:url"

const here = createRequire(import.meta.url).resolve("tillwire-test-generators/package.json")

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === "typescript" ? next(specifier, { ...context, parentURL: pathToFileURL(here).href }) : next(specifier, context)
})
