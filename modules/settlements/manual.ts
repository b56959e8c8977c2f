/**
 * For deployments that hold what is paid and forward it: whoever moves the money, a person or a program, reports over the
 * internal door (`settlements.report`). Nothing here moves or retries by itself.
 */
import { Effect, Layer } from "effect"
import * as Plugin from "../../runtime/Plugin.ts"
import { DriverOptions, environmentsOf, Settlements } from "../settlement/plugin.ts"

const name = "settlements/manual"

export const plugin = Plugin.make({
  name,
  slot: "modules",
  options: DriverOptions,
  needs: { settlement: Settlements },
  layer: (options) =>
    Layer.effectDiscard(Effect.gen(function*() {
      const settlements = yield* Settlements
      yield* settlements.register({
        name,
        environments: environmentsOf(options),
        firstStage: "sweep",
        firstAskSeconds: null,
        askAgainSeconds: () => 0,
        retries: false,
        settle: () => Effect.succeed(new Map())
      })
    }))
})
