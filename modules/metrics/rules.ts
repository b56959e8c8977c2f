/**
 * What a merchant's metrics are made of: what each invoice and payment adds to the sums, which stretch of time a
 * question is about, and the figures that come of both (modules/docs/reference/metrics.md#the-figures). Pure.
 */
import { DateTime, Option } from "effect"
import type { Contribution, Rollup, Span } from "../../runtime/Rollups.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import { invalidParameter, momentInWords } from "../../schemas/InvalidInput.ts"
import type { WireObject } from "../../schemas/WireObject.ts"
import { type UsdMillis, usdMillis } from "../../schemas/Money.ts"
import { isCounted, type PaymentStatus } from "../../schemas/Payment.ts"
import { readTime } from "../../schemas/Time.ts"

/** Points of a series at most (modules/docs/reference/metrics.md#the-question). */
export const maximumPoints = 400

/** Points of a series where the caller names no beginning: 30 days by day. */
const defaultPoints = 30

/** Groups told at most, those with the most paid; whether there are more is told too. */
export const maximumGroups = 100

/** A quarter of an hour in seconds: metrics begin and end on one. */
const quarter = 900

/** Seconds up to which the histogram of times to pay is exact. */
const exactBelow = 16

/** Parts that each doubling of a time to pay is divided into. */
const partsOfDoubling = 8

/**
 * The bin of a time to pay, in seconds: each below 16 s has its own, and each doubling beyond is cut into 8 equal ones.
 * So what {@link secondsOf} gives back lies at most 6.25 % off.
 *
 * @example
 * binOf(94) // => 16 + (6 - 4) * 8 + 3 = 35, which holds 88 to 95
 */
export const binOf = (seconds: number): number => {
  const whole = Math.min(Math.max(Math.floor(seconds), 0), 2 ** 31 - 1)
  if (whole < exactBelow) return whole
  const power = 31 - Math.clz32(whole)
  const part = Math.floor((whole - 2 ** power) / (2 ** power / partsOfDoubling))
  return exactBelow + (power - 4) * partsOfDoubling + part
}

/** The middle of a bin in whole seconds, rounded down. */
export const secondsOf = (bin: number): number => {
  if (bin < exactBelow) return bin
  const power = 4 + Math.floor((bin - exactBelow) / partsOfDoubling)
  const width = 2 ** power / partsOfDoubling
  const least = 2 ** power + ((bin - exactBelow) % partsOfDoubling) * width
  return Math.floor(least + (width - 1) / 2)
}

const contributionOf = (at: number, key: string, amount: bigint): Contribution => ({
  at,
  key,
  count: 1,
  amount,
  amountPaid: 0n
})

/**
 * Invoices by when they were paid, with the bin of the seconds from their creation to then
 * (`<invoice_type>:paid:<bin>`). How many were created and how they stand is in the sum that the invoices module keeps.
 */
export const paidInvoices: Rollup = {
  sum: "metrics.invoices",
  version: 3,
  object: "invoice",
  widths: [21_600, 900],
  contributions: (invoice) => {
    const { created_at, invoice_type, paid_at } = invoice as WireObject & {
      readonly created_at: number
      readonly paid_at: number | null
    }
    return paid_at === null ? [] : [contributionOf(paid_at, `${invoice_type}:paid:${binOf(paid_at - created_at)}`, 0n)]
  }
}

interface PaymentSnapshot extends WireObject {
  readonly status: PaymentStatus
  readonly amount: number
  readonly confirmed_at: number | null
  readonly metadata: {
    readonly quote?: { readonly priced_at: number } | null
    readonly late_at?: number
    readonly token?: { readonly id: number } | null
  }
}

/** When a payment counts, it counts at its confirmation. */
const countedAt = ({ confirmed_at, status }: PaymentSnapshot): number | null => isCounted(status) ? confirmed_at : null

/**
 * Counted payments by when they were confirmed (`<invoice_type>:counted:<network>:<token id or nothing>`), those of
 * them that came after their invoice's end by when they were seen (`<invoice_type>:late`), and reverted ones by when
 * they were priced, the one time they keep (`<invoice_type>:reverted`).
 */
export const payments: Rollup = {
  sum: "metrics.payments",
  version: 3,
  object: "invoice_payment",
  widths: [21_600, 900],
  contributions: (object) => {
    const payment = object as PaymentSnapshot
    const { amount, invoice_type, metadata, network, status } = payment
    const at = countedAt(payment)
    const { late_at: lateAt } = metadata
    if (at !== null) {
      const counted = contributionOf(
        at,
        `${invoice_type}:counted:${network}:${metadata.token?.id ?? ""}`,
        BigInt(amount)
      )
      return lateAt === undefined ? [counted] : [counted, contributionOf(lateAt, `${invoice_type}:late`, 0n)]
    }
    const priced = metadata.quote?.priced_at
    return status === "reverted" && priced !== undefined
      ? [contributionOf(priced, `${invoice_type}:reverted`, BigInt(amount))]
      : []
  }
}

/** Counted payments by when they were confirmed and whose they are (`<invoice_type>:<customer_id or nothing>`). */
export const customers: Rollup = {
  sum: "metrics.customers",
  version: 2,
  object: "invoice_payment",
  widths: [21_600, 900],
  contributions: (object) => {
    const payment = object as PaymentSnapshot
    const at = countedAt(payment)
    return at === null
      ? []
      : [contributionOf(at, `${payment.invoice_type}:${payment.customer_id ?? ""}`, BigInt(payment.amount))]
  }
}

export type Interval = "hour" | "day" | "week" | "month"
export type GroupBy = "network" | "token" | "customer"

/** What is asked for: whole quarters of an hour, cut where the caller's calendar turns. */
export interface MetricsRange extends Span {
  readonly interval: Interval
  readonly timezone: string
  /** Adjacent, in order, together the whole span. */
  readonly points: ReadonlyArray<Span>
}

const hourSeconds = 3_600

const inZone = (at: number, zone: DateTime.TimeZone) => DateTime.setZone(DateTime.fromEpochSeconds(at), zone)

const secondsAt = (time: DateTime.DateTime): number => Math.floor(DateTime.toEpochMillis(time) / 1000)

/** When the interval that holds `at` began on the clocks of a zone. Weeks begin on Monday (ISO 8601). */
export const startOf = (at: number, interval: Interval, zone: DateTime.TimeZone): number => {
  if (interval === "hour") return at - mod(at + DateTime.zonedOffset(inZone(at, zone)) / 1000, hourSeconds)
  return secondsAt(DateTime.startOf(inZone(at, zone), interval, { weekStartsOn: 1 }))
}

const mod = (value: number, by: number) => ((value % by) + by) % by

/** When the interval that began at `start` is over, or the one `steps` further on, or back. */
const shift = (start: number, interval: Interval, steps: number, zone: DateTime.TimeZone): number => {
  if (interval === "hour") return start + steps * hourSeconds
  const part = { day: { days: steps }, week: { weeks: steps }, month: { months: steps } }[interval]
  return startOf(secondsAt(DateTime.add(inZone(start, zone), part)), interval, zone)
}

/** The span cut wherever an interval begins; null when that gives more than {@link maximumPoints}. */
export const splitSpan = (span: Span, interval: Interval, zone: DateTime.TimeZone): ReadonlyArray<Span> | null => {
  const points: Array<Span> = []
  let from = span.from
  while (from < span.to) {
    if (points.length === maximumPoints) return null
    const end = shift(startOf(from, interval, zone), interval, 1, zone)
    // Sums are kept by quarters, on which every clock in use today turns.
    const to = Math.min(Math.max(end - mod(end, quarter), from + quarter), span.to)
    points.push({ from, to })
    from = to
  }
  return points
}

export interface MetricsQuery {
  readonly from?: string
  readonly to?: string
  readonly interval?: Interval
  readonly timezone?: string
}

const refuse = (param: string, message: string) =>
  publicError("VALIDATION_ERROR", { message: `${param}: ${message}`, param })

/** The latest second a question may be about: the end of the year 9999. */
const endOfTime = 253_402_300_800

const readBound = (text: string | undefined, param: string, round: (quarters: number) => number) => {
  if (text === undefined) return undefined
  const seconds = readTime(text)
  if (seconds === undefined) return invalidParameter(param, momentInWords)
  return Math.min(round(seconds / quarter) * quarter, endOfTime)
}

/**
 * The zone of a name; undefined: there is none. UTC by its offset, which is never looked up: days of UTC, which most
 * questions are about, cost a tenth of the processor time.
 */
export const zoneOf = (name: string): DateTime.TimeZone | undefined =>
  name === "UTC" ? DateTime.zoneMakeOffset(0) : Option.getOrUndefined(DateTime.zoneMakeNamed(name))

const isError = (value: unknown): value is PublicError => typeof value === "object" && value !== null

/**
 * What a caller asks at `now`, epoch seconds, or the first thing wrong with it. Bounds are widened to quarters of an
 * hour; without them it is the last 30 intervals up to now.
 */
export const readMetricsRange = (query: MetricsQuery, now: number): MetricsRange | PublicError => {
  const interval = query.interval ?? "day"
  const timezone = query.timezone ?? "UTC"
  const zone = zoneOf(timezone)
  if (zone === undefined) return invalidParameter("timezone", "the name of a time zone, like Europe/Berlin")
  const to = readBound(query.to, "to", Math.ceil) ?? Math.ceil((now + 1) / quarter) * quarter
  if (isError(to)) return to
  const from = readBound(query.from, "from", Math.floor) ??
    Math.max(0, shift(startOf(to - 1, interval, zone), interval, 1 - defaultPoints, zone))
  if (isError(from)) return from
  if (from >= to) return invalidParameter("from", "a time before `to`")
  const points = splitSpan({ from, to }, interval, zone)
  if (points === null) {
    return refuse(
      "interval",
      `These bounds make more than ${maximumPoints} points: choose a longer interval or a shorter time`
    )
  }
  return { from, to, interval, timezone, points }
}

/** One row of sums: of a point, or of the whole span where `point` is null. */
export interface Sum {
  readonly point: number | null
  readonly sum: string
  readonly key: string
  readonly count: number
  readonly amount: bigint
  readonly amountPaid: bigint
}

/** Figures of a point or of the whole span. */
interface Figures {
  createdCount: number
  createdPaidCount: number
  createdExpiredCount: number
  createdUnderpaidCount: number
  amountCreated: bigint
  paidCount: number
  lateCount: number
  paymentCount: number
  revertedCount: number
  amountPaid: bigint
  webhookAttempts: number
  webhookSuccesses: number
}

const noFigures = (): Figures => ({
  createdCount: 0,
  createdPaidCount: 0,
  createdExpiredCount: 0,
  createdUnderpaidCount: 0,
  amountCreated: 0n,
  paidCount: 0,
  lateCount: 0,
  paymentCount: 0,
  revertedCount: 0,
  amountPaid: 0n,
  webhookAttempts: 0,
  webhookSuccesses: 0
})

export interface Group {
  /** A network, the id of a token, a customer's id; null: none is known. */
  readonly name: string | number | null
  readonly payments: number
  readonly amountPaid: UsdMillis
}

export interface MetricsResult {
  readonly totals: Figures
  readonly medianSecondsToPay: number | null
  readonly points: ReadonlyArray<Figures>
  readonly groups: ReadonlyArray<Group>
  readonly hasMoreGroups: boolean
}

/** Which sums a question needs, and the names of the two that other parts keep. */
export const sumsOf = (states: string, attempts: string) => ({
  points: [states, paidInvoices.sum, payments.sum, attempts],
  states,
  attempts
})

/** Adds one row to the figures of its point. */
const addTo = (
  figures: Figures,
  { amount, count, key, sum }: Sum,
  { attempts, states }: ReturnType<typeof sumsOf>
): void => {
  const [, kind] = key.split(":")
  if (sum === states) {
    figures.createdCount += count
    figures.amountCreated += amount
    if (kind === "paid") figures.createdPaidCount += count
    if (kind === "expired") figures.createdExpiredCount += count
    if (kind === "underpaid") figures.createdUnderpaidCount += count
  } else if (sum === paidInvoices.sum) {
    figures.paidCount += count
  } else if (sum === payments.sum && kind === "counted") {
    figures.paymentCount += count
    figures.amountPaid += amount
  } else if (sum === payments.sum && kind === "late") {
    figures.lateCount += count
  } else if (sum === payments.sum) {
    figures.revertedCount += count
  } else if (sum === attempts) {
    figures.webhookAttempts += count
    if (kind === "succeeded") figures.webhookSuccesses += count
  }
}

/** The time at the middle of all bins, the lower one of two; null where nothing was paid. */
const medianOf = (sums: ReadonlyArray<Sum>): number | null => {
  const bins = new Map<number, number>()
  for (const { count, key, sum } of sums) {
    const [, kind, bin] = key.split(":")
    if (sum === paidInvoices.sum && kind === "paid") bins.set(Number(bin), (bins.get(Number(bin)) ?? 0) + count)
  }
  const all = [...bins].toSorted(([a], [b]) => a - b)
  const half = Math.ceil(all.reduce((total, [, count]) => total + count, 0) / 2)
  let passed = 0
  for (const [bin, count] of all) {
    passed += count
    if (count > 0 && passed >= half) return secondsOf(bin)
  }
  return null
}

/** What a row is grouped under; undefined: it belongs to no group. */
const groupNameOf = (groupBy: GroupBy, { key, sum }: Sum): string | number | null | undefined => {
  const [type = "", kind, network, token] = key.split(":")
  if (groupBy === "customer") return sum === customers.sum ? key.slice(type.length + 1) || null : undefined
  if (sum !== payments.sum || kind !== "counted") return undefined
  return groupBy === "network" ? network! : token === "" ? null : Number(token)
}

const groupsOf = (sums: ReadonlyArray<Sum>, groupBy: GroupBy): ReadonlyArray<Group> => {
  const groups = new Map<string | number | null, Group>()
  for (const sum of sums) {
    const name = groupNameOf(groupBy, sum)
    if (name === undefined) continue
    const current = groups.get(name) ?? { name, payments: 0, amountPaid: usdMillis(0n) }
    groups.set(name, {
      name,
      payments: current.payments + sum.count,
      amountPaid: usdMillis(current.amountPaid + sum.amount)
    })
  }
  return [...groups.values()].filter((group) => group.payments > 0)
    .toSorted((a, b) => (a.amountPaid === b.amountPaid ? 0 : a.amountPaid < b.amountPaid ? 1 : -1))
}

/** The figures that rows of sums make up: each point's, all of them together, and the groups asked for. */
export const computeMetrics = (
  points: number,
  sums: ReadonlyArray<Sum>,
  names: ReturnType<typeof sumsOf>,
  groupBy: GroupBy | undefined
): MetricsResult => {
  const totals = noFigures()
  const series = Array.from({ length: points }, noFigures)
  for (const sum of sums) {
    if (sum.point === null) continue
    addTo(totals, sum, names)
    addTo(series[sum.point]!, sum, names)
  }
  const groups = groupBy === undefined ? [] : groupsOf(sums, groupBy)
  return {
    totals,
    medianSecondsToPay: medianOf(sums),
    points: series,
    groups: groups.slice(0, maximumGroups),
    hasMoreGroups: groups.length > maximumGroups
  }
}
