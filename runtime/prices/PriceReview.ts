/** Looks at the price of every asset in use: for the metric of their ages, the log of contradictions, and health. */
import { Clock, Effect, Metric, MutableRef } from "effect"
import { nowSeconds } from "../Clock.ts"
import type { PriceState } from "./Health.ts"
import { environments, type OracleContext, quorumOf, tokenAssets, updateBook } from "./OracleContext.ts"
import { lastSpot, priceAll, recordContradictions } from "./PriceBook.ts"
import { isRefusal } from "./PriceRules.ts"

/** Assets whose age is told as a metric, at most. */
const maximumSeries = 500

const staleness = Metric.gauge("quote_staleness_seconds", {
  description: "Age of the price that an asset is quoted by"
})

/** What is quoted, each asset once in its environment. */
const quotedAssets = (oracle: OracleContext) =>
  environments.flatMap((environment) =>
    [...new Set(tokenAssets(oracle, environment))].map((asset) => ({ environment, asset }))
  )

const updateAgeMetrics = Effect.fnUntraced(function*(oracle: OracleContext, now: number) {
  const book = MutableRef.get(oracle.book)
  const ages = new Map<string, number>()
  for (const { asset, environment } of quotedAssets(oracle)) {
    const last = lastSpot(book, asset, environment)
    if (last !== undefined) ages.set(asset, Math.max(ages.get(asset) ?? 0, now - last.at))
  }
  for (const [asset, age] of [...ages].slice(0, maximumSeries)) {
    yield* Metric.update(Metric.withAttributes(staleness, { token: asset }), age)
  }
})

/** Prices every quoted asset anew. */
const priceQuotedAssets = (oracle: OracleContext, now: number) =>
  updateBook(
    oracle,
    (book) => priceAll(book, quotedAssets(oracle), (environment) => quorumOf(oracle.pricing, environment), now)
  )

/** Prices every quoted asset: tells how old its price is, and logs, once a minute, what contradicts itself. */
export const review = Effect.fnUntraced(function*(oracle: OracleContext) {
  const nowMillis = yield* Clock.currentTimeMillis
  const now = Math.floor(nowMillis / 1000)
  const prices = priceQuotedAssets(oracle, now)
  yield* updateAgeMetrics(oracle, now)
  const message = updateBook(oracle, (book) => recordContradictions(book, prices, nowMillis))
  if (message !== null) yield* Effect.logWarning(message)
})

/** The state of each environment; also updates the ages, so that they grow while no source is polled. */
export const priceStates = Effect.fnUntraced(function*(oracle: OracleContext) {
  const now = yield* nowSeconds
  yield* updateAgeMetrics(oracle, now)
  const prices = priceQuotedAssets(oracle, now)
  const book = MutableRef.get(oracle.book)
  return environments.map((environment): PriceState => {
    const ofEnvironment = prices.filter((each) => each.environment === environment)
    const unpricedAssets = ofEnvironment.flatMap(({ asset, price }) => isRefusal(price) ? [asset] : [])
    const lostAssets = unpricedAssets.filter((asset) => lastSpot(book, asset, environment) !== undefined)
    return {
      environment,
      sources: [...book.sources.values()].filter(({ source }) => source.environments.includes(environment)).length,
      assets: ofEnvironment.length,
      lostAssets,
      neverPricedCount: unpricedAssets.length - lostAssets.length,
      ageSeconds: now - oracle.startedAt
    }
  })
})
