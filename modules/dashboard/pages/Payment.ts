/** Everything that happened to one invoice, in order. */
import { Effect } from "effect"
import { attribute, type Content, html, webUrl } from "../../../runtime/pages/Html.ts"
import type { Exception } from "../../../schemas/Exception.ts"
import type { Payment } from "../../../schemas/Payment.ts"
import type { Refund } from "../../../schemas/Refund.ts"
import { canRefund, systemMetadataOf } from "../rules/States.ts"
import type { List } from "../service.ts"
import {
  card,
  chip,
  type Column,
  facts,
  foreign,
  form,
  networkName,
  pathOf,
  shortHash,
  shortId,
  table,
  timeOf,
  tokenAmount,
  type Tone,
  usd
} from "./Elements.ts"
import { type InvoiceRow, purposeOf, stateChip, tokenOf } from "./InvoiceRows.ts"
import type { Page, Visit } from "./Page.ts"
import { advanceClock, maySimulate, simulate, simulatorCard } from "./Simulator.ts"

type PaymentRow = typeof Payment.Encoded
type ExceptionRow = typeof Exception.Encoded
type RefundRow = typeof Refund.Encoded
type InvoicePage = InvoiceRow & { readonly payment_url?: string; readonly payments: List<PaymentRow> }

/** Payments, exceptions and refunds that are shown, at most, of each. */
const shownOfEach = 50

/** A step of the timeline. */
interface Step {
  readonly at: number
  readonly tone: Tone
  readonly title: Content
  readonly text: Content
}

interface Story {
  readonly invoice: InvoicePage
  readonly payments: ReadonlyArray<PaymentRow>
  readonly exceptions: ReadonlyArray<ExceptionRow>
  readonly refunds: ReadonlyArray<RefundRow>
  /** Whether no payment and no refund is missing. */
  readonly hasAll: boolean
}

const toneOfPayment = ({ status }: PaymentRow): Tone =>
  status === "confirmed" || status === "underpaid" ? "good" : status === "reverted" ? "bad" : "warn"

const stepsOfPayment = (visit: Visit, payment: PaymentRow, createdAt: number): ReadonlyArray<Step> => {
  const { story } = visit.texts.payments
  const { late_at, quote } = systemMetadataOf(payment)
  const amount = tokenAmount(payment.payer_amount_token, tokenOf(visit, payment))
  const seenAt = late_at ?? quote?.priced_at ?? payment.confirmed_at ?? createdAt
  return [
    {
      at: seenAt,
      tone: toneOfPayment(payment),
      title: html`${amount} ${story.arrived}`,
      text: html`<span class="mono">${shortHash(payment.payer_tx_hash ?? "")}</span>, ${networkName(payment.network)}`
    },
    ...(payment.confirmed_at === null ? [] : [{
      at: payment.confirmed_at,
      tone: "good" as const,
      title: story.confirmed,
      text: story.worth(usd(visit, payment.amount_decimal))
    }])
  ]
}

const stepsOf = (visit: Visit, { exceptions, invoice, payments, refunds }: Story): ReadonlyArray<Step> => {
  const { payments: { story }, todo } = visit.texts
  const steps: ReadonlyArray<Step> = [
    { at: invoice.created_at, tone: "good", title: story.created, text: usd(visit, invoice.amount_decimal) },
    ...payments.flatMap((payment) => stepsOfPayment(visit, payment, invoice.created_at)),
    ...(invoice.paid_at === null
      ? []
      : [{ at: invoice.paid_at, tone: "good" as const, title: story.paid, text: null }]),
    ...exceptions.flatMap((exception): ReadonlyArray<Step> => [
      {
        at: exception.created_at,
        tone: "warn" as const,
        title: todo.types[exception.type],
        text: exception.status === "open"
          && html`<a href="${visit.at("todo", { open: exception.id })}">${todo.decide}</a>`
      },
      ...(exception.resolved_at === null || exception.resolution === null ? [] : [{
        at: exception.resolved_at,
        tone: "good" as const,
        title: todo.actions[exception.resolution.action],
        text: foreign(exception.resolution.note)
      }])
    ]),
    ...refunds.map((refund): Step => ({
      at: refund.created_at,
      tone: "plain",
      title: story.refund(usd(visit, refund.amount_decimal)),
      text: html`<a href="${visit.at(`refunds/${refund.id}`)}">${visit.texts.refunds.statuses[refund.status]}</a>`
    }))
  ]
  return steps.toSorted((a, b) => a.at - b.at)
}

const timeline = (visit: Visit, steps: ReadonlyArray<Step>) =>
  html`<ol class="timeline">${
    steps.map(({ at, text, title, tone }) =>
      html`<li${attribute("class", tone === "plain" ? null : tone)}><b>${title}</b>${timeOf(visit, at)}${
        text !== null && text !== false && html`<p>${text}</p>`
      }</li>`
    )
  }</ol>`

const paymentColumns = (visit: Visit): ReadonlyArray<Column<PaymentRow>> => {
  const { fields, paymentStates } = visit.texts
  return [
    {
      title: fields.transaction,
      cell: ({ payer_tx_hash: hash }) =>
        hash !== null && html`<span class="mono" title="${hash}">${shortHash(hash)}</span>`
    },
    {
      title: fields.amount,
      isNumber: true,
      cell: (payment) => tokenAmount(payment.payer_amount_token, tokenOf(visit, payment))
    },
    { title: fields.network, cell: ({ network }) => networkName(network) },
    { title: fields.worth, isNumber: true, cell: ({ amount_decimal }) => usd(visit, amount_decimal) },
    {
      title: fields.depth,
      isNumber: true,
      cell: (payment) => {
        const { confirmations, required_confirmations: required } = systemMetadataOf(payment)
        return `${confirmations} / ${required}`
      }
    },
    { title: fields.state, cell: (payment) => chip(toneOfPayment(payment), paymentStates[payment.status]) }
  ]
}

const moneyOf = (visit: Visit, { invoice, refunds }: Story) => {
  const { fields } = visit.texts
  const goesBack = refunds.filter(({ status }) => status !== "canceled" && status !== "expired")
  return facts([
    [fields.due, usd(visit, invoice.amount_decimal)],
    [fields.received, usd(visit, invoice.amount_paid_decimal)],
    ...goesBack.map(({ amount_decimal, status }) =>
      [`${fields.refunded}: ${visit.texts.refunds.statuses[status]}`, usd(visit, amount_decimal)] as const
    ),
    [fields.missing, invoice.amount_remaining === 0 ? null : usd(visit, invoice.amount_remaining_decimal)]
  ])
}

const actsOf = (visit: Visit, { hasAll, invoice, payments, refunds }: Story) => {
  const { payment_url: paymentUrl, status } = invoice
  const { payments: words } = visit.texts
  const link = webUrl(paymentUrl ?? null)
  const isOpen = status === "unpaid" || status === "underpaid"
  return html`${
    maySimulate(visit) && visit.query.get("simulate") !== "open"
    && html`<a class="button" href="${visit.at(pathOf(visit), { simulate: "open" })}">${visit.texts.simulator.open}</a>`
  }${link !== null && isOpen && html`<a class="button" href="${link}" rel="noreferrer">${words.openPage}</a>`}${
    visit.may("invoices:write") && status === "unpaid" &&
    form(visit, "cancel", html`<button class="danger">${words.cancel}</button>`)
  }${
    visit.may("refunds:create") && visit.serves("/api/v1/refunds") && canRefund(payments, refunds, hasAll)
    && html`<a class="button main" href="${
      visit.at(`payments/${visit.params["id"]}/refund`)
    }">${visit.texts.refunds.make}</a>`
  }`
}

export const payment: Page = {
  path: "payments/:id",
  right: "payments:read",
  route: "/api/v1/invoices",
  render: Effect.fnUntraced(function*(visit) {
    const { api, params, texts } = visit
    const path = `/api/v1/invoices/${encodeURIComponent(params["id"] ?? "")}` as const
    const expand = visit.may("invoices:write")
      ? "latest_payment,details,payments,payment_url"
      : "latest_payment,details,payments"
    const invoice = yield* api.get<InvoicePage>(path, { expand, payments_limit: shownOfEach })
    const { payments } = invoice
    const [exceptions, refunds] = yield* Effect.all([
      api.find<List<ExceptionRow>>("/api/v1/exceptions", { invoice_id: invoice.id, limit: shownOfEach }),
      api.find<List<RefundRow>>("/api/v1/refunds", { invoice_id: invoice.id, limit: shownOfEach })
    ])
    const story: Story = {
      invoice,
      payments: payments.data,
      exceptions: exceptions?.data ?? [],
      refunds: refunds?.data ?? [],
      hasAll: !payments.has_more && refunds?.has_more !== true
    }
    const purpose = purposeOf(invoice)
    const isSimulated = maySimulate(visit) && visit.query.get("simulate") === "open"
    const simulatorOfInvoice = isSimulated ? yield* simulatorCard(visit) : null
    const { fields, payments: words } = texts
    return {
      title: `${usd(visit, invoice.amount_decimal)} ${purpose ?? shortId(invoice.id)}`,
      trail: { text: texts.sections.payments, path: "payments" },
      state: stateChip(texts, invoice),
      acts: actsOf(visit, story),
      follows: ["invoice.*", "invoice_payment.*", "exception.*"],
      body: html`${simulatorOfInvoice}<div class="cols">${
        card(words.happened, timeline(visit, stepsOf(visit, story)))
      }<div class="stack">${card(words.money, moneyOf(visit, story))}${
        card(
          words.facts,
          facts([
            [
              fields.customer,
              invoice.customer_id !== null
              && html`<a href="${visit.at("payments", { customer: invoice.customer_id })}">${
                foreign(invoice.customer_id)
              }</a>`
            ],
            [fields.until, timeOf(visit, invoice.expires_at)],
            [fields.number, html`<span class="mono wrap">${invoice.id}</span>`],
            ...Object.entries(invoice.metadata).map(([name, value]) =>
              [name, foreign(typeof value === "string" ? value : JSON.stringify(value))] as const
            )
          ])
        )
      }</div></div>${
        card(
          words.ofInvoice,
          story.payments.length === 0
            ? html`<p>${words.noneOfInvoice}</p>`
            : table(words.ofInvoice, paymentColumns(visit), story.payments)
        )
      }`
    }
  }),
  actions: {
    simulate,
    advance: advanceClock((visit) => ({ path: pathOf(visit), query: { simulate: "open" } })),
    cancel: Effect.fnUntraced(function*(visit, sent) {
      const id = visit.params["id"] ?? ""
      yield* visit.api.send(
        "POST",
        `/api/v1/invoices/${encodeURIComponent(id)}/cancel`,
        undefined,
        sent.get("form_key")
      )
      return { path: `payments/${id}`, notice: "invoice_canceled" }
    })
  }
}
