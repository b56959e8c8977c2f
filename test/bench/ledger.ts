/**
 * A payment from its sight to its depth, with the events and deliveries that it causes, by a service that keeps books
 * and by the same one without the module; and the balance read over ten million entries and ten years of settlements
 * beside ten thousand entries.
 */
import { Effect } from "effect"
import { cpuMicros } from "../support/Process.ts"
import { type Service, until } from "../support/Service.ts"
import type { Bench } from "./Bench.ts"
import { onDatabase, spentBetween, usageOf } from "./Database.ts"
import { invoiceBody, merchantCount } from "./create.ts"
import { drive } from "./load.ts"
import { median, type ReportLine } from "./Report.ts"
import { makeSink } from "./sink.ts"
import * as Tillwire from "./Tillwire.ts"

const payments = 1_000
const warmUp = 500
const callers = 16

interface Config {
  readonly modules: ReadonlyArray<{ readonly use: string }>
}

const without = (deployment: Tillwire.Deployment, names: ReadonlyArray<string>): Tillwire.Deployment => ({
  ...deployment,
  config: {
    ...deployment.config,
    modules: (deployment.config as Config).modules.filter(({ use }) => !names.includes(use))
  }
})

/** Modules that read the books, and so need them: left out on both sides. */
const readers = ["reconciliation"]

/** Pays so many new invoices, seen first and deep enough by a second call; answers how many of them there were. */
const pay = Effect.fnUntraced(function*(service: Service, keys: ReadonlyArray<string>, count: number) {
  const call = (n: number, path: string, body: object) =>
    service.call(path, {
      headers: { "x-api-key": keys[n % keys.length]!, "idempotency-key": `ledger-${performance.now()}-${n}` },
      body
    })
  yield* Effect.forEach(
    Array.from({ length: count }, (_, n) => n),
    (n) =>
      Effect.gen(function*() {
        const { json } = yield* call(n, "/api/v1/invoices", JSON.parse(invoiceBody))
        const path = `/api/v1/devnet/invoices/${json.invoice_id}/simulate`
        yield* call(n, path, { action: "pay", confirmations: 0 })
        const { status, text } = yield* call(n, path, { action: "confirm" })
        if (status !== 200) return yield* Effect.die(new Error(text))
      }),
    { concurrency: callers, discard: true }
  )
})

const waitingDeliveries = (bench: Bench, database: string) =>
  onDatabase(bench.server, database, async (client) => {
    const { rows: [row] } = await client.query(
      "select count(*)::int as n from webhook_deliveries where status = 'pending'"
    )
    return row.n as number
  })

/** Microseconds of CPU of the service and of its database for each payment, invoices and deliveries among them. */
const paymentsBy = (bench: Bench, deployment: Tillwire.Deployment, keys: ReadonlyArray<string>) =>
  Effect.scoped(Effect.gen(function*() {
    const service = yield* Tillwire.start(deployment)
    const { database } = deployment
    const run = (count: number) =>
      Effect.andThen(
        pay(service, keys, count),
        until("the queue is dry", waitingDeliveries(bench, database), (left) => left === 0)
      )
    yield* run(warmUp)
    const usage = yield* usageOf(bench.server, database)
    const before = cpuMicros(service.pid)
    yield* run(payments)
    const serviceMicros = cpuMicros(service.pid) - before
    const { cpuMicros: databaseMicros, walBytes } = spentBetween(usage, yield* usageOf(bench.server, database))
    return { each: (serviceMicros + databaseMicros) / payments, wal: walBytes / payments }
  }))

/** Entries of two merchants whose balances are read. */
const sizes = [10_000, 10_000_000] as const

/** Days, and wallets, that the merchant with most entries has settlements of. */
const settledDays = 3_650
const settledWallets = 4

/** Entries of a merchant beside those that were booked, its balance, and years of settlements where it has many. */
const entriesOf = (bench: Bench, database: string, merchant: number, count: number) =>
  onDatabase(bench.server, database, async (client) => {
    await client.query(
      `insert into ledger_entries (merchant_id, transaction_id, step, line, version, environment, kind, debit, credit,
          asset, units, usd_millis, created_at)
        select $1, 'bt_' || lpad(n::text, 36, '0'), 1, 1, 1, 'devnet', 'booked', 'chain:w' || n % 4, 'merchant_available',
          'base:' || n % 5, n, n, n from generate_series(1, $2::int) n`,
      [merchant, count]
    )
    await client.query(
      `insert into account_balances (merchant_id, environment, account, asset, units, usd_millis)
        select merchant_id, environment, debit, asset, sum(units), sum(usd_millis) from ledger_entries
        where merchant_id = $1 group by 1, 2, 3, 4
        on conflict (merchant_id, environment, account, asset) do nothing`,
      [merchant]
    )
    if (count === sizes.at(-1)) {
      await client.query(
        `insert into account_balances (merchant_id, environment, account, asset, units, usd_millis)
          select $1, 'devnet', 'settled:' || lpad(day::text, 6, '0') || ':' || day || ':w' || wallet, 'base:' || wallet, 1, 1
          from generate_series(1, $2::int) day, generate_series(1, $3::int) wallet`,
        [merchant, settledDays, settledWallets]
      )
    }
    await client.query("vacuum analyze ledger_entries, account_balances")
  })

export const ledger = (bench: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.scoped(Effect.gen(function*() {
    const sink = yield* makeSink
    const shared = { receivers: [sink.host] }
    const keeping = without(yield* Tillwire.deploy(bench.server, "ledger_with", shared), readers)
    const plain = without(yield* Tillwire.deploy(bench.server, "ledger_without", shared), ["ledger", ...readers])
    const keysOf = (deployment: Tillwire.Deployment) =>
      Tillwire.prepare(deployment, (service) =>
        Effect.map(
          Tillwire.makeShops(service, merchantCount, () => sink.url("/")),
          (shops) => shops.map(({ id, key }) => ({ id, key }))
        ))
    const sides = [
      { deployment: keeping, shops: yield* keysOf(keeping) },
      { deployment: plain, shops: yield* keysOf(plain) }
    ] as const
    const found: Array<ReadonlyArray<{ readonly each: number; readonly wal: number }>> = []
    for (let round = 1; round <= bench.rounds; round++) {
      found.push(
        yield* Effect.forEach(sides, ({ deployment, shops }) =>
          paymentsBy(
            bench,
            deployment,
            shops.map(({ key }) => key)
          ))
      )
      const [kept, left] = found.at(-1)!
      bench.progress(
        `ledger ${round}/${bench.rounds}: ${kept!.each.toFixed(0)} us a payment, ${left!.each.toFixed(0)} without`
      )
    }
    const line = (what: string, place: number): ReportLine => ({
      section: "ledger",
      what,
      value: median(found.map((round) => round[place]!.each)),
      unit: "us",
      note: `WAL ${median(found.map((round) => round[place]!.wal)).toFixed(0)} bytes`
    })
    const reads: Array<ReadonlyArray<number>> = []
    const [{ shops }] = sides
    for (const [place, count] of sizes.entries()) yield* entriesOf(bench, keeping.database, shops[place]!.id, count)
    yield* Effect.scoped(Effect.gen(function*() {
      const { pid, ports: { http: port } } = yield* Tillwire.start(keeping)
      const read = (key: string, seconds: number) =>
        drive(pid, { port, callers, seconds, method: "GET", paths: ["/api/v1/balance"], keys: [key] })
      yield* read(shops[0]!.key, 4)
      for (let round = 0; round < bench.rounds; round++) {
        reads.push(
          yield* Effect.forEach([...sizes.keys()], (place) =>
            Effect.map(read(shops[place]!.key, 3), ({ cpuEach }) => cpuEach))
        )
      }
    }))
    return [
      line("a payment, seen and confirmed, with books: CPU of service and database", 0),
      line("the same without the module", 1),
      {
        section: "ledger",
        what: "CPU of a payment with books against without",
        value: median(found.map(([kept, left]) =>
          kept!.each / left!.each
        )),
        unit: "x",
        goal: { atMost: 1.15 }
      },
      {
        section: "ledger",
        what: "the balance over ten million entries against over ten thousand",
        value: median(reads.map(([few, many]) => many! / few!)),
        unit: "x",
        cpuEach: median(reads.map(([, many]) => many!)),
        goal: { atMost: 1.5 }
      }
    ]
  }))
