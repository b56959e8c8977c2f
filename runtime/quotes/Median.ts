/**
 * Prices by agreement: every source is polled, what is fresh is compared, the exact median is the price. Nothing here
 * is a float; a price too old, from the future, or unreadable is refused and logged, never used.
 */
import { Cause, Clock, Deferred, Effect, Latch, Layer, Scope } from "effect"
import { isWithin, medianRate, type Rate, rateText, readRate } from "../../schemas/Money.ts"
import type { Environment } from "../../schemas/Network.ts"
import type { Token } from "../../schemas/Token.ts"
import {
  freshSeconds,
  type PricePoint,
  type PriceSource,
  PriceSourceFailed,
  PriceUnavailable,
  Quotes,
  type Spot
} from "../Quotes.ts"
import { TokenCatalog } from "../TokenCatalog.ts"

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

/** `retry_after_seconds` of a quote without a price (API reference, "Quotes"). */
export const priceRetryAfterSeconds = 15

/** Sources that must agree before there is a price, where the config does not say. One that is wrong costs nothing on devnet. */
export const defaultQuorum: Readonly<Record<Environment, number>> = { devnet: 1, mainnet: 2 }

/**
 * How far from the median a source may be, in basis points, before it is left out; null: never left out. With two
 * sources that disagree by more than twice this, neither is believed.
 */
export const maximumSpreadBasisPoints: Readonly<Record<Environment, bigint | null>> = { devnet: null, mainnet: 200n }

/** A price that was accepted: readable, positive, not from the future. */
export interface KnownPrice {
  readonly source: string
  readonly rate: Rate
  /** Epoch seconds at which it held, never later than its receipt. */
  readonly at: number
}

/**
 * The price that `prices` agree on, or why there is none. Each source appears once.
 *
 * The rate is what its own text reads as, so that what a quote asks for and what a payment is valued at are the same
 * number. Pure; the order of `prices` does not matter.
 */
export const agree = (
  prices: ReadonlyArray<KnownPrice>,
  environment: Environment,
  needed: number = defaultQuorum[environment]
): Spot | string => {
  const all = medianOf(prices)
  if (all === undefined || prices.length < needed) return "Too few price sources answered"
  const spread = maximumSpreadBasisPoints[environment]
  const kept = spread === null ? prices : prices.filter(({ rate }) => isWithin(rate, all, spread))
  const median = medianOf(kept)
  if (median === undefined || kept.length < needed) return "Price sources disagree"
  const text = rateText(median)
  const rate = readRate(text)
  if (rate === undefined) return "The price is too small"
  const [only, ...others] = kept
  return {
    rate,
    text,
    source: only !== undefined && others.length === 0 ? only.source : "median",
    at: Math.min(...kept.map(({ at }) => at))
  }
}

const medianOf = (prices: ReadonlyArray<KnownPrice>): Rate | undefined => {
  const [first, ...rest] = prices.map(({ rate }) => rate)
  return first === undefined ? undefined : medianRate([first, ...rest])
}

/** Reads a source's point at the moment of receipt; a text says why it is refused. */
export const accept = (source: string, point: PricePoint, nowSeconds: number): KnownPrice | string => {
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

const supersedes = (price: KnownPrice, old: KnownPrice | undefined, nowSeconds: number): boolean =>
  old === undefined || old.at <= price.at || old.at - nowSeconds > maximumAheadSeconds

/** Milliseconds since; for ever if never, or if the clock was set back. */
const elapsed = (since: number | undefined, nowMillis: number): number =>
  since === undefined || since > nowMillis ? Number.POSITIVE_INFINITY : nowMillis - since

/** A registered source and what is remembered of it. */
interface Registered {
  readonly source: PriceSource
  readonly newest: Map<string, KnownPrice>
  /** Epoch milliseconds at which each asset was last asked for. */
  readonly asked: Map<string, number>
  loggedAt: number | undefined
  silenced: number
}

const make = Effect.fnUntraced(function*(quorum: number | undefined) {
  const catalog = yield* TokenCatalog
  const scope = yield* Scope.Scope
  const wake = yield* Latch.make()
  const sources = new Map<string, Registered>()
  let inFlight: { readonly assets: ReadonlySet<string>; readonly done: Deferred.Deferred<void> } | null = null

  const known = (asset: string, environment: Environment): ReadonlyArray<KnownPrice> =>
    [...sources.values()].flatMap(({ source, newest }) => {
      const price = newest.get(asset)
      return price !== undefined && source.environments.includes(environment) ? [price] : []
    })

  const fresh = (asset: string, environment: Environment, nowSeconds: number): ReadonlyArray<KnownPrice> =>
    known(asset, environment).filter(({ at }) => isFresh(at, nowSeconds))

  const assetsInUse = (environments: ReadonlyArray<Environment>): ReadonlyArray<string> =>
    environments.flatMap((environment) => catalog.list(environment)).flatMap(({ active, asset }) =>
      active && asset !== null ? [asset] : []
    )

  const complain = (registered: Registered, message: string, nowMillis: number) => {
    if (elapsed(registered.loggedAt, nowMillis) < logEveryMillis) {
      registered.silenced++
      return Effect.void
    }
    const silenced = registered.silenced
    registered.loggedAt = nowMillis
    registered.silenced = 0
    return Effect.logWarning(message).pipe(Effect.annotateLogs({ source: registered.source.name, silenced }))
  }

  /** What was wrong with the points, or null. */
  const remember = (
    registered: Registered,
    wanted: ReadonlySet<string>,
    points: ReadonlyArray<PricePoint>,
    nowMillis: number
  ): string | null => {
    const nowSeconds = Math.floor(nowMillis / 1000)
    const refused: Array<string> = []
    for (const point of points) {
      if (!wanted.has(point.asset)) continue
      const price = accept(registered.source.name, point, nowSeconds)
      if (typeof price === "string") refused.push(price)
      else if (supersedes(price, registered.newest.get(point.asset), nowSeconds)) {
        registered.newest.set(point.asset, price)
      }
    }
    return refused.length === 0 ? null : `Refused prices: ${refused.slice(0, maximumListed).join("; ")}`
  }

  const ask = Effect.fnUntraced(function*(registered: Registered, extra: string | null) {
    const { source, asked } = registered
    const startedAt = yield* Clock.currentTimeMillis
    const wanted = new Set([...assetsInUse(source.environments), ...(extra === null ? [] : [extra])].filter(
      (asset) => elapsed(asked.get(asset), startedAt) >= askAgainMillis
    ))
    if (wanted.size === 0) return
    for (const asset of wanted) asked.set(asset, startedAt)
    yield* source.prices([...wanted]).pipe(
      Effect.timeoutOrElse({
        duration: sourceTimeoutMillis,
        orElse: () =>
          Effect.fail(new PriceSourceFailed({ source: source.name, reason: `no answer in ${sourceTimeoutMillis} ms` }))
      }),
      Effect.flatMap((points) =>
        Effect.map(Clock.currentTimeMillis, (now) => remember(registered, wanted, points, now))
      ),
      Effect.catchTag("PriceSourceFailed", (failed) => Effect.succeed(failed.message)),
      Effect.catchDefect((defect) => Effect.succeed(Cause.pretty(Cause.die(defect)))),
      Effect.flatMap((fault) =>
        fault === null
          ? Effect.void
          : Effect.flatMap(Clock.currentTimeMillis, (now) => complain(registered, fault, now))
      )
    )
  })

  /** Asks every source at once, in a fiber of its own: whoever waits may be interrupted, the others still get it. */
  const refresh = (extra: string | null): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (inFlight !== null) {
        const { assets, done } = inFlight
        const joined = Deferred.await(done)
        return extra === null || assets.has(extra) ? joined : Effect.andThen(joined, refresh(extra))
      }
      const done = Deferred.makeUnsafe<void>()
      const assets = new Set([...assetsInUse(["devnet", "mainnet"]), ...(extra === null ? [] : [extra])])
      inFlight = { assets, done }
      return Effect.forEach([...sources.values()], (registered) => ask(registered, extra), {
        concurrency: "unbounded",
        discard: true
      }).pipe(
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
          asked: new Map(),
          loggedAt: undefined,
          silenced: 0
        })
        return wake.open
      }),
      () => Effect.sync(() => sources.delete(source.name))
    ).pipe(Effect.asVoid)

  const spot = Effect.fnUntraced(function*(token: Token) {
    const { asset, environment, symbol } = token
    const unavailable = (reason: string) =>
      new PriceUnavailable({ symbol, reason, retryAfterSeconds: priceRetryAfterSeconds })
    if (asset === null) return yield* unavailable("This token has no price")
    const agreed = Effect.map(
      Clock.currentTimeMillis,
      (now) => agree(fresh(asset, environment, Math.floor(now / 1000)), environment, quorum)
    )
    const first = yield* agreed
    if (typeof first !== "string") return first
    yield* refresh(asset)
    const second = yield* agreed
    if (typeof second !== "string") return second
    const everKnown = known(asset, environment).length > 0
    const anyFresh = fresh(asset, environment, Math.floor((yield* Clock.currentTimeMillis) / 1000)).length > 0
    return yield* unavailable(everKnown && !anyFresh ? "Rate data is stale" : second)
  })

  const latest = ({ asset, environment }: Token): Spot | null => {
    if (asset === null) return null
    const prices = known(asset, environment)
    const newest = Math.max(...prices.map(({ at }) => at))
    const together = prices.filter(({ at }) => newest - at <= freshSeconds)
    const agreed = agree(together, environment, quorum)
    if (typeof agreed !== "string") return agreed
    const single = together.find(({ at }) => at === newest)
    const shown = single === undefined ? "" : agree([single], "devnet")
    return typeof shown === "string" ? null : shown
  }

  return Quotes.of({ register, spot, latest })
})

/** Polls for as long as the layer lives; `quorum` sources must agree, {@link defaultQuorum} where it is not given. */
export const layerWith = (quorum: number | undefined): Layer.Layer<Quotes, never, TokenCatalog> =>
  Layer.effect(Quotes, make(quorum))

export const layer: Layer.Layer<Quotes, never, TokenCatalog> = layerWith(undefined)
