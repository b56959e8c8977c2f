/** What a block, a rollback or a deeper head means for journal entries. Pure: no clock, no SQL. */
import { requiredDepth } from "../../schemas/Network.ts"
import type { Environment, Network } from "../../schemas/Network.ts"
import type { JournalEntry, ObservedTransfer, TransferFinality } from "../Chains.ts"
import { isFarBelow } from "../nodes/HeadSupport.ts"
import { ringSize } from "./Points.ts"
import { type ChainHeights, cursorId, type RingPoint, type TargetRow, transferId } from "./ChainsRepo.ts"

/** The ring after a block. */
export const pushPoint = (ring: ReadonlyArray<RingPoint>, point: RingPoint): ReadonlyArray<RingPoint> =>
  [point, ...ring].slice(0, ringSize)

/** The ring after a rollback. */
export const dropAbove = (ring: ReadonlyArray<RingPoint>, height: bigint): ReadonlyArray<RingPoint> =>
  ring.filter((point) => point.height <= height)

/** The lowest point of the ring at or above a height: a block read below it is an ancestor of what was followed. */
export const anchorOf = (ring: ReadonlyArray<RingPoint>, height: bigint): RingPoint | undefined =>
  ring.findLast((point) => point.height >= height)

/**
 * Until when a network is seen once a block was read: the second before the block's, because the next block may have
 * the same one. `seen` is what it was before.
 */
export const seenUntilAfterBlock = (seenUntil: number | null, { time }: Pick<RingPoint, "time">): number =>
  Math.max(seenUntil ?? 0, time - 1)

/**
 * Seconds a block of a test network may reach its nodes after its own time: a block of Ethereum's test networks has
 * 4 s of its slot until others vote without it (consensus specification, "validator", attesting), and one more.
 */
export const devnetBlockDelaySeconds = 5

/**
 * The same once all was read that a look found, which began at `since` (epoch milliseconds) or later. A test node that
 * mines on demand has no new block to show, so on devnet the look is enough; where money is real only a block is,
 * because a node that stands still answers too.
 */
export const seenUntilAfterPoll = (environment: Environment, seenUntil: number | null, since: number): number | null =>
  environment === "devnet"
    ? Math.max(seenUntil ?? 0, Math.floor(since / 1000) - 1 - devnetBlockDelaySeconds)
    : seenUntil

/** Seconds without progress after which a search holds up no invoice: one that is refused for good must not. */
export const searchHoldSeconds = 120

/** How far the search is: `stuckSeconds` is how long it has not moved although there was something to search. */
export interface SearchPosition {
  /** Newest block that was searched; null: none, the search begins with the oldest point of the ring. */
  readonly searchedHeight: bigint | null
  readonly stuckSeconds: number
}

/**
 * The same where blocks are searched again for what an endpoint left out: no further than the newest block that was
 * searched, or an invoice would end before a payment that was hidden at first is found. Ring: newest first. A search
 * that is below the whole ring, as after an outage, has seen nothing that can be said in seconds. One that is stuck
 * holds no more than {@link searchHoldSeconds}.
 */
export const seenUntilAfterSearch = (
  environment: Environment,
  seenUntil: number | null,
  { searchedHeight, stuckSeconds }: SearchPosition,
  ring: ReadonlyArray<RingPoint>
): number | null => {
  const oldest = ring.at(-1)
  if (environment === "devnet" || seenUntil === null || oldest === undefined) return seenUntil
  const block = searchedHeight === null ? oldest : ring.find(({ height }) => height <= searchedHeight)
  const until = block === undefined ? null : Math.min(seenUntil, block.time - 1)
  return stuckSeconds < searchHoldSeconds ? until : Math.max(seenUntil - searchHoldSeconds, until ?? 0)
}

/** Depth of a height below a head: 1 in the head itself, never below 0. */
export const depthAt = (head: bigint, height: bigint): number => head < height ? 0 : Number(head - height + 1n)

/**
 * The height at and below which a network's blocks are taken as final: its own finality mark where known, else the
 * depth of policy `final`. On devnet, where chains are reset at will, the head.
 */
export const finalHeight = (network: Network, environment: Environment, heights: ChainHeights): bigint => {
  const { blocks, finalized } = requiredDepth(network, environment, "final", 0n)
  return finalized && heights.finalized !== null ? heights.finalized : heights.head - BigInt(blocks) + 1n
}

/**
 * Blocks below a head that a reorganisation may still replace. Public networks: the depth of policy `final`. Test
 * chains are reorganised at will, as deep as 64 in the tests here.
 */
export const reorgDepth = (network: Network, environment: Environment): number =>
  environment === "devnet" ? 64 : requiredDepth(network, environment, "final", 0n).blocks

/**
 * Seconds by which the time of a block may lie before the moment it was made, on another branch than the one whose head
 * was seen: five slots of Ethereum. Public networks set it to within one.
 */
const branchToleranceSeconds = 60

/** Seconds by which the clocks of a chain and of this service may differ, where only they can be compared. */
const clockToleranceSeconds = 900

/**
 * Whether a block is older than a target, so that no payment in it can be for the target's invoice. Never true of a
 * block made after the target was given out: that one lies above the head of then, or on another branch with a later
 * time. Where no head was known, the clocks are compared with a wide margin; so they are where the head lies far above
 * `newest`, the newest height that is followed now: an endpoint had named a height that the chain did not have.
 */
export const isOlderThanTarget = (
  { allocationHeads, createdAt }: Pick<TargetRow, "allocationHeads" | "createdAt">,
  network: Network,
  environment: Environment,
  block: { readonly height: bigint; readonly time: number },
  newest: bigint | null = null
): boolean => {
  const head = allocationHeads[cursorId(network, environment)]
  const isWrong = head !== undefined && newest !== null && isFarBelow({ height: newest }, head.height)
  if (head === undefined || isWrong) return block.time < createdAt - clockToleranceSeconds
  if (block.height > head.height || block.time > head.time) return false
  return head.height - block.height >= BigInt(reorgDepth(network, environment)) ||
    block.time < head.time - branchToleranceSeconds
}

/** Whom a transfer is for; no invoice: it pays none, and only the wallet's merchant is concerned. */
export type Receiver = Pick<JournalEntry, "merchantId" | "invoiceId">

/**
 * What observing a transfer in a block makes of its entry: a new one, one that is seen again, or `undefined` when
 * nothing changed (the same block read twice).
 */
export const observe = (
  existing: JournalEntry | undefined,
  transfer: ObservedTransfer,
  receiver: Receiver,
  context: {
    readonly network: Network
    readonly environment: Environment
    readonly point: RingPoint
    readonly observedAt: number
    /** 1 where a driver here saw it, 0 where it was reported. */
    readonly confirmations: number
    /** Its token is not in the catalogue; absent: it is. */
    readonly isUnlisted?: boolean
    /** Of a new entry; absent: by the driver's key format. */
    readonly id?: string
  }
): JournalEntry | undefined => {
  const { confirmations, environment, network, point } = context
  const observation = {
    kind: transfer.kind,
    // What was decided when it was first observed stays, whatever block it comes in later.
    ...(existing !== undefined && existing.matchKey === transfer.matchKey ? ownerOf(existing) : ownerOf(receiver)),
    matchKey: transfer.matchKey,
    tokenAddress: transfer.tokenAddress,
    amount: transfer.amount,
    from: transfer.from,
    height: point.height,
    blockHash: point.hash,
    blockTime: point.time,
    status: "seen" as const,
    confirmations,
    attempts: 0,
    reorgedAfterFinality: false,
    isUnlisted: context.isUnlisted ?? false
  }
  if (existing === undefined) {
    return {
      ...observation,
      id: context.id ?? transferId(network, environment, transfer.txHash, transfer.index),
      network,
      environment,
      txHash: transfer.txHash,
      index: transfer.index,
      observedAt: context.observedAt,
      handledStatus: "none",
      requiredDepth: null,
      version: 1
    }
  }
  const isReportOnly = confirmations === 0
  const isSameBlock = existing.blockHash === point.hash && existing.status !== "reverted"
  if (isReportOnly || (isSameBlock && existing.confirmations > 0)) return undefined
  return {
    ...existing,
    ...observation,
    handledStatus: isSameTransfer(existing, transfer) ? existing.handledStatus : "none",
    version: existing.version + 1
  }
}

const isSameTransfer = (existing: JournalEntry, transfer: ObservedTransfer): boolean =>
  existing.amount === transfer.amount && existing.matchKey === transfer.matchKey &&
  existing.tokenAddress === transfer.tokenAddress

/**
 * What a report makes of what is known: a new entry; one that is looked for again, where it was not found or has left
 * its chain; `undefined` when the driver here has seen it, or the same report is being looked into.
 */
export const reportedEntry = (
  existing: JournalEntry | undefined,
  transfer: ObservedTransfer,
  receiver: Receiver,
  place: Omit<Parameters<typeof observe>[3], "confirmations">
): JournalEntry | undefined => {
  const isSeen = existing !== undefined && existing.status !== "reverted" && existing.confirmations > 0
  const isSameReport = existing !== undefined && isSameTransfer(existing, transfer)
  const isWaiting = isSameReport && existing.status === "seen" && existing.height === place.point.height
  if (isSeen || isWaiting || existing?.status === "confirmed") return undefined
  const newEntry = observe(undefined, transfer, existing?.matchKey === transfer.matchKey ? existing : receiver, {
    ...place,
    confirmations: 0
  })!
  if (existing === undefined) return newEntry
  const { observedAt, requiredDepth } = existing
  return {
    ...newEntry,
    handledStatus: isSameReport ? existing.handledStatus : "none",
    observedAt,
    requiredDepth,
    version: existing.version + 1
  }
}

const ownerOf = ({ invoiceId, merchantId }: Receiver): Receiver => ({ merchantId, invoiceId })

/** An entry whose block is no longer canonical. */
export const revertEntry = (entry: JournalEntry): JournalEntry => ({
  ...entry,
  status: "reverted",
  attempts: 0,
  version: entry.version + 1
})

/** An entry deep enough under `head`. */
export const confirmEntry = (entry: JournalEntry, head: bigint): JournalEntry => ({
  ...entry,
  status: "confirmed",
  confirmations: Math.max(1, depthAt(head, entry.height)),
  attempts: 0,
  version: entry.version + 1
})

/**
 * Whether a rollback may undo an entry by itself. A confirmed entry at final depth is money that was promised to be
 * final: an operator decides (modules/docs/reference/payments.md#finality).
 */
export const canRevert = (entry: JournalEntry, final: bigint): boolean =>
  entry.environment === "devnet" || entry.status !== "confirmed" || entry.height > final

/**
 * Whether a transfer is final, by what is stored of its network; null: nobody ever followed it. On devnet, where chains
 * are reset at will, what is confirmed is final.
 */
export const finalityOf = (entry: JournalEntry, heights: ChainHeights | null): TransferFinality => {
  if (entry.status !== "confirmed") return "waiting"
  if (entry.reorgedAfterFinality === true) return "reorged_after_finality"
  if (entry.environment === "devnet") return "final"
  if (entry.confirmations === 0) return "reported"
  return heights !== null && entry.height <= finalHeight(entry.network, entry.environment, heights)
    ? "final"
    : "waiting"
}

/** Milliseconds before the handler is asked again after `attempts` failures: 100 ms, four times more each, to 5 min. */
export const retryPauseMillis = (attempts: number): number =>
  Math.min(maximumRetryPauseMillis, firstRetryPauseMillis * 4 ** Math.min(attempts - 1, 10))

const firstRetryPauseMillis = 100
const maximumRetryPauseMillis = 300_000
