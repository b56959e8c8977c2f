/** How to pay on the chosen route: its wallets, its code, its fields and its warning. */
import { descriptorOf } from "../../../schemas/Network.ts"
import { priceState, type View } from "../rules.ts"
import { plainTokens, tokens } from "../../../runtime/pages/Amounts.ts"
import { attribute, type Html, html, walletUrl } from "../../../runtime/pages/Html.ts"
import { isolate, merchantOf, shorten } from "./Names.ts"
import { addressField, button, field, form, mutedText, note, pageUrl } from "./Elements.ts"
import { browserWallets } from "./BrowserWallets.ts"
import { qr } from "../../../runtime/pages/Qr.ts"
import { joinSentences, type Texts } from "./Texts.ts"

type Address = NonNullable<View["address"]>

/** The other content of the code: what a wallet that does not read the one may read. */
const otherCode = (view: View, texts: Texts): Html => {
  const [tab, text] = view.tab === "link"
    ? ["address", texts.addressOnly] as const
    : ["link", texts.paymentLink] as const
  return html`<a class="button plain" href="${pageUrl(view, texts, { tab })}">${text}</a>`
}

/** The code, open where it is of use: a phone cannot scan what it shows. */
const scan = (view: View, texts: Texts, code: Html, other: Html | false): Html =>
  html`<details id="scan" class="box scan"${attribute("open", !view.isPhone)}>
    <summary>${texts.scanCode}</summary>${code}${other}
  </details>`

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

/** How an address is computed, in the names of the values below it and of the API. */
const addressFormula = "keccak256(0xff, collector, keccak256(abi.encode(payee, salt)), init_code_hash)"

/**
 * Whom the address pays, and the values that show it: a payor computes the address again without this service. The
 * names are those of the API in every language, because the formula has them.
 */
const payeeProof = (view: View, texts: Texts): Html | false => {
  const proof = view.payeeProof
  if (proof === null || proof.address !== view.address?.temp_address) return false
  const value = (name: "salt" | "collector" | "init_code_hash") =>
    field(texts, name, proof[name], proof[name], { kind: "field long" })
  return html`<details id="payee" class="box"><summary>${texts.payeeTitle}</summary>
    <div class="fields"><p>${texts.payee(isolate(texts, merchantOf(view)))}</p>${
    addressField(texts, "payee", proof.payee)
  }${mutedText(texts.payeeCheck)}<p class="value">${addressFormula}</p>${value("collector")}${value("salt")}${
    value("init_code_hash")
  }</div></details>`
}

/** There is no price now: the address stays, and one action asks for another price. */
const unpricedPanel = (panel: Panel, price: "ended" | "none"): Html => {
  const { texts, view } = panel
  return html`${price === "none" && scan(view, texts, addressCode(panel), false)}${addressParts(panel)}${
    warning(panel)
  }${form(view, texts, "refresh", button(price === "ended" ? texts.newPrice : texts.tryAgain))}`
}

/** An amount of the route's token, as it is shown. */
export const amountText = (view: View, texts: Texts, address: Address, amount: string): string =>
  `${tokens(texts.locale, amount)} ${routeNames(view, address).symbol}`

/** The amount at its price: as a link that opens a wallet, for the wallets of this browser, as a code and as fields. */
const pricedPanel = (panel: Panel, amount: string): Html => {
  const { address, network, texts, view } = panel
  const { payment_uri: uri, temp_address: target } = address
  const shown = amountText(view, texts, address, amount)
  const link = walletUrl(uri)
  const code = uri !== null && view.tab === "link"
    ? qr(uri, "L", texts.qrName(isolate(texts, shown), isolate(texts, shorten(target)), network))
    : addressCode(panel)
  const name = view.details.amount_paid > 0 ? texts.remainingToSend : texts.amountToSend
  return html`${link !== null && html`<a class="button main wallet" href="${link}">${texts.openInWallet}</a>`}${
    browserWallets(view, texts, address, shown)
  }${scan(view, texts, code, uri !== null && otherCode(view, texts))}
    <div class="fields">${field(texts, name, shown, plainTokens(amount))}${addressParts(panel)}</div>
    ${warning(panel)}`
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
  return html`<div class="way route">${body}${payeeProof(view, texts)}${changeLink(view, texts)}</div>`
}
