/** How the day is going, and what needs a person. */
import { Effect } from "effect"
import { calendarDay } from "../../../runtime/pages/Amounts.ts"
import { html } from "../../../runtime/pages/Html.ts"
import type { Exception } from "../../../schemas/Exception.ts"
import type { List } from "../service.ts"
import { card, networkName, table, usd } from "./Elements.ts"
import { invoiceColumns, type InvoiceRow } from "./InvoiceRows.ts"
import { type Metrics, receivedChart } from "./Metrics.ts"
import type { Page, Visit } from "./Page.ts"
import { firstPayment } from "./Simulator.ts"

const daySeconds = 86_400
const shownDays = 30
const newestCount = 5

/** The newest cases that wait, at most: more are shown as "over 100". */
const countedCases = 100

const chartOf = (visit: Visit, { series }: Metrics) => {
  const { locale, overview } = visit.texts
  return html`${receivedChart(visit, "day", { series })}<details><summary>${overview.numbers}</summary>${
    table(overview.perDay, [
      { title: overview.day, cell: ({ start }) => calendarDay(locale, start) },
      {
        title: visit.texts.fields.received,
        isNumber: true,
        cell: ({ amount_paid_decimal }) => usd(visit, amount_paid_decimal)
      }
    ], series)
  }</details>`
}

export const overview: Page = {
  path: "",
  right: "payments:read",
  route: "/api/v1/invoices",
  render: Effect.fnUntraced(function*(visit) {
    const { api, at, now, texts } = visit
    const words = texts.overview
    const today = now - now % daySeconds
    const [day, month, cases, newest] = yield* Effect.all([
      api.find<Metrics>("/api/v1/metrics", {
        from: today,
        to: today + daySeconds,
        interval: "day",
        group_by: "network"
      }),
      api.find<Metrics>("/api/v1/metrics", {
        from: today - (shownDays - 1) * daySeconds,
        to: today + daySeconds,
        interval: "day"
      }),
      api.find<List<typeof Exception.Encoded>>("/api/v1/exceptions", { status: "open", limit: countedCases }),
      api.get<List<InvoiceRow>>("/api/v1/invoices", { limit: newestCount, expand: "latest_payment,details" })
    ], { concurrency: "unbounded" })
    const tile = (path: string, title: string, value: string, text: string | null) =>
      html`<a class="card tile" href="${at(path)}"><span class="soft">${title}</span><b>${value}</b>
      <span class="soft">${text}</span></a>`
    const waiting = cases?.data.length ?? 0
    return {
      title: texts.sections.overview,
      follows: ["invoice.*", "invoice_payment.*", "exception.*"],
      acts: visit.may("invoices:write")
        && html`<a class="button main" href="${at("payments/new")}">${texts.payments.newInvoice}</a>`,
      body: html`<div class="tiles">${
        day !== null
        && html`${
          tile(
            "payments",
            words.receivedToday,
            usd(visit, day.totals.amount_paid_decimal),
            words.payments(day.totals.payments)
          )
        }${
          tile(
            "payments",
            words.paidToday,
            words.ofAll(day.totals.invoices_paid, day.totals.invoices_created),
            day.totals.median_seconds_to_pay === null ? null : words.medianSeconds(day.totals.median_seconds_to_pay)
          )
        }`
      }${
        cases !== null
        && tile(
          "todo",
          words.todo,
          cases.has_more ? `${countedCases}+` : String(waiting),
          waiting === 0 ? words.nothingTodo : null
        )
      }</div><div class="cols">${
        month !== null && month.series.length > 0 && card(words.perDay, chartOf(visit, month))
      }${
        day !== null && day.groups.length > 0 && card(
          words.byNetwork,
          table(words.byNetwork, [
            { title: texts.fields.network, cell: ({ network }) => networkName(network) },
            {
              title: texts.fields.received,
              isNumber: true,
              cell: ({ amount_paid_decimal }) => usd(visit, amount_paid_decimal)
            }
          ], day.groups)
        )
      }</div>${
        card(
          words.newest,
          newest.data.length === 0
            ? html`<p>${words.empty}</p>${firstPayment(visit)}`
            : table(words.newest, invoiceColumns(visit), newest.data),
          html`<a href="${at("payments")}">${words.allPayments}</a>`
        )
      }`
    }
  })
}
