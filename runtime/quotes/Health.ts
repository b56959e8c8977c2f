/** Whether there are prices to quote by, for health and metrics. */
import { Context, Effect, Layer, Metric } from "effect"
import type { Environment } from "../../schemas/Network.ts"
import { heldSeconds } from "../Quotes.ts"
import { Settings } from "../Settings.ts"
import { Health } from "../Telemetry.ts"
import type { Finding } from "../telemetry/HealthReport.ts"

/** The prices of an environment now. */
export interface PriceState {
  readonly environment: Environment
  /** Sources that serve it. */
  readonly sources: number
  /** Assets of tokens that are offered there. */
  readonly assets: number
  /** Of those, the ones that had a price and have none now that may be used. */
  readonly lost: ReadonlyArray<string>
  /** Of those, the ones that never had a price. */
  readonly unpriced: number
  /** Since this process began to ask. */
  readonly ageSeconds: number
}

/** What the price book knows, from memory. */
export class PriceStates extends Context.Service<PriceStates, {
  readonly read: Effect.Effect<ReadonlyArray<PriceState>>
}>()("tillwire/runtime/quotes/PriceStates") {}

/** Seconds a fresh process is given for its first prices: two polls. */
export const firstPriceSeconds = 60

/** Assets named in one sentence. */
const named = 5

const sources = Metric.gauge("price_sources", { description: "Price sources that serve the environment" })
const unpriced = Metric.gauge("price_assets_unpriced", {
  description: "Assets of offered tokens without a price that may be used now: nothing is quoted in them"
})
const lost = Metric.gauge("price_assets_lost", {
  description: `Of the unpriced assets, those that had a price and lost it: sources were silent for ${heldSeconds} s, or contradict`
})

/**
 * What is wrong with prices. Pure. An asset that never had a price is no fault: the catalogue may hold more than the
 * sources know.
 */
export const judgePrices = (states: ReadonlyArray<PriceState>): ReadonlyArray<Finding> =>
  states.flatMap(({ ageSeconds, assets, environment, lost, sources, unpriced }): ReadonlyArray<Finding> => {
    if (assets === 0 || ageSeconds < firstPriceSeconds) return []
    const degraded = (message: string): ReadonlyArray<Finding> => [{ effect: "degraded", message: `${environment}: ${message}` }]
    if (sources === 0) return degraded("no price source is configured, so nothing can be quoted. Add one under prices.")
    if (lost.length + unpriced === assets) {
      return degraded("no asset has a price that may be used, so nothing can be quoted. Look in the log for price sources that fail.")
    }
    if (lost.length === 0) return []
    const names = lost.slice(0, named).join(", ") + (lost.length > named ? " and others" : "")
    return degraded(`${lost.length} of ${assets} assets have lost their price and are not quoted: ${names}. `
      + "Look in the log for price sources that fail or contradict each other.")
  })

/** Tells health how the prices of the environments that are served are: the catalogue has tokens of the other one too. */
export const healthLayer: Layer.Layer<never, never, Health | PriceStates | Settings> = Layer.effectDiscard(Effect.gen(function*() {
  const states = yield* PriceStates
  const { environments } = yield* Settings
  yield* (yield* Health).register({
    check: "prices",
    look: Effect.gen(function*() {
      const found = (yield* states.read).filter(({ environment }) => environments.includes(environment))
      yield* Effect.forEach(found, (state) => {
        const labels = { environment: state.environment }
        return Effect.all([
          Metric.update(Metric.withAttributes(sources, labels), state.sources),
          Metric.update(Metric.withAttributes(unpriced, labels), state.lost.length + state.unpriced),
          Metric.update(Metric.withAttributes(lost, labels), state.lost.length)
        ], { discard: true })
      }, { discard: true })
      return judgePrices(found)
    })
  })
}))
