/** Each case needs one decision: the list of open exceptions, and the one that is looked at. */
import { Effect } from "effect"
import { attribute, type Html, html } from "../../../runtime/pages/Html.ts"
import type { Exception } from "../../../schemas/Exception.ts"
import type { List } from "../service.ts"
import {
  card,
  cursorOf,
  facts,
  foreign,
  form,
  networkName,
  pager,
  sentValue,
  shortHash,
  shortId,
  timeOf,
  tokenAmount,
  tokenName,
  usd
} from "./Elements.ts"
import { icon } from "./Icons.ts"
import type { Page, Visit } from "./Page.ts"
import { savedViews, viewActions } from "./SavedViews.ts"

type Case = typeof Exception.Encoded

const pageSize = 25

const queue = (visit: Visit, cases: ReadonlyArray<Case>, open: string | undefined): Html =>
  html`<ul class="queue">${
    cases.map(({ amount_decimal, created_at, customer_id, id, invoice_id, type }) =>
      html`<li><a href="${visit.at("todo", { open: id, status: visit.query.get("status") })}"${
        attribute("aria-current", id === open ? "true" : null)
      }>${icon("todo")}<b>${visit.texts.todo.types[type]}</b><span class="amount">${
        amount_decimal !== null && usd(visit, amount_decimal)
      }</span><span class="soft">${foreign(customer_id) ?? (invoice_id !== null && shortId(invoice_id))}</span>
      <span class="soft">${timeOf(visit, created_at)}</span></a></li>`
    )
  }</ul>`

/** The decisions that the case allows and the person may make, with what each does. */
const decisions = (visit: Visit, { allowed_actions: allowed, id }: Case): Html | null => {
  const { texts: { todo }, may } = visit
  const offered = allowed.filter((action) => action !== "refund" || may("refunds:create"))
  if (!may("exceptions:resolve") || offered.length === 0) return null
  const chosen = sentValue(visit, "decision", offered[0] ?? null)
  return form(
    visit,
    "resolve",
    html`<input type="hidden" name="exception" value="${id}"><fieldset><legend>${todo.question}</legend>${
      offered.map((action) =>
        html`<label class="pick"><input type="radio" name="decision" value="${action}" required${
          attribute("checked", action === chosen)
        }><b>${todo.actions[action]}</b><span class="soft">${todo.consequences[action]}</span></label>`
      )
    }</fieldset>${
      offered.includes("assign")
      && html`<label class="f">${todo.invoiceNumber}<input name="invoice_id" maxlength="64" value="${
        sentValue(visit, "invoice_id")
      }"></label>`
    }<label class="f">${visit.texts.fields.note}<input name="note" maxlength="500" value="${
      sentValue(visit, "note")
    }"><small>${todo.noteHint}</small></label>
    <div class="row end"><button class="main">${todo.decide}</button></div>`,
    visit.at("todo", { open: id })
  )
}

const drawer = (visit: Visit, one: Case): Html => {
  const { fields, todo } = visit.texts
  return card(
    todo.types[one.type],
    html`${
      facts([
        [fields.amount, one.amount_decimal !== null && usd(visit, one.amount_decimal)],
        [fields.received, tokenAmount(one.token_amount, tokenName(visit, one.token))],
        [fields.network, one.network !== null && networkName(one.network)],
        [
          fields.transaction,
          one.tx_hash !== null && html`<span class="mono" title="${one.tx_hash}">${shortHash(one.tx_hash)}</span>`
        ],
        [fields.customer, foreign(one.customer_id)],
        [
          fields.invoice,
          one.invoice_id !== null
          && html`<a class="mono" href="${visit.at(`payments/${one.invoice_id}`)}">${shortId(one.invoice_id)}</a>`
        ],
        [fields.time, timeOf(visit, one.created_at)]
      ])
    }${
      one.resolution === null ?
        decisions(visit, one) :
        html`<p class="note good"><span>${todo.actions[one.resolution.action]}. ${
          foreign(one.resolution.note)
        } <span class="soft">${foreign(one.resolution.actor)}</span></span></p>`
    }`
  )
}

export const todo: Page = {
  path: "todo",
  right: "payments:read",
  route: "/api/v1/exceptions",
  render: Effect.fnUntraced(function*(visit) {
    const { api, query, texts } = visit
    const status = query.get("status") === "resolved" ? "resolved" : "open"
    const open = query.get("open")
    const found = yield* api.get<List<Case>>("/api/v1/exceptions", { status, limit: pageSize, ...cursorOf(visit) })
    const shown = open === null
      ? found.data[0]
      : found.data.find(({ id }) => id === open) ??
        (yield* api.get<Case>(`/api/v1/exceptions/${encodeURIComponent(open)}`))
    const pill = (name: "open" | "resolved", text: string) =>
      html`<li><a href="${visit.at("todo", { status: name })}"${
        attribute("aria-current", name === status ? "true" : null)
      }>${text}</a></li>`
    return {
      title: texts.sections.todo,
      body: html`${yield* savedViews(visit, "todo")}<ul class="pills">${pill("open", texts.todo.open)}${
        pill("resolved", texts.todo.decided)
      }</ul>${
        found.data.length === 0 && shown === undefined
          ? card(null, html`<p>${texts.todo.nothing}</p>`)
          : html`<div class="cols wide">${
            card(null, html`${queue(visit, found.data, shown?.id)}${pager(visit, found.data, found.has_more)}`)
          }${shown !== undefined && drawer(visit, shown)}</div>`
      }`
    }
  }),
  actions: {
    ...viewActions("todo"),
    resolve: Effect.fnUntraced(function*(visit, sent) {
      const id = sent.get("exception") ?? ""
      const decision = sent.get("decision") ?? ""
      const invoiceId = sent.get("invoice_id") ?? ""
      yield* visit.api.send("POST", `/api/v1/exceptions/${encodeURIComponent(id)}/resolve`, {
        action: decision,
        note: sent.get("note") ?? "",
        ...(decision === "assign" && invoiceId !== "" ? { invoice_id: invoiceId.trim() } : {})
      }, sent.get("form_key"))
      // Where the payor is to be asked for an address, the refund's page makes the link for it.
      const refunds = decision === "refund"
        ? yield* visit.api.find<List<{ readonly id: string }>>("/api/v1/refunds", { exception_id: id, limit: 1 })
        : null
      const refund = refunds?.data[0]
      return refund === undefined
        ? {
          path: "todo",
          query: { open: id, status: "resolved" },
          notice: decision === "ignore" ? "exception_left" : "exception_resolved"
        }
        : { path: `refunds/${refund.id}`, notice: "refund_created" }
    })
  }
}
