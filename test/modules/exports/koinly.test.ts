/**
 * Goal: the file for Koinly has everything that a wallet sent, in the amounts of the ledger, each row once.
 * Method: payouts, refunds, fees and spending of a whole devnet over HTTP; PostgreSQL reads the file as CSV.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Reconciliation } from "../../../modules/reconciliation/plugin.ts"
import { noCause } from "../../../runtime/Commit.ts"
import { until } from "../../support/Service.ts"
import {
  approve,
  ask,
  giveOut,
  look,
  newRefund,
  newShop,
  payout,
  payoutsBatch,
  play,
  readUntil,
  refundsBatch,
  send,
  type Shop
} from "../batches/BatchShop.ts"
import { DevnetService, okData } from "../simulator/DevnetService.ts"

/** As the help page of Koinly names them. */
interface Row {
  readonly date: string
  readonly amount: string
  readonly currency: string
  readonly worth: string | null
  readonly worth_currency: string | null
  readonly label: string | null
  readonly description: string
  readonly tx_hash: string | null
}

const database = Effect.map(DevnetService, ({ services }) => Context.get(services, SqlClient.SqlClient))

/** The rows of the file as PostgreSQL reads them, which refuses other names of columns. */
const fileOf = Effect.fnUntraced(function*(shop: Shop, from = 0) {
  const now = Math.floor(Date.now() / 1000)
  const { headers, status, text } = yield* send(
    shop.key,
    `/api/v1/exports/koinly?from=${from === 0 ? now - 3600 : from}&to=${now + 3600}`
  )
  assert.strictEqual(status, 200, text)
  assert.strictEqual(headers["x-export-version"], "1")
  // The server may have no right to read a file of this process, so it is given the bytes.
  const bytes = Buffer.from(text).toString("base64")
  const sql = yield* database
  return yield* sql.withTransaction(Effect.gen(function*() {
    yield* sql`CREATE TEMPORARY TABLE koinly ("Koinly Date" text, "Amount" text, "Currency" text,
      "Net Worth Amount" text, "Net Worth Currency" text, "Label" text, "Description" text, "TxHash" text)
      ON COMMIT DROP`
    yield* sql.unsafe(`COPY koinly FROM PROGRAM 'echo ${bytes} | base64 -d' WITH (FORMAT csv, HEADER MATCH)`)
    return yield* sql<Row>`SELECT "Koinly Date" AS date, "Amount" AS amount, "Currency" AS currency,
      "Net Worth Amount" AS worth, "Net Worth Currency" AS worth_currency, "Label" AS label,
      "Description" AS description, "TxHash" AS tx_hash FROM koinly`
  })).pipe(Effect.orDie)
})

const pay = Effect.fnUntraced(function*(shop: Shop, batch: { readonly id: string }) {
  yield* approve(shop, batch)
  okData(yield* giveOut(shop.key, batch))
  yield* play(shop, batch)
  return yield* readUntil(shop, batch, "paid")
})

/**
 * Simulated networks take no fee, so the test writes one: base units of ether. The paid part is not watched any more
 * then, because each look at the chain stores the fee that it reads there. The version is raised so that a look which
 * began before loses.
 */
const writeFee = (id: string, fee: bigint) =>
  Effect.flatMap(database, (sql) =>
    Effect.orDie(
      sql`UPDATE batches SET version = version + 1, due_at = NULL, parts = json_build_array(
        (parts::jsonb -> 0) || jsonb_build_object('fee', ${fee.toString()}::text, 'isWatched', false)) WHERE id = ${id}`
    ))

/** Coins that the merchant spent or found, as its owner says. */
const adjust = Effect.fnUntraced(function*(shop: Shop, tokenAmount: string) {
  const sql = yield* database
  const rows = yield* Effect.orDie(
    sql<{ account: string; asset: string }>`SELECT account, asset FROM account_balances
      WHERE merchant_id = ${shop.merchantId} AND account LIKE 'chain:%' AND units > 0`
  )
  const all: unknown = (yield* DevnetService).services
  yield* Effect.orDie(
    Context.get(all as Context.Context<Reconciliation>, Reconciliation).adjust(
      { merchantId: shop.merchantId, environment: "devnet" },
      { ...rows[0]!, token_amount: tokenAmount, note: "spent" },
      "wallet:owner",
      { cause: noCause, reply: () => undefined }
    )
  )
})

/** Base units of dollars that the wallets hold by the ledger. */
const heldByLedger = Effect.fnUntraced(function*({ merchantId }: Shop) {
  const rows = yield* Effect.orDie(
    (yield* database)<{ units: string }>`SELECT sum(units)::text AS units FROM account_balances
      WHERE merchant_id = ${merchantId} AND account LIKE 'chain:%'`
  )
  return BigInt(rows[0]!.units)
})

const dollars = (amount: string): bigint => BigInt(Math.round(Number(amount) * 1_000_000))

layer(DevnetService.layer, { excludeTestServices: true })("the file for Koinly", (it) => {
  it.effect("has payouts, refunds, spending and fees, and comes to what the ledger says the wallets hold", () =>
    Effect.gen(function*() {
      const shop = yield* newShop
      const refund = yield* newRefund(shop, 40)
      const { invoice_id: id } = yield* ask(shop.key, "/api/v1/invoices", {
        amount_usd: 30,
        accepted_networks: ["base"]
      })
      yield* ask(shop.key, `/api/v1/devnet/invoices/${id}/simulate`, { action: "pay", network: "base" })
      const line = yield* payout("12.5")
      const lines = [line, { ...line, token_amount: "3", reference: "=cmd, \"quoted\"\r\nline" }]
      const payouts = yield* pay(shop, okData(yield* payoutsBatch(shop.key, lines)))
      const refunds = yield* pay(shop, yield* refundsBatch(shop.key, [refund.id]))
      yield* writeFee(payouts.id, 210_000_000_000_000n)
      yield* writeFee(refunds.id, 1n)
      yield* adjust(shop, "-2.25")

      const rows = yield* fileOf(shop)
      const byWords = (words: string) => rows.filter(({ description }) => description.startsWith(words))
      assert.lengthOf(rows, 8)
      const [first, second] = [byWords(`Payout ${payouts.id}/1`), byWords(`Payout ${payouts.id}/2`)].flat()
      assert.deepInclude(first, {
        amount: "-12.500000",
        currency: "USDC",
        worth: "12.500",
        worth_currency: "USD",
        label: null,
        description: `Payout ${payouts.id}/1: supplier`,
        tx_hash: payouts.parts[0].tx_hash
      })
      assert.deepInclude(second, {
        amount: "-3.000000",
        description: `Payout ${payouts.id}/2: =cmd, "quoted"\r\nline`
      })
      assert.deepInclude(byWords(`Refund ${refund.id}`)[0], { amount: "-40.000000", tx_hash: refunds.parts[0].tx_hash })
      assert.deepInclude(byWords("Adjustment")[0], { amount: "-2.250000", worth: null, worth_currency: null })
      assert.deepStrictEqual(
        rows.filter(({ label }) => label === "cost").map(({ amount, currency, description }) => [
          amount,
          currency,
          description
        ]).toSorted(),
        [
          ["-0.000000000000000001", "ETH", `Network fee of batch ${refunds.id}`],
          ["-0.000210000000000000", "ETH", `Network fee of batch ${payouts.id}`]
        ]
      )
      const moved = rows.filter(({ label }) => label === null).reduce((sum, { amount }) => sum + dollars(amount), 0n)
      assert.strictEqual(moved, yield* heldByLedger(shop))

      yield* adjust(shop, "2.25")
      const more = yield* fileOf(shop)
      assert.lengthOf(more, 9)
      const all = more.filter(({ label }) => label === null).reduce((sum, { amount }) => sum + dollars(amount), 0n)
      assert.strictEqual(all, yield* heldByLedger(shop))
    }))

  it.effect("has what left unasked, and nothing of another merchant", () =>
    Effect.gen(function*() {
      const shop = yield* newShop
      const batch = okData(yield* payoutsBatch(shop.key, [yield* payout("5")]))
      yield* approve(shop, batch)
      okData(yield* giveOut(shop.key, batch, "csv"))
      yield* play(shop, batch, "twice")
      yield* readUntil(shop, batch, "paid")
      const sent = (rows: ReadonlyArray<Row>) =>
        rows.map(({ amount, description }) => [amount, description.split(" ")[0]])
      const rows = yield* until(
        "the second transfer is booked",
        Effect.andThen(look(shop, batch), fileOf(shop)),
        (found) => found.length > 1
      )
      assert.sameDeepMembers(sent(rows), [["-5.000000", "Payout"], ["-5.000000", "Sent"]])
      assert.strictEqual(rows.reduce((sum, { amount }) => sum + dollars(amount), 0n), yield* heldByLedger(shop))
      assert.deepStrictEqual(yield* fileOf(yield* newShop), [])
    }))
})
