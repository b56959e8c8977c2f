/** Which line of a part each transfer of a transaction is for. Pure. */
import type { CollectPart, PayoutLine, PayoutPart, PayoutTransfer } from "../../../runtime/Payouts.ts"
import { toChecksumAddress } from "../../../schemas/EvmAddress.ts"
import { type BaseUnits, baseUnits } from "../../../schemas/Money.ts"
import { word } from "./AbiWords.ts"
import { transferTopic } from "./Blocks.ts"
import { collector, payer, topics } from "./Contracts.ts"
import type { PaidLine } from "./PayoutCalls.ts"

/** A log of a receipt. */
export interface Log {
  readonly address: string
  readonly topics: ReadonlyArray<string>
  readonly data: string
}

/** Money that moved; `index` is 1 + the position of its log in the receipt, as in `transfersOf`. */
export interface LoggedTransfer {
  readonly index: number
  readonly tokenAddress: string | null
  readonly from: string
  readonly to: string
  readonly amount: BaseUnits
}

/**
 * Added to the place of a line in the native coin, for its index: the Payer's payment of it has no log, and no receipt
 * has so many logs.
 */
const nativeLineIndex = 1_000_000_000

/** The index of a direct payment of the native coin, as in `transfersOf`. */
export const directPaymentIndex = 0

const isSame = (one: string | null, other: string | null): boolean => one?.toLowerCase() === other?.toLowerCase()

const addressOf = (topic: string): string => toChecksumAddress(`0x${topic.slice(26)}`)

/**
 * What a log says that moved: a token's `Transfer` with three topics and one word of data, or the Collector's
 * `NativeCollected`; undefined: nothing. Anybody can make a token log a transfer of nothing in another's name.
 */
const transferOf = ({ address, data, topics: [kind, from, to, ...more] }: Log, position: number) => {
  if (from === undefined || to === undefined || more.length > 0 || data.length !== 66 || BigInt(data) === 0n) {
    return undefined
  }
  const isCoin = kind?.toLowerCase() === topics.nativeCollected && isSame(address, collector.address)
  if (!isCoin && kind?.toLowerCase() !== transferTopic) return undefined
  return {
    index: position + 1,
    tokenAddress: isCoin ? null : toChecksumAddress(address),
    from: addressOf(from),
    to: addressOf(to),
    amount: baseUnits(BigInt(data))
  }
}

/** Money that moved, in the order of the logs. */
export const loggedTransfers = (logs: ReadonlyArray<Log>): ReadonlyArray<LoggedTransfer> =>
  logs.flatMap((log, position) => transferOf(log, position) ?? [])

const payoutTransfer = ({ to, ...transfer }: LoggedTransfer, line: number | null): PayoutTransfer => ({
  ...transfer,
  destination: to,
  line
})

/** What is compared of a line. */
type MatchedLine = Pick<PayoutLine, "amount" | "destination" | "tokenAddress">

const lineOfPaid = ({ amount, to, tokenAddress }: PaidLine): MatchedLine => ({
  amount: baseUnits(amount),
  destination: to,
  tokenAddress
})

const isTowards = (line: MatchedLine, { to, tokenAddress }: LoggedTransfer): boolean =>
  isSame(line.destination, to) && isSame(line.tokenAddress, tokenAddress)

/**
 * The Payer pays the lines in their order and logs `Paid` behind them, so the lines are looked for from the last one
 * back: a transfer that the same transaction made before the Payer is then not taken for a line.
 */
const linesFromTheEnd = (
  lines: ReadonlyArray<MatchedLine>,
  transfers: ReadonlyArray<LoggedTransfer>
): ReadonlyMap<number, number> => {
  const lineByIndex = new Map<number, number>()
  let end = transfers.length
  for (let place = lines.length - 1; place >= 0; place--) {
    const found = transfers.slice(0, end).findLastIndex((transfer) => isTowards(lines[place]!, transfer))
    if (found === -1) continue
    lineByIndex.set(transfers[found]!.index, place)
    end = found
  }
  return lineByIndex
}

/** Each transfer takes the first free line of the same receiver and amount, else the first free one of the receiver. */
const linesInAnyOrder = (
  lines: ReadonlyArray<PayoutLine>,
  transfers: ReadonlyArray<LoggedTransfer>
): ReadonlyMap<number, number> => {
  const lineByIndex = new Map<number, number>()
  const free = new Set(lines.keys())
  const take = (fits: (line: PayoutLine, transfer: LoggedTransfer) => boolean) => {
    for (const transfer of transfers) {
      if (lineByIndex.has(transfer.index)) continue
      const place = [...free].find((each) => fits(lines[each]!, transfer))
      if (place === undefined) continue
      free.delete(place)
      lineByIndex.set(transfer.index, place)
    }
  }
  take((line, transfer) => isTowards(line, transfer) && line.amount === transfer.amount)
  take(isTowards)
  return lineByIndex
}

const coinTransfer = (from: string, place: number, to: string, amount: bigint): LoggedTransfer => ({
  index: nativeLineIndex + place,
  tokenAddress: null,
  from,
  to,
  amount: baseUnits(amount)
})

/** Tokens that left the wallet. */
const ownTransfers = (from: string, logs: ReadonlyArray<Log>): ReadonlyArray<LoggedTransfer> =>
  loggedTransfers(logs).filter((transfer) => transfer.tokenAddress !== null && isSame(transfer.from, from))

/** The first line to the receiver of a transfer; null: there is none. */
const fittingLine = (lines: ReadonlyArray<PayoutLine>, transfer: LoggedTransfer): number | null => {
  const place = lines.findIndex((line) => isTowards(line, transfer))
  return place === -1 ? null : place
}

/**
 * What a transaction in which the Payer paid the part did for its lines. `logs`: of the whole receipt; `paidAt`: the
 * position of the log `Paid` in them. The lines in the native coin are paid to the last unit, because the Payer pays
 * all lines or none. Other transfers of the wallet in the transaction are left out, unless they go to the receiver of a
 * line: those may pay it twice.
 */
export const transfersOfPaid = (
  { from, lines }: PayoutPart,
  logs: ReadonlyArray<Log>,
  paidAt: number
): ReadonlyArray<PayoutTransfer> => {
  const own = ownTransfers(from, logs)
  const lineByIndex = linesFromTheEnd(lines, own.filter(({ index }) => index <= paidAt))
  const ofTokens = own.flatMap((transfer) => {
    const line = lineByIndex.get(transfer.index) ?? fittingLine(lines, transfer)
    return line === null ? [] : [payoutTransfer(transfer, line)]
  })
  const ofCoin = lines.flatMap(({ amount, destination, tokenAddress }, line) =>
    tokenAddress === null ? [payoutTransfer(coinTransfer(from, line, destination, amount), line)] : []
  )
  return [...ofTokens, ...ofCoin]
}

/**
 * All transfers from the wallet in a transaction in which the Payer paid other lines under the part's name, because
 * somebody changed the export before it was signed. `paidLines`: those lines, as far as they can be read: no log shows
 * what they paid in the native coin.
 */
export const transfersOfChanged = (
  { from, lines }: PayoutPart,
  logs: ReadonlyArray<Log>,
  paidLines: ReadonlyArray<PaidLine>
): ReadonlyArray<PayoutTransfer> => {
  const ofCoin = paidLines.flatMap(({ amount, to, tokenAddress }, place) =>
    tokenAddress === null && amount > 0n ? [coinTransfer(from, place, to, amount)] : []
  )
  const own = [...ownTransfers(from, logs), ...ofCoin]
  const lineByIndex = linesInAnyOrder(lines, own)
  return own.map((transfer) =>
    payoutTransfer(transfer, lineByIndex.get(transfer.index) ?? fittingLine(lines, transfer))
  )
}

/** Whether a log says that the Payer has paid a part of a wallet. */
const isPaidLog = ({ address, topics: [kind, from] }: Log, wallet: string): boolean =>
  isSame(address, payer.address) && kind?.toLowerCase() === topics.paid && from?.toLowerCase() === `0x${word(wallet)}`

/** Whether a transaction has a log that the Payer has paid a part of a wallet: then its data says which lines. */
export const hasPaidLog = (wallet: string, logs: ReadonlyArray<Log>): boolean =>
  logs.some((log) => isPaidLog(log, wallet))

/**
 * Transfers that may pay a line of a list. What the Payer pays in the same transaction belongs to the part that it
 * names, though it leaves the same wallet. The Payer pays its lines in a row and logs `Paid` behind them, so its
 * transfers begin with the one of its first line. `paidLinesOf`: the lines that gave a `Paid` its content; null: they
 * are not known, so nothing that was made before it is counted.
 */
export const transfersBesidePayer = (
  wallet: string,
  logs: ReadonlyArray<Log>,
  paidLinesOf: (content: string) => ReadonlyArray<PaidLine> | null
): ReadonlyArray<LoggedTransfer> => {
  const payments = logs.flatMap((log, position) => isPaidLog(log, wallet) ? [{ content: log.data, position }] : [])
  const transfers = loggedTransfers(logs)
  const ends = [0, ...payments.map(({ position }) => position)]
  const before = payments.flatMap(({ content, position }, place) => {
    const lines = paidLinesOf(content.toLowerCase())
    const between = transfers.filter(({ index }) => index > ends[place]! && index <= position)
    if (lines === null) return []
    const own = between.filter((transfer) => isSame(transfer.from, wallet))
    const first = Math.min(...linesFromTheEnd(lines.map(lineOfPaid), own).keys())
    return between.filter(({ index }) => index < first)
  })
  return [...before, ...transfers.filter(({ index }) => index > ends.at(-1)!)]
}

/** Of a part that was given out as a list: the transfers with the token, receiver and amount of one of its lines. */
export const transfersOfList = (
  { from, lines }: PayoutPart,
  transfers: ReadonlyArray<LoggedTransfer>
): ReadonlyArray<PayoutTransfer> =>
  transfers.flatMap((transfer) => {
    const line = lines.findIndex((each) => isTowards(each, transfer) && each.amount === transfer.amount)
    return line === -1 || !isSame(transfer.from, from) ? [] : [payoutTransfer(transfer, line)]
  })

/** Transfers from the addresses of a part to their payee, whoever sent the transaction. */
export const transfersOfCollect = (
  { lines, payee }: CollectPart,
  transfers: ReadonlyArray<LoggedTransfer>
): ReadonlyArray<PayoutTransfer> =>
  transfers.flatMap((transfer) => {
    const line = lines.findIndex(({ address, tokenAddress }) =>
      isSame(address, transfer.from) && isSame(tokenAddress, transfer.tokenAddress)
    )
    return line === -1 || !isSame(transfer.to, payee) ? [] : [payoutTransfer(transfer, line)]
  })

/** Filter of the logs in which `from` sends a token to one of `to`. */
export const transferTopics = (from: ReadonlyArray<string>, to: ReadonlyArray<string>) => [
  transferTopic,
  from.map((address) => `0x${word(address)}`),
  to.map((address) => `0x${word(address)}`)
]
