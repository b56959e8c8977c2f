/** Files of everything in a span of days, and the form that asks for them. */
import { Effect } from "effect"
import { type Html, html } from "../../../runtime/pages/Html.ts"
import { publicError } from "../../../schemas/Errors.ts"
import { isoTime } from "../../../schemas/Time.ts"
import { card } from "./Elements.ts"
import type { Page, Visit } from "./Page.ts"
import type { Texts } from "./Texts.ts"

const route = "/api/v1/exports/{kind}"

export type ExportKind = keyof Texts["exports"]["kinds"]

export const secondsPerDay = 86_400

/** The day of a moment, UTC, as `2026-10-31`. */
export const dayOf = (seconds: number): string => isoTime(seconds).slice(0, 10)

/** The first second of a day, UTC, as a field of the type `date` names it; null: it names none. */
export const readDayStart = (day: string | null): number | null => {
  const [, year, month, date] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(day ?? "") ?? []
  const millis = date === undefined ? Number.NaN : Date.UTC(Number(year), Number(month) - 1, Number(date))
  return Number.isFinite(millis) && dayOf(millis / 1000) === day ? millis / 1000 : null
}

/** `from` and `to`: what is asked for unless somebody says otherwise, in epoch seconds; `to` is not in it. */
export const exportCard = (
  visit: Visit,
  kinds: ReadonlyArray<ExportKind>,
  { from, to }: { readonly from: number; readonly to: number }
): Html | false => {
  const { texts: { exports: words } } = visit
  const day = (name: string, label: string, seconds: number) =>
    html`<label class="inlinelabel">${label}<input type="date" name="${name}" value="${
      dayOf(seconds)
    }" required></label>`
  return visit.may("exports:read") && visit.serves(route) && card(
    words.title,
    html`<form class="filters" action="${visit.at(`exports/${kinds[0]}`)}">${day("from", words.from, from)}${
      day("until", words.until, to - 1)
    }${
      kinds.map((kind) => html`<button formaction="${visit.at(`exports/${kind}`)}">${words.kinds[kind]} (CSV)</button>`)
    }</form>`
  )
}

/** The last thirty days, and today. */
export const lastDays = ({ now }: Visit) => {
  const tomorrow = now - now % secondsPerDay + secondsPerDay
  return { from: tomorrow - 31 * secondsPerDay, to: tomorrow }
}

/** A month of UTC, as `2026-10`; null: it is none. */
export const daysOfMonth = (month: string) => {
  const from = readDayStart(`${month}-01`)
  // No month has 32 days, so that the day after 31 of them is in the next one.
  const next = from === null ? null : readDayStart(`${dayOf(from + 31 * secondsPerDay).slice(0, 7)}-01`)
  const to = next === from || next === null ? null : next
  return from === null || to === null ? null : { from, to }
}

/** A file of the API, as whoever looks may read it. */
export const exportFile: Page = {
  path: "exports/:kind",
  right: "exports:read",
  route,
  render: () => Effect.fail(publicError("NOT_FOUND")),
  file: ({ params, query }) => {
    const [from, until] = [readDayStart(query.get("from")), readDayStart(query.get("until"))]
    return {
      path: `/api/v1/exports/${encodeURIComponent(params["kind"] ?? "")}`,
      query: { from, to: until === null ? null : until + secondsPerDay }
    }
  }
}
