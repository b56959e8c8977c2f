/**
 * Prices by agreement: every source is polled, what is fresh is compared, the exact median is the price. Nothing here
 * is a float; a price too old, from the future, or unreadable is refused and logged, never used.
 */
import { Cause, Clock, Context, Deferred, Effect, Latch, Layer, Metric, Scope } from "effect"
import { isWithin, medianRate, type Rate, rateText, readRate } from "../../schemas/Money.ts"
import type { Environment } from "../../schemas/Network.ts"
import type { Token } from "../../schemas/Token.ts"
import {
  freshSeconds,
  holdSeconds,
  type PricePoint,
  Prices,
  type PriceSource,
  PriceSourceError,
  PriceUnavailable,
  type Spot
} from "../Prices.ts"
import { TokenCatalog } from "../TokenCatalog.ts"
import { type PriceState, PriceStates } from "./Health.ts"

/** Milliseconds between polls: a quarter of {@link freshSeconds}, so three lost polls leave prices fresh. */
export const pollMillis = 30_000

/** Milliseconds until the next look while there is nothing to poll yet: sources and tokens arrive during boot. */
export const idlePollMillis = 1_000

/** Milliseconds a source may take to answer. */
export const sourceTimeoutMillis = 5_000

/** Milliseconds before a source is asked for the same asset again, however many callers want it. */
export const askAgainMillis = 5_000

/** Milliseconds between two log lines about one source. */
export const logEveryMillis = 60_000

/** Refused prices named in one log line. */
const maximumListed = 5

/** Seconds a price may be ahead of our clock; further ahead it is refused. */
export const maximumAheadSeconds = 60

/** `retry_after_seconds` of a quote without a price (modules/docs/reference/quotes.md#calls). */
export const priceRetryAfterSeconds = 15

/**
 * Sources that must agree before there is a price, where the config does not say. One that is wrong costs nothing on
 * devnet.
 */
export const defaultQuorum: Readonly<Record<Environment, number>> = { devnet: 1, mainnet: 2 }

/**
 * How far from the median a source may be, in basis points, before it is left out. With two sources that disagree by
 * more than twice this, neither is believed.
 */
export const maximumSpreadBasisPoints = 200n

/**
 * How far from the last price, in basis points, a price may be that only one source gives: what moves further in less
 * than {@link jumpMemorySeconds} is more often a source gone wrong than a market.
 */
export const maximumJumpBasisPoints = 2_500n

/** Seconds a last price speaks against a lone source: an hour later the market may well be elsewhere. */
export const jumpMemorySeconds = 3_600

/** How far from a dollar a dollar stablecoin may be, in basis points, to be taken for one: 0.99 to 1.01. */
export const maximumPegBasisPoints = 100n

/** Assets whose age is told as a metric, at most. */
const maximumSeries = 500

/** A price that was accepted: readable, positive, not from the future. */
export interface AcceptedPrice {
  readonly source: string
  readonly rate: Rate
  /** Epoch seconds at which it held, never later than its receipt. */
  readonly at: number
}

/**
 * Why there is no price. `silence`: too little was said, which says nothing of the market. `contradiction`: what was
 * said cannot all be true, so nothing that is known can be relied on.
 */
export interface Refusal {
  readonly kind: "silence" | "contradiction"
  readonly reason: string
}

export const isRefusal = (result: Spot | Refusal): result is Refusal => "reason" in result

const contradiction = (reason: string): Refusal => ({ kind: "contradiction", reason })

/**
 * The price that `prices` agree on, or why there is none. Each source appears once.
 *
 * The rate is what its own text reads as, so that what a quote asks for and what a payment is valued at are the same
 * number. Pure; the order of `prices` does not matter.
 */
export const agree = (prices: ReadonlyArray<AcceptedPrice>, quorum: number): Spot | Refusal => {
  const all = medianOf(prices)
  if (all === undefined || prices.length < quorum) {
    return { kind: "silence", reason: "Too few price sources answered" }
  }
  const withinSpread = prices.filter(({ rate }) => isWithin(rate, all, maximumSpreadBasisPoints))
  const median = medianOf(withinSpread)
  if (median === undefined || withinSpread.length < quorum) return contradiction("Price sources disagree")
  const text = rateText(median)
  const rate = readRate(text)
  if (rate === undefined) return contradiction("The price is too small")
  const [only, ...others] = withinSpread
  return {
    rate,
    text,
    source: only !== undefined && others.length === 0 ? only.source : "median",
    at: Math.min(...withinSpread.map(({ at }) => at))
  }
}

/**
 * The price to use at `nowSeconds`, given what is fresh and the last price that was used, or why there is none.
 *
 * Silence leaves the last price standing for {@link holdSeconds}, unless a source that still speaks contradicts it. A
 * price of a lone source that is more than {@link maximumJumpBasisPoints} from the last one is refused for
 * {@link jumpMemorySeconds}, or until a second source agrees with it. Pure.
 */
export const decidePrice = (
  prices: ReadonlyArray<AcceptedPrice>,
  last: Spot | undefined,
  quorum: number,
  nowSeconds: number
): Spot | Refusal => {
  const agreement = agree(prices, quorum)
  const age = last === undefined ? Number.POSITIVE_INFINITY : nowSeconds - last.at
  if (last === undefined || age < -maximumAheadSeconds) return agreement
  if (isRefusal(agreement)) {
    const isContradicted = prices.some(({ rate }) => !isWithin(rate, last.rate, maximumSpreadBasisPoints))
    return agreement.kind === "silence" && age <= holdSeconds && !isContradicted ? last : agreement
  }
  const isJump = agreement.source !== "median" && age <= jumpMemorySeconds &&
    !isWithin(agreement.rate, last.rate, maximumJumpBasisPoints)
  return isJump ? contradiction("The price jumped, and no second source confirms it") : agreement
}

const dollar: Rate = { numerator: 1n, denominator: 1n }

/**
 * The price of a token by the market's price of its asset: a dollar stablecoin within {@link maximumPegBasisPoints} of
 * a dollar is worth one dollar, outside it what the market says, or nothing where `depeg` is `block`. Pure.
 */
export const applyPeg = (token: Pick<Token, "stable">, market: Spot, depeg: "market" | "block"): Spot | Refusal => {
  if (!token.stable) return market
  if (isWithin(market.rate, dollar, maximumPegBasisPoints)) return { ...market, rate: dollar, text: rateText(dollar) }
  return depeg === "market" ? market : contradiction("This stablecoin is off its dollar")
}

const medianOf = (prices: ReadonlyArray<AcceptedPrice>): Rate | undefined => {
  const [first, ...rest] = prices.map(({ rate }) => rate)
  return first === undefined ? undefined : medianRate([first, ...rest])
}

/** Reads a source's point at the moment of receipt; a text says why it is refused. */
export const accept = (source: string, point: PricePoint, nowSeconds: number): AcceptedPrice | string => {
  if (!Number.isSafeInteger(point.at) || point.at > nowSeconds + maximumAheadSeconds) {
    return `${point.asset}: its time ${point.at} is not in the past`
  }
  const rate = readRate(point.rate)
  if (rate === undefined) return `${point.asset}: ${JSON.stringify(point.rate).slice(0, 60)} is no positive decimal`
  return { source, rate, at: Math.min(point.at, nowSeconds) }
}

/** A clock set back leaves times ahead of it: they are neither fresh nor newer than what comes now. */
const isFresh = (at: number, nowSeconds: number): boolean =>
  nowSeconds - at <= freshSeconds && at - nowSeconds <= maximumAheadSeconds

const supersedes = (price: AcceptedPrice, old: AcceptedPrice | undefined, nowSeconds: number): boolean =>
  old === undefined || old.at <= price.at || old.at - nowSeconds > maximumAheadSeconds

/** Milliseconds since; for ever if never, or if the clock was set back. */
const elapsedMillis = (since: number | undefined, nowMillis: number): number =>
  since === undefined || since > nowMillis ? Number.POSITIVE_INFINITY : nowMillis - since

/** A registered source and what is remembered of it. */
interface SourceState {
  readonly source: PriceSource
  readonly newest: Map<string, AcceptedPrice>
  /** Epoch milliseconds at which each asset was last asked for. */
  readonly askedAt: Map<string, number>
  loggedAt: number | undefined
  suppressedLogs: number
}

/** What the config says of prices; see `pricing` of the settings. */
export interface Pricing {
  readonly quorum?: number
  readonly depeg: "market" | "block"
}

const staleness = Metric.gauge("quote_staleness_seconds", {
  description: "Age of the price that an asset is quoted by"
})

const environments: ReadonlyArray<Environment> = ["devnet", "mainnet"]

const make = Effect.fnUntraced(function*({ depeg, quorum }: Pricing) {
  const catalog = yield* TokenCatalog
  const scope = yield* Scope.Scope
  const wake = yield* Latch.make()
  const sources = new Map<string, SourceState>()
  let inFlight: { readonly assets: ReadonlySet<string>; readonly done: Deferred.Deferred<void> } | null = null

  const newestPrices = (asset: string, environment: Environment): ReadonlyArray<AcceptedPrice> =>
    [...sources.values()].flatMap(({ source, newest }) => {
      const price = newest.get(asset)
      return price !== undefined && source.environments.includes(environment) ? [price] : []
    })

  const freshPrices = (asset: string, environment: Environment, nowSeconds: number): ReadonlyArray<AcceptedPrice> =>
    newestPrices(asset, environment).filter(({ at }) => isFresh(at, nowSeconds))

  /** The last market price that was used, by `<environment>:<asset>`. */
  const lastSpots = new Map<string, Spot>()
  let contradictionsLoggedAt: number | undefined

  const tokenAssets = (environment: Environment): ReadonlyArray<string> =>
    catalog.list(environment).flatMap(({ active, asset }) => (active && asset !== null ? [asset] : []))

  /** What tokens are priced by, and what a source of the same environment works its prices out from. */
  const assetsInUse = (servedEnvironments: ReadonlyArray<Environment>): ReadonlyArray<string> => {
    const assets = servedEnvironments.flatMap(tokenAssets)
    if (assets.length === 0) return assets
    return assets.concat(
      [...sources.values()].filter(({ source }) => source.environments.some((one) => servedEnvironments.includes(one)))
        .flatMap(({ source }) => source.requiredAssets ?? [])
    )
  }

  /** What others that serve all of `source`'s environments say now: a devnet source never has a say on mainnet. */
  const peersOf = (source: PriceSource) => (nowSeconds: number) => (asset: string): Spot | null => {
    const others = [...sources.values()].flatMap(({ newest, source: other }) => {
      const price = newest.get(asset)
      const counts = other !== source && source.environments.every((one) => other.environments.includes(one))
      return counts && price !== undefined && isFresh(price.at, nowSeconds) ? [price] : []
    })
    const agreement = agree(others, 1)
    return isRefusal(agreement) ? null : agreement
  }

  /** The market's price of an asset now; remembered as the last one when it is new. */
  const market = (asset: string, environment: Environment, nowSeconds: number): Spot | Refusal => {
    const key = `${environment}:${asset}`
    const decision = decidePrice(
      freshPrices(asset, environment, nowSeconds),
      lastSpots.get(key),
      quorum ?? defaultQuorum[environment],
      nowSeconds
    )
    if (!isRefusal(decision)) lastSpots.set(key, decision)
    return decision
  }

  const updateAgeMetrics = Effect.fnUntraced(function*(nowSeconds: number) {
    const ages = new Map<string, number>()
    for (const environment of environments) {
      for (const asset of new Set(tokenAssets(environment))) {
        const last = lastSpots.get(`${environment}:${asset}`)
        if (last !== undefined) ages.set(asset, Math.max(ages.get(asset) ?? 0, nowSeconds - last.at))
      }
    }
    for (const [token, age] of [...ages].slice(0, maximumSeries)) {
      yield* Metric.update(Metric.withAttributes(staleness, { token }), age)
    }
  })

  const startedAt = Math.floor((yield* Clock.currentTimeMillis) / 1000)

  /** The state of each environment; also updates the ages, so that they grow while no source is polled. */
  const states = Effect.gen(function*() {
    const nowSeconds = Math.floor((yield* Clock.currentTimeMillis) / 1000)
    yield* updateAgeMetrics(nowSeconds)
    return environments.map((environment): PriceState => {
      const assets = [...new Set(tokenAssets(environment))]
      const unpricedAssets = assets.filter((asset) => isRefusal(market(asset, environment, nowSeconds)))
      const lostAssets = unpricedAssets.filter((asset) => lastSpots.has(`${environment}:${asset}`))
      return {
        environment,
        sources: [...sources.values()].filter(({ source }) => source.environments.includes(environment)).length,
        assets: assets.length,
        lostAssets,
        neverPricedCount: unpricedAssets.length - lostAssets.length,
        ageSeconds: nowSeconds - startedAt
      }
    })
  })

  /** Judges every asset in use: tells how old its price is, and logs, once a minute, what contradicts itself. */
  const review = Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    const nowSeconds = Math.floor(now / 1000)
    const contradictions = environments.flatMap((environment) =>
      [...new Set(tokenAssets(environment))].flatMap((asset) => {
        const decision = market(asset, environment, nowSeconds)
        return isRefusal(decision) && decision.kind === "contradiction" ? [`${asset}: ${decision.reason}`] : []
      })
    )
    yield* updateAgeMetrics(nowSeconds)
    if (contradictions.length === 0 || elapsedMillis(contradictionsLoggedAt, now) < logEveryMillis) return
    contradictionsLoggedAt = now
    yield* Effect.logWarning(`Refused to price ${contradictions.slice(0, maximumListed).join("; ")}`)
  })

  const logThrottled = (state: SourceState, message: string, nowMillis: number) => {
    if (elapsedMillis(state.loggedAt, nowMillis) < logEveryMillis) {
      state.suppressedLogs++
      return Effect.void
    }
    const silenced = state.suppressedLogs
    state.loggedAt = nowMillis
    state.suppressedLogs = 0
    return Effect.logWarning(message).pipe(Effect.annotateLogs({ source: state.source.name, silenced }))
  }

  /** What was wrong with the points, or null. */
  const remember = (
    state: SourceState,
    assets: ReadonlySet<string>,
    points: ReadonlyArray<PricePoint>,
    nowMillis: number
  ): string | null => {
    const nowSeconds = Math.floor(nowMillis / 1000)
    const faults: Array<string> = []
    for (const point of points) {
      if (!assets.has(point.asset)) continue
      const price = accept(state.source.name, point, nowSeconds)
      if (typeof price === "string") faults.push(price)
      else if (supersedes(price, state.newest.get(point.asset), nowSeconds)) {
        state.newest.set(point.asset, price)
      }
    }
    return faults.length === 0 ? null : `Refused prices: ${faults.slice(0, maximumListed).join("; ")}`
  }

  const askSource = Effect.fnUntraced(function*(state: SourceState, extraAsset: string | null) {
    const { source, askedAt } = state
    const startedAt = yield* Clock.currentTimeMillis
    const assetsToAsk = new Set(
      [...assetsInUse(source.environments), ...(extraAsset === null ? [] : [extraAsset])].filter(
        (asset) => elapsedMillis(askedAt.get(asset), startedAt) >= askAgainMillis
      )
    )
    if (assetsToAsk.size === 0) return
    for (const asset of assetsToAsk) askedAt.set(asset, startedAt)
    yield* source.prices([...assetsToAsk], peersOf(source)(Math.floor(startedAt / 1000))).pipe(
      Effect.timeoutOrElse({
        duration: sourceTimeoutMillis,
        orElse: () =>
          Effect.fail(new PriceSourceError({ source: source.name, reason: `no answer in ${sourceTimeoutMillis} ms` }))
      }),
      Effect.flatMap((points) =>
        Effect.map(Clock.currentTimeMillis, (now) => remember(state, assetsToAsk, points, now))
      ),
      Effect.catchTag("PriceSourceError", (error) => Effect.succeed(error.message)),
      Effect.catchDefect((defect) => Effect.succeed(Cause.pretty(Cause.die(defect)))),
      Effect.flatMap((fault) =>
        fault === null
          ? Effect.void
          : Effect.flatMap(Clock.currentTimeMillis, (now) => logThrottled(state, fault, now))
      )
    )
  })

  /** Asks every source at once, in a fiber of its own: whoever waits may be interrupted, the others still get it. */
  const refresh = (extraAsset: string | null): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (inFlight !== null) {
        const { assets, done } = inFlight
        const awaitCurrent = Deferred.await(done)
        return extraAsset === null || assets.has(extraAsset)
          ? awaitCurrent
          : Effect.andThen(awaitCurrent, refresh(extraAsset))
      }
      const done = Deferred.makeUnsafe<void>()
      const assets = new Set([...assetsInUse(environments), ...(extraAsset === null ? [] : [extraAsset])])
      inFlight = { assets, done }
      const askAll = (batch: ReadonlyArray<SourceState>) =>
        Effect.forEach(batch, (state) => askSource(state, extraAsset), { concurrency: "unbounded", discard: true })
      const [first = [], second = []] = [false, true].map((reads) =>
        [...sources.values()].filter(({ source }) => (source.requiredAssets !== undefined) === reads)
      )
      return Effect.andThen(askAll(first), askAll(second)).pipe(
        Effect.andThen(review),
        Effect.ensuring(Effect.suspend(() => {
          inFlight = null
          return Deferred.succeed(done, undefined)
        })),
        Effect.forkIn(scope),
        Effect.uninterruptible,
        Effect.andThen(Deferred.await(done))
      )
    })

  const hasWork = () => [...sources.values()].some(({ source }) => assetsInUse(source.environments).length > 0)

  const poll = Effect.gen(function*() {
    yield* wake.close
    yield* refresh(null)
    yield* Effect.raceFirst(Effect.sleep(hasWork() ? pollMillis : idlePollMillis), wake.await)
  })
  yield* Effect.forkScoped(Effect.forever(poll))

  const register = (source: PriceSource) =>
    Effect.acquireRelease(
      Effect.suspend(() => {
        if (sources.has(source.name)) return Effect.die(new Error(`Two price sources are named ${source.name}`))
        sources.set(source.name, {
          source,
          newest: new Map(),
          askedAt: new Map(),
          loggedAt: undefined,
          suppressedLogs: 0
        })
        return wake.open
      }),
      () =>
        Effect.sync(() => {
          sources.delete(source.name)
          lastSpots.clear()
        })
    ).pipe(Effect.asVoid)

  const spot = Effect.fnUntraced(function*(token: Token) {
    const { asset, environment, symbol } = token
    const unavailable = (reason: string) =>
      new PriceUnavailable({ symbol, reason, retryAfterSeconds: priceRetryAfterSeconds })
    if (asset === null) return yield* unavailable("This token has no price")
    const price = Effect.map(Clock.currentTimeMillis, (now) => {
      const decision = market(asset, environment, Math.floor(now / 1000))
      return isRefusal(decision) ? decision : applyPeg(token, decision, depeg)
    })
    const first = yield* price
    if (!isRefusal(first)) return first
    yield* refresh(asset)
    const second = yield* price
    if (!isRefusal(second)) return second
    const isStale = newestPrices(asset, environment).length > 0 &&
      freshPrices(asset, environment, Math.floor((yield* Clock.currentTimeMillis) / 1000)).length === 0
    return yield* unavailable(isStale ? "Rate data is stale" : second.reason)
  })

  const latest = (token: Token): Spot | null => {
    const { asset, environment } = token
    if (asset === null) return null
    const [newest] = newestPrices(asset, environment).toSorted((a, b) => b.at - a.at)
    const last = lastSpots.get(`${environment}:${asset}`) ?? (newest === undefined ? undefined : agree([newest], 1))
    if (last === undefined || isRefusal(last)) return null
    const price = applyPeg(token, last, "market")
    return isRefusal(price) ? null : price
  }

  return Context.make(Prices, { register, spot, latest }).pipe(Context.add(PriceStates, { read: states }))
})

/** Polls for as long as the layer lives; see {@link Pricing}. */
export const layerWith = (pricing: Pricing): Layer.Layer<Prices | PriceStates, never, TokenCatalog> =>
  Layer.effectContext(make(pricing))

export const layer: Layer.Layer<Prices | PriceStates, never, TokenCatalog> = layerWith({ depeg: "market" })
