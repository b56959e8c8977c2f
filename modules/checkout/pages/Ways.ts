/** The list of ways to pay: one form of one choice. */
import type { View } from "../machine.ts"
import { roughTokens } from "./Amounts.ts"
import { attribute, html, type Html } from "./Html.ts"
import { decimalOf, merchantOf, networkNames, usd, within } from "./Names.ts"
import { button, form, note } from "./Parts.ts"
import type { Texts } from "./Texts.ts"

type Way = View["tokens"][number]

/** Ways to pay from which a search is offered. */
const searchFrom = 6

/** Why a way to pay cannot be taken now, in words; null: it can. */
const unavailable = (view: View, texts: Texts, way: Way): string | null => {
  if (way.unavailable_reason === "NETWORK_DEGRADED") return texts.networkDown
  if (way.unavailable_reason === "RATE_STALE") return texts.noPriceNow
  if (way.unavailable_reason !== null) return texts.notAvailable
  return way.min_amount > view.details.amount_remaining ? texts.minimum(usd(texts, decimalOf(way.min_amount))) : null
}

const row = (view: View, texts: Texts, way: Way, checked: boolean): Html => {
  const estimate = view.estimates.get(way.id)
  const reason = unavailable(view, texts, way)
  const network = networkNames[way.network]
  const said = reason ?? (estimate === undefined ? texts.noPriceNow : null)
  const state = html`${attribute("checked", checked)}${attribute("disabled", reason !== null)}`
  return html`<label class="row" data-find="${`${way.token_symbol} ${network} ${way.token_name}`.toLowerCase()}">
    <input type="radio" name="token" value="${way.id}" required${state}>
    <span>
      <span class="name"><b>${way.token_symbol}</b> <span>${network}</span></span>
      <span class="soft">${
    estimate !== undefined && html`<bdi dir="ltr">≈ ${roughTokens(texts.locale, estimate)} ${way.token_symbol}</bdi>`
  }${said !== null && html`<span>${said}</span>`}</span>
    </span>
  </label>`
}

/** The field that narrows the list; the script fills it with life, and speaks what it found by count. */
const search = (texts: Texts, count: number): Html | false =>
  count >= searchFrom &&
  html`<input type="search" data-filter data-found="${
    JSON.stringify([texts.nothingFound, ...Array.from({ length: count }, (_, index) => texts.found(index + 1))])
  }" placeholder="${texts.search}" aria-label="${texts.search}" autocomplete="off" hidden>`

/** The list of ways to pay. What was chosen before is chosen again, else the first that can be had. */
export const ways = (view: View, texts: Texts): Html => {
  const open = view.tokens.filter((way) => unavailable(view, texts, way) === null)
  const preselected = open.find(({ id }) => id === view.preselected) ?? open[0]
  const rows = view.tokens.map((way) => row(view, texts, way, way === preselected))
  const list = html`${search(texts, view.tokens.length)}<fieldset>
    <legend class="visually-hidden">${texts.chooseLabel}</legend>${rows}
  </fieldset>${open.length > 0 && html`<div class="proceed">${button(texts.proceed)}</div>`}`
  return html`${open.length === 0 && note("warn", texts.noMethods(within(texts, merchantOf(view))))}${
    view.tokens.length > 0 && form(view, texts, "choose", list, "ways")
  }`
}
