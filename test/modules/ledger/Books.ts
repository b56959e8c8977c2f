/** What tests ask of the books of a devnet. */
import { assert } from "@effect/vitest"
import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { Invoices } from "../../../modules/invoices/plugin.ts"
import { Reconciliation } from "../../../modules/reconciliation/plugin.ts"
import { Ledger } from "../../../modules/ledger/plugin.ts"
import { noCause } from "../../../runtime/Commit.ts"
import { type DevnetMerchant, DevnetService, okData } from "../simulator/DevnetService.ts"

export const send = Effect.fnUntraced(function*({ merchant }: DevnetMerchant, path: string, body?: unknown) {
  const service = yield* DevnetService
  return yield* service.call(path, {
    method: body === undefined ? "GET" : "POST",
    headers: { "x-api-key": merchant, "idempotency-key": randomUUID() },
    ...(body === undefined ? {} : { body })
  })
})

export const call = (player: DevnetMerchant, path: string, body?: unknown) =>
  Effect.map(send(player, path, body), okData)

export const ledger = Effect.map(DevnetService, ({ services }) => {
  // The config of the devnet names every module, so what it runs holds this one too.
  const all: unknown = services
  return Context.get(all as Context.Context<Ledger>, Ledger)
})

/**
 * Every balance of the merchant is what its entries and its payments and exceptions come to, and every entry names the
 * payment whose money it brings into a wallet or takes out of it.
 */
export const assertBalanced = Effect.fnUntraced(function*(merchantId: number | null) {
  assert.deepStrictEqual(yield* (yield* ledger).check(merchantId), { differences: [], more: 0 })
  const sql = Context.get((yield* DevnetService).services, SqlClient.SqlClient)
  const misnamed = yield* Effect.orDie(sql`SELECT e.* FROM ledger_entries e
    JOIN balance_transactions t ON t.merchant_id = e.merchant_id AND t.id = e.transaction_id
    WHERE e.merchant_id = coalesce(${merchantId}::integer, e.merchant_id) AND e.payment_id::text IS DISTINCT FROM CASE
      WHEN t.source_object = 'invoice_payment' AND (starts_with(e.debit, 'chain:') OR starts_with(e.credit, 'chain:'))
        THEN t.source_id END`)
  assert.deepStrictEqual(misnamed, [])
})

export const newInvoice = (player: DevnetMerchant, amountUsd = 50): Effect.Effect<string, never, DevnetService> =>
  Effect.map(call(player, "/api/v1/invoices", { amount_usd: amountUsd }), ({ invoice_id }) => invoice_id)

/** What the simulator does to an invoice: `pay`, `reorg` and others. */
export const simulate = (player: DevnetMerchant, invoiceId: string, action: string, more: object = {}) =>
  call(player, `/api/v1/devnet/invoices/${invoiceId}/simulate`, { action, ...more })

export const balanceOf = (player: DevnetMerchant) => call(player, "/api/v1/balance")

export const transactionsOf = (player: DevnetMerchant, query = "") =>
  Effect.map(call(player, `/api/v1/balance-transactions?${query}`), ({ data }): ReadonlyArray<any> => data)

/** The payments of an invoice are settled at a time, as `settlement/direct` reports it. */
export const settle = Effect.fnUntraced(function*(invoiceId: string, settledAt: number) {
  const invoices = Context.get((yield* DevnetService).services, Invoices)
  yield* Effect.orDie(invoices.change(invoiceId, noCause, ({ payments }) =>
    Effect.succeed({
      commands: payments.map((payment) => ({
        _tag: "Settle" as const,
        paymentId: payment.id,
        settlement: {
          status: "settled" as const,
          stage: "final" as const,
          progress: "settled" as const,
          settledAmount: payment.amount,
          settledAt,
          id: null,
          txHash: null,
          network: payment.network
        }
      }))
    })))
})

/** Half a unit of an asset is found, as the owner says. */
export const adjust = Effect.fnUntraced(function*(player: DevnetMerchant, asset: string) {
  const all: unknown = (yield* DevnetService).services
  const reconciliation = Context.get(all as Context.Context<Reconciliation>, Reconciliation)
  yield* Effect.orDie(reconciliation.adjust(
    { merchantId: player.id, environment: "devnet" },
    { asset, token_amount: "0.5", amount: 7, note: "found" },
    "wallet:owner",
    { cause: noCause, reply: () => undefined }
  ))
})
