/** Every screen of the payment page as a fragment: what stands inside `#state`, and changes as the payment does. */
import { nextPollSeconds } from "../../../schemas/Payment.ts"
import { priceMark } from "../island/Price.ts"
import { counted, lastRefused, priceState, type Screen, underWay, type View } from "../machine.ts"
import { moment, tokens } from "./Amounts.ts"
import { drawer } from "./Drawer.ts"
import { attribute, type Content, html, type Html, socketUrl } from "./Html.ts"
import { decimalOf, merchantOf, networkNames, usd, within } from "./Names.ts"
import { button, checkButton, form, heading, line, note, sign, soft, type Step, steps, type Tone } from "./Parts.ts"
import { contact, facts, invoiceLine, refund, returnLink, type Shown, sum, transactions } from "./Receipt.ts"
import { invoiceClock, route, routeLine, routeNames } from "./Route.ts"
import { inSequence, type Texts } from "./Texts.ts"
import { ways } from "./Ways.ts"

/** A screen as it is drawn. */
interface Drawn {
  /** The heading, which also names the document. */
  readonly title: string
  readonly body: Content
  /** What the live region says beside the title. */
  readonly say?: string
}

/** All that came and counts. */
const received = (texts: Texts, view: View): string => usd(texts, view.details.amount_paid_decimal)

/** A screen on the way from waiting to paid. */
const withSteps = (texts: Texts, at: Step, ...content: ReadonlyArray<Content>): Html =>
  html`${steps(texts, at)}${content}`

/** What came and what is left, in dollars: before a route is chosen there is no token. */
const partly = (view: View, texts: Texts): string =>
  texts.partial(received(texts, view), usd(texts, view.details.amount_remaining_decimal))

/** A route to pay on, with nothing received yet. */
const waiting = (view: View, texts: Texts, title: string, ...said: ReadonlyArray<string>): Drawn => ({
  title,
  body: withSteps(
    texts,
    0,
    heading(title, said.map(soft), routeLine(view, texts)),
    route(view, texts),
    invoiceClock(texts, view),
    checkButton(view, texts)
  )
})

/** When the last of payments counted, in epoch seconds; null: none has. */
const lastConfirmed = (payments: ReadonlyArray<Shown>): number | null =>
  payments.reduce<number | null>(
    (last, { confirmed_at }) => confirmed_at === null ? last : Math.max(last ?? 0, confirmed_at),
    null
  )

/** All is paid: the receipt, and the way back. */
const complete = (view: View, texts: Texts, title: string, text: string, ...more: ReadonlyArray<Content>): Drawn => {
  const payments = counted(view.details)
  const paidAt = lastConfirmed(payments)
  return {
    title,
    body: withSteps(
      texts,
      3,
      html`<div class="end title">${sign("good")}${heading(title, soft(text))}</div>`,
      html`<dl>${invoiceLine(view, texts)}${line(texts.total, usd(texts, view.details.amount_decimal))}${
        line(texts.received, received(texts, view))
      }${paidAt !== null && line(texts.paidAt, moment(texts.locale, paidAt))}${transactions(texts, payments)}</dl>`,
      returnLink(view, texts, "main"),
      more
    )
  }
}

/**
 * An end that the payor cannot change: what came, whom to ask, where money goes back to. `warning` is what must not be
 * overlooked: whoever does pays twice.
 */
const over = (
  view: View,
  texts: Texts,
  title: string,
  { text, warning = null }: { readonly text: string; readonly warning?: string | null },
  payments: ReadonlyArray<Shown>,
  ...more: ReadonlyArray<Content>
): Drawn => ({
  title,
  say: warning === null ? text : inSequence(texts, text, warning),
  body: html`<div class="end title">${sign("warn")}${heading(title, soft(text))}</div>
    ${warning !== null && note("warn", warning)}${facts(view, texts, payments)}
    ${more}${returnLink(view, texts, "plain")}`
})

/** What has happened before a payor chooses how to pay: it is shown and spoken with the list. Null: nothing. */
const before = (view: View, texts: Texts): { readonly tone: Tone; readonly text: string } | null => {
  if (view.details.amount_paid > 0) return { tone: "good", text: partly(view, texts) }
  const outcome = lastRefused(view.details)
  if (outcome === "reverted") return { tone: "warn", text: inSequence(texts, texts.reversedTitle, texts.payAgain) }
  return outcome === "rejected" ? { tone: "warn", text: texts.rejected(within(texts, merchantOf(view))) } : null
}

/** The table of screens (Payment page, "States"). */
const drawings: Readonly<Record<Screen, (view: View, texts: Texts) => Drawn>> = {
  choose: (view, texts) => {
    const { tone, text } = before(view, texts) ?? {}
    return {
      title: texts.chooseTitle,
      ...text === undefined ? {} : { say: text },
      body: html`${heading(texts.chooseTitle)}${tone !== undefined && note(tone, text)}${ways(view, texts)}${
        invoiceClock(texts, view)
      }`
    }
  },

  waiting: (view, texts) => waiting(view, texts, texts.waitingTitle, texts.scanOrCopy),

  quote_ended: (view, texts) => waiting(view, texts, texts.quoteEndedTitle, texts.quoteEnded),

  no_price: (view, texts) => waiting(view, texts, texts.noPriceTitle, texts.noPrice),

  confirming: (view, texts) => {
    const payment = underWay(view.details)
    const needed = Math.max(1, payment?.required_confirmations ?? 1)
    const done = Math.min(payment?.confirmations ?? 0, needed)
    return {
      title: texts.confirmingTitle,
      body: withSteps(
        texts,
        1,
        heading(texts.confirmingTitle, soft(texts.mayClose(within(texts, merchantOf(view))))),
        html`<div class="way">
          <p class="soft">${texts.confirmations(done, needed)}</p>
          <progress max="${needed}" value="${done}" aria-label="${texts.confirmingTitle}"></progress>
        </div>`,
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
        route(view, texts),
        now < details.expires_at && invoiceClock(texts, view),
        checkButton(view, texts)
      )
    }
  },

  paid: (view, texts) =>
    complete(view, texts, texts.paidTitle, texts.paid(within(texts, merchantOf(view)))),

  overpaid: (view, texts) => {
    const extra = usd(texts, decimalOf(view.details.amount_paid - view.details.amount))
    return complete(
      view,
      texts,
      texts.overpaidTitle(extra),
      texts.overpaid(extra, within(texts, merchantOf(view))),
      refund(view, texts)
    )
  },

  expired: (view, texts) =>
    over(
      view,
      texts,
      texts.expiredTitle,
      { text: texts.expired, warning: texts.expiredSent },
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
      { text: texts.late(amount, within(texts, merchantOf(view))), warning: texts.doNotPayAgain },
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
      {
        text: texts.expiredPartial(received(texts, view), within(texts, merchantOf(view))),
        warning: texts.doNotPayAgain
      },
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
      { text: texts.canceled(within(texts, merchantOf(view))) },
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
        { text: texts.reversed },
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
        note("warn", inSequence(texts, texts.reversed, texts.payAgain)),
        html`<dl>${transactions(texts, gone)}</dl>`,
        route(view, texts),
        invoiceClock(texts, view),
        checkButton(view, texts)
      )
    }
  },

  rejected: (view, texts) => {
    const refused = view.details.payments.filter(({ status }) => status === "rejected")
    const text = texts.rejected(within(texts, merchantOf(view)))
    if (!view.payable) {
      return over(view, texts, texts.rejectedTitle, { text }, refused, contact(view, texts), refund(view, texts))
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
        route(view, texts),
        contact(view, texts, "plain"),
        refund(view, texts),
        invoiceClock(texts, view),
        checkButton(view, texts)
      )
    }
  }
}

/** The price that the screen depends on, for the island; empty: on none, and null: on none yet. */
const priceOf = ({ address, payable }: View): string | null =>
  address !== null ? priceMark(address.quote) : payable ? null : ""

/** What stands inside `#state`, and the title it gives the document. */
export const draw = (view: View, texts: Texts): { readonly title: string; readonly fragment: Html } => {
  const { body, say, title } = drawings[view.screen](view, texts)
  const documentTitle = `${title} · ${merchantOf(view)}`
  const socket = socketUrl(view.socketUrl)
  const price = priceOf(view)
  const spoken = say === undefined ? title : inSequence(texts, title, say)
  const fragment = html`<section data-screen="${view.screen}" data-title="${documentTitle}"
    data-say="${spoken}"${socket !== null && html` data-ws="${socket}"`}
    data-poll="${nextPollSeconds}" data-now="${view.now - view.aheadSeconds}"${
    view.aheadSeconds > 0 && attribute("data-ahead", view.aheadSeconds)
  }${attribute("data-since", view.since)}${attribute("data-price", price)}>${
    view.degraded !== null && note("warn", texts.networkDegraded(within(texts, networkNames[view.degraded])))
  }${body}${drawer(view, texts)}</section>`
  return { title: documentTitle, fragment }
}
