/**
 * How a merchant does over time: months, the days of one, the hours of a day (UTC). Each point leads to what it is made
 * of, so that looking closer takes no script.
 */
import { Effect } from "effect"
import { calendarDay } from "../../../runtime/pages/Amounts.ts"
import { type Html, html } from "../../../runtime/pages/Html.ts"
import type { Network } from "../../../schemas/Network.ts"
import { isoTime } from "../../../schemas/Time.ts"
import { barChart } from "./Chart.ts"
import { card, facts, networkName, table, usd } from "./Elements.ts"
import { dayOf, daysOfMonth, readDayStart, secondsPerDay } from "./Exports.ts"
import type { Page, Query, Visit } from "./Page.ts"

type Interval = "hour" | "day" | "month"

/** What `GET /api/v1/metrics` answers, as far as it is shown. */
export interface Metrics {
  readonly totals: {
    readonly invoices_created: number
    readonly invoices_paid: number
    readonly invoices_expired: number
    readonly invoices_underpaid: number
    readonly amount_created_decimal: string
    readonly amount_paid_decimal: string
    readonly paid_ratio: number | null
    readonly median_seconds_to_pay: number | null
    readonly payments: number
    readonly payments_late: number
    readonly payments_reverted: number
    readonly webhook_attempts: number
    readonly webhook_success_ratio: number | null
  }
  readonly series: ReadonlyArray<{
    readonly start: number
    readonly invoices_created: number
    readonly invoices_paid: number
    readonly amount_paid: number
    readonly amount_paid_decimal: string
  }>
  readonly groups: ReadonlyArray<
    { readonly network: Network | null; readonly amount_paid_decimal: string; readonly payments: number }
  >
}

interface Span {
  readonly name: "lastDays" | "lastMonths" | "month" | "day"
  readonly interval: Interval
  readonly from: number
  readonly to: number
}

const lastDayCount = 30
const lastMonthCount = 12

const monthOf = (seconds: number): string => isoTime(seconds).slice(0, 7)

/** The first second of the month, UTC, that lies so many months before that of `now`. */
const monthStart = (now: number, before: number): number => {
  const [year, month] = monthOf(now).split("-").map(Number)
  return Date.UTC(year!, month! - 1 - before) / 1000
}

/** What the address asks for: `month=2026-10`, `day=2026-10-31` or `by=month`; else the last days. */
export const spanOf = (query: URLSearchParams, now: number): Span => {
  const day = readDayStart(query.get("day"))
  if (day !== null) return { name: "day", interval: "hour", from: day, to: day + secondsPerDay }
  const month = daysOfMonth(query.get("month") ?? "")
  if (month !== null) return { name: "month", interval: "day", ...month }
  if (query.get("by") === "month") {
    const from = monthStart(now, lastMonthCount - 1)
    return { name: "lastMonths", interval: "month", from, to: monthStart(now, -1) }
  }
  const tomorrow = now - now % secondsPerDay + secondsPerDay
  return { name: "lastDays", interval: "day", from: tomorrow - lastDayCount * secondsPerDay, to: tomorrow }
}

const labelOf = ({ texts }: Visit, interval: Interval, start: number): string =>
  interval === "hour"
    ? isoTime(start).slice(11, 16)
    : interval === "day"
    ? calendarDay(texts.locale, start)
    : monthOf(start)

/** What a point is made of; null: hours are the finest. */
const closer = (interval: Interval, start: number): Query | null =>
  interval === "hour" ? null : interval === "day" ? { day: dayOf(start) } : { month: monthOf(start) }

const percent = (ratio: number | null): string | null => ratio === null ? null : `${(ratio * 100).toFixed(1)} %`

/** What was received at each point, of which there is one at least. */
export const receivedChart = (visit: Visit, interval: Interval, { series }: Pick<Metrics, "series">): Html => {
  const bars = series.map(({ amount_paid, amount_paid_decimal, start }) => {
    const label = labelOf(visit, interval, start)
    return { label, value: amount_paid, text: `${label}: ${usd(visit, amount_paid_decimal)}` }
  })
  const highest = series.reduce((top, point) => point.amount_paid > top.amount_paid ? point : top)
  const sentence = visit.texts.metrics.chart(
    bars[0]!.label,
    bars.at(-1)!.label,
    usd(visit, highest.amount_paid_decimal)
  )
  return barChart(sentence, bars)
}

export const metrics: Page = {
  path: "metrics",
  right: "payments:read",
  route: "/api/v1/metrics",
  render: Effect.fnUntraced(function*(visit) {
    const { at, query, texts: { fields, metrics: words, overview, sections } } = visit
    const { from, interval, name, to } = spanOf(query, visit.now)
    const found = yield* visit.api.get<Metrics>("/api/v1/metrics", { from, to, interval, group_by: "network" })
    const { groups, series, totals } = found
    const choice = (text: string, chosen: Query, isCurrent = false) =>
      isCurrent ? html`<b>${text}</b>` : html`<a href="${at("metrics", chosen)}">${text}</a>`
    const title = name === "day" ? dayOf(from) : name === "month" ? monthOf(from) : words[name]
    return {
      title: sections.metrics,
      body: html`<p class="row">${choice(words.lastDays, {}, name === "lastDays")}${
        choice(words.lastMonths, { by: "month" }, name === "lastMonths")
      }${name === "day" && choice(monthOf(from), { month: monthOf(from) })}</p>${
        card(
          `${title} (UTC)`,
          html`${series.length > 0 && receivedChart(visit, interval, found)}${
            facts([
              [fields.received, usd(visit, totals.amount_paid_decimal)],
              [words.asked, usd(visit, totals.amount_created_decimal)],
              [words.created, totals.invoices_created],
              [words.paid, totals.invoices_paid],
              [words.paidPart, percent(totals.paid_ratio)],
              [words.expired, totals.invoices_expired],
              [words.underpaid, totals.invoices_underpaid],
              [
                words.timeToPay,
                totals.median_seconds_to_pay === null ? null : overview.medianSeconds(totals.median_seconds_to_pay)
              ],
              [sections.payments, totals.payments],
              [words.late, totals.payments_late],
              [words.reverted, totals.payments_reverted],
              [words.attempts, totals.webhook_attempts],
              [words.accepted, percent(totals.webhook_success_ratio)]
            ])
          }`
        )
      }${
        card(
          words.points,
          table(words.points, [
            {
              title: words.begins,
              cell: ({ start }) => {
                const next = closer(interval, start)
                const label = labelOf(visit, interval, start)
                return next === null ? label : html`<a href="${at("metrics", next)}">${label}</a>`
              }
            },
            { title: words.created, isNumber: true, cell: ({ invoices_created }) => invoices_created },
            { title: words.paid, isNumber: true, cell: ({ invoices_paid }) => invoices_paid },
            {
              title: fields.received,
              isNumber: true,
              cell: ({ amount_paid_decimal }) => usd(visit, amount_paid_decimal)
            }
          ], series)
        )
      }${
        groups.length > 0 && card(
          words.byNetwork,
          table(words.byNetwork, [
            { title: fields.network, cell: ({ network }) => networkName(network) },
            { title: sections.payments, isNumber: true, cell: ({ payments }) => payments },
            {
              title: fields.received,
              isNumber: true,
              cell: ({ amount_paid_decimal }) => usd(visit, amount_paid_decimal)
            }
          ], groups)
        )
      }`
    }
  })
}
