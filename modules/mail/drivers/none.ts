/** Nothing is sent, as in a deployment without mail: for a config file that says so in words. */
import { Effect, Layer } from "effect"
import * as Plugin from "../../../runtime/Plugin.ts"
import { Mails } from "../plugin.ts"

const name = "mail/none"

export const plugin = Plugin.make({
  name,
  slot: "modules",
  needs: { mail: Mails },
  layer: () =>
    Layer.effectDiscard(Effect.gen(function*() {
      yield* (yield* Mails).register({ name, send: null })
    }))
})
