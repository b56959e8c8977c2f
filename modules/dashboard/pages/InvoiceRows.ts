/** Invoices as rows: in the list of payments, and on the first page. */
import { type Html, html } from "../../../runtime/pages/Html.ts"
import type { Invoice } from "../../../schemas/Invoice.ts"
import { usdDecimal, usdMillis } from "../../../schemas/Money.ts"
import type { Payment } from "../../../schemas/Payment.ts"
import { type InvoiceFacts, type InvoiceState, stateOf, systemMetadataOf, toneOf } from "../rules/States.ts"
import { chip, type Column, foreign, networkName, shortId, timeOf, tokenAmount, tokenName, usd } from "./Elements.ts"
import type { Visit } from "./Page.ts"
import type { Texts } from "./Texts.ts"

/** An invoice with what the page asks for besides. */
export type InvoiceRow = typeof Invoice.Encoded & {
  readonly latest_payment?: typeof Payment.Encoded | null
  readonly details?: {
    readonly title?: string | null
    readonly description?: string | null
    readonly invoice_title?: string | null
  }
}

const wordsOf = (texts: Texts, state: InvoiceState): string => {
  const { states } = texts
  switch (state.name) {
    case "confirming":
      return states.confirming(state.confirmations, state.required)
    case "paid_over":
      return states.paid_over(usd({ texts }, usdDecimal(usdMillis(BigInt(state.overUsdMillis)))))
    default:
      return states[state.name]
  }
}

/** The state of an invoice in a word or two. */
export const stateChip = (texts: Texts, invoice: InvoiceFacts): Html => {
  const state = stateOf(invoice)
  return chip(toneOf(state), wordsOf(texts, state))
}

/** What an invoice is for, as its maker wrote it; else whose it is. */
export const purposeOf = ({ customer_id, details }: InvoiceRow): string | null =>
  details?.invoice_title ?? details?.title ?? details?.description ?? customer_id

export const tokenOf = (visit: Pick<Visit, "texts">, payment: typeof Payment.Encoded): string | null =>
  tokenName(visit, systemMetadataOf(payment).token)

export const invoiceColumns = (visit: Visit): ReadonlyArray<Column<InvoiceRow>> => {
  const { fields } = visit.texts
  return [
    {
      title: fields.invoice,
      cell: ({ id }) => html`<a class="mono" href="${visit.at(`payments/${id}`)}">${shortId(id)}</a>`
    },
    { title: fields.for, cell: (invoice) => foreign(purposeOf(invoice)) },
    { title: fields.amount, isNumber: true, cell: ({ amount_decimal }) => usd(visit, amount_decimal) },
    {
      title: fields.received,
      cell: ({ latest_payment: payment }) =>
        payment === null || payment === undefined
          ? null
          : tokenAmount(payment.payer_amount_token, tokenOf(visit, payment))
    },
    {
      title: fields.network,
      cell: ({ latest_payment: payment }) =>
        payment === null || payment === undefined ? null : networkName(payment.network)
    },
    { title: fields.state, cell: (invoice) => stateChip(visit.texts, invoice) },
    { title: fields.time, isNumber: true, cell: ({ created_at }) => timeOf(visit, created_at) }
  ]
}
