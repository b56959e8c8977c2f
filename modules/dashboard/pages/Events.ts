/** The log of events, and one of them as it was told. */
import { Effect } from "effect"
import { html } from "../../../runtime/pages/Html.ts"
import type { List } from "../service.ts"
import { card, cursorOf, facts, pager, table, timeOf } from "./Elements.ts"
import type { Page } from "./Page.ts"
import { savedViews, viewActions } from "./SavedViews.ts"

interface EventRow {
  readonly id: string
  readonly type: string
  readonly created: number
  readonly pending_webhooks: number
  readonly data: { readonly object: { readonly object: string; readonly id: string } }
}

const pageSize = 25

export const events: Page = {
  path: "events",
  right: "payments:read",
  route: "/api/v1/events",
  render: Effect.fnUntraced(function*(visit) {
    const { api, environment, query, texts: { events: words, fields, lists, sections } } = visit
    const type = query.get("type") ?? ""
    const found = yield* api.get<List<EventRow>>("/api/v1/events", {
      environment,
      limit: pageSize,
      type,
      ...cursorOf(visit)
    })
    return {
      title: sections.events,
      body: html`${yield* savedViews(
        visit,
        "events"
      )}<form class="filters"><label class="inlinelabel">${words.type}<input name="type" value="${type}" placeholder="invoice.*"></label><button>${lists.filter}</button></form>${
        card(
          null,
          found.data.length === 0 ? html`<p>${lists.nothing}</p>` : html`${
            table(sections.events, [
              {
                title: fields.time,
                cell: ({ created }) => timeOf(visit, created)
              },
              { title: words.type, cell: ({ type: name }) => name },
              {
                title: fields.number,
                cell: ({ id }) => html`<a class="mono" href="${visit.at(`events/${id}`)}">${id}</a>`
              },
              { title: words.about, cell: ({ data: { object } }) => `${object.object} ${object.id.slice(-8)}` },
              { title: words.waiting, isNumber: true, cell: ({ pending_webhooks }) => pending_webhooks }
            ], found.data)
          }${pager(visit, found.data, found.has_more)}`
        )
      }`
    }
  }),
  actions: viewActions("events")
}

export const event: Page = {
  path: "events/:id",
  right: "payments:read",
  route: "/api/v1/events",
  render: Effect.fnUntraced(function*(visit) {
    const { texts: { events: words, fields, sections } } = visit
    const found = yield* visit.api.get<EventRow>(`/api/v1/events/${encodeURIComponent(visit.params["id"] ?? "")}`)
    return {
      title: found.type,
      trail: { text: sections.events, path: "events" },
      body: card(
        null,
        html`${facts([[fields.time, timeOf(visit, found.created)], [words.waiting, found.pending_webhooks]])}
        <pre tabindex="0">${JSON.stringify(found, null, 2)}</pre>`
      )
    }
  })
}
