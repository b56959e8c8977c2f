/** Following a simulated chain block by block, with rollbacks: what the families EVM and Cardano do. */
import { Duration, Effect, Stream } from "effect"
import type { Network } from "../../../schemas/Network.ts"
import {
  type BlockHistory,
  type ChainDriver,
  type ChainEvent,
  type ChainPoint,
  DriverError,
  noStoredBlock,
  type WatchSet
} from "../../../runtime/Chains.ts"
import { silenceMillis } from "../../../runtime/chains/FollowerState.ts"
import { ringSize } from "../../../runtime/chains/Points.ts"
import { awaitChange, type Chain, type ChainView } from "./Chain.ts"
import { historySize, isOnChain, topOf } from "./ChainState.ts"

interface Position {
  /** Newest first. */
  readonly ring: ReadonlyArray<ChainPoint>
  /** Whether it was emitted that there is nothing new. */
  readonly isIdle: boolean
}

type Look = readonly [events: ReadonlyArray<ChainEvent>, next: Position]

/**
 * Between two answers of a chain that has no new block: a third of the time after which the runtime calls a chain
 * silent and refuses payments there.
 */
const idleAnswerInterval = Duration.millis(silenceMillis / 3)

const idleLook = (position: Position, view: ChainView): Effect.Effect<Look> => {
  const nothingNew: Look = [[{ _tag: "Finality", finalized: null }], { ...position, isIdle: true }]
  return position.isIdle
    ? Effect.map(awaitChange(view, idleAnswerInterval), (isChanged) => isChanged ? [[], position] : nothingNew)
    : Effect.succeed(nothingNew)
}

/** What is emitted to a follower at `position` next; it waits where there is nothing. */
const look = Effect.fnUntraced(function*(
  network: Network,
  chain: Chain,
  position: Position,
  watch: WatchSet
): Effect.fn.Return<Look, DriverError> {
  const { ring } = position
  const view = yield* chain.adopt(ring[0] ?? null)
  const { state } = view
  const base = ring.find((point) => isOnChain(state, point))
  if (ring.length > 0 && base === undefined) return yield* noStoredBlock(network, ring)
  if (base !== undefined && base !== ring[0]) {
    return [[{ _tag: "Rollback", to: base }], { ...position, ring: ring.filter(({ height }) => height <= base.height) }]
  }
  const top = topOf(state)!
  const next = base === undefined ? top : state.blocks.find(({ height }) => height > base.height)
  if (next === undefined) return yield* idleLook(position, view)
  yield* watch.refresh
  const point = { height: next.height, hash: next.hash }
  return [[
    {
      _tag: "Forward",
      point,
      time: next.time,
      transfers: next.transfers.filter(({ matchKey }) => watch.has(matchKey)),
      isCatchingUp: next.height < top.height
    },
    { _tag: "Finality", finalized: null }
  ], { ring: [point, ...ring].slice(0, ringSize), isIdle: false }]
})

export const followBlocks = (network: Network, chain: Chain): ChainDriver["follow"] => (recent, watch) =>
  Stream.unfold<Position, ReadonlyArray<ChainEvent>, DriverError, never>(
    { ring: recent, isIdle: false },
    (position) => look(network, chain, position, watch)
  ).pipe(Stream.flatMap(Stream.fromIterable))

export const blockHistory = (network: Network, chain: Chain): BlockHistory => ({
  _tag: "BlockHistory",
  readBlock: Effect.fnUntraced(function*(height, anchor, watch) {
    const state = yield* chain.state
    const block = state.blocks.find((each) => each.height === height)
    const [oldest] = state.blocks
    if (oldest !== undefined && height < oldest.height) {
      const reason = `block ${height} is not among the newest ${historySize}, or older than this process`
      return yield* new DriverError({ network, reason, condition: "block_pruned" })
    }
    if (block === undefined || !isOnChain(state, anchor)) {
      return yield* new DriverError({ network, reason: `block ${height} is not among the newest ${historySize}` })
    }
    yield* watch.refresh
    const { hash, time, transfers } = block
    return { point: { height, hash }, time, transfers: transfers.filter(({ matchKey }) => watch.has(matchKey)) }
  })
})
