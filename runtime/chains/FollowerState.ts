/**
 * What a follower knows of its chain, and what each event makes of it: `step(state, event)` answers the next state and
 * what has to be done. Pure: times are arguments, `FollowerActions.ts` does what is answered.
 *
 *   waiting --lease--> following from the stored cursor --block--> one point more; stored with the block's transfers
 *   following --rollback--> fewer points, a new generation: what was read beside the follower before it is not written
 *   following --none of its points is on the chain--> `no_common_block` --reanchor--> one new point, nothing counts as
 *   seen until the blocks between were read; a fresh network goes to its new point without an operator
 *   following --failure or lost lease--> waiting: the cursor that another instance stores is looked at
 *
 * Where a block changes entries the points move when the cursor is stored: a commit that fails leaves them as they are.
 */
import type { Environment, Network } from "../../schemas/Network.ts"
import type { NetworkCoverage, NetworkStatus } from "../Chains.ts"
import {
  dropAbove,
  finalHeight,
  pushPoint,
  seenUntilAfterBlock,
  seenUntilAfterPoll,
  seenUntilAfterSearch
} from "./Confirmations.ts"
import { isPruningConfirmed, observePruned, type PrunedBlock } from "./Repairs.ts"
import type { ChainHeights, Cursor, RingPoint } from "./ChainsRepo.ts"
import { type FollowerPosition, searchLag, singleSourceUpTo } from "./SearchSchedule.ts"

/** A chain is `silent` after 60 s without an answer: three blocks of Cardano, the slowest network. */
export const silenceMillis = 60_000

/**
 * The cursor is stored this often where no transfer stores it: a restart reads a few empty blocks again, which changes
 * nothing, and other instances see that the chain answers.
 */
export const idleCursorMillis = 5_000

export interface FollowerState {
  readonly network: Network
  readonly environment: Environment
  /** The newest points that were followed, newest first; empty before the first block. */
  readonly ring: ReadonlyArray<RingPoint>
  /** As {@link Cursor.finalized}. */
  readonly finalized: bigint | null
  /** As {@link NetworkCoverage.seenUntil}, for these points. */
  readonly seenUntil: number | null
  /** What the nodes answered. That there is no answer is not stored here: it follows from `answeredAtMillis`. */
  readonly condition: Cursor["condition"]
  /** As {@link Cursor.searchedHeight} and {@link Cursor.singleSourceFrom}. */
  readonly searchedHeight: bigint | null
  readonly singleSourceFrom: bigint | null
  /** When the search moved last, or had nothing to search. Monotonic milliseconds. */
  readonly searchMovedAtMillis: number
  /** Of the cursor as it was last stored or read; 0 before the first. */
  readonly version: number
  /** Epoch milliseconds the cursor was last stored, here or by the instance that follows; 0: never. */
  readonly storedAtMillis: number
  /** Epoch milliseconds of the chain's last answer, at first those of the start. */
  readonly answeredAtMillis: number
  /** Whether the chain has answered since this process started. */
  readonly hasAnswered: boolean
  /** Monotonic milliseconds since when its first answer is waited for. */
  readonly startedAtMillis: number
  /** Whether this instance follows the chain. */
  readonly isFollowing: boolean
  /** Failures since the chain's last answer. */
  readonly failures: number
  /** Changes with every rollback: what was read before one is not written after it. */
  readonly generation: number
  /** Whether an entry of the journal may be unconfirmed; false saves a query. */
  readonly mayHaveUnconfirmed: boolean
  /**
   * Whether the chain was read up to its end since this process started, here or by the instance that follows it. A
   * database that turns out to be an older one takes it back.
   */
  readonly isCaughtUp: boolean
  /** As {@link Cursor.caughtUpToken}. */
  readonly caughtUpToken: bigint | null
  /** The one that was stored when this process started; 0: none was. */
  readonly firstCaughtUpToken: bigint
  /** The end of the lease of the instance that follows, as last read. */
  readonly leaseEnd: string | null
  /** Whether the newest block there is was read since this instance began to follow. */
  readonly isAtEnd: boolean
  /** Whether the look at the chain that is under way has brought a block or a rollback. */
  readonly lookHasBlocks: boolean
  /** Epoch milliseconds at which that look began, or earlier; null: not known. */
  readonly lookSinceMillis: number | null
  /** A block that the repair under way needs and every endpoint says it does not have any more. */
  readonly prunedBlock: PrunedBlock | null
  /** Between a reanchor and its end the journal is not complete: no invoice may expire by it. */
  readonly isReanchoring: boolean
}

/** A state before anything is known. `cursor` null: nothing was ever read, so nothing can have been paid. */
export const initialState = (start: {
  readonly network: Network
  readonly environment: Environment
  readonly cursor: Pick<Cursor, "caughtUpToken"> | null
  readonly nowMillis: number
  readonly monotonicMillis: number
}): FollowerState => ({
  network: start.network,
  environment: start.environment,
  ring: [],
  finalized: null,
  seenUntil: null,
  condition: "ok",
  searchedHeight: null,
  singleSourceFrom: null,
  searchMovedAtMillis: start.monotonicMillis,
  version: 0,
  storedAtMillis: 0,
  answeredAtMillis: start.nowMillis,
  hasAnswered: false,
  startedAtMillis: start.monotonicMillis,
  isFollowing: false,
  failures: 0,
  generation: 0,
  mayHaveUnconfirmed: true,
  isCaughtUp: start.cursor === null,
  caughtUpToken: null,
  firstCaughtUpToken: start.cursor?.caughtUpToken ?? 0n,
  leaseEnd: null,
  isAtEnd: false,
  lookHasBlocks: false,
  lookSinceMillis: null,
  prunedBlock: null,
  isReanchoring: false
})

/** What happened. `nowMillis` is epoch, `monotonicMillis` a clock that nobody sets; heights are blocks. */
export type FollowerEvent =
  /** This instance follows from now on, from the stored cursor; null: none was ever stored. */
  | { readonly _tag: "FollowingStarted"; readonly cursor: Cursor | null; readonly monotonicMillis: number }
  | { readonly _tag: "FollowingFailed" }
  | { readonly _tag: "FollowingStopped" }
  /** The chain answered; `isLookEnd`: it has nothing more to tell in this look. */
  | { readonly _tag: "ChainAnswered"; readonly isLookEnd: boolean; readonly nowMillis: number }
  /** A block above the newest point was read; `changes`: entries of the journal that its transfers make or change. */
  | {
    readonly _tag: "BlockRead"
    readonly point: RingPoint
    readonly isCatchingUp: boolean
    /** As in `Forward` of `ChainEvent` (`runtime/Chains.ts`); null: absent. */
    readonly seenUntil: number | null
    readonly changes: number
    readonly nowMillis: number
  }
  /** Blocks above `height` are not on the chain any more. */
  | { readonly _tag: "RollbackStarted"; readonly height: bigint; readonly monotonicMillis: number }
  /** Their entries were taken back. */
  | { readonly _tag: "RollbackWritten"; readonly height: bigint }
  /** All that a look found was dealt with; `sinceMillis`: when it began, or earlier. */
  | {
    readonly _tag: "LookEnded"
    readonly finalized: bigint | null
    readonly sinceMillis: number | null
    readonly nowMillis: number
  }
  | { readonly _tag: "ConditionFound"; readonly condition: Cursor["condition"] }
  /** A turn that may have reached the chain's end was dealt with, under the lease of `token`. */
  | {
    readonly _tag: "TurnEnded"
    readonly turn: "block" | "last_block" | "rollback" | "look"
    readonly token: bigint
  }
  | { readonly _tag: "CheckRequested" }
  | { readonly _tag: "EntriesChanged" }
  /** The database was asked for unconfirmed entries of the journal. */
  | { readonly _tag: "UnconfirmedCounted"; readonly hasUnconfirmed: boolean }
  | {
    readonly _tag: "CursorStored"
    readonly ring: ReadonlyArray<RingPoint>
    readonly seenUntil: number | null
    readonly nowMillis: number
  }
  /** Absent: as before. */
  | {
    readonly _tag: "SearchMoved"
    readonly searchedHeight?: bigint | undefined
    readonly singleSourceFrom?: bigint | null | undefined
    readonly monotonicMillis: number
  }
  /** Each second: while the search is not behind the newest block, it counts as moving. */
  | { readonly _tag: "SearchComparedToHead"; readonly monotonicMillis: number }
  /** Every second: the clock may have been set back. */
  | { readonly _tag: "ClockRead"; readonly nowMillis: number }
  /** The repairs were read, or one was stored: `hasGap`: a reanchor has left blocks that are still to be read. */
  | { readonly _tag: "RepairsRead"; readonly hasGap: boolean }
  /** Following goes on from `anchor`, which is none of the points. */
  | {
    readonly _tag: "Reanchored"
    readonly anchor: RingPoint
    readonly finalized: bigint | null
    readonly monotonicMillis: number
  }
  /** Every endpoint said that it does not have a block any more. */
  | { readonly _tag: "BlockPruned"; readonly height: bigint; readonly monotonicMillis: number }
  /** A node gave the block that was asked for. */
  | { readonly _tag: "BlockFound" }
  /** What the follower on another instance has stored. */
  | { readonly _tag: "CursorPeeked"; readonly cursor: Cursor; readonly monotonicMillis: number }
  /** When the lease of that instance ends; null: nobody holds it by its token. */
  | { readonly _tag: "LeaseRead"; readonly leaseEnd: string | null }

/** What has to be done, in this order. */
export type FollowerAction =
  /** The rows of the turn, and the cursor with these points: `CursorStored` follows. */
  | { readonly _tag: "StoreCursor"; readonly ring: ReadonlyArray<RingPoint>; readonly seenUntil: number | null }
  | { readonly _tag: "WakeHandler" }
  /** A payment was seen: how long after its block. `blockTime`: epoch seconds. */
  | { readonly _tag: "MeasureLag"; readonly blockTime: number }
  | { readonly _tag: "CheckDepths" }
  | { readonly _tag: "LogCondition"; readonly from: Cursor["condition"]; readonly to: Cursor["condition"] }

/** The state after an event, and what has to be done. */
export type FollowerStep = readonly [FollowerState, ReadonlyArray<FollowerAction>]

const storeCursorOf = ({ ring, seenUntil }: FollowerState): FollowerAction => ({
  _tag: "StoreCursor",
  ring,
  seenUntil
})

const isStoreDue = ({ storedAtMillis }: FollowerState, nowMillis: number): boolean =>
  nowMillis - storedAtMillis >= idleCursorMillis

/** Times after now become now: after a clock was set back by 1 h, a dead chain would else be `silent` 1 h late. */
const clampToNow = (state: FollowerState, nowMillis: number): FollowerState =>
  state.answeredAtMillis <= nowMillis && state.storedAtMillis <= nowMillis ? state : {
    ...state,
    answeredAtMillis: Math.min(state.answeredAtMillis, nowMillis),
    storedAtMillis: Math.min(state.storedAtMillis, nowMillis)
  }

const withSearch = (state: FollowerState, searchedHeight: bigint | null, monotonicMillis: number): FollowerState => ({
  ...state,
  searchedHeight,
  singleSourceFrom: singleSourceUpTo(state.singleSourceFrom, searchedHeight),
  searchMovedAtMillis: searchedHeight === state.searchedHeight ? state.searchMovedAtMillis : monotonicMillis
})

/** Lowers the searched height to `height`: blocks above it are read again, and then searched again. */
const lowerSearchedHeight = (state: FollowerState, height: bigint, monotonicMillis: number): FollowerState =>
  state.searchedHeight !== null && state.searchedHeight > height ? withSearch(state, height, monotonicMillis) : state

type EventOf<Tag extends FollowerEvent["_tag"]> = Extract<FollowerEvent, { readonly _tag: Tag }>

const onStart = (state: FollowerState, { cursor, monotonicMillis }: EventOf<"FollowingStarted">): FollowerState => ({
  ...withSearch(state, cursor?.searchedHeight ?? null, monotonicMillis),
  ring: cursor?.recent ?? [],
  version: cursor?.version ?? 0,
  finalized: cursor?.finalized ?? null,
  condition: cursor?.condition ?? "ok",
  seenUntil: cursor?.seenUntil ?? null,
  singleSourceFrom: cursor?.singleSourceFrom ?? null,
  // Without a cursor no block was ever read, so nothing can have been paid. A cursor older than the last one that was
  // seen is of a restored backup, so the chain must be read up to its end again.
  isCaughtUp: cursor === null || (state.isCaughtUp && cursor.version >= state.version),
  caughtUpToken: null,
  mayHaveUnconfirmed: true,
  isFollowing: true,
  isAtEnd: false,
  lookHasBlocks: false,
  lookSinceMillis: null,
  startedAtMillis: state.hasAnswered ? state.startedAtMillis : monotonicMillis
})

const onBlock = (state: FollowerState, event: EventOf<"BlockRead">): FollowerStep => {
  const { changes, isCatchingUp, nowMillis, point } = event
  const [newest] = state.ring
  // After a commit that lost a race a block is processed again, and may be the newest already.
  const isNewest = newest !== undefined && newest.height === point.height && newest.hash === point.hash
  const ring = isNewest ? state.ring : pushPoint(state.ring, point)
  const seenUntil = state.isReanchoring
    ? null
    : event.seenUntil === null
    ? seenUntilAfterBlock(state.seenUntil, point)
    : Math.max(state.seenUntil ?? 0, event.seenUntil)
  const isStored = changes > 0 || state.ring.length === 0 || isStoreDue(state, nowMillis)
  const actions: Array<FollowerAction> = []
  if (isStored) actions.push({ _tag: "StoreCursor", ring, seenUntil })
  if (changes > 0) actions.push({ _tag: "WakeHandler" }, { _tag: "MeasureLag", blockTime: point.time })
  if (!isCatchingUp) actions.push({ _tag: "CheckDepths" })
  const mayHaveUnconfirmed = state.mayHaveUnconfirmed || changes > 0
  return [isStored ? { ...state, mayHaveUnconfirmed } : { ...state, ring, seenUntil, mayHaveUnconfirmed }, actions]
}

const onRollbackWritten = (state: FollowerState, height: bigint): FollowerStep => {
  const ring = dropAbove(state.ring, height)
  const [newest] = ring
  const seenUntil = newest === undefined || state.isReanchoring ? null : seenUntilAfterBlock(null, newest)
  return [state, [{ _tag: "StoreCursor", ring, seenUntil }]]
}

/** A changed condition is stored at once, because every instance decides by it whether the network is offered. */
const onCondition = (state: FollowerState, condition: Cursor["condition"]): FollowerStep =>
  condition === state.condition ? [state, []] : [
    { ...state, condition },
    [{ _tag: "LogCondition", from: state.condition, to: condition }, storeCursorOf(state)]
  ]

const onLookEnd = (state: FollowerState, event: EventOf<"LookEnded">): FollowerStep => {
  const { finalized, nowMillis, sinceMillis } = event
  const isSeen = sinceMillis !== null && state.ring.length > 0 && !state.isReanchoring
  const seenUntil = isSeen ? seenUntilAfterPoll(state.environment, state.seenUntil, sinceMillis) : state.seenUntil
  const next = { ...state, finalized, seenUntil }
  if (state.condition === "no_common_block") return onCondition(next, "ok")
  return [next, isStoreDue(state, nowMillis) ? [storeCursorOf(next)] : []]
}

/** The chain's end is reached by the last block of a look, and by a look without a block. */
const onTurnEnd = (state: FollowerState, { token, turn }: EventOf<"TurnEnded">): FollowerStep => {
  const isEnd = turn === "last_block" || (turn === "look" && !state.lookHasBlocks)
  const next = { ...state, lookHasBlocks: turn !== "look" }
  if (!isEnd) return [next, []]
  const atEnd = { ...next, isAtEnd: true, isCaughtUp: true }
  if (state.caughtUpToken === token || state.ring.length === 0) return [atEnd, []]
  // Other instances read it from the cursor.
  return [{ ...atEnd, caughtUpToken: token }, [storeCursorOf(atEnd)]]
}

const onSearchMoved = (state: FollowerState, event: EventOf<"SearchMoved">): FollowerState => {
  const { monotonicMillis, searchedHeight, singleSourceFrom } = event
  const moved = searchedHeight === undefined ? state : withSearch(state, searchedHeight, monotonicMillis)
  return singleSourceFrom === undefined ? moved : { ...moved, singleSourceFrom }
}

const onReanchor = (state: FollowerState, event: EventOf<"Reanchored">): FollowerStep => {
  const { anchor, finalized, monotonicMillis } = event
  const generation = state.generation + 1
  const next = lowerSearchedHeight(state, anchor.height, monotonicMillis)
  return [
    { ...next, generation, finalized, condition: "ok", seenUntil: null },
    [{ _tag: "StoreCursor", ring: [anchor], seenUntil: null }]
  ]
}

/**
 * Takes what the instance that follows has stored, unless this one has begun to follow meanwhile. A `caughtUpToken`
 * above the one that was stored when this process started is of a lease under which the chain was read up to its end
 * since then. It cannot come from a restored backup.
 */
const onPeek = (state: FollowerState, { cursor, monotonicMillis }: EventOf<"CursorPeeked">): FollowerState =>
  state.isFollowing ? state : {
    ...withSearch(state, cursor.searchedHeight, monotonicMillis),
    ring: cursor.recent,
    finalized: cursor.finalized,
    seenUntil: cursor.seenUntil,
    condition: cursor.condition,
    isCaughtUp: state.isCaughtUp || (cursor.caughtUpToken ?? 0n) > state.firstCaughtUpToken,
    storedAtMillis: cursor.storedAt * 1000,
    hasAnswered: state.hasAnswered || (state.version !== 0 && cursor.version !== state.version),
    version: cursor.version,
    answeredAtMillis: Math.max(state.answeredAtMillis, cursor.answeredAt * 1000)
  }

/** A lease has a holder only if its end moves between two readings: the lease in a restored backup never does. */
const onLease = (state: FollowerState, leaseEnd: string | null): FollowerState =>
  state.isFollowing || state.isCaughtUp
    ? state
    : { ...state, leaseEnd, isCaughtUp: leaseEnd !== null && state.leaseEnd !== null && leaseEnd !== state.leaseEnd }

/** What an event makes of a state, and what has to be done about it. Total. */
export const step = (state: FollowerState, event: FollowerEvent): FollowerStep => {
  switch (event._tag) {
    case "FollowingStarted":
      return [onStart(state, event), []]
    case "FollowingFailed":
      return [{ ...state, failures: state.failures + 1 }, []]
    case "FollowingStopped":
      return [{ ...state, isFollowing: false }, []]
    case "ChainAnswered": {
      const lookSinceMillis = event.isLookEnd ? event.nowMillis : state.lookSinceMillis
      return [{ ...state, answeredAtMillis: event.nowMillis, hasAnswered: true, failures: 0, lookSinceMillis }, []]
    }
    case "BlockRead":
      return onBlock(state, event)
    case "RollbackStarted": {
      const next = lowerSearchedHeight(state, event.height, event.monotonicMillis)
      return [{ ...next, generation: state.generation + 1 }, []]
    }
    case "RollbackWritten":
      return onRollbackWritten(state, event.height)
    case "LookEnded":
      return onLookEnd(state, event)
    case "ConditionFound":
      return onCondition(state, event.condition)
    case "TurnEnded":
      return onTurnEnd(state, event)
    case "CheckRequested":
      return [{ ...state, mayHaveUnconfirmed: true }, [{ _tag: "CheckDepths" }]]
    case "EntriesChanged":
      return [{ ...state, mayHaveUnconfirmed: true }, [{ _tag: "WakeHandler" }]]
    case "UnconfirmedCounted":
      return [{ ...state, mayHaveUnconfirmed: event.hasUnconfirmed }, []]
    case "CursorStored": {
      const { nowMillis, ring, seenUntil } = event
      return [{ ...state, ring, seenUntil, storedAtMillis: nowMillis, version: state.version + 1 }, []]
    }
    case "SearchMoved":
      return [onSearchMoved(state, event), []]
    case "ClockRead":
      return [clampToNow(state, event.nowMillis), []]
    case "SearchComparedToHead":
      return [isSearchBehind(state) ? state : { ...state, searchMovedAtMillis: event.monotonicMillis }, []]
    case "RepairsRead":
      return [{ ...state, isReanchoring: event.hasGap }, []]
    case "Reanchored":
      return onReanchor(state, event)
    case "BlockPruned":
      return [{ ...state, prunedBlock: observePruned(state.prunedBlock, event.height, event.monotonicMillis) }, []]
    case "BlockFound":
      return [{ ...state, prunedBlock: null }, []]
    case "CursorPeeked":
      return [onPeek(state, event), []]
    case "LeaseRead":
      return [onLease(state, event.leaseEnd), []]
  }
}

const isSearchBehind = ({ ring, searchedHeight }: FollowerState): boolean =>
  ring.length > 0 && ring[0]!.height - (searchedHeight ?? ring.at(-1)!.height) > searchLag

/** The newest block read; null before the first. */
export const headOf = ({ ring }: FollowerState): bigint | null => ring[0]?.height ?? null

/** The heights from which confirmations are counted; null before the first block. */
export const heightsOf = ({ finalized, ring }: FollowerState): ChainHeights | null =>
  ring[0] === undefined ? null : { head: ring[0].height, finalized }

/** The newest height at final depth; 0 before the first block. */
export const finalHeightOf = (state: FollowerState): bigint => {
  const heights = heightsOf(state)
  return heights === null ? 0n : finalHeight(state.network, state.environment, heights)
}

/** Where blocks are verified and searched; null before the first block. */
export const positionOf = (state: FollowerState): FollowerPosition | null => {
  const { generation, ring, searchedHeight, singleSourceFrom } = state
  const heights = heightsOf(state)
  return heights === null ? null : { generation, ring, heights, searchedHeight, singleSourceFrom }
}

/** The row of a cursor that is stored next, with these points. */
export const cursorOf = (
  state: FollowerState,
  { ring, seenUntil }: Pick<FollowerState, "ring" | "seenUntil">,
  nowMillis: number
): Cursor => ({
  recent: ring,
  finalized: state.finalized,
  answeredAt: Math.floor(state.answeredAtMillis / 1000),
  condition: state.condition,
  storedAt: Math.floor(nowMillis / 1000),
  seenUntil,
  caughtUpToken: state.caughtUpToken,
  searchedHeight: state.searchedHeight,
  singleSourceFrom: state.singleSourceFrom,
  version: state.version + 1
})

/** Whether every endpoint has said for long enough that it does not have the block in question any more. */
export const isPruned = ({ environment, prunedBlock }: FollowerState, monotonicMillis: number): boolean =>
  prunedBlock !== null && isPruningConfirmed(prunedBlock, environment, monotonicMillis)

/** The network's status for operators and payors. */
export const statusOf = (state: FollowerState, nowMillis: number): NetworkStatus => {
  const { condition, environment, network, ring, storedAtMillis } = state
  const isSilent = nowMillis - state.answeredAtMillis >= silenceMillis
  const current = isSilent && condition !== "no_common_block" ? "silent" : condition
  return {
    network,
    environment,
    healthy: current === "ok",
    condition: current,
    head: ring[0]?.height ?? null,
    headTime: ring[0]?.time ?? null,
    cursorTime: storedAtMillis === 0 ? null : Math.floor(storedAtMillis / 1000)
  }
}

/** How far the journal is complete. `hasSearch`: blocks are searched again for what an endpoint left out. */
export const coverageOf = (
  state: FollowerState,
  { hasSearch, monotonicMillis, nowMillis }: {
    readonly hasSearch: boolean
    readonly nowMillis: number
    readonly monotonicMillis: number
  }
): NetworkCoverage => {
  const { environment, network, ring, searchedHeight, seenUntil } = state
  const { condition, healthy } = statusOf(state, nowMillis)
  const stuckSeconds = (monotonicMillis - state.searchMovedAtMillis) / 1000
  const until = hasSearch
    ? seenUntilAfterSearch(environment, seenUntil, { searchedHeight, stuckSeconds }, ring)
    : seenUntil
  return { network, seenUntil: condition === "disagreement" ? null : until, isAdvancing: healthy }
}
