/** Prices: sources register, one median of what is fresh comes out. */
import { Context, Effect, Schema, type Scope } from "effect"
import { type BaseUnits, type Rate, type UsdMillis, usdValueDown } from "../schemas/Money.ts"
import type { Environment } from "../schemas/Network.ts"
import type { Token } from "../schemas/Token.ts"

/** One price of one source. */
export interface PricePoint {
  /** Asset id, see `Token.asset`. */
  readonly asset: string
  /** Decimal US dollars per whole token, as the source said it. */
  readonly rate: string
  /** Epoch seconds at which the source says it held, or the time of asking where it does not say. */
  readonly at: number
}

/** A source could not be asked, or answered what cannot be read. */
export class PriceSourceError extends Schema.TaggedError<PriceSourceError>()("PriceSourceError", {
  source: Schema.String,
  reason: Schema.String
}) {
  override get message() {
    return `Price source ${this.source}: ${this.reason}`
  }
}

/** A provider of prices. */
export interface PriceSource {
  readonly name: string
  readonly environments: ReadonlyArray<Environment>
  /** Assets whose price it needs from the others to work out its own: they are asked for first. Absent: none. */
  readonly requiredAssets?: ReadonlyArray<string>
  /**
   * Current prices of those of `assets` it knows; one request where the source allows. `peers` gives what the other
   * sources of its environments say of an asset now, null when they say nothing fresh.
   */
  readonly prices: (
    assets: ReadonlyArray<string>,
    peers: (asset: string) => Spot | null
  ) => Effect.Effect<ReadonlyArray<PricePoint>, PriceSourceError>
}

/** A price to quote or value by. */
export interface Spot {
  readonly rate: Rate
  /** `exchange_rate` text of `rate`; what is stored. */
  readonly text: string
  /** The source's name, or `median`. */
  readonly source: string
  /** Epoch seconds of the oldest price in it. */
  readonly at: number
}

/** No price that can be believed now: none is fresh, too few sources answered, or what they say contradicts. */
export class PriceUnavailable extends Schema.TaggedError<PriceUnavailable>()("PriceUnavailable", {
  symbol: Schema.String,
  reason: Schema.String,
  retryAfterSeconds: Schema.Int
}) {
  override get message() {
    return `No price for ${this.symbol}: ${this.reason}`
  }
}

/** Seconds after which a price is stale (modules/docs/reference/quotes.md#prices). */
export const freshSeconds = 120

/**
 * Seconds a price that was agreed on is still used when the sources fall silent
 * (modules/docs/reference/quotes.md#prices).
 */
export const holdSeconds = 300

/** What a token costs now. Drivers of price sources register here. */
export class Prices extends Context.Service<Prices, {
  /** Adds a source for as long as the scope lives. Two sources of one name are a bug. */
  readonly register: (source: PriceSource) => Effect.Effect<void, never, Scope.Scope>
  /**
   * The price of the token to quote and value by: the median of the fresh prices of its asset that agree, one dollar
   * for a dollar stablecoin that holds its peg. Asks the sources at once when nothing fresh is known. When they fall
   * silent the last price holds for {@link holdSeconds}; when they contradict each other, or a lone one the last price,
   * there is none at once.
   */
  readonly spot: (token: Token) => Effect.Effect<Spot, PriceUnavailable>
  /** The last known price, however old, without asking anyone; null when there never was one. */
  readonly latest: (token: Token) => Spot | null
}>()("tillwire/runtime/Prices") {}

/** usd_millis that a sum of a token is worth at the price of now, rounded down; null: nobody knows a price. */
export const spotValueOf = (
  { spot }: Pick<Prices["Service"], "spot">,
  token: Token,
  units: BaseUnits
): Effect.Effect<UsdMillis | null> =>
  spot(token).pipe(
    Effect.map(({ rate }) => usdValueDown(units, rate, token.decimals)),
    Effect.catchTag("PriceUnavailable", () => Effect.succeed(null))
  )
