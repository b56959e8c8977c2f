/** Prove a month, and close it. */
import { Effect } from "effect"
import { html } from "../../../runtime/pages/Html.ts"
import { networks } from "../../../schemas/Network.ts"
import { isoTime } from "../../../schemas/Time.ts"
import type { List } from "../service.ts"
import { card, chip, form, networkName, note, shortHash, table, timeOf, tokenAmount } from "./Elements.ts"
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
    & {
      readonly chain_balance: { readonly token_amount: string | null } | null
      readonly chain_balance_reason: string | null
    }
  >
  readonly differences: ReadonlyArray<{
    readonly asset: string
    readonly account: string | null
    readonly cause: string
    readonly token_amount: string | null
  }>
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

const closingDelaySeconds = 3_600

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

/** A word of the API in the page's words; one that has none yet stays as it is. */
const inWords = (words: Readonly<Record<string, string>>, word: string): string =>
  Object.hasOwn(words, word) ? words[word]! : word

/** The network of an asset such as `base:native`, as people call it. */
const networkOf = (asset: string): string => {
  const name = asset.split(":")[0] ?? asset
  return networkName(networks.find((network) => network === name) ?? null) ?? name
}

/** What a wallet holds, as the balances name it; the wallet too, where several hold the same. */
const nameOf = (
  { texts }: Visit,
  { account, asset }: { readonly asset: string; readonly account: string | null },
  { wallets }: Report
): string => {
  const holders = wallets.filter((row) => row.asset === asset)
  const name = `${holders[0]?.symbol ?? shortHash(asset.split(":")[1] ?? asset)} · ${networkOf(asset)}`
  return holders.length < 2 || account === null
    ? name
    : `${name} · ${texts.periods.wallet(account.slice(account.indexOf(":") + 1).slice(0, 4))}`
}

const flowTable = (visit: Visit, report: Report) => {
  const { periods: words } = visit.texts
  return table(words.equation, [
    { title: words.asset, cell: (row) => nameOf(visit, row, report) },
    ...flows.map((flow) => ({
      title: words.flows[flow],
      isNumber: true,
      cell: (row: Report["wallets"][number]) => tokenAmount(row[flow].token_amount, null)
    })),
    {
      title: words.chain,
      isNumber: true,
      cell: ({ chain_balance: balance, chain_balance_reason: reason }) =>
        balance === null
          ? reason !== null && inWords(words.chainGaps, reason)
          : tokenAmount(balance.token_amount, null)
    }
  ], report.wallets)
}

export const periods: Page = {
  path: "periods",
  right: "balances:read",
  route: "/api/v1/reconciliation",
  render: Effect.fnUntraced(function*(visit) {
    const { api, now, query, texts: { fields, lists, periods: words, sections } } = visit
    const period = query.get("period") ?? monthBefore(now)
    const report = yield* api.get<Report>("/api/v1/reconciliation", { period })
    const closed = yield* api.get<List<ClosedPeriod> & { readonly next_period: string | null }>(
      "/api/v1/reconciliation/closed",
      { limit: 12 }
    )
    const isClosed = closed.data.some((one) => one.period === period)
    // A month can be closed from one hour after its end on.
    const isOver = period < monthOf(now - closingDelaySeconds)
    const mayClose = visit.may("books:write") && isOver && !isClosed
    const next = closed.next_period
    return {
      title: `${sections.periods}: ${period}`,
      state: isClosed ? chip("good", words.closed) : chip("plain", words.open),
      acts: mayClose && period === next
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
          mayClose && next !== null && next !== period
          && html`<p><a href="${visit.at("periods", { period: next })}">${words.closedNext(next)}</a></p>`
        }${
          report.differences.length === 0
            ? note("good", words.explained)
            : card(
              words.differences(report.differences.length, report.has_more_differences),
              table(words.differencesTitle, [
                { title: words.asset, cell: (difference) => nameOf(visit, difference, report) },
                { title: words.cause, cell: ({ cause }) => inWords(words.causes, cause) },
                {
                  title: fields.amount,
                  isNumber: true,
                  cell: ({ token_amount }) => tokenAmount(token_amount, null)
                }
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
