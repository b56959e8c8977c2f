/**
 * What following keeps between two looks, and how each step changes it. Pure.
 *
 * Open accounts are read in every look, from {@link overlapSeconds} before what was read. All accounts are read once in
 * {@link sweepSeconds}, from much longer before, which also finds what an API shows late. Both go on where they were
 * when a call fails, for the same endpoint: with many accounts one of many calls may always fail.
 */
import type { ChainEvent, DriverCondition, PlacedTransfer } from "../../../runtime/Chains.ts"
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

/** Seconds for which what was told is remembered, so that what is read again is not told again. */
const memorySeconds = 3_600

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
  /** The block that was told last; null: none. */
  readonly head: EndpointHead | null
  /** Transfers up to this height are not told: following began there. Null: it went on from a cursor. */
  readonly floor: bigint | null
  /** Epoch seconds to which open accounts were read. */
  readonly readUntil: number
  /** Epoch seconds to which all accounts were read. */
  readonly sweptUntil: number
  readonly pass: Pass<Receivers> | null
  readonly sweep: Pass<ReadonlyArray<Owner>> | null
  /** What was read and not told. */
  readonly found: ReadonlyArray<PlacedTransfer>
  /** Times of the transfers that were told, by key. */
  readonly told: ReadonlyMap<string, number>
  readonly condition: DriverCondition
}

/** Begins at a head, with nothing to read before it. */
export const beginAtHead = (head: EndpointHead): FollowState => ({
  head,
  floor: head.height,
  readUntil: head.time,
  sweptUntil: head.time,
  pass: null,
  sweep: null,
  found: [],
  told: new Map(),
  condition: "ok"
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

export const onBatchRead = (state: FollowState, transfers: ReadonlyArray<PlacedTransfer>): FollowState =>
  state.pass === null
    ? state
    : { ...state, pass: advance(state.pass), found: [...state.found, ...transfers] }

/** After the last batch every account was read up to the sweep's block. */
export const onSweepBatchRead = (state: FollowState, transfers: ReadonlyArray<PlacedTransfer>): FollowState => {
  if (state.sweep === null) return state
  const sweep = advance(state.sweep)
  const found = [...state.found, ...transfers]
  return nextBatch(sweep) === null
    ? { ...state, sweep: null, sweptUntil: sweep.target.time, found }
    : { ...state, sweep, found }
}

const keyOf = ({ matchKey, txHash }: PlacedTransfer): string => `${txHash} ${matchKey}`

const compareHeights = (one: PlacedTransfer, other: PlacedTransfer): number =>
  one.at.height === other.at.height ? 0 : one.at.height < other.at.height ? -1 : 1

/**
 * Tells what was read up to a block. A transfer above it is left to the next look, which reads it again; one that was
 * told lately is not told again.
 */
export const onTarget = (
  state: FollowState,
  target: EndpointHead,
  isCatchingUp: boolean
): readonly [FollowState, ChainEvent] => {
  const { floor, found, told } = state
  const news = new Map<string, PlacedTransfer>()
  for (const transfer of found) {
    const { height } = transfer.at
    if (height <= target.height && (floor === null || height > floor) && !told.has(keyOf(transfer))) {
      news.set(keyOf(transfer), transfer)
    }
  }
  const remembered = [...told].filter(([, time]) => time > target.time - memorySeconds)
  const next: FollowState = {
    ...state,
    head: target,
    readUntil: target.time,
    pass: null,
    found: [],
    told: new Map([...remembered, ...[...news].map(([key, { at }]) => [key, at.time] as const)])
  }
  return [next, {
    _tag: "Forward",
    point: { height: target.height, hash: target.hash },
    time: target.time,
    transfers: [...news.values()].toSorted(compareHeights),
    isCatchingUp,
    seenUntil: target.time - overlapSeconds
  }]
}

/** The condition, where it is another than before. */
export const onCondition = (
  state: FollowState,
  condition: DriverCondition
): readonly [FollowState, ReadonlyArray<ChainEvent>] =>
  state.condition === condition ? [state, []] : [{ ...state, condition }, [{ _tag: "Condition", condition }]]
