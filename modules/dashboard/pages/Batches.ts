/** What is signed by the merchant's own wallet: batches, and what can be gathered. */
import { Effect } from "effect"
import { type Html, html } from "../../../runtime/pages/Html.ts"
import type { ReadBatch } from "../../../schemas/Batch.ts"
import { publicError } from "../../../schemas/Errors.ts"
import { type Network, networks } from "../../../schemas/Network.ts"
import { approvalNotice, hasApproved } from "../rules/Approvals.ts"
import { pageOfLines } from "../rules/LinePages.ts"
import type { List } from "../service.ts"
import { approvalBody, approveButton, approvingCard, approvingOf, challengeAction } from "./Approving.ts"
import { approverNames, approvers } from "./Approvers.ts"
import {
  card,
  chip,
  cursorOf,
  facts,
  field,
  form,
  networkName,
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
import { signingActions, signingCard } from "./BatchSigning.ts"
import type { Page, Visit } from "./Page.ts"

type BatchRow = typeof ReadBatch.Encoded

const pageSize = 25

const toneOf = ({ status }: BatchRow): Tone =>
  status === "paid" ? "good" : status === "partly_paid" || status === "open" ? "warn" : "plain"

/** A sum says no contract; its lines do. */
const totalsOf = (visit: Visit, { lines = [], totals }: BatchRow): Html =>
  html`${
    totals.map(({ symbol, token_amount, token_id: id }) => {
      const line = lines.find((each) => each.token_id === id && each.symbol === symbol)
      const name = tokenName(visit, { id, symbol, address: line?.token_address ?? null })
      return html`<div>${tokenAmount(token_amount, name)}</div>`
    })
  }`

export const batches: Page = {
  path: "batches",
  right: "batches:read",
  route: "/api/v1/batches",
  render: Effect.fnUntraced(function*(visit) {
    const { api, texts: { batches: words, fields, lists, sections } } = visit
    const found = yield* api.get<List<BatchRow>>("/api/v1/batches", { limit: pageSize, ...cursorOf(visit) })
    return {
      title: sections.batches,
      body: html`${
        card(
          null,
          found.data.length === 0 ? html`<p>${lists.nothing}</p>` : html`${
            table(sections.batches, [
              {
                title: fields.number,
                cell: ({ id }) => html`<a class="mono" href="${visit.at(`batches/${id}`)}">${shortId(id)}</a>`
              },
              { title: words.kind, cell: ({ kind }) => words.kinds[kind] },
              { title: fields.network, cell: ({ network }) => networkName(network) },
              { title: words.lines, isNumber: true, cell: ({ lines_total }) => lines_total },
              { title: fields.amount, isNumber: true, cell: ({ amount_decimal }) => usd(visit, amount_decimal) },
              { title: fields.state, cell: (batch) => chip(toneOf(batch), words.states[batch.status]) },
              { title: fields.time, isNumber: true, cell: ({ created_at }) => timeOf(visit, created_at) }
            ], found.data)
          }${pager(visit, found.data, found.has_more)}`
        )
      }${
        visit.may("batches:create") && card(
          words.payRefunds,
          form(
            visit,
            "pay_refunds",
            html`<div class="stack"><p class="soft">${words.payRefundsText}</p>${
              select({
                name: "network",
                label: fields.network,
                value: sentValue(visit, "network"),
                options: networks.map((value) => ({ value, label: networkName(value)! }))
              })
            }${field(visit, { name: "from", label: words.from, required: true, maxLength: 128, hint: words.fromHint })}
            <div class="row end"><button class="main">${words.make}</button></div></div>`
          )
        )
      }`
    }
  }),
  actions: {
    pay_refunds: Effect.fnUntraced(function*(visit, sent) {
      const made = yield* visit.api.send<BatchRow>("POST", "/api/v1/batches", {
        kind: "refunds",
        network: sent.get("network") ?? "",
        from: (sent.get("from") ?? "").trim(),
        refund_ids: "all"
      }, sent.get("form_key"))
      return { path: `batches/${made.id}`, notice: "batch_made" }
    })
  }
}

const batchPath = ({ params }: Visit, rest = "") =>
  `/api/v1/batches/${encodeURIComponent(params["id"] ?? "")}${rest}` as const

const act = (verb: "approve" | "cancel") =>
  Effect.fnUntraced(function*(visit: Visit, sent: URLSearchParams) {
    const body = verb === "approve" ? yield* approvalBody(visit, sent) : undefined
    const answer = yield* visit.api.send<BatchRow>(
      "POST",
      batchPath(visit, `/${verb}`),
      body,
      sent.get("form_key")
    )
    return {
      path: `batches/${visit.params["id"]}`,
      notice: verb === "approve" ? approvalNotice(answer.status) : "saved"
    } as const
  })

export const batch: Page = {
  path: "batches/:id",
  right: "batches:read",
  route: "/api/v1/batches",
  render: Effect.fnUntraced(function*(visit) {
    const { texts: { batches: words, fields, sections } } = visit
    const found = yield* visit.api.get<BatchRow>(batchPath(visit), { expand: "lines" })
    const { status } = found
    const page = pageOfLines(found.lines ?? [], { after: visit.query.get("after"), before: visit.query.get("before") })
    if (page === null) return yield* publicError("INVALID_CURSOR", { message: "after or before: no number of a line" })
    const names = yield* approverNames(visit, found.approvals)
    const isToApprove = visit.may("batches:approve") && status === "pending_approval"
      && !hasApproved(found.approvals, visit.caller.credential)
    const approving = isToApprove ? yield* approvingOf(visit, batchPath(visit)) : null
    const isEarly = status === "pending_approval" || status === "ready"
    return {
      title: `${words.kinds[found.kind]} ${shortId(found.id)}`,
      trail: { text: sections.batches, path: "batches" },
      state: chip(toneOf(found), words.states[status]),
      acts: html`${
        visit.may("batches:create") && (isEarly || status === "open")
        && form(visit, "cancel", html`<button class="danger">${words.cancel}</button>`)
      }${approving !== null && approveButton(visit, approving)}`,
      follows: ["batch.*"],
      signs: true,
      body: html`${approving !== null && approvingCard(visit, approving)}${
        card(
          null,
          facts([
            [fields.network, networkName(found.network)],
            [words.from, found.from !== null && html`<span class="mono wrap">${found.from}</span>`],
            [fields.amount, totalsOf(visit, found)],
            [words.worth, usd(visit, found.amount_decimal)],
            [words.code, html`<span class="mono">${found.approval_code}</span>`],
            [
              words.approvals,
              html`${words.approvalsOf(found.approvals.length, found.approvals_required)}${
                approvers(visit, found.approvals, names)
              }`
            ]
          ])
        )
      }${signingCard(visit, found)}${
        card(
          words.parts,
          table(words.parts, [
            { title: words.part, isNumber: true, cell: ({ part }) => part },
            { title: words.lines, isNumber: true, cell: ({ lines }) => lines },
            { title: fields.state, cell: ({ status: state }) => words.partStates[state] },
            { title: words.until, cell: ({ valid_until: until }) => timeOf(visit, until) },
            {
              title: fields.transaction,
              cell: ({ tx_hash: hash }) =>
                hash !== null && html`<span class="mono" title="${hash}">${shortHash(hash)}</span>`
            }
          ], found.parts)
        )
      }${
        found.lines !== undefined && card(
          words.lines,
          html`${
            table(words.lines, [
              { title: words.line, isNumber: true, cell: ({ line }) => line },
              {
                title: fields.amount,
                isNumber: true,
                cell: ({ symbol, token_address: address, token_amount, token_id: id }) =>
                  tokenAmount(token_amount, tokenName(visit, { id, symbol, address }))
              },
              {
                title: fields.to,
                cell: ({ destination }) => html`<span class="mono">${destination.address}</span>`
              },
              { title: fields.state, cell: ({ status: state }) => words.lineStates[state] }
            ], page.lines)
          }${pager(visit, page.lines.map(({ line }) => ({ id: String(line) })), page.hasMore)}`
        )
      }`
    }
  }),
  actions: {
    challenge: challengeAction((visit) => batchPath(visit)),
    approve: act("approve"),
    cancel: act("cancel"),
    ...signingActions
  }
}

interface CollectableRow {
  readonly network: Network
  readonly symbol: string | null
  readonly token_amount: string
  readonly amount_decimal: string
  readonly addresses: number
  readonly method: "collector" | "owner"
}

export const collect: Page = {
  path: "collect",
  right: "batches:read",
  route: "/api/v1/collectable",
  render: Effect.fnUntraced(function*(visit) {
    const { api, texts: { batches: words, fields, sections } } = visit
    const found = yield* api.get<List<CollectableRow>>("/api/v1/collectable")
    return {
      title: sections.collect,
      body: card(
        null,
        found.data.length === 0 ? html`<p>${words.nothingToCollect}</p>` : table(sections.collect, [
          { title: fields.network, cell: ({ network }) => networkName(network) },
          {
            title: fields.amount,
            isNumber: true,
            cell: ({ symbol, token_amount }) => tokenAmount(token_amount, symbol)
          },
          { title: fields.worth, isNumber: true, cell: ({ amount_decimal }) => usd(visit, amount_decimal) },
          { title: words.addresses, isNumber: true, cell: ({ addresses }) => addresses },
          { title: words.method, cell: ({ method }) => words.methods[method] },
          {
            title: "",
            cell: ({ method, network }) =>
              method === "collector" && visit.may("batches:create")
              && form(
                visit,
                "collect",
                html`<input type="hidden" name="network" value="${network}"><button class="mini">${words.gather}</button>`
              )
          }
        ], found.data)
      )
    }
  }),
  actions: {
    collect: Effect.fnUntraced(function*(visit, sent) {
      const made = yield* visit.api.send<BatchRow>("POST", "/api/v1/batches", {
        kind: "collect",
        network: sent.get("network") ?? ""
      }, sent.get("form_key"))
      return { path: `batches/${made.id}`, notice: "batch_made" }
    })
  }
}
