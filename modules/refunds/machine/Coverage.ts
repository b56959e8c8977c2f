/**
 * Open exceptions whose money a refund gives back that was not opened by a decision on them: it is the decision, so
 * that nobody keeps the same money as well. Pure.
 */
import { uuidOf } from "../../../schemas/NamedUuid.ts"
import { type UsdMillis, usdMillis } from "../../../schemas/Money.ts"
import { type Aggregate, allowedActions, type Command, forecastExceptions, isExcess } from "../../invoices/plugin.ts"
import type { PaymentPortion } from "./Portions.ts"
import type { RefundState } from "./State.ts"
import { withRefunds } from "./Tracking.ts"

type OpenException = Aggregate["exceptions"][number]

/** What of one open exception a call gives back. */
export interface CoveredException {
  /** The exception that is resolved: the open one, or one of its own for the part that is given back. */
  readonly id: string
  readonly open: OpenException
  readonly amount: UsdMillis
  /** Null: all of it. */
  readonly part: NonNullable<Extract<Command, { _tag: "Resolve" }>["part"]> | null
  /** Payments that give it. */
  readonly paymentIds: ReadonlySet<string>
}

/** usd_millis of an open exception that these refunds take from it. */
interface Taken {
  readonly open: OpenException
  readonly amount: bigint
  readonly isWhole: boolean
}

/** What the sum of an invoice says of each open exception about too much money once the portions are on their way. */
const takenOf = (
  portions: ReadonlyArray<PaymentPortion>,
  invoice: Aggregate,
  refunds: ReadonlyArray<RefundState>
): ReadonlyArray<Taken> => {
  const before = withRefunds(invoice, refunds)
  const opened = portions.map(({ payment, usd }, place) => ({
    id: `portion ${place}`,
    paymentId: payment.id,
    source: "all" as const,
    amount: usd,
    isSent: false
  }))
  const after = forecastExceptions(before, [...before.invoice.openRefunds ?? [], ...opened])
  return invoice.exceptions.flatMap((open) => {
    const next = after.find(({ id }) => id === open.id)
    if (open.status !== "open" || !isExcess(open) || next === undefined) return []
    const isWhole = next.status === "resolved"
    const amount = isWhole ? open.amount : open.amount - next.amount
    return amount > 0n ? [{ open, amount, isWhole }] : []
  })
}

const isRefundable = (open: OpenException, { invoice, payments }: Aggregate): boolean =>
  allowedActions(open, { invoice, payment: payments.find(({ id }) => id === open.paymentId) ?? null })
    .includes("refund")

/**
 * The exceptions about too much money that these portions give back, whole or in part, as the invoice's sum says. The
 * money of a `duplicate_payment` is its own payment's first; a portion may give back what several are about.
 */
export const coveredExceptions = (
  portions: ReadonlyArray<PaymentPortion>,
  invoice: Aggregate,
  refunds: ReadonlyArray<RefundState>
): ReadonlyArray<CoveredException> => {
  const left = new Map<PaymentPortion, bigint>(portions.map((each) => [each, each.usd]))
  const taken = takenOf(portions, invoice, refunds).filter(({ open }) => isRefundable(open, invoice))
    .toSorted((a, b) => Number(a.open.paymentId === null) - Number(b.open.paymentId === null))
  const given = taken.map((each) => {
    let needed = each.amount
    const isOwn = ({ payment }: PaymentPortion) => payment.id === each.open.paymentId
    const givers = portions.toSorted((a, b) => Number(isOwn(b)) - Number(isOwn(a))).filter((portion) => {
      const share = left.get(portion)! < needed ? left.get(portion)! : needed
      left.set(portion, left.get(portion)! - share)
      needed -= share
      return share > 0n
    })
    return { ...each, paymentIds: new Set(givers.map(({ payment }) => payment.id)) }
  })
  return given.filter(({ paymentIds }) => paymentIds.size > 0).map(
    ({ amount, isWhole, open, paymentIds }): CoveredException => {
      // The invoice's version makes it another id with each change, and the same one where a change is decided anew.
      const id = isWhole
        ? open.id
        : `exc_${uuidOf(`part of exception ${open.id} in version ${invoice.invoice.version}`)}`
      const part = usdMillis(amount)
      return { id, open, amount: part, paymentIds, part: isWhole ? null : { id, amount: part } }
    }
  )
}
