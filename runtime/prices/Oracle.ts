/**
 * Prices by agreement: every source is polled, what is fresh is compared, the exact median is the price. A price too
 * old, from the future, or unreadable is refused and logged, never used. `PriceRules.ts` has the rules.
 */
import { Context, Effect, Latch, Layer, MutableRef, Scope } from "effect"
import type { Environment } from "../../schemas/Network.ts"
import type { Token } from "../../schemas/Token.ts"
import { nowSeconds } from "../Clock.ts"
import { Prices, type PriceSource, PriceUnavailable, type Spot } from "../Prices.ts"
import { TokenCatalog } from "../TokenCatalog.ts"
import { PriceStates } from "./Health.ts"
import { type OracleContext, type Pricing, quorumOf, type Round } from "./OracleContext.ts"
import {
  emptyBook,
  freshPrices,
  lastSpot,
  marketPrice,
  newestPrices,
  type PriceBook,
  withLastSpot,
  withoutSource,
  withSource
} from "./PriceBook.ts"
import { priceStates } from "./PriceReview.ts"
import { agree, applyPeg, isRefusal, type Refusal } from "./PriceRules.ts"
import { pollForever, refresh } from "./SourcePolling.ts"

/** `retry_after_seconds` of a quote without a price (modules/docs/reference/quotes.md#calls). */
export const priceRetryAfterSeconds = 15

const register = ({ book }: OracleContext, wake: Latch.Latch) => (source: PriceSource) =>
  Effect.acquireRelease(
    Effect.suspend(() => {
      if (MutableRef.get(book).sources.has(source.name)) {
        return Effect.die(new Error(`Two price sources are named ${source.name}`))
      }
      MutableRef.update(book, (each) => withSource(each, source))
      return wake.open
    }),
    () => Effect.sync(() => void MutableRef.update(book, (each) => withoutSource(each, source)))
  ).pipe(Effect.asVoid)

/** The price of a token now by what is known of its asset; the market's price is its last one from now on. */
const tokenPrice = ({ book, pricing }: OracleContext, token: Token, asset: string) =>
  Effect.map(nowSeconds, (now): Spot | Refusal => {
    const { environment } = token
    const current = MutableRef.get(book)
    const price = marketPrice(current, asset, environment, quorumOf(pricing, environment), now)
    MutableRef.set(book, withLastSpot(current, { asset, environment }, price))
    return isRefusal(price) ? price : applyPeg(token, price, pricing.depeg)
  })

/** Whether sources said something of an asset, but nothing lately. */
const isStale = ({ book }: OracleContext, { environment }: Token, asset: string) =>
  Effect.map(nowSeconds, (now) => {
    const current = MutableRef.get(book)
    return newestPrices(current, asset, environment).length > 0 &&
      freshPrices(current, asset, environment, now).length === 0
  })

const spot = (oracle: OracleContext) =>
  Effect.fnUntraced(function*(token: Token) {
    const { asset, symbol } = token
    const unavailable = (reason: string) =>
      new PriceUnavailable({ symbol, reason, retryAfterSeconds: priceRetryAfterSeconds })
    if (asset === null) return yield* unavailable("This token has no price")
    const first = yield* tokenPrice(oracle, token, asset)
    if (!isRefusal(first)) return first
    yield* refresh(oracle, asset)
    const second = yield* tokenPrice(oracle, token, asset)
    if (!isRefusal(second)) return second
    return yield* unavailable((yield* isStale(oracle, token, asset)) ? "Rate data is stale" : second.reason)
  })

/** What was said last of an asset, by whichever source: before its first price is used there is no better. */
const newestSpot = (book: PriceBook, asset: string, environment: Environment): Spot | Refusal | undefined => {
  const [newest] = newestPrices(book, asset, environment).toSorted((a, b) => b.at - a.at)
  return newest === undefined ? undefined : agree([newest], 1)
}

const latest = ({ book }: OracleContext) => (token: Token): Spot | null => {
  const { asset, environment } = token
  if (asset === null) return null
  const current = MutableRef.get(book)
  const last = lastSpot(current, asset, environment) ?? newestSpot(current, asset, environment)
  if (last === undefined || isRefusal(last)) return null
  const price = applyPeg(token, last, "market")
  return isRefusal(price) ? null : price
}

const make = Effect.fnUntraced(function*(pricing: Pricing) {
  const oracle: OracleContext = {
    catalog: yield* TokenCatalog,
    pricing,
    scope: yield* Scope.Scope,
    book: MutableRef.make(emptyBook),
    round: MutableRef.make<Round | null>(null),
    startedAt: yield* nowSeconds
  }
  const wake = yield* Latch.make()
  yield* Effect.forkScoped(pollForever(oracle, wake))
  return Context.make(Prices, { register: register(oracle, wake), spot: spot(oracle), latest: latest(oracle) }).pipe(
    Context.add(PriceStates, { read: priceStates(oracle) })
  )
})

/** Polls for as long as the layer lives; see {@link Pricing}. */
export const layerWith = (pricing: Pricing): Layer.Layer<Prices | PriceStates, never, TokenCatalog> =>
  Layer.effectContext(make(pricing))

export const layer: Layer.Layer<Prices | PriceStates, never, TokenCatalog> = layerWith({ depeg: "market" })
