/** A receipt: what was paid, by which transactions, for what. It asks for nothing, runs no script and can be printed. */
import { descriptorOf } from "../../../schemas/Network.ts"
import { moment, tokens } from "../../../runtime/pages/Amounts.ts"
import { attribute, type Html, html, pathUrl, styleElement } from "../../../runtime/pages/Html.ts"
import { overpaidFrom, type ReceiptLine, type ReceiptView } from "../rules.ts"
import { accentCss } from "./Accent.ts"
import { heading, icon, inPieces, line, mutedText } from "./Elements.ts"
import { isolate, merchantOf, priceText, shortId } from "./Names.ts"
import { type Assets, document, languageOptions, shopHeader } from "./Page.ts"
import { decisions, transactions } from "./Receipt.ts"
import type { Texts } from "./Texts.ts"

/** A payment: what came, over which network, to which address, by which transaction, and when it was final. */
const paymentFacts = (view: ReceiptView, texts: Texts, { address, payment, symbol }: ReceiptLine): Html => {
  const worth = priceText(view, texts, payment.amount, "received")
  const amount = payment.payer_amount_token === null || symbol === null
    ? worth
    : html`<bdi>${tokens(texts.locale, payment.payer_amount_token)} ${symbol}</bdi> (${worth})`
  return html`<dl>${line(texts.receiptAmount, html`<b>${amount}</b>`)}${
    payment.network !== null && line(texts.claimNetwork, descriptorOf(payment.network).label)
  }${address !== null && line(texts.receiptAddress, html`<bdi class="value" dir="ltr">${inPieces(address)}</bdi>`)}${
    transactions(texts, [payment])
  }${payment.confirmed_at !== null && line(texts.paidAt, moment(texts.locale, payment.confirmed_at))}</dl>`
}

/** The same receipt in another language: a form that only asks. */
const languageChoice = (path: string, token: string, texts: Texts, languages: ReadonlyArray<Texts>): Html =>
  html`<form method="get" action="${pathUrl(path)}"><input type="hidden" name="t" value="${token}">
    <select name="lang" aria-label="${texts.chooseLanguage}">${languageOptions(texts, languages)}</select>
    <button>${texts.change}</button></form>`

/** The page of a receipt, at `path`. */
export const receiptPage = (
  view: ReceiptView,
  texts: Texts,
  { path, token }: { readonly path: string; readonly token: string },
  { languages, style }: Pick<Assets, "languages" | "style">
): string => {
  const { details, lines } = view
  const merchant = isolate(texts, merchantOf(view))
  const purpose = details.invoice_title ?? details.description
  const extra = details.amount_paid - details.amount
  return document(
    texts,
    `${texts.receipt} ${shortId(details.invoice_id)}`,
    html`${styleElement(style.css)}${styleElement(accentCss(details.branding.accent))}`,
    html`<div class="card">${shopHeader(view, texts)}<main><section data-screen="receipt">
      <div class="end title">${icon("good")}${heading(texts.paidTitle, mutedText(texts.paid(merchant)))}</div>
      ${lines.map((one) => paymentFacts(view, texts, one))}
      <dl>${purpose !== null && purpose !== "" && line(texts.receiptFor, html`<bdi>${purpose}</bdi>`)}${
      line(
        texts.receiptTo,
        html`<bdi>${merchantOf(view)}</bdi>${
          details.branding.domain !== null && html` <bdi dir="ltr">(${details.branding.domain})</bdi>`
        }`
      )
    }${line(texts.total, html`<bdi>${priceText(view, texts, details.amount, "remaining")}</bdi>`)}${
      extra >= overpaidFrom && line(texts.receiptExtra, priceText(view, texts, extra, "received"))
    }${line(texts.invoice, html`<bdi dir="ltr"${attribute("class", "value")}>${details.invoice_id}</bdi>`)}</dl>
      ${decisions(view, texts)}</section></main>${
      details.invoice_footer && html`<aside class="footer soft" dir="auto">${details.invoice_footer}</aside>`
    }</div><footer class="foot">${languageChoice(path, token, texts, languages)}</footer>`
  )
}
