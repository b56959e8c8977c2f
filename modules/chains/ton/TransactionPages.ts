/**
 * Paging through the transactions of accounts by time, as toncenter orders them: by second, then by logical time, then
 * by account (`buildTransactionsQuery` of toncenter/ton-indexer). Pure.
 *
 *   page not full            --> everything up to the end was read
 *   full, ends in a later second --> the next page begins with that second: what is added meanwhile moves nothing out
 *   full, ends in its first second --> the next page goes on behind it in the same second, however many it takes
 */

/** Transactions after which a reading ends with its last whole second: what came is kept in memory. */
export const transactionsPerReading = 20_000

/**
 * Transactions that one second may hold, of as many accounts as one call asks for: several times what a shard's blocks
 * have room for. One second cannot be read in parts, so more than this is an error and never left out.
 */
export const transactionsPerSecond = 50_000

/**
 * Pages in a row without a transaction that was not listed before: what is added to a second in front of a page moves
 * it back, and a node whose pages do not go on at all is no help.
 */
const maximumRepeatedPages = 20

/** What tells a transaction, and the second that it lies in. */
export interface ListedTransaction {
  readonly hash: string
  /** Epoch seconds. */
  readonly time: number
}

export interface PagesState {
  /** Epoch seconds, both ends included. */
  readonly from: number
  readonly until: number
  /** The second that the next page begins with, and how many transactions of it are passed over. */
  readonly start: number
  readonly offset: number
  /** Transactions that were listed, by hash. */
  readonly hashes: ReadonlySet<string>
  /** Pages in a row that listed none beside these. */
  readonly repeatedPages: number
  /** Every transaction up to this second was listed; null: there are more pages to read. */
  readonly readUntil: number | null
}

export const startPages = (from: number, until: number): PagesState => ({
  from,
  until,
  start: from,
  offset: 0,
  hashes: new Set(),
  repeatedPages: 0,
  readUntil: null
})

/** A sentence about what is wrong with the order of a page; null: nothing. */
const disorderOf = ({ start, until }: PagesState, page: ReadonlyArray<ListedTransaction>): string | null => {
  if (page.some(({ time }) => time < start || time > until)) {
    return "it listed a transaction of a time that was not asked for"
  }
  return page.some(({ time }, place) => place > 0 && time < page[place - 1]!.time)
    ? "its transactions are not in the order of time"
    : null
}

/** What is known after a page of at most `limit` transactions, or a sentence where reading on would leave some out. */
export const stepPages = (
  state: PagesState,
  page: ReadonlyArray<ListedTransaction>,
  limit: number
): PagesState | string => {
  const disorder = disorderOf(state, page)
  if (disorder !== null) return disorder
  const hashes = new Set([...state.hashes, ...page.map(({ hash }) => hash)])
  if (page.length < limit) return { ...state, hashes, readUntil: state.until }
  const last = page.at(-1)!.time
  if (last > state.start) {
    // The last second may have been listed in part.
    const isEnough = hashes.size >= transactionsPerReading
    return { ...state, hashes, repeatedPages: 0, start: last, offset: 0, readUntil: isEnough ? last - 1 : null }
  }
  const repeatedPages = hashes.size === state.hashes.size ? state.repeatedPages + 1 : 0
  if (repeatedPages > maximumRepeatedPages) return "its pages do not go on"
  const next: PagesState = { ...state, hashes, repeatedPages, offset: state.offset + page.length }
  if (hashes.size >= transactionsPerReading && state.start > state.from) return { ...next, readUntil: state.start - 1 }
  return next.offset < transactionsPerSecond
    ? next
    : `it lists more than ${transactionsPerSecond} transactions of second ${state.start}, which cannot be read in ` +
      "parts: report this to the makers of this software"
}
