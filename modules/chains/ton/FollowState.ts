/**
 * What following keeps between two looks, and how each step changes it. Pure.
 *
 * Open accounts are read in every look, from {@link overlapSeconds} before what was read. All accounts are read once in
 * {@link fullPassSeconds}, from much longer before, which also finds what an API shows late. Both go on where they were
 * when a call fails, for the same endpoint: with many accounts one of many calls may always fail.
 */
import type { EndpointHead } from "../../../runtime/nodes/EndpointPool.ts"
import type { Owner, Receivers } from "./Reader.ts"

/**
 * Seconds that are read again in every look. A transaction is in a block of its shard before the masterchain makes it
 * final, and it has the time of the former: seconds lie between, as an API needs seconds to show what is final.
 */
export const overlapSeconds = 30

/** Seconds between two readings of all accounts, open or not. */
export const fullPassSeconds = 600

/** Seconds that such a reading goes back before the last one. */
const fullPassOverlapSeconds = 900

/** Seconds read at once while catching up: what came in them is kept in memory until it is emitted. */
export const stretchSeconds = 3_600

/** Batches of something that are read up to a block, some of which are done. */
export interface Pass<Batch> {
  /** The endpoint it is read from: another one may not be as far. */
  readonly place: number
  readonly target: EndpointHead
  readonly from: number
  readonly batches: ReadonlyArray<Batch>
  readonly done: number
}

export interface FollowState {
  /** The block that was emitted last. */
  readonly head: EndpointHead
  /** Transfers up to this height are not emitted: following began there. Null: it went on from a cursor. */
  readonly floor: bigint | null
  /** Epoch seconds to which open accounts were read. */
  readonly readUntil: number
  /** Epoch seconds to which all accounts were read. */
  readonly allReadUntil: number
  readonly pass: Pass<Receivers> | null
  readonly fullPass: Pass<ReadonlyArray<Owner>> | null
}

/** Begins at a head, with nothing to read before it. */
export const beginAtHead = (head: EndpointHead): FollowState => ({
  head,
  floor: head.height,
  readUntil: head.time,
  allReadUntil: head.time,
  pass: null,
  fullPass: null
})

/** Goes on from a block that was emitted before: when all accounts were read last is not known. */
export const resumeAt = (cursor: EndpointHead): FollowState => ({
  ...beginAtHead(cursor),
  floor: null,
  allReadUntil: cursor.time - 2 * fullPassSeconds
})

/** The time up to which the next look reads; null: to the head. */
export const stretchEnd = ({ readUntil }: FollowState, head: EndpointHead): number | null =>
  head.time - readUntil > stretchSeconds ? readUntil + stretchSeconds : null

/** Whether a pass that was begun can go on at an endpoint. */
export const canContinue = (pass: Pass<unknown> | null, place: number): boolean => pass !== null && pass.place === place

export const beginPass = (
  state: FollowState,
  place: number,
  target: EndpointHead,
  batches: ReadonlyArray<Receivers>
): FollowState => ({
  ...state,
  pass: { place, target, from: state.readUntil - overlapSeconds, batches, done: 0 }
})

/** Whether it is time to read all accounts. */
export const isFullPassDue = ({ allReadUntil }: FollowState, target: EndpointHead): boolean =>
  target.time - allReadUntil >= fullPassSeconds

/**
 * Whether all accounts must be read before `target` is emitted: after a restart it would not be known that they were
 * not (see {@link resumeAt}).
 */
export const isFullPassOverdue = ({ allReadUntil }: FollowState, target: EndpointHead): boolean =>
  target.time - allReadUntil > 2 * fullPassSeconds

export const beginFullPass = (
  state: FollowState,
  place: number,
  target: EndpointHead,
  batches: ReadonlyArray<ReadonlyArray<Owner>>
): FollowState => ({
  ...state,
  fullPass: { place, target, from: state.allReadUntil - fullPassOverlapSeconds, batches, done: 0 }
})

const advance = <Batch>(pass: Pass<Batch>): Pass<Batch> => ({ ...pass, done: pass.done + 1 })

/** The next batch; null: all are done. */
export const nextBatch = <Batch>({ batches, done }: Pass<Batch>): Batch | null => batches[done] ?? null

export const onBatchRead = (state: FollowState): FollowState =>
  state.pass === null ? state : { ...state, pass: advance(state.pass) }

/** After the last batch every account was read up to the block of the pass. */
export const onFullPassBatchRead = (state: FollowState): FollowState => {
  if (state.fullPass === null) return state
  const fullPass = advance(state.fullPass)
  return nextBatch(fullPass) === null
    ? { ...state, fullPass: null, allReadUntil: fullPass.target.time }
    : { ...state, fullPass: fullPass }
}

/** Open accounts were read up to a block, which is emitted. */
export const onTarget = (state: FollowState, target: EndpointHead): FollowState => ({
  ...state,
  head: target,
  readUntil: target.time,
  pass: null
})

/** What came to some accounts since then was not read: it is read again, of all of them. Epoch seconds. */
export const onCorrection = (state: FollowState, since: number): FollowState => ({
  ...state,
  readUntil: Math.min(state.readUntil, since),
  allReadUntil: Math.min(state.allReadUntil, since),
  pass: null,
  fullPass: null
})

/** Whether a transfer is of the time since following began. */
export const isSinceBegin = ({ floor }: FollowState, height: bigint): boolean => floor === null || height > floor
