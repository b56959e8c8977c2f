/**
 * What following a chain remembers from one look to the next, and what each answer of a node makes of it. Pure: times
 * are milliseconds of a clock that nobody sets, as the caller gives them; `Follow.ts` asks the nodes.
 *
 *   head above the newest point --> its blocks are read; those that continue our own move the ring on
 *   head at or below it, or a block that does not continue it --> a rollback to the newest common point
 *   head below everything in the ring --> nothing to compare
 */
import type { ChainEvent, ChainPoint } from "../../../runtime/Chains.ts"
import { ringSize } from "../../../runtime/chains/Points.ts"
import { initialLook, type LookState } from "../../../runtime/nodes/LookState.ts"
import type { Environment } from "../../../schemas/Network.ts"
import type { BlockHeader, FullBlock } from "./Blocks.ts"

/**
 * Looks in a row that must find the tip below ours, on the same blocks, before it counts as undone. Nodes behind one
 * balancer differ by a few blocks all the time, and public chains never shrink; test nodes do.
 */
export const shrinkPolls: Readonly<Record<Environment, number>> = { devnet: 3, mainnet: 1_000 }

/** Looks in a row that may find no whole block, or lack a header, before the endpoint is given up. */
export const maximumTornPolls = 20

export interface FollowState extends LookState {
  readonly environment: Environment
  /** The newest points that were followed, newest first; empty before the first block. */
  readonly ring: ReadonlyArray<ChainPoint>
  /** Looks in a row that found the tip below ours, on the same blocks. */
  readonly shorterPolls: number
  /** Looks in a row that found no whole next block, or not where a branch leaves the followed one. */
  readonly tornPolls: number
  /** The network's finality mark; null: the node never had one. */
  readonly finalized: bigint | null
}

export const initialState = (
  environment: Environment,
  recent: ReadonlyArray<ChainPoint>,
  nowMillis: number
): FollowState => ({
  environment,
  ...initialLook(nowMillis),
  ring: recent.slice(0, ringSize),
  shorterPolls: 0,
  tornPolls: 0,
  finalized: null
})

/**
 * What a head asks for. `unchanged`: nothing; `read`: the blocks up to it; `below`: nothing, it is so far behind that
 * there is nothing to compare; `compare`: the newest point that is on its branch.
 */
export type HeadDecision = "unchanged" | "read" | "below" | "compare"

/** A node showed its head; `hasOthers`: the network has more endpoints than this one. */
export const onHead = (
  state: FollowState,
  head: Pick<BlockHeader, "height" | "hash">,
  hasOthers: boolean
): readonly [FollowState, HeadDecision] => {
  const [top] = state.ring
  const next: FollowState = { ...state, shorterPolls: 0 }
  if (top === undefined || head.height > top.height) return [next, "read"]
  if (head.height === top.height && head.hash === top.hash) return [next, "unchanged"]
  // Below all points of the ring: whether it is on our branch cannot be compared.
  if (hasOthers && head.height < state.ring[state.ring.length - 1]!.height) return [state, "below"]
  const isLagging = state.ring.some((point) => point.height === head.height && point.hash === head.hash)
  const shorterPolls = state.shorterPolls + 1
  return isLagging && shorterPolls < shrinkPolls[state.environment]
    ? [{ ...state, shorterPolls }, "unchanged"]
    : [next, "compare"]
}

/** The blocks to be read up to a head; before the first block the head alone. */
export const firstMissing = ({ ring: [top] }: FollowState, head: Pick<BlockHeader, "height">): bigint =>
  top === undefined ? head.height : top.height + 1n

/** The longest run of whole blocks that continue our own; `isForked` when the first does not. */
export const linkBlocks = <Block extends Pick<FullBlock, "hash" | "parentHash">>(
  { ring }: FollowState,
  blocks: ReadonlyArray<Block | null>
): { readonly chain: ReadonlyArray<Block>; readonly isForked: boolean } => {
  const chain: Array<Block> = []
  let parent = ring[0]?.hash
  for (const block of blocks) {
    if (block === null) break
    if (parent !== undefined && block.parentHash !== parent) return { chain, isForked: chain.length === 0 }
    chain.push(block)
    parent = block.hash
  }
  return { chain, isForked: false }
}

/** A look found `count` whole blocks; whether blocks and receipts did not belong together too often in a row. */
export const onLinkedBlocks = (state: FollowState, count: number): readonly [FollowState, isGivenUp: boolean] => {
  const tornPolls = count > 0 ? 0 : state.tornPolls + 1
  return tornPolls > maximumTornPolls ? [{ ...state, tornPolls: 0 }, true] : [{ ...state, tornPolls }, false]
}

/** The chain goes on with these points, lowest first. */
export const onForward = (state: FollowState, points: ReadonlyArray<ChainPoint>): FollowState => ({
  ...state,
  ring: [...points.toReversed(), ...state.ring].slice(0, ringSize)
})

/** What lies above `to` is not on the chain any more. */
export const onRollback = (state: FollowState, to: ChainPoint): readonly [FollowState, ReadonlyArray<ChainEvent>] => [
  { ...state, ring: state.ring.filter((point) => point.height <= to.height) },
  [{ _tag: "Rollback", to }]
]
