/** The parts that screens are made of: headings, notes, facts, fields, forms, and the page's own addresses. */
import type { View } from "../rules.ts"
import { attribute, type Content, type Html, html, pathUrl, type Url } from "../../../runtime/pages/Html.ts"
import type { Texts } from "./Texts.ts"

/**
 * A path of the page with its session, where the cookie did not come back, and with what the payor chose. `below` is
 * added to the path; `tab` and `change` ask for another tab and for the list of ways, `currency` for its networks;
 * `keep` names language and tab also where cookies would.
 */
export const pageUrl = (
  { path, query, screen, tab, token }: View,
  { locale }: Texts,
  more: {
    readonly below?: string
    readonly change?: boolean
    readonly currency?: string | null
    readonly tab?: View["tab"]
    readonly keep?: boolean
  } = {}
): Url => {
  const parameters = new URLSearchParams(query)
  // Without the session's cookie those of the choices do not come back either.
  if (query !== "" || more.keep === true) {
    parameters.set("lang", locale)
    parameters.set("tab", tab)
    // No quote tells of a route without a price.
    if (screen === "no_price" && token !== null) parameters.set("token", String(token.id))
  }
  if (more.tab !== undefined) parameters.set("tab", more.tab)
  if (more.change === true) parameters.set("change", "1")
  if (more.currency !== undefined && more.currency !== null) parameters.set("currency", more.currency)
  const text = parameters.toString()
  return pathUrl(`${path}${more.below ?? ""}${text === "" ? "" : `?${text}`}`)
}

const icons = {
  warn: html`<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M12 3 2 20h20zM12 10v4m0 3v.01"/></svg>`,
  good: html`<svg viewBox="0 0 24 24" aria-hidden="true"><path d="m4 12 6 6L20 6"/></svg>`,
  bad: html`<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M12 5v9m0 5v.01"/></svg>`
} as const

/** How a thing is meant, in a colour and a sign: never in the colour alone (WCAG 1.4.1). */
export type Tone = keyof typeof icons

/** A sentence that has to be seen; what `id` names can be pointed at by a field that it explains. */
export const note = (tone: Tone, content: Content, id: string | null = null): Html =>
  html`<p class="note ${tone}"${attribute("id", id)}>${icons[tone]}<span>${content}</span></p>`

/** The large sign above an end. */
export const icon = (tone: Tone): Html => html`<div class="sign ${tone}">${icons[tone]}</div>`

/** The screen's one heading, which takes the focus after an act of the payor, and what stands close below it. */
export const heading = (text: string, ...below: ReadonlyArray<Content>): Html =>
  html`<div class="title"><h1 tabindex="-1">${text}</h1>${below}</div>`

/** A sentence beside what matters. */
export const mutedText = (text: Content): Html => html`<p class="soft">${text}</p>`

/** A step of a payment; 3: all are done. */
export type Step = 0 | 1 | 2 | 3

/** The three steps; `at` is the one that is going on. */
export const steps = (texts: Texts, at: Step): Html =>
  html`<ol class="steps" aria-label="${texts.progress}">${
    [texts.stepWaiting, texts.stepConfirming, texts.stepPaid].map((name, step) => {
      const state = step < at ? attribute("class", "done") : step === at && attribute("aria-current", "step")
      return html`<li${state}>${name}</li>`
    })
  }</ol>`

/** What a screen shortens and paper has whole. */
export const shortText = (text: string, whole: string): Html => html`<bdi dir="ltr" data-whole="${whole}">${text}</bdi>`

/** A fact of a list of facts. */
export const line = (name: string, value: Content): Html => html`<div><dt>${name}</dt><dd>${value}</dd></div>`

/** A form that asks the page for `action`; `name` is its class. */
export const form = (view: View, texts: Texts, action: string, content: Content, name: string | null = null): Html =>
  html`<form method="post" action="${pageUrl(view, texts)}"${attribute("class", name)}>
    <input type="hidden" name="action" value="${action}">${content}
  </form>`

/** The main button of a form. */
export const button = (text: string): Html => html`<button class="main">${text}</button>`

/**
 * A value with its name and a button that copies it; `copy` is what the clipboard gets. `explainedBy`: id of the note
 * that says what it is for, which a screen reader tells with the button.
 */
export const field = (
  texts: Texts,
  name: string,
  value: Content,
  copy: string,
  { explainedBy = null, kind = "field" }: { readonly explainedBy?: string | null; readonly kind?: string } = {}
): Html =>
  html`<div class="${kind}">
    <p><span class="soft">${name}</span><bdi class="value" dir="ltr">${value}</bdi></p>
    <button type="button" data-copy="${copy}" aria-label="${texts.copyOf(name)}"${
    attribute("aria-describedby", explainedBy)
  } hidden>${texts.copy}</button>
  </div>`

/** Characters of an address between two gaps. The gaps are of the stylesheet, so that what is copied has none. */
const chunkLength = 4

/** The pieces of an address. `0x` goes with the first, so that hexadecimal addresses leave no odd rest. */
const pieces = new RegExp(`^0x.{${chunkLength}}|.{1,${chunkLength}}`, "gu")

/** A text in pieces that an eye can compare. */
export const inPieces = (text: string): ReadonlyArray<Html> =>
  (text.match(pieces) ?? []).map((piece) => html`<span>${piece}</span>`)

/**
 * An address in pieces that an eye can compare; never shortened
 * (modules/docs/reference/payment-page.md#addresses-on-the-page).
 */
export const addressField = (texts: Texts, name: string, address: string): Html =>
  field(
    texts,
    name,
    inPieces(address),
    address,
    { kind: "field long" }
  )

/** Asks for the state of now. Only without a script: with one the page follows the payment by itself. */
export const checkButton = ({ path, query }: View, texts: Texts): Html => {
  const hiddenFields = [...new URLSearchParams(query)].map(([name, value]) =>
    html`<input type="hidden" name="${name}" value="${value}">`
  )
  return html`<noscript>
    <form method="get" action="${pathUrl(path)}">${hiddenFields}${button(texts.checkPayment)}</form>
  </noscript>`
}
