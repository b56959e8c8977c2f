/** How far a scan has come, page by page, and what is wrong with a node that leads it nowhere. Pure. */
import type { ListedTransactions } from "./Messages.ts"
import type { CheckpointRange } from "./ScanPlan.ts"

/**
 * Transactions that a node may send before its watermark moves: those of two checkpoints, which hold 20,000 each at
 * most (`max_transactions_per_checkpoint` of Sui's protocol).
 */
export const transactionsBetweenMarks = 40_000

/** Pages without a transaction before its watermark moves: a node may scan long for nothing, and not for ever. */
export const emptyPagesBetweenMarks = 100

export interface ScanState {
  readonly range: CheckpointRange
  /** Every match up to this checkpoint was sent; one below the range at first. */
  readonly scannedTo: bigint
  readonly cursor: Uint8Array | null
  /** Since `scannedTo` moved: transactions that were sent, and pages without any. */
  readonly transactions: number
  readonly emptyPages: number
  readonly isDone: boolean
}

export const startScan = (range: CheckpointRange): ScanState => ({
  range,
  scannedTo: range.from - 1n,
  cursor: null,
  transactions: 0,
  emptyPages: 0,
  isDone: false
})

const isSame = (one: Uint8Array | null, other: Uint8Array): boolean => one !== null && Buffer.compare(one, other) === 0

/**
 * The scan after a page, or a sentence where the node contradicts itself. Only the node's own watermark counts for how
 * far it looked: a page without matches, or the last of them, says nothing of the checkpoints behind it.
 */
export const stepScan = (state: ScanState, page: ListedTransactions): ScanState | string => {
  const { from, to } = state.range
  if (page.transactions.some(({ checkpoint }) => checkpoint < from || checkpoint > to)) {
    return "it listed a transaction of a checkpoint that was not asked for"
  }
  if (page.covered !== null && page.covered < state.scannedTo && state.cursor !== null) {
    return "its mark of how far it looked went back"
  }
  const reached = page.covered === null || page.covered < state.scannedTo ? state.scannedTo : page.covered
  const covered = reached > to ? to : reached
  const hasMoved = covered > state.scannedTo
  const next: ScanState = {
    ...state,
    scannedTo: covered,
    cursor: page.cursor,
    transactions: hasMoved ? 0 : state.transactions + page.transactions.length,
    emptyPages: hasMoved ? 0 : state.emptyPages + (page.transactions.length === 0 ? 1 : 0),
    isDone: covered === to || !page.hasMore
  }
  if (next.isDone) return next
  if (isSame(state.cursor, page.cursor)) return "its pages do not go on"
  return next.transactions > transactionsBetweenMarks || next.emptyPages > emptyPagesBetweenMarks
    ? "its pages go on and get nowhere"
    : next
}
