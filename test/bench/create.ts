/**
 * Creating an invoice over HTTP: what it costs the service cold and warm, and PostgreSQL, and how many there are a
 * second. Beside it in the same run: the twins of `fastifyBaseline.ts`, what pgbench makes of the same SQL, and another
 * working copy of the project (`--before`).
 */
import { Effect, type Scope } from "effect"
import { createServer } from "node:net"
import type { AddressInfo } from "node:net"
import { makeMerchants, type Merchant } from "../support/Merchants.ts"
import { serveRole } from "../support/Process.ts"
import type { Service } from "../support/Service.ts"
import type { Bench } from "./Bench.ts"
import { createDatabase, type DatabaseServer, onDatabase, spentBetween, usageOf } from "./Database.ts"
import { baselineHash, type BaselineSpec } from "./fastifyBaseline.ts"
import { drive, type Driven, type LoadSpec, warmUp } from "./load.ts"
import { findPgbench, pgbench, pgbenchClients } from "./pgbench.ts"
import { type Goal, median, type ReportLine } from "./Report.ts"
import * as Tillwire from "./Tillwire.ts"

const section = "create"

/** Callers of the cold requests, and of the warm ones: the first are few enough for a small shop's worst minute. */
const coldCallers = 64
export const callers = 256

/** Requests of a fresh process after which its CPU is reported; of the transaction twin the first two. */
const coldRequests = [500, 2_000, 8_000] as const
const twinColdRequests = coldRequests.slice(0, 2)
/** Longer than the cold requests take anywhere. */
const coldSeconds = 120
const windowSeconds = 2
const seconds = 4

/** Commits of one merchant queue behind its stream row in any design; with these, nobody measures that queue. */
export const merchantCount = 100

export const invoiceBody = JSON.stringify({
  amount_usd: 49.99,
  description: "Starter plan",
  customer_id: "customer-42",
  customer_email: "a@example.com",
  expires_in: 43_200_000,
  metadata: { order_id: "ORD-1", note: "n".repeat(200) }
})

/** Takes connections and never answers: deliveries are queued by every contestant and sent, one at a time, by none. */
const silentReceiver = Effect.acquireRelease(
  Effect.callback<ReturnType<typeof createServer>>((resume) => {
    const server = createServer((socket) => void socket.on("error", () => undefined))
    server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
  }),
  (server) => Effect.sync(() => void server.close())
)

/** The same transaction with values made in the server: no client does it cheaper one by one. */
const pgbenchScript = (first: number, last: number) => `
\\set n random(1, 1000000000)
\\set m random(${first}, ${last})
begin;
select merchant_id from api_keys where hash = 'x' and status = 'active';
insert into idempotency (merchant_id, environment, scope, fingerprint, status, sealed_body)
  values (:m, 'devnet', 'POST /api/v1/invoices ' || gen_random_uuid(), repeat('f', 64), 200, repeat('b', 1100))
  on conflict do nothing;
insert into invoices (merchant_id, id, version, environment, status, type, amount, amount_paid, customer_id, expires_at,
    created_at, metadata, policy, details, grace_ended, due_at)
  values (:m, gen_random_uuid(), 1, 'devnet', 'unpaid', 'standard', :n, 0, 'customer-42', 9000000000, 1766320000,
    '{"order_id":"ORD-1"}', '{}', '{}', false, 9000000000);
update merchant_streams set last_ms = greatest(last_ms, floor(extract(epoch from clock_timestamp()) * 1000)),
  last_seq = nextval('event_seq') where merchant_id = :m;
with told as (
  insert into events (merchant_id, ms, seq, environment, type, invoice_id, customer_id, commerce, request_id,
      idempotency_key, pending_webhooks, data, is_for_payors)
    select merchant_id, last_ms, last_seq, 'devnet', 'invoice.created', gen_random_uuid(), 'customer-42', false, 'req', 'key',
      2, repeat('d', 950), true from merchant_streams where merchant_id = :m
    returning merchant_id, ms, seq
)
insert into webhook_deliveries (merchant_id, endpoint_id, event_ms, event_seq)
  select t.merchant_id, w.id, t.ms, t.seq from told t join webhook_endpoints w on w.merchant_id = t.merchant_id
  where w.status = 'enabled' and w.filters && array['*', 'invoice.*', 'invoice.created'];
commit;
`

/** What a comparison with it must be read with. */
const pgbenchNote = "leaves out: it writes no sums and an untoasted reply, and looks up a key that is not there"

/** Creates as fast as they are answered, each with a key of its own, until the seconds are over. */
export const createLoad = (port: number, keys: ReadonlyArray<string>) => ({
  port,
  callers,
  seconds,
  method: "POST",
  paths: ["/api/v1/invoices"],
  keys,
  body: invoiceBody,
  keyed: true
} satisfies LoadSpec)

/** What creates cost in a window of the warm process. */
interface Warm extends Driven {
  /** Microseconds of CPU of the database's backends for each create. */
  readonly postgresCpuEach: number
  readonly walBytesEach: number
}

/** A process under load, and whose rows it writes. */
interface Contestant {
  readonly pid: number
  readonly port: number
  readonly database: string
}

const measureWarm = (server: DatabaseServer, { database, pid, port }: Contestant, keys: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const load = createLoad(port, keys)
    yield* warmUp(pid, { ...load, seconds: windowSeconds })
    const from = yield* usageOf(server, database)
    const driven = yield* drive(pid, load)
    const { cpuMicros, walBytes } = spentBetween(from, yield* usageOf(server, database))
    const warm: Warm = {
      ...driven,
      postgresCpuEach: cpuMicros / driven.count,
      walBytesEach: walBytes / driven.count
    }
    return warm
  })

/** Microseconds of CPU of each of a process's first so many requests, for each count in `stops`. */
const measureCold = (
  { pid, port }: Contestant,
  keys: ReadonlyArray<string>,
  stops: ReadonlyArray<number>
): Effect.Effect<ReadonlyArray<number>> =>
  Effect.gen(function*() {
    const load = { ...createLoad(port, keys), callers: coldCallers, seconds: coldSeconds }
    let count = 0
    let cpu = 0
    const cold: Array<number> = []
    for (const requests of stops) {
      const driven = yield* drive(pid, { ...load, count: requests - count })
      count += driven.count
      cpu += driven.count * driven.cpuEach
      cold.push(cpu / count)
    }
    return cold
  })

/** Merchants, each with two endpoints that want to hear of every invoice where `receiver` is given. */
const makeShops = (service: Service, receiver: string | undefined): Effect.Effect<ReadonlyArray<Merchant>> =>
  Effect.gen(function*() {
    const merchants = yield* makeMerchants(service, merchantCount)
    if (receiver === undefined) return merchants
    yield* Effect.forEach(
      merchants,
      ({ key }) =>
        Effect.forEach(["a", "b"], (path) =>
          service.call("/api/v1/webhooks", {
            headers: { "x-api-key": key },
            body: { url: `http://${receiver}/${path}`, enabled_events: ["invoice.*"] }
          })),
      { concurrency: 8 }
    )
    return merchants
  })

/** A deployment with its shops. */
interface Shops {
  readonly deployment: Tillwire.Deployment
  readonly merchants: ReadonlyArray<Merchant>
  readonly keys: ReadonlyArray<string>
}

const deployShops = (
  server: DatabaseServer,
  database: string,
  { program, receiver }: { readonly program?: string | undefined; readonly receiver?: string }
): Effect.Effect<Shops, never, Scope.Scope> =>
  Effect.gen(function*() {
    const deployed = yield* Tillwire.deploy(server, database, receiver === undefined ? {} : { receivers: [receiver] })
    const deployment = program === undefined ? deployed : { ...deployed, program }
    const merchants = yield* Tillwire.prepare(deployment, (service) => makeShops(service, receiver))
    yield* onDatabase(server, database, async (client) => {
      const text = "insert into merchant_streams (merchant_id) select unnest($1::int[]) on conflict do nothing"
      await client.query(text, [merchants.map(({ id }) => id)])
    })
    return { deployment, merchants, keys: merchants.map(({ key }) => key) }
  })

/** `use` on a fresh process of the service. */
const onService = <A>({ deployment }: Shops, use: (contestant: Contestant) => Effect.Effect<A>): Effect.Effect<A> =>
  Effect.scoped(Effect.flatMap(
    Tillwire.start(deployment),
    ({ pid, ports }) => use({ pid, port: ports.http, database: deployment.database })
  ))

/** `use` on a fresh process of the twin that writes one `way`. */
const onTwin = <A>(
  { host }: DatabaseServer,
  way: BaselineSpec["way"],
  use: (contestant: Contestant) => Effect.Effect<A>
): Effect.Effect<A> => {
  const spec: BaselineSpec = { host, database: "create_twin", way }
  return Effect.scoped(Effect.flatMap(
    serveRole<{ readonly port: number }>(new URL("fastifyBaseline.ts", import.meta.url), spec),
    ({ pid, said }) => use({ pid, port: said.port, database: spec.database })
  ))
}

/** Copies of the service's database, with its merchants' keys as the twin knows them. */
const copyForRivals = (server: DatabaseServer, { deployment, merchants }: Shops) =>
  Effect.gen(function*() {
    yield* createDatabase(server, "create_twin", deployment.database)
    yield* createDatabase(server, "create_pgbench", deployment.database)
    yield* onDatabase(server, "create_twin", async (client) => {
      for (const { id, key } of merchants) {
        await client.query("update api_keys set hash = $1 where merchant_id = $2", [baselineHash(key), id])
      }
    })
  })

const twins = { transaction: "transaction twin", statement: "CTE twin", batches: "batch twin" } as const
type Way = keyof typeof twins
const ways = Object.keys(twins) as ReadonlyArray<Way>

/** What was seen in one round. */
interface Seen {
  readonly cold: ReadonlyArray<number>
  readonly service: Warm
  readonly twinCold: ReadonlyArray<number>
  readonly twins: Readonly<Record<Way, Warm>>
  /** Transactions a second; null: this machine has no pgbench. */
  readonly pgbench: number | null
  /** Without endpoints: this tree, and the other working copy where one is given. */
  readonly quiet: Warm
  readonly quietBefore: Warm | null
}

const shown = (what: string, rounds: ReadonlyArray<Warm>, more = ""): ReportLine => {
  const of = (figure: (warm: Warm) => number) => median(rounds.map(figure))
  return {
    section,
    what: `${what}, ${callers} callers`,
    value: of(({ perSecond }) => perSecond),
    unit: "/s",
    cpuEach: of(({ cpuEach }) => cpuEach),
    note: `p50 ${of(({ p50 }) => p50).toFixed(0)} ms, p99 ${of(({ p99 }) => p99).toFixed(0)} ms; PostgreSQL ${
      of(({ postgresCpuEach }) => postgresCpuEach).toFixed(0)
    } us CPU and ${of(({ walBytesEach }) => walBytesEach).toFixed(0)} B of WAL each${more}`
  }
}

const coldLines = (what: string, rounds: ReadonlyArray<ReadonlyArray<number>>): ReadonlyArray<ReportLine> =>
  rounds[0]!.map((_, at) => ({
    section,
    what: `${what}: CPU of each of the first ${coldRequests[at]!.toLocaleString("en")}`,
    value: median(rounds.map((cold) => cold[at]!)),
    unit: "us"
  }))

const reportOf = (seen: ReadonlyArray<Seen>): ReadonlyArray<ReportLine> => {
  const ratio = (what: string, of: (round: Seen) => number, goal?: Goal): ReportLine => ({
    section,
    what,
    value: median(seen.map(of)),
    unit: "x",
    ...(goal === undefined ? {} : { goal })
  })
  const quietLines = (): ReadonlyArray<ReportLine> => {
    const without = seen.map(({ quiet }) => quiet)
    const before = seen.flatMap(({ quietBefore }) => quietBefore ?? [])
    const skipped = (what: string) => ({ section, skipped: `${what}: not measured: give --before` })
    if (before.length === 0) {
      return [shown("tillwire without endpoints", without), skipped("PostgreSQL's CPU without endpoints / before")]
    }
    return [
      shown("tillwire without endpoints", without),
      shown("before, without endpoints", before),
      ratio(
        "PostgreSQL's CPU for each create without endpoints / before",
        ({ quiet, quietBefore }) => quiet.postgresCpuEach / quietBefore!.postgresCpuEach,
        { atMost: 0.55 }
      ),
      ratio(
        "WAL of each create without endpoints / before",
        ({ quiet, quietBefore }) => quiet.walBytesEach / quietBefore!.walBytesEach
      ),
      ratio(
        "service CPU for each create without endpoints / before",
        ({ quiet, quietBefore }) => quiet.cpuEach / quietBefore!.cpuEach
      )
    ]
  }
  const pgbenchLines = (): ReadonlyArray<ReportLine> =>
    seen[0]?.pgbench === null
      ? [{ section, skipped: "no pgbench on this machine" }]
      : [
        {
          section,
          what: `pgbench -c${pgbenchClients}, same SQL one by one`,
          value: median(seen.map(({ pgbench }) => pgbench!)),
          unit: "/s",
          note: pgbenchNote
        },
        ratio(
          `rate / pgbench -c${pgbenchClients}`,
          ({ pgbench, service }) => service.perSecond / pgbench!,
          { atLeast: 1.5 }
        )
      ]
  return [
    shown("tillwire", seen.map(({ service }) => service)),
    ...ways.map((way) => shown(`fastify + pg, ${twins[way]}`, seen.map((round) => round.twins[way]))),
    ...coldLines("tillwire", seen.map(({ cold }) => cold)),
    ...coldLines(twins.transaction, seen.map(({ twinCold }) => twinCold)),
    ratio(
      "service CPU / transaction twin's, warm",
      ({ service, twins }) => service.cpuEach / twins.transaction.cpuEach,
      { atMost: 0.4 }
    ),
    ratio("service CPU / transaction twin's, first 2,000", ({ cold, twinCold }) => cold[1]! / twinCold[1]!, {
      atMost: 0.7
    }),
    ...([["transaction", 4], ["statement", 2], ["batches", undefined]] as const).map(([way, atLeast]) =>
      ratio(
        `rate / ${twins[way]}`,
        (round) => round.service.perSecond / round.twins[way].perSecond,
        atLeast === undefined ? undefined : { atLeast }
      )
    ),
    ...pgbenchLines(),
    ...quietLines()
  ]
}

export const create = ({ before, progress, rounds, server }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.scoped(Effect.gen(function*() {
    const address = (yield* silentReceiver).address() as AddressInfo
    const receiver = `127.0.0.1:${address.port}`
    const shops = yield* deployShops(server, "create_till", { receiver })
    yield* copyForRivals(server, shops)
    const quiet = yield* deployShops(server, "create_quiet", {})
    const quietBefore = before === undefined
      ? undefined
      : yield* deployShops(server, "create_before", { program: Tillwire.programOf(before) })

    const program = findPgbench()
    const ids = shops.merchants.map(({ id }) => id)
    const script = pgbenchScript(Math.min(...ids), Math.max(...ids))
    const seen: Array<Seen> = []
    for (let round = 1; round <= rounds; round++) {
      const warmOf = (name: string, { keys }: Shops) => (contestant: Contestant) =>
        Effect.tap(
          measureWarm(server, contestant, keys),
          ({ cpuEach, perSecond, postgresCpuEach }) =>
            Effect.sync(() =>
              progress(
                `create ${round}/${rounds}: ${name} ${cpuEach.toFixed(0)} us CPU, PostgreSQL ${
                  postgresCpuEach.toFixed(0)
                }, ${perSecond.toFixed(0)}/s`
              )
            )
        )
      const coldAndWarm = (name: string, stops: ReadonlyArray<number>) => (contestant: Contestant) =>
        Effect.all([measureCold(contestant, shops.keys, stops), warmOf(name, shops)(contestant)])
      const [cold, service] = yield* onService(shops, coldAndWarm("tillwire", coldRequests))
      const [twinCold, transaction] = yield* onTwin(
        server,
        "transaction",
        coldAndWarm(twins.transaction, twinColdRequests)
      )
      seen.push({
        cold,
        service,
        twinCold,
        twins: {
          transaction,
          statement: yield* onTwin(server, "statement", warmOf(twins.statement, shops)),
          batches: yield* onTwin(server, "batches", warmOf(twins.batches, shops))
        },
        pgbench: program === undefined ? null : yield* pgbench(program, server, "create_pgbench", script),
        quiet: yield* onService(quiet, warmOf("without endpoints", quiet)),
        quietBefore: quietBefore === undefined
          ? null
          : yield* onService(quietBefore, warmOf("before, without endpoints", quietBefore))
      })
    }
    return reportOf(seen)
  }))
