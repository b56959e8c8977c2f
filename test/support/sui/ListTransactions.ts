/** `ListTransactions` as Sui's nodes answer it: pages with a limit, a watermark, and a reason why each one ends. */
import type { Ledger, LedgerTransaction } from "./Ledger.ts"
import { executed, failWith, messageOf, type NodeReply } from "./Replies.ts"

export interface NodeLimits {
  /** Items of a page with a filter, and without one. */
  readonly filteredItems: number
  readonly unfilteredItems: number
  /** Checkpoints that one call with a filter looks through. */
  readonly scannedCheckpoints: bigint
  /** Terms of a filter. */
  readonly terms: number
}

const cursorOf = (height: bigint, place: number): Uint8Array => {
  const bytes = Buffer.alloc(12)
  bytes.writeBigUInt64BE(height)
  bytes.writeUInt32BE(place, 8)
  return bytes
}

/** Behind every transaction of its checkpoint. */
const afterAll = 0xffff_ffff

const ends = { itemLimit: 1, scanLimit: 2, checkpointBound: 3, ledgerTip: 5 } as const

interface Position {
  readonly height: bigint
  readonly place: number
}

const isAfter = ({ height, place }: Position, other: Position | null): boolean =>
  other === null || height > other.height || (height === other.height && place > other.place)

/** Where to begin in a list that is in order: nodes have an index for it. */
const firstAt = (list: ReadonlyArray<LedgerTransaction>, height: bigint): number => {
  let [low, high] = [0, list.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (list[middle]!.height < height) low = middle + 1
    else high = middle
  }
  return low
}

/** Transactions that a filter matches between two heights, in order: any of its terms, as the one kind used here. */
const matching = (ledger: Ledger, request: any, from: bigint, to: bigint): ReadonlyArray<LedgerTransaction> => {
  const terms: ReadonlyArray<any> | undefined = request.filter?.terms
  const lists = terms === undefined
    ? [ledger.all]
    : terms.map(({ literals: [{ predicate }] }) => ledger.byAddress.get(predicate.affectedAddress.address) ?? [])
  const found = new Set<LedgerTransaction>()
  for (const list of lists) {
    for (let at = firstAt(list, from); at < list.length && list[at]!.height <= to; at++) found.add(list[at]!)
  }
  return [...found].sort((one, other) => Number(one.height - other.height) || one.place - other.place)
}

export const listTransactions = (
  ledger: Ledger,
  request: any,
  tip: bigint,
  lowest: bigint,
  limits: NodeLimits
): NodeReply => {
  const start: bigint = request.startCheckpoint ?? lowest
  if (start < lowest) return failWith(11, `checkpoint ${start} is below the lowest available checkpoint ${lowest}`)
  const terms = request.filter?.terms
  if (terms !== undefined && terms.length > limits.terms) {
    return failWith(3, `filter has too many terms: ${terms.length}`)
  }
  const bound: bigint = (request.endCheckpoint ?? tip + 1n) - 1n
  const after: Position | null = request.options?.after === undefined ? null : {
    height: Buffer.from(request.options.after).readBigUInt64BE(),
    place: Buffer.from(request.options.after).readUInt32BE(8)
  }
  const from = after === null ? start : after.place === afterAll ? after.height + 1n : after.height
  const scanned = terms === undefined ? bound : from + limits.scannedCheckpoints - 1n
  const last = [bound, tip, scanned].reduce((least, each) => each < least ? each : least)
  const maximum = terms === undefined ? limits.unfilteredItems : limits.filteredItems
  const limit = Math.min(maximum, request.options?.limit ?? maximum)
  const found = matching(ledger, request, from, last).filter((each) => isAfter(each, after))
  const messages: Array<Uint8Array> = []
  /** A checkpoint is whole once the scan has left it; one that was resumed within is none until then. */
  const whole = (height: bigint) => height > from || (height === from && after?.height !== from) ? height : undefined
  for (const transaction of found.slice(0, limit)) {
    const isLast = messages.length + 1 === limit && (found.length > limit || last < bound)
    messages.push(messageOf("ListTransactionsResponse", {
      transaction: executed(ledger, transaction),
      watermark: {
        cursor: cursorOf(transaction.height, transaction.place),
        checkpoint: whole(transaction.height - 1n)
      },
      ...isLast ? { end: { reason: ends.itemLimit } } : {}
    }))
    if (isLast) return { messages }
  }
  const reason = last === bound ? ends.checkpointBound : last === tip ? ends.ledgerTip : ends.scanLimit
  messages.push(messageOf("ListTransactionsResponse", {
    watermark: last < from
      ? { cursor: request.options?.after ?? cursorOf(from - 1n, afterAll) }
      : { cursor: cursorOf(last, afterAll), checkpoint: last },
    end: { reason }
  }))
  return { messages }
}
