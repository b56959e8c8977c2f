/**
 * When a price and an invoice end: in words, until one of them has only its last quarter left. That one becomes a
 * clock, and never two are.
 */
import { clock, moment } from "../../../runtime/pages/Amounts.ts"
import { attribute, type Content, type Html, html } from "../../../runtime/pages/Html.ts"
import { priceState, type View } from "../rules.ts"
import type { Texts } from "./Texts.ts"

/** The last quarter of anything is an hour at most: from here on its clock is counted. */
const longestWhole = 4 * 3_600

/** What ends, and how it is told. */
interface End {
  /** Epoch seconds. */
  readonly from: number
  readonly ends: number
  /** Beside the clock. */
  readonly label: string
  /** In place of the clock. */
  readonly words: Content
  /** Attributes with what is spoken before the end. */
  readonly announcements: Html | null
}

/** A moment, in UTC until the script puts it into the zone of its reader. */
export const momentOf = (texts: Texts, seconds: number): Html =>
  html`<span data-moment="${seconds}">${moment(texts.locale, seconds)}</span>`

/** The price, where it changes and is held. */
const priceEnd = ({ address, now, token }: View, texts: Texts): End | null => {
  if (address === null || token?.stable === true || priceState(address, now) !== "held") return null
  const { quote_last_updated_at: from, quote_valid_until: ends } = address
  if (from === null || ends === null) return null
  return {
    from,
    ends,
    label: texts.priceHeldFor,
    words: html`<p class="timer"><span class="scripted">${texts.priceRenews}</span><noscript>${texts.priceHeldFor} ${
      clock(ends - now)
    }</noscript></p>`,
    announcements: html`${attribute("data-say-5", texts.minutesLeft(5))}${
      attribute("data-say-1", texts.minutesLeft(1))
    }`
  }
}

const invoiceEnd = ({ createdAt, details, now }: View, texts: Texts): End | null => {
  const ends = details.expires_at
  return now >= ends ? null : {
    from: Math.max(createdAt, ends - longestWhole),
    ends,
    label: texts.timeLeft,
    words: html`<p class="timer"><span>${texts.payBy}</span>${momentOf(texts, ends)}</p>`,
    announcements: null
  }
}

const isUrgent = ({ ends, from }: End, now: number): boolean => (ends - now) * 4 <= ends - from

/** All that ends on a screen, the price only where there is one to pay at. */
export const clocks = (texts: Texts, view: View): Html => {
  const { now } = view
  const ends = [priceEnd(view, texts), invoiceEnd(view, texts)].filter((end) => end !== null)
  const countdown = ends.filter((end) => isUrgent(end, now)).toSorted((a, b) => a.ends - b.ends)[0]
  const one = (end: End): Html => {
    const { announcements, from, label, words } = end
    const left = Math.max(0, end.ends - now)
    const times = html` data-ends="${end.ends}" data-from="${from}"`
    return html`<div class="clock"${attribute("data-countdown", end === countdown)}>${words}
      <p class="timer"><span>${label}</span><time${times}${announcements}>${clock(left)}</time></p>
      <progress${times} max="${Math.max(1, end.ends - from)}" value="${left}" aria-label="${label}"></progress>
    </div>`
  }
  return html`${ends.map(one)}`
}
