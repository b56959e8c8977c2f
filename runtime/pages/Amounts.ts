/**
 * Amounts and times as people read them, in the page's language with latin digits. Exact: no number is ever computed.
 */

interface Formats {
  readonly whole: Intl.NumberFormat
  readonly separator: string
  readonly cents: Intl.NumberFormat
  readonly mills: Intl.NumberFormat
  readonly day: Intl.DateTimeFormat
}

/**
 * One for each of the page's languages: making formats costs more than a page, and their memory is given back late. A
 * page that made 60 of them took 30 ms and left 3 MB behind, each time it was looked at.
 */
const cache = new Map<string, Formats>()

const formatsOf = (locale: string): Formats => {
  const cached = cache.get(locale)
  if (cached !== undefined) return cached
  const digits = { numberingSystem: "latn" } as const
  const whole = new Intl.NumberFormat(locale, digits)
  const dollars = { ...digits, style: "currency", currency: "USD" } as const
  const formats: Formats = {
    whole,
    separator: whole.formatToParts(1.5).find(({ type }) => type === "decimal")?.value ?? ".",
    cents: new Intl.NumberFormat(locale, { ...dollars, minimumFractionDigits: 2, maximumFractionDigits: 2 }),
    mills: new Intl.NumberFormat(locale, { ...dollars, minimumFractionDigits: 3, maximumFractionDigits: 3 }),
    day: new Intl.DateTimeFormat(locale, { ...digits, day: "numeric", month: "short", timeZone: "UTC" })
  }
  cache.set(locale, formats)
  return formats
}

/**
 * US dollars of a decimal with three places: two are shown, the third only where it is not zero. Without marks of
 * direction: a page isolates amounts itself, and a mark would turn the currency's sign around.
 *
 * @example
 * dollars("en", "49.990") // => "$49.99"
 */
export const dollars = (locale: string, decimal: string): string => {
  const { cents, mills } = formatsOf(locale)
  return (decimal.endsWith("0") ? cents : mills).format(decimal as `${number}`).replaceAll(/[\u200E\u200F\u061C]/g, "")
}

const currencyFormats = new Map<string, Intl.NumberFormat>()

/** Formats of currencies that are kept, of about 50 kB each; a deployment has few currencies in few languages. */
const keptCurrencyFormats = 64

const currencyFormatOf = (locale: string, currency: string, digits: number): Intl.NumberFormat => {
  const key = `${locale} ${currency} ${digits}`
  const format = currencyFormats.get(key) ?? new Intl.NumberFormat(locale, {
    numberingSystem: "latn",
    style: "currency",
    currency,
    minimumFractionDigits: digits,
    maximumFractionDigits: digits
  })
  currencyFormats.delete(key)
  currencyFormats.set(key, format)
  if (currencyFormats.size > keptCurrencyFormats) currencyFormats.delete(currencyFormats.keys().next().value!)
  return format
}

/** Fractional digits that Intl.NumberFormat writes at most (ECMA-402). */
const mostFraction = 100

/**
 * A decimal of a currency, every digit of it, and at least those of its minor unit. Without marks of direction, as
 * {@link dollars}.
 *
 * @example
 * currencyAmount("de", "EUR", "1234.5", 2) // => "1.234,50 €"
 */
export const currencyAmount = (locale: string, currency: string, decimal: string, minorDigits: number): string => {
  const digits = Math.min(mostFraction, Math.max(minorDigits, decimal.split(".")[1]?.length ?? 0))
  return currencyFormatOf(locale, currency, digits).format(decimal as `${number}`)
    .replaceAll(/[\u200E\u200F\u061C]/g, "")
}

/** A count, with the groups of its language. */
export const wholeNumber = (locale: string, count: number): string => formatsOf(locale).whole.format(count)

/** Fractional digits that are always shown, so that 25 and 25.00 do not stand side by side. */
const leastFraction = 2

/** Digits from which a language may group them; fewer are written as they are. */
const groupedDigits = 4

/**
 * A token amount, every digit of it but for zeros at the end past the second place.
 *
 * @example
 * tokens("de", "1234.500000") // => "1.234,50"
 */
export const tokens = (locale: string, decimal: string): string => {
  const { separator, whole } = formatsOf(locale)
  const [integer = "0", fraction = ""] = decimal.split(".")
  return `${integer.length < groupedDigits ? integer : whole.format(BigInt(integer))}${separator}${
    fraction.replace(/0+$/, "").padEnd(leastFraction, "0")
  }`
}

/** Significant digits of an amount that is only about right. */
const significantDigits = 5

/** About how much: cut after five significant digits, but not before the second fractional one. */
export const approximateTokens = (locale: string, decimal: string): string => {
  const [integer = "0", fraction = ""] = decimal.split(".")
  const zeros = integer === "0" ? fraction.length - fraction.replace(/^0+/, "").length : 0
  const fractionDigits = integer === "0"
    ? zeros + significantDigits
    : Math.max(leastFraction, significantDigits - integer.length)
  return tokens(locale, `${integer}.${fraction.slice(0, fractionDigits)}`)
}

/**
 * A plain amount for the clipboard: what wallets read, without zeros at the end past the second place.
 *
 * @example
 * plainTokens("49.990000") // => "49.99"
 */
export const plainTokens = (decimal: string): string => {
  const [integer = "0", fraction = ""] = decimal.split(".")
  return `${integer}.${fraction.replace(/0+$/, "").padEnd(leastFraction, "0")}`
}

interface MomentFormats {
  readonly moment: Intl.DateTimeFormat
  readonly zone: Intl.DateTimeFormat
}

/** By language and time zone, those of the last use at the end. */
const momentCache = new Map<string, MomentFormats>()

/** Formats that are kept: people choose among some 400 time zones, and each of these takes some 50 kB. */
const keptMomentFormats = 64

const momentFormatsOf = (locale: string, timeZone: string): MomentFormats => {
  const key = `${locale} ${timeZone}`
  const zoned = { numberingSystem: "latn", timeZone } as const
  const formats = momentCache.get(key) ?? {
    moment: new Intl.DateTimeFormat(locale, { ...zoned, dateStyle: "medium", timeStyle: "short" }),
    zone: new Intl.DateTimeFormat(locale, { ...zoned, timeZoneName: "short" })
  }
  momentCache.delete(key)
  momentCache.set(key, formats)
  if (momentCache.size > keptMomentFormats) momentCache.delete(momentCache.keys().next().value!)
  return formats
}

/**
 * A moment of epoch seconds in a time zone, which it names. It is UTC for payors: the server does not know where they
 * are.
 *
 * @example
 * moment("de", 1766320500, "Europe/Berlin") // => "21.12.2025, 13:35 MEZ"
 */
export const moment = (locale: string, seconds: number, timeZone = "UTC"): string => {
  const formats = momentFormatsOf(locale, timeZone)
  const name = timeZone === "UTC"
    ? "UTC"
    : formats.zone.formatToParts(seconds * 1000).find(({ type }) => type === "timeZoneName")?.value ?? timeZone
  return `${formats.moment.format(seconds * 1000)} ${name}`
}

/**
 * The day of epoch seconds, by UTC, in a row of days that says the year by itself.
 *
 * @example
 * calendarDay("de", 1766320500) // => "21. Dez."
 */
export const calendarDay = (locale: string, seconds: number): string => formatsOf(locale).day.format(seconds * 1000)

/**
 * Seconds as a clock that runs down.
 *
 * @example
 * clock(272) // => "4:32"
 */
export const clock = (seconds: number): string => {
  const left = Math.max(0, Math.floor(seconds))
  const two = (value: number) => String(value).padStart(2, "0")
  const minutes = Math.floor(left / 60)
  return minutes < 60
    ? `${minutes}:${two(left % 60)}`
    : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(left % 60)}`
}
