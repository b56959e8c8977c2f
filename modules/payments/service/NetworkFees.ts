/** What a transfer costs its payor on each network: known from before, or read while the list is made. */
import { Clock, Deferred, Effect, Fiber } from "effect"
import { Chains } from "../../../runtime/Chains.ts"
import { Prices } from "../../../runtime/Prices.ts"
import { TokenCatalog } from "../../../runtime/TokenCatalog.ts"
import { descriptorOf, type Environment, type Network } from "../../../schemas/Network.ts"
import type { Token } from "../../../schemas/Token.ts"
import { networkFeeOf, staleFeeSeconds } from "../rules.ts"

/** Seconds between two reads of a network's gas price by this process, however many lists are made. */
const readSeconds = 60

/** Milliseconds after which a read counts as failed; the next is made once its time has come. */
const answerMillis = 10_000

/**
 * Milliseconds from the start of a read for which lists wait, where there is no gas price to tell: a fee is a hint, and
 * the list is not.
 */
const patienceMillis = 300

interface GasPrice {
  readonly units: bigint
  /** Epoch seconds. */
  readonly at: number
}

/** A read of a gas price: when it began, in epoch seconds, and what waits for it as long as a list may. */
interface Reading {
  readonly at: number
  readonly wait: Effect.Effect<void>
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
  const readings = new Map<string, Reading>()

  const keyOf = (environment: Environment, network: Network) => `${environment} ${network}`

  const isFresh = (at: number, now: number) => now - at <= staleFeeSeconds

  const read = Effect.fnUntraced(function*(key: string, gasPrice: Effect.Effect<bigint, unknown>, now: number) {
    const isOver = Deferred.makeUnsafe<void>()
    // Noted before it begins, so that all who ask in the same moment share it.
    readings.set(key, { at: now, wait: Deferred.await(isOver) })
    const reading = yield* gasPrice.pipe(
      Effect.timeout(answerMillis),
      Effect.map((units) => void gasPrices.set(key, { units, at: now })),
      Effect.ignore,
      Effect.forkIn(scope, { startImmediately: true })
    )
    yield* Fiber.await(reading).pipe(
      Effect.timeoutOption(patienceMillis),
      Effect.andThen(Deferred.succeed(isOver, undefined)),
      Effect.forkIn(scope, { startImmediately: true })
    )
  })

  /** Has a gas price read where it is time, by one for all, and waits for it where there is none to tell. */
  const refresh = Effect.fnUntraced(function*(environment: Environment, network: Network, now: number) {
    const gasPrice = chains.driver(network, environment)?.gasPrice
    if (gasPrice === undefined) return
    const key = keyOf(environment, network)
    const last = readings.get(key)
    if (last === undefined || now - last.at >= readSeconds) yield* Effect.uninterruptible(read(key, gasPrice, now))
    const known = gasPrices.get(key)
    if (known === undefined || !isFresh(known.at, now)) yield* readings.get(key)!.wait
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
