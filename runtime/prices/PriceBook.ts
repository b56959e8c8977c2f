/**
 * What every price source said last, and the market's price of each asset that was used last: a value, and what each
 * answer and each look makes of it. Pure: times are arguments, `SourcePolling.ts` asks the sources.
 */
import type { Environment } from "../../schemas/Network.ts"
import type { PricePoint, PriceSource, Spot } from "../Prices.ts"
import {
  accept,
  type AcceptedPrice,
  agree,
  decidePrice,
  isFresh,
  isRefusal,
  type Refusal,
  supersedes
} from "./PriceRules.ts"

/** Milliseconds before a source is asked for the same asset again, however many callers want it. */
export const askAgainMillis = 5_000

/** Milliseconds between two log lines about one source. */
export const logEveryMillis = 60_000

/** Refused prices named in one log line. */
const maximumListed = 5

/** A registered source and what is remembered of it. */
export interface SourceRecord {
  readonly source: PriceSource
  /** By asset. */
  readonly newest: ReadonlyMap<string, AcceptedPrice>
  /** When each asset was last asked for, epoch milliseconds. */
  readonly askedAtMillis: ReadonlyMap<string, number>
  /** When a fault was last logged, epoch milliseconds; undefined: never. */
  readonly loggedAtMillis: number | undefined
  /** Faults that were not logged since. */
  readonly suppressedLogs: number
}

export interface PriceBook {
  /** By the source's name. */
  readonly sources: ReadonlyMap<string, SourceRecord>
  /** The last market price that was used, by {@link spotKey}. */
  readonly lastSpots: ReadonlyMap<string, Spot>
  /** When contradictions were last logged, epoch milliseconds; undefined: never. */
  readonly contradictionsLoggedAtMillis: number | undefined
}

/** An asset as it is priced in one environment. */
export interface PricedAsset {
  readonly environment: Environment
  readonly asset: string
}

/** What an asset is worth in an environment, or why there is no price. */
export interface AssetPrice extends PricedAsset {
  readonly price: Spot | Refusal
}

export const emptyBook: PriceBook = {
  sources: new Map(),
  lastSpots: new Map(),
  contradictionsLoggedAtMillis: undefined
}

const spotKey = (asset: string, environment: Environment): string => `${environment}:${asset}`

/** Milliseconds since; for ever if never, or if the clock was set back. */
const elapsedMillis = (sinceMillis: number | undefined, nowMillis: number): number =>
  sinceMillis === undefined || sinceMillis > nowMillis ? Number.POSITIVE_INFINITY : nowMillis - sinceMillis

/** The record of a source; undefined after its removal, even when another of its name was added since. */
const recordOf = ({ sources }: PriceBook, source: PriceSource): SourceRecord | undefined => {
  const record = sources.get(source.name)
  return record?.source === source ? record : undefined
}

const withRecord = (book: PriceBook, record: SourceRecord): PriceBook => ({
  ...book,
  sources: new Map(book.sources).set(record.source.name, record)
})

export const withSource = (book: PriceBook, source: PriceSource): PriceBook =>
  withRecord(book, {
    source,
    newest: new Map(),
    askedAtMillis: new Map(),
    loggedAtMillis: undefined,
    suppressedLogs: 0
  })

/** Without the source, and without last prices: the removed one may have had its share in each of them. */
export const withoutSource = (book: PriceBook, { name }: PriceSource): PriceBook => ({
  ...book,
  sources: new Map([...book.sources].filter(([each]) => each !== name)),
  lastSpots: new Map()
})

/** What each source of the environment said last, however long ago. */
export const newestPrices = (
  { sources }: PriceBook,
  asset: string,
  environment: Environment
): ReadonlyArray<AcceptedPrice> =>
  [...sources.values()].flatMap(({ source, newest }) => {
    const price = newest.get(asset)
    return price !== undefined && source.environments.includes(environment) ? [price] : []
  })

export const freshPrices = (
  book: PriceBook,
  asset: string,
  environment: Environment,
  nowSeconds: number
): ReadonlyArray<AcceptedPrice> => newestPrices(book, asset, environment).filter(({ at }) => isFresh(at, nowSeconds))

/** What others that serve all of `source`'s environments say now: a devnet source never has a say on mainnet. */
export const peerPrice = (book: PriceBook, source: PriceSource, asset: string, nowSeconds: number): Spot | null => {
  const others = [...book.sources.values()].flatMap(({ newest, source: other }) => {
    const price = newest.get(asset)
    const counts = other !== source && source.environments.every((one) => other.environments.includes(one))
    return counts && price !== undefined && isFresh(price.at, nowSeconds) ? [price] : []
  })
  const agreement = agree(others, 1)
  return isRefusal(agreement) ? null : agreement
}

/** Those of `assets` that `source` was not asked for lately; of a removed source none. */
export const assetsDue = (
  book: PriceBook,
  source: PriceSource,
  assets: ReadonlyArray<string>,
  nowMillis: number
): ReadonlySet<string> => {
  const record = recordOf(book, source)
  return new Set(
    record === undefined
      ? []
      : assets.filter((asset) => elapsedMillis(record.askedAtMillis.get(asset), nowMillis) >= askAgainMillis)
  )
}

/** `source` is asked for `assets` now. */
export const recordAsked = (
  book: PriceBook,
  source: PriceSource,
  assets: Iterable<string>,
  nowMillis: number
): PriceBook => {
  const record = recordOf(book, source)
  if (record === undefined) return book
  const askedAtMillis = new Map(record.askedAtMillis)
  for (const asset of assets) askedAtMillis.set(asset, nowMillis)
  return withRecord(book, { ...record, askedAtMillis })
}

/** Takes what a source answered when it was asked for `assets`, and says what was wrong with it; null: nothing. */
export const recordPoints = (
  book: PriceBook,
  source: PriceSource,
  assets: ReadonlySet<string>,
  points: ReadonlyArray<PricePoint>,
  nowMillis: number
): readonly [PriceBook, fault: string | null] => {
  const nowSeconds = Math.floor(nowMillis / 1000)
  const record = recordOf(book, source)
  const newest = new Map(record?.newest)
  const faults: Array<string> = []
  for (const point of points) {
    if (!assets.has(point.asset)) continue
    const price = accept(source.name, point, nowSeconds)
    if (typeof price === "string") faults.push(price)
    else if (supersedes(price, newest.get(point.asset), nowSeconds)) newest.set(point.asset, price)
  }
  return [
    record === undefined ? book : withRecord(book, { ...record, newest }),
    faults.length === 0 ? null : `Refused prices: ${faults.slice(0, maximumListed).join("; ")}`
  ]
}

/**
 * A source failed or answered nonsense: whether that is to be logged, at most once in {@link logEveryMillis}, and then
 * with how many faults that were not logged before it; null: it is not.
 */
export const recordFault = (
  book: PriceBook,
  source: PriceSource,
  nowMillis: number
): readonly [PriceBook, suppressed: number | null] => {
  const record = recordOf(book, source)
  if (record === undefined) return [book, 0]
  const { loggedAtMillis, suppressedLogs } = record
  return elapsedMillis(loggedAtMillis, nowMillis) < logEveryMillis
    ? [withRecord(book, { ...record, suppressedLogs: suppressedLogs + 1 }), null]
    : [withRecord(book, { ...record, loggedAtMillis: nowMillis, suppressedLogs: 0 }), suppressedLogs]
}

/** The market's price of an asset now, or why there is none. */
export const marketPrice = (
  book: PriceBook,
  asset: string,
  environment: Environment,
  quorum: number,
  nowSeconds: number
): Spot | Refusal =>
  decidePrice(freshPrices(book, asset, environment, nowSeconds), lastSpot(book, asset, environment), quorum, nowSeconds)

/** The last market price of an asset that was used. */
export const lastSpot = ({ lastSpots }: PriceBook, asset: string, environment: Environment): Spot | undefined =>
  lastSpots.get(spotKey(asset, environment))

/**
 * Whether a price changes the last one of its asset. Between two answers of the sources it does not: the rate is what
 * the text reads as.
 */
const isNewSpot = (book: PriceBook, { asset, environment }: PricedAsset, price: Spot | Refusal): price is Spot => {
  if (isRefusal(price)) return false
  const last = lastSpot(book, asset, environment)
  return last === undefined || last.text !== price.text || last.at !== price.at || last.source !== price.source
}

/** A market price was used: it is the last one of its asset from now on. */
export const withLastSpot = (book: PriceBook, priced: PricedAsset, price: Spot | Refusal): PriceBook =>
  isNewSpot(book, priced, price)
    ? { ...book, lastSpots: new Map(book.lastSpots).set(spotKey(priced.asset, priced.environment), price) }
    : book

/** Prices assets anew: what each is worth now, as the last price of each from now on. */
export const priceAll = (
  book: PriceBook,
  assets: ReadonlyArray<PricedAsset>,
  quorumOf: (environment: Environment) => number,
  nowSeconds: number
): readonly [PriceBook, ReadonlyArray<AssetPrice>] => {
  const prices = assets.map((each) => ({
    ...each,
    price: marketPrice(book, each.asset, each.environment, quorumOf(each.environment), nowSeconds)
  }))
  const newSpots = prices.flatMap((each): ReadonlyArray<readonly [string, Spot]> =>
    isNewSpot(book, each, each.price) ? [[spotKey(each.asset, each.environment), each.price]] : []
  )
  const next = newSpots.length === 0 ? book : { ...book, lastSpots: new Map([...book.lastSpots, ...newSpots]) }
  return [next, prices]
}

/** Which contradictions among `prices` are to be logged, at most once in {@link logEveryMillis}; null: none. */
export const recordContradictions = (
  book: PriceBook,
  prices: ReadonlyArray<AssetPrice>,
  nowMillis: number
): readonly [PriceBook, message: string | null] => {
  const contradictions = prices.flatMap(({ asset, price }) =>
    isRefusal(price) && price.kind === "contradiction" ? [`${asset}: ${price.reason}`] : []
  )
  if (contradictions.length === 0 || elapsedMillis(book.contradictionsLoggedAtMillis, nowMillis) < logEveryMillis) {
    return [book, null]
  }
  return [
    { ...book, contradictionsLoggedAtMillis: nowMillis },
    `Refused to price ${contradictions.slice(0, maximumListed).join("; ")}`
  ]
}
