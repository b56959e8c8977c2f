/**
 * Play money, on devnet only: payments, accidents of chains, time that passes. Each button is one call of the
 * simulator (modules/docs/reference/simulator.md).
 */
import { Effect } from "effect"
import { type Html, html } from "../../../runtime/pages/Html.ts"
import { publicError } from "../../../schemas/Errors.ts"
import type { Network } from "../../../schemas/Network.ts"
import type { Refund } from "../../../schemas/Refund.ts"
import type { List } from "../service.ts"
import { card, field, form, networkName, select, table } from "./Elements.ts"
import { invoiceColumns, type InvoiceRow } from "./InvoiceRows.ts"
import type { AfterForm, FormAction, Page, Visit } from "./Page.ts"
import { dollarsIn, millisIn } from "./Dollars.ts"
import { sentCount, sentText } from "./SentFields.ts"

interface TokenRow {
  readonly id: number
  readonly token_symbol: string
  readonly network: Network
}

/** A route of the simulator: where it is served, all of them are. */
const route = "/api/v1/devnet/clock/advance"

/** Buttons of a payment, by what they are about, each by the action's name in the API. */
const actionGroups = [
  ["transfers", ["pay", "partial", "overpay", "late"]],
  ["mistakes", ["wrong_token", "wrong_network", "missing_memo", "unmatched", "duplicate", "dust"]],
  ["blocks", ["confirm", "reorg", "drop"]],
  ["ends", ["expire", "settle", "fail_settlement"]]
] as const

const hourSeconds = 3_600
const clockSteps = [1, 12] as const
const networkModes = ["down", "lagging", "ok"] as const
const newestCount = 5

/** Whether there is play money here that the person may move. */
export const maySimulate = ({ environment, may, serves }: Visit): boolean =>
  environment === "devnet" && serves(route) && may("invoices:write")

/** One key for each button of a page: buttons of one form ask for different things. */
const keyOf = (sent: URLSearchParams, button: string): string | null => {
  const key = sent.get("form_key")
  return key === null ? null : `${key}:${button}`
}

const clockForm = (visit: Visit): Html => {
  const { simulator: words } = visit.texts
  return form(
    visit,
    "advance",
    html`<div class="row"><b>${words.clock}</b>${
      clockSteps.map((hours) => html`<button name="hours" value="${hours}">${words.hours(hours)}</button>`)
    }</div>`
  )
}

/** What can happen to an invoice, for its page. */
export const simulatorCard = Effect.fnUntraced(function*(visit: Visit) {
  const { api, texts: { simulator: words } } = visit
  const { tokens } = yield* api.get<{ readonly tokens: ReadonlyArray<TokenRow> }>("/api/v1/merchant/tokens")
  const routes = tokens.map(({ id, network, token_symbol: symbol }) => ({
    value: `${network} ${id}`,
    label: `${symbol}, ${networkName(network) ?? network}`
  }))
  return card(
    words.title,
    html`<p class="soft">${words.text}</p>${
      form(
        visit,
        "simulate",
        html`<div class="stack"><div class="row">${
          select({
            name: "route",
            label: words.route,
            options: [{ value: "", label: words.anyRoute }, ...routes],
            value: visit.refusal?.form.get("route") ?? ""
          })
        }</div>${field(visit, { name: "amount_usd", label: words.dollars, hint: words.dollarsHint, maxLength: 14 })}${
          field(visit, { name: "confirmations", label: words.blocks, hint: words.blocksHint, maxLength: 5 })
        }${
          actionGroups.map(([name, actions]) =>
            html`<fieldset><legend>${words.groups[name]}</legend><div class="row">${
              actions.map((action) => html`<button name="simulate" value="${action}">${words.actions[action]}</button>`)
            }</div></fieldset>`
          )
        }</div>`
      )
    }${clockForm(visit)}`,
    html`<a href="${visit.at(`payments/${visit.params["id"]}`)}">${words.close}</a>`
  )
})

const isAction = (name: string): boolean => actionGroups.some(([, actions]) => actions.some((one) => one === name))

/** The button that was pressed on an invoice's page. */
export const simulate: FormAction = Effect.fnUntraced(function*(visit, sent) {
  const id = visit.params["id"] ?? ""
  const action = sentText(sent, "simulate")
  if (!isAction(action)) return yield* publicError("VALIDATION_ERROR", { message: visit.texts.faults.unknownForm })
  const [network = "", token = ""] = sentText(sent, "route").split(" ")
  const amount = yield* millisIn(visit, sent, "amount_usd")
  const confirmations = yield* sentCount(visit, sent, "confirmations")
  yield* visit.api.send("POST", `/api/v1/devnet/invoices/${encodeURIComponent(id)}/simulate`, {
    action,
    ...(network === "" ? {} : { network }),
    ...(token === "" ? {} : { token_id: Number(token) }),
    ...(amount === undefined ? {} : { amount }),
    ...(confirmations === undefined ? {} : { confirmations })
  }, keyOf(sent, action))
  return { path: `payments/${id}`, query: { simulate: "open" }, notice: "simulated" }
})

/** Moves the merchant's clock; `back`: the page that it leads to. */
export const advanceClock = (back: (visit: Visit) => Omit<AfterForm, "notice">): FormAction =>
  Effect.fnUntraced(function*(visit, sent) {
    const hours = clockSteps.find((step) => String(step) === sent.get("hours"))
    if (hours === undefined) {
      return yield* publicError("VALIDATION_ERROR", { message: visit.texts.faults.unknownForm })
    }
    yield* visit.api.send("POST", route, { seconds: hours * hourSeconds }, keyOf(sent, `advance_${hours}`))
    return { ...back(visit), notice: "clock_moved" }
  })

type RefundRow = Pick<typeof Refund.Encoded, "commerce_order_id" | "status">

/** Buttons that end a refund which people have approved; null: there is nothing of it to be played. */
export const refundOutcomes = (visit: Visit, { commerce_order_id: order, status }: RefundRow): Html | false => {
  const { simulator: words } = visit.texts
  return maySimulate(visit) && status === "processing" && order === null && form(
    visit,
    "simulate",
    html`<div class="row">${
      (["succeeded", "failed"] as const).map((outcome) =>
        html`<button name="outcome" value="${outcome}">${words.outcomes[outcome]}</button>`
      )
    }</div>`
  )
}

/** The button that was pressed on a refund's page. */
export const simulateRefund: FormAction = Effect.fnUntraced(function*(visit, sent) {
  const id = visit.params["id"] ?? ""
  const outcome = sentText(sent, "outcome")
  yield* visit.api.send(
    "POST",
    `/api/v1/devnet/refunds/${encodeURIComponent(id)}/simulate`,
    { outcome },
    keyOf(sent, outcome)
  )
  return { path: `refunds/${id}`, notice: "simulated" }
})

/** An invoice and its payment by one press. */
const payForm = (visit: Visit, body: Html): Html => form(visit, "pay", body, visit.at("simulator"))

/** For a page without payments: one of 25 dollars. */
export const firstPayment = (visit: Visit): Html | false =>
  maySimulate(visit)
  && payForm(
    visit,
    html`<input type="hidden" name="amount_usd" value="25"><button>${visit.texts.simulator.pay}</button>`
  )

interface NetworkStatus {
  readonly network: Network
}

const networksTable = (visit: Visit, networks: ReadonlyArray<NetworkStatus>): Html => {
  const { fields, simulator: words } = visit.texts
  return table(words.networks, [
    { title: fields.network, cell: ({ network }) => networkName(network) },
    {
      title: "",
      cell: ({ network }) =>
        form(
          visit,
          "fault",
          html`<div class="row"><input type="hidden" name="network" value="${network}">${
            networkModes.map((mode) =>
              html`<button class="mini" name="mode" value="${mode}">${words.modes[mode]}</button>`
            )
          }</div>`
        )
    }
  ], networks)
}

export const simulator: Page = {
  path: "simulator",
  right: "invoices:write",
  route,
  environment: "devnet",
  render: Effect.fnUntraced(function*(visit) {
    const { api, environment, texts } = visit
    const { simulator: words } = texts
    // What is read here would refuse nobody who may look at payments.
    if (!visit.may("invoices:write")) return yield* publicError("PERMISSION_DENIED")
    const [newest, networks] = yield* Effect.all([
      api.get<List<InvoiceRow>>("/api/v1/invoices", { limit: newestCount, expand: "latest_payment,details" }),
      api.find<List<NetworkStatus>>("/api/v1/networks/status", { environment })
    ])
    return {
      title: texts.sections.simulator,
      body: html`${
        card(
          words.payTitle,
          payForm(
            visit,
            html`<p class="soft">${words.payText}</p>${
              field(visit, {
                name: "amount_usd",
                label: texts.payments.dollars,
                value: "25",
                required: true,
                maxLength: 12
              })
            }<div class="row end"><button class="main">${words.pay}</button></div>`
          )
        )
      }${card(words.clock, html`<p class="soft">${words.clockText}</p>${clockForm(visit)}`)}${
        networks !== null
        && card(words.networks, html`<p class="soft">${words.networksText}</p>${networksTable(visit, networks.data)}`)
      }${
        newest.data.length > 0 && card(
          words.newest,
          html`<p class="soft">${words.newestText}</p>${
            table(words.newest, [
              ...invoiceColumns(visit),
              {
                title: "",
                cell: ({ id }: InvoiceRow) =>
                  html`<a class="button mini" href="${
                    visit.at(`payments/${id}`, { simulate: "open" })
                  }">${words.open}</a>`
              }
            ], newest.data)
          }`
        )
      }`
    }
  }),
  actions: {
    pay: Effect.fnUntraced(function*(visit, sent) {
      const { texts } = visit
      const made = yield* visit.api.send<{ readonly invoice_id: string }>("POST", "/api/v1/invoices", {
        amount_usd: (yield* dollarsIn(visit, sent, "amount_usd")) ?? "",
        invoice_title: texts.simulator.invoiceTitle
      }, keyOf(sent, "invoice"))
      yield* visit.api.send(
        "POST",
        `/api/v1/devnet/invoices/${made.invoice_id}/simulate`,
        { action: "pay" },
        keyOf(sent, "pay")
      )
      return { path: `payments/${made.invoice_id}`, query: { simulate: "open" }, notice: "simulated" }
    }),
    advance: advanceClock(() => ({ path: "simulator" })),
    fault: Effect.fnUntraced(function*(visit, sent) {
      const mode = sentText(sent, "mode")
      yield* visit.api.send(
        "POST",
        `/api/v1/devnet/networks/${encodeURIComponent(sentText(sent, "network"))}/fault`,
        { mode },
        keyOf(sent, mode)
      )
      return { path: "simulator", notice: "simulated" }
    })
  }
}
