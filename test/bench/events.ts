/** A page of 100 events out of many, over HTTP, beside a bare `pg` query that joins stored text. */
import { Effect } from "effect"
import { Pool } from "pg"
import type { Bench } from "./Bench.ts"
import { onDatabase } from "./Database.ts"
import { drive } from "./load.ts"
import { cpuMicros, runRole, say, specification } from "../support/Process.ts"
import { median, type ReportLine } from "./Report.ts"
import * as Tillwire from "./Tillwire.ts"

const stored = 50_000
const page = 100
const callers = 8
const warmUpPages = 800
const seconds = 4

interface BareSpec {
  readonly host: string
  readonly database: string
  readonly merchant: number
  readonly cursors: ReadonlyArray<readonly [string, string]>
}

interface BareResult {
  readonly perSecond: number
  readonly cpuEach: number
}

const bareText = `select data from events where merchant_id = $1 and (ms, seq) < ($2::bigint, $3::bigint)
  order by ms desc, seq desc limit ${page}`

/** The least anybody could do: read the stored text of a page, join it, and send it nowhere. */
const bare = async ({ cursors, database, host, merchant }: BareSpec) => {
  const pool = new Pool({ host, database, user: "postgres", max: callers })
  let pages = 0
  let bytes = 0
  const caller = async (until: () => boolean) => {
    while (!until()) {
      const [ms, seq] = cursors[Math.floor(Math.random() * cursors.length)]!
      const { rows } = await pool.query({ name: "page", text: bareText, values: [merchant, ms, seq] })
      bytes += Buffer.from(`[${rows.map(({ data }) => data).join(",")}]`).length
      pages++
    }
  }
  const all = (until: () => boolean) => Promise.all(Array.from({ length: callers }, () => caller(until)))
  await all(() => pages >= warmUpPages)
  pages = 0
  const start = performance.now()
  const before = cpuMicros(process.pid)
  await all(() => performance.now() - start >= seconds * 1_000)
  if (bytes === 0) throw new Error("no events were read")
  const result: BareResult = {
    perSecond: pages / ((performance.now() - start) / 1_000),
    cpuEach: (cpuMicros(process.pid) - before) / pages
  }
  say(result)
  await pool.end()
  process.disconnect()
}

/** Copies of one real event, so that every text is as long as it is in service. */
const copies =
  `insert into events (merchant_id, ms, seq, environment, type, invoice_id, customer_id, commerce, request_id,
    idempotency_key, pending_webhooks, data, is_for_payors)
  select merchant_id, ms + n, nextval('event_seq'), environment, type, invoice_id, customer_id, commerce, request_id,
    idempotency_key, 0, data, is_for_payors
  from (select * from events order by ms limit 1) e, generate_series(1, ${stored}) n`

export const events = ({ progress, rounds, server }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.scoped(Effect.gen(function*() {
    const deployment = yield* Tillwire.deploy(server, "events_till")
    const key = yield* Tillwire.prepare(deployment, (service, key) =>
      Effect.as(
        service.call("/api/v1/invoices", {
          headers: { "x-api-key": key, "idempotency-key": "events" },
          body: { amount: 49_990, customer_id: "customer-42", metadata: { note: "n".repeat(200) } }
        }),
        key
      ))
    const { cursors, merchant } = yield* onDatabase(server, deployment.database, async (client) => {
      await client.query(copies)
      await client.query("vacuum analyze events")
      const { rows } = await client.query(`select merchant_id, ms::text, seq::text from events order by ms offset 1000`)
      const sample = rows.filter((_, index) => index % 50 === 0)
      return { merchant: rows[0].merchant_id, cursors: sample.map(({ ms, seq }) => [ms, seq] as const) }
    })
    const ours: Array<BareResult> = []
    const bares: Array<BareResult> = []
    for (let round = 1; round <= rounds; round++) {
      yield* Effect.scoped(Effect.gen(function*() {
        const service = yield* Tillwire.start(deployment)
        const load = {
          port: service.ports.http,
          callers,
          seconds,
          method: "GET",
          paths: cursors.map(([ms, seq]) => `/api/v1/events?limit=${page}&starting_after=evt_${ms}-${seq}`),
          keys: [key]
        } as const
        yield* drive(service.pid, { ...load, count: warmUpPages })
        ours.push(yield* drive(service.pid, load))
      }))
      const spec: BareSpec = { host: server.host, database: deployment.database, merchant, cursors }
      bares.push(yield* runRole<BareResult>(new URL(import.meta.url), spec))
      const [a, b] = [ours.at(-1)!.cpuEach, bares.at(-1)!.cpuEach]
      progress(`events ${round}/${rounds}: tillwire ${a.toFixed(0)} us CPU a page, bare pg ${b.toFixed(0)}`)
    }
    const line = (what: string, side: ReadonlyArray<BareResult>): ReportLine => ({
      section: "events",
      what,
      value: median(side.map(({ perSecond }) => perSecond)),
      unit: "/s",
      cpuEach: median(side.map(({ cpuEach }) => cpuEach))
    })
    return [
      line(`tillwire, page of ${page} over HTTP`, ours),
      line("bare pg, text joined, no HTTP", bares),
      {
        section: "events",
        what: "CPU against the bare query",
        value: median(ours.map(({ cpuEach }, at) => cpuEach / bares[at]!.cpuEach)),
        unit: "x",
        goal: { atMost: 1.5 }
      }
    ]
  }))

if (import.meta.main) await bare(specification<BareSpec>())
