/** Invoices with what came: find any payment in ten seconds. */
import { Effect } from "effect"
import { html } from "../../../runtime/pages/Html.ts"
import { publicError } from "../../../schemas/Errors.ts"
import { InvoiceStatus } from "../../../schemas/Invoice.ts"
import type { List } from "../service.ts"
import { dollarsIn } from "./Dollars.ts"
import { card, cursorOf, field, form, pager, select, table } from "./Elements.ts"
import { exportCard, lastDays } from "./Exports.ts"
import { invoiceColumns, type InvoiceRow } from "./InvoiceRows.ts"
import type { Page } from "./Page.ts"
import { savedViews, viewActions } from "./SavedViews.ts"

const pageSize = 25

export const payments: Page = {
  path: "payments",
  right: "payments:read",
  route: "/api/v1/invoices",
  render: Effect.fnUntraced(function*(visit) {
    const { api, at, query, texts } = visit
    const { lists } = texts
    const status = query.get("status") ?? ""
    const customer = query.get("customer") ?? ""
    const found = yield* api.get<List<InvoiceRow>>("/api/v1/invoices", {
      limit: pageSize,
      expand: "latest_payment,details",
      status,
      customer_id: customer,
      ...cursorOf(visit)
    })
    const isFiltered = status !== "" || customer !== ""
    const choices = [
      { value: "", label: lists.all },
      ...InvoiceStatus.literals.map((value) => ({ value, label: texts.payments.statuses[value] }))
    ]
    const filters = html`<form class="filters">${
      select({ name: "status", label: texts.fields.state, options: choices, value: status })
    }<label class="inlinelabel">${texts.fields.customer}<input name="customer" value="${customer}"></label>
      <button>${lists.filter}</button></form>`
    return {
      title: texts.sections.payments,
      acts: visit.may("invoices:write")
        && html`<a class="button main" href="${at("payments/new")}">${texts.payments.newInvoice}</a>`,
      body: html`${yield* savedViews(visit, "payments")}${filters}${
        card(
          null,
          found.data.length > 0
            ? html`${table(texts.sections.payments, invoiceColumns(visit), found.data)}${
              pager(visit, found.data, found.has_more)
            }`
            : isFiltered
            ? html`<p>${lists.nothing} <a href="${at("payments")}">${lists.clear}</a></p>`
            : html`<p>${texts.payments.none}</p>`
        )
      }${exportCard(visit, ["invoices", "payments", "lots"], lastDays(visit))}`
    }
  }),
  actions: viewActions("payments")
}

export const newInvoice: Page = {
  path: "payments/new",
  right: "invoices:write",
  route: "/api/v1/invoices",
  render: Effect.fnUntraced(function*(visit) {
    const { texts } = visit
    // The empty form calls nothing that would refuse.
    if (!visit.may("invoices:write")) return yield* publicError("PERMISSION_DENIED")
    return {
      title: texts.payments.newInvoice,
      trail: { text: texts.sections.payments, path: "payments" },
      body: card(
        null,
        form(
          visit,
          "create",
          html`<div class="stack">${
            field(visit, { name: "amount_usd", label: texts.payments.dollars, required: true, maxLength: 12 })
          }${field(visit, { name: "title", label: texts.payments.title, maxLength: 120 })}${
            field(visit, { name: "customer_id", label: texts.fields.customer, maxLength: 255 })
          }<div class="row end"><button class="main">${texts.payments.make}</button></div></div>`
        )
      )
    }
  }),
  actions: {
    create: Effect.fnUntraced(function*(visit, sent) {
      const [title, customer] = [sent.get("title") ?? "", sent.get("customer_id") ?? ""]
      const amount = yield* dollarsIn(visit, sent, "amount_usd")
      const made = yield* visit.api.send<{ readonly invoice_id: string }>("POST", "/api/v1/invoices", {
        amount_usd: amount ?? "",
        ...(title === "" ? {} : { invoice_title: title }),
        ...(customer === "" ? {} : { customer_id: customer })
      }, sent.get("form_key"))
      return { path: `payments/${made.invoice_id}`, notice: "invoice_created" }
    })
  }
}
