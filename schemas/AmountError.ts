/** What is wrong with the amount of an invoice, told with its unit, its range and what to send instead. Pure. */
import { type PublicError, publicError } from "./Errors.ts"
import {
  type AmountFault,
  maximumInvoiceAmount,
  minimumInvoiceAmount,
  readInvoiceAmount,
  usdDecimal,
  usdWire
} from "./Money.ts"

const count = (value: number | bigint): string => value.toLocaleString("en-US")

const [leastMillis, mostMillis] = [minimumInvoiceAmount, maximumInvoiceAmount]

const ranges = {
  amount: `amount is in usd_millis (thousandths of a dollar), an integer from ${count(leastMillis)} to ${
    count(mostMillis)
  }`,
  amount_usd: "amount_usd is in dollars, a number or text with at most 3 decimals, "
    + `${usdWire(leastMillis) / 1000} to ${count(mostMillis / 1000n)}`
}

/** `$0.005`: an integer of thousandths as dollars, without zeros that say nothing. */
const dollars = (millis: number): string => {
  const digits = usdDecimal(BigInt(Math.abs(millis)) as typeof leastMillis).replace(/\.?0{1,3}$/, "")
  const [whole = "", fraction] = digits.split(".")
  return `${millis < 0 ? "-" : ""}$${count(BigInt(whole))}${fraction === undefined ? "" : `.${fraction}`}`
}

/** How an amount is sent, for whoever sent one that can mean nothing else. */
const example = "For $5 send amount 5000 or amount_usd 5."

/** What to send where a number was meant as dollars; {@link example} where it cannot have been. */
const dollarHint = (value: number): string => {
  const millis = readInvoiceAmount({ amount_usd: value })
  return typeof millis === "string"
    ? example
    : `For ${dollars(usdWire(millis))} send amount ${millis} or amount_usd ${value}.`
}

const amountField = (
  input: { readonly amount?: unknown; readonly amount_usd?: unknown }
): "amount" | "amount_usd" | null =>
  (input.amount === undefined) === (input.amount_usd === undefined)
    ? null
    : input.amount === undefined
    ? "amount_usd"
    : "amount"

const message = (name: "amount" | "amount_usd", value: unknown): string => {
  if (name === "amount_usd") {
    return typeof value === "number" && Number.isFinite(value)
      ? `${ranges.amount_usd}: it cannot be ${value}. ${example}`
      : `${ranges.amount_usd}. ${example}`
  }
  if (typeof value !== "number") return `${ranges.amount}, sent as a number without quotes. ${example}`
  if (!Number.isFinite(value)) return `${ranges.amount}: a number of that size cannot be read. ${example}`
  const explanation = Number.isSafeInteger(value) ? `: ${value} is ${dollars(value)}.` : `: it cannot be ${value}.`
  return `${ranges.amount}${explanation} ${dollarHint(value)}`
}

/**
 * The refusal of an amount that `readInvoiceAmount` found a fault with: `INVALID_AMOUNT_FORMAT` or
 * `INVALID_AMOUNT_RANGE`. Numbers are repeated in it, texts are not.
 *
 * @example
 * amountError("range", { amount: 5 }).message
 * // => "amount is in usd_millis (thousandths of a dollar), an integer from 10 to 1,000,000,000: 5 is $0.005.
 * //     For $5 send amount 5000 or amount_usd 5."
 */
export const amountError = (
  fault: AmountFault,
  input: { readonly amount?: unknown; readonly amount_usd?: unknown }
): PublicError => {
  const name = amountField(input)
  const code = fault === "range" ? "INVALID_AMOUNT_RANGE" : "INVALID_AMOUNT_FORMAT"
  if (name !== null) return publicError(code, { message: message(name, input[name]), param: name })
  const why = input.amount === undefined ? "The amount is missing" : "amount and amount_usd were both sent"
  return publicError(code, {
    message: `${why}: send one of the two. ${ranges.amount}; ${ranges.amount_usd}. ${example}`
  })
}
