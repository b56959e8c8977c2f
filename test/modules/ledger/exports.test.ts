/**
 * Goal: the files of the books say what the books say, each row once, and only where books are kept. Method: a whole
 * devnet over HTTP, with rows of many pages written behind its back; and a service without the module.
 */
import { assert, it, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { migratedDatabase } from "../../support/Database.ts"
import { configOf, startService, temporaryDirectory } from "../../support/Service.ts"
import { assertRefused, type DevnetMerchant, DevnetService, newDevnetMerchant } from "../simulator/DevnetService.ts"
import { assertBalanced, balanceOf, call, newInvoice, send, simulate, transactionsOf } from "./Books.ts"

type Row = Readonly<Record<string, string | null>>

const spanNow = () => `from=${Math.floor(Date.now() / 1000) - 3600}&to=${Math.floor(Date.now() / 1000) + 86_400}`

const rowsOf = (player: DevnetMerchant, kind: string, span = spanNow()) =>
  Effect.map(call(player, `/api/v1/exports/${kind}?format=json&${span}`), (rows): ReadonlyArray<Row> => rows)

/** A dollar amount of a file in usd_millis; empty: 0. */
const millis = (cell: string | null | undefined): number => (cell == null ? 0 : Math.round(Number(cell) * 1000))

/** What was debited less what was credited, by what the rows are told apart by. */
const sumsBy = (rows: ReadonlyArray<Row>, column: string): Readonly<Record<string, number>> => {
  const sums: Record<string, number> = {}
  for (const row of rows) {
    const key = row[column]!
    sums[key] = (sums[key] ?? 0) + millis(row["debit_usd"]) - millis(row["credit_usd"])
  }
  return sums
}

/** Everything that books know: paid, pending, voided, reversed, refused, refunded. */
const trade = Effect.fnUntraced(function*(player: DevnetMerchant) {
  const paid = yield* newInvoice(player, 50)
  yield* simulate(player, paid, "pay")
  yield* simulate(player, yield* newInvoice(player, 20), "pay", { confirmations: 0 })
  const dropped = yield* newInvoice(player, 30)
  yield* simulate(player, dropped, "pay", { confirmations: 0 })
  yield* simulate(player, dropped, "drop")
  const reversed = yield* newInvoice(player, 40)
  yield* simulate(player, reversed, "pay")
  yield* simulate(player, reversed, "drop")
  const asked = { amount_usd: 60, accepted_networks: ["ethereum"] }
  yield* simulate(player, (yield* call(player, "/api/v1/invoices", asked)).invoice_id, "wrong_network")
  yield* call(player, "/api/v1/refunds", {
    invoice_id: paid,
    amount_mode: "custom",
    amount: 20_000,
    reason: "requested_by_customer",
    fee_bearer: "merchant",
    destination: { network: "base", address: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed" }
  })
})

layer(DevnetService.layer, { excludeTestServices: true })("the files of the books", (it) => {
  it.effect(
    "balance in each transaction and come to the balance, over many pages, each row once",
    () =>
      Effect.gen(function*() {
        const player = yield* newDevnetMerchant
        yield* trade(player)
        const listed = yield* transactionsOf(player, "limit=100")
        // Each moves an amount there and back, so that the balances stay what they are. No UUID has their names.
        const moreCount = 1_010
        const sql = Context.get((yield* DevnetService).services, SqlClient.SqlClient)
        for (const [environment, name] of [["devnet", "bt_7z"], ["mainnet", "bt_m"]] as const) {
          yield* Effect.orDie(sql`INSERT INTO balance_transactions
          SELECT ${player.id}, ${name} || n, 1, ${environment}, 'adjustment', false, 0, 0, NULL, 0, 'adjustment', n::text,
            NULL, extract(epoch FROM now())::bigint * 1000000 FROM generate_series(1, ${moreCount}::integer) n`)
          yield* Effect.orDie(sql`INSERT INTO ledger_entries
          SELECT ${player.id}, ${name} || n, 1, line, 1, ${environment}, 'booked',
            CASE line WHEN 1 THEN 'adjustments' ELSE 'merchant_available' END,
            CASE line WHEN 1 THEN 'merchant_available' ELSE 'adjustments' END, 'base:native', n, n,
            extract(epoch FROM now())::bigint
          FROM generate_series(1, ${moreCount}::integer) n, generate_series(1, 2) line`)
        }
        yield* assertBalanced(player.id)

        const journal = yield* rowsOf(player, "journal")
        assert.isTrue(journal.every(({ environment }) => environment === "devnet"))
        assert.lengthOf(journal, 2 * (2 * moreCount + listed.flatMap(({ entries }) => entries).length))
        const sides = new Map<string, number>()
        for (const row of journal) {
          assert.strictEqual(row["debit_usd"] === null, row["credit_usd"] !== null)
          const key = JSON.stringify(row)
          sides.set(key, (sides.get(key) ?? 0) + 1)
        }
        const added = [...sides.keys()].filter((key) => key.includes("\"bt_7z"))
        assert.lengthOf(added, 4 * moreCount)
        assert.isTrue(added.every((key) => sides.get(key) === 1))
        const perTransaction = sumsBy(journal, "transaction_id")
        assert.lengthOf(Object.keys(perTransaction), moreCount + listed.length)
        assert.deepStrictEqual([...new Set(Object.values(perTransaction))], [0])

        const balance = yield* balanceOf(player)
        const held = sumsBy(journal, "account")
        const credited = (account: string) => 0 - (held[account] ?? 0)
        assert.deepInclude(balance, {
          available: credited("merchant_available"),
          pending: credited("merchant_pending"),
          refund_payable: credited("refund_payable"),
          suspense: credited("suspense")
        })
        assert.deepInclude(balance, { available: 30_000, pending: 20_000, refund_payable: 20_000 })

        const rows = yield* rowsOf(player, "balance-transactions")
        assert.lengthOf(new Set(rows.map(({ id }) => id)), moreCount + listed.length)
        assert.lengthOf(rows, moreCount + listed.length)
        for (const each of listed) {
          assert.deepInclude(rows.find(({ id }) => id === each.id), {
            environment: "devnet",
            created_at: new Date(each.created_at * 1000).toISOString().replace(".000Z", "Z"),
            type: each.type,
            status: each.status,
            amount_usd: each.amount_decimal,
            net_usd: each.net_decimal,
            asset: each.asset,
            units: each.units,
            source_object: each.source.object,
            source_id: each.source.id,
            reverses: each.reverses
          })
        }
        assert.includeMembers(listed.map(({ status }) => status), ["available", "pending", "voided"])
        const nets = rows.filter(({ status }) => status !== "voided").reduce(
          (sum, row) => sum + millis(row["net_usd"]),
          0
        )
        assert.strictEqual(nets, balance.available + balance.pending)

        const csv = yield* send(player, `/api/v1/exports/journal?${spanNow()}`)
        assert.strictEqual(csv.status, 200, csv.text)
        const lines = csv.text.split("\r\n")
        assert.strictEqual(
          lines[0],
          "date,environment,transaction_id,account,debit_usd,credit_usd,asset,units,description"
        )
        assert.lengthOf(lines, journal.length + 2)
        assert.isTrue(lines.includes(Object.values(journal[0]!).map((cell) => cell ?? "").join(",")))
      })
  )

  it.effect("hold what was booked in their span, and no other merchant's", () =>
    Effect.gen(function*() {
      const player = yield* newDevnetMerchant
      yield* simulate(player, yield* newInvoice(player), "pay")
      const [{ created_at: bookedAt }] = yield* transactionsOf(player)
      const spans = [[bookedAt, bookedAt + 1, 1], [bookedAt - 9, bookedAt, 0], [bookedAt + 1, bookedAt + 9, 0]] as const
      for (const [from, to, count] of spans) {
        assert.lengthOf(yield* rowsOf(player, "balance-transactions", `from=${from}&to=${to}`), count)
      }
      const other = yield* newDevnetMerchant
      for (const kind of ["balance-transactions", "journal"]) assert.deepStrictEqual(yield* rowsOf(other, kind), [])
      const found = yield* send(player, `/api/v1/exports/journal?metadata_keys=note&${spanNow()}`)
      assert.strictEqual(assertRefused(found, 400, "VALIDATION_ERROR").param, "metadata_keys")
    }))
})

it.live(
  "without the module, the files of the books are refused by a sentence, and the others are there",
  () =>
    Effect.gen(function*() {
      const database = yield* migratedDatabase
      const config = configOf({
        database: database.url,
        chains: [{ use: "simulated", options: { networks: ["base"] } }]
      })
      const modules = config.modules.filter(({ use }) => use !== "ledger" && use !== "reconciliation")
      const service = yield* startService({ directory: yield* temporaryDirectory, config: { ...config, modules } })
      const { merchant_key: key } = yield* service.keys
      const read = (kind: string) =>
        service.call(`/api/v1/exports/${kind}?format=json&${spanNow()}`, { headers: { "x-api-key": key } })
      for (const kind of ["balance-transactions", "journal"]) {
        const { message, param } = assertRefused(yield* read(kind), 400, "VALIDATION_ERROR")
        assert.include(message, "module ledger")
        assert.strictEqual(param, "kind")
      }
      for (const kind of ["invoices", "koinly"]) assert.strictEqual((yield* read(kind)).status, 200, kind)
    }).pipe(Effect.scoped)
)
