/** Funds go straight to the merchant's own wallet: a payment is settled once it is final on its chain. */
import { Effect, Layer } from "effect"
import * as Plugin from "../../runtime/Plugin.ts"
import { Settlements } from "../settlement/plugin.ts"

const name = "settlements/direct"

export const plugin = Plugin.make({
  name,
  slot: "modules",
  needs: { settlement: Settlements },
  layer: () =>
    Layer.effectDiscard(Effect.gen(function*() {
      const settlements = yield* Settlements
      yield* settlements.register({
        name,
        environments: ["devnet", "mainnet"],
        firstStage: "awaiting_confirmation",
        firstAskSeconds: () => 0,
        askSeconds: 15,
        retries: true,
        settle: () => Effect.succeed(new Map())
      })
    }))
})
