/** Which money a shop means by a refund that names nothing but a text, and how much of it. Pure. */
import { isCounted } from "../../../schemas/Payment.ts"
import { type Aggregate, type PaymentState, withOpenRefunds } from "../../invoices/plugin.ts"
import { readDecimal, shopAmountDown, type ShopCurrency, usdDown } from "./Amounts.ts"
import type { FieldError, Fields } from "./Requests.ts"

/** Characters of a name that are looked at. */
const maximumName = 100

/** What plugins cut a name to: that of WooCommerce to so many bytes, others to so many characters. */
const cutLength = 50

/** What ends the part of a name that has the order. */
const endOf = (name: string): number => name.endsWith(";") ? name.length - 1 : name.indexOf("; ")

/** Whether the order at the end of a name may have lost its last digits, so that it names another order. */
const mayBeCut = (name: string): boolean =>
  endOf(name) === -1 && (Buffer.byteLength(name) === cutLength || [...name].length === cutLength)

/**
 * The texts that may be the order of a refund, the longest first: a plugin sends `Refund of order 1042; damaged` in the
 * shop's language, and the number of an order may have spaces.
 *
 * @example
 * ordersIn("Refund of order 1042; damaged") // => ["Refund of order 1042", "of order 1042", "order 1042", "1042"]
 */
export const ordersIn = (name: string): ReadonlyArray<string> => {
  const end = endOf(name)
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
  const sentName = typeof body["name"] === "string" ? body["name"] : ""
  const name = sentName.trim()
  if (name === "") errors.push({ path: "name", message: "Send a name with the number of the order." })
  if (mayBeCut(sentName)) {
    errors.push({
      path: "name",
      message:
        `A name of ${cutLength} characters may have lost the end of its order number. Make the refund in Tillwire.`
    })
  }
  const amount = readDecimal(body["amount"])
  if (amount === undefined || amount === "0") errors.push({ path: "amount", message: "Must be an amount above 0." })
  const currency = typeof body["currency"] === "string" && body["currency"] !== ""
    ? body["currency"].toUpperCase()
    : null
  return errors.length > 0 || amount === undefined ? errors : { name, amount, currency }
}

/** usd_millis of a payment that can still go back. */
const remainingOf = ({ amount, refunded }: PaymentState): bigint => amount > refunded ? amount - refunded : 0n

/** Payments with money that can still go back, beside what refunds under way will take; the newest first. */
const refundable = ({ invoice, payments }: Aggregate): ReadonlyArray<PaymentState> =>
  withOpenRefunds(payments, invoice.openRefunds ?? [])
    .filter((payment) => isCounted(payment.status) && remainingOf(payment) > 0n)
    .toSorted((a, b) => b.ordinal - a.ordinal)

/** Whether its buyer may still pay the rest: what would go back meanwhile counts for the invoice all the same. */
const isOpen = ({ graceEnded, status }: Aggregate["invoice"]): boolean =>
  status === "unpaid" || (status === "underpaid" && !graceEnded)

/** Whether something was received that counts, whether or not all of it went back, and nothing more is waited for. */
export const wasPaid = ({ invoice, payments }: Aggregate): boolean =>
  !isOpen(invoice) && payments.some(({ status }) => isCounted(status))

export const isRefundable = (current: Aggregate): boolean => !isOpen(current.invoice) && refundable(current).length > 0

/** How much of which payment goes back: one, because a shop prints one link. */
export interface RefundPart {
  readonly paymentId: string
  /** usd_millis, exactly: a refund that another one leaves too little for is refused, not made smaller. */
  readonly usd: bigint
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
    const usd = isWhole ? left : usdDown(asked, shop.currency)
    if (usd > 0n && usd <= left) return { paymentId: payment.id, usd }
  }
  return null
}
