/**
 * The messages of Sui's gRPC interface `sui.rpc.v2` that payouts take, by the field numbers of its proto files: what an
 * address owns, the epoch, what a transaction would do, and what became of it. As in `Messages.ts`, what a node says is
 * read here and nowhere else.
 */
import { Option, Schema } from "effect"
import { canonicalAddress, canonicalCoinType, isDigest } from "./Identifiers.ts"
import { type CheckpointedTransaction, readMask, readTransactions, transactionPaths } from "./Messages.ts"
import { type Coin, versionName } from "./PayoutTransaction.ts"
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

/** Coins of a page, by the interface's own limit. */
export const coinsPerPage = 1_000

/** `ListOwnedObjectsRequest` of the coins of a type. */
export const ownedCoinsRequest = (owner: string, coinType: string, pageToken: Uint8Array | null): Uint8Array =>
  message(
    textField(1, owner),
    varintField(2, BigInt(coinsPerPage)),
    ...pageToken === null ? [] : [bytesField(3, pageToken)],
    readMask(4, ["object_id", "version", "digest", "balance"]),
    textField(5, `0x2::coin::Coin<${coinType}>`)
  )

/** `GetBalanceRequest`. */
export const balanceRequest = (owner: string, coinType: string): Uint8Array =>
  message(textField(1, owner), textField(2, coinType))

/** `GetEpochRequest` of the epoch that runs. */
export const epochRequest = readMask(2, [
  "epoch",
  "start",
  "reference_gas_price",
  "system_state.parameters"
])

/** `SimulateTransactionRequest` of `TransactionData` in BCS, with every check that executing it makes. */
export const simulateRequest = (bytes: Uint8Array): Uint8Array =>
  message(
    bytesField(1, bytesField(1, bytesField(2, bytes))),
    readMask(2, ["transaction.effects.status", "transaction.effects.gas_used"])
  )

/** `BatchGetTransactionsRequest` of one transaction whose content its digest tells. */
export const executionRequest = (digest: string): Uint8Array =>
  message(
    textField(1, digest),
    readMask(2, ["digest", "effects.status", "effects.gas_used", "checkpoint", "timestamp"])
  )

/** `BatchGetTransactionsRequest` of one transaction of whoever made it. */
export const reportedExecutionRequest = (digest: string): Uint8Array =>
  message(
    textField(1, digest),
    readMask(2, [...transactionPaths, "effects.gas_used", "effects.changed_objects"])
  )

const readCoin = (fields: Message): Coin | null => {
  const id = canonicalAddress(textOf(fields, 2) ?? "")
  const version = integerOf(fields, 3)
  const digest = textOf(fields, 4)
  const balance = integerOf(fields, 101)
  return id === null || version === null || digest === null || !isDigest(digest)
    ? null
    : { id, version, digest, balance: balance ?? 0n }
}

export interface CoinPage {
  readonly coins: ReadonlyArray<Coin>
  /** Null: there are no more. */
  readonly next: Uint8Array | null
}

/** Reads `ListOwnedObjectsResponse`. */
export const readOwnedCoins = (bytes: Uint8Array): CoinPage | null => {
  const fields = readMessage(bytes)
  const coins = fields === null ? undefined : messagesOf(fields, 1)?.map(readCoin)
  if (fields === null || coins === undefined || coins.length > coinsPerPage) return null
  const whole = coins.filter((coin) => coin !== null)
  const next = bytesOf(fields, 2)
  return whole.length < coins.length ? null : { coins: whole, next: next?.length === 0 ? null : next }
}

/** Reads `GetBalanceResponse`: what is held in no coin, but in the address's own balance. */
export const readAddressBalance = (bytes: Uint8Array, coinType: string): bigint | null => {
  const fields = readMessage(bytes)
  const balance = fields === null ? null : messageOf(fields, 1)
  if (balance === null) return null
  const found = textOf(balance, 1)
  return found !== null && canonicalCoinType(found) !== coinType ? null : integerOf(balance, 4) ?? 0n
}

/** The epoch that runs. */
export interface Epoch {
  readonly epoch: bigint
  /** Epoch seconds, as the clock counts them. */
  readonly start: number
  /** How long it takes at least. */
  readonly durationSeconds: number
  readonly referenceGasPrice: bigint
}

/** An epoch of the public networks. */
const usualEpochSeconds = 86_400

const decodeEpoch = Schema.decodeUnknownOption(Schema.toType(Schema.Struct({
  epoch: Schema.BigInt.check(Schema.makeFilter((value: bigint) => value < 2n ** 53n)),
  start: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 8_589_934_591 })),
  durationSeconds: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 31_536_000 })),
  referenceGasPrice: Schema.BigInt
})))

/** Reads `GetEpochResponse`. */
export const readEpoch = (bytes: Uint8Array): Epoch | null => {
  const fields = readMessage(bytes)
  const epoch = fields === null ? null : messageOf(fields, 1)
  if (epoch === null) return null
  const start = messageOf(epoch, 6)
  const state = messageOf(epoch, 3)
  const parameters = state === null ? null : messageOf(state, 6)
  const millis = parameters === null ? null : integerOf(parameters, 1)
  return Option.getOrNull(decodeEpoch({
    epoch: integerOf(epoch, 1) ?? 0n,
    start: start === null ? NaN : Number(integerOf(start, 1) ?? 0n),
    durationSeconds: millis === null ? usualEpochSeconds : Number(millis / 1000n),
    referenceGasPrice: integerOf(epoch, 8)
  }))
}

/** What a transaction costs, in MIST. */
export interface GasUsed {
  readonly computation: bigint
  readonly storage: bigint
  readonly rebate: bigint
}

/** Why a transaction failed, as far as a node says it. */
export interface ExecutionFailure {
  readonly description: string
  /** Place of the command that failed; null: none of them alone did. */
  readonly command: bigint | null
  /** Whom the issuer of a coin has frozen, and the coin that is frozen, for them or for all. */
  readonly deniedAddress: string | null
  readonly deniedCoinType: string | null
  /** The budget was too low. */
  readonly isOutOfGas: boolean
}

/** What a transaction did, or would do. */
export interface ExecutionOutcome {
  readonly gas: GasUsed
  readonly failure: ExecutionFailure | null
}

const readGas = (effects: Message): GasUsed | null => {
  const gas = messageOf(effects, 6)
  return gas === null
    ? null
    : { computation: integerOf(gas, 1) ?? 0n, storage: integerOf(gas, 2) ?? 0n, rebate: integerOf(gas, 3) ?? 0n }
}

/** `ExecutionErrorKind` of a budget that was too low. */
const insufficientGas = 1n

/** Characters of a node's own words that are shown. */
const maximumDescription = 200

const readFailure = (status: Message): ExecutionFailure => {
  const error = messageOf(status, 2)
  const denial = error === null ? null : messageOf(error, 11)
  return {
    description: (error === null ? null : textOf(error, 1))?.slice(0, maximumDescription) ?? "it gives no reason",
    command: error === null ? null : integerOf(error, 2),
    deniedAddress: denial === null ? null : canonicalAddress(textOf(denial, 1) ?? ""),
    deniedCoinType: denial === null ? null : canonicalCoinType(textOf(denial, 2) ?? ""),
    isOutOfGas: error !== null && integerOf(error, 3) === insufficientGas
  }
}

/** Of an `ExecutedTransaction`; a status without its flag is a failure. */
const readOutcome = (fields: Message): ExecutionOutcome | null => {
  const effects = messageOf(fields, 4)
  const status = effects === null ? null : messageOf(effects, 4)
  const gas = effects === null ? null : readGas(effects)
  if (status === null || gas === null) return null
  return { gas, failure: integerOf(status, 1) === 1n ? null : readFailure(status) }
}

/** Reads `SimulateTransactionResponse`. */
export const readSimulation = (bytes: Uint8Array): ExecutionOutcome | null => {
  const fields = readMessage(bytes)
  const transaction = fields === null ? null : messageOf(fields, 1)
  return transaction === null ? null : readOutcome(transaction)
}

export interface CheckpointedExecution extends ExecutionOutcome {
  readonly checkpoint: bigint
  /** Epoch seconds of the checkpoint. */
  readonly time: number
}

/** Reads `BatchGetTransactionsResponse` of one digest: `missing` where no checkpoint has it. */
export const readExecution = (bytes: Uint8Array, digest: string): CheckpointedExecution | "missing" | null => {
  const fields = readMessage(bytes)
  const results = fields === null ? null : messagesOf(fields, 1)
  if (results?.length !== 1) return null
  const [result] = results as [Message]
  if (!result.has(1)) return result.has(2) ? "missing" : null
  const transaction = messageOf(result, 1)
  if (transaction === null || textOf(transaction, 1) !== digest) return null
  const checkpoint = integerOf(transaction, 6)
  if (checkpoint === null) return "missing"
  const timestamp = messageOf(transaction, 7)
  const time = timestamp === null ? NaN : Number(integerOf(timestamp, 1) ?? 0n)
  const outcome = readOutcome(transaction)
  return outcome === null || checkpoint >= 2n ** 53n || !Number.isSafeInteger(time)
    ? null
    : { ...outcome, checkpoint, time }
}

/** A transaction of whoever made it. */
export interface ReportedExecution {
  readonly execution: CheckpointedExecution
  readonly transaction: CheckpointedTransaction
  /** Versions of objects that it changed, as {@link versionName} names them. */
  readonly spent: ReadonlyArray<string>
}

/** Of `ChangedObject`; null: it made the object. */
const readSpent = (fields: Message): string | null => {
  const id = canonicalAddress(textOf(fields, 1) ?? "")
  const version = integerOf(fields, 3)
  return id === null || version === null ? null : versionName({ id, version })
}

/** Reads `BatchGetTransactionsResponse` of one digest: `missing` where no checkpoint has it. */
export const readReportedExecution = (bytes: Uint8Array, digest: string): ReportedExecution | "missing" | null => {
  const execution = readExecution(bytes, digest)
  const transaction = readTransactions(bytes, [digest])?.[0] ?? null
  if (execution === "missing" || transaction === "missing") return "missing"
  const fields = readMessage(bytes)
  const result = fields === null ? null : messageOf(fields, 1)
  const found = result === null ? null : messageOf(result, 1)
  const effects = found === null ? null : messageOf(found, 4)
  const changed = effects === null ? null : messagesOf(effects, 12)
  if (execution === null || transaction === null || changed === null) return null
  return { execution, transaction, spent: changed.map(readSpent).filter((name) => name !== null) }
}
