/**
 * Which blocks are searched next for transfers that nobody was shown at first, and which of them once more because only
 * one endpoint could be asked. Pure.
 *
 *   new blocks: 8 at a time up to the last but one; where a range failed its first block alone, and then 8 again; a
 *   block that fails once more after 60 failures is passed with an alarm
 *   blocks that only one endpoint was asked about: again, 8 at a time, once another endpoint is back
 */
import type { ChainHeights, RingPoint } from "./ChainsRepo.ts"

/** Blocks of one search: providers commonly allow ten. */
export const blocksPerSearch = 8n

/** Blocks below the head that are not searched yet: nodes index logs a moment after they show a block. */
export const searchLag = 1n

/** Failed searches of one block in a row, a second apart, before it is passed: an outage ends, a refusal does not. */
export const searchTries = 60

/**
 * Blocks below the newest searched one that are searched again once another endpoint is back: a day of Base. One that
 * is away for longer needs an operator's rescan.
 */
export const repeatSearchBlocks = 43_200n

/** What a pass works on: where the follower stands. */
export interface FollowerPosition {
  readonly generation: number
  readonly ring: ReadonlyArray<RingPoint>
  readonly heights: ChainHeights
  readonly searchedHeight: bigint | null
  /** The lowest searched block that may have been searched nowhere but where it was read; null: there is none. */
  readonly singleSourceFrom: bigint | null
}

/** What a search moves; absent: as before. */
export interface SearchProgress {
  /** Up to here blocks have been searched. */
  readonly searchedHeight?: bigint
  /** See {@link FollowerPosition.singleSourceFrom}. */
  readonly singleSourceFrom?: bigint | null
}

/** The search that failed last, by its first block, and how often in a row. */
export interface SearchFailure {
  readonly from: bigint
  readonly times: number
}

export const noFailure: SearchFailure = { from: -1n, times: 0 }

/** Blocks of one search, and how often a search from its first block has failed in a row. */
export interface SearchRange {
  readonly from: bigint
  readonly to: bigint
  readonly failures: number
}

/** From `from` on: wide at first, a block alone after a failure. */
const rangeFrom = (from: bigint, newest: bigint, failure: SearchFailure): SearchRange => {
  const failures = failure.from === from ? failure.times : 0
  const wide = from + blocksPerSearch - 1n
  return { from, to: failures > 0 ? from : wide < newest ? wide : newest, failures }
}

/** The new blocks to be searched; null: all are. */
export const nextSearch = (at: FollowerPosition, failure: SearchFailure): SearchRange | null => {
  const from = (at.searchedHeight ?? at.ring[at.ring.length - 1]!.height) + 1n
  const newest = at.heights.head - searchLag
  return from > newest ? null : rangeFrom(from, newest, failure)
}

/**
 * The blocks to be searched again; null: there are none. `passed`: the range of blocks below them that are too old for
 * it.
 */
export const nextRepeatedSearch = (
  { searchedHeight, singleSourceFrom }: FollowerPosition,
  failure: SearchFailure
): SearchRange & { readonly passed: { readonly from: bigint; readonly to: bigint } | null } | null => {
  if (searchedHeight === null || singleSourceFrom === null) return null
  const oldest = searchedHeight - repeatSearchBlocks
  const isTooOld = singleSourceFrom < oldest
  return {
    ...rangeFrom(isTooOld ? oldest : singleSourceFrom, searchedHeight, failure),
    passed: isTooOld ? { from: singleSourceFrom, to: oldest - 1n } : null
  }
}

export const failedAgain = ({ failures, from }: SearchRange): SearchFailure => ({ from, times: failures + 1 })

/** Whether a block that failed now had failed {@link searchTries} times before: it is passed. */
export const isGivenUp = ({ failures }: SearchRange): boolean => failures >= searchTries

/**
 * The lowest block that only one endpoint was asked about, where blocks above `searchedHeight` are to be searched anew.
 */
export const singleSourceUpTo = (singleSourceFrom: bigint | null, searchedHeight: bigint | null): bigint | null =>
  singleSourceFrom === null || searchedHeight === null || singleSourceFrom > searchedHeight ? null : singleSourceFrom

/** New blocks from `from` to `height` were searched, or passed; `isSingleSource`: at no other endpoint. */
export const searchedTo = (
  at: FollowerPosition,
  from: bigint,
  height: bigint,
  isSingleSource: boolean
): SearchProgress => ({
  searchedHeight: height,
  singleSourceFrom: isSingleSource ? at.singleSourceFrom ?? from : at.singleSourceFrom
})

/** Blocks up to `height` were searched again, or passed. */
export const searchedAgainTo = (at: FollowerPosition, height: bigint): SearchProgress => ({
  singleSourceFrom: singleSourceUpTo(height + 1n, at.searchedHeight)
})
