/**
 * Pages of events of one merchant who has 5,000,000, by every filter alone and in pairs, in both directions. What is
 * rare is the oldest, so that a page which reads the newest first reads nearly all. The events are made by SQL, without
 * deliveries and replies.
 */
import { Effect } from "effect"
import type { Bench } from "./Bench.ts"
import { onDatabase } from "./Database.ts"
import { drive } from "./load.ts"
import { median, type ReportLine } from "./Report.ts"
import * as Tillwire from "./Tillwire.ts"

const stored = 5_000_000
/** The rare events are among so many first ones. */
const rareRows = 1_000
const limitMillis = 10
const page = 100
const warmUpRequests = 1_000
const seconds = 0.15

/** Copies of one real event: half of them a customer's, a few on mainnet, of commerce, and of a rare type. */
const copies =
  `insert into events (merchant_id, ms, seq, environment, type, invoice_id, order_id, customer_id, commerce,
    pending_webhooks, data, is_for_payors)
  select e.merchant_id, e.ms + n * 7, nextval('event_seq'),
    case when n < ${rareRows} and n % 100 = 0 then 'mainnet' else 'devnet' end,
    case when n < ${rareRows} and n % 100 = 1 then 'invoice.canceled' else
      (array['invoice.created', 'invoice_payment.created', 'invoice_payment.updated', 'invoice.updated', 'invoice.paid'])[1 + n % 5]
    end, md5((n / 5)::text)::uuid::text, case when n < ${rareRows} and n % 100 = 2 then 'order' end,
    case when n % 2 = 0 then 'everybody' else 'customer-' || n / 100 end, n < ${rareRows} and n % 100 = 2, 0, e.data, true
  from (select * from events order by ms limit 1) e, generate_series(1, ${stored}) n order by n`

/** By the parameter that is sent; two of one parameter do not go together. */
const questions = (invoice: string, middleSeconds: number): ReadonlyArray<readonly [name: string, query: string]> => [
  ["common type", "type=invoice.paid"],
  ["rare type", "type=invoice.canceled"],
  ["type without events", "type=invoice.expired"],
  ["types by prefix", "type=invoice_payment.*"],
  ["common environment", "environment=devnet"],
  ["rare environment", "environment=mainnet"],
  ["customer with most events", "customer_id=everybody"],
  ["customer", "customer_id=customer-20000"],
  ["customer without events", "customer_id=nobody"],
  ["invoice", `invoice_id=${invoice}`],
  ["order", "order_id=order"],
  ["time from", `created[gte]=${middleSeconds}`],
  ["time to", `created[lte]=${middleSeconds}`]
]

const parameterOf = (query: string) => query.split("=")[0]

export const eventList = ({ progress, rounds, server }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.scoped(Effect.gen(function*() {
    const deployment = yield* Tillwire.deploy(server, "event_list")
    const keys = yield* Tillwire.prepare(deployment, (service, merchant) =>
      Effect.gen(function*() {
        yield* service.call("/api/v1/invoices", {
          headers: { "x-api-key": merchant, "idempotency-key": "event-list" },
          body: { amount: 49_990 }
        })
        return { merchant, commerce: (yield* service.keys).commerce_key }
      }))
    progress(`event_list: making ${stored} events`)
    const middle = yield* onDatabase(server, deployment.database, async (client) => {
      await client.query(copies)
      await client.query("vacuum analyze events")
      await client.query("checkpoint")
      const { rows } = await client.query(`select ms::text, seq::text, invoice_id from events
        where ms >= (select (min(ms) + max(ms)) / 2 from events) order by merchant_id, ms, seq limit 1`)
      return rows[0] as { readonly ms: string; readonly seq: string; readonly invoice_id: string }
    })
    const single = questions(middle.invoice_id, Math.floor(Number(middle.ms) / 1000))
    const pairs = single.flatMap(([name, query], at) =>
      single.slice(at + 1).filter(([, other]) => parameterOf(query) !== parameterOf(other))
        .map(([otherName, other]) => [`${name}, ${otherName}`, `${query}&${other}`] as const)
    )
    const directions = [
      "",
      `&starting_after=evt_${middle.ms}-${middle.seq}`,
      `&ending_before=evt_${middle.ms}-${middle.seq}`
    ]
    const asked = [
      ...[["no filter", ""] as const, ...single, ...pairs].map((question) => [...question, keys.merchant] as const),
      ...[["commerce key", ""] as const, ...single.filter(([, query]) => !query.endsWith("mainnet"))].map((
        [name, query]
      ) => [`commerce key, ${name}`, query, keys.commerce] as const)
    ]
    const waits = new Map(asked.map(([name]): [string, Array<number>] => [name, []]))
    yield* Effect.scoped(Effect.gen(function*() {
      const service = yield* Tillwire.start(deployment)
      const load = { port: service.ports.http, callers: 1, method: "GET" } as const
      const path = (query: string, direction: string) => `/api/v1/events?limit=${page}&${query}${direction}`
      const paths = directions.map((direction) => path("", direction))
      yield* drive(service.pid, { ...load, seconds: 20, count: warmUpRequests, paths, keys: [keys.merchant] })
      for (let round = 1; round <= rounds; round++) {
        for (const [name, query, key] of asked) {
          const p50s = yield* Effect.forEach(
            directions,
            (direction) =>
              Effect.map(
                drive(service.pid, { ...load, seconds, paths: [path(query, direction)], keys: [key] }),
                ({ p50 }) => p50
              )
          )
          waits.get(name)!.push(Math.max(...p50s))
        }
        const worst = Math.max(...[...waits.values()].map((all) => all.at(-1)!))
        progress(`event_list ${round}/${rounds}: at most ${worst.toFixed(2)} ms`)
      }
    }))
    return asked.map(([name]): ReportLine => ({
      section: "event_list",
      what: `page of ${page} of ${stored}: ${name}`,
      value: median(waits.get(name)!),
      unit: "ms",
      goal: { atMost: limitMillis },
      note: "p50 of the slowest direction"
    }))
  }))
