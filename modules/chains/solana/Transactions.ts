/** Transactions as JSON-RPC shows them (`getTransaction`, encoding `json`), and what in them came to our wallets. Pure. */
import { base58 } from "@scure/base"
import { Result, Schema } from "effect"
import type { ObservedTransfer, PlacedTransfer, WatchSet } from "../../../runtime/Chains.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import { memoPrograms } from "./Addresses.ts"
import { codeInReference, codesInMemo, matchKeyOf } from "./PaymentCode.ts"

/** Keys that a transaction can name: an index of one byte. */
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

const Instruction = Schema.Struct({ programIdIndex: Index, data: Schema.String })

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
    preBalances: Lamports,
    postBalances: Lamports,
    preTokenBalances: Schema.optionalKey(TokenBalances),
    postTokenBalances: Schema.optionalKey(TokenBalances),
    innerInstructions: Schema.optionalKey(
      Schema.NullishOr(Schema.Array(Schema.Struct({ instructions: Schema.Array(Instruction) })))
    ),
    loadedAddresses: Schema.optionalKey(Schema.NullishOr(Schema.Struct({ writable: Keys, readonly: Keys })))
  })
})
export type ChainTransaction = typeof ChainTransaction.Type

/** A token account's part in a transaction. */
interface TokenMove {
  readonly accountIndex: number
  readonly mint: string
  readonly owner: string
  readonly change: bigint
  readonly isClosed: boolean
}

/** All keys in the order in which balances name them: those of the message, then those of lookup tables. */
const keysOf = ({ meta, transaction }: ChainTransaction): ReadonlyArray<string> => [
  ...transaction.message.accountKeys,
  ...meta.loadedAddresses?.writable ?? [],
  ...meta.loadedAddresses?.readonly ?? []
]

const tokenMovesOf = ({ meta }: ChainTransaction): ReadonlyArray<TokenMove> => {
  const before = new Map((meta.preTokenBalances ?? []).map((balance) => [balance.accountIndex, balance]))
  const after = new Map((meta.postTokenBalances ?? []).map((balance) => [balance.accountIndex, balance]))
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((accountIndex) => {
    const pre = before.get(accountIndex)
    const post = after.get(accountIndex)
    const { mint, owner } = (post ?? pre)!
    if (owner === undefined) return []
    // An account that was closed and made anew may hold another mint: then all of it has come.
    const held = pre !== undefined && pre.mint === mint && pre.owner === owner ? BigInt(pre.uiTokenAmount.amount) : 0n
    const change = BigInt(post?.uiTokenAmount.amount ?? "0") - held
    return [{ accountIndex, mint, owner, change, isClosed: post === undefined }]
  })
}

const lamportsChange = ({ meta }: ChainTransaction, index: number): bigint =>
  BigInt(meta.postBalances[index] ?? 0) - BigInt(meta.preBalances[index] ?? 0)

/** Texts that the transaction gave to the memo program, also through other programs. */
const memosOf = (transaction: ChainTransaction, keys: ReadonlyArray<string>): ReadonlyArray<string> =>
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

/** What the transfers of a transaction to one wallet have in common. */
interface Receipt {
  readonly tokenAddress: string | null
  readonly index: number
  readonly amount: bigint
  readonly from: string | null
}

/** Place of the first token account among the indices of transfers: those below are wallets'. */
const tokenIndexBase = maximumKeys

/**
 * What came to a wallet. Nothing where the wallet signed: then its owner swaps, withdraws or closes accounts, and is
 * not paid. The rent of a token account that was closed is no payment either.
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
  const byMint = Map.groupBy(own, ({ mint }) => mint)
  const sums = [...byMint].map(([mint, ofMint]) => ({
    mint,
    sum: ofMint.reduce((sum, { change }) => sum + change, 0n),
    // Of the transaction alone, whoever watches: the same account whenever it is read.
    first: Math.min(...ofMint.filter(({ change }) => change > 0n).map(({ accountIndex }) => accountIndex))
  }))
  // Somebody who may spend the wallet's tokens exchanged them.
  if (sums.some(({ sum }) => sum < 0n)) return []
  const lamports = index < 0 || own.some(({ isClosed }) => isClosed) ? 0n : lamportsChange(transaction, index)
  return [
    ...lamports > 0n
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
 * The invoice that a transaction names at a wallet: by a reference or a memo of an invoice that is watched. None, or
 * more than one: the wallet's own key, for nobody can say which of them is paid.
 */
const matchKeyIn = (wallet: string, keys: ReadonlyArray<string>, memoCodes: ReadonlyArray<string>, watch: HasKey) => {
  const codes = new Set([...keys.flatMap((key) => codeInReference(wallet, key) ?? []), ...memoCodes])
  const named = [...codes].map((code) => matchKeyOf(wallet, code)).filter((key) => watch.has(key))
  return named.length === 1 ? named[0]! : wallet
}

type HasKey = Pick<WatchSet, "has">

/** The block of a slot: what tells one reading of it from another is the slot itself. */
export const hashOfSlot = (slot: bigint): string => `${slot}`

/**
 * The transfers of a transaction to watched wallets, by what arrived: the balances after it less those before. Empty
 * where it failed. `time`: epoch seconds of its block.
 */
export const transfersOf = (
  transaction: ChainTransaction,
  time: number,
  watch: HasKey
): ReadonlyArray<PlacedTransfer> => {
  if (transaction.meta.err !== null) return []
  const keys = keysOf(transaction)
  const moves = tokenMovesOf(transaction)
  const wallets = [...new Set([...keys, ...moves.map(({ owner }) => owner)])].filter((key) => watch.has(key))
  if (wallets.length === 0) return []
  const memoCodes = memosOf(transaction, keys).flatMap(codesInMemo)
  const height = BigInt(transaction.slot)
  const at = { height, hash: hashOfSlot(height), time }
  return wallets.flatMap((wallet) =>
    receiptsOf(transaction, keys, moves, wallet).map(({ amount, ...receipt }): ObservedTransfer & PlacedTransfer => ({
      ...receipt,
      txHash: transaction.transaction.signatures[0],
      kind: "direct",
      matchKey: matchKeyIn(wallet, keys, memoCodes, watch),
      amount: baseUnits(amount),
      at
    }))
  )
}
