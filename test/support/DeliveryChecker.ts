/**
 * Judges deliveries by what everybody saw: the rows, the events of the API, and the receivers. Pure, so that a history
 * can be spoiled by hand and the judge be seen to notice.
 */
import { attemptTimeoutMillis } from "../../runtime/webhooks/Deliverer.ts"
import type { WireEvent } from "./Crash.ts"
import type { ReceivedDelivery, ReceiverKind, ReceiverRecords } from "./Receivers.ts"

export interface Endpoint {
  readonly id: string
  readonly merchantId: number
  readonly kind: ReceiverKind
  readonly path: string
  readonly filters: ReadonlyArray<string>
  /** Its breaker is open, or half open. */
  readonly open: boolean
}

export interface DeliveryRow {
  readonly id: string
  readonly merchantId: number
  readonly endpointId: string
  readonly eventId: string
  readonly status: string
  readonly attempt: number
}

/** A moment at which an instance was taken from its work. Milliseconds of the epoch. */
export interface Break {
  readonly what: "kill" | "pause" | "stop"
  readonly at: number
  readonly until: number
}

export interface History {
  readonly events: ReadonlyMap<number, ReadonlyArray<WireEvent>>
  readonly endpoints: ReadonlyArray<Endpoint>
  readonly rows: ReadonlyArray<DeliveryRow>
  /** Numbers of the attempts kept for each delivery. */
  readonly attempts: ReadonlyMap<string, ReadonlyArray<number>>
  readonly seen: ReceiverRecords
  readonly breaks: ReadonlyArray<Break>
  readonly baseMillis: number
  readonly factor: number
  /** How many times slower this machine is than the one whose times are known here; 1 at least. */
  readonly slowness: number
}

export interface CheckResult {
  /** Every promise that was broken, one line each. */
  readonly faults: ReadonlyArray<string>
  readonly delivered: number
  readonly exhausted: number
  readonly canceled: number
  /** Behind an open breaker. */
  readonly waiting: number
  readonly arrivals: number
  /** Arrivals of an attempt that had arrived before. */
  readonly repeats: number
  /** Retries held against the schedule. */
  readonly retries: number
  /** Milliseconds from commit to first arrival at healthy endpoints, before anything was broken. */
  readonly p50: number
  readonly p99: number
}

/** Attempts that a delivery has (modules/docs/reference/webhooks.md#retries). */
const maximumAttempts = 4

/**
 * In flight for one endpoint over all instances, and for one instance (modules/docs/reference/webhooks.md#in-flight).
 */
const maximumPerEndpoint = 4
const maximumInFlight = 64 + 512

/** Retries come within 20 % of their time (modules/docs/reference/webhooks.md#retries). */
const jitter = 0.2

/** What nine retries of ten may be late at most: the scan that finds them each second, and a busy machine. */
const lateMillis = 1_500

/** What two clocks of one machine may differ, and a socket's close may lag. */
const clockMillis = 30

/** At the 99th percentile, whoever else is dead. */
const healthyMillis = 2_000

/** Kinds that take what they are sent, at once or in the end. */
const taking: ReadonlySet<ReceiverKind> = new Set(["healthy", "slow", "flaky"])

const waitingStatuses: ReadonlySet<string> = new Set(["pending", "retrying", "delivering"])

/** The filters of the reference, read once more by somebody else: `*` but for exceptions, `prefix.*`, or the type. */
const selects = (filters: ReadonlyArray<string>, type: string): boolean =>
  filters.some((filter) =>
    filter === "*" && !type.startsWith("exception.") || filter === type ||
    filter.endsWith(".*") && type.startsWith(filter.slice(0, -1))
  )

const pending = /"pending_webhooks":(\d+)/
const withoutPending = (text: string) => text.replace(pending, "")

const quantile = (values: ReadonlyArray<number>, share: number) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? 0

/** The moments within which `from` and `to` lie on two sides of a break. */
const between = (breaks: ReadonlyArray<Break>, from: number, to: number, ...whats: ReadonlyArray<Break["what"]>) =>
  breaks.some(({ at, until, what }) => whats.includes(what) && from <= until + clockMillis && to >= at - clockMillis)

/** Deliveries: every event has exactly one row for each endpoint that wants it, and its text names their number. */
const queued = ({ endpoints, events, rows, seen }: History): ReadonlyArray<string> => {
  const faults: Array<string> = []
  const counts = new Map<string, number>()
  for (const { endpointId, eventId } of rows) {
    const key = `${eventId} ${endpointId}`
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  let expected = 0
  for (const [merchantId, told] of events) {
    const own = endpoints.filter((endpoint) => endpoint.merchantId === merchantId)
    const ended = new Set<string>()
    for (const { id, type } of told) {
      let targets = 0
      for (const endpoint of own.filter(({ filters }) => selects(filters, type))) {
        const count = counts.get(`${id} ${endpoint.id}`) ?? 0
        // An endpoint that answered 410 is disabled from some commit on, and stays so.
        if (endpoint.kind === "gone" && count === 0) {
          ended.add(endpoint.id)
          continue
        }
        if (ended.has(endpoint.id)) {
          faults.push(`deliveries ${id}: queued for ${endpoint.id}, which was disabled before`)
        }
        if (count !== 1) faults.push(`deliveries ${id}: ${count} deliveries to ${endpoint.kind} ${endpoint.id}`)
        targets++
        expected += count
      }
      const body = seen.bodies.get(id)
      const told = body === undefined ? undefined : Number(pending.exec(body)?.[1])
      if (told !== undefined && told !== targets) {
        faults.push(`deliveries ${id}: pending_webhooks ${told}, endpoints ${targets}`)
      }
    }
  }
  if (rows.length !== expected) faults.push(`deliveries ${rows.length - expected} deliveries that nobody wants`)
  return faults
}

/**
 * Outcomes: delivered, or failed after exactly four attempts, or waiting behind an open breaker, or canceled by a 410.
 */
const ended = (
  history: History,
  arrivalsOf: (row: DeliveryRow) => ReadonlyArray<ReceivedDelivery>
): ReadonlyArray<string> => {
  const endpoints = new Map(history.endpoints.map((endpoint) => [endpoint.id, endpoint]))
  return history.rows.flatMap((row) => {
    const { kind, open } = endpoints.get(row.endpointId)!
    const name = `outcomes ${row.id} to ${kind}: ${row.status}`
    const seen = arrivalsOf(row)
    const kept = history.attempts.get(row.id) ?? []
    if (kept.length !== row.attempt || kept.some((attempt, at) => attempt !== at + 1)) {
      return [`${name} after ${row.attempt} attempts, kept are ${kept.join(", ") || "none"}`]
    }
    if (row.status === "succeeded") {
      const taken = taking.has(kind) && seen.some(({ status }) => status !== null && status >= 200 && status < 300)
      return taken ? [] : [`${name}, and nobody took it`]
    }
    if (row.status === "failed" && kind === "gone") return []
    if (row.status === "failed") {
      const numbers = new Set(seen.map(({ attempt }) => attempt))
      const real = kind === "dead" || numbers.size === maximumAttempts
      return !taking.has(kind) && row.attempt === maximumAttempts && real
        ? []
        : [`${name} after ${row.attempt} attempts, ${numbers.size} of them seen`]
    }
    if (row.status === "canceled") return kind === "gone" ? [] : [`${name}, and its endpoint is not gone`]
    if (!waitingStatuses.has(row.status)) return [name]
    return open ? [] : [`${name} after ${row.attempt} attempts, no breaker is open`]
  })
}

/** Bodies and texts: one text for all attempts, that of the API but for `pending_webhooks`, signed afresh each time. */
const signed = ({ breaks, endpoints, events, rows, seen }: History): ReadonlyArray<string> => {
  const known = new Map(rows.map((row) => [row.id, row]))
  const paths = new Map(endpoints.map(({ id, path }) => [id, path]))
  const texts = new Map([...events.values()].flat().map((event) => [event.id, JSON.stringify(event)]))
  const hashes = new Map<string, string>()
  const faults: Array<string> = []
  for (const { deliveryId, eventId, hash, objection, path, startedAt } of seen.arrivals) {
    const name = `${deliveryId} at ${path}`
    const row = known.get(deliveryId)
    if (row === undefined || row.eventId !== eventId || paths.get(row.endpointId) !== path) {
      faults.push(`bodies ${name}: ${eventId} is not what its row says`)
    }
    // An instance that was stopped after it had signed sends when it goes on.
    const late = objection.startsWith("signed") && between(breaks, startedAt, startedAt, "pause")
    if (objection !== "" && !late) faults.push(`bodies ${name}: ${objection}`)
    if ((hashes.get(eventId) ?? hash) !== hash) faults.push(`bodies ${name}: the body is not that of the first attempt`)
    hashes.set(eventId, hash)
  }
  for (const [id, body] of seen.bodies) {
    const text = texts.get(id)
    if (text === undefined) faults.push(`texts ${id} was delivered and is not in the list`)
    else if (withoutPending(text) !== withoutPending(body)) faults.push(`texts ${id}: the API tells it otherwise`)
  }
  if (seen.followed > 0) faults.push(`${seen.followed} redirects were followed`)
  return faults
}

/** Repeats: an attempt arrives once, but where its instance was taken away before it could write the answer down. */
const repeated = (
  breaks: ReadonlyArray<Break>,
  pairs: ReadonlyArray<readonly [ReceivedDelivery, ReceivedDelivery]>
) => {
  const repeats = pairs.filter(([a, b]) => b.attempt <= a.attempt)
  const faults = repeats.filter(([a, b]) =>
    !between(breaks, a.startedAt, b.startedAt, "kill", "pause") &&
    // A stop gives back what had no answer yet.
    !(a.status === null && between(breaks, a.startedAt, b.startedAt, "stop"))
  ).map(([{ attempt, deliveryId, path }]) => `repeats ${deliveryId} at ${path}: attempt ${attempt} arrived twice`)
  if (repeats.length > breaks.length * maximumInFlight) {
    faults.push(`repeats ${repeats.length} repeats by ${breaks.length} breaks`)
  }
  return { faults, repeats: repeats.length }
}

/** From when on its sender may have known the end of an attempt; it is the sender that ends what gets no answer. */
const knownFrom = ({ answeredAt, endedAt }: ReceivedDelivery): number =>
  Math.min(answeredAt ?? Infinity, endedAt ?? Infinity)

/** Pace: no delivery is sent twice at once, no endpoint more than four times, but by an instance that was paused. */
const overlapping = (
  { breaks, seen }: History,
  pairs: ReadonlyArray<readonly [ReceivedDelivery, ReceivedDelivery]>
): ReadonlyArray<string> => {
  const faults = pairs.filter(([a, b]) =>
    knownFrom(a) > b.startedAt + clockMillis && !between(breaks, a.startedAt, b.startedAt, "pause")
  ).map(([{ deliveryId, path }]) => `pace ${deliveryId} at ${path} was sent twice at once`)
  for (const [path, arrivals] of Map.groupBy(seen.arrivals, ({ path }) => path)) {
    let open: Array<ReceivedDelivery> = []
    for (const arrival of arrivals.toSorted((a, b) => a.startedAt - b.startedAt)) {
      open = open.filter((one) => knownFrom(one) > arrival.startedAt + clockMillis)
      open.push(arrival)
      if (open.length > maximumPerEndpoint && !between(breaks, open[0]!.startedAt, arrival.startedAt, "pause")) {
        faults.push(`pace ${path} was sent ${open.length} at once`)
      }
    }
  }
  return faults
}

/** Pace: no retry comes before its time; late ones are blamed where no breaker can have held them up. */
const timed = (
  { baseMillis, breaks, factor, slowness }: History,
  pairs: ReadonlyArray<readonly [ReceivedDelivery, ReceivedDelivery]>
) => {
  const retries = pairs.filter(([a, b]) =>
    b.attempt === a.attempt + 1 && a.endedAt !== null &&
    !between(breaks, a.startedAt, b.startedAt, "kill", "pause", "stop")
  )
    .map(([a, b]) => {
      // That the sender gave up is seen late on a busy machine, but when it does is known.
      const from = a.answeredAt === null ? Math.min(a.endedAt!, a.startedAt + attemptTimeoutMillis) : knownFrom(a)
      return { a, b, planned: baseMillis * factor ** (a.attempt - 1), waited: b.startedAt - from }
    })
  const faults = retries.filter(({ planned, waited }) => waited < planned * (1 - jitter) - clockMillis)
    .map(({ a, planned, waited }) =>
      `pace ${a.deliveryId} at ${a.path}: tried again after ${waited.toFixed(0)} ms, planned ${planned}`
    )
  const late = retries.filter(({ a }) => a.path.startsWith("/flaky/"))
    .map(({ planned, waited }) => waited - planned * (1 + jitter))
  const p90 = quantile(late, 0.9)
  if (p90 > lateMillis * slowness) faults.push(`pace of ${late.length} retries one in ten is ${p90.toFixed(0)} ms late`)
  return { faults, retries: retries.length }
}

/** Judges a history. */
export const checkDeliveries = (history: History): CheckResult => {
  const { breaks, rows, seen, slowness } = history
  const byDelivery = Map.groupBy(seen.arrivals, ({ deliveryId }) => deliveryId)
  for (const arrivals of byDelivery.values()) arrivals.sort((a, b) => a.startedAt - b.startedAt)
  const pairs = [...byDelivery.values()].flatMap((arrivals) =>
    arrivals.slice(1).map((next, at) => [arrivals[at]!, next] as const)
  )
  const firstBreak = Math.min(Infinity, ...breaks.map(({ at }) => at))
  const latencies = seen.arrivals
    .filter(({ attempt, path, startedAt }) => attempt === 1 && path.startsWith("/healthy/") && startedAt < firstBreak)
    .map(({ eventId, startedAt }) => startedAt - Number(/^evt_(\d+)-/.exec(eventId)?.[1]))
  const p99 = quantile(latencies, 0.99)
  const { faults: twice, repeats } = repeated(breaks, pairs)
  const { faults: untimely, retries } = timed(history, pairs)
  const count = (...statuses: ReadonlyArray<string>) => rows.filter(({ status }) => statuses.includes(status)).length
  return {
    faults: [
      ...queued(history),
      ...ended(history, ({ id }) => byDelivery.get(id) ?? []),
      ...signed(history),
      ...twice,
      ...overlapping(history, pairs),
      ...untimely,
      ...(p99 > healthyMillis * slowness
        ? [`isolation healthy endpoints: p99 ${p99.toFixed(0)} ms beside the others`]
        : [])
    ],
    delivered: count("succeeded"),
    exhausted: count("failed"),
    canceled: count("canceled"),
    waiting: count(...waitingStatuses),
    arrivals: seen.arrivals.length,
    repeats,
    retries,
    p50: quantile(latencies, 0.5),
    p99
  }
}
