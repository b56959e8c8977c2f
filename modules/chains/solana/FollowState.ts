/**
 * What a follower of Solana remembers between looks, and what each look makes of it. Pure: `Follow.ts` reads the chain.
 *
 *   listed --an endpoint shows it--> emitted in a `Forward` --its slot is finalized, and it is still there--> final
 *     |                                                     --no endpoint has it in three looks--> `Gone`
 *     no endpoint shows it
 *     v
 *   unread: asked for again in each look --shown--> as above
 *     |  three rounds over all endpoints, and the head is `overlapSlots` above it; or `longestWaitSlots` have passed,
 *     |  not every endpoint has answered, and another transaction was read
 *     v
 *   given up: an error for the operator; asked for again after longer and longer pauses --shown--> as above
 */
import type { ChainEvent, ChainPoint, LocatedTransfer, TransferIdentity } from "../../../runtime/Chains.ts"
import type { EndpointHead } from "../../../runtime/nodes/EndpointPool.ts"
import { indexLagSeconds, overlapSlots, slotSeconds } from "./AccountBook.ts"
import type { ListedTransaction, SignatureStatus } from "./Node.ts"
import type { TransactionReading } from "./TransactionReading.ts"

/** Transactions that are read before their transfers are emitted: a second or two at a provider's pace. */
const transactionsPerBatch = 100

/**
 * Looks in which a transaction was absent before it counts as dropped, each at a later finalized slot: a node of a
 * provider may lie behind another that was asked before it.
 */
export const absencesToDrop = 3

/**
 * Rounds over all endpoints in which none shows a transaction, before it is given up: a node may list a transaction a
 * moment before it shows it, and a provider's balancer may have asked one that was restarting.
 */
export const roundsToGiveUp = 3

/** Slots between two rounds that count, at least: a look by the default pace of 2 s. */
export const roundSlots = 5n

/**
 * Rounds after a transaction was given up. The pause before each is twice the one before it, from {@link overlapSlots}
 * on, so that they end after some 3 days at 0.4 s a slot: an endpoint that was away so long may still show it.
 */
export const roundsAfterGivingUp = 12

/**
 * Slots for which a transaction is waited for where an endpoint does not answer for it: two minutes at 0.4 s a slot,
 * four times as long as an endpoint without any answer is waited for (`absenceMillis`). After them it is given up in
 * the first look that reads another transaction, because that one must not wait longer.
 */
export const longestWaitSlots = 300n

/** Unread transactions that are waited for side by side, at most: the backlog is not read further meanwhile. */
export const waitingLimit = 100

/** Transactions that were given up and are asked for again, at most; the oldest are forgotten, and stay in the log. */
export const givenUpLimit = 1_000

/** A transaction whose transfers were emitted, before its slot is finalized. */
export interface UnfinalTransaction {
  readonly slot: bigint
  readonly transfers: ReadonlyArray<TransferIdentity>
  /** Looks at which the node did not have it, and the finalized slot of the last of them. */
  readonly absences: number
  readonly absentAt: bigint
}

/** A transaction that an endpoint has listed and none has shown. */
export interface UnreadTransaction {
  readonly listed: ListedTransaction
  /** Rounds in which every endpoint that should answer was asked in vain, and the head at the last round. */
  readonly rounds: number
  readonly roundAt: bigint
  /** The head at which it was asked for first. */
  readonly since: bigint
  /** Following goes on without it. */
  readonly isGivenUp: boolean
}

/** By signature. It outlives the state, because following begins anew after every failure of all endpoints. */
export type UnreadTransactions = ReadonlyMap<string, UnreadTransaction>

export interface FollowState {
  /** Slot of the newest head that was emitted; null: none was. */
  readonly height: bigint | null
  /** Newest finalized slot that a node has named. */
  readonly finalized: bigint | null
  /** The height up to which everything was called final; it never falls. Null: none was. */
  readonly finalHeight: bigint | null
  /** Slot of each transaction that was read not long ago. */
  readonly readSlots: ReadonlyMap<string, bigint>
  /** Listed and not asked for yet, oldest first. */
  readonly backlog: ReadonlyArray<ListedTransaction>
  readonly unread: UnreadTransactions
  /** Transfers that were read, and are emitted with the next head. */
  readonly transfers: ReadonlyArray<LocatedTransfer>
  /** Transfers that have left the chain, and are emitted at the end of the look: the endpoint may fail before it. */
  readonly dropped: ReadonlyArray<TransferIdentity>
  readonly unfinal: ReadonlyMap<string, UnfinalTransaction>
  /** Whether what the journal has above the finalized slot was taken over after a start. */
  readonly isJournalRead: boolean
}

export const initialState = (
  recent: ReadonlyArray<ChainPoint>,
  unread: UnreadTransactions = new Map()
): FollowState => ({
  height: recent[0]?.height ?? null,
  finalized: null,
  finalHeight: null,
  readSlots: new Map(),
  backlog: [],
  unread,
  transfers: [],
  dropped: [],
  unfinal: new Map(),
  isJournalRead: false
})

const bySlot = (one: { readonly slot: bigint }, other: { readonly slot: bigint }): number =>
  one.slot < other.slot ? -1 : one.slot > other.slot ? 1 : 0

const lowest = (slots: Iterable<bigint>): bigint | null => {
  let least: bigint | null = null
  for (const slot of slots) if (least === null || slot < least) least = slot
  return least
}

/**
 * What the journal holds that is not final yet, after a start: each transaction is checked as if it had been emitted
 * now.
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

/**
 * Takes what a look has listed into the backlog: each transaction once, and none that failed, that was read in its
 * slot, or that is asked for again there anyway.
 */
export const onListed = (state: FollowState, listed: Iterable<ListedTransaction>): FollowState => {
  const backlog = new Map(state.backlog.map((each) => [each.signature, each]))
  const unread = new Map(state.unread)
  for (const each of listed) {
    const { hasFailed, signature, slot } = each
    if (hasFailed || state.readSlots.get(signature) === slot || unread.get(signature)?.listed.slot === slot) continue
    unread.delete(signature)
    backlog.set(signature, each)
  }
  return { ...state, unread, backlog: [...backlog.values()].sort(bySlot) }
}

/** Slots to wait before the next round for a transaction that was given up. */
const pauseAfter = (rounds: number): bigint => overlapSlots << BigInt(Math.max(0, rounds - roundsToGiveUp))

const isDue = ({ isGivenUp, roundAt, rounds }: UnreadTransaction, head: bigint): boolean =>
  !isGivenUp || head >= roundAt + pauseAfter(rounds)

const isWaiting = ({ isGivenUp }: UnreadTransaction): boolean => !isGivenUp

/**
 * What is asked for at a head: every unread transaction that is due, then the oldest of the backlog in whole slots, so
 * that a head can be emitted after them.
 */
export const nextBatch = ({ backlog, unread }: FollowState, head: bigint): ReadonlyArray<ListedTransaction> => {
  const all = [...unread.values()]
  const due = all.filter((each) => isDue(each, head)).map(({ listed }) => listed).toSorted(bySlot)
  if (all.filter(isWaiting).length >= waitingLimit) return due
  const last = backlog[transactionsPerBatch - 1]
  return [...due, ...last === undefined ? backlog : backlog.filter(({ slot }) => slot <= last.slot)]
}

/** A transaction of the batch, as it was read; null: no endpoint has shown it. */
export interface BatchEntry {
  readonly listed: ListedTransaction
  readonly reading: TransactionReading | null
  /** Where there is no reading: every endpoint that should answer was asked, and has answered. */
  readonly isConclusive: boolean
}

const identityOf = ({ index, matchKey, txHash }: LocatedTransfer): TransferIdentity => ({ txHash, index, matchKey })

/** An unread transaction after one more try. `hasReading`: another transaction was read in the same look. */
const afterRound = (
  before: UnreadTransaction | undefined,
  { isConclusive, listed }: BatchEntry,
  head: bigint,
  hasReading: boolean
): UnreadTransaction => {
  const { isGivenUp, roundAt, rounds, since } = before ??
    { isGivenUp: false, roundAt: -roundSlots, rounds: 0, since: head }
  const isCounted = isConclusive && head >= roundAt + roundSlots
  const count = isCounted ? rounds + 1 : rounds
  if (isGivenUp) return { listed, rounds: count, roundAt: head, since, isGivenUp }
  const isMissing = isCounted && count >= roundsToGiveUp && head >= listed.slot + overlapSlots
  return isMissing || (hasReading && head >= since + longestWaitSlots)
    ? { listed, rounds: roundsToGiveUp, roundAt: head, since, isGivenUp: true }
    : { listed, rounds: count, roundAt: isCounted ? head : roundAt, since, isGivenUp }
}

/** Those to be remembered: of those given up the newest, until their last round. */
const limitUnread = (unread: ReadonlyMap<string, UnreadTransaction>): UnreadTransactions => {
  const all = [...unread].filter(([, { isGivenUp, rounds }]) =>
    !isGivenUp || rounds < roundsToGiveUp + roundsAfterGivingUp
  )
  const excess = all.length - givenUpLimit
  if (excess <= 0) return new Map(all)
  const oldest = new Set(
    all.filter(([, { isGivenUp }]) => isGivenUp).toSorted(([, one], [, other]) => bySlot(one.listed, other.listed))
      .slice(0, excess).map(([signature]) => signature)
  )
  return new Map(all.filter(([signature]) => !oldest.has(signature)))
}

/** Takes a batch that was asked for at a head. Answers the transactions that are given up by it, too. */
export const onRead = (
  state: FollowState,
  batch: ReadonlyArray<BatchEntry>,
  head: bigint
): readonly [FollowState, ReadonlyArray<ListedTransaction>] => {
  const readSlots = new Map(state.readSlots)
  const unfinal = new Map(state.unfinal)
  const unread = new Map(state.unread)
  const transfers = [...state.transfers]
  const givenUp: Array<ListedTransaction> = []
  const hasReading = batch.some(({ reading }) => reading !== null)
  for (const entry of batch) {
    const { listed, reading } = entry
    const { signature } = listed
    const before = unread.get(signature)
    if (reading === null) {
      const after = afterRound(before, entry, head, hasReading)
      unread.set(signature, after)
      if (after.isGivenUp && before?.isGivenUp !== true) givenUp.push(listed)
      continue
    }
    unread.delete(signature)
    readSlots.set(signature, reading.at.height)
    transfers.push(...reading.transfers)
    if (reading.transfers.length > 0) {
      const identities = reading.transfers.map(identityOf)
      unfinal.set(signature, { slot: reading.at.height, transfers: identities, absences: 0, absentAt: -1n })
    }
  }
  const inBatch = new Set(batch.map(({ listed }) => listed.signature))
  const backlog = state.backlog.filter(({ signature }) => !inBatch.has(signature))
  return [{ ...state, readSlots, unfinal, unread: limitUnread(unread), transfers, backlog }, givenUp]
}

/** Transactions to ask a node about whose finalized slot this is: those at or below it. */
export const dueForFinality = ({ unfinal }: FollowState, finalized: bigint): ReadonlyArray<string> =>
  [...unfinal].filter(([, { slot }]) => slot <= finalized).map(([signature]) => signature)

/** The state after a node was asked, and what may have left the chain. */
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
  return { state: onListed({ ...state, unfinal }, moved), absent, failed }
}

/** Takes transactions back that have left the chain: they are read again where they are listed again. */
export const onDropped = (state: FollowState, signatures: ReadonlyArray<string>): FollowState => {
  const transfers = signatures.flatMap((signature) => state.unfinal.get(signature)?.transfers ?? [])
  if (transfers.length === 0) return state
  const dropped = new Set(signatures)
  const without = <A>(all: ReadonlyMap<string, A>) => new Map([...all].filter(([signature]) => !dropped.has(signature)))
  return {
    ...state,
    unfinal: without(state.unfinal),
    readSlots: without(state.readSlots),
    transfers: state.transfers.filter(({ txHash }) => !dropped.has(txHash)),
    dropped: [...state.dropped, ...transfers]
  }
}

/** Another endpoint has them: their absences are counted from the beginning. */
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
 * The height up to which everything is final: below every transaction of which it is not known yet whether it stays,
 * for what is final is not taken back.
 */
const finalHeightOf = ({ finalHeight, finalized, unfinal }: FollowState): bigint | null => {
  if (finalized === null) return finalHeight
  const undecided = lowest([...unfinal.values()].map(({ slot }) => slot))
  const height = undecided === null || undecided > finalized ? finalized : undecided - 1n
  return finalHeight === null || height > finalHeight ? height : finalHeight
}

/** What a look has read, for the head that it may emit. */
export interface LookReading {
  readonly head: EndpointHead
  readonly batch: ReadonlyArray<BatchEntry>
  /** As the account book has it. */
  readonly safeHeight: bigint
}

/** Lowest slot of a transaction that is waited for; null: none is. */
const waitingFrom = ({ unread }: FollowState): bigint | null =>
  lowest([...unread.values()].filter(isWaiting).map(({ listed: { slot } }) => slot))

/**
 * The head that may be emitted: while a backlog is read the last slot that was read whole, then the chain's own. Null
 * where it does not rise, or where following could not go on from it after a restart without losing what is unread.
 */
const nextHead = (state: FollowState, { batch, head, safeHeight }: LookReading) => {
  const [next] = state.backlog
  const isCatchingUp = next !== undefined
  const point = isCatchingUp
    ? batch.findLast(({ listed, reading }) => reading !== null && listed.slot < next.slot)?.reading?.at
    : head
  if (point === undefined || (state.height !== null && point.height <= state.height)) return null
  const waiting = waitingFrom(state)
  if (waiting !== null && point.height >= waiting + overlapSlots) return null
  return isCatchingUp || point.height <= safeHeight ? { ...point, isCatchingUp } : null
}

/** Seconds up to which everything was emitted; earlier while an unread transaction is waited for. */
const seenUntilOf = (state: FollowState, time: number): number =>
  Math.floor(time - indexLagSeconds - (waitingFrom(state) === null ? 0 : Number(overlapSlots) * slotSeconds))

/** What a look emits at its end. */
export const onLookEnd = (
  state: FollowState,
  reading: LookReading
): readonly [FollowState, ReadonlyArray<ChainEvent>] => {
  const point = nextHead(state, reading)
  const finalHeight = finalHeightOf(state)
  const ended: FollowState = { ...state, dropped: [], finalHeight }
  const goneEvents: ReadonlyArray<ChainEvent> = state.dropped.length === 0
    ? []
    : [{ _tag: "Gone", transfers: state.dropped }]
  const finality: ChainEvent = { _tag: "Finality", finalized: finalHeight }
  if (point === null) return [ended, [...goneEvents, finality]]
  const { hash, height, isCatchingUp, time } = point
  const forward: ChainEvent = {
    _tag: "Forward",
    point: { height, hash },
    time,
    transfers: state.transfers,
    isCatchingUp,
    seenUntil: seenUntilOf(state, time)
  }
  const readSlots = new Map([...state.readSlots].filter(([, slot]) => slot >= height - 2n * overlapSlots))
  return [{ ...ended, height, transfers: [], readSlots }, [...goneEvents, forward, finality]]
}
