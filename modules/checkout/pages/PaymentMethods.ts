/** The list of ways to pay: tiles of currencies, then one form of the networks of the one that is shown. */
import { descriptorOf } from "../../../schemas/Network.ts"
import { badgeOf } from "../../../schemas/TokenBadge.ts"
import type { View } from "../rules.ts"
import { cheapestOf, type Currency, obstacleTo, pickerOf } from "../rules/Picker.ts"
import { approximateTokens, tokens } from "../../../runtime/pages/Amounts.ts"
import { attribute, type Html, html } from "../../../runtime/pages/Html.ts"
import { decimalOf, isolate, merchantOf, usd } from "./Names.ts"
import { button, form, mutedText, note, pageUrl } from "./Elements.ts"
import type { Texts } from "./Texts.ts"

type PaymentMethod = View["tokens"][number]

/** Currencies that are in sight from the start; of more, the others are behind a word, and a search is offered. */
const tilesInSight = 8

/** Letters of a network's badge: its whole name stands beside it. */
const networkLetters = 1

/** A round badge of letters, beside the words that say the same. */
const badge = (name: string, most?: number): Html => {
  const { colour, letters, size } = badgeOf(name, most)
  return html`<svg class="coin" viewBox="0 0 64 64" aria-hidden="true">
    <circle cx="32" cy="32" r="32" fill="${colour}"/><text x="32" y="32" dy=".35em" font-size="${size}">${letters}</text>
  </svg>`
}

/** Why a way to pay cannot be taken now, in words; null: it can. */
const unavailableReason = (view: View, texts: Texts, method: PaymentMethod): string | null => {
  switch (obstacleTo(method, view.details.amount_remaining)) {
    case "network":
      return texts.networkDown
    case "price":
      return texts.noPriceNow
    case "other":
      return texts.notAvailable
    case "minimum":
      return texts.minimum(usd(texts, decimalOf(method.min_amount)))
    case null:
      return null
  }
}

const networkOf = ({ network }: PaymentMethod): string => descriptorOf(network).label

const tile = (view: View, texts: Texts, currency: Currency<PaymentMethod>, isCurrent: boolean): Html => {
  const { methods, symbol } = currency
  const words = methods.map((method) => `${networkOf(method)} ${method.token_name}`).join(" ")
  const link = pageUrl(view, texts, { change: view.token !== null, currency: symbol })
  return html`<li><a href="${link}" data-tile data-find="${`${symbol} ${words}`.toLowerCase()}"${
    attribute("aria-current", isCurrent && "true")
  }>${badge(symbol)}<span><b>${symbol}</b> <small>${
    methods.length === 1 ? networkOf(methods[0]!) : texts.networks(methods.length)
  }</small></span></a></li>`
}

const searchField = (texts: Texts, count: number): Html =>
  html`<input type="search" data-filter data-found="${
    JSON.stringify([texts.nothingFound, ...Array.from({ length: count }, (_, index) => texts.found(index + 1))])
  }" placeholder="${texts.search}" aria-label="${texts.search}" autocomplete="off" hidden>`

/** The search of each language as it was drawn last: most pages list as many currencies as the one before. */
const searches = new WeakMap<Texts, { readonly count: number; readonly field: Html }>()

/** The field that narrows the currencies; the script fills it with life, and speaks what it found by count. */
const search = (texts: Texts, count: number): Html => {
  const last = searches.get(texts)
  if (last?.count === count) return last.field
  const field = searchField(texts, count)
  searches.set(texts, { count, field })
  return field
}

/** What is to be sent on a way to pay, as a step's side note; false: it has no price. */
const amountOf = (view: View, texts: Texts, { id, supports_stable_settlement, token_symbol }: PaymentMethod) => {
  const estimate = view.estimates.get(id)
  if (estimate === undefined) return false
  const text = approximateTokens(texts.locale, estimate)
  const sign = supports_stable_settlement && text === tokens(texts.locale, estimate) ? "" : "≈ "
  return mutedText(texts.toSend(isolate(texts, `${sign}${text} ${token_symbol}`)))
}

/** A step's heading, and what is said beside it. */
const stepHeading = (id: string, text: string, aside: Html | false): Html =>
  html`<div class="step"><h2 id="${id}">${text}</h2>${aside}</div>`

/** Step 1: the currencies, and a word before those that are out of sight. */
const currencyStep = (
  view: View,
  texts: Texts,
  currencies: ReadonlyArray<Currency<PaymentMethod>>,
  current: Currency<PaymentMethod>,
  shown: PaymentMethod
): Html => {
  const tiles = currencies.map((currency) => tile(view, texts, currency, currency === current))
  const list = (part: ReadonlyArray<Html>) => html`<ul class="tiles" aria-labelledby="currency">${part}</ul>`
  const hasMore = currencies.length > tilesInSight
  const isOpen = currencies.indexOf(current) >= tilesInSight
  return html`${stepHeading("currency", texts.stepCurrency, amountOf(view, texts, shown))}${
    hasMore && search(texts, currencies.length)
  }${list(tiles.slice(0, tilesInSight))}${
    hasMore && html`<details id="more" class="box"${attribute("open", isOpen)}>
      <summary>${texts.moreCurrencies}</summary>${list(tiles.slice(tilesInSight))}
    </details>`
  }`
}

/** Dollars below which a fee is not told to the cent. */
const smallestFee = 0.01

const feeText = (texts: Texts, fee: number): string =>
  fee < smallestFee
    ? texts.feeUnder(usd(texts, smallestFee.toFixed(3)))
    : texts.feeAbout(usd(texts, fee.toFixed(3)))

/** Seconds up to which a time is told in seconds, and seconds of a minute. */
const mostSeconds = 90
const minute = 60

const timeText = (texts: Texts, seconds: number): string =>
  seconds <= mostSeconds ? texts.aboutSeconds(seconds) : texts.aboutMinutes(Math.ceil(seconds / minute))

/** What sets a row apart from the others of its list. */
interface RowMarks {
  readonly isChecked: boolean
  /** Its fee is known, and no other of the list is as low. */
  readonly isCheapest: boolean
  /** Another row is of the same network. */
  readonly isTwice: boolean
}

const row = (view: View, texts: Texts, method: PaymentMethod, marks: RowMarks): Html => {
  const { isCheapest, isChecked, isTwice } = marks
  const fee = method.network_fee_usd
  const reason = unavailableReason(view, texts, method)
  const network = networkOf(method)
  const message = reason ?? (view.estimates.has(method.id) ? null : texts.noPriceNow)
  const state = html`${attribute("checked", isChecked)}${attribute("disabled", reason !== null)}`
  const proceed = reason === null &&
    attribute("data-go", texts.proceedWith(isolate(texts, method.token_symbol), isolate(texts, network)))
  return html`<label class="row">
    <input type="radio" name="token" value="${method.id}" required${state}${proceed}>
    ${badge(network, networkLetters)}
    <span>
      <span class="name"><b>${network}</b>${isTwice && html`<small>${method.token_name}</small>`}${
    reason === null && html`<small>${timeText(texts, method.expected_seconds)}</small>`
  }</span><span class="soft">${message ?? (fee !== null && feeText(texts, fee))}${
    isCheapest && html`<small class="best">${texts.lowestFee}</small>`
  }</span>
    </span>
  </label>`
}

/**
 * Step 2: the networks of the currency, and the button. A network that is the only one, and can be paid on, is named by
 * the button alone.
 */
const networkStep = (
  view: View,
  texts: Texts,
  { methods, symbol }: Currency<PaymentMethod>,
  preselected: PaymentMethod | null
): Html => {
  const name = isolate(texts, symbol)
  const only = methods.length === 1 ? preselected : null
  if (only !== null) {
    return html`<input type="hidden" name="token" value="${only.id}">${
      !view.estimates.has(only.id) && mutedText(texts.noPriceNow)
    }<div class="proceed">${button(texts.proceedWith(name, isolate(texts, networkOf(only))))}</div>`
  }
  const networks = methods.map(({ network }) => network)
  const isTwice = ({ network }: PaymentMethod) => networks.indexOf(network) !== networks.lastIndexOf(network)
  const cheapest = cheapestOf(methods, view.details.amount_remaining)
  return html`${stepHeading("network", texts.stepNetwork(name), mutedText(texts.walletPaysFee))}
    <fieldset aria-labelledby="network">${
    methods.map((method) =>
      row(view, texts, method, {
        isChecked: method === preselected,
        isCheapest: method === cheapest,
        isTwice: isTwice(method)
      })
    )
  }</fieldset>${
    preselected !== null && html`<div class="proceed"><button class="main" id="go">${texts.proceed}</button></div>`
  }`
}

/** Whether what remains can be sent now, on any of the ways to pay. */
export const hasMethod = ({ details, tokens }: Pick<View, "details" | "tokens">): boolean =>
  tokens.some((method) => obstacleTo(method, details.amount_remaining) === null)

/**
 * The list of ways to pay, one form. What was chosen before is chosen again, else the cheapest that can be had.
 */
export const paymentMethods = (view: View, texts: Texts): Html => {
  const { currencies, current, preselected } = pickerOf({ ...view, remaining: view.details.amount_remaining })
  const steps = current !== null &&
    html`${currencyStep(view, texts, currencies, current, preselected ?? current.methods[0]!)}${
      networkStep(view, texts, current, preselected)
    }`
  return html`${
    !hasMethod(view) &&
    note("warn", (view.isOfferLimited ? texts.noOfferedMethods : texts.noMethods)(isolate(texts, merchantOf(view))))
  }${steps !== false && form(view, texts, "choose", steps, "ways")}${
    current !== null && current.methods.length > 1 && mutedText(texts.whichNetwork(isolate(texts, current.symbol)))
  }`
}
