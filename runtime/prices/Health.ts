/** Whether there are prices for quotes, for health and metrics. */
import { Context, Effect, Layer, Metric } from "effect"
import type { Environment } from "../../schemas/Network.ts"
import { holdSeconds } from "../Prices.ts"
import { Settings } from "../Settings.ts"
import { Health } from "../Telemetry.ts"
import type { Finding } from "../telemetry/HealthReport.ts"

/** The prices of an environment now. */
export interface PriceState {
  readonly environment: Environment
  /** How many sources serve it. */
  readonly sources: number
  /** How many assets the tokens that are offered there have. */
  readonly assets: number
  /** Those assets that had a usable price and have none now. */
  readonly lostAssets: ReadonlyArray<string>
  /** How many of the assets never had a usable price. */
  readonly neverPricedCount: number
  /** Since this process began to ask for prices. */
  readonly ageSeconds: number
}

/** The state of the prices, from memory. */
export class PriceStates extends Context.Service<PriceStates, {
  readonly read: Effect.Effect<ReadonlyArray<PriceState>>
}>()("tillwire/runtime/prices/PriceStates") {}

/** Seconds a new process has for its first prices: two polls of the sources. */
export const firstPriceSeconds = 60

/** Assets named in one message, at most. */
const maximumNames = 5

const sourcesGauge = Metric.gauge("price_sources", { description: "Price sources that serve the environment" })
const unpricedGauge = Metric.gauge("price_assets_unpriced", {
  description: "Assets of offered tokens without a price that may be used now: nothing is quoted in them"
})
const lostGauge = Metric.gauge("price_assets_lost", {
  description:
    `Of the unpriced assets, those that had a price and lost it: sources were silent for ${holdSeconds} s, or contradict each other`
})

/**
 * What is wrong with prices. Pure. An asset that never had a price is no fault: the catalogue may hold more than the
 * sources know.
 */
export const priceFindings = (states: ReadonlyArray<PriceState>): ReadonlyArray<Finding> =>
  states.flatMap(
    ({ ageSeconds, assets, environment, lostAssets, sources, neverPricedCount }): ReadonlyArray<Finding> => {
      if (assets === 0 || ageSeconds < firstPriceSeconds) return []
      const degraded = (
        message: string
      ): ReadonlyArray<Finding> => [{ effect: "degraded", message: `${environment}: ${message}` }]
      if (sources === 0) {
        return degraded("no price source is configured, so nothing can be quoted. Add one under prices.")
      }
      if (lostAssets.length + neverPricedCount === assets) {
        return degraded(
          "no asset has a price that may be used, so nothing can be quoted. Look in the log for price sources that fail."
        )
      }
      if (lostAssets.length === 0) return []
      const names = lostAssets.slice(0, maximumNames).join(", ") +
        (lostAssets.length > maximumNames ? " and others" : "")
      return degraded(
        `${lostAssets.length} of ${assets} assets have lost their price and are not quoted: ${names}. `
          + "Look in the log for price sources that fail or contradict each other."
      )
    }
  )

/** Registers the health check of prices, for the served environments only: the catalogue has tokens of both. */
export const healthLayer: Layer.Layer<never, never, Health | PriceStates | Settings> = Layer.effectDiscard(
  Effect.gen(function*() {
    const states = yield* PriceStates
    const { environments } = yield* Settings
    yield* (yield* Health).register({
      name: "prices",
      run: Effect.gen(function*() {
        const priceStates = (yield* states.read).filter(({ environment }) => environments.includes(environment))
        yield* Effect.forEach(priceStates, (state) => {
          const labels = { environment: state.environment }
          return Effect.all([
            Metric.update(Metric.withAttributes(sourcesGauge, labels), state.sources),
            Metric.update(
              Metric.withAttributes(unpricedGauge, labels),
              state.lostAssets.length + state.neverPricedCount
            ),
            Metric.update(Metric.withAttributes(lostGauge, labels), state.lostAssets.length)
          ], { discard: true })
        }, { discard: true })
        return priceFindings(priceStates)
      })
    })
  })
)
