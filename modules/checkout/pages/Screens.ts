/** Every screen of the payment page as a fragment: what stands inside `#state`, and changes as the payment does. */
import { formatUnits } from "../../../schemas/Money.ts"
import type { Network } from "../../../schemas/Network.ts"
import { nextPollSeconds } from "../../../schemas/Payment.ts"
import { counted, lastRefused, priceState, type Screen, underWay, type View } from "../machine.ts"
import { clock, dollars, moment, plainTokens, roughTokens, tokens } from "./Amounts.ts"
import { attribute, type Content, html, type Html, mailUrl, pathUrl, socketUrl, type Url, walletUrl, webUrl } from "./Html.ts"
import { qr } from "./Qr.ts"
import type { Texts } from "./Texts.ts"

/** Networks by the names their own people use. */
export const networkNames: Readonly<Record<Network, string>> = {
  ethereum: "Ethereum",
  base: "Base",
  solana: "Solana",
  avalanche: "Avalanche",
  ton: "TON",
  bsc: "BNB Chain",
  arbitrum: "Arbitrum",
  optimism: "Optimism",
  cardano: "Cardano",
  sui: "Sui"
}

type Address = NonNullable<View["address"]>
type Shown = View["details"]["payments"][number]
type Way = View["tokens"][number]

/** Seconds before the invoice's end from which its clock runs: the last quarter of an hour of it is loud. */
const endClockSeconds = 3_600

/** Seconds from which an end is told as a moment: a clock of many hours tells nobody anything. */
const longSeconds = 86_400

/** Ways to pay from which a search is offered. */
const searchFrom = 6

/** Transactions shown at most: an invoice paid in more parts than this is not read line by line. */
const maximumTransactions = 20

/** A name or amount of left-to-right letters inside a sentence of the other direction keeps its order. */
export const within = ({ direction }: Texts, text: string): string => direction === "rtl" ? `\u2068${text}\u2069` : text

/** How the merchant is called on the page. */
export const merchantOf = ({ details }: View): string => details.branding.name || details.merchant_name

/** The last eight of the 36 characters: enough to name an invoice to a person. The first ones tell its minute only. */
export const shortId = (id: string): string => `#${id.slice(-8)}`

/** The start and the end of what is too long to read. */
const shortened = (text: string): string => text.length <= 14 ? text : `${text.slice(0, 6)}…${text.slice(-4)}`

/** A path of the page with its session, where the cookie did not come back, and with what the payor chose. */
export const addressOf = (
  { path, query, screen, tab, token }: View,
  { locale }: Texts,
  more: { readonly below?: string; readonly change?: boolean; readonly tab?: View["tab"]; readonly keep?: boolean } = {}
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
  const text = parameters.toString()
  return pathUrl(`${path}${more.below ?? ""}${text === "" ? "" : `?${text}`}`)
}

const usd = (texts: Texts, decimal: string): string => within(texts, dollars(texts.locale, decimal))

/** usd_millis of the wire as a decimal. */
const decimalOf = (millis: number): string => formatUnits(BigInt(millis), 3)

const sum = (payments: ReadonlyArray<Shown>): number => payments.reduce((total, { amount }) => total + amount, 0)

const signs = {
  warn: html`<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M12 3 2 20h20zM12 10v4m0 3v.01"/></svg>`,
  good: html`<svg viewBox="0 0 24 24" aria-hidden="true"><path d="m4 12 6 6L20 6"/></svg>`,
  bad: html`<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M12 5v9m0 5v.01"/></svg>`
} as const

type Tone = keyof typeof signs

const note = (tone: Tone, ...content: ReadonlyArray<Content>): Html =>
  html`<p class="note ${tone}">${signs[tone]}<span>${content}</span></p>`

const sign = (tone: Tone): Html => html`<div class="sign ${tone}">${signs[tone]}</div>`

const heading = (text: string, ...below: ReadonlyArray<Content>): Html =>
  html`<div class="title"><h1 tabindex="-1">${text}</h1>${below}</div>`

const soft = (text: Content): Html => html`<p class="soft">${text}</p>`

/** The three steps; `at` is the one that is going on, 3 when all are done. */
const steps = (texts: Texts, at: 0 | 1 | 2 | 3): Html =>
  html`<ol class="steps" aria-label="${texts.progress}">${
    [texts.stepWaiting, texts.stepConfirming, texts.stepPaid].map((name, step) =>
      html`<li${step < at && attribute("class", "done")}${step === at && attribute("aria-current", "step")}>${name}</li>`)
  }</ol>`

const form = (view: View, texts: Texts, action: string, content: Content, name = ""): Html =>
  html`<form method="post" action="${addressOf(view, texts)}"${name !== "" && attribute("class", name)}><input type="hidden" name="action" value="${action}">${content}</form>`

const button = (text: string): Html => html`<button class="main">${text}</button>`

/** A value with its name and a button that copies it; `copy` is what the clipboard gets. */
const field = (texts: Texts, name: string, value: Content, copy: string, kind = "field"): Html =>
  html`<div class="${kind}"><span class="soft">${name}</span><bdi class="value" dir="ltr">${value}</bdi><button type="button" data-copy="${copy}" aria-label="${texts.copyOf(name)}" hidden>${texts.copy}</button></div>`

/** Characters of an address between two gaps. The gaps are of the stylesheet, so that what is copied has none. */
const chunk = 4

/** An address in pieces that an eye can compare; never shortened. */
const addressFieldOf = (texts: Texts, name: string, address: string): Html =>
  field(
    texts,
    name,
    (address.match(new RegExp(`.{1,${chunk}}`, "gu")) ?? []).map((piece) => html`<span>${piece}</span>`),
    address,
    "field long"
  )

const priceClock = (texts: Texts, address: Address, now: number): Html | null => {
  const { quote_last_updated_at: from, quote_valid_until: ends } = address
  if (from === null || ends === null) return null
  const left = Math.max(0, ends - now)
  return html`<p class="timer price"><span>${texts.priceHeldFor}</span><time data-ends="${ends}" data-from="${from}" data-say-5="${texts.minutesLeft(5)}" data-say-1="${texts.minutesLeft(1)}">${clock(left)}</time></p><progress data-ends="${ends}" data-from="${from}" max="${Math.max(1, ends - from)}" value="${left}" aria-label="${texts.priceHeldFor}"></progress>`
}

const invoiceClock = (texts: Texts, { details, now }: View): Html => {
  const ends = details.expires_at
  return html`<p class="timer"><span>${texts.invoiceEnds}</span>${
    ends - now > longSeconds
      ? html`<span>${moment(texts.locale, ends)}</span>`
      : html`<time data-ends="${ends}" data-from="${ends - endClockSeconds}">${clock(ends - now)}</time>`
  }</p>`
}

const tabs = (view: View, texts: Texts): Html => {
  const tab = (name: View["tab"], text: string) =>
    html`<a href="${addressOf(view, texts, { tab: name })}"${view.tab === name && attribute("aria-current", "true")}>${text}</a>`
  return html`<nav class="tabs" aria-label="${texts.scanOrCopy}">${tab("link", texts.paymentLink)}${tab("address", texts.addressOnly)}</nav>`
}

const anotherLink = (view: View, texts: Texts): Html | false =>
  view.canChange && view.details.locked_token_id === null &&
  html`<a class="button plain" href="${addressOf(view, texts, { change: true })}">${texts.useAnother}</a>`

/** Only without a script: with one the page follows the payment by itself. */
const checkButton = ({ path, query }: View, texts: Texts): Html =>
  html`<noscript><form method="get" action="${pathUrl(path)}">${
    [...new URLSearchParams(query)].map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)
  }<button class="main">${texts.checkPayment}</button></form></noscript>`

/** What the route is called: its token and its network. */
const routeNames = (view: View, address: Address) => ({
  symbol: view.token?.symbol ?? "",
  network: networkNames[address.network]
})

const memoField = (texts: Texts, { memo }: Address): Html | false =>
  memo !== null && html`${field(texts, texts.memo, memo, memo)}${note("warn", texts.memoNeeded)}`

/** How to pay on the chosen route: as far as there is a price. */
const panel = (view: View, texts: Texts, address: Address): Html => {
  const { network, symbol } = routeNames(view, address)
  const price = priceState(address, view.now)
  const { estimated_token_amount: amount, payment_uri: uri, temp_address: target } = address
  const addressField = addressFieldOf(texts, texts.addressOn(within(texts, network)), target)
  const addressCode = () =>
    qr(target, "M", texts.qrAddressName(within(texts, shortened(target)), within(texts, network)))
  const warning = note("warn", texts.sendOnly(within(texts, symbol), within(texts, network)), " ", texts.otherwiseLost)
  if (price === "ended" || amount === null) {
    return html`${price === "none" && addressCode()}${addressField}${memoField(texts, address)}${warning}${
      form(view, texts, "refresh", button(price === "ended" ? texts.newPrice : texts.tryAgain))
    }`
  }
  const shown = `${tokens(texts.locale, amount)} ${symbol}`
  const asLink = uri !== null && view.tab === "link"
  const link = walletUrl(uri)
  return html`${uri !== null && tabs(view, texts)}${
    asLink
      ? qr(uri, "L", texts.qrName(within(texts, shown), within(texts, shortened(target)), within(texts, network)))
      : addressCode()
  }${priceClock(texts, address, view.now)}<div class="fields">${
    field(
      texts,
      view.details.amount_paid > 0 ? texts.remainingToSend : texts.amountToSend,
      shown,
      plainTokens(amount)
    )
  }${addressField}${memoField(texts, address)}</div>${warning}${
    link !== null && html`<a class="button main wallet" href="${link}">${texts.openInWallet}</a>`
  }`
}

/** Why a way to pay cannot be taken now, in words; null: it can. */
const unavailable = (view: View, texts: Texts, way: Way): string | null => {
  if (way.unavailable_reason === "NETWORK_DEGRADED") return texts.networkDown
  if (way.unavailable_reason === "RATE_STALE") return texts.noPriceNow
  if (way.unavailable_reason !== null) return texts.notAvailable
  return way.min_amount > view.details.amount_remaining ? texts.minimum(usd(texts, decimalOf(way.min_amount))) : null
}

const row = (view: View, texts: Texts, way: Way, checked: boolean): Html => {
  const estimate = view.estimates.get(way.id)
  const reason = unavailable(view, texts, way)
  const network = networkNames[way.network]
  const said = reason ?? (estimate === undefined ? texts.noPriceNow : null)
  return html`<label class="row" data-find="${`${way.token_symbol} ${network} ${way.token_name}`.toLowerCase()}"><input type="radio" name="token" value="${way.id}" required${attribute("checked", checked)}${attribute("disabled", reason !== null)}><span class="name"><b>${way.token_symbol}</b> <span>${network}</span></span><span class="soft">${
    estimate !== undefined && html`<bdi dir="ltr">≈ ${roughTokens(texts.locale, estimate)} ${way.token_symbol}</bdi>`
  }${said !== null && html`<span>${said}</span>`}</span></label>`
}

/** The list of ways to pay, as one form. */
const list = (view: View, texts: Texts): Html => {
  const open = view.tokens.filter((way) => unavailable(view, texts, way) === null)
  const preselected = open.find(({ id }) => id === view.preselected) ?? open[0]
  const found = view.tokens.length < searchFrom ? null : JSON.stringify([
    texts.nothingFound,
    ...view.tokens.map((_, index) => texts.found(index + 1))
  ])
  return html`${open.length === 0 && note("warn", texts.noMethods(within(texts, merchantOf(view))))}${
    view.tokens.length > 0 && form(
      view,
      texts,
      "choose",
      html`${
        found !== null &&
        html`<input type="search" data-filter data-found="${found}" placeholder="${texts.search}" aria-label="${texts.search}" autocomplete="off" hidden>`
      }<fieldset><legend class="visually-hidden">${texts.chooseLabel}</legend>${
        view.tokens.map((way) => row(view, texts, way, way === preselected))
      }</fieldset>${open.length > 0 && button(texts.proceed)}`,
      "ways"
    )
  }`
}

/** The chosen route; only an invoice that can be paid has an address on its screen. */
const ways = (view: View, texts: Texts): Html | false =>
  view.payable && view.address !== null &&
  html`${panel(view, texts, view.address)}${anotherLink(view, texts)}`

const transaction = (texts: Texts, { explorer_url, payer_tx_hash }: Shown): Html => {
  const link = webUrl(explorer_url)
  const short = html`<bdi dir="ltr">${shortened(payer_tx_hash ?? "")}</bdi>`
  return html`<div><dt>${texts.transaction}</dt><dd>${
    link === null
      ? short
      : html`<a href="${link}" target="_blank" rel="noreferrer noopener" aria-label="${texts.viewTransaction(within(texts, shortened(payer_tx_hash ?? "")))}">${short}</a>`
  }</dd></div>`
}

const line = (name: string, value: Content): Html => html`<div><dt>${name}</dt><dd>${value}</dd></div>`

const transactions = (texts: Texts, payments: ReadonlyArray<Shown>): ReadonlyArray<Html> =>
  payments.filter(({ payer_tx_hash }) => payer_tx_hash !== null).slice(-maximumTransactions)
    .map((payment) => transaction(texts, payment))

/** What to name to the merchant, and what came. */
const facts = (view: View, texts: Texts, payments: ReadonlyArray<Shown>): Html =>
  html`<dl>${line(texts.invoice, html`<bdi dir="ltr">${shortId(view.details.invoice_id)}</bdi>`)}${
    payments.length > 0 && sum(payments) > 0 && line(texts.received, usd(texts, decimalOf(sum(payments))))
  }${transactions(texts, payments)}</dl>`

/** An e-mail to the merchant's support, with the invoice in its subject; null: there is no address. */
export const supportOf = (view: View, texts: Texts): Url | null =>
  mailUrl(view.details.branding.support_email, `${texts.invoice} ${view.details.invoice_id}`)

const contact = (view: View, texts: Texts, kind: "main" | "plain" = "main"): Html => {
  const link = supportOf(view, texts)
  const merchant = within(texts, merchantOf(view))
  return link === null
    ? html`<p>${texts.contactNobody(merchant)}</p>`
    : html`<a class="button ${kind}" href="${link}">${texts.contact(merchant)}</a>`
}

const returnLink = (view: View, texts: Texts, kind: "main" | "plain"): Html | false => {
  const link = webUrl(view.returnUrl)
  return link !== null &&
    html`<a class="button ${kind}" href="${link}">${texts.returnTo(within(texts, merchantOf(view)))}</a>`
}

/** Where money could go back to: on the network it came from. */
const refund = (view: View, texts: Texts): Html | false => {
  const network = view.details.payments.findLast((payment) => payment.network !== null)?.network ?? null
  if (network === null) return false
  const name = within(texts, networkNames[network])
  if (view.refund === "saved") return note("good", texts.refundSaved)
  return html`<h2 id="refund">${texts.refundTitle}</h2>${
    form(
      view,
      texts,
      "refund",
      html`<input type="hidden" name="network" value="${network}"><label class="way">${texts.refundAddress(name)}<input name="address" dir="ltr" required maxlength="200" autocomplete="off" autocapitalize="none" spellcheck="false"${
        view.refund === "refused" && html`${attribute("aria-invalid", "true")}${attribute("aria-describedby", "refused")}`
      }></label>${
        view.refund === "refused" && html`<p class="note bad" id="refused">${signs.bad}<span>${texts.refundWrong(name)}</span></p>`
      }<button>${texts.refundSave}</button>`,
      "refund"
    )
  }`
}

interface Drawn {
  readonly title: string
  readonly body: Content
  /** What the live region says beside the title. */
  readonly say?: string
}

const received = (texts: Texts, view: View): string => usd(texts, view.details.amount_paid_decimal)

const withSteps = (texts: Texts, at: 0 | 1 | 2 | 3, ...content: ReadonlyArray<Content>): Html =>
  html`${steps(texts, at)}${content}`

/** What came and what is left, in dollars: before a route is chosen there is no token. */
const partly = (view: View, texts: Texts): string =>
  texts.partial(received(texts, view), usd(texts, view.details.amount_remaining_decimal))

/** The route in words: the first of three places that name the network. */
const routeLine = (view: View, texts: Texts): Html | false => {
  if (view.address === null) return false
  const { network, symbol } = routeNames(view, view.address)
  return soft(texts.payingWith(within(texts, symbol), within(texts, network)))
}

const waiting = (view: View, texts: Texts, title: string, ...said: ReadonlyArray<string>): Drawn => ({
  title,
  body: withSteps(
    texts,
    0,
    heading(title, said.map(soft), routeLine(view, texts)),
    ways(view, texts),
    invoiceClock(texts, view),
    checkButton(view, texts)
  )
})

const complete = (view: View, texts: Texts, title: string, text: string, tone: Tone, ...more: ReadonlyArray<Content>): Drawn => {
  const payments = counted(view.details)
  const paidAt = payments.reduce<number | null>((last, { confirmed_at }) =>
    confirmed_at === null ? last : Math.max(last ?? 0, confirmed_at), null)
  return {
    title,
    body: withSteps(
      texts,
      3,
      html`<div class="end title">${sign(tone)}${heading(title, soft(text))}</div>`,
      html`<dl>${line(texts.invoice, html`<bdi dir="ltr">${shortId(view.details.invoice_id)}</bdi>`)}${
        line(texts.total, usd(texts, view.details.amount_decimal))
      }${line(texts.received, received(texts, view))}${
        paidAt !== null && line(texts.paidAt, moment(texts.locale, paidAt))
      }${transactions(texts, payments)}</dl>`,
      returnLink(view, texts, "main"),
      more
    )
  }
}

/** An end that the payor cannot change: what came, whom to ask, where money goes back to. */
const over = (
  view: View,
  texts: Texts,
  title: string,
  text: ReadonlyArray<Content>,
  payments: ReadonlyArray<Shown>,
  ...more: ReadonlyArray<Content>
): Drawn => ({
  title,
  body: html`<div class="end title">${sign("warn")}${heading(title, soft(text))}</div>${facts(view, texts, payments)}${more}${
    returnLink(view, texts, "plain")
  }`
})

const drawings: Readonly<Record<Screen, (view: View, texts: Texts) => Drawn>> = {
  choose: (view, texts) => {
    const outcome = view.details.amount_paid > 0 ? null : lastRefused(view.details)
    return {
      title: texts.chooseTitle,
      body: html`${heading(texts.chooseTitle)}${
        view.details.amount_paid > 0 && note("good", partly(view, texts))
      }${outcome === "reverted" && note("warn", texts.reversedTitle, ". ", texts.payAgain)}${
        outcome === "rejected" && note("warn", texts.rejected(within(texts, merchantOf(view))))
      }${list(view, texts)}${invoiceClock(texts, view)}`
    }
  },

  waiting: (view, texts) => waiting(view, texts, texts.waitingTitle, texts.scanOrCopy),

  quote_ended: (view, texts) => waiting(view, texts, texts.quoteEndedTitle, texts.quoteEnded),

  no_price: (view, texts) => waiting(view, texts, texts.noPriceTitle, texts.noPrice),

  confirming: (view, texts) => {
    const payment = underWay(view.details)
    const done = payment?.confirmations ?? 0
    const needed = Math.max(1, payment?.required_confirmations ?? 1)
    const progress = texts.confirmations(Math.min(done, needed), needed)
    return {
      title: texts.confirmingTitle,
      body: withSteps(
        texts,
        1,
        heading(texts.confirmingTitle, soft(texts.mayClose(within(texts, merchantOf(view))))),
        html`<div class="way"><p class="soft">${progress}</p><progress max="${needed}" value="${Math.min(done, needed)}" aria-label="${texts.confirmingTitle}"></progress></div>`,
        html`<dl>${
          payment !== null && payment.amount > 0 && line(texts.received, usd(texts, payment.amount_decimal))
        }${payment !== null && transactions(texts, [payment])}</dl>`,
        checkButton(view, texts)
      )
    }
  },

  partial: (view, texts) => {
    const { address, details, now } = view
    const price = address === null ? null : priceState(address, now)
    const amount = price === "held" ? address?.estimated_token_amount ?? null : null
    const text = address === null || amount === null
      ? partly(view, texts)
      : texts.partial(
        received(texts, view),
        within(texts, `${tokens(texts.locale, amount)} ${routeNames(view, address).symbol}`)
      )
    return {
      title: texts.partialTitle,
      say: text,
      body: withSteps(
        texts,
        0,
        heading(texts.partialTitle, routeLine(view, texts)),
        note("good", text),
        now >= details.expires_at && note("warn", texts.stillPayable),
        price === "ended" && note("warn", texts.quoteEnded),
        price === "none" && note("warn", texts.noPrice),
        ways(view, texts),
        now < details.expires_at && invoiceClock(texts, view),
        checkButton(view, texts)
      )
    }
  },

  paid: (view, texts) =>
    complete(view, texts, texts.paidTitle, texts.paid(within(texts, merchantOf(view))), "good"),

  overpaid: (view, texts) => {
    const extra = usd(texts, decimalOf(view.details.amount_paid - view.details.amount))
    return complete(
      view,
      texts,
      texts.overpaidTitle(extra),
      texts.overpaid(extra, within(texts, merchantOf(view))),
      "good",
      refund(view, texts)
    )
  },

  expired: (view, texts) =>
    over(
      view,
      texts,
      texts.expiredTitle,
      [texts.expired],
      [],
      view.allowRestart
        ? form(view, texts, "restart", button(texts.startAgain))
        : soft(texts.expiredContact(within(texts, merchantOf(view))))
    ),

  late: (view, texts) => {
    const late = view.details.payments.filter(({ status }) => status === "rejected")
    const amount = usd(texts, decimalOf(sum(late)))
    return over(
      view,
      texts,
      texts.lateTitle,
      [texts.late(amount, within(texts, merchantOf(view))), " ", texts.doNotPayAgain],
      late,
      contact(view, texts),
      refund(view, texts)
    )
  },

  expired_partial: (view, texts) =>
    over(
      view,
      texts,
      texts.expiredPartialTitle,
      [texts.expiredPartial(received(texts, view), within(texts, merchantOf(view))), " ", texts.doNotPayAgain],
      counted(view.details),
      contact(view, texts),
      refund(view, texts)
    ),

  canceled: (view, texts) => {
    const came = view.details.payments.filter(({ status }) => status !== "reverted")
    return over(
      view,
      texts,
      texts.canceledTitle,
      [texts.canceled(within(texts, merchantOf(view)))],
      came,
      came.length > 0 && html`${contact(view, texts)}${refund(view, texts)}`
    )
  },

  reversed: (view, texts) => {
    const gone = view.details.payments.filter(({ status }) => status === "reverted")
    if (!view.payable) {
      return over(
        view,
        texts,
        texts.reversedTitle,
        [texts.reversed],
        [],
        html`<dl>${transactions(texts, gone)}</dl>`,
        soft(texts.expiredContact(within(texts, merchantOf(view))))
      )
    }
    return {
      title: texts.reversedTitle,
      say: texts.payAgain,
      body: withSteps(
        texts,
        0,
        heading(texts.reversedTitle, routeLine(view, texts)),
        note("warn", texts.reversed, " ", texts.payAgain),
        html`<dl>${transactions(texts, gone)}</dl>`,
        ways(view, texts),
        invoiceClock(texts, view),
        checkButton(view, texts)
      )
    }
  },

  rejected: (view, texts) => {
    const refused = view.details.payments.filter(({ status }) => status === "rejected")
    const text = texts.rejected(within(texts, merchantOf(view)))
    if (!view.payable) {
      return over(view, texts, texts.rejectedTitle, [text], refused, contact(view, texts), refund(view, texts))
    }
    return {
      title: texts.rejectedTitle,
      say: text,
      body: withSteps(
        texts,
        0,
        heading(texts.rejectedTitle, routeLine(view, texts)),
        note("warn", text),
        facts(view, texts, refused),
        ways(view, texts),
        contact(view, texts, "plain"),
        refund(view, texts),
        invoiceClock(texts, view),
        checkButton(view, texts)
      )
    }
  }
}

/**
 * Play money, where the service has some: as closed as its place in a real page is small. After the end only late money
 * can come.
 */
const simulator = (view: View, texts: Texts): Html | false => {
  const choices = [
    ["pay", texts.simulatePay],
    ["partial", texts.simulatePartial],
    ["overpay", texts.simulateOver],
    ["late", texts.simulateLate]
  ] as const
  const open = view.payable ? choices : view.details.invoice_status === "expired" ? choices.slice(3) : []
  return view.simulator && open.length > 0 && html`<details><summary>${texts.simulateTitle}</summary>${
    soft(texts.simulateNote)
  }${
    form(view, texts, "simulate", open.map(([what, text]) => html`<button name="what" value="${what}">${text}</button>`))
  }</details>`
}

/** What stands inside `#state`, and the title it gives the document. */
export const draw = (view: View, texts: Texts): { readonly title: string; readonly fragment: Html } => {
  const { body, say, title } = drawings[view.screen](view, texts)
  const documentTitle = `${title} · ${merchantOf(view)}`
  const socket = socketUrl(view.socketUrl)
  const fragment = html`<section data-screen="${view.screen}" data-title="${documentTitle}" data-say="${say === undefined ? title : `${title}. ${say}`}"${
    socket !== null && html` data-ws="${socket}"`
  } data-poll="${nextPollSeconds}" data-now="${view.now}">${
    view.degraded && view.token !== null &&
    note("warn", texts.networkDegraded(within(texts, networkNames[view.token.network])))
  }${body}${simulator(view, texts)}</section>`
  return { title: documentTitle, fragment }
}
