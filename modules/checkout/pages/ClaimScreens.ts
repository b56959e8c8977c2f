/** Every screen of the claim page as a fragment: what stands inside `#state`. */
import { descriptorOf } from "../../../schemas/Network.ts"
import type { ClaimProblem, ClaimScreen, ClaimView } from "../rules/Claims.ts"
import { accentOf } from "./Accent.ts"
import { moment, tokens } from "../../../runtime/pages/Amounts.ts"
import { button, heading, icon, inPieces, line, mutedText, note, shortText, type Tone } from "./Elements.ts"
import { attribute, type Content, type Html, html, mailUrl, pathUrl, webUrl } from "../../../runtime/pages/Html.ts"
import { isolate, shorten, shortId } from "./Names.ts"
import { maximumAddressLength } from "./PageRequest.ts"
import { joinSentences, type Texts } from "./Texts.ts"

/** Where the forms of a page lead, and what they carry. */
export interface ClaimForms {
  /** `{base}/claim/<refund id>?lang=…` */
  readonly path: string
  /** Where no script holds it; null: a script adds it. */
  readonly token: string | null
}

/** What a screen is rendered from. */
interface Shown {
  readonly view: ClaimView
  readonly texts: Texts
  readonly forms: ClaimForms
  /** Names as they stand within a sentence. */
  readonly merchant: string
  readonly network: string
  readonly symbol: string
}

interface ScreenContent {
  readonly title: string
  readonly body: Content
}

/** A form that asks the page for `action`; `name` is its class. */
const form = ({ path, token }: ClaimForms, action: string, content: Content, name: string | null = null): Html =>
  html`<form method="post" action="${pathUrl(path)}"${attribute("class", name)}>
    <input type="hidden" name="action" value="${action}">${
    token !== null && html`<input type="hidden" name="token" value="${token}">`
  }${content}
  </form>`

const hiddenFields = ({ entered: { address, memo } }: ClaimView): Html =>
  html`<input type="hidden" name="address" value="${address}">${
    memo !== null && html`<input type="hidden" name="memo" value="${memo}">`
  }`

/** The form into which a link is pasted, where no script reads it from the page's address. */
export const linkForm = (forms: ClaimForms, texts: Texts): Html =>
  html`<form method="post" action="${pathUrl(forms.path)}" class="refund">
    <input type="hidden" name="action" value="open">
    <label class="way">${texts.claimLink}
      <input name="token" dir="ltr" required maxlength="${maximumAddressLength * 2}"
        autocomplete="off" autocapitalize="none" spellcheck="false">
    </label>${button(texts.proceed)}
  </form>`

/** What is given back, and why; facts that the refund does not have are left out. */
const reasons = {
  requested_by_customer: "claimRequested",
  overpayment: "claimOverpayment",
  late_payment: "claimLate",
  underpayment: "claimUnderpayment",
  wrong_token: "claimWrongToken",
  order_cancelled: "claimOrderCanceled",
  order_failed: "claimOrderFailed",
  duplicate: "claimDuplicate",
  other: null
} as const satisfies Readonly<Record<ClaimView["refund"]["reason"], keyof Texts | null>>

const amountOf = ({ symbol, texts }: Pick<Shown, "symbol" | "texts">, decimal: string): string =>
  isolate(texts, `${tokens(texts.locale, decimal)} ${symbol}`)

const transactionLine = ({ texts, view: { explorerUrl, refund } }: Shown): Html | false => {
  if (refund.txHash === null) return false
  const link = webUrl(explorerUrl)
  const label = shortText(shorten(refund.txHash), refund.txHash)
  const name = texts.viewTransaction(isolate(texts, shorten(refund.txHash)))
  return line(
    texts.transaction,
    link === null
      ? label
      : html`<a href="${link}" target="_blank" rel="noreferrer noopener" aria-label="${name}">${label}</a>`
  )
}

const facts = (shown: Shown): Html => {
  const { network, texts, view: { refund } } = shown
  const reason = reasons[refund.reason]
  return html`<dl>${line(texts.claimAmount, amountOf(shown, refund.tokenAmount))}${
    refund.tokenFee !== null && line(texts.claimFee, amountOf(shown, refund.tokenFee))
  }${line(texts.claimNetwork, network)}${reason !== null && line(texts.claimReason, texts[reason])}${
    refund.invoiceId !== null && line(texts.invoice, shortText(shortId(refund.invoiceId), refund.invoiceId))
  }${transactionLine(shown)}</dl>`
}

/** An address, and its memo, in whole and in pieces: a payor who compares only the ends can be cheated. */
const walletFields = (
  { network, texts }: Shown,
  { address, memo }: ClaimView["entered"]
): Html =>
  html`<div class="field long">
    <p><span class="soft">${texts.addressOn(network)}</span><bdi class="value" dir="ltr">${inPieces(address)}</bdi></p>
  </div>${
    memo !== null && html`<div class="field">
    <p><span class="soft">${texts.memo}</span><bdi class="value" dir="ltr">${memo}</bdi></p>
  </div>`
  }`

/** What is wrong with what was typed, and what to do. */
const problemText = ({ merchant, network, symbol, texts }: Shown, problem: ClaimProblem): string => {
  const name = isolate(texts, symbol)
  const words: Readonly<Record<ClaimProblem, string>> = {
    wrong_address: texts.claimWrongAddress(network),
    other_network: texts.claimOtherNetwork(network),
    receive_address: texts.claimReceiveAddress(name, network),
    not_a_wallet: texts.claimNoWallet(name, network),
    refused: texts.claimRefused(merchant),
    wrong_memo: texts.claimWrongMemo,
    unchecked: texts.claimUnchecked
  }
  return words[problem]
}

/** Id of the note that says what is wrong with a field. */
const problemId = "problem"

const invalid = html`${attribute("aria-invalid", "true")}${attribute("aria-describedby", problemId)}`

const addressFields = (shown: Shown): Html => {
  const { network, texts, view: { entered, problem, refund } } = shown
  const { hasMemo } = descriptorOf(refund.network).family
  const isMemoWrong = problem === "wrong_memo"
  const problemNote = problem !== null && note("bad", problemText(shown, problem), problemId)
  return html`<label class="way">${texts.refundAddress(network)}
      <input name="address" dir="ltr" required maxlength="${maximumAddressLength}" value="${entered.address}"
        autocomplete="off" autocapitalize="none" spellcheck="false"${problem !== null && !isMemoWrong && invalid}>
    </label>${!isMemoWrong && problemNote}${
    hasMemo && html`<label class="way">${texts.memo}
      <input name="memo" dir="ltr" maxlength="${maximumAddressLength}" value="${entered.memo ?? ""}"
        autocomplete="off" autocapitalize="none" spellcheck="false"${
      isMemoWrong ? invalid : attribute("aria-describedby", "memo-note")
    }>
    </label>${isMemoWrong && problemNote}<p class="soft" id="memo-note">${texts.claimMemo}</p>`
  }`
}

/** How to reach the merchant: its support, or that its people are to be asked. */
const contact = ({ merchant, texts, view }: Shown): Html => {
  const { branding, refund } = view
  // The refund's own id says to the shop which one it is where there is no invoice.
  const subject = refund.invoiceId === null ? refund.id : `${texts.invoice} ${refund.invoiceId}`
  const link = mailUrl(branding.support_email, subject)
  return link === null
    ? html`<p>${texts.contactNobody(merchant)}</p>`
    : html`<a class="button plain" href="${link}">${texts.contact(merchant)}</a>`
}

/** A screen on which nothing is left to say: what became of the refund, and to where it goes. */
const outcome = (
  shown: Shown,
  tone: Tone,
  title: string,
  text: string,
  ...more: ReadonlyArray<Content>
): ScreenContent => {
  const { merchant, texts, view: { isOther, refund } } = shown
  return {
    title,
    body: html`<div class="end title">${icon(tone)}${heading(title, mutedText(text))}</div>${
      isOther && note("warn", texts.claimKept(merchant))
    }${facts(shown)}${refund.destination !== null && walletFields(shown, refund.destination)}${more}`
  }
}

/** Asks for the state of now. */
const checkAgain = ({ forms, texts }: Shown): Html =>
  form(forms, "open", html`<button>${texts.claimCheckAgain}</button>`)

const screens: Readonly<Record<ClaimScreen, (shown: Shown) => ScreenContent>> = {
  address: (shown) => {
    const { forms, merchant, network, symbol, texts, view: { refund } } = shown
    return {
      title: texts.claimAddressTitle,
      body: html`${heading(texts.claimAddressTitle, mutedText(texts.claimFrom(merchant)))}${facts(shown)}${
        note("warn", texts.claimGive(isolate(texts, symbol), network))
      }${form(forms, "check", html`${addressFields(shown)}${button(texts.proceed)}`, "refund")}${
        refund.endsAt !== null && mutedText(texts.claimUntil(isolate(texts, moment(texts.locale, refund.endsAt))))
      }`
    }
  },
  check: (shown) => {
    const { forms, texts, view } = shown
    return {
      title: texts.claimCheckTitle,
      body: html`${heading(texts.claimCheckTitle)}${walletFields(shown, view.entered)}${
        note("warn", texts.claimCheck)
      }${facts(shown)}${form(forms, "claim", html`${hiddenFields(view)}${button(texts.claimConfirm)}`)}${
        form(forms, "edit", html`${hiddenFields(view)}<button class="plain">${texts.claimEdit}</button>`, "edit")
      }`
    }
  },
  approval: (shown) => {
    const { merchant, texts } = shown
    return outcome(
      shown,
      "good",
      texts.claimApprovalTitle,
      texts.claimApproval(merchant),
      checkAgain(shown),
      contact(shown)
    )
  },
  processing: (shown) => {
    const { texts } = shown
    return outcome(shown, "good", texts.claimProcessingTitle, texts.claimProcessing, checkAgain(shown))
  },
  paid: (shown) => {
    const { texts, view: { refund } } = shown
    return outcome(
      shown,
      "good",
      texts.claimPaidTitle,
      texts.claimPaid(amountOf(shown, refund.tokenAmount), shown.network)
    )
  },
  failed: (shown) => {
    const { merchant, texts } = shown
    return outcome(
      shown,
      "warn",
      texts.claimFailedTitle,
      texts.claimFailed(merchant),
      checkAgain(shown),
      contact(shown)
    )
  },
  expired: (shown) => {
    const { merchant, texts } = shown
    return outcome(shown, "warn", texts.claimExpiredTitle, texts.claimExpired(merchant), contact(shown))
  },
  canceled: (shown) => {
    const { merchant, texts } = shown
    return outcome(shown, "warn", texts.claimCanceledTitle, texts.claimCanceled(merchant), contact(shown))
  },
  unaddressed: (shown) => {
    const { merchant, texts } = shown
    return outcome(shown, "warn", texts.claimUnaddressedTitle, texts.claimUnaddressed(merchant), contact(shown))
  }
}

/** A screen as it is rendered, and the title it gives the document. */
export const renderClaimScreen = (
  view: ClaimView,
  texts: Texts,
  forms: ClaimForms
): { readonly title: string; readonly section: Html } => {
  const { body, title } = screens[view.screen]({
    view,
    texts,
    forms,
    merchant: isolate(texts, view.merchant),
    network: isolate(texts, descriptorOf(view.refund.network).label),
    symbol: view.refund.tokenSymbol
  })
  const documentTitle = `${title} · ${view.merchant}`
  const { dark, light, onDark, onLight } = accentOf(view.branding.accent)
  const section = html`<section data-screen="${view.screen}" data-title="${documentTitle}"
    data-say="${joinSentences(texts, title)}" data-colours="${[light, onLight, dark, onDark].join(" ")}">${body}
  </section>`
  return { title: documentTitle, section }
}
