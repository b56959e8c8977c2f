/** Invoices by status and open exceptions, counted for the operator. */
import { Effect, Metric } from "effect"
import { Settings } from "../../../runtime/Settings.ts"
import { Health, initializeSeries } from "../../../runtime/Telemetry.ts"
import { InvoiceStatus } from "../../../schemas/Invoice.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { usdWire } from "../../../schemas/Money.ts"
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
  yield* initializePaidSeries((yield* Settings).environments)
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

const paidDollars = Metric.counter("invoices_paid_usd_total", {
  description: "US dollars of invoices that became paid, by environment",
  incremental: true
})

const paidSeries = {
  devnet: Metric.withAttributes(paidDollars, { environment: "devnet" }),
  mainnet: Metric.withAttributes(paidDollars, { environment: "mainnet" })
} as const

/** Makes the series of money exist before the first invoice is paid, of the environments that are served. */
export const initializePaidSeries = (environments: ReadonlyArray<Environment>) =>
  initializeSeries(paidDollars, environments.map((environment) => ({ environment })))

export const count = (before: InvoiceState | null, { amountPaid, environment, status }: InvoiceState) => {
  if (before?.status === status) return Effect.void
  const counted = Metric.update(series[status], 1)
  return status === "paid"
    ? Effect.andThen(counted, Metric.update(paidSeries[environment], usdWire(amountPaid) / 1_000))
    : counted
}
