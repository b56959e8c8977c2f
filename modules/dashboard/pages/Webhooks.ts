/** Whether the shop heard it, and if not, why: endpoints, and the deliveries of one. */
import { Effect } from "effect"
import { type Html, html } from "../../../runtime/pages/Html.ts"
import {
  DeliveryStatus,
  type WebhookAttempt,
  type WebhookDelivery,
  type WebhookEndpoint
} from "../../../schemas/Webhook.ts"
import type { List } from "../service.ts"
import {
  apiText,
  card,
  chip,
  type Column,
  cursorOf,
  facts,
  field,
  foreign,
  form,
  pager,
  secretScreen,
  select,
  shortId,
  table,
  timeOf,
  type Tone
} from "./Elements.ts"
import type { OneTimeScreen, Page, Visit } from "./Page.ts"

type Endpoint = typeof WebhookEndpoint.Encoded
type Delivery = typeof WebhookDelivery.Encoded & {
  readonly attempts?: ReadonlyArray<typeof WebhookAttempt.Encoded>
}

const pageSize = 25

const toneOf = ({ status }: Pick<Delivery, "status">): Tone =>
  status === "succeeded" ? "good" : status === "failed" ? "bad" : status === "retrying" ? "warn" : "plain"

const statusOf = (visit: Visit, { disabled_reason: reason, status }: Endpoint): Html =>
  html`${chip(status === "enabled" ? "good" : "bad", visit.texts.webhooks.endpointStates[status])} ${foreign(reason)}`

export const webhooks: Page = {
  path: "webhooks",
  right: "webhooks:read",
  route: "/api/v1/webhooks",
  render: Effect.fnUntraced(function*(visit) {
    const { api, texts: { sections, webhooks: words } } = visit
    const found = yield* api.get<List<Endpoint>>("/api/v1/webhooks", { limit: 20 })
    return {
      title: sections.webhooks,
      body: html`${
        card(
          null,
          found.data.length === 0 ? html`<p>${words.none}</p>` : table(sections.webhooks, [
            {
              title: words.url,
              cell: ({ id, url }) => html`<a href="${visit.at(`webhooks/${id}`)}"><bdi>${url}</bdi></a>`
            },
            { title: words.events, cell: ({ enabled_events: types }) => types.join(", ") },
            { title: visit.texts.fields.state, cell: (endpoint) => statusOf(visit, endpoint) }
          ], found.data)
        )
      }${
        visit.may("webhooks:write") && card(
          words.add,
          form(
            visit,
            "create",
            html`<div class="stack">${
              field(visit, { name: "url", label: words.url, required: true, maxLength: 2_000, hint: words.urlHint })
            }${
              field(visit, {
                name: "enabled_events",
                label: words.events,
                value: "invoice.*",
                required: true,
                maxLength: 2_000
              })
            }${field(visit, { name: "description", label: words.description, maxLength: 255 })}
            <div class="row end"><button class="main">${words.add}</button></div></div>`
          )
        )
      }`
    }
  }),
  actions: {
    create: Effect.fnUntraced(function*(visit, sent) {
      const { webhooks: words } = visit.texts
      const made = yield* visit.api.send<Endpoint & { readonly secret: string }>("POST", "/api/v1/webhooks", {
        url: (sent.get("url") ?? "").trim(),
        enabled_events: (sent.get("enabled_events") ?? "").split(",").map((type) => type.trim()),
        description: sent.get("description") ?? ""
      }, sent.get("form_key"))
      return endpointSecret(visit, words.added, made.id, made.secret)
    })
  }
}

const endpointSecret = (visit: Visit, title: string, id: string, secret: string): OneTimeScreen => ({
  screen: secretScreen(visit, {
    title,
    trail: { text: visit.texts.sections.webhooks, path: "webhooks" },
    text: visit.texts.webhooks.secretText,
    secret,
    back: `webhooks/${id}`
  })
})

const deliveryColumns = (visit: Visit): ReadonlyArray<Column<Delivery>> => {
  const { fields, webhooks: words } = visit.texts
  return [
    { title: fields.time, cell: ({ created_at }) => timeOf(visit, created_at) },
    { title: words.event, cell: ({ event_type }) => event_type },
    {
      title: fields.number,
      cell: ({ endpoint_id, id }) =>
        html`<a class="mono" href="${visit.at(`webhooks/${endpoint_id}`, { open: id })}">${shortId(id)}</a>`
    },
    { title: words.answer, isNumber: true, cell: ({ response_status }) => response_status },
    { title: words.millis, isNumber: true, cell: ({ latency_ms }) => latency_ms },
    { title: words.tries, isNumber: true, cell: ({ attempt_count }) => attempt_count },
    {
      title: fields.state,
      cell: (delivery) => chip(toneOf(delivery), words.deliveryStates[delivery.status])
    }
  ]
}

const deliveryCard = (visit: Visit, delivery: Delivery): Html => {
  const { fields, webhooks: words } = visit.texts
  return card(
    `${delivery.event_type} ${shortId(delivery.id)}`,
    html`${
      facts([
        [words.event, html`<span class="mono wrap">${delivery.event_id}</span>`],
        [fields.created, timeOf(visit, delivery.created_at)],
        [words.nextTry, timeOf(visit, delivery.next_attempt_at)],
        [fields.state, chip(toneOf(delivery), words.deliveryStates[delivery.status])]
      ])
    }${
      (delivery.attempts ?? []).map(({ ended_at, error, latency_ms, number, response_body, response_status }) =>
        html`<h3>${words.attempt(number)}</h3>${
          facts([
            [fields.time, timeOf(visit, ended_at)],
            [words.answer, response_status],
            [words.millis, latency_ms],
            [words.error, apiText(error)]
          ])
        }${response_body !== null && html`<pre tabindex="0">${response_body}</pre>`}`
      )
    }${
      visit.may("webhooks:write")
      && form(
        visit,
        "redeliver",
        html`<input type="hidden" name="delivery" value="${delivery.id}"><button class="main">${words.sendAgain}</button>`
      )
    }`
  )
}

const endpointPath = ({ params }: Visit, rest = "") =>
  `/api/v1/webhooks/${encodeURIComponent(params["id"] ?? "")}${rest}` as const

export const webhook: Page = {
  path: "webhooks/:id",
  right: "webhooks:read",
  route: "/api/v1/webhooks",
  render: Effect.fnUntraced(function*(visit) {
    const { api, query, texts: { fields, lists, sections, webhooks: words } } = visit
    const status = query.get("status") ?? ""
    const open = query.get("open")
    const endpoint = yield* api.get<Endpoint>(endpointPath(visit))
    const found = yield* api.get<List<Delivery>>(endpointPath(visit, "/deliveries"), {
      limit: pageSize,
      status,
      ...cursorOf(visit)
    })
    const shown = open === null
      ? null
      : yield* api.get<Delivery>(`/api/v1/webhooks/deliveries/${encodeURIComponent(open)}`)
    const options = [
      { value: "", label: lists.all },
      ...DeliveryStatus.literals.map((value) => ({ value, label: words.deliveryStates[value] }))
    ]
    const button = (action: string, text: string) => form(visit, action, html`<button>${text}</button>`)
    return {
      title: endpoint.url,
      trail: { text: sections.webhooks, path: "webhooks" },
      state: statusOf(visit, endpoint),
      acts: visit.may("webhooks:write")
        && html`${button("test", words.sendExample)}${button("rotate", words.rotate)}${
          endpoint.status === "enabled" ? button("disable", words.disable) : button("enable", words.enable)
        }`,
      body: html`${
        card(
          null,
          facts([[words.events, endpoint.enabled_events.join(", ")], [
            words.description,
            foreign(endpoint.description)
          ]])
        )
      }<form class="filters">${
        select({ name: "status", label: fields.state, options, value: status })
      }<button>${lists.filter}</button></form>
      <div class="cols wide">${
        card(
          words.deliveries,
          found.data.length === 0
            ? html`<p>${lists.nothing}</p>`
            : html`${table(words.deliveries, deliveryColumns(visit), found.data)}${
              pager(visit, found.data, found.has_more)
            }`
        )
      }${shown !== null && deliveryCard(visit, shown)}</div>`
    }
  }),
  actions: {
    redeliver: Effect.fnUntraced(function*(visit, sent) {
      const id = encodeURIComponent(sent.get("delivery") ?? "")
      yield* visit.api.send("POST", `/api/v1/webhooks/deliveries/${id}/redeliver`, undefined, sent.get("form_key"))
      return { path: `webhooks/${visit.params["id"]}`, notice: "delivery_sent" }
    }),
    test: Effect.fnUntraced(function*(visit, sent) {
      yield* visit.api.send("POST", endpointPath(visit, "/test"), undefined, sent.get("form_key"))
      return { path: `webhooks/${visit.params["id"]}`, notice: "delivery_sent" }
    }),
    rotate: Effect.fnUntraced(function*(visit, sent) {
      const made = yield* visit.api.send<{ readonly secret: string }>(
        "POST",
        endpointPath(visit, "/rotate-secret"),
        { overlap_seconds: secretOverlapSeconds },
        sent.get("form_key")
      )
      return endpointSecret(visit, visit.texts.webhooks.rotated, visit.params["id"] ?? "", made.secret)
    }),
    disable: Effect.fnUntraced(function*(visit, sent) {
      yield* visit.api.send("PATCH", endpointPath(visit), { status: "disabled" }, sent.get("form_key"))
      return { path: `webhooks/${visit.params["id"]}`, notice: "saved" }
    }),
    enable: Effect.fnUntraced(function*(visit, sent) {
      yield* visit.api.send("PATCH", endpointPath(visit), { status: "enabled" }, sent.get("form_key"))
      return { path: `webhooks/${visit.params["id"]}`, notice: "saved" }
    })
  }
}

/** Seconds for which a receiver may still check signatures by the secret before: a day, to change it everywhere. */
const secretOverlapSeconds = 86_400
