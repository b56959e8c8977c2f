/** What a section found, and how it is shown: one table at the end, and the same as JSON. */

/** A figure that is to be reached. */
export interface Goal {
  readonly atLeast?: number
  readonly atMost?: number
}

export interface Row {
  readonly section: string
  readonly what: string
  readonly value: number
  readonly unit: string
  /** Microseconds of CPU of the measured process for one operation. */
  readonly cpuEach?: number
  readonly goal?: Goal
  readonly note?: string
}

/** Why a section, or a part of it, was not run. */
export interface SkippedSection {
  readonly section: string
  readonly skipped: string
}

export type ReportLine = Row | SkippedSection

export const median = (values: ReadonlyArray<number>): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** The value below which so large a share of them lies. */
export const quantile = (values: ReadonlyArray<number>, share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))]!

export const isGoalReached = ({ goal, value }: Row): boolean | undefined =>
  goal === undefined ? undefined : value >= (goal.atLeast ?? -Infinity) && value <= (goal.atMost ?? Infinity)

const shown = (value: number): string =>
  value >= 1_000 ? Math.round(value).toLocaleString("en") : value >= 100 ? value.toFixed(0) : value.toFixed(2)

const goalText = ({ goal }: Row): string =>
  goal === undefined ? "" : goal.atLeast !== undefined ? `>= ${goal.atLeast}` : `<= ${goal.atMost}`

const header = ["section", "what", "value", "unit", "us CPU each", "goal", "reached", "note"] as const

const cells = (line: ReportLine): ReadonlyArray<string> => {
  if ("skipped" in line) return [line.section, `skipped: ${line.skipped}`, "", "", "", "", "", ""]
  const is = isGoalReached(line)
  return [
    line.section,
    line.what,
    shown(line.value),
    line.unit,
    line.cpuEach === undefined ? "" : line.cpuEach.toFixed(0),
    goalText(line),
    is === undefined ? "" : is ? "yes" : "NO",
    line.note ?? ""
  ]
}

const numeric = new Set([2, 4])

/** The table as text. */
export const table = (lines: ReadonlyArray<ReportLine>): string => {
  const rows = [header, ...lines.map(cells)]
  const widths = header.map((_, column) =>
    Math.max(...rows.map((row) => row[2] === "" && column === 1 ? 0 : row[column]!.length))
  )
  const rule = widths.map((width) => "-".repeat(width)).join("  ")
  const text = rows.map((row) =>
    row.map((cell, column) => numeric.has(column) ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!))
      .join("  ").trimEnd()
  )
  return [text[0], rule, ...text.slice(1)].join("\n")
}
