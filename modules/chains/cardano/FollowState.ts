/**
 * What following the chain remembers from one look to the next, and what each answer of a server makes of it. Pure:
 * times are epoch milliseconds that the caller gives, `Follow.ts` asks the servers.
 *
 *   blocks after the newest point --> those that continue our own move the ring on
 *   newest point not there, or not continued --> the block at its height decides:
 *     the same, or none: the server is behind, and is asked again
 *     another: a rollback to the newest common point
 */
import type { ChainEvent, ChainPoint, DriverCondition } from "../../../runtime/Chains.ts"
import type { BlockHeader } from "./Api.ts"

/** Points kept to find a common block with: as many as the follower's cursor holds. */
export const ringSize = 128

/** Looks in a row that may find a block without its transactions before what is missing is given up. */
export const patientLooks = 20

export interface FollowState {
  /** The newest points that were followed, newest first; empty before the first block. */
  readonly ring: ReadonlyArray<ChainPoint>
  /** Epoch seconds of the newest of them; null: not known yet, after a restart. */
  readonly headTime: number | null
  /** Looks in a row that found a block and not what is in it. */
  readonly tornLooks: number
  /** Whether the last look reached the end of the chain, so that the next one waits. */
  readonly isIdle: boolean
  /** Null before the first event of it, which is sent however the network stands. */
  readonly condition: DriverCondition | null
  /** When an endpoint on the followed branch last answered. */
  readonly followedAtMillis: number
  /** The endpoint that answered the last look; the others are watched beside it. */
  readonly servingEndpoint: number | null
}

export const initialState = (recent: ReadonlyArray<ChainPoint>, nowMillis: number): FollowState => ({
  ring: recent.slice(0, ringSize),
  headTime: null,
  tornLooks: 0,
  isIdle: false,
  condition: null,
  followedAtMillis: nowMillis,
  servingEndpoint: null
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

/** A look is over: what it found, and by which endpoint; null: none on the followed branch answered. */
export const onLookEnd = (
  state: FollowState,
  events: ReadonlyArray<ChainEvent>,
  servingEndpoint: number | null,
  nowMillis: number
): FollowState => {
  const last = events.at(-1)
  return {
    ...state,
    servingEndpoint,
    followedAtMillis: servingEndpoint === null ? state.followedAtMillis : nowMillis,
    isIdle: last === undefined || (last._tag === "Forward" && !last.isCatchingUp)
  }
}

/** How the endpoints stand to each other: an event where that changed. */
export const onCondition = (
  state: FollowState,
  condition: DriverCondition
): readonly [FollowState, ReadonlyArray<ChainEvent>] =>
  condition === state.condition ? [state, []] : [{ ...state, condition }, [{ _tag: "Condition", condition }]]

/**
 * What a look emits. Without an endpoint on the followed branch nothing was seen: the condition alone says that some
 * endpoint answers. Cardano's nodes mark no height as final.
 */
export const eventsOfLook = (
  state: FollowState,
  events: ReadonlyArray<ChainEvent>,
  conditionEvents: ReadonlyArray<ChainEvent>
): ReadonlyArray<ChainEvent> =>
  state.servingEndpoint === null
    ? [{ _tag: "Condition", condition: state.condition! }]
    : [...events, ...conditionEvents, { _tag: "Finality", finalized: null }]
