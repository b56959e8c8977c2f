/** The module's one file beside its code: the script of the page, whose source came with the program. */
import { Effect, FileSystem, Path } from "effect"
import { islandScript } from "./pages/Island.ts"

/** Node calls what makes the script experimental, on the operator's screen: its test says whether it still does its work. */
const quietly = <A>(make: () => A): Effect.Effect<A> =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const { emitWarning } = process
      process.emitWarning = () => undefined
      return emitWarning
    }),
    () => Effect.sync(make),
    (emitWarning) =>
      Effect.sync(() => {
        process.emitWarning = emitWarning
      })
  )

/** The script as browsers get it. A source that is missing is a broken installation, so a defect. */
export const island = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const file = yield* Effect.orDie(path.fromFileUrl(new URL("./island.ts", import.meta.url)))
  const source = yield* Effect.orDie(fs.readFileString(file))
  return yield* quietly(() => islandScript(source))
})
