/** The price sources: whether each answers, how old its prices are, and whether enough of them agree. */
import { Effect, Layer, Logger, Result, Schema } from "effect"
import type { HttpClient } from "effect/http"
import { nowSeconds } from "../../../runtime/Clock.ts"
import type { LoadedConfig, SelectedPlugin } from "../../../runtime/Config.ts"
import { freshSeconds, type PricePoint, Prices, type PriceSource, type Spot } from "../../../runtime/Prices.ts"
import {
  accept,
  type AcceptedPrice,
  agree,
  defaultQuorum,
  isFresh,
  isRefusal
} from "../../../runtime/prices/PriceRules.ts"
import { descriptorOf, type Environment, Network } from "../../../schemas/Network.ts"
import { fail, type Finding, ok, warn } from "./Findings.ts"

/** Milliseconds that a source has: the two calls that the slowest one makes, at its own limit of 5 s. */
export const sourceTimeoutMillis = 11_000

/** Asked for whatever networks there are: every source knows one of them. */
const commonAssets = ["ethereum", "usd-coin"]

/** What a source said, or why it said nothing. */
export interface ExaminedSource {
  readonly name: string
  readonly environments: ReadonlyArray<Environment>
  readonly answer: Result.Result<ReadonlyArray<PricePoint>, string>
}

/** The source that a plugin registers, without a service around it. */
const sourcesOf = (plugin: SelectedPlugin["plugin"], options: unknown) =>
  Effect.gen(function*() {
    const sources: Array<PriceSource> = []
    const register: Prices["Service"]["register"] = (source) => Effect.sync(() => void sources.push(source))
    const layer = plugin.layer(options) as Layer.Layer<never, unknown, Prices | HttpClient.HttpClient>
    yield* Layer.build(Layer.provide(layer, Layer.succeed(Prices, { register } as unknown as Prices["Service"])))
    return sources
  })

const askSource = (
  source: PriceSource,
  assets: ReadonlyArray<string>,
  peers: (asset: string) => Spot | null
): Effect.Effect<ExaminedSource> =>
  source.prices([...new Set([...assets, ...(source.requiredAssets ?? [])])], peers).pipe(
    Effect.mapError(({ reason }) => reason),
    Effect.timeoutOrElse({
      duration: sourceTimeoutMillis,
      orElse: () => Effect.fail(`no answer in ${sourceTimeoutMillis / 1000} s`)
    }),
    Effect.result,
    Effect.map((answer) => ({ name: source.name, environments: source.environments, answer }))
  )

/** The fresh prices of an asset in an environment. Pure. */
const freshPrices = (
  examined: ReadonlyArray<ExaminedSource>,
  asset: string,
  environment: Environment,
  now: number
): ReadonlyArray<AcceptedPrice> =>
  examined.filter(({ environments }) => environments.includes(environment)).flatMap(({ answer, name }) =>
    Result.isFailure(answer) ? [] : answer.success.filter((point) => point.asset === asset).flatMap((point) => {
      const price = accept(name, point, now)
      return typeof price === "string" || !isFresh(price.at, now) ? [] : [price]
    })
  )

const sourceFinding = ({ answer, name }: ExaminedSource, now: number): Finding => {
  const check = `price source ${name}`
  if (Result.isFailure(answer)) {
    return warn(check, answer.failure, "Make sure that this machine reaches it, or put another source in its place.")
  }
  const refusal = answer.success.map((point) => accept(name, point, now)).find((price) => typeof price === "string")
  if (refusal !== undefined) {
    return warn(check, `It gives a price that is refused: ${refusal}.`, "Check this machine's clock, then the source.")
  }
  if (answer.success.length === 0) {
    return warn(check, "It knows no price of any asset here.", "Name its assets in the option assets, or remove it.")
  }
  const age = now - Math.min(...answer.success.map(({ at }) => at))
  return age > freshSeconds
    ? warn(
      check,
      `Its oldest price is ${age} s old, and after ${freshSeconds} s none is used.`,
      "Put another source beside it or in its place."
    )
    : ok(check, `${answer.success.length} prices, the oldest ${Math.max(0, age)} s old.`)
}

/** Judges what the sources said: each one, then whether every environment has a price. Pure. */
export const priceFindings = (
  examined: ReadonlyArray<ExaminedSource>,
  { environments, now, quorum }: {
    readonly environments: ReadonlyArray<Environment>
    /** `pricing.quorum`; absent: the default of each environment. */
    readonly quorum: number | undefined
    readonly now: number
  }
): ReadonlyArray<Finding> => [
  ...examined.map((source) => sourceFinding(source, now)),
  ...environments.flatMap((environment): ReadonlyArray<Finding> => {
    const check = `prices (${environment})`
    const needed = quorum ?? defaultQuorum[environment]
    // The check of the config says so already.
    if (examined.length < needed) return []
    const sources = examined.filter((source) => source.environments.includes(environment))
    if (sources.length < needed) {
      return [fail(
        check,
        `${sources.length} sources serve it, and ${needed} must agree, so nothing can be quoted.`,
        "Add sources under prices, or name the environment in their option environments."
      )]
    }
    const asset = commonAssets.find((one) => freshPrices(examined, one, environment, now).length > 0)
    const agreement = agree(asset === undefined ? [] : freshPrices(examined, asset, environment, now), needed)
    return [
      isRefusal(agreement)
        ? fail(
          check,
          `${agreement.reason}, so nothing can be quoted: ${needed} must agree.`,
          "Look at the sources above: add or replace those that fail."
        )
        : ok(check, `${asset} is at ${agreement.text} USD by ${agreement.source}.`)
    ]
  })
]

/** The coins of the networks in the config, and what every source knows. */
const assetsOf = (plugins: ReadonlyArray<SelectedPlugin>): ReadonlyArray<string> => [
  ...new Set([
    ...commonAssets,
    ...plugins.filter(({ slot }) => slot === "chains").flatMap(({ options, plugin }) => {
      const network = (options as { readonly network?: string } | undefined)?.network ?? plugin.name
      return Schema.is(Network)(network) ? [descriptorOf(network).coin.asset] : []
    })
  ])
]

/** Asks every source once; those that need the others' prices come after them. */
export const examinePrices = (
  { plugins, settings }: LoadedConfig
): Effect.Effect<ReadonlyArray<Finding>, never, HttpClient.HttpClient> =>
  Effect.gen(function*() {
    const started = yield* Effect.forEach(plugins.filter(({ slot }) => slot === "prices"), ({ options, plugin }) =>
      Effect.result(sourcesOf(plugin, options)))
    const sources = started.flatMap((one) =>
      Result.isSuccess(one) ? one.success : []
    )
    const assets = assetsOf(plugins)
    const first = yield* Effect.forEach(
      sources.filter(({ requiredAssets }) => requiredAssets === undefined),
      (source) => askSource(source, assets, () => null),
      { concurrency: "unbounded" }
    )
    const between = yield* nowSeconds
    const others = yield* Effect.forEach(
      sources.filter(({ requiredAssets }) => requiredAssets !== undefined),
      (source) =>
        askSource(source, assets, (asset) => {
          const spot = agree(
            source.environments.flatMap((one) => freshPrices(first, asset, one, between)).slice(0, 1),
            1
          )
          return isRefusal(spot) ? null : spot
        }),
      { concurrency: "unbounded" }
    )
    const { environments, pricing } = settings
    return priceFindings([...first, ...others], { environments, quorum: pricing.quorum, now: yield* nowSeconds })
  }).pipe(Effect.scoped, Effect.provide(Logger.layer([])))
