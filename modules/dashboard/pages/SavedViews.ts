/** Lists with their filters that people save by a name, for themselves or for everybody of the shop. */
import { Effect } from "effect"
import { attribute, type Html, html } from "../../../runtime/pages/Html.ts"
import type { PublicError } from "../../../schemas/Errors.ts"
import { environmentOfBoth } from "../../../schemas/Authorization.ts"
import { roleHas } from "../../../schemas/Roles.ts"
import type { SavedView } from "../../team/api.ts"
import type { List } from "../service.ts"
import { field, foreign, form, pathOf } from "./Elements.ts"
import type { FormAction, Query, Visit } from "./Page.ts"

type ViewRow = typeof SavedView.Encoded
type ViewPage = ViewRow["list"]

const viewsPath = "/api/v1/team/views"

/** The filters of each list: nothing else of an address is saved, or taken from what was saved. */
const filterNames: Readonly<Record<ViewPage, ReadonlyArray<string>>> = {
  payments: ["status", "customer"],
  todo: ["status"],
  refunds: ["status"],
  deliveries: ["status", "endpoint"]
}

/** Views that a list shows, at most. */
const maximumShown = 100

const filtersIn = (page: ViewPage, query: URLSearchParams): Query =>
  Object.fromEntries(
    filterNames[page].flatMap((name) => {
      const value = query.get(name) ?? ""
      return value === "" ? [] : [[name, value]]
    })
  )

const textOf = (filters: Query): string => new URLSearchParams(filters as Record<string, string>).toString()

/** The filters of the list that is looked at; deliveries are of one endpoint. */
const filtersOf = ({ params, query }: Visit, page: ViewPage): Query =>
  filtersIn(
    page,
    page === "deliveries"
      ? new URLSearchParams({ status: query.get("status") ?? "", endpoint: params["id"] ?? "" })
      : query
  )

/** Whether the person may make and remove views of everybody. */
const mayShare = ({ membership }: Visit): boolean => roleHas(membership.role, "settings:write", environmentOfBoth)

const linkTo = (visit: Visit, { list: page, name, query, shared }: ViewRow, current: string): Html => {
  const { endpoint, ...filters } = filtersIn(page, new URLSearchParams(query))
  const path = page === "deliveries" ? `webhooks/${encodeURIComponent(String(endpoint ?? ""))}` : page
  const isCurrent = textOf(filtersIn(page, new URLSearchParams(query))) === current
  return html`<li><a href="${visit.at(path, filters)}"${attribute("aria-current", isCurrent ? "page" : null)}>${
    foreign(name)
  }${shared && html` <span class="soft">${visit.texts.views.shared}</span>`}</a></li>`
}

/** The views of a list, and a form that saves the one that is looked at; null: the deployment has no such views. */
export const savedViews = Effect.fnUntraced(
  function*(visit: Visit, page: ViewPage): Effect.fn.Return<Html | null, PublicError> {
    if (!visit.serves(viewsPath)) return null
    const { views: words } = visit.texts
    const { data: views } = yield* visit.api.get<List<ViewRow>>(viewsPath, { list: page, limit: maximumShown })
    const current = textOf(filtersOf(visit, page))
    const removable = views.filter(({ is_own, shared }) => is_own || shared && mayShare(visit))
    return html`<nav aria-label="${words.title}">${
      views.length > 0 && html`<ul class="pills">${views.map((view) => linkTo(visit, view, current))}</ul>`
    }<details><summary>${words.title}</summary>${
      form(
        visit,
        "save_view",
        html`<div class="stack">${
          field(visit, { name: "view_name", label: words.name, required: true, maxLength: 60 })
        }${
          mayShare(visit)
          && html`<label class="pick"><input type="checkbox" name="shared" value="1"><b>${words.share}</b></label>`
        }<div class="row end"><button>${words.save}</button></div></div>`
      )
    }${
      removable.length > 0 && html`<ul>${
        removable.map(({ id, name }) =>
          html`<li class="row">${foreign(name)}${
            form(
              visit,
              "remove_view",
              html`<input type="hidden" name="id" value="${id}"><button class="mini">${words.remove}</button>`
            )
          }</li>`
        )
      }</ul>`
    }</details></nav>`
  }
)

/** The forms of {@link savedViews}, for the page of the list. */
export const viewActions = (page: ViewPage): Readonly<Record<"remove_view" | "save_view", FormAction>> => {
  /** Back to the list as it was looked at. */
  const back = (visit: Visit) => {
    const { endpoint: _, ...query } = filtersOf(visit, page)
    return { path: pathOf(visit), query, notice: "saved" } as const
  }
  return {
    save_view: Effect.fnUntraced(function*(visit, sent) {
      yield* visit.api.send("POST", viewsPath, {
        list: page,
        name: (sent.get("view_name") ?? "").trim(),
        query: textOf(filtersOf(visit, page)),
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
