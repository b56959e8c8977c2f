/**
 * A service killed again and again under load, and afterwards judged by what its clients were told. The load creates
 * invoices under idempotency keys and pays some of them; a receiver takes every webhook. A client that got no answer
 * asks again with the same key, as clients must.
 */
import { Effect, Fiber, type Scope } from "effect"
import type { Receiver } from "./Receiver.ts"
import { exchange, type Service, type TestRequest, type TestResponse, until } from "./Service.ts"

/** How the harness starts the service, and reads the tables it cannot see through the API. */
export interface CrashRunOptions {
  /** A new process on the same data, the same ports and the same database. */
  readonly start: Effect.Effect<Service, never, Scope.Scope>
  /** Runs a statement on the service's database. */
  readonly query: (text: string) => Effect.Effect<ReadonlyArray<Record<string, any>>>
  readonly receiver: Receiver
  readonly kills: number
  readonly callers: number
  /** The same seed gives the same bodies, amounts and moments of the kills, not the same interleaving. */
  readonly seed: number
  readonly progress: (line: string) => void
}

export interface CrashReport {
  readonly seed: number
  readonly kills: number
  readonly invoices: number
  readonly unanswered: number
  readonly payments: number
  readonly events: number
  readonly deliveries: number
  readonly duplicates: number
  /** Every promise that was broken, one line each. Empty is the only good answer. */
  readonly faults: ReadonlyArray<string>
}

/** Milliseconds of load before each kill, and invoices that it answers for: on a slow machine a life is longer. */
const shortestLife = 200
const longestLife = 2_000
const answersOfLife = 6

/** Pause of a caller between two of its requests, and before it asks again what got no answer. */
const defaultBetweenMillis = 10
const againMillis = 50

/** The share of invoices that are paid, half of them in full. */
const paidShare = 0.4

/** For queues to run dry after the last start, however slow the machine: a receiver's retries included. */
export const queueDrainMillis = 240_000

const eventsPage = 100

/** Mulberry32: small, and the same on every machine. */
export const seededRandom = (seed: number) => {
  let state = seed >>> 0
  return (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** One invoice as its client knows it. */
interface Asked {
  readonly key: string
  readonly body: object
  readonly payment: "none" | "part" | "full"
  /** What the first 200 said. */
  answer: string | undefined
  /** Requests that ended without an answer. */
  unanswered: number
  /** The payment a 200 of the simulation named. */
  paid: string | undefined
}

/** One request of a client; undefined when it got no answer. */
export type Ask = (path: string, sent: TestRequest) => Effect.Effect<TestResponse | undefined>

/** A merchant, and who asks in its name. */
export interface ClientOptions {
  readonly merchant: { readonly id: number; readonly key: string }
  readonly ask: Ask
  readonly seed: number
  /** Milliseconds between two requests of a caller. */
  readonly betweenMillis?: number
  /** Pays an invoice, given the answer to its creation, in part or in full; default: the simulated chain does. */
  readonly pay?: (answer: any, amount: number) => Effect.Effect<void>
}

/** The clients of a merchant: what they asked for, what they were told, and what was wrong with it. */
export const makeClients = (
  { ask, betweenMillis = defaultBetweenMillis, merchant, pay: payByHand, seed }: ClientOptions
) => {
  const random = seededRandom(seed)
  const asked: Array<Asked> = []
  const faults: Array<string> = []
  const headers = { "x-api-key": merchant.key }

  const send = ({ body, key }: Asked) =>
    ask("/api/v1/invoices", { headers: { ...headers, "idempotency-key": key }, body })

  /** Creates the invoice, if this attempt gets an answer. Every answer to one key must be the first one. */
  const create = (one: Asked) =>
    Effect.map(send(one), (received) => {
      if (received === undefined || received.status === 503) one.unanswered++
      else if (received.status !== 200) faults.push(`${one.key}: ${received.status} ${received.text}`)
      else if (one.answer === undefined) one.answer = received.text
      else if (one.answer !== received.text) faults.push(`${one.key}: a repeat got another body`)
    })

  const pay = (one: Asked) =>
    Effect.gen(function*() {
      const answer = JSON.parse(one.answer!)
      const { invoice, invoice_id: id } = answer
      const part = Math.floor(invoice.amount / 3)
      if (payByHand !== undefined) return yield* payByHand(answer, one.payment === "part" ? part : invoice.amount)
      const amount = one.payment === "part" ? { amount: part } : {}
      const received = yield* ask(`/api/v1/devnet/invoices/${id}/simulate`, {
        headers,
        body: { action: "pay", ...amount }
      })
      if (received?.status === 200) one.paid = received.json.data.invoice_payment?.id
      else if (received !== undefined && received.status < 500) faults.push(`${id}: simulate ${received.text}`)
    })

  /** One client: an invoice after the other, the same one again until it is answered. */
  const caller = (name: number, running: () => boolean) =>
    Effect.gen(function*() {
      while (running()) {
        const share = random()
        const one: Asked = {
          key: `crash-${seed}-${name}-${asked.length}`,
          body: { amount: 1_000 + Math.floor(random() * 100_000), metadata: { n: asked.length } },
          payment: share > paidShare ? "none" : share > paidShare / 2 ? "part" : "full",
          answer: undefined,
          unanswered: 0,
          paid: undefined
        }
        asked.push(one)
        while (running() && one.answer === undefined) {
          yield* create(one)
          if (one.answer === undefined) yield* Effect.sleep(againMillis)
        }
        if (one.answer !== undefined && one.payment !== "none") yield* pay(one)
        yield* Effect.sleep(betweenMillis)
      }
    })

  return { asked, caller, create, faults, headers, merchant, random }
}
export type Clients = ReturnType<typeof makeClients>

/** What a killed process held is given up as if its lease had run out: nobody waits a minute for each kill. */
export const expireLeases = ({ query }: Pick<CrashRunOptions, "query">) =>
  Effect.andThen(
    query("update leases set until = '-infinity'"),
    query("update webhook_lanes set held_until = now()")
  )

/** An event as its list tells it. */
export interface WireEvent {
  readonly id: string
  readonly type: string
  readonly data: {
    readonly object: Readonly<Record<string, any>>
    readonly previous_attributes: Readonly<Record<string, unknown>>
  }
}

/** Every event of the merchant, oldest first. */
export const allEvents = Effect.fnUntraced(function*(service: Service, headers: Readonly<Record<string, string>>) {
  const events: Array<WireEvent> = []
  let more = true
  while (more) {
    const last = events.at(-1)
    const after = last === undefined ? "" : `&starting_after=${last.id}`
    const { json } = yield* exchange(service.url, `/api/v1/events?limit=${eventsPage}${after}`, { headers })
    events.push(...json.data.data)
    more = json.data.has_more
  }
  return events.toReversed()
})

export const positionOf = (id: string): readonly [bigint, bigint] => {
  const [, ms, seq] = /^evt_(\d+)-(\d+)$/.exec(id)!
  return [BigInt(ms!), BigInt(seq!)]
}

/** Ids grow, in the order of the list. */
export const orderingFaults = (events: ReadonlyArray<Pick<WireEvent, "id">>): ReadonlyArray<string> =>
  events.slice(1).flatMap(({ id }, index) => {
    const [ms, seq] = positionOf(id)
    const [beforeMs, beforeSeq] = positionOf(events[index]!.id)
    return ms > beforeMs || (ms === beforeMs && seq > beforeSeq) ? [] : [`${id} does not follow ${events[index]!.id}`]
  })

const equal = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)

/**
 * The specific events a change of an invoice is told by, besides `invoice.updated`
 * (modules/docs/reference/events.md#order).
 */
const specificOf = (
  before: Readonly<Record<string, any>>,
  after: Readonly<Record<string, any>>
): ReadonlyArray<string> => {
  if (after.amount_paid < before.amount_paid) return []
  const over = after.amount_paid > after.amount ? ["invoice.overpaid"] : []
  if (after.status === "paid") return before.status === "paid" ? over : ["invoice.paid", ...over]
  if (after.status === "underpaid") return ["invoice.partial_payment"]
  return after.status === "expired" ? ["invoice.expired"] : []
}

/**
 * Walks the events of one object: the first is its creation, each other one undone by its previous attributes gives the
 * one before it, and the last is what the API shows now.
 */
const chainFaults = (events: ReadonlyArray<WireEvent>, now: unknown): ReadonlyArray<string> => {
  const faults: Array<string> = []
  const [first] = events
  const { id } = first!.data.object
  if (!first!.type.endsWith(".created")) faults.push(`${id}: its first event is ${first!.type}`)
  let state = first!.data.object
  for (let at = 1; at < events.length;) {
    const { data: { object, previous_attributes: previous }, type } = events[at]!
    if (!type.endsWith(".updated")) faults.push(`${id}: ${type} without an update`)
    const before = Object.fromEntries(
      Object.keys(object).map((key) => [key, key in previous ? previous[key] : object[key]])
    )
    if (!equal(before, state)) faults.push(`${id}: ${events[at]!.id} does not follow from the event before it`)
    const specific = object.object === "invoice" ? specificOf(state, object) : []
    const told = events.slice(at + 1, at + 1 + specific.length)
    if (!equal(told.map((event) => event.type), specific) || !told.every(({ data }) => equal(data.object, object))) {
      faults.push(
        `${id}: ${events[at]!.id} is followed by ${told.map((event) => event.type).join(", ")}, not ${specific}`
      )
    }
    state = object
    at += 1 + specific.length
  }
  if (!equal(state, now)) faults.push(`${id}: the last event does not show it as it is now`)
  return faults
}

/**
 * How many decisions these events of one invoice tell, by the flush that wrote each: no two decisions of one invoice
 * share a flush. Their times would not do: two flushes may share a millisecond.
 */
export const decisionsOf = (
  events: ReadonlyArray<Pick<WireEvent, "id">>,
  flushes: ReadonlyMap<string, string>
): number => new Set(events.map(({ id }) => flushes.get(id))).size

/**
 * Judges what a merchant was told by what is in the tables: nothing answered is lost, each version of an invoice has
 * its events and each event its version, ids grow, one key gives one invoice and one body.
 */
export const checkCommits = Effect.fnUntraced(function*(
  { asked, create, faults, headers, merchant }: Clients,
  { callers, query, service }: Pick<CrashRunOptions, "callers" | "query"> & { readonly service: Service }
) {
  // Who was never answered asks for the last time, and so does everybody else: the same key, the same body.
  yield* Effect.forEach(asked, create, { concurrency: callers, discard: true })
  yield* until(
    "every payment is counted",
    query("select count(*)::int as n from transfers where status <> 'confirmed' or handled <> 'confirmed'"),
    (rows) => rows[0]!["n"] === 0,
    queueDrainMillis
  )
  const events = yield* allEvents(service, headers)
  faults.push(...orderingFaults(events))

  const invoices = yield* query(`select i.id::text, i.version::int, i.amount_paid::text, coalesce((
      select sum(p.amount) from invoice_payments p
      where p.invoice_id = i.id and p.status in ('underpaid', 'confirmed')), 0)::text as counted from invoices i
    where i.merchant_id = ${merchant.id}`)
  const payments = yield* query(`select p.id::text, p.invoice_id::text, p.status from invoice_payments p
    where p.merchant_id = ${merchant.id}`)
  const byInvoice = Map.groupBy(events, ({ data: { object } }) => object.invoice_id ?? object.id)
  const byObject = Map.groupBy(events, ({ data: { object } }) => object.id)

  const known = new Set(invoices.map(({ id }) => id))
  const answered = asked.map(({ answer, key }) => {
    if (answer === undefined) faults.push(`${key}: never answered`)
    return answer === undefined ? undefined : JSON.parse(answer).invoice_id
  })
  for (const id of answered) if (id !== undefined && !known.has(id)) faults.push(`${id}: answered and lost`)
  if (new Set(answered).size !== asked.length) faults.push("two keys share an invoice")
  if (known.size !== asked.length) faults.push(`${known.size} invoices for ${asked.length} keys`)

  // A flush is one transaction, which marks each row that it inserts.
  const written = yield* query(`select 'evt_' || ms || '-' || seq as id, xmin::text as flush from events
    where merchant_id = ${merchant.id}`)
  const flushes = new Map(written.map(({ flush, id }) => [id as string, flush as string]))
  for (const { amount_paid, counted, id, version } of invoices) {
    const told = byInvoice.get(id) ?? []
    const decisions = decisionsOf(told, flushes)
    if (amount_paid !== counted) faults.push(`${id}: amount_paid ${amount_paid}, payments ${counted}`)
    if (decisions !== version) {
      const list = told.map((event) => `${event.type} in ${flushes.get(event.id)}`).join(", ")
      faults.push(`${id}: ${decisions} decisions told, version ${version}: ${list}`)
    }
    if (!byObject.has(id)) {
      faults.push(`${id}: no event`)
      continue
    }
    const { json } = yield* exchange(service.url, `/api/v1/invoices/${id}`, { headers })
    faults.push(...chainFaults(byObject.get(id)!, json))
  }
  const rows = new Map(payments.map((row) => [row["id"] as string, row["status"] as string]))
  for (const { paid } of asked) {
    if (paid !== undefined && !rows.has(paid)) faults.push(`payment ${paid}: answered and lost`)
  }
  for (const [id, status] of rows) {
    const last = byObject.get(id)?.at(-1)?.data.object
    if (last?.status !== status) faults.push(`payment ${id}: ${status}, its last event says ${last?.status}`)
    if (last !== undefined) faults.push(...chainFaults(byObject.get(id)!, last))
  }

  return { events, payments: rows.size }
})

/** What a run broke, after its last fault: waits until all that was asked for is counted and delivered. */
export const judge = Effect.fnUntraced(function*(run: CrashRunOptions, service: Service, clients: Clients) {
  const { asked, faults } = clients
  const { events, payments } = yield* checkCommits(clients, { ...run, service })
  const wanted = new Set(events.map(({ id }) => id))
  const arrivals = () => run.receiver.arrivals().map(({ headers }) => headers["webhook-id"]!)
  const missing = Effect.sync(() => {
    const seen = new Set(arrivals())
    return [...wanted].filter((id) => !seen.has(id))
  })
  yield* until("every event has reached the receiver", missing, ({ length }) => length === 0, queueDrainMillis).pipe(
    Effect.catchDefect((defect) => Effect.sync(() => void faults.push(String(defect))))
  )
  for (const id of new Set(arrivals())) if (!wanted.has(id)) faults.push(`${id} was delivered and is not in the list`)

  const report: CrashReport = {
    seed: run.seed,
    kills: run.kills,
    invoices: asked.length,
    unanswered: asked.reduce((sum, one) => sum + one.unanswered, 0),
    payments,
    events: events.length,
    deliveries: wanted.size,
    duplicates: arrivals().length - new Set(arrivals()).size,
    faults
  }
  return report
})

/** Kills the service `kills` times under load, and says what was broken. */
export const crash = (run: CrashRunOptions): Effect.Effect<CrashReport> =>
  Effect.gen(function*() {
    run.progress(`crash: seed ${run.seed}`)
    const { service, key } = yield* Effect.scoped(Effect.gen(function*() {
      const service = yield* run.start
      const { merchant_key: key } = yield* service.keys
      yield* service.call("/api/v1/webhooks", {
        headers: { "x-api-key": key },
        body: { url: run.receiver.url("/crash"), enabled_events: ["*"] }
      })
      yield* service.stop()
      return { service, key }
    }))
    const [row] = yield* run.query("select id from merchants")
    const ask: Ask = (path, sent) =>
      Effect.catchDefect(exchange(service.url, path, sent), () => Effect.succeed(undefined))
    const clients = makeClients({ merchant: { id: row!["id"], key }, ask, seed: run.seed })
    let running = true
    const load = yield* Effect.forkChild(
      Effect.forEach(Array.from({ length: run.callers }), (_, name) => clients.caller(name, () => running), {
        concurrency: "unbounded",
        discard: true
      })
    )
    for (let kill = 1; kill <= run.kills; kill++) {
      yield* Effect.scoped(Effect.gen(function*() {
        const service = yield* run.start
        const answered = Effect.sync(() => clients.asked.filter(({ answer }) => answer !== undefined).length)
        const before = yield* answered
        yield* Effect.sleep(shortestLife + clients.random() * (longestLife - shortestLife))
        yield* until("the service answers under load", answered, (count) => count >= before + answersOfLife)
        yield* service.stop("SIGKILL")
      }))
      yield* expireLeases(run)
      if (kill % 10 === 0) run.progress(`crash: ${kill} kills, ${clients.asked.length} invoices asked for`)
    }
    running = false
    return yield* Effect.scoped(Effect.gen(function*() {
      const service = yield* run.start
      yield* Fiber.join(load)
      const report = yield* judge(run, service, clients)
      yield* service.stop()
      return report
    }))
  })
