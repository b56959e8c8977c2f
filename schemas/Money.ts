/**
 * Money: two integer units, the exact rate between them, and every rounding with a name and a direction.
 * Nothing here is a float, and nothing outside this file divides an amount.
 */
import { Schema, SchemaGetter } from "effect"

/**
 * Thousandths of one US dollar: $1.50 is 1500n. The only unit of merchant-facing amounts
 * (modules/docs/reference/amounts.md#dollars). A bigint here, so sums are exact; an integer on the wire, so encoding
 * fails past 2^53 - 1.
 */
export const UsdMillis = Schema.Int.pipe(
  Schema.decodeTo(
    Schema.BigInt.check(Schema.isGreaterThanOrEqualToBigInt(0n)).pipe(Schema.brand("UsdMillis")),
    { decode: SchemaGetter.transform(BigInt), encode: SchemaGetter.transform(Number) }
  )
)
export type UsdMillis = typeof UsdMillis.Type

/** Integer base units of one token (wei, lamports). Meaningless without the token's `decimals`. */
export const BaseUnits = Schema.BigInt.check(Schema.isGreaterThanOrEqualToBigInt(0n)).pipe(Schema.brand("BaseUnits"))
export type BaseUnits = typeof BaseUnits.Type

/** Brands a bigint known to be a non-negative amount of usd_millis. Dies on a negative one: that is a bug. */
export const usdMillis = (value: bigint): UsdMillis => value >= 0n ? value as UsdMillis : UsdMillis.make(value)

/** Brands a bigint known to be a non-negative amount of base units. Dies on a negative one: that is a bug. */
export const baseUnits = (value: bigint): BaseUnits => value >= 0n ? value as BaseUnits : BaseUnits.make(value)

/**
 * The least and the most an invoice may ask for, in usd_millis: $0.01 to $1,000,000
 * (modules/docs/reference/amounts.md#amounts-of-a-request).
 */
export const minimumInvoiceAmount = usdMillis(10n)
export const maximumInvoiceAmount = usdMillis(1_000_000_000n)

/**
 * The most a single transfer is credited with, in usd_millis: $10,000,000,000. Test tokens can be minted at will, and
 * an amount beyond 2^53 - 1 has no form on the wire; 900 such payments of one invoice stay below it.
 */
export const maximumCredit = usdMillis(10_000_000_000_000n)

/**
 * `*_decimal` companions: digits, a dot, three digits; a minus only in differences
 * (modules/docs/reference/amounts.md#decimal-companions).
 */
export const UsdDecimal = Schema.String.check(Schema.isPattern(/^-?\d+\.\d{3}$/u)).annotate({ examples: ["49.990"] })

/**
 * The `*_decimal` companion of an amount: exactly three fractional digits.
 *
 * @example
 * usdDecimal(usdMillis(49990n)) // => "49.990"
 */
export const usdDecimal = (amount: UsdMillis): string => formatUnits(amount, usdDecimals)

/** usd_millis are thousandths: three decimal places. */
const usdDecimals = 3

/** The integer on the wire. Safe: UsdMillis beyond 2^53 - 1 cannot be decoded, and sums of them stay far below. */
export const usdWire = (amount: UsdMillis): number => Number(amount)

/** Why an amount was refused: `format` it cannot be read as one, `range` it can but lies outside the limits. */
/** usd_millis that may be below zero, as JSON and as a decimal. */
export const signedUsdWire = (amount: bigint): number => Number(amount)
/** `UsdDecimal` of an amount that may be negative. */
export const signedUsdDecimal = (amount: bigint): string => formatUnits(amount, usdDecimals)

export type AmountFault = "format" | "range"

/**
 * Reads the amount of a request: `amount`, an integer of usd_millis, or `amount_usd`, a number or numeric string of
 * dollars with at most three decimals; exactly one of the two.
 *
 * Numbers are judged by value: their shortest decimal form is read as text, so no float is ever multiplied.
 * Errors: `format` for none or both, wrong types, non-finite numbers, exponents, more than three decimals;
 * `range` below {@link minimumInvoiceAmount} or above {@link maximumInvoiceAmount}, zero and negatives included.
 *
 * @example
 * readInvoiceAmount({ amount_usd: "49.99" }) // => 49990n
 * readInvoiceAmount({ amount: 1.5 })         // => "format"
 */
export const readInvoiceAmount = (input: {
  readonly amount?: unknown
  readonly amount_usd?: unknown
}): UsdMillis | AmountFault => {
  const { amount, amount_usd } = input
  if ((amount === undefined) === (amount_usd === undefined)) return "format"
  const millis = amount !== undefined ? integerMillis(amount) : dollarMillis(amount_usd)
  if (millis === undefined) return "format"
  return millis < minimumInvoiceAmount || millis > maximumInvoiceAmount ? "range" : usdMillis(millis)
}

const integerMillis = (input: unknown): bigint | undefined =>
  typeof input === "number" && Number.isSafeInteger(input) ? BigInt(input) : hugeNumber(input)

/** Numbers too large to be exact are out of range whatever they were meant to be; fractions and NaN are no amount. */
const hugeNumber = (input: unknown): bigint | undefined =>
  typeof input === "number" && Number.isFinite(input) && Number.isInteger(input) ? BigInt(input) : undefined

const dollarMillis = (input: unknown): bigint | undefined => {
  const huge = hugeNumber(input)
  if (huge !== undefined) return huge * 1000n
  const text = typeof input === "string" || (typeof input === "number" && Number.isFinite(input)) ? String(input) : ""
  const match = /^(-?)0*(\d+)(?:\.(\d{1,3}))?$/.exec(text)
  if (match === null) return undefined
  const [, sign, whole = "", fraction = ""] = match
  // Cut to a length that is still far out of range: a body of digits must not cost a conversion of all of them.
  const millis = BigInt(`${whole.slice(0, outOfRangeDigits)}${fraction.padEnd(usdDecimals, "0")}`)
  return sign === "-" ? -millis : millis
}

/** Whole digits of dollars that are out of range whatever they are: the maximum has seven. */
const outOfRangeDigits = 20

/**
 * An exact positive rate: US dollars per one whole token, as a fraction of integers.
 * Kept as text (`exchange_rate`) wherever it is stored or sent; this is its form for arithmetic.
 */
export interface Rate {
  readonly numerator: bigint
  readonly denominator: bigint
}

/**
 * `exchange_rate`: a plain decimal, at most 18 significant digits, no exponent
 * (modules/docs/reference/amounts.md#exchange-rates).
 */
export const RateText = Schema.String.check(Schema.isPattern(/^\d{1,30}(\.\d{1,36})?$/))

/** Fractional digits of a {@link RateText} at most: a rate below 1e-36 has no text, and no use. */
const rateFractionDigits = 36

/**
 * Reads a decimal rate, `undefined` when it is not one or not positive. Exact: no digit is dropped.
 *
 * @example
 * readRate("3500.25") // => { numerator: 350025n, denominator: 100n }
 */
export const readRate = (text: string): Rate | undefined => {
  const match = /^(\d{1,30})(?:\.(\d{1,36}))?$/.exec(text)
  if (match === null) return undefined
  const fraction = match[2] ?? ""
  const numerator = BigInt(`${match[1]}${fraction}`)
  return numerator === 0n ? undefined : { numerator, denominator: 10n ** BigInt(fraction.length) }
}

/**
 * A JSON number, or a decimal, as the plain decimal that {@link readRate} takes: an exponent is worked out by moving
 * the point, so no digit is lost. `undefined` when it is negative, no number, or longer than a rate may be.
 *
 * @example
 * plainDecimal("1.25e-7") // => "0.000000125"
 */
export const plainDecimal = (text: string): string | undefined => {
  const match = /^(\d{1,40})(?:\.(\d{1,40}))?(?:[eE]([+-]?\d{1,2}))?$/.exec(text)
  if (match === null) return undefined
  const [, whole = "", fraction = "", exponent = "0"] = match
  const digits = `${whole}${fraction}`
  const point = whole.length + Number.parseInt(exponent, 10)
  const left = point <= 0 ? "0" : digits.slice(0, point).padEnd(point, "0").replace(/^0+(?=\d)/, "")
  const right = (point <= 0 ? `${"0".repeat(-point)}${digits}` : digits.slice(point)).replace(/0+$/, "")
  return left.length > 30 || right.length > rateFractionDigits ? undefined : right === "" ? left : `${left}.${right}`
}

/** The product of two rates, exactly: dollars per token from units per token and dollars per unit. */
export const timesRate = (a: Rate, b: Rate): Rate => ({
  numerator: a.numerator * b.numerator,
  denominator: a.denominator * b.denominator
})

/** Orders two rates: negative, zero or positive, exactly. */
export const compareRates = (a: Rate, b: Rate): number => {
  const difference = a.numerator * b.denominator - b.numerator * a.denominator
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

/** The middle of two rates, exactly. */
export const midpoint = (a: Rate, b: Rate): Rate => ({
  numerator: a.numerator * b.denominator + b.numerator * a.denominator,
  denominator: 2n * a.denominator * b.denominator
})

/** Significant digits an `exchange_rate` carries at most. */
export const rateDigits = 18

/** The middle of any number of rates, exactly: of an even number, the midpoint of the two in the middle. */
export const medianRate = (rates: readonly [Rate, ...ReadonlyArray<Rate>]): Rate => {
  const sorted = rates.toSorted(compareRates)
  const upper = sorted[sorted.length >> 1]!
  return sorted.length % 2 === 1 ? upper : midpoint(sorted[(sorted.length >> 1) - 1]!, upper)
}

/** Whether `rate` differs from `reference` by at most `basisPoints` hundredths of a percent of `reference`; exact. */
export const isWithin = (rate: Rate, reference: Rate, basisPoints: bigint): boolean => {
  const scaled = rate.numerator * reference.denominator
  const scaledReference = reference.numerator * rate.denominator
  const difference = scaled < scaledReference ? scaledReference - scaled : scaled - scaledReference
  return difference * 10_000n <= scaledReference * basisPoints
}

/**
 * The text of a rate, rounded DOWN to {@link rateDigits} significant digits (a lower rate asks for more tokens, so
 * what is stored never asks for less than what was computed). Six fractional digits at least, for reading, as far as
 * the significant digits reach; 36 at most, so a rate below 1e-36 reads as zero, which {@link readRate} refuses.
 *
 * @example
 * rateText({ numerator: 1n, denominator: 1n }) // => "1.000000"
 */
export const rateText = ({ numerator, denominator }: Rate): string => {
  const whole = (numerator / denominator).toString()
  if (whole.length > rateDigits) return whole.slice(0, rateDigits).padEnd(whole.length, "0")
  const scale = whole === "0"
    ? Math.min(rateDigits + leadingZeros(numerator, denominator), rateFractionDigits)
    : rateDigits - whole.length
  const [, fraction = ""] = formatUnits((numerator * 10n ** BigInt(scale)) / denominator, scale).split(".")
  const fractionText = fraction.replace(/0+$/, "").padEnd(Math.min(6, scale), "0")
  return fractionText === "" ? whole : `${whole}.${fractionText}`
}

/** How many zeros follow the dot before the first digit of a fraction below one; counted up to where text ends. */
const leadingZeros = (numerator: bigint, denominator: bigint): number => {
  let zeros = 0
  while (zeros < rateFractionDigits && numerator * 10n ** BigInt(zeros + 1) < denominator) zeros++
  return zeros
}

/**
 * A rate as the JSON number of `price.usd`: the nearest double, for people to look at. Nothing is computed from it.
 */
export const displayNumber = (rate: string): number => Number(rate)

/**
 * Base units that pay `amount` at `rate`, rounded UP at the token's last decimal: the payor is asked for at least
 * the amount, by less than one base unit more.
 *
 * @example
 * tokenAmountUp(usdMillis(49990n), { numerator: 1n, denominator: 1n }, 6) // => 49990000n
 */
export const tokenAmountUp = (amount: UsdMillis, rate: Rate, decimals: number): BaseUnits => {
  const dividend = amount * 10n ** BigInt(decimals) * rate.denominator
  const divisor = 1000n * rate.numerator
  return baseUnits((dividend + divisor - 1n) / divisor)
}

/**
 * Base units that `amount` buys at `rate`, rounded DOWN at the token's last decimal: what is paid out is never more
 * than is owed, and less than one base unit less.
 *
 * @example
 * tokenAmountDown(usdMillis(10_000n), { numerator: 3n, denominator: 1n }, 2) // => 333n
 */
export const tokenAmountDown = (amount: UsdMillis, rate: Rate, decimals: number): BaseUnits =>
  baseUnits((amount * 10n ** BigInt(decimals) * rate.denominator) / (1000n * rate.numerator))

/**
 * What `units` are worth at `rate`, rounded DOWN to a whole usd_milli: a credit is never more than was received.
 *
 * @example
 * usdValueDown(baseUnits(49990000n), { numerator: 1n, denominator: 1n }, 6) // => 49990n
 */
export const usdValueDown = (units: BaseUnits, rate: Rate, decimals: number): UsdMillis =>
  usdMillis((units * 1000n * rate.numerator) / (10n ** BigInt(decimals) * rate.denominator))

/** A plain decimal without zeros at its end. */
export const withoutTrailingZeros = (decimal: string): string =>
  decimal.includes(".") ? decimal.replace(/\.?0+$/u, "") : decimal

/**
 * Base units as a decimal string with exactly `decimals` fractional digits; exact.
 *
 * @example
 * formatUnits(49990000n, 6) // => "49.990000"
 */
export const formatUnits = (units: bigint, decimals: number): string => {
  const digits = (units < 0n ? -units : units).toString().padStart(decimals + 1, "0")
  const whole = digits.slice(0, digits.length - decimals)
  const sign = units < 0n ? "-" : ""
  return decimals === 0 ? `${sign}${whole}` : `${sign}${whole}.${digits.slice(-decimals)}`
}

/**
 * Reads the price of a thing: dollars as a number or a string, with at most 3 decimals, 0 to
 * {@link maximumInvoiceAmount}. Numbers are read as their shortest decimal form, so no float is ever multiplied.
 * Undefined when it is not one.
 *
 * @example
 * readPrice(9.99) // => 9990n
 */
export const readPrice = (price: number | string): UsdMillis | undefined => {
  const plain = plainDecimal(String(price))
  const millis = plain === undefined ? undefined : parseUnits(plain, usdDecimals)
  return millis === undefined || millis > maximumInvoiceAmount ? undefined : usdMillis(millis)
}

/** Base units of a plain decimal string; `undefined` when it is not one or has more decimals than the token. Exact. */
export const parseUnits = (text: string, decimals: number): BaseUnits | undefined => {
  const match = /^(\d{1,40})(?:\.(\d{1,40}))?$/.exec(text)
  const fraction = match?.[2] ?? ""
  if (match === null || fraction.length > decimals) return undefined
  return baseUnits(BigInt(`${match[1]}${fraction.padEnd(decimals, "0")}`))
}
