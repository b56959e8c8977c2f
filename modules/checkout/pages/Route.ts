/** How to pay on the chosen route: its code, its clocks, its fields and its warning. */
import { descriptorOf } from "../../../schemas/Network.ts"
import { priceState, type View } from "../rules.ts"
import { clock, moment, plainTokens, tokens } from "../../../runtime/pages/Amounts.ts"
import { attribute, type Html, html, walletUrl } from "../../../runtime/pages/Html.ts"
import { isolate, shorten } from "./Names.ts"
import { addressField, button, field, form, mutedText, note, pageUrl } from "./Elements.ts"
import { qr } from "./Qr.ts"
import { joinSentences, type Texts } from "./Texts.ts"

type Address = NonNullable<View["address"]>

/** Seconds before the invoice's end from which its clock runs: the last quarter of an hour of it is loud. */
const endClockSeconds = 3_600

/** Seconds from which an end is told as a moment: a clock of many hours tells nobody anything. */
const longSeconds = 86_400

const priceClock = (texts: Texts, address: Address, now: number): Html | null => {
  const { quote_last_updated_at: from, quote_valid_until: ends } = address
  if (from === null || ends === null) return null
  const secondsLeft = Math.max(0, ends - now)
  const whole = Math.max(1, ends - from)
  const announcements = html`${attribute("data-say-5", texts.minutesLeft(5))}${
    attribute("data-say-1", texts.minutesLeft(1))
  }`
  return html`<p class="timer price">
    <span>${texts.priceHeldFor}</span>
    <time data-ends="${ends}" data-from="${from}"${announcements}>${clock(secondsLeft)}</time>
  </p>
  <progress data-ends="${ends}" data-from="${from}" max="${whole}" value="${secondsLeft}" aria-label="${texts.priceHeldFor}">
  </progress>`
}

/** When the invoice ends: a clock that runs, and a moment while that is far. */
export const invoiceClock = (texts: Texts, { details, now }: View): Html => {
  const ends = details.expires_at
  const secondsLeft = ends - now
  return html`<p class="timer">${
    secondsLeft > longSeconds
      ? html`<span>${texts.payBy}</span><span>${moment(texts.locale, ends)}</span>`
      : html`<span>${texts.timeLeft}</span><time data-ends="${ends}" data-from="${ends - endClockSeconds}">${
        clock(secondsLeft)
      }</time>`
  }</p>`
}

const tabs = (view: View, texts: Texts): Html => {
  const tab = (name: View["tab"], text: string) => {
    const current = view.tab === name && attribute("aria-current", "true")
    return html`<a href="${pageUrl(view, texts, { tab: name })}"${current}>${text}</a>`
  }
  return html`<nav class="tabs" aria-label="${texts.scanOrCopy}">
    ${tab("link", texts.paymentLink)}${tab("address", texts.addressOnly)}
  </nav>`
}

const changeLink = (view: View, texts: Texts): Html | false =>
  view.canChange && view.details.locked_token_id === null &&
  html`<a class="button plain" href="${pageUrl(view, texts, { change: true })}">${texts.useAnother}</a>`

/** What the route is called: its token and its network. */
export const routeNames = (view: View, address: Address) => ({
  symbol: view.token?.symbol ?? "",
  network: descriptorOf(address.network).label
})

/** The route in words: the first of three places that name the network (Payment page, "Wallet links"). */
export const routeLine = (view: View, texts: Texts): Html | false => {
  if (view.address === null) return false
  const { network, symbol } = routeNames(view, view.address)
  return mutedText(texts.payingWith(isolate(texts, symbol), isolate(texts, network)))
}

/** Id of the note that says what the memo is for. */
const memoNoteId = "memo-note"

/** The second thing to copy, where many payments come to one address. */
const memoField = (texts: Texts, { memo }: Address): Html | false =>
  memo !== null &&
  html`${field(texts, texts.memo, memo, memo, { explainedBy: memoNoteId })}${
    note("warn", joinSentences(texts, texts.memoNeeded, texts.memoFromExchange), memoNoteId)
  }`

/** What the parts of a route's panel are drawn from. */
interface Panel {
  readonly view: View
  readonly texts: Texts
  readonly address: Address
  /** Token and network, as they stand within a sentence. */
  readonly symbol: string
  readonly network: string
}

const addressCode = ({ address: { temp_address: target }, network, texts }: Panel): Html =>
  qr(target, "M", texts.qrAddressName(isolate(texts, shorten(target)), network))

const addressParts = ({ address, network, texts }: Panel): Html =>
  html`${addressField(texts, texts.addressOn(network), address.temp_address)}${memoField(texts, address)}`

const warning = ({ network, symbol, texts }: Panel): Html =>
  note("warn", joinSentences(texts, texts.sendOnly(symbol, network), texts.otherwiseLost))

/** There is no price now: the address stays, and one action asks for another price. */
const unpricedPanel = (panel: Panel, price: "ended" | "none"): Html => {
  const { texts, view } = panel
  return html`${price === "none" && addressCode(panel)}${addressParts(panel)}${warning(panel)}${
    form(view, texts, "refresh", button(price === "ended" ? texts.newPrice : texts.tryAgain))
  }`
}

/** The amount at its price: as a code, as fields, and as a link that opens a wallet. */
const pricedPanel = (panel: Panel, amount: string): Html => {
  const { address, network, texts, view } = panel
  const { payment_uri: uri, temp_address: target } = address
  const amountText = `${tokens(texts.locale, amount)} ${routeNames(view, address).symbol}`
  const link = walletUrl(uri)
  const code = uri !== null && view.tab === "link"
    ? qr(uri, "L", texts.qrName(isolate(texts, amountText), isolate(texts, shorten(target)), network))
    : addressCode(panel)
  const name = view.details.amount_paid > 0 ? texts.remainingToSend : texts.amountToSend
  return html`${uri !== null && tabs(view, texts)}${code}${priceClock(texts, address, view.now)}
    <div class="fields">${field(texts, name, amountText, plainTokens(amount))}${addressParts(panel)}</div>
    ${warning(panel)}${link !== null && html`<a class="button main wallet" href="${link}">${texts.openInWallet}</a>`}`
}

/** The chosen route: how to pay, and the way to another. Only an invoice that can be paid has an address here. */
export const route = (view: View, texts: Texts): Html | false => {
  const { address } = view
  if (!view.payable || address === null) return false
  const { network, symbol } = routeNames(view, address)
  const panel = { view, texts, address, symbol: isolate(texts, symbol), network: isolate(texts, network) }
  const price = priceState(address, view.now)
  const amount = address.estimated_token_amount
  const body = price === "held" && amount !== null
    ? pricedPanel(panel, amount)
    : unpricedPanel(panel, price === "ended" ? "ended" : "none")
  return html`${body}${changeLink(view, texts)}`
}
