/** What a change of an invoice means for the books. Pure. */
import type { Aggregate, Command, HookInput, InvoiceFact, PaymentState } from "../../invoices/plugin.ts"
import { type Booking, combine, move, noteWaiver, type Standing, type TransactionType } from "./Moves.ts"
import { paymentPosition, waivedAmount } from "./Positions.ts"

/** Makes the id of a balance transaction: the same one for the same cause. */
export type NameTransaction = (type: TransactionType, sourceId: string, version: number) => string

/** What the books have from before they were kept is booked now, by a change that does nothing else. */
export interface OpeningFact extends InvoiceFact {
  readonly _tag: "BooksOpened"
}

export const openingFact: OpeningFact = { _tag: "BooksOpened" }

const isOpening = (facts: ReadonlyArray<InvoiceFact>): boolean => facts.some(({ _tag }) => _tag === "BooksOpened")

/** Where a payment's money is in the books: nowhere until they know it. */
const standingOf = (state: Aggregate, payment: PaymentState | undefined): Standing => {
  const transactionId = payment?.balanceTransactionId ?? null
  return {
    transactionId,
    position: payment === undefined || transactionId === null ? null : paymentPosition(state, payment)
  }
}

/** The groups of a change, and which transaction each of its payments is in. */
export const bookChange = (
  { before, decision, facts, now }: Pick<HookInput, "before" | "decision" | "facts" | "now">,
  nameTransaction: NameTransaction
): { readonly booking: Booking; readonly commands: ReadonlyArray<Command> } => {
  const { next } = decision
  const previousById = new Map(before.payments.map((payment) => [payment.id, payment]))
  const decidedIds = new Set(decision.changedExceptions.map(({ paymentId }) => paymentId))
  const opens = isOpening(facts)
  const commands: Array<Command> = []
  const bookings: Array<Booking> = []
  for (const payment of next.payments) {
    const previous = previousById.get(payment.id)
    if (payment === previous && !decidedIds.has(payment.id) && !opens) continue
    const standing = standingOf(before, previous)
    const version = (previous?.version ?? 0) + 1
    const { booking, transactionId } = move(standing, paymentPosition(next, payment), {
      source: { object: "invoice_payment", id: payment.id },
      now,
      idOf: (type) => nameTransaction(type, payment.id, version)
    })
    bookings.push(booking)
    if (transactionId !== (payment.balanceTransactionId ?? null)) {
      commands.push({ _tag: "Book", paymentId: payment.id, balanceTransactionId: transactionId })
    }
  }
  bookings.push(noteWaiver(waivedAmount(before.invoice), waivedAmount(next.invoice), {
    source: { object: "invoice", id: next.invoice.id },
    now,
    idOf: (type) => nameTransaction(type, next.invoice.id, before.invoice.version + 1)
  }))
  return { booking: combine(bookings), commands }
}
