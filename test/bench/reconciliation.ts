/** A month of a million payments: what its reconciliation takes, and that it finds the one fault that was put in. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { migrations as invoiceMigrations } from "../../modules/invoices/migrations.ts"
import { migrations as ledgerMigrations } from "../../modules/ledger/migrations.ts"
import { migrations } from "../../modules/reconciliation/migrations.ts"
import { makeRepo } from "../../modules/reconciliation/repo.ts"
import { readMonth } from "../../modules/reconciliation/rules.ts"
import { makeReport } from "../../modules/reconciliation/service/PeriodReports.ts"
import { migrate } from "../../runtime/Migrate.ts"
import { sessionSettings } from "../../runtime/store/Sessions.ts"
import { runtimeMigrations } from "../../runtime/Tables.ts"
import type { Bench } from "./Bench.ts"
import { createDatabase } from "./Database.ts"
import { median, type ReportLine } from "./Report.ts"

const payments = 1_000_000
const owner = { merchantId: 1, environment: "devnet" } as const
const period = readMonth("2026-10")!

/** Each payment with its transfer, its transaction and the two groups of it; the tables as `migrate` makes them. */
const fill = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const count = BigInt(payments)
  const [from, span] = [BigInt(period.from), BigInt(period.to - period.from - 100)]
  // As `paymentIdOf` of the payments names them.
  yield* sql`CREATE UNLOGGED TABLE paid AS SELECT n, 'base:devnet:0x' || n || ':1' AS id, ${from} + n % ${span} AS at,
      (substr(h, 1, 8) || '-' || substr(h, 9, 4) || '-8' || substr(h, 14, 3) || '-'
        || substr('89ab', (strpos('0123456789abcdef', substr(h, 17, 1)) - 1) % 4 + 1, 1) || substr(h, 18, 3) || '-'
        || substr(h, 21, 12))::uuid AS payment_id
    FROM generate_series(1, ${count}::bigint) n,
      LATERAL encode(sha256(convert_to('payment:base:devnet:0x' || n || ':1', 'UTF8')), 'hex') h`
  yield* sql`INSERT INTO transfers (id, merchant_id, version, network, environment, tx_hash, tx_index, kind, invoice_id,
      match_key, token_address, amount, height, block_hash, block_time, observed_at, status, handled, confirmations,
      attempts, retry_at)
    SELECT id, 1, 1, 'base', 'devnet', '0x' || n, 1, 'direct', payment_id, '0xkey' || n, '0xusdc', 5000000, n, '0x', at,
      at, 'confirmed', 'confirmed', 12, 0, 0 FROM paid`
  yield* sql`INSERT INTO invoice_payments (merchant_id, id, version, invoice_id, environment, status, network, token_id,
      token_decimals, tx_hash, units, amount, seen_at, created_at, confirmed_at, metadata, ordinal, wallet,
      balance_transaction_id)
    SELECT 1, payment_id, 1, payment_id, 'devnet', 'confirmed', 'base', 1, 6, '0x' || n, 5000000, 5000, at, at, at,
      '{}', 1, 'wallet', 'bt_' || n FROM paid`
  yield* sql`INSERT INTO balance_transactions (merchant_id, id, version, environment, type, is_pending, amount, net, asset,
      units, source_object, source_id, booked_micros)
    SELECT 1, 'bt_' || n, 1, 'devnet', 'payment', true, 5000, 5000, 'base:0xusdc', 5000000, 'invoice_payment',
      payment_id::text, at * 1000000 FROM paid`
  yield* sql`INSERT INTO ledger_entries (merchant_id, transaction_id, step, line, version, environment, kind, debit, credit,
      asset, units, usd_millis, created_at, payment_id)
    SELECT 1, 'bt_' || n, step, 1, 1, 'devnet', CASE step WHEN 1 THEN 'booked' ELSE 'posted' END,
      CASE step WHEN 1 THEN 'chain:wallet' ELSE 'merchant_pending' END,
      CASE step WHEN 1 THEN 'merchant_pending' ELSE 'merchant_available' END, 'base:0xusdc', 5000000, 5000, at,
      CASE step WHEN 1 THEN payment_id END
    FROM paid, (VALUES (1), (2)) s (step)`
  yield* sql`UPDATE invoice_payments SET amount = 4999 WHERE tx_hash = '0x77'`
  yield* sql.unsafe("VACUUM ANALYZE")
})

const report = Effect.gen(function*() {
  const services = {
    clock: { nowSeconds: () => Effect.succeed(period.to) },
    ledger: { tokenOf: () => ({ id: 1, symbol: "USDC", decimals: 6 }) },
    repo: yield* makeRepo
  }
  return yield* makeReport(services)(owner, period)
})

export const reconciliation = ({ progress, rounds, server }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.gen(function*() {
    yield* createDatabase(server, "reconciliation")
    return yield* Effect.gen(function*() {
      yield* migrate("runtime", runtimeMigrations)
      yield* migrate("invoices", invoiceMigrations)
      yield* migrate("ledger", ledgerMigrations)
      yield* migrate("reconciliation", migrations)
      yield* fill
      progress(`reconciliation: ${payments.toLocaleString("en")} payments are there`)
      const before = process.memoryUsage().rss
      const seconds: Array<number> = []
      let peak = before
      for (let round = 0; round < rounds; round++) {
        const start = performance.now()
        const { differences, wallets } = yield* report
        seconds.push((performance.now() - start) / 1000)
        peak = Math.max(peak, process.memoryUsage().rss)
        const found = `${differences.map(({ cause }) => cause).join()} ${wallets[0]?.closing.amount_decimal}`
        if (found !== `amount ${payments * 5}.000`) return yield* Effect.die(new Error(`the report is wrong: ${found}`))
      }
      return [
        {
          section: "reconciliation",
          what: `the report of a month of ${payments.toLocaleString("en")} payments`,
          value: median(seconds),
          unit: "s",
          goal: { atMost: 10 },
          note: `first ${seconds[0]!.toFixed(1)} s`
        },
        {
          section: "reconciliation",
          what: "more memory of the process meanwhile",
          value: (peak - before) / 1_048_576,
          unit: "MB",
          goal: { atMost: 200 }
        }
      ]
    }).pipe(
      Effect.scoped,
      Effect.provide(
        PgClient.layer({
          host: server.host,
          username: "postgres",
          database: "reconciliation",
          maxConnections: 4,
          // A million rows are written in one statement.
          startupParameters: { ...sessionSettings, statement_timeout: "0" }
        }).pipe(Layer.orDie),
        { local: true }
      ),
      Effect.orDie
    )
  })
