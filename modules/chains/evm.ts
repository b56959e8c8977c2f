/**
 * EVM networks over JSON-RPC: blocks with their receipts are polled, ERC-20 and native transfers matched in memory.
 * One entry per (network, environment). JSON-RPC is spoken directly, which needs no client library.
 */
import { Effect, Layer, Redacted, Schema } from "effect"
import { type BaseUnits, baseUnits, usdMillis } from "../../schemas/Money.ts"
import { Environment, evmDescriptorOf, evmNetworks, type Network } from "../../schemas/Network.ts"
import { evmPaymentUri } from "../../schemas/PaymentUri.ts"
import { type BlockHistory, type ChainDriver, Chains, DriverError } from "../../runtime/Chains.ts"
import { readUnlessPruned } from "../../runtime/nodes/Absence.ts"
import type { PoolLimits } from "../../runtime/nodes/EndpointPool.ts"
import { standstillLimits } from "../../runtime/nodes/Heads.ts"
import * as Plugin from "../../runtime/Plugin.ts"
import { word } from "./evm/AbiWords.ts"
import { readBlockBelow, transfersOf } from "./evm/Blocks.ts"
import { readCoinsForwarded } from "./evm/ForwardedCoins.ts"
import { readUnitsForwarded } from "./evm/ForwardedUnits.ts"
import { readForwarderFacts } from "./evm/ForwarderFacts.ts"
import { makeCorroborate, makeFindTransfers, makeReaders } from "./evm/Corroboration.ts"
import { follow } from "./evm/Follow.ts"
import { type Endpoint, type JsonRpc, make as makeRpc, Quantity } from "./evm/JsonRpc.ts"
import { payoutDriver } from "./evm/Payouts.ts"
import { balanceSelector, contractToken, decimalsSelector, symbolSelector } from "./evm/TokenFacts.ts"
import { readAccount, readWallet, walletOf } from "./evm/Wallet.ts"

export const EvmOptions = Schema.Struct({
  network: Schema.Literals(evmNetworks),
  environment: Environment,
  /**
   * JSON-RPC endpoints, best first, at most 8. They may hold keys. Two of different operators, or one beside your own
   * node, keep one of them from deciding about money alone.
   */
  rpc: Schema.NonEmptyArray(Schema.RedactedFromValue(Schema.NonEmptyString)).check(Schema.isMaxLength(8)),
  /** Extended public key of the account m/44'/60'/0' where funds arrive; without one the network is only watched. */
  xpub: Schema.optionalKey(Schema.RedactedFromValue(Schema.NonEmptyString)),
  /**
   * First address index to give out where the store has never seen the xpub: past every one ever used. Mainnet needs it
   * (0 for a new account), because no search of one network can prove an address unused; devnet starts at 0.
   */
  startIndex: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2_147_000_000 }))),
  pollMillis: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 10, maximum: 60_000 }))),
  /** Ask the node for its `finalized` mark; default true. */
  finalizedTag: Schema.optionalKey(Schema.Boolean),
  /**
   * Seconds an endpoint's head may stand still, or lie behind another endpoint's, before it counts as frozen, 1 to
   * 3,600; default ten blocks of the network, at least 30. On devnet a head may stand still for ever unless this is
   * set.
   */
  frozenSeconds: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3_600 }))),
  /**
   * Whole dollars from which on a payment, or any payment of an invoice of as many, is confirmed only where two
   * endpoints have its block; 0: every payment. Needs two endpoints. Default on mainnet with two endpoints: 1,000; else
   * none.
   */
  agreementAboveUsd: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000_000 }))),
  /** For a private network: the chain id its nodes answer with instead of the public one. Devnet only. */
  chainId: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThan(0)))
})
export type EvmOptions = typeof EvmOptions.Type

/** Options that cannot work; the boot stops with this message. */
export class EvmOptionsError extends Schema.TaggedError<EvmOptionsError>()("EvmOptionsError", {
  network: Schema.String,
  reason: Schema.String
}) {
  override get message() {
    return `chain ${this.network}: ${this.reason}`
  }
}

/**
 * Dollars from which on two endpoints must agree where the options do not say: what a merchant may lose to a wrong node
 * before anybody looks, against the payments that wait when one of two endpoints is away.
 */
const defaultAgreementUsd = 1_000

/**
 * A contract that reverts, or answers something else than one word, is no token's: that is an answer and no failure.
 */
const tokenDecimals = (rpc: JsonRpc): NonNullable<ChainDriver["tokenDecimals"]> => (address) =>
  Effect.map(
    rpc.withFailover((endpoint) => endpoint.ethCall(address, decimalsSelector)),
    (bytes) => /^0x[0-9a-f]{64}$/i.test(bytes) ? Number(BigInt(bytes)) : null
  )

const readToken = (rpc: JsonRpc): NonNullable<ChainDriver["readToken"]> => (address) =>
  Effect.map(
    Effect.all(
      [symbolSelector, decimalsSelector].map((data) => rpc.withFailover((endpoint) => endpoint.ethCall(address, data)))
    ),
    ([symbol, decimals]) => contractToken(symbol!, decimals!)
  )

interface Balance {
  readonly balance: BaseUnits
  readonly hasSent: boolean
}

/** What a contract says that an address has of its token; a contract that reverts or answers no word has none of it. */
const readTokenBalance = (endpoint: Endpoint, token: string, address: string, height: string) =>
  Effect.map(
    endpoint.ethCall(token, `${balanceSelector}${word(address)}`, height),
    (bytes) => /^0x[0-9a-f]{64}$/i.test(bytes) ? bytes : "0x0"
  )

const readBalance = (
  endpoint: Endpoint,
  address: string,
  token: string | null,
  height: bigint
): Effect.Effect<Balance, DriverError> => {
  const at = `0x${height.toString(16)}`
  return Effect.map(
    Effect.all([
      token === null
        ? endpoint.call("eth_getBalance", [address, at], Quantity)
        : readTokenBalance(endpoint, token, address, at),
      endpoint.call("eth_getTransactionCount", [address, at], Quantity)
    ], { concurrency: 2 }),
    ([balance, sent]) => ({ balance: baseUnits(BigInt(balance)), hasSent: BigInt(sent) > 0n })
  )
}

/**
 * What two endpoints name differently is nothing that money is credited by; where only one answers, its word is taken.
 * `what`: for an operator.
 */
const readFromTwo = <A>(
  rpc: JsonRpc,
  what: string,
  read: (endpoint: Endpoint) => Effect.Effect<A, DriverError>,
  isSame: (one: A, other: A) => boolean
): Effect.Effect<A, DriverError> =>
  Effect.gen(function*() {
    const endpoints = rpc.endpoints.filter(({ place }) => !rpc.pool().endpoints[place]!.isResting).slice(0, 2)
    if (endpoints.length < 2) return yield* rpc.withFailover(read)
    const readFrom = (endpoint: Endpoint) => Effect.result(rpc.attempt(endpoint, read))
    const [one, other] = yield* Effect.all([readFrom(endpoints[0]!), readFrom(endpoints[1]!)], { concurrency: 2 })
    if (one._tag === "Failure") return yield* Effect.fromResult(other)
    if (other._tag === "Failure" || isSame(one.success, other.success)) return one.success
    return yield* new DriverError({ network: endpoints[0]!.network, reason: `two endpoints name different ${what}` })
  })

const balanceAt = (rpc: JsonRpc): NonNullable<ChainDriver["balanceAt"]> => (address, token, height) =>
  readFromTwo(
    rpc,
    `balances of ${address} at block ${height}`,
    (endpoint) => readBalance(endpoint, address, token, height),
    (one, other) => one.balance === other.balance
  )

const coinsForwarded = (rpc: JsonRpc): NonNullable<ChainDriver["coinsForwarded"]> => (address, from, to) =>
  readFromTwo(
    rpc,
    `coins that ${address} forwarded in blocks ${from + 1n} to ${to}`,
    (endpoint) => readCoinsForwarded(endpoint, address, from, to),
    (one, other) => one === other
  )

const unitsForwarded = (rpc: JsonRpc): NonNullable<ChainDriver["unitsForwarded"]> => (request) =>
  readFromTwo(
    rpc,
    `tokens that were forwarded to ${request.payee} in blocks ${request.from + 1n} to ${request.to}`,
    (endpoint) => readUnitsForwarded(endpoint, request),
    (one, other) => one === other
  )

const readBlock = (network: Network, rpc: JsonRpc): BlockHistory["readBlock"] => (height, anchor, watch) =>
  readUnlessPruned(rpc, `block ${height}`, (endpoint) => readBlockBelow(endpoint, network, height, anchor)).pipe(
    Effect.tap(() => watch.refresh),
    Effect.map((block) => ({
      point: { height, hash: block.hash },
      time: block.time,
      transfers: transfersOf(block, watch.has)
    }))
  )

/**
 * The driver of one network. Fails when the options contradict themselves or a node is on another chain. `absence`: how
 * long an endpoint without an answer is waited for, where it is not the pool's own time.
 */
export const makeDriver = Effect.fnUntraced(
  function*(options: EvmOptions, absence: Pick<PoolLimits, "absenceMillis"> = {}) {
    const { environment, network } = options
    const { chainIds, pollMillis } = evmDescriptorOf(network)
    const refuse = (reason: string) => new EvmOptionsError({ network, reason })
    if (options.chainId !== undefined && environment === "mainnet") {
      return yield* refuse("`chainId` is for private devnet networks")
    }
    if (options.xpub !== undefined && options.startIndex === undefined && environment === "mainnet") {
      return yield* refuse(
        "set `startIndex`: 0 for an account never used, else past the highest index your wallet shows"
      )
    }
    if (options.agreementAboveUsd !== undefined && options.rpc.length < 2) {
      return yield* refuse("`agreementAboveUsd` needs two endpoints: give a second url in `rpc`, or leave it out")
    }
    const account = options.xpub === undefined ? null : readAccount(Redacted.value(options.xpub))
    if (typeof account === "string") return yield* refuse(`xpub: ${account}`)
    const chainId = options.chainId ?? chainIds[environment]
    const limits = { ...absence, ...standstillLimits(options) }
    const rpc = yield* makeRpc({ network, environment, urls: options.rpc, chainId, limits }).pipe(
      Effect.mapError((error) => refuse(error.reason))
    )
    const readers = makeReaders()
    const agreementAboveUsd = options.agreementAboveUsd ??
      (environment === "mainnet" && options.rpc.length > 1 ? defaultAgreementUsd : null)
    yield* Effect.mapError(rpc.verify, (error) => refuse(error.reason))
    const followOptions = {
      network,
      environment,
      rpc,
      readers,
      pollMillis: options.pollMillis ?? pollMillis,
      finalizedTag: options.finalizedTag ?? true
    }
    const driver: ChainDriver = {
      network,
      environment,
      tokenTypes: ["native", "erc20"],
      wallet: account === null ? null : walletOf(account, options.startIndex ?? 0),
      readWallet,
      verifyWallet: null,
      readForwarderFacts: readForwarderFacts(rpc),
      isTokenAccount: null,
      tokenDecimals: tokenDecimals(rpc),
      gasPrice: Effect.map(
        rpc.withFailover((endpoint) => endpoint.call("eth_gasPrice", [], Quantity)),
        (price) => baseUnits(BigInt(price))
      ),
      paymentUri: (target, token, amount) => evmPaymentUri(chainId, target, token, amount),
      follow: (recent, watch) => follow(followOptions, recent, watch),
      history: { _tag: "BlockHistory", readBlock: readBlock(network, rpc) },
      balanceAt: balanceAt(rpc),
      coinsForwarded: coinsForwarded(rpc),
      unitsForwarded: unitsForwarded(rpc),
      finalBalances: null,
      readContract: (to, data) => rpc.withFailover((endpoint) => endpoint.ethCall(to, data)),
      readToken: readToken(rpc),
      corroborate: makeCorroborate(rpc, readers),
      findTransfers: makeFindTransfers(rpc, readers),
      agreementAboveUsdMillis: agreementAboveUsd === null ? null : usdMillis(BigInt(agreementAboveUsd) * 1000n),
      payouts: payoutDriver({
        network,
        environment,
        rpc,
        chainId,
        finalizedTag: options.finalizedTag ?? true
      })
    }
    return driver
  }
)

export const plugin = Plugin.make({
  name: "evm",
  slot: "chains",
  options: EvmOptions,
  check: (options) => Effect.asVoid(makeDriver(options)),
  layer: (options) =>
    Layer.effectDiscard(Effect.gen(function*() {
      const chains = yield* Chains
      yield* chains.register(yield* makeDriver(options))
    }))
})
