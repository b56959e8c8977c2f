/**
 * Following a simulated chain by asking what came to accounts, as the families Solana, TON and Sui do: each look tells
 * the head, and transfers that lie at or below it in places of their own.
 */
import { Duration, Effect, Stream } from "effect"
import type { Network } from "../../../schemas/Network.ts"
import {
  type AccountHistory,
  type ChainDriver,
  type ChainEvent,
  type ChainPoint,
  DriverError,
  type LocatedTransfer,
  type TransferIdentity,
  type WatchSet
} from "../../../runtime/Chains.ts"
import { awaitChange, type Chain } from "./Chain.ts"
import { type ChainState, historySize, type SimulatedBlock, topOf } from "./ChainState.ts"
import { accountKeyOf } from "./Wallets.ts"

/** Blocks before a follower's point whose transfers are emitted again with every look, as a driver that polls does. */
const overlapBlocks = 8

/** How long a look waits for news: a driver that polls tells that nothing moved, too. */
const pollDuration = Duration.seconds(1)

/** What differs between the chains that are followed this way. */
export interface AccountChain {
  readonly network: Network
  readonly chain: Chain
  /** Blocks by which the finality mark is behind the head. */
  readonly finalityLagBlocks: number
  /** Blocks by which the search by account is behind the head. */
  readonly indexLagBlocks: number
}

interface Position {
  /** Of the head that was emitted last; null: none was. */
  readonly height: bigint | null
  /** Transfers that have left the chain, as far as they were emitted. */
  readonly lostCount: number
}

type Look = readonly [events: ReadonlyArray<ChainEvent>, next: Position]

/** Transfers that come to watched keys. One whose memo no invoice has comes to the account, if that is watched. */
const matchTransfers = <A extends TransferIdentity>(
  transfers: ReadonlyArray<A>,
  watch: WatchSet
): ReadonlyArray<A> =>
  transfers.flatMap((transfer) => {
    const key = [transfer.matchKey, accountKeyOf(transfer.matchKey)].find(watch.has)
    if (key === undefined) return []
    const memos = key === transfer.matchKey ? [] : [transfer.matchKey.slice(key.length + 1)]
    return [{ ...transfer, matchKey: key, ...(watch.showsMemos === true ? { memos } : {}) }]
  })

const placedTransfers = (blocks: ReadonlyArray<SimulatedBlock>, watch: WatchSet): ReadonlyArray<LocatedTransfer> =>
  blocks.flatMap(({ hash, height, time, transfers }) =>
    matchTransfers(transfers, watch).map((each) => ({ ...each, at: { height, hash, time } }))
  )

/** The mark of a chain, a block of it; its oldest where it has no more. */
const finalizedOf = ({ blocks }: ChainState, lag: number): bigint => (blocks.at(-1 - lag) ?? blocks[0]!).height

/** Transfers that left the chain since `position`, and did not come back. */
const goneEvents = (state: ChainState, { lostCount }: Position, watch: WatchSet): ReadonlyArray<ChainEvent> => {
  const txHashes = new Set(state.blocks.flatMap(({ transfers }) => transfers.map(({ txHash }) => txHash)))
  const transfers = matchTransfers(state.lostTransfers.slice(lostCount), watch)
    .filter(({ txHash }) => !txHashes.has(txHash))
    .map(({ index, matchKey, txHash }) => ({ index, matchKey, txHash }))
  return transfers.length === 0 ? [] : [{ _tag: "Gone", transfers }]
}

const forwardEvents = (
  { indexLagBlocks }: AccountChain,
  { blocks }: ChainState,
  { height }: Position,
  watch: WatchSet
): ReadonlyArray<ChainEvent> => {
  const { hash, height: topHeight, time } = blocks.at(-1)!
  if (height !== null && topHeight <= height) return []
  const indexed = blocks.slice(0, blocks.length - indexLagBlocks)
  const cursor = height === null ? blocks.length - 1 : blocks.findLastIndex((block) => block.height <= height)
  const transfers = placedTransfers(indexed.slice(Math.max(0, cursor - overlapBlocks - indexLagBlocks)), watch)
  const seenUntil = (indexed.at(-1) ?? blocks[0]!).time - 1
  return [{ _tag: "Forward", point: { height: topHeight, hash }, time, transfers, isCatchingUp: false, seenUntil }]
}

/** What is emitted to a follower at `position` next; the look after one that found nothing waits. */
const look = Effect.fnUntraced(function*(
  accountChain: AccountChain,
  stored: ChainPoint | null,
  position: Position,
  watch: WatchSet
): Effect.fn.Return<Look> {
  const view = yield* accountChain.chain.adopt(stored)
  const { state } = view
  yield* watch.refresh
  const events = [...goneEvents(state, position, watch), ...forwardEvents(accountChain, state, position, watch)]
  if (events.length === 0) yield* awaitChange(view, pollDuration)
  const finalized = finalizedOf(state, accountChain.finalityLagBlocks)
  return [[...events, { _tag: "Finality", finalized }], {
    height: topOf(state)!.height,
    lostCount: state.lostTransfers.length
  }]
})

export const followAccounts = (accountChain: AccountChain): ChainDriver["follow"] => (recent, watch) => {
  const stored = recent[0] ?? null
  return Stream.unfold<Position, ReadonlyArray<ChainEvent>, never, never>(
    { height: stored?.height ?? null, lostCount: 0 },
    (position) => look(accountChain, stored, position, watch)
  ).pipe(Stream.flatMap(Stream.fromIterable))
}

const prunedError = (network: Network, height: bigint) =>
  new DriverError({
    network,
    reason: `${height} is not among the newest ${historySize} blocks, or older than this process`,
    condition: "block_pruned"
  })

export const accountHistory = ({ chain, network }: AccountChain): AccountHistory => ({
  _tag: "AccountHistory",
  readTransaction: Effect.fnUntraced(function*(txHash, watch) {
    const { blocks } = yield* chain.state
    yield* watch.refresh
    return placedTransfers(blocks, watch).filter((each) => each.txHash === txHash)
  }),
  readTransfers: Effect.fnUntraced(function*(from, to, watch) {
    const { blocks } = yield* chain.state
    const [oldest] = blocks
    if (oldest === undefined || from < oldest.height) return yield* prunedError(network, from)
    yield* watch.refresh
    return placedTransfers(blocks.filter(({ height }) => height >= from && height <= to), watch)
  }),
  timeOf: (height) =>
    Effect.map(chain.state, ({ blocks }) => blocks.findLast((block) => block.height <= height)?.time ?? null)
})
