/** What is accepted, where it is received, how networks are, and who did what: pages that mostly show. */
import { Effect } from "effect"
import { html } from "../../../runtime/pages/Html.ts"
import type { Network } from "../../../schemas/Network.ts"
import type { PendingChange } from "../../../schemas/PendingChange.ts"
import type { List } from "../service.ts"
import {
  apiText,
  apiWord,
  card,
  chip,
  cursorOf,
  facts,
  foreign,
  networkName,
  pager,
  sentValue,
  table,
  timeOf
} from "./Elements.ts"
import type { Page, Visit } from "./Page.ts"
import { pendingCard } from "./Pending.ts"

interface WalletRow {
  readonly family: string
  readonly kind: string
  readonly value_preview: string
  readonly first_addresses: ReadonlyArray<string>
  readonly next_index: number | null
  readonly highest_used_index: number | null
  readonly created_at: number
  readonly pending_change: PendingChange | null
}

const walletFacts = (visit: Visit, wallet: WalletRow) => {
  const { fields, settings: words } = visit.texts
  return html`${
    facts([
      [words.kind, apiWord(wallet.kind)],
      [words.value, html`<span class="mono wrap">${wallet.value_preview}</span>`],
      [words.nextIndex, wallet.next_index],
      [words.highestIndex, wallet.highest_used_index],
      [fields.created, timeOf(visit, wallet.created_at)]
    ])
  }${
    wallet.first_addresses.length > 0
    && html`<h3>${words.compare}</h3><ol>${
      wallet.first_addresses.map((address) => html`<li class="mono wrap">${address}</li>`)
    }</ol>`
  }`
}

const changePath = (sent: URLSearchParams) =>
  `/api/v1/merchant/wallets/${encodeURIComponent(sent.get("family") ?? "")}/changes/${
    encodeURIComponent(sent.get("change") ?? "")
  }` as const

export const wallets: Page = {
  path: "wallets",
  right: "payments:read",
  route: "/api/v1/merchant/wallets",
  render: Effect.fnUntraced(function*(visit) {
    const { api, texts: { pending: pendingWords, settings: words, sections } } = visit
    const found = yield* api.get<{
      readonly wallets: ReadonlyArray<WalletRow>
      readonly pending_wallets: ReadonlyArray<WalletRow>
    }>("/api/v1/merchant/wallets")
    const nameOf = ({ family }: WalletRow) => words.families[family as keyof typeof words.families] ?? family
    return {
      title: sections.wallets,
      body: html`${
        found.pending_wallets.map((wallet) =>
          wallet.pending_change !== null && pendingCard(
            visit,
            pendingWords.wallet(nameOf(wallet)),
            wallet.pending_change,
            walletFacts(visit, wallet),
            html`<input type="hidden" name="family" value="${wallet.family}">`
          )
        )
      }${
        found.wallets.length === 0
          ? card(null, html`<p>${words.noWallets}</p>`)
          : found.wallets.map((wallet) => card(nameOf(wallet), walletFacts(visit, wallet)))
      }`
    }
  }),
  actions: {
    approve: (visit, sent) =>
      Effect.as(
        visit.api.send("POST", `${changePath(sent)}/approve`, undefined, sent.get("form_key")),
        { path: "wallets", notice: "change_approved" }
      ),
    cancel: (visit, sent) =>
      Effect.as(
        visit.api.send("DELETE", changePath(sent), undefined, sent.get("form_key")),
        { path: "wallets", notice: "change_canceled" }
      )
  }
}

interface NetworkRow {
  readonly network: Network
  readonly healthy: boolean
  readonly condition: string
  readonly message: string
  readonly head_height: number | null
  readonly head_time: number | null
}

export const networks: Page = {
  path: "networks",
  right: "payments:read",
  route: "/api/v1/networks/status",
  render: Effect.fnUntraced(function*(visit) {
    const { api, environment, texts: { fields, settings: words, sections } } = visit
    const found = yield* api.get<List<NetworkRow>>("/api/v1/networks/status", { environment })
    return {
      title: sections.networks,
      body: card(
        null,
        table(sections.networks, [
          { title: fields.network, cell: ({ network }) => networkName(network) },
          { title: fields.state, cell: ({ condition, healthy }) => chip(healthy ? "good" : "bad", condition) },
          { title: words.means, cell: ({ message }) => apiText(message) },
          { title: words.head, isNumber: true, cell: ({ head_height }) => head_height },
          { title: fields.time, cell: ({ head_time }) => timeOf(visit, head_time) }
        ], found.data)
      )
    }
  })
}

interface AuditRow {
  readonly id: string
  readonly actor: string
  readonly action: string
  readonly subject: { readonly object: string; readonly id: string }
  readonly before: object
  readonly after: object
  readonly created_at: number
  /** Null in its first seconds, until it has its place in the chain. */
  readonly hash: string | null
}

const pageSize = 25

export const audit: Page = {
  path: "audit",
  right: "account:write",
  route: "/api/v1/audit-log",
  render: Effect.fnUntraced(function*(visit) {
    const { api, query, texts: { audit: words, fields, lists, sections } } = visit
    const action = query.get("action") ?? ""
    const found = yield* api.get<List<AuditRow>>("/api/v1/audit-log", { limit: pageSize, action, ...cursorOf(visit) })
    return {
      title: sections.audit,
      body: html`<form class="filters"><label class="inlinelabel">${words.action}<input name="action" value="${
        sentValue(visit, "action", action)
      }" placeholder="exception.resolve"></label><button>${lists.filter}</button></form>${
        card(
          null,
          found.data.length === 0 ? html`<p>${lists.nothing}</p>` : html`${
            table(sections.audit, [
              { title: fields.time, cell: ({ created_at }) => timeOf(visit, created_at) },
              { title: words.who, cell: ({ actor }) => foreign(actor) },
              { title: words.action, cell: ({ action: name }) => name },
              { title: words.what, cell: ({ subject }) => `${subject.object} ${subject.id.slice(-8)}` },
              {
                title: words.change,
                cell: ({ after, before }) =>
                  html`<details><summary>${words.show}</summary><pre tabindex="0">${
                    JSON.stringify({ before, after }, null, 2)
                  }</pre></details>`
              },
              {
                title: words.hash,
                cell: ({ hash }) => hash !== null && html`<span class="mono" title="${hash}">${hash.slice(0, 8)}</span>`
              }
            ], found.data)
          }${pager(visit, found.data, found.has_more)}`
        )
      }`
    }
  })
}
