/**
 * What a transaction does of a part: which of its lines it pays, and what else leaves the wallet. Wallets add
 * instructions of their own, so neither the message nor its signature is known before. Pure.
 */
import { base58 } from "@scure/base"
import { Result } from "effect"
import type { PayoutLine, PayoutPart, PayoutTransfer } from "../../../runtime/Payouts.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import { systemProgram, tokenPrograms } from "./Addresses.ts"
import { memoOf } from "./PayoutTransaction.ts"
import { type ChainTransaction, keysOf, memosOf, tokenIndexBase, tokenMovesOf } from "./Transactions.ts"

/** Added to the index of a further transfer to the same account: more than any account's own. */
const repeatedIndexStep = 2 * tokenIndexBase

/** What an instruction takes from the wallet. */
interface SentTransfer {
  /** Place of the receiving account among the transaction's keys. */
  readonly account: number
  readonly destination: string
  readonly tokenAddress: string | null
  /** What the instruction says. */
  readonly sent: bigint
  /** What came of it: a token may keep a part. */
  readonly arrived: bigint
}

interface ParsedInstruction {
  readonly program: string
  readonly accounts: ReadonlyArray<number>
  readonly data: Uint8Array
}

/** All instructions in the order in which they ran: each followed by those that its program called. */
const instructionsOf = (transaction: ChainTransaction, keys: ReadonlyArray<string>) => {
  const { innerInstructions } = transaction.meta
  return transaction.transaction.message.instructions.flatMap((outer, place) => [
    outer,
    ...(innerInstructions ?? []).filter(({ index }) => index === place).flatMap(({ instructions }) => instructions)
  ]).map(({ accounts = [], data, programIdIndex }): ParsedInstruction => ({
    program: keys[programIdIndex] ?? "",
    accounts,
    data: Result.getOrElse(Result.try(() => base58.decode(data)), () => new Uint8Array())
  }))
}

const numberAt = (data: Uint8Array, at: number): bigint | null =>
  data.length < at + 8 ? null : new DataView(data.buffer, data.byteOffset).getBigUint64(at, true)

/** Where instructions of the token programs have what matters: `Transfer`, `TransferChecked`, `TransferCheckedWithFee`. */
const tokenLayoutOf = (data: Uint8Array) =>
  data[0] === 3
    ? { amountAt: 1, receiver: 1, authority: 2 }
    : data[0] === 12
    ? { amountAt: 1, receiver: 2, authority: 3 }
    : data[0] === 26 && data[1] === 1
    ? { amountAt: 2, receiver: 2, authority: 3 }
    : null

/** `SystemInstruction::Transfer`: 2 in 4 bytes, then the lamports. */
const isCoinTransfer = ({ data, program }: ParsedInstruction): boolean =>
  program === systemProgram && data.length === 12 && data[0] === 2 && data[1] === 0 && data[2] === 0 && data[3] === 0

/** What the wallet's own instructions take from it. The rent of a token account is no transfer. */
const sentBy = (transaction: ChainTransaction, wallet: string): ReadonlyArray<SentTransfer> => {
  const keys = keysOf(transaction)
  const moves = tokenMovesOf(transaction)
  const balances = [...transaction.meta.postTokenBalances ?? [], ...transaction.meta.preTokenBalances ?? []]
  const held = new Map(balances.toReversed().map((balance) => [balance.accountIndex, balance]))
  const sent = instructionsOf(transaction, keys).flatMap((instruction): ReadonlyArray<SentTransfer> => {
    const { accounts, data, program } = instruction
    if (isCoinTransfer(instruction)) {
      const [source = -1, account = -1] = accounts
      const destination = keys[account]
      if (keys[source] !== wallet || destination === undefined || destination === wallet || held.has(account)) return []
      const amount = numberAt(data, 4)!
      return [{ account, destination, tokenAddress: null, sent: amount, arrived: amount }]
    }
    const layout = tokenPrograms.has(program) ? tokenLayoutOf(data) : null
    const amount = layout === null ? null : numberAt(data, layout.amountAt)
    if (layout === null || amount === null || keys[accounts[layout.authority] ?? -1] !== wallet) return []
    const account = accounts[layout.receiver] ?? -1
    const receiver = held.get(account)
    if (receiver?.owner === undefined || receiver.owner === wallet) return []
    return [{ account, destination: receiver.owner, tokenAddress: receiver.mint, sent: amount, arrived: amount }]
  })
  return withArrivals(sent, new Map(moves.map(({ accountIndex, change }) => [accountIndex, change])))
}

/** Takes what did not arrive at a token account from the last transfers to it. */
const withArrivals = (
  sent: ReadonlyArray<SentTransfer>,
  changes: ReadonlyMap<number, bigint>
): ReadonlyArray<SentTransfer> => {
  const shortfalls = new Map<number, bigint>()
  for (
    const [account, transfers] of Map.groupBy(sent.filter((each) => each.tokenAddress !== null), (each) => each.account)
  ) {
    const sum = transfers.reduce((total, { arrived }) => total + arrived, 0n)
    const change = changes.get(account) ?? 0n
    if (change < sum) shortfalls.set(account, sum - (change > 0n ? change : 0n))
  }
  return sent.toReversed().map((transfer) => {
    const shortfall = transfer.tokenAddress === null ? 0n : shortfalls.get(transfer.account) ?? 0n
    if (shortfall === 0n) return transfer
    const missing = shortfall < transfer.arrived ? shortfall : transfer.arrived
    shortfalls.set(transfer.account, shortfall - missing)
    return { ...transfer, arrived: transfer.arrived - missing }
  }).toReversed()
}

const isTo = ({ destination, tokenAddress }: SentTransfer, line: PayoutLine): boolean =>
  destination === line.destination && tokenAddress === line.tokenAddress

/** The line of each transfer: first those whose amount is the line's, in their order; then, in theirs, any amount. */
const lineOfEach = (
  sent: ReadonlyArray<SentTransfer>,
  lines: ReadonlyArray<PayoutLine>,
  isExact: boolean
): ReadonlyArray<number | null> => {
  const matches: Array<number | null> = sent.map(() => null)
  const free = new Set(lines.keys())
  const passes = [(transfer: SentTransfer, line: PayoutLine) => transfer.sent === line.amount, () => true]
  for (const isRight of isExact ? passes.slice(0, 1) : passes) {
    for (const [place, transfer] of sent.entries()) {
      if (matches[place] !== null) continue
      const line = [...free].find((each) => isTo(transfer, lines[each]!) && isRight(transfer, lines[each]!))
      if (line === undefined) continue
      matches[place] = line
      free.delete(line)
    }
  }
  return matches
}

const toTransfers = (
  sent: ReadonlyArray<SentTransfer>,
  matches: ReadonlyArray<number | null>,
  from: string
): ReadonlyArray<PayoutTransfer> => {
  const counts = new Map<string, number>()
  return sent.map(({ account, arrived, destination, tokenAddress }, place) => {
    const key = `${account} ${tokenAddress}`
    const count = counts.get(key) ?? 0
    counts.set(key, count + 1)
    const index = (tokenAddress === null ? 0 : tokenIndexBase) + account + count * repeatedIndexStep
    return { index, line: matches[place]!, destination, tokenAddress, amount: baseUnits(arrived), from }
  })
}

const batchMemo = /^bat_[0-9a-f]{32}\/\d+$/

/**
 * The transfers of a part that a transaction makes; empty: it does not execute it. A transaction is the part's by its
 * memo; of a list, by token, receiver and amount, where no memo says that it is another part's.
 */
export const transfersOfPart = (
  part: PayoutPart,
  isList: boolean,
  transaction: ChainTransaction
): ReadonlyArray<PayoutTransfer> => {
  if (transaction.meta.err !== null) return []
  const memos = memosOf(transaction, keysOf(transaction))
  const isOwn = memos.includes(memoOf(part))
  if (isList ? memos.some((memo) => batchMemo.test(memo)) : !isOwn) return []
  const sent = sentBy(transaction, part.from)
  const matches = lineOfEach(sent, part.lines, isList)
  const transfers = toTransfers(sent, matches, part.from)
  return isList ? transfers.filter(({ line }) => line !== null) : transfers
}
