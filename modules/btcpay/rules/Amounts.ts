/** Amounts in a shop's currency, and what they are in usd_millis. Pure. */
import { inShopCurrency, type ShopPrice } from "../../payments/plugin.ts"
import {
  formatUnits,
  maximumInvoiceAmount,
  minimumInvoiceAmount,
  plainDecimal,
  type Rate,
  type UsdMillis,
  usdMillis,
  withoutTrailingZeros
} from "../../../schemas/Money.ts"

/** A currency with its rate when the invoice was made: dollars for one unit of it; null: the currency is dollars. */
export interface ShopCurrency {
  readonly code: string
  readonly rate: Rate | null
}

/** Digits of the minor unit of currencies that do not have two of them (ISO 4217, list one). */
const minorDigits: Readonly<Record<string, number>> = {
  BHD: 3,
  BIF: 0,
  CLP: 0,
  DJF: 0,
  GNF: 0,
  IQD: 3,
  ISK: 0,
  JOD: 3,
  JPY: 0,
  KMF: 0,
  KRW: 0,
  KWD: 3,
  LYD: 3,
  OMR: 3,
  PYG: 0,
  RWF: 0,
  TND: 3,
  UGX: 0,
  UYI: 0,
  VND: 0,
  VUV: 0,
  XAF: 0,
  XOF: 0,
  XPF: 0
}

export const minorDigitsOf = (code: string): number => minorDigits[code] ?? 2

interface Decimal {
  readonly units: bigint
  readonly digits: number
}

/** Characters of an amount; a longer one is refused. */
const maximumAmountLength = 40

/** At most 15 digits before the point, which is more than the limit of an invoice in any currency, and 30 after it. */
const plainAmount = /^\d{1,15}(\.\d{1,30})?$/

/** A JSON number or a decimal text, written without exponent and idle zeros; undefined: it cannot be an amount. */
export const readDecimal = (value: unknown): string | undefined => {
  const text = typeof value === "number" && Number.isFinite(value) ? String(value) : value
  if (typeof text !== "string" || text.length > maximumAmountLength) return undefined
  const trimmed = text.trim()
  const plain = plainAmount.test(trimmed) ? trimmed : plainDecimal(trimmed)
  return plain === undefined || !plainAmount.test(plain)
    ? undefined
    : withoutTrailingZeros(plain.replace(/^0+(?=\d)/u, ""))
}

const decimalOf = (text: string): Decimal => {
  const [whole = "0", fraction = ""] = text.split(".")
  return { units: BigInt(whole + fraction), digits: fraction.length }
}

const divideUp = (a: bigint, b: bigint): bigint => (a + b - 1n) / b

/**
 * usd_millis of an invoice's decimal amount. Dollars are rounded half up, other currencies up, so that a merchant never
 * gets less than it asked for. Null: outside of the limits of an invoice.
 */
export const invoiceUsd = (amount: string, { rate }: ShopCurrency): UsdMillis | null => {
  const { digits, units } = decimalOf(amount)
  const scale = 10n ** BigInt(digits)
  const millis = rate === null
    ? (units * 2_000n + scale) / (2n * scale)
    : divideUp(units * 1_000n * rate.numerator, scale * rate.denominator)
  return millis < minimumInvoiceAmount || millis > maximumInvoiceAmount ? null : usdMillis(millis)
}

/** usd_millis of a refund's decimal amount, rounded down: never more goes back than the shop asked for. */
export const refundUsd = (amount: string, { rate }: ShopCurrency): bigint => {
  const { digits, units } = decimalOf(amount)
  const scale = 10n ** BigInt(digits)
  return rate === null ? (units * 1_000n) / scale : (units * 1_000n * rate.numerator) / (scale * rate.denominator)
}

const dollarRate: Rate = { numerator: 1n, denominator: 1n }

/** usd_millis in the shop's currency, rounded down to its minor unit. */
export const shopAmountRoundedDown = (amount: bigint, { code, rate }: ShopCurrency): string =>
  withoutTrailingZeros(inShopCurrency({ digits: minorDigitsOf(code), rate: rate ?? dollarRate }, amount, "received"))

/** The price that payors see first, before the dollars; null: the shop asked for dollars. */
export const shopPriceOf = (amount: string, { code, rate }: ShopCurrency): ShopPrice | null =>
  rate === null ? null : { currency: code, amount, digits: minorDigitsOf(code), rate }

/** The paid amount as the shop reads it: exactly its own amount where all is paid, so that no rounding loses a cent. */
export const paidAmountOf = (
  { amount, amountPaid }: { readonly amount: UsdMillis; readonly amountPaid: UsdMillis },
  shopAmount: string,
  currency: ShopCurrency
): string => amountPaid === amount ? shopAmount : shopAmountRoundedDown(amountPaid, currency)

/** Digits after the point of a token's rate: as many as a token of an EVM network usually has. */
const rateDigits = 18

/** The price of one token in the shop's currency, from its price in dollars, rounded down to {@link rateDigits}. */
export const tokenRate = ({ denominator, numerator }: Rate, { rate }: ShopCurrency): string => {
  const dividend = numerator * (rate?.denominator ?? 1n) * 10n ** BigInt(rateDigits)
  return withoutTrailingZeros(formatUnits(dividend / (denominator * (rate?.numerator ?? 1n)), rateDigits))
}
