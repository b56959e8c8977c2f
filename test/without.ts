/**
 * `npm run test:without [-- module…]`: copies the tree without these modules (default: commerce, its ports and the
 * simulator), makes what is generated anew, checks the types, and runs all other tests.
 */
import { Effect } from "effect"
import { copyWithout, optionalModules, runIn } from "./support/Removal.ts"
import { temporaryDirectory } from "./support/Service.ts"

const named = process.argv.slice(2)

const main = Effect.gen(function*() {
  const copy = yield* temporaryDirectory
  const gone = copyWithout(named.length === 0 ? optionalModules : named, copy)
  console.log(`without ${gone.length} files of tests:\n  ${gone.join("\n  ")}`)
  for (const script of ["schema", "openapi", "check:types"]) yield* runIn(copy, script)
  console.log("the types fit; the other tests run, up to twenty minutes")
  for (const script of ["test", "test:long"]) yield* runIn(copy, script)
  console.log("all other tests pass")
})

Effect.runPromise(Effect.scoped(main)).catch((cause: unknown) => {
  console.error(cause)
  process.exitCode = 1
})
