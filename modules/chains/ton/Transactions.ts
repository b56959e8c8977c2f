/**
 * A transaction of an account, and the transfer that it is. TON's transactions have one incoming message each, so a
 * transfer is the only one of its transaction.
 */
import type { LocatedTransfer, WatchSet } from "../../../runtime/Chains.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { walletAddressOfKey } from "./Account.ts"
import { commentIn, readCell } from "./Comment.ts"
import { memoCodesIn } from "./MemoCode.ts"
import { isJettonGas, readJettonCredit } from "./Messages.ts"

/** A message to another account. */
export interface SentMessage {
  /** Key of the account. */
  readonly destination: string
  /** Native coin, in nanograms. */
  readonly value: bigint
  /** As {@link Transaction.message}'s. */
  readonly body: string | null
}

/** What is known of a transaction, whatever an API calls it. Accounts are keys. */
export interface Transaction {
  /** 64 hex digits in lower case. */
  readonly hash: string
  readonly account: string
  /** Epoch seconds of the block it is in. */
  readonly time: number
  /** Number of the masterchain block that made it final. */
  readonly height: bigint
  /** The shard's block it is in: workchain, shard and number. */
  readonly block: string
  /** What another account sent; null: nothing, the message came from outside the chain. */
  readonly message: {
    readonly source: string
    /** Native coin, in nanograms. */
    readonly value: bigint
    /** It is a message of this account's own that came back. */
    readonly isBounced: boolean
    /** A bag of cells in base64; null: the API does not have it. */
    readonly body: string | null
  } | null
  /** What the account sent to others. */
  readonly sent: ReadonlyArray<SentMessage>
  /** Whether what came was sent back. */
  readonly hasBounced: boolean
  /**
   * Whether the account's code ran to its end. A wallet without code runs none: then this is false, and what came stays
   * all the same.
   */
  readonly hasSucceeded: boolean
}

/** Whose money a transaction of an account moves. */
export interface Receiver {
  /** Key of the wallet. */
  readonly owner: string
  /** Null: the account is the wallet itself; else the jetton whose wallet it is, as the catalogue spells its master. */
  readonly token: string | null
}

/**
 * Native coin of less than this is not told where its comment names no invoice: 0.001 GRAM, in nanograms. Every wallet
 * gets such dust, sent for the advertisement in its comment, and a transfer costs more than it holds.
 */
export const advertisementBelow = 1_000_000n

interface Arrival {
  readonly amount: bigint
  readonly from: string | null
  readonly comment: string | null
}

const nativeArrival = ({ message }: Transaction): Arrival | null => {
  if (message === null || message.value <= 0n) return null
  const body = message.body === null ? null : readCell(message.body)
  if (body !== null && isJettonGas(body)) return null
  const comment = body === null || body.isExotic ? null : commentIn(body.beginParse())
  return { amount: message.value, from: message.source, comment }
}

/**
 * The wallet of a jetton accepts `internal_transfer` from the master and from other wallets of it alone (TEP-74), so
 * its success is the proof that the jettons have come.
 */
const jettonArrival = ({ hasSucceeded, message }: Transaction): Arrival | null => {
  const body = hasSucceeded && message !== null && message.body !== null ? readCell(message.body) : null
  const credit = body === null ? null : readJettonCredit(body)
  return credit === null || credit.amount === 0n ? null : credit
}

const isAdvertisement = ({ amount, comment }: Arrival): boolean =>
  amount < advertisementBelow && comment !== null && comment.trim() !== ""

/**
 * The key that what came to a wallet is matched by; null: nobody waits for it there. A comment that names several
 * invoices names none: which of them the payor meant would be a guess.
 */
const matchKeyOf = (owner: string, comment: string | null, has: WatchSet["has"]): string | null => {
  const [key, ...others] = memoCodesIn(comment ?? "").map((code) => memoKeyOf(owner, code)).filter(has)
  if (key !== undefined && others.length === 0) return key
  return has(owner) ? owner : null
}

/** Match key of an invoice's target at a wallet that invoices share. */
export const memoKeyOf = (owner: string, code: string): string => `${owner}:${code}`

/**
 * The transfer that a transaction is to a receiver; null when it credits nothing: it bounced, failed at a jetton
 * wallet, has no watched key, or is an advertisement.
 */
export const transferOf = (
  transaction: Transaction,
  { owner, token }: Receiver,
  { has, showsMemos = false }: Pick<WatchSet, "has" | "showsMemos">,
  environment: Environment
): LocatedTransfer | null => {
  const { block, hasBounced, hash, height, message, time } = transaction
  if (message === null || message.isBounced || hasBounced) return null
  const arrival = token === null ? nativeArrival(transaction) : jettonArrival(transaction)
  if (arrival === null) return null
  const matchKey = matchKeyOf(owner, arrival.comment, has)
  if (matchKey === null) return null
  if (token === null && matchKey === owner && isAdvertisement(arrival)) return null
  return {
    txHash: hash,
    index: 0,
    kind: "direct",
    matchKey,
    tokenAddress: token,
    amount: baseUnits(arrival.amount),
    from: arrival.from === null ? null : walletAddressOfKey(arrival.from, environment),
    at: { height, hash: block, time },
    ...(showsMemos ? { memos: arrival.comment === null ? [] : [arrival.comment] } : {})
  }
}
