/**
 * Open exceptions whose money a refund gives back that was not opened by a decision on them: it is the decision, so
 * that nobody keeps the same money as well. Pure.
 */
import { uuidOf } from "../../../schemas/NamedUuid.ts"
import { type UsdMillis, usdMillis } from "../../../schemas/Money.ts"
import { type Aggregate, allowedActions, type Command } from "../../invoices/plugin.ts"
import { excessOf, type PaymentPortion, portionLeft } from "./Portions.ts"
import type { RefundState } from "./State.ts"

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

const isExcess = ({ type }: OpenException): boolean => type === "overpaid" || type === "duplicate_payment"

/** What is left to give back of an exception; where nothing is by the sums, all that it is about. */
const neededOf = (
  { amount, paymentId }: OpenException,
  invoice: Aggregate,
  refunds: ReadonlyArray<RefundState>
): bigint => {
  const payment = invoice.payments.find(({ id }) => id === paymentId)
  const left: bigint = payment === undefined
    ? excessOf(invoice, refunds)
    : portionLeft(payment, invoice.payments, refunds).usd
  return left > 0n && left < amount ? left : amount
}

/**
 * The exceptions about too much money that these portions give back: a payment's own `duplicate_payment` first, then
 * `overpaid`, then the others in the order in which they opened, since what goes back is what was too much until
 * nothing is. Each portion serves one exception.
 */
export const coveredExceptions = (
  portions: ReadonlyArray<PaymentPortion>,
  invoice: Aggregate,
  refunds: ReadonlyArray<RefundState>
): ReadonlyArray<CoveredException> => {
  const open = invoice.exceptions.filter((each) =>
    each.status === "open" && isExcess(each) && allowedActions(each, {
      invoice: invoice.invoice,
      payment: invoice.payments.find(({ id }) => id === each.paymentId) ?? null
    }).includes("refund")
  ).toSorted((a, b) => Number(b.type === "overpaid") - Number(a.type === "overpaid"))
  const needed = new Map(open.map((each) => [each, neededOf(each, invoice, refunds)]))
  const given = new Map<OpenException, { readonly usd: bigint; readonly paymentIds: ReadonlySet<string> }>()
  const lacks = (each: OpenException) => (given.get(each)?.usd ?? 0n) < needed.get(each)!
  const isOwn = ({ payment }: PaymentPortion) => open.some(({ paymentId }) => paymentId === payment.id)
  for (const portion of portions.toSorted((a, b) => Number(isOwn(b)) - Number(isOwn(a)))) {
    const exception = open.find(({ paymentId }) => paymentId === portion.payment.id) ?? open.find(lacks)
    if (exception === undefined || portion.usd === 0n) continue
    const before = given.get(exception)
    given.set(exception, {
      usd: (before?.usd ?? 0n) + portion.usd,
      paymentIds: new Set([...before?.paymentIds ?? [], portion.payment.id])
    })
  }
  return [...given].map(([exception, { paymentIds, usd }]): CoveredException => {
    const isWhole = usd >= needed.get(exception)!
    const amount = usdMillis(isWhole ? exception.amount : usd)
    // The invoice's version makes it another id with each change, and the same one where a change is decided anew.
    const id = isWhole
      ? exception.id
      : `exc_${uuidOf(`part of exception ${exception.id} in version ${invoice.invoice.version}`)}`
    return { id, open: exception, amount, paymentIds, part: isWhole ? null : { id, amount } }
  })
}
