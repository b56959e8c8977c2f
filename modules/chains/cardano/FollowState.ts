/**
 * What following the chain remembers from one look to the next, and what each answer of a server makes of it. Pure:
 * times are epoch milliseconds that the caller gives, `Follow.ts` asks the servers.
 *
 *   blocks after the newest point --> those that continue our own move the ring on
 *   newest point not there, or not continued --> the block at its height decides:
 *     the same, or none: the server is behind, and is asked again
 *     another: a rollback to the newest common point
 */
import type { ChainEvent, ChainPoint } from "../../../runtime/Chains.ts"
import { ringSize } from "../../../runtime/chains/Points.ts"
import { initialLook, type LookState } from "../../../runtime/nodes/LookState.ts"
import type { BlockHeader } from "./Api.ts"

/** Looks in a row that may find a block without its transactions before what is missing is given up. */
export const patientLooks = 20

export interface FollowState extends LookState {
  /** The newest points that were followed, newest first; empty before the first block. */
  readonly ring: ReadonlyArray<ChainPoint>
  /** Epoch seconds of the newest of them; null: not known yet, after a restart. */
  readonly headTime: number | null
  /** Looks in a row that found a block and not what is in it. */
  readonly tornLooks: number
}

export const initialState = (recent: ReadonlyArray<ChainPoint>, nowMillis: number): FollowState => ({
  ...initialLook(nowMillis),
  ring: recent.slice(0, ringSize),
  headTime: null,
  tornLooks: 0
})

/** The longest run of blocks that continue the newest point, each the next; empty where the first does not. */
export const linkBlocks = <Header extends Pick<BlockHeader, "hash" | "height" | "previous">>(
  top: ChainPoint,
  blocks: ReadonlyArray<Header>
): ReadonlyArray<Header> => {
  const broken = blocks.findIndex(({ height, previous }, place) => {
    const before = place === 0 ? top : blocks[place - 1]!
    return previous !== before.hash || height !== before.height + 1n
  })
  return broken === -1 ? blocks : blocks.slice(0, broken)
}

/** What the block at the height of the newest point says of a server that does not continue it. */
export const compareTop = (top: ChainPoint, found: Pick<ChainPoint, "hash"> | null): "behind" | "forked" =>
  found === null || found.hash === top.hash ? "behind" : "forked"

/** The chain goes on with these blocks, lowest first. */
export const onForward = (
  state: FollowState,
  blocks: ReadonlyArray<Pick<BlockHeader, "hash" | "height" | "time">>
): FollowState => ({
  ...state,
  ring: [...blocks.map(({ hash, height }) => ({ height, hash })).toReversed(), ...state.ring].slice(0, ringSize),
  headTime: blocks.at(-1)?.time ?? state.headTime,
  tornLooks: 0
})

/** A server showed its newest block: the time of ours is known where they are the same. */
export const onHead = (state: FollowState, head: Pick<BlockHeader, "hash" | "time">): FollowState =>
  head.hash === state.ring[0]?.hash ? { ...state, headTime: head.time } : state

/** A block was there, and not what is in it. */
export const onTorn = (state: FollowState): FollowState => ({ ...state, tornLooks: state.tornLooks + 1 })

/** What lies above `to` is not on the chain any more. */
export const onRollback = (state: FollowState, to: ChainPoint): readonly [FollowState, ReadonlyArray<ChainEvent>] => [
  { ...state, ring: state.ring.filter(({ height }) => height <= to.height), headTime: null },
  [{ _tag: "Rollback", to }]
]
