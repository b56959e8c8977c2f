/**
 * For deployments that hold what is paid and forward it: whoever moves the money, a person or a program, reports over
 * the internal port (`settlements.report`). Nothing here moves or retries by itself.
 */
import { Effect, Layer } from "effect"
import * as Plugin from "../../../runtime/Plugin.ts"
import { DriverOptions, environmentsOf, Settlements } from "../plugin.ts"

const name = "settlement/manual"

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
        firstCheckSeconds: null,
        nextCheckSeconds: () => 0,
        retriesFailures: false,
        settle: () => Effect.succeed(new Map())
      })
    }))
})
