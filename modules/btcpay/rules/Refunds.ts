/** Which money a shop means by a refund that names nothing but a text, and how much of it. Pure. */
import { isCounted } from "../../../schemas/Payment.ts"
import { type Aggregate, type PaymentState, withOpenRefunds } from "../../invoices/plugin.ts"
import { readDecimal, shopAmountDown, type ShopCurrency, usdDown } from "./Amounts.ts"
import type { FieldError, Fields } from "./Requests.ts"

/** Characters of a name that are looked at: plugins send at most 50. */
const maximumName = 100

/**
 * The texts that may be the order of a refund, the longest first: a plugin sends `Refund of order 1042; damaged` in the
 * shop's language, and the number of an order may have spaces.
 *
 * @example
 * ordersIn("Refund of order 1042; damaged") // => ["Refund of order 1042", "of order 1042", "order 1042", "1042"]
 */
export const ordersIn = (name: string): ReadonlyArray<string> => {
  const end = name.indexOf("; ")
  const words = (end === -1 ? name : name.slice(0, end)).slice(0, maximumName).split(" ")
  return words.map((_, index) => words.slice(index).join(" ")).filter((text) => text !== "")
}

/** What a shop asks for. */
export interface RefundRequest {
  readonly name: string
  readonly amount: string
  readonly currency: string | null
}

const nullOnly = ["period", "startsAt", "expiresAt", "BOLT11Expiration"]

export const readRefundRequest = (body: Fields): RefundRequest | ReadonlyArray<FieldError> => {
  const errors: Array<FieldError> = nullOnly.filter((path) => body[path] != null).map((path) => ({
    path,
    message: "Refunds have no schedule here: leave this out."
  }))
  const name = typeof body["name"] === "string" ? body["name"].trim() : ""
  if (name === "") errors.push({ path: "name", message: "Send a name with the number of the order." })
  const amount = readDecimal(body["amount"])
  if (amount === undefined || amount === "0") errors.push({ path: "amount", message: "Must be an amount above 0." })
  const currency = typeof body["currency"] === "string" && body["currency"] !== ""
    ? body["currency"].toUpperCase()
    : null
  return errors.length > 0 || amount === undefined ? errors : { name, amount, currency }
}

/** usd_millis of a payment that can still go back. */
const remainingOf = ({ amount, refunded }: PaymentState): bigint => amount > refunded ? amount - refunded : 0n

/** Payments with money that can still go back, less what refunds will take that wait, the newest first. */
const refundable = ({ invoice, payments }: Aggregate): ReadonlyArray<PaymentState> =>
  withOpenRefunds(payments, invoice.openRefunds ?? []).filter((payment) =>
    isCounted(payment.status) && remainingOf(payment) > 0n
  )
    .toSorted((a, b) => b.ordinal - a.ordinal)

export const isRefundable = (current: Aggregate): boolean => refundable(current).length > 0

/** How much of which payment goes back: one, because a shop prints one link. */
export interface RefundPart {
  readonly paymentId: string
  /** usd_millis; null: all that is left of the payment. */
  readonly usd: bigint | null
}

/** The part of an invoice that an amount in the shop's currency is; null: there is no single payment with so much. */
export const refundPart = (
  current: Aggregate,
  shop: { readonly amount: string; readonly currency: ShopCurrency },
  asked: string
): RefundPart | null => {
  for (const payment of refundable(current)) {
    const left = remainingOf(payment)
    const isWhole = left === current.invoice.amount
      ? asked === shop.amount
      : asked === shopAmountDown(left, shop.currency)
    if (isWhole) return { paymentId: payment.id, usd: null }
    const usd = usdDown(asked, shop.currency)
    if (usd > 0n && usd <= left) return { paymentId: payment.id, usd }
  }
  return null
}
