/**
 * Transactions as JSON-RPC shows them (`getTransaction`, encoding `json`), and what in them came to watched wallets.
 * Pure.
 */
import { base58 } from "@scure/base"
import { Result, Schema } from "effect"
import type { LocatedTransfer, ObservedTransfer, WatchSet } from "../../../runtime/Chains.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import { memoPrograms } from "./Addresses.ts"
import { codeInReference, codesInMemo, matchKeyOf } from "./PaymentCode.ts"

/** Keys that a transaction can name, at most: instructions name them by an index of one byte. */
const maximumKeys = 256

/** 32 bytes in base58. */
export const Key = Schema.String.check(Schema.isPattern(/^[1-9A-HJ-NP-Za-km-z]{32,44}$/))
/** 64 bytes in base58. */
export const Signature = Schema.String.check(Schema.isPattern(/^[1-9A-HJ-NP-Za-km-z]{64,88}$/))
export const Slot = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }))

const Keys = Schema.Array(Key).check(Schema.isMaxLength(maximumKeys))
const Index = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: maximumKeys - 1 }))
/** Lamports: a whole number of 64 bits, above 2^53 as the client of JSON-RPC reads it exactly. */
const Lamports = Schema.Array(Schema.Union([Schema.Int, Schema.BigInt])).check(Schema.isMaxLength(maximumKeys))

const TokenBalance = Schema.Struct({
  accountIndex: Index,
  mint: Key,
  /** Absent: a node of long ago. */
  owner: Schema.optionalKey(Key),
  uiTokenAmount: Schema.Struct({ amount: Schema.String.check(Schema.isPattern(/^\d{1,20}$/)) })
})
const TokenBalances = Schema.NullishOr(Schema.Array(TokenBalance).check(Schema.isMaxLength(maximumKeys)))

const Instruction = Schema.Struct({
  programIdIndex: Index,
  data: Schema.String,
  /** Places of the keys that it was given. */
  accounts: Schema.optionalKey(Schema.Array(Index))
})

/** A transaction that was executed, whether it succeeded or failed. */
export const ChainTransaction = Schema.Struct({
  slot: Slot,
  /** Epoch seconds, as validators estimate them; null: not known to this node. */
  blockTime: Schema.NullishOr(Schema.Int),
  transaction: Schema.Struct({
    signatures: Schema.NonEmptyArray(Signature),
    message: Schema.Struct({
      accountKeys: Keys,
      header: Schema.Struct({ numRequiredSignatures: Index }),
      instructions: Schema.Array(Instruction)
    })
  }),
  meta: Schema.Struct({
    err: Schema.Unknown,
    fee: Schema.optionalKey(Schema.Union([Schema.Int, Schema.BigInt])),
    preBalances: Lamports,
    postBalances: Lamports,
    preTokenBalances: Schema.optionalKey(TokenBalances),
    postTokenBalances: Schema.optionalKey(TokenBalances),
    innerInstructions: Schema.optionalKey(
      Schema.NullishOr(
        Schema.Array(Schema.Struct({ index: Schema.optionalKey(Index), instructions: Schema.Array(Instruction) }))
      )
    ),
    loadedAddresses: Schema.optionalKey(Schema.NullishOr(Schema.Struct({ writable: Keys, readonly: Keys })))
  })
})
export type ChainTransaction = typeof ChainTransaction.Type

/** What a token account gained or lost in a transaction. */
export interface TokenMove {
  /** Its place among the transaction's keys. */
  readonly accountIndex: number
  readonly mint: string
  readonly owner: string
  readonly change: bigint
  readonly isClosed: boolean
}

/** All keys in the order in which balances name them: those of the message, then those of lookup tables. */
export const keysOf = ({ meta, transaction }: ChainTransaction): ReadonlyArray<string> => [
  ...transaction.message.accountKeys,
  ...meta.loadedAddresses?.writable ?? [],
  ...meta.loadedAddresses?.readonly ?? []
]

/**
 * Whether every key has its balances, and no token balance is of a key that is not named: an answer of which a part is
 * missing, as the keys of lookup tables, would be read as if less, or more, had come.
 */
export const isComplete = (transaction: ChainTransaction): boolean => {
  const { meta } = transaction
  const count = keysOf(transaction).length
  return meta.preBalances.length === count && meta.postBalances.length === count &&
    [...meta.preTokenBalances ?? [], ...meta.postTokenBalances ?? []].every(({ accountIndex }) => accountIndex < count)
}

type TokenBalance = typeof TokenBalance.Type

/** What an account gained or lost; `held`, `holds`: its balance before and after, undefined where it was no such account. */
const tokenMoveOf = (
  accountIndex: number,
  held: TokenBalance | undefined,
  holds: TokenBalance | undefined
): ReadonlyArray<TokenMove> => {
  const { mint, owner } = (holds ?? held)!
  if (owner === undefined) return []
  const change = BigInt(holds?.uiTokenAmount.amount ?? "0") - BigInt(held?.uiTokenAmount.amount ?? "0")
  return [{ accountIndex, mint, owner, change, isClosed: holds === undefined }]
}

/**
 * What each token account gained or lost. One that was closed and made anew, or was given to another owner, is two
 * accounts: all of the one before is lost, and all of the one after has come.
 */
export const tokenMovesOf = ({ meta }: ChainTransaction): ReadonlyArray<TokenMove> => {
  const before = new Map((meta.preTokenBalances ?? []).map((balance) => [balance.accountIndex, balance]))
  const after = new Map((meta.postTokenBalances ?? []).map((balance) => [balance.accountIndex, balance]))
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((accountIndex) => {
    const held = before.get(accountIndex)
    const holds = after.get(accountIndex)
    const isSame = held === undefined || holds === undefined ||
      (held.mint === holds.mint && (held.owner ?? holds.owner) === (holds.owner ?? held.owner))
    return isSame
      ? tokenMoveOf(accountIndex, held, holds)
      : [...tokenMoveOf(accountIndex, held, undefined), ...tokenMoveOf(accountIndex, undefined, holds)]
  })
}

const lamportsChange = ({ meta }: ChainTransaction, index: number): bigint =>
  BigInt(meta.postBalances[index] ?? 0) - BigInt(meta.preBalances[index] ?? 0)

/** Whether a wallet has less of a token (null: the coin) after a transaction: then its owner sent it, or a delegate did. */
export const hasSpent = (transaction: ChainTransaction, wallet: string, token: string | null): boolean => {
  if (token === null) {
    const index = keysOf(transaction).indexOf(wallet)
    return index >= 0 && lamportsChange(transaction, index) < 0n
  }
  const moves = tokenMovesOf(transaction).filter(({ mint, owner }) => mint === token && owner === wallet)
  return moves.reduce((sum, { change }) => sum + change, 0n) < 0n
}

/** Texts that the transaction gave to the memo program, also through other programs. */
export const memosOf = (transaction: ChainTransaction, keys: ReadonlyArray<string>): ReadonlyArray<string> =>
  [
    ...transaction.transaction.message.instructions,
    ...(transaction.meta.innerInstructions ?? []).flatMap(({ instructions }) => instructions)
  ].flatMap(({ data, programIdIndex }) => {
    if (!memoPrograms.has(keys[programIdIndex] ?? "")) return []
    const bytes = Result.getOrUndefined(Result.try(() => base58.decode(data)))
    return bytes === undefined ? [] : [Buffer.from(bytes).toString("utf8")]
  })

/** Who lost most of a token; null: nobody, as where it was minted. */
const tokenSender = (moves: ReadonlyArray<TokenMove>, mint: string): string | null =>
  moves.filter((move) => move.mint === mint && move.change < 0n)
    .toSorted((one, other) => one.change < other.change ? -1 : 1)[0]?.owner ?? null

/** Who lost most of the coin. */
const nativeSender = (transaction: ChainTransaction, keys: ReadonlyArray<string>): string | null => {
  let sender: { readonly key: string; readonly change: bigint } | null = null
  for (const [index, key] of keys.entries()) {
    const change = lamportsChange(transaction, index)
    if (change < (sender?.change ?? 0n)) sender = { key, change }
  }
  return sender?.key ?? null
}

/** A coin or token that came to a wallet in a transaction, however many transfers brought it. */
interface Receipt {
  readonly tokenAddress: string | null
  readonly index: number
  readonly amount: bigint
  readonly from: string | null
}

/** Added to the index of a token account to make a transfer's index: those below are the coin's, by the wallet's key. */
export const tokenIndexBase = maximumKeys

/**
 * What came to a wallet. Nothing where the wallet signed, or where it lost coins or tokens: then its owner swaps,
 * withdraws or closes accounts, and is not paid. The rent of a token account that was closed is no payment either.
 */
const receiptsOf = (
  transaction: ChainTransaction,
  keys: ReadonlyArray<string>,
  moves: ReadonlyArray<TokenMove>,
  wallet: string
): ReadonlyArray<Receipt> => {
  const index = keys.indexOf(wallet)
  if (index >= 0 && index < transaction.transaction.message.header.numRequiredSignatures) return []
  const own = moves.filter(({ owner }) => owner === wallet)
  const sums = [...Map.groupBy(own, ({ mint }) => mint)].map(([mint, ofMint]) => ({
    mint,
    sum: ofMint.reduce((sum, { change }) => sum + change, 0n),
    // Chosen by the transaction alone, whatever is watched, so that every reading gives the transfer the same index.
    first: Math.min(...ofMint.filter(({ change }) => change > 0n).map(({ accountIndex }) => accountIndex))
  }))
  const lamports = index < 0 ? 0n : lamportsChange(transaction, index)
  // Somebody who may spend what the wallet has exchanged it: a delegate, or the program of a multisig's vault.
  if (lamports < 0n || sums.some(({ sum }) => sum < 0n)) return []
  return [
    ...lamports > 0n && !own.some(({ isClosed }) => isClosed)
      ? [{ tokenAddress: null, index, amount: lamports, from: nativeSender(transaction, keys) }]
      : [],
    ...sums.filter(({ sum }) => sum > 0n).map(({ first, mint, sum }) => ({
      tokenAddress: mint,
      index: tokenIndexBase + first,
      amount: sum,
      from: tokenSender(moves, mint)
    }))
  ]
}

/**
 * The match key of what a transaction brings to a wallet: that of the one invoice which a reference or a memo names. If
 * they name none, or several, it is the wallet's own key, because nobody can say which invoice is paid.
 */
const matchKeyIn = (wallet: string, keys: ReadonlyArray<string>, memoCodes: ReadonlyArray<string>, watch: HasKey) => {
  const codes = new Set([...keys.flatMap((key) => codeInReference(wallet, key) ?? []), ...memoCodes])
  const named = [...codes].map((code) => matchKeyOf(wallet, code)).filter((key) => watch.has(key))
  return named.length === 1 ? named[0]! : wallet
}

type HasKey = Pick<WatchSet, "has" | "showsMemos">

/** The hash of a slot's block: the slot itself, because confirmed slots are not replaced and no call names hashes. */
export const hashOfSlot = (slot: bigint): string => `${slot}`

/**
 * The transfers of a transaction to watched wallets, by what arrived: the balances after it less those before. Empty
 * where it failed. `time`: epoch seconds of its block.
 */
export const transfersOf = (
  transaction: ChainTransaction,
  time: number,
  watch: HasKey
): ReadonlyArray<LocatedTransfer> => {
  if (transaction.meta.err !== null) return []
  const keys = keysOf(transaction)
  const moves = tokenMovesOf(transaction)
  const wallets = [...new Set([...keys, ...moves.map(({ owner }) => owner)])].filter((key) => watch.has(key))
  if (wallets.length === 0) return []
  const memos = memosOf(transaction, keys)
  const memoCodes = memos.flatMap(codesInMemo)
  const height = BigInt(transaction.slot)
  const at = { height, hash: hashOfSlot(height), time }
  return wallets.flatMap((wallet) =>
    receiptsOf(transaction, keys, moves, wallet).map(({ amount, ...receipt }): ObservedTransfer & LocatedTransfer => ({
      ...receipt,
      txHash: transaction.transaction.signatures[0],
      kind: "direct",
      matchKey: matchKeyIn(wallet, keys, memoCodes, watch),
      amount: baseUnits(amount),
      at,
      ...(watch.showsMemos === true ? { memos } : {})
    }))
  )
}
