/** What came, and what a payor can do about it: transactions, whom to ask, the way back, where a refund goes. */
import { descriptorOf } from "../../../schemas/Network.ts"
import { clock, moment, tokens } from "../../../runtime/pages/Amounts.ts"
import type { View } from "../rules.ts"
import type { Decision } from "../rules/Decisions.ts"
import { attribute, type Html, html, mailUrl, type Url, webUrl } from "../../../runtime/pages/Html.ts"
import { isolate, merchantOf, priceText, shorten, shortId } from "./Names.ts"
import { field, form, line, note, shortText } from "./Elements.ts"
import type { Texts } from "./Texts.ts"
import { maximumAddressLength } from "./PageRequest.ts"

/** A payment as its payor sees it. */
export type SessionPayment = View["details"]["payments"][number]

/** Transactions shown at most: an invoice paid in more parts than this is not read line by line. */
const maximumTransactions = 20

/** What payments are worth together, in usd_millis. */
export const sum = (payments: ReadonlyArray<SessionPayment>): number =>
  payments.reduce((total, { amount }) => total + amount, 0)

const transactionLine = (texts: Texts, explorerUrl: string | null, hash: string): Html => {
  const link = webUrl(explorerUrl)
  const label = shortText(shorten(hash), hash)
  const name = texts.viewTransaction(isolate(texts, shorten(hash)))
  return line(
    texts.transaction,
    link === null
      ? label
      : html`<a href="${link}" target="_blank" rel="noreferrer noopener" aria-label="${name}">${label}</a>`
  )
}

/** The newest transactions of payments, as facts; `payments` are newest first. */
export const transactions = (texts: Texts, payments: ReadonlyArray<SessionPayment>): ReadonlyArray<Html> =>
  payments
    .flatMap((payment) => payment.payer_tx_hash === null ? [] : [{ payment, hash: payment.payer_tx_hash }])
    .slice(0, maximumTransactions)
    .map(({ hash, payment }) => transactionLine(texts, payment.explorer_url, hash))

/** The name to give the merchant's people. */
export const invoiceLine = (view: View, texts: Texts): Html =>
  line(texts.invoice, shortText(shortId(view.details.invoice_id), view.details.invoice_id))

/** What to name to the merchant, and what came. */
export const facts = (view: View, texts: Texts, payments: ReadonlyArray<SessionPayment>): Html => {
  const receivedTotal = sum(payments)
  return html`<dl>${invoiceLine(view, texts)}${
    receivedTotal > 0 && line(texts.received, priceText(view, texts, receivedTotal, "received"))
  }${transactions(texts, payments)}</dl>`
}

/** An e-mail to the merchant's support, with the invoice in its subject; null: there is no address. */
export const supportOf = (view: View, texts: Texts): Url | null =>
  mailUrl(view.details.branding.support_email, `${texts.invoice} ${view.details.invoice_id}`)

/** How to reach the merchant: its support, or that its people are to be asked. */
export const contact = (view: View, texts: Texts, kind: "main" | "plain" = "main"): Html => {
  const link = supportOf(view, texts)
  const merchant = isolate(texts, merchantOf(view))
  return link === null
    ? html`<p>${texts.contactNobody(merchant)}</p>`
    : html`<a class="button ${kind}" href="${link}">${texts.contact(merchant)}</a>`
}

/** The way back to the merchant; false: there is none. */
export const returnLink = (view: View, texts: Texts, kind: "main" | "plain"): Html | false => {
  const link = webUrl(view.returnUrl)
  return link !== null &&
    html`<a class="button ${kind}" href="${link}">${texts.returnTo(isolate(texts, merchantOf(view)))}</a>`
}

/** Seconds until the page returns to the shop. WCAG 2.2.1 asks for 20 s or more in which a payor can stop it. */
export const returnSeconds = 20

/** The countdown to the return, after {@link returnLink}: a clock and a button that stops it. The script shows it. */
export const returnClock = (view: View, texts: Texts): Html | false => {
  const merchant = isolate(texts, merchantOf(view))
  return view.returnsAutomatically && webUrl(view.returnUrl) !== null &&
    html`<div class="way" data-return="${returnSeconds}" data-say="${returnAnnouncement(view, texts)}" hidden>
      <p class="timer"><span>${texts.returnsIn(merchant)}</span><time>${clock(returnSeconds)}</time></p>
      <button type="button">${texts.stayHere}</button>
    </div>`
}

/** The countdown as a sentence for screen readers. */
export const returnAnnouncement = (view: View, texts: Texts): string =>
  texts.returnsSoon(isolate(texts, merchantOf(view)), returnSeconds, texts.stayHere)

/** The link to the receipt: to be opened, and with a script copied. False: there is none. */
export const receiptLink = ({ receiptUrl }: View, texts: Texts): Html | false => {
  const link = webUrl(receiptUrl)
  return link !== null && receiptUrl !== null &&
    field(texts, texts.receipt, html`<a href="${link}">${texts.receiptOpen}</a>`, receiptUrl)
}

/** A decision in words, with the transaction that carries it out where there is one. */
const decisionNote = (view: Pick<View, "details">, texts: Texts, decision: Decision): Html => {
  const merchant = isolate(texts, merchantOf(view))
  switch (decision.kind) {
    case "accepted":
      return note("good", texts.accepted(merchant, moment(texts.locale, decision.at)))
    case "kept":
      return note("good", texts.keptAsCredit(merchant))
    case "refund": {
      const amount = isolate(texts, `${tokens(texts.locale, decision.tokenAmount)} ${decision.symbol}`)
      const text = decision.state === "awaited"
        ? texts.refundAwaited(amount, merchant)
        : decision.state === "done"
        ? texts.refundDone(amount)
        : texts.refundUnderWay(amount)
      return html`${note("good", text)}${
        decision.txHash !== null
        && html`<dl>${transactionLine(texts, decision.explorerUrl, decision.txHash)}</dl>`
      }`
    }
  }
}

/** What the merchant has decided about what came. */
export const decisions = (view: Pick<View, "decisions" | "details">, texts: Texts): ReadonlyArray<Html> =>
  view.decisions.map((decision) => decisionNote(view, texts, decision))

/**
 * The form for the refund address, on the network of the payment. False: no payment names a network, or the session
 * may not set the address. The screen says whom to ask then.
 */
export const refund = (view: View, texts: Texts): Html | false => {
  if (!view.canSetRefundAddress) return false
  const network = view.details.payments.find((payment) => payment.network !== null)?.network ?? null
  // A refund that is under way has its destination, or asks for it by its claim link.
  if (network === null || view.decisions.some(({ kind }) => kind === "refund")) return false
  if (view.refund === "saved") return note("good", texts.refundSaved)
  const name = isolate(texts, descriptorOf(network).label)
  const isRefused = view.refund === "refused"
  const state = isRefused && html`${attribute("aria-invalid", "true")}${attribute("aria-describedby", "refused")}`
  const fields = html`<input type="hidden" name="network" value="${network}">
    <label class="way">${texts.refundAddress(name)}
      <input name="address" dir="ltr" required maxlength="${maximumAddressLength}"
        autocomplete="off" autocapitalize="none" spellcheck="false"${state}>
    </label>${isRefused && note("bad", texts.refundWrong(name), "refused")}
    <button>${texts.refundSave}</button>`
  return html`<h2 id="refund">${texts.refundTitle}</h2>${form(view, texts, "refund", fields, "refund")}`
}
