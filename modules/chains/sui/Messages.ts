/**
 * The messages of Sui's gRPC interface `sui.rpc.v2` that are spoken (docs.sui.io, "Sui gRPC"), by the field numbers of
 * its proto files. What a node says is read here and nowhere else: null where it is not what the interface promises.
 */
import { Option, Schema } from "effect"
import { canonicalAddress, canonicalCoinType, isDigest, maximumCoinTypeLength } from "./Identifiers.ts"
import {
  bytesField,
  bytesOf,
  integerOf,
  type Message,
  message,
  messageOf,
  messagesOf,
  readMessage,
  textField,
  textOf,
  varintField
} from "./Protobuf.ts"

/** What a node says of itself. */
export interface ServiceInfo {
  /** Digest of the first checkpoint: which network it is. */
  readonly chainId: string
  /** The newest checkpoint it has executed, and its time in epoch seconds. */
  readonly height: bigint
  readonly time: number
  /** The epoch of that checkpoint; null: it does not say. */
  readonly epoch: bigint | null
  /** The oldest checkpoint whose transactions it has; null: it does not say. */
  readonly lowestHeight: bigint | null
}

/** What a transaction changed in an address's balance of one coin. */
export interface BalanceChange {
  /** In full, lower case. */
  readonly address: string
  readonly coinType: string
  /** Base units; below zero: it was spent. */
  readonly amount: bigint
}

/** A transaction that is in a checkpoint. */
export interface CheckpointedTransaction {
  readonly digest: string
  /** Null: the network's own transactions have none. */
  readonly sender: string | null
  readonly isSuccess: boolean
  readonly checkpoint: bigint
  /** Epoch seconds of the checkpoint. */
  readonly time: number
  readonly balanceChanges: ReadonlyArray<BalanceChange>
}

/** Where a scan of transactions stopped, and why. */
export interface ListedTransactions {
  readonly transactions: ReadonlyArray<CheckpointedTransaction>
  /** Every match up to this checkpoint was sent, by the node's own word; null: of no checkpoint whole. */
  readonly covered: bigint | null
  /** Where the scan goes on. */
  readonly cursor: Uint8Array
  /** Whether it stopped before the end of what was asked for, though the node has more. */
  readonly hasMore: boolean
}

export interface CoinInfo {
  readonly symbol: string | null
  readonly decimals: number | null
}

/** Reasons for which a scan stops (`QueryEndReason`). */
const queryEnds = { itemLimit: 1n, scanLimit: 2n, checkpointBound: 3n, cursorBound: 4n, ledgerTip: 5n } as const

/** Parts of a transaction that are asked for; the others are left out of the answer. */
export const transactionPaths = [
  "digest",
  "transaction.sender",
  "effects.status",
  "checkpoint",
  "timestamp",
  "balance_changes"
]

/** The fields of an answer that are asked for. */
export const readMask = (field: number, paths: ReadonlyArray<string>): Uint8Array =>
  bytesField(field, ...paths.map((path) => textField(1, path)))

/** `GetServiceInfoRequest`. */
export const serviceInfoRequest = message()

/** `GetCoinInfoRequest`. */
export const coinInfoRequest = (coinType: string): Uint8Array => textField(1, coinType)

/** `GetCheckpointRequest` for its time. */
export const checkpointRequest = (height: bigint): Uint8Array =>
  message(varintField(1, height), readMask(3, ["sequence_number", "summary.timestamp"]))

/** `BatchGetTransactionsRequest`. */
export const transactionsRequest = (digests: ReadonlyArray<string>): Uint8Array =>
  message(...digests.map((digest) => textField(1, digest)), readMask(2, transactionPaths))

/** A term of the filter: the address's state moved. Terms are joined by "or". */
const affectedTerm = (address: string): Uint8Array => bytesField(1, bytesField(1, bytesField(3, textField(1, address))))

/**
 * `ListTransactionsRequest` of checkpoints `from` to `to`, both included, lowest first. `addresses`: only what moved
 * one of them; null: all. `after`: goes on from a cursor.
 */
export const listRequest = (
  from: bigint,
  to: bigint,
  addresses: ReadonlyArray<string> | null,
  limit: number,
  after: Uint8Array | null
): Uint8Array =>
  message(
    readMask(1, transactionPaths),
    varintField(2, from),
    varintField(3, to + 1n),
    ...addresses === null ? [] : [bytesField(4, ...addresses.map(affectedTerm))],
    bytesField(5, varintField(1, BigInt(limit)), ...after === null ? [] : [bytesField(2, after)])
  )

const Digest = Schema.String.check(Schema.makeFilter(isDigest))
/** Heights are 64 bits; a checkpoint of the year 2100 is far below 2^53. */
const Height = Schema.BigInt.check(Schema.makeFilter((value: bigint) => value < 2n ** 53n))
/** Epoch seconds up to the year 2242. */
const Seconds = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 8_589_934_591 }))
/** A signed integer of 128 bits, as text. */
const Amount = Schema.String.check(Schema.isPattern(/^-?\d{1,39}$/))

const decodeServiceInfo = Schema.decodeUnknownOption(
  Schema.toType(Schema.Struct({
    chainId: Digest,
    height: Height,
    time: Seconds,
    epoch: Schema.NullOr(Height),
    lowestHeight: Schema.NullOr(Height)
  }))
)

const decodeTransaction = Schema.decodeUnknownOption(
  Schema.toType(Schema.Struct({ digest: Digest, isSuccess: Schema.Boolean, checkpoint: Height, time: Seconds }))
)

const decodeAmount = Schema.decodeUnknownOption(Amount)

/** Seconds of a `Timestamp`. */
const secondsOf = (fields: Message, field: number): number => {
  const timestamp = messageOf(fields, field)
  return timestamp === null ? NaN : Number(integerOf(timestamp, 1) ?? 0n)
}

/** Reads `GetServiceInfoResponse`. */
export const readServiceInfo = (bytes: Uint8Array): ServiceInfo | null => {
  const fields = readMessage(bytes)
  if (fields === null) return null
  return Option.getOrNull(decodeServiceInfo({
    chainId: textOf(fields, 1),
    height: integerOf(fields, 4),
    time: secondsOf(fields, 5),
    epoch: integerOf(fields, 3),
    lowestHeight: integerOf(fields, 6)
  }))
}

/** `too_long`: of a coin whose type is longer than any that is listed: its maker must not stop the others' payments. */
const readBalanceChange = (fields: Message): BalanceChange | "too_long" | null => {
  const coinText = textOf(fields, 2)
  if (coinText !== null && coinText.length > maximumCoinTypeLength) return "too_long"
  const address = canonicalAddress(textOf(fields, 1) ?? "")
  const coinType = canonicalCoinType(coinText ?? "")
  const amount = Option.getOrNull(decodeAmount(textOf(fields, 3)))
  return address === null || coinType === null || amount === null
    ? null
    : { address, coinType, amount: BigInt(amount) }
}

const readBalanceChanges = (fields: Message): ReadonlyArray<BalanceChange> | null => {
  const read = messagesOf(fields, 8)?.map(readBalanceChange) ?? [null]
  return read.includes(null) ? null : read.filter((change) => change !== null && change !== "too_long")
}

const readSender = (fields: Message): string | null => {
  const transaction = messageOf(fields, 2)
  return transaction === null ? null : canonicalAddress(textOf(transaction, 5) ?? "")
}

/** `ExecutedTransaction`. A status without its flag is a failure: a flag that is false is not sent by every encoder. */
const readTransaction = (fields: Message): CheckpointedTransaction | null => {
  const effects = messageOf(fields, 4)
  const status = effects === null ? null : messageOf(effects, 4)
  const balanceChanges = readBalanceChanges(fields)
  if (status === null || balanceChanges === null) return null
  const facts = Option.getOrNull(decodeTransaction({
    digest: textOf(fields, 1),
    isSuccess: integerOf(status, 1) === 1n,
    checkpoint: integerOf(fields, 6),
    time: secondsOf(fields, 7)
  }))
  return facts === null ? null : { ...facts, sender: readSender(fields), balanceChanges }
}

/**
 * Reads the messages of `ListTransactionsResponse`. The node's watermark, of how far it looked, must not go back, and
 * the last message says that it is the last: without it there may have been more.
 */
export const readListed = (messages: ReadonlyArray<Uint8Array>): ListedTransactions | null => {
  const transactions: Array<CheckpointedTransaction> = []
  let covered: bigint | null = null
  let cursor: Uint8Array | null = null
  for (const [place, bytes] of messages.entries()) {
    const fields = readMessage(bytes)
    const watermark = fields === null ? null : messageOf(fields, 2)
    if (fields === null || watermark === null) return null
    cursor = bytesOf(watermark, 1) ?? cursor
    const height = integerOf(watermark, 2)
    if (height !== null && covered !== null && height < covered) return null
    covered = height ?? covered
    if (fields.has(1)) {
      const item = messageOf(fields, 1)
      const transaction = item === null ? null : readTransaction(item)
      if (transaction === null) return null
      transactions.push(transaction)
    }
    const end = messageOf(fields, 3)
    if (end === null) continue
    const reason = integerOf(end, 1)
    if (place < messages.length - 1 || cursor === null) return null
    const hasMore = reason === queryEnds.itemLimit || reason === queryEnds.scanLimit
    return { transactions, covered, cursor, hasMore }
  }
  return null
}

/**
 * Reads `BatchGetTransactionsResponse`: of each digest that was asked for the transaction, or `missing` where the node
 * does not have it in a checkpoint.
 */
export const readTransactions = (
  bytes: Uint8Array,
  digests: ReadonlyArray<string>
): ReadonlyArray<CheckpointedTransaction | "missing"> | null => {
  const fields = readMessage(bytes)
  const results = fields === null ? null : messagesOf(fields, 1)
  if (results === null || results.length !== digests.length) return null
  const read = results.map((result, place) => {
    if (!result.has(1)) return result.has(2) ? "missing" as const : null
    const item = messageOf(result, 1)
    if (item === null || textOf(item, 1) !== digests[place]) return null
    // A node may know a transaction that no checkpoint has yet.
    return integerOf(item, 6) === null ? "missing" as const : readTransaction(item)
  })
  return read.includes(null) ? null : read.filter((each) => each !== null)
}

/** Reads the time of `GetCheckpointResponse`, in epoch seconds. */
export const readCheckpointTime = (bytes: Uint8Array, height: bigint): number | null => {
  const fields = readMessage(bytes)
  const checkpoint = fields === null ? null : messageOf(fields, 1)
  const summary = checkpoint === null ? null : messageOf(checkpoint, 3)
  if (checkpoint === null || summary === null || integerOf(checkpoint, 1) !== height) return null
  return Option.getOrNull(Schema.decodeOption(Seconds)(secondsOf(summary, 9)))
}

/** Reads `GetCoinInfoResponse`: what is said of another coin is no answer. */
export const readCoinInfo = (bytes: Uint8Array, coinType: string): CoinInfo | null => {
  const fields = readMessage(bytes)
  if (fields === null || canonicalCoinType(textOf(fields, 1) ?? "") !== coinType) return null
  const metadata = messageOf(fields, 2)
  if (metadata === null) return { symbol: null, decimals: null }
  const decimals = integerOf(metadata, 2)
  return { symbol: textOf(metadata, 4), decimals: decimals !== null && decimals <= 255n ? Number(decimals) : null }
}
