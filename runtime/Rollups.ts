/**
 * Sums kept beside what they sum: every commit that tells of a change moves the sums in its own transaction, so that
 * counts and totals are read from a few rows and never by scanning. One sum has no events: `webhook_mark_v1` moves the
 * attempts of deliveries (`attemptsSum` of `Webhooks.ts`) itself, where it writes their results.
 *
 * A sum is a function of snapshots: what an object as it stands contributes. An event carries the snapshot and, by its
 * previous attributes, the one before; the commit adds the first and takes away the second. So a sum always equals the
 * one counted anew over all objects, whatever order the changes came in.
 *
 * Rows stand in the table `rollups`: (merchant, environment, sum, width, bucket, key) with a count and two amounts.
 */
import type { WireObject } from "../schemas/WireObject.ts"

/**
 * Seconds of a bucket: six hours of UTC, a quarter of an hour (every time zone in use is whole quarters off UTC, so
 * local days are sums of both), or 0: one bucket for all time, which begins at 0. Each width is one more row that a
 * commit writes. With hours and days in place of six hours a commit wrote a third more rows, and a local day was read
 * from as many (24 hours, now 3 buckets and 24 quarters); a day of UTC was one row and is four.
 */
export type Width = 0 | 900 | 21_600

/** Widths by name. */
export const width = { ever: 0, quarter: 900, sixHours: 21_600 } as const satisfies Record<string, Width>

/** What one snapshot adds to one sum. */
export interface Contribution {
  /** Epoch seconds of the moment it belongs to. */
  readonly at: number
  /** What it is told apart by within a bucket, such as a status or a network; "" for nothing. */
  readonly key: string
  readonly count: number
  /** Two amounts in usd_millis; what they are is the sum's own affair. */
  readonly amount: bigint
  readonly amountPaid: bigint
}

/** One sum over the objects of one kind. A plugin lists its own. */
export interface Rollup {
  /** Unique: `<plugin>.<sum>`. */
  readonly sum: string
  /**
   * Raised whenever equal snapshots contribute otherwise than before, or a field it reads is rendered otherwise for
   * objects that are there: the sum is then counted anew from the events when the service starts.
   */
  readonly version: number
  /** `object` of the snapshots: `invoice`, `invoice_payment`. */
  readonly object: string
  /** Every contribution is kept in its bucket of each of these widths. */
  readonly widths: ReadonlyArray<Width>
  /** What a snapshot contributes. Pure. Every contribution moves a row in each width, so a few at most. */
  readonly contributions: (snapshot: WireObject) => ReadonlyArray<Contribution>
}

/** Where the bucket of `seconds` begins. */
export const bucketOf = (seconds: number, wide: Width): number => (wide === 0 ? 0 : seconds - (seconds % wide))

/** Buckets of one width that begin in `[from, to)`. */
export interface Piece {
  readonly width: Width
  readonly from: number
  readonly to: number
}

/** Epoch seconds in `[from, to)`. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** Widths of time, the second a whole number of the first. */
export const timeWidths = [width.quarter, width.sixHours] as const

/** The whole buckets of one width in a span; none where it is shorter than one. */
const wholeOf = ({ from, to }: Span, wide: number): Span => {
  const first = Math.ceil(from / wide) * wide
  return { from: first, to: Math.max(first, Math.floor(to / wide) * wide) }
}

/** What of `outer` lies before and after `inner`; all of it where nothing lies inside. */
const surroundings = (outer: Span, inner: Span): ReadonlyArray<Span> =>
  (inner.from < inner.to ? [{ from: outer.from, to: inner.from }, { from: inner.to, to: outer.to }] : [outer])
    .filter(({ from, to }) => from < to)

/**
 * The fewest buckets that make up `[from, to)`, and the edges, which have to be counted otherwise: two at most, each
 * under a quarter of an hour; or the span itself, under 30 minutes, where no whole quarter lies inside. Both bounds are
 * epoch seconds.
 */
export const cover = (span: Span): { readonly pieces: ReadonlyArray<Piece>; readonly edges: ReadonlyArray<Span> } => {
  const quarters = wholeOf(span, width.quarter)
  const sixHours = wholeOf(span, width.sixHours)
  const of = (wide: Width, spans: ReadonlyArray<Span>) => spans.map((each): Piece => ({ width: wide, ...each }))
  return {
    pieces: [
      ...of(width.quarter, surroundings(quarters, sixHours)),
      ...of(width.sixHours, surroundings(sixHours, { from: sixHours.to, to: sixHours.to }))
    ],
    edges: surroundings(span, quarters)
  }
}
