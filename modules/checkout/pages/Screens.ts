/** Every screen of the payment page as a fragment: what stands inside `#state`, and changes as the payment does. */
import { descriptorOf } from "../../../schemas/Network.ts"
import { nextPollSeconds } from "../../../schemas/Payment.ts"
import { priceKey } from "../island/Price.ts"
import { countedPayments, lastFailure, pendingPayment, priceState, type Screen, type View } from "../rules.ts"
import { moment, tokens } from "../../../runtime/pages/Amounts.ts"
import { simulatorPanel } from "./SimulatorPanel.ts"
import { attribute, type Content, type Html, html, socketUrl } from "../../../runtime/pages/Html.ts"
import { isolate, merchantOf, priceText } from "./Names.ts"
import {
  button,
  checkButton,
  form,
  heading,
  icon,
  line,
  mutedText,
  note,
  type Step,
  steps,
  type Tone
} from "./Elements.ts"
import {
  contact,
  decisions,
  facts,
  invoiceLine,
  receiptLink,
  refund,
  returnAnnouncement,
  returnClock,
  returnLink,
  type SessionPayment,
  sum,
  transactions
} from "./Receipt.ts"
import { clocks } from "./Clocks.ts"
import { amountText, route, routeLine, routeNames } from "./Route.ts"
import { joinSentences, type Texts } from "./Texts.ts"
import { hasMethod, paymentMethods } from "./PaymentMethods.ts"

/** A screen as it is drawn. */
interface ScreenContent {
  /** The heading, which also names the document. */
  readonly title: string
  readonly body: Content
  /** What the live region says beside the title. */
  readonly say?: string
}

/** All that came and counts. */
const receivedText = (texts: Texts, view: View): string => priceText(view, texts, view.details.amount_paid, "received")

/** A screen on the way from waiting to paid. */
const withSteps = (texts: Texts, at: Step, ...content: ReadonlyArray<Content>): Html =>
  html`${steps(texts, at)}${content}`

/** What came and what is left, as a price: before a route is chosen there is no token. */
const partialText = (view: View, texts: Texts): string =>
  texts.partial(receivedText(texts, view), priceText(view, texts, view.details.amount_remaining, "remaining"))

/** A route to pay on, with nothing received yet. */
const waitingScreen = (
  view: View,
  texts: Texts,
  title: string,
  ...sentences: ReadonlyArray<string>
): ScreenContent => ({
  title,
  body: withSteps(
    texts,
    0,
    heading(title, sentences.map(mutedText), routeLine(view, texts)),
    route(view, texts),
    clocks(texts, view),
    checkButton(view, texts)
  )
})

/** When the last of payments counted, in epoch seconds; null: none has. */
const lastConfirmedAt = (payments: ReadonlyArray<SessionPayment>): number | null =>
  payments.reduce<number | null>(
    (last, { confirmed_at }) => confirmed_at === null ? last : Math.max(last ?? 0, confirmed_at),
    null
  )

/** All is paid: the receipt, and the way back. */
const completeScreen = (
  view: View,
  texts: Texts,
  title: string,
  text: string,
  ...more: ReadonlyArray<Content>
): ScreenContent => {
  const payments = countedPayments(view.details)
  const paidAt = lastConfirmedAt(payments)
  return {
    title,
    ...(view.returnsAutomatically && view.returnUrl !== null ? { say: returnAnnouncement(view, texts) } : {}),
    body: withSteps(
      texts,
      3,
      html`<div class="end title">${icon("good")}${heading(title, mutedText(text))}</div>`,
      html`<dl>${invoiceLine(view, texts)}${
        line(texts.total, priceText(view, texts, view.details.amount, "remaining"))
      }${line(texts.received, receivedText(texts, view))}${
        paidAt !== null && line(texts.paidAt, moment(texts.locale, paidAt))
      }${transactions(texts, payments)}</dl>`,
      decisions(view, texts),
      returnLink(view, texts, "main"),
      returnClock(view, texts),
      receiptLink(view, texts),
      more
    )
  }
}

/**
 * An end that the payor cannot change: what came, whom to ask, where money goes back to. `warning` is what must not be
 * overlooked: whoever does pays twice.
 */
const endScreen = (
  view: View,
  texts: Texts,
  title: string,
  { text, warning = null }: { readonly text: string; readonly warning?: string | null },
  payments: ReadonlyArray<SessionPayment>,
  ...more: ReadonlyArray<Content>
): ScreenContent => ({
  title,
  say: warning === null ? text : joinSentences(texts, text, warning),
  body: html`<div class="end title">${icon("warn")}${heading(title, mutedText(text))}</div>
    ${warning !== null && note("warn", warning)}${decisions(view, texts)}${facts(view, texts, payments)}
    ${more}${returnLink(view, texts, "plain")}`
})

/** What has happened before a payor chooses how to pay: it is shown and spoken with the list. Null: nothing. */
const earlierOutcome = (view: View, texts: Texts): { readonly tone: Tone; readonly text: string } | null => {
  if (view.details.amount_paid > 0) {
    return {
      tone: "good",
      text: hasMethod(view) ? partialText(view, texts) : texts.partialReceived(receivedText(texts, view))
    }
  }
  const outcome = lastFailure(view.details)
  if (outcome === "reverted") return { tone: "warn", text: joinSentences(texts, texts.reversedTitle, texts.payAgain) }
  return outcome === "rejected" ? { tone: "warn", text: texts.rejected(isolate(texts, merchantOf(view))) } : null
}

/** The table of screens (Payment page, "States"). */
const screens: Readonly<Record<Screen, (view: View, texts: Texts) => ScreenContent>> = {
  choose: (view, texts) => {
    const { tone, text } = earlierOutcome(view, texts) ?? {}
    return {
      title: texts.chooseTitle,
      ...text === undefined ? {} : { say: text },
      body: html`${heading(texts.chooseTitle)}${tone !== undefined && note(tone, text)}${paymentMethods(view, texts)}${
        clocks(texts, view)
      }`
    }
  },

  waiting: (view, texts) => {
    const { address } = view
    const amount = address?.estimated_token_amount ?? null
    const title = address === null || amount === null
      ? texts.waitingTitle
      : texts.payTitle(isolate(texts, amountText(view, texts, address, amount)), routeNames(view, address).network)
    return {
      title,
      body: withSteps(texts, 0, heading(title), route(view, texts), clocks(texts, view), checkButton(view, texts))
    }
  },

  quote_ended: (view, texts) => waitingScreen(view, texts, texts.quoteEndedTitle, texts.quoteEnded),

  no_price: (view, texts) => waitingScreen(view, texts, texts.noPriceTitle, texts.noPrice),

  confirming: (view, texts) => {
    const payment = pendingPayment(view.details)
    const needed = Math.max(1, payment?.required_confirmations ?? 1)
    const done = Math.min(payment?.confirmations ?? 0, needed)
    return {
      title: texts.confirmingTitle,
      body: withSteps(
        texts,
        1,
        heading(texts.confirmingTitle, mutedText(texts.mayClose(isolate(texts, merchantOf(view))))),
        html`<div class="way">
          <p class="soft">${texts.confirmations(done, needed)}</p>
          <progress max="${needed}" value="${done}" aria-label="${texts.confirmingTitle}"></progress>
        </div>`,
        html`<dl>${
          payment !== null && payment.amount > 0 &&
          line(texts.received, priceText(view, texts, payment.amount, "received"))
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
      ? partialText(view, texts)
      : texts.partial(
        receivedText(texts, view),
        isolate(texts, `${tokens(texts.locale, amount)} ${routeNames(view, address).symbol}`)
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
        clocks(texts, view),
        checkButton(view, texts)
      )
    }
  },

  paid: (view, texts) => completeScreen(view, texts, texts.paidTitle, texts.paid(isolate(texts, merchantOf(view)))),

  overpaid: (view, texts) => {
    const extra = priceText(view, texts, view.details.amount_paid - view.details.amount, "received")
    return completeScreen(
      view,
      texts,
      texts.overpaidTitle(extra),
      texts.overpaid(extra, isolate(texts, merchantOf(view))),
      refund(view, texts)
    )
  },

  expired: (view, texts) =>
    endScreen(
      view,
      texts,
      texts.expiredTitle,
      { text: texts.expired, warning: texts.expiredSent },
      [],
      view.allowRestart
        ? form(view, texts, "restart", button(texts.startAgain))
        : mutedText(texts.expiredContact(isolate(texts, merchantOf(view))))
    ),

  late: (view, texts) => {
    const latePayments = view.details.payments.filter(({ status }) => status === "rejected")
    const amount = priceText(view, texts, sum(latePayments), "received")
    return endScreen(
      view,
      texts,
      texts.lateTitle,
      { text: texts.late(amount, isolate(texts, merchantOf(view))), warning: texts.doNotPayAgain },
      latePayments,
      contact(view, texts),
      refund(view, texts)
    )
  },

  expired_partial: (view, texts) =>
    endScreen(
      view,
      texts,
      texts.expiredPartialTitle,
      {
        text: texts.expiredPartial(receivedText(texts, view), isolate(texts, merchantOf(view))),
        warning: texts.doNotPayAgain
      },
      countedPayments(view.details),
      contact(view, texts),
      refund(view, texts)
    ),

  canceled: (view, texts) => {
    const receivedPayments = view.details.payments.filter(({ status }) => status !== "reverted")
    return endScreen(
      view,
      texts,
      texts.canceledTitle,
      { text: texts.canceled(isolate(texts, merchantOf(view))) },
      receivedPayments,
      receivedPayments.length > 0 && html`${contact(view, texts)}${refund(view, texts)}`
    )
  },

  reversed: (view, texts) => {
    const revertedPayments = view.details.payments.filter(({ status }) => status === "reverted")
    if (!view.payable) {
      return endScreen(
        view,
        texts,
        texts.reversedTitle,
        { text: texts.reversed },
        [],
        html`<dl>${transactions(texts, revertedPayments)}</dl>`,
        mutedText(texts.expiredContact(isolate(texts, merchantOf(view))))
      )
    }
    return {
      title: texts.reversedTitle,
      say: texts.payAgain,
      body: withSteps(
        texts,
        0,
        heading(texts.reversedTitle, routeLine(view, texts)),
        note("warn", joinSentences(texts, texts.reversed, texts.payAgain)),
        html`<dl>${transactions(texts, revertedPayments)}</dl>`,
        route(view, texts),
        clocks(texts, view),
        checkButton(view, texts)
      )
    }
  },

  rejected: (view, texts) => {
    const rejectedPayments = view.details.payments.filter(({ status }) => status === "rejected")
    const text = texts.rejected(isolate(texts, merchantOf(view)))
    if (!view.payable) {
      return endScreen(
        view,
        texts,
        texts.rejectedTitle,
        { text },
        rejectedPayments,
        contact(view, texts),
        refund(view, texts)
      )
    }
    return {
      title: texts.rejectedTitle,
      say: text,
      body: withSteps(
        texts,
        0,
        heading(texts.rejectedTitle, routeLine(view, texts)),
        note("warn", text),
        facts(view, texts, rejectedPayments),
        route(view, texts),
        contact(view, texts, "plain"),
        refund(view, texts),
        clocks(texts, view),
        checkButton(view, texts)
      )
    }
  }
}

/** The price that the screen depends on, for the island; empty: on none, and null: on none yet. */
const priceOf = ({ address, payable }: View): string | null =>
  address !== null ? priceKey(address.quote) : payable ? null : ""

/** What stands inside `#state`, and the title it gives the document. */
export const renderScreen = (view: View, texts: Texts): { readonly title: string; readonly fragment: Html } => {
  const { body, say, title } = screens[view.screen](view, texts)
  const documentTitle = `${title} · ${merchantOf(view)}`
  const socket = socketUrl(view.socketUrl)
  const price = priceOf(view)
  const announcement = say === undefined ? title : joinSentences(texts, title, say)
  const fragment = html`<section data-screen="${view.screen}" data-title="${documentTitle}"
    data-say="${announcement}"${socket !== null && html` data-ws="${socket}"`}
    data-poll="${nextPollSeconds}" data-now="${view.now - view.aheadSeconds}"${
    view.aheadSeconds > 0 && attribute("data-ahead", view.aheadSeconds)
  }${attribute("data-since", view.since)}${attribute("data-price", price)}>${
    view.degradedNetwork !== null &&
    note("warn", texts.networkDegraded(isolate(texts, descriptorOf(view.degradedNetwork).label)))
  }${body}${simulatorPanel(view, texts)}</section>`
  return { title: documentTitle, fragment }
}
