/**
 * What a follower of Solana knows between looks, and what each look makes of it. Pure: `Follow.ts` reads the chain.
 *
 *   listed --read--> told in a `Forward` --its slot is finalized and the node still has it--> final, and forgotten
 *                                        --the node has it no more, in three looks--> `Gone`
 */
import type { BlockPoint, ChainEvent, ChainPoint, PlacedTransfer, TransferIdentity } from "../../../runtime/Chains.ts"
import type { EndpointHead } from "../../../runtime/nodes/EndpointPool.ts"
import { overlapSlots, settledSeconds, slotSeconds } from "./AccountBook.ts"
import type { ListedTransaction, SignatureStatus } from "./Node.ts"

/** Transactions that are read before their transfers are told: a second or two at a provider's pace. */
const transactionsPerBatch = 100

/**
 * Looks in which a transaction was absent before it counts as dropped, each at a later finalized slot: a node of a
 * provider may lie behind another that was asked before it.
 */
export const absencesToDrop = 3

/** A transaction whose transfers were told, before its slot is finalized. */
export interface UnfinalTransaction {
  readonly slot: bigint
  readonly transfers: ReadonlyArray<TransferIdentity>
  /** Looks at which the node did not have it, and the finalized slot of the last of them. */
  readonly absences: number
  readonly absentAt: bigint
}

export interface FollowState {
  /** Slot of the newest head that was told; null: none was. */
  readonly height: bigint | null
  /** Newest finalized slot that a node has named. */
  readonly finalized: bigint | null
  /** Slot of each transaction that was read not long ago. */
  readonly readSlots: ReadonlyMap<string, bigint>
  /** Listed and not read yet, oldest first. */
  readonly backlog: ReadonlyArray<ListedTransaction>
  /** Lowest slot of what was listed last and is not shown: it is listed again in the next look. */
  readonly hiddenFrom: bigint | null
  /** Found, and told with the next head. */
  readonly found: ReadonlyArray<PlacedTransfer>
  readonly unfinal: ReadonlyMap<string, UnfinalTransaction>
  /** Whether what the journal has above the finalized slot was taken over after a start. */
  readonly isJournalRead: boolean
}

export const initialState = (recent: ReadonlyArray<ChainPoint>): FollowState => ({
  height: recent[0]?.height ?? null,
  finalized: null,
  readSlots: new Map(),
  backlog: [],
  hiddenFrom: null,
  found: [],
  unfinal: new Map(),
  isJournalRead: false
})

const bySlot = (one: { readonly slot: bigint }, other: { readonly slot: bigint }): number =>
  one.slot < other.slot ? -1 : one.slot > other.slot ? 1 : 0

const lowest = (slots: Iterable<bigint>): bigint | null => {
  let found: bigint | null = null
  for (const slot of slots) if (found === null || slot < found) found = slot
  return found
}

/**
 * What the journal holds that is not final yet, after a start: each transaction is checked as if it had been told now.
 */
export const onJournal = (
  state: FollowState,
  transfers: ReadonlyArray<TransferIdentity & { readonly height: bigint }>
): FollowState => {
  const unfinal = new Map(state.unfinal)
  for (const [txHash, ofTransaction] of Map.groupBy(transfers, (each) => each.txHash)) {
    const identities = ofTransaction.map(({ index, matchKey }) => ({ txHash, index, matchKey }))
    unfinal.set(txHash, { slot: ofTransaction[0]!.height, transfers: identities, absences: 0, absentAt: -1n })
  }
  return { ...state, unfinal, isJournalRead: true }
}

/** Adds to the backlog: each transaction once, and none that was read in that slot or that failed. */
const withBacklog = (state: FollowState, listed: Iterable<ListedTransaction>): FollowState => {
  const wanted = new Map(state.backlog.map((each) => [each.signature, each]))
  for (const each of listed) {
    if (!each.hasFailed && state.readSlots.get(each.signature) !== each.slot) wanted.set(each.signature, each)
  }
  return { ...state, backlog: [...wanted.values()].sort(bySlot) }
}

/** Takes what a look has listed; what was hidden is in it, unless it has left the chain. */
export const onListed = (state: FollowState, listed: Iterable<ListedTransaction>): FollowState => ({
  ...withBacklog(state, listed),
  hiddenFrom: null
})

/** The oldest of the backlog: whole slots, so that a head can be told after them. */
export const nextBatch = ({ backlog }: FollowState): ReadonlyArray<ListedTransaction> => {
  const last = backlog[transactionsPerBatch - 1]
  return last === undefined ? backlog : backlog.filter(({ slot }) => slot <= last.slot)
}

/** A transaction of the batch as it was read; null: the node does not show what it has listed. */
export interface ReadTransaction {
  readonly listed: ListedTransaction
  readonly shown: { readonly at: BlockPoint; readonly transfers: ReadonlyArray<PlacedTransfer> } | null
}

const identityOf = ({ index, matchKey, txHash }: PlacedTransfer): TransferIdentity => ({ txHash, index, matchKey })

/** Takes a batch that was read. */
export const onRead = (state: FollowState, batch: ReadonlyArray<ReadTransaction>): FollowState => {
  const readSlots = new Map(state.readSlots)
  const unfinal = new Map(state.unfinal)
  const found = [...state.found]
  for (const { listed: { signature }, shown } of batch) {
    if (shown === null) continue
    const { at: { height }, transfers } = shown
    readSlots.set(signature, height)
    found.push(...transfers)
    if (transfers.length > 0) {
      unfinal.set(signature, { slot: height, transfers: transfers.map(identityOf), absences: 0, absentAt: -1n })
    }
  }
  const isRead = new Set(batch.map(({ listed }) => listed.signature))
  const hidden = batch.filter(({ shown }) => shown === null).map(({ listed: { slot } }) => slot)
  return {
    ...state,
    readSlots,
    unfinal,
    found,
    hiddenFrom: lowest(state.hiddenFrom === null ? hidden : [...hidden, state.hiddenFrom]),
    backlog: state.backlog.filter(({ signature }) => !isRead.has(signature))
  }
}

/** Transactions to ask a node about whose finalized slot this is: those at or below it. */
export const dueForFinality = ({ unfinal }: FollowState, finalized: bigint): ReadonlyArray<string> =>
  [...unfinal].filter(([, { slot }]) => slot <= finalized).map(([signature]) => signature)

/** The state after nodes were asked, and what has left the chain. */
export interface FinalityStep {
  readonly state: FollowState
  /** Transactions that were absent often enough: dropped, unless another endpoint has one of them. */
  readonly absent: ReadonlyArray<string>
  /** Those that failed in another block than the one they were read in. */
  readonly failed: ReadonlyArray<string>
}

/**
 * Takes the status of transactions whose slots are finalized. One that is final in its slot is forgotten; one that lies
 * in another slot now is read again.
 */
export const onStatuses = (
  state: FollowState,
  statuses: ReadonlyMap<string, SignatureStatus | null>,
  finalized: bigint
): FinalityStep => {
  const unfinal = new Map(state.unfinal)
  const moved: Array<ListedTransaction> = []
  const absent: Array<string> = []
  const failed: Array<string> = []
  for (const [signature, status] of statuses) {
    const before = unfinal.get(signature)
    if (before === undefined) continue
    if (status === null) {
      const isLater = finalized > before.absentAt
      const absences = before.absences + (isLater ? 1 : 0)
      unfinal.set(signature, { ...before, absences, absentAt: isLater ? finalized : before.absentAt })
      if (absences >= absencesToDrop) absent.push(signature)
    } else if (status.hasFailed) {
      if (status.isFinal) failed.push(signature)
    } else if (status.slot !== before.slot) {
      moved.push({ signature, slot: status.slot, hasFailed: false })
    } else if (status.isFinal) unfinal.delete(signature)
    else unfinal.set(signature, { ...before, absences: 0 })
  }
  const next = { ...state, unfinal }
  return { state: moved.length === 0 ? next : withBacklog(next, moved), absent, failed }
}

/** Takes transactions back that have left the chain: they are read again where they are listed again. */
export const onDropped = (
  state: FollowState,
  signatures: ReadonlyArray<string>
): readonly [FollowState, ReadonlyArray<ChainEvent>] => {
  const transfers = signatures.flatMap((signature) => state.unfinal.get(signature)?.transfers ?? [])
  if (transfers.length === 0) return [state, []]
  const gone = new Set(signatures)
  const without = <A>(all: ReadonlyMap<string, A>) => new Map([...all].filter(([signature]) => !gone.has(signature)))
  const next = { ...state, unfinal: without(state.unfinal), readSlots: without(state.readSlots) }
  return [{ ...next, found: state.found.filter(({ txHash }) => !gone.has(txHash)) }, [{ _tag: "Gone", transfers }]]
}

/** Another endpoint has them: they are asked for again from the beginning. */
export const onPresent = (state: FollowState, signatures: ReadonlyArray<string>): FollowState => {
  const unfinal = new Map(state.unfinal)
  for (const signature of signatures) {
    const before = unfinal.get(signature)
    if (before !== undefined) unfinal.set(signature, { ...before, absences: 0 })
  }
  return { ...state, unfinal }
}

/** A node names the newest finalized slot; one that lies behind another changes nothing. */
export const onFinalized = (state: FollowState, slot: bigint): FollowState =>
  state.finalized !== null && slot <= state.finalized ? state : { ...state, finalized: slot }

/**
 * The mark that is told: below every transaction of which it is not known yet whether it stays, for what is final is
 * not taken back.
 */
const finalityMark = ({ finalized, unfinal }: FollowState): bigint | null => {
  if (finalized === null) return null
  const undecided = lowest([...unfinal.values()].map(({ slot }) => slot))
  return undecided === null || undecided > finalized ? finalized : undecided - 1n
}

/** What a look has read, for the head that it may tell. */
export interface LookReading {
  readonly head: EndpointHead
  readonly batch: ReadonlyArray<ReadTransaction>
  /** As the account book has it. */
  readonly safeHeight: bigint
}

/**
 * The head that may be told: while a backlog is read the last slot of it that was, then the chain's own. Null where it
 * does not rise, or where following could not go on from it after a restart without losing what is not told yet.
 */
const tellableHead = (state: FollowState, { batch, head, safeHeight }: LookReading) => {
  const { hiddenFrom } = state
  const isCatchingUp = state.backlog.length > 0
  const point = isCatchingUp ? batch.findLast(({ shown }) => shown !== null)?.shown?.at : head
  if (point === undefined || (state.height !== null && point.height <= state.height)) return null
  if (hiddenFrom !== null && point.height >= hiddenFrom + overlapSlots) return null
  return isCatchingUp || point.height <= safeHeight ? { ...point, isCatchingUp } : null
}

/** Seconds up to which everything was told: none after a transaction that is listed and not shown. */
const seenUntilOf = ({ hiddenFrom }: FollowState, time: number): number =>
  Math.floor(time - settledSeconds - (hiddenFrom === null ? 0 : Number(overlapSlots) * slotSeconds))

/** What a look tells at its end. */
export const onLookEnd = (
  state: FollowState,
  reading: LookReading
): readonly [FollowState, ReadonlyArray<ChainEvent>] => {
  const told = tellableHead(state, reading)
  const mark: ChainEvent = { _tag: "Finality", finalized: finalityMark(state) }
  if (told === null) return [state, [mark]]
  const { hash, height, isCatchingUp, time } = told
  const seenUntil = seenUntilOf(state, time)
  const forward: ChainEvent = {
    _tag: "Forward",
    point: { height, hash },
    time,
    transfers: state.found,
    isCatchingUp,
    seenUntil
  }
  const readSlots = new Map([...state.readSlots].filter(([, slot]) => slot >= height - 2n * overlapSlots))
  return [{ ...state, height, found: [], readSlots }, [forward, mark]]
}
