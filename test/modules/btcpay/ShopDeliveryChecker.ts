/**
 * Checks whether shops got the webhooks of their invoices as modules/docs/reference/btcpay.md#webhooks promises, by
 * three records: of the client that changed the invoices, of the database, and of the receivers. Pure, so that a test
 * can spoil a history by hand and see the check fail.
 */
import { createHmac } from "node:crypto"

/** One request to a receiver. Times are milliseconds of the epoch, with their fraction. */
export interface ShopArrival {
  readonly path: string
  /** The bytes as they came. */
  readonly body: Buffer
  readonly headers: Readonly<Record<string, string>>
  readonly startedAt: number
  /** When the answer was given, or the connection reset; null: none was given. */
  readonly answeredAt: number | null
  /** When the exchange was over on both sides; null: it still lasts. */
  readonly endedAt: number | null
  /** Null: none was answered. */
  readonly status: number | null
  readonly retryAfterSeconds: number
}

export interface ShopEndpoint {
  readonly id: string
  readonly path: string
  readonly secret: string
  /** Null: everything. */
  readonly types: ReadonlyArray<string> | null
  readonly attemptLimit: number
}

/** What the client knows that a shop has to be told of one invoice, in order, each with the metadata of that moment. */
export interface ExpectedInvoice {
  readonly invoiceId: string
  readonly webhooks: ReadonlyArray<{ readonly type: string; readonly metadata: unknown }>
}

/** A delivery as the database has it, in the order of commits, with the text that its commit froze. */
export interface ShopDeliveryRow {
  readonly id: string
  readonly endpointId: string
  readonly status: string
  readonly attempt: number
  readonly data: string
}

/** The time in which an instance was killed and its sockets closed. */
export interface ShopOutage {
  readonly at: number
  readonly until: number
}

export interface ShopHistory {
  readonly endpoints: ReadonlyArray<ShopEndpoint>
  readonly invoices: ReadonlyArray<ExpectedInvoice>
  readonly rows: ReadonlyArray<ShopDeliveryRow>
  readonly arrivals: ReadonlyArray<ShopArrival>
  readonly outages: ReadonlyArray<ShopOutage>
  /** Milliseconds before the first retry, and what each further one is multiplied by. */
  readonly baseMillis: number
  readonly factor: number
}

export interface ShopCheckResult {
  /** Every promise that was broken, one line each, which begins with the name of the promise. */
  readonly faults: ReadonlyArray<string>
  readonly deliveries: number
  readonly arrivals: number
  /** Attempts after the first. */
  readonly redeliveries: number
  /** Arrivals of an attempt that had arrived before. Only an outage may cause one. */
  readonly repeats: number
  /** Given up after all attempts. */
  readonly exhausted: number
}

/** Retries come within 20 % of their time (modules/docs/reference/webhooks.md#retries). */
const jitter = 0.2

/** Milliseconds by which clocks of two processes on one machine may differ and a timer may fire early. */
const clockSlackMillis = 5

/** An arrival with what its body says of itself. */
interface ReadArrival extends ShopArrival {
  readonly deliveryId: string
  readonly webhookId: string
  readonly originalDeliveryId: string
  readonly isRedelivery: boolean
  /** From 1, as the delivery's id says it. */
  readonly attempt: number
  /** The text behind the fields that differ from attempt to attempt. */
  readonly frozen: string
  readonly invoiceId: string
  readonly type: string
  readonly metadata: unknown
}

const attemptFields =
  /^\{"deliveryId":"[^"]+","webhookId":"[^"]+","originalDeliveryId":"[^"]+","isRedelivery":(?:true|false),/

const attemptOf = (deliveryId: string, original: string): number => {
  if (deliveryId === original) return 1
  const [, n] = /^\.([1-9]\d*)$/.exec(deliveryId.startsWith(original) ? deliveryId.slice(original.length) : "") ?? []
  return n === undefined ? Number.NaN : Number(n)
}

const read = (arrival: ShopArrival): ReadArrival => {
  const text = arrival.body.toString("utf8")
  const body = JSON.parse(text)
  const [own = ""] = attemptFields.exec(text) ?? []
  return {
    ...arrival,
    ...body,
    attempt: attemptOf(body.deliveryId, body.originalDeliveryId),
    frozen: `{${text.slice(own.length)}`
  }
}

const isAccepted = ({ status }: ShopArrival): boolean => status !== null && status >= 200 && status < 300

/** When the sender knew how the attempt ended; null: it does not know yet. */
const endKnownAt = ({ answeredAt, endedAt }: ShopArrival): number | null => answeredAt ?? endedAt

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/** What is wrong with one request, whatever came before it. */
const faultsOfArrival = (arrival: ReadArrival, { id, secret }: ShopEndpoint): ReadonlyArray<string> => {
  const { attempt, body, headers, isRedelivery, webhookId } = arrival
  const faults: Array<string> = []
  const expected = `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`
  if (headers["btcpay-sig"] !== expected) faults.push("signature: is not the HMAC of the bytes that came")
  const foreign = Object.keys(headers).filter((name) => /^(?:x-service|webhook)-/.test(name))
  if (foreign.length > 0) faults.push(`signature: has headers of another format: ${foreign.join()}`)
  if (webhookId !== id) faults.push(`ids: names the webhook ${webhookId}`)
  if (Number.isNaN(attempt)) faults.push(`ids: ${arrival.deliveryId} is no attempt of ${arrival.originalDeliveryId}`)
  if (isRedelivery !== attempt > 1) faults.push(`redelivery: attempt ${attempt} says isRedelivery ${isRedelivery}`)
  return faults
}

/** What is wrong with two requests to one endpoint, the second the next after the first. */
const faultsOfNext = (
  before: ReadArrival,
  after: ReadArrival,
  { attemptLimit }: ShopEndpoint,
  { baseMillis, outages, factor }: ShopHistory
): ReadonlyArray<string> => {
  const known = endKnownAt(before)
  if (known === null || after.startedAt < known) return ["one at a time: began while the one before was on its way"]
  if (before.originalDeliveryId !== after.originalDeliveryId) {
    const faults: Array<string> = []
    if (!isAccepted(before) && before.attempt < attemptLimit) {
      faults.push(`order: came while attempt ${before.attempt} of the one before had failed`)
    }
    if (after.attempt !== 1) faults.push(`attempts: begins with attempt ${after.attempt}`)
    return faults
  }
  if (after.attempt === before.attempt) {
    const isBroken = outages.some(({ at, until }) => at <= after.startedAt && until >= before.startedAt)
    return isBroken ? [] : [`attempts: attempt ${after.attempt} came twice, and nothing was broken between`]
  }
  if (after.attempt !== before.attempt + 1) return [`attempts: ${after.attempt} came after ${before.attempt}`]
  if (isAccepted(before)) return ["attempts: came again though it was taken"]
  const pause = Math.max(
    baseMillis * factor ** (before.attempt - 1) * (1 - jitter),
    before.retryAfterSeconds * 1_000
  )
  return after.startedAt - known < pause - clockSlackMillis
    ? [`pace: came again after ${Math.round(after.startedAt - known)} ms in place of ${Math.round(pause)}`]
    : []
}

/** What is wrong with what an endpoint got, against what the database says that it was sent. */
const faultsOfRows = (
  arrivals: ReadonlyArray<ReadArrival>,
  rows: ReadonlyArray<ShopDeliveryRow>,
  { attemptLimit }: ShopEndpoint
): ReadonlyArray<string> => {
  const byDelivery = Map.groupBy(arrivals, ({ originalDeliveryId }) => originalDeliveryId)
  const inOrder = [...byDelivery.keys()]
  const faults: Array<string> = []
  const wrong = rows.findIndex(({ id }, index) => id !== inOrder[index])
  if (wrong !== -1) faults.push(`order: ${inOrder[wrong]} came in place of ${rows[wrong]!.id}`)
  if (inOrder.length > rows.length) faults.push(`order: ${inOrder.length} deliveries came of ${rows.length}`)
  for (const { attempt, data, id, status } of rows) {
    const own = byDelivery.get(id) ?? []
    const last = own.at(-1)
    if (last === undefined) {
      faults.push(`outcomes: ${id} never came`)
      continue
    }
    if (own.some(({ frozen }) => frozen !== data)) faults.push(`frozen: ${id} differs from what its commit stored`)
    const expected = isAccepted(last) ? "succeeded" : "failed"
    if (status !== expected) faults.push(`outcomes: ${id} is ${status} and not ${expected}`)
    if (!isAccepted(last) && last.attempt !== attemptLimit) faults.push(`outcomes: ${id} ended after ${last.attempt}`)
    if (attempt !== last.attempt) faults.push(`outcomes: ${id} has ${attempt} attempts, ${last.attempt} came`)
  }
  return faults
}

/** What is wrong with the webhooks of each invoice, against what the client did to it. */
const faultsOfInvoices = (
  arrivals: ReadonlyArray<ReadArrival>,
  invoices: ReadonlyArray<ExpectedInvoice>,
  { types }: ShopEndpoint
): ReadonlyArray<string> => {
  const first = new Map(arrivals.map((arrival) => [arrival.originalDeliveryId, arrival]))
  const byInvoice = Map.groupBy(first.values(), ({ invoiceId }) => invoiceId)
  const known = new Set(invoices.map(({ invoiceId }) => invoiceId))
  const stray = [...byInvoice.keys()].filter((id) => !known.has(id))
  return [
    ...stray.map((id) => `webhooks: heard of ${id}, which nobody made`),
    ...invoices.flatMap(({ invoiceId, webhooks }) => {
      const wanted = webhooks.filter(({ type }) => types === null || types.includes(type))
      const told = (byInvoice.get(invoiceId) ?? []).map(({ metadata, type }) => ({ type, metadata }))
      return same(told, wanted)
        ? []
        : [`webhooks: heard ${JSON.stringify(told)} of ${invoiceId} in place of ${JSON.stringify(wanted)}`]
    })
  ]
}

/** Checks a history that is over: nothing waits any more. */
export const checkShopDeliveries = (history: ShopHistory): ShopCheckResult => {
  const { arrivals, endpoints, invoices, rows } = history
  const faults: Array<string> = []
  let repeats = 0
  const paths = new Set(endpoints.map(({ path }) => path))
  for (const { path } of arrivals.filter(({ path }) => !paths.has(path))) {
    faults.push(`redirects: ${path} was asked, which is no endpoint's`)
  }
  for (const endpoint of endpoints) {
    const own = arrivals.filter(({ path }) => path === endpoint.path)
      .toSorted((a, b) => a.startedAt - b.startedAt)
      .map(read)
    const say = (found: ReadonlyArray<string>, where = "") =>
      faults.push(...found.map((fault) => `${fault} (${endpoint.path}${where})`))
    own.forEach((arrival, index) => {
      const where = ` ${arrival.type} ${arrival.deliveryId}`
      say(faultsOfArrival(arrival, endpoint), where)
      const before = own[index - 1]
      if (before === undefined) return
      say(faultsOfNext(before, arrival, endpoint, history), where)
      if (before.deliveryId === arrival.deliveryId) repeats++
    })
    say(faultsOfRows(own, rows.filter(({ endpointId }) => endpointId === endpoint.id), endpoint))
    say(faultsOfInvoices(own, invoices, endpoint))
  }
  const known = arrivals.filter(({ path }) => paths.has(path)).map(read)
  return {
    faults,
    deliveries: rows.length,
    arrivals: arrivals.length,
    redeliveries: known.filter(({ attempt }) => attempt > 1).length,
    repeats,
    exhausted: rows.filter(({ status }) => status === "failed").length
  }
}
