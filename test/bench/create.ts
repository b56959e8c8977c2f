/**
 * Creating an invoice over HTTP, beside the twin that commits one by one and beside what pgbench makes of the same SQL.
 */
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { makeMerchants } from "../support/Merchants.ts"
import type { Bench } from "./Bench.ts"
import { createDatabase, type DatabaseServer, onDatabase } from "./Database.ts"
import type { Service } from "../support/Service.ts"
import { drive, type LoadSpec } from "./load.ts"
import { serveRole } from "../support/Process.ts"
import { median, type ReportLine } from "./Report.ts"
import * as Tillwire from "./Tillwire.ts"
import { baselineHash, type BaselineSpec } from "./fastifyBaseline.ts"

const widths = [64, 256] as const
/** Until the compiler has done its work; fewer where the machine is slow. */
const warmUpRequests = 8_000
const warmUpSeconds = 12
const seconds = 4
/** Commits of one merchant queue behind its stream row in any design; with these, nobody measures that queue. */
export const merchantCount = 100
export const pgbenchClients = 8

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

/** Where Debian and the manuals put it. */
export const findPgbench = (): string | undefined => {
  const debian = "/usr/lib/postgresql"
  const versions = existsSync(debian) ? readdirSync(debian).toSorted().toReversed() : []
  return [
    ...versions.map((version) => join(debian, version, "bin", "pgbench")),
    "/usr/bin/pgbench",
    "/usr/local/bin/pgbench"
  ]
    .find((path) => existsSync(path))
}

/** Transactions of `text` a second. */
export const pgbench = (program: string, { host }: DatabaseServer, database: string, text: string) =>
  Effect.sync(() => {
    const folder = mkdtempSync(join(tmpdir(), "till-bench-"))
    const script = join(folder, "script.sql")
    writeFileSync(script, text)
    const ran = spawnSync(program, [
      ...["-h", host, "-U", "postgres", "-n", "-M", "prepared", "-f", script],
      ...["-c", String(pgbenchClients), "-j", "1", "-T", String(seconds), database]
    ], { encoding: "utf8" })
    rmSync(folder, { recursive: true })
    const tps = /tps = ([\d.]+)/.exec(ran.stdout)?.[1]
    if (tps === undefined) throw new Error(`pgbench: ${ran.stderr}`)
    return Number(tps)
  })

const createLoad = (port: number, keys: ReadonlyArray<string>, callers: number): LoadSpec => ({
  port,
  callers,
  seconds,
  method: "POST",
  paths: ["/api/v1/invoices"],
  keys,
  body: invoiceBody,
  keyed: true
})

/** One fresh process under all widths. */
const measure = (pid: number, port: number, keys: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    yield* drive(pid, { ...createLoad(port, keys, widths[1]), seconds: warmUpSeconds, count: warmUpRequests })
    return yield* Effect.forEach(widths, (width) => drive(pid, createLoad(port, keys, width)))
  })

/** Merchants with two endpoints each that want to hear of every invoice. */
const makeShops = (service: Service, host: string) =>
  Effect.gen(function*() {
    const merchants = yield* makeMerchants(service, merchantCount)
    yield* Effect.forEach(merchants, ({ key }) =>
      Effect.forEach(["a", "b"], (path) =>
        service.call("/api/v1/webhooks", {
          headers: { "x-api-key": key },
          body: { url: `http://${host}/${path}`, enabled_events: ["invoice.*"] }
        })), { concurrency: 8 })
    return merchants
  })

export const create = ({ progress, rounds, server }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.scoped(Effect.gen(function*() {
    const receiver = (yield* silentReceiver).address() as AddressInfo
    const host = `127.0.0.1:${receiver.port}`
    const deployment = yield* Tillwire.deploy(server, "create_till", [host])
    const merchants = yield* Tillwire.prepare(deployment, (service) => makeShops(service, host))
    const ids = merchants.map(({ id }) => id)
    const keys = merchants.map(({ key }) => key)
    yield* onDatabase(server, "create_till", async (client) => {
      const text = "insert into merchant_streams (merchant_id) select unnest($1::int[]) on conflict do nothing"
      await client.query(text, [ids])
    })
    yield* createDatabase(server, "create_twin", "create_till")
    yield* createDatabase(server, "create_pgbench", "create_till")
    yield* onDatabase(server, "create_twin", async (client) => {
      for (const { id, key } of merchants) {
        await client.query("update api_keys set hash = $1 where merchant_id = $2", [baselineHash(key), id])
      }
    })

    const program = findPgbench()
    const ours: Array<Effect.Success<ReturnType<typeof measure>>> = []
    const twins: typeof ours = []
    const bare: Array<number> = []
    for (let round = 1; round <= rounds; round++) {
      yield* Effect.scoped(Effect.gen(function*() {
        const service = yield* Tillwire.start(deployment)
        ours.push(yield* measure(service.pid, service.ports.http, keys))
      }))
      yield* Effect.scoped(Effect.gen(function*() {
        const spec: BaselineSpec = { host: server.host, database: "create_twin" }
        const twin = yield* serveRole<{ readonly port: number }>(new URL("fastifyBaseline.ts", import.meta.url), spec)
        twins.push(yield* measure(twin.pid, twin.said.port, keys))
      }))
      if (program !== undefined) {
        bare.push(yield* pgbench(program, server, "create_pgbench", pgbenchScript(Math.min(...ids), Math.max(...ids))))
      }
      const rates = [ours, twins].map((side) => side.at(-1)!.map(({ perSecond }) => Math.round(perSecond)).join(" / "))
      progress(
        `create ${round}/${rounds}: tillwire ${rates[0]}, twin ${rates[1]}, pgbench ${bare.at(-1)?.toFixed(0) ?? "-"}`
      )
    }

    const lines: Array<ReportLine> = []
    const rateOf = (side: typeof ours, at: number) => median(side.map((round) => round[at]!.perSecond))
    const cpuOf = (side: typeof ours, at: number) => median(side.map((round) => round[at]!.cpuEach))
    const p50Of = (side: typeof ours, at: number) => median(side.map((round) => round[at]!.p50))
    widths.forEach((width, at) => {
      for (const [name, side] of [["tillwire", ours], ["fastify + pg twin", twins]] as const) {
        lines.push({
          section: "create",
          what: `${name}, ${width} callers`,
          value: rateOf(side, at),
          unit: "/s",
          cpuEach: cpuOf(side, at),
          note: `p50 ${p50Of(side, at).toFixed(1)} ms`
        })
      }
    })
    const last = widths.length - 1
    lines.push({
      section: "create",
      what: `rate against the twin, ${widths[last]} callers`,
      value: median(ours.map((round, at) => round[last]!.perSecond / twins[at]![last]!.perSecond)),
      unit: "x",
      goal: { atLeast: 2 }
    })
    if (program === undefined) lines.push({ section: "create", skipped: "no pgbench on this machine" })
    else {
      lines.push(
        {
          section: "create",
          what: `pgbench -c${pgbenchClients}, same SQL one by one`,
          value: median(bare),
          unit: "/s"
        },
        {
          section: "create",
          what: `rate against pgbench -c${pgbenchClients}`,
          value: median(ours.map((round, at) => round[last]!.perSecond / bare[at]!)),
          unit: "x",
          goal: { atLeast: 1 }
        }
      )
    }
    lines.push({
      section: "create",
      what: `service CPU per invoice, ${widths[last]} callers`,
      value: cpuOf(ours, last),
      unit: "us",
      goal: { atMost: 250 }
    })
    return lines
  }))
