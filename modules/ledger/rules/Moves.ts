/**
 * Balance transactions: what is booked when money is somewhere else than before. Every rule is a function of the two
 * positions, so the books follow a chain, a person or a correction in the same way, and what was booked always adds up
 * to where the money is. Pure.
 *
 * A pending transaction is posted or voided once: its second group has the same key, whoever writes it. Nothing booked
 * is ever changed; a reversal names what it reverses.
 */
import type { BookOwner, Entry } from "./Accounts.ts"
import { accounts, balanceDeltas, chainAccount } from "./Accounts.ts"
import type { BalanceDelta } from "../../../runtime/Commit.ts"
import type { BalanceTransactionType } from "../../../schemas/BalanceTransaction.ts"
import { type ArrivalType, hasSameValue, isSamePosition, type Position } from "./Positions.ts"

/** The object that a balance transaction is about. */
export interface Source {
  readonly object: "invoice_payment" | "exception" | "refund" | "invoice" | "adjustment" | "batch_line"
  readonly id: string
}

/** A balance transaction as it is booked, once. */
export interface Transaction {
  readonly id: string
  readonly type: BalanceTransactionType
  /** Until its second group posts or voids it. */
  readonly startsPending: boolean
  /** usd_millis it is about; below zero: they go away. */
  readonly amount: bigint
  /** usd_millis that it adds to the merchant's balance. */
  readonly net: bigint
  /** Null where no token is moved. */
  readonly asset: string | null
  readonly units: bigint
  readonly source: Source
  readonly reverses: string | null
  readonly createdAt: number
}

/** Entries that were booked together: those of a transaction, or those that end a pending one. */
export interface Group {
  readonly transactionId: string
  readonly kind: "booked" | "posted" | "voided"
  readonly createdAt: number
  /** The payment whose money it moves; null: other money. */
  readonly paymentId: string | null
  readonly entries: ReadonlyArray<Entry>
}

/** The payment that an object is; null: it is none. */
export const paymentIdOf = ({ id, object }: Source): string | null => object === "invoice_payment" ? id : null

/** What is booked in one commit. */
export interface Postings {
  readonly transactions: ReadonlyArray<Transaction>
  readonly groups: ReadonlyArray<Group>
}

export const nothingBooked: Postings = { transactions: [], groups: [] }

export const combine = (bookings: ReadonlyArray<Postings>): Postings => ({
  transactions: bookings.flatMap(({ transactions }) => transactions),
  groups: bookings.flatMap(({ groups }) => groups)
})

/** What a booking moves of balances. */
export const deltasOf = (owner: BookOwner, { groups }: Postings): ReadonlyArray<BalanceDelta> =>
  balanceDeltas(owner, groups.flatMap(({ entries }) => entries))

/** Makes the id of a balance transaction: the same one for the same cause. */
export type NameTransaction = (type: BalanceTransactionType, sourceId: string, version: number) => string

/** An object's change, and how its transactions are named: by the type, the object and the version it gets. */
export interface Cause {
  readonly source: Source
  readonly now: number
  readonly idOf: (type: BalanceTransactionType) => string
}

/** Where the money of an object is, and the transaction that brought it there; null: nowhere, or never booked. */
export interface BookedPosition {
  readonly position: Position | null
  readonly transactionId: string | null
}

/** A booking, and the transaction that the object's money is in afterwards. */
export interface Move {
  readonly booking: Postings
  readonly transactionId: string | null
}

const entryOf = ({ asset, units, usdMillis }: Position, debit: string, credit: string): Entry => ({
  debit,
  credit,
  asset,
  units,
  usdMillis
})

const isMerchants = ({ account }: Position): boolean => account === accounts.pending || account === accounts.available

/** Money comes to where it is, from the chain or from `suspense`. */
const arrive = (position: Position, from: string, { idOf, now, source }: Cause): Move => {
  const id = idOf(position.type)
  return {
    transactionId: id,
    booking: {
      transactions: [{
        id,
        type: position.type,
        startsPending: position.account === accounts.pending,
        amount: position.usdMillis,
        net: isMerchants(position) ? position.usdMillis : 0n,
        asset: position.asset,
        units: position.units,
        source,
        reverses: null,
        createdAt: now
      }],
      groups: [{
        transactionId: id,
        kind: "booked",
        createdAt: now,
        paymentId: paymentIdOf(source),
        entries: [entryOf(position, from, position.account)]
      }]
    }
  }
}

/** Money leaves where it was, back to the chain: pending money as if it had never come. */
const leave = (position: Position, transactionId: string, { idOf, now, source }: Cause): Postings => {
  const entries = [entryOf(position, position.account, chainAccount(position.wallet))]
  if (position.account === accounts.pending) {
    const paymentId = paymentIdOf(source)
    return { transactions: [], groups: [{ transactionId, kind: "voided", createdAt: now, paymentId, entries }] }
  }
  const type = isMerchants(position) ? "payment_reversal" : "suspense"
  // Of an object that leaves suspense and comes back to it in one change there are two transactions of that type.
  const id = idOf("payment_reversal")
  return {
    transactions: [{
      id,
      type,
      startsPending: false,
      amount: -position.usdMillis,
      net: isMerchants(position) ? -position.usdMillis : 0n,
      asset: position.asset,
      units: -position.units,
      source,
      reverses: transactionId,
      createdAt: now
    }],
    groups: [{ transactionId: id, kind: "booked", createdAt: now, paymentId: paymentIdOf(source), entries }]
  }
}

/**
 * What is booked when money that was at `before` is at `after`. Pending money of the same value is posted. Money in
 * suspense goes straight to where a decision puts it. Anything else leaves for the chain and comes anew, so that every
 * transaction has the value it was booked with.
 */
export const move = (before: BookedPosition, after: Position | null, cause: Cause): Move => {
  const { position: from, transactionId } = before
  if (from === null || transactionId === null) {
    return after === null
      ? { booking: nothingBooked, transactionId: null }
      : arrive(after, chainAccount(after.wallet), cause)
  }
  if (isSamePosition(from, after)) return { booking: nothingBooked, transactionId }
  if (after === null) return { booking: leave(from, transactionId, cause), transactionId: null }
  if (hasSameValue(from, after)) {
    if (from.account === accounts.pending && after.account === accounts.available) {
      const entries = [entryOf(from, from.account, after.account)]
      const paymentId = paymentIdOf(cause.source)
      const group: Group = { transactionId, kind: "posted", createdAt: cause.now, paymentId, entries }
      return { booking: { transactions: [], groups: [group] }, transactionId }
    }
    if (!isMerchants(from)) return arrive(after, from.account, cause)
  }
  const next = arrive(after, chainAccount(after.wallet), cause)
  return {
    booking: combine([leave(from, transactionId, cause), next.booking]),
    transactionId: next.transactionId
  }
}

/** A shortfall that is waived, or no longer: a note of the books that moves no money. */
export const noteWaiver = (before: bigint, after: bigint, { idOf, now, source }: Cause): Postings =>
  before === after ? nothingBooked : {
    transactions: [{
      id: idOf("tolerance_writeoff"),
      type: "tolerance_writeoff",
      startsPending: false,
      amount: before - after,
      net: 0n,
      asset: null,
      units: 0n,
      source,
      reverses: null,
      createdAt: now
    }],
    groups: []
  }

export type { ArrivalType }
