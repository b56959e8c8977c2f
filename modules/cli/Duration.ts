/** How far back a command looks, as people write it. Pure. */
const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 }

/** Seconds since 1970 of `90s`, `15m`, `1h`, `7d`, `2w` before `now`, or of an ISO 8601 time; undefined: neither. */
export const sinceSeconds = (text: string, now: number): number | undefined => {
  const [, digits, unit] = /^(\d{1,6})([smhdw])$/.exec(text) ?? []
  if (digits !== undefined && unit !== undefined) {
    return Math.max(0, Math.floor(now - Number(digits) * unitSeconds[unit]!))
  }
  const millis = /^\d{4}-\d\d-\d\d(?:T[\d:.]+(?:Z|[+-]\d\d:\d\d))?$/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(millis) ? undefined : Math.floor(millis / 1000)
}

/** What {@link sinceSeconds} reads, for messages. */
export const sinceForms = "such as 15m, 1h, 7d, 2026-11-28 or 2026-11-28T09:00:00Z"
