/**
 * What a claim of one endpoint costs beside endpoints that can take nothing, 20 of them or 5,000, and what the look
 * that needs no wake-up costs: time and pages of the database, of which the pages are exact.
 */
import { Effect } from "effect"
import type { Client } from "pg"
import type { Bench } from "./Bench.ts"
import { type DatabaseServer, onDatabase } from "./Database.ts"
import { median, type ReportLine } from "./Report.ts"
import { invoiceBody } from "./create.ts"
import * as Tillwire from "./Tillwire.ts"

const few = 20
const many = 5_000
const calls = 40

/** Endpoints of merchants of their own: each holds one delivery of an instance, waits for its answer, and has another. */
const fill = [
  `insert into webhook_endpoints select (json_populate_record(one.w, json_build_object('id', 'we_full_' || n,
      'merchant_id', 1000 + n))).* from (select w from webhook_endpoints w limit 1) one, generate_series(1, $1::int) n`,
  `insert into events select (json_populate_record(one.e, json_build_object('merchant_id', 1000 + n))).*
    from (select e from events e order by ms limit 1) one, generate_series(1, $1::int) n`,
  `insert into webhook_deliveries (merchant_id, endpoint_id, event_ms, event_seq)
    select e.merchant_id, 'we_full_' || e.merchant_id - 1000, e.ms, e.seq from events e, generate_series(1, 2)
    where e.merchant_id between 1001 and 1000 + $1::int`,
  `insert into webhook_lanes (merchant_id, endpoint_id, health, holder, token, claims, held_until)
    select 1000 + n, 'we_full_' || n, 'unknown', 'bench', 1, 1, now() + interval '1 day'
    from generate_series(1, $1::int) n`
]

/** All but the first `$1` of them have nothing to send and nobody's lease. */
const rest = [
  `update webhook_deliveries set due_at = null, status = 'succeeded', finished_at = now()
    where merchant_id > 1000 + $1::int`,
  "update webhook_lanes set held_until = '-infinity' where merchant_id > 1000 + $1::int"
]

/** The claim that follows a commit for the one endpoint that is free. */
const claim =
  `select * from webhook_claim_v2('bench', array[$1::int], array[$2::text], array[0], '{}', array[false], '{}', 64, 256, 16, 64, 4,
  interval '30 seconds', '-infinity', 'infinity')`

/** The look for what nobody was woken for: a page. */
const look = `select * from webhook_waiting_v2('bench', interval '1 day', null, -1, '', 1000, 64, 256, 16,
  (select array_agg('we_full_' || n) from generate_series(1, least($1::int, 1024)) n), '-infinity', 'infinity')`

interface Cost {
  readonly millis: number
  readonly pages: number
}

/** What one call costs, and undone. */
const costOf = async (client: Client, text: string, values: ReadonlyArray<unknown>): Promise<Cost> => {
  await client.query("begin")
  const { rows } = await client.query(`explain (analyze, buffers, timing off, format json) ${text}`, [...values])
  await client.query("rollback")
  const [{ "Execution Time": millis, Plan: plan }] = rows[0]["QUERY PLAN"]
  return { millis, pages: plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] }
}

const measure = (server: DatabaseServer, database: string, full: number) =>
  onDatabase(server, database, async (client) => {
    await client.query("delete from webhook_lanes")
    // The same tables either way: what differs is how many endpoints are full.
    for (const text of fill) await client.query(text, [many])
    for (const text of rest) await client.query(text, [full])
    await client.query("vacuum full analyze")
    const free = (await client.query(
      `insert into webhook_deliveries (merchant_id, endpoint_id, event_ms, event_seq)
        select e.merchant_id, w.id, e.ms, e.seq from events e join webhook_endpoints w on w.merchant_id = e.merchant_id
        where e.merchant_id < 1000 limit 1 returning merchant_id, endpoint_id`
    )).rows[0]
    const timesOf = async (text: string, values: ReadonlyArray<unknown>): Promise<Cost> => {
      const costs: Array<Cost> = []
      for (let call = 0; call < calls; call++) costs.push(await costOf(client, text, values))
      const warm = costs.slice(calls / 4)
      return { millis: median(warm.map(({ millis }) => millis)), pages: median(warm.map(({ pages }) => pages)) }
    }
    return {
      claim: await timesOf(claim, [free.merchant_id, free.endpoint_id]),
      look: await timesOf(look, [full])
    }
  })

export const claims = ({ progress, rounds, server }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.scoped(Effect.gen(function*() {
    const origin = yield* Tillwire.deploy(server, "claims", { receivers: ["localhost:9"] })
    yield* Tillwire.prepare(origin, (service, key) =>
      Effect.gen(function*() {
        const headers = { "x-api-key": key, "idempotency-key": "claims" }
        yield* service.call("/api/v1/webhooks", {
          headers,
          body: { url: "https://localhost:9/", enabled_events: ["invoice.*"] }
        })
        yield* service.call("/api/v1/invoices", { headers, body: invoiceBody })
      }))
    const seen: Array<
      {
        readonly few: Effect.Success<ReturnType<typeof measure>>
        readonly many: Effect.Success<ReturnType<typeof measure>>
      }
    > = []
    for (let round = 1; round <= rounds; round++) {
      const at = yield* Effect.forEach([few, many], (full) =>
        Effect.gen(function*() {
          const deployment = yield* Tillwire.deploy(server, `claims_${round}_${full}`, { template: "claims" })
          return yield* measure(server, deployment.database, full)
        }))
      seen.push({ few: at[0]!, many: at[1]! })
      const { few: a, many: b } = seen.at(-1)!
      progress(
        `claims ${round}/${rounds}: beside ${few} full ${a.claim.millis.toFixed(2)} ms, ${a.claim.pages} pages; beside `
          + `${many} ${b.claim.millis.toFixed(2)} ms, ${b.claim.pages}; a look ${a.look.millis.toFixed(2)} ms, `
          + `${a.look.pages}; ${b.look.millis.toFixed(2)} ms, ${b.look.pages}`
      )
    }
    const ratio = (what: "claim" | "look", of: keyof Cost) =>
      median(seen.map(({ few, many }) => many[what][of] / few[what][of]))
    return [
      {
        section: "claims",
        what: `claim with ${many.toLocaleString("en")} full endpoints / with ${few}: time`,
        value: ratio("claim", "millis"),
        unit: "x",
        goal: { atMost: 1.2 },
        note: `${median(seen.map(({ many }) => many.claim.millis)).toFixed(2)} ms`
      },
      {
        section: "claims",
        what: `claim with ${many.toLocaleString("en")} full endpoints / with ${few}: pages`,
        value: ratio("claim", "pages"),
        unit: "x",
        goal: { atMost: 1.2 },
        note: `${median(seen.map(({ many }) => many.claim.pages))} pages`
      },
      {
        section: "claims",
        what: "a look at a page of them, once a second",
        value: median(seen.map(({ many }) => many.look.millis)),
        unit: "ms",
        note: `${median(seen.map(({ many }) => many.look.pages))} pages; it passes 1,000 endpoints at most`
      }
    ]
  }))
