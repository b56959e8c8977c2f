/** Payment links: get paid without a developer. */
import { Effect } from "effect"
import { html, pathUrl } from "../../../runtime/pages/Html.ts"
import { qr } from "../../../runtime/pages/Qr.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { readTime } from "../../../schemas/Time.ts"
import type { List } from "../service.ts"
import { card, chip, cursorOf, facts, field, foreign, form, pager, table, timeOf, type Tone, usd } from "./Elements.ts"
import { dollarsIn, millisIn } from "./Dollars.ts"
import type { Page, Visit } from "./Page.ts"
import { sentCount, sentText, wrongField } from "./SentFields.ts"

interface LinkRow {
  readonly id: string
  readonly url: string
  readonly status: "active" | "inactive" | "expired" | "completed"
  readonly title: string
  readonly description: string | null
  readonly amount_decimal: string | null
  readonly minimum_amount_decimal: string | null
  readonly maximum_amount_decimal: string | null
  readonly maximum_payments: number | null
  readonly payment_count: number
  readonly open_count: number
  readonly amount_paid_decimal: string
  readonly expires_at: number | null
  readonly created_at: number
}

const pageSize = 25

const tones: Readonly<Record<LinkRow["status"], Tone>> = {
  active: "good",
  inactive: "plain",
  expired: "plain",
  completed: "plain"
}

const amountOf = (visit: Visit, row: LinkRow): string =>
  row.amount_decimal === null
    ? visit.texts.links.anyAmount(
      usd(visit, row.minimum_amount_decimal ?? "0.000"),
      usd(visit, row.maximum_amount_decimal ?? "0.000")
    )
    : usd(visit, row.amount_decimal)

export const links: Page = {
  path: "links",
  right: "payments:read",
  route: "/api/v1/payment-links",
  render: Effect.fnUntraced(function*(visit) {
    const { api, at, texts: { fields, links: words, sections } } = visit
    const found = yield* api.get<List<LinkRow>>("/api/v1/payment-links", { limit: pageSize, ...cursorOf(visit) })
    return {
      title: sections.links,
      acts: visit.may("invoices:write") && html`<a class="button main" href="${at("links/new")}">${words.newLink}</a>`,
      body: card(
        null,
        found.data.length === 0 ? html`<p>${words.none}</p>` : html`${
          table(sections.links, [
            {
              title: fields.for,
              cell: ({ id, title }) => html`<a href="${at(`links/${id}`)}">${foreign(title)}</a>`
            },
            { title: fields.amount, isNumber: true, cell: (row) => amountOf(visit, row) },
            {
              title: words.paid,
              isNumber: true,
              cell: ({ maximum_payments, payment_count }) => words.paidOf(payment_count, maximum_payments)
            },
            {
              title: fields.received,
              isNumber: true,
              cell: ({ amount_paid_decimal }) => usd(visit, amount_paid_decimal)
            },
            { title: fields.state, cell: ({ status }) => chip(tones[status], words.statuses[status]) },
            { title: fields.created, cell: ({ created_at }) => timeOf(visit, created_at) }
          ], found.data)
        }${pager(visit, found.data, found.has_more)}`
      )
    }
  })
}

const secondsPerDay = 86_400

/** The first second after a day. */
const endOfDayIn = (
  visit: Visit,
  sent: URLSearchParams,
  name: string
): Effect.Effect<number | undefined, PublicError> => {
  const text = sentText(sent, name)
  if (text === "") return Effect.succeed(undefined)
  const start = /^\d{4}-\d{2}-\d{2}$/.test(text) ? readTime(text) : undefined
  return start === undefined
    ? Effect.fail(wrongField(name, visit.texts.faults.day))
    : Effect.succeed(start + secondsPerDay)
}

export const newLink: Page = {
  path: "links/new",
  right: "invoices:write",
  route: "/api/v1/payment-links",
  render: Effect.fnUntraced(function*(visit) {
    const { texts: { links: words, sections } } = visit
    // The empty form calls nothing that would refuse.
    if (!visit.may("invoices:write")) return yield* publicError("PERMISSION_DENIED")
    return {
      title: words.newLink,
      trail: { text: sections.links, path: "links" },
      body: card(
        null,
        form(
          visit,
          "create",
          html`<div class="stack">${
            field(visit, { name: "title", label: words.title, hint: words.titleHint, required: true, maxLength: 255 })
          }${field(visit, { name: "description", label: words.description, maxLength: 255 })}${
            field(visit, { name: "amount_usd", label: words.dollars, hint: words.dollarsHint, maxLength: 12 })
          }${field(visit, { name: "minimum_amount", label: words.minimum, hint: words.boundsHint, maxLength: 12 })}${
            field(visit, { name: "maximum_amount", label: words.maximum, hint: words.boundsHint, maxLength: 12 })
          }${field(visit, { name: "maximum_payments", label: words.times, hint: words.timesHint, maxLength: 7 })}${
            field(visit, { name: "expires_at", label: words.until, hint: words.untilHint, type: "date" })
          }<div class="row end"><button class="main">${words.make}</button></div></div>`
        )
      )
    }
  }),
  actions: {
    create: Effect.fnUntraced(function*(visit, sent) {
      const description = sentText(sent, "description")
      const amount = yield* dollarsIn(visit, sent, "amount_usd")
      const minimum = yield* millisIn(visit, sent, "minimum_amount")
      const maximum = yield* millisIn(visit, sent, "maximum_amount")
      const times = yield* sentCount(visit, sent, "maximum_payments")
      const until = yield* endOfDayIn(visit, sent, "expires_at")
      const made = yield* visit.api.send<LinkRow>("POST", "/api/v1/payment-links", {
        title: sentText(sent, "title"),
        ...(description === "" ? {} : { description }),
        ...(amount === undefined ? {} : { amount_usd: amount }),
        ...(minimum === undefined ? {} : { minimum_amount: minimum }),
        ...(maximum === undefined ? {} : { maximum_amount: maximum }),
        ...(times === undefined ? {} : { maximum_payments: times }),
        ...(until === undefined ? {} : { expires_at: until })
      }, sent.get("form_key"))
      return { path: `links/${made.id}`, notice: "link_made" }
    })
  }
}

/** A link as HTML for the merchant's site. The address is ours, and holds nothing that HTML would read otherwise. */
const buttonOf = ({ texts }: Visit, { url }: LinkRow): string => `<a href="${url}">${texts.links.buttonLabel}</a>`

const setActive = (isActive: boolean) =>
  Effect.fnUntraced(function*(visit: Visit, sent: URLSearchParams) {
    const id = visit.params["id"] ?? ""
    const path = `/api/v1/payment-links/${encodeURIComponent(id)}` as const
    yield* visit.api.send("PATCH", path, { active: isActive }, sent.get("form_key"))
    return { path: `links/${encodeURIComponent(id)}`, notice: isActive ? "link_on" : "link_off" } as const
  })

export const link: Page = {
  path: "links/:id",
  right: "payments:read",
  route: "/api/v1/payment-links",
  render: Effect.fnUntraced(function*(visit) {
    const { api, params, texts: { fields, links: words, sections } } = visit
    const row = yield* api.get<LinkRow>(`/api/v1/payment-links/${encodeURIComponent(params["id"] ?? "")}`)
    const { pathname } = new URL(row.url)
    const mayTurn = visit.may("invoices:write") && (row.status === "active" || row.status === "inactive")
    const turn = row.status === "active"
      ? form(visit, "off", html`<button>${words.turnOff}</button>`)
      : form(visit, "on", html`<button class="main">${words.turnOn}</button>`)
    return {
      title: row.title,
      trail: { text: sections.links, path: "links" },
      state: chip(tones[row.status], words.statuses[row.status]),
      acts: html`<a class="button" href="${pathUrl(pathname)}">${words.openPage}</a>${mayTurn && turn}`,
      body: html`<div class="cols"><div class="stack">${
        card(
          null,
          facts([
            [words.link, html`<span class="mono wrap">${row.url}</span>`],
            [fields.amount, amountOf(visit, row)],
            [words.description, foreign(row.description)],
            [words.paid, words.paidOf(row.payment_count, row.maximum_payments)],
            [words.paying, row.open_count],
            [fields.received, usd(visit, row.amount_paid_decimal)],
            [fields.until, timeOf(visit, row.expires_at)],
            [fields.created, timeOf(visit, row.created_at)]
          ])
        )
      }${
        card(
          words.button,
          html`<p>${words.buttonText}</p><pre tabindex="0" role="region" aria-label="${words.buttonName}">${
            buttonOf(visit, row)
          }</pre>`
        )
      }</div><div class="stack">${card(words.code, qr(row.url, "M", words.codeName(row.title)))}${
        card(
          words.poster,
          html`<p>${words.posterText}</p><p class="row"><a class="button" href="${
            pathUrl(`${pathname}/poster`)
          }">A4</a><a class="button" href="${pathUrl(`${pathname}/poster?size=a6`)}">A6</a></p>`
        )
      }</div></div>`
    }
  }),
  actions: { off: setActive(false), on: setActive(true) }
}
