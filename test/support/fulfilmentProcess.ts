/**
 * A merchant's fulfilment service as a merchant would write it, from the guide alone: nothing of ours is imported. It
 * holds its orders and the keys it has seen in memory, and misbehaves where `POST /control` tells it to. Secrets come
 * from `SECRETS`, comma between; it prints its port.
 */
import { createHmac, timingSafeEqual } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

const secrets = process.env["SECRETS"]!.split(",")
const base = "/shop"

interface Order {
  readonly id: string
  readonly body: any
  readonly providerOrderId: string
  refused: boolean
  canceled: boolean
  looks: number
}

interface Fault {
  readonly kind: string
  readonly answer?: string
  readonly on?: string
  times: number
}

const orders = new Map<string, Order>()
/** Canceled before they came. */
const unwanted = new Set<string>()
/** Idempotency key -> the request it stood for. */
const keys = new Map<string, string>()
const calls: Array<{ method: string; path: string; key: string | null; status: number }> = []
let faults: Array<Fault> = []
let busy = 0

const goods: Record<string, { title: string; price: number; code?: string; most?: number }> = {
  widget: { title: "Widget", price: 9990 },
  gadget: { title: "Gadget", price: 24500 },
  gone: { title: "Gone", price: 1, code: "NO_ELIGIBLE_OFFER" },
  "sold-out": { title: "Sold out", price: 1, code: "OUT_OF_STOCK" },
  pair: { title: "At most two", price: 5000, most: 2 },
  "refuse-me": { title: "Never placed", price: 1000 },
  "busy-me": { title: "Placed in the end", price: 1000 },
  "keep-me": { title: "Never canceled", price: 1000 }
}

const equal = (one: string, other: string) =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other))

/** As the guide says: the time is near, and the newest secret, or the one before it, signs all that is sent. */
const isOurs = (request: IncomingMessage, path: string, body: string) => {
  const at = String(request.headers["x-service-timestamp"])
  if (!(Math.abs(Date.now() - Number(at)) <= 300_000)) return false
  const given = [request.headers["x-service-signature"], request.headers["x-service-signature-previous"]]
  return secrets.some((secret) => {
    const wanted = createHmac("sha256", secret).update(`${at}.${request.method}.${path}.${body}`).digest("hex")
    return given.some((one) => typeof one === "string" && equal(one, wanted))
  })
}

const quote = ({ items, zip_code }: any) => {
  const offered: Array<object> = []
  const refused: Array<object> = []
  for (const { product_id, quantity, retailer } of items) {
    const found = retailer === "amazon" || retailer === "other" ? goods[product_id] : undefined
    const code = !["amazon", "other", "walmart", "target", "ebay", "bestbuy"].includes(retailer)
      ? "UNSUPPORTED_RETAILER"
      : found === undefined
      ? "NO_ELIGIBLE_OFFER"
      : found.code ??
        (zip_code?.startsWith("99") ? "NOT_DELIVERABLE" : quantity > (found.most ?? 99) ? "QUANTITY_LIMIT" : undefined)
    if (code === undefined) {
      offered.push({ retailer, product_id, title: found!.title, image_url: null, quantity, unit_amount: found!.price })
    } else refused.push({ retailer, product_id, code, message: `We do not sell it: ${code}` })
  }
  return {
    items: offered,
    refused,
    shipping_options: [
      { id: "fast", name: "Fast", amount: 5000, estimated_days: "1" },
      { id: "standard", name: "Standard", amount: 1000, estimated_days: "5-7" }
    ],
    tax: 0,
    fees: offered.length === 0 ? 0 : 3000
  }
}

const address = ({ address }: any) => {
  const wrong = !/^\d{5}$/.test(address.zip_code.trim())
  return wrong
    ? { valid: false, fields: { zip_code: "Five digits, please" } }
    : { valid: true, address: { ...address, city: address.city.trim(), zip_code: address.zip_code.trim() } }
}

const shipment = (order: Order, delivery_status: string) => ({
  shipment_id: `parcel-${order.id}`,
  carrier: "UPS",
  tracking_number: "1Z999",
  carrier_tracking_url: "https://carrier.example/1Z999",
  delivery_status,
  retailer_tracking_number: null,
  retailer_tracking_url: null,
  obtained_at: 1_766_320_500,
  line_item_ids: order.body.items.map(({ line_item_id }: any) => line_item_id)
})

const reports = (order: Order) => {
  if (order.refused) return [{ type: "placement_failed", reason: "We never sell this" }]
  const placed = { type: "placed", provider_order_id: order.providerOrderId }
  if (order.canceled || order.looks === 0) return [placed]
  if (order.looks === 1) return [placed, { type: "shipped", shipment: shipment(order, "in_transit") }]
  return [placed, { type: "shipped", shipment: shipment(order, "delivered") }, {
    type: "delivered",
    is_confirmed: true
  }]
}

const about = (order: Order, list: ReadonlyArray<object>) => ({ order_id: order.id, reports: list })

const has = (order: Order, product: string) => order.body.items.some(({ product_id }: any) => product_id === product)

const place = (body: any): [number, object] => {
  const known = orders.get(body.order_id)
  if (known !== undefined) return [200, about(known, reports(known))]
  if (unwanted.has(body.order_id)) {
    return [200, { order_id: body.order_id, reports: [{ type: "placement_failed", reason: "You canceled it" }] }]
  }
  const order: Order = {
    id: body.order_id,
    body,
    providerOrderId: `W-${orders.size + 1}`,
    refused: false,
    canceled: false,
    looks: 0
  }
  order.refused = has(order, "refuse-me")
  if (has(order, "busy-me") && busy++ % 6 < 5) return [503, { sorry: true }]
  orders.set(order.id, order)
  return [200, about(order, reports(order))]
}

const cancel = (order: Order) => {
  if (has(order, "keep-me")) return about(order, [{ type: "cancellation_rejected", reason: "Never" }])
  if (order.looks > 0) return about(order, [{ type: "cancellation_rejected", reason: "It is on its way" }])
  order.canceled = true
  return about(order, [{ type: "cancellation_accepted" }])
}

const answer = (request: IncomingMessage, path: string, text: string): [number, object] => {
  if (!isOurs(request, path, text)) return [401, { error: "bad signature" }]
  const key = request.headers["idempotency-key"]
  if (request.method === "POST") {
    if (typeof key !== "string") return [400, { error: "no idempotency key" }]
    const before = keys.get(key)
    if (before !== undefined && before !== `${path} ${text}`) return [422, { error: "another request had this key" }]
    keys.set(key, `${path} ${text}`)
  }
  const body = text === "" ? undefined : JSON.parse(text)
  if (request.method === "POST" && path === "/quote") return [200, quote(body)]
  if (request.method === "POST" && path === "/address") return [200, address(body)]
  if (request.method === "POST" && path === "/orders") return place(body)
  const [, id, action] = /^\/orders\/([^/]+)(\/cancel)?$/.exec(path) ?? []
  if (id === undefined) return [404, { error: "no such path" }]
  const order = orders.get(id)
  if (order === undefined && action !== undefined) unwanted.add(id)
  if (order === undefined) {
    return [200, { order_id: id, reports: action === undefined ? [] : [{ type: "cancellation_accepted" }] }]
  }
  if (request.method === "POST" && action !== undefined) return [200, cancel(order)]
  order.looks++
  return [200, about(order, reports(order))]
}

const send = (response: ServerResponse, status: number, text: string, more: Record<string, string> = {}) =>
  response.writeHead(status, { "content-type": "application/json", ...more }).end(text)

/** Does wrong what the fault says; true where the answer is done with. */
const misbehave = (fault: Fault | undefined, response: ServerResponse, proper: () => [number, object]): boolean => {
  if (fault === undefined) return false
  const status = /^status (\d+)$/.exec(fault.kind)?.[1]
  if (status !== undefined) send(response, Number(status), "{}")
  else if (fault.kind === "wait long") send(response, 429, "{}", { "retry-after": "30" })
  else if (fault.kind === "redirect") send(response, 307, "", { location: `${base}/elsewhere` })
  else if (fault.kind === "cut") {
    response.writeHead(200, { "content-type": "application/json", "content-length": "900" }).write(
      "{",
      () => response.destroy()
    )
  } else if (fault.kind === "lost answer") {
    proper()
    response.destroy()
  } else if (fault.kind === "drip") {
    response.writeHead(200, { "content-type": "application/json" })
    const drip = setInterval(() => response.write(" "), 50)
    response.once("close", () => clearInterval(drip))
  } else if (fault.kind === "huge") send(response, 200, JSON.stringify({ order_id: "x".repeat(400_000) }))
  else if (fault.kind === "html") send(response, 200, "<p>hello</p>", { "content-type": "text/html" })
  else if (fault.kind === "answer") send(response, 200, fault.answer!)
  return true
}

const server = createServer((request, response) => {
  const chunks: Array<Buffer> = []
  request.on("data", (chunk) => chunks.push(chunk))
  request.on("end", () => {
    const text = Buffer.concat(chunks).toString("utf8")
    if (request.url === "/control") {
      if (request.method === "POST") faults = JSON.parse(text)
      else send(response, 200, JSON.stringify({ calls, orders: [...orders.values()], keys: [...keys.keys()] }))
      if (request.method === "POST") send(response, 200, "{}")
      return
    }
    const path = request.url!.slice(base.length)
    const key = request.headers["idempotency-key"]
    const fault = faults.find(({ on }) => on === undefined || on === path)
    if (fault !== undefined && --fault.times <= 0) faults = faults.filter((other) => other !== fault)
    const proper = () => answer(request, path, text)
    const call = { method: request.method!, path, key: typeof key === "string" ? key : null, status: 0 }
    calls.push(call)
    if (misbehave(fault, response, proper)) return
    const [status, body] = proper()
    call.status = status
    send(response, status, JSON.stringify(body))
  })
})

server.listen(0, "127.0.0.1", () => console.log(String((server.address() as AddressInfo).port)))
process.once("disconnect", () => process.exit())
