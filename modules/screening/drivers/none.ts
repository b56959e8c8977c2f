/** Everybody passes, as in a deployment without screening: for a config file that says so in words. */
import { Effect, Layer } from "effect"
import * as Plugin from "../../../runtime/Plugin.ts"
import { Screenings } from "../plugin.ts"

const name = "screening/none"

export const plugin = Plugin.make({
  name,
  slot: "modules",
  needs: { screening: Screenings },
  layer: () =>
    Layer.effectDiscard(Effect.gen(function*() {
      yield* (yield* Screenings).register({ name, isListed: () => Effect.succeed(false) })
    }))
})
