/** What a text names: one hit leads straight to it. */
import { Effect } from "effect"
import { html } from "../../../runtime/pages/Html.ts"
import type { List } from "../service.ts"
import { apiWord, card, shortId, table } from "./Elements.ts"
import type { Page } from "./Page.ts"

interface Result {
  readonly kind: string
  readonly id: string
  readonly matched: string
}

/** Where an object has its page. */
const pathOf = ({ id, kind }: Result): string => {
  const paths: Readonly<Record<string, string>> = {
    invoice: `payments/${id}`,
    event: `events/${id}`,
    refund: `refunds/${id}`,
    batch: `batches/${id}`,
    webhook_endpoint: `webhooks/${id}`
  }
  return paths[kind] ?? ""
}

export const search: Page = {
  path: "search",
  right: "payments:read",
  route: "/api/v1/search",
  render: Effect.fnUntraced(function*(visit) {
    const { api, query, texts: { fields, found: words } } = visit
    const text = (query.get("q") ?? "").trim()
    const found = text === "" ? [] : (yield* api.get<List<Result>>("/api/v1/search", { q: text.slice(0, 255) })).data
    const [only, ...others] = found
    return {
      title: words.title,
      ...(only !== undefined && others.length === 0
        ? { goTo: only.kind === "exception" ? { path: "todo", query: { open: only.id } } : { path: pathOf(only) } }
        : {}),
      body: card(
        null,
        found.length === 0
          ? html`<p>${words.nothing(text)}</p><p class="soft">${words.hint}</p>`
          : table(words.title, [
            {
              title: fields.number,
              cell: (result) => html`<a href="${visit.at(pathOf(result))}">${shortId(result.id)}</a>`
            },
            { title: words.kind, cell: ({ kind }) => apiWord(kind) },
            { title: words.matched, cell: ({ matched }) => apiWord(matched) }
          ], found)
      )
    }
  })
}
