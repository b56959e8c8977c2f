/** How networks are, and who did what: pages that only show. */
import { Effect } from "effect"
import { html } from "../../../runtime/pages/Html.ts"
import type { Network } from "../../../schemas/Network.ts"
import type { List } from "../service.ts"
import { apiText, card, chip, cursorOf, foreign, networkName, pager, table, timeOf } from "./Elements.ts"
import type { Page } from "./Page.ts"
import { savedViews, viewActions } from "./SavedViews.ts"

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
      body: html`${yield* savedViews(
        visit,
        "audit"
      )}<form class="filters"><label class="inlinelabel">${words.action}<input name="action" value="${action}" placeholder="exception.resolve"></label><button>${lists.filter}</button></form>${
        card(
          null,
          found.data.length === 0 ? html`<p>${lists.nothing}</p>` : html`${
            table(sections.audit, [
              {
                title: fields.time,
                cell: ({ created_at }) => timeOf(visit, created_at)
              },
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
  }),
  actions: viewActions("audit")
}
