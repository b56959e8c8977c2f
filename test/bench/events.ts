/**
 * A page of 100 events out of many, over HTTP, beside the limit: a raw node:http server that answers with the joined
 * texts of a bare `pg` query.
 */
import { Effect } from "effect"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Pool } from "pg"
import type { Bench } from "./Bench.ts"
import { onDatabase } from "./Database.ts"
import { drive } from "./load.ts"
import { say, serveRole, specification } from "../support/Process.ts"
import { median, type ReportLine } from "./Report.ts"
import * as Tillwire from "./Tillwire.ts"

const stored = 50_000
const page = 100
const callers = 8
const warmUpPages = 800
const seconds = 4

interface LimitSpec {
  readonly host: string
  readonly database: string
  readonly merchant: number
}

const limitText = `select data from events where merchant_id = $1 and (ms, seq) < ($2::bigint, $3::bigint)
  order by ms desc, seq desc limit ${page}`

/** The least anybody could do: read the stored text of a page, join it, and write it. */
const serveLimit = ({ database, host, merchant }: LimitSpec) => {
  const pool = new Pool({ host, database, user: "postgres", max: callers })
  const server = createServer(async (request, response) => {
    const [, ms, seq] = /evt_(\d+)-(\d+)/.exec(request.url!)!
    const { rows } = await pool.query({ name: "page", text: limitText, values: [merchant, ms, seq] })
    const body = Buffer.from(
      `{"success":true,"data":{"object":"list","data":[${rows.map(({ data }) => data).join(",")}],"has_more":true}}`
    )
    response.writeHead(200, { "content-type": "application/json", "content-length": body.length })
    response.end(body)
  })
  server.listen(0, "127.0.0.1", () => say({ port: (server.address() as AddressInfo).port }))
}

type Driven = Effect.Success<ReturnType<typeof drive>>

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
    const paths = cursors.map(([ms, seq]) => `/api/v1/events?limit=${page}&starting_after=evt_${ms}-${seq}`)
    const measure = (pid: number, port: number, keys: ReadonlyArray<string>) => {
      const load = { port, callers, seconds, method: "GET", paths, keys } as const
      return Effect.andThen(drive(pid, { ...load, count: warmUpPages }), drive(pid, load))
    }
    const ours: Array<Driven> = []
    const limits: Array<Driven> = []
    for (let round = 1; round <= rounds; round++) {
      ours.push(
        yield* Effect.scoped(Effect.flatMap(
          Tillwire.start(deployment),
          ({ pid, ports }) => measure(pid, ports.http, [key])
        ))
      )
      const spec: LimitSpec = { host: server.host, database: deployment.database, merchant }
      limits.push(
        yield* Effect.scoped(Effect.flatMap(
          serveRole<{ readonly port: number }>(new URL(import.meta.url), spec),
          ({ pid, said }) => measure(pid, said.port, [])
        ))
      )
      const [a, b] = [ours.at(-1)!.cpuEach, limits.at(-1)!.cpuEach]
      progress(`events ${round}/${rounds}: tillwire ${a.toFixed(0)} us CPU a page, its limit ${b.toFixed(0)}`)
    }
    const line = (what: string, side: ReadonlyArray<Driven>): ReportLine => ({
      section: "events",
      what,
      value: median(side.map(({ perSecond }) => perSecond)),
      unit: "/s",
      cpuEach: median(side.map(({ cpuEach }) => cpuEach))
    })
    return [
      line(`tillwire, page of ${page} over HTTP`, ours),
      line("its limit: bare pg, texts joined, raw node:http", limits),
      {
        section: "events",
        what: "CPU against its limit",
        value: median(ours.map(({ cpuEach }, at) => cpuEach / limits[at]!.cpuEach)),
        unit: "x",
        goal: { atMost: 1.2 }
      }
    ]
  }))

if (import.meta.main) serveLimit(specification<LimitSpec>())
