/** Who gets what back: the list, one refund, and the making of one. */
import { Effect } from "effect"
import { attribute, type Html, html, webUrl } from "../../../runtime/pages/Html.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { maximumInvoiceAmount, usdMillis, usdWire } from "../../../schemas/Money.ts"
import { networks } from "../../../schemas/Network.ts"
import { type Refund, RefundReason, RefundStatus } from "../../../schemas/Refund.ts"
import { millisIn } from "./Dollars.ts"
import type { List } from "../service.ts"
import {
  apiWord,
  card,
  chip,
  type Column,
  cursorOf,
  facts,
  field,
  form,
  networkName,
  note,
  pager,
  select,
  sentValue,
  shortHash,
  shortId,
  table,
  timeOf,
  tokenAmount,
  tokenName,
  type Tone,
  usd
} from "./Elements.ts"
import { exportCard, lastDays } from "./Exports.ts"
import { approvalNotice, hasApproved } from "../rules/Approvals.ts"
import {
  approvalBody,
  type ApprovalPrompt,
  approveButton,
  approvingCard,
  approvingOf,
  challengeAction
} from "./Approving.ts"
import { approverNames, approvers, type Names } from "./Approvers.ts"
import type { Page, Screen, Visit } from "./Page.ts"
import { savedViews, viewActions } from "./SavedViews.ts"
import { refundOutcomes, simulateRefund } from "./Simulator.ts"
import type { NoticeName } from "./Texts.ts"

type RefundRow = typeof Refund.Encoded

const pageSize = 25

const toneOf = ({ status }: RefundRow): Tone =>
  status === "succeeded" ? "good" : status === "failed" ? "bad" : status === "canceled" || status === "expired"
    ? "plain"
    : "warn"

const stateOf = (visit: Visit, refund: RefundRow): Html =>
  chip(toneOf(refund), visit.texts.refunds.statuses[refund.status])

/** A chain's address or hash in full, in parts of four, so that each can be compared. */
const wholeAddress = (text: string): Html =>
  html`<span class="mono wrap">${text.match(/.{1,4}/gu)?.join(" ") ?? text}</span>`

const tokenOf = (visit: Visit, { token_address: address, token_id: id, token_symbol: symbol }: RefundRow) =>
  tokenName(visit, { id, symbol, address })

const columns = (visit: Visit): ReadonlyArray<Column<RefundRow>> => {
  const { fields } = visit.texts
  return [
    {
      title: fields.number,
      cell: ({ id }) => html`<a class="mono" href="${visit.at(`refunds/${id}`)}">${shortId(id)}</a>`
    },
    { title: fields.amount, isNumber: true, cell: ({ amount_decimal }) => usd(visit, amount_decimal) },
    { title: fields.token, cell: (refund) => tokenAmount(refund.token_amount, tokenOf(visit, refund)) },
    { title: fields.network, cell: ({ network }) => networkName(network) },
    {
      title: fields.to,
      cell: ({ destination_address: to }) => to !== null && html`<span class="mono">${shortHash(to)}</span>`
    },
    { title: fields.state, cell: (refund) => stateOf(visit, refund) },
    { title: fields.time, isNumber: true, cell: ({ created_at }) => timeOf(visit, created_at) }
  ]
}

export const refunds: Page = {
  path: "refunds",
  right: "payments:read",
  route: "/api/v1/refunds",
  render: Effect.fnUntraced(function*(visit) {
    const { api, query, texts } = visit
    const status = query.get("status") ?? ""
    const found = yield* api.get<List<RefundRow>>("/api/v1/refunds", { limit: pageSize, status, ...cursorOf(visit) })
    const options = [
      { value: "", label: texts.lists.all },
      ...RefundStatus.literals.map((value) => ({ value, label: texts.refunds.statuses[value] }))
    ]
    return {
      title: texts.sections.refunds,
      body: html`${yield* savedViews(visit, "refunds")}<form class="filters">${
        select({ name: "status", label: texts.fields.state, options, value: status })
      }<button>${texts.lists.filter}</button></form>${
        card(
          null,
          found.data.length === 0
            ? html`<p>${texts.lists.nothing}</p>`
            : html`${table(texts.sections.refunds, columns(visit), found.data)}${
              pager(visit, found.data, found.has_more)
            }`
        )
      }${exportCard(visit, ["refunds"], lastDays(visit))}`
    }
  }),
  actions: viewActions("refunds")
}

/** Whether the person may approve it, and has not. */
const isToApprove = (visit: Visit, { approvals, destination_address: to, status }: RefundRow): boolean =>
  visit.may("refunds:approve") && status === "pending_approval" && to !== null
  && !hasApproved(approvals, visit.caller.credential)

const actsOf = (visit: Visit, refund: RefundRow, approving: ApprovalPrompt | null): Html => {
  const { id, status } = refund
  const { refunds: words } = visit.texts
  const button = (action: string, text: string, kind: "danger" | null) =>
    form(visit, action, html`<button${attribute("class", kind)}>${text}</button>`, visit.at(`refunds/${id}`))
  return html`${refundOutcomes(visit, refund)}${
    visit.may("refunds:create") && status === "awaiting_destination" && button("claim_link", words.claimLink, null)
  }${
    visit.may("refunds:create") && (status === "awaiting_destination" || status === "pending_approval")
    && button("cancel", words.cancel, "danger")
  }${visit.may("refunds:create") && status === "failed" && button("retry", words.retry, null)}${
    approving !== null && approveButton(visit, approving)
  }`
}

/** What may tell of a refund. Its batch is told only to who may see batches. */
const refundEvents = (
  visit: Visit
): ReadonlyArray<string> => ["invoice_payment.*", "exception.*", ...(visit.may("batches:read") ? ["batch.*"] : [])]

/** Addresses of the customer that the payment knows: the payor's own before the one that the shop gave. */
interface InvoiceContact {
  readonly details?: { readonly customer_email: string | null }
  readonly payor?: { readonly email: string | null } | null
}

/** The address that the form for a claim link by e-mail offers; null: there is no such form. */
const mailFormFor = Effect.fnUntraced(function*(visit: Visit, { invoice_id: invoiceId, status }: RefundRow) {
  if (!visit.sendsMail || !visit.may("refunds:create") || status !== "awaiting_destination") return null
  if (invoiceId === null) return { email: "" }
  const path = `/api/v1/invoices/${encodeURIComponent(invoiceId)}` as const
  const { details, payor } = yield* visit.api.get<InvoiceContact>(path, { expand: "details,payor" })
  return { email: payor?.email ?? details?.customer_email ?? "" }
})

const mailCard = (visit: Visit, refundId: string, { email }: { readonly email: string }): Html => {
  const { refunds: words } = visit.texts
  return card(
    words.emailLink,
    form(
      visit,
      "email_claim_link",
      html`<div class="stack"><p>${words.emailLinkText}</p>${
        field(visit, {
          name: "email",
          label: words.emailLinkTo,
          type: "email",
          required: true,
          maxLength: 254,
          value: email
        })
      }<div class="row end"><button>${words.emailLinkSend}</button></div></div>`,
      visit.at(`refunds/${refundId}`)
    )
  )
}

/** What is around a refund: how the person would approve it, and what is shown once above it. */
interface Around {
  readonly approving?: ApprovalPrompt | null
  readonly more?: Html | null
}

/** A refund with all that its page takes. */
const refundPage = Effect.fnUntraced(function*(visit: Visit, refund: RefundRow, around: Around = {}) {
  const names = yield* approverNames(visit, refund.approvals)
  return refundScreen(visit, refund, { ...around, names, mailForm: yield* mailFormFor(visit, refund) })
})

const refundScreen = (
  visit: Visit,
  refund: RefundRow,
  { approving = null, mailForm, more = null, names }: Around & {
    readonly names: Names
    readonly mailForm: { readonly email: string } | null
  }
): Screen => {
  const { fields, refunds: words, sections } = visit.texts
  return {
    title: words.back(usd(visit, refund.amount_decimal)),
    trail: { text: sections.refunds, path: "refunds" },
    state: stateOf(visit, refund),
    acts: actsOf(visit, refund, approving),
    signs: visit.may("refunds:approve"),
    // A claim link is shown once: what comes in its place has none.
    ...(more === null ? { follows: refundEvents(visit) } : {}),
    body: html`${more}${approving !== null && approvingCard(visit, approving)}${
      card(
        null,
        facts([
          [fields.amount, usd(visit, refund.amount_decimal)],
          [words.fee, refund.fee === 0 ? null : usd(visit, refund.fee_decimal)],
          [fields.token, tokenAmount(refund.token_amount, tokenOf(visit, refund))],
          [fields.network, networkName(refund.network)],
          [fields.to, refund.destination_address !== null && wholeAddress(refund.destination_address)],
          [fields.transaction, refund.tx_hash !== null && wholeAddress(refund.tx_hash)],
          [
            words.approvals,
            refund.approvals.length > 0 && approvers(visit, refund.approvals, names)
          ],
          [words.failure, apiWord(refund.failure_code)],
          [fields.reason, words.reasons[refund.reason]],
          [
            fields.invoice,
            refund.invoice_id !== null
            && html`<a class="mono" href="${visit.at(`payments/${refund.invoice_id}`)}">${
              shortId(refund.invoice_id)
            }</a>`
          ],
          [fields.created, timeOf(visit, refund.created_at)],
          [fields.number, html`<span class="mono wrap">${refund.id}</span>`]
        ])
      )
    }${mailForm !== null && mailCard(visit, refund.id, mailForm)}`
  }
}

/** The link by which the payor says where the money goes: shown this once. */
const claimLinkCard = (visit: Visit, refund: RefundRow): Html | null => {
  const link = webUrl(refund.claim_url)
  const { refunds: words } = visit.texts
  return link === null ? null : card(
    words.claimLink,
    html`${
      note("warn", words.claimLinkText)
    }<p><a class="mono wrap" href="${link}" rel="noreferrer">${refund.claim_url}</a></p>`
  )
}

const pathOf = ({ params }: Visit) => `/api/v1/refunds/${encodeURIComponent(params["id"] ?? "")}` as const

const act = (
  verb: "approve" | "cancel" | "retry",
  noticeOf: (refund: RefundRow) => NoticeName
) =>
  Effect.fnUntraced(function*(visit: Visit, sent: URLSearchParams) {
    const body = verb === "approve" ? yield* approvalBody(visit, sent) : undefined
    const answer = yield* visit.api.send<RefundRow>("POST", `${pathOf(visit)}/${verb}`, body, sent.get("form_key"))
    return { path: `refunds/${visit.params["id"] ?? ""}`, notice: noticeOf(answer) }
  })

export const refund: Page = {
  path: "refunds/:id",
  right: "payments:read",
  route: "/api/v1/refunds",
  render: Effect.fnUntraced(function*(visit) {
    const found = yield* visit.api.get<RefundRow>(pathOf(visit))
    const approving = isToApprove(visit, found) ? yield* approvingOf(visit, pathOf(visit)) : null
    return yield* refundPage(visit, found, { approving })
  }),
  actions: {
    challenge: challengeAction(pathOf),
    approve: act("approve", ({ status }) => approvalNotice(status)),
    cancel: act("cancel", () => "refund_canceled"),
    retry: act("retry", () => "saved"),
    simulate: simulateRefund,
    claim_link: Effect.fnUntraced(function*(visit, sent) {
      const made = yield* visit.api.send<RefundRow>(
        "POST",
        `${pathOf(visit)}/claim-link`,
        undefined,
        sent.get("form_key")
      )
      return { screen: yield* refundPage(visit, made, { more: claimLinkCard(visit, made) }) }
    }),
    email_claim_link: Effect.fnUntraced(function*(visit, sent) {
      yield* visit.api.send<RefundRow>(
        "POST",
        `${pathOf(visit)}/claim-link/email`,
        { email: (sent.get("email") ?? "").trim() },
        sent.get("form_key")
      )
      return { path: `refunds/${visit.params["id"] ?? ""}`, notice: "claim_link_sent" }
    })
  }
}

/** The amount of a refund that is typed, in usd_millis: more than nothing, and no more than an invoice has. */
const readDollars = (visit: Visit, sent: URLSearchParams): Effect.Effect<number, PublicError> =>
  Effect.flatMap(
    millisIn(visit, sent, "amount_usd"),
    (millis = 0) =>
      millis === 0 || BigInt(millis) > maximumInvoiceAmount
        ? Effect.fail(publicError("VALIDATION_ERROR", { message: visit.texts.faults.dollars, param: "amount_usd" }))
        : Effect.succeed(usdWire(usdMillis(BigInt(millis))))
  )

const modes = ["full", "overpaid", "remaining", "custom"] as const

const pick = (visit: Visit, name: string, value: string, chosen: string, title: string, text: string): Html =>
  html`<label class="pick"><input type="radio" name="${name}" value="${value}" required${
    attribute("checked", sentValue(visit, name, chosen) === value)
  }><b>${title}</b><span class="soft">${text}</span></label>`

export const newRefund: Page = {
  path: "payments/:id/refund",
  right: "refunds:create",
  route: "/api/v1/refunds",
  render: Effect.fnUntraced(function*(visit) {
    const { refunds: words, sections } = visit.texts
    // The empty form calls nothing that would refuse.
    if (!visit.may("refunds:create")) return yield* publicError("PERMISSION_DENIED")
    return {
      title: words.make,
      trail: { text: sections.payments, path: `payments/${encodeURIComponent(visit.params["id"] ?? "")}` },
      body: card(
        null,
        form(
          visit,
          "create",
          html`<div class="stack"><fieldset><legend>${words.howMuch}</legend>${
            modes.map((mode) => pick(visit, "amount_mode", mode, "full", words.modes[mode], words.modeTexts[mode]))
          }</fieldset>${
            field(visit, { name: "amount_usd", label: words.dollars, maxLength: 12, hint: words.dollarsHint })
          }
          <fieldset><legend>${words.whereTo}</legend>${
            pick(visit, "where", "claim", "claim", words.byLink, words.byLinkText)
          }${pick(visit, "where", "saved", "claim", words.bySaved, words.bySavedText)}${
            pick(visit, "where", "address", "claim", words.byAddress, words.byAddressText)
          }</fieldset>${
            select({
              name: "network",
              label: visit.texts.fields.network,
              value: sentValue(visit, "network"),
              options: [{ value: "", label: "" }, ...networks.map((value) => ({ value, label: networkName(value)! }))]
            })
          }${field(visit, { name: "address", label: words.address, maxLength: 255 })}${
            select({
              name: "fee_bearer",
              label: words.feeBearer,
              value: sentValue(visit, "fee_bearer", "merchant"),
              options: [{ value: "merchant", label: words.feeMerchant }, { value: "payor", label: words.feePayor }]
            })
          }${
            select({
              name: "reason",
              label: visit.texts.fields.reason,
              value: sentValue(visit, "reason", "requested_by_customer"),
              options: RefundReason.literals.map((value) => ({ value, label: words.reasons[value] }))
            })
          }<div class="row end"><button class="main">${words.create}</button></div></div>`
        )
      )
    }
  }),
  actions: {
    create: Effect.fnUntraced(function*(visit, sent) {
      const invoiceId = visit.params["id"] ?? ""
      const where = sent.get("where")
      const mode = sent.get("amount_mode") ?? "full"
      const created = yield* visit.api.send<RefundRow>("POST", "/api/v1/refunds", {
        invoice_id: invoiceId,
        amount_mode: mode,
        ...(mode === "custom" ? { amount: yield* readDollars(visit, sent) } : {}),
        reason: sent.get("reason") ?? "",
        fee_bearer: sent.get("fee_bearer") ?? "",
        ...(where === "claim" ? { destination: "claim" } : {}),
        ...(where === "address"
          ? { destination: { network: sent.get("network") ?? "", address: (sent.get("address") ?? "").trim() } }
          : {})
      }, sent.get("form_key"))
      return created.claim_url === null
        ? { path: `refunds/${created.id}`, notice: "refund_created" }
        : { screen: yield* refundPage(visit, created, { more: claimLinkCard(visit, created) }) }
    })
  }
}
