/** The list of ways to pay: one form of one choice. */
import { descriptorOf } from "../../../schemas/Network.ts"
import type { View } from "../rules.ts"
import { approximateTokens } from "../../../runtime/pages/Amounts.ts"
import { attribute, type Html, html } from "../../../runtime/pages/Html.ts"
import { decimalOf, isolate, merchantOf, usd } from "./Names.ts"
import { button, form, note } from "./Elements.ts"
import type { Texts } from "./Texts.ts"

type PaymentMethod = View["tokens"][number]

/** Ways to pay from which a search is offered. */
const searchThreshold = 6

/** Why a way to pay cannot be taken now, in words; null: it can. */
const unavailableReason = (view: View, texts: Texts, method: PaymentMethod): string | null => {
  if (method.unavailable_reason === "NETWORK_DEGRADED") return texts.networkDown
  if (method.unavailable_reason === "RATE_STALE") return texts.noPriceNow
  if (method.unavailable_reason !== null) return texts.notAvailable
  return method.min_amount > view.details.amount_remaining
    ? texts.minimum(usd(texts, decimalOf(method.min_amount)))
    : null
}

const row = (view: View, texts: Texts, method: PaymentMethod, isChecked: boolean): Html => {
  const estimate = view.estimates.get(method.id)
  const reason = unavailableReason(view, texts, method)
  const network = descriptorOf(method.network).label
  const message = reason ?? (estimate === undefined ? texts.noPriceNow : null)
  const state = html`${attribute("checked", isChecked)}${attribute("disabled", reason !== null)}`
  return html`<label class="row" data-find="${`${method.token_symbol} ${network} ${method.token_name}`.toLowerCase()}">
    <input type="radio" name="token" value="${method.id}" required${state}>
    <span>
      <span class="name"><b>${method.token_symbol}</b> <span>${network}</span></span>
      <span class="soft">${
    estimate !== undefined &&
    html`<bdi dir="ltr">≈ ${approximateTokens(texts.locale, estimate)} ${method.token_symbol}</bdi>`
  }${message !== null && html`<span>${message}</span>`}</span>
    </span>
  </label>`
}

const searchField = (texts: Texts, count: number): Html =>
  html`<input type="search" data-filter data-found="${
    JSON.stringify([texts.nothingFound, ...Array.from({ length: count }, (_, index) => texts.found(index + 1))])
  }" placeholder="${texts.search}" aria-label="${texts.search}" autocomplete="off" hidden>`

/** The search of each language as it was drawn last: most pages list as many ways to pay as the one before. */
const searches = new WeakMap<Texts, { readonly count: number; readonly field: Html }>()

/** The field that narrows the list; the script fills it with life, and speaks what it found by count. */
const search = (texts: Texts, count: number): Html | false => {
  if (count < searchThreshold) return false
  const last = searches.get(texts)
  if (last?.count === count) return last.field
  const field = searchField(texts, count)
  searches.set(texts, { count, field })
  return field
}

/** The list of ways to pay. What was chosen before is chosen again, else the first that can be had. */
export const paymentMethods = (view: View, texts: Texts): Html => {
  const availableMethods = view.tokens.filter((way) => unavailableReason(view, texts, way) === null)
  const preselected = availableMethods.find(({ id }) => id === view.preselectedToken) ?? availableMethods[0]
  const rows = view.tokens.map((way) => row(view, texts, way, way === preselected))
  const list = html`${search(texts, view.tokens.length)}<fieldset>
    <legend class="visually-hidden">${texts.chooseLabel}</legend>${rows}
  </fieldset>${availableMethods.length > 0 && html`<div class="proceed">${button(texts.proceed)}</div>`}`
  return html`${availableMethods.length === 0 && note("warn", texts.noMethods(isolate(texts, merchantOf(view))))}${
    view.tokens.length > 0 && form(view, texts, "choose", list, "ways")
  }`
}
