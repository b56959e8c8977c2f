/** What a transfer costs its payor on each network: known from before, or read while the list is made. */
import { Clock, Effect, Fiber } from "effect"
import { Chains } from "../../../runtime/Chains.ts"
import { Prices } from "../../../runtime/Prices.ts"
import { TokenCatalog } from "../../../runtime/TokenCatalog.ts"
import { descriptorOf, type Environment, type Network } from "../../../schemas/Network.ts"
import type { Token } from "../../../schemas/Token.ts"
import { networkFeeOf, staleFeeSeconds } from "../rules.ts"

/** Seconds between two reads of a network's gas price, however many lists are made. */
const readSeconds = 60

/** Milliseconds that a list waits for a gas price it has none of: a fee is a hint, and the list is not. */
const patienceMillis = 300

interface GasPrice {
  readonly units: bigint
  /** Epoch seconds. */
  readonly at: number
}

/** Fees by token; a token whose fee is not known is not there. */
export type NetworkFees = (
  environment: Environment,
  tokens: ReadonlyArray<Token>
) => Effect.Effect<ReadonlyMap<number, number>>

export const makeNetworkFees = Effect.gen(function*() {
  const catalog = yield* TokenCatalog
  const chains = yield* Chains
  const prices = yield* Prices
  const scope = yield* Effect.scope
  const gasPrices = new Map<string, GasPrice>()
  const readAt = new Map<string, number>()

  const keyOf = (environment: Environment, network: Network) => `${environment} ${network}`

  const isFresh = (at: number, now: number) => now - at <= staleFeeSeconds

  /** Reads a gas price anew where it is time, and waits for it where there is none to tell. */
  const refresh = Effect.fnUntraced(function*(environment: Environment, network: Network, now: number) {
    const gasPrice = chains.driver(network, environment)?.gasPrice
    const key = keyOf(environment, network)
    if (gasPrice === undefined || now - (readAt.get(key) ?? 0) < readSeconds) return
    readAt.set(key, now)
    const reading = yield* gasPrice.pipe(
      Effect.map((units) => void gasPrices.set(key, { units, at: now })),
      Effect.ignore,
      Effect.forkIn(scope, { startImmediately: true })
    )
    const last = gasPrices.get(key)
    if (last === undefined || !isFresh(last.at, now)) {
      yield* Effect.timeoutOption(Fiber.await(reading), patienceMillis)
    }
  })

  const feeOf = (token: Token, coin: Token | undefined, now: number): number | null => {
    const { transferFee } = descriptorOf(token.network)
    const amount = token.address === null ? transferFee.coin : transferFee.token
    const spot = coin === undefined ? null : prices.latest(coin)
    if (coin === undefined || spot === null || !isFresh(spot.at, now)) return null
    if (transferFee.unit === "coin") return networkFeeOf(amount, spot.rate, coin.decimals)
    const gasPrice = gasPrices.get(keyOf(token.environment, token.network))
    return gasPrice === undefined || !isFresh(gasPrice.at, now)
      ? null
      : networkFeeOf(amount * gasPrice.units, spot.rate, coin.decimals)
  }

  const fees: NetworkFees = Effect.fnUntraced(function*(environment, tokens) {
    const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
    const networks = new Set(tokens.map(({ network }) => network))
    yield* Effect.forEach(networks, (network) => refresh(environment, network, now), {
      concurrency: "unbounded",
      discard: true
    })
    const coins = new Map(
      catalog.list(environment).filter(({ address }) => address === null).map((coin) => [coin.network, coin])
    )
    return new Map(tokens.flatMap((token) => {
      const fee = feeOf(token, coins.get(token.network), now)
      return fee === null ? [] : [[token.id, fee] as const]
    }))
  })
  return fees
})
