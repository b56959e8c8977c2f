/**
 * Chains inside the process, for devnet without any node: blocks come by the clock, and a transfer is mined at once
 * in a block of its own. Each network has the addresses, links and accidents of its family.
 *
 *   ChainState          a chain as a value, and what can happen to it
 *   Chain               one that runs
 *   BlockFollowing      how EVM and Cardano are followed, AccountFollowing: Solana, TON and Sui
 *   Families, Wallets   what differs from family to family
 *
 * History before the process started is the follower's: a cursor this process knows nothing of is taken as canonical
 * and the chain goes on above it, so that a restart never looks like a reorg.
 */
import { bytesToHex } from "@noble/hashes/utils.js"
import { Context, Effect, Layer, Option, Random, Ref, Schedule, Schema } from "effect"
import { type BaseUnits, baseUnits } from "../../schemas/Money.ts"
import { type Environment, evmDescriptorOf, type EvmNetwork, familyOf, type Network } from "../../schemas/Network.ts"
import { evmPaymentUri } from "../../schemas/PaymentUri.ts"
import { playMoneyHash, playMoneySender, unlistedPlayToken } from "../../schemas/PlayMoney.ts"
import { type ChainDriver, Chains, type ObservedTransfer } from "../../runtime/Chains.ts"
import { tokenAddress } from "../../schemas/Token.ts"
import * as Plugin from "../../runtime/Plugin.ts"
import { SimulatedWallets } from "../../runtime/SimulatedWallets.ts"
import { type Account, readAccount, readWallet, walletOf } from "./evm/Wallet.ts"
import { accountHistory, followAccounts } from "./simulated/AccountFollowing.ts"
import { blockHistory, followBlocks } from "./simulated/BlockFollowing.ts"
import { type Chain, makeChain } from "./simulated/Chain.ts"
import { paymentUriOf, simulatedFamilyOf, simulatedNetworks, traitsOf } from "./simulated/Families.ts"
import { makePayouts } from "./simulated/Payouts.ts"
import { deploymentWallets, digestOf, readWalletOf } from "./simulated/Wallets.ts"

/**
 * The account of the phrase every EVM test tool uses ("test test ... junk"), m/44'/60'/0': its keys are public
 * knowledge, which is why nothing here can ever run on mainnet.
 */
export const devnetXpub =
  "xpub6Ce9NcJvTk36xtLSrJLZqE7wtgA5deCeYs7rSQtreh4cj6ByPtrg9sD7V2FNFLPnf8heNP3FGkeV9qwfzvZNSd54JoNXVsXFYSYwHsnJxqP"

const environment: Environment = "devnet"

export const SimulatedOptions = Schema.Struct({
  /** Default: all of them. */
  networks: Schema.optionalKey(Schema.NonEmptyArray(Schema.Literals(simulatedNetworks))),
  /** Milliseconds between blocks without transfers; default 1,000. */
  blockMillis: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 10, maximum: 3_600_000 }))),
  /** Account key that addresses of the EVM networks come from; default the public test account. */
  xpub: Schema.optionalKey(Schema.NonEmptyString),
  /**
   * Blocks by which the search by account is behind the head on Solana, TON and Sui, 0 to 100; default 0. What is sent
   * there is seen so much later, as with a node whose index is slow.
   */
  indexLagBlocks: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100 })))
})
export type SimulatedOptions = typeof SimulatedOptions.Type

export interface SimulatedTransfer {
  readonly network: Network
  /** Match key of the receiving target. */
  readonly to: string
  /** Null for the native coin. */
  readonly tokenAddress: string | null
  readonly amount: BaseUnits
  /** Default: the wallet of play money. */
  readonly from?: string
  readonly kind?: "direct" | "internal"
  /** Default: a new one. */
  readonly txHash?: string
}

/** Makes things happen on the simulated chains; unknown networks die, for the caller chose them from the options. */
export class SimulatedChain extends Context.Service<SimulatedChain, {
  /** Mines the transfer at once, alone in a block. */
  readonly transfer: (transfer: SimulatedTransfer) => Effect.Effect<{ readonly txHash: string }>
  /** Mines several transfers as one transaction. */
  readonly transaction: (network: Network, transfers: ReadonlyArray<SimulatedTransfer>) => Effect.Effect<
    { readonly txHash: string }
  >
  readonly mine: (network: Network, blocks: number) => Effect.Effect<void>
  /**
   * Replaces the newest `depth` blocks by as many others: transactions named in `drop` (or all) vanish, the rest is
   * mined again, `shift` blocks later than before. Dies on a network that has no rollbacks.
   */
  readonly reorg: (network: Network, depth: number, options?: {
    readonly drop?: ReadonlyArray<string> | "all"
    readonly shift?: number
  }) => Effect.Effect<void>
  /**
   * These transactions leave their chain, and what lies beside them stays. Dies on a network where no single
   * transaction is ever lost.
   */
  readonly drop: (network: Network, txHashes: ReadonlyArray<string>) => Effect.Effect<void>
  /** Networks there are. */
  readonly networks: ReadonlyArray<Network>
}>()("tillwire/modules/chains/SimulatedChain") {}

/** A chain, and what makes things happen on it. */
const simulate = Effect.fnUntraced(function*(network: Network) {
  const { hasDrops, hasRollbacks, nextHeight } = traitsOf(network)
  const seed = yield* Random.nextInt
  const sentCount = yield* Ref.make(0)
  const nameOf = (kind: "block" | "transaction", count: number) =>
    playMoneyHash(network, bytesToHex(digestOf(`${network}:${seed}:${kind}:${count}`)))
  const chain = yield* makeChain({ nextHeight, blockHash: (count) => nameOf("block", count) })
  const nameTransaction = Effect.map(
    Ref.updateAndGet(sentCount, (count) => count + 1),
    (count) => nameOf("transaction", count)
  )

  const transaction = Effect.fnUntraced(function*(transfers: ReadonlyArray<SimulatedTransfer>) {
    const txHash = transfers[0]?.txHash ?? (yield* nameTransaction)
    const observed = transfers.map((transfer, position): ObservedTransfer => ({
      txHash,
      index: familyOf(network) !== "evm" ? position : transfer.tokenAddress === null ? 0 : position + 1,
      kind: transfer.kind ?? "direct",
      matchKey: transfer.to,
      tokenAddress: transfer.tokenAddress === null
        ? null
        : tokenAddress(network, transfer.tokenAddress) ?? transfer.tokenAddress,
      amount: baseUnits(transfer.amount),
      from: transfer.from ?? playMoneySender(network)
    }))
    yield* chain.act({ _tag: "Mine", blocks: [observed] })
    return { txHash }
  })

  const refuse = (what: string) => Effect.die(new Error(`${network}: ${what} cannot happen on its family's networks`))

  return {
    chain,
    ...yield* makePayouts(network, chain, nameTransaction),
    transaction,
    mine: (count: number) => chain.act({ _tag: "Mine", blocks: Array.from({ length: count }, () => []) }),
    reorg: (depth: number, drop: ReadonlyArray<string> | "all", shift: number) =>
      hasRollbacks ? chain.act({ _tag: "Reorganise", depth, drop, shift }) : refuse("a rollback"),
    drop: (txHashes: ReadonlyArray<string>) =>
      hasDrops ? chain.act({ _tag: "Drop", txHashes }) : refuse("the loss of a single transaction")
  }
})

type Simulation = Effect.Success<ReturnType<typeof simulate>>

/** The parts of a driver that its family's wallets and links are. */
const walletParts = (
  network: Network,
  account: Account
): Pick<ChainDriver, "wallet" | "readWallet" | "readForwarderFacts" | "paymentUri"> => {
  const family = simulatedFamilyOf(network)
  return family === "evm"
    ? {
      wallet: walletOf(account, 0),
      readWallet,
      // No code runs here: a forwarder receives as any other address does.
      readForwarderFacts: () => Effect.succeed({ hasCollector: true, isPayeeContract: false, takesCoin: true }),
      paymentUri: (target, token, amount) =>
        evmPaymentUri(evmDescriptorOf(network as EvmNetwork).chainIds[environment], target, token, amount)
    }
    : {
      wallet: deploymentWallets[family],
      readWallet: readWalletOf(family),
      readForwarderFacts: null,
      paymentUri: paymentUriOf[family]
    }
}

/** The parts of a driver that a chain is followed by. */
const followingParts = (
  network: Network,
  chain: Chain,
  indexLagBlocks: number
): Pick<ChainDriver, "follow" | "history"> => {
  const { finalityLagBlocks } = traitsOf(network)
  if (finalityLagBlocks === null) return { follow: followBlocks(network, chain), history: blockHistory(network, chain) }
  const accountChain = { network, chain, finalityLagBlocks, indexLagBlocks }
  return { follow: followAccounts(accountChain), history: accountHistory(accountChain) }
}

const driverOf = (
  network: Network,
  { chain, payouts }: Pick<Simulation, "chain" | "payouts">,
  account: Account,
  indexLagBlocks: number
): ChainDriver => ({
  network,
  environment,
  tokenTypes: traitsOf(network).tokenTypes,
  ...walletParts(network, account),
  ...followingParts(network, chain, indexLagBlocks),
  verifyWallet: null,
  isTokenAccount: null,
  tokenDecimals: null,
  coinsForwarded: null,
  balanceAt: null,
  finalBalances: null,
  readContract: null,
  readToken: (address) => {
    const token = unlistedPlayToken(network)
    return Effect.succeed(address === token?.address ? token : { symbol: null, decimals: null })
  },
  corroborate: null,
  findTransfers: null,
  agreementAboveUsdMillis: null,
  payouts
})

/** The chains and their drivers; blocks come as long as the scope lives. */
export const make = Effect.fnUntraced(function*(options: SimulatedOptions) {
  const account = readAccount(options.xpub ?? devnetXpub)
  if (typeof account === "string") return yield* Effect.die(new Error(`simulated chains: xpub: ${account}`))
  const networks: ReadonlyArray<Network> = options.networks ?? simulatedNetworks
  const simulations = new Map<Network, Simulation>()
  for (const network of networks) {
    const simulation = yield* simulate(network)
    simulations.set(network, simulation)
    yield* Effect.forkScoped(Effect.schedule(simulation.mine(1), Schedule.spaced(options.blockMillis ?? 1_000)))
  }
  const on = <A>(network: Network, use: (simulation: Simulation) => Effect.Effect<A>): Effect.Effect<A> =>
    Option.match(Option.fromUndefinedOr(simulations.get(network)), {
      onNone: () => Effect.die(new Error(`${network} is not simulated here`)),
      onSome: use
    })
  const service = SimulatedChain.of({
    networks,
    transfer: (transfer) => on(transfer.network, (each) => each.transaction([transfer])),
    transaction: (network, transfers) => on(network, (each) => each.transaction(transfers)),
    mine: (network, blocks) => on(network, (each) => each.mine(blocks)),
    reorg: (network, depth, { drop = [], shift = 0 } = {}) => on(network, (each) => each.reorg(depth, drop, shift)),
    drop: (network, txHashes) => on(network, (each) => each.drop(txHashes))
  })
  const drivers = [...simulations].map(([network, simulation]) =>
    driverOf(network, simulation, account, options.indexLagBlocks ?? 0)
  )
  const wallets = new Map([...simulations].map(([network, simulation]) => [network, simulation.wallets]))
  return { service, drivers, wallets }
})

export const plugin = Plugin.make({
  name: "simulated",
  slot: "chains",
  environments: ["devnet"],
  needsOneProcess: true,
  options: SimulatedOptions,
  layer: (options) =>
    Layer.effect(
      SimulatedChain,
      Effect.gen(function*() {
        const chains = yield* Chains
        const simulatedWallets = yield* SimulatedWallets
        const { drivers, service, wallets } = yield* make(options)
        for (const driver of drivers) yield* chains.register(driver)
        for (const [network, each] of wallets) yield* simulatedWallets.register(network, environment, each)
        return service
      })
    )
})
