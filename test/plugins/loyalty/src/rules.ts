/** What a payment is worth in points. Pure. */
import { Result, Schema } from "effect"
import type { CommittedEvent, Environment } from "tillwire/plugin"

/** Thousandths of a dollar, the unit of amounts on the wire, that one point takes. */
const amountOfPoint = 1_000

/** What of an invoice's event counts here. */
const PaidInvoice = Schema.fromJsonString(Schema.Struct({
  object: Schema.Struct({ customer_id: Schema.NullOr(Schema.String), amount_paid: Schema.Int })
}))
const readPaidInvoice = Schema.decodeUnknownResult(PaidInvoice)

/** Points of one customer. */
export interface Account {
  readonly merchantId: number
  readonly environment: Environment
  readonly customerId: string
  readonly version: number
  readonly points: number
}

/** How many points each customer earned by these events: one for each whole dollar of a paid invoice. */
export const pointsOf = (events: ReadonlyArray<CommittedEvent>): ReadonlyMap<string, number> => {
  const points = new Map<string, number>()
  for (const { data, type } of events) {
    const invoice = type === "invoice.paid" ? readPaidInvoice(data) : undefined
    if (invoice === undefined || Result.isFailure(invoice)) continue
    const { amount_paid: amount, customer_id: customerId } = invoice.success.object
    if (customerId === null) continue
    points.set(customerId, (points.get(customerId) ?? 0) + Math.floor(amount / amountOfPoint))
  }
  return points
}

/** The account after points came or went. */
export const withPoints = (account: Account, change: number): Account => ({
  ...account,
  version: account.version + 1,
  points: account.points + change
})
