/** Lists with their filters that people save by a name, for themselves or for everybody of the shop. */
import { Effect } from "effect"
import { attribute, type Html, html } from "../../../runtime/pages/Html.ts"
import type { PublicError } from "../../../schemas/Errors.ts"
import { environmentOfBoth } from "../../../schemas/Authorization.ts"
import { roleHas } from "../../../schemas/Roles.ts"
import { filtersOfLists, maximumViewName, type SavedView, type ViewList } from "../../team/api.ts"
import type { List } from "../service.ts"
import { card, field, foreign, form, pathOf } from "./Elements.ts"
import type { FormAction, Query, Visit } from "./Page.ts"

type ViewRow = typeof SavedView.Encoded

const viewsPath = "/api/v1/team/views"

/** Views that a list shows, at most: the newest. */
const maximumListed = 100

/** The filters of an address of a list; other fields of it are neither saved nor restored. */
const filtersIn = (list: ViewList, query: URLSearchParams): Query =>
  Object.fromEntries(
    filtersOfLists[list].flatMap((name) => {
      const value = query.get(name) ?? ""
      return value === "" ? [] : [[name, value]]
    })
  )

const textOf = (filters: Query): string => new URLSearchParams(filters as Record<string, string>).toString()

/** Whether the person may make and remove views of everybody. */
const mayShare = ({ membership }: Visit): boolean => roleHas(membership.role, "settings:write", environmentOfBoth)

const rowOf = (visit: Visit, view: ViewRow, current: string): Html => {
  const { views: words } = visit.texts
  const filters = filtersIn(view.list, new URLSearchParams(view.query))
  const isCurrent = textOf(filters) === current
  return html`<li class="row"><a href="${visit.at(pathOf(visit), filters)}"${
    attribute("aria-current", isCurrent ? "page" : null)
  }>${foreign(view.name)}</a>${view.shared && html`<span class="chip">${words.shared}</span>`}${
    (view.is_own || view.shared && mayShare(visit))
    && form(
      visit,
      "remove_view",
      html`<input type="hidden" name="id" value="${view.id}"><button class="mini">${words.remove}</button>`
    )
  }</li>`
}

const openViews = Effect.fnUntraced(function*(visit: Visit, list: ViewList) {
  const { views: words } = visit.texts
  const { data: views } = yield* visit.api.get<List<ViewRow>>(viewsPath, { list, limit: maximumListed })
  const current = textOf(filtersIn(list, visit.query))
  return card(
    null,
    html`${
      views.length === 0
        ? html`<p>${words.none}</p>`
        : html`<ul class="views">${views.map((view) => rowOf(visit, view, current))}</ul>`
    }${
      form(
        visit,
        "save_view",
        html`<div class="stack">${
          field(visit, { name: "name", label: words.name, required: true, maxLength: maximumViewName })
        }${
          mayShare(visit)
          && html`<label class="pick"><input type="checkbox" name="shared" value="1"><b>${words.share}</b></label>`
        }<div class="row end"><button>${words.save}</button></div></div>`
      )
    }`
  )
})

/**
 * Opens and closes the views of a list, which are read only where they are open. Null: the deployment has no such
 * views.
 */
export const savedViews = Effect.fnUntraced(
  function*(visit: Visit, list: ViewList): Effect.fn.Return<Html | null, PublicError> {
    if (!visit.serves(viewsPath)) return null
    const isOpen = visit.query.get("views") === "open" || visit.refusal?.form.get("action") === "save_view"
    const toggle = visit.at(pathOf(visit), {
      ...filtersIn(list, visit.query),
      views: isOpen ? null : "open"
    })
    const { title } = visit.texts.views
    return html`<nav class="stack" aria-label="${title}"><p><a class="button mini" href="${toggle}" aria-expanded="${
      String(isOpen)
    }">${title}</a></p>${isOpen && (yield* openViews(visit, list))}</nav>`
  }
)

/** The forms of {@link savedViews}, for the page of the list. */
export const viewActions = (list: ViewList): Readonly<Record<"remove_view" | "save_view", FormAction>> => {
  /** Back to the list as it was looked at, with its views. */
  const back = (visit: Visit) =>
    ({
      path: pathOf(visit),
      query: { ...filtersIn(list, visit.query), views: "open" },
      notice: "saved"
    }) as const
  return {
    save_view: Effect.fnUntraced(function*(visit, sent) {
      yield* visit.api.send("POST", viewsPath, {
        list,
        name: (sent.get("name") ?? "").trim(),
        query: textOf(filtersIn(list, visit.query)),
        shared: sent.get("shared") === "1"
      }, sent.get("form_key"))
      return back(visit)
    }),
    remove_view: Effect.fnUntraced(function*(visit, sent) {
      const id = encodeURIComponent(sent.get("id") ?? "")
      yield* visit.api.send("DELETE", `${viewsPath}/${id}`, undefined, sent.get("form_key"))
      return back(visit)
    })
  }
}
