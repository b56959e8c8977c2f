/** Exchange rates to dollars, of the one source that registers. Without a source shops price in dollars only. */
import { Context, Effect, Layer, type Scope } from "effect"
import * as Registry from "../../../runtime/Registry.ts"
import type { Rate } from "../../../schemas/Money.ts"

/** Seconds after which a rate is too old for an invoice. Five days, because weekends and holidays have no new rates. */
export const maximumRateAgeSeconds = 5 * 86_400

/** Dollars for one unit of a currency, and the epoch second from which that rate holds. */
export interface FiatRate {
  readonly rate: Rate
  readonly asOf: number
}

/** A source of exchange rates. */
export interface FiatSource {
  readonly name: string
  /** Null: it has no rate of the currency. `code` is in upper case. */
  readonly usdPer: (code: string) => Effect.Effect<FiatRate | null>
}

export class FiatRates extends Context.Service<FiatRates, {
  /** Registers a source for as long as the scope lives. A second one is a mistake in the config: it ends the start. */
  readonly register: (source: FiatSource) => Effect.Effect<void, never, Scope.Scope>
  /** Undefined: no source is loaded. */
  readonly current: () => FiatSource | undefined
}>()("tillwire/modules/btcpay/FiatRates") {
  static readonly layer: Layer.Layer<FiatRates> = Layer.sync(FiatRates, () =>
    FiatRates.of(Registry.single<FiatSource>(
      "two plugins are sources of exchange rates for shops: name one of them in the config file"
    )))
}
