/**
 * Sui over gRPC-Web: nodes are asked what came to the watched addresses, and answer by changes of balances. What is in
 * a checkpoint is final. Nine methods are spoken directly, which needs no client library.
 */
import { Effect, Layer, Redacted, Schema } from "effect"
import { type ChainDriver, Chains, type IndexedWallet } from "../../runtime/Chains.ts"
import { nowSeconds } from "../../runtime/Clock.ts"
import type { EndpointAddress } from "../../runtime/nodes/NodeHttp.ts"
import type { PoolLimits } from "../../runtime/nodes/EndpointPool.ts"
import * as Endpoints from "../../runtime/nodes/Endpoints.ts"
import { headLimits } from "../../runtime/nodes/Heads.ts"
import * as Plugin from "../../runtime/Plugin.ts"
import { usdMillis } from "../../schemas/Money.ts"
import { descriptorOf, Environment } from "../../schemas/Network.ts"
import { suiPaymentUri } from "../../schemas/PaymentUri.ts"
import { makeCorroborate } from "./sui/Corroboration.ts"
import { epochFault } from "./sui/Epochs.ts"
import { follow } from "./sui/Follow.ts"
import { makeHistory } from "./sui/History.ts"
import { isDigest } from "./sui/Identifiers.ts"
import { makePayouts } from "./sui/Payouts.ts"
import { makeSuiChain } from "./sui/SuiChain.ts"
import { type SuiNode, suiNode } from "./sui/Nodes.ts"
import { readToken, tokenDecimals } from "./sui/TokenFacts.ts"
import { readWallet } from "./sui/Wallet.ts"

const network = "sui"

/**
 * Digests of the first checkpoints of Sui's mainnet and testnet (docs.sui.io, "Sui Environment Variables"): which
 * network a node is on. Sui's own devnet is wiped every week and has a new one each time.
 */
const chainIds: Readonly<Record<Environment, string>> = {
  mainnet: "4btiuiMPvEENsttpZC7CZ53DruC3MAgfznDbASZ7DR6S",
  devnet: "69WiPg3DAQiwdxfncX6wYQ2siKwAe6L9BZthQea3JNMD"
}

export const SuiOptions = Schema.Struct({
  environment: Environment,
  /**
   * Nodes that serve `sui.rpc.v2` with the history of transactions, best first, at most 8. Two of different operators,
   * or one beside your own node, keep one of them from deciding about money alone.
   */
  rpc: Schema.NonEmptyArray(Schema.Struct({
    /** Without the path of a method. It may hold a key. */
    url: Schema.RedactedFromValue(Schema.NonEmptyString),
    /** Sent with every call: a provider's key, for example. */
    headers: Schema.optionalKey(Schema.Record(Schema.String, Schema.RedactedFromValue(Schema.NonEmptyString)))
  })).check(Schema.isMaxLength(8)),
  /**
   * The deployment's own wallet: `pool` a list of addresses, `xpub` an account's key and its first address
   * (modules/docs/guides/network-sui.md); without one only merchants' own are paid.
   */
  wallet: Schema.optionalKey(Schema.Struct({
    kind: Schema.Literals(["pool", "xpub"]),
    value: Schema.RedactedFromValue(Schema.NonEmptyString)
  })),
  /**
   * First index to give out where the store has never seen the wallet: past every one ever used. Mainnet needs it (0
   * for a new wallet), because no search can prove an address unused; devnet starts at 0.
   */
  startIndex: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2_147_000_000 }))),
  /** Milliseconds between looks, 10 to 60,000; default 2,000. */
  pollMillis: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 10, maximum: 60_000 }))),
  /**
   * Seconds the chain, or a node's index of it, may stand still, 1 to 3,600; default on mainnet 30. On devnet for ever
   * unless this is set.
   */
  frozenSeconds: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3_600 }))),
  /**
   * Whole dollars from which on a payment, or any payment of an invoice of as many, is confirmed only where two
   * endpoints have it; 0: every payment. Needs two endpoints. Default on mainnet with two endpoints: 1,000; else none.
   */
  agreementAboveUsd: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000_000 }))),
  /** For a private network, or Sui's devnet: the digest of its first checkpoint. Devnet only. */
  chainId: Schema.optionalKey(Schema.NonEmptyString)
})
export type SuiOptions = typeof SuiOptions.Type

/** Options that cannot work; the boot stops with this message. */
export class SuiOptionsError extends Schema.TaggedError<SuiOptionsError>()("SuiOptionsError", {
  reason: Schema.String
}) {
  override get message() {
    return `chain ${network}: ${this.reason}`
  }
}

/** What may be lost to a wrong node before anybody looks, against payments that wait where one of two is away. */
const defaultAgreementUsd = 1_000

/** What options contradict themselves in; null: nothing. */
const contradictionOf = (options: SuiOptions): string | null => {
  const { agreementAboveUsd, chainId, environment, rpc, startIndex, wallet } = options
  if (chainId !== undefined && environment === "mainnet") return "`chainId` is for private networks and devnets"
  if (chainId !== undefined && !isDigest(chainId)) {
    return "`chainId` is the digest of the first checkpoint: 32 bytes in base58, as `GetServiceInfo` answers it"
  }
  if (wallet !== undefined && startIndex === undefined && environment === "mainnet") {
    return "set `startIndex`: 0 for a wallet never used, else past the highest index that was ever given out"
  }
  return agreementAboveUsd !== undefined && rpc.length < 2
    ? "`agreementAboveUsd` needs two endpoints: give a second one in `rpc`, or leave it out"
    : null
}

const proveNetwork = (environment: Environment, chainId: string) => (node: SuiNode) =>
  Effect.gen(function*() {
    const info = yield* node.serviceInfo
    if (info.chainId !== chainId) {
      return `is on the network ${info.chainId}, but ${network} is ${chainId} here: correct the url or the ` +
        "environment, or set `chainId` for a private network"
    }
    const reason = epochFault(environment, info.epoch ?? 0n, yield* nowSeconds)
    return reason === null ? null : `cannot be right: ${reason}. Correct this machine's clock, or the url`
  })

const walletOf = Effect.fnUntraced(function*({ startIndex = 0, wallet }: SuiOptions) {
  if (wallet === undefined) return null
  const read = yield* readWallet(wallet.kind, Redacted.value(wallet.value))
  return typeof read === "string" || read._tag !== "IndexedWallet"
    ? yield* new SuiOptionsError({ reason: `wallet: ${String(read)}` })
    : { ...read, startIndex } satisfies IndexedWallet
})

/**
 * The driver. Fails when the options contradict themselves or a node is on another network. `absence`: how long an
 * endpoint without an answer is waited for, where it is not the pool's own time.
 */
export const makeDriver = Effect.fnUntraced(
  function*(options: SuiOptions, absence: Pick<PoolLimits, "absenceMillis"> = {}) {
    const { environment } = options
    const contradiction = contradictionOf(options)
    if (contradiction !== null) return yield* new SuiOptionsError({ reason: contradiction })
    const wallet = yield* walletOf(options)
    const chainId = options.chainId ?? chainIds[environment]
    const endpoints = yield* Endpoints.make({
      network,
      environment,
      addresses: options.rpc as ReadonlyArray<EndpointAddress>,
      limits: { ...absence, ...headLimits({ network, environment, frozenSeconds: options.frozenSeconds }) },
      client: suiNode,
      prove: proveNetwork(environment, chainId)
    }).pipe(Effect.mapError(({ reason }) => new SuiOptionsError({ reason })))
    yield* Effect.mapError(endpoints.verify, ({ reason }) => new SuiOptionsError({ reason }))
    const chain = makeSuiChain(endpoints, chainId)
    const agreementAboveUsd = options.agreementAboveUsd ??
      (environment === "mainnet" && options.rpc.length > 1 ? defaultAgreementUsd : null)
    const pollMillis = options.pollMillis ?? descriptorOf(network).pollMillis
    const driver: ChainDriver = {
      network,
      environment,
      tokenTypes: ["native", "sui"],
      wallet,
      readWallet,
      verifyWallet: null,
      readForwarderFacts: null,
      isTokenAccount: null,
      tokenDecimals: tokenDecimals(endpoints),
      paymentUri: suiPaymentUri,
      follow: follow({ environment, chain, pollMillis }),
      history: makeHistory(chain),
      coinsForwarded: null,
      balanceAt: null,
      finalBalances: null,
      readContract: null,
      readToken: readToken(endpoints),
      corroborate: makeCorroborate(chain),
      findTransfers: null,
      agreementAboveUsdMillis: agreementAboveUsd === null ? null : usdMillis(BigInt(agreementAboveUsd) * 1000n),
      payouts: makePayouts(chain, environment)
    }
    return driver
  }
)

export const plugin = Plugin.make({
  name: "sui",
  slot: "chains",
  options: SuiOptions,
  check: (options) => Effect.asVoid(makeDriver(options)),
  layer: (options) =>
    Layer.effectDiscard(Effect.gen(function*() {
      const chains = yield* Chains
      yield* chains.register(yield* makeDriver(options))
    }))
})
