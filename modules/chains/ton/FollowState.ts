/**
 * What following keeps between two looks, and how each step changes it. Pure.
 *
 * Open accounts are read in every look, from {@link overlapSeconds} before what was read. All accounts are read once in
 * {@link sweepSeconds}, from much longer before, which also finds what an API shows late. Both go on where they were
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
export const sweepSeconds = 600

/** Seconds that such a reading goes back before the last one. */
const sweepOverlapSeconds = 900

/** Seconds read at once while catching up: what came in them is kept in memory until it is told. */
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
  /** The block that was told last. */
  readonly head: EndpointHead
  /** Transfers up to this height are not told: following began there. Null: it went on from a cursor. */
  readonly floor: bigint | null
  /** Epoch seconds to which open accounts were read. */
  readonly readUntil: number
  /** Epoch seconds to which all accounts were read. */
  readonly sweptUntil: number
  readonly pass: Pass<Receivers> | null
  readonly sweep: Pass<ReadonlyArray<Owner>> | null
}

/** Begins at a head, with nothing to read before it. */
export const beginAtHead = (head: EndpointHead): FollowState => ({
  head,
  floor: head.height,
  readUntil: head.time,
  sweptUntil: head.time,
  pass: null,
  sweep: null
})

/** Goes on from a block that was told before: when all accounts were read last is not known. */
export const resumeAt = (cursor: EndpointHead): FollowState => ({
  ...beginAtHead(cursor),
  floor: null,
  sweptUntil: cursor.time - 2 * sweepSeconds
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
export const isSweepDue = ({ sweptUntil }: FollowState, target: EndpointHead): boolean =>
  target.time - sweptUntil >= sweepSeconds

/**
 * Whether all accounts must be read before `target` is told: after a restart it would not be known that they were not
 * (see {@link resumeAt}).
 */
export const isSweepOverdue = ({ sweptUntil }: FollowState, target: EndpointHead): boolean =>
  target.time - sweptUntil > 2 * sweepSeconds

export const beginSweep = (
  state: FollowState,
  place: number,
  target: EndpointHead,
  batches: ReadonlyArray<ReadonlyArray<Owner>>
): FollowState => ({
  ...state,
  sweep: { place, target, from: state.sweptUntil - sweepOverlapSeconds, batches, done: 0 }
})

const advance = <Batch>(pass: Pass<Batch>): Pass<Batch> => ({ ...pass, done: pass.done + 1 })

/** The next batch; null: all are done. */
export const nextBatch = <Batch>({ batches, done }: Pass<Batch>): Batch | null => batches[done] ?? null

export const onBatchRead = (state: FollowState): FollowState =>
  state.pass === null ? state : { ...state, pass: advance(state.pass) }

/** After the last batch every account was read up to the sweep's block. */
export const onSweepBatchRead = (state: FollowState): FollowState => {
  if (state.sweep === null) return state
  const sweep = advance(state.sweep)
  return nextBatch(sweep) === null
    ? { ...state, sweep: null, sweptUntil: sweep.target.time }
    : { ...state, sweep }
}

/** Open accounts were read up to a block, which is told. */
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
  sweptUntil: Math.min(state.sweptUntil, since),
  pass: null,
  sweep: null
})

/** Whether a transfer is of the time since following began. */
export const isSinceBegin = ({ floor }: FollowState, height: bigint): boolean => floor === null || height > floor
