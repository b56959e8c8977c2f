/**
 * Chains inside the process, for devnet without any node: blocks come by the clock, and a transfer is mined at once
 * in a block of its own. The addresses and links are those of the EVM family.
 *
 * History before the process started is the follower's: a cursor this process knows nothing of is taken as canonical
 * and the chain goes on above it, so that a restart never looks like a reorg.
 */
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js"
import { Clock, Context, Deferred, Effect, Layer, Option, Random, Schedule, Schema, Stream } from "effect"
import { toChecksumAddress } from "../../schemas/EvmAddress.ts"
import { type BaseUnits, baseUnits } from "../../schemas/Money.ts"
import { type Environment, evmDescriptorOf, type EvmNetwork, evmNetworks, type Network } from "../../schemas/Network.ts"
import { evmPaymentUri } from "../../schemas/PaymentUri.ts"
import { unlistedPlayToken } from "../../schemas/Payment.ts"
import {
  type BlockHistory,
  type ChainDriver,
  type ChainEvent,
  type ChainPoint,
  Chains,
  DriverError,
  type ObservedTransfer,
  type WatchSet
} from "../../runtime/Chains.ts"
import * as Plugin from "../../runtime/Plugin.ts"
import { type Account, readAccount, readWallet, walletOf } from "./evm/Wallet.ts"

/**
 * The account of the phrase every EVM test tool uses ("test test ... junk"), m/44'/60'/0': its keys are public
 * knowledge, which is why nothing here can ever run on mainnet.
 */
export const devnetXpub =
  "xpub6Ce9NcJvTk36xtLSrJLZqE7wtgA5deCeYs7rSQtreh4cj6ByPtrg9sD7V2FNFLPnf8heNP3FGkeV9qwfzvZNSd54JoNXVsXFYSYwHsnJxqP"

/** Blocks kept to roll back to, and to be read again by their height. */
const historySize = 256
/** Points a follower's cursor holds. */
const ringSize = 128
/** How long a transfer waits for the follower that fixes where the chain goes on. */
const adoptionMillis = 5_000

const environment: Environment = "devnet"

export const SimulatedOptions = Schema.Struct({
  /** Default: all of them. */
  networks: Schema.optionalKey(Schema.NonEmptyArray(Schema.Literals(evmNetworks))),
  /** Milliseconds between blocks without transfers; default 1,000. */
  blockMillis: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 10, maximum: 3_600_000 }))),
  /** Account key addresses come from; default the public test account. */
  xpub: Schema.optionalKey(Schema.NonEmptyString)
})
export type SimulatedOptions = typeof SimulatedOptions.Type

export interface SimulatedTransfer {
  readonly network: Network
  /** Match key of the receiving target. */
  readonly to: string
  /** Null for the native coin. */
  readonly tokenAddress: string | null
  readonly amount: BaseUnits
  /** Default: a fixed address. */
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
   * mined again, `shift` blocks later than before.
   */
  readonly reorg: (network: Network, depth: number, options?: {
    readonly drop?: ReadonlyArray<string> | "all"
    readonly shift?: number
  }) => Effect.Effect<void>
  /** Networks there are. */
  readonly networks: ReadonlyArray<Network>
}>()("tillwire/modules/chains/SimulatedChain") {}

interface SimulatedBlock extends ChainPoint {
  /** Epoch seconds. */
  readonly time: number
  readonly transfers: ReadonlyArray<ObservedTransfer>
}

const hashOf = (text: string): string => `0x${bytesToHex(sha256(utf8ToBytes(text)))}`

/** One chain: blocks by height above the adopted history, newest last. */
// oxlint-disable-next-line max-lines-per-function -- one small chain: blocks, transfers and faults
const makeChain = Effect.fnUntraced(function*(network: Network) {
  const clock = yield* Clock.Clock
  const seed = yield* Random.nextInt
  let blocks: Array<SimulatedBlock> = []
  let nextBlock = Deferred.makeUnsafe<void>()
  const adoption = Deferred.makeUnsafe<void>()
  let hashCount = 0

  const nowSeconds = () => Math.floor(clock.currentTimeMillisUnsafe() / 1000)
  const unique = () => hashOf(`${network}:${seed}:${++hashCount}`)
  const top = () => blocks[blocks.length - 1]

  const add = (transfers: ReadonlyArray<ObservedTransfer>) => {
    const height = (top()?.height ?? BigInt(nowSeconds())) + 1n
    blocks = [...blocks, { height, hash: unique(), time: nowSeconds(), transfers }].slice(-historySize)
  }

  const announce = Effect.suspend(() => {
    const before = nextBlock
    nextBlock = Deferred.makeUnsafe<void>()
    return Effect.asVoid(Deferred.succeed(before, undefined))
  })

  /**
   * Goes on above what a follower stored, if this process knows less. Answers the head as it is before anyone may add
   * to it.
   */
  const adopt = Effect.fnUntraced(function*(recent: ReadonlyArray<ChainPoint>) {
    const stored = recent[0]
    if (blocks.length === 0) {
      const height = stored === undefined ? BigInt(nowSeconds()) : stored.height + 1n
      blocks = [{ height, hash: unique(), time: nowSeconds(), transfers: [] }]
    }
    const head = top()!
    yield* Deferred.succeed(adoption, undefined)
    return head
  })

  const isCanonical = (point: ChainPoint): boolean =>
    point.height < blocks[0]!.height || blocks.some(({ hash }) => hash === point.hash)

  const follow = (recent: ReadonlyArray<ChainPoint>, watch: WatchSet): Stream.Stream<ChainEvent, DriverError> =>
    Stream.suspend(() => {
      let ring = recent
      /** Whether it was told that there is nothing new. */
      let isIdle = false
      const look: Effect.Effect<ReadonlyArray<ChainEvent>, DriverError> = Effect.gen(function*() {
        const head = yield* adopt(ring)
        const base = ring.find(isCanonical)
        if (ring.length > 0 && base === undefined) {
          const reason = "none of the blocks that were followed is on the chain any more"
          return yield* new DriverError({ network, reason, condition: "no_common_block" })
        }
        if (base !== undefined && base !== ring[0]) {
          ring = ring.filter(({ height }) => height <= base.height)
          return [{ _tag: "Rollback", to: base }]
        }
        const next = base === undefined ? head : blocks.find(({ height }) => height > base.height)
        if (next === undefined && !isIdle) {
          isIdle = true
          return [{ _tag: "Finality", finalized: null }]
        }
        if (next === undefined) {
          yield* Deferred.await(nextBlock)
          return []
        }
        isIdle = false
        yield* watch.refresh
        ring = [{ height: next.height, hash: next.hash }, ...ring].slice(0, ringSize)
        const transfers = next.transfers.filter(({ matchKey }) => watch.has(matchKey))
        const isCatchingUp = next.height < top()!.height
        return [
          {
            _tag: "Forward",
            point: { height: next.height, hash: next.hash },
            time: next.time,
            transfers,
            isCatchingUp
          },
          { _tag: "Finality", finalized: null }
        ]
      })
      return Stream.fromEffectRepeat(look).pipe(Stream.flatMap(Stream.fromIterable))
    })

  const readBlock: BlockHistory["readBlock"] = Effect.fnUntraced(function*(height, anchor, watch) {
    const block = blocks.find((each) => each.height === height)
    if (blocks.length > 0 && height < blocks[0]!.height) {
      const reason = `block ${height} is not among the newest ${historySize}, or older than this process`
      return yield* new DriverError({ network, reason, condition: "block_pruned" })
    }
    if (block === undefined || !isCanonical(anchor)) {
      return yield* new DriverError({ network, reason: `block ${height} is not among the newest ${historySize}` })
    }
    yield* watch.refresh
    const { hash, time, transfers } = block
    return { point: { height, hash }, time, transfers: transfers.filter(({ matchKey }) => watch.has(matchKey)) }
  })

  const change = (edit: () => void) =>
    Effect.timeoutOption(Deferred.await(adoption), adoptionMillis).pipe(
      Effect.andThen(Effect.sync(edit)),
      Effect.andThen(announce)
    )

  const transaction = Effect.fnUntraced(function*(transfers: ReadonlyArray<SimulatedTransfer>) {
    const txHash = transfers[0]?.txHash ?? unique()
    const observed = transfers.map((transfer, position): ObservedTransfer => ({
      txHash,
      index: transfer.tokenAddress === null ? 0 : position + 1,
      kind: transfer.kind ?? "direct",
      matchKey: transfer.to,
      tokenAddress: transfer.tokenAddress,
      amount: baseUnits(transfer.amount),
      from: transfer.from ?? toChecksumAddress(`0x${"51".repeat(20)}`)
    }))
    yield* change(() => add(observed))
    return { txHash }
  })

  const mine = (count: number) =>
    change(() => {
      for (let done = 0; done < count; done++) add([])
    })

  const reorg = (depth: number, drop: ReadonlyArray<string> | "all", shift: number) =>
    change(() => {
      const undone = blocks.slice(-depth)
      blocks = blocks.slice(0, -depth)
      for (let done = 0; done < shift; done++) add([])
      for (const block of undone) {
        add(drop === "all" ? [] : block.transfers.filter(({ txHash }) => !drop.includes(txHash)))
      }
    })

  return { follow, mine, readBlock, reorg, transaction }
})

type Chain = Effect.Success<ReturnType<typeof makeChain>>

const driverOf = (network: EvmNetwork, chain: Chain, account: Account): ChainDriver => ({
  network,
  environment,
  tokenTypes: ["native", "erc20"],
  wallet: walletOf(account, 0),
  readWallet,
  verifyWallet: null,
  tokenDecimals: null,
  paymentUri: (target, token, amount) =>
    evmPaymentUri(evmDescriptorOf(network).chainIds[environment], target, token, amount),
  follow: chain.follow,
  history: { _tag: "BlockHistory", readBlock: chain.readBlock },
  balanceAt: null,
  readContract: null,
  readToken: (address) => {
    const { decimals, symbol } = unlistedPlayToken
    return Effect.succeed(
      address === unlistedPlayToken.address ? { symbol, decimals } : { symbol: null, decimals: null }
    )
  },
  corroborate: null,
  findTransfers: null,
  agreementAbove: null
})

/** The chains and their drivers; blocks come as long as the scope lives. */
export const make = Effect.fnUntraced(function*(options: SimulatedOptions) {
  const account = readAccount(options.xpub ?? devnetXpub)
  if (typeof account === "string") return yield* Effect.die(new Error(`simulated chains: xpub: ${account}`))
  const chains = new Map<EvmNetwork, Chain>()
  const chainsByNetwork: ReadonlyMap<Network, Chain> = chains
  const networks: ReadonlyArray<EvmNetwork> = options.networks ?? evmNetworks
  for (const network of networks) {
    const chain = yield* makeChain(network)
    chains.set(network, chain)
    yield* Effect.forkScoped(Effect.schedule(chain.mine(1), Schedule.spaced(options.blockMillis ?? 1_000)))
  }
  const on = <A>(network: Network, use: (chain: Chain) => Effect.Effect<A>): Effect.Effect<A> =>
    Option.match(Option.fromUndefinedOr(chainsByNetwork.get(network)), {
      onNone: () => Effect.die(new Error(`${network} is not simulated here`)),
      onSome: use
    })
  const service = SimulatedChain.of({
    networks,
    transfer: (transfer) => on(transfer.network, (chain) => chain.transaction([transfer])),
    transaction: (network, transfers) => on(network, (chain) => chain.transaction(transfers)),
    mine: (network, blocks) => on(network, (chain) => chain.mine(blocks)),
    reorg: (network, depth, { drop = [], shift = 0 } = {}) => on(network, (chain) => chain.reorg(depth, drop, shift))
  })
  return { service, drivers: [...chains].map(([network, chain]) => driverOf(network, chain, account)) }
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
        const { drivers, service } = yield* make(options)
        for (const driver of drivers) yield* chains.register(driver)
        return service
      })
    )
})
