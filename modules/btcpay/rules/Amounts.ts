/** Amounts in a shop's currency, and what they are in usd_millis. Pure. */
import { inShopCurrency, type ShopPrice } from "../../payments/plugin.ts"
import {
  maximumInvoiceAmount,
  minimumInvoiceAmount,
  plainDecimal,
  type Rate,
  type UsdMillis,
  usdMillis,
  withoutTrailingZeros
} from "../../../schemas/Money.ts"

/** A currency as an invoice keeps it: what one of it was in dollars when the invoice was made; null: it is dollars. */
export interface ShopCurrency {
  readonly code: string
  readonly rate: Rate | null
}

/** Currencies without a minor unit, and with three digits of one (ISO 4217); all others have two. */
const minorDigits: Readonly<Record<string, number>> = {
  BHD: 3,
  CLP: 0,
  ISK: 0,
  JOD: 3,
  JPY: 0,
  KRW: 0,
  KWD: 3,
  OMR: 3,
  PYG: 0,
  TND: 3,
  UGX: 0,
  VND: 0,
  XAF: 0,
  XOF: 0,
  XPF: 0
}

export const minorDigitsOf = (code: string): number => minorDigits[code] ?? 2

interface Decimal {
  readonly units: bigint
  readonly digits: number
}

/** A number of JSON or a decimal text as it is written without exponent; undefined: it is none that an amount may be. */
export const readDecimal = (value: unknown): string | undefined => {
  const text = typeof value === "number" && Number.isFinite(value) ? String(value) : value
  if (typeof text !== "string" || text.length > 40) return undefined
  const trimmed = text.trim()
  const plain = /^\d{1,15}(\.\d{1,30})?$/.test(trimmed) ? trimmed : plainDecimal(trimmed)
  return plain === undefined || !/^\d{1,15}(\.\d{1,30})?$/.test(plain)
    ? undefined
    : withoutTrailingZeros(plain.replace(/^0+(?=\d)/u, ""))
}

const decimalOf = (text: string): Decimal => {
  const [whole = "0", fraction = ""] = text.split(".")
  return { units: BigInt(whole + fraction), digits: fraction.length }
}

const divideUp = (a: bigint, b: bigint): bigint => (a + b - 1n) / b

/**
 * usd_millis of a decimal amount: dollars half up, other currencies up, so that a merchant never gets less than it
 * asked for. Null: less than an invoice may be, or more.
 */
export const usdOf = (amount: string, { rate }: ShopCurrency): UsdMillis | null => {
  const { digits, units } = decimalOf(amount)
  const scale = 10n ** BigInt(digits)
  const millis = rate === null
    ? (units * 2_000n + scale) / (2n * scale)
    : divideUp(units * 1_000n * rate.numerator, scale * rate.denominator)
  return millis < minimumInvoiceAmount || millis > maximumInvoiceAmount ? null : usdMillis(millis)
}

/** usd_millis of a decimal amount, rounded down: what goes back is never more than was asked for. */
export const usdDown = (amount: string, { rate }: ShopCurrency): bigint => {
  const { digits, units } = decimalOf(amount)
  const scale = 10n ** BigInt(digits)
  return rate === null ? (units * 1_000n) / scale : (units * 1_000n * rate.numerator) / (scale * rate.denominator)
}

/** So many of a currency's smallest units as a plain decimal without zeros at its end. */
const decimalText = (units: bigint, digits: number): string => {
  const padded = units.toString().padStart(digits + 1, "0")
  return digits === 0
    ? padded
    : withoutTrailingZeros(`${padded.slice(0, padded.length - digits)}.${padded.slice(padded.length - digits)}`)
}

const dollarRate: Rate = { numerator: 1n, denominator: 1n }

/** usd_millis in the shop's currency, rounded down to its minor unit. */
export const shopAmountDown = (amount: bigint, { code, rate }: ShopCurrency): string => {
  const digits = minorDigitsOf(code)
  const text = inShopCurrency({ digits, rate: rate ?? dollarRate }, amount, "received")
  return digits === 0 ? text : withoutTrailingZeros(text)
}

/** The price that payors are shown before the dollars; null: the shop asked for dollars. */
export const shopPriceOf = (amount: string, { code, rate }: ShopCurrency): ShopPrice | null =>
  rate === null ? null : { currency: code, amount, digits: minorDigitsOf(code), rate }

/** What was paid, as the shop is told: its own amount where it is that, so that no rounding leaves a cent. */
export const paidAmountOf = (
  { amount, amountPaid }: { readonly amount: UsdMillis; readonly amountPaid: UsdMillis },
  asked: string,
  currency: ShopCurrency
): string => amountPaid === amount ? asked : shopAmountDown(amountPaid, currency)

/** What one whole token is in the shop's currency, from its price in dollars: at most 18 digits after the point. */
export const tokenRate = ({ denominator, numerator }: Rate, { rate }: ShopCurrency): string => {
  const digits = 18
  const up = numerator * (rate?.denominator ?? 1n) * 10n ** BigInt(digits)
  return decimalText(up / (denominator * (rate?.numerator ?? 1n)), digits)
}
