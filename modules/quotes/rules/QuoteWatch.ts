/**
 * What an instance remembers of an invoice that somebody watches: the quote the listeners have, and when to look again.
 * Pure: each function gives the watch as it is after one thing that happened. Times are epoch seconds of the
 * merchant's clock.
 */
import type { Quote } from "../../../schemas/Quote.ts"
import { quoteObject, type QuoteRow, renewSeconds } from "../rules.ts"

/** Seconds until a renewal that failed is tried again. */
export const retrySeconds = 5

export interface QuoteWatch {
  /** `Infinity`: only an event of the invoice changes anything. */
  readonly nextCheckAt: number
  /** The quote that the listeners have; undefined while they have none, and from when nothing can be paid. */
  readonly last: QuoteRow | undefined
  /** Set while the listeners know that there is none. */
  readonly unavailable: Quote | undefined
  /** The invoice has changed since it was read last, or was never read. */
  readonly hasChanged: boolean
  /** A reason to look came after the rows of the look under way were read. */
  readonly isWoken: boolean
}

export const newWatch = (last: QuoteRow | undefined): QuoteWatch => ({
  nextCheckAt: 0,
  last,
  unavailable: undefined,
  hasChanged: true,
  isWoken: false
})

/** The next look is at the next chance. */
export const afterWake = (watch: QuoteWatch): QuoteWatch => ({ ...watch, isWoken: true, nextCheckAt: 0 })

export const afterInvoiceEvent = (watch: QuoteWatch): QuoteWatch => afterWake({ ...watch, hasChanged: true })

/** The rows of a look are about to be read. */
export const beforeLook = (watch: QuoteWatch): QuoteWatch => ({ ...watch, isWoken: false })

/** The next look is at `at`; at once where a reason for it came during this one. */
export const withNextCheck = (watch: QuoteWatch, at: number): QuoteWatch => ({
  ...watch,
  nextCheckAt: watch.isWoken ? 0 : at
})

/** Whether the row shown last must be replaced or looked at more closely. */
export const needsRenewal = ({ hasChanged, last, unavailable }: QuoteWatch, row: QuoteRow, now: number): boolean =>
  hasChanged || last === undefined || unavailable !== undefined || row.validUntil - now <= renewSeconds

/** What the listeners have as a quote; null: nothing. */
export const listenersQuote = ({ last, unavailable }: QuoteWatch, now: number): Quote | null =>
  unavailable ?? (last === undefined ? null : quoteObject(last, now))

/** A renewal of `row` begins: what changes from here on is not in what it reads. */
export const beforeRenewal = (watch: QuoteWatch, row: QuoteRow): QuoteWatch => ({
  ...watch,
  last: row,
  hasChanged: false
})

/** `row` is still fresh. */
export const afterFreshRow = (watch: QuoteWatch, row: QuoteRow): QuoteWatch =>
  withNextCheck({ ...watch, last: row }, row.validUntil - renewSeconds)

/** `newRow` null: there is no quote, as `quote` says. */
export const afterRenewal = (
  watch: QuoteWatch,
  row: QuoteRow,
  newRow: QuoteRow | null,
  quote: Quote,
  now: number
): QuoteWatch =>
  withNextCheck(
    { ...watch, unavailable: newRow === null ? quote : undefined, last: newRow ?? row },
    newRow === null ? now + (quote.retry_after_seconds ?? retrySeconds) : newRow.validUntil - renewSeconds
  )

export const afterFailure = (watch: QuoteWatch, now: number): QuoteWatch =>
  withNextCheck({ ...watch, hasChanged: true }, now + retrySeconds)

/** Nothing can be paid, until an event of the invoice says otherwise. */
export const afterEnd = (watch: QuoteWatch): QuoteWatch =>
  withNextCheck({ ...watch, last: undefined, unavailable: undefined }, Number.POSITIVE_INFINITY)
