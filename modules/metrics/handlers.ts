/** Metrics between the wire and the sums. */
import { Effect } from "effect"
import { CurrentPrincipal, jsonText, readEnvironment } from "../../runtime/Http.ts"
import { MerchantClock } from "../../runtime/MerchantClock.ts"
import { attemptsSum } from "../../runtime/Webhooks.ts"
import { PublicError } from "../../schemas/Errors.ts"
import { usdDecimal, type UsdMillis, usdMillis, usdWire } from "../../schemas/Money.ts"
import { invoiceStates } from "../invoices/plugin.ts"
import { type Metrics, MetricsApi } from "./api.ts"
import {
  computeMetrics,
  type GroupBy,
  type MetricsRange,
  type MetricsResult,
  readMetricsRange,
  sumsOf
} from "./rules.ts"
import * as Repo from "./repo.ts"
import * as Operations from "../../runtime/Operations.ts"

const sums = sumsOf(invoiceStates.sum, attemptsSum)

/** A part of a whole to three decimals; null of nothing. */
const ratio = (part: number, whole: number): number | null =>
  whole === 0 ? null : Math.round((part / whole) * 1000) / 1000

const amountPaidFields = (amount: UsdMillis) => ({
  amount_paid: usdWire(amount),
  amount_paid_decimal: usdDecimal(amount)
})

/** Metrics on the wire, in the documented order. */
const body = (
  { from, interval, points, timezone, to }: MetricsRange,
  { groups, hasMoreGroups, medianSecondsToPay, points: series, totals }: MetricsResult,
  groupBy: GroupBy | undefined
): Metrics => ({
  object: "metrics",
  from,
  to,
  interval,
  timezone,
  currency: "usd",
  amount_unit: "usd_millis",
  totals: {
    invoices_created: totals.createdCount,
    invoices_paid: totals.paidCount,
    invoices_expired: totals.createdExpiredCount,
    invoices_underpaid: totals.createdUnderpaidCount,
    amount_created: usdWire(usdMillis(totals.amountCreated)),
    amount_created_decimal: usdDecimal(usdMillis(totals.amountCreated)),
    ...amountPaidFields(usdMillis(totals.amountPaid)),
    paid_ratio: ratio(totals.createdPaidCount, totals.createdCount),
    median_seconds_to_pay: medianSecondsToPay,
    payments: totals.paymentCount,
    payments_late: totals.lateCount,
    payments_reverted: totals.revertedCount,
    webhook_attempts: totals.webhookAttempts,
    webhook_success_ratio: ratio(totals.webhookSuccesses, totals.webhookAttempts)
  },
  series: series.map((point, place) => ({
    start: points[place]!.from,
    invoices_created: point.createdCount,
    invoices_paid: point.paidCount,
    ...amountPaidFields(usdMillis(point.amountPaid))
  })),
  groups: groups.map(({ amountPaid, name, payments }) =>
    ({ [groupBy ?? "network"]: name, payments, ...amountPaidFields(amountPaid) }) as unknown as Metrics["groups"][
      number
    ]
  ),
  groups_has_more: hasMoreGroups
})

export const handlers = Operations.group(
  MetricsApi,
  "metrics",
  Effect.fn(function*(group) {
    const clock = yield* MerchantClock
    const repo = yield* Repo.make
    return group.handle(
      "read",
      Effect.fnUntraced(function*({ query }) {
        const principal = yield* CurrentPrincipal
        const environment = yield* readEnvironment(principal, query.environment)
        const now = yield* clock.nowSeconds(principal.merchantId, environment)
        const range = readMetricsRange(query, now)
        if (range instanceof PublicError) return yield* range
        const rows = yield* repo.read({
          merchantId: principal.merchantId,
          environment,
          commerceOnly: principal.scope === "commerce",
          span: range,
          points: range.points,
          sums: sums.points,
          byCustomer: query.group_by === "customer"
        })
        const data = body(range, computeMetrics(range.points.length, rows, sums, query.group_by), query.group_by)
        return jsonText(JSON.stringify({ success: true, data }))
      })
    )
  })
)
