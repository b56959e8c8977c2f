/** What a change of an invoice means for the books. Pure. */
import type {
  Aggregate,
  AssignmentFact,
  Command,
  ExceptionRecord,
  HookInput,
  InvoiceFact,
  PaymentState,
  UnmatchedChange
} from "../../invoices/plugin.ts"
import {
  type BookedPosition,
  combine,
  move,
  type NameTransaction,
  noteWaiver,
  nothingBooked,
  type Postings,
  type Transaction
} from "./Moves.ts"
import type { Entry } from "./Accounts.ts"
import { bookEarlierRefund } from "./RefundBookings.ts"
import { paymentPosition, unmatchedPosition, waivedAmount } from "./Positions.ts"
import { bookSettlement, groupedSettlement } from "./Settlements.ts"

/** What the books have from before they were kept is booked now, by a change that does nothing else. */
export interface OpeningFact extends InvoiceFact {
  readonly _tag: "BooksOpened"
}

export const openingFact: OpeningFact = { _tag: "BooksOpened" }

const isOpening = (facts: ReadonlyArray<InvoiceFact>): boolean => facts.some(({ _tag }) => _tag === "BooksOpened")

const isAssignment = (fact: InvoiceFact): fact is AssignmentFact => fact._tag === "MoneyAssigned"

/** The exception whose money this change gives to the invoice; null: it gives none. */
export const assignedIn = (facts: ReadonlyArray<InvoiceFact>): ExceptionRecord | null =>
  facts.find(isAssignment)?.record ?? null

/** A transaction of an exception, as it is stored. */
export interface StoredExceptionTransaction extends Pick<Transaction, "id" | "reverses"> {
  readonly entries: ReadonlyArray<Pick<Entry, "credit">>
}

/**
 * The transaction that an exception's money is in, of all that are about it; null: the books do not know it. Its
 * version tells nothing: it rises with changes that book nothing, as those of its refund.
 */
export const transactionOfException = (
  { exception }: Pick<ExceptionRecord, "exception">,
  stored: ReadonlyArray<StoredExceptionTransaction>
): string | null => {
  const position = unmatchedPosition(exception)
  const reversedIds = new Set(stored.map(({ reverses }) => reverses))
  const isThere = ({ entries, id, reverses }: StoredExceptionTransaction) =>
    reverses === null && !reversedIds.has(id) && entries.some(({ credit }) => credit === position?.account)
  return position === null ? null : stored.find(isThere)?.id ?? null
}

/**
 * The groups of a change of an exception without an invoice. `transactionId`: the transaction that its money was in
 * before; null: the books do not know of it.
 */
export const bookUnmatched = (
  { after, before, now }: Pick<UnmatchedChange, "after" | "before" | "now">,
  transactionId: string | null,
  nameTransaction: NameTransaction
): { readonly booking: Postings; readonly earlier: Postings } => {
  const { booking } = move(unmatchedBefore(before, transactionId), unmatchedPosition(after.exception), {
    source: { object: "exception", id: after.exception.id },
    now,
    idOf: (type) => nameTransaction(type, after.exception.id, after.exception.version)
  })
  const isEarlier = before !== null && transactionId === null && unmatchedPosition(before.exception) !== null
  return isEarlier ? { booking: nothingBooked, earlier: booking } : { booking, earlier: nothingBooked }
}

const unmatchedBefore = (record: ExceptionRecord | null, transactionId: string | null): BookedPosition => ({
  position: record === null || transactionId === null ? null : unmatchedPosition(record.exception),
  transactionId
})

/** Where a payment's money is in the books: nowhere until they know it. */
const positionBefore = (state: Aggregate, payment: PaymentState | undefined): BookedPosition => {
  const transactionId = payment?.balanceTransactionId ?? null
  return {
    transactionId,
    position: payment === undefined || transactionId === null ? null : paymentPosition(state, payment)
  }
}

/** What is booked of a change of an invoice. */
export interface InvoicePostings {
  readonly booking: Postings
  /** What the books should have had before, so that nobody is told of it. */
  readonly earlier: Postings
  /** Which transaction each of its payments is in. */
  readonly commands: ReadonlyArray<Command>
  /** In the books of the exception whose money was assigned, where those are the operator's. */
  readonly assignedAway: Postings | null
}

/**
 * The groups of a change. `assignedTransactionId`: the transaction of the money that it gives to the invoice; null: the
 * books do not know of that.
 */
export const bookChange = (
  { before, decision, facts, now }: Pick<HookInput, "before" | "decision" | "facts" | "now">,
  nameTransaction: NameTransaction,
  assignedTransactionId: string | null = null
): InvoicePostings => {
  const { next } = decision
  const assigned = assignedIn(facts)
  const assignedBefore = unmatchedBefore(assigned, assignedTransactionId)
  const isOwnAssignment = assigned?.merchantId === next.invoice.merchantId
  const previousById = new Map(before.payments.map((payment) => [payment.id, payment]))
  const decidedIds = new Set(decision.changedExceptions.map(({ paymentId }) => paymentId))
  const opens = isOpening(facts)
  const commands: Array<Command> = []
  const bookings: Array<Postings> = []
  const earlier: Array<Postings> = []
  for (const payment of next.payments) {
    const previous = previousById.get(payment.id)
    if (payment === previous && !decidedIds.has(payment.id) && !opens) continue
    const from = previous === undefined && isOwnAssignment ? assignedBefore : positionBefore(before, previous)
    const version = (previous?.version ?? 0) + 1
    const { booking, transactionId } = move(from, paymentPosition(next, payment), {
      source: { object: "invoice_payment", id: payment.id },
      now,
      idOf: (type) => nameTransaction(type, payment.id, version)
    })
    const isEarlier = previous !== undefined && previous.status !== "reverted" && previous.balanceTransactionId == null
    const into = isEarlier ? earlier : bookings
    into.push(booking)
    if (isEarlier) into.push(bookEarlierRefund(next, previous, { nameTransaction, now }))
    const grouped = groupedSettlement(next.invoice, payment)
    if (grouped !== null) {
      commands.push({ _tag: "Settle", paymentId: payment.id, settlement: grouped, isSilent: opens })
    }
    const isKnown = previous?.balanceTransactionId != null || previous?.status === "reverted"
    into.push(bookSettlement(next.invoice, isKnown ? previous : undefined, payment, {
      source: { object: "invoice_payment", id: payment.id },
      now,
      idOf: (type) => nameTransaction(type, payment.id, version)
    }))
    if (transactionId !== (payment.balanceTransactionId ?? null)) {
      commands.push({ _tag: "Book", paymentId: payment.id, balanceTransactionId: transactionId, isSilent: opens })
    }
  }
  bookings.push(noteWaiver(waivedAmount(before.invoice), waivedAmount(next.invoice), {
    source: { object: "invoice", id: next.invoice.id },
    now,
    idOf: (type) => nameTransaction(type, next.invoice.id, before.invoice.version + 1)
  }))
  const assignedAway = assigned === null || isOwnAssignment ? null : move(assignedBefore, null, {
    source: { object: "exception", id: assigned.exception.id },
    now,
    idOf: (type) => nameTransaction(type, assigned.exception.id, assigned.exception.version + 1)
  }).booking
  return { booking: combine(bookings), earlier: combine(earlier), commands, assignedAway }
}
