/**
 * Goal: what was there before the books were kept is taken into them once, and nobody is told. Method: a devnet whose
 * books of one merchant are taken away behind its back, as if the module had been left out.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { until } from "../../support/Service.ts"
import { DevnetService, newDevnetMerchant } from "../simulator/DevnetService.ts"
import { assertBalanced, balanceOf, call, newInvoice, settle, simulate, transactionsOf } from "./Books.ts"

layer(DevnetService.layer, { excludeTestServices: true })("books that begin late", (it) => {
  it.effect("hold what stood before them, also a payment that moves before its turn, without a single event", () =>
    Effect.gen(function*() {
      const player = yield* newDevnetMerchant
      const sql = Context.get((yield* DevnetService).services, SqlClient.SqlClient)
      const paid = yield* newInvoice(player, 10)
      const seen = yield* newInvoice(player, 20)
      yield* simulate(player, paid, "pay")
      yield* simulate(player, yield* newInvoice(player, 30), "wrong_token")
      yield* simulate(player, seen, "pay", { confirmations: 0 })
      yield* settle(paid, 1_795_478_401)
      const settlement = (yield* call(player, "/api/v1/settlements")).data[0]
      const before = yield* balanceOf(player)
      const eventCount = Effect.map(
        call(player, "/api/v1/events?limit=100&type=*,balance_transaction.*"),
        ({ data }) => data.length
      )
      const events = yield* eventCount
      yield* Effect.orDie(sql.withTransaction(Effect.gen(function*() {
        for (const table of ["ledger_entries", "balance_transactions", "account_balances"]) {
          yield* sql`DELETE FROM ${sql(table)} WHERE merchant_id = ${player.id}`
        }
        yield* sql`UPDATE invoice_payments SET balance_transaction_id = NULL,
          settlement = jsonb_set(settlement::jsonb, '{id}', 'null')::json WHERE merchant_id = ${player.id}`
      })))
      yield* until("the books are opened", transactionsOf(player), (found) => found.length >= 4)
      yield* assertBalanced(player.id)
      assert.deepStrictEqual(yield* balanceOf(player), before)
      assert.strictEqual(yield* eventCount, events)
      assert.deepStrictEqual((yield* call(player, "/api/v1/settlements")).data, [settlement])
      const [payment] = yield* call(player, `/api/v1/invoices/${paid}/payments`)
      assert.strictEqual(payment.settlement.merchant_settlement_id, settlement.id)
      yield* simulate(player, seen, "confirm")
      yield* assertBalanced(player.id)
      assert.deepInclude(yield* balanceOf(player), { available: 30_000, pending: 0 })
      assert.lengthOf(yield* transactionsOf(player), 4)
    }))
})
