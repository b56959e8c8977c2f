/** The whole document: what stands around the fragment, and the pages that show no payment. */
import { defaultAccent } from "../../../schemas/Colour.ts"
import type { View } from "../rules.ts"
import { accentCss } from "./Accent.ts"
import { dollars } from "../../../runtime/pages/Amounts.ts"
import {
  attribute,
  type Content,
  type Html,
  html,
  pathUrl,
  pictureUrl,
  styleElement,
  type Url
} from "../../../runtime/pages/Html.ts"
import { merchantOf, shopAmountText, shortId } from "./Names.ts"
import { heading, mutedText, pageUrl } from "./Elements.ts"
import { supportOf } from "./Receipt.ts"
import { renderScreen } from "./Screens.ts"
import { joinSentences, type Texts } from "./Texts.ts"
import { trustLine } from "./Trust.ts"

/** What a page is sent with. */
export interface Assets {
  /** Path of the island, `/assets/pay.<hash>.js`. */
  readonly script: string
  readonly style: { readonly css: string }
  /** Every language a page can be had in, in the order they are offered. */
  readonly languages: ReadonlyArray<Texts>
}

/** An icon of nothing: without one a browser asks for `/favicon.ico`. */
const emptyPicture = pictureUrl("data:image/png;base64,")!

/** A whole document. */
export const document = (texts: Texts, title: string, styles: Content, body: Content): string => {
  const root = html`<html lang="${texts.locale}" dir="${texts.direction}">
    <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width,initial-scale=1">
      <meta name="robots" content="noindex">
      <meta name="referrer" content="no-referrer">
      <meta name="color-scheme" content="light dark">
      <title>${title}</title>
      <link rel="icon" href="${emptyPicture}">${styles}
    </head>
    <body>${body}</body>
  </html>`
  return `<!doctype html>${root}`
}

const initialOf = (name: string): string => [...name.trim()][0]?.toUpperCase() ?? ""

/** The merchant's picture: its logo, else the first letter of its name. */
export const logoOf = (merchant: string, logoUri: string | null): Html => {
  const logo = pictureUrl(logoUri)
  return logo === null
    ? html`<span class="logo" aria-hidden="true">${initialOf(merchant)}</span>`
    : html`<img class="logo" src="${logo}" alt="" width="40" height="40">`
}

/** The price of the invoice: in the shop's currency with the dollars below it, or in dollars alone. */
const amountDue = ({ details, shopPrice }: Pick<View, "details" | "shopPrice">, texts: Texts): Html => {
  const inDollars = html`<bdi>${dollars(texts.locale, details.amount_decimal)}</bdi>`
  return shopPrice === null
    ? inDollars
    : html`<bdi>${shopAmountText(texts, shopPrice, shopPrice.amount)}</bdi>
      <small><span class="visually-hidden">${texts.inDollars} </span>${inDollars}</small>`
}

/** Whose page it is, what for, and how much. */
export const shopHeader = (view: Pick<View, "details" | "shopPrice">, texts: Texts): Html => {
  const { details } = view
  const merchant = merchantOf(view)
  const order = details.invoice_title || details.description
  return html`<header>${details.network_environment === "devnet" && html`<p class="test">${texts.testMode}</p>`}
    <div class="head">${logoOf(merchant, details.branding.logo_uri)}
      <div class="who"><b><bdi>${merchant}</bdi></b>${trustLine(details, texts)}<span class="order">${
    order ? html`<bdi>${order}</bdi>` : html`${texts.invoice} <bdi dir="ltr">${shortId(details.invoice_id)}</bdi>`
  }</span></div>
      <p class="due">
        <span class="visually-hidden">${texts.total} </span>
        ${amountDue(view, texts)}
      </p>
    </div>
  </header>`
}

/** The languages to choose from; the page's own is chosen. */
export const languageOptions = (texts: Texts, languages: ReadonlyArray<Texts>): ReadonlyArray<Html> =>
  languages.map(({ language, locale }) => {
    const selected = attribute("selected", locale === texts.locale)
    return html`<option value="${locale}" lang="${locale}"${selected}>${language}</option>`
  })

/** The choice of a language, sent to `action`; `more`: what has to be sent along. */
export const languageForm = (
  action: Url,
  texts: Texts,
  languages: ReadonlyArray<Texts>,
  more: Content = null
): Html => {
  return html`<form method="post" action="${action}">
    <input type="hidden" name="action" value="language">${more}
    <select name="lang" aria-label="${texts.chooseLanguage}">${languageOptions(texts, languages)}</select>
    <button>${texts.change}</button>
  </form>`
}

/** The payment page. */
export const page = (view: View, texts: Texts, { languages, script, style }: Assets): string => {
  const { details } = view
  const { fragment, title } = renderScreen(view, texts)
  const support = supportOf(view, texts)
  const state = pageUrl(view, texts, {
    below: "/state",
    keep: true,
    change: view.screen === "choose" && view.token !== null,
    currency: view.currency
  })
  return document(
    texts,
    title,
    html`${styleElement(style.css)}${styleElement(accentCss(details.branding.accent))}`,
    html`<div class="card">${shopHeader(view, texts)}
      <main id="pay" data-state="${state}" data-copied="${texts.copied}">
        <p id="offline" class="note warn" role="alert" hidden>${texts.offline}</p>
        <div id="state">${fragment}</div>
        <p id="live" role="status" aria-live="polite" class="visually-hidden"></p>
      </main>${
      details.invoice_footer && html`<aside class="footer soft" dir="auto">${details.invoice_footer}</aside>`
    }</div>
    <footer class="foot">${languageForm(pageUrl(view, texts), texts, languages)}${
      support !== null && html`<a href="${support}">${texts.help}</a>`
    }</footer>
    <script src="${pathUrl(script)}" defer></script>`
  )
}

/** Why there is no payment to show. `unavailable`: nobody can tell whether something was changed. */
export type Problem = "session_ended" | "not_found" | "too_many" | "unavailable" | "failed"

const problems: Readonly<Record<Problem, (texts: Texts) => { readonly title: string; readonly text: string }>> = {
  session_ended: ({ sessionEnded: text, sessionEndedTitle: title }) => ({ title, text }),
  not_found: ({ notFound: text, notFoundTitle: title }) => ({ title, text }),
  too_many: ({ tooMany: text, tooManyTitle: title }) => ({ title, text }),
  unavailable: ({ unavailable: text, unavailableTitle: title }) => ({ title, text }),
  failed: ({ failed: text, failedTitle: title }) => ({ title, text })
}

/**
 * What stands in place of a payment, also inside `#state`; `retry` is a path to "try again", where that can help. A
 * session that has ended is screen `ended`, at which the island asks no more.
 */
export const problemFragment = (kind: Problem, texts: Texts, retry: string | null = null): Html => {
  const { text, title } = problems[kind](texts)
  const screen = kind === "session_ended" ? "ended" : kind
  return html`<section data-screen="${screen}" data-title="${title}" data-say="${joinSentences(texts, title, text)}">
    ${heading(title, mutedText(text))}${
    retry !== null && html`<a class="button main" href="${pathUrl(retry)}">${texts.tryAgain}</a>`
  }
  </section>`
}

/** The page in place of a payment. It has no script: nothing on it changes. */
export const problemPage = (
  kind: Problem,
  texts: Texts,
  { style }: Pick<Assets, "style">,
  retry: string | null = null
): string =>
  document(
    texts,
    problems[kind](texts).title,
    html`${styleElement(style.css)}${styleElement(accentCss(defaultAccent))}`,
    html`<div class="card"><main>${problemFragment(kind, texts, retry)}</main></div>`
  )
