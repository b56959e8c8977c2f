/**
 * Goal: the check finds books that differ from the refunds, adjustments and settlements they are about. Method: a
 * devnet with one of each; each of them is changed behind the books' back, in a transaction that ends with nothing.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { checkBooks } from "../../../modules/ledger/repo/Check.ts"
import { type DevnetMerchant, DevnetService, newDevnetMerchant } from "../simulator/DevnetService.ts"
import { adjust, assertBalanced, balanceOf, call, newInvoice, settle, simulate } from "./Books.ts"

const refund = (player: DevnetMerchant, invoice_id: string, amount: number) =>
  call(player, "/api/v1/refunds", {
    invoice_id,
    amount_mode: "custom",
    amount,
    reason: "requested_by_customer",
    fee_bearer: "merchant",
    destination: { network: "base", address: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed" }
  })

/** A merchant with a refund that is open, one that is canceled, an adjustment and a settlement. */
const busyMerchant = Effect.gen(function*() {
  const player = yield* newDevnetMerchant
  const [first, second] = [yield* newInvoice(player, 50), yield* newInvoice(player, 60)]
  yield* simulate(player, first!, "pay")
  yield* simulate(player, second!, "pay")
  yield* refund(player, first!, 20_000)
  const canceled = yield* refund(player, second!, 10_000)
  yield* call(player, `/api/v1/refunds/${canceled.id}/cancel`, {})
  const [{ asset }] = (yield* balanceOf(player)).assets
  yield* adjust(player, asset)
  yield* settle(second!, 1_795_478_401)
  return player
})

/** Changes of what the books are about, and the account that the check names then. */
const faults = {
  "the open refund has another amount": {
    change: "UPDATE refunds SET amount = amount - 1 WHERE status <> 'canceled'",
    account: "refund_payable"
  },
  "the open refund is of other units": {
    change: "UPDATE refunds SET terms = jsonb_set(terms::jsonb, '{units}', '\"1\"')::json WHERE status <> 'canceled'",
    account: "refund_payable"
  },
  "the open refund was canceled": {
    change: "UPDATE refunds SET status = 'canceled' WHERE status <> 'canceled'",
    account: "refund_payable"
  },
  "the canceled refund is open": {
    change: "UPDATE refunds SET status = 'failed' WHERE status = 'canceled'",
    account: "refund_payable"
  },
  "the open refund is of no invoice": {
    change: "DELETE FROM refunds WHERE status <> 'canceled'",
    account: "refund_payable"
  },
  "the open refund is paid": {
    change: "UPDATE refunds SET status = 'succeeded', tx_hash = '0x', token_amount = 1 WHERE status <> 'canceled'",
    account: "refund_payable"
  },
  "the adjustment is of other units": {
    change: "UPDATE reconciliation_adjustments SET units = units + 1",
    account: "merchant_available"
  },
  "the adjustment is of ignored money": {
    change: "UPDATE reconciliation_adjustments SET ignored_units = units",
    account: "suspense:ignored"
  },
  "nobody adjusted": { change: "DELETE FROM reconciliation_adjustments", account: "merchant_available" },
  "the payment is settled on another day": {
    change: `UPDATE invoice_payments SET settlement = jsonb_set(settlement::jsonb, '{settledAt}', '1')::json
      WHERE settlement ->> 'id' IS NOT NULL`,
    account: "settled:000000"
  },
  "the payment is not settled": {
    change: `UPDATE invoice_payments SET settlement = jsonb_set(settlement::jsonb, '{progress}', '"pending"')::json
      WHERE settlement ->> 'id' IS NOT NULL`,
    account: "settled"
  }
}

layer(DevnetService.layer, { excludeTestServices: true })("the check of the books", (it) => {
  it.effect("finds refunds, adjustments and settlements that are not as they are booked", () =>
    Effect.gen(function*() {
      const player = yield* busyMerchant
      yield* assertBalanced(player.id)
      const sql = Context.get((yield* DevnetService).services, SqlClient.SqlClient)
      for (const [fault, { account, change }] of Object.entries(faults)) {
        const found = yield* Effect.gen(function*() {
          yield* sql.unsafe(`${change} ${change.includes("WHERE") ? "AND" : "WHERE"} merchant_id = ${player.id}`)
          return yield* Effect.fail(yield* checkBooks(sql)(player.id))
        }).pipe(sql.withTransaction, Effect.flip)
        assert("differences" in found, fault)
        const { differences } = found
        assert.isNotEmpty(differences, fault)
        assert.isTrue(differences.every(({ against }) => against === "objects"), fault)
        assert.isTrue(differences.some((each) => each.account.startsWith(account)), fault)
      }
      yield* assertBalanced(player.id)
    }))

  it.effect("names a token as the books do, whatever spelling the catalogue has", () =>
    Effect.gen(function*() {
      const player = yield* newDevnetMerchant
      const sql = Context.get((yield* DevnetService).services, SqlClient.SqlClient)
      const paid = yield* newInvoice(player, 50)
      const [token] = yield* sql<{ id: number }>`SELECT id FROM tokens
        WHERE network = 'ton' AND environment = 'devnet' AND symbol = 'USDT'`
      yield* simulate(player, paid, "pay", { network: "ton", token_id: token!.id })
      yield* call(player, "/api/v1/refunds", {
        invoice_id: paid,
        amount_mode: "custom",
        amount: 10_000,
        reason: "requested_by_customer",
        fee_bearer: "merchant",
        destination: "claim"
      })
      const assets = yield* sql`SELECT asset FROM account_balances WHERE merchant_id = ${player.id} AND units <> 0`
      assert.isTrue(assets.some(({ asset }) => /^ton:-?\d+:/.test(String(asset))), JSON.stringify(assets))
      yield* assertBalanced(player.id)
    }))

  it.effect("says how many differences there are beside those that it names", () =>
    Effect.gen(function*() {
      const { id } = yield* newDevnetMerchant
      const sql = Context.get((yield* DevnetService).services, SqlClient.SqlClient)
      const found = yield* Effect.gen(function*() {
        yield* sql`INSERT INTO account_balances (merchant_id, environment, account, asset, units, usd_millis)
          SELECT ${id}, 'devnet', 'suspense', 'base:' || each, 1, 1 FROM generate_series(1, 502) each`
        return yield* Effect.fail(yield* checkBooks(sql)(id))
      }).pipe(sql.withTransaction, Effect.flip)
      assert("differences" in found)
      assert.deepStrictEqual([found.differences.length, found.more], [1_000, 4])
    }))

  it.effect("takes what it is about from the books where the tables are not there", () =>
    Effect.gen(function*() {
      const player = yield* busyMerchant
      const sql = Context.get((yield* DevnetService).services, SqlClient.SqlClient)
      const found = yield* Effect.gen(function*() {
        yield* sql`DROP TABLE refunds, reconciliation_adjustments`
        return yield* Effect.fail(yield* checkBooks(sql)(player.id))
      }).pipe(sql.withTransaction, Effect.flip)
      assert.deepStrictEqual(found, { differences: [], more: 0 })
    }))
})
