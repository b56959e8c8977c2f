/** Many invoices due at once, beside the same writes by set-based SQL alone; and what readers feel of it. */
import { Effect } from "effect"
import { setTimeout as pause } from "node:timers/promises"
import { invoiceStates } from "../../modules/invoices/machine.ts"
import type { Bench } from "./Bench.ts"
import { createDatabase, type DatabaseServer, onDatabase } from "./Database.ts"
import { drive, type LoadSpec } from "./load.ts"
import { median, type ReportLine } from "./Report.ts"
import * as Tillwire from "./Tillwire.ts"

const due = 20_000
const batch = 250
const readsPerSecond = 150
const readers = 4
const idleSeconds = 5
/** The timer looks every 5 s, and the slowest run takes twice as long. */
const busySeconds = 15
/** Between two looks whether all are expired: each is one probe of an index, so that the wait costs nothing. */
const lookMillis = 150

/** Copies of one real invoice, due at second `at`. */
const copies = (at: string) =>
  `insert into invoices (merchant_id, id, version, environment, status, type, amount, amount_paid,
    customer_id, expires_at, created_at, metadata, policy, details, grace_ended, due_at)
  select merchant_id, gen_random_uuid(), 1, environment, 'unpaid', type, amount, 0, customer_id, ${at}, created_at,
    metadata, policy, details, false, ${at}
  from (select * from invoices order by created_at limit 1) i, generate_series(1, ${due})`

/** The counts by status that the service moves: those of `invoices.states`, in each width. */
const sumsText = `, moves as (
    select g.merchant_id, g.environment, w.width,
        case when w.width = 0 then 0 else g.created_at - g.created_at % w.width end as bucket,
        g.type || ':' || k.status || ':' as key, sum(k.sign) as count, sum(k.sign * g.amount) as amount
      from gone g, (values ${invoiceStates.widths.map((width) => `(${width})`).join(", ")}) w (width),
        (values ('unpaid', -1), ('expired', 1)) k (status, sign)
      group by 1, 2, 3, 4, 5
  ), sums as (
    insert into rollups (merchant_id, environment, sum, width, bucket, key, count, amount, amount_paid)
      select merchant_id, environment, 'invoices.states', width, bucket, key, count, amount, 0 from moves
      on conflict (merchant_id, environment, sum, width, bucket, key) do update
      set count = rollups.count + excluded.count, amount = rollups.amount + excluded.amount
  )`

/**
 * The same rows changed and the same rows added, with texts as long, a batch a statement: no client is faster. It
 * writes no sums unless `duties` has them, and in any case it neither reads an invoice, nor decides, nor makes a text.
 */
const limitText = (duties: string) => `
  with gone as (
    update invoices i set status = 'expired', version = i.version + 1, due_at = null
    from (select merchant_id, id from invoices where due_at <= 1 order by due_at limit ${batch} for update skip locked) d
    where i.merchant_id = d.merchant_id and i.id = d.id
    returning i.merchant_id, i.id, i.customer_id, i.environment, i.created_at, i.type, i.amount
  ), stream as (
    update merchant_streams set last_ms = greatest(last_ms, floor(extract(epoch from clock_timestamp()) * 1000)),
      last_seq = nextval('event_seq') where merchant_id in (select merchant_id from gone) returning merchant_id, last_ms
  ), told as (
    insert into events (merchant_id, ms, seq, environment, type, invoice_id, customer_id, commerce, pending_webhooks, data,
        is_for_payors)
      select g.merchant_id, s.last_ms, nextval('event_seq'), 'devnet', t.type, g.id, g.customer_id, false, 0, t.data, true
      from gone g join stream s on s.merchant_id = g.merchant_id, (values
        ('invoice.updated', repeat('d', $1::int)),
        ('invoice.expired', repeat('d', $1::int))) t(type, data)
      returning 1
  )${duties}
  select count(*)::int as n from gone`

/** Expirations a second of the SQL alone, one connection. */
const limit = (server: DatabaseServer, database: string, dataLength: number, duties = "") =>
  onDatabase(server, database, async (client) => {
    await client.query("delete from events")
    await client.query("delete from invoices where status = 'expired'")
    await client.query(copies("1"))
    await client.query("vacuum analyze invoices, events")
    const start = performance.now()
    let done = 0
    for (let rows = batch; rows === batch; done += rows) {
      rows = (await client.query({ name: "expire", text: limitText(duties), values: [dataLength] })).rows[0].n
    }
    return done / ((performance.now() - start) / 1_000)
  })

/** Waits on one connection until no invoice of this bench is due; the one that is read is due later. */
const allExpired = (server: DatabaseServer, database: string) =>
  onDatabase(server, database, async (client) => {
    const text = `select exists (select from invoices
      where due_at is not null and due_at <= extract(epoch from now())::bigint + 2) as is_waiting`
    while ((await client.query({ name: "waiting", text })).rows[0].is_waiting) await pause(lookMillis)
  })

/** Expirations a second of the service, by the times of its events, and the p99 of readers before and meanwhile. */
const ours = (server: DatabaseServer, deployment: Tillwire.Deployment, key: string, id: string) =>
  Effect.scoped(Effect.gen(function*() {
    const query = (text: string) =>
      onDatabase(server, deployment.database, async (client) => (await client.query(text)).rows)
    yield* query("delete from events where type <> 'invoice.created'")
    yield* query("delete from invoices where status = 'expired'")
    yield* query("vacuum analyze invoices, events")
    const service = yield* Tillwire.start(deployment)
    const reads: LoadSpec = {
      port: service.ports.http,
      callers: readers,
      seconds: idleSeconds,
      rate: readsPerSecond,
      method: "GET",
      paths: [`/api/v1/invoices/${id}`],
      keys: [key]
    }
    yield* drive(service.pid, { ...reads, rate: 10 * readsPerSecond, seconds: 3 })
    const idle = yield* drive(service.pid, reads)
    const [busy] = yield* Effect.all([
      drive(service.pid, { ...reads, seconds: busySeconds }),
      Effect.andThen(
        query(copies("extract(epoch from now())::bigint + 1")),
        allExpired(server, deployment.database)
      )
    ], { concurrency: 2 })
    // The first flush's own time is not between the first and the last stamp.
    const [row] = yield* query(`select (max(ms) - min(ms))::int as millis,
      count(*) filter (where ms > (select min(ms) from events where type = 'invoice.expired'))::int as n
      from events where type = 'invoice.expired'`)
    return { perSecond: row.n / (row.millis / 1_000), idleP99: idle.p99, busyP99: busy.p99 }
  }))

export const expiry = ({ progress, rounds, server }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.scoped(Effect.gen(function*() {
    const deployment = yield* Tillwire.deploy(server, "expiry_till")
    const { id, key } = yield* Tillwire.prepare(deployment, (service, key) =>
      Effect.map(
        service.call("/api/v1/invoices", {
          headers: { "x-api-key": key, "idempotency-key": "expiry" },
          body: { amount: 49_990, customer_id: "customer-42", metadata: { note: "n".repeat(200) } }
        }),
        ({ json }) => ({ id: json.invoice_id as string, key })
      ))
    yield* createDatabase(server, "expiry_limit", deployment.database)
    const dataLength = yield* onDatabase(server, "expiry_limit", async (client) => {
      const { rows: [row] } = await client.query(
        "select length(data) as d from events limit 1"
      )
      return row.d as number
    })
    const limits: Array<number> = []
    const limitsWithSums: Array<number> = []
    const seen: Array<Effect.Success<ReturnType<typeof ours>>> = []
    for (let round = 1; round <= rounds; round++) {
      seen.push(yield* ours(server, deployment, key, id))
      limits.push(yield* limit(server, "expiry_limit", dataLength))
      limitsWithSums.push(yield* limit(server, "expiry_limit", dataLength, sumsText))
      const { busyP99, idleP99, perSecond } = seen.at(-1)!
      progress(
        `expiry ${round}/${rounds}: tillwire ${perSecond.toFixed(0)}/s, SQL ${limits.at(-1)!.toFixed(0)}/s, `
          + `with sums ${limitsWithSums.at(-1)!.toFixed(0)}/s, `
          + `reads p99 ${idleP99.toFixed(1)} -> ${busyP99.toFixed(1)} ms`
      )
    }
    const section = "expiry"
    return [
      {
        section,
        what: `tillwire, ${due} due at once`,
        value: median(seen.map(({ perSecond }) => perSecond)),
        unit: "/s"
      },
      {
        section,
        what: `SQL alone, batches of ${batch}`,
        value: median(limits),
        unit: "/s",
        note: "state, events and stream position; no sums; reads, decides and renders nothing"
      },
      { section, what: "SQL alone, with the sums", value: median(limitsWithSums), unit: "/s" },
      {
        section,
        what: "rate against the SQL alone",
        value: median(seen.map(({ perSecond }, at) => perSecond / limits[at]!)),
        unit: "x",
        goal: { atLeast: 0.8 }
      },
      {
        section,
        what: "rate against the SQL with the sums",
        value: median(seen.map(({ perSecond }, at) => perSecond / limitsWithSums[at]!)),
        unit: "x"
      },
      {
        section,
        what: "p99 of reads meanwhile, against idle",
        value: median(seen.map(({ busyP99, idleP99 }) => busyP99 / idleP99)),
        unit: "x",
        goal: { atMost: 2 },
        note: `idle ${median(seen.map(({ idleP99 }) => idleP99)).toFixed(1)} ms, `
          + `meanwhile ${median(seen.map(({ busyP99 }) => busyP99)).toFixed(1)} ms, ${readsPerSecond} reads/s`
      }
    ]
  }))
