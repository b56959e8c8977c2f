/**
 * What an operator may ask of a follower: to read blocks again, all since a backup that was restored too, and to go on
 * where no block that was followed is on the chain any more. The request is a row, so that the instance that follows
 * takes it up, after a restart too. Pure.
 */
import type { Environment, Network } from "../../schemas/Network.ts"
import type { JournalEntry, RepairKind, RepairStatus } from "../Chains.ts"

/** Blocks one rescan may read: two days of Base, two weeks of Ethereum. */
export const maximumRescanBlocks = 100_000n

/**
 * Milliseconds for which every endpoint has to say that it does not have a block any more before that is believed: one
 * that is being filled with old blocks, or a balancer in front of several nodes, may say so for a while. Test networks
 * are quick.
 */
export const pruningConfirmMillis: Readonly<Record<Environment, number>> = { mainnet: 600_000, devnet: 2_000 }

/** A block that every endpoint says it does not have any more. */
export interface PrunedBlock {
  readonly height: bigint
  /** Since when nobody said otherwise, in milliseconds of a clock that nobody sets. */
  readonly since: number
}

/** What is known after one more endpoint round said that the block is pruned. */
export const observePruned = (before: PrunedBlock | null, height: bigint, monotonicMillis: number): PrunedBlock =>
  before?.height === height ? before : { height, since: monotonicMillis }

export const isPruningConfirmed = (
  { since }: PrunedBlock,
  environment: Environment,
  monotonicMillis: number
): boolean => monotonicMillis - since >= pruningConfirmMillis[environment]

/**
 * A repair that goes on above blocks that nobody has any more: `next` is the lowest that can be read. Its end is a
 * failure that names them.
 */
export const skipBlocks = (repair: Repair, next: bigint): Repair => {
  const missing = `blocks ${repair.next} to ${next - 1n}`
  const before = repair.reason === null ? "" : `${repair.reason}; `
  return { ...repair, next, reason: `${before}${missing}`, status: "running", version: repair.version + 1 }
}

/** A repair after its last block: failed where blocks were skipped, because a payment in them was not found. */
export const completeRepair = (repair: Repair): Repair =>
  repair.reason === null ? { ...repair, status: "done" } : {
    ...repair,
    status: "failed",
    reason:
      `no endpoint has ${repair.reason} any more; all others were read. Payments in them stay as they were recorded: ` +
      "add an endpoint that has old blocks (an archive node) and call chains.rescan with these blocks"
  }

/** Blocks of a repair that are read side by side and dealt with in one turn. */
export const repairBatch = 8

/** Heights of a repair that an account is asked for at once: an answer of one look, whatever lies between. */
export const accountBatch = 10_000

/** A request and how far it is. */
export interface Repair {
  readonly id: string
  readonly network: Network
  readonly environment: Environment
  readonly kind: RepairKind
  /**
   * First and last block to read. Of a reanchor that waits: `to` is the block asked for, or null, and `from` is null.
   * Of a restore that waits both are null.
   */
  readonly from: bigint | null
  readonly to: bigint | null
  /** Next block to read. Of a reanchor that waits: the lowest block that one before it left unread, or null. */
  readonly next: bigint | null
  /** Of a reanchor: the height up to which confirmed transfers were final before it. */
  readonly finalBefore: bigint | null
  /** Of a restore: it reads the blocks of this time (epoch seconds) and later. */
  readonly since: number | null
  /** Journal entries it has made or changed. */
  readonly credited: number
  readonly status: RepairStatus
  /** Why it failed; while it runs, the blocks that it had to skip. */
  readonly reason: string | null
  /** Epoch seconds. */
  readonly requestedAt: number
  readonly version: number
}

export const repairId = (network: Network, environment: Environment, kind: Repair["kind"]): string =>
  `${network}:${environment}:${kind}`

export const isOpen = ({ status }: Pick<Repair, "status">): boolean => status === "waiting" || status === "running"

/** What is asked for: which blocks, by height or by time. */
export type RequestedRepair =
  & Pick<Repair, "kind" | "from" | "to" | "next">
  & Partial<Pick<Repair, "since" | "finalBefore">>

/** A request in the place of `last`, the last one of its kind: its version is the one after that. */
export const newRepair = (
  { environment, network }: Pick<Repair, "environment" | "network">,
  wanted: RequestedRepair,
  last: Repair | undefined,
  now: number
): Repair => ({
  since: null,
  finalBefore: null,
  ...wanted,
  id: repairId(network, environment, wanted.kind),
  network,
  environment,
  credited: 0,
  status: "waiting",
  reason: null,
  requestedAt: now,
  version: (last?.version ?? 0) + 1
})

/** The restore that reads the blocks since a time, and those that an open one before it was asked for. */
export const requestedRestore = (since: number, last: Repair | undefined): RequestedRepair => ({
  kind: "restore",
  from: null,
  to: null,
  next: null,
  since: last !== undefined && isOpen(last) ? Math.min(since, last.since ?? since) : since
})

/** Whether a restore that has not begun reads the blocks since a time as it is. */
export const awaitsBlocksSince = (since: number, last: Repair | undefined): boolean =>
  last !== undefined && isOpen(last) && last.from === null && last.since !== null && last.since <= since

/**
 * The repair to work on: a reanchor first, because a rescan may wait for blocks that only come after it; then the
 * oldest, but those after a restored backup last, because they read for hours what the others need in minutes.
 */
export const nextRepair = (repairs: ReadonlyArray<Repair>): Repair | undefined => {
  const open = repairs.filter(isOpen)
  return open.find(({ kind }) => kind === "reanchor") ?? open.find(({ kind }) => kind !== "restore") ?? open[0]
}

/**
 * A restore once its wallets' addresses are watched: it reads what was followed until then, from `from` up to `head`.
 */
export const startRestore = (repair: Repair, from: bigint, head: bigint): Repair => ({
  ...repair,
  from,
  to: head,
  next: from,
  status: "running",
  version: repair.version + 1
})

/** Whether blocks were skipped that are still to be read: until then no invoice may expire by what was seen. */
export const hasGap = (repair: Repair): boolean =>
  repair.kind === "reanchor" && isOpen(repair) && (repair.from !== null || repair.next !== null)

/** What a reanchor takes over from one that had not read everything when the blocks it went on from were lost too. */
export const inheritReanchor = (last: Repair | undefined): Pick<Repair, "next" | "finalBefore"> =>
  last !== undefined && hasGap(last)
    ? { next: last.from ?? last.next, finalBefore: last.finalBefore }
    : { next: null, finalBefore: null }

/** Of two heights, the second of which may be missing. */
export const maxHeight = (one: bigint, other: bigint | null): bigint => other !== null && other > one ? other : one
export const minHeight = (one: bigint, other: bigint | null): bigint => other !== null && other < one ? other : one

/** First and last height, both included. */
export interface HeightRange {
  readonly from: bigint
  readonly to: bigint
}

/**
 * The heights to read next, at most `limit` and none above `head`; null: wait for the head, or everything was read
 * ({@link isRead}).
 */
export const nextHeights = ({ next, to }: Repair, head: bigint, limit: number): HeightRange | null => {
  if (next === null || to === null) return null
  const last = minHeight(to < head ? to : head, next + BigInt(limit) - 1n)
  return last < next ? null : { from: next, to: last }
}

export const heightsIn = ({ from, to }: HeightRange): ReadonlyArray<bigint> =>
  Array.from({ length: Number(to - from + 1n) }, (_, place) => from + BigInt(place))

/** Whether every block was read. */
export const isRead = ({ next, to }: Repair): boolean => next !== null && to !== null && next > to

/** The repair after blocks up to `last` were dealt with. All but a reanchor are done with their last block. */
export const advanceRepair = (repair: Repair, last: bigint, credited: number): Repair => {
  const next = { ...repair, next: last + 1n, credited: repair.credited + credited, version: repair.version + 1 }
  return repair.kind !== "reanchor" && isRead(next) ? completeRepair(next) : { ...next, status: "running" }
}

/** A network of which no stored block is on the chain any more. */
export interface StrandedChain {
  /** Whether as many blocks are stored as are ever kept. Blocks before them may have been followed too. */
  readonly isFull: boolean
  /** The lowest block that is stored. */
  readonly oldestFollowed: bigint
  /** The height up to which blocks were final. */
  readonly finalBefore: bigint
  /** Whether a transfer above that height was confirmed. */
  readonly hasConfirmed: boolean
  /** Whether an earlier reanchor has blocks left to read. */
  readonly hasGap: boolean
}

/**
 * Whether the follower may continue without an operator: fewer blocks are stored than are kept, as on a network that
 * was added a short time ago, none of them was final, and nothing was credited that could be taken back. In every other
 * case an operator decides.
 */
export const mayReanchorAutomatically = (lost: StrandedChain): boolean =>
  !lost.isFull && lost.finalBefore < lost.oldestFollowed && !lost.hasConfirmed && !lost.hasGap

/**
 * Where to go on: at the block asked for, else at the newest that is final, but below everything that was followed, so
 * that every block since then is read again. A sentence for people where that cannot be.
 */
export const anchorHeight = (requested: bigint | null, final: bigint, oldestFollowed: bigint): bigint | string => {
  if (requested !== null && requested > final) {
    return `block ${requested} is not final: the newest final block is ${maxHeight(0n, final)}`
  }
  if (requested !== null) return requested
  const below = oldestFollowed - 1n
  const height = final < below ? final : below
  return height < 0n ? 0n : height
}

/**
 * Blocks below those that were followed that a reanchor reads where nothing says since when they are others: a day of
 * Base. A node that was wrong took its finality mark along, so the mark alone does not say it. Test chains may not have
 * older blocks at all.
 */
export const uncertainBlocks: Readonly<Record<Environment, bigint>> = { mainnet: 43_200n, devnet: 0n }

/**
 * The lowest block that may not be what it was: one above `canonical`, the newest entry that is where it was (null:
 * there is none), but at most `uncertainBelow` blocks below all that was followed, what was not final before, and the
 * lowest entry that is orphaned.
 */
export const lowestUncertainHeight = (
  uncertainBelow: bigint,
  oldestFollowed: bigint,
  finalBefore: bigint,
  lowestOrphaned: bigint | null,
  canonical: bigint | null
): bigint => {
  const certain = minHeight(minHeight(oldestFollowed, finalBefore + 1n), lowestOrphaned)
  const lowest = minHeight(certain, oldestFollowed - uncertainBelow)
  // A chain younger than its final depth has nothing final yet: its lowest block is 0.
  return maxHeight(maxHeight(0n, lowest), canonical === null ? null : canonical + 1n)
}

/**
 * A reanchor that goes on from `anchor`: it reads what lies between `lowest`, the lowest uncertain block, and there.
 */
export const beginReanchor = (repair: Repair, anchor: bigint, lowest: bigint, finalBefore: bigint): Repair => {
  const from = lowest <= anchor ? lowest : anchor + 1n
  return { ...repair, from, to: anchor, next: from, finalBefore, status: "running", version: repair.version + 1 }
}

/**
 * Whether an entry cannot be where the journal has it: `hash` is that of the block now at its height, if there is one.
 */
export const isOrphaned = (entry: JournalEntry, hash: string | undefined): boolean =>
  // A difference of balances belongs to no block: it is compared anew.
  entry.kind === "internal" || entry.blockHash !== hash
