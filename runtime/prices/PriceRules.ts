/**
 * Which price is believed: how old it may be, how many sources must agree, how far one may be from the others and from
 * the last price, and when a stablecoin is worth a dollar. Pure, in exact fractions; nothing here is a float.
 */
import { isWithin, medianRate, type Rate, rateText, readRate } from "../../schemas/Money.ts"
import type { Environment } from "../../schemas/Network.ts"
import type { Token } from "../../schemas/Token.ts"
import { freshSeconds, holdSeconds, type PricePoint, type Spot } from "../Prices.ts"

/** Seconds a price may be ahead of our clock; further ahead it is refused. */
export const maximumAheadSeconds = 60

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

/** Whether a price of `at` may be used. A clock set back leaves times ahead of it: they are not fresh. */
export const isFresh = (at: number, nowSeconds: number): boolean =>
  nowSeconds - at <= freshSeconds && at - nowSeconds <= maximumAheadSeconds

/** Whether a price replaces the last one of its source: not where it is older, unless that one is from the future. */
export const supersedes = (price: AcceptedPrice, old: AcceptedPrice | undefined, nowSeconds: number): boolean =>
  old === undefined || old.at <= price.at || old.at - nowSeconds > maximumAheadSeconds
