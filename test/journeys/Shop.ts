/**
 * A merchant's shop and its customer, from outside: makes invoices, and hears of them on all three channels. What each
 * channel must say is written down here anew, from modules/docs/reference/orders.md and
 * modules/docs/reference/checkout.md, and not taken from the code under test.
 */
import { assert } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { createHmac, randomUUID } from "node:crypto"
import { Webhook } from "standardwebhooks"
import { WebSocket } from "ws"
import type { ReceivedRequest, Receiver } from "../support/Receiver.ts"
import { type Service, type TestResponse, until } from "../support/Service.ts"

export interface Shop {
  readonly key: string
  /** Shown once, when the endpoint was made. */
  readonly secret: string
  readonly receiver: Receiver
  readonly hooks: string
  readonly service: Service
}

export interface Invoice {
  readonly id: string
  readonly session: Readonly<Record<"x-session-token" | "x-signature", string>>
  readonly created: any
}

/** Asserts the status of an answer and gives its body. */
export const assertStatus = (status: number, { json, status: found, text }: TestResponse): any => {
  assert.strictEqual(found, status, text)
  return json
}

/** A shop whose endpoint hears everything at `hooks` on `receiver`. */
export const openShop = Effect.fnUntraced(function*(
  service: Service,
  receiver: Receiver,
  key: string,
  hooks = `/${randomUUID()}`
) {
  const made = yield* service.call("/api/v1/webhooks", {
    headers: { "x-api-key": key },
    body: { url: receiver.url(hooks), enabled_events: ["*"] }
  })
  const shop: Shop = { key, secret: assertStatus(200, made).data.secret, receiver, hooks, service }
  return shop
})

export const newInvoice = Effect.fnUntraced(function*(shop: Shop, fields: object) {
  const made = yield* shop.service.call("/api/v1/invoices", {
    headers: { "x-api-key": shop.key, "idempotency-key": randomUUID() },
    body: fields
  })
  const body = assertStatus(200, made)
  const invoice: Invoice = { id: body.invoice_id, session: body.payment_session_headers, created: body }
  return invoice
})

export const readInvoice = (shop: Shop, id: string) =>
  Effect.map(
    shop.service.call(`/api/v1/invoices/${id}`, { headers: { "x-api-key": shop.key } }),
    (found) => assertStatus(200, found)
  )

/** The payor's reads. */
export const asPayor = (shop: Pick<Shop, "service">, invoice: Pick<Invoice, "session">, what: string) =>
  Effect.map(
    shop.service.call(`/api/v1/payments/${what}`, { headers: invoice.session }),
    (found) => assertStatus(200, found)
  )

/** The token `symbol` once it is offered: after a start its contract is read first. */
export const offeredToken = (
  shop: Pick<Shop, "service">,
  invoice: Pick<Invoice, "session">,
  symbol: string,
  network = "base"
) =>
  Effect.map(
    until(
      `${symbol} is offered on ${network}`,
      asPayor(shop, invoice, `available-tokens?mode=network&network=${network}`),
      (tokens: ReadonlyArray<any>) => tokens.some((each) => each.token_symbol === symbol)
    ),
    (tokens) => tokens.find((each) => each.token_symbol === symbol)
  )

/** The payor chooses `symbol`; answers the body of `payment-addresses`. */
export const chooseToken = Effect.fnUntraced(function*(shop: Shop, invoice: Invoice, symbol: string, network = "base") {
  const token = yield* offeredToken(shop, invoice, symbol, network)
  const shown = yield* requestAddress(shop, invoice, { network, token_id: token.id })
  return assertStatus(200, shown)
})

export const requestAddress = (shop: Shop, invoice: Invoice, body: object) =>
  shop.service.call("/api/v1/payments/payment-addresses", { headers: invoice.session, body })

/** The payor's open socket, and what came over it. */
export interface Listener {
  readonly frames: () => ReadonlyArray<any>
}

/** Listens as the payment page does, with everything that was missed so far. */
export const listen = (
  { ws_connection: { endpoint, token } }: any,
  url: string,
  since = "evt_1-1"
): Effect.Effect<Listener, never, Scope.Scope> =>
  Effect.gen(function*() {
    const frames: Array<any> = []
    const socket = yield* Effect.acquireRelease(
      Effect.sync(
        () => new WebSocket(`${url.replace(/^http/, "ws")}${endpoint}?format=event_v1&token=${token}&since=${since}`)
      ),
      (socket) => Effect.sync(() => socket.terminate())
    )
    socket.on("error", () => undefined)
    socket.on("message", (data, isBinary) => {
      assert.isFalse(isBinary)
      frames.push(JSON.parse(String(data)))
    })
    yield* until(
      "the socket has caught up",
      Effect.sync(() => frames),
      (seen) =>
        seen.some(({ type }) => type === "replay_complete") && seen.some(({ type }) => type === "payment_quote.updated")
    )
    return { frames: () => frames }
  })

/** An event's text as it stands in the API's answer to a single event. */
const storedText = (shop: Shop, id: string) =>
  Effect.map(shop.service.call(`/api/v1/events/${id}`, { headers: { "x-api-key": shop.key } }), (found) => {
    assertStatus(200, found)
    const before = "{\"success\":true,\"data\":"
    assert.isTrue(found.text.startsWith(before) && found.text.endsWith("}"))
    return found.text.slice(before.length, -1)
  })

/** The invoice's events, oldest first, as the list tells them. */
export const eventsOf = (shop: Shop, invoiceId: string) =>
  Effect.map(
    shop.service.call(`/api/v1/events?invoice_id=${invoiceId}&limit=100`, { headers: { "x-api-key": shop.key } }),
    (found): ReadonlyArray<any> => assertStatus(200, found).data.data.toReversed()
  )

const withoutCount = (text: string) => text.replace(/"pending_webhooks":\d+,/, "\"pending_webhooks\":_,")

const numbersOf = (id: string) => /^evt_(\d+)-(\d+)$/.exec(id)!.slice(1).map(BigInt) as [bigint, bigint]

const isAfter = (left: string, right: string) => {
  const [a, b] = [numbersOf(left), numbersOf(right)]
  return a[0] > b[0] || (a[0] === b[0] && a[1] > b[1])
}

/** Checks both signature schemes with nothing of the service's own: a public library, and five lines of node:crypto. */
export const verifySignatures = ({ body, headers }: ReceivedRequest, secret: string) => {
  const text = body.toString("utf8")
  const library = new Webhook(secret)
  assert.deepStrictEqual(library.verify(text, headers as Record<string, string>), JSON.parse(text))
  assert.throws(
    () => library.verify(text.replace("\"livemode\":false", "\"livemode\":true"), headers as Record<string, string>)
  )
  const mac = createHmac("sha256", secret).update(`${headers["x-service-timestamp"]}.${text}`).digest("hex")
  assert.strictEqual(headers["x-service-signature"], mac)
  assert.strictEqual(headers["x-service-event-id"], JSON.parse(text).id)
  assert.strictEqual(headers["x-service-event"], JSON.parse(text).type)
}

const settlementFields = [
  "settlement_status",
  "settled_amount",
  "settled_amount_decimal",
  "balance_transaction_id",
  "settled_at",
  "settlement"
]

const without = (object: Readonly<Record<string, unknown>>, names: ReadonlyArray<string>) =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)))

/** What the payor may read of a merchant's event (modules/docs/reference/events.md#what-a-payor-hears). */
const payorView = (event: any) => {
  const { object, previous_attributes: previous } = event.data
  const hidden = ["customer_id", "metadata", ...object.object === "invoice" ? [] : settlementFields]
  return {
    ...event,
    pending_webhooks: 0,
    request: { id: null, idempotency_key: null },
    data: {
      object: object.object === "invoice"
        ? { ...object, customer_id: null, metadata: {} }
        : { ...without(object, settlementFields), customer_id: null, metadata: {} },
      previous_attributes: without(previous, hidden)
    }
  }
}

/** Whether a payor sees anything of what a merchant's event tells. */
const isShownToPayor = ({ data: { object, previous_attributes: previous } }: any) => {
  const hidden = ["customer_id", "metadata", ...object.object === "invoice" ? [] : settlementFields]
  return Object.keys(previous).length === 0 || Object.keys(without(previous, hidden)).length > 0
}

/** The snapshot before an event; of the first event there is none. */
const snapshotBefore = ({ data }: any) => ({ ...data.object, ...data.previous_attributes })

/** Each object's history is one chain: an event's previous attributes lead back to the event before it. */
const assertChained = (events: ReadonlyArray<any>, moved: ReadonlyArray<string>) => {
  const latest = new Map<string, any>()
  let change = ""
  for (const event of events) {
    const { object } = event.data
    const before = latest.get(object.id)
    // Events of one change share their previous attributes, and only the first of them moves the snapshot.
    const sameChange = change === `${object.id}${JSON.stringify(object)}`
    if (before !== undefined && !sameChange) {
      assert.deepStrictEqual(without(snapshotBefore(event), moved), without(before, moved), event.id)
    }
    change = `${object.id}${JSON.stringify(object)}`
    latest.set(object.id, object)
  }
}

export interface EventHistory {
  /** Every event of the invoice, oldest first. */
  readonly events: ReadonlyArray<any>
  readonly last: any
}

/**
 * Waits until exactly `types` were told of an invoice, oldest first, and checks that the events API, the webhook and
 * the payor's socket agree on every one of them. `moved` names fields the test itself changed behind the service's
 * back.
 */
export const assertEvents = Effect.fnUntraced(function*(
  shop: Shop,
  invoice: Invoice,
  listener: Listener,
  types: ReadonlyArray<string>,
  moved: ReadonlyArray<string> = []
) {
  const events = yield* until("the events", eventsOf(shop, invoice.id), (found) => found.length >= types.length)
  assert.deepStrictEqual(events.map(({ type }) => type), [...types])
  for (const [place, event] of events.entries()) {
    if (place > 0) assert.isTrue(isAfter(event.id, events[place - 1].id), `${event.id} after ${events[place - 1].id}`)
  }
  assertChained(events, moved)

  const ofInvoice = Effect.sync(() =>
    shop.receiver.arrivals(shop.hooks).filter((arrival) =>
      events.some(({ id }) => id === arrival.headers["webhook-id"])
    )
  )
  const arrivals = yield* until("the webhooks", ofInvoice, (found) => found.length >= events.length)
  assert.strictEqual(arrivals.length, events.length, "each event is delivered once")
  for (const event of events) {
    const arrival = arrivals.find(({ headers }) => headers["webhook-id"] === event.id)!
    verifySignatures(arrival, shop.secret)
    assert.strictEqual(withoutCount(arrival.body.toString("utf8")), withoutCount(yield* storedText(shop, event.id)))
    assert.strictEqual(JSON.parse(arrival.body.toString("utf8")).pending_webhooks, 1)
  }

  const frames = Effect.sync(() =>
    listener.frames().filter((frame) => frame.object === "event" && frame.type !== "payment_quote.updated")
  )
  const heard = yield* until("the socket", frames, (found) => found.length >= events.length)
  assert.deepStrictEqual(heard, events.filter(isShownToPayor).map(payorView))
  const answer: EventHistory = { events, last: events.at(-1) }
  return answer
})

/** Types of a transfer that is confirmed, in the order they are told, then what it does to the invoice. */
export const transferTypes = (...invoice: ReadonlyArray<string>) => [
  "invoice_payment.created",
  "invoice_payment.updated",
  ...invoice.length === 0 ? [] : ["invoice.updated"],
  ...invoice
]
