/** Prove a month, and close it. */
import { Effect } from "effect"
import { html } from "../../../runtime/pages/Html.ts"
import { isoTime } from "../../../schemas/Time.ts"
import type { List } from "../service.ts"
import { card, chip, form, note, table, timeOf, tokenAmount } from "./Elements.ts"
import { daysOfMonth, exportCard, lastDays } from "./Exports.ts"
import type { Page, Visit } from "./Page.ts"

interface Sum {
  readonly token_amount: string
}

/** What `GET /api/v1/reconciliation` answers, as far as it is shown. */
interface Report {
  readonly period: string | null
  readonly wallets: ReadonlyArray<
    & { readonly asset: string; readonly symbol: string | null; readonly account: string }
    & Readonly<Record<typeof flows[number], Sum>>
    & { readonly chain_balance: string | null; readonly chain_balance_reason: string | null }
  >
  readonly differences: ReadonlyArray<{ readonly kind: string; readonly cause?: string | null }>
  readonly has_more_differences: boolean
  readonly explained_ppm: number
}

interface ClosedPeriod {
  readonly period: string
  readonly hash: string
  readonly actor: string
  readonly closed_at: number
}

const daySeconds = 86_400

/** In the order of the equation: opening, what came, what left, closing (modules/docs/reference/reconciliation.md). */
const flows = [
  "opening",
  "received",
  "unmatched",
  "refunded",
  "paid_out",
  "collected_in",
  "collected_out",
  "fees",
  "other",
  "closing"
] as const

/** A month of UTC, as `2026-10`. */
const monthOf = (seconds: number): string => isoTime(seconds).slice(0, 7)

/** The month before that of `now`: the last day of it is the day before the first of this one. */
const monthBefore = (now: number): string => {
  const dayOfMonth = Number.parseInt(isoTime(now).slice(8, 10), 10)
  return monthOf(now - dayOfMonth * daySeconds)
}

const flowTable = (visit: Visit, report: Report) => {
  const { periods: words } = visit.texts
  return table(words.equation, [
    { title: words.asset, cell: ({ account, asset, symbol }) => `${symbol ?? asset} · ${account}` },
    ...flows.map((flow) => ({
      title: words.flows[flow],
      isNumber: true,
      cell: (row: Report["wallets"][number]) => tokenAmount(visit, row[flow].token_amount, null)
    })),
    {
      title: words.chain,
      isNumber: true,
      cell: ({ chain_balance: balance, chain_balance_reason: reason }) => balance ?? reason
    }
  ], report.wallets)
}

export const periods: Page = {
  path: "periods",
  right: "balances:read",
  route: "/api/v1/reconciliation",
  render: Effect.fnUntraced(function*(visit) {
    const { api, now, query, texts: { lists, periods: words, sections } } = visit
    const period = query.get("period") ?? monthBefore(now)
    const report = yield* api.get<Report>("/api/v1/reconciliation", { period })
    const closed = yield* api.get<List<ClosedPeriod>>("/api/v1/reconciliation/closed", { limit: 12 })
    const isClosed = closed.data.some((one) => one.period === period)
    const isOver = period < monthOf(now)
    return {
      title: `${sections.periods}: ${period}`,
      state: isClosed ? chip("good", words.closed) : chip("plain", words.open),
      acts: visit.may("books:write") && isOver && !isClosed
        && form(
          visit,
          "close",
          html`<input type="hidden" name="period" value="${period}"><button class="main">${
            words.close(period)
          }</button>`
        ),
      body:
        html`<form class="filters"><label class="inlinelabel">${words.month}<input type="month" name="period" value="${period}" max="${
          monthOf(now)
        }"></label><button>${lists.filter}</button></form>${
          report.differences.length === 0
            ? note("good", words.explained)
            : card(
              words.differences(report.differences.length, report.has_more_differences),
              table(words.differencesTitle, [
                { title: words.kind, cell: ({ kind }) => kind },
                { title: words.cause, cell: ({ cause }) => cause }
              ], report.differences)
            )
        }${card(words.equation, report.wallets.length === 0 ? html`<p>${words.empty}</p>` : flowTable(visit, report))}${
          closed.data.length > 0 && card(
            words.closedTitle,
            table(words.closedTitle, [
              {
                title: words.month,
                cell: ({ period: month }) => html`<a href="${visit.at("periods", { period: month })}">${month}</a>`
              },
              { title: words.closedAt, cell: ({ closed_at }) => timeOf(visit, closed_at) },
              { title: words.by, cell: ({ actor }) => actor },
              {
                title: words.hash,
                cell: ({ hash }) => html`<span class="mono" title="${hash}">${hash.slice(0, 12)}…</span>`
              }
            ], closed.data)
          )
        }${
          exportCard(
            visit,
            ["journal", "balance-transactions", "lots", "koinly"],
            daysOfMonth(period) ?? lastDays(visit)
          )
        }`
    }
  }),
  actions: {
    close: Effect.fnUntraced(function*(visit, sent) {
      const period = sent.get("period") ?? ""
      yield* visit.api.send("POST", "/api/v1/reconciliation/close", { period }, sent.get("form_key"))
      return { path: "periods", query: { period }, notice: "period_closed" }
    })
  }
}
