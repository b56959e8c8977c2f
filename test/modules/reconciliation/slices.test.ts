/**
 * Goal: what the checksums of slices pass over has nothing to tell. Method: random months with every fault that chain,
 * books and payments can have, in a real PostgreSQL; the differing slices alone against all of them.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { migrations as invoiceMigrations } from "../../../modules/invoices/migrations.ts"
import { migrations as ledgerMigrations } from "../../../modules/ledger/migrations.ts"
import { migrations } from "../../../modules/reconciliation/migrations.ts"
import { makeRepo } from "../../../modules/reconciliation/repo.ts"
import { differingSlices, readMonth, sumByAsset } from "../../../modules/reconciliation/rules.ts"
import { sliceCount } from "../../../modules/reconciliation/rules/Checksums.ts"
import { migrate } from "../../../runtime/Migrate.ts"
import { uuidOf } from "../../../runtime/Uuid.ts"
import { makeRandom } from "../../fixtures/histories.ts"
import { connect, migratedDatabase } from "../../support/Database.ts"

const months = 4
const paymentsPerMonth = 300
const owner = { merchantId: 1, environment: "devnet" } as const
const period = readMonth("2026-10")!
const day = 86_400

/** What may be said of one payment: nothing is wrong with the first ones, and most are like them. */
const cases = [
  "paid",
  "waits",
  "lost_transfer",
  "lost_booking",
  "doubled_booking",
  "tripled_booking",
  "wrong_units",
  "wrong_price",
  "other_asset",
  "booked_days_later",
  "booked_in_next_month",
  "in_block_of_earlier_month",
  "left_its_chain",
  "left_its_chain_in_next_month",
  "came_in_earlier_month_and_left",
  "moved_to_later_block",
  "booked_twice_in_parts",
  "unlisted",
  "too_small",
  "late",
  "accepted",
  "unmatched",
  "unmatched_and_assigned",
  "exception_without_transfer"
] as const

/** The rows of a payment. */
const rowsOf = (seed: number, place: number) => {
  const next = makeRandom(seed * 10_007 + place)
  const found = next(3) > 0 ? "paid" : cases[next(cases.length)]!
  const transferId = `base:devnet:0x${seed}a${place}:0`
  const id = uuidOf(`payment:${transferId}`)
  // Some at the very edges of the month.
  const at = found === "booked_in_next_month" ? period.to - 10 : next(10) === 0
    ? [period.from - 1, period.from, period.to - 1, period.to][next(4)]!
    : period.from + next(period.to - period.from)
  const units = 1 + next(3) * 1_000
  const usd = units * 2
  const asset = ["native", "0xa", "0xb"][next(3)]!
  const isException = found.startsWith("unmatched") || found === "exception_without_transfer"
  const source = isException ? `exc_${seed}_${place}` : id
  const blockTime = found === "in_block_of_earlier_month" ? period.from - 3 * day : at
  const waits = found === "too_small" || found === "late" || found === "accepted" || isException
  const entry = (moment: number, change = 0, isReversed = false) => {
    const other = waits ? "suspense" : "merchant_pending"
    const [debit, credit] = isReversed ? [other, "chain:wallet"] : ["chain:wallet", other]
    return { debit, credit, units: units + change, usd, created_at: moment, asset }
  }
  const entries = (): ReadonlyArray<ReturnType<typeof entry>> => {
    switch (found) {
      case "lost_booking":
      case "unlisted":
        return []
      case "doubled_booking":
        return [entry(at), entry(at)]
      case "tripled_booking":
        return [entry(at), entry(at), entry(at)]
      case "wrong_units":
        return [entry(at, 1)]
      case "other_asset":
        return [{ ...entry(at), asset: "0xc" }]
      case "booked_days_later":
        return [entry(at + next(4) * day)]
      case "booked_in_next_month":
        return [entry(period.to + 10)]
      case "left_its_chain":
        return [entry(at), entry(at + 60, 0, true)]
      case "left_its_chain_in_next_month":
        return [entry(at), entry(period.to + 60, 0, true)]
      case "came_in_earlier_month_and_left":
        return [entry(period.from - next(40) * day - 1), entry(at, 0, true)]
      case "moved_to_later_block":
        return [entry(at - 60), entry(at - 30, 0, true), entry(at)]
      case "booked_twice_in_parts":
        return [{ ...entry(at), units: 1 }, { ...entry(at + 100), units: units - 1 }]
      default:
        return [entry(at)]
    }
  }
  const hasTransfer = !["lost_transfer", "exception_without_transfer"].includes(found)
  const isReverted = ["left_its_chain", "left_its_chain_in_next_month", "came_in_earlier_month_and_left"].includes(
    found
  )
  const status = found === "waits" ?
    "pending" :
    isReverted ?
    "reverted" :
    found === "too_small" || found === "late"
    ? "rejected"
    : "confirmed"
  return {
    transfers: hasTransfer
      ? [{ id: transferId, asset, amount: units, at: blockTime, status: isReverted ? "reverted" : "confirmed", found }]
      : [],
    payments: !isException || found === "unmatched_and_assigned"
      ? [{
        id,
        status,
        units,
        amount: found === "wrong_price" ? usd + 1 : usd,
        at,
        metadata: found === "too_small" ? { exception: "below_dust" } : {}
      }]
      : [],
    exceptions: isException
      ? [{ id: source, evidence: found === "exception_without_transfer" ? {} : { transfer_id: transferId }, at }]
      : [],
    entries: entries().map((each, line) => ({
      ...each,
      id: `bt_${seed}_${place}_${line}`,
      object: isException ? "exception" : "invoice_payment",
      source
    }))
  }
}

const fill = Effect.fnUntraced(function*(seed: number) {
  const sql = yield* SqlClient.SqlClient
  const rows = Array.from({ length: paymentsPerMonth }, (_, place) => rowsOf(seed, place))
  const of = <K extends keyof ReturnType<typeof rowsOf>>(name: K) =>
    JSON.stringify(rows.flatMap((each): ReadonlyArray<object> => each[name]))
  yield* sql`TRUNCATE transfers, invoice_payments, exceptions, balance_transactions, ledger_entries`
  yield* sql`INSERT INTO transfers (id, merchant_id, version, network, environment, tx_hash, tx_index, kind, match_key,
      token_address, amount, height, block_hash, block_time, observed_at, status, handled, confirmations, attempts,
      retry_at, unlisted)
    SELECT id, 1, 1, 'base', 'devnet', id, 0, 'direct', id, nullif(asset, 'native'), amount, 1, '0x', at, at, status,
      status, 12, 0, 0, found = 'unlisted'
    FROM json_to_recordset(${of("transfers")}::json) AS r (id text, asset text, amount numeric, at bigint, status text,
      found text)`
  yield* sql`INSERT INTO invoice_payments (merchant_id, id, version, invoice_id, environment, status, network, token_id,
      units, amount, seen_at, created_at, metadata, ordinal)
    SELECT 1, id, 1, id, 'devnet', status, 'base', 1, units, amount, at, at, metadata, 1
    FROM json_to_recordset(${of("payments")}::json) AS r (id uuid, status text, units numeric, amount bigint, at bigint,
      metadata json)`
  yield* sql`INSERT INTO exceptions (merchant_id, id, version, environment, type, status, amount, evidence, created_at)
    SELECT 1, id, 1, 'devnet', 'unmatched_payment', 'open', 0, evidence, at
    FROM json_to_recordset(${of("exceptions")}::json) AS r (id text, evidence json, at bigint)`
  yield* sql`WITH r AS (
      SELECT * FROM json_to_recordset(${of("entries")}::json) AS r (id text, object text, source text, debit text,
        credit text, asset text, units numeric, usd bigint, created_at bigint)
    ), transactions AS (
      INSERT INTO balance_transactions (merchant_id, id, version, environment, type, is_pending, amount, net, asset,
        units, source_object, source_id, booked_micros)
      SELECT 1, id, 1, 'devnet', 'payment', false, usd, usd, 'base:' || asset, units, object, source,
        created_at * 1000000 FROM r
    )
    INSERT INTO ledger_entries (merchant_id, transaction_id, step, line, version, environment, kind, debit, credit,
      asset, units, usd_millis, created_at, payment_id)
    SELECT 1, id, 1, 1, 1, 'devnet', 'booked', debit, credit, 'base:' || asset, units, usd, created_at,
      CASE object WHEN 'invoice_payment' THEN source::uuid END FROM r`
  // Another merchant's rows are not read.
  yield* sql`INSERT INTO ledger_entries SELECT 2, transaction_id, step, line, version, environment, kind, debit, credit,
    asset, units, usd_millis, created_at, payment_id FROM ledger_entries`
})

describe("the slices of a month", () => {
  it.live("that are passed over have nothing to tell, whatever chain, books and payments say", () =>
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      yield* Effect.gen(function*() {
        yield* migrate("invoices", invoiceMigrations)
        yield* migrate("ledger", ledgerMigrations)
        yield* migrate("reconciliation", migrations)
        const { checksums, comparisons, ledgerSums } = yield* makeRepo
        const every = Array.from({ length: sliceCount }, (_, slice) => slice)
        for (let seed = 1; seed <= months; seed++) {
          yield* fill(seed)
          const ledger = yield* checksums.ofLedger(owner, period)
          const slices = differingSlices({
            chain: yield* checksums.ofChain(owner, period),
            ledger,
            payments: yield* checksums.ofPayments(owner, period)
          })
          const found = yield* comparisons(owner, period, slices)
          assert.isAbove(found.length, 30)
          assert.deepStrictEqual(found, yield* comparisons(owner, period, every), `seed ${seed}`)
          const agreed = ledger.filter(({ isInPeriod, slice }) => isInPeriod && !slices.includes(slice))
          assert.deepStrictEqual(
            sumByAsset([...agreed, ...yield* ledgerSums(owner, period, slices)]),
            sumByAsset(yield* ledgerSums(owner, period, every)),
            `seed ${seed}`
          )
          // What is right is passed over: else they would save nothing.
          assert.isBelow(slices.length, paymentsPerMonth / 2)
        }
      }).pipe(Effect.provide(connect(database), { local: true }))
    }).pipe(Effect.scoped))
})
