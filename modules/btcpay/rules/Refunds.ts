/** Finds the payment and the amount of a refund, which a shop asks for by a text with its order number. Pure. */
import { isCounted } from "../../../schemas/Payment.ts"
import { type Aggregate, type PaymentState, withOpenRefunds } from "../../invoices/plugin.ts"
import { readDecimal, refundUsd, shopAmountRoundedDown, type ShopCurrency } from "./Amounts.ts"
import type { FieldError, Fields } from "./Requests.ts"

/** Characters of the part of a name that has the order. A longer one is refused: cut, it could name another order. */
const maximumNameLength = 100

/** The length that plugins cut a name to: WooCommerce's counts bytes, others count characters. */
const pluginNameLength = 50

/** Where the part of a name with the order ends; -1: the whole name may be the order. */
const endOf = (name: string): number => {
  const end = name.indexOf("; ")
  return end === -1 && name.endsWith(";") ? name.length - 1 : end
}

/** The part of a name that has the order. */
const orderPartOf = (name: string): string => {
  const end = endOf(name)
  return end === -1 ? name : name.slice(0, end)
}

/** Whether the order at the end of a name may have lost its last digits, so that it names another order. */
const mayBeCut = (name: string): boolean =>
  endOf(name) === -1 && (Buffer.byteLength(name) === pluginNameLength || [...name].length === pluginNameLength)

/**
 * The texts that may be the order of a refund, the longest first: a plugin sends `Refund of order 1042; damaged` in the
 * shop's language, and the number of an order may have spaces.
 *
 * @example
 * ordersIn("Refund of order 1042; damaged") // => ["Refund of order 1042", "of order 1042", "order 1042", "1042"]
 */
export const ordersIn = (name: string): ReadonlyArray<string> => {
  const words = orderPartOf(name).split(" ")
  return words.map((_, index) => words.slice(index).join(" ")).filter((text) => text !== "")
}

/** A refund as a shop asks for it. */
export interface RefundRequest {
  readonly name: string
  readonly amount: string
  readonly currency: string | null
}

/** Fields of a scheduled payout, which a refund is not. */
const scheduleFields = ["period", "startsAt", "expiresAt", "BOLT11Expiration"]

export const readRefundRequest = (body: Fields): RefundRequest | ReadonlyArray<FieldError> => {
  const errors: Array<FieldError> = scheduleFields.filter((path) => body[path] != null).map((path) => ({
    path,
    message: "Refunds have no schedule here: leave this out."
  }))
  const sentName = typeof body["name"] === "string" ? body["name"] : ""
  const name = sentName.trim()
  if (name === "") errors.push({ path: "name", message: "Send a name with the number of the order." })
  if (orderPartOf(name).length > maximumNameLength) {
    errors.push({
      path: "name",
      message:
        `May have at most ${maximumNameLength} characters before "; ": shorten it, or make the refund in Tillwire.`
    })
  }
  if (mayBeCut(sentName)) {
    errors.push({
      path: "name",
      message: `A name of ${pluginNameLength} characters may have lost the end of its order number. Make the refund in `
        + "Tillwire."
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

/** Payments with money that can still be refunded, less the refunds under way; the newest first. */
const refundable = ({ invoice, payments }: Aggregate): ReadonlyArray<PaymentState> =>
  withOpenRefunds(payments, invoice.openRefunds ?? [])
    .filter((payment) => isCounted(payment.status) && remainingOf(payment) > 0n)
    .toSorted((a, b) => b.ordinal - a.ordinal)

/** Whether its buyer may still pay. A refund before that ends would not lower what the invoice has received. */
const awaitsPayment = ({ graceEnded, status }: Aggregate["invoice"]): boolean =>
  status === "unpaid" || (status === "underpaid" && !graceEnded)

/** Whether a payment counted, refunded or not, and no further one is expected. */
export const wasPaid = ({ invoice, payments }: Aggregate): boolean =>
  !awaitsPayment(invoice) && payments.some(({ status }) => isCounted(status))

export const isRefundable = (current: Aggregate): boolean =>
  !awaitsPayment(current.invoice) && refundable(current).length > 0

/** The payment that a refund is of, and how much of it. It is one payment, because a shop prints one link. */
export interface RefundPart {
  readonly paymentId: string
  /** usd_millis, exactly. A refund for which another one left too little is refused, not made smaller. */
  readonly usd: bigint
}

/** The newest payment that holds an amount in the shop's currency; null: no single payment holds so much. */
export const refundPart = (
  current: Aggregate,
  shop: { readonly amount: string; readonly currency: ShopCurrency },
  refundAmount: string
): RefundPart | null => {
  for (const payment of refundable(current)) {
    const left = remainingOf(payment)
    const isWhole = left === current.invoice.amount
      ? refundAmount === shop.amount
      : refundAmount === shopAmountRoundedDown(left, shop.currency)
    const usd = isWhole ? left : refundUsd(refundAmount, shop.currency)
    if (usd > 0n && usd <= left) return { paymentId: payment.id, usd }
  }
  return null
}
