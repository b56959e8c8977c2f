/**
 * A page of 100 events out of many, over HTTP, beside the limit: a raw node:http server that answers the same bytes,
 * joined from the texts of a bare `pg` query.
 */
import { Effect } from "effect"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Pool } from "pg"
import { pageStatement } from "../../modules/events/repo.ts"
import { textStatement } from "../../modules/events/repo/EventText.ts"
import { firstPosition, lastPosition } from "../../runtime/eventbus/EventRuns.ts"
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

/** The service's own query for the texts of a page, whose values are `limitValues`. */
const limitText = textStatement(
  pageStatement({
    merchantId: 0,
    commerceOnly: false,
    environment: undefined,
    types: undefined,
    fromMillis: undefined,
    toMillis: undefined,
    invoiceId: undefined,
    orderId: undefined,
    customerId: undefined,
    direction: "older",
    cursor: lastPosition,
    limit: page
  }).text
)

const limitValues = (merchant: number, url: string) => {
  const [, ms, seq] = /evt_(\d+)-(\d+)/.exec(url)!
  return [merchant, firstPosition.ms, firstPosition.seq, ms, seq, page + 1]
}

/** The least anybody could do: read the texts of a page, join them, and write them. */
const serveLimit = ({ database, host, merchant }: LimitSpec) => {
  const pool = new Pool({ host, database, user: "postgres", max: callers })
  const server = createServer(async (request, response) => {
    const { rows } = await pool.query({ name: "page", text: limitText, values: limitValues(merchant, request.url!) })
    const texts = rows.slice(0, page).map(({ text }) => text)
    const body = Buffer.from(
      `{"success":true,"data":{"object":"list","data":[${texts.join(",")}],"has_more":${rows.length > page}}}`
    )
    response.writeHead(200, { "content-type": "application/json", "content-length": body.length })
    response.end(body)
  })
  server.listen(0, "127.0.0.1", () => say({ port: (server.address() as AddressInfo).port }))
}

/** Both sides must answer the same, or the comparison says nothing. */
const bodyOf = (port: number, path: string, key?: string) =>
  Effect.promise(async () => {
    const answer = await fetch(
      `http://127.0.0.1:${port}${path}`,
      key === undefined ? {} : { headers: { "x-api-key": key } }
    )
    return answer.text()
  })

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
    const bodies = new Set<string>()
    const ours: Array<Driven> = []
    const limits: Array<Driven> = []
    for (let round = 1; round <= rounds; round++) {
      ours.push(
        yield* Effect.scoped(Effect.flatMap(
          Tillwire.start(deployment),
          ({ pid, ports }) =>
            Effect.andThen(
              Effect.map(bodyOf(ports.http, paths[0]!, key), (body) => bodies.add(body)),
              measure(pid, ports.http, [key])
            )
        ))
      )
      const spec: LimitSpec = { host: server.host, database: deployment.database, merchant }
      limits.push(
        yield* Effect.scoped(Effect.flatMap(
          serveRole<{ readonly port: number }>(new URL(import.meta.url), spec),
          ({ pid, said }) =>
            Effect.andThen(
              Effect.map(bodyOf(said.port, paths[0]!), (body) => bodies.add(body)),
              measure(pid, said.port, [])
            )
        ))
      )
      if (bodies.size !== 1) throw new Error("the two sides of the events bench answer differently")
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
      line("its limit: bare pg, the same body joined, raw node:http", limits),
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
