/** Invoices by status and open exceptions, counted for the operator. */
import { Effect, Metric } from "effect"
import { Health } from "../../../runtime/Telemetry.ts"
import { InvoiceStatus } from "../../../schemas/Invoice.ts"
import { ExceptionType } from "../../../schemas/Payment.ts"
import type { InvoiceState } from "../machine.ts"
import { openExceptionCounts } from "../repo.ts"

const openExceptions = Metric.gauge("exceptions_open", {
  description: "Exceptions that wait for a decision, by type"
})

/** How long counts of open exceptions are cached: the query costs more the more there are. */
const exceptionCountsTtl = "15 seconds"

/**
 * Updates the counts of open exceptions for every scrape. They wait for a person's decision and are no fault of the
 * service, so health does not change with them.
 */
export const exceptionMetrics = Effect.gen(function*() {
  const recent = yield* Effect.cachedWithTTL(yield* openExceptionCounts, exceptionCountsTtl)
  const update = (found: ReadonlyMap<string, number>) =>
    Effect.forEach(
      ExceptionType.literals,
      (type) => Metric.update(Metric.withAttributes(openExceptions, { type }), found.get(type) ?? 0),
      { discard: true }
    )
  yield* update(new Map())
  yield* (yield* Health).register({ name: null, run: Effect.as(Effect.flatMap(recent, update), []) })
})

const invoicesTotal = Metric.counter("invoices_total", {
  description: "Invoices by the status they came to",
  incremental: true
})

/** One series a status, made once: it is updated with every commit. */
export const series = Object.fromEntries(
  InvoiceStatus.literals.map((status) => [status, Metric.withAttributes(invoicesTotal, { status })])
) as Record<InvoiceStatus, typeof invoicesTotal>

export const count = (before: InvoiceState | null, { status }: InvoiceState) =>
  before?.status === status ? Effect.void : Metric.update(series[status], 1)
