/** The public page of a payment link as HTML, and what stands in its place where there is none. */
import { dollars, moment } from "../../../runtime/pages/Amounts.ts"
import {
  attribute,
  type Content,
  type Html,
  html,
  mailUrl,
  pathUrl,
  styleElement
} from "../../../runtime/pages/Html.ts"
import { defaultAccent } from "../../../schemas/Colour.ts"
import type { Branding } from "../../../schemas/MerchantSettings.ts"
import { usdDecimal, type UsdMillis } from "../../../schemas/Money.ts"
import {
  accentCss,
  css,
  document,
  heading,
  languageForm,
  languages,
  logoOf,
  mutedText,
  note,
  type Texts
} from "../../checkout/plugin.ts"
import type { LinkAmount, Obstacle } from "../rules.ts"
import type { LinkVisit } from "../service.ts"
import { linkTextsOf } from "./Texts.ts"

/** What the page is drawn from. */
export interface LinkView {
  readonly found: LinkVisit
  readonly branding: Branding
  /** Path of the page, without a query. */
  readonly path: string
  /** The browser's random name, which the form carries where cookies do not come back. */
  readonly visit: string
  /** What was typed and is no amount that the link takes; null: nothing was. */
  readonly wrongAmount: string | null
}

export const amountText = ({ locale }: Texts, amount: UsdMillis): string => dollars(locale, usdDecimal(amount))

const rangeOf = (texts: Texts, amount: Extract<LinkAmount, { readonly kind: "open" }>) =>
  [amountText(texts, amount.minimum), amountText(texts, amount.maximum)] as const

/** A field's value: what was typed, else what an invoice that is open still asks for. */
const typedAmount = ({ found, wrongAmount }: LinkView): string => {
  const { openInvoice } = found
  return wrongAmount ?? (openInvoice === null ? "" : usdDecimal(openInvoice.amount).replace(/0$/, ""))
}

const amountField = (
  view: LinkView,
  texts: Texts,
  amount: Extract<LinkAmount, { readonly kind: "open" }>
): Html => {
  const words = linkTextsOf(texts)
  const isWrong = view.wrongAmount !== null
  return html`<label for="amount">${words.amount}</label>
    <input id="amount" name="amount" value="${
    typedAmount(view)
  }" inputmode="decimal" autocomplete="off" dir="ltr" maxlength="12" required aria-describedby="range"${
    attribute("aria-invalid", isWrong ? "true" : null)
  }>${
    isWrong
      ? note("bad", words.wrongAmount(...rangeOf(texts, amount)), "range")
      : html`<small id="range">${words.range(...rangeOf(texts, amount))}</small>`
  }`
}

const form = (view: LinkView, texts: Texts): Html => {
  const { found: { link } } = view
  const words = linkTextsOf(texts)
  const { amount } = link
  return html`<section data-screen="open">
    ${
    heading(amount.kind === "open" ? words.howMuch : link.title, amount.kind === "open" ? null : mutedText(words.next))
  }
    <form method="post" action="${pathUrl(`${view.path}?lang=${texts.locale}`)}" class="fields">
      <input type="hidden" name="action" value="pay"><input type="hidden" name="visit" value="${view.visit}">${
    amount.kind === "open" && amountField(view, texts, amount)
  }<button class="main">${words.pay}</button></form>${amount.kind === "open" && mutedText(words.next)}${
    link.expiresAt !== null && mutedText(words.until(moment(texts.locale, link.expiresAt)))
  }</section>`
}

/** What each obstacle says. */
const obstacleTexts = (obstacle: Obstacle, texts: Texts, merchant: string) => {
  const words = linkTextsOf(texts)
  switch (obstacle) {
    case "inactive":
    case "expired":
      return { title: words.closedTitle, text: words.closed(merchant) }
    case "completed":
      return { title: words.completedTitle, text: words.completed(merchant) }
    case "taken":
      return { title: words.takenTitle, text: words.taken }
  }
}

/** Whether the browser that asks can pay: it may have begun before the last place was taken. */
const canPay = ({ obstacle, openInvoice }: LinkVisit): boolean => obstacle === null || openInvoice !== null

const screen = (view: LinkView, texts: Texts): { readonly title: string; readonly section: Html } => {
  const { branding, found } = view
  if (canPay(found)) return { title: found.link.title, section: form(view, texts) }
  const obstacle = found.obstacle ?? "taken"
  const { text, title } = obstacleTexts(obstacle, texts, branding.name)
  const support = mailUrl(branding.support_email, found.link.title)
  return {
    title,
    section: html`<section data-screen="${obstacle}">${heading(title, mutedText(text))}${
      support !== null && html`<a class="button" href="${support}">${texts.contact(branding.name)}</a>`
    }</section>`
  }
}

const header = ({ branding, found: { link } }: LinkView, texts: Texts): Html =>
  html`<header>${link.environment === "devnet" && html`<p class="test">${texts.testMode}</p>`}
    <div class="head">${logoOf(branding.name, branding.logo_uri)}
      <p class="who"><b><bdi>${branding.name}</bdi></b><span class="order"><bdi>${link.title}</bdi></span></p>${
    link.amount.kind === "fixed" && html`<p class="due">
        <span class="visually-hidden">${texts.total} </span>
        <bdi>${amountText(texts, link.amount.amount)}</bdi>
      </p>`
  }</div>
  </header>`

const frame = (texts: Texts, title: string, accent: string, body: Content): string =>
  document(texts, title, html`${styleElement(css)}${styleElement(accentCss(accent))}`, body)

/** The page of a link. It has no script: nothing on it changes. */
export const linkPage = (view: LinkView, texts: Texts): string => {
  const { section, title } = screen(view, texts)
  const { description } = view.found.link
  return frame(
    texts,
    title,
    view.branding.accent,
    html`<div class="card">${header(view, texts)}<main>${section}</main>${
      description !== null && html`<aside class="footer soft" dir="auto">${description}</aside>`
    }</div>
    <footer class="foot">${languageForm(pathUrl(view.path), texts, languages)}</footer>`
  )
}

/** The page in place of a link's; `retry` is a path to "try again", where that can help. */
export const refusalPage = (
  texts: Texts,
  { text, title }: { readonly title: string; readonly text: string },
  retry: string | null
): string =>
  frame(
    texts,
    title,
    defaultAccent,
    html`<div class="card"><main><section data-screen="refusal">${heading(title, mutedText(text))}${
      retry !== null && html`<a class="button main" href="${pathUrl(retry)}">${texts.tryAgain}</a>`
    }</section></main></div>`
  )
