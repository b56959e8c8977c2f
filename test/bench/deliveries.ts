/**
 * A queue of webhooks drained over https, beside the least anybody could do (sign and POST by undici, no queue) and
 * beside graphile-worker doing the same job on the same server. All three send the same body under the same two
 * signatures.
 */
import { Effect, type Scope } from "effect"
import { Logger, run, runMigrations } from "graphile-worker"
import { createHmac, createSecretKey } from "node:crypto"
import { Pool } from "undici"
import { answerQuestions, cpuMicros, type Role, say, serveRole, specification } from "../support/Process.ts"
import { receiverCertificate } from "../support/Receiver.ts"
import { type Service, until } from "../support/Service.ts"
import { makeMerchants } from "../support/Merchants.ts"
import type { Bench } from "./Bench.ts"
import { invoiceBody } from "./create.ts"
import { createDatabase, type DatabaseServer, onDatabase, urlOf } from "./Database.ts"
import { median, type ReportLine } from "./Report.ts"
import { makeSink, type Sink } from "./sink.ts"
import * as Tillwire from "./Tillwire.ts"

const queued = 20_000
const warmUp = 6_000
/** Four in flight is the limit of an endpoint: these fill the 64 of an instance. */
const merchantCount = 4
const endpointsEach = 4
const endpoints = merchantCount * endpointsEach
const inFlight = 64

/** For queues to run dry once the last delivery has arrived. */
const dryMillis = 60_000

interface Measured {
  readonly perSecond: number
  readonly cpuEach: number
}

/** A process with a queue, and how to fill it. */
interface Contestant {
  readonly pid: number
  readonly queue: (count: number) => Effect.Effect<unknown>
  /** Deliveries that are not over. */
  readonly left: Effect.Effect<number>
}

const drain = (sink: Sink, { left, pid, queue }: Contestant, count: number): Effect.Effect<Measured> =>
  Effect.gen(function*() {
    yield* sink.reset
    const before = cpuMicros(pid)
    yield* queue(count)
    const { firstAt, lastAt } = yield* sink.reached(count)
    yield* until("the queue is dry", left, (rows) => rows === 0, dryMillis)
    return { perSecond: count / ((lastAt - firstAt) / 1_000), cpuEach: (cpuMicros(pid) - before) / count }
  })

const measure = (sink: Sink, contestant: Contestant) =>
  Effect.andThen(drain(sink, contestant, warmUp), drain(sink, contestant, queued))

interface Delivery {
  readonly path: string
  readonly id: string
  readonly body: string
}

interface RoleSpec {
  readonly origin: string
  /** Absent: the bare loop. */
  readonly database?: string
  readonly body: string
}

const secret = `whsec_${"c".repeat(43)}=`
/** As key objects: bytes as a key cost a signature 8 us more. */
const textKey = createSecretKey(secret, "utf8")
const bytesKey = createSecretKey(secret.slice("whsec_".length), "base64")

/** What both rivals do with a delivery: two signatures, as many headers as ours, the answer read. */
const makeSend = (origin: string) => {
  const pool = new Pool(origin, { connections: inFlight, pipelining: 1, connect: { ca: receiverCertificate } })
  return async ({ body, id, path }: Delivery): Promise<void> => {
    const millis = Date.now()
    const seconds = String(Math.floor(millis / 1_000))
    const hex = createHmac("sha256", textKey).update(`${millis}.`).update(body).digest("hex")
    const base64 = createHmac("sha256", bytesKey).update(`${id}.${seconds}.`).update(body).digest("base64")
    const answer = await pool.request({
      method: "POST",
      path,
      body,
      headers: {
        "content-type": "application/json",
        "user-agent": "Rival/1",
        "x-service-event": "invoice.created",
        "x-service-event-id": id,
        "x-service-timestamp": String(millis),
        "x-service-signature": hex,
        "x-service-network-environment": "devnet",
        "x-service-delivery-id": id,
        "x-service-attempt": "1",
        "webhook-id": id,
        "webhook-timestamp": seconds,
        "webhook-signature": `v1,${base64}`
      }
    })
    await answer.body.dump()
    if (answer.statusCode !== 200) throw new Error(`HTTP ${answer.statusCode}`)
  }
}

const bare = ({ body, origin }: RoleSpec) => {
  const send = makeSend(origin)
  answerQuestions<{ readonly count: number }>(async ({ count }) => {
    let sent = 0
    const caller = async () => {
      while (sent < count) {
        const n = sent++
        await send({ path: `/hook/${n % endpoints}`, id: `evt_${Date.now()}-${n}`, body })
      }
    }
    await Promise.all(Array.from({ length: inFlight }, caller))
    return {}
  })
  say({})
}

/** It would otherwise print a line for each job. */
const silent = new Logger(() => () => undefined)

/** As its documentation of performance has it: jobs fetched 500 at a time, their completions written together. */
const graphile = async (connectionString: string, origin: string) => {
  const send = makeSend(origin)
  await run({
    preset: {
      worker: {
        connectionString,
        concurrentJobs: inFlight,
        maxPoolSize: inFlight + 1,
        localQueue: { size: 500 },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
        logger: silent
      }
    },
    taskList: { send: (payload) => send(payload as Delivery) }
  })
  say({})
}

const roleOf = (spec: RoleSpec): Effect.Effect<Role<object>, never, Scope.Scope> =>
  serveRole<object>(new URL(import.meta.url), spec)

const startBare = (spec: RoleSpec): Effect.Effect<Contestant, never, Scope.Scope> =>
  Effect.map(roleOf(spec), ({ ask, pid }) => ({
    pid,
    queue: (count) => ask({ count }),
    left: Effect.succeed(0)
  }))

const numberOf = (server: DatabaseServer, database: string, text: string) =>
  onDatabase(server, database, async (client) => Number((await client.query(text)).rows[0].n))

const startGraphile = (server: DatabaseServer, name: string, spec: RoleSpec) =>
  Effect.gen(function*() {
    yield* createDatabase(server, name)
    const database = urlOf(server, name)
    yield* Effect.promise(() => runMigrations({ connectionString: database, logger: silent }))
    const { pid } = yield* roleOf({ ...spec, database })
    const queue = (count: number) =>
      onDatabase(server, name, (client) =>
        client.query(
          `select count(*) from graphile_worker.add_jobs(array(
          select row('send', json_build_object('path', '/hook/' || n % ${endpoints}, 'id', 'evt_1-' || n, 'body', $1::text),
            null, null, null, null, null, null)::graphile_worker.job_spec
          from generate_series(1, $2::int) n))`,
          [spec.body, count]
        ))
    const left = numberOf(server, name, "select count(*) as n from graphile_worker.jobs")
    return { pid, queue, left } satisfies Contestant
  })

/** Copies of one real event, enough for the queue, each with the number of its copy. */
const copies = `
  insert into events (merchant_id, ms, seq, environment, type, invoice_id, customer_id, commerce, request_id,
      idempotency_key, pending_webhooks, data, is_for_payors)
    select m, ms + n, nextval('event_seq'), environment, type, invoice_id, customer_id, commerce, 'copy-' || n,
      idempotency_key, ${endpointsEach}, data, is_for_payors
    from (select * from events order by ms limit 1) e, unnest($1::int[]) m, generate_series(1, ${queued / endpoints}) n`

/** A database with endpoints and events, and nothing queued; answers the text of such an event. */
const prepare = (server: DatabaseServer, database: string, sink: Sink) =>
  Effect.gen(function*() {
    const deployment = yield* Tillwire.deploy(server, database, { receivers: [sink.host] })
    const made = yield* Tillwire.prepare(deployment, (service) =>
      Effect.gen(function*() {
        const merchants = yield* makeMerchants(service, merchantCount)
        const invoice = { "x-api-key": merchants[0]!.key, "idempotency-key": "deliveries" }
        yield* service.call("/api/v1/invoices", { headers: invoice, body: invoiceBody })
        const { json } = yield* service.call("/api/v1/events", { headers: invoice })
        yield* Effect.forEach(merchants, ({ key }, merchant) =>
          Effect.forEach(Array.from({ length: endpointsEach }), (_, at) =>
            service.call("/api/v1/webhooks", {
              headers: { "x-api-key": key },
              body: { url: sink.url(`/hook/${merchant * endpointsEach + at}`), enabled_events: ["*"] }
            })))
        return {
          body: JSON.stringify(json.data.data[0]),
          ids: merchants.map(({ id }) => id)
        }
      }))
    yield* onDatabase(server, database, async (client) => {
      await client.query(copies, [made.ids])
      await client.query("vacuum analyze events")
    })
    return made.body
  })

const startTillwire = (server: DatabaseServer, name: string, sink: Sink) =>
  Effect.gen(function*() {
    const deployment = yield* Tillwire.deploy(server, name, { receivers: [sink.host], template: "deliveries_till" })
    const { pid }: Service = yield* Tillwire.start(deployment)
    const queue = (count: number) =>
      onDatabase(server, name, (client) =>
        client.query(
          `insert into webhook_deliveries (merchant_id, endpoint_id, event_ms, event_seq)
          select e.merchant_id, w.id, e.ms, e.seq from events e join webhook_endpoints w on w.merchant_id = e.merchant_id
          where e.request_id like 'copy-%' and substr(e.request_id, 6)::int <= $1`,
          [count / endpoints]
        ))
    const left = numberOf(server, name, "select count(*) as n from webhook_deliveries where finished_at is null")
    return { pid, queue, left } satisfies Contestant
  })

export const deliveries = ({ progress, rounds, server }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.scoped(Effect.gen(function*() {
    const sink = yield* makeSink
    const body = yield* prepare(server, "deliveries_till", sink)
    const spec: RoleSpec = { origin: new URL(sink.url("/")).origin, body }
    const contestants = [
      ["tillwire: claim, sign, POST, mark", (round: number) => startTillwire(server, `deliveries_till_${round}`, sink)],
      ["undici with signing", () => startBare(spec)],
      [
        "graphile-worker: fetch, sign, POST, complete",
        (round: number) => startGraphile(server, `deliveries_graphile_${round}`, spec)
      ]
    ] as const
    const seen = contestants.map((): Array<Measured> => [])
    for (let round = 1; round <= rounds; round++) {
      for (const [at, [, start]] of contestants.entries()) {
        seen[at]!.push(yield* Effect.scoped(Effect.flatMap(start(round), (contestant) => measure(sink, contestant))))
      }
      const now = seen.map((all) => `${all.at(-1)!.perSecond.toFixed(0)}/s, ${all.at(-1)!.cpuEach.toFixed(0)} us CPU`)
      progress(`deliveries ${round}/${rounds}: tillwire ${now[0]}; undici ${now[1]}; graphile-worker ${now[2]}`)
    }
    const [ours, undicis, graphiles] = seen as [Array<Measured>, Array<Measured>, Array<Measured>]
    const lines = contestants.map(([name], at): ReportLine => ({
      section: "deliveries",
      what: name,
      value: median(seen[at]!.map(({ perSecond }) => perSecond)),
      unit: "/s",
      cpuEach: median(seen[at]!.map(({ cpuEach }) => cpuEach))
    }))
    return [
      ...lines,
      {
        section: "deliveries",
        what: "CPU against bare undici",
        value: median(ours.map(({ cpuEach }, at) => cpuEach / undicis[at]!.cpuEach)),
        unit: "x",
        goal: { atMost: 1.25 },
        note: `${queued} of ${Buffer.byteLength(body)} bytes over https, ${inFlight} in flight`
      },
      {
        section: "deliveries",
        what: "rate against graphile-worker",
        value: median(ours.map(({ perSecond }, at) => perSecond / graphiles[at]!.perSecond)),
        unit: "x",
        goal: { atLeast: 1.2 }
      }
    ]
  }))

if (import.meta.main) {
  const spec = specification<RoleSpec>()
  if (spec.database === undefined) bare(spec)
  else await graphile(spec.database, spec.origin)
}
