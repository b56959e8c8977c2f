/** What is the merchant's, what is owed, and what moved. */
import { Effect } from "effect"
import { html } from "../../../runtime/pages/Html.ts"
import type { BalanceTransaction } from "../../../schemas/BalanceTransaction.ts"
import type { List } from "../service.ts"
import { card, cursorOf, facts, pager, shortId, table, timeOf, tokenAmount, usd } from "./Elements.ts"
import { exportCard, lastDays } from "./Exports.ts"
import type { Page, Visit } from "./Page.ts"

interface Sum {
  readonly amount_decimal: string
  readonly token_amount: string
}

/** What `GET /api/v1/balance` answers, as far as it is shown. */
interface Balance {
  readonly available_decimal: string
  readonly pending_decimal: string
  readonly refund_payable_decimal: string
  readonly suspense_decimal: string
  readonly ignored_decimal: string
  readonly assets: ReadonlyArray<{
    readonly asset: string
    readonly token: { readonly symbol: string | null } | null
    readonly available: Sum
    readonly pending: Sum
    readonly refund_payable: Sum
    readonly suspense: Sum
    readonly ignored: Sum
    readonly chain: Sum
  }>
}

const pageSize = 25

const assetName = ({ asset, token }: Balance["assets"][number]): string =>
  `${token?.symbol ?? asset.split(":")[1] ?? asset} · ${asset.split(":")[0]}`

const assets = (visit: Visit, balance: Balance) => {
  const { balances: words } = visit.texts
  const amount = (of: (row: Balance["assets"][number]) => Sum) => (row: Balance["assets"][number]) =>
    tokenAmount(of(row).token_amount, null)
  return table(words.byAsset, [
    { title: words.asset, cell: assetName },
    { title: words.available, isNumber: true, cell: amount(({ available }) => available) },
    { title: words.pending, isNumber: true, cell: amount(({ pending }) => pending) },
    { title: words.refundPayable, isNumber: true, cell: amount(({ refund_payable }) => refund_payable) },
    { title: words.suspense, isNumber: true, cell: amount(({ suspense }) => suspense) },
    // Without it the columns would not come to what is on the network.
    { title: words.ignored, isNumber: true, cell: amount(({ ignored }) => ignored) },
    { title: words.chain, isNumber: true, cell: amount(({ chain }) => chain) }
  ], balance.assets)
}

export const balances: Page = {
  path: "balances",
  right: "balances:read",
  route: "/api/v1/balance",
  render: Effect.fnUntraced(function*(visit) {
    const { api, texts: { balances: words, fields, lists, sections } } = visit
    const balance = yield* api.get<Balance>("/api/v1/balance")
    const found = yield* api.get<List<typeof BalanceTransaction.Encoded>>("/api/v1/balance-transactions", {
      limit: pageSize,
      ...cursorOf(visit)
    })
    return {
      title: sections.balances,
      body: html`<div class="cols">${card(words.byAsset, assets(visit, balance))}${
        card(
          words.inDollars,
          facts([
            [words.available, usd(visit, balance.available_decimal)],
            [words.pending, usd(visit, balance.pending_decimal)],
            [words.refundPayable, usd(visit, balance.refund_payable_decimal)],
            [words.suspense, usd(visit, balance.suspense_decimal)],
            [words.ignored, usd(visit, balance.ignored_decimal)]
          ])
        )
      }</div>${
        card(
          words.newest,
          found.data.length === 0 ? html`<p>${lists.nothing}</p>` : html`${
            table(words.newest, [
              { title: fields.time, cell: ({ created_at }) => timeOf(visit, created_at) },
              { title: words.type, cell: ({ type }) => type },
              { title: fields.number, cell: ({ id }) => html`<span class="mono">${shortId(id)}</span>` },
              { title: words.net, isNumber: true, cell: ({ net_decimal }) => usd(visit, net_decimal) },
              { title: fields.state, cell: ({ status }) => status }
            ], found.data)
          }${pager(visit, found.data, found.has_more)}`
        )
      }${exportCard(visit, ["balance-transactions", "journal"], lastDays(visit))}`
    }
  })
}
