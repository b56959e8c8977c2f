/** What an invoice knows of its refunds: by the money that is on its way back, it says what is too much. Pure. */
import { type Aggregate, type Command, type Excess, excessOf, type OpenRefund } from "../../invoices/plugin.ts"
import { usdMillis } from "../../../schemas/Money.ts"
import { isUnsent } from "./Received.ts"
import { isOpen, type RefundState, type ReopenedException } from "./State.ts"

/** A refund as its invoice keeps it; the amount is 0 once it is paid, which the payments know, or given up. */
const trackedRefund = (refund: RefundState): OpenRefund => ({
  id: refund.id,
  paymentId: refund.paymentId,
  source: refund.source,
  amount: isOpen(refund) ? refund.amount : usdMillis(0n),
  isSent: isOpen(refund) && !isUnsent(refund)
})

/** Those that are on their way. */
export const openRefunds = (refunds: ReadonlyArray<RefundState>): ReadonlyArray<OpenRefund> =>
  refunds.map(trackedRefund).filter(({ amount }) => amount > 0n)

/** The invoice with all of these refunds on their way. */
export const withRefunds = (invoice: Aggregate, refunds: ReadonlyArray<RefundState>): Aggregate => ({
  ...invoice,
  invoice: { ...invoice.invoice, openRefunds: openRefunds(refunds) }
})

/** What is too much of an invoice, less what these refunds give back of it. */
export const excessWith = (invoice: Aggregate, refunds: ReadonlyArray<RefundState>): Excess =>
  excessOf(withRefunds(invoice, refunds))

/** What a change of a refund means to its invoice; `before` is null for a new one. */
export const trackCommands = (
  before: RefundState | null,
  after: RefundState,
  reopenedException?: ReopenedException
): ReadonlyArray<Command> => {
  const refund = trackedRefund(after)
  const previous = before === null ? null : trackedRefund(before)
  const isSame = refund.amount === (previous?.amount ?? 0n) &&
    (refund.amount === 0n || refund.isSent === previous?.isSent)
  if (reopenedException === undefined) return isSame ? [] : [{ _tag: "TrackRefund", refund }]
  return [{ _tag: "TrackRefund", refund, reopenedException }]
}

/** Refunds of which the invoice knows something else: a batch holds a refund without it. */
export const untrackedRefunds = (
  { invoice: { openRefunds: known = [] } }: Aggregate,
  refunds: ReadonlyArray<RefundState>
): ReadonlyArray<Command> =>
  openRefunds(refunds).flatMap((refund): ReadonlyArray<Command> => {
    const found = known.find(({ id }) => id === refund.id)
    const isKnown = found?.amount === refund.amount && found.isSent === refund.isSent
    return isKnown ? [] : [{ _tag: "TrackRefund", refund }]
  })
