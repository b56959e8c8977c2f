/** Months of UTC, and other spans of time that are compared (modules/docs/reference/reconciliation.md#periods). Pure. */
import { DateTime } from "effect"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { invalidParameter, momentInWords } from "../../../schemas/InvalidInput.ts"
import { readTime } from "../../../schemas/Time.ts"

/** Epoch seconds: `from` is part of it, `to` is not. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** A span, and its name where it is a month: `2026-11`. */
export interface Period extends Span {
  readonly name: string | null
}

/** The longest span of one report: a leap year in seconds. */
export const maximumSpanSeconds = 31_622_400

/** Seconds after its end before a month is closed: what was decided in its last second is stored by then. */
export const closingDelaySeconds = 3_600

const monthPattern = /^(\d{4})-(0[1-9]|1[0-2])$/u

const startOf = (year: number, month: number): number =>
  DateTime.makeUnsafe({ year, month, day: 1 }).epochMilliseconds / 1000

/** Before it there were no blocks, and seconds are below zero. */
const firstYear = 1970

/** What a month should be, for messages. */
export const monthInWords = `a month of UTC from ${firstYear}-01 on, like 2026-11`

/** A month by its name; null: it is none. */
export const readMonth = (name: string): Period | null => {
  const found = monthPattern.exec(name)
  if (found === null || Number(found[1]) < firstYear) return null
  const [year, month] = [Number(found[1]), Number(found[2])]
  return {
    name,
    from: startOf(year, month),
    to: month === 12 ? startOf(year + 1, 1) : startOf(year, month + 1)
  }
}

/** The month of a moment in epoch seconds. */
export const monthOf = (seconds: number): Period => {
  const name = DateTime.formatIso(DateTime.makeUnsafe(seconds * 1000)).slice(0, 7)
  return readMonth(name)!
}

export const nextMonth = ({ to }: Span): Period => monthOf(to)
export const previousMonth = ({ from }: Span): Period => monthOf(from - 1)

/** A month or a span, as it is asked for; without either the month of `now`. */
export const readPeriod = (
  query: { readonly period?: string; readonly from?: string; readonly to?: string },
  now: number
): Period | PublicError => {
  const { from: sentFrom, period, to: sentTo } = query
  if (period !== undefined) {
    if (sentFrom !== undefined || sentTo !== undefined) {
      return publicError("VALIDATION_ERROR", {
        message: "period: send either `period` or `from` and `to`",
        param: "period"
      })
    }
    return readMonth(period) ?? invalidParameter("period", monthInWords)
  }
  if (sentFrom === undefined && sentTo === undefined) return monthOf(now)
  if (sentFrom === undefined) return invalidParameter("to", "a time that comes with `from`: send both, or `from` alone")
  const to = sentTo === undefined ? now : readTime(sentTo)
  if (to === undefined) return invalidParameter("to", momentInWords)
  const from = readTime(sentFrom)
  if (from === undefined) return invalidParameter("from", momentInWords)
  if (from >= to) return invalidParameter("from", "a time before `to`")
  if (to - from > maximumSpanSeconds && sentTo === undefined) {
    return invalidParameter("from", "at most 366 days (31,622,400 seconds) before now, unless `to` is sent as well")
  }
  if (to - from > maximumSpanSeconds) {
    return invalidParameter("to", "at most 366 days (31,622,400 seconds) after `from`")
  }
  return { name: null, from: Math.ceil(from), to: Math.ceil(to) }
}
